"""Volcano's groups of attempts that are over: none is left, whatever comes between. Pods are kwok's."""

import pytest
from conftest import wait_for

from kube import proxy
from kube.images import BASE
from kube.test_connections import ALWAYS, connect
from kube.test_runtime import RULES

VOLCANO = "scheduling.volcano.sh/v1beta1"
GROUPS = [
    *RULES,
    {
        "apiGroups": ["scheduling.volcano.sh"],
        "resources": ["queues", "podgroups"],
        "verbs": ["get", "list", "watch", "create", "update", "delete"],
    },
]


def groups(kube):
    return {group["metadata"]["name"]: group for group in kube.items("podgroups", VOLCANO)}


@pytest.fixture
def way(server, kube_fake):
    """What lies between the server and the cluster. The queue has a name of its own: Volcano's are the cluster's."""
    account = kube_fake.cluster.account(f"paddled-{kube_fake.name}", kube_fake.name, GROUPS, everywhere=True)
    with proxy.Proxy(kube_fake.cluster) as one:
        connect(server, one.kubeconfig(account), queue=queue_of(kube_fake), setting={"volcano": True})
        yield one
        one.heal()
        server.paddle("queue", "delete", queue_of(kube_fake))


def queue_of(kube):
    return f"{kube.name[-20:].strip('-')}-q"


def run(server, kube):
    """A job that has begun, and its group."""
    job = server.submit(["true"], queue=queue_of(kube), image=BASE)["id"]
    server.wait(job, "running")
    group = f"j-{job}-1"
    assert list(groups(kube)) == [group]
    return job, group


def cancel(server, job):
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"


def test_a_deletion_that_fails_is_tried_again(server, kube_fake, way):
    job, group = run(server, kube_fake)
    broken = way.fault(proxy.unavailable(), method="DELETE", path=f"/podgroups/{group}")
    cancel(server, job)
    wait_for(lambda: broken["left"] == 0, what="the deletion that fails")
    wait_for(lambda: not groups(kube_fake), what="the group's end")


def test_a_deletion_that_the_server_does_not_live_to_see(server, kube_fake, way):
    """Found by its labels; what somebody owns, as operators' own groups are, is left to its owner."""
    job, group = run(server, kube_fake)
    owner = kube_fake.get("configmaps", "kube-root-ca.crt")
    owned = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    labels = groups(kube_fake)[group]["metadata"]["labels"]
    theirs = {
        "apiVersion": VOLCANO,
        "kind": "PodGroup",
        "metadata": {"name": "theirs", "labels": labels, "ownerReferences": [owned]},
        "spec": {"minMember": 1},
    }
    kube_fake.create("podgroups", theirs, VOLCANO)
    way.fault(proxy.unavailable(), method="DELETE", path="/podgroups/", times=ALWAYS)
    cancel(server, job)
    wait_for(lambda: way.asked("DELETE", f"/podgroups/{group}"), what="the deletion that fails")
    server.kill()
    way.heal()
    server.start()
    wait_for(lambda: list(groups(kube_fake)) == ["theirs"], 120, "the group's end")
