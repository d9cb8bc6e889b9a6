"""The cache of steps: what is reused, what is not, and what says why. Runs of one server; each test has names of its own."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PATIENCE, server_of_module, wait_for
from sse import follow_run
from test_run_again import retry, taken
from test_run_files import create, post
from test_runs import finish, nodes, running, show, states

server = server_of_module("--cpus", "64")


def chain(name, marks, cache="enable: true", code=0, make="echo data"):
    """`fit` reads what `make` writes; both append their names to `marks`."""
    return f"""name: {name}
cache: {{{cache}}}
entry_points:
  make:
    command: "echo make >> {marks}; {make} > {{{{data}}}}"
    artifacts: {{output: [data]}}
  fit:
    deps: make
    command: "echo fit >> {marks}; cat {{{{data}}}} > {{{{model}}}}; exit {{{{code}}}}"
    parameters: {{code: {code}}}
    artifacts: {{input: {{data: "{{{{make.data}}}}"}}, output: [model]}}
"""


def run(server, person, text, state="succeeded", **request):
    made = create(person, text, **request)
    finish(server, made, state)
    return made


def why(person, made, step):
    reply = person.get(f"/v1/runs/{made}/cache?step={step}")
    assert reply.status == 200, reply.body
    return reply.json


def changed(reason):
    return {part["name"]: part["change"] for part in reason["parts"] if part["change"] != "same"}


def entries(person, query=""):
    return person.get(f"/v1/cache?{query}").json["items"]


@pytest.fixture
def home(server, ann, marks):
    """The user's file system, which the first step with files makes."""
    if not ann.disk.exists():
        run(server, ann, chain("first", marks))
        taken(marks)
    return ann.disk


def reading(server, path):
    """The server has it open."""
    for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            if link.readlink() == path.resolve():
                return True
        except FileNotFoundError:
            pass
    return False


def output_of(person, made, name):
    items = person.get(f"/v1/artifacts?run={made}&type=output").json["items"]
    return next(person.disk / item["path"] for item in items if item["name"] == name)


def test_a_second_run_is_reused(server, ann, marks):
    """C119: no job, the outputs of the first run, and a message that says so. C118: entries without end."""
    text = chain("twice", marks)
    first, second = run(server, ann, text), run(server, ann, text)
    assert taken(marks) == ["fit", "make"]
    found = nodes(server, second)
    for step in ("make", "fit"):
        assert found[step]["cached"] and found[step]["run"] == first
        assert found[step]["message"] == f"reused from run {first}, step '{step}'"
    assert output_of(ann, second, "model") == output_of(ann, first, "model")
    assert [item["step"] for item in entries(ann, f"run={first}")] == ["make", "fit"]
    assert entries(ann, f"run={second}") == []
    reason = why(ann, second, "fit")
    assert reason["result"] == "reused" and reason["compared"]["run"] == first and not changed(reason)
    assert why(ann, first, "fit")["result"] == "ran"


def test_where_the_time_of_cached_steps_went(server, ann, marks):
    """The chain does not end at a step that the cache gave. Its time is not that of the job that once ran."""
    text = (
        chain("timed", marks, make="sleep 1; echo data")
        + "  last: {deps: fit, command: 'true', cache: {enable: false}}\n"
    )
    first = run(server, ann, text)
    second = run(server, ann, text)
    found = ann.get(f"/v1/runs/{second}/critical-path").json
    steps = {item["path"]: item for item in found["items"]}
    assert list(steps) == ["make", "fit", "last"]
    assert [item["cached"] for item in found["items"]] == [True, True, False]
    for name in ("make", "fit"):
        assert [steps[name][part] for part in ("slot_ms", "queue_ms", "prepare_ms", "run_ms")] == [0, 0, 0, 0]
        assert steps[name]["cache_ms"] <= found["total_ms"]
    parts = {item["path"]: item["cached"] for item in ann.get(f"/v1/runs/{second}/steps").json["items"]}
    assert parts == {"make": 1, "fit": 1, "last": 0}
    assert ann.get(f"/v1/runs/{second}/picture").body.decode().count(">from the cache<") == 2
    assert not any(item["cached"] for item in ann.get(f"/v1/runs/{first}/critical-path").json["items"])


