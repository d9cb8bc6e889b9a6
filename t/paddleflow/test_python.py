"""The module `paddleflow` of python/paddleflow-compat: what its client returns and raises, by a real server."""

import contextlib
import hashlib
import http.server
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest
from conftest import PATIENCE, ROOT, wait_for
from paddlecloud.pipeline import ContainerStep, DSLError

from paddleflow.client import LOCAL_TIME, PASSWORD, RFC3339, fresh, matches
from paddleflow.older import PLACE, load


def load_part(name):
    return importlib.import_module(f"older_paddleflow.{name}")


older = load()
Refusal = load_part("common.exception").PaddleFlowSDKException


# doc/reference/paddleflow-api.md, "The Python module".
SIGNATURES = """
login(user_name, password)
pre_check()
get_version()
add_user(user_name, password)
del_user(user_name)
update_password(name, password)
list_user(maxsize=100)
add_queue(name, namespace, clusterName, maxResources, minResources=None, schedulingPolicy=None, location=None, quotaType=None)
update_queue(queuename, maxResources, minResources=None, schedulingPolicy=None, location=None)
grant_queue(username, queuename)
ungrant_queue(username, queuename)
del_queue(queuename)
show_queue_grant(username=None, maxsize=100)
list_queue(maxsize=100, marker=None)
show_queue(queuename)
list_flavour(maxsize=100, marker=None, clustername='', key='')
show_flavour(name)
add_flavour(name, cpu, memory, scalar_resources=None, cluster_name=None)
del_flavour(name)
update_flavour(name, cpu=None, memory=None, scalar_resources=None, cluster_name=None)
add_fs(fsname, url, username=None, properties=None)
delete_fs(fsname, username=None)
show_fs(fsname, username=None)
list_fs(username=None, maxsize=100)
mount(fsname, path, mountOptions, username=None)
create_cache(fsname, options, username=None)
delete_fs_cache(fsname, username=None)
update_fs_cache(fsname, params, username=None)
get_fs_cache(fsname, username=None)
add_link(fsname, fspath, url, username=None, properties=None)
delete_link(fsname, fspath, username=None)
list_link(fsname, username=None, maxsize=100)
show_link(fsname, fspath, username=None)
create_run(fs_name=None, username=None, run_name=None, desc=None, run_yaml_path=None, run_yaml_raw=None, pipeline_id=None,\
 pipeline_version_id=None, param=None, disabled=None, docker_env=None, failure_options=None)
list_run(fs_name=None, username=None, run_id=None, run_name=None, status=None, maxsize=100, marker=None)
show_run(run_id)
stop_run(run_id, force=False)
delete_run(run_id, check_cache=None)
retry_run(run_id)
list_cache(user_filter=None, fs_filter=None, run_filter=None, max_keys=None, marker=None)
show_cache(cache_id)
delete_cache(cache_id)
list_artifact(user_filter=None, fs_filter=None, run_filter=None, type_filter=None, path_filter=None, maxkeys=None, marker=None)
create_cluster(clustername, endpoint, clustertype, credential=None, description=None, source=None, setting=None, status=None,\
 namespacelist=None, version=None)
list_cluster(maxkeys=100, marker=None, clustername=None, clusterstatus=None)
show_cluster(clustername)
delete_cluster(clustername)
update_cluster(clustername, endpoint=None, credential=None, clustertype=None, description=None, source=None, setting=None,\
 status=None, namespacelist=None, version=None)
list_cluster_resource(clustername=None)
list_cluster_resource_v2(page_no, page_size, clusternames=None, queuenaame=None, labels=None)
create_pipeline(fs_name=None, yaml_path=None, desc=None, username=None, yaml_raw=None)
list_pipeline(user_filter=None, name_filter=None, max_keys=None, marker=None)
show_pipeline(pipeline_id, fs_filter=None, max_keys=None, marker=None)
update_pipeline(pipeline_id, fs_name=None, yaml_path=None, username=None, desc=None, yaml_raw=None)
show_pipeline_version(pipeline_id, pipeline_version_id)
delete_pipeline(pipeline_id)
delete_pipeline_version(pipeline_id, pipeline_version_id)
create_schedule(name, pipeline_id, pipeline_version_id, crontab, desc=None, start_time=None, end_time=None, concurrency=None,\
 concurrency_policy=None, expire_interval=None, catchup=None, username=None)
list_schedule(user_filter=None, ppl_filter=None, ppl_version_filter=None, schedule_filter=None, name_filter=None,\
 status_filter=None, marker=None, max_keys=None)
show_schedule(schedule_id, run_filter=None, status_filter=None, marker=None, max_keys=None)
stop_schedule(schedule_id)
delete_schedule(schedule_id)
show_log(run_id, job_id=None, page_size=None, page_no=None, log_file_position=None)
show_log_by_limit(job_id=None, name=None, namespace=None, cluster_name=None, read_from_tail=None, line_limit=None,\
 size_limit=None, type=None, framework=None)
create_job(job_type, job_request)
show_job(jobid)
list_job(status=None, timestamp=None, start_time=None, queue=None, labels=None, maxkeys=None, marker=None)
update_job(jobid, priority=None, labels=None, annotations=None)
stop_job(jobid)
delete_job(jobid)
get_statistics(jobid, runid=None)
get_statistics_detail(jobid, start=None, end=None, step=None, runid=None)
get_cardtime_by_queue_name(queue_names, start_time, end_time)
"""

