"""Which verdicts of a session stand when all of its claims are counted together."""

from __future__ import annotations

from repro.judge.suite import SUITE_LEVEL, holm
from repro.report.record import Record

SETTLED = ("reproduced", "refuted")


def adjust(records: list[Record]) -> str:
    """Set `p_over_the_suite` and `stands` of every judged record; says how many verdicts stand.

    >>> one = {"claim": "a", "verdict": "refuted", "p": 0.04}
    >>> other = {"claim": "b", "verdict": "inconclusive", "p": 1.0}
    >>> adjust([one, other])
    'over the whole suite (Holm, 5%) 0 of 1 settled verdicts stand; the others are marked *'
    """
    family = [record for record in records if record["p"] is not None]
    for record, adjusted in zip(family, holm([r["p"] for r in family]), strict=True):
        record["p_over_the_suite"] = adjusted
        record["stands"] = record["verdict"] in SETTLED and adjusted <= SUITE_LEVEL
    settled = [record for record in family if record["verdict"] in SETTLED]
    standing = sum(record["stands"] for record in settled)
    if not settled:
        return ""
    line = (
        f"over the whole suite (Holm, {SUITE_LEVEL:.0%}) {standing} of {len(settled)} settled"
        " verdicts stand"
    )
    return line if standing == len(settled) else f"{line}; the others are marked *"
