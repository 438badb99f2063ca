"""The results as data, for whoever goes on with them: JSON under a published schema, and CSV."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, TypedDict

from repro.report.figure import FigureData
from repro.report.record import ArmData, Record, deciding_effect

FORMAT = 2
SCHEMA = "results.schema.json"

CLAIM_COLUMNS = (
    *("claim", "source", "sentence", "documented", "documented_value", "profile", "data"),
    *("verdict", "p", "p_over_the_suite", "stands", "accepted", "change"),
    *("comparison", "unit", "estimate", "low", "high", "relation", "bound", "seeds"),
    *("measured", "file", "line", "command"),
)
SEED_COLUMNS = ("claim", "statement", "comparison", "unit", "place", "per_seed")


class Results(TypedDict):
    """What `results.json` holds. An arm that several claims share is written once."""

    format: int
    claims: list[Record]
    arms: dict[str, ArmData]
    figures: list[FigureData]


def gather(records: Sequence[Record], figures: Sequence[FigureData]) -> Results:
    """The records of a session as one document; each claim names its arms by their key."""
    arms: dict[str, ArmData] = {}
    claims = []
    for record in records:
        named = {_name(arm): arm for arm in record["arms"]}
        for name, arm in named.items():
            if name not in arms or len(arm["seeds"]) > len(arms[name]["seeds"]):
                arms[name] = arm
        claims.append({**record, "arms": list(named)})
    return {"format": FORMAT, "claims": claims, "arms": arms, "figures": list(figures)}


def _name(arm: ArmData) -> str:
    text = json.dumps([arm["study"], arm["settings"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_results(folder: Path, results: Results) -> list[Path]:
    """Write the results as JSON beside their schema, and as two tables."""
    paths = [folder / name for name in ("results.json", SCHEMA, "claims.csv", "seeds.csv")]
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    paths[0].write_text(text + "\n", encoding="utf-8")
    paths[1].write_text(schema_text(), encoding="utf-8")
    _write_table(paths[2], CLAIM_COLUMNS, map(_claim_row, results["claims"]))
    _write_table(paths[3], SEED_COLUMNS, _seed_rows(results["claims"]))
    return paths


def schema_text() -> str:
    """The JSON Schema of `results.json`."""
    return files("repro.report").joinpath(SCHEMA).read_text(encoding="utf-8")


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def _claim_row(record: Record) -> dict[str, Any]:
    decided = deciding_effect(record)
    if decided is None:
        return record
    finding, effect = decided
    return {
        **effect,
        **record,
        "comparison": effect["label"],
        "documented_value": finding["documented"],
    }


def _seed_rows(records: Iterable[Record]) -> Iterable[dict[str, Any]]:
    """One row for each comparison and seed; places count from 1 in the order the seeds came in."""
    for record in records:
        for finding in record["findings"]:
            for effect in finding["effects"]:
                for place, value in enumerate(effect["per_seed"], 1):
                    yield {
                        "claim": record["claim"],
                        "statement": finding["statement"],
                        "comparison": effect["label"],
                        "unit": effect["unit"],
                        "place": place,
                        "per_seed": value,
                    }
