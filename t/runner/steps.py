"""The steps of a run, as a table, in two lanes that go on beside each other: what waits (tests on clusters) runs beside what
computes (compilers, unit tests, fuzzing).

    main         programs ─▶ cluster ─▶ end-to-end
    background   lint ─▶ unit ─▶ build ─▶ unit-long ─▶ unit-threads ─▶ fuzz
"""

import dataclasses
import json
import os
import pathlib

from sanitizers import build_options

from runner import endtoend, process

TIME_LIMIT_FACTOR = (
    5  # of a unit test's own time limit, which is there against hanging: the machine has other work, too
)


@dataclasses.dataclass
class About:
    """What is run, and where."""

    root: pathlib.Path  # of the checkout
    build: pathlib.Path  # where logs and results go
    soak: bool = False  # the long forms
    check: bool = False  # the short selection of `make check`
    tests: tuple = ()  # only these end-to-end tests: files, folders, names

    @property
    def test_timeout(self):
        return 3600 if self.soak else 600


@dataclasses.dataclass
class Outcome:
    """What came of a step."""

    passed: int = 0
    skipped: int = 0
    failures: list = dataclasses.field(default_factory=list)  # what failed, a line each
    cpu: float = 0.0  # seconds
    seconds: dict = dataclasses.field(default_factory=dict)  # by name of a unit test
    results: list = dataclasses.field(default_factory=list)  # of the end-to-end tests

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures
        self.cpu += other.cpu


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    lane: str
    act: object  # called with About and the path of the step's log; returns an Outcome
    needs: tuple = ()  # steps that must have succeeded
    in_check: bool = True


# ---- ways to act


def commands(*lines):
    """Commands that must all succeed, and count as one test."""

    def act(about, log):
        outcome = Outcome(passed=1)
        for line in lines:
            done = process.run(line, log, about.root)
            outcome.cpu += done.cpu
            if done.status != 0:
                return Outcome(failures=[f"{' '.join(line)}: exit status {done.status}"], cpu=outcome.cpu)
        return outcome

    return act


class Sanitized:
    """A build directory of sanitized programs. `setup` is the command that makes it, where there is none."""

    def __init__(self, path, names, *arguments):
        self.path = path
        options = build_options(names, *arguments)
        self.setup = ("sh", "-c", 'test -f "$1/build.ninja" || exec meson setup "$@"', "setup", path, *options)


class Release:
    """The build directory of `make build`."""

    path = "build/release"
    setup = ("make", "--no-print-directory", "build")


def unit_tests(built, *options):
    """Meson's tests of a build directory, which builds their programs first; each counts."""

    def act(about, log):
        records = about.root / built.path / "meson-logs/testlog.json"
        records.unlink(missing_ok=True)
        factor = TIME_LIMIT_FACTOR * (5 if about.soak else 1)
        line = ["meson", "test", "-C", built.path, "--print-errorlogs", "--num-processes", str(os.cpu_count())]
        programs = ("ninja", "-C", built.path, "--quiet")  # some tests start them
        made = commands(built.setup, programs, [*line, "--timeout-multiplier", str(factor), *options])(about, log)
        if not records.exists():
            return made
        outcome = counted(built.path, [json.loads(text) for text in records.read_text().splitlines()])
        outcome.failures = outcome.failures or made.failures
        outcome.cpu = made.cpu
        return outcome

    return act


def counted(directory, tests):
    """What Meson's records of unit tests come to."""
    outcome = Outcome()
    for test in tests:
        name = test["name"].split(" / ")[-1]
        outcome.seconds[name] = test["duration"]
        outcome.passed += test["result"] == "OK"
        outcome.skipped += test["result"] == "SKIP"
        if test["result"] not in ("OK", "SKIP"):
            outcome.failures.append(f"{name}: {test['result']}; to repeat: meson test -C {directory} {name}")
    return outcome


def end_to_end(about, log):
    done, results = endtoend.first_time(about, log)
    if results is None:
        return Outcome(failures=[f"pytest: exit status {done.status}"], cpu=done.cpu)
    results = endtoend.judged(results, endtoend.may_skip(about.root / "doc/testing.md"))
    outcome = Outcome(cpu=done.cpu, results=results)
    outcome.passed, outcome.skipped = (len(endtoend.names(results, what)) for what in ("passed", "skipped"))
    outcome.failures = endtoend.names(results, "failed")
    return outcome


# ---- the table

ASAN = Sanitized("build/asan", "address,undefined")
THREADS = Sanitized("build/tsan", "thread", "-DG_DISABLE_CHECKS")
IMAGES = ("env", "PYTHONPATH=t", "/usr/bin/python3", "-m", "kube.images", "builder", "python", "paddle")
MAIN, BACKGROUND = "main", "background"
STEPS = [
    Step(
        "programs",
        MAIN,
        commands(
            ASAN.setup,
            ("ninja", "-C", ASAN.path, "--quiet"),
            ("t/link-programs", ASAN.path, f"{ASAN.path}/bin"),
        ),
    ),
    Step("cluster", MAIN, commands(("t/kube/build",), IMAGES), in_check=False),
    Step("end-to-end", MAIN, end_to_end, needs=("programs", "cluster")),
    Step("lint", BACKGROUND, commands(("t/lint",))),
    Step("unit", BACKGROUND, unit_tests(ASAN), needs=("programs",)),
    Step("build", BACKGROUND, commands(Release.setup), in_check=False),
    Step("unit-long", BACKGROUND, unit_tests(Release, "--suite", "long"), in_check=False),
    Step("unit-threads", BACKGROUND, unit_tests(THREADS, "--suite", "threads"), in_check=False),
    Step("fuzz", BACKGROUND, commands(("fuzz/run",))),
]


def chosen(about):
    """The steps of a run."""
    wanted = [step for step in STEPS if step.in_check or not about.check]
    return [step for step in wanted if step.lane == MAIN] if about.tests else wanted
