"""What stands behind one claim: a dot for every seed, the interval, and what is claimed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from repro.report.inline_svg import DOCUMENTED, MUTED, Plot, inline_svg
from repro.report.plots.style import OF_STATE, STYLE, WIDTH, name_row
from repro.report.record import EffectData, FindingData

ROW, FOOT = 0.42, 0.42
"""Heights in inches."""

MOST_ROWS = 12


class SeedsSheet:
    """Draws one such plot after another on the same axes, which cost most of the time to make."""

    def __init__(self) -> None:
        import matplotlib
        from matplotlib.figure import Figure

        with matplotlib.rc_context(STYLE):
            self._page = Figure()
            self._ax = self._page.add_axes((0, 0, 1, 1))
            self._ax.set_yticks([])
            self._ax.locator_params(axis="x", nbins=5)

    def draw(self, findings: Sequence[FindingData], *, name: str) -> list[Plot]:
        """The comparisons that a claim needs, one plot a unit."""
        import matplotlib

        needed = [effect for each in findings for effect in each.effects if effect.needed]
        units: dict[tuple[str, str], dict[str, list[EffectData]]] = {}
        for effect in needed[:MOST_ROWS]:
            rows = units.setdefault((effect.kind, effect.unit), {})
            rows.setdefault(effect.label, []).append(effect)  # two bounds of one comparison
        with matplotlib.rc_context(STYLE):
            return [
                self._draw(list(rows.values()), f"{name}-{place}")
                for place, rows in enumerate(units.values())
            ]

    def _draw(self, rows: Sequence[Sequence[EffectData]], name: str) -> Plot:
        height = ROW * len(rows) + FOOT
        self._clear(height)
        for place, row in enumerate(rows):
            self._draw_row(place, row)
        self._ax.set_ylim(len(rows) - 0.5, -0.5)
        kind, unit = rows[0][0].kind, rows[0][0].unit.replace("_", " ")
        self._ax.set_xlabel(f"distance from the mean, {unit}" if kind == "spread" else unit)
        return inline_svg(self._page, name=name, described="Every seed, the interval, the bound")

    def _draw_row(self, place: int, row: Sequence[EffectData]) -> None:
        ax, effect, y = self._ax, row[0], place + 0.24
        states = [each.state for each in row]
        state = next((s for s in ("contradicted", "open") if s in states), "holds")
        dots = [value for value in effect.per_seed if value is not None]
        if effect.kind == "spread" and dots:  # around their mean, beside the spread itself
            centre = statistics.fmean(dots)
            dots = [abs(dot - centre) for dot in dots]
        ax.plot(dots, [y - 0.18] * len(dots), "o", color=MUTED, markersize=3, clip_on=False)
        if effect.low is not None and effect.high is not None:
            ends = [effect.low, effect.high], [y, y]
            ax.plot(*ends, color=OF_STATE[state], linewidth=2.2, clip_on=False)
        if effect.estimate is not None:
            middle = [effect.estimate], [y]
            ax.plot(*middle, "o", color=OF_STATE[state], markersize=4.5, clip_on=False)
        for each in row:
            bound = [each.bound] * 2, [y - 0.32, y + 0.16]
            ax.plot(*bound, color=DOCUMENTED, linewidth=1.2)
        name_row(ax, place - 0.28, effect.label)

    def _clear(self, height: float) -> None:
        for artist in [*self._ax.lines, *self._ax.texts]:
            artist.remove()
        self._page.set_size_inches(WIDTH, height)
        self._ax.set_position((0.03, FOOT / height, 0.94, 1 - FOOT / height))
        self._ax.relim()
        self._ax.autoscale(True)
