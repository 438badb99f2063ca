"""The runs of evidence that an audit can draw, what each costs, and which are left out and why."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from repro.arm import Run
from repro.data.files import is_readable
from repro.evidence.changes import changes
from repro.evidence.file import EvidenceFile
from repro.evidence.record import Record
from repro.evidence.results import EvidenceResults

UNKNOWN_SECONDS = 1.0
"""The cost of a run that nobody knows anything of."""


@dataclass(frozen=True)
class Drawable:
    """A run that can be trained again here."""

    run: Run
    record: Record
    seconds: float


@dataclass
class Frame:
    """The runs of files, by whether an audit can draw them."""

    drawable: list[Drawable] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    """The number of runs that are left out, by the reason."""
    runs: dict[Run, Record] = field(default_factory=dict)
    """All runs that claims and figures use, with those that they start from."""

    def leave_out(self, why: str, count: int = 1) -> None:
        if count:
            self.left_out[why] = self.left_out.get(why, 0) + count


def frame_of(results: EvidenceResults, *, device: str, longest: float) -> Frame:
    """Return the runs that claims have read, by whether they can be trained here in `longest`.

    >>> frame_of(results, device="cpu", longest=300).left_out
    {'are of no claim that was read': 3}
    """
    frame = Frame()
    found = dict(results.used)
    for run in list(found):
        start = run.arm.starts_from
        while start is not None and results.get(start) is not None:
            found[start] = results.used[start]
            start = start.arm.starts_from
    frame.runs = {run: record for run, (_, record) in found.items()}
    seconds = _seconds(frame.runs)
    for run, (file, record) in found.items():
        if run.arm.starts_from not in (None, *found):
            frame.leave_out("start from a run that is in no file")
        elif why := _cannot(run, file, record, device):
            frame.leave_out(why)
        elif seconds[run] > longest:
            frame.leave_out(f"take longer than {longest / 60:g} minutes each")
        else:
            frame.drawable.append(Drawable(run, record, seconds[run]))
    read = {record.key for record in frame.runs.values()}
    of_none = sum(key not in read for file in results.evidence.files for key in file.lines)
    frame.leave_out("are of no claim that was read", of_none)
    return frame


def _cannot(run: Run, file: EvidenceFile, record: Record, device: str) -> str:
    """Return why a run cannot be trained again here; empty where it can."""
    missing = [each for each in run.arm.data_sets if not is_readable(each)]
    if missing:
        return f"need the data set {missing[0]}, which is not here"
    if changed := changes(run, file, record):
        return f"were packed before a change of {changed[0]}" + ", …" * (len(changed) > 1)
    where = record.result.identity["device"]
    return "" if where == device else f"were trained on {where}, and not on {device} as here"


def _seconds(runs: Mapping[Run, Record]) -> dict[Run, float]:
    """Return the seconds that each run is expected to take, with the run that it starts from.

    They are decided by the size of its arm, in proportion to the times that the files give for most
    runs of its study. So whoever writes false times into a few runs does not make them costly.
    """
    rates: dict[str, list[float]] = {}
    for run, record in runs.items():
        rates.setdefault(run.arm.study, []).append(_recorded(record) / (run.arm.work or 1.0))
    usual = {study: statistics.median(each) for study, each in rates.items()}
    alone = {run: usual[run.arm.study] * (run.arm.work or 1.0) for run in runs}
    return {run: _with_start(run, alone) for run in runs}


def _with_start(run: Run, alone: Mapping[Run, float]) -> float:
    start = run.arm.starts_from
    before = _with_start(start, alone) if start is not None and start in alone else 0.0
    return alone[run] + before


def _recorded(record: Record) -> float:
    return float(record.result.provenance.get("seconds") or UNKNOWN_SECONDS)
