"""A StatefulSet's controller hears late that the set is being deleted. Until then it makes each pod again that goes. The cluster is
the test's own: its controllers speak to the API server through a proxy. Pods are kwok's."""

import os
import threading

import pytest
from conftest import wait_for

from kube.cluster import Cluster
from kube.fixtures import Namespace
from kube.proxy import Proxy, redirect, slow
from kube.test_connections import ALWAYS, account, connect
from kube.test_forms import check_nothing_is_left, job_of

CONTROLLERS = "kube-controller-manager"
ANYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]


@pytest.fixture
def cluster():
    made = Cluster.launch("slow-controllers", os.getpid(), kwok=True)
    try:
        made.add_fake_nodes(1)
        yield made
    finally:
        made.stop()


@pytest.fixture
def hears(cluster):
    """The controllers are told what happens to StatefulSets while it is set."""
    event = threading.Event()
    event.set()
    with Proxy(cluster) as between:
        between.fault(slow(event), "GET", r"/apps/v1/statefulsets\?.*watch=true", ALWAYS)
        config = cluster.account("controllers", "kube-system", ANYTHING, everywhere=True)
        cluster.kill(CONTROLLERS)
        redirect(config, between.url, cluster.state / "kubeconfig" / CONTROLLERS)
        cluster.start(CONTROLLERS)
        yield event
        event.set()


@pytest.fixture
def proxy(cluster):
    with Proxy(cluster) as made:
        yield made


def made_twice(history):
    names = [name for what, name in history.names() if what == "ADDED"]
    return {name for name in names if names.count(name) > 1}


def running_job(server, kube, proxy):
    connect(server, proxy.kubeconfig(account(kube)))
    job = job_of(server, "sleep 600", "sleep 100", 1, 1)["id"]
    server.wait(job, "running")
    return job


def test_no_pod_goes_before_it_hears(server, cluster, hears, proxy):
    """The server asks again whether it has heard, and then no pod is made twice."""
    kube = Namespace(cluster, "jobs")
    history = kube.history("pods")
    job = running_job(server, kube, proxy)
    hears.clear()
    server.paddle("cancel", job, check=0)
    asked = f"/statefulsets/{job}-1-pserver"
    wait_for(lambda: len(proxy.asked("DELETE", asked)) > 1 or made_twice(history), what="the second look at the set")
    hears.set()
    assert server.wait(job)["state"] == "cancelled"
    check_nothing_is_left(kube)
    assert not made_twice(history)


def test_one_that_does_not_hear_holds_nothing_up(server, cluster, hears, proxy):
    """It is waited for, but not for ever. What it makes again goes as well."""
    kube = Namespace(cluster, "jobs")
    job = running_job(server, kube, proxy)
    hears.clear()
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"
    hears.set()
    check_nothing_is_left(kube)
