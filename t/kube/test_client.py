"""The C client (src/kube) against a real API server, by its test program kube-live: what it does comes as lines."""

import contextlib
import itertools
import os
import signal
import subprocess
import time

import pytest
from conftest import BIN, wait_for

from kube.cluster import Cluster
from kube.images import BASE

LIVE = BIN.parent / "src/kube/kube-live"
MADE = {"labels": {"made-by": "live"}}


def live(kubeconfig, *words, code=0):
    """What one verb says, as lines."""
    done = subprocess.run(
        [LIVE, *map(str, words)],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert not done.stderr
    return done.stdout.splitlines()


class Running:
    """A verb that goes on until its standard input ends."""

    def __init__(self, kubeconfig, *words):
        self.process = subprocess.Popen(
            [LIVE, *map(str, words)],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines = []

    def until(self, text):
        """Reads lines up to one that begins so; returns it."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith(text):
                return self.lines[-1]
        raise AssertionError(f"no line '{text}': {self.lines}")

    def until_there_are(self, count, text):
        """Reads until so many of all lines begin so."""
        while sum(line.startswith(text) for line in self.lines) < count:
            self.until(text)

    def end(self):
        """All lines."""
        self.process.stdin.close()
        self.lines += self.process.stdout.read().splitlines()
        assert self.process.wait(timeout=60) == 0, self.lines
        return self.lines


@contextlib.contextmanager
def running(kubeconfig, *words):
    one = Running(kubeconfig, *words)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait()
        one.process.stdout.close()


def config_map(name, **data):
    return {"metadata": {"name": name, **MADE}, "data": data}


def test_every_write(kube):
    lines = live(kube.cluster.kubeconfig, "write", kube.name)
    assert [line.split(":")[0] for line in lines] == [
        "ok create 201",
        "ok create again 409",
        "ok merge 200",
        "ok json 200",
        "ok strategic 200",
        "ok apply 200",
        "ok replace an old version 409",
        "ok delete another 409",
        "ok delete it 200",
        "ok delete it again 404",
    ]


def test_subresources(kube):
    lines = live(kube.cluster.kubeconfig, "parts", kube.name)
    assert [line.split(":")[0] for line in lines] == ["ok create 201", "ok scale 200", "ok status 200", "ok delete 200"]


def test_many_share_one_connection(kube):
    said = live(kube.cluster.kubeconfig, "create-many", kube.name, 500)
    assert said[0] == "over 1 connections" and said[1].startswith("created 500 in ")
    assert live(kube.cluster.kubeconfig, "list", kube.name) == ["listed 500 in 5 pages"]
    assert len(kube.items("configmaps", selector="made-by=live")) == 500
    with running(kube.cluster.kubeconfig, "watch", kube.name) as watch:
        assert watch.until("synced") == "synced 500"
        kube.api.delete(kube.path("configmaps") + "?labelSelector=made-by%3Dlive")
        deleted = {watch.until("deleted") for _ in range(500)}
        assert len(deleted) == 500
        assert watch.end()[-1] == "size 0"


def test_many_streams(kube):
    """A server takes 100 streams over one connection: what is above shares the next ones."""
    assert live(kube.cluster.kubeconfig, "streams", kube.name, 300) == [
        "ok version 200",
        "300 streams over 4 connections",
    ]


def test_watch(kube):
    kube.create("configmaps", config_map("a", x="1"))
    with running(kube.cluster.kubeconfig, "watch", kube.name) as watch:
        assert watch.until("synced") == "synced 1"
        kube.create("configmaps", config_map("b"))
        watch.until("added b")
        kube.api.patch(kube.path("configmaps", "a"), {"data": {"x": "2"}})
        watch.until("modified a")
        kube.api.delete(kube.path("configmaps", "b"))
        watch.until("deleted b")
        assert watch.end() == ["added a", "synced 1", "added b", "modified a", "deleted b", "size 1"]


def test_kinds(kube):
    def find(*words):
        return live(kube.cluster.kubeconfig, "kind", *words)

    assert find("apps/v1", "Deployment") == ["deployments apps"]
    assert find("v1", "Node") == ["nodes cluster"]
    assert find("apps/v1", "Nope") == ["not_found the cluster serves no 'Nope' of 'apps/v1'"]
    assert find("batch.example.org/v1", "Job") == ["not_found the cluster serves no 'Job' of 'batch.example.org/v1'"]


def test_events_are_aggregated_and_limited(kube):
    said = live(kube.cluster.kubeconfig, "events", kube.name)
    assert said == ["ok aggregated", "ok limited"]
    created, other = sorted(kube.items("events"), key=lambda event: event["reason"])
    assert (created["reason"], created["message"], created["count"], created["type"]) == (
        "Created",
        "created it",
        24,
        "Normal",
    )
    assert (other["reason"], other["count"], other["type"]) == ("Other", 1, "Warning")
    assert created["involvedObject"]["name"] == "subject" and created["source"]["component"] == "live"


def test_rights_and_tokens(kube):
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    kubeconfig = kube.cluster.account("reader", kube.name, rules)
    path = kube.path("configmaps")
    assert live(kubeconfig, "get", path)[0].startswith("200 ok ")
    denied = live(kubeconfig, "get", kube.path("secrets"))[0]
    assert denied.startswith("403 denied secrets is forbidden: User")
    text = kubeconfig.read_text()
    token = next(line for line in text.replace(",", "\n").splitlines() if "token" in line).split(":", 1)[1].strip(' "}')
    bad = kubeconfig.with_name("bad-token")
    bad.write_text(text.replace(token, "nobody"))
    assert live(bad, "get", path)[0].startswith("401 unauthenticated ")
    (kubeconfig.parent / "token").write_text(token)
    by_file = kubeconfig.with_name("by-file")
    by_file.write_text(text.replace(token, "token").replace("token:", "tokenFile:").replace('"token":', '"tokenFile":'))
    assert live(by_file, "get", path)[0].startswith("200 ok ")


def variant(kube, name, **cluster):
    """The administrator's kubeconfig with a cluster that differs."""
    import yaml

    config = yaml.safe_load(kube.cluster.kubeconfig.read_text())
    for field, value in cluster.items():
        config["clusters"][0]["cluster"][field.replace("_", "-")] = value
    config["clusters"][0]["cluster"] = {k: v for k, v in config["clusters"][0]["cluster"].items() if v is not None}
    path = kube.cluster.kubeconfig.with_name(name)
    path.write_text(yaml.safe_dump(config))
    return path


def test_names_of_the_certificate(kube):
    right = variant(kube, "right-name", tls_server_name="kubernetes.default.svc")
    assert live(right, "get", "/version")[0].startswith("200 ok ")
    wrong = variant(kube, "wrong-name", tls_server_name="other.example.org")
    assert live(wrong, "get", "/version")[0].startswith("0 unreachable cannot reach the API server")
    unknown = variant(kube, "no-authority", certificate_authority=None, certificate_authority_data=None)
    assert live(unknown, "get", "/version")[0].startswith("0 unreachable cannot reach the API server")
    insecure = variant(
        kube,
        "insecure",
        certificate_authority=None,
        certificate_authority_data=None,
        insecure_skip_tls_verify=True,
        tls_server_name="other.example.org",
    )
    assert live(insecure, "get", "/version")[0].startswith("200 ok ")


def test_lease_changes_hands(kube):
    def stand(name):
        return running(kube.cluster.kubeconfig, "lease", kube.name, "leader", name)

    def spec():
        return kube.get("leases", "leader", "coordination.k8s.io/v1")["spec"]

    with stand("one") as one, contextlib.ExitStack() as stack:
        one.until("gained")
        two = stack.enter_context(stand("two"))
        assert spec()["holderIdentity"] == "one"
        renewed = spec()["renewTime"]
        wait_for(lambda: spec()["renewTime"] != renewed, what="a renewal")
        # Given back: the next one need not wait for its end.
        assert one.end() == ["gained", "released"]
        two.until("gained")
        assert spec()["holderIdentity"] == "two" and spec()["leaseTransitions"] == 1
        # Killed: it lasts as long as it was good for.
        three = stack.enter_context(stand("three"))
        began = time.monotonic()
        two.process.kill()
        three.until("gained")
        assert 4 < time.monotonic() - began < 60  # of 8 s
        assert spec()["leaseTransitions"] == 2
        # Stopped for longer than that: it hears that it has lost, before anything else.
        three.process.send_signal(signal.SIGSTOP)
        four = stack.enter_context(stand("four"))
        four.until("gained")
        three.process.send_signal(signal.SIGCONT)
        three.until("lost")
        assert four.end() == ["gained", "released"]


@pytest.fixture(scope="module")
def own():
    """A cluster whose API server the tests of this file may kill."""
    cluster = Cluster.launch("client", owner=os.getpid())
    yield cluster
    cluster.stop()


def make_namespace(cluster, name):
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return f"/api/v1/namespaces/{name}/configmaps"


def test_restart_of_the_api_server(own):
    """Killed while objects are watched and a lease is held: all come, none twice, and the lease is held again."""
    path = make_namespace(own, "restart")
    with contextlib.ExitStack() as stack:
        watch = stack.enter_context(running(own.kubeconfig, "watch", "restart"))
        lease = stack.enter_context(running(own.kubeconfig, "lease", "restart", "l", "me"))
        watch.until("synced")
        lease.until("gained")
        for index in range(20):
            own.api.create(path, config_map(f"before-{index}"))
        own.kill("kube-apiserver")
        watch.until("trouble")
        lease.until("lost")
        own.start("kube-apiserver")
        for index in range(20):
            own.api.create(path, config_map(f"after-{index}"))
        watch.until_there_are(40, "added")
        watch.until_there_are(1, "well")
        lease.until("gained")
        lines = watch.end()
        added = [line for line in lines if line.startswith("added")]
        assert sorted(added) == sorted(
            f"added {when}-{index}" for when, index in itertools.product(("before", "after"), range(20))
        )
        assert "well" in lines and lines[-1] == "size 40"
        assert not [line for line in lines if line.startswith(("deleted", "modified"))]


def test_list_after_the_watch_has_lost_its_place(own):
    """What happened while the watcher slept is no longer told by the server: a new list tells, and only what differs."""
    path = make_namespace(own, "lost")
    for name in "abc":
        own.api.create(path, config_map(name))
    with running(own.kubeconfig, "watch", "lost") as watch:
        watch.until("synced")
        watch.process.send_signal(signal.SIGSTOP)
        own.api.delete(f"{path}/a")
        own.api.patch(f"{path}/b", {"data": {"x": "2"}})
        own.api.create(path, config_map("d"))
        own.kill("kube-apiserver")  # and with it what it remembers of the past
        own.start("kube-apiserver")
        for name in "ef":
            own.api.create(path, config_map(name))
        watch.process.send_signal(signal.SIGCONT)
        watch.until("added f")
        own.api.create(path, config_map("last"))
        watch.until("added last")
        lines = watch.end()
    changes = [line for line in lines[4:-1] if not line.startswith(("trouble", "well"))]
    assert sorted(changes) == ["added d", "added e", "added f", "added last", "deleted a", "modified b"]
    assert lines[-1] == "size 6"


def test_exec_and_logs(kube_node):
    """On a real node: output of both kinds, exit status, input and its end, many bytes; a log to its end."""
    kubeconfig = kube_node.cluster.kubeconfig
    main = {"name": "main", "image": BASE, "imagePullPolicy": "Never"}
    main["command"] = ["sh", "-c", "echo first; until [ -e /tmp/end ]; do sleep 0.1; done; echo last"]
    kube_node.create("pods", {"metadata": {"name": "p"}, "spec": {"restartPolicy": "Never", "containers": [main]}})
    kube_node.wait_phase("p", "Running")

    def execute(*words, text="", container="main"):
        return subprocess.run(
            [LIVE, "exec", kube_node.name, "p", container, *words],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    done = execute("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr) == ("out\nexit 3\n", "err\n")
    assert execute("cat", text="to and fro\n").stdout == "to and fro\nexit 0\n"
    assert execute("sh", "-c", 'printf "%s|" "$@"', "sh", "", "a b", "&=%").stdout == "|a b|&=%|exit 0\n"
    much = "0123456789abcdef" * 65536  # 1 MiB
    assert execute("cat", text=much).stdout == much + "exit 0\n"
    assert execute("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x").stdout == "x" * 3000000 + "exit 0\n"
    late = execute("sh", "-c", "sleep 1; cat", text=much * 3)  # all of it waits in between
    assert late.stdout == much * 3 + "exit 0\n"
    missing = execute("/nobody")
    assert missing.stdout.startswith("failed the command did not run: ") and "/nobody" in missing.stdout
    assert "container nope is not valid for pod p" in execute("true", container="nope").stdout
    with running(kubeconfig, "log", kube_node.name, "p", "main") as log:
        log.until("first")
        execute("touch", "/tmp/end")
        assert log.end() == ["first", "last", "exit 0"]
    assert live(kubeconfig, "exec", kube_node.name, "none", "main", "true")[0].startswith("not_found pods")
