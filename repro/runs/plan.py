"""The plan: which runs the selected claims still need.

A claim is read by running its test against the results: it either comes to a verdict or stops at
the runs that it misses. So the first reading finds the arms of every claim, and later ones find the
further seeds of those that are undecided, before any test is judged for good.

Reading must come to the same while the results are the same. A claim that asks for other arms each
time would have runs trained for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cache

from repro.arm import Arm, Run
from repro.runs.identity import name_of
from repro.store import StoreError


class TrainingFailed(Exception):
    """A run that a claim needs could not be trained; says which, and why."""


class RunsMissing(TrainingFailed):
    """A claim needs runs that are not stored yet.

    Its text is for a claim that is judged, when all runs are there that it asked for before.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)
        super().__init__(
            f"asks for other arms each time it is read: {name_of(self.runs[0])}, was not planned;"
            " let the arms of a claim depend on nothing but the results."
        )


@dataclass
class PlannedClaim:
    """One claim, and the runs that it stopped at when it was last read."""

    read: Callable[[], None]
    missing: tuple[Run, ...] = ()
    is_decided: bool = False
    arms: set[Arm] = field(default_factory=set)
    """The arms whose runs it has ever stopped at."""

    def read_again(self, is_settled: Callable[[Run], bool]) -> None:
        """Read the claim; whatever else ends its test is the test's to report when it is run."""
        self.missing = self._stops_at()
        new = {run.arm for run in self.missing} - self.arms
        if self.arms and new and self._stops_elsewhere(is_settled):
            self.missing = ()
        self.arms |= new
        self.is_decided = not self.missing

    def _stops_at(self) -> tuple[Run, ...]:
        try:
            self.read()
        except RunsMissing as stopped:
            return stopped.runs
        except StoreError:
            raise
        except Exception:
            return ()
        return ()

    def _stops_elsewhere(self, is_settled: Callable[[Run], bool]) -> bool:
        """Return whether another reading stops at other runs while these are not all trained."""
        others = set(self._stops_at()) - set(self.missing)
        return bool(others) and not all(map(is_settled, self.missing))


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
                claim.read_again(self._is_settled)
            missing.update(dict.fromkeys(claim.missing))
        return list(missing)
