"""The plan: which runs the selected claims still need.

A claim is read by running its test against the results: it either comes to a verdict or stops at
the runs that it misses. So the first reading finds the arms of every claim, and later ones find the
further seeds of those that are undecided, before any test is judged for good.

Claims that are not decided yet may want further seeds; how likely that is tells the time that is
left.

Reading must come to the same while the results are the same. A claim that asks for other arms each
time would have runs trained for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from repro.arm import Arm, Run
from repro.runs.identity import name_of
from repro.store import StoreError

Later = Mapping[int, float]
"""The chance that a claim comes to so many seeds of its arms, by that number."""

LaterOf = Callable[[Set[Arm]], Later]
"""Tells these chances of a claim, once its arms are known."""


class TrainingFailed(Exception):
    """A run that a claim needs could not be trained; says which, and why.

    `details` are the traceback and what training printed, where its own code raised.
    """

    def __init__(self, why: str, *, details: str = "") -> None:
        self.details = details
        super().__init__(why)


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
    missing: dict[Run, None] = field(default_factory=dict)
    is_decided: bool = False
    later: LaterOf = lambda arms: {}
    arms: set[Arm] = field(default_factory=set)
    """The arms whose runs it has ever stopped at."""

    def read_again(self, is_settled: Callable[[Run], bool]) -> None:
        """Read the claim; whatever else ends its test is the test's to report when it is run."""
        self.missing = dict.fromkeys(self._stops_at())
        new = {run.arm for run in self.missing} - self.arms
        if self.arms and new and self._stops_elsewhere(is_settled):
            self.missing = {}
        self.arms |= new
        self.is_decided = not self.missing

    @property
    def compared(self) -> set[Arm]:
        """Its arms, without those that others start from: it wants no further seeds of those."""
        starts = {arm.starts_from.arm for arm in self.arms if arm.starts_from is not None}
        return self.arms - starts

    def goes_on_to(self) -> Later:
        """Return the chances of more seeds than it misses now, given that it has come to these."""
        later = self.later(self.compared)
        wanted = max(_place(run, most=max(later, default=0)) for run in self.missing)
        reached = min((seeds for seeds in later if seeds >= wanted), default=None)
        if reached is None:
            return {}
        base = later[reached] or 1.0
        return {n: min(1.0, chance / base) for n, chance in later.items() if n > reached}

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
        others = set(self._stops_at()) - self.missing.keys()
        return bool(others) and not all(map(is_settled, self.missing))


class Plan:
    """The runs that all selected claims need.

    `asked` grows with what the claims ask for when they are read. `settled` is told the place of
    each claim once it misses nothing any more. `later` has the chances of further seeds of each.
    """

    def __init__(
        self,
        claims: Sequence[Callable[[], None]],
        *,
        is_settled: Callable[[Run], bool],
        asked: Collection[Run],
        settled: Callable[[int], None] = lambda place: None,
        later: Sequence[LaterOf] = (),
    ) -> None:
        self._claims = [PlannedClaim(read) for read in claims]
        for claim, chances in zip(self._claims, later, strict=False):
            claim.later = chances
        self._settled = settled
        self._is_settled = is_settled
        self._unread = set(range(len(self._claims)))
        self._open: dict[int, PlannedClaim] = {}
        self._waiting: dict[Run, list[int]] = {}
        """The places of the open claims that miss a run, by the run."""
        self._is_stale = False
        """True where a claim was read whose missing runs are not in `_waiting` yet."""
        self.asked = asked

    @property
    def claims(self) -> int:
        """The number of claims."""
        return len(self._claims)

    @property
    def decided(self) -> int:
        """The number of claims that miss no run any more."""
        return self.claims - len(self._unread) - len(self._open)

    def read(self, place: int) -> bool:
        """Read a claim, and return whether it is decided; `settled` is not told of it."""
        claim = self._claims[place]
        claim.read_again(self._is_settled)
        self._unread.discard(place)
        if not claim.is_decided:
            self._open[place] = claim
            self._is_stale = True
        return claim.is_decided

    def decide(self, place: int) -> None:
        """Take a claim for decided without reading it, since another process has read it."""
        self._unread.discard(place)

    def missing(self) -> list[Run]:
        """Return the distinct runs that the claims miss now, in the order of the claims.

        A claim is looked at where one of its runs has come, and read again when all have.
        """
        for run in [run for run in self._waiting if self._is_settled(run)]:
            for place in self._waiting.pop(run):
                claim = self._open[place]
                del claim.missing[run]
                if not claim.missing:
                    del self._open[place]
                    self._unread.add(place)
        for place in sorted(self._unread):
            if self.read(place):
                self._settled(place)
        if self._is_stale:
            self._waiting, self._is_stale = self._places(), False
        return list(self._waiting)

    def missing_by_claim(self) -> list[tuple[Run, ...]]:
        """Return the runs that each claim stopped at when the plan was last asked."""
        return [tuple(claim.missing) for claim in self._in_order()]

    def _places(self) -> dict[Run, list[int]]:
        places: dict[Run, list[int]] = {}
        for place in sorted(self._open):
            for run in self._open[place].missing:
                places.setdefault(run, []).append(place)
        return places

    def _in_order(self) -> list[PlannedClaim]:
        return [claim for _, claim in sorted(self._open.items())]

    def likely(self) -> dict[Run, float]:
        """Return the runs that no claim has asked for yet, each with the chance that one will.

        Claims of the same arms are open together more often than not, so the largest chance counts.
        """
        chances: dict[Arm, dict[int, float]] = {}
        for claim in self._in_order():
            further = claim.goes_on_to()
            for arm in claim.compared if further else ():
                of_arm = chances.setdefault(arm, {})
                for seeds, chance in further.items():
                    of_arm[seeds] = max(chance, of_arm.get(seeds, 0.0))
        likely: dict[Run, float] = {}
        for arm, of_arm in chances.items():
            for seeds, chance in sorted(of_arm.items()):  # the first seeds have the best chance
                for seed in arm.seeds(seeds):
                    run = Run(arm, seed)
                    if run not in self.asked and run not in likely:
                        likely[run] = chance
        return likely


def _place(run: Run, *, most: int) -> int:
    """Return how many seeds of its arm take in this run; one more than `most` where they do not."""
    seeds = run.arm.seeds(most)
    return seeds.index(run.seed) + 1 if run.seed in seeds else most + 1
