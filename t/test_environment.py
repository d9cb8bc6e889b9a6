"""Python environments from requirements.txt: built once while jobs wait, cached by content, with uv or pip."""

import contextlib
import datetime
import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BIN, PATIENCE, ROOT, Server, wait_for
from screen import Screen
from sse import follow_logs

UV = shutil.which("uv", path=f"{ROOT}/.venv/bin") or shutil.which("uv")
SHOW = "import six; print(six.__version__, six.__file__)"
NOTHING = "nosuchpackage-xyz==1"


class Builder:
    """A server whose uv writes down how it is called and, while `gate` is shut, does not begin."""

    def __init__(self, server, scratch):
        self.server, self.calls, self.gate = server, scratch / "calls", scratch / "gate"
        self.program = scratch / "uv"
        self.program.write_text(
            f'#!/bin/sh\necho "$1" >>{self.calls}\nuntil [ -e {self.gate} ]; do sleep 0.02; done\nexec {UV} "$@"\n'
        )
        self.program.chmod(0o755)
        self.calls.touch()
        self.open()

    def open(self):
        self.gate.touch()

    def shut(self):
        self.gate.unlink()

    def builds(self):
        return self.calls.read_text().split().count("venv")

    def ready(self):
        return list((self.server.state / "envs").glob("*/ready"))


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("uv")
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "64", "--uv", scratch / "uv")
    builder = Builder(server, scratch)
    server.start()
    yield builder
    builder.open()
    server.destroy()


@pytest.fixture
def package(tmp_path):
    """Makes a package with the files given by name."""

    def make(**files):
        directory = tmp_path / f"package-{len(list(tmp_path.iterdir()))}"
        directory.mkdir()
        (directory / "show.py").write_text(SHOW)
        for name, text in files.items():
            (directory / f"{name}.txt").write_text(text)
        return directory

    return make


def submit(server, directory, name, *command):
    server.paddle("submit", "--name", name, "--", *(command or ("python", "show.py")), cwd=directory, check=0)
    return server.job(name)


def test_a_run_says_that_an_environment_is_being_built(builder, package):
    directory = package(requirements="six==1.13.0\n")
    (directory / "pipeline.yaml").write_text("name: built\nentry_points:\n  show: {command: python show.py}\n")
    builder.shut()
    words = ("run", "create", "-f", "pipeline.yaml", "--follow")
    screen = Screen(builder.server, *words, size=(120, 24), cwd=directory)
    screen.until(": its environment is being built")
    screen.until("s  show waits: its environment is being built")  # the live line, with the time
    builder.open()
    screen.until("succeeded")
    assert screen.process.wait(PATIENCE) == 0


def test_two_jobs_wait_for_one_build_which_is_kept(builder, package):
    server, before = builder.server, builder.builds()
    directory = package(requirements="# a remark\nsix==1.16.0\n")
    builder.shut()
    names = ["wait-a", "wait-b"]
    for name in names:
        submit(server, directory, name)
    for name in names:
        job = wait_for(lambda name=name: (job := server.job(name))["environment"] == "building" and job)
        assert job["state"] == "queued" and "environment is being built" in job["reason"]
        assert f"paddle logs {name} --member environment" in job["reason"]
    assert "building" in server.paddle("status", "wait-a", check=0).stdout
    builder.open()
    for name in names:
        job = server.wait(name)
        assert job["state"] == "succeeded" and job["environment"] == "ready", job["reason"]
        assert job["stages"]["environment_ms"] > 0
        version, path = server.member_log(name).split()
        assert version == "1.16.0" and str(server.state / "envs") in path
    assert builder.builds() == before + 1

    # the same needs, written otherwise, in another package: nothing is built
    submit(server, package(requirements="\n  six==1.16.0   # as before\n"), "wait-c")
    job = server.wait("wait-c")
    assert job["state"] == "succeeded" and job["environment"] == "ready"
    assert builder.builds() == before + 1

    # other needs: another environment
    submit(server, package(requirements="six==1.15.0\n"), "wait-d")
    server.wait("wait-d")
    assert server.member_log("wait-d").split()[0] == "1.15.0"
    assert builder.builds() == before + 2


