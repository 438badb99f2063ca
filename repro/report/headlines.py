"""The sentences that a README and a report show first, from `headlines.toml` beside the claims.

Each row is one verdict in words that a stranger understands. It is that of the session, or else
that of the ledger.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from repro.ledger import VERDICTS as ACCEPTED
from repro.ledger import Entry, LedgerError, entries_at
from repro.report.records import ClaimRecord

NAME = "headlines.toml"


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One row: a sentence at one size on some data, and its verdict."""

    sentence: str
    """What the source says; empty in a further row about the sentence above."""
    setting: str
    """The experiment: its size, its data, and what decides."""
    says: str
    """The numbers of the source."""
    compared: str
    """What the measured numbers are."""
    claim: str
    profile: str
    data: str
    verdict: str = "not judged"
    effect_size: str = ""
    """The second word."""
    measured: str = ""
    """The deciding effect, its interval and seeds, and the estimate over all stored seeds."""
    documented: str = ""
    """The documented effect."""
    is_judged: bool = False
    """True where the verdict is that of the session."""


def read_headlines(folder: Path) -> list[Headline]:
    """Return the rows that a folder of claims lists, without verdicts; raises LedgerError."""
    path = folder / NAME
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["row"]
        return [Headline(**row) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LedgerError(
            f"{path} cannot be read ({error}); list each row as [[row]], with sentence, setting,"
            " says, compared, claim, profile and data."
        ) from error


def judged(folders: Iterable[Path], records: Iterable[ClaimRecord] = ()) -> list[Headline]:
    """Return the rows of folders of claims with their verdicts."""
    now = {
        (each.claim, each.profile, each.data): each for each in records if each.verdict in ACCEPTED
    }
    found: list[Headline] = []
    for folder in folders:
        rows = read_headlines(folder)
        known = {entry.place: entry for entry in entries_at(folder / "ledger")} if rows else {}
        for row in rows:
            place = (row.claim, row.profile, row.data)
            of_it = now.get(place) or known.get(place)
            found.append(_with_verdict(row, of_it, is_judged=place in now) if of_it else row)
    return found


def _with_verdict(row: Headline, of_it: ClaimRecord | Entry, *, is_judged: bool) -> Headline:
    numbers, _, beside = of_it.measured.rpartition(" = ")[2].partition("; ")
    documented = re.search(r"\((?:documented: )?([^)]+)\)", beside) if of_it.effect_size else None
    if of_it.over_stored:
        estimate, seeds = of_it.over_stored
        numbers += f"; {estimate:.3g} over all {seeds}"
    return replace(
        row,
        verdict=str(of_it.verdict),
        effect_size=str(of_it.effect_size),
        measured=numbers,
        documented=documented[1] if documented else "",
        is_judged=is_judged,
    )
