"""The checks of a printed number: against what others imply, and against a count of examples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from repro.document.check import Check, meanings, stands_for, to_decimal, to_range, verdict_word
from repro.document.number import PLAIN, Number, Printed, Value, number, printed


def agrees_with(stated: Value, other: Value, *, within: Value = 0) -> Check:
    """Check whether a number agrees with what a formula implies, or with one printed elsewhere.

    `within` is how far apart numbers may be that the source itself calls the same.

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
    """The formula and its values, written like the claimed number."""
    if isinstance(formula, Printed):
        return f"{formula.text} elsewhere"
    unit = claimed.unit if isinstance(claimed, Printed) else PLAIN
    values = to_range(formula.interval(), unit, apart_from=claimed.interval())
    return values if values == formula.text else f"{formula.text} = {values}"


def _instead(claimed: Number, formula: Number) -> Iterator[str]:
    """Say what should have been printed, with as many digits."""
    if not isinstance(claimed, Printed) or isinstance(formula, Printed):
        return
    ends = formula.interval()
    rounded = (to_decimal(end, claimed.places, claimed.unit) for end in ends)
    yield f"{formula.text} would be printed {' or '.join(dict.fromkeys(rounded))}"
    if all(claimed.is_truncation_of(end) for end in ends):
        yield f"{claimed.text} is what is left of it where digits are cut off"


def grim(share: str, *, of: int) -> Check:
    """Check whether a printed accuracy can be a count out of that many examples: the GRIM test.

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
    possible = least <= most
    counts = (least, most) if possible else (math.floor(low * of), math.ceil(high * of))
    shown = [f"{count} / {of} = {_share(count, of, claimed)}" for count in dict.fromkeys(counts)]
    lines = [f"{claimed.text} stands for {stands_for(claimed)}"]
    if (high - low) * of >= 1:
        lines.append(f"any share printed so coarsely is possible of {of}: this says nothing")
    if not possible and claimed.is_truncation_of(Fraction(counts[1], of)):
        lines.append(f"{claimed.text} is what is left of {shown[1]} where digits are cut off")
    nearest = " to ".join(shown) if possible else f"nearest are {' and '.join(shown)}"
    verdict = "possible" if possible else "impossible"
    return Check(possible, f"{claimed.text} of {of} printed; {nearest}: {verdict}", tuple(lines))


def _share(count: int, of: int, claimed: Printed) -> str:
    return to_decimal(Fraction(count, of), claimed.places + 1, claimed.unit)
