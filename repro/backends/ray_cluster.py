"""A Ray cluster that somebody else runs: joined, given the code, and asked for its room."""

from __future__ import annotations

import logging
import os
import textwrap
from pathlib import Path
from typing import Any

import ray

from repro.backends.ray_address import ClusterError, require_somebody
from repro.data.locate import data_folder

NO_CODE = (".git", ".repro", "**/__pycache__", "**/.pytest_cache", "**/.mypy_cache")
"""Patterns of what no node needs."""


def join(address: str, environment: dict[str, Any]) -> None:
    """Join the cluster at an address; raises `ClusterError` where that cannot be done."""
    require_somebody(address)
    # on where Ray has it; who runs a cluster without it has to say so
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        ray.init(
            address=address,
            runtime_env=environment,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # Ray raises whatever it met, of a dozen kinds
        raise ClusterError(
            f"The Ray cluster at {address} cannot be joined ({in_short(error)}); its token and its"
            " version of Ray have to be those here."
        ) from error


def environment_of(project: Path, store: Path) -> dict[str, Any]:
    """Return what Ray brings to the nodes: the project as it is, with uncommitted changes.

    Left out are what `.gitignore` names, the store, data, and virtual environments.
    """
    folders = [store, data_folder(), *(mark.parent for mark in project.glob("*/pyvenv.cfg"))]
    below = [each.absolute() for each in folders if each.absolute().is_relative_to(project)]
    places = [f"/{each.relative_to(project)}" for each in below if each != project]
    data = {"REPRO_DATA": os.environ["REPRO_DATA"]} if os.environ.get("REPRO_DATA") else {}
    return {
        "working_dir": str(project),
        "excludes": [*NO_CODE, *places],
        "env_vars": {"OMP_NUM_THREADS": "1", **data},
    }


def device_for(name: str) -> str:
    """Return the device of a cluster's tasks; raises `ClusterError` where it has none such."""
    gpus = most("GPU")
    if name == "auto":
        return "cuda" if gpus else "cpu"
    if name == "cuda" and not gpus:
        raise ClusterError("The Ray cluster has no GPU; try --device cpu.")
    if name not in ("cpu", "cuda"):
        raise ClusterError(f"A Ray cluster trains on cpu or cuda, not on {name}.")
    return name


def most(unit: str) -> int:
    """Return how many of a unit, `CPU` or `GPU`, the largest node of the joined cluster has."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return max((int(node["Resources"].get(unit, 0)) for node in nodes if node["Alive"]), default=0)


def in_short(error: BaseException) -> str:
    """Return what was wrong as one line of what Ray prints of it."""
    cause = getattr(error, "cause", None)  # of a task's own error, which Ray prints as a traceback
    if isinstance(cause, BaseException):
        return f"{type(cause).__name__}: {in_short(cause)}"
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return textwrap.shorten(line.rstrip("."), 240, placeholder=" …")
