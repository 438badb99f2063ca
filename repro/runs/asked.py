"""The distinct runs that the claims of a session ask for, in this process and in others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from repro.arm import Arm, Run

Told = Mapping[str, Sequence[int]]
"""The seeds of runs by the names of their arms, as one process tells another."""


class Asked:
    """The runs that this process asked for, counted together with those that others told of.

    >>> asked = Asked()
    >>> asked.update([Run(D256_L4, 42), Run(D256_L4, 43)])
    >>> elsewhere = Asked()
    >>> elsewhere.tell(asked.told())
    >>> Run(D256_L4, 42) in elsewhere, len(elsewhere), list(elsewhere)
    (True, 2, [])
    """

    def __init__(self) -> None:
        self._own: dict[Arm, dict[int, None]] = {}
        """The seeds that this process asked for, in order."""
        self._untold: dict[str, list[int]] = {}
        self._names: dict[Arm, str] = {}
        self._seeds: dict[str, set[int]] = {}

    def ask(self, arm: Arm, seeds: Iterable[int]) -> None:
        """Add runs of an arm that a claim asks for."""
        own = self._own.setdefault(arm, {})
        new = [seed for seed in seeds if seed not in own]
        if new:
            name = self._name(arm)
            own.update(dict.fromkeys(new))
            self._untold.setdefault(name, []).extend(new)
            self._seeds.setdefault(name, set()).update(new)

    def update(self, runs: Iterable[Run]) -> None:
        """Add runs that a claim asks for."""
        for run in runs:
            self.ask(run.arm, [run.seed])

    def tell(self, told: Told) -> None:
        """Add what another process told of."""
        for name, seeds in told.items():
            self._seeds.setdefault(name, set()).update(seeds)

    def told(self) -> dict[str, list[int]]:
        """Return what to tell another process: the runs of this one."""
        return {self._name(arm): list(seeds) for arm, seeds in self._own.items() if seeds}

    def news(self) -> dict[str, list[int]]:
        """Return the runs of this process that are new since this was called last."""
        news, self._untold = self._untold, {}
        return news

    def __contains__(self, run: object) -> bool:
        if not isinstance(run, Run):
            return False
        return run.seed in self._seeds.get(self._name(run.arm), ())

    def __iter__(self) -> Iterator[Run]:
        """Yield the runs that this process asked for."""
        return (Run(arm, seed) for arm, seeds in self._own.items() for seed in seeds)

    def __len__(self) -> int:
        return sum(map(len, self._seeds.values()))

    def _name(self, arm: Arm) -> str:
        if arm not in self._names:
            text = json.dumps([arm.study, arm.settings()], sort_keys=True)
            self._names[arm] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._names[arm]
