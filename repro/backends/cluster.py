"""Parts that the pools of Slurm and of Ray share: looking for a cluster, and what is wished of it.

Needs neither submitit nor Ray: both are looked for before anything of theirs is imported.
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
    """There is no Ray cluster to train on; says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class SlurmSettings:
    """The wishes that a session has about its jobs with Slurm: their resources, number and logs."""

    partition: str | None = None
    account: str | None = None
    minutes: int = 60
    """The time limit of a job; one that needs longer goes on in the next, from a checkpoint."""

    memory: float | None = None
    """Gigabytes; without it a job has what the cluster gives by default."""

    gpus: int = 0
    max_jobs: int = 100
    """Jobs that a session has in the queue at once."""

    folder: Path | None = None
    """The folder of submitit's files and of logs, on a disk that all nodes share.

    Without it, one in the store.
    """

    def require_sound(self) -> None:
        """Raise ValueError where a number can be none of a job."""
        least = {"time": (self.minutes, 1), "max-jobs": (self.max_jobs, 1), "gpus": (self.gpus, 0)}
        for name, (value, smallest) in least.items():
            if value < smallest:
                raise ValueError(f"--slurm-{name} {value} is too small; give at least {smallest}.")
        if self.memory is not None and not 0 < self.memory < float("inf"):
            raise ValueError(f"--slurm-memory {self.memory:g} is no memory; give gigabytes.")


def require_executor(name: str) -> str:
    """Return the address of a cluster; raises ValueError where there is none to train on.

    Slurm has no address: its commands know where it is.
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
    """Return the device of a cluster's nodes; raises ValueError for one that they do not have.

    >>> device_of_nodes("A Slurm cluster", "auto", has_gpus=True)
    'cuda'
    """
    if name == "auto":
        return "cuda" if has_gpus else "cpu"
    if name not in ("cpu", "cuda"):
        raise ValueError(f"{where} trains on cpu or cuda, not on {name}.")
    return name


def require_somebody(address: str) -> None:
    """Raise `ClusterError` where nobody answers at the address of a Ray cluster."""
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
