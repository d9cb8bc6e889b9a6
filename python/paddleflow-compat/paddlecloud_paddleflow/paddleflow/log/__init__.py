"""Logs."""

from .log_api import LogServiceApi
from .log_info import LogInfo, LogInfoByLimit

__all__ = ["LogInfo", "LogInfoByLimit", "LogServiceApi"]
