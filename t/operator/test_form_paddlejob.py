"""Jobs of the platform on a cluster whose setting says `form: paddlejob`: each attempt is a PaddleJob, and our operator makes its pods."""

import json
import os
import re

import pytest
from conftest import wait_for
from kube.cluster import Cluster
from kube.fixtures import Namespace
from kube.images import BASE
from kube.test_forms import SERVE, check_began_once, job_of, owned
from kube.test_runtime import RULES, connect, pods, wait_usable
from kube.test_secrets import GIVEN, TELL, VALUE, check_is_nowhere_else, check_pod, check_secret, make, secrets
from kube.test_secrets import MAY as SECRETS
from pdj import CRD, GROUP, Operator, install

VOLCANO = [
    {
        "apiGroups": ["scheduling.volcano.sh"],
        "resources": ["queues", "podgroups"],
        "verbs": ["get", "list", "watch", "create", "update", "delete"],
    }
]
GANG = "scheduling.volcano.sh/v1beta1"
MAY = [{"apiGroups": ["batch.paddlepaddle.org"], "resources": ["paddlejobs"], "verbs": ["get", "create", "delete"]}]
KIND = "paddlejobs.batch.paddlepaddle.org"
END = "; sleep 2"  # of a container that ends at once containerd may lose the end of the log
FETCH = (
    'for at in $(echo "$PADDLE_PSERVERS_IP_PORT_LIST" | tr , " "); '
    'do until wget -qO- "http://$at/" 2>/dev/null; do sleep 0.2; done; done'
)


def join(server, kube):
    connect(server, kube, RULES + MAY + SECRETS)
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": BASE, "form": "paddlejob"}), check=0)


@pytest.fixture
def joined(server, kube_node):
    kube = kube_node
    install(kube.cluster, CRD, KIND)
    operator = Operator(kube.cluster.kubeconfig, f"--namespace={kube.name}", f"--initImage={BASE}")
    join(server, kube)
    yield server, kube
    server.destroy(keep=True)
    assert operator.stop() == 0, operator.text()


def paddle_jobs(kube):
    return {item["metadata"]["name"]: item for item in kube.items("paddlejobs", GROUP)}


def check_nothing_is_left(kube):
    wait_for(lambda: not owned(kube) and not paddle_jobs(kube), what="all objects to go with the job")


def test_a_job_is_a_paddle_job(joined):
    server, kube = joined
    job = job_of(server, SERVE, f"{FETCH}; echo $PADDLE_TRAINERS_NUM; sleep 2", 2, 3)
    name = f"j-{job['id']}-1"
    wait_for(lambda: len(pods(kube)) == 5, what="five pods")
    spec = paddle_jobs(kube)[name]["spec"]
    assert (spec["ps"]["replicas"], spec["worker"]["replicas"]) == (2, 3)
    assert {pod["metadata"]["name"] for pod in pods(kube)} == {
        *(f"{name}-ps-{index}" for index in range(2)),
        *(f"{name}-worker-{index}" for index in range(3)),
    }
    assert not kube.items("statefulsets", "apps/v1") and not kube.items("jobs", "batch/v1")
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    check_began_once(server, job, 1, 2, 3)
    for index in range(3):
        assert server.member_log(job["id"], f"trainer-{index}").splitlines()[1:] == ["hello", "hello", "3"]
    assert {member["role"]: member["exit_code"] for member in done["members"]} == {"pserver": 0, "trainer": 0}
    check_nothing_is_left(kube)


def test_secrets(joined):
    """They pass through the object and the operator to the pods, and no value does."""
    server, kube = joined
    make(server)
    job = job_of(server, f"{TELL}; {SERVE}", f"{TELL}; until [ -e /tmp/go ]; do sleep 0.1; done", 1, 2, **GIVEN)["id"]
    server.wait(job, "running")
    check_secret(kube, job)
    for pod in pods(kube):
        check_pod(pod, job)
    check_is_nowhere_else(server, kube, job, [("paddlejobs", GROUP)])
    for index in range(2):
        server.paddle("exec", job, "--member", f"trainer-{index}", "--", "touch", "/tmp/go", check=0)
    done = server.wait(job)
    assert done["state"] == "succeeded", done["reason"]
    for member in ("pserver-0", "trainer-0", "trainer-1"):
        assert f"got {VALUE} {VALUE} 444\n" in server.member_log(job, member)
    wait_for(lambda: not secrets(kube), what="the end of the Secret")
    check_nothing_is_left(kube)


def test_trainers_end_one_by_one(joined):
    """The end of one takes nobody else away."""
    server, kube = joined
    script = f"{FETCH}; case $PADDLE_TRAINER_ID in 0) exit 0;; esac; sleep 5; {FETCH}; echo whole{END}"
    job = job_of(server, SERVE, script, 1, 2)
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    assert server.member_log(job["id"], "trainer-1").endswith("whole\n")
    assert {member["name"]: member["exit_code"] for member in done["members"]} == {
        **{f"trainer-{index}": 0 for index in range(2)},
        "pserver-0": 0,
    }
    check_nothing_is_left(kube)


def test_a_trainer_that_fails_is_tried_again_with_all(joined):
    server, kube = joined
    job = job_of(
        server,
        SERVE,
        'case "$PADDLE_TRAINER_ID" in 1) exit 7;; esac; sleep 600',
        1,
        2,
        retries=1,
        backoff="1s",
        grace="1s",
    )
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("failed", 2)
    assert "trainer-1 exited with status 7" in done["reason"]
    check_nothing_is_left(kube)


