"""The operator's image, on a real node, as deploy/v1 installs it: it comes up, runs a job, and is taken away while one runs."""

import os
import subprocess
import tempfile

import pytest
import yaml
from conftest import BIN, ROOT, wait_for
from kube.cluster import ApiError
from kube.fixtures import Namespace
from pdj import CRD, GROUP, Job, operator_cluster

from kube import supervise

MANIFEST = ROOT / "deploy/v1/operator.yaml"
BASE = "test.local/base:1"
DEPLOYMENT = "/apis/apps/v1/namespaces/paddle-system/deployments/paddle-controller-manager"


@pytest.fixture(scope="module")
def cluster():
    with operator_cluster("operator-image", node=True) as made, tempfile.TemporaryDirectory() as folder:
        archive = f"{folder}/operator.tar"
        done = subprocess.run(
            [ROOT / "deploy/image/operator", archive],
            env={**os.environ, "PADDLE_BIN": str(BIN)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        supervise.control(made.state, do="load", archive=archive)
        yield made


def manifest():
    """The file's objects; the image of init containers is one that the node has."""
    objects = [one for one in yaml.safe_load_all(MANIFEST.read_text()) if one]
    pod = next(one for one in objects if one["kind"] == "Deployment")["spec"]["template"]["spec"]
    pod["containers"][0]["args"].append("--initImage=" + BASE)
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def command(role, script, replicas):
    container = {"name": "c", "image": BASE, "imagePullPolicy": "Never", "command": ["sh", "-c", script]}
    pod = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}
    return {role: {"replicas": replicas, "template": pod}}


def test_the_image_on_a_node(cluster):
    cluster.kubectl("apply", "-f", "-", input=manifest())

    def available():
        return cluster.api.get(DEPLOYMENT).get("status", {}).get("availableReplicas") == 1

    def state():
        pods = cluster.api.get("/api/v1/namespaces/paddle-system/pods")["items"]
        logs = cluster.kubectl("logs", "-n", "paddle-system", "deployment/paddle-controller-manager", check=False)
        return [pod.get("status") for pod in pods], logs.stdout + logs.stderr

    try:
        wait_for(available, 300, "the operator's Deployment")
    except AssertionError as late:
        raise AssertionError(f"{late}: {state()}") from None
    space = Namespace(cluster, "jobs")
    # It ends a little later: of a container that ends at once containerd may lose the end of the log.
    script = 'test "$PADDLE_TRAINERS_NUM" = 2 && echo "I am $PADDLE_TRAINER_ID of $PADDLE_TRAINER_ENDPOINTS" && sleep 2'
    job = Job(space, {"cleanPodPolicy": "Never", **command("worker", script, 2)})
    try:
        job.wait_phase("Completed")
    except AssertionError as late:
        logs = cluster.kubectl("-n", "jobs", "logs", "j-worker-1", "--all-containers", check=False)
        raise AssertionError(f"{late}: {state()} {job.status()} {logs}") from None
    port, hosts = job.map()["PADDLE_PORT"], job.map()["PADDLE_TRAINERS"].split(",")
    text = cluster.kubectl("-n", "jobs", "logs", "j-worker-1").strip()
    assert text == "I am 1 of " + ",".join(f"{host}:{port}" for host in hosts)
    pod = cluster.api.get("/api/v1/namespaces/paddle-system/pods")["items"][0]
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0, state()

    running = Job(space, command("worker", "exec sleep 1000", 2), "running")
    running.wait_phase("Running")
    cluster.kubectl("delete", "-f", MANIFEST, "-f", CRD, timeout=180)
    for path in ("/api/v1/namespaces/paddle-system", space.path("paddlejobs", None, GROUP)):
        with pytest.raises(ApiError, match="404"):
            cluster.api.get(path)
