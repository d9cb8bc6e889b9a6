"""Sweeps, and what jobs report: it comes home, is kept with the job, and is shown best first."""

import csv
import io
import json
import sys

import paddlecloud
import pytest
import yaml
from conftest import ROOT, server_of_module, wait_for

PATIENCE = 60

server = server_of_module("--cpus", "8", "--memory", "8Gi")


def submit(server, name, script, *words):
    server.paddle(
        *("submit", "--no-package", "--name", name, "--cpu", "100m", *words, "--", "sh", "-c", script), check=0
    )


def results(server, name):
    return server.get(f"/v1/jobs/{name}").json["results"]


def test_a_sweep_runs_each_combination(server):
    report = 'echo "loss=$lr$depth" >> $PADDLE_PROGRESS_FILE; echo "got $lr $depth"'
    submit(server, "grid", report, "--sweep", "lr=3,1", "--sweep", "depth=2,4", "--label", "team=b")
    server.paddle("wait", "grid", check=0)
    combinations = [("3", "2"), ("3", "4"), ("1", "2"), ("1", "4")]
    for index, (lr, depth) in enumerate(combinations):
        assert server.paddle("logs", f"grid[{index}]", check=0).stdout == f"worker-0 | got {lr} {depth}\n"
        job = server.get(f"/v1/jobs/grid-{index}").json
        assert job["labels"] == {"team": "b", "lr": lr, "depth": depth}
        assert job["results"]["loss"]["last"] == float(lr + depth)
    assert server.get("/v1/jobs/grid").json["labels"] == {"team": "b"}  # what is so of all
    shown = server.paddle("status", "grid", check=0).stdout
    assert "sweep        lr=3,1\n             depth=2,4\n" in shown
    assert server.get("/v1/jobs/grid").json["spec"]["sweep"] == {"lr": ["3", "1"], "depth": ["2", "4"]}
    least = server.paddle("results", "grid", "--sort", "loss", check=0).stdout.splitlines()
    assert least[0].split() == ["JOB", "STATE", "lr", "depth", "loss.min", "loss"]
    assert [line.split()[0] for line in least[1:]] == ["grid[2]", "grid[3]", "grid[0]", "grid[1]"]
    greatest = server.paddle("results", "grid", "--sort=-loss", check=0).stdout.splitlines()
    assert [line.split()[0] for line in greatest[1:]] == ["grid[1]", "grid[0]", "grid[3]", "grid[2]"]
    rows = list(csv.DictReader(io.StringIO(server.paddle("results", "grid", "-o", "csv", check=0).stdout)))
    assert [(row["lr"], row["depth"]) for row in rows] == combinations
    assert [float(row["loss.max"]) for row in rows] == [32, 34, 12, 14]
    listed = json.loads(server.paddle("results", "grid", "-o", "json", check=0).stdout)
    assert listed[1]["parameters"] == {"lr": "3", "depth": "4"} and listed[1]["name"] == "grid[1]"
    forms = {form: server.paddle("results", "grid", "-o", form, check=0).stdout for form in ("wide", "yaml", "name")}
    assert forms["wide"].splitlines()[0].split() == ["JOB", "STATE", "lr", "depth", "loss", "loss.min", "loss.max"]
    assert yaml.safe_load(forms["yaml"]) == listed
    assert forms["name"].splitlines() == [f"grid[{index}]" for index in range(4)]
    unknown = server.paddle("results", "grid", "--sort", "nothing")
    assert unknown.returncode == 2 and "no job reported 'nothing'" in unknown.stderr


def test_who_diverged_comes_last(server):
    report = 'printf "loss=0.1\\nloss=$last\\n" >> $PADDLE_PROGRESS_FILE'
    submit(server, "diverged", report, "--sweep", "last=nan,0.3,0.1,inf", "--follow")
    for order in ("loss", "-loss"):
        shown = server.paddle("results", "diverged", f"--sort={order}", check=0).stdout.splitlines()
        assert {line.split()[2] for line in shown[3:]} == {"nan", "inf"}, shown
    rows = list(csv.DictReader(io.StringIO(server.paddle("results", "diverged", "-o", "csv", check=0).stdout)))
    assert [(row["loss.min"], row["loss"]) for row in rows][1:3] == [("0.1", "0.3"), ("0.1", "0.1")]


