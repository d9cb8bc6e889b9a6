"""From the components of a pipeline to its definition.

First each component gets a node. Then the references of all nodes are resolved: a value of a component beside becomes a template of two
parts and a dependency; one from farther away is passed through the DAGs between, each of which gets a parameter, input or output of a
generated name. At last nodes are written down, those of a DAG in an order in which they can run. The components stay as they are, so they
can be compiled again.
"""

import heapq
from typing import Any, Dict, Iterator, List, Match, Optional

from .component import Component
from .condition import check_templates
from .dag import DAG
from .errors import DSLError, fault, message_of
from .programs import Programs
from .step import Step
from .values import PLACEHOLDER, Artifact, Bound, LoopItem, Parameter, code_of, with_system_variables

DEPTH_MAX = 100  # of DAGs in one another
PARENT = "PF_PARENT"
ITEM = "PF_LOOP_ARGUMENT"


class Node:
    """What becomes of a component."""

    def __init__(self, component: Component, parent: Optional["Node"], full_name: str) -> None:
        self.component, self.parent, self.full_name = component, parent, full_name
        self.name = component.name
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children: List[Node] = []
        self.deps: Dict[str, None] = {}
        self.parameters: Dict[str, Any] = {}
        self.inputs: Dict[str, str] = {}
        self.outputs: Dict[str, str] = {}  # of a DAG: what is passed up
        self.condition: Optional[str] = None
        self.loop: Any = None
        self.command: Optional[str] = None
        self.env: Dict[str, str] = {}

    def __str__(self) -> str:
        return f"{self.component._word} '{self.full_name.partition('.')[2] or self.name}'"

    @property
    def is_root(self) -> bool:
        """Whether it is the outermost DAG, whose values no component sees."""
        return self.parent is None and isinstance(self.component, DAG)

    def path(self) -> Iterator["Node"]:
        """This node and the DAGs around it, from the inside."""
        at: Optional[Node] = self
        while at is not None:
            yield at
            at = at.parent

    def has_inside(self, other: "Node") -> bool:
        """Whether `other` is somewhere in this DAG."""
        while other.depth > self.depth and other.parent is not None:
            other = other.parent
            if other is self:
                return True
        return False


def _template(*parts: str) -> str:
    return "{{" + ".".join(parts) + "}}"


