"""Tokens of a lesser scope, of one queue, or with an end open nothing beyond them: doc/guide/people.md, "What tokens reach"."""

import json

import pytest
from conftest import Server, wait_for
from people import Person

FLOW = "/api/paddleflow/v1"
GOOD = "correct horse 1"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "8", "--listen", "127.0.0.1:0").start()
    for queue in ("vision", "speech"):
        assert server.post("/v1/queues", {"name": queue, "max": {"cpu": "4"}}).status == 201
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    person = Person(served, "ann")
    for queue in ("vision", "speech"):
        assert served.post("/v1/grants", {"user": "ann", "resource": queue}).status == 201
    return person


def call(server, token, method, path, body=None, **headers):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    return server.request(method, path, json.dumps(body) if body is not None else None, headers)


def make(server, token, **ask):
    reply = call(server, token, "POST", "/v1/tokens", ask)
    assert reply.status == 201, reply.body
    return reply.json


def flow(server, token, method, path, body=None):
    headers = {"x-pf-authorization": token, "Content-Type": "application/json"}
    return server.request(method, FLOW + path, json.dumps(body) if body is not None else None, headers)


def test_a_read_token_looks_and_does_nothing(served, ann):
    job = ann.submit("echo hello; exec sleep 600", queue="vision")
    served.wait(job["id"], "running")
    assert call(served, ann.token, "POST", f"{ann.home}/seen", {"op": "mkdir"}).status in (200, 201)
    read = make(served, ann.token, scope="read")["token"]
    for path in (
        f"/v1/jobs/{job['id']}",
        f"/v1/jobs/{job['id']}/logs?follow=false",
        "/v1/jobs",
        "/v1/queues",
        ann.home,
    ):
        assert call(served, read, "GET", path).status == 200, path
    me = call(served, read, "GET", "/v1/whoami").json
    assert (me["user"], me["scope"]) == ("ann", "read") and "queue" not in me
    refused = [
        ("POST", "/v1/jobs", {"command": ["true"], "queue": "vision"}),
        ("POST", "/v1/jobs?dry_run=true", {"command": ["true"], "queue": "vision"}),
        ("POST", "/v1/jobs/batch", {"jobs": [{"command": ["true"]}]}),
        ("PATCH", f"/v1/jobs/{job['id']}", {"labels": {"a": "b"}}),
        ("DELETE", f"/v1/jobs/{job['id']}", None),
        ("POST", f"/v1/jobs/{job['id']}/cancel", {}),
        ("POST", f"/v1/jobs/{job['id']}/hold", None),
        ("GET", f"/v1/jobs/{job['id']}/members/worker-0/exec?command=id", None),
        ("GET", f"/v1/jobs/{job['id']}/members/worker-0/attach", None),
        ("GET", f"/v1/jobs/{job['id']}/members/worker-0/forward?port=80", None),
        ("POST", f"{ann.home}/d", {"op": "mkdir"}),
        ("PUT", f"{ann.home}/f", {}),
        ("DELETE", f"{ann.home}/f", None),
        ("POST", "/v1/packages/offer", {}),
        ("PUT", "/v1/users/ann/password", {"password": GOOD}),
        ("DELETE", "/v1/tokens/x", None),
    ]
    for method, path, body in refused:
        reply = call(served, read, method, path, body)
        assert reply.status == 403 and "the token has scope 'read'" in reply.json["message"], (method, path, reply.body)
    reply = flow(served, read, "PUT", "/job/x?action=stop")
    assert reply.json["code"] == "AccessDenied" and "scope" in reply.json["message"]
    assert flow(served, read, "GET", "/queue").status == 200
    assert served.job(job["id"])["state"] == "running"
    served.paddle("cancel", job["id"])


