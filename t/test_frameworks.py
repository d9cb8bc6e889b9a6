"""The rows of doc/guide/frameworks.md with small programs that speak each framework's own rendezvous; t/frameworks has the real ones."""

import json
import re

import pytest
from conftest import wait_for

RENDEZVOUS = r"""
import os, socket, sys
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    server = socket.create_server(where, backlog=world)
    peers = {}
    while len(peers) < world - 1:
        peer, _ = server.accept()
        peers[int(peer.recv(8))] = peer
    total = sum(peers) + 0
    for peer in peers.values():
        peer.sendall(b"%8d" % total)
else:
    for _ in range(10000):
        try:
            peer = socket.create_connection(where)
            break
        except ConnectionRefusedError:
            os.sched_yield() or __import__("time").sleep(0.01)
    peer.sendall(b"%8d" % rank)
    total = int(peer.recv(8))
print(f"rank {rank} of {world}: sum {total}", flush=True)
"""

# What PaddlePaddle's fleet does with the variables: server 0 serves the start barrier (gloo) to as many trainers as it was told of, once,
# then its own port; trainers meet at the barrier, then ask all servers whether the work is done.
FLEET = r"""
import os, pathlib, socket, time

def place(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)

def call(where):
    while True:
        try:
            with socket.create_connection(where) as peer:
                return peer.recv(8)
        except ConnectionRefusedError:
            time.sleep(0.05)

def serve(server, times, answer):
    while times != 0:
        peer, _ = server.accept()
        with peer:
            peer.sendall(answer())
        times -= 1

index, trainers = os.environ["PADDLE_TRAINER_ID"], int(os.environ["PADDLE_TRAINERS_NUM"])
barrier = place(os.environ["PADDLE_GLOO_HTTP_ENDPOINT"]) if os.environ["PADDLE_WITH_GLOO"] == "1" else None
if os.environ["TRAINING_ROLE"] == "PSERVER":
    if barrier and index == "0":
        with socket.create_server(barrier) as server:
            serve(server, trainers, lambda: b"go")
    with socket.create_server(place(os.environ["PADDLE_CURRENT_ENDPOINT"])) as server:
        serve(server, -1, lambda: b"done" if pathlib.Path("done").exists() else b"go on")
if barrier:
    call(barrier)
print(f"trainer {index} of {trainers}", flush=True)
servers = [place(text) for text in os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")]
while any(call(server) != b"done" for server in servers):
    time.sleep(0.05)
print("ends", flush=True)
"""
SERVE = "echo serving; exec sleep 1000"


def roles(**counts):
    return [{"name": name, "replicas": count} for name, count in counts.items()]


def ends(server, job):
    members = server.get(f"/v1/jobs/{job['id']}/members").json["items"]
    return {member["name"]: (member["exit_code"], member["signal"]) for member in members}


@pytest.mark.parametrize("counts", [{"master": 1, "worker": 2}, {"worker": 3}])
def test_pytorch_ranks_meet(shared_server, counts):
    job = shared_server.submit(["python3", "-c", RENDEZVOUS], framework="pytorch", roles=roles(**counts))
    assert shared_server.wait(job["id"])["state"] == "succeeded"
    logs = "".join(
        shared_server.member_log(job["id"], f"{name}-{index}") for name in counts for index in range(counts[name])
    )
    assert sorted(re.findall(r"rank (\d) of 3: sum 3", logs)) == ["0", "1", "2"]


def states(server, job):
    return {member["name"]: member["state"] for member in server.get(f"/v1/jobs/{job['id']}/members").json["items"]}


def work(server, job, *names):
    """Waits until these members have said that they are at work."""
    for name in names:
        wait_for(lambda name=name: "trainer" in server.member_log(job["id"], name), what=f"the work of {name}")


def sleeper(server, cpu):
    return server.submit(["sleep", "1000"], roles=[{"name": "worker", "cpu": cpu}], grace="1s")


def elastic(server, framework, program, **roles_):
    """A job of two to four of its main role beside a job of two cores, on as many cores as it wants; and that job."""
    other = sleeper(server, "2")
    server.wait(other["id"], "running")
    listed = [{"name": name, "cpu": "1", **about} for name, about in roles_.items()]
    job = server.submit(["python3", "-c", program], framework=framework, roles=listed, grace="10s")
    server.wait(job["id"], "running")
    return job, other


def test_elastic_paddle_trainers_join_and_leave(make_server):
    """None waits for a barrier that has passed, or for one that left; the servers end with the last."""
    server = make_server("--cpus", "5")
    job, other = elastic(server, "paddle-ps", FLEET, pserver={}, trainer={"replicas": 4, "min": 2})
    work(server, job, "trainer-0", "trainer-1")
    assert states(server, job)["trainer-2"] == "surplus"
    server.cancel([other["id"]])
    work(server, job, "trainer-2", "trainer-3")
    assert "trainer 3 of 4" in server.member_log(job["id"], "trainer-3")
    wants = sleeper(server, "1")
    server.wait(wants["id"], "running")
    assert states(server, job)["trainer-3"] == "surplus"
    (server.state / "jobs" / job["id"][:2] / job["id"] / "1/work/done").touch()
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
    assert ends(server, job)["pserver-0"][1] == 15
    assert all(server.member_log(job["id"], f"trainer-{i}").endswith("ends\n") for i in range(3))


WORLD = r"""
import os, pathlib, time
print("trainer", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], flush=True)
while not pathlib.Path("done").exists():
    time.sleep(0.05)
"""


