"""2.6 on a real cluster: its nodes, what runs on them, its objects, and jobs in its namespaces.

Nothing runs on the four fake nodes but what these tests put there; pods of other tests may come and go beside them.
"""

import base64
import json
import pathlib
import subprocess

import pytest
from conftest import BIN, wait_for
from kube.fixtures import FAKE_NODES

from paddleflow.client import case, check, fresh, good, has_keys, refused, table

IMAGE = "test.local/base:1"
ALL = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
# What jobs need (doc/guide/kubernetes.md).
JOBS = [
    {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
]
NODES = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}]


def credential(path):
    return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def join(flow, path, **about):
    """The cluster of a kubeconfig; its name."""
    body = {"clusterType": "Kubernetes", "version": "v1.33", "credential": credential(path), **about}
    return flow.make_cluster(**body)["clusterName"]


@pytest.fixture
def admin(kube_fake):
    """The kubeconfig of one who may do all."""
    return kube_fake.cluster.user(f"admin-{kube_fake.name}", namespace=kube_fake.name, rules=ALL, everywhere=True)


@pytest.fixture
def joined(flow, kube_fake, admin):
    return flow, kube_fake, join(flow, admin)


def fake_nodes(kube):
    return {
        node["metadata"]["name"]: node
        for node in kube.api.get("/api/v1/nodes")["items"]
        if node["metadata"]["name"].startswith("fake")
    }


def put_pod(kube, name, node, cpu="500m", memory="128Mi", **about):
    """A pod of somebody else, on a node of our choice."""
    container = {"name": "c", "image": IMAGE, "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    kube.create(
        "pods",
        {
            "metadata": {"name": name, "labels": {"mine": name}, "annotations": about.pop("annotations", {})},
            "spec": {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}], **about},
        },
    )


# -- the credential


@pytest.mark.parametrize(
    "config, says",
    [
        ({}, "current-context"),
        ({"clusters": 7}, "clusters"),
        ({"clusters": []}, ""),
        ({"current-context": "none", "clusters": [], "contexts": [], "users": []}, "none"),
    ],
    ids=["empty", "wrong type", "no clusters", "no such context"],
)
def test_a_credential_no_client_can_be_built_from(flow, config, says):
    body = {
        "clusterName": fresh("bad"),
        "endpoint": "127.0.0.1",
        "clusterType": "Kubernetes",
        "version": "v1.33",
        "credential": base64.b64encode(json.dumps(config).encode()).decode(),
    }
    assert says in refused(flow.post("/cluster", body), "InvalidClusterCredential")["message"]
    refused(flow.get("/cluster/" + body["clusterName"]), "ClusterNotFound")


