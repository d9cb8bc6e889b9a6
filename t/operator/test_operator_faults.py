"""The operator between faults: whatever breaks, the jobs' objects are in the end what they would have been, and nothing is made twice."""

import contextlib
import json
import os
import random
import time

import pytest
from conftest import wait_for
from kube.cluster import ApiError, only_on
from kube.fixtures import Namespace
from pdj import ALL, CRD, GROUP, Job, Operator, install, operator_cluster, operator_fixture, role  # noqa: F401
from seeds import SOAK

from kube import proxy

POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@contextlib.contextmanager
def broken(kube, way):
    account = kube.cluster.account(f"operator-{kube.name}", kube.name, ALL, everywhere=True)
    with way(kube.cluster) as one:
        yield one, one.kubeconfig(account)


MEMBERS = ("ps-0", "worker-0", "worker-1")


def begin(jobs):
    """Jobs from the first pod to Running, with pods that do as a kubelet says."""
    for job in jobs:
        job.wait_pods(*MEMBERS)
        job.wait_services(*MEMBERS)
        job.all("running")
    for job in jobs:
        job.wait_phase("Running")
        job.wait_map()


def life_of(jobs):
    """The same, to the end."""
    begin(jobs)
    for job in jobs:
        job.all("succeeded")
    for job in jobs:
        job.wait_phase("Completed")


def make_jobs(kube, count, **spec):
    return [Job(kube, {"ps": role(1), "worker": role(2), **spec}, f"j{i}") for i in range(count)]


def members_of(jobs):
    return sorted(f"{job.name}-{part}" for job in jobs for part in MEMBERS)


def names_made(history):
    """The names under which something was made, one for each that was."""
    return sorted(one["name"] for one in history.made())


POSTS = r"/(pods|services|configmaps)$"
OWN_WRITES = r"/paddlejobs/[^/]+(/status)?$"
READS = r"/(pods|services|configmaps|paddlejobs)\?"
FAULTS = {
    "watches expire": (proxy.expired, "GET", "watch=", 12),
    "watches are gone": (proxy.gone, "GET", "watch=", 12),
    "lists are refused": (proxy.unavailable(503), "GET", READS, 12),
    "too many requests": (proxy.too_many(1), None, "namespaces/", 12),
    "errors of all kinds": (proxy.unavailable(500), None, "namespaces/", 40),
    "answers to creations are lost": (proxy.lost, "POST", POSTS, 20),
    "answers to creations break off": (proxy.cut_reply, "POST", POSTS, 20),
    "answers to patches are lost": (proxy.lost, "PATCH", OWN_WRITES, 12),
    "answers to patches break off": (proxy.cut_reply, "PATCH", OWN_WRITES, 12),
}


@pytest.mark.parametrize("name", FAULTS)
def test_broken_requests(kube, operator, name):
    fault, method, path, times = FAULTS[name]
    with broken(kube, proxy.Proxy) as (one, config):
        history = {kind: kube.history(kind) for kind in ("pods", "services")}
        if "lists" in name or "watches" in name:  # from its very beginning
            entry = one.fault(fault, method, path, times)
            operator(kubeconfig=config, wait=False)
        else:
            operator(kubeconfig=config)
            entry = one.fault(fault, method, path, times)
        jobs = make_jobs(kube, 3)
        life_of(jobs)
        assert entry["left"] < times, "nothing was broken"
        for one_kind in history.values():
            assert names_made(one_kind) == members_of(jobs)


def test_cut_connections(kube, operator):
    """All over one connection, which is cut again and again while the jobs begin."""
    with broken(kube, proxy.Wire) as (wire, config):
        history = kube.history("pods")
        operator(kubeconfig=config)
        jobs = []
        for i in range(8):
            jobs.append(Job(kube, {"ps": role(1), "worker": role(2)}, f"j{i}"))
            wait_for(
                lambda: sum(what == "ADDED" for what, _ in history.names()) > len(MEMBERS) * (len(jobs) - 1),
                what="the first pod of the job",
            )
            wire.cut()
        life_of(jobs)
        assert names_made(history) == members_of(jobs)


def test_frozen_connections(kube, operator):
    """Nothing arrives for some seconds, and nobody says so."""
    with broken(kube, proxy.Wire) as (wire, config):
        history = kube.history("pods")
        operator(kubeconfig=config)
        early = make_jobs(kube, 1)
        early[0].wait_pods(*MEMBERS)
        wire.freeze()
        jobs = [*early, *(Job(kube, {"ps": role(1), "worker": role(2)}, f"late{i}") for i in range(2))]
        time.sleep(3)  # what is frozen gives no event to wait for
        assert names_made(history) == members_of(early)
        wire.thaw()
        life_of(jobs)
        assert names_made(history) == members_of(jobs)


