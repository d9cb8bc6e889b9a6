"""What a job becomes on a cluster: a StatefulSet, a Job and pods behind gates; and that nothing runs twice or is left, whatever happens."""

import json
import re
import time

import pytest
from conftest import wait_for

from kube.cluster import ApiError
from kube.fixtures import end_pod
from kube.images import BASE
from kube.test_runtime import connect, joined, pods  # noqa: F401

SERVE = "trap 'echo ended; exit 0' TERM; mkdir /www; echo hello >/www/index.html; httpd -f -p $PADDLE_PORT -h /www & wait $!"


def job_of(server, pserver, trainer, servers=2, trainers=4, **spec):
    """A job of parameter servers and trainers, each a script that first says that it began."""
    say = 'echo "began $TRAINING_ROLE $PADDLE_TRAINER_ID"; '
    roles = [
        {"name": "pserver", "replicas": servers, "cpu": "50m", "command": ["sh", "-c", say + pserver]},
        {"name": "trainer", "replicas": trainers, "cpu": "50m", "command": ["sh", "-c", say + trainer]},
    ]
    body = {"command": ["true"], "queue": "qq", "image": BASE, "roles": roles, "grace": "10s", **spec}
    reply = server.post("/v1/jobs", body)
    assert reply.status == 201, reply.body
    return reply.json


def owned(kube):
    """What is left of jobs in the namespace, but for the gate that all of them share."""
    found = [*kube.items("pods"), *kube.items("services", selector="owner=paddleflow")]
    for kind, version in (("statefulsets", "apps/v1"), ("jobs", "batch/v1"), ("configmaps", "v1")):
        found += kube.items(kind, version, selector="owner=paddleflow")
    return [thing["metadata"]["name"] for thing in found if not thing["metadata"]["name"].startswith("paddle-gate-")]


def check_nothing_is_left(kube):
    try:
        wait_for(lambda: not owned(kube), what="all objects to go with the job")
    except AssertionError:
        raise AssertionError(f"left of jobs: {owned(kube)}") from None


def attempts(kube, job=None):
    """Those that pods are of; all jobs' or one's."""
    found = (pod["metadata"]["labels"] for pod in pods(kube))
    return {labels["paddle-attempt"] for labels in found if job in (None, labels["paddle-job-id"])}


def check_began_once(server, job, attempt=1, servers=2, trainers=4):
    done = server.job(job["id"])
    assert done["attempt"] == attempt, done
    for role, word, count in (("pserver", "PSERVER", servers), ("trainer", "TRAINER", trainers)):
        for index in range(count):
            log = server.member_log(job["id"], f"{role}-{index}")
            assert re.findall("^began.*", log, re.M) == [f"began {word} {index}"], (role, index, log)


def test_the_objects_of_a_job(joined):  # noqa: F811
    server, kube = joined
    late = f"case $PADDLE_TRAINER_ID in 1) until [ -e /tmp/go ]; do sleep 0.1; done;; esac; {SERVE}"
    look = 'for at in $(echo "$PADDLE_PSERVERS_IP_PORT_LIST" | tr , " "); do wget -qO- "http://$at/"; done; uname -n; sleep 2'
    job = job_of(server, late, look)
    name = f"{job['id']}-1"
    wait_for(lambda: "Init:0/1" in kube.kubectl("get", "pods"), what="trainers behind their gate")
    wait_for(
        lambda: kube.items("statefulsets", "apps/v1"), what="the parameter servers, which are created side by side"
    )
    assert {made["metadata"]["name"] for made in kube.items("statefulsets", "apps/v1")} == {f"{name}-pserver"}
    assert {made["metadata"]["name"] for made in kube.items("jobs", "batch/v1")} == {f"{name}-trainer"}
    shown = kube.kubectl("get", "sts,job")
    assert f"statefulset.apps/{name}-pserver" in shown
    assert f"job.batch/{name}-trainer" in shown
    wait_for(
        lambda: "waits until the members that it needs listen" in str(server.job(job["id"])["members"]),
        what="the word that trainers wait",
    )
    kube.wait_phase(f"{name}-pserver-1", "Running")
    kube.kubectl("exec", f"{name}-pserver-1", "--", "touch", "/tmp/go")
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    check_began_once(server, job)
    for index in range(4):
        said = server.member_log(job["id"], f"trainer-{index}").splitlines()
        assert said[1:] == ["hello", "hello", f"{name}-trainer-{index}"]
    assert {member["role"]: member["exit_code"] for member in done["members"]} == {"pserver": 0, "trainer": 0}
    check_nothing_is_left(kube)


