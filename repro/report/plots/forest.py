"""How all claims of a source came out: documented mark beside measured interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repro.report.inline_svg import DOCUMENTED, RULE, Plot, inline_svg
from repro.report.plots.style import (
    OF_VERDICT,
    STYLE,
    WIDTH,
    name_row,
    plain_numbers_on_log,
)
from repro.report.record import ClaimRecord, EffectData, FindingData, deciding_effect

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATIO = "ratio of two arms"
ROW, FOOT = 0.36, 0.45
"""Heights in inches."""

Row = tuple[ClaimRecord, str, FindingData, EffectData]


def forest(records: Sequence[ClaimRecord], *, name: str, anchors: Sequence[str]) -> list[Plot]:
    """Every claim that was measured, one plot a unit; a claim's name links to its anchor."""
    import matplotlib
    from matplotlib.figure import Figure

    units: dict[str, list[Row]] = {}
    for record, anchor in zip(records, anchors, strict=True):
        decided = deciding_effect(record)
        if decided and decided[1].estimate is not None:
            units.setdefault(_quantity(*decided), []).append((record, anchor, *decided))
    plots: list[Plot] = []
    with matplotlib.rc_context(STYLE):
        for unit, rows in sorted(units.items(), key=lambda each: -len(each[1])):
            height = ROW * len(rows) + FOOT
            page = Figure(figsize=(WIDTH, height))
            ax = page.add_axes((0.03, FOOT / height, 0.94, 1 - FOOT / height))
            _draw(ax, unit, rows)
            described = f"{len(rows)} measured claims with their intervals: {unit}"
            plots.append(inline_svg(page, name=f"{name}-{len(plots)}", described=described))
    return plots


def _draw(ax: Axes, unit: str, rows: Sequence[Row]) -> None:
    for place, (record, anchor, finding, effect) in enumerate(rows):
        shift = _fixed_side(finding, effect) or 0.0
        low, middle, high = (shift + (x or 0.0) for x in (effect.low, effect.estimate, effect.high))
        colour, y = OF_VERDICT[record.verdict], place + 0.2
        ax.plot([low, high], [y, y], color=colour, linewidth=2.2, clip_on=False)
        ax.plot([middle], [y], "o", color=colour, markersize=4.5, clip_on=False)
        if finding.documented is not None and effect.kind == "difference":
            documented = [finding.documented], [y]
            ax.plot(*documented, "D", color=DOCUMENTED, markersize=5, fillstyle="none")
        else:
            bound = [shift + effect.bound] * 2, [y - 0.17, y + 0.17]
            ax.plot(*bound, color=DOCUMENTED, linewidth=1.4)
        claimed = record.claim.partition("/")[2].replace("_", " ")
        name_row(ax, place - 0.22, claimed, url=f"#{anchor}")
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks([])
    if unit == RATIO and all((effect.low or 0.0) > 0 for *_, effect in rows):
        plain_numbers_on_log(ax)
    else:
        ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="x", color=RULE, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.set_xlabel(unit)


def _quantity(finding: FindingData, effect: EffectData) -> str:
    if effect.kind == "spread":
        return f"standard deviation of {effect.unit} over seeds"
    if effect.unit == "ratio":
        return RATIO
    if _fixed_side(finding, effect) is not None:
        return effect.unit
    return f"difference in {effect.unit}"


def _fixed_side(finding: FindingData, effect: EffectData) -> float | None:
    """The number that an arm is held against, if it is one: then the arm's own value is shown."""
    if effect.kind == "spread" or len(effect.sides) != 2 or effect.unit == "ratio":
        return None
    right = finding.samples[effect.sides[1]]
    return right.values[0] if right.fixed else None
