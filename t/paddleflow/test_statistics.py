"""2.17 statistics; scheduling 14."""

import datetime
import time
import urllib.parse

import pytest
from conftest import wait_for

from paddleflow.client import LOCAL_TIME, case, check, good, has_keys, matches, table

METRICS = {
    "cpu_usage_rate": r"\d+\.\d\d%",
    "memory_usage_rate": r"\d+\.\d\d%",
    "memory_usage": r"\d+\.\d\d\(Bytes\)",
    "disk_usage": r"\d+\.\d\d\(Bytes\)",
    "net_receive_bytes": r"\d+\.\d\d\(B/s\)",
    "net_send_bytes": r"\d+\.\d\d\(B/s\)",
    "disk_read_rate": r"\d+\.\d\d\(B/s\)",
    "disk_write_rate": r"\d+\.\d\d\(B/s\)",
    "gpu_util": r"\d+\.\d\d%",
    "gpu_memory_util": r"\d+\.\d\d%",
    "gpu_memory_usage": r"\d+\.\d\d\(Bytes\)",
}
START, END = "2024-01-01 00:00:00", "2099-01-01 00:00:00"
TIMES = {"startTime": START, "endTime": END}
DENIED = ("AccessDenied", "ActionNotAllowed")


def card(queue, **times):
    return f"/statistics/cardTime/{queue}?" + urllib.parse.urlencode({**TIMES, **times})


def cards(queues, **times):
    return {"queueNames": queues, **TIMES, **times}


REFUSED = [
    case("2.17 job unknown", "GET", "/statistics/job/none", None, "JobNotFound"),
    case("2.17 job of another", "GET", "/statistics/job/<job>", None, *DENIED, who="<alice>"),
    case("2.17 detail unknown", "GET", "/statistics/jobDetail/none", None, "JobNotFound"),
    case("2.17 detail of another", "GET", "/statistics/jobDetail/<job>", None, *DENIED, who="<alice>"),
    case("2.17 detail start", "GET", "/statistics/jobDetail/<job>?start=x", None, "InvalidURI"),
    case("2.17 detail end", "GET", "/statistics/jobDetail/<job>?end=x", None, "InvalidURI"),
    case("2.17 detail step", "GET", "/statistics/jobDetail/<job>?step=x", None, "InvalidURI"),
    case("2.17 detail step zero", "GET", "/statistics/jobDetail/<job>?step=0", None, "InvalidURI"),
    case("2.17 detail step negative", "GET", "/statistics/jobDetail/<job>?step=-1", None, "InvalidURI"),
    case("2.17 detail start after end", "GET", "/statistics/jobDetail/<job>?start=200&end=100", None, "InvalidURI"),
    case("2.17 card time dates", "GET", card("default-queue", startTime="2024-01-01"), None, "InvalidArguments"),
    case("2.17 card time end", "GET", card("default-queue", endTime="later"), None, "InvalidArguments"),
    case("2.17 card time without dates", "GET", "/statistics/cardTime/default-queue", None, "InvalidArguments"),
    case("2.17 card times not JSON", "POST", "/statistics/cardTime", "{", "MalformedJSON"),
    case("2.17 card times wrong type", "POST", "/statistics/cardTime", cards("default-queue"), "MalformedJSON"),
    case(
        "2.17 card times dates",
        "POST",
        "/statistics/cardTime",
        cards(["default-queue"], startTime="x"),
        "InvalidArguments",
    ),
    case("12 2.17 card time not granted", "GET", card("<queue>"), None, *DENIED, who="<alice>"),
    case("12 2.17 card times not granted", "POST", "/statistics/cardTime", cards(["<queue>"]), *DENIED, who="<alice>"),
]


@pytest.fixture(scope="module")
def names(flow, alice):
    job = flow.submit("sleep 1")
    flow.wait(job, "succeeded")
    return {"alice": alice, "job": job, "queue": flow.make_queue()}


@table(REFUSED)
def test_refused(flow, names, row):
    check(flow, row, names)


def test_summary(flow, names):
    """All 11, whatever is known of them (12)."""
    metrics = good(flow.get("/statistics/job/" + names["job"])).json["metricsInfo"]
    assert set(metrics) == set(METRICS)
    for name, form in METRICS.items():
        matches(form, metrics[name])


def detail(flow, job, query=""):
    value = good(flow.get(f"/statistics/jobDetail/{job}{query}")).json
    has_keys(value, "result truncated")
    assert isinstance(value["truncated"], bool) and isinstance(value["result"], list)
    for task in value["result"]:
        has_keys(task, "taskName taskInfo")
        for series in task["taskInfo"]:
            has_keys(series, "metric values")
            assert series["metric"] in METRICS
            assert len(series["values"]) <= 1000
            stamps = [stamp for stamp, _ in series["values"]]
            assert stamps == sorted(stamps)
    return value


