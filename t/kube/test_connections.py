"""Clusters that are away for a while, credentials that end, and changes of what a cluster is reached by. Pods are kwok's."""

import collections
import json
import os
import threading

import pytest
from conftest import wait_for

from kube import proxy
from kube.cluster import Api, ApiError, Cluster
from kube.fixtures import end_pod
from kube.images import BASE
from kube.test_faults import bound_token
from kube.test_forms import check_nothing_is_left
from kube.test_runtime import RULES, pods, wait_usable

ALWAYS = 1 << 30  # a fault that stays


def account(kube, name="client"):
    config = kube.cluster.account(name, namespace=kube.name)
    subject = {"kind": "ServiceAccount", "name": name, "namespace": kube.name}
    kube.cluster.allow(subject, f"{kube.name}-{name}", kube.name, RULES, True)
    return config


def connect(server, config, name="prod", queue="qq", setting=None):
    more = ["--setting", json.dumps(setting)] if setting else []
    server.paddle("cluster", "create", name, "--type", "Kubernetes", "--kubeconfig", config, *more, check=0)
    server.paddle("queue", "create", queue, "--cluster", name, check=0)
    wait_usable(server, name)


def submit(server, after=None, queue="qq"):
    annotations = {"test/succeed-after": after} if after else {}
    return server.submit(["true"], queue=queue, image=BASE, annotations=annotations)["id"]


def has_ended(kube, name):
    """A server that sees a pod's end takes the pod away."""
    try:
        return kube.get("pods", name)["status"]["phase"] == "Succeeded"
    except ApiError as problem:
        return problem.status == 404


def finish(kube, job):
    """Its pod ends well, by itself."""
    (pod,) = kube.items("pods", selector=f"paddle-job-id={job}")
    end_pod(kube.api, pod)
    wait_for(lambda: has_ended(kube, pod["metadata"]["name"]), what="the pod's end")


def why_it_waits(server, job):
    return json.dumps(server.get(f"/v1/jobs/{job}/explain").json) + (server.job(job)["reason"] or "")


def made_once(history):
    """By job, attempt, role: jobs here have one member."""
    ids = [one["labels"]["paddle-job-id"] for one in history.made() if one["labels"].get("owner") == "paddleflow"]
    assert len(ids) == len(set(ids)), ids


def test_one_of_two_is_away(server, kube_fake):
    """Its jobs run on or wait, and what was asked meanwhile is done afterwards; the other cluster's do not notice."""
    kube = kube_fake
    with proxy.Proxy(kube.cluster) as one:
        connect(server, one.kubeconfig(account(kube, "far")), "far", "away")
        connect(server, account(kube, "near"), "near", "here")
        history = kube.history("pods")
        ends, cancelled = submit(server, queue="away"), submit(server, queue="away")
        near = submit(server, queue="here")
        for job in (ends, cancelled, near):
            server.wait(job, "running")
        one.fault(proxy.dropped, times=ALWAYS)
        one.cut()
        waits = submit(server, "1s", "away")
        wait_for(lambda: "not connected" in why_it_waits(server, waits), what="the word that the cluster is away")
        assert server.wait(submit(server, "0s", "here"))["state"] == "succeeded"
        assert server.job(ends)["state"] == "running"
        server.paddle("cancel", cancelled, check=0)
        finish(kube, ends)
        one.heal()
        for job, state in ((ends, "succeeded"), (waits, "succeeded"), (cancelled, "cancelled")):
            done = server.wait(job, timeout=120)
            assert (done["state"], done["attempt"]) == (state, 1), done["reason"]
        assert server.job(near)["state"] == "running"
        finish(kube, near)
        assert server.wait(near)["state"] == "succeeded"
        check_nothing_is_left(kube)
        made_once(history)


def test_an_end_that_waits_for_its_log_when_the_cluster_goes(server, kube_fake):
    """The member is known all the same when the cluster is back: it is not lost."""
    kube = kube_fake
    with proxy.Proxy(kube.cluster) as one:
        connect(server, one.kubeconfig(account(kube)))
        one.fault(proxy.half_closed, "GET", "/log", ALWAYS)
        job = submit(server)
        wait_for(lambda: one.asked("GET", "/log"), what="the question for the log")
        finish(kube, job)
        entry = one.fault(proxy.dropped, "GET", r"/(pods|nodes)\?", 6)
        one.cut()
        wait_for(lambda: entry["left"] == 0, what="the connection's end")
        done = server.wait(job)
        assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
        check_nothing_is_left(kube)


