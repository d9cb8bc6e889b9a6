"""The test cluster itself: what the other tests rely on."""

import json
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from conftest import processes_of, wait_for

from kube.cluster import ROOT, Api, ApiError, Cluster
from kube.fixtures import end_pod, has_condition, wait_served
from kube.images import BASE, PADDLE
from kube.node import hierarchies


def pod(name, command="sleep 3600", restart="Never", scheduler=None, annotations=None, labels=None, **container):
    main = {"name": "main", "image": BASE, "imagePullPolicy": "Never", "command": ["sh", "-c", command], **container}
    spec = {"restartPolicy": restart, "terminationGracePeriodSeconds": 0, "containers": [main]}
    if scheduler:
        spec["schedulerName"] = scheduler
    return {"metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}}, "spec": spec}


def crd(group):
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}},
    }
    return {
        "metadata": {"name": f"toys.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


# Tier a


def test_version(kube):
    versions = json.loads(kube.cluster.kubectl("version", "-o", "json"))
    assert versions["serverVersion"]["gitVersion"] == "v1.33.13"
    assert versions["clientVersion"]["gitVersion"] == "v1.33.13"


def test_custom_resource(kube):
    group = f"{kube.name}.test"
    base, body = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(group)
    kube.api.create(base, body)
    try:
        wait_served(kube.cluster, f"toys.{group}")
        toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "one"}, "spec": {"size": 3}}
        kube.create("toys", toy, f"{group}/v1")
        assert kube.get("toys", "one", f"{group}/v1")["spec"] == {"size": 3}
        toy["metadata"]["name"], toy["spec"]["size"] = "two", 0
        with pytest.raises(ApiError) as refusal:
            kube.create("toys", toy, f"{group}/v1")
        assert refusal.value.status == 422 and "spec.size" in str(refusal.value)
    finally:
        kube.api.delete(f"{base}/toys.{group}")


def test_deployment_makes_pods_that_wait(kube):
    template = pod("unused", labels={"app": "web"})
    template["spec"]["restartPolicy"] = "Always"
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    kube.create("deployments", {"metadata": {"name": "web"}, "spec": spec}, "apps/v1")
    pods = wait_for(lambda: len(found := kube.items("pods", selector="app=web")) == 3 and found, what="three pods")
    assert {one["metadata"]["ownerReferences"][0]["kind"] for one in pods} == {"ReplicaSet"}
    assert all(one["status"]["phase"] == "Pending" for one in pods)
    event = wait_for(
        lambda: [one for one in kube.items("events") if one["reason"] == "FailedScheduling"], what="an event"
    )[0]
    assert "no nodes available" in event["message"]


READ_PODS = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]


@pytest.mark.parametrize("who", ["user", "account"])
def test_rights(kube, who):
    kubeconfig = getattr(kube.cluster, who)(f"{who}-{kube.name}", namespace=kube.name, rules=READ_PODS)
    assert kube.cluster.kubectl("auth", "can-i", "list", "pods", kubeconfig=kubeconfig) == "yes\n"
    api = Api(kubeconfig)
    assert api.get(kube.path("pods"))["items"] == []
    for path in (kube.path("secrets"), "/api/v1/namespaces/default/pods", "/api/v1/nodes"):
        with pytest.raises(ApiError) as refusal:
            api.get(path)
        assert refusal.value.status == 403, path


def test_a_node_may_see_only_its_own(kube):
    api = Api(kube.cluster.user(f"system:node:{kube.name}", ["system:nodes"]))
    kube.create("secrets", {"metadata": {"name": "hidden"}, "stringData": {"word": "x"}})
    with pytest.raises(ApiError) as refusal:
        api.get(kube.path("secrets", "hidden"))
    assert refusal.value.status == 403 and "no relationship found" in str(refusal.value)


def test_nobody(kube):
    tls = ssl.create_default_context(cafile=kube.cluster.authority.ca)
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(f"{kube.cluster.url}/api/v1/pods", context=tls, timeout=60)
    assert refusal.value.code == 403


def launch_and_print(node):
    """A process of its own that starts a cluster, says where, and waits."""
    code = f"import os; from kube.cluster import Cluster; print(Cluster.launch('owned', os.getpid(), node={node}).state, flush=True); input()"
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT / "t", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("node", [False, True], ids=["plain", "node"])
def test_nothing_is_left_when_the_owner_is_killed(node):
    owner = launch_and_print(node)
    state = owner.stdout.readline().strip()
    cluster = Cluster(state)
    running = processes_of(state)
    assert any("kube-apiserver" in line for line in running.values())
    if node:
        cluster.kubectl("create", "-f", "-", input={"apiVersion": "v1", "kind": "Pod", **pod("left", "sleep 7654")})
        cluster.kubectl("wait", "--for=condition=Ready", "pod/left", "--timeout=110s")
        assert cgroups(cluster)
    link = link_of(cluster)
    assert bool(link) == node
    owner.kill()
    owner.wait()
    wait_for(lambda: not os.path.exists(state), 60, "the end of the cluster")
    wait_for(lambda: not processes_of(state), 10, "the end of its processes")
    assert not link_of(cluster) or link_of(cluster) != link  # another cluster may have made one of that name
    assert cgroups(cluster) == []
    assert state not in pathlib.Path("/proc/mounts").read_text()


