"""Python SDK of the Paddle job platform.

    import paddlecloud as pc
    pc.dist.train(main, job_name="digits", trainers=4, pservers=2, output="digits")

Run by hand, the call submits the program it stands in; run by the platform, it trains. `Client` speaks the `/v1` interface.
"""

from . import dist, errors, job
from .client import Client, DryRun, Event, Explanation, FileInfo, Job, LogLine, Member, Reason
from .errors import ApiError, Conflict, Denied, Gone, Invalid, NotFound, PaddleError, ServerNotReached, Unavailable
from .job import PaddleJob
from .report import report
from .runs import Node, PipelineVersion, Run, RunArtifact, StoredPipeline
from .spec import Mount, Role, Spec

Artifact, Pipeline = RunArtifact, StoredPipeline  # earlier names; those of paddlecloud.pipeline describe a pipeline

__all__ = [
    "ApiError",
    "Artifact",
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
    "ServerNotReached",
    "Spec",
    "StoredPipeline",
    "Unavailable",
    "dist",
    "errors",
    "job",
    "report",
]
__version__ = "0.1.0"
