"""The plan: the missing runs of each selected claim, and the claims that miss none.

To read a claim is to call its test with the results so far. The test comes to its end, or stops at
missing runs. So the first reading finds the arms of every claim, and later readings find further
seeds for undecided claims.

With the same results, a claim must ask for the same runs. A claim that asks for other arms each
time would train for ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from repro.arm import Arm, Run
from repro.runs.results import RunsMissing
from repro.store import StoreError

Claim = TypeVar("Claim", bound=Hashable)


@dataclass
class _Reading:
    """The readings of one claim so far."""

    read: Callable[[], None]
    missing: dict[Run, None] = field(default_factory=dict)
    arms: set[Arm] = field(default_factory=set)
    """The arms of all runs that it has ever missed."""

    def again(self, is_done: Callable[[Run], bool]) -> None:
        """Read the claim; ignore other errors of its test, which pytest reports when it runs it."""
        self.missing = dict.fromkeys(self._stops_at())
        new = {run.arm for run in self.missing} - self.arms
        if self.arms and new and self._stops_elsewhere(is_done):
            self.missing = {}
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
    """The claims of a session, with the runs that each of them misses.

    `claims` are read to know what they miss. The claims in `ready` miss nothing, and those in
    `last` are ready when no other claim misses a run. The runs of an `urgent` plan are trained
    before those of others.

    >>> plan = Plan({item: partial(read, item) for item in items}, is_done=results.is_done)
    >>> while not (ready := plan.take_ready()):
    ...     train(plan.missing)
    """

    def __init__(
        self,
        claims: Mapping[Claim, Callable[[], None]],
        *,
        is_done: Callable[[Run], bool],
        ready: Iterable[Claim] = (),
        last: Iterable[Claim] = (),
        urgent: bool = False,
    ) -> None:
        self._readings = {claim: _Reading(read) for claim, read in claims.items()}
        self._is_done = is_done
        self._unread = deque(self._readings)
        self._ready, self._last = deque(ready), deque(last)
        self._waiting: dict[Run, list[Claim]] = {}
        self._new: list[list[Run]] = []
        self.urgent = urgent

    @property
    def claims(self) -> int:
        """The number of claims that are read."""
        return len(self._readings)

    @property
    def open(self) -> int:
        """The number of claims that miss runs, among those read so far."""
        return sum(bool(reading.missing) for reading in self._readings.values())

    @property
    def missing(self) -> Collection[Run]:
        """The distinct runs that claims wait for."""
        return self._waiting.keys()

    def take_new(self) -> list[list[Run]]:
        """Return the missing runs of each claim that was read since this was called last."""
        new, self._new = self._new, []
        return new

    @property
    def next_ready(self) -> Claim | None:
        """The claim that `take_ready` returns, if it is called now."""
        while not self._ready and self._unread:
            self._read(self._unread.popleft())
        if not self._ready and not self._waiting:
            self._ready, self._last = self._last, self._ready
        return self._ready[0] if self._ready else None

    def take_ready(self) -> Claim | None:
        """Return a claim that misses no run, each claim once; None where all others miss runs."""
        ready = self.next_ready
        if ready is not None:
            self._ready.popleft()
        return ready

    def read_all(self) -> None:
        """Read all claims that were not read yet."""
        while self._unread:
            self._read(self._unread.popleft())

    def look(self, runs: Iterable[Run]) -> bool:
        """Note which of these runs are done, and read the claims again that now miss none.

        Returns whether any claim was read.
        """
        again: list[Claim] = []
        for run in [run for run in runs if run in self._waiting and self._is_done(run)]:
            for claim in self._waiting.pop(run):
                reading = self._readings[claim]
                del reading.missing[run]
                if not reading.missing:
                    again.append(claim)
        for claim in again:
            self._read(claim)
        return bool(again)

    def _read(self, claim: Claim) -> None:
        reading = self._readings[claim]
        reading.again(self._is_done)
        for run in reading.missing:
            self._waiting.setdefault(run, []).append(claim)
        if reading.missing:
            self._new.append(list(reading.missing))
        else:
            self._ready.append(claim)
