"""From claims to the runs they still need.

A claim is read by running its test against the store: it either comes to a verdict or stops at the
runs it misses. So the first reading finds the arms of every claim, and later ones find the further
seeds of those that are undecided, before any test is judged for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from repro.arm import Run


class RunsMissing(Exception):
    """Raised where a claim needs runs that are not stored yet."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)
        super().__init__(f"{len(self.runs)} runs are not trained yet")


@dataclass(frozen=True)
class Profile:
    """How large a session is: the size of the arms, and the seeds at which the judge looks."""

    name: str
    looks: tuple[int, ...]

    def within(self, budget: int | None) -> Profile:
        """The same profile with at most `budget` seeds an arm."""
        if budget is None:
            return self
        looks = tuple(n for n in self.looks if n < budget)
        return Profile(self.name, (*looks, budget))


PROFILES = {
    "ci": Profile("ci", (5, 8, 12)),
    "paper": Profile("paper", (3, 5, 8, 12)),  # the documented three seeds first
}


@dataclass
class Reading:
    """One claim, and the runs it stopped at when it was last read."""

    read: Callable[[], None]
    missing: tuple[Run, ...] = ()
    settled: bool = False

    def again(self) -> None:
        """Read the claim; whatever else ends its test is the test's to report when it is run."""
        try:
            self.read()
        except RunsMissing as stopped:
            self.missing = stopped.runs
        except Exception:
            self.missing, self.settled = (), True
        else:
            self.missing, self.settled = (), True


class Plan:
    """All selected claims."""

    def __init__(
        self, readings: Sequence[Callable[[], None]], *, is_stored: Callable[[Run], bool]
    ) -> None:
        self.readings = [Reading(read) for read in readings]
        self.is_stored = is_stored

    def wanted(self) -> list[Run]:
        """The distinct runs that the claims miss now."""
        wanted: dict[Run, None] = {}
        is_stored = cache(self.is_stored)  # claims share most of their runs
        for reading in self.readings:
            reading.missing = tuple(run for run in reading.missing if not is_stored(run))
            if not reading.missing and not reading.settled:
                reading.again()
            wanted.update(dict.fromkeys(reading.missing))
        return list(wanted)
