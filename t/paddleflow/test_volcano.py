"""Queues and gangs on a cluster that Volcano's own scheduler places pods of
(doc/reference/scheduling.md, "Volcano's queues" to "Handing a job to Volcano")."""

import base64
import json
import pathlib

import pytest
from conftest import wait_for
from kube.cluster import ApiError

from paddleflow.client import good, refused

IMAGE = "test.local/base:1"
VOLCANO = "scheduling.volcano.sh/v1beta1"
# What jobs need, and what Volcano adds (doc/guide/kubernetes.md).
RULES = [
    {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
    {"apiGroups": ["", "apps", "batch"], "resources": ["configmaps", "statefulsets", "jobs"], "verbs": ["*"]},
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": ["list"]},
    {
        "apiGroups": ["scheduling.volcano.sh"],
        "resources": ["queues", "podgroups"],
        "verbs": ["get", "list", "watch", "create", "update", "delete"],
    },
]


def connect(flow, kube):
    """The name of a cluster whose setting names Volcano."""
    path = kube.cluster.account(f"flow-{kube.name}", namespace=kube.name, rules=RULES, everywhere=True)
    return flow.make_cluster(
        clusterType="Kubernetes",
        version="v1.33",
        credential=base64.b64encode(pathlib.Path(path).read_bytes()).decode(),
        setting=json.dumps({"volcano": True}),
    )["clusterName"]


@pytest.fixture
def joined(flow, kube_fake):
    """A cluster whose setting names Volcano, and two queues of 2 cores each."""
    name = connect(flow, kube_fake)
    queues = [
        flow.make_queue(
            name=f"{kube_fake.name[-20:].strip('-')}-{letter}",
            clusterName=name,
            namespace=kube_fake.name,
            maxResources={"cpu": "2", "mem": "8Gi"},
        )
        for letter in "ab"
    ]
    yield flow, kube_fake, name, queues
    for job in good(flow.get("/job?maxKeys=1000")).json["jobList"]:
        if job["status"] in ("init", "pending", "running"):
            flow.stop(job["id"])
    good(flow.delete("/cluster/" + name), empty=True)


def volcano_queue(kube, name):
    try:
        return kube.api.get(f"/apis/{VOLCANO}/queues/{name}")
    except ApiError as problem:
        assert problem.status == 404
        return None


def submit(flow, queue, cpu="1", **about):
    flavour = {"name": "customFlavour", "cpu": cpu, "mem": "512Mi"}
    about = {"annotations": {"test/succeed-after": "1s"}, **about}
    return flow.submit("true", image=IMAGE, flavour=flavour, schedulingPolicy={"queue": queue}, **about)


def groups(kube):
    return kube.items("podgroups", VOLCANO)


def pods(kube):
    return kube.items("pods", selector="owner=paddleflow")


def said_of(flow, job):
    """What the job's members say of their wait."""
    return json.dumps([member.get("error") for member in flow.server.job(job_of(flow, job))["members"]])


def job_of(flow, name):
    """The engine's id of a job."""
    return next(
        job["id"] for job in flow.server.get("/v1/jobs?all=true&limit=1000").json["items"] if job["name"] == name
    )


def test_queues_are_written_changed_and_dropped(joined):
    flow, kube, _, (one, two) = joined
    have = wait_for(lambda: volcano_queue(kube, one), what="Volcano's queue")
    assert have["spec"]["capability"] == {"cpu": "2", "memory": str(8 << 30)}
    assert have["metadata"]["annotations"]["paddleflow/queue-namespace"] == kube.name
    good(flow.put("/queue/" + one, {"maxResources": {"cpu": "3", "mem": "8Gi"}}))
    wait_for(lambda: volcano_queue(kube, one)["spec"]["capability"]["cpu"] == "3", what="the change")
    kube.api.patch(f"/apis/{VOLCANO}/queues/{one}", {"spec": {"capability": {"cpu": "7"}}})
    wait_for(lambda: volcano_queue(kube, one)["spec"]["capability"]["cpu"] == "3", what="our own quota again")
    kube.api.delete(f"/apis/{VOLCANO}/queues/{two}")
    wait_for(lambda: volcano_queue(kube, two), what="the queue again")
    good(flow.delete("/queue/" + two), empty=True)
    wait_for(lambda: not volcano_queue(kube, two), what="the end of the dropped queue")
    assert volcano_queue(kube, one) and volcano_queue(kube, "default")


def test_elastic_queues(joined):
    """3.5: min is what the queue deserves, max what it may use."""
    flow, kube, name, _ = joined
    queue = flow.make_queue(
        name=kube.name[-20:].strip("-") + "-e",
        clusterName=name,
        namespace=kube.name,
        quotaType="elasticQuota",
        maxResources={"cpu": "4", "mem": "8Gi"},
        minResources={"cpu": "1", "mem": "1Gi"},
    )
    spec = wait_for(lambda: volcano_queue(kube, queue), what="Volcano's queue")["spec"]
    assert spec["capability"] == {"cpu": "4", "memory": str(8 << 30)}
    assert spec["deserved"] == {"cpu": "1", "memory": str(1 << 30)}
    assert spec["reclaimable"] is True


def test_a_job_goes_through(joined):
    """Its pods name group, queue and scheduler; the group goes with the attempt."""
    flow, kube, _, (one, _) = joined
    job = submit(flow, one, annotations={}, labels={"team": "a"})
    (pod,) = wait_for(lambda: pods(kube), what="its pod")
    (group,) = wait_for(lambda: groups(kube), what="its group")
    about = pod["metadata"]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert about["annotations"]["scheduling.k8s.io/group-name"] == group["metadata"]["name"]
    assert about["annotations"]["volcano.sh/task-spec"] == "worker"
    assert about["labels"]["volcano.sh/queue-name"] == about["annotations"]["volcano.sh/queue-name"] == one
    assert about["annotations"]["scheduling.volcano.sh/queue-name"] == one
    assert (about["labels"]["owner"], about["labels"]["paddleflow-job-id"]) == ("paddleflow", job)
    assert (about["labels"]["paddleflow-job-framework"], about["labels"]["team"]) == ("standalone", "a")
    assert about["namespace"] == kube.name
    assert group["spec"]["minMember"] == 1 and group["spec"]["queue"] == one
    assert group["spec"]["minResources"] == {"cpu": "1", "memory": str(512 << 20)}
    kube.api.patch(kube.path("pods", about["name"]), {"metadata": {"annotations": {"test/succeed-after": "0s"}}})
    assert flow.wait(job)["status"] == "succeeded"
    wait_for(lambda: not pods(kube) and not groups(kube), what="the end of pod and group")


def use_up(kube, queue):
    """Somebody else's pod takes all of a queue."""
    kube.apply(
        {
            "apiVersion": VOLCANO,
            "kind": "PodGroup",
            "metadata": {"name": "other"},
            "spec": {"minMember": 1, "queue": queue, "minResources": {"cpu": "2"}},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "other", "annotations": {"scheduling.k8s.io/group-name": "other"}},
            "spec": {
                "schedulerName": "volcano",
                "containers": [{"name": "c", "image": IMAGE, "resources": {"requests": {"cpu": "2"}}}],
            },
        },
    )
    kube.wait_phase("other", "Running")


