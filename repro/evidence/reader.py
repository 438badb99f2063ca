"""The results of evidence files; claims and figures read them like those of a store.

A run is found by its arm and seed: since it was packed, the code may have changed, and data and
torch may be missing here. Remarks name the changes, and runs that are copies of others. A result
that its arm cannot have, or of other settings than the arm's, is no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro.arm import Arm, Needs, Run, Values
from repro.code.trace import Today
from repro.data.files import TWIN, counted_as_here, is_readable
from repro.data.locate import DataError
from repro.evidence import EvidenceError
from repro.evidence.file import EvidenceFile, Record, place_of
from repro.own.arm import OutsideArm
from repro.runs.identity import name_of, new_settings, other_settings, settings_of
from repro.runs.results import TrainingFailed
from repro.store import Result

MOST_NAMED = 3

SHORT = len("at 0123456789")
"""The characters of the commit at which a run was renewed."""

Packed = tuple[EvidenceFile, Record]
"""A run, and its file."""


@dataclass
class EvidenceResults:
    """Several evidence files as one; if two have a run of the same arm and seed, the first counts.

    `used` collects the runs that claims and figures read.

    >>> EvidenceResults.read([Path("evidence/ci-real.jsonl.gz")], project=folder).get(run).values
    """

    files: Sequence[EvidenceFile]
    today: Today
    used: dict[Run, Packed] = field(default_factory=dict)
    faults: dict[Run, str] = field(default_factory=dict)
    """The runs that were asked for and have an impossible result, with what is wrong with it."""
    _found: dict[Run, Packed | None] = field(default_factory=dict)
    _changes: dict[Run, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, paths: Iterable[Path], *, project: Path) -> EvidenceResults:
        """Read files; raises `EvidenceError` where one is bad, or two contradict each other."""
        files: list[EvidenceFile] = []
        for path in dict.fromkeys(paths):
            new = EvidenceFile.read(path)
            for other in files:
                _require_agreement(other, new)
            files.append(new)
        return cls(files, Today(project))

    def __post_init__(self) -> None:
        names = set().union(*(file.data_sets for file in self.files))
        self._real = frozenset(name for name in names if not name.endswith(TWIN))

    def measured(self, key: str) -> Result | None:
        """Return the result with this key; None without one."""
        return next((f.record(key).result for f in self.files if key in f.lines), None)

    def located(self, arm: Arm) -> Arm:
        """Return an arm with the data of its evidence, whatever data this machine has."""
        try:
            with counted_as_here(self._real):
                return arm.located()
        except (Needs, DataError) as error:
            if self._find(Run(arm, arm.seeds(1)[0])) is not None:
                return arm
            raise Needs(f"has no runs of {arm.label} in {self._paths}") from error

    def require_sound(self, arm: Arm) -> None:
        """Raise where an arm has settings that cannot be written into a file."""
        _place(Run(arm, 0))

    def get(self, run: Run) -> Result | None:
        """Return the result of a run; None where no file has a possible one."""
        found = self._find(run)
        if found is None:
            return None
        if run not in self.used:
            other = other_settings(found[1].made.settings, settings_of(run.arm))
            if fault := other or _fault(run, found[1]):
                self.faults[run] = f"{name_of(run)}, is in {found[0].path} with {fault}"
                return None
        self.used[run] = found
        return found[1].result

    def failed(self, run: Run) -> TrainingFailed | None:
        """Return what is wrong with the packed result of a run; None if nothing is wrong."""
        self.get(run)
        return TrainingFailed(self.faults[run]) if run in self.faults else None

    def missing_error(self, runs: Iterable[Run]) -> Exception:
        """Return the error of a claim whose runs are not all in the files."""
        missing = list(runs)
        more = f" and {len(missing) - 1} more runs are" if len(missing) > 1 else " is"
        return Needs(f"{name_of(missing[0])},{more} not in {self._paths}")

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Return remarks on code and data that have changed since these runs were trained."""
        changed: dict[str, int] = {}
        for run in runs:
            for each in self.changes(run):
                changed[each] = changed.get(each, 0) + 1
        return [f"{each} has changed since {n} of its runs" for each, n in changed.items()]

    def changes(self, run: Run) -> list[str]:
        """Return what has changed since a run was packed, its data and the run it starts from too.

        A run that is in no file has none.
        """
        if run not in self._changes:
            found, start = self._find(run), run.arm.starts_from
            changed = self._changed(run, *found) if found else []
            if found and start is not None:
                changed += self.changes(start)
            self._changes[run] = list(dict.fromkeys(changed))
        return self._changes[run]

    def _changed(self, run: Run, file: EvidenceFile, record: Record) -> list[str]:
        """Return what has changed since a run was packed, without the run that it starts from."""
        made = record.made
        trace = file.trace(made.trace)
        changed = list(self.today.changes(trace, digest=made.trace))
        new = new_settings(made.settings, settings_of(run.arm))
        if new and not changed:
            changed += self.today.mentioned(trace, new)
        if record.is_earlier:  # such runs have other hashes of data
            return changed
        try:
            is_all_here = all(map(is_readable, run.arm.data_sets))
            if is_all_here and run.arm.content() != record.result.identity.get("data"):
                changed.append(f"the data set {run.arm.data}")
        except (Needs, DataError):
            pass
        return changed

    def repeats(self) -> dict[Run, Run]:
        """Return the used runs that are copies of another seed of their arm, with that run.

        Runs are copies if all their values are equal. The values of exact metrics may rightly be
        equal, so only runs with a history of another metric count.
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
        """Return sentences on the used runs: their origin, copies, and changes since."""
        runs, commits, machines = Counter[str](), Counter[str](), Counter[str]()
        renewed = Counter[str]()
        changed: dict[str, set[Run]] = {}
        for run, (file, record) in self.used.items():
            made, identity = record.result.provenance, record.result.identity
            edited = " with uncommitted changes" if made.get("uncommitted_changes") else ""
            runs[file.name] += 1
            commits[f"commit {str(made.get('commit') or 'unknown')[:10]}{edited}"] += 1
            where = f"{identity['device']} {made.get('machine')}, torch {identity['torch']}"
            machines[where] += 1
            if since := made.get("renewed") or made.get("rekeyed"):
                renewed[since.partition(",")[0][:SHORT]] += 1
            for each in self.changes(run):
                changed.setdefault(each, set()).add(run)
        of_files = ", ".join(f"{runs[x.name]} runs used of {x.name}" for x in self.files)
        lines = [f"judged from evidence, nothing was trained: {of_files}", *self.repeat_lines()]
        if runs:
            lines.append(f"trained at {_listed(commits)}, on {_listed(machines)}")
            earlier = len(set().union(*changed.values()))
            by_today = len(self.used) - renewed.total() - earlier
            lines.append(f"{max(by_today, 0)} of {len(self.used)} runs were made by today's code")
            if renewed:
                lines[-1] += (
                    f"; {renewed.total()} were renewed: their code was edited after training, and"
                    f" a few of each kind, trained again, gave the same bits: {_listed(renewed)}"
                )
            if changed:
                names = _listed({name: len(of_name) for name, of_name in changed.items()})
                lines[-1] += f"; {earlier} by earlier code, since which this has changed: {names}"
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
    """Return names with their number of runs, the largest number first."""
    names = sorted(counted, key=lambda name: (-counted[name], name))
    named = ", ".join(f"{name} ({counted[name]} runs)" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _place(run: Run) -> str:
    return place_of(run.arm.study, run.arm.given(), run.seed)


def _require_agreement(first: EvidenceFile, second: EvidenceFile) -> None:
    """Raise where two files have different results of one run from the same kind of machine."""
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
    """Return the parts of the provenance that the bits of a result depend on."""
    made = record.result.provenance
    return made.get("machine"), made.get("packages")


def _fault(run: Run, record: Record) -> str:
    """Return what is impossible in a run of this arm; empty if nothing is."""
    values, arm = record.result.values, run.arm
    steps = max(values.get("steps", 0), values.get("diverged_at", 0))
    is_outside = isinstance(arm, OutsideArm)
    if steps > arm.steps and not is_outside:
        return f"{steps} steps, and takes {arm.steps} at most"
    may_stop = "diverged_at" in values or arm.stops_early or is_outside
    for metric, each in values["history"].items():
        known = len(arm.epochs_of(metric))
        most = known or (metric != "loss")  # without training there is one measurement
        is_cut = metric == "loss" and len(each) < known and not may_stop
        if len(each) > most or is_cut:
            return f"{len(each)} values of {metric} over its epochs, where {known} are known"
    measures = values.get("measures", {})
    for name, metric in type(arm).metrics.items():
        for measure, is_list in ((name, metric.listed), (metric.sampled, True)):
            value = measures.get(measure)
            if value is not None and isinstance(value, list) != is_list:
                return f"a {measure} that is {'one number' if is_list else 'a list'}"
    return "" if is_outside else _fault_of_end(arm, values)


def _fault_of_end(arm: Arm, values: Values) -> str:
    """Name a final value that is in no epoch of its history; empty if there is none.

    The core keeps the measures of one epoch: the last, or the best where training stops early. A
    user's own training may return others.
    """
    epochs: dict[int, set[int]] = {}
    """The indices that fit all metrics so far, by the length of their histories."""
    for name, final in values.get("measures", {}).items():
        series = values["history"].get(name, [])
        if not series and arm.steps == 0:  # what is only computed has no epochs
            continue
        fit = {index for index, each in enumerate(series) if each == final}
        fit &= epochs.get(len(series), fit) if arm.stops_early else {len(series) - 1}
        epochs[len(series)] = fit
        if not fit:
            which = "one of its epochs" if arm.stops_early else "its last epoch"
            return f"a final {name} that is not of {which}"
    return ""


def _is_exact(arm: Arm, name: str) -> bool:
    return name in type(arm).metrics and arm.is_exact(name)
