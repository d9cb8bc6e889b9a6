"""2.16 logs of pods and deployments by their names; scheduling 13. The containers are real."""

import re

import pytest
from conftest import wait_for

from paddleflow.client import case, check, good, has_keys, refused, table
from paddleflow.test_cli import Cli
from paddleflow.test_kubernetes import ALL, IMAGE, JOBS, join

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d) ")
EVENT = re.compile(r"type: ?([^\t]*)\treason: ?([^\t]*)\teventsTime: ?([^\t]*)\tmessage: ?([^\t\n]*)")
LINES = 20000  # with their times more than 500 000 bytes


def ask(cluster, kube, name, **query):
    pairs = {"clusterName": cluster, "namespace": kube.name, "name": name, "type": "pod", **query}
    return "/log/job?" + "&".join(f"{key}={value}" for key, value in pairs.items() if value is not None)


def shown(flow, cluster, kube, name, **query):
    value = good(flow.get(ask(cluster, kube, name, **query))).json
    has_keys(value, "jobID taskList name type eventList")
    assert (value["jobID"], value["name"]) == ("", f"{kube.name}/{name}")
    for task in value["taskList"]:
        has_keys(task, "taskID logInfo")
        has_keys(task["logInfo"], "logContent hasNextPage truncated")
    assert all(EVENT.fullmatch(line) for line in value["eventList"]), value["eventList"]
    return value


def log(value, container):
    (info,) = (task["logInfo"] for task in value["taskList"] if task["taskID"].endswith("/" + container))
    return info


def lines_of(info):
    """What the program wrote, without the times."""
    text = info["logContent"]
    assert text == "" or text.endswith("\n")
    assert all(STAMP.match(line) for line in text.splitlines()), text[:200]
    return [STAMP.sub("", line) for line in text.splitlines()]


def flags(info):
    return info["hasNextPage"], info["truncated"]


def numbered(first, last):
    return [f"line {number}" for number in range(first, last + 1)]


def container(name, script, **about):
    return {"name": name, "image": IMAGE, "command": ["sh", "-c", script], **about}


def put_pod(kube, name, *containers, **about):
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": list(containers), **about}
    return kube.create("pods", {"metadata": {"name": name}, "spec": spec})


@pytest.fixture
def joined(flow, kube_node):
    path = kube_node.cluster.user(f"admin-{kube_node.name}", namespace=kube_node.name, rules=ALL, everywhere=True)
    return flow, kube_node, join(flow, path)


def test_a_pod(joined, tmp_path):
    flow, kube, cluster = joined
    # They stay: of a container that ends at once containerd may lose the end of the log.
    many = container("many", f"seq 1 {LINES} | sed 's/^/line /'; exec sleep 600")
    few = container("few", "echo out; echo err >&2; exec sleep 600")
    uid = put_pod(kube, "p", many, few)["metadata"]["uid"]

    def look(**query):
        return shown(flow, cluster, kube, "p", **query)

    def last(name):
        tasks = look(readFromTail="true", lineLimit=2)
        return sorted(lines_of(log(tasks, name)))

    wait_for(lambda: last("many") == numbered(LINES - 1, LINES) and last("few") == ["err", "out"], what="the logs")
    value = look()
    assert value["type"] == "pod"
    assert [task["taskID"] for task in value["taskList"]] == [f"p_{uid}/many", f"p_{uid}/few"]
    assert lines_of(log(value, "many")) == numbered(1, 1000) and flags(log(value, "many")) == (True, False)
    assert sorted(lines_of(log(value, "few"))) == ["err", "out"] and flags(log(value, "few")) == (False, False)

    value = look(readFromTail="true", lineLimit=3)
    assert lines_of(log(value, "many")) == numbered(LINES - 2, LINES) and flags(log(value, "many")) == (True, False)
    assert len(lines_of(log(value, "few"))) == 2 and flags(log(value, "few")) == (False, False)
    assert lines_of(log(look(lineLimit=2), "many")) == numbered(1, 2)
    assert lines_of(log(look(lineLimit=0), "many")) == numbered(1, 1000)  # out of range: as if not said

    for tail, found in (("false", numbered(1, 2)), ("true", numbered(LINES - 1, LINES))):
        info = log(look(sizeLimit="100", readFromTail=tail), "many")  # a line and its time are 37 to 50 bytes
        assert lines_of(info) == found and len(info["logContent"]) <= 100 and info["hasNextPage"] is True

    # No more than 500 000 bytes are read from the beginning, no more than 5,000 lines from the end.
    info = log(look(lineLimit=1000000), "many")
    assert lines_of(info) == numbered(1, info["logContent"].count("\n")) and flags(info) == (False, True)
    assert 500000 - 100 < len(info["logContent"]) <= 500000
    info = log(look(lineLimit=1000000, readFromTail="true"), "many")
    assert lines_of(info) == numbered(LINES - 4999, LINES) and flags(info) == (False, True)

    def reasons():
        return {EVENT.fullmatch(line)[2] for line in look(lineLimit=1)["eventList"]}

    wait_for(lambda: {"Scheduled", "Started"} <= reasons(), what="the pod's events")

    command = ("log", "kube", "-n", "p", "-ns", kube.name, "-c", cluster, "-t", "pod", "-r", "true", "-l", "1")
    printed = Cli(flow, tmp_path).out(*command)
    for words in (f"{kube.name}/p", f"p_{uid}/many", f"line {LINES}\n", f"p_{uid}/few", "reason: Scheduled"):
        assert words in printed, printed
    assert f"line {LINES - 1}\n" not in printed


