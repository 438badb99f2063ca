"""The evidence of one claim: a dot for every seed, the interval, and what is claimed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from repro.report import svg
from repro.report.plots.rows import LEFT, RIGHT, row_name, stacked
from repro.report.record import EffectData, FindingData

HEIGHT, MIDDLE = 30, 22
"""The height of a row, and the place of the interval in it, in points."""

MOST_ROWS = 12
COLOURS = {"contradicted": "refuted", "open": "inconclusive", "holds": "reproduced"}
"""The page's colour of each state of a comparison, the worst state first."""


def seeds(findings: Sequence[FindingData], *, name: str) -> list[svg.PagePlot]:
    """Draw the comparisons that a claim needs, one plot a unit."""
    needed = [effect for each in findings for effect in each.effects if effect.needed]
    units: dict[tuple[str, str], dict[str, list[EffectData]]] = {}
    for effect in needed[:MOST_ROWS]:
        rows = units.setdefault((effect.kind, effect.unit), {})
        rows.setdefault(effect.label, []).append(effect)  # two bounds of one comparison
    plots: list[svg.PagePlot] = []
    for (kind, unit), rows in units.items():
        values = [value for row in rows.values() for each in row for value in _values(each)]
        axis = svg.Axis.over(values, LEFT, RIGHT, most=6)
        drawn = [_row(row, axis) for row in rows.values()]
        unit = unit.replace("_", " ")
        label = f"distance from the mean, {unit}" if kind == "spread" else unit
        described = "Every seed, the interval, the bound"
        plots.append(stacked(drawn, HEIGHT, axis, label, f"{name}-{len(plots)}", described))
    return plots


def _row(bounds: Sequence[EffectData], axis: svg.Axis) -> str:
    effect, states = bounds[0], [each.state for each in bounds]
    interval = ""
    if effect.low is not None and effect.high is not None:
        ends = [(axis.at(effect.low), MIDDLE), (axis.at(effect.high), MIDDLE)]
        interval += svg.line(ends, "whisker")
    if effect.estimate is not None:
        interval += svg.marks([(axis.at(effect.estimate), MIDDLE)], "estimate")
    colour = next(COLOURS[state] for state in COLOURS if state in states)
    return "".join(
        [
            row_name(effect.label),
            svg.marks([(axis.at(dot), MIDDLE - 5) for dot in _dots(effect)], "seed"),
            svg.coloured(colour, interval),
            svg.marks([(axis.at(each.bound), MIDDLE) for each in bounds], "claimed", "m0-9.5v14.5"),
        ]
    )


def _values(effect: EffectData) -> list[float]:
    ends = (effect.low, effect.estimate, effect.high)
    return [effect.bound, *_dots(effect), *(end for end in ends if end is not None)]


def _dots(effect: EffectData) -> list[float]:
    """Return the finite values of seeds; of a spread, their distances from their mean."""
    dots = [value for value in effect.per_seed if value is not None]
    if effect.kind == "spread" and dots:
        centre = statistics.fmean(dots)
        return [abs(dot - centre) for dot in dots]
    return dots
