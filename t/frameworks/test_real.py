"""Real TensorFlow, PyTorch, PaddlePaddle 3, Spark and Open MPI on real data, each in several members, from the examples as an ordinary
user submits them: members run as that user, in the sandbox that is on by default.

`make test-frameworks` installs what they need and runs this; the first run downloads a gigabyte."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal

import people
import pytest
from conftest import ROOT, Server, wait_for

EXAMPLES = ROOT / "examples"
DIGITS, TRAIN = 1797, 1437  # of scikit-learn's digits, and those that are not kept for the test
BAR = 0.93  # a linear model reaches 0.95, a guess 0.1
TIMEOUT = 1500  # the first environment is a long download
COPIES = """
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
total = np.empty(1 << 20)
world.Allreduce(np.full(1 << 20, world.rank + 1.0), total)
print(f"rank {world.rank} of {world.size}: {int(total.sum())}", flush=True)
"""
PYTHON = "/usr/bin/python3"  # whose PyTorch is Debian's: PyPI's brings CUDA
LAUNCHED = [
    PYTHON,
    "-m",
    "torch.distributed.run",
    "--redirects",
    "1",
    "--tee",
    "1",
    "train.py",
]  # 1.13 fails without on Python 3.11
ann, uid, witness = people.ann, people.uid, people.witness  # fixtures


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One state directory for the module, so that each environment is built once."""
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "16").start()
    yield server
    server.destroy()


@pytest.fixture
def submit(ann, witness):
    """Submits as ann, with the witness beside each Python program, follows to the end, and returns the job's id."""

    def run(example, name, *options):
        words = ("submit", "--name", name, "--follow", *witness.options, *options)
        ann.paddle(*words, cwd=EXAMPLES / example, check=0, timeout=TIMEOUT)
        return ann.id_of(name)

    return run


def members(server, job):
    return {member["name"]: member for member in server.get(f"/v1/jobs/{job}/members").json["items"]}


def ran(server, job):
    """For how many seconds all its members were up."""
    return server.job(job)["stages"]["running_ms"] / 1000


def accuracy(text):
    (found,) = re.findall(r"final test accuracy ([\d.]+)", text)
    assert float(found) >= BAR
    return float(found)


def test_tensorflow_workers_mirror_one_model(server, submit, witness, uid):
    job = submit("digits_tensorflow", "mirrored", "--framework", "tensorflow", "-n", 2, "--", "python", "train.py")
    assert set(members(server, job)) == {"worker-0", "worker-1"}
    logs = [server.member_log(job, f"worker-{index}") for index in (0, 1)]
    for index, log in enumerate(logs):
        assert f"worker {index} of 2: {TRAIN // 2} digits" in log
    reached = [accuracy(log) for log in logs]
    weights = [re.findall(r"weights ([-\d.]+)", log) for log in logs]
    assert weights[0] == weights[1] != [], "the workers do not have the same model"
    assert reached[0] == reached[1]
    witness.saw("mirrored", ["worker-0", "worker-1"], uid)
    print(f"\ntensorflow: MultiWorkerMirroredStrategy, 2 workers, test accuracy {reached[0]:.4f} (bar {BAR})")


def test_tensorflow_chief_coordinates(server, submit, witness, uid, tmp_path):
    """ParameterServerStrategy: neither servers nor workers ever exit by themselves, the job ends with its chief."""
    spec = {
        "framework": "tensorflow",
        "command": "python coordinate.py",
        "roles": [{"name": "ps", "replicas": 2}, {"name": "chief"}, {"name": "worker", "replicas": 2}],
    }
    (tmp_path / "job.yaml").write_text(json.dumps(spec))
    job = submit("digits_tensorflow", "coordinated", "-f", tmp_path / "job.yaml")
    found = members(server, job)
    assert set(found) == {"master-0", "pserver-0", "pserver-1", "worker-0", "worker-1"}
    for name in set(found) - {"master-0"}:
        assert "serves" in server.member_log(job, name) and found[name]["signal"] == signal.SIGTERM
    witness.saw("coordinated", ["chief-0", "ps-0", "ps-1", "worker-0", "worker-1"], uid)
    reached = accuracy(server.member_log(job, "master-0"))
    print(
        f"\ntensorflow: ParameterServerStrategy, 2 servers, 2 workers, a chief, test accuracy {reached:.4f} (bar {BAR})"
    )


