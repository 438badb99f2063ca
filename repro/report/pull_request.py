"""A short summary in Markdown, for a pull request: what changed, and what is refuted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from repro.judge import Outcome
from repro.report.markdown import as_code, as_text, table_row
from repro.report.record import ClaimRecord
from repro.report.suite import over_the_suite

MOST_ROWS = 40
"""Rows of a table at most; the rest is in the report."""


def summary(records: Sequence[ClaimRecord]) -> str:
    """Return counts, what differs from the ledger, and every claim that is refuted."""
    counts = Counter(record.verdict for record in records)
    counted = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    parts = [f"## Claims\n\n{counted or 'no claim was run'}."]
    if line := over_the_suite(records):
        parts.append(as_text(f"{line}."))
    changed = [record for record in records if record.change]
    if changed:
        parts.append(
            "### Changed against the ledger\n\n"
            + _table(("claim", "was", "is", "measured"), [_change_row(r) for r in changed])
        )
    else:
        parts.append("Nothing changed against the ledger.")
    refuted = [record for record in records if record.verdict is Outcome.REFUTED]
    if refuted:
        parts.append(
            "### Refuted\n\n"
            + _table(
                ("claim", "sentence", "documented", "measured"), [_finding_row(r) for r in refuted]
            )
        )
    return "\n\n".join(parts) + "\n"


def _change_row(record: ClaimRecord) -> list[str]:
    was = as_text(record.accepted or "new")
    return [as_code(record.claim), was, record.verdict, as_text(record.measured)]


def _finding_row(record: ClaimRecord) -> list[str]:
    parts = (record.sentence, record.documented, record.measured)
    return [as_code(record.claim), *map(as_text, parts)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows[:MOST_ROWS]]
    table = "\n".join(map(table_row, lines))
    left = len(rows) - MOST_ROWS
    return f"{table}\n\nand {left} more, in the report." if left > 0 else table
