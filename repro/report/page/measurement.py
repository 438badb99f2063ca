"""The deciding comparison of a claim, in the unit of what is documented."""

from __future__ import annotations

from dataclasses import dataclass

from repro.report.record import ClaimRecord, deciding_effect
from repro.report.values import is_in_percent

_KINDS = {"difference": "difference", "spread": "spread", "share": "share", "run": "one run"}


@dataclass(frozen=True)
class Measurement:
    """The deciding comparison of a claim, for a table."""

    label: str
    unit: str
    estimate: float
    interval: tuple[float, float] | None
    word: str
    """Its kind, in a word."""
    in_percent: bool


def measurement_of(record: ClaimRecord) -> Measurement | None:
    """Return the deciding comparison of a claim; None where none was judged."""
    decided = deciding_effect(record)
    if decided is None:
        return None
    finding, effect = decided
    if effect.estimate is None:
        return None
    low, high = effect.low, effect.high
    in_percent = effect.kind in ("difference", "run") and is_in_percent(record, finding)
    in_percent = in_percent and effect.unit != "ratio"
    factor = 100 if in_percent else 1
    interval = (factor * low, factor * high) if low is not None and high is not None else None
    return Measurement(
        label=effect.label,
        unit=effect.unit.replace("_", " "),
        estimate=factor * effect.estimate,
        interval=None if effect.exact else interval,
        word="ratio" if effect.unit == "ratio" else _KINDS[effect.kind],
        in_percent=in_percent,
    )
