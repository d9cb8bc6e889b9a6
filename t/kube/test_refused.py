"""Pods that the API server does not take: a quota that is used up, a policy or a webhook that says no. Its words are the job's reason; what may
be otherwise in a moment is waited for, ever more slowly, and what stays so ends the job. Pods are kwok's."""

import json
import threading

import pytest
from conftest import wait_for

from kube import proxy
from kube.cluster import ApiError
from kube.images import BASE
from kube.test_forms import check_nothing_is_left
from kube.test_runtime import RULES, pods, wait_usable
from kube.webhook import NAME, Webhook

FORMS = ["sets", "pods"]


def connect(server, kube, form, way=None):
    account = kube.cluster.account(f"paddled-{kube.name}", namespace=kube.name, rules=RULES, everywhere=True)
    config = way.kubeconfig(account) if way else account
    setting = json.dumps({"form": form})
    server.paddle(
        *("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", config, "--setting", setting), check=0
    )
    server.paddle("queue", "create", "qq", "--cluster", "prod", check=0)
    wait_usable(server)


def submit(server):
    """A member of each kind of role: in sets a StatefulSet and a Job."""
    roles = [{"name": role, "replicas": 1, "cpu": "50m"} for role in ("pserver", "trainer")]
    return server.submit(["true"], queue="qq", image=BASE, roles=roles)["id"]


def hard(kube, number, what="pods"):
    """At most so many pods in the namespace, from now on."""
    limits = {what: str(number)}
    kube.apply(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": limits}},
    )
    wait_for(lambda: kube.get("resourcequotas", "q").get("status", {}).get("hard") == limits, what="the quota")


def reasons(server, job):
    return json.dumps(server.job(job)["reasons"])


@pytest.mark.parametrize("form", FORMS)
def test_a_quota_that_is_used_up(server, kube_fake, form):
    with proxy.Proxy(kube_fake.cluster) as one:
        connect(server, kube_fake, form, one)
        hard(kube_fake, 1)
        job = submit(server)
        says = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"

        def one_waits():
            told = reasons(server, job)
            return says in told and "admitted; 1 of 2 members waits: " in told  # the other one comes up meanwhile

        wait_for(one_waits, what="the reason")
        shown = server.job(job)
        assert (shown["state"], shown["attempt"]) == ("starting", 1)
        assert says in " ".join(server.paddle("explain", job, check=0).stdout.split())
        if form == "pods":

            def refused():
                return [at for at, *_, status in one.asked("POST", "/pods$") if status == 403]

            wait_for(lambda: len(refused()) >= 4, what="the fourth try")
            first, second, third, fourth = refused()[:4]
            assert second - first >= 1 and third - second >= 2 and fourth - third >= 4
        hard(kube_fake, 2)
        server.wait(job, "running", 240)
        assert len(pods(kube_fake)) == 2
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        check_nothing_is_left(kube_fake)


def test_who_is_refused_holds_up_nobody(server, kube_fake):
    """More pods wait for a quota than are made at once; a job in another namespace starts all the same, and they when
    they may."""
    connect(server, kube_fake, "pods")
    hard(kube_fake, 0)
    roles = [{"name": "trainer", "replicas": 140, "cpu": "10m", "memory": "1Mi"}]
    refused = server.submit(["true"], queue="qq", image=BASE, roles=roles)["id"]
    says = "admitted; 140 of 140 members wait: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"
    wait_for(lambda: says in reasons(server, refused), 240, "the reason of all")
    other = kube_fake.name + "-x"
    kube_fake.api.create("/api/v1/namespaces", {"metadata": {"name": other}})
    accounts = f"/api/v1/namespaces/{other}/serviceaccounts"
    try:
        wait_for(lambda: kube_fake.api.get(accounts)["items"], what="the account of pods there")
        job = server.submit(["true"], queue="qq", image=BASE, namespace=other)["id"]
        server.wait(job, "running", 120)
        hard(kube_fake, 140)
        server.wait(refused, "running", 240)
        assert len(pods(kube_fake)) == 140
        for one in (job, refused):
            server.paddle("cancel", one, check=0)
            assert server.wait(one)["state"] == "cancelled"
        check_nothing_is_left(kube_fake)
    finally:
        kube_fake.api.delete(f"/api/v1/namespaces/{other}")


@pytest.mark.parametrize("form", FORMS)
def test_cancel_while_a_quota_refuses(server, kube_fake, form):
    connect(server, kube_fake, form)
    hard(kube_fake, 0)
    job = submit(server)
    wait_for(lambda: "exceeded quota: q" in reasons(server, job), what="the reason")
    server.paddle("cancel", job, check=0)
    assert server.wait(job)["state"] == "cancelled"
    check_nothing_is_left(kube_fake)


@pytest.mark.parametrize("form", FORMS)
def test_cancel_while_the_cluster_is_about_to_refuse(server, kube_fake, form):
    """It was asked, and its no comes after the cancel."""
    kind = {"sets": "statefulsets.apps", "pods": "pods"}[form]
    now = threading.Event()
    with proxy.Proxy(kube_fake.cluster) as one:
        connect(server, kube_fake, form, one)
        hard(kube_fake, 0, f"count/{kind}")
        held = one.fault(proxy.late(now), method="POST", path=f"/{kind.split('.')[0]}$")
        job = submit(server)
        wait_for(lambda: held["left"] == 0, what="the request")
        server.paddle("cancel", job, check=0)
        wait_for(lambda: server.job(job)["state"] == "stopping", what="the cancel")
        now.set()
        assert server.wait(job)["state"] == "cancelled"
    check_nothing_is_left(kube_fake)


