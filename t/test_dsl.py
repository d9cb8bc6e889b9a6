"""Pipelines described in Python (paddlecloud.pipeline): what each description becomes, without a server.

C137 to C154 are the conformance cases of this language. Whole definitions go through `paddle pipeline lint`."""

import hashlib
import json
import subprocess
import types
import xml.etree.ElementTree

import pytest
from conftest import BIN
from paddlecloud.pipeline import (
    DAG,
    FAIL_CONTINUE,
    FAIL_FAST,
    PF_LOOP_ARGUMENT,
    PF_RUN_ID,
    PF_STEP_NAME,
    PF_USER_NAME,
    Artifact,
    CacheOptions,
    ContainerStep,
    DSLError,
    ExtraFS,
    FailureOptions,
    FSOptions,
    FSScope,
    MainFS,
    Parameter,
    Pipeline,
    emit,
    loop,
    post_process,
    when,
)

FS = FSOptions(MainFS("data"))


def pipeline_of(function, **options):
    """The pipeline whose components `function` makes."""
    options = {"name": "p", "docker_env": "python:3.11", "fs_options": FS, **options}
    return Pipeline(**options)(function)()


def compiled(function, **options):
    """Its entry points."""
    return pipeline_of(function, **options).compile()["entry_points"]


def alone(*arguments, **keywords):
    """What one step becomes."""
    return compiled(lambda: ContainerStep("one", *arguments, **keywords))["one"]


def lint(tmp_path, pipeline):
    """What the server's own reader says of the text in YAML and in JSON, which have to be the same definition."""
    said = []
    for kind in ("yaml", "json"):
        path = tmp_path / f"p.{kind}"
        pipeline.compile(path)
        done = subprocess.run(
            [BIN / "paddle", "pipeline", "lint", path], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr + path.read_text()
        shown = subprocess.run(
            [BIN / "paddle", "pipeline", "render", path], capture_output=True, text=True, timeout=60, check=False
        )
        assert shown.returncode == 0, shown.stderr
        said.append(shown.stdout)
    assert said[0] == said[1]
    return said[0]


def code(full_name, name):
    """MD5 in base 36."""
    number, text = int(hashlib.md5(f"{full_name}.{name}".encode()).hexdigest(), 16), ""
    while number:
        text, number = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36] + text, number // 36
    return text


# -- conformance cases


def test_c137_a_step_with_only_a_command():
    assert alone(command="echo hello") == {"type": "step", "command": "echo hello"}
    assert alone() == {"type": "step"}  # upstream crashes


def test_c138_outputs_are_a_sorted_list():
    step = alone(command="x", outputs={"validate_data": Artifact(), "train_data": Artifact()})
    assert step["artifacts"] == {"output": ["train_data", "validate_data"]}


def test_c139_inputs_from_a_sibling_and_from_the_parent():
    def make():
        first = ContainerStep("step", command="x", outputs={"train_data": Artifact()})
        ContainerStep("other", command="x", inputs={"data": first.outputs["train_data"]})
        with DAG("dag") as dag:
            dag.inputs["x"] = first.outputs["train_data"]
            ContainerStep("inner", command="x", inputs={"data": dag.inputs["x"]})

    made = compiled(make)
    assert made["other"] == {
        "type": "step",
        "deps": "step",
        "artifacts": {"input": {"data": "{{step.train_data}}"}},
        "command": "x",
    }
    assert made["dag"]["artifacts"] == {"input": {"x": "{{step.train_data}}"}} and made["dag"]["deps"] == "step"
    assert made["dag"]["entry_points"]["inner"]["artifacts"] == {"input": {"data": "{{PF_PARENT.x}}"}}


def test_c140_forms_of_parameters():
    parameters = {
        "plain": "pipeline",
        "typed": Parameter(type=int),
        "text": Parameter("base info", str),
        "default": Parameter(123),
    }
    assert alone(command="x", parameters=parameters)["parameters"] == {
        "plain": "pipeline",
        "typed": {"type": "int"},
        "text": {"type": "string", "default": "base info"},
        "default": {"default": 123},
    }


def test_c141_after():
    def make():
        step, step1 = ContainerStep("step", command="x"), ContainerStep("step1", command="x")
        last = ContainerStep("last", command="x")
        assert last.after(step1, step) is last

    assert compiled(make)["last"]["deps"] == "step,step1"


def test_c142_the_default_cache_options():
    assert CacheOptions().compile() == {"enable": False, "max_expired_time": -1}
    assert alone(command="x", cache_options=CacheOptions())["cache"] == {"enable": False, "max_expired_time": -1}


@pytest.mark.parametrize("first, second", [("inputs", "parameters"), ("inputs", "outputs"), ("outputs", "parameters")])
@pytest.mark.parametrize("name", ["x", "X"])
def test_c143_a_name_twice_in_a_step(first, second, name):
    def make():
        other = ContainerStep("other", command="x", outputs={"o": Artifact()})
        values = {"inputs": other.outputs["o"], "outputs": Artifact(), "parameters": 1}
        with pytest.raises(DSLError, match="different names"):
            ContainerStep("step", command="x", **{first: {"x": values[first]}, second: {name: values[second]}})

    pipeline_of(make)


def test_c144_a_ring_and_a_name_twice():
    def ring():
        a, b, c = (ContainerStep(name, command="x") for name in "abc")
        a.after(c), b.after(a), c.after(b)
        ContainerStep("d", command="x").after(a)

    with pytest.raises(DSLError, match="a -> c -> b -> a"):
        compiled(ring)

    def twice():
        ContainerStep("a", command="x")
        ContainerStep("a", command="y")

    with pytest.raises(DSLError, match="two components with the name 'a'"):
        pipeline_of(twice)


