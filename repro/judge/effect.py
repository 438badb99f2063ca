"""One comparison of a statement as a verdict reports it, and the sides that it compares."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal

from repro.judge.shrinkage import Excess


@dataclass(frozen=True)
class Sample:
    """One side of a statement, and its value on each seed that was used, in their order."""

    label: str
    values: tuple[float, ...]
    is_fixed: bool = False
    """True for a number that a claim names, which is the same on every seed."""
    examples: int = 0
    """The number of examples each value is the mean of, where their error is counted."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One comparison of a statement, at the look where the verdict fell.

    `estimate`, `low` and `high` are in the natural unit (`unit`), measured at the typical value of
    the right side. The interval is the one whose end touches the bound exactly when p touches the
    boundary; it holds over all looks together.
    """

    label: str
    unit: str
    bound: float
    below: bool
    """True where the claim is that the estimate lies below the bound, not above it."""
    estimate: float
    low: float
    high: float
    p_for: float
    p_against: float
    boundary: float
    """The `p_for` at which the comparison holds."""
    boundary_against: float
    """The `p_against` at which it fails."""
    seeds: int
    corrected: float | None = None
    """The estimate corrected for stopping at a clear answer, of the only term of a statement."""
    distance: float
    """The distance past the bound; infinite where nothing depends on the seed.

    That of a difference is in standard deviations over seeds, that of a spread a logarithm, that of
    a share of runs is one, that of a run its distance inside the width, in standard deviations.
    """
    excess: Excess | None = None
    """The distance of a difference as it was measured: mean, spread and seeds on the scale."""
    detectable: float
    """The effect that the whole budget finds with 80 % power, at the spread measured."""
    detectable_in_sd: float = 0.0
    """The same for a difference, as standard deviations over seeds past the bound."""
    correlation: float | None = None
    """Pearson's r of the two sides over seeds: what the pairing is worth."""
    unusual: tuple[str, ...] = ()
    """The unusual patterns of the seeds, in words."""
    alike: bool = False
    """True where all seeds gave the same, though they need not have."""
    spread: float = 0.0
    """The standard deviation over seeds of a difference, on the scale."""
    fixed_variance: float = 0.0
    """The part of the variance of the mean that comes from the examples, and not from seeds."""
    examples: int = 0
    """The number of the examples behind that part."""
    counts: tuple[int, ...] = ()
    """The numbers of seeds of samples that are not paired; empty where they are."""
    needed: bool = True
    """False for comparisons that follow from the others: they can only refute."""
    kind: Literal["difference", "spread", "share", "run"] = "difference"
    """A `run` is what one run gives, or the mean of a few, beside a documented one as the bound."""
    width: str = ""
    """The words for how near to the bound a run must be shown to be."""
    sides: tuple[int, ...] = ()
    """The places of its sides among the samples of the verdict, in the order of its label."""
    per_seed: tuple[float, ...] = ()
    """The same comparison on each seed alone; of a spread, the values themselves."""

    @property
    def holds(self) -> bool:
        return self.p_for <= self.boundary and not (self.alike or self.fails)

    @property
    def fails(self) -> bool:
        return self.p_against <= self.boundary_against and not self.alike

    @property
    def counted(self) -> str:
        """The number of seeds in words; of two samples that differ in it, both."""
        if len(set(self.counts)) < 2:
            return f"{self.seeds} seeds"
        return f"{' and '.join(map(str, self.counts))} seeds"

    @property
    def is_ruled_by_examples(self) -> bool:
        """True where most of the variance comes from the examples, which more seeds do not add."""
        return 2 * self.seeds * self.fixed_variance > self.spread**2

    @property
    def has_spread(self) -> bool:
        """False where every seed gave the same difference, so that nothing had to be inferred."""
        return abs(self.distance) != float("inf")
