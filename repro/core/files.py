"""The interface for the files of runs in training: checkpoints, and parameters to start from."""

from __future__ import annotations

from typing import Protocol

from repro.arm import Run


class RunFiles(Protocol):
    """Reads and writes the files of the runs of one program."""

    def load_checkpoint(self, run: Run) -> bytes | None:
        """Return the checkpoint of an unfinished run; None if it starts at the beginning."""

    def wants_checkpoint(self) -> bool:
        """Return whether to write checkpoints now; called after every step."""

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        """Write a checkpoint and drop the run's last one."""

    def drop_checkpoint(self, run: Run, why: str) -> None:
        """Remove a checkpoint that cannot be used, and report it."""

    def load_weights(self, run: Run) -> bytes:
        """Return the final parameters of a run that other runs start from."""
