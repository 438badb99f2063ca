"""The summary of a session as Markdown for a pull request; the terminal shows the same text.

It is small enough for a CI step or a comment. Its lines are indented code: GitHub makes no markup,
mention or link of them, and no text can end such a block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repro.judge import Outcome
from repro.report.record import ClaimRecord
from repro.report.results import ResultsDocument
from repro.report.terminal import ending, verdict_table
from repro.text import shown

LIMIT = 20_000
"""The most bytes: GitHub allows a mebibyte for a step, and 65,536 characters for a comment."""

MOST_ROWS = (40, 20, 10, 5, 2, 0)
"""The numbers of rows of a list to try, until the summary fits. The report has all rows."""

MOST_REMARKS, LONGEST, HEIGHT = 5, 200, 100
"""The most remarks, characters of a remark, and lines; the table of counts shrinks to fit."""


def summary(results: ResultsDocument) -> str:
    """Return failures, changes and counts; new and refuted claims are folded.

    >>> summary(results).splitlines()[0]
    '## Claims'
    """
    texts = (_summary(results, most) for most in MOST_ROWS)
    return next(text for text in texts if len(text.encode()) <= LIMIT)


def _summary(results: ResultsDocument, most: int) -> str:
    remarks = [shown(line, most=LONGEST) for line in (results.errors, *results.evidence) if line]
    parts = ["## Claims"]
    if not results.claims:
        parts.append("No claim was run.")
    elif not results.changed and not results.new:
        parts.append("Nothing changed against the ledger.")
    lines = [line for line, _ in ending(results, most=most, height=HEIGHT)]
    parts.append(_code([*lines, "", *remarks[:MOST_REMARKS]]))
    refuted = [record for record in results.claims if record.verdict is Outcome.REFUTED]
    parts.append(_folded("Not in the ledger yet", results.new, most))
    parts.append(_folded("Refuted", refuted, most))
    return "\n\n".join(filter(None, parts)) + "\n"


def _folded(title: str, records: Sequence[ClaimRecord], most: int) -> str:
    """Return claims with their sentences and measurements, folded below their number."""
    if not records:
        return ""
    lines = [line for line, _ in verdict_table(records[:most])]
    if len(records) > most:
        lines.append(f"and {len(records) - most} more, in the report")
    return f"<details><summary>{title}: {len(records)}</summary>\n\n{_code(lines)}\n\n</details>"


def _code(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}".rstrip() for line in lines).strip("\n")
