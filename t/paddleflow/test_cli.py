"""3 the command line: `paddle` under the name `paddleflow`."""

import base64
import itertools
import json
import os
import re
import socket
import subprocess

import pytest
from conftest import BIN, PATIENCE, wait_for

from paddleflow.client import PASSWORD, fresh, good, refused

FAILED = r"\[PaddleFlowSDKException\] code:(\S*) message:(.*) requestId:(\S+)"


def config(path, flow=None, user="root", password="paddleflow", port=None):
    path.write_text(
        f"[user]\nname = {user}\npassword = {password}\n[server]\n"
        f"paddleflow_server_host = 127.0.0.1\npaddleflow_server_port = {port or flow.port}\n",
        encoding="utf-8",
    )
    return path


class Cli:
    """The program under its older name, with a home of its own."""

    def __init__(self, flow, base):
        self.flow, self.home = flow, base
        self.program = base / "paddleflow"
        self.program.symlink_to(BIN / "paddle")
        self.config = config(base / "test.ini", flow)

    def run(self, *args, check=0, env=None, own_config=False):
        """Runs one command; its exit status must be `check` (None: any)."""
        clean = {key: value for key, value in os.environ.items() if not key.upper().startswith("PADDLE")}
        before = [] if own_config else ["--pf_config", self.config]
        done = subprocess.run(
            [self.program, *before, *map(str, args)],
            env={**clean, "HOME": str(self.home), "NO_PROXY": "*", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.home,
        )
        if check is not None:
            assert done.returncode == check, f"{args}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def out(self, *args, **about):
        return self.run(*args, **about).stdout

    def json(self, *args):
        """What `--output json` prints, without what may follow it."""
        value, _ = json.JSONDecoder().raw_decode(self.out("--output", "json", *args).lstrip())
        return value

    def fails(self, *args, code=None, **about):
        """An error of the server: exit status 1, and the code on stderr."""
        done = self.run(*args, check=1, **about)
        found = re.search(FAILED, done.stderr)
        assert found, f"stderr: {done.stderr!r}"
        assert code is None or found[1] == code, done.stderr
        assert "PaddleFlowSDKException" not in done.stdout
        return found


@pytest.fixture(scope="module")
def cli(flow, tmp_path_factory):
    return Cli(flow, tmp_path_factory.mktemp("cli"))


def is_grid(text):
    """The first table of what was printed, as tabulate's `grid` draws it; returns its rows of cells, the head first."""
    lines = list(itertools.dropwhile(lambda line: not line.startswith("+"), text.splitlines()))
    lines = list(itertools.takewhile(lambda line: line.startswith(("+", "|")), lines))
    assert len(lines) >= 3, text
    widths = {
        tuple(index for index, letter in enumerate(line) if letter == "+") for line in lines if line.startswith("+")
    }
    assert len(widths) == 1, text
    rules = [line for line in lines if line.startswith("+")]
    assert set(rules[0]) <= set("+-") and set(rules[-1]) <= set("+-"), text
    assert set(rules[1]) <= set("+="), text  # below the head
    assert all(set(rule) <= set("+-") for rule in rules[2:]), text
    assert len({len(line) for line in lines}) == 1, text
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def cells(text):
    return {cell for row in is_grid(text) for cell in row}


# -- the program


def test_help_needs_no_server(cli):
    said = cli.out("--help", own_config=True)
    for word in (
        "user",
        "queue",
        "flavour",
        "cluster",
        "fs",
        "job",
        "run",
        "pipeline",
        "schedule",
        "log",
        "statistics",
        "version",
        "--pf_config",
        "--output",
    ):
        assert word in said


@pytest.mark.parametrize(
    "group", ["user", "queue", "flavour", "cluster", "fs", "job", "run", "pipeline", "schedule", "log", "statistics"]
)
def test_help_of_a_group(cli, group):
    assert cli.out(group, "--help")


@pytest.mark.parametrize(
    "args",
    [
        ("nothing",),
        ("user", "nothing"),
        ("user", "add"),
        ("user", "add", "one"),
        ("user", "add", "one", "two1", "three"),
        ("user", "list", "-m", "many"),
        ("user", "list", "--nothing"),
        ("--output", "xml", "user", "list"),
        ("--nothing",),
        ("queue", "show"),
        ("queue", "create", "name"),
        ("flavour", "create", "name"),
        ("flavour", "create", "name", "-c", "1"),
        ("flavour", "create", "name", "-m", "1Gi"),
        ("cluster", "create", "name"),
        ("job", "show"),
        ("job", "create", "single"),
        ("log", "job", "-j", "x"),
        ("log", "job", "-f", "standalone"),
        ("log", "kube", "-n", "x"),
        ("statistics", "job"),
        ("statistics", "job", "x", "-s", "soon"),
    ],
    ids=lambda args: "3 " + " ".join(args),
)
def test_wrong_arguments(cli, args):
    done = cli.run(*args, check=2)
    assert done.stderr and not done.stdout


def test_server_not_reached(cli, tmp_path):
    with socket.socket() as sock:  # bound, and nobody listens
        sock.bind(("127.0.0.1", 0))
        path = config(tmp_path / "away.ini", port=sock.getsockname()[1])
        done = cli.run("--pf_config", path, "user", "list", own_config=True, check=1)
        port = sock.getsockname()[1]
        assert f"`paddled --listen 127.0.0.1:{port} --published-password 127.0.0.1` starts one" in done.stderr


def test_wrong_password(cli, tmp_path):
    path = config(tmp_path / "wrong.ini", cli.flow, password="nonsense1")
    cli.fails("--pf_config", path, "queue", "list", own_config=True, code="AuthFailed")


def test_unknown_user(cli, tmp_path):
    path = config(tmp_path / "unknown.ini", cli.flow, user="nobody1")
    cli.fails("--pf_config", path, "queue", "list", own_config=True, code="UserNotExist")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[user]\nname = root\n[server]\npaddleflow_server_host = 127.0.0.1\n",
        "[user]\npassword = paddleflow\n[server]\npaddleflow_server_host = 127.0.0.1\n",
        "[user]\nname = root\npassword = paddleflow\n",
        "[user]\nname = root\npassword = paddleflow\n[server]\npaddleflow_server_port = 8999\n",
        "[user\nname = root\n",
    ],
    ids=["empty", "no password", "no name", "no server", "no host", "broken"],
)
def test_config_lacks_something(cli, tmp_path, text):
    path = tmp_path / "bad.ini"
    path.write_text(text)
    assert cli.run("--pf_config", path, "user", "list", own_config=True, check=1).stderr