def test_a_parameter_server_that_dies(joined):  # noqa: F811
    """The kubelet starts its container again; its program runs once all the same, and its first end counts."""
    server, kube = joined
    job = job_of(
        server, f"case $PADDLE_TRAINER_ID in 1) nc -l -p $PADDLE_PORT; exit 3;; esac; {SERVE}", "sleep 600", 2, 2
    )
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert "pserver-1 exited with status 3" in done["reason"]
    assert re.findall("^began.*", server.member_log(job["id"], "pserver-1"), re.M) == ["began PSERVER 1"]
    check_nothing_is_left(kube)


def test_a_trainer_that_fails_is_tried_again_with_all(joined):  # noqa: F811
    server, kube = joined
    job = job_of(
        server, SERVE, 'case "$PADDLE_TRAINER_ID" in 1) exit 7;; esac; sleep 600', 1, 2, retries=1, backoff="1s"
    )
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("failed", 2)
    assert "trainer-1 exited with status 7" in done["reason"]
    check_nothing_is_left(kube)


def test_cancel_leaves_the_grace(joined):  # noqa: F811
    server, kube = joined
    script = "trap 'sleep 1; echo saved; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    job = job_of(server, SERVE, script, 2, 2, grace="1h")  # nobody waits for its end
    server.wait(job["id"], "running")
    for index in range(2):
        wait_for(lambda index=index: "up\n" in server.member_log(job["id"], f"trainer-{index}"), what="its word")
    server.paddle("cancel", job["id"], check=0)
    done = server.wait(job["id"])
    assert done["state"] == "cancelled"
    check_began_once(server, job, 1, 2, 2)
    assert all(server.member_log(job["id"], f"trainer-{index}").splitlines().count("saved") == 1 for index in range(2))
    assert all(server.member_log(job["id"], f"pserver-{index}").endswith("ended\n") for index in range(2))
    check_nothing_is_left(kube)


def test_cancel_behind_the_gate(joined):  # noqa: F811
    server, kube = joined
    job = job_of(server, "sleep 600", "echo never", 1, 2)
    wait_for(lambda: "Init:0/1" in kube.kubectl("get", "pods"), what="trainers behind their gate")
    server.paddle("cancel", job["id"], check=0)
    assert server.wait(job["id"])["state"] == "cancelled"
    assert server.member_log(job["id"], "trainer-0") == ""
    check_nothing_is_left(kube)


def test_a_server_killed_while_it_creates(joined):  # noqa: F811
    """At moments from before the first object to after the last."""
    server, kube = joined
    objects = (
        ("services", "v1"),
        ("configmaps", "v1"),
        ("statefulsets", "apps/v1"),
        ("jobs", "batch/v1"),
        ("pods", "v1"),
    )
    for kind, version in objects:
        job = job_of(server, SERVE, "sleep 1", 2, 2, name=kind)
        wait_for(lambda: kube.items(kind, version, f"paddle-job-id={job['id']}"), what=kind)  # noqa: B023
        server.kill()
        server.start()
        done = server.wait(job["id"])
        assert done["state"] == "succeeded", (kind, done["reason"])
        check_began_once(server, job, 1, 2, 2)
    check_nothing_is_left(kube)


def test_a_server_killed_while_it_cancels(joined):  # noqa: F811
    server, kube = joined
    job = job_of(server, SERVE, "sleep 600", 2, 2)
    wait_for(lambda: kube.items("statefulsets", "apps/v1"), what="the parameter servers")
    server.paddle("cancel", job["id"], check=0)
    server.kill()
    server.start()
    assert server.wait(job["id"])["state"] == "cancelled"
    check_nothing_is_left(kube)


