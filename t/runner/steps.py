"""The steps of a run, as a table, in two lanes that go on beside each other: what waits (tests on clusters) runs beside what
computes (compilers, unit tests, fuzzing).

    main         programs ─▶ cluster ─▶ end-to-end
    background   lint ─▶ unit ─▶ build ─▶ threads ─▶ unit-threads ─▶ fuzz
"""

import dataclasses
import json
import os
import pathlib

from runner import endtoend, process

ASAN, TSAN = "build/asan", "build/tsan"
# A sanitized program is compiled often: little is optimised, and debug information names functions and lines only.
SANITIZED = ("--buildtype=plain", "-Doptimization=1", "-Db_lundef=false")
THREADED = ("net", "store", "fs", "runtime", "engine")  # rooms with threads
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


def configured(directory, *options):
    """The command that makes a build directory, where there is none."""
    return ("sh", "-c", 'test -f "$1/build.ninja" || exec meson setup "$@"', "setup", directory, *options)


def unit_tests(directory, *options):
    """Meson's tests of a build directory: each counts."""

    def act(about, log):
        records = about.root / directory / "meson-logs/testlog.json"
        records.unlink(missing_ok=True)
        factor = TIME_LIMIT_FACTOR * (5 if about.soak else 1)
        line = ["meson", "test", "-C", directory, "--no-rebuild", "--print-errorlogs"]
        line += ["--num-processes", str(os.cpu_count()), "--timeout-multiplier", str(factor), *options]
        done = process.run(line, log, about.root)
        tests = [json.loads(text) for text in records.read_text().splitlines()] if records.exists() else []
        outcome = Outcome(cpu=done.cpu, seconds={test["name"]: test["duration"] for test in tests})
        for test in tests:
            outcome.passed += test["result"] == "OK"
            outcome.skipped += test["result"] == "SKIP"
            if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
                again = f"meson test -C {directory} '{test['name']}'"
                outcome.failures.append(f"{test['name']} in {directory}: {test['result']}; again: {again}")
        if not outcome.failures and (done.status != 0 or not tests):
            outcome.failures.append(f"the unit tests in {directory}: exit status {done.status}")
        return outcome

    return act


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

MAIN, BACKGROUND = "main", "background"
STEPS = [
    Step(
        "programs",
        MAIN,
        commands(
            configured(ASAN, *SANITIZED, "-Db_sanitize=address,undefined", "-Dc_args=-g1"),
            ("ninja", "-C", ASAN, "--quiet"),
            ("t/link-programs", ASAN, f"{ASAN}/bin"),
        ),
    ),
    Step("cluster", MAIN, commands(("t/kube/build",)), in_check=False),
    Step("end-to-end", MAIN, end_to_end, needs=("programs", "cluster")),
    Step("lint", BACKGROUND, commands(("t/lint",))),
    Step("unit", BACKGROUND, unit_tests(ASAN), needs=("programs",)),
    Step("build", BACKGROUND, commands(("make", "--no-print-directory", "build")), in_check=False),
    Step(
        "threads",
        BACKGROUND,
        commands(
            configured(TSAN, *SANITIZED, "-Db_sanitize=thread", "-Dc_args=-g1 -DG_DISABLE_CHECKS"),
            ("ninja", "-C", TSAN, "--quiet"),
        ),
        in_check=False,
    ),
    Step("unit-threads", BACKGROUND, unit_tests(TSAN), needs=("threads",), in_check=False),
    Step("fuzz", BACKGROUND, commands(("fuzz/run",))),
]


def chosen(about):
    """The steps of a run."""
    wanted = [step for step in STEPS if step.in_check or not about.check]
    return [step for step in wanted if step.lane == MAIN] if about.tests else wanted
