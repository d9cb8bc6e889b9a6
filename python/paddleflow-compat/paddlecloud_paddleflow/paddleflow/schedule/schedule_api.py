"""Requests about schedules."""

from typing import Any, Dict, Mapping, Optional

from ..common.session import Answer, Session, at, filled, listed
from ..common.values import taken
from ..run.run_api import brief
from .schedule_info import ScheduleInfo

SCHEDULE = (
    "crontab name pipelineID pipelineVersionID desc username scheduleID fsConfig options startTime endTime createTime "
    "updateTime nextRunTime scheduleMsg status"
)


def _schedule(item: Mapping[str, Any]) -> ScheduleInfo:
    return taken(ScheduleInfo, SCHEDULE, item)


def _schedules(data: Mapping[str, Any]) -> Dict[str, Any]:
    return {"scheduleList": listed(data, "scheduleList", _schedule), "nextMarker": data.get("nextMarker") or None}


def _detail(data: Mapping[str, Any]) -> Dict[str, Any]:
    """The marker stands beside the list of runs; some servers repeat it at the top."""
    runs = data.get("runs") or {}
    marker = data.get("nextMarker") or runs.get("nextMarker") or None
    return {"scheduleInfo": _schedule(data), "runList": listed(runs, "runList", brief), "nextMarker": marker}


class ScheduleServiceApi(Session):
    """The part of a client that asks for schedules. Filters are names or ids with commas between them."""

    def create_schedule(
        self,
        name: str,
        pipeline_id: str,
        pipeline_version_id: str,
        crontab: str,
        desc: Optional[str] = None,
        start_time: Optional[str] = None,
        end_time: Optional[str] = None,
        concurrency: Optional[int] = None,
        concurrency_policy: Optional[str] = None,
        expire_interval: Optional[int] = None,
        catchup: Optional[bool] = None,
        username: Optional[str] = None,
    ) -> Answer:
        """(True, id). False values are not sent, and the server uses its defaults: `catchup` is True there."""
        self.need("InvalidName", name=name)
        self.need("InvalidPipelineID", pipeline_id=pipeline_id)
        self.need("InvalidPipelineVersionID", pipeline_version_id=pipeline_version_id)
        self.need("InvalidCrontab", crontab=crontab)
        body = {"name": name, "pipelineID": pipeline_id, "pipelineVersionID": pipeline_version_id, "crontab": crontab}
        more = {"desc": desc, "startTime": start_time, "endTime": end_time, "concurrency": concurrency}
        last = {"concurrencyPolicy": concurrency_policy, "expireInterval": expire_interval, "catchup": catchup}
        sent = filled({**body, **more, **last, "username": username})
        return self.ask("POST", "/schedule", lambda data: data["scheduleID"], body=sent)

    def list_schedule(
        self,
        user_filter: Optional[str] = None,
        ppl_filter: Optional[str] = None,
        ppl_version_filter: Optional[str] = None,
        schedule_filter: Optional[str] = None,
        name_filter: Optional[str] = None,
        status_filter: Optional[str] = None,
        marker: Optional[str] = None,
        max_keys: Optional[int] = None,
    ) -> Answer:
        """(True, {"scheduleList": [ScheduleInfo], "nextMarker": marker})."""
        query = {"userFilter": user_filter, "pplFilter": ppl_filter, "pplVersionFilter": ppl_version_filter}
        more = {"scheduleFilter": schedule_filter, "nameFilter": name_filter, "statusFilter": status_filter}
        paging = {"marker": marker, "maxKeys": max_keys}
        return self.ask("GET", "/schedule", _schedules, filled({**query, **more, **paging}))

    def show_schedule(
        self,
        schedule_id: str,
        run_filter: Optional[str] = None,
        status_filter: Optional[str] = None,
        marker: Optional[str] = None,
        max_keys: Optional[int] = None,
    ) -> Answer:
        """(True, {"scheduleInfo": ScheduleInfo, "runList": [RunInfo], "nextMarker": marker of the next runs})."""
        self.need("InvalidScheduleID", schedule_id=schedule_id)
        query = {"runFilter": run_filter, "statusFilter": status_filter, "marker": marker, "maxKeys": max_keys}
        return self.ask("GET", at("schedule", schedule_id), _detail, filled(query))

    def stop_schedule(self, schedule_id: str) -> Answer:
        """(True, None). Its runs go on."""
        self.need("InvalidScheduleID", schedule_id=schedule_id)
        return self.ask("PUT", at("schedule", schedule_id))

    def delete_schedule(self, schedule_id: str) -> Answer:
        """(True, None)."""
        self.need("InvalidScheduleID", schedule_id=schedule_id)
        return self.ask("DELETE", at("schedule", schedule_id))
