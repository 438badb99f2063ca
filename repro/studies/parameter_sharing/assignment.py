"""The three strategies of Takase and Kiyono (2021) that assign sets of parameters to layers.

Layers and sets count from 0. The paper's rule for SEQUENCE starts a new set after every `layers //
sets` layers. If the division has a remainder, this makes too many sets (12 for 12 layers and 8
sets). `sequence` stays at the last set instead; `literal_sequence` is the printed rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Strategy = Literal["sequence", "cycle", "cycle (rev)"]

Order = tuple[int, ...]
"""The set of each layer, from the input to the output."""


def sequence(layers: int, sets: int) -> Order:
    """Assign each set to neighbouring layers.

    >>> sequence(6, 3)
    (0, 0, 1, 1, 2, 2)
    """
    return tuple(min(place, sets - 1) for place in literal_sequence(layers, sets))


def literal_sequence(layers: int, sets: int) -> Order:
    """Assign sets by the paper's rule, which may make more than `sets`.

    >>> max(literal_sequence(12, 8)) + 1
    12
    """
    each = max(1, layers // sets)
    return tuple(layer // each for layer in range(layers))


def cycle(layers: int, sets: int) -> Order:
    """Assign all sets in turn, repeatedly.

    >>> cycle(6, 3)
    (0, 1, 2, 0, 1, 2)
    """
    return tuple(layer % sets for layer in range(layers))


def cycle_reversed(layers: int, sets: int) -> Order:
    """Assign all sets in turn, the last time backwards.

    >>> cycle_reversed(6, 3)
    (0, 1, 2, 2, 1, 0)
    """
    forwards = max(sets, sets * (-(-layers // sets) - 1))
    return tuple(
        layer % sets if layer < forwards else sets - 1 - layer % sets for layer in range(layers)
    )


STRATEGIES: dict[Strategy, Callable[[int, int], Order]] = {
    "sequence": sequence,
    "cycle": cycle,
    "cycle (rev)": cycle_reversed,
}


def assigned(strategy: Strategy, *, layers: int, sets: int) -> Order:
    """Return the set of each layer.

    >>> assigned("cycle (rev)", layers=3, sets=3) == assigned("sequence", layers=3, sets=3)
    True
    """
    if layers < 1 or sets < 1:
        raise ValueError(f"layers={layers} and sets={sets} must be at least 1.")
    return STRATEGIES[strategy](layers, sets)