def test_c145_a_second_post_process_replaces_the_first():
    made = pipeline_of(lambda: ContainerStep("a", command="x"))
    made.set_post_process(ContainerStep("first", command="x"))
    made.set_post_process(ContainerStep("second", command="x"))
    assert made.get_post_process().name == "second"
    assert made.compile()["post_process"] == {"second": {"type": "step", "command": "x"}}


def test_c146_the_kind_of_the_saved_file(tmp_path):
    made = pipeline_of(lambda: ContainerStep("a", command="x"))
    with pytest.raises(DSLError, match="ppl.txt"):
        made.compile(tmp_path / "ppl.txt")
    assert not (tmp_path / "ppl.txt").exists()
    for kind in ("json", "yaml", "yml"):
        definition = made.compile(str(tmp_path / f"new/{kind}/ppl.{kind}"))
        text = (tmp_path / f"new/{kind}/ppl.{kind}").read_text()
        assert definition["name"] == "p" and (json.loads(text) == definition if kind == "json" else "name: p" in text)


def test_c147_names_and_values_of_variables():
    for env, says in [
        ({"12245": "x"}, "12245"),
        ({"a": object()}, "it is a text or a parameter"),
        ({"a": 1}, "write '1'"),
    ]:
        with pytest.raises(DSLError, match=says):
            ContainerStep("step", command="x", env=env)
        with pytest.raises(DSLError, match=says):
            Pipeline(name="p", env=env)


def test_c148_loops_over_what_others_have():
    def make():
        source = ContainerStep("source", command="x", outputs={"list": Artifact()}, parameters={"p": [1, 2]})
        ContainerStep("artifact", command="x", loop_argument=source.outputs["list"])
        ContainerStep("parameter", command="x", loop_argument=source.parameters["p"])
        ContainerStep("text", command="x", loop_argument=str(source.parameters["p"]))
        with DAG("dag", loop_argument=[[1, 2], [3]]) as dag:
            ContainerStep("item", command="x", loop_argument=dag.loop_argument.item)

    made = compiled(make)
    name = "loop_art_" + code("PF-ENTRY-POINT.source", "list")
    assert made["artifact"]["artifacts"] == {"input": {name: "{{source.list}}"}}
    assert (made["artifact"]["loop_argument"], made["artifact"]["deps"]) == ("{{" + name + "}}", "source")
    name = "loop_param_" + code("PF-ENTRY-POINT.source", "p")
    for step in (made["parameter"], made["text"]):
        assert step["parameters"] == {name: "{{source.p}}"} and step["loop_argument"] == "{{" + name + "}}"
    name = "loop_param_" + code("PF-ENTRY-POINT.dag", "PF_LOOP_ARGUMENT")
    item = made["dag"]["entry_points"]["item"]
    assert item["parameters"] == {name: "{{PF_PARENT.PF_LOOP_ARGUMENT}}"}
    assert item["loop_argument"] == "{{" + name + "}}"


@pytest.mark.parametrize("argument", [(1, 2), "word", True, 5, [True], [None], {"a": 1}, '{"a": 1}', "x{{p}}"])
def test_c149_what_is_no_loop(argument):
    with pytest.raises(DSLError):
        ContainerStep("step", command="x", loop_argument=argument)


def test_c149_a_loop_over_its_own_item():
    step = ContainerStep("step", command="x", loop_argument=[1])
    with pytest.raises(DSLError, match="the same loop"):
        step.loop_argument = step.loop_argument.item

    def make():
        step = ContainerStep("step", command="x", loop_argument=[1])
        step.loop_argument = str(step.loop_argument.item)

    with pytest.raises(DSLError, match="the same loop"):
        compiled(make)
    with pytest.raises(DSLError, match="belongs to no step"):
        ContainerStep("step", command="x", loop_argument=Parameter([1]))


def test_c150_a_parameter_from_inside_of_a_sibling():
    def make():
        with DAG("dag"):
            inner = ContainerStep("inner", command="x", parameters={"p": 1})
        ContainerStep("reader", command="x", parameters={"p": inner.parameters["p"]})

    with pytest.raises(DSLError, match="step 'reader' cannot have the parameter 'p' of step 'dag.inner'"):
        compiled(make)


def test_c151_values_across_the_borders_of_two_dags():
    """What `show` makes outside of both goes in to `inner`, and what `inner` makes comes out to `end`."""

    def make():
        show = ContainerStep("show", command="x", parameters={"n": 3}, outputs={"list": Artifact()})
        with DAG("dag1"), DAG("dag2"):
            inner = ContainerStep(
                "inner",
                command="x",
                parameters={"n": show.parameters["n"]},
                inputs={"list": show.outputs["list"]},
                outputs={"sum": Artifact()},
            )
        ContainerStep("end", command="x", inputs={"sum": inner.outputs["sum"]})

    made = compiled(make)
    parameter = "dsl_param_" + code("PF-ENTRY-POINT.show", "n")
    going_in = "dsl_art_" + code("PF-ENTRY-POINT.show", "list")
    coming_out = "dsl_art_" + code("PF-ENTRY-POINT.dag1.dag2.inner", "sum")
    dag1, dag2 = made["dag1"], made["dag1"]["entry_points"]["dag2"]
    assert (dag1["deps"], made["end"]["deps"]) == ("show", "dag1") and "deps" not in dag2
    assert dag1["parameters"] == {parameter: "{{show.n}}"}
    assert dag2["parameters"] == {parameter: "{{PF_PARENT." + parameter + "}}"}
    assert dag1["artifacts"] == {
        "input": {going_in: "{{show.list}}"},
        "output": {coming_out: "{{dag2." + coming_out + "}}"},
    }
    assert dag2["artifacts"] == {
        "input": {going_in: "{{PF_PARENT." + going_in + "}}"},
        "output": {coming_out: "{{inner.sum}}"},
    }
    assert dag2["entry_points"]["inner"] == {
        "type": "step",
        "parameters": {"n": "{{PF_PARENT." + parameter + "}}"},
        "artifacts": {"input": {"list": "{{PF_PARENT." + going_in + "}}"}, "output": ["sum"]},
        "command": "x",
    }
    assert made["end"]["artifacts"] == {"input": {"sum": "{{dag1." + coming_out + "}}"}}


