"""Figures of the scheduler alone (bench/sched.c), and of Kueue's published baseline played through it."""

import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
TOOL = BUILD / "src/sim/bench-sched"

# test/performance/scheduler/configs/baseline of kubernetes-sigs/kueue: 5 cohorts of 6 queues with a nominal quota of
# 20 CPU, up to 100 more borrowed, reclaim from any, preemption of lower priority. By class: how many in each queue,
# one every so many ms, CPU, run time in ms, priority.
COHORTS, QUEUES, NOMINAL, BORROWED = 5, 6, 20, 100
CLASSES = {"small": (350, 100, 1, 200, 50), "medium": (100, 500, 5, 500, 100), "large": (50, 1200, 20, 1000, 200)}
PUBLISHED_UTILISATION = 0.587  # its rangespec.yaml: average of five runs


def kueue_room(node_cpus):
    """Quotas only, as in the baseline: one node that holds everything, or nodes of `node_cpus`."""
    total = COHORTS * QUEUES * NOMINAL
    queues = []
    for cohort in range(COHORTS):
        quota = {"cpu": QUEUES * NOMINAL}
        queues.append({"name": f"cohort-{cohort}", "min": quota, "max": quota})
        queues += [
            {
                "name": f"cq-{cohort}-{i}",
                "parent": f"cohort-{cohort}",
                "min": {"cpu": NOMINAL},
                "max": {"cpu": NOMINAL + BORROWED},
                "preemption": "lower-priority",
                "backfill": False,  # Kueue's BestEffortFIFO: what fits passes a head that does not
            }
            for i in range(QUEUES)
        ]
    nodes = [{"name": "node", "count": total // node_cpus, "resources": {"cpu": node_cpus}}]
    return {"nodes": nodes, "queues": queues}


def kueue_trace():
    for cohort in range(COHORTS):
        for queue in range(QUEUES):
            for name, (count, every, cpu, run, priority) in CLASSES.items():
                yield {
                    "queue": f"cq-{cohort}-{queue}",
                    "user": name,
                    "count": count,
                    "every": f"{every}ms",
                    "run": f"{run}ms",
                    "resources": {"cpu": cpu},
                    "priority": priority,
                }


def run(*args):
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def simulate(node_cpus):
    with tempfile.TemporaryDirectory() as directory:
        room, trace = pathlib.Path(directory) / "room.json", pathlib.Path(directory) / "trace"
        room.write_text(json.dumps(kueue_room(node_cpus)))
        trace.write_text("".join(json.dumps(line) + "\n" for line in kueue_trace()))
        return run("simulate", room, trace)[0]


MIXES = {"deep-learning": "mix of deep learning", "harder": "a harder mix"}
FULL_EVENTS = 1000


def column(rows, bench, key):
    return [row[key] for row in rows if row["bench"] == bench]


def of_mix(mix, rounds, spread):
    """Passes over 10,000 nodes and 100,000 waiting jobs, and single events in the same room."""
    rows = run("pass", mix, rounds) + run("full", mix, rounds, FULL_EVENTS) + run("memory", mix)
    started = min(column(rows, "pass", "started"))
    assert started >= 5000, started
    decided = column(rows, "full", "decisions") + column(rows, "full-again", "decisions")
    assert max(decided) == 0, "something was placed in a full room"
    result = {
        "full pass ms (bar 150)": spread(column(rows, "pass", "ms")),
        "... jobs started (bar 5000)": started,
        "... tasks placed": min(column(rows, "pass", "tasks")),
        "arrival or completion p50 ms": spread(column(rows, "pass-event", "p50_ms")),
        "arrival or completion p99 ms (bar 1)": spread(column(rows, "pass-event", "p99_ms")),
        "arrival or completion max ms": spread(column(rows, "pass-event", "max_ms")),
        "full room ms (bar 20)": spread(column(rows, "full", "ms")),
        "... the pass after it ms": spread(column(rows, "full-again", "ms")),
        "... arrival or completion p50 ms": spread(column(rows, "full-event", "p50_ms")),
        "... arrival or completion p99 ms": spread(column(rows, "full-event", "p99_ms")),
        "bytes of a waiting job": column(rows, "memory", "bytes_per_job")[0],
    }
    return {f"{MIXES[mix]}: {key}": value for key, value in result.items()}


def figures(rounds, spread):
    """Each mix, the pass that fills the room, Kueue's baseline, the journal."""
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "src/sim/bench-sched"], check=True)
    rows = run("open", "harder", max(2, rounds // 2)) + run("journal", "harder", rounds)
    kueue = [simulate(COHORTS * QUEUES * NOMINAL) for _ in range(rounds)]
    nodes = simulate(NOMINAL)
    useful, bound = kueue[0]["useful"]["cpu"], kueue[0]["bound"]["cpu"]
    result = {}
    for mix in MIXES:
        result |= of_mix(mix, rounds, spread)
    return result | {
        "pass that fills the room ms": spread(column(rows, "open", "ms")),
        "... its jobs started": min(column(rows, "open", "started")),
        "... its tasks placed": min(column(rows, "open", "tasks")),
        "Kueue's baseline: wall s (bar 2)": spread([row["wall_s"] for row in kueue]),
        "Kueue's baseline: utilisation (bar 0.90)": kueue[0]["utilisation"]["cpu"],
        "... without work lost by evictions": useful,
        "... the most that is possible": bound,
        "... of the most that is possible": round(useful / bound, 4),
        "... of the published (58.7 %)": round(kueue[0]["utilisation"]["cpu"] / PUBLISHED_UTILISATION, 2),
        "... evictions": sum(queue["evictions"] for queue in kueue[0]["queues"]),
        "... jobs ended (of 15000)": kueue[0]["ended"],
        "... on 30 nodes of 20 cores: utilisation": nodes["utilisation"]["cpu"],
        "journal: added to a put, ns": spread(column(rows, "journal", "added_ns")),
        "journal: put without it, ns": spread(column(rows, "journal", "put_ns")),
        "journal: dump of 100,000 jobs, ms": spread(column(rows, "journal", "dump_ms")),
    }
