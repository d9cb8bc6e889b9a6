"""usage: t/run [--check] [--save-durations] [TEST...]

Runs all tests and ends in one line: "N passed, N failed, N skipped". The exit status is 0 if none failed.

  --check           the short selection for someone who changes something: no clusters, no ThreadSanitizer, no release build
  --save-durations  write t/durations.json, the order in which end-to-end tests are handed out, from this run
  TEST...           only these end-to-end tests (files, folders, node ids), and what they need; with --check without the
                    programs of clusters

PADDLE_SOAK=1 runs the long forms. PADDLE_TEST_WORKERS=N sets how many end-to-end tests run at the same time.
"""

import argparse
import fcntl
import json
import os
import pathlib
import sys
import threading
import time

from sanitizers import ENVIRONMENT
from soak import is_soak

from runner import endtoend, process, steps, times
from runner.cores import Cores
from runner.plugin import DURATIONS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TAIL = 60  # lines of a failed step's output that are shown
LONG = 2.0  # seconds; tests below that are not worth a line in t/durations.json
CCACHE = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}  # objects are found again from another checkout, too


def check(table):
    """Stops a run whose table would lose the outcome of a step, or let lanes wait for each other forever."""
    for index, step in enumerate(table):
        earlier = {other.name for other in table[:index]}
        assert step.name not in earlier, f"two steps have the name '{step.name}'"
        left_out = {other.name for other in steps.STEPS} - {other.name for other in table}
        wrong = set(step.needs) - earlier - left_out
        assert not wrong, f"step '{step.name}' needs {wrong}: not the name of an earlier step"


class Run:
    """One run: the lanes, what their steps came to, and when."""

    def __init__(self, about, chosen):
        self.about, self.steps, self.cores, self.start = about, chosen, Cores(), time.time()
        self.ended = {step.name: threading.Event() for step in self.steps}
        self.outcomes, self.records = {}, []
        self.say, self.ending = threading.Lock(), threading.Event()
        check(chosen)

    def all_steps(self):
        lanes = dict.fromkeys(step.lane for step in self.steps)
        threads = [threading.Thread(target=self.lane, args=(name,)) for name in lanes]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            print("\ninterrupted: what runs is ended, which takes some seconds", flush=True)
            self.ending.set()
            process.end_all()
            for thread in threads:
                thread.join()
            raise

    def lane(self, name):
        """All its steps have ended then, whatever happens: the other lane may wait for one."""
        for step in self.steps:
            if step.lane != name:
                continue
            self.outcomes[step.name] = steps.Outcome(failures=[f"{step.name}: not run"])
            try:
                if not self.ending.is_set():
                    self.outcomes[step.name] = self.step(step)
            except Exception as problem:  # noqa: BLE001 - the other lane goes on, and the run fails in the end
                self.outcomes[step.name] = steps.Outcome(failures=[f"{step.name}: {problem!r}"])
            finally:
                self.ended[step.name].set()

    def step(self, step):
        for name in step.needs:
            if name in self.ended:
                self.ended[name].wait()
                if self.outcomes[name].all_failures():
                    return steps.Outcome(failures=[f"{step.name}: not run, because {name} failed"])
        log = self.log(step.name)
        start = time.time()
        outcome = step.act(self.about, log)
        if not outcome.passed + outcome.skipped + len(outcome.all_failures()):
            outcome.failures.append(f"{step.name}: it ran nothing")
        self.record(step, step.name, start, outcome, log)
        return outcome

    def log(self, name):
        path = self.about.build / "test-log" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return path

    def record(self, step, name, start, outcome, log):
        end = time.time()
        wall, busy = round(end - start, 1), self.cores.busy(start, end)
        row = {"name": name, "lane": step.lane, "start": start, "end": end, "wall": wall, "cpu": round(outcome.cpu, 1)}
        self.records.append({**row, "busy": busy})
        counts = f"{outcome.passed} passed, {len(outcome.all_failures())} failed, {outcome.skipped} skipped"
        if outcome.unchanged:
            counts += f", {outcome.unchanged} of them before and unchanged since"
        with self.say:
            print(f"-- {name}: {counts} ({times.clock(wall)})", flush=True)
            if outcome.all_failures() and log.exists() and not step.is_shown:
                print(*log.read_text(errors="replace").splitlines()[-TAIL:], sep="\n", flush=True)
                print(f"-- {name}: the whole output is in {log}", flush=True)

    def failed_tests_again(self):
        """Runs the tests that failed once more, alone. Those that pass now count as passed, and are returned."""
        failed = sum(len(outcome.failed) for outcome in self.outcomes.values())
        if failed > endtoend.UNSTEADY_MAX:
            print(f"{failed} tests failed; above {endtoend.UNSTEADY_MAX} none is tried again")
            return []
        unclear = [step for step in self.steps if step.again and self.outcomes[step.name].failed]
        return [name for step in unclear for name in self.again(step)]

    def again(self, step):
        first, name = self.outcomes[step.name], f"{step.name} again"
        log, start = self.log(name.replace(" ", "-")), time.time()
        cpu, unsteady = step.again(self.about, list(first.failed), log)
        for test in unsteady:
            del first.failed[test]
        first.passed += len(unsteady)
        self.record(step, name, start, steps.Outcome(len(unsteady), failed=first.failed, cpu=cpu), log)
        return unsteady


def report(run, unsteady):
    """Says how the run went and writes it down; the exit status."""
    total = steps.Outcome()
    for outcome in run.outcomes.values():
        total.add(outcome)
    results = run.outcomes.get("end-to-end", steps.Outcome()).results
    about = times.summary(run.records, results, run.start, time.time(), run.cores)
    try:
        times.write(run.about.build / "times.json", about)
        (run.about.build / "unsteady.txt").write_text("".join(name + "\n" for name in unsteady))
    except OSError as problem:
        total.failures.append(f"what came of the run could not be written: {problem}")
    print(*times.table(about), sep="\n")
    for name in unsteady:
        print(f"unsteady: {name}")
    for failure in total.failures:
        print(f"failed: {failure}")
    print(f"{total.passed} passed, {len(total.failures)} failed, {total.skipped} skipped")
    return 0 if total.passed and not total.failures else 1


def only_run(build):
    """A file that is locked for as long as it is open; None if another run has it."""
    build.mkdir(exist_ok=True)
    lock = open(build / "run.lock", "w")  # noqa: SIM115 - the caller holds it
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def save_durations(run):
    seconds = {r.name: round(r.seconds) for r in run.outcomes["end-to-end"].results if r.seconds >= LONG}
    DURATIONS.write_text(json.dumps(dict(sorted(seconds.items())), indent=0) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save-durations", action="store_true")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    part = [*options.tests, *(["--check"] if options.check else [])]
    if options.save_durations and part:
        parser.error("--save-durations takes the durations of all tests: leave out " + " ".join(part))
    about = steps.About(
        root=ROOT,
        build=ROOT / "build",
        soak=is_soak(os.environ),
        check=options.check,
        tests=tuple(options.tests),
    )
    os.environ.update({**ENVIRONMENT, **CCACHE})
    alone = only_run(about.build)
    if not alone:
        print("t/run: another run goes on in this checkout: both would write to build/", file=sys.stderr)
        return 1
    run = Run(about, steps.chosen(about))
    try:
        run.all_steps()
        unsteady = run.failed_tests_again()
    except KeyboardInterrupt:
        return 130
    status = report(run, unsteady)
    if options.save_durations and status == 0:
        save_durations(run)
    return status


if __name__ == "__main__":
    sys.exit(main())