def test_c151_dependencies_of_dags_beside_each_other():
    def make():
        with DAG("dag-show"):
            show = ContainerStep("show", command="x", outputs={"o": Artifact()})
        with DAG("dag1"), DAG("dag2"):
            two = ContainerStep("two", command="x", inputs={"o": show.outputs["o"]})
        with DAG("dag3"):
            ContainerStep("three", command="x").after(two)

    made = compiled(make)
    assert made["dag1"]["deps"] == "dag-show" and made["dag3"]["deps"] == "dag1"


def test_c152_the_code_in_names():
    name = f"command_param_{code('PF-ENTRY-POINT.a', 'n')}"

    def make():
        a = ContainerStep("a", command="x", parameters={"n": 1})
        ContainerStep("b", command=f"echo {a.parameters['n']} {a.parameters['n']}")

    made = compiled(make)["b"]
    assert made["parameters"] == {name: "{{a.n}}"} and made["command"] == f"echo {{{{{name}}}}} {{{{{name}}}}}"


def test_c153_images():
    def make(image):
        with DAG("dag"):
            ContainerStep("a", image, "x")

    with pytest.raises(DSLError, match="step 'a' has no image"):
        compiled(lambda: make(None), docker_env=None)
    assert compiled(lambda: make("x:1"), docker_env=None)["dag"]["entry_points"]["a"]["docker_env"] == "x:1"
    assert "docker_env" not in compiled(lambda: make(None))["dag"]["entry_points"]["a"]


def test_c154_variables_of_the_pipeline():
    def make():
        ContainerStep("own", command="x", env={"a": "2"})
        ContainerStep("other", command="x")
        with post_process():
            ContainerStep("last", command="x")

    made = pipeline_of(make, env={"a": "1"}).compile()
    assert [step["env"] for step in made["entry_points"].values()] == [{"a": "2"}, {"a": "1"}]
    assert made["post_process"]["last"]["env"] == {"a": "1"}


# -- further sentences of the contract


def test_the_placeholders_of_values():
    """What str() of a value gives: where it comes from, by its full name."""

    def make():
        with DAG("dag") as dag:
            step = ContainerStep("step", command="x", parameters={"p": 1}, outputs={"o": Artifact()}, loop_argument=[1])
        assert (dag.full_name, step.full_name) == ("PF-ENTRY-POINT.dag", "PF-ENTRY-POINT.dag.step")
        assert str(step.parameters["p"]) == "{{parameter: PF-ENTRY-POINT.dag.step.p}}"
        assert str(step.outputs["o"]) == "{{artifact: PF-ENTRY-POINT.dag.step.o}}"
        assert str(step.loop_argument.item) == "{{loop: PF-ENTRY-POINT.dag.step.PF_LOOP_ARGUMENT}}"

    pipeline_of(make)


def test_the_own_item_of_a_loop():
    def make():
        step = ContainerStep("step", loop_argument=[1, 2], outputs={"o": Artifact()})
        item = step.loop_argument.item
        step.command, step.condition = f"x {item} {{{{o}}}}", f"{item} > 1"
        step.env["ITEM"] = str(item)
        with pytest.raises(DSLError, match="before the item of its own loop"):
            step.parameters["p"] = item

    assert compiled(make)["step"] == {
        "type": "step",
        "condition": "{{PF_LOOP_ARGUMENT}} > 1",
        "loop_argument": [1, 2],
        "artifacts": {"output": ["o"]},
        "command": "x {{PF_LOOP_ARGUMENT}} {{o}}",
        "env": {"ITEM": "{{PF_LOOP_ARGUMENT}}"},
    }


def test_forms_of_loops():
    """A list of texts, numbers and lists, also as a text in JSON, and one embedded template."""

    def make():
        ContainerStep("list", command="x", loop_argument=[1.5, "a", [1]])
        ContainerStep("text", command="x", loop_argument="[1, 2]")
        first = ContainerStep("first", command="x", parameters={"p": [1]})
        ContainerStep("template", command="x", loop_argument=f"{first.parameters['p']}")

    made = compiled(make)
    assert (made["list"]["loop_argument"], made["text"]["loop_argument"]) == ([1.5, "a", [1]], "[1, 2]")
    assert made["template"]["loop_argument"] == f"{{{{loop_param_{code('PF-ENTRY-POINT.first', 'p')}}}}}"


