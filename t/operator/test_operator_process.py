"""The cases of doc/reference/paddle-operator.md, "Conformance cases", about elastic jobs, Volcano and the process itself (H and
I), by their ids, and those of A that change what the whole cluster knows."""

import base64
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

import pytest
import yaml
from conftest import BIN, PATIENCE, ROOT, wait_for
from kube.cluster import ApiError
from kube.components import BIN as KUBE_BIN
from kube.fixtures import Namespace
from pdj import CRD, GROUP, Job, Operator, example, install, operator_cluster, operator_fixture, role  # noqa: F401

GANG = "scheduling.volcano.sh/v1beta1"
MASTER = 'leader_election_master_status{name="b2a304f2.paddlepaddle.org"}'
BUSY = 60  # seconds that others' work on the machine may add to what the case says


@pytest.fixture(scope="module")
def cluster():
    with operator_cluster("operator") as made:
        yield made


@pytest.fixture
def own(cluster, request):
    """A namespace of the cluster that only this file uses."""
    name = request.node.name.lower().replace("_", "-").split("[")[0][:40]
    space = Namespace(cluster, f"{name}-{os.urandom(2).hex()}")
    yield space
    for item in space.items("paddlejobs", GROUP):
        cluster.api.patch(space.path("paddlejobs", item["metadata"]["name"], GROUP), {"metadata": {"finalizers": None}})
    space.remove()


@contextlib.contextmanager
def running(kubeconfig, *flags, **options):
    one = Operator(kubeconfig, *flags, **options)
    try:
        yield one
        if one.process.returncode is None:
            assert one.stop() == 0, one.text()
    finally:
        one.process.kill()
        one.process.wait()


# ---- the whole cluster ----


def upstream_like():
    """A CRD as the older operator's: no scale subresource; what the templates hold is open, too."""
    crd = yaml.safe_load(CRD.read_text())
    del crd["spec"]["versions"][0]["subresources"]["scale"]
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    for name in ("ps", "worker", "heter"):
        assert spec[name]["required"] == ["replicas"]
    return crd


def misconfigured(own):
    """I4, as the older schema takes it: the API server refuses it until it serves that schema, a moment after the apply."""

    def try_once():
        try:
            return Job(own, {"worker": {**role(1), "replicas": -1}}, "wrong")
        except ApiError as refused:
            assert refused.status == 422, refused
            return None

    return wait_for(try_once, 60, "the API server to serve the older schema")


def test_a8_crd_over_crd(cluster, own):
    with running(cluster.kubeconfig, f"--namespace={own.name}"):
        first = Job(own, {"worker": role(1)}, "first")
        first.wait_pods("worker-0")
        cluster.kubectl("apply", "-f", "-", input=upstream_like())
        try:
            second = Job(own, {"worker": role(1)}, "second")
            second.wait_pods("worker-0")
            wrong = misconfigured(own)
            wrong.wait_event("Warning", "Create", "-1")
            wrong.wait_phase("Pending")
            wrong.delete()
            wait_for(lambda: len(own.items("paddlejobs", GROUP)) == 2, 60, "the end of the misconfigured job")
        finally:
            cluster.kubectl("apply", "-f", CRD)
        first.all("running")
        assert first.wait_phase("Running") and second.get()


def test_b16_b19_all_namespaces(cluster, own):
    other = Namespace(cluster, own.name + "-2")
    with running(cluster.kubeconfig):
        jobs = [Job(space, {"worker": role(1)}) for space in (own, other)]
        for job in jobs:
            job.wait_pods("worker-0")
        jobs[0].delete()
        wait_for(lambda: not own.items("paddlejobs", GROUP), 60, "the end of the first")
        assert jobs[1].pods()
        jobs[1].delete()
        wait_for(lambda: not other.items("paddlejobs", GROUP), 60, "the end of the second")
    other.remove()


# ---- elastic ----


