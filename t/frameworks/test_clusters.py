"""Real Open MPI and Spark by our own rows on a real node of a cluster: members are pods, which share no directory."""

import json
import re

import pytest
from conftest import wait_for
from kube.images import MPI, SPARK
from kube.test_rows import SECRETS
from kube.test_runtime import RULES, connect

RANK = """
from mpi4py import MPI
import socket
world = MPI.COMM_WORLD
total = world.allreduce(world.Get_rank() + 1)
text = world.bcast("x" * 100000 if world.Get_rank() == 0 else None)
print("rank", world.Get_rank(), "of", world.Get_size(), "total", total, "bytes", len(text), "on", socket.gethostname(), flush=True)
"""
FAILS = "from mpi4py import MPI; import sys; sys.exit(5 if MPI.COMM_WORLD.Get_rank() == 1 else 0)"
SUMS = """
import os
from pyspark import SparkContext
context = SparkContext()
context.setLogLevel("ERROR")

def where(rows):
    yield os.environ["PADDLE_SPARK_HOST"], sum(rows)

shares = dict(context.parallelize(range(1000), 8).mapPartitions(where).reduceByKey(lambda a, b: a + b).collect())
print(sum(shares.values()), *sorted(shares), flush=True)
"""


@pytest.fixture
def joined(server, kube_node):
    def with_image(name, tag):
        kube_node.cluster.load_image(name)
        setting = json.dumps({"image": tag})
        server.paddle("cluster", "set", "prod", "--setting", setting, check=0)

    connect(server, kube_node, RULES + SECRETS)
    return server, with_image


def roles(name, count, **about):
    return [{"name": name, "replicas": count, "cpu": "100m", **about}]


def test_mpi_ranks_meet(joined):
    server, with_image = joined
    with_image("mpi", MPI)
    command = ["mpirun", "-n", "4", "--oversubscribe", "python3", "-c", RANK]
    job = server.submit(command, queue="qq", framework="mpi", roles=roles("worker", 3))
    done = server.wait(job["id"], timeout=300)
    log = server.member_log(job["id"], "master-0")
    assert done["state"] == "succeeded", log
    ranks = dict(re.findall(r"rank (\d) of 4 total 10 bytes 100000 on (\S+)", log))
    assert set(ranks) == {"0", "1", "2", "3"}
    assert set(ranks.values()) == {f"{job['id']}-1-worker-{index}" for index in range(3)}
    job = server.submit(["mpirun", "python3", "-c", FAILS], queue="qq", framework="mpi", roles=roles("worker", 2))
    done = server.wait(job["id"], timeout=300)
    assert done["state"] == "failed" and "master-0 exited with status 5" in done["reason"]
    print(f"\nmpi on a cluster: {len(ranks)} ranks in {len(set(ranks.values()))} pods")


def test_spark_executors_share_the_work(joined):
    server, with_image = joined
    with_image("spark", SPARK)
    job = server.submit(
        ["python3", "-c", SUMS],
        queue="qq",
        framework="spark",
        roles=[*roles("executor", 2, memory="1400Mi"), *roles("driver", 1, memory="1Gi")],
    )
    wait_for(lambda: server.job(job["id"])["state"] in ("running", "succeeded", "failed"), 300, "its members")
    done = server.wait(job["id"], timeout=300)
    log = server.member_log(job["id"], "driver-0")
    assert done["state"] == "succeeded", log
    assert f"{sum(range(1000))} executor-0 executor-1" in log  # beside Spark's own bar of progress
    print("\nspark on a cluster: a driver and 2 executors, each with its share")