def test_values_are_converted_to_their_types():
    """Defaults by the type, which may be given as a text; `enable` to a bool, the expiry to an int; one file system to a list."""
    for arguments, made in [
        (("5", int), {"type": "int", "default": 5}),
        (("5", "int"), {"type": "int", "default": 5}),
        ((5, str), {"type": "string", "default": "5"}),
        ((5, "float"), {"type": "float", "default": 5.0}),
        (([1], list), {"type": "list", "default": [1]}),
        ((None, "path"), {"type": "path"}),
        ((), {}),
    ]:
        assert repr(Parameter(*arguments)._plain()) == repr(made)
    assert repr(CacheOptions(1, max_expired_time=5.0).compile()) == repr({"enable": True, "max_expired_time": 5})
    assert FSOptions(extra_fs=ExtraFS("e")).compile() == {"extra_fs": [{"name": "e", "read_only": False}]}
    assert CacheOptions(fs_scope=FSScope("data")).compile()["fs_scope"] == [{"name": "data"}]


@pytest.mark.parametrize("number, key", [(None, {}), (0, {}), (3, {"parallelism": 3})])
def test_parallelism_of_none_and_0_is_unset(number, key):
    made = pipeline_of(lambda: ContainerStep("a", command="x"), parallelism=number, fs_options=None).compile()
    rest = {"name": "p", "docker_env": "python:3.11", "entry_points": {"a": {"type": "step", "command": "x"}}}
    assert made == {**rest, **key}


def test_values_of_the_component_itself():
    """A parameter, an input and an output that are its own already, or another's."""

    def make():
        other = ContainerStep("other", command="x", outputs={"o": Artifact()})
        step = ContainerStep("step", command="x", parameters={"p": 1}, outputs={"o": Artifact()})
        fresh = Artifact()
        for change, says in [
            (lambda: step.parameters.update(q=step.parameters["p"]), "belongs to the same component"),
            (lambda: step.inputs.update(i=step.outputs["o"]), "an artifact of another component"),
            (lambda: step.outputs.update(q=other.outputs["o"]), r"an Artifact\(\) of its own"),
            (lambda: step.outputs.update(q=fresh, r=fresh), r"an Artifact\(\) of its own"),
        ]:
            with pytest.raises(DSLError, match=says):
                change()

    pipeline_of(make)


def test_what_can_be_read_from_where():
    """Values of siblings, of the DAGs around, and of siblings of these; names need to be different in one DAG only."""

    def make():
        first = ContainerStep("step", command="x", parameters={"n": 1})
        with DAG("dag") as dag:
            dag.parameters["m"] = 2
            ContainerStep("step", command=f"x {first.parameters['n']} {dag.parameters['m']}")
        ContainerStep("last", command=f"x {dag.parameters['m']}")

    made = compiled(make)
    n, m = code("PF-ENTRY-POINT.step", "n"), code("PF-ENTRY-POINT.dag", "m")
    assert made["dag"]["parameters"] == {"m": 2, f"dsl_param_{n}": "{{step.n}}"} and made["dag"]["deps"] == "step"
    assert made["dag"]["entry_points"]["step"]["parameters"] == {
        f"command_param_{n}": f"{{{{PF_PARENT.dsl_param_{n}}}}}",
        f"command_param_{m}": "{{PF_PARENT.m}}",
    }
    assert made["last"]["parameters"] == {f"command_param_{m}": "{{dag.m}}"} and made["last"]["deps"] == "dag"


def test_the_maps_of_a_component_are_dictionaries():
    """With all that a dictionary does, but a name that is not there says so."""
    step = ContainerStep("step", command="x", parameters={"p": 1}, outputs={"o": Artifact()}, env={"A": "1"})
    step.parameters.update({"q": 2}, r=None)
    assert list(step.parameters) == ["p", "q"] and step.parameters.setdefault("q", 3).default == 2
    assert step.parameters.setdefault("s", 4).default == 4
    assert step.parameters.pop("q").default == 2 and step.parameters.pop("q", None) is None
    with pytest.raises(DSLError, match="has no parameter 'q'; it has: p, s"):
        step.parameters.pop("q")
    with pytest.raises(DSLError, match="an artifact is not the value of a parameter"):
        step.parameters.update(t=step.outputs["o"])
    step.outputs.clear()
    step.parameters["o"] = 5  # the name is free
    assert step.env.pop("A") == "1" and step.env.setdefault("B", "2") == "2" and step.env == {"B": "2"}
    with pytest.raises(DSLError, match="write '3'"):
        step.env.update({"C": 3})


def test_names_and_variables_of_a_pipeline():
    made = pipeline_of(lambda: ContainerStep("a", command="x"), env={"a": "1"})
    made.add_env({"b": "2"})
    assert (made.name, made.env, list(made.entry_points)) == ("p", {"a": "1", "b": "2"}, ["a"])
    assert made.compile()["entry_points"]["a"]["env"] == {"a": "1", "b": "2"}
    assert made.get_post_process() is None


# -- where upstream is wrong


def test_the_item_of_a_farther_dag_is_passed_through(tmp_path):
    """R-39: through a parameter of each DAG between, so that it is that of its own loop."""

    def make():
        with loop([1, 2], "outer") as outer, loop(["a", "b"], "middle"):
            ContainerStep("step", command=f"echo {outer} {PF_LOOP_ARGUMENT}", env={"ITEM": str(outer)})

    made = pipeline_of(make)
    key = code("PF-ENTRY-POINT.outer", "PF_LOOP_ARGUMENT")
    middle = made.compile()["entry_points"]["outer"]["entry_points"]["middle"]
    assert middle["parameters"] == {f"dsl_param_{key}": "{{PF_PARENT.PF_LOOP_ARGUMENT}}"}
    step = middle["entry_points"]["step"]
    assert step["parameters"] == dict.fromkeys(
        [f"command_param_{key}", f"env_param_{key}"], f"{{{{PF_PARENT.dsl_param_{key}}}}}"
    )
    assert "echo 1" in lint(tmp_path, made)


