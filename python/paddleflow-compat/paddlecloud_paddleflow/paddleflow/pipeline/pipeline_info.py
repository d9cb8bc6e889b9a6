"""What is known of stored pipelines."""

import dataclasses


@dataclasses.dataclass(eq=False)
class PipelineInfo:
    """A stored pipeline. Times are text in the server's local time."""

    pipeline_id: str
    name: str
    username: str
    desc: str
    create_time: str
    update_time: str


@dataclasses.dataclass(eq=False)
class PipelineVersionInfo:
    """A version of it; `pipeline_yaml` is its text."""

    pipeline_version_id: str
    pipeline_id: str
    fs_name: str
    yaml_path: str
    pipeline_yaml: str
    username: str
    create_time: str
    update_time: str
