"""Pieces of logs."""

import dataclasses
from typing import Union


@dataclasses.dataclass(eq=False)
class LogInfo:
    """A page of lines of one task of a run; `pageno` counts from 1. `truncated`: the log is longer than what can be read."""

    runid: str
    jobid: str
    taskid: str
    has_next_page: bool
    truncated: bool
    pagesize: int
    pageno: int
    log_content: str


@dataclasses.dataclass(eq=False)
class LogInfoByLimit:
    """The first or last lines of one task of a job."""

    job_id: str
    task_id: str
    name: str
    has_next_page: bool
    truncated: bool
    line_limit: int
    size_limit: Union[int, str]
    log_content: str