def test_disabled_takes_names_as_they_are():
    """R-40: only the head of a full name goes; `END` does not become `D`."""
    from paddlecloud.pipeline.pipeline import paths_of

    steps = {}

    def make():
        with DAG("T"):
            steps["inner"] = ContainerStep("END", command="x")

    pipeline_of(make)
    assert paths_of(["END", "PF-ENTRY-POINT.TOP.END"]) == ["END", "TOP.END"]
    assert paths_of(steps["inner"]) == ["T.END"] and paths_of(None) is None


def test_post_process_set_before_the_call():
    """R-40: on the decorator, for all pipelines that it makes."""
    decorator = Pipeline(name="p", docker_env="x")
    decorator.set_post_process(ContainerStep("last", command="x"))

    @decorator
    def make(command):
        ContainerStep("a", command=command)

    assert [list(make(word).compile()["post_process"]) for word in "xy"] == [["last"], ["last"]]
    assert make("z").compile()["entry_points"]["a"]["command"] == "z"


def test_empty_pipelines_and_dags_are_refused():
    with pytest.raises(DSLError, match="pipeline 'p' has no steps"):
        compiled(lambda: None)
    with pytest.raises(DSLError, match="DAG 'empty' has no steps"):
        compiled(lambda: DAG("empty"))


def test_a_dag_with_a_condition_and_inputs(tmp_path):
    """R-40, R-12."""

    def make():
        first = ContainerStep("first", command="x", outputs={"data": Artifact()}, parameters={"n": 5})
        with when(f"{first.parameters['n']} > 3", "enough"):
            ContainerStep("inner", command=f"cat {first.outputs['data']}")

    lint(tmp_path, pipeline_of(make))


def test_paths_of_files_as_types():
    """R-40: upstream crashes on a path with a default, takes unknown types, and passes False on."""
    assert Parameter("/data/x_1", "path")._plain() == {"type": "path", "default": "/data/x_1"}
    for arguments in [
        ("a b", "path"),
        ("x", int),
        (1.5, int),
        (None, "text"),
        ([1], str, 1),
        ("[1]", list),
        (True, int),
    ]:
        with pytest.raises((DSLError, TypeError)):
            Parameter(*arguments)
    for value in (True, False, {}, float("nan"), (1,), b"x"):
        with pytest.raises(DSLError):
            ContainerStep("step", command="x", parameters={"p": value})
    assert alone(command="x", parameters={"p": None, "q": 0}) == {
        "type": "step",
        "parameters": {"q": 0},
        "command": "x",
    }


def test_a_looping_post_process_is_refused():
    for wrong in (
        {"loop_argument": [1]},
        {"condition": "1 > 0"},
        {"cache_options": CacheOptions(True)},
    ):
        made = pipeline_of(lambda: ContainerStep("a", command="x"))
        made.set_post_process(ContainerStep("last", command="x", **wrong))
        with pytest.raises(DSLError, match="of post_process cannot have"):
            made.compile()
    made.set_post_process(ContainerStep("a", command="x"))
    with pytest.raises(DSLError, match="has the name of a component"):
        made.compile()
    with pytest.raises(DSLError, match="it is a step"):
        made.set_post_process(DAG("dag"))


# -- pictures


def drawn():
    def make():
        first = ContainerStep("first", command="x", outputs={"data": Artifact()}, parameters={"n": 5})
        with loop([1, 2, 3]), when(f"{first.parameters['n']} > 3 && 'a' < '<b>'", "big"):
            ContainerStep("inner", command=f"cat {first.outputs['data']}")
        ContainerStep("second", command="x").after(first)
        with post_process():
            ContainerStep("clean", command="x")

    return pipeline_of(make)


def test_a_notebook_shows_the_picture(monkeypatch, tmp_path):
    """That of `paddle pipeline show --svg`, which PADDLE_PROGRAM names, or which is in PATH."""
    made = drawn()
    monkeypatch.setenv("PADDLE_PROGRAM", str(BIN / "paddle"))
    made.compile(tmp_path / "p.yaml")
    done = subprocess.run(
        [BIN / "paddle", "pipeline", "show", tmp_path / "p.yaml", "--svg"], capture_output=True, text=True, check=True
    )
    assert made.picture() == done.stdout == made._repr_html_() and done.stdout.startswith("<svg")
    picture = xml.etree.ElementTree.fromstring(done.stdout)
    texts = " ".join(picture.itertext())
    assert "<b>" not in done.stdout and "{{first.n}} > 3 && 'a' < '<b>'" in texts  # escaped
    monkeypatch.delenv("PADDLE_PROGRAM")
    monkeypatch.setenv("PATH", str(BIN))
    assert made.picture() == done.stdout


