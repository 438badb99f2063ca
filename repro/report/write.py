"""The folder of a report: results as data, a summary, the page, and the figures of sources.

`files.sha256` lists what was written, as `sha256sum -c` reads it, so that the next report there can
remove its leavings. A file is removed if it is in the list of the report before, is as that report
wrote it, and is none of this report's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from repro.report.curves import write_figure
from repro.report.data_files import write_results
from repro.report.pull_request import summary
from repro.report.results import ResultsDocument
from repro.report.runs import StoredRuns, read_runs

LIST = "files.sha256"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\\]+)")


class NothingToDrawWith(Exception):
    """jinja2 is missing for the page; says what to install."""


def write_data(folder: Path, results: ResultsDocument) -> list[Path]:
    """Write the results and the summary; return the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    short = folder / "summary.md"
    short.write_text(summary(results), encoding="utf-8")
    return [*write_results(folder, results), short]


def write_page(folder: Path, results: ResultsDocument, *places: StoredRuns) -> list[Path]:
    """Write the page, and each figure as a file of its own; return the paths, the page first.

    `places` have the runs of the arms.
    """
    if find_spec("jinja2") is None:
        raise NothingToDrawWith("the page needs pip install 'repro-claims[report]'")
    from repro.report.page.render import render

    page = folder / "index.html"
    page.write_text(render(results, read_runs(results.arms, *places)), encoding="utf-8")
    return [page, *(write_figure(figure, folder) for figure in results.figures)]


def replace_report(folder: Path, written: Iterable[Path]) -> Path:
    """Remove what the report before left behind, and list what was written; return the list."""
    hashes = {path.relative_to(folder).as_posix(): _hash(path) for path in written}
    listed = folder / LIST
    for name, content in _read(listed).items():
        path = folder / name
        is_own = path.is_file() and not path.is_symlink()  # a link may lead anywhere
        if name not in hashes and is_own and _hash(path) == content:
            path.unlink()
    lines = (f"{content}  {name}\n" for name, content in sorted(hashes.items()))
    listed.write_text("".join(lines), encoding="utf-8")
    return listed


def _read(listed: Path) -> dict[str, str]:
    try:
        lines = listed.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    found = filter(None, map(_LINE.fullmatch, lines))
    return {match[2]: match[1] for match in found}


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
