"""A program made of a function of a notebook or of an interactive interpreter: its source, and the source of all that it names.

The function may use modules and their members (imported), functions and classes of the notebook (their source is sent), and constants
(written down). A name that stands for anything else is refused with a message.
"""

import __future__

import ast
import builtins
import importlib.util
import inspect
import linecache
import os
import pathlib
import symtable
import sys
import textwrap
import types
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Union

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
        self.postponed = False  # annotations name what is not sent, so they must not be evaluated

    def text(self, main: str) -> str:
        """The program, which calls `main` when it is run."""
        call = f'if __name__ == "__main__":\n    {main}()'
        return self.module(f"The function `{main}` of a session, as paddlecloud wrote it down.", call)

    def module(self, said: str, *further: str) -> str:
        """All that was taken up as a module; `said` is its docstring."""
        head = [f'"""{said}"""']
        if self.future or self.postponed:
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
        value = _unwrapped(value)
        return (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == self.names.get("__name__")

    def _add_module(self, name: str, module: types.ModuleType, user: str) -> None:
        known = module.__name__
        if known == "__main__":
            raise ValueError(f"'{user}' uses '{name}', which is the program itself; use its functions by their names")
        if not _is_importable(known):
            raise ValueError(
                f"'{user}' uses '{name}', a module that cannot be imported: there is none of the name '{known}'"
            )
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
        for function in _functions_of(value):
            self.future = self.future or bool(function.__code__.co_flags & _FUTURE_ANNOTATIONS)
            _check_assigned(name, function, node)
            self._take_free(name, function)
        hints = _only_hints(node)
        for used in sorted(_globals_of(text)):
            if used in hints:
                self._add_hint(used, name)
            else:
                self._add_used(used, name)
        self._add_submodules(node)
        self.parts.append(text if node.name == name else f"{text}\n\n{name} = {node.name}")

    def _take_free(self, name: str, function: types.FunctionType) -> None:
        """Names of the function around it that `function` uses."""
        free = [one for one in function.__code__.co_freevars if one != "__class__"]
        if free:
            raise ValueError(
                f"'{name}' uses '{free[0]}' of the function around it, which cannot be sent; define '{name}' in a cell "
                "of its own"
            )

    def _definition(self, name: str, value: Any) -> "tuple[Definition, str]":
        """Parsed, and as text."""
        return _definition_of(name, value)

    def _add_hint(self, used: str, user: str) -> None:
        """A name that only annotations of functions use; if it cannot be sent, they are not evaluated."""
        before = self.done.copy(), self.imports.copy(), self.parts.copy()
        try:
            self._add_used(used, user)
        except ValueError:
            self.done, self.imports, self.parts = before
            self.postponed = True

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


def _unwrapped(value: Any) -> Any:
    """The function behind decorators that keep it, as those of functools do."""
    return inspect.unwrap(value) if callable(value) and not inspect.isclass(value) else value


def _is_importable(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _functions_of(value: Any) -> Iterator[types.FunctionType]:
    """A function without its decorators, or the methods of a class."""
    for one in vars(value).values() if inspect.isclass(value) else [value]:
        for part in (one.fget, one.fset, one.fdel) if isinstance(one, property) else [getattr(one, "__func__", one)]:
            function = _unwrapped(part)
            if isinstance(function, types.FunctionType):
                yield function


def _check_assigned(name: str, function: types.FunctionType, node: ast.AST) -> None:
    """ValueError for `nonlocal` of a variable that is not in the text."""
    assigned = {one for at in ast.walk(node) if isinstance(at, ast.Nonlocal) for one in at.names}
    for free in function.__code__.co_freevars:
        if free in assigned:
            raise ValueError(
                f"'{name}' changes '{free}' of the function around it (nonlocal), which stays where it is; return the value instead"
            )


def _only_hints(node: ast.AST) -> Set[str]:
    """Names that only annotations of arguments, results and local variables have."""
    hints: Set[str] = set()
    others: Set[str] = set()

    def walk(at: ast.AST, found: Set[str], is_local: bool) -> None:
        if isinstance(at, ast.Name):
            found.add(at.id)
        for field, child in ast.iter_fields(at):
            is_hint = field == "returns" or (field == "annotation" and (is_local or isinstance(at, ast.arg)))
            inner = isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)) or (
                is_local and not isinstance(at, ast.ClassDef)
            )
            for one in child if isinstance(child, list) else [child]:
                if isinstance(one, ast.AST):
                    walk(one, hints if is_hint else found, inner)

    walk(node, others, False)
    return hints - others


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
        raise ValueError(_no_source(name, value))
    return body[0], text


