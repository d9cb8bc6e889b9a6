"""Jobs as the objects of others' operators: TFJobs, PyTorchJobs and MPIJobs by Kubeflow's own controllers, SparkApplications
by a controller of this file that does what Spark's does with pods (doc/reference/scheduling.md, "Objects of frameworks" to
"States of the objects")."""

import contextlib
import json
import socket
import subprocess
import threading

import pytest
from conftest import wait_for

from kube import components
from kube.cluster import ApiError
from kube.fixtures import end_pod, wait_served
from kube.images import BASE
from kube.test_runtime import RULES, connect, pods

IMAGE = "test.local/base:1"
KUBEFLOW, SPARK = "kubeflow.org/v1", "sparkoperator.k8s.io/v1beta2"
PLURALS = ("tfjobs", "pytorchjobs", "mpijobs")
MORE = [
    {
        "apiGroups": ["kubeflow.org"],
        "resources": ["tfjobs", "pytorchjobs", "mpijobs"],
        "verbs": ["get", "create", "delete"],
    },
    {"apiGroups": ["sparkoperator.k8s.io"], "resources": ["sparkapplications"], "verbs": ["get", "create", "delete"]},
]


def define(cluster, *plurals):
    """The operator's own definitions, which are too large for an apply by the client."""
    for text in (components.BIN / "training-crds.yaml").read_text().split("\n---\n"):
        if any(f"name: {plural}.kubeflow.org" in text for plural in plurals):
            cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)
    for plural in plurals:
        wait_served(cluster, f"{plural}.kubeflow.org")


@contextlib.contextmanager
def training_operator(kube, tmp_path):
    """Kubeflow's controllers, for one namespace."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    with open(tmp_path / "training-operator.log", "ab") as log:
        process = subprocess.Popen(
            [
                components.BIN / "training-operator",
                f"--kubeconfig={kube.cluster.kubeconfig}",
                f"--namespace={kube.name}",
                f"--health-probe-bind-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: components.answers(f"http://{address}/healthz"), what="the training operator")
        yield process
    finally:
        process.kill()
        process.wait()


def join(server, kube, operators=("tensorflow", "pytorch", "mpi")):
    connect(server, kube, RULES + MORE)
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"operators": list(operators)}), check=0)


@pytest.fixture
def joined(server, kube_fake, tmp_path):
    define(kube_fake.cluster, *PLURALS)
    join(server, kube_fake)
    with training_operator(kube_fake, tmp_path):
        yield server, kube_fake


def submit(server, framework, image=IMAGE, command=("train",), **roles):
    listed = [{"name": name, "replicas": count, "cpu": "50m"} for name, count in roles.items()]
    return server.submit(list(command), queue="qq", image=image, framework=framework, roles=listed, grace="2s")


def custom(kube, plural, version=KUBEFLOW):
    return kube.items(plural, version, "owner=paddleflow")


def by_role(kube, role):
    """{index: pod} of the members of a role, by our labels or the operator's."""
    found = kube.items("pods", selector=f"paddle-role={role}")
    return {pod["metadata"]["name"]: pod for pod in found}


def end(kube, role, how="succeed", only=""):
    for name, pod in by_role(kube, role).items():
        if only in name:
            end_pod(kube.api, pod, how)


def environment(pod, container):
    entries = next(one for one in pod["spec"]["containers"] if one["name"] == container).get("env", [])
    names = [entry["name"] for entry in entries]
    assert len(names) == len(set(names)), names
    return {entry["name"]: entry.get("value") for entry in entries}


def left(kube):
    found = [*pods(kube), *kube.items("services")]
    for plural in PLURALS:
        found += kube.items(plural, KUBEFLOW)
    found += kube.items("roles", "rbac.authorization.k8s.io/v1")
    found += [one for one in kube.items("configmaps") if one["metadata"]["name"].startswith("j-")]
    return [thing["metadata"]["name"] for thing in found]


def check_nothing_is_left(kube):
    wait_for(lambda: not left(kube), what="all objects to go with the job")


def test_a_tfjob(joined):
    server, kube = joined
    job = submit(server, "tensorflow", pserver=1, worker=2)
    server.wait(job["id"], "running")
    name = f"j-{job['id']}-1"
    made = kube.get("tfjobs", name, KUBEFLOW)
    counts = {kind: replica["replicas"] for kind, replica in made["spec"]["tfReplicaSpecs"].items()}
    assert counts == {"PS": 1, "Worker": 2}
    assert {replica["restartPolicy"] for replica in made["spec"]["tfReplicaSpecs"].values()} == {"Never"}
    assert made["spec"]["runPolicy"]["cleanPodPolicy"] == "None"
    for index in range(2):
        pod = by_role(kube, "worker")[f"{name}-worker-{index}"]
        config = json.loads(environment(pod, "tensorflow")["TF_CONFIG"])
        assert config["task"] == {"type": "worker", "index": index}
        assert config["cluster"]["worker"] == [f"{name}-worker-{i}.{kube.name}.svc:2222" for i in range(2)]
    end(kube, "worker")
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    assert {(m["role"], m["index"]) for m in done["members"]} == {("pserver", 0), ("worker", 0), ("worker", 1)}
    check_nothing_is_left(kube)


