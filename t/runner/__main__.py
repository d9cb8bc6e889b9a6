"""usage: t/run [--check] [--save-durations] [TEST...]

Runs all tests and ends in one line: "N passed, N failed, N skipped". The exit status is 0 if none failed.

  --check           the short selection for someone who changes something: no clusters, no ThreadSanitizer
  --save-durations  write t/durations.json, the order in which end-to-end tests are handed out, from this run
  TEST...           only these end-to-end tests (files, folders, node ids), and what they need

PADDLE_SOAK=1 runs the long forms. PADDLE_TEST_WORKERS=N sets how many end-to-end tests run at the same time.
"""

import argparse
import json
import os
import pathlib
import sys
import threading
import time

from sanitizers import ENVIRONMENT

from runner import endtoend, steps, times
from runner.cores import Cores
from runner.plugin import DURATIONS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TAIL = 60  # lines of a failed step's output that are shown
LONG = 2.0  # seconds; tests below that are not worth a line in t/durations.json
CCACHE = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}  # objects are found again from another checkout, too


class Run:
    """One run: the lanes, what their steps came to, and when."""

    def __init__(self, about, chosen):
        self.about, self.steps, self.cores, self.start = about, chosen, Cores(), time.time()
        self.ended = {step.name: threading.Event() for step in self.steps}
        self.outcomes, self.records = {}, []
        self.say = threading.Lock()

    def all_steps(self):
        lanes = dict.fromkeys(step.lane for step in self.steps)
        threads = [threading.Thread(target=self.lane, args=(name,)) for name in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def lane(self, name):
        for step in self.steps:
            if step.lane == name:
                self.outcomes[step.name] = self.step(step)
                self.ended[step.name].set()

    def step(self, step):
        for name in step.needs:
            if name in self.ended:
                self.ended[name].wait()
                if self.outcomes[name].failures:
                    return steps.Outcome(failures=[f"{step.name}: not run, because {name} failed"])
        log = self.log(step.name)
        start = time.time()
        try:
            outcome = step.act(self.about, log)
        except Exception as problem:  # noqa: BLE001 - the other lane goes on, and the run fails in the end
            outcome = steps.Outcome(failures=[f"{step.name}: {problem!r}"])
        self.record(step.name, step.lane, start, outcome, log)
        return outcome

    def log(self, name):
        path = self.about.build / "test-log" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return path

    def record(self, name, lane, start, outcome, log):
        end = time.time()
        wall, busy = round(end - start, 1), self.cores.busy(start, end)
        row = {"name": name, "lane": lane, "start": start, "end": end, "wall": wall, "cpu": round(outcome.cpu, 1)}
        self.records.append({**row, "busy": busy})
        counts = f"{outcome.passed} passed, {len(outcome.failures)} failed, {outcome.skipped} skipped"
        with self.say:
            print(f"-- {name}: {counts} ({times.clock(wall)})", flush=True)
            if outcome.failures and log.exists():
                print(*log.read_text(errors="replace").splitlines()[-TAIL:], sep="\n", flush=True)
                print(f"-- {name}: the whole output is in {log}", flush=True)

    def failed_tests_again(self):
        """Runs the end-to-end tests that failed once more, alone. Those that pass now count as passed, and are returned."""
        first = self.outcomes.get("end-to-end", steps.Outcome())
        if not first.results or not first.failures:
            return []
        if len(first.failures) > endtoend.UNSTEADY_MAX:
            print(f"{len(first.failures)} end-to-end tests failed; above {endtoend.UNSTEADY_MAX} none is tried again")
            return []
        log, start = self.log("again"), time.time()
        done, results = endtoend.once_more(self.about, first.failures, log)
        passed = endtoend.names(results or [], "passed")
        unsteady = [name for name in first.failures if name in passed]
        first.failures = [name for name in first.failures if name not in passed]
        first.passed += len(unsteady)
        self.record("again", "main", start, steps.Outcome(len(unsteady), failures=first.failures, cpu=done.cpu), log)
        return unsteady


def report(run, unsteady):
    """Says how the run went and writes it down; the exit status."""
    total = steps.Outcome()
    for outcome in run.outcomes.values():
        total.add(outcome)
    results = run.outcomes.get("end-to-end", steps.Outcome()).results
    about = times.summary(run.records, results, run.start, time.time(), run.cores)
    times.write(run.about.build / "times.json", about)
    print(*times.table(about), sep="\n")
    for name in unsteady:
        print(f"unsteady: {name}")
    (run.about.build / "unsteady.txt").write_text("".join(name + "\n" for name in unsteady))
    for failure in total.failures:
        print(f"failed: {failure}")
    print(f"{total.passed} passed, {len(total.failures)} failed, {total.skipped} skipped")
    return 0 if total.passed and not total.failures else 1


def save_durations(run):
    seconds = {r.name: round(r.seconds) for r in run.outcomes["end-to-end"].results if r.seconds >= LONG}
    DURATIONS.write_text(json.dumps(dict(sorted(seconds.items())), indent=0) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save-durations", action="store_true")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    about = steps.About(
        root=ROOT,
        build=ROOT / "build",
        soak=os.environ.get("PADDLE_SOAK") == "1",
        check=options.check,
        tests=tuple(options.tests),
    )
    os.environ.update({**ENVIRONMENT, **CCACHE})
    run = Run(about, steps.chosen(about))
    run.all_steps()
    status = report(run, run.failed_tests_again())
    if options.save_durations:
        save_durations(run)
    return status


if __name__ == "__main__":
    sys.exit(main())
