"""Files of runs: artifacts from step to step, in conditions and loops; whose rights count; a file system that hangs."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import tempfile

import pytest
from conftest import PATIENCE, server_of_module, wait_for
from test_runs import END, finish, nodes, running, show, states

LIBC = ctypes.CDLL(None, use_errno=True)
MNT_DETACH = 2
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a server that is not root runs all jobs as itself")

server = server_of_module("--cpus", "64")


@pytest.fixture
def machine():
    """A directory of the machine that jobs see."""
    made = pathlib.Path(tempfile.mkdtemp(dir="/mnt", prefix="paddle-test-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def post(person, path, body):
    headers = {**person.headers, "Content-Type": "application/json"}
    return person.server.request("POST", path, json.dumps(body), headers=headers)


def create(person, text, **request):
    reply = post(person, "/v1/runs", {"definition": text, **request})
    assert reply.status == 201, reply.body
    return reply.json["id"]


def message(server, run, path):
    return nodes(server, run)[path]["message"]


def artifacts(person, query):
    reply = person.get(f"/v1/artifacts?{query}")
    assert reply.status == 200, reply.body
    return reply.json["items"]


# -- from step to step

CHAIN = """name: chain
entry_points:
  prepare:
    command: "echo '[1, 2, 3]' > {{numbers}}; echo ready > {{state}}"
    artifacts: {output: [numbers, state]}
  square:
    deps: prepare
    artifacts: {input: {list: "{{prepare.numbers}}"}, output: [result]}
    loop_argument: "{{list}}"
    command: "echo $((PF_LOOP_ARGUMENT * PF_LOOP_ARGUMENT)) > {{result}}"
  sum:
    deps: square
    artifacts: {input: {all: "{{square.result}}"}, output: [total]}
    command: "cat $(echo {{all}} | tr , ' ') | paste -sd+ | tee {{total}}"
  checked:
    deps: prepare
    artifacts: {input: {state: "{{prepare.state}}"}}
    condition: "'{{state}}' =~ 'read+y'"
    command: "true"
  unchecked:
    deps: prepare
    artifacts: {input: {state: "{{prepare.state}}"}}
    condition: "'{{state}}' =~ 'failed'"
    command: "true"
"""


def test_artifacts_without_set_up(server, ann):
    """C057, C073, C082: the files are in the user's home, and belong to the Unix user of the jobs."""
    run = create(ann, CHAIN)
    finish(server, run, "succeeded")
    assert states(server, run) == {
        "prepare": "succeeded",
        "square-0": "succeeded",
        "square-1": "succeeded",
        "square-2": "succeeded",
        "sum": "succeeded",
        "checked": "succeeded",
        "unchecked": "skipped",
    }
    (total,) = artifacts(ann, f"run={run}&type=output&path=.pipeline/{run}/chain/sum-0-")
    written = ann.disk / total["path"]
    assert total["filesystem"] == "home" and written.read_text() == "1+4+9\n"
    assert written.stat().st_uid == written.parent.stat().st_uid == ann.disk.stat().st_uid


def test_a_step_of_a_nested_dag_gives_a_file(server, ann):
    """C068: an output leaves the DAG by its name there."""
    run = create(
        ann,
        """name: nested
entry_points:
  inner:
    artifacts: {output: {made: "{{make.file}}"}}
    entry_points:
      make: {command: "echo inside > {{file}}", artifacts: {output: [file]}}
  outer:
    deps: inner
    artifacts: {input: {got: "{{inner.made}}"}}
    command: "grep -q inside {{got}} && grep -q inside $PF_INPUT_ARTIFACT_GOT"
""",
    )
    finish(server, run, "succeeded")