def give_back(kube):
    kube.api.delete(kube.path("pods", "other"))
    kube.api.delete(kube.path("podgroups", "other", VOLCANO))


def own_group(kube):
    """The one group that is not the other's; None while there is none."""
    found = [group for group in groups(kube) if group["metadata"]["name"] != "other"]
    return found[0] if found else None


def test_quota_that_others_have_used(joined):
    """Somebody else's pods are in the queue, too: our job is admitted and waits in Volcano, with the reason; the other
    queue is not held up."""
    flow, kube, _, (one, two) = joined
    wait_for(lambda: volcano_queue(kube, one) and volcano_queue(kube, two), what="Volcano's queues")
    use_up(kube, one)
    waits, runs = submit(flow, one), submit(flow, two)
    assert flow.wait(runs)["status"] == "succeeded"
    wait_for(lambda: "Volcano's queue" in said_of(flow, waits), what="the reason")
    assert one in said_of(flow, waits) and "is Pending" in said_of(flow, waits)
    wait_for(lambda: len(pods(kube)) == 1 and len(groups(kube)) == 2, what="the end of the other job's pod and group")
    assert own_group(kube)["status"]["phase"] == "Pending"
    (pod,) = pods(kube)
    assert "nodeName" not in pod["spec"]
    give_back(kube)
    assert flow.wait(waits)["status"] == "succeeded"


@pytest.fixture
def very_high(kube_fake):
    """The class of that name, before anybody looks which classes there are."""
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    kube_fake.api.create(path, {"metadata": {"name": "very-high"}, "value": 200})
    yield
    kube_fake.api.delete(path + "/very-high")


def modify(flow, job, priority):
    return flow.put(f"/job/{job}?action=modify", {"priority": priority})