def test_a_slow_disk_below_an_environment_delays_no_other_submission(make_server, package):
    """The time of the last use is written by a worker. Here the file is a pipe, whose opening waits for a reader."""
    server = make_server("--cpus", "4")
    directory = package(requirements="six==1.16.0\n")
    submit(server, directory, "first")
    assert server.wait("first")["state"] == "succeeded"
    (ready,) = (server.state / "envs").rglob("ready")
    used = server.state / "envs" / ready.relative_to(server.state / "envs").parts[0] / "used"
    used.unlink()
    os.mkfifo(used)
    server.kill()
    server.start()  # without a memory of earlier uses
    reader = None
    try:
        submit(server, directory, "second")  # asks the interpreter in a worker, who then waits
        job = server.submit(["true"], name="third")
        assert server.wait(job["id"])["state"] == "succeeded"
        submit(server, directory, "fourth")  # the interpreter is known: the engine looks itself
        job = server.submit(["true"], name="fifth")
        assert server.wait(job["id"])["state"] == "succeeded"
        assert server.wait("fourth")["state"] == "succeeded"
    finally:
        reader = os.open(used, os.O_RDONLY | os.O_NONBLOCK)
        assert server.wait("second")["state"] == "succeeded"
        os.close(reader)


def test_the_builders_log_is_a_members_log(builder, package):
    server = builder.server
    submit(server, package(requirements="six==1.14.0\n"), "log-a")
    server.wait("log-a")
    text = server.member_log("log-a", "environment")
    assert "six==1.14.0" in text and text.endswith("The environment is ready.\n")
    assert server.paddle("logs", "log-a", "--member", "environment", check=0).stdout == text
    lines = server.paddle("logs", "log-a", check=0).stdout.splitlines()
    assert any(line.startswith("environment | ") and line.endswith("The environment is ready.") for line in lines)
    assert any(line.startswith("worker-0") and "1.14.0" in line for line in lines)


def test_follow_shows_the_build(builder, package):
    directory = package(requirements="six==1.13.0\n")
    done = builder.server.paddle(
        "submit", "--name", "followed", "--follow", "--", "python", "show.py", cwd=directory, check=0
    )
    assert "environment" in done.stderr + done.stdout and "1.13.0" in done.stdout


@pytest.fixture
def unasked(tmp_path):
    """A builder whose gate is shut, on a server that builds one environment at a time and has not asked its interpreter yet: nothing
    of a job is on the disk before `asked` exists."""
    python, asked = tmp_path / "python", tmp_path / "may-be-asked"
    python.write_text(f'#!/bin/sh\nuntil [ -e {asked} ]; do sleep 0.02; done\nexec python3 "$@"\n')
    python.chmod(0o755)
    server = Server(tmp_path / "state", "--cpus", "4", "--uv", tmp_path / "uv", "--python", python, "--builds", "1")
    builder = Builder(server, tmp_path)
    builder.asked = asked
    builder.shut()
    server.start()
    yield builder
    asked.touch()
    builder.open()
    server.destroy()


def test_the_first_build_of_a_server_is_followed_while_it_goes_on(unasked, package):
    server = unasked.server
    job = submit(server, package(requirements="six==1.13.0\n"), "first-build")
    with follow_logs(server, job, timeout=18) as stream:  # a stream without news looks again after 20 s
        for event in stream:
            if event.kind == "state" and event.data["environment"] == "building":
                unasked.asked.touch()
            if event.kind == "log" and event.data["member"] == "environment":
                assert "== building" in event.data["text"]
                break
        else:
            raise AssertionError("the stream has ended without a line of the build")
    assert server.job("first-build")["environment"] == "building"


def test_a_build_that_waits_for_its_turn_is_followed_from_its_first_line(unasked, package):
    """The directory is made when its turn comes: here by the test, so that nothing else wakes the stream."""
    server = unasked.server
    jobs = [submit(server, package(requirements=f"six==1.{n}.0\n"), f"job-{n}") for n in (12, 13)]
    with contextlib.ExitStack() as stack:
        streams = [iter(stack.enter_context(follow_logs(server, job, timeout=18))) for job in jobs]
        assert [next(events).kind for events in streams] == ["state", "state"]
        unasked.asked.touch()
        wait_for(unasked.builds, what="the first build")
        links = [server.state / "jobs" / job["id"][:2] / job["id"] / "environment" for job in jobs]
        wait_for(lambda: all(link.is_symlink() for link in links), what="the links to the environments")
        # a stream watches the directory of all environments once it has found the link to one that does not exist yet
        wait_for(lambda: (server.state / "envs").stat().st_ino in server.watched(), what="the watch of a stream")
        ((link, events),) = [(link, events) for link, events in zip(links, streams) if not link.exists()]
        directory = link.parent / link.readlink()
        directory.mkdir()
        (directory / "build.log").write_text("== building\n")
        assert next(event for event in events if event.kind == "log").data["text"] == "== building\n"