def test_a_credential_may_name_no_program_and_no_file_of_the_server(flow, admin):
    config = json.loads(pathlib.Path(admin).read_text()) if pathlib.Path(admin).read_text()[0] == "{" else None
    if config is None:
        import yaml

        config = yaml.safe_load(pathlib.Path(admin).read_text())
    for user in (
        {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/true"}},
        {"tokenFile": "/etc/passwd"},
    ):
        config["users"][0]["user"] = user
        text = base64.b64encode(json.dumps(config).encode()).decode()
        body = {"clusterName": fresh("bad"), "endpoint": "x", "clusterType": "K3S", "credential": text}
        refused(flow.post("/cluster", body), "InvalidClusterCredential")


# -- what it has


def test_resources(joined):
    flow, kube, name = joined
    put_pod(kube, "other", "fake-0")
    kube.wait_phase("other", "Running")
    value = good(flow.get("/cluster/resource?clusterNames=" + name)).json
    assert set(value) == {name}
    has_keys(value[name], "nodeList summary errMsg")
    assert value[name]["errMsg"] == ""
    nodes = {node["nodeName"]: node for node in value[name]["nodeList"]}
    real = fake_nodes(kube)
    assert set(real) <= set(nodes) and len(real) == FAKE_NODES
    for node_name, node in real.items():
        shown, allocatable = nodes[node_name], node["status"]["allocatable"]
        has_keys(shown, "nodeName schedulable total idle")
        assert shown["schedulable"] is True
        assert (shown["total"]["cpu"], shown["total"]["memory"]) == (allocatable["cpu"], allocatable["memory"])
        assert shown["total"]["scalarResources"]["pods"] == allocatable["pods"]
    idle = nodes["fake-0"]["idle"]
    assert (
        idle["cpu"].endswith("m")
        and int(idle["cpu"][:-1]) <= int(real["fake-0"]["status"]["allocatable"]["cpu"]) * 1000 - 500
    )
    for amounts in value[name]["summary"].values():
        has_keys(amounts, "cpu memory", "storage scalarResources")


def test_a_node_that_is_cordoned_off(joined):
    flow, kube, name = joined
    kube.cluster.add_fake_nodes(1, prefix="cordoned", taint=True)
    kube.api.patch("/api/v1/nodes/cordoned-0", {"spec": {"unschedulable": True}})
    try:

        def schedulable():
            nodes = good(flow.get("/cluster/resource?clusterNames=" + name)).json[name]["nodeList"]
            return {node["nodeName"]: node["schedulable"] for node in nodes}

        wait_for(lambda: schedulable().get("cordoned-0") is False, what="the node as it is")
        assert schedulable()["fake-0"] is True
    finally:
        kube.api.delete("/api/v1/nodes/cordoned-0")


def test_resources_where_they_may_not_be_seen(flow, kube_fake):
    """The reason names the right; others are shown all the same. When none can be seen it is an error."""
    path = kube_fake.cluster.account("blind", namespace=kube_fake.name)
    name = join(flow, path)
    value = good(flow.get(f"/cluster/resource?clusterNames={name},default-cluster")).json
    assert value["default-cluster"]["errMsg"] == "" and value["default-cluster"]["nodeList"]
    assert value[name]["nodeList"] == []
    assert "nodes is forbidden" in value[name]["errMsg"] and "cluster scope" in value[name]["errMsg"]
    refused(flow.get("/cluster/resource?clusterNames=" + name), "InternalError")
    assert "nodes is forbidden" in refused(flow.get(f"/cluster/{name}/nodeInfos"), "InternalError")["message"]
    assert good(flow.post("/cluster/resource", {"clusterNames": [name]})).json[name]["capacity"] == {}


def test_resources_by_filter(joined):
    flow, kube, name = joined
    value = good(flow.post("/cluster/resource", {"clusterNames": [name]})).json
    assert set(value) == {name}
    has_keys(value[name], "allocatable capacity labels", "clusterName clusterSource queueName")
    real = fake_nodes(kube)
    assert set(real) <= set(value[name]["capacity"])
    for node_name, node in real.items():
        assert value[name]["capacity"][node_name]["cpu"] == node["status"]["capacity"]["cpu"]
        assert value[name]["allocatable"][node_name]["cpu"] == int(node["status"]["allocatable"]["cpu"]) * 1000
        assert value[name]["labels"][node_name] == {**node["metadata"]["labels"], "paddleflow/node-status": "Ready"}


@pytest.mark.parametrize(
    "body, found",
    [
        ({"labels": "kubernetes.io/hostname=fake-1"}, "fake-1"),
        ({"labels": "kubernetes.io/hostname!=fake-1"}, "fake-0 fake-2 fake-3"),
        ({"labels": "no-such=label"}, ""),
        ({"nodeStatus": "Ready"}, "fake-0 fake-1 fake-2 fake-3"),
        ({"nodeStatus": "NotReady"}, ""),
        ({"pageNo": 1000, "pageSize": 1000}, ""),
    ],
    ids=str,
)
def test_filters(joined, body, found):
    flow, _, name = joined
    value = good(flow.post("/cluster/resource", {"clusterNames": [name], **body})).json
    assert {node for node in value[name]["capacity"] if node.startswith("fake")} == set(found.split())


def test_pages_of_nodes(joined):
    flow, _, name = joined

    def are_apart():
        pages = [
            good(flow.post("/cluster/resource", {"clusterNames": [name], "pageNo": number, "pageSize": 2})).json[name]
            for number in (1, 2)
        ]
        assert all(len(page["capacity"]) == 2 for page in pages)
        return not set(pages[0]["capacity"]) & set(pages[1]["capacity"])

    wait_for(are_apart, what="two pages, between which no test beside adds or drops a node")


def test_by_queue(joined):
    flow, kube, name = joined
    queue = flow.make_queue(clusterName=name, namespace=kube.name)
    value = good(flow.post("/cluster/resource", {"queueName": queue})).json
    assert set(value) == {name} and value[name]["queueName"] == queue


def test_nodes_and_their_pods(joined):
    flow, kube, name = joined
    put_pod(kube, "runs", "fake-2", cpu="250m", memory="64Mi")
    put_pod(kube, "ended", "fake-2", cpu="7", annotations={"test/succeed-after": "0s"})
    kube.wait_phase("runs", "Running")
    kube.wait_phase("ended", "Succeeded")
    value = good(flow.get(f"/cluster/{name}/nodeInfos")).json
    has_keys(value, "totalCount nodeList")
    assert value["totalCount"] == len(value["nodeList"]) >= FAKE_NODES
    (node,) = (node for node in value["nodeList"] if node["nodeName"] == "fake-2")
    has_keys(node, "nodeName nodeIP podsCount labels used capacity pods")
    assert node["podsCount"] == len(node["pods"])
    assert node["labels"]["paddleflow/node-status"] == "Ready"
    (pod,) = (pod for pod in node["pods"] if pod["labels"].get("mine") == "runs")
    assert pod == {
        "podName": "runs",
        "status": 1,
        "labels": {"mine": "runs"},
        "resources": {"cpu": 250, "memory": 64 << 20},
    }
    assert not [pod for pod in node["pods"] if pod["labels"].get("mine") == "ended"]
    assert node["used"]["cpu"] == sum(pod["resources"].get("cpu", 0) for pod in node["pods"])
    real = fake_nodes(kube)["fake-2"]
    assert node["capacity"]["cpu"] == int(real["status"]["capacity"]["cpu"]) * 1000
    assert node["nodeIP"] == ""  # a fake node has none


def test_pages_of_infos(joined):
    flow, _, name = joined

    def are_apart():
        one = good(flow.get(f"/cluster/{name}/nodeInfos?pageNo=1&pageSize=1")).json
        two = good(flow.get(f"/cluster/{name}/nodeInfos?pageNo=2&pageSize=1")).json
        assert len(one["nodeList"]) == len(two["nodeList"]) == 1
        return one["nodeList"] != two["nodeList"] and one["totalCount"] == two["totalCount"] >= FAKE_NODES

    wait_for(are_apart, what="two pages, between which no test beside adds or drops a node")
    assert good(flow.get(f"/cluster/{name}/nodeInfos?pageNo=1000")).json["nodeList"] is None


def test_nodes_of_an_offline_cluster(flow, admin):
    name = join(flow, admin, status="offline")
    assert good(flow.get(f"/cluster/{name}/nodeInfos")).json == {"totalCount": 0, "nodeList": None}
    assert name not in good(flow.get("/cluster/resource")).json


# -- its objects


def config_map(kube, **about):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "words", "namespace": kube.name},
        "data": {"word": "one"},
        **about,
    }


