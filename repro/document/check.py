"""What a check of a document comes to: whether it can be, and the arithmetic that says so."""

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
    """What it rests on, one line a number."""

    @property
    def outcome(self) -> Outcome:
        return Outcome.REPRODUCED if self.possible else Outcome.REFUTED

    def __bool__(self) -> bool:
        return self.possible

    def __str__(self) -> str:
        return "\n  ".join((self.measured, *self.lines))
