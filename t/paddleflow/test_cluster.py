"""2.6 clusters."""

import base64

import pytest

from paddleflow.client import UUID, case, check, fresh, good, has_keys, is_recent, matches, refused, table

KEYS = "id clusterName description endpoint source clusterType version status credential setting namespaceList createTime updateTime"
BAD = ("InternalError", "InvalidClusterProperties", "InvalidArguments")  # field problems: upstream's word is the first
OBJECT = {"name": "x", "namespace": "default", "kind": "Pod", "apiVersion": "v1"}
QUERY = "name=x&namespace=default&kind=Pod&apiVersion=v1"


def new(**about):
    return {"clusterName": "never", "endpoint": "127.0.0.1", "clusterType": "Local", **about}


def new_without(*names, **about):
    return {key: value for key, value in new(**about).items() if key not in names}


REFUSED = [
    case("2.6 POST not JSON", "POST", "/cluster", "{", "MalformedJSON"),
    case("2.6 POST wrong type", "POST", "/cluster", new(namespaceList="x"), "MalformedJSON"),
    case("2.6 POST name missing", "POST", "/cluster", new_without("clusterName"), "InvalidNamePattern"),
    case("2.6 POST name of 1", "POST", "/cluster", new(clusterName="a"), "InvalidNamePattern"),
    case("2.6 POST name of 256", "POST", "/cluster", new(clusterName="a" * 256), "InvalidNamePattern"),
    case("2.6 POST name with a dash first", "POST", "/cluster", new(clusterName="-ab"), "InvalidNamePattern"),
    case("2.6 POST name with a dash last", "POST", "/cluster", new(clusterName="ab-"), "InvalidNamePattern"),
    case("2.6 POST name with a dot", "POST", "/cluster", new(clusterName="a.b"), "InvalidNamePattern"),
    case("2.6 POST name with a newline", "POST", "/cluster", new(clusterName="ab\n"), "InvalidNamePattern"),
    case("2.6 POST name before root", "POST", "/cluster", new(clusterName="a"), "InvalidNamePattern", who="<alice>"),
    case("2.6 POST by another", "POST", "/cluster", new(), "OnlyRootAllowed", who="<alice>"),
    case("2.6 POST endpoint missing", "POST", "/cluster", new_without("endpoint"), *BAD),
    case("2.6 POST endpoint of spaces", "POST", "/cluster", new(endpoint="  "), *BAD),
    case("2.6 POST type missing", "POST", "/cluster", new_without("clusterType"), *BAD),
    case("2.6 POST type unknown", "POST", "/cluster", new(clusterType="Slurm"), *BAD),
    case("2.6 POST type letters", "POST", "/cluster", new(clusterType="local"), *BAD),
    case("2.6 POST version missing", "POST", "/cluster", new(clusterType="Kubernetes"), *BAD),
    case("2.6 POST status", "POST", "/cluster", new(status="sleeping"), *BAD),
    case("2.6 POST namespace", "POST", "/cluster", new(namespaceList=["ok", "B_D"]), *BAD),
    case(
        "2.6 POST credential",
        "POST",
        "/cluster",
        new(clusterType="Kubernetes", version="1.16+", credential="bm90IGEga3ViZWNvbmZpZw=="),
        "InvalidClusterCredential",
    ),
    case(
        "2.6 POST credential no base64",
        "POST",
        "/cluster",
        new(clusterType="Kubernetes", version="1.16+", credential="!!"),
        "InvalidClusterCredential",
        *BAD,
    ),
    case("2.6 POST taken", "POST", "/cluster", new(clusterName="default-cluster"), "DuplicatedName"),
    case("2.6 GET by another", "GET", "/cluster", None, "OnlyRootAllowed", who="<alice>"),
    case("2.6 GET marker", "GET", "/cluster?marker=zz", None, "InvalidMarker"),
    case("2.6 GET one by another", "GET", "/cluster/default-cluster", None, "AccessDenied", who="<alice>"),
    case("2.6 GET one unknown", "GET", "/cluster/none", None, "ClusterNotFound"),
    case("2.6 PUT not JSON", "PUT", "/cluster/<cluster>", "{", "MalformedJSON"),
    case("2.6 PUT by another", "PUT", "/cluster/<cluster>", {}, "OnlyRootAllowed", who="<alice>"),
    case("2.6 PUT unknown", "PUT", "/cluster/none", {"description": "x"}, "ClusterNameNotFound"),
    case("2.6 PUT type", "PUT", "/cluster/<cluster>", {"clusterType": "Slurm"}, "InvalidClusterProperties"),
    case(
        "2.6 PUT version missing",
        "PUT",
        "/cluster/<cluster>",
        {"clusterType": "Kubernetes"},
        "InvalidClusterProperties",
    ),
    case("2.6 PUT status", "PUT", "/cluster/<cluster>", {"status": "sleeping"}, "InvalidClusterProperties"),
    case(
        "2.6 PUT credential",
        "PUT",
        "/cluster/<kube>",
        {"credential": "bm90IGEga3ViZWNvbmZpZw=="},
        "InvalidClusterProperties",
    ),
    case(
        "2.6 PUT drops a namespace in use",
        "PUT",
        "/cluster/<cluster>",
        {"namespaceList": ["other"]},
        "InvalidClusterProperties",
    ),
    case("2.6 DELETE by another", "DELETE", "/cluster/<cluster>", None, "OnlyRootAllowed", who="<alice>"),
    case("2.6 DELETE unknown", "DELETE", "/cluster/none", None, "ClusterNotFound"),
    case("2.6 GET resource by another", "GET", "/cluster/resource", None, "OnlyRootAllowed", who="<alice>"),
    case(
        "2.6 GET resource of none",
        "GET",
        "/cluster/resource?clusterNames=none",
        None,
        "InternalError",
        "ClusterNotFound",
        "ClusterNameNotFound",
    ),
    case("2.6 POST resource not JSON", "POST", "/cluster/resource", "{", "MalformedJSON"),
    case("2.6 POST resource wrong type", "POST", "/cluster/resource", {"clusterNames": "x"}, "MalformedJSON"),
    case("2.6 POST resource by another", "POST", "/cluster/resource", {}, "OnlyRootAllowed", who="<alice>"),
    case(
        "2.6 POST resource queue unknown",
        "POST",
        "/cluster/resource",
        {"queueName": "none"},
        "QueueNameNotFound",
        "InternalError",
    ),
    case(
        "2.6 nodeInfos by another", "GET", "/cluster/default-cluster/nodeInfos", None, "OnlyRootAllowed", who="<alice>"
    ),
    case("2.6 nodeInfos pageNo", "GET", "/cluster/default-cluster/nodeInfos?pageNo=x", None, "InvalidURI"),
    case("2.6 nodeInfos pageSize", "GET", "/cluster/default-cluster/nodeInfos?pageSize=x", None, "InvalidURI"),
    case("2.6 k8s POST cluster unknown", "POST", "/cluster/none/k8s/object", OBJECT, "ClusterNameNotFound"),
    case("2.6 k8s POST cluster of another type", "POST", "/cluster/<cluster>/k8s/object", OBJECT, "ActionNotAllowed"),
    case("2.6 k8s POST create", "POST", "/cluster/<cluster>/k8s/object?action=create", OBJECT, "ActionNotAllowed"),
    case("2.6 k8s POST delete", "POST", "/cluster/<cluster>/k8s/object?action=delete", OBJECT, "ActionNotAllowed"),
    case("2.6 k8s POST action", "POST", "/cluster/<cluster>/k8s/object?action=patch", OBJECT, "ActionNotAllowed"),
    case(
        "2.6 k8s GET cluster of another type", "GET", "/cluster/<cluster>/k8s/object?" + QUERY, None, "ActionNotAllowed"
    ),
    case("2.6 k8s GET cluster unknown", "GET", "/cluster/none/k8s/object?" + QUERY, None, "ClusterNameNotFound"),
    case("2.6 k8s PUT cluster of another type", "PUT", "/cluster/<cluster>/k8s/object", OBJECT, "ActionNotAllowed"),
    case("2.6 k8s PUT cluster unknown", "PUT", "/cluster/none/k8s/object", OBJECT, "ClusterNameNotFound"),
    case(
        "9 k8s POST by another",
        "POST",
        "/cluster/<cluster>/k8s/object",
        OBJECT,
        "OnlyRootAllowed",
        "ActionNotAllowed",
        "AccessDenied",
        who="<alice>",
    ),
    case(
        "9 k8s GET by another",
        "GET",
        "/cluster/<cluster>/k8s/object?" + QUERY,
        None,
        "OnlyRootAllowed",
        "ActionNotAllowed",
        "AccessDenied",
        who="<alice>",
    ),
    case(
        "9 k8s PUT by another",
        "PUT",
        "/cluster/<cluster>/k8s/object",
        OBJECT,
        "OnlyRootAllowed",
        "ActionNotAllowed",
        "AccessDenied",
        who="<alice>",
    ),
]


