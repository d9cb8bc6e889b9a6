"""The routes of many users (doc/guide/rest.md): the catalog, questions to the scheduler, changes of jobs; and input that is bad."""

import datetime
import json

import pytest
from conftest import server_of_module, wait_for
from test_tokens import refused

SLEEP = ["sleep", "600"]

# Four cores, 8 GiB and two declared GPUs; tests of this module clear what they make.
served = server_of_module("--cpus", "4", "--memory", "8Gi", "--gpus", "2")


@pytest.fixture
def room(served):
    """The server, empty again after the test: jobs end, queues go."""
    yield served
    states = "state=queued,suspended,starting,running,stopping,preempting"
    served.cancel(job["id"] for job in served.get(f"/v1/jobs?all=true&limit=1000&{states}").json["items"])
    wait_for(lambda: served.get("/v1/info").json["jobs"]["open"] == 0, 60, "the end of all jobs")
    for kind, keep in (
        ("grants", ()),
        ("queues", ("default", "default-queue")),
        ("pools", ()),
        ("clusters", ("default-cluster",)),
    ):
        left = True
        while left:  # children go before parents
            items = [item["name"] for item in served.get(f"/v1/{kind}?limit=1000").json["items"]]
            left = [name for name in items if name not in keep]
            gone = [served.request("DELETE", f"/v1/{kind}/{name}").status for name in left]
            assert not left or 204 in gone, (kind, left, gone)


def queue(server, name, **about):
    reply = server.post("/v1/queues", {"name": name, **about})
    assert reply.status == 201, reply.body
    return reply.json


def running(server, **spec):
    """A job of the given shape that runs until it is told to end."""
    job = server.submit(SLEEP, grace="1s", **spec)
    return server.wait(job["id"], "running")


def waiting(server, **spec):
    job = server.submit(SLEEP, grace="1s", **spec)
    return server.wait(job["id"], "queued")


def role(replicas=1, **about):
    return [{"name": "worker", "replicas": replicas, **about}]


# -- what a new server has


def test_seeds(room):
    names = {
        kind: [item["name"] for item in room.get(f"/v1/{kind}").json["items"]]
        for kind in ("clusters", "queues", "flavours", "users")
    }
    assert names["clusters"] == ["default-cluster"]
    assert sorted(names["queues"]) == ["default", "default-queue"]
    assert sorted(names["flavours"]) == ["flavour1", "flavour2", "flavour3"]
    assert "root" in names["users"]
    cluster = room.get("/v1/clusters/default-cluster").json
    assert (cluster["type"], cluster["status"], cluster["connected"], cluster["trouble"]) == (
        "Local",
        "online",
        True,
        None,
    )
    assert len(cluster["nodes"]) == 1
    default = room.get("/v1/queues/default").json
    assert (default["state"], default["everyone"], default["open_jobs"]) == ("open", True, 0)


# -- queues


def test_a_queue_is_made_changed_and_dropped(room):
    made = queue(
        room,
        "team",
        max={"cpu": "2500m", "memory": "4Gi", "nvidia.com/gpu": 1},
        min={"cpu": 1},
        weight=3,
        reclaimable=False,
    )
    assert made["max"] == {"cpu": "2500m", "memory": "4Gi", "nvidia.com/gpu": 1}
    assert (made["min"], made["weight"], made["reclaimable"], made["state"], made["everyone"]) == (
        {"cpu": "1"},
        3,
        False,
        "open",
        False,
    )
    shown = room.get("/v1/queues/team")
    assert {k: v for k, v in shown.json.items() if k != "figures"} == {k: v for k, v in made.items() if k != "figures"}

    changed = room.request("PATCH", "/v1/queues/team", {"max": {"cpu": "3"}, "weight": None})
    assert changed.status == 200, changed.body
    assert changed.json["max"] == {"cpu": "3", "memory": "4Gi", "nvidia.com/gpu": 1}  # merged kind by kind
    assert changed.json["weight"] == 1 and changed.json["version"] > made["version"]
    without = room.request("PATCH", "/v1/queues/team", {"max": {"memory": None}}).json
    assert without["max"] == {"cpu": "3", "nvidia.com/gpu": 1}
    assert room.request("DELETE", "/v1/queues/team").status == 204
    refused(room.get("/v1/queues/team"), 404, "not_found", "team")


def test_a_change_of_an_older_version_is_refused(room):
    queue(room, "team", max={"cpu": "2"})
    tag = room.get("/v1/queues/team").headers["ETag"]
    first = room.request("PATCH", "/v1/queues/team", {"weight": 2}, {"If-Match": tag})
    assert first.status == 200 and first.headers["ETag"] != tag
    refused(room.request("PATCH", "/v1/queues/team", {"weight": 3}, {"If-Match": tag}), 412, "stale", "team")
    assert room.get("/v1/queues/team").json["weight"] == 2
    assert room.request("PATCH", "/v1/queues/team", {"weight": 3}, {"If-Match": first.headers["ETag"]}).status == 200
    for bad in ("7", '"x"', '"-1"', '""', "W/"):
        refused(room.request("PATCH", "/v1/queues/team", {"weight": 4}, {"If-Match": bad}), 400, "invalid", "If-Match")


