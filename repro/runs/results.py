"""The results of runs, read only: for claims, plots, reports and plans."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from repro.arm import Arm, Run
from repro.code.trace import Today, Trace
from repro.own.arm import OwnArm
from repro.runs.identity import (
    Identity,
    identity,
    name_of,
    new_settings,
    other_settings,
    settings_of,
)
from repro.store import Result, Store
from repro.store.key import digest_of
from repro.text import counted

MOST_REASONS = 3
"""The most reasons that are named for training again."""


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

    A stored result counts while all that made it is the same today: its trace, its settings and
    the result that it starts from. Of several that do, it is the one that was made first.

    >>> Results(store, device="cpu", project=folder).get(run).values["measures"]
    """

    def __init__(self, store: Store, *, device: str, project: Path) -> None:
        self._store, self._device = store, device
        self.today = Today(project)
        self.failures: dict[Run, TrainingFailed] = {}
        """The reasons why runs could not be trained in this session."""
        self.stale: dict[Run, tuple[Result, list[str]]] = {}
        """The runs that are to be trained again, each with its last result and what changed."""
        self._read: dict[Run, Result] = {}
        self._keys: dict[Run, str] = {}
        self._changed_here: dict[str, str] = {}
        """The code that this process has changed, in words, by the digest of a trace."""
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
            for stored in self._store.all_at(self.key(run)):
                changed = self.changed(run, stored)
                if not changed:
                    self.keep(run, stored)
                    break
                self.stale[run] = stored, changed
        result = self._read.get(run)
        return None if result is None or self._patched(result) else result

    def keep(self, run: Run, result: Result) -> None:
        """Use a result for a run; all that are used were made by one version of the code.

        A run fails if it was trained by another version than the runs before it.
        """
        trace = self.trace(result.made.trace)
        if edited := self.today.other_version(trace, digest=result.made.trace):
            self.failures[run] = TrainingFailed(
                f"{name_of(run)}, was trained after an edit of {edited}, and other runs of this"
                " session before it; run the same command again."
            )
            return
        self._read[run] = result if result.weights is None else replace(result, weights=None)
        self.stale.pop(run, None)

    def trace(self, digest: str) -> Trace:
        """Return the trace with a digest, of a result that is used."""
        return self._store.trace(digest) or {}

    def _patched(self, result: Result) -> str:
        """Return which code of a result this process has changed, in words; empty if none."""
        digest = result.made.trace
        if digest not in self._changed_here:
            trace = self.trace(digest) if digest else {}
            self._changed_here[digest] = self.today.patched(trace) if trace else ""
        return self._changed_here[digest]

    def changed(self, run: Run, result: Result) -> list[str]:
        """Return in words what is not as it was when a result was made; nothing if all is."""
        made = result.made
        trace = self.trace(made.trace)
        if not trace:
            return ["what made it is not recorded"]
        if other := other_settings(made.settings, settings_of(run.arm)):
            return [f"it has {other}"]
        start = run.arm.starts_from
        if start is not None:
            stored = self.get(start)  # its trace is part of this one
            if stored is not None and made.start not in ("", stored.content):
                return [f"{name_of(start)}, which it starts from, has changed"]
        changed = [f"{x} has changed" for x in self.today.changes(trace, digest=made.trace)]
        new = new_settings(made.settings, settings_of(run.arm))
        if new and not changed:
            changed = [f"{name} is new" for name in self.today.mentioned(trace, new)]
        return changed

    def why_again(self) -> list[str]:
        """Return sentences on why stored runs are trained again, the most frequent reason first."""
        counts = Counter(changed[0] for _, changed in self.stale.values())
        lines = [
            f"{counted(count, 'stored run')} {'is' if count == 1 else 'are'} trained again: {why}"
            for why, count in counts.most_common(MOST_REASONS)
        ]
        left = sum(counts.values()) - sum(n for _, n in counts.most_common(MOST_REASONS))
        return [*lines, f"and {left} more for other reasons"] if left else lines

    def read(self) -> Mapping[Run, Result]:
        """Return the results that this process has read so far."""
        return self._read

    def failed(self, run: Run) -> TrainingFailed | None:
        """Return why a run could not be trained; None if it was trained, or not yet tried."""
        result = self._read.get(run)
        if result is not None and run not in self.failures and (why := self._patched(result)):
            return TrainingFailed(why)
        return self.failures.get(run)

    def require_sound(self, arm: Arm) -> None:
        """Compute all that planning needs of an arm, so that its errors are raised here."""
        if arm not in self._sound:
            self.key(Run(arm, 0))
            arm.work  # noqa: B018 - only for its errors
            if arm.study not in sys.modules and find_spec(arm.study) is None:
                raise ModuleNotFoundError(
                    f"{type(arm).__name__} names {arm.study!r} as the module of its study, which is"
                    " not found: name another, or put its folder on the path of modules."
                )
            if arm.starts_from is not None:
                self.require_sound(arm.starts_from.arm)
            self._sound.add(arm)

    def is_done(self, run: Run) -> bool:
        """Return whether a run is over: it is stored, or it has failed."""
        return self.get(run) is not None or self.failed(run) is not None

    def key(self, run: Run) -> str:
        """Return the address of a run."""
        if run not in self._keys:
            self._keys[run] = digest_of(self.identity(run))
        return self._keys[run]

    def identity(self, run: Run) -> Identity:
        """Return the identity of a run."""
        start = run.arm.starts_from
        starts_from = self.key(start) if start is not None else None
        return identity(run, device=self._device, starts_from=starts_from)


def remarks_on(results: Iterable[tuple[Run, Result]]) -> list[str]:
    """Return remarks on results of users' own studies that their keys do not cover.

    They name versions of libraries that have changed, and modules that were not stacked.

    >>> remarks_on(results.read().items())
    ['line was trained with scikit-learn 1.5.1, and 1.5.2 is here now: …']
    """
    lines: dict[str, None] = {}
    own = [(run.arm, x.provenance) for run, x in results if isinstance(run.arm, OwnArm)]
    distinct = dict.fromkeys(
        (type(arm).__name__, how.get("not_stacked"), *how.get("packages", {}).items())
        for arm, how in own
    )
    for kind, why, *packages in distinct:
        if why:
            line = f"{kind} was trained one run at a time; its module is not stacked: {why}"
            lines[line] = None
        for name, then in packages:
            if (now := version_of(name)) not in (then, None) and name != "torch":
                line = (
                    f"{kind} was trained with {name} {then}, and {now} is here now: its results"
                    " are kept; to train them again, name another store with --store."
                )
                lines[line] = None
    return list(lines)


@cache
def version_of(library: str) -> str | None:
    """Return the version of an installed library; None where it is not installed."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None
