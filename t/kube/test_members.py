"""What stands around the members of a cluster: nodes, the pods of others, commands and signals into pods, what they use."""

import concurrent.futures
import fcntl
import json
import os
import pathlib
import re

import pytest
from conftest import PATIENCE, wait_for
from seeds import noise
from test_exec import check_terminal

from kube.fixtures import FOLDER
from kube.images import BASE
from kube.test_runtime import RULES, connect, pods, submit


@pytest.fixture
def joined(server, kube_node):
    connect(server, kube_node)
    return server, kube_node


@pytest.fixture
def memory():
    """That of the node, which the workers of a run share: tests that need most of it take turns."""
    with open(pathlib.Path(os.environ[FOLDER]) / "memory.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def node_of(kube):
    return kube.api.get("/api/v1/nodes")["items"][0]


def memory_of(node):
    return int(node["status"]["allocatable"]["memory"].removesuffix("Ki"))


def bytes_of(quantity):
    number, unit = re.fullmatch(r"([\d.]+)([KMGT]?)i?", quantity).groups()
    return float(number) * 1024 ** " KMGT".index(unit or " ")


def occupy(kube, share):
    """A pod of somebody else that holds this share of the node's memory."""
    container = {"name": "c", "image": BASE, "imagePullPolicy": "Never", "command": ["sleep", "1000"]}
    container["resources"] = {"requests": {"memory": f"{int(memory_of(node_of(kube)) * share)}Ki"}}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    kube.create("pods", {"metadata": {"name": "other"}, "spec": spec})
    kube.wait_phase("other", "Running")


def half(kube, replicas=1):
    return {"name": "worker", "replicas": replicas, "resources": {"memory": f"{memory_of(node_of(kube)) // 2}Ki"}}


def our_node(server):
    nodes = server.get("/v1/nodes?cluster=prod").json["items"]
    return nodes[0] if nodes else {"usable": False, "why": "it is not known yet"}


# ---- inventory ----


def test_what_others_hold_is_not_given_away(memory, joined):
    server, kube = joined
    wait_for(lambda: our_node(server)["usable"], what="the node")
    assert our_node(server)["ready"] and our_node(server)["why"] is None
    occupy(kube, 0.8)
    most = 0.79 * 1024 * memory_of(node_of(kube))
    wait_for(lambda: bytes_of(our_node(server)["others"].get("memory", "0")) >= most, what="the others")
    job = server.submit(["true"], queue="qq", image=BASE, roles=[half(kube)])
    wait_for(lambda: server.job(job["id"])["reasons"], what="the reason")
    shown = server.job(job["id"])
    lacking = {reason["resource"] for reason in shown["reasons"]}  # pods of other tests may hold cores, too
    assert shown["state"] == "queued" and "memory" in lacking, shown["reasons"]
    assert not pods(kube)
    kube.api.request("DELETE", kube.path("pods", "other"))
    assert server.wait(job["id"])["state"] == "succeeded"


def test_nodes_are_listed_with_what_keeps_them_shut(joined):
    server, kube = joined
    name = node_of(kube)["metadata"]["name"]
    wait_for(lambda: our_node(server)["usable"], what="the node")
    assert server.get("/v1/clusters/prod").json["nodes"] == [name]
    job = submit(server, "sleep 600", "--memory", "64Mi")
    server.wait(job["id"], "running")
    assert our_node(server)["used"]["memory"] == "64Mi"
    kube.cluster.kubectl("cordon", name)
    try:
        wait_for(lambda: our_node(server)["why"] == "cordoned", what="the cordon")
        assert not our_node(server)["usable"] and our_node(server)["ready"]
        text = server.paddle("cluster", "show", "prod", check=0).stdout
        assert name in text and "cordoned" in text
    finally:
        kube.cluster.kubectl("uncordon", name)
    wait_for(lambda: our_node(server)["usable"], what="its end")
    server.paddle("cancel", job["id"], check=0)


# ---- explain across the border ----


def test_a_pod_without_a_node_waits_and_says_so(memory, server, kube_node):
    """Who may not see the pods of others admits what does not fit: the cluster's scheduler finds no room."""
    kube = kube_node
    rules = [rule for rule in RULES if not rule["resources"][0].startswith("nodes")]
    account = kube.cluster.account(f"narrow-{kube.name}", namespace=kube.name, rules=rules)
    subject = {"kind": "ServiceAccount", "name": f"narrow-{kube.name}", "namespace": kube.name}
    nodes = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}]
    kube.cluster.allow(subject, f"nodes-{kube.name}", kube.name, nodes, True)
    server.paddle("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", account, check=0)
    server.paddle("queue", "create", "qq", "--cluster", "prod", check=0)
    occupy(kube, 0.4)
    job = server.submit(["sleep", "600"], queue="qq", image=BASE, roles=[half(kube, 2)], grace="1s")
    says = "admitted; 1 of 2 members waits: 1 node lacks memory "  # the other one comes up meanwhile
    wait_for(lambda: says in json.dumps(server.job(job["id"])["reasons"]), what="the reason")
    assert server.job(job["id"])["reasons"][0]["cause"] == "members"
    assert server.job(job["id"])["state"] == "starting"
    said = server.paddle("explain", job["id"], check=0).stdout
    assert "1 of 2 members waits: 1 node lacks memory" in " ".join(said.split())
    kube.api.request("DELETE", kube.path("pods", "other"))
    server.wait(job["id"], "running")
    server.paddle("cancel", job["id"], check=0)


