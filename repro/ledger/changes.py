"""The claims whose entries in ledgers differ from those of an earlier commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from repro.ledger.text import tables_in


def changed_entries(
    paths: Iterable[Path], *, then: Callable[[Path], bytes | None]
) -> frozenset[str]:
    """Return the claims whose entries in these ledgers are not what they were `then`.

    An entry that moved from one ledger to another has not changed.

    >>> changed_entries([Path("claims/ledger.toml")], then=lambda path: b"")
    frozenset({'004/bp_climbs[d256]'})
    """
    before: set[str] = set()
    now: set[str] = set()
    for path in paths:
        before |= _as_texts(then(path))
        now |= _as_texts(path.read_bytes() if path.is_file() else None)
    return frozenset(json.loads(text)["claim"] for text in before ^ now)


def _as_texts(content: bytes | None) -> set[str]:
    return {json.dumps(table, sort_keys=True) for table in tables_in(content or b"")}
