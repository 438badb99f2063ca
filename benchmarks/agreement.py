"""Error rates of the gate where the ledger is from another machine, or from more seeds.

    python benchmarks/agreement.py     # a few seconds

One comparison at the `ci` profile's looks is judged twice on independent runs. Where the first time
reproduced it, the gate compares the second time with it; then the same with a look at five seeds
alone. An effect is in standard deviations over seeds.

`again`  the second time reproduces it too
`false`  the gate fails, though nothing has changed
`caught` the gate fails where the effect has vanished; at the ledger's seeds and on its machine it
         always does, unless chance reproduces what is not there
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repro.judge import Design, Excess, has_shrunk
from repro.judge.evidence import is_hopeless, settle, weigh
from repro.runs.profiles import PROFILES

EFFECTS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0)
CLAIMS = 20_000
OPEN, REPRODUCED, REFUTED = 0, 1, 2


Judged = tuple[NDArray[np.int_], list[Excess]]


def judged(design: Design, effect: float, seed: int) -> Judged:
    """Return the outcome of each claim, and how far past its bound it was when it was settled."""
    draws = np.random.default_rng(seed).normal(effect, 1, (design.looks[-1], CLAIMS))
    outcomes, past, left = np.zeros(CLAIMS, int), np.zeros((CLAIMS, 3)), np.full(CLAIMS, True)
    for seeds in design.looks:
        evidence = weigh(draws[:seeds])
        holds, fails = settle([evidence], [], design)
        now = np.stack([evidence.mean, evidence.spread, np.full(CLAIMS, seeds)], axis=1)
        past[left] = now[left]
        outcomes[left & holds], outcomes[left & fails] = REPRODUCED, REFUTED
        left &= ~(holds | fails | is_hopeless([evidence], [], design))
    return outcomes, [Excess(*row) for row in past.tolist()]


def failing(accepted: Judged, judged_now: Judged) -> np.floating:
    """Return the share of the claims accepted as reproduced that the gate now fails."""
    outcomes, past = judged_now
    return np.mean(
        [
            outcomes[i] == REFUTED
            or (outcomes[i] == OPEN and has_shrunk([accepted[1][i]], [past[i]]))
            for i in np.flatnonzero(accepted[0] == REPRODUCED)
        ]
    )


def main() -> None:
    there = Design(looks=PROFILES["ci"].looks)
    for here in (there, Design(looks=there.looks[:1])):
        print(f"accepted at {there.looks} seeds, judged at {here.looks}, {CLAIMS} claims\n")
        print(f"{'effect':>6} {'again':>8} {'false':>8} {'caught':>8}")
        vanished = judged(here, 0.0, 3)
        for effect in EFFECTS:
            first, second = judged(there, effect, 1), judged(here, effect, 2)
            again = (second[0][first[0] == REPRODUCED] == REPRODUCED).mean()
            false, caught = failing(first, second), failing(first, vanished)
            print(f"{effect:6.2f} {again:8.1%} {false:8.2%} {caught:8.1%}")
        print()


if __name__ == "__main__":
    main()