def test_config_is_made(cli, tmp_path):
    """$HOME/.paddleflow/paddleflow.ini, with the defaults; nothing needs to listen."""
    done = cli.run("user", "list", own_config=True, check=None, env={"HOME": str(tmp_path)})
    assert f"'{tmp_path}/.paddleflow/paddleflow.ini' was made: it names the server 127.0.0.1:8999" in done.stderr
    text = (tmp_path / ".paddleflow/paddleflow.ini").read_text(encoding="utf-8")
    assert re.search(r"^\[user\]$.*^name *= *root$.*^password *= *paddleflow$", text, re.M | re.S), text
    assert re.search(
        r"^\[server\]$.*^paddleflow_server_host *= *127\.0\.0\.1$.*^paddleflow_server_port *= *8999$", text, re.M | re.S
    ), text


def test_config_of_home(cli, tmp_path):
    (tmp_path / ".paddleflow").mkdir()
    config(tmp_path / ".paddleflow/paddleflow.ini", cli.flow)
    assert "default-queue" in cli.out("queue", "list", own_config=True, env={"HOME": str(tmp_path)})


def test_config_with_comments(cli, tmp_path):
    path = tmp_path / "words.ini"
    path.write_text(
        f"# größe\n; more\n[user]\nname: root\npassword : paddleflow\n\n[server]\nPaddleflow_Server_Host=127.0.0.1\n"
        f"paddleflow_server_port={cli.flow.port}\n[other]\nx = y\n",
        encoding="utf-8",
    )
    assert "default-queue" in cli.out("--pf_config", path, "queue", "list", own_config=True)


def test_errors(cli):
    found = cli.fails("queue", "show", "none", code="QueueNameNotFound")
    assert re.fullmatch("[0-9a-f-]{36}", found[3])


def test_environment(cli):
    env = {"PADDLEFLOW_PF_CONFIG": str(cli.config), "PADDLEFLOW_OUTPUT": "json"}
    value, _ = json.JSONDecoder().raw_decode(cli.out("queue", "list", own_config=True, env=env).lstrip())
    assert isinstance(value, list)
    is_grid(cli.out("--output", "table", "queue", "list", own_config=True, env=env))  # an option goes before it


