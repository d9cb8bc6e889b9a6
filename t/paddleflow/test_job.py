"""2.11 jobs, 7.1 their states; scheduling 6, 7, 11."""

import datetime
import json
import time
import urllib.parse

import pytest
from conftest import wait_for

from paddleflow.client import (
    FINAL,
    LOCAL_TIME,
    STATES,
    case,
    check,
    fresh,
    good,
    has_keys,
    is_recent,
    matches,
    pages,
    refused,
    table,
)

SPEC = "flavour limitFlavour fs extraFS image env command args port extensionTemplate"
KEYS = f"id name labels annotations schedulingPolicy UserName {SPEC} status message acceptTime startTime finishTime"
MEMBER = (
    "id replicas role name fs flavour limitFlavour priority clusterID queueID kindGroupVersion labels annotations image"
)
MEMBER_MAY = "extraFS queueName env command port args"
QUEUE = {"queue": "default-queue"}


def single(**about):
    return {"image": "any", "command": "true", "flavour": {"name": "flavour1"}, "schedulingPolicy": QUEUE, **about}


def without(*names):
    return {key: value for key, value in single().items() if key not in names}


def member(role="worker", replicas=1, **about):
    small = {"cpu": "500m", "mem": "256Mi"}
    return {"role": role, "replicas": replicas, "image": "any", "command": "true", "flavour": small, **about}


def distributed(framework="paddle", *members, **about):
    return {"framework": framework, "members": list(members), "schedulingPolicy": QUEUE, **about}


def template(kind, version, **about):
    return {"apiVersion": version, "kind": kind, **about}


S, D, W = "/job/single", "/job/distributed", "/job/workflow"
NOT = "JobCreateFailed"