@pytest.mark.parametrize(
    "kind, body", [("queues", {"weight": 2}), ("flavours", {"cpu": "2"}), ("users", {"admin": True})]
)
def test_a_drop_of_an_older_version_is_refused(room, kind, body):
    fields = {"flavours": {"cpu": "1", "memory": "1Gi"}}.get(kind, {})
    assert room.post(f"/v1/{kind}", {"name": "team", **fields}).status == 201
    path = f"/v1/{kind}/team"
    tag = room.get(path).headers["ETag"]
    assert room.request("PATCH", path, body).status == 200
    refused(room.request("DELETE", path, None, {"If-Match": tag}), 412, "stale", "team")
    refused(room.request("DELETE", path, None, {"If-Match": "7"}), 400, "invalid", "If-Match")
    now = room.get(path)
    assert now.status == 200
    assert room.request("DELETE", path, None, {"If-Match": now.headers["ETag"]}).status == 204
    refused(room.request("DELETE", path, None, {"If-Match": now.headers["ETag"]}), 404, "not_found", "team")


def test_amounts_of_reasons_are_those_of_objects(room):
    full = room.submit(["sleep", "600"], roles=[{"name": "worker", "cpu": "4"}], grace="1s")
    room.wait(full["id"], "running")
    free = wait_for(lambda: (f := room.get("/v1/scheduler").json["free"])["cpu"] == "0" and f, 10, "a full room")
    assert set(free) == set(room.get("/v1/scheduler").json["total"])
    job = room.submit(["true"], roles=[{"name": "worker", "cpu": "1500m"}])
    later = room.submit(["true"], begin="2099-01-01T00:00:00Z")
    last = room.submit(["true"], roles=[{"name": "worker", "cpu": "1500m"}])
    for got in (room.job(job["id"]), room.get(f"/v1/jobs/{job['id']}/explain").json):
        reason = got["reasons"][0]
        assert (reason["resource"], reason["asked"], reason["free"]) == ("cpu", "1500m", "0"), reason
        assert "1.5 cores" in reason["message"]
    for got in (room.job(last["id"]), room.get(f"/v1/jobs/{last['id']}/explain").json):
        assert [r["position"] for r in got["reasons"] if "position" in r] == [1], (got, later)


def test_queues_of_an_offline_cluster_can_be_changed(room):
    assert room.post("/v1/clusters", {"name": "lab", "type": "Local"}).status == 201
    queue(room, "team", cluster="lab")
    assert room.request("PATCH", "/v1/clusters/lab", {"status": "offline"}).status == 200
    changed = room.request("PATCH", "/v1/queues/team", {"closed": True, "weight": 3})
    assert changed.status == 200 and changed.json["closed"] is True and changed.json["weight"] == 3, changed.body
    refused(room.post("/v1/queues", {"name": "other", "cluster": "lab"}), 409, "conflict", "lab", "offline")
    room.paddle("queue", "open", "team", check=0)
    assert room.get("/v1/queues/team").json["closed"] is False
    assert room.request("DELETE", "/v1/queues/team").status == 204


