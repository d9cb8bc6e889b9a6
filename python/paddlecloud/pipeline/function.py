"""A decorated function is a step: its arguments are the step's parameters and inputs, its result is the step's output."""

import functools
import inspect
import re
import types
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union, overload

from . import context, names
from .component import Component
from .dag import _free_name, loop
from .errors import fault, message_of
from .kinds import check_result, encoded, fits, hints_of, item_of, kind_of, outputs_of
from .options import CacheOptions, ExtraFS
from .programs import FOLDER, Programs
from .step import Step
from .values import Artifact, Bound, LoopItem, OfTheRun, Parameter, has_reference

_ARGUMENT = "ARG_"
_NAME_MAX = 50 - len(_ARGUMENT)
_ITEMS = "_items"  # of a result that a loop is over
Requirements = Union[str, Sequence[str], None]


class FunctionStep(Step, OfTheRun):
    """What a call of a decorated function gives inside of a pipeline. It stands for the result of the function: as an argument of other
    functions, in f-strings, in loop(). Of several results `outputs` has each by name, and `a, b = split(data)` takes them apart."""

    def __init__(self, function: "StepFunction", values: Mapping[str, Any]) -> None:
        options = function._options
        self._code = function
        self._json: Dict[str, Parameter] = {}  # arguments that are JSON in a text
        self._lists: Dict[
            str, List[str]
        ] = {}  # arguments that are lists with results of other steps, by the names of their items
        self._hints = dict(function._hints)
        self._itemised: Dict[str, None] = {}  # outputs that loops are over
        super().__init__(
            options["name"] or _free_name(_step_name(function.__name__)),
            docker_env=options["image"],
            outputs={name: Artifact() for name in function._outputs},
            env=options["env"],
            cache_options=_cache(options["cache"]),
            condition=options["condition"],
            extra_fs=options["extra_fs"],
            retries=options["retries"],
            time_limit=options["time_limit"],
            requirements=options["requirements"],
        )
        if options["flavour"] is not None:
            self.env["PF_JOB_FLAVOUR"] = options["flavour"]
        for name, value in values.items():
            self._take(name, value)

    def _take(self, name: str, value: Any) -> None:
        """Takes an argument."""
        if isinstance(value, Component):
            value = value._sole()
        if isinstance(value, Artifact):
            self.inputs[name] = value
        elif isinstance(value, (list, tuple)) and any(map(_is_of_the_run, value)):
            self._take_list(name, value)
        elif isinstance(value, Bound):
            self.parameters[name] = value  # type: ignore[assignment]
        else:
            where = f"the argument '{name}' of {self.said}"
            made, is_json = encoded(where, value, self._hint(name))
            self._check_type(where, name, value)
            self.parameters[name] = made
            if is_json:
                self._json[name] = self.parameters[name]

    def _check_type(self, where: str, name: str, value: Any) -> None:
        """A DSLError if a plain value is not of the type that the function declares; its own default may be any."""
        declared = self._code._signature.parameters.get(name)
        if (declared is None or value is not declared.default) and not fits(self._hints.get(name), value):
            kind = inspect.formatannotation(self._hints[name])
            raise fault(
                f"{where} is {value!r:.80}, and the function declares '{name}: {kind}'; give it a value of this type"
            )

    def _take_list(self, name: str, values: Sequence[Any]) -> None:
        """Takes an argument that is a list with results of other steps: each item as one of its own."""
        self._lists[name] = [f"{name}_{number}" for number in range(len(values))]
        for item, value in zip(self._lists[name], values):
            self._hints[item] = item_of(self._hints.get(name))
            self._take(item, value)

    def _hint(self, name: str) -> str:
        return kind_of(self._hints.get(name))

    # -- its result

    def _sole(self) -> Artifact:
        found = list(self._code._outputs)
        if len(found) != 1:
            how = f"give one of them: step.outputs['{found[0]}']" if found else "it returns nothing, as it declares"
            raise fault(f"{self.said} has {len(found)} results; {how}")
        output: Artifact = self.outputs[found[0]]
        return output

    @property
    def output(self) -> Artifact:
        """Its only result."""
        return self._sole()

    def __str__(self) -> str:
        return str(self._sole())

    def __iter__(self) -> Iterator[Artifact]:
        if len(self._code._outputs) < 2:
            raise fault(
                f"{self.said} has no several results; to run a step for each item of its result, write loop({self._code.__name__}(...))"
            )
        return iter([self.outputs[name] for name in self._code._outputs])

    def _said(self) -> str:
        return f"the result of {self.said}"

    def __bool__(self) -> bool:
        raise self._refused("ask whether it is true")

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, (int, float, str, list, tuple, dict)):
            raise self._refused("compare it")
        return self is other

    __hash__ = Step.__hash__

    def _items_of(self, artifact: Artifact) -> Artifact:
        if artifact.name not in self._itemised and self._code._outputs.get(artifact.name) == "json":
            self._itemised[artifact.name] = None
            self.outputs[artifact.name + _ITEMS] = Artifact()
        return artifact if artifact.name not in self._itemised else self.outputs[artifact.name + _ITEMS]

    # -- in the definition

    def _needs_image(self) -> bool:
        return False

    def _command_text(self, programs: Programs) -> Optional[str]:
        module, name = programs.module_of(self._code._function), self._code.__name__
        words = [f"python3 {FOLDER}/run.py", name if module == name else f"{module}.{name}"]
        items = {item for several in self._lists.values() for item in several}
        single = [argument for argument in (*self.parameters, *self.inputs) if argument not in items]
        words += [f"{argument}:{self._kind(argument)}" for argument in (*single, *self._lists)]
        outputs = [name + ("+" if name in self._itemised else "") for name in self._code._outputs]
        return " ".join([*words, *(["--", *outputs] if outputs else [])])

    def _env_texts(self, programs: Programs) -> Dict[str, str]:
        arguments = {_ARGUMENT + name: f"{{{{{name}}}}}" for name in self.parameters}
        source = programs.digest(programs.module_of(self._code._function))
        return {**super()._env_texts(programs), **arguments, "PF_SOURCE": source}

    def _package(self, programs: Programs) -> Optional[str]:
        return programs.package_of(programs.module_of(self._code._function))

    def _kind(self, name: str) -> str:
        if name in self._lists:
            return "".join(f"{self._kind(item)}+" for item in self._lists[name])
        if name in self.inputs:
            return self._kind_of_input(name)
        parameter = self.parameters[name]
        if self._json.get(name) is parameter:
            return "json"
        return self._kind_of_parameter(name, parameter)

    def _kind_of_parameter(self, name: str, parameter: Parameter) -> str:
        source: Bound = parameter
        while isinstance(source, Parameter) and source.source is not None:
            source = source.source
        hint = self._hint(name)
        if isinstance(source, LoopItem):
            kind = _kind_of_item(source)
            return kind if _has_json(source) and hint in ("str", "json") else hint or kind
        assert isinstance(source, Parameter)
        owner = source.owner()
        if isinstance(owner, FunctionStep) and owner._json.get(source.name) is source:
            return "json"
        if isinstance(source.default, list):
            raise fault(
                f"the argument '{name}' of {self.said} is a list parameter, whose text is not exact; give the list itself"
            )
        by_value = {int: "int", float: "float", str: "str"}.get(type(source.default), "auto")
        is_text = hint == "json" and by_value == "str" and source is parameter
        return by_value if is_text or not hint else hint

    def _kind_of_input(self, name: str) -> str:
        source = self.inputs[name]
        while source.source is not None:
            source = source.source
        owner = source.owner()
        several = _loops_between(owner, self)
        hint = kind_of(item_of(self._hints.get(name))) if several else self._hint(name)
        own = owner._code._outputs.get(source.name) if isinstance(owner, FunctionStep) else None
        kind = _kind_of_file(hint, own)
        return kind + "s" if several else kind


