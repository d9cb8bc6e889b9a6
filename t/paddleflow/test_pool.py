"""2.7 resource pools."""

import pytest

from paddleflow.client import case, check, fresh, good, has_keys, is_recent, matches, refused, table

KEYS = (
    "id name namespace type provider orgID creator description clusterName quotaType minResources totalResources labels "
    "annotations status isHybrid createTime updateTime"
)


def new(**about):
    return {"name": "never", "namespace": "default", "totalResources": {"cpu": "1", "mem": "1Gi"}, **about}


def new_without(*names, **about):
    return {key: value for key, value in new(**about).items() if key not in names}


REFUSED = [
    case("2.7 POST not JSON", "POST", "/resourcepool", "{", "MalformedJSON"),
    case("2.7 POST wrong type", "POST", "/resourcepool", new(isHybrid="yes"), "MalformedJSON"),
    case("2.7 POST by another", "POST", "/resourcepool", new(), "OnlyRootAllowed", who="<alice>"),
    case("2.7 POST name missing", "POST", "/resourcepool", new_without("name"), "InvalidArguments"),
    case("2.7 POST name", "POST", "/resourcepool", new(name="B_D"), "InvalidArguments", "InvalidNamePattern"),
    case("2.7 POST name of 64", "POST", "/resourcepool", new(name="a" * 64), "InvalidArguments", "InvalidNamePattern"),
    case(
        "2.7 POST namespace missing",
        "POST",
        "/resourcepool",
        new_without("namespace"),
        "InvalidArguments",
        "NamespaceNotFound",
    ),
    case("2.7 POST namespace", "POST", "/resourcepool", new(namespace="B_D"), "InvalidArguments", "NamespaceNotFound"),
    case("2.7 POST type of 33", "POST", "/resourcepool", new(type="t" * 33), "InvalidArguments"),
    case("2.7 POST provider of 33", "POST", "/resourcepool", new(provider="p" * 33), "InvalidArguments"),
    case("2.7 POST description of 2049", "POST", "/resourcepool", new(description="d" * 2049), "InvalidArguments"),
    case("2.7 POST cluster unknown", "POST", "/resourcepool", new(clusterName="none"), "ClusterNotFound"),
    case("2.7 POST cluster offline", "POST", "/resourcepool", new(clusterName="<offline>"), "InvalidClusterStatus"),
    case("2.7 POST quota type", "POST", "/resourcepool", new(quotaType="x"), "QueueQuotaTypeIsNotSupported"),
    case(
        "12 2.7 POST total negative",
        "POST",
        "/resourcepool",
        new(totalResources={"cpu": "-1", "mem": "1Gi"}),
        "InvalidComputeResource",
    ),
    case(
        "2.7 POST total no quantity",
        "POST",
        "/resourcepool",
        new(totalResources={"cpu": "x", "mem": "1Gi"}),
        "InvalidComputeResource",
    ),
    case("2.7 POST min negative", "POST", "/resourcepool", new(minResources={"cpu": "-1"}), "InvalidComputeResource"),
    case("2.7 POST taken", "POST", "/resourcepool", new(name="<pool>"), "DuplicatedName", "InvalidArguments"),
    case("2.7 GET marker", "GET", "/resourcepool?marker=zz", None, "InvalidMarker"),
    case("2.7 GET maxKeys", "GET", "/resourcepool?maxKeys=0", None, "InvalidURI"),
    case("12 2.7 GET one by another", "GET", "/resourcepool/<pool>", None, "ActionNotAllowed", who="<alice>"),
    case("2.7 GET one unknown", "GET", "/resourcepool/none", None, "ResourceNotFound"),
    case("2.7 PUT not JSON", "PUT", "/resourcepool/<pool>", "{", "MalformedJSON"),
    case("2.7 PUT by another", "PUT", "/resourcepool/<pool>", {}, "OnlyRootAllowed", who="<alice>"),
    case("2.7 PUT unknown", "PUT", "/resourcepool/none", {"status": "open"}, "RecordNotFound"),
    case("2.7 PUT status", "PUT", "/resourcepool/<pool>", {"status": "creating"}, "InvalidArguments"),
    case(
        "12 2.7 PUT total negative",
        "PUT",
        "/resourcepool/<pool>",
        {"totalResources": {"cpu": "-1"}},
        "InvalidArguments",
    ),
    case("2.7 DELETE by another", "DELETE", "/resourcepool/<pool>", None, "OnlyRootAllowed", who="<alice>"),
    case("2.7 DELETE unknown", "DELETE", "/resourcepool/none", None, "ResourceNotFound"),
]


