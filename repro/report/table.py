"""The table of verdicts at the end of a session, readable at 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from repro.document import ANY_PROFILE
from repro.judge import Outcome
from repro.report.counts import ONE
from repro.report.record import ClaimRecord
from repro.report.settled import Change, agreeing
from repro.report.suite import SETTLED
from repro.text import shown

WIDTH = 79


def verdict_table(records: Sequence[ClaimRecord]) -> list[tuple[str, Outcome | None]]:
    """Return the lines of the table, the first line of a claim with its verdict.

    Statements of documents that hold, of which there are hundreds, are only counted.
    """
    lines: list[tuple[str, Outcome | None]] = []
    told = [record for record in records if not _is_only_counted(record)]
    if len(told) < len(records):
        agree = agreeing(len(records) - len(told))
        lines.append((f"{'REPRODUCED':13}{agree}", Outcome.REPRODUCED))
    for record in told:
        verdict = record.verdict
        change = f"  ({shown(record.change)})" if record.change else ""
        fallen = record.stands is False and verdict in SETTLED
        claim = f"{shown(record.claim)}{' *' * fallen}"
        lines.append((f"{verdict.upper():13}{claim}{change}", verdict))
        whose = f"{ONE[record.kind]}: " if record.kind != "source" else ""
        details = [f"{whose}“{shown(record.sentence)}”"]
        if record.documented:
            details.append(f"documented: {shown(record.documented)}")
        if record.measured:
            details.append(f"measured ({shown(record.data)}): {shown(record.measured)}")
        if record.opposed:
            details.append(f"but at another size the opposite: {shown(record.opposed)}")
        if verdict is Outcome.NOT_RUN:
            details.append(shown(record.text))
        for detail in details:
            wrapped = textwrap.wrap(detail, WIDTH - 13, subsequent_indent="  ")
            lines += [(" " * 13 + line, None) for line in wrapped]
    return lines


def _is_only_counted(record: ClaimRecord) -> bool:
    holds = record.verdict is Outcome.REPRODUCED
    return holds and record.profile == ANY_PROFILE and record.change_kind is Change.NONE
