"""Work on files: nobody's takes the server from the others, and it ends when nobody waits for it. doc/guide/security.md, "Work on files"."""

import contextlib
import hashlib
import http.client
import io
import json
import os
import tarfile
import threading
import time

import pytest
from conftest import PATIENCE, Server, wait_for
from people import Person

CHUNK = 4 << 20
ZEROS = hashlib.blake2b(bytes(CHUNK), digest_size=32).hexdigest()


@pytest.fixture
def served(tmp_path):
    # without a limit of logs, as what is above it is cut within a second
    server = Server(tmp_path / "state", "--cpus", "8", "--listen", "127.0.0.1:0", "--log-limit", "0").start()
    yield server
    server.destroy()


@pytest.fixture
def ann(served):
    ann = Person(served, "ann")
    ann.run("true", output="/pfs/local/home/ann/out")  # her home is there then
    return ann


def sparse(person, name, size, step=None):
    """A file of zeros of which nothing is on the disk, but a byte every `step`."""
    path = person.disk / name
    with open(path, "wb") as file:
        file.truncate(size)
        for offset in range(0, size, step) if step else ():
            os.pwrite(file.fileno(), b"x", offset)
    os.chown(path, person.disk.stat().st_uid, person.disk.stat().st_gid)
    return path


def open_request(server, person, path):
    """A request that is on its way: its connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", person.home + path, headers=person.headers)
    return connection


def cpu_of(server):
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_holes_are_not_read(ann):
    sparse(ann, "hole", (64 << 30) + 5)
    reply = ann.get(ann.home + "/hole?chunks=true")
    about = reply.json
    assert about["size"] == (64 << 30) + 5
    assert about["chunks"][:-1] == [ZEROS] * (64 << 30 >> 22)
    assert about["chunks"][-1] == hashlib.blake2b(bytes(5), digest_size=32).hexdigest()


def test_what_is_too_large_for_an_answer_is_refused(ann):
    sparse(ann, "huge", 4 << 40)
    reply = ann.get(ann.home + "/huge?chunks=true")
    assert reply.status == 413 and "more than 262144 chunks" in reply.json["message"]


def test_a_hole_is_taken_over_from_the_present_file(served, ann):
    sparse(ann, "kept", 1 << 30)
    count = (1 << 30) // CHUNK
    data = b"new".ljust(CHUNK, b".")
    first = hashlib.blake2b(data, digest_size=32).hexdigest()
    path = f"{ann.home}/kept?chunk=0&hash={first}"
    assert served.request("PUT", path, data, headers=ann.headers).status == 204
    body = json.dumps({"op": "finish", "size": 1 << 30, "chunks": [first] + [ZEROS] * (count - 1)})
    headers = {**ann.headers, "Content-Type": "application/json"}
    assert served.request("POST", ann.home + "/kept", body, headers).status == 200
    about = (ann.disk / "kept").stat()
    assert about.st_size == 1 << 30 and about.st_blocks * 512 < 64 << 20
    with open(ann.disk / "kept", "rb") as file:
        assert file.read(4) == b"new." and not any(file.read(CHUNK)[CHUNK - 4 :])


def test_others_are_served_while_one_user_has_all_hashed(served, ann):
    """Minutes of hashing, asked for by many connections at once."""
    sparse(ann, "slow", 64 << 30, CHUNK)
    bob = Person(served, "bob")
    waiting = [open_request(served, ann, "/slow?chunks=true") for _ in range(24)]
    try:
        time.sleep(0.5)  # for as many of them to be in hand as can be
        for i in range(5):
            assert bob.ask({"command": ["true"], "name": f"small-{i}"}).status == 201
            assert bob.get("/v1/jobs").status == 200
            assert bob.get(bob.home + "?list=true").status in (200, 404)
        assert "small-0" in [job["name"] for job in bob.get("/v1/jobs").json["items"]]
        for connection in waiting:
            connection.sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                assert connection.sock.recv(1) is None, "the work was over before others were served"
    finally:
        for connection in waiting:
            connection.close()

    def is_quiet():
        before = cpu_of(served)
        time.sleep(0.5)
        return cpu_of(served) - before < 0.1

    wait_for(is_quiet, 30, "the end of work that nobody waits for")


def test_one_users_line_is_bounded(served, ann):
    sparse(ann, "slow", 64 << 30, CHUNK)
    waiting = [open_request(served, ann, "/slow?chunks=true") for _ in range(80)]
    statuses = []

    def read(connection):
        with contextlib.suppress(OSError, http.client.HTTPException):
            statuses.append(connection.getresponse().status)

    readers = [threading.Thread(target=read, args=(connection,)) for connection in waiting]
    for reader in readers:
        reader.start()
    wait_for(lambda: 503 in statuses, 30, "a refusal")
    for connection in waiting:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(2)
    for reader in readers:
        reader.join()
    assert set(statuses) == {503}


def test_the_server_ends_in_the_middle_of_it(served, ann):
    sparse(ann, "slow", 64 << 30, CHUNK)
    waiting = [open_request(served, ann, "/slow?chunks=true") for _ in range(8)]
    time.sleep(2)
    served.process.terminate()
    assert served.process.wait(PATIENCE) == 0
    for connection in waiting:
        assert connection.getresponse().status == 503


def test_the_end_of_a_long_log_without_lines_is_found_soon(served, ann):
    job = ann.submit("truncate -s 256G /proc/self/fd/1; echo; echo end; sleep 600")
    served.wait(job["id"], "running")
    log = next(served.state.glob(f"jobs/*/{job['id']}/*/log/worker-0"))
    wait_for(lambda: log.stat().st_size > 256 << 30, what="the log")
    before = cpu_of(served)
    reply = ann.get(f"/v1/jobs/{job['id']}/logs/worker-0?tail=5")
    assert reply.status == 200 and reply.body.endswith(b"end\n") and len(reply.body) <= 16 << 20
    assert cpu_of(served) - before < 10  # of minutes
    ann.paddle("cancel", job["id"])


def lock_of_many_ways(packages, each, first):
    """A uv.lock that takes long to read: each package depends on the next ones, so that many ways lead to the last."""
    text = ['version = 1\n[[package]]\nname = "demo"\nversion = "1"\nsource = { virtual = "." }\ndependencies = [']
    text += [f'{{ name = "p{i}", marker = "python_version > \'{i}\'" }},' for i in range(first)]
    for i in range(packages):
        text.append(
            f']\n[[package]]\nname = "p{i}"\nversion = "1"\nsource = {{ registry = "https://pypi.org/simple" }}\n'
        )
        text.append("dependencies = [")
        text += [f'{{ name = "p{k}" }},' for k in range(i + 1, min(i + 1 + each, packages))]
    return "".join([*text, "]\n"])


def package_of(person, **files):
    """Sends these files as a package; its hash."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    headers = {**person.headers, "Content-Type": "application/x-tar"}
    reply = person.server.request("POST", "/v1/packages", made.getvalue(), headers)
    assert reply.status == 200, reply.body
    return reply.json["package"]