@pytest.fixture(scope="module")
def names(flow, alice):
    cluster = flow.make_cluster(namespaceList=["used", "free"])["clusterName"]
    flow.make_queue(clusterName=cluster, namespace="used")
    kube = flow.make_cluster(clusterType="Kubernetes", version="1.16+", status="offline")["clusterName"]
    return {"alice": alice, "cluster": cluster, "kube": kube}


@table(REFUSED)
def test_refused(flow, names, row):
    check(flow, row, names)


def test_create(flow):
    name = fresh("made")
    cluster = good(flow.post("/cluster", new(clusterName=name))).json
    has_keys(cluster, KEYS)
    matches("cluster-[0-9a-f]{8}", cluster["id"])
    assert (cluster["clusterName"], cluster["endpoint"], cluster["clusterType"]) == (name, "127.0.0.1", "Local")
    assert (cluster["status"], cluster["source"], cluster["version"]) == ("online", "OnPremise", "")
    assert (cluster["description"], cluster["credential"], cluster["setting"]) == ("", "", "")
    assert not cluster["namespaceList"]
    is_recent(cluster["createTime"])
    is_recent(cluster["updateTime"])
    assert good(flow.get("/cluster/" + name)).json == cluster


def test_create_with_all(flow):
    about = {
        "clusterName": fresh("all_of-it_"),
        "endpoint": "10.0.0.1:6443",
        "clusterType": "Local",
        "version": "v1.16",
        "status": "offline",
        "source": "Cloud",
        "credential": base64.b64encode(b"words").decode(),
        "description": "größe",
        "setting": "{}",
        "namespaceList": ["one", "two"],
    }
    cluster = good(flow.post("/cluster", {**about, "clusterId": "mine"})).json
    assert {key: cluster[key] for key in about} == about
    assert cluster["id"] != "mine"


