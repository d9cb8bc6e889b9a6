"""Jobs that bring a package or requirements: their images are built in the cluster, pushed to a registry, and run by digest."""

import json

import pytest
from conftest import wait_for

from kube import images, proxy
from kube.images import BASE, BUILDER
from kube.registry import Registry, package_index, write_wheel
from kube.test_runtime import RULES, connect, pods, wait_usable

BUILDS = [
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
]
REPOSITORY = "paddle-jobs"
TRAIN = """import os, sys, paddlehello, digits.part
print(paddlehello.greet(), digits.part.NUMBER)
print(os.getcwd(), os.environ["TRAINER_PACKAGE"], sys.argv[1])
open("written", "w").write("mine")
"""


@pytest.fixture(scope="module")
def registry_of(tmp_path_factory):
    """The registry of a cluster: its node has the builder, it has the base image."""
    made = {}

    def get(cluster):
        if cluster.state not in made:
            cluster.load_image("builder")
            registry = Registry(cluster, tmp_path_factory.mktemp("registry")).start()
            registry.base = registry.push(images.build("python"), "python", "1")
            made[cluster.state] = registry
        return made[cluster.state]

    yield get
    for registry in made.values():
        registry.stop()


@pytest.fixture
def registry(kube_node, registry_of):
    return registry_of(kube_node.cluster)


@pytest.fixture
def index(registry, tmp_path):
    write_wheel(tmp_path / "index", "paddlehello", "1.0", "def greet():\n    return 'hello from the wheel'\n")
    with package_index(registry.host, tmp_path / "index") as url:
        yield url


def setting(registry, index, **registry_about):
    return {
        "image": registry.base,
        "builder": BUILDER,
        "registry": registry.setting(**registry_about),
        "pip": {"index": index, "trusted": [registry.host]},
    }


@pytest.fixture
def joined(server, kube_node, registry, index):
    connect(server, kube_node, RULES + BUILDS)
    server.paddle("cluster", "set", "prod", "--setting", json.dumps(setting(registry, index)), check=0)
    return server


def write_program(folder, number):
    """A training program whose image is its own for each number."""
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "part.py").write_text(f"NUMBER = {number!r}\n")
    (folder / "requirements.txt").write_text("# what the base lacks\npaddlehello==1.0\n")
    return folder


@pytest.fixture
def program(tmp_path):
    """A program, different for each test so that none finds the image of another."""
    return write_program(tmp_path / "digits", str(tmp_path))


@pytest.fixture(scope="module")
def known_program(tmp_path_factory):
    """For tests that only read its image: the first of them builds it."""
    folder = tmp_path_factory.mktemp("known")
    return write_program(folder / "digits", str(folder))


def submit(server, program, *options, name="job", command=("python3", "train.py", "one")):
    server.paddle("submit", "--queue", "qq", "--name", name, *options, "--", *command, cwd=program, check=0)
    return server.job(name)


def jobs(kube):
    return kube.items("jobs", "batch/v1", selector="paddle-image")


def builders(kube):
    return kube.items("pods", selector="paddle-image")


def image_of(kube):
    """What the pod of the job ran, as the node says."""

    def look():
        found = [pod["status"].get("containerStatuses") for pod in pods(kube)]
        return found and found[0] and found[0][0].get("imageID")

    return wait_for(look, 180, "the image of a pod")


def test_a_package_and_its_requirements_run_by_digest(joined, kube_node, registry, program):
    first = submit(joined, program, name="first", command=("sh", "-c", "python3 train.py one; sleep 3"))
    second = submit(joined, program, name="second")
    image = image_of(kube_node)
    for job in (first, second):
        done = joined.wait(job["id"], timeout=180)
        assert done["state"] == "succeeded", done["reason"]
        assert joined.member_log(job["id"]).splitlines() == [
            f"hello from the wheel {program.parent}",
            "/paddle/work /paddle/work one",
        ]
    # Both waited for one build, and are told how it went.
    built = jobs(kube_node)
    assert len(built) == len(builders(kube_node)) == 1
    tag = built[0]["metadata"]["name"]
    assert image.endswith("@" + registry.digest(REPOSITORY, tag))
    said = joined.member_log(first["id"], "environment")
    assert "Successfully installed paddlehello-1.0" in said
    assert said.endswith("The image is ready.\n")
    assert joined.member_log(second["id"], "environment") == said
    # A later job of the same needs builds nothing.
    again = submit(joined, program, name="again")
    assert joined.wait(again["id"])["state"] == "succeeded"
    assert [one["metadata"]["uid"] for one in jobs(kube_node)] == [built[0]["metadata"]["uid"]]
    assert len(builders(kube_node)) == 1


