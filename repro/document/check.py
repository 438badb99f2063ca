"""The result of a check: whether the document can be right, and the arithmetic that says so."""

from __future__ import annotations

from dataclasses import dataclass

from repro.judge import Outcome


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

    @property
    def outcome(self) -> Outcome:
        return Outcome.REPRODUCED if self.possible else Outcome.REFUTED

    def __bool__(self) -> bool:
        return self.possible

    def __str__(self) -> str:
        return "\n  ".join((self.measured, *self.lines))


def verdict_word(possible: bool) -> str:
    return "agrees" if possible else "disagrees"
