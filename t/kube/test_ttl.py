"""How long a cluster keeps what is left of an ended job (doc/reference/scheduling.md, "How long objects are kept"). Pods are kwok's."""

import pytest
from conftest import wait_for

from kube.images import BASE
from kube.test_forms import attempts
from kube.test_runtime import connect, pods


@pytest.fixture
def joined(make_server, kube_fake):
    """A server whose times to live are those that it has by itself."""
    server = make_server(start=False)
    server.usual = ("--listen=none",)
    server.start()
    connect(server, kube_fake)
    return server, kube_fake


def submit(server, ttl=None, ends="succeed", members=1, **about):
    """A job whose members end by themselves after a second."""
    annotations = {f"test/{ends}-after": "1s", **({"paddleflow/job-ttl-seconds": str(ttl)} if ttl is not None else {})}
    roles = [{"name": "trainer", "replicas": members, "cpu": "1", "memory": "64Mi"}]
    about = {
        "framework": "paddle-collective",
        "queue": "qq",
        "image": BASE,
        "roles": roles,
        "annotations": annotations,
        **about,
    }
    return server.submit(["true"], **about)["id"]


def left(kube, job):
    """The names of what is left of a job."""
    kinds = (("pods", "v1"), ("services", "v1"), ("configmaps", "v1"), ("jobs", "batch/v1"))
    items = [item for kind, version in kinds for item in kube.items(kind, version, f"paddle-job-id={job}")]
    return sorted(item["metadata"]["name"] for item in items if "deletionTimestamp" not in item["metadata"])


def test_what_ended_stays_and_goes(joined):
    """By the server's own times all stays; a job may say how long; what is kept holds nothing of the queue."""
    server, kube = joined
    server.paddle("queue", "set", "qq", "--max", "cpu=2", check=0)
    stays, fails = submit(server, members=2), submit(server, ends="fail")
    assert (server.wait(stays)["state"], server.wait(fails)["state"]) == ("succeeded", "failed")
    goes, at_once = submit(server, 2, members=2), submit(server, 0, "fail")
    assert (server.wait(goes)["state"], server.wait(at_once)["state"]) == ("succeeded", "failed")
    for job in (goes, at_once):
        wait_for(lambda job=job: not left(kube, job), what="the end of what was kept")
    for job, members, phase in ((stays, 2, "Succeeded"), (fails, 1, "Failed")):
        found = [pod for pod in pods(kube) if pod["metadata"]["labels"]["paddle-job-id"] == job]
        assert [pod["status"]["phase"] for pod in found] == [phase] * members
        assert f"j-{job}-1" in left(kube, job)
    assert len(kube.items("jobs", "batch/v1", f"paddle-job-id={stays}")) == 1


def test_a_kubelet_says_late_that_a_pod_has_ended(make_server, kube_node):
    """Of its container it says so a second before: a pod that ended by itself stays all the same."""
    server = make_server(start=False)
    server.usual = ("--listen=none",)
    connect(server.start(), kube_node)
    job = server.submit(["true"], queue="qq", image=BASE)["id"]
    assert server.wait(job)["state"] == "succeeded"

    def ended():
        return [pod["metadata"] for pod in pods(kube_node) if pod["status"]["phase"] == "Succeeded"]

    wait_for(lambda: ended() or not pods(kube_node), what="the kubelet's word on the pod")
    assert [pod["name"] for pod in ended() if "deletionTimestamp" not in pod], left(kube_node, job)
    assert f"j-{job}-1" in left(kube_node, job)


def test_a_restart_finds_what_is_kept(joined):
    server, kube = joined
    stays, goes = submit(server, members=2), submit(server, 5, members=2)
    for job in (stays, goes):
        assert server.wait(job)["state"] == "succeeded"
    before = left(kube, stays)
    server.kill()
    server.start()
    wait_for(lambda: not left(kube, goes), what="the end of what was kept")
    assert left(kube, stays) == before
    assert [server.job(job)["state"] for job in (stays, goes)] == ["succeeded", "succeeded"]
    after = submit(server, 0)
    assert server.wait(after)["state"] == "succeeded"


def test_an_attempt_that_is_tried_again_leaves_nothing(joined):
    server, kube = joined
    job = submit(server, ends="fail", members=2, retries=1)
    done = server.wait(job)
    assert (done["state"], done["attempt"]) == ("failed", 2)
    wait_for(lambda: f"j-{job}-1" not in left(kube, job), what="the end of the first attempt")
    wait_for(lambda: attempts(kube, job) == {"2"}, what="the end of its pods")


def test_a_cancelled_job_keeps_what_had_ended(joined):
    """What was stopped is deleted: there is no other way to stop it."""
    server, kube = joined
    job = submit(server, annotations={})
    server.wait(job, "running")
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"
    wait_for(lambda: not left(kube, job), what="all objects to go with the job")


@pytest.mark.parametrize(
    ("option", "ttl", "ends", "kept"),
    [
        ("--is-clean-job=false", 0, "succeed", True),
        ("--skip-clean-failed-job", None, "fail", True),
        ("--skip-clean-failed-job", None, "succeed", False),
    ],
)
def test_what_the_server_is_told(make_server, kube_fake, option, ttl, ends, kept):
    server = make_server(option)
    connect(server, kube_fake)
    job, other = submit(server, ttl, ends), submit(server, 0)
    server.wait(job)
    server.wait(other)
    if kept:
        assert [name for name in left(kube_fake, job) if name.startswith("j-")]
        assert [pod for pod in pods(kube_fake) if pod["metadata"]["labels"]["paddle-job-id"] == job]
    else:
        wait_for(lambda: not left(kube_fake, job), what="all objects to go with the job")


def test_a_pod_that_is_pending_too_long(make_server, kube_fake):
    """`pendingJobTTLSeconds`: its job is ended, and says why; one whose container is being made is left alone."""
    server = make_server("--pending-job-ttl-seconds=20")
    connect(server, kube_fake)
    nowhere = {"kind": "Pod", "apiVersion": "v1", "spec": {"nodeSelector": {"there-is": "none"}}}
    made = submit(server, annotations={"test/stuck": "ContainerCreating"})
    waits = submit(server, origin={"paddleflow": {"extensionTemplate": nowhere}})
    done = server.wait(waits)
    assert done["state"] == "cancelled"
    assert "pending for longer than 20s" in done["reason"] and "labels" in done["reason"], done["reason"]
    assert server.job(made)["state"] == "starting"
    wait_for(lambda: not left(kube_fake, waits), what="all objects to go with the job")
