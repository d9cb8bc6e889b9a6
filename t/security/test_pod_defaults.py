"""What pods of users are kept from when nobody says otherwise (doc/guide/security.md, "Pods on Kubernetes"): as the API server has
them, and as the kernel of a real node says of the program that runs there."""

import json

import pytest
from conftest import wait_for
from kube.images import BASE
from kube.test_connections import connect
from kube.test_runtime import RULES, pods
from people import Person

SHUT = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
ROOTS_OWN = {"extensionTemplate": {"kind": "Pod", "spec": {"containers": [{"securityContext": {"runAsUser": 0}}]}}}
NO_ROOT = {"extensionTemplate": {"kind": "Pod", "spec": {"securityContext": {"runAsUser": 65534}}}}
NO_KEYS = {
    "extensionTemplate": {
        "kind": "Pod",
        "spec": {"containers": [{"securityContext": {"capabilities": {"add": ["CHOWN"]}}}]},
    }
}
STATUS = "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; id -u"


def joined(server, kube, **setting):
    account = kube.cluster.account(f"paddled-{kube.name}", kube.name, RULES, everywhere=True)
    connect(server, account, setting={"image": BASE, **setting})


def set_to(server, **setting):
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": BASE, **setting}), check=0)


def containers(pod):
    return pod["spec"]["containers"] + pod["spec"].get("initContainers", [])


def test_as_they_are_stored(server, kube_fake):
    """A parameter server, a trainer with the container that waits for it, and a pod that stands for itself."""
    joined(server, kube_fake)
    roles = [{"name": "pserver", "replicas": 1}, {"name": "trainer", "replicas": 1}]
    server.submit(["true"], queue="qq", roles=roles)
    server.submit(["true"], queue="qq", roles=[{"name": "worker", "replicas": 2, "min": 1}])
    found = wait_for(lambda: len(pods(kube_fake)) == 4 and pods(kube_fake), what="the pods of both jobs")
    assert [c["name"] for pod in found for c in containers(pod)].count("gate") == 1
    for pod in found:
        spec = pod["spec"]
        assert spec["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
        assert [c["securityContext"] for c in containers(pod)] == [SHUT] * len(containers(pod))
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostPID", "hostIPC", "hostNetwork", "shareProcessNamespace"} & set(spec)


def test_an_administrator_lifts_them_for_a_user(server, kube_fake):
    joined(server, kube_fake, allow_new_privileges=["ann"])
    made = {}
    for name in ("ann", "eve"):
        person = Person(server, name)
        assert server.post("/v1/grants", {"user": name, "resource": "qq"}).status == 201
        job = person.submit("true", queue="qq")["id"]
        server.wait(job, "running")
        (made[name],) = [pod["spec"] for pod in pods(kube_fake) if pod["metadata"]["labels"]["paddle-job-id"] == job]
    assert "seccompProfile" not in made["ann"]["securityContext"]
    assert "securityContext" not in made["ann"]["containers"][0]
    assert made["eve"]["containers"][0]["securityContext"] == SHUT


def test_as_the_kernel_says(server, kube_node):
    """The image's root stays, with no right but that of its number; whatever is lifted shows that the test can fail."""
    joined(server, kube_node)

    def status(**about):
        done = server.wait(server.submit(["sh", "-c", STATUS], queue="qq", **about)["id"])
        assert done["state"] == "succeeded", done["reason"]
        *lines, uid = server.member_log(done["id"]).splitlines()
        return {name: int(value, 16) for name, value in (line.split(":") for line in lines)}, uid

    assert status() == ({"CapEff": 0, "CapBnd": 0, "NoNewPrivs": 1, "Seccomp": 2}, "0")
    added, _ = status(origin={"paddleflow": NO_KEYS})
    assert (added["CapEff"], added["CapBnd"]) == (1, 1)  # CHOWN, as its template says
    set_to(server, allow_new_privileges=["root"])
    lifted, _ = status()
    assert lifted["CapEff"] and not lifted["NoNewPrivs"]


@pytest.mark.parametrize(("template", "state"), [({}, "failed"), (ROOTS_OWN, "failed"), (NO_ROOT, "succeeded")])
def test_a_cluster_may_refuse_root(server, kube_node, template, state):
    """Whatever image and template say."""
    joined(server, kube_node, run_as_non_root=True)
    done = server.wait(server.submit(["id", "-u"], queue="qq", origin={"paddleflow": template})["id"])
    assert done["state"] == state, done["reason"]
    if state == "failed":
        assert "root" in done["members"][0]["error"]
    else:
        assert server.member_log(done["id"]) == "65534\n"


def test_root_of_an_image_writes_a_home_of_another_number(server, kube_node, tmp_path):
    storage = server.state / "storage/local"
    joined(server, kube_node, volumes={"local": {"host_path": f"{storage}/home/%s"}})
    ann = Person(server, "ann")
    assert server.post("/v1/grants", {"user": "ann", "resource": "qq"}).status == 201
    (tmp_path / "mine").write_text("6\n")
    ann.paddle("upload", tmp_path / "mine", "/pfs/local/home/ann/mine", check=0)
    about = ann.disk.stat()
    assert about.st_uid != 0 and about.st_mode & 0o077 == 0
    script = "cat $HOME_OF/mine && echo 7 >$PADDLE_OUTPUT/model && echo 8 >$HOME_OF/own && ! chown 1:1 $HOME_OF/own"
    env = {"HOME_OF": "/pfs/local/home/ann"}
    done = server.wait(ann.submit(script, queue="qq", output="/pfs/local/home/ann/out", env=env)["id"])
    assert done["state"] == "succeeded", server.member_log(done["id"])
    assert ((ann.disk / "out/model").read_text(), (ann.disk / "own").read_text()) == ("7\n", "8\n")
