"""Stored pipelines, runs and artifacts: what a client gets of them, and the bodies of its requests (doc/guide/pipelines.md)."""

import dataclasses
import html
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import errors, follow

if TYPE_CHECKING:
    from .client import Client, Event, LogLine

# A definition: its text in YAML or JSON, a mapping with the same keys, or the path of a file (pathlib.Path).
Definition = Union[str, Mapping[str, Any], "os.PathLike[str]"]

FINAL_STATES = frozenset({"succeeded", "failed", "terminated", "skipped"})


@dataclasses.dataclass(frozen=True)
class Node:
    """One instance of a component of a run that has begun: a step with its `job`, or a DAG.

    `path` is its place, "outer-1.train", `number` its number in its loop from 0 (None: it has no loop), `parent` the `node` of the DAG
    around it (None: the entry points). `type` is "step" or "dag", `state` one of "running", "stopping", "succeeded", "failed",
    "terminated", "cancelled", "skipped". `job` is the id of its job (None: it has none, or it was deleted), `run` that of the run whose
    result a retry kept (None: it ran in this run). Times are RFC 3339 text. `message` says why it failed or was skipped. `raw` is the
    whole reply."""

    node: int
    path: str
    name: str
    type: str
    state: str
    parent: Optional[int] = None
    number: Optional[int] = None
    job: Optional[str] = None
    run: Optional[str] = None
    started_at: Optional[str] = None
    finished_at: Optional[str] = None
    message: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


def steps_named(nodes: Sequence[Node], step: str) -> Tuple[List[Node], bool]:
    """The nodes of one step in the order of its loops, and whether it is in a loop. `step` is the path of one item ("train-3"), or the path or
    name without numbers ("loop.train", "train"). Raises ValueError if there is none, or more than one step of the name."""
    by_node = {node.node: node for node in nodes}
    steps = {node.path: _chain(node, by_node) for node in nodes if node.type == "step"}
    if step in steps:
        return [steps[step][-1]], False
    bases: Dict[str, List[List[Node]]] = {}
    for chain in steps.values():
        bases.setdefault(".".join(one.name for one in chain), []).append(chain)
    found = [step] if step in bases else [base for base in bases if base.endswith("." + step)]
    if len(found) != 1:
        others = ", ".join(found or bases) or "none"
        raise ValueError(
            f"there is {'more than one' if found else 'no'} step '{step}' that has begun; there are: {others}"
        )
    chains = sorted(bases[found[0]], key=lambda chain: [one.number or 0 for one in chain])
    return [chain[-1] for chain in chains], any(one.number is not None for one in chains[0])


def _chain(node: Node, by_node: Mapping[int, Node]) -> List[Node]:
    """The DAGs around a node from the outside, and the node."""
    around = [] if node.parent is None or node.parent not in by_node else _chain(by_node[node.parent], by_node)
    return [*around, node]


@dataclasses.dataclass(frozen=True)
class RunArtifact:
    """A file or directory that a step of `run` (an id) wrote ("output") or read ("input", its `type`) under this name.

    `path` lies below the root of `filesystem` (a name) of `user`; those of all items of a loop are joined by commas. `node` is the step in
    its run, `step` its path ("dag-1.train"; None if the artifacts are not asked of one run), `job` the id of its job (None: it was deleted).
    `raw` is the whole reply."""

    run: str
    node: int
    name: str
    type: str
    filesystem: str
    path: str
    user: str
    job: Optional[str] = None
    created_at: Optional[str] = None
    step: Optional[str] = dataclasses.field(default=None, compare=False)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class CacheEntry:
    """A result in the cache that later runs may take, `id` ("cch-000001"): that of the step `step` of `run` (an id), made by `job`, which has
    ended in `state`. `filesystem` is the main file system of the run. `fingerprint` is the digest of what the step does, `files` that of
    its input files. `max_expired_time` is in seconds (-1: it does not expire), times are RFC 3339 text. `parts` (digests by name) and
    `outputs` (paths by name) are only from Client.cache_entry. `raw` is the whole reply."""

    id: str
    run: str
    step: str
    user: str
    filesystem: str
    job: Optional[str] = None
    state: Optional[str] = None
    source: str = ""
    fingerprint: str = ""
    files: str = ""
    max_expired_time: int = -1
    created_at: Optional[str] = None
    expires_at: Optional[str] = None
    parts: Dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    outputs: Dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class PipelineVersion:
    """A version of a stored pipeline, counted from 1: `hash` (SHA-256 in hexadecimal) and `size` (bytes) of its text, `user` who stored it,
    `fs` the main file system of its runs (None: the definition says it), `package` (a hash) the directory in which they begin, which was
    called `package_name`, None without one. `definition` is the text, only from Client.pipeline_version.
    `raw` is the whole reply."""

    version: int
    hash: str
    size: int
    user: str
    fs: Optional[str] = None
    package: Optional[str] = None
    package_name: Optional[str] = None
    created_at: Optional[str] = None
    definition: Optional[str] = dataclasses.field(default=None, repr=False)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(eq=False, repr=False)
