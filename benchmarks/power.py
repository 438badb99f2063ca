"""Power of the judge, and its errors where differences are skewed: the plots of docs/statistics.md.

    python benchmarks/power.py               # prints both tables, within seconds
    python benchmarks/power.py --into docs   # and writes them there, each as CSV and as SVG

Both are about `a > 0`, of an arm that stands for the differences of two arms: its values over
seeds have a standard deviation of 1. `power` gives them a mean, which is the effect. `skew` leaves
the mean at 0 and draws them from lognormals of growing skewness, so that all verdicts are false.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from error_rates import MOST_SEEDS, Recorder, first_seeds, rates

from repro.judge import Design, Measured, Scale
from repro.judge.scale import Array
from repro.report.svg import Axis, Point, line, text, x_axis, y_axis
from repro.runs.profiles import PROFILES

SAMPLES = 20_000
LOOKS = {"5": (5,), "5, 8, 12, 20": (5, 8, 12, 20), "20": (20,)}
EFFECTS = [round(0.25 * step, 2) for step in range(13)]
SIGMAS = [0.001, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
ALLOWED = 0.005
WIDTH, HEIGHT = 450.0, 230.0
STYLE = (
    ".axis,.grid,.curve{fill:none;stroke:#555}.grid{stroke:#ddd}.curve{stroke-width:1.8}"
    ".c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#009e73}.other{stroke-dasharray:4 3}"
    "text{font:9px sans-serif;fill:#333}"
    ".middle{text-anchor:middle}.end{text-anchor:end}"
)


@dataclass(frozen=True)
class Plot:
    """A table of simulated shares, and how it is drawn: a line for each column after the first."""

    name: str
    described: str
    x: str
    y: str
    rows: Callable[[], list[dict[str, float]]]
    most: float
    """The largest share that is shown."""


def judged(values: Array, looks: Sequence[int]) -> tuple[float, float]:
    """Return the shares of samples, [seeds, samples], whose mean is said to be above 0, and not."""
    design = Design(looks=tuple(looks), futility=PROFILES["ci"].futility)
    recorder = Recorder(design)
    arm = Measured(
        judge=recorder,
        label="a",
        metric="m",
        values=lambda seeds: first_seeds(values, seeds),
        scale=Scale("identity"),
    )
    arm.exceeds(0.0)
    return rates(recorder.statement, design)


@cache
def normal() -> Array:
    return np.random.default_rng(21).standard_normal((MOST_SEEDS, SAMPLES))


def skewness(sigma: float) -> float:
    """Return the skewness of a lognormal."""
    spread = np.exp(sigma**2)
    return float((spread + 2) * (spread - 1) ** 0.5)


def lognormal(sigma: float) -> Array:
    """Return values of mean 0 and standard deviation 1 with the skewness of a lognormal."""
    spread = np.exp(sigma**2)
    centred = np.exp(sigma * normal()) - spread**0.5
    return np.asarray(centred / ((spread - 1) * spread) ** 0.5)


def power() -> list[dict[str, float]]:
    """Return the share that is reproduced, by effect and looks."""
    return [
        {"effect": effect}
        | {name: judged(normal() + effect, looks)[0] for name, looks in LOOKS.items()}
        for effect in EFFECTS
    ]


def skew() -> list[dict[str, float]]:
    """Return the shares that are falsely reproduced and falsely refuted, by skewness and looks."""
    rows = []
    for sigma in SIGMAS:
        row = {"skewness": round(skewness(sigma), 2)}
        for name, looks in LOOKS.items():
            above, below = judged(-lognormal(sigma), looks)
            row |= {f"{name}, reproduced": above, f"{name}, refuted": below}
        rows.append(row)
    return rows


PLOTS = [
    Plot(
        "power",
        "The share of claims that are reproduced, by the size of the effect",
        "effect, in standard deviations over seeds",
        "reproduced",
        power,
        1.0,
    ),
    Plot(
        "skew",
        "The share of claims without an effect that are settled, by skewness",
        "skewness of the differences",
        "settled falsely",
        skew,
        0.08,
    ),
]


def as_csv(rows: Sequence[dict[str, float]]) -> str:
    """Return a table as CSV."""
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def as_svg(plot: Plot, rows: Sequence[dict[str, float]]) -> str:
    """Draw a table: a line for each column after the first, in the colour of its looks."""
    first, *columns = rows[0]
    largest = max(row[first] for row in rows)
    step = next(each for each in (0.5, 1.0) if largest / each <= 8)
    marks = [step * n for n in range(int(largest / step) + 1)]
    across = Axis(0, largest, 40, WIDTH - 130, [(value, f"{value:g}") for value in marks])
    shares = [plot.most * n / 4 for n in range(5)]
    up = Axis(0, plot.most, HEIGHT - 40, 20, [(share, f"{share:.0%}") for share in shares])
    drawn = y_axis(up, across.start, across.end) + x_axis(across, up.start, plot.x)
    drawn += text(across.start, 11, plot.y)
    if plot.most < 1:  # the scale on which what is allowed can be seen
        allowed: list[Point] = [(x, up.at(ALLOWED)) for x in (across.start, across.end)]
        drawn += line(allowed, "axis") + text(across.end + 6, up.at(ALLOWED) + 3, "allowed: 0.5%")
    keys = across.end + 6
    for place, name in enumerate(LOOKS):
        mine = [column for column in columns if column.split(", re")[0] == name]
        for column, kind in zip(mine, ("curve", "curve other"), strict=False):
            points = [(across.at(row[first]), up.at(row[column])) for row in rows]
            row = len(mine) * place + mine.index(column)
            drawn += line(points, f"{kind} c{place}")
            drawn += line([(keys, 30 + 14 * row), (keys + 14, 30 + 14 * row)], f"{kind} c{place}")
            drawn += text(keys + 18, 33 + 14 * row, column if "re" in column else f"{column} seeds")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img"'
        f' aria-label="{plot.described}"><title>{plot.described}</title><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{drawn}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", metavar="DIR", type=Path, help="write the tables and plots there")
    options = parser.parse_args()
    for plot in PLOTS:
        rows = plot.rows()
        print(as_csv(rows))
        if options.into:
            (options.into / f"{plot.name}.csv").write_text(as_csv(rows))
            (options.into / f"{plot.name}.svg").write_text(as_svg(plot, rows))


if __name__ == "__main__":
    main()