def held(event):
    """The server is asked when `event` is set."""

    def fault(exchange):
        assert event.wait(proxy.HELD_S)
        exchange.pass_on()

    return fault


def test_a_pod_that_is_made_and_goes_while_nodes_cannot_be_seen(server, kube_fake):
    """Nobody looks at pods meanwhile. It is made again."""
    kube, now = kube_fake, threading.Event()
    with proxy.Proxy(kube.cluster) as one:
        connect(server, one.kubeconfig(account(kube)), setting={"form": "pods"})
        making = one.fault(held(now), method="POST", path="/pods$")
        job = submit(server)
        wait_for(lambda: making["left"] == 0, what="the request")
        one.fault(proxy.unavailable(), method="GET", path="/api/v1/nodes", times=ALWAYS)
        one.cut("/api/v1/nodes")
        wait_for(lambda: "the runtime is not connected" in server.log(), what="the end of the connection")
        now.set()
        wait_for(lambda: pods(kube) and one.asked("POST", "/pods$"), what="the pod")
        (pod,) = pods(kube)
        kube.api.request("DELETE", kube.path("pods", pod["metadata"]["name"]), {"gracePeriodSeconds": 0})
        wait_for(lambda: not pods(kube), what="the pod's end")
        one.heal()
        server.wait(job, "running", 120)
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        check_nothing_is_left(kube)


def expires(event):
    """A watch that says nothing until `event` is set, and then that its place is lost."""

    def fault(exchange):
        exchange.head(200, {"Transfer-Encoding": "chunked", "Content-Type": "application/json"})
        assert event.wait(proxy.HELD_S)
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
        frame = json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
        exchange.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(frame), frame))

    return fault


@pytest.mark.parametrize("form", ["sets", "pods"])
def test_pods_that_are_made_and_go_between_two_lists(server, kube_fake, form):
    """The cluster is not away, and yet nobody saw them. Who waits for one is lost, and the next attempt runs."""
    kube, now = kube_fake, threading.Event()
    with proxy.Proxy(kube.cluster) as one:
        watch = one.fault(expires(now), "GET", "/pods.*owner%3Dpaddleflow.*watch=1")
        connect(server, one.kubeconfig(account(kube)), setting={"form": form})
        wait_for(lambda: watch["left"] == 0, what="the watch")
        roles = [{"name": "trainer", "replicas": 2, "cpu": "10m", "memory": "1Mi"}]
        job = server.submit(["true"], queue="qq", image=BASE, roles=roles)["id"]
        wait_for(lambda: len(pods(kube)) == 2, what="the pods")
        made = "/jobs$" if form == "sets" else "/pods$"
        wait_for(lambda: len(one.asked("POST", made)) >= (1 if form == "sets" else 2), what="the replies")
        # kwok must be done with them: a pod of a Job that it says runs after we said it failed would keep its finalizer.
        wait_for(lambda: all(pod["status"].get("podIP") for pod in pods(kube)), what="the pods' run")
        for pod in pods(kube):
            path = kube.path("pods", pod["metadata"]["name"])
            kube.api.patch(path + "/status", {"status": {"phase": "Failed"}})  # as a kubelet says it of one that goes
            kube.api.request("DELETE", path, {"gracePeriodSeconds": 0})
        wait_for(lambda: not pods(kube), what="the pods' end")
        now.set()
        wait_for(lambda: server.job(job)["attempt"] == 2, what="the next attempt")
        assert "was deleted before the server saw it" in str(server.get(f"/v1/jobs/{job}/events?limit=1000").json)
        server.wait(job, "running")
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        check_nothing_is_left(kube)


def with_token(kube, config, token, path):
    tree = json.loads(config.read_text())
    tree["users"][0]["user"] = {"token": token}
    path.write_text(json.dumps(tree))
    return path


def is_refused(api):
    try:
        return not api.get("/version")
    except ApiError as problem:
        return problem.status == 401


