"""`paddle.dist.train(...)`: submits the program it stands in when that is run by hand, trains when the platform runs it."""

import sys
from typing import Any, Callable, Dict, List, Optional, TypeVar, Union

from .client import Client, Job
from .job import PaddleJob, dist_train, on_platform

Result = TypeVar("Result")


def train(
    trainer: Optional[Callable[[], Result]] = None,
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
    k8s_user: Optional[str] = None,
    k8s_pssword: Optional[str] = None,
    k8s_password: Optional[str] = None,
    client: Optional[Client] = None,
) -> Union[Result, Job, None]:
    """Run by hand: packs the program's directory, submits it, and returns the Job; without `trainer` the program then ends with
    status 0, because what follows the call is the training itself. Run by the platform: calls `trainer` and returns its result, or
    returns None so that the program goes on.

    `trainers` (1..10000) and `pservers` (0..10000) count processes: with parameter servers the job is a paddle-ps job, with several trainers
    alone a collective one. `input` and `output` are paths in the storage; members find them in PADDLE_INPUT and PADDLE_OUTPUT. `entry_point`
    (a text for the shell) and `package_path` (a directory) replace the running program and its directory; `retries` are further attempts after
    a failed one. `queue`, `priority`, `labels`, `array` ("0-99%10"), `after` (["ok:ID"]) and `min_trainers` (start with so many, grow when
    there is room) say how it shares the room with others.
    `secrets` maps variables, `secret_files` files in $PADDLE_SECRETS_DIR to secrets of the user (`Client.secret_set`).
    `network` "none" leaves its processes loopback alone. `base_image` is recorded; the local runtime does not use it. `use_gpu` needs
    `trainer_gpu_num`, GPUs of one trainer. `k8s_user` and `k8s_pssword` (also `k8s_password`) are taken for older programs; a server that
    knows its callers by token or by Unix user does not need them.

    Raises errors.ApiError when the server refuses, errors.ServerNotReached when there is none, ValueError for contradictory arguments
    and for what a package cannot hold.
    """
    if trainer is None and on_platform():
        return None
    job = PaddleJob(
        job_name=job_name,
        trainers=trainers,
        pservers=pservers,
        input=input,
        output=output,
        base_image=base_image,
        use_gpu=use_gpu,
        trainer_gpu=trainer_gpu_num,
        entry_point=entry_point,
        trainer_package=package_path,
        env=env or {},
        retries=retries,
        queue=queue,
        priority=priority,
        labels=labels or {},
        array=array,
        after=after or [],
        min_trainers=min_trainers,
        network=network,
        secrets=secrets or {},
        secret_files=secret_files or {},
    )
    result = dist_train(trainer or _nothing, job, client)
    if trainer is None:
        sys.exit(0)
    return result


def _nothing() -> Any:
    """The trainer of a program whose training follows the call."""
