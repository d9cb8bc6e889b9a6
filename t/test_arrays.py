"""An array of jobs is one thing: `sw` is all of it, `sw[3]` (or `sw-3`) one of its jobs, for every verb and in the API."""

import json
import os
import subprocess

import paddlecloud
import pytest
from conftest import BIN, server_of_module, wait_for

PATIENCE = 60

server = server_of_module("--cpus", "16", "--memory", "8Gi")


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


def submit(server, name, indices, script, *words):
    done = server.paddle(
        *("submit", "--no-package", "--name", name, "--cpu", "100m", "--array", indices, *words),
        *("--", "sh", "-c", script),
        check=0,
    )
    said, identity = done.stdout.split()
    assert said == name
    return identity


def waiting(gate, then="true"):
    """Waits for the gate, then does the rest."""
    return f"until test -e {gate}; do sleep 0.02; done; {then}"


def shown(server, word):
    return json.loads(server.paddle("status", word, "-o", "json", check=0).stdout)


def states(server, array):
    items = json.loads(server.paddle("list", "--array", array, "-o", "json", check=0).stdout)
    return {item["array"]["index"]: item["state"] for item in items}


def test_wait_is_for_all_of_it(server, gate):
    """The first job ends at once; the others do not."""
    array = submit(server, "waits", "0-2", f"test $PADDLE_ARRAY_INDEX = 0 || {{ {waiting(gate)}; }}")
    server.paddle("wait", "waits[0]", check=0)
    server.paddle("wait", "waits-0", check=0)
    first = shown(server, "waits[0]")["id"]
    server.paddle("wait", first, check=0)  # the first job has an id of its own
    assert first != array and not job_ended(server, array)
    gate.touch()
    for word in ("waits", array):
        done = server.paddle("wait", word, check=0)
        assert done.stdout.startswith("waits succeeded"), done.stdout
    assert states(server, "waits") == {0: "succeeded", 1: "succeeded", 2: "succeeded"}


def job_ended(server, word):
    return server.get(f"/v1/jobs/{word}").json["state"] in ("succeeded", "failed", "cancelled", "preempted")


def test_wait_fails_when_one_failed(server):
    submit(server, "fails", "0-4:2", "test $PADDLE_ARRAY_INDEX != 2")
    done = server.paddle("wait", "fails")
    assert done.returncode == 1 and "1 of its 3 jobs failed" in done.stdout, done
    assert server.paddle("wait", "fails[0]", "fails[4]").returncode == 0
    assert server.paddle("wait", "fails[2]").returncode == 1
    status = server.paddle("status", "fails", check=0).stdout
    assert "1 failed, 2 succeeded" in status and "fails[2] failed: worker-0 exited with status 1" in status
    assert "fails-2" in server.paddle("status", "fails[2]", check=0).stdout


@pytest.mark.parametrize("word", ["none[3]", "no-such", "fails2[x]", "[3]", "index[5]", "index-5"])
def test_what_is_not_there(server, word):
    if word.startswith("index"):
        submit(server, "index", "0-3", "true")
        server.paddle("wait", "index", check=0)
    done = server.paddle("status", word)
    assert done.returncode in (1, 2) and done.stderr.startswith("paddle: "), done
    if word == "index[5]":
        assert "array 'index' has no job 5; its jobs are 0-3" in done.stderr


def test_logs_have_the_element_in_front(server):
    submit(server, "says", "0-2", "echo line $PADDLE_ARRAY_INDEX of $PADDLE_ARRAY_SIZE in $PADDLE_ARRAY_ID")
    server.paddle("wait", "says", check=0)
    array = shown(server, "says")["id"]
    lines = server.paddle("logs", "says", check=0).stdout.splitlines()
    assert lines == [f"says[{i}] worker-0 | line {i} of 3 in {array}" for i in range(3)]
    assert server.paddle("logs", "says[1]", check=0).stdout == f"worker-0 | line 1 of 3 in {array}\n"
    followed = server.paddle("logs", "-f", "says", check=0).stdout.splitlines()
    assert sorted(followed) == lines