class StoredPipeline:
    """A stored pipeline: `id` ("ppl-000001") and `name`, which is that of its definition. Times are RFC 3339 text. `newest` is its newest
    version. Two are equal when they are the same pipeline. `raw` is the whole reply.

    The methods use the client that the pipeline came from, so they belong to that client's thread, and raise what its methods raise."""

    id: str
    name: str
    user: str
    description: str = ""
    created_at: Optional[str] = None
    updated_at: Optional[str] = None
    newest: Optional[PipelineVersion] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict)
    _client: Optional["Client"] = dataclasses.field(default=None, init=False)

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, StoredPipeline) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Pipeline {self.name}{f'@{self.newest.version}' if self.newest else ''} ({self.id})>"

    def _owner(self) -> "Client":
        if self._client is None:
            raise ValueError(f"pipeline '{self.id}' did not come from a client; get it by Client.pipeline('{self.id}')")
        return self._client

    def run(
        self, parameters: Optional[Mapping[str, Any]] = None, version: Optional[int] = None, **keywords: Any
    ) -> "Run":
        """As Client.run_create of this pipeline, with its other keywords; without `version` the newest runs."""
        return self._owner().run_create(None, parameters, pipeline=self.id, version=version, **keywords)

    def runs(self, state: Optional[str] = None) -> Iterator["Run"]:
        """The caller's runs of this pipeline, newest first, as Client.runs gives them."""
        return self._owner().runs(state, pipeline=self.id)

    def versions(self) -> Iterator[PipelineVersion]:
        """As Client.pipeline_versions of this pipeline."""
        return self._owner().pipeline_versions(self.id)

    def update(
        self,
        definition: Definition,
        description: Optional[str] = None,
        filesystem: Optional[str] = None,
        *,
        directory: Union[str, "os.PathLike[str]", None] = None,
        package: Optional[str] = None,
    ) -> "StoredPipeline":
        """As Client.pipeline_update of this pipeline; returns this pipeline, brought up to date."""
        owner = self._owner()
        other = owner.pipeline_update(
            self.id, definition, description, filesystem, directory=directory, package=package
        )
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(other, field.name))
        return self

    def schedule(self, name: str, crontab: str, version: Optional[int] = None, **keywords: Any) -> "Schedule":
        """As Client.schedule_create of this pipeline, with its other keywords; without `version` of the newest version."""
        return self._owner().schedule_create(name, self.id, crontab, version, **keywords)

    def delete(self, version: Optional[int] = None) -> None:
        """As Client.pipeline_delete of this pipeline, or of one of its versions."""
        self._owner().pipeline_delete(self.id, version)


@dataclasses.dataclass(eq=False, repr=False)
class Schedule:
    """A schedule: it runs version `version` of the stored pipeline `pipeline` ("ppl-000001") at the times of `crontab`. `state` is running,
    success, terminated or failed; `message` says why it ended, or why a run waits. Times are RFC 3339 text, `next_at` is the first tick
    without a run. Two are equal when they are the same schedule. `raw` is the whole reply.

    The methods use the client that the schedule came from, so they belong to that client's thread, and raise what its methods raise."""

    id: str
    name: str
    user: str
    pipeline: str
    version: int
    crontab: str
    state: str
    description: str = ""
    run_user: Optional[str] = None
    start_at: Optional[str] = None
    end_at: Optional[str] = None
    concurrency: int = 0
    policy: str = "suspend"
    expire_s: int = 0
    catchup: bool = True
    message: str = ""
    next_at: Optional[str] = None
    created_at: Optional[str] = None
    updated_at: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict)
    _client: Optional["Client"] = dataclasses.field(default=None, init=False)

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Schedule) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Schedule {self.name} {self.crontab!r}: {self.state} ({self.id})>"

    def _owner(self) -> "Client":
        if self._client is None:
            raise ValueError(f"schedule '{self.id}' did not come from a client; get it by Client.schedule('{self.id}')")
        return self._client

    def _become(self, other: "Schedule") -> "Schedule":
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(other, field.name))
        return self

    def refresh(self) -> "Schedule":
        """Brings it up to date, and returns it."""
        return self._become(self._owner().schedule(self.id))

    def runs(self, state: Optional[str] = None) -> Iterator["Run"]:
        """Its runs, newest first, as Client.runs gives them; ticks without a run are in the state skipped."""
        return self._owner().runs(state, schedule=self.id)

    def next(self, count: int = 5) -> List[str]:
        """As Client.schedule_next of this schedule."""
        return self._owner().schedule_next(self.id, count)

    def stop(self) -> "Schedule":
        """As Client.schedule_stop of this schedule; returns it, brought up to date."""
        return self._become(self._owner().schedule_stop(self.id))

    def delete(self) -> None:
        """As Client.schedule_delete of this schedule."""
        self._owner().schedule_delete(self.id)