REFUSED = [
    # the three of them
    *[
        row
        for path in (S, D, W)
        for row in (
            case(f"2.11 POST {path} not JSON", "POST", path, "{", "MalformedJSON"),
            case(f"2.11 POST {path} wrong type of name", "POST", path, {"name": 7}, "MalformedJSON"),
            case(f"2.11 POST {path} wrong type of labels", "POST", path, {"labels": ["a"]}, "MalformedJSON"),
            case(f"2.11 POST {path} wrong type of policy", "POST", path, {"schedulingPolicy": "q"}, "MalformedJSON"),
            case(f"2.11 POST {path} for another", "POST", path, {"userName": "root"}, "AuthIllegalUser", who="<alice>"),
        )
    ],
    case("2.11 single wrong type of args", "POST", S, single(args="x"), "MalformedJSON"),
    case("2.11 single wrong type of env", "POST", S, single(env={"A": 1}), "MalformedJSON"),
    case("2.11 single wrong type of port", "POST", S, single(port="80"), "MalformedJSON"),
    case(
        "2.11 distributed wrong type of replicas",
        "POST",
        D,
        distributed("paddle", member(replicas="2")),
        "MalformedJSON",
    ),
    # common
    case("2.11 single id upper case", "POST", S, single(id="Job"), NOT),
    case("2.11 single id of 64", "POST", S, single(id="a" * 64), NOT),
    case("2.11 single id with an underscore", "POST", S, single(id="a_b"), NOT),
    case("2.11 single id taken", "POST", S, single(id="<job>"), NOT),
    case("2.11 single name of 513", "POST", S, single(name="n" * 513), NOT),
    case("2.11 single queue unknown", "POST", S, single(schedulingPolicy={"queue": "none"}), NOT),
    case(
        "2.11 single queue unknown to another",
        "POST",
        S,
        single(schedulingPolicy={"queue": "none"}),
        NOT,
        who="<alice>",
    ),
    case("2.11 single queue not granted", "POST", S, single(schedulingPolicy={"queue": "<queue>"}), NOT, who="<alice>"),
    case("2.11 single priority", "POST", S, single(schedulingPolicy={**QUEUE, "priority": "URGENT"}), NOT),
    case("2.11 single priority very high", "POST", S, single(schedulingPolicy={**QUEUE, "priority": "VERY_HIGH"}), NOT),
    # specification
    case("2.11 single image missing", "POST", S, without("image"), NOT),
    case("2.11 single image empty", "POST", S, single(image=""), NOT),
    case("2.11 single flavour unknown", "POST", S, single(flavour={"name": "none"}), NOT),
    case("2.11 single flavour negative", "POST", S, single(flavour={"cpu": "-1", "mem": "1Gi"}), NOT),
    case("2.11 single flavour zero", "POST", S, single(flavour={"cpu": "0", "mem": "1Gi"}), NOT),
    case("2.11 single flavour no quantity", "POST", S, single(flavour={"cpu": "x", "mem": "1Gi"}), NOT),
    case(
        "2.11 single scalar negative",
        "POST",
        S,
        single(flavour={"cpu": "1", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "-1"}}),
        NOT,
    ),
    case(
        "2.11 single above the queue",
        "POST",
        S,
        single(schedulingPolicy={"queue": "<small>"}, flavour={"cpu": "3", "mem": "1Gi"}),
        NOT,
    ),
    case(
        "2.11 single memory above the queue",
        "POST",
        S,
        single(schedulingPolicy={"queue": "<small>"}, flavour={"cpu": "1", "mem": "3Gi"}),
        NOT,
    ),
    case(
        "2.11 single what the queue has not",
        "POST",
        S,
        single(schedulingPolicy={"queue": "<small>"}, flavour={"name": "flavour2"}),
        NOT,
    ),
    case(
        "2.11 single above its limit",
        "POST",
        S,
        single(env={"PF_JOB_LIMIT_FLAVOUR": "flavour1"}, flavour={"cpu": "2", "mem": "1Gi"}),
        NOT,
    ),
    case("2.11 single limit unknown", "POST", S, single(env={"PF_JOB_LIMIT_FLAVOUR": "none"}), NOT),
    case("2.11 single port negative", "POST", S, single(port=-1), NOT),
    case("2.11 single port 65535", "POST", S, single(port=65535), NOT),
    case("2.11 single fs unknown", "POST", S, single(fs={"name": "none"}), NOT),
    case("2.11 single fs at /", "POST", S, single(fs={"name": "none", "mountPath": "/"}), NOT),
    case("2.11 single fs at .", "POST", S, single(fs={"name": "none", "mountPath": "."}), NOT),
    case("2.11 single fs at ..", "POST", S, single(fs={"name": "none", "mountPath": ".."}), NOT),
    case("2.11 single extraFS unknown", "POST", S, single(extraFS=[{"name": "none"}]), NOT),
    # members
    case(
        "2.11 distributed framework missing",
        "POST",
        D,
        {"members": [member(replicas=2)], "schedulingPolicy": QUEUE},
        NOT,
    ),
    case("2.11 distributed framework unknown", "POST", D, distributed("caffe", member(replicas=2)), NOT),
    case("2.11 distributed framework standalone", "POST", D, distributed("standalone", member(replicas=2)), NOT),
    case("2.11 distributed members missing", "POST", D, {"framework": "paddle", "schedulingPolicy": QUEUE}, NOT),
    case("2.11 distributed members empty", "POST", D, distributed("paddle"), NOT),
    case("2.11 distributed role missing", "POST", D, distributed("paddle", {**member(replicas=2), "role": ""}), NOT),
    case("2.11 distributed role unknown", "POST", D, distributed("paddle", member("chief", 2)), NOT),
    case("2.11 distributed role of another framework", "POST", D, distributed("paddle", member("executor", 2)), NOT),
    case("2.11 distributed replicas zero", "POST", D, distributed("paddle", member(replicas=0)), NOT),
    case("2.11 distributed replicas negative", "POST", D, distributed("paddle", member(replicas=-1)), NOT),
    case(
        "2.11 distributed replicas missing", "POST", D, distributed("paddle", {"role": "worker", "image": "any"}), NOT
    ),
    case("2.11 distributed replicas beyond count", "POST", D, distributed("paddle", member(replicas=2147483647)), NOT),
    case("2.11 distributed image missing", "POST", D, distributed("paddle", member(replicas=2, image="")), NOT),
    case("2.11 distributed port", "POST", D, distributed("paddle", member(replicas=2, port=65535)), NOT),
    case(
        "2.11 distributed member of another queue",
        "POST",
        D,
        distributed("paddle", member(replicas=2, schedulingPolicy={"queue": "<queue>"})),
        NOT,
    ),
    case(
        "2.11 distributed member's priority",
        "POST",
        D,
        distributed("paddle", member(replicas=2, schedulingPolicy={"priority": "URGENT"})),
        NOT,
    ),
    case(
        "2.11 distributed member's flavour",
        "POST",
        D,
        distributed("paddle", member(replicas=2, flavour={"name": "none"})),
        NOT,
    ),
    case(
        "2.11 distributed sum above the queue",
        "POST",
        D,
        distributed("paddle", member(replicas=5), schedulingPolicy={"queue": "<small>"}),
        NOT,
    ),
    case(
        "2.11 distributed not granted",
        "POST",
        D,
        distributed("paddle", member(replicas=2), schedulingPolicy={"queue": "<queue>"}),
        NOT,
        who="<alice>",
    ),
    *[
        case(f"2.11 {framework} one worker", "POST", D, distributed(framework, member()), NOT)
        for framework in ("paddle", "tensorflow", "pytorch", "mxnet", "aitj")
    ],
    case("2.11 paddle pserver alone", "POST", D, distributed("paddle", member("pserver")), NOT),
    case("2.11 tensorflow pserver alone", "POST", D, distributed("tensorflow", member("pserver", 2)), NOT),
    case("2.11 pytorch master alone", "POST", D, distributed("pytorch", member("master")), NOT),
    case("2.11 spark without a driver", "POST", D, distributed("spark", member("executor", 2)), NOT),
    case("2.11 spark worker", "POST", D, distributed("spark", member("driver"), member("worker")), NOT),
    case("2.11 mpi without a master", "POST", D, distributed("mpi", member("worker", 2)), NOT),
    case("2.11 mpi without a worker", "POST", D, distributed("mpi", member("master")), NOT),
    case("2.11 mpi pserver", "POST", D, distributed("mpi", member("master"), member("pserver")), NOT),
    case("2.11 ray without a master", "POST", D, distributed("ray", member("worker", 2)), NOT),
    case("2.11 ray without a worker", "POST", D, distributed("ray", member("master")), NOT),
    case("2.11 workflow without a template", "POST", W, {"schedulingPolicy": QUEUE}, NOT),
    # 9: the kind of a template is the framework's, or the one that the annotation names
    case("9 single of another kind", "POST", S, single(extensionTemplate=template("Job", "batch/v1")), NOT),
    case("9 single of no kind", "POST", S, single(extensionTemplate={"spec": {}}), NOT),
    case("9 single of another version", "POST", S, single(extensionTemplate=template("Pod", "v2")), NOT),
    case(
        "9 paddle of another kind",
        "POST",
        D,
        distributed("paddle", member("worker", 2), extensionTemplate=template("TFJob", "kubeflow.org/v1")),
        NOT,
    ),
    case(
        "9 paddle of another group",
        "POST",
        D,
        distributed("paddle", member("worker", 2), extensionTemplate=template("PaddleJob", "kubeflow.org/v1")),
        NOT,
    ),
    case(
        "9 paddle not of the named kind",
        "POST",
        D,
        distributed(
            "paddle",
            member("worker", 2),
            extensionTemplate=template("PaddleJob", "batch.paddlepaddle.org/v1"),
            annotations={"paddleflow/job-kind-group-version": "PaddleJob.kubeflow.org/v1"},
        ),
        NOT,
    ),
    case(
        "9 workflow of another kind",
        "POST",
        W,
        {"schedulingPolicy": QUEUE, "extensionTemplate": template("Pod", "v1")},
        NOT,
    ),
    # one job
    case("2.11 GET status and bad marker", "GET", "/job?marker=zz", None, "InvalidMarker"),
    case("2.11 GET maxKeys", "GET", "/job?maxKeys=1001", None, "InvalidURI"),
    case("2.11 GET timestamp", "GET", "/job?timestamp=yesterday", None, "InvalidURI"),
    case("2.11 GET startTime", "GET", "/job?startTime=2024-01-01", None, "InvalidURI"),
    case("2.11 GET startTime of another calendar", "GET", "/job?startTime=2024-13-41%2000:00:00", None, "InvalidURI"),
    case("2.11 GET labels no JSON", "GET", "/job?labels=a%3Db", None, "InvalidURI"),
    case("2.11 GET labels no object", "GET", "/job?labels=%5B1%5D", None, "InvalidURI"),
    case("2.11 GET queue unknown", "GET", "/job?queue=none", None, "QueueNameNotFound"),
    case("2.11 GET one unknown", "GET", "/job/none", None, "JobNotFound"),
    case("2.11 GET one of another", "GET", "/job/<job>", None, "ActionNotAllowed", who="<alice>"),
    case("2.11 stop unknown", "PUT", "/job/none?action=stop", None, "JobNotFound"),
    case("2.11 stop of another", "PUT", "/job/<job>?action=stop", None, "ActionNotAllowed", who="<alice>"),
    case("9 stop of a final one", "PUT", "/job/<job>?action=stop", None, "ActionNotAllowed"),
    case("2.11 another action", "PUT", "/job/<job>?action=pause", None, "ActionNotAllowed"),
    case("2.11 no action", "PUT", "/job/<job>", {}, "ActionNotAllowed"),
    case("2.11 modify not JSON", "PUT", "/job/<job>?action=modify", "{", "MalformedJSON"),
    case("2.11 modify wrong type", "PUT", "/job/<job>?action=modify", {"labels": "a"}, "MalformedJSON"),
    case("2.11 modify unknown", "PUT", "/job/none?action=modify", {"labels": {"a": "b"}}, "JobNotFound"),
    case(
        "2.11 modify of another",
        "PUT",
        "/job/<job>?action=modify",
        {"labels": {"a": "b"}},
        "ActionNotAllowed",
        who="<alice>",
    ),
    case("2.11 modify priority", "PUT", "/job/<job>?action=modify", {"priority": "URGENT"}, "InvalidArguments"),
    case(
        "2.11 modify priority of a final one",
        "PUT",
        "/job/<job>?action=modify",
        {"priority": "HIGH"},
        "ActionNotAllowed",
        "InvalidArguments",
    ),
    case("2.11 DELETE unknown", "DELETE", "/job/none", None, "JobNotFound"),
    case("2.11 DELETE of another", "DELETE", "/job/<job>", None, "ActionNotAllowed", who="<alice>"),
]


