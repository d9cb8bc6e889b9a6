"""A program made of a function of a notebook or of an interactive interpreter: its source, and the source of all that it names.

The function may use modules and their members (imported), functions and classes of the notebook (their source is sent), and constants
(written down). A name that stands for anything else is refused with a message.
"""

import __future__

import ast
import builtins
import inspect
import linecache
import os
import pathlib
import symtable
import sys
import textwrap
import types
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

CONSTANT_MAX = 64 * 1024  # characters of one constant's text
DEPTH_MAX = 20  # of lists in lists
_FUTURE_ANNOTATIONS = __future__.annotations.compiler_flag
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]


def program_of(function: Callable[[], object]) -> str:
    """The text of a program that calls `function`, a function of a notebook, of an interactive interpreter or of a module.

    Raises ValueError when its source is not known, or it uses what cannot be written down.
    """
    if not inspect.isfunction(function):
        raise ValueError(
            f"'{_name_of(function)}' is no function with a source of its own: give one that was made by `def`"
        )
    if function.__name__ == "<lambda>":
        raise ValueError("a lambda cannot be sent from a session: give a function that was made by `def`")
    _check_arguments(function)
    program = Program(function.__globals__)
    program.add(function.__name__, function, function.__name__)
    return program.text(function.__name__)


def _check_arguments(function: types.FunctionType) -> None:
    try:
        inspect.signature(function).bind()
    except TypeError:
        raise ValueError(
            f"'{function.__name__}' is called without arguments; give its parameters default values"
        ) from None


def _name_of(value: object) -> str:
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__)


class Program:
    """A program on its way: what has been taken up so far, each name once. `names` are those that its functions see."""

    remedy = "save it to a file beside the notebook and load it there"  # for a value that cannot be sent
    define = "run the cell that defines it first"

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        self.done: Dict[str, None] = {}
        self.imports: Dict[str, None] = {}
        self.parts: List[str] = []
        self.future = False

    def text(self, main: str) -> str:
        """The program, which calls `main` when it is run."""
        call = f'if __name__ == "__main__":\n    {main}()'
        return self.module(f"The function `{main}` of a session, as paddlecloud wrote it down.", call)

    def module(self, said: str, *further: str) -> str:
        """All that was taken up as a module; `said` is its docstring."""
        head = [f'"""{said}"""']
        if self.future:
            head.append("from __future__ import annotations")
        blocks = ["\n".join(head), "\n".join(sorted(self.imports)), *self.parts, *further]
        return "\n\n".join(block for block in blocks if block) + "\n"

    def add(self, name: str, value: object, user: str) -> None:
        """Takes up `name`, which stands for `value` and which the function `user` uses."""
        if name in self.done:
            return
        self.done[name] = None
        if _is_of_notebook(value) or name == "get_ipython":
            raise ValueError(
                f"'{user}' uses '{name}' of the notebook (a line with ! or % does that, too), which a job does not have; use Python's own, "
                "such as subprocess and print"
            )
        if isinstance(value, types.ModuleType):
            self._add_module(name, value, user)
        elif self._is_of_session(value):
            self._add_definition(name, value)
        elif not self._add_import(name, value):
            self._add_constant(name, value, user)

    def _is_of_session(self, value: object) -> bool:
        return (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == self.names.get("__name__")

    def _add_module(self, name: str, module: types.ModuleType, user: str) -> None:
        known = module.__name__
        if known == "__main__":
            raise ValueError(f"'{user}' uses '{name}', which is the session itself")
        self.imports[f"import {known}" if known == name else f"import {known} as {name}"] = None

    def _add_import(self, name: str, value: object) -> bool:
        """Something that a module has under a name: a function, a class, a form of typing."""
        module = getattr(value, "__module__", None)
        for known in (getattr(value, "__name__", None), getattr(value, "_name", None), name):
            if (
                isinstance(module, str)
                and isinstance(known, str)
                and known.isidentifier()
                and module not in ("__main__", self.names.get("__name__"))
                and getattr(sys.modules.get(module), known, self) is value
            ):
                self.imports[f"from {module} import {known}" + ("" if known == name else f" as {name}")] = None
                return True
        return False

    def _add_constant(self, name: str, value: object, user: str) -> None:
        text = _literal(value)
        if text is None:
            kind = f"{type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")
            raise ValueError(
                f"'{user}' uses '{name}', a {kind}, which cannot be sent with it: make it inside '{user}', or {self.remedy}"
            )
        if len(text) > CONSTANT_MAX:
            raise ValueError(
                f"'{user}' uses '{name}', a constant of {len(text)} characters, which is too long to be sent with it: {self.remedy}"
            )
        self.parts.append(f"{name} = {text}")

    def _add_definition(self, name: str, value: Any) -> None:
        node, text = self._definition(name, value)
        for code in _codes_of(value):
            self.future = self.future or bool(code.co_flags & _FUTURE_ANNOTATIONS)
        if inspect.isfunction(value):
            self._take_free(name, inspect.unwrap(value))
        for used in sorted(_globals_of(text)):
            self._add_used(used, name)
        self._add_submodules(node)
        self.parts.append(text if node.name == name else f"{text}\n\n{name} = {node.name}")

    def _take_free(self, name: str, function: types.FunctionType) -> None:
        """Names of the function around it that `function` uses."""
        free = function.__code__.co_freevars
        if free:
            raise ValueError(
                f"'{name}' uses '{free[0]}' of the function around it, which cannot be sent; define '{name}' in a cell "
                "of its own"
            )

    def _definition(self, name: str, value: Any) -> "tuple[Definition, str]":
        """Parsed, and as text."""
        return _definition_of(name, value)

    def _add_used(self, used: str, user: str) -> None:
        value, builtin = self.names.get(used, self), getattr(builtins, used, None)
        if builtin is not None and (value is self or (callable(value) and inspect.unwrap(value) is builtin)):
            return  # a notebook wraps `open`
        if value is not self:
            self.add(used, value, user)
        elif not self.future and used not in ("__file__", "__name__", "__doc__"):
            # with postponed annotations an unknown name may be only an annotation
            raise ValueError(f"'{user}' uses '{used}', which is not defined; {self.define}")

    def _add_submodules(self, node: ast.AST) -> None:
        """`import xml.etree.ElementTree` makes the name xml; what is reached through it has to be imported as well."""
        for dotted in _dotted_names(node):
            first, *rest = dotted.split(".")
            module = self.names.get(first)
            while isinstance(module, types.ModuleType) and rest:
                module = sys.modules.get(f"{module.__name__}.{rest.pop(0)}")
                if module is not None:
                    self.imports[f"import {module.__name__}"] = None


