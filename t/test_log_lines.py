"""Lines on their way to a person: those without an end, redrawn ones, their order, their times, and states among them."""

import datetime
import functools
import json
import os
import re
import subprocess
import time

import pytest
from conftest import BIN, FINAL, wait_for
from sse import follow_logs
from test_cli_terminal import ESCAPES, Terminal

STATES = 2000
BAR = (
    "import sys\n"
    f"for n in range({STATES + 1}):\n"
    "    sys.stdout.write(f'\\r{n:>9} |' + '#' * 40)\n"
    "    sys.stdout.flush()\n"
)
UNTIL = "import os, time\ndef until(path):\n    while not os.path.exists(path): time.sleep(0.02)\n"
LAST = "\r" + f"{STATES:>9} |" + "#" * 40


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


def until(gate):
    return f"while [ ! -e {gate} ]; do sleep 0.02; done; "


def python(*parts):
    return ["python3", "-c", UNTIL + "\n".join(parts)]


def text_of(events, kind="log", member="worker-0"):
    return "".join(event.data["text"] for event in events if event.kind == kind and event.data["member"] == member)


def heard(server, job, **query):
    with follow_logs(server, job, **query) as stream:
        assert stream.status == 200, stream.reply.read()
        return list(stream)


# -- lines without an end


def test_a_prompt_is_heard_while_its_line_has_no_end(server, gate):
    job = server.submit(f"echo first; printf 'name? '; {until(gate)} echo you")
    log, partial = "", []
    with follow_logs(server, job, partial="true") as stream:
        for event in stream:
            if event.kind == "partial":
                assert set(event.data) == {"attempt", "member", "text"} and event.id is None
                assert (event.data["attempt"], event.data["member"]) == (1, "worker-0")
                partial.append(event.data["text"])
                if "name? " in partial:
                    gate.touch()
            log += event.data["text"] if event.kind == "log" else ""
    assert partial[-1] == "name? " and log == "first\nname? you\n"


def test_who_does_not_ask_gets_no_unended_line(server, gate):
    job = server.submit(f"echo first; printf 'name? '; {until(gate)} echo you")
    wait_for(lambda: server.member_log(job["id"]) == "first\nname? ")
    with follow_logs(server, job) as stream:
        events = []
        for event in stream:
            events.append(event)
            if event.kind == "log":
                gate.touch()
    assert {event.kind for event in events} == {"state", "log", "end"}
    assert text_of(events) == "first\nname? you\n"


def test_half_a_character_is_not_shown(server, gate, tmp_path):
    """The third byte of a character comes later than the first two."""
    second = tmp_path / "second"
    program = (
        "import sys\nout = sys.stdout.buffer",
        f"out.write(b'abc\\xe4\\xb8'); out.flush(); until({str(gate)!r})",
        f"out.write(b'\\x96'); out.flush(); until({str(second)!r})",
    )
    job = server.submit(python(*program))
    seen = []
    with follow_logs(server, job, partial="true") as stream:
        for event in stream:
            seen += [event.data["text"]] if event.kind in ("partial", "log") else []
            (second if seen and seen[-1] == "abc\u4e16" else gate if seen else tmp_path / "none").touch()
    assert seen == ["abc", "abc\u4e16", "abc\u4e16"]


def test_a_long_line_comes_in_pieces_and_shows_its_end(server, gate):
    job = server.submit(python(f"print('x' * 100_000 + 'end', end='', flush=True)\nuntil({str(gate)!r})"))
    events = []
    with follow_logs(server, job, partial="true") as stream:
        for event in stream:
            events.append(event)
            if event.kind == "partial" and event.data["text"].endswith("end"):
                gate.touch()
    assert text_of(events) == "x" * 100_000 + "end"
    assert max(len(event.data["text"]) for event in events if event.kind == "partial") <= 1024


# -- redrawn lines


def test_a_redrawn_line_is_kept_as_it_was_at_last(server):
    job = server.wait(server.submit(python(BAR, "print(); print('next')"))["id"])
    assert text_of(heard(server, job)) == f"{LAST}\nnext\n"
    whole = "".join(f"\r{n:>9} |" + "#" * 40 for n in range(STATES + 1)) + "\nnext\n"
    assert text_of(heard(server, job, raw="true")) == whole
    assert server.get(f"/v1/jobs/{job['id']}/logs/worker-0").body.decode() == whole