BAD_QUEUES = [
    # body, status, words of the message: the field, the value, the rule
    ({}, 400, ["name"]),
    ({"name": "Team"}, 400, ["name", "Team"]),
    ({"name": "x" * 64}, 400, ["63"]),
    ({"name": "default"}, 409, ["default"]),
    ({"name": "q", "cluster": "none"}, 404, ["cluster", "none"]),
    ({"name": "q", "parent": "none"}, 404, ["parent", "none"]),
    ({"name": "q", "parent": "q"}, (400, 404, 409), ["q"]),
    ({"name": "q", "max": {"cpu": "-1"}}, 400, ["max", "cpu", "-1"]),
    ({"name": "q", "max": {"cpu": "99999999999999999999"}}, 400, ["max", "cpu", "99999999999999999999"]),
    ({"name": "q", "max": {"memory": "9223372036854775807Gi"}}, 400, ["memory"]),
    ({"name": "q", "max": {"cpu": "two"}}, 400, ["cpu", "two"]),
    ({"name": "q", "max": {"cpu": []}}, 400, ["cpu"]),
    ({"name": "q", "max": "2"}, 400, ["max"]),
    ({"name": "q", "max": {"cpu": "1"}, "min": {"cpu": "2"}}, 400, ["min", "max"]),
    ({"name": "q", "min": {"cpu": "1"}, "reserved": {"cpu": "2"}}, 400, ["reserved", "min"]),
    ({"name": "q", "min": {"cpu": "5"}}, (400, 409), ["min", "5"]),
    ({"name": "q", "min": {"memory": "64Pi"}}, 400, ["min", "64Pi"]),
    ({"name": "q", "weight": 0}, 400, ["weight", "65535"]),
    ({"name": "q", "weight": 65536}, 400, ["weight", "65535"]),
    ({"name": "q", "weight": "1"}, 400, ["weight"]),
    ({"name": "q", "weight": 1.5}, 400, ["weight"]),
    ({"name": "q", "weight": 10**30}, 400, []),
    ({"name": "q", "priority": 1001}, 400, ["priority", "1000"]),
    ({"name": "q", "preemption": "always"}, 400, ["preemption", "always", "lower-priority"]),
    ({"name": "q", "ordering": "random"}, 400, ["ordering", "random", "fair"]),
    ({"name": "q", "closed": 1}, 400, ["closed"]),
    ({"name": "q", "state": "open"}, 400, ["state"]),
    ({"name": "q", "colour": "red"}, 400, ["colour"]),
    ({"name": "q", "location": {"a": 1}}, 400, ["location"]),
    ({"name": "q", "max_running_per_user": -1}, 400, ["max_running_per_user"]),
]


@pytest.mark.parametrize("body, status, says", BAD_QUEUES, ids=[json.dumps(body)[:60] for body, _, _ in BAD_QUEUES])
def test_queues_that_cannot_be_made(room, body, status, says):
    reply = room.post("/v1/queues", body)
    assert reply.status in (status if isinstance(status, tuple) else (status,)), reply.body
    said = reply.json["message"] + reply.json["hint"]
    assert all(word in said for word in says), said
    assert "q" not in [item["name"] for item in room.get("/v1/queues").json["items"]]


def test_quotas_fit_into_each_other(room):
    queue(room, "org", max={"cpu": "3"}, min={"cpu": "2"})
    refused(room.post("/v1/queues", {"name": "a", "parent": "org", "max": {"cpu": "4"}}), 400, "invalid", "max", "org")
    queue(room, "a", parent="org", min={"cpu": "1500m"}, max={"cpu": "3"})
    refused(room.post("/v1/queues", {"name": "b", "parent": "org", "min": {"cpu": "1"}}), 400, "invalid", "min", "org")
    queue(room, "b", parent="org", min={"cpu": "500m"})
    refused(room.request("PATCH", "/v1/queues/org", {"min": {"cpu": "1"}}), 400, "invalid", "min", "org")
    refused(room.request("PATCH", "/v1/queues/org", {"max": {"cpu": "2"}}), 400, "invalid", "max", "org")
    refused(room.request("PATCH", "/v1/queues/org", {"parent": "a"}), 400, "invalid", "org", "a")
    refused(room.request("DELETE", "/v1/queues/org"), 409, "conflict", "org")
    reply = room.post("/v1/jobs", {"command": ["true"], "queue": "org"})
    assert reply.status in (400, 409) and "org" in reply.json["message"], reply.body  # jobs go to leaves
    for kept in ("default", "default-queue"):
        refused(room.request("DELETE", f"/v1/queues/{kept}"), 409, "conflict", kept)


def test_a_closed_queue(room):
    queue(room, "team", max={"cpu": "4"})
    job = running(room, queue="team", roles=role(cpu="1"))
    closed = room.request("PATCH", "/v1/queues/team", {"closed": True})
    assert closed.status == 200 and closed.json["state"] == "closing" and closed.json["open_jobs"] == 1
    assert any("team" in sentence and "1" in sentence for sentence in closed.json["warnings"]), closed.json
    refused(room.post("/v1/jobs", {"command": ["true"], "queue": "team"}), 409, "conflict", "team", "closed")
    assert room.job(job["id"])["state"] == "running"  # what it has runs on
    refused(room.request("DELETE", "/v1/queues/team"), 409, "conflict", "team")
    room.request("DELETE", f"/v1/jobs/{job['id']}")
    room.wait(job["id"], "cancelled")
    assert wait_for(lambda: room.get("/v1/queues/team").json["state"] == "closed", 10, "its closing")
    assert room.request("PATCH", "/v1/queues/team", {"closed": False}).json["state"] == "open"