def test_a_followed_sweep_says_where_its_results_are(server):
    line = ["submit", "--no-package", "--name", "told", "--cpu", "100m", "--sweep", "a=1,2", "--follow", "--", "true"]
    assert "`paddle results told` shows what they reported" in server.paddle(*line, check=0).stderr


def test_last_least_and_greatest_and_what_is_no_report(server):
    lines = "loss=2\\nloss=0.5\\nloss=1\\nnonsense\\nx y=1\\nbad=nan\\nval/acc = 0.75\\nend=7"
    submit(server, "folds", f"printf '{lines}' >> $PADDLE_PROGRESS_FILE")
    server.paddle("wait", "folds", check=0)
    assert results(server, "folds") == {
        "loss": {"last": 1, "min": 0.5, "max": 2},
        "bad": {"last": None, "min": None, "max": None},
        "val/acc": {"last": 0.75, "min": 0.75, "max": 0.75},
        "end": {"last": 7, "min": 7, "max": 7},
    }
    assert "loss 1 (0.5 to 2)" in server.paddle("status", "folds", check=0).stdout


def test_a_running_job_shows_its_last_values(server, tmp_path):
    gate = tmp_path / "gate"
    script = f"echo loss=4 >> $PADDLE_PROGRESS_FILE; until test -e {gate}; do sleep 0.02; done; echo loss=3 >> $PADDLE_PROGRESS_FILE"
    submit(server, "live", script)
    wait_for(lambda: results(server, "live").get("loss", {}).get("last") == 4, PATIENCE, "the first value")
    assert "loss 4 (4 to 4)" in server.paddle("status", "live", check=0).stdout
    server.kill()  # what was reported meanwhile is not lost
    gate.touch()
    server.start()
    server.paddle("wait", "live", check=0)
    assert results(server, "live") == {"loss": {"last": 3, "min": 3, "max": 4}}


def test_a_retry_goes_on(server, tmp_path):
    """The least and the greatest are of both attempts, the last of the second."""
    mark = tmp_path / "mark"
    script = f"test -e {mark} && loss=2 || loss=1; touch {mark}; echo loss=$loss >> $PADDLE_PROGRESS_FILE; exit 1"
    submit(server, "again", script, "--retries", "1")
    server.paddle("wait", "again")
    job = server.get("/v1/jobs/again").json
    assert job["attempt"] == 2 and job["results"]["loss"] == {"last": 2, "min": 1, "max": 2}


def test_the_first_member_speaks_for_the_job(server):
    submit(server, "ranks", 'echo "rank=$PADDLE_TRAINER_ID" >> $PADDLE_PROGRESS_FILE', "-n", "3")
    server.paddle("wait", "ranks", check=0)
    assert results(server, "ranks")["rank"] == {"last": 0, "min": 0, "max": 0}


def test_a_flood_is_bounded(server):
    """Half a million lines and a hundred names: the server keeps 32 names, and their last values are right."""
    program = (
        "import os\n"
        "with open(os.environ['PADDLE_PROGRESS_FILE'], 'a') as file:\n"
        "    for i in range(500000): file.write(f'step={i}\\n')\n"
        "    for i in range(100): file.write(f'n{i}=1\\n')\n"
        "    file.write('step=-1\\n')\n"
    )
    done = server.paddle(
        *("submit", "--no-package", "--name", "flood", "--cpu", "1", "--", sys.executable, "-c", program), check=0
    )
    assert done.stdout.startswith("flood ")
    server.paddle("wait", "flood", check=0)
    kept = results(server, "flood")
    assert len(kept) == 32 and kept["step"]["last"] == -1


def test_report_in_python(server):
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import paddlecloud\n" + (
        "for loss in (0.5, 0.25, 0.375): paddlecloud.report(loss=loss, accuracy=1 - loss)\n"
    )
    with paddlecloud.Client(server.url) as client:
        spec = {"command": [sys.executable, "-c", program], "name": "sdk", "sweep": {"a": [1, 2]}}
        array = client.submit({**spec, "roles": [{"name": "worker", "cpu": "500m"}]})
        assert client.wait(array.id, timeout=PATIENCE).state == "succeeded"
        rows = array.results()
        assert [(row["index"], row["parameters"]) for row in rows] == [(0, {"a": "1"}), (1, {"a": "2"})]
        assert rows[1]["results"] == {
            "loss": {"last": 0.375, "min": 0.25, "max": 0.5},
            "accuracy": {"last": 0.625, "min": 0.5, "max": 0.75},
        }
        assert client.results("sdk[1]")[0]["results"] == rows[1]["results"]
    paddlecloud.report(loss=1)  # outside of a job nothing happens
    with pytest.raises(TypeError, match=r"report\(loss='abc'\): 'loss' must be a number, not str"):
        paddlecloud.report(loss="abc")
    with pytest.raises(ValueError, match="not a name to report"):
        paddlecloud.report(**{"a b": 1})