def test_a_pytorchjob_without_a_master(joined):
    """Worker 0 leads; ranks are our indexes, and a failure is that of the member."""
    server, kube = joined
    job = submit(server, "pytorch", worker=3)
    server.wait(job["id"], "running")
    name = f"j-{job['id']}-1"
    for index, pod in enumerate([f"{name}-master-0", f"{name}-worker-0", f"{name}-worker-1"]):
        said = environment(by_role(kube, "worker")[pod], "pytorch")
        assert (said["RANK"], said["WORLD_SIZE"], said["LOCAL_RANK"]) == (str(index), "3", "0")
        assert (said["MASTER_ADDR"], said["MASTER_PORT"]) == (f"{name}-master-0", "23456")
    end(kube, "worker", "fail", only="-worker-1")
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert done["reason"].startswith("worker-2 exited with status 1"), done["reason"]
    check_nothing_is_left(kube)


def test_members_that_end_one_by_one(joined):
    """The first end takes nobody else away."""
    server, kube = joined
    job = submit(server, "pytorch", worker=2)
    server.wait(job["id"], "running")
    end(kube, "worker", only="-master-0")

    def states():
        return [member["state"] for member in sorted(server.job(job["id"])["members"], key=lambda one: one["index"])]

    wait_for(lambda: states() == ["exited", "ready"], what="the end of one member")
    server.kill()
    server.start()
    server.wait(job["id"], "running")
    assert states() == ["exited", "ready"]
    end(kube, "worker")
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
    check_nothing_is_left(kube)


def test_an_mpijob(joined):
    server, kube = joined
    job = submit(server, "mpi", command=("mpirun", "./train"), worker=2)
    server.wait(job["id"], "running")
    name = f"j-{job['id']}-1"
    launcher = by_role(kube, "master")[f"{name}-launcher"]
    assert environment(launcher, "mpi")["OMPI_MCA_orte_default_hostfile"] == "/etc/mpi/hostfile"
    assert launcher["spec"]["containers"][0]["command"] == ["mpirun", "./train"]
    assert {pod["spec"]["containers"][0]["command"][0] for pod in by_role(kube, "worker").values()} == {"sleep"}
    assert "worker-1 slots=1" in kube.get("configmaps", f"{name}-config")["data"]["hostfile"]
    end(kube, "master")
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    check_nothing_is_left(kube)


def test_cancel(joined):
    server, kube = joined
    job = submit(server, "mpi", command=("mpirun", "./train"), worker=2)
    server.wait(job["id"], "running")
    server.paddle("cancel", job["id"], check=0)
    assert server.wait(job["id"])["state"] == "cancelled"
    check_nothing_is_left(kube)


def test_a_server_killed_while_it_creates(joined):
    server, kube = joined
    for plural, version in (("services", "v1"), ("tfjobs", KUBEFLOW), ("pods", "v1")):
        job = submit(server, "tensorflow", pserver=1, worker=1)
        wait_for(lambda: kube.items(plural, version, f"paddle-job-id={job['id']}"), what=plural)  # noqa: B023
        server.kill()
        server.start()
        server.wait(job["id"], "running")
        end(kube, "worker")
        done = server.wait(job["id"])
        assert (done["state"], done["attempt"]) == ("succeeded", 1), (plural, done["reason"])
        check_nothing_is_left(kube)


def test_somebody_deletes_the_object(joined):
    server, kube = joined
    job = submit(server, "tensorflow", worker=2)
    server.wait(job["id"], "running")
    kube.api.delete(kube.path("tfjobs", f"j-{job['id']}-1", KUBEFLOW))
    wait_for(lambda: server.job(job["id"])["attempt"] == 2, what="the next attempt")
    server.wait(job["id"], "running")
    server.paddle("cancel", job["id"], check=0)
    assert server.wait(job["id"])["state"] == "cancelled"
    check_nothing_is_left(kube)


def test_an_operator_that_is_not_there(server, kube_fake, tmp_path):
    define(kube_fake.cluster, *PLURALS)
    join(server, kube_fake)
    job = submit(server, "tensorflow", worker=1)
    wait_for(
        lambda: "the operator of TFJobs does not answer" in str(server.job(job["id"])["members"]),
        what="why it waits",
    )
    assert custom(kube_fake, "tfjobs")
    with training_operator(kube_fake, tmp_path):
        server.wait(job["id"], "running")
        end(kube_fake, "worker")
        assert server.wait(job["id"])["state"] == "succeeded"
    check_nothing_is_left(kube_fake)


