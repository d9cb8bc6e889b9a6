"""Ours in the place of the older operator (v0.3.5) while its jobs run: what that one made is taken over as it is."""

import pytest
from conftest import wait_for
from pdj import FINALIZER, GROUP, Job, operator_fixture, role  # noqa: F401

PORT = 41234  # drawn at random by the older one, for Service mode, too
STARTED = "2026-01-01T00:00:00Z"
WAIT = 'nslookup "%s"'


def owner(job):
    meta = job["metadata"]
    return [
        {
            "apiVersion": GROUP,
            "kind": "PaddleJob",
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def old_pod(job, part, mode):
    """As doc/reference/paddle-operator.md, "PaddleJob" and "Environment of a pod" describe it."""
    name, (kind, index) = f"{job['metadata']['name']}-{part}", part.rsplit("-", 1)
    address = {"value": name} if mode == "Service" else {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    training = {"ps": "PSERVER", "worker": "TRAINER"}[kind]
    env = [{"name": "POD_IP", **address}, {"name": "PADDLE_TRAINER_ID", "value": index}]
    env += [{"name": variable, "value": training} for variable in ("TRAINING_ROLE", "PADDLE_TRAINING_ROLE")]
    container = {**job["spec"][kind]["template"]["spec"]["containers"][0], "env": env}
    container["envFrom"] = [{"configMapRef": {"name": job["metadata"]["name"]}}]
    if mode == "Service":
        container["ports"] = [{"containerPort": 36000}]
    coord = {
        "name": "coord-paddle",
        "image": "docker.io/library/alpine:3.10",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", WAIT % name],
        "resources": {"requests": {"cpu": "10m", "memory": "10m"}},
    }
    return {
        "metadata": {
            "name": name,
            "labels": {"paddle-res-name": name, "paddle-res-type": kind},
            "annotations": {"paddle-resource": kind},
            "ownerReferences": owner(job),
        },
        "spec": {
            "schedulerName": "of-nobody",  # nobody else shall write to it
            "hostNetwork": mode == "Host",
            "hostname": name,
            "subdomain": name,
            "restartPolicy": "OnFailure" if mode == "Service" and kind == "worker" else "Never",
            "initContainers": [coord],
            "containers": [container],
        },
    }


def old_service(job, part):
    name = f"{job['metadata']['name']}-{part}"
    return {
        "metadata": {"name": name, "ownerReferences": owner(job)},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"paddle-res-name": name},
            "ports": [{"name": f"p-{i}", "port": 36000 + i, "targetPort": 36000 + i} for i in range(20)],
        },
    }


def old_map(job, mode):
    name = job["metadata"]["name"]
    if mode == "Service":
        servers, workers = [f"{name}-ps-0:36000"], [f"{name}-worker-{i}:36000" for i in range(2)]
    else:
        servers, workers = [f"10.0.0.0:{PORT}"], [f"10.0.1.{i}:{PORT}" for i in range(2)]
    return {
        "metadata": {"name": name, "labels": {"paddle-res-name": name}, "ownerReferences": owner(job)},
        "data": {
            "TRAINER_PORTS_NUM": "20",
            "PADDLE_PORT": str(PORT),
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(workers),
            "PADDLE_TRAINERS": ",".join(one.split(":")[0] for one in workers),
            "PADDLE_TRAINERS_NUM": "2",
        },
    }


PARTS = ("ps-0", "worker-0", "worker-1")


def left_by_the_older(kube, mode):
    job = Job(kube, {"intranet": mode, "ps": role(1), "worker": role(2)}, "old")
    job.patch({"metadata": {"finalizers": [FINALIZER]}})
    body = job.get()
    for part in PARTS:
        kube.create("pods", old_pod(body, part, mode))
        kube.create("services", old_service(body, part))
    kube.create("configmaps", old_map(body, mode))
    job.all("running")
    status = {"phase": "Running", "mode": "PS", "startTime": STARTED}
    for kind, count in (("ps", 1), ("worker", 2)):
        pods = [job.pod(part) for part in PARTS if part.startswith(kind)]
        refs = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                **{key: pod["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")},
            }
            for pod in pods
        ]
        status[kind] = {"running": count, "refs": refs}
    kube.api.patch(kube.path("paddlejobs", "old", GROUP) + "/status", {"status": status})
    return job


def objects(kube, *kinds):
    """{(kind, name): (uid, resourceVersion)}"""
    return {
        (kind, item["metadata"]["name"]): (item["metadata"]["uid"], item["metadata"]["resourceVersion"])
        for kind in kinds
        for item in kube.items(kind)
    }


@pytest.mark.parametrize("mode", ["PodIP", "Service", "Host"])
def test_running_jobs_are_taken_over(kube, operator, mode):
    job = left_by_the_older(kube, mode)
    before = objects(kube, "pods", "services", "configmaps")
    operator()
    later = Job(kube, {"worker": role(1)}, "later")  # once its pod is there, the older job has been looked at
    later.wait_pods("worker-0")
    later.all("running")
    later.wait_phase("Running")
    wait_for(lambda: job.status()["phase"] == "Running", 60, "the phase")
    after = objects(kube, "pods", "services", "configmaps")
    assert {what: after[what] for what in before} == before
    assert job.get()["metadata"].get("annotations", {}).get("host-port") == (str(PORT) if mode == "Host" else None)
    assert job.status()["startTime"] == STARTED

    job.all("succeeded")
    status = job.wait_phase("Completed")
    assert status["startTime"] == STARTED and status["completionTime"]
    job.wait_pods()
    job.wait_services()
    job.delete()
    wait_for(lambda: len(kube.items("paddlejobs", GROUP)) == 1, 60, "the end of the job")


def test_a_job_of_the_older_one_is_scaled(kube, operator):
    job = left_by_the_older(kube, "PodIP")
    before = objects(kube, "pods", "services")
    operator()
    job.patch({"spec": {"worker": {"replicas": 3}}})
    job.wait_pods(*PARTS, "worker-2")
    job.set("worker-2", "running")
    wait_for(lambda: job.map()["PADDLE_TRAINERS_NUM"] == "3", 60, "the longer list")
    assert job.map()["PADDLE_TRAINER_ENDPOINTS"] == ",".join(f"10.0.1.{i}:{PORT}" for i in range(3))
    after = objects(kube, "pods", "services")
    assert {what: after[what] for what in before} == before
    assert job.wait_phase("Running")["startTime"] == STARTED


def test_ports_of_the_older_one_are_nobody_elses(kube, operator):
    """They lie between ours: the two bases that would have one of them in common are left out, whichever job is looked at
    first."""
    left_by_the_older(kube, "Host")
    jobs = [Job(kube, {"intranet": "Host", "worker": role(1)}, f"new{i}") for i in range(4)]
    operator(f"--port-range={PORT - 27},{PORT + 200}")  # the first base would be 7 below

    def ports():
        return sorted(job.get()["metadata"].get("annotations", {}).get("host-port") or "" for job in jobs)

    wait_for(lambda: all(ports()), 60, "ports")
    assert ports() == [str(PORT + 33 + 20 * i) for i in range(4)]
