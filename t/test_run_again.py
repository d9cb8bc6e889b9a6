"""What a user does with a run after it began: retry, logs, events, the tree of a large one, deletion."""

import contextlib
import os
import pathlib
import re

from conftest import PATIENCE, server_of_module, wait_for
from sse import follow_run
from test_runs import create, finish, nodes, show, states

server = server_of_module("--cpus", "64")


def retry(server, run, status=201, **body):
    reply = server.post(f"/v1/runs/{run}/retry", body)
    assert reply.status == status, reply.body
    return reply.json["id"] if status == 201 else reply.json["message"]


def taken(marks):
    words = sorted(marks.read_text().split())
    marks.write_text("")
    return words


def chain(marks, broken):
    """`b` fails while the file `broken` is there."""
    return f"""name: chain
entry_points:
  a: {{command: "echo a >> {marks}", parameters: {{n: 1}}}}
  b: {{deps: a, parameters: {{n: "{{{{a.n}}}}"}}, command: "echo b{{{{n}}}} >> {marks}; test ! -e {broken}"}}
  c: {{deps: b, command: "echo c >> {marks}"}}
  d: {{command: "echo d >> {marks}"}}
failure_options: {{strategy: continue}}
post_process:
  last: {{command: "echo last >> {marks}"}}
"""


def test_a_retry_keeps_what_succeeded(server, marks, tmp_path):
    """C111, C112: only what is missing runs, and post_process; the record says which run is retried."""
    broken = tmp_path / "broken"
    broken.touch()
    first = create(server, chain(marks, broken))
    finish(server, first, "failed")
    assert taken(marks) == ["a", "b1", "d", "last"]
    broken.unlink()
    second = retry(server, first)
    found = finish(server, second, "succeeded")
    assert taken(marks) == ["b1", "c", "last"]
    assert (found["attempt"], found["retry_of"], show(server, first)["attempt"]) == (2, first, 1)
    old, new = nodes(server, first), nodes(server, second)
    assert {path: item["run"] for path, item in new.items()} == {
        "a": first, "d": first, "b": None, "c": None, "last": None,
    }  # fmt: skip
    assert (new["a"]["job"], new["a"]["finished_at"]) == (old["a"]["job"], old["a"]["finished_at"])
    assert old["b"]["state"] == "failed" and new["b"]["job"] != old["b"]["job"]
    assert "nothing to retry" in retry(server, second, 409)
    kinds = [event["kind"] for event in server.get(f"/v1/runs/{second}/events").json["items"]]
    assert kinds == ["run.created", "run.succeeded"]


def test_a_run_that_has_not_ended_is_not_retried(server):
    run = create(server, "name: p\nentry_points:\n  a: {command: sleep 600}\n")
    assert "has not ended" in retry(server, run, 409)
    assert server.post(f"/v1/runs/{run}/stop", {"force": True}).status == 200
    finish(server, run, "terminated")


def test_a_retry_from_a_step_and_with_parameters(server, marks, tmp_path):
    first = create(server, chain(marks, tmp_path / "no"))
    finish(server, first, "succeeded")
    taken(marks)
    second = retry(server, first, **{"from": "c"})
    finish(server, second, "succeeded")
    assert taken(marks) == ["c", "last"]
    third = retry(server, second, parameters={"a.n": 5})
    finish(server, third, "succeeded")
    assert taken(marks) == ["a", "b5", "c", "last"]  # c depends on b; d uses no parameter
    assert nodes(server, third)["d"]["run"] == first
    assert "nothing to retry" in retry(server, third, 409, parameters={"a.n": 5})  # the value that it has
    assert "there is no component 'e'" in retry(server, third, 400, **{"from": "e"})
    assert "nothing" in retry(server, third, 400, parameters={"a.nothing": 5})
    assert server.post(f"/v1/runs/{third}/retry", {"colour": "red"}).status == 400