@pytest.mark.parametrize("program", ["", "/bin/false", "/nonexistent"])
def test_without_the_program_a_notebook_shows_the_tree(monkeypatch, program):
    """As `paddle pipeline show` draws it."""
    monkeypatch.setenv("PADDLE_PROGRAM", program)
    monkeypatch.setenv("PATH", "")
    made = drawn()
    assert made.picture() is None
    assert (
        made.tree()
        == """p
├─ first
├─ loop  after first; loop over 3 items
│  └─ big  if {{first.n}} > 3 && 'a' < '<b>'
│     └─ inner
└─ second  after first
post_process
└─ clean
"""
    )
    assert made._repr_html_().startswith("<pre>p\n") and "&lt;b&gt;" in made._repr_html_()
    shown = subprocess.run(
        [BIN / "paddle", "pipeline", "show", "-"],
        input=made.to_yaml(),
        env={"LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split() for line in shown.stdout.splitlines()] == [line.split() for line in made.tree().splitlines()]
    many = pipeline_of(lambda: [ContainerStep(f"s{number}", command="x") for number in range(300)])
    assert many.tree().endswith("... 101 more\n")


def test_a_pipeline_that_cannot_be_compiled_has_no_picture():
    assert Pipeline(name="empty")._repr_html_() is None


# -- what else the classes say


def test_all_options_together(tmp_path):
    def make():
        first = ContainerStep(
            "first",
            docker_env="other:1",
            command=f"echo {PF_RUN_ID} {PF_STEP_NAME} {PF_USER_NAME}",
            cache_options=CacheOptions(True, FSScope("data", "a,b"), "60", fingerprint="content"),
            extra_fs=ExtraFS("more", "sub", "/more", read_only=True),
            retries=2,
            time_limit="2h",
            requirements=["numpy>=1.20"],
        )
        ContainerStep("second", command="x").after(first)

    made = pipeline_of(
        make,
        parallelism=3,
        cache_options=CacheOptions(fs_scope=[FSScope("data")]),
        failure_options=FailureOptions(FAIL_CONTINUE),
        fs_options=FSOptions(MainFS("data", "sub", "/data"), [ExtraFS("extra")]),
    )
    assert made.compile() == {
        "name": "p",
        "docker_env": "python:3.11",
        "parallelism": 3,
        "cache": {"enable": False, "max_expired_time": -1, "fs_scope": [{"name": "data"}]},
        "failure_options": {"strategy": "continue"},
        "fs_options": {
            "main_fs": {"name": "data", "sub_path": "sub", "mount_path": "/data"},
            "extra_fs": [{"name": "extra", "read_only": False}],
        },
        "entry_points": {
            "first": {
                "type": "step",
                "command": "echo {{PF_RUN_ID}} {{PF_STEP_NAME}} {{PF_USER_NAME}}",
                "docker_env": "other:1",
                "cache": {
                    "enable": True,
                    "max_expired_time": 60,
                    "fs_scope": [{"name": "data", "path": "a,b"}],
                    "fingerprint": "content",
                },
                "extra_fs": [{"name": "more", "sub_path": "sub", "mount_path": "/more", "read_only": True}],
                "retries": 2,
                "time_limit": "2h",
                "requirements": ["numpy>=1.20"],
            },
            "second": {"type": "step", "deps": "first", "command": "x"},
        },
    }
    lint(tmp_path, made)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FailureOptions("foo"),
        lambda: FSScope(""),
        lambda: FSScope("data", 1),
        lambda: MainFS(""),
        lambda: ExtraFS("x", read_only="yes"),
        lambda: FSOptions("data"),
        lambda: FSOptions(ExtraFS("data")),
        lambda: FSOptions(extra_fs=[MainFS("data")]),
        lambda: CacheOptions(max_expired_time="soon"),
        lambda: CacheOptions(fs_scope="data"),
        lambda: CacheOptions(fingerprint="name"),
        lambda: Pipeline(name="1ab"),
        lambda: Pipeline(name="a.b"),
        lambda: Pipeline(name=""),
        lambda: Pipeline(name="x" * 129),
        lambda: Pipeline(name="p", parallelism=-1),
        lambda: Pipeline(name="p", failure_options="continue"),
        lambda: ContainerStep("a_b"),
        lambda: ContainerStep("a" * 31),
        lambda: ContainerStep("a", command=5),
        lambda: ContainerStep("a", condition=True),
        lambda: ContainerStep("a", outputs=["x"]),
        lambda: ContainerStep("a", outputs={"x": "y"}),
        lambda: ContainerStep("a", outputs={"a-b": Artifact()}),
        lambda: ContainerStep("a", parameters={"p": Artifact()}),
        lambda: ContainerStep("a", inputs={"p": Artifact()}),
        lambda: ContainerStep("a", env={"p": Artifact()}),
        lambda: ContainerStep("a", cache_options=True),
        lambda: ContainerStep("a", extra_fs="data"),
        lambda: ContainerStep("a").after(),
        lambda: ContainerStep("a").after("b"),
        lambda: str(Parameter(1)),
        lambda: f"{Artifact()}",
        lambda: ContainerStep("a").parameters["p"],
        lambda: post_process(),
    ],
)
def test_what_the_classes_refuse(make):
    """At the line that is wrong, as one class of error with its code."""
    with pytest.raises(DSLError) as raised:
        make()
    assert raised.value.code == "PipelineDSLError" and isinstance(raised.value, ValueError)


def test_references_in_texts(tmp_path):
    """Own values by their names, those of others by a generated one; conditions and variables, too."""
    steps = {}

    def make():
        first = ContainerStep("first", command="x", outputs={"log": Artifact()}, parameters={"n": 7, "m": 1})
        second = steps["second"] = ContainerStep(
            "second", command="x", parameters={"own": 1, "both": f"{first.parameters['n']}-{first.parameters['m']}"}
        )
        second.inputs["data"] = first.outputs["log"]
        second.command = f"cat {second.inputs['data']} {second.parameters['own']} {first.outputs['log']}"
        second.condition = f"{second.parameters['own']} > 0 && {first.parameters['n']} > 3"
        second.env["N"] = first.parameters["n"]
        second.add_env({"OWN": second.parameters["own"]})

    made = pipeline_of(make)
    step = made.compile()["entry_points"]["second"]
    n, log = code("PF-ENTRY-POINT.first", "n"), code("PF-ENTRY-POINT.first", "log")
    assert step["command"] == f"cat {{{{data}}}} {{{{own}}}} {{{{command_art_{log}}}}}"
    assert step["condition"] == f"{{{{own}}}} > 0 && {{{{condition_param_{n}}}}} > 3"
    assert step["env"] == {"N": f"{{{{env_param_{n}}}}}", "OWN": "{{own}}"}
    assert step["parameters"]["both"] == "{{first.n}}-{{first.m}}" and step["deps"] == "first"
    assert "cat /" in lint(tmp_path, made)
    assert made.compile() == made.compile()  # nothing is changed by it
    steps["second"].command = f"{steps['second'].outputs}"


