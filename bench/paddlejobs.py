"""Figures of paddle-operator on a real API server with fake nodes (tier b of t/kube), beside a bare client of ours (bench/kube.c)
that makes the same objects as fast as the server takes them."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "t/operator"))
BUILD = ROOT / "build/release"
TOOL = BUILD / "src/kube/bench-kube"
NODES, ROOM = 4, {"cpu": "100k", "memory": "1Pi", "pods": "5000"}
JOBS, PODS = 50, 4  # of the first figures: 50 jobs of 2 parameter servers and 2 workers
MANY = 2000  # of one worker each, which nobody places, for the restart
QUIET_S = 10  # of the steady state
USER = "system:serviceaccount:default:bench-operator"


def audit(folder, user=USER):
    """Flags by which the API server writes down what a user, such as the operator, asks for."""
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [{"level": "Metadata", "users": [user]}, {"level": "None"}],
    }
    (folder / "policy.json").write_text(json.dumps(policy))
    return [f"--audit-policy-file={folder}/policy.json", f"--audit-log-path={folder}/log"]


WRITES = ("create", "update", "patch", "delete", "deletecollection")


def writes(log):
    """What the operator has written so far, by the server's own record: {verb and resource: count}."""
    return requests(log, WRITES)


def requests(log, verbs):
    """What was asked for so far, by the server's own record: {verb and resource: count}."""
    found = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["verb"] in verbs:
            what = f"{event['verb']} {event['objectRef']['resource']}"
            found[what] = found.get(what, 0) + 1
    return found


@contextlib.contextmanager
def cluster():
    from kube.cluster import TIERS, Cluster
    from pdj import CRD, install

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made = Cluster.launch("bench", owner=os.getpid(), api_flags=audit(folder), **TIERS["b"])
        try:
            install(made, CRD, "paddlejobs.batch.paddlepaddle.org")
            made.add_fake_nodes(NODES, **ROOM)
            rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
            yield made, made.account("bench-operator", rules=rules, everywhere=True), folder / "log"
        finally:
            made.stop()


def paddle_job(name, placed=True, **roles):
    """`placed`: its pods get a node; else they wait for a scheduler that does not exist."""
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}}}
    pod = {"containers": [container], **({} if placed else {"schedulerName": "nobody"})}
    spec = {role: {"replicas": n, "template": {"spec": pod}} for role, n in roles.items()}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name},
        "spec": spec,
    }


def make(kubeconfig, namespace, objects, pods, running_of, running, services=None):
    """How long bench-kube took to make these, and to see what is to come of them."""
    done = subprocess.run(
        [TOOL, namespace, str(pods), str(pods if services is None else services), running_of, str(running)],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        input=json.dumps(objects),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def bare(item, kind):
    """An object as somebody would make it who had no operator."""
    metadata = {name: item["metadata"][name] for name in ("name", "labels", "annotations") if name in item["metadata"]}
    made = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    made |= {part: item[part] for part in ("spec", "data") if part in item}
    made.get("spec", {}).pop("nodeName", None)
    return made


def copies(space):
    """What the operator has made in a namespace, in its order: the cluster begins to work on pods as they come."""
    kinds = {"services": "Service", "pods": "Pod", "configmaps": "ConfigMap"}
    found = [(item, kind) for plural, kind in kinds.items() for item in space.items(plural)]
    found.sort(key=lambda pair: pair[0]["metadata"]["creationTimestamp"])
    return [bare(item, kind) for item, kind in found if item["metadata"].get("ownerReferences")]


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_mb(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))) / 1024


