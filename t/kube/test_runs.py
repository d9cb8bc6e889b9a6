"""Runs of pipelines whose steps are pods: doc/guide/pipelines.md on a real node."""

import json

import pytest
import yaml
from conftest import PATIENCE, ROOT, Server, wait_for

from kube.fixtures import namespace
from kube.images import PYTHON
from kube.test_runtime import connect, left, pods

EXAMPLES = ROOT / "examples/pipelines"
PLACE = {"PF_JOB_QUEUE_NAME": "qq", "PF_JOB_FLAVOUR": "small"}


@pytest.fixture(scope="module")
def kube(request):
    with namespace("c", request) as made:
        made.cluster.load_image("python")
        yield made


@pytest.fixture(scope="module")
def server(kube, tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("state"), "--cpus", "1").start()
    connect(made, kube)
    made.paddle("flavour", "create", "small", "--cpu", "100m", "--memory", "64Mi", check=0)
    yield made
    made.destroy()


def steps_of(components):
    """All steps below, those in DAGs too."""
    for body in components.values():
        yield from steps_of(body["entry_points"]) if "entry_points" in body else [body]


def placed(text, tmp_path):
    """The definition, whose steps go to the cluster, with an image that its node has."""
    definition = yaml.safe_load(text)
    definition["docker_env"] = PYTHON
    for section in ("entry_points", "post_process"):
        for step in steps_of(definition.get(section, {})):
            step.setdefault("env", {}).update(PLACE)
    path = tmp_path / "pipeline.json"
    path.write_text(json.dumps(definition))
    return path


def begin(server, text, tmp_path, *options):
    done = server.paddle("run", "create", "-f", placed(text, tmp_path), *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


def finish(server, run, state):
    """The nodes of a run by their paths, once it has ended, and the run."""
    wait_for(lambda: server.get(f"/v1/runs/{run}").json["finished_at"], 2 * PATIENCE, "the run's end")
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


def test_a_failure_and_what_runs_after_it(server, kube, tmp_path):
    """examples/pipelines/failure.yaml: `load` fails twice, the step after it is cancelled, post_process runs."""
    text = (EXAMPLES / "failure.yaml").read_text()
    nodes, found = finish(server, begin(server, text, tmp_path), "failed")
    assert states(nodes) == {"load": "failed", "count": "succeeded", "clean": "succeeded"}
    assert found["nodes"]["cancelled"] == 1
    assert found["message"].startswith("step 'load' failed: worker-0 exited with status 1"), found
    assert server.job(nodes["load"]["job"])["attempt"] == 2  # retries: 1
    assert said(server, nodes["count"]) == "499500\n"  # the sum of 0 to 999
    assert said(server, nodes["clean"]) == f"run {found['id']} is over\n"
    wait_for(lambda: not left(kube), what="pods and services to go with the jobs")


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


def test_a_loop_and_conditions(server, tmp_path):
    """Two instances of a DAG, with a loop of two steps in each; a condition takes one of its instances."""
    run = begin(server, LOOPS, tmp_path, "-p", "first.wanted=1")
    nodes, _ = finish(server, run, "succeeded")
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
    tree = {item["name"]: item for item in server.get(f"/v1/runs/{run}/tree").json["items"]}
    assert (tree["each"]["type"], tree["each"]["count"]) == ("loop", 2)
    shown = server.paddle("run", "show", run, check=0).stdout
    assert "each" in shown and "right" in shown and nodes["last"]["job"] in shown


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
    wait_for(lambda: not pods(kube), what="the pods to go")