def test_an_object_from_begin_to_end(joined):
    flow, kube, name = joined
    path = f"/cluster/{name}/k8s/object"
    about = {"name": "words", "namespace": kube.name, "kind": "ConfigMap", "apiVersion": "v1"}
    assert good(flow.post(path, config_map(kube))).json == config_map(kube)  # the action is create
    assert kube.get("configmaps", "words")["data"] == {"word": "one"}
    shown = good(flow.get(path, query=about)).json
    assert (shown["kind"], shown["data"], shown["metadata"]["namespace"]) == ("ConfigMap", {"word": "one"}, kube.name)
    assert shown == kube.get("configmaps", "words")
    changed = config_map(kube, data={"word": "two"})
    assert good(flow.put(path, changed)).json == changed
    assert kube.get("configmaps", "words")["data"] == {"word": "two"}
    refused(flow.post(path + "?action=create", config_map(kube)), "InternalError")  # it is there
    good(flow.post(path + "?action=delete", about), empty=True)
    assert not kube.items("configmaps", selector="") or "words" not in {
        item["metadata"]["name"] for item in kube.items("configmaps")
    }
    refused(flow.get(path, query=about), "InternalError")
    refused(flow.post(path + "?action=delete", about), "InternalError")


def test_a_secret_is_made_and_not_shown(joined):
    """It may hold what a user gave a job."""
    flow, kube, name = joined
    path = f"/cluster/{name}/k8s/object"
    about = {"name": "words", "namespace": kube.name, "kind": "Secret", "apiVersion": "v1"}
    body = config_map(kube, kind="Secret", data={"word": "bmVlZGxl"})
    good(flow.post(path, body))
    assert kube.get("secrets", "words")["data"] == {"word": "bmVlZGxl"}
    assert "Secrets of a cluster are not shown" in refused(flow.get(path, query=about), "InternalError")["message"]
    good(flow.post(path + "?action=delete", about), empty=True)


