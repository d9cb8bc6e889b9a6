"""10,000 pods of our jobs on 1,000 fake nodes (tier b of t/kube): how far paddled is behind the API server, what it needs, and how long
it takes beside a bare client (bench/kube.c) that makes the same pods. BENCH_PODS and BENCH_NODES make it smaller, BENCH_FORM chooses what
roles become."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from paddlejobs import BUILD, WRITES, audit, bare, cpu_s, make, private_mb, requests

PODS = int(os.environ.get("BENCH_PODS", "10000"))
NODES = int(os.environ.get("BENCH_NODES", "1000"))
FORM = os.environ.get("BENCH_FORM", "pods")
SIZES = (1, 4, 10, 20, 65)  # members of a job, in turn
NUMBER = {"pods": "paddle-index", "sets": "batch.kubernetes.io/job-completion-index"}[
    FORM
]  # the label that has a member's
PATIENCE_S = int(os.environ.get("BENCH_PATIENCE", "420"))
QUIET_S = int(os.environ.get("BENCH_QUIET", "60"))  # of the steady state
ONE_BY_ONE = 40  # members that end alone
SPACE = "crowd"
READS = ("get", "list", "watch")
# The cluster's own programs would wait for each other by default: 20 and 50 requests a second.
FAST = ["--kube-api-qps=2000", "--kube-api-burst=4000"]
# kwok alone speaks for all nodes: when it is late with their leases on a busy machine, no node has gone.
PATIENT = ["--node-monitor-grace-period=30m"]


def sizes():
    """Of all jobs."""
    left, turn = PODS, itertools.cycle(SIZES)
    while left > 0:
        size = min(next(turn), left)
        left -= size
        yield size


@contextlib.contextmanager
def cluster(*flags):
    from kube.cluster import Cluster
    from kube.fixtures import Namespace

    made = Cluster.launch(
        "bench", owner=os.getpid(), kwok=True, api_flags=flags, controller_flags=FAST + PATIENT, scheduler_flags=FAST
    )
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: made.add_fake_nodes(1, prefix=f"fake-{i}"), range(NODES)))
        yield Namespace(made, SPACE)
    finally:
        made.stop()


class Watch(threading.Thread):
    """When the first member of each job was first seen in a state: {job: {state: monotonic time}}."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen = {}

    def note(self, job, state):
        self.seen.setdefault(job, {}).setdefault(state, time.monotonic())

    def when(self, state):
        return {job: times[state] for job, times in dict(self.seen).items() if state in times}


class Pods(Watch):
    """What the API server shows."""

    STATES = {"Running": "running", "Succeeded": "ended"}

    def __init__(self, space):
        super().__init__()
        self.space, self.names = space, {}

    def run(self):
        version = self.space.api.get(self.space.path("pods") + "?limit=1")["metadata"]["resourceVersion"]
        with contextlib.suppress(OSError):  # the cluster has ended
            while True:
                version = self.watch(version)

    def watch(self, version):
        """Until the server ends it; the version from which to go on."""
        connection = self.space.api.connect(timeout=None)
        path = self.space.path("pods") + f"?watch=1&labelSelector={NUMBER}%3D0&resourceVersion={version}"
        connection.request("GET", path, headers=self.space.api.headers)
        reply = connection.getresponse()
        while line := reply.readline():
            pod = json.loads(line)["object"]
            version = pod["metadata"]["resourceVersion"]
            job, phase = pod["metadata"]["labels"]["paddle-job-id"], pod["status"]["phase"]
            self.names[job] = pod["metadata"]["name"]
            if phase in self.STATES:
                self.note(job, self.STATES[phase])
        return version


class Events(Watch):
    """What paddled says, as it says it; of all members how many started, and when the last one did."""

    STATES = {"member.started": "running", "member.exited": "ended"}

    def __init__(self, server):
        super().__init__()
        self.server, self.running, self.last = server, 0, 0

    def run(self):
        from sse import Stream

        for event in Stream(self.server, "/v1/events", timeout=None, since=0):
            if event.kind == "member.started":
                self.running += 1
                self.last = time.monotonic()
            if event.kind in self.STATES and '"worker-0"' in event.text:
                self.note(event.data["job"], self.STATES[event.kind])


