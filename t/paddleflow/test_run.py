"""2.12 runs, 2.14 pipelines, 2.16 logs of runs."""

import base64
import hashlib
import os
import pathlib
import re
import tempfile

import pytest
from conftest import PATIENCE, wait_for

from paddleflow.client import LOCAL_TIME, case, check, fresh, good, has_keys, matches, pages, refused, table

BRIEF = (
    "runID name source username fsName description scheduleID runMsg status scheduledTime createTime activateTime "
    "updateTime"
)
DETAIL = (
    "runID name source username fsName fsOptions description parameters runYaml runtime postProcess failureOptions "
    "dockerEnv disabled scheduleID runMsg status runCachedIDs createTime activateTime updateTime"
)
STEP = (
    "jobID name type stepName parentDagID command parameters env extraFS startTime endTime status deps dockerEnv "
    "artifacts cache jobMessage cacheRunID cacheJobID"
)
DAG = "id name type dagName parentDagID deps parameters artifacts startTime endTime status message entryPoints"
PIPELINE = "pipelineID name desc username createTime updateTime"
VERSION = "pipelineVersionID pipelineID fsName yamlPath pipelineYaml username createTime updateTime"
FINAL = ("succeeded", "failed", "terminated")

TREE = """name: NAME
entry_points:
  first: {command: "echo out-{{n}}", parameters: {n: 1}}
  loop: {command: "echo {{PF_LOOP_ARGUMENT}}", loop_argument: [x, y], deps: first}
  inner:
    deps: first
    entry_points:
      leaf: {command: "true"}
post_process:
  last: {command: "true"}
"""
LONG = 'name: NAME\nentry_points:\n  wait: {command: "sleep 600"}\n'
SHORT = 'name: NAME\nentry_points:\n  a: {command: "exit {{code}}", parameters: {code: 0}}\n'


def coded(text):
    return base64.b64encode(text.encode()).decode()


def named(text, name=None):
    return text.replace("NAME", name or fresh("p"))


def create(flow, text, who="root", **about):
    reply = good(flow.post("/run", {"runYamlRaw": coded(text), **about}, who=who), 201).json
    has_keys(reply, "runID")
    matches(r"run-\d{6,}", reply["runID"])
    return reply["runID"]


def show(flow, run, who="root"):
    return good(flow.get(f"/run/{run}", who=who)).json


def finish(flow, run, who="root"):
    wait_for(lambda: show(flow, run, who)["status"] in FINAL, PATIENCE, "the run's end")
    return show(flow, run, who)


def store(flow, text, who="root", **about):
    return good(flow.post("/pipeline", {"yamlRaw": coded(text), **about}, who=who), 201).json


# -- runs


def test_steps_without_a_queue_go_to_the_default_one(flow):
    """3.17, as a job that names none."""
    queue = flow.make_queue()
    text = f"""name: {fresh("p")}
entry_points:
  a: {{command: "true"}}
  b: {{command: "true", env: {{PF_JOB_QUEUE_NAME: {queue}}}}}
"""
    steps = {"a": {"command": "true"}, "b": {"command": "true", "queue": queue}}
    body = {"name": fresh("p"), "entryPoints": steps}
    for found in (
        finish(flow, create(flow, text)),
        finish(flow, good(flow.post("/runjson", body), 201).json["runID"]),
    ):
        jobs = [good(flow.get(f"/job/{found['runtime'][step][0]['jobID']}"), message=True).json for step in "ab"]
        assert [job["schedulingPolicy"]["queue"] for job in jobs] == ["default-queue", queue]


def test_a_step_needs_a_grant_on_its_queue(flow):
    user = flow.make_user("sam")
    found = finish(flow, create(flow, named(SHORT), who=user), user)
    assert found["status"] == "failed"
    assert "queue 'default-queue' is not granted" in found["runtime"]["a"][0]["jobMessage"]


def test_a_paused_step_looks_pending(flow):
    """Breakpoints are those of /v1: for older clients the run runs, and what is paused before it begins has no job yet."""
    text = named(TREE)
    body = {"definition": text, "break_before": ["loop", "inner.leaf"], "break_after": ["first"]}
    made = flow.server.post("/v1/runs", body).json["id"]

    def paused(*steps):
        found = flow.server.get(f"/v1/runs/{made}").json
        return [pause["step"] for pause in found["pauses"]] == list(steps) and found["paused"] == len(steps)

    name = re.search("name: (.*)", text)[1]
    wait_for(lambda: paused("first"), PATIENCE, "the pause after the first step")
    (listed,) = good(flow.get(f"/run?nameFilter={name}")).json["runList"]
    run = listed["runID"]
    assert listed["status"] == "running"
    found = show(flow, run)
    assert (found["status"], found["runtime"]["first"][0]["status"]) == ("running", "succeeded")
    assert flow.server.post(f"/v1/runs/{made}/continue", {}).status == 200
    wait_for(lambda: paused("loop", "inner.leaf"), PATIENCE, "the pauses before the others")
    runtime = show(flow, run)["runtime"]
    (loop,), (leaf,) = runtime["loop"], runtime["inner"][0]["entryPoints"]["leaf"]
    for step in (loop, leaf):
        has_keys(step, STEP)
        assert (step["status"], step["jobID"], step["startTime"]) == ("pending", "", "")
    assert flow.server.post(f"/v1/runs/{made}/continue", {}).status == 200
    assert finish(flow, run)["status"] == "succeeded"


