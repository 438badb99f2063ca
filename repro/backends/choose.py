"""The pool that a name on the command line stands for."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from repro.backends.in_process import InProcessPool
from repro.backends.places import cores
from repro.backends.processes import ProcessPool
from repro.backends.ray_address import require_somebody
from repro.backends.slurm_settings import SlurmSettings
from repro.runs.pool import Pool
from repro.store import Store

NO_RAY = "--executor {name} needs Ray, which is not installed; run: pip install 'repro-claims[ray]'"
NO_ADDRESS = (
    "--executor ray needs the address of a cluster; set RAY_ADDRESS to HOST:PORT, or give"
    " --executor ray://HOST:PORT."
)
NO_SUBMITIT = (
    "--executor slurm needs submitit, which is not installed; run: pip install"
    " 'repro-claims[slurm]'"
)
NO_SLURM = (
    "--executor slurm needs Slurm's commands, and there is no {name} here; run it where jobs are"
    " submitted, such as a login node."
)
UNKNOWN_NODES = (
    "--same-machine cannot be kept with --executor {name}, which does not say what its nodes are;"
    " leave it out."
)


def pool_named(
    name: str,
    store: Store,
    *,
    device: str,
    trainers: int | None,
    project: Path,
    same_machine: bool = False,
    slurm: SlurmSettings | None = None,
) -> Pool:
    """Return the pool of that name; raises ValueError.

    Without a number of `trainers` there are as many as cores; with 0 this process trains itself.

    >>> pool_named("local", store, device="cpu", trainers=4, project=folder)
    """
    if name == "local" and trainers == 0:
        return InProcessPool(store, device=device)
    if name == "local":
        return ProcessPool(store, device=device, trainers=trainers or cores())
    address = require_executor(name)
    if same_machine:
        raise ValueError(UNKNOWN_NODES.format(name=name))
    if name == "slurm":
        from repro.backends.slurm import SlurmPool

        return SlurmPool(store, slurm or SlurmSettings(), device=device, project=project)
    from repro.backends.ray import RayPool

    return RayPool(store, address=address, device=device, project=project)


def require_executor(name: str) -> str:
    """Return the address of a cluster; raises ValueError where there is none to train on.

    Slurm has no address: its commands know where it is.
    """
    if name == "slurm":
        _require_slurm()
        return ""
    if name != "ray" and not name.startswith("ray://"):
        raise ValueError(
            f"There is no executor {name!r}; choose local, slurm, ray (at RAY_ADDRESS), or"
            " ray://HOST:PORT."
        )
    address = os.environ.get("RAY_ADDRESS") if name == "ray" else name
    if not address:
        raise ValueError(NO_ADDRESS)
    if find_spec("ray") is None:
        raise ValueError(NO_RAY.format(name=name))
    require_somebody(address)
    return address


def _require_slurm() -> None:
    if find_spec("submitit") is None:
        raise ValueError(NO_SUBMITIT)
    for name in ("sbatch", "srun", "squeue", "scancel"):
        if shutil.which(name) is None:
            raise ValueError(NO_SLURM.format(name=name))
