"""How often verdicts stand when all claims of a session are counted, and how many are false.

    python benchmarks/standing.py            # some minutes
    python benchmarks/standing.py --quick    # fewer sessions

A session has 300 claims that one arm exceeds another, judged at the looks of `ci`. The arms of 50
claims share the other arm, so that their p depend on each other; in every second claim of these the
sides are exchanged. A third of the claims is false: there is no effect, so that either verdict is
false. The effects of the others, in standard deviations of the difference over seeds, are true. In
the sessions of the last row nothing has an effect.

`shares`       the default: of those that stand, at most 5 % are false on average
`Holm`         the chance that any of those that stand is false is at most 5 %
`family-wise`  the same, and a settled claim takes further seeds until it stands (`--family-wise`)
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

from repro.judge import SUITE_LEVEL, Design, Judge, Measured, Outcome, false_shares, holm
from repro.judge.scale import Array
from repro.runs.profiles import PROFILES

LOOKS = PROFILES["ci"].looks
GROUPS, ARMS = 6, 50
EFFECTS = (0.0, 0.0, 1.0, 1.5, 2.0, 3.0)
"""The effects of claims in turn."""

Rule = Callable[[Sequence[float]], list[float]]
RULES: dict[str, tuple[Rule, bool]] = {
    "shares": (false_shares, False),
    "Holm": (holm, False),
    "family-wise": (holm, True),
}
"""The rule of each row, and whether settled claims go on until they stand."""


def session(rng: np.random.Generator, effects: Sequence[float]) -> list[tuple[float, Array, Array]]:
    """Return the effect of each claim, and the values of its two sides."""
    claims = []
    for _ in range(GROUPS):
        shared = rng.standard_normal(LOOKS[-1])
        for place, effect in enumerate(np.resize(effects, ARMS)):
            own, way = rng.standard_normal(LOOKS[-1]), 1 - 2 * (place // len(effects) % 2)
            own += way * 2**0.5 * effect
            claims.append((float(effect), *((own, shared) if way > 0 else (shared, own))))
    return claims


def judged(left: Array, right: Array, until: float) -> tuple[Outcome, float, int]:
    """Judge that one arm exceeds another; the outcome, its p, and the seeds that it took."""
    judge = Judge(Design(looks=LOOKS), until=until)
    a, b = (
        Measured(judge=judge, label=label, metric="m", values=lambda n, at=values: at[:n])  # type: ignore[misc]
        for label, values in (("a", left), ("b", right))
    )
    verdict = a > b
    return verdict.outcome, verdict.p, verdict.seeds


def row(name: str, effects: Sequence[float], sessions: int) -> str:
    """Judge sessions by one rule; return what stands, and how much of it is false, as a line."""
    rule, goes_on = RULES[name]
    rng = np.random.default_rng(27)
    standing: dict[float, list[bool]] = {effect: [] for effect in sorted(set(EFFECTS))}
    shares, seeds = [], []
    for _ in range(sessions):
        claims = session(rng, effects)
        until = SUITE_LEVEL / len(claims) if goes_on else 1.0
        found = [judged(left, right, until) for _, left, right in claims]
        stands = [level <= SUITE_LEVEL for level in rule([p for _, p, _ in found])]
        is_false = [
            effect == 0 or outcome is not Outcome.REPRODUCED
            for (effect, _, _), (outcome, _, _) in zip(claims, found, strict=True)
        ]
        for (effect, _, _), one in zip(claims, stands, strict=True):
            standing[effect].append(one)
        wrong = sum(one and false for one, false in zip(stands, is_false, strict=True))
        shares.append(wrong / max(1, sum(stands)))
        seeds += [taken for _, _, taken in found]
    by_effect = "".join(f"{np.mean(each) if each else np.nan:8.1%}" for each in standing.values())
    any_false = np.mean(np.array(shares) > 0)
    return f"{name:14}{by_effect}{np.mean(shares):12.2%}{any_false:12.1%}{np.mean(seeds):8.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer sessions")
    sessions = 20 if parser.parse_args().quick else 200
    print(f"{sessions} sessions of {GROUPS * ARMS} claims a row, looks at {LOOKS}")
    print("stands, by effect in standard deviations over seeds:")
    head = "".join(f"{effect:8g}" for effect in sorted(set(EFFECTS)))
    print(f"{'':14}{head}{'false share':>12}{'any false':>12}{'seeds':>8}")
    for effects in (EFFECTS, (0.0,)):
        for name in RULES:
            print(row(name, effects, sessions), flush=True)


if __name__ == "__main__":
    main()