def test_a_retry_runs_the_missing_items_of_loops(server, marks, tmp_path):
    """R-32; a DAG that had failed goes on, and one that had succeeded does not run again."""
    broken = tmp_path / "broken"
    broken.touch()
    text = f"""name: loops
failure_options: {{strategy: continue}}
entry_points:
  d:
    loop_argument: [x, y]
    entry_points:
      many:
        parameters: {{p: "{{{{PF_PARENT.PF_LOOP_ARGUMENT}}}}"}}
        loop_argument: [1, 2, 3]
        command: "echo {{{{p}}}}{{{{PF_LOOP_ARGUMENT}}}} >> {marks}; test {{{{p}}}}{{{{PF_LOOP_ARGUMENT}}}} != y2 || test ! -e {broken}"
      after: {{deps: many, parameters: {{p: "{{{{PF_PARENT.PF_LOOP_ARGUMENT}}}}"}}, command: "echo after{{{{p}}}} >> {marks}"}}
  end: {{deps: d, command: "echo end >> {marks}"}}
"""
    first = create(server, text)
    finish(server, first, "failed")
    assert taken(marks) == ["afterx", "x1", "x2", "x3", "y1", "y2", "y3"]
    broken.unlink()
    second = retry(server, first)
    finish(server, second, "succeeded")
    assert taken(marks) == ["aftery", "end", "y2"]
    assert set(states(server, second).values()) == {"succeeded"}


def test_a_retry_goes_on_after_a_kill(server, marks, tmp_path):
    go, broken = tmp_path / "go", tmp_path / "broken"
    broken.touch()
    text = f"""name: killed
failure_options: {{strategy: continue}}
entry_points:
  a: {{command: "echo a >> {marks}"}}
  b: {{deps: a, command: "test ! -e {broken} && echo b >> {marks} && while [ ! -e {go} ]; do sleep 0.05; done"}}
  c: {{deps: b, command: "echo c >> {marks}"}}
"""
    first = create(server, text)
    finish(server, first, "failed")
    broken.unlink()
    second = retry(server, first)
    wait_for(lambda: "b" in marks.read_text(), PATIENCE, "b to run")
    server.kill()
    go.touch()
    server.start()
    finish(server, second, "succeeded")
    assert taken(marks) == ["a", "b", "c"]
    assert nodes(server, second)["a"]["run"] == first


def test_a_run_whose_results_are_kept_stays(server, marks, tmp_path):
    """R-33, C113."""
    broken = tmp_path / "broken"
    broken.touch()
    first = create(server, chain(marks, broken))
    finish(server, first, "failed")
    second = retry(server, first)
    finish(server, second, "failed")
    job = nodes(server, second)["a"]["job"]
    reply = server.request("DELETE", f"/v1/runs/{first}")
    assert reply.status == 409 and second in reply.json["message"], reply.body
    assert server.request("DELETE", f"/v1/runs/{second}").status == 204
    assert server.job(job)["state"] == "succeeded"  # it belongs to the first run
    third = retry(server, first)
    finish(server, third, "failed")
    assert server.request("DELETE", f"/v1/runs/{first}?force=true").status == 204
    wait_for(lambda: server.get(f"/v1/jobs/{job}").status == 404, PATIENCE, "the job to be deleted")
    wait_for(lambda: nodes(server, third)["a"]["run"] is None, PATIENCE, "the first run to be deleted")
    found = nodes(server, third)["a"]
    assert (found["state"], found["job"]) == ("succeeded", None)


def test_an_idempotency_key_gives_the_same_retry(server, marks, tmp_path):
    broken = tmp_path / "broken"
    broken.touch()
    first = create(server, chain(marks, broken))
    finish(server, first, "failed")
    key = {"Idempotency-Key": "again"}
    one, two = (server.post(f"/v1/runs/{first}/retry", {}, headers=key) for _ in range(2))
    assert (one.status, two.status) == (201, 200) and one.json["id"] == two.json["id"]
    assert server.post(f"/v1/runs/{first}/retry", {"from": "a"}, headers=key).status == 409
    finish(server, one.json["id"], "failed")


# ---- logs


def lines_of(events):
    return [
        (event.data["step"], line) for event in events if event.kind == "log" for line in event.data["text"].split()
    ]


SPEAKS = """name: speaks
parallelism: 2
entry_points:
  a: {command: "echo one; echo two"}
  many: {deps: a, loop_argument: [x, y, z], command: "echo {{PF_LOOP_ARGUMENT}}"}
  d:
    deps: many
    entry_points:
      inner: {command: "echo inside"}
"""


