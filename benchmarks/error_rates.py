"""Realised error rates and power of every word of the judge: the table of docs/statistics.md.

    python benchmarks/error_rates.py            # a quarter of an hour on two cores
    python benchmarks/error_rates.py --quick    # two minutes, larger Monte Carlo errors
    python benchmarks/error_rates.py --noise tied ceiling    # only these noises, and no edges
    python benchmarks/error_rates.py --apart --write docs/judge.md    # unpaired and growing samples
    python benchmarks/error_rates.py --sizes --write docs/statistics.md    # the second word
    python benchmarks/error_rates.py --growing --write docs/judge.md    # growing and not normal
    python benchmarks/error_rates.py --unequal --write docs/statistics.md    # spreads of 1 : 5

The null of a word is its boundary: one comparison sits exactly on its bound, the others are clear
(all of them sit on it in the rows called `tied`: there `refuted` has the most ways to be wrong).
A `reproduced` and a `refuted` are both called false there, each allowed half the level. Power is
the share reproduced when that comparison lies 1.5 standard deviations of an arm past its bound.

A documented run (`one run` and the like) is drawn afresh for every sample. It is falsely reproduced
where its mean lies just outside the stated width, and falsely refuted where it is a run of the very
same; that is also where its power is, at a width of 6 standard deviations.

The tests are exact for normal values. The other noises show what they do where values are not:
`heavy` is Student's t with 3 degrees of freedom, `skewed` a centred lognormal (sigma 1, skewness
6.2), mirrored on every second arm so that the differences stay skewed: the worst case. `alike` is
the same without the mirror: where two arms are skewed alike, their difference is not. In every
second arm of `collapse` a tenth of the seeds lies six standard deviations of the others lower.
Every arm has standard deviation 1; `paired` arms correlate by 0.8 over seeds, `unpaired` ones not
at all.

The values of `tied` and `ceiling` are counts of right answers: one example is right on half of the
seeds of an arm, or on 95 % of them. Arms that are paired are alike on four seeds of five, and there
are seeds on which all arms tie. An example is 1, and the metric says so where it is compared as it
is (`Scale("identity", count=1)`); their standard deviation is 0.5 or 0.22.

The table of edges judges pairs of arms one by one, by the words as a claim writes them: arms that
tie, collapse, or are means over a few examples. Shares are counts of right answers on 300 examples,
compared on log-odds. `true` says what holds of the arms that are drawn, so that the false verdicts
are the others.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, gammaincinv, ndtr, stdtrit  # type: ignore[import-untyped]

from repro.judge import (
    AnyTime,
    Curve,
    Design,
    EffectSize,
    Judge,
    Ladder,
    Measured,
    OneLook,
    Outcome,
    Scale,
    Statement,
    Verdict,
)
from repro.judge.comparison import Group, Look, SameSpread, freedom_apart, weigh
from repro.judge.scale import Array, ScaleName

DESIGNS = ((5,), (20,), (5, 8, 12, 20), (3, 5, 8, 12))
PAIRINGS = {"paired": 0.8, "unpaired": 0.0}
STEPS = {"tied": 0.5, "ceiling": 0.05}
"""The noises that move in whole examples, with the chance that the example is wrong."""

NOISES = ("normal", "heavy", "alike", "skewed", "collapse", *STEPS)
SIZED = {
    "normal": "normal",
    "heavy": "long tails",
    "skewed": "strongly skewed, opposite ways",
    "collapse": "a tenth of one arm's seeds collapse",
}
"""The noises of the table of second words, as it names them."""

EFFECT = 1.5
MOST_SEEDS = 20


@dataclass(frozen=True)
class Word:
    """The true means when the comparison at risk lies `e` past its bound, and the claim."""

    means: Callable[[float], list[float]]
    claim: Callable[[list[Measured]], Verdict]
    scale: ScaleName = "identity"
    """Where the means lie and the noise is added; the judge is given natural values."""
    runs: int = 0
    """The number of runs that the documented number is the mean of, where it is drawn too."""
    source_pairs: bool = True
    same: float | None = None
    """The `e` at which the documented runs come from the same arms, where they are drawn."""


WIDTH = 6.0
ONE_RUN: Any = {"runs": 1, "same": WIDTH}


def curve(epochs: list[Measured]) -> Curve:
    """Arms as the epochs of one arm."""
    return Curve(
        of=replace(epochs[0], label="curve"),
        epochs=range(1, 1 + len(epochs)),
        values=lambda seeds: list(np.stack([epoch.values(seeds) for epoch in epochs], axis=1)),
    )


WORDS: dict[str, Word] = {
    "exceeds": Word(lambda e: [0.3 + e, 0], lambda a: a[0].exceeds(a[1], by_at_least=0.3)),
    "less": Word(lambda e: [0, e], lambda a: a[0] < a[1]),
    "exceeds ratio": Word(
        lambda e: [np.log(2) + e, 0], lambda a: a[0].exceeds(a[1], by_ratio=2), "log"
    ),
    "below ratio": Word(
        lambda e: [0, np.log(2) + e], lambda a: a[0].falls_below(a[1], by_ratio=2), "log"
    ),
    "within": Word(lambda e: [9 - e, 0], lambda a: a[0].is_within(9.0, of=a[1])),
    "matches": Word(lambda e: [14 - e], lambda a: a[0].matches(5.0, tolerance=9.0)),
    "at most": Word(lambda e: [e - 0.5, 0], lambda a: a[0].is_at_most(0.5, below=a[1])),
    "times": Word(
        lambda e: [np.log(2 * 400) - e, 0],
        lambda a: a[0].is_times(2, a[1], within_ratio=400),
        "log",
    ),
    "at most times": Word(
        lambda e: [np.log(2) - e, 0], lambda a: a[0].is_at_most_times(2, a[1]), "log"
    ),
    "climbs": Word(lambda e: [0, 9, 9 + e, 18 + e], lambda a: Ladder(a).climbs()),
    "climbs, tied": Word(lambda e: [e * i for i in range(5)], lambda a: Ladder(a).climbs()),
    "falls": Word(lambda e: [9 + e, 9, 0], lambda a: Ladder(a).falls()),
    "peaks": Word(lambda e: [0, 9 + e, 9], lambda a: Ladder(a).peaks_at(1)),
    "bottoms": Word(lambda e: [9, 0, e], lambda a: Ladder(a).bottoms_at(1)),
    "ordered": Word(lambda e: [18 + e, 9 + e, e, 0], lambda a: Ladder(a).is_ordered()),
    "ordered, tied": Word(lambda e: [3 * e, 2 * e, e, 0], lambda a: Ladder(a).is_ordered()),
    "gain": Word(lambda e: [5 + e, 0, 5, 0], lambda a: (a[0] - a[1]) > (a[2] - a[3])),
    "best epoch": Word(lambda e: [0, e, 9, 9], lambda a: curve(a).bottoms_at(1)),
    "best, tied": Word(lambda e: [-e, 0, 0, 0, 0], lambda a: curve(a).bottoms_at(1)),
    "last is best": Word(lambda e: [0, 9, 9 + e], lambda a: curve(a).peaks_at(-1)),
    "keeps falling": Word(lambda e: [18 + e, 18, 9, 0], lambda a: curve(a).falls()),
    "keeps climbing": Word(lambda e: [5, 0, e, 9 + e], lambda a: curve(a).climbs(after=2)),
    "one run": Word(
        lambda e: [5 + WIDTH - e], lambda a: a[0].agrees_with(5.0, runs=1, within=WIDTH), **ONE_RUN
    ),
    "mean of 3 runs": Word(
        lambda e: [5 + WIDTH - e],
        lambda a: a[0].agrees_with(5.0, runs=3, within=WIDTH),
        runs=3,
        same=WIDTH,
    ),
    "one run, plus": Word(
        lambda e: [5 + WIDTH - e, 0],
        lambda a: a[0].agrees_with(5.0, runs=1, within=WIDTH, plus=a[1]),
        **ONE_RUN,
    ),
    "one run, times": Word(
        lambda e: [np.log(2) + WIDTH - e, 0],
        lambda a: a[0].agrees_with(2.0, runs=1, within_ratio=np.exp(WIDTH), times=a[1]),
        "log",
        **ONE_RUN,
    ),
    "one run, apart": Word(
        lambda e: [np.log(2) + WIDTH - e, 0],
        lambda a: a[0].agrees_with(
            2.0, runs=1, within_ratio=np.exp(WIDTH), times=a[1], paired=False
        ),
        "log",
        source_pairs=False,
        **ONE_RUN,
    ),
}
TIED = [name for name in WORDS if name.endswith(", tied")]
MOST_ARMS = max(len(word.means(0.0)) for word in WORDS.values())


class Recorder(Judge):
    """Keeps the statement instead of judging it, so that many samples are judged at once."""

    statement: Statement

    def decide(self, statement: Statement) -> Verdict:
        self.statement = statement
        return Verdict(
            outcome=Outcome.NOT_RUN, statement=statement.text, judge=self, judged=statement
        )


def noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draws with mean 0 and standard deviation 1."""
    if kind == "heavy":
        return rng.standard_t(3, size=shape) / 3**0.5
    if kind in ("skewed", "alike"):
        return np.asarray((rng.lognormal(size=shape) - np.exp(0.5)) / ((np.e - 1) * np.e) ** 0.5)
    if kind in STEPS:
        return STEPS[kind] - (rng.random(shape) < STEPS[kind])
    return rng.standard_normal(shape)


