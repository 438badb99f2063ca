"""The files of runs in training, wherever they train: checkpoints, and parameters to start from."""

from __future__ import annotations

from typing import Protocol

from repro.arm import Run


class RunFiles(Protocol):
    """Reads and keeps the files of the runs of one program."""

    def load_checkpoint(self, run: Run) -> bytes | None:
        """Return what an unfinished run goes on from; None where it starts at the beginning."""

    def wants_checkpoint(self) -> bool:
        """Return whether the runs are to be saved now; asked after every step."""

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        """Keep a checkpoint in place of the run's last one."""

    def drop_checkpoint(self, run: Run, why: str) -> None:
        """Forget a checkpoint that nothing can go on from, and say so."""

    def load_weights(self, run: Run) -> bytes:
        """Return the parameters of a finished run, which other runs start from."""
