"""The design of a claim on recorded runs: one look at all there is, unless looks were declared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from repro.arm import Needs
from repro.judge import Design, OneLook
from repro.recorded.arm import RecordedArm
from repro.recorded.errors import RecordedError
from repro.recorded.runs import listed


class RunsWanted(Needs):
    """A claim on recorded runs needs some that are not there; `runs` has the seeds of each arm."""

    def __init__(self, why: str, runs: Mapping[RecordedArm, list[int]]) -> None:
        self.runs = runs
        super().__init__(why)


def design_of(arms: Sequence[RecordedArm]) -> Design:
    """Return the design by which claims on these arms are judged.

    Raises `Needs` where runs are missing that it takes.
    """
    looks = {arm.source.looks for arm in arms}
    if len(looks) > 1:
        raise RecordedError("The sources of a claim declare other looks: give all the same looks=.")
    counts = {arm: len(_seeds(arm)) for arm in arms}
    _require_pairs([arm for arm in arms if arm.source.paired])
    for arm, count in counts.items():
        if count < 2:
            raise RunsWanted(
                f"has {count} run of {arm.label} in {arm.data}; needs two to have a spread",
                further([arm], 2),
            )
    declared = looks.pop()
    if not declared:
        return OneLook(looks=(max(counts.values()),))
    for arm, count in counts.items():
        if count < declared[0]:
            raise RunsWanted(
                f"has {count} runs of {arm.label} in {arm.data}; needs {declared[0]} for the first"
                " of its declared looks",
                further(arms, declared[0]),
            )
    return Design(looks=declared)


def further(arms: Sequence[RecordedArm], count: int) -> dict[RecordedArm, list[int]]:
    """Return the seeds that each arm lacks to have so many, the same new ones for all."""
    new = max((seed for arm in arms for seed in _seeds(arm)), default=0) + 1
    return {
        arm: list(range(new, new + count - len(_seeds(arm))))
        for arm in arms
        if len(_seeds(arm)) < count
    }


def _seeds(arm: RecordedArm) -> Collection[int]:
    return arm.source.runs(arm.chosen).runs


def _require_pairs(arms: Sequence[RecordedArm]) -> None:
    """Raise `Needs` where arms are said to be paired and a seed of one is not in another."""
    every = dict.fromkeys(s for arm in arms for s in _seeds(arm))
    for arm in arms:
        own = _seeds(arm)
        missing = [seed for seed in every if seed not in own]
        if missing:
            other = next(a for a in arms if missing[0] in _seeds(a))
            raise RunsWanted(
                f"needs {arm.label} at seed {listed(missing)}, which {other.label} has: paired=True"
                f" compares the same seeds of both (a run that failed is a row without a value and"
                " diverged= says what it counts as; without paired=True counts may differ)",
                {
                    each: absent
                    for each in arms
                    if (absent := [seed for seed in every if seed not in _seeds(each)])
                },
            )
