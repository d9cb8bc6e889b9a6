"""GETs over TLS beside the same GETs over plain HTTP, round by round, on connections that are kept."""

import contextlib
import pathlib
import subprocess
import tempfile

OPENSSL = ["openssl", "req", "-x509", "-nodes", "-days", "30", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]


def make_pair(folder):
    """A certificate and its key. wrk does not check whose it is."""
    crt, key = pathlib.Path(folder) / "server.crt", pathlib.Path(folder) / "server.key"
    subprocess.run([*OPENSSL, "-subj", "/CN=localhost", "-keyout", key, "-out", crt], capture_output=True, check=True)
    return crt, key


def figures(bench):
    """One running job's GET by 16 connections with a token: two servers, one with TLS, asked in turn."""
    rates, ratios = {"http": [], "https": []}, []
    crt, key = make_pair(tempfile.mkdtemp())
    options = {"http": (), "https": ("--tls-cert", crt, "--tls-key", key)}
    with contextlib.ExitStack() as stack:
        urls, scripts = {}, {}
        for scheme, more in options.items():
            server = stack.enter_context(bench.Scratch("--cpus", "2", "--listen", "127.0.0.1:0", *more))
            stack.callback(bench.kill_open, server)
            job = server.submit(["sleep", "900"], name="steady", grace="1s")
            server.wait(job["id"], "running")
            token = server.post("/v1/tokens", {}).json["token"]
            scripts[scheme] = bench.write_requests(server.state / "jobs.lua", token, ["steady"])
            urls[scheme] = f"{scheme}://127.0.0.1:{server.port}/"
        for _ in range(bench.ROUNDS):
            for scheme, url in urls.items():
                rates[scheme].append(bench.wrk(url, lua=scripts[scheme], seconds=3))
            ratios.append(rates["https"][-1] / rates["http"][-1])
    return {
        "GETs over TLS per second": bench.spread(rates["https"]),
        "GETs over plain HTTP per second": bench.spread(rates["http"]),
        "TLS beside plain (bar 0.5)": bench.spread(ratios),
    }