def test_a_hand_changed_artifact(server, ann, marks):
    """3.13.5: a file that was changed after its step makes only the step run again that reads it. R-30: one that is gone
    is no hit."""
    text = chain("hand", marks)
    first = run(server, ann, text)
    data = output_of(ann, first, "data")
    taken(marks)
    data.write_text("by hand\n")
    second = run(server, ann, text)
    assert taken(marks) == ["fit"]
    assert output_of(ann, second, "model").read_text() == "by hand\n"
    assert changed(why(ann, second, "fit")) == {"files of input data": "differs"}
    data.unlink()
    third = run(server, ann, text)
    assert taken(marks) == ["fit", "make"]
    assert "lost its output 'data'" in why(ann, third, "make")["message"]
    assert output_of(ann, third, "model").read_text() == "data\n"


def test_what_differs_is_named(server, ann, marks):
    first = run(server, ann, chain("named", marks))
    taken(marks)
    second = run(server, ann, chain("named", marks), "failed", parameters={"fit.code": 3})
    assert taken(marks) == ["fit"]
    reason = why(ann, second, "fit")
    assert reason["compared"]["run"] == first
    assert changed(reason) == {"parameter code": "differs", "command": "differs"}
    assert "differs from entry" in reason["message"]


def test_expiry(server, ann, marks):
    """C117: an entry that has expired is none; 0 never hits."""
    text = chain("expiry", marks, "enable: true, max_expired_time: 0")
    run(server, ann, text)
    taken(marks)
    second = run(server, ann, text)
    assert taken(marks) == ["fit", "make"]
    assert "has expired" in why(ann, second, "make")["message"]


def test_scopes_and_contents(server, ann, marks, home):
    """C120 to C122: files of the global scope count for all steps; with `fingerprint: content` their times do not."""
    folder = home / "scoped"
    folder.mkdir()
    (folder / "a").write_text("1")
    os.chown(folder, home.stat().st_uid, -1)
    scope = 'fs_scope: [{name: home, path: "/scoped"}]'
    head = "fs_options: {main_fs: {name: home}}\n"
    times = head + chain("times", marks, f"enable: true, {scope}")
    contents = head + chain("contents", marks, f"enable: true, fingerprint: content, {scope}")
    for text in (times, contents):
        run(server, ann, text)
    taken(marks)
    os.utime(folder / "a", ns=(1, time.time_ns()))
    missed, hit = run(server, ann, times), run(server, ann, contents)
    assert states(server, hit) == {"make": "succeeded", "fit": "succeeded"}
    assert [nodes(server, hit)[step]["cached"] for step in ("make", "fit")] == [True, True]
    assert changed(why(ann, missed, "make")) == {"files of home:/scoped": "differs"}
    taken(marks)
    (folder / "a").write_text("2")
    missed = run(server, ann, contents)
    assert taken(marks) == ["fit", "make"]
    assert changed(why(ann, missed, "fit")) == {"files of home:/scoped": "differs"}


def test_an_empty_scope_is_the_whole_file_system(server, ann, marks, home):
    """C120: the path "" is "/"."""
    text = f"""name: root
fs_options: {{main_fs: {{name: home}}}}
entry_points:
  a:
    command: "echo a >> {marks}"
    cache: {{enable: true, fingerprint: content, fs_scope: [{{name: home, path: ""}}]}}
"""
    (home / "anything").write_text("1")
    first = run(server, ann, text)
    (entry,) = entries(ann, f"run={first}")
    assert "files of home:/" in ann.get(f"/v1/cache/{entry['id']}").json["parts"]
    (home / "anything").write_text("2")
    assert changed(why(ann, run(server, ann, text), "a"))["files of home:/"] == "differs"
    assert taken(marks) == ["a", "a"]