def test_detail(flow, names):
    now = int(time.time())
    for query in (
        "",
        "?step=1",
        f"?start={now - 100}&end={now}",
        f"?start={now - 100}",
        f"?end={now}",
        "?start=0&end=0&step=60",
    ):
        detail(flow, names["job"], query)  # 9: a start alone will do


def test_detail_while_it_runs(flow):
    job = flow.submit("sleep 600")
    flow.wait(job, "running")
    detail(flow, job)
    flow.stop(job)


def test_series_of_a_running_job(flow):
    """What a member uses is sampled while it runs, and is there when it has ended."""
    job = flow.submit("while :; do :; done")
    flow.wait(job, "running")

    def values(metric):
        found = detail(flow, job, "?step=1")["result"]
        return [value for info in found[0]["taskInfo"] if info["metric"] == metric for _, value in info["values"]]

    # One busy loop has what others leave it of a core; as a share of 1 or of 10,000 it would be out of these bounds.
    wait_for(lambda: len(rates := set(values("cpu_usage_rate"))) > 1 and max(rates) > 2, 60, "two samples")
    assert max(values("memory_usage")) > 0
    assert max(values("cpu_usage_rate")) < 1000

    def now():
        return good(flow.get("/statistics/job/" + job)).json["metricsInfo"]

    summary = wait_for(lambda: (found := now()) and float(found["cpu_usage_rate"].rstrip("%")) > 2 and found)
    assert float(summary["memory_usage"].partition("(")[0]) > 0
    flow.stop(job)
    assert len(values("cpu_usage_rate")) > 1


def test_card_time_of_an_unknown_queue(flow):
    """12, 2.17"""
    assert good(flow.get(card("none"))).json == {"data": None}


def test_card_time_of_an_unused_queue(flow, names):
    value = good(flow.get(card(names["queue"]))).json
    assert [entry["queueName"] for entry in value["data"]] == [names["queue"]]
    assert value["data"][0]["detail"] is None and value["data"][0]["cardTime"] == 0


def test_card_times(flow):
    user = flow.make_user()
    queue = flow.make_queue(maxResources={"cpu": "8", "mem": "8Gi", "scalarResources": {"nvidia.com/gpu": "4"}})
    other = flow.make_queue()
    flow.grant(user, queue)
    about = {
        "flavour": {"cpu": "1", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "2"}},
        "schedulingPolicy": {"queue": queue},
    }
    jobs = [flow.submit("sleep 1", who=user, **about) for _ in range(2)]
    plain = flow.submit("true", who=user, schedulingPolicy={"queue": queue})
    for job in [*jobs, plain]:
        flow.wait(job, "succeeded")
    value = good(flow.post("/statistics/cardTime", cards([queue, "none", other]))).json
    entries = {entry["queueName"]: entry for entry in value["data"]}
    assert "none" not in entries  # skipped
    entry = entries[queue]
    has_keys(entry, "queueName cardTime deviceType detail")
    assert isinstance(entry["cardTime"], (int, float)) and isinstance(entry["deviceType"], str)
    (of_user,) = [item for item in entry["detail"] if item["userName"] == user]
    has_keys(of_user, "userName jobInfoList jobCount totalCardTime")
    infos = {info["jobId"]: info for info in of_user["jobInfoList"]}
    assert set(jobs) <= set(infos)
    for job in jobs:
        info = infos[job]
        has_keys(info, "jobId cardTime createTime startTime finishTime deviceCount")
        assert info["deviceCount"] == 2
        for key in ("createTime", "startTime", "finishTime"):
            matches(LOCAL_TIME, info[key])
        shown = flow.job(job)
        seconds = [
            datetime.datetime.strptime(shown[key], "%Y-%m-%d %H:%M:%S").timestamp()
            for key in ("startTime", "finishTime")
        ]
        assert 0 <= info["cardTime"] <= 2 * (seconds[1] - seconds[0] + 2) / 3600
    assert of_user["jobCount"] == len(infos)
    assert good(flow.get(card(queue))).json["data"] == [entry]
    assert good(flow.get(card(queue), who=user)).json["data"]


def test_card_time_of_another_window(flow):
    queue = flow.make_queue(maxResources={"cpu": "8", "mem": "8Gi", "scalarResources": {"nvidia.com/gpu": "4"}})
    flavour = {"cpu": "1", "mem": "1Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    flow.wait(flow.submit(flavour=flavour, schedulingPolicy={"queue": queue}))
    entry = good(flow.get(card(queue, startTime="2001-01-01 00:00:00", endTime="2001-02-01 00:00:00"))).json["data"][0]
    assert entry["cardTime"] == 0 and not entry["detail"]


def test_card_times_of_nothing(flow):
    for queues in ([], None):
        assert not good(flow.post("/statistics/cardTime", cards(queues))).json["data"]
