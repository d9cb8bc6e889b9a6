"""What the interface refuses: every field of a specification, bodies, headers, sizes. Each refusal names thing, value and
rule, and leaves nothing behind: no job, no temporary file, no directory."""

import http.client
import json
import os
import socket

import pytest
from conftest import PATIENCE, UnixConnection, wait_for

HASH = "0" * 64


@pytest.fixture
def untouched(shared_server):
    """The server; afterwards nothing may have been left behind."""

    def traces():
        info = shared_server.get("/v1/info").json
        state = shared_server.state
        return (
            info["jobs"]["open"],
            [job["id"] for job in shared_server.get("/v1/jobs?limit=1000").json["items"]],
            sorted(str(p) for p in state.joinpath("storage").rglob("*")),
            sorted(str(p) for p in state.joinpath("packages").rglob("*")),
        )

    shared_server.post("/v1/files/pfs/local/home/root", {"op": "mkdir"})
    wait_for(lambda: not shared_server.get("/v1/info").json["jobs"]["open"], 30, "the end of earlier jobs")
    before = traces()
    yield shared_server
    assert traces() == before
    wait_for(lambda: not os.listdir(shared_server.state / "tmp"), 10, "an empty tmp")


def refused(reply, status, code, *parts):
    assert reply.status == status, (reply.status, reply.body)
    body = reply.json
    assert body["code"] == code and body["request_id"] and isinstance(body["hint"], str), body
    said = body["message"] + "\n" + body["hint"]
    for part in parts:
        assert part in said, f"{part!r} is not in {said!r}"
    assert all(char.isprintable() for char in body["message"]), body["message"]


# -- fields of a specification: what is sent, what the message must say


def roles(*rows):
    return {"roles": [{"name": name, **fields} for name, fields in rows]}


def worker(**fields):
    return roles(("worker", fields))