@pytest.fixture(scope="module")
def names(flow, alice):
    job = flow.submit()
    flow.wait(job, "succeeded")
    small = flow.make_queue(maxResources={"cpu": "2", "mem": "2Gi"})
    return {"alice": alice, "job": job, "queue": flow.make_queue(), "small": small}


@table(REFUSED)
def test_refused(flow, names, row):
    value = check(flow, row, names)
    if value["code"] == NOT:
        assert value["message"], "the reason is in the message"


@pytest.fixture
def mine(flow):
    """A user with a queue: (user, queue)."""
    user, queue = flow.make_user(), flow.make_queue()
    flow.grant(user, queue)
    return user, queue


# -- who may submit


def test_a_grant_is_needed(flow, names):
    """doc/reference/paddleflow-api.md, "Fields of a job": the outer code stays, the inner one is in the message."""
    queue = flow.make_queue()
    user = flow.make_user()
    body = single(schedulingPolicy={"queue": queue})
    value = refused(flow.post(S, body, who=user), NOT)
    assert "AccessDenied" in value["message"]
    flow.grant(user, queue)
    job = good(flow.post(S, body, who=user)).json["id"]
    good(flow.delete(f"/grant?username={user}&resourceType=queue&resourceID={queue}"), empty=True)
    refused(flow.post(S, body, who=user), NOT)
    flow.wait(job, "succeeded")


def test_open_queues(make_flow):
    """The older behaviour, behind a switch."""
    flow = make_flow("--open-queues")
    user = flow.make_user()
    job = good(flow.post(S, single(), who=user)).json["id"]
    assert flow.wait(job, "succeeded")["UserName"] == user


def test_the_sum_may_go_unchecked(make_flow, monkeypatch):
    """PF_SKIP_RESOURCE_VALIDATE, read when the server starts: the interface does not compare a job with its queue."""
    for checked in (True, False):
        flow = make_flow()
        big = {"schedulingPolicy": {"queue": flow.make_queue()}, "flavour": {"cpu": "9", "mem": "1Gi"}}
        said = refused(flow.post(S, single(**big)), NOT)["message"]
        assert ("cpu are more than the" in said) == checked, said
        monkeypatch.setenv("PF_SKIP_RESOURCE_VALIDATE", "1")


# -- one job


