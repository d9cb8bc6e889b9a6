"""The cases about jobs of doc/reference/paddle-operator.md, "Conformance cases" (A to G), by their ids, against a real API server.  No node is
there: the test writes what a kubelet would say of the pods.  What follows from the objects alone is tried in src/operator/test/cases.c."""

import time

import pytest
import yaml
from conftest import ROOT, wait_for
from kube.cluster import ApiError
from pdj import FINALIZER, GROUP, Job, example, operator_fixture, role  # noqa: F401

EXAMPLES = {
    "examples/deepfm.yaml": "deepfm",
    "examples/recognize_digits.yaml": "recognize-digits",
    "examples/resnet.yaml": "resnet",
    "examples/simple.yaml": "simple",
    "examples/wide_and_deep.yaml": "wide-ande-deep",
    "examples/wide_and_deep_podip.yaml": "wide-ande-deep-podip",
    "examples/wide_and_deep_service.yaml": "wide-ande-deep-service",
    "examples/wide_and_deep_volcano.yaml": "wide-ande-deep-volcano",
    "elastic/resnet.yaml": "resnet-elastic",
}


def test_a1_names_and_columns(kube, operator):
    operator()
    job = Job(kube, {"worker": role(2)}, "simple")
    job.wait_phase("Pending")
    for word in ("pdj", "paddlejob", "paddlejobs"):
        lines = kube.kubectl("get", word).splitlines()
        assert lines[0].split() == ["NAME", "STATUS", "MODE", "AGE"]
        assert lines[1].split()[:3] == ["simple", "Pending", "Collective"]


def test_a2_examples_apply_unmodified(kube, operator):
    for file, name in EXAMPLES.items():
        kube.kubectl("apply", "-f", ROOT / "deploy" / file)
        assert kube.get("paddlejobs", name, GROUP)


def test_a3_unknown_policy_is_never(kube, operator):
    operator()
    job = Job(kube, example("examples/deepfm.yaml"))
    job.wait_pods("ps-0", "ps-1", "worker-0", "worker-1")
    job.all("succeeded")
    job.wait_phase("Completed")
    assert len(job.pods()) == 4


@pytest.mark.parametrize(
    "case,spec,says",
    [
        ("A4", {"worker": {"template": role(1)["template"]}}, "spec.worker.replicas"),
        (
            "A5",
            {"worker": {"replicas": 1, "template": {"spec": {"containers": [{"image": "i"}]}}}},
            "containers[0].name",
        ),
        ("replicas as text", {"worker": {"replicas": "1"}}, "spec.worker.replicas"),
        ("negative", {"worker": {**role(1), "replicas": -1}}, "spec.worker.replicas"),  # of what can be scaled
        ("no containers", {"ps": {"replicas": 1, "template": {"spec": {}}}}, "spec.ps.template.spec.containers"),
    ],
)
def test_a4_a5_refused(kube, operator, case, spec, says):
    with pytest.raises(ApiError) as refused:
        Job(kube, spec)
    assert refused.value.status == 422 and says in str(refused.value)


@pytest.mark.parametrize(
    "spec",
    [{}, {"worker": role(1, containers=[])}, {"intranet": "x", "cleanPodPolicy": "y"}],
)
def test_what_the_server_accepts(kube, operator, spec):
    Job(kube, spec)


def test_a6_template_metadata(kube, operator):
    operator()
    spec = {"worker": role(1)}
    spec["worker"]["template"]["metadata"] = {"labels": {"l": "1"}, "annotations": {"a": "2"}}
    job = Job(kube, spec)
    job.wait_pods("worker-0")
    metadata = job.pod("worker-0")["metadata"]
    assert metadata["labels"]["l"] == "1" and metadata["annotations"]["a"] == "2"


