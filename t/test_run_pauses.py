"""Breakpoints: runs that pause, are looked at and changed, and go on; with kills of the server in between."""

import contextlib
import http.client
import random
import sqlite3
import threading
import time

import pytest
from conftest import PATIENCE, ROOT, server_of_module, wait_for
from test_runs import create, finish, nodes, show, states

server = server_of_module("--cpus", "64")


def pauses(server, run):
    return [(pause["step"], pause["at"]) for pause in show(server, run)["pauses"]]


def paused(server, run, *expected):
    wait_for(lambda: pauses(server, run) == list(expected), PATIENCE, f"a pause at {expected}")
    assert show(server, run)["paused"] == len(expected)


WHOLE = {"pauses", "nodes", "break_before", "break_after", "missed_breakpoints", "changed_parameters", "single_steps"}


def test_each_change_is_answered_with_the_whole_run(server):
    """As GET gives it: of a run that is created, also by a repeat, stopped, retried, told to go on, and changed."""
    text = "name: whole\nentry_points:\n  a: {command: 'true', parameters: {n: 1}}\n  b: {deps: a, command: 'true'}\n"
    body, key = {"definition": text, "break_before": ["a"]}, {"Idempotency-Key": "whole"}
    made = server.post("/v1/runs", body, headers=key)
    run = made.json["id"]
    assert made.json.keys() >= WHOLE and made.json["break_before"] == ["a"]
    paused(server, run, ("a", "before"))
    repeat = server.post("/v1/runs", body, headers=key)
    assert (repeat.status, repeat.json["pauses"]) == (200, [{"step": "a", "at": "before"}])
    assert repeat.json.keys() == show(server, run).keys() == made.json.keys()
    reply = act(server, run, "breakpoints", before=["b"])
    assert (reply["break_before"], reply["pauses"]) == (["a", "b"], [{"step": "a", "at": "before"}])
    assert act(server, run, "parameters", step="a", parameters={"n": 3})["changed_parameters"] == {"a": {"n": 3}}
    assert act(server, run, "step")["single_steps"] is True
    paused(server, run, ("b", "before"))
    assert act(server, run, "continue")["single_steps"] is False
    finish(server, run, "succeeded")
    again = server.post(f"/v1/runs/{run}/retry", {"from": "b", "break_before": ["b"]}).json
    assert again.keys() == made.json.keys() and again["break_before"] == ["b"]
    stopped = server.post(f"/v1/runs/{again['id']}/stop").json
    assert stopped.keys() == made.json.keys() and stopped["pauses"] == []


def act(server, run, what, status=200, **body):
    reply = server.post(f"/v1/runs/{run}/{what}", body)
    assert reply.status == status, reply.body
    return reply.json if status == 200 else reply.json["message"]


def parts(server, run):
    return {part["name"]: part for part in server.get(f"/v1/runs/{run}/tree").json["items"]}


def chain(marks):
    return f"""name: chain
entry_points:
  a: {{command: "echo a {{{{n}}}} >> {marks}", parameters: {{n: {{type: int, default: 1}}}}}}
  b: {{deps: a, parameters: {{n: "{{{{a.n}}}}"}}, command: "echo b {{{{n}}}} >> {marks}"}}
  c: {{deps: b, parameters: {{n: "{{{{b.n}}}}"}}, command: "echo c {{{{n}}}} >> {marks}"}}
post_process:
  last: {{command: "echo last >> {marks}"}}
"""


def test_a_pause_outlives_kills_and_parameters_are_changed_in_it(server, marks):
    run = create(server, chain(marks), break_before=["b"])
    paused(server, run, ("b", "before"))
    assert marks.read_text() == "a 1\n" and states(server, run) == {"a": "succeeded"}
    found = parts(server, run)["b"]
    assert (found["state"], found["paused"], found["message"]) == ("paused", "before", None)
    server.kill()
    server.start()
    paused(server, run, ("b", "before"))
    act(server, run, "parameters", step="b", parameters={"n": 7})
    server.kill()
    server.start()
    paused(server, run, ("b", "before"))
    assert show(server, run)["changed_parameters"] == {"b": {"n": 7}}
    act(server, run, "continue")
    server.kill()
    server.start()
    found = finish(server, run, "succeeded")
    assert marks.read_text() == "a 1\nb 7\nc 7\nlast\n"
    assert (found["paused"], found["pauses"], found["break_before"]) == (0, [], ["b"])
    kinds = [event["kind"] for event in server.get(f"/v1/runs/{run}/events").json["items"]]
    assert kinds == ["run.created", "run.paused", "run.changed", "run.continued", "run.succeeded"]


