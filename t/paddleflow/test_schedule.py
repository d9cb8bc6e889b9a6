"""2.15 schedules."""

import base64
import datetime
import time

from conftest import PATIENCE, wait_for

from paddleflow.client import LOCAL_TIME, fresh, good, has_keys, matches, refused
from paddleflow.test_run import BRIEF

SCHEDULE = (
    "scheduleID name desc pipelineID pipelineVersionID username fsConfig crontab options startTime endTime createTime "
    "updateTime nextRunTime scheduleMsg status"
)
TEXT = 'name: NAME\nentry_points:\n  a: {command: "true", condition: "1 > 2"}\n'


def store(flow, who="root"):
    text = base64.b64encode(TEXT.replace("NAME", fresh("p")).encode()).decode()
    return good(flow.post("/pipeline", {"yamlRaw": text}, who=who), 201).json["pipelineID"]


def name_of():
    return fresh("s").replace("-", "_")


def body(pipeline, crontab="* * * * *", **about):
    return {"name": name_of(), "pipelineID": pipeline, "pipelineVersionID": "1", "crontab": crontab, **about}


def create(flow, pipeline, crontab="* * * * *", who="root", **about):
    reply = good(flow.post("/schedule", body(pipeline, crontab, **about), who=who), 201).json
    has_keys(reply, "scheduleID")
    matches(r"schedule-\d{6,}", reply["scheduleID"])
    return reply["scheduleID"]


def test_a_schedule_and_its_runs(flow):
    pipeline = store(flow)
    made = create(flow, pipeline, "@every 1s", desc="often", concurrency="3", expireInterval="60")
    one = f"/schedule/{made}"
    wait_for(lambda: len(good(flow.get(one)).json["runs"]["runList"]) >= 3, PATIENCE, "three runs")
    found = good(flow.get(one + "?maxKeys=1")).json
    has_keys(found, SCHEDULE + " runs nextMarker")
    assert (found["desc"], found["crontab"], found["status"]) == ("often", "@every 1s", "running")
    assert (found["pipelineID"], found["pipelineVersionID"], found["fsConfig"]) == (pipeline, "1", {"username": "root"})
    assert found["options"] == {"catchup": True, "expireInterval": 60, "concurrency": 3, "concurrencyPolicy": "suspend"}
    assert (found["startTime"], found["endTime"]) == ("", "")
    matches(LOCAL_TIME, found["nextRunTime"])
    assert found["runs"]["isTruncated"]
    assert found["nextMarker"] == found["runs"]["nextMarker"]
    run = found["runs"]["runList"][0]
    has_keys(run, BRIEF)
    assert (run["name"], run["description"], run["scheduleID"]) == (found["name"], "often", made)
    matches(LOCAL_TIME, run["scheduledTime"])
    shown = good(flow.get(f"/run/{run['runID']}")).json
    assert (shown["scheduleID"], shown["source"]) == (made, f"{pipeline}-1")
    rest = good(flow.get(f"{one}?marker={found['nextMarker']}&maxKeys=1")).json["runs"]["runList"]
    assert rest[0]["runID"] > run["runID"]
    assert good(flow.get(f"{one}?runFilter={run['runID']}")).json["runs"]["runList"] == [run]
    assert good(flow.get(f"{one}?statusFilter=failed")).json["runs"]["runList"] == []
    refused(flow.delete(one), "ActionNotAllowed")
    refused(flow.delete(f"/pipeline/{pipeline}"), "ActionNotAllowed")
    good(flow.put(one, {"name": "ignored"}), empty=True)
    refused(flow.put(one), "ActionNotAllowed")
    assert good(flow.get(one)).json["status"] == "terminated"
    good(flow.delete(one), empty=True)
    refused(flow.get(one), "ScheduleNotFound")