def _is_of_the_run(value: object) -> bool:
    """Whether it is, or has in its text, what is only known in the run."""
    return isinstance(value, (Component, Bound)) or (isinstance(value, str) and has_reference(value))


def _kind_of_file(hint: str, own: Optional[str]) -> str:
    """`own` is what a function declared of its result, None of another step's."""
    if hint == "path" or own == "path" or (own is None and not hint):
        return "file"
    return "text" if own is None and hint == "str" else "value"


def _loops_between(owner: Component, reader: Component) -> bool:
    """Whether the reader sees the results of several instances of the owner."""
    around, at = set(), reader._parent
    while at is not None:
        around.add(id(at))
        at = at._parent
    one: Optional[Component] = owner
    while one is not None and id(one) not in around:
        if one.loop_argument is not None:
            return True
        one = one._parent
    return False


def _has_json(item: LoopItem) -> bool:
    owner = item.owner()
    return isinstance(owner, loop) and owner.has_json


def _kind_of_item(item: LoopItem) -> str:
    owner = item.owner()
    argument = owner.loop_argument.argument if owner.loop_argument else None
    if _has_json(item):
        return "auto"
    types_ = {type(one) for one in argument} if isinstance(argument, list) else set()
    if list in types_:
        raise fault(
            f"the items of {owner.said} are lists, whose texts are not exact; use loop([...]) in place of loop_argument"
        )
    for kinds, kind in (({int}, "int"), ({int, float}, "float"), ({str}, "str")):
        if types_ and types_ <= kinds:
            return kind
    return "auto"


