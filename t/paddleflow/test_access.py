"""1.6 who may do what: every route of the description, with everybody who may call; and the description itself."""

import base64
import os
import subprocess

import pytest
from conftest import PATIENCE, ROOT, wait_for
from seeds import SOAK

from paddleflow.client import BASE, PASSWORD, fresh, good, refused

DENIED = ("OnlyRootAllowed", "AccessDenied", "ActionNotAllowed", "AuthIllegalUser")
EXAMPLES = 200 if SOAK else 10
AMOUNTS = {"cpu": "1", "mem": "1Gi"}
OBJECT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
STEPS = 'name: NAME\ncache: {enable: true}\nentry_points:\n  a: {command: "true"}\n'
TIMES = "startTime=2024-01-01%2000:00:00&endTime=2024-01-02%2000:00:00"

# Who is not refused, by whether a thing is theirs: "all", "user", "owner" (or granted), "root". The path's names are
# those of things of alice; {new}: a name that is free.
WHO = {
    "POST /login": ("all", "", {"username": "root", "password": "paddleflow"}),
    "GET /openapi.json": ("all", "", None),
    "GET /version": ("user", "", None),
    "POST /user": ("root", "", {"username": "{new}", "password": PASSWORD}),
    "GET /user": ("root", "", None),
    "PUT /user/{username}": ("owner", "", {"password": PASSWORD}),
    "DELETE /user/{username}": ("root", "", None),
    "POST /grant": ("root", "", {"resourceType": "queue", "resourceID": "{queueName}"}),
    "GET /grant": ("root", "", None),
    "DELETE /grant": ("root", "?resourceType=queue&resourceID={queueName}", None),
    "POST /queue": ("root", "", {"name": "{new}", "namespace": "default", "maxResources": AMOUNTS}),
    "POST /fs": ("user", "", {"name": "{new}", "url": "local://srv/data"}),
    "PUT /fs": ("owner", "", {"name": "{fsName}", "url": "local://srv/data", "username": "{username}"}),
    "GET /fs": ("user", "", None),
    "GET /fs/{fsName}": ("owner", "?username={username}", None),
    "DELETE /fs/{fsName}": ("owner", "?username={username}", None),
    "GET /fsSts/{fsName}": ("owner", "?username={username}", None),
    "POST /fsCache": ("user", "", {"fsName": "none"}),
    "GET /fsCache/{fsName}": ("owner", "?username={username}", None),
    "DELETE /fsCache/{fsName}": ("owner", "?username={username}", None),
    "POST /link": (
        "owner",
        "",
        {"fsName": "{fsName}", "fsPath": "/x", "url": "local://srv/y", "username": "{username}"},
    ),
    "GET /link/{fsName}": ("owner", "?username={username}", None),
    "DELETE /link/{fsName}": ("owner", "?username={username}&fsPath=/x", None),
    "GET /queue": ("user", "", None),
    "GET /queue/{queueName}": ("owner", "", None),
    "PUT /queue/{queueName}": ("root", "", {}),
    "DELETE /queue/{queueName}": ("root", "", None),
    "POST /flavour": ("user", "", {"name": "{new}", **AMOUNTS}),
    "GET /flavour": ("user", "", None),
    "GET /flavour/{flavourName}": ("user", "", None),
    "PUT /flavour/{flavourName}": ("owner", "", {}),
    "DELETE /flavour/{flavourName}": ("owner", "", None),
    "POST /cluster": ("root", "", {"clusterName": "{new}", "endpoint": "127.0.0.1", "clusterType": "Local"}),
    "GET /cluster": ("root", "", None),
    "GET /cluster/{clusterName}": ("root", "", None),
    "PUT /cluster/{clusterName}": ("root", "", {}),
    "DELETE /cluster/{clusterName}": ("root", "", None),
    "GET /cluster/resource": ("root", "", None),
    "POST /cluster/resource": ("root", "", {}),
    "GET /cluster/{clusterName}/nodeInfos": ("root", "", None),
    "POST /cluster/{clusterName}/k8s/object": ("root", "", OBJECT),
    "GET /cluster/{clusterName}/k8s/object": ("root", "?name=x&kind=Pod&apiVersion=v1", None),
    "PUT /cluster/{clusterName}/k8s/object": ("root", "", OBJECT),
    "POST /resourcepool": ("root", "", {"name": "{new}", "namespace": "default", "totalResources": AMOUNTS}),
    "GET /resourcepool": ("user", "", None),
    "GET /resourcepool/{name}": ("root", "", None),
    "PUT /resourcepool/{name}": ("root", "", {}),
    "DELETE /resourcepool/{name}": ("root", "", None),
    "POST /job/single": ("owner", "", {"image": "any", "command": "true"}),
    "POST /job/distributed": (
        "owner",
        "",
        {"framework": "paddle", "members": [{"role": "worker", "replicas": 2, "image": "any", "command": "true"}]},
    ),
    "POST /job/workflow": ("owner", "", {"extensionTemplate": {"kind": "Workflow"}}),
    "GET /job": ("user", "", None),
    "GET /job/{jobID}": ("owner", "", None),
    "PUT /job/{jobID}": ("owner", "?action=stop", None),
    "DELETE /job/{jobID}": ("owner", "", None),
    "POST /run": ("user", "", {"runYamlRaw": "{yaml}"}),
    "POST /runjson": ("user", "", {"name": "p", "entryPoints": {"a": {"command": "true"}}}),
    "GET /run": ("user", "", None),
    "GET /run/{runID}": ("owner", "", None),
    "PUT /run/{runID}": ("owner", "?action=stop", None),
    "DELETE /run/{runID}": ("owner", "", None),
    "GET /runCache": ("user", "", None),
    "GET /runCache/{runCacheID}": ("owner", "", None),
    "DELETE /runCache/{runCacheID}": ("owner", "", None),
    "GET /artifact": ("user", "", None),
    "DELETE /artifact": ("owner", "?username={username}&fsname={fsName}&runID={runID}&path=x", None),
    "POST /pipeline": ("user", "", {"yamlRaw": "{yaml}"}),
    "GET /pipeline": ("user", "", None),
    "POST /pipeline/{pipelineID}": ("owner", "", {"yamlRaw": "{yaml}"}),
    "GET /pipeline/{pipelineID}": ("owner", "", None),
    "DELETE /pipeline/{pipelineID}": ("owner", "", None),
    "GET /pipeline/{pipelineID}/{pipelineVersionID}": ("owner", "", None),
    "DELETE /pipeline/{pipelineID}/{pipelineVersionID}": ("owner", "", None),
    "POST /schedule": (
        "owner",
        "",
        {"name": "{username}", "pipelineID": "{scheduled}", "pipelineVersionID": "1", "crontab": "@daily"},
    ),
    "GET /schedule": ("user", "", None),
    "GET /schedule/{scheduleID}": ("owner", "", None),
    "PUT /schedule/{scheduleID}": ("owner", "", None),
    "DELETE /schedule/{scheduleID}": ("owner", "", None),
    "GET /log/run/{runID}": ("owner", "", None),
    "GET /wsjob": ("user", "", None),
    "GET /log/job": ("owner", "?jobID={jobID}&framework=standalone", None),
    "GET /statistics/job/{jobID}": ("owner", "", None),
    "GET /statistics/jobDetail/{jobID}": ("owner", "", None),
    "GET /statistics/cardTime/{queueName}": ("owner", "?" + TIMES, None),
    "POST /statistics/cardTime": (
        "owner",
        "",
        {"queueNames": ["{queueName}"], "startTime": "2024-01-01 00:00:00", "endTime": "2024-01-02 00:00:00"},
    ),
}
MAY = {
    "all": {"nobody", "stranger", "owner", "root"},
    "user": {"stranger", "owner", "root"},
    "owner": {"owner", "root"},
    "root": {"root"},
}