# The attributes of values, which are also the arguments of their constructors, in order.
ATTRIBUTES = {
    "user.UserInfo": "name create_time",
    "queue.GrantInfo": "username resourceName",
    "queue.QueueInfo": "name status namespace clusterName quotaType maxResources minResources usedResources idleResources "
    "location schedulingPolicy createTime updateTime",
    "cluster.ClusterInfo": "clusterid clustername description endpoint source clustertype version status credential setting "
    "namespacelist createtime updatetime",
    "flavour.FlavourInfo": "name cpu mem scalar_resources cluster_name createtime updatetime",
    "fs.FSInfo": "name owner fstype server_adddress subpath properties",
    "fs.LinkInfo": "name owner fstype fspath server_adddress subpath properties",
    "fs.CacheConfigInfo": "fsname username cachedir metadriver blocksize",
    "run.RunInfo": "run_id fs_name username status name description parameters run_yaml runtime post_process docker_env "
    "update_time source run_msg schedule_id scheduled_time fs_options failure_options disabled run_cached_ids create_time "
    "activate_time",
    "run.JobInfo": "name deps parameters command env status start_time end_time docker_env job_id type step_name "
    "parent_dag_id extra_fs artifacts cache job_message cache_run_id cache_job_id",
    "run.DagInfo": "dag_id name type dag_name parent_dag_id deps parameters artifacts start_time end_time status message "
    "entry_points",
    "run.RunCacheInfo": "cache_id first_fp second_fp run_id source job_id fs_name username expired_time strategy custom "
    "create_time update_time",
    "run.ArtifactInfo": "run_id fs_name username artifact_path type step artifact_name meta create_time update_time",
    "pipeline.PipelineInfo": "pipeline_id name username desc create_time update_time",
    "pipeline.PipelineVersionInfo": "pipeline_version_id pipeline_id fs_name yaml_path pipeline_yaml username create_time "
    "update_time",
    "schedule.ScheduleInfo": "crontab name pipeline_id pipeline_version_id desc username schedule_id fs_config options "
    "start_time end_time create_time update_time next_run_time message status",
    "job.JobInfo": "job_id job_name labels annotations username queue priority flavour fs extra_fs_list image env command "
    "args_list port extension_template framework member_list status message accept_time start_time finish_time runtime "
    "distributed_runtime workflow_runtime",
    "log.LogInfo": "runid jobid taskid has_next_page truncated pagesize pageno log_content",
    "log.LogInfoByLimit": "job_id task_id name has_next_page truncated line_limit size_limit log_content",
    "statistics.StatisticsJobInfo": "metrics_info",
    "statistics.CardTimeInfo": "data",
}

FINAL = {"succeeded", "failed", "terminated"}
TREE = """name: NAME
docker_env: any
entry_points:
  first: {command: "echo out-{{n}}; echo 1 > {{one}}", parameters: {n: 1}, artifacts: {output: [one]}}
  loop: {command: "echo {{PF_LOOP_ARGUMENT}}", loop_argument: [x, y], deps: first}
  inner:
    deps: first
    entry_points:
      leaf: {command: "true"}
post_process:
  last: {command: "true"}
"""
WAITING = 'name: NAME\ndocker_env: any\nentry_points:\n  wait: {command: "sleep 600"}\n'
FAILING = 'name: NAME\ndocker_env: any\nentry_points:\n  a: {command: "test -e {{go}}", parameters: {go: /}}\n'


def made(text):
    """A definition with a name of its own, as bytes."""
    return text.replace("NAME", fresh("p")).encode()


def value(answer):
    """Of (True, value)."""
    ok, found = answer
    assert ok is True
    return found


def refused(code, method, *args, **about):
    with pytest.raises(Refusal) as caught:
        method(*args, **about)
    error = caught.value
    assert (error.get_code(), error.code) == (code, code), error
    assert (
        str(error) == f"[PaddleFlowSDKException] code:{code} message:{error.get_message()} requestId:{error.requestId}"
    )
    return error


@pytest.fixture(scope="module")
def client(flow):
    found = older.Client("127.0.0.1", "root", "paddleflow", flow.port)
    assert found.login("root", "paddleflow") == (True, None)
    return found


@pytest.fixture(scope="module")
def filesystem(client, tmp_path_factory):
    """A file system of root's: its name and directory."""
    name, path = fresh("fs"), tmp_path_factory.mktemp("data")
    assert client.add_fs(name, f"local:/{path}") == (True, None)
    return name, path


def finish(client, run):
    wait_for(lambda: value(client.show_run(run)).status in FINAL, PATIENCE, "the run's end")
    return value(client.show_run(run))


# -- names and arguments


def signature(method):
    shown = [str(one.replace(annotation=one.empty)) for one in inspect.signature(method).parameters.values()]
    return f"{method.__name__}({', '.join(shown[1:])})"


