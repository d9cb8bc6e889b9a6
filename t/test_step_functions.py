"""Functions as steps (`@step` of paddlecloud.pipeline): what is sent, what is refused, and runs of them on a real server."""

import collections
import datetime
import decimal
import functools
import importlib
import json
import logging
import math
import pathlib
import re
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import paddlecloud
import pytest
from conftest import BIN, PATIENCE, ROOT, server_of_module
from paddlecloud.pipeline import (
    PF_RUN_ID,
    PF_STEP_NAME,
    Artifact,
    CacheOptions,
    ContainerStep,
    DSLError,
    FSOptions,
    MainFS,
    Pipeline,
    loop,
    post_process,
    step,
    when,
)
from paddlecloud.pipeline.condition import check_condition
from test_notebook import run_cells

LOCK = threading.Lock()
FACTOR = 3
HOME = FSOptions(MainFS("home"))


def triple(number):
    return FACTOR * number


class Point(NamedTuple):
    x: int
    y: int


@step
def numbers(count: int, first: int = 0) -> list:
    return list(range(first, first + count))


@step
def total(values: list, power: float = 1.0) -> float:
    return math.fsum(triple(value) ** power for value in values)


@step
def corners(values: list) -> Point:
    return Point(min(values), max(values))


server = server_of_module("--cpus", "64")


@pytest.fixture(scope="module")
def client(server):
    with paddlecloud.Client(server.url) as made:
        yield made


def compiled(make, **options):
    return Pipeline(name="p", **options)(make)().compile()["entry_points"]


def lines_of(run):
    """What each step printed."""
    said = {}
    for line in run.logs():
        said.setdefault(line.step, []).append(line.text)
    return said


def ended(run, state="succeeded"):
    run.wait(PATIENCE)
    assert run.state == state, (run.message, lines_of(run))
    return run


# -- what a call becomes


def test_the_step_of_a_call():
    """Arguments are parameters and inputs, also defaults; the result is an output; the step is named as the function."""

    def make():
        total(numbers(4), power=2)
        numbers.options(name="again", flavour="big", cache=True, retries=1)(count=2)

    made = compiled(make)
    source = made["numbers"]["env"].pop("PF_SOURCE")
    assert made["numbers"] == {
        "type": "step",
        "parameters": {"count": {"type": "int", "default": 4}, "first": {"type": "int", "default": 0}},
        "artifacts": {"output": ["result"]},
        "command": "python3 paddle_steps/run.py numbers count:int first:int -- result",
        "env": {"ARG_count": "{{count}}", "ARG_first": "{{first}}"},
    }
    assert made["total"]["artifacts"] == {"input": {"values": "{{numbers.result}}"}, "output": ["result"]}
    assert made["total"]["parameters"] == {"power": {"type": "float", "default": 2.0}}
    assert made["total"]["command"] == "python3 paddle_steps/run.py total power:float values:value -- result"
    assert made["again"]["env"] == {
        "PF_JOB_FLAVOUR": "big",
        "ARG_count": "{{count}}",
        "ARG_first": "{{first}}",
        "PF_SOURCE": source,
    }
    assert made["again"]["cache"] == {"enable": True, "max_expired_time": -1, "fingerprint": "content"}
    assert made["again"]["retries"] == 1


def test_outside_of_a_pipeline_it_is_the_function():
    assert numbers(3) == [0, 1, 2] and total([1, 2]) == 9.0 and numbers.__name__ == "numbers"
    assert numbers.step(1).full_name == "numbers"


def test_post_process_may_be_a_function():
    made = Pipeline(name="p")(lambda: numbers(1))()
    made.set_post_process(numbers.options(name="last").step(2))
    assert made.compile()["post_process"]["last"]["command"].startswith("python3 paddle_steps/run.py numbers ")


def test_names_of_steps_are_made_up():
    @step
    def load_the_data_of_a_long_name_x():
        return 1

    def make():
        load_the_data_of_a_long_name_x()
        load_the_data_of_a_long_name_x()

    assert list(compiled(make)) == ["load-the-data-of-a-long-name-x", "load-the-data-of-a-long-name-2"]


def test_what_annotations_mean():
    """Also those of later versions of Python, and beside one that nobody can evaluate."""
    from paddlecloud.pipeline.kinds import hints_of, item_of, kind_of, outputs_of

    kinds = {
        int: "int",
        Optional[float]: "float",
        List[int]: "json",
        "str": "",
        Path: "path",
        Sequence: "json",
        Artifact: "path",
    }
    kinds |= {Tuple[int, str]: "json", Union[int, str]: "", bool: "json", Mapping[str, int]: "json", object: ""}
    assert {hint: kind_of(hint) for hint in kinds} == kinds
    assert item_of(List[Path]) is Path and item_of(Optional[List[str]]) is str and item_of(list) is None

    def function(a: "int", b: "nowhere.at_all") -> "None":  # noqa: F821
        pass

    assert hints_of(function) == {"a": int, "b": Any, "return": type(None)}
    assert outputs_of(function, None, type(None)) == {} and outputs_of(function, None, Path) == {"result": "path"}
    assert outputs_of(function, None, Tuple[int, Path]) == {"result_1": "json", "result_2": "path"}
    assert outputs_of(function, None, Tuple[int, ...]) == {"result": "json"}
    assert outputs_of(function, ["a", "b"], Tuple[Path, int]) == {"a": "path", "b": "json"}
    assert outputs_of(function, None, Point) == {"x": "json", "y": "json"}


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the form is new in 3.10")
def test_unions_of_later_versions():
    from paddlecloud.pipeline.kinds import item_of, kind_of

    assert kind_of(eval("int | None")) == "int" and item_of(eval("list[str] | None")) is str


