"""2.4 queues, 1.11 resources, 7.3 their states."""

import pytest

from paddleflow.client import case, check, fresh, good, has_keys, is_recent, matches, pages, refused, table

ISOLATION = "paddleflow.baidu.com/resource-isolation-type"
PARENT = "paddleflow.baidu.com/elastic-resource-quota-parent"
KEYS = "id name namespace clusterName quotaType minResources maxResources location status createTime updateTime"


def new(**about):
    return {"name": "never", "namespace": "default", "maxResources": {"cpu": "1", "mem": "1Gi"}, **about}


def new_without(*names, **about):
    return {key: value for key, value in new(**about).items() if key not in names}


def with_max(**about):
    return new(maxResources={"cpu": "1", "mem": "1Gi", **about})


REFUSED = [
    case("2.4 POST not JSON", "POST", "/queue", "{", "MalformedJSON"),
    case("2.4 POST name of wrong type", "POST", "/queue", new(name=5), "MalformedJSON"),
    case("2.4 POST resources of wrong type", "POST", "/queue", new(maxResources="1"), "MalformedJSON"),
    case("2.4 POST policy of wrong type", "POST", "/queue", new(schedulingPolicy="priority"), "MalformedJSON"),
    case("2.4 POST location of wrong type", "POST", "/queue", new(location=["x"]), "MalformedJSON"),
    case("2.4 POST by another", "POST", "/queue", new(), "OnlyRootAllowed", who="<alice>"),
    case("2.4 POST root before name", "POST", "/queue", {}, "OnlyRootAllowed", who="<alice>"),
    case("2.4 POST name missing", "POST", "/queue", new_without("name"), "QueueNameNotFound"),
    case("2.4 POST name empty", "POST", "/queue", new(name=""), "QueueNameNotFound"),
    case("2.4 POST name before cluster", "POST", "/queue", new(name="", clusterName="none"), "QueueNameNotFound"),
    case(
        "2.4 POST cluster unknown", "POST", "/queue", new(clusterName="none"), "ClusterNotFound", "ClusterNameNotFound"
    ),
    case(
        "2.4 POST cluster before namespace",
        "POST",
        "/queue",
        new_without("namespace", clusterName="none"),
        "ClusterNotFound",
        "ClusterNameNotFound",
    ),
    case("2.4 POST cluster offline", "POST", "/queue", new(clusterName="<offline>"), "InvalidClusterStatus"),
    case(
        "2.4 POST cluster before its namespace",
        "POST",
        "/queue",
        new(clusterName="<offline>", namespace="B_D"),
        "InvalidClusterStatus",
    ),
    case("2.4 POST namespace missing", "POST", "/queue", new_without("namespace"), "NamespaceNotFound"),
    case("2.4 POST namespace empty", "POST", "/queue", new(namespace=""), "NamespaceNotFound"),
    case("2.4 POST namespace upper case", "POST", "/queue", new(namespace="Default"), "NamespaceNotFound"),
    case("2.4 POST namespace of 64", "POST", "/queue", new(namespace="n" * 64), "NamespaceNotFound"),
    case(
        "2.4 POST namespace not in the cluster's list",
        "POST",
        "/queue",
        new(clusterName="<listed>", namespace="other"),
        "NamespaceNotFound",
    ),
    case("2.4 POST namespace before name", "POST", "/queue", new(namespace="B_D", name="B_D"), "NamespaceNotFound"),
    case("2.4 POST name upper case", "POST", "/queue", new(name="Queue"), "InvalidNamePattern"),
    case("2.4 POST name with an underscore", "POST", "/queue", new(name="a_b"), "InvalidNamePattern"),
    case("2.4 POST name with a dot", "POST", "/queue", new(name="a.b"), "InvalidNamePattern"),
    case("2.4 POST name with a dash first", "POST", "/queue", new(name="-a"), "InvalidNamePattern"),
    case("2.4 POST name with a dash last", "POST", "/queue", new(name="a-"), "InvalidNamePattern"),
    case("2.4 POST name of 64", "POST", "/queue", new(name="a" * 64), "InvalidNamePattern"),
    case("2.4 POST name with a newline", "POST", "/queue", new(name="a\n"), "InvalidNamePattern"),
    case("2.4 POST name before quota type", "POST", "/queue", new(name="B_D", quotaType="x"), "InvalidNamePattern"),
    case("2.4 POST taken", "POST", "/queue", new(name="default-queue"), "QueueNameDuplicated"),
    case("2.4 POST default", "POST", "/queue", new(name="default"), "QueueNameDuplicated"),
    case(
        "2.4 POST taken before quota type",
        "POST",
        "/queue",
        new(name="default-queue", quotaType="x"),
        "QueueNameDuplicated",
    ),
    case("2.4 POST quota type", "POST", "/queue", new(quotaType="x"), "QueueQuotaTypeIsNotSupported"),
    case(
        "2.4 POST quota type letters", "POST", "/queue", new(quotaType="ElasticQuota"), "QueueQuotaTypeIsNotSupported"
    ),
    case(
        "2.4 POST quota type before resources",
        "POST",
        "/queue",
        new(quotaType="x", maxResources={"cpu": "-1"}),
        "QueueQuotaTypeIsNotSupported",
    ),
    case("2.4 POST max negative", "POST", "/queue", with_max(cpu="-1"), "InvalidComputeResource"),
    case("2.4 POST max memory negative", "POST", "/queue", with_max(mem="-1Gi"), "InvalidComputeResource"),
    case("2.4 POST max no quantity", "POST", "/queue", with_max(cpu="one"), "InvalidComputeResource"),
    case("2.4 POST max suffix", "POST", "/queue", with_max(mem="1Xi"), "InvalidComputeResource"),
    case("2.4 POST max too much", "POST", "/queue", with_max(mem="9999999999Ei"), "InvalidComputeResource"),
    case(
        "2.4 POST max scalar negative",
        "POST",
        "/queue",
        with_max(scalarResources={"nvidia.com/gpu": "-1"}),
        "InvalidComputeResource",
    ),
    case("2.4 POST min no quantity", "POST", "/queue", new(minResources={"cpu": "x"}), "InvalidComputeResource"),
    case("2.4 POST min negative", "POST", "/queue", new(minResources={"cpu": "-1"}), "InvalidComputeResource"),
    case(
        "2.4 POST min above max",
        "POST",
        "/queue",
        new(minResources={"cpu": "2", "mem": "1Gi"}),
        "InvalidComputeResource",
        "QueueResourceNotMatch",
    ),
    case(
        "2.4 POST min of what max has not",
        "POST",
        "/queue",
        new(minResources={"cpu": "1", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "1"}}),
        "InvalidComputeResource",
        "QueueResourceNotMatch",
    ),
    case(
        "2.4 POST isolation type",
        "POST",
        "/queue",
        new(location={ISOLATION: "other"}),
        "InvalidArguments",
        "QueueInvalidField",
        "QueueResourceNotMatch",
    ),
    case("2.4 GET marker", "GET", "/queue?marker=zz", None, "InvalidMarker"),
    case("2.4 GET one unknown", "GET", "/queue/none", None, "QueueNameNotFound"),
    case("2.4 GET one unknown by another", "GET", "/queue/none", None, "ActionNotAllowed", who="<alice>"),
    case("2.4 GET one not granted", "GET", "/queue/<queue>", None, "ActionNotAllowed", who="<alice>"),
    case("2.4 PUT not JSON", "PUT", "/queue/<queue>", "{", "MalformedJSON"),
    case("2.4 PUT wrong type", "PUT", "/queue/<queue>", {"maxResources": []}, "MalformedJSON"),
    case("2.4 PUT by another", "PUT", "/queue/<queue>", {}, "OnlyRootAllowed", who="<alice>"),
    case("2.4 PUT unknown by another", "PUT", "/queue/none", {}, "OnlyRootAllowed", who="<alice>"),
    case("2.4 PUT unknown", "PUT", "/queue/none", {"maxResources": {"cpu": "1"}}, "RecordNotFound"),
    case("2.4 PUT cluster offline", "PUT", "/queue/<sleeping>", {"maxResources": {"cpu": "1"}}, "InvalidClusterStatus"),
    case("2.4 PUT max negative", "PUT", "/queue/<queue>", {"maxResources": {"cpu": "-1"}}, "InvalidComputeResource"),
    case(
        "2.4 PUT max no quantity", "PUT", "/queue/<queue>", {"maxResources": {"mem": "much"}}, "InvalidComputeResource"
    ),
    case(
        "2.4 PUT min above max",
        "PUT",
        "/queue/<elastic>",
        {"minResources": {"cpu": "99"}},
        "InvalidComputeResource",
        "QueueResourceNotMatch",
    ),
    case(
        "2.4 PUT max below min",
        "PUT",
        "/queue/<elastic>",
        {"maxResources": {"cpu": "500m"}},
        "InvalidComputeResource",
        "QueueResourceNotMatch",
    ),
    case(
        "2.4 PUT isolation type", "PUT", "/queue/<elastic>", {"location": {ISOLATION: "physical"}}, "InvalidArguments"
    ),
    case("2.4 DELETE by another", "DELETE", "/queue/<queue>", None, "OnlyRootAllowed", who="<alice>"),
    case("2.4 DELETE unknown by another", "DELETE", "/queue/none", None, "OnlyRootAllowed", who="<alice>"),
    case("2.4 DELETE unknown", "DELETE", "/queue/none", None, "QueueNameNotFound"),
]


