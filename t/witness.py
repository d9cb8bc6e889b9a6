"""What real programs are in: each Python program of a member writes down, where it starts, whom it runs as and what holds it."""

import json
import os

from conftest import open_way

# What Python runs by itself before a program. Its rows go to a file of ours, as not every program's output reaches a log.
STARTS = """
import json, os

def member():
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task")
    if task:
        return "%s-%d" % (task["type"], task["index"])
    for name in ("PADDLE_SPARK_HOST", "PADDLE_MPI_HOST"):
        if name in os.environ:
            return os.environ[name]
    if "TRAINING_ROLE" in os.environ:
        return os.environ["TRAINING_ROLE"].lower() + "-" + os.environ["PADDLE_TRAINER_ID"]
    if os.environ["PF_JOB_FRAMEWORK"] == "pytorch":
        return "worker-" + os.environ["RANK"]
    return "driver-0"

with open("/proc/self/status") as file:
    rows = dict(line.rstrip("\\n").split(":\\t", 1) for line in file if ":\\t" in line)
rows = {name: rows[name] for name in ("Uid", "NoNewPrivs", "Seccomp", "CapPrm", "CapBnd")}
rows.update((space, os.readlink("/proc/self/ns/" + space)) for space in ("pid", "ipc", "mnt"))
line = json.dumps({"job": os.environ["PADDLE_JOB_NAME"], "member": member(), **rows}) + "\\n"
file = os.open(os.path.join(os.path.dirname(__file__), "said"), os.O_WRONLY | os.O_APPEND)
os.write(file, line.encode())
os.close(file)
"""


class Witness:
    """Lies in `folder`; a job has it that is submitted with `options`."""

    def __init__(self, folder):
        open_way(folder)
        folder.chmod(0o755)  # Python imports from what it can list
        self.said = folder / "said"
        self.said.touch()
        self.said.chmod(0o666)
        (folder / "sitecustomize.py").write_text(STARTS)
        self.options = ("-e", f"PYTHONPATH={folder}")

    def saw(self, job, members, uid):
        """Programs of just these members ran, all of them as `uid` in one sandbox. A server that is not root has none."""
        said = [json.loads(line) for line in self.said.read_text().splitlines()]
        said = [rows for rows in said if rows["job"] == job]
        assert {rows["member"] for rows in said} == set(members), said
        if os.geteuid() != 0:
            return
        for rows in said:
            assert rows["Uid"].split() == [str(uid)] * 4 != ["0"] * 4, rows
            assert (rows["NoNewPrivs"], rows["Seccomp"]) == ("1", "2"), rows
            assert rows["CapPrm"] == rows["CapBnd"] == "0" * 16, rows
            for space in ("pid", "ipc", "mnt"):
                assert rows[space] != os.readlink(f"/proc/self/ns/{space}"), rows
        assert len({(rows["pid"], rows["ipc"]) for rows in said}) == 1, "members of a job share their sandbox"
