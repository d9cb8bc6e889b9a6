"""A setup step: a command that runs once before the job, cached by its text and the files that it names."""

import json
import os
import shutil

import pytest
from conftest import ROOT, Server
from people import Person

UV = shutil.which("uv", path=f"{ROOT}/.venv/bin") or shutil.which("uv")
SHOW = "import os, sys\nprint(*sorted(os.listdir('.')))\nprint(open('ops/op.txt').read(), end='')\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "64", *(["--uv", UV] if UV else [])).start()
    yield server
    server.destroy()


class Project:
    """A directory with a program and a setup, which writes down that it ran."""

    def __init__(self, directory, calls):
        self.directory, self.calls = directory, calls
        (directory / "ops").mkdir()
        self.write("ops/build.sh", f"echo ran >>{calls}\necho building the ops\ncp ops/op.in ops/op.txt\n")
        self.write("ops/op.in", "one\n")
        self.write("show.py", SHOW)
        self.calls.touch()

    def write(self, name, text):
        (self.directory / name).write_text(text)

    def ran(self):
        return len(self.calls.read_text().split())

    def run(
        self, server, name, setup="sh ops/build.sh # ops", *options, command=("python3", "show.py"), state="succeeded"
    ):
        words = ["submit", "--name", name, "--setup", setup, *options, "--", *command]
        server.paddle(*words, cwd=self.directory, check=0)
        job = server.wait(name)
        assert job["state"] == state, (job["reason"], server.get(f"/v1/jobs/{name}/logs/environment").body)
        return job

    def envs(self, server, name):
        job = server.job(name)
        link = server.state / "jobs" / job["id"][:2] / job["id"] / "environment"
        return link.resolve()


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    directory.mkdir()
    return Project(directory, tmp_path / "calls")


# -- once


def test_it_runs_once_and_its_files_are_there(served, project):
    job = project.run(served, "once")
    assert job["environment"] == "ready" and job["spec"]["setup"] == "sh ops/build.sh # ops"
    assert served.member_log("once") == "ops show.py\none\n"
    log = served.member_log("once", "environment")
    assert "== setup: sh ops/build.sh # ops\nbuilding the ops\n" in log
    assert log.endswith("The environment is ready.\n")
    assert project.ran() == 1

    project.run(served, "again")
    assert served.member_log("again") == "ops show.py\none\n" and project.ran() == 1


def test_a_change_of_text_or_of_a_named_file_runs_it_again(served, project):
    project.run(served, "first")
    project.write("show.py", "print('other')\n" + SHOW)
    project.write("data.txt", "not named\n")
    project.run(served, "unnamed")
    assert project.ran() == 1
    assert served.member_log("unnamed") == "other\ndata.txt ops show.py\none\n"

    project.write("ops/op.in", "two\n")
    project.run(served, "named")
    assert project.ran() == 2 and served.member_log("named").endswith("two\n")

    project.run(served, "text", "sh ./ops/build.sh # ops")
    assert project.ran() == 3

    project.write("ops/op.in", "one\n")  # as at first: that environment is still there
    project.run(served, "back")
    assert project.ran() == 3 and served.member_log("back").endswith("one\n")


def test_jobs_that_wait_share_one_run(served, project):
    reply = served.paddle(
        "submit", "--name", "many", "--array", "0-7", "--setup", "sh ops/build.sh # ops", "--", "python3", "show.py",
        cwd=project.directory, check=0,
    )  # fmt: skip
    assert "many" in reply.stdout + reply.stderr
    for index in range(8):
        job = served.wait(f"many-{index}")
        assert job["state"] == "succeeded", job["reason"]
        assert served.member_log(f"many-{index}").endswith("one\n")
    assert project.ran() == 1


def test_each_member_and_each_attempt_has_the_files(served, project):
    script = 'cat ops/op.txt; echo mine >ops/op.txt; [ -e "$PADDLE_OUTPUT/x" ] || { touch "$PADDLE_OUTPUT/x"; exit 1; }'
    project.run(
        served,
        "attempts",
        "sh ops/build.sh # ops",
        "--retries",
        "1",
        "--output",
        "attempts",
        command=("sh", "-c", script),
    )
    assert served.job("attempts")["attempt"] == 2 and served.member_log("attempts") == "one\n" and project.ran() == 1
    roles = [{"name": "trainer", "replicas": 3}]
    spec = served.job("attempts")["spec"]
    job = served.submit(
        "cat ops/op.txt", roles=roles, setup=spec["setup"], package=spec["package"], framework="paddle-collective"
    )
    assert served.wait(job["id"])["state"] == "succeeded"
    for index in range(3):
        assert served.member_log(job["id"], f"trainer-{index}") == "one\n"
    assert project.ran() == 1


