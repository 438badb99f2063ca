"""One entry of a ledger: the last accepted verdict of a claim, and its text in the file."""

from __future__ import annotations

import codecs
import itertools
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
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
    listed = tables.get("claim", [])
    if not isinstance(listed, list) or not all(isinstance(table, dict) for table in listed):
        raise ValueError("it has [claim] where [[claim]] belongs")
    entries: dict[tuple[str, str, str], Entry] = {}
    for table in listed:
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


def _entry(table: dict[str, Any]) -> Entry:
    name = table.get("claim", "an entry")
    try:
        entry = Entry(**table)
    except TypeError as error:
        raise ValueError(f"{name}: {str(error).removeprefix('Entry.__init__() ')}") from None
    for key, value in vars(entry).items():
        if key in _LISTS:
            is_part, words = _LISTS[key]
            if not isinstance(value, list | tuple) or not all(map(is_part, value)):
                raise ValueError(f"{name}: its {key} {words}")
        elif key not in ("level", "over_stored") and not isinstance(value, str):
            raise ValueError(f"{name}: its {key} is {value!r} and no text")
    if not isinstance(entry.level, int | float) or not 0 <= entry.level < 1:
        raise ValueError(f"{name}: its level is {entry.level!r} and no chance")
    over = entry.over_stored
    if not isinstance(over, list | tuple) or (over and not _is_distance([over[0], 0.0, *over[1:]])):
        raise ValueError(f"{name}: its over_stored is no [estimate, seeds]")
    if entry.verdict not in VERDICTS:
        raise ValueError(f"{name}: its verdict {entry.verdict!r} is none of {', '.join(VERDICTS)}")
    if entry.kind not in KINDS:
        raise ValueError(f"{name}: its kind {entry.kind!r} is none of {', '.join(KINDS)}")
    past = [(mean, spread, seeds) for mean, spread, seeds in entry.past]
    return replace(entry, past=past) if past else entry


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


_LISTS: dict[str, tuple[Callable[[object], bool], str]] = {
    "arms": (lambda part: isinstance(part, str), "are no list of labels"),
    "past": (_is_distance, "is no list of [mean, spread, seeds]"),
    "looks": (_is_count, "is no list of numbers of seeds"),
    "one_look": (_is_count, "is no list of numbers of seeds"),
    "levels": (_is_level, "are no list of [arm, metric, mean, sd, seeds]"),
}
"""The fields with lists: what tells a sound part, and what is said of any other."""


def _encoded(entry: Entry) -> bytes:
    lines = [
        f"{field.name} = {_quoted(value)}"
        for field in fields(Entry)
        if (value := getattr(entry, field.name)) != field.default and value != []
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
