"""Which executor a name stands for."""

from __future__ import annotations

import os
from pathlib import Path

from repro.executor.local import LocalExecutor
from repro.executor.protocol import Executor
from repro.store import Store

NO_RAY = "--executor {name} needs Ray, which is not installed; run: pip install 'repro[ray]'"
NO_ADDRESS = (
    "--executor ray needs the address of a cluster; set RAY_ADDRESS to HOST:PORT, or give"
    " --executor ray://HOST:PORT."
)


def executor_named(
    name: str,
    store: Store,
    *,
    device: str,
    engine: str,
    processes: int,
    root: Path,
    session: str | None = None,
) -> Executor:
    """The executor of that name, for one of a session's processes; raises ValueError for bad ones.

    >>> executor_named("local", store, device="cpu", engine="auto", processes=1, root=folder)
    """
    if name == "local":
        return LocalExecutor(
            store, device=device, engine=engine, workers=processes, session=session
        )
    if name != "ray" and not name.startswith("ray://"):
        raise ValueError(
            f"There is no executor {name!r}; choose local, ray (at RAY_ADDRESS), or"
            " ray://HOST:PORT."
        )
    address = os.environ.get("RAY_ADDRESS") if name == "ray" else name
    if not address:
        raise ValueError(NO_ADDRESS)
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise ValueError(NO_RAY.format(name=name)) from error
    from repro.executor.ray.executor import RayExecutor

    return RayExecutor(
        store, address=address, device=device, engine=engine, askers=processes, root=root
    )
