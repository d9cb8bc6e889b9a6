"""Figures of pipelines: definitions, the state machine of a run, runs of real jobs beside plain jobs. Part of bench.py."""

import contextlib
import http.client
import json
import os
import pathlib
import sqlite3
import subprocess
import threading
import time

import crowd
from people import Person

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
MACHINE, ENGINE = BUILD / "src/pipeline/bench-runs", BUILD / "src/engine/bench-runs-engine"
NODES = int(os.environ.get("BENCH_NODES", "100000"))  # of the long run
ENGINE_NODES = min(NODES, 100000)
IN_FLIGHT = 20
SHAPES = ("wide", "deep", "random", "nested")
PAIR = 3000  # steps, and jobs, of a round
CHAIN = 200
SUBMITS, PAUSE = 1000, 0.02
WAITING_JOB = json.dumps({"command": ["true"], "begin": "2099-01-01T00:00:00Z"})
FLAVOUR = {"name": "tiny", "cpu": "100m", "memory": "10Mi"}
# As a step's job is made: a command line for sh.
PLAIN = {
    "command": ["sh", "-c", "true"],
    "roles": [{"name": "worker", "replicas": 1, "cpu": FLAVOUR["cpu"], "memory": FLAVOUR["memory"]}],
}


def rows(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- without a server


def alone(rounds, spread):
    """The state machine, with all ready sets checked; definitions."""
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "src/pipeline/bench-runs"], check=True)
    result = {}
    for shape in SHAPES:
        seen = rows(MACHINE, shape, NODES, rounds)
        runs = [row for row in seen if row["bench"] == "machine"]
        compiled = next(row for row in seen if row["bench"] == "compile")
        result |= {
            f"{shape}: transitions a second (bar 100000)": spread([row["transitions_per_s"] for row in runs]),
            f"{shape}: bytes of a node (bar 300)": runs[0]["bytes_per_node"],
            f"{shape}: us to render an instance": spread([row["render_us"] for row in runs]),
            f"{shape}: definition compiled, of its text (bar 3)": compiled["of_text"],
        }
    times = {
        shape: [next(r for r in rows(MACHINE, shape, 10000, 0) if r["bench"] == "compile")["ms"] for _ in range(rounds)]
        for shape in SHAPES
    }
    for shape, ms in times.items():
        result[f"{shape}: parse and validate 10,000 steps, ms (bar 1000)"] = spread(ms)
    return result