def test_the_log_of_a_run(server):
    run = create(server, SPEAKS)
    with follow_run(server, run) as stream:  # from before its first line until its end
        live = list(stream)
    finish(server, run, "succeeded")
    want = [("a", "one"), ("a", "two"), ("d.inner", "inside"), ("many-0", "x"), ("many-1", "y"), ("many-2", "z")]
    assert sorted(lines_of(live)) == want and live[-1].kind == "end" and live[-1].data["state"] == "succeeded"
    with follow_run(server, run, follow="false") as stream:
        assert lines_of(stream) == [*want[:2], *want[3:], want[2]]  # in the order in which they began
    for step, expected in (("many", want[3:]), ("many-1", [("many-1", "y")]), ("d", [want[2]]), ("ma", [])):
        with follow_run(server, run, step=step) as stream:
            assert lines_of(stream) == expected, step


def test_a_step_that_has_written_nothing_is_there(server):
    run = create(
        server,
        """name: silent
entry_points:
  a: {command: 'true'}
  many: {command: 'true', loop_argument: [1, 2]}
  d: {entry_points: {inner: {command: 'true'}}, loop_argument: [1, 2]}
""",
    )
    finish(server, run, "succeeded")
    for step in ("a", "many", "many-1", "d", "d-1", "d-1.inner", "d.inner"):
        done = server.paddle("run", "logs", run, step, check=0)
        assert f"'{step}' of run {run} has written nothing" in done.stderr and " yet" not in done.stderr, step
    for step in ("b", "a-1", "many-x", "d-1.outer", "inner", "many-2"):
        assert f"has no step '{step}'" in server.paddle("run", "logs", run, step, check=1).stderr, step


def test_why_a_step_has_no_log(server):
    run = create(
        server,
        """name: none
disabled: off
entry_points:
  a: {command: 'false'}
  b: {command: 'true', deps: a}
  off: {command: 'true'}
""",
    )
    finish(server, run, "failed")
    assert "it was cancelled before it began" in server.paddle("run", "logs", run, "b", check=0).stderr
    assert "it was skipped" in server.paddle("run", "logs", run, "off", check=0).stderr


def test_a_log_resumes_without_loss(server):
    run = create(server, SPEAKS)
    finish(server, run, "succeeded")
    with follow_run(server, run) as stream:
        whole = list(stream)
    for i, event in enumerate(whole[:-1]):
        with follow_run(server, run, cursor=event.id) as stream:
            assert lines_of(stream) == lines_of(whole[i + 1 :]), event
    with follow_run(server, run, cursor="x") as stream:
        assert stream.status == 400


def open_logs(server):
    """How many descriptors of the server are logs of members."""
    links = []
    for entry in pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(entry))
    return sum(link.startswith(f"{server.state}/jobs/") for link in links)


def test_the_log_of_many_steps_opens_few_files(server):
    items = ", ".join(map(str, range(200)))
    step = f"{{command: 'echo x', loop_argument: [{items}]}}"
    run = create(server, f"name: p\nparallelism: 20\nentry_points:\n  a: {step}\n")
    finish(server, run, "succeeded")
    most, found = 0, []
    with follow_run(server, run) as stream:
        for event in stream:
            most = max(most, open_logs(server))
            found.append(event)
    assert sorted(lines_of(found)) == sorted((f"a-{n}", "x") for n in range(200))
    assert most <= 4  # a log and its directory, and those of the next one: descriptors are not listed at one moment


def test_a_kept_step_shows_its_log(server, tmp_path):
    go = tmp_path / "go"
    text = f"name: p\nentry_points:\n  a: {{command: 'echo kept'}}\n  b: {{deps: a, command: 'echo tried; test -e {go}'}}\n"
    first = create(server, text)
    finish(server, first, "failed")
    go.touch()
    second = retry(server, first)
    finish(server, second, "succeeded")
    with follow_run(server, second) as stream:
        assert lines_of(stream) == [("a", "kept"), ("b", "tried")]


# ---- a large run


