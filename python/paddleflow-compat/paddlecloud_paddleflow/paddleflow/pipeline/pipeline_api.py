"""Requests about stored pipelines."""

from typing import Any, Dict, Mapping, Optional

from ..common.session import Answer, Session, at, filled, listed
from ..common.values import taken
from ..run.run_api import coded
from .pipeline_info import PipelineInfo, PipelineVersionInfo

VERSION = "pipelineVersionID pipelineID fsName yamlPath pipelineYaml username createTime updateTime"


def _pipeline(item: Mapping[str, Any]) -> PipelineInfo:
    return taken(PipelineInfo, "pipelineID name username desc createTime updateTime", item)


def _version(item: Mapping[str, Any]) -> PipelineVersionInfo:
    return taken(PipelineVersionInfo, VERSION, item)


def _pipelines(data: Mapping[str, Any]) -> Dict[str, Any]:
    return {"pipelineList": listed(data, "pipelineList", _pipeline), "nextMarker": data.get("nextMarker") or None}


def _detail(data: Mapping[str, Any]) -> Dict[str, Any]:
    versions = data["pplVersions"]
    return {
        "pipelineInfo": _pipeline(data["pipeline"]),
        "pipelineVersionList": listed(versions, "pplVersionList", _version),
        "nextMarker": versions.get("nextMarker") or None,
    }


def _one(data: Mapping[str, Any]) -> Dict[str, Any]:
    return {
        "pipelineInfo": _pipeline(data["pipeline"]),
        "pipelineVersionInfo": _version(data["pipelineVersion"]),
    }


class PipelineServiceApi(Session):
    """The part of a client that asks for stored pipelines. A definition is a file on a file system, or `yaml_raw`, bytes."""

    def create_pipeline(
        self,
        fs_name: Optional[str] = None,
        yaml_path: Optional[str] = None,
        desc: Optional[str] = None,
        username: Optional[str] = None,
        yaml_raw: Optional[bytes] = None,
    ) -> Answer:
        """(True, {"name": name, "pplID": id, "pplVerID": version})."""
        self.pre_check()
        body = {"fsname": fs_name, "yamlPath": yaml_path, "desc": desc, "username": username}
        raw = coded("InvalidRequest", "yaml_raw", yaml_raw)
        return self.ask(
            "POST",
            "/pipeline",
            lambda data: {"name": data["name"], "pplID": data["pipelineID"], "pplVerID": data["pipelineVersionID"]},
            body=filled({**body, "yamlRaw": raw}),
        )

    def list_pipeline(
        self,
        user_filter: Optional[str] = None,
        name_filter: Optional[str] = None,
        max_keys: Optional[int] = None,
        marker: Optional[str] = None,
    ) -> Answer:
        """(True, {"pipelineList": [PipelineInfo], "nextMarker": marker})."""
        query = {"userFilter": user_filter, "nameFilter": name_filter, "maxKeys": max_keys, "marker": marker}
        return self.ask("GET", "/pipeline", _pipelines, filled(query))

    def show_pipeline(
        self,
        pipeline_id: str,
        fs_filter: Optional[str] = None,
        max_keys: Optional[int] = None,
        marker: Optional[str] = None,
    ) -> Answer:
        """(True, {"pipelineInfo": PipelineInfo, "pipelineVersionList": [PipelineVersionInfo], "nextMarker": marker})."""
        self.need("InvalidPipelineID", pipeline_id=pipeline_id)
        query = {"fsFilter": fs_filter, "maxKeys": max_keys, "marker": marker}
        return self.ask("GET", at("pipeline", pipeline_id), _detail, filled(query))

    def update_pipeline(
        self,
        pipeline_id: str,
        fs_name: Optional[str] = None,
        yaml_path: Optional[str] = None,
        username: Optional[str] = None,
        desc: Optional[str] = None,
        yaml_raw: Optional[bytes] = None,
    ) -> Answer:
        """(True, {"pipelineID": id, "pipelineVersionID": version}): makes a version."""
        self.need("InvalidPipelineID", pipeline_id=pipeline_id)
        body = {"fsName": fs_name, "yamlPath": yaml_path, "username": username, "desc": desc}
        raw = coded("InvalidRequest", "yaml_raw", yaml_raw)
        return self.ask(
            "POST",
            at("pipeline", pipeline_id),
            lambda data: {key: data[key] for key in ("pipelineID", "pipelineVersionID")},
            body=filled({**body, "yamlRaw": raw}),
        )

    def delete_pipeline(self, pipeline_id: str) -> Answer:
        """(True, None)."""
        self.need("InvalidPipelineID", pipeline_id=pipeline_id)
        return self.ask("DELETE", at("pipeline", pipeline_id))

    def show_pipeline_version(self, pipeline_id: str, pipeline_version_id: str) -> Answer:
        """(True, {"pipelineInfo": PipelineInfo, "pipelineVersionInfo": PipelineVersionInfo})."""
        self._need_version(pipeline_id, pipeline_version_id)
        return self.ask("GET", at("pipeline", pipeline_id, pipeline_version_id), _one)

    def delete_pipeline_version(self, pipeline_id: str, pipeline_version_id: str) -> Answer:
        """(True, None)."""
        self._need_version(pipeline_id, pipeline_version_id)
        return self.ask("DELETE", at("pipeline", pipeline_id, pipeline_version_id))

    def _need_version(self, pipeline_id: str, pipeline_version_id: str) -> None:
        self.need("InvalidPipelineID", pipeline_id=pipeline_id)
        self.need("InvalidPipelineVersionID", pipeline_version_id=pipeline_version_id)
