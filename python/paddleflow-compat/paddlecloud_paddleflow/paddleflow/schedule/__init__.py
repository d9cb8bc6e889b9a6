"""Schedules: runs at given times."""

from .schedule_api import ScheduleServiceApi
from .schedule_info import ScheduleInfo

__all__ = ["ScheduleInfo", "ScheduleServiceApi"]
