"""The processes of a test cluster: their command lines, their files, and how one sees that they are ready."""

import http.client
import json
import pathlib
import socket
import ssl
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
BIN = HERE.parent.parent / "build/kube/bin"
GIB = 1 << 30

# Who the components are to the API server: certificate, user, groups.
IDENTITIES = [
    ("admin", "admin", ["system:masters"]),
    ("kube-controller-manager", "system:kube-controller-manager", []),
    ("kube-scheduler", "system:kube-scheduler", []),
    ("kubelet-client", "kube-apiserver-kubelet-client", ["system:masters"]),
]


class Component:
    """A process: `ready` returns true once it serves; what it needs ready before comes earlier in the list."""

    def __init__(self, name, command, ready=None, environment=None):
        self.name, self.command, self.ready, self.environment = (
            name,
            [str(word) for word in command],
            ready,
            environment or {},
        )


def answers(url, ca=None):
    """Whether a GET of `url` is answered with 200 now."""
    context = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(url, timeout=5, context=context if url.startswith("https") else None) as reply:
            return reply.status == 200
    except (OSError, http.client.HTTPException, urllib.error.URLError):
        return False


def accepts(address, port):
    try:
        socket.create_connection((address, port), timeout=5).close()
    except OSError:
        return False
    return True


class Plan:
    """What one cluster consists of.  `settings` is plain data: address, ports, kwok, volcano, node, network."""

    def __init__(self, state, settings, authority):
        self.state, self.settings, self.authority = pathlib.Path(state), settings, authority
        self.address, self.ports = settings["address"], settings["ports"]
        self.url = f"https://{self.address}:{self.ports['api']}"

    def folder(self, name):
        path = self.state / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def file(self, name, content):
        path = self.folder("config") / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    def kubeconfig(self, name):
        return self.state / "kubeconfig" / name

    def service_address(self, host):
        """The `host`th address of the service range."""
        network = self.settings["services"].rsplit(".", 1)[0]
        return f"{network}.{host}"

    def certify(self):
        """Certificates and kubeconfigs of all that talk to the API server."""
        names = [f"IP:{self.address}", "IP:127.0.0.1", f"IP:{self.service_address(1)}", "DNS:localhost"]
        names += [
            f"DNS:kubernetes{suffix}" for suffix in ("", ".default", ".default.svc", ".default.svc.cluster.local")
        ]
        self.authority.issue("kube-apiserver", "kube-apiserver", names=names)
        for name, user, groups in IDENTITIES:
            self.authority.issue(name, user, groups)
            self.authority.kubeconfig(self.kubeconfig(name), self.url, name)

    def control_plane(self):
        return [self.etcd(), self.apiserver(), self.controller_manager(), self.scheduler()]

    def etcd(self):
        client, peer = (f"http://127.0.0.1:{self.ports[name]}" for name in ("etcd", "etcd-peer"))
        # fmt: off
        return Component("etcd", [
            "etcd", "--name", "test", "--data-dir", self.folder("etcd"), "--unsafe-no-fsync",
            "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"test={peer}", "--log-level", "warn", "--logger", "zap",
            "--quota-backend-bytes", str(4 * GIB), "--auto-compaction-retention", "0",
            "--heartbeat-interval", "1000", "--election-timeout", "10000",  # there is nobody to beat for
        ], lambda: answers(client + "/health"))
        # fmt: on

    def apiserver(self):
        pki, files = self.authority.folder, self.authority.folder / "kube-apiserver"
        command = [
            BIN / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.ports['etcd']}",
            f"--bind-address={self.address}",
            f"--advertise-address={self.address}",
            f"--secure-port={self.ports['api']}",
            f"--cert-dir={self.folder('apiserver')}",
            f"--tls-cert-file={files}.crt",
            f"--tls-private-key-file={files}.key",
            f"--client-ca-file={self.authority.ca}",
            f"--kubelet-client-certificate={pki}/kubelet-client.crt",
            f"--kubelet-client-key={pki}/kubelet-client.key",
            f"--kubelet-certificate-authority={self.authority.ca}",
            "--kubelet-preferred-address-types=InternalIP",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={pki}/accounts.pub",
            f"--service-account-signing-key-file={pki}/accounts.key",
            f"--service-cluster-ip-range={self.settings['services']}",
            f"--endpoint-reconciler-type={'master-count' if self.settings['node'] else 'none'}",
            "--allow-privileged=true",
            "--profiling=false",
            "--shutdown-delay-duration=0s",
            *self.settings["api-flags"],
        ]
        return Component("kube-apiserver", command, lambda: answers(self.url + "/readyz", self.authority.ca))

    def controller_manager(self):
        pki, port = self.authority.folder, self.ports["controllers"]
        command = [
            BIN / "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig('kube-controller-manager')}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder('controllers')}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={pki}/accounts.key",
            f"--root-ca-file={self.authority.ca}",
            f"--cluster-signing-cert-file={self.authority.ca}",
            f"--cluster-signing-key-file={pki}/ca.key",
            "--controllers=*,-nodeipam,-node-route-controller,-cloud-node-lifecycle-controller",
            *self.settings["controller-flags"],
        ]
        return Component("kube-controller-manager", command, lambda: answers(f"https://127.0.0.1:{port}/healthz"))

    def scheduler(self):
        port = self.ports["scheduler"]
        command = [
            BIN / "kube-scheduler",
            f"--kubeconfig={self.kubeconfig('kube-scheduler')}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder('scheduler')}",
            "--leader-elect=false",
            *self.settings["scheduler-flags"],
        ]
        return Component("kube-scheduler", command, lambda: answers(f"https://127.0.0.1:{port}/healthz"))

    def kwok(self):
        """Fake nodes: those with the annotation kwok.x-k8s.io/node=fake.  stages.yaml says what becomes of their pods."""
        port = self.ports["kwok"]
        command = [
            BIN / "kwok",
            f"--kubeconfig={self.kubeconfig('admin')}",
            f"--config={HERE / 'stages.yaml'}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-lease-duration-seconds=20",
            "--cidr=10.254.0.0/16",
            f"--server-address=127.0.0.1:{port}",
        ]
        return Component(
            "kwok", command, lambda: answers(f"http://127.0.0.1:{port}/healthz"), {"HOME": str(self.folder("home"))}
        )

    def volcano(self):
        scheduler, controllers = self.ports["volcano-scheduler"], self.ports["volcano-controllers"]
        common = [f"--kubeconfig={self.kubeconfig('admin')}", "--leader-elect=false", "--enable-healthz=true"]
        return [
            Component(
                "volcano-scheduler",
                [
                    BIN / "volcano-scheduler",
                    *common,
                    f"--scheduler-conf={HERE / 'volcano.yaml'}",
                    f"--healthz-address=127.0.0.1:{scheduler}",
                    f"--listen-address=127.0.0.1:{self.ports['volcano-metrics']}",
                    f"--cache-dump-dir={self.folder('volcano')}",
                    "--schedule-period=200ms",
                    f"--plugins-dir={self.folder('volcano')}",
                ],
                lambda: answers(f"http://127.0.0.1:{scheduler}/healthz"),
            ),
            Component(
                "volcano-controllers",
                [BIN / "volcano-controllers", *common, f"--healthz-address=127.0.0.1:{controllers}"],
                lambda: answers(f"http://127.0.0.1:{controllers}/healthz"),
            ),
        ]


PORTS = [
    "api",
    "etcd",
    "etcd-peer",
    "controllers",
    "scheduler",
    "kwok",
    "volcano-scheduler",
    "volcano-controllers",
    "volcano-metrics",
]
