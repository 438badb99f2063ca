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

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache

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
    missing: tuple[Run, ...] = ()
    is_decided: bool = False
    later: LaterOf = lambda arms: {}
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
        others = set(self._stops_at()) - set(self.missing)
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
        asked: Set[Run],
        settled: Callable[[int], None] = lambda place: None,
        later: Sequence[LaterOf] = (),
    ) -> None:
        self._claims = [PlannedClaim(read) for read in claims]
        for claim, chances in zip(self._claims, later, strict=False):
            claim.later = chances
        self._settled = settled
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
        for place, claim in enumerate(self._claims):
            claim.missing = tuple(run for run in claim.missing if not is_settled(run))
            if not claim.missing and not claim.is_decided:
                claim.read_again(self._is_settled)
                if claim.is_decided:
                    self._settled(place)
            missing.update(dict.fromkeys(claim.missing))
        return list(missing)

    def missing_by_claim(self) -> list[tuple[Run, ...]]:
        """Return the runs that each claim stopped at when the plan was last asked."""
        return [claim.missing for claim in self._claims if claim.missing]

    def likely(self) -> dict[Run, float]:
        """Return the runs that no claim has asked for yet, each with the chance that one will.

        Claims of the same arms are open together more often than not, so the largest chance counts.
        """
        chances: dict[Arm, dict[int, float]] = {}
        for claim in self._claims:
            further = claim.goes_on_to() if claim.missing else {}
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
