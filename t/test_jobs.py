"""A job's life over the API: ends, retries, limits, cancel in every state, names, waiting reasons."""

import glob
import os
import pathlib
import signal

import pytest
from conftest import wait_for


def worker(**fields):
    return [{"name": "worker", "replicas": 1, **fields}]


def members(server, job):
    return server.get(f"/v1/jobs/{job['id']}/members").json["items"]


def test_a_plain_job_succeeds_with_log_status_and_usage(server):
    job = server.submit(["sh", "-c", "echo hello; echo world >&2"], name="hello")
    assert job["name"] == "hello" and job["framework"] == "plain"
    job = server.wait("hello")
    assert job["state"] == "succeeded" and job["attempt"] == 1
    assert server.member_log("hello") == "hello\nworld\n"
    (member,) = members(server, job)
    assert member["name"] == "worker-0" and member["state"] == "exited" and member["exit_code"] == 0
    assert member["peak_memory"] > 0
    assert job["submitted_at"] <= job["admitted_at"] <= job["running_at"] <= job["finished_at"]
    assert set(job["stages"]) == {"queued_ms", "environment_ms", "starting_ms", "running_ms"}


@pytest.mark.parametrize(
    "command, reason",
    [
        (["sh", "-c", "exit 3"], "worker-0 exited with status 3"),
        (["sh", "-c", "kill -SEGV $$"], "worker-0"),
        (["no-such-program"], "no-such-program"),
        ("exit 4", "worker-0 exited with status 4"),
    ],
)
def test_a_failure_names_member_and_cause(shared_server, command, reason):
    job = shared_server.wait(shared_server.submit(command)["id"])
    assert job["state"] == "failed"
    assert reason in job["reason"]


def test_exit_status_and_signal_are_kept(shared_server):
    job = shared_server.wait(shared_server.submit(["sh", "-c", "kill -ABRT $$"])["id"])
    (member,) = members(shared_server, job)
    assert member["signal"] in (signal.SIGABRT, "SIGABRT") and member["exit_code"] is None


def test_retries_run_again_with_a_log_each(shared_server):
    job = shared_server.submit("echo attempt; exit 1", retries=2, backoff="10ms")
    job = shared_server.wait(job["id"])
    assert job["state"] == "failed" and job["attempt"] == 3 and job["failures"] == 3
    for attempt in (1, 2, 3):
        assert shared_server.member_log(job["id"], query=f"?attempt={attempt}") == "attempt\n"
    assert shared_server.get(f"/v1/jobs/{job['id']}/logs/worker-0?attempt=4").status == 404


def test_a_time_limit_ends_the_job(shared_server):
    job = shared_server.wait(shared_server.submit(["sleep", "600"], time_limit="300ms", grace="1s")["id"])
    assert job["state"] == "failed" and "time limit" in job["reason"]


def test_a_server_that_never_listens_fails_its_job(shared_server):
    roles = [{"name": "pserver", "replicas": 1, "cpu": "100m"}, {"name": "trainer", "replicas": 1, "cpu": "100m"}]
    job = shared_server.submit("sleep 600", name="deaf", roles=roles, start_timeout="1s", retries=1, grace="1s")
    assert job["spec"]["start_timeout"] == "1s"
    job = shared_server.wait(job["id"])
    port = next(member["port"] for member in job["members"] if member["role"] == "pserver")
    assert job["state"] == "failed" and job["attempt"] == 2
    assert job["reason"] == (
        f"pserver-0 did not listen on port {port} within 1s; see `paddle logs deaf --member pserver-0`; "
        "--start-timeout allows more time"
    )


@pytest.mark.parametrize("value", ["soon", -1, "4000d", []])
def test_a_start_timeout_is_a_duration(shared_server, value):
    reply = shared_server.post("/v1/jobs", {"command": "true", "start_timeout": value})
    assert reply.status == 400 and b"start_timeout" in reply.body


def test_memory_limit_is_enforced_and_named(shared_server):
    job = shared_server.submit(
        ["python3", "-c", "x = bytearray(300 << 20); print(len(x))"], roles=worker(memory="64Mi"), name="hungry"
    )
    job = shared_server.wait(job["id"])
    (member,) = members(shared_server, job)
    assert job["state"] == "failed" and member["oom"] is True
    assert "memory" in job["reason"] and "64Mi" in job["reason"]


