"""Trains a random sample of packed runs again, and compares the results with the packed ones.

Another processor adds in another order, which changes the last digits. Training makes this
difference grow from epoch to epoch, in some runs until it is as large as between seeds. But the
result of another run differs from the start. So at each epoch two results may differ by `GROWTH`
times as much as at earlier epochs, and always by `HARMLESS`. The unit is the spread between the
seeds of an arm, since verdicts depend on it.

A metric may be nearly the same for all seeds, such as the loss of an untrained network, or a cosine
of 1. Numbers may differ by `SINGLE`, where that is more than `HARMLESS`.

Where training is unstable, they may part within one epoch, and then stay apart. Such a run is
neither wrong nor checked. An edited epoch is wrong, since the next ones are alike again.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Run, Values
from repro.backends.trainer import train_batch
from repro.data.files import is_readable
from repro.evidence.file import Record
from repro.evidence.reader import EvidenceResults
from repro.own.training_run import Files
from repro.runs.identity import engine_of, name_of
from repro.runs.pool import Failed, Trained
from repro.runs.provenance import provenance
from repro.runs.results import version_of

CONFIDENCE = 0.95

SHARES = (0.05, 0.1, 0.3)
"""An audit says its chance to find a wrong run, if this share of runs is wrong."""

UNKNOWN_SECONDS = 1.0
"""The assumed time of a run without a recorded time."""

GROWTH = 100_000.0
"""The largest allowed growth per epoch; where training is unstable, more was observed."""

HARMLESS = 0.1
"""A difference that is always allowed, in spreads between seeds."""

LASTING = 0.01
"""The least difference at each later epoch of two results that have parted."""

FEWEST_SEEDS = 3

UNKNOWN = 0.01
"""The assumed spread of an arm with fewer seeds, relative to the value."""

SINGLE = 2.0**-23
"""The precision of metrics on their scales: relative for those above 1."""

Place = tuple[float, str]
"""The epoch of a measurement (infinite for the final value), and the name of the metric."""

Array = NDArray[np.float64]


class NotTrained(Exception):
    """A run could not be trained again; the message says why."""


class Again(Files):
    """Trains single runs, after the runs that they start from.

    `engines` has the engine of runs; others get the one that a session would train them with.
    """

    def __init__(self, engines: Mapping[Run, str | None], *, device: str) -> None:
        super().__init__()
        self._engines, self._device = engines, device
        self._weights: dict[Run, bytes | None] = {}

    def values(self, run: Run) -> Values:
        """Train a run; return its values as JSON data. Raises `NotTrained`.

        >>> Again({run: "loop"}, device="cpu").values(run)["steps"]
        """
        start = run.arm.starts_from
        if start is not None and start not in self._weights:
            self.values(start)
        engine = self._engines.get(run) or engine_of(run.arm, device=self._device)
        for event in train_batch([run], engine=engine, device=self._device, files=self):
            if isinstance(event, Failed):
                raise NotTrained(event.why)
            if isinstance(event, Trained):
                if run.arm.keeps_weights:
                    self._weights[run] = event.weights
                values: Values = json.loads(json.dumps(event.values))
                return values
        raise NotTrained(f"{name_of(run)}, gave nothing when it was trained")

    def load_weights(self, run: Run) -> bytes:
        weights = self._weights[run]
        if weights is None:
            raise ValueError(f"{name_of(run)}, which this starts from, diverged")
        return weights


class Repetition(StrEnum):
    """The relation between a packed result and that of the same run trained again."""

    SAME = "the same bits"
    ROUNDED = "the same but for rounding"
    PARTED = "the same until training parted"
    WRONG = "another result"
    NOT_TRAINED = "could not be trained again"


@dataclass(frozen=True)
class Checked:
    """A run of the sample, and how its result compares."""

    run: Run
    finding: Repetition
    why: str = ""
    """The difference from the packed result, or the reason why the run could not be trained."""
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return self.finding in (Repetition.SAME, Repetition.ROUNDED, Repetition.PARTED)


@dataclass
class Frame:
    """The runs from which an audit draws, and the number of other runs."""

    device: str
    records: Mapping[Run, Record]
    """All runs that claims and figures use, and the runs that these start from."""
    drawable: list[Run] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """The number of left-out runs, by the reason."""


def frame_of(results: EvidenceResults, *, device: str, longest: float) -> Frame:
    """Return the runs of claims that can be trained here within `longest` seconds, as a `Frame`.

    >>> frame_of(results, device="cpu", longest=300).left_out
    Counter({'are of no claim that was read': 3})
    """
    use_starts(results)
    frame = Frame(device, {run: record for run, (_, record) in results.used.items()})
    seconds = _seconds(frame.records)
    for run, record in frame.records.items():
        where = record.result.identity["device"]
        missing = [each for each in run.arm.data_sets if not is_readable(each)]
        changed = results.changes(run) if not missing else []
        if run.arm.starts_from not in (None, *frame.records):
            frame.left_out["start from a run that is in no file"] += 1
        elif missing:
            frame.left_out[f"need the data set {missing[0]}, which is not here"] += 1
        elif changed:
            more = ", …" * (len(changed) > 1)
            frame.left_out[f"were packed before a change of {changed[0]}{more}"] += 1
        elif where != device:
            frame.left_out[f"were trained on {where}, and not on {device} as here"] += 1
        elif seconds[run] > longest:
            frame.left_out[f"take longer than {longest / 60:g} minutes each"] += 1
        else:
            frame.drawable.append(run)
    read = {record.key for record in frame.records.values()}
    if of_none := sum(key not in read for file in results.files for key in file.lines):
        frame.left_out["are of no claim that was read"] = of_none
    return frame


def use_starts(results: EvidenceResults) -> None:
    """Count the runs that used runs start from as used, too.

    >>> use_starts(EvidenceResults.read([path], project=folder))
    """
    for start in [each for run in results.used for each in with_starts(run)]:
        results.get(start)


def _seconds(records: Mapping[Run, Record]) -> dict[Run, float]:
    """Return the expected seconds of each run, with the runs that it starts from.

    They are the work of its arm, times its study's median rate. So nobody can have a few runs left
    out by writing false times into them.
    """
    rates: dict[str, list[float]] = {}
    for run, record in records.items():
        seconds = record.result.provenance.get("seconds") or UNKNOWN_SECONDS
        rates.setdefault(run.arm.study, []).append(seconds / (run.arm.work or 1.0))
    usual = {study: statistics.median(each) for study, each in rates.items()}
    alone = {run: usual[run.arm.study] * (run.arm.work or 1.0) for run in records}
    return {run: sum(alone.get(each, 0.0) for each in with_starts(run)) for run in records}


def with_starts(run: Run) -> Iterator[Run]:
    """Yield a run, the run that it starts from, and so on."""
    yield run
    if run.arm.starts_from is not None:
        yield from with_starts(run.arm.starts_from)


def audit(frame: Frame, *, draws: int, seconds: float, seed: int) -> Iterator[Checked]:
    """Draw runs, each with the same chance, and train them again until the time is over.

    The last run is finished after that time; without it, expensive runs would rarely be checked.

    >>> for checked in audit(frame, draws=29, seconds=300, seed=1):
    ...     print(checked.run.seed, checked.finding)
    """
    engines = {run: each.result.provenance.get("engine") for run, each in frame.records.items()}
    again, began = Again(engines, device=frame.device), time.monotonic()
    order = list(frame.drawable)
    random.Random(seed).shuffle(order)
    for run in order[:draws]:
        start = time.monotonic()
        if start - began > seconds:
            return
        try:
            found = compare(frame, run, again.values(run))
        except NotTrained as error:
            found = Repetition.NOT_TRAINED, str(error)
        yield Checked(run, *found, seconds=time.monotonic() - start)


def compare(frame: Frame, run: Run, here: Values) -> tuple[Repetition, str]:
    """Return how the values of a run that was trained here compare, and the difference in words."""
    record, arm = frame.records[run], run.arm
    packed = record.result.values
    if here == packed:
        return Repetition.SAME, ""
    of_arm = [x.result.values for each, x in frame.records.items() if each.arm == arm]
    found = difference(arm, packed, here, seeds=of_arm)
    if found is None or ("diverged_at" in packed) != ("diverged_at" in here):
        return Repetition.WRONG, "one diverged, or has no number in common with the other"
    if is_of_this_machine(run, record, frame.device):
        why = "the same kind of machine and versions trained it, so the bits should be the same"
        return Repetition.WRONG, f"{found}; {why}"
    if found.is_rounding:
        return Repetition.ROUNDED, str(found)
    return Repetition.PARTED if found.lasts else Repetition.WRONG, str(found)


def is_of_this_machine(run: Run, record: Record, device: str) -> bool:
    """Return whether a run was trained on this kind of machine, with the same versions."""
    made, here = record.result.provenance, provenance(device, 0.0, 1)
    packages: dict[str, str] = made.get("packages", {})
    is_same = all(
        version_of(name) == version for name, version in packages.items() if name != "torch"
    )
    torch = packages.get("torch") == here["packages"].get("torch")
    return made.get("machine") == here["machine"] and is_same and torch


@dataclass(frozen=True)
class Difference:
    """The difference of two results where it exceeds the allowed one the most."""

    place: Place
    found: float
    """In spreads between seeds."""
    allowed: float
    lasts: bool = False
    """True where the results differ at each later epoch, and there are some."""

    @property
    def is_rounding(self) -> bool:
        return self.found <= self.allowed

    def __str__(self) -> str:
        epoch, metric = self.place
        where = metric if epoch == math.inf else f"{metric} after epoch {epoch:g}"
        return (
            f"its {where} differs by {self.found:.2g} of the spread between seeds, where rounding"
            f" gives at most {self.allowed:.2g}"
        )


def difference(
    arm: Arm, one: Values, other: Values, *, seeds: Sequence[Values]
) -> Difference | None:
    """Return the worst difference, compared with rounding; None if the results share no number.

    `seeds` are the results of all seeds of the arm.

    >>> difference(arm, packed, here, seeds=[]).is_rounding
    False
    """
    ours, theirs = _numbers(arm, one), _numbers(arm, other)
    of_seeds = [_numbers(arm, values) for values in seeds]
    found, before = [], 0.0
    largest: dict[float, float] = {}
    epochs = sorted({epoch for epoch, _ in ours})
    for epoch in epochs:
        allowed = max(HARMLESS, GROWTH * before)
        for place in (each for each in ours if each[0] == epoch and each in theirs):
            known = [numbers[place] for numbers in of_seeds if place in numbers]
            least = _precision(arm, place[1], ours[place]) / HARMLESS
            distance = _distance(ours[place], theirs[place], known, least=least)
            found.append(Difference(place, distance, allowed))
            before = max(before, distance)
            largest[epoch] = max(distance, largest.get(epoch, 0.0))
    worst = max(found, key=lambda each: each.found / each.allowed, default=None)
    if worst is None:
        return None
    first = min((each.place[0] for each in found if not each.is_rounding), default=math.inf)
    later = [distance for epoch, distance in largest.items() if first < epoch < math.inf]
    is_apart = bool(later) and min(later) > LASTING and first > min(largest)
    return replace(worst, lasts=is_apart)


def _precision(arm: Arm, name: str, numbers: Array) -> Array | float:
    """Return how precisely a metric is known: fully, if it is exact."""
    metric = type(arm).metrics.get(name)
    if metric is None or metric.exact:
        return 0.0
    size = np.abs(numbers)
    if metric.scale != "log":
        return SINGLE * np.maximum(size, 1.0)
    logs = np.abs(np.log(size, out=np.zeros_like(size), where=size > 0))
    return SINGLE * size * np.maximum(logs, 1.0)


def _distance(
    one: Array, other: Array, seeds: Sequence[Array], *, least: Array | float = 0.0
) -> float:
    """Return the largest difference of two lists of numbers, in spreads between seeds.

    Spreads count as `least` where they are smaller.
    """
    if len(one) != len(other):
        return math.inf
    alike = [each for each in seeds if len(each) == len(one)]
    spread = UNKNOWN * np.maximum(np.abs(one), np.abs(other))
    if len(alike) >= FEWEST_SEEDS and len(one):
        spread = np.sqrt(np.var(alike, axis=0, ddof=1).mean())
    spread = np.maximum(spread, least)
    apart = np.abs(one - other)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(apart == 0, 0.0, apart / spread), initial=0.0))


def _numbers(arm: Arm, values: Values) -> Mapping[Place, Array]:
    """Return the numbers of a result by place.

    Lists with a value for each example are left out, since another metric is their mean.
    """
    by_example = {metric.sampled for metric in type(arm).metrics.values()}
    found = {(math.inf, name): x for name, x in values.get("measures", {}).items()}
    for name, series in values["history"].items():
        epochs = arm.epochs_known(measured=name != "loss") or [0]
        found |= {(n, name): x for n, x in zip(epochs, series, strict=False)}
    return {place: np.array(_flat(x)) for place, x in found.items() if place[1] not in by_example}


def _flat(value: object) -> list[float]:
    if isinstance(value, list):
        return [number for each in value for number in _flat(each)]
    return [] if value is None else [float(value)]  # type: ignore[arg-type]


def chance_to_find(wrong: int, *, total: int, draws: int) -> float:
    """Return the chance that a sample contains at least one of the wrong runs.

    >>> round(chance_to_find(100, total=1000, draws=29), 2)
    0.96
    """
    return 1.0 - math.comb(total - wrong, draws) / math.comb(total, draws)


def fewest_found(*, total: int, draws: int) -> int | None:
    """Return the smallest number of wrong runs that a sample finds with a chance of `CONFIDENCE`.

    So if the sample is clean, fewer runs are wrong. None if no number is found so surely.

    >>> fewest_found(total=1000, draws=29)
    97
    """
    counts = range(total + 1)
    found = bisect_left(
        counts, CONFIDENCE, key=lambda wrong: chance_to_find(wrong, total=total, draws=draws)
    )
    return found if found <= total else None


def audit_lines(frame: Frame, checked: Sequence[Checked], *, seed: int) -> Iterator[str]:
    """Yield the outcome of an audit as lines: the sample, the results, the conclusion."""
    total, draws = len(frame.drawable), len(checked)
    yield (
        f"{draws} of {total:,} runs were drawn by seed {seed}, each with the same chance, and"
        " trained again:"
    )
    counts = Counter(each.finding for each in checked)
    yield "  " + ", ".join(f"{counts[each]} {each}" for each in Repetition if counts[each])
    for each in checked:
        if not each.is_clean:
            is_wrong = each.finding is Repetition.WRONG
            named = f"WRONG  {name_of(each.run)}: " if is_wrong else "NOT TRAINED  "
            yield f"  {named}{each.why}"
    if counts[Repetition.ROUNDED]:
        yield (
            f"runs from another kind of machine, or other versions, may differ by {HARMLESS:g} of"
            f" the spread between seeds, or by {GROWTH:,.0f} times as much as an epoch before;"
            " all numbers also in the last digit of a float32"
        )
    if parted := counts[Repetition.PARTED]:
        yield (
            f"{parted} of them differ from some epoch on, as unstable training does: these count as"
            " not drawn, and the same kind of machine with the same versions would tell"
        )
    draws -= parted
    if all(each.is_clean for each in checked):
        if (fewest := fewest_found(total=total, draws=draws)) is None:
            yield "so few runs say nothing about the others"
        else:
            yield (
                f"so fewer than {fewest:,} of the {total:,} runs ({fewest / total:.1%}) are wrong,"
                f" with {CONFIDENCE:.0%} confidence"
            )
    chances = [
        f"{chance_to_find(round(share * total), total=total, draws=draws):.0%} if {share:.0%} are"
        for share in SHARES
    ]
    yield f"the chance that an audit like this finds wrong runs: {', '.join(chances)}"
    left_out = [f"{count:,} {why}" for why, count in frame.left_out.items()]
    if left_out:
        yield f"nothing is said about the other runs: {'; '.join(left_out)}"
