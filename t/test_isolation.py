"""Members run as the Unix user that their user is: what one user's job can do to the server, the machine and other users."""

import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys

import pytest
from conftest import BIN, ROOT, Server, open_way, wait_for
from people import Person
from test_files import PUBLIC, digest, refused, upload

POOL = 1879100000  # the first of --job-uids
UV = shutil.which("uv", path=f"{ROOT}/.venv/bin") or shutil.which("uv")
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only a server that is root can run members as somebody else")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "64", *(["--uv", UV] if UV else [])).start()
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


@pytest.fixture(scope="module")
def bob(served):
    return Person(served, "bob")


def work_of(server, job):
    return next(server.state.glob(f"jobs/{job['id'][:2]}/{job['id']}/*/work"))


# -- who they are


def test_each_user_is_somebody(served, ann, bob):
    said = ann.run("id -u; id -g; id -G; echo $USER $LOGNAME; echo $HOME; pwd; umask").split()
    uid = int(said[0])
    assert POOL < uid < POOL + 1000000
    assert said[1:5] == [str(uid), str(uid), "ann", "ann"]
    assert said[5] == said[6] and said[5].endswith("/work") and said[7] in ("022", "0022")
    assert ann.uid() == uid and bob.uid() not in (0, uid)


def test_the_servers_own_name_is_the_server(served):
    job = served.wait(served.submit(["sh", "-c", "id -u; echo $HOME; stat -c %a .; umask"])["id"])
    assert served.member_log(job["id"]).split() == ["0", os.environ["HOME"], "700", "0077"]