def test_it_wins_over_the_package_and_leaves_it_alone(served, project):
    project.write("config.txt", "of the package\n")
    project.run(
        served,
        "wins",
        "echo of the setup >config.txt; rm show.py; chmod 4755 config.txt",
        command=("cat", "config.txt", "show.py"),
    )
    assert served.member_log("wins") == "of the setup\n" + SHOW
    assert (project.directory / "config.txt").read_text() == "of the package\n"
    project.run(served, "plain", "true", command=("cat", "config.txt"))
    assert served.member_log("plain") == "of the package\n"
    project.run(
        served,
        "mode",
        "echo of the setup >config.txt; rm show.py; chmod 4755 config.txt",
        command=("sh", "-c", "test -x config.txt && ! test -u config.txt"),
    )


def test_bytecode_is_not_kept(served, project):
    """A program of the same size and time as the one that it was made from would be taken for it."""
    project.write("mod.py", "VALUE = 1\n")
    setup = "python3 -c 'import mod'"
    for value in (1, 2):
        project.write("mod.py", f"VALUE = {value}\n")
        project.run(served, f"pyc-{value}", setup, command=("python3", "-c", "import mod; print(mod.VALUE)"))
        assert served.member_log(f"pyc-{value}") == f"{value}\n"
    assert not list(project.envs(served, "pyc-2").glob("made/**/*.pyc"))


def test_what_it_installs_is_there(served, project):
    (project.directory / "lib/mylib").mkdir(parents=True)
    project.write("lib/mylib/__init__.py", "VALUE = 42\n")
    project.write(
        "lib/pyproject.toml",
        '[project]\nname = "mylib"\nversion = "1"\n[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n',
    )
    show = ("python", "-c", "import mylib; print(mylib.VALUE, mylib.__file__)")
    project.run(served, "installed", "pip install ./lib", command=show)
    value, path = served.member_log("installed").split()
    assert value == "42" and path.startswith(str(served.state / "envs"))
    project.run(served, "editable", "pip install -e ./lib", command=show)
    assert served.member_log("editable").split()[0] == "42"


def test_it_follows_the_requirements(served, project):
    project.write("requirements.txt", "six==1.16.0\n")
    project.run(
        served, "after", 'python -c \'import six; open("v", "w").write(six.__version__)\'', command=("cat", "v")
    )
    assert served.member_log("after") == "1.16.0"


def test_without_a_package(served):
    job = served.submit("cat made", setup="echo here >made")
    assert served.wait(job["id"])["state"] == "succeeded"
    assert served.member_log(job["id"]) == "here\n"
    assert "setup_files" not in served.job(job["id"])["spec"]


def test_follow_shows_it(served, project):
    done = served.paddle(
        "submit", "--follow", "--setup", "echo hello from the setup", "--", "true", cwd=project.directory, check=0
    )
    assert "environment | hello from the setup" in done.stdout, (done.stdout, done.stderr)


def test_a_setup_may_make_the_program(served, project):
    """And what makes it run again is said."""
    words = (
        "submit",
        "--follow",
        "--setup",
        "printf '#!/bin/sh\necho made' >sim; chmod +x sim # show.py",
        "--",
        "./sim",
    )
    done = served.paddle(*words, cwd=project.directory, check=0)
    assert "worker-0 | made" in done.stdout, (done.stdout, done.stderr)
    assert "again when its text or one of show.py changes" in done.stderr


# -- failures


