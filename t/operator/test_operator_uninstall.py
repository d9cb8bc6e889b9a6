"""The operator is taken away while jobs run: whoever deletes what deploy/v1 installed, in whatever order, comes to an end, and
the pods of a job whose kind stays run on."""

import contextlib
import signal
import subprocess
import time

import pytest
import yaml
from conftest import PATIENCE, ROOT, wait_for
from kube.cluster import ApiError
from kube.fixtures import Namespace
from pdj import CRD, FINALIZER, GROUP, Job, Operator, install, operator_cluster, role

from kube import components

MANIFEST = ROOT / "deploy/v1/operator.yaml"
GUARD = "paddlepaddle.org/guard"
HOME, ACCOUNT = "/api/v1/namespaces/paddle-system", "paddle-manager-sa"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"
ROLE, BINDING = RBAC + "clusterroles/paddle-manager-role", RBAC + "clusterrolebindings/paddle-manager-rolebinding"
SERVICE_ACCOUNT = f"{HOME}/serviceaccounts/{ACCOUNT}"
KIND = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/paddlejobs.batch.paddlepaddle.org"


@pytest.fixture(scope="module")
def cluster():
    with operator_cluster("uninstall") as made:
        yield made


def exists(cluster, path):
    try:
        return cluster.api.get(path)
    except ApiError as error:
        assert error.status == 404, error
        return None


def deployment():
    return next(one for one in yaml.safe_load_all(MANIFEST.read_text()) if one["kind"] == "Deployment")


def account_of_manifest(cluster):
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = cluster.api.create(f"{SERVICE_ACCOUNT}/token", request)["status"]["token"]
    return cluster.authority.kubeconfig(
        cluster.state / "kubeconfig/manager", cluster.url, token=token, namespace="paddle-system"
    )


class Installed:
    """What the manifest installs, with the operator as a process of this machine: under the manifest's service account, with
    the manifest's arguments, told to stop when its Deployment has gone, as a kubelet would."""

    def __init__(self, cluster):
        self.cluster = cluster
        install(cluster, CRD, "paddlejobs.batch.paddlepaddle.org")
        cluster.kubectl("apply", "-f", MANIFEST)
        self.kubeconfig = account_of_manifest(cluster)
        self.start()

    def start(self):
        arguments = deployment()["spec"]["template"]["spec"]["containers"][0]["args"]
        self.operator = Operator(self.kubeconfig, *arguments, "--leader-election-namespace=paddle-system")
        self.operator.wait_log("this operator leads")

    def deployed(self):
        return exists(self.cluster, "/apis/apps/v1/namespaces/paddle-system/deployments/paddle-controller-manager")

    def end_with_deployment(self):
        """Returns how the operator ended."""
        wait_for(lambda: not self.deployed(), 60, "the end of the Deployment")
        if self.operator.process.poll() is None:
            self.operator.process.send_signal(signal.SIGTERM)
        return self.operator.process.wait(30)  # the grace of the manifest's pods

    def gone(self, *paths):
        for path in paths:
            wait_for(lambda path=path: not exists(self.cluster, path), 60, f"the end of {path}")


@pytest.fixture
def installed(cluster):
    one = Installed(cluster)
    yield one
    one.operator.kill()
    text = one.operator.text()
    assert "Sanitizer" not in text, text
    for path in (ROLE, BINDING, SERVICE_ACCOUNT):  # of a test that failed
        with contextlib.suppress(ApiError):
            cluster.api.patch(path, {"metadata": {"finalizers": None}})
    for path in (ROLE, BINDING, HOME):
        with contextlib.suppress(ApiError):
            cluster.api.delete(path)
    one.gone(HOME, ROLE, BINDING)


@pytest.fixture
def space(cluster, request):
    made = Namespace(
        cluster, request.node.name.lower().replace("_", "-").split("[")[0][:40] + f"-{time.time_ns() % 10**6}"
    )
    yield made
    with contextlib.suppress(ApiError):
        for item in made.items("paddlejobs", GROUP):
            cluster.api.patch(
                made.path("paddlejobs", item["metadata"]["name"], GROUP), {"metadata": {"finalizers": None}}
            )
    made.remove()


def running_jobs(space, count=2):
    jobs = [Job(space, {"ps": role(1), "worker": role(2)}, f"j{i}") for i in range(count)]
    for job in jobs:
        job.wait_pods("ps-0", "worker-0", "worker-1")
        job.all("running")
        job.wait_phase("Running")
        assert job.get()["metadata"]["finalizers"] == [FINALIZER]
    return jobs


