"""Printed numbers and formulas over them, as intervals of possible values.

"18.52" stands for every value that rounds to it. How a source rounds halves is not known (Python
rounds to even, spreadsheets up), so both ends belong to the interval. "≈" or "~" stands for a whole
unit of the last digit on either side, which also covers digits that were cut off.

A formula keeps its text, for a check to show. It also keeps its inputs apart: in (b - a) / b both b
are the same unknown number.
"""

from __future__ import annotations

import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, DecimalException
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

_DIGITS = Context(prec=50)
"""The precision of exp and sqrt; no printed number has nearly as many digits."""

_MOST_INPUTS = 12
"""The most rounded inputs of one formula, since all combinations of their ends are tried."""

_SUM, _PRODUCT, _ATOM = range(3)  # operator precedence, for brackets

_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


class Interval(NamedTuple):
    """All values from `low` to `high`, both included."""

    low: Fraction
    high: Fraction


class Number(ABC):
    """A printed number, an exact number, or a formula over numbers."""

    text: str
    """The number as a person would write it."""
    binding: int = _ATOM
    """The precedence of its outermost operation, for brackets."""
    inputs: tuple[Printed, ...] = ()
    """The printed numbers in it, each once."""

    @abstractmethod
    def at(self, chosen: Chosen) -> Fraction:
        """The value, given a value for each printed number."""

    def interval(self) -> Interval:
        """The smallest and largest value of a formula, which must be monotone in each input."""
        if len(self.inputs) > _MOST_INPUTS:
            raise ValueError(
                f"{self.text} has {len(self.inputs)} rounded inputs: check it in parts of at most "
                f"{_MOST_INPUTS}."
            )
        try:
            corners = product(*((each.low, each.high) for each in self.inputs))
            ends = [self.at(dict(zip(self.inputs, corner, strict=True))) for corner in corners]
            middle = self.at({each: (each.low + each.high) / 2 for each in self.inputs})
        except ZeroDivisionError as error:
            raise ValueError(
                f"{self.text} divides by what may be zero: claim a formula that does not."
            ) from error
        except DecimalException as error:
            raise ValueError(
                f"{self.text} has no value at an end of what was rounded: claim it otherwise."
            ) from error
        if not min(ends) <= middle <= max(ends):
            raise ValueError(
                f"{self.text} is not monotone in its inputs, so its ends say nothing about what "
                "lies between: rewrite it, or check it in parts."
            )
        return Interval(min(ends), max(ends))

    def __add__(self, other: Operand) -> Number:
        return _Combined(self, "+", exact(other))

    def __radd__(self, other: Operand) -> Number:
        return _Combined(exact(other), "+", self)

    def __sub__(self, other: Operand) -> Number:
        return _Combined(self, "-", exact(other))

    def __rsub__(self, other: Operand) -> Number:
        return _Combined(exact(other), "-", self)

    def __mul__(self, other: Operand) -> Number:
        return _Combined(self, "*", exact(other))

    def __rmul__(self, other: Operand) -> Number:
        return _Combined(exact(other), "*", self)

    def __truediv__(self, other: Operand) -> Number:
        return _Combined(self, "/", exact(other))

    def __rtruediv__(self, other: Operand) -> Number:
        return _Combined(exact(other), "/", self)


Operand: TypeAlias = Number | int | Fraction

Value: TypeAlias = str | Operand
"""The arguments of checks: printed text, exact counts, and formulas."""


def exact(value: Operand | str) -> Number:
    """An exact number, such as a count of layers or a setting ("0.0004").

    Formulas are returned unchanged.

    >>> print((exact(3) * 5 * 3).text)
    3 * 5 * 3
    """
    if isinstance(value, Number):
        return value
    if isinstance(value, int | Fraction):
        return _Exact(f"{value:,}" if value >= 10_000 else f"{value}", Fraction(value))
    if isinstance(value, str):
        return _Exact(value, Fraction(value))
    raise TypeError(
        f'{value!r} has lost its printed digits: write it as the source does, in printed("..."), '
        "or give a count as an int."
    )


class Unit(NamedTuple):
    """The unit that a number is written in: `46.9%` is 0.469."""

    symbol: str
    scale: Fraction


PLAIN = Unit("", Fraction(1))


