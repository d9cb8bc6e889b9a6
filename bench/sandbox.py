"""What the sandbox of members costs: jobs of `true` of a user's, on a server with it beside one without, round by round."""

import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

UID = 4242424  # a user that this machine does not have
COUNT = 1000  # jobs of a round on each of the two
LATENCIES = 40  # submits of a round on each
OUTSIDE = "/srv"  # whose state lies below /tmp has a /tmp of memory: that would not be the usual way


class Pair:
    """Two servers, with and without."""

    def __init__(self, bench, *options):
        self.bench, self.options, self.folder = bench, options, pathlib.Path(tempfile.mkdtemp(dir=OUTSIDE))

    def __enter__(self):
        self.folder.chmod(0o755)
        self.servers = [
            self.bench.Server(self.folder / policy, *self.options, "--sandbox", policy) for policy in ("on", "off")
        ]
        for server in self.servers:
            server.start()
            os.chmod(server.socket, 0o666)
        return self.servers

    def __exit__(self, *exc):
        for server in self.servers:
            server.destroy(keep=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def as_user(argv, **about):
    return subprocess.run(
        argv, user=UID, group=UID, extra_groups=[], capture_output=True, text=True, check=True, **about
    )


def rate(bench, server, count):
    start = time.monotonic()
    as_user([bench.TOOLS / "load", server.socket, "8", str(count), "POST", "/v1/jobs", bench.TRUE_JOB])
    bench.wait_for(lambda: bench.open_jobs(server) == 0, 120)
    return count / (time.monotonic() - start)


def latency(bench, server, count, empty):
    environment = {"PADDLE_SERVER": server.url, "HOME": "/", "PATH": os.environ["PATH"]}
    taken = []
    for _ in range(count):
        start = time.time()
        done = as_user([bench.BIN / "paddle", "submit", "--", "true"], cwd=empty, env=environment)
        job = server.wait(done.stdout.split()[1].strip("()"))
        assert job["state"] == "succeeded", job
        taken.append((bench.parse_time(job["running_at"]) - start) * 1000)
    return statistics.median(taken)


def figures(bench):
    with Pair(bench, "--cpus", "0.8") as servers:
        for server in servers:
            rate(bench, server, 300)
        rates = [[rate(bench, server, COUNT) for server in servers] for _ in range(bench.ROUNDS)]
        for server in servers:
            finished = server.get("/metrics").body.decode()
            assert f"paddle_jobs_succeeded_total {300 + bench.ROUNDS * COUNT}\n" in finished, "not every job succeeded"
    with Pair(bench, "--cpus", "8") as servers, tempfile.TemporaryDirectory() as empty:
        os.chmod(empty, 0o755)
        for server in servers:
            latency(bench, server, 5, empty)
        waits = [[latency(bench, server, LATENCIES, empty) for server in servers] for _ in range(bench.ROUNDS)]
    return {
        "jobs per second with": bench.spread([on for on, _ in rates]),
        "... without": bench.spread([off for _, off in rates]),
        "... with, of without (bar 0.9)": bench.spread([on / off for on, off in rates]),
        "to running ms with": bench.spread([on for on, _ in waits]),
        "... ms without": bench.spread([off for _, off in waits]),
        "added ms (bar 2)": bench.spread([on - off for on, off in waits]),
    }
