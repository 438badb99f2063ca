"""The results of a session: one typed document, which every report of it is made of.

The terminal's end (`terminal`), the page (`page`), the summary for a pull request (`pull_request`)
and the files of data (`data_files`) show what this says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from repro.judge import Outcome
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
    errors: str = ""
    """The sentence on how many settled verdicts are false at most."""
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
) -> ResultsDocument:
    """Return the claims of a session as one document, sorted.

    An arm that several claims share is in it once, with the most seeds that one of them used.
    """
    arms: dict[str, ArmData] = {}
    for name, arm in ((name, arm) for claim in judged for name, arm in claim.arms.items()):
        if name not in arms or len(arm.seeds) > len(arms[name].seeds):
            arms[name] = arm
    records = sorted((claim.record for claim in judged), key=lambda record: record.claim)
    return ResultsDocument(
        claims=records,
        arms=arms,
        figures=list(figures),
        errors=errors(records),
        evidence=list(evidence),
    )


def errors(records: Sequence[ClaimRecord]) -> str:
    """Say how many of the settled verdicts are false at most; empty where none is settled.

    Each claim may be falsely settled with the chance of its level, so on average no more are than
    the levels of all that were judged add up to, however the claims depend on each other. What is
    exact is read off, and has no level.

    >>> errors(records)  # doctest: +SKIP
    "329 verdicts on random quantities are settled: on average at most 5.3 of them are false"
    """
    random = [record for record in records if record.level]
    settled = sum(record.is_settled for record in random)
    if not settled:
        return ""
    verdicts = f"{counted(settled, 'verdict')} on random quantities"
    most = min(float(settled), sum(record.level for record in random))
    are = "is" if settled == 1 else "are"
    return f"{verdicts} {are} settled: on average at most {most:.2g} of them {are} false"
