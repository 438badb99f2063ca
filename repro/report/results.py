"""The results of a session: one typed document, which every report of it is made of.

The terminal's end (`terminal`), the page (`page`), the summary for a pull request (`pull_request`)
and the files of data (`data_files`) show what this says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from repro.judge import SUITE_LEVEL, Outcome, false_shares, holm
from repro.ledger import Change
from repro.report.figure import FigureData
from repro.report.record import ArmData, ClaimRecord, JudgedClaim
from repro.report.session import SessionData
from repro.text import counted

CHANGES = (Change.WORSE, Change.OTHER, Change.BETTER)
"""The changes to another verdict, what needs attention first."""


@dataclass(frozen=True)
class Failure:
    """A claim that pytest counts as failed: its verdict, and the command that judges it alone."""

    verdict: str
    """The verdict, or error where it ended in none."""
    command: str
    said: str = ""
    """The traceback of an error, with what training had printed; empty for a verdict."""


@dataclass(frozen=True, kw_only=True)
class ResultsDocument:
    """All results of a session, the content of `results.json`."""

    format: Literal[3] = 3
    """The number of this format; it changes when fields of it do."""
    claims: list[ClaimRecord]
    arms: dict[str, ArmData]
    """Every arm that was trained, by the name that claims give in `arms`."""
    figures: list[FigureData]
    standing: str = ""
    """The sentence on how many settled verdicts stand when all are counted together."""
    evidence: list[str] = field(default_factory=list)
    """Sentences on the files that the claims were judged from, where they were not judged from
    what was trained or stored: the origin of the runs, and what has changed since."""
    failures: list[Failure] = field(default_factory=list)
    """The claims that pytest counts as failed."""
    session: SessionData = field(default_factory=SessionData)

    @property
    def changed(self) -> list[ClaimRecord]:
        """The claims that the ledger has with another verdict, what needs attention first."""
        changed = [record for record in self.claims if record.change_kind in CHANGES]
        return sorted(changed, key=lambda record: CHANGES.index(record.change_kind))

    @property
    def new(self) -> list[ClaimRecord]:
        """The claims with a verdict that the ledger does not have."""
        return [record for record in self.claims if record.change_kind is Change.NEW]

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The reasons why claims were not run, each with its number, the most frequent first."""
        not_run = [record.text for record in self.claims if record.verdict is Outcome.NOT_RUN]
        return Counter(not_run).most_common()


def results_of(
    judged: Sequence[JudgedClaim],
    figures: Sequence[FigureData],
    *,
    evidence: Sequence[str] = (),
    family_wise: bool = False,
) -> ResultsDocument:
    """Return the claims of a session as one document, sorted, and counted over the whole suite.

    `family_wise` bounds the chance of any false verdict among those that stand, not their share. An
    arm that several claims share is in it once, with the most seeds that one of them used.
    """
    arms: dict[str, ArmData] = {}
    for name, arm in ((name, arm) for claim in judged for name, arm in claim.arms.items()):
        if name not in arms or len(arm.seeds) > len(arms[name].seeds):
            arms[name] = arm
    records = sorted((claim.record for claim in judged), key=lambda record: record.claim)
    records = adjusted(records, family_wise=family_wise)
    return ResultsDocument(
        claims=records,
        arms=arms,
        figures=list(figures),
        standing=standing(records, family_wise=family_wise),
        evidence=list(evidence),
    )


def adjusted(records: Sequence[ClaimRecord], *, family_wise: bool = False) -> list[ClaimRecord]:
    """Return the records with `p_over_the_suite` and `stands` set where a claim has a p.

    Each claim is judged at its own level, so that of many a few may come out false by chance. The
    two rules that say which ones stand are those of `repro.judge.suite`.
    """
    rule = holm if family_wise else false_shares
    levels = iter(rule([record.p for record in records if record.p is not None]))
    return [record if record.p is None else _placed(record, next(levels)) for record in records]


def _placed(record: ClaimRecord, level: float) -> ClaimRecord:
    stands = record.is_settled and level <= SUITE_LEVEL
    return replace(record, p_over_the_suite=level, stands=stands)


def standing(records: Sequence[ClaimRecord], *, family_wise: bool = False) -> str:
    """Say how many settled verdicts of adjusted records stand; empty where none can.

    >>> standing(adjusted(records))  # doctest: +SKIP
    "180 of 196 settled verdicts stand: of those, 5% are false at most, on average"
    """
    settled = [record for record in records if record.is_settled and record.stands is not None]
    stand = sum(bool(record.stands) for record in settled)
    if not settled:
        return ""
    promise = (
        f"the chance that any of those is false is {SUITE_LEVEL:.0%} at most"
        if family_wise
        else f"of those, {SUITE_LEVEL:.0%} are false at most, on average"
    )
    verdicts = counted(len(settled), "settled verdict")
    line = f"{stand} of {verdicts} {'stands' if len(settled) == 1 else 'stand'}: {promise}"
    return line if stand == len(settled) else f"{line}; the others are marked *"
