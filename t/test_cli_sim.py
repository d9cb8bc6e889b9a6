"""`paddle sim`: a trace on a room that is only described. The figures of small cases are worked out by hand."""

import json
import re
import subprocess

import pytest
from conftest import BIN, ROOT


def sim(tmp_path, trace, room, *options, check=0, form="json"):
    (tmp_path / "trace").write_text(
        trace if isinstance(trace, str) else "".join(json.dumps(line) + "\n" for line in trace)
    )
    (tmp_path / "room").write_text(room if isinstance(room, str) else json.dumps(room))
    done = subprocess.run(
        [BIN / "paddle", "sim", tmp_path / "trace", "--room", tmp_path / "room", "-o", form, *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"HOME": str(tmp_path), "PATH": "/nonexistent", "LANG": "C.UTF-8"},
    )
    assert done.returncode == check, done.stdout + done.stderr
    return json.loads(done.stdout) if form == "json" and check == 0 else done


ROOM = {"nodes": [{"name": "n", "count": 1, "resources": {"cpu": 4, "memory": "4Gi"}}]}


def test_two_jobs_one_after_the_other(tmp_path):
    got = sim(tmp_path, [{"run": "10s", "resources": {"cpu": 4}}, {"run": "10s", "resources": {"cpu": 4}}], ROOM)
    assert (got["jobs"], got["started"], got["ended"], got["end_ms"] - got["start_ms"]) == (2, 2, 2, 20000)
    assert (got["wait_ms"]["mean"], got["wait_ms"]["max"]) == (5000, 10000)
    assert (got["utilisation"]["cpu"], got["utilisation"]["memory"]) == (1.0, 0.0)
    assert got["decisions"] == {"start": 2, "grow": 0, "shrink": 0, "evict": 0}


def test_half_of_the_room_half_of_the_time(tmp_path):
    trace = [{"run": "10s", "resources": {"cpu": 2}}, {"at": "10s", "run": "10s", "resources": {"cpu": 4}}]
    got = sim(tmp_path, trace, ROOM)
    assert got["utilisation"]["cpu"] == 0.75
    done = sim(tmp_path, trace, ROOM, form="table")
    assert re.search(r"^cpu +75\.0 % +75\.0 %", done.stdout, re.M)
    chart = [line for line in done.stdout.splitlines() if "│" in line]
    top, bottom = chart[0], chart[-1]
    assert abs(bottom.count("█") - 2 * top.count("█")) <= 2 and top.endswith("█")  # half a room first, then all of it
    assert re.search(r"^all +2 +0 ms", done.stdout, re.M)


def test_what_is_lent_comes_back(tmp_path):
    """One queue borrows all; when the other wants its own, the borrower is made to go."""
    room = {**ROOM, "queues": [{"name": "a", "min": {"cpu": 2}}, {"name": "b", "min": {"cpu": 2}}], "cooldown": "1s"}
    trace = [
        {"run": "1h", "queue": "a", "resources": {"cpu": 2}, "count": 2},
        {"at": "1m", "run": "10s", "queue": "b", "resources": {"cpu": 2}},
    ]
    got = sim(tmp_path, trace, room)
    queues = {queue["name"]: queue for queue in got["queues"]}
    assert got["decisions"]["evict"] == 1 and got["rules"]["reclaim"] == 1
    assert (queues["a"]["evictions"], queues["b"]["evictions"]) == (1, 0)
    assert queues["b"]["wait_ms"]["max"] <= 1000


@pytest.mark.parametrize(
    "trace, room, says",
    [
        ('{"run": "x"}\n', ROOM, ["line 1", "run", "'x'"]),
        ('{"run": "1s"}\n{"run": "1s", "colour": 1}\n', ROOM, ["line 2", "colour"]),
        ("{\n", ROOM, ["line 1"]),
        ('{"run": "1s"}\n', {"nodes": []}, ["nodes"]),
        ('{"run": "1s"}\n', "nodes: 7\n", ["nodes"]),
        ('{"run": "1s", "queue": "nowhere"}\n', {**ROOM, "queues": [{"name": "a"}]}, ["'nowhere'"]),
        ('{"run": "1s"}\n', {**ROOM, "queues": [{"name": "a", "min": {"cpu": 2}, "max": {"cpu": 1}}]}, ["min", "max"]),
        ('{"run": "1s"}\n', {"nodes": [{"name": "n", "resources": {"cpu": "-1"}}]}, ["'-1'"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path, trace, room, says):
    done = sim(tmp_path, trace, room, check=2)
    assert done.stdout == "" and all(word in done.stderr for word in says), done.stderr


def test_the_example_of_the_manual(tmp_path):
    text = (ROOT / "doc/guide/cli.md").read_text().split("## Simulation and replay")[1].split("\n## ")[0]
    room, trace = (re.search(f"```{kind}\n(.*?)```", text, re.S)[1] for kind in ("yaml", "json"))
    got = sim(tmp_path, trace, room)
    assert got["jobs"] == got["ended"] == 101
    assert {queue["name"] for queue in got["queues"]} == {"vision", "nightly"}