def test_the_whole_of_a_run(flow):
    text = named(TREE)
    run = create(flow, text, desc="why", parameters={"first.n": "2"})
    found = finish(flow, run)
    has_keys(found, DETAIL)
    assert found["status"] == "succeeded"
    assert found["description"] == "why"
    assert found["parameters"] == {"first.n": "2"}
    assert found["runYaml"] == text
    assert found["failureOptions"] == {"strategy": "fail_fast"}
    matches(LOCAL_TIME, found["createTime"])
    runtime = found["runtime"]
    assert list(runtime) == ["first", "loop", "inner"]
    assert [len(nodes) for nodes in runtime.values()] == [1, 2, 1]
    first = runtime["first"][0]
    has_keys(first, STEP)
    assert first["command"] == "echo out-2"
    assert first["parameters"] == {"n": "2"}
    assert first["name"] == f"{run}-first"
    assert first["status"] == "succeeded"
    assert first["jobID"].startswith(f"job-{run}-first-")
    assert first["artifacts"] == {"input": {}, "output": {}}
    matches(rf"dag-{run}-[0-9a-f]{{16}}", first["parentDagID"])
    assert [node["command"] for node in runtime["loop"]] == ["echo x", "echo y"]
    assert [node["name"] for node in runtime["loop"]] == [f"{run}-loop", f"{run}-loop-1"]
    assert runtime["loop"][0]["deps"] == "first"
    inner = runtime["inner"][0]
    has_keys(inner, DAG)
    assert list(inner["entryPoints"]) == ["leaf"]
    leaf = inner["entryPoints"]["leaf"][0]
    assert leaf["parentDagID"] == inner["id"]
    has_keys(found["postProcess"]["last"], STEP)
    job = good(flow.get(f"/job/{first['jobID']}"), message=True).json
    assert job["id"] == first["jobID"]
    assert job["status"] == "succeeded"


def test_a_large_run_comes_as_a_stream(flow):
    items = ", ".join(map(str, range(1200)))
    run = create(
        flow, named(f'name: NAME\nentry_points:\n  a: {{command: c, condition: "1 > 2", loop_argument: [{items}]}}\n')
    )
    found = finish(flow, run)
    nodes = found["runtime"]["a"]
    assert len(nodes) == 1200
    assert {node["status"] for node in nodes} == {"skipped"}
    assert [node["parameters"] for node in nodes[:2]] == [{}, {}]
    assert {node["jobID"] for node in nodes} == {""}
    assert nodes[7]["env"]["PF_LOOP_ARGUMENT"] == "7"


def test_what_never_began_is_cancelled(flow):
    run = create(flow, named('name: NAME\nentry_points:\n  a: {command: "exit 3"}\n  b: {command: c, deps: a}\n'))
    found = finish(flow, run)
    assert found["status"] == "failed"
    assert found["runtime"]["a"][0]["jobMessage"]
    assert [node["status"] for node in found["runtime"]["b"]] == ["cancelled"]


def test_source_is_of_the_values(flow):
    name = fresh("p")
    one = create(flow, named(SHORT, name))
    other = create(flow, "# the same\n" + named(SHORT, name).replace('"exit {{code}}"', "'exit {{code}}'"))
    third = create(flow, named(SHORT, name).replace("code: 0", "code: 1"))
    sources = [show(flow, run)["source"] for run in (one, other, third)]
    assert sources[0] == sources[1] != sources[2]
    assert all(re.fullmatch(r"[0-9a-f]{32}", source) for source in sources)


def test_json(flow):
    body = {
        "name": fresh("p"),
        "description": "as JSON",
        "entryPoints": {"a": {"command": "true"}, "b": {"command": "true", "deps": "a"}},
        "failureOptions": {"strategy": "continue"},
    }
    run = good(flow.post("/runjson", body), 201).json["runID"]
    found = finish(flow, run)
    assert found["status"] == "succeeded"
    assert found["description"] == "as JSON"
    assert found["failureOptions"] == {"strategy": "continue"}


def test_stop(flow):
    """C112, C113: a run that goes on is neither deleted nor retried; one that has ended is not stopped."""
    run = create(flow, named(LONG))
    wait_for(lambda: show(flow, run)["runtime"].get("wait", [{}])[0].get("status") == "running", PATIENCE, "the step")
    says = f"run '{run}' has not ended: only a run that has ended can be"
    assert refused(flow.delete(f"/run/{run}"), "ActionNotAllowed")["message"] == f"{says} deleted"
    assert refused(flow.put(f"/run/{run}?action=retry"), "ActionNotAllowed")["message"] == f"{says} retried"
    good(flow.put(f"/run/{run}?action=stop", {"stopForce": True}), empty=True)
    assert finish(flow, run)["status"] == "terminated"
    refused(flow.put(f"/run/{run}?action=stop"), "ActionNotAllowed")
    good(flow.call("DELETE", f"/run/{run}", {"checkCache": None}), empty=True)
    refused(flow.get(f"/run/{run}"), "RunNotFound")


STUBBORN = """name: NAME
entry_points:
  wait:
    parameters: {go: /}
    command: "trap '' TERM; touch {{go}}.up; while [ ! -e {{go}} ]; do sleep 0.05; done"
post_process:
  last: {command: echo last}
"""


def test_a_second_stop(flow, tmp_path):
    """C113: a run that is being stopped takes no second stop, unless it adds force; then post_process does not run."""
    tmp_path.chmod(0o777)
    go = tmp_path / "go"
    run = create(flow, named(STUBBORN), parameters={"go": str(go)})
    wait_for((tmp_path / "go.up").exists, PATIENCE, "the step")
    good(flow.put(f"/run/{run}?action=stop"), empty=True)
    assert show(flow, run)["status"] == "terminating"
    refused(flow.put(f"/run/{run}?action=stop", {"stopForce": False}), "ActionNotAllowed")
    good(flow.put(f"/run/{run}?action=stop", {"stopForce": True}), empty=True)
    go.touch()
    found = finish(flow, run)
    assert found["status"] == "terminated" and found["postProcess"]["last"]["status"] == "cancelled", found


