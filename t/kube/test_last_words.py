"""Logs of members that are stopped: with the pod its log goes from the cluster, so it is followed before the pod is deleted, and
read to its end although the pod has gone."""

import contextlib
import json
import threading

from conftest import wait_for

from kube import proxy
from kube.images import BASE
from kube.test_runtime import RULES, left, pods

SCRIPT = "trap 'echo ended; exit 0' TERM; echo up; while :; do sleep 0.1; done"
SILENT = 17  # one more than the runtime opens streams at once


@contextlib.contextmanager
def between(server, kube, *faults, **setting):
    """The cluster `prod` with the queue `qq`, and what lies before it; `faults`: (fault, path of what is read), from the beginning."""
    account = kube.cluster.account(f"paddled-{kube.name}", kube.name, RULES, everywhere=True)
    with proxy.Proxy(kube.cluster) as one:
        for fault, path in faults:
            one.fault(fault, "GET", path, times=1000)
        config, text = one.kubeconfig(account), json.dumps(setting)
        create = ("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", config, "--setting", text)
        server.paddle(*create, check=0)
        server.paddle("queue", "create", "qq", "--cluster", "prod", check=0)
        yield one


def submit(server, replicas, script=SCRIPT):
    roles = [{"name": "worker", "replicas": replicas, "cpu": "10m"}]
    return server.submit(["sh", "-c", script], queue="qq", image=BASE, roles=roles)["id"]


class Seen:
    """Requests in the order in which they come, each passed on."""

    def __init__(self, way, path):
        self.all = []
        for method in ("GET", "DELETE"):
            way.fault(self.note, method, path, times=1000)

    def note(self, exchange):
        self.all.append((exchange.command, exchange.path))
        exchange.pass_on()

    def first(self, method, path):
        return next(i for i, (how, what) in enumerate(self.all) if how == method and path in what)


def test_no_pod_is_deleted_before_its_log_is_followed(server, kube_node):
    """Of three members one has the only stream. The others get theirs when they are stopped."""
    with between(server, kube_node, log_streams=1) as way:
        seen = Seen(way, "/pods/[^?]")
        job = submit(server, 3)
        server.wait(job, "running")
        names = [pod["metadata"]["name"] for pod in pods(kube_node)]
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        assert len(names) == 3
        for i, name in enumerate(names):
            assert seen.first("GET", f"/pods/{name}/log?") < seen.first("DELETE", f"/pods/{name}")
            assert server.member_log(job, f"worker-{i}") == "up\nended\n"
        wait_for(lambda: not left(kube_node), what="pods and service to go with the job")


def test_a_log_may_come_after_its_pod_has_gone(server, kube_node):
    """The proxy keeps the last line back until the server was told that the pod is deleted."""
    go, gone = threading.Event(), threading.Event()

    def log(exchange):
        reply = exchange.ask()
        exchange.head(reply.status, {**exchange.kept(reply), "Transfer-Encoding": "chunked"})
        while piece := reply.read1(65536):
            if b"ended" in piece:
                assert go.wait(proxy.HELD_S)
            exchange.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        exchange.wfile.write(b"0\r\n\r\n")

    def watch(exchange):
        reply = exchange.ask()
        exchange.head(reply.status, {**exchange.kept(reply), "Transfer-Encoding": "chunked"})
        while piece := reply.read1(65536):
            exchange.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if b'"type":"DELETED"' in piece:
                gone.set()

    with between(server, kube_node, (log, "/log"), (watch, "/pods.*watch=")):
        job = submit(server, 1)
        wait_for(lambda: server.member_log(job) == "up\n", what="the first line")
        server.paddle("cancel", job, check=0)
        assert gone.wait(120), "the server was not told that the pod has gone"
        go.set()
        assert server.wait(job)["state"] == "cancelled"
        assert server.member_log(job) == "up\nended\n"
        wait_for(lambda: not left(kube_node), what="pod and service to go with the job")


def test_silent_members_hold_up_no_logs(server, kube_fake):
    """A node does not answer before the container has said something."""
    asked = set()

    def silent(exchange):
        asked.add(exchange.path)
        exchange.hold()

    with between(server, kube_fake, (silent, "/log")):
        job = submit(server, SILENT)
        server.wait(job, "running")
        wait_for(lambda: len(asked) == SILENT, what="streams for all logs")
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