def test_a_bar_is_followed_and_replaced(server, gate, tmp_path):
    second = tmp_path / "second"
    program = (
        f"print('\\r10%', end='', flush=True); until({str(gate)!r})",
        f"print('\\r20%', end='\\r', flush=True); until({str(second)!r})",
        "print('\\r100%')",
    )
    job = server.submit(python(*program))
    seen = []
    with follow_logs(server, job, partial="true") as stream:
        for event in stream:
            if event.kind in ("partial", "log"):
                seen.append((event.kind, event.data["text"]))
                (gate if len(seen) == 1 else second).touch()
    assert seen == [("partial", "\r10%"), ("partial", "\r20%"), ("log", "\r100%\n")]


FLOOD = """
import sys, time
chunk = "".join(f"\\r{n:>9} |" + "#" * 40 for n in range(10_000))
for _ in range(100): sys.stdout.write(chunk)
sys.stdout.flush()
until(%r)
print("\\r100%%")
"""


@pytest.mark.parametrize("partial", ["true", "false"])
def test_a_flood_of_states_reaches_nobody(server, gate, partial):
    """A million states, 50 MB: the client hears a few of them."""
    job = server.submit(python(FLOOD % str(gate)))
    last = f"{9999:>9} |" + "#" * 40
    wait_for(lambda: len(server.get(f"/v1/jobs/{job['id']}/logs/worker-0").body) > 50_000_000, 60)
    events = []
    with follow_logs(server, job, partial=partial) as stream:
        for event in stream:
            events.append(event)
            if event.kind == "partial" and event.data["text"] == "\r" + last or partial == "false":
                gate.touch()
    assert text_of(events) == "\r100%\n"
    assert sum(len(event.text) for event in events) < 100_000


def test_a_cursor_within_a_redrawn_line_still_marks_it(server, gate):
    job = server.submit(python("print('line', flush=True)", BAR, f"until({str(gate)!r})", "print()"))
    cursor = None
    with follow_logs(server, job, partial="true") as stream:
        for event in stream:
            cursor = event.id or cursor
            if event.kind == "partial" and event.data["text"] == LAST:
                break
    gate.touch()
    server.wait(job["id"])
    assert text_of(heard(server, job, cursor=cursor)) == LAST + "\n"


def bytes_of(server, *args):
    """What `paddle` prints, with its carriage returns."""
    env = {**os.environ, "PADDLE_SERVER": server.url}
    return subprocess.run([BIN / "paddle", *args], env=env, capture_output=True, check=True, timeout=60).stdout


def test_the_command_line_prints_the_last_state_and_marks_it(server, gate):
    job = server.wait(server.submit(python("print('a')", BAR, "print(); print('b')"))["id"])
    done = server.paddle("logs", job["id"], check=0)
    assert done.stdout == f"worker-0 | a\nworker-0 ~ {LAST[1:]}\nworker-0 | b\n"
    assert bytes_of(server, "logs", "-m", "worker-0", job["id"]) == f"a\n{LAST}\nb\n".encode()
    assert bytes_of(server, "logs", "--raw", "-m", "worker-0", job["id"]).count(b"\r") == STATES + 1


def test_raw_of_one_member_is_every_byte(server):
    program = "import sys\nfor n in range(3): sys.stdout.buffer.write(bytes(range(256)) + b'\\n')"
    job = server.wait(server.submit(["python3", "-c", program])["id"])
    one = bytes(range(256)) + b"\n"
    assert bytes_of(server, "logs", "--raw", "-m", "worker-0", job["id"]) == one * 3
    assert bytes_of(server, "logs", "--raw", "-m", "worker-0", "-n", "1", job["id"]) == one[11:]  # byte 10 ends a line
    done = server.paddle("logs", "--raw", "-m", "worker-7", job["id"])
    assert done.returncode != 0 and "worker-7" in done.stderr and "worker-0" in done.stderr


# -- on a terminal


class Screen:
    """What a terminal shows of the few things that the command line tells it. A line that fills its width would wrap."""

    def __init__(self, width=80):
        self.lines, self.row, self.column, self.width = [""], 0, 0, width

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\r":
                self.column = 0
            elif part == "\n":
                self.row += 1
                self.column = 0
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif part == "\x1b[K":
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif part == "\x1b[A":
                assert self.row > 0
                self.row -= 1
            elif part[0] == "\x1b":
                assert part[-1] == "m", part
            else:
                line = self.lines[self.row]
                self.lines[self.row] = line[: self.column].ljust(self.column) + part + line[self.column + len(part) :]
                self.column += len(part)
                assert self.column < self.width, f"it wraps: {self.lines[self.row]!r}"
        return self

    @classmethod
    def of(cls, said):
        return cls().feed(said.decode(errors="replace")).lines


