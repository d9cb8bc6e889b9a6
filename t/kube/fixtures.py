"""Fixtures of the test cluster: `kube` (tier a), `kube_fake` (tier b), `kube_node` (tier c); each is a namespace of the test's own.

A tier is started when the first test of a run asks for it, and is shared by all workers of pytest-xdist.  It belongs to the
process that all of them come from, which stops it at its end; if that is killed, the cluster's supervisor sees it.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import socket
import threading

import pytest
from folders import own_folder

from kube.cluster import TIERS, ApiError, Cluster
from kube.images import BASE
from kube.node import wait_for

FOLDER, OWNER = "PADDLE_TEST_KUBE", "PADDLE_TEST_KUBE_OWNER"
FAKE_NODES = 4


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER], os.environ[OWNER] = str(own_folder(config, "paddle-tests-")), str(os.getpid())


def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        return
    folder = pathlib.Path(os.environ.pop(FOLDER))
    for tier in TIERS:
        if (folder / tier).is_symlink():
            Cluster((folder / tier).resolve()).stop()


def shared(tier):
    """The run's cluster of a tier.  What did not start once is not tried again."""
    folder = pathlib.Path(os.environ[FOLDER])
    link, failed = folder / tier, folder / f"{tier}.failed"
    with open(folder / f"{tier}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if failed.exists():
            pytest.fail(failed.read_text(), pytrace=False)
        if not link.is_symlink():
            try:
                cluster = Cluster.launch(f"tests-{tier}", owner=int(os.environ[OWNER]), **TIERS[tier])
                if tier == "b":
                    cluster.add_fake_nodes(FAKE_NODES)
            except Exception as problem:
                failed.write_text(str(problem))
                raise
            link.symlink_to(cluster.state)
    return Cluster(link.resolve())


# What makes pods, and pods.
WORKLOADS = [
    ("deployments", "apps/v1"),
    ("statefulsets", "apps/v1"),
    ("replicasets", "apps/v1"),
    ("jobs", "batch/v1"),
    ("pods", "v1"),
]


class Namespace:
    """A namespace of a cluster, and the ways to use it."""

    def __init__(self, cluster, name):
        self.cluster, self.api, self.name, self.histories = cluster, cluster.api, name, []
        self.created = {}  # (kind, version) of what the test created itself
        self.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        wait_for(lambda: self.items("serviceaccounts"), "the namespace's default service account")

    def path(self, kind, name=None, version="v1"):
        """The path of a kind ("pods") or of one object; `version` as in apiVersion."""
        base = "/api/v1" if version == "v1" else f"/apis/{version}"
        return f"{base}/namespaces/{self.name}/{kind}" + (f"/{name}" if name else "")

    def get(self, kind, name, version="v1"):
        return self.api.get(self.path(kind, name, version))

    def items(self, kind, version="v1", selector=""):
        return self.api.get(self.path(kind, None, version) + (f"?labelSelector={selector}" if selector else ""))[
            "items"
        ]

    def create(self, kind, body, version="v1"):
        self.created[kind, version] = True
        return self.api.create(self.path(kind, None, version), body)

    def kubectl(self, *arguments, **options):
        return self.cluster.kubectl("-n", self.name, *arguments, **options)

    def apply(self, *objects):
        self.cluster.apply(*objects, namespace=self.name)

    def wait_phase(self, pod, *phases, timeout=120):
        """The pod, when it is in one of the phases."""

        def look():
            found = self.get("pods", pod)
            return found if found.get("status", {}).get("phase") in phases else None

        return wait_for(look, f"pod '{pod}' in phase {' or '.join(phases)}", timeout)

    def history(self, kind):
        """What happens to the objects of a kind from now on."""
        self.histories.append(History(self, kind))
        return self.histories[-1]

    def remove(self):
        """Deletes what takes part in anything; the rest goes with the cluster. To delete a namespace, the cluster asks for
        objects of all kinds there are, which costs more than most tests do."""
        for history in self.histories:
            history.end()
        options = {"gracePeriodSeconds": 1, "propagationPolicy": "Background"}
        for kind, version in [*self.created, *WORKLOADS]:
            with contextlib.suppress(ApiError):  # of a kind that is gone, or has no collection
                self.api.request("DELETE", self.path(kind, None, version), options)


MARKS = {  # the least that the API server takes
    "pods": {"spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": BASE}]}},
    "services": {"spec": {"clusterIP": "None"}},
    "configmaps": {},
}


