"""Connections and unfinished bodies are bounded for each address and before log-in: whoever holds as many as they can keeps out nobody else."""

import contextlib
import json
import os
import pathlib
import resource
import shlex
import socket
import subprocess
import sys

import pytest
from conftest import PATIENCE, Reply, Server, UnixConnection, wait_for
from people import Person

MANY = 3600  # of one address; the server takes 4096
SHARE = 1024  # of them for one address
LOGIN = 16 << 10  # bytes of the longest body of a log-in


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 16384)), hard))
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "8", "--listen", "127.0.0.1:0").start()
    server.tcp = server.port
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


def connect(server, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", server.tcp), timeout=PATIENCE, source_address=(source, 0))


def head(path, *lines, method="GET"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: a", *lines, "", ""]).encode()


def answer(connection):
    """Status and body of what comes before the connection ends or has said all; (0, b"") when it just ends."""
    text = b""
    with contextlib.suppress(ConnectionResetError):
        while b"\r\n\r\n" not in text and (piece := connection.recv(65536)):
            text += piece
        if not text:
            return 0, b""
        first, _, body = text.partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in first.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length and (piece := connection.recv(65536)):
            body += piece
    return (int(text.split()[1]), body) if text else (0, b"")


def ask(server, source="127.0.0.1"):
    """How a request from this address is answered, by a connection of its own."""
    with connect(server, source) as connection:
        connection.sendall(head("/v1/version", "Connection: close"))
        return answer(connection)


def hold(server, stack, data, count=MANY, source="127.0.0.2"):
    held = []
    for _ in range(count):
        connection = stack.enter_context(connect(server, source))
        with contextlib.suppress(OSError):  # the server may have closed it
            connection.sendall(data)
        held.append(connection)
    return held


def connections(server):
    text = server.get("/metrics").body.decode()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("paddle_http_connections "))


@pytest.mark.parametrize("data", [b"", b"GET /v1/version HTTP/1.1\r\nHost"])
def test_one_address_keeps_out_no_other(served, data):
    with contextlib.ExitStack() as stack:
        hold(served, stack, data)
        status, body = ask(served, "127.0.0.1")
        assert status == 200, body
        assert served.get("/v1/version").status == 200
        assert connections(served) <= SHARE + 100
        # More of the same are told why, and closed.
        status, body = ask(served, "127.0.0.2")
        assert status in (0, 503)
        assert not body or f"'127.0.0.2' has {SHARE} connections" in json.loads(body)["message"]
    wait_for(lambda: connections(served) < 100, what="the end of the connections")
    assert ask(served, "127.0.0.2")[0] == 200


def test_when_all_are_taken_those_with_few_get_one(make_server):
    server = make_server("--listen", "127.0.0.1:0", "--max-connections", "64", "--max-connections-per-address", "40")
    server.tcp = server.port
    with contextlib.ExitStack() as stack:
        first = hold(server, stack, b"", 40, "127.0.0.2")
        hold(server, stack, b"", 16, "127.0.0.3")  # an eighth is the Unix socket's
        # The server accepts with several threads: a connection that opens after the later ones would get 503.
        wait_for(lambda: connections(server) > 56, what="all of them, and the one that asks")
        for n in range(4, 9):
            assert ask(server, f"127.0.0.{n}")[0] == 200
        # At most one has gone for each of them, and of the largest holder alone.
        for connection in first:
            with contextlib.suppress(OSError):
                connection.sendall(head("/v1/version"))
        statuses = [answer(connection)[0] for connection in first]
        assert statuses.count(200) >= 35 and 1 <= statuses.count(0) == 40 - statuses.count(200), set(statuses)


CROWD = """
import os, socket, sys
os.setgid(65534), os.setuid(65534)
held = []
for i in range(60):
    sock = socket.socket(socket.AF_UNIX if len(sys.argv) == 2 else socket.AF_INET)
    held.append(sock)
    if len(sys.argv) == 2:
        sock.connect(sys.argv[1])
    else:
        sock.bind((f"127.0.0.{i + 10}", 0))
        sock.connect((sys.argv[1], int(sys.argv[2])))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("way", ["unix", "loopback"])
def test_a_user_of_this_machine_counts_as_one(make_server, way):
    """All of 127.0.0.0/8 is everybody's on the machine, so there, as on the Unix socket, Unix users have shares."""
    server = make_server("--listen", "127.0.0.1:0", "--max-connections", "64", "--max-connections-per-address", "10")
    server.tcp = server.port
    path = pathlib.Path(server.socket)
    path.chmod(0o666)
    target = [path] if way == "unix" else ["127.0.0.1", str(server.port)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", CROWD, *target], text=True, **pipes) as crowd:
        assert crowd.stdout.readline() == "held\n"
        assert ask(server)[0] == 200
        with contextlib.closing(UnixConnection(server.socket, PATIENCE)) as connection:
            connection.request("GET", "/v1/version")
            assert Reply(connection.getresponse()).status == 200
        crowd.stdin.close()


GUESS = """import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
headers = {"Content-Type": "application/json", "X-Forwarded-For": sys.argv[2]}
connection.request("POST", "/v1/login", '{"user": "root", "password": "wrong horse"}', headers)
print(connection.getresponse().status)"""


@pytest.mark.skipif(os.geteuid() != 0, reason="members of a server that is not root are the server's own user")
def test_a_job_is_no_trusted_proxy(make_server):
    """By its address it is one: whoever may use the loopback would say who asks, and be bounded by nothing."""
    server = make_server("--listen", "127.0.0.1:0", "--trusted-proxies", "127.0.0.1")
    ann = Person(server, "ann")
    assert ann.run(shlex.join(["python3", "-c", GUESS, str(server.port), "198.51.100.6"])).split() == ["401"]
    subprocess.run([sys.executable, "-c", GUESS, str(server.port), "198.51.100.7"], check=True, timeout=PATIENCE)
    addresses = {item["address"] for item in server.get("/v1/audit").json["items"]}
    assert "198.51.100.7" in addresses and "198.51.100.6" not in addresses, addresses


def test_bodies_before_log_in_leave_room(served, ann):
    """260 log-in bodies of 1 MiB, each one byte short, would fill the memory for all bodies."""
    sizes = {"/v1/login": LOGIN, "/api/paddleflow/v1/login": 1 << 20}
    with contextlib.ExitStack() as stack:
        for path, size in sizes.items():
            data = head(path, f"Content-Length: {size}", "Content-Type: application/json", method="POST")
            for _ in range(260):
                connection = stack.enter_context(connect(served, "127.0.0.2"))
                connection.settimeout(5)
                with contextlib.suppress(OSError):
                    connection.sendall(data + b" " * (size - 1))
        assert ann.ask({"command": ["true"], "name": "x" * 1000}).status == 400
        with connect(served, "127.0.0.1") as connection:
            body = json.dumps({"user": "nobody", "password": "wrong horse"}).encode()
            connection.sendall(head("/v1/login", f"Content-Length: {len(body)}", method="POST") + body)
            assert answer(connection)[0] == 401
        said = served.get("/metrics").body.decode()
        held = next(int(line.split()[1]) for line in said.splitlines() if line.startswith("paddle_http_body_bytes "))
        assert held <= 8 << 20


@pytest.mark.parametrize("length", ["Content-Length: 8000000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize(
    "path", ["/v1/jobs", "/v1/packages/offer", "/api/paddleflow/v1/job/single", "/api/paddleflow/v1/login"]
)
def test_a_body_of_a_stranger_is_not_read(served, path, length):
    """After little of it comes the refusal, and the end of the connection."""
    with connect(served) as connection:
        connection.sendall(head(path, length, "Authorization: Bearer none", method="POST"))
        piece = b" " * 40000
        with contextlib.suppress(OSError):
            connection.sendall(piece if length.startswith("Content") else b"%x\r\n%s\r\n" % (len(piece), piece))
        status, body = answer(connection)
        assert status == (413 if path.endswith("login") else 401) or (path.startswith("/api") and status == 400), body
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_a_strangers_slow_body_ends(served):
    """It need not be slow on average: bytes that came fast at first do not buy time."""
    with connect(served) as connection:
        connection.sendall(head("/v1/login", f"Content-Length: {LOGIN}", method="POST") + b" " * (LOGIN - 1))
        status, _ = answer(connection)  # after 10 s; the least rate would allow 16
        assert status == 408


def test_an_old_client_with_a_bad_token_keeps_its_connection(served):
    body = json.dumps({"command": ["true"]}).encode()
    with connect(served) as connection:
        for _ in range(2):
            connection.sendall(
                head("/v1/jobs", f"Content-Length: {len(body)}", "Authorization: Bearer none", method="POST") + body
            )
            assert answer(connection)[0] == 401
