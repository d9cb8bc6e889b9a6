"""1.1-1.8: addresses, headers, bodies, replies, per-request log-in, acting for others, pages; 2.2 version."""

import http.client
import json

import pytest
from conftest import PATIENCE, wait_for

from paddleflow.client import (
    BASE,
    LOCAL_TIME,
    PASSWORD,
    UUID4,
    Reply,
    case,
    check,
    fresh,
    good,
    has_keys,
    has_type,
    matches,
    pages,
    refused,
    table,
)

LISTS = {
    "/user": ("userList", "name"),
    "/grant": ("grantList", "grantID"),
    "/queue": ("queueList", "name"),
    "/flavour": ("flavourList", "name"),
    "/cluster": ("clusterList", "clusterName"),
    "/resourcepool": ("resourcePoolList", "name"),
    "/job": ("jobList", "id"),
}

ROUTES = [
    ("GET", "/user"),
    ("POST", "/user"),
    ("PUT", "/user/x"),
    ("DELETE", "/user/x"),
    ("GET", "/version"),
    ("GET", "/grant"),
    ("POST", "/grant"),
    ("DELETE", "/grant"),
    ("GET", "/queue"),
    ("POST", "/queue"),
    ("GET", "/queue/x"),
    ("PUT", "/queue/x"),
    ("DELETE", "/queue/x"),
    ("GET", "/flavour"),
    ("POST", "/flavour"),
    ("GET", "/flavour/x"),
    ("PUT", "/flavour/x"),
    ("DELETE", "/flavour/x"),
    ("GET", "/cluster"),
    ("POST", "/cluster"),
    ("GET", "/cluster/x"),
    ("PUT", "/cluster/x"),
    ("DELETE", "/cluster/x"),
    ("GET", "/cluster/x/nodeInfos"),
    ("GET", "/cluster/resource"),
    ("POST", "/cluster/resource"),
    ("POST", "/cluster/x/k8s/object"),
    ("GET", "/cluster/x/k8s/object"),
    ("PUT", "/cluster/x/k8s/object"),
    ("GET", "/resourcepool"),
    ("POST", "/resourcepool"),
    ("GET", "/resourcepool/x"),
    ("PUT", "/resourcepool/x"),
    ("DELETE", "/resourcepool/x"),
    ("POST", "/job/single"),
    ("POST", "/job/distributed"),
    ("POST", "/job/workflow"),
    ("GET", "/job"),
    ("GET", "/job/x"),
    ("PUT", "/job/x"),
    ("DELETE", "/job/x"),
    ("GET", "/wsjob"),
    ("GET", "/log/job"),
    ("GET", "/statistics/job/x"),
    ("GET", "/statistics/jobDetail/x"),
    ("GET", "/statistics/cardTime/x"),
    ("POST", "/statistics/cardTime"),
]


def names_of(route):
    return f"{route[0]} {route[1]}"


# -- 1.5 each request is logged in


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: "1.5 no token " + names_of(route))
def test_without_token(flow, route):
    body = "{}" if route[0] in ("POST", "PUT") else None
    refused(flow.call(*route, body, who=None), "AuthWithoutToken")
    refused(flow.call(*route, body, who=None, headers={"x-pf-authorization": "x" * 40}), "AuthInvalidToken")


@pytest.mark.parametrize(
    "token",
    ["x", "a.b.c", "Bearer <token>", "<token>x", "x" * 5000, "'; --"],
    ids=lambda text: "1.5 token " + text[:14],
)
def test_invalid_token(flow, token):
    token = token.replace("<token>", flow.token("root"))
    refused(flow.get("/queue", who=None, headers={"x-pf-authorization": token}), "AuthInvalidToken")


def test_empty_token(flow):
    refused(flow.get("/queue", who=None, headers={"x-pf-authorization": ""}), "AuthWithoutToken")


def test_another_header_is_no_token(flow):
    refused(flow.get("/queue", who=None, headers={"Authorization": "Bearer " + flow.token("root")}), "AuthWithoutToken")


@pytest.mark.parametrize(
    "path", ["/queue/login", "/login/", "/xlogin", "/job/login", "/nothing/login"], ids=lambda path: "9 auth of " + path
)
def test_only_login_itself_needs_no_token(flow, path):
    refused(flow.get(path, who=None), "AuthWithoutToken")


