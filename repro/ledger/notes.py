"""Notes of ledgers, which one process of a session leaves for the others in a folder.

A note is read in a tenth of the time that the TOML takes. It is named by the hash of the ledger's
text, so it is about that text and no other one.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from repro.files import write_beside
from repro.ledger.entry import Entry
from repro.ledger.text import entries_in


def leave_note(folder: Path, path: Path) -> None:
    """Leave a note of the ledger at a path; of one that cannot be read, or without room, none.

    >>> leave_note(folder, Path("ledger.toml"))
    """
    with suppress(OSError, ValueError):
        content = path.read_bytes()
        tables = [vars(entry) for entry in entries_in(content)]
        write_beside(_note_of(folder, content), json.dumps({"entries": tables}))


def noted(folder: Path, content: bytes) -> list[Entry] | None:
    """Return the entries in a ledger's text; None where nobody left a sound note of it.

    >>> noted(folder, Path("ledger.toml").read_bytes())
    """
    try:
        tables = json.loads(_note_of(folder, content).read_text())["entries"]
        return [Entry(**{**table, "past": _past(table["past"])}) for table in tables]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _past(rows: list[tuple[float, float | None, int]]) -> list[tuple[float, float | None, int]]:
    return [(mean, spread, seeds) for mean, spread, seeds in rows]


def _note_of(folder: Path, content: bytes) -> Path:
    return folder / f"{hashlib.sha256(content).hexdigest()}.ledger"