def test_kubernetes_is_accepted(flow):
    """The type is known; that nothing is connected to it is said, and nothing runs there."""
    name = fresh("kube")
    cluster = good(
        flow.post("/cluster", new(clusterName=name, clusterType="Kubernetes", version="v1.16", status="offline"))
    ).json
    assert (cluster["clusterType"], cluster["version"], cluster["status"]) == ("Kubernetes", "v1.16", "offline")


@pytest.mark.parametrize("name", ["ab", "A_", "0-0", "a" * 255], ids=lambda name: "1.12 cluster name " + name[:4])
def test_names(flow, name):
    good(flow.post("/cluster", new(clusterName=name)))
    good(flow.delete("/cluster/" + name), empty=True)


def test_list(flow):
    one, two = (flow.make_cluster()["clusterName"] for _ in range(2))
    off = flow.make_cluster(status="offline")["clusterName"]
    page = good(flow.get("/cluster?maxKeys=1000")).json
    has_keys(page, "maxKeys isTruncated clusterList", "nextMarker")
    for cluster in page["clusterList"]:
        has_keys(cluster, KEYS)
    shown = [cluster["clusterName"] for cluster in page["clusterList"]]
    assert shown[0] == "default-cluster" and shown[-3:] == [one, two, off]  # insertion

    def listed(query):
        return [cluster["clusterName"] for cluster in good(flow.get("/cluster?" + query)).json["clusterList"] or []]

    assert listed(f"clusterNames={two},{one},none") == [one, two]
    assert listed(f"clusterNames={one},{off}&clusterStatus=offline") == [off]
    assert listed(f"clusterNames={one},{off}&clusterStatus=online") == [one]
    assert listed("clusterNames=none") == []
    assert off not in listed("clusterStatus=online&maxKeys=1000")


