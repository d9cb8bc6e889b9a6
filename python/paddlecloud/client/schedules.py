"""Schedules of stored pipelines."""

from typing import Any, Dict, Iterator, List, Optional

from ..runs import Schedule, body_of
from .calls import Calls, fields_of, query_of, quote


class ScheduleCalls(Calls):
    """The calls of Client about schedules."""

    def _schedule_of(self, body: Dict[str, Any]) -> Schedule:
        schedule = fields_of(Schedule, body)
        schedule._client = self._client()
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
        return self._schedule_of(self._transport.json("GET", f"/v1/schedules/{quote(schedule)}"))

    def schedules(
        self,
        state: Optional[str] = None,
        name: Optional[str] = None,
        user: Optional[str] = None,
        all_users: bool = False,
    ) -> Iterator[Schedule]:
        """Schedules, oldest first, fetched page by page. `state` is one word or several separated by commas. Only administrators may ask for
        another `user` or for all; others raise errors.Denied."""
        query = {"state": state, "name": name, "user": user, "all": "true" if all_users else None}
        for item in self._pages("/v1/schedules", query):
            yield self._schedule_of(item)

    def schedule_next(self, schedule: str, count: int = 5) -> List[str]:
        """The next `count` (1 to 100) times at which a schedule, by name or id, is due, in its time zone: "2026-03-29 03:00:00 +0200". Raises
        errors.NotFound."""
        path = f"/v1/schedules/{quote(schedule)}/next?{query_of({'count': count})}"
        return [str(item["local"]) for item in self._transport.json("GET", path)["items"]]

    def schedule_stop(self, schedule: str) -> Schedule:
        """Stops a schedule, by name or id, for good; its runs go on. Raises errors.NotFound, errors.Conflict if it is over."""
        path = f"/v1/schedules/{quote(schedule)}/stop"
        return self._schedule_of(self._transport.json("POST", path, {}, repeatable=False))

    def schedule_delete(self, schedule: str) -> None:
        """Deletes a schedule that is over, by name or id; its runs stay. Raises errors.NotFound, errors.Conflict while it runs."""
        self._transport.request("DELETE", f"/v1/schedules/{quote(schedule)}", repeatable=False)
