"""A job described in Python, and its submission from inside the program that it runs (`paddle.job.dist_train`)."""

import dataclasses
import os
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, TypeVar, Union

from .client import Client, Job

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__))
Result = TypeVar("Result")
Quantity = Union[int, float, str]


def on_platform() -> bool:
    """Whether this process is a member of a job (RUNNING_ON_CLOUD is set to anything but NO)."""
    return os.environ.get("RUNNING_ON_CLOUD", "NO") != "NO"


@dataclasses.dataclass
class PaddleJob:
    """What to run, and for how many processes. What is None is left to the platform.

    `trainers` is 1..10000 and `pservers` 0..10000: with parameter servers the job is a paddle-ps job, with several trainers alone a
    collective one, else a plain one. `entry_point` is a text for the shell, run in a copy of the directory `trainer_package`; by default
    they are the running program and its directory. CPU is a number of cores or a quantity ("500m"), memory a quantity ("512Mi", "2G"),
    both for one process; `trainer_gpu` counts GPUs of one trainer. `input` and `output` are paths in the storage, which members find in
    PADDLE_INPUT and PADDLE_OUTPUT. `retries` are further attempts after a failed one.

    `queue`, `priority` (-1000..1000 or a word such as "high"), `labels`, `array` ("0-99%10"), `after` (["ok:ID", ...]) are as in
    doc/rest.md. With `min_trainers` the job starts with so many and grows to `trainers` when there is room.
    """

    job_name: Optional[str] = None
    trainers: int = 1
    pservers: int = 0
    entry_point: Optional[str] = None
    trainer_package: Optional[str] = None
    input: Optional[str] = None
    output: Optional[str] = None
    base_image: Optional[str] = None
    image: Optional[str] = None
    runtime_image: Optional[str] = None
    use_gpu: Optional[bool] = None
    trainer_gpu: int = 0
    trainer_cpu: Optional[Quantity] = None
    trainer_mem: Optional[Quantity] = None
    pserver_cpu: Optional[Quantity] = None
    pserver_mem: Optional[Quantity] = None
    env: Dict[str, Any] = dataclasses.field(default_factory=dict)
    retries: int = 0
    queue: Optional[str] = None
    priority: Union[int, str, None] = None
    labels: Dict[str, str] = dataclasses.field(default_factory=dict)
    array: Optional[str] = None
    after: List[str] = dataclasses.field(default_factory=list)
    min_trainers: Optional[int] = None
    network: Optional[str] = None
    secrets: Dict[str, str] = dataclasses.field(default_factory=dict)
    secret_files: Dict[str, str] = dataclasses.field(default_factory=dict)

    def spec(
        self, command: Union[str, List[str]], package_hash: Optional[str] = None, package_name: Optional[str] = None
    ) -> Dict[str, Any]:
        """The specification of POST /v1/jobs (doc/rest.md). Raises ValueError when `use_gpu` and `trainer_gpu` contradict each other."""
        if self.use_gpu is not None and self.use_gpu != (self.trainer_gpu > 0):
            raise ValueError(
                "use_gpu needs trainer_gpu (in dist.train: trainer_gpu_num) of at least 1"
                if self.use_gpu
                else f"trainer_gpu is {self.trainer_gpu}, but use_gpu is False"
            )
        plain = self.pservers == 0 and self.trainers == 1
        roles = [
            _role("worker" if plain else "trainer", self.trainers, self.trainer_cpu, self.trainer_mem, self.trainer_gpu)
        ]
        if self.min_trainers is not None:
            roles[0]["min"] = self.min_trainers
        if self.pservers:
            roles.insert(0, _role("pserver", self.pservers, self.pserver_cpu, self.pserver_mem, 0))
        spec = {
            "name": self.job_name,
            "framework": "paddle-ps" if self.pservers else "plain" if plain else "paddle-collective",
            "command": command,
            "roles": roles,
            "env": {name: str(value) for name, value in self.env.items()},
            "image": self.base_image or self.image or self.runtime_image,
            "input": self.input,
            "output": self.output,
            "package": package_hash,
            "package_name": package_name,
            "use_gpu": self.trainer_gpu > 0,
            "retries": self.retries,
            "queue": self.queue,
            "priority": self.priority,
            "labels": self.labels or None,
            "array": self.array,
            "after": self.after or None,
            "network": self.network,
            "secrets": self.secrets or None,
            "secret_files": self.secret_files or None,
        }
        return {name: value for name, value in spec.items() if value is not None}


