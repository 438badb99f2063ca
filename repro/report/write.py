"""Writes the files of a report: the results as JSON and CSV, a summary, the page, and figures."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from repro.report.curves import write_figure
from repro.report.ending import summary
from repro.report.records import ClaimRecord, EffectData, SampleData, deciding_effect, to_json
from repro.report.results_file import ResultsDocument
from repro.report.stored_runs import StoredRuns, read_runs
from repro.text import HIDDEN, shown

PAGE, SCHEMA = "index.html", "results.schema.json"

CLAIM_COLUMNS = (
    *("claim", "source", "kind", "sentence", "documented", "documented_value", "profile", "data"),
    *("verdict", "effect_size", "reason", "p", "level", "accepted", "change"),
    *("comparison", "unit", "plain", "estimate", "low", "high", "relation", "bound", "seeds"),
    *("measured", "file", "line", "command"),
)
SEED_COLUMNS = (
    *("claim", "statement", "comparison", "unit", "seed", "per_seed"),
    *("first", "second"),
)

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Spreadsheets take a text that starts with one of these for a formula."""


class NothingToDrawWith(Exception):
    """jinja2 is not installed; the message says what to install."""


def write_data(folder: Path, results: ResultsDocument) -> list[Path]:
    """Write the results and the summary; return their paths.

    The page of a former report is removed: it shows other verdicts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).unlink(missing_ok=True)
    short = folder / "summary.md"
    short.write_text(summary(results), encoding="utf-8")
    return [*write_results(folder, results), short]


def write_page(folder: Path, results: ResultsDocument, *places: StoredRuns) -> list[Path]:
    """Write the page, and each figure as a file; return their paths, the page first.

    The runs of the arms are looked up in `places`.
    """
    if find_spec("jinja2") is None:
        raise NothingToDrawWith("the page needs pip install 'repro-claims[report]'")
    from repro.report.page import render

    page = folder / PAGE
    page.write_text(render(results, read_runs(results.arms, *places)), encoding="utf-8")
    return [page, *(write_figure(figure, folder) for figure in results.figures)]


def write_results(folder: Path, results: ResultsDocument) -> list[Path]:
    """Write the results as JSON beside their schema, and as two tables."""
    paths = [folder / name for name in ("results.json", SCHEMA, "claims.csv", "seeds.csv")]
    paths[0].write_text(results_text(results), encoding="utf-8")
    paths[1].write_text(schema_text(), encoding="utf-8")
    for path, columns, rows in (
        (paths[2], CLAIM_COLUMNS, map(_claim_row, results.claims)),
        (paths[3], SEED_COLUMNS, _seed_rows(results.claims)),
    ):
        with path.open("w", encoding="utf-8", newline="") as file:
            write_table(file, columns, rows)
    return paths


def results_text(results: ResultsDocument) -> str:
    """Return the results as JSON, with one line for each claim, arm and figure."""
    parts = [
        f"{_json(each.name)}: {_lines(getattr(results, each.name))}" for each in fields(results)
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(content: Any) -> str:
    if isinstance(content, list) and content:
        return "[\n " + ",\n ".join(map(_json, content)) + "\n]"
    if isinstance(content, dict) and content:
        lines = (f"{_json(key)}: {_json(value)}" for key, value in content.items())
        return "{\n " + ",\n ".join(lines) + "\n}"
    return _json(content)


def _json(value: Any) -> str:
    text = json.dumps(to_json(value), ensure_ascii=False, allow_nan=False)
    return HIDDEN.sub(lambda hidden: json.dumps(hidden[0])[1:-1], text)


def schema_text() -> str:
    """Return the JSON Schema of `results.json`; `scripts/results_schema` generates it."""
    return files("repro.report").joinpath(SCHEMA).read_text(encoding="utf-8")


def write_table(file: TextIO, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as CSV with these columns.

    Texts are quoted, for programs that would split them at other characters.
    """
    table = csv.DictWriter(file, columns, extrasaction="ignore", quoting=csv.QUOTE_NONNUMERIC)
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Return a value as a cell of a table; an apostrophe keeps a text from being a formula.

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
    documented = effect.documented if finding.documented is None else finding.documented
    compared = {"comparison": effect.label, "documented_value": documented}
    return {**vars(effect), **vars(record), **compared}


def _seed_rows(records: Iterable[ClaimRecord]) -> Iterable[dict[str, Any]]:
    """Yield a row for each comparison and seed.

    `first` and `second` are the values of the two sides. What no seed changes has a row without a
    seed. A seed has no `per_seed` if the sides are not paired, or if its run repeats another.
    """
    for record in records:
        for finding in record.findings:
            for effect in finding.effects:
                named = (record.claim, finding.statement, effect.label, effect.unit)
                sides = [finding.samples[place] for place in effect.sides]
                per_seed = _per_seed(effect, sides)
                for seed in _seeds(sides):
                    values = [
                        side.by_seed.get(seed) if side.seeds else side.values[0]
                        for side in sides[:2]
                    ]
                    row = (*named, seed, per_seed.get(seed), *values, None)
                    yield dict(zip(SEED_COLUMNS, row, strict=False))


def _seeds(sides: Iterable[SampleData]) -> list[int | None]:
    """Return the seeds of sides in their order; None alone where no seed changes them."""
    return [*dict.fromkeys(seed for side in sides for seed in side.seeds)] or [None]


def _per_seed(effect: EffectData, sides: Sequence[SampleData]) -> dict[int | None, float | None]:
    """Return the effect on each seed; on None where no seed changes it."""
    seeds = _seeds(sides)
    if len(seeds) > len(effect.per_seed):
        left_out = {seed for side in sides for seed in side.left_out}
        seeds = [seed for seed in seeds if seed not in left_out]
    return dict(zip(seeds, effect.per_seed, strict=False))
