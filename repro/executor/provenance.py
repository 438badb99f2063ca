"""How a run came about: what is recorded beside its result, and never part of its key."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any


def provenance(seconds: float, company: int) -> dict[str, Any]:
    """Of a run that took these seconds, as one of `company` that were trained together.

    >>> provenance(1.5, 8)["trained_with"]
    7
    """
    return {
        **working_copy_state(),
        **_this_process(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "trained_with": company - 1,
    }


@cache
def working_copy_state() -> dict[str, Any]:
    """Which code this is. A cluster's nodes have it without its history, so who asks them says."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain")),
    }


@cache
def _this_process() -> dict[str, Any]:
    packages = ("torch", "numpy", "scipy")
    return {
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in packages},
        "host": platform.node(),
        "pid": os.getpid(),
        "threads": 1,
    }


def _git(*command: str) -> str | None:
    try:
        found = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), *command],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
