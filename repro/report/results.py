"""The results of a session as files of data: JSON under a published schema, and CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from repro.report.figure import FigureData
from repro.report.json_data import to_json
from repro.report.record import ArmData, ClaimRecord, JudgedClaim, deciding_effect
from repro.report.suite import adjusted
from repro.text import HIDDEN, shown

SCHEMA = "results.schema.json"

CLAIM_COLUMNS = (
    *("claim", "source", "sentence", "documented", "documented_value", "profile", "data"),
    *("verdict", "p", "p_over_the_suite", "stands", "accepted", "change"),
    *("comparison", "unit", "estimate", "low", "high", "relation", "bound", "seeds"),
    *("measured", "file", "line", "command"),
)
SEED_COLUMNS = ("claim", "statement", "comparison", "unit", "place", "per_seed")

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""The starts of a text that spreadsheets take for a formula."""


@dataclass(frozen=True, kw_only=True)
class ResultsDocument:
    """All results of a session, the content of `results.json`."""

    format: Literal[2] = 2
    """The number of this format; it changes when programs that read it have to change."""
    claims: list[ClaimRecord]
    arms: dict[str, ArmData]
    """Every arm that was trained, by the name that claims give in `arms`."""
    figures: list[FigureData]


def results_of(judged: Sequence[JudgedClaim], figures: Sequence[FigureData]) -> ResultsDocument:
    """Return the claims of a session as one document, sorted, and counted over the whole suite.

    An arm that several claims share is in it once, with the most seeds that one of them used.
    """
    arms: dict[str, ArmData] = {}
    for name, arm in ((name, arm) for claim in judged for name, arm in claim.arms.items()):
        if name not in arms or len(arm.seeds) > len(arms[name].seeds):
            arms[name] = arm
    records = sorted((claim.record for claim in judged), key=lambda record: record.claim)
    return ResultsDocument(claims=adjusted(records), arms=arms, figures=list(figures))


def write_results(folder: Path, results: ResultsDocument) -> list[Path]:
    """Write the results as JSON beside their schema, and as two tables."""
    paths = [folder / name for name in ("results.json", SCHEMA, "claims.csv", "seeds.csv")]
    text = json.dumps(to_json(results), indent=1, ensure_ascii=False, allow_nan=False)
    paths[0].write_text(HIDDEN.sub(_json_escape, text) + "\n", encoding="utf-8")
    paths[1].write_text(schema_text(), encoding="utf-8")
    _write_table(paths[2], CLAIM_COLUMNS, map(_claim_row, results.claims))
    _write_table(paths[3], SEED_COLUMNS, _seed_rows(results.claims))
    return paths


def schema_text() -> str:
    """Return the JSON Schema of `results.json`, which `repro.report.schema` wrote."""
    return files("repro.report").joinpath(SCHEMA).read_text(encoding="utf-8")


def _json_escape(character: re.Match[str]) -> str:
    return json.dumps(character[0])[1:-1]


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        # Texts are quoted, so that a program that splits lines elsewhere keeps them whole too.
        table = csv.DictWriter(file, columns, extrasaction="ignore", quoting=csv.QUOTE_NONNUMERIC)
        table.writeheader()
        table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Return a value as a cell of a table: a text that would be a formula gets an apostrophe.

    >>> _cell("=1+1"), _cell(-0.3)
    ("'=1+1", -0.3)
    """
    if not isinstance(value, str):
        return value
    return f"'{shown(value)}" if value.lstrip().startswith(FORMULA) else shown(value)


def _claim_row(record: ClaimRecord) -> dict[str, Any]:
    decided = deciding_effect(record)
    if decided is None:
        return vars(record)
    finding, effect = decided
    compared = {"comparison": effect.label, "documented_value": finding.documented}
    return {**vars(effect), **vars(record), **compared}


def _seed_rows(records: Iterable[ClaimRecord]) -> Iterable[dict[str, Any]]:
    """Yield a row for each comparison and seed; places count from 1 in the order of the seeds."""
    for record in records:
        for finding in record.findings:
            for effect in finding.effects:
                for place, value in enumerate(effect.per_seed, 1):
                    yield {
                        "claim": record.claim,
                        "statement": finding.statement,
                        "comparison": effect.label,
                        "unit": effect.unit,
                        "place": place,
                        "per_seed": value,
                    }
