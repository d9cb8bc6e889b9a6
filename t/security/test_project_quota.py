"""The kernel keeps the limits of the disk where the file system has project quotas. In a machine of its own, as the kernel that
runs the tests may have none; ext4 and XFS, a server each. doc/guide/storage.md, doc/guide/security.md."""

import http.client
import json
import pathlib
import re
import subprocess

import pytest
from conftest import Reply, Server, wait_for
from limited import CHUNK, MI, Limited, refused
from machine import BOOTS, Machine
from seeds import noise

FIRST = 1879100000  # of --project-ids
PORTS = {"ext4": 9001, "xfs": 9002}
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-O", "quota,project", "-E", "quotatype=prjquota"],
    "xfs": ["mkfs.xfs", "-q"],
}

# Of the foreign tree: its project id is the first of our range. The home of `early` is of a version without project quotas.
MAIN = """
serve() {
        mkdir /$1
        mount -t $1 -o prjquota $2 /$1
        mkdir -p /$1/foreign /$1/state/storage/local/home/early/below
        chattr -p 1879100000 /$1/foreign; chattr +P /$1/foreign; echo x >/$1/foreign/file
        head -c 6291456 /dev/zero >/$1/state/storage/local/home/early/below/file
        while true; do
                /paddle/paddled --state /$1/state --listen 0.0.0.0:$3 --plain-http --cpus 2 --gc-every 0 \\
                        --project-quota on --published-password unix >>/$1/log 2>&1
                echo "paddled of $1 has ended:"; tail -n 20 /$1/log
        done &
        until /paddle/paddle --server unix:/$1/state/paddled.sock token create >/$1/token 2>/$1/why; do
                sleep 0.2
        done
        echo "TOKEN $1 $(cat /$1/token) END"
}
serve ext4 /dev/vda 9001 &
serve xfs /dev/vdb 9002
while true; do sleep 1000; done
"""


class Remote(Server):
    """A server in the machine, and its root."""

    def __init__(self, machine, kind, token):
        self.machine, self.kind, self.token = machine, kind, token
        self.state = pathlib.Path(f"/{kind}/state")

    def request(self, method, path, body=None, headers=None, timeout=BOOTS):
        headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.machine.port[PORTS[self.kind]], timeout=timeout)
        if isinstance(body, (dict, list)):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        try:
            connection.request(method, path, body, headers)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def do(self, script):
        """What root says in the machine: its jobs run as the server."""
        job = self.wait(self.post("/v1/jobs", {"command": ["sh", "-c", script]}).json["id"])
        said = self.member_log(job["id"])
        assert job["state"] == "succeeded", (job["reason"], said)
        return said

    def cancel(self, jobs):
        for job in jobs:
            assert self.request("DELETE", f"/v1/jobs/{job}").status == 200

    def projects(self):
        lines = self.do(f"cat {self.state}/disk-projects").splitlines()
        return {user: int(number) for number, user in (line.split() for line in lines)}


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")
    disks = []
    for kind, make in MAKE.items():
        disks.append(folder / kind)
        with open(disks[-1], "wb") as file:
            file.truncate(320 * MI)
        subprocess.run([*make, disks[-1]], check=True)
    machine = Machine(folder, MAIN, ["/usr/bin/chattr", "/usr/bin/lsattr"], disks, PORTS.values())
    yield machine
    machine.end()


# What is the same on both, beyond the calls themselves: once is enough.
only_ext4 = pytest.mark.parametrize("served", ["ext4"], indirect=True)


@pytest.fixture(scope="module", params=PORTS)
def served(machine, request):
    token = machine.said(rf"^TOKEN {request.param} (\S+).* END")[1]
    return Remote(machine, request.param, token)


def fill(person, megabytes, where=">$PADDLE_OUTPUT/big"):
    """A job that writes so much."""
    spec = {"command": ["sh", "-c", f"dd if=/dev/zero bs=1M count={megabytes} {where}"]}
    reply = person.ask({**spec, "output": f"/pfs/local/home/{person.name}"})
    assert reply.status == 201, reply.body
    return person.server.wait(reply.json["id"])


def test_a_job_meets_its_users_limit(served):
    ann = Limited(served, "ann", disk="20Mi")
    job = fill(ann, 40)
    assert job["state"] == "failed", job
    found = re.search(r"exited with status 1; disk quota: 'ann' holds (\S+) MiB of at most 20.0 MiB \(", job["reason"])
    assert found and 19 < float(found[1]) <= 20, job["reason"]
    held = ann.usage()
    assert 19 * MI <= held["bytes"] <= 20 * MI and held["enforced_by"] == "kernel"
    refused(ann.put("x", noise(CHUNK, 1)), "'ann' holds", "of at most 20.0 MiB (homes ")
    ann.limit(disk="60Mi")  # by an administrator: holds within a second
    wait_for(lambda: fill(ann, 40)["state"] == "succeeded", what="the new limit")


@only_ext4
def test_a_job_meets_the_limit_of_files(served):
    ann = Limited(served, "ann-files", files="60")
    job = served.wait(
        ann.submit("for i in $(seq 100); do : >$PADDLE_OUTPUT/$i || exit 1; done", output="/pfs/local/home/ann-files")[
            "id"
        ]
    )
    assert job["state"] == "failed" and "files of at most 60 (" in job["reason"], job["reason"]


