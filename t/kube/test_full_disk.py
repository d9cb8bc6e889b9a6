"""The disk of the server's state is full, on a small file system of the test's own, while members write."""

import re

from conftest import wait_for
from test_disk import fill_up, small  # noqa: F401

from kube.test_runtime import connect, pods, submit

# long lines, so that few of them fill what room the last page of the file has
WRITE = "pad=$(printf %03000d 0); i=0; while test ! -e /tmp/go; do i=$((i + 1)); echo line $i $pad; sleep 0.1; done; echo end"


def lines(text):
    return [int(number) for number in re.findall(r"^line (\d+) 0{3000}$", text, re.M)]


def test_a_log_is_whole_when_there_is_room_again(small, kube_node):  # noqa: F811
    connect(small, kube_node)
    job = submit(small, WRITE)["id"]
    small.wait(job, "running")
    wait_for(lambda: lines(small.member_log(job)), what="the first line")
    (pod,) = [pod["metadata"]["name"] for pod in pods(kube_node)]
    fill_up(small)
    before = len(lines(kube_node.kubectl("logs", pod)))
    wait_for(lambda: len(lines(kube_node.kubectl("logs", pod))) > before + 20, what="lines for which there is no room")
    kube_node.kubectl("exec", pod, "--", "touch", "/tmp/go")
    kube_node.wait_phase(pod, "Succeeded")
    (small.state / "fill").unlink()
    assert small.wait(job)["state"] == "succeeded"
    text = small.member_log(job)
    assert lines(text) == list(range(1, len(lines(text)) + 1))
    assert len(lines(text)) > before + 20 and text.endswith("\nend\n")
