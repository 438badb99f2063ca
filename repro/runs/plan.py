"""The plan: the missing runs of each selected claim, and the claims that may miss further ones.

To read a claim is to call its test with the results so far. The test comes to its end, or stops at
missing runs. So the first reading finds the first arms of a claim, and later readings find further
arms, and further seeds for an undecided claim.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from repro.arm import Arm, Run
from repro.runs.results import RunsMissing
from repro.store import StoreError

Claim = TypeVar("Claim", bound=Hashable)


@dataclass
class _Reading:
    """What the readings of one claim have found."""

    read: Callable[[], None]
    missing: dict[Run, None] = field(default_factory=dict)
    arms: set[Arm] = field(default_factory=set)
    """The arms of all runs that it has ever missed."""

    def again(self, is_done: Callable[[Run], bool]) -> None:
        """Read the claim; ignore other errors of its test, which pytest reports when it runs it."""
        self.missing = dict.fromkeys(self._stops_at())
        new = {run.arm for run in self.missing} - self.arms
        if self.arms and new and self._stops_elsewhere(is_done):
            self.missing = {}  # its test asks for what it needs: the plan would train for ever
        self.arms |= new

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

    def _stops_elsewhere(self, is_done: Callable[[Run], bool]) -> bool:
        """Return whether a second reading misses other runs, although these are not yet trained."""
        others = set(self._stops_at()) - self.missing.keys()
        return bool(others) and not all(map(is_done, self.missing))


class Plan(Generic[Claim]):
    """The claims that will be judged, with the runs that each of them misses.

    A claim is to be read, then waits for the runs that it misses, and is to be read again once
    these are over, until it is taken: from then on its test asks for runs itself. A run may be over
    before `look` hears of it, where another session has trained it.

    >>> plan = Plan({item: partial(read, item) for item in items}, is_done=results.is_done)
    >>> plan.read_all()
    >>> for item in items:
    ...     plan.want(plan.take(item))
    ...     training.train(plan)
    """

    def __init__(
        self, claims: Mapping[Claim, Callable[[], None]], *, is_done: Callable[[Run], bool]
    ) -> None:
        self._readings = {claim: _Reading(read) for claim, read in claims.items()}
        self._is_done = is_done
        self._to_read = dict.fromkeys(self._readings)
        """The claims that may miss runs which are not known yet."""
        self._waiting: dict[Run, list[Claim]] = {}
        self._new: list[list[Run]] = []
        self.wanted: dict[Run, None] = {}
        """The missing runs of the claim whose test waits for them."""
        self.claims = len(self._readings)
        """The number of claims, with those that were taken."""

    @property
    def open(self) -> int:
        """The number of claims that miss runs, as far as they were read."""
        others = sum(bool(reading.missing) for reading in self._readings.values())
        return others + bool(self.wanted)

    @property
    def missing(self) -> Collection[Run]:
        """The distinct runs that are wanted, or that claims miss."""
        return {**self.wanted, **self._waiting}.keys()

    def take_new(self) -> list[list[Run]]:
        """Return the missing runs of each claim that was read since this was called last."""
        new, self._new = self._new, []
        return new

    def missed_by(self, claim: Claim) -> list[Run]:
        """Return the missing runs of a claim, as far as it was read."""
        return list(self._readings[claim].missing) if claim in self._readings else []

    def read_all(self) -> bool:
        """Read all claims that may miss further runs; return whether there was any."""
        claims, self._to_read = list(self._to_read), {}
        for claim in claims:
            reading = self._readings[claim]
            reading.again(self._is_done)
            for run in reading.missing:
                self._waiting.setdefault(run, []).append(claim)
            self._new.append(list(reading.missing))
        return bool(claims)

    def take(self, claim: Claim) -> list[Run]:
        """Take a claim out of the plan, since its test is next; return its missing runs."""
        missing = self.missed_by(claim)
        self._readings.pop(claim, None)
        self._to_read.pop(claim, None)
        for run in missing:
            self._waiting[run].remove(claim)
            if not self._waiting[run]:
                del self._waiting[run]
        return missing

    def want(self, runs: Iterable[Run]) -> None:
        """Have these runs trained before all others: a claim waits for them."""
        self.wanted = dict.fromkeys(run for run in runs if not self._is_done(run))

    def look(self, runs: Iterable[Run]) -> bool:
        """Note which of these runs are done; return whether any claim has got all its runs."""
        has_any = False
        for run in list(runs):
            if (run not in self._waiting and run not in self.wanted) or not self._is_done(run):
                continue
            self.wanted.pop(run, None)
            for claim in self._waiting.pop(run, ()):
                missing = self._readings[claim].missing
                del missing[run]
                if not missing:
                    self._to_read[claim] = None
                    has_any = True
        return has_any
