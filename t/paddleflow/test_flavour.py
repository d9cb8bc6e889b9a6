"""2.5 flavours."""

import pytest

from paddleflow.client import UUID, case, check, fresh, good, has_keys, is_recent, matches, pages, refused, table

KEYS = "id name cpu mem scalarResources createTime updateTime"


def new(**about):
    return {"name": "never", "cpu": "1", "mem": "1Gi", **about}


def new_without(*names, **about):
    return {key: value for key, value in new(**about).items() if key not in names}


REFUSED = [
    case("2.5 POST not JSON", "POST", "/flavour", "{", "MalformedJSON"),
    case("2.5 POST cpu of wrong type", "POST", "/flavour", new(cpu=1), "MalformedJSON"),
    case("2.5 POST scalars of wrong type", "POST", "/flavour", new(scalarResources=["x"]), "MalformedJSON"),
    case("2.5 POST name empty", "POST", "/flavour", new(name=""), "FlavourNotFound"),
    case("2.5 POST name missing", "POST", "/flavour", new_without("name"), "FlavourNotFound"),
    case("2.5 POST name before cluster", "POST", "/flavour", new(name="", clusterName="none"), "FlavourNotFound"),
    case("2.5 POST cluster unknown", "POST", "/flavour", new(clusterName="none"), "ClusterNameNotFound"),
    case("2.5 POST cluster before fields", "POST", "/flavour", new(clusterName="none", cpu="x"), "ClusterNameNotFound"),
    case("2.5 POST cpu missing", "POST", "/flavour", new_without("cpu"), "FlavourInvalidField"),
    case("2.5 POST cpu empty", "POST", "/flavour", new(cpu=""), "FlavourInvalidField"),
    case("2.5 POST cpu zero", "POST", "/flavour", new(cpu="0"), "FlavourInvalidField"),
    case("2.5 POST cpu negative", "POST", "/flavour", new(cpu="-1"), "FlavourInvalidField"),
    case("2.5 POST cpu no quantity", "POST", "/flavour", new(cpu="one"), "FlavourInvalidField"),
    case("2.5 POST mem missing", "POST", "/flavour", new_without("mem"), "FlavourInvalidField"),
    case("2.5 POST mem zero", "POST", "/flavour", new(mem="0Gi"), "FlavourInvalidField"),
    case("2.5 POST mem negative", "POST", "/flavour", new(mem="-1Gi"), "FlavourInvalidField"),
    case("2.5 POST mem suffix", "POST", "/flavour", new(mem="1gi"), "FlavourInvalidField"),
    case("2.5 POST mem too much", "POST", "/flavour", new(mem="99999999Ei"), "FlavourInvalidField"),
    case(
        "2.5 POST scalar negative",
        "POST",
        "/flavour",
        new(scalarResources={"nvidia.com/gpu": "-1"}),
        "FlavourInvalidField",
    ),
    case(
        "2.5 POST scalar no quantity",
        "POST",
        "/flavour",
        new(scalarResources={"nvidia.com/gpu": "x"}),
        "FlavourInvalidField",
    ),
    case("2.5 POST taken", "POST", "/flavour", new(name="flavour1"), "DuplicatedName"),
    case("2.5 POST fields before taken", "POST", "/flavour", new(name="flavour1", cpu="0"), "FlavourInvalidField"),
    case("2.5 GET maxKeys", "GET", "/flavour?maxKeys=0", None, "InvalidURI"),
    case("2.5 GET marker", "GET", "/flavour?marker=zz", None, "InvalidMarker"),
    case("2.5 GET cluster unknown", "GET", "/flavour?clusterName=none", None, "ClusterNameNotFound", "ClusterNotFound"),
    case("2.5 GET one unknown", "GET", "/flavour/none", None, "FlavourNotFound"),
    case("2.5 PUT not JSON", "PUT", "/flavour/<flavour>", "{", "MalformedJSON"),
    case("2.5 PUT unknown", "PUT", "/flavour/none", {"cpu": "2"}, "FlavourNotFound"),
    case("2.5 PUT cpu zero", "PUT", "/flavour/<flavour>", {"cpu": "0"}, "FlavourInvalidField"),
    case("2.5 PUT cpu no quantity", "PUT", "/flavour/<flavour>", {"cpu": "x"}, "FlavourInvalidField"),
    case("2.5 PUT mem negative", "PUT", "/flavour/<flavour>", {"mem": "-1Gi"}, "FlavourInvalidField"),
    case(
        "2.5 PUT scalar negative",
        "PUT",
        "/flavour/<flavour>",
        {"scalarResources": {"nvidia.com/gpu": "-1"}},
        "FlavourInvalidField",
    ),
    case(
        "12 2.5 PUT scalar empty",
        "PUT",
        "/flavour/<flavour>",
        {"scalarResources": {"nvidia.com/gpu": ""}},
        "FlavourInvalidField",
    ),
    case("2.5 PUT by another", "PUT", "/flavour/<flavour>", {"cpu": "2"}, "ActionNotAllowed", who="<alice>"),
    case("2.5 DELETE unknown", "DELETE", "/flavour/none", None, "FlavourNotFound"),
    case("2.5 DELETE by another", "DELETE", "/flavour/<flavour>", None, "ActionNotAllowed", who="<alice>"),
]


