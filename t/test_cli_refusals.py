"""What the command line refuses: each flag, the job file, the configuration, the package, the server's own refusals. A
message names thing, value and rule; the exit status is that of doc/guide/cli.md; nothing is sent or left behind."""

import os
import signal
import socket
import subprocess

import pytest
from conftest import BIN, PATIENCE, Server, wait_for
from seeds import noise

LONG = "a" * 300


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.mkdir()
    (path / "train.py").write_text("print('trained')\n")
    return path


@pytest.fixture
def untouched(shared_server):
    """The server; afterwards it has no job and no package that it had not before."""

    def traces():
        jobs = shared_server.get("/v1/jobs?limit=1000").json["items"]
        return [job["id"] for job in jobs], sorted(map(str, (shared_server.state / "packages").rglob("*")))

    before = traces()
    yield shared_server
    assert traces() == before


def refused(done, status, *parts):
    assert done.returncode == status, f"status {done.returncode}, not {status}\n{done.stdout}\n{done.stderr}"
    assert done.stdout == ""
    assert done.stderr.splitlines()[0 if "warning" not in done.stderr else -1].strip() or parts
    assert "paddle: " in done.stderr
    for part in parts:
        assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"
    assert all(char.isprintable() or char == "\n" for char in done.stderr), done.stderr


# -- flags of all three verbs; the words are added to a complete line of each

