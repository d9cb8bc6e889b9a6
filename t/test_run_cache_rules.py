"""What is no hit in the cache of steps although the step is the same: another user, another source, a job that is gone, a
failure in the chain of a retry; steps that do not use it; and the lists of its entries."""

import contextlib
import sqlite3

import pytest
from conftest import server_of_module
from test_run_again import retry, taken
from test_run_cache import changed, entries, run, why
from test_run_files import post
from test_runs import finish, nodes

server = server_of_module("--cpus", "64")


TIMES, CONTENTS = "enable: true", "enable: true, fingerprint: content"


def one(name, marks, cache=TIMES, more=""):
    return f"name: {name}\ncache: {{{cache}}}\nentry_points:\n  a: {{command: 'echo a >> {marks}'}}\n{more}"


def cached(server, made):
    return {path: node["cached"] for path, node in nodes(server, made).items()}


@pytest.mark.parametrize("cache", [TIMES, CONTENTS])
def test_users_share_no_results(server, ann, bob, marks, cache):
    """The same step of another user is no hit, also if it mounts nothing; and nothing of it is told."""
    text = one("shared-" + cache[-4:], marks, cache)
    first = run(server, ann, text)
    other = run(server, bob, text)
    assert taken(marks) == ["a", "a"]
    reason = why(bob, other, "a")
    assert (reason["result"], reason["compared"]) == ("ran", None)
    for person, made in ((ann, first), (bob, other)):
        again = run(server, person, text)
        assert taken(marks) == []
        assert nodes(server, again)["a"]["run"] == made
        assert {entry["user"] for entry in entries(person)} == {person.name}


def test_an_edited_definition_is_another_source(server, ann, marks):
    """3.13.4, R-9: the values of the definition are its source, not their spelling. With contents it does not count."""
    for cache in (TIMES, CONTENTS):
        text = one("source-" + cache[-4:], marks, cache)
        first = run(server, ann, text)
        assert taken(marks) == ["a"]
        spelt = run(server, ann, "# the same\n" + text.replace("'", '"'))
        assert taken(marks) == [] and nodes(server, spelt)["a"]["run"] == first
        edited = run(server, ann, text + "  b: {command: 'true', cache: {enable: false}}\n")
        if cache == TIMES:
            assert taken(marks) == ["a"]
            assert changed(why(ann, edited, "a")) == {"source": "differs"}
        else:
            assert taken(marks) == [] and nodes(server, edited)["a"]["run"] == first


def test_a_version_of_a_stored_pipeline_is_a_source(server, ann, marks):
    """3.13.4, 1.13: the same definition is another source as another version of a stored pipeline."""
    text = one("stored", marks)
    stored = post(ann, "/v1/pipelines", {"definition": text})
    assert stored.status == 201, stored.body
    assert post(ann, "/v1/pipelines/stored/versions", {"definition": text}).status == 201

    def run_version(version):
        reply = post(ann, "/v1/runs", {"pipeline": "stored", "version": version})
        assert reply.status == 201, reply.body
        finish(server, reply.json["id"], "succeeded")
        return reply.json["id"]

    run(server, ann, text)
    first, other = run_version(1), run_version(2)
    assert taken(marks) == ["a"] * 3
    assert changed(why(ann, other, "a")) == {"source": "differs"}
    for version, made in ((1, first), (2, other)):
        assert nodes(server, run_version(version))["a"]["run"] == made
    assert taken(marks) == []


def test_a_retry_takes_later_results(server, ann, marks, tmp_path):
    """R-27: the failure in the chain does not count, what succeeded after it does."""
    go = tmp_path / "go"
    text = f"""name: mended
cache: {{enable: true}}
entry_points:
  fit: {{command: "echo fit >> {marks}; test -e {go}"}}
"""
    first = run(server, ann, text, "failed")
    replayed = run(server, ann, text, "failed")
    assert taken(marks) == ["fit"] and nodes(server, replayed)["fit"]["run"] == first
    go.touch()
    mended = retry(server, first)
    finish(server, mended, "succeeded")
    assert taken(marks) == ["fit"]
    for earlier, about in ((first, {}), (replayed, {}), (mended, {"from": "fit"})):
        again = retry(server, earlier, **about)
        finish(server, again, "succeeded")
        assert taken(marks) == []
        assert nodes(server, again)["fit"]["message"] == f"reused from run {mended}, step 'fit'"
    assert nodes(server, run(server, ann, text))["fit"]["run"] == mended  # the newest entry


