"""`paddle pipeline lint`, `show` and `render`: without a server, on the pipeline of the guide."""

import hashlib
import json
import re
import subprocess

from conftest import BIN, ROOT


def pipeline(tmp_path, verb, text, *options, check=0):
    (tmp_path / "p.yaml").write_text(text)
    done = subprocess.run(
        [BIN / "paddle", "pipeline", verb, *options, "p.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"HOME": str(tmp_path), "PATH": "/nonexistent", "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == check, done.stdout + done.stderr
    return done


def of_guide():
    """The definition in doc/guide/pipelines.md, and the tree behind it."""
    page = (ROOT / "doc/guide/pipelines.md").read_text()
    definition = re.search(r"^```yaml\n(.*?)^```", page, re.S | re.M)[1]
    tree = re.search(r"^```\n(digits\n.*?)^```", page, re.S | re.M)[1]
    return definition, tree


def test_the_pipeline_of_the_guide_is_valid_and_drawn_as_it_says(tmp_path):
    definition, tree = of_guide()
    assert pipeline(tmp_path, "lint", definition).stdout == "p.yaml: valid (4 steps)\n"
    assert pipeline(tmp_path, "show", definition).stdout == tree


def test_lint_prints_all_errors_by_line(tmp_path):
    definition, _ = of_guide()
    wrong = definition.replace("deps: train", "deps: trian").replace("clean: {command", "clean: {comand")
    lines = pipeline(tmp_path, "lint", wrong, check=1).stdout.splitlines()
    places = [line for line in lines if line.startswith("p.yaml:")]
    row = 1 + wrong[: wrong.index("trian")].count("\n")
    assert places[0] == (
        f"p.yaml:{row}:11: entry_points.choose.deps: there is no component 'trian' beside this one (PE-08)"
    )
    assert lines[1] == "  Did you mean 'train'?"
    assert [re.search(r"\((PE-\d+)\)$", line)[1] for line in places] == ["PE-08", "PE-11", "PE-03"]
    reply = json.loads(pipeline(tmp_path, "lint", wrong, "-o", "json", check=1).stdout)
    assert not reply["valid"]
    assert [problem["class"] for problem in reply["problems"]] == ["PE-08", "PE-11", "PE-03"]
    assert reply["problems"][0]["line"] == row


def test_show_and_render_report_the_first_error_of_the_order_of_validation(tmp_path):
    wrong = "name: x\ndocker_env: i\nentry_points: {a_b: {deps: zz}}\n"
    for verb in ("show", "render"):
        done = pipeline(tmp_path, verb, wrong, check=2)
        assert "line 3, column 16: entry_points.a_b: 'a_b' is not a name of a component (PE-05)" in done.stderr
        assert "There are 2 errors; 'paddle pipeline lint' shows all." in done.stderr


def test_render_shows_what_a_run_would_do(tmp_path):
    definition, _ = of_guide()
    options = ("-o", "json", "-p", "train.epochs=3", "--run-id", "run-000042", "--user", "ann")
    reply = json.loads(pipeline(tmp_path, "render", definition, *options).stdout)
    by_name = {instance["instance"]: instance for instance in reply["instances"]}
    assert list(by_name) == [
        "entry_points.prepare",
        "entry_points.train",
        "entry_points.train-1",
        "entry_points.choose",
        "post_process.clean",
    ]

    def path(step, seq, name):
        runtime = f"digits.entry_points.{step}" + (f"-{seq}" if seq else "")
        code = hashlib.md5(runtime.encode()).hexdigest()  # noqa: S324
        return f".pipeline/run-000042/digits/{step}-{seq}-{code}/{name}"

    mount = "/home/paddleflow/storage/mnt/fs-ann-home/"
    second = by_name["entry_points.train-1"]
    assert second["parameters"] == {"epochs": 3}
    assert second["outputs"] == {"model": path("train", 1, "model")}
    assert second["command"] == (
        f"python train.py {mount}{path('prepare', 0, 'data')} --rate 0.01 --epochs 3 "
        f"--out {mount}{path('train', 1, 'model')}"
    )
    assert second["env"]["PF_LOOP_ARGUMENT"] == "0.01"
    models = f"{path('train', 0, 'model')},{path('train', 1, 'model')}"
    assert by_name["entry_points.choose"]["inputs"] == {"models": models}


def test_options_stand_for_what_a_request_sets(tmp_path):
    bare = "entry_points: {a: {parameters: {p: 1}, artifacts: {output: [o]}}, b: {deps: a}}\n"
    assert "PE-04" in pipeline(tmp_path, "lint", bare, check=1).stdout
    options = ("--name", "x", "--image", "i", "--fs", "home", "--disabled", "b", "-p", "a.p=2")
    assert "valid (2 steps)" in pipeline(tmp_path, "lint", bare, *options).stdout
    assert "b  after a; disabled" in pipeline(tmp_path, "show", bare, *options).stdout
    done = pipeline(tmp_path, "lint", bare, *options, "-p", "zz=1", check=1)
    assert done.stdout == "p.yaml: parameters.zz: no component has a parameter of this name (PE-32)\n"
    assert "is not NAME=VALUE" in pipeline(tmp_path, "lint", bare, "-p", "zz", check=2).stderr


def test_the_body_of_a_run_as_json(tmp_path):
    body = {"name": "x", "dockerEnv": "i", "entryPoints": {"a": {"command": "c", "flavour": "small"}}}
    text = json.dumps(body)
    assert "PE-03" in pipeline(tmp_path, "lint", text, check=1).stdout
    reply = json.loads(pipeline(tmp_path, "render", text, "--runjson", "-o", "json").stdout)
    assert reply["instances"][0]["env"]["PF_JOB_FLAVOUR"] == "small"


def test_a_large_list_is_cut(tmp_path):
    many = f"name: x\ndocker_env: i\nentry_points: {{a: {{loop_argument: {list(range(500))}}}}}\n"
    done = pipeline(tmp_path, "render", many, "-o", "json", "--limit", "7")
    assert len(json.loads(done.stdout)["instances"]) == 7
    assert "only the first 7 instances are shown" in done.stderr


def test_a_name_that_is_cut_within_a_character_is_shown(tmp_path):
    reply = json.loads(
        pipeline(
            tmp_path,
            "lint",
            "name: x\ndocker_env: i\nentry_points: {" + 22 * "中" + ": {command: c}}\n",
            "-o",
            "json",
            check=1,
        ).stdout
    )
    assert [problem["class"] for problem in reply["problems"]] == ["PE-05"]


def test_words_that_become_parts_of_paths(tmp_path):
    for options in (["--user", b"\xff"], ["--user", ""], ["--run-id", "../../x"], ["--run-id", ".."]):
        done = pipeline(
            tmp_path, "render", "name: x\ndocker_env: i\nentry_points: {a: {command: c}}\n", *options, check=2
        )
        assert done.stderr.startswith(f"paddle: {options[0]}: "), done.stderr