def test_paused_runs_are_listed(server, marks):
    """Also beside other states; a run that is paused is a running one, too."""
    run, other = create(server, chain(marks), break_before=["b"]), create(server, chain(marks))
    paused(server, run, ("b", "before"))
    finish(server, other, "succeeded")

    def listed(states):
        found = {item["id"] for item in server.get(f"/v1/runs?name=chain&state={states}&limit=1000").json["items"]}
        return run in found, other in found

    assert [listed(states) for states in ("paused", "running", "paused,succeeded", "succeeded")] == [
        (True, False), (True, False), (True, True), (False, True),
    ]  # fmt: skip
    assert server.get(f"/v1/runs/{run}/nodes?state=paused").status == 400
    assert f"({run})  paused" in server.paddle("run", "show", run).stdout
    act(server, run, "continue")
    finish(server, run, "succeeded")
    assert listed("paused") == (False, False)


def test_after_a_step_what_depends_on_it_waits_and_its_artifact_may_be_changed(server, tmp_path):
    text = """name: data
entry_points:
  make: {command: "echo raw > {{data}}", artifacts: {output: [data]}}
  other: {command: "true"}
  use: {deps: make, command: "grep better {{data}}", artifacts: {input: {data: "{{make.data}}"}}}
"""
    run = create(server, text, break_after=["make"])
    paused(server, run, ("make", "after"))
    wait_for(lambda: states(server, run).get("other") == "succeeded", PATIENCE, "the other step")
    assert states(server, run) == {"make": "succeeded", "other": "succeeded"}
    assert parts(server, run)["make"]["paused"] == "after" and parts(server, run)["use"]["state"] == "pending"
    server.kill()
    server.start()
    paused(server, run, ("make", "after"))
    (made,) = server.get(f"/v1/artifacts?run={run}&type=output").json["items"]
    better = tmp_path / "better"
    better.write_text("better\n")
    server.paddle("upload", str(better), made["path"], check=0)
    act(server, run, "continue", step="make")
    finish(server, run, "succeeded")


def test_single_steps_go_through_loops_and_dags(server, marks):
    text = f"""name: steps
entry_points:
  loop: {{command: "echo loop-{{{{PF_LOOP_ARGUMENT}}}} >> {marks}", loop_argument: [1, 2]}}
  dag:
    deps: loop
    entry_points:
      leaf: {{command: "echo leaf >> {marks}"}}
"""
    run = create(server, text, break_before=["loop-1"])
    paused(server, run, ("loop-1", "before"))
    wait_for(lambda: marks.read_text() == "loop-1\n", PATIENCE, "the first item")
    assert parts(server, run)["loop"]["paused"] == "before"
    act(server, run, "step", step="loop-1")
    paused(server, run, ("dag", "before"))
    act(server, run, "step")
    paused(server, run, ("dag.leaf", "before"))
    server.kill()
    server.start()
    paused(server, run, ("dag.leaf", "before"))
    assert show(server, run)["single_steps"] is True
    act(server, run, "continue")
    finish(server, run, "succeeded")
    assert marks.read_text() == "loop-1\nloop-2\nleaf\n"


