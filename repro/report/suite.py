"""Verdicts that stand when all claims of a session are counted together.

Each claim is judged at its own level, so that of many claims a few may come out false by chance.
The two rules that say which ones stand are those of `repro.judge.suite`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from repro.judge import SUITE_LEVEL, Outcome, false_shares, holm
from repro.report.record import ClaimRecord
from repro.text import counted

SETTLED = (Outcome.REPRODUCED, Outcome.REFUTED)


def adjusted(records: Sequence[ClaimRecord], *, family_wise: bool = False) -> list[ClaimRecord]:
    """Return the records with `p_over_the_suite` and `stands` set where a claim has a p."""
    rule = holm if family_wise else false_shares
    levels = iter(rule([record.p for record in records if record.p is not None]))
    return [record if record.p is None else _placed(record, next(levels)) for record in records]


def _placed(record: ClaimRecord, level: float) -> ClaimRecord:
    stands = record.verdict in SETTLED and level <= SUITE_LEVEL
    return replace(record, p_over_the_suite=level, stands=stands)


def over_the_suite(records: Sequence[ClaimRecord], *, family_wise: bool = False) -> str:
    """Say how many settled verdicts of adjusted records stand; empty where none can.

    >>> over_the_suite(adjusted(records))  # doctest: +SKIP
    "180 of 196 settled verdicts stand: of those, 5% are false at most, on average"
    """
    settled = [r for r in records if r.verdict in SETTLED and r.stands is not None]
    standing = sum(bool(record.stands) for record in settled)
    if not settled:
        return ""
    promise = (
        f"the chance that any of those is false is {SUITE_LEVEL:.0%} at most"
        if family_wise
        else f"of those, {SUITE_LEVEL:.0%} are false at most, on average"
    )
    verdicts = counted(len(settled), "settled verdict")
    line = f"{standing} of {verdicts} {'stands' if len(settled) == 1 else 'stand'}: {promise}"
    return line if standing == len(settled) else f"{line}; the others are marked *"
