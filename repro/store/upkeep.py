"""The contents of a store by age, and their removal beside processes that train.

Whether a claim still needs a stored run, only reading the claims can tell. So runs are removed when
somebody asks for it, by their age. Old checkpoints, folders of
runs that never ended, and what was damaged are needed by nobody.
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
from repro.store.locks import Locks
from repro.store.store import Store

DAY = 24 * 60 * 60

KEPT_DAYS = 30
"""Age to which checkpoints, folders, damaged runs, and notes of what was in training are kept."""

KINDS = ("runs", "checkpoints", "folders", "damaged", "in-training")

_KEYS = dict.fromkeys(("runs", "checkpoints", "folders"), re.compile(r"[0-9a-f]{64}"))
"""The names that things of a kind have, each in a folder of those that begin alike."""


@dataclass(frozen=True)
class Item:
    """One thing in a store: a run, its checkpoint or folder, a damaged run, or a note."""

    path: Path
    written: float
    """Seconds since 1970."""

    @property
    def key(self) -> str:
        """The key of its run, where it is a run, a checkpoint or a folder."""
        return self.path.name

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
            return f"{identity['arm']['arm']}, code {identity['code'][:12]}"
        except (OSError, ValueError, TypeError, KeyError):
            return "not readable"


def items(root: Path, kind: str) -> Iterator[Item]:
    """Yield what there is of a kind, but for what vanishes meanwhile."""
    folder, key = root / kind, _KEYS.get(kind)
    with explained(root):
        paths = folder.glob("[0-9a-f][0-9a-f]/*") if key else folder.glob("*")
        for path in sorted(paths):
            if (key is None or key.fullmatch(path.name)) and (item := _item(path)):
                yield item


def remove_old(store: Store, kind: str, *, days: float) -> tuple[list[Item], int]:
    """Remove what is older; return what was removed, and how many things are in use and stay.

    What belongs to a run is removed under its lock.
    """
    locks = Locks(store.root)  # of this machine: what others train lies with them
    removed: list[Item] = []
    in_use = 0
    until = time.time() - days * DAY
    for item in items(store.root, kind):
        if item.written > until:
            continue
        if kind not in _KEYS:
            remove(item.path)
            removed += [] if os.path.lexists(item.path) else [item]
        elif (lock := locks.try_lock(item.key)) is None:
            in_use += 1
        else:
            with lock:
                now = _item(item.path)
                if now is not None and now.written <= until:
                    _REMOVE[kind](store, item.key)
                    removed.append(item)
    return removed, in_use


def tidy(store: Store) -> None:
    """Remove what nobody needs any more of checkpoints, folders, damaged runs and notes."""
    for kind in KINDS[1:]:
        remove_old(store, kind, days=KEPT_DAYS)


_REMOVE: dict[str, Callable[[Store, str], None]] = {
    "runs": lambda store, key: store.remove(key),
    "checkpoints": lambda store, key: store.checkpoints.drop(key),
    "folders": lambda store, key: store.drop_folder(key),
}


def _item(path: Path) -> Item | None:
    try:
        return Item(path, os.lstat(path).st_mtime)
    except FileNotFoundError:
        return None