def test_a7_status_is_a_subresource(kube, operator):
    job = Job(kube, {"worker": role(1)})
    body = job.get()
    body["spec"]["worker"]["replicas"], body["status"] = 5, {"phase": "Running"}
    kube.api.request("PUT", kube.path("paddlejobs", "j", GROUP) + "/status", body)
    assert job.get()["spec"]["worker"]["replicas"] == 1 and job.status() == {"phase": "Running"}


def test_scale_subresource(kube, operator):
    operator()
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    kube.kubectl("scale", "pdj/j", "--replicas=3")
    job.wait_pods("worker-0", "worker-1", "worker-2")


def test_b1_b14_creation(kube, operator):
    operator()
    job = Job(kube, example("examples/simple.yaml"))
    job.wait_pods("worker-0", "worker-1")
    job.wait_services("worker-0", "worker-1")
    status = job.wait_phase("Pending")
    assert status["mode"] == "Collective" and job.map() is None
    assert job.get()["metadata"]["finalizers"] == [FINALIZER]


def test_b2_roles(kube, operator):
    operator()
    job = Job(kube, example("examples/wide_and_deep.yaml"))
    job.wait_pods("ps-0", "ps-1", "worker-0", "worker-1")
    job.wait_services("ps-0", "ps-1", "worker-0", "worker-1")
    assert job.wait_phase("Pending")["mode"] == "PS"


def test_b3_to_b9_pods_and_services(kube, operator):
    operator()
    job = Job(kube, example("examples/wide_and_deep.yaml"))
    job.wait_pods("ps-0", "ps-1", "worker-0", "worker-1")
    job.wait_services("ps-0", "ps-1", "worker-0", "worker-1")
    for part, word in (("ps-1", "PSERVER"), ("worker-1", "TRAINER")):
        pod, name = job.pod(part), f"{job.name}-{part}"
        env = pod["spec"]["containers"][0]["env"]
        assert [item["name"] for item in env] == [
            "POD_IP",
            "PADDLE_TRAINER_ID",
            "TRAINING_ROLE",
            "PADDLE_TRAINING_ROLE",
        ]
        assert env[0]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
        assert [item["value"] for item in env[1:]] == ["1", word, word]
        assert pod["spec"]["containers"][0]["envFrom"] == [{"configMapRef": {"name": job.name}}]
        owner = pod["metadata"]["ownerReferences"][0]
        assert owner["controller"] and owner["blockOwnerDeletion"] and owner["uid"] == job.get()["metadata"]["uid"]
        assert (
            pod["spec"]["hostname"] == pod["spec"]["subdomain"] == pod["metadata"]["labels"]["paddle-res-name"] == name
        )
        assert pod["metadata"]["annotations"]["paddle-resource"] == part.split("-")[0]
        init = pod["spec"]["initContainers"]
        assert [item["name"] for item in init] == ["coord-paddle"] and init[0][
            "image"
        ] == "docker.io/library/alpine:3.10"
        service = kube.get("services", name)["spec"]
        assert service["clusterIP"] == "None" and service["publishNotReadyAddresses"]
        assert service["selector"] == {"paddle-res-name": name}
        assert [(p["name"], p["port"], p["targetPort"]) for p in service["ports"]] == [
            (f"p-{i}", 36000 + i, 36000 + i) for i in range(20)
        ]


def test_b10_no_init_image(kube, operator):
    operator("--initImage=")
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    assert "initContainers" not in job.pod("worker-0")["spec"]


def test_d18_resources_of_the_init_container(kube, operator):
    operator("-init-limits", "cpu=100m,memory=64Mi", "--init-requests=cpu=20m")
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    assert job.pod("worker-0")["spec"]["initContainers"][0]["resources"] == {
        "limits": {"cpu": "100m", "memory": "64Mi"},
        "requests": {"cpu": "20m", "memory": "64Mi"},
    }