def link_of(cluster):
    """The number of the host's end of a cluster's link; None where there is none."""
    links = json.loads(subprocess.check_output(["ip", "-json", "link"]))
    name = cluster.settings.get("link", "none")[:-1]
    return next((one["ifindex"] for one in links if one["ifname"] == name), None)


def cgroups(cluster):
    return [folder / cluster.state.name for folder in hierarchies() if (folder / cluster.state.name).exists()]


def test_api_server_comes_back_with_what_it_knew():
    cluster = Cluster.launch("restart", os.getpid())
    try:
        cluster.api.create(
            "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "kept"}, "data": {"word": "x"}}
        )
        for name in ("kube-apiserver", "etcd"):
            cluster.kill(name)
            assert cluster.status()[name] == -signal.SIGKILL
        with pytest.raises(OSError):
            cluster.api.get("/readyz")
        for name in ("etcd", "kube-apiserver"):
            cluster.start(name)
        assert cluster.api.get("/api/v1/namespaces/default/configmaps/kept")["data"] == {"word": "x"}
    finally:
        cluster.stop()
    wait_for(lambda: not processes_of(cluster.state), what="the end of its processes")


# Tier b


def test_fake_job_completes(kube_fake):
    template = pod("unused", annotations={"test/succeed-after": "0s"})
    spec = {"parallelism": 10, "completions": 10, "template": template}
    kube_fake.create("jobs", {"metadata": {"name": "ten"}, "spec": spec}, "batch/v1")
    wait_for(lambda: kube_fake.get("jobs", "ten", "batch/v1")["status"].get("succeeded") == 10, 60, "ten pods' success")


def test_fake_pods_run_fail_and_stick(kube_fake):
    kube_fake.create("pods", pod("runs"))
    kube_fake.create("pods", pod("fails", annotations={"test/fail-after": "0s"}))
    kube_fake.create("pods", pod("sticks", annotations={"test/stuck": "ImagePullBackOff"}))
    failed = kube_fake.wait_phase("fails", "Failed")
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    waiting = wait_for(
        lambda: kube_fake.get("pods", "sticks")["status"].get("containerStatuses"), what="the container's status"
    )
    assert waiting[0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert kube_fake.wait_phase("runs", "Running")["status"]["podIP"]
    # One that runs may be told to end.
    end_pod(kube_fake.api, kube_fake.get("pods", "runs"))
    kube_fake.wait_phase("runs", "Succeeded")


SCHEDULING = "scheduling.volcano.sh/v1beta1"


def test_volcano_gang_waits_until_it_is_whole(kube_fake):
    group = {
        "apiVersion": SCHEDULING,
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"minMember": 3, "queue": "default"},
    }
    kube_fake.create("podgroups", group, SCHEDULING)
    names = ["one", "two", "three"]

    def add(name):
        requests = {"requests": {"cpu": "1", "memory": "1Gi"}}
        annotations = {"scheduling.k8s.io/group-name": "gang"}
        kube_fake.create("pods", pod(name, scheduler="volcano", annotations=annotations, resources=requests))

    add(names[0])
    add(names[1])

    def unschedulable():
        return has_condition(kube_fake.get("podgroups", "gang", SCHEDULING), "Unschedulable")

    wait_for(unschedulable, 30, "the gang's wait")
    assert {one["status"]["phase"] for one in kube_fake.items("pods")} == {"Pending"}
    add(names[2])
    for name in names:
        kube_fake.wait_phase(name, "Running")


def test_volcano_queue_holds_what_exceeds_it(kube_fake):
    name = kube_fake.name
    queues = f"/apis/{SCHEDULING}/queues"
    queue = {
        "apiVersion": SCHEDULING,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "capability": {"cpu": "2"}},
    }
    kube_fake.api.create(queues, queue)
    try:
        for index in range(2):
            group = {"apiVersion": SCHEDULING, "kind": "PodGroup", "metadata": {"name": f"g{index}"}}
            group["spec"] = {"minMember": 1, "queue": name, "minResources": {"cpu": "2"}}
            kube_fake.create("podgroups", group, SCHEDULING)
        annotations = {"scheduling.k8s.io/group-name": "g0"}
        two = {"requests": {"cpu": "2"}}
        kube_fake.create("pods", pod("first", scheduler="volcano", annotations=annotations, resources=two))
        kube_fake.wait_phase("first", "Running")
        kube_fake.create(
            "pods",
            pod("second", scheduler="volcano", annotations={"scheduling.k8s.io/group-name": "g1"}, resources=two),
        )
        wait_for(
            lambda: [one for one in kube_fake.items("events") if "queue resource quota insufficient" in one["message"]],
            30,
            "the refusal",
        )
        assert kube_fake.get("pods", "second")["status"]["phase"] == "Pending"
        end_pod(kube_fake.api, kube_fake.get("pods", "first"))
        kube_fake.wait_phase("second", "Running")
    finally:
        kube_fake.kubectl("delete", "pods", "--all", "--wait")
        kube_fake.api.delete(f"{queues}/{name}")


