"""No user fills the disk: bytes and files of each are bounded, whatever way they come by. doc/guide/storage.md, doc/guide/security.md."""

import contextlib
import http.client
import io
import json
import os
import re
import shutil
import socket
import subprocess
import tarfile

import pytest
from conftest import PATIENCE, Server, server_of_module, wait_for
from limited import CHUNK, MI, Limited, digest, refused
from paddleflow.client import Flow
from people import Person
from seeds import noise

served = server_of_module("--cpus", "8", "--listen", "127.0.0.1:0")


def archive_of(contents):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as archive:
        for name, content in contents.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return data.getvalue()


# ---- uploads of files


def test_many_unfinished_uploads_are_bounded_together(served):
    """Each to a name of its own, none of them ever finished: also to names that could not be."""
    ann = Limited(served, "ann-uploads", disk="20Mi")
    statuses = [ann.put(f"d{i}/x", noise(CHUNK, i)).status for i in range(6)]
    assert statuses == [204] * 4 + [429] * 2
    said = refused(
        ann.put("more", noise(CHUNK, 9)),
        "'ann-uploads' holds 16.",
        "of at most 20.0 MiB",
        "(uploads 16.",
        "4.0 MiB more",
    )
    assert "paddle storage usage" in said["hint"] and "paddle user set ann-uploads --disk" in said["hint"]
    held = ann.usage()
    assert 16 * MI <= held["kinds"]["uploads"]["bytes"] <= held["bytes"] < 17 * MI
    assert held["limit_bytes"] == 20 * MI and held["limit_files"] > 0
    assert ann.put("small", b"x").status == 204  # there is room for that


def test_what_is_finished_counts_once_and_what_it_replaces_no_more(served):
    ann = Limited(served, "ann-finished", disk="20Mi")
    for i in range(6):
        data = noise(CHUNK, i)
        assert ann.put("same", data).status == 204, i
        assert ann.finish("same", data).status == 200
    held = ann.usage()
    assert CHUNK <= held["kinds"]["homes"]["bytes"] < CHUNK + MI and held["kinds"]["uploads"]["bytes"] == 0
    assert ann.call("DELETE", f"{ann.home}/same").status == 204
    assert ann.usage()["bytes"] < MI


def test_files_and_directories_are_bounded(served):
    ann = Limited(served, "ann-files", files="40")
    said = refused(
        ann.call("POST", f"{ann.home}/" + "/".join("abcdefghij" * 6), '{"op": "mkdir"}', "application/json"),
        "files of at most 40",
        "this would be 60 files more",
    )
    assert "--files" in said["hint"]
    assert ann.call("POST", f"{ann.home}/a/b/c", '{"op": "mkdir"}', "application/json").status == 200
    made = 0
    while (reply := ann.put(f"x{made}", b"x")).status == 204:
        assert ann.finish(f"x{made}", b"x").status == 200
        made += 1
        assert made <= 20
        if made == 20:
            break
    while (reply := ann.finish(f"x{made}")).status == 200:  # empty: nothing is sent before
        made += 1
        assert made <= 40
    refused(reply)
    assert made >= 18  # of 36: what is written during a count is counted twice at most
    assert ann.usage()["files"] <= 40


# ---- bodies, before they are read


def heading(served, ann, method, path, *fields):
    """A connection on which the head of a request has been sent, and no body."""
    connection = socket.create_connection(("127.0.0.1", served.port), PATIENCE)
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: {ann.headers['Authorization']}", *fields]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def answer(connection):
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    return reply.status, json.loads(reply.read())


def test_a_body_that_is_too_much_is_refused_before_it_is_read(served):
    ann = Limited(served, "ann-bodies", disk="64Mi")
    for path in ("/v1/packages", "/v1/package"):
        with contextlib.closing(heading(served, ann, "POST", path, f"Content-Length: {8 << 30}")) as connection:
            status, said = answer(connection)
            assert (status, said["code"]) == (429, "quota") and "8.0 GiB more" in said["message"]
    assert ann.usage()["bytes"] == 0


