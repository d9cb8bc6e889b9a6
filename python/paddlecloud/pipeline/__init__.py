"""Pipelines described in Python (doc/guide/python.md, "Pipelines").

    from paddlecloud.pipeline import Artifact, ContainerStep, Pipeline

`Pipeline` and `Artifact` here describe a pipeline and its artifacts; StoredPipeline and RunArtifact, which Client returns, are what the
server has of them.
"""

from typing import TYPE_CHECKING, Any

from .component import Component, LoopArgument
from .dag import DAG, loop, when
from .errors import DSLError
from .function import FunctionStep, StepFunction, step
from .options import FAIL_CONTINUE, FAIL_FAST, CacheOptions, ExtraFS, FailureOptions, FSOptions, FSScope, MainFS
from .pipeline import Pipeline, post_process
from .step import ContainerStep, Step
from .values import PF_LOOP_ARGUMENT, PF_RUN_ID, PF_STEP_NAME, PF_USER_NAME, Artifact, LoopItem, Parameter

if TYPE_CHECKING:
    from ..runs import Definition, Node, PipelineVersion, Run, RunArtifact, StoredPipeline

__all__ = [
    "DAG",
    "FAIL_CONTINUE",
    "FAIL_FAST",
    "PF_LOOP_ARGUMENT",
    "PF_RUN_ID",
    "PF_STEP_NAME",
    "PF_USER_NAME",
    "Artifact",
    "CacheOptions",
    "Component",
    "ContainerStep",
    "DSLError",
    "Definition",
    "ExtraFS",
    "FSOptions",
    "FSScope",
    "FailureOptions",
    "FunctionStep",
    "LoopArgument",
    "LoopItem",
    "MainFS",
    "Node",
    "Parameter",
    "Pipeline",
    "PipelineVersion",
    "Run",
    "RunArtifact",
    "Step",
    "StepFunction",
    "StoredPipeline",
    "loop",
    "post_process",
    "step",
    "when",
]


def __getattr__(name: str) -> Any:
    """What a client returns is imported when it is used first."""
    if name not in ("Definition", "Node", "PipelineVersion", "Run", "RunArtifact", "StoredPipeline"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from .. import runs

    return getattr(runs, name)
