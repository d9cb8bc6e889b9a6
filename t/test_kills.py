"""Kills with -9 of server, agent and spawner at random moments under load: nothing acknowledged is lost, nothing runs twice.

A kill at a random moment needs random waits; they are the only ones here.
"""

import collections
import http.client
import os
import pathlib
import random
import re
import signal
import threading
import time

from conftest import FINAL, PATIENCE, processes_of, wait_for
from seeds import SOAK

KILLS = 300 if SOAK else 30

# Every member begins by saying that it runs, and which attempt: one line, written at once, to a file outside.
MARK = 'a=${PWD%%/work}; a=${a##*/}; echo "%(key)s $a $M" >> %(marks)s; '
LINES = 40


class Kind:
    """A kind of job: what it runs, and what must come of it."""

    def __init__(self, script, state="succeeded", attempts=1, replicas=1, weight=1, **spec):
        self.script, self.state, self.attempts, self.replicas = script, state, attempts, replicas
        self.weight, self.spec = weight, spec
        self.role = "trainer" if replicas > 1 else "worker"

    def body(self, key, marks):
        # M, the member, is what tells the members of an attempt apart
        member = "M=$PADDLE_TRAINER_ID; " if self.replicas > 1 else "M=0; "
        script = member + MARK % {"key": key, "marks": marks} + self.script
        roles = [{"name": self.role, "replicas": self.replicas, "cpu": "100m"}]
        return {"command": ["sh", "-c", script], "name": key, "roles": roles, "grace": "2s", **self.spec}

    def expected_marks(self, key):
        return {f"{key} {a} {m}" for a in range(1, self.attempts + 1) for m in range(self.replicas)}


COUNT = f"i=0; while [ $i -lt {LINES} ]; do i=$((i + 1)); echo line $i; %sdone; "
KINDS = {
    "quick": Kind(COUNT % "", weight=5),
    "silent": Kind("exec true", weight=3),
    "slow": Kind(COUNT % "sleep 0.02; ", weight=3),
    "slower": Kind(COUNT % "" + "exec sleep 1"),
    "failing": Kind(COUNT % "" + "exit 7", state="failed"),
    "killed": Kind(COUNT % "" + "kill -SEGV $$", state="failed"),
    "missing": Kind("exec no-such-program", state="failed"),
    "gang": Kind(COUNT % "sleep 0.005; ", replicas=4, framework="paddle-collective", weight=2),
    "retried": Kind(COUNT % "" + "exit 1", state="failed", attempts=3, retries=2, backoff="50ms"),
    "second": Kind(COUNT % "" + "[ $a = 2 ]", attempts=2, retries=4, backoff="10ms", weight=2),
}


class Client(threading.Thread):
    """Submits one job after the other and asks again, with the same key, until the server has acknowledged it."""

    def __init__(self, server, number, seed, marks, kinds=KINDS, pause=0.06):
        """`pause`: at most so many seconds between two jobs, so that the two cores get some work done, too."""
        super().__init__(daemon=True)
        self.server, self.number, self.marks, self.kinds, self.pause = server, number, marks, kinds, pause
        self.random = random.Random(f"{seed}-{number}")
        self.jobs, self.wrong, self.ending = {}, [], threading.Event()  # key -> (kind, id)

    def submit(self, key, body):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                reply = self.server.post("/v1/jobs", body, headers={"Idempotency-Key": key})
            except (OSError, http.client.HTTPException):
                reply = None
            if reply is not None and reply.status in (200, 201):
                return reply.json["id"]
            if reply is not None and reply.status < 500:
                self.wrong.append(f"{key}: {reply.status} {reply.body}")
                return None
            time.sleep(0.02)  # as a client waits before it asks again
        self.wrong.append(f"{key}: not acknowledged within {PATIENCE} s")
        return None

    def run(self):
        names = list(self.kinds)
        while not self.ending.is_set() and not self.wrong:
            name = self.random.choices(names, [self.kinds[n].weight for n in names])[0]
            key = f"{name}-{self.number}-{len(self.jobs)}"
            job = self.submit(key, self.kinds[name].body(key, self.marks))
            if job:
                self.jobs[key] = (self.kinds[name], job)
            self.ending.wait(self.random.uniform(0, self.pause))


# -- the processes of a state directory


FORKED = 0x40  # PF_FORKNOEXEC: it runs the program of the one that forked it


def stat_of(pid):
    """(name, state, parent, flags) or None."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
    return name, rest[0], int(rest[1]), int(rest[6])


def pids():
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def children_of(parents):
    return {pid: stat for pid in pids() if (stat := stat_of(pid)) and stat[2] in parents}


def spawner_pid(server):
    """The agent's child of that name. A keeper that was just forked has the name for a moment, too, and when its spawner
    dies at that moment it is the agent's child; but it was forked, not executed."""
    agent = server.agent_pid()
    found = children_of({agent}).items() if agent else ()
    return next((pid for pid, stat in found if stat[0] == "paddle-spawner" and not stat[3] & FORKED), None)