def test_what_cannot_run_says_so_behind_the_gate(joined):  # noqa: F811
    server, kube = joined
    roles = [{"name": "worker", "replicas": 2}]
    job = server.submit(["/no/such/program"], queue="qq", image=BASE, framework="plain", roles=roles)
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert "cannot run '/no/such/program'" in str(done["members"])
    check_nothing_is_left(kube)


def why_again(server, job):
    """The reason of each attempt after the first."""
    events = server.get(f"/v1/jobs/{job['id']}/events?limit=1000").json["items"]
    return [event["data"]["reason"] for event in events if event["kind"] == "job.retrying"]


def was_made_twice(why):
    return re.match("trainer-. was lost: pod '[^']*' was deleted", why)


def test_an_outage_while_it_creates(server, own_cluster):
    connect(server, own_cluster)
    for form, kind, version in (
        ("sets", "services", "v1"),
        ("sets", "statefulsets", "apps/v1"),
        ("pods", "pods", "v1"),
    ):
        server.paddle("cluster", "set", "prod", "--setting", json.dumps({"form": form}), check=0)
        job = job_of(server, SERVE, "sleep 1", 2, 2, name=kind)
        wait_for(lambda: own_cluster.items(kind, version, f"paddle-job-id={job['id']}"), what=kind)  # noqa: B023
        own_cluster.cluster.kill("kube-apiserver")
        own_cluster.cluster.start("kube-apiserver")
        done = server.wait(job["id"])
        again = why_again(server, job)
        assert done["state"] == "succeeded", (kind, done["reason"])
        # The Job's controller may not have heard that it made a pod, make it twice, and delete the one that has begun.
        assert form == "sets" and all(was_made_twice(why) for why in again) or not again, again
        check_began_once(server, job, 1 + len(again), 2, 2)
    check_nothing_is_left(own_cluster)


def make_twice(kube, first, *finalizers):
    """As a Job's controller does that got no reply; the new pod's path."""
    about = {key: first["metadata"][key] for key in ("labels", "ownerReferences")}
    about |= {"name": first["metadata"]["name"] + "x", "finalizers": [*first["metadata"]["finalizers"], *finalizers]}
    about["annotations"] = {k: v for k, v in first["metadata"]["annotations"].items() if "test/" not in k}
    kube.api.create(kube.path("pods"), {"metadata": about, "spec": first["spec"]})
    return kube.path("pods", about["name"])


def is_gone(kube, path):
    try:
        return not kube.api.get(path)
    except ApiError as problem:
        return problem.status == 404


def pod_of(kube, job, member):
    (pod,) = [pod for pod in pods(kube) if pod["metadata"]["name"].startswith(f"{job['id']}-1-{member}")]
    return pod


def test_a_trainer_that_is_made_twice(server, kube_fake):
    """The Job's controller deletes one: the first runs on, and what was said of the other is not the member's."""
    connect(server, kube_fake)
    job = job_of(server, SERVE, "sleep 600", 1, 2)
    server.wait(job["id"], "running")
    first = pod_of(kube_fake, job, "trainer-0")
    time.sleep(1.1)  # of two that run the newer one is deleted, by times in whole seconds
    path = make_twice(kube_fake, first, "test/keeps-it")
    wait_for(lambda: kube_fake.api.get(path)["metadata"].get("deletionTimestamp"), what="the controller's choice")
    kube_fake.api.patch(path + "/status", {"status": {"phase": "Failed"}})  # as a kubelet says it of one that goes
    kube_fake.api.patch(path, {"metadata": {"finalizers": None}})
    wait_for(lambda: is_gone(kube_fake, path), what="the end of the second")
    end_pod(kube_fake.api, first)
    end_pod(kube_fake.api, pod_of(kube_fake, job, "trainer-1"))
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done
    check_nothing_is_left(kube_fake)


