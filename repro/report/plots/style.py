"""What all plots of the page have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repro.report.inline_svg import (
    INCONCLUSIVE,
    MUTED,
    REFUTED,
    REPRODUCED,
    RULE,
    TEXT,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 4.7
"""Inches; at most what a phone shows without making the letters too small."""

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
    "ytick.labelcolor": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
}
OF_VERDICT = {"reproduced": REPRODUCED, "refuted": REFUTED, "inconclusive": INCONCLUSIVE}
OF_STATE = {"holds": REPRODUCED, "contradicted": REFUTED, "open": INCONCLUSIVE}


def name_row(ax: Axes, y: float, name: str, **more: Any) -> None:
    """Write a name at the left end of the axes."""
    shown = name if len(name) <= 64 else name[:63] + "…"
    ax.text(0, y, shown, transform=ax.get_yaxis_transform(), va="center", fontsize=8, **more)


def plain_numbers_on_log(ax: Axes) -> None:
    """A logarithmic axis of ratios around 1, whose ticks are numbers one says."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 1.2, 1.5, 2, 3, 5, 7)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