def test_a_submit_token_works_with_jobs_and_files_only(served, ann, tmp_path):
    token = make(served, ann.token, scope="submit")["token"]
    (tmp_path / "train.py").write_text("open('/dev/stdout', 'w').write('trained')")
    env = {"PADDLE_TOKEN": token, "PADDLE_SERVER": f"http://127.0.0.1:{served.port}"}
    served.paddle(
        "submit",
        "--name",
        "packed",
        "--queue",
        "vision",
        "--follow",
        "--",
        "python3",
        "train.py",
        cwd=tmp_path,
        env=env,
        check=0,
    )
    assert call(served, token, "POST", f"{ann.home}/made", {"op": "mkdir"}).status in (200, 201)
    for method, path, body in (
        ("POST", "/v1/flavours", {"name": "mine", "cpu": "1", "memory": "1Gi"}),
        ("PUT", "/v1/users/ann/password", {"password": GOOD}),
        ("DELETE", "/v1/tokens/x", None),
    ):
        assert call(served, token, method, path, body).status == 403, path


def test_an_administrators_lesser_token_is_an_ordinary_users(served, ann):
    job = ann.submit("true", queue="vision")["id"]
    root = served.post("/v1/tokens", {"user": "root"}).json["token"]
    assert call(served, root, "GET", f"/v1/jobs/{job}").status == 200
    for scope in ("read", "submit"):
        token = make(served, root, scope=scope)["token"]
        assert call(served, token, "GET", "/v1/whoami").json["admin"] is False
        assert call(served, token, "GET", f"/v1/jobs/{job}").status == 404
        assert call(served, token, "GET", "/v1/jobs?all=true").status == 403
        assert call(served, token, "GET", "/v1/users").status == 403
        assert call(served, token, "GET", "/v1/tokens?user=ann").status == 403
        assert call(served, token, "POST", "/v1/users", {"name": "eve"}).status == 403
        assert call(served, token, "POST", "/v1/tokens", {"user": "ann"}).status == 403
        assert flow(served, token, "GET", "/user").status >= 400


def test_one_queue(served, ann):
    token = make(served, ann.token, queue="vision")
    assert (token["scope"], token["queue"]) == ("submit", "vision")
    token = token["token"]
    unsaid = call(served, token, "POST", "/v1/jobs", {"command": ["sleep", "600"]})
    assert unsaid.status == 201 and unsaid.json["queue"] == "vision"
    own, other = unsaid.json["id"], ann.submit("exec sleep 600", queue="speech")["id"]
    served.wait(other, "running")
    served.wait(own, "running")
    assert call(served, token, "GET", f"/v1/jobs/{other}").status == 200  # it sees what ann sees
    only = "the token is for jobs of queue 'vision' only"
    spec = {"command": ["true"], "queue": "speech"}
    for method, path, body in (
        ("POST", "/v1/jobs", spec),
        ("POST", "/v1/jobs?dry_run=true", spec),
        ("POST", "/v1/jobs/batch", {"jobs": [{"command": ["true"]}, spec]}),
        ("PATCH", f"/v1/jobs/{other}", {"labels": {"a": "b"}}),
        ("PATCH", f"/v1/jobs/{own}", {"queue": "speech"}),
        ("DELETE", f"/v1/jobs/{other}", None),
        ("POST", f"/v1/jobs/{other}/cancel", {}),
        ("POST", f"/v1/jobs/{other}/requeue", None),
        ("GET", f"/v1/jobs/{other}/members/worker-0/exec?command=id", None),
        ("GET", f"/v1/jobs/{other}/members/worker-0/attach", None),
        ("GET", f"/v1/jobs/{other}/members/worker-0/forward?port=80", None),
    ):
        reply = call(served, token, method, path, body)
        assert reply.status == 403 and only in reply.json["message"], (method, path, reply.body)
    body = {
        "name": "x",
        "schedulingPolicy": {"queue": "speech"},
        "flavour": {"name": "flavour1"},
        "command": "true",
        "image": "x",
    }
    assert only in flow(served, token, "POST", "/job/single", body).json["message"]
    assert call(served, token, "POST", f"/v1/jobs/{own}/cancel", {}).status == 200
    assert served.job(other)["state"] == "running"
    served.paddle("cancel", other)


