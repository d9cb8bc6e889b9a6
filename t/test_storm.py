"""kill -9 of the server during a storm of submits, cancels, holds, preemptions and changes of quotas (doc/guide/scheduling.md).

What was acknowledged is there afterwards; no quota was exceeded at any instant, judged by what the members themselves wrote
down; nothing ran twice; the scheduler's figures are the sums of what runs; its journal plays again. As in test_kills.py, the
random waits are the only ones.
"""

import bisect
import collections
import contextlib
import http.client
import json
import os
import random
import signal
import threading
import time

import pytest
from conftest import FINAL, PATIENCE, processes_of, wait_for
from seeds import SOAK
from test_kills import children_of, group_dirs, group_of, spawner_pid

KILLS = 300 if SOAK else 20
CPUS, GPUS = 6, 4
OPEN_MAX = 70  # jobs that wait: enough to have the scheduler choose, few enough to come to an end
OPEN = ("queued", "suspended", "starting", "running", "preempting", "stopping")

# Every member writes down its beginning and its end: what, key, attempt, member, devices, time. It is there at least for the
# time between. TERM and the warning end it well. The time is in hundredths and by the shell alone: a program that told it
# would get the signals, too.
SCRIPT = (
    "a=${PWD%%/work}; a=${a##*/}; "
    'n() { read t x < /proc/uptime; echo "$1 %(key)s $a ${PADDLE_TRAINER_ID:-0} ${CUDA_VISIBLE_DEVICES:--} $t" >> %(marks)s; }; '
    "trap 'n E; exit 0' TERM USR1; n S; sleep %(long)s & wait $!; n E; exit %(status)d"
)

QUEUES = {
    # what changes while it storms: max, min
    "org": {"max": {"cpu": "5"}, "min": {"cpu": "3"}},
    "a": {"parent": "org", "max": {"cpu": "4"}, "min": {"cpu": "1500m"}, "preemption": "lower-priority"},
    "b": {"parent": "org", "max": {"cpu": "5"}, "min": {"cpu": "1500m"}},
    "c": {"max": {"cpu": "3", "nvidia.com/gpu": 3}, "min": {"cpu": "1"}, "preemption": "lower-priority"},
    "d": {"max_running_per_user": 2, "ordering": "fair"},
}
CHANGES = {
    "org": [{"max": {"cpu": c}} for c in ("5", "5500m", "6")],
    "a": [{"max": {"cpu": c}, "min": {"cpu": m}} for c, m in (("1500m", "500m"), ("3", "1500m"), ("4", "1"))],
    "b": [{"max": {"cpu": c}, "min": {"cpu": m}} for c, m in (("2", "1"), ("3500m", "500m"), ("5", "1500m"))],
    "c": [{"max": {"cpu": c, "nvidia.com/gpu": g}} for c, g in (("1", 1), ("2", 2), ("3", 3))]
    + [{"preemption": p} for p in ("never", "lower-priority")],
}
PARENT = {"a": "org", "b": "org"}

KINDS = {
    # weight, and what a job of the kind is
    "quick": (5, {"long": 0.05}),
    "slow": (5, {"long": 0.7}),
    "large": (2, {"long": 0.3, "cpu": 2000}),
    "gang": (2, {"long": 0.4, "replicas": 3, "cpu": 500}),
    "elastic": (8, {"long": 1.2, "replicas": 4, "least": 1, "cpu": 500}),
    "device": (3, {"long": 0.4, "gpus": 1, "cpu": 250}),
    "warned": (2, {"long": 0.8, "cpu": 1000, "spec": {"signal": "USR1@1s"}}),
    "failing": (1, {"long": 0.05, "status": 3}),
    "limited": (2, {"long": 0.5, "cpu": 1000, "spec": {"time_limit": "60s"}}),
}


def milli(text):
    text = str(text)
    return int(text[:-1]) if text.endswith("m") else round(float(text) * 1000)


class Kind:
    def __init__(self, name):
        self.about = {"cpu": 500, "gpus": 0, "replicas": 1, "status": 0, "spec": {}, **KINDS[name][1]}
        self.least = self.about.get("least", self.about["replicas"])
        self.elastic = self.least < self.about["replicas"]
        self.ends = "failed" if self.about["status"] else "succeeded"

    def spec(self, key, marks, queue, priority):
        about = self.about
        script = SCRIPT % {"key": key, "marks": marks, "long": about["long"], "status": about["status"]}
        role = {"name": "worker", "replicas": about["replicas"], "cpu": f"{about['cpu']}m", "gpus": about["gpus"]}
        role["min"] = self.least
        spec = {"name": key, "queue": queue, "priority": priority, "command": ["sh", "-c", script], "roles": [role]}
        return {**spec, "grace": "5s", "labels": {"key": key}, **about["spec"]}