@pytest.mark.usefixtures("very_high")
def test_priority_of_a_job_that_waits_in_volcano(joined):
    """8.3: it changes with its PodGroup while that waits; not of a job that runs."""
    flow, kube, _, (one, _) = joined
    wait_for(lambda: volcano_queue(kube, one), what="Volcano's queue")
    use_up(kube, one)
    job = submit(flow, one, annotations={"test/succeed-after": "600s"})
    group = wait_for(lambda: own_group(kube), what="its group")
    assert "priorityClassName" not in group["spec"]
    good(modify(flow, job, "VERY_HIGH"), empty=True)
    wait_for(
        lambda: own_group(kube)["spec"].get("priorityClassName") == "very-high", what="the class of the new priority"
    )
    assert own_group(kube)["spec"]["minMember"] == 1 and own_group(kube)["metadata"]["uid"] == group["metadata"]["uid"]
    assert flow.server.job(job_of(flow, job))["priority"] == 200
    good(modify(flow, job, "NORMAL"), empty=True)
    wait_for(lambda: "priorityClassName" not in own_group(kube)["spec"], what="the end of the class")
    good(modify(flow, job, "VERY_HIGH"), empty=True)
    give_back(kube)
    flow.wait(job, ("running",))
    refused(modify(flow, job, "LOW"), "ActionNotAllowed")
    assert flow.server.job(job_of(flow, job))["priority"] == 200
    flow.stop(job)


def gang(flow, queue, workers, cpu, node):
    """Workers that all have to stand on one node."""
    spec = {"nodeSelector": {"kubernetes.io/hostname": node}, "schedulerName": "volcano"}
    template = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": spec}}}},
    }
    member = {
        "role": "worker",
        "replicas": workers,
        "image": IMAGE,
        "command": "true",
        "flavour": {"name": "customFlavour", "cpu": cpu, "mem": "128Mi"},
    }
    body = {
        "framework": "pytorch",
        "members": [member],
        "schedulingPolicy": {"queue": queue},
        "extensionTemplate": template,
        "annotations": {"test/succeed-after": "1s"},
    }
    return good(flow.post("/job/distributed", body)).json["id"]


def test_a_gang_starts_whole_or_waits_whole(joined):
    """Of three members two would fit on the node that their template names."""
    flow, kube, name, _ = joined
    cores = next(node for node in kube.api.get("/api/v1/nodes")["items"] if node["metadata"]["name"] == "fake-3")
    third = int(int(cores["status"]["allocatable"]["cpu"]) * 1000 * 0.4)
    queue = flow.make_queue(
        name=kube.name[-20:].strip("-") + "-g",
        clusterName=name,
        namespace=kube.name,
        maxResources={"cpu": "1000", "mem": "1000Gi"},
    )
    waits = gang(flow, queue, 3, f"{third}m", "fake-3")
    wait_for(lambda: len(pods(kube)) == 3, what="the pods")
    wait_for(lambda: "gang" in said_of(flow, waits) and "unschedulable" in said_of(flow, waits), what="the reason")
    assert not [pod for pod in pods(kube) if "nodeName" in pod["spec"]]
    (group,) = groups(kube)
    assert group["spec"]["minMember"] == 3
    assert group["spec"]["minResources"]["cpu"] in (f"{3 * third}m", str(3 * third // 1000))
    flow.stop(waits)
    fits = gang(flow, queue, 2, f"{third}m", "fake-3")
    assert flow.wait(fits)["status"] == "succeeded"


@pytest.fixture
def bare_node(kube):
    """Of tier a, which has none. It has no room for a pod: those of tests beside would land there, and never go again."""
    size = {"cpu": "8", "memory": "16Gi", "pods": "0"}
    about = {"allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}]}
    name = f"bare-{kube.name}"
    kube.api.create("/api/v1/nodes", {"metadata": {"name": name}, "status": about})
    yield
    kube.api.delete(f"/api/v1/nodes/{name}")


@pytest.mark.usefixtures("bare_node")
def test_a_cluster_without_volcano_says_so(flow, kube):
    """Tier a: the CRDs are not there."""
    name = connect(flow, kube)
    queue = flow.make_queue(name=kube.name[-20:].strip("-"), clusterName=name, namespace=kube.name)
    body = {"image": IMAGE, "command": "true", "schedulingPolicy": {"queue": queue}}
    job = wait_for(lambda: flow.post("/job/single", body).json.get("id"), what="the node's place in the cluster")
    wait_for(lambda: "no Volcano" in said_of(flow, job) and "PodGroup" in said_of(flow, job), what="the reason")
    flow.stop(job)
