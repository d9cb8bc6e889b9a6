"""Keys, certificates and kubeconfigs of a test cluster, made with the openssl command."""

import base64
import json
import pathlib
import subprocess

CONFIG = """
[req]
distinguished_name = dn
[dn]
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign,digitalSignature
[leaf]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature,keyEncipherment
extendedKeyUsage = serverAuth,clientAuth
"""


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"openssl {arguments[0]}: {done.stderr}"


class Authority:
    """One CA in a folder, and everything it signed."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.ca = self.folder / "ca.crt"
        if not self.ca.exists():
            self.make()

    def make(self):
        self.folder.mkdir(mode=0o700, parents=True)
        (self.folder / "openssl.cnf").write_text(CONFIG)
        self.request("ca", "/CN=test-cluster", "ca")
        openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", self.folder / "accounts.key")
        openssl("ec", "-in", self.folder / "accounts.key", "-pubout", "-out", self.folder / "accounts.pub")

    def request(self, name, subject, extensions, *options, folder=None):
        folder = pathlib.Path(folder or self.folder)
        # fmt: off
        openssl("req", "-x509", "-config", self.folder / "openssl.cnf", "-extensions", extensions, "-days", "3650", "-nodes",
                "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj", subject, *options,
                "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt")
        # fmt: on
        return folder / f"{name}.crt", folder / f"{name}.key"

    def issue(self, name, user, groups=(), names=(), folder=None):
        """A certificate for `user` in `groups`, which serves `names` (openssl's DNS:... and IP:...). What several processes may
        make at once goes into a folder of each one's own."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        options = ["-CA", self.ca, "-CAkey", self.folder / "ca.key"]
        if names:
            options += ["-addext", "subjectAltName=" + ",".join(names)]
        return self.request(name, subject, "leaf", *options, folder=folder)

    def kubeconfig(self, path, server, name=None, token=None, namespace="default"):
        """Writes a kubeconfig that stands by itself, for the certificate called `name` or for a token."""

        def data(file):
            return base64.b64encode(file.read_bytes()).decode()

        if token:
            user = {"token": token}
        else:
            crt, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
            user = {"client-certificate-data": data(crt), "client-key-data": data(key)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": data(self.ca)}}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user", "namespace": namespace}}],
            "current-context": "test",
        }
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=2) + "\n")
        return path
