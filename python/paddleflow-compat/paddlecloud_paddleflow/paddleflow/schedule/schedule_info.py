"""What is known of a schedule."""

import dataclasses
from typing import Any, Dict


@dataclasses.dataclass(eq=False)
class ScheduleInfo:
    """Times are text in the server's local time. `options` has "catchup", "expireInterval", "concurrency", "concurrencyPolicy"."""

    crontab: str
    name: str
    pipeline_id: str
    pipeline_version_id: str
    desc: str
    username: str
    schedule_id: str
    fs_config: Dict[str, Any]
    options: Dict[str, Any]
    start_time: str
    end_time: str
    create_time: str
    update_time: str
    next_run_time: str
    message: str
    status: str