def test_one_queue_and_runs(served, ann):
    """Steps of a run may be in any queue, so such a token only looks at runs."""
    text = "name: deep\nentry_points:\n  a:\n    command: exec sleep 600\n    env: {PF_JOB_QUEUE_NAME: speech}\n"
    token = make(served, ann.token, queue="vision")["token"]
    run = call(served, ann.token, "POST", "/v1/runs", {"definition": text}).json["id"]
    number = flow(served, ann.token, "GET", "/run").json["runList"][0]["runID"]
    stored = call(served, ann.token, "POST", "/v1/pipelines", {"definition": text})
    assert stored.status == 201, stored.body
    kept = flow(served, ann.token, "GET", "/pipeline").json["pipelineList"][0]["pipelineID"]
    raw = {"yamlRaw": "bmFtZTogeAo="}
    requests = (
        (call, "POST", "/v1/pipelines", {"definition": text.replace("deep", "other")}),
        (call, "POST", "/v1/pipelines/deep/versions", {"definition": text}),
        (call, "DELETE", "/v1/pipelines/deep/versions/1", None),
        (call, "DELETE", "/v1/pipelines/deep", None),
        (flow, "POST", "/pipeline", raw),
        (flow, "POST", f"/pipeline/{kept}", raw),
        (flow, "DELETE", f"/pipeline/{kept}/1", None),
        (flow, "DELETE", f"/pipeline/{kept}", None),
        (call, "POST", "/v1/runs", {"definition": text}),
        (call, "POST", f"/v1/runs/{run}/stop", {"force": True}),
        (call, "POST", f"/v1/runs/{run}/retry", {}),
        (call, "DELETE", f"/v1/runs/{run}", None),
        (call, "DELETE", f"/v1/artifacts/{run}?fs=home&path=x", None),
        (flow, "POST", "/run", {"runYamlRaw": "bmFtZTogeAo="}),
        (flow, "PUT", f"/run/{number}?action=stop", {"stopForce": True}),
        (flow, "PUT", f"/run/{number}?action=retry", {}),
        (flow, "DELETE", f"/run/{number}", None),
    )

    def refused_all():
        for ask, method, path, body in requests:
            reply = ask(served, token, method, path, body)
            assert reply.status in (400, 403) and "queue 'vision' only" in reply.json["message"], (path, reply.body)
        for path in ("", "/nodes", "/tree", "/events?limit=1"):
            assert call(served, token, "GET", f"/v1/runs/{run}{path}").status == 200, path

    refused_all()
    assert call(served, ann.token, "POST", f"/v1/runs/{run}/stop", {"force": True}).status == 200
    wait_for(lambda: call(served, ann.token, "GET", f"/v1/runs/{run}").json["finished_at"], what="the run's end")
    refused_all()
    assert call(served, ann.token, "DELETE", f"/v1/runs/{run}").status == 204


def test_one_queue_and_an_array_with_jobs_in_two(served, ann):
    """Whichever of its jobs stands for it."""
    token = make(served, ann.token, queue="vision")["token"]
    for number, moved in enumerate(("0", "1")):
        name = f"both-{number}"
        spec = {"command": ["true"], "name": name, "queue": "vision", "array": "0-1", "begin": "2099-01-01T00:00:00Z"}
        assert call(served, ann.token, "POST", "/v1/jobs", spec).status == 201
        assert call(served, ann.token, "PATCH", f"/v1/jobs/{name}-{moved}", {"queue": "speech"}).status == 200
        for method, path, body in (
            ("PATCH", f"/v1/jobs/{name}", {"labels": {"a": "b"}}),
            ("POST", f"/v1/jobs/{name}/cancel", {}),
            ("DELETE", f"/v1/jobs/{name}", None),
        ):
            reply = call(served, token, method, path, body)
            assert reply.status == 403 and "queue 'vision' only" in reply.json["message"], (method, path, reply.body)
        assert call(served, token, "GET", f"/v1/jobs/{name}").json["elements"] == {"total": 2, "queued": 2}
        assert call(served, ann.token, "POST", f"/v1/jobs/{name}/cancel", {}).status == 200


