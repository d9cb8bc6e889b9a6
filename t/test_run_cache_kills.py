"""The cache of steps beside kills with -9 of the server: nothing runs twice, no hit is lost, no result is mixed or half there.

A kill between two moments of the server needs random waits; they are the only ones here.
"""

import random
import time

import pytest
from conftest import PATIENCE, server_of_module, wait_for
from seeds import SOAK
from test_run_again import taken
from test_run_cache import entries
from test_run_files import create
from test_runs import finish, nodes, running, states

ROUNDS = 10 if SOAK else 1
LATER_S = 0.1

# When the server is killed: up to LATER_S after that.
MOMENTS = (
    "the first run is created",  # its look-ups find nothing
    "the first step runs",  # its entry is there
    "the first step ends",
    "the second run is created",  # between look-up and answer,
    "the second run begins",  # between answer and commit
    "the second run waits",  # for a job of the first one
    "its job ends",
    "the first run is deleted",
)

TEXT = """name: NAME
cache: {enable: true}
parallelism: 1
entry_points:
  make:
    command: "echo make >> MARKS; while test ! -e GO; do sleep 0.05; done; for i in 1 2 3; do echo $i >> {{data}}; done"
    artifacts: {output: [data]}
  beside: {command: "true", cache: {enable: false}}
  fit:
    deps: make
    command: "echo fit >> MARKS; cat {{data}} > {{model}}"
    artifacts: {input: {data: "{{make.data}}"}, output: [model]}
"""

server = server_of_module("--cpus", "64")


class Round:
    """Two runs of one text, and one kill."""

    def __init__(self, server, person, text, moment, draw):
        self.server, self.person, self.text, self.moment, self.draw = server, person, text, moment, draw
        self.waits = moment in ("the second run waits", "its job ends")
        self.kills = 0

    def reach(self, moment):
        if moment == self.moment:
            time.sleep(self.draw.uniform(0, LATER_S))
            self.server.kill()
            self.server.start()
            self.kills += 1

    def create(self):
        return create(self.person, self.text)

    def second_waits(self, second):
        """The step that waits for a job has given its slot to another one."""
        wait_for(
            lambda: states(self.server, second).get("beside") == "succeeded",
            PATIENCE,
            "the step behind the waiting one",
        )

    def play(self, go):
        """The two runs, both of which have succeeded."""
        first = self.create()
        self.reach("the first run is created")
        running(self.server, first, "make")
        self.reach("the first step runs")
        second = self.create() if self.waits else None
        if self.waits:
            self.second_waits(second)
        self.reach("the second run waits")
        go.touch()
        self.reach("the first step ends")
        self.reach("its job ends")
        finish(self.server, first, "succeeded")
        if not self.waits:
            second = self.create()
            self.reach("the second run is created")
            wait_for(lambda: states(self.server, second), PATIENCE, "a step of the second run")
            self.reach("the second run begins")
        finish(self.server, second, "succeeded")
        return first, second


def outputs_of(person, made):
    items = person.get(f"/v1/artifacts?run={made}&type=output").json["items"]
    return {item["name"]: person.disk / item["path"] for item in items}


def check_shared(server, person, first, second, ran):
    """Each result is whole, and is that of both runs. `ran`: the steps that ran, once for each run that made its result."""
    made = {run: nodes(server, run) for run in (first, second)}
    files = {run: outputs_of(person, run) for run in made}
    for step, name in (("make", "data"), ("fit", "model")):
        makers = [run for run in made if not made[run][step]["cached"]]
        assert len(makers) == ran.count(step), made
        assert len([item for run in made for item in entries(person, f"run={run}") if item["step"] == step]) == len(
            makers
        )
        assert all(files[run][name].read_text() == "1\n2\n3\n" for run in made)
        for other in set(made) - set(makers):
            assert made[other][step]["run"] == makers[0]
            assert made[other][step]["job"] == made[makers[0]][step]["job"]
            assert files[other][name] == files[makers[0]][name]


@pytest.mark.parametrize("moment", MOMENTS)
def test_kills(server, ann, marks, tmp_path, moment, seed):
    draw = random.Random(f"{seed} {moment}")
    for number in range(ROUNDS):
        go = tmp_path / f"go-{number}"
        name = f"kill-{MOMENTS.index(moment)}-{number}"
        text = TEXT.replace("NAME", name).replace("MARKS", str(marks)).replace("GO", str(go))
        game = Round(server, ann, text, moment, draw)
        first, second = game.play(go)
        ran = taken(marks)
        # Two steps that search at once both find nothing.
        assert ran == ["fit", "make"] or (ran == ["fit", "fit", "make"] and game.waits)
        check_shared(server, ann, first, second, ran)
        check_deletion(game, first, marks)
        assert game.kills == 1


def check_deletion(game, first, marks):
    """The entries of a run go with it, also if the server is killed then: the next run makes its own, which are hit."""
    if game.moment != "the first run is deleted":
        return
    reply = game.server.request("DELETE", f"/v1/runs/{first}?force=true", headers=game.person.headers)
    assert reply.status == 204, reply.body
    game.reach("the first run is deleted")
    assert not [item for item in entries(game.person) if item["run"] == first]
    third = game.create()
    finish(game.server, third, "succeeded")
    assert taken(marks) == ["fit", "make"]
    fourth = game.create()
    finish(game.server, fourth, "succeeded")
    assert taken(marks) == []
    check_shared(game.server, game.person, third, fourth, ["fit", "make"])
