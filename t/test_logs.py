"""Logs over HTTP: one member's file with ranges and tails; all members as a stream that can be taken up again."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import threading

import pytest
from conftest import BIN, FINAL, UnixConnection, wait_for
from sse import Stream, follow_logs

LIMIT = 100 * 1024


def until(gate):
    return f"while [ ! -e {gate} ]; do sleep 0.02; done; "


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


@pytest.mark.parametrize("level", [0, 1, 2])
def test_no_link_in_the_place_of_a_log_is_followed(shared_server, tmp_path, level):
    """The file, its directory, the attempt's."""
    (tmp_path / "log").mkdir()
    (tmp_path / "worker-0").write_text("elsewhere\n")
    (tmp_path / "log/worker-0").write_text("elsewhere\n")
    job = shared_server.wait(shared_server.submit(["echo", "here"])["id"])
    assert shared_server.member_log(job["id"]) == "here\n"
    (log,) = shared_server.state.glob(f"jobs/*/{job['id']}/1/log/worker-0")
    place = (log, log.parent, log.parent.parent)[level]
    place.rename(place.with_name("away"))
    place.symlink_to((tmp_path / "worker-0", tmp_path, tmp_path)[level])
    assert log.read_text() == "elsewhere\n"
    assert "elsewhere" not in shared_server.member_log(job["id"])
    heard = Heard().hear(shared_server, job)
    assert "elsewhere" not in str(heard.text)


class Heard:
    """What a client has put together from `log` events: each must begin where the one before it ended."""

    def __init__(self):
        self.text, self.at, self.states, self.end, self.cursor, self.starts = {}, {}, [], None, None, {}

    def take(self, event):
        assert self.end is None, f"{event} after the end"
        if event.kind in ("log", "state"):
            assert event.id is not None, f"{event} has no cursor"
            self.cursor = event.id
        if event.kind == "state":
            assert set(event.data) == {"state", "reason", "attempt", "environment"}
            self.states.append(event.data)
        elif event.kind == "end":
            self.end = event.data
        else:
            assert event.kind == "log", event
            data = event.data
            key, size = (data["attempt"], data["member"]), len(data["text"].encode())
            self.starts.setdefault(key, data["offset"] - size)
            begin = self.at.get(key, self.starts[key])
            assert data["offset"] - size == begin, f"{key}: {begin} bytes heard, then {begin} to {data['offset']}"
            self.at[key] = data["offset"]
            self.text[key] = self.text.get(key, "") + data["text"]

    def hear(self, server, job, events=None, **query):
        """Follows from the last cursor; ends after so many events, at the end, or when the connection breaks."""
        with follow_logs(server, job, cursor=self.cursor, **query) as stream:
            assert stream.status == 200, stream.reply.read()
            assert stream.reply.getheader("Content-Type").startswith("text/event-stream")
            for n, event in enumerate(stream, 1):
                self.take(event)
                if self.end is not None or n == events:
                    break
        return self


