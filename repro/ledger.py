"""The ledger: a text file of the last accepted verdicts, beside the claims, under version control.

It has one entry for each claim, profile and data set. A claim that was reproduced and is not any
more fails; one that was not is an expected failure, with the finding as its reason. An entry of a
reproduced claim says on what machine, and how far past their bounds its comparisons were, because
another kind of machine trains other runs.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from repro.files import write_beside
from repro.text import HIDDEN

NAME = "ledger.toml"

VERDICTS = ("reproduced", "refuted", "inconclusive")
"""The verdicts that can be accepted; a claim that was not run has none."""

Kind: TypeAlias = Literal["source", "question", "control"]
"""Whose a claim is: what its source claims, a question of ours about it, or a control of ours."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_HEAD = """\
# The verdicts that were last accepted, one entry a claim, profile and data set.
# Written by `pytest claims --update-ledger`; a change here is a change of what is known.
"""


_YEAR = re.compile(r"(19|20)\d\d[a-z]?")


def short_source(source: str) -> str:
    """Return the name of a source, without the place in it: up to its first comma, or its year.

    >>> short_source("004, Results"), short_source("Smith et al., 2023, Table 2")
    ('004', 'Smith et al., 2023')
    """
    name, *places = (part.strip() for part in source.split(","))
    years = itertools.takewhile(_YEAR.fullmatch, places)
    return ", ".join([name, *years])


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
    kind: Kind = "source"
    machine: str = ""
    """Device, processor, torch and engine that trained the runs of a reproduced claim."""
    past: Sequence[tuple[float, float | None, int]] = ()
    """Mean, spread and seeds of each comparison of a reproduced claim, past its bound.

    The distance of a standard deviation has no spread of its own. In the file it is left out.
    """

    @property
    def seeds(self) -> int | None:
        """The seeds that the verdict took; None where the entry does not say."""
        said = re.findall(r"(\d+) seeds\b", self.measured)  # `past` may have more, for the ledger
        return max(map(int, said), default=None)

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
        self._by_claim: dict[str, list[Entry]] | None = None

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

    def of_claim(self, claim: str) -> Sequence[Entry]:
        """Return the entries of a claim at all sizes and on all data."""
        if self._by_claim is None:  # a claim has few entries, and a ledger thousands
            self._by_claim = {}
            for entry in self.entries.values():
                self._by_claim.setdefault(entry.claim, []).append(entry)
        return self._by_claim.get(claim, ())

    def opposed(self, claim: str, profile: str, verdict: str) -> list[Entry]:
        """Return the entries of a claim at other sizes that say the opposite of a verdict.

        `ci` is small, and its verdict stands beside that at the documented size, not instead of it.
        """
        opposite = {"reproduced": "refuted", "refuted": "reproduced"}.get(verdict)
        return [
            entry
            for entry in self.of_claim(claim)
            if entry.profile != profile and entry.verdict == opposite
        ]

    def accept(self, entries: Iterable[Entry]) -> None:
        """Add or replace entries and write the file, sorted, so that its diff can be read."""
        self.entries |= {entry.place: entry for entry in entries}
        self._by_claim = None
        self._write()

    def forget(self, claims: Collection[str]) -> None:
        """Remove the entries of these claims and write the file."""
        self.entries = {p: entry for p, entry in self.entries.items() if entry.claim not in claims}
        self._by_claim = None
        self._write()

    def _write(self) -> None:
        blocks = [_encoded(self.entries[place]) for place in sorted(self.entries)]
        write_beside(self.path, _HEAD.encode() + b"".join(blocks))


def is_ledger(path: Path) -> bool:
    """Return whether a path is that of a ledger, by its name.

    >>> is_ledger(Path("claims/ledger.toml")), is_ledger(Path("claims/pyproject.toml"))
    (True, False)
    """
    return path.name == NAME or (path.parent.name == "ledger" and path.suffix == ".toml")


def changed_entries(
    paths: Iterable[Path], *, then: Callable[[Path], bytes | None]
) -> frozenset[str]:
    """Return the claims whose entries in these ledgers are not what they were `then`.

    >>> changed_entries([Path("claims/ledger.toml")], then=lambda path: b"")
    frozenset({'004/bp_climbs[d256]'})
    """
    before: set[str] = set()
    now: set[str] = set()
    for path in paths:
        before |= _read_leniently(then(path))
        now |= _read_leniently(path.read_bytes() if path.is_file() else None)
    return frozenset(json.loads(text)["claim"] for text in before ^ now)


def _read_leniently(content: bytes | None) -> set[str]:
    """Return the tables of a ledger as texts; none of one that cannot be read."""
    try:
        tables = _listed(tomllib.loads((content or b"").decode()).get("claim", []))
    except ValueError:
        return set()
    return {json.dumps(each, sort_keys=True) for each in tables if "claim" in each}


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
        past = {"past": _past(table)} if "past" in table else {}
        entry = Entry(**{**table, **past})
    except TypeError as error:
        raise ValueError(f"{name}: {str(error).removeprefix('Entry.__init__() ')}") from None
    for key, value in vars(entry).items():
        if key != "past" and not isinstance(value, str):
            raise ValueError(f"{name}: its {key} is {value!r} and no text")
    if entry.verdict not in VERDICTS:
        raise ValueError(f"{name}: its verdict {entry.verdict!r} is none of {', '.join(VERDICTS)}")
    if entry.kind not in KINDS:
        raise ValueError(f"{name}: its kind {entry.kind!r} is none of {', '.join(KINDS)}")
    return entry


def _past(table: dict[str, Any]) -> list[tuple[float, float | None, int]]:
    """Return the distances in a table of a file; raises ValueError where one is not sound."""
    rows = table.get("past", [])
    if not isinstance(rows, list) or not all(map(_is_distance, rows)):
        name = table.get("claim", "an entry")
        raise ValueError(f"{name}: its past is no list of [mean, spread, seeds] or [mean, seeds]")
    return [(row[0], row[1] if len(row) == 3 else None, row[-1]) for row in rows]


def _is_distance(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) in (2, 3)
        and all(isinstance(number, int | float) and math.isfinite(number) for number in row)
        and (len(row) == 2 or row[1] >= 0)
        and isinstance(row[-1], int)
        and row[-1] >= 2
    )


def _encoded(entry: Entry) -> bytes:
    usual = {"kind": "source", "machine": "", "past": []}
    past = [[part for part in each if part is not None] for each in entry.past]
    lines = [
        f"{name} = {_quoted(value)}"
        for name, value in {**vars(entry), "past": past}.items()
        if name not in usual or value != usual[name]
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