class Unsettled(Exception):
    pass


class Client(threading.Thread):
    """Asks again until it has a definite answer. While its lock is taken by others it does nothing."""

    def __init__(self, server, seed, name):
        super().__init__(daemon=True)
        self.server, self.random = server, random.Random(f"{seed}-{name}")
        self.name, self.wrong, self.ending, self.lock = name, [], threading.Event(), threading.Lock()

    def ask(self, method, path, body=None, headers=None):
        """The answer, and how often it was asked for: more than once means that an earlier one may have been carried out,
        too."""
        end = time.monotonic() + PATIENCE
        for tries in range(1, 100000):
            with contextlib.suppress(OSError, http.client.HTTPException):
                reply = self.server.request(method, path, body, headers)
                if reply.status < 500:
                    return reply, tries
                if reply.status != 503:
                    self.wrong.append(f"{method} {path}: {reply.status} {reply.body}")
                    raise Unsettled
            if time.monotonic() > end:
                break
            time.sleep(0.02)  # as a client waits before it asks again
        self.wrong.append(f"{method} {path}: no answer within {PATIENCE} s")
        raise Unsettled

    def run(self):
        with contextlib.suppress(Unsettled):
            while not self.ending.is_set() and not self.wrong:
                with self.lock:
                    self.step()
                self.ending.wait(self.random.uniform(0, self.pause))

    def settle(self, what, reply, *statuses):
        if reply.status not in statuses:
            self.wrong.append(f"{what}: {reply.status} {reply.body}")
        return reply.status


class Job:
    """What a client knows of a job that was acknowledged."""

    def __init__(self, key, id, kind, queue, priority):
        self.key, self.id, self.kind, self.queue = key, id, kind, queue
        self.priorities, self.ends, self.held = {priority}, {kind.ends}, False


class Submitter(Client):
    pause = 0.25

    def __init__(self, server, seed, name, marks):
        super().__init__(server, seed, name)
        self.marks, self.jobs, self.made = marks, [], 0

    def draw(self):
        name = self.random.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
        queue = "c" if name == "device" else self.random.choice(("a", "a", "b", "b", "c", "d", "default"))
        priority = self.random.choice((-100, 0, 0, 100))
        if queue == "c" and name in ("large", "gang"):
            name = "slow"  # so that all that is asked for fits the least there ever is
        if name == "large" and queue == "a":
            queue = "b"
        self.made += 1
        return f"{name}-{self.name}-{self.made}", Kind(name), queue, priority

    def step(self):
        if self.ask("GET", "/v1/info")[0].json["jobs"]["open"] > OPEN_MAX:
            return
        drawn = [self.draw() for _ in range(self.random.choice((1, 1, 1, 1, 8)))]
        specs = [kind.spec(key, self.marks, queue, priority) for key, kind, queue, priority in drawn]
        path, body = ("/v1/jobs", specs[0]) if len(specs) == 1 else ("/v1/jobs/batch", {"jobs": specs})
        reply, _ = self.ask("POST", path, body, {"Idempotency-Key": drawn[0][0]})
        if self.settle(drawn[0][0], reply, 200, 201) < 300:
            ids = [reply.json["id"]] if len(specs) == 1 else [job["id"] for job in reply.json["jobs"]]
            self.jobs += [Job(key, id, kind, queue, priority) for id, (key, kind, queue, priority) in zip(ids, drawn)]