@pytest.fixture(scope="module")
def names(flow, alice):
    offline = flow.make_cluster(status="offline")["clusterName"]
    sleeping = flow.make_cluster()["clusterName"]
    queue = flow.make_queue(clusterName=sleeping)
    good(flow.put("/cluster/" + sleeping, {"status": "offline"}))
    elastic = flow.make_queue(quotaType="elasticQuota", minResources={"cpu": "1", "mem": "1Gi"})
    return {
        "alice": alice,
        "offline": offline,
        "sleeping": queue,
        "listed": flow.make_cluster(namespaceList=["one", "two"])["clusterName"],
        "queue": flow.make_queue(),
        "elastic": elastic,
    }


@table(REFUSED)
def test_refused(flow, names, row):
    check(flow, row, names)


def test_create(flow):
    name = fresh("made-")
    assert good(flow.post("/queue", new(name=name))).json == {"name": name}
    queue = good(flow.get("/queue/" + name)).json
    has_keys(queue, KEYS + " usedResources idleResources", "schedulingPolicy")
    matches("queue-[0-9a-f]{8}", queue["id"])
    assert (queue["namespace"], queue["clusterName"]) == ("default", "default-cluster")
    assert queue["quotaType"] == "elasticQuota"
    assert queue["maxResources"] == {"cpu": "1", "memory": "1Gi"}
    assert queue["minResources"] == {"cpu": "0", "memory": "0"}
    assert queue["status"] == "open"
    assert queue["location"][ISOLATION] == "logical" and queue["location"][PARENT] == "root"
    assert not queue.get("schedulingPolicy")
    is_recent(queue["createTime"])
    is_recent(queue["updateTime"])


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a" * 63, "1-2"], ids=lambda name: "1.12 queue name " + name[:5])
def test_names(flow, name):
    assert good(flow.post("/queue", new(name=name))).json == {"name": name}
    good(flow.delete("/queue/" + name), empty=True)


