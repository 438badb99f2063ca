"""The parts that the pools of Slurm and of Ray share: finding a cluster, and its settings.

It imports neither submitit nor Ray, since it first checks whether they are installed.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

CONNECT_SECONDS = 5.0

SLURM_KINDS: dict[str, tuple[type, str]] = {
    "time": (int, "a number of whole minutes, at least 1"),
    "array_parallelism": (int, "a number of jobs, at least 1"),
    "cpus_per_task": (int, "a number of cores, at least 1"),
    **dict.fromkeys(("setup", "teardown", "srun_args"), (list, 'a list as JSON, such as ["a"]')),
    "additional_parameters": (dict, 'a dictionary as JSON, such as {"reservation": "mine"}'),
}
"""The parameters of Slurm's jobs that must be of one kind, and that kind in words."""


class ClusterError(ValueError):
    """There is no Ray cluster to train on; the message says why and what to do."""


def slurm_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of Slurm's jobs, from the texts of `--slurm`; raises ValueError.

    Whole numbers, true, false, lists and dictionaries are read as JSON, anything else as text.

    >>> slurm_parameters(["partition=gpu", "time=120", 'setup=["module load cuda"]'])
    {'partition': 'gpu', 'time': 120, 'setup': ['module load cuda']}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise ValueError(f"--slurm {text!r} is not written KEY=VALUE, as in partition=gpu.")
        found[name] = value
        with suppress(ValueError):
            read = json.loads(value)
            found[name] = read if isinstance(read, list | dict | int) else value
    for name in found.keys() & SLURM_KINDS.keys():
        kind, words = SLURM_KINDS[name]
        if type(found[name]) is not kind or (kind is int and found[name] < 1):
            raise ValueError(f"--slurm {name}={found[name]} is not {words}.")
    for name in found.keys() & {"nodes", "ntasks_per_node"}:
        raise ValueError(f"--slurm {name}=… cannot be given: a job is one process on one node.")
    if "folder" in found:
        found["folder"] = os.path.expanduser(str(found["folder"]))
    return found


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
    if name != "ray":
        raise ValueError(
            f"There is no executor {name!r}; choose local, slurm, or ray (at RAY_ADDRESS)."
        )
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        raise ValueError(
            "--executor ray needs the address of a cluster; set RAY_ADDRESS to HOST:PORT."
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
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()) or "/" in host:
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; set RAY_ADDRESS to HOST:PORT."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(
            f"Nobody answers at {address}; start a Ray cluster there, or give the address of one."
        ) from error