LONG = "a" * 300
FIELDS = [
    # command
    ({"command": None}, ["command", "missing"]),
    ({"command": []}, ["command", "empty"]),
    ({"command": ""}, ["command", "empty"]),
    ({"command": " \t\n"}, ["command", "empty"]),
    ({"command": [""]}, ["command[0]", "empty"]),
    ({"command": ["true", 5]}, ["command[1]", "string"]),
    ({"command": 5}, ["command", "string or a list"]),
    ({"command": {"a": "b"}}, ["command", "string or a list"]),
    ({"command": ["x"] * 4097}, ["command", "4096"]),
    ({"command": ["x" * 131072]}, ["command[0]", "131071"]),
    # name
    ({"name": ""}, ["name", "''", "1 to 63"]),
    ({"name": "a/b"}, ["name", "'a/b'", "1 to 63"]),
    ({"name": ".."}, ["name", "'..'"]),
    ({"name": "../../etc"}, ["name", "'../../etc'"]),
    ({"name": "a\u0001\u001b[31mb"}, ["name", "a\\001\\033[31mb"]),
    ({"name": "a\nb"}, ["name", "'a\\nb'"]),
    ({"name": LONG}, ["name", "aaaa", "63"]),
    ({"name": "Upper"}, ["name", "'Upper'", "a-z"]),
    ({"name": "-dash"}, ["name", "'-dash'"]),
    ({"name": "dash-"}, ["name", "'dash-'"]),
    ({"name": "naïve"}, ["name", "na"]),
    ({"name": 7}, ["name", "string"]),
    ({"name": ["a"]}, ["name", "string"]),
    # framework, roles, counts
    ({"framework": "tensorflow9"}, ["framework", "'tensorflow9'", "paddle-ps", "paddle-collective", "plain"]),
    ({"framework": 1}, ["framework", "string"]),
    ({"framework": "plain\u0000x"}, []),
    ({"roles": []}, ["roles", "empty"]),
    ({"roles": {}}, ["roles", "list"]),
    ({"roles": ["worker"]}, ["roles[0]", "object"]),
    ({"roles": [{}]}, ["roles[0].name", "missing"]),
    ({"roles": [{"name": "worker"}] * 17}, ["roles", "16"]),
    (roles(("worker", {}), ("worker", {})), ["roles[1].name", "'worker'", "twice"]),
    (roles(("nonsense", {})), ["roles[0].name", "'nonsense'", "plain", "worker"]),
    (roles(("a\u0007b", {})), ["roles[0].name"]),
    (worker(replicas=0), ["roles", "at least 1 worker"]),
    (worker(replicas=-1), ["roles[0].replicas", "'-1'", "10000"]),
    (worker(replicas=10**9), ["roles[0].replicas", "'1000000000'", "10000"]),
    (worker(replicas=10**19), []),
    (worker(replicas=1.5), ["roles[0].replicas", "1.5"]),
    (worker(replicas="2"), ["roles[0].replicas", "2"]),
    (roles(("pserver", {"replicas": 9999}), ("trainer", {"replicas": 9999})), ["19998", "10000"]),
    (roles(("pserver", {"replicas": 2}), ("trainer", {"replicas": 0})), ["trainer"]),
    ({"framework": "plain", **roles(("pserver", {"replicas": 1}))}, ["roles[0].name", "'pserver'", "plain"]),
    (worker(colour="red"), ["roles[0].", "'colour'", "replicas"]),
    (worker(command=[]), ["roles[0].command", "empty"]),
    (worker(env={"1": "x"}), ["roles[0].env", "'1'"]),
    # amounts
    (worker(cpu="-1"), ["roles[0].cpu", "'-1'"]),
    (worker(cpu=-1), ["roles[0].cpu", "'-1'"]),
    (worker(cpu="much"), ["roles[0].cpu", "'much'"]),
    (worker(cpu=10**9), ["1000000000"]),
    (worker(cpu="9" * 40), ["roles[0].cpu"]),
    (worker(memory="-1Gi"), ["roles[0].memory", "'-1Gi'"]),
    (worker(memory="1Zi"), ["roles[0].memory", "'1Zi'"]),
    (worker(memory="99999999Ei"), ["roles[0].memory", "'99999999Ei'"]),
    (worker(memory=True), ["roles[0].memory"]),
    (worker(gpus=-1), ["roles[0].gpus", "'-1'", "1024"]),
    (worker(gpus=10**9), ["roles[0].gpus", "'1000000000'", "1024"]),
    (worker(gpus="1"), ["roles[0].gpus"]),
    ({"use_gpu": True}, ["use_gpu", "gpus"]),
    ({"use_gpu": False, **worker(gpus=1)}, ["use_gpu", "1"]),
    ({"use_gpu": "yes"}, ["use_gpu", "true or false"]),
    # times and counts
    ({"retries": -1}, ["retries", "'-1'", "1000"]),
    ({"retries": 10**9}, ["retries", "'1000000000'", "1000"]),
    ({"retries": "1"}, ["retries"]),
    ({"time_limit": "soon"}, ["time_limit", "'soon'", "90s"]),
    ({"time_limit": -1}, ["time_limit", "-1"]),
    ({"time_limit": "-1s"}, ["time_limit", "'-1s'"]),
    ({"time_limit": 10**9}, ["time_limit", "1000000000", "3650 days"]),
    ({"time_limit": "99999999999999999999d"}, ["time_limit"]),
    ({"time_limit": [1]}, ["time_limit", "[1]"]),
    ({"grace": "2d"}, ["grace", "2d", "1 day"]),
    ({"grace": 10**9}, ["grace", "1000000000"]),
    ({"grace": "x"}, ["grace", "'x'"]),
    ({"backoff": "1w"}, ["backoff", "'1w'"]),
    ({"backoff": -0.5}, ["backoff", "-0.5"]),
    ({"on_lost": "cry"}, ["on_lost", "'cry'", "retry, fail"]),
    ({"ready": "maybe"}, ["ready", "'maybe'", "listen, declared"]),
    # environment
    ({"env": "A=1"}, ["env", "object or a list"]),
    ({"env": {"A B": "1"}}, ["env", "'A B'", "letter"]),
    ({"env": {"": "1"}}, ["env", "''"]),
    ({"env": {"A=B": "1"}}, ["env", "'A=B'"]),
    ({"env": {"A\u0001": "1"}}, ["env", "A\\001"]),
    ({"env": {"A": ["x"]}}, ["env", "'A'"]),
    ({"env": {"A": "x" * 131072}}, ["env", "'A'", "131071"]),
    ({"env": {f"A{i}": "x" for i in range(1001)}}, ["env", "1000"]),
    ({"env": ["NOEQUALS"]}, ["env[0]", "'NOEQUALS'", "NAME=VALUE"]),
    ({"env": [5]}, ["env[0]", "NAME=VALUE"]),
    # image
    ({"image": ""}, ["image", "''"]),
    ({"image": "bad image"}, ["image", "'bad image'", "paddlepaddle/paddle:2.6.2"]),
    ({"image": "-rm"}, ["image", "'-rm'"]),
    ({"image": "a;b"}, ["image", "'a;b'"]),
    ({"image": "a\u001bb"}, ["image", "a\\033b"]),
    ({"image": LONG}, ["image", "255"]),
    # package
    ({"package": "abc"}, ["package", "'abc'", "64"]),
    ({"package": "../" + "0" * 61}, ["package", "64"]),
    ({"package": "G" * 64}, ["package", "64"]),
    ({"package": "0" * 300}, ["package", "64"]),
    ({"package_name": "demo"}, ["package_name", "'demo'", "without a package"]),
    # storage
    ({"input": "../up"}, ["input", "'../up'", "'..'"]),
    ({"input": "/pfs/local/home/root/../x"}, ["input", "'..'"]),
    ({"input": "a\u0001"}, ["input", "a\\001", "control"]),
    ({"input": "x" * 5000}, ["input", "4096"]),
    ({"input": ""}, ["input", "empty"]),
    ({"output": "../up"}, ["output", "'..'"]),
    ({"output": "/pfs/local/nowhere/x"}, ["output", "/pfs/local/nowhere/x"]),
    ({"output": ["x"]}, ["output", "string"]),
    ({"output": "a\nb"}, ["output", "control"]),
    # whole
    ({"colour": "red"}, ["'colour'", "command", "roles"]),
    ({"Command": ["true"]}, ["'Command'"]),
    ({"output": "made-by-refused", "retries": -1}, ["retries"]),
    ({"output": "made-by-refused", **worker(cpu="1000")}, ["1000", "64"]),
]


