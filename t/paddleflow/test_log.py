"""2.16 logs of jobs; scheduling 13."""

import pytest
from conftest import wait_for

from paddleflow.client import case, check, good, has_keys, refused, table


def ask(**query):
    pairs = {"jobID": "<job>", "framework": "standalone", **query}
    return "/log/job?" + "&".join(f"{key}={value}" for key, value in pairs.items() if value is not None)


REFUSED = [
    case("2.16 job unknown", "GET", ask(jobID="none"), None, "InvalidURI"),
    case("12 2.16 framework missing", "GET", ask(framework=None), None, "InvalidArguments"),
    case("2.16 framework unknown", "GET", ask(framework="caffe"), None, "InvalidArguments", "InvalidURI"),
    case("2.16 readFromTail", "GET", ask(readFromTail="maybe"), None, "InvalidURI"),
    case("2.16 lineLimit", "GET", ask(lineLimit="many"), None, "InvalidURI"),
    case("2.16 sizeLimit", "GET", ask(sizeLimit="much"), None, "InvalidURI"),
    case("2.16 sizeLimit above 1G", "GET", ask(sizeLimit="2G"), None, "InvalidURI"),
    case("2.16 nothing named", "GET", "/log/job", None, "InvalidURI", "InvalidArguments", "InternalError"),
    case(
        "12 2.16 type",
        "GET",
        "/log/job?clusterName=default-cluster&name=x&namespace=default&type=x",
        None,
        "InternalError",
    ),
    case(
        "12 2.16 type missing",
        "GET",
        "/log/job?clusterName=default-cluster&name=x&namespace=default",
        None,
        "InternalError",
    ),
    case(
        "2.16 cluster unknown",
        "GET",
        "/log/job?clusterName=none&name=x&namespace=default&type=pod",
        None,
        "InvalidURI",
        "ClusterNotFound",
    ),
    case("2.16 of another", "GET", ask(), None, "AccessDenied", "ActionNotAllowed", who="<alice>"),
]


@pytest.fixture(scope="module")
def names(flow, alice):
    job = flow.submit("for n in $(seq 1 3000); do echo line $n; done; echo the last line >&2")
    flow.wait(job, "succeeded")
    return {"alice": alice, "job": job}


@table(REFUSED)
def test_refused(flow, names, row):
    check(flow, row, names)


def tasks(flow, job, who="root", **query):
    value = good(flow.get(ask(**query).replace("<job>", job), who=who)).json
    has_keys(value, "jobID taskList name type eventList")
    assert value["jobID"] == job
    for task in value["taskList"]:
        has_keys(task, "taskID logInfo")
        has_keys(task["logInfo"], "logContent hasNextPage truncated")
        assert isinstance(task["logInfo"]["hasNextPage"], bool) and isinstance(task["logInfo"]["truncated"], bool)
    assert value["eventList"] is None or all(isinstance(text, str) for text in value["eventList"])
    return value["taskList"]


def lines_of(task):
    """What the program wrote, whatever stands before it on a line."""
    text = task["logInfo"]["logContent"]
    assert text == "" or text.endswith("\n")
    return [line[line.rindex("line") :] for line in text.splitlines() if "line " in line]


def test_the_first_lines(flow, names):
    (task,) = tasks(flow, names["job"], lineLimit=3)
    assert lines_of(task) == ["line 1", "line 2", "line 3"]


def test_the_last_lines(flow, names):
    (task,) = tasks(flow, names["job"], readFromTail="true", lineLimit=3)
    assert len(task["logInfo"]["logContent"].splitlines()) == 3
    assert "line 3000" in task["logInfo"]["logContent"] and "the last line" in task["logInfo"]["logContent"]


@pytest.mark.parametrize(
    "value, tail", [("1", True), ("t", True), ("TRUE", True), ("0", False), ("f", False), ("False", False)]
)
def test_words_for_true(flow, names, value, tail):
    (task,) = tasks(flow, names["job"], readFromTail=value, lineLimit=1)
    assert ("last" in task["logInfo"]["logContent"]) == tail


def test_a_thousand_lines_unless_said(flow, names):
    (task,) = tasks(flow, names["job"])
    assert lines_of(task) == [f"line {n}" for n in range(1, 1001)]


@pytest.mark.parametrize("limit", ["0", "-5", "1000001"])
def test_limits_out_of_range_are_the_default(flow, names, limit):
    (task,) = tasks(flow, names["job"], lineLimit=limit)
    assert len(lines_of(task)) == 1000


def test_size_cuts_lines(flow, names):
    (task,) = tasks(flow, names["job"], sizeLimit="100")
    assert 0 < len(lines_of(task)) < 20


def test_a_cluster_may_be_named(flow, names):
    (task,) = tasks(flow, names["job"], clusterName="default-cluster", lineLimit=1)
    assert lines_of(task) == ["line 1"]


def test_members(flow):
    members = [
        {
            "role": "worker",
            "replicas": 2,
            "image": "any",
            "command": "echo line of $PADDLE_TRAINER_ID",
            "flavour": {"cpu": "500m", "mem": "1Mi"},
        }
    ]
    body = {"framework": "paddle", "members": members, "schedulingPolicy": {"queue": "default-queue"}}
    job = good(flow.post("/job/distributed", body)).json["id"]
    flow.wait(job, "succeeded")
    shown = tasks(flow, job, framework="paddle")
    assert sorted(lines_of(task)[0] for task in shown) == ["line of 0", "line of 1"]
    assert len({task["taskID"] for task in shown}) == 2


def test_while_it_runs(flow):
    job = flow.submit("echo line one; sleep 600")
    flow.wait(job, "running")
    wait_for(lambda: any(lines_of(task) == ["line one"] for task in tasks(flow, job)), what="the line")
    flow.stop(job)


def test_nothing_written(flow):
    job = flow.submit("true")
    flow.wait(job)
    assert all(task["logInfo"]["logContent"] == "" for task in tasks(flow, job) or [])


def test_ones_own(flow):
    user, queue = flow.make_user(), flow.make_queue()
    flow.grant(user, queue)
    job = flow.submit("echo line mine", who=user, schedulingPolicy={"queue": queue})
    flow.wait(job)
    assert lines_of(tasks(flow, job, who=user)[0]) == ["line mine"]
    refused(flow.get(ask().replace("<job>", job), who=flow.make_user()), "AccessDenied", "ActionNotAllowed")