def test_a_quota_below_use(room):
    queue(room, "team", max={"cpu": "4"})
    job = running(room, queue="team", roles=role(cpu="3"))
    wait_for(lambda: room.get("/v1/queues/team").json["figures"]["used"].get("cpu") == "3", 10, "its figures")
    shrunk = room.request("PATCH", "/v1/queues/team", {"max": {"cpu": "2"}})
    assert shrunk.status == 200, shrunk.body
    assert any("3 cores" in sentence and "2" in sentence for sentence in shrunk.json["warnings"]), shrunk.json
    assert room.job(job["id"])["state"] == "running"
    after = waiting(room, queue="team", roles=role(cpu="1"))
    assert after["reasons"][0]["cause"] == "queue_max", after["reasons"]
    room.request("DELETE", f"/v1/jobs/{job['id']}")
    room.wait(after["id"], "running")


# -- clusters, flavours, pools


def test_a_cluster_that_is_not_connected(room):
    made = room.post("/v1/clusters", {"name": "far", "type": "Kubernetes", "credential": "c2VjcmV0"})
    assert made.status == 201 and made.json["connected"] is False and made.json["has_credential"] is True, made.body
    assert "c2VjcmV0" not in made.body.decode() and made.json["warnings"] and "connection" in made.json["trouble"]
    assert queue(room, "far-q", cluster="far")["state"] == "unavailable"
    job = waiting(room, queue="far-q")
    assert job["reasons"][0]["cause"] in ("no_nodes", "runtime") and "far" in job["reason"], job["reasons"]
    refused(room.request("DELETE", "/v1/clusters/far"), 409, "conflict", "far")
    room.request("DELETE", f"/v1/jobs/{job['id']}")
    room.wait(job["id"], "cancelled")
    assert room.request("DELETE", "/v1/clusters/far").status == 204
    refused(room.get("/v1/queues/far-q"), 404, "not_found", "far-q")  # goes with it
    refused(room.request("DELETE", "/v1/clusters/default-cluster"), 409, "conflict", "default-cluster")
    refused(room.post("/v1/clusters", {"name": "x", "type": "kubernetes"}), 400, "invalid", "type", "Kubernetes")


def test_a_flavour_says_what_a_role_does_not(room):
    made = room.post(
        "/v1/flavours", {"name": "small", "cpu": "500m", "memory": "256Mi", "scalars": {"nvidia.com/gpu": "1"}}
    )
    assert made.status == 201 and made.json["creator"] == "root", made.body
    job = room.submit(["true"], roles=role(flavour="small"))
    spec = job["spec"]["roles"][0]
    assert (spec["cpu"], spec["memory"], spec["gpus"], spec["flavour"]) == ("500m", "256Mi", 1, "small")
    own = room.submit(["true"], roles=role(flavour="small", cpu="1", gpus=0))["spec"]["roles"][0]
    assert (own["cpu"], own["memory"], own["gpus"]) == ("1", "256Mi", 0)
    refused(
        room.post("/v1/jobs", {"command": ["true"], "roles": role(flavour="none")}),
        404,
        "not_found",
        "roles[0].flavour",
        "none",
    )
    assert room.post("/v1/clusters", {"name": "far", "type": "Kubernetes"}).status == 201
    assert room.post("/v1/flavours", {"name": "bound", "cpu": "1", "memory": "1Gi", "cluster": "far"}).status == 201
    refused(
        room.post("/v1/jobs", {"command": ["true"], "roles": role(flavour="bound")}),
        400,
        "invalid",
        "bound",
        "far",
        "default-cluster",
    )
    for name in ("small", "bound"):
        assert room.request("DELETE", f"/v1/flavours/{name}").status == 204


@pytest.mark.parametrize(
    "body, says",
    [
        ({"name": "f", "cpu": "0", "memory": "1Gi"}, "cpu"),
        ({"name": "f", "cpu": "1", "memory": "-1"}, "memory"),
        ({"name": "f", "cpu": "1"}, "memory"),
        ({"name": "f", "cpu": "1", "memory": "1Gi", "scalars": {"nvidia.com/gpu": "-1"}}, "nvidia.com/gpu"),
        ({"name": "f", "cpu": "1", "memory": "1Gi", "scalars": ["x"]}, "scalars"),
        ({"name": "f", "cpu": 1e400, "memory": "1Gi"}, ""),
    ],
)
def test_flavours_that_cannot_be_made(room, body, says):
    reply = room.post("/v1/flavours", json.dumps(body))
    assert reply.status == 400 and reply.json["code"] == "invalid" and says in reply.json["message"], reply.body
    assert room.get("/v1/flavours/f").status == 404


def test_pools(room):
    made = room.post("/v1/pools", {"name": "rented", "total": {"cpu": "100"}, "labels": {"zone": "a"}})
    assert made.status == 201 and made.json["status"] == "creating" and made.json["creator"] == "root", made.body
    assert room.request("PATCH", "/v1/pools/rented", {"status": "open"}).json["status"] == "open"
    refused(room.request("PATCH", "/v1/pools/rented", {"status": "gone"}), 400, "invalid", "status")
    assert room.request("DELETE", "/v1/pools/rented").status == 204