def test_bodies_of_one_user_are_bounded_together(served):
    """Each would fit, all of them would not: what is announced counts until its request is over."""
    ann = Limited(served, "ann-many", disk="64Mi")
    fields = (f"Content-Length: {40 * MI}", "Expect: 100-continue")

    def second():
        with contextlib.closing(heading(served, ann, "POST", "/v1/packages", *fields)) as connection:
            return connection.recv(12)

    with contextlib.closing(heading(served, ann, "POST", "/v1/packages", *fields)) as first:
        assert first.recv(12) == b"HTTP/1.1 100"  # its body counts from here on
        assert second() == b"HTTP/1.1 429"
    wait_for(lambda: second() == b"HTTP/1.1 100", what="room after the first has left")


def test_a_body_of_unknown_length_is_cut(served):
    ann = Limited(served, "ann-chunked", disk="8Mi")
    with contextlib.closing(heading(served, ann, "POST", "/v1/packages", "Transfer-Encoding: chunked")) as connection:
        with contextlib.suppress(OSError):
            for _ in range(64):
                connection.sendall(b"100000\r\n" + b"x" * MI + b"\r\n")
        status, said = answer(connection)
    assert (status, said["code"]) == (429, "quota")


# ---- packages


def test_contents_that_become_no_package_are_bounded(served):
    ann = Limited(served, "ann-blobs", disk="20Mi")
    statuses = [ann.send_blob(noise(CHUNK, i)).status for i in range(6)]
    assert statuses == [204] * 4 + [429] * 2
    data = noise(5 * MI, 7)
    refused(ann.call("PUT", f"/v1/packages/blobs/{digest(data)}?offset=0", data), "uploads 16.")
    held = ann.usage()
    assert 16 * MI <= held["bytes"] < 17 * MI


def test_an_archive_that_unpacks_to_too_much_is_refused(served):
    ann = Limited(served, "ann-bomb", disk="20Mi")
    archive = archive_of({"zeros": bytes(60 * MI)})
    assert len(archive) < MI
    refused(ann.call("POST", "/v1/packages", archive), "'ann-bomb'")
    assert ann.usage()["bytes"] < MI
    assert not list(served.state.glob("packages/upload/staging.*"))


def test_an_archive_in_a_form_is_on_the_disk_twice(served):
    ann = Limited(served, "ann-form", disk="20Mi")
    data = noise(12 * MI, 90)
    form = b'--b\r\nContent-Disposition: form-data; name="package"; filename="a"\r\n\r\n' + data + b"\r\n--b--\r\n"
    said = refused(ann.call("POST", "/v1/packages", form, "multipart/form-data; boundary=b"), "12.0 MiB more")
    assert "uploads 12.0 MiB" in said["message"]  # the body itself
    assert not ann.call("POST", "/v1/packages", data).json["message"].startswith("disk quota")  # it is no archive
    assert ann.usage()["bytes"] < MI


def test_an_archive_of_too_many_files_is_refused(served):
    ann = Limited(served, "ann-names", files="1000")
    refused(ann.call("POST", "/v1/packages", archive_of({f"{i}": str(i).encode() for i in range(2000)})), "files more")
    deep = archive_of({"/".join(f"{i}{name}" for name in "abcdefghij" * 5): b"x" for i in range(40)})
    refused(ann.call("POST", "/v1/packages", deep), "1961 files more")


def test_a_package_counts_to_each_who_sent_it_and_a_content_once(served):
    ann, bob = Limited(served, "ann-shared", disk="64Mi"), Limited(served, "bob-shared", disk="64Mi")
    same = noise(CHUNK, 70)
    for person in (ann, bob):
        for i in range(3):
            reply = person.call(
                "POST", "/v1/packages", archive_of({"same": same, "own": f"{person.name} {i}".encode()})
            )
            assert reply.status == 200, reply.body
        held = person.usage()["kinds"]
        assert CHUNK <= held["packages"]["bytes"] < CHUNK + MI and held["uploads"]["bytes"] == 0


