"""Runs of pipelines beside kills with -9 of server, agent, spawner and keepers, and on a full disk: each component ends
as in the undisturbed run, and no command runs twice.

A kill at a random moment needs random waits; they are the only ones here.
"""

import collections
import http.client
import os
import random
import re
import threading
import time

from conftest import PATIENCE, wait_for
from seeds import SOAK
from test_disk import fill_up, full, make_room, small_disk, take_files
from test_kills import kill, pids, stat_of, strike

KILLS = 200 if SOAK else 20
FULL_DISKS = 30 if SOAK else 3
END = {"succeeded", "failed", "terminated"}

# Each attempt of a step appends one line, its number and its values, to a file of its job. MARK leaves the number in $a.
MARK = 'a=${PADDLE_PROGRESS_FILE%%%%/log/*}; a=${a##*/}; echo "$a" %s >> %s/$PADDLE_JOB_ID;'
PIPELINE = """
name: faults
parallelism: 5
failure_options: {strategy: continue}
disabled: unwanted
fs_options: {main_fs: {name: data}}
components:
  score:
    parameters: {of: nothing, n: 0}
    command: MARK score {{of}} {{n}}; sleep 0.1
entry_points:
  prepare:
    parameters: {n: 3}
    command: MARK prepare {{n}};
  many:
    deps: prepare
    parameters: {n: "{{prepare.n}}"}
    loop_argument: [0, 1, 2, 3, 4, 5]
    command: MARK many {{n}} {{PF_LOOP_ARGUMENT}}; sleep 0.2
  flaky:
    retries: 3
    command: MARK flaky; [ $a -ge 2 ]
  after-flaky:
    deps: flaky, prepare
    parameters: {of: flaky, n: "{{prepare.n}}"}
    reference: {component: score}
  broken:
    retries: 1
    command: MARK broken; exit 7
  never:
    deps: broken
    command: MARK never;
  unwanted:
    command: MARK unwanted;
  nothing:
    loop_argument: []
    command: MARK nothing;
  write:
    artifacts: {output: [list, word]}
    command: MARK write; echo "[4, 5, 6]" > {{list}}; printf good > {{word}}
  read:
    deps: write
    artifacts: {input: {list: "{{write.list}}"}, output: [square]}
    loop_argument: "{{list}}"
    command: MARK read {{PF_LOOP_ARGUMENT}}; echo $((PF_LOOP_ARGUMENT * PF_LOOP_ARGUMENT)) > {{square}}
  sum:
    deps: read
    artifacts: {input: {all: "{{read.square}}"}}
    command: MARK sum $(cat $(echo {{all}} | tr , " ")); sleep 0.1
  if-good:
    deps: write
    artifacts: {input: {word: "{{write.word}}"}}
    condition: "'{{word}}' =~ '^go+d$'"
    command: MARK good;
  if-bad:
    deps: write
    artifacts: {input: {word: "{{write.word}}"}}
    condition: "'{{word}}' == 'bad'"
    command: MARK bad;
  outer:
    deps: many, nothing, unwanted
    parameters: {n: "{{many.n}}"}
    loop_argument: [a, b]
    entry_points:
      inner:
        parameters: {p: "{{PF_PARENT.PF_LOOP_ARGUMENT}}", n: "{{PF_PARENT.n}}"}
        loop_argument: [1, 2]
        command: MARK inner {{p}} {{n}} {{PF_LOOP_ARGUMENT}}; sleep 0.1
      first-only:
        deps: inner
        parameters: {p: "{{inner.p}}"}
        condition: "'{{p}}' == 'a'"
        command: MARK first {{p}};
      deep:
        deps: first-only
        parameters: {p: "{{PF_PARENT.PF_LOOP_ARGUMENT}}"}
        condition: "'{{p}}' =~ '^[b-z]$'"
        entry_points:
          only:
            parameters: {p: "{{PF_PARENT.p}}"}
            command: MARK only {{p}};
          fails:
            deps: only
            parameters: {p: "{{only.p}}"}
            command: MARK fails {{p}}; exit 3
          unreached:
            deps: fails
            command: MARK unreached;
          beside:
            loop_argument: [x, y]
            command: MARK beside {{PF_LOOP_ARGUMENT}}; sleep 0.1
  last:
    deps: outer
    command: MARK last;
post_process:
  clean:
    command: MARK clean;
"""


class Step:
    """What a step has to write, and how it ends: the exit status of each attempt."""

    def __init__(self, words, status=lambda attempt: 0, retries=0):
        self.words, self.status, self.retries = words, status, retries

    def end(self, lost):
        """(state, number of attempts) if these attempts were lost with their keeper: they are repeated and cost no retry."""
        attempt, failures = 1, 0
        while attempt in lost or self.status(attempt):
            failures += attempt not in lost
            if failures > self.retries:
                return "failed", attempt
            attempt += 1
        return "succeeded", attempt


