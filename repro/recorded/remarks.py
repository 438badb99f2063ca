"""Remarks on recorded runs that speak against a comparison, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repro.judge import Effect, Outcome, Verdict
from repro.judge.measured import Measured
from repro.judge.statistic import critical
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


def not_finite(arm: RecordedArm, seeds: Iterable[int]) -> list[str]:
    """Name the runs without a finite value of a metric, and say what that counts as."""
    runs, diverged, lines = arm.source.runs(arm.chosen).runs, arm.source.diverged, []
    for seed in seeds:
        for name in arm.source.metrics:
            value = runs[seed].measures.get(name)
            if value is None or (isinstance(value, list) and None in value):
                has = f"no finite {name}" if name in runs[seed].measures else f"no {name}"
                counts = "say in diverged= what that counts as"
                if name in diverged:
                    counts = f"that counts as {diverged[name]:g}"
                lines.append(f"{arm.label}, seed {seed} ({runs[seed].where}) has {has}: {counts}")
    return lines


def _not_alike(effect: Effect) -> str:
    """Say where values that are said to be paired do not correlate."""
    r, seeds = effect.correlation, effect.seeds
    if r is None or seeds < FEWEST:
        return ""
    t = float(critical(DOUBTED, seeds - 2))
    if r >= t / (seeds - 2 + t**2) ** 0.5:
        return ""
    return (
        f"paired=True may be wrong: the seeds of {effect.label} have nothing in common"
        f" (r = {r:.2f}). Is a seed the same start and the same data order in both?"
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
            found = arm.source.rivals.standing(arm.chosen, metric, beside=other.chosen)
            if found is not None and not found.lowest <= found.own <= found.highest:
                extreme = "highest" if found.own > found.highest else "lowest"
                return (
                    f"{arm.label} has the {extreme} {metric} of {found.rivals + 1} arms that could"
                    f" be compared with {other.label}: if it was chosen for that, this level does"
                    " not hold; claim it of all of them, or on runs that are new"
                )
    return ""
