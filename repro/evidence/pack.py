"""Packs stored runs into one file: what they are, what they gave, and how they came about."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from repro.arm import Run
from repro.evidence.lines import FORMAT, NAME, write_lines
from repro.evidence.record import Record, record_of
from repro.runs.identity import definitions_of
from repro.runs.results import Results
from repro.store import Store

PART = 2**20
"""Bytes of weights in one line."""


@dataclass(frozen=True)
class Packed:
    """A file that was written."""

    runs: int
    sha256: str
    """The hash of its last line, which has the hashes of all others."""


def pack(
    path: Path,
    runs: Iterable[Run],
    *,
    profile: str,
    claims: Sequence[str],
    results: Results,
    weights_of: Store | None = None,
) -> Packed:
    """Write the stored ones among runs into a file; the same results give the same bytes.

    Where a store is given to take the parameters from that other runs start from, they are packed.

    >>> pack(path, runs, profile="ci", claims=names, results=results)
    """
    stored = [(run, result) for run in runs if (result := results.get(run)) is not None]
    records = {run: record_of(run, result) for run, result in stored}
    in_order = sorted(records, key=lambda run: (records[run].place, records[run].key))
    head = {"kind": "head", "name": NAME, "format": FORMAT, "profile": profile}
    first = {**head, "claims": sorted(claims), "runs": len(records)}
    lines = _run_lines([records[run] for run in in_order], weights_of)
    return Packed(len(records), write_lines(path, chain([first, *_codes(records)], lines)))


def _codes(records: dict[Run, Record]) -> list[dict[str, Any]]:
    """Return a line for each code: what every definition was that it reached."""
    by_code = {each.result.identity["code"]: run for run, each in records.items()}
    return [
        {"kind": "code", "code": code, "definitions": definitions_of(by_code[code].arm)}
        for code in sorted(by_code)
    ]


def _run_lines(records: Iterable[Record], store: Store | None) -> Iterator[dict[str, Any]]:
    """Yield the line of each run, and after it those of its weights where a store is given."""
    for record in records:
        yield record.line()
        stored = store.at(record.key) if store is not None and record.keeps_weights else None
        weights = stored.weights if stored is not None else None
        for part, start in enumerate(range(0, len(weights or b""), PART)):
            text = base64.b64encode((weights or b"")[start : start + PART]).decode()
            yield {"kind": "weights", "key": record.key, "part": part, "base64": text}