def port_of_ours():
    """A socket that keeps a port from all others; who sets SO_REUSEADDR, too, may listen there."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept


class Etcd:
    def __init__(self, folder):
        self.ports = port_of_ours(), port_of_ours()
        self.url, peer = (f"http://127.0.0.1:{kept.getsockname()[1]}" for kept in self.ports)
        self.process = subprocess.Popen(
            ["etcd", f"--data-dir={folder}", f"--listen-client-urls={self.url}", f"--advertise-client-urls={self.url}"]
            + [f"--listen-peer-urls={peer}", "--unsafe-no-fsync", "--log-level=error"],
            stdin=subprocess.DEVNULL,
        )
        wait_for(lambda: self.healthy(), 60, "etcd")

    def healthy(self):
        with contextlib.suppress(OSError):
            return self.call("range", key="x") is not None

    def call(self, what, **values):
        body = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        with urllib.request.urlopen(f"{self.url}/v3/kv/{what}", json.dumps(body).encode(), timeout=10) as reply:
            return json.load(reply)

    def get(self, key):
        found = self.call("range", key=key).get("kvs")
        return base64.b64decode(found[0]["value"]).decode() if found else None


@pytest.fixture
def etcd():
    with tempfile.TemporaryDirectory() as folder:
        one = Etcd(folder)
        yield one
        one.process.kill()
        one.process.wait()
        for kept in one.ports:
            kept.close()


@pytest.fixture
def silent_etcd():
    """One that takes connections and never answers; the first shows that it was asked."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        yield listener


def env_of(job, part):
    return {item["name"]: item.get("value") for item in job.pod(part)["spec"]["containers"][0]["env"]}


def test_h1_elastic(kube, operator):
    operator()
    job = Job(kube, example("elastic/resnet.yaml"))
    job.wait_pods("worker-0", "worker-1", "worker-2")
    env, spec = env_of(job, "worker-2"), job.pod("worker-2")["spec"]
    assert env["PADDLE_ELASTIC_JOB_ID"] == f"{kube.name}-resnet-elastic"
    assert (env["PADDLE_ELASTIC_NP"], env["PADDLE_ELASTIC_TIMEOUT"]) == ("3", "60")
    assert "envFrom" not in spec["containers"][0] and spec["restartPolicy"] == "OnFailure"


def test_h2_h3_h4_etcd(kube, operator, etcd):
    operator(f"--etcd-server={etcd.url}")
    job, other = (Job(kube, {"elastic": 1, "worker": role(3)}, name) for name in ("j", "other"))
    job.wait_pods("worker-0", "worker-1", "worker-2")
    other.wait_pods("worker-0", "worker-1", "worker-2")
    assert env_of(job, "worker-0")["PADDLE_ELASTIC_SERVER"] == etcd.url
    key = f"/paddle/{kube.name}-j/np"
    etcd.call("put", key=key, value="3")
    for each in (job, other):
        each.patch({"spec": {"worker": {"replicas": 5}}})
        each.wait_pods(*(f"worker-{i}" for i in range(5)))
    wait_for(lambda: etcd.get(key) == "5", 60, "the new number of workers")
    job.wait_event("Normal", "Scaled", "scaled replicas to 5")
    job.patch({"spec": {"worker": {"replicas": 4}}})
    wait_for(lambda: etcd.get(key) == "4", 60, "the smaller number of workers")
    assert etcd.get(f"/paddle/{kube.name}-other/np") is None
    assert not any(event[1] == "Scaled" for event in other.events())


def test_etcd_out_of_reach_stops_nobody_else(kube, operator):
    operator("--etcd-server=http://127.0.0.1:1")
    elastic = Job(kube, {"elastic": 1, "worker": role(2)}, "elastic")
    plain = Job(kube, {"worker": role(1)})
    plain.wait_pods("worker-0")
    elastic.wait_pods("worker-0", "worker-1")


# ---- Volcano: its kinds are there, the test plays its scheduler ----


@pytest.fixture
def gangs(cluster, own):
    install(cluster, KUBE_BIN / "volcano-crds.yaml", "podgroups.scheduling.volcano.sh")
    with running(cluster.kubeconfig, f"--namespace={own.name}", "--scheduling=volcano"):
        yield own


def set_group(space, phase):
    served = space.cluster.api.get(f"/apis/{GANG}")["resources"]
    part = "/status" if any(kind["name"] == "podgroups/status" for kind in served) else ""
    path = space.path("podgroups", "wide-ande-deep-volcano", GANG)
    space.cluster.api.request("PUT", path + part, {**space.cluster.api.get(path), "status": {"phase": phase}})


def test_h5_to_h8_h10_gang(gangs):
    job = Job(gangs, example("examples/wide_and_deep_volcano.yaml"))
    wait_for(lambda: job.owned("podgroups", GANG), 60, "the PodGroup")
    spec = gangs.get("podgroups", job.name, GANG)["spec"]
    assert (spec["minMember"], spec["minResources"], spec["queue"]) == (4, {"cpu": "1"}, "default")
    set_group(gangs, "Pending")
    job.wait_phase("Pending")
    assert job.pods() == {}
    set_group(gangs, "Inqueue")
    job.wait_pods("ps-0", "ps-1", "worker-0", "worker-1")
    pod = job.pod("ps-0")
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"] == {
        "paddle-resource": "ps",
        "scheduling.k8s.io/group-name": job.name,
        "volcano.sh/task-spec": "ps",
        "volcano.sh/job-name": job.name,
        "volcano.sh/job-version": "0",
        "volcano.sh/queue-name": "default",
    }
    job.all("failed")
    job.wait_phase("Failed")
    wait_for(lambda: not job.owned("podgroups", GANG), 60, "the end of the PodGroup")
    job.wait_event("Normal", "Deleted", f"deleted PodGroup {job.name}")


