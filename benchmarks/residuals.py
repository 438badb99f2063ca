"""The error rates of the judge on what a store really holds, and whether the scales are right.

    python benchmarks/residuals.py --store .repro            # a minute for a thousand runs
    python benchmarks/residuals.py --store DIR --arms my_study.arms

The calibration of the judge draws normal values. This takes the seeds of the stored runs instead,
by study and metric, and only reads the store. Its table has, in per cent:

`flipped`   pairs of arms that differ in one setting: their differences seed by seed, centred, with
            random signs, so that nothing is there to be found; how often the judge says
            `reproduced` at its looks (0.5 are allowed), and what it says of normal values in the
            same numbers, since a handful of residuals is not a sample of anything
`drawn`     the same differences, scaled to one spread, put together and drawn from with
            replacement: skewed as they are; falsely reproduced, falsely refuted, and of normal
            values
`A/A`       the seeds of one arm in two random halves, given to the judge as two arms: settled, of
            which 1 is allowed
`skewness`  of the residuals of arms on their scale, on average, and in standard errors
`better`    a scale on which the seeds of an arm are more nearly normal, with the gain in
            log-likelihood an arm. It is a warning where the arms agree that it is better

Arms share seeds, and pairs share arms: the rows are not independent, and a row of few arms says
little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import get_args

import numpy as np
from stored_metrics import FEWEST, Group, arm_types, differ_in_one, groups

from repro.judge import Design, Judge, Measured, Outcome, Scale
from repro.judge.evidence import is_hopeless, settle, weigh
from repro.judge.scale import Array, ScaleError, ScaleName
from repro.runs.profiles import PROFILES

LOOKS = PROFILES["ci"].looks
PAIRS = 200
"""The pairs of arms that a row takes at most, drawn at random."""
FEWEST_PAIRS = 10
"""The pairs of arms without which a row has no rates: they would be those of a few residuals."""
DRAWS = 200_000
SPLITS = 40
CLEARLY = 3.0
"""The standard errors by which arms must agree that another scale is better."""


def differences(group: Group, rng: np.random.Generator) -> list[Array]:
    """Return the centred differences of pairs of arms, seed by seed, each with a spread of 1."""
    pairs = [pair for pair in combinations(group.varying(), 2) if differ_in_one(*pair)]
    rng.shuffle(pairs)
    found = []
    for first, second in pairs[:PAIRS]:
        seeds = sorted(group.arms[first].keys() & group.arms[second].keys())
        if len(seeds) < FEWEST:
            continue
        one, other = (
            group.scale.of(np.array([group.arms[arm][s] for s in seeds]), group.metric)
            for arm in (first, second)
        )
        residuals = one - other - (one - other).mean()
        spread = residuals.std(ddof=1)
        if spread > 1e-9 * max(np.abs(one).max(), np.abs(other).max()):
            # Residuals lie nearer to each other's mean than to the true one.
            found.append(residuals / spread * (len(seeds) / (len(seeds) - 1)) ** 0.5)
    return found


def settled(samples: Array, looks: tuple[int, ...]) -> Array:
    """Return the shares that are reproduced, and refuted, of samples [seeds, samples]."""
    design, claims = Design(looks=looks), samples.shape[1]
    found, left = np.zeros((2, claims), dtype=bool), np.full(claims, True)
    for seeds in looks:
        evidence = [weigh([samples[:seeds]])]
        holds, fails = settle(evidence, [], design)
        found[0] |= left & holds
        found[1] |= left & fails
        left &= ~(holds | fails | is_hopeless(evidence, [], design))
    return np.asarray(found.mean(axis=1))


def flipped(residuals: list[Array], rng: np.random.Generator) -> float:
    """Return how often residuals with random signs are taken for an effect."""
    shares = []
    for each in residuals:
        looks = tuple(look for look in LOOKS if look <= len(each))
        draws = max(500, DRAWS // len(residuals))
        order = rng.random((len(each), draws)).argsort(axis=0)[: looks[-1]]
        signs = rng.choice([-1.0, 1.0], order.shape)
        shares.append(settled(each[order] * signs, looks)[0])
    return float(np.mean(shares))


def drawn(residuals: list[Array], rng: np.random.Generator) -> tuple[float, float]:
    """Return how often draws from all residuals together are settled for, and against."""
    pool = np.concatenate(residuals)
    pool = (pool - pool.mean()) / pool.std()
    holds, fails = settled(rng.choice(pool, (LOOKS[-1], DRAWS)), LOOKS)
    return float(holds), float(fails)


def normal_like(residuals: list[Array], rng: np.random.Generator) -> list[Array]:
    """Return normal residuals in the same numbers, treated in the same way."""
    found = []
    for each in residuals * max(1, 100 // len(residuals)):
        values = rng.standard_normal(len(each))
        values -= values.mean()
        found.append(values / values.std(ddof=1) * (len(each) / (len(each) - 1)) ** 0.5)
    return found


def against_itself(group: Group, rng: np.random.Generator) -> tuple[int, int]:
    """Return how many A/A pairs were settled by the judge, and how many there were."""
    wrong = calls = 0
    for arm in group.varying():
        values = group.scaled(arm)
        looks = tuple(look for look in LOOKS if 2 * look <= len(values))
        if not looks:
            continue
        for _ in range(SPLITS):
            judge = Judge(Design(looks=looks))
            mixed = rng.permutation(values)
            halves = mixed[: len(values) // 2], mixed[len(values) // 2 :]
            one, other = (
                Measured(judge=judge, label=label, metric=group.metric, values=partial(first, half))
                for label, half in zip("ab", halves, strict=True)
            )
            calls += 1
            wrong += (one > other).outcome is not Outcome.INCONCLUSIVE
    return wrong, calls


def first(values: Array, seeds: int) -> Array:
    """Return the values of the first seeds, as the judge asks for them."""
    return values[:seeds]


def skewness(group: Group) -> tuple[float, float]:
    """Return the mean skewness of the arms' values on their scale, and in standard errors."""
    found, variances = [], []
    for arm in group.varying():
        values = group.scaled(arm)
        centred, n = values - values.mean(), len(values)
        found.append(float(np.mean(centred**3) / np.mean(centred**2) ** 1.5))
        variances.append(6 * (n - 2) / ((n + 1) * (n + 3)))
    return float(np.mean(found)), float(np.sum(found) / np.sum(variances) ** 0.5)


