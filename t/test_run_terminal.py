"""Texts of users in the output of the verbs about runs: no control character of them reaches the terminal."""

import json
import re

import pytest
from conftest import server_of_module
from test_cli_terminal import Terminal
from test_runs import create, finish

# it renames a window, clears a screen, colours text by a sequence that begins with one character, and changes the direction
EVIL = "\x1b]0;title\a\x1b[2J\x9b31m\u202ex"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
OWN = re.compile(r"\x1b\[[0-9;]*m|\r")  # what `paddle` writes itself on a terminal

DEFINITION = """name: evil
cache: {enable: true}
failure_options: {strategy: continue}
entry_points:
  make:
    command: "true VERSION '{{p}}' 'EVIL'; echo > {{data}}"
    parameters: {p: "EVIL", plain: x}
    env: {E: "EVIL VERSION"}
    artifacts: {output: [data]}
  many: {loop_argument: ["EVIL", b], command: "true", deps: make}
  broken: {parameters: {p: "EVIL"}, condition: "{{p}} < 3", command: "true"}
  joined: {deps: each, artifacts: {input: {all: "{{each.part}}"}}, command: "true"}
  each: {loop_argument: [1, 2, 3], artifacts: {output: [part]}, command: "echo > {{part}}"}
  lost: {loop_argument: "{{q}}", parameters: {q: "EVIL"}, command: "true"}
  fails: {command: "printf 'EVIL' >&2; exit 3"}
"""

server = server_of_module("--cpus", "64")


def definition(version):
    return DEFINITION.replace("EVIL", json.dumps(EVIL)[1:-1]).replace("VERSION", str(version))


@pytest.fixture(scope="module")
def runs(server):
    """Two runs of two versions of a pipeline that has such a text wherever one may be. In the second the cache asks in vain."""
    made = []
    for version in (1, 2):
        run = create(server, definition(version), description=EVIL, parameters={"make.plain": EVIL + str(version)})
        finish(server, run, "failed")
        made.append(run)
    body = {"definition": definition(1), "description": EVIL}
    reply = server.post("/v1/pipelines", body)
    assert reply.status == 201, reply.body
    return made


VERBS = [
    "run show SECOND --all",
    "run show SECOND --svg",
    "run show SECOND -o json",
    "run show SECOND -o yaml",
    "run list",
    "run list -o wide",
    "run diff FIRST SECOND --all",
    "run diff FIRST SECOND -o json",
    "run diff FIRST SECOND -o yaml",
    "run explain-cache SECOND make",
    "run explain-cache SECOND make -o yaml",
    "run wait SECOND",
    "run break SECOND",
    "run logs SECOND make",
    "cache list -o wide",
    "cache list -o yaml",
    "artifact list --run SECOND",
    "artifact list --run SECOND -o yaml",
    "pipeline list",
    "pipeline list -o yaml",
    "pipeline show evil",
    "pipeline show evil --svg",
    "pipeline show evil.yaml",
    "pipeline lint evil.yaml",
    "pipeline render evil.yaml",
    "pipeline render evil.yaml -o json",
    "list --all",
]


@pytest.mark.parametrize("words", VERBS)
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_no_control_character_of_a_user_is_printed(server, runs, tmp_path, words, terminal):
    (tmp_path / "evil.yaml").write_text(definition(1))
    line = words.replace("FIRST", runs[0]).replace("SECOND", runs[1]).split()
    if terminal:
        shown = Terminal(server, *line, cwd=tmp_path, width=100)
        shown.end()
        said = OWN.sub("", shown.said.decode())
    else:
        done = server.paddle(*line, cwd=tmp_path)
        said = done.stdout + done.stderr
    assert said.strip()
    assert not CONTROLS.search(said), repr(said)


def test_joined_paths_of_an_artifact_are_counted(server, runs):
    """In a table; the whole text is in the other forms."""
    items = json.loads(server.paddle("artifact", "list", "--run", runs[0], "-o", "json", check=0).stdout)
    path = next(item["path"] for item in items if item["name"] == "all")
    assert path.count(",") == 2
    shown = server.paddle("artifact", "list", "--run", runs[0], check=0).stdout
    assert f"{path.split(',')[0]} (and 2 more)\n" in shown and "," not in shown