class Compiler:
    """The entry points of one pipeline, or its post_process."""

    def __init__(self, root: Component, env: Dict[str, str], programs: Programs) -> None:
        self.env, self.programs = env, programs
        self.nodes: Dict[Component, Node] = {}
        self.by_name: Dict[str, Node] = {}
        self.root = self._add(root, None)

    def _add(self, component: Component, parent: Optional[Node]) -> Node:
        full_name = component.name if parent is None else f"{parent.full_name}.{component.name}"
        node = Node(component, parent, full_name)
        if node.depth > DEPTH_MAX:
            raise fault(f"{component.said} is in more than {DEPTH_MAX} DAGs")
        self.nodes[component] = self.by_name[full_name] = node
        if isinstance(component, DAG):
            if not component._children:
                raise fault(f"{component.said} has no steps; make at least one in it")
            node.children = [self._add(child, node) for child in component._children.values()]
        return node

    def compile(self) -> Dict[str, Any]:
        """The map of the root."""
        for node in list(self.nodes.values()):
            self._resolve(node)
        return self._written(self.root)

    # -- one component

    def _resolve(self, node: Node) -> None:
        component = node.component
        for name, parameter in component.parameters.items():
            node.parameters[name] = self._parameter_value(node, parameter)
        for name, artifact in component.inputs.items():
            assert artifact.source is not None
            node.inputs[name] = self._artifact(node, self._node_of(node, artifact.source), artifact.source.name)
        if component.condition is not None:
            node.condition = self._condition(node, component.condition, component._condition_place)
        if component.loop_argument is not None:
            node.loop = self._loop(node, component.loop_argument.argument)
        for other in component._after:
            self._depend(node, self._known(node, other))
        if isinstance(component, DAG):
            self._resolve_outputs(node)
        elif isinstance(component, Step):
            self._resolve_step(node, component)

    def _resolve_step(self, node: Node, step: Step) -> None:
        command = step._command_text(self.programs)
        if command is not None:
            node.command = self._text(node, command, "command")
        for name, text in {**self.env, **step._env_texts(self.programs)}.items():
            node.env[name] = self._text(node, text, "env")

    def _resolve_outputs(self, node: Node) -> None:
        for name, artifact in node.component.outputs.items():
            assert artifact.source is not None
            source = self._node_of(node, artifact.source)
            if not node.has_inside(source) or artifact.source.name in source.component.inputs:
                raise fault(
                    f"{node}: its output '{name}' is {artifact.source!r}, which is not an output of a component in it"
                )
            top = next(at for at in source.path() if at.parent is node)
            node.outputs[name] = _template(top.name, self._passed_up(source, artifact.source.name, top))

    def _parameter_value(self, node: Node, parameter: Parameter) -> Any:
        source = parameter.source
        if source is not None:
            return self._value(node, source)
        plain = parameter._plain()
        if isinstance(plain, dict) and isinstance(plain.get("default"), str):
            return {**plain, "default": self._text(node, plain["default"], None)}
        return self._text(node, plain, None) if isinstance(plain, str) else plain

    def _condition(self, node: Node, text: str, place: Optional[str]) -> str:
        try:
            made = self._text(node, text, "condition")
        except DSLError as error:
            raise (error if error.place else fault(message_of(error), place)) from None
        check_templates(str(node), made, {**node.parameters, **node.inputs}, place)
        return made

    def _loop(self, node: Node, argument: Any) -> Any:
        if isinstance(argument, str):
            return self._text(node, argument, "loop")
        return self._reference(node, argument, "loop") if isinstance(argument, Bound) else argument

    # -- references

    def _known(self, node: Node, component: Component) -> Node:
        found = self.nodes.get(component)
        if found is None:
            raise self._unknown(node, component.said)
        return found

    def _unknown(self, node: Node, other: str) -> Exception:
        if self.root.is_root:
            return fault(f"{node} refers to {other}, which is not part of this pipeline")
        return fault(f"{node} of post_process refers to {other}; it runs alone, and has no values of other components")

    def _node_of(self, node: Node, bound: Bound) -> Node:
        return self._known(node, bound.owner())

    def _value(self, node: Node, source: Bound) -> str:
        """The template by which a parameter of `node` gets the value of a parameter or loop item."""
        owner = self._node_of(node, source)
        if isinstance(source, LoopItem):
            return self._item(node, owner)
        if owner.component.parameters.get(source.name) is not source:
            raise fault(f"{node} refers to the parameter '{source.name}' of {owner}, which was taken away or replaced")
        return self._parameter(node, owner, source.name)

    def _text(self, node: Node, text: str, field: Optional[str]) -> str:
        """A text with templates in place of its placeholders; `field` None: the value of a parameter."""
        if "{{" not in text:
            return text
        text = with_system_variables(text)
        if field == "loop" and PLACEHOLDER.search(text) and not PLACEHOLDER.fullmatch(text):
            raise fault(f"{node}: loop_argument {text!r} has other text beside a reference; it is exactly one")
        return PLACEHOLDER.sub(lambda found: self._placeholder(node, found, field), text)

    def _placeholder(self, node: Node, found: Match[str], field: Optional[str]) -> str:
        kind, full_name, name = found.groups()
        owner = self.by_name.get(full_name)
        if owner is None:
            raise self._unknown(node, f"'{full_name}'")
        if kind == "loop" and field is None:
            return self._item(node, owner)
        if kind == "artifact" and field is None:
            raise fault(
                f"{node}: the text of a parameter refers to the artifact '{name}' of {owner}, whose content is not known before; give the "
                "artifact itself as an input"
            )
        maps = owner.component
        bound: Optional[Bound] = maps.parameters.get(name)
        if kind == "artifact":
            bound = maps.inputs.get(name) or maps.outputs.get(name)
        elif kind == "loop":
            bound = maps.loop_argument.item if maps.loop_argument else None
        if bound is None:
            raise fault(f"{node} refers to the {kind} '{name}' of {owner}, which it does not have")
        return self._value(node, bound) if field is None else self._reference(node, bound, field)

    def _reference(self, node: Node, bound: Bound, field: str) -> str:
        """The template of one part for something in a text of `node`; a value of another component gets a name in this one."""
        owner = self._node_of(node, bound)
        if owner is node:
            return self._own(node, bound, field)
        code = code_of(owner.full_name, bound.name)
        if isinstance(bound, Artifact):
            if field == "env":
                raise fault(
                    f"{node}: an artifact in a variable; in the job its path is in PF_INPUT_ARTIFACT_NAME: give it in inputs"
                )
            name = f"{field}_art_{code}"
            node.inputs[name] = self._artifact(node, owner, bound.name)
        else:
            name = f"{field}_param_{code}"
            node.parameters[name] = self._value(node, bound)
        return _template(name)

    def _own(self, node: Node, bound: Bound, field: str) -> str:
        if isinstance(bound, LoopItem) and field == "loop":
            raise fault(f"{node}: a loop over the item of the same loop")
        if isinstance(bound, Artifact) and field == "env":
            raise fault(f"{node}: an artifact in a variable; in the job its path is in PF_INPUT_ARTIFACT_NAME")
        if isinstance(bound, Artifact) and bound.name in node.component.outputs:
            how = f"; write {{{{{bound.name}}}}} for its path" if field == "command" else ", which is not there before"
            raise fault(f"{node}: its {field} refers to its own output '{bound.name}'{how}")
        return _template(bound.name)

    def _parameter(self, node: Node, owner: Node, name: str) -> str:
        if owner is node:
            raise fault(f"{node}: a parameter cannot refer to the parameter '{name}' of the same component")
        if owner.parent is not None and owner.parent is node.parent:
            node.deps[owner.name] = None
            return _template(owner.name, name)
        is_around = owner.has_inside(node)
        if not is_around and not (owner.parent is not None and owner.parent.has_inside(node)):
            raise fault(
                f"{node} cannot have the parameter '{name}' of {owner}: parameters are visible to components beside it and in them, not "
                "outside of its DAG; pass an artifact instead"
            )
        if owner is node.parent:
            return _template(PARENT, name)
        return _template(
            PARENT, self._passed_down(node, owner, name, lambda parent: self._parameter(parent, owner, name))
        )

    def _item(self, node: Node, owner: Node) -> str:
        if owner.component.loop_argument is None:
            raise fault(f"{node} refers to the loop item of {owner}, which has no loop")
        if not owner.has_inside(node):
            own = "; a parameter is known before the item of its own component" if owner is node else ""
            raise fault(f"{node} cannot have the loop item of {owner}: only components in it can{own}")
        if owner is node.parent:
            return _template(PARENT, ITEM)
        return _template(PARENT, self._passed_down(node, owner, ITEM, lambda parent: self._item(parent, owner)))

    def _passed_down(self, node: Node, owner: Node, name: str, value_in: Any) -> str:
        """The name of a parameter of the DAG around `node` with a value from outside of it."""
        assert node.parent is not None
        key = f"dsl_param_{code_of(owner.full_name, name)}"
        if key not in node.parent.parameters:
            node.parent.parameters[key] = value_in(node.parent)
        return key

    def _artifact(self, node: Node, owner: Node, name: str) -> str:
        """The template by which an input of `node` gets an artifact."""
        if name in owner.component.inputs:
            if owner.has_inside(node):
                return self._artifact_down(node, owner, name, from_parent=owner is node.parent)
            source = owner.component.inputs[name].source
            assert source is not None
            return self._artifact(node, self._node_of(node, source), source.name)
        if name not in owner.component.outputs:
            raise fault(f"{node} refers to the artifact '{name}' of {owner}, which was taken away")
        if owner is node or owner.has_inside(node) or node.has_inside(owner):
            raise fault(f"{node} cannot read the artifact '{name}' of {owner}, which is not complete before it begins")
        assert node.parent is not None
        if node.parent is not owner.parent and not node.parent.has_inside(owner):
            return self._artifact_down(node, owner, name, from_parent=False)
        top = next(at for at in owner.path() if at.parent is node.parent)
        self._check_certain(node, owner, top, name)
        node.deps[top.name] = None
        return _template(top.name, self._passed_up(owner, name, top))

    def _artifact_down(self, node: Node, owner: Node, name: str, from_parent: bool) -> str:
        assert node.parent is not None
        if from_parent:
            return _template(PARENT, name)
        key = f"dsl_art_{code_of(owner.full_name, name)}"
        if key not in node.parent.inputs:
            node.parent.inputs[key] = self._artifact(node.parent, owner, name)
        return _template(PARENT, key)

    def _check_certain(self, node: Node, owner: Node, top: Node, name: str) -> None:
        for at in owner.path():
            if at.component.condition is not None:
                raise fault(
                    f"{node} reads the artifact '{name}' of {owner}, but {at} has a condition, so it may not be there; move the reader under "
                    "the same condition"
                )
            if at is top:
                return

    def _passed_up(self, owner: Node, name: str, top: Node) -> str:
        """The name under which `top`, the owner or a DAG around it, has an output of `owner`."""
        at, key = owner, name
        while at is not top:
            assert at.parent is not None
            passed = f"dsl_art_{code_of(owner.full_name, name)}"
            at.parent.outputs[passed] = _template(at.name, key)
            at, key = at.parent, passed
        return key

    def _depend(self, node: Node, other: Node) -> None:
        """after(), between the DAGs around both that are beside each other."""
        if node.has_inside(other) or other.has_inside(node):
            raise fault(f"{node} cannot begin after {other}: one of them contains the other")
        around = {id(at): at for at in node.path()}
        below = other
        while below.parent is not None and id(below.parent) not in around:
            below = below.parent
        top = next((at for at in node.path() if at.parent is not None and at.parent is below.parent), None)
        if top is None:
            raise fault(f"{node} refers to {other}, which is not part of this pipeline")
        top.deps[below.name] = None

    # -- writing

    def _written(self, node: Node) -> Dict[str, Any]:
        component = node.component
        values: Dict[str, Any] = {
            "type": component.type,
            "deps": ",".join(sorted(node.deps)) or None,
            "condition": node.condition,
            "loop_argument": node.loop,
            "parameters": node.parameters or None,
            "artifacts": self._artifacts(node) or None,
        }
        if isinstance(component, Step):
            values.update(_step_keys(component, node), package=component._package(self.programs))
            if values["package"] and not values["requirements"]:  # a package of its own has no packages of the run
                values["requirements"] = self.programs.requirements
        else:
            values["entry_points"] = {child.name: self._written(child) for child in _in_order(node)}
        return {key: value for key, value in values.items() if value is not None}

    def _artifacts(self, node: Node) -> Dict[str, Any]:
        outputs: Any = node.outputs if isinstance(node.component, DAG) else sorted(node.component.outputs)
        return {key: value for key, value in (("input", node.inputs), ("output", outputs)) if value}