def test_methods_and_their_arguments():
    wanted = SIGNATURES.split("\n")[1:-1]
    assert [signature(getattr(older.Client, line.split("(")[0])) for line in wanted] == wanted
    made = inspect.signature(older.Client)
    assert [*made.parameters] == ["paddleflow_server_host", "username", "password", "paddleflow_server_port"]
    assert made.parameters["paddleflow_server_port"].default == 8999


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_values_have_the_older_attributes(name):
    module, _, kind = name.partition(".")
    names = ATTRIBUTES[name].split()
    one = getattr(load_part(module), kind)(*range(len(names)))
    assert vars(one) == {name: place for place, name in enumerate(names)}


def test_types():
    """A program that uses it is checked: it declares its types (py.typed), and mypy passes it strictly."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / "build/mypy", PLACE / "paddleflow"],
        env={**os.environ, "MYPYPATH": f"{ROOT / 'python'}:{PLACE}"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


# -- logging in


def test_login(flow):
    client = older.Client("127.0.0.1", "root", "paddleflow", str(flow.port))
    for line in SIGNATURES.split("\n")[2:-1]:
        method = getattr(client, line.split("(")[0])
        needed = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
        refused("InvalidOperator", method, *["x"] * len(needed))
    error = refused("AuthFailed", client.login, "root", "wrong")
    assert error.get_message() and error.get_request_id()
    assert client.login("root", "paddleflow") == (True, None)
    assert client.header == {"x-pf-authorization": client.header["x-pf-authorization"]}
    assert "gitVersion" in value(client.get_version())
    refused("InvalidUser", client.login, " ", "x")
    refused("InvalidPassWord", client.login, "root", "")
    refused("InvalidServer", older.Client, "", "root", "x")


def test_nobody_answers(monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    client = older.Client("127.0.0.1", "root", "paddleflow", 1)
    error = refused("Connection Error", client.login, "root", "paddleflow")
    assert error.message.startswith("no server answers at http://127.0.0.1:1: ") and error.__suppress_context__
    assert pauses == [3]


@contextlib.contextmanager
def answering(status, body):
    """A server that always answers so, as a proxy or an older server may."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *about):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = older.Client("127.0.0.1", "root", "x", server.server_port)
        client.header = {"x-pf-authorization": "token"}
        yield client
        server.shutdown()


def test_answers_of_others():
    with answering(502, b"<h1>Bad gateway</h1>") as client:
        assert refused("HTTP 502", client.list_queue).message == "<h1>Bad gateway</h1>"
    with answering(302, b"") as client:
        refused("HTTP 302", client.list_queue)
    with answering(200, b"<h1>Welcome</h1>") as client:
        refused("InvalidResponse", client.list_queue)
    with answering(200, json.dumps({"message": "no"}).encode()) as client:
        assert client.list_queue() == client.login("root", "x") == client.show_run("run-000001") == (False, "no")


# -- the catalog


def test_users(client, flow):
    name = fresh("pyuser")
    assert client.add_user(name, PASSWORD) == (True, None)
    refused("UserNameDuplicated", client.add_user, name, PASSWORD)
    users = {user.name: user for user in value(client.list_user())}
    matches(RFC3339, users[name].create_time)
    assert client.update_password(name, "secret2") == (True, None)
    assert older.Client("127.0.0.1", name, "secret2", flow.port).login(name, "secret2") == (True, None)
    assert client.del_user(name) == (True, None)
    assert name not in {user.name for user in value(client.list_user(maxsize=1000))}
    refused("UserNotExist", client.del_user, name)
    refused("InvalidRequest", client.list_user, maxsize=0)


def test_queues(client, alice):
    name, most = fresh("pyqueue-"), {"cpu": "4", "mem": "4Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    assert client.add_queue(name, "default", "default-cluster", most, quotaType="volcanoCapabilityQuota") == (
        True,
        None,
    )
    refused("InvalidQueueMaxResources", client.add_queue, name, "default", "default-cluster", {"cpu": "1"})
    queue = value(client.show_queue(name))
    assert (queue.name, queue.status, queue.clusterName) == (name, "open", "default-cluster")
    assert queue.maxResources == {"cpu": "4", "memory": "4Gi", "scalarResources": {"nvidia.com/gpu": "1"}}
    assert queue.usedResources["cpu"] == "0" and queue.idleResources["cpu"] == "4"
    assert client.update_queue(name, {"cpu": "3"}) == (True, None)
    assert value(client.show_queue(name)).maxResources["cpu"] == "3"
    ok, queues, marker = client.list_queue()
    assert ok and marker is None and queues[-1].name == name and queues[-1].usedResources is None
    ok, first, marker = client.list_queue(maxsize=1)
    assert marker and client.list_queue(maxsize=1, marker=marker)[1][0].name == queues[1].name != first[0].name
    assert client.grant_queue(alice, name) == (True, None)
    assert [(one.username, one.resourceName) for one in value(client.show_queue_grant(alice))] == [(alice, name)]
    assert name in {one.resourceName for one in value(client.show_queue_grant(maxsize=1000))}
    assert client.ungrant_queue(alice, name) == (True, None)
    assert client.show_queue_grant(alice) == (True, [])
    assert client.del_queue(name) == (True, None)
    refused("QueueNameNotFound", client.show_queue, name)


