"""How arguments and results of a decorated function travel: the kinds of runner.py."""

import collections.abc
import json
import pathlib
import sys
import types
import typing
from typing import Any, Callable, Dict, List, Optional, Tuple

from .errors import fault
from .values import Artifact, Parameter, SystemVariable, has_reference, without_references

VALUE_MAX = 100_000  # characters of one argument's text; the system takes up to 128 KiB of one variable

_OF_TYPE = {int: "int", float: "float", str: "str"}
_AS_JSON = (bool, list, tuple, dict, collections.abc.Sequence, collections.abc.Mapping)
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))  # Union[int, None] and int | None


def kind_of(annotation: Any) -> str:
    """The kind that an annotation asks for: "int", "float", "str", "json", "path", or "" if it says nothing."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _UNIONS:
        kinds = {kind_of(one) for one in arguments if one is not type(None)}
        return kinds.pop() if len(kinds) == 1 else ""
    annotation = origin or annotation
    if not isinstance(annotation, type):
        return ""
    if annotation in _OF_TYPE:
        return _OF_TYPE[annotation]
    if issubclass(annotation, (pathlib.PurePath, Artifact)):
        return "path"
    return "json" if issubclass(annotation, _AS_JSON) else ""


def item_of(annotation: Any) -> Any:
    """The annotation of the items of `List[...]`; None if it says nothing."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) in _UNIONS:
        return next((item_of(one) for one in arguments if one is not type(None)), None)
    return arguments[0] if arguments and kind_of(annotation) == "json" else None


_SEQUENCES = (list, tuple)
_FITTING: Dict[Any, Tuple[type, ...]] = {
    **{int: (int,), float: (int, float), str: (str, pathlib.PurePath), bool: (bool,), dict: (dict,)},
    **{list: _SEQUENCES, tuple: _SEQUENCES, type(None): (type(None),)},
}


def fits(annotation: Any, value: object) -> bool:
    """Whether a plain argument can be one of this type. A text may become a number, and what it refers to is only known in the run."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _UNIONS:
        return any(fits(one, value) for one in arguments)
    kind = origin or annotation
    if kind not in _FITTING or isinstance(value, _FITTING[kind]):
        return True
    return isinstance(value, str) and (has_reference(value) or (kind in (int, float) and _is_number(kind, value)))


def _is_number(kind: Callable[[str], object], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def hints_of(function: Callable[..., object]) -> Dict[str, Any]:
    """Its annotations, those that can be evaluated; None stands for its type."""
    try:
        return typing.get_type_hints(function)
    except Exception:  # one of them names what is not defined here; the others are good
        names = vars(sys.modules.get(function.__module__, typing))
        return {name: _evaluated(value, names) for name, value in getattr(function, "__annotations__", {}).items()}


def _evaluated(annotation: Any, names: Dict[str, Any]) -> Any:
    if isinstance(annotation, str):
        try:
            annotation = eval(
                annotation, dict(names)
            )  # the function's own annotation, which Python itself would evaluate
        except Exception:
            return typing.Any
    return type(None) if annotation is None else annotation


def outputs_of(function: Callable[..., object], declared: Optional[List[str]], hint: Any) -> Dict[str, str]:
    """The names of the results of a function by what it declares to return, each with its kind, "json" or "path"."""
    if hint is type(None):
        return {}
    fields = getattr(hint, "_fields", None)
    arguments = [one for one in typing.get_args(hint) if one is not Ellipsis]
    several = typing.get_origin(hint) is tuple and len(arguments) == len(typing.get_args(hint)) > 1
    if declared:
        kinds = (
            [kind_of(one) for one in arguments] if several and len(arguments) == len(declared) else [""] * len(declared)
        )
        kinds = [kind_of(hint)] if len(declared) == 1 else kinds
        return {name: _of_result(kind) for name, kind in zip(declared, kinds)}
    if fields:
        types = typing.get_type_hints(hint)
        return {name: _of_result(kind_of(types.get(name))) for name in fields}
    if several:
        return {f"result_{number}": _of_result(kind_of(one)) for number, one in enumerate(arguments, 1)}
    return {"result": _of_result(kind_of(hint))}


_NOT_JSON = (set, frozenset, bytes, bytearray, complex, collections.abc.Iterator, types.ModuleType)


def check_result(function: str, hint: Any) -> None:
    """ValueError if a result with this annotation cannot be saved."""
    origin = typing.get_origin(hint)
    parts = typing.get_args(hint) if origin in _UNIONS or origin is tuple else [hint]
    for part in parts:
        kind = typing.get_origin(part) or part
        if isinstance(kind, type) and issubclass(kind, _NOT_JSON):
            raise ValueError(
                f"'{function}' returns a {kind.__name__}, as it is annotated, which cannot be saved as JSON: return numbers, texts, lists and "
                "dictionaries, or write a file and return its pathlib.Path"
            )


def _of_result(kind: str) -> str:
    return "path" if kind == "path" else "json"


def without_templates(value: object) -> str:
    """The value as JSON in which nothing begins a template. TypeError or ValueError if it has none."""
    return json.dumps(value).replace("{{", "{\\u007b")


def _as_json(where: str, value: object) -> str:
    try:
        text = without_templates(value)
    except (TypeError, ValueError) as error:
        raise fault(
            f"{where} is {value!r:.80}, which cannot be sent ({error}): give numbers, texts, lists and dictionaries, or let another step make it"
        ) from None
    if not isinstance(value, str) and has_reference(json.dumps(value)):
        raise fault(f"{where} has a reference to a value of the run inside; give that as an argument of its own")
    return text


def _is_plain_text(where: str, text: str) -> bool:
    """Whether a text can be a parameter as it is. One with braces of its own cannot: the language would take them for templates."""
    rest = without_references(text)
    if "{{" not in rest and "\0" not in rest:
        return True
    if has_reference(text):
        raise fault(f"{where} has '{{{{' beside a reference to another step; give them as two arguments")
    return False


def encoded(where: str, value: object, kind: str) -> Tuple[Any, bool]:
    """A plain argument as the value of a parameter, and whether it is JSON in a text."""
    if isinstance(value, pathlib.PurePath):
        value = str(value)
    if isinstance(value, SystemVariable):
        value = str(value)
    is_json = isinstance(value, str) and not _is_plain_text(where, value)
    if not is_json and isinstance(value, str):
        made: Any = value
    elif type(value) in (int, float) and value == value and value not in (float("inf"), float("-inf")):
        is_float = isinstance(value, float) or kind == "float"
        made = Parameter(value, float if is_float else int) if kind in ("int", "float", "") else value
    else:
        made, is_json = _as_json(where, value), True
    if isinstance(made, str) and len(made) > VALUE_MAX:
        raise fault(
            f"{where} has {len(made)} characters, more than {VALUE_MAX:,}: let another step return it, or put it into a file of the main file "
            "system"
        )
    return made, is_json
