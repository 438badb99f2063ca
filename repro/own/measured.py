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
        numbers[name] = number_or_list(name, value, said=f"{by} returned")
        metric = arm.metrics.get(name)
        if metric is not None and isinstance(numbers[name], list) != metric.listed:
            one, many = "one number a metric", "a list of numbers"
            raise TypeError(
                f"{by} returned {name}={value!r}, and {kind}.metrics declares {name} with"
                f" listed={metric.listed}; return {many if metric.listed else one}."
            )
    return numbers


def number_or_list(name: str, value: Any, *, said: str) -> float | list[float]:
    """Return a measure as a plain number, or as a list of such; raise for what is neither.

    >>> number_or_list("gains", [1, 2.5], said="train(arm, seed) returned")
    [1.0, 2.5]
    """
    if hasattr(value, "tolist"):  # of NumPy or torch, whatever its dimensions
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_number(f"{name}[{i}]", each, said) for i, each in enumerate(value)]
    return _number(name, value, said)


def _number(name: str, value: Any, said: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{said} {name}={value!r}, which is no number; give one number a metric, or a"
            " list of numbers for one that is listed."
        ) from error
    if not math.isfinite(number):
        raise ValueError(
            f"{said} {name}={number}, which cannot be compared; give a finite number,"
            " such as the loss that the perplexity overflowed from, or raise Diverged(step) where"
            " the run diverged."
        )
    return number


def _first(arm: Arm) -> str:
    return next(iter(arm.metrics), "accuracy")
