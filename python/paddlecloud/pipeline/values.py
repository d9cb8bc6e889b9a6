"""What components pass on: parameters, artifacts and items of loops, and how a text refers to them.

`str()` of one gives a placeholder, `{{parameter: FULL.NAME.p}}`, `{{artifact: FULL.NAME.a}}` or `{{loop: FULL.NAME.PF_LOOP_ARGUMENT}}`.
Compiling turns it into a template of the language, and passes the value on to where it is used.
"""

import math
import re
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Type, Union

from .errors import DSLError, Raising, fault

if TYPE_CHECKING:
    from .component import Component


class SystemVariable(str):
    """A system variable: the text of its template. In an f-string it becomes a placeholder, so that the same
    text, written by a user, stays text."""

    def __str__(self) -> str:
        return "{{system: " + self[2:-2] + "}}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __add__(self, text: str) -> str:
        return str(self) + str(text)

    def __radd__(self, text: str) -> str:
        return str(text) + str(self)


PF_RUN_ID = SystemVariable("{{PF_RUN_ID}}")
PF_STEP_NAME = SystemVariable("{{PF_STEP_NAME}}")
PF_USER_NAME = SystemVariable("{{PF_USER_NAME}}")
PF_LOOP_ARGUMENT = SystemVariable("{{PF_LOOP_ARGUMENT}}")