def test_cpu_limit_is_enforced(shared_server):
    burn = "import time; end = time.monotonic() + 2\nwhile time.monotonic() < end: pass"
    job = shared_server.wait(shared_server.submit(["python3", "-c", burn], roles=worker(cpu="200m"))["id"])
    (member,) = members(shared_server, job)
    assert member["cpu_ms"] < 1000  # 2 s of wall time at a fifth of a core are 400 ms


def test_process_limit_is_enforced(make_server):
    server = make_server("--max-processes", "20")
    job = server.wait(server.submit("for i in $(seq 60); do sleep 60 & done; wait", grace="1s")["id"], timeout=90)
    assert "fork" in server.member_log(job["id"]).lower() or job["state"] == "failed"


def test_children_end_with_the_member(shared_server, tmp_path):
    mark = tmp_path / "pid"
    job = shared_server.submit(["sh", "-c", f"(setsid sleep 300 & echo $! > {mark}); exit 0"], grace="1s")
    assert shared_server.wait(job["id"])["state"] == "succeeded"
    pid = int(mark.read_text())
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 10, "the child's end")


def test_an_image_is_recorded_and_said_to_be_unused(server):
    job = server.submit(["true"], image="paddlepaddle/paddle:2.6.2", name="imaged")
    assert job["spec"]["image"] == "paddlepaddle/paddle:2.6.2"
    assert any("paddlepaddle/paddle:2.6.2" in note and "not used" in note for note in job["notes"])
    server.wait("imaged")
    assert "not used" in server.paddle("status", "imaged", check=0).stdout
    assert "not used" in server.paddle("submit", "--no-package", "--base-image:img", "true", check=0).stderr
    assert server.job(server.submit(["true"])["id"])["notes"] == []


# -- cancel


def test_cancel_a_queued_job(make_server):
    server = make_server("--cpus", "1")
    first = server.submit(["sleep", "600"], grace="1s")
    second = server.submit(["sleep", "600"])
    server.wait(first["id"], "running")
    reply = server.request("DELETE", f"/v1/jobs/{second['id']}")
    assert reply.status == 200 and reply.json["state"] == "cancelled"


def test_cancel_a_running_job_ends_its_processes(shared_server, tmp_path):
    mark = tmp_path / "pid"
    job = shared_server.submit(["sh", "-c", f"trap 'exit 7' TERM; echo $$ > {mark}; while :; do sleep 0.05; done"])
    wait_for(mark.exists)
    reply = shared_server.request("DELETE", f"/v1/jobs/{job['id']}")
    assert reply.status == 200 and reply.json["state"] in ("stopping", "cancelled")
    job = shared_server.wait(job["id"])
    assert job["state"] == "cancelled"
    assert members(shared_server, job)[0]["exit_code"] == 7
    assert not os.path.exists(f"/proc/{int(mark.read_text())}")


