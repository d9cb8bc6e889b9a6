"""Requests about logs."""

from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from ..common.session import Answer, Session, at, filled
from .log_info import LogInfo, LogInfoByLimit

PAGE_SIZE, LINE_LIMIT, SIZE_LIMIT = 100, 1000, "100M"  # the server's defaults


def _tasks(job: Mapping[str, Any]) -> Iterator[Tuple[str, bool, bool, str]]:
    """Of each task of a job its id, whether there is another page, whether it is truncated, its lines."""
    for task in job.get("taskList") or []:
        log = task["logInfo"]
        yield task["taskID"], log["hasNextPage"], log["truncated"], log["logContent"]


class LogServiceApi(Session):
    """The part of a client that asks for logs."""

    def show_log(
        self,
        run_id: str,
        job_id: Optional[str] = None,
        page_size: Union[int, str, None] = None,
        page_no: Union[int, str, None] = None,
        log_file_position: Optional[str] = None,
    ) -> Answer:
        """(True, {"submitLog": text, "runLog": [LogInfo]}), one for each task. `log_file_position` is "begin" or "end" (the default)."""
        self.need("InvalidRunID", run_id=run_id)
        size, number = int(page_size or PAGE_SIZE), int(page_no or 1)

        def take(data: Any) -> Dict[str, Any]:
            logs = [
                LogInfo(data["runID"], job["jobID"], task, more, truncated, size, number, text)
                for job in data.get("runLog") or []
                for task, more, truncated, text in _tasks(job)
            ]
            return {"submitLog": data["submitLog"], "runLog": logs}

        query = {"jobID": job_id, "pageSize": page_size, "pageNo": page_no, "logFilePosition": log_file_position}
        return self.ask("GET", at("log", "run", run_id), take, filled(query))

    def show_log_by_limit(
        self,
        job_id: Optional[str] = None,
        name: Optional[str] = None,
        namespace: Optional[str] = None,
        cluster_name: Optional[str] = None,
        read_from_tail: Union[bool, str, None] = None,
        line_limit: Union[int, str, None] = None,
        size_limit: Union[int, str, None] = None,
        type: Optional[str] = None,
        framework: Optional[str] = None,
    ) -> Answer:
        """(True, {"eventList": lines or None, "logs": [LogInfoByLimit]}): of a job with its framework, or of a pod or deployment
        (`type`) by name, namespace and cluster."""
        lines, size = int(line_limit or LINE_LIMIT), size_limit or SIZE_LIMIT

        def take(data: Any) -> Dict[str, Any]:
            logs = [
                LogInfoByLimit(data["jobID"], task, data["name"], more, truncated, lines, size, text)
                for task, more, truncated, text in _tasks(data)
            ]
            return {"eventList": data.get("eventList"), "logs": logs}

        query = {"jobID": job_id, "name": name, "namespace": namespace, "clusterName": cluster_name, "type": type}
        more = {"readFromTail": read_from_tail, "lineLimit": line_limit, "sizeLimit": size_limit}
        return self.ask("GET", "/log/job", take, filled({**query, **more, "framework": framework}))
