"""What is sent to the nodes, packed; and how fast programs train there, measured there."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayTaskError

from repro.arm import Arm, Run
from repro.core.pace import Pace
from repro.executor.pace import PaceBook
from repro.executor.ray.cargo import Loader
from repro.executor.ray.cluster import Cluster
from repro.executor.ray.node import Parcel, Start, time_program
from repro.executor.ray.working_copy import paths
from repro.store import Store

if TYPE_CHECKING:
    from repro.executor.asker import Asker


class Parcels:
    """Runs and arms with all that a node needs for them; what several need is sent once."""

    def __init__(self, asker: Asker, cluster: Cluster, root: Path) -> None:
        self.asker, self.cluster, self.root = asker, cluster, root
        self._loader = Loader()
        self._weights: dict[str, Any] = {}

    def of(self, content: Sequence[Run] | Sequence[Arm]) -> Parcel:
        """A parcel; raises ValueError where what its runs start from cannot be had."""
        first = content[0]
        arm = first.arm if isinstance(first, Run) else first
        return Parcel(
            pickle.dumps(list(content)),
            paths(self.root),
            self.cluster.device,
            self._loader.cargo(arm),
            self._start(arm.starts_from),
        )

    def _start(self, base: Run | None) -> Start | None:
        if base is None:
            return None
        key = self.asker.key(base)
        if key not in self._weights:
            self._weights[key] = ray.put(self.asker.weights_of(base))
        return Start(key, self._weights[key])


class ClusterPace(PaceBook):
    """Paces of a cluster's kind of machine, measured there, as many at once as it has room for."""

    def __init__(self, store: Store, cluster: Cluster, parcels: Parcels, *, engine: str) -> None:
        super().__init__(store, numerics=cluster.numerics, engine=engine)
        self.cluster, self.parcels = cluster, parcels

    def measure_some(self, programs: Sequence[Sequence[Arm]]) -> None:
        with ExitStack() as held:
            asked: dict[Any, Arm] = {}
            for arms in programs:
                lock = self.try_lock(arms[0])
                if lock is None:
                    continue
                held.enter_context(lock)
                if not self.knows(arms[0]):
                    asked[self._ask(arms)] = arms[0]
            while asked:
                ended, _ = ray.wait(list(asked), timeout=1.0)
                self.cluster.ask_desk("is_there")  # a head that is lost has to be noticed
                for task in ended:
                    self.keep(asked.pop(task), _pace(task))

    def _ask(self, arms: Sequence[Arm]) -> Any:
        options = self.cluster.resources(memory=0)
        return time_program.options(**options).remote(self.parcels.of(arms), self.engine)


def _pace(task: Any) -> Pace:
    try:
        found: Pace = ray.get(task)
    except RayTaskError:
        return Pace("loop", 1, math.inf)  # training will tell why
    return found
