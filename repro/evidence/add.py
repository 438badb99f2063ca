"""Adds the runs of evidence files to a store, where sessions find those of today's code."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from repro.evidence.file import EvidenceFile
from repro.evidence.lines import damaged, read_lines
from repro.evidence.record import Record, sound_record
from repro.store import Store

MOST_WEIGHTS = 2**33
"""Bytes of the parameters of one run, at most."""


@dataclass
class Added:
    """The runs of a file by what became of them."""

    added: int = 0
    stored: int = 0
    """Runs that the store had already."""
    others: list[str] = field(default_factory=list)
    """Runs of which the store has another result, in words; the store's stays."""
    without_weights: int = 0
    """Runs that were left out: others start from their parameters, which the file does not have."""


def add(file: EvidenceFile, store: Store) -> Added:
    """Put the runs of a checked file into a store.

    >>> add(EvidenceFile.read(path), store).added
    """
    done = Added()
    for record, weights in _with_weights(file):
        result = record.result
        kept = store.get(result.identity)
        if kept is not None and kept.values == result.values:
            done.stored += 1
        elif kept is not None:
            done.others.append(record.name)
        elif weights is None and _needs_weights(record):
            done.without_weights += 1
        else:
            store.put(result.identity, result.values, result.provenance, weights=weights)
            done.added += 1
    return done


def _needs_weights(record: Record) -> bool:
    return record.keeps_weights and "diverged_at" not in record.result.values


def _with_weights(file: EvidenceFile) -> Iterator[tuple[Record, bytes | None]]:
    """Yield the runs of a file, each with its parameters where the file has them."""
    record: Record | None = None
    weights = bytearray()
    for _, line in read_lines(file.path):
        if line["kind"] == "weights":
            weights += _part(file, line)
            if len(weights) > MOST_WEIGHTS:
                raise damaged(file.path, f"it has a run with more than {MOST_WEIGHTS} bytes")
        if line["kind"] == "run":
            if record is not None:
                yield record, bytes(weights) or None
            record = sound_record(line)
            weights.clear()
    if record is not None:
        yield record, bytes(weights) or None


def _part(file: EvidenceFile, line: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(line["base64"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise damaged(file.path, "it has weights that are not base64") from None
