"""TrainingJobs against a real API server whose controller manager makes the pods.  No node is there: the test writes what a
kubelet would say of them.  What follows from the objects alone is tried in src/operator/test/training.c."""

import json
import threading
import time

import pytest
import yaml
from conftest import ROOT, wait_for
from pdj import ALL, Operator, install, operator_cluster, operator_fixture  # noqa: F401
from tj import CRD, GROUP, LABELS, MANIFEST, Training, spec

from kube import proxy

SENTENCE = "max-instances should equal to min-instances when fault_tolerant is disabled"


@pytest.fixture(name="training")
def training_fixture(kube, operator):
    install(kube.cluster, MANIFEST, CRD)
    one = operator()
    one.wait_log("training jobs are looked after")

    def start(body, name="j"):
        return Training(kube, body, name)

    start.operator = one
    return start


def test_names_and_columns(kube, training):
    training(spec(), "simple").wait_phase("creating")
    for word in ("tj", "trainingjob", "trainingjobs"):
        lines = kube.kubectl("get", word).splitlines()
        assert lines[0].split() == ["NAME", "PHASE", "REASON", "AGE"]
        assert lines[1].split()[:2] == ["simple", "creating"]


def test_metrics(training):
    """Of both controllers, each family of metrics in one piece."""
    one = training.operator
    job = training(spec())
    job.wait_pods("pserver", 1)
    assert one.metric("paddle_operator_training_jobs") == 1
    wait_for(
        lambda: one.metric('controller_runtime_reconcile_total{controller="trainingjob",result="success"}') > 0,
        what="a pass",
    )
    text = one.http(one.metrics_port, "/metrics")[1]
    for name in ("controller_runtime_reconcile_time_seconds_count", "controller_runtime_active_workers"):
        for controller in ("paddlejob", "trainingjob"):
            assert f'\n{name}{{controller="{controller}"}} ' in text
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")]
    assert len(families) == len(set(families))
    now = None
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            now = line.split()[2]
        else:
            assert line.startswith(now), line


def test_order_and_success(training):
    """Master, pservers, trainers, each once the one before is ready; at the end only the trainers' Job stays."""
    job = training(spec(fault_tolerant=True))
    job.wait_phase("creating")
    job.wait_pods("master", 1)
    assert not job.member("pserver") and not job.member("trainer")
    job.all("master", 1, "Running")
    job.wait_pods("pserver", 1)
    assert not job.member("trainer")
    job.all("pserver", 1, "Running")
    job.wait_phase("running")
    job.all("trainer", 2, "Running")
    job.wait_states({"MASTER": "running", "PSERVER": "running", "TRAINER": "running"})
    job.all("trainer", 2, "Succeeded")
    assert job.wait_phase("succeeded")["reason"] == "Success!"
    job.wait_no_member("master")
    job.wait_no_member("pserver")
    assert job.member("trainer")["status"]["succeeded"] == 2
    job.wait_states({"MASTER": "", "PSERVER": "", "TRAINER": "succeeded"})


def test_71_plain_failure(training):
    """One failure ends the job; the pservers are released, the other trainer stops, the failed one stays."""
    job = training(spec())
    job.all("pserver", 1, "Running")
    job.all("trainer", 2, "Running")
    failed = job.pods("trainer")[0]
    job.set(failed, "Failed")
    assert job.wait_phase("failed")["reason"] == "at least one trainer failed!"
    job.wait_no_member("pserver")
    left = job.wait_pods("trainer", 1)
    assert left[0]["metadata"]["name"] == failed["metadata"]["name"]


def test_plain_success(training):
    job = training(spec())
    job.all("pserver", 1, "Running")
    for pod in job.wait_pods("trainer", 2):
        job.set(pod, "Succeeded")
    assert job.wait_phase("succeeded")["reason"] == "all trainer have succeeded!"
    job.wait_no_member("pserver")


