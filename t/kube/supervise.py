"""Runs a test cluster, in two processes.  usage: supervise.py outer|inner STATE

The outer one makes what stands outside of the processes (ports, network link), starts the inner one and waits: until its
owner is gone, until it is told to stop (SIGTERM), or until the inner one ends.  Then it removes everything.
The inner one is the parent of all components.  With a real node it is process 1 of its own process, mount and network
namespaces: when it goes, the kernel ends every process, mount, interface and packet rule of the cluster.
Neither outlives the other: each child asks the kernel for SIGKILL at its parent's death.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from kube import components, node, pki

START_TIMEOUT = 240  # seconds; ten are usual, a machine with other work takes longer
STOP_TIMEOUT = 30
LOGS = components.HERE.parent.parent / "build/kube/log"
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
PORTS_CLAIM = "paddle-kube-ports"
# Nearly all components are Go programs that hold little and allocate much: with Go's own setting, which collects whenever
# the heap has doubled, a good part of their time is collecting. Memory is what a machine for tests has.
GO = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def write(path, text):
    """Whole or not at all."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    temporary.rename(path)


def is_free(port):
    with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
        probe.bind(("127.0.0.1", port))
        return True
    return False


def claim_ports(names):
    """A free port each, and what keeps other clusters off them for as long as it is open: between the look at a port and its
    use there are seconds.  They are below the range that the kernel gives to clients and that of node ports."""
    blocks = range(20000, 30000, 100)
    for first in random.sample(blocks, len(blocks)):
        claim = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            claim.bind(f"\0{PORTS_CLAIM}-{first}")
            found = [port for port in range(first, first + blocks.step) if is_free(port)]
            if len(found) >= len(names):
                return dict(zip(names, found, strict=False)), claim
        claim.close()
    raise RuntimeError("no ports from 20000 to 29999 are left for a test cluster")


class Inner:
    """The parent of the components.  Takes commands on the socket `control`: one line of JSON, answered by one."""

    def __init__(self, state):
        self.state, self.running, self.components = pathlib.Path(state), {}, {}
        self.settings = json.loads((self.state / "settings.json").read_text())
        self.plan = components.Plan(self.state, self.settings, pki.Authority(self.state / "pki"))
        self.listener = socket.socket(socket.AF_UNIX)
        self.node = node.Node(self.plan) if self.settings["node"] else None
        self.loaded, self.end = set(), False

    def run(self):
        self.plan.certify()
        if self.node:
            self.node.prepare()
        self.start_all(self.plan.control_plane())
        self.apply_crds()
        if self.settings["kwok"]:
            self.start_all([self.plan.kwok()])
        if self.settings["volcano"]:
            self.start_all(self.plan.volcano())
        if self.node:
            self.start_all(self.node.components())
            self.node.finish(self.kubectl)
            self.wait("the node", lambda: self.has_condition("Ready", f"node/{node.NAME}"))
        self.wait("the default service account", self.has_account)
        self.listener.bind(str(self.state / "control"))
        self.listener.listen(16)
        write(self.state / "ready", "")
        while not self.end:
            readable, _, _ = select.select([self.listener], [], [], 1)
            self.reap()
            if readable:
                self.serve()

    def kubectl(self, *arguments, check=True):
        command = [components.BIN / "kubectl", "--kubeconfig", self.plan.kubeconfig("admin"), *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "HOME": str(self.state)}, check=False
        )
        assert done.returncode == 0 or not check, f"kubectl {arguments[0]}: {done.stderr}"
        return done

    def apply_crds(self):
        if self.settings["volcano"]:
            crds = components.BIN / "volcano-crds.yaml"
            self.kubectl("create", "-f", crds)
            self.wait("Volcano's definitions", lambda: self.has_condition("Established", "-f", crds))

    def has_condition(self, condition, *what):
        """`kubectl wait` fails where an object has no conditions yet, and where it is not there yet."""
        return self.kubectl("wait", f"--for=condition={condition}", "--timeout=5s", *what, check=False).returncode == 0

    def has_account(self):
        return self.kubectl("get", "serviceaccount", "default", "-o", "name", check=False).returncode == 0

    def start_all(self, wanted):
        for component in wanted:
            self.components[component.name] = component
            self.start(component)

    def start(self, component):
        with open(self.state / "log" / f"{component.name}.log", "ab") as log:
            process = subprocess.Popen(
                component.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.state,
                env={**os.environ, **GO, **component.environment},
                preexec_fn=die_with_parent,  # noqa: PLW1509 - there are no threads here
                start_new_session=True,
            )
        self.running[component.name] = process
        self.wait(component.name, component.ready or (lambda: True), process)

    def wait(self, what, is_ready, process=None):
        start = time.monotonic()
        end = start + START_TIMEOUT
        while not is_ready():
            if process and process.poll() is not None:
                raise RuntimeError(f"{what} ended with status {process.returncode}:\n{self.tail(what)}")
            if time.monotonic() > end:
                raise RuntimeError(f"{what} was not ready within {START_TIMEOUT} s:\n{self.tail(what)}")
            time.sleep(0.05)
        print(f"{what} was ready after {time.monotonic() - start:.1f} s", flush=True)

    def tail(self, name):
        with contextlib.suppress(OSError):
            return "\n".join((self.state / "log" / f"{name}.log").read_text(errors="replace").splitlines()[-15:])
        return ""

    def reap(self):
        """Process 1 of a namespace inherits all orphans.  A component's own end is for its Popen to see."""
        components_by_pid = {process.pid: process for process in self.running.values()}
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if ended.si_pid in components_by_pid:
                    components_by_pid[ended.si_pid].poll()
                else:
                    os.waitpid(ended.si_pid, 0)

    def serve(self):
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rw") as stream:
            try:
                request = json.loads(stream.readline())
                reply = getattr(self, "do_" + request.pop("do"))(**request)
            except Exception as problem:  # noqa: BLE001 - whatever it is, the caller must learn of it
                reply = {"error": f"{problem}\n{traceback.format_exc()}"}
            with contextlib.suppress(OSError):
                stream.write(json.dumps(reply or {}) + "\n")
                stream.flush()

    def do_end(self):
        self.end = True

    def do_load(self, archive):
        """Gives the node the image in an archive, once."""
        archive = os.path.realpath(archive)
        if archive not in self.loaded:
            self.node.load(archive)
            self.loaded.add(archive)

    def do_kill(self, name, number):
        """Sends a component a signal; with TERM or KILL, returns when it is gone."""
        process = self.running[name]
        process.send_signal(number)
        if number in (signal.SIGTERM, signal.SIGKILL):
            process.wait(STOP_TIMEOUT)

    def do_start(self, name):
        if self.running[name].poll() is None:
            raise RuntimeError(f"{name} runs already")
        self.start(self.components[name])

    def do_status(self):
        return {name: process.poll() for name, process in self.running.items()}

    def shut(self):
        """By force: nothing of a test cluster is worth a slow end."""
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()