def test_a_function_of_a_notebook():
    """Its source is that of its cell, also when the cell ran again; another decorator stays."""
    names = run_cells(
        "from paddlecloud.pipeline import Pipeline, step\nimport functools\nBASE = 1",
        "def twice(f):\n    @functools.wraps(f)\n    def run(*a):\n        return 2 * f(*a)\n    return run",
        "@step\ndef add(n: int) -> int:\n    return n",
        "@step(\n    retries=1,\n)\n@twice\ndef other(n: int) -> int:\n    return add(n)",
        "@step\ndef add(n: int) -> int:\n    return n + BASE",
        "BASE = 2\n@Pipeline(name='cells')\ndef cells():\n    other(add(1))",
    )
    from paddlecloud.pipeline.source import StepProgram

    assert list(names["cells"]().compile()["entry_points"]) == ["add", "other"]
    text = StepProgram(names["other"]._function).source("other")
    made = {}
    exec(text, made)
    assert made["other"](1) == 6 and "@step" not in text and "@twice" in text


def test_two_functions_with_one_name():
    def variant(word):
        @step
        def same():
            return word

        return same

    made = compiled(lambda: [variant(word)() for word in ("a", "a", "b")])
    assert [entry["command"].split()[2] for entry in made.values()] == ["same", "same", "same_2.same"]
    sources = [entry["env"]["PF_SOURCE"] for entry in made.values()]
    assert sources[0] == sources[1] != sources[2]


def test_the_source_changes_with_what_it_uses(monkeypatch):
    """So that a cached result is not taken after a change in a function that the step calls."""
    before = compiled(lambda: total(numbers(1)))
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 4)
    after = compiled(lambda: total(numbers(1)))
    assert before["numbers"]["env"]["PF_SOURCE"] == after["numbers"]["env"]["PF_SOURCE"]
    assert before["total"]["env"]["PF_SOURCE"] != after["total"]["env"]["PF_SOURCE"]


# -- what is refused when it is decorated


def refused(decorate):
    with pytest.raises(DSLError) as raised:
        decorate()
    return str(raised.value)


def test_a_global_that_cannot_be_sent_is_refused_at_once():
    def count():
        with LOCK:
            return 1

    said = refused(lambda: step(count))
    assert "'count' uses 'LOCK', a _thread.lock, which cannot be sent with it" in said
    assert "make it inside 'count', or give it as an argument" in said


def test_a_closure_that_cannot_be_sent_is_refused_at_once(tmp_path):
    with open(tmp_path / "log", "w") as log:

        def write(text):
            log.write(text)

        assert "'write' uses 'log', a _io.TextIOWrapper" in refused(lambda: step(write))


def here(offset):
    """The place of the line that is `offset` lines below the call."""
    frame = sys._getframe(1)
    return f"{pathlib.Path(__file__).relative_to(pathlib.Path.cwd())}:{frame.f_lineno + offset}: "


def test_the_place_of_the_function_is_named(monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parent)
    place = here(2)

    def count():
        with LOCK:
            return 1

    assert refused(lambda: step(count)).startswith(place + "'count' uses 'LOCK'")


def test_local_classes():
    """That of the same function, although others have the name; with the values that its methods use, but none that cannot be sent."""
    lock, unit = threading.Lock(), 7

    def first():
        class Local:
            value = 1

        @step
        def give():
            return Local.value

        return give

    def second():
        class Local:
            def value(self):
                return unit

            @property
            def twice(self):
                return 2 * unit

            @classmethod
            def make(cls):
                return super().__new__(cls)

        @step
        def give():
            return Local.make().value() + Local().twice

        return give

    def third():
        class Local:
            @staticmethod
            def value():
                return lock

        def give():
            return Local.value()

        return step(give)

    assert sent(first()) == 1 and sent(second()) == 21
    assert "'Local' uses 'lock', a _thread.lock" in refused(third)


def sent(function):
    """What the function returns where only what is sent is there."""
    from paddlecloud.pipeline.source import StepProgram

    names = {"__name__": "elsewhere"}
    text = StepProgram(function._function).source(function.__name__)
    exec(compile(text, "elsewhere", "exec"), names)
    return names[function.__name__]()


