"""`paddle doctor` finds what would keep jobs from running."""

import json
import os
import subprocess

from conftest import BIN


def doctor(server, *before):
    environment = {**os.environ, "PADDLE_SERVER": server.url, "HOME": str(server.state)}
    return subprocess.run(
        [*before, BIN / "paddle", "doctor"], env=environment, capture_output=True, text=True, check=False
    )


def findings(done):
    return {line.split()[1]: line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()}


def test_a_sound_machine_has_no_failure(server):
    done = doctor(server)
    assert done.returncode == 0, done.stdout
    assert "fail" not in findings(done).values()
    assert {"server", "login", "programs", "cgroups", "python", "disk", "clock", "name"} <= set(findings(done))


def test_a_name_without_an_address_is_a_failure_with_its_mend(server):
    """PaddlePaddle's gloo crashes on such a machine (seen on one without /etc/hosts)."""
    done = doctor(server, "unshare", "--uts", "sh", "-c", 'hostname no-such-name-x; exec "$0" "$@"')
    assert findings(done)["name"] == "fail" and done.returncode == 1
    assert "no-such-name-x" in done.stdout and "/etc/hosts" in done.stdout


def test_kernel_memory_and_gpus_are_looked_at(server):
    done = doctor(server)
    assert {"kernel", "memory", "gpus"} <= set(findings(done))
    assert "Linux " in done.stdout and "cgroup" in done.stdout and " are available" in done.stdout


def test_json(server):
    environment = {**os.environ, "PADDLE_SERVER": server.url, "HOME": str(server.state)}
    done = subprocess.run(
        [BIN / "paddle", "doctor", "-o", "json"], env=environment, capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)
    assert {item["check"] for item in found} >= {"server", "kernel", "gpus"}
    assert all(item["level"] in ("ok", "warn", "fail") and item["found"] for item in found)
    assert all((item["todo"] is None) == (item["level"] == "ok") for item in found)