MENDED = """name: NAME
entry_points:
  a: {command: echo once}
  b: {deps: a, command: "test ! -e {{broken}}", parameters: {broken: /}}
"""


def test_retry(flow, tmp_path):
    """C112; R-33: a run whose results another one keeps is deleted only without checkCache (C114)."""
    broken = tmp_path / "broken"
    broken.touch()
    stored = store(flow, named(MENDED))["pipelineID"]
    which = {"pipelineID": stored, "desc": "kept", "parameters": {"b.broken": str(broken)}}
    first = good(flow.post("/run", which), 201).json["runID"]
    assert finish(flow, first)["status"] == "failed"
    broken.unlink()
    second = good(flow.put(f"/run/{first}?action=retry")).json["runID"]
    assert second != first
    found = finish(flow, second)
    assert found["status"] == "succeeded"
    assert (found["source"], found["description"]) == (f"{stored}-1", "kept")
    assert found["runYaml"] == show(flow, first)["runYaml"]
    kept = found["runtime"]["a"][0]["jobID"]
    assert kept == show(flow, first)["runtime"]["a"][0]["jobID"] != ""
    assert good(flow.get(f"/job/{kept}"), message=True).json["status"] == "succeeded"
    assert kept in {log["jobID"] for log in good(flow.get(f"/log/run/{second}")).json["runLog"]}
    says = f"run '{second}' has succeeded: there is nothing to retry. Create another run of its pipeline."
    assert refused(flow.put(f"/run/{second}?action=retry"), "ActionNotAllowed")["message"] == says
    refused(flow.put(f"/run/{first}?action=again"), "InvalidArguments")
    says = f"run '{first}' cannot be deleted: run '{second}' keeps results of it, as a retry or from the cache"
    reply = flow.call("DELETE", f"/run/{first}", {"checkCache": True})
    assert refused(reply, "ActionNotAllowed")["message"] == says
    good(flow.call("DELETE", f"/run/{first}", {"checkCache": False}), empty=True)
    assert show(flow, second)["runYaml"] == found["runYaml"]


def test_the_own_interface_takes_these_ids(flow):
    """A name that looks like one comes first."""
    run = create(flow, named(TREE))
    found = flow.server.get(f"/v1/runs/{run}").json
    assert flow.server.get(f"/v1/runs/{found['id']}").json["id"] == found["id"] != run
    finish(flow, run)
    other = flow.server.post(
        "/v1/runs", {"definition": f"name: {run}\nentry_points: {{a: {{command: 'true'}}}}\n"}
    ).json
    assert flow.server.get(f"/v1/runs/{run}").json["id"] == other["id"]
    assert flow.server.get("/v1/runs/run-999999").status == 404


# -- files


@pytest.fixture
def make_fs(flow, tmp_path):
    """A file system of root's; its name and directory."""

    def make(who="root"):
        name = fresh("fs")
        (tmp_path / name).mkdir()
        good(flow.post("/fs", {"name": name, "url": f"local:/{tmp_path / name}"}, who=who), 201)
        return name, tmp_path / name

    return make


ARTIFACT = "md5 runID fsname username artifactPath step jobID type artifactName meta createTime updateTime"
FILES = """name: NAME
entry_points:
  make:
    command: "echo 1 > {{one}}; mkdir {{two}}; echo 2 > {{two}}/2"
    artifacts: {output: [one, two]}
  use:
    deps: make
    artifacts: {input: {got: "{{make.one}}"}, output: [sum]}
    command: "test ! -e {{broken}} && cat {{got}} > {{sum}}"
    parameters: {broken: /}
"""


def listed(flow, query, who="root"):
    reply = good(flow.get(f"/artifact?maxKeys=1000&{query}", who=who)).json
    return [(item["step"], item["type"], item["artifactName"]) for item in reply["artifactEventList"]]


def test_artifacts(flow, alice, make_fs):
    name, path = make_fs()
    run = create(flow, named(FILES), fsname=name, parameters={"broken": "/none"}, name=fresh("other"))
    found = finish(flow, run)
    assert found["status"] == "succeeded", found
    make, use = (found["runtime"][step][0] for step in ("make", "use"))
    assert use["artifacts"]["input"] == {"got": make["artifacts"]["output"]["one"]}
    assert (path / use["artifacts"]["output"]["sum"]).read_text() == "1\n"  # shown where it is
    items = good(flow.get(f"/artifact?runFilter={run}")).json["artifactEventList"]
    for item in items:
        has_keys(item, ARTIFACT)
        assert (item["runID"], item["fsname"], item["username"]) == (run, name, "root")
        matches(LOCAL_TIME, item["createTime"])
    assert [(item["step"], item["type"], item["artifactName"]) for item in items] == [
        ("make", "output", "one"),
        ("make", "output", "two"),
        ("use", "input", "got"),
        ("use", "output", "sum"),
    ]
    assert [item["artifactPath"] for item in items[:3]] == [
        *make["artifacts"]["output"].values(),
        make["artifacts"]["output"]["one"],
    ]
    assert [item["jobID"] for item in items] == [make["jobID"]] * 2 + [use["jobID"]] * 2
    again = create(flow, named(FILES), fsname=name, parameters={"broken": "/none"})
    finish(flow, again)
    every = pages(flow, f"/artifact?fsFilter={name}", "artifactEventList", "artifactPath")
    assert len(every) == 8 and every[:4] == [item["artifactPath"] for item in items]
    assert listed(flow, f"fsFilter={name}&typeFilter=input") == [("use", "input", "got")] * 2
    assert listed(flow, f"userFilter=root&pathFilter={items[0]['artifactPath']}") == [
        ("make", "output", "one"),
        ("use", "input", "got"),
    ]
    below = items[0]["artifactPath"].rpartition("/")[0]
    assert listed(flow, f"pathFilter={below}/") == [
        ("make", "output", "one"),
        ("make", "output", "two"),
        ("use", "input", "got"),
    ]
    assert listed(flow, f"pathFilter={below}/on") == []
    assert listed(flow, f"runFilter={run},{again}&typeFilter=output&userFilter={alice}") == []
    assert listed(flow, f"userFilter=root&runFilter={run}", who=alice) == []  # replaced by the caller


