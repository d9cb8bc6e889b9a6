"""GETs over TLS beside the same GETs over plain HTTP, round by round, on connections that are kept."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

SECONDS = 3
OPENSSL = ["openssl", "req", "-x509", "-nodes", "-days", "30", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]


def make_pair(folder):
    """A certificate and its key. wrk does not check whose it is."""
    crt, key = pathlib.Path(folder) / "server.crt", pathlib.Path(folder) / "server.key"
    subprocess.run([*OPENSSL, "-subj", "/CN=localhost", "-keyout", key, "-out", crt], capture_output=True, check=True)
    return crt, key


def processor_s(server):
    """What the server has used of the processor."""
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(bench):
    """One running job's GET by 16 connections with a token: two servers, one with TLS, asked in turn. The server's own time for
    a GET hardly depends on what else the machine does."""
    rates, costs = {"http": [], "https": []}, {"http": [], "https": []}
    crt, key = make_pair(tempfile.mkdtemp())
    options = {"http": (), "https": ("--tls-cert", crt, "--tls-key", key)}
    with contextlib.ExitStack() as stack:
        servers, scripts = {}, {}
        for scheme, more in options.items():
            server = stack.enter_context(bench.Scratch("--cpus", "2", "--listen", "127.0.0.1:0", *more))
            stack.callback(bench.kill_open, server)
            job = server.submit(["sleep", "900"], name="steady", grace="1s")
            server.wait(job["id"], "running")
            token = server.post("/v1/tokens", {}).json["token"]
            scripts[scheme] = bench.write_requests(server.state / "jobs.lua", token, ["steady"])
            servers[scheme] = server
        for _ in range(bench.ROUNDS):
            for scheme, server in servers.items():
                before = processor_s(server)
                rate = bench.wrk(f"{scheme}://127.0.0.1:{server.port}/", lua=scripts[scheme], seconds=SECONDS)
                rates[scheme].append(rate)
                costs[scheme].append((processor_s(server) - before) / (rate * SECONDS) * 1e6)
    return {
        "GETs over TLS per second": bench.spread(rates["https"]),
        "GETs over plain HTTP per second": bench.spread(rates["http"]),
        "TLS beside plain (bar 0.5)": bench.spread([a / b for a, b in zip(rates["https"], rates["http"])]),
        "server's time for a GET over TLS, us": bench.spread(costs["https"]),
        "server's time, plain beside TLS": bench.spread([a / b for a, b in zip(costs["http"], costs["https"])]),
    }