def test_a_broken_requirement_fails_the_job_with_the_words_of_pip(joined, kube_node, registry, program):
    (program / "requirements.txt").write_text("paddlehello==9.9\n")
    before = set(registry.tags(REPOSITORY))
    job = submit(joined, program)
    done = joined.wait(job["id"], timeout=180)
    assert done["state"] == "failed"
    assert "No matching distribution found for paddlehello==9.9" in done["reason"]
    assert set(registry.tags(REPOSITORY)) == before
    # A failure is not kept: who asks again has it built again.
    first = jobs(kube_node)[0]["metadata"]["uid"]
    again = submit(joined, program, name="again")
    assert joined.wait(again["id"], timeout=180)["state"] == "failed"
    assert [one["metadata"]["uid"] for one in jobs(kube_node)] != [first]


def test_a_setup_is_a_step_of_the_image(joined, kube_node, program):
    setup = "pwd >where; python3 -c 'import paddlehello'; cp part.py made.py # part.py"
    job = submit(joined, program, "--setup", setup, command=("sh", "-c", "cat where; cmp part.py made.py && echo same"))
    done = joined.wait(job["id"], timeout=180)
    said = joined.member_log(job["id"], "environment")
    assert done["state"] == "succeeded", (done["reason"], said)
    assert joined.member_log(job["id"]) == "/paddle/work\nsame\n"
    assert f"== setup: {setup}\n" in said and said.endswith("The image is ready.\n")
    again = submit(joined, program, "--setup", setup, name="again", command=("cat", "where"))
    assert joined.wait(again["id"], timeout=180)["state"] == "succeeded"
    assert len(jobs(kube_node)) == 1


def test_a_setup_that_fails_fails_the_job(joined, registry, program):
    before = set(registry.tags(REPOSITORY))
    (program / "requirements.txt").unlink()
    job = submit(joined, program, "--setup", "echo no such op; exit 7")
    done = joined.wait(job["id"], timeout=180)
    assert done["state"] == "failed"
    assert "the setup command `echo no such op; exit 7` ended with exit status 7: no such op" in done["reason"]
    assert set(registry.tags(REPOSITORY)) == before


def test_a_restart_in_the_middle_builds_nothing_twice(joined, kube_node, program):
    server = joined
    job = submit(server, program)
    wait_for(lambda: builders(kube_node), what="the builder")
    server.kill()
    server.start()
    done = server.wait(job["id"], timeout=180)
    assert done["state"] == "succeeded", done["reason"]
    assert len(builders(kube_node)) == 1
    said = server.member_log(job["id"], "environment")
    assert said.count("FROM ") == said.count("The image is ready.\n") == 1


def test_a_builder_that_is_evicted_is_followed_by_another(joined, kube_node, program):
    job = submit(joined, program)
    first = wait_for(lambda: builders(kube_node), what="the builder")[0]["metadata"]["name"]
    kube_node.wait_phase(first, "Running")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": first}}
    kube_node.api.create(kube_node.path("pods", first) + "/eviction", eviction)
    done = joined.wait(job["id"], timeout=180)
    assert done["state"] == "succeeded", done["reason"]
    assert first not in {
        pod["metadata"]["name"] for pod in builders(kube_node) if pod["status"]["phase"] == "Succeeded"
    }
    assert joined.member_log(job["id"], "environment").count("FROM ") == 1


def test_a_registry_that_is_away_for_a_while_costs_no_job(joined, registry, known_program):
    registry.stop()
    try:
        job = submit(joined, known_program)
        wait_for(lambda: joined.job(job["id"])["state"] == "queued", what="the job")
    finally:
        registry.start()
    done = joined.wait(job["id"], timeout=180)
    assert done["state"] == "succeeded", done["reason"]


def test_cancel_ends_the_build(joined, kube_node, registry, program):
    before = set(registry.tags(REPOSITORY))
    job = submit(joined, program)
    wait_for(lambda: builders(kube_node), what="the builder")
    joined.paddle("cancel", job["id"], check=0)
    assert joined.wait(job["id"])["state"] == "cancelled"
    wait_for(lambda: not jobs(kube_node) and not builders(kube_node), what="the build to go")
    assert set(registry.tags(REPOSITORY)) == before


def test_cancel_while_the_cluster_is_away_ends_the_build(server, kube_node, registry, index, program):
    with proxy.Proxy(kube_node.cluster) as one:
        connect(server, kube_node, RULES + BUILDS, one)
        server.paddle("cluster", "set", "prod", "--setting", json.dumps(setting(registry, index)), check=0)
        wait_usable(server)
        job = submit(server, program)
        wait_for(lambda: builders(kube_node), what="the builder")
        one.fault(proxy.dropped, times=1 << 30)
        one.cut()
        wait_for(lambda: not server.get("/v1/clusters/prod").json["connected"], what="the cluster to be away")
        server.paddle("cancel", job["id"], check=0)
        assert server.wait(job["id"])["state"] == "cancelled"
        assert jobs(kube_node)
        one.heal()
        wait_for(lambda: not jobs(kube_node) and not builders(kube_node), what="the build to go")


