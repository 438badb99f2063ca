"""Claims counted: by verdict, by whose they are, and by source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from repro.judge import Outcome
from repro.ledger import KINDS, Kind
from repro.report.record import ClaimRecord
from repro.text import shown

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


def verdicts_of(records: Sequence[ClaimRecord]) -> dict[Outcome, int]:
    """Return how often each verdict was reached, in the order of `Outcome`."""
    counts = Counter(record.verdict for record in records)
    return {verdict: counts[verdict] for verdict in Outcome}


def count_lines(records: Sequence[ClaimRecord]) -> list[str]:
    """Return the counts as lines; a session of nothing but sources' claims needs no words for it.

    >>> count_lines(results.claims)
    ["the sources' claims: 2 reproduced, 1 refuted", 'our controls: 1 reproduced']
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
