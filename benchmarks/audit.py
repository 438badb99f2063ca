"""How often an audit finds forged runs: against the theory, and from another kind of machine.

    python benchmarks/audit.py FILE                 # a true pack: audits without training
    python benchmarks/audit.py FILE --train 4       # and so many runs of each study, three times
    python benchmarks/audit.py FILE --train 2 --seconds 3    # only runs that took no longer

Runs of the pack are forged in five ways, and audited as if training again gave what was packed. So
the first table is about the sampling: an audit finds a forged run where it draws one. It stands
beside the least chance that theory gives.

With `--train` runs are trained here, and as two other processors would round. One of these is taken
for the machine that packed. The second table is about the comparison: how often a forged run that
was drawn is recognised, and how often a true one is suspected.
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from repro.arm import Arm, Run, Values
from repro.evidence import again
from repro.evidence.audit import Finding, Plan, Trained, check, is_of_this_machine
from repro.evidence.frame import Drawable, Frame, frame_of
from repro.evidence.sampling import Sampling
from repro.plugin.reading import with_claims
from repro.plugin.session import ClaimSession

SHARES = (0.05, 0.1, 0.3)
DRAWS = 29
AUDITS = 1000

PACKED_BY = {"ATEN_CPU_CAPABILITY": "default"}
"""Settings by which the runs are trained that are taken for those of another machine."""

ANOTHER_RATE = 1.1
"""The factor of the learning rate of runs whose result is packed as that of the usual one."""


@dataclass(frozen=True)
class Forger:
    """Somebody who has the results of a pack, and the spread of each arm's."""

    values: Mapping[Run, Values]
    draw: random.Random

    def shifted(self, run: Run) -> Values:
        """Every measure, half a standard deviation of the arm's seeds higher."""
        forged = copy.deepcopy(self.values[run])
        for name, value in forged.get("measures", {}).items():
            if isinstance(value, float):
                forged["measures"][name] = value + 0.5 * self._spread(run.arm, name, abs(value))
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
    options = parser.parse_args()
    evidence = [f"--evidence={options.file}"]
    with_claims(
        options.claims, evidence, lambda session: audits(session, options.train, options.seconds)
    )


def audits(session: ClaimSession, train: int, seconds: float) -> None:
    for item in session.trained:
        session.stops_at(item)
    session.read_for_the_ledger()
    session.read_figures()
    frame = frame_of(session.results, device="cpu", longest=float("inf"))  # type: ignore[arg-type]
    by_sampling(frame)
    if train:
        by_comparison(frame, train, seconds)


def by_sampling(frame: Frame) -> None:
    """Print how often audits of a forged pack find a forged run, and how often theory says."""
    total = len(frame.drawable)
    true = {each.run: each.record.result.values for each in frame.drawable}
    print(f"{AUDITS} audits of {DRAWS} among {total} runs; of 100 audits these find a forged one:")
    print(f"{'':38}" + "".join(f"{share:>9.0%}" for share in SHARES))
    for way, forge in WAYS.items():
        found = [found_in(frame, true, forge, round(share * total)) for share in SHARES]
        print(f"{way:38}" + "".join(f"{x:9.1%}" for x in found), flush=True)
    even = Sampling([1 / total] * total)
    theory = [even.finds(round(share * total), DRAWS) for share in SHARES]
    print(f"{'theory':38}" + "".join(f"{x:9.1%}" for x in theory))
    errors = [(x * (1 - x) / AUDITS) ** 0.5 for x in theory]
    print(f"{'its error in so many audits':38}" + "".join(f"{x:9.1%}" for x in errors))


def found_in(
    frame: Frame,
    true: Mapping[Run, Values],
    forge: Callable[[Forger, Run], Values],
    count: int,
) -> float:
    """The share of audits that find something, each of a pack in which others are forged."""
    plan = Plan(frame, draws=DRAWS, seconds=float("inf"), seed=0, device="cpu")
    sampling, found = plan.sampling, 0
    for number in range(AUDITS):
        forger = Forger(true, random.Random(number))
        forged = set(forger.draw.sample(range(len(frame.drawable)), count))
        drawn = [place for place in islice(sampling.order(number), DRAWS) if place in forged]
        found += any(
            is_recognised(plan, frame.drawable[place], forge(forger, frame.drawable[place].run))
            for place in drawn
        )
    return found / AUDITS


def is_recognised(plan: Plan, drawn: Drawable, forged: Values) -> bool:
    """Tell whether a drawn run is said to be wrong; training it again gives the truth."""
    record = replace(drawn.record, result=replace(drawn.record.result, values=forged))
    trained = Trained(replace(drawn, record=record), 0.0, here=drawn.record.result.values)
    return check(plan, trained).finding is Finding.WRONG


def by_comparison(frame: Frame, count: int, seconds: float) -> None:
    """Print how often drawn runs of another machine are recognised, and suspected."""
    plan = Plan(frame, draws=DRAWS, seconds=float("inf"), seed=0, device="cpu")
    recognised = {way: [0, 0] for way in ("true", *WAYS)}
    for drawn, here, elsewhere, packed in trained_thrice(frame, count, seconds):
        known = {run: record.result.values for run, record in frame.runs.items()}
        forger = Forger({**known, drawn.run: packed}, random.Random(drawn.run.seed))
        for way, counts in recognised.items():
            forged = packed if way == "true" else WAYS[way](forger, drawn.run)
            trained = Trained(of_another_machine(drawn, forged), 0.0, here, elsewhere)
            checked = check(plan, trained)
            counts[0] += checked.finding is Finding.WRONG
            counts[1] += 1
            if (checked.finding is Finding.WRONG) != (way != "true"):
                difference = checked.difference
                print(f"  {way}: {drawn.run.arm.label}, seed {drawn.run.seed}: {difference}")
    print("drawn runs of another machine that are said to have another result:")
    for way, (wrong, all_) in recognised.items():
        print(f"  {way:38}{wrong:>4} of {all_}")


def of_another_machine(drawn: Drawable, values: Values) -> Drawable:
    result = drawn.record.result
    made = {**result.provenance, "machine": "another"}
    changed = replace(result, values=values, provenance=made)
    return replace(drawn, record=replace(drawn.record, result=changed))


def trained_thrice(
    frame: Frame, count: int, seconds: float
) -> Iterator[tuple[Drawable, Values, Values, Values]]:
    """Yield runs with their values here, as another processor rounds, and as a third one does.

    What is packed stands for here, if this machine packed it; a run costs two trainings then.
    """
    engines = {run: record.result.identity["engine"] for run, record in frame.runs.items()}
    studies: dict[str, list[Drawable]] = {}
    for each in frame.drawable:
        if each.record.result.provenance["seconds"] <= seconds:
            studies.setdefault(each.run.arm.study, []).append(each)
    drawn_runs = [
        drawn
        for drawables in studies.values()
        for drawn in random.Random(1).sample(drawables, min(count, len(drawables)))
    ]
    with (
        again.elsewhere(engines, device="cpu") as other,
        again.elsewhere(engines, device="cpu", settings=PACKED_BY) as packer,
    ):
        for drawn in drawn_runs:
            here = drawn.record.result.values
            if not is_of_this_machine(drawn, "cpu"):
                here = again.Again(engines, device="cpu").values(drawn.run)
            yield drawn, here, other.values(drawn.run), packer.values(drawn.run)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