def test_an_object_of_no_namespace(joined):
    flow, kube, name = joined
    path = f"/cluster/{name}/k8s/object"
    shown = good(flow.get(path, query={"name": "fake-0", "kind": "Node", "apiVersion": "v1"})).json
    assert shown["metadata"]["name"] == "fake-0"


def test_an_object_of_an_own_kind(joined):
    """Whatever the server serves, by discovery."""
    flow, kube, name = joined
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": kube.name},
        "spec": {"weight": 1},
    }
    path = f"/cluster/{name}/k8s/object"
    about = {"name": kube.name, "kind": "Queue", "apiVersion": "scheduling.volcano.sh/v1beta1"}
    good(flow.post(path, queue))
    assert good(flow.get(path, query=about)).json["spec"]["weight"] == 1
    good(flow.post(path + "?action=delete", about), empty=True)


OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}
PATH = "/cluster/<cluster>/k8s/object"
QUERY = {"name": "x", "namespace": "default", "kind": "Pod", "apiVersion": "v1"}


def query_without(name):
    return PATH + "?" + "&".join(f"{key}={value}" for key, value in QUERY.items() if key != name)


REFUSED = [
    case("POST not JSON", "POST", PATH, "{", "MalformedJSON"),
    case("POST no object", "POST", PATH, [], "MalformedJSON"),
    case("POST without a kind", "POST", PATH, {**OBJECT, "kind": ""}, "InvalidArguments"),
    case("POST without a version", "POST", PATH, {**OBJECT, "apiVersion": None}, "InvalidArguments"),
    case("POST without a name", "POST", PATH, {**OBJECT, "metadata": {}}, "InvalidArguments"),
    case("POST unknown kind", "POST", PATH, {**OBJECT, "kind": "Nothing"}, "InternalError"),
    case("POST unknown version", "POST", PATH, {**OBJECT, "apiVersion": "none/v9"}, "InternalError"),
    case("POST version with a way out", "POST", PATH, {**OBJECT, "apiVersion": "../../x/v1"}, "InternalError"),
    case("POST that the API server refuses", "POST", PATH, {**OBJECT, "data": 7}, "InternalError"),
    case(
        "POST no such namespace",
        "POST",
        PATH,
        {**OBJECT, "metadata": {"name": "x", "namespace": "no"}},
        "InternalError",
    ),
    case("POST no namespace", "POST", PATH, {**OBJECT, "metadata": {"name": "x"}}, "InternalError"),
    case("POST action", "POST", PATH + "?action=patch", OBJECT, "ActionNotAllowed"),
    case("POST by another", "POST", PATH, OBJECT, "OnlyRootAllowed", who="<alice>"),
    case("DELETE without a name", "POST", PATH + "?action=delete", {**QUERY, "name": ""}, "InvalidArguments"),
    case("DELETE without a kind", "POST", PATH + "?action=delete", {**QUERY, "kind": ""}, "InvalidArguments"),
    case("DELETE without a version", "POST", PATH + "?action=delete", {**QUERY, "apiVersion": ""}, "InvalidArguments"),
    case("DELETE of nothing", "POST", PATH + "?action=delete", QUERY, "InternalError"),
    case("DELETE by another", "POST", PATH + "?action=delete", QUERY, "OnlyRootAllowed", who="<alice>"),
    case("GET without a name", "GET", query_without("name"), None, "InvalidArguments"),
    case("GET without a kind", "GET", query_without("kind"), None, "InvalidArguments"),
    case("GET without a version", "GET", query_without("apiVersion"), None, "InvalidArguments"),
    case("GET of nothing", "GET", query_without(""), None, "InternalError"),
    case("GET a way out by dots", "GET", query_without("name") + "&name=..", None, "InternalError"),
    case("GET by another", "GET", query_without(""), None, "OnlyRootAllowed", who="<alice>"),
    case("PUT not JSON", "PUT", PATH, "{", "MalformedJSON"),
    case("PUT without a name", "PUT", PATH, {**OBJECT, "metadata": {}}, "InvalidArguments"),
    case("PUT of nothing", "PUT", PATH, OBJECT, "InternalError"),
    case("PUT by another", "PUT", PATH, OBJECT, "OnlyRootAllowed", who="<alice>"),
    case(
        "resource by another", "GET", "/cluster/resource?clusterNames=<cluster>", None, "OnlyRootAllowed", who="<alice>"
    ),
    case("filter by another", "POST", "/cluster/resource", {}, "OnlyRootAllowed", who="<alice>"),
    case("infos by another", "GET", "/cluster/<cluster>/nodeInfos", None, "OnlyRootAllowed", who="<alice>"),
]


