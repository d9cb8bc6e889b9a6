"""Kills with -9 of the server at random moments, over jobs of all forms on a cluster: what was acknowledged ends once and as it should,
no pod is made twice for one member of one attempt, nothing is left. Nodes and pods are kwok's, which end by annotation.

A kill at a random moment needs random waits; they are the only ones here.
"""

import collections
import random
import time

from conftest import FINAL, wait_for
from seeds import SOAK
from test_kills import Client

from kube.images import BASE
from kube.test_forms import check_nothing_is_left
from kube.test_runtime import connect, wait_usable

KILLS = 200 if SOAK else 20


class Kind:
    """A kind of job: roles, how its pods end, and what must come of it."""

    def __init__(self, roles, ends, state="succeeded", attempts=1, weight=1, **spec):
        self.roles, self.ends, self.state, self.attempts = roles, ends, state, attempts
        self.weight, self.spec = weight, spec

    def body(self, key, marks):
        roles = [{"name": name, "replicas": n, "cpu": "10m"} for name, n in self.roles.items()]
        members = [
            {"role": role, "extensionTemplate": {"kind": "Pod", "metadata": {"annotations": {f"test/{how}": "1s"}}}}
            for role, how in self.ends.items()
        ]
        common = {"queue": "qq", "image": BASE, "grace": "2s", "origin": {"paddleflow": {"members": members}}}
        return {"command": ["true"], "name": key, "roles": roles, **common, **self.spec}


KINDS = {
    "job": Kind({"worker": 2}, {"worker": "succeed-after"}, weight=2),
    "set": Kind({"pserver": 1, "trainer": 2}, {"trainer": "succeed-after"}, weight=2),
    "pods": Kind({"master": 1, "worker": 1}, dict.fromkeys(("master", "worker"), "succeed-after"), framework="pytorch"),
    "failing": Kind({"worker": 1}, {"worker": "fail-after"}, state="failed"),
    "retried": Kind(
        {"worker": 1},
        {"worker": "fail-after"},
        state="failed",
        attempts=2,
        retries=1,
        backoff="50ms",
        framework="pytorch",
    ),
}


def member_of(labels):
    """Job, attempt, role and index; the index is ours, a StatefulSet's or a Job's."""
    indexes = ("paddle-index", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index")
    index = next(labels[name] for name in indexes if name in labels)
    return f"{labels['paddle-job-id']}.{labels['paddle-attempt']}.{labels['paddle-role']}.{index}"


def expected(kind, id):
    attempts = range(1, kind.attempts + 1)
    return {f"{id}.{a}.{role}.{i}" for a in attempts for role, n in kind.roles.items() for i in range(n)}


def check_job(server, key, kind, id):
    job = server.job(id)
    events = server.get(f"/v1/jobs/{id}/events?limit=10000").json["items"]
    story = "\n".join(f"{event['time']} {event['kind']} {event['data']}" for event in events)
    assert (job["name"], job["state"], job["attempt"]) == (key, kind.state, kind.attempts), f"{job['reason']}\n{story}"
    assert sum(event["kind"] in {f"job.{state}" for state in FINAL} for event in events) == 1, story


def pace_of(server):
    """How much slower than usual this machine is, by a start of the server: it is to get some work done between kills."""
    server.kill()
    began = time.monotonic()
    server.start()
    return min(max(1, (time.monotonic() - began) / 0.5), 5)


def test_kills_lose_nothing_and_repeat_nothing(server, kube_fake, seed):
    dice = random.Random(seed)
    connect(server, kube_fake)
    wait_usable(server)
    pace = pace_of(server)
    history = kube_fake.history("pods")
    client = Client(server, 0, seed, None, KINDS, pause=0.3)
    client.start()
    kills = 0
    try:
        # on a slow machine many kills come before the server has begun to work
        while kills < KILLS or len(client.jobs) < KILLS // 2:
            assert kills < 10 * KILLS, "there was hardly any load"
            kills += 1
            time.sleep(pace * dice.choice((dice.uniform(0, 0.3), dice.uniform(0.3, 3))))
            assert server.process.poll() is None, server.log()
            server.kill()
            server.start(wait=False)
    finally:
        client.ending.set()
        client.join(70)
    assert client.wrong == []
    wait_for(server.is_ready)
    wait_for(lambda: server.get("/v1/info").json["jobs"]["open"] == 0, 300, "the end of all jobs")
    check_nothing_is_left(kube_fake)
    births = collections.Counter(member_of(pod["labels"]) for pod in history.made())
    listed = [job["id"] for job in server.get("/v1/jobs?all=true&limit=1000").json["items"]]
    assert sorted(listed) == sorted(id for _, id in client.jobs.values())  # each key made one job
    for key, (kind, id) in client.jobs.items():
        check_job(server, key, kind, id)
    assert {member: n for member, n in births.items() if n > 1} == {}
    missing = set().union(*(expected(kind, id) for kind, id in client.jobs.values())) ^ set(births)
    # kwok's trainers wait for nobody: a job may be over before its parameter server is made
    assert [member for member in missing if member in births or ".pserver." not in member] == []
    print(f"{len(client.jobs)} jobs, {len(births)} pods, {kills} kills at pace {pace:.1f}")


def test_a_service_that_nobody_knows_goes(server, kube_fake):
    """It was being made as the server was killed, so that the answer with its name was heard by nobody."""
    connect(server, kube_fake)
    wait_usable(server)
    roles = [{"name": "worker", "replicas": 2}]
    job = server.submit(["true"], queue="qq", image=BASE, framework="pytorch", roles=roles)["id"]
    server.wait(job, "running")
    ours = kube_fake.items("services", selector=f"paddle-job-id={job}")[0]
    metadata = {
        "name": "j-0123456789abcdef-1",
        "labels": {**ours["metadata"]["labels"], "paddle-job-id": "0123456789abcdef"},
    }
    kube_fake.create("services", {"metadata": metadata, "spec": ours["spec"] | {"clusterIP": "None"}})
    others = {"name": "theirs", "labels": {"paddle-job-id": "0123456789abcdef"}}
    kube_fake.create("services", {"metadata": others, "spec": ours["spec"] | {"clusterIP": "None"}})

    def names():
        return sorted(item["metadata"]["name"] for item in kube_fake.items("services"))

    left = sorted([ours["metadata"]["name"], "theirs"])
    wait_for(lambda: names() == left, 120, "the end of the service that nobody knows")
    server.paddle("cancel", job, check=0)
    server.wait(job)
