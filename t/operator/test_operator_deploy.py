"""What people install: the older servers' manifests and kustomize say the same as deploy/v1, and the operator's rights are what it
uses, no less and no more."""

import json
import os
import subprocess

import pytest
import yaml
from conftest import PATIENCE, ROOT, wait_for
from kube.cluster import Cluster
from kube.fixtures import Namespace
from pdj import CRD, GROUP, Job, Operator, install, role
from tj import CRD as TRAINING_CRD
from tj import MANIFEST as TRAINING
from tj import Training, spec

from kube import components

V1, V1BETA1 = ROOT / "deploy/v1", ROOT / "deploy/v1beta1"
GANG = "scheduling.volcano.sh/v1beta1"
OWN = "paddle-system"


def objects(text):
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


def test_older_servers():
    new, old = (yaml.safe_load((folder / "crd.yaml").read_text()) for folder in (V1, V1BETA1))
    assert (new["apiVersion"], old["apiVersion"]) == ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
    assert new["metadata"] == old["metadata"]
    version = new["spec"].pop("versions")[0]
    old = old["spec"]
    assert old.pop("validation") == version.pop("schema")
    assert old.pop("subresources") == version.pop("subresources")
    columns = [{**item, "jsonPath": item["JSONPath"]} for item in old.pop("additionalPrinterColumns")]
    for item in columns:
        del item["JSONPath"]
    assert columns == version.pop("additionalPrinterColumns")
    assert old.pop("versions") == [version] and old.pop("version") == version["name"]
    assert old.pop("preserveUnknownFields") is False  # v1 knows nothing else
    assert old == new["spec"]
    assert (V1BETA1 / "operator.yaml").read_text() == (V1 / "operator.yaml").read_text()


@pytest.mark.parametrize("folder", ["deploy/v1", "config/default"])
def test_kustomize(kube, folder):
    rendered = objects(kube.kubectl("kustomize", ROOT / folder))
    assert rendered == {
        **objects((V1 / "crd.yaml").read_text()),
        **objects((V1 / "operator.yaml").read_text()),
    }


@pytest.mark.parametrize(("folder", "file"), [("config/crd", "crd.yaml"), ("config/operator", "operator.yaml")])
def test_kustomize_one_of_two(kube, folder, file):
    assert objects(kube.kubectl("kustomize", ROOT / folder)) == objects((V1 / file).read_text())


def test_kustomize_the_rest(kube):
    for folder in ("config/prometheus", "config/samples", "deploy/v1beta1", "deploy/examples"):
        assert objects(kube.kubectl("kustomize", ROOT / folder)), folder


VIEW = {"get", "list", "watch"}
EDIT = VIEW | {"create", "delete", "patch", "update"}


