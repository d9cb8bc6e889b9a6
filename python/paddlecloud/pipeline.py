"""Runs of pipelines: what a client gets of them, and the requests behind Client.run and its siblings (doc/guide/pipelines.md)."""

import dataclasses
import html
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

if TYPE_CHECKING:
    from .client import Client

# A definition: its text in YAML or JSON, a mapping with the same keys, or the path of a file (pathlib.Path).
Definition = Union[str, Mapping[str, Any], "os.PathLike[str]"]

FINAL_STATES = frozenset({"succeeded", "failed", "terminated"})


@dataclasses.dataclass(frozen=True)
class Node:
    """One instance of a component of a run that has begun: a step with its `job`, or a DAG.

    `path` is its place, "outer-1.train", `number` its number in its loop from 0 (None: it has no loop), `parent` the `node` of the DAG
    around it (None: the entry points). `type` is "step" or "dag", `state` one of "running", "stopping", "succeeded", "failed",
    "terminated", "skipped". `job` is the id of its job (None: it has none, or it was deleted). Times are RFC 3339 text. `message` says
    why it failed or was skipped. `raw` is the whole reply."""

    node: int
    path: str
    name: str
    type: str
    state: str
    parent: Optional[int] = None
    number: Optional[int] = None
    job: Optional[str] = None
    started_at: Optional[str] = None
    finished_at: Optional[str] = None
    message: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(eq=False, repr=False)
class Run:
    """A run as it was at `revision`; wait(), refresh() and stop() bring it up to date. Two are equal when they are the same run.

    `state` is "running", "stopping", "succeeded", "failed" or "terminated" (a user stopped it), `message` says why it failed. `nodes_in`
    has the number of its nodes in each state, `{"running": 2, "succeeded": 40, ...}`; it is empty in a run that came from Client.runs()
    or from a change. Times are RFC 3339 text. `raw` is the whole reply.

    The methods use the client that the run came from, so they belong to that client's thread, and raise what its methods raise."""

    id: str
    name: str
    user: str
    state: str
    message: str = ""
    revision: int = 0
    created_at: Optional[str] = None
    finished_at: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict)
    _client: Optional["Client"] = dataclasses.field(default=None, init=False)

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Run) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Run {self.name} ({self.id}): {self.state}{': ' if self.message else ''}{self.message}>"

    def _repr_html_(self) -> str:
        """What a notebook shows. All text is escaped, as names and messages are others' words."""
        rows = {"run": self.name, "id": self.id, "state": self.state, "message": self.message}
        cells = "".join(
            f"<tr><th style='text-align: left'>{name}</th><td style='text-align: left'>{html.escape(text)}</td></tr>"
            for name, text in rows.items()
            if text
        )
        return f"<table>{cells}</table>"

    def _owner(self) -> "Client":
        if self._client is None:
            raise ValueError(f"run '{self.id}' did not come from a client; get it by Client.run('{self.id}')")
        return self._client

    def _take(self, other: "Run") -> "Run":
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(other, field.name))
        return self

    def refresh(self) -> "Run":
        """Asks the server how the run is now; returns this run, brought up to date."""
        return self._take(self._owner().run(self.id))

    def wait(self, timeout: Optional[float] = None) -> "Run":
        """Waits until the run has ended, whatever its end; returns this run, brought up to date. TimeoutError after `timeout` seconds."""
        return self._take(self._owner().run_wait(self.id, timeout))

    def nodes(self, state: Optional[str] = None) -> Iterator[Node]:
        """As Client.run_nodes of this run."""
        return self._owner().run_nodes(self.id, state)

    def tree(self) -> List[Dict[str, Any]]:
        """As Client.run_tree of this run."""
        return self._owner().run_tree(self.id)

    def stop(self, force: bool = False) -> "Run":
        """As Client.run_stop of this run; returns this run, brought up to date."""
        return self._take(self._owner().run_stop(self.id, force))

    def retry(self, from_step: Optional[str] = None, parameters: Optional[Mapping[str, Any]] = None) -> "Run":
        """As Client.run_retry of this run; returns the new run."""
        return self._owner().run_retry(self.id, from_step, parameters)

    def delete(self) -> None:
        """As Client.run_delete of this run."""
        self._owner().run_delete(self.id)

    @property
    def nodes_in(self) -> Dict[str, int]:
        """The number of its nodes in each state."""
        return dict(self.raw.get("nodes") or {})

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.state in FINAL_STATES


def text_of(definition: Definition) -> str:
    """The text of a definition. Raises OSError if its file cannot be read, ValueError if it is not UTF-8 or the name of a
    file as a text."""
    if isinstance(definition, str):
        if "\n" not in definition and definition.endswith((".yaml", ".yml", ".json")):
            raise ValueError(f"a text is the definition itself; for the file give pathlib.Path({definition!r})")
        return definition
    if isinstance(definition, Mapping):
        return json.dumps(definition)
    with open(definition, encoding="utf-8") as file:
        return file.read()


def body_of(
    definition: Definition,
    parameters: Optional[Mapping[str, Any]],
    name: Optional[str],
    image: Optional[str],
    disabled: Union[str, Sequence[str], None],
    failure_strategy: Optional[str],
    package: Optional[str],
    queue: Optional[str],
) -> Dict[str, Any]:
    """The body of POST /v1/runs."""
    values = {
        "definition": text_of(definition),
        "parameters": dict(parameters) if parameters else None,
        "name": name,
        "image": image,
        "disabled": disabled if disabled is None or isinstance(disabled, str) else ",".join(disabled),
        "failure_strategy": failure_strategy,
        "package": package,
        "queue": queue,
    }
    return {key: value for key, value in values.items() if value is not None}
