"""The provenance of a run: recorded beside its result, and never part of its key."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from repro.core.device import has_torch, machine


def provenance(device: str, seconds: float, width: int) -> dict[str, Any]:
    """Return where and when a run was trained; `width` runs together took these seconds.

    >>> provenance("cpu", 1.5, 8)["trained_with"]
    7
    """
    return {
        **_this_process(),
        "machine": machine(device),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "trained_with": width - 1,
    }


@cache
def _this_process() -> dict[str, Any]:
    versions = {name: metadata.version(name) for name in ("numpy", "scipy")}
    if has_torch():
        import torch

        versions = {"torch": str(torch.__version__), **versions}  # with the name of its build
    return {
        "python": platform.python_version(),
        "packages": versions,
        "host": platform.node(),
        "pid": os.getpid(),
        "threads": 1,
    }


@cache
def commit_of(project: Path) -> dict[str, Any]:
    """Return the commit of a project, and whether it has uncommitted changes.

    The session calls it, since the nodes of a cluster have the code without its history.
    """
    return {
        "commit": _git(project, "rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git(project, "status", "--porcelain")),
    }


@cache
def place_of(project: Path) -> tuple[str, str]:
    """Return the address of a project's remote, and the project's folder within the repository."""
    remote = _git(project, "remote", "get-url", "origin")
    return remote or "", _git(project, "rev-parse", "--show-prefix") or ""


def _git(project: Path, *command: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(project), *command], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
