"""This build beside an earlier one, round by round: bench/run beside, with BENCH_BASELINE=DIR, the checkout of the
earlier build with its programs in DIR/build/bin and bench-sched somewhere below DIR/build/release. Part of bench.py."""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

BAR = "(bar 0.97)"
JOBS = 3000
SUBMITS = 8000
ONE = [{"name": "worker", "replicas": 1, "cpu": "1"}]


def job_rate(bench, tree):
    """Jobs of `true` a second, from the first submit to the last end."""
    with bench.Scratch("--cpus", "0.8", program=tree / "build/bin/paddled") as server:
        bench.load(server, 8, 300, "POST", "/v1/jobs", bench.TRUE_JOB)
        bench.wait_for(lambda: bench.open_jobs(server) == 0, 120)
        start = time.monotonic()
        assert bench.load(server, 8, JOBS, "POST", "/v1/jobs", bench.TRUE_JOB)["bad"] == 0
        bench.wait_for(lambda: bench.open_jobs(server) == 0, 120)
        return JOBS / (time.monotonic() - start)


def durable_submits(bench, tree):
    """Submits a second over 8 connections while no job can start."""
    with bench.Scratch("--cpus", "1", program=tree / "build/bin/paddled") as server:
        server.submit(["sleep", "600"], roles=ONE, grace="1s")
        done = bench.load(server, 8, SUBMITS, "POST", "/v1/jobs", bench.TRUE_JOB)
        assert done["bad"] == 0, done
        bench.kill_open(server)
        return done["rate"]


def submit_speed(bench, tree):
    """Submits a second of one client, one after the other: the inverse of the latency from the command to the member's start."""
    with bench.Scratch(
        "--cpus", "8", program=tree / "build/bin/paddled"
    ) as server, tempfile.TemporaryDirectory() as empty:
        times = [bench.submit_true(server, tree / "build/bin/paddle", empty) for _ in range(40)]
        return 1 / statistics.median(to_running for _, to_running in times)


def queued_per_mb(bench, tree):
    """Queued jobs in a megabyte of the server's private memory."""
    with bench.Scratch("--cpus", "1", program=tree / "build/bin/paddled") as server:
        server.submit(["sleep", "600"], roles=ONE, grace="1s")
        bench.load(server, 8, 2000, "POST", "/v1/jobs", bench.TRUE_JOB)
        before = bench.private_kb(server.process.pid)
        bench.load(server, 8, SUBMITS, "POST", "/v1/jobs", bench.TRUE_JOB)
        after = bench.private_kb(server.process.pid)
        bench.kill_open(server)
        return SUBMITS * 1024 / (after - before)


def idle_per_gb(bench, tree):
    """Idle servers, with agent and spawner, in a gigabyte of private memory."""
    with bench.Scratch("--cpus", "1", program=tree / "build/bin/paddled") as server:
        bench.wait_for(server.agent_pid)
        return 1024 * 1024 / sum(bench.private_kb(pid) for pids in bench.processes(server).values() for pid in pids)


def full_passes(mix):
    def per_second(bench, tree):
        done = subprocess.run(
            [next((tree / "build/release").rglob("bench-sched")), "pass", mix, "2"],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return 1000 / min(row["ms"] for row in rows if row["bench"] == "pass")

    return per_second


FIGURES = {
    "jobs of true a second": job_rate,
    "durable submits a second": durable_submits,
    "submits of one client a second": submit_speed,
    "queued jobs in a MB": queued_per_mb,
    "idle servers in a GB": idle_per_gb,
    "full passes a second, deep learning": full_passes("deep-learning"),
    "full passes a second, harder mix": full_passes("harder"),
}


def figures(bench):
    """Each round measures both builds, the second first in every other round."""
    where = os.environ.get("BENCH_BASELINE")
    if not where:
        return {"not measured": "BENCH_BASELINE names no checkout of an earlier build; see bench/beside.py"}
    trees = [bench.ROOT, pathlib.Path(where)]
    result = {}
    for name, measure in FIGURES.items():
        seen = [[], []]
        for i in range(bench.ROUNDS):
            for which in (0, 1) if i % 2 == 0 else (1, 0):
                seen[which].append(measure(bench, trees[which]))
        result[f"{name}: of the earlier build's {BAR}"] = bench.spread([a / b for a, b in zip(*seen)])
        result[name] = bench.spread(seen[0])
        print(name, result[f"{name}: of the earlier build's {BAR}"], flush=True)
    return result