def _is_of_notebook(value: object) -> bool:
    return inspect.isfunction(value) and str(value.__module__).partition(".")[0] == "IPython"


def _codes_of(value: Any) -> Iterator[types.CodeType]:
    """The code of a function, or of the methods of a class."""
    for one in [value] if inspect.isfunction(value) else vars(value).values():
        code = getattr(inspect.unwrap(one) if callable(one) else one, "__code__", None)
        if isinstance(code, types.CodeType):
            yield code


def _globals_of(text: str) -> List[str]:
    """Names of the module that the source `text` uses, in its body as in decorators, defaults and annotations."""
    found: Dict[str, None] = {}

    def walk(table: symtable.SymbolTable, top: bool) -> None:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (not symbol.is_assigned() if top else symbol.is_global()):
                found[symbol.get_name()] = None
        for child in table.get_children():
            walk(child, False)

    walk(symtable.symtable(text, "cell", "exec"), True)
    return list(found)


def _dotted_names(node: ast.AST) -> Iterator[str]:
    for at in ast.walk(node):
        names: List[str] = []
        while isinstance(at, ast.Attribute):
            names.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and names:
            yield ".".join([at.id, *reversed(names)])


# -- source


def _definition_of(name: str, value: Any) -> "tuple[Definition, str]":
    """The definition of a function or class of the session, parsed and as text."""
    text = _class_source(value) if inspect.isclass(value) else _function_source(value)
    body: List[ast.stmt] = []
    if text is not None:
        text = textwrap.dedent(text).strip("\n")
        try:
            body = ast.parse(text).body
        except SyntaxError:
            body = []
    if text is None or len(body) != 1 or not isinstance(body[0], _Definition) or body[0].name != value.__name__:
        raise ValueError(
            f"the source of '{name}' is not known: put the program into a file and run that, or define '{name}' by `def` or `class` in a "
            "cell of a notebook"
        )
    return body[0], text


def _function_source(function: Callable[..., object]) -> Optional[str]:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None


def _class_source(cls: type) -> Optional[str]:
    """inspect looks for a class in the file of its module, and a notebook has none: it is found in the cells."""
    files = {code.co_filename: None for code in _codes_of(cls)}
    module = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if module:
        files[module] = None
    for file in [*files, *reversed([file for file in linecache.cache if not os.path.exists(file)])]:
        lines = linecache.getlines(file)
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            continue
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == cls.__name__]
        if found:
            first = min([found[-1].lineno, *(decorator.lineno for decorator in found[-1].decorator_list)])
            return "".join(lines[first - 1 : found[-1].end_lineno])
    return None


# -- constants

_BRACKETS: Dict[type, str] = {list: "[%s]", set: "{%s}", frozenset: "frozenset([%s])"}


def _literal(value: object, depth: int = 0) -> Optional[str]:
    """The expression that makes `value`; None when there is none. Exact types only: a subclass may be anything."""
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes, range, type(Ellipsis)):
        return "..." if value is Ellipsis else repr(value)
    if isinstance(value, float) and kind is float:
        return repr(value) if value - value == 0 else f'float("{value}")'
    if isinstance(value, complex) and kind is complex:
        return f"complex({_literal(value.real)}, {_literal(value.imag)})"
    if isinstance(value, pathlib.PurePath) and kind in (type(pathlib.Path()), type(pathlib.PurePath())):
        return f'__import__("pathlib").{"Path" if isinstance(value, pathlib.Path) else "PurePath"}({str(value)!r})'
    if depth > DEPTH_MAX:
        return None
    if isinstance(value, dict) and kind is dict:
        pairs = [(_literal(key, depth + 1), _literal(item, depth + 1)) for key, item in value.items()]
        return (
            None
            if any(None in pair for pair in pairs)
            else "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
        )
    if isinstance(value, (list, tuple, set, frozenset)) and kind in (list, tuple, set, frozenset):
        return _sequence(value, [_literal(item, depth + 1) for item in value])
    return None


def _sequence(value: object, items: List[Optional[str]]) -> Optional[str]:
    texts = [item for item in items if item is not None]
    if len(texts) != len(items):
        return None
    if isinstance(value, tuple):
        return "(" + "".join(f"{text}, " for text in texts).rstrip(" ") + ")"
    if isinstance(value, (set, frozenset)):
        texts.sort()  # the same text each time: it is part of the package's name
        if not texts:
            return f"{type(value).__name__}()"
    return _BRACKETS[type(value)] % ", ".join(texts)