PATTERN, LOG, LIMIT = re.compile("(a)+", re.I), logging.getLogger("steps"), datetime.timedelta(1, 2, 3)
WHEN, DAY = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.timezone.utc), datetime.date(2026, 3, 1)
PRICE = decimal.Decimal("1.10")
Numbers = List[int]


def test_further_constants_are_sent():
    @step
    def give():
        return PATTERN.match("AA"), LOG, LIMIT, WHEN, DAY, PRICE

    match, *others = sent(give)
    assert match[0] == "AA" and others == [LOG, LIMIT, WHEN, DAY, PRICE]


@functools.lru_cache(maxsize=None)
def remembered():
    return FACTOR


def test_functions_behind_decorators_and_names_of_annotations_are_sent():
    """An annotation that cannot be sent is not evaluated."""

    @step
    def give(numbers: Numbers = ()) -> "Optional[Numbers]":
        local: Numbers = [remembered()]
        return local

    assert sent(give) == [3]


Pair = collections.namedtuple("Pair", "a b")


def make_it(way):
    unknown = sys.modules["__main__"] if way == "main" else types.ModuleType("made_by_hand")
    short = lambda: 1  # noqa: E731
    total = 0

    def module():
        return unknown.x

    def calls():
        return short()

    def counts():
        nonlocal total
        total += 1

    def pair():
        return Pair(1, 2)

    async def stream():
        yield 1

    def result() -> Optional[set]:
        return {1}

    def pairs() -> Tuple[int, bytes]:
        return 1, b""

    def __():
        return 1

    class Method:
        def run(self):
            return 1

    if way == "run":
        return Method.run
    return {"main": module, **locals()}[way]


@pytest.mark.parametrize(
    "way, says",
    [
        ("module", "a module that cannot be imported: there is none of the name 'made_by_hand'"),
        ("main", "'unknown', which is the program itself"),
        ("calls", "'short' is a lambda, which cannot be sent: define it by `def`"),
        ("counts", "changes 'total' of the function around it (nonlocal), which stays where it is; return the value"),
        ("pair", "the source of 'Pair' is not found: define 'Pair' by `def` or `class`"),
        ("stream", "is a coroutine or a generator"),
        ("result", "'result' returns a set, as it is annotated, which cannot be saved as JSON"),
        ("pairs", "'pairs' returns a bytes"),
        ("__", "no name for a step can be made of '__'; give one: @step(name="),
        ("run", "'run' is a method of 'make_it.<locals>.Method', whose object no step has"),
    ],
)
def test_what_cannot_be_sent_is_said_at_once(way, says):
    said = refused(lambda: step(make_it(way)))
    assert says in said and "test_step_functions.py:" in said


def test_what_is_no_function():
    for value, says in [
        (Pair, "a class, 'Pair'"),
        (functools.partial(print), "a partial"),
        ([].append, "a builtin_function_or_method, 'list.append'"),
        (LOCK, "a lock"),
        (staticmethod(triple), "a staticmethod, 'triple'"),
        (Path("a").exists, "a method of an object, 'Path.exists'"),
    ]:
        assert refused(lambda value=value: step(value)).endswith(f"made by `def`, and this is {says}")
    step(name="x")(make_it("__"))  # with a name of its own


def test_a_closure_in_a_function_that_it_calls_is_refused_at_once():
    event = threading.Event()

    def wait():
        event.wait()

    def caller():
        wait()

    assert "'event'" in refused(lambda: step(caller))


def test_a_closure_over_plain_values_is_sent():
    words, ways = {"a": [1, None]}, math

    def helper():
        return ways.floor(words["a"][0] + 0.5)

    @step
    def both():
        return helper(), words

    from paddlecloud.pipeline.source import StepProgram

    names = {}
    exec(StepProgram(both._function).source("both"), names)
    assert names["both"]() == (1, {"a": [1, None]})


LONG = "x" * 100_000


def test_other_functions_that_are_refused():
    def long():
        return LONG

    def any_number(*values):
        return values

    def generator():
        yield 1

    async def coroutine():
        return 1

    def far_too_long_an_argument(an_argument_of_more_than_forty_six_characters_is):
        return an_argument_of_more_than_forty_six_characters_is

    assert "'LONG', a constant of 100002 characters" in refused(lambda: step(long))
    assert "name each argument" in refused(lambda: step(any_number))
    assert "plain function" in refused(lambda: step(generator)) and "plain function" in refused(lambda: step(coroutine))
    assert "at most 46" in refused(lambda: step(far_too_long_an_argument))
    assert "made by `def`" in refused(lambda: step(lambda: 1))
    assert "made by `def`" in refused(lambda: step(print))
    with pytest.raises(TypeError, match="no keyword 'gpus'"):
        step(gpus=1)
    assert "there is no 'gpus'" in refused(lambda: numbers.options(gpus=1))


@step
def early():
    return late()


def late():
    return "late"


@step
def never():
    return not_anywhere()  # noqa: F821


