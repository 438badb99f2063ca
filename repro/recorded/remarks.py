"""What can be noticed of recorded runs that speaks against a comparison, in one sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from repro.judge import Effect, Outcome, Verdict
from repro.judge.measured import Measured
from repro.judge.student import critical
from repro.recorded.arm import RecordedArm

FEWEST = 8
"""The seeds below which a correlation says nothing."""

DOUBTED = 0.05
"""The chance at which runs that are not paired at all look as if they were."""


def remarks_on(findings: Sequence[Verdict], arms: Sequence[RecordedArm]) -> list[str]:
    """Say where pairs have nothing in common, and where the best of several was compared alone."""
    if not arms:
        return []
    lines = [_not_alike(effect) for finding in findings for effect in finding.effects]
    lines += [_chosen(finding, arms) for finding in findings]
    return [line for line in dict.fromkeys(lines) if line]


def _not_alike(effect: Effect) -> str:
    """Say where values that are said to be paired do not correlate."""
    r, seeds = effect.correlation, effect.seeds
    if r is None or seeds < FEWEST:
        return ""
    t = float(critical(DOUBTED, seeds - 2))
    if r >= t / (seeds - 2 + t**2) ** 0.5:
        return ""
    return (
        f"paired=True is either not so or worth nothing: the seeds of {effect.label} have nothing"
        f" in common (r = {r:.2f}); is a seed the same start and the same data order in both?"
    )


def _chosen(finding: Verdict, arms: Sequence[RecordedArm]) -> str:
    """Say where one of two arms is the extreme of several that could have taken its place."""
    if finding.judged is None or finding.outcome is not Outcome.REPRODUCED or len(arms) != 2:
        return ""
    metrics = {
        side.origin[1]
        for side in finding.judged.sides
        if isinstance(side, Measured) and isinstance(side.origin, tuple)
    }
    for metric in sorted(metrics):
        for arm, other in (arms, arms[::-1]):
            means = arm.source.rivals(arm.chosen, metric)
            means.pop(other.chosen, None)
            own = means.pop(arm.chosen, None)
            known = [mean for mean in means.values() if mean is not None]
            if own is None or len(known) < 2:
                continue
            if own > max(known) or own < min(known):
                extreme = "highest" if own > max(known) else "lowest"
                return (
                    f"{arm.label} has the {extreme} {metric} of {len(known) + 1} arms that could"
                    f" be compared with {other.label}: if it was chosen for that, this level does"
                    " not hold; claim it of all of them, or on runs that are new"
                )
    return ""