def _role(name: str, replicas: int, cpu: Optional[Quantity], memory: Optional[Quantity], gpus: int) -> Dict[str, Any]:
    role: Dict[str, Any] = {"name": name, "replicas": replicas, "gpus": gpus}
    if cpu is not None:
        role["cpu"] = str(cpu)
    if memory is not None:
        role["memory"] = _memory(str(memory))
    return role


def _memory(text: str) -> str:
    """The older programs' K is a quantity's k."""
    return text[:-1] + "k" if text.endswith("K") else text


class Program(NamedTuple):
    """A program on this machine: the directory that is sent, and how a process is started in it."""

    directory: str
    command: Union[str, List[str]]


def find_program(paddle_job: PaddleJob) -> Program:
    """What the job runs: its `trainer_package` and `entry_point`; what is missing is told from the running program.

    Raises ValueError when there is no program file, as in an interactive session, or when it is not in the package.
    """
    main = sys.modules.get("__main__")
    module = getattr(getattr(main, "__spec__", None), "name", None)  # set for `python -m NAME`
    file = getattr(main, "__file__", None)
    if paddle_job.entry_point is not None:
        here = os.getcwd() if file is None else os.path.dirname(os.path.abspath(file))
        return Program(os.path.abspath(paddle_job.trainer_package or here), paddle_job.entry_point)
    if file is None or not os.path.isfile(file):  # a session, `python -c`, or a program on standard input ("<stdin>")
        raise ValueError("there is no program file to submit; put the program into a file, or give entry_point")
    file = os.path.abspath(file)
    if module:
        name = module[: -len(".__main__")] if module.endswith(".__main__") else module
        return Program(
            os.path.abspath(paddle_job.trainer_package or os.getcwd()), ["python", "-m", name, *sys.argv[1:]]
        )
    directory = os.path.abspath(paddle_job.trainer_package or os.path.dirname(file))
    inside = os.path.relpath(file, directory)
    if inside.startswith(os.pardir + os.sep):
        raise ValueError(f"the program '{file}' is not in the package '{directory}'; give entry_point")
    return Program(directory, ["python", inside, *sys.argv[1:]])


def submit(paddle_job: PaddleJob, client: Optional[Client] = None) -> Job:
    """Packs and submits the running program (or `trainer_package` with `entry_point`); returns the job.

    This package travels with it, unless the program's directory has a `paddlecloud` of its own. Raises errors.PaddleError, and
    ValueError for contradictory arguments or what a package cannot hold.
    """
    program = find_program(paddle_job)
    paddle_job.spec(program.command)  # refuses before anything is sent
    server = client or Client()
    try:
        package = server.send_package(program.directory, extra=_own_files())
        return server.submit(paddle_job.spec(program.command, package, os.path.basename(program.directory)))
    finally:
        if client is None:
            server.close()


def _own_files() -> Dict[str, str]:
    """This package's own files, so that the program finds it where it runs."""
    names = (name for name in os.listdir(_PACKAGE_DIR) if name.endswith((".py", ".typed")))
    return {f"paddlecloud/{name}": os.path.join(_PACKAGE_DIR, name) for name in names}


def dist_train(
    trainer: Callable[[], Result], paddle_job: PaddleJob, client: Optional[Client] = None
) -> Union[Result, Job]:
    """Run by the platform: calls `trainer` and returns what it returns. Run by hand: submits this program and returns the Job.

    Parameter servers run the same program, so `trainer` is called in them, too; TRAINING_ROLE tells which (PSERVER or TRAINER).
    """
    if on_platform():
        return trainer()
    job = submit(paddle_job, client)
    print(f"submitted {job.name} ({job.id}); follow it with: paddle logs -f {job.name}", file=sys.stderr)
    return job
