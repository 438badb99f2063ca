"""The ledger: a text file of the last accepted verdicts, beside the claims, under version control.

It has one entry for each claim, profile and data set. A claim that was reproduced and is not any
more fails; one that was not is an expected failure, with the finding as its reason. An entry of a
reproduced claim says on what machine, and how far past their bounds its comparisons were, because
another kind of machine trains other runs.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.files import write_beside
from repro.text import HIDDEN

NAME = "ledger.toml"

VERDICTS = ("reproduced", "refuted", "inconclusive")
"""The verdicts that can be accepted; a claim that was not run has none."""

_HEAD = """\
# The verdicts that were last accepted, one entry a claim, profile and data set.
# Written by `pytest claims --update-ledger`; a change here is a change of what is known.
"""


class LedgerError(Exception):
    """A ledger that cannot be read or written; says where and what to do."""


@dataclass(frozen=True)
class Entry:
    """The accepted verdict of one claim."""

    claim: str
    profile: str
    data: str
    verdict: str
    sentence: str
    documented: str
    measured: str
    machine: str = ""
    """Device, processor, torch and engine that trained the runs of a reproduced claim."""
    past: Sequence[tuple[float, float, int]] = ()
    """Mean, spread and seeds of each comparison of a reproduced claim, past its bound."""

    @property
    def place(self) -> tuple[str, str, str]:
        """The key of the entry; no two entries of a ledger share it."""
        return self.claim, self.profile, self.data


class Ledger:
    """The entries of one file.

    >>> Ledger.read(Path("claims/ledger.toml")).entry("004/bp_climbs[d256]", "ci", "cifar10")
    """

    def __init__(self, path: Path, entries: Iterable[Entry]) -> None:
        self.path = path
        self.entries = {entry.place: entry for entry in entries}

    @classmethod
    def read(cls, path: Path) -> Ledger:
        """Return the ledger at a path; an empty one where there is no file."""
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
            return cls(path, _entries(tables))
        except FileNotFoundError:
            return cls(path, [])
        except (OSError, ValueError) as error:  # of which TOML's and Unicode's errors are kinds
            raise LedgerError(
                f"The ledger {path} cannot be read ({error}); restore it from version control."
            ) from error

    def entry(self, claim: str, profile: str, data: str) -> Entry | None:
        """Return the accepted entry of a claim; None where there is none yet."""
        return self.entries.get((claim, profile, data))

    def accept(self, entries: Iterable[Entry]) -> None:
        """Add or replace entries and write the file, sorted, so that its diff can be read."""
        self.entries |= {entry.place: entry for entry in entries}
        blocks = [_encoded(self.entries[place]) for place in sorted(self.entries)]
        write_beside(self.path, _HEAD.encode() + b"".join(blocks))


def _entries(tables: dict[str, Any]) -> list[Entry]:
    """Return the entries in the tables of a file; raises ValueError where one is not sound."""
    if unknown := tables.keys() - {"claim"}:
        raise ValueError(f"it has {sorted(unknown)[0]!r} where only [[claim]] tables belong")
    entries: dict[tuple[str, str, str], Entry] = {}
    for table in _listed(tables.get("claim", [])):
        entry = _entry(table)
        if entry.place in entries:
            raise ValueError(f"{entry.claim} has two entries at {entry.profile} on {entry.data}")
        entries[entry.place] = entry
    return list(entries.values())


def _listed(tables: object) -> list[dict[str, Any]]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("it has [claim] where [[claim]] belongs")
    return tables


def _entry(table: dict[str, Any]) -> Entry:
    name = table.get("claim", "an entry")
    try:
        entry = Entry(**table)
    except TypeError as error:
        raise ValueError(f"{name}: {str(error).removeprefix('Entry.__init__() ')}") from None
    for key, value in vars(entry).items():
        if key != "past" and not isinstance(value, str):
            raise ValueError(f"{name}: its {key} is {value!r} and no text")
    if entry.verdict not in VERDICTS:
        raise ValueError(f"{name}: its verdict {entry.verdict!r} is none of {', '.join(VERDICTS)}")
    _require_past(entry)
    return entry


def _require_past(entry: Entry) -> None:
    sound = isinstance(entry.past, list) and all(
        isinstance(each, list)
        and len(each) == 3
        and all(isinstance(number, int | float) and math.isfinite(number) for number in each)
        and each[1] >= 0
        and isinstance(each[2], int)
        and each[2] > 0
        for each in entry.past or ()
    )
    if entry.past and not sound:
        raise ValueError(f"{entry.claim}: its past is no list of [mean, spread, seeds]")


def _encoded(entry: Entry) -> bytes:
    optional = ("machine", "past")
    lines = [
        f"{name} = {_quoted(value)}"
        for name, value in vars(entry).items()
        if value or name not in optional
    ]
    try:
        return ("\n[[claim]]\n" + "\n".join(lines) + "\n").encode()
    except UnicodeEncodeError as error:
        raise LedgerError(
            f"The ledger cannot hold the half character {error.object[error.start]!a} that is"
            f" in the entry of {entry.claim!a}; remove it from the claim."
        ) from error


def _quoted(value: Any) -> str:
    return HIDDEN.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(hidden: re.Match[str]) -> str:
    """Return a hidden character as TOML writes it; half a character stays, TOML has none."""
    code = ord(hidden[0])
    if 0xD800 <= code <= 0xDFFF:
        return hidden[0]
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
