"""Parts that the pools of Slurm and of Ray share: looking for a cluster, and training on its nodes.

Needs neither submitit nor Ray: both are looked for before anything of theirs is imported. A node
computes the key of each run itself: other code, data or versions are noticed, and nothing is stored
under a key that does not say how it was made.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from repro.backends.trainer import Files, train_batch
from repro.core.progress import Progress
from repro.runs.identity import identity, name_of
from repro.runs.pool import Batch, Failed, Narrowed, Trained
from repro.store import run_key

NOT_INSTALLED = (
    "--executor {name} needs {library}, which is not installed; run: pip install"
    " 'repro-claims[{extra}]'"
)
NO_ADDRESS = (
    "--executor ray needs the address of a cluster; set RAY_ADDRESS to HOST:PORT, or give"
    " --executor ray://HOST:PORT."
)
NO_SLURM = (
    "--executor slurm needs Slurm's commands, and there is no {name} here; run it where jobs are"
    " submitted, such as a login node."
)
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
                raise ValueError(NO_SLURM.format(name=command))
        return ""
    if name != "ray" and not name.startswith("ray://"):
        raise ValueError(
            f"There is no executor {name!r}; choose local, slurm, ray (at RAY_ADDRESS), or"
            " ray://HOST:PORT."
        )
    address = os.environ.get("RAY_ADDRESS") if name == "ray" else name
    if not address:
        raise ValueError(NO_ADDRESS)
    _require_installed("ray", name=name, extra="ray")
    require_somebody(address)
    return address


def _require_installed(library: str, *, name: str, extra: str) -> None:
    if find_spec(library) is None:
        raise ValueError(NOT_INSTALLED.format(name=name, library=library, extra=extra))


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


def train_here(
    batch: Batch, *, device: str, files: Files
) -> Iterator[Progress | Trained | Failed | Narrowed]:
    """Train the runs of a batch that have the same key on this node; the others fail."""
    runs = []
    for run, asked in batch.runs.items():
        try:
            here = identity(run, device=device, starts_from=asked.get("starts_from"))
        except Exception as error:  # an arm reads its data, and users write arms
            why = f"cannot be trained on the node that it was sent to: {error}"
            yield Failed(run, f"{name_of(run)}, {why}")
            continue
        if run_key(here) == run_key(asked):
            runs.append(run)
        else:
            about = {name: here[name] for name in ("torch", "data", "code")}
            why = (
                "would be stored under another key by the node that it was sent to, whose code,"
                f" data or versions are not those of the process that asked; there: {about}"
            )
            yield Failed(run, f"{name_of(run)}, {why}")
    if runs:
        yield from train_batch(runs, engine=batch.engine, device=device, files=files)
