"""Where members stand: the cluster's own scheduler decides, whatever our pass has planned."""

import pytest
from conftest import wait_for

from kube.cluster import only_on
from kube.fixtures import end_pod
from kube.images import BASE
from kube.test_runtime import connect, pods, wait_usable


def member(server, job):
    (only,) = server.job(job)["members"]
    return only


@pytest.mark.parametrize("away", [False, True], ids=["in sight", "while the server is away"])
def test_the_node_of_a_member(server, kube_fake, away):
    """No node is shown until there is one that its pod may stand on, and then that one."""
    connect(server, kube_fake)
    wait_usable(server)
    mark = kube_fake.name
    template = {"apiVersion": "v1", "kind": "Pod", "spec": only_on(mark)}
    origin = {"paddleflow": {"extensionTemplate": template}}
    job = server.submit(["true"], queue="qq", image=BASE, origin=origin)["id"]
    wait_for(lambda: member(server, job)["error"], what="the reason why it waits")
    assert "node" not in member(server, job)
    if away:
        server.stop()
    (node,) = kube_fake.cluster.add_fake_nodes(1, prefix=mark, labels={"of": mark}, taint=True)
    try:
        (pod,) = pods(kube_fake)
        kube_fake.wait_phase(pod["metadata"]["name"], "Running")
        if away:
            server.start()
        server.wait(job, "running")
        assert member(server, job)["node"] == node
        table = server.paddle("status", job, check=0).stdout
        assert "NODE" in table and f"  {node}\n" in table
        placed = [
            event for event in server.get(f"/v1/jobs/{job}/events").json["items"] if event["kind"] == "member.placed"
        ]
        assert [event["data"] for event in placed] == [{"member": "worker-0", "node": node, "attempt": 1}]
        server.kill()
        server.start()
        assert member(server, job)["node"] == node
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["members"][0]["node"] == node
    finally:
        kube_fake.api.delete("/api/v1/nodes/" + node)


def test_the_nodes_that_job_and_queue_ask_for(server, kube_fake):
    """Whoever places the pods keeps to the labels that our pass has planned with."""
    connect(server, kube_fake)
    wait_usable(server)
    server.paddle("queue", "set", "qq", "--location", "type=fake", check=0)
    labels = {"kubernetes.io/hostname": "fake-3"}
    job = server.submit(["true"], queue="qq", image=BASE, node_labels=labels)["id"]
    (pod,) = wait_for(lambda: pods(kube_fake), what="its pod")
    assert pod["spec"]["nodeSelector"] == {"type": "fake", "kubernetes.io/hostname": "fake-3"}
    end_pod(kube_fake.api, pod)
    done = server.wait(job)
    assert (done["state"], member(server, job)["node"]) == ("succeeded", "fake-3")


def test_members_stand_within_one_value_of_a_label(make_server, kube_fake):
    """Any node would do for each of them; all of them go where our pass has put them."""
    server = make_server("--topology", "kubernetes.io/hostname")
    connect(server, kube_fake)
    wait_usable(server)
    about = {"topology": "kubernetes.io/hostname", "topology_required": True, "framework": "plain"}
    roles = [{"name": "worker", "replicas": 4, "cpu": "50m"}]
    job = server.submit(["true"], queue="qq", image=BASE, roles=roles, **about)["id"]
    done = server.wait(job, "running")
    stand = {member["node"] for member in done["members"]}
    assert len(stand) == 1
    assert [pod["spec"]["nodeSelector"] for pod in pods(kube_fake)] == [{"kubernetes.io/hostname": stand.pop()}] * 4
