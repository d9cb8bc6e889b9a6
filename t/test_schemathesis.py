"""Schemathesis reads the description of the API and tries what it says, and what it does not say: no answer may be a
server error, every answer must be as described, and what the description forbids must be refused."""

import os
import subprocess

import pytest
from conftest import ROOT, Server
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


@pytest.mark.timeout(3000 if SOAK else 1200)
@pytest.mark.parametrize(
    ("name", "admin", "more"),
    [("someone", False, []), ("chief", True, ["/v1/login"])],
    ids=["a-user", "an-administrator"],
)
def test_v1_is_as_described(served, tmp_path, seed, name, admin, more):
    """As a user nothing of the server itself is dropped. To log in is the same for all, and made slow for those who guess."""
    (tmp_path / "settings.toml").write_text(SETTINGS)
    env = {**os.environ, "PYTHONHASHSEED": "0"}  # it draws from sets, too
    token = served.post("/v1/tokens", {"user": name, "admin": admin}).json["token"]
    line = [
        ROOT / ".venv/bin/schemathesis",
        "--config-file",
        "settings.toml",
        "run",
        f"http://127.0.0.1:{served.port}/v1/openapi.json",
    ]
    line += ["--header", f"Authorization: Bearer {token}", "--checks", CHECKS, "--max-examples", str(EXAMPLES)]
    line += ["--phases", "examples,coverage,fuzzing", "--seed", str(seed), "--generation-deterministic"]
    line += ["--workers", "1", "--request-timeout", "60", "--no-color", "--warnings", "off"]
    line += [word for path in EXCLUDED + more for word in ("--exclude-path", path)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    assert "No issues found" in done.stdout, done.stdout[-2000:]
    assert served.process.poll() is None
