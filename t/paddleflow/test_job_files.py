"""2.11 fs and extraFS: the file systems that a job sees."""

import pytest

from paddleflow.client import fresh, good, refused
from paddleflow.test_job import D, S, distributed, member, single

MOUNTS = "/home/paddleflow/storage/mnt"


@pytest.fixture
def make_fs(flow, tmp_path):
    """A file system of root's with a file `here`; its name and directory."""

    def make(files="here", who="root"):
        name = fresh("fs")
        path = tmp_path / name
        path.mkdir()
        (path / files).write_text(name)
        good(flow.post("/fs", {"name": name, "url": f"local:/{path}"}, who=who), 201)
        return name, path

    return make


def run(flow, **about):
    return flow.wait(good(flow.post(S, single(**about))).json["id"], "succeeded")


def test_a_job_begins_in_its_file_system(flow, make_fs):
    name, path = make_fs()
    job = run(flow, fs={"name": name}, command='cat here >there; pwd >>there; echo "$PF_WORK_DIR" >>there')
    place = f"{MOUNTS}/fs-root-{name}"
    assert (path / "there").read_text() == f"{name}{place}\n{place}\n"
    shown = {"id": f"fs-root-{name}", "name": name, "mountPath": place, "subPath": "", "readOnly": False}
    assert (job["fs"], job["extraFS"]) == (shown, None)
    assert job["command"] == 'cat here >there; pwd >>there; echo "$PF_WORK_DIR" >>there'  # as it was sent


def test_several_file_systems(flow, make_fs):
    """The first one is where the command begins; the others have their paths, parts and rights."""
    (name, path), (other, beside) = make_fs(), make_fs("read")
    (beside / "sub").mkdir()
    extra = [
        {"id": f"fs-root-{other}", "mountPath": "/mnt-a", "readOnly": True},
        {"name": other, "mountPath": "/mnt-b", "subPath": "sub"},
    ]
    command = "cp /mnt-a/read copy; touch /mnt-b/new; ! touch /mnt-a/new"
    job = run(flow, fs={"name": name}, extraFS=extra, command=command)
    assert (path / "copy").read_text() == other and (beside / "sub/new").exists() and not (beside / "new").exists()
    assert [item["mountPath"] for item in job["extraFS"]] == ["/mnt-a", "/mnt-b"]
    assert [item["readOnly"] for item in job["extraFS"]] == [True, False]


@pytest.mark.parametrize(
    "about", [{"command": "", "args": ["cp", "here", "a 'b"]}, {"args": ["a 'b"]}], ids=["args", "both"]
)
def test_words_stay_words(flow, make_fs, about):
    name, path = make_fs()
    run(flow, **{"fs": {"name": name}, "command": 'cp here "$0"', **about})
    assert (path / "a 'b").read_text() == name


def test_no_work_dir(flow, make_fs):
    name, path = make_fs()
    run(flow, fs={"name": name, "mountPath": "/mnt-c"}, env={"PF_MOUNT_PATH": "NONE"}, command="pwd >/mnt-c/where")
    assert (path / "where").read_text() != "/mnt-c\n"


def test_members(flow, make_fs):
    name, path = make_fs()
    each = member(replicas=2, fs={"name": name}, command='touch "rank-$PADDLE_TRAINER_ID"')
    job = flow.wait(good(flow.post(D, distributed("paddle", each))).json["id"], "succeeded")
    assert sorted(file.name for file in path.iterdir()) == ["here", "rank-0", "rank-1"]
    assert job["members"][0]["fs"]["name"] == name and job["fs"]["name"] == ""


def test_of_others(flow, alice, make_fs):
    """By name a user's own; an id of another user's is as if there was none."""
    name, _ = make_fs()
    queue = flow.make_queue()
    good(flow.post("/grant", {"username": alice, "resourceType": "queue", "resourceID": queue}))
    about = {"schedulingPolicy": {"queue": queue}}
    for fs in ({"name": name}, {"id": f"fs-root-{name}"}, {"name": "home"}):
        reply = flow.post(S, single(fs=fs, **about), who=alice)
        refused(reply, "JobCreateFailed")
        assert "FileSystemNotExist" in reply.json["message"]