def test_names_may_be_defined_later():
    assert list(compiled(early)) == ["early"]
    with pytest.raises(DSLError, match="'never' uses 'not_anywhere', which is not defined"):
        compiled(never)


@pytest.mark.parametrize(
    "use, done",
    [
        (lambda x: x > 2, "compare it"),
        (lambda x: x >= 2, "compare it"),
        (lambda x: x == 2, "compare it"),
        (lambda x: x != "a", "compare it"),
        (lambda x: 1 if x else 2, "ask whether it is true"),
        (lambda x: x + 1, "compute with it"),
        (lambda x: 1 - x, "compute with it"),
        (lambda x: x["k"], "take ['k'] of it"),
        (lambda x: int(x), "make a number of it"),
        (lambda x: len(x), "look into it"),
        (lambda x: 1 in x, "look into it"),
        (lambda x: when(x > 1), "compare it"),
    ],
)
def test_results_have_no_value_before_the_run(use, done):
    says = refused(lambda: compiled(lambda: use(numbers(1))))
    assert says.startswith(f"the result of step 'numbers' has no value before the run, so Python cannot {done} here")
    assert 'with when(f"{x} > 2"):' in says


def test_items_and_parameters_have_no_value_before_the_run():
    def make():
        with loop([1, 2]) as item:
            for use in (lambda: item > 1, lambda: item + 1, lambda: item["k"], lambda: numbers(1).output["k"]):
                assert "has no value before the run" in refused(use)
            numbers(item)

    compiled(make)
    assert "write loop(list(range(0, 3)))" in refused(lambda: compiled(lambda: loop(range(3))))


def test_a_pipeline_is_called_first():
    @Pipeline(name="p")
    def line():
        numbers(1)

    for method in ("run", "create", "update", "compile", "to_yaml", "tree", "picture"):
        says = refused(getattr(line, method))
        assert says == f"'line' is the function that makes the pipeline; call it first: line(...).{method}()"


def test_arguments_of_the_declared_types():
    """Those that a call in Python would take too; a text may be a number."""

    @step
    def taken(
        n: int, f: float = 1.5, o: Optional[int] = None, some: List[int] = (1, 2), d: int = None, u: Union[int, str] = 1
    ):
        pass

    made = compiled(lambda: [taken(1), taken("2", 1, 3), taken(True, u="x"), taken(f"{PF_RUN_ID}", "2.5", None, [], 4)])
    assert len(made) == 4


CONDITIONS = [
    ("{x} = 1", "'=' is not an operator; write '=='"),
    ("{x} <> 1", "'<>' is not an operator; write '!='"),
    ("{x} >-1", "'>-' is not an operator; separate operators with blanks"),
    ("{x} > 1 and {x} < 3", "'and' is not an operator; write '&&'"),
    ("not {x}", "'not' is not an operator; write '!'"),
    ("{x} >", "it ends where a value should be"),
    ("> {x}", "'>' stands where a value should be"),
    ("({x} > 1", "'(' has no ')'"),
    ("{x} > 1)", "')' has no '('"),
    ("{x} == 'a", "a text in quotes has no end"),
    ("{x} == [a", "'[' has no ']'"),
    ("{x} == 1.2.3", "'1.2.3' is not a number"),
    ("{x} == 1e3", "an operator is missing between two values"),
    ("{x} == a.b", "a word cannot have a dot: 'a.b'"),
    ("!{x}", "'!' must stand before a number, true, false or '(': write !(...)"),
    ("x > 1", "'>' needs two numbers or two texts; 'x' is a text here: for the value of x, write {x} in an f-string"),
    ("{x} in (1)", "'in' needs a list of at least two items"),
    ("{x} + 1", None),
    ("1 + 2", "it is neither true nor false, but a number"),
    ("True", "it is neither true nor false, but a text; 'True' is a text here"),
    ("{x} > 1 && 5", "'&&' needs true or false on both sides"),
    ("-{x} > 1", "'-' must stand before"),
]


@pytest.mark.parametrize("text, says", CONDITIONS)
def test_a_wrong_condition_is_refused_where_it_is_written(text, says):
    """The DSL names the line of the `when`; what the server says of the same text is no milder."""

    def make():
        condition = text.replace("{x}", str(numbers(1)))
        with when(condition):
            numbers(2)

    line = make.__code__.co_firstlineno + 2
    if says is None:
        compiled(make)
        return
    with pytest.raises(DSLError) as raised:
        compiled(make)
    assert raised.value.place.endswith(f"test_step_functions.py:{line}"), raised.value
    shown = text.replace("{x}", "{numbers}")
    assert f": DAG 'when': its condition '{shown}' is wrong: {says}" in str(raised.value)


