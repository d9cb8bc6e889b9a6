"""How one user's submits fare while somebody else does the worst they can. Part of bench.py."""

import contextlib
import http.client
import json
import os
import selectors
import socket
import subprocess
import sys
import time

from people import Person

JOB = json.dumps({"command": ["true"], "roles": [{"name": "worker", "replicas": 1, "cpu": "100m"}]})
SUBMITS, PAUSE = 400, 0.005
DEADLINE = 30.0  # of one submit: what takes longer has failed


def submit(connection, headers):
    """Whether the server took it; a connection that was refused is opened anew by the next try."""
    try:
        connection.request("POST", "/v1/jobs", JOB, headers)
        reply = connection.getresponse()
        body = reply.read()
    except OSError:
        connection.close()
        return False
    assert reply.status in (201, 503), body
    if reply.status == 503:
        connection.close()
    return reply.status == 201


def sorted_submits(server, person):
    """Milliseconds of submits over one kept connection, from an address of its own; a refused one is tried again."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE, source_address=("127.0.0.9", 0))
    headers = {**person.headers, "Content-Type": "application/json"}
    times = []
    for _ in range(SUBMITS):
        start = time.monotonic()
        while not submit(connection, headers):
            assert time.monotonic() - start < DEADLINE, f"not one submit in {DEADLINE} s"
            time.sleep(0.01)
        times.append((time.monotonic() - start) * 1000)
        time.sleep(PAUSE)
    return sorted(times)


def p99(times):
    return times[len(times) * 99 // 100]


# ---- attackers, each a process of its own that runs until it is stopped: neighbour.py KIND PORT TOKEN


def requests_on(port, count, head):
    """Keeps `count` connections busy with one request each, which is sent anew when its answer has begun."""
    ready = selectors.DefaultSelector()

    def begin():
        with contextlib.suppress(OSError):
            peer = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=("127.0.0.8", 0))
            peer.sendall(head)
            ready.register(peer, selectors.EVENT_READ)

    while True:
        while len(ready.get_map()) < count:
            begin()
        for key, _ in ready.select(1):
            said = b""
            with contextlib.suppress(OSError):
                said = key.fileobj.recv(1 << 16)
            if not said or b"\r\n\r\n" in said:
                ready.unregister(key.fileobj)
                key.fileobj.close()
                time.sleep(0.001)


def hash_files(port, token):
    path = "/v1/files/pfs/local/home/mallory/big?chunks=true"
    requests_on(port, 64, f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())


def guess_passwords(port, token):
    body = json.dumps({"user": "root", "password": "wrong guess"})
    head = (
        f"POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    requests_on(port, 64, (head + body).encode())


def crowd_connections(port, token):
    """As many connections as one gets, each with the half of a request."""
    requests_on(port, 3600, b"POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n")


ATTACKS = {"hash": hash_files, "guess": guess_passwords, "crowd": crowd_connections}


@contextlib.contextmanager
def attack(kind, server, token):
    """Runs one beside what the caller does; the client's own work is nice to us, since it stands for another machine."""
    line = [sys.executable, __file__, kind, str(server.port), token]
    process = subprocess.Popen(
        line, preexec_fn=lambda: os.nice(19), env={**os.environ, "PYTHONPATH": ":".join(sys.path)}
    )
    try:
        time.sleep(3)  # until it has what it can get
        assert process.poll() is None, f"the attacker '{kind}' ended"
        yield
    finally:
        process.terminate()
        process.wait()


def figures(bench):
    """p99 of one user's submits while another attacks, beside the same user's alone, round by round."""
    ratios, alone = {kind: [] for kind in ATTACKS}, []
    options = ("--listen", "127.0.0.1:0", "--cpus", "1", "--max-open-jobs-per-user", "1000000")
    with bench.Scratch(*options) as server:
        server.submit(
            ["sleep", "900"], roles=[{"name": "worker", "replicas": 1, "cpu": "1"}], grace="1s"
        )  # others wait
        victim, mallory = Person(server, "victim"), Person(server, "mallory")
        mallory.disk.mkdir(parents=True, exist_ok=True)
        with open(mallory.disk / "big", "wb") as file:
            for _ in range(512):
                file.write(os.urandom(1 << 20))
        for _ in range(bench.ROUNDS):
            before = p99(sorted_submits(server, victim))
            alone.append(before)
            for kind in ATTACKS:
                with attack(kind, server, mallory.token):
                    ratios[kind].append(p99(sorted_submits(server, victim)) / before)
                time.sleep(2)
        bench.kill_open(server)
    found = {"submit alone, p99 ms": bench.spread(alone)}
    for kind, seen in ratios.items():
        found[f"{kind}: p99 beside alone (bar 2)"] = bench.spread(seen)
    return found


if __name__ == "__main__":
    ATTACKS[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