# -- why a job waits


def test_a_reason_names_figures(room):
    first = running(room, roles=role(cpu="3"))
    second = waiting(room, roles=role(cpu="2"))
    assert second["reason"] == second["reasons"][0]["message"]
    reason = second["reasons"][0]
    assert (reason["cause"], reason["resource"], reason["asked"], reason["free"]) == ("resources", "cpu", "2", "1"), (
        reason
    )
    assert room.job(first["id"])["reasons"] == []
    listed = room.get("/v1/jobs?state=queued").json["items"]
    assert [job["reasons"][0]["cause"] for job in listed] == ["resources"]

    explained = room.get(f"/v1/jobs/{second['id']}/explain").json
    assert (explained["state"], explained["cause"], explained["expected_start"]) == ("queued", "resources", None)
    assert explained["reasons"][0]["asked"] == "2" and explained["reasons"][0]["free"] == "1"
    third = waiting(room, roles=role(cpu="2"))
    behind = room.get(f"/v1/jobs/{third['id']}/explain").json
    assert behind["position"] == 1 and second["id"] in str(behind["reasons"]), behind
    assert room.get(f"/v1/jobs/{first['id']}/explain").json["cause"] == "none"


def test_a_limit_gives_an_expected_start(room):
    first = running(room, roles=role(cpu="4"), time_limit="1h")
    second = waiting(room, roles=role(cpu="4"))
    explained = room.get(f"/v1/jobs/{second['id']}/explain").json
    assert explained["expected_start"] and explained["expected_start"] > first["running_at"]
    late, early = (
        datetime.datetime.fromisoformat(text[:19]) for text in (explained["expected_start"], first["running_at"])
    )
    assert explained["reasons"][0]["job"] == first["id"]  # what has to end first
    assert 3590 <= (late - early).total_seconds() <= 3700, explained


def test_reasons_that_are_not_the_schedulers(room):
    first = running(room, roles=role(cpu="1"))
    after = waiting(room, after=[f"ok:{first['id']}"])
    assert after["reasons"][0]["cause"] == "dependency" and first["id"] in after["reason"]
    assert room.get(f"/v1/jobs/{after['id']}/explain").json["cause"] == "dependency"
    begin = waiting(room, begin="2099-01-01T00:00:00Z")
    assert (
        begin["reasons"][0]["cause"] == "begin" and begin["reasons"][0]["expected_start"] == "2099-01-01T00:00:00.000Z"
    )


# -- dry run, what if


def test_a_dry_run_makes_nothing(room):
    before = [job["id"] for job in room.get("/v1/jobs?all=true").json["items"]]
    reply = room.post("/v1/jobs?dry_run=true", {"command": ["true"], "roles": role(2, cpu="1", gpus=1)})
    assert reply.status == 200, reply.body
    said = reply.json
    assert (said["admitted"], said["state"], said["queue"], said["evicts"], said["reasons"]) == (
        True,
        "would start",
        "default",
        [],
        [],
    )
    assert [(p["role"], p["index"]) for p in said["placement"]] == [("worker", 0), ("worker", 1)]
    assert sorted(p["gpus"] for p in said["placement"]) == [[0], [1]] and said["start"]
    assert [job["id"] for job in room.get("/v1/jobs?all=true").json["items"]] == before

    running(room, roles=role(cpu="3"))
    said = room.post("/v1/jobs?dry_run=true", {"command": ["true"], "roles": role(cpu="2")}).json
    assert (said["admitted"], said["state"], said["start"], said["placement"]) == (False, "would wait", None, [])
    assert said["reasons"][0]["cause"] == "resources" and said["reasons"][0]["free"] == "1"


def test_a_dry_run_says_whom_it_would_evict(room):
    queue(room, "team", preemption="lower-priority")
    low = running(room, queue="team", priority="low", roles=role(cpu="4"))
    said = room.post(
        "/v1/jobs?dry_run=true", {"command": ["true"], "queue": "team", "priority": "high", "roles": role(cpu="2")}
    ).json
    assert said["state"] == "would wait" and said["evicts"] == [
        {"job": low["id"], "name": low["name"], "user": "root", "shrinks": False}
    ], said
    assert room.job(low["id"])["state"] == "running"


