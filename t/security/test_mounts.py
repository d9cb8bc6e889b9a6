"""Mounts of a job: it sees a directory of a file system, and reaches nothing by it that its user could not open alone."""

import contextlib
import ctypes
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest
from conftest import BIN, open_way, server_of_module, wait_for
from people import Person
from test_files import refused

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a server that is not root runs members as itself")
SWAP = """import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
print("swapping", flush=True)
while not os.path.exists("stop"):
    assert libc.renameat2(-100, b"there", -100, b"link", 2) == 0, os.strerror(ctypes.get_errno())  # RENAME_EXCHANGE"""

served = server_of_module("--cpus", "64", "--allow-new-privileges", "free")


@pytest.fixture(scope="module")
def ann(served):
    person = Person(served, "ann")
    person.run("true", mounts=[home("/first")])  # makes the home
    return person


@pytest.fixture(scope="module")
def bob(served):
    person = Person(served, "bob")
    person.run("umask 077; mkdir /b/own; echo bobs >/b/own/x; chmod 700 /b", mounts=[home("/b")])
    return person


@pytest.fixture
def machine():
    """A directory of the machine that the sandbox does not hide, with a file."""
    made = pathlib.Path(tempfile.mkdtemp(dir="/mnt", prefix="paddle-test-"))
    made.chmod(0o755)
    (made / "kept").write_text("the machine's\n")
    yield made
    shutil.rmtree(made)


def home(path, sub=None, read_only=None):
    mount = {"fs": "home", "path": str(path), "sub": sub, "read_only": read_only}
    return {name: value for name, value in mount.items() if value is not None}


def fails(person, *mounts, script="true"):
    """The reason why a job with these mounts does not start; it is not tried again."""
    job = person.server.wait(person.submit(script, retries=3, mounts=list(mounts))["id"])
    assert job["state"] == "failed" and job["attempt"] == 1, (job["state"], job["reason"])
    return job["reason"]


def mounts_of_machine():
    return pathlib.Path("/proc/self/mountinfo").read_text()


# -- a directory is seen


def test_what_one_job_writes_another_reads(ann):
    ann.run("echo one >/data/x", mounts=[home("/data", "a/b")])  # a/b is made
    made = ann.disk / "a/b/x"
    assert made.read_text() == "one\n" and made.stat().st_uid == made.parent.stat().st_uid == ann.uid()
    said = ann.run("cat /in/x deep/er/b/x; pwd", mounts=[home("/in", "a/b", True), home("deep/er", "a")])
    assert said.split()[:2] == ["one", "one"]


def test_the_job_shows_its_mounts(served, ann):
    job = ann.submit("true", mounts=[home("//data/./x/", "a//b/", True), home("in", "")])
    shown = ann.get(f"/v1/jobs/{job['id']}").json["spec"]["mounts"]
    assert shown == [
        {"fs": "home", "sub": "a/b", "path": "/data/x", "read_only": True},
        {"fs": "home", "path": "in"},
    ]
    said = ann.paddle("status", job["id"], check=0).stdout
    assert "home/a/b at /data/x, read-only" in said and "home at in\n" in said


def test_the_command_line(ann, tmp_path):
    ann.run("echo two >/d/y", mounts=[home("/d", "set")])
    options = ("--mount", "home/set:/data:ro", "--mount", "home:out")
    line = "cat /data/y >out/z; touch /data/n 2>/dev/null || echo refused"
    done = ann.paddle("submit", *options, "--no-package", "--follow", "--", "sh", "-c", line, cwd=tmp_path, check=0)
    assert "refused" in done.stdout and (ann.disk / "z").read_text() == "two\n"
    (tmp_path / "paddle.yaml").write_text("command: cat in/y\nmounts: [{fs: home, sub: set, path: in}]\n")
    assert "two" in ann.paddle("submit", "--follow", cwd=tmp_path, check=0).stdout


