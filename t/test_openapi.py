"""GET /v1/openapi.json: valid OpenAPI 3.1, the same as the routes that answer, and true about their replies."""

import json
import os
import re

import jsonschema
import pytest
from conftest import PATIENCE, ROOT, UnixConnection, wait_for
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from seeds import noise
from test_packages import digest, manifest_of, tar_of
from totp import Device

TABLES = sorted((ROOT / "src" / "api" / "v1").rglob("*.c"))
MACROS = {"LIST": "GET", "SHOW": "GET", "CREATE": "POST", "CHANGE": "PATCH", "DROP": "DELETE"}  # rows of the catalog
METHODS = ("get", "post", "put", "delete", "patch")


@pytest.fixture(scope="module")
def document(shared_server):
    reply = shared_server.get("/v1/openapi.json")
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/json"
    return reply.json


def routes_of_tables():
    """Method and path of each row of the tables in the source."""
    found = set()
    for path in TABLES:
        text = path.read_text()
        for method, route in re.findall(r'\{\s*"(GET|POST|PUT|DELETE|PATCH)",\s*"(/[^" ]*)",', text):
            found.add((method, route.replace("...}", "}")))
        for macro, route in re.findall(rf'^ +({"|".join(MACROS)})\("(/[^"]*)"', text, re.M):
            found.add((MACROS[macro], route.replace("...}", "}")))
        for action in re.findall(r'^ +ACTION\("(\w+)"', text, re.M):
            found.add(("POST", f"/v1/jobs/{{job}}/{action}"))
    return found


def routes_of(document):
    return {(method.upper(), path) for path, item in document["paths"].items() for method in item if method in METHODS}


def test_it_is_valid(document):
    assert document["openapi"].startswith("3.1.")
    validate(document, cls=OpenAPIV31SpecValidator)


def test_it_has_every_row_of_the_tables(document):
    rows = routes_of_tables()
    assert (
        len(rows) > 65
        and {("POST", "/v1/jobs"), ("PATCH", "/v1/queues/{name}"), ("POST", "/v1/jobs/{job}/hold")} <= rows
    )
    assert routes_of(document) == rows


def test_every_operation_is_described(document):
    names = set(document["components"]["schemas"])
    used = set(re.findall(r'"#/components/schemas/(\w+)"', str(document).replace("'", '"')))
    assert used <= names, used - names
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["summary"].endswith("."), (method, path)
            assert set(operation["x-access"]) == {"kind", "verb"}, (method, path)
            assert "nothing" not in operation["x-access"].values(), (method, path)
            inside = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            assert inside == set(re.findall(r"\{(\w+)\}", path)), (method, path)
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "query":
                    assert parameter["description"].endswith("."), (path, parameter)
                    assert re.fullmatch(r"[a-z_]+", parameter["name"]), (path, parameter)
                assert parameter["schema"]["type"] in ("string", "integer", "boolean", "array"), (path, parameter)
            assert "default" in operation["responses"], (method, path)


EXAMPLE = {
    "path": "pfs/local/home/root/none",
    "job": "none",
    "member": "worker-0",
    "hash": "0" * 64,
    "id": "none",
    "name": "none",
    "run": "none",
    "pipeline": "none",
    "schedule": "none",
    "version": "1",
    "entry": "cch-999999",
}


def ask(server, method, path):
    """Status and error of a request; the body of a stream is not read."""
    connection = UnixConnection(server.socket, PATIENCE)
    connection.request(method, path, headers={"Content-Length": "0"} if method in ("POST", "PUT", "PATCH") else {})
    reply = connection.getresponse()
    error = json.loads(reply.read()) if reply.status >= 400 else None
    connection.close()
    return reply.status, error


