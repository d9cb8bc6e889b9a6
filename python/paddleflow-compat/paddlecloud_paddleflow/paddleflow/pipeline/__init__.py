"""Stored pipelines, and pipelines described in Python."""

from .dsl import (
    DAG,
    FAIL_CONTINUE,
    FAIL_FAST,
    PF_LOOP_ARGUMENT,
    PF_RUN_ID,
    PF_STEP_NAME,
    PF_USER_NAME,
    Artifact,
    CacheOptions,
    ContainerStep,
    ExtraFS,
    FailureOptions,
    FSOptions,
    FSScope,
    MainFS,
    Parameter,
    Pipeline,
)
from .pipeline_api import PipelineServiceApi
from .pipeline_info import PipelineInfo, PipelineVersionInfo

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
    "ContainerStep",
    "ExtraFS",
    "FSOptions",
    "FSScope",
    "FailureOptions",
    "MainFS",
    "Parameter",
    "Pipeline",
    "PipelineInfo",
    "PipelineServiceApi",
    "PipelineVersionInfo",
]
