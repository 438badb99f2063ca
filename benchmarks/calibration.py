"""Realised error rates and power of every word of the judge, by simulation.

    python benchmarks/calibration.py            # about a minute
    python benchmarks/calibration.py --quick    # some seconds, larger Monte Carlo errors

The null of a word is its boundary: one comparison sits exactly on its bound, the others are clear.
There a `reproduced` and a `refuted` are both called false, each allowed half the level. Power is
the share reproduced when that comparison lies 1.5 standard deviations of an arm past its bound.

The t test is exact for normal differences. The other noises show what it does where they are not:
`heavy` is Student's t with 3 degrees of freedom, `skewed` a centred lognormal (sigma 1, skewness
6.2), mirrored on every second arm so that the differences stay skewed: the worst case. `alike` is
the same without the mirror: where two arms are skewed alike, their difference is not. Every arm has
standard deviation 1; `paired` arms correlate by 0.8 over seeds, `unpaired` ones not at all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np

from repro.judge import Design, Judge, Ladder, Measured, Statement, Verdict
from repro.judge.evidence import settle
from repro.judge.judge import evidence_for
from repro.judge.scale import Array

DESIGNS = ((3,), (5,), (8,), (10,), (20,), (5, 8, 12), (3, 5, 8, 12, 20))
PAIRINGS = {"paired": 0.8, "unpaired": 0.0}
EFFECT = 1.5

# Each word: the true means when the comparison at risk lies `e` past its bound, and the claim.
WORDS: dict[str, tuple[Callable[[float], list[float]], Callable[[list[Measured]], Verdict]]] = {
    "exceeds": (lambda e: [0.3 + e, 0], lambda a: a[0].exceeds(a[1], by_at_least=0.3)),
    "less": (lambda e: [0, e], lambda a: a[0] < a[1]),
    "within": (lambda e: [9 - e, 0], lambda a: a[0].is_within(9.0, of=a[1])),
    "matches": (lambda e: [14 - e], lambda a: a[0].matches(5.0, tolerance=9.0)),
    "at most": (lambda e: [e - 0.5, 0], lambda a: a[0].is_at_most(0.5, below=a[1])),
    "climbs": (lambda e: [0, 9, 9 + e, 18 + e], lambda a: Ladder(a).climbs()),
    "falls": (lambda e: [9 + e, 9, 0], lambda a: Ladder(a).falls()),
    "peaks": (lambda e: [0, 9 + e, 9], lambda a: Ladder(a).peaks_at(1)),
    "bottoms": (lambda e: [9, 0, e], lambda a: Ladder(a).bottoms_at(1)),
    "dips": (lambda e: [9, 0, e], lambda a: Ladder(a).dips_at(1)),
    "ordered": (lambda e: [9 + e, e, 0], lambda a: Ladder(a).is_ordered()),
    "gain": (lambda e: [5 + e, 0, 5, 0], lambda a: (a[0] - a[1]) > (a[2] - a[3])),
    "diminishes": (lambda e: [0, 27 + e, 36 + e, 45], lambda a: Ladder(a).diminishes()),
    "largest step": (lambda e: [0, 9 + e, 18 + e, 18], lambda a: Ladder(a).largest_step_is(0)),
}


class Recorder(Judge):
    """Keeps the statement instead of judging it, so that many samples are judged at once."""

    statement: Statement

    def decide(self, statement: Statement) -> Verdict:
        self.statement = statement
        return Verdict.not_run(statement.text, reason="recorded")


def noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draws with mean 0 and standard deviation 1."""
    if kind == "heavy":
        return rng.standard_t(3, size=shape) / 3**0.5
    if kind in ("skewed", "alike"):
        return np.asarray((rng.lognormal(size=shape) - np.exp(0.5)) / ((np.e - 1) * np.e) ** 0.5)
    return rng.standard_normal(shape)


def simulated_arms(
    means: list[float], *, kind: str, correlation: float, seeds: int, samples: int
) -> list[Array]:
    """Values (seeds, samples) of each arm; the same draws for the same question."""
    rng = np.random.default_rng(11)
    shared = rng.standard_normal((seeds, samples)) * correlation**0.5
    own = (1 - correlation) ** 0.5
    mirrored = kind == "skewed"
    return [
        mean + shared + own * (-1 if mirrored and i % 2 else 1) * noise(kind, shared.shape, rng)
        for i, mean in enumerate(means)
    ]


def first_seeds(arm: Array, seeds: int) -> Array:
    return arm[:seeds]


def rates(
    arms: list[Array], claim: Callable[[list[Measured]], Verdict], design: Design
) -> tuple[float, float]:
    """The share of samples that the design calls reproduced, and refuted."""
    recorder = Recorder(design)
    claim(
        [
            Measured(judge=recorder, label=str(i), metric="m", values=partial(first_seeds, arm))
            for i, arm in enumerate(arms)
        ]
    )
    statement = recorder.statement
    undecided = np.ones(arms[0].shape[1], dtype=bool)
    reproduced, refuted = np.zeros_like(undecided), np.zeros_like(undecided)
    for seeds in design.looks:
        readings = {side: side.values(seeds).reshape(seeds, -1) for side in statement.sides}
        yes, no = settle([evidence_for(term, readings) for term in statement.terms], design)
        reproduced |= undecided & yes
        refuted |= undecided & no
        undecided &= ~(yes | no)
    return float(reproduced.mean()), float(refuted.mean())


def percent(rate: float, samples: int) -> str:
    error = (max(rate, 1 / samples) * (1 - rate) / samples) ** 0.5
    return f"{100 * rate:6.2f} ±{100 * error:4.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--level", type=float, default=0.01, help="both sides together")
    options = parser.parse_args()
    samples = 3_000 if options.quick else 30_000
    print(f"each side is allowed {50 * options.level:g}%; all numbers in %, ± Monte Carlo error\n")
    print(f"{'noise':<8}{'arms':<10}{'looks':<16}{'word':<14}{'false repr.':<14}", end="")
    print(f"{'false refuted':<15}power")
    worst: dict[tuple[str, str], list[float]] = {}
    for kind in ("normal", "heavy", "alike", "skewed"):
        for pairing, correlation in PAIRINGS.items():
            for looks in DESIGNS:
                design = Design(looks=looks, level=options.level)
                for word, (means, claim) in WORDS.items():
                    (false_yes, false_no), (power, _) = (
                        rates(
                            simulated_arms(
                                means(effect),
                                kind=kind,
                                correlation=correlation,
                                seeds=looks[-1],
                                samples=samples,
                            ),
                            claim,
                            design,
                        )
                        for effect in (0.0, EFFECT)
                    )
                    name = ",".join(map(str, looks))
                    print(f"{kind:<8}{pairing:<10}{name:<16}{word:<14}", end="")
                    cells = (percent(rate, samples) for rate in (false_yes, false_no, power))
                    print("  ".join(cells), flush=True)
                    row = worst.setdefault((kind, name), [0.0, 0.0])
                    row[:] = max(row[0], false_yes), max(row[1], false_no)
    print("\nthe worst word:")
    for (kind, name), (false_yes, false_no) in worst.items():
        print(f"{kind:<8}{name:<16}", percent(false_yes, samples), percent(false_no, samples))


if __name__ == "__main__":
    main()
