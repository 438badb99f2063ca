"""The plots of the page: how all claims of a source came out, the seeds behind one, its training.

Drawn by matplotlib in the colours of the page, see `inline_svg`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

from repro.report.inline_svg import (
    DOCUMENTED,
    INCONCLUSIVE,
    MUTED,
    REFUTED,
    REPRODUCED,
    RULE,
    SERIES,
    TEXT,
    Plot,
    inline_svg,
)
from repro.report.record import EffectData, FindingData, Record, deciding_effect
from repro.report.runs import LOSS, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE: Any = {
    "text.parse_math": False,  # names are text, also where they hold dollars
    "text.color": TEXT,
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": TEXT,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "font.size": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
COLOURS = {"reproduced": REPRODUCED, "refuted": REFUTED, "inconclusive": INCONCLUSIVE}
STATES = {"holds": REPRODUCED, "contradicted": REFUTED, "open": INCONCLUSIVE}
MOST_COMPARISONS = 12
MOST_POINTS = 40
"""Of a curve: no more can be told apart at its size."""

RATIO = "ratio of two arms"

_ROW = 0.24
"""Inches."""


def forest(records: Sequence[Record], *, name: str, anchors: Sequence[str]) -> Plot | None:
    """Every claim of a source that was measured, one panel a unit; None where there is none."""
    import matplotlib
    from matplotlib.figure import Figure

    units: dict[str, list[tuple[Record, str, FindingData, EffectData]]] = {}
    for record, anchor in zip(records, anchors, strict=True):
        decided = deciding_effect(record)
        if decided and decided[1]["estimate"] is not None:
            unit = _quantity(*decided)
            units.setdefault(unit, []).append((record, anchor, *decided))
    if not units:
        return None
    rows = [len(group) for group in units.values()]
    heights = [_ROW * n + 0.62 for n in rows]
    with matplotlib.rc_context(STYLE):
        page = Figure(figsize=(8.2, sum(heights)))
        top = sum(heights)
        for (unit, group), height in zip(units.items(), heights, strict=True):
            bottom = (top - height + 0.45) / sum(heights)
            ax = page.add_axes((0.42, bottom, 0.56, (height - 0.62) / sum(heights)))
            top -= height
            _forest_panel(ax, unit, group)
        described = f"Measured effects of {sum(rows)} claims with their intervals"
        return inline_svg(page, name=name, described=described)


def _forest_panel(
    ax: Axes, unit: str, group: Sequence[tuple[Record, str, FindingData, EffectData]]
) -> None:
    for place, (record, anchor, finding, effect) in enumerate(group):
        shift = _shift(finding, effect)
        low, middle, high = (shift + (effect[key] or 0.0) for key in ("low", "estimate", "high"))
        colour = COLOURS[record["verdict"]]
        ax.plot([low, high], [place, place], color=colour, linewidth=2.2, clip_on=False)
        ax.plot([middle], [place], "o", color=colour, markersize=4.5, clip_on=False)
        if finding["documented"] is not None and effect["kind"] == "difference":
            place_of_it = [finding["documented"]], [place]
            ax.plot(*place_of_it, "D", color=DOCUMENTED, markersize=4, fillstyle="none")
        else:
            bound = shift + effect["bound"]
            ax.plot([bound], [place], "|", color=DOCUMENTED, markersize=9, markeredgewidth=1.3)
        label = _cut(record["claim"].partition("/")[2].replace("_", " "), 46)
        ax.text(
            -0.02,
            place,
            label,
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=8,
            url=f"#{anchor}",
        )
    ax.set_ylim(len(group) - 0.4, -0.6)
    ax.set_yticks([])
    if unit == RATIO and all((effect["low"] or 0.0) > 0 for *_, effect in group):
        ax.set_xscale("log")
        _plain_numbers(ax)
    else:
        ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="x", color=RULE, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.set_xlabel(unit)


def _plain_numbers(ax: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, ScalarFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1, 1.2, 1.5, 2, 3, 5, 7)))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())


def _fixed_side(finding: FindingData, effect: EffectData) -> float | None:
    """The number that a comparison holds its arm against, if it is one."""
    if effect["kind"] == "spread" or len(effect["sides"]) != 2 or effect["unit"] == "ratio":
        return None
    right = finding["samples"][effect["sides"][1]]
    return right["values"][0] if right["fixed"] else None


def _shift(finding: FindingData, effect: EffectData) -> float:
    """What turns the distance from a number back into the value that was measured."""
    return _fixed_side(finding, effect) or 0.0


def _quantity(finding: FindingData, effect: EffectData) -> str:
    if effect["kind"] == "spread":
        return f"standard deviation of {effect['unit']} over seeds"
    if effect["unit"] == "ratio":
        return RATIO
    if _fixed_side(finding, effect) is not None:
        return effect["unit"]
    return f"difference in {effect['unit']}"


def seeds(findings: Sequence[FindingData], *, name: str) -> Plot | None:
    """Each comparison that a claim needs: a dot for every seed, its interval, what is claimed."""
    import matplotlib
    from matplotlib.figure import Figure

    shown = [effect for finding in findings for effect in finding["effects"] if effect["needed"]][
        :MOST_COMPARISONS
    ]
    if not shown:
        return None
    units = list(dict.fromkeys((effect["kind"], effect["unit"]) for effect in shown))
    heights = [0.5 + 0.3 * sum((e["kind"], e["unit"]) == unit for e in shown) for unit in units]
    with matplotlib.rc_context(STYLE):
        page = Figure(figsize=(6.6, sum(heights)))
        top = sum(heights)
        for unit, height in zip(units, heights, strict=True):
            bottom = (top - height + 0.42) / sum(heights)
            ax = page.add_axes((0.36, bottom, 0.61, (height - 0.42) / sum(heights)))
            top -= height
            _seeds_panel(ax, [e for e in shown if (e["kind"], e["unit"]) == unit])
        return inline_svg(page, name=name, described="Every seed, the interval and the bound")


def _seeds_panel(ax: Axes, effects: Sequence[EffectData]) -> None:
    for place, effect in enumerate(effects):
        colour = STATES[effect["state"]]
        dots = [value for value in effect["per_seed"] if value is not None]
        if effect["kind"] == "spread" and dots:  # around their mean, beside the spread itself
            centre = statistics.fmean(dots)
            dots = [abs(dot - centre) for dot in dots]
        ax.plot(dots, [place - 0.16] * len(dots), "o", color=MUTED, markersize=3, clip_on=False)
        if effect["low"] is not None and effect["high"] is not None:
            ends = [effect["low"], effect["high"]]
            ax.plot(ends, [place + 0.16] * 2, color=colour, linewidth=2.2, clip_on=False)
        if effect["estimate"] is not None:
            middle = [effect["estimate"]], [place + 0.16]
            ax.plot(*middle, "o", color=colour, markersize=4.5, clip_on=False)
        bound = [effect["bound"]] * 2, [place - 0.38, place + 0.38]
        ax.plot(*bound, color=DOCUMENTED, linewidth=1.2)
        ax.text(
            -0.02,
            place,
            _cut(effect["label"], 34),
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=8,
        )
    ax.set_ylim(len(effects) - 0.5, -0.5)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=5)
    unit = effects[0]["unit"].replace("_", " ")
    ax.set_xlabel(f"distance from the mean, {unit}" if effects[0]["kind"] == "spread" else unit)


def training(
    curves: Sequence[tuple[str, dict[str, Curve]]], metric: str, *, name: str
) -> Plot | None:
    """The way that each arm went, a mean over its seeds with its range; None without epochs."""
    import matplotlib
    from matplotlib.figure import Figure

    wanted = [each for each in dict.fromkeys((LOSS, metric)) if any(each in c for _, c in curves)]
    if not any(_mean(c[m])[0][1:] for m in wanted for _, c in curves if m in c):
        return None
    with matplotlib.rc_context({**STYLE, "axes.spines.left": True, "ytick.labelcolor": MUTED}):
        page = Figure(figsize=(3.4 * len(wanted), 2.3))
        for place, each in enumerate(wanted):
            width = 1 / len(wanted)
            ax = page.add_axes((width * place + 0.17 * width, 0.2, 0.8 * width, 0.66))
            _training_panel(ax, [c[each] for _, c in curves if each in c])
            ax.set_title(
                "training loss" if each == LOSS else each.replace("_", " "), fontsize=9, loc="left"
            )
        return inline_svg(page, name=name, described="Learning curves of the arms over epochs")


def _training_panel(ax: Axes, curves: Sequence[Curve]) -> None:
    from matplotlib.ticker import MaxNLocator

    for place, (curve, colour) in enumerate(zip(curves, cycle(SERIES), strict=False)):
        epochs, low, means, high = _mean(curve)
        dashes = "-" if place < len(SERIES) else "--"
        ax.fill_between(epochs, low, high, color=colour, alpha=0.15, linewidth=0, clip_on=False)
        ax.plot(epochs, means, dashes, color=colour, linewidth=1.4, clip_on=False)
        if len(epochs) <= 3:
            ax.plot(epochs, means, "o", color=colour, markersize=3, clip_on=False)
    ax.set_xlabel("epoch")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4))
    ax.grid(axis="y", color=RULE, linewidth=0.5)


def _mean(curve: Curve) -> tuple[list[int], list[float], list[float], list[float]]:
    """At epochs that at least half of the runs came to: the least, mean and largest value."""
    found: tuple[list[int], list[float], list[float], list[float]] = ([], [], [], [])
    longest = max(map(len, curve.runs), default=0)
    for place, epoch in enumerate(curve.epochs[:longest]):
        values = [run[place] for run in curve.runs if place < len(run)]
        values = [value for value in values if math.isfinite(value)]
        on_grid = (longest - 1 - place) % (1 + longest // MOST_POINTS) == 0
        if values and on_grid and 2 * len(values) >= len(curve.runs):
            row = (min(values), statistics.fmean(values), max(values))
            found[0].append(epoch)
            for column, value in zip(found[1:], row, strict=True):
                column.append(value)
    return found


def _cut(text: str, most: int) -> str:
    """A label that fits."""
    return text if len(text) <= most else text[: most - 1] + "…"
