"""The parts that the pools of Slurm and of Ray share: finding a cluster, and its settings.

It imports neither submitit nor Ray, since it first checks whether they are installed.
"""

from __future__ import annotations

import os
import shutil
import socket
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

CONNECT_SECONDS = 5.0


class ClusterError(ValueError):
    """There is no Ray cluster to train on; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class SlurmSettings:
    """The settings of a session's Slurm jobs: resources, number and logs."""

    partition: str | None = None
    account: str | None = None
    minutes: int = 60
    """The time limit of a job; a longer training goes on in the next job, from a checkpoint."""

    memory: float | None = None
    """Gigabytes; None for the default of the cluster."""

    gpus: int = 0
    max_jobs: int = 100
    """The most jobs of a session in the queue at once."""

    folder: Path | None = None
    """The folder for submitit's files and logs, on a disk that all nodes share.

    None for a folder in the store.
    """

    def require_sound(self) -> None:
        """Raise ValueError where a number is impossible for a job."""
        least = {"time": (self.minutes, 1), "max-jobs": (self.max_jobs, 1), "gpus": (self.gpus, 0)}
        for name, (value, smallest) in least.items():
            if value < smallest:
                raise ValueError(f"--slurm-{name} {value} is too small; give at least {smallest}.")
        if self.memory is not None and not 0 < self.memory < float("inf"):
            raise ValueError(f"--slurm-memory {self.memory:g} is no memory; give gigabytes.")


def require_executor(name: str) -> str:
    """Return the address of a cluster; raises ValueError where there is no cluster.

    Slurm has no address, since its commands know the cluster.
    """
    if name == "slurm":
        _require_installed("submitit", name=name, extra="slurm")
        for command in ("sbatch", "srun", "squeue", "scancel"):
            if shutil.which(command) is None:
                raise ValueError(
                    f"--executor slurm needs Slurm's commands, and there is no {command} here; run"
                    " it where jobs are submitted, such as a login node."
                )
        return ""
    if name != "ray" and not name.startswith("ray://"):
        raise ValueError(
            f"There is no executor {name!r}; choose local, slurm, ray (at RAY_ADDRESS), or"
            " ray://HOST:PORT."
        )
    address = os.environ.get("RAY_ADDRESS") if name == "ray" else name
    if not address:
        raise ValueError(
            "--executor ray needs the address of a cluster; set RAY_ADDRESS to HOST:PORT, or give"
            " --executor ray://HOST:PORT."
        )
    _require_installed("ray", name=name, extra="ray")
    require_somebody(address)
    return address


def _require_installed(library: str, *, name: str, extra: str) -> None:
    if find_spec(library) is None:
        raise ValueError(
            f"--executor {name} needs {library}, which is not installed; run: pip install"
            f" 'repro-claims[{extra}]'"
        )


def device_of_nodes(where: str, name: str, *, has_gpus: bool) -> str:
    """Return the device of a cluster's nodes; raises ValueError for any but cpu, cuda and auto.

    >>> device_of_nodes("A Slurm cluster", "auto", has_gpus=True)
    'cuda'
    """
    if name == "auto":
        return "cuda" if has_gpus else "cpu"
    if name not in ("cpu", "cuda"):
        raise ValueError(f"{where} trains on cpu or cuda, not on {name}.")
    return name


def require_somebody(address: str) -> None:
    """Raise `ClusterError` where no server answers at the address of a Ray cluster."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; give HOST:PORT or ray://HOST:PORT."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(
            f"Nobody answers at {address}; start a Ray cluster there, or give the address of one."
        ) from error
