"""What a team sees that shares one room: lent shares and their return, warnings, gangs, limits, reasons (doc/guide/scheduling.md).

The room is declared, the jobs only wait: four cores, 8 GiB, four GPUs. After each test the scheduler's journal is played
again and must say the same.
"""

import datetime
import json
import re

import pytest
from conftest import FINAL, Server, wait_for
from test_tokens import call, make_token, refused

CPUS, GPUS = 4, 4

# A member that says what happens to it, with the time, in a file outside: `begin` with its attempt and index, the signal
# it gets, `end`. What follows decides how it takes a warning.
PRELUDE = (
    'a=${PWD%%/work}; a=${a##*/}; note() { echo "$1 $a ${PADDLE_TRAINER_ID:-0} $(date +%%s%%N)" >> %(notes)s; }; '
    "%(script)s"
)
BEGIN = "note begin; "
STAY = BEGIN + "while :; do sleep 600 & wait; done"  # it has begun when its traps are there
SAVES = "trap 'note warned; exit 0' USR1; " + STAY
IGNORES = "trap 'note warned' USR1; trap 'note term' TERM; " + STAY


class Note:
    def __init__(self, line):
        self.what, attempt, index, time = line.split()
        self.attempt, self.index, self.time = int(attempt), int(index), int(time) / 1e9


