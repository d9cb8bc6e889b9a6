"""Builders of environments run code of packages: within limits, in the queue's books, and reaching the package index alone.
doc/guide/security.md, "Builders of environments"."""

import contextlib
import hashlib
import http.server
import io
import json
import os
import pathlib
import tarfile
import threading

import pytest
from conftest import Server, processes_of, wait_for
from gpus import with_gpus
from people import Person

BACKEND = r'''
import errno, json, os, signal, socket, sys, urllib.error, urllib.request, zipfile
INDEX, OTHER, NAME = "{index}", {other}, "{name}"

def say(**what):
    print("said " + json.dumps(what), file=sys.stderr, flush=True)
    with open(os.path.join(os.environ["HOME"], NAME + ".json"), "w") as file:
        json.dump(what, file)

def hold():
    urllib.request.urlopen(INDEX + "/hold/" + NAME).read()

def fork():
    """As many as there may be; then one that wants to stay when the build is over."""
    children, why = [], None
    while len(children) < 2000 and why is None:
        try:
            pid = os.fork()
        except OSError as error:
            why = error.errno
            break
        if pid == 0:
            signal.pause()
        children.append(pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 100)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
    say(children=len(children), why=why)

def eat():
    kept = []
    while True:
        kept.append(b"x" * (8 << 20))

def direct(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as stream:
            stream.sendall(b"GET /direct HTTP/1.0\r\n\r\n")
            return "reached"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))

def fetch(url):
    try:
        return urllib.request.urlopen(url, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as error:
        return str(error)

def tunnel(target):
    proxy = urllib.request.getproxies()["http"].rpartition("/")[2].split(":")
    with socket.create_connection((proxy[0], int(proxy[1])), timeout=60) as stream:
        stream.sendall(f"CONNECT {{target}} HTTP/1.1\r\n\r\n".encode())
        return int(stream.recv(100).split()[1])

def allowed():
    pass

def gpus():
    found = [name for name in os.listdir("/dev") if name.startswith("nvidia") and name[6:].isdigit()]
    why = []
    for name in found:
        try:
            os.close(os.open("/dev/" + name, os.O_RDWR))
        except OSError as error:
            why.append(errno.errorcode[error.errno])
    say(found=len(found), why=sorted(set(why)))

def status():
    proxy = urllib.request.getproxies()["http"].rpartition("/")[2].split(":")
    with socket.create_connection((proxy[0], int(proxy[1])), timeout=60) as stream:
        stream.sendall(f"CONNECT 127.0.0.1:{{OTHER}} HTTP/1.1\r\n\r\n".encode())
        say(line=stream.makefile().readline())

def enter_proxy():
    """Every process of this user that is in another network: what can be done to it."""
    got = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for path in ("mem", "ns/net", "environ"):
            try:
                with open(f"/proc/{{pid}}/comm") as comm:
                    if comm.read() == "paddle-proxy\n":
                        os.close(os.open(f"/proc/{{pid}}/{{path}}", os.O_RDONLY))
                        got.append(path)
            except OSError:
                pass
    return got

def reach():
    port = int(INDEX.rpartition(":")[2].partition("/")[0])
    say(direct=direct(OTHER), index=direct(port), by_index=fetch(INDEX + "/hello"),
        by_proxy=fetch(f"http://127.0.0.1:{{OTHER}}/"), tunnel=tunnel(f"127.0.0.1:{{OTHER}}"),
        tunnel_index=tunnel(f"127.0.0.1:{{port}}"), entered=enter_proxy())

def proxied():
    say(tunnel=tunnel(f"127.0.0.1:{{OTHER}}"), refused=tunnel("refused.example:443"), secret="s3cret" in str(os.environ))

def build_wheel(directory, settings=None, metadata=None):
    globals()[NAME.partition("_")[0]]()
    name = NAME + "-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        info = NAME + "-1.0.dist-info/"
        wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {{NAME}}\nVersion: 1.0\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")
    return name
'''
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "{name}"\nversion = "1.0"\n'