def let_rise(flow, user, queue, priority="high"):
    """Priorities above normal are a right of the grant, which the older interface has no word for."""
    changed = flow.server.request("PATCH", f"/v1/grants/{user}/queue/{queue}", {"max_priority": priority})
    assert changed.status == 200, changed.body


def test_priorities_are_granted(flow, mine):
    """Without the right a job is refused as for a queue that is not granted; and so is a change."""
    user, queue = mine
    policy, whole = {"queue": queue}, {"cpu": "8", "mem": "8Gi"}
    high = single(schedulingPolicy={**policy, "priority": "HIGH"})
    assert "AccessDenied" in refused(flow.post(S, high, who=user), NOT)["message"]
    bodies = (single(schedulingPolicy=policy, flavour=whole, command="sleep 600") for _ in range(2))
    jobs = [good(flow.post(S, body, who=user)).json["id"] for body in bodies]

    def change(priority):
        return flow.put(f"/job/{jobs[1]}?action=modify", {"priority": priority}, who=user)

    try:
        assert "high" not in str(flow.get(f"/job/{jobs[1]}").json["schedulingPolicy"]).lower()
        assert change("HIGH").status == 403
        let_rise(flow, user, queue)
        assert change("HIGH").status == 200
        assert "high" in str(flow.get(f"/job/{jobs[1]}").json["schedulingPolicy"]).lower()
        assert change("VERY_HIGH").status == 403
    finally:
        for job in jobs:
            flow.put(f"/job/{job}?action=stop", who=user)
            flow.wait(job)


def test_single(flow, mine):
    user, queue = mine
    let_rise(flow, user, queue)
    body = {
        "name": "my job",
        "labels": {"a": "1"},
        "annotations": {"b": "2"},
        "schedulingPolicy": {"queue": queue, "priority": "high"},
        "image": "any",
        "command": "echo $GREETING",
        "args": ["one", "two"],
        "env": {"GREETING": "hello"},
        "port": 8080,
        "flavour": {"name": "flavour1"},
    }
    reply = good(flow.post(S, body, who=user))
    assert set(reply.json) == {"id"}
    matches("job-[0-9a-f]{16}", reply.json["id"])
    job = flow.wait(reply.json["id"], "succeeded")
    assert (job["id"], job["name"], job["UserName"]) == (reply.json["id"], "my job", user)
    assert (job["labels"], job["annotations"]) == ({"a": "1"}, {"b": "2"})
    assert job["schedulingPolicy"]["queue"] == queue and job["schedulingPolicy"]["priority"].upper() == "HIGH"
    assert (job["image"], job["command"], job["args"], job["port"]) == ("any", "echo $GREETING", ["one", "two"], 8080)
    assert job["flavour"] == {
        "name": "flavour1",
        "cpu": "1",
        "mem": "1Gi",
        "scalarResources": job["flavour"]["scalarResources"],
    }
    assert job["env"]["GREETING"] == "hello"
    assert {"PF_JOB_MODE", "PF_JOB_NAMESPACE"} <= set(job["env"])  # 12
    for key in ("acceptTime", "startTime", "finishTime"):
        is_recent(job[key])
    assert job["acceptTime"] <= job["startTime"] <= job["finishTime"]


def test_shape(flow, mine):
    user, queue = mine
    job = good(flow.post(S, single(schedulingPolicy={"queue": queue}), who=user)).json["id"]
    shown = flow.wait(job, "succeeded")
    has_keys(shown, KEYS, "framework members runtime")
    assert shown["framework"] == "standalone"
    (only,) = shown["members"]
    has_keys(only, MEMBER, MEMBER_MAY)
    assert (only["role"], only["replicas"], only["id"]) == ("worker", 1, "")
    assert (only["flavour"]["cpu"], only["flavour"]["mem"], only["image"]) == ("1", "1Gi", "any")
    assert set(only["kindGroupVersion"]) == {"kind", "group", "apiVersion"}
    matches("queue-[0-9a-f]{8}", only["queueID"])
    has_keys(shown["runtime"], "nodeName role index", "name namespace id status acceleratorCards logURL")
    assert shown["runtime"]["namespace"] == "default"
    (listed,) = [item for item in good(flow.get("/job", who=user)).json["jobList"] if item["id"] == job]
    has_keys(listed, KEYS, "framework members")  # no runtime in a list
    assert {key: listed[key] for key in KEYS.split()} == {key: shown[key] for key in KEYS.split()}


def test_before_it_runs(flow):
    """Times are empty until they are known."""
    full = flow.submit("sleep 600", flavour={"cpu": "8", "mem": "1Gi"})
    flow.wait(full, "running")
    job = flow.submit("true", flavour={"cpu": "8", "mem": "1Gi"})
    shown = flow.wait(job, {"init", "pending"})
    has_keys(shown, KEYS, "framework members runtime")
    is_recent(shown["acceptTime"])
    assert (shown["startTime"], shown["finishTime"]) == ("", "")
    assert shown["image"] == "any" and shown["flavour"]["cpu"] == "8"  # 2.11 DO: not blank before there is a process
    flow.stop(job)
    flow.stop(full)


def test_defaults(flow):
    """The default queue, priority NORMAL, and 1 cpu, 1Gi where nothing is said."""
    for flavour in (
        {},
        {"flavour": None},
        {"flavour": {"name": ""}},
        {"flavour": {"name": "customFlavour"}},
        {"flavour": {"cpu": "2"}},
    ):
        job = good(flow.post(S, {"image": "any", "command": "true", "schedulingPolicy": None, **flavour})).json["id"]
        shown = flow.job(job)
        assert shown["schedulingPolicy"]["queue"] == "default-queue"
        assert shown["schedulingPolicy"].get("priority", "NORMAL").upper() == "NORMAL"
        assert (shown["flavour"]["cpu"], shown["flavour"]["mem"]) == ("1", "1Gi")
        flow.wait(job, "succeeded")


