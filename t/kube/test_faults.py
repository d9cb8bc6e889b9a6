"""The client of src/kube between faults: a proxy that answers in the API server's place or keeps its answers, a wire that is cut
or frozen, credentials that stop to be good, a holder of the lease whose clock is wrong.  What must hold: in the end the client
knows what the server has, nothing was told twice, and every error has its name."""

import contextlib
import datetime
import json
import time

import pytest
from conftest import wait_for

from kube import proxy
from kube.images import BASE
from kube.test_client import config_map, live, running
from kube.test_runtime import RULES, left

ALL = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
WATCHES = "configmaps.*watch="
LISTS = r"configmaps\?[^w]*limit="


@contextlib.contextmanager
def broken(kube, way):
    """A proxy or a wire of the test, and the kubeconfig that leads through it."""
    account = kube.cluster.account("client", kube.name, ALL)
    with way(kube.cluster) as one:
        yield one, one.kubeconfig(account)


def add(kube, *names):
    for name in names:
        kube.create("configmaps", config_map(name))


def told(lines):
    """What a watch has said of objects."""
    return [line for line in lines if line.split(" ")[0] in ("added", "modified", "deleted")]


@pytest.mark.parametrize("fault", [proxy.expired, proxy.gone, proxy.too_many(1), proxy.unavailable(500), proxy.dropped])
def test_watch_that_is_refused(kube, fault):
    """Once at its beginning, and again when it is opened anew."""
    with broken(kube, proxy.Proxy) as (one, config):
        add(kube, "a")
        entry = one.fault(fault, "GET", WATCHES, times=2)
        with running(config, "watch", kube.name) as watch:
            watch.until("synced")
            wait_for(lambda: entry["left"] == 0, what="the second refusal")  # or a list brings b before
            add(kube, "b")
            watch.until("added b")
            assert told(watch.end()) == ["added a", "added b"]
        assert one.asked("GET", WATCHES)


@pytest.mark.parametrize("fault", [proxy.too_many(1), proxy.unavailable(503), proxy.cut_reply, proxy.lost])
def test_list_that_fails(kube, fault):
    with broken(kube, proxy.Proxy) as (one, config):
        add(kube, "a", "b")
        one.fault(fault, "GET", LISTS, times=3)
        with running(config, "watch", kube.name) as watch:
            watch.until("synced")
            assert sorted(told(watch.end())) == ["added a", "added b"]


def test_retry_after_is_kept(kube):
    """What the server asks for is what it gets: no request of this client before that."""
    with broken(kube, proxy.Proxy) as (one, config):
        one.fault(proxy.too_many(2), "POST", "/configmaps$", times=1)
        live(config, "create-many", kube.name, 1)
        (first, *_), (second, *_) = one.asked("POST", "/configmaps$")
        assert 2 <= second - first < 60


def test_page_that_has_expired(kube):
    """A list whose later page is gone begins anew."""
    add(kube, *(f"m-{i}" for i in range(150)))
    with broken(kube, proxy.Proxy) as (one, config):
        one.fault(proxy.gone, "GET", "continue=")
        with running(config, "watch", kube.name) as watch:
            watch.until("synced")
            assert sorted(told(watch.end())) == sorted(f"added m-{i}" for i in range(150))


def test_half_closed_watch(kube):
    """It was accepted and says nothing any more, and nobody closes it."""
    with broken(kube, proxy.Proxy) as (one, config):
        one.fault(proxy.half_closed, "GET", WATCHES)
        with running(config, "watch", kube.name, 1000) as watch:
            watch.until("synced")
            add(kube, "a")
            watch.until("added a")
            assert told(watch.end()) == ["added a"]


def test_cut_again_and_again(kube):
    """HTTP/2, with everything over one connection, which goes in the middle of whatever it carries."""
    with broken(kube, proxy.Wire) as (wire, config), running(config, "watch", kube.name) as watch:
        watch.until("synced")
        for i in range(10):
            wire.cut()
            add(kube, f"m-{i}")
        watch.until("added m-9")
        lines = told(watch.end())
    assert lines == [f"added m-{i}" for i in range(10)]


