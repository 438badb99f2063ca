"""Remarks for readers of results on how runs of users' own studies came about."""

from __future__ import annotations

from collections.abc import Iterable

from repro.arm import Arm, Run
from repro.own.arm import OwnArm
from repro.runs.packages import packages_of
from repro.store import Result


def remarks_on(results: Iterable[tuple[Run, Result]]) -> list[str]:
    """Say which results a file that nobody named, or another version of a library, has a part in.

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
        then = result.provenance.get("packages", {})
        if run.arm not in versions:
            versions[run.arm] = packages_of(run.arm)
        for name, now in versions[run.arm].items():
            if then.get(name, now) != now:
                yield (
                    f"{kind} was trained with {name} {then[name]}, and {now} is here now: its"
                    " results are kept; to train them again, name another store with --store."
                )
