"""The changes between a packed run and the same run here and now, by name."""

from __future__ import annotations

from repro.arm import Needs, Run
from repro.code.differences import MOVED, changed_definitions
from repro.data.files import is_readable
from repro.data.locate import DataError
from repro.evidence.file import EvidenceFile
from repro.evidence.record import Record, place_of
from repro.runs.identity import code_of, definitions_of


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
        keys = file.places.get(place_of(start.arm.study, start.arm.settings(), start.seed), ())
        found += [each for key in keys[:1] for each in changes(start, file, file.record(key))]
    return list(dict.fromkeys(found))


def _has_other_data(run: Run, record: Record) -> bool:
    """Return whether data is here and is not what the run was trained on."""
    try:
        is_all_here = all(map(is_readable, run.arm.data_sets))
        return is_all_here and run.arm.content() != record.result.identity.get("data")
    except (Needs, DataError):
        return False