@pytest.fixture(scope="module")
def document(flow):
    return good(flow.get("/openapi.json", who=None), message=True).json


def operations(document):
    for path, item in document["paths"].items():
        for method, about in item.items():
            yield f"{method.upper()} {path.removeprefix(BASE)}", about


def test_every_route_has_a_row(document):
    assert {name for name, _ in operations(document)} == set(WHO)


def test_every_route_says_what_it_is_about(document):
    for name, about in operations(document):
        assert about["summary"] and set(about["x-access"]) == {"kind", "verb"}, name
        assert "400" in about["responses"], name
        assert (about.get("security") == []) == (WHO[name][0] == "all"), name


def fill(value, names):
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace("{" + name + "}", text)
        return value
    if isinstance(value, list):
        return [fill(item, names) for item in value]
    return {key: fill(item, names) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def stranger(flow):
    return flow.make_user("sam")


@pytest.fixture
def things(flow):
    """A user with one of each kind."""
    user, queue = flow.make_user("olga"), flow.make_queue()
    flow.grant(user, queue)
    flow.grant(user, "default-queue")  # of steps without a queue
    flavour, pool, fs = fresh("flavour-of-olga"), fresh("pool-"), fresh("fs")
    good(flow.post("/fs", {"name": fs, "url": "local://srv/data"}, who=user), 201)
    good(flow.post("/flavour", {"name": flavour, **AMOUNTS}, who=user))
    good(flow.post("/resourcepool", {"name": pool, "namespace": "default", "totalResources": AMOUNTS}))
    job = flow.submit("true", who=user, schedulingPolicy={"queue": queue})
    flow.wait(job)
    yaml = base64.b64encode(STEPS.replace("NAME", fresh("stored")).encode()).decode()
    pipeline = good(flow.post("/pipeline", {"yamlRaw": yaml}, who=user), 201).json["pipelineID"]
    good(flow.post(f"/pipeline/{pipeline}", {"yamlRaw": yaml}, who=user), 201)
    run = good(flow.post("/run", {"pipelineID": pipeline}, who=user), 201).json["runID"]
    text = base64.b64encode(STEPS.replace("NAME", fresh("stored")).encode()).decode()
    scheduled = good(flow.post("/pipeline", {"yamlRaw": text}, who=user), 201).json["pipelineID"]
    body = {"name": "of_olga", "pipelineID": scheduled, "pipelineVersionID": "1", "crontab": "@daily"}
    schedule = good(flow.post("/schedule", body, who=user), 201).json["scheduleID"]
    good(flow.put(f"/schedule/{schedule}", who=user), empty=True)
    wait_for(lambda: good(flow.get(f"/run/{run}")).json["status"] == "succeeded", PATIENCE, "the run's end")
    return {
        "username": user,
        "queueName": queue,
        "flavourName": flavour,
        "fsName": fs,
        "clusterName": flow.make_cluster()["clusterName"],
        "name": pool,
        "jobID": job,
        "runID": run,
        "runCacheID": good(flow.get(f"/runCache?runFilter={run}")).json["runCacheList"][0]["cacheID"],
        "pipelineID": pipeline,
        "pipelineVersionID": "1",
        "scheduled": scheduled,
        "scheduleID": schedule,
        "yaml": yaml,
        "new": fresh("anew"),
    }


def is_denied(reply):
    code = reply.json["code"] if reply.status >= 400 and reply.body.startswith(b"{") else ""
    return code in DENIED or (code == "JobCreateFailed" and "AccessDenied" in reply.json["message"])


@pytest.mark.parametrize("name", WHO)
def test_who(flow, stranger, things, name):
    least, query, body = WHO[name]
    method, path = name.split(" ")
    callers = {"nobody": None, "stranger": stranger, "owner": things["username"], "root": "root"}
    if path.startswith("/job/") and method == "POST":
        body = {**body, "schedulingPolicy": {"queue": "{queueName}"}}
    for role, who in callers.items():
        names = {**things, "new": fresh("anew")}
        reply = flow.call(method, fill(path + query, names), fill(body, names), who=who)
        may = role in MAY[least]
        if role == "nobody":
            assert may == (reply.status < 400), reply
            if not may:
                refused(reply, "AuthWithoutToken")
        elif name in ("PUT /job/{jobID}", "PUT /run/{runID}", "PUT /schedule/{scheduleID}") and may:
            refused(reply, "ActionNotAllowed")  # it has ended
            assert "already" in reply.json["message"]
        elif name == "DELETE /schedule/{scheduleID}" and not may:
            refused(reply, "ScheduleNotFound")
        elif "k8s/object" in path and may:
            refused(reply, "ActionNotAllowed")  # of a cluster of another type
            assert "type Local" in reply.json["message"]
        else:
            assert is_denied(reply) != may, (role, reply)
        if role == "owner" and may and method == "DELETE" and reply.status == 200:
            return  # it is gone
        if name == "PUT /user/{username}" and may:
            flow.tokens.pop(things["username"], None)


CHECKS = (
    "status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method,"
    "allow_header_conformance"
)
NEGATIVE, NO_FAULT = ",negative_data_rejection", ",not_a_server_error"
# Their codes have 500 (doc/reference/paddleflow-api.md, "Errors and their codes"): amounts that are none, and clusters that are not connected.
MAY_FAIL = ["/queue", "/queue/{queueName}", "/resourcepool", "/resourcepool/{name}"]
SETTINGS = """
[checks.negative_data_rejection]
expected-statuses = [400, 403, 404, 405, 500]
"""


@pytest.mark.timeout(3000 if SOAK else 1500)
def test_as_described(make_flow, tmp_path, seed):
    """Schemathesis, as a user and as root."""
    flow = make_flow()
    (tmp_path / "settings.toml").write_text(SETTINGS)
    env = {**os.environ, "PYTHONHASHSEED": "0"}  # it draws from sets, too
    for who in (flow.make_user(), "root"):
        line = [ROOT / ".venv/bin/schemathesis", "--config-file", "settings.toml", "run"]
        line += [f"http://{flow.host}:{flow.port}{BASE}/openapi.json"]
        line += ["--header", f"x-pf-authorization: {flow.token(who)}", "--max-examples", str(EXAMPLES)]
        line += [
            "--phases",
            "examples,coverage,fuzzing",
            "--seed",
            str(seed),
            "--generation-deterministic",
            "--workers",
            "1",
        ]
        line += ["--request-timeout", "60", "--no-color", "--warnings", "off", "--exclude-path", BASE + "/wsjob"]
        line += ["--exclude-path", BASE + "/login", "--exclude-path", BASE + "/user/{username}"]
        rooms = [word for path in MAY_FAIL for word in ("--exclude-path", BASE + path)]
        only = [word for path in MAY_FAIL for word in ("--include-path", BASE + path)]
        # A pair of a query that cannot be read is left out (12), so what a GET says amiss may be as if it were not said.
        runs = (
            (CHECKS + NO_FAULT, ["--include-method", "GET"]),
            (CHECKS + NO_FAULT + NEGATIVE, ["--exclude-method", "GET", *rooms]),
            (CHECKS + NEGATIVE, ["--exclude-method", "GET", *only]),
        )
        for checks, paths in runs:
            done = subprocess.run(
                [*line, "--checks", checks, *paths], capture_output=True, text=True, cwd=tmp_path, env=env, check=False
            )
            assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
            assert "No issues found" in done.stdout, done.stdout[-2000:]
            assert flow.server.process.poll() is None
