"""A program as users of PaddleFlow's Python client write it; it names nothing of this project. `older_program.py INI DIRECTORY`: it
prints "done" if all that the client promises came true. DIRECTORY becomes a file system."""

import configparser
import os
import sys
import time

from paddleflow import Client
from paddleflow.common.exception.paddleflow_sdk_exception import PaddleFlowSDKException
from paddleflow.pipeline import (
    DAG,
    FAIL_CONTINUE,
    PF_USER_NAME,
    Artifact,
    CacheOptions,
    ContainerStep,
    FailureOptions,
    FSOptions,
    FSScope,
    MainFS,
    Parameter,
    Pipeline,
)

QUEUE, FLAVOUR, FS = "older-queue", "olderflavour", "olderfs"


def prepare(rows):
    return ContainerStep(
        name="prepare",
        parameters={"rows": Parameter(default=rows, type="int")},
        outputs={"data": Artifact()},
        env={"GREETING": "hello"},
        command="echo $GREETING {{rows}} > {{data}}",
    )


def train(data, rate):
    return ContainerStep(
        name=f"train-{rate}",
        parameters={"rate": rate, "owner": f"of {PF_USER_NAME}"},
        inputs={"data": data},
        outputs={"model": Artifact()},
        env={"PF_JOB_QUEUE_NAME": QUEUE, "PF_JOB_FLAVOUR": FLAVOUR},
        command="cat {{data}} > {{model}}; echo {{rate}} {{owner}} >> {{model}}",
    )


@Pipeline(
    name="older_pipeline",
    docker_env="python:3.7",
    parallelism=2,
    cache_options=CacheOptions(enable=True, fs_scope=FSScope(FS, "code"), max_expired_time=600),
    failure_options=FailureOptions(FAIL_CONTINUE),
)
def older_pipeline(rows=3):
    first = prepare(rows)
    with DAG(name="training"):
        slow, fast = (train(first.outputs["data"], rate) for rate in (1, 5))
    report = ContainerStep(
        name="report",
        command=f"cat {slow.outputs['model']} {fast.outputs['model']}",
        condition=f"{first.parameters['rows']} > 1",
    )
    report.after(first)
    ContainerStep(name="unwanted", command="exit 3")


@Pipeline(name="older_waiting", docker_env="python:3.7")
def older_waiting():
    ContainerStep(name="wait", command="sleep 600")


def wait(client, run_id):
    for _ in range(600):
        ok, run = client.show_run(run_id)
        assert ok
        if run.status in ("succeeded", "failed", "terminated"):
            return run
        time.sleep(0.2)
    raise SystemExit(f"{run_id} does not end")


def prepare_the_platform(client, directory):
    most = {"cpu": "4", "mem": "4Gi"}
    assert client.add_queue(QUEUE, "default", "default-cluster", most, quotaType="volcanoCapabilityQuota") == (
        True,
        None,
    )
    ok, queues, marker = client.list_queue()
    assert ok and marker is None and QUEUE in [queue.name for queue in queues]
    assert client.add_flavour(FLAVOUR, cpu="1", memory="1Gi") == (True, None)
    ok, flavours, marker = client.list_flavour(key=FLAVOUR)
    assert ok and flavours[0].name == FLAVOUR and flavours[0].cpu == "1"
    assert client.add_fs(FS, "local:/" + directory) == (True, None)
    ok, found = client.show_fs(FS)
    assert ok and found[0].name == FS and found[0].owner == "root"


def described(rows=3):
    pipeline = older_pipeline(rows)
    pipeline.fs_options = FSOptions(MainFS(name=FS))
    last = ContainerStep(name="last", command="echo ended")
    pipeline.set_post_process(last)
    return pipeline


def run_pipelines(client, ini):
    ok, run_id = described().run(config=ini, run_name="older_run", desc="by hand", disabled=["PF-ENTRY-POINT.unwanted"])
    assert ok
    run = wait(client, run_id)
    assert run.status == "succeeded", run.run_msg
    assert run.disabled == "unwanted" and run.runtime["unwanted"][0].status == "skipped"
    training = run.runtime["training"][0]
    assert training.entry_points["train-5"][0].parameters["owner"] == "of root"
    assert run.post_process["last"].status == "succeeded"
    ok, log = client.show_log(run_id, job_id=run.runtime["report"][0].job_id)
    assert ok and "hello 3" in log["runLog"][0].log_content, log["runLog"][0].log_content
    ok, artifacts = client.list_artifact(run_filter=run_id, type_filter="output")
    names = sorted(artifact.artifact_name for artifact in artifacts["artifactList"])
    assert ok and names == ["data", "model", "model"] and artifacts["nextMarker"] is None, names
    ok, runs = client.list_run(run_name="older_run", status="succeeded")
    assert ok and [one.run_id for one in runs["runList"]] == [run_id]
    return run_id