@pytest.mark.parametrize(
    "spec, code, says",
    [
        ({"queue": "none"}, "not_found", "none"),
        ({"queue": "shut"}, "conflict", "shut"),
        ({"roles": role(cpu="5")}, "invalid", "5"),
        ({"queue": "small", "roles": role(cpu="2")}, "invalid", "small"),
        ({"name": "taken"}, "exists", "taken"),
        ({"after": ["ok:nobody"]}, "not_found", "nobody"),
        ({"queue": "one"}, "quota", "one"),
        ({"roles": role(cpu="9223372036854775.807")}, "invalid", "cores"),
    ],
)
def test_a_dry_run_that_is_refused(room, spec, code, says):
    queue(room, "shut", closed=True)
    queue(room, "one", max_open_per_user=1)
    room.submit(["sleep", "600"], name="taken", queue="one", grace="1s")
    queue(room, "small", max={"cpu": "1"})
    reply = room.post("/v1/jobs?dry_run=true", {"command": ["true"], **spec})
    assert reply.status == 200 and (reply.json["admitted"], reply.json["state"]) == (False, "refused"), reply.body
    assert reply.json["error"]["code"] == code and says in reply.json["error"]["message"], reply.body
    real = room.post("/v1/jobs", {"command": ["true"], **spec})
    assert real.json["code"] == code and real.status >= 400, real.body


def test_what_if(room):
    queue(room, "team", max={"cpu": "1"})
    queue(room, "other", max={"cpu": "1"})
    running(room, queue="team", roles=role(cpu="1"))
    held = waiting(room, queue="team", roles=role(cpu="1"))
    asked = room.request("PATCH", "/v1/queues/team?what_if=true", {"max": {"cpu": "4"}})
    assert asked.status == 200, asked.body
    assert [(c["job"], c["queue"], c["now"]["state"], c["then"]["state"]) for c in asked.json["changes"]] == [
        (held["id"], "team", "queued", "starts")
    ]
    assert asked.json["changes"][0]["now"]["cause"] == "queue_max" and asked.json["checked"] == 2
    assert room.get("/v1/queues/team").json["max"] == {"cpu": "1"}  # nothing changed
    assert room.job(held["id"])["state"] == "queued"
    nothing = room.request("PATCH", "/v1/queues/other?what_if=true", {"weight": 7}).json
    assert nothing["changes"] == [] and nothing["checked"] == 2
    refused(
        room.request("PATCH", "/v1/queues/team?what_if=true", {"max": {"cpu": "1"}, "min": {"cpu": "2"}}),
        400,
        "invalid",
        "min",
    )
    refused(room.request("PATCH", "/v1/queues/team?what_if=maybe", {"weight": 2}), 400, "invalid", "what_if")
    assert room.request("PATCH", "/v1/queues/team", {"max": {"cpu": "4"}}).status == 200
    room.wait(held["id"], "running")  # as was foretold


# -- many at once


def test_a_batch(room):
    specs = [{"command": ["true"], "name": "first"}, {"command": ["true"], "name": "second", "after": ["ok:first"]}]
    made = room.post("/v1/jobs/batch", {"jobs": specs}, headers={"Idempotency-Key": "batch-1"})
    assert made.status == 201 and [job["name"] for job in made.json["jobs"]] == ["first", "second"], made.body
    first, second = (room.wait(job["id"], "succeeded") for job in made.json["jobs"])
    assert second["running_at"] >= first["finished_at"]
    again = room.post("/v1/jobs/batch", {"jobs": specs}, headers={"Idempotency-Key": "batch-1"})
    assert again.status == 200 and again.json == made.json


def test_an_array(room):
    made = room.post("/v1/jobs/batch", {"jobs": [{"command": ["true"], "name": "sweep", "array": "0-4%2"}]}).json[
        "jobs"
    ]
    assert len(made) == 5
    for job in made:
        room.wait(job["id"], "succeeded")
    shown = room.job(made[3]["id"])
    assert shown["array"] == {"id": f"a{made[0]['id']}", "name": "sweep", "index": 3, "max": 2, "size": 5}
    listed = room.get(f"/v1/jobs?array={made[2]['id']}").json["items"]
    assert sorted(job["id"] for job in listed) == sorted(job["id"] for job in made)
    alone = room.submit(["true"])["id"]
    refused(room.get(f"/v1/jobs?array={alone}"), 400, "invalid", "array")
    refused(room.get("/v1/jobs?array=none"), 404, "not_found", "none")


@pytest.mark.parametrize(
    "jobs, status, says",
    [
        ([], 400, "1 to 10000"),
        ({}, 400, "jobs"),
        ("x", 400, "jobs"),
        ([1], 400, "jobs[0]"),
        ([{"command": ["true"]}, {"command": []}], 400, "jobs[1]"),
        ([{"command": ["true"]}, {"command": ["true"], "queue": "none"}], 404, "none"),
        (
            [
                {"command": ["true"], "name": "a", "after": ["ok:b"]},
                {"command": ["true"], "name": "b", "after": ["ok:a"]},
            ],
            400,
            "a",
        ),
        ([{"command": ["true"], "name": "twice"}, {"command": ["true"], "name": "twice"}], 409, "twice"),
        ([{"command": ["true"], "array": "0-9999"}, {"command": ["true"]}], 400, "10001"),
    ],
)
def test_batches_make_all_or_none(room, jobs, status, says):
    before = [job["id"] for job in room.get("/v1/jobs?all=true&limit=1000").json["items"]]
    reply = room.post("/v1/jobs/batch", {"jobs": jobs})
    assert reply.status == status and says in reply.json["message"], reply.body
    assert [job["id"] for job in room.get("/v1/jobs?all=true&limit=1000").json["items"]] == before