class Index(http.server.ThreadingHTTPServer):
    """A package index on loopback: every name is a package whose backend does what the name says. `hold` waits for `free`."""

    daemon_threads, request_queue_size = True, 64

    def __init__(self, second=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.second = second  # one that no setting names
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.lock, self.held, self.freed, self.most, self.asked = threading.Condition(), set(), set(), 0, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def source(self, name):
        about = {"index": self.url, "other": (self.second or self).server_address[1], "name": name}
        files = {
            "pyproject.toml": PROJECT.format(name=name),
            "backend.py": BACKEND.format(**about),
            "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        }
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for path, text in files.items():
                entry = tarfile.TarInfo(f"{name}-1.0/{path}")
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text.encode()))
        return out.getvalue()

    def hold(self, name):
        with self.lock:
            self.held.add(name)
            self.most = max(self.most, len(self.held - self.freed))
            self.lock.notify_all()
            self.lock.wait_for(lambda: name in self.freed)

    def free(self, *names):
        with self.lock:
            self.freed.update(names)
            self.lock.notify_all()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_CONNECT(self):
        self.server.asked.append((self.path, self.headers["Proxy-Authorization"]))
        self.send_response(403 if "refused" in self.path else 200)
        self.end_headers()
        self.close_connection = True

    def do_GET(self):
        path = self.path
        if path.startswith("http://"):  # it is somebody's proxy
            self.server.asked.append((path, self.headers["Proxy-Authorization"]))
            path = "/" + path.split("/", 3)[3]
        else:
            self.server.asked.append(path)
        _, kind, name = (path + "/").split("/")[:3]
        body = b"hello"
        if kind == "hold":
            self.server.hold(name)
        elif kind == "simple":
            name = name.replace("-", "_")
            digest = hashlib.sha256(self.server.source(name)).hexdigest() if name else ""
            body = f'<a href="/files/{name}-1.0.tar.gz">{name}-1.0.tar.gz</a>'.encode() if digest else b""
        elif kind == "files":
            body = self.server.source(name.removesuffix("-1.0.tar.gz"))
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if kind == "simple" else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def index():
    """Every server of this file takes packages from here, and from nowhere else."""
    index = Index(Index())
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("PIP_", "UV_")) or name.lower().endswith("_proxy"):
                patch.delenv(name)
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        patch.setenv("PIP_INDEX_URL", index.url + "/simple")
        patch.setenv("UV_HTTP_TIMEOUT", "300")
        yield index
        index.shutdown()
        index.second.shutdown()


@pytest.fixture(scope="module")
def server(index, tmp_path_factory):
    options = ["--cpus", "8", "--builds", "2", "--builds-per-user", "1", "--build-cpus", "1", "--build-memory", "400Mi"]
    server = Server(tmp_path_factory.mktemp("state"), *options, "--build-processes", "64").start()
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def bobby(server):
    return Person(server, "bobby")


def submit(person, requirements, **spec):
    return person.submit("true", requirements=requirements, **spec)["id"]


def builders(server):
    return processes_of(server.state / "envs")


def limits_of(pid):
    """Of the cgroups that a process is in."""
    found = {}
    with open(f"/proc/{pid}/cgroup") as groups:
        lines = [line.rstrip("\n").split(":", 2)[1:] for line in groups]
    for names, path in lines:
        for place in (*names.split(","), "unified", ""):
            group = pathlib.Path(f"/sys/fs/cgroup/{place}{path}")
            for name, file in (
                ("processes", "pids.max"),
                ("memory", "memory.limit_in_bytes"),
                ("memory", "memory.max"),
            ):
                if (group / file).exists():
                    found[name] = (group / file).read_text().strip()
            if (group / "cpu.max").exists():
                quota, period = (group / "cpu.max").read_text().split()
                found["cpu"] = int(quota) / int(period)
            elif (group / "cpu.cfs_quota_us").exists():
                found["cpu"] = int((group / "cpu.cfs_quota_us").read_text()) / int(
                    (group / "cpu.cfs_period_us").read_text()
                )
    return found