def test_a_restart_is_said_once(server, gate, tmp_path):
    """However many of the array's jobs are followed: all of them lose their connection."""
    submit(server, "cut", "0-7", f"echo begun; while [ ! -e {gate} ]; do sleep 0.1; done")
    wait_for(lambda: server.get("/v1/jobs/cut").json["elements"].get("running") == 8, what="eight that run")
    said, printed = tmp_path / "said", tmp_path / "printed"
    with open(printed, "w") as out, open(said, "w") as err:
        line = [BIN / "paddle", "logs", "-f", "cut"]
        env = {**os.environ, "PADDLE_SERVER": server.url, "HOME": str(tmp_path)}
        follower = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env)
    try:
        wait_for(lambda: printed.read_text().count("begun") == 8, what="eight lines")
        server.kill()
        wait_for(lambda: "connection lost" in said.read_text(), what="that the connection is lost")
        server.start()
        wait_for(lambda: "connected again" in said.read_text(), what="that it is back")
        gate.touch()
        assert follower.wait(PATIENCE) == 0, said.read_text()
    finally:
        gate.touch()
        follower.kill()
        follower.wait()
    words = said.read_text()
    assert "GET " not in words, words
    assert (words.count("connection lost"), words.count("connected again")) == (1, 1), words
    assert printed.read_text().count("begun") == 8


def test_submit_follows_an_array(server):
    script = "echo begun $PADDLE_ARRAY_INDEX; test $PADDLE_ARRAY_INDEX != 3"
    done = server.paddle(
        *("submit", "--no-package", "--name", "follows", "--cpu", "100m", "--array", "0-39%4", "--follow"),
        *("--", "sh", "-c", script),
    )
    assert done.returncode == 1, done
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]  # names are padded to one width
    assert sorted(lines) == sorted(f"follows[{i}] worker-0 | begun {i}" for i in range(40))
    assert "follows failed after" in done.stderr and "1 of its 40 jobs failed" in done.stderr
    assert "follows[3] failed: worker-0 exited with status 1" in done.stderr


def test_after_an_array_and_after_one_of_its_jobs(server, gate):
    submit(server, "before", "0-2", f"test $PADDLE_ARRAY_INDEX = 0 || {{ {waiting(gate)}; }}")
    for word in ("ok:before[0]", "before-0", "ok:" + shown(server, "before[0]")["id"]):
        server.paddle(
            *("submit", "--no-package", "--name", "one", "--cpu", "100m", "--after", word, "--", "true"), check=0
        )
        server.paddle("wait", "one", check=0)
    server.paddle(
        *("submit", "--no-package", "--name", "all", "--cpu", "100m", "--after", "before", "--", "true"), check=0
    )
    array = shown(server, "before")["id"]
    reason = shown(server, "all")["reason"]
    assert reason == f"waiting for array 'before' ({array}) to succeed, 2 of its jobs are open"
    server.paddle(
        *("submit", "--no-package", "--name", "third", "--cpu", "100m", "--after", "before[2]", "--", "true"), check=0
    )
    third = shown(server, "before[2]")["id"]
    assert f"waiting for job 'before[2]' ({third}) to succeed" in shown(server, "third")["reason"]
    gate.touch()
    server.paddle("wait", "all", "third", check=0)


def test_after_an_array_that_fails(server, gate):
    submit(server, "breaks", "0-1", waiting(gate, "test $PADDLE_ARRAY_INDEX = 0"))
    server.paddle(
        *("submit", "--no-package", "--name", "never", "--cpu", "100m", "--after", "ok:breaks", "--", "true"), check=0
    )
    gate.touch()
    assert server.paddle("wait", "never").returncode == 1
    never, array = shown(server, "never"), shown(server, "breaks")["id"]
    assert (
        never["state"] == "cancelled"
        and f"it waited for array 'breaks' ({array}) to succeed, but that failed" in never["reason"]
    ), never


