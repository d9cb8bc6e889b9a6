"""`paddle port-forward`: ports of this machine that lead to a member's (doc/guide/interactive.md)."""

import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import queue
import re
import socket
import struct
import subprocess
import termios
import threading
import time
import urllib.request

import pytest
from conftest import BIN, PATIENCE, wait_for
from seeds import noise

# Listens on an address and a port that is free, writes it down, and serves each connection in a thread.
SERVICE = """
import hashlib, socket, sys, threading
def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)
def digest(connection):  # of all that comes until the other side has said its end
    total = hashlib.sha256()
    while data := connection.recv(65536):
        total.update(data)
    connection.sendall(total.hexdigest().encode())
def flood(connection):
    while True:
        connection.sendall(b"x" * 65536)
def hasty(connection):  # has no time for more than one word
    connection.recv(65536)
    connection.sendall(b"no")
def serve(connection):
    with connection:
        globals()[sys.argv[1]](connection)
family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
with socket.socket(family) as listener:
    listener.bind((sys.argv[2], 0))
    listener.listen(200)
    print("port", listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def service(server, what="echo", address="127.0.0.1", name="job"):
    """A job of such a service; its port."""
    server.submit(["python3", "-c", SERVICE, what, address], name=name)
    return said_port(server, name)


def said_port(server, name):
    server.wait(name, "running")
    return int(wait_for(lambda: re.search(r"port (\d+)", server.member_log(name)), what="the port")[1])


class Forward:
    """`paddle port-forward` with what it says on standard error."""

    def __init__(self, server, *words):
        env = {**os.environ, "PADDLE_SERVER": server.url, "HOME": str(server.state / "client")}
        command = [BIN / "paddle", "port-forward", *map(str, words)]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said, self.lines = [], queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.ports = [int(self.process.stdout.readline().rsplit(":", 1)[1]) for _ in words[1:]]

    def read(self):
        for line in self.process.stderr:
            self.said.append(line)

    def connect(self, i=0):
        return socket.create_connection(("127.0.0.1", self.ports[i]), timeout=PATIENCE)

    def says(self, text):
        wait_for(lambda: [line for line in self.said if text in line], what=text)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def forward(server):
    with contextlib.ExitStack() as stack:

        def make(*words):
            made = Forward(server, *words)
            stack.callback(made.close)
            return made

        yield make


def receive_all(connection):
    parts = []
    while data := connection.recv(65536):
        parts.append(data)
    return b"".join(parts)


def test_a_web_server_with_many_connections(server, forward, tmp_path):
    """What a browser does with TensorBoard: many connections, one of them large."""
    large = noise(50 << 20, "large")
    (tmp_path / "large.bin").write_bytes(large)
    (tmp_path / "page.html").write_text("a page")
    script = f"""
import functools, http.server
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 200
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory={str(tmp_path)!r})
with Server(("127.0.0.1", 0), handler) as served:
    print("port", served.server_port, flush=True)
    served.serve_forever()
