"""A Ray cluster on this machine: a head, and worker nodes with raylets of their own.

The nodes share the loopback device under different addresses.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.daemons import processes_with

PORTS = range(20_000, 30_000)
"""One of them is the head's: `ray start` refuses an address that a neighbour's head has, too."""

MARK = "REPRO_TEST_NODE"
RAY = str(Path(sys.executable).with_name("ray"))


class Cluster:
    """One head without cores, and workers of one core each."""

    def __init__(self, workers=2):
        self.folder = Path(tempfile.mkdtemp(prefix="rr-", dir="/tmp"))  # sockets need short paths
        self.name = f"rr{secrets.token_hex(3)}"
        self.names = ["head", *(f"worker{n}" for n in range(workers))]
        net = f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}."
        self.addresses = {name: f"{net}{n}" for n, name in enumerate(self.names, start=2)}
        self.port = str(secrets.choice(PORTS))
        self.address = f"{self.addresses['head']}:{self.port}"
        self.dead = set(self.names)

    @property
    def workers(self):
        return self.names[1:]

    def __enter__(self):
        try:
            for name in self.names:
                self.start(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, name="head"):
        """What a process on a node has in its environment."""
        return {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "RAY_ADDRESS": self.address,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",  # nicer ones starve where the machine has other work
            # a node that is gone is asked often, one that answers late is not taken for gone
            "RAY_health_check_period_ms": "500",
            "RAY_health_check_timeout_ms": "30000",
            "RAY_health_check_failure_threshold": "4",
            "XDG_CACHE_HOME": str(self.folder / f"cache-{name}"),  # as on a disk of its own
        }

    def revive(self):
        """Start what was killed; without its head the rest is worth nothing."""
        if "head" in self.dead:
            for name in self.workers:
                self.kill(name)
        for name in self.names:
            if name in self.dead:
                self.start(name)

    def start(self, name):
        """Start a node, and wait until it is there."""
        place = ["--node-ip-address", self.addresses[name], "--object-store-memory", "80000000"]
        place += ["--temp-dir", str(self.folder / name[0] / name[-1])]  # as on a disk of its own
        if name == "head":
            what = ["--head", "--port", self.port, "--num-cpus", "0", "--disable-usage-stats"]
            what += ["--include-dashboard=false"]
        else:
            what = ["--address", self.address, "--num-cpus", "1"]
        started = subprocess.run(
            [RAY, "start", *what, *place],
            env={**self.environment(name), MARK: f"{self.name}-{name}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        assert started.returncode == 0, started.stdout
        self.dead.discard(name)

    def kill(self, name):
        """`kill -9` of all that runs on a node: its raylet, its workers, for the head the rest."""
        self.dead.add(name)
        for process in processes_with(f"{MARK}={self.name}-{name}"):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)

    def lose_a_node(self):
        """Lose one of the nodes that train, and all that runs on it."""
        self.kill(self.workers[0])