FLAGS = [
    (["--no-such-flag"], ["'--no-such-flag'"]),
    (["--trainer", "2"], ["'--trainer'", "--trainers"]),
    (["-Q"], ["'-Q'"]),
    (["--trainers", "0"], ["--trainers", "'0'", "1 to 10000"]),
    (["--trainers=-1"], ["--trainers", "'-1'", "1 to 10000"]),
    (["--trainers:1000000000"], ["--trainers", "'1000000000'", "1 to 10000"]),
    (["-n", "two"], ["-n", "'two'"]),
    (["-n", "1e3"], ["-n", "'1e3'"]),
    (["-n", ""], ["-n", "''"]),
    (["--pservers", "-1"], ["--pservers", "'-1'", "0 to 10000"]),
    (["--pservers", "1000000000"], ["--pservers", "'1000000000'"]),
    (["--pserver=x"], ["--pservers", "'x'"]),
    (["--trainers", "9999", "--pservers", "9999"], ["19998", "10000"]),
    (["--framework", "caffe"], ["--framework", "'caffe'", "paddle-ps, paddle-collective"]),
    (["--framework", "plain", "--pservers", "2"], ["--pservers=2", "--framework=plain", "cannot be combined"]),
    (["--framework", "paddle-ps", "--pservers", "0"], ["pserver"]),
    (["--base-image", "bad image"], ["image", "'bad image'"]),
    (["--base-image="], ["image", "''"]),
    (["--base-image", LONG], ["image", "255"]),
    (["--use-gpu"], ["--use-gpu", "--trainer-gpu-num"]),
    (["--use-gpu=maybe"], ["--use-gpu", "'maybe'", "true or false"]),
    (["--use-gpu=true", "--trainer-gpu-num", "0"], ["--use-gpu", "--trainer-gpu-num"]),
    (["--trainer-gpu-num", "1"], ["--trainer-gpu-num=1", "--use-gpu"]),
    (["--use-gpu=false", "--trainer-gpu-num", "1"], ["--trainer-gpu-num=1", "--use-gpu"]),
    (["--trainer-gpu-num", "-1"], ["--trainer-gpu-num", "'-1'", "1024"]),
    (["--trainer-gpu-num", "1000000000"], ["--trainer-gpu-num", "'1000000000'", "1024"]),
    (["--gpus", "-1"], ["--gpus", "'-1'"]),
    (["--gpus", "1000000000"], ["--gpus", "'1000000000'", "1024"]),
    (["--gpus", "1", "--use-gpu", "--trainer-gpu-num", "2"], ["--gpus=1", "--trainer-gpu-num=2", "cannot be combined"]),
    (["--env", "NOEQUALS"], ["--env", "'NOEQUALS' has no value", "NOEQUALS=VALUE"]),
    (["--env", "1A=x"], ["--env", "'1A'"]),
    (["--env", "=x"], ["--env", "''"]),
    (["--env", "A\x01B=x"], ["--env", "'A?B'"]),
    (["--cpu", "-1"], ["--cpu", "'-1'"]),
    (["--cpu", "fast"], ["--cpu", "'fast'"]),
    (["--cpu", ""], ["--cpu", "''"]),
    (["--memory", "1Zi"], ["--memory", "'1Zi'"]),
    (["--memory", "9" * 30 + "Ei"], ["--memory", "999"]),
    (["--ps-cpu", "1"], ["--ps-cpu", "--pservers"]),
    (["--ps-memory", "1Gi"], ["--ps-memory", "--pservers"]),
    (["--ps-cpu", "x", "--pservers", "1"], ["--ps-cpu", "'x'"]),
    (["--retries", "-1"], ["--retries", "'-1'", "0 to 1000"]),
    (["--retries", "1000000000"], ["--retries", "'1000000000'", "0 to 1000"]),
    (["--time-limit", "soon"], ["--time-limit", "'soon'", "90s"]),
    (["--time-limit", "-5s"], ["--time-limit", "'-5s'"]),
    (["--time-limit", "1000000000d"], ["time_limit", "3650 days"]),
    (["--grace", "x"], ["--grace", "'x'"]),
    (["--grace", "9d"], ["grace", "1 day"]),
    (["--on-lost", "cry"], ["on_lost", "'cry'", "retry, fail"]),
    (["--input", "../x"], ["input", "'../x'", "'..'"]),
    (["--input="], ["input", "empty"]),
    (["--output", "/pfs/a/../b"], ["output", "'..'"]),
    (["--output", "a\x1b[31m"], ["output", "control"]),
    (["--output", "x" * 5000], ["output", "4096"]),
    (["--package-path", "/no/such/dir"], ["--package-path", "'/no/such/dir'", "does not exist"]),
    (["--package-path="], ["--package-path", "''"]),
    (["--package-path", "/etc/passwd"], ["--package-path", "'/etc/passwd'", "not a directory"]),
    (["--package-path", "/"], ["'/'", "root of the file system", "--no-package"]),
    (["--package-path", ".", "--no-package"], ["--no-package", "--package-path", "cannot be combined"]),
    (["-o", "xml"], ["'xml'", "json"]),
    (["--file", "/no/such/file.yaml"], ["--file", "/no/such/file.yaml", "No such file"]),
    (["-f", "/etc"], ["--file", "/etc"]),
    (["--job-name", "a/b"], ["name", "'a/b'", "1 to 63"]),
    (["--job-name", ".."], ["name", "'..'"]),
    (["--job-name", "a\x02b"], ["name", "a\\002b"]),
    (["--job-name", LONG], ["name", "aaaa", "63"]),
    (["--job-name="], ["name", "''"]),
    (["--env", "A=\udcff"], ["--env", "UTF-8"]),
    (["--output", "a\udcff"], ["--output", "UTF-8"]),
    (["--network", "none\udcff"], ["--network", "UTF-8"]),
    (["--on-lost", "fail\udcff"], ["--on-lost", "UTF-8"]),
    (["--queue", "a\udcff"], ["--queue", "UTF-8"]),
    (["--flavour", "a\udcff"], ["--flavour", "UTF-8"]),
    (["--setup", "true \udcff"], ["--setup", "UTF-8"]),
    (["--secret", "A\udcff=b"], ["--secret", "UTF-8"]),
    (["--secret-file", "a\udcff"], ["--secret-file", "UTF-8"]),
    (["--job-name", "Big"], ["name", "'Big'", "a-z"]),
]


@pytest.mark.parametrize("verb", ["submit", "job submit", "train"])
@pytest.mark.parametrize("flags, parts", FLAGS, ids=lambda value: " ".join(value)[:50])
def test_a_flag_is_refused(untouched, program, verb, flags, parts):
    if verb == "submit":
        line = ["submit", *flags, "--", "python3", "train.py"]
    else:
        own = [word for word in flags if word.startswith(("--package-path", "--no-package"))]
        line = [*verb.split(), "--job-name=complete", "--entry-point=python3 train.py"]
        line += ([] if own else ["--package-path=."]) + flags
    refused(untouched.paddle(*line, cwd=program), 2, *parts)


