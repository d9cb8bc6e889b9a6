"""Job files as people know them: `paddle init` writes one, `paddle submit` uses it, `paddle submit --plan` shows what it would do."""

import json
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
    elsewhere = ["submit", "--name", "elsewhere", "--package-path", program, "--follow"]
    shared_server.paddle(*elsewhere, cwd=program.parent, check=0)
    assert shared_server.member_log("elsewhere") == "elsewhere 3\n"


FILE = """command: [python, train.py]
name: of-file-too
queue: default
env: {EPOCHS: '3', KEPT: 'yes'}
roles:
- name: worker
  cpu: 2
time_limit: 2h
"""


def submitted(server, directory, *line):
    done = server.paddle("submit", *line, cwd=directory, check=0)
    return server.wait(done.stdout.split()[1]), done.stderr


def test_a_given_command_replaces_only_the_command_of_the_job_file(shared_server, program):
    (program / "paddle.yaml").write_text(FILE)
    job, said = submitted(shared_server, program, "--", "sh", "-c", "echo $EPOCHS $KEPT")
    assert shared_server.member_log(job["id"]) == "3 yes\n"
    assert (job["name"], job["spec"]["time_limit"], job["spec"]["roles"][0]["cpu"]) == ("of-file-too", "7200s", "2")
    assert "note: from 'paddle.yaml': name, queue, env, roles, time_limit; its command is replaced\n" in said
    assert "--no-file" not in said
    options = ["--name", "given", "--cpu", "1", "--env", "EPOCHS=5", "--time-limit", "1h"]
    job, _ = submitted(shared_server, program, *options, "--", "sh", "-c", "echo $EPOCHS $KEPT")
    assert shared_server.member_log(job["id"]) == "5 yes\n"  # options win
    assert (job["name"], job["spec"]["time_limit"], job["spec"]["roles"][0]["cpu"]) == ("given", "3600s", "1")
    job, said = submitted(shared_server, program, "--no-file", "--", "sh", "-c", "echo ${EPOCHS-none}")
    assert shared_server.member_log(job["id"]) == "none\n" and "paddle.yaml" not in said
    (program / "paddle.yaml").write_text("command: [python, train.py]\n")
    _, said = submitted(shared_server, program, "--", "true")
    assert "note: 'paddle.yaml' is not used: it has only a command\n" in said


def test_a_command_that_no_role_would_run_is_refused(shared_server, program):
    (program / "paddle.yaml").write_text("roles:\n- name: worker\n  command: [echo, own]\n")
    done = shared_server.paddle("submit", "--", "echo", "hi", cwd=program, check=2)
    assert "each role in 'paddle.yaml' has a command of its own" in done.stderr and "--no-file" in done.stderr


def test_options_replace_the_array_and_the_sweep_of_a_job_file(shared_server, program):
    (program / "paddle.yaml").write_text("command: ['true']\nsweep: {lr: [0.1, 0.2]}\n")
    done = shared_server.paddle("submit", "--array", "0-2", "-o", "json", cwd=program, check=0)
    assert json.loads(done.stdout)["array"]["size"] == 3
    (program / "paddle.yaml").write_text("command: ['true']\narray: 0-6\n")
    done = shared_server.paddle("submit", "--sweep", "lr=1,2", "-o", "json", cwd=program, check=0)
    assert json.loads(done.stdout)["array"]["size"] == 2


def test_packages_of_a_job_file_win_over_those_of_the_package(shared_server, program):
    (program / "requirements.txt").write_text("nosuch-package-of-the-file==1\n")
    (program / "paddle.yaml").write_text("command: ['true']\nrequirements: |\n  nosuch-package-of-the-key==1\n")
    done = shared_server.paddle("submit", "--plan", cwd=program, check=0)
    assert "1 package: nosuch-package-of-the-key==1;" in done.stdout
    assert "requirements.txt is not read, because 'paddle.yaml' lists the packages" in done.stderr
    done = shared_server.paddle("submit", "-o", "json", cwd=program, check=0)
    job = json.loads(done.stdout)
    assert job["spec"]["requirements"].strip() == "nosuch-package-of-the-key==1"
    shared_server.cancel([job["id"]])
    (program / "paddle.yaml").write_text("command: ['true']\nrequirements: ''\n")
    job, _ = submitted(shared_server, program)
    assert job["state"] == "succeeded" and not job["spec"]["requirements"]


def newest(server):
    return server.get("/v1/jobs?limit=1").json["items"][0]["id"]


def test_a_plan_without_a_terminal_only_shows(shared_server, program):
    (program / "train.py").write_text("print(1)\n")
    (program / "requirements.txt").write_text("toolz==0.12.0\n")
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
        "installs    1 package: toolz==0.12.0; the environment is built first\n",
        "asks for    2 trainers with 1 core each, 2 cores in all; memory is not limited\n",
        "It would ",
    ):
        assert part in done.stdout, done.stdout
    assert newest(shared_server) == before
    refused = shared_server.paddle("submit", "--plan", "--cpu", "4096", "--", "python3", "train.py", cwd=program)
    assert refused.returncode == 3 and "It would be refused" in refused.stdout
    assert newest(shared_server) == before


@pytest.mark.parametrize("mode", ["--plan", "--dry-run"])
def test_a_plan_of_a_sweep_shows_its_jobs(shared_server, program, mode):
    sweep = ["--sweep", "lr=0.1,0.01,0.001", "--sweep", "depth=2,3", "--sweep-parallel", "2"]
    line = ["submit", mode, "--no-package", "-n", "2", *sweep, "--", "true"]
    done = shared_server.paddle(*line, cwd=program, check=0)
    for part in (
        "makes       6 jobs with 12 cores in all; at most 2 at once, with 4 cores\n",
        "            [0]  lr=0.1   depth=2\n",
        "            [3]  lr=0.01  depth=3\n",
        "            ... and 2 more\n",
        "Its first job would ",
    ):
        assert part in done.stdout, done.stdout
    array = ["submit", mode, "--no-package", "--array", "0-9:3", "--", "true"]
    done = shared_server.paddle(*array, cwd=program, check=0)
    assert "makes       4 jobs with 4 cores in all, with the indices 0-9:3\n" in done.stdout


def test_a_plan_names_what_members_get_by_default(shared_server, program):
    shared_server.paddle(
        "queue", "create", "given", "--max", "cpu=4,memory=8Gi", "--defaults", "cpu=2,memory=3Gi", check=0
    )
    plan = ["submit", "--plan", "--no-package"]
    done = shared_server.paddle(*plan, "--", "true", cwd=program, check=0)
    assert "asks for    1 worker with 1 core (by default); memory is not limited\n" in done.stdout
    done = shared_server.paddle(*plan, "--queue", "given", "--cpu", "1", "--", "true", cwd=program, check=0)
    assert "asks for    1 worker with 1 core, 3Gi of memory (by default)\n" in done.stdout


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
    assert process.wait(PATIENCE) == (0 if submitted else 1)
    assert submitted or b"nothing was submitted" in os.read(ours, 4096)
    os.close(ours)
    assert (newest(shared_server) != before) == submitted
