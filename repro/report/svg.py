"""Small SVG plots inside the page: axes, lines and text.

Lengths are in points. Colours and fonts come from the page's style sheet, so one drawing works in
light and dark mode; `kind` is a class of the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from repro.text import shown

POINTS_IN_REM = 10.5

WIDTH = 338
"""The width of a plot: on a phone its letters are still large enough."""

Point = tuple[float, float]


@dataclass(frozen=True)
class PagePlot:
    """A plot of the page, with a description for screen readers."""

    described: str
    width: float
    height: float
    body: str

    def __html__(self) -> str:
        width = self.width / POINTS_IN_REM
        role = "group" if "<a " in self.body else "img"  # an image may not contain links
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" style="width:{width:.4g}rem" '
            f'role="{role}" aria-label="{escape(shown(self.described))}">{self.body}</svg>'
        )


@dataclass(frozen=True)
class Axis:
    """An axis: values from `low` to `high` are drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    ticks: list[tuple[float, str]]
    is_log: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, most: int, least_step: float = 0
    ) -> Axis:
        """Return an axis for all values, with at most about `most` ticks.

        >>> [label for _, label in Axis.over([0.38, 0.61], 0, 100, most=6).ticks]
        ['0.40', '0.45', '0.50', '0.55', '0.60']
        """
        low, high = _with_margin(list(values) or [0.0, 1.0])
        return cls(low, high, start, end, _ticks(low, high, most, least_step))

    @classmethod
    def of_ratios(cls, values: Iterable[float], start: float, end: float) -> Axis:
        """Return a logarithmic axis of positive values."""
        low, high = map(math.exp, _with_margin([math.log(value) for value in values]))
        ticks = _ticks(low, high, 6)
        if high > 3 * low:
            numbers = (step * 10.0**power for power in range(-9, 9) for step in (1, 2, 5))
            ticks = [(number, f"{number:g}") for number in numbers if low <= number <= high]
        return cls(low, high, start, end, ticks, is_log=True)

    def at(self, value: float) -> float:
        """Return the position of a value."""
        low, high = self.low, self.high
        if self.is_log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return self.start + (self.end - self.start) * (value - low) / (high - low)


def _with_margin(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    size = max(abs(low), abs(high)) or 1.0
    margin = 0.05 * (high - low if high - low > 1e-6 * size else size)  # all values may be equal
    return low - margin, high + margin


def _ticks(low: float, high: float, most: int, least: float = 0) -> list[tuple[float, str]]:
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = max(least, next(n * power for n in (1, 2, 5, 10) if n * power * most >= high - low))
    digits = max(0, -math.floor(math.log10(step)))
    form = f".{digits}f" if digits < 6 and max(-low, high) < 1e6 else ".8g"
    numbers = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [(number, f"{number:{form}}".replace("-", "−")) for number in numbers]


def x_axis(axis: Axis, y: float, label: str, *, grid_to: float | None = None) -> str:
    """Draw a horizontal axis with its numbers and its label; grid lines go up to `grid_to`."""
    drawn = line([(axis.start, y), (axis.end, y)], "axis")
    drawn += text((axis.start + axis.end) / 2, y + 21, label, "muted middle")
    for value, words in axis.ticks:
        x = axis.at(value)
        drawn += text(x, y + 10, words, "tick middle")
        drawn += "" if grid_to is None else line([(x, y), (x, grid_to)], "grid")
    return drawn


def y_axis(axis: Axis, x: float, grid_to: float) -> str:
    """Draw a vertical axis with its numbers, and a grid line at each."""
    drawn = line([(x, axis.start), (x, axis.end)], "axis")
    for value, words in axis.ticks:
        y = axis.at(value)
        drawn += text(x - 4, y + 2.7, words, "tick end") + line([(x, y), (grid_to, y)], "grid")
    return drawn


def coloured(colour: str, *parts: str) -> str:
    """Return parts of a plot in one of the page's colours."""
    return f'<g style="--key:var(--{colour})">{"".join(parts)}</g>'


def line(points: Sequence[Point], kind: str) -> str:
    """Draw a line through points; if the kind is filled, the area within."""
    return f'<path class="{kind}" d="M{" ".join(map(_place, points))}"/>' if points else ""


def marks(points: Iterable[Point], kind: str, shape: str = "h0") -> str:
    """Draw a shape around each point; by default a dot."""
    drawn = "".join(f"M{_place(point)}{shape}" for point in points)
    return f'<path class="{kind}" d="{drawn}"/>' if drawn else ""


def text(x: float, y: float, words: str, kind: str = "name") -> str:
    """Write words; the point is the start of their base line."""
    return f'<text x="{_short(x)}" y="{_short(y)}" class="{kind}">{escape(shown(words))}</text>'


def _place(point: Point) -> str:
    return f"{_short(point[0])} {_short(point[1])}"


def _short(number: float) -> str:
    return f"{round(number, 1):g}"
