"""The program of a decorated function: its source, the source of all that it names, and the modules beside it that it imports."""

import ast
import collections
import importlib.util
import inspect
import os
import sys
import sysconfig
import textwrap
import types
from typing import Any, Dict, Iterator, List, Optional, Set

from .. import notebook
from .errors import seen_from_here

_ABSENT = object()
_OWN = __name__.partition(".")[0]  # this package is not everywhere where a step runs


class StepProgram(notebook.Program):
    """The program of one function. With `lenient`, names that are not defined yet are passed over."""

    remedy = "give it as an argument, or save it to a file and load it there"
    define = "define it beside the function, or import it inside of it"

    def __init__(self, function: types.FunctionType, lenient: bool = False) -> None:
        self.free: Dict[str, Any] = {}
        super().__init__(collections.ChainMap(self.free, function.__globals__))
        self.lenient = lenient
        self.add(function.__name__, function, function.__name__)

    def add(self, name: str, value: object, user: str) -> None:
        """As in a notebook; another decorated function of the same module is meant as it is without its decorator."""
        function = getattr(value, "_function", None) if type(value).__name__ == "StepFunction" else None
        same = function is not None and function.__module__ == self.names.get("__name__")
        super().add(name, function if same else value, user)

    def _add_used(self, used: str, user: str) -> None:
        if self.lenient and self.names.get(used, _ABSENT) is _ABSENT:
            return
        super()._add_used(used, user)

    def _take_free(self, name: str, function: types.FunctionType) -> None:
        """Values of the function around it become names of the program."""
        for free, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # it has no value yet
            if free == "__class__":
                continue  # super() finds it in the class
            if self.free.setdefault(free, value) is not value:
                raise ValueError(
                    f"'{name}' uses '{free}', which has another value in a function that it calls; rename one of them"
                )

    def _definition(self, name: str, value: Any) -> "tuple[notebook.Definition, str]":
        node, text = super()._definition(name, value)
        lines = text.split("\n")
        for number, decorator in reversed(list(enumerate(node.decorator_list))):
            if self._is_step(decorator, is_first=number == 0 and not inspect.isclass(value)):
                del lines[decorator.lineno - 1 : decorator.end_lineno]
        text = textwrap.dedent("\n".join(lines))
        parsed = ast.parse(text).body[0]
        assert isinstance(parsed, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        return parsed, text

    def _is_step(self, node: ast.expr, is_first: bool) -> bool:
        """Whether a decorator is `step`. One whose name the function does not see can only be that if it is the first."""
        at: ast.expr = node.func if isinstance(node, ast.Call) else node
        path: List[str] = []
        while isinstance(at, ast.Attribute):
            path.append(at.attr)
            at = at.value
        value = self.names.get(at.id, _ABSENT) if isinstance(at, ast.Name) else _ABSENT
        for name in reversed(path):
            value = getattr(value, name, _ABSENT)
        return is_first if value is _ABSENT else getattr(value, "_is_step_decorator", False)

    def source(self, name: str) -> str:
        """The module that holds the function `name`."""
        return self.module(f"The function `{name}` of a pipeline, as paddlecloud wrote it down.")


def place_of(function: types.FunctionType) -> str:
    """FILE:LINE of a function, the file as seen from the current directory."""
    return f"{seen_from_here(function.__code__.co_filename)}:{function.__code__.co_firstlineno}"


# -- modules beside the program


def files_of(source: str) -> Dict[str, str]:
    """The modules that a source imports, and those that they import, unless they are Python's own or installed: {path in the package: file}."""
    files: Dict[str, str] = {}
    seen: Set[str] = set()
    left = list(_imported(source))
    while left:
        root = left.pop()
        if root in seen:
            continue
        seen.add(root)
        for inside, path in _module_files(root):
            files[inside] = path
            if path.endswith(".py"):
                with open(path, encoding="utf-8") as file:
                    left += _imported(file.read())
    return files


def _imported(source: str) -> Iterator[str]:
    """The first words of modules that it names in imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def _is_installed(path: str) -> bool:
    places = [os.path.realpath(sysconfig.get_paths()[kind]) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    real = os.path.realpath(path)
    return (
        "site-packages" in real or "dist-packages" in real or any(real.startswith(place + os.sep) for place in places)
    )


def _spec_of(root: str) -> Optional[Any]:
    spec = getattr(sys.modules.get(root), "__spec__", None)
    if spec is not None or root in sys.builtin_module_names:
        return spec
    try:
        return importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return None


def _module_files(root: str) -> Iterator["tuple[str, str]"]:
    """The files of a module or package that lies beside the program."""
    spec = _spec_of(root)
    places: List[str] = list(getattr(spec, "submodule_search_locations", None) or [])
    origin = getattr(spec, "origin", None)
    if not places and origin and os.path.isfile(origin) and not _is_installed(origin):
        yield os.path.basename(origin), origin
    for place in places[:1]:
        if root == _OWN or not _is_installed(place):
            yield from _files_below(root, place)


def _files_below(root: str, place: str) -> Iterator["tuple[str, str]"]:
    for base, directories, names in os.walk(place):
        directories[:] = sorted(name for name in directories if name != "__pycache__")
        inside = os.path.normpath(os.path.join(root, os.path.relpath(base, place)))
        yield from (
            (os.path.join(inside, name), os.path.join(base, name))
            for name in sorted(names)
            if name.endswith((".py", ".typed"))
        )
