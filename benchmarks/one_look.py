"""Realised error rates and power of one look at all seeds, as recorded runs are judged.

    python benchmarks/one_look.py            # a minute or two
    python benchmarks/one_look.py --quick    # some seconds, larger Monte Carlo errors

Samples are judged as those of a claim are, many at once. For the error rates the two arms have the
same mean, so that `reproduced` and `refuted` are both false; each is allowed 0.5 %. For the power
the first arm lies 1.5 of its standard deviations higher.

`paired` arms correlate by 0.8 over seeds, `samples` not at all. `5 x` says that the first arm, the
one with fewer seeds, has five times the standard deviation of the other. `ties` are shares of 100
examples near one half, on which many seeds agree; `ceiling` are shares of 100 examples near 1, many
of them exactly 1. `heavy` is Student's t with 3 degrees of freedom, and `skewed` a centred
lognormal against its mirror image, on which t tests do not keep their level.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from repro.arm import Metric
from repro.judge import Judge, Measured, OneLook, Scale, Statement, Verdict
from repro.judge.evidence import settle

EFFECT = 1.5
IDENTITY, SHARE = Metric("identity"), Metric("log-odds", examples=100)
COUNTS = ((3, 3), (5, 5), (20, 20), (3, 20), (5, 20), (5, 7))
Rng = np.random.Generator
Counts = tuple[int, int]
Arrays = tuple[np.ndarray, np.ndarray]
Draw = Callable[[Rng, Counts, int, float, bool], Arrays]


@dataclass(frozen=True)
class Noise:
    """How the values of two arms are drawn: their numbers of seeds, the shift, whether paired."""

    draw: Draw
    metric: Metric = IDENTITY
    has_power: bool = True


def normal(ratio: float) -> Draw:
    def draw(rng: Rng, counts: Counts, claims: int, shift: float, paired: bool) -> Arrays:
        a, b = (rng.standard_normal((count, claims)) for count in counts)
        if paired:
            shared = rng.standard_normal(a.shape)
            a, b = (0.8**0.5 * shared + 0.2**0.5 * each for each in (a, b))
        return shift * ratio + ratio * a, b

    return draw


def heavy(rng: Rng, counts: Counts, claims: int, shift: float, paired: bool) -> Arrays:
    a, b = (rng.standard_t(3, (count, claims)) / 3**0.5 for count in counts)
    return shift + a, b


def skewed(rng: Rng, counts: Counts, claims: int, shift: float, paired: bool) -> Arrays:
    sd = ((np.e - 1) * np.e) ** 0.5
    a, b = ((rng.lognormal(size=(count, claims)) - np.e**0.5) / sd for count in counts)
    return shift - a, b


def shares(share: float) -> Draw:
    def draw(rng: Rng, counts: Counts, claims: int, shift: float, paired: bool) -> Arrays:
        first, second = (rng.binomial(100, share, (count, claims)) / 100 for count in counts)
        return first, second

    return draw


NOISES = {
    "normal": Noise(normal(1.0)),
    "5 x": Noise(normal(5.0)),
    "ties": Noise(shares(0.5), SHARE, has_power=False),
    "ceiling": Noise(shares(0.995), SHARE, has_power=False),
    "heavy": Noise(heavy),
    "skewed": Noise(skewed),
}


@dataclass
class Listening(Judge):
    """A judge that keeps the statements it is asked for."""

    heard: list[Statement] = field(default_factory=list)

    def decide(self, statement: Statement) -> Verdict:
        self.heard.append(statement)
        return super().decide(statement)


def rates(noise: Noise, counts: tuple[int, int], *, paired: bool, claims: int) -> dict[str, float]:
    """Return the shares of claims that are falsely reproduced, falsely refuted, and found."""
    rng = np.random.default_rng([claims, *counts])
    false = outcomes(noise, counts, rng, shift=0.0, paired=paired, claims=claims)
    found = (float("nan"),) * 2
    if noise.has_power:
        found = outcomes(noise, counts, rng, shift=EFFECT, paired=paired, claims=claims)
    return {"reproduced": false[0], "refuted": false[1], "power": found[0]}


def outcomes(
    noise: Noise, counts: tuple[int, int], rng: Rng, *, shift: float, paired: bool, claims: int
) -> tuple[float, float]:
    """Judge `first > second` of many samples at once; the shares reproduced and refuted."""
    drawn = noise.draw(rng, counts, claims, shift, paired)
    judge = Listening(OneLook(looks=(max(counts),)))
    scale = Scale(noise.metric.scale, count=noise.metric.examples)
    first, second = (
        Measured(
            judge=judge,
            label=name,
            metric="value",
            values=lambda n, values=values: values[:n, 0],
            scale=scale,
            pairing=None if paired else name,
        )
        for name, values in zip(("first", "second"), drawn, strict=True)
    )
    assert (first > second).seeds == max(counts)
    (term,) = judge.heard[0].terms
    evidence = term.weigh({first: drawn[0], second: drawn[1]})
    reproduced, refuted = settle([evidence], [], judge.design)
    return float(np.mean(reproduced)), float(np.mean(refuted))


def rows(claims: int) -> Iterable[tuple[str, str, tuple[int, int], dict[str, float]]]:
    for paired in (True, False):
        for name, noise in NOISES.items():
            for counts in COUNTS:
                if not paired or counts[0] == counts[1]:
                    kind = "paired" if paired else "samples"
                    yield kind, name, counts, rates(noise, counts, paired=paired, claims=claims)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    claims = 20_000 if quick else 400_000
    warnings.simplefilter("error")
    error = (0.005 / claims) ** 0.5
    print(f"{claims} claims a row; the standard error of a rate of 0.5 % is {error:.3%}")
    print(f"{'':8} {'noise':8} {'seeds':>8} {'reproduced':>11} {'refuted':>8} {'power':>6}")
    for kind, name, counts, rate in rows(claims):
        seeds = " + ".join(map(str, counts)) if len(set(counts)) > 1 else str(counts[0])
        power = "" if np.isnan(rate["power"]) else f"{rate['power']:6.0%}"
        found = f"{rate['reproduced']:11.2%} {rate['refuted']:8.2%} {power:>6}"
        print(f"{kind:8} {name:8} {seeds:>8} {found}", flush=True)


if __name__ == "__main__":
    main()
