"""Job files as people know them: `paddle init` writes one, `paddle submit` uses it, `paddle submit --plan` shows what it would do."""

import os
import pty
import subprocess

import pytest
from conftest import BIN, PATIENCE

FLEET = "import numpy\nfrom paddle.distributed import fleet\nfleet.init_server()\n"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "digits"
    path.mkdir()
    return path


def test_a_job_file_for_a_directory(shared_server, program):
    (program / "train.py").write_text(FLEET)
    done = shared_server.paddle("init", cwd=program, check=0)
    assert done.stdout == "paddle.yaml\n" and "train.py, framework paddle-ps" in done.stderr
    text = (program / "paddle.yaml").read_text()
    for line in (
        "command: [python, train.py]",
        "framework: paddle-ps",
        "- name: pserver",
        "- name: trainer",
        "  numpy",
    ):
        assert line in text.splitlines(), text


def test_a_job_file_is_not_replaced_without_force(shared_server, program):
    (program / "paddle.yaml").write_text("mine\n")
    done = shared_server.paddle("init", cwd=program)
    assert done.returncode == 2 and "'paddle.yaml' exists already" in done.stderr and "--force" in done.stderr
    assert (program / "paddle.yaml").read_text() == "mine\n"
    shared_server.paddle("init", "--force", cwd=program, check=0)
    assert "framework: plain" in (program / "paddle.yaml").read_text()


def test_submit_uses_the_job_file_of_the_directory(shared_server, program):
    (program / "train.py").write_text("import os; print(os.environ['PADDLE_JOB_NAME'], os.environ.get('EPOCHS'))\n")
    shared_server.paddle("init", cwd=program, check=0)
    with (program / "paddle.yaml").open("a") as file:
        file.write("env: {EPOCHS: '3'}\n")
    shared_server.paddle("submit", "--name", "of-file", "--follow", cwd=program, check=0)
    assert shared_server.member_log("of-file") == "of-file 3\n"
    shared_server.paddle("submit", "--name", "over-file", "--env", "EPOCHS=5", "--follow", cwd=program, check=0)
    assert shared_server.member_log("over-file") == "over-file 5\n"  # options win
    shared_server.paddle("submit", "--name", "own-command", "--follow", "--", "echo", "hi", cwd=program, check=0)
    assert shared_server.member_log("own-command") == "hi\n"  # a command needs no file
    elsewhere = ["submit", "--name", "elsewhere", "--package-path", program, "--follow"]
    shared_server.paddle(*elsewhere, cwd=program.parent, check=0)
    assert shared_server.member_log("elsewhere") == "elsewhere 3\n"


def newest(server):
    return server.get("/v1/jobs?limit=1").json["items"][0]["id"]


def test_a_plan_without_a_terminal_only_shows(shared_server, program):
    (program / "train.py").write_text("print(1)\n")
    (program / "requirements.txt").write_text("six==1.16.0\n")
    (program / ".paddleignore").write_text("data/\n")
    (program / "data").mkdir()
    shared_server.paddle("submit", "--no-package", "--", "true", check=0)
    before = newest(shared_server)
    line = ["submit", "--plan", "-n", "2", "--cpu", "1", "--", "python3", "train.py"]
    done = shared_server.paddle(*line, cwd=program, check=0)
    for part in (
        "runs        python3 train.py (framework paddle-collective)\n",
        "sends       3 files, ",
        "leaves out  data/\n",
        "installs    1 package: six==1.16.0; the environment is built first\n",
        "asks for    2 trainers with 1 core each, 2 cores in all\n",
        "It would ",
    ):
        assert part in done.stdout, done.stdout
    assert newest(shared_server) == before
    refused = shared_server.paddle("submit", "--plan", "--cpu", "4096", "--", "python3", "train.py", cwd=program)
    assert refused.returncode == 3 and "It would be refused" in refused.stdout
    assert newest(shared_server) == before


@pytest.mark.parametrize("answer, submitted", [("\n", True), ("y\n", True), ("n\n", False)], ids=["enter", "y", "n"])
def test_a_plan_on_a_terminal_asks(shared_server, program, answer, submitted):
    (program / "train.py").write_text("print(1)\n")
    shared_server.paddle("submit", "--no-package", "--", "true", check=0)
    before = newest(shared_server)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BIN / "paddle", "submit", "--plan", "--", "python3", "train.py"],
        cwd=program,
        env={**os.environ, "PADDLE_SERVER": shared_server.url, "HOME": str(program.parent), "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while b"Submit? [Y/n] " not in shown:
        shown += os.read(ours, 4096)
    os.write(ours, answer.encode())
    assert process.wait(PATIENCE) == 0
    os.close(ours)
    assert (newest(shared_server) != before) == submitted