if SOAK:  # the silence after which a watch counts as broken is 3 minutes

    def test_half_closed_watches(kube, operator):
        """Watches that are accepted and say nothing."""
        with broken(kube, proxy.Proxy) as (one, config):
            one.fault(proxy.half_closed, "GET", "watch=", times=4)
            operator(kubeconfig=config)
            jobs = make_jobs(kube, 2)
            wait_for(lambda: len(kube.items("pods")) == 6, 400, "the pods, once the silence was noticed")
            life_of(jobs)


# ---- the API server goes ----


@pytest.fixture(scope="module")
def cluster():
    with operator_cluster("operator-faults") as made:
        yield made


@pytest.fixture
def own(cluster, request):
    space = Namespace(cluster, f"own-{os.urandom(3).hex()}")
    yield space
    release(space)
    space.remove()


@contextlib.contextmanager
def running(space, *flags, **options):
    one = Operator(space.cluster.kubeconfig, f"--namespace={space.name}", *flags, **options)
    try:
        yield one
        assert one.stop() == 0, one.text()
    finally:
        one.kill()


def test_api_server_dies_in_the_middle_of_creation(cluster, own):
    with running(own):
        jobs = make_jobs(own, 10)
        wait_for(lambda: own.items("pods"), 60, "the first pod")
        cluster.kill("kube-apiserver")
        cluster.start("kube-apiserver")
        first = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in own.items("pods")}
        begin(jobs)
        last = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in own.items("pods")}
        assert sorted(last) == members_of(jobs)
        assert {name: last[name] for name in first} == first


def test_deleted_while_the_server_is_away(cluster, own):
    """The operator hears of it only from the new list."""
    with running(own) as one:
        jobs = make_jobs(own, 2)
        for job in jobs:
            job.wait_pods(*MEMBERS)
        one.process.send_signal(19)  # SIGSTOP: it hears nothing meanwhile
        jobs[0].delete()
        cluster.kill("kube-apiserver")
        cluster.start("kube-apiserver")
        one.process.send_signal(18)
        wait_for(lambda: len(own.items("paddlejobs", GROUP)) == 1, 60, "the end of the job")
        assert sorted(jobs[1].pods()) == members_of(jobs[1:])


# ---- others ----


def test_two_that_both_act(kube, operator):
    """Nobody elects: both do the same, and neither undoes it. The pods of ended jobs stay: one that hears late of the end
    might make those anew for a moment that the other has cleaned away."""
    history = {kind: kube.history(kind) for kind in ("pods", "services", "configmaps")}
    pair = [operator(), operator()]
    jobs = make_jobs(kube, 6, cleanPodPolicy="Never")
    life_of(jobs)
    for kind in ("pods", "services"):
        assert names_made(history[kind]) == members_of(jobs)
    assert [name for name in names_made(history["configmaps"]) if name.startswith("j")] == [job.name for job in jobs]
    for job in jobs:
        assert not [event for event in job.events() if event[0] == "Warning"]
    for one in pair:
        assert one.process.poll() is None


def deny(kube, reason=None):
    """A policy by which pods with a label are refused in this namespace."""
    rule = {
        "expression": "!('forbidden' in object.metadata.?labels.orValue({}))",
        "message": "no forbidden pods here",
    }
    if reason:
        rule["reason"] = reason
    name = kube.name
    match = {
        "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    }
    base = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    kube.api.create(
        POLICY,
        {
            **base,
            "kind": "ValidatingAdmissionPolicy",
            "spec": {"failurePolicy": "Fail", "matchConstraints": match, "validations": [rule]},
        },
    )
    place = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    kube.api.create(
        POLICY.replace("policies", "policybindings"),
        {
            **base,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": place},
        },
    )

    def in_force():
        body = {"metadata": {"name": "probe", "labels": {"forbidden": "yes"}}, "spec": role(1)["template"]["spec"]}
        try:
            kube.api.create(kube.path("pods") + "?dryRun=All", body)
        except ApiError as error:
            return "no forbidden pods" in str(error)
        return False

    wait_for(in_force, 60, "the policy")


def allow(kube):
    kube.api.delete(f"{POLICY.replace('policies', 'policybindings')}/{kube.name}")
    kube.api.delete(f"{POLICY}/{kube.name}")


@pytest.mark.parametrize("reason", [None, "Forbidden", "RequestEntityTooLarge"])
def test_policy_that_denies(kube, operator, reason):
    """Whatever status its author chose: the job says what the policy says, others are not held up, and it starts by
    itself when the policy has gone."""
    operator()
    deny(kube, reason)
    try:
        template = role(1)["template"]
        template["metadata"] = {"labels": {"forbidden": "yes"}}
        job = Job(kube, {"worker": {"replicas": 1, "template": template}}, "denied")
        job.wait_event("Warning", "Create", "no forbidden pods here")
        free = Job(kube, {"worker": role(1)}, "free")
        free.wait_pods("worker-0")
        assert job.pods() == {}
    finally:
        allow(kube)
    job.wait_pods("worker-0")


# ---- what waits for a better day ----

BACK_OFF = 13  # failures, after which the next look is 20 s ahead (5 ms, doubled each time)


def test_change_ends_the_back_off(kube, operator):
    """What its owner asks for is done at once, however long nothing could be made."""
    kube.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    wait_for(lambda: kube.get("resourcequotas", "q").get("status", {}).get("hard"), 60, "the quota")
    one = operator()
    deleted, scaled = (Job(kube, {"worker": role(1)}, name) for name in ("deleted", "scaled"))
    wait_for(
        lambda: one.metric('workqueue_retries_total{name="paddlejob"}') >= 2 * BACK_OFF, 90, "a long back-off of both"
    )
    began = time.monotonic()
    deleted.delete()
    scaled.patch({"spec": {"worker": {"replicas": 0}}})
    wait_for(lambda: [item["metadata"]["name"] for item in kube.items("paddlejobs", GROUP)] == ["scaled"], 60, "one")
    scaled.wait_phase("Running")  # with nobody
    assert time.monotonic() - began < 15  # the back-offs end later


def test_what_is_refused_for_good_rests(kube, operator):
    """More pods than one pass makes, all of them refused: they are not asked for again until the job changes."""
    one = operator()
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 70000}]}
    Job(kube, {"worker": role(300, containers=[container])}).wait_event("Warning", "Create", "70000")

    def refused():
        return one.metric(f'rest_client_requests_total{{code="4xx",host="{kube.cluster.url}",method="POST"}}')

    def rests():
        before = refused()
        time.sleep(3)  # nothing is to happen
        return refused() == before

    wait_for(rests, 90, "no request any more")


