"""Numbers that the judge finds by simulation. Each is simulated once, also for later processes.

The draws are seeded: a number that was kept is the one that would come out again. What is kept is
of no use to other versions of the code that finds it, which `version` tells apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeAlias, TypeVar

import numpy as np
import scipy  # type: ignore[import-untyped]

Numbers: TypeAlias = float | tuple[float, ...]

_Arguments = ParamSpec("_Arguments")
_Found = TypeVar("_Found", bound=Numbers)

_found: dict[str, Numbers] = {}
"""The numbers that this process simulated or learned from another one, by what they are of."""


def simulated(find: Callable[_Arguments, _Found]) -> Callable[_Arguments, _Found]:
    """Let a function find its numbers once. The text of its arguments has to say all of them.

    >>> @simulated
    ... def chance_of_a_six(draws: int) -> float:
    ...     return float((np.random.default_rng(0).integers(6, size=draws) == 5).mean())
    >>> chance_of_a_six(1000) in told().values()
    True
    """

    @wraps(find)
    def kept(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Found:
        assert not named, f"{find.__name__} is called with its arguments in their order"
        name = f"{find.__module__}.{find.__qualname__}{arguments!r}"
        if name not in _found:
            _found[name] = find(*arguments, **named)
        return _found[name]  # type: ignore[return-value]

    return kept


def told() -> dict[str, Numbers]:
    """Return all numbers that this process knows, for another one to learn."""
    return dict(_found)


def learn(numbers: Mapping[str, Numbers]) -> None:
    """Take over numbers that another process of this `version` found."""
    _found.update({name: number for name, number in numbers.items() if name not in _found})


@cache
def version() -> str:
    """Return what tells numbers apart that other code may find: a digest of the judge's code."""
    hasher = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        hasher.update(file.read_bytes())
    return hasher.hexdigest()
