"""2.3 grants."""

import pytest

from paddleflow.client import RFC3339, case, check, good, has_keys, matches, pages, refused, table


def new(**about):
    return {"username": "<alice>", "resourceType": "queue", "resourceID": "<queue>", **about}


def gone(user="<alice>", kind="queue", resource="<queue>"):
    return f"/grant?username={user}&resourceType={kind}&resourceID={resource}"


REFUSED = [
    case("2.3 POST not JSON", "POST", "/grant", "{", "MalformedJSON"),
    case("2.3 POST wrong type", "POST", "/grant", new(resourceID=5), "MalformedJSON"),
    case("2.3 POST by another", "POST", "/grant", new(), "OnlyRootAllowed", who="<alice>"),
    case("2.3 POST for another", "POST", "/grant", new(username="<bobby>"), "AuthIllegalUser", who="<alice>"),
    case("2.3 POST by another before root", "POST", "/grant", {"resourceType": "x"}, "OnlyRootAllowed", who="<alice>"),
    case("2.3 POST to root", "POST", "/grant", new(username="root"), "GrantRootActionNotSupport"),
    case(
        "2.3 POST to root before type",
        "POST",
        "/grant",
        new(username="root", resourceType="x"),
        "GrantRootActionNotSupport",
    ),
    case("2.3 POST type", "POST", "/grant", new(resourceType="cluster"), "GrantResourceTypeNotFound"),
    case("2.3 POST type empty", "POST", "/grant", new(resourceType=""), "GrantResourceTypeNotFound"),
    case("2.3 POST type letters", "POST", "/grant", new(resourceType="Queue"), "GrantResourceTypeNotFound"),
    case(
        "2.3 POST type before resource",
        "POST",
        "/grant",
        new(resourceType="x", resourceID="none"),
        "GrantResourceTypeNotFound",
    ),
    case("2.3 POST resource", "POST", "/grant", new(resourceID="none"), "QueueNameNotFound"),
    case(
        "2.3 POST resource missing",
        "POST",
        "/grant",
        {"username": "<alice>", "resourceType": "queue"},
        "QueueNameNotFound",
    ),
    case(
        "2.3 POST resource before user",
        "POST",
        "/grant",
        new(resourceID="none", username="nobody1"),
        "QueueNameNotFound",
    ),
    case("2.3 POST fs", "POST", "/grant", new(resourceType="fs", resourceID="fs-root-none"), "UserNotExist"),
    case("2.3 POST user", "POST", "/grant", new(username="nobody1"), "UserNotExist"),
    case("2.3 POST user missing", "POST", "/grant", {"resourceType": "queue", "resourceID": "<queue>"}, "UserNotExist"),
    case("2.3 POST twice", "POST", "/grant", new(resourceID="<granted>"), "GrantAlreadyExist"),
    case("2.3 DELETE by another", "DELETE", gone(), None, "OnlyRootAllowed", who="<alice>"),
    case("2.3 DELETE of root", "DELETE", gone(user="root"), None, "GrantRootActionNotSupport"),
    case("2.3 DELETE type", "DELETE", gone(kind="x"), None, "GrantResourceTypeNotFound"),
    case("2.3 DELETE resource", "DELETE", gone(resource="none"), None, "QueueNameNotFound"),
    case("2.3 DELETE user", "DELETE", gone(user="nobody1"), None, "UserNotExist"),
    case("2.3 DELETE none", "DELETE", gone(), None, "GrantNotFound"),
    case("2.3 DELETE without a query", "DELETE", "/grant", None, "GrantResourceTypeNotFound"),
    case("2.3 GET by another", "GET", "/grant", None, "OnlyRootAllowed", who="<alice>"),
    case("2.3 GET marker", "GET", "/grant?marker=zz", None, "InvalidMarker"),
]


@pytest.fixture(scope="module")
def queues(flow, alice, bobby):
    queue, granted = flow.make_queue(), flow.make_queue()
    flow.grant(alice, granted)
    return {"alice": alice, "bobby": bobby, "queue": queue, "granted": granted}


@table(REFUSED)
def test_refused(flow, queues, row):
    check(flow, row, queues)


@pytest.mark.parametrize("member", ["userName", "username", "USERNAME"], ids=lambda name: "2.3 POST " + name)
def test_grant(flow, member):
    user, queue = flow.make_user(), flow.make_queue()
    reply = good(flow.post("/grant", {member: user, "resourceType": "queue", "resourceID": queue}))
    assert set(reply.json) == {"grantID"}
    matches("grant-[0-9a-f]{8}", reply.json["grantID"])
    (grant,) = good(flow.get(f"/grant?username={user}")).json["grantList"]
    has_keys(grant, "grantID userName resourceType resourceID createTime updateTime")
    assert grant["grantID"] == reply.json["grantID"]
    assert (grant["userName"], grant["resourceType"], grant["resourceID"]) == (user, "queue", queue)
    matches(RFC3339, grant["createTime"])
    matches(RFC3339, grant["updateTime"])


def test_a_grant_shows_the_queue(flow):
    user, queue = flow.make_user(), flow.make_queue()
    refused(flow.get("/queue/" + queue, who=user), "ActionNotAllowed")
    flow.grant(user, queue)
    assert good(flow.get("/queue/" + queue, who=user)).json["name"] == queue
    assert [item["name"] for item in good(flow.get("/queue", who=user)).json["queueList"]] == [queue]
    good(flow.delete(f"/grant?username={user}&resourceType=queue&resourceID={queue}"), empty=True)
    refused(flow.get("/queue/" + queue, who=user), "ActionNotAllowed")
    refused(flow.delete(f"/grant?username={user}&resourceType=queue&resourceID={queue}"), "GrantNotFound")
    flow.grant(user, queue)  # and again


def test_list(flow):
    user, other = flow.make_user(), flow.make_user()
    queues = [flow.make_queue() for _ in range(3)]
    for queue in queues:
        flow.grant(user, queue)
    flow.grant(other, queues[0])
    page = good(flow.get("/grant?username=" + user)).json
    has_keys(page, "maxKeys isTruncated grantList", "nextMarker")
    assert [grant["resourceID"] for grant in page["grantList"]] == queues  # insertion
    assert pages(flow, f"/grant?username={user}", "grantList", "resourceID", 1) == queues
    everything = [
        (item["userName"], item["resourceID"]) for item in good(flow.get("/grant?maxKeys=1000")).json["grantList"]
    ]
    assert everything[-4:] == [(user, queue) for queue in queues] + [(other, queues[0])]


def test_list_of_none(flow):
    """8.9: a list, never null."""
    assert good(flow.get("/grant?username=" + flow.make_user())).json["grantList"] == []


def test_a_dropped_queue_takes_its_grants(flow):
    user, queue = flow.make_user(), flow.make_queue()
    flow.grant(user, queue)
    good(flow.delete("/queue/" + queue), empty=True)
    assert good(flow.get("/grant?username=" + user)).json["grantList"] == []
    flow.make_queue(name=queue)
    refused(flow.get("/queue/" + queue, who=user), "ActionNotAllowed")