def test_every_route_answers_and_others_do_not(shared_server, document):
    """The dispatcher says 404 'no route' and 405; a handler's own 404 names what is missing."""
    for path, item in document["paths"].items():
        real = re.sub(r"\{(\w+)\}", lambda name: EXAMPLE[name[1]], path)
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
            status, error = ask(shared_server, method, real)
            if method.lower() in item:
                assert status not in (405, 500, 501), (method, path, error)
                assert status != 404 or "no such route" not in error["message"], (method, path, error)
            else:
                assert status == 405, (method, path, status)
    for path in ("/", "/v1", "/v1/job", "/v1/jobs/x/y", "/api/v1", "/v1/package/x", "/v1/tokens/x/y", "/v1/openapi"):
        status, error = ask(shared_server, "GET", path)
        assert status == 404 and error["code"] == "not_found", path


def validator(document, schema):
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def test_replies_are_as_described(shared_server, document):
    server = shared_server
    seen = set()

    def check(method, path, *args, route=None, status=None, **kwargs):
        reply = server.request(method, path, *args, **kwargs)
        operation = document["paths"][route or path.partition("?")[0]][method.lower()]
        if status is None:
            status = next(int(code) for code in operation["responses"] if code != "default")
            seen.add((method, route or path.partition("?")[0]))
        assert reply.status == status, (method, path, reply.status, reply.body)
        answer = operation["responses"].get(str(reply.status), operation["responses"]["default"])
        assert ("content" in answer) == bool(reply.body), (method, path)
        kinds = answer.get("content", {})
        if "application/json" in kinds and reply.headers["Content-Type"] == "application/json":
            kinds = {"application/json": kinds["application/json"]}
        for kind, media in kinds.items():
            assert reply.headers["Content-Type"].partition(";")[0] == kind.partition(";")[0], (method, path)
            if kind == "application/json" and "schema" in media:
                validator(document, media["schema"]).validate(reply.json)
        return reply

    for path in ("/healthz", "/readyz", "/metrics", "/v1/version", "/v1/openapi.json", "/v1/whoami", "/v1/info"):
        check("GET", path)
    output = "/v1/files/pfs/local/home/root/openapi"
    data = b"some bytes"
    files, hashed = "/v1/files/{path}", digest(data)
    check("PUT", f"{output}/x?chunk=0&hash={hashed}", data, route=files)
    check("GET", f"{output}/x?upload=true", route=files)
    check("POST", f"{output}/x", {"op": "finish", "size": len(data), "chunks": [hashed]}, route=files)
    check("GET", f"{output}/x?chunks=true", route=files)
    check("GET", output, route=files)
    kinds = document["paths"][files]["get"]["responses"]["200"]["content"]
    assert server.get(f"{output}/x").headers["Content-Type"] in kinds
    manifest = manifest_of({"openapi.txt": data})
    text = {"Content-Type": "text/plain"}
    check("POST", "/v1/packages/offer", manifest, headers=text)
    check("POST", "/v1/packages/blobs", b"%s %d\n%s" % (hashed.encode(), len(data), data))
    other = noise(100, "other")
    check("POST", "/v1/packages/offer", manifest_of({"other": other}), headers=text)
    check("PUT", f"/v1/packages/blobs/{digest(other)}?offset=0&last=true", other, route="/v1/packages/blobs/{hash}")
    check("POST", f"/v1/packages/{digest(manifest)}/commit", route="/v1/packages/{hash}/commit")
    made = check("POST", "/v1/packages", tar_of(("a", b"x"))).json["package"]
    route = "/v1/packages/{hash}/compare"
    check("GET", f"/v1/packages/{digest(manifest)}/compare?with={made}&limit=1", route=route)
    check("GET", f"/v1/packages/{made}/compare?with={'0' * 64}", route=route, status=404)
    check("POST", "/v1/package", tar_of(("a", b"x")))
    spec = {"command": ["sh", "-c", "echo x"], "package": digest(manifest), "package_name": "x", "env": {"A": "1"}}
    job = check("POST", "/v1/jobs", {**spec, "output": "openapi", "roles": [{"name": "worker", "cpu": "1"}]}).json["id"]
    check("POST", "/v1/trainer/job", {"entry_point": "true", "trainers": 1})
    server.wait(job)
    check("GET", "/v1/jobs")
    check("GET", "/v1/jobs?state=succeeded&limit=1")
    check("GET", f"/v1/jobs/{job}", route="/v1/jobs/{job}")
    check("GET", f"/v1/jobs/{job}/members", route="/v1/jobs/{job}/members")
    check("GET", f"/v1/jobs/{job}/results", route="/v1/jobs/{job}/results")
    check("GET", f"/v1/jobs/{job}/events", route="/v1/jobs/{job}/events")
    check("GET", f"/v1/jobs/{job}/logs?follow=false", route="/v1/jobs/{job}/logs")
    times = "timestamps=true&since=1h&attempt=1&partial=true&raw=true"
    check("GET", f"/v1/jobs/{job}/logs?follow=false&{times}", route="/v1/jobs/{job}/logs")
    check("GET", "/v1/events?follow=false")
    check("GET", f"/v1/jobs/{job}/logs/worker-0", route="/v1/jobs/{job}/logs/{member}")
    running = server.submit(["sleep", "600"], grace="1s")["id"]
    check("DELETE", f"/v1/jobs/{running}", route="/v1/jobs/{job}")
    server.wait(running)
    running = server.submit(["sleep", "600"])["id"]
    check("POST", f"/v1/jobs/{running}/cancel", {"force": True}, route="/v1/jobs/{job}/cancel")
    server.wait(running)
    token = check("POST", "/v1/tokens", {"user": "openapi"}).json["id"]
    check("GET", "/v1/tokens")
    check("DELETE", f"/v1/tokens/{token}", route="/v1/tokens/{id}")
    check("PUT", "/v1/secrets/described", {"value": "v"}, route="/v1/secrets/{name}")
    check("PUT", "/v1/secrets/described", {"base64": "AP8="}, route="/v1/secrets/{name}")
    check("POST", "/v1/jobs", {"command": ["true"], "secret_files": {"f": "described"}})
    check("GET", "/v1/secrets")
    check("DELETE", "/v1/secrets/described", route="/v1/secrets/{name}")
    check("GET", "/v1/audit")
    check("GET", "/v1/audit/verify")
    check("DELETE", f"{output}?recursive=true", route=files)
    check("GET", "/v1/storage/usage?all=true&count=true")
    forgotten = server.state / "jobs/op/openapi"  # a job that no longer exists
    forgotten.mkdir(parents=True)
    os.utime(forgotten, (0, 0))
    assert [item["kind"] for item in check("POST", "/v1/storage/gc?dry_run=true").json["items"]] == ["jobs"]
    check_catalog(check)
    check_scheduling(server, check)
    check_runs(server, check)
    check_pipelines(check)
    # errors
    check("POST", "/v1/jobs", {"command": []}, status=400)
    check("GET", "/v1/jobs/none", route="/v1/jobs/{job}", status=404)
    check("DELETE", f"/v1/jobs/{job}", route="/v1/jobs/{job}", status=409)
    # the rest are streams without end, and single sign-on, which needs an issuer: t/security/test_sso.py
    sockets = {("GET", f"/v1/jobs/{{job}}/members/{{member}}/{name}") for name in ("exec", "attach", "forward")}
    streams = {("GET", "/v1/events")} | sockets
    sso = {("POST", "/v1/login/sso"), ("POST", "/v1/login/sso/device")}
    assert routes_of(document) - seen <= streams | sso, routes_of(document) - seen


