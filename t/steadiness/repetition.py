"""One run of one test: its command, its log, and whether it passed."""

import dataclasses
import os
import pathlib
import re
import secrets
import select
import subprocess

import sanitizers

from steadiness.family import TAG, Family
from steadiness.guard import Guard
from steadiness.log import Log
from steadiness.stopper import Stopper

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LOGS = TOP / "build/steady"
BEFORE = 5  # seconds before a failure whose stops are reported


@dataclasses.dataclass(frozen=True)
class Kind:
    """How tests of a kind are run, and by which lines of output one sees what passed and what failed.

    Time limits are several times the usual ones: they count the seconds of stops and of the load too."""

    command: tuple
    passed: re.Pattern
    failed: re.Pattern  # its group is the name


PYTEST = Kind(
    (TOP / ".venv/bin/python", "-u", "-m", "pytest", "-v", "-p", "no:cacheprovider", "--timeout", "1800"),
    re.compile(r"\S+::.+ PASSED\b"),
    re.compile(r"(\S+::.+) (?:FAILED|ERROR)\b"),
)
MESON = Kind(
    ("meson", "test", "-C", "build/asan", "--no-rebuild", "--verbose", "--timeout-multiplier", "10"),
    re.compile(r"Ok: +[1-9]"),
    re.compile(r"\S+ \d+/\d+ (/\S+) +FAIL\b"),
)


def kind_of(name):
    return PYTEST if name.startswith("t/") else MESON


@dataclasses.dataclass(frozen=True)
class Outcome:
    passed: bool
    seconds: float
    stops: list
    failures: list  # [(when, name of the test)]
    log: pathlib.Path


def output_of(process):
    """Its lines until it ends. Not until the end of the file: a process that it leaves behind may have the pipe too."""
    ended, rest = os.pidfd_open(process.pid), b""
    try:
        while process.stdout in select.select([process.stdout, ended], [], [])[0]:
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
    finally:
        os.close(ended)
    if rest:
        yield rest.decode(errors="replace")


def start(command, tag):
    return subprocess.Popen(
        command,
        cwd=TOP,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **sanitizers.ENVIRONMENT, TAG: tag},
        start_new_session=True,
    )


def follow(process, kind, log):
    """Writes its output to the log until it ends. Returns whether a test passed, and [(when, name)] of those that failed."""
    passed, failures = False, []
    for line in output_of(process):
        when = log.write(line)
        passed = passed or bool(kind.passed.match(line))
        if failed := kind.failed.match(line):
            failures.append((when, failed[1]))
    return process.wait() == 0 and passed, failures


def repeat(name, path, limit, random):
    """Runs the test once, with stops of up to `limit` seconds. Nothing of the run is left afterwards."""
    kind, tag = kind_of(name), secrets.token_hex(8)
    with Log(path) as log, Guard(tag) as guard:
        process = start((*kind.command, name), tag)
        guard.set_root(process.pid)
        with Stopper(Family(tag), guard, log, limit, random) as stopper:
            passed, failures = follow(process, kind, log)
        if stopper.problem:
            raise stopper.problem
        end = log.now()
    if not passed and not failures:
        failures.append((end, name))
    return Outcome(passed, end, stopper.stops, failures, path)


def report(outcome):
    """Lines that say of each failure what was stopped shortly before."""
    for when, name in outcome.failures:
        yield f"  {name} failed at {when:.2f} s; in the {BEFORE} s before:"
        recent = [one for one in outcome.stops if one.begin <= when <= one.begin + one.seconds + BEFORE]
        yield from (f"    {one.begin:.2f} s: {one}" for one in recent)
        if not recent:
            yield "    nothing was stopped"
