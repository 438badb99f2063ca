"""The findings of one claim, and those whose truth was asked.

A test ends with an assert that fails, or with none. Whether that end is a verdict, or a slip of
Python's logic (`assert not (a > b)`), is told by which findings were asked for their truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Finding = TypeVar("Finding")


@dataclass(eq=False)
class Findings(Generic[Finding]):
    """The findings of a claim's test so far, in order."""

    made: list[Finding] = field(default_factory=list)
    asked: list[Finding] = field(default_factory=list)
    """The findings whose truth was asked, by `assert` or by anything else, in order."""

    def add(self, finding: Finding) -> Finding:
        self.made.append(finding)
        return finding

    def replace(self, old: Sequence[Finding], new: Finding) -> Finding:
        """Put a finding in the place of those that it joins."""
        self.made[:] = [finding for finding in self.made if not any(finding is o for o in old)]
        return self.add(new)
