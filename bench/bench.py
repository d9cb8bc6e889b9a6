"""The figures of the platform beside those of its peers, measured in one run: bench/run [NAME...]."""

import atexit
import datetime
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import beside
import crowd
import described
import first
import kubernetes
import paddlejobs
import partial
import pods
import sandbox
import scheduler
import tls
from slurm import Slurm

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "t"))
os.environ.setdefault("PADDLE_BIN", str(ROOT / "build/bin"))
import cached  # noqa: E402
import neighbour  # noqa: E402
import runs  # noqa: E402
import schedules  # noqa: E402
import sweep  # noqa: E402
from conftest import Server, wait_for  # noqa: E402

BIN, TOOLS = ROOT / "build/bin", ROOT / "build/bench"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
COMMIT_BYTES = 15 * 4096  # about what a commit of 8 submits writes to the log
TRUE_JOB = json.dumps({"command": ["true"], "roles": [{"name": "worker", "replicas": 1, "cpu": "100m"}]})


class Scratch:
    """A server of its own for one bench."""

    def __init__(self, *options, program=BIN / "paddled"):
        self.options, self.program = options, program

    def __enter__(self):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
        # ext4 looks for a free inode among all that were deleted in the last minutes (by an earlier bench, or a build),
        # which made a file cost 165 us in place of 20. Below a directory with this flag it begins elsewhere on the disk.
        subprocess.run(["chattr", "+T", directory], capture_output=True, check=False)
        self.server = Server(directory / "state", *self.options, program=self.program)
        return self.server.start()

    def __exit__(self, *exc):
        self.server.destroy(keep=True)


def spread(values):
    """Median, minimum and maximum of several rounds."""
    return {
        "median": round(statistics.median(values), 3),
        "min": round(min(values), 3),
        "max": round(max(values), 3),
        "rounds": len(values),
    }


