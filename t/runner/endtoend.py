"""The end-to-end tests: pytest over all of them with several workers, and those that failed once more, alone."""

import json
import os
import pathlib
import re
import sys

from runner import process
from runner.plugin import Result

UNSTEADY_MAX = 3  # tests that may fail the first time and pass the second
FAILED_MAX = 10  # then the rest is not tried any more
WORKER_MIB = 2500  # what a worker may need: a cluster of its own, and servers
WORKERS_MAX = 6
HERE = pathlib.Path(__file__).resolve().parent.parent
WITHOUT = ("-p", "no:schemathesis", "-p", "no:hypothesispytest")  # plug-ins that take seconds to load, and are not used
WITH_RESULTS = (0, 1, 2)  # pytest's exit statuses: all passed, some failed, stopped before the end


def workers():
    """As many as the memory bears."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    free_mib = int(re.search(r"^MemAvailable: *(\d+) kB", text, re.M)[1]) // 1024
    return int(os.environ.get("PADDLE_TEST_WORKERS") or max(1, min(WORKERS_MAX, free_mib // WORKER_MIB)))


def read(report, status):
    """The results; None if pytest ended otherwise than it had decided, such as when the end of a cluster fails."""
    told = json.loads(report.read_text())
    return [Result(**row) for row in told["results"]] if told["status"] == status else None


def pytest(about, report, log, *options):
    """Runs pytest; returns how the process ended, and the results (None when it did not come to its end)."""
    report.unlink(missing_ok=True)
    line = [sys.executable, "-m", "pytest", "-p", "runner.plugin", "-q", "--rootdir", ".", *WITHOUT]
    line += ["--timeout", about.test_timeout, *options]
    env = {"PADDLE_TEST_REPORT": str(report), "PYTHONPATH": str(HERE), "PYTHONHASHSEED": "0"}
    done = process.run(line, log, about.root, env, echo=True)
    whole = done.status in WITH_RESULTS and report.exists()
    return done, read(report, done.status) if whole else None


def first_time(about, log):
    options = ["-n", workers(), "--dist", "loadscope", "--no-loadscope-reorder", "--maxfail", FAILED_MAX]
    if about.check:
        options.append("--no-clusters")
    return pytest(about, about.build / "tests.json", log, *options, *(about.tests or ["t"]))


def once_more(about, failed, log):
    """Runs the failed tests alone, one after the other."""
    return pytest(about, about.build / "again.json", log, *sorted(failed))


# ---- what it comes to


def may_skip(document):
    """Names of tests and files that may skip, each with its reason, from the table in doc/internals/testing.md."""
    _, _, table = document.read_text(encoding="utf-8").partition("| test | why it may skip |\n")
    return set(re.findall(r"^\| `([^`]+)` \|", table.partition("\n\n")[0], re.M))


def judged(results, named):
    """The results with every skip that is not named turned into a failure."""
    for result in results:
        file, _, test = result.name.partition("::")
        if result.outcome == "skipped" and not named & {file, test.split("[")[0]}:
            print(f"{result.name} skipped, which doc/internals/testing.md does not allow")
            result.outcome = "failed"
    return results


def names(results, outcome):
    return [result.name for result in results if result.outcome == outcome]