def test_a_volcano_queue(flow):
    queue = good(flow.get("/queue/" + flow.make_queue())).json
    assert queue["quotaType"] == "volcanoCapabilityQuota"
    assert isinstance(queue["location"], dict) and ISOLATION not in queue["location"]


def test_an_elastic_queue_keeps_its_min(flow):
    name = flow.make_queue(quotaType="elasticQuota", minResources={"cpu": "500m", "mem": "512Mi"})
    assert good(flow.get("/queue/" + name)).json["minResources"] == {"cpu": "500m", "memory": "512Mi"}


def test_physical_isolation(flow):
    name = flow.make_queue(quotaType="elasticQuota", location={ISOLATION: "physical", "rack": "a"})
    location = good(flow.get("/queue/" + name)).json["location"]
    assert location[ISOLATION] == "physical" and location["rack"] == "a" and PARENT not in location


def test_max_may_be_absent(flow):
    """12, 2.4"""
    name = fresh("nomax-")
    good(flow.post("/queue", new_without("maxResources", name=name)))
    assert good(flow.get("/queue/" + name)).json["maxResources"] == {"cpu": "0", "memory": "0"}


def test_namespace_of_the_clusters_list(flow, names):
    name = fresh("listed-")
    good(flow.post("/queue", new(name=name, clusterName=names["listed"], namespace="two")))
    queue = good(flow.get("/queue/" + name)).json
    assert (queue["clusterName"], queue["namespace"]) == (names["listed"], "two")


def test_scheduling_policy_is_kept(flow):
    """12, 2.4: names are not checked."""
    name = flow.make_queue(schedulingPolicy=["priority", "other"])
    assert good(flow.get("/queue/" + name)).json["schedulingPolicy"] == ["priority", "other"]