def processor_time(server):
    """Seconds by now of the threads of the pool, which are SCHED_BATCH, and of all others."""
    times = {True: 0, False: 0}
    for task in os.listdir(f"/proc/{server.process.pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{server.process.pid}/task/{task}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
            times[int(fields[38]) == os.SCHED_BATCH] += int(fields[11]) + int(fields[12])
    return times[True] / os.sysconf("SC_CLK_TCK"), times[False] / os.sysconf("SC_CLK_TCK")


def test_what_a_package_requires_is_read_on_the_pool_and_once(served, ann):
    """Not by the workers that answer everybody's requests, nor once more for each job of it."""
    lock, project = lock_of_many_ways(1000, 16, 64), '[project]\nname = "demo"\nversion = "1"\ndependencies = ["p0"]\n'
    spec = {"command": ["true"], "package": package_of(ann, uv_lock=lock, pyproject_toml=project)}
    served.kill()
    served.start()
    headers = {**ann.headers, "Content-Type": "application/json"}

    def check():
        before = processor_time(served)
        reply = served.request("POST", "/v1/jobs?check=true", json.dumps(spec), headers=headers)
        assert reply.status == 413 and "uv.lock" in reply.json["message"], reply.body
        after = processor_time(served)
        return after[0] - before[0], after[1] - before[1]

    pool, workers = check()
    assert pool > 0.1 and workers < pool / 2, (pool, workers)
    assert sum(sum(check()) for _ in range(10)) < pool
    before = processor_time(served)
    body = json.dumps({"jobs": [spec] * 100})
    assert served.request("POST", "/v1/jobs/batch", body, headers=headers).status == 413
    assert sum(processor_time(served)) - sum(before) < pool