def test_cancel_leaves_the_grace(joined):
    server, kube = joined
    script = f"trap 'echo saved{END}; exit 0' TERM; while :; do sleep 0.1; done"
    job = job_of(server, SERVE, script, 1, 2)
    server.wait(job["id"], "running")
    wait_for(
        lambda: all("began" in server.member_log(job["id"], f"trainer-{index}") for index in range(2)),
        what="the first lines",
    )
    server.paddle("cancel", job["id"], check=0)
    assert server.wait(job["id"])["state"] == "cancelled"
    assert [server.member_log(job["id"], f"trainer-{index}").splitlines()[1] for index in range(2)] == ["saved"] * 2
    assert server.member_log(job["id"], "pserver-0").endswith("ended\n")
    check_nothing_is_left(kube)


def test_a_server_killed_while_it_creates(joined):
    server, kube = joined
    job = job_of(server, SERVE, f"{FETCH}; sleep 2", 1, 2)
    wait_for(lambda: paddle_jobs(kube), what="the PaddleJob")
    server.kill()
    server.start()
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    check_began_once(server, job, 1, 1, 2)
    check_nothing_is_left(kube)


def test_collective_trainers_know_their_own_address(joined):
    """What PaddlePaddle asks for without a launcher of its own."""
    server, kube = joined
    script = f'echo "$PADDLE_TRAINER_ID $PADDLE_CURRENT_ENDPOINT $PADDLE_TRAINER_ENDPOINTS $PADDLE_TRAINERS_NUM"{END}'
    roles = [{"name": "trainer", "replicas": 2, "cpu": "50m", "command": ["sh", "-c", script]}]
    job = server.submit(["true"], queue="qq", image=BASE, framework="paddle-collective", roles=roles)
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    said = [server.member_log(job["id"], f"trainer-{index}").split() for index in range(2)]
    everybody = said[0][2]
    assert re.fullmatch(r"[\d.]+:\d+,[\d.]+:\d+", everybody)
    assert said == [[str(index), everybody.split(",")[index], everybody, "2"] for index in range(2)]
    check_nothing_is_left(kube)


@pytest.mark.parametrize("flags", [["--scheduling=volcano"], []], ids=["with gangs", "without"])
def test_volcano_places_the_pods(server, kube_fake, flags):
    """All are one gang in the job's queue, whether the operator looks at PodGroups or not."""
    kube, queue = kube_fake, kube_fake.name[-20:].strip("-")
    install(kube.cluster, CRD, KIND)
    operator = Operator(kube.cluster.kubeconfig, f"--namespace={kube.name}", "--initImage=", *flags)
    try:
        path = kube.cluster.account(f"gang-{kube.name}", kube.name, RULES + MAY + VOLCANO, everywhere=True)
        setting = json.dumps({"image": BASE, "form": "paddlejob", "volcano": True})
        create = ("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", path, "--setting", setting)
        server.paddle(*create, check=0)
        server.paddle("queue", "create", queue, "--cluster", "prod", check=0)
        roles = [{"name": "trainer", "replicas": 2, "cpu": "50m", "memory": "16Mi"}]
        job = server.submit(["true"], queue=queue, roles=roles, framework="paddle-collective")
        name = f"j-{job['id']}-1"
        made = wait_for(lambda: len(pods(kube)) == 2 and pods(kube), what="two pods")
        (group,) = kube.items("podgroups", GANG)
        assert (group["metadata"]["name"], group["spec"]["minMember"], group["spec"]["queue"]) == (name, 2, queue)
        for pod in made:
            assert pod["spec"]["schedulerName"] == "volcano"
            assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == name
            assert pod["metadata"]["annotations"]["volcano.sh/queue-name"] == queue
        policy = paddle_jobs(kube)[name]["spec"]["schedulingPolicy"]
        assert (policy["queue"], policy["minAvailable"]) == (queue, 2)
        assert policy["minResources"] == {"cpu": "100m", "memory": str(32 << 20)}
        for pod in made:
            path = kube.path("pods", pod["metadata"]["name"])
            kube.api.patch(path, {"metadata": {"annotations": {"test/succeed-after": "0s"}}})
        done = server.wait(job["id"])
        assert done["state"] == "succeeded", done["reason"]
        wait_for(lambda: not kube.items("podgroups", GANG), what="the group to go with the job")
        server.destroy(keep=True)
        assert operator.stop() == 0, operator.text()
    finally:
        operator.kill()


@pytest.fixture
def bare():
    """A cluster that has never heard of PaddleJobs."""
    cluster = Cluster.launch("bare", owner=os.getpid(), kwok=True)
    cluster.add_fake_nodes(1)
    yield Namespace(cluster, "jobs")
    cluster.stop()


def test_what_the_cluster_lacks_is_named(server, bare):
    """First the definition, then who acts on it; when somebody does, the job that waits goes on."""
    join(server, bare)
    wait_usable(server)
    job = job_of(server, "true", "true", 1, 2)
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert f"there is no CustomResourceDefinition '{KIND}'" in done["reason"]
    assert "Install paddle-operator there, or take 'form' out of the cluster's setting." in done["reason"]
    wait_for(lambda: not owned(bare), what="all objects to go with the job")
    install(bare.cluster, CRD, KIND)
    job = job_of(server, "true", "true", 1, 2)
    said = f"PaddleJob 'j-{job['id']}-1' exists, but no operator has started it"
    wait_for(lambda: said in json.dumps(server.get(f"/v1/jobs/{job['id']}/explain").json), what="why it waits")
    operator = Operator(bare.cluster.kubeconfig, f"--namespace={bare.name}", f"--initImage={BASE}")
    try:
        server.wait(job["id"], "running")
        server.paddle("cancel", job["id"], check=0)
        assert server.wait(job["id"])["state"] == "cancelled"
        check_nothing_is_left(bare)
    finally:
        assert operator.stop() == 0, operator.text()
