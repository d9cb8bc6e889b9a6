"""Python SDK of the Paddle job platform.

    import paddlecloud as pc
    pc.dist.train(main, job_name="digits", trainers=4, pservers=2, output="digits")

Run by hand, the call submits the program it stands in; run by the platform, it trains. `Client` speaks the `/v1` interface.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import dist, errors, job, pipeline
    from .client import Client, DryRun, Event, Explanation, FileInfo, Job, LogLine, Member, Reason
    from .errors import ApiError, Conflict, Denied, Gone, Invalid, NotFound, PaddleError, ServerNotReached, Unavailable
    from .job import PaddleJob
    from .report import report
    from .runs import CacheEntry, Node, PipelineVersion, Run, RunArtifact, Schedule, StoredPipeline
    from .spec import Mount, Role, Spec

    Artifact, Pipeline = RunArtifact, StoredPipeline  # earlier names; those of paddlecloud.pipeline describe a pipeline
else:
    _MODULES = {
        "client": "Client DryRun Event Explanation FileInfo Job LogLine Member Reason",
        "errors": "ApiError Conflict Denied Gone Invalid NotFound PaddleError ServerNotReached Unavailable",
        "job": "PaddleJob",
        "runs": "CacheEntry Node PipelineVersion Run RunArtifact Schedule StoredPipeline",
        "spec": "Mount Role Spec",
        **dict.fromkeys(
            ["config", "dist", "downloads", "files", "ignore", "notebook", "package", "pipeline", "transport"], ""
        ),
    }
    _PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}
    _EARLIER = {"Artifact": "RunArtifact", "Pipeline": "StoredPipeline"}

    from .report import report

    def __getattr__(name):
        """A module is imported when a name of it is used first: a program that needs no client does not wait for one."""
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        known = _EARLIER.get(name, name)
        if known not in _PLACES:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        value = getattr(importlib.import_module(f".{_PLACES[known]}", __name__), known)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "ApiError",
    "Artifact",
    "CacheEntry",
    "Client",
    "Conflict",
    "Denied",
    "DryRun",
    "Event",
    "Explanation",
    "FileInfo",
    "Gone",
    "Invalid",
    "Job",
    "LogLine",
    "Member",
    "Mount",
    "Node",
    "NotFound",
    "PaddleError",
    "PaddleJob",
    "Pipeline",
    "PipelineVersion",
    "Reason",
    "Role",
    "Run",
    "RunArtifact",
    "Schedule",
    "ServerNotReached",
    "Spec",
    "StoredPipeline",
    "Unavailable",
    "dist",
    "errors",
    "job",
    "pipeline",
    "report",
]
__version__ = "0.1.0"
