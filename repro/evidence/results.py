"""The results of evidence files, for claims and figures to read as if they were in a store.

A run is found by its arm and seed, not by today's key: code may have changed since it was packed,
data may not be here, and torch need not be. What has changed is said, and which runs repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from repro.arm import Arm, Needs, Run
from repro.data.files import TWIN, counted_as_here, is_readable
from repro.data.locate import DataError
from repro.evidence import EvidenceError
from repro.evidence.file import EvidenceFile, Record, place_of
from repro.own.arm import OutsideArm
from repro.runs.identity import code_of, definitions_of, name_of
from repro.store import Result

MOVED = "the modules that definitions stand in"
"""A change that the text of no definition shows: one has moved."""

MOST_NAMED = 3

Packed = tuple[EvidenceFile, Record]
"""A run, and the file that it is in."""


@dataclass
class EvidenceResults:
    """Several files as one: where two have a result of the same arm and seed, the first counts.

    `used` grows with the runs that claims and figures read; nothing is trained.

    >>> EvidenceResults.read([Path("evidence/ci-generated.jsonl.gz")]).measured(key).values
    """

    files: Sequence[EvidenceFile]
    used: dict[Run, Packed] = field(default_factory=dict)
    details: dict[Run, str] = field(default_factory=dict)
    raised_at: dict[Run, TracebackType] = field(default_factory=dict)
    """Nothing: no training raised."""
    _found: dict[Run, Packed | None] = field(default_factory=dict)
    _changes: dict[Run, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, paths: Iterable[Path]) -> EvidenceResults:
        """Read files and hold them against each other; raises `EvidenceError`."""
        files: list[EvidenceFile] = []
        for path in dict.fromkeys(paths):
            new = EvidenceFile.read(path)
            for other in files:
                _require_agreement(other, new)
            files.append(new)
        return cls(files)

    def __post_init__(self) -> None:
        names = set().union(*(file.data_sets for file in self.files))
        self._real = frozenset(name for name in names if not name.endswith(TWIN))

    def measured(self, key: str) -> Result | None:
        """Return the result of a key; None where there is none."""
        return next((f.record(key).result for f in self.files if key in f.lines), None)

    def located(self, arm: Arm) -> Arm:
        """Return an arm on the data that its evidence is about, whatever data is here."""
        try:
            with counted_as_here(self._real):
                return arm.located()
        except (Needs, DataError) as error:
            if self._find(Run(arm, arm.seeds(1)[0])) is not None:
                return arm
            raise Needs(f"has no runs of {arm.label} in {self._paths}") from error

    def require_sound(self, arm: Arm) -> None:
        """Raise where an arm has settings that no file can hold."""
        _place(Run(arm, 0))

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

    def missing_error(self, runs: Iterable[Run]) -> Exception:
        """Return the error of a claim whose runs are not all in the files."""
        missing = list(runs)
        more = f" and {len(missing) - 1} more runs are" if len(missing) > 1 else " is"
        return Needs(f"{name_of(missing[0])},{more} not in {self._paths}")

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Say for how many of these runs the code or the data has changed since, and which."""
        changed: dict[str, int] = {}
        for run in runs:
            for each in self.changes(run):
                changed[each] = changed.get(each, 0) + 1
        return [f"{each} has changed since {n} of its runs" for each, n in changed.items()]

    def changes(self, run: Run) -> list[str]:
        """Return the definitions that have changed since a run was packed, and its data if it has.

        Changes of the run that it starts from count too. A run that is in no file has none.
        """
        if run not in self._changes:
            found, start = self._find(run), run.arm.starts_from
            changed = _changes(run, *found) if found else []
            if found and start is not None:
                changed += self.changes(start)
            self._changes[run] = list(dict.fromkeys(changed))
        return self._changes[run]

    def repeats(self) -> dict[Run, Run]:
        """Return the runs that were read and are an earlier seed of their arm again, with that run.

        As for the judge, runs are one run where all of their values are equal. Exact metrics may
        be, so a run counts where another one has a history.
        """
        first: dict[tuple[Arm, str], Run] = {}
        again: dict[Run, Run] = {}
        for run, (_, record) in self.used.items():
            values = record.result.values
            if any(series and not _is_exact(run.arm, x) for x, series in values["history"].items()):
                earlier = first.setdefault((run.arm, repr(values)), run)
                if earlier != run:
                    again[run] = earlier
        return again

    def lines(self) -> list[str]:
        """Return in sentences what was read: where it is from, what repeats, and how old it is."""
        runs, commits, machines = Counter[str](), Counter[str](), Counter[str]()
        changed: dict[str, set[Run]] = {}
        for run, (file, record) in self.used.items():
            made, identity = record.result.provenance, record.result.identity
            edited = " with uncommitted changes" if made.get("uncommitted_changes") else ""
            runs[file.name] += 1
            commits[f"commit {str(made.get('commit') or 'unknown')[:10]}{edited}"] += 1
            where = f"{identity['device']} {made.get('machine')}, torch {identity['torch']}"
            machines[where] += 1
            for each in self.changes(run):
                changed.setdefault(each, set()).add(run)
        of_files = ", ".join(f"{runs[x.name]} runs used of {x.name}" for x in self.files)
        lines = [f"judged from evidence, nothing was trained: {of_files}", *self.repeat_lines()]
        if runs:
            lines.append(f"trained at {_listed(commits)}, on {_listed(machines)}")
            lines.append("code and data are the same as when these runs were trained")
        if changed:
            names = _listed({name: len(of_name) for name, of_name in changed.items()})
            every = len(set().union(*changed.values()))
            lines[-1] = f"code has changed since {every} runs were trained: {names}"
        return lines

    def repeat_lines(self) -> list[str]:
        """Return a sentence for each file in which seeds of an arm have the same result."""
        repeats: dict[str, list[str]] = {}
        for run, earlier in self.repeats().items():
            words = f"{name_of(run)}, which is seed {earlier.seed} again"
            repeats.setdefault(str(self.used[run][0].path), []).append(words)
        return [
            f"{path} repeats itself: {len(words)} runs have all numbers of another seed of their"
            f" arm, such as {words[0]}; were they copied, or is the seed not used?"
            for path, words in repeats.items()
        ]

    @property
    def _paths(self) -> str:
        return " or ".join(str(file.path) for file in self.files)

    def _find(self, run: Run) -> Packed | None:
        if run not in self._found:
            place = _place(run)
            found = ((file, record) for file in self.files if (record := file.at(place)))
            self._found[run] = next(found, None)
        return self._found[run]


