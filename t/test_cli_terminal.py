"""What stands on a real terminal: `paddle top` in its sizes and forms, and passwords that are asked for."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

import pytest
from conftest import BIN, PATIENCE, Server, wait_for

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def become_foreground():
    """As a shell starts a program at a terminal, also when the tests run where interrupts are ignored."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A program on a pseudo-terminal of its own."""

    def __init__(self, server, *args, width=80, height=24, env=None, cwd=None):
        self.master, slave = pty.openpty()
        self.resize(width, height)
        others = ("LC_ALL", "LC_CTYPE", "NO_COLOR", "COLUMNS")
        clean = {key: value for key, value in os.environ.items() if key not in others}
        self.process = subprocess.Popen(
            [BIN / "paddle", *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=become_foreground,
            cwd=cwd,
            env={
                **clean,
                "TERM": "xterm",
                "LANG": "C.UTF-8",
                **({"PADDLE_SERVER": server.url} if server else {}),
                **(env or {}),
            },
        )
        os.close(slave)
        self.said = b""

    def resize(self, width, height):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys):
        os.write(self.master, keys)

    def read(self, until, timeout=PATIENCE):
        """Reads until `until` (of all text so far) says yes."""
        end = time.monotonic() + timeout
        while not until(self.said):
            left = end - time.monotonic()
            assert left > 0, f"it did not come: {self.said!r}"
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.said += os.read(self.master, 65536)
                except OSError:  # the program has ended
                    assert until(self.said), f"it ended: {self.said!r}"
                    return

    def frames(self):
        """The screens of `top` that are whole, without escapes that move."""
        text = self.said.decode(errors="replace")
        return [
            frame.replace("\x1b[K", "").replace("\r", "") for frame in re.findall(r"\x1b\[H(.*?)\x1b\[J", text, re.S)
        ]

    def end(self):
        """The exit status, once it has ended by itself."""
        with contextlib.suppress(OSError):
            while select.select([self.master], [], [], PATIENCE)[0]:
                data = os.read(self.master, 65536)
                if not data:
                    break
                self.said += data
        status = self.process.wait(PATIENCE)
        os.close(self.master)
        return status


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "4", "--memory", "8Gi", "--gpus", "2").start()
    server.paddle("queue", "create", "vision", "--min", "cpu=2,gpu=1", "--max", "cpu=3,gpu=2", "--everyone", check=0)
    server.submit("sleep 600", name="runner", queue="vision", roles=[{"name": "worker", "cpu": "3", "gpus": 1}])
    server.wait("runner", "running")
    for n in range(30):
        server.submit("true", name=f"waiter-{n}", queue="vision", roles=[{"name": "worker", "cpu": "2"}])
    yield server
    for job in server.get("/v1/jobs?limit=1000&state=queued,running").json["items"]:
        server.request("DELETE", f"/v1/jobs/{job['id']}")
    server.destroy()


def width_of(line):
    return len(ESCAPES.sub("", line))


@pytest.mark.parametrize("width, height", [(80, 24), (140, 50), (60, 12)])
def test_top_fits_the_terminal(room, width, height):
    terminal = Terminal(room, "top", width=width, height=height)
    terminal.read(lambda _: len(terminal.frames()) >= 2)  # it goes on by itself
    terminal.press(b"q")
    assert terminal.end() == 0
    lines = terminal.frames()[-1].split("\n")
    assert len(lines) <= height and max(map(width_of, lines)) < width, lines
    plain = [ESCAPES.sub("", line) for line in lines]
    assert plain[0].startswith("paddle top  ") and "unix:" in plain[0]
    vision = next(line for line in plain if line.startswith("vision"))
    assert vision.split()[1:3] == ["1", "30"]
    assert ("3/3" in vision) == (width >= 140)  # the cores stand beside the devices where there is room
    assert any(line.startswith("runner") for line in plain)
    if height >= 24:
        assert any(line.startswith("waiter-29") and "queue 'vision' is at its l" in line for line in plain)
    assert terminal.said.startswith(b"\x1b[?1049h") and b"\x1b[?1049l" in terminal.said


def test_top_follows_the_size_and_what_happens(room):
    terminal = Terminal(room, "top", "--interval", "10m")
    terminal.read(lambda _: len(terminal.frames()) >= 1)
    terminal.resize(140, 40)  # SIGWINCH draws anew, before the next look is due
    terminal.read(lambda _: any("3/3" in frame for frame in terminal.frames()))
    terminal.press(b"\x03")
    assert terminal.end() == 0