def test_inline_flavours(flow):
    for name in ({}, {"name": "customFlavour"}):
        job = flow.submit(flavour={**name, "cpu": "1500m", "mem": "512Mi", "scalarResources": {}})
        shown = flow.wait(job, "succeeded")
        assert (shown["flavour"]["cpu"], shown["flavour"]["mem"]) == ("1500m", "512Mi")


@pytest.mark.parametrize("priority", ["LOW", "normal", "High", None, ""], ids=lambda value: f"2.11 priority {value}")
def test_priorities(flow, priority):
    job = flow.submit(schedulingPolicy={**QUEUE, "priority": priority})
    assert (
        flow.wait(job, "succeeded")["schedulingPolicy"].get("priority", "NORMAL").upper()
        == (priority or "NORMAL").upper()
    )


@pytest.mark.parametrize("limit", ["flavour1", "NONE"], ids=lambda value: f"2.11 limit {value}")
def test_limits(flow, limit):
    flow.wait(flow.submit(env={"PF_JOB_LIMIT_FLAVOUR": limit}), "succeeded")


def test_a_limit_flavour_is_ignored(flow):
    flow.wait(flow.submit(limitFlavour={"name": "no-such"}), "succeeded")


def test_own_id(flow):
    name = fresh("my-own-")
    assert good(flow.post(S, single(id=name))).json == {"id": name}
    flow.wait(name, "succeeded")
    refused(flow.post(S, single(id=name)), NOT)


@pytest.mark.parametrize("id", ["a", "0", "a" * 63])
def test_ids(flow, id):
    assert good(flow.post(S, single(id=id))).json == {"id": id}


@pytest.mark.parametrize(
    "command, status",
    [
        ("true", "succeeded"),
        ("exit 0", "succeeded"),
        ("false", "failed"),
        ("exit 3", "failed"),
        ("kill -9 $$", "failed"),
        ("no-such-program", "failed"),
    ],
)
def test_ends(flow, command, status):
    job = flow.wait(flow.submit(command))
    assert job["status"] == status
    if status == "failed":
        assert job["message"]


@pytest.mark.parametrize(
    ("policy", "status"), [("Always", "succeeded"), ("OnFailure", "succeeded"), ("Never", "failed"), ("x", "failed")]
)
def test_restart_policy(flow, tmp_path, policy, status):
    """doc/reference/scheduling.md, "Variables of members": PF_JOB_RESTART_POLICY; what fails once is tried again, or is not."""
    command = f"[ -e {tmp_path}/there ] || {{ touch {tmp_path}/there; exit 1; }}"
    job = flow.wait(flow.submit(command, env={"PF_JOB_RESTART_POLICY": policy}))
    assert job["status"] == status


def test_words_on_the_way(flow, tmp_path):
    job = flow.submit(f"until [ -e {tmp_path}/seen ]; do sleep 0.05; done")
    seen = []

    def ended():
        status = flow.job(job)["status"]
        if not seen or seen[-1] != status:
            seen.append(status)
        if status == "running":
            (tmp_path / "seen").touch()
        return status in FINAL

    wait_for(ended, 60, "the end")
    assert set(seen) <= {"init", "pending", "running", "succeeded"}
    assert seen[-2:] == ["running", "succeeded"], seen
    order = ["init", "pending", "running", "succeeded"]
    assert [order.index(status) for status in seen] == sorted(order.index(status) for status in seen)


# -- several members


def run_distributed(flow, *args, **about):
    reply = good(flow.post(D, distributed(*args, **about)))
    assert set(reply.json) == {"id"}
    return reply.json["id"]


def test_collective(flow):
    check_rank = 'test "$PADDLE_TRAINERS_NUM" = 2 && test -n "$PADDLE_TRAINER_ID"'
    job = flow.wait(run_distributed(flow, "paddle", member(replicas=2, command=check_rank), name="two"), "succeeded")
    has_keys(job, KEYS, "framework members distributedRuntime")
    assert (job["framework"], job["name"], job["image"], job["command"]) == ("paddle", "two", "", "")
    (only,) = job["members"]
    has_keys(only, MEMBER, MEMBER_MAY)
    assert (only["role"], only["replicas"], only["id"], only["command"]) == ("worker", 2, "", check_rank)
    runtime = job["distributedRuntime"]
    has_keys(runtime, "", "name namespace id status runtimes")
    assert [(item["role"], item["index"]) for item in runtime["runtimes"]] == [("worker", 0), ("worker", 1)]


def test_parameter_servers(flow):
    """Workers start when the servers listen on the port they were given."""
    listen = "import os, socket, time; s = socket.create_server(('127.0.0.1', int(os.environ['PADDLE_PORT']))); time.sleep(600)"
    server = member("pserver", command=f'test "$TRAINING_ROLE" = PSERVER && exec python3 -c "{listen}"')
    worker = member("worker", command='test "$TRAINING_ROLE" = TRAINER && test -n "$PADDLE_PSERVERS_IP_PORT_LIST"')
    job = flow.wait(run_distributed(flow, "paddle", server, worker), "succeeded")
    assert [(item["role"], item["replicas"]) for item in job["members"]] == [("pserver", 1), ("worker", 1)]


def test_pworker_is_a_worker(flow):
    job = run_distributed(flow, "paddle", member("pworker", 2))
    assert [item["role"] for item in flow.wait(job, "succeeded")["members"]] == ["worker"]


def test_workers_may_be_spread_over_members(flow):
    """Two in all will do."""
    flow.wait(run_distributed(flow, "paddle", member(), member()), "succeeded")


