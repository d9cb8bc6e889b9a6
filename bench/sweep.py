"""The sweep of examples/pipelines again with one change: which of its steps run, and which the cache gives. Part of bench.py."""

import json
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWEEP = ROOT / "examples/pipelines/sweep/pipeline.yaml"
NETWORKS = [f"{hidden} {rate}" for hidden in (16, 32, 64) for rate in ("0.003", "0.01", "0.03", "0.1")]
FEW = {"trial.train.passes": "2"}  # so that training is short; what is reused does not depend on it
TRIALS = {f"trial-{number}.{step}" for number in range(len(NETWORKS)) for step in ("train", "validate")}
CHANGES = {  # parameters, and the steps that depend on them
    "nothing": (FEW, set()),
    "one of 12 networks": (
        {**FEW, "trial.networks": json.dumps([*NETWORKS[:-1], "48 0.1"])},
        {"trial-11.train", "trial-11.validate", "best"},
    ),
    "the passes of the training": ({"trial.train.passes": "3"}, {*TRIALS, "best"}),
}


def run(bench, server, parameters):
    """{path of a step: whether it ran} of a run that has succeeded, and its seconds."""
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
    start = time.monotonic()
    done = subprocess.run(
        [bench.BIN / "paddle", "--server", server.url, "run", "create", "-f", SWEEP, "--follow", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - start
    assert done.returncode == 0, done.stdout + done.stderr
    nodes = server.get(f"/v1/runs/{done.stdout.split()[0]}/nodes?limit=1000").json["items"]
    return {node["path"]: not node["cached"] for node in nodes if node["type"] == "step"}, seconds


def figures(bench):
    result = {}
    with bench.Scratch("--cpus", "4") as server:
        ran, seconds = run(bench, server, FEW)
        assert set(ran) == {"preprocess", *TRIALS, "best"} and all(ran.values())
        result["the first time: steps that ran, s"] = f"{len(ran)} of {len(ran)}, {seconds:.1f}"
        for what, (parameters, expected) in CHANGES.items():
            ran, seconds = run(bench, server, parameters)
            found = {path for path, itself in ran.items() if itself}
            assert found == expected, f"{what} changed: {sorted(found ^ expected)}"
            result[f"{what} changed: steps that ran, s"] = f"{len(found)} of {len(ran)}, {seconds:.1f}"
    return result
