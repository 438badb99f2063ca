"""Checks of the measures that a user's function returned, against what its arm declares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from repro.arm import Arm

if TYPE_CHECKING:
    from repro.core.study import Measures


def checked(arm: Arm, measured: Any, *, by: str) -> Measures:
    """Return these measures as plain numbers; raise for missing ones and for what is not finite.

    >>> checked(SPIRAL, {"accuracy": torch.tensor(0.5)}, by="measure(module, arm)")
    {'accuracy': 0.5}
    """
    kind = type(arm).__name__
    if not isinstance(measured, Mapping):
        raise TypeError(
            f"{by} returned {type(measured).__name__}; return numbers by name, such as"
            f" {{{_first(arm)!r}: 0.5}}."
        )
    missing = sorted(set(arm.metrics) - set(measured))
    if missing:
        raise ValueError(
            f"{by} returned {sorted(measured)}, but {kind}.metrics also declares {missing}; return"
            " each declared metric, or declare what is returned."
        )
    numbers: Measures = {}
    for name, value in measured.items():
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{by} returned {name}={value!r}, which is no number; return one number a metric."
            ) from error
        if not math.isfinite(number):
            raise ValueError(
                f"{by} returned {name}={number}, which cannot be compared; return a finite"
                " number, such as the loss that the perplexity overflowed from."
            )
        numbers[name] = number
    return numbers


def _first(arm: Arm) -> str:
    return next(iter(arm.metrics), "accuracy")