def test_environment_of_options(cli):
    """8.32"""
    cli.flow.make_queue()
    said = cli.out("queue", "list", env={"PADDLEFLOW_QUEUE_LIST_MAXSIZE": "1"})
    assert len(is_grid(said)) == 2
    assert re.search(r"^marker: (?!None)\S+$", said, re.M), said
    assert len(is_grid(cli.out("queue", "list", "-m", "2", env={"PADDLEFLOW_QUEUE_LIST_MAXSIZE": "1"}))) == 3


@pytest.mark.parametrize("group, verb", [("queue", "list"), ("flavour", "list"), ("cluster", "list"), ("job", "list")])
def test_lists_end_in_their_marker(cli, group, verb):
    said = cli.out(group, verb)
    assert said.rstrip().splitlines()[-1] == "marker: None", said


@pytest.mark.parametrize(
    "args",
    [
        ("user", "list"),
        ("queue", "list"),
        ("queue", "show", "default-queue"),
        ("queue", "grantlist"),
        ("flavour", "list"),
        ("flavour", "show", "flavour1"),
        ("cluster", "list"),
        ("cluster", "show", "default-cluster"),
    ],
    ids=lambda args: "3 " + " ".join(args),
)
def test_forms_of_output(cli, args):
    user, queue = cli.flow.make_user(), cli.flow.make_queue()
    cli.flow.grant(user, queue)
    table = is_grid(cli.out(*args))
    value = cli.json(*args)
    assert isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
    assert list(value[0]) == table[0], "JSON is keyed by the heads of the columns"
    text = cli.out("--output", "text", *args)
    assert "+-" not in text and text.strip()


# -- user


def test_user(cli):
    name = fresh("cliuser")
    cli.run("user", "add", name, PASSWORD)
    assert name in cells(cli.out("user", "list"))
    cli.fails("user", "add", name, PASSWORD, code="UserNameDuplicated")
    cli.fails("user", "add", "x", PASSWORD, code="InvalidNamePattern")
    cli.fails("user", "add", fresh("weak"), "weak", code="UserPasswordWeak")
    cli.run("user", "set", name, "secret2")
    good(cli.flow.login(name, "secret2"))
    cli.fails("user", "set", "nobody1", "secret2", code="UserNotExist")
    cli.run("user", "delete", name)
    assert name not in cells(cli.out("user", "list"))
    cli.fails("user", "delete", name, code="UserNotExist")


def test_user_list_pages(cli):
    cli.flow.make_user()
    cli.flow.make_user()
    assert len(is_grid(cli.out("user", "list", "-m", "1"))) == 2
    assert len(is_grid(cli.out("user", "list", "--maxsize", "2"))) == 3


# -- queue


def test_queue(cli):
    name = fresh("cli-")
    cli.run(
        "queue",
        "create",
        name,
        "default",
        "2",
        "2Gi",
        "--quota",
        "volcanoCapabilityQuota",
        "--maxscalar",
        "nvidia.com/gpu=1,rdma/hca=2",
    )
    queue = good(cli.flow.get("/queue/" + name)).json
    assert queue["maxResources"] == {
        "cpu": "2",
        "memory": "2Gi",
        "scalarResources": {"nvidia.com/gpu": "1", "rdma/hca": "2"},
    }
    assert (queue["quotaType"], queue["clusterName"]) == ("volcanoCapabilityQuota", "default-cluster")
    assert name in cells(cli.out("queue", "list"))
    shown = cli.out("queue", "show", name)
    for word in (name, "open", "default-cluster", "volcanoCapabilityQuota", queue["createTime"]):
        assert word in shown, shown
    cli.run("queue", "update", name, "--maxcpu", "3", "--location", "rack=a,row=b", "--policy", "priority")
    queue = good(cli.flow.get("/queue/" + name)).json
    assert (queue["maxResources"]["cpu"], queue["location"], queue["schedulingPolicy"]) == (
        "3",
        {"rack": "a", "row": "b"},
        ["priority"],
    )
    cli.run("queue", "update", name)  # of nothing
    cli.run("queue", "delete", name)
    cli.fails("queue", "show", name, code="QueueNameNotFound")
    cli.fails("queue", "delete", name, code="QueueNameNotFound")
    cli.fails("queue", "update", name, code="RecordNotFound")