def use_the_cache(client, ini, run_id):
    ok, again = described().run(config=ini, disabled=["unwanted"])
    assert ok
    run = wait(client, again)
    assert run.runtime["prepare"][0].cache_run_id == run_id, run.runtime["prepare"][0].get_dict()
    assert client.show_run(run_id)[1].run_cached_ids == again
    ok, caches = client.list_cache(fs_filter=FS, run_filter=run_id)
    assert ok and caches["runCacheList"][0].run_id == run_id and caches["nextMarker"] is None
    ok, cache = client.show_cache(caches["runCacheList"][0].cache_id)
    assert ok and cache.fs_name == FS and cache.expired_time == "600"
    assert client.delete_cache(cache.cache_id) == (True, None)
    assert client.delete_run(again) == (True, None)


def stop_and_retry(client, ini):
    ok, run_id = older_waiting().run(ini)
    assert ok
    assert client.stop_run(run_id, force=True) == (True, None)
    assert wait(client, run_id).status == "terminated"
    ok, again = client.retry_run(run_id)
    assert ok and again != run_id
    assert client.stop_run(again) == (True, None)
    assert wait(client, again).status == "terminated"
    for one in (again, run_id):
        assert client.delete_run(one) == (True, None)


def store_pipelines(client, ini):
    pipeline = described(2)
    ok, stored = pipeline.create(ini, desc="first")
    assert ok and stored["name"] == "older_pipeline" and stored["pplVerID"] == "1"
    ok, updated = pipeline.update(stored["pplID"], config=ini, desc="second")
    assert ok and updated == {"pipelineID": stored["pplID"], "pipelineVersionID": "2"}
    ok, shown = client.show_pipeline(stored["pplID"])
    assert ok and shown["pipelineInfo"].desc == "second" and len(shown["pipelineVersionList"]) == 2
    plan(client, stored["pplID"])
    assert client.delete_pipeline(stored["pplID"]) == (True, None)


def plan(client, pipeline_id):
    ok, schedule_id = client.create_schedule("older_schedule", pipeline_id, "2", "@yearly", concurrency=1)
    assert ok
    ok, schedules = client.list_schedule(name_filter="older_schedule")
    assert ok and [one.schedule_id for one in schedules["scheduleList"]] == [schedule_id]
    ok, shown = client.show_schedule(schedule_id)
    assert ok and shown["scheduleInfo"].status == "running" and shown["runList"] == []
    assert client.stop_schedule(schedule_id) == (True, None)
    assert client.delete_schedule(schedule_id) == (True, None)


def mistakes(client, ini):
    try:
        client.show_run("run-999999")
    except PaddleFlowSDKException as error:
        assert error.get_code() == "RunNotFound" and error.get_request_id(), error
    else:
        raise SystemExit("an unknown run is shown")
    for wrong in (lambda: ContainerStep(name="1st", command="true"), lambda: older_waiting().run(ini + ".none")):
        try:
            wrong()
        except PaddleFlowSDKException as error:
            assert error.code == "PipelineDSLError" and error.get_message(), error
        else:
            raise SystemExit("a mistake is accepted")


def clean_up(client, run_id):
    assert client.delete_run(run_id, check_cache=False) == (True, None)
    assert client.delete_fs(FS) == (True, None)
    assert client.del_flavour(FLAVOUR) == (True, None)
    assert client.del_queue(QUEUE) == (True, None)


def main(ini, directory):
    config = configparser.ConfigParser()
    config.read(ini)
    user, server = config["user"], config["server"]
    client = Client(server["paddleflow_server_host"], user["name"], user["password"], server["paddleflow_server_port"])
    assert client.login(user["name"], user["password"]) == (True, None)
    prepare_the_platform(client, directory)
    os.mkdir(os.path.join(directory, "code"))
    run_id = run_pipelines(client, ini)
    use_the_cache(client, ini, run_id)
    stop_and_retry(client, ini)
    store_pipelines(client, ini)
    mistakes(client, ini)
    clean_up(client, run_id)
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