def test_kill_follows_when_term_is_ignored(shared_server):
    job = shared_server.submit(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"], grace="300ms")
    wait_for(lambda: "up" in shared_server.member_log(job["id"]))
    shared_server.request("DELETE", f"/v1/jobs/{job['id']}")
    job = shared_server.wait(job["id"])
    assert job["state"] == "cancelled" and members(shared_server, job)[0]["signal"] in (9, "SIGKILL")


STUBBORN = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"]


@pytest.mark.parametrize(
    "again",
    [
        lambda server, job: server.request("DELETE", f"/v1/jobs/{job}"),
        lambda server, job: server.post(f"/v1/jobs/{job}/cancel"),
        lambda server, job: server.post(f"/v1/jobs/{job}/cancel", {"force": True}),
        lambda server, job: server.paddle("cancel", job, check=0),
        lambda server, job: server.paddle("cancel", "--force", job, check=0),
    ],
    ids=["delete", "post", "post with force", "paddle cancel", "paddle cancel --force"],
)
def test_a_second_cancel_kills(shared_server, again):
    job = shared_server.submit(STUBBORN, grace="1h")
    wait_for(lambda: "up" in shared_server.member_log(job["id"]))
    reply = shared_server.request("DELETE", f"/v1/jobs/{job['id']}")
    assert reply.status == 200 and reply.json["state"] == "stopping"
    reply = again(shared_server, job["id"])
    assert getattr(reply, "status", 200) == 200, reply.body
    job = shared_server.wait(job["id"], timeout=30)
    assert job["state"] == "cancelled" and members(shared_server, job)[0]["signal"] in (9, "SIGKILL")


def test_a_cancel_with_force_kills(shared_server):
    job = shared_server.submit(STUBBORN, grace="1h")
    wait_for(lambda: "up" in shared_server.member_log(job["id"]))
    assert "stopping" in shared_server.paddle("cancel", "-f", job["id"], check=0).stderr
    job = shared_server.wait(job["id"], timeout=30)
    assert job["state"] == "cancelled" and members(shared_server, job)[0]["signal"] in (9, "SIGKILL")


@pytest.mark.parametrize("body", [{"force": "yes"}, {"kill": True}, [], "{"])
def test_a_cancel_with_a_wrong_body_is_refused(shared_server, body):
    job = shared_server.submit(["sleep", "600"], grace="1s")
    assert shared_server.post(f"/v1/jobs/{job['id']}/cancel", body).status == 400
    assert shared_server.job(job["id"])["state"] not in ("stopping", "cancelled")
    shared_server.request("DELETE", f"/v1/jobs/{job['id']}")


def test_cancel_during_back_off(shared_server):
    job = shared_server.submit("exit 1", retries=3, backoff="1h")
    wait_for(lambda: shared_server.job(job["id"])["failures"] == 1)
    job = shared_server.wait(job["id"], "queued")
    assert job["not_before"]
    assert shared_server.request("DELETE", f"/v1/jobs/{job['id']}").json["state"] == "cancelled"


def test_cancel_of_a_finished_job_is_refused(shared_server):
    job = shared_server.wait(shared_server.submit(["true"])["id"])
    reply = shared_server.request("DELETE", f"/v1/jobs/{job['id']}")
    assert reply.status == 409 and reply.json["code"] == "conflict" and "succeeded" in reply.json["message"]


# -- names


def test_a_name_is_unique_among_open_jobs(make_server):
    server = make_server("--cpus", "1")
    first = server.submit(["sleep", "600"], name="twin", grace="1s")
    reply = server.post("/v1/jobs", {"command": ["true"], "name": "twin"})
    assert reply.status == 409 and reply.json["code"] == "exists" and first["id"] in reply.json["message"]
    server.request("DELETE", "/v1/jobs/twin")
    server.wait(first["id"])
    second = server.submit(["true"], name="twin")
    server.wait(second["id"])
    assert server.job("twin")["id"] == second["id"]  # the newest of that name
    assert server.job(first["id"])["state"] == "cancelled"  # an id always means its own


def test_a_name_that_is_another_jobs_id_is_refused(shared_server):
    first = shared_server.submit(["sleep", "600"], grace="1s")
    reply = shared_server.post("/v1/jobs", {"command": ["true"], "name": first["id"]})
    shared_server.request("DELETE", f"/v1/jobs/{first['id']}")
    assert reply.status == 409 and reply.json["code"] == "exists" and first["id"] in reply.json["message"]


def test_a_name_is_made_when_none_is_given(shared_server):
    job = shared_server.submit(["true"])
    assert job["name"].startswith("true-")
    assert shared_server.job(job["name"])["id"] == job["id"]


def test_an_idempotency_key_never_makes_a_second_job(shared_server):
    body, headers = {"command": ["true"], "name": "once"}, {"Idempotency-Key": "key-1"}
    first = shared_server.post("/v1/jobs", body, headers=headers)
    assert first.status == 201
    shared_server.wait(first.json["id"])
    again = shared_server.post("/v1/jobs", body, headers=headers)
    assert again.status == 200 and again.json["id"] == first.json["id"]
    other = shared_server.post("/v1/jobs", {"command": ["false"]}, headers=headers)
    assert other.status == 409


# -- waiting


def test_a_pending_job_says_why_with_numbers(make_server):
    server = make_server("--cpus", "2")
    first = server.submit(["sleep", "600"], roles=worker(cpu="1500m"), grace="1s")
    server.wait(first["id"], "running")
    second = server.submit(["true"], roles=worker(cpu="1"))
    job = server.job(second["id"])
    assert job["state"] == "queued"
    assert "500m" in job["reason"] or "0.5" in job["reason"], job["reason"]
    assert "2" in job["reason"]
    server.request("DELETE", f"/v1/jobs/{first['id']}")
    assert server.wait(second["id"])["state"] == "succeeded"


def test_first_come_first_served_and_gangs_whole(make_server):
    server = make_server("--cpus", "2")
    first = server.submit(["sleep", "600"], roles=worker(cpu="1"), grace="1s")
    server.wait(first["id"], "running")
    gang = server.submit(["true"], roles=[{"name": "worker", "replicas": 2, "cpu": "1"}])
    small = server.submit(["true"], roles=worker(cpu="1"))
    assert server.job(gang["id"])["state"] == "queued"  # half of it would fit
    assert server.job(small["id"])["state"] == "queued"  # it would fit, but is behind
    server.request("DELETE", f"/v1/jobs/{first['id']}")
    gang, small = server.wait(gang["id"]), server.wait(small["id"])
    assert gang["running_at"] <= small["running_at"]


def test_what_can_never_fit_is_refused(make_server):
    server = make_server("--cpus", "2")
    reply = server.post("/v1/jobs", {"command": ["true"], "roles": worker(cpu="3")})
    assert reply.status == 400 and "3" in reply.json["message"] and "2" in reply.json["message"]


def test_declared_gpus_are_assigned_by_index(make_server):
    server = make_server("--gpus", "4", "--cpus", "8")
    script = "echo gpu=$CUDA_VISIBLE_DEVICES; sleep 600"
    roles = [{"name": "worker", "replicas": 2, "gpus": 1, "cpu": "1"}]
    job = server.submit(["sh", "-c", script], roles=roles, grace="1s", use_gpu=True)
    server.wait(job["id"], "running")
    first = {wait_for(lambda m=m: server.member_log(job["id"], m)).strip() for m in ("worker-0", "worker-1")}
    other = server.submit(["sh", "-c", script], roles=worker(gpus=2, cpu="1"), grace="1s", use_gpu=True)
    server.wait(other["id"], "running")
    second = wait_for(lambda: server.member_log(other["id"])).strip()
    used = {int(n) for line in first | {second} for n in line.split("=")[1].split(",")}
    assert used == {0, 1, 2, 3}
    waiting = server.submit(["true"], roles=worker(gpus=1), use_gpu=True)
    assert "0 of 4" in server.job(waiting["id"])["reason"], server.job(waiting["id"])["reason"]


@pytest.mark.skipif(not glob.glob("/dev/nvidia[0-9]*"), reason="no NVIDIA GPU in this machine")
def test_real_gpu_is_assigned(make_server):
    server = make_server()
    show = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader", "-i", "$CUDA_VISIBLE_DEVICES"]
    job = server.submit(" ".join(show), roles=worker(gpus=1), use_gpu=True)
    job = server.wait(job["id"])
    assert job["state"] == "succeeded", job["reason"]
    assert server.member_log(job["id"]).strip() == members(server, job)[0]["gpus"]


# -- lists


def test_lists_page_through_everything_once(make_server):
    server = make_server("--cpus", "64")
    ids = [server.submit(["true"], roles=worker(cpu="100m"))["id"] for _ in range(25)]
    seen, after = [], None
    while True:
        page = server.get("/v1/jobs?limit=10" + (f"&after={after}" if after else "")).json
        seen += [item["id"] for item in page["items"]]
        after = page["next"]
        if not after:
            break
    assert seen == ids[::-1]
    for job in ids:
        server.wait(job)
    assert {item["id"] for item in server.get("/v1/jobs?state=succeeded&limit=100").json["items"]} == set(ids)
    assert server.get("/v1/jobs?state=nonsense").status == 400


# -- environment of members


def test_variables_of_a_parameter_server_job(server):
    roles = [{"name": "pserver", "replicas": 2, "cpu": "100m"}, {"name": "trainer", "replicas": 2, "cpu": "100m"}]
    listen = (
        "import os, socket, time\n"
        "if os.environ['TRAINING_ROLE'] == 'PSERVER':\n"
        "    s = socket.socket(); s.bind((os.environ['POD_IP'], int(os.environ['PADDLE_PORT']))); s.listen(); time.sleep(600)\n"
        "for end in os.environ['PADDLE_PSERVERS_IP_PORT_LIST'].split(','):\n"
        "    host, port = end.split(':'); socket.create_connection((host, int(port))).close()\n"
        "print(chr(10).join(f'{k}={v}' for k, v in sorted(os.environ.items())))\n"
    )
    job = server.submit(["python3", "-c", listen], roles=roles, env={"NUM_PASS": "5"}, grace="1s")
    assert job["framework"] == "paddle-ps"
    job = server.wait(job["id"])
    assert job["state"] == "succeeded", job["reason"]
    seen = dict(line.split("=", 1) for line in server.member_log(job["id"], "trainer-1").splitlines() if "=" in line)
    servers = seen["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    trainers = seen["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert len(servers) == 2 and len(trainers) == 2 and len(set(servers + trainers)) == 4
    assert all(end.startswith("127.0.0.1:") for end in servers + trainers)
    expected = {
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_TRAINER_ID": "1",
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_TRAINING_ROLE": "TRAINER",
        "POD_IP": "127.0.0.1",
        "PADDLE_PORT": trainers[1].split(":")[1],
        "PADDLE_CURRENT_ENDPOINT": trainers[1],
        "PADDLE_WITH_GLOO": "1",
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_DISTRI_BACKEND": "gloo",
        "PADDLE_JOB_NAME": job["name"],
        "TRAINERS": "2",
        "PSERVERS": "2",
        "PADDLE_INIT_NUM_GRADIENT_SERVERS": "2",
        "PADDLE_INIT_TRAINER_ID": "1",
        "PADDLE_INIT_USE_GPU": "0",
        "NUM_PASS": "5",
    }
    assert {name: seen.get(name) for name in expected} == expected
    ports = {int(end.split(":")[1]) for end in servers + trainers} | {
        int(seen["PADDLE_GLOO_HTTP_ENDPOINT"].split(":")[1])
    }
    assert len(ports) == 5


def test_trainers_start_when_all_servers_listen(server):
    roles = [{"name": "pserver", "replicas": 1, "cpu": "100m"}, {"name": "trainer", "replicas": 1, "cpu": "100m"}]
    program = (
        "import os, socket, time\n"
        "if os.environ['TRAINING_ROLE'] == 'PSERVER':\n"
        "    while not os.path.exists('go'): time.sleep(0.02)\n"
        "    s = socket.socket(); s.bind((os.environ['POD_IP'], int(os.environ['PADDLE_PORT']))); s.listen(); time.sleep(600)\n"
        "print('trainer ran')\n"
    )
    job = server.submit(["python3", "-c", program], roles=roles, grace="1s")
    job = server.wait(job["id"], "starting")
    states = {m["name"]: m["state"] for m in members(server, job)}
    assert states["trainer-0"] == "waiting"
    (work,) = wait_for(lambda: list(server.state.glob(f"jobs/*/{job['id']}/1/work")))
    (work / "go").touch()
    assert server.wait(job["id"])["state"] == "succeeded"
    assert server.member_log(job["id"], "trainer-0") == "trainer ran\n"


def test_a_server_that_ends_early_fails_the_job(server):
    roles = [{"name": "pserver", "replicas": 1, "cpu": "100m"}, {"name": "trainer", "replicas": 1, "cpu": "100m"}]
    job = server.wait(server.submit(["true"], roles=roles)["id"])
    assert job["state"] == "failed" and "pserver-0" in job["reason"]


def test_the_server_comes_before_the_jobs(shared_server):
    """It has a session of its own here, and so a weight of its own beside jobs that compute."""
    group = f"/proc/{shared_server.process.pid}/autogroup"
    assert pathlib.Path(group).read_text().endswith(" nice -10\n")
    job = shared_server.wait(shared_server.submit(["cat", "/proc/self/autogroup"])["id"])
    assert shared_server.member_log(job["id"]).endswith(" nice 0\n")