@pytest.mark.parametrize("fields, parts", FIELDS, ids=lambda value: json.dumps(value)[:60])
def test_a_field_is_refused(untouched, fields, parts):
    refused(untouched.post("/v1/jobs", {"command": ["true"], **fields}), 400, "invalid", *parts)


MISSING = [
    ({"package": HASH}, ["package", HASH]),
    ({"input": "not/there"}, ["input", "/pfs/local/home/root/not/there", "paddle upload"]),
    ({"input": "/pfs/moon/home/root/x"}, ["input", "'moon'", "'local'"]),
    ({"output": "/pfs/moon/home/root/x"}, ["output", "'moon'", "'local'"]),
]


@pytest.mark.parametrize("fields, parts", MISSING, ids=lambda value: json.dumps(value)[:60])
def test_what_is_named_and_not_there_is_404(untouched, fields, parts):
    refused(untouched.post("/v1/jobs", {"command": ["true"], **fields}), 404, "not_found", *parts)


def test_an_output_that_is_a_file_is_refused(shared_server):
    path = "/v1/files/pfs/local/home/root/plain-file"
    assert shared_server.post(path, {"op": "finish", "size": 0, "chunks": []}).status == 200
    refused(
        shared_server.post("/v1/jobs", {"command": ["true"], "output": "plain-file"}),
        409,
        "conflict",
        "output",
        "plain-file",
        "not a directory",
    )
    assert shared_server.request("DELETE", path).status == 204


