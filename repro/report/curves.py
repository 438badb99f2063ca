"""Plots of means with their ranges: the training curves of a claim, and the figures of a source.

Plots are narrow enough for a phone, so names stand above and below their lines.
"""

from __future__ import annotations

import hashlib
import math
import re
import statistics
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from repro.report import svg
from repro.report.records import FigureData, LineData, PanelData
from repro.report.stored_runs import LOSS, TrainingCurve
from repro.text import shown

COLOURS = 8
"""The number of the page's colours for lines."""

MARKS = (
    *("m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0", "m-2.5-2.5h5v5h-5z"),
    *("m0-3.5l3.5 3.5-3.5 3.5-3.5-3.5z", "m0-3l3 5.5h-6z", "m0 3l3-5.5h-6z"),
    *("m-1-3h2v2h2v2h-2v2h-2v-2h-2v-2h2z", "m-2.5-2.5l5 5m0-5l-5 5"),
)
"""Shapes to tell lines apart: disc, square, diamond, two triangles, plus, cross."""

MOST_POINTS = 25
"""The most points of a training curve; more would overlap."""

ENTRY, LETTER = 12, 4
"""The height of a line of text, and about the width of a letter, in points."""

LONGEST_NAME = 50
"""The most characters of a figure's name in its file name; a file system allows 255 bytes."""

Band = tuple[float, float, float, float]
"""Position on the horizontal axis, low end, mean, high end."""


def training(curves: Sequence[dict[str, TrainingCurve]], metric: str) -> svg.PagePlot | None:
    """Draw the loss and a metric of each arm over epochs: the mean and the range over seeds.

    None where no curve has more than one epoch.
    """
    margin, panel, top, bottom, height = 30, 128, 20, 108, 138
    panels: dict[str, list[list[Band]]] = {}
    for each in dict.fromkeys((LOSS, metric)):
        arms = [_rows(arm[each]) for arm in curves if each in arm]
        if any(rows[1:] for rows in arms):
            panels[each] = arms
    if not panels:
        return None
    epochs = [row[0] for arms in panels.values() for rows in arms for row in rows]
    body = ""
    for place, (each, arms) in enumerate(panels.items()):
        left = svg.WIDTH / 2 * place + margin
        x = svg.Axis.over(epochs, left, left + panel, most=5, least_step=1)
        values = [value for rows in arms for row in rows for value in row[1:]]
        y = svg.Axis.over(values, bottom, top, most=5)
        body += svg.text(left, 13, "training loss" if each == LOSS else each.replace("_", " "))
        body += _axes(x, y, "epoch")
        for number, rows in enumerate(arms):
            body += _curve(number, rows, x, y, marked=len(rows) <= 3)
    return svg.PagePlot("Learning curves of the arms over epochs", svg.WIDTH, height, body)


def figure_plot(figure: FigureData) -> svg.PagePlot:
    """Draw the panels of a figure side by side, each with a legend below."""
    margin, panel_width, gap, top, bottom, foot = 34, 270, 20, 34, 220, 32
    lines = [each for panel in figure.panels for each in panel.lines]
    values = [value for each in lines for row in _spread(each) for value in row[1:]]
    documented = [value for each in lines for value in each.documented]
    y = svg.Axis.over([*values, *documented], bottom, top, most=6)
    body = svg.text(0, top - 8, figure.y.replace("_", " "), "muted")
    for number, panel in enumerate(figure.panels):
        left = margin + number * (panel_width + gap)
        places = sorted({at for each in panel.lines for at in each.at})
        x = svg.Axis.over(places, left, left + panel_width, most=1)
        x = replace(x, ticks=[(at, f"{at:g}") for at in places])
        body += svg.text(left + panel_width / 2, 13, panel.title, "name middle")
        body += _axes(x, y, figure.x)
        for place, (series, each) in enumerate(_drawn(panel)):
            said = zip(each.at, each.documented, strict=False)
            dashes = svg.line([(x.at(at), y.at(v)) for at, v in said], "documented dashed")
            key = bottom + foot + ENTRY * place
            mark = svg.marks([(left + 4, key - 2.7)], "mark", MARKS[series % len(MARKS)])
            body += _curve(series, _spread(each), x, y, marked=True)
            body += svg.coloured(f"series-{series % COLOURS}", dashes, mark)
            body += svg.text(left + 12, key, each.label)
    height = bottom + foot + ENTRY * max((len(_drawn(panel)) for panel in figure.panels), default=0)
    width = margin + len(figure.panels) * (panel_width + gap)
    return svg.PagePlot(f"{figure.title}. {caption(figure)}", width, height, body)