def test_the_newest_time_of_several_files(server, ann, marks):
    """C121: of an input that is a list of files the newest one counts; an older one may become newer up to that."""
    text = f"""name: newest
cache: {{enable: true}}
entry_points:
  part:
    loop_argument: [1, 2]
    command: "echo part >> {marks}; echo $PF_LOOP_ARGUMENT > {{{{out}}}}"
    artifacts: {{output: [out]}}
  sum:
    deps: part
    command: "echo sum >> {marks}; cat $(echo {{{{all}}}} | tr , ' ')"
    artifacts: {{input: {{all: "{{{{part.out}}}}"}}}}
"""
    first = run(server, ann, text)
    items = ann.get(f"/v1/artifacts?run={first}&type=output").json["items"]
    files = sorted((ann.disk / item["path"] for item in items), key=lambda path: path.stat().st_mtime_ns)
    assert len(files) == 2
    run(server, ann, text)
    assert taken(marks) == ["part", "part", "sum"]
    os.utime(files[0], ns=(1, files[1].stat().st_mtime_ns - 1))
    run(server, ann, text)
    assert taken(marks) == []
    os.utime(files[0], ns=(1, files[1].stat().st_mtime_ns + 1))
    missed = run(server, ann, text)
    assert taken(marks) == ["sum"]
    assert changed(why(ann, missed, "sum")) == {"files of input all": "differs"}


def test_contents_of_another_definition(server, ann, marks):
    """A step that made the same again does not make those behind it run; and an edited definition is no other source."""
    run(server, ann, chain("edited", marks, "enable: true, fingerprint: content"))
    taken(marks)
    run(server, ann, chain("edited", marks, "enable: true, fingerprint: content", make="echo other"))
    assert taken(marks) == ["fit", "make"]
    run(server, ann, chain("edited", marks, "enable: true, fingerprint: content", make="printf 'data\\\\n'"))
    assert taken(marks) == ["make"]


def test_a_hand_changed_artifact_by_content(server, ann, marks):
    """With `fingerprint: content` the same holds: the step behind it runs, and is reused when the file is as it was."""
    text = chain("hand-content", marks, "enable: true, fingerprint: content")
    first = run(server, ann, text)
    data = output_of(ann, first, "data")
    data.write_text("by hand\n")
    taken(marks)
    second = run(server, ann, text)
    assert taken(marks) == ["fit"]
    assert output_of(ann, second, "model").read_text() == "by hand\n"
    assert changed(why(ann, second, "fit")) == {"files of input data": "differs"}
    data.write_text("data\n")
    third = run(server, ann, text)
    assert taken(marks) == []
    assert output_of(ann, third, "model") == output_of(ann, first, "model")


UNKNOWN = "its files cannot be compared with those of earlier steps: "
HINT = "; `fingerprint: time` compares their times instead"


@pytest.mark.parametrize(
    "kind, reason",
    [("sparse", "they have more than 256 GiB" + HINT), ("fifo", "'fifo/x' is neither a file nor a directory" + HINT)],
)
def test_files_that_are_not_compared(server, ann, marks, home, kind, reason):
    """A file that is too long to be read, or that has no end, makes the step run, and the step says so."""
    folder = home / kind
    folder.mkdir(mode=0o755)
    if kind == "sparse":
        subprocess.run(["truncate", "-s", "15T", folder / "x"], check=True)
    else:
        os.mkfifo(folder / "x", 0o644)
    text = "fs_options: {main_fs: {name: home}}\n" + chain(
        f"unknown-{kind}", marks, f"enable: true, fingerprint: content, fs_scope: [{{name: home, path: {kind}}}]"
    )
    for _ in range(2):
        made = run(server, ann, text)
        assert taken(marks) == ["fit", "make"]
        assert nodes(server, made)["make"]["message"] == f"not reused: {UNKNOWN}{reason}"
        said = why(ann, made, "make")
        assert said["message"] == f"the step was not reused: {UNKNOWN}{reason}" and said["parts"] == []
    told = ann.paddle("run", "explain-cache", made, "make").stdout
    assert told == f"make: the step was not reused: {UNKNOWN}{reason}\n"
    (folder / "x").unlink()
    (folder / "x").write_text("x")
    run(server, ann, text)
    taken(marks)
    last = run(server, ann, text)
    assert taken(marks) == []
    assert nodes(server, last)["make"]["message"].startswith("reused from run")


