"""Figures of a full house: 100,000 queued jobs, a million finished ones. Part of bench.py."""

import json
import os
import pathlib
import sqlite3
import subprocess
import time

JOB = {"command": ["true"], "queue": "team", "roles": [{"name": "worker", "replicas": 1, "cpu": "100m"}]}
SUCCEEDED = 8  # as the store numbers the states


def make_queues(server):
    """A tree with limits everywhere, so that each job is counted at three levels."""
    for name, about in (
        ("house", {"max": {"cpu": "64"}}),
        (
            "team",
            {"parent": "house", "max": {"cpu": "64"}, "min": {}, "ordering": "fair", "max_open_per_user": 2000000},
        ),
        ("other", {"parent": "house", "weight": 2}),
    ):
        reply = server.post("/v1/queues", {"name": name, **about})
        assert reply.status == 201, reply.body


def pages(server, path, count):
    """Milliseconds of `count` pages of a list, sorted."""
    times = []
    for _ in range(count):
        start = time.monotonic()
        reply = server.get(path)
        times.append((time.monotonic() - start) * 1000)
        assert reply.status == 200, reply.body
    return sorted(times)


def p99(times):
    return times[min(len(times) - 1, len(times) * 99 // 100)]


def fill_finished(path, count):
    """Copies the newest finished job's row `count` times, with numbers, names and ids of their own."""
    with sqlite3.connect(path) as db:
        columns = [row[1] for row in db.execute("pragma table_info(job)")]
        final = db.execute("select max(seq) from job where phase = ?", (SUCCEEDED,)).fetchone()[0]
        top = db.execute("select max(seq) from job").fetchone()[0]
        own = {"seq": f"{top} + n", "id": f"printf('%016d', {top} + n)", "name": "'done-' || n", "idempotency": "null"}
        own["spec"] = f"{top} + n"
        values = ", ".join(own.get(column, column) for column in columns)
        numbers = "with recursive number(n) as (select 1 union all select n + 1 from number where n < ?)"
        db.execute(
            f"{numbers} insert into job ({', '.join(columns)}) select {values} from job, number where seq = ?",
            (count, final),
        )
        spec = db.execute("select spec from job where seq = ?", (final,)).fetchone()[0]
        db.execute(
            f"{numbers} insert into job_spec select {top} + n, spec from job_spec, number where seq = ?", (count, spec)
        )
        db.execute("update state set last_seq = ?", (top + count,))
        return db.execute("select count(*) from job where phase = ?", (SUCCEEDED,)).fetchone()[0]


def queued(bench):
    """100,000 queued jobs: latency of a further submit, private memory of the server, time of a list page."""
    with bench.Scratch("--cpus", "1") as server:
        make_queues(server)
        server.submit(["sleep", "900"], roles=[{"name": "worker", "replicas": 1, "cpu": "1"}], grace="1s")
        idle = bench.private_kb(server.process.pid)
        bench.load(server, 8, 100000, "POST", "/v1/jobs", json.dumps(JOB))
        alone = [bench.load(server, 1, 2000, "POST", "/v1/jobs", json.dumps(JOB)) for _ in range(bench.ROUNDS)]
        eight = [bench.load(server, 8, 4000, "POST", "/v1/jobs", json.dumps(JOB)) for _ in range(bench.ROUNDS)]
        private = bench.private_kb(server.process.pid)
        page = pages(server, "/v1/jobs?limit=100&state=queued", 200)
        bench.kill_open(server)
    return {
        "submit p99 ms, one caller (bar 5)": bench.spread([run["p99_ms"] for run in alone]),
        "submit p99 ms, eight callers": bench.spread([run["p99_ms"] for run in eight]),
        "submits per second, eight callers": bench.spread([run["rate"] for run in eight]),
        "private MB of paddled (bar 280)": round(private / 1024, 1),
        "MB of it without jobs": round(idle / 1024, 1),
        "list page of 100 ms p99": round(p99(page), 2),
    }


def rate(bench, server, count=3000, job=JOB):
    start = time.monotonic()
    done = bench.load(server, 8, count, "POST", "/v1/jobs", json.dumps(job))
    assert done["bad"] == 0, done
    bench.wait_for(lambda: bench.open_jobs(server) == 0, 180)
    return count / (time.monotonic() - start)


LISTS = (
    "/v1/jobs?limit=100",
    "/v1/jobs?limit=100&queue=team",
    "/v1/jobs?limit=100&state=succeeded",
    "/v1/jobs?limit=100&state=failed",
    "/v1/jobs?limit=100&label=team%3Dx",
)


def history(bench):
    """Rate and list pages with a million finished jobs in the store, beside those with the first 10,000."""
    with bench.Scratch("--cpus", "0.8") as server:
        make_queues(server)
        rate(bench, server, 300)
        found = {}
        for size in (10000, 1000000):
            server.stop()
            fill_finished(server.state / "paddle.db", size)
            server.start()
            bench.wait_for(lambda: bench.ready(server), 60)
            rates = [rate(bench, server) for _ in range(bench.ROUNDS)]
            times = [time for path in LISTS for time in pages(server, path, 60)]
            found[size] = (rates, sorted(times))
    few, many = found[10000], found[1000000]
    return {
        "jobs per second, 10,000 finished": bench.spread(few[0]),
        "jobs per second, 1,000,000 finished": bench.spread(many[0]),
        "of it (bar 0.90)": round(bench.statistics.median(many[0]) / bench.statistics.median(few[0]), 3),
        "list page ms p99, 10,000": round(p99(few[1]), 2),
        "list page ms p99, 1,000,000 (bar 20)": round(p99(many[1]), 2),
    }


def commands(bench, server, count, *line):
    """Milliseconds of `count` runs of `paddle`, each a new process from its start to its end, sorted."""
    environment = {**os.environ, "PADDLE_SERVER": server.url}
    times = []
    for _ in range(count):
        start = time.monotonic()
        done = subprocess.run([bench.BIN / "paddle", *line], env=environment, capture_output=True, check=True)
        times.append((time.monotonic() - start) * 1000)
        assert len(done.stdout.splitlines()) > 20, done
    return sorted(times)


def listing(bench):
    """`paddle list` with 10 and with 1,000,000 jobs of one user that have ended."""
    with bench.Scratch("--cpus", "2") as server:
        server.submit(["sleep", "900"], grace="1s")
        for _ in range(20):
            server.wait(server.submit("true")["id"])
        few = commands(bench, server, 20 * bench.ROUNDS, "list")
        server.stop()
        fill_finished(server.state / "paddle.db", 1000000)
        server.start()
        bench.wait_for(lambda: bench.ready(server), 60)
        many = [commands(bench, server, 20, "list") for _ in range(bench.ROUNDS)]
        bench.kill_open(server)
    return {
        "ms, 1,000,000 jobs (bar 30)": bench.spread([bench.statistics.median(times) for times in many]),
        "ms p99, 1,000,000 jobs": round(p99(sorted(sum(many, []))), 2),
        "ms, 20 jobs": round(bench.statistics.median(few), 2),
    }


def before(bench):
    """Jobs of `true` with queues, quotas and fair shares on, beside an earlier build's (BENCH_BASELINE=DIR) and a bare spawn."""
    ours, theirs, spawn = [], [], []
    plain = {key: value for key, value in JOB.items() if key != "queue"}
    baseline = os.environ.get("BENCH_BASELINE")
    for _ in range(bench.ROUNDS):
        spawn.append(float(subprocess.check_output([bench.TOOLS / "spawn", "3000", "8", "true"])))
        with bench.Scratch("--cpus", "0.8") as server:
            make_queues(server)
            rate(bench, server, 300)
            ours.append(rate(bench, server))
        if baseline:
            with bench.Scratch("--cpus", "0.8", program=pathlib.Path(baseline) / "paddled") as server:
                rate(bench, server, 300, plain)
                theirs.append(rate(bench, server, job=plain))
    with bench.Slurm() as slurm:
        peer = [slurm.rate(300) for _ in range(bench.ROUNDS)]
    found = {
        "jobs per second": bench.spread(ours),
        "of bare spawn": bench.spread([a / b for a, b in zip(ours, spawn)]),
        "Slurm jobs per second": bench.spread(peer),
        "of Slurm (bar 14)": round(bench.statistics.median(ours) / bench.statistics.median(peer), 1),
    }
    if baseline:
        found["earlier build, jobs per second"] = bench.spread(theirs)
        found["of the earlier build (bar 0.90)"] = bench.spread([a / b for a, b in zip(ours, theirs)])
    return found
