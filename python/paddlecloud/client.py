"""A typed client of the `/v1` interface (doc/rest.md)."""

import dataclasses
import json
import os
import time
import urllib.parse
import uuid
from typing import Any, Dict, Iterator, List, Optional

from . import config, errors, package
from .transport import Transport

FINAL_STATES = frozenset({"succeeded", "failed", "cancelled", "preempted"})
CHUNK = 4 * 1024 * 1024


def _fields_of(cls, body):
    known = {field.name for field in dataclasses.fields(cls)} - {"raw"}
    return cls(**{name: body[name] for name in known if name in body}, raw=body)


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
class Job:
    """A job as it stood at `revision`. `stages` has milliseconds, `usage` CPU time and memory. `raw` is the whole reply."""

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
    submitted_at: Optional[str] = None
    running_at: Optional[str] = None
    finished_at: Optional[str] = None
    stages: Dict[str, Any] = dataclasses.field(default_factory=dict)
    usage: Dict[str, Any] = dataclasses.field(default_factory=dict)
    roles: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def is_final(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def members(self) -> List[Member]:
        return [_fields_of(Member, item) for item in self.raw.get("members", [])]


@dataclasses.dataclass(frozen=True)
class Event:
    """One change; `kind` such as "job.running", `data` by kind."""

    revision: int
    time: str
    kind: str
    job: str = ""
    user: Optional[str] = None
    data: Dict[str, Any] = dataclasses.field(default_factory=dict)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class LogLine:
    """A line of a member's log, without its newline."""

    member: str
    attempt: int
    text: str


class Client:
    """A server. Without `server` it is found as `paddle` finds it, and an embedded one is started when none is named.

    Every call raises errors.ApiError (NotFound, Denied, Unavailable) or errors.ServerNotReached. What may be repeated safely is
    repeated after a failure; a submit carries an idempotency key, so that a repeat never makes a second job.
    """

    def __init__(
        self, server: Optional[str] = None, token: Optional[str] = None, timeout: float = 60.0, retries: int = 5
    ):
        self._transport = Transport(config.find_server(server), config.find_token(token), timeout, retries)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def version(self) -> str:
        """The server's version."""
        return self._transport.json("GET", "/v1/version")["version"]

    # -- jobs

    def submit(self, spec: Dict[str, Any], idempotency_key: Optional[str] = None) -> Job:
        """Submits a specification (doc/rest.md, "A specification")."""
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return _fields_of(Job, self._transport.json("POST", "/v1/jobs", spec, headers))

    def job(self, id_or_name: str) -> Job:
        """One job; a name means the newest job of that name."""
        return _fields_of(Job, self._transport.json("GET", f"/v1/jobs/{_quote(id_or_name)}"))

    def jobs(self, state: Optional[str] = None, name: Optional[str] = None, all_users: bool = False) -> Iterator[Job]:
        """Jobs, newest first, fetched page by page. `state` is one word or several separated by commas."""
        query = {"limit": 200, "state": state, "name": name, "all": "true" if all_users else None}
        while True:
            page = self._transport.json("GET", "/v1/jobs?" + _query(query))
            for item in page["items"]:
                yield _fields_of(Job, item)
            if not page["next"]:
                return
            query["after"] = page["next"]

    def cancel(self, id_or_name: str) -> Job:
        """Cancels; the job returned is `stopping` or `cancelled`."""
        return _fields_of(Job, self._transport.json("DELETE", f"/v1/jobs/{_quote(id_or_name)}"))

    def wait(self, id_or_name: str, timeout: Optional[float] = None) -> Job:
        """Waits until the job is finished; TimeoutError after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        job = self.job(id_or_name)
        while not job.is_final:
            left = 25.0 if end is None else min(25.0, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"job '{job.name}' is still {job.state} after {timeout} s")
            query = _query({"wait_ms": int(left * 1000), "revision": job.revision})
            job = _fields_of(Job, self._transport.json("GET", f"/v1/jobs/{job.id}?{query}"))
        return job

    # -- logs and events

    def logs(self, id_or_name: str, member: Optional[str] = None, follow: bool = False) -> Iterator[LogLine]:
        """Lines of the job's members; with `follow` until the job ends, across restarts of the server."""
        query = {"follow": "true" if follow else "false", "member": member}
        for _, kind, data in self._resumed(f"/v1/jobs/{_quote(id_or_name)}/logs", query):
            if kind == "log":
                for line in data["text"].splitlines():
                    yield LogLine(data["member"], data["attempt"], line)
            elif kind == "end":
                return

    def events(self, since: int = 0, job: Optional[str] = None, follow: bool = True) -> Iterator[Event]:
        """Events with a larger revision than `since`, of one job or all; with `follow` it does not end by itself."""
        if not follow:
            page = self._transport.json(
                "GET", f"/v1/jobs/{_quote(job or '')}/events?" + _query({"since": since, "limit": 10000})
            )
            yield from (_fields_of(Event, item) for item in page["items"])
            return
        for _, _, data in self._resumed("/v1/events", {"since": since, "job": job}):
            yield _fields_of(Event, data)

    def _resumed(self, path, query):
        """A stream of events that is taken up again where it broke off; gives up when the server stays away for a minute."""
        last_id, lost = None, None
        while True:
            headers = {"Last-Event-ID": last_id} if last_id else {}
            asked = {name: value for name, value in query.items() if not (last_id and name == "since")}
            try:
                for last_id, kind, data in self._transport.events(f"{path}?{_query(asked)}", headers):
                    lost = None
                    body = json.loads(data)
                    if kind == "error":
                        raise errors.from_reply(500, body)
                    yield last_id, kind, body
                    if kind == "end":
                        return
            except (OSError, errors.Unavailable) as error:
                lost = lost or time.monotonic()
                if time.monotonic() - lost > 60:
                    raise errors.ServerNotReached(f"the server at {self._transport.url} is away: {error}") from error
                time.sleep(0.5)

    # -- packages and files

    def send_package(self, directory: str, extra: Optional[Dict[str, str]] = None) -> str:
        """Sends a directory as a package, only what the server lacks; returns its hash."""
        return package.send(self._transport, package.of_directory(directory, extra))

    def upload(self, local: str, remote: str) -> None:
        """Sends one file to /pfs/... or a path in the user's home; only chunks that the server lacks travel."""
        path, size = self._file_path(remote), os.path.getsize(local)
        have = self._upload_state(path)
        chunks = []
        with open(local, "rb") as file:
            for index in range((size + CHUNK - 1) // CHUNK):
                data = file.read(CHUNK)
                chunks.append(package.hashlib.blake2b(data, digest_size=32).hexdigest())
                if index >= len(have) or have[index] != chunks[-1]:
                    headers = {"Content-Type": "application/octet-stream"}
                    self._transport.request(
                        "PUT", f"{path}?{_query({'chunk': index, 'hash': chunks[-1]})}", data, headers
                    )
        self._transport.json("POST", path, {"op": "finish", "size": size, "chunks": chunks})

    def download(self, remote: str, local: str) -> None:
        """Fetches one file and puts it in place whole."""
        data = self._transport.request("GET", self._file_path(remote))
        with open(local + ".part", "wb") as file:
            file.write(data)
        os.replace(local + ".part", local)

    def _upload_state(self, path):
        try:
            return self._transport.json("GET", path + "?upload=true")["chunks"]
        except errors.NotFound:
            return []

    def _file_path(self, remote):
        if not remote.startswith("/pfs/"):
            info, me = self._transport.json("GET", "/v1/info"), self._transport.json("GET", "/v1/whoami")
            remote = f"/pfs/{info['datacenter']}/home/{me['user']}/{remote.lstrip('/')}"
        return "/v1/files" + urllib.parse.quote(remote)


def _quote(text):
    return urllib.parse.quote(text, safe="")


def _query(values):
    return urllib.parse.urlencode({name: value for name, value in values.items() if value is not None})