def test_cancel_hold_release_requeue_set_and_delete(server, gate):
    submit(server, "acts", "0-3%2", waiting(gate), "--grace", "1s")
    wait_for(lambda: shown(server, "acts")["elements"].get("running") == 2, PATIENCE, "two that run")
    assert "4 jobs" in server.paddle("delete", "acts").stderr and not job_ended(server, "acts")
    server.paddle("set", "acts", "--priority", "-7", "--label", "k=v")  # priority: of those that wait
    assert [shown(server, f"acts[{i}]")["priority"] for i in range(4)] == [0, 0, -7, -7]
    server.paddle("hold", "acts", check=0)
    wait_for(lambda: shown(server, "acts")["elements"] == {"total": 4, "suspended": 4}, PATIENCE, "four that are held")
    assert shown(server, "acts")["state"] == "suspended"
    server.paddle("release", "acts[1]", check=0)
    wait_for(lambda: states(server, "acts")[1] == "running", PATIENCE, "the one that was released")
    attempt = shown(server, "acts[1]")["attempt"]
    server.paddle("requeue", "acts[1]", check=0)
    wait_for(lambda: shown(server, "acts[1]")["attempt"] == attempt + 1, PATIENCE, "its next attempt")
    server.paddle("cancel", "acts[3]", check=0)
    assert states(server, "acts")[3] == "cancelled"
    server.paddle("release", "acts", check=0)
    wait_for(lambda: shown(server, "acts")["elements"].get("running") == 2, PATIENCE, "two that run")
    server.paddle("cancel", "--force", "acts", check=0)
    assert server.paddle("wait", "acts").returncode == 1
    assert set(states(server, "acts").values()) == {"cancelled"}
    refused = server.paddle("cancel", "acts")
    assert refused.returncode == 1 and "array 'acts'" in refused.stderr and "already ended" in refused.stderr
    refused = server.paddle("delete", "acts-2")  # without the jobs that failed an array would have succeeded
    assert refused.returncode == 1 and "paddle delete acts" in refused.stderr
    server.paddle("delete", "acts", check=0)
    assert server.paddle("status", "acts").returncode == 1 and server.paddle("status", "acts-1").returncode == 1


def test_lists_show_an_array_as_one_row(server):
    submit(server, "rows", "0-99%5", "test $PADDLE_ARRAY_INDEX != 7")
    server.paddle("submit", "--no-package", "--name", "single", "--cpu", "100m", "--", "true", check=0)
    server.paddle("wait", "single", check=0)
    server.paddle("wait", "rows")
    rows = [line.split() for line in server.paddle("list", check=0).stdout.splitlines()[1:]]
    mine = [row for row in rows if row[0].startswith(("rows", "single"))]
    assert [row[0] for row in mine] == ["single", "rows"] and mine[1][3:7] == ["1", "failed,", "99", "succeeded"]
    names = server.paddle("list", "--array", "rows", "--state", "failed", check=0).stdout.split()
    assert "rows[7]" in names and len([name for name in names if name.startswith("rows[")]) == 1
    page = server.get("/v1/jobs?collapse=true&state=failed&limit=1000").json["items"]
    assert "rows" in [item["name"] for item in page] and "single" not in [item["name"] for item in page]
    page = server.get("/v1/jobs?collapse=true&state=succeeded&limit=1000").json["items"]
    assert "rows" not in [item["name"] for item in page] and "single" in [item["name"] for item in page]
    markers, seen, after = set(), [], ""
    while after is not None:  # one item a page
        reply = server.get(f"/v1/jobs?collapse=true&limit=1{after}").json
        seen += [item["name"] for item in reply["items"]]
        after = reply["next"] and f"&after={reply['next']}"
        assert after not in markers
        markers.add(after)
    assert seen.count("rows") == 1 and seen.count("single") == 1


def test_explain_and_events(server, gate):
    submit(server, "told", "0-2%1", waiting(gate))
    wait_for(lambda: shown(server, "told[0]")["state"] == "running", PATIENCE, "the first")
    assert "told-1" in server.paddle("explain", "told", check=0).stdout
    assert "told-2" in server.paddle("explain", "told[2]", check=0).stdout
    gate.touch()
    server.paddle("wait", "told", check=0)
    events = json.loads(server.paddle("events", "told", "-o", "json", check=0).stdout)
    assert {event["name"] for event in events} == {"told-0", "told-1", "told-2"}
    assert [event["revision"] for event in events] == sorted(event["revision"] for event in events)
    one = json.loads(server.paddle("events", "told[1]", "-o", "json", check=0).stdout)
    assert {event["name"] for event in one} == {"told-1"} and len(one) < len(events)
    assert server.paddle("explain", "told", check=0).stdout.startswith("told (a")
    refused = server.paddle("exec", "told", "--", "true")
    assert refused.returncode == 2 and "'told' is an array of 3 jobs" in refused.stderr and "told-" in refused.stderr