def test_a_sub_path_that_is_a_file(server, ann, machine):
    """1.7: refused when the run is created; a directory, and what does not exist yet, are not."""
    machine.chmod(0o777)
    assert post(ann, "/v1/filesystems", {"name": "parts", "url": str(machine)}).status == 201
    (machine / "file").touch()
    (machine / "dir").mkdir(mode=0o777)
    (machine / "dir").chmod(0o777)
    text = """name: part
fs_options: {main_fs: {name: parts, sub_path: PART}}
entry_points:
  a: {command: "echo > {{f}}", artifacts: {output: [f]}}
"""
    reply = post(ann, "/v1/runs", {"definition": text.replace("PART", "file")})
    assert reply.status == 409, reply.body
    assert "sub_path 'file' is a file, and must be a directory" in reply.json["message"]
    for part in ("dir", "new"):
        run = create(ann, text.replace("PART", part))
        finish(server, run, "succeeded")
        (made,) = artifacts(ann, f"run={run}")
        assert made["path"].startswith(f"{part}/.pipeline/{run}/") and (machine / made["path"]).exists()


def test_a_named_file_system(server, ann, machine):
    """C064: main_fs with a sub path; the commands begin there."""
    machine.chmod(0o777)
    assert post(ann, "/v1/filesystems", {"name": "work", "url": str(machine)}).status == 201
    run = create(
        ann,
        """name: named
fs_options: {main_fs: {name: work, sub_path: team, mount_path: /team-files}}
entry_points:
  a: {command: "echo x > {{out}}; pwd > here", artifacts: {output: [out]}}
  b: {deps: a, command: "grep -q x {{got}}", artifacts: {input: {got: "{{a.out}}"}}}
""",
    )
    finish(server, run, "succeeded")
    assert (machine / "team/here").read_text() == "/team-files\n"
    assert [item["path"].startswith(f"team/.pipeline/{run}/named/a-0-") for item in artifacts(ann, f"run={run}")] == [
        True
    ] * 2
    assert len(artifacts(ann, "filesystem=work&path=team/.pipeline")) == 2
    assert artifacts(ann, "filesystem=home&path=team") == []
    assert server.request("DELETE", "/v1/filesystems/work", headers=ann.headers).status == 204
    assert len(artifacts(ann, "filesystem=work&path=team/.pipeline")) == 2


def test_artifacts_of_a_file_system_that_does_not_exist(server, ann, bob):
    """Another user's is not told apart from one that is nowhere."""
    for person, name in ((bob, "hidden"), (ann, "empty")):
        assert post(person, "/v1/filesystems", {"name": name, "url": "local://usr/lib"}).status == 201
    for path in ("/v1/artifacts", "/v1/cache"):
        for name in ("hidden", "nowhere"):
            reply = ann.get(f"{path}?filesystem={name}")
            assert (reply.status, reply.json["message"]) == (404, f"user 'ann' has no file system '{name}'"), reply.body
        assert server.get(f"{path}?filesystem=hidden&user=bob").json["items"] == []
        assert server.get(f"{path}?filesystem=hidden&user=ann").status == 404
        assert ann.get(f"{path}?filesystem=empty").json["items"] == []
        assert ann.get(f"{path}?filesystem=home&path=nothing").json["items"] == []


def test_a_list_is_read_once(server, ann, machine):
    """A kill, and another content of the file, change nothing in a loop that has begun."""
    machine.chmod(0o777)
    run = create(
        ann,
        f"""name: list
parallelism: 1
entry_points:
  make: {{command: "echo '[1, 2, 3]' > {{{{list}}}}", artifacts: {{output: [list]}}}}
  use:
    deps: make
    artifacts: {{input: {{list: "{{{{make.list}}}}"}}}}
    loop_argument: "{{{{list}}}}"
    command: "while [ ! -e {machine}/go ]; do sleep 0.05; done; echo $PF_LOOP_ARGUMENT >> {machine}/items"
""",
    )
    running(server, run, "use-0")
    (made,) = artifacts(ann, f"run={run}&type=output")
    server.kill()
    (ann.disk / made["path"]).write_text("[8]")
    (machine / "go").touch()
    server.start()
    finish(server, run, "succeeded")
    assert (machine / "items").read_text() == "1\n2\n3\n"


# -- what goes wrong