@pytest.mark.parametrize(
    "env, bars, colours",
    [
        ({}, "██", True),
        ({"NO_COLOR": "1"}, "██", False),
        ({"LANG": "C"}, "##", True),
        ({"LANG": "C", "TERM": "dumb"}, "##", False),
    ],
)
def test_top_keeps_to_what_the_terminal_can(room, env, bars, colours):
    terminal = Terminal(room, "top", env=env)
    terminal.read(lambda _: len(terminal.frames()) >= 1)
    terminal.press(b"q")
    assert terminal.end() == 0
    frame = terminal.frames()[0]
    assert bars in frame and ("\x1b[32m" in frame) == colours
    assert frame.isascii() == (bars == "##")


def test_top_ends_by_a_signal_and_leaves_the_terminal_as_it_was(room):
    terminal = Terminal(room, "top")
    terminal.read(lambda _: len(terminal.frames()) >= 1)
    before = termios.tcgetattr(terminal.master)[3]
    assert not before & termios.ECHO
    terminal.process.send_signal(signal.SIGTERM)
    terminal.read(lambda said: b"\x1b[?1049l" in said)
    assert terminal.process.wait(PATIENCE) == 0
    assert termios.tcgetattr(terminal.master)[3] & termios.ECHO
    terminal.end()


def test_top_without_a_terminal_prints_once(room):
    said = room.paddle("top", check=0).stdout
    assert "\x1b" not in said and "vision" in said and said.count("waiter-") == 30
    assert "asks for 2 cores, 3 of 3 are in use" in said


def test_top_outlives_its_server(make_server):
    server = make_server("--cpus", "2")
    terminal = Terminal(server, "top", "--interval", "100ms", width=100)
    terminal.read(lambda _: len(terminal.frames()) >= 1)
    server.stop()
    terminal.read(lambda said: b"not up to date" in said)
    seen = len(terminal.frames())
    server.start()
    terminal.read(lambda _: any("not up to date" not in frame for frame in terminal.frames()[seen + 1 :]))
    terminal.press(b"q")
    assert terminal.end() == 0


# -- passwords


def test_a_password_is_asked_for_twice_and_not_shown(room):
    terminal = Terminal(room, "user", "create", "ann", "--password")
    terminal.read(lambda said: said.endswith(b"password: "))
    terminal.press(b"a long word\n")
    terminal.read(lambda said: said.endswith(b"once more: "))
    terminal.press(b"a long word\n")
    terminal.read(lambda said: b"is created" in said)
    assert terminal.end() == 0
    assert b"a long word" not in terminal.said
    assert room.get("/v1/users/ann").json["has_password"] is True


def test_a_secret_is_asked_for_twice_and_not_shown(room):
    for second, status, words in (
        (b"another", 2, b"the two inputs for the value of 'wandb' differ"),
        (b"hunter2", 0, b"is set (7 bytes)"),
    ):
        terminal = Terminal(room, "secret", "set", "wandb")
        terminal.read(lambda said: said.endswith(b"value of 'wandb': "))
        terminal.press(b"hunter2\n")
        terminal.read(lambda said: said.endswith(b"once more: "))
        terminal.press(second + b"\n")
        terminal.read(lambda said, words=words: words in said)
        assert terminal.end() == status
        assert b"hunter2" not in terminal.said


def test_two_passwords_that_differ_make_nothing(room):
    terminal = Terminal(room, "user", "create", "bob", "--password")
    terminal.read(lambda said: said.endswith(b"password: "))
    terminal.press(b"a long word\n")
    terminal.read(lambda said: said.endswith(b"once more: "))
    terminal.press(b"another word\n")
    terminal.read(lambda said: b"differ" in said)
    assert terminal.end() == 2
    assert room.get("/v1/users/bob").status == 404


def test_an_interrupt_leaves_the_terminal_as_it_was(room):
    terminal = Terminal(room, "user", "create", "bob", "--password")
    terminal.read(lambda said: said.endswith(b"password: "))
    terminal.press(b"half\x03")
    assert terminal.process.wait(PATIENCE) == -signal.SIGINT
    assert termios.tcgetattr(terminal.master)[3] & termios.ECHO
    assert room.get("/v1/users/bob").status == 404
    terminal.end()


# -- tables


