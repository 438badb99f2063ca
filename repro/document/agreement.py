"""The check of a printed number against what other printed numbers imply."""

from __future__ import annotations

from collections.abc import Iterator

from repro.document.check import Check, verdict_word
from repro.document.decimals import meanings, to_decimal, to_range
from repro.document.number import PLAIN, Number, Printed
from repro.document.printed import Value, number


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
