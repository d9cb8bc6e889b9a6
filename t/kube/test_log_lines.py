"""Lines of pods: redrawn ones, and the node's times of them."""

import datetime

from kube.test_last_words import between, submit

SCRIPT = r"echo a; sleep 2; echo b; sleep 2; printf '10%%\r20%%\r30%%\n'; echo c"


def test_lines_of_a_pod_have_its_nodes_times(server, kube_node):
    with between(server, kube_node):
        job = submit(server, 1, SCRIPT)
        server.wait(job)
        assert (
            server.paddle("logs", job, check=0).stdout == "worker-0 | a\nworker-0 | b\nworker-0 ~ 30%\nworker-0 | c\n"
        )
        done = server.paddle("logs", "--timestamps", job, check=0)
        lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
        assert [text for _, text in lines] == ["worker-0 | a", "worker-0 | b", "worker-0 ~ 30%", "worker-0 | c"]
        a, b, bar, c = (datetime.datetime.fromisoformat(when.replace("Z", "+00:00")) for when, _ in lines)
        for earlier, later in ((a, b), (b, bar)):
            assert 1.9 < (later - earlier).total_seconds() < 60
        assert 0 <= (c - bar).total_seconds() < 1.9
        done = server.paddle("logs", "--since", lines[1][0], job, check=0)
        assert done.stdout == "worker-0 | b\nworker-0 ~ 30%\nworker-0 | c\n"
