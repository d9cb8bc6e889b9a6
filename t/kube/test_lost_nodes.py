"""Nodes that are not heard of any more, with members of jobs on them. Nodes and pods are kwok's; what becomes of both is the
cluster's own doing (taints, evictions that nobody carries out, StatefulSets that would make their pods again)."""

import collections
import datetime
import json
import threading

import pytest
from conftest import wait_for

from kube.cluster import ApiError, only_on
from kube.images import BASE
from kube.proxy import Proxy, held, late
from kube.test_connections import account, connect
from kube.test_forms import attempts, check_nothing_is_left
from kube.test_runtime import pods, wait_usable

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"


def template(label):
    """What sends pods to nodes of our own, from which they are taken a second after the node was given up, instead of a minute."""
    spec = only_on(label)
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        spec["tolerations"].append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1})
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec}


def origin(**labels):
    """For each role the nodes that it may stand on."""
    members = [{"role": role, "extensionTemplate": template(label)} for role, label in labels.items()]
    return {"paddleflow": {"members": members}}


class Nodes:
    """Of a test's own: no other test's pods come here."""

    def __init__(self, kube):
        self.kube, self.names = kube, []

    def label(self, word):
        return f"{self.kube.name}-{word}"

    def add(self, word):
        number = len(self.names)
        (name,) = self.kube.cluster.add_fake_nodes(
            1, f"{self.kube.name}-{number}", labels={"of": self.label(word)}, taint=True
        )
        self.names.append(name)
        wait_for(lambda: self.lease(name), what="the node's lease")
        return name

    def lease(self, name):
        try:
            return self.kube.api.get(LEASES + name)["spec"].get("holderIdentity")
        except ApiError:
            return None

    def die(self, name):
        """Its lease is held for an hour by somebody who never renews it: kwok keeps off the node, and nobody hears of it. Its pods
        stay when they are to go, as no kubelet ends them."""
        for pod in self.kube.items("pods"):
            if pod["spec"].get("nodeName") == name:
                path = self.kube.path("pods", pod["metadata"]["name"])
                self.kube.api.patch(path, {"metadata": {"annotations": {"test/unheard": "yes"}}})
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": "nobody", "leaseDurationSeconds": 3600, "renewTime": now}
        self.kube.api.patch(LEASES + name, {"spec": spec})

    def remove(self):
        for name in self.names:
            self.kube.api.delete("/api/v1/nodes/" + name)


@pytest.fixture
def nodes(kube_fake):
    made = Nodes(kube_fake)
    yield made
    made.remove()


def check_lost_and_on(server, kube, nodes, job, dead):
    """The attempt is lost by the node's name, and the next one runs elsewhere."""
    wait_for(lambda: server.job(job)["attempt"] == 2, 240, "the next attempt")
    server.wait(job, "running", 120)
    events = json.dumps(server.get(f"/v1/jobs/{job}/events?limit=1000").json)
    assert f"node '{dead}' is not ready: " in events, events
    wait_for(lambda: attempts(kube, job) == {"2"}, what="the end of the first attempt")
    now = [pod for pod in pods(kube) if pod["metadata"]["labels"]["paddle-job-id"] == job]
    assert {pod["spec"]["nodeName"] for pod in now} <= set(nodes.names) - {dead}


def roles(**counts):
    return [{"name": name, "replicas": count, "cpu": "50m"} for name, count in counts.items()]


@pytest.fixture
def proxy(kube_fake):
    with Proxy(kube_fake.cluster) as made:
        yield made


def test_a_node_that_dies(server, kube_fake, nodes, proxy):
    """With it parameter servers of StatefulSets and the one member of another job; trainers are elsewhere. That one server is
    given up is not heard before the attempt ends with the other one; and a job is cancelled while its StatefulSet goes."""
    connect(server, proxy.kubeconfig(account(kube_fake)))
    wait_usable(server)
    dead = nodes.add("a")
    nodes.add("b")
    history = kube_fake.history("pods")
    a, b = nodes.label("a"), nodes.label("b")
    common = {"queue": "qq", "image": BASE, "grace": "5s"}
    servers = {**common, "origin": origin(pserver=a, trainer=b)}
    whole = server.submit(["true"], roles=roles(pserver=2, trainer=2), **servers)["id"]
    other = server.submit(["true"], roles=roles(pserver=1, trainer=1), **servers)["id"]
    single = server.submit(["true"], framework="plain", origin=origin(worker=a), **common)["id"]
    for job in (whole, other, single):
        server.wait(job, "running")
    stood = {pod["spec"]["nodeName"] for pod in pods(kube_fake)}
    assert stood == set(nodes.names)
    cancelled = threading.Event()
    unheard = proxy.fault(held, method="DELETE", path=f"/pods/{whole}-1-pserver-")
    going = proxy.fault(late(cancelled), method="DELETE", path=f"/statefulsets/{other}-1-pserver")
    nodes.add("a")
    nodes.die(dead)
    wait_for(lambda: going["left"] == 0, 240, "the end of a StatefulSet")
    server.paddle("cancel", other, check=0)
    server.wait(other, "stopping")
    cancelled.set()
    assert server.wait(other)["state"] == "cancelled"
    for job in (whole, single):
        check_lost_and_on(server, kube_fake, nodes, job, dead)
    assert unheard["left"] == 0
    made = collections.Counter(pod["name"] for pod in history.made())
    assert [name for name, times in made.items() if times > 1] == []
    for job in (whole, single):
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
    check_nothing_is_left(kube_fake)
