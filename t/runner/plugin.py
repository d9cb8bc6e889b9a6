"""The pytest plug-in of the test runner: in which order and grouping tests are handed to workers, and what became of each.

Tests are handed out one by one, longest first (t/durations.json). Those that share a fixture of their file stay together on
one worker. `PADDLE_TEST_REPORT` names the file to which the results are written at the end (`Result`, as JSON).
"""

import collections
import dataclasses
import faulthandler
import json
import os
import pathlib

import pytest
from xdist.scheduler import LoadScopeScheduling

REPORT = os.environ.get("PADDLE_TEST_REPORT")  # the file for the results; without it nothing is changed but the order
DURATIONS = pathlib.Path(__file__).resolve().parent.parent / "durations.json"
SHORT = 1.0  # seconds that a test is expected to take which DURATIONS does not name
CLUSTERS = {"kube", "kube_fake", "kube_node", "own_cluster"}  # fixtures
CLUSTER_FOLDERS = ("t/kube/", "t/operator/")  # all tests there are on clusters


@dataclasses.dataclass
class Result:
    """What became of one test."""

    name: str  # pytest's node id
    outcome: str  # passed, failed, skipped, not run
    start: float  # seconds since 1970
    stop: float
    seconds: float  # set-up and tear-down included


def pytest_addoption(parser):
    parser.addoption("--no-clusters", action="store_true", help="leave out tests that need a Kubernetes cluster")


# ---- order and groups


def shares_a_fixture(item):
    definitions = item._fixtureinfo.name2fixturedefs.values()
    return any(found[-1].scope in ("class", "module") for found in definitions)


def needs_cluster(item):
    return item.nodeid.startswith(CLUSTER_FOLDERS) or not CLUSTERS.isdisjoint(item.fixturenames)


def group_of(item):
    return item.nodeid.split("::")[0] if shares_a_fixture(item) else item.nodeid


def longest_first(items, durations):
    """The items, those of the group that takes longest first; a group keeps its order."""
    total = collections.Counter()
    for item in items:
        total[group_of(item)] += durations.get(item.nodeid, SHORT)
    return sorted(items, key=lambda item: (-total[group_of(item)], group_of(item)))


def pytest_collection_modifyitems(config, items):
    if config.getoption("--no-clusters"):
        left_out = [item for item in items if needs_cluster(item)]
        items[:] = [item for item in items if not needs_cluster(item)]
        config.hook.pytest_deselected(items=left_out)
    items[:] = longest_first(items, json.loads(DURATIONS.read_text()))
    if REPORT and getattr(config, "workerinput", {}).get("workerid") == "gw0":
        groups_file().write_text(json.dumps({item.nodeid: group_of(item) for item in items}))


def groups_file():
    """Where a worker, which alone sees fixtures, tells the groups to the process that hands out the tests."""
    return pathlib.Path(REPORT).with_suffix(".groups.json")


class ByGroup(LoadScopeScheduling):
    """Hands out one group after the other, as they are collected."""

    groups = None

    def _split_scope(self, nodeid):
        if self.groups is None:
            self.groups = json.loads(groups_file().read_text())
        return self.groups[nodeid]

    def remove_node(self, node):
        """Takes back what a worker that died has not run, and returns the test that it died in, which is not run again.
        xdist itself hands out the finished groups as well, and waits for their end forever."""
        groups = self.assigned_work.pop(node)
        left = [(group, name) for group, tests in groups.items() for name, is_done in tests.items() if not is_done]
        for group, name in left[1:]:
            self.workqueue.setdefault(group, {})[name] = False
        for other in self.assigned_work if left else ():
            self._reschedule(other)
        return left[0][1] if left else None

    def schedule(self):
        """Called at the beginning, and for each worker that replaces one that died. A worker begins a test when it knows the
        next one, so it needs a second group, which xdist gives at the beginning only."""
        at_the_beginning = self.collection is None
        super().schedule()
        for node in () if at_the_beginning else self.nodes:
            self._reschedule(node)


def pytest_xdist_make_scheduler(config, log):
    return ByGroup(config, log) if REPORT else None


# ---- time limits


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    """A tear-down gets a time limit of its own, since that of pytest-timeout fires once: a test that hung often hangs in its
    tear-down, too. There is no way on from there: the process ends, and the test has failed."""
    limit = REPORT and item.config.getoption("timeout", None)
    if limit:
        faulthandler.dump_traceback_later(limit, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


# ---- results


class Report:
    """Collects results in the process that hands out the tests, and writes them when all are there. A test has passed when
    its tear-down has: of one that breaks off, no more is heard."""

    def __init__(self, path):
        self.path, self.results, self.ended, self.collected = pathlib.Path(path), {}, set(), []

    def pytest_collection_finish(self, session):
        self.collected = [item.nodeid for item in session.items]  # without workers

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.collected = ids

    def pytest_runtest_logreport(self, report):
        result = self.results.setdefault(report.nodeid, Result(report.nodeid, "passed", report.start, report.stop, 0.0))
        if report.when == "teardown":
            self.ended.add(report.nodeid)
        result.stop = report.stop
        result.seconds += report.duration
        if report.failed and result.outcome != "failed":
            print(f"\nfailed: {report.nodeid}", flush=True)  # now: the rest of the run may take long
        if report.outcome != "passed" and result.outcome != "failed":
            result.outcome = report.outcome

    def pytest_collectreport(self, report):
        if report.failed or report.skipped:
            self.ended.add(report.nodeid)
            self.results[report.nodeid] = Result(report.nodeid, report.outcome, 0.0, 0.0, 0.0)

    def pytest_sessionfinish(self, exitstatus):
        for name in self.results.keys() - self.ended:
            self.results[name].outcome = "failed"
        for name in self.collected:
            self.results.setdefault(name, Result(name, "not run", 0.0, 0.0, 0.0))
        rows = [dataclasses.asdict(result) for result in self.results.values()]
        self.path.write_text(json.dumps({"status": int(exitstatus), "results": rows}))


def pytest_configure(config):
    if REPORT and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(REPORT))
