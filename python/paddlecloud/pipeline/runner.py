"""Runs one decorated function as a step. It is sent with each pipeline that has such steps, and uses nothing but Python.

    run.py [MODULE.]FUNCTION NAME:KIND... [-- OUTPUT...]

Each NAME is an argument. Its KIND says where the value is: "int", "float", "str", "path", "json" and "auto" in the variable ARG_NAME;
"value" in the file of the input artifact NAME as JSON, "text" as text, "file" is its path; "values", "texts" and "files" are lists of them.
"value+int+" is a list of arguments NAME_0, NAME_1 of these kinds.
Each OUTPUT is the name of an output artifact; one that ends in "+" is also wanted as items of a loop.
"""

import os
import sys

if __name__ == "__main__":  # modules of the steps must not hide those of Python, as one may be called `json`
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import decimal
import importlib
import json
import pathlib
import re
import shutil
import traceback
from typing import Any, Callable, Dict, List, Sequence


class Refused(SystemExit):
    """The step fails with this message."""


def read_json(path: str) -> Any:
    """The value that an earlier step saved."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (ValueError, IsADirectoryError):
        raise Refused(
            f"'{path}' is not a value in JSON, but another file or a directory: annotate the argument as pathlib.Path to get its path"
        ) from None


def read_text(path: str) -> str:
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_auto(text: str) -> Any:
    """A number, or whatever JSON says; else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


IN_VARIABLE: Dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "path": pathlib.Path,
    "json": json.loads,
    "auto": read_auto,
}
IN_FILE: Dict[str, Callable[[str], Any]] = {"value": read_json, "text": read_text, "file": pathlib.Path}


def value_of(name: str, kind: str) -> Any:
    """The value of an argument."""
    if kind.endswith("+"):
        return [value_of(f"{name}_{number}", one) for number, one in enumerate(kind[:-1].split("+"))]
    if kind in IN_VARIABLE:
        text = os.environ["ARG_" + name]
        try:
            return IN_VARIABLE[kind](text)
        except ValueError:
            raise Refused(f"the argument '{name}' is {text!r}, which is not of the kind '{kind}'") from None
    path = os.environ["PF_INPUT_ARTIFACT_" + name.upper()]
    if kind in IN_FILE:
        return IN_FILE[kind](path)
    return [IN_FILE[kind[:-1]](one) for one in path.split(",") if one]


def plain(value: Any) -> Any:
    """Numbers and arrays of other libraries as Python has them."""
    for way in ("tolist", "item"):
        if callable(getattr(value, way, None)):
            return getattr(value, way)()
    raise TypeError(f"it has a {type(value).__name__}")


def dump(function: str, value: Any) -> str:
    """The value as JSON. One number has no exponent, so that a condition can read it."""
    try:
        text = json.dumps(value, default=plain)
        return format(decimal.Decimal(text), "f") if re.fullmatch(r"-?[0-9.]+e[-+]?[0-9]+", text) else text
    except (TypeError, ValueError) as error:
        raise Refused(
            f"the result of '{function}' cannot be saved as JSON ({error}): return numbers, texts, lists and dictionaries, or write a file and "
            "return its pathlib.Path"
        ) from None


def items_of(function: str, value: Any) -> str:
    """A list for a loop, whose items are numbers and texts: any other item is written as JSON."""
    if not isinstance(value, (list, tuple)):
        raise Refused(f"the result of '{function}' is a {type(value).__name__}, and a loop is over it: return a list")
    return json.dumps([item if type(item) in (int, float, str) else dump(function, item) for item in value])


def save(function: str, name: str, value: Any, is_loop: bool) -> None:
    """Writes an output."""
    target = os.environ["PF_OUTPUT_ARTIFACT_" + name.upper()]
    if isinstance(value, pathlib.PurePath):
        copy_file(str(value), target)
        return
    with open(target, "w", encoding="utf-8") as file:
        file.write(dump(function, value))
    if is_loop:
        with open(os.environ["PF_OUTPUT_ARTIFACT_" + name.upper() + "_ITEMS"], "w", encoding="utf-8") as file:
            file.write(items_of(function, value))


def copy_file(source: str, target: str) -> None:
    """A file or directory that the function has written, unless it is where it belongs."""
    if os.path.isdir(source) and os.path.abspath(source) != os.path.abspath(target):
        shutil.copytree(source, target)
    elif os.path.abspath(source) != os.path.abspath(target):
        shutil.copy2(source, target)


def is_first() -> bool:
    """Whether this process saves the results: of several that train together, the first trainer does."""
    rank = os.environ.get("RANK") or os.environ.get("PADDLE_TRAINER_ID") or "0"
    return rank == "0" and os.environ.get("TRAINING_ROLE", "TRAINER") == "TRAINER"


def split(function: str, names: List[str], result: Any) -> Sequence[Any]:
    """The values of the outputs."""
    if len(names) < 2:
        return [result][: len(names)]
    if isinstance(result, dict) and set(result) == set(names):
        return [result[name] for name in names]
    if isinstance(result, (list, tuple)) and len(result) == len(names):
        return result
    raise Refused(
        f"the result of '{function}' is not the {len(names)} values that it declares ({', '.join(names)}): return a tuple of them"
    )


def call(module: str, function: str, values: Dict[str, Any]) -> Any:
    """What the function returns. A module that is missing is explained below the traceback."""
    folder = os.path.basename(os.path.dirname(os.path.abspath(__file__)))
    try:
        return getattr(importlib.import_module(f"{folder}.{module}"), function)(**values)
    except ModuleNotFoundError as error:
        traceback.print_exc()
        raise Refused(
            f"the step '{function}' does not have the module '{error.name}': name its package in @step(requirements=[...]), or in a "
            "requirements.txt in the directory that is sent"
        ) from None


def main(function: str, *words: str) -> None:
    """Calls the function, and saves what it returns."""
    cut = words.index("--") if "--" in words else len(words)
    arguments = dict(word.split(":") for word in words[:cut])
    values = {name: value_of(name, kind) for name, kind in arguments.items()}
    module, _, function = function.rpartition(".")
    result = call(module or function, function, values)
    if not is_first():
        return
    outputs = words[cut + 1 :]
    names = [word.rstrip("+") for word in outputs]
    for word, name, value in zip(outputs, names, split(function, names, result)):
        save(function, name, value, word.endswith("+"))


if __name__ == "__main__":
    main(*sys.argv[1:])
