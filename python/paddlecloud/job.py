"""A job described in Python, and its submission from inside the program that it runs (`job.dist_train`)."""

import contextlib
import dataclasses
import datetime
import math
import os
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, TypeVar, Union, cast

from . import notebook, package
from .client import Client, DryRun, Job
from .spec import Mount, Quantity, Role, Spec

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__))
_WORKERS = {"plain": "worker", "tensorflow": "worker", "pytorch": "worker", "mpi": "worker", "spark": "executor"}
Result = TypeVar("Result")
TimeLimit = Union[str, int, datetime.timedelta, None]


def on_platform() -> bool:
    """Whether this process is a member of a job (RUNNING_ON_CLOUD is set to anything but NO)."""
    return os.environ.get("RUNNING_ON_CLOUD", "NO") != "NO"


@dataclasses.dataclass
class PaddleJob:
    """What to run, and for how many processes. What is None is left to the platform.

    `trainers` is 1..10000 and `pservers` 0..10000. `framework` is a row of doc/guide/frameworks.md ("pytorch", "mpi", ...), whose workers or
    executors `trainers` counts; without it the job is a paddle-ps job with parameter servers, a collective one with several trainers
    alone, else a plain one. `entry_point` is a text for the shell, run in a copy of the directory `trainer_package`; by default they are the
    running program and its directory. CPU is a number of cores or a quantity ("500m"), memory a quantity ("512Mi", "2G"), both for one
    process: `cpu` and `memory` of any, the others of one kind. `trainer_gpu` counts GPUs of one trainer. `input` and `output` are paths in
    the storage, which members find in PADDLE_INPUT and PADDLE_OUTPUT. `retries` are further attempts after a failed one.

    `queue`, `priority` (-1000..1000 or a word such as "high"), `labels`, `array` ("0-99%10"), `after` (["ok:ID", ...]) are as in
    doc/guide/rest.md; `cluster` is short for the queue of that cluster. `sweep` ({"lr": [0.1, 0.01], "depth": [2, 3]}) makes one job of each
    combination, with the values in its environment. `time_limit` of its running is seconds, text ("2h") or a timedelta, and so is
    `start_timeout` (10 minutes), after which a start without progress fails. `setup` is a text
    for the shell ("make -C ops"), run once in a copy of the directory before the job; the files that it makes are there for all processes,
    and it runs again when it or a file that it names has changed. With
    `min_trainers` the job starts with so many and grows to `trainers` when there is room.
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
    cpu: Optional[Quantity] = None
    memory: Optional[Quantity] = None
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
    mounts: List[Mount] = dataclasses.field(default_factory=list)
    framework: Optional[str] = None
    time_limit: TimeLimit = None
    cluster: Optional[str] = None
    sweep: Dict[str, List[Any]] = dataclasses.field(default_factory=dict)
    start_timeout: TimeLimit = None
    setup: Optional[str] = None

    def _framework(self) -> str:
        if self.framework is not None:
            return self.framework
        return "paddle-ps" if self.pservers else "plain" if self.trainers == 1 else "paddle-collective"

    def _roles(self) -> List[Role]:
        cpu, memory = self.trainer_cpu, self.trainer_mem
        name = _WORKERS.get(self._framework(), "trainer")
        roles = [_role(name, self.trainers, self._or(cpu, self.cpu), self._or(memory, self.memory), self.trainer_gpu)]
        if self.min_trainers is not None:
            roles[0]["min"] = self.min_trainers
        if self.pservers:
            cpu, memory = self._or(self.pserver_cpu, self.cpu), self._or(self.pserver_mem, self.memory)
            roles.insert(0, _role("pserver", self.pservers, cpu, memory, 0))
        return roles

    @staticmethod
    def _or(first: Optional[Quantity], second: Optional[Quantity]) -> Optional[Quantity]:
        return second if first is None else first

    def spec(
        self, command: Union[str, List[str]], package_hash: Optional[str] = None, package_name: Optional[str] = None
    ) -> Spec:
        """The specification of POST /v1/jobs (doc/guide/rest.md). Raises ValueError when `use_gpu` and `trainer_gpu` contradict each other."""
        if self.use_gpu is not None and self.use_gpu != (self.trainer_gpu > 0):
            raise ValueError(
                "use_gpu needs trainer_gpu (in dist.train: trainer_gpu_num) of at least 1"
                if self.use_gpu
                else f"trainer_gpu is {self.trainer_gpu}, but use_gpu is False"
            )
        spec = {
            "name": self.job_name,
            "framework": self._framework(),
            "command": command,
            "roles": self._roles(),
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
            "mounts": self.mounts or None,
            "time_limit": _duration(self.time_limit),
            "sweep": {name: [str(value) for value in values] for name, values in self.sweep.items()} or None,
            "start_timeout": _duration(self.start_timeout),
            "setup": self.setup,
        }
        return cast(Spec, {name: value for name, value in spec.items() if value is not None})


def _duration(limit: TimeLimit) -> Union[str, int, None]:
    return f"{math.ceil(limit.total_seconds())}s" if isinstance(limit, datetime.timedelta) else limit


def _role(name: str, replicas: int, cpu: Optional[Quantity], memory: Optional[Quantity], gpus: int) -> Role:
    role: Role = {"name": name, "replicas": replicas, "gpus": gpus}
    if cpu is not None:
        role["cpu"] = str(cpu)
    if memory is not None:
        role["memory"] = _memory(str(memory))
    return role


def _memory(text: str) -> str:
    """The older programs' K is a quantity's k."""
    return text[:-1] + "k" if text.endswith("K") else text


class Program(NamedTuple):
    """A program on this machine: the directory that is sent (None: an empty one), how a process is started in it, and the texts of files that
    are sent beside what the directory has."""

    directory: Optional[str]
    command: Union[str, List[str]]
    files: Dict[str, str] = {}


def find_program(paddle_job: PaddleJob, trainer: Optional[Callable[[], object]] = None) -> Program:
    """What the job runs: its `trainer_package` and `entry_point`; what is missing is told from the running program. In a notebook, which has
    no program file, it is `trainer` with all that it names.

    Raises ValueError when there is neither a program file nor a function that can be sent, or the file is not in the package.
    """
    main = sys.modules.get("__main__")
    module = getattr(getattr(main, "__spec__", None), "name", None)  # set for `python -m NAME`
    file = getattr(main, "__file__", None)
    if paddle_job.entry_point is not None:
        here = os.getcwd() if file is None else os.path.dirname(os.path.abspath(file))
        return Program(os.path.abspath(paddle_job.trainer_package or here), paddle_job.entry_point)
    if file is None or not os.path.isfile(file):  # a session, `python -c`, or a program on standard input ("<stdin>")
        return _program_of_session(paddle_job, trainer)
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


def _program_of_session(paddle_job: PaddleJob, trainer: Optional[Callable[[], object]]) -> Program:
    if trainer is None:
        raise ValueError(
            "there is no program file to submit, and no function: in a notebook give one that a cell defines, as in train(main); else put "
            "the program into a file and run that, or give entry_point"
        )
    try:
        text = notebook.program_of(trainer)
    except ValueError as error:
        if hasattr(sys, "ps1") or "IPython" in sys.modules:
            raise
        raise ValueError(
            f"there is no program file to submit, as the program comes from standard input or -c, and {error}; put the program into a file "
            "and run `python FILE`, or give entry_point"
        ) from None
    directory: Optional[str] = os.path.abspath(paddle_job.trainer_package or os.getcwd())
    if paddle_job.trainer_package is None and package.is_too_wide(str(directory)):
        print(
            f"'{directory}' is not sent, only the function; give package_path to send a directory with it",
            file=sys.stderr,
        )
        directory = None
    name = f"{trainer.__name__}_from_session.py"
    while directory is not None and os.path.lexists(os.path.join(directory, name)):
        name = "_" + name
    return Program(directory, ["python", name], {name: text})


@contextlib.contextmanager
def _sources(program: Program) -> Iterator[Dict[str, str]]:
    """Where what is sent beside the directory's files can be read: {path in the package: path here}."""
    with tempfile.TemporaryDirectory() as scratch:
        places = _own_files()
        for name, text in program.files.items():
            places[name] = os.path.join(scratch, name)
            with open(places[name], "w", encoding="utf-8") as file:
                file.write(text)
        yield places