def test_the_older_interface_keeps_to_the_queue(served, ann):
    whole = ann.token
    body = {
        "name": "older",
        "schedulingPolicy": {"queue": "speech"},
        "flavour": {"name": "flavour1"},
        "command": "sleep 600",
        "image": "x",
    }
    made = flow(served, whole, "POST", "/job/single", body)
    assert made.status == 200, made.body
    job = made.json["id"]
    token = make(served, whole, queue="vision")["token"]
    assert flow(served, token, "GET", f"/job/{job}").status == 200
    for method, path, change in (
        ("PUT", f"/job/{job}?action=stop", None),
        ("PUT", f"/job/{job}?action=modify", {"labels": {"a": "b"}}),
        ("DELETE", f"/job/{job}", None),
    ):
        reply = flow(served, token, method, path, change)
        assert reply.json["code"] == "AccessDenied" and "queue 'vision' only" in reply.json["message"], reply.body
    assert flow(served, whole, "PUT", f"/job/{job}?action=stop").status == 200


# What a token asks for, and what it may then make: None is refused, else the scope and queue that come out.
CHILDREN = [
    ("read", {}, ("read", None)),
    ("read", {"scope": "read"}, ("read", None)),
    ("read", {"scope": "submit"}, None),
    ("read", {"scope": "admin"}, None),
    ("read", {"queue": "vision"}, None),
    ("submit", {}, ("submit", None)),
    ("submit", {"scope": "read"}, ("read", None)),
    ("submit", {"queue": "vision"}, ("submit", "vision")),
    ("submit", {"scope": "admin"}, None),
    ("vision", {}, ("submit", "vision")),
    ("vision", {"scope": "submit"}, ("submit", "vision")),
    ("vision", {"scope": "read"}, ("read", None)),
    ("vision", {"queue": "speech"}, None),
    ("vision", {"scope": "admin"}, None),
    ("admin", {}, ("admin", None)),
    ("admin", {"scope": "read"}, ("read", None)),
    ("admin", {"queue": "speech"}, ("submit", "speech")),
]


def test_no_token_makes_a_greater_one(served, ann):
    makers = {scope: make(served, ann.token, scope=scope)["token"] for scope in ("read", "submit", "admin")}
    makers["vision"] = make(served, ann.token, queue="vision")["token"]
    for maker, ask, expected in CHILDREN:
        reply = call(served, makers[maker], "POST", "/v1/tokens", ask)
        got = (reply.json["scope"], reply.json["queue"]) if reply.status == 201 else None
        assert got == expected and (expected or reply.status == 403), (maker, ask, reply.body)
    for ask in (
        {"scope": "write"},
        {"scope": "read", "queue": "vision"},
        {"scope": "admin", "queue": "vision"},
        {"scope": 1},
    ):
        assert call(served, ann.token, "POST", "/v1/tokens", ask).status == 400, ask
    assert call(served, ann.token, "POST", "/v1/tokens", {"queue": "nowhere"}).status == 404


def test_none_outlasts_its_maker(served, ann):
    maker = make(served, ann.token, scope="admin", expires_in=3600)
    longer = call(served, maker["token"], "POST", "/v1/tokens", {"expires_in": 7200})
    assert longer.status == 403 and "outlast" in longer.json["message"]
    assert make(served, maker["token"])["expires_at"] == maker["expires_at"]
    assert make(served, maker["token"], expires_in=60)["expires_at"] < maker["expires_at"]
    child = make(served, maker["token"], scope="submit")
    grandchild = make(served, child["token"], scope="read")
    assert call(served, grandchild["token"], "GET", "/v1/jobs").status == 200
    assert call(served, ann.token, "DELETE", f"/v1/tokens/{maker['id']}").status == 204
    for token in (maker, child, grandchild):
        assert call(served, token["token"], "GET", "/v1/jobs").status == 401
    assert call(served, ann.token, "GET", "/v1/jobs").status == 200


