"""The contents of a store by age, and their removal beside processes that train.

Whether a claim still needs a stored run, only reading the claims can tell. So runs are removed when
somebody asks for it, by their age. Old checkpoints, folders of runs that never ended, and what was
damaged are needed by nobody.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.files import remove
from repro.store.errors import explained
from repro.store.store import KEY, Store

DAY = 24 * 60 * 60

KEPT_DAYS = 30
"""Age to which checkpoints, folders and damaged runs are kept."""

CODE_LETTERS = 12
"""Letters of a digest of code that tell it from others."""

KINDS = ("runs", "checkpoints", "folders", "damaged")
"""What a store holds: of runs by their keys, but for what is damaged."""


@dataclass(frozen=True)
class Item:
    """One thing in a store: a run, its checkpoint or folder, or a damaged run."""

    path: Path
    written: float
    """Seconds since 1970."""

    @property
    def bytes(self) -> int:
        """The content of its files."""
        if not self.path.is_dir():
            return self.path.lstat().st_size
        return sum(path.lstat().st_size for path in self.path.rglob("*") if path.is_file())

    @property
    def origin(self) -> str:
        """The arm and the digest of the code that trained it, where it is a run."""
        try:
            identity = json.loads((self.path / "identity.json").read_text())["identity"]
            return f"{identity['arm']['arm']}, code {identity['code'][:CODE_LETTERS]}"
        except (OSError, ValueError, TypeError, KeyError):
            return "not readable"


def items(root: Path, kind: str) -> Iterator[Item]:
    """Yield what there is of a kind, but for what vanishes meanwhile."""
    has_keys = kind != "damaged"
    with explained(root):
        paths = (root / kind).glob("[0-9a-f][0-9a-f]/*" if has_keys else "*")
        for path in sorted(paths):
            if (not has_keys or KEY.fullmatch(path.name)) and (item := _item(path)):
                yield item


def remove_old(
    store: Store, kind: str, *, days: float, which: Callable[[Item], bool] = lambda item: True
) -> tuple[list[Item], int]:
    """Remove what is older; return what was removed, and how many things are in use and stay.

    What belongs to a run is removed under its lock.
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
    """Remove what nobody needs any more of checkpoints, folders and damaged runs."""
    for kind in KINDS[1:]:
        remove_old(store, kind, days=KEPT_DAYS)


def _item(path: Path) -> Item | None:
    try:
        return Item(path, os.lstat(path).st_mtime)
    except FileNotFoundError:
        return None