def test_an_environment_that_is_ready_is_one_line(builder, package):
    """Its log is of the job that had it built."""
    server = builder.server
    directory = package(requirements="six==1.12.0\n")
    submit(server, directory, "built-by")
    server.wait("built-by")
    command = ["submit", "--name", "ready-for", "--follow", "--", "python", "show.py"]
    followed = server.paddle(*command, cwd=directory, check=0).stdout
    later = server.paddle("logs", "ready-for", check=0).stdout
    for text in (followed, later):
        lines = [line for line in text.splitlines() if line.startswith("environment")]
        assert len(lines) == 1 and re.fullmatch(r"environment \| ready, built 20\S+Z", lines[0]), text
        assert "1.12.0" in text
    whole = server.paddle("logs", "ready-for", "--member", "environment", check=0).stdout
    assert whole.endswith("The environment is ready.\n")
    assert "The environment is ready." in server.paddle("logs", "built-by", check=0).stdout


def test_an_environment_that_is_ready_is_one_line_for_a_job_that_waits(builder, package):
    """Which environment it has is on the disk when it starts; the client has listened since before."""
    server = builder.server
    directory = package(requirements="six==1.12.0\n")
    submit(server, directory, "built-before")
    server.wait("built-before")
    full = server.submit(["sleep", "600"], roles=[{"name": "worker", "cpu": "64"}])["id"]
    server.wait(full, "running")
    job = submit(server, directory, "ready-and-waits")
    said = ""
    with follow_logs(server, job) as stream:
        for event in stream:
            if event.kind == "state" and event.data["state"] == "queued":
                server.cancel([full])
            if event.kind == "log" and event.data["member"] == "environment":
                said += event.data["text"]
    assert re.fullmatch(r"ready, built 20\S+Z\n", said), said


def test_a_second_build_does_not_show_the_first(builder, package):
    server = builder.server
    directory = package(requirements=f"six==1.11.0\n{NOTHING}\n")
    for name in ("first-try", "second-try"):
        command = ["submit", "--name", name, "--follow", "--", "python", "show.py"]
        said = server.paddle(*command, cwd=directory, check=1).stdout
        assert said.count("== building") == 1, said


def test_a_requirement_that_does_not_exist_fails_the_job_by_name(builder, package):
    server, before = builder.server, builder.builds()
    for attempt in (1, 2):  # a failure is not kept
        submit(server, package(requirements=f"six==1.16.0\n{NOTHING}\n"), f"fails-{attempt}")
        job = server.wait(f"fails-{attempt}")
        assert job["state"] == "failed" and job["environment"] == "failed"
        assert "nosuchpackage-xyz" in job["reason"], job["reason"]
        assert "nosuchpackage-xyz" in server.member_log(f"fails-{attempt}", "environment")
        assert "nosuchpackage-xyz" in server.paddle("status", f"fails-{attempt}", check=0).stdout
        assert builder.builds() == before + attempt
    events = server.get("/v1/jobs/fails-2/events").json["items"]
    assert [e["data"]["state"] for e in events if e["kind"] == "job.environment"] == ["building", "failed"]
    assert not [e for e in events if e["kind"] == "member.started"]


@pytest.mark.parametrize(
    "line, says",
    [
        ("-r other.txt", "names a file that is not in the package"),
        ("-r ../other.txt", "outside the package"),
        ("-e .", "needs a pyproject.toml"),
        ("./here", "installs from a path"),
        ("-c limits.txt", "names constraints"),
    ],
)
def test_requirements_that_refer_to_files_are_refused_by_file_and_line(builder, package, line, says):
    directory = package(requirements=f"six\n{line}\n")
    done = builder.server.paddle("submit", "--", "true", cwd=directory)
    assert done.returncode == 2 and f"requirements.txt, line 2: '{line}'" in done.stderr, done.stderr
    assert says in done.stderr and done.stdout == ""


