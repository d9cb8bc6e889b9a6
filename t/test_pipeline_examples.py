"""The pipelines of examples/pipelines as a user runs them: doc/guide/pipelines.md, doc/guide/python.md."""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import PATIENCE, ROOT, server_of_module, wait_for

EXAMPLES = ROOT / "examples/pipelines"

server = server_of_module("--cpus", "64")


def run(server, name, state, *options):
    """The nodes of a run of the example by their paths, once it has ended."""
    done = server.paddle("run", "create", "-f", EXAMPLES / f"{name}.yaml", *options, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    made = done.stdout.split()[0]
    wait_for(lambda: server.get(f"/v1/runs/{made}").json["finished_at"], PATIENCE, "the run's end")
    found = server.get(f"/v1/runs/{made}").json
    assert found["state"] == state, found
    items = server.get(f"/v1/runs/{made}/nodes?limit=1000").json["items"]
    return {item["path"]: item for item in items}, found


def states(nodes):
    return {path: item["state"] for path, item in nodes.items()}


def said(server, node):
    return server.member_log(node["job"])


def look_at(server, found, nodes):
    """The chain that determined the time of the run, and its picture."""
    chain = server.get(f"/v1/runs/{found['id']}/critical-path").json
    assert [item["path"] for item in chain["items"]] == ["load", "clean"] and chain["left_out"] == 0
    parts = ("slot_ms", "queue_ms", "prepare_ms", "run_ms", "cache_ms")
    assert sum(chain[part] for part in parts) == sum(item[part] for item in chain["items"] for part in parts)
    assert sum(chain[part] for part in parts) <= chain["total_ms"]
    shown = server.paddle("run", "show", found["id"]).stdout
    assert shown.splitlines()[-2].startswith("  load ") and " > clean " in shown.splitlines()[-2]
    steps = {item["path"]: item for item in server.get(f"/v1/runs/{found['id']}/steps").json["items"]}
    assert {path: item["state"] for path, item in steps.items()} == {**states(nodes), "summary": "cancelled"}
    assert steps["load"]["job"] == nodes["load"]["job"] and steps["clean"]["post_process"]
    picture = server.paddle("run", "show", found["id"], "--svg").stdout
    assert "<title>load: failed, " in picture and "<title>summary: cancelled\n" in picture
    assert ">longest chain: " in picture and picture.count("\non the longest chain\n") == 2
    assert picture == server.get(f"/v1/runs/{found['id']}/picture").body.decode()
    whole = server.get(f"/v1/runs/{found['id']}/definition").json
    assert whole["definition"] == (EXAMPLES / "failure.yaml").read_text() and "package" in whole["request"]


def compare(server, before, after):
    """`paddle run diff` of two runs that differ in a parameter; without the first it is the run before."""
    done = server.paddle("run", "diff", before, after, "-o", "json")
    diff = json.loads(done.stdout)
    assert done.returncode == 1 and diff["differs"] == ["parameters", "states"] and not diff["same"]
    assert diff["parameters"] == [{"path": "load", "name": "broken", "a": "yes", "b": "no"}]
    changed = {step["path"]: (step["a"]["state"], step["b"]["state"]) for step in diff["steps"] if step["differs"]}
    assert changed == {"load": ("failed", "succeeded"), "summary": ("cancelled", "succeeded")}
    assert server.paddle("run", "diff", "failure").stdout == server.paddle("run", "diff", before, after).stdout
    same = server.paddle("run", "diff", after, after)
    assert same.returncode == 0 and "different" not in same.stdout
    none = server.paddle("run", "diff", before)
    assert none.returncode == 1 and "no earlier run of 'failure'" in none.stderr


def test_a_failure_and_what_runs_after_it(server):
    """`load` fails twice; what needs it is cancelled, the rest goes on, post_process runs. With broken=no all succeed."""
    nodes, found = run(server, "failure", "failed")
    assert states(nodes) == {"load": "failed", "count": "succeeded", "clean": "succeeded"}
    assert found["nodes"]["cancelled"] == 1 and found["message"].startswith("step 'load' failed")
    assert server.job(nodes["load"]["job"])["attempt"] == 2  # retries: 1
    assert said(server, nodes["count"]) == "499500\n"  # the sum of 0 to 999
    assert said(server, nodes["clean"]) == f"run {found['id']} is over\n"
    look_at(server, found, nodes)
    nodes, after = run(server, "failure", "succeeded", "-p", "load.broken=no")
    compare(server, found["id"], after["id"])
    assert set(states(nodes).values()) == {"succeeded"} and set(nodes) == {"load", "summary", "count", "clean"}


def test_a_dag_in_a_loop(server):
    """The numbers from 1 to 100 in three parts: each part is added, then the sums."""
    nodes, _ = run(server, "nested", "succeeded")
    parts = [f"part-{i}{inner}" for i in range(3) for inner in ("", ".choose", ".add")]
    assert set(nodes) == {"make", "check", *parts} and set(states(nodes).values()) == {"succeeded"}
    assert said(server, nodes["check"]) == "5050\n"
    nodes, _ = run(server, "nested", "succeeded", "-p", "make.count=10")
    assert said(server, nodes["check"]) == "55\n"
    other = server.paddle("run", "diff", "sums")  # the parts are other numbers, and the sums do not lie in files
    assert "differs    .pipeline/RUN/" in other.stdout, other.stdout


@pytest.mark.parametrize(
    "steps, taken, left, text",
    [
        (100, "publish", "report", "published with a loss of 0.000000\n"),
        # one step from 0 with the rates 0.0001, 0.01, 0.1: 30 * rate * 3 is the slope, the best is 3 - 0.9
        (1, "report", "publish", "not published, since the loss is 2.100000\n"),
    ],
)
def test_the_content_of_an_artifact_decides(server, steps, taken, left, text):
    nodes, _ = run(server, "search", "succeeded", "-p", f"train.steps={steps}")
    assert states(nodes) == {
        **{f"train-{i}": "succeeded" for i in range(3)}, "choose": "succeeded", taken: "succeeded", left: "skipped",
    }  # fmt: skip
    assert said(server, nodes[taken]) == text


def test_functions_as_steps(server, tmp_path):
    """The program that the guide shows: it prints what the steps say."""
    text = (EXAMPLES / "line.py").read_text()
    assert text.split("\n\n", 1)[1] in (ROOT / "doc/guide/python.md").read_text()
    done = subprocess.run(
        [sys.executable, EXAMPLES / "line.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PADDLE_SERVER": server.url, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert [line for line in said if " | " in line] == [
        "choose | best rate: 0.01",
        "when.publish | published with a loss of 0.000000",
    ]
    assert re.fullmatch(r"line \(\w{16}\)", said[0]) and said[-2].startswith(f"{said[0]}: succeeded after ")
    assert any(line.startswith("choose: succeeded (") for line in said) and said[-1] == "the smallest loss is 0.000000"