def test_conditions_are_read_as_the_server_reads_them():
    """The cases of the server's own test: what it takes is taken, and what it refuses before a run is refused, but for regular expressions."""
    source = (ROOT / "src/pipeline/test/condition.c").read_text(encoding="utf-8")
    rows = re.findall(r'\{ ("(?:[^"\\]|\\.)+"), (YES|NO|BAD|ERROR) \}', source)
    assert len(rows) > 100 and {value for _, value in rows} == {"YES", "NO", "BAD", "ERROR"}
    for quoted, value in rows:
        text, is_refused = json.loads(quoted), False
        try:
            check_condition("it", text, None)
        except DSLError:
            is_refused = True
        if value != "ERROR" and text not in ("'abc' =~ '('", "'abc' =~ '(a)\\\\1'", "'abc' =~ 'a(?=b)'"):
            assert is_refused == (value == "BAD"), text


@pytest.mark.parametrize(
    "text",
    ["{x}", "!({x} > 1)", "'{x}' == 'a b'", "{x} =~ 'a.*'", "{x} == cat", "{x}_1 == a_1", "{x}{x} > 1"],
)
def test_conditions_with_values_of_the_run(text):
    def make():
        with when(text.replace("{x}", str(numbers(1)))):
            numbers(2)

    assert list(compiled(make)) == ["numbers", "when"]


def test_a_template_of_a_condition_that_names_nothing():
    def make():
        with when("{{rate}} > 1"):
            numbers(1)

    with pytest.raises(
        DSLError, match=r"test_step_functions.py:\d+: DAG 'when': its condition refers to 'rate', which is no parameter"
    ):
        compiled(make)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: numbers(), "missing a required argument: 'count'"),
        (lambda: numbers(1, wrong=2), "unexpected keyword argument 'wrong'"),
        (lambda: total(values={1, 2}), "the argument 'values' of step 'total' is {1, 2}, which cannot be sent"),
        (lambda: total(values=["x" * 100_001]), "more than 100,000"),
        (lambda: total(ContainerStep("c", "x", "x")), "give one of its outputs"),
        (lambda: total(corners([1])), "step.outputs['x']"),
        (lambda: list(total([1])), "write loop(total(...))"),
        (lambda: loop([object()]), "cannot be an item"),
        (
            lambda: numbers("three"),
            "the argument 'count' of step 'numbers' is 'three', and the function declares 'count: int'",
        ),
        (lambda: numbers(2.5), "is 2.5, and the function declares 'count: int'"),
        (lambda: numbers(None), "is None, and the function declares 'count: int'"),
        (lambda: total({"a": 1}), "is {'a': 1}, and the function declares 'values: list'"),
        (lambda: total([1], power="high"), "is 'high', and the function declares 'power: float'"),
        (lambda: total([1], power=f"{total([2])}"), "give the artifact itself as an input"),
        (
            lambda: total(ContainerStep("c", "x", "x", parameters={"p": [1]}).parameters["p"]),
            "is a list parameter",
        ),
    ],
)
def test_calls_that_are_refused(make, says):
    assert says in refused(lambda: compiled(make))


# -- runs


def test_a_run_of_functions(client):
    """The values that plain calls of the functions give, through files and parameters; a run gives other parameters."""

    @step
    def report(low: int, high: int, sum: float):
        print(low, high, sum, type(sum).__name__)

    @Pipeline(name="plain", fs_options=HOME)
    def plain(count):
        values = numbers(count)
        low, high = corners(values)
        report(low, high, total(values))

    made = plain(4)
    assert lines_of(ended(made.run(client=client)))["report"] == ["0 3 18.0 float"]
    assert lines_of(ended(made.run({"numbers.first": 10}, client=client)))["report"] == ["10 13 138.0 float"]
    run = made.run(
        client=client, run_name="other", desc="of Monday", disabled=made.entry_points["report"], fs_name="home"
    )
    assert (run.name, run.description) == ("other", "of Monday")
    assert {node.path: node.state for node in ended(run).nodes()}["report"] == "skipped"


TWO = {"PF_JOB_TYPE": "distributed", "PF_JOB_FRAMEWORK": "paddle", "PF_JOB_WORKER_REPLICAS": "2"}


def test_results_come_back(client):
    """One value, all of a loop, one of several results, and those of steps that were kept or reused; what has none says why."""

    @step
    def fails(x: int):
        raise SystemExit(1)

    @Pipeline(name="results", fs_options=HOME)
    def results(bad):
        for n in loop([3, 1]):
            numbers.options(name="fit")(n)
        low, _ = corners([4, 9])
        total.options(cache=True)([1, 2.5])
        write("a")
        if bad:
            fails(low)

    run = ended(results(True).run(client=client), "failed")
    assert run.result("fit") == run.result("loop.fit") == [[0, 1, 2], [0]]
    assert run.result("loop-1.fit") == [0] and run.result("corners", "y") == 9
    assert run.result("total") == 10.5
    for asked, says in (
        (("nothing",), "there is no step 'nothing' that has begun; there are: "),
        (("corners",), "has 2 results; it has: x, y"),
        (("corners", "z"), "has no result 'z'; it has: x, y"),
        (("fails",), "has no result: it is failed"),
        (("write",), "is not JSON but another file or a directory"),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            run.result(*asked)
    assert run.retry().wait(PATIENCE).result("fit") == [[0, 1, 2], [0]]


@step(cache=True)
def speaking(n: int) -> int:
    print("computing")
    return n + 1


def test_follow_says_what_was_reused(client, capsys):
    made = Pipeline(name="followed", fs_options=HOME)(lambda: speaking(17))()
    first = made.run(client=client).follow()
    assert "speaking | computing" in capsys.readouterr().out.splitlines()
    second = made.run(client=client).follow()
    _, state, *lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"speaking: succeeded \(.*s\): reused from run {first.id}, step 'speaking'", state)
    assert lines[0] == "speaking | computing" and second.result("speaking") == 18


