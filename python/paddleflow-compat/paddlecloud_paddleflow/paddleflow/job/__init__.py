"""Jobs."""

from .job_api import JobServiceApi
from .job_info import JobInfo

__all__ = ["JobInfo", "JobServiceApi"]