@pytest.mark.parametrize(
    "setup, says",
    [
        ("echo cannot do it >&2; exit 3", "the setup command `echo cannot do it >&2; exit 3` ended with exit status 3: cannot do it"),
        ("false\ntouch made", "the setup command `false` ended with exit status 1"),
        ("kill -9 $$", "the setup command `kill -9 $$` was ended by signal 9"),
        ("nosuchprogram-x", "ended with exit status 127: sh: 1: nosuchprogram-x: not found"),
        ("ln -s /etc/passwd secret", "'secret' is a link to '/etc/passwd', which is not in the work directory"),
        ("ln -s ../../x secret", "'secret' is a link to '../../x'"),
        ("mkdir d; ln -s x/../../../y d/l", "'d/l' is a link to 'x/../../../y'"),
        ("mkfifo pipe", "'pipe' is neither a file, a link nor a directory"),
        ("truncate -s 5G large", "more than 4.0 GiB"),
        ("python3 -c 'for i in range(20001): open(f\"f{i}\", \"w\")'", "more than 20,000 files"),
        ("python3 -c 'import os; [os.mkdir(f\"d{i}\") for i in range(20001)]'", "more than 20,000 files and directories"),
        ("n=65; while [ $n -gt 0 ]; do mkdir d; cd d; n=$((n - 1)); done", "more than 64 levels of directories"),
        ("n=1500; while [ $n -gt 0 ]; do mkdir d; cd d; n=$((n - 1)); done", "more than 64 levels of directories"),
    ],
)  # fmt: skip
def test_a_failure_fails_the_job_and_says_why(served, project, setup, says):
    name = f"fails-{abs(hash(setup))}"
    job = project.run(served, name, setup, "--force", state="failed")
    assert job["environment"] == "failed" and says in job["reason"], job["reason"]
    assert "see `paddle logs" in job["reason"]
    assert not list(project.envs(served, name).glob("package.*")), "the copy of the package is left"


def test_a_failure_is_not_kept(served, project):
    flag = project.calls.with_name("flag")
    setup = f"[ -e {flag} ]"
    project.run(served, "flag-1", setup, "--force", state="failed")
    flag.touch()
    project.run(served, "flag-2", setup, "--force", command=("true",))
    assert not list(project.envs(served, "flag-2").glob("package.*"))


def test_links_inside_are_kept(served, project):
    project.run(served, "links", "mkdir lib; echo v >lib/l.so.1; ln -s l.so.1 lib/l.so; ln -s $PWD/lib/l.so.1 lib/abs; ln -s lib way",
                command=("cat", "lib/l.so", "lib/abs", "way/l.so.1"))  # fmt: skip
    assert served.member_log("links") == "v\n" * 3


def test_as_deep_as_is_allowed(served, project):
    deep = "n=64; while [ $n -gt 0 ]; do mkdir d; cd d; n=$((n - 1)); done; echo bottom >file"
    project.run(served, "deep", deep, command=("cat", "d/" * 64 + "file"))
    assert served.member_log("deep") == "bottom\n"


@pytest.mark.parametrize("setup", ["", "  \n", "a\x1b[31mb", "a\rb", "x" * 4097, 5, ["make"]])
def test_what_is_no_command_is_refused(served, setup):
    reply = served.post("/v1/jobs", {"command": "true", "setup": setup})
    assert reply.status == 400 and b"setup" in reply.body, reply.body


def test_the_server_says_which_files_count(served):
    """A client cannot claim another's environment."""
    job = served.submit("true", setup="echo x", setup_files="0" * 64)
    assert "setup_files" not in served.job(job["id"])["spec"]
    assert served.wait(job["id"])["state"] == "succeeded"


# -- before it is sent


def test_a_plan_shows_it(served, project):
    done = served.paddle(
        "submit", "--plan", "--setup", "sh ops/build.sh # ops", "--", "python3", "show.py", cwd=project.directory
    )
    assert (
        "sets up     sh ops/build.sh # ops; once, and again when it or one of ops/build.sh, ops/op.in changes\n"
        in done.stdout
    ), done.stdout
    done = served.paddle("submit", "--plan", "--setup", "make", "--", "python3", "show.py", cwd=project.directory)
    assert "sets up     make; once, and again when it changes\n" in done.stdout, done.stdout


def test_a_job_file_has_it(served, project):
    project.write(
        "paddle.yaml", "name: filed\ncommand: [cat, ops/op.txt]\nsetup: |\n  echo begin\n  sh ops/build.sh # ops\n"
    )
    served.paddle("submit", cwd=project.directory, check=0)
    assert served.wait("filed")["state"] == "succeeded"
    assert served.member_log("filed") == "one\n" and project.ran() == 1


