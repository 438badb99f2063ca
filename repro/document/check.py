"""The result of a check: whether the document can be right, and the arithmetic that says so.

The arithmetic is shown in exact decimals that a person can check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from repro.document.number import PLAIN, Interval, Number, Printed, Unit
from repro.judge import Findings, Outcome

_MOST_PLACES = 12
"""The number of places that no exact decimal reaches; what needs more is rounded, with dots."""


@dataclass(frozen=True)
class Check:
    """True where the printed numbers can be roundings of numbers for which the sentence holds.

    >>> impossible = Check(False, "99.81% of 149: no count", ("148 / 149 = 99.329%",))
    >>> print(bool(impossible), impossible.outcome)
    False refuted
    >>> print(impossible)
    99.81% of 149: no count
      148 / 149 = 99.329%
    """

    possible: bool
    measured: str
    """The arithmetic in one line."""
    lines: tuple[str, ...] = ()
    """The meanings of the numbers it rests on, and what else there is to say, line by line."""
    found: Findings[Check] | None = field(default=None, repr=False, compare=False)
    """The findings of the claim that made it, which are told when its truth is asked."""

    @property
    def outcome(self) -> Outcome:
        return Outcome.REPRODUCED if self.possible else Outcome.REFUTED

    def __bool__(self) -> bool:
        if self.found is not None:
            self.found.asked.append(self)
        return self.possible

    def __str__(self) -> str:
        return "\n  ".join((self.measured, *self.lines))


def verdict_word(possible: bool) -> str:
    return "agrees" if possible else "disagrees"


def to_decimal(value: Fraction, places: int, unit: Unit = PLAIN) -> str:
    """Write a value in a unit, rounded to a number of places; halves to even, as Python rounds.

    >>> print(to_decimal(Fraction(148, 149), 3, printed("1%").unit))
    99.329%
    """
    return _write(round(_in_unit(value, unit) * 10**places), places, unit)


def to_range(interval: Interval, unit: Unit = PLAIN, *, apart_from: Interval | None = None) -> str:
    """Write an interval with as many places as its width deserves, rounded outwards.

    `apart_from` is another interval: where the two do not meet, the decimals do not either.

    >>> print(to_range(Interval(Fraction(1, 3), Fraction(2, 3))))
    0.33 to 0.67
    """
    low, high = (_in_unit(end, unit) for end in interval)
    if low == high:
        return _write_exactly(low, unit)
    places = max(0, math.ceil(-math.log10(high - low)) + 1)
    if apart_from is not None and not _overlap(interval, apart_from):
        gap = max(apart_from.low - interval.high, interval.low - apart_from.high) / unit.scale
        places = max(places, math.ceil(-math.log10(gap)))
    step = 10**places
    lower, upper = math.floor(low * step), math.ceil(high * step)
    return f"{_write(lower, places, unit)} to {_write(upper, places, unit)}"


def meanings(*numbers: Number) -> Iterator[str]:
    """Say what each printed number among these stands for, one line each."""
    for each in dict.fromkeys(printed for number in numbers for printed in number.inputs):
        yield f"{each.text} stands for {stands_for(each)}"


def stands_for(printed: Printed) -> str:
    """The ends of a printed number, exactly: they have one place more than it has."""
    low, high = (to_decimal(end, printed.places + 1, printed.unit) for end in printed.interval())
    return f"{low} to {high}"


def _overlap(one: Interval, other: Interval) -> bool:
    return one.low <= other.high and other.low <= one.high


def _in_unit(value: Fraction, unit: Unit) -> Fraction:
    return value / unit.scale


def _write_exactly(value: Fraction, unit: Unit) -> str:
    for places in range(_MOST_PLACES):
        if (value * 10**places).denominator == 1:
            return _write(int(value * 10**places), places, unit)
    return f"{_write(round(value * 10**6), 6, unit)}..."


def _write(steps: int, places: int, unit: Unit) -> str:
    whole, part = divmod(abs(steps), 10**places)
    shown = f"{whole:,}" if whole >= 10_000 else f"{whole}"
    sign = "-" if steps < 0 else ""
    return f"{sign}{shown}" + (f".{part:0{places}}" if places else "") + unit.symbol
