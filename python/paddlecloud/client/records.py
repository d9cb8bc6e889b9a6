"""What a client gives of jobs: jobs with their members and reasons, events, lines of logs, files."""

import dataclasses
import html
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional

from .calls import fields_of

if TYPE_CHECKING:
    from . import Client

FINAL_STATES = frozenset({"succeeded", "failed", "cancelled", "preempted"})
REASON_SHOWN = 80  # characters of a reason in a job's short form


@dataclasses.dataclass(frozen=True)
class Member:
    """One process of a job. Times are RFC 3339 text, sizes bytes; None where it is not known yet. `raw` is the whole reply."""

    name: str
    role: str
    index: int
    state: str
    pid: Optional[int] = None
    port: Optional[int] = None
    gpus: Optional[str] = None
    exit_code: Optional[int] = None
    signal: Optional[Any] = None
    oom: bool = False
    started_at: Optional[str] = None
    finished_at: Optional[str] = None
    cpu_ms: Optional[int] = None
    peak_memory: Optional[int] = None
    error: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a job waits: `cause` is a word such as "queue_max" or "behind", `message` the sentence with its figures. Amounts are quantities
    as text; None where the reason does not speak of them. `raw` is the whole reply."""

    cause: str
    message: str = ""
    resource: Optional[str] = None
    asked: Optional[str] = None
    free: Optional[str] = None
    used: Optional[str] = None
    limit: Optional[Any] = None
    lent: Optional[str] = None
    lent_to: Optional[str] = None
    queue: Optional[str] = None
    position: Optional[int] = None
    job: Optional[str] = None
    expected_start: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a job is not running: `reasons` in the order in which they stand in the way, `position` in its queue, `expected_start` in
    RFC 3339 or None when it is not known."""

    state: str
    cause: Optional[str] = None
    position: Optional[int] = None
    expected_start: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def reasons(self) -> List[Reason]:
        """The first is what stands in the way now."""
        return _reasons_of(self.raw)


@dataclasses.dataclass(frozen=True)
class DryRun:
    """What would become of a job: `state` is "would start", "would wait" or "refused"; `placement` says where (role, index, node, gpus),
    `evicts` who would have to go or shrink for it, `start` when (RFC 3339; None: not known)."""

    admitted: bool
    state: str
    queue: Optional[str] = None
    start: Optional[str] = None
    placement: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    evicts: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    error: Optional[Any] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def reasons(self) -> List[Reason]:
        """Why it would wait."""
        return _reasons_of(self.raw)


def _reasons_of(body: Dict[str, Any]) -> List[Reason]:
    return [fields_of(Reason, item) for item in body.get("reasons") or []]


