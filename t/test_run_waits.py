"""What a run says of steps that do not go on: their jobs are queued, or another run makes their result."""

import subprocess

from conftest import BIN, PATIENCE, server_of_module, wait_for
from screen import Screen
from test_runs import create, finish, running, show

server = server_of_module("--cpus", "64")

LOOP = """name: narrow
entry_points:
  fit:
    loop_argument: [1, 2, 3]
    command: sleep 600
    env: {PF_JOB_QUEUE_NAME: narrow}
"""


def items(server, run):
    return {item["name"]: item for item in server.get(f"/v1/runs/{run}/tree").json["items"]}


def waits(server, run):
    return {wait["step"]: wait for wait in show(server, run)["waits"]}


def stop(server, run):
    server.post(f"/v1/runs/{run}/stop", {"force": True})
    finish(server, run, "terminated")


def following(server, *words):
    """`paddle run ... --follow`, and a function that reads its lines up to one that begins so."""
    env = {"PADDLE_SERVER": server.url, "HOME": str(server.state), "PATH": "/usr/bin:/bin"}
    command = [BIN / "paddle", "run", *map(str, words), "--follow"]
    process = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def until(start):
        for line in process.stdout:
            if line.startswith(start):
                return line.rstrip("\n")
        raise AssertionError((start, process.stderr.read()))

    return process, until


def test_a_step_whose_job_is_queued_is_shown_as_queued(server, tmp_path):
    server.paddle("queue", "create", "narrow", "--max", "cpu=1", check=0)
    file = tmp_path / "narrow.yaml"
    file.write_text(LOOP)
    process, until = following(server, "create", "-f", file, "--no-package")
    run = process.stdout.readline().strip()
    assert until("fit-0") == "fit-0: running"
    for item in ("fit-1", "fit-2"):
        assert until(f"{item}: ").startswith(f"{item}: queued: queue 'narrow' is at its limit")
    found = waits(server, run)
    assert {step: wait["state"] for step, wait in found.items()} == {"fit-1": "queued", "fit-2": "queued"}
    assert all(wait["job"] and "is at its limit" in wait["message"] for wait in found.values())
    # the state of the step itself is what it was: it holds a slot
    assert items(server, run)["fit"]["states"] == {"running": 3}
    assert {one["job_state"] for one in items(server, run)["fit"]["children"]} == {"running", "queued"}
    tree = server.paddle("run", "show", run, check=0).stdout
    assert "0 of 3 succeeded, 1 running, 2 queued" in tree, tree
    picture = server.get(f"/v1/runs/{run}/picture").body.decode()
    assert ">0 of 3, 1 running, 2 queued" in picture and ">running<" in picture, picture
    assert [line.split()[2] for line in tree.splitlines() if "─ fit-" in line] == ["running", "queued", "queued"], tree
    stop(server, run)
    assert process.wait(PATIENCE) == 1
    assert show(server, run)["waits"] == []


def test_a_terminal_shows_what_waits_and_for_how_long(server, tmp_path):
    server.paddle("queue", "create", "slim", "--max", "cpu=1", check=0)
    file = tmp_path / "slim.yaml"
    file.write_text(LOOP.replace("narrow", "slim"))
    screen = Screen(server, "run", "create", "-f", file, "--no-package", "--follow", size=(100, 24))
    screen.until("s  fit-1 and 1 more wait: queue 'slim' is at its limit")
    (run,) = [run["id"] for run in server.get("/v1/runs?name=slim").json["items"]]
    stop(server, run)
    screen.until(f"slim ({run}): ")
    assert screen.process.wait(PATIENCE) == 1


def test_a_step_that_waits_for_another_run_says_for_which(server, tmp_path, marks):
    go = tmp_path / "go"
    step = f"while ! test -e {go}; do sleep 0.05; done"
    text = f"name: same\ncache: {{enable: true}}\nentry_points:\n  fit: {{command: '{step}'}}\n"
    first = create(server, text)
    running(server, first, "fit")
    file = tmp_path / "same.yaml"
    file.write_text(text)
    process, until = following(server, "create", "-f", file, "--no-package")
    second = process.stdout.readline().strip()
    reason = f"waits for step 'fit' of run {first}, whose result it may take"
    wait_for(lambda: waits(server, second), PATIENCE, "the wait")
    assert waits(server, second) == {"fit": {"step": "fit", "state": "pending", "job": None, "message": reason}}
    assert items(server, second)["fit"]["state"] == "pending" and items(server, second)["fit"]["message"] == reason
    assert reason in server.paddle("run", "show", second, check=0).stdout
    assert until("fit: ") == f"fit: pending: {reason}"
    picture = server.get(f"/v1/runs/{second}/picture").body.decode()
    assert ">waits for another run<" in picture and reason in picture, picture
    server.stop()
    server.start()  # what waits is found again after a restart
    wait_for(lambda: waits(server, second).get("fit", {}).get("message") == reason, PATIENCE, "the wait")
    go.touch()
    finish(server, first, "succeeded")
    finish(server, second, "succeeded")
    assert waits(server, second) == {}
    assert process.wait(PATIENCE) == 0