def test_refusals(flow):
    pipeline = store(flow)
    for change, code in (
        ({"name": "-asdf"}, "InvalidNamePattern"),  # C125
        ({"name": "a" * 51}, "InvalidNamePattern"),
        ({"desc": "x" * 257}, "InvalidArguments"),
        ({"concurrency": -1}, "InvalidArguments"),  # C126
        ({"concurrency": "x"}, "InvalidArguments"),
        ({"concurrencyPolicy": "wrongPolicy"}, "InvalidArguments"),
        ({"expireInterval": -1}, "InvalidArguments"),
        ({"startTime": "20060102 15:04:05"}, "InvalidArguments"),  # C127
        ({"startTime": time.strftime("%Y-%m-%d %H:%M:%S")}, "InvalidArguments"),
        ({"endTime": time.strftime("%Y-%m-%d %H:%M:%S")}, "InvalidArguments"),
        ({"startTime": "2020-01-01 00:00:00"}, "InvalidArguments"),
        ({"endTime": "2020-01-01 00:00:00"}, "InvalidArguments"),
        ({"startTime": "2091-01-02 00:00:00", "endTime": "2091-01-01 00:00:00"}, "InvalidArguments"),
        ({"crontab": "* * * sdf asd"}, "InvalidArguments"),  # C128
        ({"crontab": "0 0 31 2 *"}, "InvalidArguments"),
        ({"crontab": ""}, "InvalidArguments"),
        ({"pipelineID": "ppl-999999"}, "PipelineNotFound"),  # C136
        ({"pipelineVersionID": "9"}, "PipelineNotFound"),
        ({"pipelineVersionID": ""}, "PipelineNotFound"),
    ):
        refused(flow.post("/schedule", {**body(pipeline), **change}), code)
    refused(flow.post("/schedule", "x"), "InvalidHTTPRequest")
    text = TEXT.replace("NAME", fresh("p")).replace("entry_points", "fs_options: {main_fs: {name: none}}\nentry_points")
    lost = good(flow.post("/pipeline", {"yamlRaw": base64.b64encode(text.encode()).decode()}), 201).json["pipelineID"]
    refused(flow.post("/schedule", body(lost)), "InvalidArguments")
    twice = body(pipeline, concurrencyPolicy="")
    made = good(flow.post("/schedule", twice), 201).json["scheduleID"]
    assert good(flow.get(f"/schedule/{made}")).json["options"]["concurrencyPolicy"] == "suspend"  # C126
    refused(flow.post("/schedule", twice), "DuplicatedName")


def test_whose(flow):
    owner, other = flow.make_user("owner"), flow.make_user("other")
    pipeline = store(flow, owner)
    refused(flow.post("/schedule", body(pipeline), who=other), "AccessDenied")  # C136
    refused(flow.post("/schedule", body(pipeline, "wrong"), who=other), "InvalidArguments")  # looked at before
    one = f"/schedule/{create(flow, pipeline, who=owner)}"
    refused(flow.get(one, who=other), "AccessDenied")
    refused(flow.put(one, who=other), "AccessDenied")
    refused(flow.delete(one, who=other), "ScheduleNotFound")
    assert good(flow.get("/schedule", who=other)).json["scheduleList"] == []
    refused(flow.get("/schedule?userFilter=root", who=other), "AccessDenied")
    good(flow.put(one), empty=True)
    of_root = create(flow, pipeline, username=owner)
    assert good(flow.get(f"/schedule/{of_root}")).json["fsConfig"] == {"username": owner}


def test_stored_names_are_not_told_to_others(flow, tmp_path):
    other, name, fs = flow.make_user("other"), fresh("secret-p"), fresh("secret-fs")
    text = TEXT.replace("NAME", name)
    yaml = base64.b64encode(text.encode()).decode()
    plain = good(flow.post("/pipeline", {"yamlRaw": yaml}), 201).json["pipelineID"]
    (tmp_path / "run.yaml").write_text(text.replace(name, name + "2"))
    good(flow.post("/fs", {"name": fs, "url": f"local:/{tmp_path}"}), 201)
    mounted = good(flow.post("/pipeline", {"fsName": fs, "yamlPath": "run.yaml"}), 201).json["pipelineID"]
    for change, code in (
        ({"pipelineID": plain, "pipelineVersionID": "2"}, "PipelineNotFound"),
        ({"pipelineID": mounted}, "InvalidArguments"),
    ):
        reply = flow.post("/schedule", {**body(plain), **change}, who=other)
        refused(reply, code)
        assert change["pipelineID"] in reply.json["message"]
        assert name not in reply.json["message"] and fs not in reply.json["message"]
    refused(flow.post("/schedule", body(mounted, username="no_such_user")), "UserNotExist")
    reply = flow.post("/schedule", body(mounted, username=other))  # its owner is told the name
    refused(reply, "InvalidArguments")
    assert fs in reply.json["message"]
    create(flow, mounted)


