"""One run of an evidence file: its line as a record, checked as far as its own words go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from repro.arm import Run
from repro.store import Result, run_key
from repro.store.key import plain

Line = dict[str, Any]

LARGEST = 2**63
"""The bound of whole numbers: larger ones are no count, and no float can hold all of them."""

NOT_PACKED = ("host", "pid")
"""Parts of a run's provenance that name a machine or a process, and travel nowhere."""

MEMBERS = {
    "study": str,
    "key": str,
    "data_sets": list,
    "keeps_weights": bool,
    "identity": dict,
    "values": dict,
    "provenance": dict,
}
OF_IDENTITY = {"arm": dict, "seed": int, "code": str, "device": str, "torch": str}

SHOWN = ("machine", "commit", "python", "finished", "engine")
"""Texts of a provenance that reports show."""


class Unsound(ValueError):
    """A line or a file is not as evidence has it; the text goes on from "line 3 …"."""


@dataclass(frozen=True)
class Record:
    """A run that was packed: the line that the file has of it, and its result."""

    line: Line

    @cached_property
    def result(self) -> Result:
        parts = (self.line[name] for name in ("key", "identity", "values", "provenance"))
        return Result(*parts)

    @property
    def key(self) -> str:
        return self.result.key

    @property
    def data_sets(self) -> list[str]:
        """Names of the data sets that it read."""
        return list(self.line["data_sets"])

    @property
    def keeps_weights(self) -> bool:
        """True where other runs start from the parameters that it ended with."""
        return bool(self.line["keeps_weights"])

    @cached_property
    def place(self) -> str:
        """The text that is the same for all results of one arm and seed."""
        identity = self.result.identity
        return place_of(self.line["study"], identity["arm"], identity["seed"])

    @property
    def name(self) -> str:
        """The run in words, as far as the file has them."""
        identity = self.result.identity
        return f"{identity['arm']['arm']}, seed {identity['seed']} ({self.key[:12]})"


def record_of(run: Run, result: Result) -> Record:
    """Return the record of a stored run.

    >>> record_of(run, store.get(identity)).line["kind"]
    'run'
    """
    return Record(
        {
            "kind": "run",
            "key": result.key,
            "study": run.arm.study,
            "data_sets": list(run.arm.data_sets),
            "keeps_weights": run.arm.keeps_weights,
            "identity": result.identity,
            "values": result.values,
            "provenance": {n: x for n, x in result.provenance.items() if n not in NOT_PACKED},
        }
    )


def place_of(study: str, arm: Mapping[str, Any], seed: int) -> str:
    """Return the text that is the same for all results of one arm and seed, whatever their key.

    >>> place_of("spirals", {"arm": "Spiral", "width": 8}, 3)
    '["spirals",{"arm":"Spiral","width":8},3]'
    """
    return json.dumps([study, plain(arm, "arm"), seed], sort_keys=True, separators=(",", ":"))


def sound_record(line: Line) -> Record:
    """Return the record of a parsed line; raises `Unsound`.

    >>> sound_record({"kind": "run", "key": "none"})
    Traceback (most recent call last):
    repro.evidence.record.Unsound: has no study
    """
    _require_members(line, MEMBERS)
    identity, values, made = line["identity"], line["values"], line["provenance"]
    _require_members(identity, OF_IDENTITY)
    _require_members(identity["arm"], {"arm": str})
    try:
        plain({"values": values, "provenance": made}, "it")
        key = run_key(identity)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unsound(f"has a value that no result has: {error}") from None
    if line["key"] != key:
        raise Unsound("has the identity of another run than its key says")
    _require_members(values, {"history": dict})
    numbers = [*values["history"].values()]
    if not all(isinstance(series, list) for series in numbers):
        raise Unsound("has a history that is not made of lists")
    if "diverged_at" in values:
        _require_members(values, {"diverged_at": int})
    else:
        _require_members(values, {"steps": int, "measures": dict})
        numbers += values["measures"].values()
    if not _are_numbers(numbers):
        raise Unsound("has measures or a history that are no numbers")
    counts = [values.get("steps", 0), values.get("diverged_at", 0), made.get("seconds") or 0]
    if not _are_numbers(counts) or min(counts) < 0:
        raise Unsound("has steps or seconds that are no count")
    packages = made.get("packages", {})
    texts = [*line["data_sets"], *(made.get(name) or "" for name in SHOWN)]
    if not isinstance(packages, dict) or not _are_texts([*texts, *packages.values()]):
        raise Unsound("has a name, a version or a machine that is no text")
    return Record(line)


def _require_members(table: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for name, kind in kinds.items():
        if name not in table:
            raise Unsound(f"has no {name}")
        if type(table[name]) is not kind:  # to Python True is an int
            raise Unsound(f"has a {name} that is no {kind.__name__}")


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _are_numbers(values: list[Any]) -> bool:
    """Return whether these are numbers, None, or lists of such; to the judge True is 1."""
    return all(
        each is None
        or isinstance(each, float)
        or (isinstance(each, int) and abs(each) < LARGEST)
        or (isinstance(each, list) and _are_numbers(each))
        for each in values
    )
