"""The Python SDK from outside: programs that submit themselves, and its client against real servers."""

import contextlib
import datetime
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import tracemalloc

import paddlecloud
import people
import pytest
from conftest import BIN, PATIENCE, ROOT, wait_for
from paddlecloud import client as client_module
from paddlecloud import config, files, ignore, package, transport
from seeds import noise

CHUNK = 4 * 1024 * 1024  # doc/guide/storage.md


@pytest.fixture
def client(shared_server):
    with paddlecloud.Client(shared_server.url) as made:
        yield made


def write_program(directory, text):
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "train.py"
    path.write_text(textwrap.dedent(text))
    return path


def run_by_hand(server, cwd, *args, python=sys.executable, check=0, env=None):
    done = subprocess.run(
        [python, *map(str, args)],
        cwd=cwd,
        env={**os.environ, "PADDLE_SERVER": server.url, "PYTHONPATH": str(ROOT / "python"), **(env or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == check, done.stdout + done.stderr
    return done


# -- installing it


def test_pip_installs_it(tmp_path, shared_server):
    source, venv = tmp_path / "python", tmp_path / "venv"
    shutil.copytree(ROOT / "python", source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/pip", "install", "--quiet", source], check=True, capture_output=True)
    program = "import paddlecloud as pc; print(pc.__file__, pc.Client().version())"
    done = run_by_hand(shared_server, tmp_path, "-c", program, python=venv / "bin/python", env={"PYTHONPATH": ""})
    path, version = done.stdout.split()
    assert path.startswith(str(venv))
    assert version == shared_server.get("/v1/version").json["version"]


# -- in jobs


def sources(package):
    """{path in the package: content} of its modules."""
    paths = [path for kind in ("*.py", "*.typed") for path in package.rglob(kind)]
    return {str(path.relative_to(package)): path.read_bytes() for path in paths}


def test_names_are_imported_when_they_are_used():
    """A description of a pipeline needs no client, HTTP or TLS; each name is there as before."""
    text = (
        "import sys, paddlecloud.pipeline as described\nbefore = set(sys.modules)\n"
        "import paddlecloud as pc\nnames = [name for name in pc.__all__ if not hasattr(pc, name)]\n"
        "print({'http.client', 'ssl', 'paddlecloud.client'} & before, names, pc.Artifact is pc.RunArtifact, "
        "described.Pipeline is pc.pipeline.Pipeline, described.Run is pc.Run, pc.config.__name__, 'Client' in dir(pc))\n"
        "pc.nothing"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={"PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "set() [] True True True paddlecloud.config True\n"
    assert done.stderr.endswith("AttributeError: module 'paddlecloud' has no attribute 'nothing'\n")


def test_every_job_can_import_it(shared_server, client, tmp_path):
    """Also a package that was sent as it is, and a job of a user who is not the server's: the server brings the SDK of its version."""
    write_program(tmp_path / "plain", "import paddlecloud as pc\nprint(pc.__version__, pc.job.on_platform())\n")
    job = client.submit({"command": "python train.py", "package": client.send_package(str(tmp_path / "plain"))}).wait()
    assert [line.text for line in job.logs()] == [f"{paddlecloud.__version__} True"], job.reason
    assert people.Person(shared_server, "sdk-user").run(
        "python3 -c 'import paddlecloud; print(paddlecloud.__version__)'"
    ) == (f"{paddlecloud.__version__}\n")
    brought, here = (sources(place / "python/paddlecloud") for place in (shared_server.state, ROOT))
    assert brought == here and "pipeline/__init__.py" in here


def test_a_package_of_ones_own_wins(client, tmp_path):
    write_program(tmp_path / "own", "import paddlecloud\nprint(paddlecloud.WORD)\n")
    (tmp_path / "own/paddlecloud.py").write_text("WORD = 'mine'\n")
    job = client.submit({"command": "python train.py", "package": client.send_package(str(tmp_path / "own"))}).wait()
    assert [line.text for line in job.logs()] == ["mine"], job.reason


# -- a program that submits itself


def test_a_description_says_how_it_shares_the_room():
    described = paddlecloud.PaddleJob(
        trainers=4, min_trainers=2, queue="q", priority="low", labels={"a": "b"}, array="0-3", after=["ok:x"]
    ).spec("true")
    assert {key: described[key] for key in ("queue", "priority", "labels", "array", "after")} == {
        "queue": "q",
        "priority": "low",
        "labels": {"a": "b"},
        "array": "0-3",
        "after": ["ok:x"],
    }
    assert described["roles"][0]["min"] == 2
    plain = paddlecloud.PaddleJob().spec("true")
    assert not {"queue", "priority", "labels", "array", "after"} & plain.keys() and "min" not in plain["roles"][0]


def test_train_with_a_callable_submits_by_hand_and_trains_on_the_platform(shared_server, client, tmp_path):
    write_program(
        tmp_path / "with-trainer",
        """
        import os, sys
        import helper
        import paddlecloud as pc

        def main():
            print("trained", helper.WORD, os.environ["PADDLE_TRAINER_ID"], os.environ["NUM_PASS"], sys.argv[1:])

        job = pc.dist.train(trainer=main, job_name="self-a", trainers=2, env={"NUM_PASS": 7})
        if job is not None:
            print("by hand", job.name)
        """,
    )
    (tmp_path / "with-trainer/helper.py").write_text("WORD = 'well'\n")
    done = run_by_hand(shared_server, tmp_path, "with-trainer/train.py", "a b")
    assert done.stdout == "by hand self-a\n"
    assert "paddle logs -f self-a" in done.stderr
    job = client.wait("self-a", timeout=PATIENCE)
    assert (job.state, job.framework) == ("succeeded", "paddle-collective"), job.reason
    lines = sorted(line.text for line in client.logs("self-a"))
    assert lines == ["trained well 0 7 ['a b']", "trained well 1 7 ['a b']"]


def test_train_without_a_callable_goes_on_only_on_the_platform(shared_server, client, tmp_path):
    write_program(
        tmp_path,
        """
        import paddlecloud as pc
        pc.dist.train(job_name="self-b")
        print("training")
        """,
    )
    assert run_by_hand(shared_server, tmp_path, "train.py").stdout == ""
    assert client.wait("self-b", timeout=PATIENCE).state == "succeeded"
    assert [line.text for line in client.logs("self-b")] == ["training"]


def test_a_module_submits_itself_as_a_module(shared_server, client, tmp_path):
    write_program(
        tmp_path / "demo",
        """
        from . import word
        import paddlecloud as pc
        pc.dist.train(lambda: print(word.WORD), job_name="self-m")
        """,
    )
    (tmp_path / "demo/word.py").write_text("WORD = 'relative'\n")
    run_by_hand(shared_server, tmp_path, "-m", "demo.train")
    job = client.wait("self-m", timeout=PATIENCE)
    assert job.state == "succeeded", job.reason
    assert [line.text for line in client.logs("self-m")] == ["relative"]


def test_the_seeds_keywords(shared_server, client, tmp_path):
    """doc/reference/paddle-cloud.md, "The Python call"."""
    user = shared_server.get("/v1/whoami").json["user"]
    (tmp_path / "input").mkdir()
    client.upload(str(tmp_path / "input"), "in")
    write_program(
        tmp_path,
        f"""
        import os
        import paddlecloud as pc
        pc.dist.train(
            k8s_user="ann", k8s_pssword="secret", job_name="seed-job", trainers=2, pservers=1,
            input="/pfs/local/home/{user}/in", output="out",
            base_image="paddlepaddle/paddle:0.10.rc2", use_gpu=False, entry_point="python train.py",
            trainer=lambda: open(os.environ["PADDLE_READY_FILE"], "w") and None,
        )
        """,
    )
    run_by_hand(shared_server, tmp_path, "train.py")
    job = client.job("seed-job")
    with contextlib.suppress(paddlecloud.errors.Conflict):  # it may be over
        client.cancel("seed-job")
    assert job.framework == "paddle-ps"
    assert {role["name"]: role["replicas"] for role in job.roles} == {"pserver": 1, "trainer": 2}
    spec = job.raw["spec"]
    assert spec["image"] == "paddlepaddle/paddle:0.10.rc2"
    assert spec["input"] == f"/pfs/local/home/{user}/in" and spec["output"] == f"/pfs/local/home/{user}/out"
    assert "secret" not in json.dumps(job.raw)


def test_dist_train_with_a_paddle_job(shared_server, client, tmp_path):
    write_program(
        tmp_path / "package",
        """
        import paddlecloud as pc
        job = pc.job.dist_train(
            trainer=lambda: print("trained") or "result",
            paddle_job=pc.PaddleJob(
                job_name="self-c", trainers=1, entry_point="python train.py", trainer_cpu=1,
                trainer_mem="1G", image="some/image",
            ),
        )
        print(job if isinstance(job, str) else job.name)
        """,
    )
    assert run_by_hand(shared_server, tmp_path, "package/train.py").stdout == "self-c\n"
    job = client.wait("self-c", timeout=PATIENCE)
    assert job.state == "succeeded", job.reason
    assert [line.text for line in client.logs("self-c")] == ["trained", "result"]
    assert job.raw["spec"]["image"] == "some/image"


@pytest.mark.parametrize(
    "keywords, says",
    [
        ({"use_gpu": True}, "trainer_gpu"),
        ({"use_gpu": False, "trainer_gpu_num": 2}, "use_gpu"),
        ({"trainers": 0}, "at least 1 trainer"),
        ({"pservers": -1}, "'-1'"),
        ({"job_name": "../x"}, "../x"),
    ],
)
def test_wrong_arguments_are_named(shared_server, tmp_path, keywords, says):
    write_program(tmp_path, f"import paddlecloud as pc\npc.dist.train(print, **{keywords})\n")
    done = run_by_hand(shared_server, tmp_path, "train.py", check=1)
    assert says in done.stderr.splitlines()[-1] or says in done.stderr.splitlines()[-2]


def test_without_a_file_there_is_nothing_to_submit(shared_server, tmp_path):
    done = run_by_hand(shared_server, tmp_path, "-c", "import paddlecloud as pc; pc.dist.train(print)", check=1)
    assert "no program file" in done.stderr
    done = subprocess.run(
        [sys.executable, "-"], input="import paddlecloud as pc\npc.dist.train(print, trainers=2)\n", text=True,
        capture_output=True, cwd=tmp_path, check=False,
        env={**os.environ, "PADDLE_SERVER": shared_server.url, "PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    assert done.returncode == 1 and "no program file" in done.stderr and "standard input" in done.stderr, done.stderr


def test_a_home_directory_is_not_sent(shared_server, tmp_path):
    write_program(tmp_path, "import paddlecloud as pc\npc.dist.train(print)\n")
    done = run_by_hand(shared_server, tmp_path, "train.py", check=1, env={"HOME": str(tmp_path)})
    assert "home directory" in done.stderr


def test_after_the_trainer_the_process_ends(shared_server, client, tmp_path):
    """What follows the call is the submitter's alone; a result is still given to programs that want it."""
    write_program(
        tmp_path,
        """
        import sys
        import paddlecloud as pc
        result = pc.dist.train(print if sys.argv[1] == "none" else lambda: sys.argv[1], job_name="ends-" + sys.argv[1])
        print("got", result if isinstance(result, str) else result.wait().state)
        """,
    )
    assert run_by_hand(shared_server, tmp_path, "train.py", "none").stdout == "got succeeded\n"
    assert [line.text for line in client.logs("ends-none")] == [""]
    run_by_hand(shared_server, tmp_path, "train.py", "some")
    assert [line.text for line in client.logs("ends-some")] == ["got some"]


def test_follow_prints_until_the_end(shared_server, tmp_path):
    write_program(
        tmp_path,
        """
        import sys
        import paddlecloud as pc
        pc.dist.train(job_name="followed", follow=True)
        print("training")
        sys.exit(int(sys.argv[1]))
        """,
    )
    assert run_by_hand(shared_server, tmp_path, "train.py", 0).stdout == "worker-0 | training\n"
    assert run_by_hand(shared_server, tmp_path, "train.py", 3, check=1).stdout == "worker-0 | training\n"


def test_train_says_what_a_job_needs(shared_server, client, tmp_path):
    shared_server.paddle("cluster", "create", "side", "--type", "Local", check=0)
    shared_server.paddle("queue", "create", "side-queue", "--cluster", "side", check=0)
    write_program(
        tmp_path,
        """
        import datetime
        import paddlecloud as pc
        keywords = dict(framework="pytorch", trainers=2, cpu=1.5, memory="1Gi", time_limit=datetime.timedelta(hours=2))
        plan = pc.dist.dry_run(print, **keywords)
        print(plan.admitted, len(plan.placement))
        print(pc.dist.train(print, job_name="needs", cluster="side", **keywords).cancel().name)
        """,
    )
    assert run_by_hand(shared_server, tmp_path, "train.py").stdout == "True 2\nneeds\n"
    spec = client.job("needs").raw["spec"]
    (role,) = spec["roles"]
    assert (spec["framework"], role["name"], role["replicas"]) == ("pytorch", "worker", 2)
    assert (role["cpu"], role["memory"], spec["time_limit"]) == ("1500m", "1Gi", "7200s")
    assert spec["queue"] == "side-queue"
    with pytest.raises(ValueError, match="several queues.*default, default-queue"):
        client.queue_of("default-cluster")
    with pytest.raises(ValueError, match="no queue of a cluster 'nowhere'"):
        client.queue_of("nowhere")


@pytest.mark.parametrize(
    "keywords, says",
    [({"gpus": 2, "trainer_gpu_num": 1}, "the same"), ({"use_gpu": False, "gpus": 1}, "use_gpu"), ({"gpu": 1}, "gpu")],
)
def test_keywords_that_contradict_each_other(shared_server, keywords, says):
    with paddlecloud.Client(shared_server.url) as client, pytest.raises((ValueError, TypeError), match=says):
        paddlecloud.dist.dry_run(print, client=client, entry_point="true", **keywords)


def test_gpus_are_those_of_a_trainer():
    described = paddlecloud.dist._describe({"gpus": 2, "pservers": 1, "trainers": 3}).spec("true")
    assert [(role["name"], role["gpus"]) for role in described["roles"]] == [("pserver", 0), ("trainer", 2)]
    assert described["use_gpu"] is True


def test_a_job_acts_by_itself(client, tmp_path):
    job = client.submit(
        {"command": "echo one; echo two; echo kept > $PADDLE_OUTPUT/file", "name": "acts", "output": "acts"}
    )
    before = job.state
    assert job.wait(timeout=PATIENCE) is job and before != job.state == "succeeded" and job.is_final
    assert [line.text for line in job.logs(tail=1)] == ["two"]
    assert [event.kind for event in job.events()][-1] == "job.succeeded"
    job.download(str(tmp_path / "back"))
    assert (tmp_path / "back/file").read_text() == "kept\n"
    assert repr(job) == f"<Job acts ({job.id}): succeeded>"
    assert job == client.job("acts") and len({job, client.job("acts")}) == 1
    sleeper = client.submit({"command": ["sleep", "600"], "grace": "1s"})
    assert sleeper.cancel().state in ("stopping", "cancelled") and sleeper.wait().status() == "cancelled"
    with pytest.raises(ValueError, match="no output"):
        sleeper.download(str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="Client.job"):
        paddlecloud.Job("x", "made-by-hand", "u", "queued", "plain").wait()


SDK = ROOT / "python/paddlecloud"
TYPED = """
import paddlecloud as pc
client = pc.Client()
job: pc.Job = client.submit({"command": ["python", "train.py"], "roles": [{"name": "trainer", "replicas": 2, "cpu": "500m"}]})
for line in job.logs(follow=True):
    print(line.member.upper(), line.text)
again: pc.Job = pc.dist.train(lambda: None, cpu=2, memory="4Gi", gpus=1, time_limit="2h").wait()
run: pc.Run = client.run_create({"name": "p"}, {"n": 1}, disabled=["a"]).wait(60.0)
jobs = [node.job for node in run.nodes(state="failed") if node.job is not None]
stored: pc.StoredPipeline = client.pipeline_create("name: p").update({"name": "p"})
again_too: pc.Run = stored.run({"n": 2}, version=1, directory=".").retry(from_step="a", parameters={"n": 3})
steps = [line.step.upper() for line in again_too.logs(step="a", follow=True)]
paths = [artifact.path.upper() for artifact in client.artifacts(filesystem="home", path="x")]
schedule: pc.Schedule = stored.schedule("nightly", "@daily", policy="skip").stop()

from paddlecloud.pipeline import Artifact, ContainerStep, Pipeline, loop, step

@step(requirements=["numpy"], cache=True)
def double(number: int) -> int:
    return 2 * number

@Pipeline(name="typed")
def typed(count: int) -> None:
    first = ContainerStep("first", command="x", outputs={"o": Artifact()})
    for item in loop([1, 2]):
        double(item).after(first)

described: pc.Run = typed(3).run({"double.number": 1}, client=client, disabled=["first"]).wait()
"""


@pytest.mark.parametrize(
    "wrong, says",
    [
        (None, None),
        ('client.submit({"comand": "x"})', "comand"),
        ("job.wiat()", "wiat"),
        ("run.nodez()", "nodez"),
        ("run.retry(from_='a')", "from_"),
        ("pc.dist.train(print, gpu=1)", "gpu"),
        ("typed('three')", "typed"),
        ("ContainerStep('a', image='x')", "image"),
        ("step(requirement='numpy')", "requirement"),
    ],
)
def test_types_find_mistakes(tmp_path, wrong, says):
    """What the package declares (py.typed): mypy passes it strictly, and finds a wrong name in a program that uses it."""
    program = tmp_path / "program.py"
    program.write_text(TYPED + (wrong or ""))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / "build/mypy", program, *([] if wrong else [SDK])],
        env={**os.environ, "MYPYPATH": str(ROOT / "python")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, says is None or says in done.stdout) == (1 if wrong else 0, True), (
        done.stdout + done.stderr
    )


# -- packages


def make_tree(root):
    contents = {
        "train.py": "print(1)\n",
        "deep/er/data.bin": "x" * 300_000,
        "ünïcödé/日本 語.txt": "text",
        "back\\slash": "1",
        "skip.log": "1",
        "keep.log": "1",
        "logs/a.txt": "1",
        "only/ignored.tmp": "1",
        "a/b/c/x.o": "1",
        "a/x.o": "1",
        "doc/frotz/a.txt": "1",
        "n1.txt": "1",
        "n5.txt": "1",
        "nx.txt": "1",
        "trailing ": "1",
        "#hash": "1",
        "!bang": "1",
        "sub/z": "1",
        "sub/y": "1",
        "sub/deeper/y": "1",
        "__pycache__/x.pyc": "1",
        ".git/config": "1",
        "seen.paddle": "1",
        "a-b": "1",
        "a.b": "1",
        "a0/q": "1",
    }
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "empty/inner").mkdir(parents=True)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "group-x").write_text("1")
    (root / "group-x").chmod(0o611)
    (root / "deep/link").symlink_to("../train.py")
    (root / "dangling").symlink_to("./nowhere/at all")
    (root / "dir-link").symlink_to("deep/er/")
    (root / "sub/.gitignore").write_text("y\n!z\n")
    (root / ".paddleignore").write_text("!seen.paddle\n")
    (root / ".gitignore").write_text(
        "# a remark\n*.log\n!keep.log\nlogs/\n*.tmp\n/a/**/x.o\ndoc/frotz\nn[0-4[:alpha:]].txt\ntrailing\\ \n"
        "\\#hash\n\\!bang\nz\n*.paddle\n[unclosed\nback\\\\slash\r\n"
    )


def test_a_sweep_and_a_start_timeout_of_train(client):
    job = paddlecloud.PaddleJob(sweep={"lr": [0.1, "0.01"]}, start_timeout=datetime.timedelta(minutes=5)).spec("true")
    assert job["sweep"] == {"lr": ["0.1", "0.01"]} and job["start_timeout"] == "300s"
    array = client.submit(job)
    assert sorted(row["parameters"]["lr"] for row in client.wait(array.name).results()) == ["0.01", "0.1"]


def test_nodes(client):
    (node,) = client.nodes()
    assert node["ready"] and node["total"]["cpu"] and node["cluster"] == "default-cluster"
    assert client.nodes(cluster="default-cluster")[0]["name"] == node["name"]


def test_a_package_has_the_same_hash_as_the_command_makes(shared_server, client, tmp_path):
    tree = tmp_path / "tree"
    make_tree(tree)
    done = shared_server.paddle("submit", "-o", "json", "--", "true", cwd=tree, check=0)
    sent = json.loads(done.stdout)
    sent = client.job(sent["id"]).raw["spec"]["package"]
    manifest = package.of_directory(str(tree))
    assert manifest.hash == sent, manifest.text.decode()
    assert client.send_package(str(tree)) == sent


@pytest.mark.parametrize("taken_back", [False, True])
def test_caches_and_virtual_environments_stay_behind(shared_server, client, tmp_path, taken_back):
    """Both clients leave them out, unless a rule takes them back; a virtual environment is told by its mark, whatever its name is."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    for name in (
        "train.py",
        "deep/env/pyvenv.cfg",
        "deep/env/lib/x.py",
        "node_modules/m/index.js",
        ".mypy_cache/x",
        "a/.DS_Store",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("deep/env")  # a link is no virtual environment
    if taken_back:
        (tmp_path / ".paddleignore").write_text("!node_modules/\n!/deep/env/\n!.DS_Store\n")
    done = shared_server.paddle(
        "submit", "-o", "json", "--", "sh", "-c", "find . -type f -o -type l | sort", cwd=tmp_path, check=0
    )
    job = client.wait(json.loads(done.stdout)["id"])
    manifest = package.of_directory(str(tmp_path))
    assert manifest.hash == job.raw["spec"]["package"], manifest.text.decode()
    sent = {line.text.removeprefix("./") for line in client.logs(job.id)}
    more = {".paddleignore", "a/.DS_Store", "deep/env/lib/x.py", "deep/env/pyvenv.cfg", "node_modules/m/index.js"}
    assert sent == {"train.py", "link"} | (more if taken_back else set())


def test_ignore_rules_mean_what_git_means(tmp_path):
    """Git itself is the judge."""
    make_tree(tmp_path)
    shutil.rmtree(tmp_path / ".git")
    shutil.rmtree(tmp_path / "__pycache__")
    (tmp_path / ".paddleignore").unlink()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"], cwd=tmp_path, capture_output=True, check=True
    ).stdout.split(b"\0")[:-1]
    walk = package._Walk(str(tmp_path))
    walk.walk(b"", [])
    ours = [path for path, line in walk.entries.items() if not line.startswith(b"d ")]
    assert sorted(ours) == sorted(listed)


@pytest.mark.parametrize(
    "target, says",
    [("/etc/passwd", "absolute"), ("../outside", "out of the package"), ("x/../y", "only at the front")],
)
def test_links_that_leave_are_refused_by_both(shared_server, tmp_path, target, says):
    (tmp_path / "leaves").symlink_to(target)
    with pytest.raises(ValueError, match=says) as error:
        package.of_directory(str(tmp_path))
    assert "'leaves'" in str(error.value)
    assert says in shared_server.paddle("submit", "--", "true", cwd=tmp_path, check=2).stderr


def test_pipes_and_names_that_are_no_text_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="'pipe' is a socket, pipe or device"):
        package.of_directory(str(tmp_path))
    (tmp_path / "pipe").unlink()
    with open(os.fsencode(tmp_path) + b"/\xff", "w"):
        pass
    with pytest.raises(ValueError, match="UTF-8"):
        package.of_directory(str(tmp_path))


def test_a_large_content_goes_on_where_it_broke_off(shared_server, client, tmp_path, monkeypatch):
    (tmp_path / "big").write_bytes(noise(20 << 20, "big"))
    sent = []
    request = client._transport.request

    def breaking(method, path, body=None, *args, **kwargs):
        if method == "PUT":
            if len(sent) == 1:
                sent.append(0)
                raise paddlecloud.ServerNotReached("cut")
            sent.append(len(body))
        return request(method, path, body, *args, **kwargs)

    monkeypatch.setattr(client._transport, "request", breaking)
    with pytest.raises(paddlecloud.ServerNotReached):
        client.send_package(str(tmp_path))
    hash_ = client.send_package(str(tmp_path))
    assert sum(sent) == 20 << 20
    job = client.submit({"command": "sha256sum big", "package": hash_})
    assert client.wait(job.id, timeout=PATIENCE).state == "succeeded"
    want = subprocess.run(["sha256sum", "big"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert [line.text for line in client.logs(job.id)] == [want]


# -- the client


def test_submit_wait_cancel_and_lists(client, monkeypatch):
    monkeypatch.setattr(client_module.calls, "PAGE", 2)
    made = [client.submit({"command": ["true"], "name": f"page-{i}"}) for i in range(5)]
    for job in made:
        done = client.wait(job.id, timeout=PATIENCE)
        assert done.is_final and done.state == "succeeded"
        assert done.members[0].exit_code == 0 and done.members[0].name == "worker-0"
    listed = [job.id for job in client.jobs(state="succeeded") if job.name.startswith("page-")]
    assert listed == [job.id for job in reversed(made)]
    assert [job.id for job in client.jobs(name="page-3")] == [made[3].id]
    sleeper = client.submit({"command": ["sleep", "600"], "grace": "1s"})
    with pytest.raises(TimeoutError, match=sleeper.name):
        client.wait(sleeper.id, timeout=0.2)
    assert client.cancel(sleeper.name).state in ("stopping", "cancelled")
    assert client.wait(sleeper.id, timeout=PATIENCE).state == "cancelled"


def test_events_of_a_job_are_paged_and_followed(client, monkeypatch):
    monkeypatch.setattr(client_module.streams, "EVENTS_PAGE", 2)
    job = client.submit({"command": ["true"]})
    client.wait(job.id, timeout=PATIENCE)
    listed = list(client.events(job=job.id, follow=False))
    kinds = [event.kind for event in listed]
    assert kinds[0] == "job.queued" and kinds[-1] == "job.succeeded" and "member.exited" in kinds
    revisions = [event.revision for event in listed]
    assert revisions == sorted(set(revisions)) and {event.job for event in listed} == {job.id}
    followed = []
    for event in client.events(since=revisions[0] - 1, job=job.id):
        followed.append(event)
        if event.kind == "job.succeeded":
            break
    assert followed == listed
    of_all = list(client.events(since=revisions[0] - 1, follow=False))
    assert [event for event in of_all if event.job == job.id] == listed
    assert list(client.events(since=None, follow=False))[-len(of_all) :] == of_all
    everything = list(client.events(since=revisions[0] - 1, follow=False))
    assert [event for event in everything if event.job == job.id] == listed
    assert list(client.events(since=everything[-1].revision, follow=False)) == []


def test_how_a_job_shares_the_room(client):
    first = client.submit({"command": "true", "name": "shared-a", "labels": {"team": "a"}, "priority": "high"})
    assert (first.queue, first.priority, first.labels) == ("default", 100, {"team": "a"})
    held = client.submit(
        {"command": "true", "name": "shared-b", "labels": {"team": "a"}, "begin": "2099-01-01T00:00:00Z"}
    )
    assert {job.id for job in client.jobs(labels={"team": "a"}, queue="default")} == {first.id, held.id}
    assert list(client.jobs(labels={"team": "a", "other": "b"})) == []
    why = client.explain(held.id)
    assert (why.state, why.reasons[0].cause) == ("queued", "begin")
    changed = client.change(held.id, priority=-200, labels={"team": "b", "new": ""})
    assert (changed.priority, changed.labels) == (-200, {"team": "b", "new": ""})
    assert client.change(held.id, labels={"new": None}).labels == {"team": "b"}
    assert client.hold(held.id).state == "suspended"
    assert client.release(held.id).state == "queued"
    assert client.cancel(held.id).state == "cancelled"
    with pytest.raises(paddlecloud.Conflict):
        client.requeue(held.id)


def test_a_dry_run_makes_nothing(client):
    before = [job.id for job in client.jobs()]
    said = client.dry_run({"command": "true", "roles": [{"name": "worker", "replicas": 2}]})
    assert (said.admitted, said.state, said.queue, len(said.placement)) == (True, "would start", "default", 2)
    assert client.dry_run({"command": "true", "begin": "2099-01-01T00:00:00Z"}).state == "would wait"
    refused = client.dry_run({"command": "true", "queue": "nowhere"})
    assert (refused.admitted, refused.state) == (False, "refused")
    assert [job.id for job in client.jobs()] == before


def test_many_at_once_and_their_dependencies(client):
    ids = client.submit_many(
        [
            {"command": "true", "name": "many-a"},
            {"command": "true", "name": "many-b", "after": ["ok:many-a"]},
            {"command": "false", "name": "many-c", "after": ["any:many-b"]},
            {"command": "true", "name": "many-d", "after": ["ok:many-c"]},
        ]
    )
    assert [client.wait(one, timeout=PATIENCE).state for one in ids] == [
        "succeeded",
        "succeeded",
        "failed",
        "cancelled",
    ]
    before = [job.id for job in client.jobs()]
    with pytest.raises(paddlecloud.Invalid):
        client.submit_many([{"command": "true"}, {"command": 7}])
    assert [job.id for job in client.jobs()] == before


def test_an_array(client):
    job = client.submit({"command": "true", "name": "sweep", "array": "0-4%2"})
    jobs = list(client.jobs(array=job.id))
    assert sorted(one.array["index"] for one in jobs) == [0, 1, 2, 3, 4]
    assert all(client.wait(one.id, timeout=PATIENCE).state == "succeeded" for one in jobs)


# -- runs of pipelines

LOOP = """name: sdk
entry_points:
  first: {parameters: {n: 3}, command: "true {{n}}"}
  many: {command: "true {{PF_LOOP_ARGUMENT}}", deps: first, loop_argument: [1, 2, 3, 4, 5]}
"""


def test_a_run_from_its_definition_to_its_end(client, tmp_path, monkeypatch):
    """The three forms of a definition; nodes page by page; what the run's own methods give."""
    monkeypatch.setattr(client_module.calls, "PAGE", 2)
    (tmp_path / "loop.yaml").write_text(LOOP)
    forms = [LOOP, tmp_path / "loop.yaml", {"name": "sdk", "entry_points": {"first": {"command": "true"}}}]
    made = [client.run_create(form, name=f"sdk-{i}") for i, form in enumerate(forms)]
    assert [run.name for run in made] == ["sdk-0", "sdk-1", "sdk-2"] and made[0] != made[1]
    for run in made:
        assert run.wait(PATIENCE).state == "succeeded", run.message
        assert run.is_final and run.finished_at and client.run(run.id) == run
    assert made[0].nodes_in["succeeded"] == 6 and made[2].nodes_in["succeeded"] == 1
    nodes = list(made[0].nodes())
    assert [(node.path, node.number) for node in nodes] == [("first", None)] + [(f"many-{i}", i) for i in range(5)]
    assert all(client.job(node.job).state == "succeeded" and node.type == "step" for node in nodes)
    assert list(made[0].nodes(state="failed")) == []
    assert [item["name"] for item in made[0].tree()] == ["first", "many"]
    listed = [run.id for run in client.runs(state="succeeded")]
    assert listed[:3] == [run.id for run in reversed(made)]
    assert [run.id for run in client.runs(name="sdk-1")] == [made[1].id]
    assert made[0].id in repr(made[0]) and "sdk-0" in made[0]._repr_html_()
    assert "<title>many: succeeded" in made[0].picture() and made[0].picture() in made[0]._repr_html_()


def test_parameters_and_keys_of_runs(client):
    text = "name: keyed\nentry_points:\n  a: {parameters: {n: 3}, command: 'exit {{n}}'}\n  b: {command: 'true'}\n"
    run = client.run_create(text, {"a.n": 0}, disabled=["b"], failure_strategy="continue", idempotency_key="sdk-key")
    again = client.run_create(text, {"a.n": 0}, disabled=["b"], failure_strategy="continue", idempotency_key="sdk-key")
    assert again == run and run.wait(PATIENCE).state == "succeeded"
    assert {node.path: node.state for node in run.nodes()} == {"a": "succeeded", "b": "skipped"}
    with pytest.raises(paddlecloud.Conflict, match="sdk-key"):
        client.run_create(text, idempotency_key="sdk-key")
    failed = client.run_create(text, queue="default").wait(PATIENCE)
    assert failed.state == "failed" and "step 'a'" in failed.message
    with pytest.raises(paddlecloud.NotFound, match="nowhere"):
        client.run_create(text, queue="nowhere")


def test_a_run_is_stopped_and_deleted(client):
    run = client.run_create({"name": "long", "entry_points": {"a": {"command": "sleep 600"}}})
    with pytest.raises(TimeoutError, match=run.id):
        run.wait(0.2)
    with pytest.raises(paddlecloud.Conflict, match="not ended"):
        run.delete()
    assert run.stop().state in ("stopping", "terminated")
    assert run.wait(PATIENCE).state == "terminated"
    with pytest.raises(paddlecloud.Conflict, match="already ended"):
        client.run_stop(run.id, force=True)
    run.delete()
    with pytest.raises(paddlecloud.NotFound, match=run.id):
        run.refresh()


def test_logs_events_and_artifacts_of_a_run(client, tmp_path):
    """Two steps that pass on a file; what they print; where the file lies; and how it is deleted."""
    text = """name: sdk-files
entry_points:
  make: {command: "echo made > {{out}}; echo making", artifacts: {output: [out]}}
  use: {deps: make, loop_argument: [1, 2], command: "cat {{it}}; printf end", artifacts: {input: {it: "{{make.out}}"}}}
"""
    run = client.run_create(text)
    with pytest.raises(paddlecloud.NotFound, match="'x'"):
        client.artifact_delete(run.id, "x")
    lines = [(line.step, line.text) for line in run.logs(follow=True)]
    assert sorted(lines) == [
        ("make", "making"),
        ("use-0", "end"),
        ("use-0", "made"),
        ("use-1", "end"),
        ("use-1", "made"),
    ]
    assert run.wait(PATIENCE).state == "succeeded", run.message
    assert sorted(lines) == sorted((line.step, line.text) for line in run.logs())
    (first, *_) = client.run_logs(run.id, step="use-1", timestamps=True)
    assert (first.step, first.member, first.attempt) == ("use-1", "worker-0", 1) and first.time > run.created_at
    assert client.job(first.job).state == "succeeded"
    events = list(run.events())
    assert [event.kind for event in events] == ["run.created", "run.succeeded"] and {e.run for e in events} == {run.id}
    assert [event.kind for event in run.events(since=events[0].revision)] == ["run.succeeded"]
    every = list(run.artifacts())
    assert sorted((item.name, item.type) for item in every) == [("it", "input"), ("it", "input"), ("out", "output")]
    (made,) = run.artifacts(type="output")
    assert sorted({item.step for item in every}) == ["make", "use-0", "use-1"] and made.step == "make"
    assert made.run == run.id and made.filesystem == "home" and client.job(made.job).state == "succeeded"
    assert list(client.artifacts(path=made.path, type="output")) == [made]
    assert list(client.artifacts(filesystem="home", path=made.path + "/x")) == []
    client.download(made.path, str(tmp_path / "made"))
    assert (tmp_path / "made").read_text() == "made\n"
    client.artifact_delete(run.id, made.path)
    assert list(run.artifacts(type="output")) == []
    with pytest.raises(paddlecloud.NotFound):
        client.download(made.path, str(tmp_path / "gone"))
    with pytest.raises(paddlecloud.NotFound):
        client.artifact_delete(run.id, made.path)
    with pytest.raises(paddlecloud.Invalid, match="neither input nor output"):
        list(client.artifacts(run.id, type="both"))
    with pytest.raises(paddlecloud.NotFound, match="no run"):
        list(client.run_logs("0000000000000000"))


def test_a_run_with_a_directory_and_a_retry(client, tmp_path):
    (tmp_path / "say.sh").write_text("test $1 = good && echo said $1\n")
    text = (
        "name: sdk-retry\nentry_points:\n  a: {command: 'true'}\n"
        "  b: {deps: a, parameters: {word: bad}, command: 'sh say.sh {{word}}'}\n"
    )
    failed = client.run_create(text, package=client.send_package(tmp_path)).wait(PATIENCE)
    assert (failed.state, [node.path for node in failed.nodes(state="failed")]) == ("failed", ["b"])
    again = failed.retry(parameters={"b.word": "good"}).wait(PATIENCE)
    assert again.state == "succeeded" and again.id != failed.id
    (step,) = [node for node in again.nodes() if node.path == "b"]
    assert [line.text for line in client.logs(step.job)] == ["said good"]
    with pytest.raises(paddlecloud.Conflict, match="nothing to retry"):
        client.run_retry(again.id)
    assert again.retry("b").wait(PATIENCE).state == "succeeded"


def test_a_run_is_retried(client):
    text = """name: sdk-retry
entry_points:
  good: {command: "true"}
  bad: {deps: good, parameters: {code: 1}, command: "exit {{code}}"}
"""
    first = client.run_create(text).wait(PATIENCE)
    assert first.state == "failed" and (first.attempt, first.retry_of) == (1, None)
    mended = first.retry(parameters={"bad.code": 0}, idempotency_key="sdk-retry")
    assert first.retry(parameters={"bad.code": 0}, idempotency_key="sdk-retry") == mended != first
    assert mended.wait(PATIENCE).state == "succeeded" and (mended.attempt, mended.retry_of) == (2, first.id)
    nodes = {node.path: node for node in mended.nodes()}
    assert nodes["good"].run == first.id and nodes["bad"].run is None
    with pytest.raises(paddlecloud.Conflict, match="nothing to retry"):
        mended.retry()
    with pytest.raises(paddlecloud.Invalid, match="nowhere"):
        mended.retry(from_step="nowhere")
    anew = client.run_retry(mended.id, from_step="good").wait(PATIENCE)
    assert anew.state == "succeeded" and {node.run for node in anew.nodes()} == {None}
    with pytest.raises(paddlecloud.Conflict, match="keeps"):
        first.delete()
    first.delete(force=True)


def test_a_run_pauses_and_goes_on(client):
    text = """name: sdk-pause
entry_points:
  a: {parameters: {n: {type: int, default: 1}}, command: "echo a {{n}}"}
  b: {deps: a, parameters: {n: "{{a.n}}"}, command: "echo b {{n}}"}
  c: {deps: b, command: "true"}
"""

    def pauses_at(run, *expected):
        wait_for(lambda: run.refresh().pauses == list(expected), PATIENCE, f"pauses at {expected}")

    run = client.run_create(text, break_before=["a"], break_after=["b"])
    assert (run.break_before, run.break_after, run.missed_breakpoints) == (["a"], ["b"], [])
    pauses_at(run, ("a", "before"))
    with pytest.raises(paddlecloud.Invalid, match="whole number"):
        run.set_parameters("a", {"n": "x"})
    with pytest.raises(paddlecloud.Conflict, match="not paused at step 'b'"):
        run.go_on("b")
    with pytest.raises(paddlecloud.Invalid, match="no component 'z'"):
        run.set_breaks(before=["z"])
    assert run.set_parameters("a", {"n": 5}) is run and run.changed_parameters == {"a": {"n": 5}}
    with pytest.raises(paddlecloud.Invalid, match="the loop 'l' has 2 items"):
        client.run_create("name: l\nentry_points: {l: {command: c, loop_argument: [1, 2]}}", break_before=["l-2"])
    changed = client.run_break(run.id, before=["c"])
    assert (changed.pauses, changed.raw["changed_parameters"]) == ([("a", "before")], {"a": {"n": 5}})
    run.set_breaks(after=["b"], remove=True)
    assert (run.raw["break_before"], run.raw["break_after"]) == (["a", "c"], [])
    run.step("a")
    pauses_at(run, ("b", "before"))
    run.go_on()
    pauses_at(run, ("c", "before"))
    assert client.run_continue(run.id).wait(PATIENCE).state == "succeeded"
    (step,) = [node for node in run.nodes() if node.path == "b"]
    assert [line.text for line in client.logs(step.job)] == ["b 5"]
    with pytest.raises(paddlecloud.Conflict, match="has ended"):
        run.go_on()
    again = run.retry("b", break_before=["b"])
    pauses_at(again, ("b", "before"))
    assert again.refresh().break_before == ["b"] and again.stop().pauses == [] and again.nodes_in
    assert again.wait(PATIENCE).state == "terminated"


def test_a_directory_is_sent_with_a_run(client, tmp_path):
    (tmp_path / "say.sh").write_text("echo said by $1\n")
    (tmp_path / "pipeline.yaml").write_text(
        "name: sdk-sent\nentry_points:\n  a: {command: 'sh say.sh {{PF_STEP_NAME}}'}\n"
    )
    run = client.run_create(tmp_path / "pipeline.yaml", directory=tmp_path, description="of Monday")
    assert [line.text for line in run.logs(follow=True)] == ["said by a"]
    assert run.wait(PATIENCE).state == "succeeded" and run.description == "of Monday"
    with pytest.raises(ValueError, match="home directory"):
        client.run_create(tmp_path / "pipeline.yaml", directory=os.path.expanduser("~"))


def test_a_version_of_a_stored_pipeline_has_a_directory(client, tmp_path):
    """As it is when it is stored; .paddleignore counts, and what may not be sent with a run may not be stored either."""
    for name, word in (("first", "one"), ("second", "two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "say.sh").write_text(f"echo said {word}; ls\n")
        (tmp_path / name / "secret.txt").write_text("never sent\n")
        (tmp_path / name / ".paddleignore").write_text("secret.txt\n")
    text = "name: sdk-kept\nentry_points:\n  a: {command: 'sh say.sh'}\n"

    def said(run):
        assert run.wait(PATIENCE).state == "succeeded", run.message
        return [line.text for line in run.logs()]

    stored = client.pipeline_create(text, directory=tmp_path / "first")
    (tmp_path / "first/say.sh").write_text("echo changed\n")
    assert (stored.newest.package_name, len(stored.newest.package)) == ("first", 64)
    assert said(stored.run()) == ["said one", "say.sh"]
    sent = client.send_package(str(tmp_path / "second"))
    assert stored.update(text, package=sent).newest.package == sent
    assert said(stored.run()) == ["said two", "say.sh"] and said(stored.run(version=1)) == ["said one", "say.sh"]
    assert client.pipeline_update("sdk-kept", text, directory=tmp_path / "first").newest.version == 3
    assert said(client.run_create(pipeline="sdk-kept")) == ["changed"]
    assert stored.update(text).newest.package is None  # of the version that is stored, not of the one before
    for wrong, says in ((os.path.expanduser("~"), "home directory"), (tmp_path / "none", "none")):
        with pytest.raises((ValueError, OSError), match=says):
            client.pipeline_update("sdk-kept", text, directory=wrong)
    with pytest.raises(ValueError, match="give one of them"):
        client.pipeline_create(text, directory=tmp_path, package=sent)
    stored.delete()


def test_schedules(client, monkeypatch):
    monkeypatch.setattr(client_module.calls, "PAGE", 1)
    text = "name: sdk-scheduled\nentry_points:\n  a: {command: c, condition: '1 > 2'}\n"
    stored = client.pipeline_create(text)
    made = stored.schedule("sdk_often", "@every 1s", description="often", concurrency=2, policy="skip", catchup=False)
    assert (made.name, made.state, made.pipeline, made.version) == ("sdk_often", "running", stored.id, 1)
    assert (made.concurrency, made.policy, made.catchup, made.description) == (2, "skip", False, "often")
    with pytest.raises(paddlecloud.Conflict, match="sdk_often"):
        stored.schedule("sdk_often", "@daily")
    with pytest.raises(paddlecloud.Invalid, match="never due"):
        stored.schedule("sdk_never", "0 0 31 2 *")
    with pytest.raises(paddlecloud.Conflict, match="sdk_often"):
        stored.delete()
    assert client.schedule("sdk_often") == made == next(client.schedules(name="sdk_often", state="running"))
    wait_for(lambda: list(made.runs()), PATIENCE, "a run")
    assert list(made.runs())[-1].wait(PATIENCE).schedule == made.id
    assert len(made.next(3)) == 3 and made.refresh().state == "running"
    assert made.stop() is made and made.state == "terminated" and made.next() == []
    assert repr(made) == f"<Schedule sdk_often '@every 1s': terminated ({made.id})>"
    made.delete()
    with pytest.raises(paddlecloud.NotFound, match="sdk_often"):
        client.schedule("sdk_often")
    stored.delete()


def test_stored_pipelines(client, monkeypatch):
    """Versions, runs of them by number, what is found by name, and what is deleted."""
    monkeypatch.setattr(client_module.calls, "PAGE", 1)
    text = "name: sdk-stored\nentry_points:\n  a: {parameters: {code: 0}, command: 'exit {{code}}'}\n"
    made = client.pipeline_create(text, description="first")
    assert (made.name, made.description, made.newest.version) == ("sdk-stored", "first", 1)
    with pytest.raises(paddlecloud.Conflict, match="sdk-stored"):
        client.pipeline_create(text)
    with pytest.raises(paddlecloud.Conflict, match="the only one"):
        made.delete(version=1)
    assert made.update(text.replace("code: 0", "code: 3")) is made and made.newest.version == 2
    assert client.pipeline("sdk-stored") == made == client.pipeline(made.id)
    assert repr(made) == f"<Pipeline sdk-stored@2 ({made.id})>"
    assert [item.version for item in made.versions()] == [1, 2]
    assert client.pipeline_version("sdk-stored", 1).definition == text
    assert client.pipeline_version("sdk-stored", 1).size == len(text)
    assert list(client.pipelines(name="sdk-stored")) == [made] and made in client.pipelines()
    newest, older = made.run().wait(PATIENCE), client.run_create(pipeline="sdk-stored", version=1).wait(PATIENCE)
    assert (newest.state, newest.pipeline, newest.version) == ("failed", made.id, 2)
    assert (older.state, older.pipeline, older.version) == ("succeeded", made.id, 1)
    other = made.run({"a.code": 0}, name="sdk-other").wait(PATIENCE)
    assert other.state == "succeeded" and other.name == "sdk-other"
    assert list(made.runs()) == [other, older, newest] == list(client.runs(pipeline="sdk-stored"))
    assert list(client.runs(pipeline=made.id, state="failed")) == [newest]
    assert list(made.runs(state="running,stopping")) == []
    made.delete(version=1)
    assert [item.version for item in client.pipeline_versions(made.id)] == [2]
    made.delete()
    with pytest.raises(paddlecloud.NotFound, match="sdk-stored"):
        client.run_create(pipeline="sdk-stored")
    with pytest.raises(paddlecloud.NotFound, match="sdk-stored"):
        list(client.runs(pipeline="sdk-stored"))
    assert len(list(client.runs(pipeline=made.id))) == 3  # they stay, and so does the id


@pytest.mark.parametrize(
    "keywords, says",
    [
        ({}, "either a definition or"),
        ({"definition": LOOP, "pipeline": "x"}, "either a definition or"),
        ({"definition": LOOP, "version": 2}, "only a stored pipeline"),
        ({"definition": LOOP, "directory": ".", "package": "0" * 64}, "give one of them"),
    ],
)
def test_a_run_has_one_source(client, keywords, says):
    with pytest.raises(ValueError, match=says):
        client.run_create(**keywords)


def test_wrong_definitions_are_named(client, tmp_path):
    with pytest.raises(paddlecloud.Invalid, match="commando"):
        client.run_create("name: x\nentry_points:\n  a: {commando: c}\n")
    with pytest.raises(paddlecloud.Invalid, match="nowhere"):
        client.run_create(LOOP, {"nowhere.n": 1})
    with pytest.raises(FileNotFoundError):
        client.run_create(tmp_path / "not-there.yaml")
    with pytest.raises(ValueError, match=r"pathlib.Path\('p.yaml'\)"):
        client.run_create("p.yaml")
    with pytest.raises(paddlecloud.NotFound, match="no run"):
        list(client.run_nodes("0000000000000000"))
    with pytest.raises(ValueError, match="did not come from a client"):
        paddlecloud.Run("0000000000000000", "x", "ann", "running").wait()
    with pytest.raises(ValueError, match="did not come from a client"):
        paddlecloud.Pipeline("ppl-000001", "x", "ann").run()


def test_secrets(client):
    """Set, named, given to a job by a description, deleted; a value is not shown."""
    client.secret_set("sdk-text", "value of the sdk")
    client.secret_set("sdk-bytes", b"\x00\xff")
    assert {"sdk-text", "sdk-bytes"} <= set(client.secrets())
    job = paddlecloud.PaddleJob(secrets={"S": "sdk-text"}, secret_files={"b": "sdk-bytes"})
    spec = job.spec(["sh", "-c", 'echo "$S"; od -An -tx1 "$PADDLE_SECRETS_DIR/b"'])
    made = client.submit(spec)
    assert client.wait(made.id).state == "succeeded"
    lines = [line.text for line in client.logs(made.id)]
    assert lines[0] == "value of the sdk" and lines[1].split() == ["00", "ff"], lines
    assert "value of the sdk" not in str(client.job(made.id).raw)
    client.secret_delete("sdk-text")
    with pytest.raises(paddlecloud.errors.NotFound, match="no secret 'sdk-text'"):
        client.submit(spec)
    client.secret_delete("sdk-bytes")


def test_mounts(client, shared_server):
    """What a description names as mounts, the job sees."""
    job = paddlecloud.PaddleJob(mounts=[{"fs": "home", "sub": "py", "path": "/py"}])
    made = client.submit(job.spec(["sh", "-c", "echo from python >/py/x"]))
    done = client.wait(made.id)
    assert done.state == "succeeded", done.raw["reason"]
    assert done.raw["spec"]["mounts"] == [{"fs": "home", "sub": "py", "path": "/py"}]
    assert (shared_server.state / "storage/local/home/root/py/x").read_text() == "from python\n"
    wrong = paddlecloud.PaddleJob(mounts=[{"fs": "nowhere", "path": "/py"}])
    with pytest.raises(paddlecloud.errors.NotFound, match="no file system 'nowhere'"):
        client.submit(wrong.spec(["true"]))


def test_errors_have_types(client, shared_server, tmp_path):
    with pytest.raises(paddlecloud.NotFound) as error:
        client.job("no-such-job")
    assert error.value.status == 404 and error.value.code == "not_found" and "no-such-job" in error.value.message
    with pytest.raises(paddlecloud.Invalid, match="commando"):
        client.submit({"commando": "true"})
    client.submit({"command": ["sleep", "600"], "name": "taken", "grace": "1s"})
    with pytest.raises(paddlecloud.Conflict, match="taken"):
        client.submit({"command": ["true"], "name": "taken"})
    client.cancel("taken")
    with pytest.raises(paddlecloud.NotFound):
        client.download("no/such/file", str(tmp_path / "x"))
    with pytest.raises(paddlecloud.NotFound):
        list(client.logs("no-such-job"))
    with pytest.raises(paddlecloud.ServerNotReached, match="nobody.sock"):
        paddlecloud.Client(f"unix:{tmp_path}/nobody.sock", retries=0).version()
    with pytest.raises(ValueError, match="ftp://x"):
        paddlecloud.Client("ftp://x")


def test_a_token_is_needed_over_tcp(make_server):
    server = make_server("--listen", "127.0.0.1:0")
    token = server.post("/v1/tokens", {"user": "ann"}).json["token"]
    url = f"http://127.0.0.1:{server.port}"
    with pytest.raises(paddlecloud.Denied):
        next(paddlecloud.Client(url, token="wrong").jobs(), None)
    with paddlecloud.Client(url, token=token) as ann:
        job = ann.submit({"command": ["echo", "hello"]})
        assert job.user == "ann"
        assert [line.text for line in ann.logs(job.id, follow=True)] == ["hello"]


def test_login_gives_this_client_a_token(make_server):
    server = make_server("--listen", "127.0.0.1:0")
    server.paddle("user", "create", "ann", "--password-stdin", input="secret word 1\n", check=0)
    with paddlecloud.Client(f"http://127.0.0.1:{server.port}", token="") as client:
        with pytest.raises(paddlecloud.Denied):
            client.login("ann", "secret word 2")
        client.login("ann", "secret word 1")
        assert client.submit({"command": "true"}).user == "ann"


def test_logs_follow_across_a_kill_of_the_server(server, tmp_path):
    go = tmp_path / "go"
    program = f"for i in 1 2 3; do echo before $i; done; until [ -e {go} ]; do sleep 0.05; done; printf 'after\\rx\\u2028\\nend'"
    with paddlecloud.Client(server.url) as client:
        job = client.submit({"command": ["bash", "-c", program], "name": "follow"})
        lines = client.logs("follow", follow=True)
        seen = [next(lines).text for _ in range(3)]
        server.kill()
        go.touch()
        server.start()
        seen += [line.text for line in lines]
        assert seen == ["before 1", "before 2", "before 3", "x\u2028", "end"]  # "after" was drawn over
        assert client.wait(job.id, timeout=PATIENCE).state == "succeeded"
        assert [line.text for line in client.logs("follow", tail=1)] == ["end"]
        assert list(client.logs("follow", member="worker-0")) == [
            paddlecloud.LogLine("worker-0", 1, text, redrawn=text == "x\u2028") for text in seen
        ]


def test_lines_without_an_end_are_seen_when_asked_for(client, tmp_path):
    gates = [tmp_path / str(n) for n in range(2)]
    until = "until [ -e %s ]; do sleep 0.05; done; "
    program = "printf 'name? '; " + until % gates[0] + "echo you; printf '\\r10%%\\r20%%'; " + until % gates[1] + "echo"
    job = client.submit({"command": ["bash", "-c", program]})
    seen = []
    for line in client.logs(job.id, follow=True, partial=True):
        seen.append((line.text, line.redrawn, line.partial))
        if line.text == "name? ":
            gates[0].touch()
        if line.text == "20%":
            gates[1].touch()
    assert seen[0] == ("name? ", False, True) and ("20%", True, True) in seen
    assert [line for line in seen if not line[2]] == [("name? you", False, False), ("20%", True, False)]
    assert [line.text for line in client.logs(job.id)] == ["name? you", "20%"]


def test_one_attempt_and_the_times_of_its_lines(client):
    job = client.submit({"command": "echo $PWD; exit 1", "retries": 1, "backoff": "1ms"})
    client.wait(job.id, timeout=PATIENCE)
    (first,) = client.logs(job.id, attempt=1, timestamps=True)
    (second,) = client.logs(job.id, timestamps=True)
    assert (first.attempt, second.attempt) == (1, 2)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.time) and first.time <= second.time
    assert list(client.logs(job.id, since="1h", timestamps=True)) == [second]
    assert list(client.logs(job.id, since="0s")) == []


def test_a_long_line_stays_whole(client):
    job = client.submit({"command": "head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"})
    lines = [line.text for line in client.logs(job.id, follow=True)]
    assert lines == ["x" * 100_000, "end"]


def test_wait_outlives_a_restart(server):
    with paddlecloud.Client(server.url) as client:
        job = client.submit({"command": ["sleep", "1"]})
        found = []
        waiter = threading.Thread(target=lambda: found.append(client.wait(job.id, timeout=PATIENCE)))
        waiter.start()
        server.kill()
        server.start()
        waiter.join(60)
        assert found[0].state == "succeeded"


def is_whole(reply):
    head, end, body = reply.partition(b"\r\n\r\n")
    return end and len(body) >= int(re.search(rb"(?i)^content-length: *(\d+)", head, re.M)[1])


class Cutter(threading.Thread):
    """A Unix socket before the server's: its first POST /v1/jobs reaches the server, whose answer is read, then `meanwhile` is called, and
    the caller gets nothing."""

    def __init__(self, path, target, meanwhile):
        super().__init__(daemon=True)
        self.target, self.meanwhile, self.cuts = target, meanwhile, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()

    def run(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            with caller, socket.socket(socket.AF_UNIX) as server:
                self.serve(caller, server)

    def serve(self, caller, server):
        server.connect(self.target)
        while data := caller.recv(65536):
            while b"\r\n\r\n" in data and not data.endswith(b"}"):  # http.client sends head and body apart
                data += caller.recv(65536)
            server.sendall(data)
            reply = server.recv(65536)
            while not is_whole(reply) and (more := server.recv(65536)):
                reply += more
            if self.cuts == 0:
                assert reply.startswith(b"HTTP/1.1 201")
                self.cuts += 1
                self.meanwhile()
                return
            caller.sendall(reply)


def test_a_submit_whose_reply_is_lost_makes_one_job(server, tmp_path):
    def restart():
        server.kill()
        server.start()

    proxy = Cutter(tmp_path / "cut.sock", server.socket, restart)
    proxy.start()
    try:
        with paddlecloud.Client(f"unix:{tmp_path}/cut.sock") as client:
            job = client.submit({"command": ["true"]})
        assert proxy.cuts == 1
        assert [item["id"] for item in server.get("/v1/jobs").json["items"]] == [job.id]
    finally:
        proxy.listener.close()


def test_equal_keys_make_one_job_and_others_two(client):
    first = client.submit({"command": ["true"]}, idempotency_key="python-key")
    assert client.submit({"command": ["true"]}, idempotency_key="python-key").id == first.id
    assert client.submit({"command": ["true"]}).id != first.id


# -- files


class Counter:
    """Counts the bytes of chunks that travel through a client."""

    def __init__(self, client, monkeypatch):
        self.sent = self.fetched = 0
        self.request = client._transport.request
        self.damage = False
        monkeypatch.setattr(client._transport, "request", self)

    def __call__(self, method, path, body=None, headers=None, repeatable=None):
        data = self.request(method, path, body, headers, repeatable)
        if method == "PUT":
            self.sent += len(body)
        if headers and "Range" in headers:
            self.fetched += len(data)
            if self.damage:
                data = bytes([data[0] ^ 1]) + data[1:]
        return data


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big.bin"
    path.write_bytes(noise(3 * CHUNK + 12345, "big.bin"))
    return path


def test_files_go_up_and_come_back_in_chunks(client, big, tmp_path, monkeypatch):
    counter = Counter(client, monkeypatch)
    size = big.stat().st_size
    client.upload(str(big), "python/big.bin")
    assert counter.sent == size
    client.upload(str(big), "python/big.bin")
    assert counter.sent == size, "what is equal is sent again"
    tracemalloc.start()
    client.download("python/big.bin", str(tmp_path / "back"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "back").read_bytes() == big.read_bytes()
    assert peak < 3 * CHUNK, "the whole file was in memory"
    client.download("python/big.bin", str(tmp_path / "back"))
    assert counter.fetched == size, "what is equal is fetched again"


def test_an_upload_goes_on_where_it_broke_off(shared_server, client, big, monkeypatch):
    data = big.read_bytes()
    route = files.route(client.path_of("python/resumed"))
    for index in (0, 2):
        piece = data[index * CHUNK : (index + 1) * CHUNK]
        path = f"{route}?chunk={index}&hash={package.hash_bytes(piece)}"
        assert shared_server.request("PUT", path, piece).status == 204
    counter = Counter(client, monkeypatch)
    client.upload(str(big), "python/resumed")
    assert counter.sent == len(data) - 2 * CHUNK
    assert shared_server.get(route).body == data


def test_a_changed_file_sends_its_changed_chunk(shared_server, client, big, monkeypatch):
    client.upload(str(big), "python/changed")
    with open(big, "r+b") as file:
        file.seek(CHUNK + 7)
        file.write(b"changed")
    counter = Counter(client, monkeypatch)
    client.upload(str(big), "python/changed")
    assert counter.sent == CHUNK
    assert shared_server.get(files.route(client.path_of("python/changed"))).body == big.read_bytes()


def test_a_download_keeps_right_chunks_and_replaces_wrong_ones(client, big, tmp_path, monkeypatch):
    data = big.read_bytes()
    client.upload(str(big), "python/again")
    back = tmp_path / "back"
    (tmp_path / "back.part").write_bytes(data[:CHUNK] + b"wrong" * 10 + data[CHUNK + 50 : 2 * CHUNK])
    counter = Counter(client, monkeypatch)
    client.download("python/again", str(back))
    assert back.read_bytes() == data and not (tmp_path / "back.part").exists()
    assert counter.fetched == len(data) - CHUNK


def test_a_damaged_download_takes_no_place(client, big, tmp_path, monkeypatch):
    client.upload(str(big), "python/damaged")
    counter = Counter(client, monkeypatch)
    counter.damage = True
    with pytest.raises(ValueError, match="python/damaged"):
        client.download("python/damaged", str(tmp_path / "back"))
    assert not (tmp_path / "back").exists()


def test_a_lost_reply_to_the_finish_is_no_failure(client, big, monkeypatch):
    request = client._transport.request

    def twice(method, path, body=None, headers=None, repeatable=None):
        data = request(method, path, body, headers, repeatable)
        return request(method, path, body, headers, repeatable) if method == "POST" else data

    monkeypatch.setattr(client._transport, "request", twice)
    client.upload(str(big), "python/finished")
    assert client.files("python/finished")[0].size == big.stat().st_size


def test_directories_with_empty_files_and_strange_names(client, tmp_path):
    source = tmp_path / "source"
    (source / "a b/ü%?#").mkdir(parents=True)
    (source / "a b/empty").touch()
    (source / "a b/ü%?#/x&y=1").write_text("text")
    (source / "nothing").mkdir()
    client.upload(str(source), "python/dir")
    client.download("python/dir", str(tmp_path / "back"))
    assert subprocess.run(["diff", "-r", source, tmp_path / "back"], check=False).returncode == 0
    assert (tmp_path / "back/nothing").is_dir()
    assert [info.path.split("/")[-1] for info in client.files("python/dir", recursive=False) if info.dir] == [
        "a b",
        "nothing",
    ]
    assert "python/dir/a b/ü%?#/x&y=1" in [info.path.split("/", 5)[-1] for info in client.files("python/dir")]


# -- where the server is


@pytest.mark.parametrize(
    "text, server, token",
    [
        ("apiVersion: v1\npaddleServer: http://host:8999/\ntoken: abc\n", "http://host:8999", "abc"),
        ("dockerRegistry:\n  domain: x //default is docker.io\npaddleServer: http://h:1 //mine\n", "http://h:1", None),
        ('paddleServer: "http://h:1" # remark\n', "http://h:1", None),
        (
            "datacenters:\n- name: a\n  endpoint: http://a:1\n- name: b\n  username: u\n  endpoint: http://b:2/\n  token: t\n"
            "current-datacenter: b\n",
            "http://b:2",
            "t",
        ),
        (
            "datacenters:\n  - name: a\n    endpoint: http://a:1\ncurrent-datacenter: a\npaddleServer: http://p:1",
            "http://p:1",
            None,
        ),
        ("", None, None),
    ],
)
def test_configuration_files_of_both_generations(text, server, token):
    """doc/reference/paddle-cloud.md, "The first configuration file" and "The later configuration file"."""
    assert config.parse_config(text) == (server, token)


def test_a_datacenter_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="'c' is not one of datacenters.*a, b"):
        config.parse_config("datacenters:\n- name: a\n  endpoint: http://a\n- name: b\ncurrent-datacenter: c\n")


def test_an_embedded_server_is_started_when_none_is_named(tmp_path, monkeypatch):
    for name in ("PADDLE_SERVER", "PADDLE_CONFIG", "PADDLE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PADDLE_PROGRAM", str(BIN / "paddle"))
    try:
        with paddlecloud.Client() as client:
            job = client.submit({"command": ["echo", "embedded"]})
            assert [line.text for line in client.logs(job.id, follow=True)] == ["embedded"]
    finally:
        subprocess.run([BIN / "paddle", "down"], check=True, capture_output=True)
    wait_for(lambda: not (tmp_path / "home/paddled.pid").exists(), 30, "the embedded server's end")


def test_one_ignore_rule_after_the_other():
    rules = ignore.parse(b"", b"*.log\n!a.log\nx**y\n/top\nd/\n[!a]1\n")
    cases = {b"b.log": True, b"a.log": False, b"xzy": True, b"top": True, b"in/top": False, b"b1": True, b"a1": False}
    assert {path: ignore.is_ignored(rules, path, False) for path in cases} == cases
    assert ignore.is_ignored(rules, b"in/d", True) and not ignore.is_ignored(rules, b"in/d", False)


# -- retries


RATE = "429"  # one that passes: with Retry-After. The number alone is a quota.


@pytest.fixture
def moody():
    """An HTTP server that answers with the statuses it is given, then with a version; `asked` holds the methods."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.command)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b'{"version": "x", "message": "too busy", "code": "unavailable", "hint": "later"}'
            status = statuses.pop(0) if statuses else 200
            self.send_response(int(status))
            self.send_header("Content-Length", str(len(body)))
            if status == RATE:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *args):
            pass

    asked, statuses = [], []
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", statuses, asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_passes_is_tried_again_and_what_stays_is_told(moody):
    url, statuses, asked = moody
    statuses += [503, RATE]
    assert paddlecloud.Client(url).version() == "x" and len(asked) == 3
    statuses += [503, 502, 504]
    with pytest.raises(paddlecloud.Unavailable, match="too busy") as error:
        paddlecloud.Client(url, retries=2).version()
    assert error.value.status == 504 and error.value.hint == "later" and len(asked) == 6
    statuses += [429]
    with pytest.raises(paddlecloud.Unavailable):
        paddlecloud.Client(url).version()
    assert len(asked) == 7  # a quota is told at once
    statuses += [400]
    with pytest.raises(paddlecloud.Invalid):
        paddlecloud.Client(url).submit({})
    assert len(asked) == 8, "a wrong request was repeated"


def test_what_must_not_be_repeated_is_not(moody):
    url, statuses, asked = moody
    statuses += [503]
    with pytest.raises(paddlecloud.Unavailable):
        transport.Transport(url.rstrip("/")).json("POST", "/v1/tokens", {})
    assert asked == ["POST"]
