"""Statements about a document's numbers, as claim authors write them in an assert.

They resemble the words of `trials`. Every check is recorded, so that no test passes without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeAlias, overload

from repro.document.check import Check, agrees_with, grim, meanings, to_range, verdict_word
from repro.document.number import Number, Printed, Value, number
from repro.judge import Findings
from repro.runs.profiles import ANY_PROFILE

Recorder: TypeAlias = Callable[[Check], Check]
"""A function that records a check as a finding, and returns it."""


class Document:
    """The `document` fixture of one claim, which compares printed numbers of a source.

    Nothing is trained, so the ledger has one verdict for all profiles, with the profile `any`. Its
    data is the document.

    >>> document = Document()
    >>> bool(document("46.9%").agrees_with(percent_drop("34.86", "18.52")))
    True
    >>> print(*document.findings)
    46.9% printed; (34.86 - 18.52) / 34.86 = 46.851% to 46.896%: agrees
      46.9% stands for 46.85% to 46.95%
      34.86 stands for 34.855 to 34.865
      18.52 stands for 18.515 to 18.525
    """

    profile_name = ANY_PROFILE
    data = ("the document",)
    remarks: tuple[str, ...] = ()
    p = None  # nothing here is random
    level = 0.0
    arms_used: tuple[Any, ...] = ()
    metrics_used: tuple[str, ...] = ()
    machine = ""  # nothing is trained
    design = None

    def __init__(self) -> None:
        self._found: Findings[Check] = Findings()

    @property
    def findings(self) -> Sequence[Check]:
        """The checks so far."""
        return tuple(self._found.made)

    @property
    def asserted(self) -> Sequence[Check]:
        """The asserted checks."""
        return tuple(self._found.asserted)

    @overload
    def __call__(self, stated: Value, /) -> StatedNumber: ...
    @overload
    def __call__(self, stated: list[Value] | list[str], /) -> StatedRow: ...
    def __call__(self, stated: Value | list[Value] | list[str], /) -> StatedNumber | StatedRow:
        """Take one number of the document, or a list of numbers in its order."""
        if isinstance(stated, list):
            return StatedRow(stated, self._record)
        return StatedNumber(stated, self._record)

    def _record(self, check: Check) -> Check:
        return self._found.add(replace(check, found=self._found))


class StatedNumber:
    """One number of a document, as text, or a formula over such numbers.

    >>> accuracy = Document()("96.63%")
    >>> print(accuracy.is_share_of(1040).measured)
    96.63% of 1040 printed; 1005 / 1040 = 96.635%: possible
    """

    def __init__(self, stated: Value, record: Recorder) -> None:
        self._stated, self._record = stated, record

    def agrees_with(self, other: Value, *, within: Value = 0) -> Check:
        """Check whether it can agree with a formula, or with a number printed elsewhere.

        >>> assert document("46.9%").agrees_with(percent_drop("34.86", "18.52"))
        >>> assert document("0.5 %").agrees_with("0.6 %", within="0.1 %")
        """
        return self._record(agrees_with(self._stated, other, within=within))

    def is_share_of(self, examples: int) -> Check:
        """Check whether it can be a count out of this number of examples (the GRIM test).

        >>> assert document("96.63%").is_share_of(1040)
        """
        if not isinstance(self._stated, str):
            raise TypeError(f"{self._stated!r} was not printed: give the share as text.")
        return self._record(grim(self._stated, of=examples))

    def __gt__(self, other: Value) -> Check:
        return self._record(_compare(number(self._stated), ">", number(other)))

    def __lt__(self, other: Value) -> Check:
        return self._record(_compare(number(self._stated), "<", number(other)))

    def __eq__(self, other: object) -> bool:
        raise TypeError(
            "printed numbers are rounded, so that none equals another: claim "
            "document(a).agrees_with(b), document(a) > b or document(a) < b"
        )

    __hash__ = object.__hash__


class StatedRow:
    """Numbers of a document in the order of its rows or columns.

    >>> print(Document()(["0.244", "0.286", "0.301"]).climbs().measured)
    0.244 < 0.286 < 0.301: agrees
    """

    def __init__(self, stated: Sequence[Value], record: Recorder) -> None:
        self._stated, self._record = stated, record

    def climbs(self) -> Check:
        """Check whether each number can be larger than all before it.

        >>> assert document(["0.244", "0.286", "0.301"]).climbs()
        """
        return self._record(_climb(_several(self._stated)))

    def falls(self) -> Check:
        """Check whether each number can be smaller than all before it.

        >>> assert document(["34.86", "22.95", "18.52"]).falls()
        """
        return self._record(_climb(_several(self._stated)[::-1]))

    def peaks_at(self, place: int) -> Check:
        """Check whether the number at this place, counted from 0, can be the largest.

        >>> assert document(["71.0", "71.1", "70.4"]).peaks_at(1)
        """
        numbers = _several(self._stated)
        largest, shown = numbers[place], ", ".join(map(_shown, numbers))
        others = [each for at, each in enumerate(numbers) if at != place % len(numbers)]
        pairs = [_compare(largest, ">", other) for other in others]
        return self._record(
            _all_hold(pairs, f"{_shown(largest)} is the largest of {shown}", numbers)
        )

    def mostly_exceeds(self, others: Sequence[Value]) -> Check:
        """Check whether more than half of the numbers can be larger than their counterparts.

        >>> assert document(["0.71", "0.64", "0.80"]).mostly_exceeds(["0.70", "0.65", "0.75"])
        """
        pairs = list(zip(_several(self._stated), _several(others), strict=True))
        held = [_compare(larger, ">", smaller).possible for larger, smaller in pairs]
        shown = ", ".join(f"{_shown(larger)} > {_shown(smaller)}" for larger, smaller in pairs)
        most = sum(held) > len(held) / 2
        measured = f"{shown}: {sum(held)} of {len(held)} hold, {verdict_word(most)}"
        sides = meanings(*(side for pair in pairs for side in pair))
        return self._record(Check(most, measured, tuple(sides)))


def _climb(numbers: Sequence[Number]) -> Check:
    pairs = [_compare(high, ">", low) for low, high in combinations(numbers, 2)]
    return _all_hold(pairs, " < ".join(map(_shown, numbers)), numbers)


def _all_hold(pairs: Iterable[Check], sentence: str, numbers: Sequence[Number]) -> Check:
    """Join the checks of pairs into one, which names the failed ones."""
    pairs = list(pairs)
    failed = [pair.measured for pair in pairs if not pair.possible]
    is_open = not failed and any(pair.is_open for pair in pairs)
    measured = f"{sentence}: {_agreement(not failed, is_open)}"
    return Check(not failed, measured, (*failed, *meanings(*numbers)), is_open)


def _compare(one: Number, sign: str, other: Number) -> Check:
    """Check whether one number can be larger than another, or smaller."""
    larger, smaller = (one, other) if sign == ">" else (other, one)
    apart = (larger - smaller).interval()
    possible, is_open = apart.high > 0, apart.low <= 0 < apart.high
    shown = f"{_shown(one)} {sign} {_shown(other)}: {_agreement(possible, is_open)}"
    return Check(possible, shown, tuple(meanings(larger, smaller)), is_open)


def _agreement(possible: bool, is_open: bool) -> str:
    return verdict_word(possible) + (", as the digits leave it open" if is_open else "")


def _several(values: Sequence[Value]) -> list[Number]:
    if len(values) < 2:
        raise ValueError(f"{list(values)} is too short to be in any order: give two or more.")
    return [number(value) for value in values]


def _shown(value: Number) -> str:
    """Return a printed number as it is, and a formula followed by its values."""
    if isinstance(value, Printed):
        return value.text
    values = to_range(value.interval())
    return value.text if values == value.text else f"{value.text} ({values})"
