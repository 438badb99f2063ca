"""Claims on recorded runs: their design, refusals and remarks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from repro.arm import Needs
from repro.judge import Design, Effect, Outcome, Verdict
from repro.judge.anytime import declared_design
from repro.judge.measured import Measured
from repro.judge.statistic import critical
from repro.recorded.rows import RecordedError
from repro.recorded.source import AS_RECORDED, Recorded, RecordedArm
from repro.text import counted

FEWEST = 8
"""With fewer seeds, a correlation says nothing."""

DOUBTED = 0.05
"""The chance that unpaired runs look paired."""


def design_of(arms: Sequence[RecordedArm]) -> Design:
    """Return the design for claims on these arms.

    Raises `Needs` where runs for the design are missing.
    """
    looks = {arm.source.looks for arm in arms}
    if len(looks) > 1:
        raise RecordedError("The sources of a claim declare other looks: give all the same looks=.")
    counts = {arm: len(_seeds(arm)) for arm in arms}
    _require_pairs([arm for arm in arms if arm.source.paired])
    for arm, count in counts.items():
        if count < 2:
            raise Needs(f"has {count} run of {arm.label} in {arm.data}; needs two to have a spread")
    design = declared_design(looks.pop(), most=max(counts.values()))
    first = min(design.declared, default=0)
    for arm, count in counts.items():
        if count < first:
            raise Needs(
                f"has {count} runs of {arm.label} in {arm.data}; needs {first} for the first of its"
                " declared looks"
            )
    return design


def _seeds(arm: RecordedArm) -> Collection[int]:
    return arm.source.runs(arm.chosen).runs


def _require_pairs(arms: Sequence[RecordedArm]) -> None:
    """Raise `Needs` where a seed of one paired arm is missing in another."""
    every = dict.fromkeys(s for arm in arms for s in _seeds(arm))
    for arm in arms:
        own = _seeds(arm)
        missing = [seed for seed in every if seed not in own]
        if missing:
            other = next(a for a in arms if missing[0] in _seeds(a))
            raise Needs(
                f"needs {arm.label} at {other.named(*missing)}, which {other.label} has:"
                " paired=True compares the same seeds of both (a run that failed is a row without"
                " a value and diverged= says what it counts as; without paired=True counts may"
                " differ)"
            )


def require_same_ends(arms: Sequence[RecordedArm], metrics: Iterable[str]) -> None:
    """Raise `RecordedError` where runs end at different epochs, unless their source allows it.

    A run that ends without a finite value has diverged, and may end early.
    """
    for metric in dict.fromkeys(metrics):
        ends: dict[tuple[RecordedArm, int], list[int]] = {}
        for arm in arms:
            if arm.source.columns.epoch is None or arm.source.ends == AS_RECORDED:
                continue
            for seed, run in arm.source.runs(arm.chosen).runs.items():
                curve = run.curves.get(metric)
                if curve and run.measures[metric] is not None:
                    ends.setdefault((arm, max(curve)), []).append(seed)
        if len({end for _, end in ends}) < 2:
            continue
        first, last = (by(ends, key=lambda pair: pair[1]) for by in (min, max))
        (arm, end), (other, longest) = first, last
        raise RecordedError(
            f"{metric} of {arm.label} ends at {arm.source.columns.epoch} {end}"
            f" ({arm.named(*ends[first])}), and of {other.label} at {longest}"
            f" ({other.named(*ends[last])}): complete what was cut off, or say"
            f' ends="{AS_RECORDED}" in recorded(…) where that is meant, as with early stopping.'
        )


def remarks_on(findings: Sequence[Verdict], arms: Sequence[RecordedArm]) -> list[str]:
    """Return remarks on pairs without correlation, the best of several arms, and empty rows."""
    if not arms:
        return []
    lines = [_empty(source) for source in dict.fromkeys(arm.source for arm in arms)]
    lines += [_not_alike(effect) for finding in findings for effect in finding.effects]
    lines += [_chosen(finding, arms) for finding in findings]
    return [line for line in dict.fromkeys(lines) if line]


def _empty(source: Recorded) -> str:
    """Name a run in which nothing is that is read; empty without one."""
    if not source.empty:
        return ""
    runs = counted(len(source.empty), "run")
    names = ", ".join(source.columns.read)
    return f"{runs} of {source.path} logged none of {names} ({source.empty[0].said})"


def not_finite(arm: RecordedArm, seeds: Iterable[int]) -> list[str]:
    """Name the runs without a finite value of a metric, and the value that counts instead."""
    of_arm, diverged, lines = arm.source.runs(arm.chosen), arm.source.diverged, []
    runs = of_arm.runs
    for seed in seeds:
        lines += [
            f"{arm.label}, {arm.named(seed)}: another run of it logged nothing ({row.said})"
            for row in of_arm.again.get(seed, ())
        ]
        for name in arm.source.metrics:
            value = runs[seed].measures.get(name)
            if value is None or (isinstance(value, list) and None in value):
                has = f"no finite {name}" if name in runs[seed].measures else f"no {name}"
                counts = "say in diverged= what that counts as"
                if name in diverged:
                    counts = f"that counts as {diverged[name]:g}"
                lines.append(
                    f"{arm.label}, {arm.named(seed)} ({runs[seed].first.where}) has {has}: {counts}"
                )
    return lines


def _not_alike(effect: Effect) -> str:
    """Return a remark if paired values do not correlate; else empty."""
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
    """Return a remark if one of two arms is the best or worst of several possible ones."""
    if finding.outcome is not Outcome.REPRODUCED or len(arms) != 2:
        return ""
    metrics = {
        side.origin[1]
        for side in finding.judged.sides
        if isinstance(side, Measured) and isinstance(side.origin, tuple)
    }
    for metric in sorted(metrics):
        for arm, other in (arms, arms[::-1]):
            mean, rivals = means_of(arm, other, metric)
            if mean is not None and len(rivals) > 1 and not min(rivals) <= mean <= max(rivals):
                extreme = "highest" if mean > max(rivals) else "lowest"
                return (
                    f"{arm.label} has the {extreme} {metric} of {len(rivals) + 1} arms that could"
                    f" be compared with {other.label}: if it was chosen for that, this level does"
                    " not hold; claim it of all of them, or on runs that are new"
                )
    return ""


def means_of(arm: RecordedArm, other: RecordedArm, metric: str) -> tuple[float | None, list[float]]:
    """Return the mean of an arm, and the means of the rivals that could replace it.

    Rivals could be compared with `other` instead. An arm with a missing number is no rival.
    """
    means = arm.source.means.get(metric, {})  # another source may lack it
    if arm.chosen == other.chosen or arm.chosen not in means:
        return None, []
    rivals = (each for each in arm.source.rivals(arm.chosen) if each != other.chosen)
    return means[arm.chosen], [means[each] for each in rivals if each in means]