def test_a_stop_while_files_are_read(server, ann, marks, home):
    """Contents that take long hold up neither the end of the run nor other files of the user."""
    folder = home / "slow"
    folder.mkdir(mode=0o755)
    subprocess.run(["truncate", "-s", "200G", folder / "x"], check=True)
    text = "fs_options: {main_fs: {name: home}}\n" + chain(
        "reading", marks, "enable: true, fingerprint: content, fs_scope: [{name: home, path: slow}]"
    )
    made = [create(ann, text) for _ in range(6)]
    run(server, ann, chain("beside", marks))
    assert taken(marks) == ["fit", "make"]
    for one in made:
        assert states(server, one) == {}
        assert post(ann, f"/v1/runs/{one}/stop", {}).status == 200
        finish(server, one, "terminated")
    wait_for(lambda: not reading(server, folder / "x"), PATIENCE, "the server to close the file")
    (folder / "x").unlink()


def test_a_path_that_cannot_be_read(server, ann, marks):
    """3.13.3: RE-04."""
    text = "fs_options: {main_fs: {name: home}}\n" + chain(
        "gone", marks, "enable: true, fs_scope: [{name: home, path: nothing/there}]"
    )
    made = run(server, ann, text, "failed")
    assert nodes(server, made)["make"]["message"].startswith("RE-04: ")
    assert taken(marks) == []


@pytest.mark.parametrize("which", [0, 1])
def test_a_failure_is_replayed_but_not_in_its_retry(server, ann, marks, which):
    """3.13.5, R-27: neither the failure of a run that is retried counts, nor one that it had replayed."""
    text = chain(f"failing-{which}", marks, code=5)
    first = run(server, ann, text, "failed")
    taken(marks)
    second = run(server, ann, text, "failed")
    assert taken(marks) == []
    said = nodes(server, second)["fit"]["message"]
    assert "which failed: " in said and "5" in said.split("which failed: ")[1], said
    entry = said.split("`paddle cache delete ")[1].split("`")[0]
    assert f"`paddle run retry {second}`" in said and server.get(f"/v1/cache/{entry}").status == 200
    again = retry(server, (first, second)[which])
    finish(server, again, "failed")
    assert taken(marks) == ["fit"]
    assert "a run that this one retries" in why(ann, again, "fit")["message"]


STATES = """name: NAME
cache: {enable: true}
failure_options: {strategy: continue}
entry_points:
  kept: {command: "true"}
  breaks: {deps: kept, command: "test ! -e BROKEN", cache: {enable: false}}
  false: {condition: "1 > 2", command: "true"}
  off: {command: "true"}
  lost: {command: "true", cache: {fs_scope: [{name: home, path: nothing/there}]}}
  d: {deps: breaks, loop_argument: [1], entry_points: {each: {loop_argument: [1, 2], command: "true"}}}
disabled: "off"
fs_options: {main_fs: {name: home}}
post_process:
  last: {command: "true"}
"""


