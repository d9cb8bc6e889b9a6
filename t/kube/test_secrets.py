"""Secrets of jobs on a cluster: members have them in every form, values are in one Secret for each attempt and nowhere else, and that
goes with the attempt."""

import base64
import json

import pytest
from conftest import wait_for

from kube.fixtures import end_pod
from kube.images import BASE
from kube.test_elastic import STAY, share, states, uids
from kube.test_forms import SERVE, check_nothing_is_left, job_of
from kube.test_operators import (
    KUBEFLOW,
    MORE,
    PLURALS,
    SPARK,
    SparkOperator,
    by_role,
    define,
    define_spark,
    training_operator,
)
from kube.test_runtime import RULES, connect, pods, wait_usable

MAY = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "delete"]}]
VALUE = "needle-in-the-haystack-90210"
GIVEN = {"secrets": {"TOKEN": "key"}, "secret_files": {"token.txt": "key"}}
PLACE = "/run/paddle/secrets"
KINDS = [
    ("pods", "v1"),
    ("services", "v1"),
    ("configmaps", "v1"),
    ("events", "v1"),
    ("endpoints", "v1"),
    ("endpointslices", "discovery.k8s.io/v1"),
    ("statefulsets", "apps/v1"),
    ("controllerrevisions", "apps/v1"),
    ("jobs", "batch/v1"),
]


def make(server, value=VALUE, name="key"):
    reply = server.request("PUT", f"/v1/secrets/{name}", {"value": value})
    assert reply.status == 200, reply.body


def join(server, kube, more=(), **setting):
    connect(server, kube, [*RULES, *MAY, *more])
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": BASE, **setting}), check=0)
    wait_usable(server)
    make(server)


def secrets(kube):
    """{name: Secret} of jobs."""
    return {one["metadata"]["name"]: one for one in kube.items("secrets", selector="owner=paddleflow")}


def values(secret):
    return {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}