@pytest.mark.parametrize(
    "given, shown",
    [
        ({"cpu": "1500m", "mem": "1Gi"}, {"cpu": "1500m", "memory": "1Gi"}),
        ({"cpu": "2000m", "mem": "1024Mi"}, {"cpu": "2", "memory": "1Gi"}),
        ({"cpu": "0.5", "mem": "1.5Gi"}, {"cpu": "500m", "memory": "1536Mi"}),
        ({"cpu": "1e1", "mem": "2G"}, {"cpu": "10", "memory": "2G"}),
        ({"cpu": "1k", "mem": "1000Mi"}, {"cpu": "1k", "memory": "1048576k"}),
        ({"cpu": "1", "mem": "1500"}, {"cpu": "1", "memory": "1500"}),
        ({"cpu": "1", "mem": "5000"}, {"cpu": "1", "memory": "5k"}),
        ({"cpu": "", "mem": ""}, {"cpu": "0", "memory": "0"}),
        ({"cpu": "1"}, {"cpu": "1", "memory": "0"}),
        ({}, {"cpu": "0", "memory": "0"}),
        (
            {"cpu": "1", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "2"}},
            {"cpu": "1", "memory": "1Gi", "scalarResources": {"nvidia.com/gpu": "2"}},
        ),
        (
            {"cpu": "1", "mem": "1Gi", "scalarResources": {"a.io/b": "2000"}},
            {"cpu": "1", "memory": "1Gi", "scalarResources": {"a.io/b": "2k"}},
        ),
        (
            {"cpu": "1", "mem": "1Gi", "scalarResources": {"rdma/hca": "1Ki"}},
            {"cpu": "1", "memory": "1Gi", "scalarResources": {"rdma/hca": "1024"}},
        ),
    ],
    ids=lambda value: "1.11 " + "-".join(map(str, value.values())) if "memory" not in value else "",
)
def test_quantities(flow, given, shown):
    name = flow.make_queue(maxResources=given)
    assert good(flow.get("/queue/" + name)).json["maxResources"] == shown


def test_list(flow, names, alice):
    page = good(flow.get("/queue?maxKeys=1000")).json
    has_keys(page, "maxKeys isTruncated queueList", "nextMarker")
    for queue in page["queueList"]:
        has_keys(queue, KEYS, "schedulingPolicy")  # used and idle are of one queue alone
        assert isinstance(queue["location"], dict)
    shown = [queue["name"] for queue in page["queueList"]]
    assert shown.index("default-queue") < shown.index(names["elastic"]) < shown.index(names["queue"])  # insertion


def test_list_by_name(flow, names):
    assert [queue["name"] for queue in good(flow.get("/queue?name=" + names["queue"])).json["queueList"]] == [
        names["queue"]
    ]
    assert good(flow.get("/queue?name=" + names["queue"][:-1])).json["queueList"] == []


def test_list_of_another(flow, names):
    user = flow.make_user()
    assert good(flow.get("/queue", who=user)).json["queueList"] == []
    queues = [flow.make_queue() for _ in range(3)]
    for queue in queues:
        flow.grant(user, queue)
    assert [queue["name"] for queue in good(flow.get("/queue", who=user)).json["queueList"]] == queues
    assert good(flow.get("/queue?name=" + names["queue"], who=user)).json["queueList"] == []
    flow.make_queue()
    assert pages(flow, "/queue", "queueList", "name", 2, who=user) == queues  # pages are of what one sees


