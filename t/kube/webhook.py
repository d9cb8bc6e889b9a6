"""An admission webhook of the test's own: HTTPS on loopback, asked about the pods of one namespace."""

import base64
import contextlib
import http.server
import json
import ssl
import threading

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NAME = "no.pods.test"


class Review(http.server.BaseHTTPRequestHandler):
    """Answers an AdmissionReview as the webhook says at that moment."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        webhook = self.server.webhook
        webhook.answers.wait(60)  # what hangs goes on when the test lets it, or ends
        response = {"uid": asked["request"]["uid"], "allowed": webhook.denies is None}
        if webhook.denies:
            response["status"] = {"code": 403, "message": webhook.denies}
        body = json.dumps(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        ).encode()
        with contextlib.suppress(OSError):  # the API server waits no longer
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *about):
        pass


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # the API server went away


class Webhook:
    """Pods of the namespace are made only if it says so (failurePolicy Fail, 1 s).  `denies` are its words, None: it allows;
    while `answers` is cleared it hangs; `stop` closes its port, `start` opens the same one."""

    def __init__(self, kube, denies=None):
        self.kube, self.denies, self.port, self.listener = kube, denies, 0, None
        self.answers = threading.Event()
        self.answers.set()
        authority = kube.cluster.authority
        crt, key = authority.issue(f"webhook-{kube.name}", "webhook", names=["IP:127.0.0.1"])
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(crt, key)
        self.ca = base64.b64encode(authority.ca.read_bytes()).decode()

    def start(self):
        self.listener = Listener(("127.0.0.1", self.port), Review)
        self.listener.webhook = self
        self.port = self.listener.server_address[1]
        self.listener.socket = self.tls.wrap_socket(self.listener.socket, server_side=True)
        threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.listener.shutdown()
        self.listener.server_close()
        self.listener = None

    def configuration(self):
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        return {
            "metadata": {"name": self.kube.name},
            "webhooks": [
                {
                    "name": NAME,
                    "clientConfig": {"url": f"https://127.0.0.1:{self.port}/", "caBundle": self.ca},
                    "rules": [rule],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.kube.name}},
                    "failurePolicy": "Fail",
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "timeoutSeconds": 1,
                }
            ],
        }

    def __enter__(self):
        self.start()
        self.kube.api.create(CONFIGURATIONS, self.configuration())
        return self

    def __exit__(self, *error):
        self.kube.api.delete(f"{CONFIGURATIONS}/{self.kube.name}")
        self.answers.set()
        if self.listener:
            self.stop()
