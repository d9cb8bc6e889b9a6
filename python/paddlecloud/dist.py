"""`dist.train(...)`: submits the program it stands in when that is run by hand, trains when the platform runs it."""

import sys
from typing import Any, Callable, Dict, List, Optional, Union, cast

from . import job as jobs
from .client import Client, DryRun, Job
from .spec import Mount, Quantity

_OTHERWISE = {"trainer_gpu_num": "trainer_gpu", "package_path": "trainer_package"}  # what PaddleJob calls a keyword


def train(
    trainer: Optional[Callable[[], object]] = None,
    *,
    job_name: Optional[str] = None,
    trainers: int = 1,
    pservers: int = 0,
    input: Optional[str] = None,
    output: Optional[str] = None,
    base_image: Optional[str] = None,
    use_gpu: Optional[bool] = None,
    trainer_gpu_num: int = 0,
    entry_point: Optional[str] = None,
    package_path: Optional[str] = None,
    env: Optional[Dict[str, Any]] = None,
    retries: int = 0,
    queue: Optional[str] = None,
    priority: Union[int, str, None] = None,
    labels: Optional[Dict[str, str]] = None,
    array: Optional[str] = None,
    after: Optional[List[str]] = None,
    min_trainers: Optional[int] = None,
    network: Optional[str] = None,
    secrets: Optional[Dict[str, str]] = None,
    secret_files: Optional[Dict[str, str]] = None,
    mounts: Optional[List[Mount]] = None,
    k8s_user: Optional[str] = None,
    k8s_pssword: Optional[str] = None,
    k8s_password: Optional[str] = None,
    client: Optional[Client] = None,
    framework: Optional[str] = None,
    cpu: Optional[Quantity] = None,
    memory: Optional[Quantity] = None,
    gpus: Optional[int] = None,
    time_limit: jobs.TimeLimit = None,
    cluster: Optional[str] = None,
    sweep: Optional[Dict[str, List[Any]]] = None,
    start_timeout: jobs.TimeLimit = None,
    setup: Optional[str] = None,
    follow: bool = False,
) -> Job:
    """Run by hand: packs the program's directory, submits it, and returns the Job. Run by the platform: calls `trainer` and ends the
    process with status 0, so that what follows the call is the submitter's alone; a result other than None is returned instead.

    Without `trainer` what follows the call is the training itself: by hand the program ends with status 0 after the submission, on the
    platform the call returns None. In a notebook `trainer` is a function of a cell, which is sent with the functions, classes, modules and
    constants that it names.

    `trainers` (1..10000) and `pservers` (0..10000) count processes: with parameter servers the job is a paddle-ps job, with several trainers
    alone a collective one, unless `framework` names another ("pytorch", "mpi", ...). `cpu` (cores, or "500m") and `memory` ("4Gi") are what
    each process gets, `gpus` (also `trainer_gpu_num`, which `use_gpu` must agree with) what each trainer gets. `time_limit` is seconds, text
    ("2h") or a timedelta. `follow` prints the job's lines until it is finished; without `trainer` the program then ends with status 1 when
    the job has not succeeded.

    `input` and `output` are paths in the storage; members find them in PADDLE_INPUT and PADDLE_OUTPUT. `entry_point` (a text for the shell)
    and `package_path` (a directory) replace the running program and its directory; `retries` are further attempts after a failed one.
    `queue` or `cluster`, `priority`, `labels`, `array` ("0-99%10"), `after` (["ok:ID"]) and `min_trainers` (start with so many, grow when
    there is room) say how it shares the machines with others. `sweep` ({"lr": [0.1, 0.01]}) makes one job of each combination of values;
    `start_timeout` is how long a start may make no progress. `setup` (a text for the shell, such as "make -C ops") runs once in a copy of
    the directory before the job: its files are there for all processes, and it runs again when it or a file that it names has changed.
    `secrets` maps variables, `secret_files` files in $PADDLE_SECRETS_DIR to secrets of the user (`Client.secret_set`). `mounts` shows
    directories of file systems: [{"fs": "home", "sub": "digits", "path": "/data", "read_only": True}]. `network` "none"
    leaves its processes loopback alone. `base_image` is recorded; the local runtime does not use it. `k8s_user` and `k8s_pssword` (also
    `k8s_password`) are taken for older programs; a server that knows its callers by token or by Unix user does not need them.

    Raises errors.ApiError when the server refuses, errors.ServerNotReached when there is none, ValueError for contradictory arguments
    and for what a package cannot hold or a function cannot take with it.
    """
    if trainer is not None and not callable(trainer):
        raise TypeError(
            f"trainer is the function to run, not {trainer!r}; the number of processes is trainers={trainer!r}"
        )
    given = {name: value for name, value in locals().items() if name not in ("trainer", "client", "follow")}
    if jobs.on_platform():
        return cast(Job, _train_here(trainer))
    job = jobs.submit_and_say(_describe(given), client, trainer)
    if follow:
        job.follow()
    if trainer is None:
        sys.exit(1 if follow and job.state != "succeeded" else 0)
    return job


def dry_run(
    trainer: Optional[Callable[[], object]] = None, *, client: Optional[Client] = None, **keywords: Any
) -> DryRun:
    """What train() with the same keywords would lead to: whether the job would start, where, when, and who would have to go for it. Nothing
    is sent but the description. Raises what train() raises, and TypeError for a keyword that train() does not have."""
    return jobs.dry_run(_describe(keywords), client, trainer)


def _train_here(trainer: Optional[Callable[[], object]]) -> object:
    if trainer is None:
        return None
    result = trainer()
    if result is None:
        sys.exit(0)
    return result


def _describe(given: Dict[str, Any]) -> jobs.PaddleJob:
    """The description that the keywords of train() give."""
    said = {
        _OTHERWISE.get(name, name): value
        for name, value in given.items()
        if value is not None and not name.startswith("k8s_")
    }
    gpus = said.pop("gpus", None)
    if gpus is not None:
        if said.get("trainer_gpu", gpus) not in (0, gpus):
            raise ValueError(f"gpus is {gpus}, but trainer_gpu_num is {said['trainer_gpu']}: they mean the same")
        said["trainer_gpu"] = gpus
    return jobs.PaddleJob(**said)
