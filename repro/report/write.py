"""What `--report DIR` writes: results as data, a summary, the sources' figures, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from repro.report.figure import FigureData, draw
from repro.report.pull_request import summary
from repro.report.record import Record
from repro.report.results import Results, gather, write_results
from repro.report.runs import read_runs
from repro.store import Store

NEEDED = ("matplotlib", "jinja2")


class NothingToDrawWith(Exception):
    """The page and the figures cannot be made here; says what to install."""


def write_data(
    folder: Path,
    records: Sequence[Record],
    figures: Sequence[FigureData],
    *,
    over_the_suite: str = "",
) -> tuple[Results, list[Path]]:
    """Write the results and the summary; returns them, and the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    results = gather(records, figures)
    short = folder / "summary.md"
    short.write_text(summary(records, over_the_suite), encoding="utf-8")
    return results, [*write_results(folder, results), short]


def write_page(
    folder: Path, results: Results, store: Store, *, over_the_suite: str = ""
) -> list[Path]:
    """Write each figure as SVG and PNG, and the page; returns the paths written."""
    if any(find_spec(name) is None for name in NEEDED):
        raise NothingToDrawWith("the page and figures need pip install 'repro[report]'")
    from repro.report.page.render import render
    from repro.report.page.view import lay_out_page

    drawn = [path for figure in results["figures"] for path in draw(figure, folder)]
    view = lay_out_page(results, read_runs(store, results["arms"]))
    page = folder / "index.html"
    page.write_text(render(view, over_the_suite=over_the_suite), encoding="utf-8")
    return [page, *drawn]
