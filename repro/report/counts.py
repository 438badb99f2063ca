"""Verdicts counted, the sources' claims apart from our own questions and controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from repro.judge import Outcome
from repro.ledger import KINDS, Kind
from repro.report.record import ClaimRecord

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


def counts_by_kind(records: Sequence[ClaimRecord]) -> list[tuple[Kind, Counter[Outcome]]]:
    """Return how often each verdict was reached, for every kind of claim that there is."""
    by_kind = {kind: Counter(r.verdict for r in records if r.kind == kind) for kind in KINDS}
    return [(kind, counts) for kind, counts in by_kind.items() if counts]


def count_lines(records: Sequence[ClaimRecord]) -> list[str]:
    """Return the counts as lines; a session of nothing but sources' claims needs no words for it.

    >>> count_lines(results.claims)
    ["the sources' claims: 2 reproduced, 1 refuted", 'our controls: 1 reproduced']
    """
    counted = counts_by_kind(records)
    said = [", ".join(f"{n} {verdict}" for verdict, n in c.most_common()) for _, c in counted]
    if [kind for kind, _ in counted] == ["source"]:
        return said
    return [f"{MANY[kind]}: {words}" for (kind, _), words in zip(counted, said, strict=True)]
