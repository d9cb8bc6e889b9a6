"""What somebody takes away underneath the server: things that all jobs of a namespace share, the namespace itself."""

import json

import pytest
from conftest import wait_for

from kube.cluster import ApiError
from kube.images import BASE
from kube.test_forms import SERVE, job_of
from kube.test_namespaces import JOBS, MAKE, queue
from kube.test_namespaces import connect as connect_with
from kube.test_runtime import connect, joined, pods  # noqa: F401


def test_the_gate(joined):  # noqa: F811
    """Jobs of several members need it, and find it made by those before them."""
    server, kube = joined
    first = job_of(server, SERVE, "true", 1, 1)
    assert server.wait(first["id"])["state"] == "succeeded"
    kube.kubectl("delete", "configmaps", "--all")
    second = job_of(server, SERVE, "true", 1, 1)
    done = server.wait(second["id"], timeout=300)  # the kubelet looks for it after 2 min at most
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]


@pytest.mark.parametrize("how", ["delete", "evict"])
def test_a_pod(joined, how):  # noqa: F811
    """A kubelet tells how its program ended before the pod goes: it was ended, and is lost all the same."""
    server, kube = joined
    script = "trap 'exit 3' TERM; case $(uname -n) in *-2-worker-0) exit 0;; esac; while :; do sleep 0.1; done"
    job = server.submit(["sh", "-c", script], queue="qq", image=BASE)["id"]
    server.wait(job, "running")
    (name,) = [pod["metadata"]["name"] for pod in pods(kube)]
    if how == "delete":
        kube.kubectl("delete", "pod", name, "--wait=false")
    else:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        kube.api.create(kube.path("pods", name) + "/eviction", body)
    done = server.wait(job)
    assert (done["state"], done["attempt"]) == ("succeeded", 2), done["reason"]


@pytest.fixture
def other(kube_fake):
    """The name of a namespace that jobs make."""
    name = kube_fake.name + "-x"
    yield name
    try:
        kube_fake.api.delete("/api/v1/namespaces/" + name)
    except ApiError as problem:
        assert problem.status in (404, 409)


def test_the_namespace(server, kube_fake, other):
    """What ran there is lost and tried again: it waits while the namespace goes, says so, and runs in one that is made anew."""
    connect_with(server, kube_fake, JOBS + MAKE)
    queue(server, "qq", "--namespace", other)
    roles = [{"name": "pserver", "replicas": 1}, {"name": "trainer", "replicas": 1}]
    job = server.submit(["true"], queue="qq", image=BASE, roles=roles, annotations={"test/succeed-after": "90s"})["id"]
    server.wait(job, "running")
    # a finalizer keeps the namespace from going before the second attempt has met it
    held = {"metadata": {"name": "held", "finalizers": ["test.local/hold"]}}
    kube_fake.api.create(f"/api/v1/namespaces/{other}/configmaps", held)
    kube_fake.api.delete("/api/v1/namespaces/" + other)
    wait_for(lambda: "is being terminated" in json.dumps(server.job(job)["reasons"]), what="the word on the namespace")
    assert server.job(job)["attempt"] == 2
    kube_fake.api.patch(f"/api/v1/namespaces/{other}/configmaps/held", {"metadata": {"finalizers": None}})
    done = server.wait(job, "running", timeout=240)
    assert done["attempt"] == 2
    names = [item["metadata"]["name"] for item in kube_fake.api.get(f"/api/v1/namespaces/{other}/configmaps")["items"]]
    assert [name for name in names if name.startswith("paddle-gate-")], names