def test_b15_other_namespaces_are_left_alone(kube, operator):
    operator("--namespace=another")  # the last one counts
    job = Job(kube, {"worker": role(1)})
    ours = operator()
    job.wait_pods("worker-0")
    ours.stop()
    other = Job(kube, {"worker": role(1)}, "other")
    time.sleep(1)  # nothing is to be waited for
    assert "status" not in other.get() and "finalizers" not in other.get()["metadata"]


def test_b17_d17_quota(kube, operator):
    kube.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    wait_for(lambda: kube.get("resourcequotas", "q").get("status", {}).get("hard"), 60, "the quota")
    operator()
    job = Job(kube, {"worker": role(2)})
    job.wait_event("Warning", "Create", "exceeded quota")
    wait_for(job.pods, 60, "the one pod")
    assert len(job.pods()) == 1
    kube.api.delete(kube.path("resourcequotas", "q"))
    job.wait_pods("worker-0", "worker-1")


def test_b18_long_name(kube, operator):
    one = operator()
    job = Job(kube, {"worker": role(1)}, "j" * 60)
    job.wait_event("Warning", "Create", "63 is the most")
    job.wait_phase("Pending")
    assert job.pods() == {} and job.owned("services") == {}
    before = one.metric('workqueue_adds_total{name="paddlejob"}')
    time.sleep(1)
    assert one.metric('workqueue_adds_total{name="paddlejob"}') - before <= 1


def test_c1_to_c4_config_map(kube, operator):
    operator()
    job = Job(kube, example("examples/simple.yaml"))
    job.wait_pods("worker-0", "worker-1")
    job.set("worker-1", "coord", "10.0.0.2")
    wait_for(lambda: job.status().get("worker", {}).get("starting") == 1, 60, "one starting pod")
    assert job.map() is None
    job.set("worker-0", "coord", "10.0.0.1")
    data = job.wait_map()
    port = int(data["PADDLE_PORT"])
    assert 36000 <= port < 56000
    assert data == {
        "TRAINER_PORTS_NUM": "20",
        "PADDLE_PORT": str(port),
        "PADDLE_TRAINERS": "10.0.0.1,10.0.0.2",
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_TRAINER_ENDPOINTS": f"10.0.0.1:{port},10.0.0.2:{port}",
    }
    assert kube.get("configmaps", "simple")["metadata"]["labels"] == {"paddle-res-name": "simple"}


def test_c5_c6_service_mode(kube, operator):
    operator()
    job = Job(kube, example("examples/wide_and_deep_service.yaml"))
    job.wait_pods("ps-0", "ps-1", "worker-0", "worker-1")
    job.all("coord")
    data, name = job.wait_map(), job.name
    assert data["PADDLE_PSERVERS_IP_PORT_LIST"] == f"{name}-ps-0:36000,{name}-ps-1:36000"
    assert data["PADDLE_TRAINERS"] == f"{name}-worker-0,{name}-worker-1"
    assert data["PADDLE_GLOO_HTTP_ENDPOINT"] == f"{name}-ps-0:36018"
    assert data["PADDLE_PORT"] == "36000"