def test_answers_that_are_lost(kube):
    """A write whose fate nobody knows is an error, or the word that the object exists: nobody makes it twice."""
    with broken(kube, proxy.Proxy) as (one, config):
        one.fault(proxy.lost, "POST", "/configmaps$", times=5)
        lines = live(config, "create-many", kube.name, 20, code=1)
        assert 1 <= len([line for line in lines if line.startswith("FAILED")]) <= 5, lines
        made = [item["metadata"]["name"] for item in kube.items("configmaps", selector="made-by=live")]
        assert sorted(made) == sorted(f"many-{i}" for i in range(20))


def test_frozen(kube):
    """Nothing arrives for a while; then everything does."""
    with broken(kube, proxy.Wire) as (wire, config), running(config, "watch", kube.name, 1000) as watch:
        watch.until("synced")
        opened = wire.opened
        wire.freeze()
        add(kube, "a")
        wait_for(lambda: wire.opened > opened, what="another connection, since this one leads nowhere")
        wire.thaw()
        watch.until("added a")
        add(kube, "b")
        watch.until("added b")
        assert told(watch.end()) == ["added a", "added b"]


# ---- the lease ----

LEASES = "coordination.k8s.io/v1"


@pytest.mark.parametrize("hours", [-2, 2])
def test_lease_of_a_holder_with_a_wrong_clock(kube, hours):
    """Whether it holds the lease, our own clock says: not the times that it writes."""

    def spec():
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)
        text = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {"holderIdentity": "other", "leaseDurationSeconds": 6, "acquireTime": text, "renewTime": text}

    kube.create("leases", {"metadata": {"name": "l"}, "spec": {**spec(), "leaseTransitions": 7}}, LEASES)
    with running(kube.cluster.kubeconfig, "lease", kube.name, "l", "me") as lease:
        for _ in range(9):
            time.sleep(1)  # the holder's rhythm, which is what is tested
            kube.api.patch(kube.path("leases", "l", LEASES), {"spec": spec()})
        last = time.monotonic()
        lease.until("gained")
        assert 4 <= time.monotonic() - last < 60
        found = kube.get("leases", "l", LEASES)["spec"]
        assert (found["holderIdentity"], found["leaseTransitions"]) == ("me", 8)
        lease.end()


# ---- credentials ----


def bound_token(kube, name):
    """A token that is good for as long as a Secret of this name is there."""
    secret = kube.create("secrets", {"metadata": {"name": name}})["metadata"]
    reference = {"kind": "Secret", "apiVersion": "v1", "name": name, "uid": secret["uid"]}
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600, "boundObjectRef": reference},
    }
    return kube.api.create(kube.path("serviceaccounts", "client") + "/token", request)["status"]["token"]


def token_file(folder):
    return {"tokenFile": str(folder / "token")}


def plugin(folder):
    """An exec plug-in that says what stands in the file, and that it is good for an hour."""
    script = folder / "plugin"
    script.write_text(
        "#!/bin/sh\n"
        f'printf \'{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": '
        f'{{"token": "%s", "expirationTimestamp": "2099-01-01T00:00:00Z"}}}}\' "$(cat {folder}/token)"\n'
        f"echo asked >> {folder}/asked\n"
    )
    script.chmod(0o755)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(script),
            "interactiveMode": "Never",
        }
    }


@pytest.mark.parametrize("user", [token_file, plugin])
def test_credential_that_is_no_longer_good(kube, tmp_path, user):
    """The server refuses it (401): it is read anew, and a new one works from then on."""
    config = proxy.redirect(kube.cluster.account("client", kube.name, ALL), kube.cluster.url, tmp_path / "config")
    tree = json.loads(config.read_text())
    tree["users"][0]["user"] = user(tmp_path)
    config.write_text(json.dumps(tree))
    (tmp_path / "token").write_text(bound_token(kube, "first"))
    began = time.monotonic()
    with running(config, "lease", kube.name, "l", "me") as lease:
        lease.until("gained")
        kube.api.delete(kube.path("secrets", "first"))
        lease.until("lost")  # the renewals are refused
        (tmp_path / "token").write_text(bound_token(kube, "second"))
        lease.until("gained")
        assert lease.end() == ["gained", "lost", "gained", "released"]
    if user is plugin:
        asked = (tmp_path / "asked").read_text().count("asked")
        assert 2 <= asked <= 2 + time.monotonic() - began  # anew when it is refused, and once a second at most