def test_an_upload_moves_into_its_home(served):
    """What is finished is renamed, which the kernel allows only within one project."""
    ann = Limited(served, "ann-uploads", disk="40Mi")  # XFS keeps as much again behind the end of a file that grows
    data = [noise(CHUNK, i) for i in range(5)]
    for i in range(3):
        assert ann.put("d/file", data[i], i).status == 204
    assert ann.finish("d/file", *data[:3]).status == 200
    assert fill(ann, 40)["state"] == "failed"
    refused(ann.put("other", data[4]), "disk quota: 'ann-uploads' holds")
    assert ann.call("DELETE", f"{ann.home}/big").status == 204
    wait_for(lambda: ann.put("other", data[4]).status == 204, what="room again")
    assert ann.finish("other", data[4]).status == 200


def test_a_move_takes_the_project_along(served):
    """Between homes, and to public and back, a rename alone is refused or counts for the wrong user."""
    ann, bob = Limited(served, "ann-moves", disk="40Mi"), Limited(served, "bob-moves", disk="40Mi")
    assert fill(ann, 20)["state"] == "succeeded"
    storage = f"{served.state}/storage/local"

    def move(source, target):
        reply = served.post(f"/v1/files/pfs/local/{source}", {"op": "move", "to": f"/pfs/local/{target}"})
        assert reply.status == 200, reply.body

    def label(path):
        return served.do(f"lsattr -p {storage}/{path}").split()[0]

    move("home/ann-moves/big", "home/bob-moves/got")
    assert label("home/bob-moves/got") == str(served.projects()["bob-moves"])
    assert ann.usage()["bytes"] < 2 * MI and bob.usage()["bytes"] >= 20 * MI
    assert fill(bob, 30)["state"] == "failed"
    assert bob.call("DELETE", f"{bob.home}/big").status == 204
    move("home/bob-moves/got", "public/bobs")
    assert label("public/bobs") == "0"
    assert 20 * MI <= bob.usage()["bytes"] < 22 * MI  # once
    back = json.dumps({"op": "move", "to": "/pfs/local/home/bob-moves/back"})
    reply = bob.call("POST", "/v1/files/pfs/local/public/bobs", back, "application/json")
    assert reply.status == 200, reply.body
    assert label("home/bob-moves/back") == str(served.projects()["bob-moves"])
    assert 20 * MI <= bob.usage()["bytes"] < 22 * MI


@only_ext4
@pytest.mark.parametrize("where", [">/tmp/big", ">big", ""])
def test_private_tmp_work_directory_and_log_count(served, where):
    name = "ann-" + (re.sub(r"\W", "", where) or "log")
    job = fill(Limited(served, name, disk="16Mi"), 30, where)
    assert job["state"] == "failed" and f"disk quota: '{name}' holds" in job["reason"], job["reason"]


@only_ext4
def test_an_open_file_without_a_name_counts(served):
    ann = Limited(served, "ann-open", disk="20Mi")
    script = "exec 3>gone; rm gone; dd if=/dev/zero bs=1M count=12 >&3; : >$PADDLE_OUTPUT/held; sleep 600"
    holds = ann.submit(script, output="/pfs/local/home/ann-open")
    wait_for(lambda: ann.get(f"{ann.home}/held").status == 200, what="the file without a name")
    assert fill(ann, 12)["state"] == "failed"
    held = ann.usage()
    assert held["bytes"] >= 19 * MI and held["kinds"]["unlisted"]["bytes"] >= 11 * MI
    served.cancel([holds["id"]])
    served.wait(holds["id"])
    wait_for(lambda: fill(ann, 12)["state"] == "succeeded", what="room after the job that held it")


@only_ext4
def test_a_member_cannot_leave_its_project(served):
    ann = Limited(served, "ann-leaves", disk="20Mi")
    said = ann.run(
        "cd $PADDLE_OUTPUT; : >f; mkdir d; chattr -p 0 f; chattr -P d; chattr -P .; lsattr -pd f d",
        output="/pfs/local/home/ann-leaves",
    )
    assert said.count("Operation not permitted") == 3, said
    own = str(served.projects()["ann-leaves"])
    assert [line.split()[0] for line in said.splitlines()[-2:]] == [own, own], said


def test_a_home_of_before_is_labelled(served):
    early = Limited(served, "early", disk="12Mi")
    assert early.put("x", b"x").status == 204  # its home becomes its own
    early.usage()  # a survey has been there
    own = str(served.projects()["early"])
    said = served.do(
        f"lsattr -Rp {served.state}/storage/local/home/early; lsattr -pd {served.state}/storage/local/home/early"
    )
    labels = [line.split()[0] for line in said.splitlines() if re.match(r" *\d+ ", line)]
    assert len(labels) >= 3 and set(labels) == {own}, said
    job = fill(early, 10)
    assert job["state"] == "failed" and "'early' holds" in job["reason"], job["reason"]


@only_ext4
def test_ids_are_nobody_elses_and_stay(served):
    ann, bob = Limited(served, "ann-id", disk="20Mi"), Limited(served, "bob-id", disk="20Mi")
    for person in (ann, bob):
        fill(person, 1)
    before = served.projects()
    assert FIRST not in before.values() and len(set(before.values())) == len(before)
    served.post("/v1/jobs", {"command": ["sh", "-c", f"kill $(cat {served.state}/paddled.pid)"], "name": "restart"})
    served.machine.said(rf"^paddled of {served.kind} has ended")

    def is_back():
        try:
            return served.get("/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    wait_for(is_back, what="the server again")
    carol = Limited(served, "carol-id", disk="20Mi")
    fill(carol, 1)
    after = served.projects()
    assert {user: after[user] for user in before} == before and after["carol-id"] not in before.values()
    assert fill(ann, 30)["state"] == "failed"
