"""The results of runs, read only: for claims, plots, reports and plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from repro.arm import Arm, Run
from repro.own.arm import OwnArm
from repro.runs.identity import Identity, identity, name_of, packages_of, patched
from repro.store import Result, Store, run_key


class TrainingFailed(Exception):
    """A run that a claim needs could not be trained; the message says which, and why.

    If the code of the training raised the error, `details` are its traceback and output as text,
    and in this process this error has the traceback, for a debugger.
    """

    def __init__(self, why: str, *, details: str = "") -> None:
        self.details = details
        super().__init__(why)


class RunsMissing(TrainingFailed):
    """A claim needs runs that are not stored yet.

    The message is for a claim that asks for new runs while it is judged, after all planned runs.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)
        super().__init__(
            f"asks for other arms each time it is read: {name_of(self.runs[0])}, was not planned;"
            " let the arms of a claim depend on nothing but the results."
        )


class KnownResults(Protocol):
    """The results that claims and figures read, wherever they come from."""

    def located(self, arm: Arm) -> Arm:
        """Return an arm with the data of its results; raises `Needs` or `DataError`."""

    def require_sound(self, arm: Arm) -> None:
        """Raise the errors of an arm before its runs are requested."""

    def get(self, run: Run) -> Result | None:
        """Return the result of a run; None where there is none."""

    def failed(self, run: Run) -> TrainingFailed | None:
        """Return why a run will have no result; None if it may have one."""

    def missing_error(self, runs: Iterable[Run]) -> Exception:
        """Return the error to raise in the test of a claim that lacks these runs."""

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Return remarks on the origin of these runs, for a reader of the findings."""


class Results:
    """The results in a store, and the runs that could not be trained in this session.

    >>> Results(store, device="cpu").get(run).values["measures"]
    """

    def __init__(self, store: Store, *, device: str) -> None:
        self._store, self._device = store, device
        self.failures: dict[Run, TrainingFailed] = {}
        """The reasons why runs could not be trained in this session."""
        self._read: dict[Run, Result] = {}
        self._keys: dict[Run, str] = {}
        self._sound: set[Arm] = set()

    def located(self, arm: Arm) -> Arm:
        """Return an arm with the data on this machine."""
        return arm.located()

    def missing_error(self, runs: Iterable[Run]) -> Exception:
        """Return the error that tells the plan which runs to train."""
        return RunsMissing(runs)

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Return the remarks on runs of users' own studies: see `remarks_on`."""
        own = (run for run in runs if isinstance(run.arm, OwnArm))
        return remarks_on((run, x) for run in own if (x := self.get(run)) is not None)

    def get(self, run: Run) -> Result | None:
        """Return the stored result of a run, without its weights; None if there is none."""
        if run not in self._read:
            stored = self._store.measured(self.key(run))
            if stored is None:
                return None
            self._read[run] = stored
        return self._read[run]

    def read(self) -> Mapping[Run, Result]:
        """Return the results that this process has read so far."""
        return self._read

    def failed(self, run: Run) -> TrainingFailed | None:
        """Return why a run could not be trained; None if it was trained, or not yet tried."""
        return self.failures.get(run)

    def require_sound(self, arm: Arm) -> None:
        """Compute all that planning needs of an arm, so that its errors are raised here.

        Raises ValueError where this process has changed code that training reads from files.
        """
        if why := patched(arm):
            raise ValueError(why)
        if arm not in self._sound:
            self.key(Run(arm, 0))
            arm.work  # noqa: B018 - only for its errors
            if arm.starts_from is not None:
                self.require_sound(arm.starts_from.arm)
            self._sound.add(arm)

    def is_done(self, run: Run) -> bool:
        """Return whether a run is over: it is stored, or it has failed."""
        return run in self.failures or self.get(run) is not None

    def key(self, run: Run) -> str:
        """Return the key of a run."""
        if run not in self._keys:
            self._keys[run] = run_key(self.identity(run))
        return self._keys[run]

    def identity(self, run: Run) -> Identity:
        """Return the identity of a run."""
        start = run.arm.starts_from
        starts_from = self.key(start) if start is not None else None
        return identity(run, device=self._device, starts_from=starts_from)


def remarks_on(results: Iterable[tuple[Run, Result]]) -> list[str]:
    """Return remarks on results of users' own studies that their keys do not cover.

    They name files that were read but not declared, versions of libraries that have changed, and
    modules that were not stacked.

    >>> remarks_on(results.read().items())
    ['line read config.json, which it does not name: …']
    """
    return list(dict.fromkeys(_remarks(results)))


def _remarks(results: Iterable[tuple[Run, Result]]) -> Iterable[str]:
    versions: dict[Arm, dict[str, str]] = {}
    for run, result in results:
        if not isinstance(run.arm, OwnArm):
            continue
        kind = type(run.arm).__name__
        for name in result.provenance.get("opened", ()):
            yield (
                f"{kind} read {name}, which it does not name: edits of it train nothing again. Add"
                " it to the arm's `reads`, as a path from the folder of its study."
            )
        if why := result.provenance.get("not_stacked"):
            yield f"{kind} was trained one run at a time; its module is not stacked: {why}"
        then = result.provenance.get("packages", {})
        if run.arm not in versions:
            versions[run.arm] = packages_of(run.arm)
        for name, now in versions[run.arm].items():
            if then.get(name, now) != now:
                yield (
                    f"{kind} was trained with {name} {then[name]}, and {now} is here now: its"
                    " results are kept; to train them again, name another store with --store."
                )
