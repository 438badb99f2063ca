"""The distinct runs that the claims of a session ask for, in this process and in others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

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
        self._own: dict[Run, None] = {}
        self._names: dict[Arm, str] = {}
        self._seeds: dict[str, set[int]] = {}

    def update(self, *runs: Iterable[Run]) -> None:
        """Add runs that a claim asks for."""
        for run in chain(*runs):
            if run not in self._own:
                self._own[run] = None
                self._seeds.setdefault(self._name(run.arm), set()).add(run.seed)

    def tell(self, told: Told) -> None:
        """Add what another process told of."""
        for name, seeds in told.items():
            self._seeds.setdefault(name, set()).update(seeds)

    def told(self, *, since: int = 0) -> dict[str, list[int]]:
        """Return what to tell another process: the runs of this one, but for the first so many."""
        told: dict[str, list[int]] = {}
        for run in list(self._own)[since:]:
            told.setdefault(self._name(run.arm), []).append(run.seed)
        return told

    def __contains__(self, run: object) -> bool:
        if not isinstance(run, Run):
            return False
        return run in self._own or run.seed in self._seeds.get(self._name(run.arm), ())

    def __iter__(self) -> Iterator[Run]:
        """Yield the runs that this process asked for."""
        return iter(self._own)

    def __len__(self) -> int:
        return sum(map(len, self._seeds.values()))

    def _name(self, arm: Arm) -> str:
        if arm not in self._names:
            text = json.dumps([arm.study, arm.settings()], sort_keys=True)
            self._names[arm] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._names[arm]
