"""Tier c: a real node.  containerd, kubelet, kube-proxy and CoreDNS in namespaces of their own, joined to the host by one link.

A cluster takes the addresses 198.18.4N.0/22 and 198.19.N.0/24 of the range that RFC 2544 keeps for tests; N is claimed by
creating the link's host end, pdkN.  Pods get 198.18.4N.0/23; the node is 198.18.(4N+2).2 and the host, for pods, 198.18.(4N+2).1.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import time

from kube import images
from kube.components import BIN, Component, accepts, answers

NAME = "node-1"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
MOUNT_OPTIONS = {"rw", "relatime", "nosuid", "nodev", "noexec", "xattr", "clone_children"}
CLONE_NEWCGROUP = 0x02000000
LINKS = 64
CORES = 16
CPU_ONLINE, NUMA = pathlib.Path("/sys/devices/system/cpu/online"), pathlib.Path("/sys/devices/system/node")
LOG_BYTES = 2 << 20
PORTS = {"api": 6443, "etcd": 2379, "etcd-peer": 2380, "controllers": 10257, "scheduler": 10259, "kwok": 10247}
PORTS |= {
    "kubelet": 10250,
    "kubelet-health": 10248,
    "proxy": 10256,
    "proxy-metrics": 10249,
    "dns": 53,
    "dns-ready": 8181,
}
PORTS |= {"volcano-scheduler": 11251, "volcano-controllers": 11252, "volcano-metrics": 8080}


def run(*words, check=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, f"{' '.join(map(str, words))}: {done.stderr}"
    return done


def wait_for(check, what, timeout=120):
    """Polls `check` until it returns something true, and returns that. The longer it waits, the less often it looks."""
    start = time.monotonic()
    while not (value := check()):
        waited = time.monotonic() - start
        assert waited < timeout, f"{what} did not come within {timeout} s"
        time.sleep(min(max(waited / 10, 0.02), 0.2))
    return value


class Link:
    """The virtual cable between the host and the cluster's network namespace."""

    def __init__(self):
        for self.number in range(LINKS):
            self.name = f"pdk{self.number}"
            if (
                run(
                    "ip", "link", "add", self.name, "type", "veth", "peer", "name", self.name + "n", check=False
                ).returncode
                == 0
            ):
                return
        raise RuntimeError(f"all of pdk0 to pdk{LINKS - 1} are taken: 'ip link' shows them")

    def settings(self):
        first = 4 * self.number
        return {
            "link": self.name + "n",
            "host": f"198.18.{first + 2}.1",
            "address": f"198.18.{first + 2}.2",
            "pods": f"198.18.{first}.0/23",
            "services": f"198.19.{self.number}.0/24",
            "ports": PORTS,
        }

    def connect(self, pid):
        """Gives one end to the namespace that the process `pid` is about to make."""
        ours = os.readlink("/proc/self/ns/net")
        wait_for(lambda: os.readlink(f"/proc/{pid}/ns/net") != ours, "the cluster's network namespace")
        run("ip", "link", "set", self.name + "n", "netns", pid)
        settings = self.settings()
        run("ip", "address", "add", settings["host"] + "/30", "dev", self.name)
        run("ip", "link", "set", self.name, "up")
        for network in (settings["pods"], settings["services"]):
            run("ip", "route", "add", network, "via", settings["address"], "dev", self.name)

    def remove(self):
        run("ip", "link", "delete", self.name, check=False)


def hierarchies():
    """The controllers of cgroup v1, where there are any."""
    return [
        folder
        for folder in CGROUPS.glob("*")
        if (folder / "cgroup.procs").exists() and not (folder / "cgroup.controllers").exists()
    ]