def _step_name(function: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "-", function).strip("-")[:30].rstrip("-")
    if not name[:1].isalpha():
        raise fault(f"no name for a step can be made of '{function}'; give one: @step(name=\"...\")")
    return names.check_component(name)


def _cache(cache: Union[bool, CacheOptions, None]) -> Optional[CacheOptions]:
    """Steps of functions compare files by what is in them, as each run writes them again."""
    if isinstance(cache, bool):
        return CacheOptions(True, fingerprint="content") if cache else None
    if isinstance(cache, CacheOptions) and cache.fingerprint is None:
        return CacheOptions(cache.enable, cache.fs_scope, cache.max_expired_time, "content")
    return cache


class StepFunction:
    """A decorated function. Called inside of a pipeline it makes a step; anywhere else it is the function itself, so that it can be tested."""

    def __init__(self, function: Callable[..., Any], options: Dict[str, Any]) -> None:
        self._function, self._options = function, options
        self._hints = hints_of(function)
        self._signature = inspect.signature(function)
        self._outputs = outputs_of(function, options["outputs"], self._hints.get("return"))
        for name in self._outputs:
            names.check_variable("an output", name)
        functools.update_wrapper(self, function)

    __name__: str

    def __repr__(self) -> str:
        return f"<step function {self.__name__}>"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Inside of a pipeline a FunctionStep, else what the function returns."""
        if context.innermost() is None:
            return self._function(*args, **keywords)
        return self.step(*args, **keywords)

    def step(self, *args: Any, **keywords: Any) -> FunctionStep:
        """A step that calls the function with these arguments, also outside of a pipeline, as for Pipeline.set_post_process."""
        try:
            bound = self._signature.bind(*args, **keywords)
        except TypeError as error:
            raise fault(f"{self.__name__}(): {error}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        for name in set(given) - set(self._signature.bind(*args, **keywords).arguments):
            if not _can_be_sent(given[name], kind_of(self._hints.get(name))):
                del given[name]  # the function has its own default
        return FunctionStep(self, given)

    def options(self, **options: Any) -> "StepFunction":
        """The same function with other keywords of `step`: `train.options(name="train-large", flavour="gpu")(data)`."""
        unknown = set(options) - set(self._options)
        if unknown:
            raise fault(f"{self.__name__}.options: there is no '{unknown.pop()}'; there are {', '.join(self._options)}")
        return StepFunction(self._function, {**self._options, **options})


def _can_be_sent(value: object, kind: str) -> bool:
    try:
        encoded("a default", value, kind)
    except ValueError:
        return False
    return True


def _check(function: Any, options: Mapping[str, Any]) -> None:
    """A DSLError, which begins with the place of the function, unless it can be sent."""
    from .source import StepProgram, place_of  # what it imports is only needed here

    if not isinstance(function, types.FunctionType) or function.__name__ == "<lambda>":
        raise fault(f"@step is for a function that was made by `def`, and this is {_kind_said(function)}")
    try:
        _check_form(function)
        _check_arguments(function)
        if options["name"] is None:
            _step_name(function.__name__)
        check_result(function.__name__, hints_of(function).get("return"))
        StepProgram(function, lenient=True)
    except ValueError as error:
        raise fault(message_of(error), place_of(function)) from None


def _kind_said(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    kind = {"function": "lambda", "type": "class", "method": "method of an object"}.get(type(value).__name__)
    return f"a {kind or type(value).__name__}" + ("" if name is None or kind == "lambda" else f", '{name}'")


def _check_form(function: types.FunctionType) -> None:
    name = function.__name__
    if (
        inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    ):
        raise ValueError(f"'{name}' is a coroutine or a generator; a step is a plain function that returns its result")
    around, _, _ = function.__qualname__.rpartition(".")
    first = next(iter(inspect.signature(function).parameters), None)
    if around and not around.endswith("<locals>") and first in ("self", "cls"):
        raise ValueError(
            f"'{name}' is a method of '{around}', whose object no step has; let a function outside of the class make the object and call it"
        )


def _check_arguments(function: types.FunctionType) -> None:
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(
                f"'{function.__name__}' takes any number of arguments, or some without a name ('{name}'); name each argument"
            )
        if len(name) > _NAME_MAX or not name.isascii():
            raise ValueError(
                f"'{function.__name__}': the name of its argument '{name}' is not one of ASCII letters, at most {_NAME_MAX}"
            )


@overload
def step(function: Callable[..., Any]) -> StepFunction: ...


@overload
def step(
    *,
    name: Optional[str] = None,
    image: Optional[str] = None,
    requirements: Requirements = None,
    cache: Union[bool, CacheOptions, None] = None,
    outputs: Optional[List[str]] = None,
    env: Optional[Mapping[str, Any]] = None,
    flavour: Optional[str] = None,
    condition: Optional[str] = None,
    extra_fs: Union[ExtraFS, Sequence[ExtraFS], None] = None,
    retries: Optional[int] = None,
    time_limit: Union[int, str, None] = None,
) -> Callable[[Callable[..., Any]], StepFunction]: ...


def step(function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
    """Makes a function a step of pipelines:

        @step(requirements=["numpy"], cache=True)
        def mean(numbers: list) -> float:
            import numpy
            return float(numpy.mean(numbers))

    Its source is sent with the run, with the functions, classes, constants and modules beside it that it names; `requirements` are
    installed. Arguments are plain values (what JSON has), results of other steps, parameters and loop items; one that is annotated as
    pathlib.Path is the path of a file or directory of another step. The result is saved as JSON. Of a pathlib.Path, a copy of the file or
    directory is saved. A NamedTuple, a Tuple[...] or `outputs` (names) declare several results.

    `image` is for pods, `flavour` names CPUs, memory and GPUs, `cache` is True or a CacheOptions: a step whose source, arguments and inputs
    are those of an earlier run takes its result. `retries`, `time_limit`, `env`, `extra_fs` and `condition` are as in ContainerStep.

    Raises DSLError at once for what cannot be sent: the message names it."""
    given = {**dict.fromkeys(_OPTIONS), **options}
    if set(given) != set(_OPTIONS):
        raise TypeError(f"step() has no keyword '{(set(given) - set(_OPTIONS)).pop()}'; it has {', '.join(_OPTIONS)}")

    def decorate(function: Callable[..., Any]) -> StepFunction:
        _check(function, given)
        return StepFunction(function, given)

    return decorate if function is None else decorate(function)


_OPTIONS = (
    "name",
    "image",
    "requirements",
    "cache",
    "outputs",
    "env",
    "flavour",
    "condition",
    "extra_fs",
    "retries",
    "time_limit",
)
step._is_step_decorator = True  # type: ignore[attr-defined]