def check_catalog(check):
    """The five routes of each kind, log-in and passwords."""
    made = {
        "users": {"name": "described", "password": "a good one", "admin": False},
        "clusters": {"name": "described", "type": "K3S", "description": "x", "namespaces": ["a"]},
        "queues": {"name": "described", "max": {"cpu": "2"}, "min": {"cpu": 1}, "location": {"zone": "a"}},
        "flavours": {"name": "described", "cpu": "1", "memory": "1Gi", "scalars": {"nvidia.com/gpu": "1"}},
        "pools": {"name": "described", "total": {"cpu": "8"}, "labels": {"a": "b"}},
        "filesystems": {"name": "described", "url": "local://srv/data", "properties": {"fileMode": "644"}},
    }
    changes = {
        "users": {"admin": True},
        "clusters": {"status": "offline"},
        "queues": {"weight": 2},
        "flavours": {"cpu": "2"},
        "filesystems": {"read_only": True},
    }
    for kind, body in made.items():
        check("POST", f"/v1/{kind}", body)
        check("GET", f"/v1/{kind}")
        check("GET", f"/v1/{kind}/described", route=f"/v1/{kind}/{{name}}")
        check("PATCH", f"/v1/{kind}/described", changes.get(kind, {"hybrid": True}), route=f"/v1/{kind}/{{name}}")
    check("PATCH", "/v1/queues/described?what_if=true", {"weight": 3}, route="/v1/queues/{name}")
    check("PUT", "/v1/users/described/password", {"password": "another one"}, route="/v1/users/{name}/password")
    check("POST", "/v1/login", {"user": "described", "password": "another one"})
    check("PATCH", "/v1/users/described", {"admin": None}, route="/v1/users/{name}")
    secret = check("POST", "/v1/second-factor").json["secret"]
    check("PUT", "/v1/second-factor", {"secret": secret, "code": Device(secret).code()})
    disable = "/v1/users/{name}/second-factor/disable"
    check("POST", disable.format(name="root"), {}, route=disable)
    grant = check("POST", "/v1/grants", {"user": "described", "resource": "described"}).json["name"]
    check("GET", "/v1/grants")
    check("GET", f"/v1/grants/{grant}", route="/v1/grants/{name}")
    check("PATCH", f"/v1/grants/{grant}", {"max_priority": "high"}, route="/v1/grants/{name}")
    check("DELETE", f"/v1/grants/{grant}", route="/v1/grants/{name}")
    for kind in made:
        check("DELETE", f"/v1/{kind}/described", route=f"/v1/{kind}/{{name}}")


