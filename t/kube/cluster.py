"""A real Kubernetes cluster for tests: etcd, API server, controller manager and scheduler (tier a); with fake nodes and
Volcano (tier b); with a real node that runs containers (tier c).

usage: python -m kube.cluster up [a|b|c] | down | kubeconfig    one that stays, for a person: `make cluster`
"""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

from folders import abandoned, locked

from kube import components, images, pki, supervise
from kube.node import wait_for

ROOT = components.HERE.parent.parent
PERSONAL = ROOT / "build/kube/cluster"  # a link to the state folder of the cluster of `make cluster`
PREFIX = "paddle-kube-"
TIERS = {
    "a": {},
    # kwok renews the leases of its nodes every 5 s; a node whose lease nobody renews is found out sooner than after 50 s
    "b": {"kwok": True, "volcano": True, "controller_flags": ["--node-monitor-grace-period=24s"]},
    "c": {"node": True},
}


class ApiError(Exception):
    """The API server refused: `status` is HTTP's, `reason` and the message are its own."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status, self.reason, self.body = status, body.get("reason"), body


class Api:
    """The plain REST API, as whoever the kubeconfig says."""

    def __init__(self, kubeconfig):
        config = json.loads(pathlib.Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.kubeconfig, self.url = pathlib.Path(kubeconfig), urllib.parse.urlsplit(cluster["server"])
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls, self.headers, self.idle = ssl.create_default_context(cadata=ca), {}, []
        if "token" in user:
            self.headers["Authorization"] = "Bearer " + user["token"]
        else:
            with tempfile.NamedTemporaryFile() as pair:
                for part in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(user[part]))
                pair.flush()
                self.tls.load_cert_chain(pair.name)

    def connect(self, timeout=60):
        return http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.tls, timeout=timeout)

    def request(self, method, path, body=None, kind="application/json"):
        """The decoded answer; ApiError when it is none of 2xx."""
        headers = {**self.headers, "Content-Type": kind}
        body = None if body is None else json.dumps(body)
        connection = self.kept()
        try:
            reply, text = exchange(connection, method, path, body, headers)
        except BaseException:
            connection.close()
            raise
        self.idle.append(connection)
        is_json = "json" in (reply.getheader("Content-Type") or "")
        answer = json.loads(text) if is_json else text.decode()
        if not 200 <= reply.status < 300:
            raise ApiError(reply.status, answer if is_json else {"message": answer})
        return answer

    def kept(self):
        """A connection that is open, a new one if there is none: a TLS handshake costs more than most answers."""
        while self.idle:
            connection = self.idle.pop()
            readable, _, _ = select.select([connection.sock], [], [], 0) if connection.sock else ([True], [], [])
            if not readable:
                return connection
            connection.close()  # readable without a request: the API server closed it, or was killed
        return self.connect()

    def get(self, path):
        return self.request("GET", path)

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path):
        return self.request("DELETE", path)


def exchange(connection, method, path, body, headers):
    """The reply, and its whole body."""
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    return reply, reply.read()


class Cluster:
    """One running cluster, by its state folder.  Many processes may hold one; `launch` starts it, `stop` ends it."""

    def __init__(self, state):
        self.state = pathlib.Path(state)
        self.settings = json.loads((self.state / "settings.json").read_text())
        self.kubeconfig = self.state / "kubeconfig/admin"
        self.api = Api(self.kubeconfig)
        self.url = self.api.url.geturl()
        self.authority = pki.Authority(self.state / "pki")

    @classmethod
    def launch(
        cls,
        title,
        owner=None,
        kwok=False,
        volcano=False,
        node=False,
        in_memory=True,
        api_flags=(),
        controller_flags=(),
        scheduler_flags=(),
    ):
        """Starts a cluster and returns when it is ready.  It ends with the process `owner`, or never by itself.

        `in_memory`: the node keeps images and containers in a tmpfs."""
        sweep()
        state = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX))
        settings = {
            "title": title,
            "owner": owner,
            "kwok": kwok,
            "volcano": volcano,
            "node": node,
            "in-memory": in_memory,
            "api-flags": list(api_flags),
            "controller-flags": list(controller_flags),
            "scheduler-flags": list(scheduler_flags),
        }
        (state / "settings.json").write_text(json.dumps(settings))
        (state / "log").mkdir()
        with open(state / "log/supervisor.log", "ab") as log, locked(state) as lock:
            process = subprocess.Popen(
                [sys.executable, supervise.__file__, "outer", state],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[lock.fileno()],
            )
        try:
            cls.wait_until_ready(state, process, title)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        return cls(state)

    @staticmethod
    def wait_until_ready(state, process, title):
        end = time.monotonic() + 2 * supervise.START_TIMEOUT
        problem = None
        while not (state / "ready").exists():
            with contextlib.suppress(FileNotFoundError):
                problem = (state / "failed").read_text()
            status = process.poll()
            if problem or status is not None or time.monotonic() > end:
                raise RuntimeError(
                    f"the test cluster '{title}' did not start: {problem or status or 'time is up'}; logs: {supervise.LOGS / title}"
                )
            time.sleep(0.05)

    def stop(self):
        """Returns when nothing of the cluster is left."""
        pid = supervisor("outer", self.state)
        if pid:
            fd = os.pidfd_open(pid)
            with contextlib.closing(os.fdopen(fd)):
                signal.pidfd_send_signal(fd, signal.SIGTERM)
                supervise.select.select([fd], [], [], supervise.START_TIMEOUT)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        assert not self.state.exists(), f"the test cluster in {self.state} was not taken down"

    # Faults: components are named as their programs.

    def kill(self, name, number=signal.SIGKILL):
        supervise.control(self.state, do="kill", name=name, number=int(number))

    def start(self, name):
        """Starts a killed component again; returns when it is ready."""
        supervise.control(self.state, do="start", name=name)

    def status(self):
        """{component: exit status, or None while it runs}"""
        return supervise.control(self.state, do="status")

    def load_image(self, name):
        """Gives the node an image of images.py."""
        supervise.control(self.state, do="load", archive=str(images.build(name)))

    def enter(self):
        """The words before a command that runs it among the node's namespaces (tier c)."""
        return [
            "nsenter",
            "--target",
            str(supervisor("inner", self.state)),
            "--net",
            "--mount",
            "--pid",
            "--cgroup",
            "--",
        ]

    def log(self, name):
        return (self.state / "log" / f"{name}.log").read_text(errors="replace")

    # Use.

    def kubectl(self, *arguments, input=None, kubeconfig=None, check=True, timeout=120):
        """Runs kubectl; returns what it printed, or the whole result with check=False."""
        done = subprocess.run(
            [components.BIN / "kubectl", *map(str, arguments)],
            input=input if input is None or isinstance(input, str) else json.dumps(input),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "KUBECONFIG": str(kubeconfig or self.kubeconfig), "HOME": str(self.state)},
        )
        if not check:
            return done
        assert done.returncode == 0, f"kubectl {' '.join(map(str, arguments))}: {done.stderr}{done.stdout}"
        return done.stdout

    def apply(self, *objects, namespace="default"):
        self.kubectl(
            "apply", "-n", namespace, "-f", "-", input={"apiVersion": "v1", "kind": "List", "items": list(objects)}
        )

    def user(self, name, groups=(), namespace="default", rules=None, everywhere=False):
        """The kubeconfig of a person with a certificate, who may do what `rules` say in the namespace, or everywhere."""
        self.authority.issue(name, name, groups)
        if rules:
            self.allow(
                {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"},
                name,
                namespace,
                rules,
                everywhere,
            )
        return self.authority.kubeconfig(self.state / "kubeconfig" / name, self.url, name, namespace=namespace)

    def account(self, name, namespace="default", rules=None, everywhere=False, seconds=86400):
        """The same for a new service account with a token."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.api.create(path, {"metadata": {"name": name}})
        if rules:
            self.allow(
                {"kind": "ServiceAccount", "name": name, "namespace": namespace}, name, namespace, rules, everywhere
            )
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        token = self.api.create(f"{path}/{name}/token", request)["status"]["token"]
        return self.authority.kubeconfig(
            self.state / "kubeconfig" / f"{namespace}.{name}", self.url, token=token, namespace=namespace
        )

    def allow(self, subject, name, namespace, rules, everywhere):
        """Returns when it holds: the API server learns of rights by a watch."""
        kind = "ClusterRole" if everywhere else "Role"
        base = "/apis/rbac.authorization.k8s.io/v1" + ("" if everywhere else f"/namespaces/{namespace}")
        self.api.create(f"{base}/{kind.lower()}s", {"metadata": {"name": name}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        self.api.create(
            f"{base}/{kind.lower()}bindings", {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
        )
        wait_for(lambda: self.may(subject, rules[0], None if everywhere else namespace), f"the rights of '{name}'")

    def may(self, subject, rule, namespace):
        """Whether the subject has the first of a rule's rights in the namespace; None: in all of them."""
        resource, _, part = rule["resources"][0].partition("/")
        wanted = {"group": rule["apiGroups"][0], "resource": resource, "subresource": part, "verb": rule["verbs"][0]}
        who = subject["name"]
        if subject["kind"] == "ServiceAccount":
            who = f"system:serviceaccount:{subject['namespace']}:{who}"
        review = {"spec": {"user": who, "resourceAttributes": {**wanted, "namespace": namespace or ""}}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return self.api.create(path, review)["status"]["allowed"]

    def add_fake_nodes(self, count, prefix="fake", labels=None, taint=False, **resources):
        """Nodes of kwok (tier b).  Resources such as cpu="8", memory="32Gi".  Those that a test takes away again are
        tainted, or pods of tests beside it land there and go with them."""
        size = {
            "cpu": "32",
            "memory": "256Gi",
            "pods": "110",
            "ephemeral-storage": "100Gi",
            **{name.replace("__", "/"): text for name, text in resources.items()},
        }
        names = [f"{prefix}-{index}" for index in range(count)]
        for name in names:
            self.api.create("/api/v1/nodes", fake_node(name, size, labels or {}, taint))
        return names


def fake_node(name, size, labels, taint):
    return {
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "fake", **labels},
        },
        "spec": {"taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}] if taint else []},
        "status": {"capacity": size, "allocatable": size},
    }


def only_on(label):
    """What a pod's spec says to run on the tainted fake nodes of label "of"."""
    tolerated = {"key": "kwok.x-k8s.io/node", "operator": "Equal", "value": "fake", "effect": "NoSchedule"}
    return {"nodeSelector": {"of": label}, "tolerations": [tolerated]}


def commands():
    """All processes: (id, words of the command line)."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "cmdline").read_bytes().split(b"\0")


def supervisor(role, state):
    """The outer or inner process of the cluster in a state folder, None when there is none."""
    wanted = [os.fsencode(word) for word in (supervise.__file__, role, state)]
    return next((pid for pid, words in commands() if words[1:-1] == wanted), None)


def sweep():
    """Removes what clusters left whose supervisor was killed: nothing of theirs runs any more."""
    for state in abandoned(PREFIX):
        supervise.node.remove_cgroups(state.name)
        shutil.rmtree(state, ignore_errors=True)


def personal():
    return Cluster(PERSONAL.resolve()) if PERSONAL.is_symlink() and (PERSONAL / "ready").exists() else None


def up(tier):
    running = personal()
    if running:
        sys.exit(f"cluster: one runs already; its kubeconfig is {running.kubeconfig}; 'make cluster-down' stops it")
    start = time.monotonic()
    cluster = Cluster.launch("person", in_memory=False, **TIERS[tier])
    PERSONAL.unlink(missing_ok=True)
    PERSONAL.symlink_to(cluster.state)
    if tier == "b":
        cluster.add_fake_nodes(3)
    print(f"A cluster of tier {tier} is ready after {time.monotonic() - start:.0f} s at {cluster.url}.")
    print(f"  export KUBECONFIG={cluster.kubeconfig} PATH={components.BIN}:$PATH")
    print("Logs are in " + str(cluster.state / "log") + ".  'make cluster-down' stops it.")


def down():
    running = personal()
    if running:
        running.stop()
    PERSONAL.unlink(missing_ok=True)
    print("The cluster is stopped." if running else "There was no cluster.")


def main():
    words = sys.argv[1:] or [""]
    if words[0] == "up" and len(words) <= 2 and words[-1] in ("up", *TIERS):
        up(words[1] if len(words) == 2 else "c")
    elif words == ["down"]:
        down()
    elif words == ["kubeconfig"]:
        print(personal().kubeconfig if personal() else sys.exit("cluster: none runs; 'make cluster' starts one"))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