class Printed(Number):
    """A printed number of a document; made by `printed`."""

    def __init__(self, text: str, interval: Interval, unit: Unit, places: int) -> None:
        self.text, self.unit, self.places = text, unit, places
        self.low, self.high = interval
        self.inputs = (self,)

    def at(self, chosen: Chosen) -> Fraction:
        return chosen[self]

    def is_truncation_of(self, value: Fraction) -> bool:
        """Return True if cutting off the digits of a value gives this number."""
        step = self.unit.scale * Fraction(1, 10**self.places)
        return math.trunc(value / step) * step == (self.low + self.high) / 2


Chosen: TypeAlias = Mapping[Printed, Fraction]

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

    It may have thousands ("51,026"), a sign, "%" or "pp" (hundredths), "M" (millions), "≈" or "~".

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
    """Read text as a printed number, and an int as an exact one; return formulas unchanged.

    >>> print(*number("51,026").interval(), *number(51026).interval())
    102051/2 102053/2 51026 51026
    """
    return printed(value) if isinstance(value, str) else exact(value)


def percent_change(before: Value, after: Value) -> Number:
    """The rise in per cent of the former value; for falls, use `percent_drop`.

    >>> print(percent_change("22.95", "32.07").text)
    (32.07 - 22.95) / 22.95
    """
    start = number(before)
    return (number(after) - start) / start


def percent_drop(before: Value, after: Value) -> Number:
    """The fall in per cent of the former value; sources print it without a sign.

    >>> low, high = percent_drop("34.86", "18.52").interval()
    >>> print(f"{float(low):.3%} to {float(high):.3%}")
    46.851% to 46.895%
    """
    start = number(before)
    return (start - number(after)) / start


def points(before: Value, after: Value) -> Number:
    """The difference of two shares, to compare with percentage points ("+22.8 pp").

    >>> print(points("0.389", "0.617").text)
    0.617 - 0.389
    """
    return number(after) - number(before)


def perplexity(loss: Value) -> Number:
    """The perplexity of a mean cross-entropy in nats.

    >>> low, high = perplexity("3.7119").interval()
    >>> print(f"{float(low):.3f} to {float(high):.3f}")
    40.929 to 40.934
    """
    return _Applied("exp", Decimal.exp, number(loss))


def root(value: Value) -> Number:
    """The square root.

    >>> print(float(root(9).interval().low))
    3.0
    """
    return _Applied("sqrt", Decimal.sqrt, number(value))


def compute_share(exited: Value, *, after: int, of: int) -> Number:
    """The share of a stack's compute, if a share of tokens exits after some of its layers.

    >>> print(compute_share("52.3%", after=1, of=3).text)
    1 - 52.3% * 2 / 3
    """
    return 1 - number(exited) * (of - after) / of


def linear(inputs: int, outputs: int, *, bias: bool = True) -> Number:
    """The parameters of a linear layer.

    >>> print(linear(768, 2).text, linear(64, 64, bias=False).text)
    (768 + 1) * 2 64 * 64
    """
    per_output = number(inputs) + 1 if bias else number(inputs)
    return per_output * outputs


class _Exact(Number):
    def __init__(self, text: str, value: Fraction) -> None:
        self.text, self.value = text, value
        self.binding = _PRODUCT if "/" in text else _ATOM

    def at(self, chosen: Chosen) -> Fraction:
        return self.value


class _Combined(Number):
    def __init__(self, left: Number, sign: str, right: Number) -> None:
        self.left, self.sign, self.right = left, sign, right
        self.binding = _SUM if sign in "+-" else _PRODUCT
        self.inputs = tuple(dict.fromkeys(left.inputs + right.inputs))
        after = right.binding <= self.binding if sign in "-/" else right.binding < self.binding
        before = _bracketed(left, left.binding < self.binding)
        self.text = f"{before} {sign} {_bracketed(right, after)}"

    def at(self, chosen: Chosen) -> Fraction:
        left, right = self.left.at(chosen), self.right.at(chosen)
        return _OPERATIONS[self.sign](left, right)


class _Applied(Number):
    """A function of one number that is not rational, such as exp."""

    def __init__(
        self, name: str, function: Callable[[Decimal, Context], Decimal], argument: Number
    ) -> None:
        self.function, self.argument = function, argument
        self.inputs = argument.inputs
        self.text = f"{name}({argument.text})"

    def at(self, chosen: Chosen) -> Fraction:
        value = self.argument.at(chosen)
        decimal = _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
        return Fraction(self.function(decimal, _DIGITS))


def _bracketed(number: Number, needed: bool) -> str:
    return f"({number.text})" if needed else number.text
