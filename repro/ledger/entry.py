"""One entry of a ledger: the last accepted verdict of a claim, and its text in the file."""

from __future__ import annotations

import codecs
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from repro.data.files import TWIN
from repro.runs.profiles import ANY_PROFILE, RECORDED
from repro.text import HIDDEN

VERDICTS = ("reproduced", "refuted", "inconclusive")
"""The verdicts that can be accepted; a claim that was not run has none."""

Kind: TypeAlias = Literal["source", "repository", "question", "control"]
"""A claim of the source, or of its repository alone, a question or a control of ours."""

KINDS: tuple[Kind, ...] = get_args(Kind)


class Change(StrEnum):
    """The difference between a claim's verdict and the one in its ledger."""

    NONE = ""
    """The verdict is the same, or the claim was not run."""
    NEW = "new"
    """The ledger has no entry."""
    WORSE = "worse"
    """The claim was reproduced, and is not any more."""
    OTHER = "other"
    """The claim has changed between `refuted` and `inconclusive`."""
    BETTER = "better"
    """The claim was not reproduced, and is now."""
    SMALLER = "smaller"
    """The claim is still reproduced, but with a smaller effect."""
    OPEN = "open"
    """The claim was reproduced and is now open, but its effect is no smaller."""
    SHORT = "short of seeds"
    """As `OPEN`, because of a seed budget: the ledger's entry stays."""
    UNLIKE = "unlike"
    """The verdict is the same, but it is about other arms, or fewer recorded seeds."""


_LISTS = ("arms", "past", "looks", "one_look", "over_stored", "levels")
_YEAR = re.compile(r"(19|20)\d\d[a-z]?")


def short_source(source: str) -> str:
    """Return the name of a source: its text up to the first comma, or up to its year.

    >>> short_source("004, Results"), short_source("Smith et al., 2023, Table 2")
    ('004', 'Smith et al., 2023')
    """
    name, *places = (part.strip() for part in source.split(","))
    years = itertools.takewhile(_YEAR.fullmatch, places)
    return ", ".join([name, *years])


class LedgerError(Exception):
    """A ledger cannot be read or written; the message says which and what to do."""


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
    reason: str = ""
    """Why no number of seeds would settle an inconclusive claim, if none would."""
    machine: str = ""
    """Device, processor, torch and engine of the runs of a reproduced claim."""
    arms: Sequence[str] = ()
    """The labels of the arms that a reproduced claim compares."""
    past: Sequence[tuple[float, float, int]] = ()
    """The distance past its bound of each comparison of a reproduced claim: mean, spread, seeds."""
    looks: Sequence[int] = ()
    """The looks that the claim itself declares; empty for those of its profile."""
    level: float = 0.0
    """The allowed chance of a false verdict in one direction; 0 stands for 0.005."""
    one_look: Sequence[int] = ()
    """The seeds of each side, if the claim is open after one look at its whole level."""
    effect_size: str = ""
    """The second word of the verdict: the effect beside the documented one."""
    over_stored: Sequence[float] = ()
    """The deciding estimate over all stored seeds, and their number, if the verdict has fewer."""
    levels: Sequence[tuple[str, str, float, float, int]] = ()
    """Arm, metric, mean, standard deviation and seeds, for the arms of a reproduced claim."""

    @property
    def place(self) -> tuple[str, str, str]:
        """The key of the entry; no two entries of a ledger share it."""
        return self.claim, self.profile, self.data

    def is_judged_at(self, profile: str) -> bool:
        """Return whether a session with this profile judges the claim."""
        return self.profile in (profile, ANY_PROFILE, RECORDED)

    def is_about_other_data(self, data: str, profile: str) -> bool:
        """Return whether the claim is reproduced, but on other data than it uses now.

        A twin stands for its data set. An entry of another profile does not count.
        """
        then, now = ({x.removesuffix(TWIN) for x in each.split(", ")} for each in (self.data, data))
        return self.verdict == "reproduced" and self.is_judged_at(profile) and then != now


_HEAD = """\
# The verdicts that were last accepted, one entry a claim, profile and data set.
# Written by `pytest claims --update-ledger`; a change here is a change of what is known.
"""


@lru_cache(maxsize=64)  # a session reads a ledger several times
def entries_in(content: bytes) -> tuple[Entry, ...]:
    """Return the entries in the text of a ledger; raises ValueError where one is bad.

    >>> entries_in(b"")
    ()
    """
    if content.startswith(codecs.BOM_UTF8):
        raise ValueError("it begins with a byte order mark: save it as UTF-8 without one")
    try:
        return tuple(_sound(tomllib.loads(content.decode())))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except OverflowError as error:
        raise ValueError(f"it has a number that is too large: {error}") from None