CACHE = "cacheID firstFp secondFp runID source jobID fsname username expiredTime strategy custom createTime updateTime"


def caches(flow, query, who="root"):
    return good(flow.get(f"/runCache?{query}", who=who)).json["runCacheList"]


def test_the_cache_of_steps(flow, alice, make_fs):
    """2.13, and C114: what a run took is not deleted unless it is said."""
    fs, _ = make_fs()
    text = named(FILES).replace("entry_points", "cache: {enable: true, max_expired_time: 300}\nentry_points")
    first = create(flow, text, fsName=fs, parameters={"use.broken": "none"})
    made = finish(flow, first)["runtime"]
    second = create(flow, text, fsName=fs, parameters={"use.broken": "none"})
    found = finish(flow, second)
    assert found["status"] == "succeeded"
    for step in ("make", "use"):
        taken, (was,) = found["runtime"][step][0], made[step]
        assert (taken["jobID"], taken["cacheRunID"], taken["cacheJobID"]) == ("", first, was["jobID"])
        assert taken["artifacts"] == was["artifacts"]
        assert (was["cacheRunID"], was["cacheJobID"]) == ("", "")
    assert show(flow, first)["runCachedIDs"] == second
    rows = caches(flow, f"runFilter={first}&fsFilter={fs}")
    assert [row["jobID"] for row in rows] == [made["make"][0]["jobID"], made["use"][0]["jobID"]]
    has_keys(rows[0], CACHE)
    assert rows[0]["expiredTime"] == "300" and rows[0]["strategy"] == "conservative"
    assert rows[0]["source"] == show(flow, first)["source"] and rows[0]["username"] == "root"
    matches(r"cch-\d{6,}", rows[0]["cacheID"])
    assert caches(flow, f"runFilter={second}") == [] == caches(flow, f"runFilter={first}", who=alice)
    one = rows[0]["cacheID"]
    assert good(flow.get(f"/runCache/{one}")).json == rows[0]
    for reply in (flow.get(f"/runCache/{one}", who=alice), flow.delete(f"/runCache/{one}", who=alice)):
        refused(reply, "AccessDenied")
        assert reply.json["message"] == f"run cache '{one}' is not of '{alice}'"  # nothing of whose it is
    refused(flow.get("/runCache/cch-999999"), "RunCacheNotFound")
    refused(flow.delete(f"/run/{first}"), "ActionNotAllowed")
    good(flow.delete(f"/runCache/{one}"), empty=True)
    refused(flow.get(f"/runCache/{one}"), "RunCacheNotFound")
    good(flow.delete(f"/run/{first}", body={"checkCache": False}), empty=True)
    assert caches(flow, f"runFilter={first}") == []


MERGED = """name: NAME
fs_options:
  main_fs: {name: MAIN, sub_path: in}
  extra_fs: [{name: OTHER, mount_path: /mnt-all, read_only: true}]
cache: {enable: true, max_expired_time: 400, fs_scope: [{name: MAIN, path: "in,code"}]}
entry_points:
  plain: {command: "true"}
  own:
    command: "true"
    extra_fs: [{name: OTHER, mount_path: /mnt-own, sub_path: data}]
    cache: {max_expired_time: "600", fs_scope: [{name: OTHER, id: ignored}]}
  referring: {reference: {component: shared}}
components:
  shared: {command: "true", cache: {enable: false}}
post_process:
  last: {command: "true"}
"""


def test_settings_of_the_definition_are_shown_with_each_step(flow, make_fs):
    """1.6, 1.9, C120, C122: a step's own scopes and mounts are followed by those of the definition; 1.7: ids of file
    systems. The cache of the definition is not for post_process."""
    main, path = make_fs()
    other, other_path = make_fs()
    for folder in (path / "in", path / "code", other_path / "data"):
        folder.mkdir()
    text = named(MERGED).replace("MAIN", main).replace("OTHER", other)
    found = finish(flow, create(flow, text))
    assert found["status"] == "succeeded", found

    def mount(name, mount_path="", sub_path="", read_only=False):
        about = {"mountPath": mount_path, "subPath": sub_path, "readOnly": read_only}
        return {"id": f"fs-root-{name}", "name": name, **about}

    everywhere, scope = (
        mount(other, "/mnt-all", read_only=True),
        {"name": main, "id": f"fs-root-{main}", "path": "in,code"},
    )
    assert found["fsOptions"] == {"mainFS": mount(main, sub_path="in"), "extraFS": [everywhere]}
    steps = {name: step for name, (step,) in found["runtime"].items()} | found["postProcess"]
    assert {name: step["extraFS"] for name, step in steps.items()} == {
        "plain": [everywhere],
        "own": [mount(other, "/mnt-own", "data"), everywhere],
        "referring": [everywhere],
        "last": [everywhere],
    }
    assert {name: step["cache"] for name, step in steps.items()} == {
        "plain": {"enable": True, "maxExpiredTime": "400", "fsScope": [scope]},
        "own": {
            "enable": True,
            "maxExpiredTime": "600",
            "fsScope": [{"name": other, "id": f"fs-root-{other}", "path": "/"}, scope],
        },
        "referring": {"enable": False, "maxExpiredTime": "400", "fsScope": [scope]},
        "last": {"enable": False, "maxExpiredTime": "-1", "fsScope": []},
    }


