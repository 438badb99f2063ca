"""Verdicts that stand when all claims of a session are counted together.

Each claim is judged at its own level, so that of many claims one may come out false by chance;
Holm's correction bounds the chance of any false verdict in the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from repro.judge import SUITE_LEVEL, Outcome, holm
from repro.report.record import ClaimRecord

SETTLED = (Outcome.REPRODUCED, Outcome.REFUTED)


def adjusted(records: Sequence[ClaimRecord]) -> list[ClaimRecord]:
    """Return the records with `p_over_the_suite` and `stands` set where a claim has a p."""
    levels = iter(holm([record.p for record in records if record.p is not None]))
    return [record if record.p is None else _placed(record, next(levels)) for record in records]


def _placed(record: ClaimRecord, level: float) -> ClaimRecord:
    stands = record.verdict in SETTLED and level <= SUITE_LEVEL
    return replace(record, p_over_the_suite=level, stands=stands)


def over_the_suite(records: Sequence[ClaimRecord]) -> str:
    """Say how many settled verdicts of adjusted records stand; empty where none can."""
    settled = [r for r in records if r.verdict in SETTLED and r.stands is not None]
    standing = sum(bool(record.stands) for record in settled)
    if not settled:
        return ""
    line = (
        f"over the whole suite (Holm, {SUITE_LEVEL:.0%}) {standing} of {len(settled)} settled"
        " verdicts stand"
    )
    return line if standing == len(settled) else f"{line}; the others are marked *"
