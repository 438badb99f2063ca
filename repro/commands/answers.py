"""The line that `judge` and `decide` answer with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from repro.judge import Effect, Outcome, Verdict
from repro.judge.effect import amount

CODES = {Outcome.REPRODUCED: 0, Outcome.REFUTED: 1, Outcome.INCONCLUSIVE: 2}
"""The exit code of each verdict."""


@dataclass(frozen=True)
class Said:
    """The deciding comparison of a verdict as text, and as data."""

    text: str
    runs: str
    data: dict[str, Any]


def amounts(verdict: Verdict, *, first: str) -> Said:
    """Return the deciding comparison, with the sign of the arm that a sentence names `first`."""
    effect = verdict.weakest
    if effect is None:
        return Said("", "", {})
    numbers = [effect.estimate, effect.low, effect.high]
    label, counts, claim = effect.label, list(effect.counts), effect
    names = [verdict.samples[place].label for place in effect.sides]
    if effect.kind == "difference" and len(names) == 2 and names[0] != first == names[1]:
        sign = " / " if effect.unit == "ratio" else " - "
        label, counts = sign.join(names[::-1]), counts[::-1]
        turn: Callable[[float], float] = (lambda x: 1 / x) if sign == " / " else (lambda x: -x)
        estimate, low, high = map(turn, numbers)
        numbers = [estimate, high, low]
        claim = replace(effect, bound=turn(effect.bound), below=not effect.below)
    estimate, low, high = numbers
    has_interval = effect.has_spread and not math.isnan(low)
    data = {
        "comparison": label,
        "estimate": estimate,
        "low": low if has_interval else None,
        "high": high if has_interval else None,
        "unit": effect.unit,
        "claimed": claim.claimed.removeprefix(", "),
        "runs": counts or [effect.seeds],
        "paired": effect.correlation is not None and not counts,
        "one_spread": effect.is_pooled,
    }
    unit = " times" if effect.unit == "ratio" else ""
    if effect.kind == "print":
        data["printed"] = effect.width
        return Said(
            f"{label} = {effect.amount}{effect.claimed}", f"{_runs(effect, counts)}, ", data
        )
    shown = _as_exact(numbers) if unit == "" else amount(*(f"{x:.3g}" for x in numbers))
    text = f"{label} = {shown if has_interval else f'{estimate + 0.0:.6g}'}{unit}{claim.claimed}"
    return Said(text, f"{_runs(effect, counts)}, ", data)


def _runs(effect: Effect, counts: list[int]) -> str:
    if counts:
        return f"{' and '.join(map(str, counts))} runs"
    return f"{effect.seeds} {'runs' if effect.correlation is None else 'pairs'}"


def _as_exact(numbers: list[float]) -> str:
    """Return an estimate and its interval, with two digits of the half width.

    >>> _as_exact([-0.00841, -0.01062, -0.00619])
    '-0.0084 [-0.0106, -0.0062]'
    """
    estimate, low, high = numbers
    half = (high - low) / 2
    if not (0 < half < math.inf):
        return f"{estimate:.3g} [{low:.3g}, {high:.3g}]"
    decimals = 1 - math.floor(math.log10(half))
    if decimals > 15 or half >= 1e6:
        return f"{estimate:.4g} [{low:.4g}, {high:.4g}]"
    estimate, low, high = (round(x, decimals) + 0.0 for x in (estimate, low, high))
    places = max(0, decimals)
    return f"{estimate:.{places}f} [{low:.{places}f}, {high:.{places}f}]"