def test_the_first_trainer_saves_the_result(client):
    @step(env=TWO)
    def train() -> str:
        import os

        index = os.environ["PADDLE_TRAINER_ID"]
        print("trainer", index)
        return "model" if index == "0" else object()  # which cannot be saved

    @step
    def show(model: str):
        print(model)

    @Pipeline(name="two", fs_options=HOME)
    def two():
        show(train())

    said = lines_of(ended(two().run(client=client)))
    assert sorted(said["train"]) == ["trainer 0", "trainer 1"] and said["show"] == ["model"]


ODD = {"text": "{{x}} {{PF_RUN_ID}} \"'$HOME`", "none": None, "list": [True, 1.5, {"a": []}], "unicode": "日本 🎉"}


@step
def echo(value, text: str, flag: bool = False, nothing: Optional[int] = None, run: str = PF_RUN_ID):
    import json

    print(json.dumps([value, text, flag, nothing]))
    print(run)
    return value


@step
def same(value, other):
    print(value == other, type(value).__name__)


def test_any_value_of_json_arrives_as_it_is(client):
    @Pipeline(name="odd")
    def odd():
        for value in (ODD, 5, "", "5", -0.5, True, None, [], "a,b"):
            same(echo(value, "{{text}}\n\0", flag=True), {"x": value} if value is ODD else value)

    run = ended(odd().run(client=client))
    said = lines_of(run)
    kinds = ["dict", "int", "str", "str", "float", "bool", "NoneType", "list", "str"]
    names = ["same", *(f"same-{number}" for number in range(2, 10))]
    assert [said[name] for name in names] == [["False dict"], *([f"True {kind}"] for kind in kinds[1:])]
    assert said["echo"][1] == run.id and '"{{text}}\\n\\u0000", true, null]' in said["echo"][0]


BRACES = "Hello {{name}}, {{PF_RUN_ID}} {{ a.b }} {{{x}}}"


@step
def say(text: str, more: object = "{{name}}", run: str = f"run {PF_RUN_ID}"):
    import json

    print(json.dumps([text, more, run]))


def test_texts_with_braces_arrive_as_they_are(client):
    """Also those that name nothing, a system variable, or a parameter of the step itself, and items of loops. References are resolved."""

    @Pipeline(name="braces")
    def braces():
        say(BRACES, {"a": [BRACES]})
        say("{{PF_RUN_ID}}", PF_RUN_ID, PF_STEP_NAME + " x")
        say("{{text}}", [BRACES, "5"])
        for item in loop([BRACES, "5", "plain"]):
            say(item, item)

    run = ended(braces().run(client=client))
    said = {step: json.loads(lines[0]) for step, lines in lines_of(run).items()}
    assert said["say"] == [BRACES, {"a": [BRACES]}, f"run {run.id}"]
    assert said["say-2"] == ["{{PF_RUN_ID}}", run.id, "say-2 x"]
    assert said["say-3"] == ["{{text}}", [BRACES, "5"], f"run {run.id}"]
    items = [made[:2] for step, made in sorted(said.items()) if step.startswith("loop")]
    assert items == [[BRACES, BRACES], ["5", "5"], ["plain", "plain"]]


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: say(f"{PF_RUN_ID} {{{{name}}}}"), "beside a reference"),
        (lambda: say("a", {"run": f"{PF_RUN_ID}"}), "give that as an argument of its own"),
        (lambda: loop([f"{PF_RUN_ID}"]), "let a step return the list"),
    ],
)
def test_references_where_none_can_be(make, says):
    assert says in refused(lambda: compiled(make))


@step
def write(word: str) -> pathlib.Path:
    place = pathlib.Path("out")
    place.mkdir()
    (place / "word.txt").write_text(word)
    return place


@step
def read(place: pathlib.Path, text: str) -> str:
    return (place / "word.txt").read_text() + text


@step
def join(words: List[str], places: List[pathlib.Path], empty: list):
    print(" ".join(words), [(place / "word.txt").read_text() for place in places], empty)


@step
def items() -> list:
    return [{"word": "a", "n": 1}, {"word": "b", "n": 2}]


@step
def tiny() -> float:
    return 1e-9  # conditions have no exponents


@step
def nothing() -> list:
    return []