@table(REFUSED)
def test_refused(joined, alice, row):
    flow, _, name = joined
    check(flow, row, {"cluster": name, "alice": alice})


def test_a_cluster_that_is_away(flow, kube_fake, admin):
    """Its words come in the error; nobody waits for ever."""
    text = pathlib.Path(admin).read_text().replace(kube_fake.cluster.url, "https://127.0.0.1:1")
    assert "127.0.0.1:1" in text
    body = {"clusterType": "Kubernetes", "version": "v1.33", "credential": base64.b64encode(text.encode()).decode()}
    name = flow.make_cluster(**body)["clusterName"]
    assert "127.0.0.1" in refused(flow.post(f"/cluster/{name}/k8s/object", OBJECT), "InternalError")["message"]
    good(flow.delete("/cluster/" + name), empty=True)


# -- jobs


def submit(flow, queue, **about):
    flavour = about.pop("flavour", {"name": "customFlavour", "cpu": "1", "mem": "128Mi"})
    # Pods stay when they have ended, so that who comes late to look at one finds it.
    stay = {"test/succeed-after": "2s", "paddleflow/job-ttl-seconds": "600"}
    annotations = {**stay, **about.pop("annotations", {})}
    body = {"command": "true", "flavour": flavour, "annotations": annotations, "schedulingPolicy": {"queue": queue}}
    return good(flow.post("/job/single", {**body, **about})).json["id"]


POD = {"apiVersion": "v1", "kind": "Pod"}


def only_pod(kube):
    (pod,) = wait_for(lambda: kube.items("pods", selector="owner=paddleflow"), what="the pod")
    return pod