def deployment(replicas, script):
    labels = {"app": "d"}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container("c", script)]}
    return {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def test_a_deployment(joined):
    """Its own pods, and no others."""
    flow, kube, cluster = joined
    put_pod(kube, "other", container("c", "echo other"))
    kube.create("deployments", deployment(2, "hostname; exec sleep 600"), version="apps/v1")
    wait_for(lambda: len(kube.items("pods", selector="app=d")) == 2, what="two pods")
    pods = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in kube.items("pods", selector="app=d")}

    def look(word="deployment"):
        value = shown(flow, cluster, kube, "d", type=word)
        assert value["type"] == "deployment"
        return {task["taskID"]: lines_of(task["logInfo"]) for task in value["taskList"]}

    wanted = {f"{name}_{uid}/c": [name] for name, uid in pods.items()}
    wait_for(lambda: look() == wanted, what="their logs")
    assert look("deploy") == wanted

    def events():
        return shown(flow, cluster, kube, "d", type="deploy")["eventList"]

    wait_for(lambda: any("reason: ScalingReplicaSet\t" in line for line in events()), what="the deployment's event")
    kube.api.delete(kube.path("deployments", "d", "apps/v1"))


def test_one_that_is_not_there(joined):
    flow, kube, cluster = joined
    value = shown(flow, cluster, kube, "none", type="deployment")
    assert (value["taskList"], value["eventList"]) == ([], [])
    assert 'pods "none" not found' in refused(flow.get(ask(cluster, kube, "none")), "InternalError")["message"]


def test_a_container_that_has_not_begun(joined):
    flow, kube, cluster = joined
    put_pod(
        kube, "p", container("a", "true"), container("b", "true", image="test.local/none:1", imagePullPolicy="Never")
    )

    def waits():
        statuses = {status["name"]: status for status in kube.get("pods", "p")["status"].get("containerStatuses", [])}
        return "waiting" in statuses.get("b", {}).get("state", {}) and "terminated" in statuses["a"]["state"]

    wait_for(waits, what="a container without an image")
    value = shown(flow, cluster, kube, "p")
    assert [task["logInfo"]["logContent"] for task in value["taskList"]] == ["", ""]
    assert any("p/b: " in line and "waiting to start" in line for line in value["eventList"]), value["eventList"]


@pytest.mark.parametrize("rules, may", [(JOBS[:1], False), (JOBS, True)], ids=["no log", "no events"])
def test_what_the_account_may_not_read(flow, kube_node, rules, may):
    """The API server's words: as the answer when there is no log, among the events when these are missing."""
    kube = kube_node
    put_pod(kube, "p", container("c", "echo hello; exec sleep 600"))
    kube.wait_phase("p", "Running")
    cluster = join(flow, kube.cluster.account("reader", namespace=kube.name, rules=rules), namespaceList=[kube.name])
    if not may:
        message = refused(flow.get(ask(cluster, kube, "p")), "InternalError")["message"]
        assert 'pods "p" is forbidden' in message and "pods/log" in message
        return
    value = shown(flow, cluster, kube, "p")
    wait_for(lambda: lines_of(log(shown(flow, cluster, kube, "p"), "c")) == ["hello"], what="the log")
    (line,) = value["eventList"]
    assert "events is forbidden" in line


def test_k3s(flow, kube_node):
    """15.2: logs through the API server."""
    kube = kube_node
    put_pod(kube, "p", container("c", "echo hello; exec sleep 600"))
    kube.wait_phase("p", "Running")
    path = kube.cluster.user(f"admin-{kube.name}", namespace=kube.name, rules=ALL, everywhere=True)
    cluster = join(flow, path, clusterType="K3S")
    wait_for(lambda: lines_of(log(shown(flow, cluster, kube, "p"), "c")) == ["hello"], what="the log")


def row(title, *codes, who="root", **query):
    pairs = {"clusterName": "<cluster>", "namespace": "default", "name": "x", "type": "pod", **query}
    path = "/log/job?" + "&".join(f"{key}={value}" for key, value in pairs.items() if value is not None)
    return case(title, "GET", path, None, *codes, who=who)


REFUSED = [
    row("12 2.16 type", "InternalError", type="job"),
    row("12 2.16 type missing", "InternalError", type=None),
    row("2.16 name missing", "InvalidURI", name=None),
    row("2.16 namespace missing", "InvalidURI", namespace=None),
    row("2.16 cluster unknown", "InvalidURI", "ClusterNotFound", clusterName="none"),
    row("2.16 no way out of the pod's path", "InternalError", name="..%2F..%2Fnodes"),
    row("2.16 nor by dots", "InternalError", name=".."),
    row("2.16 nor out of the namespace", "InternalError", namespace=".", type="deployment"),
    row("2.16 lineLimit", "InvalidURI", lineLimit="many"),
    row("2.16 sizeLimit", "InvalidURI", sizeLimit="2G"),
    row("2.16 by another", "AccessDenied", who="<alice>"),
    row("2.16 this machine", "InvalidURI", clusterName="default-cluster"),
]


@table(REFUSED)
def test_refused(flow, alice, kube, row):
    path = kube.cluster.user(f"admin-{kube.name}", namespace=kube.name, rules=ALL, everywhere=True)
    check(flow, row, {"cluster": join(flow, path), "alice": alice})


def test_a_cluster_that_is_away(flow, kube):
    path = kube.cluster.account("reader", namespace=kube.name)
    path.write_text(path.read_text().replace(kube.cluster.url, "https://127.0.0.1:1"))
    cluster = join(flow, path)
    assert "127.0.0.1" in refused(flow.get(ask(cluster, kube, "x")), "InternalError")["message"]
