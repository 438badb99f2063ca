"""The metrics in a store, by study: the values of each arm by seed. Nothing is written or moved."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import repro.studies
from repro.arm import Arm, Metric
from repro.judge import Scale
from repro.judge.scale import Array, ScaleError
from repro.store.entry import Damaged, read

FEWEST = 5
"""The seeds that an arm must have to be looked at."""


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
        """The arms with enough seeds that are not all alike, on their scale."""
        return [arm for arm in self._varying() if self._has_a_place(arm)]

    def outside(self) -> list[str]:
        """The arms that are left out, since their scale has no place for one of their values."""
        return [arm for arm in self._varying() if not self._has_a_place(arm)]

    def _varying(self) -> list[str]:
        enough = [arm for arm, values in self.arms.items() if len(values) >= FEWEST]
        return [arm for arm in enough if len(set(self.arms[arm].values())) > 2]

    def _has_a_place(self, arm: str) -> bool:
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
    for path in sorted(folder.glob("runs/[0-9a-f][0-9a-f]/*")):
        if not re.fullmatch("[0-9a-f]{64}", path.name):
            continue
        try:
            result = read(path, path.name)
        except Damaged as damage:
            print(f"the stored run {path.name} {damage}: left out", file=sys.stderr)
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
    rest = {
        name: part for name, part in json.loads(identity).items() if name not in ("arm", "code")
    }
    return json.loads(identity)["arm"], (rest, place)


def differ_in_one(one: str, other: str) -> bool:
    """Return whether two arms of a metric differ in a single setting, and in nothing else."""
    (first, rest), (second, other_rest) = settings_of(one), settings_of(other)
    names = first.keys() | second.keys()
    return rest == other_rest and sum(first.get(x) != second.get(x) for x in names) == 1
