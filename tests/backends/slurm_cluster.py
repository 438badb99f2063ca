"""A Slurm on this machine: its controller, and nodes with daemons of their own, on free ports.

Everything it writes lies in one temporary folder. It needs root, and Debian's packages: slurmctld,
slurmd, slurm-client, munge.
"""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress

from tests.daemons import Daemons, processes_with

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
SECONDS_TO_START = 120

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
SlurmdTimeout=10
InactiveLimit=0
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=10000,batch_sched_delay=0,default_queue_depth=1000
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def lacking():
    """Why no Slurm can be started here, in words; empty where one can."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "it is started by root alone"


class Slurm(Daemons):
    """A controller and some nodes of one core each."""

    def __init__(self, nodes=2):
        super().__init__("rs-", ports=1 + nodes)
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]

    def __enter__(self):
        try:
            self._configure()
            self._start_munge()
            self._start("slurmctld", "slurmctld", "-D", "-c", **self.environment())
            for name in self.nodes:
                self.start(name)
            self._until(lambda: self.states() == dict.fromkeys(self.nodes, "idle"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.nodes:
            self.kill(name)
        self._end_all()

    def environment(self):
        """What a process has in its environment that speaks to this Slurm."""
        path = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
        return {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PATH": path,
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def run(self, *command):
        """Return what one of Slurm's commands prints."""
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def states(self):
        """The state of each node."""
        said = self.run("sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %t")
        return dict(line.split() for line in said.splitlines())

    def queue(self):
        """The state of each job in the queue, and its node where it runs, by its number."""
        lines = self.run("squeue", "--noheader", "--format=%i %T %N").splitlines()
        return {line.split()[0]: line.split()[1:] for line in lines}

    def jobs(self):
        """The node of each job that runs, by its number."""
        return {job: said[1] for job, said in self.queue().items() if said[0] == "RUNNING"}

    def start(self, name):
        """Start the daemon of a node."""
        self._start(name, "slurmd", "-D", "-N", name, **self.environment())

    def kill(self, name):
        """`kill -9` of all that runs on a node: its daemon, and its jobs with all they started."""
        daemon = self._processes.get(name)
        marks = f"SLURM_CONF={self.folder}/slurm.conf", f"SLURMD_NODENAME={name}"
        for process in processes_with(*marks, below=[daemon.pid] if daemon else []):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        self._end(name)

    def lose_a_node(self):
        """Lose one of the nodes that train, and all that runs on it.

        Slurm hears of it first: where it does not, a step that dies a moment before its daemon is
        taken for a job that failed.
        """
        node = next(iter(self.jobs().values()))
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
        self.kill(node)

    def revive(self):
        """Empty the queue, start the nodes that were killed, and put all of them up again."""
        self.run("scancel", "--user", getpass.getuser())
        for name in self.nodes:
            if name not in self._processes:
                self.start(name)
        self._until(lambda: not self.queue())
        for name in self.nodes:
            if self.states()[name] not in ("idle", "alloc"):
                with suppress(AssertionError):  # it may have come back by itself
                    self.run("scontrol", "update", f"NodeName={name}", "State=RESUME")
        self._until(lambda: self.states() == dict.fromkeys(self.nodes, "idle"))

    def _configure(self):
        names = "NodeName={} NodeHostname={} NodeAddr=127.0.0.1 Port={} CPUs=1 RealMemory=4000"
        host = socket.gethostname().partition(".")[0]
        nodes = zip(self.nodes, self.ports[1:], strict=True)
        text = CONFIGURATION.format(
            host=host,
            user=getpass.getuser(),
            folder=self.folder,
            ports=self.ports,
            nodes="\n".join(names.format(name, host, port) for name, port in nodes),
        )
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "state").mkdir()

    def _start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        files = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log"}
        files |= {"key-file": "munge.key", "seed-file": "munge.seed"}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._start("munged", "munged", "--foreground", "--force", *options, **self.environment())
        self._until(lambda: (self.folder / "munge.socket").exists())

    def _until(self, true):
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            with suppress(AssertionError):  # the controller does not answer yet
                if true():
                    return
            if time.monotonic() > deadline:
                logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))
                raise RuntimeError(f"Slurm does not start; its daemons say:\n{logs}")
            time.sleep(0.2)
