"""In which namespaces jobs run, and what that takes of rights (doc/reference/scheduling.md, "Namespaces"). Pods are kwok's."""

import json

import pytest
from conftest import wait_for

from kube.cluster import ApiError
from kube.fixtures import end_pod
from kube.images import BASE
from kube.proxy import Proxy, Wire, refuse

JOBS = [
    {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": ["", "apps", "batch"], "resources": ["configmaps", "statefulsets", "jobs"], "verbs": ["*"]},
]
NODES = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}]
MAKE = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]}]


def account_of(kube):
    return {"kind": "ServiceAccount", "name": f"ns-{kube.name}", "namespace": kube.name}


def connect(server, kube, rules, *options, everywhere=True, wire=None):
    """The cluster, its jobs' rights where `everywhere` says; nodes are seen anyhow."""
    name = f"ns-{kube.name}"
    path = kube.cluster.account(name, namespace=kube.name, rules=rules, everywhere=everywhere)
    path = wire.kubeconfig(path) if wire else path
    kube.cluster.allow(account_of(kube), name + "-nodes", kube.name, NODES, True)
    server.paddle("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", path, *options, check=0)


def queue(server, name="qq", *options):
    server.paddle("queue", "create", name, "--cluster", "prod", *options, check=0)


def submit(server, **about):
    spec = {"queue": "qq", "image": BASE, "annotations": {"test/succeed-after": "1s"}, **about}
    return server.submit(["true"], **spec)["id"]


def pods(kube, namespace):
    return kube.api.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector=owner=paddleflow")["items"]


def left(kube, namespace):
    return pods(kube, namespace) or [
        item
        for item in kube.api.get(f"/api/v1/namespaces/{namespace}/services?labelSelector=owner=paddleflow")["items"]
    ]


@pytest.fixture
def other(kube_fake):
    """The name of a namespace that is not there yet."""
    name = kube_fake.name + "-x"
    yield name
    try:
        kube_fake.api.delete("/api/v1/namespaces/" + name)
    except ApiError as problem:
        assert problem.status == 404


def test_an_account_that_is_not_there_yet(server, kube_fake):
    """A namespace that somebody has just made has none for a moment."""
    account = f"{kube_fake.name}/default"
    words = f'pods "x" is forbidden: error looking up service account {account}: serviceaccount "default" not found'
    with Proxy(kube_fake.cluster) as proxy:
        connect(server, kube_fake, JOBS, "--setting", json.dumps({"form": "pods"}), wire=proxy)
        queue(server)
        refused = proxy.fault(refuse(403, "Forbidden", words=words), method="POST", path="/pods$", times=2)
        job = submit(server)
        assert server.wait(job)["state"] == "succeeded"
        assert refused["left"] == 0


def test_a_queue_has_a_namespace(server, kube_fake, other):
    """It is made when it is missing."""
    connect(server, kube_fake, JOBS + MAKE)
    queue(server, "qq", "--namespace", other)
    job = submit(server, annotations={})
    (pod,) = wait_for(lambda: pods(kube_fake, other), what="the pod")
    assert pod["metadata"]["labels"]["paddle-job-id"] == job
    assert kube_fake.api.get("/api/v1/namespaces/" + other)["metadata"]["labels"]["owner"] == "paddleflow"
    end_pod(kube_fake.api, pod)
    assert server.wait(job)["state"] == "succeeded"
    wait_for(lambda: not left(kube_fake, other), what="the end of pod and service")
    assert not left(kube_fake, kube_fake.name)


def test_a_job_may_name_one(server, kube_fake, other):
    connect(server, kube_fake, JOBS + MAKE)
    queue(server)
    own, named = submit(server, annotations={}), submit(server, annotations={}, namespace=other)
    for namespace in (other, kube_fake.name):
        (pod,) = wait_for(lambda namespace=namespace: pods(kube_fake, namespace), what="the pod")
        end_pod(kube_fake.api, pod)
    for job in (own, named):
        assert server.wait(job)["state"] == "succeeded"


def test_a_namespace_that_cannot_be_made(server, kube_fake, other):
    connect(server, kube_fake, JOBS)
    queue(server, "qq", "--namespace", other)
    done = server.wait(submit(server))
    assert done["state"] == "failed"
    assert f"no namespace '{other}'" in done["reason"] and "namespaces is forbidden" in done["reason"]