def said(person, name):
    """What the backend of a package found out; the last thing that it does before its end."""
    (found,) = person.server.state.glob(f"envs/u*/{name}.json")
    return json.loads(found.read_text())


def used(server):
    (queue,) = (q for q in server.get("/v1/scheduler").json["queues"] if q["name"] == "small")
    return queue["used"]


def log_of(server, job):
    return server.member_log(job, "environment")


@pytest.mark.parametrize(
    "line",
    [
        "evil @ {url}/files/evil-1.0.tar.gz",
        "evil@{url}/files/evil-1.0.tar.gz",
        "{url}/files/evil-1.0.tar.gz",
        "evil @ \\\n{url}/files/evil-1.0.tar.gz",
        "--index-url {url}/simple\nevil",
        "-i {url}/simple\nevil",
        "--extra-index-url={url}/simple",
        "-f {url}/files/",
        "--find-links {url}/files/",
        "--trusted-host 127.0.0.1",
        "evil @ git+{url}/evil.git",
        "evil @ file:///etc/passwd",
        "/etc/evil-1.0.tar.gz",
        "evil-1.0.tar.gz",
        "${{HOME}}/evil",
        "--pre --index-url {url}",
    ],
)
def test_requirements_do_not_say_where_packages_come_from(server, ann, index, line):
    before = len(index.asked)
    job = server.wait(submit(ann, line.format(url=index.url)))
    assert job["state"] == "failed" and "says where a package comes from" in job["reason"], job["reason"]
    assert "requirements, line " in job["reason"]
    assert len(index.asked) == before


def test_a_builder_has_the_limits_of_a_builder(server, ann, index):
    job = submit(ann, "hold_limits")
    wait_for(lambda: "hold_limits" in index.held, what="the build's begin")
    groups = [limits_of(pid) for pid, command in builders(server).items() if "paddle-spawner" not in command]
    index.free("hold_limits")
    assert server.wait(job)["state"] == "succeeded", log_of(server, job)
    assert groups and all(group == groups[0] for group in groups), groups
    assert groups[0] == {"processes": "64", "memory": str(400 << 20), "cpu": 1.0}


def test_a_builder_opens_no_gpu(index, make_server, tmp_path):
    ann = Person(make_server(program=with_gpus(tmp_path)), "ann")
    job = submit(ann, "gpus_none")
    assert ann.server.wait(job)["state"] == "succeeded", log_of(ann.server, job)
    assert said(ann, "gpus_none") == {"found": 4, "why": ["EPERM"]}


def test_a_fork_bomb_in_a_builder_ends_at_its_limit(server, ann):
    server.wait(submit(ann, "fork"))
    found = said(ann, "fork")
    assert found["why"] is not None and found["children"] < 64
    wait_for(lambda: not builders(server), what="the end of all that the builder forked")


def test_a_builder_that_needs_more_memory_says_so(server, ann):
    job = server.wait(submit(ann, "eat"))
    assert job["state"] == "failed" and job["environment"] == "failed"
    # the kernel kills one process: the backend, whose end pip or uv tells, or with all of them the builder
    assert "memory" in job["reason"] or "eat" in job["reason"], job["reason"]


def test_a_builder_reaches_the_index_alone(server, ann, index):
    job = server.wait(submit(ann, "reach"))
    log = log_of(server, job["id"])
    assert job["state"] == "succeeded", log
    found = said(ann, "reach")
    assert found["by_index"] == 200 and found["tunnel_index"] == 200, found
    assert found["direct"] == found["index"] == "ECONNREFUSED", found
    assert found["by_proxy"] == found["tunnel"] == 403, found
    assert found["entered"] == [], found
    assert not index.second.asked
    assert f"a connection to '127.0.0.1:{index.second.server_address[1]}' was refused" in log