# By hand, from the definition.
STEPS = {
    "prepare": Step("prepare 3"),
    **{f"many-{i}": Step(f"many 3 {i}") for i in range(6)},
    "flaky": Step("flaky", lambda attempt: attempt < 2, retries=3),
    "after-flaky": Step("score flaky 3"),
    "broken": Step("broken", lambda attempt: 7, retries=1),
    **{f"outer-{d}.inner-{i}": Step(f"inner {p} 3 {i + 1}") for d, p in enumerate("ab") for i in range(2)},
    "write": Step("write"),
    **{f"read-{i}": Step(f"read {i + 4}") for i in range(3)},
    "sum": Step("sum 16 25 36"),
    "if-good": Step("good"),
    "outer-0.first-only": Step("first a"),
    "outer-1.deep.only": Step("only b"),
    "outer-1.deep.fails": Step("fails b", lambda attempt: 3),
    "outer-1.deep.beside-0": Step("beside x"),
    "outer-1.deep.beside-1": Step("beside y"),
    "clean": Step("clean"),
}
OTHERS = {
    "never": "cancelled",
    "unwanted": "skipped",
    "nothing": "skipped",
    "if-bad": "skipped",
    "outer-0": "succeeded",
    "outer-0.deep": "skipped",
    "outer-1": "failed",
    "outer-1.first-only": "skipped",
    "outer-1.deep": "failed",
    "outer-1.deep.unreached": "cancelled",
    "last": "cancelled",
}

# Where a retry may begin, and the steps that it runs again in any case.
FROM = {
    None: {"clean"},
    "flaky": {"clean", "flaky", "after-flaky"},
    "write": {"clean", "write", "read-0", "read-1", "read-2", "sum", "if-good"},
}


def prepare(server, tmp_path):
    """Makes the file system for the artifacts. (definition, directory of the files that the steps write)."""
    marks, data = tmp_path / "marks", tmp_path / "data"
    marks.mkdir()
    data.mkdir()
    assert server.post("/v1/filesystems", {"name": "data", "url": str(data)}).status == 201
    return re.sub("MARK ([^;]*);(.*)", lambda found: f"'{MARK % (found[1], marks)}{found[2]}'", PIPELINE), marks


# -- what must hold at the end


def pages(server, path):
    found, after = [], ""
    while after is not None:
        page = server.get(f"{path}{'&' if '?' in path else '?'}limit=1000{after}").json
        found += page["items"]
        after = page["next"] and f"&after={page['next']}"
    return found


def lines_of(marks, job):
    path = marks / job
    return path.read_text().splitlines() if path.exists() else []


def components_of(items, above=""):
    """{path: item} of all components of a tree; loops are left out, except those without items."""
    found = {}
    for item in items:
        path = above + item["name"] + (f"-{item['number']}" if item.get("number") is not None else "")
        children = item.get("children", [])
        if item["type"] == "loop" and children:
            found |= components_of(children, above)
        else:
            found |= {path: item, **components_of(children, path + ".")}
    return found