# Tier c


def test_log_and_exec(kube_node):
    kube_node.create(
        "pods", pod("talks", "echo $WORD; sleep 3600", env=[{"name": "WORD", "value": "hello from the pod"}])
    )
    kube_node.wait_phase("talks", "Running")
    wait_for(lambda: kube_node.kubectl("logs", "talks") == "hello from the pod\n", 30, "the pod's line")
    assert kube_node.kubectl("exec", "talks", "--", "hostname") == "talks\n"
    ended = kube_node.kubectl("exec", "talks", "--", "sh", "-c", "exit 7", check=False)
    assert ended.returncode == 7


def test_names_and_services(kube_node):
    ready = {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
    kube_node.create(
        "pods",
        pod(
            "server",
            "mkdir /w; echo it is me >/w/index.html; httpd -f -p 8080 -h /w",
            labels={"app": "s"},
            readinessProbe=ready,
        ),
    )
    spec = {"selector": {"app": "s"}, "ports": [{"port": 80, "targetPort": 8080}]}
    address = kube_node.create("services", {"metadata": {"name": "greeter"}, "spec": spec})["spec"]["clusterIP"]
    kube_node.kubectl("wait", "--for=condition=Ready", "pod/server", "--timeout=110s")
    kube_node.create(
        "pods",
        pod(
            "client",
            "until wget -q -O - http://greeter; do sleep 0.2; done; "
            f"until nslookup greeter.{kube_node.name}.svc.cluster.local.; do sleep 0.2; done",
        ),
    )
    kube_node.wait_phase("client", "Succeeded")
    said = kube_node.kubectl("logs", "client")
    assert "it is me\n" in said and address in said
    # The host reaches services too.
    with urllib.request.urlopen(f"http://{address}/", timeout=60) as reply:
        assert reply.read() == b"it is me\n"


def test_restart_policy(kube_node):
    command = "echo try; [ -e /kept/tried ] && exec sleep 3600; touch /kept/tried; exit 3"
    body = pod("again", command, restart="OnFailure", volumeMounts=[{"name": "kept", "mountPath": "/kept"}])
    body["spec"]["volumes"] = [{"name": "kept", "emptyDir": {}}]
    kube_node.create("pods", body)

    def restarted():
        status = kube_node.get("pods", "again")["status"].get("containerStatuses", [{}])[0]
        return status if status.get("restartCount") == 1 and "running" in status["state"] else None

    status = wait_for(restarted, 60, "the second try")
    assert status["lastState"]["terminated"]["exitCode"] == 3
    assert kube_node.kubectl("logs", "again", "--previous") == "try\n"


def test_memory_limit(kube_node):
    kube_node.create("pods", pod("greedy", "tail /dev/zero", resources={"limits": {"memory": "32Mi"}}))
    state = kube_node.wait_phase("greedy", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert state["reason"] == "OOMKilled" and state["exitCode"] == 137


def test_missing_image(kube_node):
    kube_node.create("pods", pod("lost", image="test.local/nobody:1"))

    def reason():
        statuses = kube_node.get("pods", "lost")["status"].get("containerStatuses", [{}])
        return statuses[0].get("state", {}).get("waiting", {}).get("reason") == "ErrImageNeverPull"

    wait_for(reason, 30, "ErrImageNeverPull")


def test_folder_of_the_host(kube_node, tmp_path):
    (tmp_path / "in").write_text("from the host\n")
    body = pod("mounts", "cat /d/in >/d/out", volumeMounts=[{"name": "d", "mountPath": "/d"}])
    body["spec"]["volumes"] = [{"name": "d", "hostPath": {"path": str(tmp_path), "type": "Directory"}}]
    kube_node.create("pods", body)
    kube_node.wait_phase("mounts", "Succeeded")
    assert (tmp_path / "out").read_text() == "from the host\n"


def test_inside_of_the_node(kube_node):
    inside = subprocess.check_output([*kube_node.cluster.enter(), "ip", "-json", "address"], text=True)
    addresses = {one["local"] for link in json.loads(inside) for one in link["addr_info"]}
    assert kube_node.cluster.settings["address"] in addresses


def test_job_image(kube_node):
    """Python and PaddlePaddle as jobs use them, in a pod of a node that was given the image while it ran."""
    kube_node.cluster.load_image("paddle")
    code = "import paddle; print(paddle.__version__, int(paddle.ones([3]).sum()))"
    kube_node.create("pods", pod("job", f"python -c '{code}'", image=PADDLE))
    assert kube_node.wait_phase("job", "Succeeded", "Failed", timeout=180)["status"]["phase"] == "Succeeded"
    assert kube_node.kubectl("logs", "job") == "2.6.2 3\n"
