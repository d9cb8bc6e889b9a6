"""Stops random processes of a run and continues them."""

import contextlib
import dataclasses
import itertools
import os
import signal
import threading
import time

from steadiness.family import Process

PAUSE = 0.5  # seconds at most between two stops; several processes may be stopped at a time
LOOK = 0.1  # seconds until the next look where there was nothing to stop
AWAKE = "RSD"  # states; a process that the test has stopped itself is left alone


@dataclasses.dataclass(frozen=True)
class Stop:
    """One process that was stopped at `begin`, in seconds of the log, for `seconds`."""

    process: Process
    command: str
    begin: float
    seconds: float

    def __str__(self):
        return f"stopped {self.process.name} ({self.process.pid}) for {self.seconds:.2f} s: {self.command}"


class Stopper(threading.Thread):
    """Stops processes of `family` for up to `limit` seconds, until the end of its context. `random` makes all choices."""

    def __init__(self, family, guard, log, limit, random):
        super().__init__(daemon=True)
        self.family, self.guard, self.log, self.limit, self.random = family, guard, log, limit, random
        self.stops = []  # all that were made
        self.due = {}  # {pidfd: (when to continue, process)} of what is stopped now
        self.ending, self.problem = threading.Event(), None

    def __enter__(self):
        if self.limit:
            self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        if self.limit:
            self.join()

    def run(self):
        try:
            self.disturb()
        except Exception as problem:  # noqa: BLE001 - the main thread raises it again
            self.problem = problem
        finally:
            self.resume_until(float("inf"))

    def disturb(self):
        next_stop = time.monotonic() + self.random.uniform(0, PAUSE)
        while not self.ending.wait(max(0, self.next_event(next_stop) - time.monotonic())):
            self.resume_until(time.monotonic())
            if time.monotonic() >= next_stop:
                stopped = self.stop_one()
                next_stop = time.monotonic() + (self.random.uniform(0, PAUSE) if stopped else LOOK)

    def next_event(self, next_stop):
        return min(itertools.chain([next_stop], (when for when, _ in self.due.values())))

    def choose(self):
        """A program first and then one of its processes: fifty members would hide the one server. One process always runs
        on: when all rest, only time passes."""
        awake = [process for process in self.family.living() if process.state in AWAKE]
        if len(awake) < 2:
            return None
        name = self.random.choice(sorted({process.name for process in awake}))
        return self.random.choice([process for process in awake if process.name == name])

    def stop_one(self):
        """Returns whether there was one to stop."""
        process = self.choose()
        fd = process.open() if process else None
        if fd is not None:
            self.stop(process, fd, self.random.uniform(0, self.limit))
        return fd is not None

    def stop(self, process, fd, seconds):
        """Takes over the pidfd."""
        self.guard.hold(fd)
        self.due[fd] = time.monotonic() + seconds, process
        made = Stop(process, process.command(), self.log.now(), seconds)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(fd, signal.SIGSTOP)
        self.log.write(made)
        self.stops.append(made)

    def resume_until(self, now):
        """Continues each process whose time has come by `now`."""
        for fd, (when, process) in list(self.due.items()):
            if when <= now:
                self.resume(fd, process)

    def resume(self, fd, process):
        """If the test stopped the process too, meanwhile, it stays stopped."""
        if not process.has_second_stop():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGCONT)
        self.guard.release(fd)
        del self.due[fd]
        os.close(fd)