def used(server):
    (queue,) = [queue for queue in server.get("/v1/scheduler").json["queues"] if queue["name"] == "qq"]
    return queue["used"]


def test_a_build_waits_for_its_queue_and_is_counted_there(joined, kube_node, program):
    """As a small job. One whose image is there does not wait for what a build would take."""
    small = [{"name": "worker", "replicas": 1, "cpu": "100m"}]
    joined.paddle("queue", "set", "qq", "--max", "cpu=500m", check=0)
    full = joined.submit(["sleep", "1000"], queue="qq", image=BASE, roles=[{**small[0], "cpu": "500m"}])["id"]
    joined.wait(full, "running")
    job = submit(joined, program, "--cpu", "100m")["id"]
    about = wait_for(lambda: (found := joined.job(job))["environment"] == "waiting" and found, what="the job to wait")
    assert [reason["cause"] for reason in about["reasons"]] == ["environment", "queue_max"], about["reasons"]
    assert not builders(kube_node)

    joined.paddle("cancel", full, check=0)
    wait_for(lambda: joined.job(job)["environment"] == "building", what="the build's begin")
    held = {node["cluster"]: node["used"].get("cpu") for node in joined.get("/v1/nodes").json["items"]}
    assert (held["prod"], held["default-cluster"], used(joined)["cpu"]) == ("500m", None, "500m")
    pod = wait_for(lambda: builders(kube_node), what="the builder")[0]
    assert pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "500m"
    done = joined.wait(job, timeout=180)
    assert done["state"] == "succeeded", done["reason"]
    assert "cpu" not in used(joined)

    full = joined.submit(["sleep", "1000"], queue="qq", image=BASE, roles=[{**small[0], "cpu": "400m"}])["id"]
    joined.wait(full, "running")
    again = submit(joined, program, "--cpu", "100m", name="again")["id"]
    assert joined.wait(again)["state"] == "succeeded"
    assert joined.job(full)["state"] == "running"


def test_builders_reach_a_list_of_addresses(server, kube_node, registry, index, program):
    """By a policy for all of them, which stands before the first; without the right to make it nothing is built."""
    connect(server, kube_node, RULES + BUILDS)
    about = setting(registry, index) | {"network_policies": True, "build_egress": [registry.address, "192.0.2.0/24"]}
    server.paddle("cluster", "set", "prod", "--setting", json.dumps(about), check=0)
    done = server.wait(submit(server, program)["id"])
    assert done["state"] == "failed" and "the NetworkPolicy of builds cannot be put" in done["reason"]
    policies = {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": ["create", "patch"]}
    account = {"kind": "ServiceAccount", "name": f"paddled-{kube_node.name}", "namespace": kube_node.name}
    kube_node.cluster.allow(account, f"policies-{kube_node.name}", kube_node.name, [policies], everywhere=True)
    again = submit(server, program, name="again")["id"]
    (pod,) = wait_for(lambda: builders(kube_node), what="the builder")
    (policy,) = kube_node.items("networkpolicies", "networking.k8s.io/v1")
    ((label, server_id),) = policy["spec"]["podSelector"]["matchLabels"].items()
    assert pod["metadata"]["labels"][label] == server_id and policy["metadata"]["name"] == f"paddle-builds-{server_id}"
    blocks = [rule["to"][0].get("ipBlock", {}).get("cidr") for rule in policy["spec"]["egress"]]
    assert blocks == [None, f"{registry.host}/32", "192.0.2.0/24"]
    server.paddle("cancel", again, check=0)
    server.wait(again)


def test_a_wrong_password_is_named(joined, registry, index, program):
    wrong = setting(registry, index, password="wrong")
    joined.paddle("cluster", "set", "prod", "--setting", json.dumps(wrong), check=0)
    job = submit(joined, program)
    done = joined.wait(job["id"])
    assert done["state"] == "failed"
    assert "the registry refuses user 'builder' (status 401)" in done["reason"]
    assert "wrong" not in joined.log()


def test_a_base_that_is_not_there_is_named(joined, registry, program):
    job = submit(joined, program, "--base-image", f"{registry.address}/none:1")
    done = joined.wait(job["id"])
    assert done["state"] == "failed"
    assert "the base image: " in done["reason"]
    assert "none:1: there is no such image" in done["reason"]


def test_missing_rights_are_named(server, kube_node, registry, index, program):
    connect(server, kube_node, [*RULES, BUILDS[2]])
    server.paddle("cluster", "set", "prod", "--setting", json.dumps(setting(registry, index)), check=0)
    job = submit(server, program)
    done = server.wait(job["id"])
    assert done["state"] == "failed"
    assert "images cannot be built in cluster 'prod'" in done["reason"]
    assert 'cannot list resource "jobs"' in done["reason"]


MAPS = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]