def test_pod_of_another_paddlejob(kube, operator):
    """Of Kubeflow's, which calls its pods alike: the owner is told, and the job begins once that pod has gone."""
    operator()
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PaddleJob", "name": "j", "uid": "another", "controller": True}
    kube.create("pods", {"metadata": {"name": "j-worker-0", "ownerReferences": [owner]}, **role(1)["template"]})
    job = Job(kube, {"worker": role(1)})
    job.wait_event("Warning", "Create", "create failed Pod j-worker-0: one that belongs to somebody else")
    kube.api.delete(kube.path("pods", "j-worker-0") + "?gracePeriodSeconds=0")
    job.wait_pods("worker-0")


def test_pod_without_its_label(kube, operator):
    """The operator knows pods by a label: who takes it away hears of it, and may give it back."""
    operator()
    job = Job(kube, {"worker": role(1)})
    job.wait_pods("worker-0")
    pod = kube.path("pods", "j-worker-0")
    kube.api.patch(pod, {"metadata": {"labels": {"paddle-res-name": None}}})
    job.wait_event("Warning", "Create", "without its label paddle-res-name=j-worker-0")
    kube.api.patch(pod, {"metadata": {"labels": {"paddle-res-name": "j-worker-0"}}})
    job.all("running")
    job.wait_phase("Running")


def events_of(kube, job):
    uid = job.get()["metadata"]["uid"]
    return [event["reason"] for event in kube.items("events") if event["involvedObject"].get("uid") == uid]


def test_another_job_behind_a_broken_watch(kube, operator):
    """A list shows another job where one of the same name was: nothing of the old one is kept, neither its ports nor what its
    owner has been told."""
    spec = {"intranet": "Host", "worker": role(1, containers=[])}
    with broken(kube, proxy.Proxy) as (one, config):
        operator("--port-range=35000,35040", kubeconfig=config)  # two jobs' ports
        old = Job(kube, spec)
        wait_for(lambda: "Create" in events_of(kube, old), 60, "the first warning")
        wait_for(lambda: old.get()["metadata"].get("finalizers"), 60, "the finalizer")
        one.fault(proxy.gone, "GET", r"/paddlejobs\?.*watch=")
        lists = one.fault(proxy.unavailable(), "GET", r"/paddlejobs\?", times=100000)
        one.cut()
        wait_for(lambda: lists["left"] < 100000, 60, "a list that is refused")
        old.patch({"metadata": {"finalizers": None}})
        old.delete()
        new = Job(kube, spec)
        one.heal()
        wait_for(lambda: "Create" in events_of(kube, new), 60, "the warning about the new job")
        other = Job(kube, {**spec, "worker": role(1)}, "other")
        other.wait_pods("worker-0")

        def port():
            return other.get()["metadata"].get("annotations", {}).get("host-port")

        assert wait_for(port, 60, "the port") in ("35000", "35020")


# ---- kills ----