@pytest.fixture(scope="module")
def names(flow, alice):
    pool = fresh("pool-")
    good(flow.post("/resourcepool", new(name=pool)))
    return {"alice": alice, "pool": pool, "offline": flow.make_cluster(status="offline")["clusterName"]}


@table(REFUSED)
def test_refused(flow, names, row):
    check(flow, row, names)


def test_create(flow):
    name = fresh("made-")
    assert good(flow.post("/resourcepool", new(name=name))).json == {"name": name}
    pool = good(flow.get("/resourcepool/" + name)).json
    has_keys(pool, KEYS)
    matches("rp-[0-9a-f]{8}", pool["id"])
    assert (pool["name"], pool["namespace"], pool["status"], pool["isHybrid"]) == (name, "default", "creating", 0)
    assert pool["quotaType"] == "elasticQuota"
    assert pool["totalResources"] == {"cpu": "1", "memory": "1Gi"}  # 9: real ones
    assert (pool["type"], pool["provider"], pool["orgID"], pool["description"]) == ("", "", "", "")
    assert isinstance(pool["creator"], str) and isinstance(pool["clusterName"], str)
    is_recent(pool["createTime"])
    is_recent(pool["updateTime"])


def test_create_with_all(flow):
    name = fresh("all-")
    about = {
        "type": "t" * 32,
        "provider": "p" * 32,
        "orgID": "org",
        "description": "d" * 2048,
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
    }
    body = new(
        name=name,
        quotaType="volcanoCapabilityQuota",
        isHybrid=True,
        minResources={"cpu": "500m", "mem": "1Mi"},
        clusterName="default-cluster",
        **about,
    )
    good(flow.post("/resourcepool", body))
    pool = good(flow.get("/resourcepool/" + name)).json
    assert {key: pool[key] for key in about} == about
    assert (pool["quotaType"], pool["isHybrid"]) == ("volcanoCapabilityQuota", 1)


def test_list(flow, alice):
    pools = [fresh("listed-") for _ in range(2)]
    for pool in pools:
        good(flow.post("/resourcepool", new(name=pool)))
    page = good(flow.get("/resourcepool?maxKeys=1000", who=alice)).json  # anybody
    has_keys(page, "maxKeys isTruncated resourcePoolList", "nextMarker")
    for pool in page["resourcePoolList"]:
        has_keys(pool, KEYS)
    assert [pool["name"] for pool in page["resourcePoolList"]][-2:] == pools
    assert (
        good(flow.get(f"/resourcepool?maxKeys=1000&name={pools[0]}")).json["resourcePoolList"]
        == page["resourcePoolList"]
    )  # name is not used


def test_update(flow):
    name = fresh("changed-")
    good(flow.post("/resourcepool", new(name=name, annotations={"a": "1", "b": "2"})))
    pool = good(
        flow.put(
            "/resourcepool/" + name, {"totalResources": {"cpu": "3", "mem": "2Gi"}, "annotations": {"a": "", "c": "3"}}
        )
    ).json
    has_keys(pool, KEYS)
    assert pool["totalResources"] == {"cpu": "3", "memory": "2Gi"} and pool["annotations"] == {"b": "2", "c": "3"}
    assert pool["status"] == "creating"


@pytest.mark.parametrize("status", ["open", "closed"], ids=lambda status: "9 status " + status)
def test_update_of_the_status_alone(flow, status):
    name = fresh("status-")
    good(flow.post("/resourcepool", new(name=name)))
    assert good(flow.put("/resourcepool/" + name, {"status": status})).json["status"] == status
    assert good(flow.get("/resourcepool/" + name)).json["status"] == status


def test_delete(flow):
    name = fresh("dropped-")
    good(flow.post("/resourcepool", new(name=name)))
    good(flow.delete("/resourcepool/" + name), empty=True)
    refused(flow.get("/resourcepool/" + name), "ResourceNotFound")
    good(flow.post("/resourcepool", new(name=name)))