def collapsing(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draws of which a tenth lies six standard deviations of the others lower; mean 0, sd 1."""
    low = 0.6 - 6.0 * (rng.random(shape) < 0.1)
    return np.asarray((low + rng.standard_normal(shape)) / (36 * 0.1 * 0.9 + 1) ** 0.5)


@lru_cache(maxsize=2)
def standard_arms(
    kind: str, correlation: float, samples: int, *, seeds: int = MOST_SEEDS, stream: int = 11
) -> list[Array]:
    """Values (seeds, samples) of arms with mean 0; the same draws for the same question."""
    rng = np.random.default_rng(stream)
    shape = seeds, samples
    if kind in STEPS:  # counts are shared or not: in between they would be none
        common = noise(kind, shape, rng)
        return [
            np.where(rng.random(shape) < correlation, common, noise(kind, shape, rng))
            for _ in range(MOST_ARMS)
        ]
    shared = rng.standard_normal(shape) * correlation**0.5
    own = (1 - correlation) ** 0.5
    mirrored = kind == "skewed"
    return [
        shared
        + own
        * (-1 if mirrored and i % 2 else 1)
        * (collapsing(shape, rng) if kind == "collapse" and i % 2 == 0 else noise(kind, shape, rng))
        for i in range(MOST_ARMS)
    ]


def documented_runs(word: Word, arms: int, *, kind: str, correlation: float, samples: int) -> Array:
    """What the source printed, less its mean: that of its runs of one arm, or of a difference."""
    drawn = standard_arms(kind, correlation, samples, seeds=2 * word.runs, stream=12)
    first = drawn[0][: word.runs].mean(axis=0)
    if arms == 1:
        return first
    others = slice(word.runs) if word.source_pairs else slice(word.runs, None)
    return np.asarray(first - drawn[1][others].mean(axis=0))


def first_seeds(arm: Array, seeds: int) -> Array:
    return arm[:seeds]


def stated(
    word: Word, effect: float, design: Design, *, kind: str, correlation: float, samples: int
) -> Statement:
    """The word's statement about simulated arms."""
    means = word.means(effect)
    arms = [
        mean + arm
        for mean, arm in zip(means, standard_arms(kind, correlation, samples), strict=False)
    ]
    if word.runs:  # the sentence has a number, so what is measured moves and not the document
        arms[0] -= documented_runs(
            word, len(means), kind=kind, correlation=correlation, samples=samples
        )
    counted = kind in STEPS and word.scale == "identity"
    scale = Scale(word.scale, count=1 if counted else None)
    return statement_of(word.claim, [scale.back(arm) for arm in arms], design, scale)


def statement_of(
    claim: Callable[[list[Measured]], Verdict], arms: Sequence[Array], design: Design, scale: Scale
) -> Statement:
    """What a claim states about arms, [seeds, samples]."""
    recorder = Recorder(design)
    of_arms: dict[str, Any] = {"judge": recorder, "metric": "m", "scale": scale}
    claim(
        [
            Measured(label=str(i), values=partial(first_seeds, arm), **of_arms)
            for i, arm in enumerate(arms)
        ]
    )
    return recorder.statement


def rates(statement: Statement, design: Design) -> tuple[float, float]:
    """The share of samples that the design calls reproduced, and refuted."""
    reproduced = refuted = decided = np.zeros(1, dtype=bool)
    for seeds in design.looks:
        readings = {side: side.values(seeds).reshape(seeds, -1) for side in statement.sides}
        needed = [term.weigh(readings) for term in statement.terms]
        implied = [term.weigh(readings) for term in statement.implied]
        look = Look(design, needed, implied)
        reproduced = reproduced | (~decided & look.reproduced)
        refuted = refuted | (~decided & look.refuted)
        decided = decided | look.reproduced | look.refuted | look.is_hopeless
    return float(reproduced.mean()), float(refuted.mean())


def errors_and_power(word: Word, design: Design, **simulated: Any) -> tuple[float, float, float]:
    """The shares falsely reproduced, falsely refuted, and rightly reproduced."""
    false_yes, false_no = rates(stated(word, 0.0, design, **simulated), design)
    effect = EFFECT if word.same is None else word.same
    power, refuted = rates(stated(word, effect, design, **simulated), design)
    return false_yes, false_no if word.same is None else refuted, power


def table(
    kind: str, pairing: str, *, level: float, samples: int
) -> list[tuple[str, str, tuple[float, float, float]]]:
    """(looks, word, (false reproduced, false refuted, power)) for one noise and one pairing."""
    rows = []
    simulated: dict[str, Any] = {
        "kind": kind,
        "correlation": PAIRINGS[pairing],
        "samples": samples,
    }
    for looks, (name, word) in product(DESIGNS, WORDS.items()):
        design = Design(looks=looks, level=level)
        rows.append((",".join(map(str, looks)), name, errors_and_power(word, design, **simulated)))
    return rows


def percent(rate: float, samples: int) -> str:
    error = (max(rate, 1 / samples) * (1 - rate) / samples) ** 0.5
    return f"{100 * rate:6.2f} ±{100 * error:4.2f}"


EDGE_DESIGNS = ((5,), (5, 8, 12))
SEEDS = 12
EXAMPLES = 300
SHARE = Scale("log-odds", count=EXAMPLES)
IDENTITY = Scale("identity")
SIX_POINTS = 0.3569
"""The skill by which an arm of `_answers` is better by six points on a population of examples."""

Draw = Callable[[np.random.Generator], list[Array]]
Claim = Callable[[list[Measured]], Verdict]


@dataclass(frozen=True)
class Edge:
    """Arms as they are drawn, a sentence about them, and whether it is true of them."""

    draw: Draw
    claim: Claim
    true: bool | None
    """None where the truth lies on the bound, so that both verdicts are false."""
    scale: Scale = IDENTITY
    by_example: bool = False
    """True where answers to single examples are drawn, [seeds, examples], that count as drawn."""


def _borderline(rng: np.random.Generator) -> list[Array]:
    """Equal arms: 270 examples right on every seed, one right on half of them."""
    return [(270 + rng.integers(0, 2, SEEDS)) / EXAMPLES for _ in range(2)]


def _ceiling(rng: np.random.Generator) -> list[Array]:
    """Equal arms, each wrong on one example of 300 in one seed of twenty."""
    return [1 - (rng.random(SEEDS) < 0.05) / EXAMPLES for _ in range(2)]


def _plateau(rng: np.random.Generator) -> list[Array]:
    """An arm that leaves the plateau of one half in a tenth of its seeds, one that never does."""
    return [np.where(rng.random(SEEDS) < 0.1, 0.8, 0.5), np.full(SEEDS, 0.5)]


def _collapsing(rng: np.random.Generator) -> list[Array]:
    """An arm three points better, of whose seeds a tenth are at chance: worse in the mean."""
    good = 0.93 + 0.01 * rng.standard_normal(SEEDS)
    return [
        np.where(rng.random(SEEDS) < 0.1, 0.5, good),
        0.9 + 0.01 * rng.standard_normal(SEEDS),
    ]


def _two_states(rng: np.random.Generator) -> list[Array]:
    """An arm that ends ten deviations higher in a third of its seeds, and one of the same mean."""
    higher = 10.0 * (rng.random(SEEDS) < 1 / 3)
    return [higher + rng.standard_normal(SEEDS), 10 / 3 + rng.standard_normal(SEEDS)]


def _nulls(rng: np.random.Generator, *, lognormal: bool = False) -> list[Array]:
    """Six arms whose means are equal."""
    draws = rng.lognormal(size=(6, SEEDS)) if lognormal else rng.standard_normal((6, SEEDS))
    if lognormal:
        draws[1::2] *= -1
        draws[1::2] += 2 * np.exp(0.5)
    return list(draws)


def _half(rng: np.random.Generator) -> list[Array]:
    """An arm that is better in half of all runs."""
    return [np.where(rng.random(SEEDS) < 0.5, 1.0, -1.0) * rng.random(SEEDS), np.zeros(SEEDS)]


def _margin(rng: np.random.Generator, *, margin: float) -> list[Array]:
    """Two arms that are exactly a margin apart."""
    return [margin + rng.standard_normal(SEEDS), np.zeros(SEEDS)]


def _curves(rng: np.random.Generator) -> list[Array]:
    """Twenty epochs of an arm, the first lowest by the spread of an epoch."""
    return list(np.r_[0.0, np.ones(19)][:, None] + rng.standard_normal((20, SEEDS)))


def _answers(rng: np.random.Generator, *, better: float) -> list[Array]:
    """Right answers of two arms; examples are hard for both, and some for one of them."""
    hard = rng.normal(size=EXAMPLES)
    arms = []
    for skill in (0.9 + better, 0.9):
        chance = 1 / (1 + np.exp(hard + 0.6 * rng.normal(size=EXAMPLES) - skill))
        arms.append((rng.random((SEEDS, EXAMPLES)) < chance).astype(float))
    return arms


def _and(arms: list[Measured]) -> Verdict:
    return (arms[0] > arms[1]) & (arms[2] > arms[3]) & (arms[4] > arms[5])


EDGES = {
    "a > b, one borderline example": Edge(_borderline, lambda a: a[0] > a[1], None, SHARE),
    "a > b, at a ceiling": Edge(_ceiling, lambda a: a[0] > a[1], None, SHARE),
    "a > b, leaves a plateau": Edge(_plateau, lambda a: a[0] > a[1], True, SHARE),
    "within 0.02, leaves a plateau": Edge(
        _plateau, lambda a: a[0].is_within(0.02, of=a[1]), False, SHARE
    ),
    "a > b, a tenth collapses": Edge(_collapsing, lambda a: a[0] > a[1], False),
    "... better in half of the runs": Edge(
        _collapsing, lambda a: a[0].exceeds(a[1], in_at_least=0.5), True
    ),
    "a > b, a third in another state": Edge(_two_states, lambda a: a[0] > a[1], None),
    "half of the runs": Edge(_half, lambda a: a[0].exceeds(a[1], in_at_least=0.5), None),
    "(a > b) & (c > d) & (e > f)": Edge(_nulls, _and, None),
    "... lognormal": Edge(partial(_nulls, lognormal=True), _and, None),
    **{
        f"within {margin:g} sd, on its edge": Edge(
            partial(_margin, margin=margin),
            lambda a, m=margin: a[0].is_within(m, of=a[1]),  # type: ignore[misc]
            None,
        )
        for margin in (0.01, 0.3, 1.0, 3.0)
    },
    "a > b, means over 300 examples": Edge(
        partial(_answers, better=0.0), lambda a: a[0] > a[1], None, by_example=True
    ),
    "... equal but for six points": Edge(
        partial(_answers, better=SIX_POINTS), lambda a: a[0] > a[1], True, by_example=True
    ),
    "... within six points, on the edge": Edge(
        partial(_answers, better=SIX_POINTS),
        lambda a: a[0].is_within(0.06, of=a[1]),
        None,
        by_example=True,
    ),
    "best epoch of 20, by one sd": Edge(_curves, lambda epochs: curve(epochs).bottoms_at(1), True),
}


def _measured(row: Edge, judge: Judge, label: str, drawn: Array) -> Measured:
    values = drawn.mean(axis=1) if row.by_example else drawn
    return Measured(
        judge=judge,
        label=label,
        metric="m",
        values=lambda n: values[:n],
        scale=row.scale,
        by_example=(lambda n: drawn[:n]) if row.by_example else None,
    )


def judged(row: Edge, looks: tuple[int, ...], samples: int) -> tuple[float, float]:
    """The share of samples called reproduced, and refuted."""
    counts = {Outcome.REPRODUCED: 0, Outcome.REFUTED: 0, Outcome.INCONCLUSIVE: 0}
    rng = np.random.default_rng(sum(looks))
    for _ in range(samples):
        judge = Judge(Design(looks=looks))
        arms = [_measured(row, judge, str(i), drawn) for i, drawn in enumerate(row.draw(rng))]
        counts[row.claim(arms).outcome] += 1
    return counts[Outcome.REPRODUCED] / samples, counts[Outcome.REFUTED] / samples


APART = ((3, 3), (3, 10), (3, 20), (5, 5), (5, 10), (5, 20), (10, 10), (20, 20))
SPREADS = (1.0, 1.5, 2.0, 5.0)
"""How much more one arm spreads, either of the two."""


def chi_square(freedom: int) -> tuple[Array, Array]:
    """Quantiles of a chi-squared variable over its degrees of freedom, and their weights."""
    points, weights = np.polynomial.legendre.leggauss(48)
    points, weights = (points + 1) / 2, weights / 2
    quantiles = 2 * gammaincinv(freedom / 2, points**3) / freedom  # most of them small ones
    return quantiles, 3 * weights * points**2


def error_apart(
    first: int, other: int, *, ratio: float, level: float, effect: float = 0.0
) -> float:
    """The exact rate of `reproduced` for unpaired normal arms, the first of which spreads more.

    The effect is in standard deviations of the other arm. Given both measured variances the t
    statistic is normal, so the rate is an integral over the two.
    """
    (here, by_here), (there, by_there) = chi_square(first - 1), chi_square(other - 1)
    parts = np.broadcast_arrays(here[:, None] * ratio**2 / first, there / other)
    critical = -stdtrit(freedom_apart(parts, (first, other), level), level)
    true = (ratio**2 / first + 1 / other) ** 0.5
    rate = ndtr((effect - critical * sum(parts) ** 0.5) / true)
    return float(by_here @ rate @ by_there)


def same_spread_rate(first: Array, other: Array) -> float:
    """The share of samples, [seeds, samples], whose first arm is larger by one spread for both."""
    evidence = weigh([Group(first), Group(-other)], same=SameSpread.of([first, other]))
    return float(Look(OneLook(looks=(max(len(first), len(other)),)), [evidence]).reproduced.mean())


def print_apart(samples: int, page: Path | None = None) -> None:
    """Print the rates of arms that are not paired and of tests that hold at any time.

    Both tables are written into a page, if one is given.
    """
    rng, lines = np.random.default_rng(75), list[str]()

    def show(*cells: object) -> None:
        lines.append(f"| {' | '.join(map(str, cells))} |")
        print(lines[-1], flush=True)

    show(
        "runs",
        "own spreads: false, alike",
        "the worst up to 1 : 5",
        "2 sd found",
        "4 sd found",
        "one spread: false, alike",
        "log-sd 0.3",
        "0.6",
        "4 sd found",
    )
    show("---", *["--:"] * 8)
    for first, other in APART:
        both, level = ((first, other), (other, first)), 0.005
        errors = [error_apart(*n, ratio=x, level=level) for n in both for x in SPREADS]
        found = [error_apart(first, other, ratio=1, level=level, effect=x) for x in (2.0, 4.0)]
        rates = [errors[0], max(errors), *found]
        for scatter, effect in ((0.0, 0.0), (0.3, 0.0), (0.6, 0.0), (0.0, 4.0)):
            arms = [
                np.exp(scatter * rng.standard_normal(samples))
                * rng.standard_normal((runs, samples))
                for runs in (first, other)
            ]
            rates.append(same_spread_rate(effect + arms[0], arms[1]))
        show(f"{first} and {other}", *map(of_a_hundred, rates))
    lines.append("")
    show('with `looks="any"`, asked after each of 3 to 200 runs', "falsely, or rightly found")
    show("---", "--:")
    for name, rate in any_time_rates(samples // 4, rng):
        show(name, of_a_hundred(rate))
    write_into(page, "apart", lines)


def of_one_mean(shape: tuple[int, int], rng: np.random.Generator) -> list[Array]:
    """Return two arms of one mean accuracy, [seeds, samples]; as log-odds they spread as 1 : 5."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    means = [(weights / weights.sum()) @ expit(2 + sd * points) for sd in (0.1, 0.5)]
    first, other = (expit(2 + sd * rng.standard_normal(shape)) for sd in (0.1, 0.5))
    return [first, other + means[0] - means[1]]


def print_unequal(samples: int, page: Path | None = None) -> None:
    """Print how often arms of one mean are settled, or sources refuted, if spreads are unequal."""
    rng = np.random.default_rng(70)
    lines = ["| equal means, spreads as 1 : 5 | looks | falsely settled |", "|---|---|--:|"]

    def outcomes(
        claim: Claim, arms: list[Array], looks: tuple[int, ...], scale: Scale = IDENTITY
    ) -> tuple[float, float]:
        design = Design(looks=looks)
        return rates(statement_of(claim, arms, design, scale), design)

    def show(what: str, looks: tuple[int, ...], rate: float) -> None:
        lines.append(f"| {what} | {', '.join(map(str, looks))} | {of_a_hundred(rate)} |")
        print(lines[-1], flush=True)

    looks = DESIGNS[2]
    for name in UNEQUAL:
        arms = [spread * DRAWN[name]((looks[-1], samples), rng) for spread in (1, 5)]
        show(f"`a > b`: {name}", looks, sum(outcomes(lambda a: a[0] > a[1], arms, looks)))
    for runs in (20, 50, 100):
        arms = of_one_mean((runs, samples // 4), rng)
        rate = sum(outcomes(lambda a: a[0] > a[1], arms, (runs,), Scale("log-odds")))
        show("`a > b`: accuracies, compared on log-odds", (runs,), rate)
    for spread in (1, 2):  # the source is drawn afresh for each sample, so it moves the arm
        arms = [rng.standard_normal((20, samples)) - spread * rng.standard_normal(samples)]
        _, refuted = outcomes(lambda a: a[0].agrees_with(0.0, runs=1, within=2.0), arms, looks)
        times = "as much" if spread == 1 else "twice as much"
        show(f"`agrees_with(…, runs=1)`: the source spreads {times}", looks, refuted)
    write_into(page, "unequal", lines)


def write_into(page: Path | None, name: str, lines: list[str]) -> None:
    """Write lines into a page, if one is given, between the marks of this name."""
    if page is not None:
        marked = re.compile(rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
        said = "\n".join(lines)
        page.write_text(marked.sub(lambda mark: f"{mark[1]}{said}\n{mark[2]}", page.read_text()))


def second_word(
    kind: str, *, runs: int, effect: float, true: str, rungs: int, rng: np.random.Generator
) -> EffectSize:
    """The second word for arms whose steps are documented as `effect`, of so many runs.

    An effect of 1 is one standard deviation of the differences. The true steps are the `same`,
    `none`, or at the `edge`: half of what is printed further.
    """
    looks = DESIGNS[2]
    drawn = noise(kind, (runs + looks[-1], rungs), rng) / 2**0.5
    if kind == "collapse":
        drawn[:, ::2] = collapsing((runs + looks[-1], (rungs + 1) // 2), rng) / 2**0.5
    if kind == "skewed":
        drawn[:, 1::2] *= -1
    printed = effect * np.arange(rungs) + drawn[:runs].mean(axis=0)
    further = {"same": 0.0, "none": -effect, "edge": np.r_[0.0, np.diff(printed)] / 2}[true]
    steps = np.cumsum(np.r_[0.0, np.full(rungs - 1, effect)] + further)
    here, judge = drawn[runs:] + steps, Judge(Design(looks=looks))
    arms = [
        Measured(judge=judge, label=str(i), metric="m", values=partial(first_seeds, here[:, i]))
        for i in range(rungs)
    ]
    return Ladder(arms).documented_as(printed.tolist(), runs=runs).climbs().effect_size


def print_sizes(samples: int, page: Path | None = None) -> None:
    """Print how often the second word errs, at its worst, and how often it finds something.

    Both errors are the largest of two arms and of the weakest step of five, documented as 1 and 10
    standard deviations apart. What is found is of two arms, 10 apart.
    """
    lines = [
        "| differences over seeds | the source prints | falsely smaller or larger"
        " | falsely as documented | rightly as documented | rightly smaller, if there is none |",
        "|---|---|--:|--:|--:|--:|",
    ]
    rng = np.random.default_rng(76)
    differs = {EffectSize.SMALLER, EffectSize.LARGER}
    for (kind, name), runs in product(SIZED.items(), (1, 3)):
        drawn = samples if kind == "normal" else samples // 4

        def share(words: set[EffectSize], **of_arms: Any) -> float:
            found = (second_word(kind, runs=runs, rng=rng, **of_arms) for _ in range(drawn))  # noqa: B023
            return sum(word in words for word in found) / drawn  # noqa: B023

        each = [{"effect": e, "rungs": n} for e in (1.0, 10.0) for n in (2, 5)]
        rates = [
            max(share(differs, true="same", **one) for one in each),
            max(share({EffectSize.AS_DOCUMENTED}, true="edge", **one) for one in each),
            share({EffectSize.AS_DOCUMENTED}, true="same", effect=10.0, rungs=2),
            share({EffectSize.SMALLER}, true="none", effect=10.0, rungs=2),
        ]
        of = "one run" if runs == 1 else f"the mean of {runs}"
        lines.append(f"| {name} | {of} | {' | '.join(map(of_a_hundred, rates))} |")
        print(lines[-1], flush=True)
    write_into(page, "sizes", lines)


def of_a_hundred(rate: float) -> str:
    """A rate in per cent; a small one with two decimals."""
    return f"{100 * rate:.{2 if rate < 0.02 else 0}f} %"


def ever_settled(
    first: Array, other: Array | None = None, *, paired: bool = False, one_spread: bool = False
) -> tuple[float, float]:
    """The shares of samples, [runs, samples], that `a > b` at any time calls reproduced, refuted.

    It is asked after each run of the first arm but two. The other arm grows beside it as far as it
    goes; without one the first is compared with 0.
    """
    recorder, now = Recorder(AnyTime(looks=(len(first),))), {"runs": len(first)}
    arms = [first] if other is None else [first, other]
    named = [
        Measured(
            judge=recorder,
            label=label,
            metric="m",
            values=partial(first_seeds, arm),
            pairing=None if paired else label,
            alike=(lambda: [arm[: now["runs"]] for arm in arms]) if one_spread else None,
        )
        for label, arm in zip("ab", arms, strict=False)
    ]
    named[0].exceeds(0.0 if other is None else named[1])
    found = np.zeros((2, first.shape[1]), dtype=bool)
    for now["runs"] in range(3, len(first) + 1):
        [term] = [replace(term) for term in recorder.statement.terms]  # it keeps its one spread
        readings = {side: side.values(now["runs"]).reshape(-1, 1) for side in term.sides}
        readings |= {x: x.values(now["runs"]) for x in term.sides if not x.is_fixed}
        look = Look(recorder.design, [recorder.design.read(term.weigh(readings))])
        found |= np.array([look.reproduced, look.refuted])
    reproduced, refuted = found.mean(axis=1)
    return float(reproduced), float(refuted)


def any_time_rates(samples: int, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Yield how often a test that holds at any time errs over all looks from 3 to 200 runs.

    Then follows the share of effects of one standard deviation that 20 and 40 pairs reproduce.
    """

    def crossed(most: int = 200, *, effect: float = 0.0, **of_arms: Any) -> float:
        spread, apart = of_arms.get("ratio", 1.0), of_arms.get("apart", 0)
        first = effect + spread * rng.standard_normal((most, samples))
        other = rng.standard_normal((apart or most, samples))
        one_spread = of_arms.get("same", False)
        return ever_settled(first, other if apart else None, one_spread=one_spread)[0]

    yield "pairs", crossed()
    yield "pairs, 1 sd found after 20 and before", crossed(20, effect=1.0)
    yield "pairs, 1 sd found after 40 and before", crossed(40, effect=1.0)
    samples //= 4
    for apart, ratios in ((8, (1.0, 5.0, 0.2)), (3, (5.0,))):
        for ratio in ratios:
            name = f"against {apart} other runs, spreads {ratio:g} : 1"
            yield name, crossed(apart=apart, ratio=ratio)
    yield "against 8 other runs, one spread", crossed(apart=8, same=True)


DRAWN: dict[str, Callable[[tuple[int, ...], np.random.Generator], Array]] = {
    "normal": partial(noise, "normal"),
    "long tails (t with 3 degrees of freedom)": partial(noise, "heavy"),
    "exponential": lambda shape, rng: rng.exponential(size=shape) - 1,
    "lognormal": partial(noise, "alike"),
    "two points, half of the runs each": partial(noise, "tied"),
    "two points, a tenth of the runs at one": lambda shape, rng: 0.1 - (rng.random(shape) < 0.1),
    "a tenth of the runs collapse": collapsing,
    "normal, in steps of a standard deviation": lambda shape, rng: np.round(
        rng.standard_normal(shape)
    ),
}
"""What the runs of growing and of unequally spread samples are drawn from; the means are 0."""

UNEQUAL = ("normal", "lognormal", "exponential", "a tenth of the runs collapse")
"""Those in the table of unequal spreads."""


def print_growing(samples: int, page: Path | None = None) -> None:
    """Print how often tests that hold at any time err where runs are not normal.

    Of the two directions it is the one that errs more often, over all looks from 3 to 200 runs.
    """
    rng, lines = np.random.default_rng(77), list[str]()

    def show(*cells: object) -> None:
        lines.append(f"| {' | '.join(map(str, cells))} |")
        print(lines[-1], flush=True)

    kinds = ("their differences", "both arms")
    apart = ("against 8 runs", "against 8 that spread 5 times as much", "both grow")
    show("runs are", *(f"pairs: {x}" for x in kinds), *(f"unpaired: {x}" for x in apart))
    show("---", *["--:"] * 5)
    for name, draw in DRAWN.items():
        first = draw((200, samples), rng)
        few = first[:, : samples // 4]
        others = draw((8, samples // 4), rng), draw((200, samples // 4), rng)
        rates = [
            ever_settled(first),
            ever_settled(first, draw((200, samples), rng), paired=True),
            ever_settled(few, others[0]),
            ever_settled(few, 5 * others[0]),
            ever_settled(few, others[1]),
        ]
        show(name, *(of_a_hundred(max(each)) for each in rates))
    write_into(page, "growing", lines)


def print_edges(samples: int) -> None:
    print(f"\nin % ± {100 * (0.005 / samples) ** 0.5:.2f} at 0.5 %, {samples} samples a row\n")
    print(f"{'looks':<14}{'sentence':<34}{'true':<8}{'reproduced':>12}{'refuted':>10}")
    for looks in EDGE_DESIGNS:
        for name, edge in EDGES.items():
            reproduced, refuted = judged(edge, looks, samples)
            truth = {True: "yes", False: "no", None: "bound"}[edge.true]
            print(
                f"{','.join(map(str, looks)):<14}{name:<34}{truth:<8}"
                f"{100 * reproduced:>12.2f}{100 * refuted:>10.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--level", type=float, default=0.01, help="both sides together")
    parser.add_argument("--noise", nargs="+", choices=NOISES, default=NOISES, help="only these")
    parser.add_argument("--apart", action="store_true", help="only unpaired and growing samples")
    parser.add_argument("--sizes", action="store_true", help="only the second words of verdicts")
    parser.add_argument("--unequal", action="store_true", help="only arms that spread unequally")
    parser.add_argument("--growing", action="store_true", help="only samples that grow, not normal")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write their rates into a page")
    options = parser.parse_args()
    samples = 4_000 if options.quick else 40_000
    for is_asked, show, share in (
        (options.apart, print_apart, 1),
        (options.sizes, print_sizes, 5),
        (options.unequal, print_unequal, 1),
        (options.growing, print_growing, 4),
    ):
        if is_asked:
            show(samples // share, options.write)
            return
    print(f"each side is allowed {50 * options.level:g}%; all numbers in %, ± Monte Carlo error\n")
    print(f"{'noise':<8}{'arms':<10}{'looks':<16}{'word':<16}{'false repr.':<14}", end="")
    print(f"{'false refuted':<15}power")
    worst: dict[tuple[str, str], list[float]] = {}
    settings = list(product(options.noise, PAIRINGS))
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        tables = pool.map(
            partial(table, level=options.level, samples=samples), *zip(*settings, strict=True)
        )
        for (kind, pairing), rows in zip(settings, tables, strict=True):
            for looks, word, shares in rows:
                print(f"{kind:<8}{pairing:<10}{looks:<16}{word:<16}", end="")
                print("  ".join(percent(rate, samples) for rate in shares), flush=True)
                group = "a documented run" if WORDS[word].runs else "other words"
                row = worst.setdefault((kind, f"{looks:<16}{group}"), [0.0, 0.0])
                row[:] = max(row[0], shares[0]), max(row[1], shares[1])
    print("\nthe worst of the words, paired or not:")
    for (kind, name), (false_yes, false_no) in sorted(worst.items(), key=lambda row: row[0][0]):
        print(f"{kind:<8}{name:<30}", percent(false_yes, samples), percent(false_no, samples))
    if options.noise == NOISES:
        print_apart(samples)
        print_edges(300 if options.quick else 3_000)


if __name__ == "__main__":
    main()
