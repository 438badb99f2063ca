"""Whether a printed number can be what other printed numbers imply."""

from __future__ import annotations

from collections.abc import Iterator

from repro.document.check import Check
from repro.document.number import PLAIN, Number, Printed
from repro.document.printed import Value, number
from repro.document.shown import decimal, ends, meanings


def implied(said: Value, by: Value, *, within: Value = 0) -> Check:
    """Whether what is said agrees with what a formula implies, or with what is printed elsewhere.

    `within` is how far apart numbers may be that the source itself calls the same.

    >>> print(implied("46.9%", percent_drop("34.86", "18.52")).measured)
    46.9% printed; (34.86 - 18.52) / 34.86 = 46.851% to 46.896%: agrees
    """
    claimed, formula, tolerance = number(said), number(by), number(within)
    most = tolerance.interval().high
    if most < 0:
        raise ValueError(f"within={within!r} is negative: give a distance.")
    apart = (formula - claimed).interval()
    possible = apart.low <= most and -most <= apart.high
    verdict = "agrees" if possible else "disagrees"
    return Check(
        possible,
        f"{claimed.text} printed; {_against(formula, claimed)}: {verdict}"
        + (f" within {tolerance.text}" if most else ""),
        (*meanings(claimed, formula), *([] if possible else _instead(claimed, formula))),
    )


def _against(formula: Number, claimed: Number) -> str:
    if isinstance(formula, Printed):
        return f"{formula.text} elsewhere"
    unit = claimed.unit if isinstance(claimed, Printed) else PLAIN
    found = ends(formula.interval(), unit, apart_from=claimed.interval())
    return found if found == formula.text else f"{formula.text} = {found}"


def _instead(claimed: Number, formula: Number) -> Iterator[str]:
    """What should have been printed, with as many digits."""
    if not isinstance(claimed, Printed) or isinstance(formula, Printed):
        return
    found = formula.interval()
    rounded = (decimal(end, claimed.places, claimed.unit) for end in found)
    yield f"{formula.text} would be printed {' or '.join(dict.fromkeys(rounded))}"
    if all(claimed.is_left_of(end) for end in found):
        yield f"{claimed.text} is what is left of it where digits are cut off"
