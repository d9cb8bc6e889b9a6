"""Schedules of stored pipelines through the routes and through `paddle schedule`, with a server that is killed."""

import datetime
import re
import time

from conftest import PATIENCE, server_of_module, wait_for
from people import Person

QUICK = 'name: NAME\nentry_points:\n  a: {command: "true", condition: "1 > 2"}\n'
LONG = 'name: NAME\nentry_points:\n  a: {command: "sleep 600"}\n'

server = server_of_module("--cpus", "64")


def store(server, name, text=QUICK):
    reply = server.post("/v1/pipelines", {"definition": text.replace("NAME", name)})
    assert reply.status == 201, reply.body
    return reply.json


def create(server, name, pipeline, crontab, **about):
    reply = server.post("/v1/schedules", {"name": name, "pipeline": pipeline, "crontab": crontab, **about})
    assert reply.status == 201, reply.body
    return reply.json


def runs(server, schedule):
    """Oldest first."""
    items, after = [], None
    while True:
        page = server.get(f"/v1/runs?schedule={schedule}&limit=1000" + (f"&after={after}" if after else "")).json
        items += page["items"]
        after = page["next"]
        if not after:
            return items[::-1]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def check_ticks(server, schedule, step):
    """Each tick since the first one has one run, in order."""
    found = runs(server, schedule)
    times = [moment(item["scheduled_at"]) for item in found]
    assert times == [times[0] + datetime.timedelta(seconds=step * i) for i in range(len(times))]
    return found


def test_each_tick_once_across_kills(server):
    store(server, "quick")
    made = create(server, "each_second", "quick", "@every 1s", description="often")
    assert made["pipeline_name"] == server.get("/v1/schedules/each_second").json["pipeline_name"] == "quick"
    assert (made["state"], made["version"], made["catchup"], made["policy"]) == ("running", 1, True, "suspend")
    for many in (2, 4, 6):
        wait_for(lambda many=many: len(runs(server, "each_second")) >= many, PATIENCE, f"{many} runs")
        server.kill()
        server.start()
    wait_for(lambda: len(runs(server, "each_second")) >= 8, PATIENCE, "runs after the last kill")
    stopped = server.post("/v1/schedules/each_second/stop").json
    assert (stopped["state"], stopped["next_at"]) == ("terminated", None)
    found = check_ticks(server, "each_second", 1)
    assert {item["name"] for item in found} == {"each_second"}
    assert {item["description"] for item in found} == {"often"}
    assert {item["schedule"] for item in found} == {made["id"]}
    assert moment(found[0]["scheduled_at"]) > moment(made["created_at"]) - datetime.timedelta(seconds=1)
    assert server.post("/v1/schedules/each_second/stop").status == 409
    assert server.request("DELETE", "/v1/schedules/each_second").status == 204
    assert server.get("/v1/schedules/each_second").status == 404
    assert server.get(f"/v1/runs/{found[0]['id']}").json["state"] == "succeeded"


def test_policies(server):
    store(server, "long", LONG)
    for policy in ("suspend", "skip", "replace"):
        create(server, f"with_{policy}", "long", "@every 1s", concurrency=1, policy=policy)

    def states(policy):
        return [item["state"] for item in runs(server, f"with_{policy}")]

    wait_for(lambda: states("skip")[:3] == ["running", "skipped", "skipped"], PATIENCE, "skipped runs")
    wait_for(lambda: states("replace").count("terminated") >= 2, PATIENCE, "runs that were replaced")
    assert states("suspend") == ["running"]
    skipped = runs(server, "with_skip")[1]
    assert "1 run of the schedule has not ended" in skipped["message"]
    assert server.get(f"/v1/runs/{skipped['id']}/tree").status == 200
    assert server.post(f"/v1/runs/{skipped['id']}/retry").status == 409
    only = runs(server, "with_suspend")[0]["id"]
    server.post(f"/v1/runs/{only}/stop", {"force": True})
    wait_for(lambda: states("suspend")[:2] == ["terminated", "running"], PATIENCE, "the tick that waited")
    assert server.get("/v1/runs?state=skipped").json["items"]
    for policy in ("suspend", "skip", "replace"):
        assert server.post(f"/v1/schedules/with_{policy}/stop").status == 200
    for item in server.get("/v1/runs?state=running&limit=1000").json["items"]:
        server.post(f"/v1/runs/{item['id']}/stop", {"force": True})


