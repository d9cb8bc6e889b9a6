"""Runs of pipelines with real jobs: from a definition to its end, through the routes and through `paddle run`."""

import re

import pytest
from conftest import FINAL, PATIENCE, server_of_module, wait_for

END = ("succeeded", "failed", "terminated")

server = server_of_module("--cpus", "64")


def create(server, text, **request):
    reply = server.post("/v1/runs", {"definition": text, **request})
    assert reply.status == 201, reply.body
    return reply.json["id"]


def show(server, run):
    return server.get(f"/v1/runs/{run}").json


def finish(server, run, state):
    wait_for(lambda: show(server, run)["state"] in END, PATIENCE, "the run's end")
    found = show(server, run)
    assert found["state"] == state, found
    return found


def nodes(server, run):
    reply = server.get(f"/v1/runs/{run}/nodes?limit=1000")
    assert reply.status == 200, reply.body
    return {item["path"]: item for item in reply.json["items"]}


def states(server, run):
    return {path: item["state"] for path, item in nodes(server, run).items()}


def running(server, run, path):
    wait_for(lambda: states(server, run).get(path) == "running", PATIENCE, f"{path} to run")
    job = nodes(server, run)[path]["job"]
    wait_for(lambda: server.job(job)["state"] == "running", PATIENCE, f"the job of {path} to run")
    return job


def pipeline(tmp_path, steps, head=""):
    """Each step appends its name to a file, so that one that ran twice is seen."""
    marks = tmp_path / "marks"
    marks.touch()
    tmp_path.chmod(0o777)
    marks.chmod(0o666)
    return f"name: tested\n{head}entry_points:\n{steps.replace('MARK', f'echo {{{{PF_STEP_NAME}}}} >> {marks}')}", marks


def test_two_steps_with_a_parameter_and_a_kill_between(server, tmp_path):
    go = tmp_path / "go"
    steps = f"""
  first:
    parameters: {{n: 3}}
    command: "MARK; while [ ! -e {go} ]; do sleep 0.05; done"
  second:
    deps: first
    parameters: {{m: "{{{{first.n}}}}"}}
    command: "MARK; echo {{{{m}}}} {{{{PF_RUN_ID}}}} >> {tmp_path}/marks"
"""
    text, marks = pipeline(tmp_path, steps)
    run = create(server, text, parameters={"first.n": 42})
    running(server, run, "first")
    server.kill()
    go.touch()  # the step ends while there is no server
    server.start()
    finish(server, run, "succeeded")
    assert marks.read_text() == f"first\nsecond\n42 {run}\n"
    assert states(server, run) == {"first": "succeeded", "second": "succeeded"}
    assert server.job(nodes(server, run)["second"]["job"])["state"] == "succeeded"


def test_kills_while_a_loop_runs(server, tmp_path):
    steps = """
  many:
    loop_argument: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    command: "MARK; sleep 0.2"
  after: {command: "MARK", deps: many}
"""
    text, marks = pipeline(tmp_path, steps, "parallelism: 3\n")
    run = create(server, text)
    for n in (1, 5, 9):
        wait_for(lambda n=n: len(marks.read_text().split()) >= n, PATIENCE, "some items")
        server.kill()
        server.start()
    found = finish(server, run, "succeeded")
    assert found["nodes"]["succeeded"] == 13
    assert sorted(marks.read_text().split()) == ["after"] + 12 * ["many"]


FAILURE = """
  one: {command: "MARK"}
  two: {command: "exit 3", deps: one}
  three: {command: "MARK", deps: two}
  other: {command: "MARK; sleep 0.3"}
"""