def test_queue_with_all(cli):
    cluster = cli.flow.make_cluster()["clusterName"]
    name = fresh("cli-")
    cli.run(
        "queue",
        "create",
        name,
        "default",
        "4",
        "4Gi",
        "--mincpu",
        "1",
        "--minmem",
        "1Gi",
        "--minscalar",
        "nvidia.com/gpu=1",
        "--maxscalar",
        "nvidia.com/gpu=2",
        "--policy",
        "priority,other",
        "--location",
        "rack=a",
        "--quota",
        "elasticQuota",
        "--clustername",
        cluster,
    )
    queue = good(cli.flow.get("/queue/" + name)).json
    assert queue["minResources"] == {"cpu": "1", "memory": "1Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    assert (queue["schedulingPolicy"], queue["clusterName"], queue["location"]["rack"]) == (
        ["priority", "other"],
        cluster,
        "a",
    )


def test_a_min_needs_both(cli):
    """minResources is sent only with cpu and memory."""
    name = fresh("cli-")
    cli.run("queue", "create", name, "default", "4", "4Gi", "--mincpu", "1")
    assert good(cli.flow.get("/queue/" + name)).json["minResources"] == {"cpu": "0", "memory": "0"}


def test_queue_pages(cli):
    for _ in range(2):
        cli.flow.make_queue()
    said = cli.out("queue", "list", "-m", "1")
    marker = re.search(r"^marker: (\S+)$", said, re.M)[1]
    second = cli.out("queue", "list", "-m", "1", "--marker", marker)
    assert is_grid(said)[1] != is_grid(second)[1]
    assert is_grid(cli.out("queue", "list", "-m", "1", "-mk", marker)) == is_grid(second)
    cli.fails("queue", "list", "-mk", "zz", code="InvalidMarker")
    cli.fails("queue", "list", "-m", "1001", code="InvalidURI")


def test_grants(cli):
    user, queue = cli.flow.make_user(), cli.flow.make_queue()
    cli.run("queue", "grant", user, queue)
    good(cli.flow.get("/queue/" + queue, who=user))
    assert {user, queue} <= cells(cli.out("queue", "grantlist"))
    assert (
        is_grid(cli.out("queue", "grantlist", "-u", user))[1:]
        and len(is_grid(cli.out("queue", "grantlist", "--username", user))) == 2
    )
    cli.fails("queue", "grant", user, queue, code="GrantAlreadyExist")
    cli.run("queue", "ungrant", user, queue)
    refused(cli.flow.get("/queue/" + queue, who=user), "ActionNotAllowed")
    cli.fails("queue", "ungrant", user, queue, code="GrantNotFound")
    cli.fails("queue", "grant", "root", queue, code="GrantRootActionNotSupport")


# -- file systems


def test_fs(cli):
    name, user = fresh("clifs"), cli.flow.make_user()
    cli.run("fs", "create", name, "mock://srv/sets", "-o", "pvc=a,b", "--option", "namespace=n")
    made = good(cli.flow.get("/fs/" + name)).json
    assert (made["type"], made["subPath"]) == ("mock", "/srv/sets")
    assert made["properties"] == {"pvc": "a,b", "namespace": "n"}
    assert {name, "root", "mock", "/srv/sets"} <= cells(cli.out("fs", "show", name))
    cli.run("fs", "create", name, "local://srv/own", "-u", user)
    assert {name, user, "local", "/srv/own"} <= cells(cli.out("fs", "list", "-u", user))
    assert {name, user, "root"} <= cells(cli.out("fs", "list"))
    cli.fails("fs", "create", name, "local://srv/x", code="DuplicatedName")
    cli.fails("fs", "create", fresh("bad"), "local://root/x", code="InvalidFileSystemParamsURL")
    cli.fails("fs", "create", fresh("bad"), "cfs://host/x", code="ConnectivityFailed")
    cli.run("fs", "delete", name, "-u", user)
    cli.run("fs", "delete", name)
    cli.fails("fs", "show", name, code="RecordNotFound")


# -- flavour


