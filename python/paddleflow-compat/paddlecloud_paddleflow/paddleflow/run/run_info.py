"""What is known of runs, of their nodes, caches and artifacts. Times are text in the server's local time."""

import dataclasses
from typing import Any, Dict, List, Optional, Union


@dataclasses.dataclass(eq=False)
class JobInfo:
    """A step of a run that has begun. `deps` are names with commas."""

    name: str
    deps: str
    parameters: Optional[Dict[str, Any]]
    command: str
    env: Optional[Dict[str, str]]
    status: str
    start_time: str
    end_time: str
    docker_env: str
    job_id: str
    type: str
    step_name: str
    parent_dag_id: str
    extra_fs: Optional[List[Dict[str, Any]]]
    artifacts: Optional[Dict[str, Any]]
    cache: Optional[Dict[str, Any]]
    job_message: str
    cache_run_id: str
    cache_job_id: str

    def get_dict(self) -> Dict[str, Any]:
        """Its attributes by name."""
        return dict(vars(self))


@dataclasses.dataclass(eq=False)
class DagInfo:
    """A DAG of a run that has begun. `entry_points` are its nodes as in RunInfo.runtime."""

    dag_id: str
    name: str
    type: str
    dag_name: str
    parent_dag_id: str
    deps: str
    parameters: Optional[Dict[str, Any]]
    artifacts: Optional[Dict[str, Any]]
    start_time: str
    end_time: str
    status: str
    message: str
    entry_points: "Nodes"

    def get_dict(self) -> Dict[str, Any]:
        """Its attributes by name, those of its nodes as dicts, too."""
        nodes = {name: [node.get_dict() for node in items] for name, items in self.entry_points.items()}
        return {**vars(self), "entry_points": nodes}


Nodes = Dict[str, List[Union[JobInfo, DagInfo]]]  # by component, one for each item of its loop


@dataclasses.dataclass(eq=False)
class RunInfo:
    """A run. In a list, what belongs to its definition and its nodes is None."""

    run_id: str
    fs_name: str
    username: str
    status: str
    name: str
    description: str
    parameters: Optional[Dict[str, Any]]
    run_yaml: Optional[str]
    runtime: Optional[Nodes]
    post_process: Optional[Dict[str, JobInfo]]
    docker_env: Optional[str]
    update_time: str
    source: str
    run_msg: str
    schedule_id: str
    scheduled_time: Optional[str]
    fs_options: Optional[Dict[str, Any]]
    failure_options: Optional[Dict[str, Any]]
    disabled: Optional[str]
    run_cached_ids: Optional[str]
    create_time: str
    activate_time: str


@dataclasses.dataclass(eq=False)
class RunCacheInfo:
    """A result of a step that later runs may use again."""

    cache_id: str
    first_fp: str
    second_fp: str
    run_id: str
    source: str
    job_id: str
    fs_name: str
    username: str
    expired_time: str
    strategy: str
    custom: str
    create_time: str
    update_time: str


@dataclasses.dataclass(eq=False)
class ArtifactInfo:
    """What a step read ("input") or wrote ("output", its `type`)."""

    run_id: str
    fs_name: str
    username: str
    artifact_path: str
    type: str
    step: str
    artifact_name: str
    meta: str
    create_time: str
    update_time: str