def test_h8_h9_h12_variants(gangs):
    plain = Job(gangs, {"worker": role(1, schedulerName="default-scheduler")}, "plain")
    plain.wait_pods("worker-0")
    assert plain.pod("worker-0")["spec"]["schedulerName"] == "default-scheduler"
    said = Job(gangs, {"schedulingPolicy": {"minResources": {"memory": "1Gi"}}, "worker": role(2)}, "said")
    wait_for(lambda: said.owned("podgroups", GANG), 60, "the PodGroup")
    assert gangs.get("podgroups", "said", GANG)["spec"]["minResources"] == {"memory": "1Gi"}
    assert plain.owned("podgroups", GANG) == {}


def test_h11_without_the_flag(kube, operator):
    operator()
    job = Job(kube, {"worker": role(1, schedulerName="volcano")})
    job.wait_pods("worker-0")
    pod = job.pod("worker-0")
    assert pod["spec"]["schedulerName"] == "volcano" and set(pod["metadata"]["annotations"]) == {"paddle-resource"}


# ---- the process ----


def test_i5_probes_and_metrics(kube, operator):
    one = operator()
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    for path, text in (
        ("/healthz", "ok"),
        ("/readyz", "ok"),
        ("/healthz/health", "ok"),
        ("/readyz/check", "ok"),
        ("/healthz?verbose", "[+]health ok"),
    ):
        status, body = one.http(one.health_port, path)
        assert status == 200 and body.startswith(text), path
    assert one.http(one.health_port, "/healthz/other")[0] == 404
    status, text = one.http(one.metrics_port, "/metrics")
    assert status == 200
    for name in (
        'controller_runtime_reconcile_total{controller="paddlejob",result="success"}',
        "controller_runtime_reconcile_errors_total",
        "controller_runtime_reconcile_time_seconds_bucket",
        "controller_runtime_active_workers",
        "controller_runtime_max_concurrent_reconciles",
        'workqueue_adds_total{name="paddlejob"}',
        'workqueue_depth{name="paddlejob"}',
        "workqueue_queue_duration_seconds_sum",
        "workqueue_work_duration_seconds_count",
        "workqueue_retries_total",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "rest_client_requests_total{",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
    ):
        assert "\n" + name in text, name
    assert one.metric("paddle_operator_jobs") == 1


@pytest.mark.parametrize(
    "flags,status,says",
    [
        (["-h"], 0, "--metrics-bind-address"),
        (["--help"], 0, "--initImage"),
        (["--bogus"], 2, "--bogus"),
        (["-bogus=1"], 2, "--metrics-bind-address"),
        (["--scheduling=slurm"], 2, "'slurm'"),
        (["--compat=v1"], 2, "'v1'"),
        (["--port-range=9"], 2, "START,END"),
        (["--init-limits=cpu"], 2, "NAME=AMOUNT"),
        (["--zap-log-level=loud"], 1, "loud"),
        (["--leader-elect"], 2, "not running in-cluster"),
        (["--kubeconfig=/nowhere"], 1, "/nowhere"),
    ],
)
def test_i6_flags(kube, flags, status, says):
    done = subprocess.run(
        [BIN / "paddle-operator", "--metrics-bind-address=0", "--health-probe-bind-address=0", *flags],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "KUBECONFIG": str(kube.cluster.kubeconfig)},
    )
    assert done.returncode == status, done.stderr
    assert says in (done.stdout if status == 0 else done.stderr)


def test_flags_of_the_older_operator_are_taken(kube, operator):
    operator(
        "-zap-devel",
        "--zap-devel=false",
        "--zap-encoder=json",
        "--zap-log-level",
        "2",
        "--zap-stacktrace-level=error",
        "-zap-time-encoding=iso8601",
        "-leader-elect=false",
        "--scheduling=",
        "--etcd-server=",
    )


def lease_of(kube):
    return kube.get("leases", "b2a304f2.paddlepaddle.org", "coordination.k8s.io/v1")["spec"]