def test_flavour(cli):
    name = fresh("cliflavour")
    cli.run("flavour", "create", name, "-c", "2", "-m", "3Gi", "-s", "nvidia.com/gpu=1,rdma/hca=2")
    flavour = good(cli.flow.get("/flavour/" + name)).json
    assert (flavour["cpu"], flavour["mem"], flavour["scalarResources"]) == (
        "2",
        "3Gi",
        {"nvidia.com/gpu": "1", "rdma/hca": "2"},
    )
    assert {name, "2", "3Gi"} <= cells(cli.out("flavour", "show", name))
    assert {"flavour1", "flavour2", name} <= cells(cli.out("flavour", "list"))  # and exits 0 (12, 3)
    cli.run("flavour", "update", name, "--cpu", "4", "--memory", "5Gi", "--scalar", "nvidia.com/gpu=3")
    flavour = good(cli.flow.get("/flavour/" + name)).json
    assert (flavour["cpu"], flavour["mem"], flavour["scalarResources"]) == (
        "4",
        "5Gi",
        {"nvidia.com/gpu": "3", "rdma/hca": "2"},
    )
    cli.fails("flavour", "create", name, "-c", "1", "-m", "1Gi", code="DuplicatedName")
    cli.fails("flavour", "create", fresh("bad"), "-c", "x", "-m", "1Gi", code="FlavourInvalidField")
    cli.run("flavour", "delete", name)
    cli.fails("flavour", "show", name, code="FlavourNotFound")
    cli.fails("flavour", "delete", name, code="FlavourNotFound")


def test_flavour_pages(cli):
    said = cli.out("flavour", "list", "-m", "1")
    marker = re.search(r"^marker: (\S+)$", said, re.M)[1]
    assert is_grid(cli.out("flavour", "list", "--maxkeys", "1", "--marker", marker))[1][0] == "flavour2"


# -- cluster


def test_cluster(cli, tmp_path):
    name = fresh("clicluster")
    words = tmp_path / "credential"
    words.write_text("größe: words\n", encoding="utf-8")
    said = cli.out(
        "cluster",
        "create",
        name,
        "10.0.0.1",
        "Local",
        "-c",
        words,
        "-d",
        "mine",
        "--source",
        "Cloud",
        "--setting",
        "s",
        "-ns",
        "one,two",
    )
    cluster = good(cli.flow.get("/cluster/" + name)).json
    assert cluster["id"] in said
    assert (cluster["description"], cluster["source"], cluster["setting"], cluster["namespaceList"]) == (
        "mine",
        "Cloud",
        "s",
        ["one", "two"],
    )
    assert cluster["credential"] == "Z3LDtsOfZTogd29yZHMK"  # base64 is the client's work
    shown = cli.out("cluster", "show", name)
    for word in (name, "10.0.0.1", "Local", "Cloud", "words"):
        assert word in shown, shown
    assert cluster["id"] in cli.out(
        "cluster", "update", name, "-e", "10.0.0.2", "-d", "changed", "--status", "offline", "-ns", "one,three"
    )
    cluster = good(cli.flow.get("/cluster/" + name)).json
    assert (cluster["endpoint"], cluster["description"], cluster["status"], cluster["namespaceList"]) == (
        "10.0.0.2",
        "changed",
        "offline",
        ["one", "three"],
    )
    cli.fails("cluster", "create", name, "10.0.0.1", "Local", code="DuplicatedName")
    cli.run("cluster", "delete", name)
    cli.fails("cluster", "show", name, code="ClusterNotFound")
    cli.fails("cluster", "delete", name, code="ClusterNotFound")


def test_cluster_list(cli):
    on, off = cli.flow.make_cluster()["clusterName"], cli.flow.make_cluster(status="offline")["clusterName"]
    assert {"default-cluster", on, off} <= cells(cli.out("cluster", "list"))
    names = cells(cli.out("cluster", "list", "-cn", f"{on},{off}", "-cs", "offline"))
    assert off in names and on not in names and "default-cluster" not in names
    names = cells(cli.out("cluster", "list", "--clusternames", on))
    assert on in names and off not in names


def test_cluster_resources(cli):
    for args in (
        ("cluster", "resource"),
        ("cluster", "resource", "-cn", "default-cluster"),
        ("cluster", "statistic"),
        ("cluster", "statistic", "--pageno", "1", "--pagesize", "10", "-cn", "default-cluster", "-q", "default-queue"),
    ):
        assert "default-cluster" in cli.out(*args)


# -- job