def test_bars_of_members_are_redrawn_behind_their_names_on_a_terminal(server, tmp_path):
    """Two bars at the bottom, a line above them, and nothing half overwritten."""
    gates = [tmp_path / str(n) for n in range(3)]
    program = (
        "rank = os.environ['PADDLE_TRAINER_ID']",
        "print(f'\\rbar {rank}: 10%', end='', flush=True)",
        f"until({str(gates[0])!r})",
        "print(f'\\rbar {rank}: 20%', end='', flush=True)",
        f"until({str(gates[1])!r})",
        "print(f'\\rbar {rank}: 100% done', flush=True)",
        "print(f'after {rank}', flush=True)",
    )
    roles = [{"name": "trainer", "replicas": 2, "cpu": "100m"}]
    job = server.wait(server.submit(python(*program), roles=roles, framework="paddle-collective")["id"], "running")
    terminal = Terminal(server, "logs", "-f", job["id"], env={"NO_COLOR": "1"})

    def shows(*lines):
        return lambda said: all(line in Screen.of(said) for line in lines)

    terminal.read(shows("trainer-0 ~ bar 0: 10%", "trainer-1 ~ bar 1: 10%"))
    gates[0].touch()
    terminal.read(shows("trainer-0 ~ bar 0: 20%", "trainer-1 ~ bar 1: 20%"))
    assert "10%" not in "".join(Screen.of(terminal.said))
    gates[1].touch()
    assert terminal.end() == 0
    lines = [line for line in Screen.of(terminal.said) if line.startswith("trainer-")]
    for rank in (0, 1):
        mine = [line for line in lines if line.startswith(f"trainer-{rank}")]
        assert mine == [f"trainer-{rank} ~ bar {rank}: 100% done", f"trainer-{rank} | after {rank}"]


def test_a_prompt_stands_on_the_terminal_that_submits(server, gate, tmp_path):
    (tmp_path / "package").mkdir()
    words = ["submit", "--no-package", "--follow", "--", "sh", "-c", f"printf 'name? '; {until(gate)} echo you"]
    terminal = Terminal(server, *words, env={"NO_COLOR": "1"})
    terminal.read(lambda said: "worker-0 | name? " in Screen.of(said))
    gate.touch()
    assert terminal.end() == 0
    lines = Screen.of(terminal.said)
    assert lines.count("worker-0 | name? you") == 1 and not any("~" in line for line in lines)


# -- states among lines


def test_lines_come_before_the_end(server):
    """A short job is over before its follower has asked: its state is still told after its lines."""
    for _ in range(20):
        job = server.submit("echo one; echo two; printf three")
        events = heard(server, job)
        kinds = [
            event.data["state"] if event.kind == "state" else event.kind
            for event in events
            if event.kind in ("log", "end") or event.data["state"] in FINAL
        ]
        assert kinds[-2:] == ["succeeded", "end"] and kinds.count("succeeded") == 1, events
        assert text_of(events) == "one\ntwo\nthree"


def test_submit_follow_prints_the_end_last(server, tmp_path):
    script = "for n in $(seq 50); do echo line $n >&2; done; printf 'last words' >&2; exit 3"
    spec = {"command": script, "retries": 1, "backoff": "300ms"}
    (tmp_path / "job.json").write_text(json.dumps(spec))
    for _ in range(5):
        words = ["submit", "--no-package", "-f", str(tmp_path / "job.json"), "--follow"]
        terminal = Terminal(server, *words, width=200, env={"NO_COLOR": "1"})
        assert terminal.end() == 1
        lines = Screen(200).feed(terminal.said.decode()).lines
        told = [re.sub(r"\s+", " ", line).strip() for line in lines]
        attempt = [f"worker-0 | line {n}" for n in range(1, 51)] + ["worker-0 | last words"]
        first, second = (n for n, line in enumerate(told) if line == "worker-0 | last words")
        assert [line for line in told if line.startswith("worker-0 |")] == attempt * 2
        failed = [n for n, line in enumerate(told) if re.match(r"\S+ m?s failed", line)]
        queued = [n for n, line in enumerate(told) if "attempt 1 failed" in line]
        assert len(failed) == 1 and failed[0] > second, told
        assert len(queued) <= 1 and all(first < n < second for n in queued), told  # a slow follower may miss it