def _no_source(name: str, value: Any) -> str:
    if value.__name__ == "<lambda>":
        return f"'{name}' is a lambda, which cannot be sent: define it by `def`"
    code = getattr(_unwrapped(value), "__code__", None)
    file = code.co_filename if code else getattr(sys.modules.get(value.__module__), "__file__", None)
    if os.path.exists(file or ""):
        return f"the source of '{name}' is not found: define '{name}' by `def` or `class`"
    return (
        f"the source of '{name}' is not known: put the program into a file and run that, or define '{name}' by `def` or `class` in a cell of "
        "a notebook"
    )


def _function_source(function: Callable[..., object]) -> Optional[str]:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None


def _class_source(cls: type) -> Optional[str]:
    """inspect looks for a class in the file of its module, and a notebook has none: it is found in the cells."""
    codes = [function.__code__ for function in _functions_of(cls)]
    files = {code.co_filename: None for code in codes}
    module = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if module:
        files[module] = None
    for file in [*files, *reversed([file for file in linecache.cache if not os.path.exists(file)])]:
        lines = linecache.getlines(file)
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            continue
        begins = [code.co_firstlineno for code in codes if code.co_filename == file]
        found = list(_classes_of(tree, cls.__qualname__))
        if found:
            node = max(reversed(found), key=lambda node: _likeness(node, cls, begins))
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "".join(lines[first - 1 : node.end_lineno])
    return None


def _likeness(node: ast.ClassDef, cls: type, methods: List[int]) -> "tuple[int, int]":
    """How much a definition looks like the class: how many of its methods begin there, and how many names differ."""
    targets = [target for at in node.body if isinstance(at, ast.Assign) for target in at.targets]
    targets += [at.target for at in node.body if isinstance(at, ast.AnnAssign) and at.value is not None]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    names |= {at.name for at in node.body if isinstance(at, _Definition)}
    differing = {name for name in names ^ set(vars(cls)) if not name.startswith("_")}
    return sum(node.lineno <= line <= (node.end_lineno or 0) for line in methods), -len(differing)


def _classes_of(node: ast.AST, name: str, around: str = "") -> Iterator[ast.ClassDef]:
    """The definitions of a class by its qualified name."""
    for child in ast.iter_child_nodes(node):
        inside = around
        if isinstance(child, _Definition):
            inside = f"{around}{child.name}." + ("" if isinstance(child, ast.ClassDef) else "<locals>.")
            if isinstance(child, ast.ClassDef) and around + child.name == name:
                yield child
        yield from _classes_of(child, name, inside)


# -- constants

_CALLS: Dict[str, Callable[[Any], str]] = {  # by the name of the type; further types whose values are written down
    "re.Pattern": lambda value: f'__import__("re").compile({value.pattern!r}, {value.flags})',
    "logging.Logger": lambda value: f'__import__("logging").getLogger({value.name!r})',
    "logging.RootLogger": lambda value: '__import__("logging").getLogger()',
    "decimal.Decimal": lambda value: f'__import__("decimal").Decimal("{value}")',
    "datetime.date": lambda value: f'__import__("datetime").date.fromisoformat("{value.isoformat()}")',
    "datetime.datetime": lambda value: f'__import__("datetime").datetime.fromisoformat("{value.isoformat()}")',
    "datetime.timedelta": lambda value: (
        f'__import__("datetime").timedelta({value.days}, {value.seconds}, {value.microseconds})'
    ),
}
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
    call = _CALLS.get(f"{kind.__module__}.{kind.__qualname__}")
    if call is not None:
        return call(value)
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