@pytest.mark.parametrize(
    "how, command",
    [("python", [PYTHON, "train.py"]), ("torchrun", LAUNCHED)],
)
def test_pytorch_ranks_average_their_gradients(server, ann, submit, witness, uid, tmp_path, how, command):
    """DistributedDataParallel over gloo: by the program alone, and by PyTorch's own launcher in each member."""
    name = f"ddp-{how}"
    job = submit("digits_pytorch", name, "--framework", "pytorch", "-n", 4, "--output", name, "--", *command)
    names = [f"worker-{index}" for index in range(4)]
    assert set(members(server, job)) == set(names)
    logs = [server.member_log(job, member) for member in names]
    for index, log in enumerate(logs):
        local = index if how == "python" else 0  # a launcher starts its own first process
        assert f"rank {index} of 4 (local rank {local}): {TRAIN // 4} digits" in log
    reached = {accuracy(log) for log in logs}
    assert len(reached) == 1 and len({tuple(re.findall(r"weights ([-\d.]+)", log)) for log in logs}) == 1
    witness.saw(name, names, uid)
    ann.paddle("download", name, tmp_path / "model", check=0)
    assert (tmp_path / "model/model.pt").stat().st_size > 0
    print(
        f"\npytorch ({how}): 4 ranks, test accuracy {reached.pop():.4f} (bar {BAR}), running {ran(server, job):.1f} s"
    )


def test_paddlepaddle_3_trains_together(server, ann, witness, uid, tmp_path):
    """The collective example with the PaddlePaddle of today; t/test_paddle.py has 2.6.2."""
    shutil.copytree(EXAMPLES / "fit_a_line", tmp_path / "line", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLES / "fit_a_line/requirements-paddle3.txt", tmp_path / "line/requirements.txt")
    say = "import paddle; print('paddle', paddle.__version__)"
    ann.paddle(
        *("submit", "--name", "line3", "-n", 2, "--output", "line3", "-e", "NUM_PASS=10", *witness.options, "--follow"),
        *("--", "sh", "-c", f'python -c "{say}"; exec python train.py'),
        cwd=tmp_path / "line",
        check=0,
        timeout=TIMEOUT,
    )
    job = ann.id_of("line3")
    logs = [server.member_log(job, f"trainer-{index}") for index in (0, 1)]
    (version,) = re.findall(r"^paddle (3\.[\d.]+)", logs[0], re.M)
    finals = [re.findall(r"final test error ([\d.]+)", log) for log in logs]
    assert finals[0] == finals[1] != [], "the trainers do not have the same model"
    assert (
        "trainer 1 of 2: 202 districts" in logs[1] and float(finals[0][0]) < 6
    )  # the mean price as a guess is off by 9
    witness.saw("line3", ["trainer-0", "trainer-1"], uid)
    print(
        f"\npaddlepaddle {version}: 2 collective trainers, test error {finals[0][0]}, running {ran(server, job):.1f} s"
    )


@pytest.mark.parametrize(
    "how, options",
    [
        ("submit", ["--", "spark-submit", "train.py"]),
        ("python", ["-e", "TREES=20", "--", "python", "train.py"]),
        ("file", ["-e", "TREES=20", "-e", "PF_JOB_SPARK_MAIN_FILE=train.py"]),
    ],
)
def test_spark_executors_share_the_work(server, submit, witness, uid, how, options):
    assert shutil.which("java"), "Spark needs Java"
    name = f"forest-{how}"
    job = submit("digits_spark", name, "--framework", "spark", "-n", 2, "--memory", "2Gi", *options)
    assert set(members(server, job)) == {"driver-0", "executor-0", "executor-1"}
    log = server.member_log(job, "driver-0")
    shares = {host: int(count) for host, count in re.findall(r"(executor-\d): (\d+) digits", log)}
    assert set(shares) == {"executor-0", "executor-1"} and min(shares.values()) > 0
    assert sum(shares.values()) == DIGITS
    witness.saw(name, ["driver-0", "executor-0", "executor-1"], uid)
    print(
        f"\nspark ({how}): a driver and {len(shares)} executors {shares}, test accuracy {accuracy(log):.4f} (bar {BAR})"
    )