def test_a_step_without_an_entry_is_told_why(server, ann, tmp_path):
    """Each reason is the one that holds: kept by a retry, switched off, skipped, disabled, failed, deleted."""
    broken = tmp_path / "broken"
    broken.touch()
    tmp_path.chmod(0o755)
    text = STATES.replace("NAME", "states").replace("BROKEN", str(broken))
    first = run(server, ann, text, "failed")
    broken.unlink()
    second = retry(server, first)
    finish(server, second, "failed")  # `lost` still is
    third = retry(server, second)
    finish(server, third, "failed")

    def told(made, step):
        reason = why(ann, made, step)
        assert (reason["entry"], reason["compared"], reason["parts"]) == (None, None, [])
        return reason["result"], reason["message"]

    for made in (second, third):
        assert told(made, "kept") == ("kept", f"kept by a retry from run {first}: the cache was not asked")
    assert told(third, "breaks") == ("kept", f"kept by a retry from run {second}: the cache was not asked")
    assert told(first, "breaks") == ("ran", "the cache is off for this step")
    assert told(first, "last") == ("ran", "a step of post_process does not use the cache")
    for step in ("false", "off"):
        assert told(first, step) == ("none", "the step was skipped: the cache was not asked")
    result, message = told(first, "lost")
    assert result == "none" and message.startswith("the step failed before its job was submitted: RE-04"), message
    (entry,) = entries(ann, f"run={first}")
    assert server.request("DELETE", f"/v1/cache/{entry['id']}", headers=ann.headers).status == 204
    assert told(first, "kept") == ("ran", "the entry of this step was deleted, or has expired")
    assert why(ann, second, "d-0.each-1")["message"].startswith("the step was not reused: ")
    assert server.request("DELETE", f"/v1/runs/{first}?force=true", headers=ann.headers).status == 204
    wait_for(lambda: nodes(server, third)["kept"]["run"] is None, PATIENCE, "the first run to be deleted")
    assert told(third, "kept") == ("kept", "kept by a retry from an earlier run: the cache was not asked")


def test_only_steps_that_have_begun_are_explained(server, ann, marks):
    text, go = slow("explained", marks)
    first = create(ann, text)
    running(server, first, "wait")

    def refused(made, step, status):
        reply = ann.get(f"/v1/runs/{made}/cache?step={step}")
        assert reply.status == status, reply.body
        return reply.json["message"] + reply.json["hint"]

    assert why(ann, first, "wait")["result"] == "ran"
    assert "no step 'other' that has begun" in refused(first, "other", 404)
    assert post(ann, f"/v1/runs/{first}/stop", {}).status == 200
    finish(server, first, "terminated")
    reason = why(ann, first, "other")
    assert (reason["result"], reason["message"]) == ("none", "the step was stopped before its job was submitted")
    looped = run(server, ann, STATES.replace("NAME", "none").replace("BROKEN", str(go)), "failed")
    assert "'d-0' of run" in refused(looped, "d-0", 400) and "is a DAG" in refused(looped, "d-0", 400)
    assert "'d-0.each-0'" in refused(looped, "d-0.each", 400)
    assert "'d-0'" in refused(looped, "d", 400)
    inside = refused(looped, "d.each", 400)
    assert "'d.each' is inside of a loop: name one of its items, such as 'd-0.each-0'" in inside
    assert "Did you mean 'd.each'?" in refused(looped, "each", 404)
    assert "Did you mean 'kept'?" in refused(looped, "kpt", 404)
    assert "Did you mean 'd.each'?" in ann.paddle("run", "logs", looped, "each", check=1).stderr
    assert "Did you mean 'kept'?" in ann.paddle("run", "logs", looped, "kpt", check=1).stderr


SLOW = """name: NAME
cache: {enable: true}
parallelism: 1
entry_points:
  wait: {command: "echo wait >> MARKS; while test ! -e GO; do sleep 0.05; done; echo x > {{out}}; exit CODE",
    artifacts: {output: [out]}}
  other: {command: "echo other >> MARKS; test -z ''", cache: {enable: false}}
"""


def slow(name, marks, code=0):
    go = marks.parent / f"{name}-go"
    text = SLOW.replace("NAME", name).replace("MARKS", str(marks)).replace("GO", str(go))
    return text.replace("CODE", str(code)), go


def test_a_job_that_still_runs_is_waited_for(server, ann, marks):
    """3.13.5, R-22: the second run waits without a slot, also over a kill, and ends with the job."""
    text, go = slow("waited", marks)
    first = create(ann, text)
    running(server, first, "wait")
    second = create(ann, text)
    wait_for(lambda: states(server, second).get("other") == "succeeded", PATIENCE, "the step behind the one that waits")
    assert show(server, second)["state"] == "running"
    server.kill()
    server.start()
    go.touch()
    for made in (first, second):
        finish(server, made, "succeeded")
    assert taken(marks) == ["other", "other", "wait"]
    assert nodes(server, second)["wait"]["cached"]


