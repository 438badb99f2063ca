"""The arms of claims, and the seeds that they are likely to take, as every machine sees them.

A claim is read without any result: each of its statements is taken as holding, so that the test
goes on to the next one. Stores, timings and other sessions have no part in what is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from repro.arm import Arm, Needs, Run
from repro.data.locate import DataError
from repro.judge import Design, Judge, Outcome, Verdict
from repro.judge.terms import Statement
from repro.ledger import LedgerError
from repro.plugin.call import call, needed_of_pytest
from repro.plugin.claims import BadClaim, claim_id, mark_of
from repro.plugin.command_line import option
from repro.plugin.gate import Gate
from repro.plugin.options import reference_of
from repro.plugin.trials import Trials
from repro.recorded.results import WithRecorded
from repro.runs.asked import Asked
from repro.runs.engines import USUAL_RATE
from repro.runs.plan import RunsMissing
from repro.runs.profiles import Profile, profile_named
from repro.store import Result

SHORTEST_STEP = 1e-3
"""The seconds that a step takes at least, however little it multiplies."""

UNKNOWN = 15.0
"""The seconds that are said of a run whose size nobody can tell, such as a black box's."""

STARTING = 2.0
"""The seconds that a program takes to be timed and to start."""


class _Assuming(Judge):
    """Finds everything reproduced, and looks at no value."""

    def _decided(self, statement: Statement, *, ways: int = 1) -> Verdict:
        return Verdict(
            outcome=Outcome.REPRODUCED,
            statement=statement.text,
            seeds=self.design.looks[0],
            judge=self,
            judged=statement,
        )


class SurveyedTrials(Trials):
    """The trials of a claim that is read for its arms."""

    stops_at: str = ""
    """The error of the claim's own at which the reading ended; further arms are not known."""

    @property
    def read_off(self) -> set[Arm]:
        """The arms of which one run says all that the claim asks."""
        return {arm for arm in self.arms if self._read_off.get(arm)}


class _Nothing:
    """A view of results without any."""

    details: Mapping[Run, str] = {}

    def located(self, arm: Arm) -> Arm:
        return arm.located()

    def require_sound(self, arm: Arm) -> None:
        pass

    def get(self, run: Run) -> Result | None:
        return None

    def of(self, arm: Arm, seeds: Sequence[int]) -> list[Result | None]:
        return [None for _ in seeds]

    def key(self, run: Run) -> str:
        raise AssertionError("there is no result to have a key")

    def failed(self, run: Run) -> str | None:
        return None

    def lacking(self, runs: Iterable[Run]) -> Exception:
        return RunsMissing(runs)

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        return []


@dataclass
class Survey:
    """The arms of claims at one profile, each with the number of its seeds."""

    gate: Gate
    profile: Profile

    def arms_of(self, item: pytest.Item) -> dict[Arm, int]:
        """Return the arms that a claim wants trained, with those that they start from.

        There are none where it is about a document or about runs that exist, where it cannot be
        judged, and where only pytest can run its test.
        """
        if needed_of_pytest(item):
            return {}
        try:
            self.gate.ledger_of(item)
            trials = self.read(item)
        except (BadClaim, LedgerError, Needs, DataError):
            return {}
        if (
            trials is None
            or trials.recorded
            or self.gate.spared(item, trials.profile_name, trials.data)
        ):
            return {}
        count = self._seeds_of(item)
        arms = {arm: 1 if arm in trials.read_off else count for arm in trials.arms}
        for arm in list(arms):
            arms = {start.arm: 1 for start in starts_of(arm)} | arms
        return arms

    def read(self, item: pytest.Item) -> SurveyedTrials | None:
        """Return the trials of a claim whose statements are all taken as holding, if it has any."""
        if "trials" not in getattr(item, "fixturenames", ()):
            return None
        known = WithRecorded(_Nothing())
        trials = SurveyedTrials(known, self.profile, Asked(), only_at=mark_of(item).only_at)
        trials.judge = _Assuming(Design(looks=self.profile.looks))
        try:
            call(item, trials=trials)
        except (Needs, DataError, KeyboardInterrupt):
            raise
        except BaseException as error:  # it looks at values itself, or is wrong
            trials.stops_at = type(error).__name__
        return trials

    def _seeds_of(self, item: pytest.Item) -> int:
        """Return the seeds that a claim took when the ledger had it last; else the first look's."""
        known = self.gate.ledger_of(item).of_claim(claim_id(item))
        entries = [entry for entry in known if entry.profile == self.profile.name]
        took = max((entry.seeds or 0 for entry in entries), default=0)
        looks = self.profile.looks
        seeds = next((look for look in looks if look >= took), looks[-1])
        holds = any(entry.verdict == Outcome.REPRODUCED.value for entry in entries)
        return max(seeds, self.gate.reference) if holds else seeds


def survey_of(config: pytest.Config) -> Survey:
    """Return the survey of a session's claims at the profile that its options name.

    >>> survey_of(request.config).profile.name
    'ci'
    """
    profile = profile_named(option(config, "profile"), budget=option(config, "seed-budget"))
    gate = Gate(
        accept=False,
        insist=False,
        sparing=option(config, "gate"),
        seeds=profile.looks[-1],
        reference=reference_of(config),
    )
    return Survey(gate, profile)


def starts_of(arm: Arm) -> Iterator[Run]:
    """Yield the run that an arm starts from, and the one that this starts from, and so on."""
    run = arm.starts_from
    while run is not None:
        yield run
        run = run.arm.starts_from


def runs_of(arms: Mapping[Arm, int]) -> list[Run]:
    """Return the first seeds of arms, and the runs that they start from."""
    starts = {run for arm in arms for run in starts_of(arm)}
    begun = {run.arm for run in starts}
    runs = [Run(arm, seed) for arm, n in arms.items() if arm not in begun for seed in arm.seeds(n)]
    return [*sorted(starts, key=lambda run: (run.arm.program, run.seed)), *runs]


def seconds_of(wanted: Iterable[Mapping[Arm, int]]) -> dict[str, float]:
    """Return what each program is guessed to cost, from its arms' steps and multiplications.

    Runs that only their evaluation tells apart are trained once.
    """
    seeds: dict[Arm, int] = {}
    for arms in wanted:
        for arm, count in arms.items():
            trained = arm.trained_as()
            seeds[trained] = max(count, seeds.get(trained, 0))
    seconds: dict[str, float] = {}
    for arm in sorted(seeds, key=repr):
        seconds[arm.program] = seconds.get(arm.program, STARTING) + seeds[arm] * _of_a_run(arm)
    return seconds


def _of_a_run(arm: Arm) -> float:
    return max(arm.work / USUAL_RATE, arm.steps * SHORTEST_STEP) if arm.work else UNKNOWN


def bound_programs(wanted: Iterable[Mapping[Arm, int]]) -> list[set[str]]:
    """Return the programs of which one starts from the other."""
    arms = dict.fromkeys(arm for each in wanted for arm in each)
    chains = ({arm.program, *(run.arm.program for run in starts_of(arm))} for arm in arms)
    return [chain for chain in chains if len(chain) > 1]