def _step_keys(step: Step, node: Node) -> Dict[str, Any]:
    return {
        "command": node.command,
        "docker_env": step.docker_env,
        "env": node.env or None,
        "cache": step.cache_options.compile() if step.cache_options else None,
        "extra_fs": [mount.compile() for mount in step.extra_fs] or None,
        "retries": step.retries,
        "time_limit": step.time_limit,
        "requirements": list(step.requirements) if isinstance(step.requirements, (list, tuple)) else step.requirements,
    }


def _in_order(node: Node) -> List[Node]:
    """The components of a DAG, each behind what it depends on, else as they were made."""
    place = {child.name: number for number, child in enumerate(node.children)}
    left = {child.name: len(child.deps) for child in node.children}
    behind: Dict[str, List[str]] = {}
    for child in node.children:
        for dep in child.deps:
            behind.setdefault(dep, []).append(child.name)
    ready = [place[name] for name, count in left.items() if count == 0]
    order: List[Node] = []
    while ready:
        child = node.children[heapq.heappop(ready)]
        order.append(child)
        for name in behind.get(child.name, ()):
            left[name] -= 1
            if left[name] == 0:
                heapq.heappush(ready, place[name])
    if len(order) < len(node.children):
        raise fault(f"{node.component.said}: these depend on one another: {' -> '.join(_ring(node, left))}")
    return order


