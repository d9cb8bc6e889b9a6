"""A typed client of the `/v1` interface (doc/guide/rest.md)."""

import base64
import dataclasses
import functools
import html
import http.client
import json
import os
import time
import urllib.parse
import uuid
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from . import config, downloads, errors, files, package
from .runs import (
    Definition,
    Node,
    PipelineVersion,
    Run,
    RunArtifact,
    Schedule,
    StoredPipeline,
    body_of,
    joined,
    source_of,
    text_of,
)
from .spec import Spec
from .transport import ServerEvent, Transport

FINAL_STATES = frozenset({"succeeded", "failed", "cancelled", "preempted"})
AWAY_MAX = 60.0  # seconds that a server may be away while something waits for it
PAGE = 200
REASON_SHOWN = 80  # characters of a reason in a job's short form
EVENTS_PAGE = 1000
RUN_PAUSE_MIN, RUN_PAUSE_MAX = 0.05, 1.0  # seconds between two looks at a run
Record = TypeVar("Record")


def _fields_of(kind: Callable[..., Record], body: Dict[str, Any]) -> Record:
    """The dataclass `kind` from the members of `body` that it knows, and `raw` with all."""
    known = {field.name for field in dataclasses.fields(kind) if field.init} - {"raw"}  # type: ignore[arg-type]
    return kind(**{name: body[name] for name in known if name in body}, raw=body)


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
    return [_fields_of(Reason, item) for item in body.get("reasons") or []]


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
        return [_fields_of(Member, item) for item in self.raw.get("members", [])]


def _index_of(job: Job) -> int:
    return int((job.array or {}).get("index", 0))


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