@pytest.fixture
def job_file(tmp_path):
    def write(**about):
        path = tmp_path / f"{fresh('job')}.json"
        body = {
            "image": "any",
            "command": "true",
            "flavour": {"name": "flavour1"},
            "schedulingPolicy": {"queue": "default-queue"},
            **about,
        }
        path.write_text(json.dumps({key: value for key, value in body.items() if value is not None}))
        return path

    return write


def created(said):
    return re.search(r"[a-z0-9-]+", said[said.rindex("job-") :])[0]


def test_job(cli, job_file):
    flow = cli.flow
    body = {
        "name": "cli job",
        "labels": {"a": "1"},
        "annotations": {"b": "2"},
        "env": {"X": "y"},
        "args": ["z"],
        "command": "sleep 600",
    }
    job = created(cli.out("job", "create", "single", job_file(**body)))
    shown = flow.wait(job, "running")
    assert (shown["name"], shown["labels"], shown["annotations"], shown["args"], shown["env"]["X"]) == (
        "cli job",
        {"a": "1"},
        {"b": "2"},
        ["z"],
        "y",
    )
    said = cli.out("job", "show", job)
    assert job in said and "running" in said
    cli.run("job", "update", job, "-l", "c=3,d=4", "-a", "e=5")
    shown = flow.job(job)
    assert (shown["labels"], shown["annotations"]) == ({"a": "1", "c": "3", "d": "4"}, {"b": "2", "e": "5"})
    cli.fails("job", "delete", job, code="ActionNotAllowed")
    cli.run("job", "stop", job)
    flow.wait(job, "terminated")
    cli.fails("job", "stop", job, code="ActionNotAllowed")
    cli.run("job", "delete", job)
    cli.fails("job", "show", job, code="JobNotFound")


def test_job_of_members(cli, job_file):
    member = {
        "role": "worker",
        "replicas": 2,
        "image": "any",
        "command": "true",
        "flavour": {"cpu": "500m", "mem": "1Mi"},
    }
    job = created(
        cli.out(
            "job",
            "create",
            "distributed",
            job_file(framework="paddle", members=[member], image=None, command=None, flavour=None),
        )
    )
    assert cli.flow.wait(job, "succeeded")["framework"] == "paddle"


def test_job_is_looked_at_first(cli, job_file, tmp_path):
    for about in ({"schedulingPolicy": {}}, {"schedulingPolicy": {"queue": ""}}, {"schedulingPolicy": None}):
        assert cli.run("job", "create", "single", job_file(**about), check=1).stderr
    for member in ({"replicas": 1}, {"role": "worker"}):
        assert cli.run("job", "create", "distributed", job_file(framework="paddle", members=[member]), check=1).stderr
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert cli.run("job", "create", "single", broken, check=1).stderr
    assert cli.run("job", "create", "single", tmp_path / "none.json", check=None).returncode in (1, 2)
    assert cli.run("job", "create", "array", job_file(), check=None).returncode in (1, 2)
    cli.fails("job", "create", "single", job_file(image=None), code="JobCreateFailed")


def test_job_list(cli, job_file):
    flow = cli.flow
    queue = flow.make_queue()
    one = flow.submit("true", schedulingPolicy={"queue": queue}, labels={"a": "1", "b": "2"})
    two = flow.submit("false", schedulingPolicy={"queue": queue}, labels={"a": "1"})
    flow.wait(one)
    flow.wait(two)

    def listed(*args):
        said = cli.out("job", "list", "-q", queue, *args)
        return [job for job in (one, two) if job in said]

    assert listed() == [one, two]
    assert listed("-s", "succeeded") == [one]
    assert listed("--status", "failed") == [two]
    assert listed("-l", "a=1,b=2") == [one]
    assert listed("--labels", "a=1") == [one, two]
    assert listed("-m", "1") == [two]  # newest first
    assert listed("-t", "0") == [one, two]
    assert listed("-st", "2099-01-01 00:00:00") == []
    said = cli.out("job", "list", "-q", queue, "-m", "1")
    marker = re.search(r"^marker: (\S+)$", said, re.M)[1]
    assert listed("-m", "1", "-mk", marker) == [one]
    cli.fails("job", "list", "-q", "none", code="QueueNameNotFound")


def test_job_fields(cli):
    job = cli.flow.submit("true", name="of fields")
    rows = cli.json("job", "list", "-fl", "id,name", "-m", "100")
    assert any(job in str(row) and "of fields" in str(row) for row in rows)
    assert all(len(row) == 2 for row in rows)