def test_ten_thousand_at_once(room):
    queue(room, "many", max={"cpu": "1"})
    blocker = running(room, queue="many", roles=role(cpu="1"))
    specs = [{"command": ["true"], "queue": "many", "roles": role(cpu="1")}] * 10000
    made = room.post("/v1/jobs/batch", {"jobs": specs}, timeout=120)
    assert made.status == 201, made.body[:500]
    ids = [job["id"] for job in made.json["jobs"]]
    assert len(set(ids)) == 10000
    assert room.get("/v1/queues/many").json["open_jobs"] == 10001
    assert room.get(f"/v1/jobs/{ids[-1]}/explain").json["position"] == 9999
    refused(room.post("/v1/jobs/batch", {"jobs": [*specs, specs[0]]}, timeout=120), 400, "invalid", "jobs", "10000")
    room.cancel(ids)
    assert room.job(blocker["id"])["state"] == "running"


# -- changes of jobs


def test_members_of_a_job_change_while_it_waits(room):
    queue(room, "one", max={"cpu": "1"})
    queue(room, "two", max={"cpu": "4"})
    running(room, queue="one", roles=role(cpu="1"))
    job = waiting(room, queue="one", roles=role(cpu="1"), labels={"team": "a", "run": "1"})
    assert [j["id"] for j in room.get("/v1/jobs?label=team%3Da&label=run%3D1").json["items"]] == [job["id"]]
    changed = room.request("PATCH", f"/v1/jobs/{job['id']}", {"priority": "high", "labels": {"team": "b"}})
    assert changed.status == 200 and (changed.json["priority"], changed.json["labels"]) == (100, {"team": "b"}), (
        changed.body
    )
    assert room.get("/v1/jobs?label=team%3Da").json["items"] == []
    assert [j["id"] for j in room.get("/v1/jobs?queue=one&state=queued").json["items"]] == [job["id"]]
    moved = room.request("PATCH", f"/v1/jobs/{job['id']}", {"queue": "two"})
    assert moved.status == 200 and moved.json["queue"] == "two"
    room.wait(job["id"], "running")
    refused(room.request("PATCH", f"/v1/jobs/{job['id']}", {"queue": "one"}), 409, "conflict", job["id"])
    assert room.request("PATCH", f"/v1/jobs/{job['id']}", {"labels": None}).json["labels"] == {}


@pytest.mark.parametrize(
    "body, status, says",
    [
        ({"queue": "none"}, 404, "none"),
        ({"queue": 1}, 400, "queue"),
        ({"priority": 1001}, 400, "priority"),
        ({"priority": "highest"}, 400, "highest"),
        ({"priority": None}, 400, "priority"),
        ({"labels": {"a": 1}}, 400, "labels"),
        ({"labels": []}, 400, "labels"),
        ({"name": "other"}, 400, "name"),
        ({"annotations": "x"}, 400, "annotations"),
    ],
)
def test_changes_that_cannot_be(room, body, status, says):
    job = room.submit(["true"])
    reply = room.request("PATCH", f"/v1/jobs/{job['id']}", body)
    assert reply.status in (status, 409) and (reply.status == 409 or says in reply.json["message"]), reply.body
    if reply.status == 409:  # it had finished; what is no change is refused before that
        assert status == 404, reply.body


def test_hold_and_release(room):
    running(room, roles=role(cpu="4"))
    job = waiting(room, roles=role(cpu="1"))
    held = room.post(f"/v1/jobs/{job['id']}/hold")
    assert held.status == 200 and held.json["state"] == "suspended"
    assert room.get(f"/v1/jobs/{job['id']}/explain").json["cause"] == "held"
    assert room.post(f"/v1/jobs/{job['id']}/release").json["state"] == "queued"


def test_requeue_and_saved(room):
    job = running(room, roles=role(cpu="1"))
    assert room.post(f"/v1/jobs/{job['id']}/saved").json["saved_at"]
    assert room.post(f"/v1/jobs/{job['id']}/requeue").status == 200
    again = wait_for(
        lambda: (j := room.job(job["id"]))["attempt"] == 2 and j["state"] == "running" and j, 30, "its second start"
    )
    assert again["failures"] == 0
    assert room.request("DELETE", f"/v1/jobs/{job['id']}").status == 200
    room.wait(job["id"], "cancelled")
    for action in ("hold", "requeue", "saved"):
        refused(room.post(f"/v1/jobs/{job['id']}/{action}"), 409, "conflict", job["id"])
    refused(room.post("/v1/jobs/none/hold"), 404, "not_found", "none")


