"""Users' files in pods: the homes and the public directory of the server, mounted from the node."""

import json

import pytest
from conftest import wait_for

from kube.images import BASE
from kube.test_runtime import connect

HOME = "/pfs/local/home/root"
PUBLIC = "/pfs/local/public"


def volumes(server):
    """The server's own storage, which the node sees under the same paths."""
    storage = server.state / "storage/local"
    return {"local": {"host_path": f"{storage}/home/%s"}, "public": {"host_path": f"{storage}/public"}}


@pytest.fixture
def joined(server, kube_node):
    connect(server, kube_node)
    setting = {"image": BASE, "volumes": volumes(server)}
    server.paddle("cluster", "set", "prod", "--setting", json.dumps(setting), check=0)
    return server


def run(server, script, *options):
    command = ("submit", "--queue", "qq", "--no-package", "--name", "job", *options, "--", "sh", "-c", script)
    server.paddle(*command, check=0)
    return server.wait("job")


def test_what_is_uploaded_is_read_and_what_is_written_is_downloaded(joined, tmp_path):
    server = joined
    (tmp_path / "data").write_text("forty two\n")
    server.paddle("upload", tmp_path / "data", f"{HOME}/in/data", check=0)
    done = run(
        server,
        'test "$INPUT" = "$PADDLE_INPUT" && tr a-z A-Z <"$PADDLE_INPUT/data" >"$PADDLE_OUTPUT/model" && cat $OUTPUT/model',
        *("--input", "in", "--output", "a/b"),
    )
    assert done["state"] == "succeeded", done["reason"]
    assert server.member_log("job") == "FORTY TWO\n"
    server.paddle("download", "a/b", f"{tmp_path}/", check=0)
    assert (tmp_path / "b/model").read_text() == "FORTY TWO\n"


def test_the_whole_home_is_there(joined):
    done = run(joined, f"echo one >{HOME}/x && ls {HOME}")
    assert done["state"] == "succeeded", done["reason"]
    assert joined.member_log("job") == "x\n"
    assert (joined.state / "storage/local/home/root/x").read_text() == "one\n"


def test_a_user_made_anew_has_not_the_home_of_the_former(joined):
    """doc/guide/people.md, decision 12: a name that is given again is another user."""

    def ann():
        assert joined.post("/v1/users", {"name": "ann"}).status == 201
        assert joined.post("/v1/grants", {"user": "ann", "resource": "qq"}).status == 201
        token = joined.post("/v1/tokens", {"user": "ann"}).json["token"]
        spec = {"queue": "qq", "command": ["ls", "/pfs/local/home/ann"]}
        reply = joined.post("/v1/jobs", spec, headers={"Authorization": f"Bearer {token}"})
        assert reply.status == 201, reply.body
        return joined.wait(reply.json["id"])

    (joined.state / "storage/local/home/ann").mkdir(parents=True)
    done = ann()
    assert done["state"] == "succeeded" and done["user"] == "ann", done["reason"]
    assert joined.request("DELETE", "/v1/users/ann").status == 204
    done = ann()
    assert done["state"] == "failed" and "the home of 'ann' is that of a former user" in done["reason"]
    assert joined.request("DELETE", "/v1/users/ann").status == 204
    (joined.state / "homes/ann.owner").unlink()
    assert ann()["state"] == "succeeded"


def test_public_is_read_and_not_written(joined):
    public = joined.state / "storage/local/public"
    public.mkdir(parents=True, exist_ok=True)
    (public / "shared").write_text("for all\n")
    done = run(joined, f"cat $PADDLE_INPUT; echo x >{PUBLIC}/mine", "--input", f"{PUBLIC}/shared")
    assert done["state"] == "failed"
    said = joined.member_log("job")
    assert "for all\n" in said  # the order of two streams is not kept
    assert "Read-only file system" in said
    assert not (public / "mine").exists()


