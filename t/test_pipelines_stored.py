"""Stored pipelines: versions, runs of them, through the routes and through `paddle pipeline` and `paddle run`."""

import hashlib

import pytest
from conftest import PATIENCE, server_of_module, wait_for

FIRST = 'name: digits\nentry_points:\n  train: {command: "exit {{code}}", parameters: {code: 0}}\n'
SECOND = 'name: digits\nentry_points:\n  prepare: {command: "true"}\n'

server = server_of_module("--cpus", "64")


def named(name, text=FIRST):
    return text.replace("digits", name)


def store(server, name, text=FIRST, **about):
    reply = server.post("/v1/pipelines", {"definition": named(name, text), **about})
    assert reply.status == 201, reply.body
    return reply.json


def update(server, name, text=SECOND, **about):
    reply = server.post(f"/v1/pipelines/{name}/versions", {"definition": named(name, text), **about})
    assert reply.status == 201, reply.body
    return reply.json


def run(server, **body):
    reply = server.post("/v1/runs", body)
    assert reply.status == 201, reply.body
    return reply.json


def finish(server, run_id):
    def ended():
        return server.get(f"/v1/runs/{run_id}").json["state"] in ("succeeded", "failed", "terminated")

    wait_for(ended, PATIENCE, "the run's end")
    return server.get(f"/v1/runs/{run_id}").json


def steps(server, run_id):
    return {item["path"]: item["state"] for item in server.get(f"/v1/runs/{run_id}/nodes").json["items"]}


def test_versions(server):
    made = store(server, "versions", description="of Monday")
    assert made["name"] == "versions"
    assert made["description"] == "of Monday"
    assert made["version"]["version"] == 1
    assert made["version"]["hash"] == hashlib.sha256(named("versions").encode()).hexdigest()
    assert made["version"]["size"] == len(named("versions"))
    again = update(server, "versions")
    assert again["id"] == made["id"]
    assert again["version"]["version"] == 2
    assert again["description"] == "of Monday"
    by_id = server.get(f"/v1/pipelines/{made['id']}").json
    assert by_id["version"]["version"] == 2
    listed = server.get("/v1/pipelines/versions/versions?limit=1").json
    assert [item["version"] for item in listed["items"]] == [1]
    rest = server.get(f"/v1/pipelines/versions/versions?after={listed['next']}").json
    assert [item["version"] for item in rest["items"]] == [2]
    assert rest["next"] is None
    first = server.get("/v1/pipelines/versions/versions/1").json
    assert first["definition"] == named("versions")


def test_runs_with_other_parameters_and_by_version(server):
    store(server, "runs")
    update(server, "runs")
    good = finish(server, run(server, pipeline="runs", version=1)["id"])
    assert (good["state"], good["version"]) == ("succeeded", 1)
    bad = finish(server, run(server, pipeline="runs", version=1, parameters={"code": 3}, description="why")["id"])
    assert (bad["state"], bad["description"]) == ("failed", "why")
    newest = finish(server, run(server, pipeline="runs")["id"])
    assert newest["version"] == 2
    assert steps(server, newest["id"]) == {"prepare": "succeeded"}
    assert newest["pipeline"] == server.get("/v1/pipelines/runs").json["id"]


def test_artifacts_need_no_set_up(server):
    """What `paddle run create -f FILE` takes can be stored: files lie in the home, unless the definition says where."""
    text = 'name: filed\nentry_points:\n  a: {command: "echo x > {{out}}", artifacts: {output: [out]}}\n'
    assert store(server, "filed", text)["version"]["fs"] is None
    update(server, "filed", text)
    made = finish(server, run(server, pipeline="filed")["id"])
    assert made["state"] == "succeeded", made
    (artifact,) = server.get(f"/v1/artifacts?run={made['id']}").json["items"]
    assert artifact["filesystem"] == "home"


def test_deleted_pipeline_leaves_its_runs(server):
    store(server, "gone", 'name: gone\nentry_points:\n  wait: {command: "sleep 600"}\n')
    began = run(server, pipeline="gone")["id"]
    assert server.request("DELETE", "/v1/pipelines/gone").status == 204
    assert server.get("/v1/pipelines/gone").status == 404
    server.kill()
    server.start()
    wait_for(lambda: steps(server, began) == {"wait": "running"}, PATIENCE, "the step to run on")
    assert server.post(f"/v1/runs/{began}/stop", {"force": True}).status == 200
    assert finish(server, began)["state"] == "terminated"
    refused = server.post("/v1/runs", {"pipeline": "gone"})
    assert refused.status == 404
    store(server, "gone")  # the name is free