def load(server, connections, count, method, path, body=""):
    done = subprocess.run(
        [TOOLS / "load", server.socket, str(connections), str(count), method, path, body],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def open_jobs(server):
    return server.get("/v1/info").json["jobs"]["open"]


def job_rate():
    """Jobs of `true` from the first submit to the last end, durable, each with its own log and status."""
    spawn, rate = [], []
    count = 3000
    with Scratch("--cpus", "0.8") as server:  # 8 in flight, as the bare loop has
        load(server, 8, 300, "POST", "/v1/jobs", TRUE_JOB)
        wait_for(lambda: open_jobs(server) == 0, 120)
        for _ in range(ROUNDS):
            spawn.append(
                float(
                    subprocess.run(
                        [TOOLS / "spawn", str(count), "8", "true"], capture_output=True, text=True, check=True
                    ).stdout
                )
            )
            start = time.monotonic()
            done = load(server, 8, count, "POST", "/v1/jobs", TRUE_JOB)
            assert done["bad"] == 0, done
            wait_for(lambda: open_jobs(server) == 0, 120)
            rate.append(count / (time.monotonic() - start))
        finished = server.get("/metrics").body.decode()
        assert f"paddle_jobs_succeeded_total {300 + ROUNDS * count}\n" in finished, "not every job succeeded"
    with Slurm() as slurm:
        peer = [slurm.rate(300) for _ in range(max(2, ROUNDS // 2))]
    ratios = [a / b for a, b in zip(rate, spawn)]
    return {
        "jobs per second": spread(rate),
        "bare posix_spawn per second": spread(spawn),
        "Slurm jobs per second": spread(peer),
        "of bare spawn (bar 0.30)": spread(ratios),
        "of Slurm (bar 15)": {"median": round(statistics.median(rate) / statistics.median(peer), 1)},
    }


def submit_true(server, program, directory):
    """Runs `paddle submit -- true`. Seconds of the command, and seconds from its start to the member's start."""
    environment = {**os.environ, "PADDLE_SERVER": server.url, "HOME": str(server.state)}
    start = time.time()
    done = subprocess.run(
        [program, "submit", "--", "true"], cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    took = time.time() - start
    return took, parse_time(server.wait(done.stdout.split()[0])["running_at"]) - start


def submit_latency():
    """`paddle submit -- true` from its start to the member's start, on a free machine; beside `srun true` and `curl --version`."""
    ours, srun, command = [], [], []
    with Scratch("--cpus", "8") as server, tempfile.TemporaryDirectory() as empty:
        for i in range(60 * max(1, ROUNDS // 2)):
            took, to_running = submit_true(server, BIN / "paddle", empty)
            command.append(took * 1000)
            if i >= 5:
                ours.append(to_running * 1000)
    curl = [timed(["curl", "--version"]) for _ in range(20)]
    with Slurm() as slurm:
        srun = slurm.srun_ms(15)
    ours.sort()
    return {
        "to running ms p50 (bar 15)": round(ours[len(ours) // 2], 2),
        "to running ms p99 (bar 50)": round(ours[len(ours) * 99 // 100], 2),
        "command ms": spread(command),
        "srun true ms": spread(srun),
        "curl --version ms": spread(curl),
        "of srun (bar 0.33)": round(ours[len(ours) // 2] / statistics.median(srun), 3),
    }


def parse_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def timed(command):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - start) * 1000


def bare_sync(directory, size, seconds=1):
    """Median seconds of writing `size` bytes into a file that has its length already, and of syncing them."""
    with tempfile.TemporaryFile(dir=directory) as file:
        length = 32 * 1024 * 1024 // size * size
        file.write(bytes(length))
        os.fsync(file.fileno())
        data, at, times, end = os.urandom(size), 0, [], time.monotonic() + seconds
        while time.monotonic() < end:
            start = time.perf_counter()
            os.pwrite(file.fileno(), data, at)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
            at = (at + size) % length
    return statistics.median(times)


def durable_submits():
    """POST /v1/jobs over 8 keep-alive connections while nothing can start; beside 8 callers that share each bare sync."""
    rates, p99, bounds = [], [], []
    with Scratch("--cpus", "1") as server:
        server.submit(["sleep", "600"], roles=[{"name": "worker", "replicas": 1, "cpu": "1"}], grace="1s")
        for _ in range(ROUNDS):
            done = load(server, 8, 8000, "POST", "/v1/jobs", TRUE_JOB)
            assert done["bad"] == 0, done
            rates.append(done["rate"])
            p99.append(done["p99_ms"])
            bounds.append(8 / bare_sync(server.state, COMMIT_BYTES))
        subprocess.run(["kill", "-9", str(server.process.pid)], check=True)
        server.process.wait()
        server.start()
        assert open_jobs(server) == 1 + 8000 * ROUNDS, "an acknowledged job is missing after kill -9"
        kill_open(server)
    return {
        "per second (bar 15000)": spread(rates),
        "p99 ms": spread(p99),
        "8 callers of each bare sync, per second": spread(bounds),
        "of that": spread([rate / bound for rate, bound in zip(rates, bounds, strict=True)]),
    }


def kill_open(server):
    """Ends everything of a server at once, thousands of queued jobs among it: its scratch directory goes anyway."""
    server.kill()
    for _ in range(3):
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid() and belongs_to(entry, str(server.state)):
                os.kill(int(entry.name), signal.SIGKILL)
        time.sleep(0.2)
    server.destroy = lambda keep: None


def belongs_to(entry, state):
    """Whether a process was started with this state directory on its command line or in its environment."""
    try:
        return any(state.encode() in (entry / name).read_bytes() for name in ("cmdline", "environ"))
    except OSError:
        return False


def wrk(url, connections=16, seconds=4, lua=None):
    command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", *(["-s", lua] if lua else []), url]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in out, out
    return float(next(line for line in out.splitlines() if "Requests/sec" in line).split()[1])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Nginx:
    """nginx serving one file of `size` bytes: `with Nginx(directory, size) as url`."""

    def __init__(self, directory, size):
        self.directory, self.size, self.port = pathlib.Path(directory), size, free_port()

    def __enter__(self):
        base = self.directory
        (base / "www").mkdir()
        (base / "www" / "job").write_bytes(b"x" * self.size)
        config = base / "nginx.conf"
        config.write_text(
            f"worker_processes 2; pid {base}/nginx.pid; error_log {base}/nginx.log; user root; daemon off;\n"
            "events { worker_connections 1024; }\n"
            f"http {{ access_log off; keepalive_requests 100000000; server {{ listen 127.0.0.1:{self.port}; root {base}/www; }} }}\n"
        )
        self.process = subprocess.Popen(["nginx", "-c", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)
        return f"http://127.0.0.1:{self.port}/job"

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait()


def write_requests(path, token, jobs):
    """A script for wrk that asks for `jobs` in turn."""
    names = ",".join(f'"/v1/jobs/{job}"' for job in jobs)
    path.write_text(
        f'local paths, n = {{{names}}}, 0\nlocal headers = {{["Authorization"] = "Bearer {token}"}}\n'
        'request = function() n = n % #paths + 1 return wrk.format("GET", paths[n], headers) end\n'
    )
    return str(path)


def get_rate():
    """GET of one job, of 500 queued ones and of 500 finished ones in turn, over TCP with a token, beside nginx serving a file of that size."""
    result = {}
    with Scratch("--cpus", "4") as server:
        server.stop()
        port = free_port()
        server.options = ("--cpus", "4", "--listen", f"127.0.0.1:{port}")
        server.start()
        steady = server.submit(
            ["sleep", "600"], name="steady", grace="1s", roles=[{"name": "worker", "replicas": 1, "cpu": "4"}]
        )
        server.wait(steady["id"], "running")
        load(server, 8, 1000, "POST", "/v1/jobs", TRUE_JOB)
        queued = [job["id"] for job in server.get("/v1/jobs?limit=1000&state=queued").json["items"]]
        for job in queued[:500]:
            server.request("DELETE", f"/v1/jobs/{job}")
        token = server.post("/v1/tokens", {}).json["token"]
        kinds = {
            "one running job, by name": ["steady"],
            "500 queued jobs": queued[500:],
            "500 finished jobs": queued[:500],
        }
        size = len(server.get("/v1/jobs/steady").body)
        with Nginx(server.state, size) as nginx:
            for kind, jobs in kinds.items():
                script = write_requests(server.state / "jobs.lua", token, jobs)
                ours, peer = [], []
                for _ in range(ROUNDS):
                    ours.append(wrk(f"http://127.0.0.1:{port}/", lua=script, seconds=3))
                    peer.append(wrk(nginx, seconds=3))
                result[f"{kind}, per second (bar 30000)"] = spread(ours)
                result[f"{kind}, of nginx (bar 0.33)"] = spread([a / b for a, b in zip(ours, peer)])
        kill_open(server)
    return {**result, "bytes": size}


def private_kb(pid):
    fields = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(
        int(line.split()[1]) for line in fields.splitlines() if line.startswith(("Private_Clean", "Private_Dirty"))
    )


def processes(server):
    """{kind: [pids]} of the server's own programs."""
    found = {"paddled": [server.process.pid], "paddle-agent": [], "paddle-spawner": []}
    agent = server.agent_pid()
    found["paddle-agent"] = [agent] if agent else []
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
            children.setdefault(int(rest[1]), []).append((int(entry.name), name))
    spawners = [pid for pid, _ in children.get(agent, [])]
    found["paddle-spawner"] = spawners
    found["keeper"] = [pid for spawner in spawners for pid, _ in children.get(spawner, [])]
    return found


def memory():
    """Private memory (smaps_rollup): idle, per queued job, per running member with its keeper."""
    with Scratch("--cpus", "1") as server:
        wait_for(server.agent_pid)
        idle = sum(private_kb(pid) for pids in processes(server).values() for pid in pids)
        server.submit(["sleep", "600"], roles=[{"name": "worker", "replicas": 1, "cpu": "1"}], grace="1s")
        load(server, 8, 2000, "POST", "/v1/jobs", TRUE_JOB)
        before = private_kb(server.process.pid)
        load(server, 8, 20000, "POST", "/v1/jobs", TRUE_JOB)
        per_job = (private_kb(server.process.pid) - before) / 20000
        kill_open(server)
    with Scratch("--cpus", "400") as server:
        members = 100
        spec = [{"name": "worker", "replicas": members, "cpu": "1"}]
        warm = server.submit(["sleep", "600"], roles=spec, grace="1s")
        server.wait(warm["id"], "running")
        before = sum(private_kb(pid) for pids in processes(server).values() for pid in pids)
        job = server.submit(["sleep", "600"], roles=spec, grace="1s")
        server.wait(job["id"], "running")
        after = sum(private_kb(pid) for pids in processes(server).values() for pid in pids)
        per_member = (after - before) / members
    return {
        "idle MB, server, agent, spawner (bar 25)": round(idle / 1024, 1),
        "per queued job KB (bar 2.5)": round(per_job, 2),
        "per running member KB (bar 400)": round(per_member, 1),
    }


def start_time():
    """From exec of paddled to ready, with 100,000 finished and 10,000 open jobs."""
    times = []
    with Scratch("--cpus", "64") as server:
        batch = 0
        server.wait(server.submit(["true"])["id"])
        job = server.submit(
            ["sleep", "600"], roles=[{"name": "worker", "replicas": 1, "cpu": "64"}], grace="1s", name="blocker"
        )
        server.wait(job["id"], "running")
        load(server, 8, 10000, "POST", "/v1/jobs", TRUE_JOB)
        server.stop()
        batch = crowd.fill_finished(server.state / "paddle.db", 100000)
        for _ in range(ROUNDS):
            start = time.monotonic()
            server.start(wait=False)
            wait_for(lambda: ready(server), 60)
            times.append(time.monotonic() - start)
            assert open_jobs(server) == 10001
            server.stop()
        server.start()
        kill_open(server)
    return {"seconds (bar 1)": spread(times), "finished": batch, "open": 10001}


def ready(server):
    try:
        return server.get("/readyz").status == 200
    except OSError:
        return False


def package():
    """Submit of a package of 1,000 files of 10 KB, first and unchanged."""
    first, second = [], []
    with Scratch("--cpus", "8") as server:
        for round_number in range(ROUNDS):
            with tempfile.TemporaryDirectory() as directory:
                for i in range(1000):
                    path = pathlib.Path(directory) / f"d{i % 20}"
                    path.mkdir(exist_ok=True)
                    (path / f"{i}.bin").write_bytes(os.urandom(10240))
                environment = {
                    **os.environ,
                    "PADDLE_SERVER": server.url,
                    "HOME": str(server.state),
                    "ROUND": str(round_number),
                }
                first.append(run_submit(directory, environment))
                sent = counted_bytes(server)
                second.append(run_submit(directory, environment))
                assert counted_bytes(server) == sent, "file bytes were sent again"
    return {"first ms": spread(first), "unchanged ms (bar 100)": spread(second)}


def counted_bytes(server):
    blobs = server.state / "packages" / "blobs"
    return sorted((str(p), p.stat().st_mtime_ns) for p in blobs.rglob("*") if p.is_file())


def run_submit(directory, environment):
    start = time.monotonic()
    subprocess.run(
        [BIN / "paddle", "submit", "--", "true"], cwd=directory, env=environment, check=True, capture_output=True
    )
    return (time.monotonic() - start) * 1000


def scheduler_alone():
    """The scheduler without a server: passes, single events, Kueue's published baseline by a simulated clock."""
    return scheduler.figures(ROUNDS, spread)


def operator_jobs():
    """paddle-operator on a real API server: 50 jobs of 4 pods, beside a bare client that makes the same objects."""
    return paddlejobs.fifty(ROUNDS, spread)


def operator_restart():
    """paddle-operator started beside 2,000 jobs."""
    return paddlejobs.two_thousand()


def crowd_queued():
    """100,000 queued jobs in queues with limits: submits, memory, a list page."""
    return crowd.queued(sys.modules[__name__])


def crowd_history():
    """A million finished jobs in the store, beside 10,000."""
    return crowd.history(sys.modules[__name__])


def crowd_list():
    """`paddle list` with a million jobs in the store."""
    return crowd.listing(sys.modules[__name__])


def crowd_rate():
    """Jobs of `true` with queues, quotas and accounting on, beside an earlier build (BENCH_BASELINE=DIR) and Slurm."""
    return crowd.before(sys.modules[__name__])


def beside_earlier():
    """Job rate, submits, scheduler and memory beside an earlier build (BENCH_BASELINE=DIR, its checkout), round by round."""
    return beside.figures(sys.modules[__name__])


def neighbours():
    """p99 of a user's submits while somebody has files hashed, guesses passwords, or opens a crowd of connections."""
    return neighbour.figures(sys.modules[__name__])


def sandboxed():
    """Jobs of `true` of a user's and their latency with the sandbox of members, beside a server without it."""
    return sandbox.figures(sys.modules[__name__])


def kubernetes_start():
    """A job of 2 parameter servers and 4 trainers on a real node, beside the same pods by `kubectl apply`."""
    return kubernetes.start(sys.modules[__name__])


def kubernetes_crowd():
    """10,000 pods of jobs on 1,000 fake nodes, beside a bare client that makes the same pods."""
    return pods.crowd(sys.modules[__name__])


def tls_beside_plain():
    """GETs on kept connections over TLS beside the same over plain HTTP."""
    return tls.figures(sys.modules[__name__])


def partial_lines():
    """A line without an end, from the job's write to the terminal of `paddle submit --follow`."""
    return partial.figures(sys.modules[__name__])


def first_line():
    """The first line of one's own program, from the start of `paddle submit --follow` to the terminal."""
    return first.figures(sys.modules[__name__])


def pipelines():
    """Pipelines: definitions and the state machine alone, runs of real jobs beside plain jobs, a run of 100,000 steps."""
    return runs.figures(sys.modules[__name__])


def described_pipelines():
    """Pipelines described in Python: import, and 10,000 steps compiled."""
    return described.figures(sys.modules[__name__])


def sweep_again():
    """The sweep of examples/pipelines again with one change: only what depends on it runs."""
    return sweep.figures(sys.modules[__name__])


def cache_of_steps():
    """The cache of steps: look-ups among 1,000,000 entries, runs of 200 steps that all hit."""
    return cached.figures(sys.modules[__name__])


def many_schedules():
    """10,000 schedules, one of which is due each second: what they cost, and how late its runs are."""
    return schedules.figures(sys.modules[__name__])


BENCHES = {
    "job-rate": job_rate,
    "submit-latency": submit_latency,
    "durable-submits": durable_submits,
    "get-rate": get_rate,
    "memory": memory,
    "start": start_time,
    "package": package,
    "scheduler": scheduler_alone,
    "operator": operator_jobs,
    "operator-restart": operator_restart,
    "queues-rate": crowd_rate,
    "beside": beside_earlier,
    "queued": crowd_queued,
    "history": crowd_history,
    "list": crowd_list,
    "neighbours": neighbours,
    "partial": partial_lines,
    "first-line": first_line,
    "tls": tls_beside_plain,
    "sandbox": sandboxed,
    "runs": pipelines,
    "described": described_pipelines,
    "schedules": many_schedules,
    "sweep": sweep_again,
    "cache": cache_of_steps,
    "kubernetes-start": kubernetes_start,
    "kubernetes-crowd": kubernetes_crowd,
}


def show(name, result):
    print(f"\n{name}: {BENCHES[name].__doc__.strip().splitlines()[0]}")
    for what, value in result.items():
        if isinstance(value, dict) and "median" in value:
            value = f"{value['median']}" + (
                f"   ({value['min']} to {value['max']}, {value['rounds']} rounds)" if "min" in value else ""
            )
        print(f"  {what:45} {value}", flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    names = sys.argv[1:] or list(BENCHES)
    if unknown := [name for name in names if name not in BENCHES]:
        sys.exit(f"bench/run: there is no bench '{unknown[0]}'; there are {', '.join(BENCHES)}")
    results = ROOT / "bench/results"
    # Nothing is deleted before the end: ext4 without a journal gives no inode out again for minutes after its file was
    # dropped, and looks at each such inode whenever it makes a file, so that every round would slow the next, ours and a peer's.
    tempfile.tempdir = tempfile.mkdtemp(prefix="bench-")
    atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
    os.chmod(tempfile.tempdir, 0o755)
    for name in names:
        result = BENCHES[name]()
        show(name, result)
        where = {"cores": os.cpu_count(), "kernel": platform.release(), "date": datetime.date.today().isoformat()}
        (results / f"{name}.json").write_text(
            json.dumps({"bench": name, "machine": where, "result": result}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