def _send(server: Client, program: Program) -> str:
    with _sources(program) as places, tempfile.TemporaryDirectory() as empty:
        return server.send_package(program.directory or empty, extra=places)


def submit(
    paddle_job: PaddleJob, client: Optional[Client] = None, trainer: Optional[Callable[[], object]] = None
) -> Job:
    """Packs and submits the running program (or `trainer_package` with `entry_point`; in a notebook the function `trainer`); returns the job.

    This package travels with it, unless the program's directory has a `paddlecloud` of its own. Raises errors.PaddleError, and
    ValueError for contradictory arguments or what a package cannot hold.
    """
    program = find_program(paddle_job, trainer)
    paddle_job.spec(program.command)  # refuses before anything is sent
    with _client(client) as server:
        placed = _placed(paddle_job, server)
        name = os.path.basename(program.directory) if program.directory else None
        return server.submit(placed.spec(program.command, _send(server, program), name))


def dry_run(
    paddle_job: PaddleJob, client: Optional[Client] = None, trainer: Optional[Callable[[], object]] = None
) -> DryRun:
    """What submit() would lead to; nothing is sent but the description."""
    program = find_program(paddle_job, trainer)
    with _client(client) as server:
        return server.dry_run(_placed(paddle_job, server).spec(program.command))


def _placed(paddle_job: PaddleJob, server: Client) -> PaddleJob:
    """The description with the queue of its cluster."""
    if paddle_job.cluster is None or paddle_job.queue is not None:
        return paddle_job
    return dataclasses.replace(paddle_job, queue=server.queue_of(paddle_job.cluster))


@contextlib.contextmanager
def _client(given: Optional[Client]) -> Iterator[Client]:
    """The client given, else one of its own, whose connection is closed afterwards; the job may open it again."""
    server = given or Client()
    try:
        yield server
    finally:
        if given is None:
            server.close()


def _own_files() -> Dict[str, str]:
    """This package's own files, so that the program finds it where it runs."""
    found: Dict[str, str] = {}
    for base, _, names in os.walk(_PACKAGE_DIR):
        for name in names:
            if name.endswith((".py", ".typed")):
                path = os.path.join(base, name)
                found[f"paddlecloud/{os.path.relpath(path, _PACKAGE_DIR)}"] = path
    return found


def dist_train(
    trainer: Callable[[], Result], paddle_job: PaddleJob, client: Optional[Client] = None
) -> Union[Result, Job]:
    """Run by the platform: calls `trainer` and returns what it returns. Run by hand: submits this program and returns the Job.

    Parameter servers run the same program, so `trainer` is called in them, too; TRAINING_ROLE tells which (PSERVER or TRAINER).
    """
    if on_platform():
        return trainer()
    return submit_and_say(paddle_job, client, trainer)


def submit_and_say(
    paddle_job: PaddleJob, client: Optional[Client] = None, trainer: Optional[Callable[[], object]] = None
) -> Job:
    """submit(), and a line on standard error that says how to follow the job."""
    job = submit(paddle_job, client, trainer)
    print(f"submitted {job.name} ({job.id}); follow it with: paddle logs -f {job.name}", file=sys.stderr)
    return job