def test_a_finished_job_is_forgotten(room):
    job = running(room)
    refused(room.request("DELETE", f"/v1/jobs/{job['id']}?forget=true"), 409, "conflict", job["id"])
    room.request("DELETE", f"/v1/jobs/{job['id']}")
    room.wait(job["id"], "cancelled")
    assert room.request("DELETE", f"/v1/jobs/{job['id']}?forget=true").status == 204
    refused(room.get(f"/v1/jobs/{job['id']}"), 404, "not_found", job["id"])


# -- the scheduler


def test_figures_and_nodes(room):
    queue(room, "team", max={"cpu": "2"}, min={"cpu": "1"})
    job = running(room, queue="team", roles=role(cpu="2", gpus=1))
    figures = wait_for(
        lambda: (f := {q["name"]: q for q in room.get("/v1/scheduler").json["queues"]})["team"]["running"] == 1 and f,
        10,
        "figures",
    )
    team = figures["team"]
    assert (team["used"]["cpu"], team["borrowed"]["cpu"], team["min"], team["max"]) == (
        "2",
        "1",
        {"cpu": "1"},
        {"cpu": "2"},
    )
    whole = room.get("/v1/scheduler").json
    assert (whole["total"]["cpu"], whole["free"]["cpu"], whole["total"]["nvidia.com/gpu"]) == ("4", "2", 2)
    (node,) = room.get("/v1/nodes").json["items"]
    assert (node["cluster"], node["usable"], node["total"]["cpu"], node["used"]["cpu"]) == (
        "default-cluster",
        True,
        "4",
        "2",
    )
    assert node["gpus"] == {"total": 2, "used": [0]}
    assert room.get("/v1/clusters/default-cluster").json["nodes"] == [node["name"]]

    decisions = [d for d in room.get("/v1/scheduler/decisions").json["items"] if d["job"] == job["id"]]
    assert [(d["kind"], d["rule"], d["name"], d["node"]) for d in decisions] == [
        ("start", "allocate", job["name"], node["name"])
    ]
    assert len(room.get("/v1/scheduler/decisions?limit=1").json["items"]) == 1
    journal = room.get("/v1/scheduler/journal")
    assert journal.status == 200 and journal.body.startswith(b"paddle-sched-journal 1\n")


# -- bodies that are none


DEEP = "[" * 100 + "]" * 100
BODIES = [
    (b"", "empty"),
    (b"{", ""),
    (b"nonsense", ""),
    (b'{"name": "q"} x', ""),
    (b'{"name": "q", "name": "r"}', "name"),
    (b'{"name": "\xff\xfe"}', ""),
    (b'{"name": "q\\u0000"}', ""),
    (b"[]", "object"),
    (b'"q"', ""),
    (b"null", ""),
    (DEEP.encode(), ""),
    (b'{"name": "q", "max": ' + b'{"a":' * 100 + b"1" + b"}" * 101, ""),
    (b'{"name": "q", "weight": 1e999}', ""),
    (b'{"name": "q", "weight": NaN}', ""),
]
WRITES = [
    ("POST", "/v1/queues"),
    ("POST", "/v1/jobs"),
    ("POST", "/v1/jobs/batch"),
    ("PATCH", "/v1/queues/default"),
    ("POST", "/v1/login"),
]


@pytest.mark.parametrize("method, path", WRITES)
@pytest.mark.parametrize("body, says", BODIES, ids=[str(i) for i in range(len(BODIES))])
def test_bodies_that_are_none(room, method, path, body, says):
    reply = room.request(method, path, body, {"Content-Type": "application/json"})
    assert reply.status == 400 and reply.json["code"] == "invalid", reply.body
    assert says in reply.json["message"], reply.body
    assert reply.json["message"].isprintable()


@pytest.mark.parametrize("method, path", WRITES[:2] + WRITES[3:])
def test_ten_megabytes_are_refused_early(room, method, path):
    """By the announced length, before a byte of it is taken."""
    reply = room.request(method, path, b"x" * 10_000_000, {"Content-Type": "application/json"})
    refused(reply, 413, "too_large", "larger than")


def test_paths_that_are_none(room):
    for path in ("/v1/queues/%ff", "/v1/queues/%00", "/v1/jobs/%zz"):
        refused(room.get(path), 400, "invalid")
    for path in ("/v1/queues/" + "x" * 3000, "/v1/queues/a%2Fb", "/v1/grants/x", "/v1/grants/a/b/c/d"):
        refused(room.get(path), 404, "not_found")