# ---- into pods ----


def test_a_command_in_a_pod(joined):
    server, _ = joined
    job = submit(server, "touch /tmp/here; sleep 600", "--env", "WORD=a b")
    server.wait(job["id"], "running")

    def execute(*words, **options):
        return server.paddle("exec", *words, **options)

    done = execute("job", "--", "sh", "-c", 'ls /tmp; echo "$WORD" $PADDLE_JOB_ID; echo oops >&2; exit 3')
    assert done.stdout, (done.stderr, done.returncode)
    assert done.stdout.splitlines()[-1] == f"a b {job['id']}" and "here" in done.stdout
    assert (done.stderr, done.returncode) == ("oops\n", 3)
    much = noise(1 << 20, "input").hex()
    assert execute("-i", "job", "--", "cat", input=much).stdout == much
    done = execute("-i", "job", "--", "sh", "-c", "head -c 4; exit 5", input=much[:8])
    assert (done.stdout, done.returncode) == (much[:4], 5)
    done = execute("job", "--", "/no/such")
    assert done.returncode != 0 and "/no/such" in done.stderr
    server.paddle("cancel", job["id"], check=0)


def test_a_terminal_in_a_pod(joined):
    server, _ = joined
    job = submit(server, "sleep 600")
    server.wait(job["id"], "running")
    check_terminal(server)
    server.paddle("cancel", job["id"], check=0)


def test_a_command_that_leaves_its_input_unread(joined):
    """The cluster may never tell its end then (kubectl waits for it, too): it ends with the member at the latest."""
    server, _ = joined
    job = submit(server, "trap 'exit 0' TERM; while :; do sleep 0.1; done")
    server.wait(job["id"], "running")
    words = ("exec", "-i", "job", "--", "sh", "-c", "head -c 4; touch /tmp/read")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        end = pool.submit(server.paddle, *words, input="x" * (20 << 20), timeout=3 * PATIENCE)
        look = ("exec", "job", "--", "test", "-e", "/tmp/read")
        wait_for(lambda: server.paddle(*look).returncode == 0, what="the command's end")
        server.paddle("cancel", "job", check=0)
        assert end.result(3 * PATIENCE).stdout == "xxxx"
    assert server.wait(job["id"])["state"] == "cancelled"


def test_a_warning_signal_reaches_the_member(joined):
    server, _ = joined
    script = "trap 'echo warned; exit 0' USR1; echo up; while :; do sleep 0.1; done"
    job = server.submit(["sh", "-c", script], queue="qq", image=BASE, time_limit="60s", signal="USR1@55s")
    done = server.wait(job["id"])
    said = server.member_log(job["id"]).splitlines()  # its child says something, too
    assert said[0] == "up" and "warned" in said, (said, done["reason"])
    assert done["members"][0]["exit_code"] == 0


def test_what_a_member_uses(joined):
    server, _ = joined
    spend = "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done; x=$(head -c 50000000 /dev/zero | tr '\\0' x); "
    job = submit(server, spend + "while :; do sleep 1; done", "--grace", "1s")
    server.wait(job["id"], "running")

    base = "/api/paddleflow/v1"
    token = {"x-pf-authorization": server.post("/v1/tokens", {}).json["token"]}

    def memory():
        about = server.get(f"{base}/statistics/job/job-{job['id']}", headers=token).json["metricsInfo"]
        return float(about["memory_usage"].removesuffix("(Bytes)"))

    wait_for(lambda: memory() > 30 << 20, what="the kubelet's word after the loop")
    server.paddle("cancel", job["id"], check=0)
    member = server.wait(job["id"])["members"][0]
    assert member["cpu_ms"] > 1000
    assert member["peak_memory"] > 30 << 20