def test_mpi_ranks_add_their_gradients(server, submit, witness, uid):
    job = submit("digits_mpi", "ranks", "--framework", "mpi", "-n", 4, "--", "mpirun", "python", "train.py")
    found = members(server, job)
    assert set(found) == {"master-0", *(f"worker-{index}" for index in range(4))}
    log = server.member_log(job, "master-0")
    ranks = re.findall(r"rank (\d) of 4 on (worker-\d): (\d+) digits", log)
    assert sorted(rank for rank, _, _ in ranks) == ["0", "1", "2", "3"]
    assert len({host for _, host, _ in ranks}) == 4 and sum(int(count) for _, _, count in ranks) == TRAIN
    assert f"{TRAIN} of {TRAIN} digits seen; all ranks have the same weights: True" in log
    witness.saw("ranks", [f"worker-{index}" for index in range(4)], uid)
    print(f"\nmpi: {len(ranks)} ranks in {len(ranks)} workers, test accuracy {accuracy(log):.4f} (bar {BAR})")


def test_mpi_ranks_of_one_member_share_memory(server, submit):
    """A member's own mpirun passes data as Open MPI does by itself: segments in memory, and copies out of another's
    (process_vm_readv)."""
    options = ["-e", "OMPI_MCA_hwloc_base_binding_policy=none", "-e", "NUM_PASS=20"]
    mpirun = "mpirun -n 3 --oversubscribe --mca btl self,vader --mca btl_vader_single_copy_mechanism cma"
    job = submit(
        "digits_mpi", "memory", "--framework", "plain", *options, "--", *mpirun.split(), "python", "-c", COPIES
    )
    log = server.member_log(job, "worker-0")
    assert sorted(re.findall(r"rank (\d) of 3: (\d+)", log)) == [(str(rank), str(6 << 20)) for rank in range(3)]
    assert "vader" not in log and "CMA" not in log, log  # what it says where it has to do without
    print("\nmpi: 3 ranks in one member, by shared memory and copies out of each other's")


def test_mpi_runs_follow_each_other_closely(server, ann):
    """The daemons of one run are still cleaning up when those of the next start: they must not meet."""
    rank = "echo $run"
    if os.geteuid() == 0:  # else members are the server's, without a sandbox
        rank = 'grep -q "^Seccomp:.2$" /proc/self/status && ' + rank
    ann.paddle(
        *("submit", "--name", "closely", "--framework", "mpi", "-n", 4, "--follow", "--", "sh", "-c"),
        f"for run in $(seq 60); do export run; timeout 30 mpirun -x run sh -c '{rank}' || exit 1; done",
        cwd=EXAMPLES / "digits_mpi",
        check=0,
        timeout=200,
    )
    said = server.member_log(ann.id_of("closely"), "master-0").split()
    assert [said.count(str(run)) for run in range(1, 61)] == [4] * 60


def ranks_of(job):
    """{worker: pid} of the Python programs that mpirun started for this job."""
    mark, found = f"PADDLE_JOB_ID={job['id']}".encode(), {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            variables = dict(pair.partition(b"=")[::2] for pair in file.read().split(b"\0"))
            if (
                mark == b"PADDLE_JOB_ID=" + variables.get(b"PADDLE_JOB_ID", b"")
                and b"OMPI_COMM_WORLD_RANK" in variables
            ):
                found[variables[b"PADDLE_MPI_HOST"].decode()] = int(pid)
    return found


def status(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())


def test_mpi_job_fails_with_a_rank(server, ann, uid):
    ann.paddle(
        *("submit", "--name", "killed", "--framework", "mpi", "-n", 4, "-e", "NUM_PASS=100000000"),
        *("--", "mpirun", "python", "train.py"),
        cwd=EXAMPLES / "digits_mpi",
        check=0,
    )
    job = server.job(ann.id_of("killed"))
    wait_for(lambda: "rank 2 of 4" in server.member_log(job["id"], "master-0"), 300, "rank 2")
    pids = ranks_of(job)
    assert set(pids) == {f"worker-{index}" for index in range(4)}
    for rows in map(status, pids.values() if os.geteuid() == 0 else ()):  # as the machine sees them
        assert rows["Uid"].split() == [str(uid)] * 4 and rows["Seccomp"] == "2" and rows["CapBnd"] == "0" * 16
    os.kill(pids["worker-2"], signal.SIGKILL)
    job = server.wait(job["id"])
    assert job["state"] == "failed" and "master-0 exited with status" in job["reason"]
    assert not ranks_of(job), "ranks were left behind"
