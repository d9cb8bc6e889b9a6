"""Jobs on a cluster of type Kubernetes: the server's runtime against a real API server, scheduler and node."""

import json

import pytest
from conftest import wait_for

from kube.images import BASE

RULES = [
    {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
    {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ["create", "delete"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]},
    {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list", "watch"]},
]


def connect(server, kube, rules=RULES, through=None):
    """The cluster of the namespace with a queue `qq`, known and connected; `through` a proxy."""
    account = kube.cluster.account(f"paddled-{kube.name}", namespace=kube.name, rules=rules, everywhere=True)
    account = through.kubeconfig(account) if through else account
    server.paddle("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", account, check=0)
    server.paddle("queue", "create", "qq", "--cluster", "prod", check=0)


def wait_usable(server, cluster="prod", count=1):
    """Waits for `count` usable nodes: without one a job is refused, and the cores of its members depend on their number."""

    def usable():
        return sum(node["usable"] for node in server.get(f"/v1/nodes?cluster={cluster}").json["items"]) >= count

    wait_for(usable, what=f"{count} nodes that can be used")


def submit(server, script, *options, name="job"):
    done = server.paddle(
        *("submit", "--queue", "qq", "--base-image", BASE, "--name", name, "--no-package", *options),
        *("--", "sh", "-c", script),
        check=0,
    )
    assert done.stdout
    return server.job(name)


def pods(kube):
    return kube.items("pods", selector="owner=paddleflow")


def left(kube):
    return pods(kube) or kube.items("services", selector="owner=paddleflow")


@pytest.fixture
def joined(server, kube_node):
    connect(server, kube_node)
    return server, kube_node


def test_a_command_runs_as_a_pod(joined):
    server, kube = joined
    job = submit(server, "echo hi; echo there >&2; uname -n")
    done = server.wait(job["id"])
    member = done["members"][0]
    host = f"{job['id']}-1-worker-0"
    assert done["state"] == "succeeded", done["reason"]
    assert member["node"] in {node["metadata"]["name"] for node in kube.api.get("/api/v1/nodes")["items"]}
    assert sorted(server.member_log(job["id"]).split()) == sorted(["hi", "there", host])
    wait_for(lambda: not left(kube), what="pod and service to go with the job")


def test_a_cluster_may_have_an_image_for_all(server, kube_node):
    connect(server, kube_node)
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": BASE}), check=0)
    server.paddle("submit", "--queue", "qq", "--no-package", "--name", "job", "--", "sh", "-c", "echo hi", check=0)
    assert server.wait("job")["state"] == "succeeded"
    assert server.paddle("logs", "job", check=0).stdout.endswith("hi\n")


def test_its_exit_status_counts(joined):
    server, _ = joined
    job = submit(server, "echo before; exit 7")
    done = server.wait(job["id"])
    assert (done["state"], done["members"][0]["exit_code"]) == ("failed", 7)
    assert server.member_log(job["id"]) == "before\n"


def test_words_reach_the_pod_as_they_are(joined):
    server, _ = joined
    job = submit(server, 'echo "$PADDLE_JOB_ID" "$WORD" \'$(PADDLE_JOB_ID) $$\'', "--env", "WORD=$(HOME)$$x")
    assert server.wait(job["id"])["state"] == "succeeded"
    assert server.member_log(job["id"]) == f"{job['id']} $(HOME)$$x $(PADDLE_JOB_ID) $$\n"


def test_cancel_ends_the_pod(joined):
    server, kube = joined
    job = submit(server, "trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.1; done")
    server.wait(job["id"], "running")
    wait_for(lambda: server.member_log(job["id"]) == "up\n", what="the first line")
    server.paddle("cancel", job["id"], check=0)
    done = server.wait(job["id"])
    assert done["state"] == "cancelled"
    assert server.member_log(job["id"]) == "up\nasked\n"
    wait_for(lambda: not left(kube), what="pod and service to go with the job")


def test_more_logs_than_streams_take_turns(joined):
    server, kube = joined
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"log_streams": 1}), check=0)
    script = "trap 'echo ended; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    job = server.submit(["sh", "-c", script], queue="qq", image=BASE, roles=[{"name": "worker", "replicas": 2}])
    members = ["worker-0", "worker-1"]

    def logs():
        return [server.member_log(job["id"], member) for member in members]

    wait_for(lambda: logs() == ["up\n"] * 2, what="the first line of each")
    server.paddle("cancel", job["id"], check=0)
    server.wait(job["id"])
    assert logs() == ["up\nended\n"] * 2
    wait_for(lambda: not left(kube), what="pods and service to go with the job")