@pytest.fixture(scope="module")
def names(flow, alice):
    name = fresh("flavour-of-mine")
    good(flow.post("/flavour", new(name=name, scalarResources={"nvidia.com/gpu": "1"})))
    return {"alice": alice, "flavour": name, "cluster": flow.make_cluster()["clusterName"]}


@table(REFUSED)
def test_refused(flow, names, row):
    check(flow, row, names)


def test_create(flow, alice):
    name = fresh("made")
    body = new(name=name, cpu="1500m", mem="2048Mi", scalarResources={"nvidia.com/gpu": "2", "any thing": "0"})
    assert good(flow.post("/flavour", body)).json == {"name": name}
    flavour = good(flow.get("/flavour/" + name, who=alice)).json
    has_keys(flavour, KEYS, "clusterName")
    matches("flavour-[0-9a-f]{8}", flavour["id"])
    # as stored, not made canonical; names of scalars are not checked
    assert (flavour["cpu"], flavour["mem"]) == ("1500m", "2048Mi")
    assert flavour["scalarResources"] == {"nvidia.com/gpu": "2", "any thing": "0"}
    is_recent(flavour["createTime"])
    is_recent(flavour["updateTime"])


def test_without_scalars(flow):
    """12, 2.5"""
    name = fresh("plain")
    good(flow.post("/flavour", new(name=name)))
    assert good(flow.get("/flavour/" + name)).json["scalarResources"] == {}


@pytest.mark.parametrize("name", ["Big", "a_b.c", "größe", "x" * 60], ids=lambda name: "12 2.5 name " + name[:5])
def test_names_are_not_checked(flow, name):
    assert good(flow.post("/flavour", new(name=name))).json == {"name": name}
    assert name in [item["name"] for item in good(flow.get("/flavour?maxKeys=1000")).json["flavourList"]]


def test_list(flow, alice):
    page = good(flow.get("/flavour", who=alice)).json
    has_keys(page, "maxKeys isTruncated flavourList", "nextMarker")
    assert [item["name"] for item in page["flavourList"]][:3] == ["flavour1", "flavour2", "flavour3"]
    for item in page["flavourList"]:
        has_keys(item, KEYS, "clusterName")


def test_list_by_name(flow):
    """A part of the name will do."""
    prefix = fresh("part")
    made = [f"{prefix}-{n}" for n in range(3)]
    for name in made:
        good(flow.post("/flavour", new(name=name)))
    assert [item["name"] for item in good(flow.get(f"/flavour?name={prefix[1:]}-")).json["flavourList"]] == made
    assert pages(flow, f"/flavour?name={prefix}", "flavourList", "name", 1) == made
    assert good(flow.get("/flavour?name=no-such-flavour")).json["flavourList"] == []  # never null