@dataclasses.dataclass(eq=False, repr=False)
class Run:
    """A run as it was at `revision`; wait(), refresh() and stop() bring it up to date. Two are equal when they are the same run.

    `state` is "running", "stopping", "succeeded", "failed", "terminated" (a user stopped it) or "skipped" (by its schedule), `message` says
    why. `nodes_in` has the number of its nodes in each state, `{"running": 2, "succeeded": 40, ...}`; it is empty in a run that came from
    Client.runs() or from a change. `attempt` is 1, of a retry one more than that of the run `retry_of` (an id). `pipeline` (an id) and
    `version` are those of the stored pipeline that it was made of; None of a definition. `schedule` (an id) and `scheduled_at` are those of
    the schedule that created it, and the tick for which it did. Times are RFC 3339 text. `raw` is the whole reply.

    The methods use the client that the run came from, so they belong to that client's thread, and raise what its methods raise."""

    id: str
    name: str
    user: str
    state: str
    message: str = ""
    description: str = ""
    attempt: int = 1
    retry_of: Optional[str] = None
    pipeline: Optional[str] = None
    version: Optional[int] = None
    schedule: Optional[str] = None
    scheduled_at: Optional[str] = None
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
        """What a notebook shows, with the picture of the run. All text is escaped, as names and messages are others' words."""
        rows = {"run": self.name, "id": self.id, "state": self.state, "message": self.message}
        cells = "".join(
            f"<tr><th style='text-align: left'>{name}</th><td style='text-align: left'>{html.escape(text)}</td></tr>"
            for name, text in rows.items()
            if text
        )
        return f"<table>{cells}</table>{self._repr_svg_() or ''}"

    def _repr_svg_(self) -> Optional[str]:
        """The picture of the run as it is now, for notebooks; None if the server does not give it."""
        try:
            return self.picture()
        except (errors.PaddleError, ValueError, OSError):
            return None

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

    def wait(self, timeout: Optional[float] = None, *, until: str = "ended") -> "Run":
        """As Client.run_wait of this run; returns this run, brought up to date."""
        try:
            return self._take(self._owner()._wait_for_run(self.id, timeout, until))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(goes_on(self.id)) from None

    def nodes(self, state: Optional[str] = None) -> Iterator[Node]:
        """As Client.run_nodes of this run."""
        return self._owner().run_nodes(self.id, state)

    def tree(self) -> List[Dict[str, Any]]:
        """As Client.run_tree of this run."""
        return self._owner().run_tree(self.id)

    def picture(self) -> str:
        """As Client.run_picture of this run."""
        return self._owner().run_picture(self.id)

    def logs(self, step: Optional[str] = None, follow: bool = False, timestamps: bool = False) -> Iterator["LogLine"]:
        """As Client.run_logs of this run."""
        return self._owner().run_logs(self.id, step, follow, timestamps)

    def follow(self) -> "Run":
        """Prints the states of its steps and their lines until it has ended, with its name and id before and its end after them; returns
        this run, brought up to date. At a pause it says so, and on standard error how the run goes on."""
        try:
            follow.follow(self)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(goes_on(self.id)) from None
        return self

    def result(self, step: str, output: Optional[str] = None) -> Any:
        """As Client.run_result of this run."""
        return self._owner().run_result(self.id, step, output)

    def events(self, since: int = 0) -> Iterator["Event"]:
        """As Client.run_events of this run."""
        return self._owner().run_events(self.id, since)

    def explain_cache(self, step: str) -> Dict[str, Any]:
        """As Client.run_explain_cache of this run."""
        return self._owner().run_explain_cache(self.id, step)

    def artifacts(self, type: Optional[str] = None) -> Iterator[RunArtifact]:
        """What its steps have written and read, or only "output" or "input"; as Client.artifacts gives it."""
        return self._owner().artifacts(self.id, type=type)

    def retry(
        self,
        from_step: Optional[str] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        *,
        break_before: Sequence[str] = (),
        break_after: Sequence[str] = (),
    ) -> "Run":
        """As Client.run_retry of this run: returns the new run, this one stays as it is."""
        return self._owner().run_retry(
            self.id, from_step, parameters, idempotency_key, break_before=break_before, break_after=break_after
        )

    def stop(self, force: bool = False) -> "Run":
        """As Client.run_stop of this run; returns this run, brought up to date."""
        return self._take(self._owner().run_stop(self.id, force))

    def go_on(self, step: Optional[str] = None) -> "Run":
        """As Client.run_continue of this run; returns this run, brought up to date."""
        return self._take(self._owner().run_continue(self.id, step))

    def step(self, step: Optional[str] = None) -> "Run":
        """As Client.run_step of this run; returns this run, brought up to date."""
        return self._take(self._owner().run_step(self.id, step))

    def set_breaks(self, before: Sequence[str] = (), after: Sequence[str] = (), remove: bool = False) -> "Run":
        """As Client.run_break of this run; returns this run, brought up to date."""
        return self._take(self._owner().run_break(self.id, before, after, remove))

    def set_parameters(self, step: str, parameters: Mapping[str, Any]) -> "Run":
        """As Client.run_set of this run; returns this run, brought up to date."""
        return self._take(self._owner().run_set(self.id, step, parameters))

    @property
    def pauses(self) -> List[Tuple[str, str]]:
        """Where it is paused, as (step, "before" or "after"); not known of runs from Client.runs(), as what follows here."""
        return [(pause["step"], pause["at"]) for pause in self.raw.get("pauses") or []]

    @property
    def break_before(self) -> List[str]:
        """The steps before which it pauses."""
        return list(self.raw.get("break_before") or [])

    @property
    def break_after(self) -> List[str]:
        """The steps after which it pauses."""
        return list(self.raw.get("break_after") or [])

    @property
    def missed_breakpoints(self) -> List[Tuple[str, str, str]]:
        """The breakpoints at which it turned out not to pause, as (step, "before" or "after", the reason)."""
        return [(one["step"], one["at"], one["reason"]) for one in self.raw.get("missed_breakpoints") or []]

    @property
    def lost_outputs(self) -> List[Tuple[str, str, str]]:
        """Of a retry: steps that run again because an output is gone, as (step, artifact, path); the first 100."""
        return [(one["step"], one["artifact"], one["path"]) for one in self.raw.get("lost_outputs") or []]

    @property
    def changed_parameters(self) -> Dict[str, Dict[str, Any]]:
        """Parameters that were changed while it was paused, by step and name."""
        return dict(self.raw.get("changed_parameters") or {})

    def delete(self, force: bool = False) -> None:
        """As Client.run_delete of this run."""
        self._owner().run_delete(self.id, force)

    @property
    def nodes_in(self) -> Dict[str, int]:
        """The number of its nodes in each state."""
        return dict(self.raw.get("nodes") or {})

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.state in FINAL_STATES


def goes_on(run: str) -> str:
    """What an interrupt of a program says that waits for a run (a name or id)."""
    return f"the run goes on; `paddle run logs -f {run}` follows its logs, `paddle run stop {run}` stops it"


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


def source_of(definition: Optional[Definition], pipeline: Optional[str], version: Optional[int]) -> Dict[str, Any]:
    """The part of a body that says what runs. Raises ValueError unless it is either a definition or a stored pipeline."""
    if (definition is None) == (pipeline is None):
        raise ValueError('a run needs either a definition or the name of a stored pipeline, pipeline="NAME"')
    if definition is None:
        return {"pipeline": pipeline, "version": version}
    if version is not None:
        raise ValueError(f"version {version}: only a stored pipeline has versions; give pipeline= without a definition")
    return {"definition": text_of(definition)}


def joined(names: Union[str, Sequence[str], None]) -> Optional[str]:
    """Names separated by commas."""
    return names if names is None or isinstance(names, str) else ",".join(names)


def body_of(values: Mapping[str, Any]) -> Dict[str, Any]:
    """A body: the values without those that are None."""
    return {key: value for key, value in values.items() if value is not None}