def test_a_restart_in_the_middle_starts_nothing_twice(joined):
    server, kube = joined
    count = "for i in 1 2 3 4; do echo $i; sleep 0.5; done; "
    job = submit(server, count + "until [ -e /tmp/go ]; do sleep 0.1; done; echo 5; exit 0")
    server.wait(job["id"], "running")
    wait_for(lambda: server.member_log(job["id"]).startswith("1\n"), what="the first line")
    (before,) = [pod["metadata"] for pod in pods(kube)]
    server.kill()
    server.start()
    assert [pod["metadata"]["uid"] for pod in pods(kube)] == [before["uid"]]
    kube.kubectl("exec", before["name"], "--", "touch", "/tmp/go")
    done = server.wait(job["id"])
    assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
    assert server.member_log(job["id"]) == "".join(f"{i}\n" for i in range(1, 6))


def test_members_find_each_other_by_name(joined):
    server, _ = joined
    script = (
        'case $RANK in 0) nc -l -p "$MASTER_PORT";; '
        '*) until echo hello | nc -w 20 "$MASTER_ADDR" "$MASTER_PORT"; do sleep 0.2; done;; esac'
    )
    spec = {
        "framework": "pytorch",
        "queue": "qq",
        "image": BASE,
        "roles": [{"name": "worker", "replicas": 2}],
    }
    job = server.submit(["sh", "-c", script], **spec)
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    assert server.member_log(job["id"], "worker-0") == "hello\n"
    assert {member["port"] for member in done["members"]} == {36000}


def test_readiness_may_be_declared(joined):
    """By a file in the pod: the trainer, which asks once, begins when the server has said that it serves."""
    server, _ = joined
    serve = (
        "sleep 2; mkdir /tmp/w; echo hello >/tmp/w/index.html; httpd -p $PADDLE_PORT -h /tmp/w; "
        'until wget -qO- "http://localhost:$PADDLE_PORT/"; do sleep 0.1; done; : >"$PADDLE_READY_FILE"; sleep 600'
    )
    roles = [
        {"name": "pserver", "replicas": 1, "cpu": "50m", "command": ["sh", "-c", serve]},
        {"name": "trainer", "replicas": 1, "cpu": "50m"},
    ]
    ask = ["sh", "-c", 'wget -qO- "http://$PADDLE_PSERVERS_IP_PORT_LIST/"']
    job = server.submit(ask, queue="qq", image=BASE, ready="declared", grace="1s", roles=roles)
    done = server.wait(job["id"])
    assert done["state"] == "succeeded", done["reason"]
    assert server.member_log(job["id"], "trainer-0") == "hello\n"


def test_what_cannot_start_says_why(joined):
    server, _ = joined
    job = server.submit(["true"], queue="qq", image="test.local/none:1")
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert "ImagePullBackOff" in done["members"][0]["error"]
    job = server.submit(["/no/such/program"], queue="qq", image=BASE)
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert "/no/such/program" in done["members"][0]["error"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({}, "names none"),
        ({"image": BASE, "output": "/pfs/local/home/root/out"}, "entry 'local' of `volumes`"),
    ],
)
def test_what_the_runtime_cannot_bring_is_refused(joined, spec, says):
    server, kube = joined
    job = server.submit(["true"], queue="qq", **spec)
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert says in done["reason"]
    assert not pods(kube)


def test_a_bad_credential_is_named(server, tmp_path):
    (tmp_path / "config").write_text(json.dumps({"clusters": 7}))
    server.paddle("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", tmp_path / "config", check=0)
    server.paddle("queue", "create", "qq", "--cluster", "prod", check=0)
    job = server.submit(["true"], queue="qq", image=BASE)
    said = server.get(f"/v1/jobs/{job['id']}/explain").json
    assert "clusters" in json.dumps(said)
    local = server.submit(["true"])
    assert server.wait(local["id"])["state"] == "succeeded"


def test_a_problem_and_its_hint_are_one_line(server, tmp_path):
    config = {
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "a", "user": "u"}}],
        "current-context": "gone",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    says = "no context 'gone'. There are: c."
    create = ("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", tmp_path / "config")
    assert says in server.paddle(*create, check=0).stderr
    assert says in server.paddle("cluster", "show", "prod", check=0).stdout
    server.paddle("queue", "create", "qq", "--cluster", "prod", check=0)
    job = server.submit(["true"], queue="qq", image=BASE)["id"]
    assert says in " ".join(server.paddle("explain", job, check=0).stdout.split())


def test_a_cluster_that_is_away_holds_up_nobody(server, own_cluster):
    """Its jobs wait, others do not; nothing is lost when it is back."""
    connect(server, own_cluster)
    job = submit(server, "sleep 2; echo done")
    server.wait(job["id"], "running")
    own_cluster.cluster.kill("kube-apiserver")
    try:
        waiting = submit(server, "echo later", name="later")
        wait_for(
            lambda: "not connected" in (server.job(waiting["id"])["reason"] or ""),
            what="the word that the cluster is away",
        )
        local = server.submit(["true"])
        assert server.wait(local["id"])["state"] == "succeeded"
    finally:
        own_cluster.cluster.start("kube-apiserver")
    assert server.wait(job["id"])["state"] == "succeeded"
    assert server.wait(waiting["id"])["state"] == "succeeded"
    assert server.member_log(waiting["id"]) == "later\n"