def test_flavours_of_a_cluster(flow, names):
    name = fresh("bound")
    good(flow.post("/flavour", new(name=name, clusterName=names["cluster"])))
    everywhere = [item["name"] for item in good(flow.get("/flavour?maxKeys=1000")).json["flavourList"]]
    there = [
        item["name"]
        for item in good(flow.get("/flavour?maxKeys=1000&clusterName=" + names["cluster"])).json["flavourList"]
    ]
    assert name not in everywhere and "flavour1" in everywhere
    assert name in there and "flavour1" in there
    assert good(flow.get("/flavour/" + name)).json["name"] == name


def test_update(flow):
    name = fresh("changed")
    good(flow.post("/flavour", new(name=name, scalarResources={"nvidia.com/gpu": "1"})))
    flavour = good(flow.put("/flavour/" + name, {"cpu": "2"})).json
    has_keys(flavour, KEYS, "clusterName")
    assert (flavour["name"], flavour["cpu"], flavour["mem"], flavour["scalarResources"]) == (
        name,
        "2",
        "1Gi",
        {"nvidia.com/gpu": "1"},
    )
    flavour = good(flow.put("/flavour/" + name, {"mem": "3Gi", "scalarResources": {"rdma/hca": "4"}})).json
    assert (flavour["cpu"], flavour["mem"], flavour["scalarResources"]) == (
        "2",
        "3Gi",
        {"nvidia.com/gpu": "1", "rdma/hca": "4"},
    )
    assert good(flow.get("/flavour/" + name)).json["scalarResources"] == {"nvidia.com/gpu": "1", "rdma/hca": "4"}
    assert good(flow.put("/flavour/" + name, {})).json["cpu"] == "2"


def test_update_with_a_cluster_is_no_fault_of_the_server(flow, names):
    """9: upstream answers 500."""
    assert flow.put("/flavour/" + names["flavour"], {"cpu": "1", "clusterName": "default-cluster"}).status < 500


def test_flavours_of_ones_own(flow, alice, bobby):
    """2.5: anybody may make them; who did, and root, may change them."""
    name = fresh("mine")
    good(flow.post("/flavour", new(name=name), who=alice))
    refused(flow.put("/flavour/" + name, {"cpu": "2"}, who=bobby), "ActionNotAllowed")
    refused(flow.delete("/flavour/" + name, who=bobby), "ActionNotAllowed")
    assert good(flow.put("/flavour/" + name, {"cpu": "2"}, who=alice)).json["cpu"] == "2"
    assert good(flow.put("/flavour/" + name, {"cpu": "3"})).json["cpu"] == "3"
    good(flow.delete("/flavour/" + name, who=alice), empty=True)


def test_delete(flow):
    name = fresh("dropped")
    good(flow.post("/flavour", new(name=name)))
    good(flow.delete("/flavour/" + name), empty=True)
    refused(flow.get("/flavour/" + name), "FlavourNotFound")
    refused(flow.delete("/flavour/" + name), "FlavourNotFound")
    good(flow.post("/flavour", new(name=name)))


@pytest.mark.parametrize(
    "name, cpu, mem, scalars",
    [
        ("flavour1", "1", "1Gi", {}),
        ("flavour2", "4", "8Gi", {"nvidia.com/gpu": "1"}),
        ("flavour3", "4", "8Gi", {"nvidia.com/gpu": "2"}),
    ],
    ids=lambda value: "6 " + value if isinstance(value, str) and value.startswith("f") else "",
)
def test_the_seeded_flavours(flow, name, cpu, mem, scalars):
    flavour = good(flow.get("/flavour/" + name)).json
    matches(UUID, flavour["id"])  # 12, 1.10
    assert (flavour["cpu"], flavour["mem"]) == (cpu, mem)
    assert (flavour["scalarResources"] or {}) == scalars