# ---- jobs


def submit(person, face):
    if face == "/v1/jobs":
        return person.ask({"command": ["true"]})
    if face == "/v1/jobs/batch":
        return person.call(
            "POST", face, json.dumps({"jobs": [{"command": ["true"], "array": "0-3"}]}), "application/json"
        )
    return person.call("POST", "/v1/jobs?dry_run=true", json.dumps({"command": ["true"]}), "application/json")


def requests_of(server):
    return int(re.search(r"^paddle_http_requests_total (\d+)", server.get("/metrics").body.decode(), re.M)[1])


def test_who_is_over_starts_no_jobs_until_there_is_room(served):
    ann = Limited(served, "ann-jobs", disk="20Mi")
    ann.run("dd if=/dev/zero of=$PADDLE_OUTPUT/big bs=1M count=24", output="/pfs/local/home/ann-jobs")
    assert ann.usage()["kinds"]["homes"]["bytes"] >= 24 * MI
    for face in ("/v1/jobs", "/v1/jobs/batch"):
        refused(submit(ann, face), "'ann-jobs' holds 24", "(homes 24")
    dry = submit(ann, "dry run")
    assert dry.status == 200 and dry.json["state"] == "refused" and "disk quota" in json.dumps(dry.json), dry.body
    before = requests_of(served)
    done = ann.paddle("submit", "--no-package", "--", "true", check=3)
    assert requests_of(served) - before <= 4  # of them one for this number; nothing was repeated
    assert "disk quota: 'ann-jobs' holds" in done.stderr and "paddle storage usage" in done.stderr
    refused(ann.put("x", b"x"))
    assert ann.call("DELETE", f"{ann.home}/big").status == 204  # by its own means
    wait_for(lambda: submit(ann, "/v1/jobs").status == 201, what="room for jobs again")


def test_the_older_interface_asks_as_well(served):
    ann = Limited(served, "ann-older", disk="20Mi")
    password = "correct horse battery"
    assert served.request("PUT", "/v1/users/ann-older/password", {"password": password}).status == 204
    ann.run("dd if=/dev/zero of=$PADDLE_OUTPUT/big bs=1M count=20", output="/pfs/local/home/ann-older")
    assert ann.usage()["bytes"] >= 20 * MI
    flow = Flow(served, "127.0.0.1", served.port)
    flow.passwords["ann-older"] = password
    body = {
        "image": "any",
        "command": "true",
        "flavour": {"name": "flavour1"},
        "schedulingPolicy": {"queue": "default"},
    }
    reply = flow.post("/job/single", body, who="ann-older")
    assert reply.status >= 400 and "disk quota: 'ann-older' holds 20." in reply.json["message"], reply
    ann.limit(disk="1Gi")
    assert flow.post("/job/single", body, who="ann-older").status == 200


def test_jobs_of_who_is_far_over_are_held(served):
    """A job is not asked before it writes: it is stopped when the server has looked, and nothing is lost."""
    ann = Limited(served, "ann-far", disk="20Mi")
    said = (
        "dd if=/dev/zero of=$PADDLE_OUTPUT/big bs=1M count=%d 2>&-; until [ -e $PADDLE_OUTPUT/go ]; do sleep 0.1; done"
    )
    home = "/pfs/local/home/ann-far"
    job = ann.submit(said % 24, name="fills", output=home)
    waits = ann.submit("true", after=[f"any:{job['id']}"])
    wait_for(
        lambda: (ann.disk / "big").exists() and (ann.disk / "big").stat().st_size == 24 * MI, what="what the job writes"
    )
    ann.usage()
    held = served.wait(job["id"], "suspended")
    assert (
        held["reason"].startswith("is held by the disk quota: its user holds 24.")
        and "of at most 20.0 MiB" in held["reason"]
    )
    assert served.wait(waits["id"], "suspended")["state"] == "suspended"
    refused_release = ann.paddle("release", waits["id"], check=3)
    assert "disk quota: 'ann-far' holds 24." in refused_release.stderr, refused_release.stderr
    assert served.job(waits["id"])["state"] == "suspended"
    ann.call("DELETE", f"{ann.home}/big")
    ann.limit(disk="1Gi")
    ann.paddle("release", "fills", waits["id"], check=0)
    wait_for(lambda: (ann.disk / "big").exists(), what="the job to go on")
    (ann.disk / "go").touch()
    assert served.wait(job["id"])["state"] == "succeeded" and served.wait(waits["id"])["state"] == "succeeded"