@pytest.mark.parametrize(
    "line, parts",
    [
        (["submit"], ["command", "paddle submit -- python train.py"]),
        (["submit", "--env"], ["--env", "needs a value", "NAME[=VALUE]"]),
        (["submit", "--"], ["command"]),
        (["submit", "--", ""], ["command", "empty"]),
        (["submit", "--", "\udcff"], ["word 1 of the command", "UTF-8"]),
        (["submit", "--", "cat", "a", "b\udcff"], ["word 3 of the command", "UTF-8"]),
        (["submit", "--entry-point=x", "--", "true"], ["'true", "--entry-point='x'", "cannot be combined"]),
        (["job", "submit"], ["--job-name", "missing"]),
        (["job", "submit", "--job-name=a"], ["--entry-point", "missing"]),
        (["job", "submit", "--job-name=a", "--entry-point=true"], ["--package-path", "missing", "--no-package"]),
        (["job", "submit", "--job-name=a", "--entry-point=", "--no-package"], ["command", "empty"]),
        (["job", "submit", "--job-name=a", "--entry-point=x", "--no-package", "y"], ["'y'", "--entry-point"]),
        (["train", "--package-path=."], ["--job-name", "missing"]),
        (["job"], ["'job'", "job submit"]),
        (["jobs"], ["'jobs'"]),
        ([], ["paddle"]),
        (["status"], ["status", "JOB"]),
        (["status", "a", "b"], ["'b'"]),
        (["cancel"], ["cancel", "JOB"]),
        (["logs", "a", "b"], ["'b'"]),
        (["logs", "--tail", "x", "a"], ["--tail", "'x'"]),
        (["logs", "--attempt", "0", "a"], ["--attempt", "'0'"]),
        (["wait"], ["wait", "JOB"]),
        (["list", "--limit", "-1"], ["--limit", "'-1'"]),
        (["list", "-o", "xml"], ["'xml'"]),
        (["list", "--state", "happy"], ["'happy'"]),
        (["events", "--since", "-1"], ["--since", "'-1'"]),
        (["upload", "x"], ["upload", "REMOTE"]),
        (["download", "x"], ["download", "LOCAL"]),
        (["token", "create", "--expires", "never"], ["--expires", "'never'"]),
        (["token", "create", "--expires", "0s"], ["--expires", "the least is 1 s"]),
        (["completion", "tcsh"], ["'tcsh'", "bash"]),
        (["--server", "ftp://x", "list"], ["'ftp://x'"]),
    ],
    ids=lambda value: " ".join(value)[:50] or "nothing",
)
def test_wrong_usage_is_2(untouched, program, line, parts):
    done = untouched.paddle(*line, cwd=program)
    if not line:
        assert done.returncode == 2 and "usage" in (done.stdout + done.stderr).lower()
    else:
        refused(done, 2, *parts)


# -- the job file