@step
def pick(item, index: int) -> str:
    return f"{item['word']}{item['n'] + index}"


def test_files_loops_conditions_and_other_steps(client):
    """Paths of files, results of all items as a list, items that are dictionaries, a command between functions, post_process."""

    @step
    def last(text: str):
        print("last", text)

    @Pipeline(name="loops", docker_env="none", fs_options=HOME)
    def loops():
        for word in loop(["x", "y"]):
            place = write(word)
            upper = ContainerStep(
                "upper", command=f"tr xy XY < {place}/word.txt | tr -d '\\n' > {{{{up}}}}", outputs={"up": Artifact()}
            )
            text = read(place, upper.outputs["up"])
        for item in loop(items(), name="each"):
            picked = pick(item, 10)
        for _ in loop(nothing(), name="none"):
            unused = items()
        join(text, place, unused)
        join(picked, place, unused)
        score = total([1])
        with when(f"{score} > 100"):
            echo(1, "never")
        with when(f"{score} > 2 && {tiny()} < 0.1"):
            echo(2, "then")
        with post_process():
            last("word")

    run = ended(loops().run(client=client))
    said = lines_of(run)
    assert said["join"] == ["xX yY ['x', 'y'] []"] and said["join-2"] == ["a11 b12 ['x', 'y'] []"]
    assert said["when-2.echo"][0] == '[2, "then", false, null]' and "when.echo" not in said
    assert said["last"] == ["last word"]


@step
def gather(parts: list, places: List[Path], name: str):
    print(parts, [place.name for place in places], name)


def test_lists_with_results_of_other_steps(client):
    """Each item arrives as it would alone, also plain ones and those of loops."""

    @Pipeline(name="lists", docker_env="none", fs_options=HOME)
    def lists():
        for n in loop([1, 2]):
            several = numbers(n)
        command = ContainerStep("command", command="echo x > {{out}}", outputs={"out": Artifact()})
        gather(
            [numbers(2), 7, several, {"a": None}, total([1])], (write("a"), command.outputs["out"]), f"run {PF_RUN_ID}"
        )

    run = ended(lists().run(client=client))
    assert lines_of(run)["gather"] == [f"[[0, 1], 7, [[0], [0, 1]], {{'a': None}}, 3.0] ['result', 'out'] run {run.id}"]


def test_results_that_cannot_be_saved(client):
    @step
    def bad():
        return {1, 2}

    @step
    def two() -> Tuple[int, int]:
        return 1

    @Pipeline(name="bad")
    def pipeline(function):
        function()

    @step
    def lacks():
        import nowhere_at_all  # noqa: F401

    said = lines_of(ended(pipeline(lacks).run(client=client), "failed"))
    assert said["lacks"][-1].startswith("the step 'lacks' does not have the module 'nowhere_at_all': name its package")
    said = lines_of(ended(pipeline(bad).run(client=client), "failed"))
    assert "the result of 'bad' cannot be saved as JSON (it has a set)" in said["bad"][-1]
    said = lines_of(ended(pipeline(two).run(client=client), "failed"))
    assert "is not the 2 values that it declares (result_1, result_2)" in said["two"][-1]