def test_a_wait_that_grows_shorter_is_told_once(server):
    """Other jobs come and go meanwhile, and each of their changes wakes the follower."""
    job = server.submit("exit 1", retries=1, backoff="10m")
    states = []
    with follow_logs(server, job) as stream:
        for event in stream:
            if event.kind == "state":
                states.append((event.data["state"], event.data["attempt"]))
                if states[-1] == ("queued", 1):
                    for _ in range(10):
                        server.wait(server.submit(["true"])["id"])
                    server.cancel([job["id"]])
    assert states.count(("queued", 1)) == 1, states


# -- attempts


RETRIED = "a=${PWD%/work}; echo attempt ${a##*/}; exit 1"


@pytest.fixture
def retried(server):
    return server.wait(server.submit(RETRIED, retries=2, backoff="1ms")["id"])


def test_one_attempt_alone(server, retried):
    for n in (1, 2, 3):
        assert text_of(heard(server, retried, attempt=n)) == f"attempt {n}\n"
        done = server.paddle("logs", "--attempt", n, retried["id"], check=0)
        assert done.stdout == f"worker-0 | attempt {n}\n"
    assert server.paddle("logs", retried["id"], check=0).stdout == "worker-0 | attempt 3\n"
    done = server.paddle("logs", "--attempt", "all", retried["id"], check=0)
    assert done.stdout.splitlines() == [
        "worker-0 | attempt 1",
        "-- attempt 2 --",
        "worker-0 | attempt 2",
        "-- attempt 3 --",
        "worker-0 | attempt 3",
    ]
    done = server.paddle("logs", "--attempt", "4", retried["id"])
    assert done.returncode != 0 and "3 attempts" in done.stderr
    assert server.paddle("logs", "--attempt", "some", retried["id"]).returncode == 2


def test_a_follower_of_one_attempt_ends_with_it(server, gate):
    script = f"a=${{PWD%/work}}; a=${{a##*/}}; echo begin $a; {until(gate)} echo end $a; [ $a = 2 ]"
    job = server.wait(server.submit(script, retries=1, backoff="1ms")["id"], "running")
    events = []
    with follow_logs(server, job, attempt=1) as stream:
        for event in stream:
            events.append(event)
            if event.kind == "log":
                gate.touch()
    assert events[-1].kind == "end" and text_of(events) == "begin 1\nend 1\n"


# -- nothing


def test_no_lines_are_no_riddle(server):
    for name, spec in {"quiet": {}, "later": {"begin": "2099-01-01T00:00:00Z"}}.items():
        server.submit(["true"], name=name, **spec)
    server.wait("quiet")
    for line, says in {
        ("quiet",): "job 'quiet' wrote nothing\n",
        ("-f", "quiet"): "job 'quiet' wrote nothing\n",
        ("quiet", "--since", "1h"): "job 'quiet' wrote nothing in this time\n",
        ("quiet", "--member", "environment"): "job 'quiet' has no environment: it asks for no packages\n",
        ("later",): "job 'later' has not started, so it has no log yet\n",
    }.items():
        done = server.paddle("logs", *line, check=0)
        assert done.stdout == "" and done.stderr.endswith(says), (line, done)
    server.cancel(["later"])
    server.wait("later")
    assert server.paddle("logs", "later", check=0).stderr == "job 'later' never started, so it has no log\n"


# -- times


APART = 2.5  # seconds, more than what a keeper may be late
TURNS = """
import sys
rank, place = int(os.environ["PADDLE_TRAINER_ID"]), %r
for turn in range(rank, 6, 2):
    until(f"{place}/{turn}")
    print("turn", turn, flush=True)
"""


def has_said(server, job, member, text):
    return server.member_log(job["id"], member) == text


@pytest.fixture(scope="module")
def turns(shared_server, tmp_path_factory):
    """Two members take turns; and when each turn was allowed."""
    place = tmp_path_factory.mktemp("turns")
    roles = [{"name": "trainer", "replicas": 2, "cpu": "100m"}]
    job = shared_server.submit(python(TURNS % str(place)), roles=roles, framework="paddle-collective")
    allowed = []
    for turn in range(6):
        allowed.append(time.time())
        (place / str(turn)).touch()
        whole = "".join(f"turn {n}\n" for n in range(turn % 2, turn + 1, 2))
        path = f"trainer-{turn % 2}"
        wait_for(functools.partial(has_said, shared_server, job, path, whole))
        time.sleep(APART)
    return shared_server, shared_server.wait(job["id"]), allowed