def test_a_cluster_without_the_definition(server, kube_node):
    join(server, kube_node, ["mpi"])
    job = wait_for_node(lambda: submit(server, "mpi", BASE, worker=1))
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert "there is no CustomResourceDefinition 'mpijobs.kubeflow.org'" in str(done["members"])
    wait_for(lambda: not pods(kube_node) and not kube_node.items("services"), what="all objects to go with the job")


def wait_for_node(submit_it):
    """The shared node may be seen a moment after the cluster."""

    def attempt():
        with contextlib.suppress(AssertionError):
            return submit_it()
        return None

    return wait_for(attempt, what="a node that can be used")


def test_on_a_real_node(server, kube_node, tmp_path):
    """What the members see is the operator's; their output, and commands beside them, come through us."""
    define(kube_node.cluster, "tfjobs")
    join(server, kube_node, ["tensorflow"])
    script = 'echo "$TF_CONFIG"; until [ -e /tmp/go ]; do sleep 0.1; done'
    with training_operator(kube_node, tmp_path):
        job = wait_for_node(lambda: submit(server, "tensorflow", BASE, ("sh", "-c", script), worker=2))
        server.wait(job["id"], "running")
        for index in (1, 0):  # with the end of worker 0 the operator takes the job for done, and ends the others
            server.paddle("exec", job["id"], "--member", f"worker-{index}", "--", "touch", "/tmp/go", check=0)
        done = server.wait(job["id"])
        assert done["state"] == "succeeded", done["reason"]
        for index in range(2):
            config = json.loads(server.member_log(job["id"], f"worker-{index}"))
            assert config["task"] == {"type": "worker", "index": index}
            assert len(config["cluster"]["worker"]) == 2
        wait_for(lambda: not pods(kube_node) and not custom(kube_node, "tfjobs"), what="all objects to go")


# What a SparkApplication must say by its operator's definition, as far as we say it.
SPARK_POD = {
    "cores": {"type": "integer", "minimum": 1},
    "coreRequest": {"type": "string"},
    "coreLimit": {"type": "string"},
    "memory": {"type": "string"},
    "memoryOverhead": {"type": "string"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    "env": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    "tolerations": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    "volumeMounts": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    "terminationGracePeriodSeconds": {"type": "integer"},
}
SPARK_SPEC = {
    "type": {"type": "string", "enum": ["Java", "Python", "Scala", "R"]},
    "mode": {"type": "string", "enum": ["cluster", "client"]},
    "sparkVersion": {"type": "string"},
    "image": {"type": "string"},
    "volumes": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    "mainApplicationFile": {"type": "string"},
    "mainClass": {"type": "string"},
    "arguments": {"type": "array", "items": {"type": "string"}},
    "restartPolicy": {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["Never", "Always", "OnFailure"]},
            "onSubmissionFailureRetries": {"type": "integer"},
            "onSubmissionFailureRetryInterval": {"type": "integer"},
        },
    },
    "driver": {"type": "object", "properties": SPARK_POD},
    "executor": {"type": "object", "properties": {**SPARK_POD, "instances": {"type": "integer", "minimum": 1}}},
}