def test_the_list_of_the_cache(flow, make_fs):
    """2.13, 1.8: pages in the order of the entries; filters; only root sees entries of others."""
    text = named('name: NAME\ncache: {enable: true}\nentry_points:\n  a: {command: "true", loop_argument: [1, 2, 3]}\n')
    user = flow.make_user("cacher")
    flow.grant(user, "default-queue")
    fs, _ = make_fs()
    mine, other = create(flow, text, fsName=fs), create(flow, text, who=user)
    for run, who in ((mine, "root"), (other, user)):
        assert finish(flow, run, who)["status"] == "succeeded"

    def ids(query, who="root"):
        return [row["cacheID"] for row in caches(flow, f"maxKeys=1000&{query}", who)]

    ours, hers = ids(f"runFilter={mine}"), ids(f"runFilter={other}")
    assert (len(ours), len(hers)) == (3, 3) and ours == sorted(ours)
    assert ids(f"runFilter={other},{mine}") == sorted(ours + hers)
    assert ids(f"userFilter={user}") == hers == ids("", user) == ids("userFilter=root", user)
    assert set(ours) <= set(ids("userFilter=root")) and not set(hers) & set(ids("userFilter=root"))
    assert set(ours + hers) <= set(ids(f"userFilter=root,{user}")) <= set(ids(""))
    assert ids(f"fsFilter={fs}") == ours == ids(f"fsFilter=none,{fs}&userFilter=root")
    assert ids(f"fsFilter={fs}&runFilter={other}") == [] == ids(f"runFilter={mine}", user) == ids("userFilter=none")
    assert pages(flow, f"/runCache?runFilter={mine},{other}", "runCacheList", "cacheID") == sorted(ours + hers)
    assert pages(flow, "/runCache?", "runCacheList", "cacheID", who=user) == hers
    page = good(flow.get(f"/runCache?runFilter={mine}&maxKeys=3")).json
    has_keys(page, "maxKeys isTruncated runCacheList")  # all fit
    assert (page["maxKeys"], page["isTruncated"]) == (3, False)
    assert good(flow.get("/runCache")).json["maxKeys"] == 50


def test_an_artifact_is_deleted(flow, alice, make_fs):
    name, path = make_fs()
    run = create(flow, named(FILES), fsname=name, parameters={"broken": "/none"})
    two = finish(flow, run)["runtime"]["make"][0]["artifacts"]["output"]["two"]
    query = f"/artifact?fsname={name}&runID={run}&path={two}"
    for part in (f"fsname={name}", f"runID={run}", f"path={two}"):
        refused(flow.delete(query.replace(part, "other=1")), "InvalidURI")
    refused(flow.delete(query, who=alice), "AccessDenied")
    refused(flow.delete(query + "&username=root", who=alice), "AuthIllegalUser")
    refused(flow.delete(query + f"&username={alice}"), "ArtifactEventNotFound")
    refused(flow.delete(query.replace(name, "other")), "ArtifactEventNotFound")
    refused(flow.delete(query + "/2"), "ArtifactEventNotFound")
    refused(flow.delete(query.replace(run, "run-999999")), "RunNotFound")
    assert (path / two / "2").exists()
    good(flow.delete(query), empty=True)
    assert not (path / two).exists() and (path / two).parent.exists()
    assert ("make", "output", "two") not in listed(flow, f"runFilter={run}")
    refused(flow.delete(query), "ArtifactEventNotFound")


def test_artifacts_of_a_retry(flow, make_fs):
    """What a retry keeps is shown where the earlier run has put it."""
    name, path = make_fs()
    broken = path / "broken"
    broken.touch()
    first = create(flow, named(FILES), fsname=name, parameters={"broken": str(broken)})
    earlier = finish(flow, first)
    assert earlier["status"] == "failed"
    broken.unlink()
    second = good(flow.put(f"/run/{first}?action=retry")).json["runID"]
    found = finish(flow, second)
    assert found["status"] == "succeeded", found
    kept, use = (found["runtime"][step][0] for step in ("make", "use"))
    before = earlier["runtime"]["make"][0]
    assert (kept["artifacts"], kept["command"]) == (before["artifacts"], before["command"])
    assert use["artifacts"]["input"] == {"got": before["artifacts"]["output"]["one"]}
    assert (path / use["artifacts"]["output"]["sum"]).read_text() == "1\n"
    assert use["artifacts"]["output"] != earlier["runtime"]["use"][0]["artifacts"]["output"]
    kept = [("make", "output", name) for name in sorted(before["artifacts"]["output"])]
    assert listed(flow, f"runFilter={second}") == [*kept, ("use", "input", "got"), ("use", "output", "sum")]