def test_a_builder_has_its_own_tmp(server, ann, bobby):
    """What one user's build leaves in a directory of everybody is a way to another's, and nobody's to count."""
    places = [pathlib.Path(top, f"of-a-build-{os.getpid()}") for top in ("/tmp", "/var/tmp")]
    names = " ".join(map(str, places))
    try:
        for person in (ann, bobby):
            setup = f"ls -d {names} || true; for f in {names}; do echo of-$PPID >$f; cat $f; done"
            job = server.wait(person.submit("true", setup=setup)["id"])
            assert job["state"] == "succeeded", log_of(server, job["id"])
            said = log_of(server, job["id"])
            assert said.count("No such file or directory") == 2 and said.count("\nof-") == 2, said
            assert not [place for place in places if place.exists()]
    finally:
        for place in places:
            place.unlink(missing_ok=True)


def test_a_refused_connection_is_explained_to_pip_and_in_the_log(server, ann, index):
    """pip and uv show the proxy's status line and no more of it."""
    job = server.wait(submit(ann, "status"))
    log = log_of(server, job["id"])
    host = f"127.0.0.1:{index.second.server_address[1]}"
    for text in (said(ann, "status")["line"], log):
        assert f"'{host}' was refused" in text and f"paddled --build-allow {host}" in text, text


def test_a_build_that_egress_cuts_off_says_so(index, tmp_path):
    """The index is at an address that --egress does not have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_INDEX_URL", "https://192.0.2.1:8443/simple")
        patch.setenv("PIP_RETRIES", "0")
        options = ["--build-network", "index", "--egress", "198.51.100.0/24", "--uv", ""]
        server = Server(tmp_path / "state", "--cpus", "8", *options).start()
    try:
        job = server.wait(submit(Person(server, "cut"), "cut_off"))
        assert job["state"] == "failed"
        for text in (log_of(server, job["id"]), job["reason"]):
            assert "no way to '192.0.2.1:8443'" in text and "--egress" in text, text
    finally:
        server.destroy()


@pytest.mark.parametrize("option", ["--python", "--uv"])
def test_a_program_that_only_root_reaches_is_named(index, tmp_path, option):
    """Such as a Python of pyenv below /root, which root's PATH finds."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    program = private / option.strip("-")
    program.symlink_to("/usr/bin/python3")
    server = Server(tmp_path / "state", "--cpus", "8", option, program).start()
    try:
        job = server.wait(submit(Person(server, "kept"), "kept_out"))
        reason = server.job(job["id"])["reason"]
        assert job["state"] == "failed" and f"'{private}', which this user may not enter" in reason, reason
        assert f"'{program}'" in reason and f"paddled {option}" in reason, reason
    finally:
        server.destroy()


def test_a_build_waits_for_its_queue_and_is_counted_there(server, ann, index):
    assert server.post("/v1/queues", {"name": "small", "max": {"cpu": "1"}, "everyone": True}).status == 201
    running = ann.submit("sleep 1000", queue="small", roles=[{"name": "worker", "replicas": 1, "cpu": "1"}])["id"]
    wait_for(lambda: server.job(running)["state"] == "running")
    job = submit(ann, "hold_books", queue="small")
    about = wait_for(lambda: (found := server.job(job))["environment"] == "waiting" and found)
    assert about["state"] == "queued" and "its environment is built first" in about["reason"], about["reason"]
    assert [reason["cause"] for reason in about["reasons"]] == ["environment", "queue_max"], about["reasons"]
    assert "hold_books" not in index.held and not builders(server)

    server.request("DELETE", f"/v1/jobs/{running}")
    wait_for(lambda: "hold_books" in index.held, what="the build's begin")
    assert server.job(job)["environment"] == "building"
    assert used(server)["cpu"] == "1"
    behind = ann.submit("true", queue="small", roles=[{"name": "worker", "replicas": 1, "cpu": "1"}])["id"]
    assert wait_for(lambda: server.job(behind)["reason"]) and server.job(behind)["state"] == "queued"
    index.free("hold_books")
    assert server.wait(job)["state"] == "succeeded" and server.wait(behind)["state"] == "succeeded"
    assert "cpu" not in used(server)


