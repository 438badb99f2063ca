"""Renews runs after an edit of code that changes no result: some are trained again, bit for bit.

Runs are grouped by what has changed for them, and by every setting that is not a number. Of each
group the cheapest is trained again, and one that is drawn among those of a few minutes. If they
have the same bits, all of the group count as made by the code that trained them, and say so. Where
none of the group was trained on this kind of machine, they must be the same but for rounding, as
for an audit, and the runs say that. The draw depends on the runs alone, or it could be repeated
until it passes.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from repro.arm import Run
from repro.backends.local import ProcessPool
from repro.code.trace import Trace, joined
from repro.core.device import machine
from repro.evidence.audit import difference, with_starts
from repro.evidence.file import Record, record_of
from repro.files import remove
from repro.runs.identity import identity, name_of, other_settings, settings_of
from repro.runs.plan import Plan
from repro.runs.results import Results
from repro.runs.training import Training
from repro.store import RUNS, Made, Result, Store
from repro.store.key import canonical, digest_of
from repro.store.run_files import key_of
from repro.store.upkeep import items

LONGEST = 5
"""The cheapest run of a group is trained again if it takes at most so many times the minutes."""

EARLIER = "what made it, which an earlier version has not recorded"

Kind = tuple[str, ...]
"""The study, class, engine and settings that a group of runs shares, and what has changed."""


@dataclass
class Group:
    """Runs that are renewed together, each with its former result."""

    kind: Kind
    changed: Sequence[str]
    runs: dict[Run, Result] = field(default_factory=dict)
    chosen: list[Run] = field(default_factory=list)
    """The runs that are trained again."""
    why: str = ""
    """Why they cannot be renewed; empty where they can."""
    is_rounded: bool = False
    """True where those that are trained again differ by rounding."""

    @property
    def study(self) -> str:
        return self.kind[0]

    @property
    def engine(self) -> str:
        return self.kind[2]

    def __str__(self) -> str:
        more = f" and {len(self.changed) - 1} more" if len(self.changed) > 1 else ""
        what = self.changed[0] + more
        return f"{len(self.runs)} runs like {name_of(next(iter(self.runs)))} (changed: {what})"


def groups_of(former: Mapping[Run, tuple[Result, Sequence[str]]]) -> list[Group]:
    """Return the groups of runs, which have their former results and what has changed since.

    >>> groups_of({run: (result, ["toy.train"])})[0].changed
    ['toy.train']
    """
    groups: dict[Kind, Group] = {}
    for run, (result, changed) in former.items():
        engine = str(result.provenance.get("engine"))
        shape = json.dumps(_without_numbers(settings_of(run.arm)), sort_keys=True)
        kind = (run.arm.study, type(run.arm).__qualname__, engine, shape, *changed)
        groups.setdefault(kind, Group(kind, changed)).runs[run] = result
    return list(groups.values())


def _without_numbers(settings: Any) -> Any:
    """Return settings with their numbers left out, except for which of them are zero."""
    if isinstance(settings, dict):
        return {name: _without_numbers(each) for name, each in settings.items()}
    if isinstance(settings, list):
        return [_without_numbers(each) for each in settings]
    is_number = isinstance(settings, int | float) and not isinstance(settings, bool)
    return bool(settings) if is_number else settings


def choose(groups: Sequence[Group], *, device: str, seconds: float) -> None:
    """Choose the runs of each group that are trained again, from this kind of machine if it can."""
    paces = _paces(groups)
    for group in groups:
        made = {run: result.provenance for run, result in group.runs.items()}
        on_device = [
            run for run, result in group.runs.items() if result.identity["device"] == device
        ]
        if not on_device:
            group.why = f"none of its runs was trained on {device}"
            continue
        here = [run for run in on_device if made[run].get("machine") == machine(device)]
        here = here or on_device
        cheapest, *others = sorted(here, key=lambda run: (_work(run), name_of(run)))
        starts = _starts(cheapest)
        before = sum(start.arm.work for start in starts) * paces[group.study]
        if made[cheapest].get("seconds", 0.0) + before > LONGEST * seconds:
            group.why = f"its cheapest run takes over {LONGEST * seconds / 60:g} minutes"
            continue
        affordable = [
            run
            for run in others
            if made[run].get("seconds", 0.0) <= seconds and _starts(run) == starts
        ]
        contents = sorted(json.dumps(x.values, sort_keys=True) for x in group.runs.values())
        draw = random.Random(hashlib.sha256("".join(contents).encode()).hexdigest())
        group.chosen = [cheapest, *([draw.choice(affordable)] if affordable else [])]


def _paces(groups: Iterable[Group]) -> dict[str, float]:
    """Return the seconds that a unit of work takes, by study: what runs start from is not timed."""
    seconds, work = defaultdict[str, float](float), defaultdict[str, float](float)
    for group in groups:
        for run, result in group.runs.items():
            seconds[group.study] += result.provenance.get("seconds", 0.0)
            work[group.study] += run.arm.work
    return {study: seconds[study] / (work[study] or 1.0) for study in work}


def _starts(run: Run) -> list[Run]:
    """Return the run that a run starts from, the one before that, and so on."""
    return list(with_starts(run))[1:]


def _work(run: Run) -> float:
    return sum(each.arm.work for each in with_starts(run))


class WithFormer(Results):
    """The results of a store, and those of earlier code as if they were of today's.

    `found` has these runs, with what has changed for each.
    """

    def __init__(self, store: Store, *, device: str, project: Path) -> None:
        super().__init__(store, device=device, project=project)
        self.found: dict[Run, tuple[Result, Sequence[str]]] = {}
        stored = (store.at(item.name) for item in items(store.root, RUNS) if "/" not in item.name)
        self._earlier = {_without_code(each.identity): each for each in filter(None, stored)}

    def get(self, run: Run) -> Result | None:
        result = super().get(run)
        if result is None and run in self.stale:
            former, _ = self.stale[run]
            if not other_settings(former.made.settings, settings_of(run.arm)):
                self.found[run] = self.stale[run]
        if result is None and run not in self.found:
            earlier = self._earlier.get(_without_code(self.identity(run)))
            if earlier is not None:
                self.found[run] = earlier, [EARLIER]
        return result or (self.found[run][0] if run in self.found else None)


def _without_code(identity: Mapping[str, Any]) -> str:
    same = ("arm", "seed", "device", "torch")
    return canonical({name: identity.get(name) for name in same})


class TrainedAgain:
    """Trains runs again, in a store of its own, with the engines that trained them before.

    >>> again = TrainedAgain(device="cpu", trainers=2, project=folder)
    >>> again.train(groups)
    >>> again.trace_of("spirals")
    """

    def __init__(self, *, device: str, trainers: int, project: Path) -> None:
        self._device, self._trainers, self._project = device, trainers, project
        folder = Path(tempfile.mkdtemp(prefix="repro-renew-"))
        weakref.finalize(self, remove, folder)
        self.store = Store(folder)
        self.results = Results(self.store, device=device, project=project)

    def train(self, groups: Sequence[Group]) -> Iterator[Group]:
        """Train the chosen runs, and yield each group with the reason, if it is not the same."""
        engine_of = {run: group.engine for group in groups for run in group.chosen}
        for start in [start for run in engine_of for start in _starts(run)]:
            engine_of.setdefault(start, "auto")
        left = [group for group in groups if group.chosen]
        # what others start from is trained first
        waves = {run: (len(_starts(run)), engine) for run, engine in engine_of.items()}
        for wave in sorted(set(waves.values())):
            self._train(wave[1], [run for run in waves if waves[run] == wave])
            for group in [each for each in left if all(map(self.results.is_done, each.chosen))]:
                left.remove(group)
                for run in group.chosen:
                    group.why = group.why or self._difference(run, group)
                yield group

    def _train(self, engine: str, runs: Sequence[Run]) -> None:
        pool = ProcessPool(
            self.store, device=self._device, trainers=self._trainers, project=self._project
        )
        training = Training(self.store, pool, self.results, engine=engine, project=self._project)

        plan: Plan[str] = Plan({}, is_done=self.results.is_done)
        plan.want(runs)
        try:
            training.train(plan, seconds=1.0)
        finally:
            training.stop()

    def _difference(self, run: Run, group: Group) -> str:
        """Return why a run is not the same as before; empty where it is."""
        if (failed := self.results.failed(run)) is not None:
            return str(failed)
        former, result = group.runs[run], self.results.get(run)
        assert result is not None
        here = json.loads(json.dumps(result.values))
        if here == former.values:
            return ""
        seeds = [x.values for each, x in group.runs.items() if each.arm == run.arm]
        found = difference(run.arm, former.values, here, seeds=seeds)
        is_elsewhere = former.provenance.get("machine") != machine(self._device)
        if found is not None and found.is_rounding and is_elsewhere:
            group.is_rounded = True
            return ""
        return f"{name_of(run)}, gives another result now: {found or 'it has no number in common'}"

    def trace_of(self, group: Group) -> Trace:
        """Return what made the runs of a group's study that were trained again, all together."""
        return self._traces[group.study, group.engine]

    @cached_property
    def _traces(self) -> dict[tuple[str, str], Trace]:
        """One joined trace of all that was trained again, by study and engine."""
        found: dict[tuple[str, str], Trace] = {}
        for run, result in self.results.read().items():
            place = run.arm.study, str(result.provenance["engine"])
            trace = self.results.trace(result.made.trace)
            found[place] = joined(found[place], trace) if place in found else trace
        return found


def renewed(run: Run, result: Result, group: Group, trace: Trace, *, commit: str) -> Result:
    """Return a former result as one of today's code, which says that it was renewed."""
    same = "the same but for rounding" if group.is_rounded else "the same bits"
    note = f"at {commit}, {len(group.chosen)} of {len(group.runs)} trained again: {same}"
    made = Made(settings_of(run.arm), digest_of(trace), result.made.start)
    today = {**identity(run, device=result.identity["device"]), "torch": result.identity["torch"]}
    how = {name: x for name, x in result.provenance.items() if name != "rekeyed"}
    return replace(
        result,
        key=key_of(today, made),
        identity=today,
        made=made,
        provenance={**how, "renewed": note},
    )


def with_settings(run: Run, record: Record) -> Record:
    """Return a run of earlier code with all settings, if it has none: it had today's defaults.

    If a default changes later, the run is no result of the arm any more.
    """
    result = record.result
    if result.made.settings:
        return record
    made = replace(result.made, settings=settings_of(run.arm))
    return record_of(run, replace(result, key=key_of(result.identity, made), made=made))
