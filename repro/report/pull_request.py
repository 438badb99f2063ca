"""A short summary in Markdown, for a step of CI or a comment: what changed, failed, and counts.

The rest of it is folded, and all of it is small enough for either place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repro.judge import Outcome
from repro.report.counts import count_lines, groups_of, verdicts_of
from repro.report.markdown import as_code, as_text, table_row
from repro.report.record import ClaimRecord
from repro.report.results import Failure, ResultsDocument
from repro.text import shown

LIMIT = 20_000
"""Bytes at most: GitHub takes a mebibyte as a step's summary, 65,536 characters as a comment."""

MOST_ROWS = (40, 20, 10, 5, 2, 0)
"""Rows of a table at most: as many as fit. The rest is in the report."""

MOST_IN_A_CELL = 200
MOST_REMARKS = 5


def summary(results: ResultsDocument) -> str:
    """Return what differs from the ledger, what failed, and counts; folded, what is refuted.

    >>> summary(results).splitlines()[0]
    '## Claims'
    """
    texts = (_summary(results, most) for most in MOST_ROWS[:-1])
    fitting = (text for text in texts if len(text.encode()) <= LIMIT)
    return next(fitting, None) or _summary(results, MOST_ROWS[-1])


def _summary(results: ResultsDocument, most: int) -> str:
    records = results.claims
    refuted = [record for record in records if record.verdict is Outcome.REFUTED]
    counted = "\n".join(f"- {as_text(line)}" for line in count_lines(records))
    parts = [f"## Claims\n\n{counted or 'No claim was run.'}"]
    if results.changed:
        table = _table(_CHANGE, map(_change_row, results.changed), most)
        parts.append("### Changed against the ledger\n\n" + table)
    elif not results.new:
        parts.append("Nothing changed against the ledger.")
    if results.failures:
        head = ("verdict", "judge it alone")
        parts.append("### Failed\n\n" + _table(head, map(_failure_row, results.failures), most))
    if records:
        counts = [
            [as_text(name), *map(str, verdicts_of(group).values())]
            for name, group in groups_of(records)
        ]
        parts.append("### Counts\n\n" + _table(_COUNT, counts, most))
    remarks = [line for line in (results.errors, *results.evidence) if line]
    parts += [_short(f"{line}.") for line in remarks[:MOST_REMARKS]]
    if results.new:
        table = _table(_CHANGE, map(_change_row, results.new), most)
        parts.append(_folded("Not in the ledger yet", len(results.new), table))
    if refuted:
        table = _table(_FINDING, map(_finding_row, refuted), most)
        parts.append(_folded("Refuted", len(refuted), table))
    if reasons := results.reasons:
        table = _table(("claims", "why"), ([str(n), _short(why)] for why, n in reasons), most)
        parts.append(_folded("Not run", sum(count for _, count in reasons), table))
    return "\n\n".join(parts) + "\n"


_COUNT = ("source", *map(str, Outcome))
_CHANGE = ("claim", "was", "is", "measured")
_FINDING = ("claim", "sentence", "documented", "measured")


def _change_row(record: ClaimRecord) -> list[str]:
    was = as_text(record.accepted or "new")
    return [_name(record), was, record.verdict, _short(record.measured)]


def _finding_row(record: ClaimRecord) -> list[str]:
    parts = (record.sentence, record.documented, record.measured)
    return [_name(record), *map(_short, parts)]


def _failure_row(failure: Failure) -> list[str]:
    return [as_text(failure.verdict), as_code(failure.command)]


def _name(record: ClaimRecord) -> str:
    return as_code(_cut(record.claim))


def _short(text: str) -> str:
    return as_text(_cut(text))


def _cut(text: str) -> str:
    seen = shown(text)
    return seen if len(seen) <= MOST_IN_A_CELL else seen[: MOST_IN_A_CELL - 1] + "…"


def _folded(title: str, count: int, content: str) -> str:
    return f"<details><summary>{title}: {count}</summary>\n\n{content}\n\n</details>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], most: int) -> str:
    listed = list(rows)
    left = len(listed) - most
    if most == 0:
        return f"{left} in the report."
    table = "\n".join(map(table_row, [head, ["---"] * len(head), *listed[:most]]))
    return f"{table}\n\nand {left} more, in the report." if left > 0 else table
