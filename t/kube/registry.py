"""A registry of images and an index of Python packages, on the address by which pods reach the host (tier c)."""

import base64
import contextlib
import functools
import hashlib
import http.client
import http.server
import json
import pathlib
import re
import socket
import subprocess
import tarfile
import threading
import warnings
import zipfile

from kube.components import accepts
from kube.node import wait_for

USER, PASSWORD = "builder", "s3cret-of-the-registry"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def free_port(host):
    with contextlib.closing(socket.socket()) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


class Registry:
    """Debian's docker-registry, plain HTTP, with one user.  The node of `cluster` is told how it is spoken to."""

    def __init__(self, cluster, folder):
        self.folder, self.host = pathlib.Path(folder), cluster.settings["host"]
        self.port = free_port(self.host)
        self.address = f"{self.host}:{self.port}"
        self.log = self.folder / "registry.log"
        config = {
            "version": "0.1",
            "storage": {"filesystem": {"rootdirectory": str(self.folder / "images")}, "delete": {"enabled": True}},
            "http": {"addr": self.address},
            "auth": {"htpasswd": {"realm": "test", "path": str(self.folder / "htpasswd")}},
        }
        (self.folder / "config.yml").write_text(json.dumps(config))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import crypt  # the only bcrypt that every Python of Debian 12 has

            secret = crypt.crypt(PASSWORD, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))
        (self.folder / "htpasswd").write_text(f"{USER}:{secret}\n")
        hosts = cluster.state / "registries" / self.address
        hosts.mkdir(parents=True)
        (hosts / "hosts.toml").write_text(f'[host."http://{self.address}"]\ncapabilities = ["pull", "resolve"]\n')
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["docker-registry", "serve", self.folder / "config.yml"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(lambda: accepts(self.host, self.port), "the registry")
        return self

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def setting(self, password=PASSWORD):
        return {"address": self.address, "username": USER, "password": password, "insecure": True}

    def request(self, method, path, body=None, **headers):
        headers["Authorization"] = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        with contextlib.closing(http.client.HTTPConnection(self.host, self.port, timeout=60)) as connection:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            text = reply.read()
        assert reply.status < 300, f"{method} {path}: {reply.status} {text[:500]}"
        return reply, text

    def put_blob(self, repository, data, kind):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        reply, _ = self.request("POST", f"/v2/{repository}/blobs/uploads/")
        path = re.sub("^http://[^/]*", "", reply.getheader("Location"))
        mark = "&" if "?" in path else "?"
        self.request("PUT", f"{path}{mark}digest={digest}", data, **{"Content-Type": "application/octet-stream"})
        return {"mediaType": kind, "size": len(data), "digest": digest}

    def push(self, archive, repository, tag):
        """An archive of images.py; its reference here."""
        with tarfile.open(archive) as tar:
            about = json.load(tar.extractfile("manifest.json"))[0]
            config = self.put_blob(repository, tar.extractfile(about["Config"]).read(), CONFIG)
            layers = [self.put_blob(repository, tar.extractfile(name).read(), LAYER) for name in about["Layers"]]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        self.request("PUT", f"/v2/{repository}/manifests/{tag}", json.dumps(manifest), **{"Content-Type": MANIFEST})
        return f"{self.address}/{repository}:{tag}"

    def tags(self, repository):
        with contextlib.suppress(AssertionError):
            return json.loads(self.request("GET", f"/v2/{repository}/tags/list")[1])["tags"] or []
        return []

    def digest(self, repository, tag):
        reply, _ = self.request("GET", f"/v2/{repository}/manifests/{tag}", Accept=MANIFEST)
        return reply.getheader("Docker-Content-Digest")


def write_wheel(folder, name, version, text):
    """A wheel of one module, and its page in a simple index."""
    place = pathlib.Path(folder) / "simple" / name
    place.mkdir(parents=True, exist_ok=True)
    wheel, about = f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": text,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(place / wheel, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    (place / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>\n')


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def package_index(host, folder):
    """The URL of an index that serves what write_wheel() writes into `folder`."""
    with http.server.ThreadingHTTPServer((host, 0), functools.partial(Handler, directory=str(folder))) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            yield f"http://{host}:{served.server_port}/simple/"
        finally:
            served.shutdown()