@pytest.mark.parametrize("strategy", ["fail_fast", "continue"])
def test_failure_strategies(server, tmp_path, strategy):
    """C101, C102: a failing step cancels what depends on it; fail_fast also stops the rest. post_process runs."""
    head = f"failure_options: {{strategy: {strategy}}}\npost_process:\n  last: {{command: 'true'}}\n"
    text, _ = pipeline(tmp_path, FAILURE.replace("sleep 0.3", "sleep 600" if strategy == "fail_fast" else "true"), head)
    run = create(server, text)
    found = finish(server, run, "failed")
    other = "terminated" if strategy == "fail_fast" else "succeeded"
    assert states(server, run) == {"one": "succeeded", "two": "failed", "other": other, "last": "succeeded"}
    assert found["nodes"]["cancelled"] == 1
    assert found["message"].startswith("step 'two' failed: worker-0 exited with status 3"), found
    tree = {item["name"]: item["state"] for item in server.get(f"/v1/runs/{run}/tree").json["items"]}
    assert tree["three"] == "cancelled"
    items = server.get(f"/v1/runs/{run}/tree").json["items"]
    assert [item["name"] for item in items if item.get("post_process")] == ["last"]
    shown = server.paddle("run", "show", run).stdout
    assert re.search(r"\npost_process\n\S+ last +succeeded", shown), shown


def test_stop(server, tmp_path):
    """C107, C108: a stop cancels the jobs; post_process runs unless it is forced."""
    post = "post_process:\n  last: {command: 'true'}\n"
    text, _ = pipeline(tmp_path, "  a: {command: sleep 600}\n  b: {command: 'true', deps: a}\n", post)
    for force, last in ((False, "succeeded"), (True, None)):
        run = create(server, text)
        job = running(server, run, "a")
        assert server.post(f"/v1/runs/{run}/stop", {"force": force}).status == 200
        found = finish(server, run, "terminated")
        assert found["message"].startswith("stopped by ")
        assert server.job(job)["state"] == "cancelled"
        assert states(server, run).get("last") == last


def test_nested_loop_and_condition(server, tmp_path):
    steps = """
  outer:
    loop_argument: [a, b]
    entry_points:
      inner:
        parameters: {p: "{{PF_PARENT.PF_LOOP_ARGUMENT}}"}
        loop_argument: [1, 2]
        command: "echo {{p}}{{PF_LOOP_ARGUMENT}} >> MARKS"
      no: {command: "echo no >> MARKS", condition: "'x' =~ 'y'", deps: inner}
      yes: {command: "echo yes >> MARKS", condition: "1 < 2", deps: no}
"""
    text, marks = pipeline(tmp_path, steps.replace("MARKS", str(tmp_path / "marks")))
    run = create(server, text)
    finish(server, run, "succeeded")
    assert sorted(marks.read_text().split()) == ["a1", "a2", "b1", "b2", "yes", "yes"]
    found = states(server, run)
    assert found["outer-0.no"] == "skipped" and found["outer-1.inner-1"] == "succeeded"


def test_values_that_conditions_and_loops_cannot_use_are_shown(server):
    """RE-01, RE-02: the values as they were, since the definition has only their names."""
    text = (
        "name: shows\nfailure_options: {strategy: continue}\nentry_points:\n"
        "  maybe: {parameters: {x: hello}, condition: '{{x}} > 3', command: 'true'}\n"
        "  loop: {parameters: {list: none}, loop_argument: '{{list}}', command: 'true'}\n"
    )
    reply = server.post("/v1/runs", {"definition": text})
    assert reply.status == 201, reply.body
    run = reply.json["id"]
    wait_for(lambda: server.get(f"/v1/runs/{run}").json["state"] == "failed", PATIENCE, "the end of the run")
    said = {step["path"]: step["message"] for step in server.get(f"/v1/runs/{run}/steps").json["items"]}
    assert "RE-01: the condition 'hello > 3': '>' needs two numbers" in said["maybe"]
    assert "loop_argument is 'none', which is not a list" in said["loop"]


def test_a_definition_with_errors_is_refused(server):
    reply = server.post("/v1/runs", {"definition": "name: x\nentry_points:\n  a: {command: c, deps: b}\n"})
    assert reply.status == 400 and "line 3" in reply.json["message"], reply.body
    reply = server.post("/v1/runs", {"definition": "name: x\nentry_points:\n  a: {command: c}\n", "colour": "red"})
    assert reply.status == 400 and "colour" in reply.json["message"]
    assert server.post("/v1/runs", {"name": "x"}).status == 400


def test_an_idempotency_key_gives_the_same_run(server):
    body = {"definition": "name: x\nentry_points:\n  a: {command: 'true'}\n"}
    key = {"Idempotency-Key": "once"}
    first, again = (server.post("/v1/runs", body, headers=key) for _ in range(2))
    assert (first.status, again.status) == (201, 200) and first.json["id"] == again.json["id"]
    assert server.post("/v1/runs", {**body, "name": "y"}, headers=key).status == 409