class Meddler(Client):
    """Cancels, holds, releases, requeues, and changes priorities."""

    pause = 0.2

    def __init__(self, server, seed, name, submitters):
        super().__init__(server, seed, name)
        self.submitters, self.requeues = submitters, collections.Counter()

    def step(self):
        jobs = self.random.choice(self.submitters).jobs[-15:]
        if jobs:
            job = self.random.choice(jobs)
            self.random.choice((self.cancel, self.hold, self.release, self.requeue, self.prefer, self.prefer))(job)

    def cancel(self, job):
        reply, tries = self.ask("DELETE", f"/v1/jobs/{job.id}")
        if self.settle(f"cancel {job.key}", reply, 200, 409) == 200:
            job.ends = {"cancelled"}
        elif tries > 1:
            job.ends.add("cancelled")  # by what was asked for first, maybe

    def hold(self, job):
        reply, tries = self.ask("POST", f"/v1/jobs/{job.id}/hold")
        if self.settle(f"hold {job.key}", reply, 200, 409) == 200:
            job.held = True

    def release(self, job):
        reply, _ = self.ask("POST", f"/v1/jobs/{job.id}/release")
        if self.settle(f"release {job.key}", reply, 200, 409) == 200:
            job.held = False

    def requeue(self, job):
        reply, _ = self.ask("POST", f"/v1/jobs/{job.id}/requeue")
        self.settle(f"requeue {job.key}", reply, 200, 409)

    def prefer(self, job):
        priority = self.random.randrange(-150, 150)
        reply, tries = self.ask("PATCH", f"/v1/jobs/{job.id}", {"priority": priority})
        if self.settle(f"prefer {job.key}", reply, 200, 409) == 200:
            job.priorities = {priority}
        elif tries > 1:
            job.priorities.add(priority)  # it may have been changed, and then have started


class Housekeeper(Client):
    """The only one who changes queues; what held from which version on is therefore known. It also makes and drops
    flavours and users, and looks for each where it should be."""

    pause = 0.25

    def __init__(self, server, seed, name):
        super().__init__(server, seed, name)
        self.history = {}  # queue -> [(version, certain, queue object)]
        self.objects = {"flavours": {}, "users": {}}
        self.made = 0

    def make_queues(self):
        for name, about in QUEUES.items():
            reply = self.server.post("/v1/queues", {"name": name, **about})
            assert reply.status == 201, reply.body
            self.history[name] = [(reply.json["version"], True, reply.json)]

    def step(self):
        self.random.choice((self.change_queue, self.change_queue, self.change_object))()

    def change_queue(self, name=None, about=None):
        name = name or self.random.choice(list(CHANGES))
        reply, tries = self.ask("PATCH", f"/v1/queues/{name}", about or self.random.choice(CHANGES[name]))
        if self.settle(f"change {name}", reply, 200) == 200:
            self.history[name].append((reply.json["version"], tries == 1, reply.json))

    def change_object(self):
        kind = self.random.choice(list(self.objects))
        known = self.objects[kind]
        if len(known) < 3 or self.random.random() < 0.5:
            self.made += 1
            name = f"{kind[:-1]}-{self.made}"
            body = {"name": name, **({"cpu": "1", "memory": f"{self.made}Gi"} if kind == "flavours" else {})}
            reply, tries = self.ask("POST", f"/v1/{kind}", body)
            self.settle(f"make {name}", reply, 201, *((409,) if tries > 1 else ()))
            known[name] = body
        else:
            name = self.random.choice(list(known))
            reply, tries = self.ask("DELETE", f"/v1/{kind}/{name}")
            self.settle(f"drop {name}", reply, 204, *((404,) if tries > 1 else ()))
            del known[name]
        self.look()

    def look(self):
        """What was acknowledged is there, and what was dropped is not."""
        for kind, known in self.objects.items():
            listed = {item["name"]: item for item in self.ask("GET", f"/v1/{kind}?limit=1000")[0].json["items"]}
            mine = {name for name in listed if name.startswith(kind[:-1] + "-")}
            if mine != set(known):
                self.wrong.append(f"{kind}: {sorted(mine)}, not {sorted(known)}")
            for name, body in known.items():
                if name in listed and not body.items() <= listed[name].items():
                    self.wrong.append(f"{kind}: {listed[name]}, not {body}")
        for name, history in self.history.items():
            queue = self.ask("GET", f"/v1/queues/{name}")[0].json
            for field in ("max", "min", "preemption", "version"):
                if queue[field] != history[-1][2][field]:
                    self.wrong.append(f"queue {name}: {field} {queue[field]}, not {history[-1][2][field]}")


# -- figures and sums


def pages(server, path):
    items, after = [], None
    while True:
        page = server.get(path + (f"&after={after}" if after else "")).json
        items += page["items"]
        after = page["next"]
        if not after:
            return items


def open_jobs(server):
    return pages(server, "/v1/jobs?all=true&limit=1000&state=" + ",".join(OPEN))


