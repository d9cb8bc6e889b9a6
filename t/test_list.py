"""`paddle list`: which jobs it shows, that it fits the terminal, its colours; the last line of a failed member."""

import json

import pytest
from conftest import Server, wait_for
from test_cli_terminal import ESCAPES, Terminal, columns_of

ENDED = 23
LAST = "KeyError: 'learning_rate'"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "4", "--memory", "8Gi").start()
    for n in range(ENDED):
        server.wait(server.submit("true", name=f"ended-{n}")["id"])
    server.wait(server.submit(f'echo begin; echo "{LAST}" >&2; exit 1', name="failed")["id"])
    server.wait(server.submit("sleep 600", name="recognize-digits-with-a-long-name-7")["id"], "running")
    yield server
    server.cancel(["recognize-digits-with-a-long-name-7"])
    server.destroy()


def names(server, *line):
    return server.paddle("list", *line, "-o", "name", check=0).stdout.split()


def test_open_jobs_and_the_newest_that_ended(room):
    done = room.paddle("list", "-o", "name", check=0)
    listed = done.stdout.split()
    assert listed[0] == "recognize-digits-with-a-long-name-7"
    assert listed[1:] == ["failed", *(f"ended-{n}" for n in reversed(range(4, ENDED)))]  # 20 of them
    assert "4 jobs that ended earlier are not shown; `paddle list --all-states` shows all" in done.stderr


@pytest.mark.parametrize(
    "line, count",
    [
        (["--all-states"], ENDED + 2),
        (["-A"], ENDED + 2),
        (["--state", "succeeded"], ENDED),
        (["--name", "ended-0"], 1),
        (["--limit", "22"], 22),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_asked_for_is_shown_whole(room, line, count):
    done = room.paddle("list", *line, "-o", "name", check=0)
    assert len(done.stdout.split()) == count and done.stderr == ""


def test_one_json_array(room):
    assert len(json.loads(room.paddle("list", "-o", "json", check=0).stdout)) == 21


def test_states_that_contradict(room):
    done = room.paddle("list", "--all-states", "--state", "failed")
    assert done.returncode == 2 and "--all-states cannot be combined with --state='failed'" in done.stderr


def test_more_is_counted_to_a_limit(room):
    def more(query):
        return room.get(f"/v1/jobs?{query}").json.get("more")

    assert more("limit=20") is None
    assert more("limit=20&count=1000") == ENDED + 2 - 20
    assert more("limit=20&count=3") == 3
    assert more("limit=20&state=succeeded&count=1000") == ENDED - 20
    assert more("limit=1000&count=1000") == 0
    assert room.get("/v1/jobs?count=1001").status == 400


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_it_fits(room, width):
    terminal = Terminal(room, "list", width=width)
    assert terminal.end() == 0
    lines = [line for line in terminal.said.decode().splitlines() if not line.startswith("4 jobs")]
    assert max(map(columns_of, lines)) <= width, lines
    heads = ESCAPES.sub("", lines[0]).split()
    assert {"NAME", "STATE", "REASON"} <= set(heads), heads
    row = next(line for line in lines if "failed" in line.split())
    # the status and the hint that every row would have are left out, so that the cause is there
    assert "worker-0: KeyError" in row
    assert width < 100 or LAST in row
    running = next(line for line in lines if "recog" in line)
    assert "name-7" in running  # names are cut in the middle


def test_states_have_colours_on_a_terminal_only(room):
    def shown(**env):
        terminal = Terminal(room, "list", width=200, env=env)
        assert terminal.end() == 0
        return terminal.said.decode()

    text = shown()
    assert "\x1b[31mfailed\x1b[0m" in text and "\x1b[32mrunning\x1b[0m" in text
    assert "\x1b" not in shown(NO_COLOR="1") and "\x1b" not in shown(TERM="dumb")
    assert "\x1b" not in room.paddle("list", check=0).stdout
    terminal = Terminal(room, "status", "failed", width=200)
    assert terminal.end() == 0 and "\x1b[31mfailed\x1b[0m" in terminal.said.decode()


def test_the_last_line_is_the_end_of_the_reason(room):
    reason = room.job("failed")["reason"]
    assert reason == (
        "worker-0 exited with status 1; see `paddle logs failed --member worker-0`; last line: " + LAST
    ), reason


@pytest.mark.parametrize(
    "command, last",
    [
        (r"printf '\033[31mred\033[0m\n\n'; exit 2", "red"),
        (r"printf '10%%\r20%%\r'; exit 2", "20%"),
        (r"printf '学习率\n----\n'; exit 2", "学习率"),
        ("head -c 300000 /dev/zero | tr '\\0' x; exit 2", "x" * 199 + "…"),
    ],
)
def test_a_last_line_is_plain_and_bounded(room, command, last):
    job = room.wait(room.submit(command)["id"])
    assert job["reason"].endswith("; last line: " + last), job["reason"]


def test_no_last_line_without_output(room):
    job = room.wait(room.submit("exit 2", name="silent")["id"])
    assert job["reason"].endswith("see `paddle logs silent --member worker-0`")


def test_the_last_line_survives_the_log(make_server):
    server = make_server()
    job = server.wait(server.submit("echo it was here; exit 1", name="a")["id"])
    server.stop()
    (path,) = (server.state / "jobs").glob(f"*/{job['id']}/*/log/worker-0")
    path.unlink()
    server.start()
    assert server.job("a")["reason"].endswith("last line: it was here")


def test_a_module_that_is_missing(shared_server):
    """The reason says what to do, wherever it is shown; what the program wrote cannot control the terminal."""
    says = "ModuleNotFoundError: No module named 'nowhere_1'; unless 'nowhere_1' is a module of your own, add nowhere_1 to requirements.txt"
    shared_server.wait(
        shared_server.submit(
            "python3 -c 'import nowhere_1' || { printf '\\033[31mit failed\\n'; exit 3; }", name="bare"
        )["id"]
    )
    text = "name: bare\nentry_points: {a: {command: \"python3 -c 'import nowhere_1.b'\"}}\n"
    run = shared_server.post("/v1/runs", {"definition": text}).json["id"]
    wait_for(lambda: shared_server.get(f"/v1/runs/{run}").json["state"] == "failed", 60, "the run's end")
    for line in (["status", "bare"], ["explain", "bare"], ["run", "show", run]):
        said = " ".join(shared_server.paddle(*line, check=0).stdout.split())
        assert says in said and "\x1b" not in said, said
    escaped = "import sys; sys.exit('ModuleNotFoundError: No module named \\x27\\x1b[31mx\\x27')"
    shared_server.wait(shared_server.submit(f'python3 -c "{escaped}"', name="escapes")["id"])
    said = shared_server.paddle("status", "escapes", check=0).stdout
    assert "ModuleNotFoundError" in said and "\x1b" not in said, said
