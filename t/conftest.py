"""A server of one's own for each test that asks for one: real programs, a scratch state directory, the Unix socket."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import pytest
from folders import own_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("PADDLE_BIN", ROOT / "build/asan/bin")).resolve()
collect_ignore = ["frameworks"]  # gigabytes of downloads: only when asked for, by `make test-frameworks`
FOLDER = "paddle-t-"
FINAL = {"succeeded", "failed", "cancelled", "preempted"}
PATIENCE = 120  # seconds at least before a test says that something hangs: others may keep the machine busy
sys.path.insert(0, str(ROOT / "python"))


def pytest_configure(config):
    """Files of tests go to a folder of this run's own. pytest's usual one is shared by all runs of a user, and each run shuts
    it to other users when it begins, also to those as whom members of a run beside it go there."""
    config.pluginmanager.import_plugin("kube.fixtures")
    config.pluginmanager.import_plugin("people")
    config.pluginmanager.import_plugin("seeds")
    if not config.option.basetemp:
        config.option.basetemp = own_folder(config, FOLDER) / "t"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Reply:
    def __init__(self, reply):
        self.status, self.headers, self.body = reply.status, reply.headers, reply.read()

    @property
    def json(self):
        return json.loads(self.body)


def wait_for(check, timeout=PATIENCE, what="the condition"):
    """Polls `check` until it returns something true, and returns that. The longer it waits, the less often it looks."""
    timeout, start = max(timeout, PATIENCE), time.monotonic()
    while not (value := check()):
        waited = time.monotonic() - start
        assert waited < timeout, f"{what} did not come within {timeout} s"
        time.sleep(min(max(waited / 10, 0.01), 0.1))
    return value


def processes_of(state):
    """Processes that have this directory in command line or environment, or something below it open: {pid: command}."""
    found, state = {}, os.fsencode(state)
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line, environ = ((entry / name).read_bytes() for name in ("cmdline", "environ"))
            opened = [os.readlink(os.fsencode(link)) for link in (entry / "fd").iterdir()]
        except OSError:
            continue  # it ended meanwhile
        if state in line or state in environ or any(path.startswith(state + b"/") for path in opened):
            found[int(entry.name)] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


def open_way(path):
    """Lets other users pass to `path`, whose members run there; pytest makes its directories for its own user alone."""
    top = pathlib.Path(tempfile.gettempdir()).resolve()
    for directory in (path, *path.parents):
        if os.geteuid() != 0 or top not in directory.resolve().parents:
            break
        directory.chmod(directory.stat().st_mode | 0o111)


def seen_by_members(state):
    """Folders of ours below /tmp, which members of users do not share: tests put programs and data there for them."""
    top = pathlib.Path(tempfile.gettempdir()).resolve()
    if top != pathlib.Path("/tmp") and not str(top).startswith(("/tmp/", "/var/tmp", "/dev/shm")):
        return []  # the sandbox does not hide it
    ours = [pathlib.Path(state).resolve(), ROOT, (ROOT / ".venv").resolve(), BIN]
    return sorted({str(top / path.relative_to(top).parts[0]) for path in ours if top in path.parents})


class Server:
    """One `paddled` with its state directory. `options` go to its command line, after `usual`."""

    usual = ("--listen=none", "--succeeded-job-ttl-seconds=0", "--failed-job-ttl-seconds=0")

    def __init__(self, state, *options, program=BIN / "paddled"):
        self.state, self.options, self.program, self.process = pathlib.Path(state), options, program, None
        self.kept = [f"--sandbox-keep={','.join(seen_by_members(state))}"] if seen_by_members(state) else []
        self.socket = str(self.state / "paddled.sock")
        self.url = "unix:" + self.socket
        self.log_start = 0  # of this start; what stands before was said by former ones

    def start(self, wait=True):
        self.state.mkdir(parents=True, exist_ok=True)
        open_way(self.state)
        log = open(self.state / "server.log", "ab")  # noqa: SIM115 - the child's
        self.log_start = log.tell()
        self.process = subprocess.Popen(
            [self.program, "--state", self.state, *self.usual, *self.kept, *map(str, self.options)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "PATH": f"{ROOT}/.venv/bin:" + os.environ["PATH"]},
            # With its own share of the processors (sched(7), autogroup): beside the tests, its threads of low priority starve.
            start_new_session=True,
        )
        log.close()
        if wait:
            wait_for(self.is_ready, 30, "the server's readiness")
        return self

    def is_ready(self):
        assert self.process.poll() is None, "paddled died:\n" + self.log()
        try:
            return self.get("/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def log(self):
        return (self.state / "server.log").read_text(errors="replace")

    def serving(self):
        """The fields of the line by which the server that was started last says where it listens. The socket may
        answer before the line is written."""

        def line():
            assert self.process.poll() is None, "paddled died:\n" + self.log()
            said = (self.state / "server.log").read_bytes()[self.log_start :].decode(errors="replace")
            return re.search(r"^\S+ info serving (.*)\n", said, re.M)

        return dict(re.findall(r"(\w+)=(\S+)", wait_for(line, 30, "the word on where the server listens")[1]))

    @property
    def port(self):
        return int(self.serving()["port"])

    @property
    def metrics_port(self):
        return int(self.serving()["metrics_port"])

    def stop(self):
        """SIGTERM; jobs run on."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(PATIENCE) == 0, "paddled did not end well:\n" + self.log()
        self.process = None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def watched(self):
        """The inode numbers of the directories that the server watches with inotify."""
        found = []
        for path in pathlib.Path(f"/proc/{self.process.pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):  # it was closed meanwhile, and is not the inotify descriptor
                found += re.findall(r"^inotify wd:\S+ ino:(\S+)", path.read_text(), re.M)
        return [int(number, 16) for number in found]

    def agent_pid(self):
        """The agent of this state directory; None when there is none."""
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if line[0].endswith(b"paddle-agent") and str(self.state).encode() in line:
                return int(entry.name)
        return None

    def destroy(self, keep=False):
        """Ends all that belongs to this state directory, by force where it does not go well, and drops it unless `keep`."""
        try:
            self.take_down()
        finally:
            for pid in processes_of(self.state):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not keep:
                shutil.rmtree(self.state, ignore_errors=True)

    def take_down(self):
        """Cancels what runs, stops the server and its agent, and looks at what they said."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        states = "queued,suspended,starting,running,preempting,stopping"
        self.cancel(job["id"] for job in self.get(f"/v1/jobs?all=true&limit=1000&state={states}").json["items"])
        wait_for(lambda: self.get("/v1/info").json["jobs"]["open"] == 0, 60, "the end of all jobs")
        self.stop()
        pid = self.agent_pid()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            wait_for(lambda: self.agent_pid() != pid, 20, "the agent's end")
        said = self.log() + (self.state / "agent/log").read_text(errors="replace")
        assert not re.search("ERROR: [A-Za-z]*Sanitizer|: runtime error: ", said), said

    # -- requests

    def request(self, method, path, body=None, headers=None, timeout=PATIENCE):
        connection = UnixConnection(self.socket, timeout)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers = {"Content-Type": "application/json", **(headers or {})}
        try:
            connection.request(method, path, body, headers or {})
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def post(self, path, body=None, **kwargs):
        return self.request("POST", path, body, **kwargs)

    # -- jobs

    def submit(self, command, **spec):
        """Submits and returns the job; the reply must be 201."""
        reply = self.post("/v1/jobs", {"command": command, **spec})
        assert reply.status == 201, reply.body
        return reply.json

    def job(self, name):
        reply = self.get(f"/v1/jobs/{urllib.parse.quote(name)}")
        assert reply.status == 200, reply.body
        return reply.json

    def cancel(self, jobs):
        """Cancels jobs, those that have not ended meanwhile, by one connection: there may be thousands."""
        with contextlib.closing(UnixConnection(self.socket, PATIENCE)) as connection:
            for job in jobs:
                connection.request("DELETE", f"/v1/jobs/{job}")
                connection.getresponse().read()

    def wait(self, name, states=FINAL, timeout=PATIENCE):
        """The job once it is in one of `states`."""
        states = {states} if isinstance(states, str) else set(states)
        end = time.monotonic() + max(timeout, PATIENCE)
        job = self.job(name)
        while job["state"] not in states:
            assert time.monotonic() < end, f"job is {job['state']} ({job['reason']}), not {states}\n{self.log()}"
            job = self.get(f"/v1/jobs/{job['id']}?wait_ms=1000&revision={job['revision']}").json
        return job

    def member_log(self, name, member="worker-0", query=""):
        reply = self.get(f"/v1/jobs/{name}/logs/{member}{query}")
        assert reply.status == 200, reply.body
        return reply.body.decode()

    # -- the command line

    def paddle(self, *args, cwd=None, env=None, check=None, input=None, timeout=120):
        """Runs `paddle` against this server; with `check` the exit status must be that."""
        done = subprocess.run(
            [BIN / "paddle", *map(str, args)],
            cwd=cwd,
            env={**os.environ, "PADDLE_SERVER": self.url, "HOME": str(self.state / "client"), **(env or {})},
            stdin=subprocess.DEVNULL if input is None else None,
            input=input,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check is not None:
            assert done.returncode == check, f"status {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}"
        return done


@pytest.fixture
def make_server(tmp_path_factory):
    """Makes servers with options; all are taken down after the test."""
    servers = []

    def make(*options, start=True, **about):
        server = Server(tmp_path_factory.mktemp("state"), *options, **about)
        servers.append(server)
        return server.start() if start else server

    yield make
    with contextlib.ExitStack() as stack:
        for server in servers:
            stack.callback(server.destroy)


@pytest.fixture
def marks(tmp_path):
    """A file to which each step of a run appends its name, so that one that ran, or ran again, is seen."""
    tmp_path.chmod(0o777)
    path = tmp_path / "marks"
    path.touch()
    path.chmod(0o666)
    return path


@pytest.fixture
def server(make_server):
    return make_server("--cpus", "8")


def server_of_module(*options):
    """A fixture: one server for all tests of a file, which do not disturb each other: `server = server_of_module("--cpus", "64")`.
    With it, `ann` and `bob` are users of that server."""

    @pytest.fixture(scope="module")
    def server(tmp_path_factory):
        made = Server(tmp_path_factory.mktemp("state"), *options).start()
        yield made
        made.destroy()

    return server


shared_server = server_of_module("--cpus", "64")
