"""A program at a terminal of our own: what it shows, and what is typed."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from conftest import BIN, PATIENCE


class Screen:
    """`paddle` with its standard streams at a terminal."""

    def __init__(self, server, *words, size=(80, 24), cwd=None, env=None):
        self.ours, theirs = pty.openpty()
        self.seen = b""
        self.taken = 0  # what `until` has looked at
        self.size(*size)
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs  # open until the end: what was written is still there when the program is gone
        self.process = subprocess.Popen(
            [BIN / "paddle", *map(str, words)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**os.environ, "PADDLE_SERVER": server.url, "HOME": str(server.state / "client"), **(env or {})},
            preexec_fn=self.own,  # noqa: PLW1509 - no threads here
        )

    def own(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def size(self, columns, rows):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.size(columns, rows)
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGWINCH)

    def read(self, timeout):
        if select.select([self.ours], [], [], timeout)[0]:
            self.seen += os.read(self.ours, 65536)
            return True
        return False

    def until(self, text, timeout=PATIENCE):
        """Reads until `text` has come after what was looked for before."""
        text = text.encode() if isinstance(text, str) else text
        end = time.monotonic() + timeout
        looked = self.taken
        while (found := self.seen.find(text, looked)) < 0:
            looked = max(looked, len(self.seen) - len(text))
            assert time.monotonic() < end, f"no {text!r} in:\n{self.end()}"
            if not self.read(0.2) and self.process.poll() is not None and not self.read(0.5):
                assert self.seen.find(text, looked) >= 0, f"ended without {text!r}:\n{self.end()}"
        self.taken = found + len(text)

    def end(self):
        return self.seen[-4000:].decode(errors="replace")

    def type(self, text):
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[os.write(self.ours, data[:512]) :]
            self.read(0)

    def wait(self, timeout=PATIENCE):
        """The exit status; reads meanwhile."""
        end = time.monotonic() + timeout
        while self.process.poll() is None:
            assert time.monotonic() < end, f"still runs:\n{self.end()}"
            self.read(0.05)
        while self.read(0):
            pass
        return self.process.returncode

    def is_as_before(self):
        return termios.tcgetattr(self.theirs) == self.before

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)

    def __enter__(self):
        return self

    def __exit__(self, *about):
        self.close()