def test_a_definition_on_a_file_system(flow, make_fs):
    name, path = make_fs()
    (path / "run.yaml").write_text(named(SHORT))
    (path / "sub").mkdir()
    (path / "sub/other.yaml").write_text(named(SHORT).replace("code: 0", "code: 3"))
    run = create_at(flow, fsname=name)
    found = finish(flow, run)
    assert (found["status"], found["source"], found["fsName"]) == ("succeeded", "./run.yaml", name)
    assert found["runYaml"] == (path / "run.yaml").read_text()
    other = finish(flow, create_at(flow, fsname=name, runYamlPath="sub/other.yaml"))
    assert (other["status"], other["source"]) == ("failed", "sub/other.yaml")

    def failed(code, **about):
        refused(flow.post("/run", {"fsname": name, **about}), code)

    failed("ReadYamlFileFailed", runYamlPath="none.yaml")
    failed("ReadYamlFileFailed", runYamlPath="sub")
    failed("ReadYamlFileFailed", runYamlPath="../" + name + "/run.yaml")
    failed("ReadYamlFileFailed", fsname="none")
    (path / "large").write_bytes(b"#" * (16 * 1024 * 1024 + 1))
    failed("ReadYamlFileFailed", runYamlPath="large")
    (path / "binary").write_bytes(b"\xff")
    failed("ReadYamlFileFailed", runYamlPath="binary")
    (path / "outside").symlink_to("/etc/hostname")
    failed("ReadYamlFileFailed", runYamlPath="outside")
    (path / "wrong").write_text("name: x\n")
    failed("InvalidPipeline", runYamlPath="wrong")
    failed("InvalidNamePattern", runYamlPath="none.yaml", name="1x")


def create_at(flow, who="root", **about):
    return good(flow.post("/run", about, who=who), 201).json["runID"]


def test_a_stored_pipeline_from_a_file_system(flow, make_fs):
    name, path = make_fs()
    stored = fresh("p")
    (path / "run.yaml").write_text(named(FILES, stored))
    made = good(flow.post("/pipeline", {"fsname": name}), 201).json
    assert made["name"] == stored
    one = f"/pipeline/{made['pipelineID']}"
    (path / "next.yaml").write_text(named(FILES, stored) + "# next\n")
    again = good(flow.post(one, {"fsname": name, "yamlPath": "next.yaml"}), 201).json
    assert again["pipelineVersionID"] == "2"
    version = good(flow.get(one + "/2")).json["pipelineVersion"]
    assert (version["fsName"], version["yamlPath"]) == (name, "next.yaml")
    assert version["pipelineYaml"] == (path / "next.yaml").read_text()
    first = good(flow.get(f"{one}?fsFilter={name}")).json["pplVersions"]["pplVersionList"][0]
    assert first["yamlPath"] == "./run.yaml"
    run = create_at(flow, pipelineID=made["pipelineID"], parameters={"broken": "/none"})
    found = finish(flow, run)
    assert (found["status"], found["fsName"], found["source"]) == ("succeeded", name, f"{made['pipelineID']}-2")
    refused(flow.post("/pipeline", {"fsname": name, "yamlPath": "none"}), "ReadYamlFileFailed")
    refused(flow.post(one, {"fsname": name, "yamlPath": "none"}), "ReadYamlFileFailed")
    refused(flow.post("/pipeline", {"fsname": "none"}), "ReadYamlFileFailed")


def test_a_stored_pipeline_whose_file_system_is_gone(flow, make_fs):
    name, path = make_fs()
    (path / "run.yaml").write_text(named(FILES))
    made = good(flow.post("/pipeline", {"fsname": name}), 201).json
    good(flow.delete(f"/fs/{name}"), empty=True)
    reply = flow.post("/run", {"pipelineID": made["pipelineID"]})
    refused(reply, "InvalidArguments")
    assert f"'{name}'" in reply.json["message"]


def test_a_stored_pipeline_with_its_directory(flow, tmp_path):
    """The steps of its runs begin in the directory that was stored with the version, whoever creates them."""
    name = fresh("p")
    (tmp_path / "say.py").write_text("print('from the stored directory')\n")
    (tmp_path / "run.yaml").write_text(f"name: {name}\nentry_points:\n  say: {{command: python3 say.py}}\n")
    made = flow.server.paddle("pipeline", "create", tmp_path / "run.yaml", check=0)
    assert made.stdout == f"{name}@1\n"
    (stored,) = good(flow.get(f"/pipeline?nameFilter={name}")).json["pipelineList"]
    found = finish(flow, create_at(flow, pipelineID=stored["pipelineID"]))
    assert found["status"] == "succeeded", found


def test_rights_to_a_definition(flow):
    """It is read as the jobs of the owner would read it. Root may name a user, and a user may name no other one."""
    ruth = flow.make_user("ruth")  # lists of alice's runs are counted
    with tempfile.TemporaryDirectory(dir="/mnt", prefix="paddle-test-") as made:
        path, name = pathlib.Path(made), fresh("fs")
        path.chmod(0o755)
        good(flow.post("/fs", {"name": name, "url": f"local:/{path}"}, who=ruth), 201)
        (path / "run.yaml").write_text(named(SHORT))
        (path / "run.yaml").chmod(0o644)
        assert finish(flow, create_at(flow, fsname=name, username=ruth))["username"] == ruth
        finish(flow, create_at(flow, ruth, fsname=name))
        refused(flow.post("/run", {"fsname": name}), "ReadYamlFileFailed")  # root has none of this name
        refused(flow.post("/run", {"fsname": name, "username": "root"}, who=ruth), "AuthIllegalUser")
        if os.geteuid() == 0:
            (path / "run.yaml").chmod(0o600)
            refused(flow.post("/run", {"fsname": name}, who=ruth), "ReadYamlFileFailed")


def test_file_systems_of_a_definition(flow, make_fs):
    (name, path), (other, path_of_other) = make_fs(), make_fs()
    (path / "file").touch()
    text = named(SHORT) + "fs_options: {main_fs: {name: FS, sub_path: file}}\n"

    def failed(code, text, **about):
        refused(flow.post("/run", {"runYamlRaw": coded(text), **about}), code)

    failed("InvalidArguments", text.replace("FS", name))
    failed("InvalidArguments", text.replace("FS", "none"))
    failed("InvalidArguments", text.replace("FS", name).replace("file}", "other}"), fsname=other)
    body = {"fsname": other, "yamlPath": "run.yaml"}
    (path_of_other / "run.yaml").write_text(text.replace("FS", name))
    refused(flow.post("/pipeline", body), "InvalidArguments")
    finish(flow, create(flow, text.replace("FS", name).replace("file}", "other}")))


