"""Logs and events: streams that are taken up again where they broke off."""

import dataclasses
import http.client
import json
import time
from typing import Any, Dict, Iterator, Mapping, Optional

from .. import errors
from ..transport import ServerEvent
from .calls import AWAY_MAX, fields_of, query_of, quote
from .jobs import JobCalls
from .records import Event, Job, LogLine

EVENTS_PAGE = 1000


class StreamCalls(JobCalls):
    """The calls of Client about logs and events."""

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
                yield fields_of(Event, json.loads(event.data))
            return
        yield from self._events_of(f"/v1/jobs/{quote(job)}/events", since or 0)

    def _events_of(self, path: str, since: int) -> Iterator[Event]:
        while True:
            query = {"since": since, "limit": EVENTS_PAGE}
            items = self._transport.json("GET", f"{path}?{query_of(query)}")["items"]
            yield from (fields_of(Event, item) for item in items)
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
                for event in self._transport.events(f"{path}?{query_of(asked)}", headers):
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


def _index_of(job: Job) -> int:
    return int((job.array or {}).get("index", 0))


def _line_of(source: LogLine, text: str, when: Optional[str], partial: bool = False) -> LogLine:
    """A line from where `source` is. A carriage return within it marks what follows as the last state of a redrawn one
    (doc/guide/rest.md)."""
    _, redrawn, state = text.rstrip("\r").rpartition("\r")
    shown = state if redrawn else text
    return dataclasses.replace(source, text=shown, redrawn=bool(redrawn), time=when, partial=partial)
