"""Lines of means over a horizontal axis, each with its range as a band."""

from __future__ import annotations

from collections.abc import Sequence

from repro.report import svg

COLOURS = 8
"""The number of the page's colours for lines; the first six are those of `report.figure`."""

MARKS = (
    *("m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0", "m-2.5-2.5h5v5h-5z"),
    *("m0-3.5l3.5 3.5-3.5 3.5-3.5-3.5z", "m0-3l3 5.5h-6z", "m0 3l3-5.5h-6z"),
    *("m-1-3h2v2h2v2h-2v2h-2v-2h-2v-2h2z", "m-2.5-2.5l5 5m0-5l-5 5"),
)
"""Shapes to tell lines apart: disc, square, diamond, two triangles, plus, cross."""

Row = tuple[float, float, float, float]
"""Place on the horizontal axis, low end, mean, high end."""


def curve(place: int, rows: Sequence[Row], x: svg.Axis, y: svg.Axis, *, marked: bool) -> str:
    """Draw one line with its band; `place` among the lines chooses colour, dashes and marks."""
    low, mean, high = ([(x.at(row[0]), y.at(row[i])) for row in rows] for i in (1, 2, 3))
    return svg.coloured(
        f"series-{place % COLOURS}",
        svg.line([*low, *reversed(high)], "band"),
        svg.line(mean, "curve" if place < COLOURS else "curve dashed"),
        svg.marks(mean, "mark", MARKS[place % len(MARKS)]) if marked else "",
    )