def test_flavours(client):
    name = fresh("pyflavour")
    assert client.add_flavour(name, "2", "3Gi", {"nvidia.com/gpu": "1"}) == (True, None)
    flavour = value(client.show_flavour(name))
    assert (flavour.cpu, flavour.mem, flavour.cluster_name) == ("2", "3Gi", "")
    assert json.loads(flavour.scalar_resources) == {"nvidia.com/gpu": "1"}
    matches(LOCAL_TIME, flavour.createtime)
    assert client.update_flavour(name, cpu="1") == (True, name)
    ok, flavours, marker = client.list_flavour(key=name)
    assert ok and [(one.name, one.cpu) for one in flavours] == [(name, "1")] and marker is None
    assert len(client.list_flavour(clustername="default-cluster")[1]) >= 4
    assert client.list_flavour(maxsize=1)[2]
    assert client.del_flavour(name) == (True, None)
    refused("FlavourNotFound", client.show_flavour, name)
    refused("InvalidFlavourName", client.add_flavour, name, "", "1Gi")


def test_clusters(client):
    name = fresh("pycluster")
    made = value(client.create_cluster(name, "127.0.0.1", "Local", description="why", namespacelist=["a"]))
    matches(r"cluster-[0-9a-f]{8}", made)
    cluster = value(client.show_cluster(name))
    assert (cluster.clusterid, cluster.clustername, cluster.clustertype) == (made, name, "Local")
    assert (cluster.credential, cluster.namespacelist, cluster.description) == ("", ["a"], "why")
    assert client.update_cluster(name, description="other") == (True, made)
    ok, clusters, marker = client.list_cluster(clustername=name)
    assert ok and marker is None and [(one.clusterid, one.credential) for one in clusters] == [(made, None)]
    assert client.list_cluster(clusterstatus="offline") == (True, [], None)
    assert "nodeList" in value(client.list_cluster_resource("default-cluster"))["default-cluster"]
    assert "allocatable" in value(client.list_cluster_resource_v2(1, 10, ["default-cluster"]))["default-cluster"]
    assert client.delete_cluster(name) == (True, name)
    refused("ClusterNotFound", client.delete_cluster, name)
    refused("InvalidRequest", client.create_cluster, name, "127.0.0.1", "Local", credential="text")
    refused("InvalidRequest", client.update_cluster, name, namespacelist="a,b")


def test_file_systems(client, filesystem, alice, tmp_path, monkeypatch):
    name, path = filesystem
    (found,) = value(client.show_fs(name))
    assert (found.name, found.owner, found.fstype, found.server_adddress) == (name, "root", "local", "")
    assert found.subpath == str(path)
    assert name in {fs.name for fs in value(client.list_fs())}
    assert client.add_fs(name, f"local:/{path}", alice) == (True, None)
    assert [fs.owner for fs in value(client.list_fs(alice))] == [alice]
    assert client.delete_fs(name, alice) == (True, None)
    refused("RecordNotFound", client.show_fs, name, alice)
    refused("Wrong params type", client.add_fs, name, "local://x", properties=["a"])
    for read in (client.get_fs_cache, client.delete_fs_cache):
        refused("RecordNotFound", read, fresh("none"))
    refused("RecordNotFound", client.list_link, fresh("none"))
    monkeypatch.delenv("fuse_env", raising=False)
    assert client.mount(name, "/nowhere", {}) == (False, "/nowhere No such directory")
    assert client.mount(name, "/proc", {}) == (False, "/proc is a mountpoint, can not be mounted twice")
    assert "fuse_env" in client.mount(name, str(path), {})[1]


def test_what_the_server_has_not_is_refused(client, filesystem):
    """There are no caches and links of file systems yet, and update_fs_cache has no route anywhere."""
    name, _ = filesystem
    refused("ActionNotAllowed", client.create_cache, name, {"blockSize": 4096})
    refused("MethodNotAllowed", client.update_fs_cache, name, {"blockSize": 4096})
    refused("InvalidFileSystemFsName", client.add_link, name, "/a", "local://srv/data", properties={"debug": "true"})
    refused("LinkModelError", client.delete_link, name, "/a")
    assert client.list_link(name) == (True, [])
    refused("LinkNotExist", client.show_link, name, "/a")


def test_caches_and_links_of_other_servers():
    link = {"fsName": "f", "username": "u", "type": "s3", "fsPath": "/a", "serverAddress": "s", "subPath": "/p"}
    with answering(200, json.dumps({"linkList": [{**link, "properties": {"a": "b"}}]}).encode()) as client:
        for (found,) in (value(client.list_link("f")), value(client.show_link("f", "/a"))):
            assert [*vars(found).values()] == ["f", "u", "s3", "/a", "s", "/p", {"a": "b"}]
    with answering(200, b'{"linkList": null, "fsList": null, "clusterList": null, "userList": null}') as client:
        assert client.show_link("f", "/a") == (False, "no link found")
        assert client.list_link("f") == client.list_fs() == client.list_user() == (True, [])
        assert client.list_cluster() == (True, [], None)
    cache = {"cacheDir": "/c", "metaDriver": "mem", "blockSize": 4096, "fsName": "f", "username": "u", "quota": 1}
    with answering(200, json.dumps(cache).encode()) as client:
        assert [*vars(value(client.get_fs_cache("f"))).values()] == ["f", "u", "/c", "mem", 4096]
    with answering(201, b"") as client:
        assert client.create_cache("f", {"blockSize": 1}) == client.add_link("f", "/a", "s3://b") == (True, None)


