"""A retry and the files of what it keeps: those that are gone are written again, if something needs them."""

import pytest
from conftest import server_of_module
from test_run_again import taken
from test_run_cache import output_of, run
from test_run_files import create, post
from test_runs import finish, nodes, show

server = server_of_module("--cpus", "64")


def text(name, marks, broken):
    """`fit` fails while the file `broken` is there. `read` needs the data, too; `last` needs nothing."""
    return f"""name: {name}
entry_points:
  make:
    command: "echo make >> {marks}; echo data > {{{{data}}}}"
    artifacts: {{output: [data]}}
  read:
    deps: make
    command: "echo read >> {marks}; cat {{{{data}}}}"
    artifacts: {{input: {{data: "{{{{make.data}}}}"}}}}
  fit:
    deps: make
    command: "echo fit >> {marks}; cat {{{{data}}}} && test ! -e {broken}"
    artifacts: {{input: {{data: "{{{{make.data}}}}"}}}}
  last:
    command: "echo last >> {marks}"
failure_options: {{strategy: continue}}
"""


def again(server, person, made, status=201, **body):
    reply = post(person, f"/v1/runs/{made}/retry", body)
    assert reply.status == status, reply.body
    return reply.json


@pytest.fixture
def broken(tmp_path):
    made = tmp_path / "broken"
    made.touch()
    return made


def test_a_step_whose_file_is_gone_runs_again(server, ann, marks, broken):
    first = run(server, ann, text("gone", marks, broken), "failed")
    assert taken(marks) == ["fit", "last", "make", "read"]
    data = output_of(ann, first, "data")
    path = str(data.relative_to(ann.disk))
    data.unlink()
    broken.unlink()
    second = again(server, ann, first)
    lost = [{"step": "make", "artifact": "data", "path": path}]
    assert second["lost_outputs"] == lost
    finish(server, second["id"], "succeeded")
    assert taken(marks) == ["fit", "make", "read"]
    assert show(server, second["id"])["lost_outputs"] == lost
    assert nodes(server, second["id"])["last"]["run"] == first
    (made, *_) = server.get(f"/v1/runs/{second['id']}/events").json["items"]
    assert (made["kind"], made["data"]["kept"], made["data"]["lost"]) == ("run.created", 1, 1)
    third = again(server, ann, second["id"], **{"from": "fit"})  # the data of the second run is there
    finish(server, third["id"], "succeeded")
    assert (third["lost_outputs"], taken(marks)) == ([], ["fit"])


def test_files_that_nothing_needs_may_be_gone(server, ann, marks, broken):
    first = run(server, ann, text("useless", marks, broken), "failed", parameters={})
    broken.unlink()
    second = again(server, ann, first)["id"]
    finish(server, second, "succeeded")
    taken(marks)
    output_of(ann, first, "data").unlink()
    third = again(server, ann, second, **{"from": "last"})
    finish(server, third["id"], "succeeded")
    assert (third["lost_outputs"], taken(marks)) == ([], ["last"])


def test_an_item_of_a_loop(server, ann, marks):
    first = run(
        server,
        ann,
        f"""name: items
entry_points:
  make:
    loop_argument: [1, 2, 3]
    command: "echo make{{{{PF_LOOP_ARGUMENT}}}} >> {marks}; echo {{{{PF_LOOP_ARGUMENT}}}} > {{{{data}}}}"
    artifacts: {{output: [data]}}
  sum:
    deps: make
    command: "echo sum >> {marks}; cat $(echo {{{{all}}}} | tr , ' ') > {{{{total}}}}"
    artifacts: {{input: {{all: "{{{{make.data}}}}"}}, output: [total]}}
""",
    )
    taken(marks)
    items = ann.get(f"/v1/artifacts?run={first}&type=output").json["items"]
    (middle,) = (ann.disk / item["path"] for item in items if "/make-1-" in item["path"])
    middle.unlink()
    second = again(server, ann, first, **{"from": "sum"})
    assert [one["step"] for one in second["lost_outputs"]] == ["make-1"]
    finish(server, second["id"], "succeeded")
    assert taken(marks) == ["make2", "sum"]
    assert output_of(ann, second["id"], "total").read_text() == "1\n2\n3\n"


def test_files_that_cannot_be_looked_at(server, ann, marks, broken):
    first = run(server, ann, text("hidden", marks, broken), "failed")
    place = output_of(ann, first, "data").parent
    hidden = place.rename(place.with_name("hidden"))
    place.symlink_to(place)
    message = again(server, ann, first, 409)["message"]
    assert f"the files that the retry of run '{first}' keeps cannot be looked at: " in message
    place.unlink()
    hidden.rename(place)
    finish(server, again(server, ann, first)["id"], "failed")


def test_a_retry_of_a_result_of_the_cache(server, ann, marks, broken):
    """Its files lie in the run whose result was taken."""
    definition = text("taken", marks, broken).replace("entry_points:", "cache: {enable: true}\nentry_points:", 1)
    first = run(server, ann, definition, "failed")
    second = create(ann, definition)
    finish(server, second, "failed")
    taken(marks)
    output_of(ann, first, "data").unlink()
    broken.unlink()
    third = again(server, ann, second)
    assert [one["step"] for one in third["lost_outputs"]] == ["make"]
    finish(server, third["id"], "succeeded")
    assert "make" in taken(marks)


def test_the_verbs_say_it(server, ann, marks, broken):
    first = run(server, ann, text("said", marks, broken), "failed")
    data = output_of(ann, first, "data")
    line = f"make: its file {data.relative_to(ann.disk)} is gone, so it runs again\n"
    data.unlink()
    broken.unlink()
    done = ann.paddle("run", "retry", first, "--follow")
    assert done.returncode == 0 and line in done.stdout
    assert line in ann.paddle("run", "show", done.stdout.split()[0]).stdout