def test_all_members_and_attempts(served, ann):
    script = "test -e in/first.$PADDLE_TRAINER_ID && exit 0; touch in/first.$PADDLE_TRAINER_ID; exit 1"
    roles = [{"name": "worker", "replicas": 2}]
    job = ann.submit(script, roles=roles, framework="plain", retries=4, backoff=0, mounts=[home("in", "attempts")])
    assert served.wait(job["id"])["state"] == "succeeded"
    assert len(list((ann.disk / "attempts").iterdir())) >= 1


def test_a_command_beside_the_member(served, ann):
    job = ann.submit("echo three >/data/w; exec sleep 600", mounts=[home("/data", "beside")])
    served.wait(job["id"], "running")
    wait_for(lambda: (ann.disk / "beside/w").exists() and (ann.disk / "beside/w").read_text(), what="the job's file")
    assert ann.paddle("exec", job["id"], "--", "cat", "/data/w", check=0).stdout == "three\n"
    served.cancel([job["id"]])
    served.wait(job["id"])


def test_the_servers_own_name(served):
    said = served.wait(served.submit(["sh", "-c", "echo $(id -u) >/data/x; cat /data/x"], mounts=[home("/data")])["id"])
    assert said["state"] == "succeeded", said["reason"]
    assert (served.state / "storage/local/home/root/x").read_text() == "0\n"


