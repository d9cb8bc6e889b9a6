"""Runs one command of a step. Its output goes to a file, and the CPU time of everything it started is counted."""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None, use_errno=True)
GRACE = 60  # seconds for what a command leaves to end by itself: the end of a cluster whose owner died takes longest
POLL = 0.1  # seconds between two looks at a command's output
RUNNING, LOCK = set(), threading.Lock()  # the reapers of commands that run now


class Done:
    """An ended command: exit status, seconds of CPU time (user and system, with all it started)."""

    def __init__(self, status, cpu):
        self.status, self.cpu = status, cpu


def run(command, log, cwd, env=None, echo=False):
    """Runs `command`; standard output and error are appended to the file `log`, and with `echo` shown, too. Nothing that it
    started is left afterwards."""
    with open(log, "ab") as out, open(log, "rb") as shown:
        shown.seek(0, os.SEEK_END)
        reaper = subprocess.Popen(
            [sys.executable, __file__, str(GRACE), *map(str, command)],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        with LOCK:
            RUNNING.add(reaper)
        try:
            status, usage = follow(reaper.pid, shown if echo else None)
            reaper.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            reaper.terminate()
            reaper.wait()
            raise
        finally:
            with LOCK:
                RUNNING.discard(reaper)
    return Done(reaper.returncode, usage.ru_utime + usage.ru_stime)


def end_all():
    """Asks all commands that run to end, as Ctrl-C would: tests take down what they made."""
    with LOCK:
        for reaper in RUNNING:
            reaper.terminate()


def follow(pid, shown):
    """Waits for the process and copies what appears in the file `shown`; its status and resource usage."""
    ended = False
    while not ended:
        ended, status, usage = os.wait4(pid, os.WNOHANG if shown else 0)
        if shown:
            sys.stdout.write(shown.read().decode(errors="replace"))
            sys.stdout.flush()
            if not ended:
                time.sleep(POLL)
    return status, usage


# ---- the reaper: what loses its parent (agents, servers) becomes its child, so that its CPU time is counted, too, and it ends


def children():
    """Their ids and command lines."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1] == str(os.getpid()):
                    yield (
                        int(entry.name),
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"),
                    )


def has_children():
    """Whether any is left after those that have ended were waited for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def end_rest(grace):
    """Children of what is killed become children of this process, until none is left."""
    limit = time.monotonic() + grace
    while has_children():
        for pid, command in children() if time.monotonic() > limit else ():
            print(f"left behind and killed: {command}({pid})", flush=True)
            os.kill(pid, signal.SIGKILL)
        time.sleep(POLL)


def main():
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # in the child: a shell ignores it for what it starts in the background
    child = subprocess.Popen(sys.argv[2:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # here
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGINT))  # the group is the command's own
    status = None
    while status is None:
        pid, ended = os.wait()
        if pid == child.pid:
            status = os.waitstatus_to_exitcode(ended)
    child.returncode = status
    end_rest(float(sys.argv[1]))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