def test_who_follows_sees_the_lines_of_what_is_reused_later(server, ann, marks):
    """Their job is older than those that the follower has seen."""
    go = marks.with_name("go")
    text = f"""name: followed
cache: {{enable: true}}
entry_points:
  gate:
    cache: {{enable: false}}
    command: "echo waits; until [ -e {go} ]; do sleep 0.1; done"
  first: {{deps: gate, command: "echo one"}}
  second: {{deps: first, command: "echo two"}}
"""
    go.touch()
    run(server, ann, text)
    go.unlink()
    made = create(ann, text)
    running(server, made, "gate")
    lines, cursor, kind = [], None, None
    while kind != "end":
        with follow_run(server, made, cursor=cursor) as stream:  # a new one for each event
            event = next(iter(stream))
        cursor, kind = event.id, event.kind
        lines.append((event.data.get("step"), event.data.get("text")))
        go.touch()
    assert lines[:-1] == [("gate", "waits\n"), ("first", "one\n"), ("second", "two\n")]
    assert nodes(server, made)["first"]["cached"]


def test_a_job_that_was_stopped_is_none(server, ann, marks):
    """R-28: whoever waited for it runs the step itself."""
    text, go = slow("stopped", marks)
    first = create(ann, text)
    running(server, first, "wait")
    second = create(ann, text)
    wait_for(lambda: states(server, second).get("other") == "succeeded", PATIENCE, "the step behind the one that waits")
    assert post(ann, f"/v1/runs/{first}/stop", {}).status == 200
    finish(server, first, "terminated")
    running(server, second, "wait")
    go.touch()
    finish(server, second, "succeeded")
    assert not nodes(server, second)["wait"]["cached"]
    assert output_of(ann, second, "out").read_text() == "x\n" and second in str(output_of(ann, second, "out"))
    assert "was stopped" in why(ann, second, "wait")["message"]


def test_two_runs_fill_one_entry_at_once(server, ann, marks):
    """R-29 between runs: each has its own outputs or those of the other, never some of both."""
    text = chain("racing", marks)
    made = [create(ann, text) for _ in range(4)]
    for one in made:
        finish(server, one, "succeeded")
    for one in made:
        paths = {str(output_of(ann, one, name)).split(".pipeline/")[1].split("/")[0] for name in ("data", "model")}
        assert len(paths) <= 2 and output_of(ann, one, "model").read_text() == "data\n"
    last = run(server, ann, text)
    assert all(node["cached"] for node in nodes(server, last).values())


def test_deletion(server, ann, marks):
    """R-30, C114: a run that gave results stays, or goes with its entries; what was taken stays listed."""
    text = chain("deleted", marks)
    first, second = run(server, ann, text), run(server, ann, text)
    taken(marks)
    refused = server.request("DELETE", f"/v1/runs/{first}", headers=ann.headers)
    assert refused.status == 409 and second in refused.json["message"]
    forced = server.request("DELETE", f"/v1/runs/{first}?force=true", headers=ann.headers)
    assert forced.status == 204, forced.body
    assert entries(ann, f"run={second}") == []
    assert not [item for item in entries(ann) if item["run"] == first]
    third = run(server, ann, text)
    assert taken(marks) == ["fit", "make"]
    (one, _) = entries(ann, f"run={third}")
    assert ann.get(f"/v1/cache/{one['id']}").json["parts"]["image"]
    assert server.request("DELETE", f"/v1/cache/{one['id']}", headers=ann.headers).status == 204
    assert ann.get(f"/v1/cache/{one['id']}").status == 404


def test_items_of_a_loop(server, ann, marks):
    """R-26: each item has a fingerprint of its own, and takes its own result."""
    text = f"""name: looped
cache: {{enable: true}}
entry_points:
  each: {{loop_argument: [1, 2, 3], command: "echo $PF_LOOP_ARGUMENT >> {marks}"}}
"""
    first, second = run(server, ann, text), run(server, ann, text)
    assert taken(marks) == ["1", "2", "3"]
    assert [nodes(server, second)[f"each-{i}"]["message"] for i in range(3)] == [
        f"reused from run {first}, step 'each-{i}'" for i in range(3)
    ]
    again = retry(server, second, **{"from": "each"})
    finish(server, again, "succeeded")
    assert taken(marks) == []


