"""What is known of a job."""

import dataclasses
from typing import Any, Dict, List, Optional


@dataclasses.dataclass(eq=False)
class JobInfo:
    """Of a distributed job, flavour, image, command and their like are in `member_list`. In a list the runtimes are None.
    `username` is always None."""

    job_id: str
    job_name: str
    labels: Optional[Dict[str, str]]
    annotations: Optional[Dict[str, str]]
    username: Optional[str]
    queue: str
    priority: Optional[str]
    flavour: Optional[Dict[str, Any]]
    fs: Optional[Dict[str, Any]]
    extra_fs_list: Optional[List[Dict[str, Any]]]
    image: str
    env: Optional[Dict[str, str]]
    command: str
    args_list: Optional[List[str]]
    port: Optional[int]
    extension_template: Optional[Dict[str, Any]]
    framework: Optional[str]
    member_list: Optional[List[Dict[str, Any]]]
    status: str
    message: str
    accept_time: str
    start_time: str
    finish_time: str
    runtime: Optional[Dict[str, Any]]
    distributed_runtime: Optional[Dict[str, Any]]
    workflow_runtime: Optional[Dict[str, Any]]
