"""Requests about what jobs have used."""

from typing import Any, List, Mapping, Optional, Union

from ..common.exception import PaddleFlowSDKException
from ..common.session import Answer, Session, at, listed
from ..common.values import taken
from .statistics_info import CardTimeInfo, Result, StatisticsJobDetailInfo, StatisticsJobInfo, TaskInfo

Number = Union[int, str, None]


def _result(item: Mapping[str, Any]) -> Result:
    return Result(item["taskName"], listed(item, "taskInfo", lambda series: taken(TaskInfo, "metric values", series)))


def _detail(data: Mapping[str, Any]) -> StatisticsJobDetailInfo:
    return StatisticsJobDetailInfo(listed(data, "result", _result), bool(data.get("truncated")))


def _no_run(runid: Optional[str]) -> None:
    if runid:
        raise PaddleFlowSDKException("InvalidRequest", "run_id is not supported yet")


def _checked(start: Number, end: Number, step: Number) -> None:
    if start is not None and int(start) < 0:
        raise PaddleFlowSDKException("InvalidStart", "start is less than 0")
    if end is not None and (start is None or int(end) < int(start)):
        raise PaddleFlowSDKException("InvalidEnd", "end needs a start that is not later")
    if step is not None and int(step) <= 0:
        raise PaddleFlowSDKException("InvalidStep", "step is not more than 0")


class StatisticsServiceApi(Session):
    """The part of a client that asks for what jobs have used."""

    def get_statistics(self, jobid: str, runid: Optional[str] = None) -> Answer:
        """(True, StatisticsJobInfo). `runid` must stay None."""
        self.need("InvalidJobID", jobid=jobid)
        _no_run(runid)
        return self.ask(
            "GET", at("statistics", "job", jobid), lambda data: taken(StatisticsJobInfo, "metricsInfo", data)
        )

    def get_statistics_detail(
        self, jobid: str, start: Number = None, end: Number = None, step: Number = None, runid: Optional[str] = None
    ) -> Answer:
        """(True, StatisticsJobDetailInfo, truncated). `start` and `end` are Unix seconds, `step` seconds."""
        self.need("InvalidJobID", jobid=jobid)
        _checked(start, end, step)
        _no_run(runid)
        query = {"start": start, "end": end, "step": step}
        answer = self.ask("GET", at("statistics", "jobDetail", jobid), _detail, query)
        return (True, answer[1], answer[1].truncated) if answer[0] else (False, answer[1], False)

    def get_cardtime_by_queue_name(self, queue_names: List[str], start_time: str, end_time: str) -> Answer:
        """(True, CardTimeInfo). Times are "YYYY-MM-DD hh:mm:ss" in the server's local time."""
        body = {"queueNames": queue_names, "startTime": start_time, "endTime": end_time}
        return self.ask("POST", "/statistics/cardTime", lambda data: CardTimeInfo(data.get("data") or []), body=body)