def test_a_run_goes_with_its_jobs(server):
    run = create(server, "name: x\nentry_points:\n  a: {command: 'true'}\n")
    finish(server, run, "succeeded")
    job = nodes(server, run)["a"]["job"]
    reply = server.request("DELETE", f"/v1/jobs/{job}?forget=true")
    assert reply.status == 409 and "step of a run" in reply.json["message"]
    assert server.request("DELETE", f"/v1/runs/{run}").status == 204
    assert server.get(f"/v1/runs/{run}").status == 404
    wait_for(lambda: server.get(f"/v1/jobs/{job}").status == 404, PATIENCE, "the job to be deleted")


def test_pages(server):
    items = ", ".join(map(str, range(25)))
    text = f"name: paged\nentry_points:\n  a: {{command: 'true', loop_argument: [{items}]}}\n"
    run = create(server, text)
    finish(server, run, "succeeded")
    seen, after = [], ""
    while after is not None:
        page = server.get(f"/v1/runs/{run}/nodes?limit=10&state=succeeded{after}").json
        seen += [item["path"] for item in page["items"]]
        after = page["next"] and f"&after={page['next']}"
    assert seen == [f"a-{n}" for n in range(25)]
    assert server.get("/v1/runs?name=paged&state=succeeded").json["items"][0]["id"] == run
    (loop,) = server.get(f"/v1/runs/{run}/tree").json["items"]
    assert (loop["type"], loop["count"], loop["states"]) == ("loop", 25, {"succeeded": 25})


def test_filters_of_the_list(server, tmp_path):
    """State, name and stored pipeline, by the route and by `paddle run list`; a run that is being stopped does not run."""

    def found(query):
        reply = server.get(f"/v1/runs?{query}")
        assert reply.status == 200, reply.body
        return [item["id"] for item in reply.json["items"]]

    def listed(*words):
        return server.paddle("run", "list", "-o", "name", *words).stdout.split()

    text = "name: kept\nentry_points:\n  a: {command: sleep 600}\npost_process:\n  z: {command: sleep 600}\n"
    pipeline = server.post("/v1/pipelines", {"definition": text}).json["id"]
    stored = server.post("/v1/runs", {"pipeline": "kept", "name": "filtered"}).json["id"]
    alone = create(server, text, name="filtered")
    assert found("name=filtered") == listed("--name", "filtered") == [alone, stored]
    assert found("name=kept") == []
    assert found("pipeline=kept") == found(f"pipeline={pipeline}") == listed("--pipeline", "kept") == [stored]
    assert found("pipeline=kept&name=other") == []
    running(server, alone, "a")
    assert server.post(f"/v1/runs/{alone}/stop", {}).json["state"] == "stopping"
    assert found("name=filtered&state=running") == listed("--name", "filtered", "-s", "running") == [stored]
    assert found("name=filtered&state=stopping") == listed("--name", "filtered", "-s", "stopping") == [alone]
    assert found("name=filtered&state=running,stopping") == [alone, stored]
    for run in (alone, stored):
        server.post(f"/v1/runs/{run}/stop", {"force": True})
        finish(server, run, "terminated")
    assert found("name=filtered&state=running,stopping,failed") == []
    assert found("name=filtered&state=terminated") == [alone, stored]
    wrong = server.get("/v1/runs?state=cancelled")  # of nodes
    assert wrong.status == 400 and "terminated, skipped." in wrong.json["hint"]
    assert server.get("/v1/runs?pipeline=none").status == 404
    assert "'none'" in server.paddle("run", "list", "--pipeline", "none", check=1).stderr