def test_an_artifact_deleted_while_in_use(server, ann, machine):
    """RE-06: a loop whose file is gone fails with the name of the artifact, and post_process runs."""
    machine.chmod(0o777)
    run = create(
        ann,
        f"""name: deleted
post_process:
  last: {{command: "true"}}
entry_points:
  make: {{command: "echo '[1]' > {{{{list}}}}", artifacts: {{output: [list]}}}}
  wait: {{deps: make, command: "while [ ! -e {machine}/go ]; do sleep 0.05; done"}}
  use:
    deps: make, wait
    artifacts: {{input: {{items: "{{{{make.list}}}}"}}}}
    loop_argument: "{{{{items}}}}"
    command: "true"
""",
    )
    running(server, run, "wait")
    (made,) = artifacts(ann, f"run={run}&type=output")
    assert ann.server.request("DELETE", f"/v1/artifacts/{run}?path={made['path']}", headers=ann.headers).status == 409
    (ann.disk / made["path"]).unlink()
    (machine / "go").touch()
    finish(server, run, "failed")
    assert states(server, run)["use-0"] == "failed" and states(server, run)["last"] == "succeeded"
    said = message(server, run, "use-0")
    assert said.startswith("RE-06: artifact 'items': file system 'home'") and made["path"] in said, said


def test_an_unknown_file_system(ann):
    text = "name: p\nfs_options: {main_fs: {name: nowhere}}\nentry_points:\n  a: {command: 'true'}\n"
    reply = post(ann, "/v1/runs", {"definition": text})
    assert reply.status == 404 and "nowhere" in reply.json["message"], reply.body


@needs_root
def test_the_rights_of_the_owner(server, ann, bob):
    """A name for another user's directory opens nothing, neither for the server nor for the job."""
    bob.run("true", mounts=[{"fs": "home", "path": "mine"}])  # their home is there
    other = bob.disk
    other.chmod(0o700)
    assert post(ann, "/v1/filesystems", {"name": "bobs", "url": str(other)}).status == 201
    run = create(
        ann,
        """name: taken
fs_options: {main_fs: {name: bobs}}
entry_points:
  a: {command: "echo x > {{out}}", artifacts: {output: [out]}}
""",
    )
    finish(server, run, "failed")
    assert "may not use the directory" in message(server, run, "a")
    assert not (other / ".pipeline").exists()


@contextlib.contextmanager
def hung(directory):
    """Mounts a file system whose program never answers."""
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if LIBC.mount(b"hung", os.fsencode(directory), b"fuse", 0, options) != 0:
        os.close(fuse)
        pytest.skip(f"this machine mounts no FUSE: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        os.close(fuse)  # who waits gets an error
        LIBC.umount2(os.fsencode(directory), MNT_DETACH)


@needs_root
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="this machine has no FUSE")
def test_a_file_system_that_never_answers(server, ann, machine):
    """Only the runs that use it wait, and fail after half a minute. A stop does not wait."""
    directory = machine / "hung"
    directory.mkdir()
    assert post(ann, "/v1/filesystems", {"name": "hung", "url": str(directory)}).status == 201
    text = """name: hangs
fs_options: {main_fs: {name: hung}}
entry_points:
  a: {command: "true", artifacts: {output: [x]}}
"""
    with hung(directory):
        waits = [create(ann, text) for _ in range(6)]  # more than there are workers for it
        stopped = create(ann, text)
        assert post(ann, f"/v1/runs/{stopped}/stop", {}).status == 200
        finish(server, stopped, "terminated")
        other = create(ann, CHAIN)  # has files of its own
        wait_for(lambda: "prepare" in states(server, other), PATIENCE, "the begin of another run")
        assert {show(server, run)["state"] for run in waits} == {"running"}
        kept = server.request("DELETE", "/v1/filesystems/hung", headers=ann.headers)
        assert kept.status == 409 and "used by run" in kept.json["message"], kept.body
        finish(server, other, "succeeded")
        for run in waits:
            wait_for(lambda run=run: show(server, run)["state"] in END, 30 + PATIENCE, "the end of a run")
            assert message(server, run, "a").startswith("RE-05: file system 'hung' has not answered for 30 s")
        after = create(ann, CHAIN)
        finish(server, after, "succeeded")