def test_elastic(kube, training):
    """The trainers' number is others' to change, and a failed trainer is replaced; all failed is the end."""
    job = training(spec(2, 4, fault_tolerant=True))
    job.all("master", 1, "Running")
    job.all("pserver", 1, "Running")
    job.all("trainer", 2, "Running")
    made = job.member("trainer")["spec"]
    assert made["parallelism"] == 2 and "completions" not in made
    path = kube.path("jobs", "j-trainer", "batch/v1")
    kube.api.patch(path, {"spec": {"parallelism": 4}})
    job.all("trainer", 4, "Running")
    assert job.member("trainer")["spec"]["parallelism"] == 4
    pods = job.pods("trainer")
    for pod in pods[:3]:
        job.set(pod, "Failed")
    wait_for(lambda: job.member("trainer")["status"].get("failed") == 3, 60, "three failures")
    assert job.status()["phase"] == "running"
    job.set(pods[3], "Failed")
    assert job.wait_phase("failed")["reason"] == "all trainer have failed!"
    job.wait_no_member("master")
    job.wait_no_member("pserver")
    wait_for(lambda: job.member("trainer")["status"].get("active", 0) == 0, 60, "no trainer that runs on")
    assert job.member("trainer")["spec"]["parallelism"] == 0


def test_65_elastic_needs_fault_tolerance(kube, training):
    job = training(spec(1, 2))
    assert job.wait_phase("failed")["reason"] == SENTENCE
    assert not job.member("pserver") and not job.member("trainer")
    wait_for(
        lambda: any(e["reason"] == "Failed" and SENTENCE in e["message"] for e in kube.items("events")), 60, "the event"
    )


def test_refused_is_rolled_back(training):
    """What was made before a member that the server never takes goes again."""
    job = training(spec(pservers=1, VolumeMounts=[]), "j" * 56)  # `-trainer` makes the Job's name 64 long
    job.all("pserver", 1, "Running")
    assert "63" in job.wait_phase("failed")["reason"]
    job.wait_no_member("pserver")
    assert not job.member("trainer")


def test_70_deletion(training):
    job = training(spec(fault_tolerant=True))
    job.all("master", 1, "Running")
    job.all("pserver", 1, "Running")
    job.wait_pods("trainer", 2)
    job.delete()
    for role in LABELS:
        job.wait_no_member(role)


def test_somebody_elses_object(kube, training):
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    kube.create(
        "replicasets",
        {
            "metadata": {"name": "j-pserver"},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        },
        "apps/v1",
    )
    job = training(spec())
    wait_for(
        lambda: any("belongs to somebody else" in event["message"] for event in kube.items("events")), 60, "the warning"
    )
    assert job.status()["phase"] == "creating"
    kube.api.delete(kube.path("replicasets", "j-pserver", "apps/v1"))
    job.wait_pods("pserver", 1)


def test_restart_of_the_operator(operator, training):
    """What ended while nobody looked is seen, and nothing is made twice or written in steady state."""
    job = training(spec())
    job.all("pserver", 1, "Running")
    job.all("trainer", 2, "Running")
    job.wait_states({"PSERVER": "running", "TRAINER": "running"})
    before = {role: job.member(role)["metadata"]["uid"] for role in ("pserver", "trainer")}
    training.operator.kill()
    version = job.get()["metadata"]["resourceVersion"]
    operator().wait_log("training jobs are looked after")
    time.sleep(1)  # nothing is to be waited for
    assert job.get()["metadata"]["resourceVersion"] == version
    assert {role: job.member(role)["metadata"]["uid"] for role in before} == before
    job.all("trainer", 2, "Succeeded")
    job.wait_phase("succeeded")


def owner_of(item):
    return item and item["metadata"]["ownerReferences"][0]["uid"]


