"""A job described in Python, and its submission from inside the program that it runs (the older form `paddle.job.dist_train`)."""

import dataclasses
import os
import shlex
import sys
from typing import Callable, Dict, Optional

from .client import Client, Job

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__))


def on_platform() -> bool:
    """Whether this process is a member of a job (RUNNING_ON_CLOUD is set to anything but NO)."""
    return os.environ.get("RUNNING_ON_CLOUD", "NO") != "NO"


@dataclasses.dataclass
class PaddleJob:
    """What to run. Memory is a quantity ("512Mi", "2Gi"), CPU cores a number or quantity ("500m"); None leaves it to the platform."""

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
    use_gpu: bool = False
    trainer_gpu: int = 0
    trainer_cpu: Optional[object] = None
    trainer_mem: Optional[str] = None
    pserver_cpu: Optional[object] = None
    pserver_mem: Optional[str] = None
    env: Dict[str, str] = dataclasses.field(default_factory=dict)
    retries: int = 0

    def spec(self, package_hash: Optional[str], package_name: Optional[str]) -> dict:
        """The specification of POST /v1/jobs."""
        if self.use_gpu and self.trainer_gpu < 1:
            raise ValueError("use_gpu needs trainer_gpu (in dist.train: trainer_gpu_num) of at least 1")
        plain = self.pservers == 0 and self.trainers == 1
        roles = [
            _role("worker" if plain else "trainer", self.trainers, self.trainer_cpu, self.trainer_mem, self.trainer_gpu)
        ]
        if self.pservers:
            roles.insert(0, _role("pserver", self.pservers, self.pserver_cpu, self.pserver_mem, 0))
        spec = {
            "name": self.job_name,
            "framework": "paddle-ps" if self.pservers else "plain" if plain else "paddle-collective",
            "command": self.entry_point,
            "roles": roles,
            "env": {name: str(value) for name, value in self.env.items()},
            "image": self.base_image or self.image or self.runtime_image,
            "input": self.input,
            "output": self.output,
            "package": package_hash,
            "package_name": package_name,
            "use_gpu": self.use_gpu,
            "retries": self.retries,
        }
        return {name: value for name, value in spec.items() if value is not None}


def _role(name, replicas, cpu, memory, gpus):
    role = {"name": name, "replicas": replicas, "gpus": gpus}
    if cpu is not None:
        role["cpu"] = str(cpu)
    if memory is not None:
        role["memory"] = str(memory)
    return role


def submit(paddle_job: PaddleJob, client: Optional[Client] = None) -> Job:
    """Packs and submits the running program (or `trainer_package` with `entry_point`); returns the job."""
    program = os.path.abspath(sys.argv[0])
    directory = os.path.abspath(paddle_job.trainer_package or os.path.dirname(program))
    if paddle_job.entry_point is None:
        inside = os.path.relpath(program, directory)
        if inside.startswith(".."):
            raise ValueError(f"the program '{program}' is not in the package '{directory}'; give entry_point")
        paddle_job = dataclasses.replace(paddle_job, entry_point=shlex.join(["python", inside, *sys.argv[1:]]))
    with client or Client() as server:
        return server.submit(
            paddle_job.spec(server.send_package(directory, extra=_own_files()), os.path.basename(directory))
        )


def _own_files():
    """This package's own files, so that the program finds it where it runs."""
    return {
        f"paddlecloud/{name}": os.path.join(_PACKAGE_DIR, name)
        for name in os.listdir(_PACKAGE_DIR)
        if name.endswith((".py", ".typed"))
    }


def dist_train(trainer: Callable[[], object], paddle_job: PaddleJob, client: Optional[Client] = None):
    """Run by the platform: calls `trainer` and returns what it returns. Run by hand: submits this program and returns the Job."""
    if on_platform():
        return trainer()
    job = submit(paddle_job, client)
    print(f"submitted {job.name} ({job.id}); follow it with: paddle logs -f {job.name}", file=sys.stderr)
    return job