def test_used_and_idle(flow):
    name = flow.make_queue(maxResources={"cpu": "4", "mem": "8Gi", "scalarResources": {"nvidia.com/gpu": "2"}})
    queue = good(flow.get("/queue/" + name)).json
    assert queue["usedResources"]["cpu"] == "0" and queue["usedResources"]["memory"] == "0"
    assert queue["idleResources"] == {"cpu": "4", "memory": "8Gi", "scalarResources": {"nvidia.com/gpu": "2"}}
    flavour = {"cpu": "1500m", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    job = flow.submit("sleep 600", schedulingPolicy={"queue": name}, flavour=flavour)
    flow.wait(job, "running")
    queue = good(flow.get("/queue/" + name)).json
    assert queue["usedResources"] == {"cpu": "1500m", "memory": "1Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    assert queue["idleResources"] == {"cpu": "2500m", "memory": "7Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    flow.stop(job)


# -- update


def test_update_merges_resources(flow):
    name = flow.make_queue(
        maxResources={"cpu": "4", "mem": "8Gi", "scalarResources": {"nvidia.com/gpu": "2", "rdma/hca": "1"}}
    )
    reply = good(flow.put("/queue/" + name, {"maxResources": {"cpu": "6"}}))
    has_keys(reply.json, KEYS, "schedulingPolicy usedResources idleResources")
    assert reply.json["maxResources"] == {
        "cpu": "6",
        "memory": "8Gi",
        "scalarResources": {"nvidia.com/gpu": "2", "rdma/hca": "1"},
    }
    body = {"maxResources": {"scalarResources": {"rdma/hca": "", "nvidia.com/gpu": "3"}}}
    assert good(flow.put("/queue/" + name, body)).json["maxResources"] == {
        "cpu": "6",
        "memory": "8Gi",
        "scalarResources": {"nvidia.com/gpu": "3"},
    }
    assert good(flow.get("/queue/" + name)).json["maxResources"]["scalarResources"] == {"nvidia.com/gpu": "3"}


def test_update_min(flow):
    name = flow.make_queue(quotaType="elasticQuota", minResources={"cpu": "200m", "mem": "100Mi"})
    assert good(flow.put("/queue/" + name, {"minResources": {"cpu": "300m"}})).json["minResources"] == {
        "cpu": "300m",
        "memory": "100Mi",
    }


def test_update_merges_location(flow):
    name = flow.make_queue(location={"rack": "a", "row": "1"})
    location = good(flow.put("/queue/" + name, {"location": {"rack": "", "room": "x"}})).json["location"]
    assert location == {"row": "1", "room": "x"}


def test_update_policy(flow):
    name = flow.make_queue(schedulingPolicy=["one"])
    assert good(flow.put("/queue/" + name, {"schedulingPolicy": ["priority"]})).json["schedulingPolicy"] == [
        "one",
        "priority",
    ]
    assert good(flow.put("/queue/" + name, {"schedulingPolicy": ["one-"]})).json["schedulingPolicy"] == ["priority"]
    assert not good(flow.put("/queue/" + name, {"schedulingPolicy": ["priority-"]})).json.get("schedulingPolicy")


def test_update_of_nothing(flow):
    name = flow.make_queue()
    before = good(flow.get("/queue?name=" + name)).json["queueList"][0]
    after = good(flow.put("/queue/" + name, {})).json
    for key in ("id", "name", "maxResources", "quotaType", "status", "createTime"):
        assert before[key] == after[key]


def test_update_changes_nothing_else(flow, names):
    name = flow.make_queue()
    body = {
        "name": "other",
        "namespace": "other",
        "clusterName": names["listed"],
        "quotaType": "elasticQuota",
        "status": "closed",
    }
    queue = good(flow.put("/queue/" + name, body)).json
    assert (queue["name"], queue["namespace"], queue["clusterName"]) == (name, "default", "default-cluster")
    assert (queue["quotaType"], queue["status"]) == ("volcanoCapabilityQuota", "open")


# -- delete


def test_delete(flow):
    name = flow.make_queue()
    good(flow.delete("/queue/" + name), empty=True)
    refused(flow.get("/queue/" + name), "QueueNameNotFound")
    flow.make_queue(name=name)


def test_delete_of_a_queue_in_use(flow):
    name = flow.make_queue()
    job = flow.submit("sleep 600", schedulingPolicy={"queue": name})
    refused(flow.delete("/queue/" + name), "QueueIsInUse")
    flow.wait(job, "running")
    refused(flow.delete("/queue/" + name), "QueueIsInUse")
    flow.stop(job)
    good(flow.delete("/queue/" + name), empty=True)


def test_delete_while_a_job_waits(flow):
    name = flow.make_queue()
    full = flow.submit("sleep 600", schedulingPolicy={"queue": name}, flavour={"cpu": "8", "mem": "1Gi"})
    flow.wait(full, "running")
    waits = flow.submit("true", schedulingPolicy={"queue": name}, flavour={"cpu": "8", "mem": "1Gi"})
    refused(flow.delete("/queue/" + name), "QueueIsInUse")
    flow.stop(waits)
    refused(flow.delete("/queue/" + name), "QueueIsInUse")
    flow.stop(full)
    good(flow.delete("/queue/" + name), empty=True)


def test_the_seeded_queue(flow):
    """6"""
    queue = good(flow.get("/queue/default-queue")).json
    assert (queue["name"], queue["namespace"], queue["clusterName"]) == ("default-queue", "default", "default-cluster")
    assert (queue["quotaType"], queue["status"]) == ("volcanoCapabilityQuota", "open")
    assert queue["maxResources"] == {"cpu": "20", "memory": "20Gi"}