FILES = [
    ("", ["job.yaml", "field: value"]),
    ("a: [1, 2", ["job.yaml"]),
    ("a: b: c\n", ["job.yaml"]),
    ("\tcommand: x\n", ["job.yaml"]),
    ("{'command': ", ["job.yaml"]),
    ('{"command": ["true"], "command": ["false"]}', ["job.yaml", "command"]),
    ("command: [a]\ncommand: [b]\n", ["job.yaml", "command"]),
    ("- command\n- x\n", ["job.yaml", "field: value"]),
    ("just text", ["job.yaml", "field: value"]),
    ("command: [x]\ncolour: red\n", ["job.yaml, line 2: 'colour' is not a known field"]),
    ("nmae: y\ncommand: [x]\n", ["job.yaml, line 1: 'nmae' is not a known field", "Did you mean 'name'?"]),
    (
        "command: [x]\nroles:\n- name: worker\n  replica: 2\n",
        ["job.yaml, line 4: roles[0].'replica' is not a known field", "Did you mean 'replicas'?"],
    ),
    ("command: [x]\nretries: many\n", ["job.yaml, line 2: retries"]),
    ("command: [x]\nretries: -1\n", ["retries", "'-1'"]),
    ("command: [x]\nname: A/B\n", ["name", "'A/B'"]),
    ("command: [x]\nroles: [{name: worker, replicas: 1000000000}]\n", ["roles[0].replicas", "'1000000000'"]),
    ("command: [x]\nframework: caffe\n", ["framework", "'caffe'"]),
    ("entry_point: x\ntrainers: 0\n", ["trainers", "'0'"]),
    ("entry_point: x\npservers: -2\n", ["pservers", "'-2'"]),
    ("entry_point: x\nuse_gpu: true\n", ["use_gpu", "trainer_gpu_num"]),
    ("entry_point: x\ncommand: [y]\n", ["'command'"]),
    ("command: [x]\ntime_limit: soon\n", ["time_limit", "'soon'"]),
    ("command: [x]\npackage_path: /no/such/dir\n", ["package_path", "'/no/such/dir'", "does not exist"]),
    ("command: [x]\npackage_path: 5\n", ["package_path", "'5'"]),
    ("command: [x]\npackage_path: ''\n", ["package_path", "not the name of a directory"]),
    ("command: [x]\npackage_path: train.py\n", ["package_path", "train.py", "not a directory"]),
    ("a: " + "[" * 5000, ["job.yaml", "nested"]),
    (
        "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)),
        ["job.yaml"],
    ),
    ('command: [x]\nname: "a\\x01"\n', ["name", "a\\001"]),
    ("command: [\xff]\n".encode("latin-1"), ["job.yaml"]),
    (b"\0\0\0\0", ["job.yaml"]),
    (b"x" * (2 << 20), ["job.yaml", "1"]),
]


