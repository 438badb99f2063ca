"""The results of evidence files, for claims and figures to read as if they were in a store.

A run is found by its arm and seed, not by today's key: code may have changed since it was packed,
data may not be here, and torch need not be. What has changed is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro.arm import Arm, Needs, Run, Values
from repro.data.files import TWIN, counted_as_here
from repro.data.locate import DataError
from repro.evidence.changes import changes
from repro.evidence.errors import EvidenceError
from repro.evidence.file import EvidenceFile
from repro.evidence.record import Record, place_of
from repro.own.arm import OutsideArm
from repro.runs.identity import name_of
from repro.store import Result


@dataclass
class Evidence:
    """Several files as one; where two have a result of the same arm and seed, the first counts.

    >>> Evidence.read([Path("evidence/ci-generated.jsonl.gz")]).measured(key).values
    """

    files: Sequence[EvidenceFile]

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Evidence:
        """Read files and hold them against each other; raises `EvidenceError`."""
        files: list[EvidenceFile] = []
        for path in dict.fromkeys(paths):
            new = EvidenceFile.read(path)
            for other in files:
                _require_agreement(other, new)
            files.append(new)
        return cls(files)

    def measured(self, key: str) -> Result | None:
        """Return the result of a key; None where there is none."""
        return next((f.record(key).result for f in self.files if key in f.lines), None)

    def find(self, place: str) -> tuple[EvidenceFile, Record] | None:
        """Return the result of an arm and seed, and the file that it is in."""
        for file in self.files:
            if keys := file.places.get(place):
                return file, file.record(keys[0])
        return None

    @property
    def real_data(self) -> frozenset[str]:
        """The data sets, but for twins, that runs of any file read."""
        names = set().union(*(file.data_sets for file in self.files))
        return frozenset(name for name in names if not name.endswith(TWIN))


def _require_agreement(first: EvidenceFile, second: EvidenceFile) -> None:
    """Raise where two files have different results of one run that the same machine trained."""
    for key in first.lines.keys() & second.lines.keys():
        if first.lines[key] == second.lines[key]:
            continue
        one, other = first.record(key), second.record(key)
        if one.result.values != other.result.values and _bits_of(one) == _bits_of(other):
            raise EvidenceError(
                f"{first.path} and {second.path} contradict each other on {one.name}: the same"
                " kind of machine gave two results; find out which is right with `python -m repro"
                " evidence audit`, and leave the other file out."
            )


def _bits_of(record: Record) -> tuple[object, object]:
    """Return what the bits of a result depend on beside its key."""
    made = record.result.provenance
    return made.get("machine"), made.get("packages")


@dataclass
class EvidenceResults:
    """The view of evidence that claims and figures have; nothing is trained.

    `used` grows with the runs that they read.
    """

    evidence: Evidence
    used: dict[Run, tuple[EvidenceFile, Record]] = field(default_factory=dict)
    details: dict[Run, str] = field(default_factory=dict)
    """Nothing: no training raised."""

    def __post_init__(self) -> None:
        self._real = self.evidence.real_data
        self._found: dict[Run, tuple[EvidenceFile, Record] | None] = {}
        self._changes: dict[Run, list[str]] = {}

    def located(self, arm: Arm) -> Arm:
        """Return an arm on the data that its evidence is about, whatever data is here."""
        try:
            with counted_as_here(self._real):
                return arm.located()
        except (Needs, DataError) as error:
            if self._find(Run(arm, arm.seeds(1)[0])) is not None:
                return arm
            raise Needs(f"has no runs of {arm.label} in {self._files}") from error

    def require_sound(self, arm: Arm) -> None:
        """Raise where an arm has settings that no file can hold."""
        place_of(arm.study, arm.given(), 0)

    def get(self, run: Run) -> Result | None:
        """Return the result of a run; None where no file has one that it can have."""
        found = self._find(run)
        if found is None or _fault(run, found[1]):
            return None
        self.used[run] = found
        return found[1].result

    def of(self, arm: Arm, seeds: Sequence[int]) -> list[Result | None]:
        """Return the results of an arm's runs with these seeds; None where no file has one."""
        return [self.get(Run(arm, seed)) for seed in seeds]

    def key(self, run: Run) -> str:
        """Return the key that a run was packed under."""
        found = self._find(run)
        assert found is not None, f"{name_of(run)} is in no file"
        return found[1].key

    def failed(self, run: Run) -> str | None:
        """Return what is wrong with a result that a file has; None where nothing is."""
        found = self._find(run)
        fault = _fault(run, found[1]) if found else ""
        return f"{name_of(run)}, is in {found[0].path} with {fault}" if found and fault else None

    def lacking(self, runs: Iterable[Run]) -> Exception:
        """Return the error of a claim whose runs are not all in the files."""
        lacking = list(runs)
        more = f" and {len(lacking) - 1} more runs are" if len(lacking) > 1 else " is"
        return Needs(f"{name_of(lacking[0])},{more} not in {self._files}")

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Say for how many of these runs the code or the data has changed since, and which."""
        changed: dict[str, int] = {}
        for run in runs:
            for each in self.changes(run):
                changed[each] = changed.get(each, 0) + 1
        return [f"{each} has changed since {n} of its runs" for each, n in changed.items()]

    def changes(self, run: Run) -> list[str]:
        """Return what has changed since a run was packed; nothing of one that is in no file."""
        if run not in self._changes:
            found = self._find(run)
            self._changes[run] = changes(run, *found) if found else []
        return self._changes[run]

    @property
    def _files(self) -> str:
        return " or ".join(str(file.path) for file in self.evidence.files)

    def _find(self, run: Run) -> tuple[EvidenceFile, Record] | None:
        if run not in self._found:
            place = place_of(run.arm.study, run.arm.given(), run.seed)
            self._found[run] = self.evidence.find(place)
        return self._found[run]


def _fault(run: Run, record: Record) -> str:
    """Return what no run of this arm can have given; empty where there is nothing."""
    values, arm = record.result.values, run.arm
    steps = max(values.get("steps", 0), values.get("diverged_at", 0))
    if steps > arm.steps and not isinstance(arm, OutsideArm):
        return f"{steps} steps, and takes {arm.steps} at most"
    for metric, each in values["history"].items():
        known = len(arm.epochs_of(metric))
        most = known or (metric != "loss")  # what is not trained is measured once
        is_cut = metric == "loss" and len(each) < known and not _may_stop(run, values)
        if len(each) > most or is_cut:
            return f"{len(each)} values of {metric} over its epochs, where {known} are known"
    measures = values.get("measures", {})
    for name, metric in type(arm).metrics.items():
        for measure, is_list in ((name, metric.listed), (metric.sampled, True)):
            value = measures.get(measure)
            if value is not None and isinstance(value, list) != is_list:
                return f"a {measure} that is {'one number' if is_list else 'a list'}"
    return ""


def _may_stop(run: Run, values: Values) -> bool:
    """Return whether a run may have been trained for fewer epochs than its arm says."""
    return "diverged_at" in values or run.arm.stops_early or isinstance(run.arm, OutsideArm)