def test_a_cluster_has_a_list(server, kube_fake, other):
    """Who names another is refused at once."""
    connect(server, kube_fake, JOBS, "--namespaces", f"{kube_fake.name},second")
    queue(server)
    reply = server.post("/v1/jobs", {"queue": "qq", "image": BASE, "command": ["true"], "namespace": other})
    assert reply.status == 400 and other in reply.json["message"] and "second" in reply.json["message"]
    assert server.wait(submit(server, namespace=kube_fake.name))["state"] == "succeeded"
    done = server.paddle("queue", "create", "bad", "--cluster", "prod", "--namespace", other)
    assert done.returncode and other in done.stderr


def test_rights_in_one_namespace_are_enough_for_it(server, kube_fake, other):
    """No more is looked at; a job elsewhere says what is missing."""
    connect(server, kube_fake, JOBS, everywhere=False)
    queue(server)
    assert server.wait(submit(server))["state"] == "succeeded"
    wait_for(lambda: not left(kube_fake, kube_fake.name), what="the end of pod and service")
    done = server.wait(submit(server, namespace=other))
    assert done["state"] == "failed"
    assert "may not list pods in all namespaces" in json.dumps(done)


def test_rights_that_shrink(server, kube_fake):
    """What is left to look at is enough for jobs there; those that run go on."""
    with Wire(kube_fake.cluster) as wire:
        connect(server, kube_fake, JOBS, wire=wire)
        queue(server)
        long = submit(server, annotations={})
        server.wait(long, "running")
        own = f"own-{kube_fake.name}"
        kube_fake.cluster.allow(account_of(kube_fake), own, kube_fake.name, JOBS, False)
        rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/"
        kube_fake.api.delete(rbac + f"ns-{kube_fake.name}")
        wire.cut()  # a watch outlives the right to begin it
        assert server.wait(submit(server))["state"] == "succeeded"
        now = server.job(long)
        assert (now["state"], now["attempt"]) == ("running", 1), now["reason"]
        server.paddle("cancel", long, check=0)
        server.wait(long)


def test_a_queue_keeps_it_while_jobs_are_open(server, kube_fake, other):
    connect(server, kube_fake, JOBS + MAKE)
    queue(server)
    job = submit(server, annotations={})
    server.wait(job, "running")
    done = server.paddle("queue", "set", "qq", "--namespace", other)
    assert done.returncode and "open jobs" in done.stderr
    server.paddle("cancel", job, check=0)
    server.wait(job)
    server.paddle("queue", "set", "qq", "--namespace", other, check=0)


def test_a_restart_finds_them_again(server, kube_fake, other):
    """And takes the service away of one whose pod went meanwhile."""
    connect(server, kube_fake, JOBS + MAKE)
    queue(server, "qq", "--namespace", other)
    alone = {"framework": "pytorch", "roles": [{"name": "worker", "replicas": 1}]}  # a pod that nothing makes again
    one, two = (submit(server, annotations={}, **alone) for _ in range(2))
    for job in (one, two):
        server.wait(job, "running")
    about = {pod["metadata"]["labels"]["paddle-job-id"]: pod["metadata"] for pod in pods(kube_fake, other)}
    server.kill()
    kube_fake.api.delete(f"/api/v1/namespaces/{other}/pods/{about[one]['name']}")
    wait_for(lambda: len(pods(kube_fake, other)) == 1, what="the end of the pod")
    server.start()
    now = {pod["metadata"]["labels"]["paddle-job-id"]: pod["metadata"] for pod in pods(kube_fake, other)}
    assert now[two]["uid"] == about[two]["uid"]
    server.paddle("cancel", two, check=0)
    server.paddle("cancel", one)
    for job in (one, two):
        server.wait(job)
    wait_for(lambda: not left(kube_fake, other), what="the end of pods and services")


def test_two_clusters_may_be_one(server, kube_fake):
    """Neither touches the other's pods."""
    connect(server, kube_fake, JOBS)
    queue(server)
    path = kube_fake.cluster.account(
        "again-" + kube_fake.name, namespace=kube_fake.name, rules=JOBS + NODES, everywhere=True
    )
    server.paddle("cluster", "create", "again", "--type", "Kubernetes", "--kubeconfig", path, check=0)
    server.paddle("queue", "create", "again", "--cluster", "again", check=0)
    jobs = [submit(server, queue=name, annotations={}) for name in ("qq", "again")]
    wait_for(lambda: len(pods(kube_fake, kube_fake.name)) == 2, what="the pods")
    for job in jobs:
        server.wait(job, "running")
    for pod in pods(kube_fake, kube_fake.name):
        end_pod(kube_fake.api, pod)
    for job in jobs:
        done = server.wait(job)
        assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