class Client:
    """A server. Without `server` it is found as `paddle` finds it, and an embedded one is started when none is named.

    `timeout` in seconds counts a server's silence, `retries` further tries after the first. Every call raises errors.ApiError (Invalid,
    Denied, NotFound, Conflict, Gone, Unavailable) or errors.ServerNotReached, all of them errors.PaddleError. What may be repeated
    safely is repeated after a failure; a submit carries an idempotency key, so that a repeat never makes a second job. What waits
    (wait, logs, events) outlives restarts of the server of up to a minute. Not thread-safe: use one for each thread.
    """

    def __init__(
        self, server: Optional[str] = None, token: Optional[str] = None, timeout: float = 60.0, retries: int = 5
    ) -> None:
        url = config.find_server(server)
        self._transport = Transport(url, config.find_token(token, url), timeout, retries)

    def close(self) -> None:
        """Closes the connection; a further call opens another."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def version(self) -> str:
        """The server's version."""
        return str(self._transport.json("GET", "/v1/version")["version"])

    def login(self, user: str, password: str, otp: Optional[str] = None) -> Optional[str]:
        """Logs in on a server on TCP: this client has a token from then on. Returns when it expires, in RFC 3339; raises errors.Denied for
        a wrong name or password, and where a code of the second factor (`otp`) is needed."""
        body = {"user": user, "password": password, **({"otp": otp} if otp else {})}
        reply = self._transport.json("POST", "/v1/login", body, repeatable=False)
        self._transport.token = reply["token"]
        expires: Optional[str] = reply.get("expires_at")
        return expires

    # -- jobs

    def _job_of(self, body: Dict[str, Any]) -> Job:
        job = _fields_of(Job, body)
        job._client = self
        return job

    def submit(self, spec: Spec, idempotency_key: Optional[str] = None) -> Job:
        """Submits a specification (doc/guide/rest.md, "A specification"). A repeat with the same key (1 to 128 printable bytes) returns the
        job that the first one made. With `array` the job returned is the whole array, which can be waited for."""
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return self._job_of(self._transport.json("POST", "/v1/jobs", dict(spec), headers, repeatable=True))

    def submit_many(self, specs: Iterable[Spec]) -> List[str]:
        """Submits up to 10,000 specifications at once, all or none; returns the jobs' ids in their order. `after` may name jobs of the
        same call."""
        body = {"jobs": [dict(spec) for spec in specs]}
        return [item["id"] for item in self._transport.json("POST", "/v1/jobs/batch", body, repeatable=False)["jobs"]]

    def dry_run(self, spec: Spec) -> DryRun:
        """What submit() would lead to; nothing is made."""
        reply = self._transport.json("POST", "/v1/jobs?dry_run=true", dict(spec), repeatable=True)
        return _fields_of(DryRun, reply)

    def results(self, id_or_name: str) -> List[Dict[str, Any]]:
        """What the program reported (`report`), of an array a row for each of its jobs, by index: `{"id", "name", "index", "state",
        "parameters": {"lr": "0.1"}, "results": {"loss": {"last", "min", "max"}}}`."""
        rows: List[Dict[str, Any]] = []
        query: Dict[str, Any] = {}
        while True:
            page = self._transport.json("GET", f"/v1/jobs/{_quote(id_or_name)}/results?" + _query(query))
            rows += page["items"]
            if not page["next"]:
                return sorted(rows, key=lambda row: int(row["index"] or 0))
            query["after"] = page["next"]

    def explain(self, id_or_name: str) -> Explanation:
        """Why a job waits, and when it may start, worked out anew."""
        return _fields_of(Explanation, self._transport.json("GET", f"/v1/jobs/{_quote(id_or_name)}/explain"))

    def hold(self, id_or_name: str) -> Job:
        """Keeps a job from starting until release(); one that runs is stopped first."""
        return self._act(id_or_name, "hold")

    def release(self, id_or_name: str) -> Job:
        """Lets a held job start again."""
        return self._act(id_or_name, "release")

    def requeue(self, id_or_name: str) -> Job:
        """Stops a running job and puts it back into its queue."""
        return self._act(id_or_name, "requeue")

    def saved(self, id_or_name: str) -> Job:
        """Says that the job's work so far survives an eviction: it is the cheaper one to make go."""
        return self._act(id_or_name, "saved")

    def _act(self, id_or_name: str, what: str) -> Job:
        return self._job_of(self._transport.json("POST", f"/v1/jobs/{_quote(id_or_name)}/{what}", repeatable=False))

    def change(
        self,
        id_or_name: str,
        queue: Optional[str] = None,
        priority: Union[int, str, None] = None,
        labels: Optional[Mapping[str, Optional[str]]] = None,
        annotations: Optional[Mapping[str, Optional[str]]] = None,
    ) -> Job:
        """Changes queue and priority of a job that waits, labels and annotations of any; a label of None is taken away, others stay."""
        values: Dict[str, Any] = {"queue": queue, "priority": priority}
        if labels is not None or annotations is not None:
            job = self.job(id_or_name)
            values["labels"] = None if labels is None else _merged(job.labels, labels)
            values["annotations"] = None if annotations is None else _merged(job.annotations, annotations)
        body = {name: value for name, value in values.items() if value is not None}
        return self._job_of(self._transport.json("PATCH", f"/v1/jobs/{_quote(id_or_name)}", body, repeatable=False))

    def job(self, id_or_name: str) -> Job:
        """One job; a name means the newest job or array of that name, "sw[3]" (or "sw-3") one job of the array `sw`. Raises
        errors.NotFound."""
        return self._job_of(self._transport.json("GET", f"/v1/jobs/{_quote(id_or_name)}"))

    def jobs(
        self,
        state: Optional[str] = None,
        name: Optional[str] = None,
        all_users: bool = False,
        queue: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        array: Optional[str] = None,
    ) -> Iterator[Job]:
        """Jobs, newest first, without members, fetched page by page. `state` is one word or several separated by commas; `array` is the
        name or id of an array: its jobs."""
        query: Dict[str, Any] = {"limit": PAGE, "state": state, "name": name, "queue": queue, "array": array}
        query.update(
            all="true" if all_users else None, label=[f"{key}={value}" for key, value in (labels or {}).items()]
        )
        while True:
            page = self._transport.json("GET", "/v1/jobs?" + _query(query))
            for item in page["items"]:
                yield self._job_of(item)
            if not page["next"]:
                return
            query["after"] = page["next"]

    def nodes(self, cluster: Optional[str] = None) -> List[Dict[str, Any]]:
        """The nodes of all clusters, or of one: what each has, what jobs and others use, what is free (doc/guide/rest.md, GET /v1/nodes)."""
        items: List[Dict[str, Any]] = self._transport.json("GET", "/v1/nodes?" + _query({"cluster": cluster}))["items"]
        return items

    def cancel(self, id_or_name: str, force: bool = False) -> Job:
        """Cancels; the job returned is `stopping` or `cancelled`. A second cancel, or `force`, kills without the job's grace time."""
        path = f"/v1/jobs/{_quote(id_or_name)}/cancel"
        return self._job_of(self._transport.json("POST", path, {"force": force}))

    def wait(self, id_or_name: str, timeout: Optional[float] = None) -> Job:
        """Waits until the job, or every job of the array, is finished, and returns it; TimeoutError after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        job = self.job(id_or_name)
        while not job.is_final:
            left = 25.0 if end is None else min(25.0, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"job '{job.name}' is still {job.state} after {timeout} s")
            path = f"/v1/jobs/{job.id}?" + _query(
                {"wait_ms": int(left * 1000), "revision": job.revision, "ended": "true"}
            )
            job = self._job_of(self._patiently(functools.partial(self._transport.json, "GET", path)))
        return job

    def _patiently(self, call: Callable[[], Record]) -> Record:
        """What `call` returns, once the server is back; gives up when it stays away for a minute."""
        end = time.monotonic() + AWAY_MAX
        while True:
            try:
                return call()
            except (errors.ServerNotReached, errors.Unavailable):
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    # -- logs and events

    def logs(
        self,
        id_or_name: str,
        member: Optional[str] = None,
        follow: bool = False,
        tail: Optional[int] = None,
        attempt: Optional[int] = None,
        since: Optional[str] = None,
        timestamps: bool = False,
        partial: bool = False,
    ) -> Iterator[LogLine]:
        """Lines of the job's members in the order in which they were written; with `follow` until the job ends, across restarts of the server.

        `member` is a name such as "trainer-0" or "environment", or several separated by commas; `tail` begins with that many last
        lines of each, `since` with those from a time in RFC 3339 or so long ago ("10m"). `attempt` is one attempt alone, otherwise the
        newest and those that follow. With `timestamps` lines have their `time`. With `partial` there are lines, too, that have no end
        yet, each time they change (at most 10 times a second). Of a whole array these are the lines of its jobs, one job after the
        other.
        """
        query = {
            "follow": "true" if follow else "false",
            "member": member,
            "tail": tail,
            "attempt": attempt,
            "since": since,
            "timestamps": "true" if timestamps else None,
            "partial": "true" if partial else None,
        }
        whole = self.job(id_or_name)
        if not whole.is_array:
            yield from self._logs_of(f"/v1/jobs/{whole.id}/logs", query)
            return
        for job in sorted(self.jobs(array=whole.id), key=_index_of):
            for line in self._logs_of(f"/v1/jobs/{job.id}/logs", query):
                yield dataclasses.replace(line, job=f"{whole.name}[{_index_of(job)}]")

    def _logs_of(self, path: str, query: Mapping[str, Any]) -> Iterator[LogLine]:
        begun: Dict[LogLine, str] = {}  # lines without their end so far, by where they come from
        for event in self._resumed(path, query):
            if event.kind not in ("log", "partial"):
                continue
            data = json.loads(event.data)
            source = LogLine(data["member"], data["attempt"], "", job=data.get("job", ""), step=data.get("step", ""))
            if event.kind == "partial":
                yield _line_of(source, begun.get(source, "") + data["text"], None, partial=True)
                continue
            *whole, rest = (begun.pop(source, "") + data["text"]).split("\n")
            for line in whole:
                yield _line_of(source, line, data.get("time"))
            if rest:
                begun[source] = rest
        for source, rest in begun.items():
            yield _line_of(source, rest, None)

    def events(self, since: Optional[int] = 0, job: Optional[str] = None, follow: bool = True) -> Iterator[Event]:
        """Events with a larger revision than `since`, of one job or all; with `follow` it does not end by itself.

        `since` None without `follow` begins with the oldest event that the server keeps. Raises errors.Gone when it no longer keeps
        events as old as `since`.
        """
        if follow or job is None:
            query = {"since": since, "job": job, "follow": "true" if follow else "false"}
            for event in self._resumed("/v1/events", query):
                yield _fields_of(Event, json.loads(event.data))
            return
        yield from self._events_of(f"/v1/jobs/{_quote(job)}/events", since or 0)

    def _events_of(self, path: str, since: int) -> Iterator[Event]:
        while True:
            query = {"since": since, "limit": EVENTS_PAGE}
            items = self._transport.json("GET", f"{path}?{_query(query)}")["items"]
            yield from (_fields_of(Event, item) for item in items)
            if len(items) < EVENTS_PAGE:
                return
            since = items[-1]["revision"]

    def _resumed(self, path: str, query: Mapping[str, Any]) -> Iterator[ServerEvent]:
        """A stream of events to its `end`, taken up again where it broke off; gives up when the server stays away for a minute."""
        last_id: Optional[str] = None
        lost: Optional[float] = None
        while True:
            headers = {"Last-Event-ID": last_id} if last_id else {}
            asked = {name: value for name, value in query.items() if not (last_id and name in ("since", "tail"))}
            cause: Exception = http.client.IncompleteRead(b"")
            try:
                for event in self._transport.events(f"{path}?{_query(asked)}", headers):
                    lost, last_id = None, event.id or last_id
                    if event.kind == "error":
                        raise errors.from_reply(500, json.loads(event.data))
                    if event.kind == "end":
                        return
                    yield event
            except (OSError, http.client.HTTPException, errors.Unavailable) as error:
                cause = error
            lost = lost or time.monotonic()
            if time.monotonic() - lost > AWAY_MAX:
                raise errors.ServerNotReached(f"the server at {self._transport.url} is away: {cause}") from cause
            time.sleep(0.2)

    # -- runs of pipelines

    def _run_of(self, body: Dict[str, Any]) -> Run:
        run = _fields_of(Run, body)
        run._client = self
        return run

    def run_create(
        self,
        definition: Optional[Definition] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        name: Optional[str] = None,
        image: Optional[str] = None,
        disabled: Union[str, Sequence[str], None] = None,
        failure_strategy: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        package: Optional[str] = None,
        queue: Optional[str] = None,
        *,
        pipeline: Optional[str] = None,
        version: Optional[int] = None,
        directory: Union[str, "os.PathLike[str]", None] = None,
        description: Optional[str] = None,
        break_before: Sequence[str] = (),
        break_after: Sequence[str] = (),
    ) -> Run:
        """Runs a pipeline (doc/reference/pipelines.md); returns the run, which has begun.

        `definition` is a text in YAML or JSON of at most 16 MiB, a dictionary with the same keys, or a pathlib.Path of a file. Instead of
        it, `pipeline` is the name or id of a stored pipeline, and `version` (from 1) one of its versions; without it the newest runs.

        `parameters` replace those of the definition: "n" wherever it is, "train.n" of one step; values are numbers, texts or lists. `name`,
        `image`, `disabled` (paths of components) and `failure_strategy` ("fail_fast" or "continue") replace those of the text.
        `description` says what the run is for (at most 1,024 bytes).

        `directory` is sent as send_package sends one, and the command of each step begins in it; packages of its requirements.txt are
        installed. `package`, the hash that send_package returned, means one that was sent before. Without both nothing is sent, and steps
        begin in an empty directory or on their main file system. Steps that name no queue go to `queue`, or to "default".

        The run pauses before the steps of `break_before` and after those of `break_after` (run_continue, run_step, run_set).

        A repeat with the same key (1 to 128 printable bytes) returns the run that the first one made. Raises errors.Invalid with the first
        error of the definition and its line, errors.NotFound for a stored pipeline, version, file system or queue that does not exist,
        errors.Denied for a queue that is not granted, errors.Unavailable (code "quota") above 100 runs of a user that have not ended,
        errors.Conflict if the key was used for another definition, ValueError unless there is either a definition or a stored pipeline, for
        both `directory` and `package`, and for what a package cannot hold."""
        if directory is not None and package is not None:
            raise ValueError("directory and package both say where steps begin: give one of them")
        body = body_of(
            {
                **source_of(definition, pipeline, version),
                "parameters": dict(parameters) if parameters else None,
                "name": name,
                "image": image,
                "disabled": joined(disabled),
                "failure_strategy": failure_strategy,
                "description": description,
                "package": package,
                "queue": queue,
                "break_before": list(break_before) or None,
                "break_after": list(break_after) or None,
            }
        )
        if directory is not None:
            body["package"] = self.send_package(os.fspath(directory))
            body["package_name"] = os.path.basename(os.path.abspath(directory))
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return self._run_of(self._transport.json("POST", "/v1/runs", body, headers, repeatable=True))

    def run_retry(
        self,
        run_id: str,
        from_step: Optional[str] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        *,
        break_before: Sequence[str] = (),
        break_after: Sequence[str] = (),
    ) -> Run:
        """Retries a run that has ended; returns a new run, which keeps what succeeded or was skipped and runs the rest.

        `from_step` is a component ("train", "dag.train") that runs again with all that depends on it, `parameters` are other values, as in
        run_create: what uses them, and what depends on that, runs again. The new run has breakpoints of its own, as in run_create.

        A repeat with the same key (1 to 128 printable bytes) returns the
        run that the first one made. Raises errors.Conflict if the run has not ended, or if it succeeded and nothing changes, errors.Gone if
        the directory that was sent with it was removed since, errors.Invalid for a component or parameter that there is not,
        errors.NotFound."""
        body = body_of(
            {
                "from": from_step,
                "parameters": dict(parameters) if parameters else None,
                "break_before": list(break_before) or None,
                "break_after": list(break_after) or None,
            }
        )
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        path = f"/v1/runs/{_quote(run_id)}/retry"
        return self._run_of(self._transport.json("POST", path, body, headers, repeatable=True))

    def run(self, run_id: str) -> Run:
        """One run, with the number of its nodes in each state. Here and below `run_id` may also be a name: the caller's newest run of that
        name. Raises errors.NotFound."""
        return self._run_of(self._transport.json("GET", f"/v1/runs/{_quote(run_id)}"))

    def runs(
        self,
        state: Optional[str] = None,
        name: Optional[str] = None,
        user: Optional[str] = None,
        all_users: bool = False,
        pipeline: Optional[str] = None,
        schedule: Optional[str] = None,
    ) -> Iterator[Run]:
        """Runs, newest first, fetched page by page. `state` is one word or several separated by commas, `name` that of the run, `pipeline`
        the name or id of the stored pipeline that they were made of, `schedule` that of the schedule that created them. Only administrators
        may ask for another `user` or for all; others raise errors.Denied. Raises errors.NotFound for a stored pipeline or schedule that does
        not exist, errors.Invalid for a wrong state."""
        query = {"limit": PAGE, "state": state, "name": name, "user": user, "all": "true" if all_users else None}
        query["pipeline"], query["schedule"] = pipeline, schedule
        for item in self._pages("/v1/runs", query):
            yield self._run_of(item)

    def run_nodes(self, run_id: str, state: Optional[str] = None) -> Iterator[Node]:
        """The nodes of a run that have begun, in the order in which they did, fetched page by page; a run may have 1,000,000. `state` is one
        word or several separated by commas. Raises errors.NotFound."""
        for item in self._pages(f"/v1/runs/{_quote(run_id)}/nodes", {"limit": PAGE, "state": state}):
            yield _fields_of(Node, item)

    def run_tree(self, run_id: str) -> List[Dict[str, Any]]:
        """The components of a run in the order of the definition, each with its `children`, also those that wait ("pending"). Of a loop
        with more than 20 items there are those that run or did not succeed (doc/guide/rest.md). Raises errors.NotFound."""
        items: List[Dict[str, Any]] = self._transport.json("GET", f"/v1/runs/{_quote(run_id)}/tree")["items"]
        return items

    def run_picture(self, run_id: str) -> str:
        """The run as a picture with the states of its components: the text of an SVG. Raises errors.NotFound."""
        return self._transport.request("GET", f"/v1/runs/{_quote(run_id)}/picture").decode()

    def run_wait(self, run_id: str, timeout: Optional[float] = None) -> Run:
        """Waits until the run has ended, and returns it, whatever its end; TimeoutError after `timeout` seconds. Outlives restarts of the
        server of up to a minute."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = RUN_PAUSE_MIN
        run = self.run(run_id)
        while not run.is_final:
            left = pause if end is None else min(pause, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"run '{run.id}' is still {run.state} after {timeout} s")
            time.sleep(left)
            pause = min(pause * 1.5, RUN_PAUSE_MAX)
            run = self._patiently(functools.partial(self.run, run_id))
        return run

    def run_stop(self, run_id: str, force: bool = False) -> Run:
        """Stops a run: its jobs are cancelled, then its post_process runs, with `force` neither. The run returned is `stopping` or has
        ended. A repeat does nothing. Raises errors.NotFound, errors.Conflict if the run had ended before."""
        path = f"/v1/runs/{_quote(run_id)}/stop"
        return self._run_of(self._transport.json("POST", path, {"force": force}, repeatable=False))

    def run_continue(self, run_id: str, step: Optional[str] = None) -> Run:
        """Lets a paused run go on to its next breakpoint; with `step` ("train", "dag.train", "train-3") only there. Raises
        errors.NotFound, errors.Conflict if it is not paused (there) or has ended, errors.Invalid for a step that there is not."""
        return self._run_of(
            self._transport.json("POST", f"/v1/runs/{_quote(run_id)}/continue", {"step": step}, repeatable=False)
        )

    def run_step(self, run_id: str, step: Optional[str] = None) -> Run:
        """Lets one paused step go on, `step` or the one that paused first, and pauses at what would start next; a run that is not
        paused pauses at its next step. Raises what run_continue raises."""
        return self._run_of(
            self._transport.json("POST", f"/v1/runs/{_quote(run_id)}/step", {"step": step}, repeatable=False)
        )

    def run_break(
        self, run_id: str, before: Sequence[str] = (), after: Sequence[str] = (), remove: bool = False
    ) -> Run:
        """Sets breakpoints before and after steps of a run that has not ended, or removes them. Raises errors.NotFound for a run or
        breakpoint that there is not, errors.Conflict if the run has ended, errors.Invalid for a step that there is not."""
        body = {"before": list(before), "after": list(after), "remove": remove}
        return self._run_of(
            self._transport.json("POST", f"/v1/runs/{_quote(run_id)}/breakpoints", body, repeatable=False)
        )

    def run_set(self, run_id: str, step: str, parameters: Mapping[str, Any]) -> Run:
        """Changes parameters of a step before which a run is paused. Raises errors.NotFound, errors.Conflict if the run is not paused
        there or the step has begun, errors.Invalid for a step or parameter that there is not, or a value of another type."""
        body = {"step": step, "parameters": dict(parameters)}
        return self._run_of(
            self._transport.json("POST", f"/v1/runs/{_quote(run_id)}/parameters", body, repeatable=False)
        )

    def run_delete(self, run_id: str, force: bool = False) -> None:
        """Deletes a run that has ended, with its jobs and their logs. Raises errors.NotFound, errors.Conflict while it runs, and while
        another run keeps results of it, unless `force`: then the later run shows no logs of these steps."""
        query = _query({"force": "true" if force else None})
        self._transport.request("DELETE", f"/v1/runs/{_quote(run_id)}?{query}", repeatable=False)

    def run_logs(
        self, run_id: str, step: Optional[str] = None, follow: bool = False, timestamps: bool = False
    ) -> Iterator[LogLine]:
        """Lines of the steps of a run, each with its `step`; with `follow` until the run ends, across restarts of the server.

        Steps come in the order of the definition and of its loops, one after the other; with `follow` up to 32 that run at the same time
        side by side. `step` is one component: "train-3" an item of a loop, "train" all of them, "dag" all in a DAG. With `timestamps`
        lines have their `time`. Raises errors.NotFound."""
        query = {
            "step": step,
            "follow": "true" if follow else "false",
            "timestamps": "true" if timestamps else None,
        }
        return self._logs_of(f"/v1/runs/{_quote(run_id)}/logs", query)

    def run_events(self, run_id: str, since: int = 0) -> Iterator[Event]:
        """The events of a run itself ("run.created", "run.succeeded" and so on, doc/guide/rest.md) with a larger revision than `since`; those
        of its jobs are events of the jobs. Raises errors.NotFound."""
        return self._events_of(f"/v1/runs/{_quote(run_id)}/events", since)

    # -- artifacts of runs

    def artifacts(
        self,
        run: Optional[str] = None,
        *,
        filesystem: Optional[str] = None,
        path: Optional[str] = None,
        type: Optional[str] = None,
        user: Optional[str] = None,
    ) -> Iterator[RunArtifact]:
        """What steps have written and read, fetched page by page: of one run (id or name), or, without `run`, on a file system of the caller
        ("home" unless `filesystem` names another). `path` leaves only paths that begin so, `type` only "output" or "input". `user` is whose
        file system (administrators). Raises errors.NotFound, errors.Invalid for another `type`."""
        query = {"limit": PAGE, "run": run, "filesystem": filesystem, "path": path, "type": type, "user": user}
        for item in self._pages("/v1/artifacts", query):
            yield _fields_of(RunArtifact, item)

    def artifact_delete(self, run_id: str, path: str) -> None:
        """Removes an output of a run that has ended: what lies at `path`, as it is listed, and its record. Raises errors.NotFound if no step
        has written there, errors.Conflict while the run goes on."""
        self._transport.request("DELETE", f"/v1/artifacts/{_quote(run_id)}?{_query({'path': path})}", repeatable=False)

    # -- stored pipelines

    def _pipeline_of(self, body: Dict[str, Any]) -> StoredPipeline:
        pipeline = _fields_of(StoredPipeline, body)
        version = body.get("version")
        pipeline.newest = _fields_of(PipelineVersion, version) if version else None
        pipeline._client = self
        return pipeline

    def _pipeline_put(
        self, path: str, definition: Definition, description: Optional[str], filesystem: Optional[str]
    ) -> StoredPipeline:
        body = body_of({"definition": text_of(definition), "description": description, "fs": filesystem})
        return self._pipeline_of(self._transport.json("POST", path, body, repeatable=False))

    def pipeline_create(
        self, definition: Definition, description: Optional[str] = None, filesystem: Optional[str] = None
    ) -> StoredPipeline:
        """Stores a definition (a text of at most 16 MiB, a dictionary, or a pathlib.Path) as version 1 of a pipeline of its name.

        `description` says what it is for (at most 256 bytes), `filesystem` is the main file system of its runs if the definition names
        none. Raises errors.Invalid with the first error of the definition, errors.Conflict if the user has a pipeline of this name,
        errors.Unavailable (code "quota") above 1,000 pipelines of a user or 64 MiB of all versions."""
        return self._pipeline_put("/v1/pipelines", definition, description, filesystem)

    def pipeline_update(
        self,
        pipeline: str,
        definition: Definition,
        description: Optional[str] = None,
        filesystem: Optional[str] = None,
    ) -> StoredPipeline:
        """Stores another version of a pipeline, by name or id; runs that have begun go on with their version. A `description` of None stays
        what it is. Raises what pipeline_create raises, errors.NotFound, and errors.Conflict if the definition has another name."""
        return self._pipeline_put(f"/v1/pipelines/{_quote(pipeline)}/versions", definition, description, filesystem)

    def pipeline(self, pipeline: str) -> StoredPipeline:
        """A stored pipeline, by name or id, with its newest version. Raises errors.NotFound."""
        return self._pipeline_of(self._transport.json("GET", f"/v1/pipelines/{_quote(pipeline)}"))

    def pipelines(
        self, name: Optional[str] = None, user: Optional[str] = None, all_users: bool = False
    ) -> Iterator[StoredPipeline]:
        """Stored pipelines, oldest first, fetched page by page, each with its newest version. Only administrators may ask for another
        `user` or for all; others raise errors.Denied."""
        query = {"limit": PAGE, "name": name, "user": user, "all": "true" if all_users else None}
        for item in self._pages("/v1/pipelines", query):
            yield self._pipeline_of(item)

    def pipeline_versions(self, pipeline: str) -> Iterator[PipelineVersion]:
        """The versions of a stored pipeline, by name or id, oldest first, without their texts. Raises errors.NotFound."""
        for item in self._pages(f"/v1/pipelines/{_quote(pipeline)}/versions", {"limit": PAGE}):
            yield _fields_of(PipelineVersion, item)

    def pipeline_version(self, pipeline: str, version: int) -> PipelineVersion:
        """A version of a stored pipeline, by name or id, with its `definition`. Raises errors.NotFound."""
        path = f"/v1/pipelines/{_quote(pipeline)}/versions/{version}"
        return _fields_of(PipelineVersion, self._transport.json("GET", path))

    def pipeline_delete(self, pipeline: str, version: Optional[int] = None) -> None:
        """Deletes a stored pipeline, by name or id, with all versions, or one of them; its runs stay. Raises errors.NotFound, errors.Conflict
        for the only version of a pipeline."""
        what = "" if version is None else f"/versions/{version}"
        self._transport.request("DELETE", f"/v1/pipelines/{_quote(pipeline)}{what}", repeatable=False)

    # -- schedules

    def _schedule_of(self, body: Dict[str, Any]) -> Schedule:
        schedule = _fields_of(Schedule, body)
        schedule._client = self
        return schedule

    def schedule_create(
        self,
        name: str,
        pipeline: str,
        crontab: str,
        version: Optional[int] = None,
        description: Optional[str] = None,
        start_at: Optional[str] = None,
        end_at: Optional[str] = None,
        concurrency: int = 0,
        policy: str = "suspend",
        expire_s: int = 0,
        catchup: bool = True,
    ) -> Schedule:
        """Creates a schedule, which runs a stored pipeline at the times of `crontab`: "30 2 * * mon", "TZ=Europe/Berlin @daily", "@every 90s".

        Without `version` it is the newest version now. `start_at` and `end_at` are RFC 3339 text. At most `concurrency` runs at a time (0: any
        number); at this limit, `policy` says what happens: suspend (wait), replace (stop the oldest run) or skip. A run that is later by more
        than `expire_s` seconds is skipped (0: never). Without `catchup`, runs that were missed are not made up for. Raises errors.Invalid for
        a wrong value or a crontab that is never due, errors.NotFound for the pipeline, errors.Conflict if the user has a schedule of this name,
        errors.Unavailable (code "quota") above 1,000 schedules of a user."""
        body = body_of(
            {
                "name": name,
                "pipeline": pipeline,
                "crontab": crontab,
                "version": version,
                "description": description,
                "start_at": start_at,
                "end_at": end_at,
                "concurrency": concurrency,
                "policy": policy,
                "expire_s": expire_s,
                "catchup": catchup,
            }
        )
        return self._schedule_of(self._transport.json("POST", "/v1/schedules", body, repeatable=False))

    def schedule(self, schedule: str) -> Schedule:
        """A schedule, by name or id. Raises errors.NotFound."""
        return self._schedule_of(self._transport.json("GET", f"/v1/schedules/{_quote(schedule)}"))

    def schedules(
        self,
        state: Optional[str] = None,
        name: Optional[str] = None,
        user: Optional[str] = None,
        all_users: bool = False,
    ) -> Iterator[Schedule]:
        """Schedules, oldest first, fetched page by page. `state` is one word or several separated by commas. Only administrators may ask for
        another `user` or for all; others raise errors.Denied."""
        query = {"limit": PAGE, "state": state, "name": name, "user": user, "all": "true" if all_users else None}
        for item in self._pages("/v1/schedules", query):
            yield self._schedule_of(item)

    def schedule_next(self, schedule: str, count: int = 5) -> List[str]:
        """The next `count` (1 to 100) times at which a schedule, by name or id, is due, in its time zone: "2026-03-29 03:00:00 +0200". Raises
        errors.NotFound."""
        path = f"/v1/schedules/{_quote(schedule)}/next?{_query({'count': count})}"
        return [str(item["local"]) for item in self._transport.json("GET", path)["items"]]

    def schedule_stop(self, schedule: str) -> Schedule:
        """Stops a schedule, by name or id, for good; its runs go on. Raises errors.NotFound, errors.Conflict if it is over."""
        path = f"/v1/schedules/{_quote(schedule)}/stop"
        return self._schedule_of(self._transport.json("POST", path, {}, repeatable=False))

    def schedule_delete(self, schedule: str) -> None:
        """Deletes a schedule that is over, by name or id; its runs stay. Raises errors.NotFound, errors.Conflict while it runs."""
        self._transport.request("DELETE", f"/v1/schedules/{_quote(schedule)}", repeatable=False)

    def _pages(self, path: str, query: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        """The items of a list, page by page; a page may be empty before the last one."""
        asked = dict(query)
        while True:
            page = self._transport.json("GET", f"{path}?{_query(asked)}")
            yield from page["items"]
            if not page["next"]:
                return
            asked["after"] = page["next"]

    # -- secrets

    def secret_set(self, name: str, value: Union[str, bytes]) -> None:
        """Makes a secret of the user, or gives it another value: 1 to 65536 bytes, which are never shown again. Jobs that name it in `secrets`
        or `secret_files` take it at the start of each attempt. Raises errors.ApiError (code "quota") above 100 secrets or 1 MiB of a user.
        """
        body = {"value": value} if isinstance(value, str) else {"base64": base64.b64encode(value).decode()}
        self._transport.json("PUT", f"/v1/secrets/{_quote(name)}", body, repeatable=True)

    def secrets(self) -> List[str]:
        """The names of the user's secrets, sorted."""
        return [item["name"] for item in self._transport.json("GET", "/v1/secrets")["items"]]

    def secret_delete(self, name: str) -> None:
        """Deletes a secret; jobs that name it fail at their next start. Raises errors.NotFound."""
        self._transport.json("DELETE", f"/v1/secrets/{_quote(name)}", repeatable=False)

    # -- packages and files

    def send_package(self, directory: str, extra: Optional[Mapping[str, str]] = None) -> str:
        """Sends a directory as a package, only what the server lacks; returns its hash (64 hex digits) for a specification's `package`.

        Its .gitignore and .paddleignore say what stays behind. `extra` maps further relative paths to files elsewhere. Raises ValueError for
        what a package cannot hold.
        """
        return package.send(self._transport, package.of_directory(directory, extra))

    def files(self, remote: str = "", recursive: bool = True) -> List[FileInfo]:
        """What is at and below `remote`, /pfs/... or a path in the user's home; without `recursive` what is right in it. Raises
        errors.NotFound."""
        items = files.listing(self._transport, self.path_of(remote), recursive)
        return [_fields_of(FileInfo, item) for item in items]

    def queue_of(self, cluster: str) -> str:
        """The queue that takes jobs of a cluster: the one of its name, else its only one. Raises ValueError when there is none or several."""
        queues = self._transport.json("GET", "/v1/queues")["items"]
        parents = {queue.get("parent") for queue in queues}
        names = [
            queue["name"]
            for queue in queues
            if queue.get("cluster") == cluster and not queue.get("closed") and queue["name"] not in parents
        ]
        if cluster in names or len(names) == 1:
            return cluster if cluster in names else str(names[0])
        if names:
            raise ValueError(
                f"cluster '{cluster}' has several queues that take jobs: {', '.join(names)}; name one with queue="
            )
        raise ValueError(
            f"no queue of a cluster '{cluster}' takes jobs of yours; `paddle queue list` shows the queues that do"
        )

    def upload(self, local: str, remote: str) -> None:
        """Sends a file or directory to /pfs/... or a path in the user's home; only chunks (4 MiB) that the server lacks travel."""
        target = self.path_of(remote)
        if not os.path.isdir(local):
            files.upload_file(self._transport, local, target)
            return
        files.make_directory(self._transport, target)
        for base, directories, names in os.walk(local):
            inside = os.path.relpath(base, local)
            there = target if inside == "." else f"{target}/{inside}"
            for name in directories:
                if os.path.islink(os.path.join(base, name)):
                    raise ValueError(f"'{os.path.join(base, name)}' is a link to a directory, which is not followed")
                files.make_directory(self._transport, f"{there}/{name}")
            for name in names:
                files.upload_file(self._transport, os.path.join(base, name), f"{there}/{name}")

    def download(self, remote: str, local: str) -> None:
        """Fetches a file to the file `local`, or a directory's contents into the directory `local`.

        Each file takes its place whole and checked; after a break a repeat goes on where it was. Raises errors.NotFound.
        """
        target = self.path_of(remote)
        for item in self.files(target):
            inside = item.path[len(target) :].lstrip("/")
            if not (item.path + "/").startswith(target + "/") or ".." in inside.split("/"):
                raise ValueError(f"the server lists '{item.path}', which is not in '{target}'")
            place = os.path.join(local, inside) if inside else local
            os.makedirs(place if item.dir else os.path.dirname(os.path.abspath(place)), exist_ok=True)
            if not item.dir:
                files.download_file(self._transport, item.path, place)
                downloads.note(place)

    def path_of(self, remote: str) -> str:
        """The whole /pfs path of a path in the user's home; one that begins with /pfs/ stays."""
        if remote.startswith("/pfs/"):
            return remote.rstrip("/")
        info, me = self._transport.json("GET", "/v1/info"), self._transport.json("GET", "/v1/whoami")
        return f"/pfs/{info['datacenter']}/home/{me['user']}/{remote.strip('/')}".rstrip("/")


def _merged(have: Mapping[str, str], changes: Mapping[str, Optional[str]]) -> Dict[str, str]:
    """Labels with the changes; None takes one away."""
    return {key: value for key, value in {**have, **changes}.items() if value is not None}


def _line_of(source: LogLine, text: str, when: Optional[str], partial: bool = False) -> LogLine:
    """A line from where `source` is. A carriage return within it marks what follows as the last state of a redrawn one
    (doc/guide/rest.md)."""
    _, redrawn, state = text.rstrip("\r").rpartition("\r")
    shown = state if redrawn else text
    return dataclasses.replace(source, text=shown, redrawn=bool(redrawn), time=when, partial=partial)


def _quote(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _query(values: Mapping[str, Any]) -> str:
    """Lists are repeated names."""
    return urllib.parse.urlencode({name: value for name, value in values.items() if value is not None}, doseq=True)
