"""The results of runs, read only: for claims, plots, reports and plans, whoever trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from repro.arm import Arm, Run
from repro.runs.engines import Engines
from repro.runs.identity import Identity, identity, name_of
from repro.runs.plan import RunsMissing
from repro.runs.remarks import remarks_on
from repro.store import Result, Store, run_key
from repro.store.key import canonical, key_of

_SEED = '"seed":0'
"""The seed in the text of an identity."""


class KnownResults(Protocol):
    """The results that claims and figures read, wherever they come from."""

    def located(self, arm: Arm) -> Arm:
        """Return an arm on the data that its results are about; raises `Needs` or `DataError`."""

    def require_sound(self, arm: Arm) -> None:
        """Raise whatever is wrong with an arm before its runs are asked for."""

    def get(self, run: Run) -> Result | None:
        """Return the result of a run; None where there is none."""

    def of(self, arm: Arm, seeds: Sequence[int]) -> list[Result | None]:
        """Return the results of an arm's runs with these seeds; None where there is none."""

    def key(self, run: Run) -> str:
        """Return the key of a run that there is a result of."""

    def failed(self, run: Run) -> str | None:
        """Return why a run has no result and will have none; None where that is not known."""

    @property
    def details(self) -> Mapping[Run, str]:
        """The traceback and the output of runs whose training raised."""

    def lacking(self, runs: Iterable[Run]) -> Exception:
        """Return the error that ends the test of a claim which lacks these runs."""

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Return what a reader of findings from these runs has to know of where they are from."""


class Results:
    """A view of the results in a store. It trains nothing and times nothing.

    `failures` says why runs could not be trained in this session. With `machine`, results from
    other machines count as missing.
    """

    def __init__(
        self,
        store: Store,
        engines: Engines,
        *,
        failures: Mapping[Run, str],
        machine: str | None = None,
    ) -> None:
        self._store, self._engines = store, engines
        self._failures, self._machine = failures, machine
        self.missing_because: str | None = None
        """The reason why nothing that is missing can be trained any more, if there is one."""
        self.details: dict[Run, str] = {}
        """The traceback and the output of runs whose training raised."""
        self.count = 0
        """The number of results that this process has read so far."""
        self._read: dict[Arm, dict[int, Result]] = {}
        self._texts: dict[tuple[Arm, str], tuple[str, str]] = {}
        """The text of an arm's identities by its engine, before and after the seed."""
        self._sound: set[Arm] = set()

    def located(self, arm: Arm) -> Arm:
        """Return an arm on the data that is here."""
        return arm.located()

    def lacking(self, runs: Iterable[Run]) -> Exception:
        """Return the error that tells the plan which runs to train."""
        return RunsMissing(runs)

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Say what is not in today's keys, though it had a part in these runs: see `remarks`."""
        of_arms = ((arm, list(group)) for arm, group in groupby(runs, key=lambda run: run.arm))
        return remarks_on(
            (run, result)
            for arm, group in of_arms
            for run, result in zip(group, self.of(arm, [x.seed for x in group]), strict=True)
            if result is not None
        )

    def get(self, run: Run) -> Result | None:
        """Return the stored result of a run, without its weights; None where there is none."""
        return self.of(run.arm, [run.seed])[0]

    def of(self, arm: Arm, seeds: Sequence[int]) -> list[Result | None]:
        """Return the stored results of an arm's runs with these seeds, without their weights."""
        read = self._read.setdefault(arm, {})
        unread = [seed for seed in seeds if seed not in read]
        if unread and self._has_key(arm):
            for seed, key in zip(unread, self._keys(arm, unread), strict=True):
                stored = self._store.measured(key)
                if stored is not None and not self._is_from_elsewhere(stored):
                    read[seed] = stored
                    self.count += 1
        return [read.get(seed) for seed in seeds]

    def read(self) -> Mapping[Run, Result]:
        """Return the results that this process has read so far."""
        return {
            Run(arm, seed): result
            for arm, of_arm in list(self._read.items())
            for seed, result in list(of_arm.items())
        }

    def failed(self, run: Run) -> str | None:
        """Return why a run could not be trained; None where nobody tried, or it could."""
        if self.missing_because is not None and self.get(run) is None:
            return self._failures.get(run, self.missing_because)
        return self._failures.get(run)

    def require_sound(self, arm: Arm) -> None:
        """Ask an arm for all that planning will ask of it, so that its errors come up here."""
        if arm in self._sound:
            return
        run = Run(arm, 0)
        identity(run, engine="", device=self._engines.device)
        self._engines.seconds([run])
        if arm.starts_from is not None:
            self.require_sound(arm.starts_from.arm)
        self._sound.add(arm)

    def is_settled(self, run: Run) -> bool:
        """Return whether a run needs no more training: it is stored, or has failed."""
        return run in self._failures or self.get(run) is not None

    def key(self, run: Run) -> str:
        """Return the key that a run is stored under. Its engine must be settled."""
        return self._keys(run.arm, [run.seed])[0]

    def _keys(self, arm: Arm, seeds: Sequence[int]) -> list[str]:
        """Return the keys of an arm's runs with these seeds."""
        if self._machine is not None:
            return [run_key(self.identity(Run(arm, seed))) for seed in seeds]
        speed = self._engines.of(arm)
        place = arm, speed.engine if speed else ""
        if place not in self._texts:
            text = canonical(self.identity(Run(arm, 0)))
            before, zero, after = text.rpartition(_SEED)  # the last one is the run's own
            self._texts[place] = before + zero.removesuffix("0"), after
        before, after = self._texts[place]
        return [key_of(f"{before}{seed}{after}") for seed in seeds]

    def identity(self, run: Run) -> Identity:
        """Return the identity of a run. Its engine must be settled.

        It names the machine only where a session insists on its own, and another has been first.
        """
        speed = self._engines.of(run.arm)
        assert speed is not None, f"the engine of {name_of(run)} is not settled"
        everywhere = identity(run, engine=speed.engine, device=self._engines.device)
        if run.arm.starts_from is not None:
            everywhere["starts_from"] = self.key(run.arm.starts_from)
        stored = self._store.get(everywhere) if self._machine is not None else None
        if stored is not None and self._is_from_elsewhere(stored):
            return {**everywhere, "machine": self._machine}
        return everywhere

    def _has_key(self, arm: Arm) -> bool:
        starts = arm.starts_from
        return self._engines.of(arm) is not None and (starts is None or self._has_key(starts.arm))

    def _is_from_elsewhere(self, stored: Result) -> bool:
        machine = self._machine
        return machine is not None and stored.provenance.get("machine") != machine
