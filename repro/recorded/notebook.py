"""Verdicts on given numbers without pytest, for a notebook or a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from repro.arm import Metric
from repro.judge import Judge, Measured, OneLook, Scale, Verdict
from repro.recorded.rows import RecordedError
from repro.recorded.runs import ranges

METRIC = Metric("identity")


def judge(
    arms: Mapping[str, Sequence[float] | Mapping[int, float]],
    claim: Callable[..., Verdict] | None = None,
    *,
    metric: str = "value",
    on: Metric = METRIC,
    paired: bool = False,
) -> Verdict:
    """Judge a claim about arms with given values over seeds, in one look at all values.

    `claim` is a function of the arms, in their order, that returns a finding. By default it claims
    that the first arm exceeds the second. Values are a list, or a mapping from seeds; with
    `paired=True` values at the same index, or of the same seed, are paired. `on` is the scale and
    the other properties of the metric.

    >>> print(judge({"smooth": [0.94, 0.95, 0.94, 0.95], "plain": [0.91, 0.9, 0.91, 0.9]}).outcome)
    reproduced
    >>> accuracy = Metric("log-odds", examples=10_000)
    >>> verdict = judge({"a": [0.90, 0.91, 0.90], "b": [0.90, 0.91, 0.91]},
    ...                 lambda a, b: a.is_within(0.05, of=b), metric="accuracy", on=accuracy)
    >>> verdict.seeds
    3
    """
    if claim is None and len(arms) != 2:
        raise RecordedError(
            f"judge(…) is given {len(arms)} arms and no claim: give two, of which the first should"
            " be larger, or a claim such as lambda a, b, c: (a > c) & (b > c)."
        )
    samples = {name: _values(name, values) for name, values in arms.items()}
    if paired:
        _require_pairs(arms)
    both = Judge(OneLook(looks=(max(map(len, samples.values())),)))
    measured = [
        _measured(both, name, sample, metric, on, paired) for name, sample in samples.items()
    ]
    verdict: object = claim(*measured) if claim else measured[0] > measured[1]
    if not isinstance(verdict, Verdict):
        raise RecordedError(
            f"The claim returned {verdict!r}, which is no finding: return a > b, a.is_within(…) or"
            " several joined by &."
        )
    return verdict


def _values(name: str, values: Sequence[float] | Mapping[int, float]) -> Any:
    ordered = [values[seed] for seed in sorted(values)] if isinstance(values, Mapping) else values
    sample = np.array([float("nan") if each is None else each for each in ordered], dtype=float)
    if sample.ndim != 1 or len(sample) < 2:
        raise RecordedError(
            f"{name} has values of shape {sample.shape}: give one number a run, of"
            " two runs or more."
        )
    return sample


def _require_pairs(arms: Mapping[str, Sequence[float] | Mapping[int, float]]) -> None:
    seeds = {
        name: set(values) if isinstance(values, Mapping) else set(range(1, len(values) + 1))
        for name, values in arms.items()
    }
    every = set().union(*seeds.values())
    for name, own in seeds.items():
        if own != every:
            raise RecordedError(
                f"{name} has no value at seed {ranges(every - own)}, which another arm has:"
                " paired=True takes the same seeds of all."
            )


def _measured(
    both: Judge, name: str, sample: Any, metric: str, on: Metric, paired: bool
) -> Measured:
    return Measured(
        judge=both,
        label=name,
        metric=metric,
        values=lambda count: sample[:count],
        scale=Scale(on.scale, count=on.examples),
        is_exact=on.exact,
        pairing=None if paired else name,
        origin=name,
    )
