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
from typing import Any

from repro.files import remove
from repro.store.errors import explained
from repro.store.store import RUNS, Store

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
    name: str
    """The key of a result, or the address of a run."""
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
        """The arm and the digest of the trace of a result, or of its code in earlier versions."""
        try:
            head = self.head
            made = head.get("trace") or head["identity"]["code"]
            return f"{head['identity']['arm']['arm']}, code {made[:CODE_LETTERS]}"
        except (OSError, ValueError, TypeError, KeyError):
            return "not readable"

    @property
    def head(self) -> dict[str, Any]:
        """The identity of a result, and what made it."""
        head: dict[str, Any] = json.loads((self.path / "identity.json").read_text())
        return head


def items(root: Path, kind: str) -> Iterator[Item]:
    """Yield the items of a kind."""
    has_keys = kind != "damaged"
    with explained(root):
        paths = (root / kind).glob("[0-9a-f][0-9a-f]/*" if has_keys else "*")
        for path in sorted(paths):
            if has_keys and not KEY.fullmatch(path.name):
                continue
            inner = [path]
            if kind == RUNS and not (path / "identity.json").exists():  # as of earlier versions
                inner = [each for each in sorted(path.glob("*")) if each.is_dir()]
            for each in inner:
                name = path.name if each == path else f"{path.name}/{each.name}"
                if (item := _item(each, name)) is not None:
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
        elif (lock := store.locks.try_lock(item.name.partition("/")[0])) is None:
            in_use += 1
        else:
            with lock:
                now = _item(item.path, item.name)
                if now is not None and now.written <= until:
                    if kind == RUNS:
                        store.remove(item.name)
                    else:
                        remove(item.path)
                    removed.append(item)
    return removed, in_use


def tidy(store: Store) -> None:
    """Remove checkpoints, folders and damaged runs that are older than `KEPT_DAYS`."""
    for kind in KINDS[1:]:
        remove_old(store, kind, days=KEPT_DAYS)


def _item(path: Path, name: str) -> Item | None:
    try:
        return Item(path, name, os.lstat(path).st_mtime)
    except FileNotFoundError:
        return None
