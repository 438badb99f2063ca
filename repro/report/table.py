"""The table of verdicts at the end of a session, readable at 80 columns."""

from __future__ import annotations

import textwrap
from typing import Any

WIDTH = 79


def verdict_table(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Lines, each with the verdict it belongs to."""
    lines: list[tuple[str, str]] = []
    for record in records:
        verdict = record["verdict"]
        change = f"  ({record['change']})" if record["change"] else ""
        lines.append((f"{verdict.upper():13}{record['claim']}{change}", verdict))
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