def join_cgroups(name):
    """Puts this process, and so all of the cluster and its containers, into cgroups of their own.

    Only with cgroup v1.  A cgroup namespace makes them the roots that containerd and the kubelet see."""
    found = hierarchies()
    for hierarchy in found:
        folder = hierarchy / name
        folder.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):
            with contextlib.suppress(FileNotFoundError):
                (folder / file).write_text((hierarchy / file).read_text())
        (folder / "cgroup.procs").write_text(str(os.getpid()))
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWCGROUP) != 0:
        raise OSError(ctypes.get_errno(), "no cgroup namespace")
    mounts = [line.split()[1:4] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    for place, kind, options in mounts:
        if kind == "cgroup" and pathlib.Path(place) in found:
            own = [option for option in options.split(",") if option not in MOUNT_OPTIONS]
            run("umount", "-l", place)
            run("mount", "-t", "cgroup", "-o", ",".join(own), "cgroup", place)


def remove_cgroups(name):
    for hierarchy in hierarchies():
        for folder, _, _ in os.walk(hierarchy / name, topdown=False):
            with contextlib.suppress(OSError, AssertionError):
                wait_for(lambda folder=folder: not (pathlib.Path(folder) / "cgroup.procs").read_text(), folder, 10)
                os.rmdir(folder)


class Node:
    """What is inside of the namespaces.  `plan` is the cluster's; this adds its components of a node."""

    def __init__(self, plan):
        self.plan, self.settings, self.state = plan, plan.settings, plan.state
        self.socket = f"unix://{self.state}/containerd.sock"

    def prepare(self):
        run("mount", "--make-rshared", "/")
        join_cgroups(self.state.name)
        self.mount()
        self.connect()
        authority, address = self.plan.authority, self.settings["address"]
        authority.issue("kubelet", f"system:node:{NAME}", ["system:nodes"], [f"IP:{address}", f"DNS:{NAME}"])
        authority.issue("kube-proxy", "system:kube-proxy")
        for name in ("kubelet", "kube-proxy"):
            authority.kubeconfig(self.plan.kubeconfig(name), self.plan.url, name)

    def mount(self):
        """What is mounted on the host shows here, not the other way; between node and containers it goes both ways."""
        run("mount", "-t", "tmpfs", "-o", "mode=755", "cluster", "/run")
        for folder in ("/run/lock", "/run/netns"):
            os.mkdir(folder)
        run("mount", "--bind", self.plan.folder("var-log"), "/var/log")
        run("mount", "--bind", self.resolver(), "/etc/resolv.conf")
        if self.settings["in-memory"]:
            # Thousands of small files: unpacked faster, and gone at once.
            run("mount", "-t", "tmpfs", "-o", "mode=755,size=60%", "cluster", self.plan.folder("containerd"))
        self.mount_cores()
        kubelet = self.plan.folder("kubelet")
        run("mount", "--bind", kubelet, kubelet)
        run("mount", "--make-rshared", kubelet)

    def mount_cores(self):
        """Shows the kubelet CORES cores, so that pods of one test do not wait for those of another. The kubelet reads the
        topology of node0 and the list of online CPUs. A kernel without node0 keeps its own count."""
        if not (NUMA / "node0/meminfo").exists():
            return
        node = self.plan.folder("numa/node0")
        for name in ("meminfo", "distance"):
            (node / name).write_text((NUMA / "node0" / name).read_text())
        for core in range(CORES):
            topology = self.plan.folder(f"numa/node0/cpu{core}/topology")
            (topology / "core_id").write_text(f"{core}\n")
            (topology / "physical_package_id").write_text("0\n")
        run("mount", "--bind", self.plan.folder("numa"), NUMA)
        run("mount", "--bind", self.plan.file("cpu-online", f"0-{CORES - 1}\n"), CPU_ONLINE)

    def resolver(self):
        """The node asks the cluster's DNS only: no other is within reach."""
        return self.plan.file("resolv.conf", f"nameserver {self.plan.service_address(10)}\n")

    def connect(self):
        link = self.settings["link"]
        wait_for(lambda: run("ip", "link", "show", link, check=False).returncode == 0, f"the link {link}")
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", self.settings["address"] + "/30", "dev", link)
        run("ip", "link", "set", link, "up")
        run("ip", "route", "add", "default", "via", self.settings["host"])
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def components(self):
        return [self.containerd(), self.kubelet(), self.proxy(), self.dns()]

    def containerd(self):
        config = self.plan.file("containerd.toml", self.containerd_config())
        network = self.plan.folder("cni")
        (network / "10-ptp.conflist").write_text(json.dumps(self.network()))
        ctr = ["ctr", "--address", f"{self.state}/containerd.sock", "version"]
        return Component(
            "containerd", ["containerd", "--config", config], lambda: run(*ctr, check=False).returncode == 0
        )

    def containerd_config(self):
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        return f"""version = 2
root = "{self.plan.folder("containerd")}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
address = "{self.state}/containerd.sock"
[{cri}]
sandbox_image = "{images.PAUSE}"
restrict_oom_score_adj = true
[{cri}.registry]
config_path = "{self.plan.folder("registries")}"
[{cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
SystemdCgroup = false
[{cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{self.plan.folder("cni")}"
"""

    def network(self):
        addresses = {
            "type": "host-local",
            "dataDir": str(self.plan.folder("cni-addresses")),
            "ranges": [[{"subnet": self.settings["pods"]}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        plugins = [{"type": "ptp", "ipam": addresses}, {"type": "portmap", "capabilities": {"portMappings": True}}]
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": plugins}

    def kubelet(self):
        pki, port = self.plan.authority.folder, self.settings["ports"]["kubelet-health"]
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self.settings["address"],
            "port": self.settings["ports"]["kubelet"],
            "healthzPort": port,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self.plan.authority.ca)},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{pki}/kubelet.crt",
            "tlsPrivateKeyFile": f"{pki}/kubelet.key",
            "clusterDNS": [self.plan.service_address(10)],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self.resolver()),
            "containerRuntimeEndpoint": self.socket,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            # Without cgroups of pods the code that resizes them reads a null pointer, when a pod goes while its container restarts.
            "featureGates": {"InPlacePodVerticalScaling": False},
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "failCgroupV1": False,
            "localStorageCapacityIsolation": False,
            "makeIPTablesUtilChains": False,
            "evictionHard": {
                "memory.available": "0%",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
                "imagefs.available": "0%",
            },
            # What a container says is rotated soon enough for a test to see it.
            "containerLogMaxSize": f"{LOG_BYTES}",
            "containerLogMonitorInterval": "3s",
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "serializeImagePulls": False,
            "kubeAPIQPS": 200,
            "kubeAPIBurst": 400,
            "eventRecordQPS": 0,
        }
        command = [
            BIN / "kubelet",
            f"--config={self.plan.file('kubelet.json', config)}",
            f"--kubeconfig={self.plan.kubeconfig('kubelet')}",
            f"--root-dir={self.plan.folder('kubelet')}",
            f"--hostname-override={NAME}",
            f"--node-ip={self.settings['address']}",
        ]
        return Component("kubelet", command, lambda: answers(f"http://127.0.0.1:{port}/healthz"))

    def proxy(self):
        address, ports = self.settings["address"], self.settings["ports"]
        config = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "hostnameOverride": NAME,
            "clusterCIDR": self.settings["pods"],
            "clientConnection": {"kubeconfig": str(self.plan.kubeconfig("kube-proxy"))},
            "healthzBindAddress": f"{address}:{ports['proxy']}",
            "metricsBindAddress": f"127.0.0.1:{ports['proxy-metrics']}",
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
            "iptables": {"minSyncPeriod": "100ms"},
        }
        command = [BIN / "kube-proxy", f"--config={self.plan.file('kube-proxy.json', config)}"]
        return Component("kube-proxy", command, lambda: answers(f"http://{address}:{ports['proxy']}/healthz"))

    def dns(self):
        """CoreDNS as a process of the node, behind the Service that pods are told of.  Names outside of the cluster do not exist."""
        address, ports = self.settings["address"], self.settings["ports"]
        corefile = self.plan.file(
            "Corefile",
            f""".:{ports["dns"]} {{
    bind {address}
    errors
    ready {address}:{ports["dns-ready"]}
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {self.plan.kubeconfig("admin")}
        pods insecure
        ttl 5
    }}
    template ANY ANY . {{
        rcode NXDOMAIN
    }}
}}
""",
        )
        ready = f"http://{address}:{ports['dns-ready']}/ready"
        return Component(
            "coredns", [BIN / "coredns", "-conf", corefile], lambda: accepts(address, ports["dns"]) and answers(ready)
        )

    def finish(self, kubectl):
        """Images and the DNS service."""
        for archive in images.archives():
            self.load(archive)
        objects = {"apiVersion": "v1", "kind": "List", "items": self.dns_objects()}
        kubectl("create", "-f", self.plan.file("dns.json", objects))

    def load(self, archive):
        run("ctr", "--address", f"{self.state}/containerd.sock", "-n", "k8s.io", "images", "import", archive)

    def dns_objects(self):
        ports = [
            {"name": name, "protocol": protocol, "port": 53} for name, protocol in (("dns", "UDP"), ("dns-tcp", "TCP"))
        ]
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "kube-dns", "namespace": "kube-system"},
            "spec": {"clusterIP": self.plan.service_address(10), "ports": ports},
        }
        slice_of = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "kube-dns",
                "namespace": "kube-system",
                "labels": {"kubernetes.io/service-name": "kube-dns"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self.settings["address"]], "conditions": {"ready": True}}],
            "ports": ports,
        }
        return [service, slice_of]
