"""`paddle shell` and `paddle attach`: a job with a terminal (doc/guide/interactive.md)."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess

import pytest
from conftest import PATIENCE, ROOT, wait_for
from screen import Screen
from steadiness.family import Process

LEAVE = "\x10\x11"  # Ctrl-P Ctrl-Q
HANGUP = "3s"  # a client has so long to come, too


@pytest.fixture
def room(tmp_path):
    """A directory to start from."""
    place = tmp_path / "room"
    place.mkdir()
    (place / "hello.txt").write_text("here\n")
    return place


@pytest.fixture
def shell(server, room):
    """Starts `paddle shell` in a directory with a file; all are closed after the test."""
    screens = []

    def start(*words, verb="shell", **about):
        screens.append(Screen(server, verb, *words, cwd=room, **about))
        return screens[-1]

    yield start
    for screen in screens:
        screen.close()


PLAIN = ("--name", "lab", "--", "sh", "-c", "PS1='$ ' exec sh")


def test_a_shell_in_a_copy_of_the_directory(server, shell):
    screen = shell("--name", "lab", size=(91, 33))
    screen.until("submitted lab")
    screen.type("cat hello.txt; echo at-$((40+2)); test -t 0 && test -t 1 && test -t 2 && echo it-is-$((1+1))\r")
    screen.until("here\r\nat-42\r\nit-is-2")
    screen.type("stty size\r")
    screen.until("33 91")
    screen.resize(100, 44)
    screen.type("until [ \"$(stty size)\" = '44 100' ]; do sleep 0.1; done; echo now-$((2+3))\r")
    screen.until("now-5")
    screen.type("exit 7\r")
    assert screen.wait() == 7
    assert screen.is_as_before()
    assert "at-42" in server.member_log("lab")
    assert server.wait("lab")["spec"]["tty"] is True


def test_keys_go_inside(server, shell):
    screen = shell(*PLAIN)
    screen.until("$ ")
    screen.type("sh -c 'echo up-$((2+2)); exec sleep 600'\r")
    screen.until("up-4")  # it has the terminal: until then an interrupt is the shell's
    screen.type("\x03")
    screen.until("$ ")
    screen.type("cat\rx\r")
    screen.until("x\r\nx\r\n")
    screen.type("\x04echo $?-is-0\r")
    screen.until("0-is-0")
    screen.type("sh -c 'kill -9 $$'\r")
    screen.until("Killed")
    screen.type("exit\r")
    assert screen.wait() == 137


def test_a_signal_ends_both_alike(server, shell):
    screen = shell("--name", "lab", "--", "sh", "-c", "kill -15 $$")
    assert screen.wait() == 128 + 15
    assert server.wait("lab")["members"][0]["signal"] == 15


def test_the_status_of_a_shell_is_told_plainly(server, shell):
    screen = shell("--name", "lab", "--", "sh", "-c", "echo 'KeyError: lr'; exit 7")
    assert screen.wait() == 7
    assert server.wait("lab")["reason"] == "ended with status 7"


def test_help_shows_no_option_that_is_refused(server, room):
    shown = server.paddle("shell", "--help", check=0).stdout
    for option in ("--follow", "--array", "--sweep", "--retries", "--entry-point", "--ps-cpu", "--no-file"):
        assert not re.search(rf"^ .*{option}\b", shown, re.M), option
        words = () if option in ("--follow", "--no-file") else ("a=1",)
        done = server.paddle("shell", option, *words, cwd=room, check=2)
        assert f"{option} is not for `paddle shell`" in done.stderr
    assert "--gpus" in shown and "--hangup-after" in shown


def test_a_program_that_is_over_at_once_was_seen(shell):
    screen = shell("--", "echo", "only this")
    assert screen.wait() == 0
    assert screen.seen.count(b"only this") == 1


def test_a_program_that_does_not_exist(shell):
    screen = shell("--", "no-such-program")
    assert screen.wait() == 127
    assert b"cannot run 'no-such-program'" in screen.seen


def test_a_server_that_is_killed_costs_nothing(server, shell):
    """What is written meanwhile comes afterwards, once."""
    script = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line-$i; sleep 0.02; done; read x; echo got-$x"
    screen = shell("--name", "lab", "--", "sh", "-c", script)
    screen.until("line-20\r")
    server.kill()
    screen.until("connection lost")
    server.start()
    screen.until("connected again")
    screen.until("line-300\r")
    screen.type("it\r")
    screen.until("got-it")
    assert screen.wait() == 0
    assert [screen.seen.count(b"line-%d\r" % i) for i in range(1, 301)] == [1] * 300


def test_whose_terminal_goes_is_hung_up(server, shell):
    screen = shell(
        "--hangup-after",
        HANGUP,
        "--name",
        "lab",
        "--",
        "sh",
        "-c",
        "trap 'echo hung up; exit' HUP; echo up; sleep 600 & wait",
    )
    screen.until("up")
    screen.process.send_signal(signal.SIGKILL)
    job = server.wait("lab")
    assert job["state"] == "cancelled"
    assert "terminal was closed" in job["reason"]
    assert "hung up" in server.member_log("lab")


def test_the_status_of_a_hang_up_may_be_the_programs_own(server, shell):
    screen = shell("--name", "lab", "--", "sh", "-c", "echo loss=1 >> $PADDLE_PROGRESS_FILE; exit 129")
    assert screen.wait() == 129
    job = server.wait("lab")
    assert (job["state"], job["reason"]) == ("failed", "ended with status 129")
    assert list(job["results"]) == ["loss"]


def test_what_a_hung_up_program_reported_stays(server, shell):
    """The mark of the hang-up is none of its results, also where the program was within a line."""
    report = "printf 'loss=1\\nacc=2' >> $PADDLE_PROGRESS_FILE; echo up; sleep 600"
    screen = shell("--hangup-after", HANGUP, "--name", "lab", "--", "sh", "-c", report)
    screen.until("up")
    screen.process.send_signal(signal.SIGKILL)
    job = server.wait("lab")
    assert job["state"] == "cancelled"
    assert job["results"] == {name: {"last": n, "min": n, "max": n} for name, n in (("loss", 1), ("acc", 2))}


def test_one_that_nobody_connects_with_ends(server):
    server.submit(["sleep", "600"], name="lab", tty=True, hangup_after="1s")
    assert server.wait("lab")["state"] == "cancelled"


def test_a_client_that_is_ended_gives_its_terminal_back(server, shell):
    screen = shell(*PLAIN)
    screen.until("$ ")
    assert not screen.is_as_before()
    screen.process.send_signal(signal.SIGTERM)
    assert screen.wait() == -15
    assert screen.is_as_before()
    server.paddle("cancel", "lab", check=0)


def test_an_interrupt_from_outside_ends_the_client_alone(server, shell):
    screen = shell(*PLAIN)
    screen.until("$ ")
    screen.process.send_signal(signal.SIGINT)
    assert screen.wait() == -signal.SIGINT
    assert screen.is_as_before()
    assert server.job("lab")["state"] == "running"


def test_ctrl_c_while_the_server_is_away_does_not_cancel(server, shell):
    screen = shell(*PLAIN)
    screen.until("$ ")
    server.kill()
    screen.until("connection lost")
    screen.process.send_signal(signal.SIGINT)
    assert screen.wait() == -signal.SIGINT
    server.start()
    assert server.wait("lab", "running")["state"] == "running"


def test_left_and_found_again(server, shell):
    screen = shell("--hangup-after", HANGUP, *PLAIN)
    screen.until("$ ")
    screen.type("secret=word; echo first-$((1+0))\r")
    screen.until("first-1")
    screen.type(LEAVE)
    assert screen.wait() == 0
    assert screen.is_as_before()
    assert b"paddle attach lab" in screen.seen
    server.wait(server.submit(["sleep", "5"])["id"])  # longer than a terminal that went would have
    again = shell("lab", verb="attach")
    again.until("first-1")  # shown again
    again.type("echo it is $secret; sleep 4.5; echo still-$((5+5))\r")
    again.until("it is word")
    again.process.send_signal(signal.SIGKILL)  # it was left once: it stays
    last = shell("lab", verb="attach")
    last.until("still-10")
    last.type("exit 3\r")
    assert last.wait() == 3


def test_a_prefix_alone_goes_inside(shell):
    screen = shell("--", "sh", "-c", "stty raw -echo; echo ready; head -c 3 | od -An -tx1; stty sane")
    screen.until("ready")
    screen.type("\x10a\x10b")
    screen.until("10 61 10")
    assert screen.wait() == 0


def test_detached_from_the_start(server, room, shell):
    done = server.paddle("shell", "--detach", "--name", "lab", "--hangup-after", "1s", cwd=room)
    assert done.returncode == 2, done.stderr
    done = server.paddle(
        "shell",
        "--detach",
        "--name",
        "lab",
        "--",
        "sh",
        "-c",
        "echo up; read x; echo got $x; exit 5",
        cwd=room,
        check=0,
    )
    assert done.stdout.split()[0] == "lab" and "`paddle attach lab` connects with it" in done.stderr
    server.wait("lab", "running")
    wait_for(lambda: "up" in server.member_log("lab"), what="its output")
    screen = shell("lab", verb="attach")
    screen.until("up")
    screen.type("this\r")
    screen.until("got this")
    assert screen.wait() == 5


def test_several_watchers(server, shell):
    screen = shell(*PLAIN)
    screen.until("$ ")
    other = shell("lab", verb="attach", size=(70, 20))
    other.until("$ ")
    other.type("stty size; echo from-$((1+1))\r")
    other.until("20 70\r\nfrom-2")
    screen.until("20 70\r\nfrom-2")
    screen.type("exit 4\r")
    assert (screen.wait(), other.wait()) == (4, 4)


SEATS = 16  # of a terminal (doc/guide/interactive.md)


def take_seat(key):
    """A terminal more: a connection to the host, which has answered; None: it is full."""
    seat = socket.socket(socket.AF_UNIX)
    seat.settimeout(PATIENCE)
    seat.connect("\0paddle-terminal-" + key)
    seat.sendall(frame(b"a", b"\xff" * 8))
    if seat.recv(1) == b"p":
        return seat
    seat.close()
    return None


@pytest.fixture
def crowd(shell):
    """A shell, and as many other terminals as there may be."""
    screen = shell("--name", "lab", "--", "sh", "-c", "echo key=$PADDLE_TERMINAL=; PS1='$ ' exec sh")
    screen.until("$ ")
    key = re.search(rb"key=(\w+)=", screen.seen)[1].decode()
    with contextlib.ExitStack() as stack:
        yield screen, key, [stack.enter_context(take_seat(key)) for _ in range(SEATS - 1)]


def test_one_terminal_too_many_is_told_so(shell, crowd):
    other = shell("lab", verb="attach")
    assert other.wait() == 1
    assert b"16 terminals are connected" in other.seen
    assert b"connection lost" not in other.seen
    crowd[2][0].close()
    last = shell("lab", verb="attach")
    last.until("$ ")


def test_a_lost_place_is_waited_for_quietly(server, shell, crowd):
    screen, key, seats = crowd
    server.kill()
    screen.until("connection lost")
    with wait_for(lambda: take_seat(key), what="the place of the one that was cut off"):
        server.start()
        wait_for(lambda: len(taken(server)) >= 4, what="some tries")
        assert screen.seen.count(b"connection lost") == 1
        assert b"connected again" not in screen.seen
        while screen.read(0):
            pass
        assert screen.seen.count(b"connection lost") == 1
        assert b"connected again" not in screen.seen
        seats[0].close()
        screen.until("connected again")
    screen.type("echo still-$((1+1))\r")
    screen.until("still-2")


def taken(server):
    """Attachments that the server has begun, though the terminal may refuse them."""
    lines = server.get("/v1/audit").json["items"]
    return [line for line in lines if line["action"] == "job attach" and line["outcome"] == "ok"]


def test_cancel_ends_a_shell_at_once(server, shell):
    screen = shell("--grace", "60s", *PLAIN)
    screen.until("$ ")
    server.paddle("cancel", "lab", check=0)
    assert server.wait("lab", timeout=30)["state"] == "cancelled"
    assert screen.wait() != 0


def test_a_program_has_its_grace(server, shell):
    """It goes on after the signal until it has what it waits for."""
    script = """
