"""Packs stored runs into an evidence file, and adds the runs of a file to a store."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from repro.arm import Run
from repro.evidence import EvidenceError
from repro.evidence.file import FORMAT, NAME, EvidenceFile, Line, Record, decoded, record_of, texts
from repro.runs.identity import definitions_of
from repro.runs.results import Results
from repro.store import Store

PART = 2**20
"""Bytes of parameters in one line."""

MOST_WEIGHTS = 2**33
"""The most bytes of the parameters of one run."""


def pack(
    path: Path,
    runs: Iterable[Run],
    *,
    profile: str,
    claims: Sequence[str],
    results: Results,
    weights_of: Store | None = None,
) -> EvidenceFile:
    """Write those of the runs that are stored into a file; equal results give equal bytes.

    With a store `weights_of`, the parameters that other runs start from are packed, too.

    >>> pack(path, runs, profile="ci", claims=names, results=results)
    """
    stored = [(run, result) for run in runs if (result := results.get(run)) is not None]
    records = {run: record_of(run, result) for run, result in stored}
    head = {"kind": "head", "name": NAME, "format": FORMAT, "profile": profile}
    first = {**head, "claims": sorted(claims), "runs": len(records)}
    by_code = {each.result.identity["code"]: run for run, each in records.items()}
    codes = (
        {"kind": "code", "code": code, "definitions": definitions_of(run.arm)}
        for code, run in sorted(by_code.items(), key=lambda pair: pair[0])
    )
    in_order = sorted(records.values(), key=lambda record: (record.place, record.key))
    return EvidenceFile.write(path, chain([first], codes, _run_lines(in_order, weights_of)))


def _run_lines(records: Iterable[Record], store: Store | None) -> Iterator[Line]:
    """Yield the line of each run; with a store, followed by the lines of its parameters."""
    for record in records:
        yield record.line
        stored = store.at(record.key) if store is not None and record.keeps_weights else None
        weights = (stored.weights if stored is not None else None) or b""
        for part, start in enumerate(range(0, len(weights), PART)):
            text = base64.b64encode(weights[start : start + PART]).decode()
            yield {"kind": "weights", "key": record.key, "part": part, "base64": text}


@dataclass
class Added:
    """The numbers of runs that were added, or left out."""

    added: int = 0
    stored: int = 0
    """The number of runs that the store had already."""
    others: list[str] = field(default_factory=list)
    """The names of runs with another result in the store, which stays."""
    without_weights: int = 0
    """The number of runs left out because the file lacks the parameters that others start from."""


def add(file: EvidenceFile, store: Store) -> Added:
    """Put the runs of a checked file into a store.

    >>> add(EvidenceFile.read(path), store).added
    """
    done = Added()
    for record, weights in _with_weights(file):
        result = record.result
        kept = store.get(result.identity)
        needs_weights = record.keeps_weights and "diverged_at" not in result.values
        if kept is not None and kept.values == result.values:
            done.stored += 1
        elif kept is not None:
            done.others.append(record.name)
        elif needs_weights and not weights:
            done.without_weights += 1
        else:
            store.put(result.identity, result.values, result.provenance, weights=weights or None)
            done.added += 1
    return done


def _with_weights(file: EvidenceFile) -> Iterator[tuple[Record, bytes]]:
    """Yield the runs of a file, each with its parameters, which may be empty."""
    record: Record | None = None
    weights = bytearray()
    for line in map(decoded, texts(file.path)):
        if line["kind"] == "weights":
            weights += _part(file, line)
            if len(weights) > MOST_WEIGHTS:
                raise EvidenceError(f"{file.path} has weights of more than {MOST_WEIGHTS} bytes.")
        if line["kind"] == "run":
            if record is not None:
                yield record, bytes(weights)
            record = Record(line)
            weights.clear()
    if record is not None:
        yield record, bytes(weights)


def _part(file: EvidenceFile, line: Line) -> bytes:
    try:
        return base64.b64decode(line["base64"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise EvidenceError(f"{file.path} has weights that are not base64: get it again.") from None