def test_a_build_ends_with_the_last_job_that_waits_for_it(server, ann, index):
    first, second = (submit(ann, "hold_cancel") for _ in range(2))
    wait_for(lambda: "hold_cancel" in index.held, what="the build's begin")
    assert builders(server)
    server.request("DELETE", f"/v1/jobs/{first}")
    assert server.wait(first)["state"] == "cancelled"
    assert server.job(second)["environment"] == "building" and builders(server)
    server.request("DELETE", f"/v1/jobs/{second}")
    wait_for(lambda: not builders(server), what="the build's end")
    index.free("hold_cancel")
    assert server.wait(submit(ann, "hold_cancel"))["state"] == "succeeded"  # it can be built again


def act(server, job, verb):
    assert server.post(f"/v1/jobs/{job}/{verb}").status == 200


def test_nothing_is_built_for_a_held_job(server, ann, index):
    assert server.post("/v1/queues", {"name": "small", "max": {"cpu": "1"}, "everyone": True}).status in (201, 409)
    first, second = (submit(ann, "hold_held", queue="small") for _ in range(2))
    wait_for(lambda: "hold_held" in index.held, what="the build's begin")
    act(server, first, "hold")
    held = server.job(first)
    assert (held["state"], held["environment"]) == ("suspended", "waiting"), held
    assert server.job(second)["environment"] == "building" and builders(server)  # the other one waits for it still
    act(server, second, "hold")
    wait_for(lambda: not builders(server), what="the build's end")
    wait_for(lambda: "cpu" not in used(server), what="the queue's books")
    index.free("hold_held")

    act(server, second, "release")
    assert server.wait(second)["state"] == "succeeded"  # built for it alone
    held = server.job(first)
    assert (held["state"], held["environment"]) == ("suspended", "waiting"), held
    act(server, first, "release")
    released = server.wait(first)
    assert (released["state"], released["environment"]) == ("succeeded", "ready"), released

    job = server.job(submit(ann, "hold_begun", queue="small"))["id"]
    wait_for(lambda: "hold_begun" in index.held, what="the build's begin")
    for _ in range(5):  # faster than a build ends
        act(server, job, "hold")
        act(server, job, "release")
    index.free("hold_begun")
    ended = server.wait(job)
    assert ended["state"] == "succeeded", (ended["reason"], server.member_log(job, "environment"))


def test_a_job_held_before_its_build_began_is_not_built(server, ann, index):
    assert server.post("/v1/queues", {"name": "small", "max": {"cpu": "1"}, "everyone": True}).status in (201, 409)
    running = ann.submit("sleep 1000", queue="small", roles=[{"name": "worker", "replicas": 1, "cpu": "1"}])["id"]
    server.wait(running, "running")
    job = submit(ann, "hold_before", queue="small")
    wait_for(lambda: server.job(job)["environment"] == "waiting", what="its wait for the queue")
    act(server, job, "hold")
    server.request("DELETE", f"/v1/jobs/{running}")
    server.wait(running)
    after = submit(ann, "hold_other", queue="small")  # the queue's next build
    wait_for(lambda: "hold_other" in index.held, what="the other build's begin")
    assert "hold_before" not in index.held and server.job(job)["environment"] == "waiting"
    index.free("hold_other")
    assert server.wait(after)["state"] == "succeeded"
    assert "hold_before" not in index.held
    act(server, job, "release")
    index.free("hold_before")
    assert server.wait(job)["state"] == "succeeded"


