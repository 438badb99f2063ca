"""What `--report DIR` writes: the verdicts as data, and the figures of the sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repro.report.figure import FigureData, draw


def write_report(
    folder: Path, records: Sequence[dict[str, Any]], figures: Sequence[FigureData]
) -> list[Path]:
    """Write results.json, then each figure as SVG and PNG; returns the paths written.

    Raises `NoMatplotlib` where there are figures that cannot be drawn; results.json is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    found = {"format": 1, "claims": records, "figures": figures}
    results.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [results, *(path for figure in figures for path in draw(figure, folder))]
