"""Runs of pipelines whose steps are pods: doc/guide/pipelines.md on a real node."""

import json
import re

import pytest
import yaml
from conftest import ROOT, Server, wait_for

from kube.fixtures import namespace
from kube.images import PYTHON
from kube.test_runtime import connect, left
from kube.test_volumes import volumes

EXAMPLES = ROOT / "examples/pipelines"
BUSY_S = 400  # tests beside this one may keep all cores of the machine busy for so long
OF_CLUSTER = ("--queue", "qq", "--image", PYTHON, "--no-package")


@pytest.fixture(scope="module")
def kube(request):
    with namespace("c", request) as made:
        made.cluster.load_image("python")
        yield made


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """A directory that pods may see, since the cluster's setting allows it."""
    made = tmp_path_factory.mktemp("sets")
    (made / "x").write_text("one\n")
    return made


@pytest.fixture(scope="module")
def server(kube, sets, tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("state"), "--cpus", "1").start()
    connect(made, kube)
    setting = {"volumes": volumes(made), "mounts": {"host_paths": [str(sets)]}}
    made.paddle("cluster", "set", "prod", "--setting", json.dumps(setting), check=0)
    made.paddle("flavour", "create", "small", "--cpu", "100m", "--memory", "64Mi", check=0)
    yield made
    made.destroy()


def steps_of(components):
    """All steps below, those in DAGs too."""
    for body in components.values():
        yield from steps_of(body["entry_points"]) if "entry_points" in body else [body]


def small(text, flavour="small"):
    """The definition with steps that need a tenth of a core each: the node has few, and tests beside this one use some."""
    definition = yaml.safe_load(text)
    for section in ("entry_points", "post_process"):
        for step in steps_of(definition.get(section, {})):
            step.setdefault("env", {})["PF_JOB_FLAVOUR"] = flavour
    return json.dumps(definition)