def test_credential_whose_time_is_over(kube, tmp_path):
    """A plug-in says until when; it is asked before that, and not more often."""
    (tmp_path / "token").write_text(bound_token(kube_with_account(kube), "first"))
    config = proxy.redirect(
        kube.cluster.state / "kubeconfig" / f"{kube.name}.client", kube.cluster.url, tmp_path / "config"
    )
    tree = json.loads(config.read_text())
    tree["users"][0]["user"] = plugin(tmp_path)
    script = tmp_path / "plugin"
    script.write_text(script.read_text().replace("2099-01-01T00:00:00Z", "'$(date -u -d '+8 sec' +%FT%TZ)'"))
    config.write_text(json.dumps(tree))
    with running(config, "lease", kube.name, "l", "me") as lease:
        lease.until("gained")
        wait_for(lambda: (tmp_path / "asked").read_text().count("asked") >= 3, 60, "the third question")
        assert lease.end() == ["gained", "released"]


def kube_with_account(kube):
    kube.cluster.account("client", kube.name, ALL)
    return kube


# ---- the platform's runtime ----

RUNTIME_FAULTS = {
    "watches expire": (proxy.expired, "GET", "watch=", 12),
    "lists are refused": (proxy.unavailable(503), "GET", r"/(pods|nodes)\?", 8),
    "too many requests": (proxy.too_many(1), None, "", 8),
    "errors of all kinds": (proxy.unavailable(500), None, "", 20),
    "answers to creations are lost": (proxy.lost, "POST", r"/(pods|services)$", 6),
    "answers to creations break off": (proxy.cut_reply, "POST", r"/(pods|services)$", 6),
    "answers to deletions are lost": (proxy.lost, "DELETE", "", 6),
    "deletions are refused": (proxy.unavailable(500), "DELETE", "", 6),
    "logs break off": (proxy.cut_reply, "GET", "/log", 3),
    "logs are refused": (proxy.unavailable(503), "GET", "/log", 8),
}


@pytest.mark.parametrize("name", RUNTIME_FAULTS)
def test_runtime(server, kube_node, name):
    """A job of three members: each runs once, its log is there once, and nothing stays in the cluster."""
    fault, method, path, times = RUNTIME_FAULTS[name]
    account = kube_node.cluster.account(f"paddled-{kube_node.name}", kube_node.name, RULES, everywhere=True)
    with proxy.Proxy(kube_node.cluster) as one:
        entry = one.fault(fault, method, path, times)
        config = one.kubeconfig(account)
        server.paddle("cluster", "create", "prod", "--type", "Kubernetes", "--kubeconfig", config, check=0)
        server.paddle("queue", "create", "qq", "--cluster", "prod", check=0)
        history = kube_node.history("pods")
        roles = [{"name": "worker", "replicas": 3}]
        script = "for i in 1 2 3; do echo $i; sleep 0.3; done"
        job = server.submit(["sh", "-c", script], queue="qq", image=BASE, roles=roles)
        done = server.wait(job["id"], timeout=180)
        assert (done["state"], done["attempt"]) == ("succeeded", 1), done["reason"]
        for member in done["members"]:
            assert server.member_log(job["id"], member["name"]) == "1\n2\n3\n"
        wait_for(lambda: not left(kube_node), 120, "pods and services to go with the job")
        assert entry["left"] < times, "nothing was broken"
        names = [one["name"] for one in history.made()]
        assert len(names) == len(set(names)) == 3