def test_the_newest_of_a_name(server):
    """Of jobs and arrays alike."""
    submit(server, "same", "0-1", "true")
    server.paddle("wait", "same", check=0)
    assert shown(server, "same")["elements"]["total"] == 2
    server.paddle("submit", "--no-package", "--name", "same", "--cpu", "100m", "--", "true", check=0)
    server.paddle("wait", "same", check=0)
    assert "elements" not in shown(server, "same")
    second = submit(server, "same", "5-7", "true")
    server.paddle("wait", "same", check=0)
    assert (shown(server, "same")["id"], shown(server, "same")["elements"]["total"]) == (second, 3)
    assert server.paddle("status", "same[0]").returncode == 1  # of the newest array there is none
    assert shown(server, "same-0")["array"]["index"] == 0
    submit(server, "same-5", "0-1", "true")  # its jobs are same-5-0 and same-5-1
    server.paddle("wait", "same-5", check=0)
    assert shown(server, "same-5")["elements"]["total"] == 2 and shown(server, "same[5]")["array"]["id"] == second


def test_an_array_outlives_the_server(server, gate):
    array = submit(server, "lives", "0-2", waiting(gate, "test $PADDLE_ARRAY_INDEX != 1"))
    server.paddle(
        *("submit", "--no-package", "--name", "heir", "--cpu", "100m", "--after", "any:lives", "--", "true"), check=0
    )
    server.kill()
    server.start()
    assert shown(server, "lives")["id"] == array and not job_ended(server, "lives")
    gate.touch()
    assert server.paddle("wait", "lives").returncode == 1
    server.paddle("wait", "heir", check=0)


def test_ten_thousand_jobs_are_counted_not_sent(server, gate):
    submit(server, "many", "0-9999%1", waiting(gate))
    wait_for(lambda: shown(server, "many")["elements"].get("running") == 1, PATIENCE, "the first")
    reply = server.get("/v1/jobs/many")
    assert reply.json["elements"] == {"total": 10000, "running": 1, "queued": 9999} and len(reply.body) < 4096
    server.paddle("cancel", "--force", "many", check=0)
    assert server.paddle("wait", "many").returncode == 1
    assert shown(server, "many")["elements"] == {"total": 10000, "cancelled": 10000}
    server.paddle("delete", "many", check=0)
    assert server.paddle("status", "many").returncode == 1


def test_submitted_in_json_it_is_the_array(server):
    done = server.paddle(
        *("submit", "--no-package", "--name", "told-json", "--cpu", "100m", "--array", "0-2%2", "-o", "json"),
        *("--", "true"),
        check=0,
    )
    said = json.loads(done.stdout)
    assert (said["name"], said["elements"]["total"]) == ("told-json", 3)
    assert said["array"] == {"id": said["id"], "name": "told-json", "indices": "0-2%2", "size": 3, "max": 2}


def test_in_python(server, gate):
    with paddlecloud.Client(server.url) as client:
        array = client.submit(
            {
                "command": waiting(gate, 'echo "$PADDLE_ARRAY_INDEX"'),
                "name": "py",
                "array": "0-2",
                "roles": [{"name": "worker", "cpu": "100m"}],
            }
        )
        assert array.is_array and array.name == "py" and array.elements["total"] == 3
        with pytest.raises(TimeoutError):
            client.wait("py", timeout=0.1)
        gate.touch()
        ended = client.wait(array.id, timeout=PATIENCE)
        assert ended.state == "succeeded" and ended.elements == {"total": 3, "succeeded": 3}
        one = client.job("py[2]")
        assert not one.is_array and one.array["index"] == 2 and client.job("py-2").id == one.id
        assert [(line.job, line.text) for line in client.logs("py")] == [(f"py[{i}]", str(i)) for i in range(3)]
        assert sorted(job.array["index"] for job in client.jobs(array="py")) == [0, 1, 2]