def likelihoods(group: Group, name: ScaleName) -> Array | None:
    """Return the log-likelihood of each arm's values, were they normal on a scale.

    Each arm has a mean and a spread of its own. None where a value has no place on the scale.
    """
    scale = Scale(name)
    slopes: dict[ScaleName, Callable[[Array], Array]] = {  # of the scale, as logarithms
        "identity": np.zeros_like,
        "log": lambda values: -np.log(values),
        "log-odds": lambda values: -np.log(values) - np.log1p(-values),
    }
    found = []
    for arm in group.varying():
        values = np.array(list(group.arms[arm].values()))
        try:
            on_scale = scale.of(values, group.metric)
        except ScaleError:
            return None
        found.append(float(slopes[name](values).sum() - len(values) * np.log(on_scale.std())))
    return np.array(found)


def better_scale(group: Group) -> tuple[str, float, bool]:
    """Return the best other scale, its gain an arm, and whether the arms agree on it."""
    own = likelihoods(group, group.kind.scale)
    best = "", 0.0, False
    for name in get_args(ScaleName):
        other = likelihoods(group, name)
        if name == group.kind.scale or own is None or other is None:
            continue
        gains = other - own
        error = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 2 else np.inf
        if gains.mean() > best[1]:
            best = name, float(gains.mean()), bool(gains.mean() > CLEARLY * error)
    return best