class Room:
    """A server, and jobs of few words on it."""

    def __init__(self, server, notes):
        self.server, self.notes = server, notes
        self.get, self.post, self.request = server.get, server.post, server.request
        self.wait, self.job, self.paddle = server.wait, server.job, server.paddle

    def queue(self, name, **about):
        reply = self.post("/v1/queues", {"name": name, **about})
        assert reply.status == 201, reply.body
        return reply.json

    def change(self, name, **about):
        reply = self.request("PATCH", f"/v1/queues/{name}", about)
        assert reply.status == 200, reply.body
        return reply.json

    def spec(self, name, queue="default", script=STAY, cpu="1", replicas=1, gpus=0, least=None, **about):
        role = {"name": "worker", "replicas": replicas, "cpu": cpu, "gpus": gpus}
        if least is not None:
            role["min"] = least
        script = PRELUDE % {"notes": self.notes / name, "script": script}
        spec = {"name": name, "queue": queue, "command": ["sh", "-c", script], "roles": [role], "grace": "10s"}
        return {**spec, **about}

    def submit(self, name, queue="default", state=None, **about):
        reply = self.post("/v1/jobs", self.spec(name, queue, **about))
        assert reply.status == 201, reply.body
        return self.wait(reply.json["id"], state) if state else reply.json

    def runs(self, name, queue="default", **about):
        """A job that runs, and all of whose members are at work: they have written it."""
        job = self.submit(name, queue, "running", **about)
        n = sum(member["state"] != "surplus" for member in self.members(job))
        wait_for(lambda: len(self.story(name, "begin")) >= n, 30, f"{n} members of '{name}'")
        return job

    def waits(self, name, queue="default", cause=None, **about):
        """A job that waits, and why."""
        job = self.submit(name, queue, "queued", **about)
        if cause:
            assert self.explain(job)["cause"] == cause, self.explain(job)
        return job

    def story(self, name, what=None):
        path = self.notes / name
        notes = [Note(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [note for note in notes if what in (None, note.what)]

    def members(self, job):
        return self.get(f"/v1/jobs/{job['id']}/members").json["items"]

    def states(self, job):
        """How many members are in which state."""
        states = [member["state"] for member in self.members(job)]
        return {state: states.count(state) for state in states}

    def events(self, job, *kinds):
        items = self.get(f"/v1/jobs/{job['id']}/events?limit=10000").json["items"]
        return [event for event in items if not kinds or event["kind"] in kinds]

    def explain(self, job):
        reply = self.get(f"/v1/jobs/{job['id']}/explain")
        assert reply.status == 200, reply.body
        return reply.json

    def dry_run(self, *args, **about):
        reply = self.post("/v1/jobs?dry_run=true", self.spec(*args, **about))
        assert reply.status == 200, reply.body
        return reply.json

    def what_if(self, queue, **about):
        reply = self.request("PATCH", f"/v1/queues/{queue}?what_if=true", about)
        assert reply.status == 200, reply.body
        return reply.json

    def act(self, job, verb):
        reply = self.post(f"/v1/jobs/{job['id']}/{verb}")
        assert reply.status == 200, reply.body
        return reply.json

    def cancel(self, job, wait=True):
        assert self.request("DELETE", f"/v1/jobs/{job['id']}").status == 200
        return self.wait(job["id"], "cancelled") if wait else None

    def again(self, job, attempt=2):
        """The job once it runs in this attempt."""
        return wait_for(
            lambda: (now := self.job(job["id"]))["attempt"] == attempt and now["state"] == "running" and now,
            60,
            f"attempt {attempt}",
        )

    def figures(self, queue):
        return next(q for q in self.get("/v1/scheduler").json["queues"] if q["name"] == queue)

    def decided(self, job, *wanted):
        """Waits until the journal has these decisions about a job: it is written through a buffer."""

        def found():
            items = self.get("/v1/scheduler/decisions?limit=1000").json["items"]
            return set(wanted) <= {(d["kind"], d["rule"]) for d in items if d["job"] == job["id"]}

        return wait_for(found, 20, f"the decisions {wanted}")

    def clear(self):
        """Jobs end, queues and clusters go."""
        states = "state=queued,suspended,starting,running,stopping,preempting"
        for job in self.get(f"/v1/jobs?all=true&limit=1000&{states}").json["items"]:
            self.request("DELETE", f"/v1/jobs/{job['id']}")
        wait_for(lambda: self.get("/v1/info").json["jobs"]["open"] == 0, 60, "the end of all jobs")
        for kind in ("queues", "clusters"):
            left = [item["name"] for item in self.get(f"/v1/{kind}?limit=1000").json["items"]]
            left = [name for name in left if not name.startswith("default")]
            while left:  # children before parents
                gone = [name for name in left if self.request("DELETE", f"/v1/{kind}/{name}").status == 204]
                left = [name for name in left if name not in gone]
                assert gone or not left, left


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    options = ("--cpus", CPUS, "--memory", "8Gi", "--gpus", GPUS, "--listen", "127.0.0.1:0")
    server = Server(tmp_path_factory.mktemp("state"), *options).start()
    yield server
    server.destroy()


@pytest.fixture
def room(served, tmp_path):
    room = Room(served, tmp_path)
    yield room
    room.clear()
    replayed(room)


def replayed(room):
    """Plays the journal again; what it says about itself."""
    done = room.paddle("sched", "replay", "-o", "json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["identical"] is True, done.stdout + done.stderr
    return said


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def by_name(room, changes):
    return {change["name"]: (change["now"]["state"], change["then"]["state"]) for change in changes["changes"]}


# -- what is lent comes back


# Who has saved does not wait for the end of the grace.
@pytest.mark.parametrize("script, grace", [(SAVES, "1h"), (IGNORES, "2s")], ids=["saves", "ignores"])
def test_what_is_lent_comes_back_after_a_warning(room, script, grace):
    """`a` has borrowed what `b` is guaranteed; b's first job gets it within the grace period of a's."""
    room.queue("a", min={"cpu": "1"})
    room.queue("b", min={"cpu": "3"})
    own = room.runs("own", "a")
    lent = room.runs("lent", "a", cpu="3", script=script, grace=grace, signal="USR1@1s")
    assert (room.figures("a")["borrowed"], room.figures("b")["lent"]) == ({"cpu": "3"}, {"cpu": "3"})
    foretold = room.dry_run("wants", "b", cpu="3")
    assert [(e["job"], e["shrinks"]) for e in foretold["evicts"]] == [(lent["id"], False)], foretold

    wants = room.submit("wants", "b", cpu="3")
    wait_for(lambda: room.story("lent", "warned"), 30, "the warning")
    room.wait(wants["id"], "running")
    wait_for(lambda: room.story("wants", "begin"), 30, "its beginning")
    gone = room.wait(lent["id"], "queued")
    assert (gone["attempt"], gone["failures"], gone["evictions"]) == (1, 0, 1), gone
    (warning,) = room.events(lent, "job.preempting")
    assert warning["data"]["for"] == wants["id"] and warning["data"]["attempt"] == 1
    (requeued,) = room.events(lent, "job.requeued")
    took = seconds(requeued["time"]) - seconds(warning["time"])
    if script == IGNORES:
        assert 1.9 <= took < 60, took  # its grace was given to it, and no more
        assert [note.what for note in room.story("lent")] == ["begin", "warned"]  # KILL follows the grace, and no TERM
    assert room.job(own["id"])["state"] == "running"  # what `a` is guaranteed was not touched
    room.decided(lent, ("evict", "reclaim"))
    room.decided(wants, ("start", "nominated"))
    assert room.explain(lent)["cause"] in ("resources", "behind"), room.explain(lent)

    room.cancel(wants)
    back = room.again(lent)
    assert (back["failures"], back["retries"], back["evictions"]) == (0, 0, 1), back  # no retry was used: it has none
    wait_for(lambda: [n.attempt for n in room.story("lent", "begin")] == [1, 2], 30, "its second beginning")
    assert room.story("wants", "begin")[0].time > room.story("lent", "warned")[0].time


def test_what_may_not_be_taken_back_stays(room):
    """A job that is not preemptable, and a queue that is not reclaimable: the reason says to whom it is lent."""
    room.queue("a")
    room.queue("b", min={"cpu": "2"})
    fast = room.runs("fast", "a", cpu="4", preemptable=False)
    wants = room.waits("wants", "b", cpu="2")
    reason = room.explain(wants)["reasons"][0]
    assert (reason["cause"], reason["resource"], reason["asked"], reason["free"]) == ("lent", "cpu", "2", "0"), reason
    assert (reason["lent"], reason["lent_to"], reason["queue"]) == ("2", "a", "b"), reason
    assert room.dry_run("more", "b", cpu="1")["evicts"] == []
    room.cancel(fast)
    room.wait(wants["id"], "running")
    room.cancel(wants)

    room.change("a", reclaimable=False)
    kept = room.runs("kept", "a", cpu="4")
    again = room.waits("again", "b", cause="lent", cpu="2")
    room.change("a", reclaimable=True)  # and now it may
    room.wait(again["id"], "running")
    room.wait(kept["id"], "queued")
    assert room.job(kept["id"])["evictions"] == 1 and room.events(fast, "job.preempting") == []


def test_what_is_reserved_is_never_lent(room):
    room.queue("b", min={"cpu": "3"}, reserved={"cpu": "2"})
    room.queue("a")
    room.runs("two", "a", cpu="2")  # 4 less the 2 that stay b's
    room.waits("third", "a", cpu="1")
    room.runs("mine", "b", cpu="2")  # without waiting for anybody
    assert room.figures("a")["used"] == {"cpu": "2"}


# -- preemption inside a queue


def test_preemption_takes_lower_priority_and_least_lost_work(room):
    room.queue("team", max={"cpu": "4"}, preemption="lower-priority")
    old = room.runs("old", "team")
    low = room.runs("low", "team", priority="low")
    saved = room.runs("saved", "team", script=SAVES, signal="USR1@1s", grace="60s")
    high = room.runs("higher", "team", priority="very-high")
    room.act(saved, "saved")  # nothing would be lost
    foretold = room.dry_run("wants", "team", cpu="2", priority="high")
    assert {e["name"] for e in foretold["evicts"]} == {"low", "saved"}, foretold

    wants = room.submit("wants", "team", cpu="2", priority="high")
    room.wait(wants["id"], "running")
    wait_for(lambda: room.story("saved", "warned"), 10, "the warning")
    for job in (low, saved):
        gone = room.wait(job["id"], "queued")
        assert (gone["attempt"], gone["failures"], gone["evictions"]) == (1, 0, 1), gone
    room.decided(low, ("evict", "preempt"))
    room.decided(saved, ("evict", "preempt"))
    assert room.job(old["id"])["state"] == room.job(high["id"])["state"] == "running"
    equal = room.waits("equal", "team", priority="normal")  # 'old' is its equal: equals are not preempted
    assert room.dry_run("peer", "team", priority="normal")["evicts"] == []
    room.cancel(wants)
    room.wait(equal["id"], "running")  # before 'low', which is older
    room.again(saved)


def test_a_job_may_end_when_it_is_preempted(room):
    room.queue("team", max={"cpu": "4"}, preemption="lower-priority")
    low = room.runs(
        "low", "team", cpu="4", priority="low", script="echo kept; " + SAVES, signal="USR1@1s", on_preempt="end"
    )
    after = room.submit("after", "team", after=[f"any:{low['id']}"])
    never = room.submit("never", "team", after=[f"ok:{low['id']}"])
    high = room.submit("high", "team", cpu="4", priority="high")
    room.wait(high["id"], "running")
    ended = room.wait(low["id"], "preempted")
    assert (ended["attempt"], ended["failures"]) == (1, 0) and high["id"] in ended["reason"], ended
    assert [e["kind"] for e in room.events(low, "job.preempting", "job.preempted", "job.requeued")] == [
        "job.preempting",
        "job.preempted",
    ]
    assert room.server.member_log(low["id"]) == "kept\n"
    assert room.wait(never["id"])["state"] == "cancelled"
    room.cancel(high)
    room.wait(after["id"], "running")


def test_without_preemption_nobody_goes(room):
    room.queue("team", max={"cpu": "4"})
    low = room.runs("low", "team", cpu="4", priority="very-low")
    high = room.waits("high", "team", priority="very-high")
    assert room.explain(high)["cause"] in ("queue_max", "resources")
    assert room.job(low["id"])["evictions"] == 0


# -- elastic jobs


def test_an_elastic_job_shrinks_before_anybody_goes(room):
    room.queue("a", min={"cpu": "1"})
    room.queue("b", min={"cpu": "2"})
    rigid = room.runs("rigid", "a")
    wide = room.runs("wide", "a", replicas=3, least=1, grace="60s")
    pids = {member["name"]: member["pid"] for member in room.members(wide)}
    wait_for(lambda: room.states(wide) in ({"running": 3}, {"ready": 3}), what="the word of all three")
    foretold = room.dry_run("wants", "b", cpu="2")
    assert [(e["name"], e["shrinks"]) for e in foretold["evicts"]] == [("wide", True)], foretold

    wants = room.submit("wants", "b", cpu="2")
    room.wait(wants["id"], "running")
    members = {member["name"]: member for member in room.members(wide)}
    assert [members[f"worker-{i}"]["state"] for i in (1, 2)] == ["surplus"] * 2, members  # the highest go
    assert members["worker-0"]["pid"] == pids["worker-0"] and members["worker-0"]["state"] in ("running", "ready")
    now = room.job(wide["id"])
    assert (now["state"], now["attempt"], now["failures"]) == ("running", 1, 0), now
    assert room.job(rigid["id"])["evictions"] == 0
    (shrunk,) = room.events(wide, "job.shrunk")
    assert (shrunk["data"]["for"], shrunk["data"]["members"]) == (wants["id"], 2)
    room.decided(wide, ("shrink", "reclaim"))

    room.cancel(wants)
    wait_for(lambda: sum(room.states(wide).get(s, 0) for s in ("running", "ready")) == 3, 30, "its growth")
    (grown,) = room.events(wide, "job.grown")
    assert grown["data"]["members"] == 2 and room.job(wide["id"])["attempt"] == 1
    wait_for(lambda: [n.index for n in room.story("wide", "begin")].count(2) == 2, 30, "its new beginning")
    room.decided(wide, ("grow", "grow"))


def test_logs_of_members_that_left_are_kept(room):
    room.queue("b", min={"cpu": "3"})
    wide = room.runs("wide", replicas=4, least=1, script="echo here $a; " + STAY)
    wants = room.submit("wants", "b", cpu="3")
    room.wait(wants["id"], "running")
    for index in range(4):
        assert room.server.member_log(wide["id"], f"worker-{index}") == "here 1\n"
    room.cancel(wants)
    wait_for(lambda: len(room.story("wide", "begin")) == 7, 30, "its growth")
    wait_for(
        lambda: (
            [room.server.member_log(wide["id"], f"worker-{i}") for i in range(4)] == ["here 1\n"] + ["here 1\n" * 2] * 3
        ),
        10,
        "what both lives wrote",
    )


def test_an_elastic_job_begins_with_its_least(room):
    rigid = room.runs("rigid", cpu="2")
    wide = room.runs("wide", replicas=4, least=2)
    assert room.states(wide).get("surplus") == 2
    narrow = room.waits("narrow", replicas=3, least=2)  # who is at its least gives nothing
    room.cancel(rigid)
    room.wait(narrow["id"], "running")  # every least comes before any more
    assert room.states(wide).get("surplus") == 2 and room.states(narrow).get("surplus") == 1


# -- gangs


def test_a_gang_starts_whole_or_not_at_all(room):
    first = room.runs("first")
    gang = room.waits("gang", replicas=2, cpu="2", cause="resources")
    reason = room.explain(gang)["reasons"][0]
    assert (reason["resource"], reason["asked"], reason["free"]) == ("cpu", "4", "3"), reason
    assert not room.story("gang") and room.get("/v1/scheduler").json["free"]["cpu"] == "3"
    assert not any(member["pid"] for member in room.members(gang))
    room.cancel(first)
    room.wait(gang["id"], "running")
    wait_for(lambda: {n.index for n in room.story("gang", "begin")} == {0, 1}, 30, "both members")


# -- backfill


@pytest.mark.parametrize("limit, cause", [({}, "resources"), ({"cpu": "4"}, "queue_max")], ids=["room", "quota"])
def test_backfill_behind_a_head_that_is_blocked(room, limit, cause):
    """The head waits for four cores, which it gets when the hour of the running job is over."""
    room.queue("line", max=limit)
    long = room.runs("long", "line", cpu="2", time_limit="1h")
    head = room.waits("head", "line", cpu="4", time_limit="1h", cause=cause)
    short = room.submit("short", "line", time_limit="30m")
    late = room.submit("late", "line", time_limit="2h")
    endless = room.submit("endless", "line")
    room.wait(short["id"], "running")
    room.decided(short, ("start", "backfill"))
    starts = room.explain(head)["expected_start"]
    expected = seconds(room.job(long["id"])["running_at"]) + 3600
    assert abs(seconds(starts) - expected) < 60, (starts, expected)
    for job in (late, endless):
        assert room.job(job["id"])["state"] == "queued"
        said = room.explain(job)
        assert said["cause"] in ("reserved", "behind") and head["id"] in str(said["reasons"]), said
    room.change("line", backfill=False)  # what fits starts, in the order of age
    room.wait(late["id"], "running")
    assert room.job(head["id"])["state"] == "queued"


def test_what_the_head_does_not_need_may_pass_it(room):
    """When nobody knows when the head will start, others start on what it does not lack."""
    room.queue("line", max={"cpu": "4"})
    room.runs("long", "line", cpu="1", gpus=3)
    head = room.waits("head", "line", cpu="1", gpus=2, cause="resources")
    room.waits("card", "line", cpu="1", gpus=1)
    room.runs("bare", "line", cpu="1")
    assert room.explain(head)["expected_start"] is None
    assert room.explain(head)["reasons"][0]["resource"] == "nvidia.com/gpu"


# -- limits


def test_limits_per_user(room, served):
    room.queue("team", everyone=True, max_running_per_user=1, max_open_per_user=2)
    tokens = {name: make_token(served, user=name)["token"] for name in ("ann", "bob")}

    def submit(user, name):
        return call(served, "/v1/jobs", tokens[user], "POST", json.dumps(room.spec(name, "team")))

    first, second = submit("ann", "first").json, submit("ann", "second").json
    room.wait(first["id"], "running")
    reason = room.explain(second)["reasons"][0]
    assert (reason["cause"], reason["limit"], reason["queue"]) == ("user_limit", 1, "team"), reason
    refused(submit("ann", "third"), 429, "quota", "ann", "team", "2")
    room.wait(submit("bob", "his").json["id"], "running")  # each has a count of their own
    room.cancel(first)
    room.wait(second["id"], "running")
    assert submit("ann", "third").status == 201
    dropped = served.request("DELETE", "/v1/users/ann")
    refused(dropped, 409, "conflict", "ann")  # jobs of hers are open


def test_gpus_are_each_given_to_one(room):
    show = 'echo "$CUDA_VISIBLE_DEVICES"; ' + STAY
    gang = room.runs("gang", replicas=2, cpu="500m", gpus=1, script=show)
    pair = room.runs("pair", cpu="500m", gpus=2, script=show)
    bare = room.runs("bare", cpu="500m", script=show)

    def shown(job, member="worker-0"):
        log = wait_for(lambda: room.server.member_log(job["id"], member), 30, f"the log of {member}").strip()
        assert log == (next(m for m in room.members(job) if m["name"] == member)["gpus"] or "")
        return [int(device) for device in log.split(",") if device]

    sets = [shown(gang, "worker-0"), shown(gang, "worker-1"), shown(pair)]
    assert [len(one) for one in sets] == [1, 1, 2] and sorted(sum(sets, [])) == list(range(GPUS)), sets
    assert shown(bare) == []
    next_one = room.waits("next", cpu="500m", gpus=1, cause="resources", script=show)
    reason = room.explain(next_one)["reasons"][0]
    assert (reason["resource"], reason["asked"], reason["free"]) == ("nvidia.com/gpu", "1", "0"), reason
    room.cancel(pair)
    room.wait(next_one["id"], "running")
    assert shown(next_one) == [min(sets[2])]  # the lowest that is free


# -- arrays, dependencies, times


def test_an_array_runs_so_many_at_a_time(room, tmp_path):
    """Each job waits for its own permission; the limit is asked at every step."""
    wait = f"while [ ! -e {tmp_path}/go-$PADDLE_ARRAY_INDEX ]; do sleep 0.05; done"
    show = 'echo "$PADDLE_ARRAY_INDEX $PADDLE_ARRAY_SIZE $PADDLE_ARRAY_ID"; '
    spec = room.spec("sweep", script=show + wait, cpu="500m", array="0-5%2")
    made = room.post("/v1/jobs/batch", {"jobs": [spec]}).json["jobs"]
    assert len(made) == 6
    array = room.job(made[0]["id"])["array"]["id"]
    after = room.submit("after", cpu="500m", after=[f"ok:{array}"])
    for done in range(6):
        room.wait(made[done]["id"], "running")
        if done < 5:
            room.wait(made[done + 1]["id"], "running")
        states = [room.job(job["id"])["state"] for job in made]
        assert states.count("running") == min(2, 6 - done), states
        if done < 4:
            reason = room.explain(made[5])["reasons"][0]
            assert (reason["cause"], reason["limit"]) == ("array_limit", 2), reason
        assert room.job(after["id"])["state"] == "queued"
        (tmp_path / f"go-{done}").touch()
        room.wait(made[done]["id"], "succeeded")
    room.wait(after["id"], "running")
    for i, job in enumerate(made):
        assert room.server.member_log(job["id"]) == f"{i} 6 {array}\n"


@pytest.mark.parametrize(
    "kind, outcome, holds",
    [
        ("ok", "succeeded", True),
        ("ok", "failed", False),
        ("ok", "cancelled", False),
        ("fail", "succeeded", False),
        ("fail", "failed", True),
        ("fail", "cancelled", True),
        ("any", "succeeded", True),
        ("any", "failed", True),
        ("any", "cancelled", True),
    ],
)
def test_what_a_job_waits_for(room, tmp_path, kind, outcome, holds):
    ends = {"succeeded": "exit 0", "failed": "exit 3", "cancelled": STAY}
    first = room.runs("first", script=BEGIN + f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; " + ends[outcome])
    second = room.submit("second", script="true", after=[f"{kind}:first"])
    third = room.submit("third", script="true", after=[f"ok:{second['id']}"])
    said = room.explain(second)
    assert said["cause"] == "dependency" and said["reasons"][0]["job"] == first["id"], said
    (tmp_path / "go").touch()
    if outcome == "cancelled":
        room.cancel(first, wait=False)
    room.wait(first["id"], outcome)
    ended = room.wait(second["id"])
    assert ended["state"] == ("succeeded" if holds else "cancelled"), ended
    assert room.wait(third["id"])["state"] == ended["state"]  # and what waits for that one
    if not holds:
        assert f"'first' ({first['id']})" in ended["reason"] and not room.story("second"), ended["reason"]
    # one that comes later: it starts at once, or is refused with the reason
    reply = room.post("/v1/jobs", room.spec("later", script="true", after=[f"{kind}:{first['id']}"]))
    if holds:
        assert room.wait(reply.json["id"])["state"] == "succeeded"
    else:
        refused(reply, 409, "conflict", first["id"], kind, outcome)


def test_an_array_that_has_ended_is_waited_for(room):
    """The first job succeeded, another one did not: of the whole that is a failure."""
    spec = room.spec("sweep", script="exit $PADDLE_ARRAY_INDEX", cpu="500m", array="0-2")
    made = room.post("/v1/jobs/batch", {"jobs": [spec]}).json["jobs"]
    assert [room.wait(job["id"])["state"] for job in made] == ["succeeded", "failed", "failed"]
    array = room.job(made[0]["id"])["array"]["id"]
    for word in (array, "sweep"):
        reply = room.post("/v1/jobs", room.spec("later", script="true", after=[f"ok:{word}"]))
        refused(reply, 409, "conflict", array, "'sweep'", "failed")
    for word in (made[0]["id"], "sweep[0]", "sweep-0"):
        reply = room.post("/v1/jobs", room.spec("later", script="true", after=[f"ok:{word}"]))
        assert reply.status == 201 and room.wait(reply.json["id"])["state"] == "succeeded"
    reply = room.post("/v1/jobs", room.spec("later", script="true", after=[f"fail:{array}"]))
    assert reply.status == 201 and room.wait(reply.json["id"])["state"] == "succeeded"


def test_a_job_begins_at_its_time(room):
    begin = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=6)
    text = begin.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    job = room.waits("later", begin=text, cause="begin")
    other = room.runs("other")  # it holds up nobody
    running = room.wait(job["id"], "running")
    wait_for(lambda: room.story("later"), 30, "its beginning")
    assert seconds(text) <= seconds(running["running_at"]) < seconds(text) + 60
    assert room.story("later")[0].time >= seconds(text) and other


def test_a_signal_comes_before_the_time_limit(room):
    notes = "trap 'note warned' USR1; trap 'note term; exit 0' TERM; " + STAY
    job = room.runs("brief", script=notes, time_limit="16s", signal="USR1@8s", grace="60s")
    ended = room.wait(job["id"], "failed")
    assert "time limit of 16s" in ended["reason"], ended
    start = seconds(ended["running_at"])
    (warned,), (term,) = room.story("brief", "warned"), room.story("brief", "term")
    assert start + 7.9 <= warned.time < start + 16, warned.time - start
    assert term.time >= start + 15.9, term.time - start
    assert ended["attempt"] == 1 and ended["evictions"] == 0


# -- hold, release, requeue, changes


def test_hold_release_and_requeue(room):
    running = room.runs("running", cpu="3", grace="2s")
    held = room.waits("held", cpu="2")
    assert room.act(held, "hold")["state"] == "suspended"
    assert room.explain(held)["cause"] == "held"
    room.runs("passes", cpu="1")  # who is held holds up nobody
    refused(room.post(f"/v1/jobs/{held['id']}/requeue"), 409, "conflict", held["id"])

    room.act(running, "hold")
    stopped = room.wait(running["id"], "suspended")
    assert (stopped["attempt"], stopped["failures"]) == (1, 0), stopped
    assert room.get("/v1/scheduler").json["free"]["cpu"] == "3"
    assert room.act(held, "release")["state"] in ("queued", "starting", "running")
    room.wait(held["id"], "running")
    assert room.act(running, "release")["state"] == "queued"
    reason = room.explain(running)["reasons"][0]
    assert (reason["cause"], reason["asked"], reason["free"]) == ("resources", "3", "1"), reason

    room.act(held, "requeue")  # it was submitted later than the other one, which comes first now
    back = room.again(running)
    assert back["failures"] == 0
    waits = room.wait(held["id"], "queued")
    assert (waits["attempt"], waits["failures"]) == (1, 0)
    queued = room.act(held, "requeue")  # where it is already
    assert queued["state"] == "queued"


def test_jobs_that_wait_change_their_place(room):
    room.queue("team", max={"cpu": "1"})
    room.queue("other")
    first = room.runs("first", "team")
    second, third, fourth = (room.waits(name, "team") for name in ("second", "third", "fourth"))
    assert [room.explain(job)["position"] for job in (second, third, fourth)] == [0, 1, 2]
    changed = room.request("PATCH", f"/v1/jobs/{fourth['id']}", {"priority": 7, "labels": {"run": "x"}})
    assert changed.status == 200 and (changed.json["priority"], changed.json["labels"]) == (7, {"run": "x"})
    assert [room.explain(job)["position"] for job in (fourth, second, third)] == [0, 1, 2]
    refused(room.request("PATCH", f"/v1/jobs/{first['id']}", {"priority": 8}), 409, "conflict", first["id"])
    moved = room.request("PATCH", f"/v1/jobs/{third['id']}", {"queue": "other"})
    assert moved.status == 200 and moved.json["queue"] == "other"
    room.wait(third["id"], "running")
    room.cancel(first)
    room.wait(fourth["id"], "running")
    assert room.job(second["id"])["state"] == "queued"
    refused(room.request("PATCH", f"/v1/jobs/{second['id']}", {"queue": "none"}), 404, "not_found", "none")
    room.change("other", closed=True)
    refused(room.request("PATCH", f"/v1/jobs/{second['id']}", {"queue": "other"}), 409, "conflict", "other", "closed")


# -- many at once


def test_ten_thousand_or_none(room):
    """The last of them is wrong: none is made. Then it is right: all are, and they are still there after a restart."""
    room.queue("shut", closed=True)
    specs = [room.spec("", cpu="1") for _ in range(10000)]
    for spec in specs:
        del spec["name"]
        spec["command"] = ["true"]
        spec["begin"] = "2099-01-01T00:00:00Z"
    before = room.get("/v1/info").json["jobs"]["open"]
    for wrong, status, says in (
        ({**specs[-1], "queue": "shut"}, 409, "shut"),
        ({**specs[-1], "queue": "none"}, 404, "none"),
        ({**specs[-1], "command": []}, 400, "jobs[9999]"),
        ({**specs[-1], "roles": [{"name": "worker", "cpu": "5"}]}, 400, "5"),
        ({**specs[-1], "after": ["ok:none"]}, 404, "none"),
    ):
        reply = room.post("/v1/jobs/batch", {"jobs": [*specs[:-1], wrong]}, timeout=120)
        assert reply.status == status and says in reply.json["message"], reply.body[:500]
        assert "9999" in reply.json["message"], reply.json  # it says which
        assert room.get("/v1/info").json["jobs"]["open"] == before
    reply = room.post("/v1/jobs/batch", {"jobs": specs}, timeout=120)
    assert reply.status == 201, reply.body[:500]
    ids = [job["id"] for job in reply.json["jobs"]]
    room.server.kill()
    room.server.start()
    assert room.get("/v1/info").json["jobs"]["open"] == before + 10000
    assert all(room.job(id)["state"] == "queued" for id in ids[::1000])
    room.server.cancel(ids)


# -- changes of queues that are in use (doc/guide/scheduling.md 7)


def test_closing_a_queue_with_jobs(room):
    room.queue("team", max={"cpu": "2"}, preemption="lower-priority")
    room.queue("b", min={"cpu": "4"})
    first = room.runs("first", "team", cpu="2", grace="1s")
    second = room.waits("second", "team", cpu="2")
    closed = room.change("team", closed=True)
    assert (closed["state"], closed["open_jobs"]) == ("closing", 2) and closed["warnings"], closed
    refused(room.post("/v1/jobs", room.spec("third", "team")), 409, "conflict", "team", "closed")
    assert room.dry_run("third", "team")["state"] == "refused"

    wants = room.submit("wants", "b", cpu="4")  # evicted, the first comes back into the queue that closes
    room.wait(wants["id"], "running")
    room.wait(first["id"], "queued")
    room.cancel(wants)
    room.again(first)
    room.cancel(first)
    room.wait(second["id"], "running")  # what is queued still starts
    refused(room.request("DELETE", "/v1/queues/team"), 409, "conflict", "team", "1")
    room.cancel(second)
    wait_for(lambda: room.get("/v1/queues/team").json["state"] == "closed", 10, "its closing")
    assert room.change("team", closed=False)["state"] == "open"
    room.runs("fourth", "team")


def test_closing_a_parent_closes_what_is_below(room):
    room.queue("org")
    room.queue("leaf", parent="org")
    room.runs("first", "leaf")
    room.change("org", closed=True)
    refused(room.post("/v1/jobs", room.spec("second", "leaf")), 409, "conflict", "closed", "org")
    refused(room.request("DELETE", "/v1/queues/org"), 409, "conflict", "org")
    room.change("org", closed=False)
    room.runs("second", "leaf")


def test_a_quota_that_shrinks_below_its_use(room):
    room.queue("team", max={"cpu": "4"}, min={"cpu": "3"})
    room.queue("b", min={"cpu": "1"})
    big, small = room.runs("big", "team", cpu="2"), room.runs("small", "team", cpu="1")
    shrunk = room.change("team", max={"cpu": "2"}, min={"cpu": "1"})
    assert any("3 cores" in sentence and "2" in sentence for sentence in shrunk["warnings"]), shrunk
    waits = room.waits("waits", "team", cpu="1", cause="queue_max")
    reason = room.explain(waits)["reasons"][0]
    assert (reason["asked"], reason["used"], reason["limit"], reason["queue"]) == ("1", "3", "2", "team"), reason
    for job in (big, small):
        assert room.job(job["id"])["state"] == "running"  # nobody is stopped for it
    room.change("b", min={"cpu": "3"})
    foretold = room.dry_run("wants", "b", cpu="2")
    wants = room.submit("wants", "b", cpu="2")  # but others may take back what is above its min now
    room.wait(wants["id"], "running")
    gone = [job for job in (big, small) if room.job(job["id"])["evictions"]]
    assert [job["id"] for job in gone] == [e["job"] for e in foretold["evicts"]] and len(gone) == 1, foretold


def test_dropping_a_queue_or_a_cluster_in_use(room):
    room.queue("team")
    job = room.waits("held", "team", begin="2099-01-01T00:00:00Z")
    refused(room.request("DELETE", "/v1/queues/team"), 409, "conflict", "team", "1")
    room.cancel(job)
    assert room.request("DELETE", "/v1/queues/team").status == 204
    refused(room.post("/v1/jobs", room.spec("late", "team")), 404, "not_found", "team")
    assert room.job(job["id"])["queue"] == "team"  # history keeps the name

    assert room.post("/v1/clusters", {"name": "far", "type": "Kubernetes"}).status == 201
    room.queue("far-q", cluster="far")
    room.queue("far-leaf", cluster="far", parent="far-q")
    job = room.waits("there", "far-leaf", cause="no_nodes")
    refused(room.request("DELETE", "/v1/clusters/far"), 409, "conflict", "far")
    room.cancel(job)
    assert room.request("DELETE", "/v1/clusters/far").status == 204
    for gone in ("far-q", "far-leaf"):
        refused(room.get(f"/v1/queues/{gone}"), 404, "not_found", gone)
    room.queue("far-q")  # the name is free again, and nothing of the old one is left
    room.runs("here", "far-q")


# -- reasons, dry run, what if


def test_a_reason_names_the_queue_above(room):
    room.queue("org", max={"cpu": "2"})
    room.queue("one", parent="org")
    room.queue("two", parent="org")
    room.runs("first", "one", cpu="1500m")
    job = room.waits("second", "two", cpu="1", cause="queue_max")
    reason = room.explain(job)["reasons"][0]
    got = {key: reason[key] for key in ("queue", "resource", "asked", "used", "limit")}
    assert got == {"queue": "org", "resource": "cpu", "asked": "1", "used": "1500m", "limit": "2"}
    text = room.paddle("explain", job["id"], check=0).stdout
    assert "queue 'org'" in text and "1.5 of 2" in text, text
    assert "'org'" in room.job(job["id"])["reason"]


def test_a_reason_names_who_has_to_end_first(room):
    room.runs("late", cpu="1", time_limit="2h")
    soon = room.runs("soon", cpu="3", time_limit="1h")
    first = room.waits("first", cpu="3", cause="resources", time_limit="1h")
    behind = room.waits("behind", cpu="3", cause="resources")
    said = room.explain(first)
    assert said["reasons"][0]["job"] == soon["id"] and said["position"] == 0, said
    assert abs(seconds(said["expected_start"]) - seconds(soon["running_at"]) - 3600) < 60, said
    said = room.explain(behind)
    reason = next(reason for reason in said["reasons"] if reason["cause"] == "behind")
    assert said["position"] == reason["position"] == 1 and reason["job"] == first["id"], said
    assert abs(seconds(said["expected_start"]) - seconds(soon["running_at"]) - 7200) < 60, said


def test_room_that_is_made_is_named(room, tmp_path):
    room.queue("b", min={"cpu": "4"})
    ignores = f"trap '' USR1 TERM; {BEGIN}until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    lent = room.runs("lent", cpu="4", script=ignores, signal="USR1@1s", grace="30s")
    wants = room.waits("wants", "b", cpu="4")
    said = room.explain(wants)
    assert said["cause"] == "nominated" and said["reasons"][0]["job"] == lent["id"], said
    (warning,) = room.events(lent, "job.preempting")
    assert abs(seconds(said["expected_start"]) - seconds(warning["time"]) - 30) < 2, said
    room.waits("third", cpu="1")  # the room is kept for the one it is made for
    (tmp_path / "go").touch()
    room.wait(wants["id"], "running")


STEPS = [
    # queue, role, about: each is foretold, then done. The second is above the first in priority: among equals the one
    # evicted is the one that loses least work, and as they lose it at different rates, the answer changes with time.
    ("a", {"cpu": "1", "gpus": 1}),
    ("a", {"cpu": "500m", "gpus": 1, "replicas": 2, "priority": "high"}),
    ("a", {"cpu": "3"}),
    ("b", {"cpu": "1", "gpus": 2}),
    ("a", {"cpu": "1", "replicas": 3, "least": 1}),
    ("b", {"cpu": "2", "gpus": 1}),
    ("b", {"cpu": "4", "priority": "high"}),
    ("a", {"cpu": "1", "gpus": 4}),
    ("a", {"cpu": "5"}),
    ("shut", {"cpu": "1"}),
]


def test_a_dry_run_tells_what_then_happens(room):
    room.queue("a", preemption="lower-priority")
    room.queue("b", min={"cpu": "2", "nvidia.com/gpu": 2}, preemption="lower-priority")
    room.queue("shut", closed=True)
    seen = set()
    for number, (queue, about) in enumerate(STEPS):
        name = f"step-{number}"
        foretold = room.dry_run(name, queue, grace="1s", **about)
        reply = room.post("/v1/jobs", room.spec(name, queue, grace="1s", **about))
        seen.add(foretold["state"] + (" and evict" if foretold["evicts"] else ""))
        if foretold["state"] == "refused":
            assert reply.status >= 400 and reply.json["code"] == foretold["error"]["code"], (foretold, reply.body)
            continue
        assert reply.status == 201, reply.body
        job = room.wait(reply.json["id"], ("running", "queued"))
        went = {e["job"] for e in foretold["evicts"]}
        if foretold["state"] == "would start" or went:
            room.wait(job["id"], "running")
        if foretold["state"] == "would start":
            told = {(p["role"], p["index"]): p["gpus"] for p in foretold["placement"]}
            got = {
                (m["role"], m["index"]): [int(g) for g in m["gpus"].split(",")] if m["gpus"] else []
                for m in room.members(job)
                if m["state"] != "surplus"
            }
            assert told == got, (name, foretold)
        elif not went:
            assert room.job(job["id"])["state"] == "queued", (name, foretold)
            assert room.explain(job)["cause"] == foretold["reasons"][0]["cause"], (name, foretold)
        touched = room.get("/v1/jobs?all=true&limit=100").json["items"]
        assert went == {j["id"] for j in touched if any(e["data"].get("for") == job["id"] for e in room.events(j))}
    assert seen == {"would start", "would wait", "would wait and evict", "refused"}, seen


@pytest.mark.parametrize(
    "queue, change, fates",
    [
        ("a", {"max": {"cpu": "3"}}, {"a-waits": ("queued", "starts")}),
        ("a", {"max": {"cpu": "1"}}, {}),
        ("b", {"min": {"cpu": "2"}}, {"b-waits": ("queued", None), "c-runs": ("running", "evicted")}),
        ("c", {"closed": True}, {}),
        ("a", {"weight": 5}, {}),
    ],
)
def test_what_if_names_those_whose_fate_changes(room, queue, change, fates):
    room.queue("a", max={"cpu": "1"})
    room.queue("b", max={"cpu": "2"})
    room.queue("c")
    room.runs("a-runs", "a")
    a_waits = room.waits("a-waits", "a", cpu="500m", cause="queue_max")
    c_runs = room.runs("c-runs", "c", cpu="2500m", grace="1s")
    b_waits = room.waits("b-waits", "b", cpu="2", cause="resources")
    said = room.what_if(queue, **change)
    got = by_name(room, said)
    assert set(got) == set(fates) and said["checked"] == 4, said
    for name, (now, then) in fates.items():
        assert got[name][0] == now and then in (None, got[name][1]), said
    words = ["queue", "set", queue, "--what-if"]
    (key, value), *_ = change.items()
    words += (
        ["--" + key]
        if value is True
        else [f"--{key}", *(f"{k}={v}" for k, v in value.items())]
        if isinstance(value, dict)
        else [f"--{key}", value]
    )
    if key != "closed":
        printed = room.paddle(*words, check=0)
        assert all(name in printed.stdout for name in fates), printed.stdout + printed.stderr
    before = {job["id"]: job["state"] for job in (a_waits, b_waits, c_runs)}
    assert {id: room.job(id)["state"] for id in before} == before  # asking changes nothing
    room.change(queue, **change)  # and so it comes
    ends = {"starts": "running", "evicted": "queued", None: "running"}
    for name, (_, then) in fates.items():
        id = next(job["id"] for job in (a_waits, b_waits, c_runs) if job["name"] == name)
        room.wait(id, ends[then])
    for job in (a_waits, b_waits, c_runs):
        if job["name"] not in fates:
            assert room.job(job["id"])["state"] == before[job["id"]]


# -- the journal of all of this


def test_the_journal_is_played_again(room):
    """Whatever the tests above did is in it (or what is left of it: it keeps the newest two generations)."""
    room.queue("b", min={"cpu": "2"})
    wide = room.runs("wide", replicas=4, least=1)
    wants = room.runs("wants", "b", cpu="2")
    room.decided(wide, ("shrink", "reclaim"))
    room.cancel(wants)
    room.decided(wide, ("grow", "grow"))
    said = replayed(room)
    assert said["passes"] >= 3 and said["decisions"] >= 4, said
    line = room.paddle("sched", "replay", check=0).stdout
    assert re.fullmatch(r"\d+ passes, \d+ decisions, identical\n", line), line
    room.server.kill()
    room.server.start()
    after = replayed(room)
    assert after["generations"] >= said["generations"]
    assert room.job(wide["id"])["state"] not in FINAL