def test_a_template_is_the_base_of_a_pod(joined):
    """9: what the job says is the job's, lists grow, the rest is the template's."""
    flow, kube, name = joined
    queue = flow.make_queue(clusterName=name, namespace=kube.name)
    template = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"from": "template", "owner": "somebody"}, "annotations": {"note": "of it"}},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": "fake-1"},
            "restartPolicy": "Always",
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "containers": [
                {
                    "name": "its-own",
                    "image": IMAGE,
                    "imagePullPolicy": "Never",
                    "env": [{"name": "PADDLE_JOB_NAME", "value": "of the template"}, {"name": "MORE", "value": "1"}],
                    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                },
                {"name": "beside", "image": IMAGE},
            ],
        },
    }
    job = submit(flow, queue, extensionTemplate=template, env={"OURS": "2"}, labels={"team": "a", "from": "job"})
    pod = only_pod(kube)
    labels, spec = pod["metadata"]["labels"], pod["spec"]
    assert {key: labels[key] for key in ("from", "owner", "team", "paddleflow-job-id", "volcano.sh/queue-name")} == {
        "from": "template",
        "owner": "paddleflow",
        "team": "a",
        "paddleflow-job-id": job,
        "volcano.sh/queue-name": queue,
    }
    assert pod["metadata"]["annotations"]["note"] == "of it"
    assert spec["nodeSelector"] == {"kubernetes.io/hostname": "fake-1"} and spec["restartPolicy"] == "Never"
    main = spec["containers"][0]
    assert [container["name"] for container in spec["containers"]] == ["main", "beside"]
    assert (main["image"], main["imagePullPolicy"], main["command"]) == (IMAGE, "Never", ["sh", "-c", "true"])
    assert main["resources"]["requests"]["cpu"] == "1"
    env = {item["name"]: item.get("value") for item in main["env"]}
    assert (env["PADDLE_JOB_NAME"], env["MORE"], env["OURS"]) == ("of the template", "1", "2")
    assert env["PF_JOB_NAMESPACE"] == kube.name and env["PF_JOB_QUEUE_NAME"] == queue
    assert len(env) == len(main["env"])
    assert {"name": "scratch", "mountPath": "/scratch"} in main["volumeMounts"]
    wait_for(lambda: only_pod(kube)["spec"].get("nodeName") == "fake-1", what="its node")
    done = flow.wait(job)
    assert done["status"] == "succeeded", done["message"]
    assert done["runtime"]["nodeName"] == "fake-1"


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


TAKEN = {
    "unknown fields": {"spec": {"nonsense": nested(40), "containers": [{"nothing": 1}]}},
    "our labels": {"metadata": {"labels": {"paddle-job-id": "x", "owner": "me", "paddleflow-job-id": "y"}}},
    "our variables": {"spec": {"containers": [{"env": [{"name": "PADDLE_JOB_ID", "value": "mine"}]}]}},
    "our host": {"spec": {"hostname": "x", "subdomain": "y", "restartPolicy": "Always"}},
    "another name": {"metadata": {"name": "mine", "namespace": "default", "finalizers": ["a/b"]}},
}
FAILS = {
    "a type": ({"spec": {"nodeSelector": 7}}, "nodeSelector"),
    "a label": ({"metadata": {"labels": {"long": "x" * 64}}}, "63"),
    "two of a name": ({"spec": {"containers": [{"name": "main"}, {"name": "main", "image": IMAGE}]}}, "Duplicate"),
    "a variable": ({"spec": {"containers": [{"env": [{"name": "", "value": "x"}]}]}}, "env[0].name"),
    "a mount": ({"spec": {"containers": [{"volumeMounts": [{"name": "none", "mountPath": "/x"}]}]}}, "volumeMounts[0]"),
}


@pytest.mark.parametrize("about", TAKEN.values(), ids=TAKEN)
def test_templates_that_collide_with_ours(joined, about):
    """What is the platform's stays so, what the API server does not know it drops: the job runs."""
    flow, kube, name = joined
    queue = flow.make_queue(clusterName=name, namespace=kube.name)
    longest = fresh("j").ljust(63, "x")
    job = submit(flow, queue, id=longest, name="n" * 512, image=IMAGE, extensionTemplate={**POD, **about})
    pod = only_pod(kube)
    assert job == longest == pod["metadata"]["labels"]["paddleflow-job-id"]
    assert pod["metadata"]["labels"]["owner"] == "paddleflow" and "a/b" not in pod["metadata"].get("finalizers", [])
    assert pod["metadata"]["name"] != "mine" and pod["spec"]["restartPolicy"] == "Never"
    done = flow.wait(job)
    assert done["status"] == "succeeded", done["message"]


