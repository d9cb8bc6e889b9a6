"""TrainingJobs whose pods do as they are told."""

from conftest import ROOT, wait_for
from kube.cluster import ApiError

GROUP = "paddlepaddle.org/v1"
MANIFEST, CRD = ROOT / "deploy/v1/trainingjob.yaml", "trainingjobs.paddlepaddle.org"
LABELS = {"master": "paddle-job-master", "pserver": "paddle-job-pserver", "trainer": "paddle-job"}


def spec(trainers=2, most=None, pservers=1, **more):
    return {
        "image": "i",
        "pserver": {"min-instance": pservers, "max-instance": pservers, "resources": {}},
        "trainer": {
            "entrypoint": "python train.py",
            "workspace": "/w",
            "min-instance": trainers,
            "max-instance": most or trainers,
            "resources": {"requests": {"cpu": "200m", "memory": "200Mi"}},
        },
        **more,
    }


class Training:
    """A TrainingJob in a namespace of a cluster."""

    def __init__(self, kube, body, name="j"):
        self.kube, self.name = kube, name
        kube.create(
            "trainingjobs",
            {"apiVersion": GROUP, "kind": "TrainingJob", "metadata": {"name": name}, "spec": body},
            GROUP,
        )

    def get(self):
        return self.kube.get("trainingjobs", self.name, GROUP)

    def status(self):
        return self.get().get("status", {})

    def path(self):
        return self.kube.path("trainingjobs", self.name, GROUP)

    def delete(self):
        self.kube.api.delete(self.path())

    def member(self, role):
        """The ReplicaSet or Job of a role, or None."""
        kind, version = ("jobs", "batch/v1") if role == "trainer" else ("replicasets", "apps/v1")
        try:
            return self.kube.get(kind, f"{self.name}-{role}", version)
        except ApiError as error:
            assert error.status == 404
            return None

    def pods(self, role):
        return [
            pod
            for pod in self.kube.items("pods")
            if pod["metadata"].get("labels", {}).get(LABELS[role]) == self.name
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def wait_pods(self, role, count):
        wait_for(lambda: len(self.pods(role)) == count, 60, f"{count} pods of the {role}")
        return self.pods(role)

    def wait_member(self, role):
        return wait_for(lambda: self.member(role), 60, f"the {role}")

    def wait_no_member(self, role):
        wait_for(lambda: not self.member(role) and not self.pods(role), 60, f"no {role}")

    def wait_phase(self, phase):
        wait_for(lambda: self.status().get("phase") == phase, 60, f"phase {phase}, not {self.status()}")
        return self.status()

    def states(self):
        return {item["training_resource_type"]: item["state"] for item in self.status().get("replica_statuses", [])}

    def wait_states(self, states):
        wait_for(lambda: self.states() == states, 60, f"{states}, not {self.states()}")

    def set(self, pod, phase):
        ready = "True" if phase == "Running" else "False"
        self.kube.api.patch(
            self.kube.path("pods", pod["metadata"]["name"]) + "/status",
            {"status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}},
        )

    def all(self, role, count, phase):
        for pod in self.wait_pods(role, count):
            self.set(pod, phase)

    def fail(self):
        """It runs; its trainers fail, so that the others go, and no trainer is made again."""
        self.all("master", 1, "Running")
        self.all("pserver", 1, "Running")
        self.all("trainer", 2, "Running")
        self.wait_phase("running")
        for pod in self.pods("trainer"):
            self.set(pod, "Failed")
        self.wait_phase("failed")
        self.wait_no_member("master")
        self.wait_no_member("pserver")
        wait_for(lambda: self.member("trainer")["spec"]["parallelism"] == 0, 60, "no more trainers")
