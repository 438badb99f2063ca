"""All claims of a source at a glance: documented mark beside measured interval."""

from __future__ import annotations

from collections.abc import Sequence

from repro.report import svg
from repro.report.plots.rows import LEFT, RIGHT, row_name, stacked
from repro.report.record import ClaimRecord, EffectData, FindingData, deciding_effect

RATIO = "ratio of two arms"
HEIGHT, MIDDLE = 26, 18
"""The height of a row, and the place of the interval in it, in points."""
DIAMOND = "m0-3.5l3.5 3.5-3.5 3.5-3.5-3.5z"

Row = tuple[ClaimRecord, str, FindingData, EffectData]


def forest(
    records: Sequence[ClaimRecord], *, name: str, anchors: Sequence[str]
) -> list[svg.PagePlot]:
    """Draw every claim that was measured, one plot a unit; a claim's name links to its anchor."""
    units: dict[str, list[Row]] = {}
    for record, anchor in zip(records, anchors, strict=True):
        decided = deciding_effect(record)
        if decided and decided[1].estimate is not None:
            units.setdefault(_quantity(*decided), []).append((record, anchor, *decided))
    plots: list[svg.PagePlot] = []
    for unit, rows in sorted(units.items(), key=lambda each: -len(each[1])):
        values = [value for *_, finding, effect in rows for value in _values(finding, effect)]
        if unit == RATIO and min(values) > 0:
            axis = svg.Axis.of_ratios(values, LEFT, RIGHT)
        else:
            axis = svg.Axis.over(values, LEFT, RIGHT, most=6)
        drawn = [_row(*row, axis) for row in rows]
        described = f"{len(rows)} measured claims with their intervals: {unit}"
        plots.append(stacked(drawn, HEIGHT, axis, unit, f"{name}-{len(plots)}", described))
    return plots


def _row(
    record: ClaimRecord, anchor: str, finding: FindingData, effect: EffectData, axis: svg.Axis
) -> str:
    low, middle, high, claimed = ((axis.at(x), MIDDLE) for x in _values(finding, effect))
    name = record.claim.partition("/")[2].replace("_", " ")
    if _names_its_value(finding, effect):
        mark = svg.marks([claimed], "claimed", DIAMOND)
    else:
        mark = svg.marks([claimed], "claimed", "m0-4.5v9")
    interval = svg.line([low, high], "whisker") + svg.marks([middle], "estimate")
    return f'<a href="#{anchor}">{row_name(name)}</a>{svg.coloured(record.verdict, interval)}{mark}'


def _values(finding: FindingData, effect: EffectData) -> tuple[float, float, float, float]:
    """Return low end, estimate, high end, and what is documented or else the bound."""
    shift = _fixed_side(finding, effect) or 0.0
    low, middle, high = (shift + (x or 0.0) for x in (effect.low, effect.estimate, effect.high))
    documented = finding.documented if _names_its_value(finding, effect) else None
    return low, middle, high, shift + effect.bound if documented is None else documented


def _names_its_value(finding: FindingData, effect: EffectData) -> bool:
    return finding.documented is not None and effect.kind != "spread"


def _quantity(finding: FindingData, effect: EffectData) -> str:
    if effect.kind == "spread":
        return f"standard deviation of {effect.unit} over seeds"
    if effect.unit == "ratio":
        return RATIO
    is_of_one_arm = effect.kind == "run" and finding.samples[effect.sides[1]].fixed
    if is_of_one_arm or _fixed_side(finding, effect) is not None:
        return effect.unit
    return f"difference in {effect.unit}"


def _fixed_side(finding: FindingData, effect: EffectData) -> float | None:
    """Return the number that an arm is held against; the plot then shows the arm's own value.

    None where both sides of the comparison were measured, or it is in the arm's own unit already.
    """
    if effect.kind != "difference" or len(effect.sides) != 2 or effect.unit == "ratio":
        return None
    right = finding.samples[effect.sides[1]]
    return right.values[0] if right.fixed else None