def test_what_a_container_leaves(monkeypatch, tmp_path):
    """A Kubernetes cluster keeps the last 4 KiB of a container's message: all that was reported fits."""
    path = tmp_path / "message"
    monkeypatch.setenv("PADDLE_PROGRESS_FILE", "/dev/termination-log")
    written = {}

    def fake_open(name, mode):
        written[name] = mode
        return open(path, mode)

    module = sys.modules["paddlecloud.report"]
    monkeypatch.setattr(module, "open", fake_open, raising=False)
    for step in range(1000):
        paddlecloud.report(loss=abs(step - 500))
    assert path.read_text().splitlines() == ["loss=0.0", "loss=500.0", "loss=499.0"] and len(written) == 1
    paddlecloud.report(loss=float("nan"))  # neither the least nor the greatest
    assert path.read_text().splitlines() == ["loss=0.0", "loss=500.0", "loss=nan"]
    paddlecloud.report(odd=float("nan"))
    paddlecloud.report(odd=2)
    assert path.read_text().splitlines()[3:] == ["odd=2.0", "odd=2.0", "odd=2.0"]
    for n in range(60):  # whole lines, the latest
        paddlecloud.report(**{f"a_name_of_some_length_{n}": 1 / 3})
    text = path.read_text()
    assert 4000 < len(text) <= 4096 and text.startswith("a_name_of_some_length_") and "_59=" in text


def numbers(n):
    return ",".join(map(str, range(n)))


@pytest.mark.parametrize(
    "words, says",
    [
        (["--sweep", "lr"], "--sweep: 'lr' is not NAME=VALUE,VALUE"),
        (["--sweep", "=1"], "--sweep: '=1' is not NAME=VALUE,VALUE"),
        (["--sweep", "a b=1"], "sweep: 'a b' is not a variable's name"),
        (["--sweep", "lr=1,,2"], "sweep.lr: a value is empty"),
        (["--sweep", "lr=1", "--sweep", "lr=2"], "--sweep: 'lr' is given twice"),
        (["--sweep", "lr=0.1,1,0.1"], "sweep.lr: the value '0.1' is given twice"),
        (["--sweep", "lr=1", "-e", "lr=2"], "sweep.lr: env sets the variable 'lr', too"),
        (["--sweep", "PATH=/bin,/x"], "sweep: the variable 'PATH' has a meaning of its own"),
        (["--sweep", "LD_PRELOAD=a,b"], "'LD_PRELOAD' has a meaning of its own"),
        (["--sweep", "PADDLE_TRAINER_ID=1,2"], "'PADDLE_TRAINER_ID' has a meaning of its own"),
        (["--sweep", "lr=1", "--array", "0-2"], "--sweep cannot be combined with --array"),
        (["--sweep-parallel", "2"], "--sweep-parallel goes with --sweep"),
        (["--sweep", "lr=1,2", "--sweep-parallel", "0"], "--sweep-parallel: '0'"),
        (["--sweep", "a=" + numbers(101), "--sweep", "b=" + numbers(100)], "more than 10000 jobs"),
    ],
)
def test_refused(server, words, says):
    done = server.paddle("submit", "--no-package", *words, "--", "true")
    assert done.returncode == 2 and says in done.stderr, done


def test_the_example(server):
    done = server.paddle(
        *("submit", "--name", "line", "--cpu", "100m", "--sweep", "LR=0.3,0.01", "--sweep", "STEPS=20,200"),
        *("--sweep-parallel", "2", "--", sys.executable, "train.py"),
        cwd=ROOT / "examples/sweep",
        check=0,
    )
    assert "4 jobs, 0-3%2" in done.stderr
    server.paddle("wait", "line", check=0)
    best = server.paddle("results", "line", "--sort", "loss", check=0).stdout.splitlines()[1].split()
    assert best[:4] == ["line[1]", "succeeded", "0.3", "200"] and float(best[4]) < 0.02
