"""The term that runs have a printed mean or spread: read off, with no test and no error level."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import fmean, pstdev, stdev

import numpy as np

from repro.judge.comparison import ROUNDING, Evidence
from repro.judge.contrast import Contrast, Readings, Sampled, Side, fixed
from repro.judge.effect import Effect

_NUMBER = r"([-−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_PRINT = re.compile(rf"{_NUMBER}(?:\s*(?:±|\+/?-)\s*{_NUMBER})?\s*(%?)")


@dataclass(frozen=True, kw_only=True)
class Printed(Contrast):
    """The term that the first side has the mean, or the spread, that the second is printed as."""

    text: str
    """The number as it is printed."""
    half: float
    """Half of the last digit."""
    is_spread: bool = False

    @property
    def word(self) -> str:
        """Runs, since a print is of these alone."""
        return "runs"

    @property
    def same_spread(self) -> None:
        """None, since no test takes arms to have one spread."""

    def sampled(self, readings: Readings) -> Sampled:
        """Leave out copied runs; runs that are all alike have a mean, too."""
        return replace(super().sampled(readings), is_sample=True)

    def weigh(self, readings: Readings) -> Evidence:
        """Read off whether a number of the runs is the printed one, rounded up, down or to even."""
        values = readings[self.sides[0]]
        printed, slack = readings[self.sides[1]][0], ROUNDING * np.abs(values).max()
        is_it = any(abs(x - printed) <= self.half + slack for x in self._given(values.tolist()))
        return Evidence(
            self.half if is_it else -self.half,
            0.0,
            len(values),
            error=0.0,
            freedom=len(values) - 1,
            p_for=0.0 if is_it else 1.0,
            p_against=1.0 if is_it else 0.0,
        )

    def describe(self, evidence: Evidence, readings: Readings) -> Effect:
        """Describe it by what the runs give."""
        values, printed = readings[self.sides[0]].tolist(), float(readings[self.sides[1]][0])
        given, arm = self._given(values), self.sides[0].label
        place = min(range(len(given)), key=lambda i: abs(given[i] - printed))
        label = f"{'spread' if self.is_spread else 'mean'} of {arm}"
        if self.is_spread and evidence.p_for:
            place, others = 0, (given[1], given[0] / len(values) ** 0.5)
            label += " (over n {:.3g}, of the mean {:.3g})".format(*others)
        elif place:
            label += " (over n)"
        return Effect(
            **vars(evidence),
            kind="print",
            label=label,
            unit=self.metric,
            bound=printed,
            width=self.text,
            plain=given[place],
            estimate=given[place],
            low=given[place],
            high=given[place],
            distance=float("inf" if evidence.p_for == 0 else "-inf"),
        )

    def _given(self, values: list[float]) -> list[float]:
        """Return the mean; of the spread the one over n - 1, and the one over n."""
        return [stdev(values), pstdev(values)] if self.is_spread else [fmean(values)]


def printed_terms(text: object, arm: Side) -> tuple[Printed, ...]:
    """Return the terms that an arm has a printed mean, and spread if that is printed.

    >>> arm = Side(label="plain", metric="accuracy", values=np.ones)
    >>> [(each.text, each.half) for each in printed_terms("72.1 ± 0.3", arm)]
    [('72.1', 0.05), ('0.3', 0.05)]
    """
    found = _PRINT.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(
            f"prints({text!r}) is no printed number: give its text with all digits, such as"
            ' "72.1 ± 0.3" or "72.1"'
        )
    mean, spread, per_cent = found.groups()
    terms = []
    for number, is_spread in ((mean, False), (spread, True)):
        if number is not None:
            exact = Decimal(number.replace("−", "-")).scaleb(-2 if per_cent else 0)
            terms.append(
                Printed(
                    (arm, fixed(float(exact), arm)),
                    text=f"{number} %" if per_cent else number,
                    half=float(Decimal(5).scaleb(int(exact.as_tuple().exponent) - 1)),
                    is_spread=is_spread,
                )
            )
    return tuple(terms)