def test_a_step_that_is_skipped_does_not_use_the_cache(server, ann, marks):
    """3.13.1: it writes no entry, and takes no result. A condition is no part of the fingerprints."""

    def conditional(condition):
        return one("conditional", marks, CONTENTS).replace("{command", f"{{condition: '{condition}', command")

    def skipped(made):
        node = nodes(server, made)["a"]
        assert (node["state"], node["cached"], node["run"], node["job"]) == ("skipped", False, None, None)
        assert entries(ann, f"run={made}") == [] and taken(marks) == []

    skipped(run(server, ann, conditional("1 > 2")))
    first = run(server, ann, conditional("2 > 1"))
    assert taken(marks) == ["a"] and len(entries(ann, f"run={first}")) == 1
    skipped(run(server, ann, conditional("1 > 2")))
    disabled = one("switched", marks)
    skipped(run(server, ann, disabled, disabled="a"))
    assert cached(server, run(server, ann, disabled)) == {"a": False}
    assert taken(marks) == ["a"]
    skipped(run(server, ann, disabled, disabled="a"))
    for text in (conditional("3 > 2"), disabled):
        assert cached(server, run(server, ann, text)) == {"a": True}


def test_post_process_does_not_use_the_cache(server, ann, marks):
    """3.13.1: nor a step of the library that has it, behind a reference."""
    text = f"""name: posted
entry_points:
  used: {{reference: {{component: noted}}}}
components:
  noted: {{command: "echo noted >> {marks}", cache: {{enable: true}}}}
post_process:
  last: {{reference: {{component: noted}}}}
"""
    first, second = run(server, ann, text), run(server, ann, text)
    assert taken(marks) == ["noted"] * 3
    assert cached(server, second) == {"used": True, "last": False}
    assert [entry["step"] for entry in entries(ann, f"run={first}")] == ["used"]
    assert why(ann, second, "last")["message"] == "a step of post_process does not use the cache"


def test_an_entry_whose_job_has_no_record(server, ann, marks):
    """R-30: it is no hit, and no error. The job of a step goes with its run; here its row is lost otherwise."""
    text = one("lost", marks)
    first = run(server, ann, text)
    (entry,) = entries(ann, f"run={first}")
    server.kill()
    with contextlib.closing(sqlite3.connect(server.state / "paddle.db")) as database, database:
        assert database.execute("DELETE FROM job WHERE id = ?", (entry["job"],)).rowcount == 1
    server.start()
    (entry,) = entries(ann, f"run={first}")
    assert (entry["job"], entry["state"]) == (None, None)
    taken(marks)
    second = run(server, ann, text)
    assert taken(marks) == ["a"]
    reason = why(ann, second, "a")
    assert reason["message"] == f"the step was not reused: entry {entry['id']} has lost its job, which was deleted"
    third = run(server, ann, text)
    assert taken(marks) == [] and nodes(server, third)["a"]["run"] == second


# ---- lists


def test_the_list_of_entries(server, ann, bob, marks):
    """In pages, oldest first; of a run, a file system, a user, of all users."""
    several = one("listed", marks) + "  b: {command: 'true', loop_argument: [1, 2, 3]}\n"
    home = "fs_options: {main_fs: {name: home}}\n" + one("listed", marks)
    first, second = run(server, ann, several), run(server, ann, home)
    other = run(server, bob, one("listed", marks))

    def listed(person, query, status=200):
        reply = person.get(f"/v1/cache?{query}") if person else server.get(f"/v1/cache?{query}")
        assert reply.status == status, reply.body
        return reply.json["items"] if status == 200 else reply.json["message"]

    def of(items):
        return [(item["run"], item["step"]) for item in items]

    mine = [(first, "a"), (first, "b-0"), (first, "b-1"), (first, "b-2"), (second, "a")]
    assert sorted(of(listed(ann, f"run={first}"))) == mine[:4]
    seen = [item for item in of(listed(ann, "limit=1000")) if item[0] in (first, second)]
    assert sorted(seen[:4]) == mine[:4] and seen[4:] == mine[4:]
    paged, after = [], ""
    while after is not None:
        reply = ann.get(f"/v1/cache?limit=2{after}").json
        assert len(reply["items"]) <= 2  # a page may be shorter
        assert not set(of(reply["items"])) & set(paged)
        paged += of(reply["items"])
        after = reply["next"] and f"&after={reply['next']}"
    assert paged == of(listed(ann, "limit=1000"))
    assert of(listed(ann, "filesystem=home"))[-1] == mine[4]
    assert {item["filesystem"] for item in listed(ann, "filesystem=home")} == {"home"}
    assert listed(ann, f"run={first}&filesystem=home") == []
    assert listed(ann, "filesystem=none", 404) == "user 'ann' has no file system 'none'"
    assert {item["user"] for item in listed(None, "user=bob&limit=1000")} == {"bob"}
    assert of(listed(None, "user=bob&limit=1000"))[-1] == (other, "a")
    assert {"ann", "bob"} <= {item["user"] for item in listed(None, "all=true&limit=1000")}
    assert listed(None, "") == []  # the administrator's own
    for query in ("user=bob", "all=true"):
        assert listed(ann, query, 403)
    assert "there is no run" in listed(ann, f"run={other}", 404)
    for query in ("limit=0", "limit=1001", "after=x", "all=maybe"):
        assert listed(ann, query, 400), query