def check_scheduling(server, check):
    """Questions, batches and changes of jobs."""
    check("POST", "/v1/jobs/batch", {"jobs": [{"command": ["true"], "labels": {"a": "b"}, "array": "0-1"}]})
    check("POST", "/v1/jobs?dry_run=true", {"command": ["true"]}, route="/v1/jobs", status=200)
    check("POST", "/v1/jobs?dry_run=true", {"command": ["true"], "queue": "none"}, route="/v1/jobs", status=200)
    check("POST", "/v1/jobs?check=true", {"command": ["true"]}, route="/v1/jobs", status=204)
    check("POST", "/v1/jobs?check=true", {"command": ["true"], "queue": "none"}, route="/v1/jobs", status=404)
    job = server.submit(["true"], begin="2099-01-01T00:00:00Z")["id"]
    one = "/v1/jobs/{job}"
    check("GET", f"/v1/jobs/{job}", route=one)
    check("GET", f"/v1/jobs/{job}/explain", route=f"{one}/explain")
    check("PATCH", f"/v1/jobs/{job}", {"priority": 3, "labels": {"x": "y"}}, route=one)
    check("POST", f"/v1/jobs/{job}/hold", route=f"{one}/hold")
    check("POST", f"/v1/jobs/{job}/release", route=f"{one}/release")
    server.request("DELETE", f"/v1/jobs/{job}")
    server.wait(job)
    check("DELETE", f"/v1/jobs/{job}?forget=true", route=one, status=204)
    running = server.submit(["sleep", "600"], grace="1s")["id"]
    server.wait(running, "running")
    check("POST", f"/v1/jobs/{running}/saved", route=f"{one}/saved")
    check("POST", f"/v1/jobs/{running}/requeue", route=f"{one}/requeue")
    server.request("DELETE", f"/v1/jobs/{running}")
    for path in ("/v1/scheduler", "/v1/scheduler/decisions", "/v1/scheduler/journal", "/v1/nodes"):
        check("GET", path)


