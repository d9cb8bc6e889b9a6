"""Figures of schedules: 10,000 that wait and one that is due each second; a restart with all of them. Part of bench.py."""

import datetime
import os
import pathlib
import time

import crowd

SCHEDULES = int(os.environ.get("BENCH_SCHEDULES", "10000"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "60"))
PIPELINE = 'name: quick\nentry_points:\n  a: {command: "true", condition: "1 > 2"}\n'


def create(server, name, crontab):
    reply = server.post("/v1/schedules", {"name": name, "pipeline": "quick", "crontab": crontab})
    assert reply.status == 201, reply.body


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(server):
    """Part of a core that the server uses."""
    before, start = cpu_seconds(server.process.pid), time.monotonic()
    time.sleep(SECONDS)
    return (cpu_seconds(server.process.pid) - before) / (time.monotonic() - start)


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def runs(server):
    return server.get("/v1/runs?schedule=tick&limit=1000").json["items"][::-1]


def check_once(found):
    ticks = [moment(run["scheduled_at"]) for run in found]
    assert ticks == [ticks[0] + n for n in range(len(ticks))], "a tick is missing, or has two runs"


def figures(bench):
    with bench.Scratch("--cpus", "4") as server:
        assert server.post("/v1/pipelines", {"definition": PIPELINE}).status == 201
        for number in range(SCHEDULES - 1):  # due on the first of January
            create(server, f"wait_{number}", f"{number % 60} {number // 60 % 24} 1 1 *")
        idle = watch(server)
        create(server, "tick", "@every 1s")
        busy = watch(server)
        found = runs(server)
        late = sorted((moment(run["created_at"]) - moment(run["scheduled_at"])) * 1000 for run in found)
        grown = bench.private_kb(server.process.pid)
        server.kill()
        start = time.monotonic()
        server.start()
        restart = time.monotonic() - start
        bench.wait_for(lambda: len(runs(server)) > len(found), 60)
        check_once(runs(server))
    return {
        f"{SCHEDULES} schedules of which none is due: part of a core, % (bar 1)": round(idle * 100, 3),
        "... and one that is due each second: part of a core, %": round(busy * 100, 3),
        f"... lateness of its {len(found)} runs, median ms": round(late[len(late) // 2], 1),
        "... p99 ms (bar 100)": round(crowd.p99(late), 1),
        "... private memory of the server, MiB": round(grown / 1024, 1),
        "... restart after kill -9 until it answers, s; each tick had one run": round(restart, 2),
    }