def define_spark(cluster):
    names = {"kind": "SparkApplication", "plural": "sparkapplications", "singular": "sparkapplication"}
    spec = {"type": "object", "properties": SPARK_SPEC, "required": ["type", "sparkVersion", "driver", "executor"]}
    schema = {
        "type": "object",
        "properties": {"spec": spec, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    version = {
        "name": "v1beta2",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "sparkapplications.sparkoperator.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test's"},
        },
        "spec": {"group": "sparkoperator.k8s.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=body)
    wait_served(cluster, body["metadata"]["name"])


class SparkOperator:
    """What Spark's operator and Spark do with pods: a driver by the application, executors by the driver, which go with it
    and come again under further numbers."""

    def __init__(self, kube):
        self.kube, self.over, self.problem = kube, threading.Event(), None
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        assert not self.problem, self.problem

    def run(self):
        try:
            while not self.over.wait(0.2):
                for application in self.kube.items("sparkapplications", SPARK):
                    self.act(application)
        except Exception as problem:
            self.problem = problem

    def pod(self, application, part, name, labels, owner):
        about = application["spec"][part]
        container = {
            "name": f"spark-kubernetes-{part}",
            "image": application["spec"]["image"],
            "env": about["env"],
            "volumeMounts": about.get("volumeMounts", []),
            "resources": {"requests": {"cpu": about["coreRequest"]}},
        }
        owned = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
        version = (
            {"apiVersion": SPARK, "kind": "SparkApplication"}
            if part == "driver"
            else {"apiVersion": "v1", "kind": "Pod"}
        )
        metadata = {
            "name": name,
            "labels": {**about["labels"], "spark-role": part, **labels},
            "ownerReferences": [{**version, **owned}],
        }
        spec = {
            "restartPolicy": "Never",
            "tolerations": about.get("tolerations", []),
            "volumes": application["spec"].get("volumes", []),
            "containers": [container],
        }
        with contextlib.suppress(ApiError):  # the owner may be going
            self.kube.create("pods", {"metadata": metadata, "spec": spec})

    def say(self, application, state, **more):
        path = self.kube.path("sparkapplications", application["metadata"]["name"], SPARK) + "/status"
        with contextlib.suppress(ApiError):
            self.kube.api.patch(path, {"status": {"applicationState": {"state": state, **more}, **self.numbers}})

    numbers = {}  # noqa: RUF012

    def act(self, application):
        if "deletionTimestamp" in application["metadata"]:
            return
        name, state = application["metadata"]["name"], application.get("status", {}).get("applicationState", {})
        found = self.kube.items("pods", selector=f"sparkoperator.k8s.io/app-name={name}")
        mark = {"sparkoperator.k8s.io/app-name": name}
        driver = next((pod for pod in found if pod["metadata"]["labels"]["spark-role"] == "driver"), None)
        executors = [pod for pod in found if pod["metadata"]["labels"]["spark-role"] == "executor"]
        if application["spec"]["mainApplicationFile"] == "no-such-scheme://a.py":
            self.say(application, "FAILED", errorMessage="No FileSystem for scheme")
        elif not driver and not state:
            self.pod(application, "driver", f"{name}-driver", mark, application)
            self.say(application, "SUBMITTED")
        elif driver and driver["status"]["phase"] == "Running":
            wanted = application["spec"]["executor"]["instances"]
            made = application.get("status", {}).get("made", 0)
            for number in range(made + 1, made + 1 + wanted - len(executors)):
                self.pod(
                    application, "executor", f"{name}-exec-{number}", {**mark, "spark-exec-id": str(number)}, driver
                )
                self.numbers = {"made": number}
            self.say(application, "RUNNING")
        elif driver and driver["status"]["phase"] in ("Succeeded", "Failed"):
            for pod in executors:
                with contextlib.suppress(ApiError):
                    self.kube.api.delete(self.kube.path("pods", pod["metadata"]["name"]))
            self.say(application, "COMPLETED" if driver["status"]["phase"] == "Succeeded" else "FAILED")


@pytest.fixture
def sparking(server, kube_fake):
    define_spark(kube_fake.cluster)
    join(server, kube_fake, ["spark"])
    with SparkOperator(kube_fake):
        yield server, kube_fake


def submit_spark(server, file):
    roles = [
        {"name": "driver", "replicas": 1, "cpu": "50m", "memory": "1Gi"},
        {"name": "executor", "replicas": 2, "cpu": "50m", "memory": "2Gi"},
    ]
    env = {"PF_JOB_SPARK_MAIN_FILE": file, "PF_JOB_SPARK_ARGUMENTS": "--n 3"}
    reply = server.post("/v1/jobs", {"queue": "qq", "image": IMAGE, "framework": "spark", "roles": roles, "env": env})
    assert reply.status == 201, reply.body
    return reply.json


def test_a_spark_application(sparking):
    """Executors come and go as Spark wants them; the driver's end is the job's."""
    server, kube = sparking
    job = submit_spark(server, "local:///app/train.py")
    server.wait(job["id"], "running")
    name = f"j-{job['id']}-1"
    spec = kube.get("sparkapplications", name, SPARK)["spec"]
    assert (spec["type"], spec["mode"], spec["mainApplicationFile"]) == ("Python", "cluster", "local:///app/train.py")
    assert spec["arguments"] == ["--n", "3"]
    assert (spec["driver"]["memory"], spec["executor"]["memory"]) == ("640m", "1664m")
    kube.api.delete(kube.path("pods", f"{name}-exec-1"))
    wait_for(lambda: f"{name}-exec-3" in by_role(kube, "executor"), what="another executor")
    assert server.job(job["id"])["state"] == "running"
    end(kube, "driver")
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
    wait_for(lambda: not pods(kube) and not custom(kube, "sparkapplications", SPARK), what="all objects to go")


def test_an_application_that_cannot_be_submitted(sparking):
    server, kube = sparking
    job = submit_spark(server, "no-such-scheme://a.py")
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert "FAILED: No FileSystem for scheme" in str(done["members"]), done
    wait_for(lambda: not custom(kube, "sparkapplications", SPARK), what="all objects to go")
