"""A job of 2 parameter servers and 4 trainers on a real Kubernetes node, beside the same pods by `kubectl apply`."""

import json
import os
import statistics
import sys
import tempfile
import time

SERVERS, TRAINERS = 2, 4
# What each entry point says when it begins: the seconds since the machine's start, which all containers of it share.
BEGIN = "cut -d ' ' -f 1 /proc/uptime; "
SERVE = BEGIN + "trap 'exit 0' TERM; httpd -f -p 36000 & wait $!"
TRAIN = BEGIN + "sleep 1"


def uptime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def spec(image):
    def role(name, replicas, script):
        return {"name": name, "replicas": replicas, "cpu": "50m", "command": ["sh", "-c", script]}

    return {
        "queue": "far",
        "image": image,
        "command": ["true"],
        "grace": "1s",
        "roles": [role("pserver", SERVERS, SERVE), role("trainer", TRAINERS, TRAIN)],
    }


def by_the_platform(server, image):
    """Seconds from `paddle submit` to the begin of the last entry point."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(spec(image), file)
        file.flush()
        start = uptime()
        done = server.paddle("submit", "--no-package", "-f", file.name, check=0)
    job = server.wait(done.stdout.split()[0], timeout=120)
    assert job["state"] == "succeeded", job
    members = [f"pserver-{i}" for i in range(SERVERS)] + [f"trainer-{i}" for i in range(TRAINERS)]
    return max(float(server.member_log(job["id"], member).split()[0]) for member in members) - start


def objects(name, image):
    """The same pods, trainers with an init container that waits for the servers' ports."""
    hosts = [f"{name}-pserver-{i}.{name}" for i in range(SERVERS)]
    wait = "; ".join(f"until echo | nc -w 1 {host} 36000 >/dev/null; do sleep 0.2; done" for host in hosts)
    resources = {"requests": {"cpu": "50m"}}

    def container(what, script):
        return {"name": what, "image": image, "command": ["sh", "-c", script], "resources": resources}

    def pod(role, i, script, init):
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{role}-{i}", "labels": {"job": name}},
            "spec": {
                "hostname": f"{name}-{role}-{i}",
                "subdomain": name,
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "initContainers": init,
                "containers": [container("main", script)],
            },
        }

    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {"job": name}},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"job": name}},
    }
    gate = [container("gate", wait)]
    pods = [pod("pserver", i, SERVE, []) for i in range(SERVERS)]
    pods += [pod("trainer", i, TRAIN, gate) for i in range(TRAINERS)]
    return {"apiVersion": "v1", "kind": "List", "items": [service, *pods]}


def by_kubectl(space, name, image, wait_for):
    start = uptime()
    space.kubectl("apply", "-f", "-", input=objects(name, image))
    pods = [f"{name}-{role}-{i}" for role, n in (("pserver", SERVERS), ("trainer", TRAINERS)) for i in range(n)]

    def said(pod):
        done = space.kubectl("logs", pod, check=False)
        return done.stdout.split() if done.returncode == 0 else []

    wait_for(lambda: all(said(pod) for pod in pods), 120)
    last = max(float(said(pod)[0]) for pod in pods)
    space.kubectl("delete", "pods,services", "-l", f"job={name}", "--grace-period=1")
    return last - start


def start(bench):
    from kube.cluster import Cluster
    from kube.fixtures import Namespace
    from kube.images import BASE

    cluster = Cluster.launch("bench", os.getpid(), node=True)
    ours, peer = [], []
    try:
        space = Namespace(cluster, "jobs")
        with bench.Scratch() as server:
            sys.path.insert(0, str(bench.ROOT / "t"))
            from kube.test_runtime import connect

            connect(server, space)
            server.paddle("queue", "create", "far", "--cluster", "prod", check=0)
            trial = {"queue": "far", "image": BASE, "command": ["true"]}
            bench.wait_for(lambda: server.post("/v1/jobs", trial).status == 201, what="a node that can be used")
            for i in range(bench.ROUNDS + 1):  # the first makes what later ones find
                ours.append(by_the_platform(server, BASE))
                peer.append(by_kubectl(space, f"peer-{i}", BASE, bench.wait_for))
    finally:
        cluster.stop()
    above = [a - b for a, b in zip(ours[1:], peer[1:])]
    return {
        "paddle submit to the last entry point s": bench.spread(ours[1:]),
        "kubectl apply to the last entry point s": bench.spread(peer[1:]),
        "above kubectl apply s (bar 2)": {"median": round(statistics.median(above), 2)},
        "the first, with the gate to be made s": {"median": round(ours[0], 2)},
    }