def sums(server):
    """What the jobs themselves say, or None when they moved while they were asked."""
    listed = open_jobs(server)
    jobs = [server.job(job["id"]) for job in listed]
    scheduler, (node,) = server.get("/v1/scheduler").json, server.get("/v1/nodes").json["items"]
    if any(
        [(j["id"], j["revision"]) for j in again] != [(j["id"], j["revision"]) for j in listed]
        for again in (jobs, open_jobs(server))
    ):
        return None
    used, running, waiting, devices = collections.Counter(), collections.Counter(), collections.Counter(), []
    for job in jobs:
        places = [member for member in job["members"] if member["state"] != "surplus"]
        stands = job["state"] not in ("queued", "suspended")
        for queue in filter(None, (job["queue"], PARENT.get(job["queue"]))):
            used[queue] += milli(job["spec"]["roles"][0]["cpu"]) * len(places) if stands else 0
            running[queue] += stands
            waiting[queue] += not stands
        devices += [int(d) for m in places if stands and m["gpus"] for d in m["gpus"].split(",")]
    told = {q["name"]: q for q in scheduler["queues"]}
    names = [*QUEUES, "default"]
    leaves = [name for name in names if name != "org"]
    mine = [[used[n] for n in names], [running[n] for n in leaves], [waiting[n] for n in leaves], sorted(devices)]
    theirs = [
        [milli(told[n]["used"].get("cpu", 0)) for n in names],
        [told[n]["running"] for n in leaves],
        [told[n]["pending"] for n in leaves],
        node["gpus"]["used"],
    ]
    total = sum(used[n] for n in leaves)
    mine.append([total, CPUS * 1000 - total])
    theirs.append([milli(node["used"].get("cpu", 0)), milli(scheduler["free"].get("cpu", 0))])
    return mine, theirs


def check_sums(server):
    """The scheduler's figures are those of the jobs. They are published with what they follow from, so that once is
    enough, as soon as nothing moved while it was read."""
    mine, theirs = wait_for(lambda: sums(server), 60, "a moment in which nothing moves")
    assert theirs == mine