def test_mount_starts_the_program_of_fuse_env(client, filesystem, tmp_path, monkeypatch):
    """It gets the words that PaddleFlow's own client gives it. One that mounts nothing is a failure with the name of its log."""
    name, path = filesystem
    fuse, said = tmp_path / "fuse", tmp_path / "said"
    fuse.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {said}\n')
    fuse.chmod(0o755)
    monkeypatch.setenv("fuse_env", str(fuse))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load_part("fs.fs_api"), "MOUNT_TRIES", 1)
    ok, why = client.mount(name, str(path), {"block-size": "1"})
    assert not ok and f"mount-{name}.err.log" in why
    server = client.paddleflow_server.split("//")[1]
    wait_for(lambda: said.exists() and said.read_text().count("\n") == 7, PATIENCE, "what the program was told")
    assert said.read_text().split() == [
        "mount", f"--fs-id=fs-root-{name}", f"--mount-point={path}", f"--server={server}", "--user-name=root",
        "--password=paddleflow", "--block-size=1",
    ]  # fmt: skip


# -- jobs


def test_jobs(client):
    job = {
        "schedulingPolicy": {"queue": "default-queue", "priority": "HIGH"},
        "image": "any",
        "flavour": {"name": "flavour1"},
        "command": "echo hello; sleep 600",
        "labels": {"a": fresh("b")},
        "env": {"A": "b"},
        "port": 0,
        "limitFlavour": {"name": "none"},
    }
    made = value(client.create_job("single", job))
    wait_for(lambda: value(client.show_job(made)).status == "running", PATIENCE, "the job's start")
    found = value(client.show_job(made))
    assert (found.job_id, found.queue, found.priority, found.username) == (made, "default-queue", "HIGH", None)
    assert (found.framework, found.image, found.flavour["name"]) == ("standalone", "any", "flavour1")
    assert found.env["A"] == "b" and found.runtime["role"] == "worker"
    ok, jobs, marker = client.list_job(queue="default-queue", labels=job["labels"])
    assert ok and [one.job_id for one in jobs] == [made] and jobs[0].runtime is None
    assert client.list_job(status="succeeded", labels=job["labels"]) == (True, [], None)
    assert client.update_job(made, labels={"c": "d"}, annotations={"e": "f"}) == (True, None)
    assert value(client.show_job(made)).labels["c"] == "d"
    refused("ActionNotAllowed", client.delete_job, made)

    def logged():
        logs = value(client.show_log_by_limit(job_id=made, framework="standalone", read_from_tail=True, line_limit=5))[
            "logs"
        ]
        return logs and "hello" in logs[0].log_content and logs

    (log,) = wait_for(logged, PATIENCE, "the line in the log")
    assert (log.job_id, log.line_limit, log.has_next_page, log.truncated) == (made, 5, False, False)
    metrics = value(client.get_statistics(made)).metrics_info
    matches(r"\d+\.\d\d%", metrics["cpu_usage_rate"])
    ok, detail, truncated = client.get_statistics_detail(made, step=60)
    assert ok and truncated is detail.truncated is False and isinstance(detail.result, list)
    refused("InvalidRequest", client.get_statistics, made, "run-000001")
    refused("InvalidEnd", client.get_statistics_detail, made, end=5)
    assert client.stop_job(made) == (True, None)
    wait_for(lambda: value(client.show_job(made)).status == "terminated", PATIENCE, "the job's end")
    cards = value(client.get_cardtime_by_queue_name(["default-queue"], "2024-01-01 00:00:00", "2099-01-01 00:00:00"))
    assert [queue["queueName"] for queue in cards.data] == ["default-queue"]
    assert client.delete_job(made) == (True, None)
    refused("JobNotFound", client.show_job, made)


def test_what_is_sent_of_a_job(client):
    """Members need their role and replicas; what is empty or not of a job is left out."""
    queue = {"schedulingPolicy": {"queue": "default-queue"}}
    member = {"role": "worker", "replicas": 2, "image": "any", "command": "true", "flavour": {"name": "flavour1"}}
    made = value(client.create_job("distributed", {**queue, "framework": "paddle", "members": [{**member, "x": 1}]}))
    found = value(client.show_job(made))
    assert [(one["role"], one["replicas"]) for one in found.member_list] == [("worker", 2)]
    assert found.distributed_runtime is None or "runtimes" in found.distributed_runtime
    refused("InvalidJobRequest", client.create_job, "single", {"image": "any"})
    refused("InvalidJobRequest", client.create_job, "distributed", {**queue, "members": [{"role": "worker"}]})
    refused("InvalidJobType", client.create_job, "other", queue)
    refused("JobCreateFailed", client.create_job, "workflow", queue)


# -- runs


