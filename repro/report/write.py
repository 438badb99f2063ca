"""Writes a report into a folder: results as data, a summary, the sources' figures, and the page.

A report of many claims has an index, and their details on pages of their own.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from repro.report.figure import draw
from repro.report.pull_request import summary
from repro.report.results import ResultsDocument, write_results
from repro.report.runs import StoredRuns, read_runs

NEEDED = ("matplotlib", "jinja2")

MOST_ON_ONE_PAGE = 1000
"""Claims that a report has on one page, a file of some 4 MB."""


class NothingToDrawWith(Exception):
    """matplotlib or jinja2 is missing for the page and the figures; says what to install."""


def write_data(folder: Path, results: ResultsDocument) -> list[Path]:
    """Write the results and the summary; return the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    short = folder / "summary.md"
    short.write_text(summary(results), encoding="utf-8")
    return [*write_results(folder, results), short]


def write_page(folder: Path, results: ResultsDocument, store: StoredRuns) -> list[Path]:
    """Write figures as SVG and PNG, and the page or pages; return the paths, the page first."""
    if any(find_spec(name) is None for name in NEEDED):
        raise NothingToDrawWith("the page and figures need pip install 'repro-claims[report]'")
    drawn = [path for figure in results.figures for path in draw(figure, folder)]
    return [*_write_pages(folder, results, store), *drawn]


def _write_pages(folder: Path, results: ResultsDocument, store: StoredRuns) -> list[Path]:
    from repro.report.page.blocks import write_blocks
    from repro.report.page.render import render
    from repro.report.page.view import lay_out_page

    if len(results.claims) > MOST_ON_ONE_PAGE:
        return list(write_blocks(folder, results, store))
    page = folder / "index.html"
    page.write_text(render(lay_out_page(results, read_runs(store, results.arms))), encoding="utf-8")
    return [page]
