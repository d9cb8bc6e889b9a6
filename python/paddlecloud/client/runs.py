"""Runs of pipelines, and the artifacts of their steps."""

import functools
import json
import os
import tempfile
import time
import uuid
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ..runs import Definition, Node, Run, RunArtifact, body_of, goes_on, joined, source_of, steps_named
from .calls import fields_of, query_of, quote
from .files import FileCalls
from .records import Event, LogLine
from .streams import StreamCalls

RUN_PAUSE_MIN, RUN_PAUSE_MAX = 0.05, 1.0  # seconds between two looks at a run


def _why_paused(run: Run) -> str:
    """Where it is paused and what to do, for the end of a sentence; nothing if it is not paused."""
    places = ", ".join(f"{at} '{step}'" for step, at in run.pauses)
    return f": it is paused {places}; run.go_on() or `paddle run continue {run.id}` lets it go on" if places else ""


class RunCalls(StreamCalls, FileCalls):
    """The calls of Client about runs and their artifacts."""

    def _run_of(self, body: Dict[str, Any]) -> Run:
        run = fields_of(Run, body)
        run._client = self._client()
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
        body = body_of(
            {
                **source_of(definition, pipeline, version),
                "parameters": dict(parameters) if parameters else None,
                "name": name,
                "image": image,
                "disabled": joined(disabled),
                "failure_strategy": failure_strategy,
                "description": description,
                "queue": queue,
                "break_before": list(break_before) or None,
                "break_after": list(break_after) or None,
            }
        )
        body.update(self._begin_in(directory, package))
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
        path = f"/v1/runs/{quote(run_id)}/retry"
        return self._run_of(self._transport.json("POST", path, body, headers, repeatable=True))

    def run(self, run_id: str) -> Run:
        """One run, with the number of its nodes in each state. Here and below `run_id` may also be a name: the caller's newest run of that
        name. Raises errors.NotFound."""
        return self._run_of(self._transport.json("GET", f"/v1/runs/{quote(run_id)}"))

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
        query = {"state": state, "name": name, "user": user, "all": "true" if all_users else None}
        query["pipeline"], query["schedule"] = pipeline, schedule
        for item in self._pages("/v1/runs", query):
            yield self._run_of(item)

    def run_nodes(self, run_id: str, state: Optional[str] = None) -> Iterator[Node]:
        """The nodes of a run that have begun, in the order in which they did, fetched page by page; a run may have 1,000,000. `state` is one
        word or several separated by commas. Raises errors.NotFound."""
        for item in self._pages(f"/v1/runs/{quote(run_id)}/nodes", {"state": state}):
            yield fields_of(Node, item)

    def _first_nodes(self, run_id: str, limit: int) -> Tuple[List[Node], bool]:
        """The first nodes of a run, and whether there are more."""
        page = self._transport.json("GET", f"/v1/runs/{quote(run_id)}/nodes?{query_of({'limit': limit})}")
        return [fields_of(Node, item) for item in page["items"]], bool(page["next"])

    def run_tree(self, run_id: str) -> List[Dict[str, Any]]:
        """The components of a run in the order of the definition, each with its `children`, also those that wait ("pending"). Of a loop
        with more than 20 items there are those that run or did not succeed (doc/guide/rest.md). Raises errors.NotFound."""
        items: List[Dict[str, Any]] = self._transport.json("GET", f"/v1/runs/{quote(run_id)}/tree")["items"]
        return items

    def run_picture(self, run_id: str) -> str:
        """The run as a picture with the states of its components: the text of an SVG. Raises errors.NotFound."""
        return self._transport.request("GET", f"/v1/runs/{quote(run_id)}/picture").decode()

    def run_wait(self, run_id: str, timeout: Optional[float] = None, *, until: str = "ended") -> Run:
        """Waits until the run has ended, and returns it, whatever its end; with `until="paused"` until it is paused or has ended, whatever
        comes first. TimeoutError after `timeout` seconds, which says where the run is paused. Outlives restarts of the server of up to a
        minute."""
        try:
            return self._wait_for_run(run_id, timeout, until)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(goes_on(run_id)) from None

    def _wait_for_run(self, run_id: str, timeout: Optional[float], until: str) -> Run:
        if until not in ("ended", "paused"):
            raise ValueError(f"until is {until!r}; a run is waited for until it has 'ended', or until it is 'paused'")
        end = None if timeout is None else time.monotonic() + timeout
        pause = RUN_PAUSE_MIN
        run = self.run(run_id)
        while not run.is_final and not (until == "paused" and run.pauses):
            left = pause if end is None else min(pause, end - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"run '{run.id}' is still {run.state} after {timeout} s{_why_paused(run)}")
            time.sleep(left)
            pause = min(pause * 1.5, RUN_PAUSE_MAX)
            run = self._patiently(functools.partial(self.run, run.id))
        return run

    def run_stop(self, run_id: str, force: bool = False) -> Run:
        """Stops a run: its jobs are cancelled, then its post_process runs, with `force` neither. The run returned is `stopping` or has
        ended. A repeat does nothing. Raises errors.NotFound, errors.Conflict if the run had ended before."""
        path = f"/v1/runs/{quote(run_id)}/stop"
        return self._run_of(self._transport.json("POST", path, {"force": force}, repeatable=False))

    def _changed(self, run_id: str, verb: str, body: Dict[str, Any]) -> Run:
        """The run after a change."""
        path = f"/v1/runs/{quote(run_id)}/{verb}"
        return self._run_of(self._transport.json("POST", path, body, repeatable=False))

    def run_continue(self, run_id: str, step: Optional[str] = None) -> Run:
        """Lets a paused run go on to its next breakpoint; with `step` ("train", "dag.train", "train-3") only there. Raises
        errors.NotFound, errors.Conflict if it is not paused (there) or has ended, errors.Invalid for a step that there is not."""
        return self._changed(run_id, "continue", {"step": step})

    def run_step(self, run_id: str, step: Optional[str] = None) -> Run:
        """Lets one paused step go on, `step` or the one that paused first, and pauses at what would start next; a run that is not
        paused pauses at its next step. Raises what run_continue raises."""
        return self._changed(run_id, "step", {"step": step})

    def run_break(
        self, run_id: str, before: Sequence[str] = (), after: Sequence[str] = (), remove: bool = False
    ) -> Run:
        """Sets breakpoints before and after steps of a run that has not ended, or removes them. Raises errors.NotFound for a run or
        breakpoint that there is not, errors.Conflict if the run has ended or has passed the place, errors.Invalid for a step that there is
        not, or at which no run of the definition pauses."""
        body = {"before": list(before), "after": list(after), "remove": remove}
        return self._changed(run_id, "breakpoints", body)

    def run_set(self, run_id: str, step: str, parameters: Mapping[str, Any]) -> Run:
        """Changes parameters of a step before which a run is paused. Raises errors.NotFound, errors.Conflict if the run is not paused
        there or the step has begun, errors.Invalid for a step or parameter that there is not, or a value of another type."""
        body = {"step": step, "parameters": dict(parameters)}
        return self._changed(run_id, "parameters", body)

    def run_delete(self, run_id: str, force: bool = False) -> None:
        """Deletes a run that has ended, with its jobs and their logs. Raises errors.NotFound, errors.Conflict while it runs, and while
        another run keeps results of it, unless `force`: then the later run shows no logs of these steps."""
        query = query_of({"force": "true" if force else None})
        self._transport.request("DELETE", f"/v1/runs/{quote(run_id)}?{query}", repeatable=False)

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
        return self._logs_of(f"/v1/runs/{quote(run_id)}/logs", query)

    def run_events(self, run_id: str, since: int = 0) -> Iterator[Event]:
        """The events of a run itself ("run.created", "run.succeeded" and so on, doc/guide/rest.md) with a larger revision than `since`; those
        of its jobs are events of the jobs. Raises errors.NotFound."""
        return self._events_of(f"/v1/runs/{quote(run_id)}/events", since)

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
        query = {"run": run, "filesystem": filesystem, "path": path, "type": type, "user": user}
        for item in self._pages("/v1/artifacts", query):
            yield fields_of(RunArtifact, item)

    def run_result(self, run_id: str, step: str, output: Optional[str] = None) -> Any:
        """What a step that is a decorated function returned, read from the JSON that it saved in the caller's home; a list of all items, in
        their order, if the step is in a loop and `step` names no single one ("train-3", "loop-1.train"). `output` is one of several results.

        Raises ValueError if there is no such step or result, or it is not JSON; errors.NotFound."""
        found, is_list = steps_named(list(self.run_nodes(run_id)), step)
        made: Dict[int, List[RunArtifact]] = {}
        for artifact in self.artifacts(run_id, type="output"):
            made.setdefault(artifact.node, []).append(artifact)
        values = [self._result_of(run_id, node, made.get(node.node, []), output) for node in found]
        return values if is_list else values[0]

    def _result_of(self, run_id: str, node: Node, made: List[RunArtifact], output: Optional[str]) -> Any:
        if node.state != "succeeded":
            raise ValueError(f"step '{node.path}' of run '{run_id}' has no result: it is {node.state}")
        if not made and node.run not in (None, run_id):  # a retry kept it
            return self.run_result(str(node.run), node.path, output)
        names = [artifact.name for artifact in made]
        names = [name for name in names if not (name.endswith("_items") and name[: -len("_items")] in names)]
        name = output or (names[0] if len(names) == 1 else None)
        artifact = next((one for one in made if one.name == name), None)
        if artifact is None:
            wanted = f"no result '{output}'" if output else f"{len(names)} results"
            raise ValueError(f"step '{node.path}' has {wanted}; it has: {', '.join(names) or 'none'}")
        return self._value_at(node.path, artifact)

    def _value_at(self, step: str, artifact: RunArtifact) -> Any:
        if artifact.filesystem != "home":
            raise ValueError(
                f"the result of step '{step}' is on the file system '{artifact.filesystem}', at {artifact.path}: read it there"
            )
        with tempfile.TemporaryDirectory() as scratch:
            place = os.path.join(scratch, "value")
            self.download(artifact.path, place)
            try:
                with open(place, encoding="utf-8") as file:
                    return json.load(file)
            except (ValueError, IsADirectoryError):
                raise ValueError(
                    f"the result of step '{step}' is not JSON but another file or a directory; fetch it: "
                    f"client.download({artifact.path!r}, 'copy')"
                ) from None

    def artifact_delete(self, run_id: str, path: str) -> None:
        """Removes an output of a run that has ended: what lies at `path`, as it is listed, and its record. Raises errors.NotFound if no step
        has written there, errors.Conflict while the run goes on."""
        self._transport.request("DELETE", f"/v1/artifacts/{quote(run_id)}?{query_of({'path': path})}", repeatable=False)
