"""One evidence file, read and checked as a whole before anything of it counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro.evidence.lines import damaged, decoded, read_lines
from repro.evidence.record import Record, Unsound, sound_record

MOST_NAMES = 100_000
"""Definitions and claims of one file, at most."""


@dataclass
class EvidenceFile:
    """The runs of one file, kept as text and parsed when they are asked for.

    >>> EvidenceFile.read(Path("evidence/ci-generated.jsonl.gz")).profile
    'ci'
    """

    path: Path
    profile: str
    sha256: str = ""
    """The hash of its last line, which has the hashes of all others."""
    definitions: dict[str, dict[str, str]] = field(default_factory=dict)
    """The definitions that each code reaches, by name, under the code's digest."""
    lines: dict[str, bytes] = field(default_factory=dict)
    """The lines of the runs, by key."""
    places: dict[str, list[str]] = field(default_factory=dict)
    """The keys of the runs of one arm and seed."""
    data_sets: set[str] = field(default_factory=set)
    """The data sets that its runs read."""
    _named: int = 0

    @classmethod
    def read(cls, path: Path) -> EvidenceFile:
        """Read a file and check it; raises `EvidenceError`."""
        evidence: EvidenceFile | None = None
        runs = 0
        for number, (text, line) in enumerate(read_lines(path), 1):
            try:
                if evidence is None:
                    evidence, runs = cls(path, _profile(line)), line["runs"]
                else:
                    evidence._take(text, line)
            except Unsound as why:
                raise damaged(path, f"line {number} {why}") from None
        assert evidence is not None, "read_lines refuses a file without lines"
        if len(evidence.lines) != runs:
            raise damaged(path, f"it has {len(evidence.lines)} runs where its head says {runs}")
        return evidence

    def record(self, key: str) -> Record:
        """Return the run of a key that the file has."""
        return sound_record(decoded(self.lines[key]))

    def records(self) -> Iterator[Record]:
        """Yield all runs in the order of the file."""
        return map(self.record, self.lines)

    def _take(self, text: bytes, line: dict[str, Any]) -> None:
        match line["kind"]:
            case "run":
                self._take_run(text, sound_record(line))
            case "code":
                self._take_code(line)
            case "weights":
                if line.get("key") != next(reversed(self.lines), None):
                    raise Unsound("has weights of another run than the one before it")
            case "seal":
                self.sha256 = hashlib.sha256(text).hexdigest()
            case kind:
                raise Unsound(f"is of an unknown kind, {kind!r}")

    def _take_code(self, line: dict[str, Any]) -> None:
        code, definitions = line.get("code"), line.get("definitions")
        if not isinstance(code, str) or not isinstance(definitions, dict):
            raise Unsound("is no code with its definitions")
        self._named += len(definitions)
        if not _is_texts([*definitions.values()]) or self._named > MOST_NAMES:
            raise Unsound("has definitions that are no text, or too many")
        self.definitions[code] = definitions

    def _take_run(self, text: bytes, record: Record) -> None:
        if record.key in self.lines:
            raise Unsound(f"is a second one for {record.name}")
        if record.result.identity["code"] not in self.definitions:
            raise Unsound(f"is {record.name}, whose code is not described before it")
        self.lines[record.key] = text
        self.data_sets.update(record.data_sets)
        self.places.setdefault(record.place, []).append(record.key)


def _profile(line: dict[str, Any]) -> str:
    """Return the profile that the head of a file names; raises `Unsound` where it is no head."""
    profile, claims = line.get("profile"), line.get("claims")
    if not isinstance(profile, str) or not _is_texts(claims):
        raise Unsound("has no profile and claims")
    if type(line.get("runs")) is not int:
        raise Unsound("has no number of runs")
    return profile


def _is_texts(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MOST_NAMES
        and all(isinstance(each, str) for each in value)
    )