class Run:
    """A run that was acknowledged, and all that is known about it in the end."""

    def __init__(self, server, marks, id, killed=None):
        """`killed`: (job, attempt) of the keepers that the test killed; None: a lost attempt must not have run."""
        self.server, self.marks, self.id, self.killed = server, marks, id, killed

    def read(self):
        self.found = self.server.get(f"/v1/runs/{self.id}/tree").json
        self.components = components_of(self.found["items"])
        jobs = {item["job"]: item["run"] for item in self.components.values() if item.get("job")}
        self.jobs = {job for job, maker in jobs.items() if not maker}  # without those that a retry kept
        assert not self.found["partial"]

    def check_job(self, path, id):
        """Every attempt ran once, with the right values, unless it was lost. The job's state."""
        job, step, ran = self.server.job(id), STEPS[path], collections.Counter(lines_of(self.marks, id))
        events = self.server.get(f"/v1/jobs/{id}/events?limit=10000").json["items"]
        ends = [event["data"] for event in events if event["kind"] == "member.exited"]
        lost = {data["attempt"] for data in ends if data["lost"]}
        story = path, job["reason"], ends, ran
        struck = {attempt for key, attempt in self.killed or () if key == id}
        # else the disk was full, or the stop came before the agent knew the member: it never ran
        assert lost <= struck or self.killed is None or job["state"] == "cancelled", story
        assert set(ran) <= {f"{attempt} {step.words}" for attempt in range(1, job["attempt"] + 1)}, story
        for attempt in range(1, job["attempt"] + 1):
            may_not = attempt in lost or job["state"] == "cancelled"
            may = attempt not in lost or attempt in struck
            assert ran[f"{attempt} {step.words}"] in [0] * may_not + [1] * may, story
        if job["state"] != "cancelled":
            assert (job["state"], job["attempt"]) == step.end(lost), story
        return job["state"]

    def check(self):
        """It has ended as the definition says."""
        self.read()
        states = {path: item["state"] for path, item in self.components.items()}
        assert self.found["state"] == "failed", self.found
        for path in STEPS:
            item = self.components[path]
            assert item["job"], item
            assert states.pop(path) == self.check_job(path, item["job"]), path
        assert states == OTHERS

    def check_stopped(self):
        """It was stopped at some moment: each component has ended, and post_process has run."""
        self.read()
        states = {path: item["state"] for path, item in self.components.items()}
        assert self.found["state"] in END, self.found
        assert set(states.values()) <= {*END, "cancelled", "skipped"}, states
        assert states["clean"] == "succeeded"
        for path, item in self.components.items():
            if item.get("job"):
                job = self.check_job(path, item["job"])
                assert states[path] == ("terminated" if job == "cancelled" else job), path

    def check_kept(self, earlier, again):
        """A retry kept the steps that had succeeded but those `again`, and made jobs of its own for the others."""
        for path in STEPS:
            item, before = self.components.get(path, {}), earlier.components.get(path, {})
            if before.get("state") == "succeeded" and path not in again:
                assert item["run"] and item["job"] == before["job"], (path, item, before)
            else:
                assert not item.get("run"), (path, item, before)
        assert not self.jobs & earlier.jobs


def create(server, text):
    reply = server.post("/v1/runs", {"definition": text})
    assert reply.status == 201, reply.body
    return reply.json["id"]


def wait_for_end(server, runs):
    for run in runs:
        wait_for(lambda run=run: server.get(f"/v1/runs/{run}").json["state"] in END, PATIENCE, "the run's end")


def test_undisturbed(server, tmp_path):
    text, marks = prepare(server, tmp_path)
    run = Run(server, marks, create(server, text))
    wait_for_end(server, [run.id])
    run.check()
    assert run.jobs == {job["id"] for job in pages(server, "/v1/jobs")}


# -- kills


class Client(threading.Thread):
    """Keeps two runs going, stops some, and retries some that ended. It asks again until it has been answered."""

    def __init__(self, server, text, seed):
        super().__init__(daemon=True)
        self.server, self.text, self.random = server, text, random.Random(f"client {seed}")
        self.runs, self.stopped, self.retried, self.wrong = [], set(), {}, []
        self.ending = threading.Event()

    def ask(self, method, path, body=None, **headers):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                reply = self.server.request(method, path, body, headers)
                if reply.status < 500:
                    return reply
            except (OSError, http.client.HTTPException):
                pass  # it was killed
            time.sleep(0.02)  # as a client waits before it asks again
        raise AssertionError(f"{method} {path}: no answer within {PATIENCE} s")

    def open(self):
        return [run for run in self.runs if self.ask("GET", f"/v1/runs/{run}").json["state"] not in END]

    def post(self, path, body):
        reply = self.ask("POST", path, body, **{"Idempotency-Key": f"run-{len(self.runs)}"})
        assert reply.status in (200, 201), reply.body
        self.runs.append(reply.json["id"])

    def create(self, ended):
        """A new run, or a retry of one that has ended."""
        earlier = self.random.choice(ended) if ended and self.random.random() < 0.3 else None
        if earlier:
            start = self.random.choice(list(FROM))
            self.post(f"/v1/runs/{earlier}/retry", {"from": start} if start else {})
            self.retried[self.runs[-1]] = earlier, FROM[start]
        else:
            self.post("/v1/runs", {"definition": self.text})

    def stop(self, run):
        reply = self.ask("POST", f"/v1/runs/{run}/stop", {})
        assert reply.status in (200, 409), reply.body  # 409: it has ended
        self.stopped.add(run)

    def step(self):
        running = self.open()
        if len(running) < 2:
            self.create([run for run in self.runs if run not in running])
        elif self.random.random() < 0.1:
            self.stop(self.random.choice(running))
        self.ending.wait(self.random.uniform(0, 0.2))

    def run(self):
        try:
            while not self.ending.is_set():
                self.step()
            wait_for(lambda: not self.open(), PATIENCE, "the end of all runs")
        except BaseException as error:  # noqa: BLE001 - the test shows it
            self.wrong.append(error)


