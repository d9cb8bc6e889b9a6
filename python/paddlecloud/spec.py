"""The shape of a job's specification (doc/guide/rest.md, "A specification"), for editors and type checkers; at run time it is a plain dict."""

from typing import Any, Dict, List, TypedDict, Union

Quantity = Union[int, float, str]  # of CPU: cores, or "500m"; of memory: bytes, or "512Mi", "2G"
Duration = Union[int, str]  # seconds, or "90s", "1h30m", "1:30:00", "2d"


class _NamedRole(TypedDict):
    name: str


class Role(_NamedRole, total=False):
    """Processes of one kind: `replicas` of them (1), of which `min` are enough to start. Resources are those of one process."""

    replicas: int
    min: int
    cpu: Union[int, float, str, None]
    memory: Union[int, str, None]
    gpus: int
    env: Dict[str, str]
    command: Union[str, List[str], None]
    flavour: str
    resources: Dict[str, Any]


class _NamedMount(TypedDict):
    fs: str
    path: str


class Mount(_NamedMount, total=False):
    """The directory `sub` of the file system `fs`, at `path` in the job: absolute, or relative to the working directory."""

    sub: str
    read_only: bool


class _Command(TypedDict):
    command: Union[str, List[str]]


class Spec(_Command, total=False):
    """What Client.submit takes. Only `command` is needed: a list of words, or one text for `sh -c`."""

    name: str
    framework: str
    roles: List[Role]
    env: Dict[str, str]
    image: str
    package: str
    package_name: str
    requirements: str
    setup: str
    setup_files: str
    input: str
    output: str
    retries: int
    backoff: Duration
    time_limit: Duration
    grace: Duration
    on_lost: str
    use_gpu: bool
    ready: str
    network: str
    secrets: Dict[str, str]
    secret_files: Dict[str, str]
    mounts: List[Mount]
    queue: str
    priority: Union[int, str]
    labels: Dict[str, str]
    annotations: Dict[str, str]
    node_labels: Dict[str, str]
    topology: str
    topology_required: bool
    array: str
    sweep: Dict[str, List[Any]]
    start_timeout: Duration
    tty: bool
    detach: bool
    hangup_after: Duration
    after: List[str]
    begin: str
    signal: str
    preemptable: bool
    on_preempt: str