PIPELINE = """
name: described
entry_points:
  a: {command: "true", loop_argument: [1, 2]}
  d:
    deps: a
    entry_points:
      x: {command: "exit 3"}
      y: {command: "true", deps: x}
"""


def check_schedules(check):
    one = "/v1/schedules/{schedule}"
    body = {"name": "described", "pipeline": "described", "version": 2, "crontab": "@daily", "description": "of Monday"}
    check("POST", "/v1/schedules", body)
    check("POST", "/v1/schedules", body, status=409)
    check("POST", "/v1/schedules", {**body, "crontab": "x"}, status=400)
    check("GET", "/v1/schedules?limit=1")
    check("GET", "/v1/schedules/described", route=one)
    check("GET", "/v1/schedules/described/next?count=2", route=f"{one}/next")
    check("GET", "/v1/runs?schedule=described")
    check("POST", "/v1/schedules/described/stop", route=f"{one}/stop")
    check("DELETE", "/v1/schedules/described", route=one)


def check_pipelines(check):
    one = "/v1/pipelines/{pipeline}"
    check("POST", "/v1/pipelines", {"definition": PIPELINE, "description": "of Monday"})
    check("POST", "/v1/pipelines", {"definition": PIPELINE}, status=409)
    check("GET", "/v1/pipelines?limit=1")
    check("POST", "/v1/pipelines/described/versions", {"definition": PIPELINE}, route=f"{one}/versions")
    check("GET", "/v1/pipelines/described", route=one)
    check("GET", "/v1/pipelines/described/versions", route=f"{one}/versions")
    check("GET", "/v1/pipelines/described/versions/1", route=f"{one}/versions/{{version}}")
    check("POST", "/v1/runs", {"pipeline": "described", "version": 1})
    check_schedules(check)
    check("DELETE", "/v1/pipelines/described/versions/1", route=f"{one}/versions/{{version}}")
    check("DELETE", "/v1/pipelines/described", route=one)


WRITES = "name: w\ncache: {enable: true}\nentry_points:\n  a: {command: 'echo 1 > {{o}}', artifacts: {output: [o]}}\n"


def check_cache(check, run):
    (entry,) = check("GET", f"/v1/cache?run={run}&filesystem=home&limit=2").json["items"]
    check("GET", f"/v1/runs/{run}/cache?step=a", route="/v1/runs/{run}/cache")
    check("GET", f"/v1/runs/{run}/cache?step=b", route="/v1/runs/{run}/cache", status=404)
    check("GET", f"/v1/cache/{entry['id']}", route="/v1/cache/{entry}")
    check("DELETE", f"/v1/cache/{entry['id']}", route="/v1/cache/{entry}")
    check("DELETE", f"/v1/cache/{entry['id']}", route="/v1/cache/{entry}", status=404)