# -- lists and logs


def test_lists(flow, alice):
    flow.grant(alice, "default-queue")
    names = [fresh("listed") for _ in range(3)]
    runs = [create(flow, named(SHORT, name), who=alice, parameters={"code": str(i)}) for i, name in enumerate(names)]
    for run in runs:
        finish(flow, run, alice)
    found = pages(flow, "/run", "runList", "runID", who=alice)
    assert [run for run in found if run in runs] == runs
    shown = good(flow.get("/run?maxKeys=1000", who=alice)).json["runList"]
    has_keys(shown[0], BRIEF)
    assert {item["username"] for item in shown} == {alice}

    def ids(query, who="root"):
        return [item["runID"] for item in good(flow.get("/run?maxKeys=1000&" + query, who=who)).json["runList"]]

    assert ids(f"nameFilter={names[1]},{names[2]}") == runs[1:]
    assert ids(f"runFilter={runs[0]}") == runs[:1]
    assert ids(f"userFilter={alice}&statusFilter=failed") == runs[1:]
    assert ids("statusFilter=pending") == []
    assert ids("userFilter=root", who=alice) == ids("", who=alice)  # replaced by the caller
    refused(flow.get(f"/run/{create(flow, named(SHORT))}", who=alice), "AccessDenied")


def test_logs(flow):
    run = create(flow, named(TREE))
    finish(flow, run)
    found = good(flow.get(f"/log/run/{run}")).json
    has_keys(found, "submitLog runLog runID")
    assert "run.created" in found["submitLog"]
    by_id = {log["jobID"]: log for log in found["runLog"]}
    assert len(by_id) == 5
    first = show(flow, run)["runtime"]["first"][0]["jobID"]
    assert by_id[first]["taskList"][0]["logInfo"] == {
        "logContent": "out-1\n",
        "hasNextPage": False,
        "truncated": False,
    }
    only = good(flow.get(f"/log/run/{run}?jobID={first}")).json["runLog"]
    assert [log["jobID"] for log in only] == [first]


def test_pages_of_a_log(flow):
    run = create(flow, named('name: NAME\nentry_points:\n  a: {command: "seq 1 250"}\n'))
    finish(flow, run)

    def page(query):
        log = good(flow.get(f"/log/run/{run}?{query}")).json["runLog"][0]["taskList"][0]["logInfo"]
        return log["logContent"].split(), log["hasNextPage"]

    assert page("pageNo=1&pageSize=100") == ([str(i) for i in range(151, 251)], True)
    assert page("pageNo=3&pageSize=100") == ([str(i) for i in range(1, 51)], False)
    assert page("logFilePosition=begin&pageNo=2&pageSize=100") == ([str(i) for i in range(101, 201)], True)
    assert page("logFilePosition=begin&pageNo=3&pageSize=100") == ([str(i) for i in range(201, 251)], False)
    assert page("logFilePosition=begin&pageNo=4&pageSize=100") == ([], False)


# -- pipelines


def test_pipelines(flow):
    name = fresh("stored")
    made = store(flow, named(SHORT, name), desc="first")
    has_keys(made, "pipelineID pipelineVersionID name")
    matches(r"ppl-\d{6,}", made["pipelineID"])
    assert (made["name"], made["pipelineVersionID"]) == (name, "1")
    one = f"/pipeline/{made['pipelineID']}"
    refused(flow.post("/pipeline", {"yamlRaw": coded(named(SHORT, name))}), "DuplicatedName")
    again = good(flow.post(one, {"yamlRaw": coded(named(LONG, name)), "desc": "second"}), 201).json
    assert again == {"pipelineID": made["pipelineID"], "pipelineVersionID": "2"}
    refused(flow.post(one, {"yamlRaw": coded(named(SHORT))}), "InvalidArguments")
    found = good(flow.get(one + "?maxKeys=1")).json
    has_keys(found, "pipeline pplVersions")
    has_keys(found["pipeline"], PIPELINE)
    assert found["pipeline"]["desc"] == "second"
    versions = found["pplVersions"]
    assert versions["isTruncated"]
    has_keys(versions["pplVersionList"][0], VERSION)
    assert versions["pplVersionList"][0]["pipelineYaml"] == named(SHORT, name)
    rest = good(flow.get(f"{one}?marker={versions['nextMarker']}")).json["pplVersions"]
    assert [item["pipelineVersionID"] for item in rest["pplVersionList"]] == ["2"]
    assert "nextMarker" not in rest
    version = good(flow.get(one + "/2")).json
    has_keys(version, "pipeline pipelineVersion")
    assert version["pipelineVersion"]["pipelineYaml"] == named(LONG, name)
    good(flow.delete(one + "/2"), empty=True)
    refused(flow.delete(one + "/1"), "ActionNotAllowed")
    refused(flow.get(one + "/2"), "PipelineNotFound")
    good(flow.delete(one), empty=True)
    refused(flow.get(one), "PipelineNotFound")


def test_runs_of_a_stored_pipeline(flow):
    made = store(flow, named(SHORT))
    good(flow.post(f"/pipeline/{made['pipelineID']}", {"yamlRaw": coded(named(LONG, made["name"]))}), 201)
    body = {"pipelineID": made["pipelineID"], "pipelineVersionID": "1", "parameters": {"code": "3"}}
    run = good(flow.post("/run", body), 201).json["runID"]
    found = finish(flow, run)
    assert found["status"] == "failed"
    assert found["source"] == f"{made['pipelineID']}-1"
    newest = good(flow.post("/run", {"pipelineID": made["pipelineID"]}), 201).json["runID"]
    assert show(flow, newest)["source"] == f"{made['pipelineID']}-2"
    good(flow.put(f"/run/{newest}?action=stop", {"stopForce": True}), empty=True)


