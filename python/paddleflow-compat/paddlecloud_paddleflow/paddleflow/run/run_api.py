"""Requests about runs, their caches and artifacts."""

import base64
from typing import Any, Dict, List, Mapping, Optional, Union

from ..common.exception import PaddleFlowSDKException
from ..common.session import Answer, Session, at, filled, listed
from ..common.values import taken
from .run_info import ArtifactInfo, DagInfo, JobInfo, Nodes, RunCacheInfo, RunInfo

RUN = (
    "runID fsName username status name description parameters runYaml runtime postProcess dockerEnv updateTime source "
    "runMsg scheduleID scheduledTime fsOptions failureOptions disabled runCachedIDs createTime activateTime"
)
STEP = (
    "name deps parameters command env status startTime endTime dockerEnv jobID type stepName parentDagID extraFS "
    "artifacts cache jobMessage cacheRunID cacheJobID"
)
DAG = "id name type dagName parentDagID deps parameters artifacts startTime endTime status message entryPoints"
CACHE = "cacheID firstFp secondFp runID source jobID fsname username expiredTime strategy custom createTime updateTime"
ARTIFACT = "runID fsname username artifactPath type step artifactName meta createTime updateTime"


def coded(code: str, name: str, text: Optional[bytes]) -> Optional[str]:
    """Base64 of a definition. Raises `code` unless it is bytes."""
    if text and not isinstance(text, bytes):
        raise PaddleFlowSDKException(code, f"{name} must be bytes type")
    return base64.b64encode(text).decode() if text else None


def _step(item: Mapping[str, Any]) -> JobInfo:
    return taken(JobInfo, STEP, item)


def _node(item: Mapping[str, Any]) -> Union[JobInfo, DagInfo]:
    if "entryPoints" not in item:
        return _step(item)
    return taken(DagInfo, DAG, {**item, "entryPoints": _nodes(item["entryPoints"])})


def _nodes(by_name: Optional[Mapping[str, List[Mapping[str, Any]]]]) -> Nodes:
    return {name: [_node(item) for item in items] for name, items in (by_name or {}).items()}


def brief(item: Mapping[str, Any]) -> RunInfo:
    """A run of a list."""
    return taken(RunInfo, RUN, item)


def _run(data: Mapping[str, Any]) -> RunInfo:
    post = {name: _step(item) for name, item in (data.get("postProcess") or {}).items()}
    return brief({**data, "runtime": _nodes(data.get("runtime")), "postProcess": post})


def _cache(item: Mapping[str, Any]) -> RunCacheInfo:
    return taken(RunCacheInfo, CACHE, item)


def _artifact(item: Mapping[str, Any]) -> ArtifactInfo:
    return taken(ArtifactInfo, ARTIFACT, item)


