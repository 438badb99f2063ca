"""Packs stored runs into an evidence file, and adds the runs of a file to a store."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from repro.arm import Run
from repro.code.trace import Trace
from repro.evidence import EvidenceError
from repro.evidence.file import FORMAT, NAME, EvidenceFile, Line, Record, decoded, record_of, texts
from repro.runs.results import Results
from repro.store import Store
from repro.store.key import digest_of
from repro.store.run_files import key_of

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
    told = {x.made.trace: without_paths(results.trace(x.made.trace)) for _, x in stored}
    traces = {digest_of(trace): trace for trace in told.values()}
    records = []
    for run, result in stored:
        made = replace(result.made, trace=digest_of(told[result.made.trace]))
        key = key_of(result.identity, made)
        records.append(record_of(run, replace(result, key=key, made=made)))
    return write(path, records, traces, profile=profile, claims=claims, weights_of=weights_of)


def without_paths(trace: Trace) -> Trace:
    """Return a trace without absolute paths, which are of one machine: digests in their places.

    >>> without_paths({"files": {"/data/x.csv": "1", "project:y.csv": "2"}})["files"]
    {'outside:a55bbabd30d11c0c': '1', 'project:y.csv': '2'}
    """
    if "parts" in trace:
        return {"parts": [without_paths(part) for part in trace["parts"]]}
    told = dict(trace)
    for kind in ("files", "modules"):
        if any(map(os.path.isabs, trace.get(kind, ()))):
            told[kind] = {_without_path(name): x for name, x in trace[kind].items()}
    return told


def _without_path(name: str) -> str:
    hidden = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"outside:{hidden}" if os.path.isabs(name) else name


def write(
    path: Path,
    records: Sequence[Record],
    traces: Mapping[str, Trace],
    *,
    profile: str,
    claims: Sequence[str],
    weights_of: Store | None = None,
) -> EvidenceFile:
    """Write records with their traces, each trace once.

    >>> write(path, records, {trace_digest: trace}, profile="ci", claims=names)
    """
    head = {"kind": "head", "name": NAME, "format": FORMAT, "profile": profile}
    first = {**head, "claims": sorted(claims), "runs": len(records)}
    lines = [
        {"kind": "code", "code": digest, "definitions": trace["definitions"]}
        if trace.keys() == {"definitions"}
        else {"kind": "trace", "trace": digest, "content": trace}
        for digest, trace in sorted(traces.items())
    ]
    in_order = sorted(records, key=lambda record: (record.place, record.key))
    return EvidenceFile.write(path, chain([first], lines, _run_lines(in_order, weights_of)))


def _run_lines(records: Iterable[Record], store: Store | None) -> Iterator[Line]:
    """Yield the line of each run; with a store, followed by the lines of its parameters."""
    for record in records:
        yield record.line
        address = record.key.partition("/")[0]
        found = store.all_at(address) if store is not None and record.keeps_weights else []
        stored = next((x for x in found if x.content == record.result.content), None)
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
    earlier: int = 0
    """The number of runs left out because an earlier version has packed them."""


def add(file: EvidenceFile, store: Store) -> Added:
    """Put the runs of a checked file into a store.

    >>> add(EvidenceFile.read(path), store).added
    """
    done = Added()
    for record, weights in _with_weights(file):
        result = record.result
        if record.is_earlier:
            done.earlier += 1
            continue
        kept = store.at(result.key)
        needs_weights = record.keeps_weights and "diverged_at" not in result.values
        if kept is not None and kept.values == result.values:
            done.stored += 1
        elif kept is not None:
            done.others.append(record.name)
        elif needs_weights and not weights:
            done.without_weights += 1
        else:
            store.put_trace(file.trace(result.made.trace))
            store.put(
                result.identity,
                result.values,
                result.provenance,
                weights=weights or None,
                made=result.made,
            )
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