def test_lists_of_pipelines(flow, alice):
    names = [fresh("mine") for _ in range(3)]
    ids = [store(flow, named(SHORT, name), who=alice)["pipelineID"] for name in names]
    found = pages(flow, "/pipeline", "pipelineList", "pipelineID", who=alice)
    assert [item for item in found if item in ids] == ids
    query = f"/pipeline?userFilter={alice}&nameFilter={names[0]},%20{names[2]}"
    assert [item["name"] for item in good(flow.get(query)).json["pipelineList"]] == [names[0], names[2]]
    refused(flow.get(query, who=alice), "AccessDenied")
    refused(flow.get(f"/pipeline/{store(flow, named(SHORT))['pipelineID']}", who=alice), "AccessDenied")


REFUSED = [
    case("2.12 POST not JSON", "POST", "/run", "{", "MalformedJSON"),
    case("2.12 POST nothing", "POST", "/run", {}, "InvalidArguments"),
    case("2.12 POST base64", "POST", "/run", {"runYamlRaw": "%%"}, "MalformedYaml"),
    case("2.12 POST no pipeline", "POST", "/run", {"runYamlRaw": coded("name: x\n")}, "InvalidPipeline"),
    case("2.12 POST wrong name", "POST", "/run", {"runYamlRaw": coded(SHORT), "name": "1x"}, "InvalidNamePattern"),
    case("2.12 POST no such fs", "POST", "/run", {"runYamlRaw": coded(SHORT), "fsname": "no"}, "InvalidArguments"),
    case("2.12 POST unknown pipeline", "POST", "/run", {"pipelineID": "ppl-999999"}, "PipelineNotFound"),
    case(
        "2.12 POST parameter",
        "POST",
        "/run",
        {"runYamlRaw": coded(SHORT), "parameters": {"no": "1"}},
        "InvalidPipeline",
    ),
    case("2.12 runjson null", "POST", "/runjson", "null", "InvalidPipeline"),
    case("2.12 runjson list", "POST", "/runjson", "[]", "MalformedJSON"),
    case("2.12 GET unknown", "GET", "/run/run-999999", None, "RunNotFound"),
    case("2.12 GET no id", "GET", "/run/x", None, "RunNotFound"),
    case("2.12 PUT no action", "PUT", "/run/run-999999", None, "InvalidArguments"),
    case("2.12 PUT unknown", "PUT", "/run/run-999999?action=stop", None, "RunNotFound"),
    case("2.12 DELETE unknown", "DELETE", "/run/run-999999", None, "RunNotFound"),
    case("2.12 marker", "GET", "/run?marker=x", None, "InvalidMarker"),
    case("2.12 maxKeys", "GET", "/run?maxKeys=0", None, "InvalidURI"),
    case("2.14 POST not JSON", "POST", "/pipeline", "{", "InvalidHTTPRequest"),
    case("2.14 POST nothing", "POST", "/pipeline", {}, "InvalidArguments"),
    case("2.13 GET maxKeys 0", "GET", "/runCache?maxKeys=0", None, "InvalidURI"),
    case("2.13 GET maxKeys 1001", "GET", "/runCache?maxKeys=1001", None, "InvalidURI"),
    case("2.13 GET maxKeys text", "GET", "/runCache?maxKeys=x", None, "InvalidURI"),
    case("2.13 GET marker", "GET", "/runCache?marker=zz", None, "InvalidMarker"),
    case("2.13 GET maxKeys and marker", "GET", "/runCache?marker=zz&maxKeys=0", None, "InvalidURI"),
    case("2.14 POST both", "POST", "/pipeline", {"yamlRaw": coded(SHORT), "fsname": "x"}, "InvalidArguments"),
    case("2.14 POST desc", "POST", "/pipeline", {"yamlRaw": coded(SHORT), "desc": "x" * 257}, "InvalidArguments"),
    case("2.14 POST base64", "POST", "/pipeline", {"yamlRaw": "%%"}, "Decode base64"),
    case("2.14 POST no pipeline", "POST", "/pipeline", {"yamlRaw": coded("name: x\n")}, "InvalidPipeline"),
    case("2.14 POST unknown", "POST", "/pipeline/ppl-999999", {"yamlRaw": coded(SHORT)}, "PipelineNotFound"),
    case("2.14 GET unknown", "GET", "/pipeline/ppl-999999", None, "PipelineNotFound"),
    case("2.14 DELETE unknown", "DELETE", "/pipeline/ppl-999999", None, "PipelineNotFound"),
    case("2.16 unknown", "GET", "/log/run/run-999999", None, "RunNotFound"),
    case("2.16 position", "GET", "/log/run/run-999999?logFilePosition=middle", None, "InvalidURI"),
]


@table(REFUSED)
def test_refused(flow, row):
    check(flow, row)


def test_hash_of_versions(flow):
    """A text that is stored twice is one; deleting one version leaves the other its text."""
    name = fresh("twice")
    text = named(SHORT, name)
    made = store(flow, text)
    one = f"/pipeline/{made['pipelineID']}"
    good(flow.post(one, {"yamlRaw": coded(text)}), 201)
    good(flow.delete(one + "/1"), empty=True)
    left = good(flow.get(one + "/2")).json["pipelineVersion"]["pipelineYaml"]
    assert hashlib.sha256(left.encode()).digest() == hashlib.sha256(text.encode()).digest()