def test_a_nul_in_a_string_is_refused(untouched):
    for body in (b'{"command":["tr\\u0000ue"]}', b'{"command":["true"],"name":"a\\u0000b"}'):
        refused(untouched.post("/v1/jobs", body), 400, "invalid", "JSON")


SEED = [
    ({}, ["entry_point", "missing"]),
    ({"entry_point": "true", "trainers": 0}, ["trainers", "'0'", "from 1"]),
    ({"entry_point": "true", "trainers": -1}, ["trainers", "'-1'"]),
    ({"entry_point": "true", "trainers": 10**9}, ["trainers", "'1000000000'", "10000"]),
    ({"entry_point": "true", "pservers": -1}, ["pservers", "'-1'"]),
    ({"entry_point": "true", "pservers": 10**9}, ["pservers", "10000"]),
    ({"entry_point": "true", "use_gpu": True}, ["use_gpu", "trainer_gpu_num"]),
    ({"entry_point": "true", "trainer_gpu_num": 1}, ["trainer_gpu_num", "use_gpu"]),
    ({"entry_point": "true", "job_name": "a/b"}, ["name", "'a/b'"]),
    ({"entry_point": "true", "base_image": "a b"}, ["image", "'a b'"]),
    ({"entry_point": "true", "command": ["true"]}, ["'command'", "entry_point"]),
    ({"entry_point": ["true"]}, ["entry_point", "string"]),
]


@pytest.mark.parametrize("body, parts", SEED, ids=lambda value: json.dumps(value)[:60])
def test_the_seeds_route_refuses(untouched, body, parts):
    refused(untouched.post("/v1/trainer/job", body), 400, "invalid", *parts)


# -- bodies


BODIES = [
    (b"", ["empty", "JSON object"]),
    (b"{", ["JSON", "line 1"]),
    (b"[1]", ["object"]),
    (b"null", ["object"]),
    (b'"text"', ["object"]),
    (b"command: [true]\n", ["JSON"]),
    (b'{"command":["true"]} x', ["JSON"]),
    (b'{"command":["true"],}', ["JSON"]),
    (b'{"command":["true"],"command":["false"]}', ["JSON", "duplicate"]),
    (b'{"command":["true"],"roles":[{"name":"worker","name":"trainer"}]}', ["JSON", "duplicate"]),
    (b'{"command":["true"],"name":"\xff\xfe"}', ["JSON", "byte 0xff"]),
    (b'{"command":["true"],"retries":NaN}', ["JSON"]),
    (b"[" * 20000, ["nested deeper"]),
    (b'{"command":' + b"[" * 1000 + b"]" * 1000 + b"}", ["nested deeper"]),
    (b'{"a":' * 10000, ["nested deeper"]),
]


