"""One process at a time on an accelerator, so that neighbours never add up to its memory."""

from __future__ import annotations

import getpass
import tempfile
import time
from pathlib import Path

from repro.store.locks import Lock, Locks

POLL_SECONDS = 0.1


class DeviceTurn:
    """Held while a batch trains; on a CPU there is nothing to hold."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.lock: Lock | None = None

    def __enter__(self) -> None:
        if self.device == "cpu":
            return
        locks = Locks(Path(tempfile.gettempdir()) / f"repro-devices-{getpass.getuser()}")
        while (lock := locks.try_lock(self.device)) is None:
            time.sleep(POLL_SECONDS)
        self.lock = lock

    def __exit__(self, *_: object) -> None:
        if self.lock:
            self.lock.release()
