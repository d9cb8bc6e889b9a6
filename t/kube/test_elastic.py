"""Elastic jobs on a cluster: members leave when others need their room, and come back under their names."""

import pytest
from conftest import wait_for

from kube.images import BASE
from kube.test_forms import check_nothing_is_left
from kube.test_runtime import connect, pods, wait_usable

STAY = "trap 'echo left; exit 0' TERM; echo here; while :; do sleep 0.1; done"


def share(server, kube):
    """Four tenths of a core for two queues; the first may borrow what the second does not use of its own."""
    connect(server, kube)
    wait_usable(server)
    for name, more in (
        ("org", ("--min", "cpu=400m", "--max", "cpu=400m")),
        ("a", ("--parent", "org", "--min", "cpu=100m")),
        ("b", ("--parent", "org", "--min", "cpu=200m")),
    ):
        server.paddle("queue", "create", name, "--cluster", "prod", *more, check=0)


@pytest.fixture
def fake(server, kube_fake):
    share(server, kube_fake)
    return server, kube_fake


@pytest.fixture
def real(server, kube_node):
    share(server, kube_node)
    return server, kube_node


def submit(server, name, queue, **role):
    """A job whose members stay until they are told to go."""
    role = {"name": "worker", "cpu": "100m", "memory": "32Mi", **role}
    spec = {"name": name, "queue": queue, "image": BASE, "roles": [role], "grace": "10s"}
    reply = wait_for(
        lambda: (reply := server.post("/v1/jobs", {"command": ["sh", "-c", STAY], **spec})).status == 201 and reply,
        what="a node that can be used",
    )
    return reply.json["id"]


def uids(kube, job):
    """{name of a pod of the job: its uid}, of those that nobody has told to go."""
    return {
        pod["metadata"]["name"]: pod["metadata"]["uid"]
        for pod in pods(kube)
        if pod["metadata"]["labels"]["paddle-job-id"] == job and "deletionTimestamp" not in pod["metadata"]
    }


def wide_job(server, kube):
    """An elastic job that has all its members; {name: uid} of their pods."""
    wide = submit(server, "wide", "a", replicas=4, min=1)
    server.wait(wide, "running")
    wait_for(lambda: len(uids(kube, wide)) == 4, what="all members")
    return wide, uids(kube, wide)


def states(server, job):
    return sorted(member["state"] for member in server.job(job)["members"])


def is_whole(server, job):
    return not set(states(server, job)) - {"running", "ready"}


def test_members_leave_and_come_back(fake):
    """Who stays is the same pod throughout, whatever happens to the server; nothing else makes pods of the job."""
    server, kube = fake
    wide, before = wide_job(server, kube)
    wants = submit(server, "wants", "b", replicas=2)
    server.wait(wants, "running")
    wait_for(lambda: len(uids(kube, wide)) == 2, what="the end of those that leave")
    assert uids(kube, wide).items() <= before.items()
    assert states(server, wide).count("surplus") == 2
    server.kill()
    server.start()
    assert uids(kube, wide).items() <= before.items()
    server.paddle("cancel", wants, check=0)
    wait_for(lambda: len(uids(kube, wide)) == 4 and is_whole(server, wide), what="its growth")
    after = uids(kube, wide)
    assert after.keys() == before.keys() and len(after.items() & before.items()) == 2
    assert server.job(wide)["attempt"] == 1
    assert not [kind for kind in ("statefulsets", "replicasets") if kube.items(kind, "apps/v1")]
    server.paddle("cancel", wide, check=0)
    assert server.wait(wide)["state"] == "cancelled"
    check_nothing_is_left(kube)


def test_a_server_killed_while_members_leave_and_come_back(fake):
    server, kube = fake
    wide, before = wide_job(server, kube)
    wants = submit(server, "wants", "b", replicas=2)
    server.kill()
    server.start()
    server.wait(wants, "running")
    wait_for(lambda: len(uids(kube, wide)) == 2, what="the end of those that leave")
    server.paddle("cancel", wants, check=0)
    server.kill()
    server.start()
    wait_for(lambda: len(uids(kube, wide)) == 4 and is_whole(server, wide), what="its growth")
    assert len(uids(kube, wide).items() & before.items()) == 2
    assert server.job(wide)["attempt"] == 1


def test_who_leaves_may_tidy_up(real):
    """TERM and the grace; what both stays wrote is kept."""
    server, kube = real
    wide, _ = wide_job(server, kube)
    for index in range(4):
        wait_for(lambda index=index: server.member_log(wide, f"worker-{index}") == "here\n", what="its word")
    wants = submit(server, "wants", "b", replicas=2)
    server.wait(wants, "running")
    leavers = [member["name"] for member in server.job(wide)["members"] if member["state"] == "surplus"]
    assert len(leavers) == 2
    for name in leavers:
        assert server.member_log(wide, name) == "here\nleft\n"
    server.paddle("cancel", wants, check=0)
    for name in leavers:
        wait_for(lambda name=name: server.member_log(wide, name) == "here\nleft\nhere\n", what="its second stay")
    server.kill()
    server.start()
    server.paddle("cancel", wide, check=0)
    server.wait(wide)
    for name in leavers:
        assert server.member_log(wide, name) == "here\nleft\nhere\nleft\n"