def check_journal(server):
    done = server.paddle("sched", "replay", "-o", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["identical"] is True, done.stdout + done.stderr


# -- the timeline


class Stay:
    """A member's stay in its place, at least: between two lines that it wrote."""

    def __init__(self, key, attempt, index, devices, begin):
        self.key, self.attempt, self.index, self.begin, self.end = key, attempt, index, begin, begin
        self.devices = [] if devices == "-" else [int(device) for device in devices.split(",")]


def stays(marks):
    """All of them, in order of their beginnings; who was killed has one that is a moment long."""
    found, standing, twice = [], {}, []
    lines = [line.split() for line in marks.read_text().splitlines()]
    for what, key, attempt, index, devices, at in sorted(lines, key=lambda line: float(line[5])):
        member = (key, int(attempt), int(index))
        if what == "S":
            if member in standing:
                twice.append(member)
            standing[member] = Stay(*member, devices, float(at))
            found.append(standing[member])
        elif member in standing:
            standing.pop(member).end = float(at)
    return found, twice


class Story:
    """A job's events: when each attempt got its place, and in which queue it was then."""

    def __init__(self, server, job):
        self.events = server.get(f"/v1/jobs/{job.id}/events?limit=10000").json["items"]
        self.placed, attempt = collections.defaultdict(list), 0  # attempt -> revisions
        for event in self.events:
            if event["kind"] == "job.starting":
                attempt = event["data"]["attempt"]
            if event["kind"] in ("job.starting", "job.grown"):
                self.placed[attempt].append(event["revision"])

    def count(self, *kinds):
        return sum(event["kind"] in kinds for event in self.events)

    def text(self):
        return "\n".join(f"{e['revision']} {e['time']} {e['kind']} {e['data']}" for e in self.events)


def limit_at(history, revision, kind):
    """The max of a queue that held at a revision; both that may have held, when a change was asked for twice."""
    at = bisect.bisect_right([version for version, _, _ in history], revision) - 1
    held = [history[at]] + ([history[at + 1]] if at + 1 < len(history) and not history[at + 1][1] else [])
    limits = [queue["max"].get(kind) for _, _, queue in held]
    return None if None in limits else max(milli(limit) for limit in limits)


def check_timeline(found, jobs, stories, history):
    """At every beginning: those that are there in a queue, the last of whom was placed at some revision, fit what the queue
    might use then. (What ran already when a quota shrank may stay; nothing is placed above it.)"""
    standing, most = [], 0
    for now in found:
        standing = [stay for stay in standing if stay.end > now.begin] + [now]
        devices = [device for stay in standing for device in stay.devices]
        assert len(devices) == len(set(devices)), f"a GPU was given twice: {[vars(s) for s in standing]}"
        total = sum(jobs[stay.key].kind.about["cpu"] for stay in standing)
        most = max(most, total)
        assert total <= CPUS * 1000, [vars(stay) for stay in standing]
        for queue in filter(None, (jobs[now.key].queue, PARENT.get(jobs[now.key].queue))):
            if queue in history:
                check_instant(queue, standing, jobs, stories, history[queue])
    assert most >= CPUS * 700, "the room was never nearly full"


def placements(asking, jobs, stories, history):
    """Revisions at which the last of them was let in. An elastic member that came later was placed by one of its job's
    growths: the last of them may be later than it."""
    revision = max(max(stories[stay.key].placed[stay.attempt]) for stay in asking)
    if not any(jobs[stay.key].kind.elastic for stay in asking):
        return [revision]
    first = max(stories[stay.key].placed[stay.attempt][0] for stay in asking)
    return [first, revision, *(version for version, _, _ in history if first <= version <= revision)]


def check_kind(queue, kind, want, asking, jobs, stories, history):
    revisions = placements(asking, jobs, stories, history)
    limits = [limit_at(history, at, kind) for at in revisions]
    if None in limits:
        return
    used = sum(jobs[stay.key].kind.about[want] * (1000 if kind != "cpu" else 1) for stay in asking)
    near = [(version, certain, about["max"]) for version, certain, about in history if version > revisions[0] - 500]
    about = f"{queue}: {used} of {limits} {kind} at revisions {revisions}, {near}\n" + "\n".join(
        f"{vars(stay)}\n{stories[stay.key].text()}" for stay in asking
    )
    assert used <= max(limits), about


def check_instant(queue, standing, jobs, stories, history):
    here = [stay for stay in standing if queue in (jobs[stay.key].queue, PARENT.get(jobs[stay.key].queue))]
    for kind, want in (("cpu", "cpu"), ("nvidia.com/gpu", "gpus")):
        # a max that shrinks below what is used stops nobody, and who asks for none of a kind may start all the same
        asking = [stay for stay in here if jobs[stay.key].kind.about[want]]
        if asking:
            check_kind(queue, kind, want, asking, jobs, stories, history)
    per_user = QUEUES[queue].get("max_running_per_user")
    assert not per_user or len({stay.key for stay in here}) <= per_user, [vars(stay) for stay in here]


# -- each job


def check_job(server, job, story, own):
    now, kind = server.job(job.id), job.kind
    about = f"{job.key}: {now['state']} {now['reason']}\n{story.text()}"
    assert (now["name"], now["queue"], now["labels"]) == (job.key, job.queue, {"key": job.key}), about
    assert now["priority"] in job.priorities, (now["priority"], job.priorities, about)
    assert now["state"] in job.ends, about
    assert story.count(*(f"job.{state}" for state in FINAL)) == 1, about
    failed = now["state"] == "failed"
    assert now["failures"] == (1 if failed else 0), about  # going for others uses no retry up: there is none
    begun = story.count("job.starting")
    assert now["attempt"] == begun, about
    last = {stay.index for stay in own if stay.attempt == begun}
    if now["state"] == "succeeded":
        least = kind.least if kind.elastic else kind.about["replicas"]
        assert len(last) >= least, about  # a gang is there as a whole
    if not kind.elastic:
        per_member = collections.Counter((stay.attempt, stay.index) for stay in own)
        assert not per_member or max(per_member.values()) == 1, (about, per_member)


def strike(server, clients, dice, number):
    """One kill. At every fifth nobody asks for anything meanwhile: then sums can be compared."""
    quiet = number % 5 == 0
    with contextlib.ExitStack() as stack:
        if quiet:
            for client in clients:
                stack.enter_context(client.lock)
        assert server.process.poll() is None, server.log()
        server.kill()
        server.start(wait=False)
        wait_for(server.is_ready, 60, "the server's return")
        check_journal(server)
        if quiet:
            check_sums(server)


def storm(server, clients, dice):
    for client in clients:
        client.start()
    try:
        for number in range(1, KILLS + 1):
            time.sleep(dice.choice((dice.uniform(0, 0.2), dice.uniform(0.2, 2))))
            strike(server, clients, dice, number)
            if any(client.wrong for client in clients):
                break
    finally:
        for client in clients:
            client.ending.set()
        if server.process is None:
            server.start(wait=False)
        for client in clients:
            client.join(PATIENCE + 10)
    assert [wrong for client in clients for wrong in client.wrong] == []


def calm(server, jobs, housekeeper):
    """What is held is where its holder left it; then all may run to their ends."""
    wait_for(server.is_ready)
    for job in jobs.values():
        if job.held and job.ends == {job.kind.ends}:
            state = server.wait(job.id, {"suspended", *FINAL})["state"]
            assert state == "suspended", (job.key, state)
            assert server.post(f"/v1/jobs/{job.id}/release").status == 200
    for name, widest in (("org", "6"), ("a", "5"), ("b", "5"), ("c", "3")):
        housekeeper.change_queue(name, {"max": {"cpu": widest, **({"nvidia.com/gpu": 3} if name == "c" else {})}})
    wait_for(lambda: server.get("/v1/info").json["jobs"]["open"] == 0, 180, "the end of all jobs")
    check_sums(server)


def check_left_behind(server, group):
    """Neither while server and agent stand nor after they went."""
    ours = {pid for pid in (server.process.pid, server.agent_pid(), spawner_pid(server)) if pid}
    wait_for(lambda: [s for s in children_of(ours).values() if s[1] == "Z"] == [], 10, "the reaping of children")
    wait_for(lambda: set(processes_of(server.state)) <= ours, 10, "the end of all but server, agent and spawner")
    check_journal(server)
    server.stop()
    agent = server.agent_pid()
    if agent:
        os.kill(agent, signal.SIGTERM)
    wait_for(lambda: not processes_of(server.state), 20, "the end of all processes")
    wait_for(lambda: not group or not group_dirs(group), 10, "the end of all control groups")


@pytest.mark.timeout(7200 if SOAK else 1200)
def test_a_storm_with_kills_loses_nothing_and_exceeds_nothing(make_server, tmp_path, seed):
    dice, marks = random.Random(seed), tmp_path / "marks"
    marks.touch()
    server = make_server("--cpus", CPUS, "--gpus", GPUS, "--cooldown", "300ms")
    group = group_of(server)
    before = {job["id"] for job in pages(server, "/v1/jobs?all=true&limit=1000")}
    housekeeper = Housekeeper(server, seed, "housekeeper")
    housekeeper.make_queues()
    submitters = [Submitter(server, seed, f"s{n}", marks) for n in range(3)]
    storm(server, [*submitters, housekeeper, Meddler(server, seed, "meddler", submitters)], dice)
    jobs = {job.key: job for submitter in submitters for job in submitter.jobs}
    assert len(jobs) >= 3 * KILLS, "there was hardly any load"
    calm(server, jobs, housekeeper)

    listed = {job["id"] for job in pages(server, "/v1/jobs?all=true&limit=1000")} - before
    assert listed == {job.id for job in jobs.values()}  # each key made one job, none is lost
    stories = {key: Story(server, job) for key, job in jobs.items()}
    found, twice = stays(marks)
    own = collections.defaultdict(list)
    for stay in found:
        own[stay.key].append(stay)
    for key, job in jobs.items():
        check_job(server, job, stories[key], own[key])
    killed = [stay for stay in found if stay.end == stay.begin]
    assert [member for member in twice if not jobs[member[0]].kind.elastic] == []
    check_timeline(found, jobs, stories, housekeeper.history)
    seen = {
        what: sum(story.count("job." + what) for story in stories.values())
        for what in ("preempting", "requeued", "shrunk", "grown", "suspended", "cancelled")
    }
    queues = {job.id: job.queue for job in jobs.values()}
    seen["preempted inside"], seen["reclaimed"] = (
        sum(
            (job.queue == queues[event["data"]["for"]]) is inside
            for key, job in jobs.items()
            for event in stories[key].events
            if event["kind"] in ("job.preempting", "job.shrunk")
        )
        for inside in (True, False)
    )
    seen["resized"] = seen.pop("shrunk") + seen.pop("grown")
    assert all(seen.values()), f"it did not storm: {seen}"
    check_left_behind(server, group)
    print(f"{len(jobs)} jobs, {len(found)} stays of members, {len(killed)} of them killed, {KILLS} kills, {seen}")
