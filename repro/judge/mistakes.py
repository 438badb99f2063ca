"""Mistakes that are easily made in a claim; each error message says what to write instead."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from repro.judge.contrast import Side


class CannotGrow(ValueError):
    """A claim for which no test is known that one may look at after each run."""


class NoArithmetic:
    """Refuses comparisons and arithmetic of metrics that no test could judge."""

    label: str

    def __ge__(self, other: object) -> NoReturn:
        self._no_order(">=", "a > b, or a.is_at_most(margin, below=b)")

    def __le__(self, other: object) -> NoReturn:
        self._no_order("<=", "a < b, or a.is_at_most_times(1.05, b)")

    def _no_order(self, sign: str, instead: str) -> NoReturn:
        raise TypeError(
            f"{self.label} {sign} … allows equality, which no test can show: claim {instead}"
        )

    def _no_arithmetic(self, other: object) -> NoReturn:
        raise TypeError(
            f"{self.label} takes part in arithmetic, which no test could judge: write"
            " a.exceeds(b, by_ratio=1.01) for a factor, a.exceeds(b, by_at_least=0.01) for an"
            " amount, and (a - b) > (c - d) for gains"
        )

    __add__ = __radd__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_arithmetic
    __rsub__ = __pow__ = __neg__ = __abs__ = _no_arithmetic


class NoLogic:
    """Refuses operators on findings, because no test would judge the result."""

    def _no_operator(self, *others: object) -> NoReturn:
        raise TypeError(
            "findings have no other operators than `&`: claim each alternative by itself, and the"
            " contrary of a > b with a < b or a.is_within(margin, of=b)"
        )

    __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = _no_operator
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_operator
    __lt__ = __le__ = __gt__ = __ge__ = _no_operator


def is_count(number: object, *, least: int) -> bool:
    """Return whether this is a whole number of at least `least`."""
    is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return is_whole and number >= least  # type: ignore[operator]


def require_finding(finding: object, kind: type) -> None:
    """Raise TypeError where something that is no finding is joined or compared with one."""
    if not isinstance(finding, kind):
        raise TypeError(
            f"a {type(finding).__name__} is no finding: join only results of comparisons, and"
            " assert anything else by itself"
        )


def require_number(other: object, side: Side) -> float:
    """Return the number that a side is compared with; raises an error if it is no finite number."""
    compared = f"{side.metric} of {side.label} is compared with"
    is_truth = isinstance(other, bool | np.bool_)
    if not is_truth and (isinstance(other, int | float) or hasattr(other, "__float__")):
        number = float(other)
        if math.isfinite(number):
            return number
        raise ValueError(f"{compared} {number}, which is no finite number")
    raise TypeError(
        f"{compared} a {type(other).__name__}, which is neither a number nor a metric: name the"
        f" same metric of it, as in b.{side.metric.replace(' ', '_')}"
    )


def require_runs(runs: int) -> None:
    """Raise ValueError where this is no number of runs of a source."""
    if not is_count(runs, least=1):
        raise ValueError(f"runs={runs!r} is how many runs the source took the mean of: give 1")


def require_positive(number: float, what: str) -> None:
    """Raise ValueError where a number that stands for `what` is not above zero."""
    if not 0 < number < float("inf"):
        raise ValueError(f"{number!r} cannot be {what}: give a positive number")


def require_width(name: str, width: float | None, *, above: float) -> None:
    """Raise ValueError unless a width is finite and larger than `above`."""
    if width is not None and not above < width < float("inf"):
        give = "a ratio above 1, for example 1.1 for 10 % more or as much less"
        give = give if above else "a positive one"
        raise ValueError(f"{name}={width!r} leaves nothing to show: give {give}")


def require_share(number: float, side: Side) -> None:
    """Raise ValueError where a share is given in per cent."""
    if side.scale.name == "log-odds" and abs(number) > 1:
        raise ValueError(
            f"{side.metric} is a share between 0 and 1, and {number:g} is none: write"
            f" {number / 100:g} for {number:g} %"
        )


def require_outcomes(is_plain: bool, side: Side) -> None:
    """Raise ValueError where runs that succeed or fail are compared by more than their share."""
    if not is_plain:
        raise ValueError(
            f"{side.metric} of {side.label} counts runs that succeed: claim a > b or a < b, or"
            " compare the share with a number, as in a > 0.5"
        )


def require_another(label: str, first: object, second: object) -> None:
    """Raise ValueError where something is compared with itself."""
    if first is not None and first == second:
        raise ValueError(
            f"The claim compares {label} with itself: let the two arms differ in a setting."
        )


def require_same_data(high: Side, low: Side) -> None:
    """Raise ValueError where two arms have different data, so that seeds cannot pair them."""
    if not high.origin or not low.origin:
        return
    names = [getattr(side.origin[0], "data", None) for side in (high, low)]
    if names[0] != names[1]:
        raise ValueError(
            f"The claim compares {high.label} on {names[0]} and {low.label} on {names[1]}: runs on"
            " different data have nothing in common that seeds could pair; judge each data set in"
            " a case of its own, with pytest.mark.parametrize"
        )
