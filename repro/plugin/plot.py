"""What a figure's test works with: panels and lines of arms, filled with what is stored."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from repro.arm import Arm, Needs, Run
from repro.report.figure import FigureData, LineData, PanelData
from repro.runs.profiles import Profile
from repro.runs.results import Results


class Plot:
    """The `plot` fixture of one figure."""

    def __init__(self, item: pytest.Item, results: Results, profile: Profile) -> None:
        mark = item.get_closest_marker("figure")
        assert mark is not None
        self._results, self._profile = results, profile
        self.figure: FigureData = {
            "name": item.name.removeprefix("test_"),
            "title": mark.args[0],
            "source": mark.kwargs["source"],
            "x": mark.kwargs["x"],
            "y": mark.kwargs["y"],
            "profile": profile.name,
            "data": [],
            "panels": [],
        }

    def panel(self, title: str) -> Panel:
        """A further panel, to the right of those before."""
        data: PanelData = {"title": title, "lines": []}
        self.figure["panels"].append(data)
        return Panel(self, data)

    def values(self, arm: Arm) -> list[float]:
        """The metric of an arm over its first seeds, as far as they are stored."""
        try:
            here = arm.at(self._profile.name).located()
        except Needs:
            return []
        if here.data not in self.figure["data"]:
            self.figure["data"].append(here.data)
        found: list[float] = []
        for seed in here.seeds(self._profile.looks[-1]):
            result = self._results.get(Run(here, seed))
            if result is None or "diverged_at" in result.values:
                break
            found.append(float(result.values["measures"][self.figure["y"]]))
        return found


class Panel:
    """One coordinate system of a figure."""

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
        """One line through these arms, and through what the source documents of them."""
        line: LineData = {
            "label": label,
            "at": list(at),
            "values": [self._plot.values(arm) for arm in arms],
            "documented": list(documented),
        }
        self._data["lines"].append(line)
