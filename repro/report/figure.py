"""A figure of a source: what was measured over seeds, beside what the source documents."""

from __future__ import annotations

import statistics
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LineData:
    """One line of a panel: values over seeds at each place, and the documented ones if any."""

    label: str
    at: list[float]
    values: list[list[float]]
    """The values over seeds, for each place of `at`."""
    documented: list[float]


@dataclass(frozen=True, kw_only=True)
class PanelData:
    """One coordinate system of a figure."""

    title: str
    lines: list[LineData]


@dataclass(frozen=True, kw_only=True)
class FigureData:
    """The content of a figure."""

    name: str
    title: str
    source: str
    x: str
    y: str
    profile: str
    data: list[str]
    panels: list[PanelData]


def caption(figure: FigureData) -> str:
    """Return the text below a figure: what its lines are, and the number of seeds."""
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


def spread(line: LineData) -> list[tuple[float, float, float, float]]:
    """Return each place that was measured, with mean - 1 deviation, mean, mean + 1 deviation."""
    rows = []
    for at, values in zip(line.at, line.values, strict=True):
        if values:
            mean = statistics.mean(values)
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            rows.append((at, mean - deviation, mean, mean + deviation))
    return rows


def drawn(panel: PanelData) -> list[tuple[int, LineData]]:
    """Return the lines that have a point to draw, with their numbers, which are their colours."""
    lines = enumerate(panel.lines)
    return [(number, line) for number, line in lines if any(line.values) or line.documented]
