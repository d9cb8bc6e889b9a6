"""`paddle shell`, `paddle attach` and `paddle port-forward` into pods of a real node."""

import contextlib
import signal
import socket

import pytest
from conftest import wait_for
from screen import Screen
from test_port_forward import Forward, is_refused, receive_all

from kube.images import BASE
from kube.test_runtime import connect, submit, wait_usable

LEAVE = "\x10\x11"  # Ctrl-P Ctrl-Q


@pytest.fixture
def joined(server, kube_node):
    connect(server, kube_node)
    wait_usable(server)
    return server


@pytest.fixture
def shell(joined):
    with contextlib.ExitStack() as stack:

        def start(*words, verb="shell", **about):
            words = ("--no-package", "--queue", "qq", "--base-image", BASE, *words) if verb == "shell" else words
            return stack.enter_context(Screen(joined, verb, *words, **about))

        yield start


def test_a_shell_in_a_pod(joined, shell):
    screen = shell("--name", "lab", "--", "sh", size=(91, 33))
    screen.until("# ")
    screen.type("until [ \"$(stty size)\" = '33 91' ]; do sleep 0.1; done; echo size-$((1+1))\r")
    screen.until("size-2")
    screen.resize(100, 44)
    screen.type("until [ \"$(stty size)\" = '44 100' ]; do sleep 0.1; done; echo size-$((1+2))\r")
    screen.until("size-3")
    screen.type("sh -c 'echo up-$((2+2)); exec sleep 600'\r")
    screen.until("up-4")  # it has the terminal: until then an interrupt is the shell's
    screen.type("\x03")
    screen.until("# ")
    screen.type("here=word\r" + LEAVE)
    assert screen.wait() == 0
    joined.kill()
    joined.start()
    again = shell("lab", verb="attach")
    again.until("size-3")
    again.type("echo it is $here; exit 7\r")
    again.until("it is word")
    assert again.wait() == 7
    assert joined.wait("lab")["members"][0]["exit_code"] == 7
    assert "size-3" in joined.member_log("lab")


def test_a_pod_whose_terminal_goes_ends(joined, shell):
    screen = shell("--hangup-after", "5s", "--name", "lab", "--", "sh")
    screen.until("# ")
    screen.process.send_signal(signal.SIGKILL)
    assert joined.wait("lab")["state"] == "cancelled"


def test_cancel_ends_a_pods_shell(joined, shell):
    screen = shell("--grace", "600s", "--name", "lab", "--", "sh")
    screen.until("# ")
    joined.paddle("cancel", "lab", check=0)
    assert joined.wait("lab")["state"] == "cancelled"


def test_ports_of_a_pod(joined):
    """busybox's httpd, with a page of 50 MiB."""
    script = "mkdir /tmp/w; cd /tmp/w; echo a page >page; head -c 52428800 /dev/zero >large; httpd -f -p 127.0.0.1:8000"
    job = submit(joined, script)
    joined.wait(job["id"], "running")
    there = Forward(joined, "job", "0:8000", "0:8001")
    try:

        def page(_=None):
            with there.connect() as connection, contextlib.suppress(ConnectionResetError):
                connection.sendall(b"GET /page HTTP/1.0\r\n\r\n")
                return receive_all(connection).endswith(b"a page\n")

        wait_for(page, what="the web server")
        held = [there.connect() for _ in range(20)]
        for connection in held:
            connection.sendall(b"GET /page HTTP/1.0\r\n\r\n")
        assert all(receive_all(connection).endswith(b"a page\n") for connection in held)
        for connection in held:
            connection.close()
        with there.connect() as connection:
            connection.sendall(b"GET /large HTTP/1.0\r\n\r\n")
            body = receive_all(connection).split(b"\r\n\r\n", 1)[1]
        assert len(body) == 52428800
        assert not body.strip(b"\0")
        assert is_refused(there.connect(1))
        there.says("nothing listens on port 8001")
        # the server does not learn of our end, and waits for the rest: that is no end of its answer
        with there.connect() as connection:
            connection.sendall(b"GET /page")
            connection.shutdown(socket.SHUT_WR)
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
        there.says("has said nothing for 10 s")
    finally:
        there.close()
    joined.paddle("cancel", job["id"], check=0)