@pytest.mark.parametrize("framework", ["paddle", "tensorflow", "pytorch"])
def test_members_of_a_role_run_their_own(flow, framework):
    """Each its command, args and variables, whatever the framework calls its place."""
    one = member(command="test \"$WHO\" = 'the one'", env={"WHO": "the one"})
    two = member(replicas=2, command='test "$WHO" = two && test "$1" = "x y"', env={"WHO": "two"}, args=["sh", "x y"])
    three = member(command='test "$WHO" = two', env={"WHO": "three"})
    flow.wait(run_distributed(flow, framework, one, two), "succeeded")
    flow.wait(run_distributed(flow, framework, one, three), "failed")


def test_members_of_a_role_have_one_flavour(flow):
    """A local cluster cannot do otherwise, and says so."""
    job = flow.wait(run_distributed(flow, "paddle", member(), member(flavour={"cpu": "1", "mem": "1Gi"})), "failed")
    assert "flavour" in job["message"]


def test_nothing_to_run(flow):
    job = flow.wait(flow.submit(command=""), "failed")
    assert "command" in job["message"]


def test_jobs_of_the_other_interface(flow):
    """They are shown as if they had been asked for here."""
    made = flow.server.submit(["sh", "-c", "echo hello"], name="plain-one", env={"A": "b"})
    job = "job-" + made["id"]
    shown = flow.wait(job, "succeeded")
    has_keys(shown, KEYS, "framework members runtime")
    assert (shown["name"], shown["command"], shown["env"]["A"]) == ("plain-one", "echo hello", "b")
    assert (shown["framework"], shown["UserName"], shown["schedulingPolicy"]["queue"]) == (
        "standalone",
        "root",
        "default",
    )
    assert job in listed(flow)


def test_members_inherit_priority(flow):
    job = run_distributed(flow, "paddle", member(replicas=2), schedulingPolicy={**QUEUE, "priority": "LOW"})
    assert [item["priority"].upper() for item in flow.wait(job, "succeeded")["members"]] == ["LOW"]


def test_members_may_name_the_queue(flow):
    job = run_distributed(flow, "paddle", member(replicas=2, schedulingPolicy=QUEUE))
    flow.wait(job, "succeeded")


def test_a_failing_member_fails_the_job(flow):
    flow.wait(run_distributed(flow, "paddle", member(command="exit 4"), member(command="sleep 600")), "failed")


