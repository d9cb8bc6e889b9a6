"""Schemathesis reads the description of the API and tries what it says, and what it does not say: no answer may be a
server error, every answer must be as described, and what the description forbids must be refused."""

import os
import subprocess

import pytest
from conftest import PATIENCE, ROOT, Server, wait_for
from seeds import SOAK

EXAMPLES = 200 if SOAK else 10
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance,ignored_auth"
)
# What never ends, and what needs no token over the loopback.
EXCLUDED = ["/v1/events", "/v1/jobs/{job}/logs", "/v1/runs/{run}/logs", "/metrics"]
# A body that is too large is refused before it is looked at.
SETTINGS = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 429]
"""


@pytest.fixture
def served(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "4", "--listen", "127.0.0.1:0").start()
    yield server
    server.destroy()


def try_it(served, directory, seed, user, admin, words, settings=SETTINGS):
    (directory / "settings.toml").write_text(settings)
    env = {**os.environ, "PYTHONHASHSEED": "0"}  # it draws from sets, too
    token = served.post("/v1/tokens", {"user": user, "admin": admin}).json["token"]
    line = [
        ROOT / ".venv/bin/schemathesis",
        "--config-file",
        "settings.toml",
        "run",
        f"http://127.0.0.1:{served.port}/v1/openapi.json",
    ]
    line += ["--header", f"Authorization: Bearer {token}", "--checks", CHECKS, "--max-examples", str(EXAMPLES)]
    line += ["--phases", "examples,coverage,fuzzing", "--seed", str(seed), "--generation-deterministic"]
    line += ["--workers", "1", "--request-timeout", "60", "--no-color", "--warnings", "off", *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=directory, env=env, check=False)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    assert "No issues found" in done.stdout, done.stdout[-2000:]
    assert served.process.poll() is None


@pytest.mark.timeout(3000 if SOAK else 1200)
@pytest.mark.parametrize(
    ("name", "admin", "more"),
    [("someone", False, []), ("chief", True, ["/v1/login"])],
    ids=["a-user", "an-administrator"],
)
def test_v1_is_as_described(served, tmp_path, seed, name, admin, more):
    """As a user nothing of the server itself is dropped. To log in is the same for all, and made slow for those who guess."""
    words = [word for path in EXCLUDED + more for word in ("--exclude-path", path)]
    try_it(served, tmp_path, seed, name, admin, words)


# Two runs of a stored pipeline, so that routes of one run are tried with what there is. Nothing deletes it.
FLOW = """name: tried
entry_points:
  make: {command: "echo x > {{out}}", artifacts: {output: [out]}}
  many: {deps: make, loop_argument: [1, 2], command: "true", artifacts: {input: {it: "{{make.out}}"}}}
"""
THERE = """
[parameters]
"path.run" = "tried"
"path.pipeline" = "tried"
"path.version" = 1
"path.name" = "home"
"""


@pytest.mark.timeout(1200)
def test_what_is_there_is_as_described(served, tmp_path, seed):
    """As an administrator: the routes about runs, stored pipelines and file systems, with names of those that there are."""
    token = served.post("/v1/tokens", {"user": "chief", "admin": True}).json["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert served.post("/v1/pipelines", {"definition": FLOW}, headers=headers).status == 201
    run = served.post("/v1/runs", {"pipeline": "tried"}, headers=headers).json["id"]
    wait_for(
        lambda: served.request("GET", f"/v1/runs/{run}", headers=headers).json["state"] == "succeeded",
        PATIENCE,
        "the run's end",
    )
    assert served.request("GET", f"/v1/artifacts?run={run}", headers=headers).json["items"]
    words = ["--include-path-regex", "^/v1/(runs|pipelines|artifacts|filesystems)", "--exclude-method", "DELETE"]
    words += ["--exclude-path", "/v1/runs/{run}/logs"]
    try_it(served, tmp_path, seed, "chief", True, words, SETTINGS + THERE)
