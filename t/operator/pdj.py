"""An operator of one's own for a test, and PaddleJobs whose pods do as they are told."""

import contextlib
import json
import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.request

import pytest
import yaml
from conftest import BIN, PATIENCE, ROOT, wait_for
from kube.cluster import ApiError, Cluster
from kube.fixtures import wait_served

GROUP = "batch.paddlepaddle.org/v1"
CRD = ROOT / "deploy/v1/crd.yaml"
FINALIZER = "finalizers.paddlepaddle.org"
ALL = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]  # rules of who may do everything


def install(cluster, file, name):
    """Applies a file with a CRD, unless the cluster has it, and returns when it is served."""
    try:
        there = cluster.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name)
    except ApiError as absent:
        assert absent.status == 404, absent
        there = None
    if not there or "deletionTimestamp" in there["metadata"]:
        done = cluster.kubectl("apply", "-f", file, check=False)
        assert done.returncode == 0 or "AlreadyExists" in done.stderr, done.stderr  # another test has just done it
    wait_served(cluster, name)


class Operator:
    """One `paddle-operator`; it is up when it has seen the cluster (or, electing, when it serves)."""

    def __init__(self, kubeconfig, *flags, wait=True):
        self.log = tempfile.NamedTemporaryFile("w+", prefix="paddle-operator-", suffix=".log")  # noqa: SIM115
        command = [
            BIN / "paddle-operator",
            "--metrics-bind-address=127.0.0.1:0",
            "--health-probe-bind-address=127.0.0.1:0",
        ]
        self.process = subprocess.Popen(
            [*command, *flags], stdout=self.log, stderr=self.log, env={**os.environ, "KUBECONFIG": str(kubeconfig)}
        )
        self.wait_log("the cluster has been seen" if wait else "serving")
        ports = re.search(r"metrics_port\W+(\d+)\W+health_port\W+(\d+)", self.text())
        self.metrics_port, self.health_port = map(int, ports.groups())

    def text(self):
        with open(self.log.name) as log:
            return log.read()

    def wait_log(self, words, timeout=60):
        def look():
            assert self.process.poll() is None or words in self.text(), self.text()
            return words in self.text()

        try:
            wait_for(look, timeout, f"'{words}' in the operator's log")
        except AssertionError as late:
            raise AssertionError(f"{late}:\n{self.text()}") from None

    def http(self, port, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as reply:
            return reply.code, reply.read().decode()

    def metric(self, line):
        """The value of the metric with these labels: 'name{a="b"}'."""
        text = self.http(self.metrics_port, "/metrics")[1]
        return float(re.search(f"^{re.escape(line)} (.*)$", text, re.M).group(1))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Its exit status; a leak or a bad access makes it other than 0."""
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(PATIENCE)
        assert "Sanitizer" not in self.text(), self.text()
        return status


def template(**spec):
    return {"spec": {"containers": [{"name": "c", "image": "busybox"}], **spec}}


def role(replicas, **spec):
    return {"replicas": replicas, "template": template(**spec)}


def example(name, **changes):
    """The object of a file of deploy/."""
    job = yaml.safe_load((ROOT / "deploy" / name).read_text())
    job["spec"].update(changes)
    return job


class Job:
    """A PaddleJob in a namespace of a cluster."""

    def __init__(self, kube, body, name="j"):
        if "kind" not in body:
            body = {"apiVersion": GROUP, "kind": "PaddleJob", "metadata": {"name": name}, "spec": body}
        self.kube, self.name = kube, body["metadata"]["name"]
        kube.create("paddlejobs", body, GROUP)

    def get(self):
        return self.kube.get("paddlejobs", self.name, GROUP)

    def status(self):
        return self.get().get("status", {})

    def patch(self, body):
        return self.kube.api.patch(self.kube.path("paddlejobs", self.name, GROUP), body)

    def delete(self):
        self.kube.api.delete(self.kube.path("paddlejobs", self.name, GROUP))

    def owned(self, kind, version="v1"):
        uid = self.get()["metadata"]["uid"]
        found = [
            item
            for item in self.kube.items(kind, version)
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", []))
        ]
        return {item["metadata"]["name"]: item for item in found}

    def pods(self):
        return self.owned("pods")

    def pod(self, part):
        return self.kube.get("pods", f"{self.name}-{part}")

    def map(self):
        """The ConfigMap's data, or None."""
        try:
            return self.kube.get("configmaps", self.name)["data"]
        except ApiError as error:
            assert error.status == 404
            return None

    def wait_pods(self, *parts):
        names = {f"{self.name}-{part}" for part in parts}
        wait_for(lambda: set(self.pods()) == names, 60, f"the pods {sorted(names)}")

    def wait_services(self, *parts):
        names = {f"{self.name}-{part}" for part in parts}
        wait_for(lambda: set(self.owned("services")) == names, 60, f"the services {sorted(names)}")

    def wait_phase(self, phase):
        wait_for(lambda: self.status().get("phase") == phase, 60, f"phase {phase} of '{self.name}'")
        return self.status()

    def wait_map(self):
        return wait_for(self.map, 60, "the ConfigMap")

    def set(self, part, state, ip=None):
        """Lets a pod be in a state, as a kubelet would."""
        pod = self.pod(part)
        address = ip or "10.0.{}.{}".format({"ps": 0, "worker": 1, "heter": 2}[part.split("-")[0]], part.split("-")[1])
        self.kube.api.patch(
            self.kube.path("pods", f"{self.name}-{part}") + "/status", {"status": pod_status(pod, state, address)}
        )

    def all(self, state):
        for name in sorted(self.pods()):
            self.set(name[len(self.name) + 1 :], state)

    def events(self):
        items = [item for item in self.kube.items("events") if item["involvedObject"]["name"] == self.name]
        return {
            (item["type"], item["reason"], item["message"])
            for item in items
            if item["involvedObject"]["kind"] == "PaddleJob"
        }

    def wait_event(self, kind, reason, words):
        wait_for(
            lambda: any(e[0] == kind and e[1] == reason and words in e[2] for e in self.events()),
            60,
            f"an event {kind} {reason} with '{words}'",
        )


def container_status(container, ready, state):
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "state": state,
    }


