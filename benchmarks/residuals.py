"""The error rates of the judge on what a store really holds: a table of docs/statistics.md.

    python benchmarks/residuals.py --store .repro            # a minute for a thousand runs
    python benchmarks/residuals.py --store DIR --arms my_study.arms
    python benchmarks/residuals.py --quick                   # fewer draws

The calibration of the judge draws normal values. This takes the seeds of the stored runs instead,
by study and metric, and only reads the store. It looks at pairs of arms that differ in one setting.
Their differences, seed by seed, are centred, so that nothing is there to be found, and seeds are
drawn from them with replacement. Its table has how often, in per cent, the judge settles such
claims at its looks, on the mean of both sides (0.5 are allowed). In brackets stands what it does
with normal values in the same numbers that are treated in the same way: seeds that are drawn twice
make a test err more often, so only the ratio of the two says something.

Arms share seeds, and pairs share arms: the rows are not independent, and a row of few arms says
little. Arms with a value that has no place on the scale of its metric are left out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import repro.studies
from repro.arm import Arm, Metric
from repro.judge import Design, Scale
from repro.judge.comparison import Group as Seeds
from repro.judge.comparison import Look, weigh
from repro.judge.scale import Array, ScaleError
from repro.runs.profiles import PROFILES
from repro.store.run_files import Damaged, read
from repro.store.upkeep import items

FEWEST = 5
"""The seeds that an arm must have to be looked at."""
LOOKS = PROFILES["ci"].looks
PAIRS = 200
"""The pairs of arms that a row takes at most, drawn at random."""
FEWEST_PAIRS = 10
"""The pairs of arms without which a row has no rates: they would be those of a few residuals."""


@dataclass
class Group:
    """One metric of one study: the values of each arm, by seed."""

    study: str
    metric: str
    kind: Metric
    arms: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def scale(self) -> Scale:
        return Scale(self.kind.scale, count=self.kind.examples)

    def scaled(self, arm: str) -> Array:
        """The values of an arm on the scale of its metric, in the order of their seeds."""
        values = self.arms[arm]
        return self.scale.of(np.array([values[seed] for seed in sorted(values)]), self.metric)

    def varying(self) -> list[str]:
        """The arms with enough seeds that are not all alike, and have a place on their scale."""
        enough = [arm for arm, values in self.arms.items() if len(values) >= FEWEST]
        return [arm for arm in enough if len(set(self.arms[arm].values())) > 2 and self._fits(arm)]

    def _fits(self, arm: str) -> bool:
        try:
            self.scaled(arm)
        except ScaleError:
            return False
        return True


def arm_types(modules: list[str]) -> dict[str, type[Arm]]:
    """Return the classes of arms by name, of repro's studies and of further modules."""
    studies = pkgutil.iter_modules(repro.studies.__path__, "repro.studies.")
    sys.path.insert(0, ".")
    for name in [*(f"{each.name}.arms" for each in studies if each.ispkg), *modules]:
        importlib.import_module(name)
    found: dict[str, type[Arm]] = {}
    waiting = [Arm]
    while waiting:
        kind = waiting.pop()
        found[kind.__name__] = kind
        waiting += kind.__subclasses__()
    return found


