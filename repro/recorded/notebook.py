"""Verdicts on given numbers without pytest, for a notebook or a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from repro.arm import Metric
from repro.judge import (
    LEVEL,
    Judge,
    Measured,
    Runs,
    Scale,
    Verdict,
    require_level,
)
from repro.judge.anytime import declared_design
from repro.judge.scale import Array
from repro.recorded.rows import RecordedError, require_spread
from repro.recorded.runs import ranges, steps_of

METRIC = Metric("identity")

Spread: TypeAlias = Literal["own", "same"]
"""Whether each arm has a spread of its own, or all have one."""


def judge(
    arms: Mapping[str, Sequence[float] | Mapping[int, float]],
    claim: Callable[..., Verdict] | None = None,
    *,
    metric: str = "value",
    on: Metric = METRIC,
    paired: bool = False,
    level: float = LEVEL,
    looks: Literal["any"] | None = None,
    spread: Spread = "own",
) -> Verdict:
    """Judge a claim about arms with given values over seeds, in one look at all values.

    `claim` is a function of the arms, in their order, that returns a finding. By default it claims
    that the first arm exceeds the second. Values are a list, or a mapping from seeds; with
    `paired=True` values at the same index, or of the same seed, are paired. `on` is the scale and
    the other properties of the metric.

    `level` is the chance of a false verdict in one direction, chosen before. With `looks="any"` one
    may judge after each further run and stop when one likes; without it, a second look at more runs
    does not keep the level. `spread="same"` says that all arms have one spread, which few runs then
    estimate together.

    >>> print(judge({"smooth": [0.94, 0.95, 0.94, 0.95], "plain": [0.91, 0.9, 0.91, 0.9]}).outcome)
    reproduced
    >>> accuracy = Metric("log-odds", examples=10_000)
    >>> verdict = judge({"a": [0.90, 0.91, 0.90], "b": [0.90, 0.91, 0.91]},
    ...                 lambda a, b: a.is_within(0.05, of=b), metric="accuracy", on=accuracy)
    >>> verdict.seeds
    3
    >>> judge({"new": [1.1, 1.2, 1.3], "old": [2.0, 2.1, 2.1]}, lambda a, b: a < b, spread="same")
    <reproduced: old - new = 0.867 [0.56, 1.17], 3 runs, unpaired, one spread, level 0.5 %>
    """
    if claim is None and len(arms) != 2:
        raise RecordedError(
            f"judge(…) is given {len(arms)} arms and no claim: give two, of which the first should"
            " be larger, or a claim such as lambda a, b, c: (a > c) & (b > c)."
        )
    if looks not in (None, "any"):
        raise RecordedError(f'looks={looks!r} is not known: say looks="any", or leave it out.')
    by_seed = {name: _by_seed(name, values) for name, values in arms.items()}
    most = max(map(len, by_seed.values()))
    both = Judge(declared_design(looks, most=most, level=require_level(level)))
    keys = [key for values in arms.values() if isinstance(values, Mapping) for key in values]
    has_seeds = (paired or keys) and not any(isinstance(key, str) for key in keys)
    word = "seeds" if has_seeds else "runs"
    measured = measured_arms(
        both, by_seed, metric=metric, on=on, paired=paired, spread=spread, word=word
    )
    verdict: object = claim(*measured) if claim else measured[0] > measured[1]
    if not isinstance(verdict, Verdict):
        raise RecordedError(
            f"The claim returned {verdict!r}, which is no finding: return a > b, a.is_within(…) or"
            " several joined by &."
        )
    return verdict


def measured_arms(
    both: Judge,
    arms: Mapping[str, Mapping[Any, object]],
    *,
    metric: str,
    on: Metric,
    paired: bool,
    spread: Spread,
    word: str,
    others: Mapping[str, Mapping[Any, object]] = {},
) -> list[Measured]:
    """Return the arms of values by seed for a judge; raises `RecordedError`.

    With one spread for all, that of the `others` is the same, where they have two runs.
    """
    require_spread(spread, paired=paired)
    every = {**arms, **{name: values for name, values in others.items() if len(values) > 1}}
    samples = {name: _values(name, list(values.values())) for name, values in every.items()}
    if on.scale != "log":
        _require_one_unit(samples)
    if paired:
        _require_pairs(arms, word)
    runs = {
        name: Runs(
            label=name,
            by_seed=dict(zip(every[name], sample.tolist(), strict=True)),
            named=f"{word.removesuffix('s')} {{}}".format,
        )
        for name, sample in samples.items()
    }
    distinct = [np.delete(sample, sorted(runs[name].left_out)) for name, sample in samples.items()]
    same = [values for values in distinct if len(values) > 1]

    scale = Scale(on.scale, count=on.examples or steps_of(on, samples.values()))

    def measured(name: str) -> Measured:
        sample, of_arm = samples[name], runs[name]
        return Measured(
            judge=both,
            label=name,
            metric=metric,
            values=lambda count: sample[:count],
            scale=scale,
            is_exact=on.exact,
            pairing=None if paired else name,
            runs=lambda _: of_arm,
            word=word,
            alike=(lambda: same) if spread == "same" else None,
            origin=(name, metric),
        )

    return list(map(measured, arms))


def _by_seed(name: str, values: Sequence[float] | Mapping[int, float]) -> dict[int, object]:
    """Return the values of an arm by seed; those of a list are numbered from 1."""
    pairs = sorted(values.items()) if isinstance(values, Mapping) else enumerate(values, 1)
    by_seed: dict[int, object] = dict(pairs)
    for seed, value in by_seed.items():
        if isinstance(value, str | bytes | bool):
            raise RecordedError(
                f"{name} has {value!r} at seed {seed}, which is no number: convert it first, as in"
                " float(text)."
            )
    return by_seed


def _values(name: str, values: Sequence[object]) -> Array:
    sample = np.array([float("nan") if each is None else each for each in values], dtype=float)
    if sample.ndim != 1 or len(sample) < 2:
        raise RecordedError(
            f"{name} has values of shape {sample.shape}: give one number a run, of"
            " two runs or more."
        )
    return sample


def _require_one_unit(samples: Mapping[str, Array]) -> None:
    """Raise RecordedError where one arm looks like per cent, and another like shares."""
    per_cent = [name for name, x in samples.items() if np.all((x > 1) & (x <= 100))]
    shares = [name for name, x in samples.items() if np.all((x >= 0) & (x <= 1))]
    for high, low in product(per_cent, shares):
        means = samples[high].mean(), samples[low].mean()
        if means[1] / 2 < means[0] / 100 < 2 * means[1]:
            raise RecordedError(
                f"{high} has values near {means[0]:.3g} and {low} near {means[1]:.3g}, which look"
                " like per cent and shares: give both in one unit. If one is a hundred times the"
                ' other, compare them by their ratio, with on=Metric("log").'
            )


def _require_pairs(by_seed: Mapping[str, Mapping[Any, object]], word: str) -> None:
    every = set[Any]().union(*by_seed.values())
    for name, own in by_seed.items():
        if own.keys() != every:
            missing = every - own.keys()
            named = ranges(missing) if word == "seeds" else ", ".join(sorted(map(str, missing)))
            raise RecordedError(
                f"{name} has no value at {word.removesuffix('s')} {named}, which another arm has:"
                " paired=True takes the same seeds of all."
            )