def test_output_to_public_is_refused(joined):
    job = joined.submit(["true"], queue="qq", output=f"{PUBLIC}/x")
    done = joined.wait(job["id"])
    assert done["state"] == "failed"
    assert f"'{PUBLIC}/x' cannot be written" in done["reason"]


def test_a_setting_that_is_wrong_is_named(joined):
    broken = json.dumps({"image": BASE, "volumes": {"local": {"host_path": "/homes"}}})
    joined.paddle("cluster", "set", "prod", "--setting", broken, check=0)
    job = joined.submit(["true"], queue="qq")
    said = json.dumps(joined.get(f"/v1/jobs/{job['id']}/explain").json)
    assert "volumes.local: its path must contain %s" in said
    mended = json.dumps({"image": BASE, "volumes": volumes(joined)})
    joined.paddle("cluster", "set", "prod", "--setting", mended, check=0)
    assert joined.wait(job["id"])["state"] == "succeeded"


def test_passwords_are_not_shown(server, kube):
    connect(server, kube)
    setting = {"builder": "b", "registry": {"address": "reg", "username": "u", "password": "s3cret"}}
    server.paddle("cluster", "set", "prod", "--setting", json.dumps(setting), check=0)
    for path in ("/v1/clusters/prod", "/v1/clusters"):
        reply = server.get(path)
        assert reply.status == 200
        assert "s3cret" not in reply.body.decode()
        assert "***" in reply.body.decode()
    assert "s3cret" not in server.log()


def test_what_cannot_be_mounted_is_named(joined):
    """The kubelet says it in an event alone: the pod's status is "ContainerCreating" for ever."""
    (joined.state / "homes-root").write_text("not a directory\n")
    broken = {"image": BASE, "volumes": {"local": {"host_path": f"{joined.state}/homes-%s"}}}
    joined.paddle("cluster", "set", "prod", "--setting", json.dumps(broken), check=0)
    job = joined.submit(["true"], queue="qq")["id"]
    says = f"{joined.state}/homes-root is not a directory"
    wait_for(lambda: says in str(joined.job(job)["members"]), what="the kubelet's words")
    assert says in " ".join(joined.paddle("explain", job, check=0).stdout.split())
    (joined.state / "homes-root").unlink()
    assert joined.wait(job, timeout=300)["state"] == "succeeded"  # it is tried again after 2 min at most


def test_mounts_are_of_the_home_and_of_what_is_allowed(joined):
    """A job sees a directory of its home at a path of its own, reads what is read-only, and never gains rights."""
    server = joined
    kept = server.state / "storage/local/home/root/set"
    kept.mkdir(parents=True)
    (kept / "x").write_text("one\n")
    line = "cat /data/x; touch /data/y || echo refused; echo two >/out/z; grep NoNewPrivs /proc/self/status"
    done = run(server, line, "--mount", "home/set:/data:ro", "--mount", "home/a/b:/out")
    assert done["state"] == "succeeded", done["reason"]
    said = server.member_log("job").split("\n")
    assert "one" in said and "refused" in said and "NoNewPrivs:\t1" in said, said
    assert (kept.parent / "a/b/z").read_text() == "two\n" and sorted(p.name for p in kept.iterdir()) == ["x"]


def test_a_mount_that_the_cluster_does_not_allow_is_refused_at_submission(server, kube_node):
    connect(server, kube_node)
    server.paddle("cluster", "set", "prod", "--setting", json.dumps({"image": BASE}), check=0)
    command = ("submit", "--queue", "qq", "--no-package", "--mount", "home:/data", "--", "true")
    done = server.paddle(*command, check=3)
    assert "do not see the file system 'home'" in done.stderr and "`volumes`" in done.stderr
    setting = {"image": BASE, "volumes": volumes(server)}
    server.paddle("cluster", "set", "prod", "--setting", json.dumps(setting), check=0)
    done = server.paddle(*(word.replace(":/data", ":data") for word in command), check=3)
    assert "the path 'data' is relative" in done.stderr