def test_runs(client, filesystem):
    name, path = filesystem
    run = value(client.create_run(fs_name=name, desc="why", run_yaml_raw=made(TREE), param={"first.n": "2"}))
    matches(r"run-\d{6,}", run)
    found = finish(client, run)
    assert (found.run_id, found.fs_name, found.status, found.description) == (run, name, "succeeded", "why")
    assert found.parameters == {"first.n": "2"} and found.failure_options == {"strategy": "fail_fast"}
    assert found.fs_options["mainFS"]["name"] == name or found.fs_options["mainFS"]["name"] == ""
    assert {name: len(nodes) for name, nodes in found.runtime.items()} == {"first": 1, "loop": 2, "inner": 1}
    first, inner = found.runtime["first"][0], found.runtime["inner"][0]
    assert (first.step_name, first.type, first.status) == ("first", "step", "succeeded")
    one = first.artifacts["output"]["one"]
    assert first.get_dict()["command"] == first.command and first.command.startswith("echo out-2; echo 1 > ")
    assert first.command.endswith(one)
    assert (inner.dag_name, inner.type, inner.entry_points["leaf"][0].step_name) == ("inner", "dag", "leaf")
    assert inner.get_dict()["entry_points"]["leaf"][0]["status"] == "succeeded"
    assert found.post_process["last"].step_name == "last"
    logs = value(client.show_log(run, job_id=first.job_id, page_size=10))
    (log,) = logs["runLog"]
    assert isinstance(logs["submitLog"], str) and "out-2" in log.log_content
    assert (log.runid, log.jobid, log.pagesize, log.pageno) == (run, first.job_id, 10, 1)
    assert len(value(client.show_log(run))["runLog"]) == 5
    artifacts = value(client.list_artifact(run_filter=run))
    assert artifacts["nextMarker"] is None
    (artifact,) = artifacts["artifactList"]
    assert (artifact.run_id, artifact.step, artifact.type, artifact.artifact_name) == (run, "first", "output", "one")
    assert (path / artifact.artifact_path).read_text() == "1\n"
    assert value(client.list_artifact(run_filter=run, type_filter="input"))["artifactList"] == []
    assert client.delete_run(run) == (True, None)
    refused("RunNotFound", client.show_run, run)


def test_runs_in_lists(client):
    name = fresh("pyrun")
    runs = [
        value(client.create_run(run_name=name, run_yaml_raw=made(FAILING), param={"go": go})) for go in ("/", "/none")
    ]
    states = [finish(client, run).status for run in runs]
    assert states == ["succeeded", "failed"]
    first = value(client.list_run(run_name=name, maxsize=1))
    assert [run.run_id for run in first["runList"]] == runs[:1] and first["nextMarker"]
    rest = value(client.list_run(run_name=name, marker=first["nextMarker"]))
    assert [run.run_id for run in rest["runList"]] == runs[1:] and rest["nextMarker"] is None
    assert (rest["runList"][0].runtime, rest["runList"][0].status, rest["runList"][0].scheduled_time) == (
        None,
        "failed",
        "",
    )
    failed = value(client.list_run(username="root", run_id=",".join(runs), status="failed"))["runList"]
    assert [run.run_id for run in failed] == runs[1:]
    again = value(client.retry_run(runs[1]))
    assert again not in runs and finish(client, again).status == "failed"
    refused("ActionNotAllowed", client.retry_run, runs[0])
    refused("InvalidRequest", client.create_run, run_yaml_raw="text")


def test_a_run_is_stopped(client):
    run = value(client.create_run(run_yaml_raw=made(WAITING)))
    refused("ActionNotAllowed", client.delete_run, run)
    assert client.stop_run(run, force=True) == (True, None)
    assert finish(client, run).status == "terminated"
    refused("ActionNotAllowed", client.stop_run, run)
    refused("InvalidParam", client.stop_run, run, force="yes")
    assert client.delete_run(run, check_cache=False) == (True, None)


def test_pipelines(client, filesystem):
    name, path = filesystem
    text = made(FAILING)
    stored = value(client.create_pipeline(yaml_raw=text, desc="why"))
    assert stored.keys() == {"name", "pplID", "pplVerID"} and stored["pplVerID"] == "1"
    pipeline = stored["pplID"]
    (path / "next.yaml").write_bytes(text + b"# next\n")
    again = value(client.update_pipeline(pipeline, fs_name=name, yaml_path="next.yaml", desc="other"))
    assert again == {"pipelineID": pipeline, "pipelineVersionID": "2"}
    shown = value(client.show_pipeline(pipeline, max_keys=1))
    assert (shown["pipelineInfo"].name, shown["pipelineInfo"].desc) == (stored["name"], "other")
    assert [one.pipeline_version_id for one in shown["pipelineVersionList"]] == ["1"]
    rest = value(client.show_pipeline(pipeline, marker=shown["nextMarker"]))
    assert [one.fs_name for one in rest["pipelineVersionList"]] == [name] and rest["nextMarker"] is None
    version = value(client.show_pipeline_version(pipeline, "1"))
    assert version["pipelineVersionInfo"].pipeline_yaml == text.decode()
    assert version["pipelineInfo"].pipeline_id == pipeline
    listed = value(client.list_pipeline(name_filter=stored["name"]))
    assert [one.pipeline_id for one in listed["pipelineList"]] == [pipeline] and listed["nextMarker"] is None
    run = value(client.create_run(pipeline_id=pipeline, pipeline_version_id="1"))
    assert (finish(client, run).source, finish(client, run).status) == (f"{pipeline}-1", "succeeded")
    assert client.delete_pipeline_version(pipeline, "1") == (True, None)
    assert client.delete_pipeline(pipeline) == (True, None)
    refused("PipelineNotFound", client.show_pipeline, pipeline)
    refused("InvalidPipelineVersionID", client.delete_pipeline_version, pipeline, "")


