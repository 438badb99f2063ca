"""Returns the pool that the command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repro.backends.cluster import SlurmSettings, require_executor
from repro.backends.local import InProcessPool, ProcessPool
from repro.backends.places import cores
from repro.runs.pool import Pool
from repro.store import Store


def pool_named(
    name: str,
    store: Store,
    *,
    device: str,
    trainers: int | None,
    project: Path,
    slurm: SlurmSettings | None = None,
    shows: bool = False,
) -> Pool[Any]:
    """Return the pool of that name; raises ValueError.

    Without a number of `trainers` there is one for each core. With 0 this process trains itself,
    and `shows` the output of training.

    >>> pool_named("local", store, device="cpu", trainers=4, project=folder)
    """
    if name == "local" and trainers == 0:
        return InProcessPool(store, device=device, shows=shows)
    if name == "local":
        return ProcessPool(store, device=device, trainers=trainers or cores())
    address = require_executor(name)
    if name == "slurm":
        from repro.backends.slurm import SlurmPool

        return SlurmPool(store, slurm or SlurmSettings(), device=device, project=project)
    from repro.backends.ray import RayPool

    return RayPool(store, address=address, device=device, project=project)
