"""The backend that a name on the command line stands for."""

from __future__ import annotations

import os
from pathlib import Path

from repro.backends.local import LocalBackend
from repro.runs.backend import Backend
from repro.store import Store

NO_RAY = "--executor {name} needs Ray, which is not installed; run: pip install 'repro-claims[ray]'"
NO_ADDRESS = (
    "--executor ray needs the address of a cluster; set RAY_ADDRESS to HOST:PORT, or give"
    " --executor ray://HOST:PORT."
)


def backend_named(
    name: str,
    store: Store,
    *,
    device: str,
    processes: int,
    project: Path,
    same_machine: bool = False,
    session: str | None = None,
) -> Backend:
    """Return the backend of that name for one of a session's processes; raises ValueError.

    >>> backend_named("local", store, device="cpu", processes=1, project=folder)
    """
    if name == "local":
        return LocalBackend(store, device=device, processes=processes, session=session)
    address = require_backend(name)
    from repro.backends.ray.backend import RayBackend

    return RayBackend(
        store,
        address=address,
        device=device,
        processes=processes,
        project=project,
        same_machine=same_machine,
    )


def require_backend(name: str) -> str:
    """Return the address of a cluster's backend; raises ValueError where it cannot be used."""
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
    from repro.backends.ray.cluster import require_somebody

    require_somebody(address)
    return address
