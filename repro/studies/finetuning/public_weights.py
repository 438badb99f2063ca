"""GPT-2's published weights: the file of each size, and its hash; needs no torch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from repro.arm import Needs
from repro.data.files import is_here
from repro.data.inventory import sha256_of
from repro.data.locate import data_folder
from repro.data.registry import find

FILE = "model.safetensors"


def require_weights(size: str) -> None:
    """Raise `Needs` where the weights of a size are missing."""
    if not is_here(f"gpt2-{size}"):
        raise Needs(
            f"starts from GPT-2's {size} weights: run `python -m repro data fetch gpt2-{size}`"
        )


def weights_hash(size: str) -> str:
    """Return the SHA-256 of the file, or "" without a file."""
    path = _path(size)
    if not path.is_file():
        return ""
    status = path.stat()
    return _hash(path, status.st_mtime_ns, status.st_size)


@cache
def _hash(path: Path, changed: int, size: int) -> str:
    """Hash a file, once per process if it does not change, since the largest has six gigabytes."""
    return sha256_of(path)


def _path(size: str) -> Path:
    return data_folder() / find(f"gpt2-{size}").folder / FILE
