"""The `plot` fixture of a figure: panels and lines of arms, drawn from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from repro.arm import Arm, Needs, Run
from repro.recorded.source import ALL, RecordedArm
from repro.report.records import FigureData, LineData, PanelData, to_json
from repro.runs.profiles import Profile
from repro.runs.results import KnownResults


class Plot:
    """The `plot` fixture of one figure.

    >>> @figure("Accuracy by depth", source="Ours", x="blocks", y="accuracy")
    ... def test_figure(plot):
    ...     panel = plot.panel("all data")
    ...     panel.line("measured", [SHALLOW, MEDIUM, DEEP], at=[1, 2, 4])
    """

    def __init__(self, item: pytest.Item, results: KnownResults, profile: Profile) -> None:
        mark = item.get_closest_marker("figure")
        assert mark is not None
        self._results, self._profile = results, profile
        self._figure = FigureData(
            name=item.name.removeprefix("test_"),
            title=mark.args[0],
            source=mark.kwargs["source"],
            x=mark.kwargs["x"],
            y=mark.kwargs["y"],
            profile=profile.name,
            data=[],
            panels=[],
        )

    @property
    def figure(self) -> Any:
        """The figure so far, as JSON of `FigureData`."""
        return to_json(self._figure)

    def panel(self, title: str) -> Panel:
        """Add a panel to the right of the others.

        >>> left, right = plot.panel("one head"), plot.panel("four heads")
        """
        data = PanelData(title=title, lines=[])
        self._figure.panels.append(data)
        return Panel(self, data)

    def values(self, arm: Arm) -> list[float]:
        """Return the metric of an arm over its first seeds, up to the first missing run."""
        try:
            here = self._results.located(arm.at(self._profile.name))
        except Needs:
            return []
        if here.data not in self._figure.data:
            self._figure.data.append(here.data)
        values: list[float] = []
        seeds = ALL if isinstance(here, RecordedArm) else self._profile.looks[-1]
        for seed in here.seeds(seeds):
            result = self._results.get(Run(here, seed))
            if result is None or "diverged_at" in result.values:
                break
            value = result.values["measures"][self._figure.y]
            if value is None:
                break
            values.append(float(value))
        return values


class Panel:
    """One coordinate system of a figure.

    >>> plot.panel("all data").line("depth", [SHALLOW, DEEP], at=[1, 4])
    """

    def __init__(self, plot: Plot, data: PanelData) -> None:
        self._plot, self._data = plot, data

    def line(
        self,
        label: str,
        arms: Sequence[Arm],
        *,
        at: Sequence[float],
        documented: Sequence[float] = (),
    ) -> None:
        """Add a line through the measured arms, and one through their documented values.

        >>> plot.panel("all data").line(
        ...     "depth", [SHALLOW, DEEP], at=[1, 4], documented=[0.70, 0.83]
        ... )
        """
        line = LineData(
            label=label,
            at=list(at),
            values=[self._plot.values(arm) for arm in arms],
            documented=list(documented),
        )
        self._data.lines.append(line)