import signal, sys
def save(number, frame):
    print("saving")
    print("saved " + input())
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("up")
while True:
    signal.pause()
"""
    screen = shell("--name", "lab", "--", "python3", "-c", script)
    screen.until("up")
    server.paddle("cancel", "lab", check=0)
    screen.until("saving")
    assert server.job("lab")["state"] == "stopping"
    screen.type("all\r")
    server.wait("lab")
    assert "saved all" in server.member_log("lab")


def test_waiting_is_shown_and_interrupted(server, shell):
    server.submit(["sleep", "600"], name="big", roles=[{"name": "worker", "replicas": 1, "cpu": 8}])
    server.wait("big", "running")
    screen = shell("--name", "lab", "--cpu", "8", "--", "true")
    screen.until("queued")
    screen.until("waits for 8 cores")
    screen.process.send_signal(signal.SIGINT)
    assert screen.wait() == 130
    assert server.wait("lab")["state"] == "cancelled"


@pytest.fixture
def full(server):
    """A machine that has no core left."""
    server.submit(["sleep", "600"], name="big", roles=[{"name": "worker", "replicas": 1, "cpu": 8}])
    server.wait("big", "running")


def waiting(shell, name, *words):
    screen = shell("--name", name, "--cpu", "8", *words, "--", "true")
    screen.until("waits for 8 cores")
    return screen


def test_whose_terminal_goes_while_it_waits_is_cancelled(server, shell, full):
    stays = waiting(shell, "stays", "--hangup-after", HANGUP)
    waiting(shell, "lab", "--hangup-after", "5s").process.send_signal(signal.SIGKILL)
    job = server.wait("lab")
    assert job["state"] == "cancelled"
    assert "closed while it waited" in job["reason"]
    assert server.job("stays")["state"] == "queued"
    stays.process.send_signal(signal.SIGINT)
    assert stays.wait() == 130


def test_whose_terminal_goes_while_the_server_is_away_is_cancelled(server, shell, full):
    screen = waiting(shell, "lab", "--hangup-after", HANGUP)
    server.kill()
    screen.process.send_signal(signal.SIGKILL)
    server.start()
    assert server.wait("lab")["state"] == "cancelled"


def test_one_that_waits_without_a_terminal(server, full):
    """One that asks for none to be there stays."""
    large = {"command": ["true"], "roles": [{"name": "worker", "replicas": 1, "cpu": 8}], "tty": True}
    server.submit(**large, name="stays", detach=True)
    server.submit(**large, name="lab", hangup_after="2s")
    assert server.wait("lab")["state"] == "cancelled"
    assert server.job("stays")["state"] == "queued"


def test_a_flood_can_be_stopped(server, shell):
    screen = shell(*PLAIN)
    screen.until("$ ")
    screen.type("yes the same line over and over\r")
    screen.until("over and over\r\nthe same line over and over\r\n")
    while len(screen.seen) < 4 << 20:
        screen.read(1)
    screen.type("\x03")
    screen.type("echo over-$((1+1))\r")
    screen.until("over-2")
    screen.type("exit\r")
    assert screen.wait() == 0


def test_who_does_not_read_is_left_behind(server, shell):
    """It stops the program for a while, not for good."""
    screen = shell(
        "--name",
        "lab",
        "--",
        "sh",
        "-c",
        "echo ready; read x; head -c 2097152 /dev/zero | tr '\\0' x; echo; echo through; sleep 600",
    )
    screen.until("ready")
    other = shell("lab", verb="attach")
    other.until("ready")
    screen.type("go\r")
    screen.until("xxxx")
    other.process.send_signal(signal.SIGSTOP)
    screen.until("through")
    other.process.send_signal(signal.SIGCONT)
    server.paddle("cancel", "lab", check=0)


def test_a_terminal_is_needed(server, room):
    for words in (("shell",), ("shell", "--", "ls")):
        done = server.paddle(*words, cwd=room, input="ls\n")
        assert done.returncode == 2
        assert "needs a terminal" in done.stderr
        assert "paddle submit --follow" in done.stderr
    assert server.get("/v1/jobs").json["items"] == []


def test_a_job_without_one_says_what_to_do(server, shell):
    server.submit(["sleep", "600"], name="plain")
    server.wait("plain", "running")
    for done in (server.paddle("attach", "plain"), server.paddle("attach", "none")):
        assert done.returncode == 1
    assert "paddle logs -f plain" in server.paddle("attach", "plain").stderr
    reply = server.get("/v1/jobs/plain/members/worker-0/attach")
    assert reply.status == 409
    assert "no terminal" in reply.json["message"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"tty": True, "array": "0-3"}, "array"),
        ({"tty": True, "retries": 1}, "retries"),
        ({"tty": True, "roles": [{"name": "trainer", "replicas": 2}]}, "one process"),
        ({"detach": True}, "tty"),
        ({"hangup_after": "5s"}, "tty"),
        ({"tty": True, "hangup_after": "0s"}, "at least 1 s"),
        ({"tty": "yes"}, "tty"),
    ],
)
def test_what_is_no_such_job(server, spec, says):
    reply = server.post("/v1/jobs", {"command": ["sh"], **spec})
    assert reply.status == 400, reply.body
    assert says in reply.json["message"]


def test_it_is_only_for_who_may_change_the_job(server):
    server.submit(["sleep", "600"], name="lab", tty=True, detach=True)
    server.wait("lab", "running")
    job = server.job("lab")["id"]
    assert server.post("/v1/users", {"name": "eve"}).status == 201
    headers = {"Authorization": f"Bearer {server.post('/v1/tokens', {'user': 'eve'}).json['token']}"}
    for path in ("attach", "forward?port=80"):
        assert server.request("GET", f"/v1/jobs/{job}/members/worker-0/{path}", headers=headers).status == 404
    reader = server.post("/v1/tokens", {"user": server.get("/v1/whoami").json["user"], "scope": "read"}).json["token"]
    for path in ("attach", "forward?port=80"):
        reply = server.request(
            "GET", f"/v1/jobs/{job}/members/worker-0/{path}", headers={"Authorization": f"Bearer {reader}"}
        )
        assert reply.status == 403, reply.body


GATE = ROOT / "build/asan/src/gate/paddle-gate"


def terminal_env(name):
    return {**os.environ, "PADDLE_TERMINAL": f"{name}-{os.getpid()}"}


def frame(kind, content):
    return kind + struct.pack("<I", len(content)) + content


def frames_of(data):
    while data:
        (size,) = struct.unpack("<I", data[1:5])
        yield data[:1], data[5 : 5 + size]
        data = data[5 + size :]


def test_the_gate_of_pods_is_such_a_host():
    """What runs in a container is another build of the same: host and relay by themselves (src/terminal/terminal.h)."""
    env = terminal_env("test")
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env}
    with subprocess.Popen([GATE, "terminal", "60000", "sh", "-c", "read x; echo got $x; exit 5"], **streams) as host:
        wait_for(lambda: f"@paddle-terminal-{env['PADDLE_TERMINAL']}" in pathlib.Path("/proc/net/unix").read_text())
        with subprocess.Popen([GATE, "relay"], **streams) as relay:
            relay.stdin.write(
                frame(b"a", b"\xff" * 8) + frame(b"s", struct.pack("<HH", 90, 30)) + frame(b"i", b"this\n")
            )
            relay.stdin.flush()
            came = list(frames_of(relay.stdout.read()))
        assert host.stdout.read().replace(b"\r", b"").endswith(b"got this\n")
    assert host.returncode == 5
    assert came[0] == (b"p", bytes(8))
    assert b"got this" in b"".join(content for kind, content in came if kind == b"o")
    assert came[-1] == (b"e", struct.pack("<I", 5))


def test_whoever_leaves_has_what_was_shown_and_is_let_go():
    """Also where the end of its input cannot be passed on (a cluster with version 4 of the exec protocol)."""
    env = terminal_env("leave")
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env}
    with subprocess.Popen([GATE, "terminal", "60000", "sh", "-c", "echo up; read x; exit 5"], **streams) as host:
        assert host.stdout.readline().strip() == b"up"
        with subprocess.Popen([GATE, "relay"], **streams) as relay:
            relay.stdin.write(frame(b"a", b"\xff" * 8) + frame(b"d", b""))
            relay.stdin.flush()
            assert relay.wait(PATIENCE) == 0
            assert list(frames_of(relay.stdout.read())) == [(b"p", bytes(8)), (b"o", b"up\r\n")]
        assert host.poll() is None
        with subprocess.Popen([GATE, "relay"], **streams) as relay:
            relay.stdin.write(frame(b"a", b"\xff" * 8) + frame(b"i", b"on\n"))
            relay.stdin.flush()
            assert list(frames_of(relay.stdout.read()))[-1] == (b"e", struct.pack("<I", 5))
    assert host.returncode == 5


def children_of(pid):
    with contextlib.suppress(FileNotFoundError):
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def test_the_end_is_told_before_its_container_is_gone(tmp_path):
    """The host is the first process of a container, so its exit kills the relay. Here the relay is stopped for a while."""
    env = terminal_env("last")
    gone = tmp_path / "gone"
    os.mkfifo(gone)
    words = [GATE, "terminal", "60000", "sh", "-c", f"read x < {gone}; exit 5"]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env}
    with contextlib.ExitStack() as stack:
        container = ["unshare", "--pid", "--fork", "--kill-child", *words]
        container = stack.enter_context(subprocess.Popen(container, stdin=subprocess.DEVNULL, env=env))
        stack.callback(container.kill)
        (host,) = wait_for(lambda: children_of(container.pid), what="the container")
        wait_for(lambda: children_of(host), what="its program")
        entered = ["nsenter", "-t", str(host), "--pid", GATE, "relay"]
        entered = stack.enter_context(subprocess.Popen(entered, **streams))
        stack.callback(entered.kill)
        entered.stdin.write(frame(b"a", b"\xff" * 8))
        entered.stdin.flush()
        assert entered.stdout.read(13) == frame(b"p", bytes(8))
        (relay,) = children_of(entered.pid)
        os.kill(relay, signal.SIGSTOP)
        wait_for(lambda: Process.read(entered.pid).state == "T", what="nsenter, which stops with what it has started")
        gone.write_text("now\n")
        wait_for(lambda: not children_of(host), what="the end of the program")
        os.kill(entered.pid, signal.SIGCONT)
        assert entered.stdout.read() == frame(b"e", struct.pack("<I", 5))
        assert entered.wait(PATIENCE) == 0
        assert container.wait(PATIENCE) == 5
