"""The processes of a run.

A process belongs to the run if
- its environment has the tag of the run: children inherit it;
- or its parent belongs: members of jobs and containers have an environment of their own;
- or the leader of its session belongs.
A process that was found to belong belongs until its end.
"""

import contextlib
import dataclasses
import os
import pathlib

TAG = "PADDLE_STEADY"
COMMAND_LENGTH = 120
SIGSTOP_BIT = 1 << 18  # in the masks of /proc/PID/status


@dataclasses.dataclass(frozen=True)
class Process:
    """A process as /proc/PID/stat shows it. `start` tells it from a later process of the same id."""

    pid: int
    start: int
    name: str
    state: str
    parent: int
    session: int

    @classmethod
    def read(cls, pid):
        """The process of this id; None if there is none."""
        try:
            text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except OSError:
            return None
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        return cls(pid, int(fields[19]), name, fields[0], int(fields[1]), int(fields[3]))

    @property
    def key(self):
        return self.start, self.pid

    def open(self):
        """A pidfd, to be closed by the caller; None if the process has ended."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        now = Process.read(self.pid)
        if now and now.key == self.key:
            return fd
        os.close(fd)
        return None

    def command(self):
        """The command line in one line, cut short; the name if there is none to read."""
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{self.pid}/cmdline").read_text(errors="replace").replace("\0", " ").split()
            return " ".join(words)[:COMMAND_LENGTH] or self.name
        return self.name

    def has_tag(self, tag):
        with contextlib.suppress(OSError):
            environment = pathlib.Path(f"/proc/{self.pid}/environ").read_bytes()
            return f"{TAG}={tag}".encode() in environment.split(b"\0")
        return False

    def has_second_stop(self):
        """Whether the process is stopped and another SIGSTOP waits. One that waits for a process that is not stopped yet
        is the first: on a busy machine it may take a while to arrive."""
        try:
            text = pathlib.Path(f"/proc/{self.pid}/status").read_text(errors="replace")
        except OSError:
            return False
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        waiting = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
        return fields["State"].startswith("T") and bool(waiting & SIGSTOP_BIT)


def all_processes():
    """All processes that have not ended, oldest first."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    found = [process for process in map(Process.read, pids) if process and process.state not in "ZX"]
    return sorted(found, key=lambda process: process.key)


class Family:
    """The processes of the run with this tag."""

    def __init__(self, tag):
        self.tag, self.known = tag, set()

    def living(self):
        """The run's processes that have not ended, oldest first."""
        everybody = all_processes()
        ours = {one.pid: one for one in everybody if one.key in self.known or one.has_tag(self.tag)}
        added = True
        while added:
            sessions = {pid for pid, one in ours.items() if one.session == pid}
            added = {
                one.pid: one
                for one in everybody
                if one.pid not in ours and (one.parent in ours or one.session in sessions)
            }
            ours.update(added)
        self.known = {one.key for one in ours.values()}
        return [one for one in everybody if one.pid in ours]
