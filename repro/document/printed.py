"""Numbers as printed: "18.52" stands for every value that rounds to it.

Nobody says how a source rounds halves (Python to even, spreadsheets up), so both ends belong to
the interval. "≈" or "~" says that nobody rounded with care: a whole unit of the last digit then,
either way, which also covers digits that were cut off.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from repro.document.number import PLAIN, Interval, Number, Operand, Printed, Unit, exact

Value: TypeAlias = str | Operand
"""The values that checks take: text as printed, exact counts, and formulas."""

_UNITS = {
    "": PLAIN,
    "%": Unit("%", Fraction(1, 100)),
    "pp": Unit(" pp", Fraction(1, 100)),
    "M": Unit("M", Fraction(1_000_000)),
}

_NUMBER = re.compile(
    r"(?P<about>[≈~]?)\s*(?P<digits>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(?P<unit>%|pp|M|)"
)


def printed(text: str) -> Printed:
    """Read a printed number, which stands for an interval of values.

    Known are thousands ("51,026"), signs, "%" and "pp" (hundredths), "M" (millions), "≈" and "~".

    >>> low, high = printed("0.617").interval()
    >>> print(float(low), float(high))
    0.6165 0.6175
    """
    match = _NUMBER.fullmatch(text.replace("−", "-").strip())  # a typographic minus
    if match is None:
        raise ValueError(
            f"{text!r} is not one printed number: give its digits as the source prints them, with "
            'a decimal point, and at most a sign, "≈", "%", "pp" or "M", such as "46.9%".'
        )
    unit = _UNITS[match["unit"]]
    digits = match["digits"].replace(",", "")
    places = len(digits.partition(".")[2])
    last_digit = Fraction(1, 10**places) * unit.scale
    value = Fraction(Decimal(digits)) * unit.scale
    error = last_digit if match["about"] else last_digit / 2
    return Printed(text.strip(), Interval(value - error, value + error), unit, places)


def number(value: Value) -> Number:
    """Read text as a printed number, an int as an exact one; formulas are handed through.

    >>> print(number("51,026").interval().width, number(51026).interval().width)
    1 0
    """
    return printed(value) if isinstance(value, str) else exact(value)
