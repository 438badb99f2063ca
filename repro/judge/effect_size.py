"""Whether an effect is as large as the documented one: the second word of a verdict.

A source prints one run, or the mean of a few, so its effect is a sample, too. The difference of
both effects is tested by the t test of a prediction, as in `agrees_with`, on the scale of the
comparison and without the bound of the claim. Its thresholds hold over all looks. They are shared
among the comparisons of a statement, since the weakest of these is chosen by its values.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr  # type: ignore[import-untyped]

from repro.judge.contrast import Contrast, Readings, rounding
from repro.judge.effect import EffectSize
from repro.judge.looks import Design
from repro.judge.statistic import Prediction
from repro.judge.terms import error_of_both

WITHIN = 0.5
"""An effect is as documented within this share of the documented one."""


def effect_size(
    term: Contrast, readings: Readings, design: Design, *, among: int
) -> tuple[EffectSize, float | None]:
    """Return the second word for a comparison, and the documented effect in its natural unit.

    There is none without a number for each arm, and none for a number that is judged itself.
    """
    printed = [side.documented for side in term.sides if not side.is_fixed]
    known = [each for each in printed if each is not None]
    is_plain = type(term) is Contrast and term.is_paired and not term.is_exact
    if not known or len(known) < len(printed) or not is_plain or design.at_any_time:
        return EffectSize.NONE, None
    plain = Contrast(term.sides)
    numbers = {
        side: readings[side][:1] if side.documented is None else np.array([side.documented.number])
        for side in term.sides
    }
    documented = float(np.subtract(*plain.halves(numbers))[0])
    left, right = plain.halves(readings)
    seeds, differences = len(left), left - right
    runs = min(each.runs for each in known)
    least = term.scale.half_example(left) ** 2
    here = differences.var(ddof=1)
    apart = sum(each.var(ddof=1) for each in plain.on_scale(readings))
    is_paired = all(each.paired for each in known)
    error = error_of_both(here, here if is_paired else apart, runs=runs, seeds=seeds, least=least)
    natural = _natural(term, [float(numbers[side][0]) for side in term.sides], documented)
    if documented == 0 or error <= rounding(left, right):
        return EffectSize.OPEN, natural
    gap = float(differences.mean()) - documented
    outside = (abs(gap) - WITHIN * abs(documented)) / error
    if stdtr(seeds - 1, outside) <= design.boundary(
        seeds, share=1 / among, statistic=Prediction(runs)
    ):
        return EffectSize.AS_DOCUMENTED, natural
    if 2 * stdtr(seeds - 1, -abs(gap) / error) > design.boundary(
        seeds, share=1 / among, statistic=Prediction(runs, two_sided=True)
    ):
        return EffectSize.OPEN, natural
    return (EffectSize.SMALLER if gap * documented < 0 else EffectSize.LARGER), natural


def _natural(term: Contrast, numbers: list[float], on_scale: float) -> float:
    """Return a documented effect in the unit in which the comparison is described."""
    if term.is_gain:
        return on_scale if term.times is None else float(np.exp(on_scale))
    return numbers[0] - numbers[1] if term.times is None else numbers[0] / numbers[1]