@pytest.fixture
def bare(server, kube_node):
    """A cluster without a registry."""
    connect(server, kube_node, RULES + MAPS)
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": BASE}), check=0)
    return server


def maps(kube):
    return kube.items("configmaps", selector="paddle-job-id")


def test_a_small_package_needs_no_registry(bare, kube_node, tmp_path):
    package = tmp_path / "digits"
    (package / "sub").mkdir(parents=True)
    (package / "run.sh").write_text(
        '#!/bin/sh\npwd; echo "$TRAINER_PACKAGE" "$PYTHONPATH"; cat sub/data; echo x >mine\n'
    )
    (package / "run.sh").chmod(0o755)
    (package / "sub/data").write_text("forty two\n")
    said = "/paddle/work\n/paddle/work /paddle/work:/paddle/path\nforty two\n"
    for name in ("first", "again"):
        job = submit(bare, package, "-n", "2", "--framework", "plain", name=name, command=("./run.sh",))
        done = bare.wait(job["id"])
        assert done["state"] == "succeeded", done["reason"]
        members = [f"{member['role']}-{member['index']}" for member in done["members"]]
        assert len(members) == 2
        assert [bare.member_log(job["id"], member) for member in members] == [said, said]
    wait_for(lambda: not maps(kube_node), what="the packages to go with their attempts")


def test_what_needs_a_registry_says_so(bare, kube_node, tmp_path):
    large = tmp_path / "large"
    large.mkdir()
    (large / "data").write_bytes(bytes(800 * 1024))
    job = submit(bare, large, command=("true",))
    done = bare.wait(job["id"])
    assert done["state"] == "failed"
    assert "the package has 802 KiB, and 700 KiB are the most" in done["reason"]
    assert not pods(kube_node)


def test_a_setup_needs_a_registry(bare, tmp_path):
    """Refused before the package is sent."""
    (tmp_path / "train.py").write_text("")
    done = bare.paddle("submit", "--queue", "qq", "--setup", "make", "--", "python3", "train.py", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "cluster 'prod' cannot run a setup command, because it has no registry" in done.stderr
    assert "sent" not in done.stderr and not list((bare.state / "packages").glob("[0-9a-f]" * 64))


def test_requirements_ask_for_an_image_with_python(bare, tmp_path):
    (tmp_path / "requirements.txt").write_text("six\n")
    job = submit(bare, tmp_path, command=("true",))
    done = bare.wait(job["id"])
    assert done["state"] == "failed"
    assert "looking at the Python packages of its image" in str(done["members"])
    assert "python3" in str(done["members"])


def test_any_names_of_files_at_any_number_of_jobs(bare, kube_node, tmp_path):
    """As they are on one machine: blanks, quotes, other alphabets, long ones, links, empty files and folders' names."""
    package = tmp_path / "a package, ünïcode"
    long = "long-" * 40
    names = ["a b", "-x", "quo'te\"$(x)", "数字.py", long, f"{long}/{long}", "sub dir/.hidden", "sub dir/deep/empty"]
    for name in names:
        path = package / name
        if name == long:
            path = package / (long + "1")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name.endswith("empty") else name)
    (package / "link").symlink_to("sub dir/.hidden")
    wanted = sorted(str(path.relative_to(package)) for path in package.rglob("*") if not path.is_dir())
    script = "find . ! -type d | sed 's|^./||'; test \"$(cat link)\" = 'sub dir/.hidden'"
    empty = tmp_path / "empty"
    empty.mkdir()
    jobs = [submit(bare, package, name=name, command=("sh", "-c", script)) for name in ("one", "two")]
    gone = submit(bare, package, name="gone", command=("sleep", "100"))
    none = submit(bare, empty, name="none", command=("sh", "-c", "find . ! -type d; pwd"))
    bare.paddle("cancel", gone["id"], check=0)
    for job in jobs:
        done = bare.wait(job["id"])
        assert done["state"] == "succeeded", done["reason"]
        assert sorted(bare.member_log(job["id"]).splitlines()) == wanted
    assert bare.wait(none["id"])["state"] == "succeeded"
    assert bare.member_log(none["id"]) == "/paddle/work\n"
    assert bare.wait(gone["id"])["state"] == "cancelled"
    wait_for(lambda: not maps(kube_node), what="the packages to go with their attempts")
