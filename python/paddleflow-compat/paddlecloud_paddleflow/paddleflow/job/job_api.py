"""Requests about jobs."""

import json
from typing import Any, Dict, Mapping, Optional, Union

from ..common.exception import PaddleFlowSDKException
from ..common.session import Answer, Session, at, filled
from ..common.values import taken
from .job_info import JobInfo

TYPES = ("single", "distributed", "workflow")
JOB = (
    "id name labels annotations username queue priority flavour fs extraFS image env command args port "
    "extensionTemplate framework members status message acceptTime startTime finishTime runtime distributedRuntime "
    "workflowRuntime"
)
SPEC = ("image", "id", "name", "labels", "annotations", "env", "command", "args", "port", "extensionTemplate")
FLAVOUR = ("name", "cpu", "mem", "scalarResources")
FS = ("name", "mountPath", "subPath", "readOnly")


def _job(item: Mapping[str, Any]) -> JobInfo:
    policy = item.get("schedulingPolicy") or {}
    return taken(JobInfo, JOB, {**item, "queue": policy.get("queue"), "priority": policy.get("priority")})


def _picked(item: Optional[Mapping[str, Any]], names: Any) -> Dict[str, Any]:
    return filled({name: (item or {}).get(name) for name in names})


def _spec(item: Mapping[str, Any]) -> Dict[str, Any]:
    """The keys that a job and a member of a job share. Values that are false or None are left out."""
    spec = {**_picked(item, SPEC), "flavour": _picked(item.get("flavour"), FLAVOUR), "fs": _picked(item.get("fs"), FS)}
    return filled({**spec, "extraFS": [_picked(fs, FS) for fs in item.get("extraFS") or []]})


def _member(item: Mapping[str, Any]) -> Dict[str, Any]:
    if not item.get("role") or not item.get("replicas"):
        raise PaddleFlowSDKException("InvalidJobRequest", f"member {item} needs role and replicas")
    policy = item.get("schedulingPolicy") or {}
    queue = {"queue": policy.get("queue"), **_picked(policy, ["priority"])}
    return {"role": item["role"], "replicas": item["replicas"], "schedulingPolicy": queue, **_spec(item)}


def _body(item: Mapping[str, Any]) -> Dict[str, Any]:
    policy = _picked(item.get("schedulingPolicy"), ["queue", "priority"])
    if "queue" not in policy:
        raise PaddleFlowSDKException("InvalidJobRequest", f"job_request {item} queue should not be none or empty")
    body = {"schedulingPolicy": policy, **_spec(item), **_picked(item, ["framework"])}
    members = [_member(member) for member in item.get("members") or []]
    return {**body, "members": members} if members else body


class JobServiceApi(Session):
    """The part of a client that asks for jobs."""

    def create_job(self, job_type: str, job_request: Mapping[str, Any]) -> Answer:
        """(True, id). `job_type` is "single", "distributed" or "workflow". `job_request` is a dict as in the file of
        `paddleflow job create` (doc/reference/paddleflow-api.md, "Its job files")."""
        self.pre_check()
        body = _body(job_request)
        if job_type not in TYPES:
            raise PaddleFlowSDKException("InvalidJobType", f"job_type should be one of {', '.join(TYPES)}")
        return self.ask("POST", at("job", job_type), lambda data: data["id"], body=body)

    def show_job(self, jobid: str) -> Answer:
        """(True, JobInfo)."""
        self.need("InvalidJobID", jobid=jobid)
        return self.ask("GET", at("job", jobid), _job, has_message=True)

    def list_job(
        self,
        status: Optional[str] = None,
        timestamp: Union[int, str, None] = None,
        start_time: Optional[str] = None,
        queue: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        maxkeys: Optional[int] = None,
        marker: Optional[str] = None,
    ) -> Answer:
        """(True, [JobInfo], marker): newest first. Changed since `timestamp` (Unix seconds), begun since `start_time`."""
        text = json.dumps(labels) if labels is not None else None
        query = {"status": status, "timestamp": timestamp, "startTime": start_time, "queue": queue, "labels": text}
        return self.ask_page("/job", "jobList", _job, {**query, "maxKeys": maxkeys, "marker": marker})

    def update_job(
        self,
        jobid: str,
        priority: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        annotations: Optional[Mapping[str, str]] = None,
    ) -> Answer:
        """(True, None)."""
        self.need("InvalidJobID", jobid=jobid)
        body = filled({"priority": priority, "labels": labels, "annotations": annotations})
        return self.ask("PUT", at("job", jobid), query={"action": "modify"}, body=body)

    def stop_job(self, jobid: str) -> Answer:
        """(True, None)."""
        self.need("InvalidJobID", jobid=jobid)
        return self.ask("PUT", at("job", jobid), query={"action": "stop"})

    def delete_job(self, jobid: str) -> Answer:
        """(True, None)."""
        self.need("InvalidJobID", jobid=jobid)
        return self.ask("DELETE", at("job", jobid))
