"""A disk that is full, on a small file system of the test's own, and clients that are too slow."""

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time

import pytest
from conftest import BIN, Server, UnixConnection, wait_for
from seeds import noise
from test_files import digest, finish, put
from test_packages import manifest_of, offer, tar_of


@contextlib.contextmanager
def small_disk(times=1):
    """A server whose state directory is a tmpfs of 48 MB and 5,000 files, or so many times that."""
    base = tempfile.mkdtemp(prefix="paddle-disk-")
    options = f"size={48 * times}m,nr_inodes={5000 * times},mode=0711"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", base], check=True)
    server = Server(os.path.join(base, "state"), "--cpus", "4")
    try:
        yield server.start()
    finally:
        make_room(server)
        try:
            server.destroy()
        finally:
            wait_for(lambda: server.agent_pid() is None, 20, "the agent's end")
            subprocess.run(["umount", base], check=True)
            os.rmdir(base)


@pytest.fixture
def small():
    with small_disk() as server:
        yield server


def fill_up(server, leave=0):
    """Takes all room but `leave` bytes."""
    with open(server.state / "fill", "wb", buffering=0) as fill:
        with contextlib.suppress(OSError):
            while True:
                fill.write(bytes(1 << 20))
        with contextlib.suppress(OSError):
            while True:
                fill.write(bytes(4096))
    if leave:
        os.truncate(server.state / "fill", max(0, os.path.getsize(server.state / "fill") - leave))


def take_files(server):
    """Takes all files that the disk may have: the database goes on, and no directory can be made. `fill_up` may follow."""
    (server.state / "fill").touch()
    places = server.state / "places"
    places.mkdir(exist_ok=True)
    with contextlib.suppress(OSError):
        for number in range(5000):
            (places / str(number)).touch()


def make_room(server):
    """Gives back what `fill_up` and `take_files` took."""
    (server.state / "fill").unlink(missing_ok=True)
    shutil.rmtree(server.state / "places", ignore_errors=True)


def full(reply):
    assert reply.status == 507, (reply.status, reply.body)
    assert reply.json["code"] == "no_space", reply.json
    assert "full" in reply.json["message"] or "space" in reply.json["message"], reply.json
    assert "space" in reply.json["hint"], reply.json  # what to do
    return reply.json


def test_a_run_that_a_full_disk_stops_says_so(small, tmp_path):
    """A step ends while its end cannot be stored."""
    go = tmp_path / "go"
    file = tmp_path / "pipeline.yaml"
    first = f"  first: {{command: 'while ! test -e {go}; do sleep 0.05; done'}}\n"
    file.write_text(f"name: stuck\nentry_points:\n{first}  second: {{deps: first, command: 'true'}}\n")
    words = [BIN / "paddle", "run", "create", "-f", file, "--no-package", "--follow"]
    env = {**os.environ, "PADDLE_SERVER": small.url}
    process = subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run = process.stdout.readline().strip()
    assert process.stdout.readline() == "first: running\n"
    assert small.get(f"/v1/runs/{run}").json["trouble"] is None
    fill_up(small)
    wait_for(lambda: small.post("/v1/jobs", {"command": ["true"]}).status == 507, 60, "the disk to be full")
    go.touch()
    trouble = wait_for(lambda: small.get(f"/v1/runs/{run}").json["trouble"], 60, "the trouble")
    assert "the disk that holds" in trouble and "is full" in trouble
    assert "the server cannot store changes, so the run does not go on: the disk" in process.stderr.readline()
    shown = small.paddle("run", "show", run, check=0).stdout
    assert "the server cannot store changes" in shown and "is full" in shown, shown
    make_room(small)
    assert "stores changes again" in process.stderr.readline()
    assert process.wait(60) == 0, process.stderr.read()
    assert small.get(f"/v1/runs/{run}").json["trouble"] is None


def test_an_embedded_server_that_a_full_disk_keeps_from_starting_says_so(tmp_path):
    """Its log is on the same disk, and stays empty."""
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", home], check=True)
    env = {name: value for name, value in os.environ.items() if name != "PADDLE_SERVER"}
    env.update(HOME=str(tmp_path), PADDLE_HOME=str(home))
    try:
        with contextlib.suppress(OSError), open(home / "fill", "wb", buffering=0) as fill:
            while True:
                fill.write(bytes(4096))
        done = subprocess.run([BIN / "paddle", "run", "list"], env=env, text=True, capture_output=True, timeout=120)
        assert done.returncode == 4, done
        assert f"ended at its start: the disk that holds '{home}' is full\nFree some space" in done.stderr, done.stderr
    finally:
        subprocess.run(["umount", home], check=True)


