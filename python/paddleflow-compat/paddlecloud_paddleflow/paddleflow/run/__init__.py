"""Runs of pipelines, their caches and artifacts."""

from .run_api import RunServiceApi
from .run_info import ArtifactInfo, DagInfo, JobInfo, RunCacheInfo, RunInfo

__all__ = ["ArtifactInfo", "DagInfo", "JobInfo", "RunCacheInfo", "RunInfo", "RunServiceApi"]
