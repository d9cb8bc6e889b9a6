"""The guard of a run: a process that outlives t/steady, however that ends.

It is told of each stop before it is made, and is given a pidfd. When its socket is closed, by t/steady or by the kernel,
it continues all that is stopped, interrupts the test if that still runs, waits until the run has ended, and kills the rest.

usage: python -m steadiness.guard SOCKET TAG    (by t/steady only)
"""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from steadiness.family import Family

GRACE = 60  # seconds; the removal of a test cluster is the longest that a test does at its end
ROOT, HOLD, RELEASE = "root", "hold", "release"  # a message is one of these and a number


class Guard:
    """The end of the socket that t/steady has. Leaving the context ends the run."""

    def __init__(self, tag):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno()), tag],
                cwd=pathlib.Path(__file__).resolve().parent.parent,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # the terminal's Ctrl-C is for t/steady alone
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.wait()

    def set_root(self, pid):
        """The process that is interrupted to end the run."""
        fd = os.pidfd_open(pid)
        self.send(ROOT, 0, fd)
        os.close(fd)

    def hold(self, fd):
        """Call before the process is stopped. The guard has a pidfd of its own afterwards."""
        self.send(HOLD, fd, fd)

    def release(self, fd):
        """Call after the process was continued, before the pidfd is closed."""
        with contextlib.suppress(OSError):  # without a guard there is none to tell
            self.send(RELEASE, fd)

    def send(self, verb, number, *fds):
        socket.send_fds(self.socket, [f"{verb} {number}".encode()], fds)


def send_signal(fd, number):
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(fd, number)


def listen(channel):
    """Returns when the channel is closed: the pidfd of the first process, and those of what is stopped."""
    root, held = None, {}
    while True:
        message, fds, _, _ = socket.recv_fds(channel, 64, 1)
        if not message:
            return root, held.values()
        verb, number = message.decode().split()
        if verb == ROOT:
            (root,) = fds
        elif verb == HOLD:
            (held[number],) = fds
        else:
            os.close(held.pop(number))


def signal_all(processes, number):
    for process in processes:
        fd = process.open()
        if fd is not None:
            send_signal(fd, number)
            os.close(fd)


def end_run(family):
    """Waits until no process is left. What the test stopped is continued as well: it could not end."""
    limit = time.monotonic() + GRACE
    while (left := family.living()) and time.monotonic() < limit:
        signal_all([process for process in left if process.state == "T"], signal.SIGCONT)
        time.sleep(0.05)
    for process in left:
        print(f"steady: left by the test and killed: {process.command()} ({process.pid})", file=sys.stderr)
    while left:
        signal_all(left, signal.SIGKILL)
        time.sleep(0.05)
        left = family.living()


def main():
    channel, tag = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    root, stopped = listen(channel)
    for fd in stopped:
        send_signal(fd, signal.SIGCONT)
    if root is not None:
        send_signal(root, signal.SIGINT)
    end_run(Family(tag))


if __name__ == "__main__":
    main()
