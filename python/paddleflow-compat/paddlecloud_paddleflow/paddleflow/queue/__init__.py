"""Queues, and who may use them."""

from .queue_api import QueueServiceApi
from .queue_info import GrantInfo, QueueInfo

__all__ = ["GrantInfo", "QueueInfo", "QueueServiceApi"]
