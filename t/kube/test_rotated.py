"""Logs that the node has rotated: it keeps all of them for itself, and sends the newest part only."""

from conftest import wait_for

from kube import proxy
from kube.images import BASE
from kube.node import LOG_BYTES
from kube.test_connections import account, connect
from kube.test_runtime import pods

LINE = 1000
LINES = LOG_BYTES // LINE + 100  # the node's own words between them come on top
GAP = "\n[paddle: output may be missing here: the node rotated this log before it was read]\n"
SCRIPT = f"""
pad=$(head -c {LINE} /dev/zero | tr '\\0' x)
much() {{ i=0; while [ $i -lt {LINES} ]; do i=$((i + 1)); echo "$1 $i $pad"; done; }}
step() {{ until [ -e /tmp/$1 ]; do sleep 0.1; done; }}
echo begin
step 0; much a
step 1; echo b
step 2; echo; printf '10%%\\r20%%\\n'
step 3; echo d
step 4; much e
step 5; echo f
step 6; echo g; printf 'the end'
"""


class Member:
    """What one says in steps, what its node has of that and what the server has."""

    def __init__(self, server, kube):
        self.server, self.kube = server, kube
        self.job = server.submit(["sh", "-c", SCRIPT], queue="qq", image=BASE)["id"]
        server.wait(self.job, "running")
        self.pod = pods(kube)[0]["metadata"]["name"]

    def step(self, number):
        self.kube.kubectl("exec", self.pod, "--", "touch", f"/tmp/{number}")

    def on_node(self, query=""):
        return self.kube.api.get(self.kube.path("pods", self.pod) + "/log" + query)

    def wait_for_rotation(self, before):
        """It begins otherwise than it did; as much as `much` says is rotated once."""
        wait_for(lambda: self.on_node("?limitBytes=8") != before, 120, "the rotation of the log")

    def end_on_node(self, end):
        wait_for(lambda: self.on_node().endswith(end), 120, f"{end!r} on the node")
        return self.on_node()

    def wait_for_log(self, text):
        wait_for(lambda: self.server.member_log(self.job) == text, 120, f"a log that ends with {text[-200:]!r}")

    def note(self):
        (path,) = self.server.state.glob(f"**/{self.job}/**/worker-0.pod")
        return path


def much(word):
    return "".join(f"{word} {i} {'x' * LINE}\n" for i in range(1, LINES + 1))


def test_a_rotated_log_goes_on_where_it_was(server, kube_node):
    """No byte of it is lost or there twice, as long as the node has it; where it has not, a mark says so."""
    kube = kube_node
    with proxy.Wire(kube.cluster) as wire:
        connect(server, wire.kubeconfig(account(kube)))
        member = Member(server, kube)
        text = "begin\n"
        member.wait_for_log(text)  # it is followed before there is anything to rotate
        member.step(0)
        text += much("a")
        member.wait_for_log(text)
        member.wait_for_rotation("begin\na ")
        member.step(1)
        text += "b\n"
        member.wait_for_log(text)
        wire.cut()
        member.step(2)
        text += "\n10%\r20%\n"
        member.wait_for_log(text)
        server.kill()
        member.step(3)
        text += "d\n"
        server.start()
        member.wait_for_log(text)
        server.kill()
        begins = member.end_on_node("d\n")[:8]
        member.step(4)
        member.wait_for_rotation(begins)
        member.step(5)
        text += GAP + member.end_on_node("f\n")
        server.start()
        member.wait_for_log(text)
        server.kill()
        note = member.note()
        note.write_text(" ".join(note.read_text().split()[:1]) + " 0\n")  # as a server left it that knew no times
        member.step(6)
        text += GAP + member.end_on_node("the end")  # as long as the pod is there
        server.start()
        assert server.wait(member.job)["state"] == "succeeded"
        assert server.member_log(member.job) == text