def delete(cluster, *words):
    command = [components.BIN / "kubectl", f"--kubeconfig={cluster.kubeconfig}", "delete", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_end(process):
    text = process.communicate(timeout=300)[0]
    assert process.returncode == 0, text


@pytest.mark.parametrize("files", [(CRD, MANIFEST), (MANIFEST, CRD)], ids=["crd-first", "operator-first"])
def test_one_command(installed, space, files):
    cluster = installed.cluster
    running_jobs(space)
    command = delete(cluster, *(word for file in files for word in ("-f", file)))
    assert installed.end_with_deployment() == 0, installed.operator.text()
    wait_end(command)
    installed.gone(KIND, ROLE, BINDING, SERVICE_ACCOUNT, HOME)


def wait_for_collector(space):
    """The garbage collector looks for new kinds every 30 s, and forgets what is owned by one that it never saw.  Only when it
    has seen this one does a deletion in the foreground end."""
    path = Job(space, {"worker": role(0)}, "probe") and space.path("paddlejobs", "probe", GROUP)
    space.api.request("DELETE", path, {"propagationPolicy": "Foreground"})
    wait_for(lambda: not exists(space.cluster, path), 60, "the garbage collector's notice of the kind")


def test_the_kind_first(installed, space):
    wait_for_collector(space)
    running_jobs(space)
    wait_end(delete(installed.cluster, "-f", CRD))
    wait_for(lambda: not space.items("pods"), 60, "the end of the pods")
    command = delete(installed.cluster, "-f", MANIFEST)
    assert installed.end_with_deployment() == 0
    wait_end(command)
    installed.gone(KIND, ROLE, BINDING, SERVICE_ACCOUNT, HOME)


def test_the_operator_first(installed, space):
    jobs = running_jobs(space)
    uids = {pod["metadata"]["uid"] for pod in space.items("pods")}
    command = delete(installed.cluster, "-f", MANIFEST)
    assert installed.end_with_deployment() == 0
    wait_end(command)
    installed.gone(ROLE, BINDING, SERVICE_ACCOUNT, HOME)
    for job in jobs:
        assert "finalizers" not in job.get()["metadata"]
        assert job.status()["phase"] == "Running"
    assert {pod["metadata"]["uid"] for pod in space.items("pods")} == uids
    wait_end(delete(installed.cluster, "-f", CRD))
    installed.gone(KIND)


def test_installed_again(installed, space):
    """What was let go is taken over by the next operator."""
    jobs = running_jobs(space)
    uids = {pod["metadata"]["uid"] for pod in space.items("pods")}
    command = delete(installed.cluster, "-f", MANIFEST)
    installed.end_with_deployment()
    wait_end(command)
    again = Installed(installed.cluster)
    installed.operator = again.operator
    for job in jobs:
        wait_for(lambda job=job: job.get()["metadata"].get("finalizers") == [FINALIZER], 60, "the finalizer")
    assert {pod["metadata"]["uid"] for pod in space.items("pods")} == uids
    jobs[0].patch({"spec": {"worker": {"replicas": 3}}})
    jobs[0].wait_pods("ps-0", "worker-0", "worker-1", "worker-2")


def test_a_roll_out_lets_nothing_go(installed, space):
    jobs = running_jobs(space, 1)
    assert installed.operator.stop() == 0
    for path in (ROLE, BINDING, SERVICE_ACCOUNT):
        assert exists(installed.cluster, path)["metadata"]["finalizers"] == [GUARD], path
    assert jobs[0].get()["metadata"]["finalizers"] == [FINALIZER]
    installed.start()
    jobs[0].delete()
    wait_for(lambda: not space.items("paddlejobs", GROUP), 60, "the end of the job")


@pytest.mark.parametrize(
    "deleted,gone,kept",
    [
        (BINDING, [BINDING], [ROLE, SERVICE_ACCOUNT]),
        (SERVICE_ACCOUNT, [SERVICE_ACCOUNT], [ROLE, BINDING]),
        (ROLE, [ROLE, BINDING], [SERVICE_ACCOUNT]),
    ],
    ids=["binding", "account", "role"],
)
def test_one_of_its_rights(installed, space, deleted, gone, kept):
    """It ends by itself; what nobody deleted is left as it was before the operator came."""
    cluster = installed.cluster
    job = running_jobs(space, 1)[0]
    before = {path: exists(cluster, path)["metadata"]["uid"] for path in kept}
    cluster.api.delete(deleted)
    assert installed.operator.process.wait(PATIENCE) == 0
    installed.gone(*gone)
    assert "finalizers" not in job.get()["metadata"]
    for path in kept:
        found = exists(cluster, path)["metadata"]
        assert found["uid"] == before[path] and "deletionTimestamp" not in found
        assert "finalizers" not in found and "ownerReferences" not in found


def test_killed_while_it_lets_go(installed, space):
    """Another process of the same pod ends what the first began."""
    running_jobs(space, 1)
    installed.operator.kill()
    command = delete(installed.cluster, "-f", MANIFEST, "-f", CRD)
    wait_for(lambda: exists(installed.cluster, KIND)["metadata"].get("deletionTimestamp"), 60, "the deletion")
    arguments = deployment()["spec"]["template"]["spec"]["containers"][0]["args"]
    installed.operator = Operator(
        installed.kubeconfig, *arguments, "--leader-election-namespace=paddle-system", wait=False
    )
    assert installed.operator.process.wait(PATIENCE) == 0
    wait_end(command)
    installed.gone(KIND, ROLE, BINDING, SERVICE_ACCOUNT, HOME)


def test_nothing_is_done_without_the_hold(cluster, space):
    """Rights that nobody holds would vanish under a job's finalizer."""
    install(cluster, CRD, "paddlejobs.batch.paddlepaddle.org")
    one = Operator(cluster.kubeconfig, "--guard=of-nobody", f"--namespace={space.name}")
    try:
        one.wait_log("are not in its hold")
        job = Job(space, {"worker": role(1)})
        one.wait_log("the cluster has been seen")
        assert "finalizers" not in job.get()["metadata"] and job.pods() == {}
        account = {"kind": "ServiceAccount", "name": "default", "namespace": space.name}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        body = {"metadata": {"name": "of-nobody"}, "roleRef": reference, "subjects": [account]}
        cluster.api.create(RBAC + "clusterrolebindings", body)
        job.wait_pods("worker-0")
        assert one.stop() == 0
    finally:
        one.kill()
        for path in (RBAC + "clusterrolebindings/of-nobody", RBAC + "clusterroles/view"):
            cluster.api.patch(path, {"metadata": {"finalizers": None, "ownerReferences": None}})
        cluster.api.delete(RBAC + "clusterrolebindings/of-nobody")
