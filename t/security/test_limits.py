"""What a queue limits is counted, has a default and is held; one user leaves processes to the others; priorities are a right.

doc/guide/security.md, "Shares"."""

import contextlib
import os
import pathlib
import re
import select
import socket
import subprocess

import pytest
from conftest import BIN, PATIENCE, server_of_module, wait_for
from people import Person

MIB = 1 << 20
QUOTA = ("cpu", "cpu.cfs_quota_us", "cpu.max")
MEMORY = ("memory", "memory.limit_in_bytes", "memory.max")
NO_LIMIT = 1 << 62

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes cgroups, and runs members as others")

server = server_of_module("--cpus", "8", "--memory", "16Gi", "--max-processes-per-user", "60")


def test_members_do_not_hold_the_locks_of_ports(server):
    said = Person(server, "lender").run("ls /run/paddle-ports; cd /run/paddle-ports; true")
    assert said.count("Permission denied") + said.count("can't cd") == 2, said


def queue(server, name, **fields):
    reply = server.post("/v1/queues", {"name": name, "everyone": True, **fields})
    assert reply.status == 201, reply.body
    return name


def used(server, name):
    return server.get(f"/v1/queues/{name}").json["figures"]["used"]


def running(server, command="exec sleep 600", **spec):
    """A job whose members run."""
    return server.wait(server.submit(["sh", "-c", command], **spec)["id"], "running")