class Meter(threading.Thread):
    """The most private memory of a process."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.over = pid, 0, threading.Event()

    def run(self):
        with contextlib.suppress(OSError):  # it has ended
            while not self.over.wait(0.5):
                self.most = max(self.most, private_mb(self.pid))


def wait_until(check):
    """Or until patience ends: what was seen by then is a figure, too."""
    end = time.monotonic() + PATIENCE_S
    while not check() and time.monotonic() < end:
        time.sleep(0.2)


def submit(server, size):
    """Returns when the job is durable."""
    role = {"name": "worker", "replicas": size, "cpu": "100m"}
    reply = server.post("/v1/jobs", {"command": ["true"], "queue": "qq", "roles": [role], "grace": "1s"})
    assert reply.status == 201, reply.body


def lags(api, ours, state):
    """Seconds by which paddled showed a state later than the API server; sorted."""
    theirs, known = api.when(state), ours.when(state)
    assert set(theirs) <= set(known), f"{len(set(theirs) - set(known))} of {len(theirs)} were never shown as {state}"
    return sorted(max(0, known[who] - at) for who, at in theirs.items())


def figures(values):
    def at(part):
        return round(values[min(len(values) - 1, int(len(values) * part))], 3)

    return {"p50": at(0.5), "p99": at(0.99), "max": round(values[-1], 3), "of": len(values)}


def finish(space, pod):
    space.api.patch(space.path("pods", pod), {"metadata": {"annotations": {"test/succeed-after": "0s"}}})


def is_shown_as_ended(server, job):
    return server.get(f"/v1/jobs/{job}").json["members"][0]["exit_code"] == 0


def end_one_by_one(server, space, api):
    """Seconds from the API server's word to what `GET /v1/jobs/ID` says, nothing else going on; sorted."""
    found = []
    for job in list(api.names)[:: max(1, len(api.names) // ONE_BY_ONE)]:
        finish(space, api.names[job])
        while not is_shown_as_ended(server, job):
            time.sleep(0.005)
        at = time.monotonic()
        while job not in api.when("ended"):
            time.sleep(0.005)
        found.append(max(0, at - api.when("ended")[job]))
    return sorted(found)


def end_all(space, api):
    for job in set(api.names) - set(api.when("ended")):
        finish(space, api.names[job])


def all_ended(api, events):
    """Nothing is left to come."""
    return len(api.when("ended")) == len(api.names) and set(api.when("ended")) <= set(events.when("ended"))


def quiet(bench, server, log):
    """What is asked of the API server, and what it costs, while nothing happens."""
    before, began = requests(log, WRITES + READS), cpu_s(server.process.pid)
    time.sleep(QUIET_S)
    now = requests(log, WRITES + READS)
    found = {what: n - before.get(what, 0) for what, n in now.items() if n != before.get(what, 0)}
    return found, cpu_s(server.process.pid) - began


def ours(bench, folder):
    """The platform; its figures, and the objects that it made."""
    user = f"system:serviceaccount:{SPACE}:paddled-{SPACE}"
    with cluster(*audit(folder, user)) as space, bench.Scratch() as server:
        from kube.test_runtime import connect

        connect(server, space)
        server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": "none", "form": FORM}), check=0)
        bench.wait_for(lambda: len(server.get("/v1/nodes?cluster=prod").json["items"]) == NODES, 60, "the nodes")
        idle, api, events, meter = (
            private_mb(server.process.pid),
            Pods(space),
            Events(server),
            Meter(server.process.pid),
        )
        for thread in (api, events, meter):
            thread.start()
        began = time.monotonic()
        for size in sizes():
            submit(server, size)
        submitted = time.monotonic() - began
        wait_until(lambda: events.running >= PODS)
        running = events.last - began
        cpu = cpu_s(server.process.pid)
        time.sleep(10)
        wave = lags(api, events, "running")
        asked, quiet_cpu = quiet(bench, server, folder / "log")
        steady = private_mb(server.process.pid)
        copies = [bare(item, kind) for plural, kind in KINDS.items() for item in space.items(plural)]
        alone = end_one_by_one(server, space, api)
        end_all(space, api)
        bench.wait_for(lambda: all_ended(api, events), 120, "the ends to be shown")
        meter.over.set()
        took = requests(folder / "log", WRITES + READS)
        bench.kill_open(server)
        return copies, {
            "jobs": len(api.names),
            "submitted, s": round(submitted, 1),
            "pods that run": events.running,
            "all are Running, s": round(running, 1),
            "behind the API server while all start, s (bar 1)": figures(wave),
            "... when one ends, by GET /v1/jobs/ID (bar 1)": figures(alone),
            "... when many end at once (bar 1)": figures(lags(api, events, "ended")),
            "private memory of paddled, MB: before": round(idle, 1),
            "... at most (bar 250)": round(meter.most, 1),
            "... when all run": round(steady, 1),
            "CPU of paddled until all run, s": round(cpu, 1),
            f"... in {QUIET_S} s of rest": round(quiet_cpu, 2),
            f"writes in {QUIET_S} s of rest (bar 0)": sum(n for what, n in asked.items() if what.split()[0] in WRITES),
            f"reads in {QUIET_S} s of rest": {what: n for what, n in asked.items() if what.split()[0] in READS},
            "requests in all": took,
        }


KINDS = {"services": "Service", "pods": "Pod"}


def theirs(objects):
    """The bare client: the same services and pods, on a cluster that is as new."""
    pods = sum(thing["kind"] == "Pod" for thing in objects)
    with cluster() as space:
        return make(space.cluster.kubeconfig, space.name, objects, pods, "pods", pods, services=len(objects) - pods)


def crowd(bench):
    subprocess.run([bench.ROOT / "t/kube/build", "kubernetes", "kwok"], check=True)
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "src/kube/bench-kube"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        objects, found = ours(bench, pathlib.Path(folder))
    if os.environ.get("BENCH_ALONE"):
        return found
    alone = theirs(objects)
    return {
        **found,
        "bare client: all are Running, s": round(alone["running_s"], 1),
        "of the bare client": round(found["all are Running, s"] / alone["running_s"], 2),
    }