@pytest.mark.parametrize(("role", "may"), [("view", VIEW), ("edit", EDIT), ("admin", EDIT)])
def test_roles_of_users(audited, role, may):
    """Kubernetes' own roles know PaddleJobs and TrainingJobs."""
    cluster, _ = audited
    cluster.kubectl("apply", "-k", ROOT / "config/rbac")
    space = Namespace(cluster, f"users-{role}")
    binding = {
        "metadata": {"name": "user"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": f"a-{role}", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    space.create("rolebindings", binding, "rbac.authorization.k8s.io/v1")

    def allowed(verb, group, resource):
        about = {"namespace": space.name, "verb": verb, "group": group, "resource": resource}
        review = {"spec": {"user": f"a-{role}", "resourceAttributes": about}}
        return cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]

    for group, resource in (("batch.paddlepaddle.org", "paddlejobs"), ("paddlepaddle.org", "trainingjobs")):
        wait_for(
            lambda what=(group, resource): {verb for verb in EDIT if allowed(verb, *what)} == may,
            60,
            f"what '{role}' may with {resource}",
        )
        assert allowed("get", group, f"{resource}/status")
        assert not allowed("patch", group, f"{resource}/status")  # it is the operator's to write


# ---- the chart ----


CHART = ROOT / "charts/paddle-operator"


def chart(tmp_path, namespace="default", **values):
    (tmp_path / "values.json").write_text(json.dumps(values))
    done = subprocess.run(
        [components.BIN / "helm-template", CHART, namespace, tmp_path / "values.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return objects(done.stdout)


def manager(rendered):
    return next(one for (kind, _), one in rendered.items() if kind == "Deployment")["spec"]["template"]["spec"][
        "containers"
    ][0]


def test_chart_is_the_manifest(tmp_path):
    """Where its values say nothing else."""
    rendered = chart(tmp_path, jobnamespace="")
    assert rendered == {**objects((V1 / "crd.yaml").read_text()), **objects((V1 / "operator.yaml").read_text())}


def test_chart_with_training_jobs(tmp_path):
    """With all that their manifest has, for an operator that is elsewhere, too."""
    plain = chart(tmp_path, controllernamespace="ops")
    more = chart(tmp_path, controllernamespace="ops", trainingjobs=True)
    expected = objects(TRAINING.read_text())
    expected["ClusterRoleBinding", "paddle-trainingjob-rolebinding"]["subjects"][0]["namespace"] = "ops"
    assert more == {**plain, **expected} and len(more) == len(plain) + 3


def test_chart_with_values(tmp_path, kube):
    rendered = chart(
        tmp_path,
        image="registry:5000/op:7",
        controllernamespace="ops",
        jobnamespace="jobs",
        scheduling="volcano",
        args=["--init-limits=cpu=1", "--etcd-server=http://e:2379"],
    )
    container = manager(rendered)
    assert container["image"] == "registry:5000/op:7"
    assert container["args"] == [
        "--leader-elect",
        "--guard=paddle-manager-rolebinding",
        "--namespace=jobs",
        "--scheduling=volcano",
        "--init-limits=cpu=1",
        "--etcd-server=http://e:2379",
    ]
    plain = chart(tmp_path, jobnamespace="")
    places = {one["metadata"]["namespace"] for one in rendered.values() if "namespace" in one["metadata"]}
    assert places == {"ops"} and ("Namespace", "ops") in rendered
    subjects = [s["namespace"] for one in rendered.values() for s in one.get("subjects", [])]
    assert subjects and set(subjects) == {"ops"}
    crd = ("CustomResourceDefinition", "paddlejobs.batch.paddlepaddle.org")
    assert rendered[crd] == plain[crd]  # no value reaches into its schema
    # The API server takes all of it.
    for one in rendered.values():
        if "namespace" not in one["metadata"]:
            kube.kubectl("apply", "--dry-run=server", "-f", "-", input=one)
    local = {**rendered["Deployment", "paddle-controller-manager"]}
    local["metadata"] = {**local["metadata"], "namespace": kube.name}
    kube.kubectl("apply", "--dry-run=server", "-f", "-", input=local)


# ---- rights ----


MANAGER = f"system:serviceaccount:{OWN}:paddle-manager-sa"
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "Metadata", "users": [MANAGER]},
        {
            "level": "Metadata",
            "verbs": ["delete", "deletecollection"],
            "namespaces": [OWN],
            "resources": [{"group": "rbac.authorization.k8s.io", "resources": ["roles", "rolebindings"]}],
        },
        {"level": "None"},
    ],
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A cluster that writes down what the operator asks for."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "policy.json").write_text(json.dumps(AUDIT))
    flags = [f"--audit-policy-file={folder}/policy.json", f"--audit-log-path={folder}/log"]
    cluster = Cluster.launch("operator-rights", owner=os.getpid(), api_flags=flags)
    try:
        yield cluster, folder / "log"
    finally:
        cluster.stop()


def granted(manifest):
    """[(group, resource with its part, verb)] of a manifest."""
    return [
        (group, resource, verb)
        for one in yaml.safe_load_all(manifest.read_text())
        for rule in (one or {}).get("rules", [])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def asked(log):
    """The same of what the operator asked for; what was forbidden of it; and when somebody began to delete its right to the
    lease."""
    used, forbidden, deleted = set(), [], []
    for line in log.read_text().splitlines():
        event = json.loads(line)
        what = event.get("objectRef")
        if not what:
            continue  # no object: /version, discovery
        if event["user"]["username"] != MANAGER:
            deleted.append(event["requestReceivedTimestamp"])
            continue
        part = "/" + what["subresource"] if what.get("subresource") else ""
        used.add((what.get("apiGroup", ""), what.get("resource", "") + part, event["verb"]))
        if event["responseStatus"]["code"] == 403:
            forbidden.append(event)
    return used, forbidden, min(deleted)


# The API server asks for these itself, where owners that wait for what they own need the right to.
OWNERS = {
    ("batch.paddlepaddle.org", "paddlejobs/finalizers", "update"),
    ("paddlepaddle.org", "trainingjobs/finalizers", "update"),
    ("rbac.authorization.k8s.io", "clusterroles/finalizers", "update"),
    ("rbac.authorization.k8s.io", "clusterrolebindings/finalizers", "update"),
}


# Asked for when somebody has made an object of this name and the watch has not told yet.
MOMENTS = {
    ("", "services", "get"),
    ("scheduling.volcano.sh", "podgroups", "get"),
    ("apps", "replicasets", "get"),
    ("batch", "jobs", "get"),
}


def a_gang(space):
    job = Job(space, {"intranet": "Host", "worker": role(2)}, "gang")
    wait_for(lambda: job.owned("podgroups", GANG), 60, "the PodGroup")
    group = space.path("podgroups", "gang", GANG)
    served = space.api.get(f"/apis/{GANG}")["resources"]
    part = "/status" if any(kind["name"] == "podgroups/status" for kind in served) else ""
    space.api.request("PUT", group + part, {**space.api.get(group), "status": {"phase": "Inqueue"}})
    job.wait_pods("worker-0", "worker-1")
    job.all("running")
    job.wait_phase("Running")
    job.wait_map()
    job.patch({"spec": {"worker": {"replicas": 1}}})
    job.wait_pods("worker-0")
    wait_for(lambda: job.map()["PADDLE_TRAINERS_NUM"] == "1", 60, "a shorter list")
    job.all("succeeded")
    job.wait_phase("Completed")
    job.wait_services()
    wait_for(lambda: not job.owned("podgroups", GANG), 60, "the end of the PodGroup")
    return job


def a_training_job(space):
    """Its trainers fail: they are stopped, and the rest is released."""
    job = Training(space, spec(fault_tolerant=True), "training")
    job.fail()


def names_of_others(space):
    """A job that finds its names taken."""
    space.create("pods", {"metadata": {"name": "taken-worker-0"}, "spec": role(1)["template"]["spec"]})
    space.create("configmaps", {"metadata": {"name": "map"}})
    taken = Job(space, {"worker": role(1, schedulerName="default-scheduler")}, "taken")
    taken.wait_event("Warning", "Create", "belongs to somebody else")
    job = Job(space, {"worker": role(1, schedulerName="default-scheduler")}, "map")
    job.wait_pods("worker-0")
    job.all("running")
    job.wait_event("Warning", "Create", "create failed ConfigMap map")

    def again():
        return any(one.get("count", 0) > 1 and one["reason"] == "Create" for one in space.items("events"))

    wait_for(again, 60, "a warning that is counted again")


def test_rights_are_what_is_used(audited):
    cluster, log = audited
    for file, name in (
        (CRD, "paddlejobs.batch.paddlepaddle.org"),
        (components.BIN / "volcano-crds.yaml", "podgroups.scheduling.volcano.sh"),
        (TRAINING, TRAINING_CRD),
    ):
        install(cluster, file, name)
    cluster.kubectl("apply", "-f", V1 / "operator.yaml")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{OWN}/serviceaccounts/paddle-manager-sa/token"
    token = cluster.api.create(path, request)["status"]["token"]
    kubeconfig = cluster.authority.kubeconfig(
        cluster.state / "kubeconfig/manager", cluster.url, token=token, namespace=OWN
    )
    space = Namespace(cluster, "rights")
    flags = ["--leader-elect", "--guard=paddle-manager-rolebinding", "--scheduling=volcano"]
    one = Operator(kubeconfig, *flags, f"--leader-election-namespace={OWN}")
    try:
        one.wait_log("training jobs are looked after")
        job = a_gang(space)
        a_training_job(space)
        names_of_others(space)
        job.patch({"spec": {"ttlSecondsAfterFinished": 0}})
        wait_for(lambda: len(space.items("paddlejobs", GROUP)) == 2, 60, "the end of the job")
        cluster.kubectl("delete", "-f", V1 / "operator.yaml")
        assert one.process.wait(PATIENCE) == 0, one.text()
    finally:
        one.kill()
    used, forbidden, lease_right_gone = asked(log)
    rights = granted(V1 / "operator.yaml") + granted(TRAINING)
    # The right to the lease goes with the manifest, while the jobs are still let go; until then nothing is forbidden, and
    # nothing but the lease ever is.
    assert [event for event in forbidden if event["objectRef"]["resource"] != "leases"] == []
    assert [event for event in forbidden if event["requestReceivedTimestamp"] < lease_right_gone] == []
    assert set(rights) - OWNERS - MOMENTS - used == set(), "granted and never used"
    assert sorted(rights) == sorted(set(rights)), "granted twice"