def test_what_a_log_in_makes_is_bounded_by_what_it_asked_for(served):
    assert served.post("/v1/users", {"name": "lola", "password": GOOD}).status == 201
    login = served.post("/v1/login", {"user": "lola", "password": GOOD}).json["token"]
    assert "scope" not in call(served, login, "GET", "/v1/whoami").json
    lesser = make(served, login, scope="read")["token"]
    assert call(served, lesser, "POST", "/v1/tokens", {"scope": "admin"}).status == 403
    made = make(served, lesser)["token"]
    assert call(served, make(served, login, expires_in=400 * 86400)["token"], "GET", "/v1/jobs").status == 200
    change = {"password": "another horse 2", "old": GOOD}
    assert call(served, login, "PUT", "/v1/users/lola/password", change).status == 204
    for token in (login, lesser, made):
        assert call(served, token, "GET", "/v1/jobs").status == 401


def test_an_end_is_an_end(served, ann):
    token = make(served, ann.token, scope="submit", expires_in=3600)
    assert call(served, token["token"], "GET", "/v1/jobs").status == 200
    short = make(served, ann.token, scope="read", expires_in=1)["token"]
    wait_for(lambda: call(served, short, "GET", "/v1/jobs").status == 401, what="the token's end")


def test_disabling_and_revoking_hold_for_scoped_tokens(served):
    dora = Person(served, "dora")
    token = make(served, dora.token, scope="submit", note="ci")["token"]
    listed = served.get("/v1/tokens?user=dora").json["items"]
    assert [(item["scope"], item["queue"]) for item in listed if item["note"] == "ci"] == [("submit", None)]
    served.paddle("user", "set", "dora", "--disabled")
    assert call(served, token, "GET", "/v1/jobs").status == 401
    away = {"PADDLE_SERVER": f"http://127.0.0.1:{served.port}", "PADDLE_TOKEN": token}
    said = served.paddle("list", env=away, check=3).stderr
    assert "disabled" in said and "paddle user set dora --no-disabled" in said
    assert "paddle login" not in said and "--token" not in said  # neither helps
    served.paddle("user", "set", "dora", "--no-disabled")
    assert call(served, token, "GET", "/v1/jobs").status == 200
    served.paddle("token", "revoke", "--user", "dora")
    assert call(served, token, "GET", "/v1/jobs").status == 401


def test_whoami_tells_what_the_token_may(served, ann):
    away = {"PADDLE_SERVER": f"http://127.0.0.1:{served.port}"}
    bounded = make(served, ann.token, scope="submit", queue="vision", expires_in=3600)
    said = served.paddle("whoami", env={**away, "PADDLE_TOKEN": bounded["token"]}, check=0).stderr
    for part in (bounded["id"], "scope submit", "queue 'vision'", f"valid until {bounded['expires_at'][:10]}"):
        assert part in said, said
    whole = make(served, ann.token)
    said = served.paddle("whoami", env={**away, "PADDLE_TOKEN": whole["token"]}, check=0).stderr
    assert "scope admin, without an end" in said and "queue" not in said
    assert "token" not in served.paddle("whoami", check=0).stderr  # none is needed on the machine
    assert "expires_at" not in call(served, whole["token"], "GET", "/v1/whoami").json


def test_the_command_line_makes_and_lists_them(served, ann):
    env = {"PADDLE_TOKEN": ann.token, "PADDLE_SERVER": f"http://127.0.0.1:{served.port}"}
    created = served.paddle("token", "create", "--scope", "submit", "--queue", "vision", "--expires", "30d", env=env)
    token = created.stdout.strip()
    assert call(served, token, "GET", "/v1/whoami").json["queue"] == "vision"
    rows = served.paddle("token", "list", env=env).stdout.splitlines()
    assert {"SCOPE", "QUEUE"} <= set(rows[0].split())
    assert any("submit" in row and "vision" in row for row in rows[1:])
    wrong = served.paddle("token", "create", "--scope", "write", env=env, check=2)
    assert "'write' is not read, submit or admin" in wrong.stderr
