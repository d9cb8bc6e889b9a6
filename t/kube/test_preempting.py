"""Jobs that have to go for others on their cluster: for those of ours, and for pods that we know nothing of
(doc/reference/scheduling.md, "Labels and annotations" and "Handing a job to Volcano")."""

import pytest
from conftest import wait_for

from kube.cluster import only_on
from kube.images import BASE
from kube.test_runtime import RULES, connect, pods

MARK = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}]


def submit(server, queue="qq", cpu="100m", **about):
    role = {"name": "worker", "replicas": 1, "cpu": cpu, "memory": "32Mi"}
    return server.submit(["true"], queue=queue, image=BASE, roles=[role], **about)["id"]


def events(server, job, kind):
    return [event for event in server.get(f"/v1/jobs/{job}/events").json["items"] if event["kind"] == kind]


@pytest.mark.parametrize(("policy", "state"), [("requeue", "running"), ("end", "preempted")])
def test_somebody_marks_a_pod(server, kube_fake, policy, state):
    """The job is preempting, and then what it asked for. Its attempt costs no retry."""
    connect(server, kube_fake)
    job = submit(server, on_preempt=policy)
    server.wait(job, "running")
    (pod,) = pods(kube_fake)
    marks = {"jobStatus": "preempting", "paddleflow/job-status-message": "for the night shift"}
    kube_fake.api.patch(kube_fake.path("pods", pod["metadata"]["name"]), {"metadata": {"annotations": marks}})
    wait_for(lambda: server.job(job)["evictions"] == 1, what="its eviction")
    done = server.wait(job, state)
    assert len(events(server, job, "job.preempting")) == 1 and done["failures"] == 0
    if policy == "end":
        assert "for the night shift" in done["reason"]
        wait_for(lambda: not pods(kube_fake), what="the end of its pod")
    else:
        wait_for(lambda: server.job(job)["attempt"] == 2, what="its next attempt")
        server.wait(job, "running")
        assert server.job(job)["evictions"] == 1


def test_a_job_does_not_mark_itself(server, kube_fake):
    connect(server, kube_fake)
    job = submit(server, annotations={"jobStatus": "preempting", "test/succeed-after": "1s"})
    done = server.wait(job)
    assert (done["state"], done["evictions"]) == ("succeeded", 0)


@pytest.mark.parametrize("may", [True, False], ids=["may mark pods", "may not"])
def test_ours_are_marked(server, kube_fake, may):
    """Who looks at the cluster sees whom a pod has to go for, where the account may say so; it goes anyhow."""
    connect(server, kube_fake, RULES + (MARK if may else []))
    for name, more in (
        ("org", ("--min", "cpu=100m", "--max", "cpu=100m")),
        ("a", ("--parent", "org")),
        ("b", ("--parent", "org", "--min", "cpu=100m")),
    ):
        server.paddle("queue", "create", name, "--cluster", "prod", *more, check=0)
    history = kube_fake.history("pods")
    victim = submit(server, "a", name="victim")
    server.wait(victim, "running")
    (pod,) = pods(kube_fake)
    wants = submit(server, "b", name="wants")
    server.wait(wants, "running")
    told = [
        changed["metadata"]["annotations"]
        for _, changed in history.changes()
        if changed["metadata"]["name"] == pod["metadata"]["name"]
    ]
    marked = [about for about in told if about.get("jobStatus") == "preempting"]
    assert bool(marked) == may
    assert all(wants in about["paddleflow/job-status-message"] for about in marked)
    assert server.job(victim)["state"] == "queued"


def test_the_clusters_scheduler_takes_the_node(server, kube_fake):
    """A pod of others that is of higher priority: ours goes back into its queue, whatever its own retries are."""
    mark = kube_fake.name
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    kube_fake.cluster.add_fake_nodes(1, prefix=mark, labels={"of": mark}, taint=True, cpu="1")
    kube_fake.api.create(classes, {"metadata": {"name": mark}, "value": 1000})
    try:
        connect(server, kube_fake)
        template = {"kind": "Pod", "apiVersion": "v1", "spec": only_on(mark)}
        job = submit(server, cpu="1", origin={"paddleflow": {"extensionTemplate": template}})
        server.wait(job, "running")
        container = {"name": "c", "image": BASE, "resources": {"requests": {"cpu": "1"}}}
        spec = {"containers": [container], "priorityClassName": mark, **only_on(mark)}
        kube_fake.create("pods", {"metadata": {"name": "other"}, "spec": spec})
        kube_fake.wait_phase("other", "Running")
        wait_for(lambda: server.job(job)["evictions"] == 1, what="its eviction")
        (event,) = events(server, job, "job.preempting")
        assert event["data"]["attempt"] == 1
        kube_fake.api.delete(kube_fake.path("pods", "other"))
        wait_for(lambda: server.job(job)["attempt"] >= 2, what="its next attempt")
        server.wait(job, "running")
        server.paddle("cancel", job, check=0)
        server.wait(job)
    finally:
        kube_fake.api.delete("/api/v1/nodes/" + mark + "-0")
        kube_fake.api.delete(f"{classes}/{mark}")