def test_replacing_across_kills(server):
    """A run is stopped by the commit that begins the next one: none is lost, and one runs."""
    store(server, "replaced", LONG)
    create(server, "replacing", "replaced", "@every 1s", concurrency=1, policy="replace")
    for many in (3, 6):
        wait_for(lambda many=many: len(runs(server, "replacing")) >= many, PATIENCE, f"{many} runs")
        server.kill()
        server.start()
    wait_for(lambda: len(runs(server, "replacing")) >= 8, PATIENCE, "runs after the last kill")
    server.post("/v1/schedules/replacing/stop")
    found = wait_for(
        lambda: (
            [found := runs(server, "replacing")] and not any(item["state"] == "stopping" for item in found) and found
        ),
        PATIENCE,
        "the end of those that were replaced",
    )
    check_ticks(server, "replacing", 1)
    assert [item["state"] for item in found[-1:]] == ["running"]
    assert {item["state"] for item in found[:-1]} <= {"terminated", "skipped"}
    assert all("its schedule" in item["message"] for item in found[:-1] if item["state"] == "terminated")
    server.post(f"/v1/runs/{found[-1]['id']}/stop", {"force": True})


def test_schedules_of_a_deleted_user_go(server):
    eve = Person(server, "eve")
    for path, body in (
        ("/v1/pipelines", {"definition": QUICK.replace("NAME", "eves")}),
        ("/v1/schedules", {"name": "of_eve", "pipeline": "eves", "crontab": "@every 1s"}),
    ):
        reply = server.request("POST", path, body, eve.headers)
        assert reply.status == 201, reply.body
    made = reply.json["id"]
    of_root = create(server, "of_root", server.get("/v1/pipelines/eves?user=eve").json["id"], "@daily")["id"]
    wait_for(lambda: server.get(f"/v1/runs?schedule={made}").json["items"], PATIENCE, "a run")
    assert server.request("DELETE", "/v1/users/eve").status in (200, 204)
    assert server.get(f"/v1/schedules/{made}").status == 404
    assert made not in [item["id"] for item in server.get("/v1/schedules?all=true&limit=1000").json["items"]]
    failed = server.get(f"/v1/schedules/{of_root}").json
    assert failed["pipeline_name"] is None
    assert (failed["state"], failed["message"]) == ("failed", "its pipeline was deleted with its user")
    assert failed["message"] in server.paddle("schedule", "show", "of_root", check=0).stdout


def test_a_file_system_that_is_lost(server, tmp_path):
    """It cannot be deleted while the schedule runs. If it becomes read-only, runs fail and say why, and the schedule goes on."""
    for name in ("main", "extra"):
        (tmp_path / name).mkdir()
        reply = server.post("/v1/filesystems", {"name": f"lost_{name}", "url": str(tmp_path / name)})
        assert reply.status == 201, reply.body
    text = (
        "name: mounting\nfs_options:\n  main_fs: {name: lost_main}\n  extra_fs: [{name: lost_extra}]\n"
        'entry_points:\n  a: {command: "true", condition: "1 > 2", artifacts: {output: [o]}}\n'
    )
    store(server, "mounting", text)
    create(server, "mounts", "mounting", "@every 1s")
    wait_for(lambda: any(item["state"] == "succeeded" for item in runs(server, "mounts")), PATIENCE, "a run")
    for name in ("lost_main", "lost_extra"):
        reply = server.request("DELETE", f"/v1/filesystems/{name}")
        assert (reply.status, "schedule 'mounts'" in reply.json["message"]) == (409, True), reply.body
    assert server.request("PATCH", "/v1/filesystems/lost_main", {"read_only": True}).status == 200
    wait_for(lambda: [item["state"] for item in runs(server, "mounts")].count("failed") >= 2, PATIENCE, "failed runs")
    assert "'lost_main', which is read-only" in server.paddle("schedule", "show", "mounts", check=0).stdout
    assert server.request("PATCH", "/v1/filesystems/lost_main", {"read_only": False}).status == 200
    wait_for(lambda: runs(server, "mounts")[-1]["state"] == "succeeded", PATIENCE, "a run that begins again")
    server.post("/v1/schedules/mounts/stop")
    check_ticks(server, "mounts", 1)


def test_a_file_system_that_is_missing(server):
    store(server, "missing", "name: missing\nfs_options: {main_fs: {name: none}}\nentry_points:\n  a: {command: c}\n")
    made = server.paddle("schedule", "create", "no_fs", "missing", "@daily", check=2)
    assert "its runs could not begin: fs_options: user 'root' has no file system 'none'" in made.stderr


