"""One entry of a ledger: the verdict of a claim that was last accepted, and what it rests on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

VERDICTS = ("reproduced", "refuted", "inconclusive")
"""The verdicts that can be accepted; a claim that was not run has none."""

Kind: TypeAlias = Literal["source", "question", "control"]
"""Whose a claim is: what its source claims, a question of ours about it, or a control of ours."""

KINDS: tuple[Kind, ...] = get_args(Kind)

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