def group(member, controller):
    """The directory of a member's cgroup."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    for line in pathlib.Path(f"/proc/{member['pid']}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller not in controllers.split(",") and controllers:
            continue
        for mount in mounts:
            left, _, right = mount.partition(" - ")
            kind, _, options = right.split(" ", 2)
            if controllers and (kind != "cgroup" or controller not in options.split(",")):
                continue
            folder = pathlib.Path(left.split()[4] + path)
            if (controllers or kind == "cgroup2") and any(folder.glob(controller + ".*")):
                return folder
    raise AssertionError(f"no group of {controller} for {member}")


def held(member, what):
    """What its cgroup allows: millicores or bytes; none is beyond all that there is."""
    controller, v1, v2 = what
    folder = group(member, controller)
    text = ((folder / v1) if (folder / v1).exists() else (folder / v2)).read_text().split()
    amount = NO_LIMIT if text[0] in ("max", "-1") else int(text[0])
    if what is QUOTA and amount != NO_LIMIT:
        period = int(text[1]) if len(text) > 1 else int((folder / "cpu.cfs_period_us").read_text())
        amount = amount * 1000 // period
    return amount


# -- what a queue limits


def test_to_ask_for_no_cpu_is_to_ask_for_the_usual(server):
    name = queue(server, "one-core", max={"cpu": "1"})
    spec = {"queue": name, "roles": [{"name": "worker", "replicas": 200, "cpu": "0"}]}
    reply = server.post("/v1/jobs", {"command": ["true"], **spec})
    assert reply.status == 400 and "queue 'one-core' may use 1" in reply.json["message"]
    first = running(server, queue=name, roles=[{"name": "worker", "cpu": 0}])
    assert used(server, name) == {"cpu": "1"}
    assert held(first["members"][0], QUOTA) == 1000
    second = server.submit(["true"], queue=name, roles=[{"name": "worker", "resources": {"cpu": 0}}])
    explained = server.get(f"/v1/jobs/{second['id']}").json
    assert explained["state"] == "queued" and "asks for 1 core, 1 of 1 is in use" in explained["reason"]
    server.cancel([first["id"]])
    server.wait(second["id"], "succeeded")


def test_the_smallest_member_is_held_to_what_it_is_counted_with(server):
    name = queue(server, "small", max={"cpu": "10m"})
    job = running(server, queue=name, roles=[{"name": "worker", "cpu": "1m"}])
    assert used(server, name) == {"cpu": "1m"} and held(job["members"][0], QUOTA) == 1
    server.cancel([job["id"]])
    server.wait(job["id"])
    again = running(server, queue=name, roles=[{"name": "worker", "cpu": "10m"}])  # in the same group, most likely
    assert held(again["members"][0], QUOTA) == 10
    server.cancel([again["id"]])


def test_undeclared_memory_is_counted_and_held_where_a_queue_limits_it(server):
    name = queue(server, "mem", max={"memory": "64Mi"})
    hungry = "import mmap; m = mmap.mmap(-1, 200 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1"
    job = server.wait(server.submit(["python3", "-c", hungry], queue=name)["id"])
    assert job["state"] == "failed"
    assert "memory limit of 64Mi, which queue 'mem' gives to members that ask for none" in job["reason"]
    first = running(server, queue=name)
    assert used(server, name)["memory"] == "64Mi" and held(first["members"][0], MEMORY) == 64 * MIB
    second = server.submit(["true"], queue=name)
    assert server.job(second["id"])["state"] == "queued"
    server.cancel([first["id"]])
    server.wait(second["id"], "succeeded")


def test_a_share_of_the_machine_is_the_default(server):
    name = queue(server, "large", max={"memory": "12Gi"})
    job = running(server, queue=name, roles=[{"name": "worker", "replicas": 2, "cpu": "1"}])
    assert [held(member, MEMORY) for member in job["members"]] == [2048 * MIB] * 2
    assert used(server, name)["memory"] == "4Gi"
    server.cancel([job["id"]])


def test_nothing_limits_a_job_where_nothing_is_limited(server):
    job = running(server)
    member = job["members"][0]
    assert held(member, QUOTA) == held(member, MEMORY) == NO_LIMIT or held(member, MEMORY) > 1 << 60
    assert "/slot-" in str(group(member, "cpu"))  # its weight is its own all the same
    server.cancel([job["id"]])


def test_defaults_of_queues_and_clusters(server):
    server.paddle(
        "queue", "create", "given", "--everyone", "--defaults", "cpu=500m,memory=64Mi", "--max", "memory=128Mi", check=0
    )
    first, second = (running(server, queue="given") for _ in range(2))
    assert used(server, "given") == {"cpu": "1", "memory": "128Mi"}
    assert held(first["members"][0], QUOTA) == 500 and held(first["members"][0], MEMORY) == 64 * MIB
    third = server.submit(["true"], queue="given")
    assert server.job(third["id"])["state"] == "queued"
    server.cancel([second["id"]])
    server.wait(third["id"], "succeeded")
    # What waits is counted by what holds now, what runs keeps what it was given.
    fourth = server.submit(["true"], queue="given", roles=[{"name": "worker", "memory": "100Mi"}])
    fifth = server.submit(["true"], queue="given", priority=-1, roles=[{"name": "worker", "cpu": "1"}])
    assert {server.job(job["id"])["state"] for job in (fourth, fifth)} == {"queued"}
    server.cancel([fourth["id"]])
    server.paddle("queue", "set", "given", "--defaults", "memory=8Mi", check=0)
    server.wait(fifth["id"])
    first_alone = {"cpu": "500m", "memory": "64Mi"}
    wait_for(lambda: used(server, "given") == first_alone, what="the books to have the first alone")
    server.cancel([first["id"]])
    for bad, says in (({"cpu": 0}, "above 0"), ({"gpu": 1}, "has none"), ({"memory": "1Gi"}, "above max")):
        reply = server.request("PATCH", "/v1/queues/given", {"defaults": bad})
        assert reply.status == 400 and says in reply.json["message"], reply.body


def test_defaults_of_the_cluster_hold_where_the_queue_says_nothing(make_server):
    server = make_server("--cpus", "4")
    assert server.request("PATCH", "/v1/clusters/default-cluster", {"defaults": {"memory": "32Mi"}}).status == 200
    job = running(server)
    assert held(job["members"][0], MEMORY) == 32 * MIB and used(server, "default") == {"cpu": "1", "memory": "32Mi"}
    # The books know it after a restart, too.
    server.stop()
    server.start()
    wait_for(lambda: used(server, "default") == {"cpu": "1", "memory": "32Mi"}, what="the books to be as before")
    server.cancel([job["id"]])


# -- processes


# A shell gives up at the first fork that fails: a program counts instead.
FORK = """
import os, sys, time
n = 0
try:
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        n += 1
except OSError as error:
    print(error.strerror, end=" ")