def keepers(server):
    """{pid: (job, attempt)}: the processes that look after members. A member has the same name until it runs its program."""
    tasks, found = f"{server.state}/agent/tasks/", {}
    for pid in pids():
        stat = stat_of(pid)
        if not stat or stat[0] != "paddle-keeper":
            continue
        try:
            links = [os.readlink(link) for link in os.scandir(f"/proc/{pid}/fd")]
        except OSError:
            continue  # it ended meanwhile
        names = [link.removeprefix(tasks) for link in links if link.startswith(tasks)]
        if names:
            found[pid] = names[0], stat[2]
    own = {pid: name for pid, (name, parent) in found.items() if found.get(parent, ("", 0))[0] != name}
    return {pid: (name.split(".")[0], int(name.split(".")[1])) for pid, name in own.items()}


TARGETS = [
    "server",
    "agent",
    "server agent",
    "spawner",
    "server agent spawner",
    "keeper",
    "server keeper",
    "agent keeper",
]


def kill_some(server, dice, killed):
    """kill -9 of one choice of processes; the attempt of a keeper goes to `killed`."""
    what = dice.choice(TARGETS)
    victims = sorted(keepers(server).items()) if "keeper" in what else []
    if victims:
        pid, task = dice.choice(victims)
        killed.add(task)
        kill(pid)
    strike(server, what)


def test_kills_change_no_run(make_server, tmp_path, seed):
    dice, killed = random.Random(seed), set()
    server = make_server("--cpus", "64")
    text, marks = prepare(server, tmp_path)
    client = Client(server, text, seed)
    client.start()
    try:
        for number in range(1, KILLS + 1):
            time.sleep(dice.choice((dice.uniform(0, 0.1), dice.uniform(0.1, 1))))
            if number % 3 == 0:  # on a busy machine the server may not have been up since the last kill
                wait_for(lambda least=6 * number: len(os.listdir(marks)) >= least or client.wrong, what="some load")
            assert server.process.poll() is None, server.log()
            kill_some(server, dice, killed)
    finally:
        client.ending.set()
        client.join(2 * PATIENCE)
    assert client.wrong == [] and not client.is_alive()
    wait_for(lambda: server.get("/v1/info").json["jobs"]["open"] == 0, what="the end of all jobs")
    runs, jobs = {}, set()
    for id in client.runs:
        run = runs[id] = Run(server, marks, id, killed)
        run.check_stopped() if id in client.stopped else run.check()
        if id in client.retried:
            earlier, again = client.retried[id]
            run.check_kept(runs[earlier], again)
        jobs |= run.jobs
    assert jobs == {job["id"] for job in pages(server, "/v1/jobs")}  # each node made one job
    assert set(client.runs) == {run["id"] for run in pages(server, "/v1/runs")}  # each key made one run
    assert set(os.listdir(marks)) <= jobs
    print(f"{len(runs)} runs, {len(client.stopped)} stopped, {len(client.retried)} retries,", end=" ")
    print(f"{len(jobs)} jobs, {len(killed)} keepers killed")


# -- a full disk


def create_until_full(server, text):
    """The log of the database has some space of its own, so a few runs may be created yet."""
    runs = []
    while (reply := server.post("/v1/runs", {"definition": text})).status == 201:
        runs.append(reply.json["id"])
    full(reply)
    return runs


def fill_for_a_while(server, text, dice, dies):
    """A run begins, and the disk becomes full at some moment of it; `dies`: the server, too. The runs that were created."""
    runs = [create(server, text)]
    time.sleep(dice.uniform(0, 1))
    take_files(server)
    time.sleep(dice.uniform(0, 1))
    fill_up(server)
    time.sleep(dice.uniform(0, 1))
    runs += create_until_full(server, text)
    assert server.get("/healthz").status == 200
    for run in runs:
        assert server.get(f"/v1/runs/{run}").json["state"] in ("running", "failed")
    if dies:
        kill(dice.choice((server.agent_pid(), None)))
        server.kill()
    make_room(server)
    if dies:
        server.start()
    return runs


def test_runs_on_a_full_disk(tmp_path, seed):
    """Runs stand still while the disk is full, and go on when there is space. A start that failed costs no retry."""
    dice = random.Random(seed)
    with small_disk(10 if SOAK else 1) as server:  # the jobs of 30 rounds alone have more than 5,000 files
        text, marks = prepare(server, tmp_path)
        runs = sum((fill_for_a_while(server, text, dice, number % 2) for number in range(FULL_DISKS)), [])
        wait_for_end(server, runs)
        jobs = set()
        for id in runs:
            run = Run(server, marks, id)
            run.check()
            jobs |= run.jobs
        assert jobs == {job["id"] for job in pages(server, "/v1/jobs")}
    print(f"{len(runs)} runs, {len(jobs)} jobs")