# -- log, statistics, version


def test_log(cli):
    job = cli.flow.submit("for n in 1 2 3; do echo line $n; done")
    cli.flow.wait(job, "succeeded")
    said = cli.out("log", "job", "-j", job, "-f", "standalone")
    assert all(f"line {n}" in said for n in (1, 2, 3))
    said = cli.out("log", "job", "-j", job, "-f", "standalone", "-r", "true", "-l", "1")
    assert "line 3" in said and "line 2" not in said
    assert "line 1" in cli.out("log", "showlimit", "-j", job, "-f", "standalone", "-s", "100M")
    cli.fails("log", "job", "-j", "none", "-f", "standalone", code="InvalidURI")


def test_statistics(cli):
    job = cli.flow.submit("true")
    cli.flow.wait(job, "succeeded")
    said = cli.out("statistics", "job", job)
    assert "cpu_usage_rate" in said and "%" in said
    cli.run("statistics", "job", job, "-d", "-st", "60")
    cli.fails("statistics", "job", "none", code="JobNotFound")
    said = cli.out(
        "statistics", "card-time", "-q", "default-queue", "-s", "2024-01-01 00:00:00", "-e", "2099-01-01 00:00:00"
    )
    assert "default-queue" in said


def test_version(cli):
    value, _ = json.JSONDecoder().raw_decode(cli.out("version")[cli.out("version").index("{") :])
    assert "gitVersion" in json.dumps(value)


def test_commands_do_not_hang_on_a_closed_pipe(cli):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.Popen(
        [cli.program, "--pf_config", cli.config, "queue", "list"], stdout=writer, stderr=subprocess.DEVNULL
    )
    os.close(writer)
    wait_for(lambda: done.poll() is not None, 30, "its end")


# -- runs and pipelines

PIPELINE = 'name: NAME\nentry_points:\n  a: {command: "exit {{code}}", parameters: {code: 0}}\n'


def said_id(said):
    return re.fullmatch(r"run create success, run id\[(run-\d{6,})\]\n", said)[1]


def test_run(cli, flow, tmp_path):
    file = tmp_path / "p.yaml"
    name = fresh("typed")
    file.write_text(PIPELINE.replace("NAME", name))
    said = cli.out("run", "create", "-yr", file, "-n", name, "-p", "code=3", "-p", "a.code=0", "-d", "by hand")
    run = said_id(said)
    wait_for(lambda: "succeeded" in cells(cli.out("run", "list", "-r", run)), PATIENCE, "the run's end")
    assert {run, name, "by hand"} <= cells(cli.out("run", "list", "-n", name, "-s", "final"))
    assert run not in cells(cli.out("run", "list", "-n", name, "-s", "active"))
    shown = cli.json("run", "show", run)[0]
    assert shown["parameters"] == {"code": "3", "a.code": "0"}
    assert shown["runtime"]["a"][0]["status"] == "succeeded"
    assert f"run: {run}" in cli.out("log", "run", run)
    cli.fails("run", "stop", run, code="ActionNotAllowed")
    cli.fails("run", "retry", run, code="ActionNotAllowed")
    failed = said_id(cli.out("run", "create", "-yr", file, "-p", "code=3"))
    wait_for(lambda: "failed" in cells(cli.out("run", "list", "-r", failed)), PATIENCE, "the run's end")
    again = cli.out("run", "retry", failed)
    assert re.fullmatch(rf"run\[{failed}\] retry success, new run id\[run-\d{{6,}}\]\n", again)
    assert cli.out("run", "delete", run) == f"run[{run}] delete success\n"
    cli.fails("run", "show", run, code="RunNotFound")


WRITES = """name: NAME
entry_points:
  a: {command: "echo > {{file}}", artifacts: {output: [file]}}
"""


def test_definitions_and_artifacts_on_a_file_system(cli, flow, tmp_path):
    fs, name = fresh("fs"), fresh("on")
    good(flow.post("/fs", {"name": fs, "url": f"local:/{tmp_path}"}), 201)
    (tmp_path / "run.yaml").write_text(WRITES.replace("NAME", name))
    run = said_id(cli.out("run", "create", "-f", fs, "-yp", "run.yaml"))
    wait_for(lambda: "succeeded" in cells(cli.out("run", "list", "-r", run)), PATIENCE, "the run's end")
    (row,) = cli.json("run", "listartifact", "-r", run, "-f", fs, "-t", "output")
    assert (row["run id"], row["fs name"], row["step"], row["artifact name"]) == (run, fs, "a", "file")
    assert (tmp_path / row["artifact path"]).exists()
    assert cli.json("run", "listartifact", "-r", run, "-p", "none") == []
    assert f"pipeline[{name}] create success" in cli.out("pipeline", "create", fs, "-yp", "./run.yaml")
    cli.fails("run", "create", "-f", fs, "-yp", "none", code="ReadYamlFileFailed")


