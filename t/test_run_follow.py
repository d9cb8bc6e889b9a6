"""What a program in Python that waits for a run hears: states, lines, pauses, and what an interrupt leaves behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile

import paddlecloud
import pytest
from conftest import PATIENCE, ROOT, server_of_module, wait_for

server = server_of_module("--cpus", "64")

TWO = """name: two
entry_points:
  a: {command: "sleep 2; echo from a"}
  b: {deps: a, command: "echo from b; exit 3"}
"""


@pytest.fixture
def client(server):
    with paddlecloud.Client(server.url) as made:
        yield made


def without_times(text):
    return re.sub(r"\(\d[^)]*s\)|after \d.*?s\b", "TIME", text).splitlines()


def test_follow_prints_states_beside_the_lines(client, capsys):
    run = client.run_create(TWO).follow()
    heard = capsys.readouterr()
    out = without_times(heard.out.replace(f": {run.message}", ": WHY").replace(run.message.partition(": ")[2], "WHY"))
    assert out == [
        f"two ({run.id})",
        "a: running",
        "a | from a",
        "a: succeeded TIME",
        *(["b: running"] if "b: running" in heard.out else []),
        "b | from b",
        "b: failed TIME: WHY",
        f"two ({run.id}): failed TIME: WHY",
    ]
    assert heard.err == "" and run.state == "failed"


def test_follow_tells_members_apart(client, capsys):
    text = """name: members
entry_points:
  train:
    command: "echo index $PADDLE_TRAINER_ID"
    env: {PF_JOB_TYPE: distributed, PF_JOB_FRAMEWORK: paddle, PF_JOB_MODE: Collective,
          PF_JOB_WORKER_REPLICAS: "2"}
"""
    assert client.run_create(text).follow().state == "succeeded"
    lines = [line for line in capsys.readouterr().out.splitlines() if " | " in line]
    assert sorted(lines) == ["train/trainer-0 | index 0", "train/trainer-1 | index 1"]


def test_a_pause_is_heard(client, server):
    run = client.run_create(TWO, break_before=["b"])
    assert run.wait(PATIENCE, until="paused") is run
    assert (run.state, run.pauses) == ("running", [("b", "before")])
    goes_on = f"`paddle run continue {run.id}`"
    with pytest.raises(TimeoutError, match=f"is still running after 0.1 s: it is paused before 'b'; .*{goes_on}"):
        run.wait(0.1)
    with pytest.raises(ValueError, match="until is 'pause'"):
        run.wait(until="pause")
    with following(server, run) as heard:
        wait_for(lambda: "is paused" in heard()[1], PATIENCE, "the pause")
        run.go_on()
        wait_for(lambda: "failed" in heard()[0], PATIENCE, "the end")
    out, err = heard()
    assert "b: paused before it\n" in out
    assert err == f"the run is paused: {goes_on} goes on, `paddle run step {run.id}` with a single step\n"
    assert client.run_wait(run.id, PATIENCE, until="paused").state == "failed"


@pytest.mark.parametrize("waits", ["follow()", "wait()"])
def test_an_interrupt_leaves_a_short_word(client, server, waits):
    run = client.run_create(TWO, break_before=["b"]).wait(PATIENCE, until="paused")
    with following(server, run, waits) as heard:
        wait_for(lambda: "begins\n" in heard()[0], PATIENCE, "its begin")
        heard.interrupt()
    out, err = heard()
    assert err.splitlines()[-1] == (
        f"KeyboardInterrupt: the run goes on; `paddle run logs -f {run.id}` follows its logs, "
        f"`paddle run stop {run.id}` stops it"
    )
    assert err.count("File ") == 2  # the program, and the method that it calls
    assert run.refresh().state == "running"
    run.stop()


class following:
    """A program that follows a run. A call gives what it has written so far."""

    def __init__(self, server, run, waits="follow()"):
        self.text = f"import paddlecloud\nrun = paddlecloud.Client().run('{run.id}')\nprint('begins')\nrun.{waits}\n"
        self.env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PADDLE_SERVER": server.url}
        self.env["PYTHONUNBUFFERED"] = "1"

    def __enter__(self):
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        command = [sys.executable, "-c", self.text]
        self.process = subprocess.Popen(command, env=self.env, stdout=self.out, stderr=self.err)
        return self

    def __call__(self):
        texts = []
        for file in (self.out, self.err):
            texts.append(os.pread(file.fileno(), 1 << 20, 0).decode())
        return texts

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)

    def __exit__(self, *exc):
        if exc[0]:
            self.process.kill()
        self.process.wait(PATIENCE)
