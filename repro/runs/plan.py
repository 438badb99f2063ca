"""The plan: which runs the selected claims still need.

A claim is read by running its test against the results: it either comes to a verdict or stops at
the runs that it misses. So the first reading finds the arms of every claim, and later ones find the
further seeds of those that are undecided, before any test is judged for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache

from repro.arm import Run


class RunsMissing(Exception):
    """A claim needs runs that are not stored yet."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)
        super().__init__(f"{len(self.runs)} runs are not trained yet")


class TrainingFailed(Exception):
    """A run that a claim needs could not be trained; says which, and why."""


@dataclass
class PlannedClaim:
    """One claim, and the runs that it stopped at when it was last read."""

    read: Callable[[], None]
    missing: tuple[Run, ...] = ()
    is_decided: bool = False

    def read_again(self) -> None:
        """Read the claim; whatever else ends its test is the test's to report when it is run."""
        try:
            self.read()
        except RunsMissing as stopped:
            self.missing = stopped.runs
        except Exception:
            self.missing, self.is_decided = (), True
        else:
            self.missing, self.is_decided = (), True


class Plan:
    """The runs that all selected claims need.

    `asked` grows with what the claims ask for when they are read.
    """

    def __init__(
        self,
        claims: Sequence[Callable[[], None]],
        *,
        is_settled: Callable[[Run], bool],
        asked: Set[Run],
    ) -> None:
        self._claims = [PlannedClaim(read) for read in claims]
        self._is_settled = is_settled
        self.asked = asked

    @property
    def claims(self) -> int:
        """The number of claims."""
        return len(self._claims)

    @property
    def decided(self) -> int:
        """The number of claims that miss no run any more."""
        return sum(claim.is_decided for claim in self._claims)

    def missing(self) -> list[Run]:
        """Return the distinct runs that the claims miss now.

        A claim is read again when all that it stopped at is there.
        """
        missing: dict[Run, None] = {}
        is_settled = cache(self._is_settled)  # claims share most of their runs
        for claim in self._claims:
            claim.missing = tuple(run for run in claim.missing if not is_settled(run))
            if not claim.missing and not claim.is_decided:
                claim.read_again()
            missing.update(dict.fromkeys(claim.missing))
        return list(missing)