def _sound(tables: dict[str, Any]) -> Iterable[Entry]:
    if unknown := tables.keys() - {"claim"}:
        raise ValueError(f"it has {sorted(unknown)[0]!r} where only [[claim]] tables belong")
    entries: dict[tuple[str, str, str], Entry] = {}
    for table in _listed(tables.get("claim", [])):
        entry = _entry(table)
        if entry.place in entries:
            raise ValueError(f"{entry.claim} has two entries at {entry.profile} on {entry.data}")
        entries[entry.place] = entry
    return entries.values()


def text_of(entries: Iterable[Entry]) -> bytes:
    """Return the text of entries, sorted; raises LedgerError where one cannot be written.

    >>> text_of([])[:13]
    b'# The verdict'
    """
    blocks = map(_encoded, sorted(entries, key=lambda entry: entry.place))
    return _HEAD.encode() + b"".join(blocks)


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
        if key not in (*_LISTS, "level") and not isinstance(value, str):
            raise ValueError(f"{name}: its {key} is {value!r} and no text")
    if not isinstance(entry.level, int | float) or not 0 <= entry.level < 1:
        raise ValueError(f"{name}: its level is {entry.level!r} and no chance")
    for key in ("looks", "one_look"):
        seeds = getattr(entry, key)
        if not isinstance(seeds, list | tuple) or not all(map(_is_count, seeds)):
            raise ValueError(f"{name}: its {key} is no list of numbers of seeds")
    if not isinstance(entry.arms, list | tuple) or not all(isinstance(x, str) for x in entry.arms):
        raise ValueError(f"{name}: its arms are no list of labels")
    over = entry.over_stored
    if not isinstance(over, list | tuple) or (over and not _is_distance([over[0], 0.0, *over[1:]])):
        raise ValueError(f"{name}: its over_stored is no [estimate, seeds]")
    if not isinstance(entry.levels, list | tuple) or not all(map(_is_level, entry.levels)):
        raise ValueError(f"{name}: its levels are no list of [arm, metric, mean, sd, seeds]")
    if entry.verdict not in VERDICTS:
        raise ValueError(f"{name}: its verdict {entry.verdict!r} is none of {', '.join(VERDICTS)}")
    if entry.kind not in KINDS:
        raise ValueError(f"{name}: its kind {entry.kind!r} is none of {', '.join(KINDS)}")
    return entry


def _past(table: dict[str, Any]) -> list[tuple[float, float, int]]:
    """Return the distances in an entry's table; raises ValueError where one is bad."""
    rows = table.get("past", [])
    if not isinstance(rows, list) or not all(map(_is_distance, rows)):
        name = table.get("claim", "an entry")
        raise ValueError(f"{name}: its past is no list of [mean, spread, seeds]")
    return [tuple(row) for row in rows]


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _is_distance(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 3
        and all(isinstance(number, int | float) and math.isfinite(number) for number in row)
        and row[1] >= 0
        and isinstance(row[2], int)
        and row[2] >= 2
    )


def _is_level(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 5
        and all(isinstance(text, str) for text in row[:2])
        and _is_distance(row[2:])
    )


def _encoded(entry: Entry) -> bytes:
    lists: dict[str, Any] = {name: list(getattr(entry, name)) for name in _LISTS}
    lists["past"] = [list(each) for each in entry.past]
    usual = {
        "kind": "source",
        "reason": "",
        "machine": "",
        "level": 0.0,
        "effect_size": "",
        **{name: [] for name in _LISTS},
    }
    lines = [
        f"{name} = {_quoted(value)}"
        for name, value in {**vars(entry), **lists}.items()
        if name not in usual or value != usual[name]
    ]
    said = _quoted(" ".join(entry.place))[1:-1]
    try:
        return "\n".join([f"\n[[claim]]  # {said}", *lines, ""]).encode()
    except UnicodeEncodeError as error:
        raise LedgerError(
            f"The ledger cannot hold the half character {error.object[error.start]!a} that is"
            f" in the entry of {entry.claim!a}; remove it from the claim."
        ) from error


def _quoted(value: Any) -> str:
    return HIDDEN.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(hidden: re.Match[str]) -> str:
    """Return a hidden character as an escape of TOML; a lone surrogate has none and stays."""
    code = ord(hidden[0])
    if 0xD800 <= code <= 0xDFFF:
        return hidden[0]
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