def mapped(pid):
    """The mappings of a process: {field of smaps: KiB}, and the file that each is of, or ""."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, *values = line.split(maxsplit=5)
        if not name.endswith(":"):
            found.append({"file": values[4] if len(values) > 4 else ""})
        elif values[-1] == "kB":
            found[-1][name[:-1]] = int(values[0])
    return found


def alone_mb(pid):
    """Private memory as it is when no other program of ours runs: code that such a program has mapped, too, counts."""
    common = {one["file"] for one in mapped("self")}
    kib = 0
    for one in mapped(pid):
        kib += one["Private_Clean"] + one["Private_Dirty"]
        if one["file"].startswith("/") and one["file"] not in common:
            kib += one["Shared_Clean"]
    return kib / 1024


def settle(one, log):
    """When nothing is written for a second."""
    before = None
    while before != writes(log):
        before = writes(log)
        time.sleep(1)


def one_round(cluster, kubeconfig, log, number):
    """The operator, then the bare client, each in a namespace of its own."""
    from kube.fixtures import Namespace
    from pdj import Operator

    theirs, ours = (Namespace(cluster, f"{who}-{number}") for who in ("bare", "operated"))
    one = Operator(kubeconfig, f"--namespace={ours.name}")
    try:
        jobs = [paddle_job(f"job-{i}", ps=PODS // 2, worker=PODS // 2) for i in range(JOBS)]
        operated = make(kubeconfig, ours.name, jobs, JOBS * PODS, "jobs", JOBS)
        settle(one, log)
        pid = one.process.pid
        seen = {"cpu_s": cpu_s(pid), "private_mb": private_mb(pid), "alone_mb": alone_mb(pid)}
    finally:
        one.stop()
    alone = make(kubeconfig, theirs.name, jobs + copies(ours), JOBS * PODS, "pods", JOBS * PODS)
    return operated, alone, seen


def restart(cluster, kubeconfig, log):
    """Many jobs that want nothing, an operator that starts, and what it does then."""
    from kube.fixtures import Namespace
    from pdj import Operator

    space = Namespace(cluster, "many")
    one = Operator(kubeconfig, f"--namespace={space.name}")
    try:
        jobs = [paddle_job(f"job-{i}", placed=False, worker=1) for i in range(MANY)]
        make(kubeconfig, space.name, jobs, MANY, "jobs", 0)
        settle(one, log)
    finally:
        one.stop()
    before = writes(log)
    assert sum(before.values()) > 2 * MANY, "the server's record says nothing"
    began = time.monotonic()
    one = Operator(kubeconfig, f"--namespace={space.name}")
    try:
        passes = 'controller_runtime_reconcile_total{controller="paddlejob",result="success"}'
        while one.metric(passes) < MANY:
            time.sleep(0.02)
        took = time.monotonic() - began
        assert one.metric("paddle_operator_jobs") == MANY
        cpu = cpu_s(one.process.pid)
        time.sleep(QUIET_S)
        after = writes(log)
        return {
            "took_s": took,
            "cpu_s": cpu,
            "idle_cpu_s": cpu_s(one.process.pid) - cpu,
            "private_mb": private_mb(one.process.pid),
            "writes": {what: n - before.get(what, 0) for what, n in after.items() if n != before.get(what, 0)},
        }
    finally:
        one.stop()


def ready():
    """The programs that are missing are built; then the cluster."""
    subprocess.run([ROOT / "t/kube/build", "kubernetes", "kwok", "volcano"], check=True)
    subprocess.run(["ninja", "-C", BUILD, "--quiet", "src/kube/bench-kube"], check=True)
    return cluster()


def fifty(rounds, spread):
    """50 PaddleJobs of 4 pods, by the operator and by a bare client."""
    with ready() as (made, kubeconfig, log):
        one_round(made, kubeconfig, log, "warm")
        done = [one_round(made, kubeconfig, log, i) for i in range(rounds)]
    operated, alone, seen = zip(*done)

    def column(rows, name):
        return spread([row[name] for row in rows])

    def ratio(name):
        return spread([a[name] / b[name] for a, b in zip(operated, alone)])

    return {
        "all pods and services exist, s": column(operated, "exist_s"),
        "... of the bare client (bar 1.3)": ratio("exist_s"),
        "all jobs are Running, s": column(operated, "running_s"),
        "... of the bare client's pods (bar 1.3)": ratio("running_s"),
        "bare client: objects exist, s": column(alone, "exist_s"),
        "bare client: pods run, s": column(alone, "running_s"),
        "CPU of the operator, s (bar 1.0)": column(seen, "cpu_s"),
        "private memory of the operator alone on a machine, MB (bar 10)": column(seen, "alone_mb"),
        "... beside the other programs that run now": column(seen, "private_mb"),
    }


def two_thousand():
    """An operator that starts beside 2,000 jobs that want nothing."""
    with ready() as (made, kubeconfig, log):
        seen = restart(made, kubeconfig, log)
    return {
        f"until each of {MANY} jobs was looked at, s (bar 10)": round(seen["took_s"], 2),
        "... CPU, s": round(seen["cpu_s"], 2),
        "... private memory, MB": round(seen["private_mb"], 1),
        f"... writes then and in {QUIET_S} s after (bar 0)": sum(seen["writes"].values()),
        f"... CPU in {QUIET_S} s of rest, s": round(seen["idle_cpu_s"], 2),
    }
