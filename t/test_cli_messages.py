"""What a new user is told: what starts no server, and what is shown of tokens, jobs and builds."""

import http.server
import os
import subprocess
import threading

import pytest
from conftest import BIN, PATIENCE, wait_for

NO_ACCOUNT = 54321  # a uid that this machine gives to nobody


def alone(tmp_path, *line, **about):
    """`paddle` without a server, for one whose home is empty."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PADDLE")}
    env = {**clean, "HOME": str(tmp_path / "home"), **about.pop("env", {})}
    return subprocess.run(
        [BIN / "paddle", *line], env=env, capture_output=True, text=True, timeout=PATIENCE, check=False, **about
    )


@pytest.mark.parametrize(
    "line",
    [
        ["--version"],
        ["version"],
        ["help"],
        ["help", "submit"],
        ["--help"],
        ["submit", "--help"],
        ["queue"],
        ["completion", "bash"],
        ["completion", "zsh"],
        ["completion", "fish"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_what_needs_no_server_starts_none(tmp_path, line):
    done = alone(tmp_path, *line)
    assert done.stdout or done.stderr
    assert not (tmp_path / "home").exists(), done.stderr
    if line[0] != "queue":
        assert done.returncode == 0, done.stderr
    if line[-1].endswith("version"):
        assert done.stdout.splitlines()[1] == "server: none is running"


@pytest.mark.parametrize(
    "line, shown",
    [
        (["-h", "cancel", "j"], "usage: paddle cancel"),
        (["--help", "submit", "--", "true"], "usage: paddle submit"),
        (["-h", "queue"], "paddle queue create"),
        (["queue", "help"], "paddle queue create"),
    ],
    ids=str,
)
def test_help_before_a_verb_shows_its_help_and_does_nothing(tmp_path, line, shown):
    done = alone(tmp_path, *line)
    assert done.returncode == 0 and shown.lower() in done.stdout.lower(), done.stdout + done.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("home", ["", None], ids=["empty", "unset"])
def test_no_server_is_started_without_a_home(tmp_path, home):
    """Its state would be in /.paddle. (A user with an account has the home of that.)"""
    command = ["env", *(["-u", "HOME"] if home is None else ["HOME="]), BIN / "paddle", "list"]
    done = subprocess.run(
        command,
        env={name: value for name, value in os.environ.items() if not name.startswith("PADDLE")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        user=NO_ACCOUNT,
    )
    assert done.returncode == 1 and "HOME is not set" in done.stderr and "PADDLE_HOME" in done.stderr, done.stderr
    assert not os.path.exists("/.paddle")


# -- names that are wrong, and tables with nothing in them


@pytest.mark.parametrize(
    "line, says",
    [
        (["storage", "usage", "--user", "nosuch"], "there is no user 'nosuch'"),
        (["token", "list", "--user", "nosuch"], "there is no user 'nosuch'"),
        (["token", "revoke", "--user", "nosuch"], "there is no user 'nosuch'"),
        (["list", "--user", "nosuch"], "there is no user 'nosuch'"),
        (["list", "--queue", "nosuch"], "there is no queue 'nosuch'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_name_that_does_not_exist_is_refused(shared_server, line, says):
    done = shared_server.paddle(*line)
    assert done.returncode == 1 and says in done.stderr, done


def test_an_empty_table_is_a_sentence(make_server):
    server = make_server()
    for line, says in (
        (["storage", "usage", "--all"], "no user has anything"),
        (["token", "list"], "there are no tokens"),
        (["list"], "no jobs yet"),
        (["grant", "list"], "there are no grants"),
    ):
        assert says in server.paddle(*line, check=0).stderr


@pytest.mark.parametrize(
    "line, says",
    [
        (["queue", "create", "q", "--max", "foo=1"], "there is no resource 'foo'"),
        (["queue", "create", "q", "--max", "cpu=1,mem=1Gi,cpus=2"], "there is no resource 'cpus'"),
        (["queue", "create", "q", "--max", "cpu=1", "--defaults", "ram=1Gi"], "there is no resource 'ram'"),
        (["queue", "set", "default", "--min", "GPU=1"], "there is no resource 'GPU'"),
        (["cluster", "set", "default-cluster", "--defaults", "foo=1"], "there is no resource 'foo'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_unknown_resource_is_refused(shared_server, line, says):
    done = shared_server.paddle(*line)
    assert done.returncode == 2 and says in done.stderr and "cpu, memory" in done.stderr, done


def test_what_is_not_there_is_named_with_what_is(shared_server):
    shared_server.paddle("submit", "--no-package", "--follow", "--name", "alone", "--", "true", check=0)
    words = shared_server.paddle("logs", "alone", "-m", "worker-9", check=1).stderr
    assert "job 'alone' has no member 'worker-9'\nIts members are worker-0, environment." in words
    words = shared_server.paddle("status", "nosuch", check=1).stderr
    assert "no job 'nosuch'" in words and "`paddle list` shows the newest jobs" in words


def test_logs_without_a_name_are_the_newest_jobs(make_server):
    server = make_server()
    assert server.paddle("logs", check=1).stderr.startswith("paddle: you have no jobs")
    for name in ("first", "second"):
        server.paddle("submit", "--no-package", "--follow", "--name", name, "--", "echo", f"of the {name}", check=0)
    done = server.paddle("logs", check=0)
    assert done.stdout == "worker-0 | of the second\n" and "job 'second'" in done.stderr


@pytest.mark.parametrize("text, ms", [("1h30m", 5400000), ("1:00:00", 3600000), ("90s", 90000)])
def test_time_limits_as_people_write_them(shared_server, text, ms):
    job = shared_server.paddle("submit", "--no-package", "--time-limit", text, "-o", "json", "--", "true", check=0)
    assert f'"{ms // 1000}s"' in job.stdout
    assert (
        "has no unit"
        in shared_server.paddle("submit", "--no-package", "--time-limit", "5", "--", "true", check=2).stderr
    )


@pytest.mark.parametrize("flag", ["--ps", "--pservers"])
def test_no_parameter_servers_is_no_mistake(shared_server, flag):
    shared_server.paddle("submit", "--no-package", "--follow", f"{flag}=0", "--", "true", check=0)


def test_jobs_are_deleted_by_name_and_by_age(make_server):
    server = make_server()
    for name, command in (("good", "true"), ("bad", "false"), ("again", "true")):
        server.wait(server.submit([command], name=name)["id"])
    server.submit(["sleep", "600"], name="runs")
    done = server.paddle("delete", "good", "runs", "nosuch", check=1).stderr
    assert "job 'good' is deleted" in done and "runs" in done and "no job 'nosuch'" in done, done
    assert server.get("/v1/jobs/good").status == 404
    assert "0 jobs are deleted" in server.paddle("delete", "--older-than", "1h", check=0).stderr
    wait_for(
        lambda: "1 job is deleted" in server.paddle("delete", "--older-than", "1s", "--state", "failed", check=0).stderr
    )
    assert server.get("/v1/jobs/bad").status == 404 and server.get("/v1/jobs/again").status == 200
    wait_for(lambda: "1 job is deleted" in server.paddle("delete", "--older-than", "1s", check=0).stderr)
    assert [job["name"] for job in server.get("/v1/jobs").json["items"]] == ["runs"]
    assert "needs jobs, or --older-than" in server.paddle("delete", check=2).stderr
    assert "not both" in server.paddle("delete", "--older-than", "1h", "runs", check=2).stderr


@pytest.fixture
def runner(shared_server):
    job = shared_server.submit("trap '' TERM; echo up; sleep 6000 & wait", name="runner", grace="1h")
    shared_server.wait("runner", "running")
    wait_for(lambda: "up" in shared_server.member_log("runner"), what="its trap")
    yield "runner"
    for _ in range(2):
        shared_server.post(f"/v1/jobs/{job['id']}/cancel", {"force": True})
    shared_server.wait(job["id"])


def test_hold_says_what_comes_next(shared_server, runner):
    said = shared_server.paddle("hold", runner, check=0).stderr
    assert "is being stopped, and will be held then; `paddle release runner` lets it go on" in said, said


def test_requeue_says_what_comes_next(shared_server, runner):
    said = shared_server.paddle("requeue", runner, check=0).stderr
    assert "is being stopped, and will go back to its queue then" in said, said


def test_a_job_that_waits_is_held_at_once(shared_server):
    shared_server.submit("true", name="later", begin="2099-01-01T00:00:00Z")
    said = shared_server.paddle("hold", "later", check=0).stderr
    assert "is held; `paddle release later` lets it go on" in said, said
    assert "is released" in shared_server.paddle("release", "later", check=0).stderr
    shared_server.paddle("cancel", "later", check=0)


def test_jobs_of_arrays_have_their_names_in_reasons(shared_server):
    spec = {"command": ["sleep", "6000"], "name": "ar", "array": "0-1", "begin": "2099-01-01T00:00:00Z"}
    assert shared_server.post("/v1/jobs", spec).status == 201
    shared_server.paddle("hold", "ar", check=0)
    assert "`paddle release ar` lets it go on" in shared_server.paddle("status", "ar-0", check=0).stdout
    after = ["submit", "--no-package", "--name", "follow-up", "--after", "ok:ar[1]", "--", "true"]
    shared_server.paddle(*after, check=0)
    said = shared_server.paddle("explain", "follow-up", check=0).stdout
    assert "job 'ar[1]'" in said and "ar-1" not in said, said
    shared_server.paddle("cancel", "ar", check=0)
    reason = shared_server.wait("follow-up", "cancelled")["reason"]
    assert "it waited for job 'ar[1]' (" in reason and reason.endswith(" to succeed, but that was cancelled"), reason
    assert "job 'ar[1]'" in shared_server.paddle("requeue", "ar[1]", check=1).stderr


# -- what was perhaps not meant


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.py").write_text("print('trained')\n")
    return tmp_path / "program"


@pytest.mark.parametrize(
    "words, warned",
    [
        (["python3", "train.py", "--follow"], ["'--follow' after the command goes to the program 'python3'"]),
        (["-n", "1", "python3", "train.py", "-n", "4"], ["'-n' after the command goes to the program"]),
        (
            ["python3", "train.py", "--gpus=2", "--name", "x"],
            ["'--gpus', '--name' after the command go to the program"],
        ),
        (["--", "python3", "train.py", "--follow"], []),
        (["python3", "train.py", "--epochs", "3", "-x"], []),
        (
            ["--output", "/tmp/x", "--", "python3", "train.py"],
            ["--output: '/tmp/x' is a directory of the server's storage"],
        ),
        (["--output", "/pfs/local/home/root/x", "--", "python3", "train.py"], []),
        (["--output", "x", "--", "python3", "train.py"], []),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_a_submission_that_may_not_be_meant_is_warned_of(shared_server, program, words, warned):
    done = shared_server.paddle("submit", *words, cwd=program, check=0)
    assert done.stderr.count("warning") == len(warned), done.stderr
    for text in warned:
        assert text in done.stderr


# -- servers that are not there, and those that are something else


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path.startswith("/v1/jobs") and self.server.says_yes else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html>not here</html>")

    do_POST = do_GET

    def log_message(self, *words):
        pass


@pytest.fixture
def page():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.says_yes = False
    threading.Thread(target=server.serve_forever).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("says_yes", [False, True], ids=["404", "200"])
def test_a_web_server_that_is_no_paddled(tmp_path, page, says_yes):
    page.says_yes = says_yes
    url = f"http://127.0.0.1:{page.server_address[1]}"
    done = alone(tmp_path, "--server", url, "list")
    assert done.returncode == 1 and f"'{url}'" in done.stderr and "paddled" in done.stderr, done.stderr
    assert done.stdout == ""


def test_https_against_a_server_without_tls(tmp_path, page):
    url = f"https://127.0.0.1:{page.server_address[1]}"
    done = alone(tmp_path, "--server", url, "list")
    assert done.returncode == 4 and f"'{url}': it does not speak TLS\nName it by http://." in done.stderr, done.stderr


def test_a_server_on_tcp_that_is_not_there_is_not_started_by_paddle_up(tmp_path):
    done = alone(tmp_path, "--server", "http://127.0.0.1:1", "list")
    assert done.returncode == 4 and "http://127.0.0.1:1" in done.stderr and "paddle up" not in done.stderr


@pytest.mark.parametrize("way", ["option", "variable"])
def test_an_address_needs_no_scheme(make_server, tmp_path, way):
    address = f"127.0.0.1:{make_server('--listen', '127.0.0.1:0').port}"
    line = ["--server", address] if way == "option" else []
    done = alone(tmp_path, *line, "list", env={"PADDLE_SERVER": address} if way == "variable" else {})
    assert done.returncode == 3 and "token" in done.stderr, done.stderr  # it was reached, and asks who this is


def test_one_of_something_is_singular(make_server, program):
    server = make_server("--max-open-jobs", "1")
    server.paddle("submit", "--grace", "1s", "--", "sleep", "600", cwd=program, check=0)
    done = server.paddle("submit", "--", "true", cwd=program)
    assert done.returncode == 3 and "1 job that has not ended" in done.stderr, done.stderr