def test_only_version_stays(server):
    store(server, "only")
    update(server, "only")
    assert server.request("DELETE", "/v1/pipelines/only/versions/3").status == 404
    assert server.request("DELETE", "/v1/pipelines/only/versions/1").status == 204
    refused = server.request("DELETE", "/v1/pipelines/only/versions/2")
    assert refused.status == 409
    assert "`paddle pipeline delete only`" in refused.body.decode()
    assert update(server, "only")["version"]["version"] == 3  # no number is used again


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"definition": "name: x\n"}, 400, "PE-"),
        ({"definition": named("taken")}, 409, "`paddle pipeline update taken FILE`"),
        ({}, 400, "definition"),
        ({"definition": named("n"), "description": "x" * 257}, 400, "256"),
        ({"definition": named("n"), "text": ""}, 400, "text"),
    ],
)
def test_refused(server, body, status, says):
    server.post("/v1/pipelines", {"definition": named("taken")})
    reply = server.post("/v1/pipelines", body)
    assert reply.status == status, reply.body
    assert says in reply.body.decode()


def test_a_version_that_does_not_exist(server):
    """Whoever names one is told of which pipeline it is none, and the newest one that there is."""
    store(server, "absent")
    update(server, "absent")
    assert server.request("DELETE", "/v1/pipelines/absent/versions/1").status == 204
    schedule = {"name": "absent", "pipeline": "absent", "crontab": "@daily", "version": 7}
    says, hint = (
        "pipeline 'absent' has no version 7; its newest one is 2",
        "`paddle pipeline show absent` shows its versions.",
    )
    for reply in (
        server.get("/v1/pipelines/absent/versions/7"),
        server.request("DELETE", "/v1/pipelines/absent/versions/7"),
        server.post("/v1/runs", {"pipeline": "absent", "version": 7}),
        server.post("/v1/schedules", schedule),
    ):
        assert (reply.status, reply.json["message"], reply.json["hint"]) == (404, says, hint)
    for line in (["pipeline", "show"], ["pipeline", "delete"], ["run", "create"]):
        assert f"paddle: {says}\n{hint}\n" in server.paddle(*line, "absent@7", check=1).stderr


def test_version_of_another_name(server):
    store(server, "mine")
    reply = server.post("/v1/pipelines/mine/versions", {"definition": named("other")})
    assert reply.status == 409
    assert "'other'" in reply.body.decode()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"pipeline": "mine", "definition": FIRST}, "either"),
        ({}, "either"),
        ({"definition": FIRST, "version": 1}, "pipeline is missing"),
    ],
)
def test_run_needs_one_source(server, body, says):
    reply = server.post("/v1/runs", body)
    assert reply.status == 400
    assert says in reply.body.decode()


def test_commands(server, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(named("typed"))
    assert server.paddle("pipeline", "create", str(file), "-d", "by hand").stdout == "typed@1\n"
    file.write_text(named("typed", SECOND))
    assert server.paddle("pipeline", "update", "typed", str(file)).stdout == "typed@2\n"
    assert "typed" in server.paddle("pipeline", "list", "-o", "name").stdout.split()
    rows = [line.split() for line in server.paddle("pipeline", "list").stdout.splitlines()]
    assert rows[0][:2] == ["NAME", "VERSION"] and ["typed", "2"] in [row[:2] for row in rows]
    assert "Did you mean 'typed'?" in server.paddle("run", "create", "tpyed", check=1).stderr
    shown = server.paddle("pipeline", "show", "typed@1").stdout
    assert "by hand" in shown
    assert "version 1" in shown
    assert "version 2" in shown
    assert "train" in shown
    assert "prepare" not in shown
    failed = server.paddle("run", "create", "typed@1", "-p", "code=3", "--follow", check=1)
    assert "failed" in failed.stdout
    assert server.paddle("run", "create", "typed", "--follow").returncode == 0
    assert server.paddle("pipeline", "delete", "typed@1").stdout == "pipeline typed@1 is deleted\n"
    server.paddle("pipeline", "delete", "typed")
    assert "no stored pipeline 'typed'" in server.paddle("pipeline", "show", "typed", check=1).stderr
    assert "`paddle pipeline list`" in server.paddle("run", "create", "typed", check=1).stderr


@pytest.mark.parametrize("words", [("typed@x",), ("@1",), ("typed@0",), (), ("typed", "-f", "p.yaml")])
def test_wrong_words(server, words):
    server.paddle("run", "create", *words, check=2)
