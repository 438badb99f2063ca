"""The training of a claim's arms: their curves over epochs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from repro.report import svg
from repro.report.plots.curves import Row, curve
from repro.report.plots.rows import WIDTH
from repro.report.runs import LOSS, TrainingCurve

HEIGHT, TOP, BOTTOM, MARGIN, PANEL = 138, 20, 108, 30, 128
"""Lengths in points: a panel is that wide, and has its numbers in the margin."""

MOST_POINTS = 25
"""Points of a curve at most: no more can be told apart at its size."""


def training(
    curves: Sequence[tuple[str, dict[str, TrainingCurve]]], metric: str, *, name: str
) -> svg.PagePlot | None:
    """Draw the curves of each arm, mean over seeds with range; nothing that has a single epoch."""
    panels: dict[str, list[list[Row]]] = {}
    for each in dict.fromkeys((LOSS, metric)):
        arms = [_rows(arm[each]) for _, arm in curves if each in arm]
        if any(rows[1:] for rows in arms):
            panels[each] = arms
    epochs = [row[0] for arms in panels.values() for rows in arms for row in rows]
    if not panels:
        return None
    body = ""
    for place, (each, arms) in enumerate(panels.items()):
        left = WIDTH / 2 * place + MARGIN
        x = svg.Axis.over(epochs, left, left + PANEL, most=5, least_step=1)
        values = [value for rows in arms for row in rows for value in row[1:]]
        y = svg.Axis.over(values, BOTTOM, TOP, most=5)
        body += svg.text(left, 13, "training loss" if each == LOSS else each.replace("_", " "))
        body += svg.x_axis(x, BOTTOM, "epoch") + svg.y_axis(y, left, left + PANEL)
        for number, rows in enumerate(arms):
            body += curve(number, rows, x, y, marked=len(rows) <= 3)
    return svg.PagePlot(name, "Learning curves of the arms over epochs", WIDTH, HEIGHT, body)


def _rows(curve: TrainingCurve) -> list[Row]:
    """Return least, mean and largest value at the epochs that half of the runs or more came to."""
    rows: list[Row] = []
    longest = max(map(len, curve.runs), default=0)
    for place, epoch in enumerate(curve.epochs[:longest]):
        values = [run[place] for run in curve.runs if place < len(run)]
        values = [value for value in values if math.isfinite(value)]
        on_grid = (longest - 1 - place) % (1 + longest // MOST_POINTS) == 0
        if values and on_grid and 2 * len(values) >= len(curve.runs):
            rows.append((epoch, min(values), statistics.fmean(values), max(values)))
    return rows