def test_status_of_the_one_before(kube, operator):
    """A status that comes late is of the job that was looked at, not of one that has its name by then."""
    install(kube.cluster, MANIFEST, CRD)
    account = kube.cluster.account(f"operator-{kube.name}", kube.name, ALL, everywhere=True)
    arrived, go = threading.Event(), threading.Event()

    def hold(exchange):
        if json.loads(exchange.body)["status"].get("phase") == "failed":
            arrived.set()
            assert go.wait(300)
        exchange.pass_on()

    with proxy.Proxy(kube.cluster) as between:
        operator(kubeconfig=between.kubeconfig(account)).wait_log("training jobs are looked after")
        job = Training(kube, spec())
        job.all("pserver", 1, "Running")
        job.wait_phase("running")
        job.all("trainer", 2, "Running")
        job.wait_states({"PSERVER": "running", "TRAINER": "running"})
        between.fault(hold, "PATCH", "/trainingjobs/j/status", times=1000)
        job.set(job.pods("trainer")[0], "Failed")
        assert arrived.wait(120)
        job.delete()
        wait_for(lambda: not kube.items("trainingjobs", GROUP), 60, "its end")
        job = Training(kube, spec())
        uid = job.get()["metadata"]["uid"]
        # the collector may learn late of a new kind's jobs
        kube.kubectl("delete", "--ignore-not-found", "--wait=false", "replicaset/j-pserver", "job/j-trainer")
        go.set()
        wait_for(lambda: owner_of(job.member("pserver")) == uid, 60, "its pservers")
        assert job.wait_phase("creating")["reason"] == ""


def test_killed_at_every_step(kube, operator):
    """Each step of a job is another operator's; nothing is made twice, and what is released stays so."""
    install(kube.cluster, MANIFEST, CRD)
    job = Training(kube, spec(fault_tolerant=True))
    made = {}

    def step(done, what):
        one = operator()
        wait_for(done, 60, what)
        one.kill()
        for role, uid in made.items():
            assert job.member(role)["metadata"]["uid"] == uid
        made.update({role: job.member(role)["metadata"]["uid"] for role in LABELS if job.member(role)})

    step(lambda: job.member("master"), "the master")
    job.all("master", 1, "Running")
    step(lambda: job.member("pserver"), "the pserver")
    job.all("pserver", 1, "Running")
    step(lambda: job.member("trainer"), "the trainers")
    job.all("trainer", 2, "Succeeded")
    wait_for(lambda: job.member("trainer")["status"].get("succeeded") == 2, 60, "the end of the trainers")
    del made["master"], made["pserver"]
    step(lambda: job.status().get("phase") == "succeeded", "the end of the job")
    operator()
    job.wait_no_member("master")
    job.wait_no_member("pserver")
    assert job.status()["reason"] == "Success!"


def test_crd_that_comes_later():
    """An operator that finds no TrainingJobs looks for them again."""
    with operator_cluster("training") as cluster:
        one = Operator(cluster.kubeconfig)
        assert "training jobs" not in one.text()
        install(cluster, MANIFEST, CRD)
        one.wait_log("training jobs are looked after")
        assert one.stop() == 0


def test_free_form(training):
    """Members that people write and the contract does not know; nothing behind a colon; the older name of a GPU."""
    body = spec(
        VolumeMounts=[{"name": "v", "mountPath": "/d"}], volumes=[{"name": "v", "emptyDir": {}}], other={"x": 1}
    )
    body["trainer"]["resources"] = {"limits": {"alpha.kubernetes.io/nvidia-gpu": 1}}
    body["trainer"]["passes"] = 3
    body["master"] = {"resources": None, "etcd-endpoint": None}
    job = training(body)
    job.all("pserver", 1, "Running")
    container = job.wait_pods("trainer", 2)[0]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert {"name": "v", "mountPath": "/d"} in container["volumeMounts"]
    assert {"name": "PADDLE_INIT_NUM_PASSES", "value": "3"} in container["env"]
    assert job.get()["spec"]["other"] == {"x": 1}