class History(threading.Thread):
    """What happens to the objects of a kind in a namespace, as the API server tells it at that moment: a minute later it may
    know no more."""

    def __init__(self, kube, kind):
        super().__init__(daemon=True)
        self.kube, self.kind, self.told, self.ending, self.problem = kube, kind, [], False, None
        self.version = kube.api.get(kube.path(kind))["metadata"]["resourceVersion"]
        self.connection = self.open()
        self.start()

    def open(self):
        connection = self.kube.api.connect(timeout=300)  # bookmarks come every minute
        path = f"{self.kube.path(self.kind)}?watch=1&allowWatchBookmarks=1&resourceVersion={self.version}"
        connection.request("GET", path, headers=self.kube.api.headers)
        return connection

    def run(self):
        try:
            while not self.ending:
                self.follow()
                self.connection = self.open()
        except Exception as problem:
            self.problem = problem

    def follow(self):
        with contextlib.closing(self.connection):
            for line in self.connection.getresponse():
                event = json.loads(line)
                assert event["type"] != "ERROR", event
                self.version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self.told.append((event["type"], event["object"]))

    def end(self):
        self.ending = True
        with contextlib.suppress(OSError, AttributeError):
            self.connection.sock.shutdown(socket.SHUT_RDWR)

    def names(self):
        return [(what, thing["metadata"]["name"]) for what, thing in self.told]

    def changes(self):
        """[(ADDED, MODIFIED or DELETED, the object)] so far; of what was done before the call nothing is missing."""
        mark = f"mark-{os.urandom(3).hex()}"
        self.kube.create(self.kind, {"metadata": {"name": mark}, **MARKS[self.kind]})
        self.kube.api.request("DELETE", self.kube.path(self.kind, mark), {"gracePeriodSeconds": 0})
        wait_for(lambda: self.problem or ("DELETED", mark) in self.names(), f"the history of {self.kind}")
        assert not self.problem, self.problem
        return [one for one in self.told if not one[1]["metadata"]["name"].startswith("mark-")]

    def made(self):
        """The metadata of all that was made."""
        return [thing["metadata"] for what, thing in self.changes() if what == "ADDED"]


def end_pod(api, pod, how="succeed"):
    """A pod of kwok's ends now."""
    about = pod["metadata"]
    path = f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}"
    api.patch(path, {"metadata": {"annotations": {f"test/{how}-after": "0s"}}})


@contextlib.contextmanager
def namespace(tier, request):
    name = re.sub("[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    made = Namespace(shared(tier), f"{name}-{os.urandom(3).hex()}")
    yield made
    made.remove()


@pytest.fixture
def kube(request):
    with namespace("a", request) as made:
        yield made


@pytest.fixture
def kube_fake(request):
    with namespace("b", request) as made:
        yield made


@pytest.fixture
def kube_node(request):
    with namespace("c", request) as made:
        yield made


@pytest.fixture
def own_cluster():
    """A namespace of a cluster with a real node that a test may break."""
    cluster = Cluster.launch("own", os.getpid(), node=True)
    try:
        yield Namespace(cluster, "jobs")
    finally:
        cluster.stop()


def has_condition(found, kind):
    """Of an object that may be so new that it has none; `kubectl wait` fails on these."""
    conditions = found.get("status", {}).get("conditions") or []
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def wait_served(cluster, name):
    """Until the API server serves what the CRD of this name defines."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name
    wait_for(lambda: has_condition(cluster.api.get(path), "Established"), f"the CRD '{name}'")
