"""Servers, agents and machines that go away and come back; starts that have to be refused."""

import contextlib
import datetime
import io
import os
import pathlib
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import tarfile
import time

import pytest
from conftest import BIN, PATIENCE, ROOT, Server, wait_for

OTHER_BOOT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def gate(tmp_path):
    """A file that jobs wait for."""
    return tmp_path / "gate"


def until(gate):
    return f"while [ ! -e {gate} ]; do sleep 0.02; done; "


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


def parent_of(pid):
    return int(re.search(r"^PPid:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M).group(1))


def member(server, job, name="worker-0"):
    items = server.get(f"/v1/jobs/{job['id']}/members").json["items"]
    return next(item for item in items if item["name"] == name)


def kinds(server, job):
    return [event["kind"] for event in server.get(f"/v1/jobs/{job['id']}/events?limit=10000").json["items"]]


def restart(server, how):
    """The server goes, in one way or the other, and comes back."""
    (server.kill if how == "kill" else server.stop)()
    server.start()


def start_refused(state, *options):
    """The message of a `paddled` that must not start."""
    done = subprocess.run(
        [BIN / "paddled", "--state", state, *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode not in (0, -signal.SIGABRT, -signal.SIGSEGV), done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("paddled: ")]
    assert len(said) == 1, done.stderr
    return done.stderr


# -- a server that goes and comes


@pytest.mark.parametrize("how", ["term", "kill"])
def test_jobs_run_on_without_the_server(server, gate, how):
    job = server.submit(f"echo before; {until(gate)} echo after; exit 3", name="runs-on")
    job = server.wait(job["id"], "running")
    pid, agent = member(server, job)["pid"], server.agent_pid()
    (server.kill if how == "kill" else server.stop)()
    os.kill(pid, 0)
    server.start()
    assert member(server, job)["pid"] == pid and server.agent_pid() == agent
    assert server.job(job["id"])["state"] == "running" and server.job(job["id"])["running_at"] == job["running_at"]
    gate.touch()
    job = server.wait(job["id"])
    assert job["state"] == "failed" and job["attempt"] == 1 and member(server, job)["exit_code"] == 3
    assert server.member_log(job["id"]) == "before\nafter\n"
    assert kinds(server, job) == [
        "job.queued",
        "job.starting",
        "member.started",
        "job.running",
        "member.exited",
        "job.failed",
    ]


@pytest.mark.parametrize("how", ["term", "kill"])
def test_a_job_that_ends_while_nobody_looks(server, gate, how):
    job = server.wait(server.submit(f"echo one; {until(gate)} echo two")["id"], "running")
    pid, agent = member(server, job)["pid"], server.agent_pid()
    (server.kill if how == "kill" else server.stop)()
    kill(agent)
    gate.touch()
    wait_for(lambda: is_gone(pid), 10, "the member's end")
    server.start()
    job = server.wait(job["id"])
    assert job["state"] == "succeeded" and job["attempt"] == 1
    assert member(server, job)["exit_code"] == 0 and member(server, job)["peak_memory"] > 0
    assert server.member_log(job["id"]) == "one\ntwo\n"


def parent(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def test_a_job_ended_when_its_member_did(server, gate):
    """Not when a server came back that could hear of it."""
    job = server.wait(server.submit(until(gate) + "exit 3")["id"], "running")
    keeper = parent(member(server, job)["pid"])
    server.kill()
    gate.touch()
    wait_for(lambda: is_gone(keeper), what="the member's end, on the disk")
    back = datetime.datetime.now(datetime.UTC)
    server.start()
    job = server.wait(job["id"])
    ended = datetime.datetime.fromisoformat(job["finished_at"])
    assert ended < back and job["finished_at"] == member(server, job)["finished_at"]
    assert job["running_at"] <= job["finished_at"]


def test_one_member_ends_while_the_agent_is_dead(server, tmp_path):
    gates = [tmp_path / "0", tmp_path / "1"]
    script = f"while [ ! -e {tmp_path}/$PADDLE_TRAINER_ID ]; do sleep 0.02; done; echo $PADDLE_TRAINER_ID"
    roles = [{"name": "trainer", "replicas": 2, "cpu": "100m"}]
    job = server.submit(script, roles=roles, framework="paddle-collective")
    job = server.wait(job["id"], "running")
    pids = [member(server, job, f"trainer-{i}")["pid"] for i in range(2)]
    os.kill(server.agent_pid(), signal.SIGSTOP)  # it is there and sees nothing
    gates[0].touch()
    wait_for(lambda: is_gone(pids[0]), 10, "the first member's end")
    kill(server.agent_pid())
    wait_for(lambda: member(server, job, "trainer-0")["state"] == "exited", 15, "the report of the first member's end")
    assert member(server, job, "trainer-0")["exit_code"] == 0
    assert member(server, job, "trainer-1")["pid"] == pids[1] and not is_gone(pids[1])
    gates[1].touch()
    assert server.wait(job["id"])["state"] == "succeeded"
    assert [server.member_log(job["id"], f"trainer-{i}") for i in range(2)] == ["0\n", "1\n"]


def test_a_server_can_be_stopped_as_soon_as_it_can_be_reached(server):
    for _ in range(20):
        server.stop()
        assert not os.path.exists(server.socket)
        server.start(wait=False)
        while not os.path.exists(server.socket):
            assert server.process.poll() is None, server.log()
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0, server.log()
        assert not (server.state / "paddled.pid").exists()


# -- kill -9 in each state


@pytest.mark.parametrize("how", ["term", "kill"])
def test_queued(make_server, gate, how):
    server = make_server("--cpus", "1")
    first = server.wait(server.submit(until(gate))["id"], "running")
    waiting = [server.submit(f"echo {n}") for n in range(3)]
    restart(server, how)
    for job in waiting:
        after = server.job(job["id"])
        assert after["state"] == "queued" and after["submitted_at"] == job["submitted_at"]
    assert "1" in server.job(waiting[0]["id"])["reason"]
    gate.touch()
    assert server.wait(first["id"])["state"] == "succeeded"
    done = [server.wait(job["id"]) for job in waiting]
    assert [job["state"] for job in done] == ["succeeded"] * 3
    assert [job["running_at"] for job in done] == sorted(job["running_at"] for job in done)  # still first come
    assert [server.member_log(job["id"]) for job in done] == ["0\n", "1\n", "2\n"]


def fake_uv(path, gate, calls):
    """Stands for uv: makes a directory that will do as an environment, once the gate is open."""
    path.write_text(
        "#!/bin/sh\n"
        f"echo $1 >> {calls}\n"
        f"{until(gate)}\n"
        'if [ "$1" = venv ]; then mkdir -p venv/bin && ln -sf $(command -v python3) venv/bin/python\n'
        "else echo installed what was asked for; fi\n"
    )
    path.chmod(0o755)


def send_package(server, **files):
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("_txt", ".txt"))
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    reply = server.post("/v1/packages", body.getvalue(), headers={"Content-Type": "application/x-tar"})
    assert reply.status in (200, 201), reply.body
    return reply.json["package"]


@pytest.mark.parametrize("what", ["server", "agent", "both"])
def test_environment_building(make_server, tmp_path, gate, what):
    calls = tmp_path / "calls"
    fake_uv(tmp_path / "uv", gate, calls)
    server = make_server("--uv", tmp_path / "uv", "--cpus", "2")
    package = send_package(server, requirements_txt="thing==1\n")
    job = server.submit("echo ran", package=package, package_name="demo")
    assert job["environment"] == "building"
    wait_for(calls.exists, 20, "the build's beginning")
    agent = server.agent_pid()
    if what != "agent":
        server.kill()
    if what != "server":
        kill(agent)
    if what != "agent":
        server.start()
    wait_for(server.is_ready)
    after = server.job(job["id"])
    assert after["state"] == "queued" and after["environment"] == "building"
    gate.touch()
    job = server.wait(job["id"])
    assert job["state"] == "succeeded" and job["environment"] == "ready", job["reason"]
    assert calls.read_text() == "venv\npip\n"  # it was built once
    assert "installed what was asked for" in server.member_log(job["id"], "environment")
    assert server.member_log(job["id"]) == "ran\n"


@pytest.mark.parametrize("how", ["term", "kill"])
def test_starting(server, gate, how):
    program = (
        "import os, socket, time\n"
        "if os.environ['TRAINING_ROLE'] == 'PSERVER':\n"
        f"    while not os.path.exists({str(gate)!r}): time.sleep(0.02)\n"
        "    s = socket.socket(); s.bind((os.environ['POD_IP'], int(os.environ['PADDLE_PORT'])))\n"
        "    s.listen(); time.sleep(600)\n"
        "print('trainer ran')\n"
    )
    roles = [{"name": "pserver", "replicas": 1, "cpu": "100m"}, {"name": "trainer", "replicas": 2, "cpu": "100m"}]
    job = server.submit(["python3", "-c", program], roles=roles, grace="1s")
    wait_for(lambda: member(server, job, "pserver-0")["state"] == "running", 10, "the server's start")
    pid = member(server, job, "pserver-0")["pid"]
    restart(server, how)
    after = server.job(job["id"])
    assert after["state"] == "starting" and member(server, job, "pserver-0")["pid"] == pid
    assert member(server, job, "trainer-1")["state"] == "waiting"
    gate.touch()
    job = server.wait(job["id"])
    assert job["state"] == "succeeded" and job["attempt"] == 1, job["reason"]
    assert server.member_log(job["id"], "trainer-1") == "trainer ran\n"


@pytest.mark.parametrize("what", ["server", "server and agent"])
def test_stopping(server, gate, what):
    # the loop itself ends at the gate, so that a TERM only leaves its mark
    job = server.submit(f"trap 'echo told' TERM; echo up; {until(gate)} exit 9", grace="1h")
    wait_for(lambda: "up" in server.member_log(job["id"]))
    assert server.request("DELETE", f"/v1/jobs/{job['id']}").json["state"] == "stopping"
    wait_for(lambda: "told" in server.member_log(job["id"]))
    agent = server.agent_pid()
    server.kill()
    if "agent" in what:
        kill(agent)
    server.start()
    assert server.job(job["id"])["state"] == "stopping"
    gate.touch()
    job = server.wait(job["id"])
    assert job["state"] == "cancelled" and member(server, job)["exit_code"] == 9


@pytest.mark.parametrize("what", ["server", "server and agent", "agent"])
def test_the_grace_period_ends_whoever_dies_meanwhile(server, what):
    job = server.submit(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"], grace="500ms")
    wait_for(lambda: "up" in server.member_log(job["id"]))
    agent = server.agent_pid()
    server.request("DELETE", f"/v1/jobs/{job['id']}")
    if "server" in what:
        server.kill()
    if "agent" in what:
        kill(agent)
    if "server" in what:
        server.start()
    job = server.wait(job["id"], timeout=20)
    assert job["state"] == "cancelled" and member(server, job)["signal"] in (9, "SIGKILL")
    assert is_gone(member(server, job)["pid"])


def test_a_time_limit_reached_without_a_server(server):
    job = server.wait(server.submit("exec sleep 600", time_limit="5s", grace="1s")["id"], "running")
    began, pid = time.time(), member(server, job)["pid"]
    server.kill()
    wait_for(lambda: time.time() > began + 5, what="the limit")  # nobody tells of it
    os.kill(pid, 0)
    server.start()
    job = server.wait(job["id"])
    assert job["state"] == "failed" and "time limit of 5s" in job["reason"]


@pytest.mark.parametrize("how", ["term", "kill"])
def test_back_off(server, tmp_path, how):
    marks = tmp_path / "marks"
    script = f"echo ran >> {marks}; [ $(wc -l < {marks}) = 2 ]"
    soon = server.submit(script, retries=1, backoff="1s")
    late = server.submit("exit 1", retries=1, backoff="1h")
    before = wait_for(lambda: (j := server.job(late["id"]))["failures"] == 1 and j["state"] == "queued" and j)
    wait_for(lambda: server.job(soon["id"])["failures"] == 1)
    restart(server, how)
    after = server.job(late["id"])
    assert after["state"] == "queued" and after["failures"] == 1
    assert after["not_before"] == before["not_before"]
    soon = server.wait(soon["id"])
    assert soon["state"] == "succeeded" and soon["attempt"] == 2 and marks.read_text() == "ran\nran\n"
    assert server.request("DELETE", f"/v1/jobs/{late['id']}").json["state"] == "cancelled"


def test_what_was_acknowledged_as_cancelled_stays_so(make_server, gate):
    server = make_server("--cpus", "1")
    first = server.wait(server.submit(until(gate))["id"], "running")
    second = server.submit(["true"])
    assert server.request("DELETE", f"/v1/jobs/{second['id']}").json["state"] == "cancelled"
    server.kill()
    server.start()
    assert server.job(second["id"])["state"] == "cancelled"
    gate.touch()
    server.wait(first["id"])
    assert server.job(second["id"])["attempt"] == second["attempt"]


# -- the machine restarts


def restart_machine(server, pids, number=signal.SIGKILL):
    """As after a restart: no process of the platform is left, and the machine has another boot id than the last
    server saw. `number` is the signal that members get, as a shutdown sends TERM before KILL."""
    keepers = {parent_of(pid) for pid in pids}
    server.stop()
    for pid in pids:
        kill(pid, number)
    if number != signal.SIGKILL:
        for pid in pids | keepers:
            wait_for(lambda pid=pid: is_gone(pid), 10, "the end of members and keepers")
    kill(server.agent_pid())
    for pid in keepers | pids:
        kill(pid)
    wait_for(lambda: all(map(is_gone, keepers | pids)), 10, "the end of all processes")
    pretend_boot(server)
    server.start()


def pretend_boot(server):
    """All that was written is from another boot: the server's memory of it, and the state files of tasks."""
    with contextlib.closing(sqlite3.connect(server.state / "paddle.db")) as database, database:
        assert database.execute("UPDATE state SET boot_id = ?", (OTHER_BOOT,)).rowcount == 1
    for path in (server.state / "agent/tasks").iterdir():
        if not path.name.startswith(".") and (content := path.read_bytes()):
            path.write_bytes(of_other_boot(content))


def of_other_boot(content):
    """A state file as doc/internals/agent.md has it: magic, length and FNV-1a (which the magic seeds) of the record behind them."""
    head = struct.Struct("=4sIQ")
    magic, length, checksum = head.unpack_from(content)
    record = content[head.size : head.size + length]
    assert magic == b"PKS1" and fnv(magic, record) == checksum
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    assert boot in record
    record = record.replace(boot, OTHER_BOOT.encode())
    return head.pack(magic, length, fnv(magic, record)) + record + content[head.size + length :]


def fnv(magic, data):
    value = 0xCBF29CE484222325 ^ int.from_bytes(magic, "little")
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_machine_restart_repeats_or_ends_jobs_as_they_said(server, tmp_path, gate, number):
    again, ends = (
        server.submit(f"echo $$ >> {tmp_path}/{policy}; {until(gate)} echo done", on_lost=policy, retries=0)
        for policy in ("retry", "fail")
    )
    jobs = [server.wait(job["id"], "running") for job in (again, ends)]
    wait_for(lambda: (tmp_path / "retry").exists() and (tmp_path / "fail").exists())
    restart_machine(server, {member(server, job)["pid"] for job in jobs}, number)
    ends = server.wait(ends["id"])
    assert ends["state"] == "failed" and ends["attempt"] == 1
    assert "worker-0 was lost" in ends["reason"]
    assert "machine" in ends["reason"] and "restarted" in ends["reason"]
    wait_for(lambda: len((tmp_path / "retry").read_text().split()) == 2, 20, "the second attempt")
    gate.touch()
    again = server.wait(again["id"])
    assert again["state"] == "succeeded" and again["attempt"] == 2 and again["failures"] == 0
    assert server.member_log(again["id"]) == "done\n"
    assert len((tmp_path / "fail").read_text().split()) == 1


def test_a_machine_restart_is_noticed_once(server, gate):
    """The start after the next one sees the same boot, so what dies then is the job's own matter."""
    job = server.wait(server.submit(until(gate))["id"], "running")
    restart_machine(server, {member(server, job)["pid"]})
    job = wait_for(lambda: (j := server.job(job["id"]))["attempt"] == 2 and j["state"] == "running" and j)
    server.stop()
    kill(member_pid(server, job), signal.SIGTERM)
    server.start()
    job = server.wait(job["id"])
    assert job["state"] == "failed" and "signal 15" in job["reason"], job["reason"]


def member_pid(server, job):
    """Of a running job, while there is no server to ask: what its body in the database says."""
    with contextlib.closing(sqlite3.connect(server.state / "paddle.db")) as database:
        (body,) = database.execute("SELECT body FROM job WHERE id = ?", (job["id"],)).fetchone()
    pids = re.findall(r'"pid":\s*(\d+)', body)
    assert len(pids) == 1, body
    return int(pids[0])


def test_what_ended_before_the_machine_did_stays_ended(server, gate):
    job = server.wait(server.submit(until(gate) + "exit 5", retries=0)["id"], "running")
    pid, keeper = member(server, job)["pid"], parent_of(member(server, job)["pid"])
    server.stop()
    kill(server.agent_pid())
    gate.touch()
    wait_for(lambda: is_gone(pid) and is_gone(keeper), 10, "the end of member and keeper")
    pretend_boot(server)
    server.start()
    job = server.wait(job["id"])
    assert job["state"] == "failed" and job["attempt"] == 1 and member(server, job)["exit_code"] == 5


def test_a_keeper_that_was_killed_is_a_lost_member(server, gate, tmp_path):
    """Its member must not outlive it: nobody would know how it ended."""
    marks = tmp_path / "marks"
    job = server.submit(f"echo $$ >> {marks}; {until(gate)}")
    job = server.wait(job["id"], "running")
    pid = member(server, job)["pid"]
    kill(parent_of(pid))
    wait_for(lambda: is_gone(pid), 10, "the end of the member that nobody keeps")
    gate.touch()
    job = server.wait(job["id"])
    assert job["state"] == "succeeded" and job["attempt"] == 2 and job["failures"] == 0


# -- a state directory of an earlier version


@pytest.mark.parametrize(("version", "digits", "jobs"), [(5, "xj6xeejz7ste3k7w", 9), (6, "198csjh031xctp2f", 10)])
def test_a_server_starts_from_the_database_of_an_earlier_version(make_server, version, digits, jobs):
    """src/store/test/state-*.sql says what was done; src/store/test/old-state.c reads every row."""
    server = make_server("--cpus", "2", start=False)
    with contextlib.closing(sqlite3.connect(server.state / "paddle.db")) as database:
        database.executescript((ROOT / f"src/store/test/state-{version}.sql").read_text())
    server.start()

    states = {job["name"]: job["state"] for job in server.get("/v1/jobs?limit=100").json["items"]}
    assert states == {
        "digits": "succeeded",
        "broken": "failed",
        "sweep-0": "succeeded",
        "sweep-1": "succeeded",
        "sweep-2": "succeeded",
        "later": "suspended",
        "spare": "succeeded",
        "after": "queued",
        "gone": "cancelled",
    }
    assert server.job("broken")["reason"].startswith("worker-0 exited with status 3")
    events = server.get("/v1/jobs/digits/events").json["items"]
    assert [event["kind"] for event in events] == [
        "job.queued",
        "job.starting",
        "member.started",
        "job.running",
        "member.exited",
        "job.succeeded",
    ]
    assert {(event["job"], event["name"], event["user"]) for event in events} == {(digits, "digits", "root")}
    assert len(server.get("/v1/jobs/sweep/events").json["items"]) == 18
    assert server.get("/v1/queues/lab").json["weight"] == 3
    tokens = server.get("/v1/tokens?user=ann").json["items"]
    assert {token["note"]: token["scope"] for token in tokens} == {"laptop": "read", "ci": "submit"}

    server.cancel(["later"])  # what waits for it cannot start any more
    assert server.wait("after")["state"] == "cancelled"
    assert server.wait(server.submit("true", name="digits")["id"])["state"] == "succeeded"
    restart(server, "kill")
    assert len(server.get("/v1/jobs?limit=100").json["items"]) == jobs + 1


# -- starts that are refused


def test_a_newer_database_is_refused(server):
    server.stop()
    path = server.state / "paddle.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        (own,) = database.execute("PRAGMA user_version").fetchone()
        database.execute("PRAGMA user_version = 4711")
    before = path.read_bytes()
    try:
        message = start_refused(server.state, "--listen", "none")
        assert "4711" in message and re.search(rf"\b{own}\b", message) and str(path) in message
        assert path.read_bytes() == before
    finally:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA user_version = {own}")
    server.start()


def test_a_second_server_on_the_same_directory_is_refused_and_harms_nothing(server, gate):
    job = server.wait(server.submit(until(gate))["id"], "running")
    agent, under_way = server.agent_pid(), server.state / "tmp/under-way"
    under_way.write_text("what the first server is receiving")
    message = start_refused(server.state, "--listen", "none")
    assert str(server.state) in message and str(server.process.pid) in message
    assert under_way.exists() and (server.state / "paddled.pid").read_text().strip() == str(server.process.pid)
    assert server.agent_pid() == agent and server.job(job["id"])["state"] == "running"
    gate.touch()
    assert server.wait(job["id"])["state"] == "succeeded"


@pytest.mark.parametrize("damage", ["no database", "pages"])
def test_a_corrupted_database_is_named(make_server, damage):
    server = make_server("--cpus", "2")
    for _ in range(20):
        server.submit(["true"], env={"FILLER": "x" * 4000})
    wait_for(lambda: server.get("/v1/info").json["jobs"]["open"] == 0)
    server.stop()
    path = server.state / "paddle.db"
    good = path.read_bytes()
    path.write_bytes(b"no database\n" * 1000 if damage == "no database" else good[:4096] + b"\xa5" * (len(good) - 4096))
    try:
        message = start_refused(server.state, "--listen", "none")
        assert str(path) in message
    finally:
        path.write_bytes(good)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    server.start()


def test_a_port_in_use_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        message = start_refused(tmp_path / "state", "--listen", address)
    assert address in message and "another program" in message
    assert not (tmp_path / "state/paddled.pid").exists()
    agent = Server(tmp_path / "state").agent_pid()  # it was started before; without a server it would end by itself
    if agent:
        kill(agent, signal.SIGTERM)


@pytest.mark.parametrize("place", ["below a file", "where nobody may write"])
def test_a_state_directory_that_cannot_be_is_named(tmp_path, place):
    state = tmp_path / "file/state" if place == "below a file" else pathlib.Path("/sys/kernel/paddle-state")
    (tmp_path / "file").write_text("")
    message = start_refused(state, "--listen", "none")
    assert str(state) in message and re.search("Not a directory|not permitted|Permission denied", message)