def test_host_network(kube, training):
    """A port manager writes the ports, then the count; until then there is no pod."""
    job = training(spec(host_network=True))
    made = job.wait_member("pserver")
    assert made["spec"]["replicas"] == 0
    assert made["metadata"]["annotations"] == {
        "port-manager/hostnetwork": "true",
        "port-manager/rc.replicas": "1",
    }
    kube.api.patch(kube.path("replicasets", "j-pserver", "apps/v1"), {"spec": {"replicas": 1}})
    assert job.wait_pods("pserver", 1)[0]["spec"]["hostNetwork"] is True
    job.all("pserver", 1, "Running")
    made = job.wait_member("trainer")
    assert made["spec"]["parallelism"] == 0 and made["metadata"]["annotations"]["port-manager/parallelism"] == "2"
    assert job.wait_phase("running")
    kube.api.patch(kube.path("jobs", "j-trainer", "batch/v1"), {"spec": {"parallelism": 2}})
    job.all("trainer", 2, "Succeeded")
    job.wait_phase("succeeded")


def rules_of(file):
    documents = yaml.safe_load_all((ROOT / "deploy/v1" / file).read_text())
    return [rule for one in documents if one and one["kind"] in ("ClusterRole", "Role") for rule in one["rules"]]


def test_rights_of_the_manifests_are_enough(kube, operator):
    """For a whole life, with an object of somebody else in the way and trainers that have to be stopped."""
    install(kube.cluster, MANIFEST, CRD)
    rules = rules_of("operator.yaml") + rules_of("trainingjob.yaml")
    one = operator(kubeconfig=kube.cluster.account(f"training-{kube.name}", kube.name, rules, everywhere=True))
    one.wait_log("training jobs are looked after")
    job = Training(kube, spec(fault_tolerant=True))
    job.fail()
    job.delete()
    job.wait_no_member("trainer")

    def reasons():
        return {e["reason"] for e in kube.items("events") if e["involvedObject"]["kind"] == "TrainingJob"}

    wait_for(lambda: reasons() == {"Created", "Deleted", "Failed"}, 60, "the events")
    assert "is forbidden: User" not in one.text(), one.text()  # one of RBAC's; others' namespaces end meanwhile


def test_plain_commands_on_a_real_node(kube_node, request):
    """The launcher is a script of this test: trainers that start after their pservers, and know them by the environment."""
    kube = kube_node
    install(kube.cluster, MANIFEST, CRD)
    install(kube.cluster, ROOT / "deploy/v1/crd.yaml", "paddlejobs.batch.paddlepaddle.org")
    script = """#!/bin/sh
case $1 in
start_pserver) trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done ;;
start_trainer) echo "$PADDLE_JOB_NAME $TRAINERS $PSERVERS $PADDLE_INIT_PORT $NAMESPACE $POD_IP"; sh -c "$ENTRY" ;;
esac
"""
    kube.create("configmaps", {"metadata": {"name": "launcher"}, "data": {"paddle_k8s": script}})
    body = spec(
        image="test.local/base:1",
        imagePullPolicy="Never",
        volumes=[{"name": "launcher", "configMap": {"name": "launcher", "defaultMode": 0o755}}],
        VolumeMounts=[{"name": "launcher", "mountPath": "/usr/local/bin"}],
    )
    # It ends a little later: of a container that ends at once containerd may lose the end of the log.
    body["trainer"].update(entrypoint="echo trained; sleep 2", resources={})
    one = Operator(kube.cluster.kubeconfig, f"--namespace={kube.name}")
    request.addfinalizer(one.kill)
    one.wait_log("training jobs are looked after")
    job = Training(kube, body)
    assert job.wait_phase("succeeded")["reason"] == "all trainer have succeeded!"
    job.wait_no_member("pserver")
    for pod in job.pods("trainer"):
        text = kube.kubectl("logs", pod["metadata"]["name"])
        assert text == f"j 2 1 7164 {kube.name} {pod['status']['podIP']}\ntrained\n"
    job.delete()
    job.wait_no_member("trainer")
    assert one.stop() == 0