@pytest.fixture
def fake(kube_fake):
    """A namespace of tier b, where pods run by themselves and end by their annotations."""
    install(kube_fake.cluster, CRD, "paddlejobs.batch.paddlepaddle.org")
    yield kube_fake
    release(kube_fake)


def release(space):
    """Takes the finalizers off jobs that no operator looks after any more."""
    for item in space.items("paddlejobs", GROUP):
        path = space.path("paddlejobs", item["metadata"]["name"], GROUP)
        space.api.patch(path, {"metadata": {"finalizers": None}})


def normal(item):
    """An object without what is its very own: identity, times, addresses."""
    metadata = item["metadata"]
    kept = {name: metadata.get(name) for name in ("name", "labels", "annotations", "finalizers")}
    owners = [(one["kind"], one["name"], one["controller"]) for one in metadata.get("ownerReferences", [])]
    made = {"metadata": kept, "owners": owners}
    spec = json.loads(json.dumps(item.get("spec")))
    for name in ("nodeName", "clusterIP", "clusterIPs"):
        (spec or {}).pop(name, None)
    for container in (spec or {}).get("containers", []) + (spec or {}).get("initContainers", []):
        container.pop("volumeMounts", None)  # of the account, with a name by chance
    (spec or {}).pop("volumes", None)
    return {**made, "spec": spec, "keys": sorted(item.get("data") or {})}


def picture(kube):
    """What there is of all jobs, without what differs between any two runs."""
    text = json.dumps(
        {
            kind: {item["metadata"]["name"]: normal(item) for item in kube.items(kind) if owned(item)}
            for kind in ("pods", "services", "configmaps")
        },
        sort_keys=True,
    )
    return json.loads(text.replace(kube.name, "NAMESPACE"))


def owned(item):
    return "ownerReferences" in item["metadata"]


JOBS = 20


def start_job(kube, i):
    return Job(kube, {"intranet": "Service", "ps": role(1), "worker": role(2)}, f"j{i}")


def finish(jobs):
    for job in jobs:
        job.wait_phase("Running")
        job.wait_map()


def test_kills_at_random_moments(fake, seed):
    """Operators die at any moment of twenty jobs' lives: no pod is made twice under one name, and what stands there in the end is
    what one operator makes that nobody kills."""
    kills, chance = 200 if SOAK else 20, random.Random(seed)
    undisturbed = Namespace(fake.cluster, fake.name + "-calm")
    try:
        with running(undisturbed):
            finish([start_job(undisturbed, i) for i in range(JOBS)])
            expected = picture(undisturbed)
        history = {kind: fake.history(kind) for kind in ("pods", "services", "configmaps")}
        jobs = []
        for i in range(kills):
            one = Operator(fake.cluster.kubeconfig, f"--namespace={fake.name}", wait=False)
            try:
                while len(jobs) * kills < (i + 1) * JOBS:
                    jobs.append(start_job(fake, len(jobs)))
                time.sleep(chance.uniform(0, 0.6))  # the moment is what is tested
            finally:
                one.kill()
        with running(fake):
            finish(jobs)
            assert picture(fake) == expected
            for kind in ("pods", "services"):
                assert names_made(history[kind]) == members_of(jobs)
    finally:
        release(undisturbed)
        undisturbed.remove()


# ---- a node goes ----


def test_node_that_disappears(fake):
    """With a parameter server on it: Kubernetes takes the pod away, the job gets another one in its place, and its address."""
    cluster, name = fake.cluster, f"gone-{os.urandom(2).hex()}"
    nodes = cluster.add_fake_nodes(2, prefix=name, labels={"of": name}, taint=True)
    placed = only_on(name)
    try:
        with running(fake):
            job = Job(fake, {"ps": role(1, **placed), "worker": role(2)})
            job.wait_phase("Running")
            before, map_before = job.pod("ps-0"), job.wait_map()
            fake.api.delete(f"/api/v1/nodes/{before['spec']['nodeName']}")

            def again():
                found = job.pods().get(f"{job.name}-ps-0")
                return found and found["metadata"]["uid"] != before["metadata"]["uid"] and found["status"].get("podIP")

            wait_for(
                again, 180, "another parameter server"
            )  # the cluster's own collector looks every 20 s, and waits 40 s
            after = job.pod("ps-0")
            assert after["spec"]["nodeName"] != before["spec"]["nodeName"]
            wait_for(
                lambda: job.map()["PADDLE_PSERVERS_IP_PORT_LIST"].split(":")[0] == after["status"]["podIP"],
                60,
                "its address in the ConfigMap",
            )
            assert job.map() != map_before
            assert job.wait_phase("Running")
            job.delete()
            wait_for(lambda: not fake.items("paddlejobs", GROUP), 60, "the end of the job")
    finally:
        for node in nodes:
            with contextlib.suppress(ApiError):
                fake.api.delete(f"/api/v1/nodes/{node}")