def test_a_stop_ends_pauses_and_a_retry_keeps_what_was_changed(server, marks):
    run = create(server, chain(marks), break_before=["a", "c"])
    paused(server, run, ("a", "before"))
    act(server, run, "parameters", step="a", parameters={"n": "5"})
    act(server, run, "continue")
    paused(server, run, ("c", "before"))
    reply = server.post(f"/v1/runs/{run}/retry", {})
    assert reply.status == 409 and "has not ended" in reply.json["message"]
    assert server.post(f"/v1/runs/{run}/stop").status == 200
    found = finish(server, run, "terminated")
    assert (found["paused"], states(server, run)["c"]) == (0, "terminated")
    assert marks.read_text() == "a 5\nb 5\nlast\n"
    marks.write_text("")
    again = server.post(f"/v1/runs/{run}/retry", {}).json["id"]
    found = finish(server, again, "succeeded")  # breakpoints are those of the retry: none
    assert marks.read_text() == "c 5\nlast\n" and found["changed_parameters"] == {"a": {"n": 5}}
    marks.write_text("")
    other = server.post(f"/v1/runs/{again}/retry", {"parameters": {"a.n": 1}, "break_after": ["b"]}).json["id"]
    paused(server, other, ("b", "after"))
    act(server, other, "continue")
    assert finish(server, other, "succeeded")["changed_parameters"] == {}
    assert marks.read_text() == "a 1\nb 1\nc 1\nlast\n"


def test_breakpoints_come_and_go_and_what_cannot_be_done_is_said(server, marks):
    run = create(server, chain(marks), break_before=["a"])
    paused(server, run, ("a", "before"))
    act(server, run, "breakpoints", before=["c"], after=["b"])
    act(server, run, "breakpoints", before=["a"], after=["b"], remove=True)
    paused(server, run, ("a", "before"))  # it stays paused
    assert (show(server, run)["break_before"], show(server, run)["break_after"]) == (["c"], [])
    assert "no component 'x'" in act(server, run, "breakpoints", 400, before=["x"])
    assert "no breakpoint after 'b'" in act(server, run, "breakpoints", 404, after=["b"], remove=True)
    assert "is not paused at step 'b'" in act(server, run, "continue", 409, step="b")
    assert "no parameter 'm'" in act(server, run, "parameters", 400, step="a", parameters={"m": 1})
    assert "must be a whole number" in act(server, run, "parameters", 400, step="a", parameters={"n": "x"})
    assert "without templates" in act(server, run, "parameters", 400, step="a", parameters={"n": "{{b.n}}"})
    act(server, run, "continue")
    paused(server, run, ("c", "before"))
    assert "is not paused at step 'a'" in act(server, run, "parameters", 409, step="a", parameters={"n": 2})
    act(server, run, "continue")
    finish(server, run, "succeeded")
    assert "has ended" in act(server, run, "continue", 409)
    reply = server.post("/v1/runs", {"definition": chain(marks), "break_after": ["nothing"]})
    assert reply.status == 400 and "no component 'nothing'" in reply.json["message"]


LOOPS = """name: loops
entry_points:
  open: {command: "true", parameters: {n: 1}}
  fit: {deps: open, command: "true", loop_argument: [1, 2, 3]}
  text: {deps: open, command: "true", loop_argument: "[1, 2]"}
  never: {deps: open, command: "true", loop_argument: []}
  off: {deps: open, entry_points: {leaf: {command: "true"}}}
disabled: off
"""


@pytest.mark.parametrize(
    "place, says",
    [
        ({"break_before": ["fit-3"]}, "the loop 'fit' has 3 items, fit-0 to fit-2, so a run never pauses there"),
        ({"break_before": ["text-2"]}, "the loop 'text' has 2 items, text-0 to text-1"),
        ({"break_before": ["never-0"]}, "the loop 'never' has no items"),
        ({"break_before": ["off.leaf"]}, "'off' is disabled, so a run never pauses there"),
        ({"break_after": ["off"]}, "'off' is disabled"),
    ],
)
def test_a_breakpoint_that_the_definition_rules_out_is_refused(server, place, says):
    reply = server.post("/v1/runs", {"definition": LOOPS, **place})
    assert reply.status == 400 and says in reply.json["message"], reply.body
    run = create(server, LOOPS, break_before=["open", "fit-2"])
    paused(server, run, ("open", "before"))
    asked = {name.removeprefix("break_"): steps for name, steps in place.items()}
    assert says in act(server, run, "breakpoints", 400, **asked)
    assert server.post(f"/v1/runs/{run}/stop").status == 200
    finish(server, run, "terminated")