def try_pod(kube):
    """What the API server says against a pod in the namespace; "" if nothing."""
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": BASE}]}}
    try:
        kube.api.create(kube.path("pods") + "?dryRun=All", pod)
    except ApiError as problem:
        return str(problem)
    return ""


@pytest.fixture
def policy(kube_fake):
    """Nobody makes pods in the namespace."""
    version = "/apis/admissionregistration.k8s.io/v1/"
    name, api = f"no-{kube_fake.name}", kube_fake.api
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    here = {"matchLabels": {"kubernetes.io/metadata.name": kube_fake.name}}
    spec = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": here},
        "validations": [{"expression": "false", "message": "not in this house"}],
    }
    api.create(version + "validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec})
    bound = {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": here}}
    api.create(version + "validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": bound})

    wait_for(lambda: "not in this house" in try_pod(kube_fake), what="the policy")
    yield name
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        api.delete(version + f"{kind}/{name}")


@pytest.mark.parametrize("form", FORMS)
def test_a_policy_that_says_no(server, kube_fake, policy, form):
    connect(server, kube_fake, form)
    job = submit(server)
    done = server.wait(job)
    assert (done["state"], done["attempt"]) == ("failed", 1)
    assert policy in done["reason"] and "not in this house" in done["reason"], done["reason"]
    check_nothing_is_left(kube_fake)


@pytest.mark.parametrize("form", FORMS)
def test_a_webhook_that_says_no(server, kube_fake, form):
    says = f'admission webhook "{NAME}" denied the request: not on a Sunday'
    with Webhook(kube_fake, denies="not on a Sunday"):
        wait_for(lambda: says in try_pod(kube_fake), what="the webhook")
        connect(server, kube_fake, form)
        done = server.wait(submit(server))
        assert (done["state"], done["attempt"]) == ("failed", 1)
        assert says in done["reason"], done["reason"]
        check_nothing_is_left(kube_fake)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("trouble", ["hangs", "away"])
def test_a_webhook_that_does_not_answer(server, kube_fake, form, trouble):
    """The API server's words while it waits; the same attempt goes on when the webhook is back."""
    failed = f'failed calling webhook "{NAME}"'
    with Webhook(kube_fake) as webhook:
        if trouble == "hangs":
            webhook.answers.clear()
        else:
            webhook.stop()
        wait_for(lambda: failed in try_pod(kube_fake), what="the webhook")
        connect(server, kube_fake, form)
        job = submit(server)
        wait_for(lambda: json.dumps(failed)[1:-1] in reasons(server, job), what="the reason")
        assert (server.job(job)["state"], server.job(job)["attempt"]) == ("starting", 1)
        assert not pods(kube_fake)
        if trouble == "hangs":
            webhook.answers.set()
        else:
            webhook.start()
        assert server.wait(job, "running", 240)["attempt"] == 1
        assert len(pods(kube_fake)) == 2
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        check_nothing_is_left(kube_fake)


def tries(way):
    """When the API server refused a pod, as it does while a webhook does not answer."""
    return [at for at, *_, status in way.asked("POST", "/pods$") if status == 500]


@pytest.mark.parametrize("form", FORMS)
def test_cancel_while_a_webhook_does_not_answer(server, kube_fake, form):
    failed = f'failed calling webhook "{NAME}"'
    with Webhook(kube_fake) as webhook, proxy.Proxy(kube_fake.cluster) as one:
        webhook.stop()
        wait_for(lambda: failed in try_pod(kube_fake), what="the webhook")
        connect(server, kube_fake, form, one)
        job = server.submit(["true"], queue="qq", image=BASE)["id"]
        wait_for(lambda: json.dumps(failed)[1:-1] in reasons(server, job), what="the reason")
        if form == "pods":
            wait_for(lambda: len(tries(one)) >= 4, what="the fourth try")
            first, second, third, fourth = tries(one)[:4]
            assert second - first >= 1 and third - second >= 2 and fourth - third >= 4
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        check_nothing_is_left(kube_fake)


def made_and_denied(made):
    """The server does what it is asked to; somebody on the way says that it did not."""

    def fault(exchange):
        made.append(json.loads(exchange.ask().read())["metadata"]["name"])
        proxy.unavailable()(exchange)

    return fault


def test_cancel_of_a_pod_that_was_made_all_the_same(server, kube_fake):
    """Nobody sees it: the watch is behind. It does not outlast the job."""
    made = []
    with proxy.Proxy(kube_fake.cluster) as one:
        connect(server, kube_fake, "pods", one)
        one.fault(made_and_denied(made), method="POST", path="/pods$")
        one.fault(proxy.unavailable(), method="POST", path="/pods$", times=1000)
        one.fault(proxy.half_closed, method="GET", path="/pods.*watch=", times=1000)
        one.cut()
        job = server.submit(["sleep", "600"], queue="qq", image=BASE)["id"]
        wait_for(lambda: made, what="the pod")
        wait_for(lambda: "broken by the test" in reasons(server, job), what="the reason")
        server.paddle("cancel", job, check=0)
        assert server.wait(job)["state"] == "cancelled"
        wait_for(lambda: made[0] not in {pod["metadata"]["name"] for pod in pods(kube_fake)}, what="the pod's end")


def test_more_members_than_each_can_be_told_of(server, kube_fake):
    """Linux gives a program 128 KiB in a variable."""
    connect(server, kube_fake, "sets")
    spec = {"queue": "qq", "image": BASE, "command": ["true"], "framework": "paddle-collective"}
    said = server.post("/v1/jobs", {**spec, "roles": [{"name": "trainer", "replicas": 3000, "cpu": "1m"}]})
    assert said.status == 400 and "roles: 3000 members of role 'trainer' are too many" in said.body.decode(), said.body