def check_is_nowhere_else(server, kube, job, more=(), value=VALUE):
    """Plain or in base 64, at any of its three shifts."""
    forms = [value, *(base64.b64encode(b"x" * shift + value.encode())[4:-4].decode() for shift in range(3))]
    texts = {kind: json.dumps(kube.items(kind, version)) for kind, version in [*KINDS, *more]}
    texts |= {way: server.get(way).body.decode() for way in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/events")}
    texts["the server's log"] = server.log()
    assert not [place for place, text in texts.items() for form in forms if form in text]


def check_secret(kube, job, attempt=1, value=VALUE):
    service = f"j-{job}-{attempt}"
    secret = secrets(kube)[f"{service}-secrets"]
    assert (secret["type"], secret["immutable"]) == ("Opaque", True)
    assert values(secret) == {"variable.TOKEN": value, "file.token.txt": value}
    assert [(owner["kind"], owner["name"]) for owner in secret["metadata"]["ownerReferences"]] == [("Service", service)]
    assert secret["metadata"]["labels"]["paddle-job-id"] == job


def check_pod(pod, job, attempt=1, container=None):
    """Its own container refers to the Secret, and no other."""
    spec, name = pod["spec"], f"j-{job}-{attempt}-secrets"
    own = next(one for one in spec["containers"] if container in (None, one["name"]))
    entry = next(entry for entry in own["env"] if entry["name"] == "TOKEN")
    assert entry == {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": name, "key": "variable.TOKEN"}}}
    assert {"name": "PADDLE_SECRETS_DIR", "value": PLACE} in own["env"]
    assert {"name": "paddle-secrets", "mountPath": PLACE, "readOnly": True} in own["volumeMounts"]
    volume = next(volume for volume in spec["volumes"] if volume["name"] == "paddle-secrets")["secret"]
    assert (volume["secretName"], volume["items"]) == (name, [{"key": "file.token.txt", "path": "token.txt"}])
    assert not [one for one in spec.get("initContainers", []) if "paddle-secrets" in json.dumps(one)]


def check_gone(kube):
    wait_for(lambda: not secrets(kube), what="the end of the Secret")
    check_nothing_is_left(kube)


# -- in all forms, on fake nodes


@pytest.mark.parametrize("form", ["sets", "pods"])
def test_in_our_own_forms(server, kube_fake, form):
    join(server, kube_fake, form=form)
    job = job_of(server, "serve", "train", 2, 2, **GIVEN)["id"]
    wait_for(lambda: len(pods(kube_fake)) == 4, what="four pods")
    check_secret(kube_fake, job)
    for pod in pods(kube_fake):
        check_pod(pod, job)
    server.wait(job, "running")
    check_is_nowhere_else(server, kube_fake, job)
    for pod in by_role(kube_fake, "trainer").values():
        end_pod(kube_fake.api, pod)
    done = server.wait(job)
    assert done["state"] == "succeeded", done["reason"]
    check_gone(kube_fake)


KUBEFLOWS = [
    ("tensorflow", "tfjobs", {"pserver": 1, "worker": 2}, "worker", "tensorflow"),
    ("pytorch", "pytorchjobs", {"worker": 2}, "worker", "pytorch"),
    ("mpi", "mpijobs", {"worker": 2}, "master", "mpi"),
]


@pytest.mark.parametrize("framework, plural, counts, last, container", KUBEFLOWS, ids=[row[0] for row in KUBEFLOWS])
def test_as_jobs_of_kubeflow(server, kube_fake, tmp_path, framework, plural, counts, last, container):
    define(kube_fake.cluster, *PLURALS)
    join(server, kube_fake, MORE, operators=[framework])
    roles = [{"name": name, "replicas": count, "cpu": "50m"} for name, count in counts.items()]
    with training_operator(kube_fake, tmp_path):
        job = server.submit(["train"], queue="qq", framework=framework, roles=roles, grace="2s", **GIVEN)["id"]
        server.wait(job, "running")
        check_secret(kube_fake, job)
        for pod in pods(kube_fake):
            check_pod(pod, job, container=container)
        check_is_nowhere_else(server, kube_fake, job, [(plural, KUBEFLOW)])
        for pod in by_role(kube_fake, last).values():
            end_pod(kube_fake.api, pod)
        done = server.wait(job)
        assert done["state"] == "succeeded", done["reason"]
        check_gone(kube_fake)


def test_as_a_spark_application(server, kube_fake):
    define_spark(kube_fake.cluster)
    join(server, kube_fake, MORE, operators=["spark"])
    roles = [{"name": "driver", "cpu": "50m", "memory": "1Gi"}, {"name": "executor", "cpu": "50m", "memory": "2Gi"}]
    env = {"PF_JOB_SPARK_MAIN_FILE": "local:///app/train.py"}
    with SparkOperator(kube_fake):
        job = server.submit(["true"], queue="qq", framework="spark", roles=roles, env=env, **GIVEN)["id"]
        server.wait(job, "running")
        check_secret(kube_fake, job)
        for pod in pods(kube_fake):
            check_pod(pod, job)
        check_is_nowhere_else(server, kube_fake, job, [("sparkapplications", SPARK)])
        for pod in by_role(kube_fake, "driver").values():
            end_pod(kube_fake.api, pod)
        assert server.wait(job)["state"] == "succeeded"
        check_gone(kube_fake)


# -- when they change, and when they go


def test_the_next_attempt_has_the_new_value(server, kube_fake):
    join(server, kube_fake)
    roles = [{"name": "trainer", "replicas": 2, "cpu": "50m"}]
    job = server.submit(
        ["true"], queue="qq", framework="paddle-collective", roles=roles, retries=1, backoff="0s", **GIVEN
    )["id"]
    server.wait(job, "running")
    first = next(iter(pods(kube_fake)))
    make(server, "another")
    check_secret(kube_fake, job)
    end_pod(kube_fake.api, first, "fail")
    wait_for(lambda: f"j-{job}-2-secrets" in secrets(kube_fake), what="the Secret of the second attempt")
    check_secret(kube_fake, job, 2, "another")
    wait_for(lambda: list(secrets(kube_fake)) == [f"j-{job}-2-secrets"], what="the end of the first one")
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"
    check_gone(kube_fake)


def test_a_member_that_comes_back_has_the_value_of_its_attempt(server, kube_fake):
    share(server, kube_fake)
    account = kube_fake.cluster.account(f"more-{kube_fake.name}", kube_fake.name, [*RULES, *MAY], everywhere=True)
    server.paddle("cluster", "set", "prod", "--kubeconfig", account, check=0)
    make(server)
    role = {"name": "worker", "cpu": "100m", "memory": "32Mi"}
    about = {"image": BASE, "grace": "10s"}
    wide = server.submit(["sh", "-c", STAY], queue="a", roles=[{**role, "replicas": 4, "min": 1}], **about, **GIVEN)[
        "id"
    ]
    wait_for(lambda: len(uids(kube_fake, wide)) == 4, what="all members")
    made = secrets(kube_fake)[f"j-{wide}-1-secrets"]["metadata"]["uid"]
    wants = server.submit(["sh", "-c", STAY], queue="b", roles=[{**role, "replicas": 2}], **about)["id"]
    server.wait(wants, "running")
    wait_for(lambda: len(uids(kube_fake, wide)) == 2, what="the end of those that leave")
    make(server, "another")
    server.paddle("cancel", wants, check=0)
    wait_for(lambda: len(uids(kube_fake, wide)) == 4, what="those that come back")
    wait_for(lambda: not set(states(server, wide)) - {"running", "ready"}, what="all of them to run")
    for pod in pods(kube_fake):
        if pod["metadata"]["labels"]["paddle-job-id"] == wide:
            check_pod(pod, wide)
    check_secret(kube_fake, wide)
    assert secrets(kube_fake)[f"j-{wide}-1-secrets"]["metadata"]["uid"] == made
    server.paddle("cancel", wide, check=0)
    assert server.wait(wide)["state"] == "cancelled"
    check_gone(kube_fake)


def test_it_does_not_stay_with_the_pods(make_server, kube_fake):
    """Pods that ended are kept for people to look at; also when the server was started anew while the job ran."""
    server = make_server(start=False)
    server.usual = ("--listen=none",)
    server.start()
    join(server, kube_fake)
    job = server.submit(["true"], queue="qq", image=BASE, framework="plain", **GIVEN)["id"]
    server.wait(job, "running")
    check_secret(kube_fake, job)
    server.kill()
    server.start()
    server.wait(job, "running")
    for pod in pods(kube_fake):
        end_pod(kube_fake.api, pod)
    assert server.wait(job)["state"] == "succeeded"
    wait_for(lambda: not secrets(kube_fake), what="the end of the Secret")
    assert [pod["status"]["phase"] for pod in pods(kube_fake)] == ["Succeeded"]


def test_an_account_that_may_not_delete_secrets(make_server, kube_fake):
    """It goes with the service that owns it, which is kept as long as the pods are."""
    server = make_server(start=False)
    server.usual = ("--listen=none",)
    server.start()
    connect(server, kube_fake, [*RULES, {**MAY[0], "verbs": ["create"]}])
    make(server)
    about = {"annotations": {"paddleflow/job-ttl-seconds": "3"}, "framework": "plain", **GIVEN}
    job = server.submit(["true"], queue="qq", image=BASE, **about)["id"]
    server.wait(job, "running")
    for pod in pods(kube_fake):
        end_pod(kube_fake.api, pod)
    assert server.wait(job)["state"] == "succeeded"
    check_gone(kube_fake)


@pytest.mark.parametrize("form", ["sets", "pods"])
def test_a_server_killed_while_it_creates(server, kube_fake, form):
    """Whatever was made first: the members that come have the values that the Secret has."""
    join(server, kube_fake, form=form)
    for kind in ("services", "secrets", "pods"):
        make(server)
        job = job_of(server, "serve", "train", 1, 2, **GIVEN)["id"]
        wait_for(lambda: kube_fake.items(kind, selector=f"paddle-job-id={job}"), what=kind)  # noqa: B023
        before = {one["metadata"]["uid"] for one in secrets(kube_fake).values()}
        server.kill()
        server.start()
        make(server, "another")
        server.wait(job, "running")
        (made,) = secrets(kube_fake).values()
        assert not before or before == {made["metadata"]["uid"]}
        assert set(values(made)) == {"variable.TOKEN", "file.token.txt"}
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        check_gone(kube_fake)


# -- what is in the way


def test_an_account_that_may_not_make_secrets(server, kube_fake):
    connect(server, kube_fake)
    make(server)
    done = server.wait(server.submit(["true"], queue="qq", image=BASE, **GIVEN)["id"])
    assert done["state"] == "failed"
    for words in (
        "a Secret that the job needs cannot be created",
        'cannot create resource "secrets"',
    ):
        assert words in done["reason"] + str(done["members"]), done
    assert VALUE not in json.dumps(done)
    check_nothing_is_left(kube_fake)


def test_a_quota_of_the_cluster(server, kube_fake):
    join(server, kube_fake)
    kube_fake.create("resourcequotas", {"metadata": {"name": "none"}, "spec": {"hard": {"count/secrets": "0"}}})
    wait_for(lambda: kube_fake.get("resourcequotas", "none").get("status", {}).get("hard"), what="the quota")
    job = server.submit(["true"], queue="qq", image=BASE, **GIVEN)["id"]
    wait_for(lambda: "exceeded quota: none" in str(server.job(job)["members"]), what="why it waits")
    kube_fake.api.delete(kube_fake.path("resourcequotas", "none"))
    server.wait(job, "running")
    check_secret(kube_fake, job)
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"
    check_gone(kube_fake)


# -- on a real node

TELL = f'echo "got $TOKEN $(cat $PADDLE_SECRETS_DIR/token.txt) $(stat -L -c %a {PLACE}/token.txt)"'


def test_what_members_see(server, kube_node):
    """Behind the gate and without it; and a command beside them."""
    join(server, kube_node)
    go = "until [ -e /tmp/go ]; do sleep 0.1; done"
    job = job_of(server, f"{TELL}; {SERVE}", f"{TELL}; ! touch {PLACE}/x 2>/dev/null && {go}", 1, 2, **GIVEN)["id"]
    server.wait(job, "running")
    check_is_nowhere_else(server, kube_node, job)
    for index in range(2):
        member = f"trainer-{index}"
        beside = server.paddle("exec", job, "--member", member, "--", "sh", "-c", f"{TELL}; touch /tmp/go", check=0)
        assert f"got {VALUE} {VALUE} 444" in beside.stdout
    done = server.wait(job)
    assert done["state"] == "succeeded", done["reason"]
    for member in ("pserver-0", "trainer-0", "trainer-1"):
        assert f"got {VALUE} {VALUE} 444\n" in server.member_log(job, member)
    check_gone(kube_node)


def test_commands_that_members_call_in_each_other(server, kube_node):
    """By the gate of jobs whose members call each other, which have a Secret for that, too."""
    join(server, kube_node)
    script = '$OMPI_MCA_plm_rsh_agent "${PADDLE_MPI_HOSTS%% *}" ' + f"'{TELL}'"
    roles = [{"name": "worker", "replicas": 1, "cpu": "50m"}]
    job = server.submit(["sh", "-c", script], queue="qq", framework="mpi", roles=roles, **GIVEN)["id"]
    done = server.wait(job)
    assert done["state"] == "succeeded", done["reason"]
    assert f"got {VALUE} {VALUE} 444\n" in server.member_log(job, "worker-0")
    check_gone(kube_node)


@pytest.mark.parametrize(
    "context, mode",
    [({"runAsUser": 0}, "400"), ({"runAsUser": 1000}, "444"), ({"runAsUser": 1000, "fsGroup": 2000}, "440")],
    ids=["root", "a user", "a group"],
)
def test_modes_of_files(server, kube_node, context, mode):
    join(server, kube_node)
    template = {"spec": {"securityContext": context}}
    origin = {"paddleflow": {"extensionTemplate": template}}
    job = server.submit(["sh", "-c", f"id -u; {TELL}"], queue="qq", framework="plain", origin=origin, **GIVEN)["id"]
    done = server.wait(job)
    assert done["state"] == "succeeded", done["reason"]
    assert server.member_log(job).splitlines() == [str(context["runAsUser"]), f"got {VALUE} {VALUE} {mode}"]
    check_gone(kube_node)