def test_trainers_whose_second_pods_stay(server, kube_fake):
    """Nothing is lost by the end of the first ones, whose programs had not begun."""
    connect(server, kube_fake)
    roles = [{"name": "trainer", "replicas": 2, "cpu": "10m", "memory": "1Mi"}]
    stuck = {"test/stuck": "ContainerCreating"}
    job = server.submit(["true"], queue="qq", image=BASE, roles=roles, annotations=stuck)
    wait_for(lambda: len(pods(kube_fake)) == 2, what="the pods")
    for first in pods(kube_fake):
        make_twice(kube_fake, first)
        path = kube_fake.path("pods", first["metadata"]["name"])
        wait_for(lambda: is_gone(kube_fake, path), what="the end of the first")  # noqa: B023
    server.wait(job["id"], "running")
    for pod in pods(kube_fake):
        end_pod(kube_fake.api, pod)
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done
    check_nothing_is_left(kube_fake)


def test_a_parameter_server_that_is_evicted(server, kube_fake):
    """It is lost, and so is the attempt: the StatefulSet goes before it brings the pod back for long, another attempt runs."""
    connect(server, kube_fake)
    job = job_of(server, SERVE, "sleep 600", 2, 2)
    server.wait(job["id"], "running")
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": f"{job['id']}-1-pserver-1"}}
    kube_fake.api.create(kube_fake.path("pods", f"{job['id']}-1-pserver-1") + "/eviction", body)
    wait_for(lambda: server.job(job["id"])["attempt"] == 2, what="the next attempt")
    server.wait(job["id"], "running")
    wait_for(lambda: attempts(kube_fake) == {"2"}, what="the end of what the StatefulSet may have made again")
    server.paddle("cancel", job["id"], check=0)
    assert server.wait(job["id"])["state"] == "cancelled"
    check_nothing_is_left(kube_fake)


def test_a_parameter_server_that_is_made_anew_while_the_server_is_away(server, kube_fake):
    """Its StatefulSet sees to that. What it knew is gone: it is another life, and the attempt is lost."""
    connect(server, kube_fake)
    job = job_of(server, SERVE, "sleep 600", 2, 2)
    server.wait(job["id"], "running")
    path = kube_fake.path("pods", f"{job['id']}-1-pserver-1")
    wait_for(lambda: list(server.state.glob("jobs/*/*/1/log/pserver-1.pod")), what="the note of which pod it was")
    server.kill()
    before = kube_fake.api.get(path)["metadata"]["uid"]
    kube_fake.api.request("DELETE", path, {"gracePeriodSeconds": 0})

    def anew():
        return any(
            pod["metadata"]["name"] == f"{job['id']}-1-pserver-1"
            and pod["metadata"]["uid"] != before
            and pod["status"]["phase"] == "Running"
            for pod in pods(kube_fake)
        )

    wait_for(anew, what="the new pod")
    server.start()
    wait_for(lambda: server.job(job["id"])["attempt"] == 2, what="the next attempt")
    assert "created again while the server was away" in str(server.get(f"/v1/jobs/{job['id']}/events?limit=1000").json)
    server.wait(job["id"], "running")
    wait_for(lambda: attempts(kube_fake) == {"2"}, what="the end of the first attempt")
    server.paddle("cancel", job["id"], check=0)
    assert server.wait(job["id"])["state"] == "cancelled"
    check_nothing_is_left(kube_fake)


@pytest.mark.parametrize("gone", [[1], [0, 1]], ids=["one", "all"])
def test_trainers_that_go_before_they_begin_while_the_server_is_away(joined, gone):  # noqa: F811
    """Their Job makes no others: they are lost, and another attempt runs."""
    server, kube = joined
    job = job_of(server, "sleep 600", "true", 1, 2, grace="1s")["id"]
    wait_for(lambda: len(pods(kube)) == 3, what="the pods")
    trainers = {
        pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index"): pod["metadata"]["name"]
        for pod in pods(kube)
    }
    wait_for(lambda: server.job(job)["members"][0]["state"] == "running", what="the parameter server")
    server.kill()
    for index in gone:
        kube.api.request("DELETE", kube.path("pods", trainers[str(index)]), {"gracePeriodSeconds": 0})
    wait_for(lambda: len(pods(kube)) == 3 - len(gone), what="the pods' end")
    server.start()
    wait_for(lambda: server.job(job)["attempt"] == 2, what="the next attempt")
    assert "was deleted before the server saw it" in str(server.get(f"/v1/jobs/{job}/events?limit=1000").json)
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"
    check_nothing_is_left(kube)
