"""The steps of a run, as a table, in two lanes that go on beside each other: what waits (tests on clusters) runs beside what
computes (compilers, unit tests, fuzzing).

    main         programs ─▶ cluster ─▶ end-to-end
    background   lint ─▶ unit ─▶ build ─▶ unit-long ─▶ unit-threads ─▶ fuzz
"""

import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess

from sanitizers import build_options

from runner import endtoend, passed, process

KILLED = 128  # exit statuses from here on: by a signal
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
    unchanged: int = 0  # of those that passed: not run, because they passed before and nothing of theirs has changed
    failures: list = dataclasses.field(default_factory=list)  # what failed for good, a line each
    failed: dict = dataclasses.field(
        default_factory=dict
    )  # by name what is said of a test that failed, and may run again
    passes: set = dataclasses.field(default_factory=set)  # names of unit tests
    cpu: float = 0.0  # seconds
    results: list = dataclasses.field(default_factory=list)  # of the end-to-end tests

    def all_failures(self):
        return [*self.failures, *self.failed.values()]

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.all_failures()
        self.cpu += other.cpu


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    lane: str
    act: object  # called with About and the path of the step's log; returns an Outcome
    needs: tuple = ()  # steps that must have succeeded
    in_check: bool = True
    is_shown: bool = False  # its output appears on the terminal while it runs
    again: object = None  # called with About, names of tests that failed, and a log; returns CPU seconds and who passed


STOPPED, UNKNOWN, NONE = 2, 4, 5  # pytest's exit statuses
SKIPPED = re.compile(r"^ok \d+ (\S+) # SKIP", re.M)  # a part of a unit test, in the language TAP


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


def meson_tests(built, about, log, *options):
    """Runs Meson's tests of a build directory; what came of them, and of the run."""
    records = about.root / built.path / "meson-logs/testlog.json"
    records.unlink(missing_ok=True)
    factor = TIME_LIMIT_FACTOR * (5 if about.soak else 1)
    line = ["meson", "test", "-C", built.path, "--print-errorlogs", "--timeout-multiplier", str(factor), *options]
    done = process.run(line, log, about.root)
    tests = [json.loads(text) for text in records.read_text().splitlines()] if records.exists() else []
    outcome = counted(built.path, tests, endtoend.may_skip(about.root / "doc/internals/testing.md"))
    outcome.cpu = done.cpu
    explained = 0 < done.status < KILLED and outcome.failed or done.status == 0 and tests
    if not explained:
        outcome.failures.append(f"{' '.join(line)}: exit status {done.status}, after {len(tests)} tests")
    return outcome


def unit_tests(built, *options):
    """Meson's tests of a build directory, which builds their programs first; each counts."""

    def act(about, log):
        programs = ("ninja", "-C", built.path, "--quiet", "programs")  # some tests start them
        made = commands(built.setup, programs)(about, log)
        if made.failures:
            return made
        run = changed_tests if about.check else meson_tests
        outcome = run(built, about, log, "--num-processes", str(os.cpu_count()), *options)
        outcome.cpu += made.cpu
        return outcome

    return act


def changed_tests(built, about, log, *options):
    """As `meson_tests`, of all tests but those that passed before and have not changed since."""
    made = commands(("ninja", "-C", built.path, "--quiet", "meson-test-prereq"))(about, log)
    if made.failures:
        return made
    listed = subprocess.check_output(("meson", "introspect", "--tests", built.path), cwd=about.root)
    marks = passed.marks_of_tests(about.root / built.path, json.loads(listed))
    passed.forget_old()
    changed = [name for name, mark in marks.items() if not mark.exists()]
    outcome = meson_tests(built, about, log, *options, *changed) if changed else Outcome()
    for name in outcome.passes:
        passed.remember(marks[name])
    outcome.unchanged = len(marks) - len(changed)
    outcome.passed += outcome.unchanged
    outcome.cpu += made.cpu
    return outcome


def unit_tests_again(built):
    def again(about, names, log):
        outcome = meson_tests(built, about, log, "--num-processes", "1", *names)
        return outcome.cpu, [name for name in names if name in outcome.passes]

    return again


def counted(directory, tests, may_skip):
    """What Meson's records of unit tests come to. One that skips, in part or wholly, fails unless it is named."""
    outcome = Outcome()
    for test in tests:
        name, result = test["name"].split(" / ")[-1], test["result"]
        if set(SKIPPED.findall(test.get("stdout", ""))) - may_skip:
            result = "SKIP"
        if result == "OK":
            outcome.passes.add(name)
        else:
            outcome.failed[name] = f"{name}: {result}; to repeat: meson test -C {directory} --print-errorlogs {name}"
    outcome.passed = len(outcome.passes)
    return outcome


def why(about, status):
    """What it means that pytest ended with this status and without results."""
    if status == NONE and about.check:
        return "there is no test of such a name, or it is on a cluster, which --check leaves out"
    return "there is no test of such a name" if status in (UNKNOWN, NONE) else f"exit status {status}"


def to_repeat(about, name):
    return " ".join(["t/run", *(["--check"] if about.check else []), shlex.quote(name)])


def end_to_end(about, log):
    done, results = endtoend.first_time(about, log)
    if results is None:
        return Outcome(failures=[f"pytest: {why(about, done.status)}; its output is in {log}"], cpu=done.cpu)
    results = endtoend.judged(results, endtoend.may_skip(about.root / "doc/internals/testing.md"))
    outcome = Outcome(cpu=done.cpu, results=results)
    outcome.passed, outcome.skipped = (len(endtoend.names(results, what)) for what in ("passed", "skipped"))
    failed = endtoend.names(results, "failed")
    outcome.failed = {name: f"{name}; to repeat: {to_repeat(about, name)}" for name in failed}
    not_run = endtoend.names(results, "not run")
    if not_run or done.status == STOPPED:
        example = f", such as {not_run[0]}" if not_run else ""
        outcome.failures.append(f"pytest stopped before all tests had run; {len(not_run)} are left{example}")
    return outcome


def end_to_end_again(about, names, log):
    done, results = endtoend.once_more(about, names, log)
    passed = endtoend.names(results or [], "passed")
    return done.cpu, [name for name in names if name in passed]


def fuzz(about, log):
    return commands(("fuzz/run", *(["--changed"] if about.check else [])))(about, log)


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
            ("ninja", "-C", ASAN.path, "--quiet", "programs", "src/kube/kube-live"),
            ("t/link-programs", ASAN.path, f"{ASAN.path}/bin"),
        ),
    ),
    Step("cluster", MAIN, commands(("t/kube/build",), IMAGES), in_check=False),
    Step("end-to-end", MAIN, end_to_end, needs=("programs", "cluster"), again=end_to_end_again, is_shown=True),
    Step("lint", BACKGROUND, commands(("t/lint",))),
    Step("unit", BACKGROUND, unit_tests(ASAN), needs=("programs",), again=unit_tests_again(ASAN)),
    Step("build", BACKGROUND, commands(Release.setup), in_check=False),
    Step(
        "unit-long",
        BACKGROUND,
        unit_tests(Release, "--suite", "long"),
        in_check=False,
        again=unit_tests_again(Release),
    ),
    Step(
        "unit-threads",
        BACKGROUND,
        unit_tests(THREADS, "--suite", "threads"),
        in_check=False,
        again=unit_tests_again(THREADS),
    ),
    Step("fuzz", BACKGROUND, fuzz),
]


def chosen(about):
    """The steps of a run."""
    wanted = [step for step in STEPS if step.in_check or not about.check]
    return [step for step in wanted if step.lane == MAIN] if about.tests else wanted