def test_the_verbs(server, tmp_path):
    text, _ = pipeline(tmp_path, "  a: {parameters: {n: 1}, command: 'exit {{n}}'}\n  b: {command: 'true', deps: a}\n")
    path = tmp_path / "pipeline.yaml"
    name = "verbs"
    path.write_text(text.replace(text.split()[1], name, 1))
    done = server.paddle("run", "create", "-f", path, "-p", "a.n=0", "--follow")
    assert done.returncode == 0, done.stderr
    run = done.stdout.split("\n")[0]
    assert re.search(r"^b: succeeded", done.stdout, re.M) and "succeeded after" in done.stdout
    assert server.paddle("run", "wait", run).returncode == 0
    failed = server.paddle("run", "create", "-f", path, "--follow")
    assert failed.returncode == 1 and "step 'a' failed" in failed.stdout
    other = failed.stdout.split("\n")[0]
    shown = server.paddle("run", "show", other).stdout
    assert re.search(r"- a +failed .* job \w{16}", shown) or re.search(r"─ a +failed .* job \w{16}", shown), shown
    assert re.search(r"b +cancelled", shown)
    assert server.paddle("run", "wait", run, other).returncode == 1
    assert server.paddle("run", "list", "-o", "name").stdout.split()[:2] == [other, run]
    assert server.paddle("run", "stop", other).returncode == 1  # it has ended
    several = server.paddle("run", "delete", name)  # the same command again would delete the next one
    assert several.returncode == 1 and f"is the name of 2 runs, and none is deleted: {other}, {run}\n" in several.stderr
    assert server.paddle("run", "delete", other).stdout == f"run {other} is deleted\n"
    assert server.paddle("run", "delete", name).stdout == f"run {run} is deleted\n"  # no other run has it
    assert run not in server.paddle("run", "list", "-o", "name").stdout
    assert "pipeline.yaml" in server.paddle("run", "create", "-f", tmp_path / "no" / "pipeline.yaml").stderr


def test_a_missing_program_is_noticed_before_the_run(server, tmp_path):
    """A warning, since the command may be right in its image."""
    (tmp_path / "train.py").write_text("print()\n")
    file = tmp_path / "programs.yaml"
    file.write_text(
        "name: programs\nentry_points:\n  a: {command: python trian.py}\n  b: {command: python train.py}\n"
        "  c: {command: 'python {{f}}', parameters: {f: x.py}}\n  d: {command: python gone.py}\ndisabled: d\n"
    )
    told = server.paddle("run", "create", "-f", file).stderr
    assert f"step 'a' would fail: 'trian.py' is not in the directory '{tmp_path}', which is sent" in told
    assert "Did you mean 'train.py'?" in told and told.count("would fail") == 1
    assert "'trian.py' is not in" in server.paddle("pipeline", "create", file).stderr


def test_values_in_two_words(server, tmp_path):
    file = tmp_path / "words.yaml"
    file.write_text("name: words\nentry_points:\n  a: {parameters: {n: 1}, command: 'true'}\n")
    two = server.paddle("run", "create", "-f", file, "-p", "a.n=x", "y").stderr
    assert "put quotes around both: -p 'a.n=x y'" in two
    for options in (["create", "words", "-p", "a.n", "10"], ["retry", "words", "-p", "a.n", "10"]):
        done = server.paddle("run", *options)
        assert done.returncode == 2 and "Write -p a.n=10." in done.stderr, done.stderr
    wrong = server.paddle("run", "create", "-f", file, "-p", "other=1").stderr
    assert "There are: a.n." in wrong