def test_a_breakpoint_at_what_has_begun_or_ended_is_refused(server, marks):
    """And what can still be paused is named; what is paused there already may have a breakpoint."""
    text = f"""name: late
entry_points:
  a: {{command: "echo a >> {marks}"}}
  dag:
    deps: a
    entry_points:
      fit: {{command: "true", loop_argument: [1, 2, 3, 4]}}
      use: {{deps: fit, command: "true"}}
  last: {{deps: dag, command: "true"}}
"""
    run = create(server, text, break_before=["dag.fit-2"])
    paused(server, run, ("dag.fit-2", "before"))
    wait_for(lambda: states(server, run).get("dag.fit-1") == "succeeded", PATIENCE, "the items before it")
    said = act(server, run, "breakpoints", 409, before=["a"])
    assert "breakpoint before 'a': 'a' has ended, so the run does not pause there any more" in said
    said = server.post(f"/v1/runs/{run}/breakpoints", {"before": ["a"]}).json["hint"]
    assert "Steps beside it that have not begun: last. `paddle run retry RUN --from a`" in said
    assert "breakpoint after 'a': 'a' has ended" in act(server, run, "breakpoints", 409, after=["last", "a"])
    assert "'dag' has begun" in act(server, run, "breakpoints", 409, before=["dag"])
    assert "'dag.fit' has begun" in act(server, run, "breakpoints", 409, before=["dag.fit"])
    reply = server.post(f"/v1/runs/{run}/breakpoints", {"before": ["dag.fit-1"]}).json
    assert "has ended" in reply["message"] and "Items that have not begun: fit-2 to fit-3." in reply["hint"]
    assert show(server, run)["break_after"] == []
    act(server, run, "breakpoints", before=["dag.fit-3", "dag.use", "last"], after=["dag.fit", "dag", "last"])
    act(server, run, "breakpoints", before=["dag.fit-2"], remove=True)
    act(server, run, "breakpoints", before=["dag.fit-2"])  # it is paused there
    assert server.post(f"/v1/runs/{run}/stop").status == 200
    finish(server, run, "terminated")
    reply = server.post(f"/v1/runs/{run}/retry", {"break_before": ["a"]})
    assert reply.status == 409 and f"'a' has ended in run '{run}', and the retry keeps it" in reply.json["message"]
    again = server.post(f"/v1/runs/{run}/retry", {"from": "a", "break_before": ["a"]}).json["id"]
    paused(server, again, ("a", "before"))
    assert server.post(f"/v1/runs/{again}/stop").status == 200


def test_a_breakpoint_that_a_list_rules_out_later_is_named(server, tmp_path):
    """A list that the run makes; a condition of a DAG. It is said by the run, an event and `paddle run`."""
    text = """name: later
entry_points:
  open: {command: "echo '[1, 2, 3]' > {{list}}", artifacts: {output: [list]}, parameters: {n: 1}}
  fit: {deps: open, command: "true", artifacts: {input: {items: "{{open.list}}"}}, loop_argument: "{{items}}"}
  dag: {deps: open, condition: "{{n}} > 1", parameters: {n: "{{open.n}}"}, entry_points: {leaf: {command: "true"}}}
  hold: {deps: "fit,dag", command: "true"}
"""
    run = create(server, text, break_before=["fit-7", "fit-2", "hold"], break_after=["dag.leaf"])
    paused(server, run, ("fit-2", "before"))
    expected = [
        {"step": "fit-7", "at": "before", "reason": "the loop 'fit' has 3 items"},
        {
            "step": "dag.leaf",
            "at": "after",
            "reason": "'dag' was skipped: its condition is false, or its loop has no items",
        },
    ]
    found = show(server, run)
    assert sorted(found["missed_breakpoints"], key=str) == sorted(expected, key=str)
    server.kill()
    server.start()
    act(server, run, "continue")
    paused(server, run, ("hold", "before"))
    assert show(server, run)["missed_breakpoints"] == found["missed_breakpoints"]
    assert "has 3 items" in act(server, run, "breakpoints", 409, before=["fit-3"])
    shown = server.paddle("run", "show", run, check=0).stdout
    assert "no pause before fit-7: the loop 'fit' has 3 items\n" in shown
    listed = server.paddle("run", "break", run, check=0).stdout
    assert "before fit-7 (no pause: the loop 'fit' has 3 items)\n" in listed and "before hold\n" in listed
    act(server, run, "breakpoints", before=["fit-7"], remove=True)
    assert show(server, run)["missed_breakpoints"] == [expected[1]]
    followed = server.paddle("run", "continue", run, "--follow", check=0).stdout
    assert "dag.leaf: no pause after it: 'dag' was skipped" in followed
    finish(server, run, "succeeded")
    events = [item for item in server.get(f"/v1/runs/{run}/events").json["items"] if item["kind"] == "run.missed"]
    named = [one for item in events for one in item["data"]["missed"]]
    assert sorted(named, key=str) == sorted(expected, key=str)
    assert sum(item["data"]["count"] for item in events) == 2


