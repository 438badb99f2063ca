"""Checks whether a printed number can be right, and says why not.

The results show the arithmetic in exact decimals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from repro.document.number import PLAIN, Interval, Number, Printed, Unit, Value, number, printed
from repro.judge import Findings, Outcome

_MOST_PLACES = 12
"""Decimals with fewer places are written exactly; others are rounded, with dots."""


@dataclass(frozen=True)
class Check:
    """The result of a check: true if the printed numbers can be rounded from fitting ones.

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
    """The intervals of the printed numbers, and further remarks."""
    is_open: bool = False
    """True where the rounded numbers agree, and those that they were rounded from may not."""
    found: Findings[Check] | None = field(default=None, repr=False, compare=False)
    """The findings of its claim, which note when a test asserts the check."""

    @property
    def outcome(self) -> Outcome:
        return Outcome.REPRODUCED if self.possible else Outcome.REFUTED

    def __bool__(self) -> bool:
        if self.found is not None:
            self.found.asserted.append(self)
        return self.possible

    def __str__(self) -> str:
        return "\n  ".join((self.measured, *self.lines))


def agrees_with(stated: Value, other: Value, *, within: Value = 0) -> Check:
    """Check whether a number agrees with a formula, or with a number printed elsewhere.

    `within` is the distance up to which the source itself calls numbers the same.

    >>> print(agrees_with("46.9%", percent_drop("34.86", "18.52")).measured)
    46.9% printed; (34.86 - 18.52) / 34.86 = 46.851% to 46.896%: agrees
    """
    claimed, formula, tolerance = number(stated), number(other), number(within)
    most = tolerance.interval().high
    if most < 0:
        raise ValueError(f"within={within!r} is negative: give a distance.")
    apart = (formula - claimed).interval()
    possible = apart.low <= most and -most <= apart.high
    return Check(
        possible,
        f"{claimed.text} printed; {_against(formula, claimed)}: {verdict_word(possible)}"
        + (f" within {tolerance.text}" if most else ""),
        (*meanings(claimed, formula), *([] if possible else _instead(claimed, formula))),
    )


def _against(formula: Number, claimed: Number) -> str:
    """Return the formula and its values, written like the claimed number."""
    if isinstance(formula, Printed):
        return f"{formula.text} elsewhere"
    unit = claimed.unit if isinstance(claimed, Printed) else PLAIN
    values = to_range(formula.interval(), unit, apart_from=claimed.interval())
    return values if values == formula.text else f"{formula.text} = {values}"


def _instead(claimed: Number, formula: Number) -> Iterator[str]:
    """Yield lines with the number that should have been printed, with as many digits."""
    if not isinstance(claimed, Printed) or isinstance(formula, Printed):
        return
    ends = formula.interval()
    rounded = (to_decimal(end, claimed.places, claimed.unit) for end in ends)
    yield f"{formula.text} would be printed {' or '.join(dict.fromkeys(rounded))}"
    if all(claimed.is_truncation_of(end) for end in ends):
        yield f"{claimed.text} is what is left of it where digits are cut off"


def grim(share: str, *, of: int) -> Check:
    """Check whether a printed accuracy can be a count out of `of` examples: the GRIM test.

    Digits may have been rounded, or cut off.

    Brown and Heathers (2017), "The GRIM test: a simple technique detects numerous anomalies in the
    reporting of results in psychology".

    >>> print(grim("96.63%", of=1040).measured)
    96.63% of 1040 printed; 1005 / 1040 = 96.635%: possible
    >>> print(grim("99.81%", of=149).measured)
    99.81% of 149 printed; nearest are 148 / 149 = 99.329% and 149 / 149 = 100.000%: impossible
    """
    claimed = printed(share)
    if of < 1:
        raise ValueError(f"of={of} leaves nothing to count: give the number of examples.")
    low, high = claimed.interval()
    if high < 0 or low > 1:
        raise ValueError(f"{share!r} is no share: write it as a fraction of 1, or with a %.")
    least, most = max(0, math.ceil(low * of)), min(of, math.floor(high * of))
    is_rounded = least <= most
    counts = (least, most) if is_rounded else (math.floor(low * of), math.ceil(high * of))
    is_cut_off = not is_rounded and claimed.is_truncation_of(Fraction(counts[1], of))
    shown = [
        f"{count} / {of} = {to_decimal(Fraction(count, of), claimed.places + 1, claimed.unit)}"
        for count in dict.fromkeys(counts)
    ]
    lines = [f"{claimed.text} stands for {_stands_for(claimed)}"]
    if (high - low) * of >= 1:
        lines.append(f"any share printed so coarsely is possible of {of}: this says nothing")
    nearest = " to ".join(shown) if is_rounded else f"nearest are {' and '.join(shown)}"
    if is_cut_off:
        nearest = f"{shown[1]}, cut off"
    possible = is_rounded or is_cut_off
    verdict = "possible" if possible else "impossible"
    return Check(possible, f"{claimed.text} of {of} printed; {nearest}: {verdict}", tuple(lines))


def verdict_word(possible: bool) -> str:
    return "agrees" if possible else "disagrees"


def to_decimal(value: Fraction, places: int, unit: Unit = PLAIN) -> str:
    """Write a value in a unit, rounded to a number of places, halves to even.

    >>> print(to_decimal(Fraction(148, 149), 3, printed("1%").unit))
    99.329%
    """
    return _write(round(value / unit.scale * 10**places), places, unit)


def to_range(interval: Interval, unit: Unit = PLAIN, *, apart_from: Interval | None = None) -> str:
    """Write an interval with as many places as its width needs, rounded outwards.

    `apart_from` is another interval; if the two do not overlap, the written ends do not either.

    >>> print(to_range(Interval(Fraction(1, 3), Fraction(2, 3))))
    0.33 to 0.67
    """
    low, high = (end / unit.scale for end in interval)
    if low == high:
        return _write_exactly(low, unit)
    places = max(0, math.ceil(-math.log10(high - low)) + 1)
    if apart_from is not None:
        gap = max(apart_from.low - interval.high, interval.low - apart_from.high) / unit.scale
        places = max(places, math.ceil(-math.log10(gap))) if gap > 0 else places
    step = 10**places
    lower, upper = math.floor(low * step), math.ceil(high * step)
    return f"{_write(lower, places, unit)} to {_write(upper, places, unit)}"


def meanings(*numbers: Number) -> Iterator[str]:
    """Yield a line for each printed number: the interval that it stands for."""
    for each in dict.fromkeys(each for formula in numbers for each in formula.inputs):
        yield f"{each.text} stands for {_stands_for(each)}"


def _stands_for(printed: Printed) -> str:
    """Return the interval of a printed number, with one more place, which is exact."""
    low, high = (to_decimal(end, printed.places + 1, printed.unit) for end in printed.interval())
    return f"{low} to {high}"


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