def test_refusals(server):
    store(server, "refused")
    good = {"name": "refused", "pipeline": "refused", "crontab": "* * * * *"}
    for change, status, says in (
        ({"crontab": "0 0 31 2 *"}, 400, "never due"),
        ({"crontab": "TZ=Mars/Base * * * * *"}, 400, "not a time zone"),
        ({"crontab": "TZ=CET+1 0 9 * * *"}, 400, "'CET+1' is not a time zone"),
        ({"crontab": "@every 500ms"}, 400, "not a whole number of seconds, at least 1"),
        ({"crontab": "@every 0s"}, 400, "at least 1"),
        ({"crontab": None}, 400, "crontab is missing"),
        ({"name": "a-b"}, 400, "name 'a-b'"),
        ({"policy": "wrong"}, 400, "suspend, replace or skip"),
        ({"start_at": "soon"}, 400, "start_at: 'soon'"),
        ({"end_at": "2020-01-01T00:00:00Z"}, 400, "the end, 2020-01-01T00:00:00.000Z, is not in the future"),
        ({"name": "nightly-train"}, 400, "A schedule's name has no '-', as in PaddleFlow: 'nightly_train'."),
        ({"crontab": "every 10m"}, 400, "Did you mean '@every 10m'?"),
        ({"pipeline": "none"}, 404, "no stored pipeline 'none'"),
        ({"version": 7}, 404, "no version 7"),
    ):
        reply = server.post("/v1/schedules", {**good, **change})
        text = reply.json["message"] + reply.json.get("hint", "")
        assert (reply.status, says in text) == (status, True), (change, reply.body)
    create(server, **good)
    reply = server.post("/v1/schedules", good)
    assert (reply.status, "already" in reply.json["message"]) == (409, True)
    for path in ("refused", "refused/versions/1"):
        reply = server.request("DELETE", f"/v1/pipelines/{path}")
        assert (reply.status, "schedule 'refused'" in reply.json["message"]) == (409, True)
    assert server.request("DELETE", "/v1/schedules/refused").status == 409


def test_the_verbs(server):
    store(server, "told")
    paddle = server.paddle
    made = paddle(
        "schedule", "create", "yearly", "told@1", "TZ=Europe/Berlin 30 2 29 3 *", "-d", "\x1b[31mred", "-c", 2, check=0
    )
    assert made.stdout == "yearly\n"
    ticks = paddle("schedule", "next", "yearly", "-n", 3, check=0)
    assert len(ticks.stdout.splitlines()) == 3
    assert all("-03-29 0" in line and line.endswith(("+0100", "+0200")) for line in ticks.stdout.splitlines())
    assert "Europe/Berlin" in ticks.stderr
    shown = paddle("schedule", "show", "yearly", check=0).stdout
    assert "?[31mred" in shown and "\x1b" not in shown
    assert re.search(r"^pipeline +told$", shown, re.M) and "RUN" not in shown
    assert "told@1" in paddle("schedule", "list", check=0).stdout
    made = paddle("schedule", "create", "no", "told.yaml", "@daily", check=1)
    assert "`paddle pipeline create told.yaml`" in made.stderr
    assert "2 at a time" in shown and re.search(r"^expire +never$", shown, re.M)
    assert "Put it in quotes" in paddle("schedule", "create", "no", "told", "30", "2", "*", "*", "*", check=2).stderr
    assert re.search(r"^yearly +root +told@1 ", paddle("schedule", "list", "--state", "running", check=0).stdout, re.M)
    paddle("schedule", "create", "soon", "told", "@every 1s", "--end", "1h", "--no-catchup", check=0)
    wait_for(lambda: "succeeded" in paddle("schedule", "show", "soon", check=0).stdout, PATIENCE, "a run")
    shown = paddle("schedule", "show", "soon", check=0).stdout
    assert "@every 1s" in shown and "catchup" in shown
    assert "is stopped" in paddle("schedule", "stop", "soon", check=0).stdout
    assert "is deleted" in paddle("schedule", "delete", "soon", check=0).stdout
    assert "no schedule 'soon'" in paddle("schedule", "show", "soon", check=1).stderr
    assert "is running" in paddle("schedule", "delete", "yearly", check=1).stderr


