"""The results of a session: one typed document, which every report of it is made of, and counts.

The terminal's end (`terminal`), the page (`page`), the summary for a pull request (`markdown`)
and the files of data (`write`) show what this says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from repro.judge import Outcome
from repro.ledger import KINDS, Change, Kind
from repro.report.record import ArmData, ClaimRecord, FigureData, JudgedClaim, Reason
from repro.report.session import SessionData
from repro.text import counted, shown

CHANGES = (Change.WORSE, Change.OPEN, Change.OTHER, Change.BETTER)
"""The changes to another verdict, what needs attention first."""

ONE: dict[Kind, str] = {
    "source": "a claim of the source",
    "question": "a question of ours",
    "control": "a control of ours",
}
MANY: dict[Kind, str] = {
    "source": "the sources' claims",
    "question": "our questions",
    "control": "our controls",
}


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

    format: Literal[4] = 4
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

    @property
    def beyond(self) -> list[tuple[Reason, int]]:
        """The reasons why claims stay inconclusive whatever is trained, each with its number."""
        open_ = (record for record in self.claims if record.verdict is Outcome.INCONCLUSIVE)
        return Counter(record.reason for record in open_ if record.reason).most_common()


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

    >>> errors(results.claims)
    '6 verdicts on random quantities are settled: on average at most 0.07 of them are false'
    """
    random = [record for record in records if record.level]
    settled = sum(record.is_settled for record in random)
    if not settled:
        return ""
    verdicts = f"{counted(settled, 'verdict')} on random quantities"
    most = min(float(settled), sum(record.level for record in random))
    are = "is" if settled == 1 else "are"
    return f"{verdicts} {are} settled: on average at most {most:.2g} of them {are} false"


def verdicts_of(records: Sequence[ClaimRecord]) -> dict[Outcome, int]:
    """Return how often each verdict was reached, in the order of `Outcome`."""
    counts = Counter(record.verdict for record in records)
    return {verdict: counts[verdict] for verdict in Outcome}


def count_lines(records: Sequence[ClaimRecord]) -> list[str]:
    """Return the counts as lines; a session of nothing but sources' claims needs no words for it.

    >>> count_lines(results.claims)[1]
    'our controls: 1 reproduced'
    """
    by_kind = {kind: Counter(r.verdict for r in records if r.kind == kind) for kind in KINDS}
    said = {
        kind: ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
        for kind, counts in by_kind.items()
        if counts
    }
    return [
        words if list(said) == ["source"] else f"{MANY[k]}: {words}" for k, words in said.items()
    ]


def groups_of(records: Sequence[ClaimRecord]) -> list[tuple[str, list[ClaimRecord]]]:
    """Return the claims of each source, and our own questions and controls, with their names."""
    groups: dict[str, list[ClaimRecord]] = {}
    for record in sorted(records, key=lambda r: (KINDS.index(r.kind), r.claim)):
        source = shown(record.claim.partition("/")[0], most=12)
        name = source if record.kind == "source" else MANY[record.kind]
        groups.setdefault(name, []).append(record)
    return list(groups.items())