@pytest.mark.parametrize(("about", "says"), FAILS.values(), ids=FAILS)
def test_templates_that_the_api_server_refuses(joined, about, says):
    """The job fails with its words, whatever its form; other jobs do not notice."""
    flow, kube, name = joined
    queue = flow.make_queue(clusterName=name, namespace=kube.name)
    whole = {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "spec": {"worker": {"template": about}}}
    member = {"role": "worker", "replicas": 2, "image": IMAGE, "command": "true", "flavour": {"name": "flavour1"}}
    body = {"framework": "paddle", "members": [member], "schedulingPolicy": {"queue": queue}}
    jobs = [
        submit(flow, queue, image=IMAGE, extensionTemplate={**POD, **about}),
        good(flow.post("/job/distributed", {**body, "extensionTemplate": whole})).json["id"],
    ]
    for job in jobs:
        done = flow.wait(job)
        assert done["status"] == "failed" and says in done["message"], done["message"]
    done = flow.wait(submit(flow, queue, image=IMAGE))
    assert done["status"] == "succeeded", done["message"]


def test_a_template_alone(joined):
    """6.3: without members it is taken as it is: roles, image, command and what pods ask for are its own."""
    flow, kube, name = joined
    queue = flow.make_queue(clusterName=name, namespace=kube.name)
    container = {
        "name": "c",
        "image": IMAGE,
        "command": ["sh"],
        "args": ["-c", "true"],
        "resources": {"requests": {"cpu": "750m", "memory": "64Mi"}},
    }
    template = {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "spec": {"worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}}},
    }
    body = {
        "framework": "paddle",
        "extensionTemplate": template,
        "schedulingPolicy": {"queue": queue},
        "annotations": {"test/succeed-after": "2s", "paddleflow/job-ttl-seconds": "600"},
    }
    job = good(flow.post("/job/distributed", body)).json["id"]
    pods = wait_for(
        lambda: (found := kube.items("pods", selector=f"paddleflow-job-id={job}")) and len(found) == 2 and found,
        what="two pods",
    )
    for pod in pods:
        main = pod["spec"]["containers"][0]
        assert main["image"] == IMAGE and main["command"][-3:] == ["sh", "-c", "true"]
        assert main["resources"]["requests"] == {"cpu": "750m", "memory": str(64 << 20)}
    done = flow.wait(job)
    assert done["status"] == "succeeded", done["message"]
    assert done["extensionTemplate"] == template


TEMPLATES = """
apiVersion: v1
kind: Pod
metadata: {labels: {from: single}}
spec:
  nodeSelector: {kubernetes.io/hostname: fake-2}
  containers:
  - {name: c, command: [sh, -c], args: ["true"], env: [{name: A, value: "1"}]}
# single-job
---
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
spec: {worker: {template: {metadata: {labels: {from: collective}}}}}
# paddle-collective-job
"""


def test_templates_of_jobs_that_bring_none(make_flow, kube_fake, admin, tmp_path):
    """9: by the kind of the job; a job's own takes its place whole."""
    (tmp_path / "templates").write_text(TEMPLATES)
    flow = make_flow("--job-templates", tmp_path / "templates")
    queue = flow.make_queue(clusterName=join(flow, admin), namespace=kube_fake.name)
    member = {"role": "worker", "replicas": 2, "image": IMAGE, "command": "true", "flavour": {"name": "flavour1"}}
    body = {"framework": "paddle", "members": [member], "schedulingPolicy": {"queue": queue}}
    stay = {"test/succeed-after": "2s", "paddleflow/job-ttl-seconds": "600"}
    jobs = {
        "single": submit(flow, queue, image=IMAGE, command=""),
        "collective": good(flow.post("/job/distributed", {**body, "annotations": stay})).json["id"],
        None: submit(flow, queue, image=IMAGE, extensionTemplate={**POD, "spec": {"priority": None}}),
    }
    for label, job in jobs.items():
        chosen = f"paddleflow-job-id={job}"
        pod = wait_for(lambda chosen=chosen: kube_fake.items("pods", selector=chosen), what="its pod")[0]
        assert pod["metadata"]["labels"].get("from") == label
        if label == "single":
            main = pod["spec"]["containers"][0]
            assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "fake-2"}
            assert (main["command"], main["name"]) == (["sh", "-c", "true"], "main")
            assert {"name": "A", "value": "1"} in main["env"]
        done = flow.wait(job)
        assert done["status"] == "succeeded", done["message"]
        assert "defaultTemplate" not in done and bool(done["extensionTemplate"]) == (label is None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: Pod\n", "document 1"),
        ("kind: Pod\n# a\n---\nkind: Pod\n# a\n", "'a' already"),
        ("kind: Pod\nspec: 7\n# single-job\n", "spec must be an object"),
        ("kind: [\n# single-job\n", "document 1"),
    ],
)
def test_templates_that_cannot_be_used(tmp_path, text, says):
    (tmp_path / "templates").write_text(text)
    words = [BIN / "paddled", "--state", tmp_path / "state", "--listen", "none", "--job-templates"]
    done = subprocess.run([*words, tmp_path / "templates"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and says in done.stderr and str(tmp_path / "templates") in done.stderr, done.stderr


@pytest.fixture
def classes(kube_fake):
    """What an installer makes (doc/reference/scheduling.md, "Priority classes")."""
    names = {"low": -100, "high": 100}
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for name, value in names.items():
        kube_fake.api.create(path, {"metadata": {"name": name}, "value": value})
    yield
    for name in names:
        kube_fake.api.delete(f"{path}/{name}")


@pytest.mark.parametrize("priority, name", [("HIGH", "high"), ("LOW", "low"), ("NORMAL", None)])
def test_priority_classes(flow, kube_fake, classes, admin, priority, name):
    """8.3, where the cluster has them."""
    queue = flow.make_queue(clusterName=join(flow, admin), namespace=kube_fake.name)
    body = {"queue": queue, "priority": priority}
    job = submit(flow, queue, image=IMAGE, schedulingPolicy=body)
    assert only_pod(kube_fake)["spec"].get("priorityClassName") == name
    done = flow.wait(job)
    assert done["status"] == "succeeded", done["message"]


def test_k3s(flow, kube_fake, admin):
    """15.2: pods alone, no quota, no objects for queues; the node's name is told."""
    name = join(flow, admin, clusterType="K3S")
    queue = flow.make_queue(clusterName=name, namespace=kube_fake.name, maxResources={"cpu": "1", "mem": "1Gi"})
    job = submit(flow, queue, image=IMAGE, flavour={"name": "customFlavour", "cpu": "2", "mem": "2Gi"})
    env = {item["name"]: item for item in only_pod(kube_fake)["spec"]["containers"][0]["env"]}
    assert env["K3S_NODE_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    done = flow.wait(job)
    assert done["status"] == "succeeded", done["message"]
    queues = kube_fake.api.get("/apis/scheduling.volcano.sh/v1beta1/queues")["items"]
    assert queue not in {item["metadata"]["name"] for item in queues}
    member = {"role": "worker", "replicas": 2, "image": IMAGE, "command": "true", "flavour": {"name": "flavour1"}}
    body = {"framework": "paddle", "members": [member], "schedulingPolicy": {"queue": queue}}
    done = flow.wait(good(flow.post("/job/distributed", body)).json["id"])
    assert done["status"] == "failed" and "K3S" in done["message"]
    refused(flow.post(f"/cluster/{name}/k8s/object", OBJECT), "ActionNotAllowed")
    assert good(flow.get(f"/cluster/{name}/nodeInfos")).json["totalCount"] >= FAKE_NODES