def raw(server, job, member="worker-0", **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    reply = server.get(f"/v1/jobs/{job['id']}/logs/{member}" + (f"?{text}" if text else ""))
    assert reply.status == 200, reply.body
    return reply.body


# -- one member's file


def test_ranges_of_a_log(shared_server):
    job = shared_server.wait(shared_server.submit("printf 0123456789")["id"])
    path = f"/v1/jobs/{job['id']}/logs/worker-0"
    for asked, body, place in (
        ("bytes=0-3", b"0123", "bytes 0-3/10"),
        ("bytes=4-", b"456789", "bytes 4-9/10"),
        ("bytes=-2", b"89", "bytes 8-9/10"),
        ("bytes=8-100", b"89", "bytes 8-9/10"),
    ):
        reply = shared_server.get(path, headers={"Range": asked})
        assert (reply.status, reply.body) == (206, body), asked
        assert reply.headers["Content-Range"] == place and reply.headers["Content-Length"] == str(len(body))
    reply = shared_server.get(path, headers={"Range": "bytes=10-"})
    assert reply.status == 416 and reply.headers["Content-Range"] == "bytes */10"
    reply = shared_server.get(path)
    assert (reply.status, reply.body) == (200, b"0123456789")
    assert reply.headers["Content-Type"].startswith("text/plain")


def test_tails_of_a_log(shared_server):
    job = shared_server.wait(shared_server.submit("seq 30000; printf end")["id"])
    whole = "".join(f"{n}\n" for n in range(1, 30001)).encode() + b"end"
    assert raw(shared_server, job) == whole
    lines = whole.splitlines(keepends=True)
    for n in (0, 1, 2, 1000, 20000, 30000, 30001, 99999):
        assert raw(shared_server, job, tail=n) == b"".join(lines[max(len(lines) - n, 0) :]), n
    for wrong in ("-1", "x", "1.5"):
        reply = shared_server.get(f"/v1/jobs/{job['id']}/logs/worker-0?tail={wrong}")
        assert reply.status == 400 and "tail" in reply.json["message"]


def test_attempts_of_a_log(shared_server):
    script = "a=${PWD%/work}; echo attempt ${a##*/}; exit 1"
    job = shared_server.wait(shared_server.submit(script, retries=2, backoff="10ms")["id"])
    assert [raw(shared_server, job, attempt=n) for n in (1, 2, 3)] == [b"attempt %d\n" % n for n in (1, 2, 3)]
    assert raw(shared_server, job) == raw(shared_server, job, attempt=0) == b"attempt 3\n"
    reply = shared_server.get(f"/v1/jobs/{job['id']}/logs/worker-0?attempt=4")
    assert reply.status == 404 and "3 attempts" in reply.json["message"]


@pytest.mark.parametrize("member", ["worker-1", "worker-", "trainer-0", "worker-00000000000000000001", "..", "worker"])
def test_members_that_are_not_there(shared_server, member):
    job = shared_server.wait(shared_server.submit(["true"])["id"])
    for path in (f"/v1/jobs/{job['id']}/logs/{member}", f"/v1/jobs/{job['id']}/logs?member={member}"):
        reply = shared_server.get(path)
        assert reply.status in (400, 404), (path, reply.body)
        if reply.status == 404:
            assert member in reply.json["message"] and "worker-0" in reply.json["hint"]


def test_bytes_come_as_they_were_written(shared_server):
    job = shared_server.submit(["python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)"])
    job = shared_server.wait(job["id"])
    assert raw(shared_server, job) == bytes(range(256)) * 300


# -- the stream


def test_a_follower_hears_all_and_then_the_end(server, gate):
    job = server.submit(f"echo first; {until(gate)} echo second; exit 3")
    heard = Heard()
    with follow_logs(server, job) as stream:
        for event in stream:
            heard.take(event)
            if heard.text and heard.states[-1]["state"] == "running":
                gate.touch()  # both were heard while the job runs: the second line has not been written
    assert not stream.broken
    assert heard.text == {(1, "worker-0"): "first\nsecond\n"}
    assert heard.states[-1]["state"] == "failed"
    assert heard.end["state"] == "failed" and "status 3" in heard.end["reason"]


def test_a_follower_that_was_there_before_the_job_hears_each_line_as_it_comes(make_server, tmp_path):
    server = make_server("--cpus", "1")
    gates = [tmp_path / str(n) for n in range(4)]
    first = server.wait(server.submit(until(gates[0]))["id"], "running")
    steps = "".join(f"echo line {n}; {until(gates[n])}" for n in range(1, 4))
    job = server.submit(steps)
    heard = Heard()
    with follow_logs(server, job, timeout=14) as stream:
        for event in stream:
            heard.take(event)
            if len(heard.states) == 1 and event.kind == "state":
                assert event.data["state"] == "queued" and re.search(r"\b1\b", event.data["reason"]), event
                gates[0].touch()
            for n in range(1, 4):
                if f"line {n}\n" in heard.text.get((1, "worker-0"), ""):
                    gates[n].touch()
    assert heard.text == {(1, "worker-0"): "line 1\nline 2\nline 3\n"} and heard.end["state"] == "succeeded"
    assert [state["state"] for state in heard.states][0] == "queued"
    server.wait(first["id"])


def test_without_follow_the_stream_ends_where_the_log_does(server, gate):
    job = server.submit(f"echo one; printf tw; {until(gate)}")
    wait_for(lambda: raw(server, job) == b"one\ntw")
    heard = Heard().hear(server, job, follow="false")
    assert heard.text == {(1, "worker-0"): "one\ntw"}
    assert heard.end["state"] in ("running", "starting")
    gate.touch()
    server.wait(job["id"])


def test_half_a_line_is_kept_until_it_is_whole(server, gate):
    job = server.submit(f"printf half; {until(gate)} echo ' and half'; echo done")
    wait_for(lambda: raw(server, job) == b"half")
    pieces = []
    with follow_logs(server, job) as stream:
        for event in stream:
            if event.kind == "state" and event.data["state"] == "running":
                gate.touch()
            pieces += [event.data["text"]] if event.kind == "log" else []
    assert all(piece.endswith("\n") for piece in pieces) and "".join(pieces) == "half and half\ndone\n"


def test_tail_and_member_of_a_stream(server):
    script = "seq 100 | sed s/^/$PADDLE_TRAINER_ID-/"
    roles = [{"name": "trainer", "replicas": 3, "cpu": "100m"}]
    job = server.wait(server.submit(script, roles=roles, framework="paddle-collective")["id"])
    whole = {(1, f"trainer-{m}"): "".join(f"{m}-{n}\n" for n in range(1, 101)) for m in range(3)}
    assert Heard().hear(server, job).text == whole
    two = {key: text for key, text in whole.items() if key[1] != "trainer-1"}
    assert Heard().hear(server, job, member="trainer-0,trainer-2").text == two
    assert Heard().hear(server, job, tail=2, member="trainer-1").text == {(1, "trainer-1"): "1-99\n1-100\n"}
    assert Heard().hear(server, job, tail=0).text == {}


AWKWARD = r"""
import sys
def say(text):
    sys.stdout.buffer.write(text.encode()); sys.stdout.buffer.flush()
for n in range(200):
    say(f"line {n}\n")
    if n % 50 == 7: say("\u00e9\u4e16\U0001f40d" * 120000 + "\n")   # 1 MB, characters of 2, 3 and 4 bytes
    if n % 50 == 9: say("x" * (1 << 20) + "\n")
    if n == 100: say("\r\x1b[31m\"\\\x7f\t\u2028\n\n\n")
say("no newline at the end")
"""


def awkward():
    text = ""
    for n in range(200):
        text += f"line {n}\n"
        if n % 50 == 7:
            text += "\u00e9\u4e16\U0001f40d" * 120000 + "\n"
        if n % 50 == 9:
            text += "x" * (1 << 20) + "\n"
        if n == 100:
            text += '\r\x1b[31m"\\\x7f\t\u2028\n\n\n'
    return text + "no newline at the end"


def test_long_lines_and_odd_characters_arrive_unharmed(server):
    job = server.wait(server.submit(["python3", "-c", AWKWARD])["id"])
    heard = Heard().hear(server, job)
    assert raw(server, job).decode() == awkward()
    assert heard.text[(1, "worker-0")] == awkward()


def test_bytes_that_are_no_text_are_replaced_and_counted(server):
    job = server.submit(["python3", "-c", "import sys; sys.stdout.buffer.write(b'a\\xff\\0\\xc3\\nb\\n' * 20000)"])
    job = server.wait(job["id"])
    with follow_logs(server, job) as stream:
        logs = [event.data for event in stream if event.kind == "log"]
    assert "".join(log["text"] for log in logs) == "a\ufffd\ufffd\ufffd\nb\n" * 20000
    assert logs[-1]["offset"] == len(raw(server, job)) == 7 * 20000


# -- taking a stream up again


def test_a_cursor_misses_and_repeats_nothing(server):
    """The connection breaks after every few events."""
    program = "import sys,time\nfor n in range(400): print(n, 'x' * (n * 37 % 5000), flush=True); time.sleep(0.001)"
    roles = [{"name": "trainer", "replicas": 2, "cpu": "100m"}]
    job = server.submit(["python3", "-c", program], roles=roles, framework="paddle-collective")
    heard, rounds = Heard(), 0
    while heard.end is None:
        rounds += 1
        heard.hear(server, job, events=1 + rounds % 4)
    assert rounds > 3
    whole = "".join(f"{n} {'x' * (n * 37 % 5000)}\n" for n in range(400))
    assert heard.text == {(1, "trainer-0"): whole, (1, "trainer-1"): whole}


def test_last_event_id_is_a_cursor_too(server):
    job = server.wait(server.submit("seq 10000")["id"])
    heard = Heard().hear(server, job, events=1)
    assert 0 < heard.at[(1, "worker-0")] < len(raw(server, job))
    with Stream(server, f"/v1/jobs/{job['id']}/logs", headers={"Last-Event-ID": heard.cursor}) as stream:
        for event in stream:
            heard.take(event)
    assert heard.text[(1, "worker-0")] == "".join(f"{n}\n" for n in range(1, 10001)) and heard.end


def test_a_cursor_outlives_the_server(server, gate):
    """Killed with -9 while lines come and are heard; they go on coming meanwhile."""
    program = (
        "import os, time\nn = 0\n"
        f"while not os.path.exists({str(gate)!r}) or n < 2000: print('line', n, flush=True); n += 1; time.sleep(0.0005)\n"
        "print('last', n, end='', flush=True)"
    )
    job = server.wait(server.submit(["python3", "-c", program])["id"], "running")
    heard = Heard()
    for _ in range(3):
        logs = 0
        with follow_logs(server, job, cursor=heard.cursor) as stream:
            for event in stream:  # until the connection breaks
                heard.take(event)
                logs += event.kind == "log"
                if logs >= 3:
                    server.process.kill()
        assert heard.end is None and logs >= 3
        server.kill()
        server.start()
    gate.touch()
    heard.hear(server, job)
    text = heard.text[(1, "worker-0")]
    assert text.encode() == raw(server, job)
    count = text.count("line")
    assert text == "".join(f"line {n}\n" for n in range(count)) + f"last {count}"
    assert heard.end["state"] == "succeeded"


RETRIED = "a=${PWD%/work}; a=${a##*/}; seq 500 | sed s/^/$a-/; [ $a = 4 ]"


def retried_text():
    return {(a, "worker-0"): "".join(f"{a}-{n}\n" for n in range(1, 501)) for a in range(1, 5)}


def test_attempts_follow_one_another(server, gate):
    """The first attempt waits for its follower: a stream without cursor begins with the attempt that is the newest by then."""
    job = server.submit(until(gate) + RETRIED, retries=5, backoff="50ms")
    heard = Heard().hear(server, job, events=1)
    gate.touch()
    heard.hear(server, job)
    assert heard.text == retried_text() and heard.end["state"] == "succeeded"
    newest = Heard().hear(server, job)  # who comes late hears the newest attempt
    assert newest.text == {(4, "worker-0"): retried_text()[(4, "worker-0")]}
    assert set(Heard().hear(server, job, attempt=2).text) == {(2, "worker-0")}


def test_the_cursor_of_a_stream_that_sent_nothing_begins_with_the_first_attempt(server):
    job = server.wait(server.submit(RETRIED, retries=5, backoff="1ms")["id"])
    heard = Heard()
    heard.cursor = "0.environment:0"
    assert heard.hear(server, job).text == retried_text()


class LateFollower(threading.Thread):
    """Passes one client's connections on to the server; requests for a log's stream only once `ready()`."""

    def __init__(self, server, path, ready):
        super().__init__(daemon=True)
        self.server, self.path, self.ready = server, path, ready
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            upstream = socket.socket(socket.AF_UNIX)
            upstream.connect(self.server.socket)
            for source, sink in ((client, upstream), (upstream, client)):
                threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    def carry(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                if re.match(rb"GET /v1/jobs/[^ ]*/logs", data):
                    self.ready()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one side has gone


def test_submit_follow_shows_attempts_that_were_over_before_it_could_ask(server, tmp_path):
    def over():
        wait_for(lambda: server.job("late")["state"] in FINAL, what="the end of the job")

    relay = LateFollower(server, tmp_path / "relay.sock", over)
    relay.start()
    (tmp_path / "package").mkdir()
    (tmp_path / "job.json").write_text(json.dumps({"name": "late", "command": RETRIED, "retries": 5, "backoff": "1ms"}))
    words = ["submit", "-f", tmp_path / "job.json", "--follow"]
    done = server.paddle(*words, cwd=tmp_path / "package", env={"PADDLE_SERVER": f"unix:{relay.path}"}, check=0)
    lines = [line.rsplit("| ", 1)[1] for line in done.stdout.splitlines() if "| " in line]
    assert lines == [f"{a}-{n}" for a in range(1, 5) for n in range(1, 501)]


@pytest.mark.parametrize("events", [2, 3, 5])
def test_a_cursor_of_an_earlier_attempt(server, gate, events):
    job = server.submit(until(gate) + RETRIED, retries=5, backoff="10ms")
    wait_for(lambda: server.job(job["id"])["state"] == "running")
    heard = Heard().hear(server, job, events=1)
    gate.touch()
    server.wait(job["id"])
    while heard.end is None:
        heard.hear(server, job, events=events)
    assert heard.text == retried_text()


def test_a_cursor_of_a_job_that_had_not_begun(make_server, gate):
    server = make_server("--cpus", "1")
    first = server.wait(server.submit(until(gate))["id"], "running")
    job = server.submit(RETRIED, retries=5, backoff="10ms")
    heard = Heard().hear(server, job, events=1)
    assert heard.states[0]["state"] == "queued" and heard.cursor
    gate.touch()
    server.wait(first["id"])
    server.wait(job["id"])
    assert heard.hear(server, job).text == retried_text()


def test_the_cursor_does_not_grow_with_the_attempts(server):
    """It has to fit into a request's head, whatever a job has been through."""
    roles = [{"name": "trainer", "replicas": 8, "cpu": "10m"}]
    script = "a=${PWD%/work}; a=${a##*/}; echo $a; exit 1"
    job = server.submit(script, roles=roles, framework="paddle-collective", retries=11, backoff="1ms")
    sizes = {}
    heard = Heard()
    with follow_logs(server, job) as stream:
        for event in stream:
            heard.take(event)
            if event.kind == "log":
                sizes[event.data["attempt"]] = len(event.id)
    assert heard.states[-1]["attempt"] == 12
    assert max(sizes.values()) < 4 * min(sizes.values()), sizes


def test_tail_means_what_was_there_at_first(server, gate):
    """Of the attempts that come later nothing is cut."""
    script = f"a=${{PWD%/work}}; a=${{a##*/}}; seq 50; echo up; [ $a = 2 ] && exit; {until(gate)} exit 1"
    job = server.submit(script, retries=1, backoff="1ms")
    wait_for(lambda: b"up" in raw(server, job))
    heard = Heard()
    with follow_logs(server, job, tail=1) as stream:
        for event in stream:
            heard.take(event)
            if event.kind == "log":
                gate.touch()
    assert heard.text == {
        (1, "worker-0"): "up\n",
        (2, "worker-0"): "".join(f"{n}\n" for n in range(1, 51)) + "up\n",
    }


# -- many followers, and bad ones


class Tape(threading.Thread):
    """Follows and looks only at the offsets, so that many of them together do not measure this program's pace."""

    def __init__(self, server, job):
        super().__init__(daemon=True)
        self.connection = UnixConnection(server.socket, 60)
        self.connection.request("GET", f"/v1/jobs/{job['id']}/logs")
        self.reply = self.connection.getresponse()
        self.offsets, self.ended = [], False

    def run(self):
        rest = b""
        while part := self.reply.read1(1 << 20):
            rest += part
            whole, _, rest = rest.rpartition(b"\n\n")
            for event in whole.split(b"\n\n"):
                if found := re.search(rb'"offset": ?(\d+)', event[-100:] + event[:200]):
                    self.offsets.append(int(found.group(1)))
                self.ended |= b"event: end" in event
        self.connection.close()


def test_fifty_followers_and_one_that_never_reads(server, gate):
    line, lines = "y" * 999 + "\n", 20 * 1000
    job = server.submit(until(gate) + f"yes {line[:-1]} | head -n {lines}")
    server.wait(job["id"], "running")
    sleeper = socket.socket(socket.AF_UNIX)
    sleeper.connect(server.socket)
    sleeper.sendall(f"GET /v1/jobs/{job['id']}/logs HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    tapes = [Tape(server, job) for _ in range(50)]
    for tape in tapes:
        tape.start()
    gate.touch()
    assert server.get("/healthz").status == 200
    assert any(tape.is_alive() for tape in tapes)  # others are served meanwhile
    for tape in tapes:
        tape.join(300)
    for tape in tapes:
        assert tape.ended and tape.offsets == sorted(set(tape.offsets)) and tape.offsets[-1] == lines * len(line)
    sleeper.close()
    assert server.wait(job["id"])["state"] == "succeeded"


def below(server, place):
    """The server's open descriptors of files and directories below this one of its state directory."""
    found = []
    for entry in pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += [at for at in [os.readlink(entry)] if at.startswith(f"{server.state / place}/")]
    return found


def test_descriptors_of_a_stream_do_not_grow_with_members_and_attempts(server, gate):
    """A user decides how many of both there are, and the server's descriptors are everybody's."""
    members, attempts, streams = 16, 6, 8
    roles = [{"name": "worker", "replicas": members, "cpu": "10m"}]
    script = f"a=${{PWD%/work}}; a=${{a##*/}}; seq 10000; [ $a != {attempts} ] || {until(gate)} exit 1"
    job = server.submit(script, roles=roles, retries=attempts - 1, backoff="1ms")
    wait_for(lambda: server.job(job["id"])["attempt"] == attempts, what="the last attempt")
    with contextlib.ExitStack() as stack:
        for query in [{"cursor": "0.environment:0"}, {"tail": 1}] * streams:
            stream = stack.enter_context(follow_logs(server, job, **query))
            assert next(iter(stream)).kind  # it has looked at all files, and has more to send than we read
        assert len(below(server, "jobs")) <= 2 * 2 * streams, below(server, "jobs")
        assert len(server.watched()) <= 8, "each of the attempts is watched"
        gate.touch()
    server.wait(job["id"])


# -- the limit


def is_cut(server, job, notice):
    try:
        return notice in raw(server, job)
    except http.client.IncompleteRead:
        return False  # it was cut while it was sent


def test_a_log_at_its_limit_keeps_beginning_and_end(make_server, gate):
    """Of what is written while the log is cut some may be lost; the last words come later."""
    server = make_server("--log-limit", str(LIMIT), "--cpus", "2")
    notice, words = b"\npaddle: this log has reached its limit of %d bytes" % LIMIT, "Traceback: the last words"
    job = server.submit(f"seq 200000; {until(gate)} echo {words}")
    with follow_logs(server, job) as stream:
        wait_for(lambda: is_cut(server, job, notice), what="the cut")
        gate.touch()
        kinds = [event.kind for event in stream]
    assert kinds[-1] == "end"
    assert server.wait(job["id"])["state"] == "succeeded"  # the limit is the log's, not the job's
    log = raw(server, job)
    whole = "".join(f"{n}\n" for n in range(1, 200001)).encode()
    assert len(whole) > 10 * LIMIT and len(log) < LIMIT + 80 * 1024
    assert log[:LIMIT] == whole[:LIMIT]
    assert log[LIMIT:].startswith(notice)
    *tail, last = log[LIMIT:].decode().splitlines()[3:]
    assert last.endswith(words) and len(tail) > 1000


def test_a_log_below_its_limit_is_left_alone(make_server):
    server = make_server("--log-limit", "1Mi", "--cpus", "2")
    job = server.wait(server.submit("seq 10000")["id"])
    assert job["state"] in FINAL and raw(server, job) == "".join(f"{n}\n" for n in range(1, 10001)).encode()


# -- what inotify does not tell


def append(server, job, text, member="worker-0"):
    """As the member itself writes."""
    with open(server.state / "jobs" / job["id"][:2] / job["id"] / f"{job['attempt']}/log/{member}", "a") as file:
        file.write(text)


def converse(server, job, heard, events, lines):
    """Each line is written when the one before it was heard, so that none comes along with another's notice."""
    for line in lines:
        append(server, job, line)
        while not heard.text.get((1, "worker-0"), "").endswith(line):
            heard.take(next(events))


def test_a_line_is_sent_though_the_notice_of_it_was_lost_in_a_burst(server):
    """The kernel drops notices above fs.inotify.max_queued_events; those of a quiet job must not be missed."""
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        limit = int(file.read())
    loud = server.submit("sleep 600", roles=[{"name": "worker", "replicas": 2}], grace="1s")
    quiet = server.submit("sleep 600", grace="1s")
    loud, quiet = server.wait(loud["id"], "running"), server.wait(quiet["id"], "running")
    heard, others = Heard(), Heard()
    # a follower that hears nothing looks by itself after 15 s
    with follow_logs(server, quiet, timeout=14) as stream, follow_logs(server, loud) as other:
        events, loud_events = iter(stream), iter(other)
        converse(server, loud, others, loud_events, ["1\n", "2\n", "3\n"])
        converse(server, quiet, heard, events, ["1\n", "2\n", "3\n"])
        server.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(limit):  # alternately, as equal neighbours are put together
                append(server, loud, ".", "worker-0")
                append(server, loud, ".", "worker-1")
            append(server, quiet, "end\n")
        finally:
            server.process.send_signal(signal.SIGCONT)
        while not heard.text[(1, "worker-0")].endswith("end\n"):
            heard.take(next(events))


def test_logs_are_followed_where_nothing_can_be_watched(make_server, tmp_path):
    """Watches are counted per user, and other programs use them up."""
    program = tmp_path / "paddled"
    program.write_text(
        f"#!/bin/sh\nexec unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_inotify_watches; "
        f'exec "$@"\' sh {BIN}/paddled "$@"\n'
    )
    program.chmod(0o755)
    server = make_server(program=program)
    job = server.wait(server.submit("sleep 600", grace="1s")["id"], "running")
    with follow_logs(server, job) as stream:
        converse(server, job, Heard(), iter(stream), ["1\n", "2\n", "3\n"])
    assert "max_user_watches" in server.log()