def test_output_that_a_full_disk_takes_not_says_why(server):
    """Also where the output was flushed before: its reason is known no more at the end."""
    run = server.post("/v1/runs", {"definition": "name: out\nentry_points: {a: {command: echo seen}}"}).json["id"]
    wait_for(lambda: server.get(f"/v1/runs/{run}").json["state"] == "succeeded", 60, "the run")
    for words in (["run", "logs", run], ["run", "show", run], ["run", "list"]):
        with open("/dev/full", "w") as out:
            command = [BIN / "paddle", *words]
            env = {**os.environ, "PADDLE_SERVER": server.url}
            done = subprocess.run(command, env=env, text=True, stdout=out, stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 1
        assert "cannot write to standard output: No space left on device" in done.stderr, (words, done.stderr)


def test_submits_on_a_full_disk(small):
    done = small.submit(["true"])["id"]
    small.wait(done)
    running = small.submit("while test ! -e go; do sleep 0.05; done; exit 3", name="through-it")["id"]
    small.wait(running, "running")
    before = [job["id"] for job in small.get("/v1/jobs").json["items"]]
    fill_up(small)
    refusals = [
        reply for reply in (small.post("/v1/jobs", {"command": ["true"]}) for _ in range(50)) if reply.status != 201
    ]
    assert refusals, "the disk was not full"
    for reply in refusals:
        assert "disk" in full(reply)["message"]
    assert small.process.poll() is None and small.get("/healthz").status == 200
    assert small.job(running)["state"] == "running"
    shown = small.paddle("submit", "--no-package", "--", "true")
    assert shown.returncode == 1 and "full" in shown.stderr, shown.stderr
    # its end comes while there is no room, and is recorded when there is some
    (work,) = small.state.glob(f"jobs/*/{running}/1/work")
    (work / "go").touch()
    (small.state / "fill").unlink()
    job = small.wait(running)
    assert job["state"] == "failed" and "status 3" in job["reason"], job["reason"]
    after = small.submit(["true"])["id"]
    assert small.wait(after)["state"] == "succeeded"
    accepted = {job["id"] for job in small.get("/v1/jobs?limit=1000").json["items"]}
    assert set(before) <= accepted
    small.stop()
    small.start()
    assert {job["id"] for job in small.get("/v1/jobs?limit=1000").json["items"]} == accepted


def test_an_end_on_a_full_disk_is_recorded_later(small, tmp_path):
    go = tmp_path / "go"
    os.chmod(tmp_path, 0o711)
    job = small.submit(f"while test ! -e {go}; do sleep 0.05; done; exit 3")["id"]
    member = small.wait(job, "running")["members"][0]["pid"]
    fill_up(small)
    go.touch()
    wait_for(lambda: not os.path.exists(f"/proc/{member}"), 20, "the member's end")
    assert small.process.poll() is None and small.get("/healthz").status == 200
    (small.state / "fill").unlink()
    done = small.wait(job)
    assert done["state"] == "failed" and "status 3" in done["reason"], done["reason"]


def test_a_start_on_a_full_disk_is_repeated(small):
    """The attempt did not run, and that was no fault of the job: it costs no retry."""
    take_files(small)
    job = small.submit(["true"], retries=0)["id"]
    reason = wait_for(lambda: small.job(job)["reason"] if small.job(job)["attempt"] == 2 else None)
    assert "No space left on device" in reason, reason
    make_room(small)
    done = small.wait(job)
    assert (done["state"], done["failures"]) == ("succeeded", 0), done["reason"]


def test_uploads_and_packages_on_a_full_disk(small):
    path = "/v1/files/pfs/local/home/root/data.bin"
    chunk = noise(4 << 20, "chunk")
    assert put(small, path, 0, b"old").status == 204 and finish(small, path, b"old").status == 200
    fill_up(small, leave=2 << 20)
    full(put(small, path, 0, chunk))
    content = noise(3 << 20, "content")
    manifest = manifest_of({"data.bin": content})
    assert offer(small, manifest).status == 200
    full(small.request("PUT", f"/v1/packages/blobs/{digest(content)}?offset=0&last=true", content))
    full(small.post("/v1/packages/blobs", b"%s %d\n%s" % (digest(content).encode(), len(content), content)))
    full(small.post("/v1/packages", tar_of(("data.bin", content))))
    full(small.post("/v1/packages", tar_of(("zeros.bin", bytes(3 << 20)), mode="w:xz")))
    assert small.get(path).body == b"old"  # nothing half made is visible
    packages = small.state / "packages"
    assert not [p for p in packages.iterdir() if len(p.name) == 64]
    wait_for(lambda: not os.listdir(small.state / "tmp"), 10, "an empty tmp")
    (small.state / "fill").unlink()
    assert put(small, path, 0, chunk).status == 204 and finish(small, path, chunk).status == 200
    assert small.get(path).body == chunk
    assert small.post("/v1/packages", tar_of(("data.bin", content))).status == 200


# -- slow clients


def connect(server):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(40)
    client.connect(server.socket)
    return client


def status_of(client):
    with client, contextlib.suppress(ConnectionError):
        return client.recv(4096).partition(b"\r\n")[0]
    return b""


def be_lively(server):
    assert server.get("/v1/version").status == 200
    assert server.wait(server.submit(["true"])["id"])["state"] == "succeeded"


def test_slow_clients_do_not_hold_up_others(make_server):
    """Headers that never end, bodies that drip, replies that nobody reads: all at once, and others go on."""
    server = make_server("--cpus", "4")
    large = b"x" * (9 << 20)
    path = "/v1/files/pfs/local/home/root/large"
    for at in range(0, len(large), 4 << 20):
        assert put(server, path, at // (4 << 20), large[at : at + (4 << 20)]).status == 204
    assert finish(server, path, large).status == 200
    started = time.monotonic()
    headers, bodies, readers = [], [], []
    for _ in range(20):
        client = connect(server)
        client.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        headers.append(client)
        client = connect(server)
        client.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        bodies.append(client)
        client = connect(server)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        readers.append(client)
    beside = 0
    while time.monotonic() - started < 9:  # they do send something, a byte at a time
        for client in headers + bodies:
            with contextlib.suppress(OSError):
                client.send(b"a")
        assert server.get("/v1/version").status == 200
        beside += not select.select(headers + bodies, [], [], 0)[0]
        be_lively(server)
    sent = time.monotonic()
    assert beside > 0  # others had their answers while none of these had one
    for client in headers:  # 10 s for a head: then 408, or the end of the connection
        line = status_of(client)
        assert line == b"" or b" 408 " in line, line
    for client in bodies:  # 1 KiB/s after 10 s
        line = status_of(client)
        assert line == b"" or b" 408 " in line, line
    assert time.monotonic() - sent < 50  # of 60, after which whoever is silent is cut off anyway
    for client in readers:
        client.close()
    be_lively(server)


def test_connections_over_the_limit_are_answered_503(make_server):
    server = make_server("--max-connections", "16", "--cpus", "1")
    clients = [connect(server) for _ in range(40)]
    for client in clients:
        with contextlib.suppress(OSError):
            client.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
    lines = [client.recv(4096).partition(b"\r\n")[0] for client in clients]
    assert sum(b" 200 " in line for line in lines) <= 16
    assert sum(b" 503 " in line for line in lines) >= 24
    assert set(lines) <= {b"HTTP/1.1 200 OK", b"HTTP/1.1 503 Service Unavailable"}
    for client in clients:
        client.close()
    wait_for(lambda: server.get("/v1/version").status == 200, 10, "room for others")


def test_a_client_that_goes_in_the_middle_leaves_nothing(server):
    for size in (100, 5 << 20):
        client = connect(server)
        client.sendall(b"POST /v1/packages HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n" + b"x" * size)
        client.close()
    wait_for(lambda: not os.listdir(server.state / "tmp"), 20, "an empty tmp")
    connection = UnixConnection(server.socket)
    connection.request("GET", "/v1/version")
    assert json.loads(connection.getresponse().read())["api"] == "v1"
    connection.close()
    assert server.process.poll() is None
