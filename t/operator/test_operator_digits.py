"""examples/recognize_digits as a PaddleJob: deploy/examples as kubectl applies it, with real PaddlePaddle on a real node."""

import re

import pytest
import yaml
from conftest import ROOT, wait_for
from kube.images import BASE, PADDLE
from pdj import CRD, Job, Operator, install

MANIFEST = ROOT / "deploy/examples/recognize_digits.yaml"
BAR = 0.85  # as on one machine


def manifest():
    """The file's object; only the image is the node's own."""
    body = yaml.safe_load(MANIFEST.read_text())
    for role in ("ps", "worker"):
        (container,) = body["spec"][role]["template"]["spec"]["containers"]
        container.update(image=PADDLE, imagePullPolicy="Never")
    return body


@pytest.fixture
def looked_after(kube_node):
    kube_node.cluster.load_image("paddle")
    install(kube_node.cluster, CRD, "paddlejobs.batch.paddlepaddle.org")
    operator = Operator(kube_node.cluster.kubeconfig, f"--namespace={kube_node.name}", f"--initImage={BASE}")
    yield kube_node
    assert operator.stop() == 0, operator.text()


def test_digits_by_kubectl(looked_after):
    kube = looked_after
    (words,) = re.findall(r"^#   kubectl (create configmap .*)$", MANIFEST.read_text(), re.M)
    name, files = words.split()[2], words.split("--from-file=")[1]
    kube.kubectl("create", "configmap", name, f"--from-file={ROOT / files}")
    job = Job(kube, manifest())
    job.wait_pods("ps-0", "ps-1", *(f"worker-{index}" for index in range(4)))
    kube.wait_phase(f"{job.name}-worker-0", "Running", "Succeeded", timeout=180)
    log = kube.kubectl("logs", "-f", f"{job.name}-worker-0", timeout=400)
    accuracies = re.findall(r"^final test accuracy ([\d.]+)$", log, re.M)
    assert len(accuracies) == 1, log
    assert float(accuracies[0]) >= BAR
    assert "saved model.npz to /output" in log
    wait_for(lambda: job.status().get("phase") == "Completed", 120, "the job's completion")
    wait_for(lambda: not job.pods(), 120, "the end of all pods, of the parameter servers, too")
    job.delete()