@dataclasses.dataclass(eq=False, repr=False)
class Job:
    """A job as it was at `revision`; wait(), refresh(), status(), cancel() and follow() bring it up to date. `stages` has milliseconds,
    `usage` CPU time and memory. `raw` is the whole reply. Two are equal when they are the same job.

    A whole array is one, too: its `state` is what is true of all of it, and `elements` says how many of its jobs are in which state
    (`{"total": 100, "running": 8, ...}`). Of a job that is no array `elements` is empty.

    The methods use the client that the job came from, so they belong to that client's thread, and raise what its methods raise."""

    id: str
    name: str
    user: str
    state: str
    framework: str
    reason: str = ""
    attempt: int = 0
    retries: int = 0
    failures: int = 0
    revision: int = 0
    environment: str = "none"
    queue: str = ""
    priority: int = 0
    labels: Dict[str, str] = dataclasses.field(default_factory=dict)
    annotations: Dict[str, str] = dataclasses.field(default_factory=dict)
    array: Optional[Dict[str, Any]] = None
    elements: Dict[str, int] = dataclasses.field(default_factory=dict)
    failed: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    after: List[str] = dataclasses.field(default_factory=list)
    evictions: int = 0
    saved_at: Optional[str] = None
    submitted_at: Optional[str] = None
    running_at: Optional[str] = None
    finished_at: Optional[str] = None
    stages: Dict[str, Any] = dataclasses.field(default_factory=dict)
    usage: Dict[str, Any] = dataclasses.field(default_factory=dict)
    roles: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict)
    _client: Optional["Client"] = dataclasses.field(default=None, init=False)

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Job) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        reason = self.reason if len(self.reason) <= REASON_SHOWN else self.reason[: REASON_SHOWN - 3] + "..."
        return f"<Job {self.name} ({self.id}): {self.state}{': ' if reason else ''}{reason}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: a small table. All text is escaped, as names and reasons are others' words."""
        roles = ", ".join(f"{role.get('replicas', '?')} {role.get('name', '?')}" for role in self.roles)
        rows = {
            "job": self.name,
            "id": self.id,
            "state": self.state,
            "reason": self.reason,
            "queue": self.queue,
            "roles": roles,
        }
        cells = "".join(
            f"<tr><th style='text-align: left'>{name}</th><td style='text-align: left'>{html.escape(str(text))}</td></tr>"
            for name, text in rows.items()
            if text
        )
        return f"<table>{cells}</table>"

    def _owner(self) -> "Client":
        if self._client is None:
            raise ValueError(f"job '{self.name}' did not come from a client; get it by Client.job('{self.id}')")
        return self._client

    def _take(self, other: "Job") -> "Job":
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(other, field.name))
        return self

    def refresh(self) -> "Job":
        """Asks the server how the job is now; returns this job, brought up to date."""
        return self._take(self._owner().job(self.id))

    def status(self) -> str:
        """Its state now, as the server says: "queued", "starting", "running", "succeeded" and so on (doc/guide/jobs.md)."""
        return self.refresh().state

    def wait(self, timeout: Optional[float] = None) -> "Job":
        """Waits until the job is finished; returns this job, brought up to date. TimeoutError after `timeout` seconds."""
        return self._take(self._owner().wait(self.id, timeout))

    def logs(
        self,
        member: Optional[str] = None,
        follow: bool = False,
        tail: Optional[int] = None,
        attempt: Optional[int] = None,
        since: Optional[str] = None,
        timestamps: bool = False,
        partial: bool = False,
    ) -> Iterator["LogLine"]:
        """As Client.logs of this job."""
        return self._owner().logs(self.id, member, follow, tail, attempt, since, timestamps, partial)

    def follow(self) -> "Job":
        """Prints the lines of all members until the job is finished; returns this job, brought up to date."""
        for line in self.logs(follow=True):
            print(f"{line.member} | {line.text}", flush=True)
        return self.wait()

    def events(self, since: int = 0, follow: bool = False) -> Iterator["Event"]:
        """The events of this job with a larger revision than `since`; with `follow` it does not end by itself."""
        return self._owner().events(since, self.id, follow)

    def cancel(self, force: bool = False) -> "Job":
        """As Client.cancel of this job; returns this job, brought up to date."""
        return self._take(self._owner().cancel(self.id, force))

    def results(self) -> List[Dict[str, Any]]:
        """Client.results of this job, or of each job of this array."""
        return self._owner().results(self.id)

    def explain(self) -> "Explanation":
        """Why it waits, and when it may start."""
        return self._owner().explain(self.id)

    @property
    def output(self) -> Optional[str]:
        """The /pfs path of what it writes to PADDLE_OUTPUT; None without one."""
        path = (self.raw.get("spec") or {}).get("output")
        return None if path is None else str(path)

    def download(self, local: str) -> None:
        """Fetches what the job has written to PADDLE_OUTPUT into the directory `local`. ValueError when it has no output."""
        if self.output is None:
            raise ValueError(f"job '{self.name}' has no output; submit it with output=\"NAME\"")
        self._owner().download(self.output, local)

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in FINAL_STATES

    @property
    def is_array(self) -> bool:
        """Whether it is a whole array of jobs."""
        return bool(self.elements)

    @property
    def reasons(self) -> List[Reason]:
        """Why it waits; empty when it does not."""
        return _reasons_of(self.raw)

    @property
    def members(self) -> List[Member]:
        """Its processes; empty in a job that came from Client.jobs()."""
        return [fields_of(Member, item) for item in self.raw.get("members", [])]


@dataclasses.dataclass(frozen=True)
class Event:
    """One change; `kind` such as "job.running", `data` by kind. `job` is the id of its job, `run` that of its run; "" and None otherwise."""

    revision: int
    time: str
    kind: str
    job: str = ""
    run: Optional[str] = None
    user: Optional[str] = None
    data: Dict[str, Any] = dataclasses.field(default_factory=dict)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class LogLine:
    """A line of a member's log, without its newline.

    `redrawn`: the program redrew it, as progress bars do; `text` is what it showed at last. `time` is when it was written (RFC 3339, UTC),
    if that was asked for. `partial`: it has no end yet; the member's next line replaces it. `job` names the element, "sw[3]", in the log of a
    whole array. In the log of a run `step` is the path of the step, "dag.train-3", and `job` the id of its job.
    """

    member: str
    attempt: int
    text: str
    redrawn: bool = False
    time: Optional[str] = None
    partial: bool = False
    job: str = ""
    step: str = ""


@dataclasses.dataclass(frozen=True)
class FileInfo:
    """What stands in the storage: `path` below /pfs, `size` in bytes, `mtime` in RFC 3339."""

    path: str
    dir: bool
    size: int = 0
    mtime: Optional[str] = None
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)