def test_from_the_command_line(server, marks, tmp_path):
    file = tmp_path / "chain.yaml"
    file.write_text(chain(marks))
    made = server.paddle("run", "create", "-f", str(file), "--no-package", "--break-before", "b", check=0)
    run = made.stdout.strip()
    paused(server, run, ("b", "before"))
    assert f"paused before b: `paddle run continue {run} b`" in server.paddle("run", "show", run, check=0).stdout
    assert f"{run}  chain  paused" in server.paddle("run", "list", check=0).stdout
    assert server.paddle("run", "break", run, "--after", "b", check=0).stdout == "before b\nafter b\n"
    assert "  parameter n = 1\n" in server.paddle("run", "show", run, check=0).stdout
    assert "other parameters" in server.paddle("run", "set", run, "b", "-p", "n=9", check=0).stdout
    shown = server.paddle("run", "show", run, check=0).stdout
    assert "changed: n of b is 9" in shown and "  parameter n = 9\n" in shown
    server.paddle("run", "step", run, check=0)
    paused(server, run, ("b", "after"))
    assert "paused after it" in server.paddle("run", "show", run, check=0).stdout
    followed = server.paddle("run", "continue", run, "--follow", check=0)
    assert "c: " in followed.stdout and marks.read_text() == "a 1\nb 9\nc 9\nlast\n"


def test_a_paused_component_is_shown_with_what_it_is_given(server, tmp_path):
    """Inside of a loop, with inputs of another loop; of a retry, inputs are those of the run that made them."""
    text = """name: given
entry_points:
  make: {command: "echo {{PF_LOOP_ARGUMENT}} > {{data}}", loop_argument: [1, 2], artifacts: {output: [data]}}
  outer:
    deps: make
    loop_argument: [x, y]
    artifacts: {input: {all: "{{make.data}}"}}
    entry_points:
      use:
        command: "test {{n}} = 1"
        parameters: {n: {type: int, default: 1}, rate: 0.1, long: "%s", item: "{{PF_LOOP_ARGUMENT}}"}
        artifacts: {input: {rows: "{{PF_PARENT.all}}"}}
""" % ("z" * 2000)
    run = create(server, text, break_before=["outer", "outer.use"])
    paused(server, run, ("outer", "before"))
    outer = parts(server, run)["outer"]
    made = [item["path"] for item in server.get(f"/v1/artifacts?run={run}&type=output").json["items"]]
    assert outer["inputs"] == {"all": ",".join(sorted(made))}
    act(server, run, "continue")
    paused(server, run, ("outer-0.use", "before"), ("outer-1.use", "before"))
    act(server, run, "parameters", step="outer-1.use", parameters={"n": 2})
    first, second = [item["children"][0] for item in parts(server, run)["outer"]["children"]]
    assert first["parameters"] == {"n": 1, "rate": 0.1, "long": "z" * 1000 + "...", "item": "x"}
    assert second["parameters"] == first["parameters"] | {"n": 2, "item": "y"}
    assert first["inputs"] == {"rows": outer["inputs"]["all"]} == second["inputs"]
    act(server, run, "continue")
    finish(server, run, "failed")
    again = server.post(f"/v1/runs/{run}/retry", {"break_before": ["outer.use"], "parameters": {"outer.use.n": 1}})
    again = again.json["id"]
    wait_for(lambda: pauses(server, again), PATIENCE, "the retry to pause")
    items = parts(server, again)["outer"]["children"]
    given = [item["children"][0]["inputs"] for item in items if item["children"][0].get("paused")]
    assert given and all(each == first["inputs"] for each in given)
    assert server.post(f"/v1/runs/{again}/stop").status == 200
    finish(server, again, "terminated")