def _listed(counted: Mapping[str, int]) -> str:
    """Return names with how many runs each has, those with the most first."""
    names = sorted(counted, key=lambda name: (-counted[name], name))
    named = ", ".join(f"{name} ({counted[name]} runs)" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _place(run: Run) -> str:
    return place_of(run.arm.study, run.arm.given(), run.seed)


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


def _changes(run: Run, file: EvidenceFile, record: Record) -> list[str]:
    """Return what has changed since a run was packed, the one that it starts from aside."""
    changed = []
    packed = record.result.identity["code"]
    if packed != code_of(run.arm):
        changed = changed_definitions(file.definitions(packed), definitions_of(run.arm)) or [MOVED]
    try:
        is_all_here = all(map(is_readable, run.arm.data_sets))
        if is_all_here and run.arm.content() != record.result.identity.get("data"):
            changed.append(f"the data set {run.arm.data}")
    except (Needs, DataError):
        pass
    return changed


def changed_definitions(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the names of definitions that are not what they were; one that moved is.

    >>> changed_definitions({"old.f": "1", "old.g": "2"}, {"new.f": "1", "old.g": "3"})
    ['old.g']
    """
    gone = {name for name, text in then.items() if text not in now.values()}
    new = {name for name, text in now.items() if text not in then.values()}
    return sorted(gone | new)


def _fault(run: Run, record: Record) -> str:
    """Return what no run of this arm can have given; empty where there is nothing."""
    values, arm = record.result.values, run.arm
    steps = max(values.get("steps", 0), values.get("diverged_at", 0))
    is_outside = isinstance(arm, OutsideArm)
    if steps > arm.steps and not is_outside:
        return f"{steps} steps, and takes {arm.steps} at most"
    may_stop = "diverged_at" in values or arm.stops_early or is_outside
    for metric, each in values["history"].items():
        known = len(arm.epochs_of(metric))
        most = known or (metric != "loss")  # what is not trained is measured once
        is_cut = metric == "loss" and len(each) < known and not may_stop
        if len(each) > most or is_cut:
            return f"{len(each)} values of {metric} over its epochs, where {known} are known"
    measures = values.get("measures", {})
    for name, metric in type(arm).metrics.items():
        for measure, is_list in ((name, metric.listed), (metric.sampled, True)):
            value = measures.get(measure)
            if value is not None and isinstance(value, list) != is_list:
                return f"a {measure} that is {'one number' if is_list else 'a list'}"
    return ""


def _is_exact(arm: Arm, name: str) -> bool:
    return name in type(arm).metrics and arm.is_exact(name)
