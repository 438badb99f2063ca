"""The results of a session as files of data: JSON under a published schema, and CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from repro.report.ending import Failure
from repro.report.figure import FigureData
from repro.report.json_data import to_json
from repro.report.record import ArmData, ClaimRecord, JudgedClaim, deciding_effect
from repro.report.session import SessionData
from repro.report.suite import adjusted, over_the_suite
from repro.text import HIDDEN, shown

SCHEMA = "results.schema.json"

CLAIM_COLUMNS = (
    *("claim", "source", "kind", "sentence", "documented", "documented_value", "profile", "data"),
    *("verdict", "p", "p_over_the_suite", "stands", "accepted", "change"),
    *("comparison", "unit", "estimate", "low", "high", "relation", "bound", "seeds"),
    *("measured", "file", "line", "command"),
)
SEED_COLUMNS = (
    *("claim", "statement", "comparison", "unit", "place", "per_seed"),
    *("first", "second"),
)

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""The starts of a text that spreadsheets take for a formula."""


@dataclass(frozen=True, kw_only=True)
class ResultsDocument:
    """All results of a session, the content of `results.json`."""

    format: Literal[3] = 3
    """The number of this format; it changes when fields of it do."""
    claims: list[ClaimRecord]
    arms: dict[str, ArmData]
    """Every arm that was trained, by the name that claims give in `arms`."""
    figures: list[FigureData]
    standing: str = ""
    """The sentence on how many settled verdicts stand when all are counted together."""
    evidence: list[str] = field(default_factory=list)
    """Sentences on the files that the claims were judged from, where they were not judged from
    what was trained or stored: the origin of the runs, and what has changed since."""
    failures: list[Failure] = field(default_factory=list)
    """The claims that pytest counts as failed."""
    session: SessionData = field(default_factory=SessionData)


def results_of(
    judged: Sequence[JudgedClaim],
    figures: Sequence[FigureData],
    *,
    evidence: Sequence[str] = (),
    family_wise: bool = False,
) -> ResultsDocument:
    """Return the claims of a session as one document, sorted, and counted over the whole suite.

    `family_wise` bounds the chance of any false verdict among those that stand, not their share. An
    arm that several claims share is in it once, with the most seeds that one of them used.
    """
    arms: dict[str, ArmData] = {}
    for name, arm in ((name, arm) for claim in judged for name, arm in claim.arms.items()):
        if name not in arms or len(arm.seeds) > len(arms[name].seeds):
            arms[name] = arm
    records = sorted((claim.record for claim in judged), key=lambda record: record.claim)
    records = adjusted(records, family_wise=family_wise)
    return ResultsDocument(
        claims=records,
        arms=arms,
        figures=list(figures),
        standing=over_the_suite(records, family_wise=family_wise),
        evidence=list(evidence),
    )


def write_results(folder: Path, results: ResultsDocument) -> list[Path]:
    """Write the results as JSON beside their schema, and as two tables."""
    paths = [folder / name for name in ("results.json", SCHEMA, "claims.csv", "seeds.csv")]
    with paths[0].open("w", encoding="utf-8") as file:
        file.writelines(_json_lines(results))
    paths[1].write_text(schema_text(), encoding="utf-8")
    _write_table(paths[2], CLAIM_COLUMNS, map(_claim_row, results.claims))
    _write_table(paths[3], SEED_COLUMNS, _seed_rows(results.claims))
    return paths


def _json_lines(results: ResultsDocument) -> Iterator[str]:
    """Yield the results as JSON, a claim, an arm or a figure a line: none waits for the others."""
    before = "{"
    for each in fields(results):
        content = getattr(results, each.name)
        yield f"{before}\n{_json(each.name)}: "
        if isinstance(content, list):
            yield from _enclosed("[]", map(_json, content))
        elif isinstance(content, dict):
            yield from _enclosed("{}", (f"{_json(key)}: {_json(content[key])}" for key in content))
        else:
            yield _json(content)
        before = ","
    yield "\n}\n"


def _enclosed(ends: str, lines: Iterable[str]) -> Iterator[str]:
    before = ends[0]
    for line in lines:
        yield f"{before}\n {line}"
        before = ","
    yield ends if before == ends[0] else f"\n{ends[1]}"


def _json(value: Any) -> str:
    text = json.dumps(to_json(value), ensure_ascii=False, allow_nan=False)
    return HIDDEN.sub(_json_escape, text)


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
    """Yield a row for each comparison and seed; places count from 1 in the order of the seeds.

    `first` and `second` are the values of what it compares. Where runs are not paired nothing is
    compared on one seed, and one of the two may have fewer.
    """
    for record in records:
        for finding in record.findings:
            for effect in finding.effects:
                sides = [finding.samples[place].values for place in effect.sides[:2]]
                columns = [effect.per_seed, *sides, [], []][:3]
                for place, row in enumerate(zip_longest(*columns), 1):
                    value, first, second = row
                    yield {
                        "claim": record.claim,
                        "statement": finding.statement,
                        "comparison": effect.label,
                        "unit": effect.unit,
                        "place": place,
                        "per_seed": value,
                        "first": first,
                        "second": second,
                    }