def test_a_paused_step_holds_no_slot(server, marks):
    """R-22: with one slot, the others of the run go on."""
    text = f"""name: slots
parallelism: 1
entry_points:
  a: {{command: "echo a >> {marks}"}}
  b: {{command: "echo b >> {marks}"}}
  c: {{deps: b, command: "echo c >> {marks}"}}
"""
    run = create(server, text, break_before=["a"])
    paused(server, run, ("a", "before"))
    wait_for(lambda: marks.read_text() == "b\nc\n", PATIENCE, "the others")
    act(server, run, "continue")
    finish(server, run, "succeeded")
    assert marks.read_text() == "b\nc\na\n"


def test_a_retry_from_a_step_with_a_parameter(server, marks, tmp_path):
    """From the command line; what succeeded before the step is kept."""
    file = tmp_path / "chain.yaml"
    file.write_text(chain(marks))
    first = server.paddle("run", "create", "-f", str(file), "--no-package", check=0).stdout.strip()
    finish(server, first, "succeeded")
    marks.write_text("")
    made = server.paddle("run", "retry", first, "--from", "c", "-p", "c.n=9", "--break-before", "c", check=0)
    again = made.stdout.strip()
    paused(server, again, ("c", "before"))
    kept = nodes(server, again)
    assert (kept["a"]["run"], kept["b"]["run"], marks.read_text()) == (first, first, "")
    server.paddle("run", "continue", again, check=0)
    finish(server, again, "succeeded")
    assert marks.read_text() == "c 9\nlast\n"
    refused = server.paddle("run", "retry", again, "--from", "d", check=2)
    assert "there is no component 'd' in entry_points" in refused.stderr
    diff = server.paddle("run", "diff", first, again).stdout
    assert "c.n" in diff and "9" in diff


def test_diff_shows_what_was_changed_at_a_pause(server, marks):
    first = create(server, chain(marks))
    finish(server, first, "succeeded")
    second = create(server, chain(marks), break_before=["b"])
    paused(server, second, ("b", "before"))
    act(server, second, "parameters", step="b", parameters={"n": 7})
    act(server, second, "continue")
    finish(server, second, "succeeded")
    lines = [line.split() for line in server.paddle("run", "diff", first, second).stdout.splitlines()]
    assert ["b.n", "{{a.n}}", "7"] in lines


def test_a_paused_run_goes_on_after_an_upgrade(make_server):
    """src/store/test/state-17.sql says what it was told before."""
    run = "f1dw5bb6037tg6tq"
    server = make_server("--cpus", "4", start=False)
    with contextlib.closing(sqlite3.connect(server.state / "paddle.db")) as database:
        database.executescript((ROOT / "src/store/test/state-17.sql").read_text())
    server.start()
    wait_for(lambda: sorted(pauses(server, run)) == [("b", "before"), ("loop-1", "before")], PATIENCE, "the pauses")
    found = show(server, run)
    assert (found["break_before"], found["break_after"]) == (["b", "loop-1"], ["last"])
    assert found["changed_parameters"] == {"b": {"n": 7}}
    assert states(server, run) == {"a": "succeeded", "loop-0": "succeeded"}
    act(server, run, "continue")
    paused(server, run, ("last", "after"))
    act(server, run, "continue")
    finish(server, run, "succeeded")
    assert set(states(server, run)) == {"a", "b", "loop-0", "loop-1", "loop-2", "last"}
    logs = server.paddle("run", "logs", run, check=0).stdout
    assert "b 7" in logs and "last 7" in logs