def test_a_program_that_is_not_there_is_refused(served, project):
    done = served.paddle("submit", "--setup", "sh ops/bild.sh", "--", "python3", "show.py", cwd=project.directory)
    assert (
        done.returncode == 2 and "'ops/bild.sh' is not in the package" in done.stderr and "ops/build.sh" in done.stderr
    )


# -- somebody else's


@pytest.fixture(scope="module")
def ann(served):
    if os.geteuid() != 0:
        pytest.skip("only a server that is root can run members as somebody else")
    return Person(served, "ann")


def submit_as(person, project, name, setup, *command):
    person.paddle("submit", "--name", name, "--setup", setup, "--force", "--", *command, cwd=project.directory, check=0)
    job = person.server.wait(person.id_of(name))
    return job, person.server.member_log(job["id"]) if job["state"] == "succeeded" else ""


def test_it_runs_as_its_user_and_is_theirs(served, ann, project):
    setup = "id -u >who; cp show.py copy.py; mkdir d; echo x >d/e; chmod 4777 who"
    job, said = submit_as(
        ann,
        project,
        "own",
        setup,
        "sh",
        "-c",
        "cat who; stat -c %u who d/e; echo mine >>who; test -x who && ! test -u who && ! test -x d/e",
    )
    assert job["state"] == "succeeded", job["reason"]
    uid = str(ann.uid())
    assert said.split() == [uid, uid, uid]
    (environment,) = {path.parent for path in (served.state / "envs").glob(f"u{uid}-*/own")}
    assert {path.lstat().st_uid for path in (environment / "own").rglob("*")} == {ann.uid()}
    assert not list(environment.glob("new.*")) and not list(environment.glob("own/package.*"))
    bob = Person(served, "bobette")
    job, said = submit_as(bob, project, "own", setup, "cat", "who")
    assert said.strip() == str(bob.uid()) != uid


def test_what_a_user_puts_there_later_is_not_believed(served, ann, project):
    """Their environment is theirs: whatever is laid over their work directory is theirs already, inside it, and small."""
    setup = "echo 1 >made.txt"
    job, said = submit_as(ann, project, "later", setup, "cat", "made.txt")
    assert said == "1\n"
    (link,) = served.state.glob(f"jobs/{job['id'][:2]}/{job['id']}/environment")
    made = link.resolve() / "own/made"
    secret = served.state / "server.log"
    for index, (hostile, says) in enumerate(
        [
            (lambda: (made / "made.txt").symlink_to(secret), "link"),
            (lambda: os.link(secret, made / "made.txt"), "belongs to another user"),
            (lambda: os.mkfifo(made / "made.txt"), "neither file, link nor directory"),
            (lambda: made.symlink_to(served.state / "agent"), "made"),
        ]
    ):
        shutil.rmtree(made)
        if index < 3:
            made.mkdir()
            os.chown(made, ann.uid(), ann.uid())
        hostile()
        job, _ = submit_as(ann, project, f"later-{index}", setup, "cat", "made.txt")
        assert job["state"] == "failed" and says in job["reason"], job["reason"]
        assert "Submit the job again, and the setup runs again." in job["reason"], job["reason"]
        job, said = submit_as(ann, project, f"later-{index}-again", setup, "cat", "made.txt")
        assert said == "1\n", job["reason"]


def test_a_server_that_dies_meanwhile(make_server, project):
    server = make_server("--cpus", "4")
    gate = project.calls.with_name("gate")
    setup = f"echo waiting; until [ -e {gate} ]; do sleep 0.05; done; sh ops/build.sh # ops"
    server.paddle(
        "submit", "--name", "survives", "--setup", setup, "--", "python3", "show.py", cwd=project.directory, check=0
    )
    while "waiting" not in server.get("/v1/jobs/survives/logs/environment").body.decode():
        pass
    server.kill()
    server.start()
    gate.touch()
    job = server.wait("survives")
    assert job["state"] == "succeeded", job["reason"]
    assert server.member_log("survives").endswith("one\n") and project.ran() == 1
    assert not list(project.envs(server, "survives").glob("package.*"))


def test_json_of_the_job_has_it(served, project):
    project.run(served, "shown", "echo x # ops", command=("true",))
    shown = json.loads(served.paddle("status", "shown", "-o", "json", check=0).stdout)
    assert shown["spec"]["setup"] == "echo x # ops" and len(shown["spec"]["setup_files"]) == 64
