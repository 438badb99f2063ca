"""Lists the contents of a store by age, and removes old ones, also while other processes train.

Only the claims can tell whether a stored run is still needed. So runs are removed only on request,
by their age. Nobody needs old checkpoints, folders of runs that never ended, or damaged runs.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.files import remove
from repro.store.errors import explained
from repro.store.store import Store

KEY = re.compile(r"[0-9a-f]{64}")
"""The form of a key."""

DAY = 24 * 60 * 60

KEPT_DAYS = 30
"""Checkpoints, folders and damaged runs are kept for this number of days."""

CODE_LETTERS = 12
"""Letters of a digest of code that tell it from others."""

KINDS = ("runs", "checkpoints", "folders", "damaged")
"""The kinds of content of a store; all but damaged runs are named by keys."""


@dataclass(frozen=True)
class Item:
    """One item of a store: a run, its checkpoint or folder, or a damaged run."""

    path: Path
    written: float
    """Seconds since 1970."""

    @property
    def bytes(self) -> int:
        """The size of its files."""
        if not self.path.is_dir():
            return self.path.lstat().st_size
        return sum(path.lstat().st_size for path in self.path.rglob("*") if path.is_file())

    @property
    def origin(self) -> str:
        """The arm and the digest of the code of a run."""
        try:
            identity = json.loads((self.path / "identity.json").read_text())["identity"]
            return f"{identity['arm']['arm']}, code {identity['code'][:CODE_LETTERS]}"
        except (OSError, ValueError, TypeError, KeyError):
            return "not readable"


def items(root: Path, kind: str) -> Iterator[Item]:
    """Yield the items of a kind."""
    has_keys = kind != "damaged"
    with explained(root):
        paths = (root / kind).glob("[0-9a-f][0-9a-f]/*" if has_keys else "*")
        for path in sorted(paths):
            if (not has_keys or KEY.fullmatch(path.name)) and (item := _item(path)):
                yield item


def remove_old(
    store: Store, kind: str, *, days: float, which: Callable[[Item], bool] = lambda item: True
) -> tuple[list[Item], int]:
    """Remove older items; return the removed ones, and the number of items in use, which stay.

    All but damaged runs are removed under the lock of the run.
    """
    removed: list[Item] = []
    in_use = 0
    until = time.time() - days * DAY
    for item in items(store.root, kind):
        if item.written > until or not which(item):
            continue
        if kind == "damaged":
            remove(item.path)
            removed += [] if os.path.lexists(item.path) else [item]
        elif (lock := store.locks.try_lock(item.path.name)) is None:
            in_use += 1
        else:
            with lock:
                now = _item(item.path)
                if now is not None and now.written <= until:
                    if kind == "runs":
                        store.remove(item.path.name)
                    else:
                        remove(item.path)
                    removed.append(item)
    return removed, in_use


def tidy(store: Store) -> None:
    """Remove checkpoints, folders and damaged runs that are older than `KEPT_DAYS`."""
    for kind in KINDS[1:]:
        remove_old(store, kind, days=KEPT_DAYS)


def _item(path: Path) -> Item | None:
    try:
        return Item(path, os.lstat(path).st_mtime)
    except FileNotFoundError:
        return None