@pytest.mark.parametrize("body, parts", BODIES, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("route", ["/v1/jobs", "/v1/trainer/job", "/v1/tokens", "/v1/files/pfs/local/home/root/x"])
def test_a_broken_body_is_refused(untouched, route, body, parts):
    refused(untouched.post(route, body), 400, "invalid", *parts)


@pytest.mark.parametrize(
    "method, path, body, parts",
    [
        ("POST", "/v1/tokens", {"expires_in": 0}, ["expires_in", "'0'", "from 1"]),
        ("POST", "/v1/tokens", {"expires_in": 10**12}, ["expires_in"]),
        ("POST", "/v1/tokens", {"user": "../x"}, ["user", "'../x'"]),
        ("POST", "/v1/tokens", {"user": ""}, ["user", "''"]),
        ("POST", "/v1/tokens", {"user": "a" * 300}, ["user", "128"]),
        ("POST", "/v1/tokens", {"note": "n" * 300}, ["note", "200"]),
        ("POST", "/v1/tokens", {"colour": 1}, ["'colour'", "note"]),
        ("POST", "/v1/files/pfs/local/home/root/x", {"op": "burn"}, ["op", "'burn'", "finish", "mkdir"]),
        ("POST", "/v1/files/pfs/local/home/root/x", {"op": "mkdir", "mode": 7}, ["'mode'", "op"]),
        ("POST", "/v1/files/pfs/local/home/root/x", {"op": "finish"}, ["size", "chunks"]),
        ("POST", "/v1/files/pfs/local/home/root/x", {"op": "finish", "size": -1, "chunks": []}, ["size", "'-1'"]),
        ("GET", "/v1/jobs?limit=0", None, ["limit", "'0'", "1000"]),
        ("GET", "/v1/jobs?limit=-1", None, ["limit", "'-1'"]),
        ("GET", "/v1/jobs?limit=1000000000", None, ["limit", "'1000000000'", "1000"]),
        ("GET", "/v1/jobs?limit=x", None, ["limit", "'x'"]),
        ("GET", "/v1/jobs?state=happy", None, ["'happy'", "queued"]),
        ("GET", "/v1/jobs?after=zzz%2F..", None, ["after"]),
        ("GET", "/v1/jobs?all=perhaps", None, ["all", "'perhaps'", "true or false"]),
        ("GET", "/v1/events?since=-1", None, ["since", "'-1'"]),
        ("GET", "/v1/files/pfs/local/home/root?list=2", None, ["list", "'2'"]),
    ],
)
def test_a_parameter_is_refused(untouched, method, path, body, parts):
    refused(untouched.request(method, path, body), 400, "invalid", *parts)


def test_parameters_of_a_job_are_refused(shared_server):
    job = shared_server.wait(shared_server.submit(["true"])["id"])
    base = f"/v1/jobs/{job['id']}"
    for path, parts in [
        ("?wait_ms=30001", ["wait_ms", "'30001'", "30000"]),
        ("?wait_ms=-1", ["wait_ms", "'-1'"]),
        ("?revision=x", ["revision", "'x'"]),
        ("/events?limit=0", ["limit", "'0'"]),
        ("/events?since=x", ["since", "'x'"]),
        ("/logs/worker-0?tail=-1", ["tail", "'-1'"]),
        ("/logs/worker-0?attempt=x", ["attempt", "'x'"]),
        ("/logs?tail=x", ["tail", "'x'"]),
        ("/logs?cursor=nonsense", ["cursor", "'nonsense'"]),
        ("/logs?follow=maybe", ["follow", "'maybe'"]),
        ("/logs/..%2F..%2F..%2Fetc%2Fpasswd", ["'..'"]),
    ]:
        refused(shared_server.get(base + path), 400, "invalid", *parts)
    for path, parts in [
        ("/logs/worker-1", ["worker-1"]),
        ("/logs/worker-0?attempt=9", ["9"]),
        ("/logs?member=nobody-0", ["nobody-0"]),
    ]:
        refused(shared_server.get(base + path), 404, "not_found", *parts)


@pytest.mark.parametrize("name", ["no-such", "..", "a%2Fb", "%01", "a" * 300, "%ff%fe"])
@pytest.mark.parametrize("method, rest", [("GET", ""), ("DELETE", ""), ("GET", "/members"), ("GET", "/logs")])
def test_a_job_that_is_not_there(untouched, method, rest, name):
    reply = untouched.request(method, f"/v1/jobs/{name}{rest}")
    assert reply.status in (400, 404), (reply.status, reply.body)
    assert reply.json["code"] in ("invalid", "not_found")


@pytest.mark.parametrize("key", ["", "k" * 129, "a\tb", "a\x7f"])
def test_an_idempotency_key_is_refused(untouched, key):
    reply = untouched.post("/v1/jobs", {"command": ["true"]}, headers={"Idempotency-Key": key})
    refused(reply, 400, "invalid", "Idempotency-Key", "128")


def test_a_body_where_none_belongs(untouched):
    refused(untouched.request("GET", "/v1/jobs", b"{}"), 400, "invalid", "body")


def test_unknown_routes_and_methods(untouched):
    refused(untouched.get("/v1/nothing"), 404, "not_found", "/v1/nothing")
    refused(untouched.get("/v2/jobs"), 404, "not_found", "/v2/jobs")
    reply = untouched.request("PATCH", "/v1/jobs")
    refused(reply, 405, "method", "PATCH", "/v1/jobs")
    assert {"GET", "POST"} <= set(reply.headers["Allow"].replace(" ", "").split(","))


# -- large bodies


def send_large(server, method, path, size, announce, block=b"x" * 65536):
    """Sends `size` bytes, with their length said or in chunks; returns the reply although the body may be cut off."""
    connection = UnixConnection(server.socket)
    connection.putrequest(method, path)
    if announce:
        connection.putheader("Content-Length", str(size))
    else:
        connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    try:
        for _ in range(size // len(block)):
            connection.send(block if announce else b"%x\r\n%s\r\n" % (len(block), block))
        if not announce:
            connection.send(b"0\r\n\r\n")
    except OSError:
        pass  # the server has had enough
    connection.response = http.client.HTTPResponse(connection.sock)
    connection.response.begin()
    status, body = connection.response.status, connection.response.read()
    connection.close()
    return status, json.loads(body)


LARGE = 100 << 20


@pytest.mark.parametrize(
    "method, path, announce",
    [
        ("POST", "/v1/jobs", True),
        ("POST", "/v1/jobs", False),
        ("POST", "/v1/trainer/job", True),
        ("POST", "/v1/tokens", True),
        ("POST", "/v1/packages/offer", True),
        ("POST", "/v1/packages/blobs", True),
        ("POST", "/v1/packages/blobs", False),
        ("PUT", f"/v1/packages/blobs/{HASH}?offset=0", True),
        ("PUT", f"/v1/files/pfs/local/home/root/big?chunk=0&hash={HASH}", True),
        ("POST", "/v1/files/pfs/local/home/root/big", True),
    ],
)
def test_a_body_of_100_MB_is_413(untouched, method, path, announce):
    status, body = send_large(untouched, method, path, LARGE, announce)
    assert status == 413 and body["code"] == "too_large", body
    assert "iB" in body["message"] and method in body["message"], body


def test_a_huge_announced_length_is_refused_before_it_is_read(untouched):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(untouched.socket)
        client.sendall(b"POST /v1/packages HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n")
        assert client.recv(64).startswith(b"HTTP/1.1 413")


# -- jobs whose program is not there or dies at once


@pytest.mark.parametrize(
    "command, parts",
    [
        (["no-such-program-at-all"], ["worker-0", "no-such-program-at-all", "no such program"]),
        (["/no/such/python3", "train.py"], ["worker-0", "/no/such/python3", "No such file"]),
        (["/etc/passwd"], ["worker-0", "/etc/passwd", "Permission denied"]),
        (["python3", "no-such-train.py"], ["worker-0", "exited with status 2"]),
        ("exit 9", ["worker-0", "exited with status 9"]),
        (["sh", "-c", "kill -KILL $$"], ["worker-0", "signal"]),
    ],
    ids=str,
)
def test_an_entry_point_that_cannot_live_fails_its_job(shared_server, command, parts):
    job = shared_server.wait(shared_server.submit(command)["id"])
    assert job["state"] == "failed"
    for part in parts:
        assert part in job["reason"], job["reason"]


def test_a_missing_interpreter_of_a_script_fails_its_job(shared_server, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    job = shared_server.wait(shared_server.submit([str(script)])["id"])
    assert job["state"] == "failed" and str(script) in job["reason"] and "worker-0" in job["reason"]
