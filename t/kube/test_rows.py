"""Frameworks by our own rows (doc/guide/frameworks.md) on a real node: members have machines of their own and share no directory. Small programs
speak each framework's rendezvous."""

import json

import pytest
from conftest import wait_for

from kube.images import BASE
from kube.test_runtime import RULES, connect, left

SECRETS = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]


@pytest.fixture
def joined(server, kube_node):
    connect(server, kube_node, RULES + SECRETS)
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": BASE}), check=0)
    return server, kube_node


def roles(**counts):
    return [{"name": name, "replicas": count, "cpu": "50m"} for name, count in counts.items()]


def hosts(kube, job, role, count):
    return [f"{job['id']}-1-{role}-{i}.j-{job['id']}-1.{kube.name}.svc" for i in range(count)]


def succeeded(server, job):
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    return done


def test_mpi_commands_run_in_the_workers(joined):
    """What mpirun does to start ranks, done by hand: the remote shell that it is told to use reaches each worker."""
    server, kube = joined
    script = (
        'cat "$OMPI_MCA_orte_default_hostfile"; for host in $PADDLE_MPI_HOSTS; do '
        "$OMPI_MCA_plm_rsh_agent \"$host\" echo hello from '$PADDLE_MPI_HOST'; done; "
        '$OMPI_MCA_plm_rsh_agent "$host" exit 7; echo "status $?"'
    )
    job = server.submit(["sh", "-c", script], queue="qq", framework="mpi", roles=roles(worker=2))
    done = succeeded(server, job)
    lines = [f"{host} slots=1" for host in hosts(kube, job, "worker", 2)]
    assert server.member_log(job["id"], "master-0").splitlines() == [*lines, "status 7"]
    for index in range(2):
        assert f"hello from worker-{index}\n" in server.member_log(job["id"], f"worker-{index}")
    ends = {member["name"]: member["exit_code"] for member in done["members"]}
    assert ends["master-0"] == 0
    wait_for(lambda: not left(kube) and not kube.items("secrets", selector="owner=paddleflow"), what="their end")


def test_mpi_fails_with_its_launcher(joined):
    server, _ = joined
    script = '$OMPI_MCA_plm_rsh_agent "${PADDLE_MPI_HOSTS%% *}" exit 5'
    job = server.submit(["sh", "-c", script], queue="qq", framework="mpi", roles=roles(worker=1))
    done = server.wait(job["id"])
    assert done["state"] == "failed" and "master-0 exited with status 5" in done["reason"]


# What stands in Spark's place says what it is called with, and serves or asks as Spark would.
SPARK_CLASS = """#!/bin/sh
name=${1##*.}; shift
grep -q '^spark.authenticate.secret [0-9a-z]\\{32\\}$' "$SPARK_CONF_DIR/spark-defaults.conf" && echo "$name $*"
case $name in Master) port=$SPARK_MASTER_PORT;; *) port=$SPARK_WORKER_PORT;; esac
while :; do grep secret "$SPARK_CONF_DIR/spark-defaults.conf" | nc -l -p "$port"; done
"""
DRIVER = """#!/bin/sh
conf=$SPARK_CONF_DIR/spark-defaults.conf
grep -E '^spark.(master|driver.host|executor.cores|executor.memory|cores.max) ' "$conf"
theirs=
until [ -n "$theirs" ]; do theirs=$(nc -w 5 "$SPARK_MASTER_HOST" "$SPARK_MASTER_PORT" </dev/null 2>/dev/null); sleep 0.2; done
[ "$theirs" = "$(grep secret "$conf")" ] && echo same secret
umask
"""


def test_spark_members_find_each_other(joined, tmp_path):
    """Each writes its own settings, with the attempt's secret; workers go by their own addresses, and know the master."""
    server, kube = joined
    for name, text in (("spark-class", SPARK_CLASS), ("driver.sh", DRIVER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    server.paddle(
        *("submit", "--queue", "qq", "--framework", "spark", "-n", 2, "--name", "sparks", "--package-path", tmp_path),
        *("--grace", "1s", "--env", "PATH=/paddle/work:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
        *("--", "./driver.sh"),
        check=0,
    )
    job = server.job("sparks")
    done = succeeded(server, job)
    master = hosts(kube, job, "executor", 1)[0]
    said = server.member_log(job["id"], "driver-0").splitlines()
    assert said[0] == f"spark.master spark://{master}:36018"
    assert said[2:] == ["spark.executor.cores 1", "spark.executor.memory 1024m", "spark.cores.max 2"] + [
        "same secret",
        "0022",
    ]
    mine = said[1].removeprefix("spark.driver.host ")
    workers = [server.member_log(job["id"], f"executor-{index}").splitlines() for index in range(2)]
    assert sum("Master" in line for lines in workers for line in lines) == 1
    addresses = {
        word for lines in workers for line in lines if line.startswith("Worker --host") for word in [line.split()[2]]
    }
    assert len(addresses) == 2 and mine not in addresses
    assert all(line.endswith(f"spark://{master}:36018") for lines in workers for line in lines if "Worker" in line)
    assert {member["exit_code"] for member in done["members"] if member["role"] == "driver"} == {0}


def test_tensorflow_members_know_each_other(joined):
    server, kube = joined
    job = server.submit(
        ["sh", "-c", 'echo "$TF_CONFIG"'], queue="qq", framework="tensorflow", roles=roles(chief=1, worker=2)
    )
    succeeded(server, job)
    cluster = {
        "chief": [f"{host}:36000" for host in hosts(kube, job, "master", 1)],
        "worker": [f"{host}:36000" for host in hosts(kube, job, "worker", 2)],
    }
    for member, task in (("master-0", ("chief", 0)), ("worker-1", ("worker", 1))):
        told = json.loads(server.member_log(job["id"], member))
        assert told["cluster"] == cluster and (told["task"]["type"], told["task"]["index"]) == task
