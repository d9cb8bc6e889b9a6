"""Queues, flavours, users, grants, log-in, and jobs that share the room, as a person at the command line has them."""

import json
import os
import re
import stat

import pytest
from conftest import ROOT, Server, wait_for

PASSWORD = "a long word"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A server whose room has four cores and eight devices, on a port, too."""
    server = Server(
        tmp_path_factory.mktemp("state"), "--cpus", "4", "--memory", "8Gi", "--gpus", "8", "--listen", "127.0.0.1:0"
    )
    server.start()
    server.tcp = f"http://127.0.0.1:{server.port}"
    yield server
    server.destroy()


def listed(server, *words):
    return json.loads(server.paddle(*words, "-o", "json", check=0).stdout)


def rows(done):
    """The cells of a printed table, by the heads; cells are two blanks apart."""
    head, *lines = done.stdout.splitlines()
    starts = [head.index(word) for word in head.split("  ") if word.strip()]
    ends = [*starts[1:], None]
    names = [head[a:b].strip() for a, b in zip(starts, ends)]
    return [dict(zip(names, (line[a:b].strip() for a, b in zip(starts, ends)))) for line in lines]


# -- objects


def test_a_queue_from_its_making_to_its_end(room):
    said = room.paddle(
        *("queue", "create", "vision", "--min", "cpu=1,gpu=2", "--max", "cpu=2,memory=4Gi,gpu=4", "--everyone"),
        *("--weight", "2", "--order", "fair", "--preemption", "lower-priority", "--no-backfill"),
        *("--max-running-per-user", "3", "--priority", "-5", "--location", "rack=a"),
        check=0,
    )
    assert (said.stdout, said.stderr) == ("", "queue 'vision' is created\n")
    queue = listed(room, "queue", "show", "vision")
    assert queue["max"] == {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": 4}
    assert queue["min"] == {"cpu": "1", "nvidia.com/gpu": 2}
    wanted = {"weight": 2, "ordering": "fair", "preemption": "lower-priority", "backfill": False, "everyone": True}
    assert {**wanted, "max_running_per_user": 3, "priority": -5, "location": {"rack": "a"}}.items() <= queue.items()

    room.paddle("queue", "set", "vision", "--max", "cpu=3,gpu=", "--backfill", "--location", "", check=0)
    queue = listed(room, "queue", "show", "vision")
    assert (queue["max"], queue["backfill"], queue["location"]) == ({"cpu": "3", "memory": "4Gi"}, True, {})

    assert room.paddle("queue", "close", "vision", check=0).stderr == (
        "queue 'vision' is closed; its current jobs will finish\n"
    )
    refused = room.paddle("submit", "--no-package", "--queue", "vision", "--", "true")
    assert refused.returncode in (1, 3) and "'vision'" in refused.stderr
    assert "closed" in room.paddle("queue", "list", check=0).stdout
    room.paddle("queue", "open", "vision", check=0)
    assert "vision" in room.paddle("queue", "list", "-o", "name", check=0).stdout.split()

    shown = room.paddle("queue", "show", "vision", check=0).stdout
    assert "0 running, 0 waiting" in shown and "cpu" in shown and "min 1, max 3" in shown
    assert room.paddle("queue", "delete", "vision", check=0).stderr == "queue 'vision' is deleted\n"
    assert "vision" not in room.paddle("queue", "list", "-o", "name", check=0).stdout.split()


@pytest.mark.parametrize(
    "words, status, says",
    [
        (["queue", "create", "bad", "--min", "cpu=2", "--max", "cpu=1"], 2, ["min", "cpu", "max"]),
        (["queue", "create", "bad", "--parent", "nowhere"], None, ["nowhere"]),
        (["queue", "create", "Upper"], 2, ["'Upper'"]),
        (["queue", "create", "bad", "--weight", "0"], 2, ["weight"]),
        (["queue", "create", "bad", "--order", "random"], 2, ["'random'", "fair"]),
        (["queue", "create", "default"], 3, ["'default'"]),
        (["queue", "show", "nowhere"], 1, ["'nowhere'"]),
        (["queue", "set", "nowhere", "--weight", "2"], 1, ["'nowhere'"]),
        (["queue", "delete", "default"], None, ["'default'"]),
        (["flavour", "create", "bad", "--cpu", "0", "--memory", "1Gi"], 2, ["cpu"]),
        (["flavour", "show", "nowhere"], 1, ["'nowhere'"]),
        (["grant", "create", "nobody", "default"], None, ["nobody"]),
        (["user", "delete", "root"], None, ["'root'"]),
        (["cluster", "delete", "default-cluster"], None, ["'default-cluster'"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_refused_is_named(room, words, status, says):
    done = room.paddle(*words)
    assert done.returncode in ((1, 2, 3) if status is None else (status,)), done.stderr
    assert done.stdout == "" and done.stderr.startswith("paddle: ")
    assert all(word in done.stderr for word in says), done.stderr


def test_flavours_and_clusters(room):
    room.paddle("flavour", "create", "big", "--cpu", "2", "--memory", "1Gi", "--scalars", "gpu=1", check=0)
    assert {"name": "big", "cpu": "2", "memory": "1Gi"}.items() <= listed(room, "flavour", "show", "big").items()
    room.paddle("flavour", "set", "big", "--memory", "2Gi", check=0)
    flavour = listed(room, "flavour", "show", "big")
    assert (flavour["memory"], flavour["cpu"]) == ("2Gi", "2")
    assert "flavour1" in room.paddle("flavour", "list", check=0).stdout
    room.paddle("flavour", "delete", "big", check=0)
    assert room.paddle("flavour", "show", "big").returncode == 1

    shown = room.paddle("cluster", "show", "default-cluster", check=0).stdout
    assert "NODE" in shown and "cpu 4" in shown and "none of 8" in shown
    room.paddle(
        "cluster",
        "create",
        "lab",
        "--type",
        "Kubernetes",
        "--endpoint",
        "https://10.0.0.1:6443",
        "--version",
        "1.28",
        check=0,
    )
    assert {"lab", "default-cluster"} == set(room.paddle("cluster", "list", "-o", "name", check=0).stdout.split())
    room.paddle("cluster", "set", "lab", "--status", "offline", "--description", "later", check=0)
    assert {"status": "offline", "description": "later"}.items() <= listed(room, "cluster", "show", "lab").items()
    room.paddle("cluster", "delete", "lab", check=0)


def test_users_grants_and_login(room, tmp_path):
    env = {"PADDLE_CONFIG": str(tmp_path / "config"), "PADDLE_SERVER": ""}
    room.paddle("user", "create", "ann", "--password-stdin", input=PASSWORD + "\n", check=0)
    room.paddle("queue", "create", "mine", check=0)
    wrong = room.paddle(
        "--server", room.tcp, "login", "--user", "ann", "--password-stdin", input="another word\n", env=env
    )
    assert wrong.returncode == 3 and "'ann'" in wrong.stderr
    assert not (tmp_path / "config").exists()

    (tmp_path / "config").write_text("# of another program\nother: 1\n")
    said = room.paddle(
        "--server", room.tcp, "login", "-u", "ann", "--password-stdin", input=PASSWORD + "\n", env=env, check=0
    )
    assert "logged in as 'ann'" in said.stderr and PASSWORD not in said.stderr + said.stdout
    assert stat.S_IMODE(os.stat(tmp_path / "config").st_mode) == 0o600
    assert (tmp_path / "config").read_text().startswith("# of another program\nother: 1\n")
    assert room.paddle("whoami", env=env, check=0).stdout == "ann\n"

    def queues():
        return set(room.paddle("queue", "list", "-o", "name", env=env, check=0).stdout.split())

    assert queues() == {"default"}
    refused = room.paddle("submit", "--no-package", "--queue", "mine", "--", "true", env=env)
    assert refused.returncode == 3 and "'mine'" in refused.stderr
    room.paddle("grant", "create", "ann", "mine", check=0)
    assert queues() == {"default", "mine"}
    room.paddle("submit", "--no-package", "--queue", "mine", "--name", "granted", "--", "true", env=env, check=0)
    room.paddle("wait", "granted", env=env, check=0)
    grants = rows(room.paddle("grant", "list", check=0))
    assert [(grant["USER"], grant["RESOURCE"]) for grant in grants] == [("ann", "mine")]
    assert room.paddle("grant", "create", "ann", "mine").returncode == 3
    room.paddle("grant", "delete", "ann", "mine", check=0)
    assert queues() == {"default"}

    assert room.paddle("user", "list", env=env).returncode == 3
    both = f"{PASSWORD}\na newer word\n"
    room.paddle("user", "set", "ann", "--password-stdin", env=env, input=both, check=0)
    void = room.paddle("whoami", env=env)
    assert void.returncode == 3 and "paddle login" in void.stderr
    room.paddle("user", "set", "ann", "--admin", check=0)
    assert listed(room, "user", "show", "ann")["admin"] is True
    room.paddle("user", "delete", "ann", check=0)
    assert room.paddle("user", "show", "ann").returncode == 1
    room.paddle("queue", "delete", "mine", check=0)


def test_a_password_needs_a_terminal_or_standard_input(room):
    done = room.paddle("user", "create", "nobody", "--password-stdin", input="")
    assert done.returncode == 2 and "standard input" in done.stderr
    assert room.paddle("user", "show", "nobody").returncode == 1


# -- jobs


@pytest.fixture
def full(room):
    """The room with all of its cores held by `holder` for ten minutes at most."""
    room.paddle(
        "submit", "--no-package", "--name", "holder", "--cpu", "4", "--time-limit", "10m", "--", "sleep", "600", check=0
    )
    room.wait("holder", "running")
    yield room
    for job in room.get("/v1/jobs?limit=1000&state=queued,starting,running,suspended").json["items"]:
        room.request("DELETE", f"/v1/jobs/{job['id']}")
    wait_for(lambda: room.get("/v1/info").json["jobs"]["open"] == 0, 60, "the end of all jobs")


def test_explain_says_what_is_lacking_and_when(full):
    full.paddle("submit", "--no-package", "--name", "waiter", "--cpu", "3", "--", "true", check=0)
    said = full.paddle("explain", "waiter", check=0).stdout
    first, second, _, reason, *rest = said.splitlines()
    asked, free = (next(line for line in rest if f" {word} " in line) for word in ("asked", "free"))
    assert first.startswith("waiter (") and "waits in queue 'default', first in line" in first
    assert second.startswith("expected start: at ") and 5 <= int(re.search(r"in (\d+)m", second)[1]) <= 10
    assert reason.startswith("1. ") and "holder" in said
    assert asked.split()[:3] == ["cpu", "asked", "3"] and free.split()[:2] == ["free", "0"]
    answer = listed(full, "explain", "waiter")
    assert answer["cause"] == "resources" and answer["expected_start"]
    assert (answer["reasons"][0]["asked"], answer["reasons"][0]["free"]) == ("3", "0")
    assert "it is not waiting for anything" in full.paddle("explain", "holder", check=0).stdout
    assert full.paddle("explain", "nobody").returncode == 1


def test_dry_run(full):
    before = full.paddle("list", "-o", "name", check=0).stdout
    waits = full.paddle("submit", "--dry-run", "--no-package", "--cpu", "1", "--", "true", check=0)
    assert waits.stdout.startswith("It would wait in queue 'default'")
    never = full.paddle("submit", "--dry-run", "--no-package", "--queue", "nowhere", "--", "true", check=3)
    assert never.stdout.startswith("It would be refused: ") and "'nowhere'" in never.stdout
    full.paddle("cancel", "holder", check=0)
    full.paddle("wait", "holder")
    starts = full.paddle(
        "submit", "--dry-run", "--no-package", "-n", "2", "--cpu", "1", "--gpus", "1", "--", "true", check=0
    ).stdout
    assert starts.startswith("It would start at once in queue 'default'\n")
    assert starts.count("(GPU ") == 2
    assert (
        json.loads(full.paddle("submit", "--dry-run", "--no-package", "-o", "json", "true", check=0).stdout)["state"]
        == "would start"
    )
    assert full.paddle("list", "-o", "name", check=0).stdout == before


def test_hold_release_set_requeue(full):
    full.paddle("submit", "--no-package", "--name", "one", "--label", "team=a", "--", "true", check=0)
    assert full.paddle("hold", "one", check=0).stderr.endswith("is held; `paddle release one` lets it go on\n")
    full.paddle("cancel", "holder", check=0)
    assert full.job("one")["state"] == "suspended"
    full.paddle("set", "one", "--priority", "high", "--label", "x=y", "--annotation", "why=test", check=0)
    job = full.job("one")
    assert (job["priority"], job["labels"], job["annotations"]) == (100, {"team": "a", "x": "y"}, {"why": "test"})
    full.paddle("set", "one", "--label", "x=", "--priority", "-7", check=0)
    job = full.job("one")
    assert (job["priority"], job["labels"]) == (-7, {"team": "a"})
    assert full.paddle("list", "--label", "team=a", "-o", "name", check=0).stdout == "one\n"
    assert full.paddle("set", "one", "--priority", "urgent").returncode == 2
    assert full.paddle("set", "one").returncode == 2
    full.paddle("release", "one", check=0)
    full.wait("one", "succeeded")
    done = full.paddle("hold", "one", "nobody")
    assert done.returncode == 1 and "one" in done.stderr and "'nobody'" in done.stderr

    full.paddle("submit", "--no-package", "--name", "again", "--", "sleep", "600", check=0)
    full.wait("again", "running")
    full.paddle("requeue", "again", check=0)
    wait_for(lambda: (job := full.job("again"))["state"] == "running" and job["attempt"] == 2, 30, "the second attempt")
    assert full.job("again")["failures"] == 0


def test_arrays_and_dependencies(room, tmp_path):
    done = room.paddle("submit", "--no-package", "--name", "sweep", "--array", "0-4%2", "--", "true", check=0)
    name, first = done.stdout.split()
    assert f"submitted sweep ({first}): 5 jobs, 0-4%2" in done.stderr and "paddle list --array sweep" in done.stderr
    jobs = listed(room, "list", "--array", first)
    assert sorted(job["array"]["index"] for job in jobs) == [0, 1, 2, 3, 4]
    room.paddle("wait", *(job["id"] for job in jobs), check=0)
    wide = rows(room.paddle("list", "--array", first, "-o", "wide", check=0))
    assert {row["ARRAY"] for row in wide} == {f"{index} of {first}" for index in range(5)}

    gate = tmp_path / "gate"
    fails = f"until test -e {gate}; do sleep 0.05; done; false"
    room.paddle("submit", "--no-package", "--name", "broken", "--", "sh", "-c", fails, check=0)
    room.paddle("submit", "--no-package", "--name", "then", "--after", "broken", "--", "true", check=0)
    room.paddle("submit", "--no-package", "--name", "anyway", "--after", "any:broken", "--", "true", check=0)
    assert "broken" in room.paddle("explain", "then", check=0).stdout
    gate.touch()
    assert room.wait("anyway")["state"] == "succeeded"
    then = room.wait("then")
    assert then["state"] == "cancelled" and "broken" in then["reason"]


def test_what_if(full):
    full.paddle("submit", "--no-package", "--name", "waiter", "--cpu", "4", "--", "true", check=0)
    done = full.paddle("queue", "set", "default", "--max", "cpu=2", "--what-if", check=0)
    changed = {row["JOB"]: row for row in rows(done)}
    assert "waiter" in changed and changed["waiter"]["NOW"] != changed["waiter"]["THEN"]
    assert done.stderr.endswith("jobs would be affected; nothing is changed\n")
    assert listed(full, "queue", "show", "default")["max"] == {}
    reply = listed(full, "queue", "set", "default", "--max", "cpu=2", "--what-if")
    assert reply["checked"] >= len(reply["changes"]) >= 1


def test_the_journal_replays(full):
    decisions = rows(full.paddle("sched", "decisions", "--limit", "1000", check=0))
    assert any((row["JOB"], row["WHAT"]) == ("holder", "start") for row in decisions)
    said = full.paddle("sched", "replay", check=0).stdout
    assert re.search(r"^[1-9]\d* pass(es)?, [1-9]\d* decisions?, identical\n$", said), said
    journal = full.paddle("sched", "journal", check=0).stdout
    assert journal.startswith("paddle-sched-journal 1\n")
    assert full.paddle("sched", "replay", "-", input=journal, check=0).stdout.endswith("identical\n")
    lines = journal.splitlines(keepends=True)
    start = max(index for index, line in enumerate(lines) if line.startswith("start "))
    forged = "".join(lines[:start] + [lines[start].replace("start allocate", "start backfill")] + lines[start + 1 :])
    assert forged != journal
    different = full.paddle("sched", "replay", "-", input=forged, check=1)
    assert "recorded" in different.stdout and "replayed" in different.stdout
    assert full.paddle("sched", "replay", "-", input="nonsense\n").returncode == 2


# -- what is drawn from the tables


def test_every_verb_has_a_page(room):
    """The list of man pages in the build is that of the verbs."""
    text = (ROOT / "src/cli/meson.build").read_text()
    listed_there = re.findall(r"'([^']+)'", text.split("cli_verbs = [")[1].split("]")[0])
    found = []
    for name, summary in re.findall(r"^  ([\w-]+(?: \w+)?) {2,}(.*)$", room.paddle("help", check=0).stdout, re.M):
        told = room.paddle("help", name).stdout if ", " in summary else ""
        family = re.findall(r"^  paddle (\w+ [\w-]+) ", told, re.M) if told.startswith("  paddle ") else []
        found += family or [name]
    assert sorted(found) == sorted(listed_there)
