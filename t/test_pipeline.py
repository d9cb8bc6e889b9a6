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


def test_the_picture_of_the_guide_is_drawn_as_it_says(tmp_path):
    """To standard output, or to a file. Its text is that of doc/guide/pipeline.svg."""
    definition, _ = of_guide()
    shown = (ROOT / "doc/guide/pipeline.svg").read_text()
    assert pipeline(tmp_path, "show", definition, "--svg").stdout == shown
    done = pipeline(tmp_path, "show", definition, "p.yaml", "drawn.svg", check=2)
    assert "needs --svg" in done.stderr or "does not take" in done.stderr


def test_a_picture_of_others_is_not_replaced(tmp_path):
    definition, _ = of_guide()
    shown = pipeline(tmp_path, "show", definition, "--svg").stdout
    for old in (None, "", shown.replace("prepare", "before")):
        if old is not None:
            (tmp_path / "p.svg").write_text(old)
        pipeline(tmp_path, "show", definition, "--svg=p.svg")
        assert (tmp_path / "p.svg").read_text() == shown
    (tmp_path / "p.svg").write_text("<svg>mine</svg>")
    done = pipeline(tmp_path, "show", definition, "--svg=p.svg", check=2)
    assert done.stderr.startswith("paddle: 'p.svg' is there already, is not a picture that paddle drew, and is not")
    assert (tmp_path / "p.svg").read_text() == "<svg>mine</svg>"


def test_all_pipelines_of_the_guide_are_valid(tmp_path):
    """A run needs no image on one machine, so `lint` asks for none; PaddleFlow's interface does."""
    page = (ROOT / "doc/guide/pipelines.md").read_text()
    pipelines = [text for text in re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M) if "entry_points" in text]
    assert len(pipelines) >= 3 and any("docker_env" not in text for text in pipelines)
    for text in pipelines:
        assert pipeline(tmp_path, "lint", text).stdout.startswith("p.yaml: valid (")
        assert 'image: ""' not in pipeline(tmp_path, "render", text).stdout


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
    assert [re.search(r"\((PE-\d+)\)$", line)[1] for line in places] == ["PE-08", "PE-03"]
    reply = json.loads(pipeline(tmp_path, "lint", wrong, "-o", "json", check=1).stdout)
    assert not reply["valid"]
    assert [problem["class"] for problem in reply["problems"]] == ["PE-08", "PE-03"]
    assert reply["warnings"] == []
    assert reply["problems"][0]["line"] == row


