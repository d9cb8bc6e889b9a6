"""Members that ask for no CPU, on a cluster that is nearly as small as what runs there anyhow."""

import os

import pytest
from conftest import wait_for

from kube.cluster import Cluster
from kube.fixtures import Namespace, has_condition
from kube.images import BASE
from kube.test_runtime import connect, pods, wait_usable


@pytest.fixture
def small():
    """Two nodes of one core, of which the cluster's own pods take a tenth."""
    cluster = Cluster.launch("small", os.getpid(), kwok=True)
    made = Namespace(cluster, "jobs")
    accounts = "/api/v1/namespaces/kube-system/serviceaccounts?fieldSelector=metadata.name%3Ddefault"
    wait_for(lambda: cluster.api.get(accounts)["items"], what="the account of pods there")
    for node in cluster.add_fake_nodes(2, cpu="1", memory="4Gi"):
        container = {"name": "c", "image": BASE, "resources": {"requests": {"cpu": "100m"}}}
        pod = {"metadata": {"name": f"proxy-{node}"}, "spec": {"nodeName": node, "containers": [container]}}
        cluster.api.create("/api/v1/namespaces/kube-system/pods", pod)
    wait_for(
        lambda: all(has_condition(node, "Ready") for node in cluster.api.get("/api/v1/nodes")["items"]),
        what="its nodes",
    )
    yield made
    cluster.stop()


def test_all_of_them_fit(server, small):
    """Of two cores each of five members would get 400m, and only two of them would fit beside the 100m of a node."""
    connect(server, small)
    wait_usable(server, count=2)
    roles = [{"name": "pserver", "replicas": 2}, {"name": "trainer", "replicas": 3}]
    job = server.submit(["true"], queue="qq", image=BASE, roles=roles)["id"]
    server.wait(job, "running")
    asked = [pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in pods(small)]
    assert asked == ["300m"] * 5
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"
