"""Jobs: submit, look, change, wait."""

import functools
import time
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Union

from ..spec import Spec
from .calls import Calls, fields_of, query_of, quote
from .records import DryRun, Explanation, Job


class JobCalls(Calls):
    """The calls of Client about jobs."""

    def _job_of(self, body: Dict[str, Any]) -> Job:
        job = fields_of(Job, body)
        job._client = self._client()
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
        return fields_of(DryRun, reply)

    def results(self, id_or_name: str) -> List[Dict[str, Any]]:
        """What the program reported (`report`), of an array a row for each of its jobs, by index: `{"id", "name", "index", "state",
        "parameters": {"lr": "0.1"}, "results": {"loss": {"last", "min", "max"}}}`."""
        rows: List[Dict[str, Any]] = []
        query: Dict[str, Any] = {}
        while True:
            page = self._transport.json("GET", f"/v1/jobs/{quote(id_or_name)}/results?" + query_of(query))
            rows += page["items"]
            if not page["next"]:
                return sorted(rows, key=lambda row: int(row["index"] or 0))
            query["after"] = page["next"]

    def explain(self, id_or_name: str) -> Explanation:
        """Why a job waits, and when it may start. The server computes both for each call."""
        return fields_of(Explanation, self._transport.json("GET", f"/v1/jobs/{quote(id_or_name)}/explain"))

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
        return self._job_of(self._transport.json("POST", f"/v1/jobs/{quote(id_or_name)}/{what}", repeatable=False))

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
        return self._job_of(self._transport.json("PATCH", f"/v1/jobs/{quote(id_or_name)}", body, repeatable=False))

    def job(self, id_or_name: str) -> Job:
        """One job; a name means the newest job or array of that name, "sw[3]" (or "sw-3") one job of the array `sw`. Raises
        errors.NotFound."""
        return self._job_of(self._transport.json("GET", f"/v1/jobs/{quote(id_or_name)}"))

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
        query: Dict[str, Any] = {"state": state, "name": name, "queue": queue, "array": array}
        query.update(
            all="true" if all_users else None, label=[f"{key}={value}" for key, value in (labels or {}).items()]
        )
        for item in self._pages("/v1/jobs", query):
            yield self._job_of(item)

    def nodes(self, cluster: Optional[str] = None) -> List[Dict[str, Any]]:
        """The nodes of all clusters, or of one: what each has, what jobs and others use, what is free (doc/guide/rest.md, GET /v1/nodes)."""
        items: List[Dict[str, Any]] = self._transport.json("GET", "/v1/nodes?" + query_of({"cluster": cluster}))[
            "items"
        ]
        return items

    def cancel(self, id_or_name: str, force: bool = False) -> Job:
        """Cancels; the job returned is `stopping` or `cancelled`. A second cancel, or `force`, kills without the job's grace time."""
        path = f"/v1/jobs/{quote(id_or_name)}/cancel"
        return self._job_of(self._transport.json("POST", path, {"force": force}))

    def wait(self, id_or_name: str, timeout: Optional[float] = None) -> Job:
        """Waits until the job, or every job of the array, is finished, and returns it; TimeoutError after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        job = self.job(id_or_name)
        while not job.is_final:
            left = 25.0 if end is None else min(25.0, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"job '{job.name}' is still {job.state} after {timeout} s")
            path = f"/v1/jobs/{job.id}?" + query_of(
                {"wait_ms": int(left * 1000), "revision": job.revision, "ended": "true"}
            )
            job = self._job_of(self._patiently(functools.partial(self._transport.json, "GET", path)))
        return job

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


def _merged(have: Mapping[str, str], changes: Mapping[str, Optional[str]]) -> Dict[str, str]:
    """Labels with the changes; None takes one away."""
    return {key: value for key, value in {**have, **changes}.items() if value is not None}