def test_logs_and_work_directories_count(served):
    ann = Limited(served, "ann-logs", disk="1Gi")
    job = ann.submit(
        "dd if=/dev/zero of=scratch bs=1M count=8 2>&-; head -c 5000000 /dev/zero; echo; echo ready; sleep 600"
    )
    log = wait_for(lambda: next(served.state.glob(f"jobs/*/{job['id']}/*/log/worker-0"), None), what="the log")
    wait_for(lambda: log.stat().st_size > 5000000, what="what the job says")
    held = ann.usage()["kinds"]
    assert held["work"]["bytes"] >= 8 * MI and held["logs"]["bytes"] >= 4 * MI
    ann.paddle("cancel", job["id"], check=0)
    served.wait(job["id"])
    # the empty /tmp of a sandbox may wait for the user's next job
    wait_for(lambda: ann.usage()["kinds"]["work"]["bytes"] <= 64 << 10, what="the end of the work directory")


@pytest.mark.skipif(os.geteuid() != 0, reason="members have files of their own only where the server is root")
def test_open_files_without_a_name_count(served):
    """A job that removes its file and keeps it open holds the disk all the same."""
    ann = Limited(served, "ann-open", disk="1Gi")
    script = "exec 3>gone; rm gone; dd if=/dev/zero bs=1M count=24 >&3 2>&-; : >$PADDLE_OUTPUT/held; sleep 600"
    job = ann.submit(script, output="/pfs/local/home/ann-open")
    wait_for(lambda: (ann.disk / "held").exists(), what="what the job writes")

    def unlisted():
        held = ann.usage()["kinds"]["unlisted"]
        return held if held["files"] else None

    held = wait_for(unlisted, what="the survey to see the file")
    assert 24 * MI <= held["bytes"] < 25 * MI and held["files"] == 1
    ann.limit(disk="20Mi")
    ann.usage()
    assert "its user holds 24." in served.wait(job["id"], "suspended")["reason"]
    wait_for(lambda: not unlisted(), what="the end of the file")


@pytest.mark.skipif(os.geteuid() != 0, reason="members have files of their own only where the server is root")
def test_what_members_put_into_public_counts_to_them(served):
    ann = Limited(served, "ann-public", disk="1Gi")
    ann.run(f"head -c {8 * MI} /dev/zero >{served.state}/storage/local/public/of-ann")
    wait_for(lambda: ann.usage()["kinds"]["public"]["bytes"] >= 8 * MI, what="the survey to see the file")


def test_a_second_name_and_a_hole_do_not_count(served):
    ann = Limited(served, "ann-names2", disk="1Gi")
    ann.run(
        "cd $PADDLE_OUTPUT; head -c 4194304 /dev/zero >one; for i in 1 2 3; do ln one two$i; done; truncate -s 1T hole",
        output="/pfs/local/home/ann-names2",
    )
    assert 4 * MI <= ann.usage()["kinds"]["homes"]["bytes"] < 5 * MI


# ---- who sets it, who sees it


