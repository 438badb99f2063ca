"""How often an audit finds forged runs: two tables of docs/evidence.md.

    python benchmarks/audit.py FILE                 # a true pack: audits without training
    python benchmarks/audit.py FILE --quick         # fewer of them
    python benchmarks/audit.py FILE --train 4       # and so many runs of each study, three times
    python benchmarks/audit.py FILE --train 2 --seconds 3    # only runs that took no longer

Runs of the pack are forged in five ways, and audited as if training again gave what was packed. So
the first table is about the sampling: an audit finds a forged run where it draws one. It stands
beside the chance that theory gives.

With `--train` runs are trained here, and as two other processors would round, which stand for the
machines that packed. The second table is about the comparison: how often a forged run that was
drawn is recognised, and how often a true one is suspected.
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from repro.arm import Arm, Run, Values
from repro.commands.collecting import collected
from repro.environment import environment_with
from repro.evidence.audit import Again, Frame, Repetition, chance_to_find, compare, frame_of
from repro.evidence.file import Record

SHARES = (0.05, 0.1, 0.3)
DRAWS = 29

OTHERS = (
    {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    },
    {"ATEN_CPU_CAPABILITY": "default"},
)
"""Settings by which torch and its libraries add up in another order, as other processors do."""

ANOTHER_RATE = 1.1
"""The factor of the learning rate of runs whose result is packed as that of the usual one."""


@dataclass(frozen=True)
class Forger:
    """Somebody who has the results of a pack, and the spread of each arm's."""

    values: Mapping[Run, Values]
    draw: random.Random

    def shifted(self, run: Run) -> Values:
        """Every final measure, half a standard deviation of the arm's seeds higher.

        In its history, too: a final value that is of no epoch is found without training.
        """
        forged = copy.deepcopy(self.values[run])
        for name, value in forged.get("measures", {}).items():
            if isinstance(value, float):
                higher = value + 0.5 * self._spread(run.arm, name, abs(value))
                series = forged["history"].get(name, [])
                series[:] = [higher if each == value else each for each in series]
                forged["measures"][name] = higher
        return forged

    def swapped(self, run: Run) -> Values:
        """The result of another arm of the study, at the same seed."""
        return self._of(lambda other: other.seed == run.seed and other.arm != run.arm, run)

    def copied(self, run: Run) -> Values:
        """The result of the same arm, at another seed."""
        return self._of(lambda other: other.arm == run.arm and other.seed != run.seed, run)

    def edited(self, run: Run) -> Values:
        """The loss of one epoch, a tenth lower; a measure, where there is no history."""
        forged = copy.deepcopy(self.values[run])
        if losses := forged["history"].get("loss"):
            losses[self.draw.randrange(len(losses))] *= 0.9
            return forged
        name = next(iter(forged["measures"]))
        forged["measures"][name] *= 0.9
        return forged

    def rated(self, run: Run) -> Values:
        """The result of an arm that differs in its recipe, where there is one; else of any."""
        recipes = [
            other
            for other in self._others(run)
            if other.arm.recipe != run.arm.recipe
            and other.arm.but(recipe=run.arm.recipe) == run.arm
        ]
        return self.values[self.draw.choice(recipes)] if recipes else self.swapped(run)

    def _of(self, is_fit: Callable[[Run], bool], run: Run) -> Values:
        fit = [other for other in self._others(run) if is_fit(other)]
        return self.values[self.draw.choice(fit or self._others(run))]

    def _others(self, run: Run) -> list[Run]:
        alike = [x for x in self.values if type(x.arm) is type(run.arm) and x != run]
        return [x for x in alike if self.values[x] != self.values[run]]

    def _spread(self, arm: Arm, name: str, size: float) -> float:
        theirs = [v["measures"][name] for run, v in self.values.items() if run.arm == arm]
        spread = statistics.stdev(theirs) if len(theirs) > 2 else 0.0
        return spread or 0.01 * (size or 1.0)