def test_wrong_references():
    outside = ContainerStep("outside", command="x", outputs={"o": Artifact()}, parameters={"p": 1})

    def own_output():
        step = ContainerStep("step", outputs={"o": Artifact()})
        step.command = f"x > {step.outputs['o']}"

    def from_outside():
        ContainerStep("step", command=f"{outside.outputs['o']}")

    def conditional():
        step = ContainerStep("maybe", command="x", condition="1 > 0", outputs={"o": Artifact()})
        ContainerStep("reader", command="x", inputs={"o": step.outputs["o"]})

    def from_inside():
        with DAG("dag") as dag:
            step = ContainerStep("step", command="x", outputs={"o": Artifact()})
        dag.inputs["o"] = step.outputs["o"]

    def foreign_item():
        with loop([1]) as item:
            ContainerStep("a", command="x")
        ContainerStep("b", command=f"{item}")

    def around():
        with DAG("dag") as dag:
            ContainerStep("a", command="x").after(dag)

    def in_variable():
        step = ContainerStep("step", command="x", outputs={"o": Artifact()})
        ContainerStep("b", command="x", env={"A": str(step.outputs["o"])})

    def two_in_a_loop():
        step = ContainerStep("step", command="x", parameters={"p": [1]})
        other = ContainerStep("b", command="x", loop_argument=str(step.parameters["p"]))
        other.loop_argument.argument *= 2

    for make, says in [
        (own_output, "write {{o}}"),
        (from_outside, "not part of this pipeline"),
        (conditional, "has a condition"),
        (from_inside, "not complete before"),
        (foreign_item, "cannot have the loop item"),
        (around, "one of them contains the other"),
        (in_variable, "PF_INPUT_ARTIFACT_NAME"),
        (two_in_a_loop, "exactly one"),
    ]:
        with pytest.raises(DSLError) as raised:
            compiled(make)
        assert says in str(raised.value), make.__name__


def test_post_process_has_no_values_of_others():
    def make():
        step = ContainerStep("step", command="x", outputs={"o": Artifact()}, parameters={"p": 1})
        with post_process():
            ContainerStep("last", command=f"echo {step.parameters['p']}")

    with pytest.raises(DSLError, match="step 'last' of post_process refers to 'PF-ENTRY-POINT.step'; it runs alone"):
        pipeline_of(make).compile()


def test_the_main_file_system_of_a_run():
    """fs_name fills in what the description leaves open, and may not contradict it."""

    def make():
        ContainerStep("step", command="x")

    made = pipeline_of(make, fs_options=None)
    assert made._with_fs(made.compile(), "home")["fs_options"] == {"main_fs": {"name": "home"}}
    assert "fs_options" not in made._with_fs(made.compile(), None)
    made = pipeline_of(make, fs_options=FSOptions(MainFS("data", "sub"), ExtraFS("more")))
    assert made._with_fs(made.compile(), "data") == made.compile()
    with pytest.raises(DSLError, match="the main file system 'data', and fs_name is 'home'"):
        made._with_fs(made.compile(), "home")


def test_an_input_of_a_sibling_means_its_source():
    def make():
        first = ContainerStep("first", command="x", outputs={"o": Artifact()})
        second = ContainerStep("second", command="x", inputs={"i": first.outputs["o"]})
        ContainerStep("third", command="x", inputs={"i": second.inputs["i"]})

    assert compiled(make)["third"]["artifacts"] == {"input": {"i": "{{first.o}}"}}


def test_outputs_of_a_dag_by_name(tmp_path):
    def make():
        with DAG("dag") as dag, DAG("deep"):
            step = ContainerStep("step", command="x", outputs={"o": Artifact()})
        dag.outputs["result"] = step.outputs["o"]
        ContainerStep("reader", command=f"cat {dag.outputs['result']}")

    made = pipeline_of(make)
    outputs = made.compile()["entry_points"]["dag"]["artifacts"]["output"]
    key = code("PF-ENTRY-POINT.dag.deep.step", "o")
    assert outputs == {"result": f"{{{{deep.dsl_art_{key}}}}}"}
    lint(tmp_path, made)


def test_loops_as_statements(tmp_path):
    """`for` and `with` are the same, names are made up, and results of all items are one list for a reader outside."""

    def make():
        for rate in loop([0.1, 0.01]):
            step = ContainerStep("train", command=f"train {rate}", outputs={"model": Artifact()})
            with when(f"{rate} > 0.05"):
                ContainerStep("more", command="x")
        with loop((1, 2)) as number:
            ContainerStep("train", command=f"train {number}")
        ContainerStep("choose", command=f"choose {step.outputs['model']}")

    made = pipeline_of(make)
    definition = made.compile()["entry_points"]
    assert list(definition) == ["loop", "loop-2", "choose"] and list(definition["loop"]["entry_points"]) == [
        "train",
        "when",
    ]
    assert definition["loop"]["loop_argument"] == [0.1, 0.01] and definition["loop-2"]["loop_argument"] == [1, 2]
    lint(tmp_path, made)


