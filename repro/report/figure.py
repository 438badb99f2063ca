"""A figure of a source: what was measured over seeds, beside what the source documents."""

from __future__ import annotations

import hashlib
import re
import statistics
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repro.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours that readers who see fewer of them can tell apart too (Okabe and Ito)."""

MARKERS = "osD^vPX"
"""One more than there are colours, so that a second round of them can be told from the first."""


LONGEST_NAME = 50
"""Characters of a figure's name in that of its files; a system takes 255 bytes."""


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


def draw(figure: FigureData, folder: Path) -> list[Path]:
    """Write a figure as SVG and PNG; return the paths written."""
    import matplotlib

    paths = [folder / f"{_file_name(figure.name)}.{kind}" for kind in ("svg", "png")]
    # the same figure gives the same bytes, and a name with dollars in it is no formula
    with (
        matplotlib.rc_context({"svg.hashsalt": shown(figure.name), "text.parse_math": False}),
        warnings.catch_warnings(action="ignore", category=UserWarning),  # of a font's gaps
    ):
        page = entitled(figure)
        page.savefig(paths[0], metadata={"Date": None})
        page.savefig(paths[1], dpi=160)
    return paths


def _file_name(name: str) -> str:
    """Return a name as that of a file: the parameters of a test may hold anything, a path too."""
    short = re.sub(r"[^\w.=,-]+", "-", name)
    if len(short) <= LONGEST_NAME:
        return short
    return f"{short[:LONGEST_NAME]}-{hashlib.sha256(short.encode()).hexdigest()[:8]}"


def entitled(figure: FigureData) -> Figure:
    """Return the panels of a figure with its title and caption, on lines that fit on the page."""
    page = lay_out(figure)
    width = page.get_figwidth()
    page.suptitle(_wrapped(figure.title, 11 * width), fontsize="large")
    page.supxlabel(_wrapped(caption(figure), 16 * width), fontsize="x-small", color="0.35")
    return page


def _wrapped(text: str, width: float) -> str:
    """Return a text on lines of at most so many characters."""
    return textwrap.fill(shown(text), int(width))


def lay_out(figure: FigureData) -> Figure:
    """Return the panels of a figure, without its title and caption."""
    from matplotlib.figure import Figure

    page = Figure(figsize=(1 + 4 * len(figure.panels), 4.4), layout="constrained")
    axes = page.subplots(1, len(figure.panels), sharey=True, squeeze=False)[0]
    for panel, ax in zip(figure.panels, axes, strict=True):
        _draw_panel(ax, panel, figure.x)
    axes[0].set_ylabel(shown(figure.y.replace("_", " ")))
    named = {
        label: line
        for ax in axes
        for line, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    axes[-1].legend(named.values(), named.keys(), frameon=False, fontsize="small")
    return page


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


def _draw_panel(ax: Axes, panel: PanelData, x: str) -> None:
    for number, line in drawn(panel):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        places, low, means, high = zip(*spread(line), strict=True) if spread(line) else [()] * 4
        ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(places, means, color=colour, marker=marker, markersize=4, label=shown(line.label))
        if line.documented:
            ax.plot(line.at, line.documented, color=colour, linestyle="--", linewidth=1, alpha=0.7)
    ax.set_title(shown(panel.title), fontsize="medium")
    ax.set_xlabel(shown(x))
    ax.set_xticks(sorted({at for line in panel.lines for at in line.at}))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
