"""What `--report DIR` writes: the verdicts as data, and the figures of the sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_report(folder: Path, records: list[dict[str, Any]]) -> list[Path]:
    """Write results.json; returns the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    text = json.dumps({"format": 1, "claims": records}, indent=2, ensure_ascii=False)
    results.write_text(text + "\n", encoding="utf-8")
    return [results]