def _ring(node: Node, left: Dict[str, int]) -> List[str]:
    """A circle among those that are left, each before what it depends on."""
    by_name = {child.name: child for child in node.children}
    seen: List[str] = []
    name = next(name for name, count in left.items() if count)
    while name not in seen:
        seen.append(name)
        name = next(dep for dep in by_name[name].deps if left[dep])
    return [*seen[seen.index(name) :], name]


def compile_entry_points(root: DAG, env: Dict[str, str], programs: Programs) -> Dict[str, Any]:
    """The components of a pipeline by name; `programs` takes those of its functions. Raises DSLError."""
    written: Dict[str, Any] = Compiler(root, env, programs).compile()["entry_points"]
    return written


def compile_post_process(
    step: Step, env: Dict[str, str], programs: Programs, taken: Dict[str, Component]
) -> Dict[str, Any]:
    """The step of post_process, by its name. Raises DSLError for what such a step cannot have."""
    wrong = {
        "a condition": step.condition is not None,
        "a loop": step.loop_argument is not None,
        "dependencies": bool(step._after),
        "inputs": bool(step.inputs),
        "a cache": step.cache_options is not None and step.cache_options.enable,
    }
    for what, has in wrong.items():
        if has:
            raise fault(f"{step.said} of post_process cannot have {what}: it runs alone, when all others have ended")
    if step.name in taken:
        raise fault(f"{step.said} of post_process has the name of a component of the pipeline; give it another name")
    return {step.name: Compiler(step, env, programs).compile()}