# -- lists, deletion


def test_list_and_delete(server, ann, bob):
    run = create(ann, CHAIN)
    finish(server, run, "succeeded")
    listed = ann.paddle("artifact", "list", "--run", run, "--type", "output").stdout
    assert listed.count(run) >= 6 and "numbers" in listed and "total" in listed
    (total,) = [item for item in artifacts(ann, f"run={run}") if item["name"] == "total"]
    assert bob.get(f"/v1/artifacts?run={run}").status == 404
    refused = server.request("DELETE", f"/v1/artifacts/{run}?path={total['path']}", headers=bob.headers)
    assert refused.status == 404 and (ann.disk / total["path"]).exists()
    assert "is deleted" in ann.paddle("artifact", "delete", run, total["path"]).stdout
    assert not (ann.disk / total["path"]).exists()
    assert "total" not in [item["name"] for item in artifacts(ann, f"run={run}")]
    again = ann.paddle("artifact", "delete", run, total["path"], check=1)
    assert "no step of run" in again.stderr


def test_a_deleted_run_takes_its_files_along(server, ann):
    """R-34"""
    run, kept = create(ann, CHAIN), create(ann, CHAIN)
    finish(server, run, "succeeded")
    finish(server, kept, "succeeded")
    assert (ann.disk / ".pipeline" / run).exists()
    ann.paddle("run", "delete", run, check=0)
    wait_for(lambda: not (ann.disk / ".pipeline" / run).exists(), PATIENCE, "the files to go")
    assert (ann.disk / ".pipeline" / kept).exists()


def test_pages(server, ann):
    run = create(ann, CHAIN)
    finish(server, run, "succeeded")
    every = artifacts(ann, f"run={run}")
    found, after = [], ""
    while after is not None:
        page = ann.get(f"/v1/artifacts?run={run}&limit=2{after and '&after='}{after}").json
        found += page["items"]
        after = page["next"]
    assert found == every and len(every) == 6 + 5  # outputs; inputs of square (3), sum and checked
    named = {item["path"]: item["node"] for item in ann.get(f"/v1/runs/{run}/nodes").json["items"]}
    assert {item["step"] for item in every} <= named.keys() and "square-2" in {item["step"] for item in every}
    assert all(named[item["step"]] == item["node"] for item in every)
    assert {item["step"] for item in artifacts(ann, "filesystem=home&path=.pipeline/" + run)} == {None}
    table = ann.paddle("artifact", "list", "--run", run, "-o", "wide", check=0).stdout.splitlines()
    assert table[0].split()[:3] == ["RUN", "STEP", "JOB"] and any(row.split()[1] == "square-2" for row in table)


def outputs_of(person, run):
    items = person.get(f"/v1/artifacts?run={run}&type=output").json["items"]
    return {(item["name"], item["path"]) for item in items}


@needs_root
def test_a_retry_lists_what_it_kept(server, ann):
    """The files of kept steps, also of items of a loop, lie where the run that is retried wrote them."""
    text = """name: kept
fs_options: {main_fs: {name: home}}
entry_points:
  part: {command: 'echo {{PF_LOOP_ARGUMENT}} > {{out}}', loop_argument: [1, 2], artifacts: {output: [out]}}
  join:
    deps: part
    command: cat $(echo {{all}} | tr , ' ') > {{sum}}
    artifacts: {input: {all: "{{part.out}}"}, output: [sum]}
"""
    first = create(ann, text)
    finish(server, first, "succeeded")
    reply = post(ann, f"/v1/runs/{first}/retry", {"from": "join"})
    second = reply.json["id"]
    finish(server, second, "succeeded")
    third = post(ann, f"/v1/runs/{second}/retry", {"from": "join"}).json["id"]
    finish(server, third, "succeeded")
    parts = {found for found in outputs_of(ann, first) if found[0] == "out"}
    assert len(parts) == 2 and len(outputs_of(ann, first)) == 3
    for again in (second, third):
        found = outputs_of(ann, again)
        assert len(found) == 3 and parts <= found and not found <= outputs_of(ann, first)