WAYS: dict[str, Callable[[Forger, Run], Values]] = {
    "values shifted by half a deviation": Forger.shifted,
    "seeds swapped between arms": Forger.swapped,
    "a run copied under another seed": Forger.copied,
    "an epoch's history edited": Forger.edited,
    "another learning rate's result": Forger.rated,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("claims", nargs="*", default=["claims"])
    parser.add_argument("--train", type=int, default=0, metavar="N", help="runs of each study")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of a run, at most")
    parser.add_argument("--quick", action="store_true", help="50 audits instead of 1,000")
    options = parser.parse_args()

    session = collected(options, evidence=options.file)
    session.read_everything()
    frame = frame_of(session.results, device="cpu", longest=float("inf"))  # type: ignore[arg-type]
    by_sampling(frame, 50 if options.quick else 1000)
    if options.train:
        by_comparison(frame, options.train, options.seconds)


def by_sampling(frame: Frame, audits: int) -> None:
    """Print how often audits of a forged pack find a forged run, and how often theory says."""
    total = len(frame.drawable)
    print(f"{audits} audits of {DRAWS} among {total} runs; of 100 audits these find a forged one:")
    print(f"{'':38}" + "".join(f"{share:>9.0%}" for share in SHARES))
    for way, forge in WAYS.items():
        found = [found_in(frame, forge, audits, round(share * total)) for share in SHARES]
        print(f"{way:38}" + "".join(f"{x:9.1%}" for x in found), flush=True)
    theory = [chance_to_find(round(x * total), total=total, draws=DRAWS) for x in SHARES]
    print(f"{'theory':38}" + "".join(f"{x:9.1%}" for x in theory))
    errors = [(x * (1 - x) / audits) ** 0.5 for x in theory]
    print(f"{'its error in so many audits':38}" + "".join(f"{x:9.1%}" for x in errors))


def found_in(
    frame: Frame, forge: Callable[[Forger, Run], Values], audits: int, count: int
) -> float:
    """The share of audits that find something, each of a pack in which others are forged."""
    found, true = 0, true_values(frame)
    for number in range(audits):
        forger = Forger(true, random.Random(number))
        forged = set(forger.draw.sample(frame.drawable, count))
        drawn = random.Random(-number - 1).sample(frame.drawable, DRAWS)
        found += any(
            compared(frame, run, forge(forger, run), true[run]) is Repetition.WRONG
            for run in drawn
            if run in forged
        )
    return found / audits


def true_values(frame: Frame) -> dict[Run, Values]:
    return {run: record.result.values for run, record in frame.records.items()}


def compared(
    frame: Frame, run: Run, packed: Values, here: Values, *, machine: str | None = None
) -> Repetition:
    """Return what is said of a packed result; training the run gives `here`."""
    record = frame.records[run]
    made = dict(record.result.provenance)
    made["machine"] = machine or made["machine"]
    record = Record({**record.line, "values": packed, "provenance": made})
    forged = replace(frame, records={**frame.records, run: record})
    return compare(forged, run, here)[0]


def by_comparison(frame: Frame, count: int, seconds: float) -> None:
    """Print how often drawn runs of another machine are recognised, and suspected."""
    found = {way: Counter[Repetition]() for way in ("true", *WAYS)}
    for run, here, others in trained_thrice(frame, count, seconds):
        for packed in others:
            forger = Forger({**true_values(frame), run: packed}, random.Random(run.seed))
            for way, counts in found.items():
                forged = packed if way == "true" else WAYS[way](forger, run)
                said = compared(frame, run, forged, here, machine="another")
                counts[said] += 1
                if (said is Repetition.WRONG) != (way != "true"):
                    print(f"  {way}: {run.arm.label}, seed {run.seed}: {said}")
    print(f"drawn runs of another machine that have {Repetition.WRONG}, or parted:")
    for way, counts in found.items():
        wrong, parted = counts[Repetition.WRONG], counts[Repetition.PARTED]
        print(f"  {way:38}{wrong:>4} and {parted} of {counts.total()}")


def trained_thrice(
    frame: Frame, count: int, seconds: float
) -> Iterator[tuple[Run, Values, list[Values]]]:
    """Yield runs with their values here, and as each of the others rounds."""
    engines = {run: record.result.provenance["engine"] for run, record in frame.records.items()}
    studies: dict[str, list[Run]] = {}
    for run in frame.drawable:
        if frame.records[run].result.provenance["seconds"] <= seconds:
            studies.setdefault(run.arm.study, []).append(run)
    again = Again(engines, device="cpu")
    for runs in studies.values():
        for run in random.Random(1).sample(runs, min(count, len(runs))):
            yield run, again.values(run), [elsewhere(engines, run, each) for each in OTHERS]


def elsewhere(engines: Mapping[Run, str], run: Run, settings: Mapping[str, str]) -> Values:
    """Train a run in a process of its own, which rounds as another processor does."""
    with environment_with(settings), ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(trained, engines, run).result()


def trained(engines: Mapping[Run, str], run: Run) -> Values:
    return Again(engines, device="cpu").values(run)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