def test_caches(client, filesystem):
    name, path = filesystem
    (path / "code").mkdir()
    (path / "code/train.py").write_text("print(1)\n")
    text = made(TREE + f"cache: {{enable: true, fs_scope: [{{name: {name}, path: code}}], max_expired_time: 600}}\n")
    run = value(client.create_run(fs_name=name, run_yaml_raw=text))
    assert finish(client, run).status == "succeeded"
    listed = value(client.list_cache(fs_filter=name, run_filter=run))
    assert listed["nextMarker"] is None and len(listed["runCacheList"]) >= 1
    cache = value(client.show_cache(listed["runCacheList"][0].cache_id))
    matches(r"cch-\d{6,}", cache.cache_id)
    assert (cache.run_id, cache.fs_name, cache.username, cache.expired_time) == (run, name, "root", "600")
    again = finish(client, value(client.create_run(fs_name=name, run_yaml_raw=text)))
    assert again.runtime["first"][0].cache_run_id == run
    assert client.delete_cache(cache.cache_id) == (True, None)
    refused("RunCacheNotFound", client.show_cache, cache.cache_id)
    refused("InvalidCacheID", client.delete_cache, "")


def test_schedules(client):
    pipeline = value(client.create_pipeline(yaml_raw=made(FAILING)))["pplID"]
    name = fresh("pyschedule")
    schedule = value(
        client.create_schedule(name, pipeline, "1", "0 0 1 1 *", desc="why", concurrency=2, concurrency_policy="skip")
    )
    matches(r"schedule-\d{6,}", schedule)
    listed = value(client.list_schedule(name_filter=name, ppl_filter=pipeline, status_filter="running"))
    (found,) = listed["scheduleList"]
    assert listed["nextMarker"] is None
    assert (found.schedule_id, found.pipeline_id, found.pipeline_version_id) == (schedule, pipeline, "1")
    assert (found.crontab, found.desc, found.username, found.status) == ("0 0 1 1 *", "why", "root", "running")
    assert (found.options["concurrency"], found.options["concurrencyPolicy"], found.options["catchup"]) == (
        2,
        "skip",
        True,
    )
    matches(LOCAL_TIME, found.next_run_time)
    shown = value(client.show_schedule(schedule))
    assert (shown["scheduleInfo"].schedule_id, shown["runList"], shown["nextMarker"]) == (schedule, [], None)
    refused("ActionNotAllowed", client.delete_schedule, schedule)
    assert client.stop_schedule(schedule) == (True, None)
    assert value(client.show_schedule(schedule))["scheduleInfo"].status == "terminated"
    assert client.delete_schedule(schedule) == (True, None)
    refused("ScheduleNotFound", client.show_schedule, schedule)
    refused("InvalidScheduleID", client.stop_schedule, "")


# -- pipelines that are described in Python

DSL_NAMES = (
    "Pipeline DAG ContainerStep Parameter Artifact CacheOptions FSScope FailureOptions FAIL_FAST FAIL_CONTINUE FSOptions "
    "MainFS ExtraFS PF_RUN_ID PF_STEP_NAME PF_USER_NAME PF_LOOP_ARGUMENT PipelineServiceApi PipelineInfo PipelineVersionInfo"
)
DSL_SIGNATURES = """
Pipeline(name, parallelism=None, docker_env=None, env=None, cache_options=None, failure_options=None, fs_options=None)
DAG(name, condition=None, loop_argument=None)
ContainerStep(name, docker_env=None, command=None, inputs=None, outputs=None, parameters=None, env=None, cache_options=None,\
 condition=None, loop_argument=None, extra_fs=None)
Parameter(default=None, type=None)
Artifact()
CacheOptions(enable=False, fs_scope=None, max_expired_time=-1)
FSScope(name, path=None)
FailureOptions(strategy='fail_fast')
FSOptions(main_fs=None, extra_fs=None)
MainFS(name, sub_path=None, mount_path=None)
ExtraFS(name, sub_path=None, mount_path=None, read_only=False)
Pipeline.run(config=None, username=None, fs_name=None, run_name=None, desc=None, disabled=None)
Pipeline.create(config=None, username=None, desc=None)
Pipeline.update(pipeline_id, config=None, username=None, desc=None)
Pipeline.compile(save_path=None)
"""


def arguments(function):
    """Those that may be given by place, without their types."""
    every = inspect.signature(function).parameters.values()
    shown = [str(one.replace(annotation=one.empty)) for one in every if one.kind is one.POSITIONAL_OR_KEYWORD]
    return [name for name in shown if name != "self"]


def test_names_and_arguments_of_the_description():
    dsl = load_part("pipeline")
    assert not [name for name in DSL_NAMES.split() if not hasattr(dsl, name)]
    assert (dsl.PF_RUN_ID, dsl.FAIL_CONTINUE) == ("{{PF_RUN_ID}}", "continue")
    wrong = []
    for line in DSL_SIGNATURES.split("\n")[1:-1]:
        path, _, wanted = line[:-1].partition("(")
        found = dsl
        for name in path.split("."):
            found = getattr(found, name)
        places = arguments(found)  # further ones may follow
        if ", ".join(places[: len(wanted.split(", ")) if wanted else 0]) != wanted:
            wrong.append(f"{path}({', '.join(places)})")
    assert not wrong, "\n".join(wrong)


