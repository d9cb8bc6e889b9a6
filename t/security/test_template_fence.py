"""A template of a user is a list of what is allowed (doc/guide/kubernetes.md, "What a template may ask for").
Any other field is refused, whichever way it comes in.
The cluster needs not be there: all this is looked at before a job is taken."""

import json

import pytest
from conftest import Server
from people import Person

SETTING = {
    "image": "x",
    "allow": {"tolerations": ["example.com/team"], "volumes": ["nfs"], "metadata": ["example.com/"]},
}
TAINTS = {"tolerations": [{"operator": "Exists"}]}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "8").start()
    for name, about in (("prod", {}), ("wide", {"setting": json.dumps(SETTING)}), ("listed", {"namespaces": ["team"]})):
        cluster = {"name": name, "type": "Kubernetes", **about}
        assert server.post("/v1/clusters", cluster).status == 201
        queue = {"name": name, "cluster": name, "everyone": True, "max": {"cpu": "4"}}
        if name == "prod":
            queue["namespace"] = "own"
        assert server.post("/v1/queues", queue).status == 201
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


def pod(spec=None, **metadata):
    return {"kind": "Pod", "apiVersion": "v1", "spec": spec or {}, "metadata": metadata}


def job(template, queue="prod", **about):
    origin = {"paddleflow": {"extensionTemplate": template}}
    return {"command": ["true"], "queue": queue, "image": "x", "origin": origin, **about}


def assert_denied(reply, *words):
    assert reply.status == 403 and reply.json["code"] == "denied", reply.body
    said = reply.json["message"] + reply.json["hint"]
    assert not [word for word in (*words, "administrator") if word not in said], said


# What the field is, and where it stands in the template.
REFUSED = {
    "toleration": ({"tolerations": [{"key": "node-role.kubernetes.io/control-plane"}]}, "tolerations[0]"),
    "all taints": (TAINTS, "tolerations[0]"),
    "runtime class": ({"runtimeClassName": "host"}, "runtimeClassName"),
    "priority class": ({"priorityClassName": "of-the-team"}, "priorityClassName"),
    "nfs": ({"volumes": [{"name": "a", "nfs": {"server": "10.0.0.1", "path": "/"}}]}, "volumes[0].nfs"),
    "csi": ({"volumes": [{"name": "a", "csi": {"driver": "d"}}]}, "volumes[0].csi"),
    "scheduler": ({"schedulerName": "mine"}, "schedulerName"),
    "nobody knows it": ({"aFieldOfTomorrow": {"hostPath": "/"}}, "aFieldOfTomorrow"),
}


@pytest.mark.parametrize(("spec", "where"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_in_the_list(served, ann, spec, where):
    assert_denied(ann.ask(job(pod(spec))), f"pod.spec.{where}")
    whole = {"kind": "PaddleJob", "spec": {"worker": {"template": {"spec": spec}}}}
    assert_denied(ann.ask(job(whole)), f"spec.worker.template.spec.{where}")
    members = {"paddleflow": {"members": [{"role": "worker", "extensionTemplate": {"spec": spec}}]}}
    assert_denied(ann.ask({**job({}), "origin": members}), f"pod.spec.{where}")
    assert served.post("/v1/jobs?dry_run=true", job(pod(spec))).status == 200  # an administrator's


def test_what_the_setting_allows(ann):
    tolerant = {"tolerations": [{"key": "example.com/team", "operator": "Exists"}]}
    network = {"volumes": [{"name": "a", "nfs": {"server": "s", "path": "/"}}]}
    noted = pod(annotations={"example.com/note": "a"})
    for template in (pod(tolerant), pod(network), noted):
        assert ann.ask(job(template, "wide")).status == 201
        assert_denied(ann.ask(job(template, "prod")))
    assert_denied(ann.ask(job(pod(TAINTS), "wide")), "allow.tolerations")


def test_a_directory_of_the_node_cannot_be_allowed(served):
    """The setting is broken, which the cluster's jobs say; a template is refused all the same."""
    bad = {"name": "bad", "type": "Kubernetes", "setting": json.dumps({"allow": {"volumes": ["hostPath"]}})}
    assert served.post("/v1/clusters", bad).status == 201
    assert (
        served.post("/v1/queues", {"name": "bad", "cluster": "bad", "everyone": True, "max": {"cpu": "1"}}).status
        == 201
    )
    person = Person(served, "zoe")
    host = {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}
    assert_denied(person.ask(job(pod(host), "bad")), "volumes[0].hostPath")


def test_a_job_that_is_moved_is_looked_at_again(ann):
    made = ann.ask(job(pod({"tolerations": [{"key": "example.com/team"}]}), "wide"))
    assert made.status == 201
    headers = {**ann.headers, "Content-Type": "application/merge-patch+json"}
    reply = ann.server.request("PATCH", f"/v1/jobs/{made.json['id']}", json.dumps({"queue": "prod"}), headers)
    assert_denied(reply, "tolerations[0]")


def test_labels_and_annotations_that_the_cluster_acts_on(served, ann):
    words = {"iam.amazonaws.com/role": "admin"}
    plain = {"team": "a", "paddleflow/job-ttl-seconds": "60"}
    assert_denied(ann.ask(job(pod(), annotations=words)), "annotations", "iam.amazonaws.com/role")
    assert_denied(ann.ask(job(pod(), labels=words)), "labels", "iam.amazonaws.com/role")
    assert_denied(ann.ask(job(pod(annotations=words))), "pod.metadata.annotations.iam.amazonaws.com/role")
    made = ann.ask(job(pod(), annotations=plain, labels={"team": "a"}))
    assert made.status == 201, made.body
    headers = {**ann.headers, "Content-Type": "application/merge-patch+json"}
    reply = served.request("PATCH", f"/v1/jobs/{made.json['id']}", json.dumps({"annotations": words}), headers)
    assert_denied(reply, "iam.amazonaws.com/role")
    assert ann.ask({"command": ["true"], "annotations": words}).status == 201  # no pods on one machine


def test_namespaces(served, ann):
    """Without a list a user names the queue's, or none."""
    for name in (None, "own"):
        assert ann.ask(job(pod(), **({"namespace": name} if name else {}))).status == 201
    for name in ("others", "default", "kube-system"):
        assert_denied(ann.ask(job(pod(), namespace=name)), f"'{name}'")
        assert ann.ask(job(pod(), "listed", namespace=name)).status == 400
        assert served.post("/v1/jobs?dry_run=true", job(pod(), namespace=name)).status == 200
    assert ann.ask(job(pod(), "listed", namespace="team")).status == 201