@pytest.mark.parametrize("text, parts", FILES, ids=lambda value: str(value)[:40])
def test_a_job_file_is_refused(untouched, program, text, parts):
    (program / "job.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(untouched.paddle("submit", "-f", "job.yaml", cwd=program), 2, *parts)


# -- the configuration


CONFIGS = [
    ("a: [", ["config"]),
    ("just text", ["config", "key: value"]),
    ("- a\n- b\n", ["config", "key: value"]),
    ("paddleServer: not-a-url\n", ["config", "paddleServer", "'not-a-url'"]),
    ("paddleServer: http://a b\n", ["config", "paddleServer"]),
    ("paddleServer: [x]\n", ["config", "paddleServer", "text"]),
    ("paddleServer: http://x\npaddleServer: http://y\n", ["config", "paddleServer"]),
    ("apiVersion: v9\n", ["config", "apiVersion", "'v9'", "v1"]),
    ("token: {a: b}\n", ["config", "token"]),
    ("dockerRegistry: 5\n", ["config", "dockerRegistry"]),
    ("datacenters: 5\n", ["config", "datacenters", "list"]),
    ("datacenters: [{name: a}]\n", ["config", "datacenters[0].endpoint", "missing"]),
    ("datacenters: [{name: a, endpoint: x}]\n", ["config", "datacenters[0].endpoint", "'x'"]),
    ("datacenters: [{name: a, endpoint: 'http://x'}]\ncurrent-datacenter: b\n", ["config", "'b'", "a"]),
    ("token: " + "x" * 5000 + "\n", ["config", "token", "4096"]),
    ("a: " + "[" * 5000, ["config", "nested"]),
    (b"\xff\xfe\0", ["config"]),
    (b"x" * (1 << 20), ["config"]),
]


@pytest.mark.parametrize("text, parts", CONFIGS, ids=lambda value: str(value)[:40])
def test_a_configuration_is_refused(untouched, tmp_path, text, parts):
    path = tmp_path / "config"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    environment = {"PADDLE_CONFIG": str(path), "PADDLE_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [BIN / "paddle", "list"],
        env={**{k: v for k, v in os.environ.items() if not k.startswith("PADDLE")}, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    refused(done, 1, *parts)
    assert not (tmp_path / "home").exists()  # no embedded server was started


def test_a_configuration_without_permission_is_refused(untouched, tmp_path):
    path = tmp_path / "config"
    path.mkdir()
    done = untouched.paddle("list", env={"PADDLE_CONFIG": str(path), "PADDLE_SERVER": ""})
    refused(done, 1, str(path))


# -- the package


def test_packages_are_refused(untouched, program):
    def submit():
        return untouched.paddle("submit", "--", "python3", "train.py", cwd=program)

    (program / "out").symlink_to("/etc/passwd")
    refused(submit(), 2, "'out'", "/etc/passwd")
    (program / "out").unlink()
    (program / "up").symlink_to("../../..")
    refused(submit(), 2, "'up'", "../../..")
    (program / "up").unlink()
    os.mkfifo(program / "pipe")
    refused(submit(), 2, "'pipe'")
    (program / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(program / "sock"))
        refused(submit(), 2, "'sock'")
    (program / "sock").unlink()
    (program / b"a\xff".decode(errors="surrogateescape")).touch()
    refused(submit(), 2, "UTF-8")
    (program / b"a\xff".decode(errors="surrogateescape")).unlink()
    (program / "a\x01b").touch()
    refused(submit(), 2, "a\\x01b")


def test_a_home_directory_is_not_sent(untouched, tmp_path):
    done = untouched.paddle("submit", "--", "true", cwd=tmp_path, env={"HOME": str(tmp_path)})
    refused(done, 2, "home directory", "--package-path", "--no-package")


def test_a_package_that_is_too_large(untouched, program):
    with open(program / "data.bin", "wb") as data:
        data.truncate(3 << 30)
    done = untouched.paddle("submit", "--", "true", cwd=program)
    refused(done, 2, "2 GiB", "data.bin", "3.0 GiB", "--allow-large", ".paddleignore")


# -- programs that are not there


MISSING = [
    (["python3", "missing.py"], ["'missing.py' is not in the package", "--force"]),
    (["python3", "trian.py"], ["'trian.py' is not in the package", "Did you mean 'train.py'?"]),
    (["trian.py"], ["'trian.py' is not in the package", "Did you mean 'train.py'?"]),
    (["train.py"], ["'train.py' without a directory is searched on PATH", "python train.py"]),
    (["steps.yaml"], ["'steps.yaml' is not a program", "`paddle run create -f steps.yaml`"]),
    (["./train.py"], ["'./train.py' is not executable", "chmod +x train.py", "python train.py"]),
    (["./missing.sh"], ["'missing.sh' is not in the package"]),
    (["sh", "missing.sh"], ["'missing.sh' is not in the package"]),
    (["python3", "ignored.py"], ["'ignored.py' is left out of the package", ".paddleignore", "!ignored.py"]),
    (["python3", "../train.py"], ["'../train.py' is outside the package", "--package-path"]),
    (["python3", "-m", "pkg.nosuch"], ["no module 'pkg.nosuch'"]),
    (["python3", "-m", "train.py"], ["takes the name of a module", "python train.py"]),
    (["python3 trian.py --epochs 3 && echo done"], ["'trian.py' is not in the package"]),
]


@pytest.fixture
def packed(program):
    (program / "pkg").mkdir()
    (program / "pkg" / "__init__.py").touch()
    (program / "ignored.py").touch()
    (program / "steps.yaml").write_text("name: p\nentry_points: {a: {command: x}}\n")
    (program / ".paddleignore").write_text("ignored.py\n")
    return program


@pytest.mark.parametrize("command, parts", MISSING, ids=str)
def test_a_program_that_is_not_in_the_package_is_refused(untouched, packed, command, parts):
    refused(untouched.paddle("submit", "--", *command, cwd=packed), 2, *parts)
    refused(untouched.paddle("submit", "--dry-run", "--", *command, cwd=packed), 2, *parts)


def test_a_pipeline_is_no_job_file(untouched, packed):
    done = untouched.paddle("submit", "-f", "steps.yaml", cwd=packed)
    refused(done, 2, "'steps.yaml' is a pipeline, not a job file", "`paddle run create -f steps.yaml`")


def test_the_program_of_a_role_is_looked_for_as_well(untouched, packed):
    roles = "roles: [{name: worker, command: [python3, trian.py]}]\n"
    (packed / "job.yaml").write_text("framework: plain\ncommand: [python3, train.py]\n" + roles)
    refused(untouched.paddle("submit", "-f", "job.yaml", cwd=packed), 2, "'trian.py'", "'train.py'")


def test_force_submits_a_program_that_is_not_there(shared_server, program):
    done = shared_server.paddle("submit", "--force", "--follow", "--", "python3", "missing.py", cwd=program)
    assert done.returncode == 1
    assert "warning" in done.stderr and "missing.py" in done.stderr.splitlines()[0]
    job = shared_server.job(shared_server.get("/v1/jobs?limit=1").json["items"][0]["id"])
    assert job["state"] == "failed" and "worker-0" in job["reason"] and job["reason"] in done.stderr


@pytest.mark.parametrize(
    "flags, parts",
    [
        (["--cpu", "4096"], ["could never start", "4096 cores", "Ask for"]),
        (["--queue", "nosuch"], ["'nosuch'"]),
        (["--input", "nosuch"], ["'/pfs/local/home/root/nosuch' does not exist"]),
        (["--secret", "nosuch"], ["nosuch"]),
        (["--flavour", "nosuch"], ["'nosuch'"]),
    ],
    ids=str,
)
def test_a_job_that_the_server_would_refuse_is_not_sent(untouched, program, flags, parts):
    """As the dry run says it, and before the package."""
    (program / "data").write_bytes(noise(10_000, "data"))
    refused(untouched.paddle("submit", *flags, "--", "python3", "train.py", cwd=program), 3, *parts)
    done = untouched.paddle("submit", "--dry-run", *flags, "--", "python3", "train.py", cwd=program)
    assert done.returncode == 3, done.stderr
    for part in parts:
        assert part in done.stdout + done.stderr


def test_a_missing_interpreter_fails_with_its_name(shared_server, program):
    done = shared_server.paddle("submit", "--follow", "--", "/no/such/python9", "train.py", cwd=program)
    assert done.returncode == 1 and "/no/such/python9" in done.stderr and "No such file" in done.stderr


def test_a_program_that_dies_at_once(shared_server, program):
    (program / "train.py").write_text("import sys; sys.exit(7)\n")
    done = shared_server.paddle("submit", "--follow", "--", "python3", "train.py", cwd=program)
    assert done.returncode == 1 and "worker-0 exited with status 7" in done.stderr


def test_waiting_for_several_jobs(shared_server):
    names = ["wait-a", "wait-b", "wait-c"]
    for name, command in zip(names, ("true", "exit 3", "true"), strict=True):
        shared_server.submit(command, name=name)
    done = shared_server.paddle("wait", *names)
    assert done.returncode == 1 and [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["wait-a", "succeeded"],
        ["wait-b", "failed"],
        ["wait-c", "succeeded"],
    ]
    shared_server.paddle("wait", "wait-a", "wait-c", check=0)
    assert shared_server.paddle("wait", "wait-a", "no-such-job", "wait-c").returncode == 1


# -- what the server refuses, and servers that are not there


def test_statuses_of_the_servers_refusals(make_server, program):
    server = make_server("--cpus", "1", "--max-open-jobs", "2")
    server.paddle("submit", "--name", "taken", "--grace", "1s", "--", "sleep", "600", cwd=program, check=0)
    done = server.paddle("submit", "--name", "taken", "--", "true", cwd=program)
    refused(done, 3, "'taken'", "unique", "paddle cancel")
    server.paddle("submit", "--", "true", cwd=program, check=0)
    refused(server.paddle("submit", "--", "true", cwd=program), 3, "2 jobs that have not ended")
    refused(server.paddle("submit", "--cpu", "4", "--", "true", cwd=program), 3, "4 cores", "machine has 1")
    refused(server.paddle("submit", "--input", "nothing", "--", "true", cwd=program), 3, "nothing", "does not exist")
    for verb in ("status", "cancel", "logs", "wait", "events"):
        refused(server.paddle(verb, "no-such-job"), 1, "'no-such-job'")
        for word in ("../x", "", "a b", "a\nb", "\udcff"):
            refused(server.paddle(verb, word), 2, "is not a job's name or id", "a-z, 0-9")
    refused(server.paddle("download", "nothing", program / "x"), 1, "nothing")
    refused(server.paddle("upload", program / "nothing", "x"), 2, "nothing")
    refused(server.paddle("token", "revoke", "nothing"), 1, "'nothing'")
    assert not (program / "x").exists()


@pytest.mark.parametrize("line", [["list"], ["submit", "--", "true"], ["status", "x"], ["upload", "train.py", "x"]])
@pytest.mark.parametrize("url", ["unix:/no/such.sock", "http://127.0.0.1:1"])
def test_a_server_that_is_not_there_is_4(program, tmp_path, line, url):
    done = subprocess.run(
        [BIN / "paddle", *line],
        cwd=program,
        env={**os.environ, "PADDLE_SERVER": url, "HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    refused(done, 4, url.removeprefix("unix:").removeprefix("http://"))


# -- paddled


@pytest.mark.parametrize(
    "line, status, parts",
    [
        ([], 2, ["--state"]),
        (["--state"], 2, ["--state", "needs a value"]),
        (["--colour"], 2, ["'--colour'"]),
        (["--state", "S", "--workers", "0"], 2, ["--workers", "'0'"]),
        (["--state", "S", "--workers", "1000000000"], 2, ["--workers", "'1000000000'"]),
        (["--state", "S", "--max-open-jobs", "-1"], 2, ["--max-open-jobs", "'-1'"]),
        (["--state", "S", "--gpus", "1000000000"], 2, ["--gpus", "1024"]),
        (["--state", "S", "--listen", "nowhere"], 2, ["nowhere"]),
        (["--state", "S", "--listen", "127.0.0.1:99999"], 2, ["127.0.0.1:99999"]),
        (["--state", "S", "--cpus", "x"], 2, ["--cpus", "'x'"]),
        (["--state", "S", "--memory", "1Zi"], 2, ["--memory", "'1Zi'"]),
        (["--state", "S", "--datacenter", "../up"], 2, ["datacenter", "../up"]),
        (["--state", "S", "--log-level", "loud"], 2, ["--log-level", "'loud'"]),
        (["--state", "S", "--log-format", "xml"], 2, ["--log-format", "'xml'"]),
        (["--state", "S", "--keep-finished", "soon"], 2, ["--keep-finished", "'soon'"]),
        (["--state", "S", "--config", "/no/such"], 1, ["/no/such"]),
        (["--state", "S", "word"], 2, ["'word'"]),
        (
            ["--state", "S", "--build-allow", "http://files.lab"],
            2,
            ["'http://files.lab' is a URL", "files.example.com"],
        ),
        (["--state", "S", "--build-allow", "files.lab/simple"], 2, ["'files.lab/simple'", "a host is needed"]),
        (["--state", "S", "--build-allow", "10.0.0.0/8"], 2, ["'10.0.0.0/8'", "a host is needed"]),
        (["--state", "S", "--build-allow", "*"], 2, ["'*'", "--build-network host"]),
        (["--state", "S", "--build-allow", "a.lab, b.lab"], 2, ["' b.lab'", "HOST:PORT"]),
        (["--state", "S", "--build-allow", "a.lab,"], 2, ["'a.lab,'", "empty item"]),
        (["--state", "S", "--build-allow", "a.lab:0"], 2, ["--build-allow", "'a.lab:0'", "1 to 65535"]),
        (["--state", "S", "--build-allow", "a.lab:80:90"], 2, ["'a.lab:80:90'", "1 to 65535"]),
        (["--state", "S", "--build-allow", "user@a.lab"], 2, ["'user@a.lab'", "HOST:PORT"]),
        (["--state", "S", "--sandbox-keep", "/etc"], 2, ["'/etc'", "not below /tmp, /var/tmp or /dev/shm"]),
        (["--state", "S", "--sandbox-keep", "/tmp/../etc"], 2, ["'/tmp/../etc'", "not below /tmp"]),
        (["--state", "S", "--sandbox-keep", "/tmpx"], 2, ["'/tmpx'", "not below /tmp"]),
        (["--state", "S", "--sandbox-keep", "tmp/x"], 2, ["'tmp/x'", "absolute"]),
        (["--state", "S", "--sandbox-keep", ",".join(f"/tmp/{i}" for i in range(16))], 2, ["16 directories", "15"]),
        (["--state", "S", "--no-sandbox", "ann,,eve"], 2, ["'ann,,eve'", "empty item"]),
        (["--state", "S", "--no-sandbox", "a/b"], 2, ["--no-sandbox", "'a/b'"]),
        (["--state", "S", "--allow-new-privileges", "ann eve"], 2, ["--allow-new-privileges", "'ann eve'"]),
        (["--state", "S", "--trusted-proxies", "proxy.lab"], 2, ["--trusted-proxies", "'proxy.lab'"]),
        (["--state", "S", "--egress", "pypi.org"], 2, ["--egress", "'pypi.org'", "names are not looked up"]),
        (["--state", "S", "--job-uids", "x"], 2, ["'x'"]),
        (["--state", "S", "--user-disk", "much"], 2, ["--user-disk", "'much'"]),
        (["--state", "S", "--gc", "dust=1d"], 2, ["--gc", "dust"]),
        (["--state", "S", "--topology", "a b"], 2, ["--topology", "'a b'"]),
        (["--state", "S", "--topology", "zone,,rack"], 2, ["--topology", "empty item"]),
        (["--state", "S", "--node-labels", "zone"], 2, ["--node-labels", "'zone'"]),
        (["--state", "S", "--resource", "rdma/hca"], 2, ["--resource", "NAME=AMOUNT"]),
        (["--state", "S", "--python", "/no/such/python"], 2, ["--python", "'/no/such/python'"]),
        (["--state", "S", "--uv", "/no/such/uv"], 2, ["--uv", "'/no/such/uv'"]),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else str(value),
)
def test_options_of_paddled_are_refused(tmp_path, line, status, parts):
    line = [str(tmp_path / "state") if word == "S" else word for word in line]
    done = subprocess.run([BIN / "paddled", *line], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == status, done.stderr
    for part in ["paddled: ", *parts]:
        assert part in done.stderr, done.stderr


@pytest.mark.parametrize(
    "text, parts",
    [
        ("a: [", []),
        ("- x\n", ["option: value"]),
        ("colour: red\n", ["'colour'"]),
        ("workers: 0\n", ["workers", "'0'"]),
        ("workers: [2]\n", ["workers", "one value"]),
        ("workers: 2\nworkers: 3\n", ["workers"]),
    ],
)
def test_a_configuration_of_paddled_is_refused(tmp_path, text, parts):
    path = tmp_path / "paddled.yaml"
    path.write_text(text)
    line = [BIN / "paddled", "--state", tmp_path / "state", "--config", path]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode in (1, 2) and str(path) in done.stderr
    for part in parts:
        assert part in done.stderr, done.stderr
    assert not (tmp_path / "state").exists()


def end_agent(server):
    """An agent without server and members ends by itself after 30 s; the tests do not wait for that."""
    pid = server.agent_pid()
    if pid:
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: server.agent_pid() is None, 10, "the agent's end")


def test_a_taken_port(make_server, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [BIN / "paddled", "--state", tmp_path / "state", "--listen", address],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 3 and address in done.stderr and "another program" in done.stderr, done.stderr
    assert not (tmp_path / "state" / "paddled.pid").exists()
    assert not (tmp_path / "state" / "paddled.sock").exists()
    end_agent(Server(tmp_path / "state"))


def test_a_second_server_on_one_state_directory(server):
    marker = server.state / "tmp" / "a-body-under-way"
    marker.touch()
    done = subprocess.run(
        [BIN / "paddled", "--state", server.state, "--listen", "none"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode != 0 and str(server.process.pid) in done.stderr, done.stderr
    assert marker.exists() and server.is_ready()
    assert (server.state / "paddled.pid").read_text().strip() == str(server.process.pid)


def test_no_permission_on_the_state_directory(tmp_path_factory):
    base = tmp_path_factory.mktemp("base")
    os.chmod(base, 0o755)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", BIN / "paddled", "--state", base / "state"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 3 and "Permission denied" in done.stderr and str(base / "state") in done.stderr, done
    assert not (base / "state").exists()


def test_paddled_needs_its_agent(tmp_path):
    server = Server(tmp_path / "state", "--agent", "/no/such/agent")
    server.start(wait=False)
    try:
        wait_for(lambda: "/no/such/agent" in server.log() or server.process.poll() is not None, 20, "a word about it")
        assert "/no/such/agent" in server.log()
    finally:
        if server.process.poll() is None:
            server.process.terminate()
            server.process.wait(PATIENCE)
        end_agent(server)