@pytest.mark.parametrize("framework, role", [("pytorch", "worker"), ("paddle-collective", "trainer")])
def test_a_world_keeps_its_size(make_server, framework, role):
    """Members of a collective job agree on their number at the start: it starts with fewer, and grows when it starts again."""
    server = make_server("--cpus", "4")
    job, other = elastic(server, framework, WORLD, **{role: {"replicas": 4, "min": 2}})
    work(server, job, f"{role}-0", f"{role}-1")
    server.cancel([other["id"]])
    wants = sleeper(server, "1")
    server.wait(wants["id"], "running")  # the scheduler has looked at the room that is free
    assert states(server, job)[f"{role}-2"] == states(server, job)[f"{role}-3"] == "surplus"
    server.cancel([wants["id"]])
    server.paddle("requeue", job["id"], check=0)
    wait_for(lambda: server.job(job["id"])["attempt"] == 2, what="its second attempt")
    server.wait(job["id"], "running")
    for index in range(4):
        wait_for(
            lambda index=index: "of 4" in server.member_log(job["id"], f"{role}-{index}", "?attempt=2"), what="a rank"
        )
    (server.state / "jobs" / job["id"][:2] / job["id"] / "2/work/done").touch()
    assert server.wait(job["id"])["state"] == "succeeded"


def test_tensorflow_members_know_each_other(shared_server):
    job = shared_server.submit('echo "$TF_CONFIG"', framework="tensorflow", roles=roles(chief=1, worker=2))
    assert shared_server.wait(job["id"])["state"] == "succeeded"
    told = {
        name: json.loads(shared_server.member_log(job["id"], name)) for name in ("master-0", "worker-0", "worker-1")
    }
    assert told["master-0"]["task"] == {"type": "chief", "index": 0}
    assert told["worker-1"]["task"] == {"type": "worker", "index": 1}
    clusters = [config["cluster"] for config in told.values()]
    assert clusters[0] == clusters[1] == clusters[2]
    addresses = clusters[0]["chief"] + clusters[0]["worker"]
    assert len(set(addresses)) == 3 and all(re.fullmatch(r"127\.0\.0\.1:\d+", address) for address in addresses)


def coordinated(server, chief, worker):
    """Parameter server and workers that serve, as ParameterServerStrategy has them, and a chief that coordinates."""
    return server.submit(
        SERVE,
        framework="tensorflow",
        roles=[
            {"name": "ps"},
            {"name": "worker", "replicas": 2, "command": worker},
            {"name": "chief", "command": chief},
        ],
    )


def test_tensorflow_servers_and_workers_end_with_the_chief(shared_server):
    job = coordinated(
        shared_server,
        "until [ -e done ]; do sleep 0.01; done",
        "case $TF_CONFIG in *'\"index\":1'*) exit 0;; esac; exec sleep 1000",
    )
    # worker 1 ends early and well, which is no harm to the job
    wait_for(lambda: ends(shared_server, job)["worker-1"] == (0, None), what="the end of worker 1")
    assert shared_server.job(job["id"])["state"] in {"starting", "running"}
    (shared_server.state / "jobs" / job["id"][:2] / job["id"] / "1/work/done").touch()
    assert shared_server.wait(job["id"])["state"] == "succeeded"
    found = ends(shared_server, job)
    assert found["master-0"] == (0, None)
    assert found["pserver-0"][1] == found["worker-0"][1] == 15


def test_tensorflow_worker_that_fails_fails_the_job(shared_server):
    job = coordinated(shared_server, SERVE, "exit 3")
    done = shared_server.wait(job["id"])
    assert done["state"] == "failed" and re.search(r"worker-\d exited with status 3", done["reason"])


def test_mpi_commands_run_in_the_workers(shared_server):
    """What mpirun does to start ranks, done by hand: the remote shell it is told to use reaches each worker."""
    job = shared_server.submit(
        'cat "$OMPI_MCA_orte_default_hostfile"; "$OMPI_MCA_plm_rsh_agent" worker-1 echo hello from \'$PADDLE_MPI_HOST\'; '
        '"$OMPI_MCA_plm_rsh_agent" worker-0 exit 7; echo "status $?"',
        framework="mpi",
        roles=roles(worker=2),
    )
    assert shared_server.wait(job["id"])["state"] == "succeeded"
    assert shared_server.member_log(job["id"], "master-0") == "worker-0 slots=1\nworker-1 slots=1\nstatus 7\n"
    assert shared_server.member_log(job["id"], "worker-1") == "hello from worker-1\n"
    found = ends(shared_server, job)
    assert found["master-0"] == (0, None) and found["worker-0"][1] == found["worker-1"][1] == 15


def test_mpi_fails_with_its_launcher(shared_server):
    job = shared_server.submit("exit 5", framework="mpi", roles=roles(master=1, worker=2))
    done = shared_server.wait(job["id"])
    assert done["state"] == "failed" and "master-0 exited with status 5" in done["reason"]


def test_the_command_line_counts_a_frameworks_workers(shared_server, tmp_path):
    """-n counts MPI's workers; the launcher comes by itself, and its command is the job's."""
    shared_server.paddle(
        *("submit", "--framework", "mpi", "-n", 3, "--name", "counted", "--follow", "--"),
        *("sh", "-c", 'wc -l <"$OMPI_MCA_orte_default_hostfile"'),
        cwd=tmp_path,
        check=0,
    )
    job = shared_server.job("counted")
    assert job["framework"] == "mpi"
    assert set(ends(shared_server, job)) == {"worker-0", "worker-1", "worker-2", "master-0"}
    assert shared_server.member_log("counted", "master-0").strip() == "3"


def test_spark_needs_a_program(shared_server):
    reply = shared_server.post("/v1/jobs", {"framework": "spark", "roles": roles(driver=1, executor=2)})
    assert reply.status == 400 and "PF_JOB_SPARK_MAIN_FILE" in reply.body.decode()