def test_unknown_path_is_logged_in_first(flow):
    refused(flow.get("/nothing", who=None), "AuthWithoutToken")
    refused(flow.get("/nothing"), "PathNotFound")


def test_users_header_is_overwritten(flow, alice):
    """1.2: x-pf-user-name of a client counts for nothing."""
    refused(flow.get("/user", who=alice, headers={"x-pf-user-name": "root"}), "AccessDenied")


# -- 1.1 paths and methods


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/user/",
        "/queue/",
        "/queue/default-queue/",
        "/Queue",
        "/QUEUE",
        "/job/single/x",
        "/user/a/b",
        "//user",
        "/cluster/x/nodeinfos",
        "/WSJOB",
        "/statistics/cardtime/x",
        "/statistics/jobdetail/x",
        "/queue/x/stop",
        "/image",
        "/fsCache/report/x",
    ],
    ids=lambda path: "1.1 GET " + path,
)
def test_unknown_path(flow, path):
    refused(flow.get(path), "PathNotFound")


def test_base_path(flow):
    """12, 1.1"""
    assert flow.raw("GET", BASE).status == 404
    assert flow.raw("GET", BASE, headers={"x-pf-authorization": flow.token("root")}).status == 404


@pytest.mark.parametrize(
    "path", ["/api/paddleflow/v2/user", "/api/paddleflow", "/api/paddleflow/v1x/user", "/api/Paddleflow/v1/user"]
)
def test_outside_the_base_path(flow, path):
    """12, 1.1: 404 without a token."""
    assert flow.raw("GET", path).status == 404


@pytest.mark.parametrize(
    "method, path",
    [
        ("PATCH", "/user"),
        ("PUT", "/user"),
        ("DELETE", "/queue"),
        ("POST", "/queue/x"),
        ("POST", "/version"),
        ("GET", "/login"),
        ("PUT", "/grant"),
        ("DELETE", "/statistics/cardTime"),
        ("POST", "/log/job"),
        ("HEAD", "/queue"),
        ("OPTIONS", "/queue"),
        ("HEAD", "/job/x"),
        ("OPTIONS", "/cluster/resource"),
    ],
    ids=lambda value: value,
)
def test_method(flow, method, path):
    reply = flow.call(method, path, who="root")
    assert reply.status == 405, reply
    if method != "HEAD":
        refused(reply, "MethodNotAllowed")


def test_static_segment_wins(flow):
    """1.1: /cluster/resource is never a cluster of that name."""
    good(flow.post("/cluster", {"clusterName": "resource", "endpoint": "127.0.0.1", "clusterType": "Local"}))
    value = good(flow.get("/cluster/resource")).json
    assert "clusterName" not in value and "default-cluster" in value
    good(flow.delete("/cluster/resource"), empty=True)


def test_no_redirects(flow):
    for path in ("/user/", "//user", "/queue/../user"):
        assert flow.get(path).status not in range(300, 400)


def test_segments_are_decoded_as_upstream_does(flow):
    """12, 1.3: %20 is a space, what need not be escaped stays as it was sent."""
    name = fresh("big one")
    good(flow.post("/flavour", {"name": name, "cpu": "1", "mem": "1Gi"}))
    assert good(flow.get("/flavour/" + name.replace(" ", "%20"))).json["name"] == name
    refused(flow.get("/flavour/flavour%31"), "FlavourNotFound")


# -- 1.2 headers


def test_request_id_is_echoed(flow):
    wanted = {"x-pf-request-id": "my-own-id-1"}
    assert good(flow.get("/queue", headers=wanted)).headers["x-pf-request-id"] == "my-own-id-1"
    user = flow.make_user()
    assert good(flow.delete("/user/" + user, headers=wanted), empty=True).headers["x-pf-request-id"] == "my-own-id-1"
    for reply in (
        flow.get("/nothing", headers=wanted),
        flow.get("/queue", who=None, headers=wanted),
        flow.call("PATCH", "/queue", headers=wanted),
    ):
        assert reply.headers["x-pf-request-id"] == "my-own-id-1" == reply.json["requestID"], reply


