"""`paddle shell`, `paddle attach` and `paddle port-forward` into pods of a real node."""

import contextlib
import signal

import pytest
from screen import Screen

from kube.images import BASE
from kube.test_runtime import connect, wait_usable

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
    screen.type("sleep 600\r")
    screen.until("sleep 600")
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
    screen = shell("--hangup-after", "2s", "--name", "lab", "--", "sh")
    screen.until("# ")
    screen.process.send_signal(signal.SIGKILL)
    assert joined.wait("lab")["state"] == "cancelled"


def test_cancel_ends_a_pods_shell(joined, shell):
    screen = shell("--grace", "600s", "--name", "lab", "--", "sh")
    screen.until("# ")
    joined.paddle("cancel", "lab", check=0)
    assert joined.wait("lab")["state"] == "cancelled"