FILES = {
    "steps.py": """
from paddlecloud.pipeline import Pipeline, step
import beside
from inside import deep

@step
def use():
    import further
    print(beside.word(), deep.WORD, further.WORD)

@Pipeline(name="modules")
def modules():
    use()
""",
    "beside.py": "import others\ndef word():\n    return others.WORD\n",
    "others.py": "WORD = 'others'\n",
    "further.py": "WORD = 'further'\n",
    "unused.py": "",
    "inside/__init__.py": "",
    "inside/deep.py": "from . import deeper\nWORD = deeper.WORD\n",
    "inside/deeper.py": "WORD = 'deeper'\n",
}


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """The pipeline of a program with modules beside it."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    loaded = importlib.import_module("steps")
    yield loaded.modules()
    for name in ("steps", "beside", "others", "further", "inside", "inside.deep", "inside.deeper"):
        sys.modules.pop(name, None)


def test_modules_beside_the_program_are_sent(client, modules, tmp_path):
    """Those that the function imports, and those that they import; also in a stored pipeline and in a saved definition."""
    expected = ["others deeper further"]
    assert lines_of(ended(modules.run(client=client)))["use"] == expected
    modules.create(client=client, desc="stored")
    stored = modules.update(client=client)
    assert stored.newest.version == 2
    assert lines_of(ended(stored.run()))["use"] == expected
    (tmp_path / "files").mkdir()
    (tmp_path / "files/beside.py").write_text("def word():\n    return 'of the directory'\n")
    stored = modules.update(client=client, directory=tmp_path / "files")
    for run in stored.run(), modules.run(client=client, directory=tmp_path / "files"):
        assert lines_of(ended(run))["use"] == ["of the directory deeper further"]
    modules.compile(tmp_path / "made/modules.yaml")
    made = {str(path.relative_to(tmp_path / "made")) for path in (tmp_path / "made").rglob("*.*")}
    assert made == {"modules.yaml", "paddle_steps/run.py", "paddle_steps/use.py", *FILES} - {"steps.py", "unused.py"}


def test_a_saved_definition_runs_from_the_command_line(server, modules, tmp_path):
    modules.compile(tmp_path / "made/modules.yaml")
    done = server.paddle("run", "create", "-f", tmp_path / "made/modules.yaml", "--follow", timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    said = server.paddle("run", "logs", done.stdout.split()[0], timeout=PATIENCE)
    assert "others deeper further" in said.stdout, said.stdout + said.stderr


def test_a_saved_definition_leaves_files_of_others(modules, tmp_path):
    """Programs and modules that a user wrote stay; those that compile() wrote become new."""
    made = tmp_path / "made"
    (made / "paddle_steps").mkdir(parents=True)
    for inside in ("paddle_steps/use.py", "paddle_steps/run.py", "others.py"):
        (made / inside).write_text("mine = 1\n")
        with pytest.raises(DSLError, match=f"{inside}' is there already and was not written by compile"):
            modules.compile(made / "modules.yaml")
        assert (made / inside).read_text() == "mine = 1\n" and not (made / "modules.yaml").exists()
        (made / inside).unlink()
    modules.compile(made / "modules.yaml")
    written = {path: path.read_text() for path in made.rglob("*.*")}
    modules.compile(made / "modules.yaml")
    assert written == {path: path.read_text() for path in made.rglob("*.*")}


def test_each_function_has_a_package_of_its_own(client, monkeypatch):
    """A change in one leaves the steps of the others as they were, so that a cache still has their results."""

    def make():
        total(numbers(3))

    made = Pipeline(name="packages", fs_options=HOME)(make)()
    before = made._sent(client)["entry_points"]
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 5)
    after = made._sent(client)["entry_points"]
    assert before["numbers"] == after["numbers"] and len(before["numbers"]["package"]) == 64
    assert before["total"]["package"] != after["total"]["package"]


def test_cached_functions(client, monkeypatch):
    """Another run takes all results. After a change in one function that function runs, and what reads its result."""

    @Pipeline(name="cached", fs_options=HOME)
    def cached(count):
        total.options(cache=True)(numbers.options(cache=True)(count))

    def reused(count):
        nodes = ended(cached(count).run(client=client)).nodes()
        return {node.path: (node.message or "").startswith("reused from run") for node in nodes}

    assert reused(2) == {"numbers": False, "total": False}
    assert reused(2) == {"numbers": True, "total": True}
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 7)
    assert reused(2) == {"numbers": True, "total": False}
    assert reused(3) == {"numbers": False, "total": False}


def test_the_cache_of_a_run(client):
    """What a run has left in the cache, and why the next one took it; an entry that was deleted is not taken."""
    made = Pipeline(name="left", fs_options=HOME)(lambda: numbers.options(cache=True)(41))()
    first = ended(made.run(client=client))
    (entry,) = client.cache_entries(first.id)
    assert (entry.run, entry.step, entry.filesystem, entry.state) == (first.id, "numbers", "home", "succeeded")
    whole = client.cache_entry(entry.id)
    assert whole.id == entry.id and whole.parts and list(whole.outputs) == ["result"] and not entry.parts
    second = ended(made.run(client=client))
    explained = second.explain_cache("numbers")
    assert explained["result"] == "reused" and explained["compared"]["id"] == entry.id
    assert {part["change"] for part in explained["parts"]} == {"same"}
    client.cache_delete(entry.id)
    with pytest.raises(paddlecloud.NotFound):
        client.cache_entry(entry.id)
    assert list(client.cache_entries(first.id)) == [] and entry.id not in [one.id for one in client.cache_entries()]
    assert ended(made.run(client=client)).explain_cache("numbers")["result"] == "ran"


def test_a_directory_is_sent_with_the_functions(server, client, tmp_path):
    @step
    def open_it():
        with open("data/x.txt") as file:
            print(file.read())

    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.txt").write_text("from the directory")
    made = Pipeline(name="directory")(open_it)()
    (tmp_path / "requirements.txt").write_text("# none\n")
    run = ended(made.run(client=client, directory=tmp_path))
    assert lines_of(run)["open-it"] == ["from the directory"]
    assert "# none" in server.get(f"/v1/runs/{run.id}/definition").json["definition"]
    (tmp_path / "paddle_steps").mkdir()
    with pytest.raises(DSLError, match="has a 'paddle_steps' of its own"):
        made.run(client=client, directory=tmp_path)


def test_definitions_of_functions_are_valid(tmp_path):
    Pipeline(name="p", cache_options=CacheOptions(), fs_options=HOME)(lambda: total(numbers(3)))().compile(
        tmp_path / "p.yaml"
    )
    done = subprocess.run(
        [BIN / "paddle", "pipeline", "lint", tmp_path / "p.yaml"], capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("p.yaml: valid (2 steps)\n"), done.stdout
