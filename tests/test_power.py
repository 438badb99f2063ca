"""The plots of docs/statistics.md show what the judge does, and what their tables say."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import power  # noqa: E402 - benchmarks are no package

POINT = 0.002
"""The share that rounding on another processor may move, of 20,000 claims."""


@pytest.mark.parametrize("plot", power.PLOTS, ids=lambda plot: plot.name)
def test_a_plot_is_current(plot):
    written = power.from_csv((ROOT / "docs" / f"{plot.name}.csv").read_text())
    simulated = plot.rows()
    assert [list(row) for row in written] == [list(row) for row in simulated]
    for row, again in zip(written, simulated, strict=True):
        assert row == pytest.approx(again, abs=POINT), "run: python benchmarks/power.py --into docs"
    assert (ROOT / "docs" / f"{plot.name}.svg").read_text() == power.as_svg(plot, written)


def test_the_text_says_what_the_table_of_power_says():
    text = (ROOT / "docs" / "statistics.md").read_text()
    found = {row["effect"]: row["5, 8, 12"] for row in power.power()}
    assert "one standard deviation over seeds in 55 % of cases" in text.replace("\n", " ")
    assert found[1.0] == pytest.approx(0.55, abs=0.006)
    assert found[0.0] == pytest.approx(0.005, abs=0.001)


def test_a_line_ends_where_its_number_is():
    rows = [{"effect": 0.0, "5": 0.0}, {"effect": 2.0, "5": 0.5}]
    drawn = power.as_svg(power.PLOTS[0], rows)
    assert 'class="curve c0" d="M40 190 320 105"' in drawn  # half of the way up