def test_i7_one_of_two_leads(kube, operator):
    flags = ["--leader-elect", f"--leader-election-namespace={kube.name}"]
    first = operator(*flags)
    wait_for(lambda: first.metric(MASTER) == 1, 60, "the first leader")
    second = operator(*flags, wait=False)
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    assert second.metric(MASTER) == 0
    assert lease_of(kube)["leaseDurationSeconds"] == 15
    first.kill()
    killed = time.monotonic()
    later = Job(kube, {"worker": role(1)}, "later")
    wait_for(lambda: second.metric(MASTER) == 1, 30, "the second leader")
    assert time.monotonic() - killed <= 17 + BUSY
    later.wait_pods("worker-0")
    third = operator(*flags, wait=False)
    held = lease_of(kube)["holderIdentity"]
    assert second.stop() == 0
    assert lease_of(kube).get("holderIdentity") != held  # it is given back: the next need not wait for its end
    wait_for(lambda: third.metric(MASTER) == 1, 30, "the third leader")


def test_i8_api_server_restarts(cluster, own):
    with running(cluster.kubeconfig, f"--namespace={own.name}") as one:
        job = Job(own, {"worker": role(3)})
        job.wait_pods("worker-0", "worker-1", "worker-2")
        uids = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}
        cluster.kill("kube-apiserver")
        for kind in ("PaddleJob", "Pod", "Service", "ConfigMap"):
            wait_for(
                lambda kind=kind: re.search(rf"broke off.*\bkind\W+{kind}\b", one.text()), 60, f"{kind} in the log"
            )
        cluster.start("kube-apiserver")
        job.all("running")
        job.wait_phase("Running")
        assert {name: pod["metadata"]["uid"] for name, pod in job.pods().items()} == uids
        job.patch({"spec": {"worker": {"replicas": 4}}})
        job.wait_pods("worker-0", "worker-1", "worker-2", "worker-3")


def manifest_rules():
    """Those of the ClusterRole, and those of the Role for the lease."""
    documents = yaml.safe_load_all((ROOT / "deploy/v1/operator.yaml").read_text())
    return [rule for one in documents if one and one["kind"] in ("ClusterRole", "Role") for rule in one["rules"]]


def test_i9_rbac_of_the_manifest_is_enough(cluster, own):
    install(cluster, KUBE_BIN / "volcano-crds.yaml", "podgroups.scheduling.volcano.sh")
    kubeconfig = cluster.account(f"manager-{own.name}", own.name, manifest_rules(), everywhere=True)
    lead = ["--leader-elect", f"--leader-election-namespace={own.name}"]
    with running(kubeconfig, *lead, "--zap-log-level=debug") as one:
        job = Job(own, {"intranet": "Host", "worker": role(2)})
        job.wait_pods("worker-0", "worker-1")
        job.all("running")
        job.wait_phase("Running")
        job.wait_map()
        job.patch({"spec": {"worker": {"replicas": 1}}})
        job.wait_pods("worker-0")
        wait_for(lambda: job.map()["PADDLE_TRAINERS_NUM"] == "1", 60, "a shorter list")
        job.all("succeeded")
        job.wait_phase("Completed")
        job.wait_pods()
        job.wait_services()
        job.delete()
        wait_for(lambda: not own.items("paddlejobs", GROUP), 60, "the end of the job")

        def reasons():
            return {one["reason"] for one in own.items("events") if one["involvedObject"]["kind"] == "PaddleJob"}

        wait_for(lambda: reasons() == {"Created", "Deleted"}, 60, "the events")
        assert "is forbidden: User" not in one.text(), one.text()  # one of RBAC's; others' namespaces end meanwhile


def test_i10_sigterm(kube, operator):
    one = operator()
    for i in range(10):
        Job(kube, {"worker": role(3)}, f"j{i}")
    wait_for(lambda: kube.items("pods"), 60, "the first pod")
    began = time.monotonic()
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(PATIENCE) == 0, one.text()
    assert time.monotonic() - began < 10 + BUSY
    operator()
    wait_for(lambda: len(kube.items("pods")) == 30, 60, "all pods")


def test_i10_sigterm_while_etcd_is_silent(kube, operator, silent_etcd):
    """Jobs that wait for etcd hold up no stop: the lease is given back, and the next operator leads at once."""
    for i in range(5):
        Job(kube, {"elastic": 1, "worker": role(2)}, f"j{i}")
    lead = ["--leader-elect", f"--leader-election-namespace={kube.name}"]
    one = operator(*lead, f"--etcd-server=http://127.0.0.1:{silent_etcd.getsockname()[1]}", wait=False)
    with silent_etcd.accept()[0]:
        assert one.stop() == 0, one.text()
    assert not lease_of(kube).get("holderIdentity")
