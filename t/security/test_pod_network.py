"""What pods on a cluster may connect to: NetworkPolicies as the API server has them (doc/guide/kubernetes.md, "What pods connect to").
Whether they hold is the cluster's network plugin's to enforce, which the setting has to say."""

import pytest
from conftest import wait_for
from kube.images import BASE
from kube.test_connections import connect
from kube.test_runtime import RULES, pods

from kube import proxy

POLICIES = {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": ["create", "patch"]}
API = "networking.k8s.io/v1"


def policies(kube):
    return kube.items("networkpolicies", API)


@pytest.fixture
def way(kube_fake):
    """What lies between the server and the cluster, and in which order objects are made."""
    with proxy.Proxy(kube_fake.cluster) as one:
        one.order = []

        def note(exchange):
            one.order.append(exchange.path.split("?")[0].rsplit("/", 1)[1])
            exchange.pass_on()

        one.fault(note, "POST", f"/namespaces/{kube_fake.name}/", times=1000)
        yield one


def joined(server, kube, way, rules=(POLICIES,), **setting):
    account = kube.cluster.account(f"paddled-{kube.name}", kube.name, [*RULES, *rules], everywhere=True)
    connect(server, way.kubeconfig(account), setting={"image": BASE, **setting})


def submit(server, **about):
    roles = [{"name": "worker", "replicas": 2, "cpu": "10m"}]
    return server.submit(["true"], queue="qq", roles=roles, **about)["id"]


def test_no_network_is_a_policy_that_stands_before_the_pods(server, kube_fake, way):
    joined(server, kube_fake, way, network_policies=True, egress=["10.1.0.0/16:443"])
    job = submit(server, network="none")
    server.wait(job, "running")
    (policy,) = policies(kube_fake)
    selector = policy["spec"]["podSelector"]["matchLabels"]
    labels = [pod["metadata"]["labels"] for pod in pods(kube_fake)]
    assert len(labels) == 2 and all(selector.items() <= one.items() for one in labels)
    assert selector["paddle-job-id"] == job
    members, names = policy["spec"]["egress"]
    assert members == {"to": [{"podSelector": {"matchLabels": selector}}]}
    assert {port["port"] for port in names["ports"]} == {53}
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": selector}}]}]
    assert sorted(policy["spec"]["policyTypes"]) == ["Egress", "Ingress"]
    made = min(way.order.index(what) for what in ("jobs", "pods") if what in way.order)
    assert way.order.index("networkpolicies") < made
    server.paddle("cancel", job, check=0)
    server.wait(job)
    wait_for(lambda: not policies(kube_fake), what="the policy to go with the job")


def test_a_list_of_addresses_holds_for_all_jobs(server, kube_fake, way):
    joined(server, kube_fake, way, network_policies=True, egress=["10.1.0.0/16:443", "192.0.2.7"])
    server.wait(submit(server), "running")
    (policy,) = policies(kube_fake)
    blocks = [rule["to"][0]["ipBlock"]["cidr"] for rule in policy["spec"]["egress"] if "ipBlock" in rule["to"][0]]
    assert blocks == ["10.1.0.0/16", "192.0.2.7/32"]
    assert policy["spec"]["policyTypes"] == ["Egress"]


def test_without_a_plugin_that_holds_them_there_are_none(server, kube_fake, way):
    joined(server, kube_fake, way)
    done = server.wait(submit(server, network="none"))
    assert done["state"] == "failed" and "does not say that it enforces NetworkPolicies" in done["reason"]
    assert not policies(kube_fake) and not pods(kube_fake)


def test_no_pod_runs_where_the_policy_cannot_be_made(server, kube_fake, way):
    joined(server, kube_fake, way, rules=(), network_policies=True)
    done = server.wait(submit(server, network="none"))
    assert done["state"] == "failed" and 'cannot create resource "networkpolicies"' in str(done), done["reason"]
    assert not pods(kube_fake)