def test_the_tree_of_a_long_loop(server):
    """Its numbers are right, and only what did not succeed is listed."""
    items = ", ".join(map(str, range(60)))
    run = create(
        server,
        f"name: p\nparallelism: 20\nfailure_options: {{strategy: continue}}\nentry_points:\n"
        f"  a: {{command: 'test {{{{PF_LOOP_ARGUMENT}}}} != 41', loop_argument: [{items}]}}\n"
        "  b: {command: 'true'}\n",
    )
    found = finish(server, run, "failed")
    assert found["message"].startswith("step 'a-41' failed: "), found
    loop, other = server.get(f"/v1/runs/{run}/tree").json["items"]
    assert (loop["count"], loop["states"]) == (60, {"succeeded": 59, "failed": 1})
    assert [item["number"] for item in loop["children"]] == [41]
    assert other["state"] == "succeeded"
    shown = server.paddle("run", "show", run).stdout
    assert re.search(r"a +failed +59 of 60 succeeded, 1 failed", shown), shown
    assert shown.count("─ a-") + shown.count("- a-") == 1, shown


# ---- the verbs


def test_the_verbs(server, tmp_path, marks):
    project = tmp_path / "project"
    project.mkdir()
    (project / "say.sh").write_text("echo said $1\n")
    file = project / "again.yaml"
    file.write_text(
        "name: again\nfailure_options: {strategy: continue}\nentry_points:\n"
        "  a: {command: 'sh say.sh a'}\n"
        "  b: {deps: a, parameters: {n: 1}, command: 'sh say.sh {{n}}; test {{n}} = 0'}\n"
    )
    failed = server.paddle("run", "create", "-f", file, "--follow")
    assert failed.returncode == 1 and "packed 2 files" in failed.stderr, failed.stderr
    first = failed.stdout.split("\n")[0]
    logs = server.paddle("run", "logs", "again").stdout  # the newest of that name
    assert re.search(r"^a +\| said a$", logs, re.M) and re.search(r"^b +\| said 1$", logs, re.M), logs
    assert "said a" not in server.paddle("run", "logs", first, "b").stdout
    typo = server.paddle("run", "logs", first, "x")
    assert typo.returncode == 1 and f"'{first}' has no step 'x'" in typo.stderr
    done = server.paddle("run", "retry", "again", "-p", "b.n=0", "--follow")
    assert done.returncode == 0, done.stderr
    second = done.stdout.split("\n")[0]
    assert re.search(rf"^a: kept from run {first}$", done.stdout, re.M), done.stdout
    sent = f"it uses the definition and the files that were sent with run {first} at "
    assert sent in done.stderr and sent in server.paddle("run", "retry", "again", "--from", "b").stderr
    assert server.paddle("run", "wait", "again").returncode == 0
    for option in ("-f", "--package-path"):
        other = server.paddle("run", "retry", first, option, project)
        assert other.returncode == 2 and "Changed files need a new run: `paddle run create`." in other.stderr
    assert not re.search(r"^a: running", done.stdout, re.M)
    shown = server.paddle("run", "show", "again").stdout
    assert f"attempt 3 (retry of {second})" in shown and f"kept from run {first}" in shown
    assert server.paddle("run", "show", "--watch", first).returncode == 1  # it has failed
    refused = server.paddle("run", "delete", first)
    assert refused.returncode != 0 and second in refused.stderr
    third = server.paddle("run", "list", "--name", "again", "-o", "name").stdout.split()[0]
    assert server.paddle("run", "delete", third, second, first).returncode == 0


def test_a_directory_is_not_sent_if_it_is_not_wanted(server, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("name: p\nentry_points:\n  a: {command: 'true'}\n")
    for more in (["--no-package"], ["--package-path", tmp_path]):
        made = server.paddle("run", "create", "-f", file, "--follow", *more)
        assert made.returncode == 0 and ("packed" in made.stderr) == (more[0] != "--no-package"), made.stderr
    assert server.paddle("run", "create", "-f", "-", input=file.read_text()).returncode == 0
    for more in (["--package-path", tmp_path / "no"], ["--package-path", tmp_path, "--no-package"]):
        assert server.paddle("run", "create", "-f", file, *more).returncode == 2
