"""The small ways of the interface: blanks, null as a body, signs of numbers, what is judged first, request ids everywhere."""

import urllib.parse

import pytest

from paddleflow.client import BASE, UUID4, case, check, fresh, good, has_keys, has_type, matches, refused, table

BLANKS = "%20{}%09%20"


# -- blanks


def test_blanks_around_names_in_paths(flow):
    queue, user, cluster = flow.make_queue(), flow.make_user(), flow.make_cluster()["clusterName"]
    for kind, name, key in (
        ("queue", queue, "name"),
        ("flavour", "flavour1", "name"),
        ("cluster", cluster, "clusterName"),
    ):
        assert good(flow.get(f"/{kind}/{BLANKS.format(name)}")).json[key] == name
    good(flow.put(f"/cluster/{BLANKS.format(cluster)}", {"description": "new"}))
    assert good(flow.get("/cluster/" + cluster)).json["description"] == "new"
    assert good(flow.get(f"/cluster/{BLANKS.format(cluster)}/nodeInfos")).json["totalCount"] >= 0
    for kind, name in (("queue", queue), ("user", user), ("cluster", cluster)):
        good(flow.delete(f"/{kind}/{BLANKS.format(name)}"), empty=True)
    refused(flow.get("/queue/" + queue), "QueueNameNotFound")


def test_blanks_around_names_of_jobs(flow):
    job = flow.submit("true")
    assert good(flow.get("/job/" + BLANKS.format(job)), message=True).json["id"] == job
    refused(flow.get("/job/%20none%20"), "JobNotFound")


def test_blanks_within_a_name_stay(flow):
    name = fresh("big one")
    good(flow.post("/flavour", {"name": name, "cpu": "1", "mem": "1Gi"}))
    assert good(flow.get("/flavour/" + BLANKS.format(name.replace(" ", "%20")))).json["name"] == name


def test_blanks_around_texts_of_clusters(flow):
    name = fresh("blank")
    texts = {"endpoint": "10.0.0.1:6443", "description": "two words", "source": "here", "version": "v1.2"}
    said = {key: f" \t{value}\n" for key, value in texts.items()}
    made = good(flow.post("/cluster", {"clusterName": name, "clusterType": " Local ", **said})).json
    for shown in (made, good(flow.get("/cluster/" + name)).json):
        assert {key: shown[key] for key in texts} == texts and shown["clusterName"] == name
        assert shown["clusterType"] == "Local"
    changed = good(flow.put("/cluster/" + name, {"description": "  other ", "status": " offline "})).json
    assert changed["description"] == "other" and changed["status"] == "offline"
    refused(flow.post("/cluster", {"clusterName": fresh("b"), "clusterType": "Local", "endpoint": " \t"}), *BAD)


BAD = ("InvalidClusterProperties",)


def test_the_list_of_namespaces_is_a_list(flow):
    cluster = flow.make_cluster()
    assert cluster["namespaceList"] == []
    assert good(flow.get("/cluster/" + cluster["clusterName"])).json["namespaceList"] == []
    assert all(item["namespaceList"] is not None for item in good(flow.get("/cluster")).json["clusterList"])


# -- null as a body

NULLS = [
    case("1.3 null POST user", "POST", "/user", "null", "InvalidNamePattern"),
    case("1.3 null PUT user", "PUT", "/user/root", "null", "UserPasswordWeak"),
    case("1.3 null POST grant", "POST", "/grant", "null", "UserNotExist", "GrantResourceTypeNotFound"),
    case("1.3 null POST queue", "POST", "/queue", "null", "QueueNameNotFound"),
    case("1.3 null POST flavour", "POST", "/flavour", "null", "FlavourNotFound"),
    case("1.3 null POST cluster", "POST", "/cluster", "null", "InvalidNamePattern"),
    case("1.3 null POST pool", "POST", "/resourcepool", "null", "InvalidArguments"),
    case("1.3 null POST single", "POST", "/job/single", "null", "JobCreateFailed"),
    case("1.3 null POST distributed", "POST", "/job/distributed", "null", "JobCreateFailed"),
    case("1.3 null POST workflow", "POST", "/job/workflow", "null", "JobCreateFailed"),
    case("1.3 null POST card time", "POST", "/statistics/cardTime", "null", "InvalidArguments"),
    case("1.3 null modify", "PUT", "/job/none?action=modify", "null", "JobNotFound"),
    case("1.3 null login", "POST", "/login", "null", "UserNotExist", who=None),
]


@table(NULLS)
def test_null_is_an_empty_object(flow, row):
    check(flow, row)