def test_cache(cli, flow):
    name = fresh("cached")
    yaml = base64.b64encode(PIPELINE.replace("NAME", f"{name}\ncache: {{enable: true}}").encode()).decode()
    run = good(flow.post("/run", {"runYamlRaw": yaml}), 201).json["runID"]
    wait_for(lambda: good(flow.get(f"/run/{run}")).json["status"] in ("succeeded", "failed"), PATIENCE, "the run's end")
    row = cli.json("run", "listcache", "-r", run, "-m", "5")[0]
    assert row["run id"] == run and row["expired time"] == "-1"
    assert cli.json("run", "listcache", "-r", run, "-f", "none") == []
    one = row["cache id"]
    assert {one, "conservative"} <= cells(cli.out("run", "showcache", one))
    assert cli.out("run", "deletecache", one) == f"run cache[{one}] delete success\n"
    cli.fails("run", "showcache", one, code="RunCacheNotFound")
    assert cli.out("run", "delete", run, "-not-cc") == f"run[{run}] delete success\n"


def test_pipeline(cli, flow):
    name = fresh("kept")
    yaml = base64.b64encode(PIPELINE.replace("NAME", name).encode()).decode()
    made = good(flow.post("/pipeline", {"yamlRaw": yaml, "desc": "of Monday"}), 201).json["pipelineID"]
    good(flow.post(f"/pipeline/{made}", {"yamlRaw": yaml, "desc": "of Monday"}), 201)
    assert {made, name, "of Monday"} <= cells(cli.out("pipeline", "list", "-n", name))
    assert [row["pipeline version id"] for row in cli.json("pipeline", "show", made)] == ["1", "2"]
    assert cli.json("pipeline", "showversion", made, "2")[0]["pipeline yaml"].startswith(f"name: {name}")
    run = cli.out("run", "create", "-pplid", made, "-pplver", "1")
    assert "run create success" in run
    assert cli.out("pipeline", "deleteversion", made, "1") == f"pipeline[{made}] version[1] delete success\n"
    cli.fails("pipeline", "deleteversion", made, "2", code="ActionNotAllowed")
    assert cli.out("pipeline", "delete", made) == f"pipeline[{made}] delete success\n"
    cli.fails("pipeline", "show", made, code="PipelineNotFound")


def test_schedule(cli, flow):
    name = fresh("scheduled").replace("-", "_")
    text = f"name: {name}\nentry_points:\n  a: {{command: c, condition: '1 > 2'}}\n"
    yaml = base64.b64encode(text.encode()).decode()
    pipeline = good(flow.post("/pipeline", {"yamlRaw": yaml}), 201).json["pipelineID"]
    options = ("-d", "of Monday", "-c", "2", "-cp", "skip", "-ei", "60", "--catchup")
    said = cli.out("schedule", "create", name, pipeline, "1", "@every 1s", *options)
    made = re.search(r"^schedule\[(\w+)\] create success, schedule id\[(.+)\]\n$", said)
    assert made and made[1] == name
    assert {made[2], name, "of Monday", "@every 1s"} <= cells(cli.out("schedule", "list", "-n", name, "-s", "active"))
    row = cli.json("schedule", "show", made[2])[0]
    assert row["options"]["concurrency"] == 2
    wait_for(lambda: "succeeded" in cli.out("schedule", "show", made[2]), PATIENCE, "a run")
    assert cli.out("schedule", "stop", made[2]) == f"schedule[{made[2]}] stop success\n"
    cli.fails("schedule", "stop", made[2], code="ActionNotAllowed")
    assert made[2] in cli.out("schedule", "list", "-s", "final", "-p", pipeline)
    assert cli.out("schedule", "delete", made[2]) == f"schedule[{made[2]}] delete success\n"
    cli.fails("schedule", "show", made[2], code="ScheduleNotFound")