def caption(figure: FigureData) -> str:
    """Return the caption of a figure: the meaning of its lines, and the number of seeds."""
    lines = [line for panel in figure.panels for line in panel.lines]
    seeds = sorted({len(values) for line in lines for values in line.values if values})
    documented = "dashed: as documented" if any(line.documented for line in lines) else ""
    if not seeds:
        measured = "nothing is stored of it yet"
    else:
        count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        measured = (
            f"solid: mean ± 1 standard deviation over {count} seeds,"
            f" profile {figure.profile}, {', '.join(figure.data)}"
        )
    return f"Source {figure.source}. " + "; ".join(filter(None, [measured, documented]))


def _spread(line: LineData) -> list[tuple[float, float, float, float]]:
    """Return each measured position with mean - 1 deviation, mean, mean + 1 deviation."""
    rows = []
    for at, values in zip(line.at, line.values, strict=True):
        if values:
            mean = statistics.mean(values)
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            rows.append((at, mean - deviation, mean, mean + deviation))
    return rows


def _drawn(panel: PanelData) -> list[tuple[int, LineData]]:
    """Return the lines with at least one point, each with its number, which sets its colour."""
    lines = enumerate(panel.lines)
    return [(number, line) for number, line in lines if any(line.values) or line.documented]


def write_figure(figure: FigureData, folder: Path) -> Path:
    """Write a figure as an SVG file with title, caption and style."""
    plot = figure_plot(figure)
    most = int(plot.width / LETTER)
    title = textwrap.wrap(shown(figure.title), int(0.75 * most))
    said = textwrap.wrap(shown(caption(figure)), most)
    above = ENTRY * len(title) + 8
    below = above + plot.height + ENTRY
    width, height = plot.width + 2 * ENTRY, below + ENTRY * len(said)
    style = files("repro.report").joinpath("templates", "plots.css").read_text(encoding="utf-8")
    parts = [
        *(svg.text(0, ENTRY * (n + 1), words, "title") for n, words in enumerate(title)),
        f'<g transform="translate(0 {above:g})">{plot.body}</g>',
        *(svg.text(0, below + ENTRY * n, words, "muted") for n, words in enumerate(said)),
    ]
    path = folder / f"{_file_name(figure.name)}.svg"
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}pt" height="{height:g}pt"'
        f' viewBox="{-ENTRY} 0 {width:g} {height:g}"><style>{style}</style>'
        f'<rect x="{-ENTRY}" width="100%" height="100%" fill="var(--paper)"/>'
        f"{''.join(parts)}</svg>\n",
        encoding="utf-8",
    )
    return path


def _file_name(name: str) -> str:
    """Return a safe file name; the parameters of a test may contain anything, such as paths."""
    short = re.sub(r"[^\w.=,-]+", "-", name)
    if len(short) <= LONGEST_NAME:
        return short
    return f"{short[:LONGEST_NAME]}-{hashlib.sha256(short.encode()).hexdigest()[:8]}"


def _axes(x: svg.Axis, y: svg.Axis, label: str) -> str:
    return svg.x_axis(x, y.start, label) + svg.y_axis(y, x.start, x.end)


def _curve(place: int, rows: Iterable[Band], x: svg.Axis, y: svg.Axis, *, marked: bool) -> str:
    """Draw one line with its band; `place` among the lines chooses colour, dashes and marks."""
    rows = list(rows)
    low, mean, high = ([(x.at(row[0]), y.at(row[i])) for row in rows] for i in (1, 2, 3))
    return svg.coloured(
        f"series-{place % COLOURS}",
        svg.line([*low, *reversed(high)], "band"),
        svg.line(mean, "curve" if place < COLOURS else "curve dashed"),
        svg.marks(mean, "mark", MARKS[place % len(MARKS)]) if marked else "",
    )


def _rows(curve: TrainingCurve) -> list[Band]:
    """Return the range and the mean at each epoch that at least half of the runs reached."""
    rows: list[Band] = []
    runs = list(curve.runs.values())
    longest = max(map(len, runs), default=0)
    for place, epoch in enumerate(curve.epochs[:longest]):
        values = [run[place] for run in runs if place < len(run)]
        values = [value for value in values if math.isfinite(value)]
        on_grid = (longest - 1 - place) % (1 + longest // MOST_POINTS) == 0
        if values and on_grid and 2 * len(values) >= len(runs):
            rows.append((epoch, min(values), statistics.fmean(values), max(values)))
    return rows
