"""The README, command by command, as a person types it at a terminal: every one works. Its transcripts are compared where
their commands run: that of the demo in test_paddle.py."""

import contextlib
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import time

import pytest
import readme
from conftest import BIN, PATIENCE, ROOT, processes_of
from test_cli_terminal import become_foreground

PASSWORD = "correct-horse-battery"
PROGRAM = """import os
with open(os.path.join(os.environ["PADDLE_OUTPUT"], "model.txt"), "w") if "PADDLE_OUTPUT" in os.environ else open(os.devnull, "w") as file:
    file.write("weights")
open(os.environ["PADDLE_PROGRESS_FILE"], "a").write("loss=0.5\\n")
print("rank", os.environ.get("PADDLE_TRAINER_ID", "0"))
"""
TRACE = '{"run": "1h", "queue": "vision", "count": 3, "resources": {"cpu": 4}}\n'
PIPELINE = """\
name: two
entry_points:
  first: {parameters: {lr: 0.5}, command: "echo {{lr}}"}
  second: {deps: first, command: "true"}
"""
ROOM = "nodes: [{name: n, count: 2, resources: {cpu: 8, memory: 16Gi}}]\nqueues: [{name: vision}]\n"
ANSWERS = [  # what is answered when a program asks, or when it shows what only a key ends
    (rb"(?i)(password|value|once more)[^\n]*: ?$", PASSWORD.encode() + b"\n"),
    (rb"\[Y/n\] ?$", b"y\n"),
    (rb"\x1b\[\?1049h", b"q"),
]


class Shell:
    """Bash at a terminal, in a network of its own, so that the ports of the README are free."""

    def __init__(self, directory, home):
        self.master, slave = pty.openpty()
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PADDLE")}
        self.process = subprocess.Popen(
            ["unshare", "--net", "bash", "--norc", "--noprofile", "--noediting", "-i"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=directory,
            start_new_session=True,
            preexec_fn=become_foreground,
            env={
                **clean,
                "HOME": str(home),
                "PS1": "",
                "PROMPT_COMMAND": 'echo "@@$?@@"',
                "TERM": "xterm",
                "LANG": "C.UTF-8",
            },
        )
        os.close(slave)
        self.read_answer("bash")
        self.run("stty -echo")
        self.run("ip link set lo up")

    def run(self, command):
        os.write(self.master, command.encode() + b"\n")
        return self.read_answer(command)

    def read_answer(self, command):
        """(exit status, what was shown)."""
        said, answered, end = b"", 0, time.monotonic() + PATIENCE
        while not (done := re.search(rb"@@(\d+)@@\r\n", said)):
            assert time.monotonic() < end, f"{command} has not ended: {said!r}"
            if select.select([self.master], [], [], 1)[0]:
                said += os.read(self.master, 65536)
            for pattern, answer in ANSWERS:
                if re.search(pattern, said[answered:]):
                    os.write(self.master, answer)
                    answered = len(said)
        return int(done[1]), said[: done.start()].decode(errors="replace").replace("\r\n", "\n")

    def close(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.master)


@pytest.fixture
def shell(tmp_path):
    program, home = tmp_path / "program", tmp_path / "home"
    program.mkdir()
    home.mkdir()
    (program / "train.py").write_text(PROGRAM)
    (program / "trace.jsonl").write_text(TRACE)
    (program / "room.yaml").write_text(ROOM)
    (program / "pipeline.yaml").write_text(PIPELINE)
    shell = Shell(program, home)
    yield shell
    with contextlib.suppress(AssertionError):
        shell.run("paddle down")
    shell.close()
    for pid in processes_of(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def run_all(shell, lines, places):
    """Each line with the names of places on this machine in the place of the README's."""
    for line in lines:
        for there, here in places.items():
            line = line.replace(there, str(here))
        status, said = shell.run(line)
        assert status == 0, f"{line}\n{said}"
    return said


def test_how_to_go_on(shell):
    (lines,) = readme.commands("How to go on")
    places = {
        "$PWD/build/bin": BIN,
        "$PWD/.venv": ROOT / ".venv",
        "logs -f NAME": "logs -f $(paddle list -o name | head -n 1)",
    }
    assert len(lines) >= 8
    run_all(shell, lines, places)
    status, said = shell.run("cat ../model/model/model.txt ../model/model.txt 2>/dev/null")
    assert "weights" in said


def test_a_machine_for_a_team(shell, tmp_path):
    """It is as small as a laptop."""
    administrator, ann, _ = readme.commands("A machine for a team")
    shell.run(f"export PATH={BIN}:{ROOT}/.venv/bin:$PATH")
    machine = f"paddled --state {tmp_path}/state --cpus 2 --memory 4Gi --gpus 0"
    places = {"paddled --state /var/lib/paddle": machine, "/var/lib/paddle": tmp_path / "state"}
    run_all(shell, administrator[:1], places)
    shell.run(f"until [ -S {tmp_path}/state/paddled.sock ]; do sleep 0.1; done")
    run_all(shell, administrator[1:] + ann, places)
    shell.run("kill %1; wait")


def test_what_a_team_sees(make_server, tmp_path):
    """While jobs of two cores run on a machine that has no more."""
    server = make_server("--cpus", "2", "--memory", "4Gi")
    (tmp_path / "train.py").write_text("import time; time.sleep(600)\n")
    administrator, ann, _ = readme.commands("A machine for a team")
    for line in administrator[2:4] + [line for line in ann if "--array" in line]:
        server.paddle(*shlex.split(line)[1:], cwd=tmp_path, check=0)
    server.wait("train-1", "running")
    for command, shown in readme.transcripts("A machine for a team"):
        said = server.paddle(*shlex.split(command)[1:], check=0).stdout
        assert not readme.missing(shown, said.splitlines()), said