def test_a_text_that_refers_to_files_fails_the_job_in_one_line(builder):
    """By REST, without a package, where no file is known."""
    job = builder.server.wait(builder.server.submit(["true"], requirements="six\n-r other.txt\n")["id"])
    assert job["state"] == "failed" and "'-r other.txt'" in job["reason"], job["reason"]
    assert job["reason"].isprintable()


PROJECT = '[project]\nname = "demo"\nversion = "1"\ndependencies = ["six==1.12.0"]\n'
LOCK = """version = 1
requires-python = ">=3.8"

[[package]]
name = "demo"
version = "1"
source = { virtual = "." }
dependencies = [
    { name = "six" },
    { name = "nosuchpackage-xyz", marker = "sys_platform == 'win32'" },
]

[[package]]
name = "six"
version = "1.11.0"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "nosuchpackage-xyz"
version = "1"
source = { registry = "https://pypi.org/simple" }
"""


@pytest.mark.parametrize(
    "files, version",
    [
        ({"requirements.txt": "-r more/base.txt\n", "more/base.txt": "# base\nsix==1.16.0\n"}, "1.16.0"),
        ({"requirements.txt": "-e .\n", "pyproject.toml": PROJECT}, "1.12.0"),
        ({"pyproject.toml": PROJECT}, "1.12.0"),
        ({"pyproject.toml": PROJECT, "uv.lock": LOCK}, "1.11.0"),
        ({"requirements.txt": "six==1.16.0\n", "pyproject.toml": PROJECT, "uv.lock": LOCK}, "1.16.0"),
    ],
    ids=["-r", "-e", "pyproject", "uv.lock", "requirements.txt first"],
)
def test_files_that_say_what_is_needed(builder, package, request, files, version):
    directory = package()
    for path, text in files.items():
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).write_text(text)
    name = "needs-" + re.sub("[^a-z]", "", request.node.callspec.id)
    submit(builder.server, directory, name)
    job = builder.server.wait(name)
    assert job["state"] == "succeeded", job["reason"]
    assert builder.server.member_log(name).split()[0] == version


@pytest.mark.parametrize(
    "name, text, says",
    [
        ("environment.yml", "name: x\n", "environment.yml is ignored"),
        ("pyproject.toml", "[tool.poetry.dependencies]\nsix = '*'\n", "poetry export"),
    ],
)
def test_files_of_other_tools_are_warned_of(builder, package, name, text, says):
    directory = package()
    (directory / name).write_text(text)
    done = builder.server.paddle("submit", "--", "true", cwd=directory, check=0)
    assert "warning" in done.stderr and says in done.stderr


@pytest.mark.parametrize(
    "files, version",
    [
        ({"requirments": "six==1.12.0\n"}, "1.12.0"),
        ({"requirements": "six==1.16.0\n", "requirments": f"{NOTHING}\n"}, "1.16.0"),
    ],
)
def test_the_seeds_spelling_counts_and_the_right_one_wins(builder, package, files, version):
    name = f"spelling-{len(files)}"
    submit(builder.server, package(**files), name)
    job = builder.server.wait(name)
    assert job["state"] == "succeeded", job["reason"]
    assert builder.server.member_log(name).split()[0] == version


def test_empty_requirements_need_no_environment(builder, package):
    before = builder.builds()
    submit(builder.server, package(requirements="# nothing\n\n"), "nothing", "true")
    job = builder.server.wait("nothing")
    assert job["state"] == "succeeded" and job["environment"] in ("none", "ready")
    assert builder.builds() == before


def test_a_job_is_cancelled_while_its_environment_is_built(builder, package):
    server = builder.server
    builder.shut()
    submit(server, package(requirements="six==1.11.0\n"), "impatient")
    wait_for(lambda: server.job("impatient")["environment"] == "building")
    assert server.request("DELETE", "/v1/jobs/impatient").json["state"] == "cancelled"
    builder.open()
    submit(server, package(requirements="six==1.11.0\n"), "patient")
    assert server.wait("patient")["state"] == "succeeded"


