"""Pipelines described in Python: the import of paddlecloud.pipeline, and compiling 10,000 steps, in time of the processor. Part of bench.py."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = 10000

IMPORT = """
import sys, time
before = set(sys.modules)
start = time.process_time()
import paddlecloud.pipeline
seconds = time.process_time() - start
others = sorted(name for name in set(sys.modules) - before if not name.startswith("paddlecloud"))
print(__import__("json").dumps([seconds, others]))
"""

# The modules of Python that it needs, and nothing else.
LOWEST = """
import sys, time, importlib
names = sys.argv[1:]
start = time.process_time()
for name in names:
    importlib.import_module(name)
print(time.process_time() - start)
"""

COMPILE = """
import json, sys, time
from paddlecloud.pipeline import Artifact, ContainerStep, DAG, Pipeline, step
shape, steps = sys.argv[1], int(sys.argv[2])

@step
def work(number: int, before=None) -> int:
    return number

@Pipeline(name="many", docker_env="python:3.11")
def wide():
    for number in range(steps):
        ContainerStep(f"s{number}", command="run {{n}}", parameters={"n": number}, env={"N": "{{n}}"})

@Pipeline(name="many", docker_env="python:3.11")
def chain():
    last = ContainerStep("s0", command="run", parameters={"n": 0}, outputs={"o": Artifact()})
    for number in range(1, steps):
        last = ContainerStep(f"s{number}", command=f"run {last.outputs['o']} {last.parameters['n']}", parameters={"n": number},
                             outputs={"o": Artifact()})

@Pipeline(name="many", docker_env="python:3.11")
def nested():
    last = None
    for number in range(steps // 10):
        with DAG(f"outer{number}", loop_argument=[1, 2]) as outer, DAG("inner"):
            for place in range(10):
                inputs = {} if last is None else {"i": last.outputs["o"]}
                made = ContainerStep(f"s{place}", command=f"run {outer.loop_argument.item}", inputs=inputs, outputs={"o": Artifact()})
        last = made

@Pipeline(name="many")
def functions():
    last = None
    for number in range(steps):
        last = work(number, last)

start = time.process_time()
pipeline = {"wide": wide, "chain": chain, "nested": nested, "functions": functions}[shape]()
made = time.process_time() - start
start = time.process_time()
definition = pipeline.compile()
seconds = time.process_time() - start
start = time.process_time()
json.dumps(definition, indent=2)
dumped = time.process_time() - start
start = time.process_time()
pipeline.to_yaml()
print(json.dumps([made, seconds, dumped, time.process_time() - start]))
"""
SHAPES = ("wide", "chain", "nested", "functions")


def python(program, *arguments):
    """What a program prints. It has a file, as functions become steps by their source."""
    path = pathlib.Path(tempfile.mkdtemp()) / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, path, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def imports(rounds, spread):
    """Round by round beside the import of Python's own modules that it needs."""
    python(IMPORT)
    ours, lowest = [], []
    for _ in range(rounds):
        seconds, names = python(IMPORT)
        ours.append(seconds * 1000)
        lowest.append(python(LOWEST, *names) * 1000)
    return {
        "import paddlecloud.pipeline, ms (bar 100)": spread(ours),
        "... Python's own modules of it alone, ms": spread(lowest),
        "... beside them": spread([a / b for a, b in zip(ours, lowest)]),
    }


def compiles(shape, rounds, spread):
    """The definition of 10,000 steps, beside writing it down with json.dumps."""
    seen = [python(COMPILE, shape, STEPS) for _ in range(rounds)]
    return {
        f"{shape}: {STEPS} steps compiled, s (bar 2)": spread([row[1] for row in seen]),
        "... beside json.dumps of it": spread([row[1] / row[2] for row in seen]),
        "... the steps made before, s": spread([row[0] for row in seen]),
        "... compiled and written as YAML, s (bar 2)": spread([row[3] for row in seen]),
    }


def figures(bench):
    result = imports(bench.ROUNDS, bench.spread)
    for shape in SHAPES:
        result |= {
            (f"{shape} {what}" if what.startswith("...") else what): value
            for what, value in compiles(shape, bench.ROUNDS, bench.spread).items()
        }
    return result