def pod_status(pod, state, address):
    now = "2026-01-01T00:00:00Z"
    running, waiting = {"running": {"startedAt": now}}, {"waiting": {"reason": "PodInitializing"}}
    phase, inits, mains, ready = {
        "coord": ("Pending", running, waiting, False),
        "running": ("Running", {"terminated": {"exitCode": 0}}, running, True),
        "unready": ("Running", {"terminated": {"exitCode": 0}}, running, False),
        "succeeded": ("Succeeded", {"terminated": {"exitCode": 0}}, {"terminated": {"exitCode": 0}}, False),
        "failed": ("Failed", {"terminated": {"exitCode": 0}}, {"terminated": {"exitCode": 1}}, False),
    }[state]
    spec = pod["spec"]
    return {
        "phase": phase,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "initContainerStatuses": [
            container_status(c, phase != "Pending", inits) for c in spec.get("initContainers", [])
        ],
        "containerStatuses": [container_status(c, ready, mains) for c in spec["containers"]],
    }


@pytest.fixture(name="operator")
def operator_fixture(kube):
    """Starts operators that look after the test's namespace; all have ended well when the test has."""
    started = []
    install(kube.cluster, CRD, "paddlejobs.batch.paddlepaddle.org")

    def start(*flags, kubeconfig=None, **options):
        started.append(Operator(kubeconfig or kube.cluster.kubeconfig, f"--namespace={kube.name}", *flags, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.returncode is None:
            assert one.stop() == 0, one.text()
    for item in kube.items("paddlejobs", GROUP):  # nobody is there to take the finalizer away
        kube.api.patch(kube.path("paddlejobs", item["metadata"]["name"], GROUP), {"metadata": {"finalizers": None}})


@contextlib.contextmanager
def operator_cluster(title, **options):
    """A cluster of a test's own with the definition of PaddleJobs, for faults and for what is cluster-wide."""
    cluster = Cluster.launch(title, owner=os.getpid(), **options)
    try:
        install(cluster, CRD, "paddlejobs.batch.paddlepaddle.org")
        yield cluster
    finally:
        cluster.stop()


def dump(value):
    return json.dumps(value, sort_keys=True)
