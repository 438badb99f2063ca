"""A figure of a source on the page, as `repro.report.figure` draws it for files."""

from __future__ import annotations

from dataclasses import replace

from repro.report import svg
from repro.report.figure import FigureData, caption, drawn, spread
from repro.report.plots.curves import COLOURS, MARKS, curve

MARGIN, PANEL, GAP, TOP, BOTTOM, FOOT, ENTRY = 34, 270, 20, 34, 220, 32, 12
"""Lengths in points."""


def figure_plot(figure: FigureData, *, name: str) -> svg.PagePlot:
    """Draw the panels of a figure side by side, and below each what its lines are."""
    lines = [each for panel in figure.panels for each in panel.lines]
    values = [value for each in lines for row in spread(each) for value in row[1:]]
    documented = [value for each in lines for value in each.documented]
    y = svg.Axis.over([*values, *documented], BOTTOM, TOP, most=6)
    body = svg.text(0, TOP - 8, figure.y.replace("_", " "), "muted")
    for number, panel in enumerate(figure.panels):
        left = MARGIN + number * (PANEL + GAP)
        places = sorted({at for each in panel.lines for at in each.at})
        x = svg.Axis.over(places, left, left + PANEL, most=1)
        x = replace(x, ticks=[(at, f"{at:g}") for at in places])
        body += svg.text(left + PANEL / 2, 13, panel.title, "name middle")
        body += svg.x_axis(x, BOTTOM, figure.x) + svg.y_axis(y, left, left + PANEL)
        for place, (series, each) in enumerate(drawn(panel)):
            said = zip(each.at, each.documented, strict=False)
            dashes = svg.line([(x.at(at), y.at(v)) for at, v in said], "documented dashed")
            entry = BOTTOM + FOOT + ENTRY * place
            key = svg.marks([(left + 4, entry - 2.7)], "mark", MARKS[series % len(MARKS)])
            body += curve(series, spread(each), x, y, marked=True)
            body += svg.coloured(f"series-{series % COLOURS}", dashes, key)
            body += svg.text(left + 12, entry, each.label)
    height = BOTTOM + FOOT + ENTRY * max((len(drawn(panel)) for panel in figure.panels), default=0)
    width = MARGIN + len(figure.panels) * (PANEL + GAP)
    return svg.PagePlot(name, f"{figure.title}. {caption(figure)}", width, height, body)