def test_components_in_an_order_in_which_they_run():
    def make():
        last = ContainerStep("last", command="x")
        middle = ContainerStep("middle", command="x")
        ContainerStep("free", command="x")
        last.after(middle.after(ContainerStep("first", command="x")))

    assert list(compiled(make)) == ["free", "first", "middle", "last"]


def test_a_step_belongs_to_one_dag():
    step = ContainerStep("step", command="x")
    dag = DAG("dag")
    dag.add(step)
    assert step.full_name == "dag.step" and dag.entry_points == {"step": step}
    with pytest.raises(DSLError, match="belongs to DAG 'dag' already"):
        DAG("other").add(step)
    with pytest.raises(DSLError, match="contain itself"):
        dag.add(dag)


def test_a_broken_function_leaves_no_dag_open():
    def broken():
        with DAG("dag"):
            raise KeyError("x")

    with pytest.raises(KeyError):
        pipeline_of(broken)
    assert ContainerStep("step", command="x").full_name == "step"


TEXTS = [
    "",
    " ",
    "yes",
    "No",
    "null",
    "~",
    "5",
    "-1.5e3",
    "0x1f",
    "a: b",
    "a #b",
    "#a",
    "- a",
    "a:",
    "{a}",
    "[a]",
    "'a'",
    '"a"',
    "a\\b",
    "a\nb\n",
    "\ttab",
    "ünïcödé 日本 🎉",
    "\x01\x7f\x85\u2028\ufeff\ufffe",
    "&a *b !c |d >e @f `g %h ?",
    "trailing ",
    "...",
    "---",
    "=",
    "<<",
    ".inf",
    "2026-11-27",
    "1_000",
    "12:30",
]


def test_yaml_gives_back_each_text_and_number(tmp_path):
    """The server's reader finds in the YAML what it finds in the JSON: the text of each parameter in its commands."""
    values = {f"p{number}": text for number, text in enumerate(TEXTS)}
    values |= {"big": 2**63 - 1, "small": 1e-7, "huge": 1e300, "list": [1, "a: b", 2.5, ["yes", []]], "none": []}
    values["long"] = [f"item {number}: x" for number in range(50)]

    def make():
        command = " ".join(f"[{{{{{name}}}}}]" for name in values)
        ContainerStep("step", command=command, parameters=values)

    text = lint(tmp_path, pipeline_of(make))
    assert "[2026-11-27]" in text and "[0.0000001]" in text


def test_halves_of_characters_are_refused():
    with pytest.raises(DSLError, match="surrogate"):
        pipeline_of(lambda: ContainerStep("step", command="\ud800")).to_yaml()


def test_another_class_of_errors():
    """A layer with the older names raises its own exception, which is a DSLError, too."""

    class Other(DSLError):
        pass

    class OtherStep(ContainerStep):
        _error = Other

    class OtherPipeline(Pipeline):
        _error = Other

        def check(self):
            return emit.to_yaml({"a": object()})

    class OtherParameter(Parameter):
        _error = Other

    def raised(call):
        with pytest.raises(DSLError) as found:
            call()
        return type(found.value)

    made = []
    other = OtherPipeline(name="p", docker_env="i")(lambda: made.append(OtherStep("s", command="c")))()
    (step,) = made
    own = ContainerStep("own", command="c", parameters={"p": 1})
    for call in (
        lambda: OtherStep("a b"),
        lambda: OtherStep("s", parameters={"p": own}),
        lambda: OtherParameter("x", int),
        lambda: str(OtherParameter(1)),
        lambda: OtherPipeline(name="1st"),
        lambda: step.after(),
        lambda: step.parameters["none"],
        lambda: step.parameters.update(p=True),
        lambda: step.env.update(A=1),
        lambda: other.add_env({"A": 1}),
        lambda: other.compile("a.txt"),
        other.check,
    ):
        assert raised(call) is Other
    for call in (
        lambda: ContainerStep("a b"),
        lambda: own.parameters.update(p=True),
        lambda: own.env.update(A=1),
        lambda: own.inputs.update(i=step),
        lambda: FailureOptions("foo"),
        lambda: Pipeline(name="p")(lambda: OtherStep("s", command="c"))().compile(),
    ):
        assert raised(call) is DSLError
    assert FAIL_FAST == "fail_fast"


def test_compile_replaces_only_its_own_files(tmp_path):
    first, second = (
        pipeline_of(lambda command=command: ContainerStep("a", command=command)) for command in ("one", "two")
    )
    for kind in ("yaml", "json"):
        path = tmp_path / f"line.{kind}"
        first.compile(path)
        second.compile(path)
        assert "two" in path.read_text()
        for others in ("# mine\nname: p\n", '{"name": "p", "entry_points": {"a": {"command": "x"}}}', "\n"):
            path.write_text(others)
            with pytest.raises(DSLError, match=rf"line.{kind}' is there already .* not replaced. Move it away"):
                first.compile(path)
            assert path.read_text() == others
        path.write_text("")
        first.compile(path)


def test_a_notebook_shows_where_a_definition_was_saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = pipeline_of(lambda: ContainerStep("a", command="x"))
    shown = []
    saved = made.compile("p.yaml")
    saved._repr_pretty_(types.SimpleNamespace(text=shown.append), False)
    assert shown == ["the definition of pipeline 'p' is in p.yaml"]
    assert saved == made.compile() and type(made.compile()) is dict


def test_a_decorator_without_parentheses():
    with pytest.raises(DSLError, match=r"write @Pipeline\(name='digits'\) above the function"):

        @Pipeline
        def digits():
            pass