print(n, flush=True)
if len(sys.argv) > 2:
    time.sleep(600)
"""


def test_processes_of_a_user_are_bounded_over_members_and_commands(server):
    ann, bob = Person(server, "ann"), Person(server, "bob")

    def fork(person, n):
        reply = person.ask(
            {"command": ["python3", "-c", FORK, str(n), "stay"], "roles": [{"name": "worker", "cpu": "100m"}]}
        )
        assert reply.status == 201, reply.body
        name = reply.json["id"]
        said = wait_for(lambda: re.search(r"^(\D*)(\d+)\n", server.member_log(name), re.M), what="its count")
        return name, said[1].strip(), int(said[2])

    first, why, n = fork(ann, 40)
    assert (why, n) == ("", 40)
    second, why, n = fork(ann, 40)
    assert why == "Resource temporarily unavailable" and n == 60 - 41 - 1
    # A command beside a member is one more process of hers; others are not concerned.
    done = ann.paddle("exec", first, "--", "sh", "-c", "sleep 600 & echo alive")
    assert "alive" not in done.stdout or done.returncode != 0
    third, why, n = fork(bob, 40)
    assert (why, n) == ("", 40)
    server.cancel([first])
    server.wait(first)
    fourth, why, n = fork(ann, 30)
    assert (why, n) == ("", 30)
    # Beside a user's bound stands that of all, so that the machine keeps a quarter.
    pids = group(server.job(third)["members"][0], "pids")
    assert pids.parent.name.startswith("user-") and (pids.parent / "pids.max").read_text().strip() == "60"
    everything = int((pids.parent.parent.parent / "pids.max").read_text())
    assert everything <= int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) * 3 / 4
    server.cancel([second, third, fourth])


def test_the_bound_of_a_user_outlives_agent_and_server(make_server):
    server = make_server("--cpus", "4", "--max-processes-per-user", "30")
    ann = Person(server, "ann")
    job = server.wait(ann.submit("exec sleep 600")["id"], "running")
    os.kill(server.agent_pid(), 9)
    server.kill()
    server.start()
    said = ann.run(f"exec python3 -c '{FORK}' 100")
    assert int(said.split()[-1]) == 30 - 2  # the other member, and the one that counts
    server.cancel([job["id"]])


# -- priorities


def test_priorities_above_normal_are_a_right_of_the_grant(server):
    carol = Person(server, "carol")
    name, other = queue(server, "prio", everyone=False), queue(server, "prio-all")
    server.paddle("grant", "create", "carol", name, check=0)
    spec = {"command": ["true"], "queue": name}
    for more in ({"priority": "high"}, {"priority": 1}, {"priority": "very-high", "array": "0-3"}):
        reply = carol.ask({**spec, **more})
        assert reply.status == 403, reply.body
        assert "grant set carol prio --max-priority" in str(reply.json)
    assert carol.ask({**spec, "queue": other, "priority": "high"}).status == 403
    assert carol.paddle("submit", "--queue", name, "--priority", "high", "--", "true").returncode != 0
    headers = {**carol.headers, "Content-Type": "application/json"}
    batch = server.request("POST", "/v1/jobs/batch", {"jobs": [spec, {**spec, "priority": 500}]}, headers=headers)
    assert batch.status == 403 and "jobs[1]" in batch.json["message"]
    dry = server.request("POST", "/v1/jobs?dry_run=true", {**spec, "priority": 500}, headers=headers)
    assert dry.status == 200 and dry.json["state"] == "refused" and "priority" in str(dry.json["error"])
    assert carol.ask({**spec, "priority": "low"}).status == 201
    server.paddle("grant", "set", "carol", name, "--max-priority", "high", check=0)
    assert server.get(f"/v1/grants/carol/queue/{name}").json["max_priority"] == 100
    assert carol.ask({**spec, "priority": "high"}).status == 201
    assert carol.ask({**spec, "priority": 101}).status == 403
    assert server.post("/v1/jobs", {**spec, "priority": "very-high"}).status == 201  # an administrator


def test_the_right_holds_for_changes_and_ways_back_into_the_queue(server):
    dave = Person(server, "dave")
    name, other = queue(server, "again", max={"cpu": "1"}), queue(server, "again-other", max={"cpu": "1"})
    assert server.post("/v1/grants", {"user": "dave", "resource": name, "max_priority": "high"}).status == 201

    def change(job, who=None, **fields):
        headers = {**who.headers, "Content-Type": "application/json"} if who else None
        return server.request("PATCH", f"/v1/jobs/{job['id']}", fields, headers=headers)

    blocker = running(server, queue=name)
    running(server, queue=other)
    job = dave.submit("exec sleep 600", queue=name)
    assert change(job, dave, priority="high").status == 200
    assert change(job, dave, priority=101).status == 403
    assert change(job, dave, queue=other).status == 403  # high there, where it is not granted
    assert change(job, dave, queue=other, priority=0).status == 200
    assert change(job, dave, priority="high").status == 403
    assert change(job, dave, queue=name).status == 200
    assert change(job, priority=900).status == 200  # an administrator
    assert change(job, dave, priority=800).status == 200  # less than it was given
    assert change(job, dave, priority=801).status == 403
    server.cancel([blocker["id"]])
    server.wait(job["id"], "running")
    # Sent back by its user it has what the user may ask for now.
    server.paddle("grant", "set", "dave", name, "--max-priority", "50", check=0)
    dave.paddle("requeue", job["id"], check=0)
    wait_for(lambda: server.job(job["id"])["priority"] == 50, what="its priority to be lowered")
    server.cancel([job["id"]])


def test_a_right_is_not_below_normal(server):
    Person(server, "erin")
    reply = server.post("/v1/grants", {"user": "erin", "resource": queue(server, "low"), "max_priority": "low"})
    assert reply.status == 400 and "below normal" in reply.json["message"]


# A port that a member does not listen on, asked for at a member with very many descriptors.
CROWDED = """
import os, resource, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
file = os.open("/dev/null", os.O_RDONLY)
for _ in range(min(hard, 200000) - 20):
    os.dup(file)
print("crowded", flush=True)
time.sleep(600)
"""


def is_searched(procs, port):
    """While a connection is asked for: is a process of ours, which enters the member, in the member's group?"""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        while not select.select([connection], [], [], 0)[0]:
            for pid in procs.read_text().split():
                with contextlib.suppress(OSError):
                    if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:2] == [b"enter"]:
                        return True
    return False


def test_to_look_for_a_port_costs_the_member(server):
    """The server looks through the member's descriptors as root; the member decides how many there are."""
    job = server.submit(["python3", "-c", CROWDED], name="crowded")
    wait_for(lambda: "crowded" in server.member_log(job["id"]), what="many descriptors")
    member = server.job(job["id"])["members"][0]
    env = {**os.environ, "PADDLE_SERVER": server.url, "HOME": str(server.state / "client")}
    command = [BIN / "paddle", "port-forward", "crowded", "0:1"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as forward:
        try:
            port = int(forward.stdout.readline().rsplit(":", 1)[1])
            wait_for(lambda: is_searched(group(member, "cpu") / "cgroup.procs", port), what="the search")
        finally:
            forward.kill()
    server.cancel([job["id"]])
