"""What runs now: live figures of members, the nodes, the doctor's looks at the machine."""

import json
import re

import pytest
from conftest import Server, wait_for
from test_cli_terminal import Terminal, columns_of

BUSY = "head -c 100000000 /dev/zero | tail -c 1 > /dev/null; while :; do :; done"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "2", "--memory", "4Gi").start()
    server.paddle("user", "create", "ann", check=0)
    server.wait(
        server.submit(BUSY, name="busy", roles=[{"name": "worker", "cpu": "1", "memory": "1Gi"}])["id"], "running"
    )
    yield server
    server.cancel(["busy"])
    server.destroy()


def usage(server):
    (member,) = server.get("/v1/jobs/busy/members").json["items"]
    return member["usage"]


def test_a_running_member_is_measured(room):
    wait_for(lambda: usage(room)["cpu_ms"] > 300, what="processor time")
    seen = usage(room)
    assert seen["cores"] > 0 and seen["memory"] > 0 and seen["peak_memory"] >= seen["memory"] and seen["processes"] >= 1
    assert seen["gpus"] == []
    (job,) = room.get("/v1/jobs?usage=true&state=running").json["items"]
    assert job["usage_now"]["measured"] == 1 and job["usage_now"]["memory"] > 0
    assert job["usage_now"]["gpu_percent"] is None
    assert "usage_now" not in room.get("/v1/jobs?state=running").json["items"][0]


def test_status_shows_it(room):
    text = room.paddle("status", "busy", check=0).stdout
    heads = next(line for line in text.splitlines() if "MEMBER" in line)
    assert {"STATE", "CORES", "GPU"} <= set(heads.split()) and "MEMORY" in heads
    row = next(line for line in text.splitlines() if "worker-0" in line)
    assert re.search(r"running\s+\S+ \S+\s+\d+\.\d\d\s+[\d.]+ [KMG]iB\s+-", row), row
    assert json.loads(room.paddle("status", "busy", "-o", "json", check=0).stdout)["members"][0]["usage"]["cores"] > 0


def test_top_shows_it(room):
    text = room.paddle("top", "--once", check=0).stdout
    row = next(line for line in text.splitlines() if line.startswith("busy"))
    assert re.search(r"\d+\.\d cores  [\d.]+ [KMG]iB", row), text
    terminal = Terminal(room, "top", width=80, height=24)
    terminal.read(lambda said: b"q quits" in said)
    terminal.press(b"q")
    assert terminal.end() == 0
    assert "q quits" in terminal.frames()[-1].rstrip("\n").splitlines()[-1]


def test_members_that_have_ended_have_no_usage(room):
    room.wait(room.submit("true", name="gone", roles=[{"name": "worker", "cpu": "500m"}])["id"])
    (member,) = room.get("/v1/jobs/gone/members").json["items"]
    assert member["usage"] is None
    assert "CORES" not in room.paddle("status", "gone", check=0).stdout


def test_times_are_local_for_people(room):
    env = {"TZ": "Asia/Tokyo"}
    for line in (["status", "busy"], ["list", "-o", "wide"], ["events", "busy"]):
        text = room.paddle(*line, env=env, check=0).stdout
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d JST", text), text
    assert re.fullmatch(r"\S+T\S+Z", room.job("busy")["submitted_at"])


# -- nodes


def test_nodes(room):
    (node,) = room.get("/v1/nodes").json["items"]
    assert node["cluster"] == "default-cluster" and node["usable"] and node["jobs"] == 1
    assert node["total"]["cpu"] == "2" and node["used"]["cpu"] == "1" and node["free"]["cpu"] == "1"
    used = node["usage"]
    assert (used["members"], used["measured"]) == (1, 1) and 0 < used["memory"] < 2**30 and used["cores"] >= 0
    text = room.paddle("nodes", check=0).stdout
    head, row = text.splitlines()
    heads = ["NODE", "CLUSTER", "STATE", "CPU USED", "CPU ASKED", "MEM USED", "MEM ASKED", "GPUS ASKED", "JOBS", "WHY"]
    assert re.split(r"\s{2,}", head) == heads
    assert re.search(r"default-cluster\s+ready\s+[\d.]+\s+1/2\s+[\d.]+[KM]i\s+1Gi/4Gi\s+-\s+1", row), row
    assert re.search(r"cpu 1/2 asked, [\d.]+ used  memory 1Gi/4Gi asked, \S+ used", room.paddle("top", check=0).stdout)
    assert "FREE CPU" in room.paddle("nodes", "-o", "wide", check=0).stdout
    assert json.loads(room.paddle("nodes", "-o", "json", check=0).stdout)[0]["jobs"] == 1
    done = room.paddle("nodes", "--cluster", "nosuch")
    assert done.returncode == 1 and "there is no cluster 'nosuch'" in done.stderr


@pytest.mark.parametrize("width", [60, 80, 120])
def test_nodes_fit(room, width):
    terminal = Terminal(room, "nodes", width=width)
    assert terminal.end() == 0
    lines = terminal.said.decode().splitlines()
    assert len(lines) == 3 and "USED" in lines[0] and lines[2].startswith("USED: measured now. ASKED: ")
    assert max(map(columns_of, lines)) <= width, lines
