"""Keep or discard: decides on an edit after each new run, and says how many more runs it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from repro.judge import Outcome, Verdict
from repro.judge.anytime import further
from repro.judge.mistakes import is_count
from repro.judge.scale import Array
from repro.recorded.notebook import Spread, judge
from repro.recorded.rows import RecordedError

LEVEL = 0.001
"""The chance that an edit without any effect is ever kept, if no other level is given."""

MOST = 12
"""The most runs of either side, if no other number is given."""

_HOPED = 2.0
"""An edit is given up that would not be kept if it were so many standard errors better."""

_FEW = 3
"""With fewer runs, a sample is taken to spread like the other one in what is hoped for."""

Runs: TypeAlias = Sequence[float] | Mapping[int, float]


class Choice(StrEnum):
    """What to do with an edit."""

    KEEP = "keep"
    DISCARD = "discard"
    RUN_MORE = "run more"


@dataclass(frozen=True)
class Decision:
    """The choice, why, and the runs that it takes if it is still open."""

    choice: Choice
    why: str
    candidate: int = 0
    """Further runs of the candidate that would just have it kept."""
    baseline: int = 0
    """Further runs of the baseline beside them."""
    verdict: Verdict | None = None
    """The comparison behind it; None before either side has two runs."""


def decide(
    baseline: Runs,
    candidate: Runs,
    *,
    lower: bool,
    margin: float = 0.0,
    level: float = LEVEL,
    most: int = MOST,
    paired: bool = False,
    spread: Spread = "own",
) -> Decision:
    """Decide whether to keep an edit, from the runs with it and those without.

    Ask again after each new run. An edit that is no better by `margin` is ever kept with a chance
    of at most `level`, however often one asks. It is discarded if it is shown to be worse, if it
    has `most` runs, or if so many runs of both would not have it kept although it were two standard
    errors better than it looks. Discarding costs chances, and no error.

    >>> baseline = [0.992, 0.991, 0.993, 0.990, 0.994, 0.992, 0.991, 0.993]
    >>> decide(baseline, [0.9925], lower=True).choice
    <Choice.DISCARD: 'discard'>
    >>> decide(baseline, [0.984, 0.983], lower=True).choice
    <Choice.RUN_MORE: 'run more'>
    >>> decide(baseline, [0.982, 0.983, 0.981, 0.984, 0.982, 0.983], lower=True).choice
    <Choice.KEEP: 'keep'>
    """
    if not is_count(most, least=2):
        raise RecordedError(f"The most runs are {most!r}: give a whole number of at least 2.")
    if not 0 <= margin < float("inf"):
        raise RecordedError(f"The margin is {margin!r}: give 0, or the least gain that counts.")
    if paired:
        baseline, candidate = _pairs(baseline, candidate)
    first, other = _numbers("candidate", candidate), _numbers("baseline", baseline)
    if len(other) < 2:
        return Decision(
            Choice.RUN_MORE, "one run of the baseline has no spread", baseline=2 - len(other)
        )
    gain = (other.mean() - first.mean()) * (1 if lower else -1) - margin
    verdict = None
    if len(first) > 1:
        verdict = judge(
            {"candidate": candidate, "baseline": baseline},
            lambda new, old: (
                new.falls_below(old, by_at_least=margin)
                if lower
                else new.exceeds(old, by_at_least=margin)
            ),
            paired=paired,
            level=level,
            looks="any",
            spread=spread,
        )
        if verdict.outcome is Outcome.REPRODUCED:
            return Decision(Choice.KEEP, "better", verdict=verdict)
        if verdict.outcome is Outcome.REFUTED:
            return Decision(Choice.DISCARD, "worse, or no better by the margin", verdict=verdict)
    if len(first) >= most:
        return Decision(Choice.DISCARD, f"not shown within {most} runs", verdict=verdict)
    samples = [first - other] if paired else [first, other]
    variances = _variances(samples, same=spread == "same")
    error = sum(v / len(x) for v, x in zip(variances, samples, strict=True)) ** 0.5
    if not error:
        why = "no run differs from another: does the training use its seed?"
        return Decision(Choice.DISCARD, why, verdict=verdict)
    for hoped in (0.0, 1.0, _HOPED):
        more = further(
            max(0.0, float(gain + hoped * error)),
            variances,
            [len(x) for x in samples],
            level=level,
            most=most,
            freedom=sum(map(len, samples)) - 2 if spread == "same" else None,
        )
        if more:
            return Decision(Choice.RUN_MORE, "open", more[0], more[-1], verdict)
    why = f"{most} runs would not have it kept, even if it were two standard errors better"
    return Decision(Choice.DISCARD, why, verdict=verdict)


def _numbers(name: str, runs: Runs) -> Array:
    values = [runs[seed] for seed in sorted(runs)] if isinstance(runs, Mapping) else list(runs)
    numbers = np.array(values, dtype=float)
    if not len(numbers):
        raise RecordedError(f"The {name} has no run.")
    if not np.isfinite(numbers).all():
        raise RecordedError(f"The {name} has a run without a finite value: leave it out.")
    return numbers


def _pairs(baseline: Runs, candidate: Runs) -> tuple[dict[int, float], dict[int, float]]:
    """Return the runs of seeds that both have."""
    if not (isinstance(baseline, Mapping) and isinstance(candidate, Mapping)):
        raise RecordedError("Pairs are made by seed: give both sides as values by seed.")
    both = [seed for seed in sorted(candidate) if seed in baseline]
    if len(both) < len(candidate):
        alone = next(seed for seed in sorted(candidate) if seed not in baseline)
        raise RecordedError(
            f"The candidate has seed {alone}, which the baseline has not: run it there, too."
        )
    return {seed: baseline[seed] for seed in both}, {seed: candidate[seed] for seed in both}


def _variances(samples: Sequence[Array], *, same: bool) -> list[float]:
    """Return the variance of each sample, or of all together where it is the same or too few."""
    squares = [float(((x - x.mean()) ** 2).sum()) for x in samples]
    together = sum(squares) / max(1, sum(map(len, samples)) - len(samples))
    return [
        together if same or len(x) < _FEW else square / (len(x) - 1)
        for x, square in zip(samples, squares, strict=True)
    ]