"""
    server.submit(["python3", "-c", script], name="job")
    there = forward("job", f"0:{said_port(server, 'job')}")
    base = f"http://127.0.0.1:{there.ports[0]}"
    held = [there.connect() for _ in range(100)]
    for connection in held:
        connection.sendall(b"GET /page.html HTTP/1.0\r\n\r\n")
    assert all(receive_all(connection).endswith(b"a page") for connection in held)
    for connection in held:
        connection.close()

    def get(_):
        with urllib.request.urlopen(f"{base}/page.html", timeout=PATIENCE) as reply:
            return reply.read()

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        pages = pool.map(get, range(100))
        with urllib.request.urlopen(f"{base}/large.bin", timeout=PATIENCE) as reply:
            assert hashlib.sha256(reply.read()).digest() == hashlib.sha256(large).digest()
        assert list(pages) == [b"a page"] * 100


def has_stopped(connection, seen):
    """Nothing more has come to our side for a second: all buffers on the way are full."""
    waiting = struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, b"\0" * 4))[0]
    since = seen.setdefault(waiting, time.monotonic())
    return waiting > 0 and time.monotonic() - since > 1


def test_who_reads_slowly_gets_all(server, forward, tmp_path):
    """What waits for the reader's socket must not stop what is read from it."""
    (tmp_path / "large.bin").write_bytes(bytes(20 << 20))
    program = ["python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(tmp_path), "0"]
    server.submit(program, name="job")
    port = wait_for(lambda: re.search(r" port (\d+)", server.member_log("job")), what="the web server")[1]
    with forward("job", f"0:{port}").connect() as connection:
        connection.sendall(b"GET /large.bin HTTP/1.0\r\n\r\n")
        seen = {}
        wait_for(lambda: has_stopped(connection, seen), what="full buffers on the way")
        assert len(receive_all(connection)) > 20 << 20


def test_one_side_may_end_before_the_other(server, forward):
    port = service(server, "digest")
    data = noise(8 << 20, "up")
    with forward("job", f"0:{port}").connect() as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert receive_all(connection).decode() == hashlib.sha256(data).hexdigest()


def test_who_hears_no_more_has_answered(server, forward):
    """What is said to a service that has ended its connection is lost, and no fault of the connection."""
    there = forward("job", f"0:{service(server, 'hasty')}")
    with there.connect() as connection:
        connection.sendall(b"x")
        assert receive_all(connection) == b"no"
        with pytest.raises(OSError):  # noqa: PT011 - reset, or a broken pipe
            while True:
                connection.sendall(b"y")
    there.close()
    assert [line for line in there.said if "port" in line and "leads to" not in line] == []


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_a_long_conversation(server, forward, address):
    """As of a WebSocket: both sides speak whenever they like."""
    port = service(server, "echo", address)
    with forward("job/worker-0", f"0:{port}").connect() as connection:
        for i in range(50):
            connection.sendall(b"%d." % i)
            assert connection.recv(100) == b"%d." % i


def test_a_slow_reader_holds_the_sender_up(server, forward):
    port = service(server, "flood")
    with forward("job", f"0:{port}").connect() as connection:
        assert connection.recv(1) == b"x"
        with forward("job", f"0:{port}").connect() as other:
            total = 0
            while total < 16 << 20:
                total += len(other.recv(1 << 20))
        assert connection.recv(1) == b"x"


def is_refused(connection):
    with connection, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        connection.sendall(b"hello")
        return connection.recv(100) == b""
    return True


def test_what_does_not_listen_is_said_once(server, forward):
    port = service(server)
    there = forward("job", "0:1", f"0:{port}")
    for _ in range(3):
        assert is_refused(there.connect(0))
    there.says("nothing listens on port 1")
    with there.connect(1) as connection:
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
    assert len([line for line in there.said if "nothing listens" in line]) == 1


def test_only_the_members_own_ports(server, forward):
    """The machine's network is shared: what others listen on is not reached."""
    service(server, name="job")
    of_other_job = service(server, name="other")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        there = forward("job", f"0:{listener.getsockname()[1]}", f"0:{of_other_job}")
        assert is_refused(there.connect(0))
        assert is_refused(there.connect(1))
        listener.settimeout(0.5)
        with pytest.raises(TimeoutError):
            listener.accept()
    there.says("nothing listens")


def test_a_port_of_a_child_is_the_members(server, forward):
    """Also one that has left its session."""
    words = ["setsid", "-f", "python3", "-c", SERVICE, "echo", "127.0.0.1"]
    server.submit(["sh", "-c", '"$@"; sleep 600', "sh", *words], name="job")
    with forward("job", f"0:{said_port(server, 'job')}").connect() as connection:
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"


def test_the_end_of_the_member(server, forward):
    port = service(server, "flood")
    there = forward("job", f"0:{port}")
    with there.connect() as connection:
        assert connection.recv(1) == b"x"
        server.paddle("cancel", "--force", "job", check=0)
        with contextlib.suppress(ConnectionResetError):
            receive_all(connection)
    assert there.process.wait(PATIENCE) == 0
    there.says("has ended")


def test_a_member_that_ends_is_not_held_up_by_who_does_not_read(server, forward):
    there = forward("job", f"0:{service(server, 'flood')}")
    with there.connect() as connection:
        assert connection.recv(1) == b"x"
        server.paddle("cancel", "--force", "job", check=0)
        assert there.process.wait(PATIENCE) == 0


def test_a_connection_that_breaks_is_no_end(server, forward):
    """Who reads until the end of file would take a part for the whole."""
    port = service(server, "flood")
    there = forward("job", f"0:{port}")
    with there.connect() as connection:
        assert connection.recv(1) == b"x"
        server.kill()
        with pytest.raises(ConnectionResetError):
            receive_all(connection)
    there.says("the server ended the connection")
    server.start()


def test_a_server_that_restarts(server, forward):
    port = service(server)
    there = forward("job", f"0:{port}")
    with there.connect() as connection:
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
        server.kill()
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    server.start()

    def again():
        with there.connect() as connection, contextlib.suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(b"y")
            return connection.recv(1) == b"y"

    wait_for(again, what="a connection after the restart")


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("job", "x"), 2, "'x' is not PORT"),
        (("job", "0"), 2, "'0' is not PORT"),
        (("job", "65536"), 2, "'65536' is not PORT"),
        (("job", "1:2:3"), 2, "'1:2:3' is not PORT"),
        (("job",), 2, "port-forward"),
        (("none", "0:80"), 1, "no job 'none'"),
        (("job", "{taken}:80"), 1, "cannot be used: Address already in use"),
    ],
)
def test_what_cannot_be_forwarded(server, words, status, says):
    service(server)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        done = server.paddle("port-forward", *(word.format(taken=listener.getsockname()[1]) for word in words))
    assert says in done.stderr
    assert done.returncode == status, done.stderr


def test_a_port_has_to_be_one(server):
    service(server)
    for query in ("", "?port=0", "?port=65536", "?port=x", "?port=169.254.169.254:80"):
        assert server.get(f"/v1/jobs/job/members/worker-0/forward{query}").status == 400


def test_each_connection_is_recorded(server, forward):
    port = service(server)
    with forward("job", f"0:{port}").connect() as connection:
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
    lines = [line for line in server.get("/v1/audit").json["items"] if line["action"] == "job forward"]
    assert len(lines) == 1
    assert lines[0]["subject"] == f"{server.job('job')['id']} worker-0 {port}"
    # also what did not come to be
    assert server.get(f"/v1/jobs/job/members/worker-7/forward?port={port}").status == 404
    last = server.get("/v1/audit").json["items"][-1]
    assert (last["subject"], last["outcome"]) == (f"{server.job('job')['id']} worker-7 {port}", "refused")
