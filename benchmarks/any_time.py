"""Power of a test that may look after every seed, beside the looks of the profile `ci`.

    python benchmarks/any_time.py

The test is an e-process: a mixture of likelihood ratios of the t statistic over effects that are
normal around 0, with the spread unknown. It refuses the null where it exceeds 1 / level, and
may be looked at after every seed. The judge's own looks have the same level.
"""

from __future__ import annotations

import numpy as np

from repro.judge import Design

SAMPLES, FIRST, LAST = 40_000, 3, 12
DESIGN = Design(looks=(5, 8, LAST))


def e_value(t: np.ndarray, seeds: int, *, expected: float) -> np.ndarray:
    """The evidence against an effect of 0 where effects of `expected` deviations are typical."""
    scale = 1 / expected**2
    square = t**2
    grown = (1 + square / (seeds - 1)) / (1 + square * scale / ((seeds + scale) * (seeds - 1)))
    return np.sqrt(scale / (seeds + scale)) * grown ** (seeds / 2)


def power(effect: float, *, expected: float) -> float:
    """The share of samples in which the e-process ends by the last seed."""
    values = effect + np.random.default_rng(1).standard_normal((LAST, SAMPLES))
    found = np.zeros(SAMPLES, bool)
    for seeds in range(FIRST, LAST + 1):
        first = values[:seeds]
        t = first.mean(axis=0) / first.std(axis=0, ddof=1) * seeds**0.5
        found |= e_value(t, seeds, expected=expected) >= 1 / DESIGN.level
    return float(found.mean())


def main() -> None:
    print(f"{'effect in sd':<14}{'the looks':>10}{'e-process, for effects of':>28}")
    expected = (0.5, 1.0, 1.7)
    print(f"{'':<24}" + "".join(f"{each:>9g} sd" for each in expected))
    for effect in (0.0, 1.0, 1.5, 2.0):
        shares = [DESIGN.power(effect), *(power(effect, expected=each) for each in expected)]
        print(f"{effect:<14g}" + "".join(f"{100 * share:>10.1f} %" for share in shares))


if __name__ == "__main__":
    main()