def test_lint_checks_several_files(tmp_path):
    """As commit hooks give them. The count of errors is the last line of a file also where both streams are one."""
    (tmp_path / "a.yaml").write_text("name: a\nentry_points: {a: {command: x, deps: z}}\ndocker_env: i\n")
    (tmp_path / "b.yaml").write_text("name: b\nentry_points: {b: {command: x}}\ndocker_env: i\n")

    def lint(*words, check):
        done = subprocess.run(
            [BIN / "paddle", "pipeline", "lint", *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == check, done.stdout
        return done.stdout

    assert lint("a.yaml", "b.yaml", check=1).splitlines() == [
        "a.yaml:2:38: entry_points.a.deps: there is no component 'z' beside this one (PE-08)",
        "a.yaml: 1 error",
        "b.yaml: valid (1 step)",
    ]
    text = lint("none.yaml", "b.yaml", check=2)
    assert "'none.yaml'" in text
    assert "b.yaml: valid (1 step)" in text
    replies = json.loads(lint("a.yaml", "b.yaml", "-o", "json", check=1))
    assert [(reply["file"], reply["valid"]) for reply in replies] == [("a.yaml", False), ("b.yaml", True)]


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
    assert done.stdout == "-p zz: no component has a parameter of this name (PE-32)\n  There are: a.p.\n"
    body = '{"name": "x", "entryPoints": {"a": {"command": "c"}}}'
    assert "or give --image" in pipeline(tmp_path, "lint", body, "--runjson", check=1).stdout
    assert "valid (1 step)" in pipeline(tmp_path, "lint", body, "--runjson", "--image", "i").stdout
    done = pipeline(tmp_path, "render", bare, *options, "-p", "a.q=1", check=2)
    assert done.stderr.startswith("paddle: -p a.q: the component 'a' has no parameter 'q' (PE-32)")
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


EXAMPLES = ROOT / "examples" / "pipelines"


def outcome(instance, home, mount):
    """Runs the command of an instance with its artifacts below `home`."""
    for path in instance.get("outputs", {}).values():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
    command = instance["command"].replace(mount, f"{home}/")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PF_RUN_ID": instance["env"]["PF_RUN_ID"]}
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False, env=env)


def test_the_examples_are_valid_and_their_commands_work(tmp_path):
    """In the order in which `render` shows them, which the dependencies of the examples allow."""
    wanted = {  # the steps whose command fails, and the text that one prints
        "nested": ([], "check", "5050"),
        "search": ([], "publish", "published with a loss of 0.000000"),
        "failure": (["load"], "clean", "run run-000001 is over"),
    }
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == set(wanted)
    for name, (fails, last, prints) in wanted.items():
        text = (EXAMPLES / f"{name}.yaml").read_text()
        assert "warning" not in pipeline(tmp_path, "lint", text).stdout
        options = ("-o", "json", "--user", "ann")
        steps = json.loads(pipeline(tmp_path, "render", text, *options).stdout)["instances"]
        mount, failed, printed = "/home/paddleflow/storage/mnt/fs-ann-home/", [], {}
        for step in (step for step in steps if step["type"] == "step"):
            done = outcome(step, tmp_path / name, mount)
            short = step["instance"].rsplit(".", 1)[1]
            failed += [short] if done.returncode else []
            printed[short] = done.stdout
        assert failed == fails, name
        assert printed[last] == prints + "\n"


def test_the_guide_shows_an_example():
    page = (ROOT / "doc/guide/pipelines.md").read_text()
    assert f"```yaml\n{(EXAMPLES / 'failure.yaml').read_text()}```" in page


def test_warnings_of_what_is_valid_but_cannot_work(tmp_path):
    text = (
        "name: x\ndocker_env: i\nentry_points:\n  a:\n    parameters: {n: 5}\n    loop_argument: '{{n}}'\n"
        "    command: echo\n"
    )
    assert pipeline(tmp_path, "lint", text).stdout == (
        "p.yaml:6:20: entry_points.a.loop_argument: warning: the parameter 'n' is '5', which is not a list: this "
        "component fails (RE-02)\np.yaml: valid (1 step), 1 warning\n"
    )
    reply = json.loads(pipeline(tmp_path, "lint", text, "-o", "json").stdout)
    assert (reply["valid"], reply["errors"], len(reply["warnings"])) == (True, 0, 1)


def test_numbers_are_the_shortest_that_read_back(tmp_path):
    text = "name: x\ndocker_env: i\nentry_points: {a: {parameters: {p: 0.1, q: 0.30000000000000004, r: 1e21}}}\n"
    shown = pipeline(tmp_path, "render", text).stdout
    assert "      p: 0.1\n      q: 0.30000000000000004\n      r: 1e+21\n" in shown
    assert '"p": 0.1,' in pipeline(tmp_path, "render", text, "-o", "json").stdout


def test_post_process_with_a_loop_shows_its_first_item(tmp_path):
    text = (
        "name: x\ndocker_env: i\nentry_points: {a: {}}\ncomponents: {c: {loop_argument: [7, 8], command: "
        "'echo {{PF_LOOP_ARGUMENT}}'}}\npost_process: {end: {reference: {component: c}}}\n"
    )
    reply = json.loads(pipeline(tmp_path, "render", text, "-o", "json").stdout)
    last = reply["instances"][-1]
    assert (last["instance"], last["command"], last["loop_item"]) == ("post_process.end", "echo 7", 7)
    assert "runs once: with the first item" in pipeline(tmp_path, "lint", text).stdout


def test_a_parameter_of_a_reference_step(tmp_path):
    text = (
        "name: x\ndocker_env: i\ncomponents: {c: {parameters: {n: {type: int, default: 1}, m: 2}, command: '{{n}}'}, "
        "b: {reference: {component: c}, parameters: {n: 2}}}\n"
        "entry_points: {r: {reference: {component: c}, parameters: {n: 3}}}\n"
    )
    reply = json.loads(pipeline(tmp_path, "render", text, "-o", "json", "-p", "r.n=17").stdout)
    assert reply["instances"][0]["parameters"] == {"n": 17, "m": 2}
    done = pipeline(tmp_path, "lint", text, "-p", "n=abc", check=1)
    assert done.stdout == "-p n: must be a whole number, not 'abc' (PE-16)\n"
    done = pipeline(tmp_path, "lint", text, "-p", "r.m=1", check=1)
    assert done.stdout == (
        "-p r.m: the component 'r' has no parameter 'm' (PE-32)\n"
        "  It refers to 'c', which has one: add the parameter to 'r' to set it.\n"
    )
