"""DAGs: components that contain components."""

import json
from types import TracebackType
from typing import Any, Dict, Iterator, Optional, Tuple, Type, Union

from . import context, names
from .component import Component, Loop
from .errors import fault
from .kinds import without_templates
from .maps import DagOutputMap
from .values import LoopItem, OfTheRun, has_reference

NAME_MAX = 30  # characters of the name of a component


class DAG(Component, context.Scope):
    """A group of steps and DAGs, those that are made in its `with`:

        with DAG("train", condition=f"{prepare.parameters['n']} > 3"):
            ContainerStep("first", command="...")

    With `loop_argument` all of it is executed once for each item."""

    _word = "DAG"
    type = "dag"

    def __init__(self, name: str, condition: Optional[str] = None, loop_argument: Optional[Loop] = None) -> None:
        self._children: Dict[str, Component] = {}
        self._numbers: Dict[str, int] = {}  # the last one of each name that was made up
        super().__init__(name, condition, loop_argument)

    def _output_map(self) -> DagOutputMap:
        return DagOutputMap(self)

    @property
    def entry_points(self) -> Dict[str, Component]:
        """Its components by name."""
        return dict(self._children)

    def add(self, component: Component) -> None:
        """Takes a component that belongs to no DAG yet."""
        if component._parent is not None:
            raise fault(f"{component.said} belongs to {component._parent.said} already")
        around: Optional[Component] = self
        while around is not None:
            if around is component:
                raise fault(f"{self.said} cannot contain itself")
            around = around._parent
        if component.name in self._children:
            raise fault(
                f"{self.said} has two components with the name '{component.name}'; give one of them another name"
            )
        component._parent = self
        self._children[component.name] = component

    def __enter__(self) -> Any:
        self._enter()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._exit()


class EntryPoints(DAG):
    """The outermost DAG, that of a pipeline."""

    _word = "pipeline"

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        super().__init__(names.ROOT)

    @property
    def said(self) -> str:
        """The pipeline in a message."""
        return f"pipeline '{self.pipeline.name}'"

    def _join(self) -> None:
        """A pipeline is never a part of another one."""


def _free_name(word: str) -> str:
    """A name that no component of the innermost DAG has: `word`, then word-2, word-3 and so on."""
    scope = context.innermost()
    if not isinstance(scope, DAG):
        return word
    name, number = word, scope._numbers.get(word, 1)
    while name in scope._children:
        number += 1
        name = f"{word[: NAME_MAX - 1 - len(str(number))]}-{number}"
    scope._numbers[word] = number
    return name


def _as_json(item: object) -> str:
    try:
        return without_templates(item)
    except (TypeError, ValueError):
        raise fault(
            f"loop(): {item!r:.80} cannot be an item; items are numbers, texts, lists and dictionaries of them"
        ) from None


def _is_plain(item: object) -> bool:
    """Whether an item of a list is one in the language, too, where braces begin templates."""
    if isinstance(item, str) and has_reference(item):
        raise fault("loop(): an item has a reference to a value of the run; let a step return the list")
    return type(item) in (int, float) or (type(item) is str and "{{" not in item)


def _item_text(item: object) -> object:
    """An item of a list of which some are JSON: texts that could be taken for JSON are, too."""
    if type(item) is str and _is_plain(item) and not _is_json(item):
        return item
    return item if type(item) in (int, float) else _as_json(item)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class loop(DAG):
    """A DAG that is executed once for each item of a list, a parameter or an artifact that holds a list:

        with loop([0.1, 0.01]) as rate:
            train(data, rate)

    `for rate in loop([0.1, 0.01]):` is the same; its body is read once. Steps outside of the loop get the results of all items as a list, in
    the order of the items."""

    def __init__(
        self, items: Union[Loop, Tuple[Any, ...]], name: Optional[str] = None, condition: Optional[str] = None
    ) -> None:
        self.has_json = False  # items that are neither numbers nor texts, which travel as JSON
        if isinstance(items, (list, tuple)):
            self.has_json = not all(_is_plain(item) for item in items)
            items = [_item_text(item) if self.has_json else item for item in items]
        if not isinstance(items, (list, str, Component, OfTheRun)) and hasattr(items, "__iter__"):
            raise fault(f"loop({items!r:.80}): the items are a list; write loop(list({items!r:.80}))")
        super().__init__(name or _free_name("loop"), condition, items)

    @property
    def item(self) -> LoopItem:
        """The item."""
        assert self._loop is not None
        return self._loop.item

    def __enter__(self) -> LoopItem:
        self._enter()
        return self.item

    def __iter__(self) -> Iterator[LoopItem]:
        with self as item:
            yield item


class when(DAG):
    """A DAG that is skipped unless the condition is true in the run: `with when(f"{score} > 0.9"): ...`"""

    def __init__(self, condition: str, name: Optional[str] = None) -> None:
        super().__init__(name or _free_name("when"), condition)