def test_c10_c11_config_map_follows(kube, operator):
    operator()
    job = Job(kube, {"worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    port = job.wait_map()["PADDLE_PORT"]
    kube.api.delete(kube.path("configmaps", "j"))
    job.wait_map()
    uid = job.pod("worker-1")["metadata"]["uid"]
    kube.api.delete(kube.path("pods", "j-worker-1"))
    wait_for(lambda: "j-worker-1" in job.pods() and job.pod("worker-1")["metadata"]["uid"] != uid, 60, "a new pod")
    job.set("worker-1", "running", "10.9.9.9")
    wait_for(lambda: (job.map() or {}).get("PADDLE_TRAINERS") == "10.0.1.0,10.9.9.9", 60, "the new address")
    assert job.map()["PADDLE_PORT"] == port


def test_n2_n3_d12_host_mode(kube, operator):
    first = operator("--port-range", "41000,41100")
    jobs = [Job(kube, {"intranet": "Host", "worker": role(1)}, name) for name in ("a", "b")]
    for job in jobs:
        job.wait_pods("worker-0")
        spec = job.pod("worker-0")["spec"]
        assert (
            spec["hostNetwork"] and spec["dnsPolicy"] == "ClusterFirstWithHostNet" and spec["restartPolicy"] == "Never"
        )
        job.all("coord")
        job.wait_map()
    ports = {job.get()["metadata"]["annotations"]["host-port"] for job in jobs}
    assert ports == {"41020", "41040"} and {job.map()["PADDLE_PORT"] for job in jobs} == ports
    first.kill()
    operator("--port-range", "41000,41100")  # knows by the annotations what is taken
    last = Job(kube, {"intranet": "Host", "worker": role(1)}, "c")
    last.wait_pods("worker-0")
    last.all("coord")
    last.wait_map()
    assert last.get()["metadata"]["annotations"]["host-port"] == last.map()["PADDLE_PORT"] == "41060"


def test_e1_to_e9_phases(kube, operator):
    operator()
    job = Job(kube, {"cleanPodPolicy": "Never", "worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    wait_for(lambda: job.wait_phase("Pending").get("worker", {}).get("pending") == 2, 60, "two pending pods")
    job.all("coord")
    wait_for(lambda: job.wait_phase("Starting")["worker"].get("starting") == 2, 60, "two starting pods")
    job.all("running")
    started = job.wait_phase("Running")["startTime"]
    job.set("worker-1", "unready")
    assert job.wait_phase("Starting")["startTime"] == started
    job.set("worker-1", "running")
    assert job.wait_phase("Running")["startTime"] == started
    job.set("worker-0", "succeeded")
    wait_for(lambda: job.status()["worker"].get("succeeded") == 1, 60, "one succeeded pod")
    assert job.status()["phase"] == "Running"
    job.set("worker-1", "succeeded")
    status = job.wait_phase("Completed")
    assert status["completionTime"] and [ref["name"] for ref in status["worker"]["refs"]] == [
        "j-worker-0",
        "j-worker-1",
    ]
    pod = job.pod("worker-0")["metadata"]
    ref = {key: value for key, value in status["worker"]["refs"][0].items() if key != "resourceVersion"}
    assert ref == {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "namespace": kube.name, "uid": pod["uid"]}


def test_e9_e11_failure(kube, operator):
    operator()
    job = Job(kube, {"ps": role(1), "worker": role(1)})
    job.wait_pods("ps-0", "worker-0")
    job.set("ps-0", "coord")
    job.set("worker-0", "failed")
    assert job.wait_phase("Failed")["completionTime"]
    assert len(job.pods()) == 2


def test_e12_d10_no_servers(kube, operator):
    operator()
    job = Job(kube, {"ps": role(0), "worker": role(1)})
    job.wait_pods("worker-0")
    job.all("running")
    job.wait_phase("Running")
    assert job.wait_map()["PADDLE_TRAINERS"] == "10.0.1.0"


def test_e13_empty_spec(kube, operator):
    operator()
    job = Job(kube, {})
    job.wait_event("Warning", "Create", "none of the roles")
    assert job.wait_phase("Pending")


def test_e17_d19_steady_state(kube, operator):
    one = operator()
    job = Job(kube, {"worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    job.wait_phase("Running")
    job.wait_map()
    line = 'controller_runtime_reconcile_total{controller="paddlejob",result="success"}'
    kube.api.patch(kube.path("pods", "j-worker-0"), {"metadata": {"annotations": {"touch": "1"}}})
    before, version = one.metric(line), job.get()["metadata"]["resourceVersion"]
    kube.api.patch(kube.path("pods", "j-worker-0"), {"metadata": {"annotations": {"touch": "2"}}})
    wait_for(lambda: one.metric(line) > before, 60, "another pass")
    assert job.get()["metadata"]["resourceVersion"] == version


def test_e18_killed_and_started_again(kube, operator):
    first = operator()
    job = Job(kube, {"worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    job.wait_phase("Running")
    port, uids = job.wait_map()["PADDLE_PORT"], {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}
    first.kill()
    operator()
    job.set("worker-0", "unready")
    job.wait_phase("Starting")
    assert job.map()["PADDLE_PORT"] == port
    assert {name: pod["metadata"]["uid"] for name, pod in job.pods().items()} == uids


@pytest.mark.parametrize(
    "policy,state,cleaned",
    [
        ("", "succeeded", True),
        ("", "failed", False),
        ("OnCompletion", "succeeded", True),
        ("OnCompletion", "failed", False),
        ("OnFailure", "failed", True),
        ("Never", "succeeded", False),
        ("Always", "failed", True),
    ],
)
def test_g1_to_g5_cleaning(kube, operator, policy, state, cleaned):
    operator()
    job = Job(kube, {"cleanPodPolicy": policy, "worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    job.wait_services("worker-0", "worker-1")
    job.all("running")
    job.wait_map()
    job.set("worker-0", state)
    if state == "succeeded":
        job.set("worker-1", state)
    job.wait_phase("Completed" if state == "succeeded" else "Failed")
    if cleaned:
        job.wait_pods()
        job.wait_services()
        wait_for(lambda: "worker" not in job.status(), 60, "a status without roles")
    assert job.map() and (cleaned or len(job.pods()) == 2)


def test_g6_d9_finished_jobs_stay_finished(kube, operator):
    operator()
    job = Job(kube, {"cleanPodPolicy": "Never", "worker": role(1)})
    job.wait_pods("worker-0")
    job.all("succeeded")
    job.wait_phase("Completed")
    job.patch({"spec": {"worker": {"replicas": 2}}})
    kube.api.delete(kube.path("pods", "j-worker-0"))
    wait_for(lambda: "worker" not in job.status(), 60, "a status without pods")
    assert job.pods() == {} and job.status()["phase"] == "Completed"


def test_g8_deletion(kube, operator):
    operator()
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    wait_for(lambda: FINALIZER in job.get()["metadata"].get("finalizers", []), 60, "our finalizer")
    job.patch({"metadata": {"finalizers": [FINALIZER, "example.com/other"]}})
    job.delete()
    job.wait_phase("Terminating")
    wait_for(lambda: job.get()["metadata"]["finalizers"] == ["example.com/other"], 60, "the end of our finalizer")
    job.patch({"metadata": {"finalizers": None}})
    for kind in ("pods", "services", "paddlejobs"):
        wait_for(
            lambda kind=kind: not kube.items(kind, GROUP if kind == "paddlejobs" else "v1"), 90, f"the end of {kind}"
        )


def test_g9_g10_d13_scaling(kube, operator):
    operator()
    job = Job(kube, {"worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    job.wait_phase("Running")
    job.patch({"spec": {"worker": {"replicas": 3}}})
    job.wait_pods("worker-0", "worker-1", "worker-2")
    job.wait_services("worker-0", "worker-1", "worker-2")
    job.wait_phase("Pending")
    job.set("worker-2", "running")
    job.wait_phase("Running")
    job.patch({"spec": {"worker": {"replicas": 2}}})
    job.wait_pods("worker-0", "worker-1")
    job.wait_services("worker-0", "worker-1")
    job.wait_phase("Running")


def test_g11_deleted_while_creating(kube, operator):
    operator()
    for i in range(5):
        job = Job(kube, {"worker": role(10)}, f"j{i}")
        wait_for(job.pods, 60, "the first pod")
        job.delete()
    wait_for(lambda: not kube.items("paddlejobs", GROUP), 60, "the end of all jobs")
    wait_for(lambda: not kube.items("pods") and not kube.items("services"), 90, "the end of all pods and services")


def test_g12_events(kube, operator):
    operator()
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    job.all("running")
    job.wait_phase("Running")
    job.wait_map()
    job.all("succeeded")
    job.wait_phase("Completed")
    expected = {
        ("Normal", "Created", "created Pod j-worker-0"),
        ("Normal", "Created", "created Service j-worker-0"),
        ("Normal", "Created", "created ConfigMap j"),
        ("Normal", "Deleted", "deleted Pod j-worker-0"),
        ("Normal", "Deleted", "deleted Service j-worker-0"),
    }
    wait_for(lambda: job.events() == expected, 60, "the events")
    sources = {e["source"]["component"] for e in kube.items("events") if e["involvedObject"]["kind"] == "PaddleJob"}
    assert sources == {"paddlejob-controller"}


def test_d14_d15_names_of_others(kube, operator):
    pod = {"metadata": {"name": "j-worker-0"}, "spec": role(1)["template"]["spec"]}
    kube.create("pods", pod)
    kube.create("configmaps", {"metadata": {"name": "j"}, "data": {"mine": "1"}})
    operator()
    job = Job(kube, {"worker": role(2)})
    job.wait_event("Warning", "Create", "Pod j-worker-0")
    job.wait_pods("worker-1")
    kube.api.delete(kube.path("pods", "j-worker-0"))
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    job.wait_event("Warning", "Create", "ConfigMap j")
    assert job.map() == {"mine": "1"}


def test_d16_same_name_again(kube, operator):
    operator()
    first = Job(kube, {"worker": role(1)})
    first.wait_pods("worker-0")
    first.all("running")
    uid = first.wait_phase("Running") and first.get()["metadata"]["uid"]
    kube.api.request("DELETE", kube.path("paddlejobs", "j", GROUP), {"propagationPolicy": "Orphan"})
    wait_for(lambda: not kube.items("paddlejobs", GROUP), 60, "the end of the job")
    second = Job(kube, {"worker": role(1)})
    assert second.get()["metadata"]["uid"] != uid
    second.wait_phase("Pending")
    assert "worker" not in second.status() and kube.items("pods")


@pytest.mark.parametrize(
    "case,spec,says",
    [
        ("I1 D1", {"worker": role(1, containers=[])}, "containers is empty"),
        ("I2 D2", {"elastic": 1, "ps": role(1)}, "needs spec.worker"),
        ("I3 D4", {"worker": {"replicas": 1}}, "template is missing"),
        ("I4", {"ps": {**role(1), "replicas": -1}}, "-1"),
    ],
)
def test_i1_to_i4_misconfigured(kube, operator, case, spec, says):
    one = operator()
    job = Job(kube, spec)
    job.wait_event("Warning", "Create", says)
    job.wait_phase("Pending")
    healthy = Job(kube, {"worker": role(1)}, "healthy")
    healthy.wait_pods("worker-0")
    assert FINALIZER in job.get()["metadata"]["finalizers"] and job.pods() == {}
    assert one.process.poll() is None


def test_d3_role_removed(kube, operator):
    operator()
    job = Job(kube, {"ps": role(1), "worker": role(1)})
    job.wait_pods("ps-0", "worker-0")
    job.all("running")
    job.wait_map()
    job.patch({"spec": {"ps": None}})
    job.wait_pods("worker-0")
    wait_for(lambda: "PADDLE_PSERVERS_IP_PORT_LIST" not in job.map(), 60, "a list without servers")


# ---- what neighbours have and the older operator had not (doc/guide/operator.md, "More than the older operator knows") ----


def test_a_finished_job_is_deleted_in_time(kube, operator):
    one = operator()
    job = Job(kube, {"ttlSecondsAfterFinished": 6, "cleanPodPolicy": "Never", "worker": role(1)})
    stays = Job(kube, {"ttlSecondsAfterFinished": 1, "worker": role(1)}, "stays")
    job.wait_pods("worker-0")
    stays.wait_pods("worker-0")
    stays.all("running")
    job.all("succeeded")
    job.wait_phase("Completed")

    def names(kind, version="v1"):
        return [item["metadata"]["name"] for item in kube.items(kind, version)]

    wait_for(lambda: names("paddlejobs", GROUP) == ["stays"], 60, "its deletion")
    wait_for(lambda: names("pods") == ["stays-worker-0"], 90, "the end of its pods")
    assert stays.wait_phase("Running") and one.process.poll() is None


def test_a_finished_job_is_deleted_by_the_next_operator(kube, operator):
    first = operator()
    job = Job(kube, {"ttlSecondsAfterFinished": 5, "worker": role(1)})
    job.wait_pods("worker-0")
    job.all("succeeded")
    job.wait_phase("Completed")
    first.kill()
    operator()
    wait_for(lambda: not kube.items("paddlejobs", GROUP), 60, "its deletion")


def test_a_job_that_runs_too_long(kube, operator):
    one = operator()
    due = 'controller_runtime_reconcile_total{controller="paddlejob",result="requeue_after"}'
    job = Job(kube, {"activeDeadlineSeconds": 8, "worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    assert one.metric(due) == 0  # it has not begun
    job.all("running")
    job.wait_phase("Running")
    job.set("worker-1", "succeeded")
    status = job.wait_phase("Failed")
    assert one.metric(due) > 0
    assert status["completionTime"] > status["startTime"]
    job.wait_pods("worker-1")
    job.wait_event("Warning", "DeadlineExceeded", "8 s")


def test_a_job_that_is_suspended(kube, operator):
    operator()
    job = Job(kube, {"suspend": True, "worker": role(2)})
    job.wait_phase("Pending")
    assert job.pods() == {}
    job.patch({"spec": {"suspend": False}})
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    job.wait_phase("Running")
    job.patch({"spec": {"suspend": True}})
    job.wait_pods()
    job.wait_services()
    assert "startTime" not in job.wait_phase("Pending")


@pytest.mark.parametrize("about", [{"ttlSecondsAfterFinished": -1}, {"activeDeadlineSeconds": 0}, {"suspend": "no"}])
def test_additions_that_are_refused(kube, operator, about):
    with pytest.raises(ApiError) as refused:
        Job(kube, {**about, "worker": role(1)})
    assert refused.value.status == 422 and f"spec.{next(iter(about))}" in str(refused.value)


def test_examples_are_those_of_the_contract():
    found = {}
    for file in [*sorted((ROOT / "deploy/examples").glob("*.yaml")), ROOT / "deploy/elastic/resnet.yaml"]:
        body = yaml.safe_load(file.read_text())
        if body.get("kind") == "PaddleJob":
            found[str(file.relative_to(ROOT / "deploy"))] = body["metadata"]["name"]
    assert found == EXAMPLES


@pytest.mark.parametrize("labels", [{}, {"paddle-res-name": "j"}], ids=["plain", "labelled as ours"])
def test_a_config_map_of_somebody_else(kube, operator, labels):
    """D15: neither adopted nor overwritten, and the job says what collides; when it has gone, the job gets its own."""
    operator()
    made = kube.create("configmaps", {"metadata": {"name": "j", "labels": labels}, "data": {"mine": "yes"}})
    job = Job(kube, {"worker": role(2)})
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    says = "create failed ConfigMap j: one that belongs to somebody else has this name; delete it, or give the job another name"
    job.wait_event("Warning", "Create", says)
    assert kube.get("configmaps", "j") == made
    kube.api.delete(kube.path("configmaps", "j"))
    wait_for(lambda: (job.map() or {}).get("PADDLE_TRAINERS_NUM") == "2", 120, "its own ConfigMap")
    assert set(job.owned("configmaps")) == {"j"} and "mine" not in job.map()
