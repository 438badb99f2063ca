"""Trains a random sample of packed runs again, and holds them against what was packed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from repro.arm import Values
from repro.evidence.again import Again, NotTrained, elsewhere
from repro.evidence.frame import Drawable, Frame
from repro.evidence.rounding import (
    BLIND,
    MARGIN,
    Difference,
    distances,
    numbers,
    spreads,
    worst,
)
from repro.evidence.sampling import Sampling
from repro.runs.identity import packages_of
from repro.runs.provenance import provenance


class Finding(StrEnum):
    """The finding on a packed result once its run is trained again."""

    SAME = "the same bits"
    ROUNDED = "the same but for rounding"
    WRONG = "another result"
    NOT_TRAINED = "could not be trained again"


@dataclass(frozen=True)
class Trained:
    """A run that was drawn, and what training it again gave."""

    drawn: Drawable
    seconds: float
    here: Values | None = None
    """None where it could not be trained."""
    elsewhere: Values | None = None
    """Its values as another processor would round; trained where the bits are not the same."""
    why: str = ""
    """The reason why it could not be trained."""

    @property
    def packed(self) -> Values:
        return self.drawn.record.result.values

    @property
    def is_same(self) -> bool:
        return self.here == self.packed


@dataclass(frozen=True)
class Checked:
    """A run of the sample, and what is found of it."""

    trained: Trained
    finding: Finding
    must_be_same: bool
    """True where the same kind of machine and the same versions trained it."""
    difference: Difference | None = None
    """The place that is farthest from what rounding allows, where the bits are not the same."""

    is_blind: bool = False
    """True where rounding alone moves what the run ends with too far for it to be compared."""

    @property
    def is_clean(self) -> bool:
        return self.finding in (Finding.SAME, Finding.ROUNDED)


@dataclass(frozen=True)
class Plan:
    """The draws of an audit: from which runs, how many, in how much time, by which seed."""

    frame: Frame
    draws: int
    seconds: float
    seed: int
    device: str

    @property
    def sampling(self) -> Sampling:
        """The chance of each run of the frame."""
        costs = [each.seconds for each in self.frame.drawable]
        return Sampling.within(costs, draws=self.draws, seconds=self.seconds)


def train_sample(plan: Plan) -> Iterator[Trained]:
    """Draw runs one after the other and train each again, until there are enough or time is over.

    The run that is training when time is over is finished: to drop it would spare costly runs.

    >>> for trained in train_sample(plan):
    ...     print(trained.drawn.run.seed, trained.is_same)
    """
    engines = {run: each.result.provenance["engine"] for run, each in plan.frame.runs.items()}
    here = Again(engines, device=plan.device)
    began = time.monotonic()
    with elsewhere(engines, device=plan.device) as other:
        for place in islice(plan.sampling.order(plan.seed), plan.draws):
            if time.monotonic() - began > plan.seconds:
                return
            drawn, start = plan.frame.drawable[place], time.monotonic()
            try:
                values = here.values(drawn.run)
                is_same = values == drawn.record.result.values
                rounded = None if is_same else other.values(drawn.run)
            except NotTrained as error:
                yield Trained(drawn, time.monotonic() - start, why=str(error))
            else:
                yield Trained(drawn, time.monotonic() - start, values, rounded)


def check(plan: Plan, trained: Trained) -> Checked:
    """Return what is found of a run that was trained again."""
    must_be_same = is_of_this_machine(trained.drawn, plan.device)
    if trained.here is None:
        return Checked(trained, Finding.NOT_TRAINED, must_be_same)
    if trained.is_same:
        return Checked(trained, Finding.SAME, must_be_same)
    arm = trained.drawn.run.arm
    packed, here = numbers(arm, trained.packed), numbers(arm, trained.here)
    elsewhere = numbers(arm, trained.elsewhere or trained.here)
    among = spreads(
        [
            numbers(arm, record.result.values)
            for run, record in plan.frame.runs.items()
            if run.arm == arm
        ]
    )
    measured = distances(elsewhere, here, among)
    difference = worst(distances(packed, here, among), measured)
    has_diverged = ["diverged_at" in each for each in (trained.packed, trained.here)]
    is_rounding = difference is not None and difference.is_rounding and len(set(has_diverged)) == 1
    finding = Finding.ROUNDED if is_rounding and not must_be_same else Finding.WRONG
    is_blind = MARGIN * max(measured.values(), default=0.0) > BLIND
    return Checked(trained, finding, must_be_same, difference, is_blind)


def is_of_this_machine(drawn: Drawable, device: str) -> bool:
    """Return whether a run was trained by this kind of machine, with the versions that are here."""
    made, here = drawn.record.result.provenance, provenance(device, 0.0, 1)
    packages = {**here["packages"], **packages_of(drawn.run.arm)}
    return (made.get("machine"), made.get("packages")) == (here["machine"], packages)
