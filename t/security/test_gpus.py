"""A member opens the GPUs that it was given and no others. The server runs where /dev has device files of NVIDIA's numbers
(gpus.py): without a driver the kernel answers ENXIO to who may open one, and EPERM to who may not."""

import os

import pytest
from conftest import Server, wait_for
from gpus import with_gpus
from people import Person

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices and cgroups")

LOOK = """python3 - <<'END'
import errno, os
def look(name):
    try:
        os.close(os.open("/dev/" + name, os.O_RDWR))
    except OSError as error:
        return errno.errorcode[error.errno]
print(os.environ.get("CUDA_VISIBLE_DEVICES"), *map(look, ["nvidia0", "nvidia1", "nvidia4", "nvidia5", "nvidiactl", "zero"]))
END
"""
MAY, MAY_NOT = "ENXIO", "EPERM"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    program = with_gpus(tmp_path_factory.mktemp("program"))
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "64", program=program).start()
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


def spec(script, gpus, members=1, **more):
    role = {"name": "worker", "replicas": members, "command": ["sh", "-c", script], "gpus": gpus}
    return {"roles": [role], **more}


def run(served, ask, *args, **about):
    """The member's log of a job that succeeds."""
    job = served.wait(ask(spec(*args, **about)).json["id"])
    assert job["state"] == "succeeded", job["reason"]
    return served.member_log(job["id"])


def seen(text):
    """What CUDA_VISIBLE_DEVICES says, for each GPU whether it may be opened, and the answer of the device of all."""
    [line] = [line for line in text.splitlines() if line.endswith(" None")]
    cuda, *gpus, control, _ = line.split()
    assert control == MAY and set(gpus) <= {MAY, MAY_NOT}, line
    return cuda, [answer == MAY for answer in gpus]


def test_who_asked_for_none_opens_none(ann):
    assert seen(ann.run(LOOK)) == ("None", [False] * 4)


def test_each_opens_its_own(served, ann):
    """Both run at one time; each counts what it can open from 0, as CUDA does."""
    jobs = [ann.ask(spec(LOOK + "sleep 600", 2)).json["id"] for _ in range(2)]
    wait_for(lambda: all(" None" in served.member_log(job) for job in jobs), what="both jobs to have looked")
    (cuda, first), (other_cuda, second) = (seen(served.member_log(job)) for job in jobs)
    served.cancel(jobs)
    assert cuda == other_cuda == "0,1"
    assert sum(first) == sum(second) == 2 and [a != b for a, b in zip(first, second)] == [True] * 4


def test_members_of_one_job_have_theirs(served, ann):
    job = served.wait(ann.ask(spec(LOOK, 1, members=2)).json["id"])
    assert job["state"] == "succeeded", job["reason"]
    (cuda, first), (other_cuda, second) = (seen(served.member_log(job["id"], f"worker-{i}")) for i in range(2))
    assert cuda == other_cuda == "0" and sum(first) == sum(second) == 1


def test_all_of_them_after_others(served, ann):
    """The groups of the members before are used again."""
    assert seen(run(served, ann.ask, LOOK, 4)) == ("0,1,2,3", [True] * 4)
    assert seen(ann.run(LOOK)) == ("None", [False] * 4)


def test_a_users_own_choice_stays(served, ann):
    assert seen(run(served, ann.ask, LOOK, 2, env={"CUDA_VISIBLE_DEVICES": "1"}))[0] == "1"


def test_members_of_the_servers_own_as_well(served):
    assert sum(seen(run(served, lambda job: served.post("/v1/jobs", job), LOOK, 1))[1]) == 1


def test_a_command_beside_a_member_opens_no_more(served, ann):
    job = ann.ask(spec("sleep 600", 1)).json["id"]
    served.wait(job, "running")
    done = ann.paddle("exec", job, "--", "sh", "-c", LOOK)
    served.cancel([job])
    assert done.returncode == 0, done.stderr
    assert sum(seen(done.stdout)[1]) == 1