def test_builds_at_one_time_are_bounded_in_all_and_for_each_user(server, ann, bobby, index):
    index.most = 0
    names = [f"hold_many_{n}" for n in range(4)]
    jobs = [submit(ann, name) for name in names[:3]] + [submit(bobby, names[3])]
    waiting = set(names)
    wait_for(lambda: names[3] in index.held and len(waiting & index.held) > 1, what="a build of each user")
    assert len(waiting & index.held) == 2, "more than one build of a user"
    last = submit(bobby, "hold_many_last")
    while waiting:
        wait_for(lambda: waiting & index.held, what=f"the turn of one of {waiting}")
        name = min(waiting & index.held)
        waiting.remove(name)
        index.free(name)
    wait_for(lambda: "hold_many_last" in index.held, what="the last one's turn")
    index.free("hold_many_last")
    for job in [*jobs, last]:
        assert server.wait(job)["state"] == "succeeded"
    assert index.most == 2


@pytest.fixture(scope="module")
def strict(index, tmp_path_factory):
    """Less time, and more that is allowed."""
    other = index.second.server_address[1]
    options = [
        "--build-time-limit",
        "5s",
        "--build-network",
        "index",
        "--build-allow",
        f"127.0.0.1:{other}",
        "--requirement-urls",
    ]
    server = Server(tmp_path_factory.mktemp("strict"), "--cpus", "8", *options).start()
    yield server
    server.destroy()


def test_a_build_that_takes_too_long_ends_and_says_so(strict, index):
    job = strict.wait(submit(Person(strict, "slow"), "hold_time"))
    (key,) = (path.name for path in strict.state.glob("envs/u*-*"))
    assert job["state"] == "failed" and f"environment '{key}' was not ready after 5.0 s" in job["reason"], job["reason"]
    wait_for(lambda: not builders(strict), what="the build's end")
    index.free("hold_time")


def test_an_administrator_may_allow_more(index, strict):
    before = len(index.second.asked)
    url = index.second.url + "/files/allowed-1.0.tar.gz"
    job = strict.wait(submit(Person(strict, "guest"), f"allowed @ {url}"))
    assert job["state"] == "succeeded", log_of(strict, job["id"])
    assert index.second.asked[before:]


def test_a_setup_opens_nothing_by_naming_it(index, strict):
    """Requirements may name hosts there; a command that is the user's own program would only have to mention one."""
    third = Index()
    try:
        fetch = "import urllib.request as u, sys; u.urlopen(sys.argv[1])"
        setup = f"python3 -c '{fetch}' {third.url}/files/x-1.0.tar.gz"
        person = Person(strict, "builder")
        job = strict.wait(person.submit("true", setup=setup)["id"])
        assert job["state"] == "failed" and "403" in job["reason"], job["reason"]
        assert not third.asked
        job = strict.wait(person.submit("true", setup=setup.replace(third.url, index.second.url))["id"])
        assert job["state"] == "succeeded", log_of(strict, job["id"])
    finally:
        third.shutdown()


def test_the_proxy_of_the_machine_is_used_and_its_password_kept(index, tmp_path):
    upstream = Index(index)
    port = index.server_address[1]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy"):
            patch.setenv(name, f"http://me:s3cret@127.0.0.1:{upstream.server_address[1]}")
        server = Server(tmp_path / "state", "--build-network", "index", "--build-allow", "refused.example:443").start()
    try:
        person = Person(server, "carl")
        before = len(index.asked)
        job = server.wait(submit(person, "proxied"))
        assert job["state"] == "succeeded", log_of(server, job["id"])
        assert said(person, "proxied") == {"tunnel": 200, "refused": 502, "secret": False}
        asked = dict(upstream.asked)
        assert f"http://127.0.0.1:{port}/files/proxied-1.0.tar.gz" in asked and f"127.0.0.1:{port}" in asked
        assert set(asked.values()) == {"Basic bWU6czNjcmV0"}
        assert len(index.asked) == before
    finally:
        server.destroy()
        upstream.shutdown()