def columns_of(text):
    """As a terminal counts: wide characters are two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in ESCAPES.sub("", text))


NOTE = "训练用的令牌，给张三的笔记本电脑使用"  # a note, in wide characters


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A server whose tables are all wider than 80 columns."""
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "4", "--memory", "8Gi").start()
    amounts = "cpu=4,memory=8Gi"
    server.paddle("queue", "create", "vision-and-language", "--min", amounts, "--max", amounts, check=0)
    server.paddle("token", "create", "--note", NOTE, "--expires", "30d", check=0)
    roles = [{"name": "pserver", "replicas": 2, "cpu": "1"}, {"name": "trainer", "replicas": 2, "cpu": "1"}]
    long = "recognize-digits-with-a-long-name"
    server.submit("true", name=long, queue="vision-and-language", framework="paddle-ps", roles=roles)
    yield server
    server.destroy()


TABLES = [
    (["list"], ["NAME", "STATE", "REASON"]),
    (["queue", "list"], ["NAME", "STATE", "RUNNING", "PENDING"]),
    (["token", "list"], ["ID", "SCOPE", "NOTE"]),
    (["audit", "list"], ["NUMBER", "ACTION", "OUTCOME"]),
    (["storage", "usage"], ["USER", "HELD", "LIMIT"]),
    (["user", "list"], ["NAME", "ADMIN"]),
    (["cluster", "list"], ["NAME", "STATUS"]),
]


@pytest.mark.parametrize("line, heads", TABLES, ids=lambda value: " ".join(value))
def test_a_table_fits_the_terminal(full, line, heads):
    piped = full.paddle(*line, check=0).stdout
    for width, how in ((80, {}), (120, {}), (200, {"COLUMNS": "80"})):
        terminal = Terminal(full, *line, width=width, env=how)
        assert terminal.end() == 0
        lines = terminal.said.decode().splitlines()
        assert lines and max(map(columns_of, lines)) <= int(how.get("COLUMNS", width)), lines
        assert all(head in lines[0] for head in heads), lines
    assert "…" not in piped  # and in a pipe nothing is cut
    assert len(piped.splitlines()) >= len(lines) - 1


def test_a_chinese_note_is_cut_at_a_whole_character(full):
    assert NOTE in full.paddle("token", "list", check=0).stdout
    terminal = Terminal(full, "token", "list")
    assert terminal.end() == 0
    head, row = (next(line for line in terminal.said.decode().splitlines() if part in line) for part in ("SCOPE", "…"))
    place = columns_of(row[: row.index("admin")])
    assert columns_of(head[: head.index("SCOPE")]) == place, (head, row)
    assert NOTE[:3] in row and NOTE not in row


def test_o_wide_shows_all(full):
    terminal = Terminal(full, "list", "-o", "wide")
    assert terminal.end() == 0
    heads = terminal.said.decode().splitlines()[0].split()
    assert {"ID", "QUEUE", "RAN", "REASON", "SUBMITTED"} <= set(heads)


def test_two_columns_have_two_heads(full):
    heads = full.paddle("storage", "usage", check=0).stdout.splitlines()[0]
    words = re.split(r"  +", heads.strip())
    assert len(set(words)) == len(words), heads


def test_deleting_by_age_asks_on_a_terminal(make_server):
    server = make_server()
    for name in ("first", "second"):
        server.wait(server.submit(["true"], name=name)["id"])
    line = ("delete", "--older-than", "1s")
    wait_for(lambda: deletion(server, *line, answer=b"n\r") == 2, what="the jobs' age")
    assert len(server.get("/v1/jobs").json["items"]) == 2
    assert deletion(server, *line, answer=b"y\r") == 2
    assert not server.get("/v1/jobs").json["items"]
    server.wait(server.submit(["true"], name="third")["id"])
    wait_for(lambda: "1 job is deleted" in said_by(Terminal(server, *line, "-y")), what="the job's age")


def said_by(terminal):
    terminal.end()
    return terminal.said.decode()


def deletion(server, *line, answer):
    """How many jobs it asks about."""
    terminal = Terminal(server, *line)
    terminal.read(lambda said: b"[y/N] " in said or b"0 jobs are deleted" in said)
    asked = re.search(rb"delete (\d+) jobs?, with events and logs\? ", terminal.said)
    if asked:
        terminal.press(answer)
    assert terminal.end() == (0 if answer.startswith(b"y") or not asked else 1)
    return int(asked[1]) if asked else 0