def test_programs_of_a_schedule(server, tmp_path):
    """The directory of the definition is stored with the version, and is there for each run, whatever `paddle gc` removes."""
    (tmp_path / "say.py").write_text("print('from the stored directory')\n")
    definition = tmp_path / "talks.yaml"
    definition.write_text("name: talks\nentry_points:\n  say: {command: python3 say.py}\n")
    assert server.paddle("pipeline", "create", definition, check=0).stdout == "talks@1\n"
    version = server.get("/v1/pipelines/talks").json["version"]
    assert len(version["package"]) == 64 and version["package_name"] == tmp_path.name
    create(server, "talking", "talks", "@every 1s")

    def said():
        done = [run for run in runs(server, "talking") if run["state"] == "succeeded"]
        return done and server.paddle("run", "logs", done[0]["id"], check=0).stdout

    assert "from the stored directory" in wait_for(said, PATIENCE, "a run with its program")
    server.post("/v1/schedules/talking/stop")
    made = server.paddle("run", "create", "talks", check=0).stdout.strip()
    assert server.paddle("run", "wait", made).returncode == 0
    assert server.post(f"/v1/runs/{made}/retry", {"from": "say"}).status == 201
    definition.write_text(definition.read_text().replace("say.py", "other.py"))
    (tmp_path / "other.py").write_text("raise SystemExit(3)\n")
    assert server.paddle("pipeline", "update", "talks", definition, check=0).stdout == "talks@2\n"
    changed = server.get("/v1/pipelines/talks").json["version"]["package"]
    assert changed not in (None, version["package"])
    assert (
        server.paddle("run", "wait", server.paddle("run", "create", "talks@1", check=0).stdout.strip()).returncode == 0
    )
    server.paddle("pipeline", "update", "talks", definition, "--no-package", check=0)
    assert server.get("/v1/pipelines/talks").json["version"]["package"] is None
    reply = server.post("/v1/pipelines", {"definition": QUICK.replace("NAME", "lacks"), "package": "0" * 64})
    assert (reply.status, "not on this server" in reply.json["message"]) == (404, True), reply.body


def test_missed_ticks_are_made_up_for_or_dropped(server):
    store(server, "missed")
    create(server, "made_up", "missed", "@every 1s")
    create(server, "dropped", "missed", "@every 1s", catchup=False)
    create(server, "expired", "missed", "@every 1s", expire_s=1)
    names = ("made_up", "dropped", "expired")
    wait_for(lambda: all(runs(server, name) for name in names), PATIENCE, "the first runs")
    server.kill()
    gone = time.time()
    wait_for(lambda: time.time() > gone + 4, PATIENCE, "some missed ticks")
    server.start()
    many = {name: len(runs(server, name)) + 5 for name in names}
    wait_for(lambda: all(len(runs(server, name)) >= many[name] for name in ("made_up", "expired")), PATIENCE, "runs")
    wait_for(lambda: moment(runs(server, "dropped")[-1]["scheduled_at"]).timestamp() > gone + 4, PATIENCE, "a run")
    for name in names:
        server.post(f"/v1/schedules/{name}/stop")
    assert {item["state"] for item in check_ticks(server, "made_up", 1)} <= {"succeeded", "running"}
    assert "skipped" in {item["state"] for item in check_ticks(server, "expired", 1)}
    times = [moment(item["scheduled_at"]).timestamp() for item in runs(server, "dropped")]
    assert max(later - earlier for earlier, later in zip(times, times[1:])) >= 3


def test_who_is_disabled_begins_no_runs(server):
    """The schedule says why, and goes on later. A token for one queue only does not stop it."""
    dan = Person(server, "dan")
    for path, body in (
        ("/v1/pipelines", {"definition": QUICK.replace("NAME", "often")}),
        ("/v1/schedules", {"name": "of_dan", "pipeline": "often", "crontab": "@every 1s", "catchup": False}),
    ):
        reply = server.request("POST", path, body, dan.headers)
        assert reply.status == 201, reply.body
    made = reply.json["id"]
    assert server.request("PATCH", "/v1/users/dan", {"disabled": True}).status == 200
    wait_for(
        lambda: server.get(f"/v1/schedules/{made}").json["message"] == "user 'dan' is disabled", PATIENCE, "the reason"
    )
    assert server.request("PATCH", "/v1/users/dan", {"disabled": False}).status == 200
    wait_for(lambda: not server.get(f"/v1/schedules/{made}").json["message"], PATIENCE, "the next run")
    token = server.post("/v1/tokens", {"user": "dan", "queue": "default"}).json["token"]
    reply = server.request("DELETE", f"/v1/schedules/{made}", headers={"Authorization": f"Bearer {token}"})
    assert reply.status == 403, reply.body