def in_engine(rounds, spread):
    """With the played runtime: job, events and row of each node are committed."""
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "src/engine/bench-runs-engine"], check=True)
    seen = rows(ENGINE, ENGINE_NODES, max(2, rounds // 2))
    return {
        "engine: nodes a second, 20 in flight (bar 2000)": spread([row["nodes_per_s"] for row in seen]),
        "engine: jobs of an array of which 20 run, a second": spread([row["jobs_per_s"] for row in seen]),
        "engine: nodes beside these jobs": spread([row["nodes_per_s"] / row["jobs_per_s"] for row in seen]),
        "engine: restart in the middle, s (bar 5)": spread([row["restart_s"] for row in seen]),
        "engine: bytes of a waiting node, with its item and definition": seen[0]["bytes_per_node"],
    }


# ---- real jobs


def loop_of(steps):
    """A loop of `true` steps."""
    return json.dumps(
        {
            "name": "bench",
            "parallelism": IN_FLIGHT,
            "entry_points": {
                "many": {
                    "command": "true",
                    "loop_argument": list(range(steps)),
                    "env": {"PF_JOB_FLAVOUR": FLAVOUR["name"]},
                }
            },
        }
    )


def create(server, definition):
    reply = server.post("/v1/runs", {"definition": definition})
    assert reply.status == 201, reply.body
    return reply.json["id"]


def state_of(server, run):
    return server.get(f"/v1/runs/{run}").json["state"]


def wait_for_run(bench, server, run, timeout):
    bench.wait_for(lambda: state_of(server, run) not in ("running", "stopping"), timeout)
    found = server.get(f"/v1/runs/{run}").json
    assert found["state"] == "succeeded", found
    return found


def run_rate(bench, server, steps):
    """Steps a second of one run, 20 in flight."""
    start = time.monotonic()
    run = create(server, loop_of(steps))
    wait_for_run(bench, server, run, 600)
    return steps / (time.monotonic() - start)


def job_rate(bench, server, jobs):
    """Jobs a second of an array of which the server keeps 20 in flight."""
    spec = {**PLAIN, "array": f"0-{jobs - 1}%{IN_FLIGHT}"}
    start = time.monotonic()
    reply = server.post("/v1/jobs", spec)
    assert reply.status == 201, reply.body
    bench.wait_for(lambda: bench.open_jobs(server) == 0, 600)
    return jobs / (time.monotonic() - start)


def beside_jobs(bench):
    """Steps of a run beside plain jobs, round by round, the second first in every other round."""
    steps, jobs = [], []
    with bench.Scratch("--cpus", "64") as server:
        assert server.post("/v1/flavours", FLAVOUR).status == 201
        run_rate(bench, server, 300)
        job_rate(bench, server, 300)
        for i in range(bench.ROUNDS):
            for measure, seen in [(run_rate, steps), (job_rate, jobs)][:: 1 if i % 2 == 0 else -1]:
                seen.append(measure(bench, server, PAIR))
    return {
        "true steps a second, 20 in flight": bench.spread(steps),
        "plain jobs a second, 20 in flight": bench.spread(jobs),
        "steps beside plain jobs (bar 0.9)": bench.spread([a / b for a, b in zip(steps, jobs, strict=True)]),
    }


def chain_of_steps(bench, server, artifacts=False):
    """Seconds of a step in a chain of `true` steps; with an artifact each, which the next one gets."""
    steps = {f"s{i}": {"command": "true", "env": {"PF_JOB_FLAVOUR": FLAVOUR["name"]}} for i in range(CHAIN)}
    for i in range(1, CHAIN):
        steps[f"s{i}"]["deps"] = f"s{i - 1}"
    if artifacts:
        for i, step in enumerate(steps.values()):
            step["command"] = ": > {{o}}"
            step["artifacts"] = {"output": ["o"], "input": {"i": f"{{{{s{i - 1}.o}}}}"} if i else {}}
    start = time.monotonic()
    run = create(server, json.dumps({"name": "chain", "entry_points": steps}))
    wait_for_run(bench, server, run, 300)
    return (time.monotonic() - start) / CHAIN


def chain_with_artifacts(bench, server):
    return chain_of_steps(bench, server, artifacts=True)


def chain_of_jobs(bench, server):
    """Seconds of a job in a chain of jobs by `after`."""
    jobs = [{**PLAIN, "name": "chain-0"}]
    for i in range(1, CHAIN):
        jobs.append({**PLAIN, "name": f"chain-{i}", "after": [f"ok:chain-{i - 1}"]})
    start = time.monotonic()
    reply = server.post("/v1/jobs/batch", {"jobs": jobs})
    assert reply.status == 201, reply.body
    bench.wait_for(lambda: bench.open_jobs(server) == 0, 300)
    return (time.monotonic() - start) / CHAIN


def chains(bench):
    steps, files, jobs = [], [], []
    kinds = [(chain_of_steps, steps), (chain_with_artifacts, files), (chain_of_jobs, jobs)]
    with bench.Scratch("--cpus", "4") as server:
        assert server.post("/v1/flavours", FLAVOUR).status == 201
        for i in range(bench.ROUNDS):
            for measure, seen in kinds[:: 1 if i % 2 == 0 else -1]:
                seen.append(measure(bench, server) * 1000)
    return {
        "chain of 200 steps, ms a step": bench.spread(steps),
        "chain of 200 steps with an artifact each, ms a step": bench.spread(files),
        "chain of 200 jobs by `after`, ms a job": bench.spread(jobs),
        "a step in a chain takes more than a job, ms (bar 1)": bench.spread(
            [a - b for a, b in zip(steps, jobs, strict=True)]
        ),
        "a step with an artifact in a chain takes more than a job, ms (bar 4)": bench.spread(
            [a - b for a, b in zip(files, jobs, strict=True)]
        ),
    }


# ---- a long run


class Submits(threading.Thread):
    """Submits of another user, whose jobs never start, until it is stopped: milliseconds of each."""

    def __init__(self, server, person):
        super().__init__(daemon=True)
        self.server, self.person, self.times, self.stopped = server, person, [], threading.Event()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {**self.person.headers, "Content-Type": "application/json"}
        while not self.stopped.wait(PAUSE) and len(self.times) < SUBMITS:
            start = time.monotonic()
            connection.request("POST", "/v1/jobs", WAITING_JOB, headers)
            reply = connection.getresponse()
            body = reply.read()
            self.times.append((time.monotonic() - start) * 1000)
            assert reply.status == 201, body


@contextlib.contextmanager
def submits(server, person):
    thread = Submits(server, person)
    thread.start()
    try:
        yield thread.times
    finally:
        thread.stopped.set()
        thread.join()


def nodes_of(server, run, state):
    return server.get(f"/v1/runs/{run}").json["nodes"][state]


def p99(times):
    return round(crowd.p99(sorted(times)), 2)


def check_once(server, run, steps):
    """Each step has one job, and each job of the run one step."""
    with contextlib.closing(sqlite3.connect(server.state / "paddle.db")) as db:
        seq = db.execute("select seq from run where id = ?", (run,)).fetchone()[0]
        found = db.execute("select count(*), count(distinct job) from run_node where run = ?", (seq,)).fetchone()
        jobs = db.execute("select count(*) from job where user = 'root'").fetchone()[0]
    assert found == (steps, steps) and jobs == steps, (found, jobs, steps)


def restart(bench, server):
    """Seconds from exec to ready after kill -9."""
    server.kill()
    start = time.monotonic()
    server.start(wait=False)
    bench.wait_for(lambda: bench.ready(server), 60)
    return time.monotonic() - start


def pages(server, run):
    """Milliseconds of pages of 100 nodes: the first, one in the middle, one state that no node has."""
    middle = f"after={NODES // 2}"
    times = []
    for query in ("limit=100", f"limit=100&{middle}", "limit=100&state=failed"):
        times += crowd.pages(server, f"/v1/runs/{run}/nodes?{query}", 50)
    return times


def status_kb(pid, field):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def detail(server):
    """The whole detail of the only run in PaddleFlow's interface: seconds, MiB of text, MiB that the server grew at most."""
    secret = server.post("/v1/tokens", {"user": "root"}).json["token"]
    login = server.post("/api/paddleflow/v1/login", {"username": "root", "password": secret})
    headers = {"x-pf-authorization": login.json["authorization"]}
    pid = server.process.pid
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins again
    before = status_kb(pid, "VmRSS")
    start = time.monotonic()
    reply = server.request("GET", "/api/paddleflow/v1/run/run-000001", headers=headers)
    seconds = time.monotonic() - start
    assert reply.status == 200, reply.body
    assert len(reply.json["runtime"]) > 0
    return seconds, len(reply.body) / 2**20, (status_kb(pid, "VmHWM") - before) / 1024


def long_run(bench):
    """A run of NODES steps: memory, another user's submits, a kill in the middle, pages."""
    options = ("--listen", "127.0.0.1:0", "--cpus", "64", "--max-open-jobs-per-user", "1000000")
    with bench.Scratch(*options) as server:
        assert server.post("/v1/flavours", FLAVOUR).status == 201
        victim = Person(server, "victim")
        with submits(server, victim) as times:
            bench.wait_for(lambda: len(times) >= SUBMITS // 2, 60)
        alone_ms = p99(times)
        before = bench.private_kb(server.process.pid)
        start = time.monotonic()
        with submits(server, victim) as times:
            run = create(server, loop_of(NODES))
            grown = bench.private_kb(server.process.pid) - before
            bench.wait_for(lambda: nodes_of(server, run, "succeeded") >= NODES // 2, 1200)
        beside_ms = p99(times)
        took = restart(bench, server)
        wait_for_run(bench, server, run, 1200)
        seconds = time.monotonic() - start - took
        page_ms = p99(pages(server, run))
        detail_s, detail_mib, detail_grown = detail(server)
        server.stop()
        check_once(server, run, NODES)
        server.start()
        bench.kill_open(server)
    return {
        f"a run of {NODES} true steps, with a restart: steps a second": round(NODES / seconds, 1),
        "... submit of another user, p99 ms (bar 10)": beside_ms,
        "... the same before, p99 ms": alone_ms,
        "... restart in the middle, s (bar 5); no step ran twice": round(took, 3),
        "... private memory that a waiting node adds, bytes, with item and definition": round(grown * 1024 / NODES, 1),
        "... page of 100 nodes, p99 ms (bar 20)": page_ms,
        "... its whole older detail: memory, MiB (bar 64)": round(detail_grown, 1),
        "... its whole older detail: MiB of text": round(detail_mib, 1),
        "... its whole older detail: s": round(detail_s, 2),
    }


def figures(bench):
    return (
        alone(bench.ROUNDS, bench.spread)
        | in_engine(bench.ROUNDS, bench.spread)
        | beside_jobs(bench)
        | chains(bench)
        | long_run(bench)
    )
