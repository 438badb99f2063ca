"""A short summary in Markdown, for a pull request: what changed, and what is refuted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from repro.judge import Outcome
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
        parts.append(_text(f"{line}."))
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
    was = record.accepted or "new"
    return [_code(record.claim), was, record.verdict, _text(record.measured)]


def _finding_row(record: ClaimRecord) -> list[str]:
    parts = (record.sentence, record.documented, record.measured)
    return [_code(record.claim), *map(_text, parts)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows[:MOST_ROWS]]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    left = len(rows) - MOST_ROWS
    return f"{table}\n\nand {left} more, in the report." if left > 0 else table


def _text(text: str) -> str:
    """Return Markdown that shows exactly this text on one line.

    >>> print(_text("a | <b> & *c*"))
    a \\| &lt;b> &amp; \\*c\\*
    """
    one_line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"([\\`*_\[\]|#~!])", r"\\\1", one_line)
    return escaped.replace("@", "@\u200b")  # so that it calls nobody


def _code(text: str) -> str:
    """Return the text as Markdown code, which nothing in it can end.

    >>> print(_code("a`b|c"))
    `a'b\\|c`
    """
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", "\\|") + "`"