def create(server, path, *options):
    done = server.paddle("run", "create", "-f", path, *OF_CLUSTER, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


def begin(server, text, tmp_path, *options):
    path = tmp_path / "pipeline.json"
    path.write_text(small(text))
    return create(server, path, *options)


def finish(server, run, state):
    """The nodes of a run by their paths, once it has ended, and the run."""
    wait_for(lambda: server.get(f"/v1/runs/{run}").json["finished_at"], BUSY_S, "the run's end")
    found = server.get(f"/v1/runs/{run}").json
    assert found["state"] == state, found
    items = server.get(f"/v1/runs/{run}/nodes?limit=1000").json["items"]
    return {item["path"]: item for item in items}, found


def states(nodes):
    return {path: item["state"] for path, item in nodes.items()}


def said(server, node):
    """What a step printed, which was a pod of the cluster."""
    job = server.job(node["job"])
    assert job["queue"] == "qq" and job["members"][0]["node"], job
    return server.member_log(node["job"])


LOOPS = """
name: loops
entry_points:
  first: {parameters: {wanted: 2}, command: "echo {{wanted}}"}
  each:
    deps: first
    loop_argument: [1, 2]
    parameters: {wanted: "{{first.wanted}}"}
    entry_points:
      work:
        loop_argument: [a, b]
        parameters: {item: "{{PF_PARENT.PF_LOOP_ARGUMENT}}"}
        command: echo "{{item}}{{PF_LOOP_ARGUMENT}} $PF_STEP_NAME $PF_LOOP_ARGUMENT"
      right:
        deps: work
        parameters: {item: "{{PF_PARENT.PF_LOOP_ARGUMENT}}", wanted: "{{PF_PARENT.wanted}}"}
        condition: "{{item}} == {{wanted}}"
        command: echo "{{item}} is right"
  last: {deps: each, condition: "'{{PF_STEP_NAME}}' =~ '^la.t$'", command: echo done}
"""


@pytest.fixture(scope="module")
def runs(server, tmp_path_factory):
    """Runs that begin together: most of their time, they wait for the kubelet."""
    folder = tmp_path_factory.mktemp("pipelines")

    def example(name, *options):
        return begin(server, (EXAMPLES / f"{name}.yaml").read_text(), folder, *options)

    return {
        "failure": create(server, EXAMPLES / "failure.yaml"),
        "loops": begin(server, LOOPS, folder, "-p", "first.wanted=1"),
        "nested": example("nested", "-p", "make.count=10"),
        "search": example("search"),
    }


def test_a_failure_and_what_runs_after_it(server, runs):
    """The example as it is: `load` fails twice, the step after it is cancelled, post_process runs."""
    nodes, found = finish(server, runs["failure"], "failed")
    assert states(nodes) == {"load": "failed", "count": "succeeded", "clean": "succeeded"}
    assert found["nodes"]["cancelled"] == 1
    assert found["message"].startswith("step 'load' failed: worker-0 exited with status 1"), found
    assert server.job(nodes["load"]["job"])["attempt"] == 2  # retries: 1
    assert said(server, nodes["count"]) == "499500\n"  # the sum of 0 to 999
    assert said(server, nodes["clean"]) == f"run {found['id']} is over\n"


def test_a_loop_and_conditions(server, runs):
    """Two instances of a DAG, with a loop of two steps in each; a condition takes one of its instances."""
    nodes, _ = finish(server, runs["loops"], "succeeded")
    assert states(nodes) == {
        "first": "succeeded",
        "last": "succeeded",
        **{f"each-{i}": "succeeded" for i in range(2)},
        **{f"each-{i}.work-{k}": "succeeded" for i in range(2) for k in range(2)},
        "each-0.right": "succeeded",
        "each-1.right": "skipped",
    }
    assert said(server, nodes["first"]) == "1\n"
    for i in range(2):
        for k, item in enumerate("ab"):
            assert said(server, nodes[f"each-{i}.work-{k}"]) == f"{i + 1}{item} work {item}\n"
    assert said(server, nodes["each-0.right"]) == "1 is right\n"
    assert said(server, nodes["last"]) == "done\n"
    tree = {item["name"]: item for item in server.get(f"/v1/runs/{runs['loops']}/tree").json["items"]}
    assert (tree["each"]["type"], tree["each"]["count"]) == ("loop", 2)
    shown = server.paddle("run", "show", runs["loops"], check=0).stdout
    assert re.search("each +succeeded +2 of 2 succeeded", shown) and nodes["last"]["job"] in shown, shown


def test_artifacts_go_from_pod_to_pod(server, runs):
    """examples/pipelines/nested.yaml: two steps in a DAG in a loop; the last one reads what all three instances wrote."""
    run = runs["nested"]
    nodes, _ = finish(server, run, "succeeded")
    parts = [f"part-{i}{inner}" for i in range(3) for inner in ("", ".choose", ".add")]
    assert set(nodes) == {"make", "check", *parts} and set(states(nodes).values()) == {"succeeded"}
    assert said(server, nodes["check"]) == "55\n"  # 1 + ... + 10
    (made,) = server.get(f"/v1/artifacts?run={run}&type=output&path=.pipeline/{run}/sums/make-0-").json["items"]
    assert (server.state / "storage/local/home/root" / made["path"]).read_text().split()[-1] == "10"


def test_the_content_of_an_artifact_decides(server, runs):
    """examples/pipelines/search.yaml: the server reads what a pod wrote."""
    nodes, _ = finish(server, runs["search"], "succeeded")
    assert states(nodes) == {
        **{f"train-{i}": "succeeded" for i in range(3)},
        "choose": "succeeded",
        "publish": "succeeded",
        "report": "skipped",
    }
    assert said(server, nodes["publish"]) == "published with a loss of 0.000000\n"


MOUNTS = """
name: mounts
fs_options: {main_fs: {name: home, sub_path: work, mount_path: /work}}
entry_points:
  read:
    extra_fs: [{name: sets, mount_path: /sets, read_only: true}]
    command: cat /sets/x > here; touch /sets/y || pwd
  elsewhere:
    deps: read
    extra_fs: [{name: away, mount_path: /away}]
    command: "true"
"""


def test_file_systems_of_steps(server, sets, tmp_path):
    """A step begins in its main file system, sees another one; one that the cluster's setting does not allow is refused."""
    away = tmp_path / "away"
    away.mkdir()
    for name, path in (("sets", sets), ("away", away)):
        server.paddle("fs", "create", name, path, check=0)
    nodes, found = finish(server, begin(server, MOUNTS, tmp_path), "failed")
    assert states(nodes) == {"read": "succeeded", "elsewhere": "failed"}
    assert "/work\n" in said(server, nodes["read"])
    assert (server.state / "storage/local/home/root/work/here").read_text() == "one\n"
    assert not (sets / "y").exists()
    assert "`mounts.host_paths`" in found["message"], found


WAITS = """
name: waits
entry_points:
  wait: {command: "trap 'exit 3' TERM; echo up; while :; do sleep 0.1; done"}
  never: {deps: wait, command: echo never}
post_process:
  clean: {command: echo over}
"""


def test_a_stop_ends_the_pods(server, kube, tmp_path):
    run = begin(server, WAITS, tmp_path)

    def job():
        items = server.get(f"/v1/runs/{run}/nodes").json["items"]
        return items and items[0]["job"]

    waiting = wait_for(job, what="the job of the step")
    server.wait(waiting, "running")
    wait_for(lambda: server.member_log(waiting) == "up\n", what="the first line")
    server.paddle("run", "stop", run, check=0)
    nodes, found = finish(server, run, "terminated")
    assert states(nodes) == {"wait": "terminated", "clean": "succeeded"} and found["nodes"]["cancelled"] == 1
    assert server.job(waiting)["state"] == "cancelled"
    assert said(server, nodes["clean"]) == "over\n"
    wait_for(lambda: not left(kube), what="pods and services to go with the jobs")
