"""The parameters, inputs, outputs and variables of a component, by name."""

from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, MutableMapping, Optional, Type, TypeVar, Union

from . import names
from .errors import DSLError, Raising, fault
from .values import Artifact, Bound, LoopItem, Parameter, Value, check_value

if TYPE_CHECKING:
    from .component import Component

Kept = TypeVar("Kept", bound=Bound)


class _Named(Raising, MutableMapping[str, Kept]):
    """Named things of one component. A name is taken once in all of its maps, ignoring case. A name that is not there raises DSLError."""

    kind = ""

    def __init__(self, component: "Component") -> None:
        self._component = component
        self._items: Dict[str, Kept] = {}

    def _error_class(self) -> Optional[Type[DSLError]]:
        return self._component._error_class()

    def __getitem__(self, name: str) -> Kept:
        try:
            return self._items[name]
        except KeyError:
            has = ", ".join(self._items) or "none"
            raise fault(f"{self._component.said} has no {self.kind} {name!r}; it has: {has}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def get(self, name: str, default: Any = None) -> Any:
        """The one of this name, or `default`."""
        return self._items.get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        """Takes away the one of this name, and returns it, or `default`."""
        if name not in self._items and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def setdefault(self, name: str, value: Any = None) -> Any:
        """The one of this name; if there is none, `value` gets it."""
        if name not in self._items:
            self[name] = value
        return self.get(name)

    def __delitem__(self, name: str) -> None:
        self[name]
        del self._items[name]
        del self._component._taken[name.lower()]

    def _put(self, name: str, value: Kept) -> None:
        """Takes `value`, which is not in another component, under a name that is free."""
        names.check_variable(f"an {self.kind}" if self.kind[0] in "aeio" else f"a {self.kind}", name)
        taken = self._component._taken
        other = taken.get(name.lower())
        if other is not None and other != (self.kind, name):
            raise fault(
                f"{self._component.said}: the {self.kind} '{name}' has the name of its {other[0]} '{other[1]}'; parameters, inputs and "
                "outputs of a component have different names, ignoring case"
            )
        taken[name.lower()] = (self.kind, name)
        value._bind(self._component, name)
        self._items[name] = value

    def _where(self, name: object) -> str:
        return f"{self._component.said}: {self.kind} {name!r}"


class ParameterMap(_Named[Parameter]):
    """`step.parameters`: read as Parameter, written as any value that a parameter may have; None is left out."""

    kind = "parameter"

    def __setitem__(self, name: str, value: Value) -> None:
        if value is not None:
            self._put(name, self._parameter(name, value))

    def _parameter(self, name: str, value: Any) -> Parameter:
        if isinstance(value, Artifact):
            raise fault(f"{self._where(name)}: an artifact is not the value of a parameter; give it in inputs")
        if isinstance(value, Parameter) and value.component is None:
            return value._copy()
        if isinstance(value, (Parameter, LoopItem)):
            if value.component is self._component:
                raise fault(
                    f"{self._where(name)}: {value!r} belongs to the same component; a parameter is known before those beside it, and before "
                    "the item of its own loop"
                )
            return Parameter._of(value)
        return Parameter._of(check_value(self._where(name), value))


def _artifact(value: Any) -> Any:
    """The result that a step of a function stands for; anything else as it is."""
    sole = getattr(value, "_sole", None)
    return value if sole is None else sole()


class InputMap(_Named[Artifact]):
    """`step.inputs`: artifacts of other components."""

    kind = "input"

    def __setitem__(self, name: str, value: "Union[Artifact, Component]") -> None:
        value = _artifact(value)
        if not isinstance(value, Artifact) or value.component is None or value.component is self._component:
            raise fault(
                f"{self._where(name)} is {value!r}; it is an artifact of another component: step.outputs['NAME']"
            )
        made = Artifact()
        made._source = value
        self._put(name, made)


class OutputMap(_Named[Artifact]):
    """`step.outputs`: what the step writes."""

    kind = "output"

    def __setitem__(self, name: str, value: Artifact) -> None:
        if not isinstance(value, Artifact) or value.component is not None:
            raise fault(f"{self._where(name)} is {value!r}; each output of a step is an Artifact() of its own")
        self._put(name, value)


class DagOutputMap(_Named[Artifact]):
    """`dag.outputs`: artifacts of the components in it."""

    kind = "output"

    def __setitem__(self, name: str, value: "Union[Artifact, Component]") -> None:
        value = _artifact(value)
        if not isinstance(value, Artifact) or value.component is None:
            raise fault(f"{self._where(name)} is {value!r}; it is an artifact of a component in this DAG")
        made = Artifact()
        made._source = value
        self._put(name, made)


class EnvMap(Raising, MutableMapping[str, str]):
    """Environment variables, of a step or of a pipeline: `owner`, in words `where`. Values are texts; a parameter or loop item becomes its
    placeholder."""

    def __init__(self, where: str, owner: Raising, values: Optional[Mapping[str, Any]] = None) -> None:
        self._where = where
        self._error = owner._error_class()
        self._items: Dict[str, str] = {}
        self.update(values or {})

    def __getitem__(self, name: str) -> str:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def __setitem__(self, name: str, value: Any) -> None:
        names.check_variable("an environment variable", name)
        if isinstance(value, Artifact):
            raise fault(
                f"{self._where}: the variable '{name}' cannot be an artifact; each job has its paths in PF_INPUT_ARTIFACT_NAME and "
                "PF_OUTPUT_ARTIFACT_NAME"
            )
        if not isinstance(value, (str, Parameter, LoopItem)):
            raise fault(
                f"{self._where}: the variable '{name}' is {value!r}; it is a text or a parameter: write {str(value)!r}"
            )
        self._items[name] = value if isinstance(value, str) else str(value)

    def __delitem__(self, name: str) -> None:
        del self._items[name]