class Outer:
    def __init__(self, state):
        self.state = pathlib.Path(state)
        self.settings = json.loads((self.state / "settings.json").read_text())
        self.inner, self.link, self.claim = None, None, None

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(0))
        try:
            owner = os.pidfd_open(self.settings["owner"]) if self.settings["owner"] else None
            self.start()
            watched = [os.pidfd_open(self.inner.pid)] + ([owner] if owner else [])
            select.select(watched, [], [])
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            self.clean()

    def start(self):
        prefix = []
        if self.settings["node"]:
            self.link = node.Link()
            self.settings.update(self.link.settings())
            prefix = [
                "unshare",
                "--net",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "--propagation",
                "slave",
                "--",
            ]
        else:
            ports, self.claim = claim_ports(components.PORTS)
            self.settings.update(address="127.0.0.1", services="10.96.0.0/24", ports=ports)
        write(self.state / "settings.json", json.dumps(self.settings, indent=2))
        command = [*prefix, sys.executable, __file__, "inner", str(self.state)]
        self.inner = subprocess.Popen(command, preexec_fn=die_with_parent)  # noqa: PLW1509
        if self.link:
            self.link.connect(self.inner.pid)

    def clean(self):
        if self.inner:
            self.end_inner()
        if self.link:
            self.link.remove()
        if self.settings["node"]:
            node.remove_cgroups(self.state.name)
        keep = LOGS / self.settings["title"]
        shutil.rmtree(keep, ignore_errors=True)
        with contextlib.suppress(OSError):
            shutil.copytree(self.state / "log", keep)
        shutil.rmtree(self.state, ignore_errors=True)

    def end_inner(self):
        """Asks the inner one to end; it may be in the middle of starting, where it does not listen."""
        with contextlib.suppress(OSError):
            control(self.state, do="end")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.inner.wait(STOP_TIMEOUT)
        self.inner.kill()
        self.inner.wait()


def control(state, **request):
    """Sends the inner process one command and returns its answer."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(START_TIMEOUT + STOP_TIMEOUT)
        client.connect(str(pathlib.Path(state) / "control"))
        with client.makefile("rw") as stream:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            reply = json.loads(stream.readline())
    if "error" in reply:
        raise RuntimeError(f"{request}: {reply['error']}")
    return reply


def main():
    role, state = sys.argv[1:]
    if role == "outer":
        Outer(state).run()
        return
    inner = Inner(state)
    try:
        inner.run()
    except BaseException as problem:
        write(inner.state / "failed", f"{problem}\n")
        raise
    finally:
        inner.shut()


if __name__ == "__main__":
    main()