def stamp(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(text[19:-1])


def test_members_come_in_the_order_of_their_lines(turns):
    server, job, _ = turns
    done = server.paddle("logs", job["id"], check=0)
    assert done.stdout.splitlines() == [f"trainer-{turn % 2} | turn {turn}" for turn in range(6)]


def test_each_line_has_the_time_at_which_it_was_written(turns):
    server, job, allowed = turns
    done = server.paddle("logs", "--timestamps", job["id"], check=0)
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert [rest for _, rest in lines] == [f"trainer-{turn % 2} | turn {turn}" for turn in range(6)]
    for (when, _), then in zip(lines, allowed, strict=True):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", when)
        assert then - 0.1 <= stamp(when) <= then + APART, (when, then)
    events = [event.data for event in heard(server, job, timestamps="true", follow="false") if event.kind == "log"]
    assert [event["time"] for event in events] == [when for when, _ in lines]
    assert all("time" not in event.data for event in heard(server, job) if event.kind == "log")


def test_a_terminal_has_times_in_the_zone_of_the_person(turns):
    server, job, _ = turns
    plain = server.paddle("logs", "--timestamps", job["id"], check=0).stdout.splitlines()
    terminal = Terminal(server, "logs", "--timestamps", job["id"], width=120, env={"TZ": "Asia/Tokyo"})
    assert terminal.end() == 0
    shown = [line for line in ESCAPES.sub("", terminal.said.decode()).replace("\r", "").splitlines() if "turn" in line]
    for line, told in zip(shown, plain, strict=True):
        day, clock, zone, rest = line.split(" ", 3)
        when, same = told.split(" ", 1)
        assert zone == "JST" and rest == same
        local = datetime.datetime.fromisoformat(f"{day}T{clock}+09:00")
        assert local == datetime.datetime.fromisoformat(when.replace("Z", "+00:00"))


def test_a_redrawn_line_has_the_time_of_its_last_state(server, tmp_path):
    gate = tmp_path / "gate"
    script = f"printf first; until [ -e {gate} ]; do sleep 0.02; done; printf '\\rlast\\n'"
    job = server.submit(["sh", "-c", script])
    wait_for(lambda: server.member_log(job["id"]) == "first", what="the first state")
    time.sleep(APART)
    then = time.time()
    gate.touch()
    server.wait(job["id"])
    when, line = server.paddle("logs", "--timestamps", job["id"], check=0).stdout.rstrip().split(" ", 1)
    assert line == "worker-0 ~ last" and stamp(when) >= then - 0.1, (when, then)


def test_lines_since_a_time(turns):
    server, job, allowed = turns
    whole = [f"trainer-{turn % 2} | turn {turn}" for turn in range(6)]
    for turn in range(6):
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(allowed[turn])) + "Z"
        done = server.paddle("logs", "--since", when, job["id"], check=0)
        assert done.stdout.splitlines() == whole[turn:], when
    assert server.paddle("logs", "--since", "1h", job["id"], check=0).stdout.splitlines() == whole
    assert server.paddle("logs", "--since", "0s", job["id"], check=0).stdout == ""
    assert server.paddle("logs", "--since", "10m", "--tail", "1", job["id"], check=0).stdout.splitlines() == whole[4:]


def test_times_that_are_none(server):
    job = server.wait(server.submit(["true"])["id"])
    done = server.paddle("logs", "--since", "yesterday", job["id"])
    assert done.returncode == 2 and "10m" in done.stderr
    reply = server.get(f"/v1/jobs/{job['id']}/logs?since=yesterday")
    assert reply.status == 400 and "10m" in reply.json["message"]


# -- events


def test_events_without_a_job_end_after_what_there_is(server):
    jobs = [server.wait(server.submit(["true"])["id"]) for _ in range(3)]
    done = server.paddle("events", "-o", "json", check=0, timeout=60)
    events = json.loads(done.stdout)
    assert {event["job"] for event in events} == {job["id"] for job in jobs}
    assert [event["revision"] for event in events] == sorted(event["revision"] for event in events)
    middle = events[len(events) // 2]["revision"]
    done = server.paddle("events", "-o", "json", "--since", middle, check=0, timeout=60)
    assert json.loads(done.stdout) == [event for event in events if event["revision"] > middle]
