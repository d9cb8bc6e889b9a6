"""A person's way to a cluster: examples/recognize_digits as README.md submits it, with real PaddlePaddle in real pods."""

import json
import re
import shlex
import shutil
import threading
import zipfile

import pytest
from conftest import ROOT, wait_for

from kube.images import PADDLE
from kube.test_forms import check_nothing_is_left
from kube.test_runs import small
from kube.test_runtime import connect, pods
from kube.test_volumes import volumes

BAR = 0.85  # as on one machine
TRAINING_S = 400  # six members may share two cores with other tests


def said_in_readme(pattern):
    (found,) = re.findall(pattern, (ROOT / "README.md").read_text(), re.M)
    return shlex.split(found)


class Following(threading.Thread):
    """`paddle submit --follow` while the test looks at the cluster."""

    def __init__(self, server, words):
        super().__init__()
        self.server, self.words, self.done = server, words, None
        self.start()

    def run(self):
        example = ROOT / "examples/recognize_digits"
        self.done = self.server.paddle(*self.words, cwd=example, timeout=2 * TRAINING_S)

    def result(self):
        self.join(2 * TRAINING_S + 10)
        assert self.done, "the submission did not end"
        return self.done


def containers(pod, kind="initContainers"):
    return [container["name"] for container in pod["spec"].get(kind, [])]


@pytest.fixture(scope="module", autouse=True)
def one_after_another():
    """All train on the one node: beside each other they would share its cores, so one worker has them all."""


@pytest.fixture
def joined(server, kube_node):
    kube_node.cluster.load_image("paddle")
    connect(server, kube_node)
    setting = {"image": PADDLE, "volumes": volumes(server)}
    server.paddle("cluster", "set", "prod", "--setting", json.dumps(setting), check=0)
    return server, kube_node


def test_the_readme_on_a_cluster(joined, tmp_path):
    """2 parameter servers and 4 trainers; the model comes back, as good as from one machine."""
    server, kube_node = joined
    following = Following(server, said_in_readme(r"^paddle (submit --cluster prod [^#\n]*)"))
    # tests beside this one may take the machine's cores until their training ends
    wait_for(lambda: following.done or len(pods(kube_node)) == 6, TRAINING_S, "six pods")
    assert not following.done, following.done.stdout + following.done.stderr
    (servers,) = kube_node.items("statefulsets", "apps/v1", "owner=paddleflow")
    (trainers,) = kube_node.items("jobs", "batch/v1", "owner=paddleflow")
    assert servers["spec"]["replicas"] == 2
    assert (trainers["spec"]["completions"], trainers["spec"]["completionMode"]) == (4, "Indexed")
    inits = {pod["metadata"]["labels"]["paddle-role"]: containers(pod) for pod in pods(kube_node)}
    assert inits == {"pserver": ["requirements", "package"], "trainer": ["requirements", "package", "gate"]}
    done = following.result()
    assert done.returncode == 0, done.stdout + done.stderr
    (accuracy,) = re.findall(r"trainer-0 +\| final test accuracy ([\d.]+)", done.stdout)
    assert float(accuracy) >= BAR
    assert {f"parameter server {index} of 2" for index in range(2)} <= set(
        re.findall(r"pserver-\d \| (.*)", done.stdout)
    )
    server.paddle(*said_in_readme(r"^paddle (download digits \S+)$"), cwd=tmp_path, check=0)
    (model,) = tmp_path.rglob("model.npz")
    assert sorted(zipfile.ZipFile(model).namelist()) == ["b1.npy", "b2.npy", "w1.npy", "w2.npy"]
    check_nothing_is_left(kube_node)


def test_what_the_image_lacks_is_named(joined, tmp_path):
    """Of members of all forms: a StatefulSet's would try for ever."""
    server, kube_node = joined
    (tmp_path / "requirements.txt").write_text("numpy\npaddlepaddle>=3  # of next year\nno-such-package==1\n")
    done = server.paddle(
        *("submit", "--cluster", "prod", "-n", 1, "--ps", 1, "--follow", "--", "sleep", "100"),
        cwd=tmp_path,
        timeout=TRAINING_S,
    )
    assert done.returncode != 0
    for words in ("lacks", "paddlepaddle>=3 (it has 2.6.2)", "no-such-package==1 (it has none)", "--base-image"):
        assert words in done.stdout + done.stderr
    assert "numpy (" not in done.stdout + done.stderr
    check_nothing_is_left(kube_node)