_SYSTEM = re.compile(r"\{\{system: (PF_[A-Z_]+)\}\}")
PLACEHOLDER = re.compile(r"\{\{(parameter|artifact|loop): ([a-zA-Z0-9.-]+)\.([A-Za-z0-9_]+)\}\}")
TEMPLATE = re.compile(r"\{\{\s*[A-Za-z0-9_]+\s*\}\}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Item = Union[str, int, float, List[Any]]


def code_of(full_name: str, name: str) -> str:
    """The code in generated names: the MD5 of where a value comes from, in base 36."""
    import hashlib  # loads a large library, and many pipelines need no code

    number, text = int(hashlib.md5(f"{full_name}.{name}".encode()).hexdigest(), 16), ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text


def has_reference(text: str) -> bool:
    """Whether something that passes values on was made part of the text."""
    return isinstance(text, SystemVariable) or bool(_SYSTEM.search(text) or PLACEHOLDER.search(text))


def without_references(text: str) -> str:
    """The text without its placeholders."""
    return _SYSTEM.sub("", PLACEHOLDER.sub("", text))


def with_system_variables(text: str) -> str:
    """The text with templates in place of placeholders of system variables."""
    return _SYSTEM.sub(r"{{\1}}", text)


def _is_scalar(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def check_list(where: str, items: List[Any]) -> None:
    """A DSLError unless the items are texts, ints, floats or lists of them."""
    for item in items:
        if isinstance(item, list):
            check_list(where, item)
        elif not _is_scalar(item):
            raise fault(f"{where}: {item!r} cannot be an item of a list; items are texts, numbers and lists of them")


def check_value(where: str, value: object) -> Item:
    """A plain value of a parameter, or a DSLError."""
    if isinstance(value, list):
        check_list(where, value)
        return value
    if not _is_scalar(value):
        raise fault(f"{where}: {value!r} is not a value; values are texts, finite numbers and lists of them")
    return value  # type: ignore[return-value]


class OfTheRun(Raising):
    """What is only known in the run, so that Python cannot compute with it: each operator is a DSLError that says what to write instead."""

    def _said(self) -> str:
        raise NotImplementedError

    def _refused(self, done: str) -> Exception:
        return fault(
            f"{self._said()} has no value before the run, so Python cannot {done} here; do it inside of a step, whose argument is the value, or "
            'for a condition write `with when(f"{x} > 2"):`'
        )

    def __getitem__(self, key: Any) -> Any:
        raise self._refused(f"take [{key!r:.40}] of it")


def _refusing(method: str, done: str) -> Any:
    def refuse(self: OfTheRun, *others: object) -> Any:
        raise self._refused(done)

    refuse.__name__ = method
    return refuse


for _names, _done in (
    ("lt le gt ge", "compare it"),
    ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs", "compute with it"),
    ("int float index round", "make a number of it"),
    ("len contains", "look into it"),
):
    for _name in _names.split():
        setattr(OfTheRun, f"__{_name}__", _refusing(f"__{_name}__", _done))


class Bound(OfTheRun):
    """What belongs to a component once it was given to one: `component` and `name` say to which, and under which name."""

    kind = ""

    def __init__(self) -> None:
        self._component: Optional[Component] = None
        self._name = ""

    def _error_class(self) -> Optional[Type[DSLError]]:
        component = getattr(self, "_component", None)  # which a new one does not have yet
        return self._error if self._error is not None or component is None else component._error_class()

    @property
    def component(self) -> Optional["Component"]:
        """The step or DAG that it belongs to; None before."""
        return self._component

    @property
    def name(self) -> str:
        """Its name in its component; "" before it has one."""
        return self._name

    def _bind(self, component: "Component", name: str) -> None:
        self._component, self._name = component, name

    def owner(self) -> "Component":
        """Its component. Raises DSLError if it has none."""
        if self._component is None:
            raise fault(
                f"this {self.kind} belongs to no step or DAG yet, so nothing can refer to it: give it to one, and take it from there, as "
                f"in step.{'outputs' if self.kind == 'artifact' else 'parameters'}['NAME']"
            )
        return self._component

    def __str__(self) -> str:
        return f"{{{{{self.kind}: {self.owner().full_name}.{self._name}}}}}"

    def _said(self) -> str:
        return f"the {'item of a loop' if self.kind == 'loop' else self.kind} '{self._name}'"

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        where = "" if self._component is None else f" '{self._name}' of '{self._component.full_name}'"
        return f"<{type(self).__name__}{where}>"


class Artifact(Bound):
    """A file or directory that a step writes: `outputs={"model": Artifact()}`. Afterwards `step.outputs["model"]` stands for it, as an input
    of other components and in their texts."""

    kind = "artifact"

    def __init__(self) -> None:
        super().__init__()
        self._source: Optional[Artifact] = None  # of an input, or an output of a DAG

    @property
    def source(self) -> Optional["Artifact"]:
        """Of an input, or an output of a DAG: the artifact that it stands for."""
        return self._source


class LoopItem(Bound):
    """The item of a component with a loop: `component.loop_argument.item`."""

    kind = "loop"

    def __init__(self, component: "Component") -> None:
        super().__init__()
        self._bind(component, "PF_LOOP_ARGUMENT")


_TYPES: Dict[str, Type[Any]] = {"string": str, "int": int, "float": float, "list": list, "path": str}
_OF_PYTHON = {str: "string", int: "int", float: "float", list: "list"}
_PATH = re.compile(r"[.a-zA-Z0-9/_-]+\Z")


def _type_name(kind: object) -> Optional[str]:
    name = _OF_PYTHON.get(kind) if isinstance(kind, type) else kind
    if name is not None and (not isinstance(name, str) or name not in _TYPES) or (name is None and kind is not None):
        raise fault(
            f"{kind!r} is not a type of a parameter; types are {', '.join(_TYPES)}, or str, int, float and list"
        )
    return name


def _converted(default: object, kind: str) -> Item:
    """The default value as the type has it."""
    wrong = isinstance(default, bool) or default is None or (kind == "list") != isinstance(default, (list, tuple))
    try:
        value = _TYPES[kind](default)
    except (TypeError, ValueError):
        wrong = True
    if wrong or (kind == "int" and isinstance(default, float) and value != default):
        raise fault(f"the default {default!r} of a parameter is not of its type '{kind}'")
    if kind == "path" and not _PATH.match(value):
        raise fault(f"the default {default!r} of a parameter is not a path: letters, digits and './_-'")
    return check_value("the default of a parameter", value)


class Parameter(Bound):
    """A value that is known before a step begins. `Parameter(5, int)` declares one of a type, "string", "int", "float", "list" or "path" (or
    str, int, float, list), so that a run cannot give it another; a plain 5 in its place takes any value.

    `step.parameters["n"]` stands for it in other components. Raises DSLError for another type, and a default that is not of it."""

    kind = "parameter"

    def __init__(self, default: Any = None, type: Union[str, Type[Any], None] = None) -> None:
        super().__init__()
        self._type = _type_name(type)
        self._default: Optional[Item] = None
        self._source: Union[Item, Bound, None] = None  # a plain value, or what it stands for
        self._declared = True
        if isinstance(default, Bound):
            raise fault("the default of a parameter is a plain value; to pass on another parameter, give that itself")
        if default is not None:
            where = "the default of a parameter"
            self._default = check_value(where, default) if self._type is None else _converted(default, self._type)

    @classmethod
    def _of(cls, source: Union[Item, Bound]) -> "Parameter":
        """A parameter with this value."""
        made = cls()
        made._declared, made._source = False, source
        return made

    def _copy(self) -> "Parameter":
        """The same declaration for another component."""
        made = type(self)()
        made._type, made._default = self._type, self._default
        return made

    @property
    def default(self) -> Any:
        """The value that it has unless a run gives another; None without one, and if it stands for another parameter."""
        return self._default if self._declared else None if isinstance(self._source, Bound) else self._source

    @property
    def type(self) -> Optional[str]:
        """Its declared type, "int" and so on; None without one."""
        return self._type

    @property
    def source(self) -> Optional[Bound]:
        """The parameter or loop item of another component that it stands for."""
        return self._source if isinstance(self._source, Bound) else None

    def _plain(self) -> Any:
        """Its value in a definition, unless it stands for another one."""
        if not self._declared:
            return self._source
        declared = {"type": self._type, "default": self._default}
        return {key: value for key, value in declared.items() if value is not None}


Value = Union[str, int, float, List[Any], Parameter, LoopItem, None]
