"""What jobs have used."""

import dataclasses
from typing import Any, Dict, List, Optional


@dataclasses.dataclass(eq=False)
class StatisticsJobInfo:
    """`metrics_info` has a text with its unit for each metric; None if the server has none."""

    metrics_info: Optional[Dict[str, str]]


@dataclasses.dataclass(eq=False)
class TaskInfo:
    """A series: `values` are pairs of a time (Unix seconds) and a value."""

    metric: str
    values: List[List[Any]]


@dataclasses.dataclass(eq=False)
class Result:
    """The series of a task."""

    task_name: str
    task_info: List[TaskInfo]


@dataclasses.dataclass(eq=False)
class StatisticsJobDetailInfo:
    """`truncated`: there are more points than those that came."""

    result: List[Result]
    truncated: bool


@dataclasses.dataclass(eq=False)
class CardTimeInfo:
    """`data` has a dict for each queue (doc/reference/paddleflow-api.md, "Statistics")."""

    data: List[Dict[str, Any]]
