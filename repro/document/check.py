"""The result of a check: whether the document can be right, and the arithmetic that says so."""

from __future__ import annotations

from dataclasses import dataclass, field

from repro.judge import Findings, Outcome


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
    found: Findings[Check] | None = field(default=None, repr=False, compare=False)
    """The findings of the claim that made it, which are told when its truth is asked."""

    @property
    def outcome(self) -> Outcome:
        return Outcome.REPRODUCED if self.possible else Outcome.REFUTED

    def __bool__(self) -> bool:
        if self.found is not None:
            self.found.asked.append(self)
        return self.possible

    def __str__(self) -> str:
        return "\n  ".join((self.measured, *self.lines))


def verdict_word(possible: bool) -> str:
    return "agrees" if possible else "disagrees"
