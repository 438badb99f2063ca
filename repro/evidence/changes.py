"""The changes between a packed run and the same run here and now, by name."""

from __future__ import annotations

from repro.arm import Needs, Run
from repro.data.files import is_readable
from repro.data.locate import DataError
from repro.evidence.file import EvidenceFile
from repro.evidence.record import Record, place_of
from repro.runs.identity import code_of, definitions_of

MOVED = "the modules that definitions stand in"
"""A change that the text of no definition shows: one has moved."""


def changes(run: Run, file: EvidenceFile, record: Record) -> list[str]:
    """Return the definitions that have changed since a run was packed, and its data if that did.

    Those of the run that it starts from count too.

    >>> changes(run, file, file.record(key))
    ['repro.core.train.RunLog.add']
    """
    found = []
    packed = record.result.identity["code"]
    if packed != code_of(run.arm):
        found += changed_definitions(file.definitions[packed], definitions_of(run.arm)) or [MOVED]
    if _has_other_data(run, record):
        found.append(f"the data set {run.arm.data}")
    if (start := run.arm.starts_from) is not None:
        keys = file.places.get(place_of(start.arm.study, start.arm.given(), start.seed), ())
        found += [each for key in keys[:1] for each in changes(start, file, file.record(key))]
    return list(dict.fromkeys(found))


def changed_definitions(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the names of definitions that are not what they were; one that moved is.

    >>> changed_definitions({"old.f": "1", "old.g": "2"}, {"new.f": "1", "old.g": "3"})
    ['old.g']
    """
    gone = {name for name, text in then.items() if text not in now.values()}
    new = {name for name, text in now.items() if text not in then.values()}
    return sorted(gone | new)


def _has_other_data(run: Run, record: Record) -> bool:
    """Return whether data is here and is not what the run was trained on."""
    try:
        is_all_here = all(map(is_readable, run.arm.data_sets))
        return is_all_here and run.arm.content() != record.result.identity.get("data")
    except (Needs, DataError):
        return False