def code_of(source, name):
    """MD5 of "source.name" in base 36."""
    number, text = int(hashlib.md5(f"{source}.{name}".encode()).hexdigest(), 16), ""
    while number:
        number, digit = divmod(number, 36)
        text = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + text
    return text


def test_a_description_is_compiled_as_the_older_module_does():
    dsl = load_part("pipeline")

    @dsl.Pipeline(name="shape", docker_env="any", env={"A": "1"})
    def shape():
        first = dsl.ContainerStep(
            "first", command="echo {{n}} > {{out}}", parameters={"n": 1}, outputs={"out": dsl.Artifact()}
        )
        dsl.ContainerStep("second", command=f"cat {first.outputs['out']} {first.parameters['n']}", env={"A": "2"})

    art = "command_art_" + code_of("PF-ENTRY-POINT.first", "out")
    param = "command_param_" + code_of("PF-ENTRY-POINT.first", "n")
    assert shape().compile() == {
        "name": "shape",
        "docker_env": "any",
        "entry_points": {
            "first": {
                "type": "step",
                "command": "echo {{n}} > {{out}}",
                "parameters": {"n": 1},
                "artifacts": {"output": ["out"]},
                "env": {"A": "1"},
            },
            "second": {
                "type": "step",
                "deps": "first",
                "command": f"cat {{{{{art}}}}} {{{{{param}}}}}",
                "parameters": {param: "{{first.n}}"},
                "artifacts": {"input": {art: "{{first.out}}"}},
                "env": {"A": "2"},
            },
        },
    }


def test_what_a_description_sends(client, flow, tmp_path):
    """Keys in alphabetical order; the error of a wrong description is that of the client."""
    dsl = load_part("pipeline")
    name = fresh("described")

    @dsl.Pipeline(name=name, docker_env="any")
    def described():
        dsl.ContainerStep("b-step", command="true")
        dsl.ContainerStep("a-step", command="true")

    ini = tmp_path / "own.ini"
    server = f"paddleflow_server_host=127.0.0.1\npaddleflow_server_port={flow.port}"
    ini.write_text(f"[user]\nname=root\npassword=paddleflow\n[server]\n{server}\n")
    run = value(described().run(str(ini), run_name=fresh("run"), disabled=["PF-ENTRY-POINT.b-step"]))
    found = finish(client, run)
    assert (found.status, found.disabled, found.runtime["b-step"][0].status) == ("succeeded", "b-step", "skipped")
    keys = re.findall(r"^ {0,4}([\w-]+):", found.run_yaml, re.M)
    assert keys == ["docker_env", "entry_points", "a-step", "command", "type", "b-step", "command", "type", "name"]
    stored = value(described().create(str(ini), desc="why"))
    assert value(described().update(stored["pplID"], str(ini)))["pipelineVersionID"] == "2"
    for wrong in (
        lambda: dsl.Pipeline(name="1st"),
        lambda: dsl.ContainerStep("a_b", command="true"),
        lambda: described().compile("a.txt"),
        lambda: described().run(str(tmp_path / "none.ini")),
    ):
        assert refused("PipelineDSLError", wrong).get_message()


def test_each_module_has_its_own_errors():
    """Both are imported here: that of a class is raised, also by its maps, and those of paddlecloud.pipeline are no refusals."""
    dsl = load_part("pipeline")
    step = dsl.ContainerStep("a", command="true", parameters={"n": 1})
    for wrong in (
        lambda: dsl.Parameter("x", "int"),
        lambda: step.parameters.update(m=True),
        lambda: step.parameters["none"],
        lambda: step.env.update(A=1),
        lambda: dsl.DAG("a b"),
        lambda: dsl.ExtraFS(""),
        lambda: dsl.CacheOptions(max_expired_time="x"),
        lambda: str(dsl.Artifact()),
        lambda: dsl.Pipeline(name="p")(lambda: dsl.ContainerStep("a", command="true"))().compile(),
    ):
        assert isinstance(refused("PipelineDSLError", wrong), DSLError)
    with pytest.raises(DSLError) as raised:
        ContainerStep("a b")
    assert type(raised.value) is DSLError
    assert isinstance(dsl.ExtraFS("data"), dsl.MainFS)


# -- the configuration file


def test_the_configuration_file(tmp_path, monkeypatch):
    util = load_part("common.util")
    monkeypatch.setenv("HOME", str(tmp_path))
    path = util.get_default_config_path()
    assert path == str(tmp_path / ".paddleflow/paddleflow.ini")
    assert util.read_config(path, "X") == ("root", "paddleflow", "127.0.0.1", "8999")
    for text, why in [
        ("[user]\nname = a\npassword = b\n", "server"),
        ("[user]\nname = a\n[server]\npaddleflow_server_host = h\n", "password"),
        ("name = a\n", "section"),
    ]:
        (tmp_path / "wrong.ini").write_text(text)
        assert re.search(why, refused("X", util.read_config, str(tmp_path / "wrong.ini"), "X").message)
    refused("X", util.read_config, str(tmp_path / "none.ini"), "X")
    (tmp_path / "own.ini").write_text("[user]\nname = a\npassword = %b\n[server]\npaddleflow_server_host = h\n")
    assert util.read_config(str(tmp_path / "own.ini"), "X") == ("a", "%b", "h", "8999")
