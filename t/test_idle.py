"""The server that commands start for one person: it ends without jobs and clients, and comes again."""

import contextlib
import os
import pathlib
import socket

import pytest
from conftest import processes_of, wait_for
from test_cli_messages import alone


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home" / ".paddle"
    home.mkdir(parents=True)
    yield home
    alone(tmp_path, "down")
    for pid in processes_of(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)


def server_of(home):
    """The process of the server, or None."""
    try:
        pid = int((home / "paddled.pid").read_text())
        return pid if pathlib.Path(f"/proc/{pid}").exists() else None
    except FileNotFoundError:
        return None


def options_of(pid):
    words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return dict(zip(words, words[1:]))


def ended(home):
    wait_for(lambda: server_of(home) is None, what="the end of an idle server")


def test_it_ends_and_the_next_command_starts_it_again(tmp_path, home):
    (home / "config").write_text("embeddedIdle: 1s\n")
    assert alone(tmp_path, "submit", "--name", "kept", "--no-package", "--", "true").returncode == 0
    assert alone(tmp_path, "wait", "kept").returncode == 0
    ended(home)
    assert not (home / "paddled.sock").exists()
    assert "no jobs, no schedules and no clients" in (home / "paddled.log").read_text()
    listed = alone(tmp_path, "list", "-o", "name")
    assert listed.stdout.split() == ["kept"] and listed.returncode == 0, listed.stderr
    ended(home)


@pytest.mark.parametrize("source", ["PADDLE_SERVER", "--server", "the configuration"])
def test_down_stops_no_server_that_is_named_otherwise(tmp_path, home, source):
    other = "http://127.0.0.1:9"
    assert alone(tmp_path, "up").returncode == 0
    pid = server_of(home)
    if source == "the configuration":
        (home / "config").write_text(f"paddleServer: {other}\n")
    words = ["--server", other] if source == "--server" else []
    done = alone(tmp_path, "down", *words, env={"PADDLE_SERVER": other} if source == "PADDLE_SERVER" else {})
    assert done.returncode == 2 and f"{source} names '{other}'" in done.stderr, done.stderr
    assert "did not start" in done.stderr and server_of(home) == pid
    named = f"unix:{home}/paddled.sock"
    assert f"`paddle down --server {named}` stops" in done.stderr
    assert alone(tmp_path, "down", "--server", named).returncode == 0
    assert server_of(home) is None


def test_a_client_and_a_held_job_keep_it(tmp_path, home):
    (home / "config").write_text("embeddedIdle: 300ms\n")
    assert alone(tmp_path, "up").returncode == 0
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        client.connect(str(home / "paddled.sock"))
        first = server_of(home)
        assert (
            alone(tmp_path, "submit", "--name", "later", "--no-package", "--begin", "2h", "--", "true").returncode == 0
        )
    assert alone(tmp_path, "hold", "later").returncode == 0
    assert server_of(home) == first  # the server is one and the same until the job has ended
    assert alone(tmp_path, "cancel", "later").returncode == 0
    ended(home)


def test_a_schedule_keeps_it(tmp_path, home):
    ticks = tmp_path / "ticks"
    definition = tmp_path / "often" / "often.yaml"
    definition.parent.mkdir()
    definition.write_text(f"name: often\nentry_points: {{a: {{command: 'date >> {ticks}'}}}}\n")
    (home / "config").write_text("embeddedIdle: 300ms\n")
    assert alone(tmp_path, "pipeline", "create", str(definition)).returncode == 0
    assert alone(tmp_path, "schedule", "create", "soon", "often", "@every 3s").returncode == 0
    first = server_of(home)

    def lines():
        return len(ticks.read_text().splitlines()) if ticks.exists() else 0

    wait_for(lambda: lines() >= 2, what="two runs without a command")
    assert server_of(home) == first
    down = alone(tmp_path, "down")
    assert down.returncode == 0 and "1 schedule will not begin runs until the server is up again" in down.stderr, down
    before = lines()
    assert alone(tmp_path, "up").returncode == 0
    wait_for(lambda: lines() > before, what="a run after the next start")
    assert alone(tmp_path, "schedule", "stop", "soon").returncode == 0
    ended(home)


@pytest.mark.parametrize(
    "line, config, idle",
    [
        (["list"], None, "1h"),
        (["up"], None, "1h"),
        (["up", "--stay"], None, "0"),
        (["up", "--listen", "127.0.0.1:0"], None, "0"),
        (["list"], "embeddedIdle: 8h", "8h"),
        (["up"], "embeddedIdle: 0", "0"),
        (["up", "--stay"], "embeddedIdle: 8h", "0"),
    ],
    ids=str,
)
def test_how_long(tmp_path, home, line, config, idle):
    if config:
        (home / "config").write_text(config)
    done = alone(tmp_path, *line)
    assert done.returncode == 0, done.stderr
    assert options_of(server_of(home))["--end-when-idle"] == idle


def test_stay_of_one_that_is_up(tmp_path, home):
    assert alone(tmp_path, "up").returncode == 0
    done = alone(tmp_path, "up", "--stay")
    assert done.returncode == 1 and "--stay was not applied" in done.stderr


def test_a_time_that_is_none(tmp_path, home):
    (home / "config").write_text("embeddedIdle: often\n")
    done = alone(tmp_path, "list")
    assert done.returncode == 1 and "embeddedIdle: 'often'" in done.stderr
    assert server_of(home) is None