def test_everybody_sees_their_own_and_administrators_all(served):
    ann, bob = Limited(served, "ann-sees"), Limited(served, "bob-seen")
    assert ann.put("x", noise(CHUNK, 1)).status == 204
    for path in ("?user=bob-seen", "?all=true"):
        assert ann.get("/v1/storage/usage" + path).status == 403
    assert ann.get("/v1/storage/usage?user=ann-sees").status == 200
    assert ann.call("POST", "/v1/storage/gc?dry_run=true").status == 403
    everybody = served.get("/v1/storage/usage?all=true").json["items"]
    assert [item["bytes"] >= CHUNK for item in everybody if item["user"] == "ann-sees"] == [True]
    assert bob.usage(count=False)["bytes"] == 0
    table = served.paddle("storage", "usage", "--all", check=0).stdout
    assert "ann-sees" in table and "HELD" in table
    assert "uploads 4." in ann.paddle("storage", "usage", check=0).stdout
    assert "only administrators" in ann.paddle("storage", "usage", "--user", "bob-seen", check=3).stderr


def test_an_administrator_sets_it(served):
    ann = Limited(served, "ann-set")
    default = ann.usage(count=False)["limit_bytes"]
    about = os.statvfs(served.state)
    assert abs(default - about.f_blocks * about.f_frsize // 4) <= 100
    served.paddle("user", "set", "ann-set", "--disk", "200Gi", "--files", "2M", check=0)
    held = ann.usage(count=False)
    assert (held["limit_bytes"], held["limit_files"]) == (200 << 30, 2000000)
    assert served.get("/v1/users/ann-set").json["disk"] == "200Gi"
    served.paddle("user", "set", "ann-set", "--disk", "0", "--files", "", check=0)
    held = ann.usage(count=False)
    assert held["limit_bytes"] is None and abs(held["limit_files"] - about.f_files // 4) <= 100
    said = served.paddle("user", "set", "ann-set", "--disk", "much", check=2).stderr
    assert "disk: 'much' is not an amount such as 200Gi or 2M" in said
    assert ann.call("PATCH", "/v1/users/ann-set", '{"disk": "0"}', "application/json").status == 403
    assert served.get("/v1/storage/usage?user=root").json["items"][0]["limit_bytes"] is None


def test_without_project_quotas_the_server_counts(served, tmp_path):
    """The kernel that runs the tests has none; test_project_quota.py has a kernel that does."""
    assert re.search(r"info the disk limits of users are enforced by counting why=\"", served.log())
    assert Limited(served, "ann-counted").usage(count=False)["enforced_by"] == "counting"
    server = Server(tmp_path / "state", "--project-quota", "on")
    for options, says in (
        (["--project-quota", "on"], "--project-quota on: "),
        (["--project-quota", "maybe"], "'maybe' is none of auto, on, off"),
        (["--project-ids", "7"], "--project-ids: '7' is not FIRST-LAST"),
    ):
        done = subprocess.run(
            [server.program, "--state", server.state, *server.usual, *options], capture_output=True, text=True
        )
        assert done.returncode != 0 and says in done.stderr, done.stderr
        shutil.rmtree(server.state, ignore_errors=True)


def test_the_default_is_an_option_and_older_installations_have_none(tmp_path):
    server = Server(tmp_path / "state", "--user-disk", "6Mi", "--user-files", "10%")
    try:
        server.start()
        ann = Person(server, "ann")
        held = ann.get("/v1/storage/usage").json["items"][0]
        assert held["limit_bytes"] == 6 * MI and held["limit_files"] > 0
        server.stop()
        assert (server.state / "disk-limits").read_text().startswith("new: ")
        (server.state / "disk-limits").unlink()  # as a version without limits has left it
        server.options = ()
        server.start()
        held = ann.get("/v1/storage/usage").json["items"][0]
        assert held["limit_bytes"] is None and held["limit_files"] is None
        assert (server.state / "disk-limits").read_text().startswith("older: ")
    finally:
        server.destroy()


def test_the_numbers_outlive_the_server(tmp_path):
    server = Server(tmp_path / "state")
    try:
        server.start()
        ann = Limited(server, "ann", disk="6Mi")
        assert ann.put("x", noise(CHUNK, 1)).status == 204
        assert ann.usage()["bytes"] >= CHUNK
        server.kill()
        server.start()
        assert ann.usage(count=False)["bytes"] >= CHUNK
        refused(ann.put("y", noise(CHUNK, 2)))
    finally:
        server.destroy()
