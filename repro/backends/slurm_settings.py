"""The wishes that a session has about its jobs with Slurm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SlurmSettings:
    """The resources of a job, the number of jobs, and the folder of their logs.

    >>> SlurmSettings(partition="gpu", gpus=1).words
    'partition gpu, 60 min, 1 GPU'
    """

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

    @property
    def words(self) -> str:
        """A job in words."""
        parts = [
            f"partition {self.partition}" if self.partition else "",
            f"account {self.account}" if self.account else "",
            f"{self.minutes} min",
            f"{self.memory:g} GB" if self.memory is not None else "",
            f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else "",
        ]
        return ", ".join(filter(None, parts))