def test_without_root(make_server, tmp_path_factory):
    """A server of an ordinary user, as on a laptop: the member has a user namespace."""
    uid = 4242424
    probe = ["unshare", "--user", "--map-root-user", "--mount", "mount", "--rbind", "/mnt", "/mnt"]
    as_user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    if subprocess.run([*as_user, *probe], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody have a user namespace")
    folder = tmp_path_factory.mktemp("program")
    open_way(folder)
    program = folder / "paddled"
    program.write_text(f'#!/bin/sh\nexec {" ".join(as_user)} {BIN}/paddled "$@"\n')
    program.chmod(0o755)
    server = make_server(program=program, start=False)
    os.chown(server.state, uid, uid)
    server.start()
    script = "echo $(id -u) >/data/x; cat in/x; mount -o remount,rw /ro 2>/dev/null; touch /ro/y || echo refused"
    job = server.submit(["sh", "-c", script], mounts=[home("/data"), home("in"), home("/ro", read_only=True)])
    job = server.wait(job["id"])
    assert job["state"] == "succeeded", job["reason"]
    said = server.member_log(job["id"])
    assert said.split()[0] == str(uid) and "refused" in said
    job = server.submit(["sh", "-c", "echo up; exec sleep 600"], mounts=[home("/data")])
    server.wait(job["id"], "running")
    wait_for(lambda: "up" in server.member_log(job["id"]), what="the job")
    assert server.paddle("exec", job["id"], "--", "cat", "/data/x", check=0).stdout == f"{uid}\n"


# -- nothing is hidden


def test_the_machine_stays_as_it_is(ann):
    before, names = mounts_of_machine(), sorted(os.listdir("/"))
    said = ann.run("ls -a /; touch /x || echo refused", mounts=[home("/new-a/b"), home("/new-a/c"), home("/new-d")])
    assert sorted(
        set(said.split("\n")) - {".", "..", "", "refused", "touch: cannot touch '/x': Read-only file system"}
    ) == (sorted([*names, "new-a", "new-d"]))
    assert "refused" in said
    assert mounts_of_machine() == before and sorted(os.listdir("/")) == names


def test_links_and_files_of_the_machine_are_seen_beside_a_new_directory(ann, machine):
    (machine / "link").symlink_to("kept")
    (machine / "dir").mkdir()
    (machine / "dir/deep").write_text("deep\n")
    script = f"cd {machine}; cat kept link dir/deep new/x; touch other || echo refused"
    said = ann.run(f"echo mine >{machine}/new/x; {script}", mounts=[home(machine / "new", "beside")])
    assert said.split("\n")[:4] == ["the machine's", "the machine's", "deep", "mine"] and "refused" in said
    assert sorted(os.listdir(machine)) == ["dir", "kept", "link"]


def test_a_directory_with_files_is_not_covered(ann, machine):
    assert "exists and is not empty" in fails(ann, home(machine))
    assert "exists and is not empty" in fails(ann, home("/mnt"))
    (machine / "kept").unlink()
    ann.run(f"touch {machine}/y", mounts=[home(machine, "empty")])
    assert os.listdir(machine) == [] and (ann.disk / "empty/y").exists()


def test_a_directory_of_ones_own_is_not_covered_for_a_mount_point(ann, machine):
    os.chown(machine, ann.uid(), -1)
    assert "in a directory that you can write to" in fails(ann, home(machine / "new"))


def test_a_directory_that_is_too_large(ann, machine):
    for i in range(1001):
        (machine / str(i)).mkdir()
    assert "more than 1000 entries" in fails(ann, home(machine / "new"))


def test_names_in_a_directory_that_cannot_be_listed_stay_unknown(ann, machine):
    """Such as those of homes and jobs of others. A frame would tell them, at least in /proc/self/mountinfo."""
    machine.chmod(0o711)
    assert "in a directory whose files you cannot list" in fails(ann, home(machine / "new"))
    (machine / "there").mkdir()
    script = f"touch {machine}/there/x; cat {machine}/kept; grep -c kept /proc/self/mountinfo"
    assert ann.run(f"{script} || true", mounts=[home(machine / "there", "unlisted")]) == "the machine's\n0\n"


def test_a_path_over_a_link_or_a_file(ann, machine):
    (machine / "link").symlink_to("/etc")
    assert "leads over a link" in fails(ann, home(machine / "link/new"))
    assert "Not a directory" in fails(ann, home(machine / "kept/new"))
    os.chmod(machine, 0o700)
    assert "Permission denied" in fails(ann, home(machine / "new"))


@pytest.mark.parametrize(
    "path", ["/etc", "/etc/paddle", "/usr", "/usr/local/x", "/bin", "/proc", "/dev/shm/x", "/tmp/x", "/"]
)
def test_places_that_stay_closed(ann, path):
    reply = ann.ask({"command": ["true"], "mounts": [home(path)]})
    refused(reply, 400, "invalid", "mounted")


def test_a_thousand_mounts(ann):
    reply = ann.ask({"command": ["true"], "mounts": [home(f"/m{i}") for i in range(1000)]})
    refused(reply, 400, "invalid", "a job can have 32 mounts, not 1000")
    ann.run("echo all >/m0/all; for i in $(seq 0 31); do cat /m$i/all; done | sort | uniq -c | grep -w 32",
            mounts=[home(f"/m{i}", "all") for i in range(32)])  # fmt: skip


def test_what_does_not_exist(ann):
    refused(ann.ask({"command": ["true"], "mounts": [{"fs": "nowhere", "path": "/d"}]}), 404, "not_found", "nowhere")
    assert "'missing' in file system 'home' cannot be opened: No such file" in fails(ann, home("/d", "missing", True))
    (ann.disk / "file").write_text("")
    assert "Not a directory" in fails(ann, home("/d", "file"))


# -- file systems with a name


@pytest.fixture
def sets(served, ann, machine):
    """A file system of ann's: a directory that is hers alone."""
    directory = machine / "sets"
    directory.mkdir()
    (directory / "digits").mkdir()
    (directory / "digits/x").write_text("0123\n")
    for path in (directory, directory / "digits"):
        os.chown(path, ann.uid(), ann.uid())
    directory.chmod(0o700)
    yield make(served, "sets", directory)
    drop(served, "sets")


def make(served, name, directory, user="ann", **members):
    body = {"name": name, "url": f"local:/{directory}", **members}
    reply = served.post(f"/v1/filesystems?user={user}", body)
    assert reply.status == 201, reply.body
    return pathlib.Path(directory)


def drop(served, name, user="ann"):
    return served.request("DELETE", f"/v1/filesystems/{name}?user={user}")


def of(name, path, sub=None, read_only=None):
    return {**home(path, sub, read_only), "fs": name}


def test_a_named_directory_is_seen(served, ann, bob, sets):
    said = ann.run("cat /in/x; echo 4 >out/y", mounts=[of("sets", "/in", "digits", True), of("sets", "out", "new")])
    assert said == "0123\n" and (sets / "new/y").read_text() == "4\n"
    assert (sets / "new/y").stat().st_uid == ann.uid()
    refused(
        bob.ask({"command": ["true"], "mounts": [of("sets", "/in")]}), 404, "not_found", "has no file system 'sets'"
    )


def test_a_file_system_that_is_only_read(served, ann, sets):
    make(served, "fixed", sets, read_only=True)
    said = ann.run("cat /in/digits/x; touch /in/y || echo refused", mounts=[of("fixed", "/in")])
    assert "0123" in said and "refused" in said and not (sets / "y").exists()
    assert drop(served, "fixed").status == 204


def test_a_file_system_in_use_is_not_deleted(served, ann, sets):
    jobs = [ann.submit("exec sleep 600", mounts=[of("sets", "/a"), of("sets", "/b")]) for _ in range(2)]
    assert "mounted by 2 open jobs" in drop(served, "sets").json["message"]
    served.cancel([jobs[0]["id"]])
    served.wait(jobs[0]["id"])
    reply = drop(served, "sets")
    assert reply.status == 409 and "mounted by 1 open job\n" in reply.json["message"] + "\n"
    served.cancel([jobs[1]["id"]])
    served.wait(jobs[1]["id"])
    assert drop(served, "sets").status == 204
    make(served, "sets", sets)


def test_a_job_that_waits_holds_its_file_system_over_a_restart(make_server, machine):
    server = make_server("--cpus", "8")
    make(server, "sets", machine, user="root")
    first = server.submit(["sleep", "600"])
    job = server.submit(["cat", "/in/kept"], mounts=[of("sets", "/in")], after=[f"any:{first['id']}"])
    server.kill()
    server.start()
    assert "mounted by 1 open job" in drop(server, "sets", "root").json["message"]
    server.cancel([first["id"]])
    assert server.wait(job["id"])["state"] == "succeeded"
    assert server.member_log(job["id"]) == "the machine's\n" and drop(server, "sets", "root").status == 204


def test_a_directory_that_has_vanished(ann, sets):
    shutil.rmtree(sets)
    says = "the directory of file system 'sets' cannot be opened: No such file or directory"
    assert says in fails(ann, of("sets", "/in")) and says in fails(ann, of("sets", "/in", "new"))
    assert not sets.exists()


def test_a_file_system_that_never_answers(served, ann, machine):
    """It ends the jobs that use it after 30 s, and holds up no other."""
    libc = ctypes.CDLL(None, use_errno=True)
    hung = machine / "hung"
    (hung / "dir").mkdir(parents=True)
    make(served, "hung", hung / "dir")  # it answers when it is named, and not any more when it is used
    device = os.open("/dev/fuse", os.O_RDWR)  # nobody reads the requests
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    assert libc.mount(b"hung", bytes(hung), b"fuse", 0, options.encode()) == 0, os.strerror(ctypes.get_errno())
    try:
        stuck = ann.submit("true", mounts=[of("hung", "/in")])
        served.wait(stuck["id"], "starting")
        ann.run("true")
        ann.run("true", mounts=[home("/in")])
        ended = served.wait(stuck["id"])
        assert ended["state"] == "failed" and "did not answer within 30 s" in ended["reason"], ended["reason"]
        assert drop(served, "hung").status == 204
    finally:
        os.close(device)
        subprocess.run(["umount", "-l", hung], check=True)


def test_a_directory_that_is_not_the_users(served, ann, bob, sets):
    os.chown(sets, bob.uid(), bob.uid())
    for mount in (of("sets", "/in"), of("sets", "/in", "digits"), of("sets", "/in", "digits", True)):
        assert "Permission denied" in fails(ann, mount)
    shutil.rmtree(sets)
    sets.symlink_to(bob.disk)  # its owner may set it to any place, and reaches what the user could
    assert "Permission denied" in fails(ann, of("sets", "/in"))


@pytest.mark.parametrize("path", ["/proc", "/proc/sys", "/sys", "/dev", "/dev/shm"])
def test_what_the_sandbox_hides_is_not_mounted(served, ann, path):
    make(served, "hidden", path)
    assert "contains files of the kernel" in fails(ann, of("hidden", "/in", read_only=True))
    assert drop(served, "hidden").status == 204


@pytest.mark.parametrize("folder", ["root", "a root", "a\\root"])  # mountinfo escapes blanks and backslashes
def test_a_proc_elsewhere_is_not_mounted(served, ann, machine, folder):
    """Neither a directory around it, nor one in it, such as that of a process of another user."""
    inner = machine / folder / "proc"
    inner.mkdir(parents=True)
    subprocess.run(["mount", "-t", "proc", "proc", inner], check=True)
    try:
        make(served, "around", machine / folder)
        for sub in (None, "proc", "proc/sys/net", f"proc/{served.process.pid}"):
            assert "contains files of the kernel" in fails(ann, of("around", "/in", sub, True)), sub
        assert drop(served, "around").status == 204
    finally:
        subprocess.run(["umount", inner], check=True)


def test_mounts_below_are_seen_and_read_only(served, ann, machine):
    """What the machine covers with a mount stays covered, and a read-only mount is read-only in all its parts."""
    inner = machine / "part"
    inner.mkdir()
    (inner / "covered").write_text("covered\n")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", inner], check=True)
    try:
        make(served, "parts", machine)
        said = ann.run("ls /in/part; touch /in/part/y || echo refused", mounts=[of("parts", "/in", read_only=True)])
        assert "covered" not in said and "refused" in said and os.listdir(inner) == []
        ann.run("touch /in/z", mounts=[of("parts", "/in", "part")])
        assert os.listdir(inner) == ["z"]
        assert drop(served, "parts").status == 204
    finally:
        subprocess.run(["umount", inner], check=True)


# -- attacks


def test_a_read_only_mount_is_not_written(ann):
    ann.run("umask 0; mkdir /w/dir; echo kept >/w/dir/x", mounts=[home("/w", "ro")])
    script = """
        echo bad >/data/dir/x; touch /data/new; rm /data/dir/x; mkdir /data/d; ln -s x /data/l; chmod 0 /data/dir/x
        mv /data/dir/x /data/dir/y; mount -o remount,rw,bind /data; umount /data; touch -d 2000-01-01 /data/dir/x
        unshare -rm mount -o remount,rw,bind /data; echo bad >>/data/dir/x; exec 3<>/data/dir/x; true"""
    ann.run(f"({script}) 2>/dev/null; exit 0", mounts=[home("/data", "ro", True)])
    assert (ann.disk / "ro/dir/x").read_text() == "kept\n" and os.listdir(ann.disk / "ro") == ["dir"]
    assert (ann.disk / "ro/dir/x").stat().st_mtime > 1e9 and os.listdir(ann.disk / "ro/dir") == ["x"]


def test_links_do_not_lead_out(ann, bob, machine):
    for name, target in {"abs": "/etc", "rel": "../bob", "deep": str(bob.disk), "self": "/proc/self/root"}.items():
        link = ann.disk / name
        with contextlib.suppress(FileNotFoundError):
            link.unlink()
        link.symlink_to(target)
        for mount in (home("/d", name), home("/d", f"{name}/own", True), home("/d", f"{name}/new")):
            assert "leads out of file system 'home'" in fails(ann, mount), name
    assert not (bob.disk / "new").exists() and not pathlib.Path("/etc/new").exists()
    (ann.disk / "inner").symlink_to("a")
    ann.run("true", mounts=[home("/d", "a")])  # makes it
    ann.run("touch /d/by-link", mounts=[home("/d", "inner")])
    assert (ann.disk / "a/by-link").exists()


def test_directories_of_others_stay_closed(ann, bob):
    private = ann.disk / "private"
    private.mkdir()
    os.chown(private, bob.uid(), bob.uid())
    private.chmod(0o700)
    for sub in ("private", "private/x"):
        for read_only in (True, None):
            assert "Permission denied" in fails(ann, home("/d", sub, read_only))
    refused(ann.ask({"command": ["true"], "mounts": [home("/d", "../bob")]}), 400, "invalid", "'..'")


def test_a_link_that_takes_a_directorys_place(served, ann, machine):
    """The directory is exchanged with a link out of the file system while jobs open it."""
    (machine / "x").mkdir()
    (machine / "x/whose").write_text("outside\n")
    race = ann.disk / "race"
    ann.run("mkdir -p /r/there/x; echo inside >/r/there/x/whose", mounts=[home("/r", "race")])
    (race / "link").symlink_to(machine)
    os.lchown(race / "link", ann.uid(), ann.uid())
    swapper = ann.submit(f"cd /r; exec /usr/bin/python3 -c '{SWAP}'", mounts=[home("/r", "race")])
    wait_for(lambda: "swapping" in served.member_log(swapper["id"]), what="the exchanges")
    jobs = [ann.submit("cat /d/whose", mounts=[home("/d", "race/there/x", True)]) for _ in range(60)]
    ends = [served.wait(job["id"]) for job in jobs]
    (race / "stop").touch()
    assert served.wait(swapper["id"])["state"] == "succeeded", served.member_log(swapper["id"])
    for job in ends:
        if job["state"] == "succeeded":
            assert served.member_log(job["id"]) == "inside\n"
        else:
            assert "leads out of file system" in job["reason"] or "temporarily" in job["reason"], job["reason"]


def test_set_uid_programs_on_a_mount_give_no_rights(served, ann):
    """Neither to others nor to users whose members may gain rights elsewhere."""
    free = Person(served, "free")
    for person in (ann, free):
        person.run("true", mounts=[home("/d")])
        program = person.disk / "id"
        shutil.copy("/usr/bin/id", program)
        program.chmod(0o4755)
        assert program.stat().st_uid == 0 and program.stat().st_mode & stat.S_ISUID
        said = person.run("/d/id -u; grep NoNewPrivs /proc/self/status", mounts=[home("/d")])
        assert said.split() == [str(person.uid()), "NoNewPrivs:", "1"]
    assert free.run("grep NoNewPrivs /proc/self/status").split() == ["NoNewPrivs:", "0"]
    job = free.submit("exec sleep 600", mounts=[home("/d")])
    served.wait(job["id"], "running")
    assert free.paddle("exec", job["id"], "--", "grep", "NoNewPrivs", "/proc/self/status").stdout.split()[-1] == "1"
    served.cancel([job["id"]])
    served.wait(job["id"])


def test_the_sandbox_is_the_same(ann):
    """System calls, capabilities and processes, although another process starts such members."""
    script = "grep -E '^(Seccomp|Cap...|NoNewPrivs):' /proc/self/status; ls /proc | grep -c '^[0-9]'; ls /tmp | wc -l"
    assert ann.run(script, mounts=[home("/d")]) == ann.run(script)


def test_devices_on_a_mount_are_closed(ann):
    os.mknod(ann.disk / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.chmod(ann.disk / "null", 0o666)
    assert "Permission denied" in ann.run("cat /d/null || true", mounts=[home("/d")])


def test_a_mount_is_gone_with_its_member(ann):
    """A later job in the same sandbox does not see it."""
    for _ in range(3):
        assert ann.run("ls -d /data; touch /data/z", mounts=[home("/data", "gone")]).strip() == "/data"
        assert "No such file" in ann.run("ls -d /data || true")