def test_a_file_is_checked_before_anything_is_sent(server, tmp_path):
    """A file may be given with or without -f; its errors have its name."""
    (tmp_path / "good.yaml").write_text("name: good\nentry_points: {a: {command: 'true'}}\n")
    (tmp_path / "bad.yaml").write_text("name: bad\nentry_points: {a: {comand: x}, b: {deps: c, command: x}}\n")
    assert server.paddle("run", "create", "good.yaml", "--follow", cwd=tmp_path).returncode == 0
    for words in (
        ["run", "create", "bad.yaml"],
        ["run", "create", "-f", "bad.yaml"],
        ["pipeline", "create", "bad.yaml"],
    ):
        done = server.paddle(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        lines = done.stderr.splitlines()
        assert lines[0] == "paddle: bad.yaml: line 2, column 20: entry_points.a: there is no key 'comand' here (PE-03)"
        assert "'paddle pipeline lint' shows all" in lines[1] and "packed" not in done.stderr
    assert "two pipelines" in server.paddle("run", "create", "good.yaml", "-f", "good.yaml", cwd=tmp_path).stderr


def test_a_large_run_is_followed_by_its_counts(server, tmp_path):
    items = list(range(1200))
    (tmp_path / "p.yaml").write_text(
        f"name: large\nentry_points:\n  many: {{condition: 1 > 2, command: x, loop_argument: {items}}}\n"
        "  last: {command: sleep 3}\n"
    )
    done = server.paddle("run", "create", "p.yaml", "--follow", cwd=tmp_path, check=0)
    assert re.search(r"^large: .*\b1200 skipped", done.stdout, re.M), done.stdout[-2000:]  # at its end at the latest
    assert "more than 1000 steps" in done.stderr


def test_a_run_is_no_job(server, tmp_path):
    (tmp_path / "p.yaml").write_text("name: p\nentry_points: {a: {command: 'true'}}\n")
    run = server.paddle("run", "create", "p.yaml", "--follow", cwd=tmp_path, check=0).stdout.split()[0]
    for verb in ("logs", "status", "explain"):
        for word in (run, "p"):
            done = server.paddle(verb, word, check=1)
            assert f"'{word}' is a run, not a job" in done.stderr and f"`paddle run logs {word}`" in done.stderr, verb


def test_jobs_of_a_run_are_jobs(server):
    run = create(server, "name: x\nentry_points:\n  step: {command: 'echo hello'}\n")
    finish(server, run, "succeeded")
    job = server.job(nodes(server, run)["step"]["job"])
    assert job["state"] in FINAL and job["name"].startswith(run) and "step" in job["name"]


def test_the_queue_of_steps_that_name_none(server, tmp_path):
    """It must exist and be granted when the run is made; a step that names a queue of its own goes there."""
    server.paddle("queue", "create", "lab", check=0)
    text, _ = pipeline(tmp_path, "  a: {command: 'true'}\n  b: {command: 'true', env: {PF_JOB_QUEUE_NAME: default}}\n")
    path = tmp_path / "pipeline.yaml"
    path.write_text(text)
    run = server.paddle("run", "create", "-f", path, "--queue", "lab", "--no-package", check=0).stdout.split()[0]
    finish(server, run, "succeeded")
    queues = {path: server.job(node["job"])["queue"] for path, node in nodes(server, run).items()}
    assert queues == {"a": "lab", "b": "default"}
    reply = server.post("/v1/runs", {"definition": text, "queue": "nowhere"})
    assert reply.status == 404 and "'nowhere'" in reply.json["message"], reply.body
    assert server.post("/v1/users", {"name": "ann"}).status == 201
    token = server.post("/v1/tokens", {"user": "ann"}).json["token"]
    body, headers = {"definition": text, "queue": "lab"}, {"Authorization": f"Bearer {token}"}
    reply = server.post("/v1/runs", body, headers=headers)
    assert reply.status == 403 and "'lab'" in reply.json["message"], reply.body
    assert server.post("/v1/grants", {"user": "ann", "resource": "lab"}).status == 201
    assert server.post("/v1/runs", body, headers=headers).status == 201


def test_what_waits_says_for_what(server, tmp_path):
    """For its dependencies, for a slot, for the end of the entry points; and a job in its queue for what that waits for."""
    server.paddle("queue", "create", "narrow", "--max", "cpu=1", check=0)
    sleeps = "{command: sleep 600, env: {PF_JOB_QUEUE_NAME: narrow}}"
    steps = f"  first: {sleeps}\n  second: {sleeps}\n  later: {{deps: first, command: x}}\n  other: {{command: x}}\n"
    text = f"name: waits\nparallelism: 2\nentry_points:\n{steps}post_process:\n  clean: {{command: 'true'}}\n"
    run = create(server, text)
    running(server, run, "first")

    def said():
        items = server.get(f"/v1/runs/{run}/tree").json["items"]
        return {item["name"]: item["message"] or "" for item in items}

    wait_for(lambda: said()["second"], PATIENCE, "why the second job waits")
    found = said()
    assert "queue 'narrow' is at its limit" in found.pop("second")
    assert found == {
        "first": "",
        "later": "waits for 'first'",
        "other": "waits for a slot: parallelism is 2",
        "clean": "waits for the end of the entry points",
    }
    assert "waits for a slot" in server.paddle("run", "show", run).stdout
    server.post(f"/v1/runs/{run}/stop", {"force": True})
    finish(server, run, "terminated")
    assert not any(text.startswith("waits") for text in said().values())
