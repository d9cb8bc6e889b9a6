"""What steps and DAGs have in common."""

import json
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, Union

from . import context, names
from .condition import check_condition
from .errors import DSLError, Raising, fault, place_of_caller
from .maps import DagOutputMap, InputMap, OutputMap, ParameterMap
from .values import PLACEHOLDER, TEMPLATE, Artifact, LoopItem, Parameter, Value, check_list

Loop = Union[List[Any], str, Parameter, Artifact, LoopItem, "LoopArgument", "Component"]


class LoopArgument(Raising):
    """The loop of a component: it is executed once for each item of `argument`, and `item` stands for the item in texts and parameters."""

    def __init__(self, component: "Component", argument: Union[List[Any], str, Parameter, Artifact, LoopItem]) -> None:
        self.component = component
        self.argument = argument
        self.item = LoopItem(component)

    def _error_class(self) -> Optional[Type[DSLError]]:
        return self.component._error_class()

    def __repr__(self) -> str:
        return f"<LoopArgument of {self.component.said}: {self.argument!r}>"


def _is_json_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


class Component(Raising):
    """A step or a DAG. One that is made inside of a DAG or of the function of a pipeline belongs to it.

    `inputs`, `outputs` and `parameters` are maps by name. `condition` is a text such as f"{step.parameters['n']} > 3"; if it is false, the
    component is skipped."""

    _word = "component"
    type = ""

    def __init__(
        self,
        name: str,
        condition: Optional[str] = None,
        loop_argument: Optional[Loop] = None,
        inputs: Optional[Mapping[str, Artifact]] = None,
        outputs: Optional[Mapping[str, Artifact]] = None,
        parameters: Optional[Mapping[str, Value]] = None,
    ) -> None:
        self._name = names.check_component(name)
        self._parent: Optional[Component] = None
        self._taken: Dict[str, Tuple[str, str]] = {}
        self._after: Dict[Component, None] = {}
        self._condition: Optional[str] = None
        self._condition_place: Optional[str] = None  # FILE:LINE that set it
        self._loop: Optional[LoopArgument] = None
        self._parameters, self._inputs, self._outputs = ParameterMap(self), InputMap(self), self._output_map()
        for kept, given in ((self._parameters, parameters), (self._inputs, inputs), (self._outputs, outputs)):
            if given is not None:
                self._fill(kept, given)
        self.condition = condition
        self.loop_argument = loop_argument
        self._join()

    def _output_map(self) -> Union[OutputMap, DagOutputMap]:
        return OutputMap(self)

    def _fill(self, kept: Any, given: Any) -> None:
        if not isinstance(given, Mapping):
            raise fault(f"{self.said}: its {kept.kind}s are {given!r}; they are a dictionary by name")
        for name, value in given.items():
            kept[name] = value

    def _join(self) -> None:
        """Becomes part of the innermost DAG that is open."""
        scope = context.innermost()
        if scope is not None:
            scope.add(self)

    @property
    def said(self) -> str:
        """It in a message: "step 'train'"."""
        return f"{self._word} '{self._name}'"

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} '{self.full_name}'>"

    @property
    def name(self) -> str:
        """Its name in its DAG."""
        return self._name

    @property
    def full_name(self) -> str:
        """Its name with those of the DAGs around it."""
        return self._name if self._parent is None else f"{self._parent.full_name}.{self._name}"

    @property
    def parameters(self) -> ParameterMap:
        """Values that are known before it begins."""
        return self._parameters

    @property
    def inputs(self) -> InputMap:
        """Artifacts of other components that it reads."""
        return self._inputs

    @property
    def outputs(self) -> Union[OutputMap, DagOutputMap]:
        """Artifacts that others may read."""
        return self._outputs

    @property
    def condition(self) -> Optional[str]:
        """If it is false in the run, the component is skipped."""
        return self._condition

    @condition.setter
    def condition(self, text: Optional[str]) -> None:
        if text is not None and not isinstance(text, str):
            raise fault(
                f"{self.said}: its condition is {text!r}; it is a text, as in f\"{{step.parameters['n']}} > 3\""
            )
        self._condition, self._condition_place = text or None, place_of_caller() if text else None
        if text:
            check_condition(self.said, text, self._condition_place)

    @property
    def loop_argument(self) -> Optional[LoopArgument]:
        """Its loop; `.item` of it stands for the item. None without one."""
        return self._loop

    @loop_argument.setter
    def loop_argument(self, argument: Optional[Loop]) -> None:
        if isinstance(argument, LoopArgument):
            argument = argument.argument
        if isinstance(argument, Component):
            argument = argument._sole()
        if isinstance(argument, Artifact):
            argument = argument.owner()._items_of(argument)
        if argument is not None:
            self._check_loop(argument)
        self._loop = None if argument is None else LoopArgument(self, argument)

    def _sole(self) -> Artifact:
        """The artifact that the component stands for where an artifact is wanted."""
        raise fault(f"{self.said} stands where an artifact is wanted: give one of its outputs, step.outputs['NAME']")

    def _items_of(self, artifact: Artifact) -> Artifact:
        """The output that holds the items of `artifact`, one of its own, for a loop."""
        return artifact

    def _check_loop(self, argument: object) -> None:
        """A DSLError unless it is a list, a text that is one or stands for one, or a parameter, artifact or loop item."""
        if isinstance(argument, list):
            check_list(f"{self.said}: loop_argument", argument)
        elif isinstance(argument, str):
            if not (PLACEHOLDER.fullmatch(argument) or TEMPLATE.fullmatch(argument) or _is_json_list(argument)):
                raise fault(
                    f"{self.said}: loop_argument {argument!r} is neither a list in JSON nor exactly one reference to a list"
                )
        elif isinstance(argument, (Parameter, Artifact)):
            if argument.owner() is self and argument.name in self._outputs:
                raise fault(
                    f"{self.said}: a loop over its own output '{argument.name}', which is not there when it begins"
                )
        elif not isinstance(argument, LoopItem):
            raise fault(
                f"{self.said}: loop_argument is {argument!r}; it is a list, a parameter, an artifact or the item of a DAG around"
            )
        if isinstance(argument, LoopItem) and argument.component is self:
            raise fault(f"{self.said}: a loop over the item of the same loop")

    def after(self, *upstream: "Component") -> "Component":
        """Begins only when all of `upstream` have ended; returns this component. Inputs and parameters of others imply that."""
        if not upstream:
            raise fault(f"{self.said}: after() needs at least one step or DAG")
        for other in upstream:
            if not isinstance(other, Component):
                raise fault(f"{self.said}: after({other!r}); it takes steps and DAGs")
            if other is self:
                raise fault(f"{self.said} cannot begin after itself")
            self._after[other] = None
        return self