def stored(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield identity and measures of each sound run; nothing is written or moved."""
    for item in items(folder, "runs"):
        try:
            result = read(item.path, item.name)
        except Damaged as damage:
            print(f"the stored run {item.name} {damage}: left out", file=sys.stderr)
            continue
        if result is not None and "measures" in result.values:
            yield result.identity, result.values["measures"]


def groups(folder: Path, types: dict[str, type[Arm]]) -> list[Group]:
    """Return the metrics of all studies in a store; costs that no seed changes are left out."""
    found: dict[tuple[str, str], Group] = {}
    for identity, measures in stored(folder):
        kind = types.get(identity["arm"]["arm"])
        if kind is None:
            continue
        arm = json.dumps({**identity, "seed": None}, sort_keys=True)
        study = kind.study.removeprefix("repro.studies.").removesuffix(".study")
        for name, metric in kind.metrics.items():
            value = measures.get(name)
            group = found.setdefault((study, name), Group(study, name, metric))
            listed = metric.listed and value is not None
            for index, each in enumerate(value if listed else [value]):
                if each is not None and np.isfinite(each):
                    group.arms[json.dumps([arm, index])][identity["seed"]] = float(each)
    return [found[key] for key in sorted(found) if found[key].varying()]


@cache
def settings_of(arm: str) -> tuple[dict[str, Any], object]:
    """Return the settings of an arm, and whatever else two arms must share to be compared."""
    identity, place = json.loads(arm)
    rest = {name: part for name, part in json.loads(identity).items() if name != "arm"}
    return json.loads(identity)["arm"], (rest, place)


def differ_in_one(one: str, other: str) -> bool:
    """Return whether two arms of a metric differ in a single setting, and in nothing else."""
    (first, rest), (second, other_rest) = settings_of(one), settings_of(other)
    names = first.keys() | second.keys()
    return rest == other_rest and sum(first.get(x) != second.get(x) for x in names) == 1


def differences(group: Group, rng: np.random.Generator) -> list[Array]:
    """Return the centred differences of pairs of arms, seed by seed, each with a spread of 1."""
    pairs = [pair for pair in combinations(group.varying(), 2) if differ_in_one(*pair)]
    rng.shuffle(pairs)
    found = []
    for first, second in pairs[:PAIRS]:
        seeds = sorted(group.arms[first].keys() & group.arms[second].keys())
        if len(seeds) < FEWEST:
            continue
        one, other = (
            group.scale.of(np.array([group.arms[arm][s] for s in seeds]), group.metric)
            for arm in (first, second)
        )
        residuals = one - other - (one - other).mean()
        spread = residuals.std(ddof=1)
        if spread > 1e-9 * max(np.abs(one).max(), np.abs(other).max()):
            # Residuals lie nearer to each other's mean than to the true one.
            found.append(residuals / spread * (len(seeds) / (len(seeds) - 1)) ** 0.5)
    return found


def settled(samples: Array, looks: tuple[int, ...]) -> float:
    """Return the share of samples [seeds, samples] that is settled, on the mean of both sides."""
    design, claims = Design(looks=looks), samples.shape[1]
    found, left = np.zeros(claims, dtype=bool), np.full(claims, True)
    for seeds in looks:
        look = Look(design, [weigh([Seeds(samples[:seeds])])])
        found |= left & (look.reproduced | look.refuted)
        left &= ~(look.reproduced | look.refuted | look.is_hopeless)
    return float(found.mean()) / 2


def resampled(residuals: list[Array], draws: int, rng: np.random.Generator) -> float:
    """Return how often seeds that are drawn from residuals are taken for an effect, a side."""
    shares = []
    for each in residuals:
        looks = tuple(look for look in LOOKS if look <= len(each))
        drawn = rng.integers(0, len(each), (looks[-1], max(500, draws // len(residuals))))
        shares.append(settled(each[drawn], looks))
    return float(np.mean(shares))


def normal_like(residuals: list[Array], rng: np.random.Generator) -> list[Array]:
    """Return normal residuals in the same numbers, treated in the same way."""
    found = []
    for each in residuals * max(1, 100 // len(residuals)):
        values = rng.standard_normal(len(each))
        values -= values.mean()
        found.append(values / values.std(ddof=1) * (len(each) / (len(each) - 1)) ** 0.5)
    return found


@dataclass
class Row:
    """What is found of one metric; rates of None where there are too few pairs of arms."""

    group: Group
    pairs: int
    rates: list[float | None]
    """The share that is settled, a side, of resampled residuals and of normal values."""

    def __str__(self) -> str:
        group = self.group
        shown, normal = ("-" if rate is None else f"{100 * rate:.2f}" for rate in self.rates)
        return (
            f"{group.study:<18}{group.metric[:28]:<29}{group.kind.scale:<9}"
            f"{len(group.varying()):>5}{self.pairs:>6}  {shown:>5} {f'({normal})':>7}"
        )


def row(group: Group, draws: int, rng: np.random.Generator) -> Row:
    """Return the rates of one metric."""
    residuals = differences(group, rng)
    rates: list[float | None] = [None] * 2
    if len(residuals) >= FEWEST_PAIRS:
        rates = [resampled(each, draws, rng) for each in (residuals, normal_like(residuals, rng))]
    return Row(group, len(residuals), rates)


def together(rows: list[Row]) -> str:
    """Return the rates over all metrics, each counted by its pairs."""
    known = [each for each in rows if each.pairs >= FEWEST_PAIRS]
    pairs = [each.pairs for each in known]
    if not known:
        return f"no metric has {FEWEST_PAIRS} pairs of arms that differ in one setting"
    shown, normal = (
        100 * float(np.average(rates, weights=pairs))
        for rates in zip(*(each.rates for each in known), strict=True)
    )
    return (
        f"over {sum(pairs)} pairs: resampled {shown:.2f} (normal values {normal:.2f}), as if"
        f" {0.5 * shown / normal:.2f} where 0.5 are allowed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", default=".repro", type=Path, help="the folder of the results")
    parser.add_argument("--arms", nargs="*", default=[], help="further modules that define arms")
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    options = parser.parse_args()
    rng = np.random.default_rng(27)
    found = groups(options.store, arm_types(options.arms))
    if not found:
        raise SystemExit(f"{options.store} has no arm with {FEWEST} seeds that differ")
    print(f"{'study':<18}{'metric':<29}{'scale':<9}{'arms':>5}{'pairs':>6}  {'resampled':>13}")
    rows = []
    for group in found:
        rows.append(row(group, 20_000 if options.quick else 200_000, rng))
        print(rows[-1], flush=True)
    print(f"\n{together(rows)}")


if __name__ == "__main__":
    main()
