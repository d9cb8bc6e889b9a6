"""Figures of the cache of steps: look-ups among many entries, and runs whose steps all hit. Part of bench.py."""

import datetime
import json
import os
import pathlib
import subprocess

import runs
from people import Person

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
LOOKUPS = BUILD / "src/store/bench-cache"
ENTRIES = int(os.environ.get("BENCH_ENTRIES", "1000000"))
STEPS = 200


def lookups(bench):
    """Among all entries, in the store; beside a bare SELECT by primary key in the same file."""
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "src/store/bench-cache"], check=True)
    seen = runs.rows(LOOKUPS, ENTRIES, bench.ROUNDS)
    result = {}
    for way, title in (("hit", "that finds one"), ("miss", "that finds none"), ("select", "")):
        name = f"look-up among {ENTRIES} entries {title}" if title else "bare SELECT by primary key"
        for place in ("median", "p99", "max"):
            bar = " (bar 5)" if title else ""
            result[f"{name}, {place} ms{bar}"] = bench.spread([row[way]["wall"][place] for row in seen])
        result[f"... max, in time of the processor, {title or 'SELECT'}"] = bench.spread(
            [row[way]["cpu"]["max"] for row in seen]
        )
    result["look-up that finds one beside the SELECT, median"] = bench.spread(
        [row["hit"]["wall"]["median"] / row["select"]["wall"]["median"] for row in seen]
    )
    return result


def step(shape, number):
    """In a chain each step reads the file that the one before it has written."""
    made = {"command": f"true {number}", "env": {"PF_JOB_FLAVOUR": runs.FLAVOUR["name"]}}
    if shape == "wide":
        return made
    before = f"s{number - 1}"
    made |= {"command": f"echo {number} > {{{{data}}}}", "artifacts": {"output": ["data"]}}
    if number:
        made["deps"] = before
        made["artifacts"]["input"] = {"before": f"{{{{{before}.data}}}}"}
    return made


def definition(shape, cache):
    steps = {f"s{number}": step(shape, number) for number in range(STEPS)}
    return json.dumps({"name": shape, "parallelism": 20, "cache": {"enable": cache}, "entry_points": steps})


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def ms_a_step(bench, person, text, hits):
    """From the creation of the run to its end, by the server's clock."""
    server = person.server
    run = create(person, text)
    found = runs.wait_for_run(bench, server, run, 600)
    nodes = server.get(f"/v1/runs/{run}/nodes?limit=1000").json["items"]
    assert len(nodes) == STEPS and all(node["cached"] == hits for node in nodes), "steps that should hit, or not"
    return (moment(found["finished_at"]) - moment(found["created_at"])) * 1000 / STEPS


def create(person, text):
    reply = person.server.request(
        "POST",
        "/v1/runs",
        json.dumps({"definition": text}),
        headers={**person.headers, "Content-Type": "application/json"},
    )
    assert reply.status == 201, reply.body
    return reply.json["id"]


def hits(bench):
    """Runs of which each step is taken, beside the same steps without the cache, round by round."""
    result = {}
    with bench.Scratch("--cpus", "64") as server:
        assert server.post("/v1/flavours", runs.FLAVOUR).status == 201
        person = Person(server, "ann")
        for shape, title in (("wide", "side by side"), ("chain", "in a chain of files")):
            taken, ran = [], []
            ms_a_step(bench, person, definition(shape, True), False)
            for _ in range(bench.ROUNDS):
                taken.append(ms_a_step(bench, person, definition(shape, True), True))
                ran.append(ms_a_step(bench, person, definition(shape, False), False))
            result[f"{STEPS} steps {title} that all hit, ms a step (bar 2)"] = bench.spread(taken)
            result[f"... the same steps {title} that run, ms a step"] = bench.spread(ran)
            result[f"... hits beside them, {title}"] = bench.spread([a / b for a, b in zip(taken, ran, strict=True)])
    return result


def figures(bench):
    return {**lookups(bench), **hits(bench)}
