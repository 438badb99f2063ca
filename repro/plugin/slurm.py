"""The options of a session on a Slurm cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro.backends.slurm_settings import SlurmSettings
from repro.plugin.command_line import OPTIONS, is_set, option

SLURM = "slurm"


def slurm_settings(config: pytest.Config) -> SlurmSettings:
    """Return what the command line and the project's settings wish of Slurm's jobs."""
    folder = option(config, "slurm-folder")
    return SlurmSettings(
        partition=option(config, "slurm-partition"),
        account=option(config, "slurm-account"),
        minutes=option(config, "slurm-time"),
        memory=option(config, "slurm-memory"),
        gpus=option(config, "slurm-gpus"),
        max_jobs=option(config, "slurm-max-jobs"),
        folder=Path(folder) if folder else None,
    )


def check_slurm(config: pytest.Config) -> None:
    """Raise ValueError where an option of Slurm is bad."""
    slurm_settings(config).require_sound()
    if option(config, "executor") != SLURM and option(config, "detach"):
        raise ValueError("--detach leaves jobs with Slurm: give --executor slurm too.")


def is_about_slurm(config: pytest.Config) -> bool:
    """Tell whether an option of Slurm is given."""
    names = [name for name in OPTIONS if name.startswith(f"{SLURM}-")]
    return any(is_set(config, name) for name in (*names, "detach"))
