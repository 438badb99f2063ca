"""The frame of the plots of comparisons: named rows above a common axis."""

from __future__ import annotations

from collections.abc import Sequence

from repro.report import svg

WIDTH, LEFT, RIGHT, FOOT = 338, 10, 328, 30
"""Lengths in points; the width is what a phone shows without making the letters too small."""


def stacked(
    rows: Sequence[str], height: float, axis: svg.Axis, label: str, name: str, described: str
) -> svg.PagePlot:
    """Return rows of one height, each drawn from its own top, above the axis."""
    foot = height * len(rows)
    body = svg.x_axis(axis, foot, label, grid_to=0)
    for place, row in enumerate(rows):
        body += f'<g transform="translate(0 {height * place:g})">{row}</g>'
    return svg.PagePlot(name, described, WIDTH, foot + FOOT, body)


def row_name(name: str) -> str:
    """Write the name of a row at its left end, shortened to what fits."""
    return svg.text(LEFT, 9, name if len(name) <= 64 else name[:63] + "…")