# -- kills


STEPS = 5


def long_chain(marks):
    """s0 to s4; each has the parameter of the one before, and appends its name with it to `marks`."""
    steps = [f'  s0: {{parameters: {{n: {{type: int, default: 100}}}}, command: "echo s0 {{{{n}}}} >> {marks}"}}']
    steps += [
        f'  s{i}: {{deps: s{i - 1}, parameters: {{n: "{{{{s{i - 1}.n}}}}"}}, command: "echo s{i} {{{{n}}}} >> {marks}"}}'
        for i in range(1, STEPS)
    ]
    return "name: kills\nentry_points:\n" + "\n".join(steps) + "\n"


def struck(server, dice, path, body):
    """Sends a request, kills the server with -9 about when it is done, and starts it again. The reply, or None."""
    replies = []

    def send():
        with contextlib.suppress(OSError, http.client.HTTPException):
            replies.append(server.post(path, body))

    thread = threading.Thread(target=send)
    thread.start()
    time.sleep(dice.uniform(0, 0.02))  # a kill at a random moment needs a random wait
    server.kill()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    server.start()
    return replies[0] if replies else None


def set_under_kill(server, dice, run, step, value):
    """Until it is stored; an acknowledged change is never lost."""
    reply = struck(server, dice, f"/v1/runs/{run}/parameters", {"step": step, "parameters": {"n": value}})
    paused(server, run, (step, "before"))
    there = show(server, run)["changed_parameters"].get(step) == {"n": value}
    assert there or reply is None, reply.body
    if not there:
        act(server, run, "parameters", step=step, parameters={"n": value})


def continue_under_kill(server, dice, run, step, after):
    """Until it has gone on; an acknowledged continuation is never lost, and none counts twice."""
    reply = struck(server, dice, f"/v1/runs/{run}/continue", {"step": step})
    if reply is None and (step, "before") in pauses(server, run):
        act(server, run, "continue", step=step)
    if after:
        paused(server, run, (after, "before"))
    assert reply is None or reply.status == 200, reply.body


def test_kills_in_pauses(make_server, marks, seed):
    """While a run is paused, while it is changed, while it goes on, and while it is retried: no step runs twice, and each
    with the parameter that it was given last."""
    dice, kills = random.Random(seed), 6
    server = make_server("--cpus", "8")
    breaks = [f"s{i}" for i in range(STEPS)]
    run = create(server, long_chain(marks), break_before=breaks)
    for i in range(STEPS):
        paused(server, run, (f"s{i}", "before"))
        if kills > 2 and i % 2 == 0:
            set_under_kill(server, dice, run, f"s{i}", i)
            kills -= 1
        else:
            act(server, run, "parameters", step=f"s{i}", parameters={"n": i})
        if kills > 2 and i < STEPS - 1:
            continue_under_kill(server, dice, run, f"s{i}", f"s{i + 1}")
            kills -= 1
        else:
            act(server, run, "continue")
    finish(server, run, "succeeded")
    assert marks.read_text() == "".join(f"s{i} {i}\n" for i in range(STEPS))

    marks.write_text("")
    body = {"from": "s3", "break_before": ["s3", "s4"], "parameters": {"s3.n": 33}}
    reply = struck(server, dice, f"/v1/runs/{run}/retry", body)
    again = [found["id"] for found in server.get("/v1/runs?name=kills").json["items"] if found["id"] != run]
    assert len(again) <= 1 and (reply is None or again == [reply.json["id"]])
    again = again[0] if again else server.post(f"/v1/runs/{run}/retry", body).json["id"]
    paused(server, again, ("s3", "before"))
    continue_under_kill(server, dice, again, "s3", "s4")
    act(server, again, "continue")
    finish(server, again, "succeeded")
    assert marks.read_text() == "s3 33\ns4 4\n"  # s4 keeps what it was given