def check_runs(server, check):
    one = "/v1/runs/{run}"
    run = check("POST", "/v1/runs", {"definition": PIPELINE, "name": "other"}).json["id"]
    check("GET", "/v1/runs?state=running,failed")
    wait_for(lambda: server.get(f"/v1/runs/{run}").json["state"] == "failed", PATIENCE, "the run's end")
    check("GET", f"/v1/runs/{run}", route=one)
    check("GET", f"/v1/runs/{run}/nodes", route=f"{one}/nodes")
    for what in ("tree", "steps", "critical-path", "definition", "picture"):
        check("GET", f"/v1/runs/{run}/{what}", route=f"{one}/{what}")
    check("GET", f"/v1/artifacts?run={run}")
    check("GET", "/v1/artifacts?filesystem=home&type=output&path=x")
    check("DELETE", f"/v1/artifacts/{run}?path=x", route="/v1/artifacts/{run}", status=404)
    written = check("POST", "/v1/runs", {"definition": WRITES}).json["id"]
    wait_for(lambda: server.get(f"/v1/runs/{written}").json["state"] == "succeeded", PATIENCE, "the artifact")
    check_cache(check, written)
    path = check("GET", f"/v1/artifacts?run={written}").json["items"][0]["path"]
    check("DELETE", f"/v1/artifacts/{written}?path={path}", route="/v1/artifacts/{run}")
    check("GET", f"/v1/runs/{run}/events", route=f"{one}/events")
    check("GET", f"/v1/runs/{run}/logs?follow=false&timestamps=true", route=f"{one}/logs")
    again = check("POST", f"/v1/runs/{run}/retry", {"from": "d.x", "parameters": {}}, route=f"{one}/retry").json["id"]
    wait_for(lambda: server.get(f"/v1/runs/{again}").json["state"] == "failed", PATIENCE, "the retry's end")
    pausing = 'name: p\nentry_points:\n  x: {command: "true", parameters: {n: 1}}\n  y: {command: "true", deps: x}\n'
    paused = check(
        "POST", "/v1/runs", {"definition": pausing, "break_before": ["x"], "break_after": ["y"]}, status=201
    ).json["id"]
    wait_for(lambda: server.get(f"/v1/runs/{paused}").json["paused"] == 1, PATIENCE, "a pause")
    check("GET", f"/v1/runs/{paused}/tree", route=f"{one}/tree")
    check("POST", f"/v1/runs/{paused}/breakpoints", {"after": ["y"], "remove": True}, route=f"{one}/breakpoints")
    check("POST", f"/v1/runs/{paused}/parameters", {"step": "x", "parameters": {"n": 2}}, route=f"{one}/parameters")
    check("POST", f"/v1/runs/{paused}/step", {"step": "x"}, route=f"{one}/step")
    check("POST", f"/v1/runs/{paused}/continue", {}, route=f"{one}/continue")
    check("GET", f"/v1/runs/{again}/nodes", route=f"{one}/nodes")
    check("DELETE", f"/v1/runs/{run}", route=one, status=409)
    check("DELETE", f"/v1/runs/{run}?force=true", route=one)
    long = check("POST", "/v1/runs", {"definition": "name: l\nentry_points:\n  a: {command: sleep 600}\n"}).json["id"]
    check("DELETE", f"/v1/runs/{long}", route=one, status=409)
    check("POST", f"/v1/runs/{long}/stop", {"force": True}, route=f"{one}/stop")
    wait_for(lambda: server.get(f"/v1/runs/{long}").json["state"] == "terminated", PATIENCE, "the run's end")


def test_requests_are_as_described(document):
    """What doc/guide/rest.md shows as a specification passes the schema, and an unknown member does not."""
    text = (ROOT / "doc/guide/rest.md").read_text()
    shown = re.search(r"## A specification\n```json\n(.*?)```", text, re.DOTALL)[1]
    spec = json.loads(shown.replace("<hash>", "0" * 64))
    check = validator(document, {"$ref": "#/components/schemas/Spec"})
    check.validate(spec)
    assert not check.is_valid({**spec, "colour": "red"})
    assert not check.is_valid({"name": "x"})


def test_types_of_bodies(document):
    """A manifest is text, contents are bytes, an archive may be a form; everything else is JSON."""
    bodies = {
        (method.upper(), path): set(operation["requestBody"]["content"])
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if "requestBody" in operation
    }
    assert bodies[("POST", "/v1/packages/offer")] == {"text/plain"}
    assert "multipart/form-data" in bodies[("POST", "/v1/packages")]
    assert bodies[("POST", "/v1/jobs")] == {"application/json"}
    assert bodies[("PUT", "/v1/files/{path}")] == {"application/octet-stream"}
