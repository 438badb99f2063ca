"""Gives runs today's keys, if training some of them again gives the same bits.

A key changes with the code that training reaches, even if an edit changes no result. Then two runs
of each kind are trained again. If they give the same bits, all runs of the kind get today's keys,
and their provenance says so. Otherwise none does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repro.arm import Run
from repro.core.device import machine
from repro.evidence.audit import Again, NotTrained, with_starts
from repro.runs.identity import Identity
from repro.runs.results import Results
from repro.store import Result, Store, run_key
from repro.store.key import canonical

RETRAINED = 2
"""The number of runs of each kind that are trained again."""

Kind = tuple[str, str, str]
"""The study, the engine and the type of arm of a run."""


class FormerRuns:
    """Runs by their identity without the code; of several, the one that finished last."""

    def __init__(self, results: Iterable[Result]) -> None:
        in_order = sorted(results, key=lambda each: str(each.provenance.get("finished", "")))
        self._runs = {_place(each.identity): each for each in in_order}
        self.count = len(in_order)

    def find(self, today: Identity) -> Result | None:
        """Return the result of a run under any key; None without one."""
        return self._runs.get(_place(today))


class RekeyedResults(Results):
    """The results with today's keys, and former results as if they had today's keys.

    With `alone` it ignores the store, for the runs of a file.
    """

    def __init__(
        self, store: Store, former: FormerRuns, *, device: str, alone: bool = False
    ) -> None:
        super().__init__(store, device=device)
        self._former, self._alone = former, alone
        self.found: dict[Run, Result] = {}
        """The runs that were found under former keys, with their former results."""
        self._today: dict[Run, Result] = {}

    def get(self, run: Run) -> Result | None:
        result = None if self._alone else super().get(run)
        if result is None:
            today = self.identity(run)
            former = self._former.find(today)
            if former is not None:
                known = Result(run_key(today), today, former.values, former.provenance)
                if former.key != known.key:
                    self.found[run] = former
                result = self._today.setdefault(run, known)
        return result

    def read(self) -> Mapping[Run, Result]:
        return {**super().read(), **self._today}

    def annotate(self, notes: Mapping[Run, dict[str, Any]]) -> None:
        """Set the provenance of runs that were found under former keys."""
        for run, made in notes.items():
            self._today[run] = replace(self._today[run], provenance=made)


def kind_of(run: Run, result: Result) -> Kind:
    """Return the kind of a run; the same code trains all runs of a kind."""
    return run.arm.study, str(result.provenance.get("engine")), type(run.arm).__name__


def check(found: Mapping[Run, Result], *, device: str) -> Iterator[tuple[Kind, int, str]]:
    """Train some runs of each kind again; yield the kind, their number, and a reason to refuse it.

    The reason is empty if all of them gave the same bits.
    """
    kinds: dict[Kind, list[Run]] = {}
    for run, result in found.items():
        kinds.setdefault(kind_of(run, result), []).append(run)
    engines = {run: result.provenance.get("engine") for run, result in found.items()}
    again = Again(engines, device=device)
    for kind, runs in kinds.items():
        chosen = _chosen(runs, found, device)
        why = "" if chosen else f"none of its runs was trained on {machine(device)}"
        for run in chosen:
            try:
                if again.values(run) != found[run].values:
                    why = f"{run.arm.label}, seed {run.seed}, gives another result now"
            except NotTrained as error:
                why = str(error)
            if why:
                break
        yield kind, len(chosen), why


def _chosen(runs: Sequence[Run], found: Mapping[Run, Result], device: str) -> list[Run]:
    """Return the cheapest runs of a kind from this kind of machine, from different arms first."""
    here = [run for run in runs if found[run].provenance.get("machine") == machine(device)]
    by_cost = sorted(here, key=lambda run: sum(each.arm.work for each in with_starts(run)))
    of_arms = {run.arm: run for run in reversed(by_cost)}
    first = [run for run in by_cost if of_arms[run.arm] == run]
    return [*first, *(run for run in by_cost if run not in first)][:RETRAINED]


def note(result: Result, retrained: int, *, commit: str | None) -> dict[str, Any]:
    """Return the provenance of a run with a new key."""
    where = commit or "no commit"
    return {**result.provenance, "rekeyed": f"at {where}, {retrained} retrained"}


def _place(identity: Mapping[str, Any]) -> str:
    """Return the identity without the code, as text."""
    same = ("arm", "seed", "data", "device", "torch")
    return canonical({name: identity.get(name) for name in same})
