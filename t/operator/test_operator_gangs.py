"""Gangs of PaddleJobs under Volcano's own scheduler: a gang that does not fit waits whole and starts whole, and queues are held to
what they may use."""

import contextlib
import os

import pytest
from conftest import wait_for
from kube.cluster import only_on
from pdj import CRD, GROUP, Job, Operator, install, role

GANG = "scheduling.volcano.sh/v1beta1"
QUEUES = f"/apis/{GANG}/queues"


@pytest.fixture
def gangs(kube_fake):
    """A namespace of tier b with an operator that makes gangs."""
    install(kube_fake.cluster, CRD, "paddlejobs.batch.paddlepaddle.org")
    one = Operator(kube_fake.cluster.kubeconfig, f"--namespace={kube_fake.name}", "--scheduling=volcano")
    try:
        yield kube_fake
        for item in kube_fake.items("paddlejobs", GROUP):
            kube_fake.api.delete(kube_fake.path("paddlejobs", item["metadata"]["name"], GROUP))
        wait_for(lambda: not kube_fake.items("paddlejobs", GROUP), 60, "the end of the jobs")
        assert one.stop() == 0, one.text()
    finally:
        one.kill()


@contextlib.contextmanager
def queue(kube, name, cpu):
    """A queue of Volcano's that may use so many cores."""
    body = {"apiVersion": GANG, "kind": "Queue", "metadata": {"name": name}}
    kube.api.create(QUEUES, {**body, "spec": {"weight": 1, "capability": {"cpu": cpu}}})
    try:
        yield name
    finally:
        kube.kubectl("delete", "pods", "--all", "--wait", "--force", "--grace-period=0")
        kube.kubectl("delete", "podgroups.scheduling.volcano.sh", "--all", "--wait")
        kube.api.delete(f"{QUEUES}/{name}")


def gang(kube, name, servers, workers, cpu="1", queue=None, **spec):
    """A job of pods that want `cpu` cores each; they end well when told to (`end`)."""
    policy = {"schedulingPolicy": {"queue": queue}} if queue else {}
    roles = {kind: role(n, **spec) for kind, n in (("ps", servers), ("worker", workers)) if n}
    for one in roles.values():
        one["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return Job(kube, {**policy, **roles}, name)


def phase(job):
    """Of its PodGroup; None: there is none yet."""
    return job.owned("podgroups", GANG).get(job.name, {}).get("status", {}).get("phase")


def end(job):
    for name in job.pods():
        job.kube.api.patch(job.kube.path("pods", name), {"metadata": {"annotations": {"test/succeed-after": "0s"}}})


def placed(job):
    return sorted(name for name, pod in job.pods().items() if pod["spec"].get("nodeName"))


def said(job, words):
    """Whether Volcano says of the gang that it waits."""
    conditions = job.kube.get("podgroups", job.name, GANG).get("status", {}).get("conditions") or []
    return any(words in (one.get("message") or "") for one in conditions if one["type"] == "Unschedulable")


def test_gang_waits_whole_and_starts_whole(gangs):
    """Three cores for four pods of one core: none of them is placed.  With a second node all are."""
    mark = f"gang-{os.urandom(2).hex()}"
    nodes = gangs.cluster.add_fake_nodes(1, prefix=f"{mark}-a", labels={"of": mark}, taint=True, cpu="3")
    try:
        job = gang(gangs, "j", 1, 3, **only_on(mark))
        job.wait_pods("ps-0", "worker-0", "worker-1", "worker-2")
        wait_for(
            lambda: said(job, "tasks in gang unschedulable"),
            60,
            "the gang's wait",
        )
        assert placed(job) == []
        assert job.wait_phase("Pending")
        nodes += gangs.cluster.add_fake_nodes(1, prefix=f"{mark}-b", labels={"of": mark}, taint=True, cpu="1")
        job.wait_phase("Running")
        assert len(placed(job)) == 4
        assert gangs.get("podgroups", "j", GANG)["spec"]["minMember"] == 4
    finally:
        gangs.kubectl("delete", "pods", "--all", "--wait", "--force", "--grace-period=0")
        for node in nodes:
            gangs.api.delete(f"/api/v1/nodes/{node}")


def test_gang_that_its_queue_never_lets_in(gangs):
    """More than the queue may ever use: no pod is made, until it may."""
    with queue(gangs, f"{gangs.name}-q", "2") as name:
        job = gang(gangs, "j", 1, 2, queue=name)
        wait_for(lambda: phase(job) == "Pending", 60, "the PodGroup")
        other = gang(gangs, "other", 0, 2, queue=name)
        other.wait_phase("Running")
        assert (job.pods(), phase(job)) == ({}, "Pending")
        assert job.wait_phase("Pending")
        end(other)
        other.wait_phase("Completed")
        gangs.api.patch(f"{QUEUES}/{name}", {"spec": {"capability": {"cpu": "3"}}})
        job.wait_phase("Running")
        assert len(placed(job)) == 3


def test_two_queues_and_a_quota_that_is_used_up(gangs):
    """The second job of a full queue waits without pods; the other queue's does not; when the first has ended, the second runs."""
    with queue(gangs, f"{gangs.name}-a", "2") as a, queue(gangs, f"{gangs.name}-b", "2") as b:
        first = gang(gangs, "first", 1, 1, queue=a)
        first.wait_phase("Running")
        second = gang(gangs, "second", 1, 1, queue=a)
        wait_for(lambda: phase(second) == "Pending", 60, "the second PodGroup")
        beside = gang(gangs, "beside", 1, 1, queue=b)
        beside.wait_phase("Running")
        assert (second.pods(), phase(second)) == ({}, "Pending")
        end(first)
        first.wait_phase("Completed")
        wait_for(lambda: not first.owned("podgroups", GANG), 60, "the end of the first PodGroup")
        second.wait_phase("Running")
        assert len(placed(second)) == 2