# The example, with as many passes as the test wants: until there is a file.
UNTIL_ENOUGH = """
import itertools, os, train
train.range = lambda first, last: itertools.takewhile(lambda _: not os.path.exists("/tmp/enough"), itertools.count(first))
train.main()
"""


def test_trainers_join_and_leave(joined):
    """As on one machine: those that come later find the servers, and one that has to go is not waited for."""
    server, kube_node = joined
    server.paddle("queue", "create", "lab", "--cluster", "prod", "--max", "cpu=1200m", check=0)
    sleeper = ("--queue", "lab", "--no-package", "--base-image", PADDLE, "--grace", "1s")
    server.paddle("submit", "--name", "other", *sleeper, "--cpu", "400m", "--", "sleep", "1000", check=0)
    server.wait("other", "running", timeout=TRAINING_S)
    server.paddle(
        *("submit", "--name", "elastic", "--queue", "lab", "-n", 4, "--min-trainers", 2, "--ps", 2),
        *("--cpu", "200m", "--ps-cpu", "200m", "--output", "elastic", "--", "python", "-c", UNTIL_ENOUGH),
        cwd=ROOT / "examples/recognize_digits",
        check=0,
    )
    job = server.job("elastic")["id"]

    def until(member, text):
        wait_for(lambda: text in server.member_log(job, member), TRAINING_S, f"'{text}' of {member}")

    until("trainer-0", "trainer 0 of 2")
    until("trainer-1", "trainer 1 of 2")
    server.paddle("cancel", "other", check=0)
    until("trainer-3", "trainer 3 of 4")
    server.paddle("submit", "--name", "wants", *sleeper, "--cpu", "200m", "--", "sleep", "1000", check=0)
    server.wait("wants", "running", timeout=TRAINING_S)
    until("trainer-0", "pass 20/")
    for index in range(3):
        server.paddle("exec", "--member", f"trainer-{index}", job, "--", "touch", "/tmp/enough", check=0)
    done = server.wait(job, timeout=TRAINING_S)
    assert done["state"] == "succeeded" and done["attempt"] == 1, done["reason"]
    ends = {member["name"]: member for member in done["members"]}
    assert ends["trainer-3"]["state"] == "surplus"
    assert [ends[f"trainer-{index}"]["exit_code"] for index in range(3)] == [0, 0, 0]
    (accuracy,) = re.findall(r"final test accuracy ([\d.]+)", server.member_log(job, "trainer-0"))
    assert float(accuracy) >= BAR
    server.paddle("cancel", "wants", check=0)
    server.wait("wants")
    check_nothing_is_left(kube_node)


def test_a_sweep_as_a_pipeline(joined, tmp_path):
    """examples/pipelines/sweep: each step of each trial is a pod, or two that train together; the server reads what they write."""
    server, _ = joined
    server.paddle("queue", "create", "swept", "--cluster", "prod", "--everyone", check=0)
    server.paddle("flavour", "create", "part", "--cpu", "300m", "--memory", "1Gi", check=0)
    sweep = shutil.copytree(ROOT / "examples/pipelines/sweep", tmp_path / "sweep")
    definition = sweep / "pipeline.yaml"
    definition.write_text(small(definition.read_text(), "part"))
    done = server.paddle(
        *("run", "create", "-f", definition, "--queue", "swept", "--image", PADDLE),
        *("-p", 'trial.networks=["16 0.0001", "32 0.01"]', "-p", "trial.train.passes=3", "--follow"),
        timeout=2 * TRAINING_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = done.stdout.split()[0]
    nodes = {node["path"]: node["job"] for node in server.get(f"/v1/runs/{run}/nodes").json["items"]}
    assert "trainer 1 of 2: 539 digits" in server.member_log(nodes["trial-1.train"], "trainer-1")
    told = server.member_log(nodes["best"])
    assert re.search(r"best: network 1, accuracy on the test part 0\.[89]", told), told