class RunServiceApi(Session):
    """The part of a client that asks for runs. Filters are names or ids with commas between them."""

    def create_run(
        self,
        fs_name: Optional[str] = None,
        username: Optional[str] = None,
        run_name: Optional[str] = None,
        desc: Optional[str] = None,
        run_yaml_path: Optional[str] = None,
        run_yaml_raw: Optional[bytes] = None,
        pipeline_id: Optional[str] = None,
        pipeline_version_id: Optional[str] = None,
        param: Optional[Mapping[str, Any]] = None,
        disabled: Optional[str] = None,
        docker_env: Optional[str] = None,
        failure_options: Optional[Mapping[str, Any]] = None,
    ) -> Answer:
        """(True, id of the run). It is of `run_yaml_raw`, else of a stored pipeline, else of a file on the file system."""
        self.not_blank("InvalidUserName", username=username)
        self.not_blank("InvalidRunName", run_name=run_name)
        body = {
            "fsname": fs_name,
            "username": username,
            "name": run_name,
            "desc": desc,
            "runYamlPath": run_yaml_path,
            "runYamlRaw": coded("InvalidRequest", "run_yaml_raw", run_yaml_raw),
            "pipelineID": pipeline_id,
            "pipelineVersionID": pipeline_version_id,
            "parameters": param,
            "disabled": disabled,
            "dockerEnv": docker_env,
            "failureOptions": failure_options,
        }
        return self.ask("POST", "/run", lambda data: data["runID"], body=filled(body))

    def list_run(
        self,
        fs_name: Optional[str] = None,
        username: Optional[str] = None,
        run_id: Optional[str] = None,
        run_name: Optional[str] = None,
        status: Optional[str] = None,
        maxsize: int = 100,
        marker: Optional[str] = None,
    ) -> Answer:
        """(True, {"runList": [RunInfo], "nextMarker": marker})."""
        self.not_blank("InvalidFSName", fs_name=fs_name)
        self.not_blank("InvalidUserName", username=username)
        self.not_blank("InvalidRunID", run_id=run_id)
        self.positive(maxsize=maxsize)
        query = {"fsFilter": fs_name, "userFilter": username, "runFilter": run_id, "nameFilter": run_name}
        more = {"statusFilter": status, "maxKeys": maxsize, "marker": marker}
        return self._list("/run", "runList", "runList", brief, {**query, **more})

    def show_run(self, run_id: str) -> Answer:
        """(True, RunInfo)."""
        self.need("InvalidRunID", run_id=run_id)
        return self.ask("GET", at("run", run_id), _run)

    def stop_run(self, run_id: str, force: bool = False) -> Answer:
        """(True, None). `force` stops the step of post_process, too."""
        self.need("InvalidRunID", run_id=run_id)
        if not isinstance(force, bool):
            raise PaddleFlowSDKException("InvalidParam", "the Parameter [force] should be an instance of bool")
        return self.ask("PUT", at("run", run_id), query={"action": "stop"}, body={"stopForce": force})

    def retry_run(self, run_id: str) -> Answer:
        """(True, id of the new run)."""
        self.need("InvalidRunID", run_id=run_id)
        answer = self.ask("PUT", at("run", run_id), lambda data: data and data["runID"], {"action": "retry"})
        return answer if answer[1] else (False, None)

    def delete_run(self, run_id: str, check_cache: Optional[bool] = None) -> Answer:
        """(True, None). With `check_cache` False also a run whose results other runs have used again."""
        self.need("InvalidRunID", run_id=run_id)
        return self.ask("DELETE", at("run", run_id), body={"checkCache": check_cache})

    def list_cache(
        self,
        user_filter: Optional[str] = None,
        fs_filter: Optional[str] = None,
        run_filter: Optional[str] = None,
        max_keys: Optional[int] = None,
        marker: Optional[str] = None,
    ) -> Answer:
        """(True, {"runCacheList": [RunCacheInfo], "nextMarker": marker})."""
        query = {"userFilter": user_filter, "fsFilter": fs_filter, "runFilter": run_filter}
        more = {"maxKeys": max_keys, "marker": marker}
        return self._list("/runCache", "runCacheList", "runCacheList", _cache, {**query, **more})

    def show_cache(self, cache_id: str) -> Answer:
        """(True, RunCacheInfo)."""
        self.need("InvalidCacheID", cache_id=cache_id)
        return self.ask("GET", at("runCache", cache_id), _cache)

    def delete_cache(self, cache_id: str) -> Answer:
        """(True, None)."""
        self.need("InvalidCacheID", cache_id=cache_id)
        return self.ask("DELETE", at("runCache", cache_id))

    def list_artifact(
        self,
        user_filter: Optional[str] = None,
        fs_filter: Optional[str] = None,
        run_filter: Optional[str] = None,
        type_filter: Optional[str] = None,
        path_filter: Optional[str] = None,
        maxkeys: Optional[int] = None,
        marker: Optional[str] = None,
    ) -> Answer:
        """(True, {"artifactList": [ArtifactInfo], "nextMarker": marker}). `type_filter` is "input" or "output"."""
        query = {"userFilter": user_filter, "fsFilter": fs_filter, "runFilter": run_filter}
        more = {"typeFilter": type_filter, "pathFilter": path_filter, "maxKeys": maxkeys, "marker": marker}
        return self._list("/artifact", "artifactEventList", "artifactList", _artifact, {**query, **more})

    def _list(self, path: str, member: str, name: str, of: Any, query: Mapping[str, Any]) -> Answer:
        def take(data: Any) -> Dict[str, Any]:
            return {name: listed(data, member, of), "nextMarker": data.get("nextMarker") or None}

        return self.ask("GET", path, take, filled(query))