@pytest.mark.parametrize(
    "framework, members",
    [
        ("tensorflow", [member(replicas=2)]),
        ("pytorch", [member("master"), member("worker")]),
        ("mpi", [member("master"), member("worker")]),
        ("spark", [member("driver"), member("executor")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_frameworks(flow, framework, members):
    """They are taken; what becomes of `true` under a launcher is the framework's affair."""
    job = run_distributed(flow, framework, *members)
    assert flow.wait(job)["framework"] == framework


@pytest.mark.parametrize(
    "framework, members",
    [("ray", [member("master"), member("worker")]), ("mxnet", [member(replicas=2)]), ("aitj", [member(replicas=2)])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_frameworks_without_a_row(flow, framework, members):
    """Validation takes them, the cluster does not, and says why."""
    job = flow.wait(run_distributed(flow, framework, *members), "failed")
    assert job["framework"] == framework
    assert framework in job["message"]


def test_a_template_says_image_and_command(flow):
    """9: what the job leaves out."""
    container = {"name": "x", "image": "any", "command": ["sh", "-c"], "args": ["exit 0"]}
    about = template("Pod", "v1", spec={"containers": [container]})
    reply = good(flow.post(S, {"extensionTemplate": about, "schedulingPolicy": QUEUE, "flavour": {"name": "flavour1"}}))
    job = flow.wait(reply.json["id"])
    assert job["status"] == "succeeded", job["message"]
    assert job["extensionTemplate"]["spec"]["containers"] == [container]


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"spec": 7}, "pod.spec must be an object"),
        ({"metadata": []}, "pod.metadata must be an object"),
        ({"metadata": {"labels": "a=b"}}, "pod.metadata.labels must be an object"),
        ({"spec": {"containers": {"name": "main"}}}, "pod.spec.containers must be a list of objects"),
        ({"spec": {"volumes": [{}]}}, "pod.spec.volumes must be a list of objects that have a name"),
        ({"spec": {"containers": [{"env": [{"value": "x"}]}]}}, "containers[0].env must"),
        ({"spec": {"containers": [{}, {"args": [1]}]}}, "containers[1].args must be a list of texts"),
        ({"spec": {"containers": [{"resources": {"limits": 1}}]}}, "containers[0].resources.limits must"),
        ({"spec": {"volumes": [{"name": "paddle-gate", "emptyDir": {}}]}}, "'paddle-gate' is the platform's own"),
        ({"spec": {"initContainers": [{"name": "gate", "image": "any"}]}}, "'gate' is the platform's own"),
        ({"note": "x" * 70000}, "65536 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_template_that_cannot_be_used(flow, about, says):
    """What pods are put together from has its type; names that members need are not taken. Nothing is made."""
    body = single(extensionTemplate=template("Pod", "v1", **about))
    assert says in refused(flow.post(S, body), NOT)["message"]
    whole = template("PaddleJob", "batch.paddlepaddle.org/v1", spec={"worker": {"template": about}})
    body = distributed("paddle", member("worker", 2), extensionTemplate=whole)
    assert says.removeprefix("pod.") in refused(flow.post(D, body), NOT)["message"]
    body = distributed("paddle", member("worker", 2, extensionTemplate=about))
    assert says in refused(flow.post(D, body), NOT)["message"]


@pytest.mark.parametrize("way", ["single", "job", "member"])
def test_a_template_of_who_is_no_administrator(flow, mine, way):
    """doc/guide/paddleflow.md, "Clusters": what gives more than a user has is root's to ask for."""
    user, queue = mine
    policy = {"schedulingPolicy": {"queue": queue}}

    def submit(spec, who):
        pod = {"spec": spec}
        whole = template("PaddleJob", "batch.paddlepaddle.org/v1", spec={"worker": {"template": pod}})
        path, body = {
            "single": (S, single(extensionTemplate=template("Pod", "v1", **pod), **policy)),
            "job": (D, distributed("paddle", member("worker", 2), extensionTemplate=whole, **policy)),
            "member": (D, distributed("paddle", member("worker", 2, extensionTemplate=pod), **policy)),
        }[way]
        return flow.post(path, body, who=who)

    says = refused(submit({"containers": [{"securityContext": {"privileged": True}}]}, user), NOT)["message"]
    assert "AccessDenied" in says and "containers[0].securityContext.privileged" in says and "administrator" in says
    good(submit({"containers": [{"securityContext": {"privileged": False}}]}, user))
    good(submit({"hostNetwork": True}, "root"))


@pytest.mark.parametrize(("spec", "says"), [({}, "worker"), ({"worker": {"template": {}}}, "at least 2 worker")])
def test_a_template_alone_that_says_too_little(flow, spec, says):
    """6.3: it is taken as it is, and the cluster says what it lacks."""
    about = template("PaddleJob", "batch.paddlepaddle.org/v1", spec=spec)
    body = {"framework": "paddle", "extensionTemplate": about, "schedulingPolicy": QUEUE}
    job = flow.wait(good(flow.post(D, body)).json["id"], "failed")
    assert says in job["message"] and job["extensionTemplate"] == about


def test_a_template_of_the_named_kind(flow):
    about = template("PaddleJob", "kubeflow.org/v1", spec={})
    annotations = {"paddleflow/job-kind-group-version": "PaddleJob.kubeflow.org/v1"}
    body = distributed("paddle", member("worker", 2), extensionTemplate=about, annotations=annotations)
    assert flow.wait(good(flow.post(D, body)).json["id"])["status"] == "succeeded"


def test_workflow(flow):
    """There is no workflow engine here: taken, and failed with the reason. Such jobs have no UserName (12)."""
    template = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "spec": {"entrypoint": "main"}}
    reply = good(flow.post(W, {"extensionTemplate": template, "schedulingPolicy": QUEUE, "name": "flow"}))
    assert set(reply.json) == {"id"}
    job = flow.wait(reply.json["id"], "failed")
    assert "UserName" not in job and job["message"]
    assert job["extensionTemplate"] and job["name"] == "flow"


# -- lists


def listed(flow, query="", who="root"):
    return [job["id"] for job in good(flow.get("/job?maxKeys=1000" + query, who=who)).json["jobList"]]


def test_list(flow, mine):
    user, queue = mine
    page = good(flow.get("/job", who=user)).json
    has_keys(page, "maxKeys isTruncated jobList", "nextMarker")
    assert page["jobList"] == []  # 8.9: never null
    jobs = [flow.submit(who=user, schedulingPolicy={"queue": queue}) for _ in range(5)]
    for job in jobs:
        flow.wait(job)
    assert listed(flow, who=user) == jobs[::-1]  # newest first
    assert pages(flow, "/job", "jobList", "id", 2, who=user) == jobs[::-1]  # and downwards
    root = listed(flow)
    assert set(jobs) <= set(root)
    other = flow.submit()
    assert other not in listed(flow, who=user)
    for job in good(flow.get("/job")).json["jobList"]:
        assert job["status"] in STATES
        assert isinstance(job["message"], str)
        for key in ("acceptTime", "startTime", "finishTime"):
            matches(f"|{LOCAL_TIME}", job[key])


def test_list_by_status(flow, mine):
    user, queue = mine
    policy = {"queue": queue}
    good_one, bad_one, long = (
        flow.submit(command, who=user, schedulingPolicy=policy) for command in ("true", "false", "sleep 600")
    )
    flow.wait(good_one)
    flow.wait(bad_one)
    flow.wait(long, "running")
    assert listed(flow, "&status=succeeded", user) == [good_one]
    assert listed(flow, "&status=failed", user) == [bad_one]
    assert listed(flow, "&status=running", user) == [long]
    assert listed(flow, "&status=terminated", user) == []
    flow.stop(long)
    assert listed(flow, "&status=terminated", user) == [long]


def test_list_by_queue(flow, mine):
    user, queue = mine
    other = flow.make_queue()
    flow.grant(user, other)
    one = flow.submit(who=user, schedulingPolicy={"queue": queue})
    two = flow.submit(who=user, schedulingPolicy={"queue": other})
    assert listed(flow, f"&queue={queue}", user) == [one]
    assert listed(flow, f"&queue={other}", user) == [two]


def test_list_by_labels(flow, mine):
    """2.11 DO: all of them must match."""
    user, queue = mine
    policy = {"queue": queue}
    one = flow.submit(who=user, schedulingPolicy=policy, labels={"a": "1", "b": "2"})
    two = flow.submit(who=user, schedulingPolicy=policy, labels={"a": "1"})

    def by(labels):
        return listed(flow, "&labels=" + urllib.parse.quote(json.dumps(labels)), user)

    assert by({"a": "1"}) == [two, one]
    assert by({"a": "1", "b": "2"}) == [one]
    assert by({"a": "2"}) == []
    assert by({}) == [two, one]


def test_list_by_time(flow, mine):
    """timestamp: changed since; startTime: begun since, in local time."""
    user, queue = mine
    policy = {"queue": queue}
    early = flow.submit(who=user, schedulingPolicy=policy)
    ended = flow.wait(early)
    border = datetime.datetime.strptime(ended["finishTime"], "%Y-%m-%d %H:%M:%S") + datetime.timedelta(seconds=2)
    wait_for(lambda: datetime.datetime.now() > border, what="two seconds")
    late = flow.submit(who=user, schedulingPolicy=policy)
    flow.wait(late)
    assert listed(flow, f"&timestamp={int(border.timestamp())}", user) == [late]
    assert listed(flow, "&timestamp=0", user) == [late, early]
    assert listed(flow, f"&timestamp={int(time.time()) + 1000}", user) == []
    assert listed(flow, "&startTime=" + urllib.parse.quote(str(border)), user) == [late]
    assert listed(flow, "&startTime=" + urllib.parse.quote(ended["startTime"]), user) == [late, early]
    assert listed(flow, "&startTime=" + urllib.parse.quote("2099-01-01 00:00:00"), user) == []


# -- stop, modify, delete


def test_stop_a_running_one(flow, mine):
    user, queue = mine
    job = flow.submit("trap 'sleep 1; exit 0' TERM; sleep 600 & wait", who=user, schedulingPolicy={"queue": queue})
    flow.wait(job, "running")
    good(flow.put(f"/job/{job}?action=stop", who=user), empty=True)
    assert flow.job(job)["status"] in ("terminating", "terminated")
    ended = flow.wait(job, "terminated")
    is_recent(ended["finishTime"])
    refused(flow.put(f"/job/{job}?action=stop", who=user), "ActionNotAllowed")


def test_stop_twice(flow, mine):
    """The second one does not wait for the grace of 30 s."""
    user, queue = mine
    script = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"
    job = flow.submit(script, who=user, schedulingPolicy={"queue": queue})
    flow.wait(job, "running")
    log = f"/log/job?jobID={job}&framework=standalone"
    wait_for(lambda: b"deaf" in good(flow.get(log, who=user)).body, what="its trap")
    good(flow.put(f"/job/{job}?action=stop", who=user), empty=True)
    assert flow.job(job)["status"] == "terminating"
    good(flow.put(f"/job/{job}?action=stop", who=user), empty=True)
    flow.wait(job, "terminated", timeout=20)


def test_stop_a_waiting_one(flow):
    full = flow.submit("sleep 600", flavour={"cpu": "8", "mem": "1Gi"})
    flow.wait(full, "running")
    job = flow.submit(flavour={"cpu": "8", "mem": "1Gi"})
    good(flow.put(f"/job/{job}?action=stop"), empty=True)
    assert flow.wait(job, "terminated")["startTime"] == ""
    flow.stop(full)


def test_stop_takes_a_body(flow):
    job = flow.submit("sleep 600")
    good(flow.put(f"/job/{job}?action=stop", {"any": 1}), empty=True)
    flow.wait(job, "terminated")


def test_modify(flow, mine):
    user, queue = mine
    job = flow.submit("sleep 600", who=user, schedulingPolicy={"queue": queue}, labels={"a": "1", "b": "2"})
    flow.wait(job, "running")
    good(
        flow.put(f"/job/{job}?action=modify", {"labels": {"b": "3", "c": "4"}, "annotations": {"d": "5"}}, who=user),
        empty=True,
    )
    shown = flow.job(job)
    assert (shown["labels"], shown["annotations"]) == ({"a": "1", "b": "3", "c": "4"}, {"d": "5"})
    labels = urllib.parse.quote(json.dumps({"c": "4"}))
    assert listed(flow, "&labels=" + labels, user) == [job]
    good(flow.put(f"/job/{job}?action=modify", {}, who=user), empty=True)
    refused(
        flow.put(f"/job/{job}?action=modify", {"priority": "HIGH"}, who=user), "ActionNotAllowed", "InvalidArguments"
    )
    flow.stop(job)


@pytest.mark.parametrize("priority", ["VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"])
def test_modify_the_priority_of_a_waiting_one(flow, priority):
    full = flow.submit("sleep 600", flavour={"cpu": "8", "mem": "1Gi"})
    flow.wait(full, "running")
    job = flow.submit(flavour={"cpu": "8", "mem": "1Gi"})
    good(flow.put(f"/job/{job}?action=modify", {"priority": priority}), empty=True)
    assert flow.job(job)["schedulingPolicy"]["priority"].upper() == priority
    flow.stop(job)
    flow.stop(full)


def test_delete(flow, mine):
    user, queue = mine
    job = flow.submit("sleep 600", who=user, schedulingPolicy={"queue": queue})
    refused(flow.delete("/job/" + job, who=user), "ActionNotAllowed")
    flow.wait(job, "running")
    refused(flow.delete("/job/" + job, who=user), "ActionNotAllowed")
    flow.stop(job)
    good(flow.delete("/job/" + job, who=user), empty=True)
    refused(flow.get("/job/" + job, who=user), "JobNotFound")
    refused(flow.delete("/job/" + job, who=user), "JobNotFound")
    refused(flow.put(f"/job/{job}?action=stop", who=user), "JobNotFound")
    assert listed(flow, who=user) == []


def test_root_may(flow, mine):
    user, queue = mine
    job = flow.submit("sleep 600", who=user, schedulingPolicy={"queue": queue})
    assert flow.job(job)["UserName"] == user
    good(flow.put(f"/job/{job}?action=modify", {"labels": {"seen": "yes"}}), empty=True)
    good(flow.put(f"/job/{job}?action=stop"), empty=True)
    flow.wait(job, "terminated")
    good(flow.delete("/job/" + job), empty=True)
