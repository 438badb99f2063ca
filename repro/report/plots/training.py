"""How the arms of a claim were trained: their curves over epochs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from repro.report.inline_svg import RULE, SERIES, Plot, inline_svg
from repro.report.plots.style import STYLE, WIDTH
from repro.report.runs import LOSS, TrainingCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 25
"""Of a curve: no more can be told apart at its size."""


def training(
    curves: Sequence[tuple[str, dict[str, TrainingCurve]]], metric: str, *, name: str
) -> Plot | None:
    """The way that each arm went, a mean over its seeds with its range; None without epochs."""
    import matplotlib
    from matplotlib.figure import Figure

    wanted = [each for each in dict.fromkeys((LOSS, metric)) if any(each in c for _, c in curves)]
    if not any(_mean(c[m])[0][1:] for m in wanted for _, c in curves if m in c):
        return None
    with matplotlib.rc_context({**STYLE, "axes.spines.left": True}):
        page = Figure(figsize=(WIDTH, 1.9))
        ax = None
        for place, each in enumerate(wanted):
            width = 0.5
            ax = page.add_axes((width * place + 0.18 * width, 0.22, 0.76 * width, 0.64), sharex=ax)
            _training_panel(ax, [c[each] for _, c in curves if each in c])
            ax.set_title(
                "training loss" if each == LOSS else each.replace("_", " "), fontsize=8, loc="left"
            )
        return inline_svg(page, name=name, described="Learning curves of the arms over epochs")


def _training_panel(ax: Axes, curves: Sequence[TrainingCurve]) -> None:
    from matplotlib.ticker import MaxNLocator

    for place, (curve, colour) in enumerate(zip(curves, cycle(SERIES), strict=False)):
        epochs, low, means, high = _mean(curve)
        dashes = "-" if place < len(SERIES) else "--"
        ax.fill_between(epochs, low, high, color=colour, alpha=0.15, linewidth=0, clip_on=False)
        ax.plot(epochs, means, dashes, color=colour, linewidth=1.4, clip_on=False)
        if len(epochs) <= 3:
            ax.plot(epochs, means, "o", color=colour, markersize=3, clip_on=False)
    ax.set_xlabel("epoch")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5, min_n_ticks=1))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4))
    ax.grid(axis="y", color=RULE, linewidth=0.5)


def _mean(curve: TrainingCurve) -> tuple[list[int], list[float], list[float], list[float]]:
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
