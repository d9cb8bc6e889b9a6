"""Events: in order, without gaps, across restarts; and what else the server says of itself while it runs."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import time

import pytest
from conftest import BIN, PATIENCE, wait_for
from sse import Stream

KINDS = {
    "job.queued",
    "job.environment",
    "job.starting",
    "job.running",
    "job.retrying",
    "job.stopping",
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "member.started",
    "member.ready",
    "member.exited",
}
ENDS = {"job.succeeded", "job.failed", "job.cancelled"}


def until(gate):
    return f"while [ ! -e {gate} ]; do sleep 0.02; done; "


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


def follow(server, headers=None, **query):
    stream = Stream(server, "/v1/events", headers=headers, **query)
    assert stream.status == 200, stream.reply.read()
    return stream


def hear_until(stream, done, seen=None):
    """Adds events to `seen` until `done(event)`; each must be newer than the one before it."""
    seen = [] if seen is None else seen
    for event in stream:
        data = event.data
        assert event.id == str(data["revision"]) and event.kind == data["kind"] and data["kind"] in KINDS
        assert not seen or data["revision"] > seen[-1]["revision"]
        seen.append(data)
        if done(data):
            return seen
    return seen


def ends_of(jobs):
    """True with the last end of these jobs."""
    open_jobs = {job["id"] for job in jobs}

    def done(event):
        if event["kind"] in ENDS:
            open_jobs.discard(event["job"])
        return not open_jobs

    return done


def listed(server, job, **query):
    text = "&".join(f"{name}={value}" for name, value in {"limit": 10000, **query}.items())
    reply = server.get(f"/v1/jobs/{job['id']}/events?{text}")
    assert reply.status == 200, reply.body
    return reply.json["items"]


# -- what an event is


def test_the_events_of_a_job_tell_its_story(server):
    job = server.wait(server.submit("exit 3", name="story", retries=1, backoff="10ms")["id"])
    events = listed(server, job)
    assert [event["kind"] for event in events] == [
        *("job.queued", "job.starting", "member.started", "job.running", "member.exited", "job.retrying"),
        *("job.starting", "member.started", "job.running", "member.exited", "job.failed"),
    ]
    for event in events:
        assert set(event) == {"revision", "time", "job", "name", "user", "kind", "data"}
        assert (event["job"], event["name"], event["user"]) == (job["id"], "story", job["user"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"])
    exits = [event["data"] for event in events if event["kind"] == "member.exited"]
    assert [(e["member"], e["exit_code"], e["signal"], e["oom"], e["attempt"]) for e in exits] == [
        ("worker-0", 3, None, False, 1),
        ("worker-0", 3, None, False, 2),
    ]
    assert "status 3" in events[-1]["data"]["reason"]
    assert events[-1]["revision"] == job["revision"]


def test_pages_of_events(server):
    job = server.wait(server.submit("exit 1", retries=5, backoff="1ms")["id"])
    whole, pages, since = listed(server, job), [], 0
    while True:
        page = listed(server, job, since=since, limit=7)
        if not page:
            break
        assert len(page) <= 7
        pages += page
        since = page[-1]["revision"]
    assert pages == whole and len(whole) > 14
    for query in ("since=-1", "limit=0", "limit=10001", "since=x"):
        assert server.get(f"/v1/jobs/{job['id']}/events?{query}").status == 400, query


# -- the stream


def test_a_stream_tells_all_in_order_and_can_be_taken_up_again(server):
    with follow(server, since=0) as stream:
        jobs = [server.submit(["true"]) for _ in range(10)]
        whole = hear_until(stream, ends_of(jobs))
    assert whole == sorted((e for job in jobs for e in listed(server, job)), key=lambda e: e["revision"])
    middle = whole[len(whole) // 2]["revision"]
    rest = [event for event in whole if event["revision"] > middle]
    for query, headers in (
        ({"since": middle}, None),
        ({}, {"Last-Event-ID": str(middle)}),
        ({"since": middle}, {"Last-Event-ID": "0"}),
    ):
        with follow(server, headers, **query) as stream:
            assert hear_until(stream, lambda e: e == rest[-1]) == rest


def test_without_since_a_stream_begins_now(server):
    old = server.wait(server.submit(["true"])["id"])
    with follow(server) as stream:
        new = server.submit(["true"])
        seen = hear_until(stream, ends_of([new]))
    assert {event["job"] for event in seen} == {new["id"]} and old["id"] != new["id"]


def test_a_stream_of_one_job(server):
    jobs = [server.submit(["true"], name=f"one-{n}") for n in range(5)]
    for job in jobs:
        server.wait(job["id"])
    for name in (jobs[2]["id"], "one-2"):
        with follow(server, since=0, job=name) as stream:
            assert hear_until(stream, ends_of([jobs[2]])) == listed(server, jobs[2])
    reply = server.get("/v1/events?job=nobody")
    assert reply.status == 404 and "nobody" in reply.json["message"]


def test_no_gap_over_restarts_of_the_server(server, tmp_path):
    """Killed with -9 in the middle of things, twice, and stopped once; the client goes on with the last id."""
    seen, jobs = [], []
    for how in ("kill", "kill", "stop"):
        gate = tmp_path / str(len(jobs))
        jobs += [server.submit(f"exit {n % 2}") for n in range(10)]
        waits = server.submit(until(gate))
        jobs.append(waits)
        since = seen[-1]["revision"] if seen else 0
        with follow(server, {"Last-Event-ID": str(since)}) as stream:
            hear_until(stream, lambda e, id=waits["id"]: e["job"] == id and e["kind"] == "job.running", seen)
        getattr(server, how)()
        gate.touch()
        server.start()
    with follow(server, {"Last-Event-ID": str(seen[-1]["revision"])}) as stream:
        done = ends_of(jobs)
        for event in seen:
            done(event)
        hear_until(stream, done, seen)
    assert seen == sorted((e for job in jobs for e in listed(server, job)), key=lambda e: e["revision"])
    assert len({event["revision"] for event in seen}) == len(seen)
    for job in jobs:
        assert sum(event["kind"] in ENDS for event in seen if event["job"] == job["id"]) == 1


def test_below_the_horizon_is_gone(make_server):
    server = make_server("--keep-events", "1000", "--cpus", "16")
    first = server.wait(server.submit(["true"])["id"])
    jobs = [first] + [server.submit(["true"]) for _ in range(420)]  # of six events each
    for job in jobs:
        server.wait(job["id"])
    revision = server.job(jobs[-1]["id"])["revision"]
    assert revision > 2000
    wait_for(lambda: not listed(server, first), 20, "the going of the first events")
    with Stream(server, "/v1/events", since=1) as stream:
        assert stream.status == 410
        body = json.loads(stream.reply.read())
    assert body["code"] == "gone" and body["revision"] >= revision
    with Stream(server, "/v1/events", {"Last-Event-ID": "1"}) as stream:
        assert stream.status == 410
    # what a client does then: look at the jobs, and go on from the revision it was told
    with follow(server, since=body["revision"]) as stream:
        new = server.submit(["true"])
        assert {event["job"] for event in hear_until(stream, ends_of([new]))} == {new["id"]}
    # of the last thousand not one is missing
    with follow(server, since=revision - 1000) as stream:
        seen = hear_until(stream, lambda e: e["revision"] >= revision)
    assert [event["revision"] for event in seen] == list(range(revision - 999, revision + 1))


# -- whose events


class Tcp:
    """The server over TCP, as the owner of a token."""

    def __init__(self, port, token):
        self.port, self.headers = port, {"Authorization": f"Bearer {token}"} if token else {}

    def request(self, method, path, body=None, timeout=PATIENCE):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = dict(self.headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()


def test_a_user_sees_only_their_own(make_server):
    server = make_server("--listen", "127.0.0.1:0", "--cpus", "8")
    port = server.port
    users = {}
    for name in ("ann", "bob"):
        reply = server.post("/v1/tokens", {"user": name})
        assert reply.status == 201, reply.body
        users[name] = Tcp(port, reply.json["token"])
    jobs = {}
    for name, tcp in users.items():
        reply = tcp.request("POST", "/v1/jobs", {"command": ["echo", "secret"], "name": "same"})
        assert reply.status == 201
        jobs[name] = json.loads(reply.read())
        assert jobs[name]["user"] == name
        server.wait(jobs[name]["id"])
    others = {"ann": "bob", "bob": "ann"}
    for name, tcp in users.items():
        reply = tcp.request("GET", "/v1/events?since=0")
        seen = []
        for line in reply:
            if line.startswith(b"data: "):
                seen.append(json.loads(line[6:]))
                if seen[-1]["kind"] in ENDS:
                    break
        reply.close()
        assert {(event["user"], event["job"]) for event in seen} == {(name, jobs[name]["id"])}
        other = jobs[others[name]]["id"]
        for path in (
            f"/v1/jobs/{other}",
            f"/v1/jobs/{other}/events",
            f"/v1/jobs/{other}/members",
            f"/v1/jobs/{other}/logs",
            f"/v1/jobs/{other}/logs/worker-0",
            f"/v1/events?job={other}&since=0",
        ):
            reply = tcp.request("GET", path)
            body = reply.read1(4096)
            assert reply.status == 404 and b"secret" not in body, (path, reply.status, body)
            # a job that is another's is told in the words that one gets that never was
            missing = tcp.request("GET", path.replace(other, "0" * len(other))).read()
            said, never = (json.loads(text)["message"].replace(other, "ID") for text in (body, missing))
            assert said == never.replace("0" * len(other), "ID")
            reply.close()
    assert Tcp(port, None).request("GET", "/v1/events?since=0").status == 401
    assert Tcp(port, "wrong").request("GET", "/v1/events?since=0").status == 401


# -- waiting for a job


def test_waiting_for_a_newer_revision(server, gate):
    job = server.wait(server.submit(until(gate))["id"], "running")
    path = f"/v1/jobs/{job['id']}"
    begin = time.monotonic()
    assert server.get(f"{path}?wait_ms=300&revision={job['revision']}").json["revision"] == job["revision"]
    assert time.monotonic() - begin > 0.25
    begin = time.monotonic()
    assert server.get(f"{path}?wait_ms=20000&revision={job['revision'] - 1}").json["revision"] == job["revision"]
    assert time.monotonic() - begin < 15
    gate.touch()
    begin = time.monotonic()
    newer = server.get(f"{path}?wait_ms=20000&revision={job['revision']}").json
    assert newer["revision"] > job["revision"] and time.monotonic() - begin < 15
    job = server.wait(job["id"])
    begin = time.monotonic()  # nothing newer can come of a finished one
    assert server.get(f"{path}?wait_ms=20000&revision={job['revision']}").json["state"] == "succeeded"
    assert time.monotonic() - begin < 15
    for wrong in ("wait_ms=-1", "wait_ms=x", "wait_ms=30001", "revision=-1&wait_ms=1"):
        assert server.get(f"{path}?{wrong}").status == 400, wrong


def test_those_who_wait_are_answered_when_the_server_stops(server, gate):
    job = server.wait(server.submit(until(gate))["id"], "running")
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(server.socket)
    path = f"/v1/jobs/{job['id']}?wait_ms=30000&revision={job['revision']}"
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    wait_for(lambda: metrics(server)["paddle_http_suspended"] == 1, 10, "the waiting of the request")
    server.stop()
    head = connection.recv(4096)
    assert head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 503")), head
    connection.close()
    gate.touch()
    server.start()


# -- readiness, metrics, log lines


def test_ready_only_once_the_runtime_is(make_server, tmp_path):
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\n{until(tmp_path / "go")}exec {BIN / "paddle-agent"} "$@"\n')
    agent.chmod(0o755)
    server = make_server("--agent", agent, "--cpus", "2", start=False)
    try:
        server.start(wait=False)

        def answers():
            with contextlib.suppress(OSError):
                return server.get("/healthz").status == 200

        wait_for(answers, 20, "the server's first answer")
        reply = server.get("/readyz")
        assert reply.status == 503 and b"not ready" in reply.body
        job = server.submit("echo at last")  # it is taken and kept, and says what it waits for
        assert server.job(job["id"])["state"] == "queued" and server.job(job["id"])["reason"]
    finally:
        (tmp_path / "go").touch()
    wait_for(server.is_ready)
    assert server.wait(job["id"])["state"] == "succeeded" and server.member_log(job["id"]) == "at last\n"


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')


def metrics(server):
    """The samples by name and labels, after checking what the text format demands."""
    reply = server.get("/metrics")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert reply.body.endswith(b"\n")
    types, helped, values = {}, set(), {}
    for line in reply.body.decode().splitlines():
        if line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name not in types and kind in ("counter", "gauge", "histogram", "summary", "untyped"), line
            types[name] = kind
        elif line.startswith("# HELP "):
            name = line[7:].split(" ", 1)[0]
            assert name not in helped, line
            helped.add(name)
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            name, labels, value = found.groups()
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            family = family if types.get(family) == "histogram" else name
            assert family in types and family in helped, line
            key = name if labels is None else f"{name}{{{labels}}}"
            assert key not in values, line
            values[key] = float(value)
            if types[family] == "counter":
                assert name.endswith("_total") and values[key] >= 0, line
    return values


def test_metrics_are_prometheus_text_and_count(make_server, gate):
    server = make_server("--cpus", "3", "--memory", "2Gi", "--gpus", "2")
    before = metrics(server)
    assert before["paddle_cpu_cores_total"] == before["paddle_cpu_cores_free"] == 3
    assert before["paddle_memory_bytes_total"] == 2 << 30 and before["paddle_gpus_total"] == 2
    for command, state in (("true", "succeeded"), ("true", "succeeded"), ("false", "failed")):
        assert server.wait(server.submit([command])["id"])["state"] == state
    roles = [{"name": "worker", "replicas": 1, "cpu": "2", "memory": "1Gi", "gpus": 1}]
    runs = server.wait(server.submit(until(gate), roles=roles, use_gpu=True)["id"], "running")
    waits = server.submit(["true"], roles=[{"name": "worker", "replicas": 1, "cpu": "2"}])
    server.get("/v1/jobs/none")
    # a reply is counted when its connection is done with it
    wait_for(lambda: metrics(server)["paddle_http_client_errors_total"] > before["paddle_http_client_errors_total"])
    now = metrics(server)
    moved = {name: now[name] - before[name] for name in before}
    assert moved["paddle_jobs_submitted_total"] == 5 and moved["paddle_jobs_succeeded_total"] == 2
    assert moved["paddle_jobs_failed_total"] == 1 and moved["paddle_jobs_cancelled_total"] == 0
    assert now["paddle_jobs_open"] == 2 and now["paddle_jobs_running"] == 1 and now["paddle_jobs_queued"] == 1
    assert now["paddle_members_running"] == 1 and now["paddle_cpu_cores_free"] == 1
    assert now["paddle_memory_bytes_free"] == 1 << 30 and now["paddle_gpus_free"] == 1
    assert moved["paddle_http_requests_total"] > 5 and moved["paddle_http_client_errors_total"] >= 1
    assert moved["paddle_store_commits_total"] >= 5 and moved["paddle_engine_batches_total"] >= 5
    assert server.request("DELETE", f"/v1/jobs/{waits['id']}").status == 200
    with follow(server):
        assert metrics(server)["paddle_http_streams"] == 1
    gate.touch()
    server.wait(runs["id"])
    after = metrics(server)
    assert after["paddle_jobs_cancelled_total"] - before["paddle_jobs_cancelled_total"] == 1
    assert after["paddle_jobs_open"] == after["paddle_members_running"] == 0 and after["paddle_cpu_cores_free"] == 3
    wait_for(lambda: metrics(server)["paddle_http_streams"] == 0, 40, "the end of the stream whose client left")


def test_the_latency_histogram_adds_up(server):
    name = "paddle_http_request_seconds"
    for _ in range(20):
        server.get("/healthz")
    # a reply is counted when its connection is done with it
    now = wait_for(lambda: (m := metrics(server))[name + "_count"] >= 20 and m, what="the count of all replies")
    buckets = [
        (float(re.search('le="([^"]+)"', key).group(1)), n) for key, n in now.items() if key.startswith(name + "_b")
    ]
    assert buckets == sorted(buckets) and [n for _, n in buckets] == sorted(n for _, n in buckets)
    assert buckets[-1][0] == float("inf") and buckets[-1][1] == now[name + "_count"] >= 20
    assert 0 < now[name + "_sum"] < 60


LEVELS = ("error", "warning", "info", "debug")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
TEXT_LINE = re.compile(rf'({TIME}) ({"|".join(LEVELS)}) ([^="]*?)((?: [a-z_]+=(?:"(?:[^"\\]|\\.)*"|[^\s"\\=]+))*)')


def log_lines(server, *options):
    """All that a server writes from its start to its end."""
    server.options += options
    server.start()
    server.wait(server.submit(["true"])["id"])
    server.stop()
    text = server.log()
    assert text.endswith("\n")
    return text.splitlines()


def test_log_lines_as_text(make_server):
    server = make_server("--cpus", "2", start=False)
    found = [TEXT_LINE.fullmatch(line) for line in log_lines(server)]
    assert found and all(found), server.log()
    assert {match.group(2) for match in found} <= {"info"}, server.log()  # nobody has to act, nothing to cope with
    fields = next(match.group(4) for match in found if match.group(3) == "serving")
    assert f"state={server.state}" in fields and "version=" in fields and "port=" in fields


def test_log_lines_as_json(make_server):
    server = make_server("--cpus", "2", start=False)
    lines = [json.loads(line) for line in log_lines(server, "--log-format", "json")]
    for line in lines:
        assert re.fullmatch(TIME, line["time"]) and line["level"] in LEVELS and line["message"], line
        assert all(isinstance(value, str) for value in line.values())
    serving = next(line for line in lines if line["message"] == "serving")
    assert serving["state"] == str(server.state) and serving["version"]
    assert lines[-1]["message"].startswith("stopping")


def test_log_levels(make_server):
    quiet = make_server("--cpus", "2", "--log-level", "error", start=False)
    quiet.start()
    quiet.stop()
    assert quiet.log() == ""
    for option, value, right in (("--log-level", "loud", "debug"), ("--log-format", "xml", "json")):
        done = subprocess.run(
            [BIN / "paddled", "--state", quiet.state, option, value], capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 2 and option in done.stderr and f"'{value}'" in done.stderr and right in done.stderr
    assert not os.path.exists(quiet.state / "paddled.pid")