def test_first_time(flow):
    """C129: the first tick after now, or after the start."""
    pipeline = store(flow)
    soon = good(flow.get(f"/schedule/{create(flow, pipeline, 'TZ=UTC * */3 * * *')}")).json["nextRunTime"]
    now = datetime.datetime.now(datetime.timezone.utc)
    tick = datetime.datetime.strptime(soon, "%Y-%m-%d %H:%M:%S").astimezone(datetime.timezone.utc)
    assert tick.hour % 3 == 0 and now - datetime.timedelta(minutes=1) < tick < now + datetime.timedelta(hours=3)
    later = create(flow, pipeline, "TZ=UTC * */3 * * *", startTime="2091-01-02 23:30:00")
    begin = datetime.datetime(2091, 1, 2, 23, 30).astimezone(datetime.timezone.utc)
    while begin.hour % 3:
        begin = begin.replace(minute=0) + datetime.timedelta(hours=1)
    begin += datetime.timedelta(minutes=1 if begin.minute else 0)
    shown = good(flow.get(f"/schedule/{later}")).json["nextRunTime"]
    assert shown == begin.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    for made in good(flow.get(f"/schedule?pplFilter={pipeline}")).json["scheduleList"]:
        good(flow.put(f"/schedule/{made['scheduleID']}"), empty=True)


def test_steps_without_a_queue_go_to_the_default_one(flow):
    """As those of the interface's other runs; schedules of /v1 use the queue 'default'."""
    text = base64.b64encode(f'name: {fresh("p")}\nentry_points:\n  a: {{command: "true"}}\n'.encode()).decode()
    pipeline = good(flow.post("/pipeline", {"yamlRaw": text}), 201).json["pipelineID"]
    one = f"/schedule/{create(flow, pipeline, '@every 1s')}"
    run = wait_for(lambda: good(flow.get(one)).json["runs"]["runList"], PATIENCE, "a run")[0]["runID"]
    good(flow.put(one), empty=True)
    job = wait_for(
        lambda: good(flow.get(f"/run/{run}")).json["runtime"].get("a", [{}])[0].get("jobID"), PATIENCE, "a job"
    )
    assert flow.job(job)["schedulingPolicy"]["queue"] == "default-queue"


def test_lists(flow):
    pipeline, other = store(flow), store(flow)
    made = [create(flow, pipeline) for _ in range(3)] + [create(flow, other)]

    def listed(query):
        reply = good(flow.get(f"/schedule?{query}")).json
        return [item["scheduleID"] for item in reply["scheduleList"]], reply

    assert listed(f"pplFilter={pipeline}")[0] == made[:3]
    assert listed(f"pplFilter={pipeline},{other}&pplVersionFilter=1&statusFilter=running")[0] == made
    assert listed(f"pplFilter={pipeline}&statusFilter=success")[0] == []
    first, reply = listed(f"pplFilter={pipeline}&maxKeys=2")
    has_keys(reply["scheduleList"][0], SCHEDULE)
    assert (first, reply["isTruncated"]) == (made[:2], True)
    rest, reply = listed(f"pplFilter={pipeline}&maxKeys=2&marker={reply['nextMarker']}")
    assert (rest, reply["isTruncated"], "nextMarker" in reply) == (made[2:3], False, False)
    assert listed(f"scheduleFilter={made[3]},{made[0]}")[0] == [made[0], made[3]]
    refused(flow.get("/schedule?marker=x"), "InvalidMarker")