def test_request_id_is_made(flow):
    ids = [good(flow.get("/queue")).headers["x-pf-request-id"] for _ in range(3)]
    ids += [
        refused(flow.get("/nothing"), "PathNotFound")["requestID"],
        refused(flow.get("/queue", who=None), "AuthWithoutToken")["requestID"],
    ]
    for text in ids:
        matches(UUID4, text)
    assert len(set(ids)) == len(ids)


def test_request_id_cannot_break_the_reply(flow):
    reply = flow.get("/nothing", headers={"x-pf-request-id": 'a"b\\c'})
    assert reply.status == 404 and reply.json["requestID"] == reply.headers["x-pf-request-id"]


# -- 1.3 bodies and queries


def test_members_are_told_apart_by_letters_alone(flow):
    name = fresh("letters-")
    good(
        flow.post(
            "/queue",
            {
                "NAME": name,
                "NameSpace": "default",
                "MaxResources": {"CPU": "1", "MEM": "1Gi", "scalarresources": {"nvidia.com/gpu": "1"}},
                "QUOTATYPE": "volcanoCapabilityQuota",
            },
        )
    )
    queue = good(flow.get("/queue/" + name)).json
    assert queue["maxResources"] == {"cpu": "1", "memory": "1Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    assert queue["quotaType"] == "volcanoCapabilityQuota"


def test_the_last_of_equal_members_counts(flow):
    name = fresh("last-")
    rest = '"namespace":"default","maxResources":{"cpu":"1","mem":"1Gi"}'
    good(flow.post("/queue", f'{{"name":"wrong",{rest},"name":"{name}"}}'))
    good(flow.get("/queue/" + name))


def test_null_leaves_the_default(flow):
    name = fresh("null-")
    good(
        flow.post(
            "/queue",
            {
                "name": name,
                "namespace": "default",
                "clusterName": None,
                "quotaType": None,
                "location": None,
                "schedulingPolicy": None,
                "minResources": None,
                "maxResources": {"cpu": "1", "mem": "1Gi", "scalarResources": None},
            },
        )
    )
    queue = good(flow.get("/queue/" + name)).json
    assert queue["clusterName"] == "default-cluster" and queue["quotaType"] == "elasticQuota"


def test_unknown_members_are_ignored(flow):
    name = fresh("more-")
    good(
        flow.post(
            "/queue",
            {
                "name": name,
                "namespace": "default",
                "maxResources": {"cpu": "1", "mem": "1Gi", "more": [1]},
                "more": {"a": None},
            },
        )
    )


def test_content_type_of_a_request_is_not_looked_at(flow):
    name = fresh("type-")
    body = json.dumps({"name": name, "namespace": "default", "maxResources": {"cpu": "1", "mem": "1Gi"}})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
        good(flow.post("/flavour", {"name": fresh("type"), "cpu": "1", "mem": "1Gi"}, headers={"Content-Type": kind}))
    good(flow.call("POST", "/queue", body))


def test_delete_may_have_a_body(flow, alice):
    queue = flow.make_queue()
    flow.grant(alice, queue)
    path = f"/grant?username={alice}&resourceType=queue&resourceID={queue}"
    good(flow.call("DELETE", path, {"any": "thing"}), empty=True)
    good(flow.call("DELETE", "/queue/" + queue, "not JSON"), empty=True)


def test_names_of_parameters_are_exact(flow):
    assert good(flow.get("/queue?maxkeys=1&MAXKEYS=2")).json["maxKeys"] == 50


@pytest.mark.parametrize(
    "query", ["maxKeys=7;x=1", "maxKeys=%zz", "%zz=1&maxKeys=50", "maxKeys=1%"], ids=lambda text: "12 1.3 query " + text
)
def test_broken_pairs_of_a_query_are_ignored(flow, query):
    assert good(flow.get("/queue?" + query)).json["maxKeys"] == 50


BODIES = [
    ("POST", "/user"),
    ("PUT", "/user/root"),
    ("POST", "/grant"),
    ("POST", "/queue"),
    ("PUT", "/queue/default-queue"),
    ("POST", "/flavour"),
    ("PUT", "/flavour/flavour1"),
    ("POST", "/cluster"),
    ("PUT", "/cluster/default-cluster"),
    ("POST", "/cluster/resource"),
    ("POST", "/resourcepool"),
    ("POST", "/job/single"),
    ("POST", "/job/distributed"),
    ("POST", "/job/workflow"),
    ("POST", "/statistics/cardTime"),
]


@pytest.mark.parametrize("route", BODIES, ids=lambda route: "1.3 body of " + names_of(route))
@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", '"text"', "7", "\x00", b"\xff\xfe{}", "[" * 100000],
    ids=["empty", "open", "array", "text", "number", "nul", "latin", "deep"],
)
def test_bodies_that_are_no_object(flow, route, body):
    value = refused(flow.call(*route, body), "MalformedJSON")
    assert len(value["message"]) < 2000


# -- 1.4 replies


def test_types_of_replies(flow, alice):
    """application/json on every one, those without a body included."""
    queue = flow.make_queue()
    for reply in (
        flow.get("/queue"),
        flow.delete("/queue/" + queue),
        flow.get("/nothing"),
        flow.get("/queue", who=None),
        flow.call("PATCH", "/queue"),
        flow.get("/user", who=alice),
        flow.post("/user", "{"),
    ):
        has_type(reply)


def test_several_requests_on_one_connection(flow):
    connection = http.client.HTTPConnection(flow.host, flow.port, timeout=PATIENCE)
    for path in ("/queue", "/nothing", "/queue/default-queue"):
        connection.request("GET", BASE + path, headers={"x-pf-authorization": flow.token("root")})
        assert Reply(connection.getresponse()).status in (200, 404)
    connection.close()


def test_times_are_local(flow):
    """1.9"""
    for path, key in (("/queue", "queueList"), ("/flavour", "flavourList"), ("/cluster", "clusterList")):
        for item in good(flow.get(path)).json[key]:
            matches(LOCAL_TIME, item["createTime"])
            matches(LOCAL_TIME, item["updateTime"])


# -- 1.6 acting for others

OTHERS = [
    case("1.6 POST userName", "POST", "/queue", {"userName": "<bobby>"}, "AuthIllegalUser", who="<alice>"),
    case("1.6 POST username", "POST", "/grant", {"username": "<bobby>"}, "AuthIllegalUser", who="<alice>"),
    case("1.6 POST USERNAME", "POST", "/job/single", {"USERNAME": "<bobby>"}, "AuthIllegalUser", who="<alice>"),
    case("1.6 POST root", "POST", "/flavour", {"userName": "root"}, "AuthIllegalUser", who="<alice>"),
    case("1.6 POST other letters", "POST", "/queue", {"userName": "<upper>"}, "AuthIllegalUser", who="<alice>"),
    case(
        "1.6 PUT userName",
        "PUT",
        "/user/<alice>",
        {"userName": "<bobby>", "password": PASSWORD},
        "AuthIllegalUser",
        who="<alice>",
    ),
    case("1.6 PUT before the rest", "PUT", "/queue/none", {"userName": "<bobby>"}, "AuthIllegalUser", who="<alice>"),
    case("1.6 GET userName", "GET", "/queue?userName=<bobby>", None, "AuthIllegalUser", who="<alice>"),
    case("1.6 GET job userName", "GET", "/job?userName=root", None, "AuthIllegalUser", who="<alice>"),
    case("1.6 DELETE userName", "DELETE", "/job/none?userName=<bobby>", None, "AuthIllegalUser", who="<alice>"),
    case("1.6 unparsable passes the guard", "POST", "/user", '{"userName":"<bobby>"', "MalformedJSON", who="<alice>"),
]


@table(OTHERS)
def test_acting_for_others(flow, alice, bobby, row):
    check(flow, row, {"alice": alice, "bobby": bobby, "upper": alice.upper()})


def test_acting_for_oneself(flow, alice):
    good(flow.get(f"/queue?userName={alice}", who=alice))
    good(flow.get("/queue?userName=", who=alice))
    good(flow.get("/queue?username=root", who=alice))  # the name is exact
    refused(flow.post("/queue", {"userName": alice, "name": "x"}, who=alice), "OnlyRootAllowed")
    refused(flow.post("/queue", {"userName": "", "name": "x"}, who=alice), "OnlyRootAllowed")


def test_root_acts_for_others(flow, alice):
    good(flow.get(f"/queue?userName={alice}"))
    good(flow.get(f"/user?userName={alice}"))


# -- 1.8 pages


@pytest.mark.parametrize("path", LISTS, ids=lambda path: "1.8 " + path)
@pytest.mark.parametrize("value", ["0", "1001", "-1", "x", "1.5", "99999999999999999999", "%2B1x"])
def test_max_keys_refused(flow, path, value):
    refused(flow.get(f"{path}?maxKeys={value}"), "InvalidURI")


@pytest.mark.parametrize("path", LISTS, ids=lambda path: "1.8 " + path)
def test_max_keys(flow, path):
    key = LISTS[path][0]
    for query, want in (("", 50), ("?maxKeys=1", 1), ("?maxKeys=1000", 1000)):
        page = good(flow.get(path + query)).json
        has_keys(page, f"maxKeys isTruncated {key}", "nextMarker")
        assert page["maxKeys"] == (0 if path == "/user" else want)
        assert isinstance(page["isTruncated"], bool)
        assert page["isTruncated"] == ("nextMarker" in page)
        assert page[key] is None or len(page[key]) <= want


@pytest.mark.parametrize("path", LISTS, ids=lambda path: "1.8 " + path)
@pytest.mark.parametrize(
    "marker",
    ["x", "zz", "0", "00", "abc", "0" * 31, "0" * 32, "f" * 64, "1", "-1", "%00", "a" * 5000],
    ids=[
        "letter",
        "nothex",
        "odd",
        "short",
        "three",
        "thirtyone",
        "zeros",
        "long",
        "decimal",
        "negative",
        "nul",
        "huge",
    ],
)
def test_marker_refused(flow, path, marker):
    refused(flow.get(f"{path}?marker={marker}"), "InvalidMarker")


@pytest.mark.parametrize("path", LISTS, ids=lambda path: "1.8 " + path)
def test_pages(flow, path, alice):
    """Every item once, in the order of the whole list, whatever the size of a page."""
    queue = flow.make_queue()
    for _ in range(3):
        user = flow.make_user()
        flow.grant(user, queue)
        good(flow.post("/flavour", {"name": fresh("paged"), "cpu": "1", "mem": "1Gi"}))
        flow.make_cluster()
        good(
            flow.post(
                "/resourcepool",
                {"name": fresh("paged-"), "namespace": "default", "totalResources": {"cpu": "1", "mem": "1Gi"}},
            )
        )
        flow.wait(flow.submit())
    key, name = LISTS[path]
    whole = [item[name] for item in good(flow.get(path + "?maxKeys=1000")).json[key]]
    assert len(whole) >= 3 and len(set(whole)) == len(whole)
    for limit in (1, 2, 1000):
        assert pages(flow, path, key, name, limit) == whole
    exact = good(flow.get(f"{path}?maxKeys={len(whole)}")).json
    assert not exact["isTruncated"] and "nextMarker" not in exact


def test_a_marker_is_opaque(flow):
    flow.make_queue()
    flow.make_queue()
    marker = good(flow.get("/queue?maxKeys=1")).json["nextMarker"]
    assert not marker.isdigit()
    for broken in (marker[:-1], marker + "0", marker[::-1] + "0"):
        refused(flow.get("/queue?marker=" + broken), "InvalidMarker")


# -- 2.2, 1.1


def test_version(flow, alice):
    value = good(flow.get("/version", who=alice)).json
    has_keys(value, "gitVersion gitCommit gitBranch buildDate goVersion compiler platform")
    assert all(isinstance(item, str) and item for item in value.values())


def test_metrics_port(make_flow):
    """1.1: the older address of the metrics: a port of its own, no log-in, no base path."""
    port = make_flow("--metrics-listen", "127.0.0.1:0").server.metrics_port

    def ask(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    reply = wait_for(lambda: ask("/metrics"), what="the metrics")
    assert reply.status == 200
    assert reply.headers["Content-Type"].split(";")[0] in ("text/plain", "application/openmetrics-text")
    lines = [line for line in reply.body.decode().splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        matches(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^{}]*\})? [-+0-9.eE]+|.* (NaN|[+-]Inf)", line)
    for path in ("/api/paddleflow/v1/metrics", "/api/paddleflow/v1/version", "/v1/jobs", "/"):
        assert ask(path).status == 404, path