def test_uid_n_runs_as_n(served, tmp_path):
    """Who comes by the socket without a name on this machine."""
    os.chmod(served.socket, 0o666)
    uid = 4242424
    open_way(tmp_path)
    os.chown(tmp_path, uid, uid)
    done = subprocess.run(
        [BIN / "paddle", "submit", "--follow", "--", "sh", "-c", "id -u; id -g; id -G; touch mine; stat -c %u mine"],
        env={"PADDLE_SERVER": served.url, "HOME": "/", "PATH": os.environ["PATH"]},
        user=uid, group=uid, extra_groups=[], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [word for word in done.stdout.split() if word.isdigit()] == [str(uid)] * 4
    assert "uid-4242424" in [user["name"] for user in served.get("/v1/users").json["items"]]


def test_a_unix_user_runs_as_that_user(served):
    people = [entry for entry in pwd.getpwall() if 1000 <= entry.pw_uid < 60000]
    for entry in people[:1]:  # a machine may have none
        person = Person(served, entry.pw_name)
        said = person.run("id -u; id -G; echo $HOME").split("\n")
        groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
        assert said[0] == str(entry.pw_uid) and sorted(map(int, said[1].split())) == sorted(groups)
        assert said[2] == entry.pw_dir


def test_accounts_of_the_system_are_not_taken_over(served):
    daemon = Person(served, "daemon")  # uid 1 on every Debian
    assert daemon.uid() > POOL
    nobody = Person(served, "uid-0")
    assert nobody.uid() > POOL


def test_who_is_made_again_is_somebody_else(served):
    first = Person(served, "twice")
    first.run("echo secret >$PADDLE_OUTPUT/kept", output="/pfs/local/home/twice/out")
    uid = first.uid()
    assert served.request("DELETE", "/v1/users/twice").status in (200, 204)
    second = Person(served, "twice")
    assert second.uid() > uid
    refused(second.get(second.home + "/out/kept"), 403, "denied", f"belongs to uid {uid}", "administrator")
    reply = second.ask({"command": ["true"], "output": "/pfs/local/home/twice/out"})
    refused(reply, 403, "denied", f"belongs to uid {uid}")
    assert served.get(first.home + "/out/kept").body == b"secret\n"  # an administrator may look


def test_beyond_the_pool(make_server):
    server = make_server("--job-uids", "70000-70001")
    person = Person(server, "late")
    job = server.wait(person.submit("true")["id"])
    assert job["state"] == "failed"
    assert "70000-70001 of --job-uids" in job["reason"], job["reason"]


def test_uids_that_the_kernel_does_not_have(make_server, tmp_path):
    """Root in a user namespace is one user and no more."""
    unshare = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody have a user namespace")
    program = tmp_path / "paddled"
    program.write_text(f'#!/bin/sh\nexec {" ".join(unshare)} {BIN}/paddled "$@"\n')
    program.chmod(0o755)
    server = make_server(program=program)
    job = server.wait(Person(server, "ann").submit("true")["id"])
    assert job["state"] == "failed"
    assert "does not exist in this container (/proc/self/uid_map)" in job["reason"] and "--job-uids" in job["reason"]
    assert server.wait(server.submit(["true"])["id"])["state"] == "succeeded"


@pytest.mark.parametrize(
    "options, says",
    [
        (["--job-uids", "5"], "--job-uids: '5' is not FIRST-LAST"),
        (["--job-uids", "0-70000"], "--job-uids"),
        (["--run-as", "me"], "--run-as: 'me' is neither user nor server"),
    ],
)
def test_options_are_checked(tmp_path, options, says):
    done = subprocess.run(
        [BIN / "paddled", "--state", tmp_path / "state", *options],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0 and says in done.stderr


def test_run_as_server(make_server):
    server = make_server("--run-as", "server")
    assert Person(server, "ann").uid() == 0


# -- what they cannot do

CALL = """
import json, socket, sys
for path in ("paddled.sock", "agent.sock"):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1] + "/" + path)
    except OSError as error:
        print(path, error.errno)
        continue
    s.sendall(b"GET /v1/users HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
    print(path, s.recv(4096).split()[1].decode())
"""


def test_the_server_is_out_of_reach(served, ann):
    state, agent = served.state, served.agent_pid()
    os.chmod(served.socket, 0o666)
    said = ann.run(
        f"""
        head -c 10 {state}/paddle.db && echo READ
        echo x >>{state}/paddle.db && echo WROTE
        for dir in {state} {state}/jobs {state}/envs {state}/packages {state}/storage {state}/storage/local \
                   {state}/storage/local/home {state}/agent {state}/scheduler {state}/tmp; do
            ls $dir >/dev/null && echo LISTED $dir
        done
        kill -9 {agent} && echo KILLED
        kill -9 $PPID && echo KILLED
        kill -9 {served.process.pid} && echo KILLED
        cat /proc/{served.process.pid}/environ >/dev/null && echo SPIED
        {PYTHON} - {state} <<'END'
{CALL}
END
        true"""
    )
    for word in ("READ", "WROTE", "LISTED", "KILLED", "SPIED"):
        assert word not in said, said
    assert "paddled.sock 403" in said and "agent.sock 13" in said, said
    assert served.agent_pid() == agent


def test_other_peoples_work_is_out_of_reach(served, ann, bob):
    job = ann.submit("echo secret >kept; echo up; exec sleep 600")
    wait_for(lambda: "up" in served.member_log(job["id"]), 30, "the member")
    work = work_of(served, job)
    own = served.submit(["sh", "-c", "echo secret >kept; echo up; exec sleep 600"])
    wait_for(lambda: "up" in served.member_log(own["id"]), 30, "the member")
    for place in (work, work_of(served, own)):
        said = bob.run(f"ls {place} && echo LISTED; cat {place}/kept; ls {place.parent}; ls {place.parent}/log; true")
        assert "LISTED" not in said and "secret" not in said and said.count("Permission denied") == 4
    again = ann.run(f"cat {work}/kept")
    assert again == "secret\n"
    assert stat.S_IMODE(work.stat().st_mode) == 0o700 and work.stat().st_uid == ann.uid()
    log = work.parent / "log/worker-0"
    assert log.stat().st_uid == 0
    for name in (job["id"], own["id"]):
        served.request("DELETE", f"/v1/jobs/{name}")
        served.wait(name)
    wait_for(lambda: not work.exists(), 30, "the end of the work directory")


def test_a_log_is_written_by_its_descriptor_only(served, ann):
    """It may be opened anew by it, though: programs do."""
    said = ann.run(
        "echo one; echo two >>/dev/stderr; echo three >>/dev/stdout; log=$(readlink /proc/$$/fd/1); ls $log; true"
    )
    assert said.split("\n")[:3] == ["one", "two", "three"] and "Permission denied" in said


def test_homes_are_their_users(served, ann, bob):
    upload(served, ann.home + "/data/in", b"from ann", headers=ann.headers)
    said = ann.run(
        "cat $PADDLE_INPUT/in; stat -c '%u %a' $PADDLE_INPUT/in; echo model >$PADDLE_OUTPUT/model; "
        "cat /pfs/local/home/ann/data/in; echo all >/pfs/local/public/of-ann",
        input="/pfs/local/home/ann/data", output="/pfs/local/home/ann/out",
    )  # fmt: skip
    uid = ann.uid()
    assert said == f"from ann{uid} 644\nfrom ann"
    assert ann.get(ann.home + "/out/model").body == b"model\n"
    assert (ann.disk.stat().st_uid, stat.S_IMODE(ann.disk.stat().st_mode)) == (uid, 0o700)
    assert {path.stat().st_uid for path in ann.disk.rglob("*")} == {uid}
    public = ann.disk.parent.parent / "public"
    assert stat.S_IMODE(public.stat().st_mode) == 0o1777
    said = bob.run(
        f"cat {ann.disk}/data/in; ls {ann.disk}; ls /pfs/local/home/ann; cat /pfs/local/public/of-ann; "
        "rm /pfs/local/public/of-ann; echo x >/pfs/local/home/bob/mine",
        output="/pfs/local/home/bob/out",
    )
    assert "from ann" not in said and "all\n" in said and (public / "of-ann").exists()
    assert bob.get(bob.home + "/mine").body == b"x\n"
    refused(bob.get(ann.home + "/data/in"), 403, "denied", "belongs to 'ann'")


def test_what_administrators_give_is_the_users(served, ann):
    upload(served, ann.home + "/given/new/file", b"given")
    upload(served, PUBLIC + "/set/for-all", b"for all")
    said = ann.run(
        "cat /pfs/local/home/ann/given/new/file; rm -r /pfs/local/home/ann/given; cat /pfs/local/public/set/for-all",
        output="/pfs/local/home/ann/out",
    )
    assert said == "givenfor all"


# -- links


def test_links_lead_nowhere(served, ann):
    ann.run(
        "cd /pfs/local/home/ann && ln -s /etc/shadow shadow && ln -s / root && ln -s /etc etc && ln -s ../bob bob",
        output="/pfs/local/home/ann/out",
    )
    for path in ("/shadow", "/root/etc/shadow", "/etc/shadow", "/bob/mine"):
        refused(ann.get(ann.home + path), 403, "denied", "leads out")
    chunk = b"evil"
    for path in ("/etc/paddle-evil", "/root/tmp/paddle-evil", "/bob/evil"):
        reply = served.request("PUT", f"{ann.home}{path}?chunk=0&hash={digest(chunk)}", chunk, headers=ann.headers)
        assert reply.status == 204  # it lies aside until it is finished
        reply = served.post(
            ann.home + path, {"op": "finish", "size": 4, "chunks": [digest(chunk)]}, headers=ann.headers
        )
        refused(reply, 403, "denied", "leads out")
    upload(served, ann.home + "/shadow", chunk, headers=ann.headers)  # the link is replaced, not followed
    assert (ann.disk / "shadow").read_bytes() == chunk and b"evil" not in pathlib.Path("/etc/shadow").read_bytes()
    reply = ann.ask({"command": ["true"], "output": "/pfs/local/home/ann/etc/paddle-evil"})
    refused(reply, 403, "denied", "leads out")
    assert not pathlib.Path("/etc/paddle-evil").exists()


def test_second_names_are_not_read(served, ann):
    """Where the kernel lets everybody link to what is not theirs."""
    target = served.state / "of-root"
    target.write_text("secret")
    ann.run("true", output="/pfs/local/home/ann/out")
    os.link(target, ann.disk / "second")
    refused(ann.get(ann.home + "/second"), 403, "denied", "link")
    (ann.disk / "second").unlink()
    public = ann.disk.parent.parent / "public/second"
    os.link(target, public)
    refused(ann.get(PUBLIC + "/second"), 403, "denied", "link")
    public.unlink()


def test_removing_work_follows_no_link(served, ann, tmp_path):
    """Another process of theirs exchanges directories for links while the server removes them."""
    outside = tmp_path / "outside"
    outside.mkdir()
    open_way(outside)
    (outside / "kept").write_text("kept")
    job = ann.submit("mkdir -p a/b/c && seq 2000 | sed s,^,a/b/c/f, | xargs touch; echo up; exec sleep 600")
    wait_for(lambda: "up" in served.member_log(job["id"]), 60, "the member")
    work = work_of(served, job)
    racer = ann.submit(
        f"cd {work} && ln -s {outside} link && echo up && while :; do mv a x; mv link a; mv a link; mv x a; done 2>&- "
        "|| exec sleep 600"
    )
    wait_for(lambda: "up" in served.member_log(racer["id"]), 60, "the racer")
    served.request("DELETE", f"/v1/jobs/{job['id']}")
    served.wait(job["id"])
    wait_for(lambda: not (work / "a/b").exists() and not (work / "x/b").exists(), 60, "the removal")
    served.request("DELETE", f"/v1/jobs/{racer['id']}")
    served.wait(racer["id"])
    assert (outside / "kept").read_text() == "kept"


def test_deep_trees_are_removed(served, ann):
    job = ann.submit(
        f"{PYTHON} -c \"import os\nfor i in range(5000):\n os.mkdir('d'); os.chdir('d')\"; echo up; exec sleep 600"
    )
    wait_for(lambda: "up" in served.member_log(job["id"]), 60, "the member")
    work = work_of(served, job)
    served.request("DELETE", f"/v1/jobs/{job['id']}")
    served.wait(job["id"])
    wait_for(lambda: not work.exists(), 60, "the removal")


# -- packages, environments, life


TRAIN = """
import os, pathlib, sys
import data
here = pathlib.Path.cwd()
out = pathlib.Path(os.environ["PADDLE_OUTPUT"])
out.mkdir(parents=True, exist_ok=True)
(out / "model.txt").write_text(f"{os.getuid()} {data.NAME} {here.stat().st_uid} {here.stat().st_mode & 0o777:o}")
for path in here.rglob("*"):
    assert path.lstat().st_uid == os.getuid(), path
(here / "scratch").write_text("writable")
"""


def test_a_package_end_to_end(served, ann, tmp_path):
    directory = tmp_path / "digits"
    (directory / "sub").mkdir(parents=True)
    (directory / "train.py").write_text(TRAIN)
    (directory / "data.py").write_text("NAME = 'digits'\n")
    (directory / "sub/run.sh").write_text("#!/bin/sh\n")
    (directory / "sub/run.sh").chmod(0o755)
    (directory / "link").symlink_to("sub/run.sh")
    ann.paddle(
        "submit", "--name", "e2e", "-n", "2", "--output", "model", "--follow", "--",
        "python3", "train.py", cwd=directory, check=0,
    )  # fmt: skip
    ann.paddle("download", "model", tmp_path / "got", check=0)
    uid = ann.uid()
    assert next((tmp_path / "got").rglob("model.txt")).read_text() == f"{uid} digits {uid} 700"
    assert {path.lstat().st_uid for path in ann.disk.rglob("*")} == {uid}


def test_a_member_says_that_it_is_ready(served, ann):
    """The file that says so stands where the member may write."""
    job = ann.submit(
        'touch "$PADDLE_READY_FILE" && exec sleep 600',
        roles=[{"name": "pserver", "replicas": 1}, {"name": "trainer", "replicas": 1, "command": ["true"]}],
        ready="declared",
    )
    assert served.wait(job["id"])["state"] == "succeeded"


def test_environments_are_ones_own(served, ann, bob, tmp_path):
    directory = tmp_path / "package"
    directory.mkdir()
    (directory / "requirements.txt").write_text("six==1.16.0\n")
    (directory / "show.py").write_text("import os, six; print(os.getuid(), six.__version__, six.__file__)")
    paths = {}
    for person in (ann, bob, None):
        paddle = person.paddle if person else served.paddle
        name = f"env-{person.name if person else 'root'}"
        paddle("submit", "--name", name, "--follow", "--", "python", "show.py", cwd=directory, check=0)
        owner = (person.get if person else served.get)(f"/v1/jobs/{name}").json
        log = (person.get if person else served.get)(f"/v1/jobs/{owner['id']}/logs/environment")
        assert b"The environment is ready." in log.body
        said = served.member_log(owner["id"]).split()
        uid = person.uid() if person else 0
        assert said[:2] == [str(uid), "1.16.0"]
        paths[uid] = pathlib.Path(said[2])
        assert paths[uid].stat().st_uid == uid
    assert len(set(paths.values())) == 3
    for uid, path in paths.items():
        if uid != bob.uid():
            assert "Permission denied" in bob.run(f"cat {path} 2>&1 >/dev/null; echo x >>{path}; true")
    log = next(served.state.glob(f"envs/u{ann.uid()}-*/build.log"))
    assert log.stat().st_uid == 0
    assert "denied" in ann.run(f"echo x >>{log} || rm -f {log}; true") and log.exists()


def test_members_outlive_the_server(make_server):
    server = make_server("--cpus", "4")
    ann = Person(server, "ann")
    job = ann.submit("echo up; read x </dev/zero & exec sleep 600")
    server.wait(job["id"], "running")
    wait_for(lambda: "up" in server.member_log(job["id"]), 30, "the member")
    uid = work_of(server, job).stat().st_uid
    server.stop()
    server.start()
    assert server.job(job["id"])["state"] == "running"
    assert ann.uid() == uid
    assert ann.run(f"ls {work_of(server, job)} && echo mine").endswith("mine\n")
    server.request("DELETE", f"/v1/jobs/{job['id']}")
    assert server.wait(job["id"])["state"] == "cancelled"


def test_a_home_of_the_time_before(make_server):
    """Homes and files of a server whose members were all root become their users' at the first access."""
    server = make_server("--run-as", "server")
    ann = Person(server, "ann")
    ann.run("mkdir $PADDLE_OUTPUT/a && echo old >$PADDLE_OUTPUT/a/f", output="/pfs/local/home/ann/out")
    assert ann.disk.stat().st_uid == 0
    server.stop()
    server.options = ()
    server.start()
    said = ann.run("cat $PADDLE_INPUT/a/f; rm -r $PADDLE_INPUT/a", input="/pfs/local/home/ann/out")
    assert said == "old\n" and ann.disk.stat().st_uid == ann.uid()


def test_a_directory_that_cannot_be_passed(make_server, tmp_path):
    server = make_server()
    ann = Person(server, "ann")
    server.state.chmod(0o700)
    job = server.wait(ann.submit("true")["id"])
    assert job["state"] == "failed" and "must be able to enter every directory" in job["reason"], job["reason"]
    server.state.chmod(0o711)
    ann.run("true")
