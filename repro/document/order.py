"""The checks of printed numbers against the order that a sentence gives them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from repro.document.check import Check, verdict_word
from repro.document.decimals import meanings, to_range
from repro.document.number import Number, Printed
from repro.document.printed import Value, number


def exceeds(high: Value, low: Value) -> Check:
    """Check whether one number can be larger than the other.

    >>> print(exceeds("9.84", "8.93"))
    9.84 > 8.93: agrees
      9.84 stands for 9.835 to 9.845
      8.93 stands for 8.925 to 8.935
    """
    larger, smaller = number(high), number(low)
    return _compare(larger, smaller, f"{_shown(larger)} > {_shown(smaller)}")


def falls_below(low: Value, high: Value) -> Check:
    """Check whether one number can be smaller than the other.

    >>> print(falls_below("34.86", 30).measured)
    34.86 < 30: disagrees
    """
    larger, smaller = number(high), number(low)
    return _compare(larger, smaller, f"{_shown(smaller)} < {_shown(larger)}")


def climbs(values: Sequence[Value]) -> Check:
    """Check whether each number can be larger than all before it.

    >>> print(climbs(["0.244", "0.286", "0.296", "0.301"]).measured)
    0.244 < 0.286 < 0.296 < 0.301: agrees
    """
    numbers = _several(values)
    pairs = [exceeds(high, low) for low, high in combinations(numbers, 2)]
    return _all_hold(pairs, " < ".join(map(_shown, numbers)), numbers)


def peaks(values: Sequence[Value], at: int) -> Check:
    """Check whether the number at this place can be the largest.

    >>> print(peaks(["0.349", "0.244", "0.286"], at=0).measured)
    0.349 is the largest of 0.349, 0.244, 0.286: agrees
    """
    numbers = _several(values)
    others = [other for place, other in enumerate(numbers) if place != at % len(numbers)]
    pairs = [exceeds(numbers[at], other) for other in others]
    shown = ", ".join(map(_shown, numbers))
    return _all_hold(pairs, f"{_shown(numbers[at])} is the largest of {shown}", numbers)


def mostly_exceed(high: Sequence[Value], low: Sequence[Value]) -> Check:
    """Check whether more than half of these can be larger than their counterparts.

    >>> print(mostly_exceed(["8.93", "7.65", "4.09"], ["8.3", "7.22", "6.8"]).measured)
    8.93 > 8.3, 7.65 > 7.22, 4.09 > 6.8: 2 of 3 hold, agrees
    """
    pairs = list(zip(_several(high), _several(low), strict=True))
    held = [bool(exceeds(larger, smaller)) for larger, smaller in pairs]
    shown = ", ".join(f"{_shown(larger)} > {_shown(smaller)}" for larger, smaller in pairs)
    most = sum(held) > len(held) / 2
    return Check(
        most,
        f"{shown}: {sum(held)} of {len(held)} hold, {verdict_word(most)}",
        tuple(meanings(*(side for pair in pairs for side in pair))),
    )


def _all_hold(pairs: Sequence[Check], sentence: str, numbers: Sequence[Number]) -> Check:
    """Join the checks of pairs into one, which names those that fail."""
    failed = [pair.measured for pair in pairs if not pair]
    return Check(
        not failed, f"{sentence}: {verdict_word(not failed)}", (*failed, *meanings(*numbers))
    )


def _compare(larger: Number, smaller: Number, shown: str) -> Check:
    apart = (larger - smaller).interval()
    possible, certain = apart.high > 0, apart.low > 0
    open_still = ", as the digits leave it open" if possible and not certain else ""
    verdict = verdict_word(possible) + open_still
    return Check(possible, f"{shown}: {verdict}", tuple(meanings(larger, smaller)))


def _several(values: Sequence[Value]) -> list[Number]:
    if len(values) < 2:
        raise ValueError(f"{list(values)} is too short to be in any order: give two or more.")
    return [number(value) for value in values]


def _shown(value: Number) -> str:
    """A printed number as it is, and a formula with its values behind it."""
    if isinstance(value, Printed):
        return value.text
    values = to_range(value.interval())
    return value.text if values == value.text else f"{value.text} ({values})"