def test_a_waiting_environment_holds_up_nobody(builder, package):
    server = builder.server
    builder.shut()
    submit(server, package(requirements="six==1.10.0\n"), "first", "true")
    wait_for(lambda: server.job("first")["environment"] == "building")
    submit(server, package(), "second", "true")
    assert server.wait("second")["state"] == "succeeded"
    assert server.job("first")["state"] == "queued"
    builder.open()
    assert server.wait("first")["state"] == "succeeded"


def test_a_build_goes_on_when_the_server_is_killed(builder, package):
    server, builds, ready = builder.server, builder.builds(), len(builder.ready())
    builder.shut()
    submit(server, package(requirements="six==1.9.0\n"), "survivor")
    wait_for(lambda: builder.builds() == builds + 1, what="the build's begin")
    server.kill()
    builder.open()
    wait_for(lambda: len(builder.ready()) == ready + 1, what="the environment, built without a server")
    server.start()
    job = server.wait("survivor")
    assert job["state"] == "succeeded", job["reason"]
    assert server.member_log("survivor").split()[0] == "1.9.0"
    assert builder.builds() == builds + 1, "it was built twice"


def environment_times(server, name):
    said = server.get(f"/v1/events?job={server.job(name)['id']}&follow=false").body.decode()
    events = [json.loads(line[5:]) for line in said.splitlines() if line.startswith("data:")]
    return {event["data"]["state"]: event["time"] for event in events if event.get("kind") == "job.environment"}


def test_a_build_fits_beside_a_busy_core(make_server, package):
    server = make_server("--cpus", "2")
    busy = server.submit("sleep 6000", name="busy", roles=[{"name": "worker", "cpu": "1"}])
    server.wait("busy", "running")
    submit(server, package(requirements="six==1.16.0\n"), "beside")
    assert server.wait("beside")["state"] == "succeeded"
    server.cancel([busy["id"]])


def test_a_build_that_waits_for_cores_says_so_and_waits_as_queued(make_server, package):
    server = make_server("--cpus", "2")
    busy = server.submit("sleep 6000", name="busy", roles=[{"name": "worker", "cpu": "2"}])
    server.wait("busy", "running")
    job = submit(server, package(requirements="six==1.16.0\n"), "later")
    assert (job["state"], job["environment"]) == ("queued", "waiting") and job["stages"]["environment_ms"] == 0
    assert job["reason"] == "its environment is built first, which takes 1 core: 0 of 2 are free"
    said = server.paddle("explain", "later", check=0).stdout
    assert "its environment is built first, which takes 1 core and" in said and "0 of 2 are free" in said, said
    shown = subprocess.Popen(
        [BIN / "paddle", "logs", "-f", "later"],
        env={**os.environ, "PADDLE_SERVER": server.url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = shown.stderr.readline()
    assert re.search(r"^ *\d.* queued +.*1 core", first), first
    server.cancel([busy["id"]])
    job = server.wait("later")
    shown.communicate()
    times = {state: datetime.datetime.fromisoformat(time) for state, time in environment_times(server, "later").items()}
    built = (times["ready"] - times["building"]) / datetime.timedelta(milliseconds=1)
    assert job["stages"]["environment_ms"] == built < job["stages"]["queued_ms"]


def test_a_build_is_awaited_by_the_server_that_comes_back(builder, package):
    server, builds = builder.server, builder.builds()
    builder.shut()
    submit(server, package(requirements="six==1.8.0\n"), "awaited")
    wait_for(lambda: builder.builds() == builds + 1, what="the build's begin")
    server.kill()
    server.start()
    assert server.job("awaited")["environment"] == "building"
    builder.open()
    assert server.wait("awaited")["state"] == "succeeded"
    assert builder.builds() == builds + 1, "it was built twice"


def test_without_uv_pip_builds(make_server, package):
    server = make_server("--uv", "")
    submit(server, package(requirements="six==1.16.0\n"), "pip")
    submit(server, package(requirements=f"{NOTHING}\n"), "pip-fails")
    job = server.wait("pip", timeout=90)
    assert job["state"] == "succeeded", job["reason"]
    version, path = server.member_log("pip").split()
    assert version == "1.16.0" and str(server.state / "envs") in path
    assert "Successfully installed six-1.16.0" in server.member_log("pip", "environment")
    job = server.wait("pip-fails", timeout=90)
    assert job["state"] == "failed" and "nosuchpackage-xyz" in job["reason"]
