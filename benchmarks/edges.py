"""Error rates of the judge where values tie, collapse, or are means over a few examples.

    python benchmarks/edges.py            # some minutes
    python benchmarks/edges.py --quick    # fewer samples

Each row simulates pairs of arms and judges them through the public words. `true` says what holds of
the arms that are drawn, so that the false verdicts are the others. Shares are counts of right
answers on 300 examples, compared on log-odds. Each side of a verdict is allowed 0.5 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from repro.judge import Curve, Design, Judge, Measured, Outcome, Scale, Verdict, either
from repro.judge.scale import Array

DESIGNS = ((5,), (5, 8, 12), (3, 5, 8, 12))
SEEDS = 12
EXAMPLES = 300
SHARE = Scale("log-odds", count=EXAMPLES)
IDENTITY = Scale("identity")
SIX_POINTS = 0.3569
"""The skill by which an arm of `_answers` is better by six points on a population of examples."""

Draw = Callable[[np.random.Generator], list[Array]]
Word = Callable[[list[Measured]], Verdict]


@dataclass(frozen=True)
class Row:
    """Arms as they are drawn, a sentence about them, and whether it is true of them."""

    draw: Draw
    word: Word
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


def _nulls(rng: np.random.Generator, *, lognormal: bool = False) -> list[Array]:
    """Six arms whose means are equal."""
    draws = rng.lognormal(size=(6, SEEDS)) if lognormal else rng.standard_normal((6, SEEDS))
    if lognormal:
        draws[1::2] *= -1
        draws[1::2] += 2 * np.exp(0.5)
    return list(draws)


def _share(rng: np.random.Generator, *, share: float) -> list[Array]:
    """An arm that is better in this share of all runs."""
    return [np.where(rng.random(SEEDS) < share, 1.0, -1.0) * rng.random(SEEDS), np.zeros(SEEDS)]


def _margin(rng: np.random.Generator, *, margin: float) -> list[Array]:
    """Two arms that are exactly a margin apart."""
    return [margin + rng.standard_normal(SEEDS), np.zeros(SEEDS)]


def _curves(rng: np.random.Generator) -> list[Array]:
    """Twenty epochs of an arm, the first lowest by the spread of an epoch."""
    return list(np.r_[0.0, np.ones(19)][:, None] + rng.standard_normal((20, SEEDS)))


def _best_at_first(epochs: list[Measured], **how: float) -> Verdict:
    curve = Curve(
        judge=epochs[0].judge,
        label="curve",
        metric="loss",
        epochs=range(1, 21),
        values=lambda seeds: list(np.stack([each.values(seeds) for each in epochs], axis=1)),
    )
    return curve.bottoms_at(1, **how)


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


ROWS = {
    "a > b, one borderline example": Row(_borderline, lambda a: a[0] > a[1], None, SHARE),
    "a > b, at a ceiling": Row(_ceiling, lambda a: a[0] > a[1], None, SHARE),
    "a > b, leaves a plateau": Row(_plateau, lambda a: a[0] > a[1], True, SHARE),
    "within 0.02, leaves a plateau": Row(
        _plateau, lambda a: a[0].is_within(0.02, of=a[1]), False, SHARE
    ),
    "a > b, a tenth collapses": Row(_collapsing, lambda a: a[0] > a[1], False),
    "... better in half of the runs": Row(
        _collapsing, lambda a: a[0].exceeds(a[1], in_at_least=0.5), True
    ),
    "half of the runs": Row(
        partial(_share, share=0.5), lambda a: a[0].exceeds(a[1], in_at_least=0.5), None
    ),
    "nine runs in ten": Row(
        partial(_share, share=0.9), lambda a: a[0].exceeds(a[1], in_at_least=0.9), None
    ),
    "every run, true of nine in ten": Row(
        partial(_share, share=0.9), lambda a: a[0].exceeds(a[1], in_at_least=1), False
    ),
    "(a > b) & (c > d) & (e > f)": Row(_nulls, _and, None),
    "... lognormal": Row(partial(_nulls, lognormal=True), _and, None),
    "either(a > b, c > d, e > f)": Row(
        _nulls, lambda a: either(a[0] > a[1], a[2] > a[3], a[4] > a[5]), None
    ),
    **{
        f"within {margin:g} sd, on its edge": Row(
            partial(_margin, margin=margin),
            lambda a, m=margin: a[0].is_within(m, of=a[1]),  # type: ignore[misc]
            None,
        )
        for margin in (0.01, 0.3, 1.0, 3.0)
    },
    "a > b, means over 300 examples": Row(
        partial(_answers, better=0.0), lambda a: a[0] > a[1], None, by_example=True
    ),
    "... equal but for six points": Row(
        partial(_answers, better=SIX_POINTS), lambda a: a[0] > a[1], True, by_example=True
    ),
    "... within six points, on the edge": Row(
        partial(_answers, better=SIX_POINTS),
        lambda a: a[0].is_within(0.06, of=a[1]),
        None,
        by_example=True,
    ),
    "best epoch of 20, by one sd": Row(_curves, _best_at_first, True),
    "... best in half of the runs": Row(_curves, partial(_best_at_first, in_at_least=0.5), False),
}


def _measured(row: Row, judge: Judge, label: str, drawn: Array) -> Measured:
    values = drawn.mean(axis=1) if row.by_example else drawn
    return Measured(
        judge=judge,
        label=label,
        metric="m",
        values=lambda n: values[:n],
        scale=row.scale,
        by_example=(lambda n: drawn[:n]) if row.by_example else None,
    )


def judged(row: Row, looks: tuple[int, ...], samples: int) -> tuple[float, float]:
    """The share of samples called reproduced, and refuted."""
    counts = {Outcome.REPRODUCED: 0, Outcome.REFUTED: 0, Outcome.INCONCLUSIVE: 0}
    rng = np.random.default_rng(sum(looks))
    for _ in range(samples):
        judge = Judge(Design(looks=looks), explains=False)
        arms = [_measured(row, judge, str(i), drawn) for i, drawn in enumerate(row.draw(rng))]
        counts[row.word(arms).outcome] += 1
    return counts[Outcome.REPRODUCED] / samples, counts[Outcome.REFUTED] / samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    samples = 1_000 if parser.parse_args().quick else 10_000
    print(f"in % ± {100 * (0.005 / samples) ** 0.5:.2f} at 0.5 %, {samples} samples a row\n")
    print(f"{'looks':<14}{'sentence':<34}{'true':<8}{'reproduced':>12}{'refuted':>10}")
    for looks in DESIGNS:
        for name, row in ROWS.items():
            reproduced, refuted = judged(row, looks, samples)
            truth = {True: "yes", False: "no", None: "bound"}[row.true]
            print(
                f"{','.join(map(str, looks)):<14}{name:<34}{truth:<8}"
                f"{100 * reproduced:>12.2f}{100 * refuted:>10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