def test_null_changes_nothing(flow):
    queue = flow.make_queue()
    before = good(flow.get("/queue/" + queue)).json
    after = good(flow.put("/queue/" + queue, "null")).json
    assert after["maxResources"] == before["maxResources"] and after["location"] == before["location"]
    cluster = flow.make_cluster(description="kept")["clusterName"]
    assert good(flow.put("/cluster/" + cluster, "null")).json["description"] == "kept"
    assert "default-cluster" in good(flow.post("/cluster/resource", "null")).json


# -- numbers


@pytest.mark.parametrize("text, number", [("%2B5", 5), ("5", 5), ("007", 7), ("%2B007", 7)])
def test_numbers_as_atoi_reads_them(flow, text, number):
    assert good(flow.get("/queue?maxKeys=" + text)).json["maxKeys"] == number


@pytest.mark.parametrize("text", ["+5", "%2B%2B5", "%2B", "-5", "5%20", "5.0", "0x5", "%2B-5", "%2B0"])
def test_what_is_no_number(flow, text):
    refused(flow.get("/queue?maxKeys=" + text), "InvalidURI")


def test_signs_of_quantities(flow):
    """1.11: Kubernetes' grammar, which has a sign."""
    name = fresh("plus")
    good(flow.post("/flavour", {"name": name, "cpu": "+2", "mem": "+1Gi"}))
    queue = fresh("plus-")
    good(flow.post("/queue", {"name": queue, "namespace": "default", "maxResources": {"cpu": "+2", "mem": "+4Gi"}}))
    assert good(flow.get("/queue/" + queue)).json["maxResources"] == {"cpu": "2", "memory": "4Gi"}
    refused(flow.post("/flavour", {"name": fresh("minus"), "cpu": "-2", "mem": "1Gi"}), "FlavourInvalidField")
    refused(flow.post("/flavour", {"name": fresh("twice"), "cpu": "++2", "mem": "1Gi"}), "FlavourInvalidField")


# -- what is judged first: never the object before the parameters

QUERY = "name=x&kind=Pod"  # without a version
FIRST = [
    case("first series", "GET", "/statistics/jobDetail/none?step=x", None, "InvalidURI"),
    case("first series order", "GET", "/statistics/jobDetail/none?start=9&end=3", None, "InvalidURI"),
    case("first flavours", "GET", "/flavour?clusterName=none&maxKeys=x", None, "InvalidURI"),
    case("first flavours marker", "GET", "/flavour?clusterName=none&marker=x", None, "InvalidMarker"),
    case("first jobs", "GET", "/job?queue=none&timestamp=x", None, "InvalidURI"),
    case("first jobs labels", "GET", "/job?queue=none&labels=x", None, "InvalidURI"),
    case("first priority", "PUT", "/job/none?action=modify", {"priority": "URGENT"}, "InvalidArguments"),
    case("first labels", "PUT", "/job/none?action=modify", {"labels": {"a b": "c"}}, "InvalidArguments"),
    case("first action", "PUT", "/job/none?action=pause", None, "ActionNotAllowed"),
    case("first nodes", "GET", "/cluster/none/nodeInfos?pageNo=0", None, "InvalidURI"),
    case("first object", "GET", "/cluster/none/k8s/object?" + QUERY, None, "InvalidArguments"),
    case("first log", "GET", "/log/job?jobID=none&framework=x", None, "InvalidArguments"),
    case("first log lines", "GET", "/log/job?jobID=none&framework=paddle&lineLimit=x", None, "InvalidURI"),
    case("first card time", "GET", "/statistics/cardTime/none?startTime=x", None, "InvalidArguments"),
]


@table(FIRST)
def test_parameters_are_judged_before_the_object(flow, row):
    check(flow, row)


# -- request ids


@pytest.mark.parametrize("path", [BASE, "/api/paddleflow/v2/user", "/api/paddleflow", "/api/paddleflow/v1x/user"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_answers_outside_the_base_carry_a_request_id(flow, path, method):
    wanted = {"x-pf-request-id": "mine-1"}
    body = "{}" if method == "POST" else None
    for headers in (wanted, {**wanted, "x-pf-authorization": flow.token("root")}):
        reply = flow.raw(method, path, body=body, headers=headers)
        assert reply.status == 404 and reply.headers["x-pf-request-id"] == "mine-1", reply
        has_type(reply)
        has_keys(reply.json, "requestID code message")
        assert reply.json["requestID"] == "mine-1" and reply.json["code"] == "PathNotFound"
    matches(UUID4, flow.raw(method, path, body=body).headers["x-pf-request-id"])


def test_the_newer_interface_is_another(flow):
    reply = flow.raw("GET", "/v1/none?" + urllib.parse.urlencode({"a": "b"}))
    assert "x-pf-request-id" not in reply.headers and "request_id" in reply.json