def group_of(server):
    """The name of this server's control groups, from a member that runs in one; None where there are none."""
    job = server.wait(server.submit(["sleep", "600"], grace="1s")["id"], "running")
    (member,) = server.get(f"/v1/jobs/{job['id']}/members").json["items"]
    text = pathlib.Path(f"/proc/{member['pid']}/cgroup").read_text()
    server.request("DELETE", f"/v1/jobs/{job['id']}")
    server.wait(job["id"], "cancelled")
    found = re.search(r"/paddle/([^/\n]+)/", text)
    return found.group(1) if found else None


def group_dirs(name):
    """os.walk passes over what other servers remove meanwhile."""
    return [base for base, _, _ in os.walk("/sys/fs/cgroup") if base.endswith(f"/paddle/{name}")]


def kill(pid):
    try:
        if pid:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was gone already


def strike(server, what):
    """kill -9 of all that `what` names, as nearly at once as one process can."""
    victims = []
    if "spawner" in what:
        victims.append(spawner_pid(server))
    if "agent" in what:
        victims.append(server.agent_pid())
    if "server" in what:
        server.process.kill()
    for pid in victims:
        kill(pid)
    if "server" in what:
        server.kill()
        server.start(wait=False)


def acknowledged(clients):
    """{key: (kind, id)} of all jobs so far."""
    return {key: job for client in clients for key, job in list(client.jobs.items())}


# -- what must hold at the end


def check_job(server, key, kind, id):
    job = server.job(id)
    assert job["name"] == key
    events = server.get(f"/v1/jobs/{id}/events?limit=10000").json["items"]
    story = "\n".join(f"{event['time']} {event['kind']} {event['data']}" for event in events)
    assert job["state"] == kind.state, f"{key}: {job['reason']}\n{story}"
    assert job["attempt"] == kind.attempts, f"{key}: {job['reason']}\n{story}"
    kinds = [event["kind"] for event in events]
    assert sum(k in {f"job.{state}" for state in FINAL} for k in kinds) == 1, (key, kinds)
    assert kinds.count("member.exited") == kind.attempts * kind.replicas, (key, kinds)
    assert kinds.count("job.retrying") == kind.attempts - 1, (key, kinds)
    if "line $i" not in kind.script:
        return
    whole = "".join(f"line {i}\n" for i in range(1, LINES + 1))
    for attempt in range(1, kind.attempts + 1):
        for member in range(kind.replicas):
            log = server.member_log(id, f"{kind.role}-{member}", f"?attempt={attempt}")
            assert log == whole, (key, attempt, member)


def test_kills_lose_nothing_and_repeat_nothing(make_server, tmp_path, seed):
    dice, marks = random.Random(seed), tmp_path / "marks"
    marks.touch()
    server = make_server("--cpus", "4")
    group = group_of(server)
    assert not group or group_dirs(group)
    before = {job["id"] for job in server.get("/v1/jobs").json["items"]}
    clients = [Client(server, n, seed, marks) for n in range(3)]
    for client in clients:
        client.start()
    targets = ["server", "agent", "server agent", "spawner", "server spawner", "agent spawner", "server agent spawner"]
    try:
        for number in range(1, KILLS + 1):
            time.sleep(dice.choice((dice.uniform(0, 0.1), dice.uniform(0.1, 1))))
            if number % 3 == 0:  # on a busy machine the server may not have been up since the last kill
                wait_for(lambda least=number: len(acknowledged(clients)) >= least, what="some load")
            assert server.process.poll() is None, server.log()
            strike(server, dice.choice(targets))
    finally:
        for client in clients:
            client.ending.set()
        if server.process is None:
            server.start(wait=False)
        for client in clients:
            client.join(PATIENCE + 10)
    assert [wrong for client in clients for wrong in client.wrong] == []
    jobs = acknowledged(clients)
    wait_for(server.is_ready)
    wait_for(lambda: server.get("/v1/info").json["jobs"]["open"] == 0, 90, "the end of all jobs")

    listed, after = [], None
    while True:
        page = server.get("/v1/jobs?limit=1000" + (f"&after={after}" if after else "")).json
        listed += [job["id"] for job in page["items"]]
        after = page["next"]
        if not after:
            break
    assert sorted(set(listed) - before) == sorted(id for _, id in jobs.values())  # each key made one job
    ran = collections.Counter(marks.read_text().splitlines())
    assert {line: n for line, n in ran.items() if n > 1} == {}
    for key, (kind, id) in jobs.items():
        check_job(server, key, kind, id)
    assert set(ran) == set().union(*(kind.expected_marks(key) for key, (kind, _) in jobs.items()))

    # nothing is left behind, neither while they stand nor after they went
    ours = {pid for pid in (server.process.pid, server.agent_pid(), spawner_pid(server)) if pid}
    wait_for(
        lambda: [s for s in children_of(ours).values() if s[1] == "Z"] == [], 10, "the reaping of children that ended"
    )
    wait_for(lambda: set(processes_of(server.state)) <= ours, 10, "the end of all but server, agent and spawner")
    server.stop()
    agent = server.agent_pid()
    if agent:
        os.kill(agent, signal.SIGTERM)
    wait_for(lambda: not processes_of(server.state), 20, "the end of all processes")
    wait_for(lambda: not group or not group_dirs(group), 10, "the end of all control groups")
    print(f"{len(jobs)} jobs, {sum(ran.values())} members, {KILLS} kills")