def test_a_credential_that_ends(server, kube_fake, tmp_path):
    """What runs goes on; what is to start waits, and says what to do; with another one all goes on."""
    kube = kube_fake
    config = account(kube)
    first = with_token(kube, config, bound_token(kube, "first"), tmp_path / "first")
    connect(server, first)
    runs = submit(server)
    server.wait(runs, "running")
    kube.api.delete(kube.path("secrets", "first"))
    api = Api(first)
    wait_for(lambda: is_refused(api), what="the token's end: it is remembered for some seconds")

    words = "does not accept the credential"
    starts = submit(server, "1s")
    wait_for(lambda: words in why_it_waits(server, starts), what="the reason of a job that starts")
    waits = submit(server, "1s")
    wait_for(lambda: words in why_it_waits(server, waits), what="the reason of a job that comes later")
    assert "paddle cluster set prod --kubeconfig" in why_it_waits(server, waits)
    found = [server.job(job)["state"] for job in (runs, starts, waits)]
    # the server may have been refused before the first one came
    assert found in (["running", "starting", "queued"], ["running", "queued", "queued"]), found
    server.paddle("cancel", runs, check=0)
    fresh = with_token(kube, config, bound_token(kube, "second"), tmp_path / "second")
    server.paddle("cluster", "set", "prod", "--kubeconfig", fresh, check=0)
    for job in (starts, waits):
        done = server.wait(job)
        assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
    assert server.wait(runs)["state"] == "cancelled"
    check_nothing_is_left(kube)


@pytest.fixture
def other():
    """Another cluster, of which nothing but its address matters."""
    cluster = Cluster.launch("other", os.getpid())
    yield cluster
    cluster.stop()


def test_a_cluster_stays_where_it_is(server, kube_fake, other):
    """While it has open jobs neither its type changes nor what it leads to; another way to it is as good."""
    kube = kube_fake
    config = account(kube)
    connect(server, config)
    job = submit(server)
    server.wait(job, "running")
    elsewhere = other.account("client", "default", RULES, everywhere=True)
    done = server.paddle("cluster", "set", "prod", "--kubeconfig", elsewhere)
    assert done.returncode and f"it leads to {other.url}, and its queue 'qq' has 1 open job at {kube.cluster.url}" in (
        " ".join(done.stderr.split())
    )
    assert "cancel them" in done.stderr
    done = server.paddle("cluster", "set", "prod", "--type", "K3S")
    assert done.returncode and "type: its queue 'qq' has 1 open job\n" in done.stderr
    before = [pod["metadata"]["uid"] for pod in pods(kube)]
    with proxy.Proxy(kube.cluster) as one:
        server.paddle("cluster", "set", "prod", "--kubeconfig", one.kubeconfig(config), check=0)
        wait_for(lambda: one.asked("GET", "/pods"), what="the other way")
        finish(kube, job)
        done = server.wait(job)
        assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
        check_nothing_is_left(kube)
        assert len(before) == 1
        server.paddle("cluster", "set", "prod", "--kubeconfig", elsewhere, check=0)


def test_logs_are_taken_up_where_they_broke_off(server, kube_node):
    """All connections break while two members write: no line is lost, none is there twice."""
    kube, lines = kube_node, 60
    with proxy.Wire(kube.cluster) as wire:
        connect(server, wire.kubeconfig(account(kube)))
        script = f"i=0; while [ $i -lt {lines} ]; do i=$((i + 1)); echo line $i; sleep 0.1; done"
        roles = [{"name": "worker", "replicas": 2, "cpu": "50m"}]
        job = server.submit(["sh", "-c", script], queue="qq", image=BASE, roles=roles)["id"]
        members = ["worker-0", "worker-1"]
        for seen in (5, 20):
            wait_for(
                lambda seen=seen: all(server.member_log(job, member).count("\n") >= seen for member in members),
                what=f"{seen} lines of each",
            )
            wire.cut()
        assert server.wait(job)["state"] == "succeeded"
        whole = "".join(f"line {i}\n" for i in range(1, lines + 1))
        assert [server.member_log(job, member) for member in members] == [whole, whole]


def test_a_restart_while_makings_wait_in_line(server, kube_fake):
    """More jobs than are made at once, none of which gets through before the server is killed: each is made, once."""
    kube, jobs = kube_fake, 136
    history = kube.history("pods")
    with proxy.Wire(kube.cluster) as wire:
        connect(server, wire.kubeconfig(account(kube)))
        wire.freeze()
        spec = {"command": ["true"], "queue": "qq", "image": BASE, "array": f"0-{jobs - 1}"}
        spec |= {"roles": [{"name": "worker", "cpu": "10m"}], "annotations": {"test/succeed-after": "0s"}}
        reply = server.post("/v1/jobs", spec)
        assert reply.status == 201, reply.body

        def states():
            return collections.Counter(job["state"] for job in server.get(f"/v1/jobs?limit={2 * jobs}").json["items"])

        wait_for(lambda: states() == {"starting": jobs}, what="the admission of all")
        server.kill()
        assert not pods(kube)
        wire.thaw()
        server.start()
        wait_for(lambda: states() == {"succeeded": jobs}, 300, "the end of all")
        made_once(history)
        check_nothing_is_left(kube)