def test_update(flow):
    name = flow.make_cluster(description="before", namespaceList=["one"])["clusterName"]
    cluster = good(
        flow.put(
            "/cluster/" + name,
            {"description": "after", "endpoint": "10.1.1.1", "source": "Cloud", "setting": "s", "version": "1.20"},
        )
    ).json
    has_keys(cluster, KEYS)
    assert (cluster["description"], cluster["endpoint"], cluster["source"], cluster["setting"]) == (
        "after",
        "10.1.1.1",
        "Cloud",
        "s",
    )
    assert (cluster["version"], cluster["namespaceList"], cluster["clusterName"]) == ("1.20", ["one"], name)
    assert good(flow.put("/cluster/" + name, {"namespaceList": ["three"]})).json["namespaceList"] == ["three"]
    assert good(flow.put("/cluster/" + name, {"status": "offline"})).json["status"] == "offline"
    assert good(flow.put("/cluster/" + name, {})).json["id"] == cluster["id"]
    assert good(flow.get("/cluster/" + name)).json["description"] == "after"


def test_delete(flow):
    name = flow.make_cluster()["clusterName"]
    queue = flow.make_queue(clusterName=name)
    good(flow.delete("/cluster/" + name), empty=True)
    refused(flow.get("/cluster/" + name), "ClusterNotFound")
    refused(flow.delete("/cluster/" + name), "ClusterNotFound")
    refused(flow.get("/queue/" + queue), "QueueNameNotFound")  # its queues go with it


def test_delete_of_a_cluster_in_use(make_flow):
    flow = make_flow()
    flow.wait(job := flow.submit("sleep 600"), "running")
    refused(flow.delete("/cluster/default-cluster"), "QueueIsInUse")
    flow.stop(job)


def test_the_seeded_cluster(flow):
    """6, on an embedded server."""
    cluster = good(flow.get("/cluster/default-cluster")).json
    matches(UUID, cluster["id"])
    assert (cluster["clusterName"], cluster["endpoint"], cluster["clusterType"], cluster["status"]) == (
        "default-cluster",
        "127.0.0.1",
        "Local",
        "online",
    )
    assert isinstance(cluster["credential"], str)
    base64.b64decode(cluster["credential"], validate=True).decode()  # 8.15


# -- what the clusters have

AMOUNTS = {"cpu": "8", "memory": "16Gi"}


def test_resources(flow):
    value = good(flow.get("/cluster/resource?clusterNames=default-cluster")).json
    assert set(value) == {"default-cluster"}
    has_keys(value["default-cluster"], "nodeList summary errMsg")
    assert value["default-cluster"]["errMsg"] == ""
    (node,) = value["default-cluster"]["nodeList"]
    has_keys(node, "nodeName schedulable total idle")
    assert node["schedulable"] is True
    for amounts in (
        node["total"],
        node["idle"],
        value["default-cluster"]["summary"]["total"],
        value["default-cluster"]["summary"]["idle"],
    ):
        assert {key: amounts[key] for key in AMOUNTS} == AMOUNTS
        assert amounts["scalarResources"]["nvidia.com/gpu"] == "4"