def test_files_of_a_directory_that_differ_are_named(ann, tmp_path):
    definition = tmp_path / "pipeline.yaml"
    definition.write_text(
        "name: files\nentry_points: {fit: {command: python3 fit.py, cache: {enable: true, fingerprint: content}}}\n"
    )
    (tmp_path / "fit.py").write_text("print(1)\n")
    (tmp_path / "old.py").write_text("print(1)\n")

    def made():
        done = ann.paddle("run", "create", "-f", definition, check=0).stdout.strip()
        ann.paddle("run", "wait", done, check=0)
        return done

    made()
    (tmp_path / "fit.py").write_text("print(2)\n")
    (tmp_path / "old.py").unlink()
    for number in range(3):
        (tmp_path / f"lib{number}.py").write_text("")
    reason = why(ann, made(), "fit")
    assert "package: fit.py differs, lib0.py is new, lib1.py is new and 2 more files" in reason["message"]
    assert {file["path"]: file["change"] for file in reason["files"]} == {
        "fit.py": "differs",
        "lib0.py": "new",
        "lib1.py": "new",
        "lib2.py": "new",
        "old.py": "gone",
    }


def test_an_edited_definition_is_named(server, ann, marks):
    run(server, ann, chain("words", marks))
    said = why(ann, run(server, ann, chain("words", marks, make="echo more")), "make")["message"]
    assert (
        "source: the definition was edited, or is another stored version; `cache: {fingerprint: content}` ignores that"
        in said
    )


def test_the_verbs(server, ann, marks, tmp_path):
    text = chain("verbs", marks)
    first, second = run(server, ann, text), run(server, ann, text)
    shown = ann.paddle("run", "show", second).stdout
    assert f"reused from run {first}, step 'fit'" in shown and "kept from" not in shown
    told = ann.paddle("run", "explain-cache", second, "fit").stdout
    assert told.startswith(f"fit: reused from run {first}, step 'fit'\n") and "image" in told
    assert "no earlier step 'make'" in ann.paddle("run", "explain-cache", first, "make").stdout
    (make, fit) = ann.paddle("cache", "list", "--run", first, "-o", "name").stdout.split()
    assert json.loads(ann.paddle("cache", "show", make, "-o", "json").stdout)["step"] == "make"
    assert ann.paddle("cache", "delete", make, fit).stdout.count("is deleted") == 2


def test_breakpoints_and_the_cache(server, ann, marks):
    """A run pauses before a step that then is a hit, and after one that was. A parameter that is changed there is another
    fingerprint: the old result is no hit."""
    text = chain("paused", marks)
    first = run(server, ann, text)
    taken(marks)

    def pause_at(made, step, at):
        wait_for(lambda: show(server, made)["pauses"] == [{"step": step, "at": at}], PATIENCE, f"the pause {at} {step}")

    def post_to(made, what, **body):
        assert post(ann, f"/v1/runs/{made}/{what}", body).status == 200

    second = create(ann, text, break_before=["fit"], break_after=["make"])
    pause_at(second, "make", "after")
    assert nodes(server, second)["make"]["run"] == first
    post_to(second, "continue")
    pause_at(second, "fit", "before")
    assert "fit" not in nodes(server, second)
    post_to(second, "continue")
    finish(server, second, "succeeded")
    assert nodes(server, second)["fit"]["run"] == first and taken(marks) == []

    third = create(ann, text, break_before=["fit"])
    pause_at(third, "fit", "before")
    post_to(third, "parameters", step="fit", parameters={"code": 3})
    post_to(third, "continue")
    finish(server, third, "failed")
    assert taken(marks) == ["fit"] and changed(why(ann, third, "fit"))["parameter code"] == "differs"
