"""The table of verdicts at the end of a session, readable at 80 columns."""

from __future__ import annotations

import textwrap

from repro.document import ANY_PROFILE
from repro.report.record import Record
from repro.report.suite import SETTLED

WIDTH = 79


def verdict_table(records: list[Record]) -> list[tuple[str, str]]:
    """Lines, each with the verdict it belongs to.

    What a document says of itself is only shown where it does not hold: there are hundreds of it.
    """
    lines: list[tuple[str, str]] = []
    shown = [record for record in records if not _goes_without_saying(record)]
    if len(shown) < len(records):
        agree = f"{len(records) - len(shown)} statements of documents that agree with themselves"
        lines.append((f"{'REPRODUCED':13}{agree}", "reproduced"))
    for record in shown:
        verdict = record["verdict"]
        change = f"  ({record['change']})" if record["change"] else ""
        fallen = record.get("stands") is False and verdict in SETTLED
        lines.append((f"{verdict.upper():13}{record['claim']}{' *' * fallen}{change}", verdict))
        details = [f"“{record['sentence']}”"]
        if record["documented"]:
            details.append(f"documented: {record['documented']}")
        if record["measured"]:
            details.append(f"measured ({record['data']}): {record['measured']}")
        if verdict == "not run":
            details.append(record["text"])
        for detail in details:
            wrapped = textwrap.wrap(detail, WIDTH - 13, subsequent_indent="  ")
            lines += [(" " * 13 + line, "") for line in wrapped]
    return lines


def _goes_without_saying(record: Record) -> bool:
    return (record["profile"], record["verdict"], record["change"]) == (
        ANY_PROFILE,
        "reproduced",
        "",
    )
