"""The time that missing runs will take: by what others took, else by what was timed, else a guess.

Runs of a program that is in the store, trained on this kind of machine, tell what the next ones of
it take, in proportion to the effort of their arms. A program that was only timed takes its steps,
as often as others were off by, those of the same study and data more than the rest; one that was
not timed is guessed from its size in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from repro.arm import Arm, Run
from repro.runs.engines import USUAL_RATE, Engines
from repro.runs.results import Results

TRUSTED = 15.0
"""The seconds said of a run that counts as having come true, whatever the first runs took."""

TIMING = 2.0
"""Seconds in which a program is timed, roughly."""


def by_program(runs: Iterable[Run]) -> list[list[Run]]:
    """Group runs by what can be trained as one, in the order in which they come."""
    programs: dict[str, list[Run]] = {}
    for run in runs:
        programs.setdefault(run.arm.program, []).append(run)
    return list(programs.values())


@dataclass
class _Seen:
    """The runs of one program that have been trained, added up."""

    arm: Arm
    runs: list[Run] = field(default_factory=list)
    effort: float = 0.0
    seconds: float = 0.0
    steps: int = 0

    @property
    def share(self) -> float:
        """The share of their steps that they took, where they could stop early."""
        whole = self.arm.steps * len(self.runs)
        return self.steps / whole if whole else 1.0


@dataclass
class _Off:
    """The factor between what was said of some runs and what they took: the slope of a line.

    Runs count by the square of what was said. Cheap ones train first; beside their steps they
    start and load, which dear ones do not do so many times as often, so they tell little of those.
    """

    said_twice: float = 0.0
    said_and_took: float = 0.0

    def add(self, runs: int, said: float, took: float) -> None:
        """Take in what was said of each of so many runs, and what each took."""
        self.said_twice += runs * said * said
        self.said_and_took += runs * said * took

    def factor(self, usual: float) -> float:
        """Return the factor by which the next thing that is said is likely to be off."""
        return (self.said_and_took + TRUSTED**2 * usual) / (self.said_twice + TRUSTED**2)


class Forecast:
    """Seconds of one process for runs that are not trained yet.

    With `machine`, results that another kind of machine trained tell nothing about it.
    """

    def __init__(self, engines: Engines, results: Results, *, machine: str | None = None) -> None:
        self._engines, self._results, self._machine = engines, results, machine
        self._jobs: dict[str, tuple[float, float]] = {}  # by program: effort, and seconds it took
        self._read = -1
        self._seen: dict[str, _Seen] = {}
        self._off: dict[tuple[str, bool], _Off] = {}  # by group and whether it was timed
        self._shares: dict[str, list[float]] = {}  # by group
        self._a_run: dict[str, float] = {}  # the mean seconds of a run, by study

    def is_timed(self, run: Run) -> bool:
        """Return whether the program of a run was timed; else its seconds are a guess."""
        return self._engines.of(run.arm) is not None

    def seconds(self, runs: Sequence[Run]) -> float:
        """Return how long runs of one program take."""
        self._look()
        arm = runs[0].arm
        if (known := self._as_others(runs)) is not None:
            return known
        said = self._said(runs, self.share(arm), timed=self._has_speed(arm))
        if not said and arm.study in self._a_run:  # it can be neither timed nor guessed
            return self._a_run[arm.study] * len(runs)
        return said * self._factor(arm)

    def of_all(self, runs: Iterable[Run]) -> float:
        """Return how long runs of many programs take, with the timing of those never timed."""
        programs = by_program(runs)
        untimed = sum(not self.is_timed(program[0]) for program in programs)
        return sum(map(self.seconds, programs)) + TIMING * untimed

    def of_likely(self, likely: Mapping[Run, float]) -> float:
        """Return how long runs take that are wanted with these chances only."""
        return sum(
            self.seconds(runs) * sum(likely[run] for run in runs) / len(runs)
            for runs in by_program(likely)
        )

    def took(self, runs: Sequence[Run], seconds: float) -> None:
        """Learn how long a batch took this process."""
        program = runs[0].arm.program
        effort, before = self._jobs.get(program, (0.0, 0.0))
        self._jobs[program] = effort + _effort(runs), before + seconds
        self._read = -1

    def _as_others(self, runs: Sequence[Run]) -> float | None:
        """Return what runs take if others of their program tell it; None where none is known."""
        program = runs[0].arm.program
        if program in self._jobs:
            effort, seconds = self._jobs[program]
        elif program in self._seen:
            effort, seconds = self._seen[program].effort, self._seen[program].seconds
        else:
            return None
        return seconds * _effort(runs) / effort

    def _said(self, runs: Sequence[Run], share: float, *, timed: bool) -> float:
        """Return the seconds of runs by their steps, a share of which they take."""
        rows = dict.fromkeys(map(self._engines.row, runs))
        if not timed:
            return share * sum(row.arm.work for row in rows) / USUAL_RATE
        speed = self._engines.of(runs[0].arm)
        assert speed is not None
        return share * sum(row.arm.steps for row in rows) * speed.seconds

    def _has_speed(self, arm: Arm) -> bool:
        speed = self._engines.of(arm)
        return speed is not None and 0 < speed.seconds < math.inf  # 0 where nobody can time it

    def share(self, arm: Arm) -> float:
        """Return the share of its steps that a run is likely to take.

        It is what others of its study took on the same data, else on any. Where none was seen, it
        is half way, in factors, between the soonest that its patience can end and all.
        """
        if not _may_stop(arm):
            return 1.0
        self._look()
        for group in reversed(_groups(arm)):
            if seen := self._shares.get(group):
                return sum(seen) / len(seen)
        recipe = arm.recipe
        soonest = ((recipe.patience or 0) + 1) * recipe.measure_every / recipe.epochs
        return math.sqrt(min(1.0, soonest))

    def _factor(self, arm: Arm) -> float:
        """Return how far off such a number is likely to be, by all programs, then by its kind's."""
        timed, factor = self._has_speed(arm), 1.0
        for group in ("", *_groups(arm)):
            factor = self._off.get((group, timed), _Off()).factor(factor)
        return factor

    def _look(self) -> None:
        """Learn from what has been read of the store since the last look."""
        count = self._results.count
        if count == self._read:
            return
        self._read = count
        self._seen = {}
        for run, result in self._results.read().items():
            made = result.provenance
            if self._machine not in (None, made.get("machine")) or "seconds" not in made:
                continue
            seen = self._seen.setdefault(run.arm.program, _Seen(run.arm))
            seen.runs.append(run)
            seen.effort += _effort([run])
            seen.seconds += made["seconds"]
            seen.steps += result.values.get("steps", 0)
        by_study: dict[str, list[_Seen]] = {}
        for seen in self._seen.values():
            by_study.setdefault(seen.arm.study, []).append(seen)
        self._a_run = {
            study: sum(each.seconds for each in theirs) / sum(len(each.runs) for each in theirs)
            for study, theirs in by_study.items()
        }
        self._off, self._shares = {}, {}
        for seen in self._seen.values():
            groups = _groups(seen.arm)
            if _may_stop(seen.arm):
                for group in groups:
                    self._shares.setdefault(group, []).append(seen.share)
            count, took_all = len(seen.runs), self._as_others(seen.runs)
            assert took_all is not None
            for timed in (False, True)[: 1 + self._has_speed(seen.arm)]:
                said = self._said(seen.runs, seen.share, timed=timed) / count
                for group in ("", *groups):
                    self._off.setdefault((group, timed), _Off()).add(count, said, took_all / count)


def _effort(runs: Iterable[Run]) -> float:
    """Return the effort of runs of one program, added up; an arm that says 0 counts as one of 1."""
    return sum(run.arm.effort or 1.0 for run in runs)


def _groups(arm: Arm) -> tuple[str, str]:
    """Return the names of what an arm is like, the wider group first."""
    return arm.study, f"{arm.study} on {arm.data}"


def _may_stop(arm: Arm) -> bool:
    """Return True if a run may end before its last step; False for those that take none."""
    return arm.stops_early and arm.steps > 0
