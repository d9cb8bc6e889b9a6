"""Slurm as a peer: munged, slurmctld and slurmd of one's own in a scratch directory, configured as its high-throughput guide says."""

import os
import pathlib
import pwd
import secrets
import socket
import subprocess
import tempfile
import time

CONFIG = """
ClusterName=bench
SlurmctldHost={host}
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
SlurmdPort={port1}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_min_interval=20000,default_queue_depth=1000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxJobCount=100000
MinJobAge=2
SlurmctldDebug=error
SlurmdDebug=error
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=64 RealMemory=4000 State=UNKNOWN
PartitionName=bench Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """`with Slurm() as slurm: slurm.rate(200)`; everything it started has ended afterwards."""

    def __enter__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="bench-slurm-"))
        self.dir.chmod(0o755)
        for name in ("state", "spool", "munge"):
            (self.dir / name).mkdir()
        self.processes = []
        self._munge()
        host = socket.gethostname().split(".")[0]
        port = 20000 + os.getpid() % 8000
        config = self.dir / "slurm.conf"
        config.write_text(CONFIG.format(host=host, dir=self.dir, port=port, port1=port + 1))
        self.env = {**os.environ, "SLURM_CONF": str(config)}
        self._start("slurmctld", "-D", "-f", config)
        self._start("slurmd", "-D", "-N", host, "-f", config)
        self._wait(lambda: "idle" in self._run("sinfo", "-h", "-o", "%T"), "an idle node")
        return self

    def _munge(self):
        user = pwd.getpwnam("munge")
        key = self.dir / "munge" / "key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        for path in (self.dir / "munge", key):
            os.chown(path, 0, 0)
        del user
        directory = self.dir / "munge"
        self.env = dict(os.environ)
        self._start(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={self.dir}/munge.socket",
            f"--pid-file={directory}/pid",
            f"--log-file={directory}/log",
            f"--seed-file={directory}/seed",
        )
        self._wait(lambda: (self.dir / "munge.socket").exists(), "munge's socket")

    def _start(self, *command):
        log = open(self.dir / f"{pathlib.Path(command[0]).name}.out", "wb")  # noqa: SIM115 - the child's
        self.processes.append(
            subprocess.Popen([*map(str, command)], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env)
        )
        log.close()

    def _run(self, *command):
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False).stdout

    def _wait(self, check, what):
        end = time.monotonic() + 30
        while not check():
            if time.monotonic() > end:
                logs = "\n".join(p.read_text(errors="replace")[-600:] for p in self.dir.glob("*.log"))
                raise RuntimeError(f"Slurm: {what} did not come\n{logs}")
            time.sleep(0.1)

    def rate(self, count):
        """Jobs per second from the first sbatch to the last job's end, 8 submitting at a time."""
        script = self.dir / "job.sh"
        script.write_text("#!/bin/sh\nexec true\n")
        start = time.monotonic()
        command = f"seq {count} | xargs -P 8 -I @ sbatch --quiet -n 1 -o {self.dir}/out-@ {script}"
        subprocess.run(["sh", "-c", command], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self._wait(
            lambda: not self._run("squeue", "-h", "-t", "pending,running,completing").strip(), "the end of all jobs"
        )
        return count / (time.monotonic() - start)

    def srun_ms(self, count):
        """Milliseconds of `srun true`, each."""
        times = []
        for _ in range(count):
            start = time.monotonic()
            subprocess.run(["srun", "--quiet", "-n", "1", "true"], env=self.env, check=True)
            times.append((time.monotonic() - start) * 1000)
        return times

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