@dataclass
class Row:
    """What is found of one metric; rates of None where there are too few pairs of arms."""

    group: Group
    pairs: int
    rates: list[float | None]
    """Flipped, the same of normal values, drawn for and against, the same of normal values."""
    against_itself: tuple[int, int]

    def __str__(self) -> str:
        group, (wrong, calls) = self.group, self.against_itself
        flip, flip_normal, holds, fails, drawn_normal = (
            "-" if rate is None else f"{100 * rate:.2f}" for rate in self.rates
        )
        itself = f"{100 * wrong / calls:.2f} of {calls}" if calls else "-"
        skewed, errors = skewness(group)
        name, gain, _ = better_scale(group)
        return (
            f"{group.study:<18}{group.metric[:28]:<29}{group.kind.scale:<9}"
            f"{len(group.varying()):>5}{self.pairs:>6}  {flip:>5} {f'({flip_normal})':>7}"
            f"  {holds:>5} {fails:>5} {f'({drawn_normal})':>7}  {itself:>13}"
            f"  {skewed:5.2f} {errors:6.1f}  {f'{name} {gain:+.2f}' if name else ''}"
        ).rstrip()

    @property
    def warning(self) -> str:
        """What speaks against the scale of the metric; empty where nothing clearly does."""
        name, _, is_clear = better_scale(self.group)
        if not is_clear:
            return ""
        return (
            f"{self.group.study}: {self.group.metric} is compared on the scale"
            f" {self.group.kind.scale!r}; its {len(self.group.varying())} arms agree that {name!r}"
            " is more nearly normal"
        )

    @property
    def left_out(self) -> str:
        """Which arms are left out; empty where none is."""
        group, count = self.group, len(self.group.outside())
        if not count:
            return ""
        arms = "1 arm has" if count == 1 else f"{count} arms have"
        return (
            f"{group.study}: {arms} values of {group.metric} that have no place on the scale"
            f" {group.kind.scale!r}: left out"
        )


def row(group: Group, rng: np.random.Generator) -> Row:
    """Return the rates of one metric."""
    residuals = differences(group, rng)
    rates: list[float | None] = [None] * 5
    if len(residuals) >= FEWEST_PAIRS:
        normal = normal_like(residuals, rng)
        rates = [flipped(residuals, rng), flipped(normal, rng), *drawn(residuals, rng)]
        rates.append(sum(drawn(normal, rng)) / 2)
    return Row(group, len(residuals), rates, against_itself(group, rng))


def together(rows: list[Row]) -> str:
    """Return the rates over all metrics, each counted by its pairs."""
    known = [each for each in rows if each.pairs >= FEWEST_PAIRS]
    pairs = [each.pairs for each in known]
    if not known:
        return f"no metric has {FEWEST_PAIRS} pairs of arms that differ in one setting"
    flip, flip_normal, holds, fails, drawn_normal = (
        f"{100 * float(np.average(rates, weights=pairs)):.2f}"
        for rates in zip(*(each.rates for each in known), strict=True)
    )
    wrong, calls = (sum(each.against_itself[i] for each in rows) for i in (0, 1))
    itself = f"; A/A {100 * wrong / calls:.2f} of {calls}" if calls else ""
    return (
        f"over {sum(pairs)} pairs: flipped {flip} (normal values {flip_normal}); drawn {holds} and"
        f" {fails} ({drawn_normal}){itself}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", default=".repro", type=Path, help="the folder of the results")
    parser.add_argument("--arms", nargs="*", default=[], help="further modules that define arms")
    options = parser.parse_args()
    rng = np.random.default_rng(27)
    found = groups(options.store, arm_types(options.arms))
    if not found:
        raise SystemExit(f"{options.store} has no arm with {FEWEST} seeds that differ")
    print(
        f"{'study':<18}{'metric':<29}{'scale':<9}{'arms':>5}{'pairs':>6}  {'flipped':>13}"
        f"  {'drawn':>19}  {'A/A':>13}  {'skewness':>12}  better"
    )
    rows = []
    for group in found:
        rows.append(row(group, rng))
        print(rows[-1], flush=True)
    print(f"\n{together(rows)}")
    for each in filter(None, (each.left_out for each in rows)):
        print(each)
    print("\n".join(filter(None, (each.warning for each in rows))) or "no scale is clearly wrong")


if __name__ == "__main__":
    main()