def test_resources_in_use(flow):
    flavour = {"cpu": "2", "mem": "2Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    queue = flow.make_queue(maxResources={"cpu": "8", "mem": "16Gi", "scalarResources": {"nvidia.com/gpu": "4"}})
    flow.wait(job := flow.submit("sleep 600", flavour=flavour, schedulingPolicy={"queue": queue}), "running")
    summary = good(flow.get("/cluster/resource?clusterNames=default-cluster")).json["default-cluster"]["summary"]
    assert (summary["total"]["cpu"], summary["total"]["memory"]) == ("8", "16Gi")
    assert (
        summary["idle"]["cpu"],
        summary["idle"]["memory"],
        summary["idle"]["scalarResources"]["nvidia.com/gpu"],
    ) == ("6", "14Gi", "3")
    flow.stop(job)


def test_resources_of_online_clusters_alone(flow):
    """12, 2.6"""
    off = flow.make_cluster(status="offline")["clusterName"]
    value = good(flow.get("/cluster/resource")).json
    assert "default-cluster" in value and off not in value


def test_resources_by_filter(flow):
    value = good(flow.post("/cluster/resource", {"clusterNames": ["default-cluster"]})).json
    assert set(value) == {"default-cluster"}
    has_keys(value["default-cluster"], "allocatable capacity labels", "clusterName clusterSource queueName")
    (node,) = value["default-cluster"]["capacity"]
    assert set(value["default-cluster"]["allocatable"]) == set(value["default-cluster"]["labels"]) == {node}
    assert all(isinstance(amount, str) for amount in value["default-cluster"]["capacity"][node].values())
    assert value["default-cluster"]["labels"][node]["paddleflow/node-status"] == "Ready"


@pytest.mark.parametrize(
    "body, names",
    [
        ({}, True),
        ({"clusterNames": []}, True),
        ({"clusterNames": ["none"]}, False),
        ({"clusterNames": None, "queueName": None, "labels": None}, True),
        ({"queueName": "default-queue"}, True),
        ({"labels": "no-such=label"}, False),
        ({"labels": "no-such!=label"}, True),
        ({"labels": "mal=formed=label"}, None),
        ({"pageNo": 0, "pageSize": 0}, True),
        ({"pageNo": -1, "pageSize": -1}, True),
        ({"pageNo": 2, "pageSize": 1000}, False),
    ],
    ids=str,
)
def test_filters_of_resources(flow, body, names):
    """`names`: whether the node of the default cluster is among what is found; None: only that it answers."""
    value = good(flow.post("/cluster/resource", body)).json
    nodes = [node for cluster in value.values() for node in cluster["capacity"]]
    assert names is None or bool(nodes) == names


def test_no_clusters_by_filter(flow):
    """12, 2.6"""
    assert good(flow.post("/cluster/resource", {"clusterNames": ["none"]})).json == {}


def test_nodes(flow):
    value = good(flow.get("/cluster/default-cluster/nodeInfos")).json
    has_keys(value, "totalCount nodeList")
    assert value["totalCount"] == 1
    (node,) = value["nodeList"]
    has_keys(node, "nodeName nodeIP podsCount labels used capacity pods")
    assert node["capacity"]["cpu"] == 8000 and node["capacity"]["memory"] == 16 << 30
    assert node["capacity"]["nvidia.com/gpu"] == 4
    assert isinstance(node["podsCount"], int)


def test_pods_of_nodes(flow):
    flow.wait(job := flow.submit("sleep 600"), "running")
    (node,) = good(flow.get("/cluster/default-cluster/nodeInfos?pageNo=1&pageSize=1")).json["nodeList"]
    assert node["podsCount"] == len(node["pods"]) >= 1
    assert node["used"]["cpu"] >= 1000 and node["used"]["memory"] >= 1 << 30
    pods = [pod for pod in node["pods"] if job in pod["podName"]]
    assert pods, node
    has_keys(pods[0], "podName status labels resources")
    assert pods[0]["status"] == 1 and pods[0]["resources"]["cpu"] == 1000
    flow.stop(job)


def test_nodes_of_no_cluster(flow):
    """12, 2.6"""
    assert good(flow.get("/cluster/none/nodeInfos")).json == {"totalCount": 0, "nodeList": None}


def test_nodes_of_a_page_beyond(flow):
    value = good(flow.get("/cluster/default-cluster/nodeInfos?pageNo=2")).json
    assert value["totalCount"] == 1 and not value["nodeList"]
