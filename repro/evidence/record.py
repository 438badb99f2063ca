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

LARGEST = 2**63
"""The bound of whole numbers: larger ones are no count, and no float can hold all of them."""

NOT_PACKED = ("host", "pid")
"""Parts of a run's provenance that name a machine or a process, and travel nowhere."""


class Unsound(ValueError):
    """A line is not as it is written; the text goes on from "line 3 …"."""


@dataclass(frozen=True)
class Record:
    """A run that was packed: its result, and what finds it when keys are others."""

    study: str
    """The module that trains its arm."""
    data_sets: tuple[str, ...]
    """Names of the data sets that it read."""
    keeps_weights: bool
    """True where other runs start from the parameters that it ended with."""
    result: Result

    @property
    def key(self) -> str:
        return self.result.key

    @cached_property
    def place(self) -> str:
        """The text that is the same for all results of one arm and seed."""
        return place_of(self.study, self.result.identity["arm"], self.result.identity["seed"])

    @property
    def name(self) -> str:
        """The run in words, as far as the file has them."""
        return f"{arm_and_seed(self.result.identity)} ({self.key[:12]})"

    def line(self) -> dict[str, Any]:
        """Return the record as it is written."""
        return {
            "kind": "run",
            "key": self.key,
            "study": self.study,
            "data_sets": list(self.data_sets),
            "keeps_weights": self.keeps_weights,
            "identity": self.result.identity,
            "values": self.result.values,
            "provenance": self.result.provenance,
        }


def arm_and_seed(identity: Mapping[str, Any]) -> str:
    """Return the type of an arm and the seed that an identity names.

    >>> arm_and_seed({"arm": {"arm": "LadderArm", "width": 256}, "seed": 42})
    'LadderArm, seed 42'
    """
    return f"{identity['arm']['arm']}, seed {identity['seed']}"


def record_of(run: Run, result: Result) -> Record:
    """Return the record of a stored run.

    >>> record_of(run, store.get(identity)).line()["kind"]
    'run'
    """
    made = {name: x for name, x in result.provenance.items() if name not in NOT_PACKED}
    return Record(
        study=run.arm.study,
        data_sets=tuple(run.arm.data_sets),
        keeps_weights=run.arm.keeps_weights,
        result=Result(result.key, result.identity, _numbers(result.values), made, result.weights),
    )


def _numbers(value: Any) -> Any:
    """Return values in which a measure that is True or False is 1 or 0, as the judge takes it."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return int(value) if isinstance(value, bool) else value


def place_of(study: str, arm: Mapping[str, Any], seed: int) -> str:
    """Return the text that is the same for all results of one arm and seed, whatever their key.

    >>> place_of("spirals", {"arm": "Spiral", "width": 8}, 3)
    '["spirals",{"arm":"Spiral","width":8},3]'
    """
    return json.dumps([study, plain(arm, "arm"), seed], sort_keys=True, separators=(",", ":"))


def sound_record(line: Mapping[str, Any]) -> Record:
    """Return the record of a parsed line; raises `Unsound`.

    >>> sound_record({"kind": "run", "key": "none"})
    Traceback (most recent call last):
    repro.evidence.record.Unsound: has no study
    """
    study = _taken(line, "study", str)
    key = _taken(line, "key", str)
    data_sets = _taken(line, "data_sets", list)
    identity = _taken(line, "identity", dict)
    values = _taken(line, "values", dict)
    provenance = _taken(line, "provenance", dict)
    if not all(isinstance(name, str) for name in data_sets):
        raise Unsound("has data sets whose names are no text")
    arm = _taken(identity, "arm", dict)
    _taken(arm, "arm", str)
    _taken(identity, "seed", int)
    for name in ("code", "device", "torch"):
        _taken(identity, name, str)
    try:
        plain({"values": values, "provenance": provenance}, "it")
        true_key = run_key(identity)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unsound(f"has a value that no result has: {error}") from None
    if key != true_key:
        raise Unsound("has the identity of another run than its key says")
    keeps_weights = _taken(line, "keeps_weights", bool)
    record = Record(
        study, tuple(data_sets), keeps_weights, Result(key, identity, values, provenance)
    )
    _require_values(record)
    _require_provenance(record)
    return record


def _taken(table: Mapping[str, Any], name: str, kind: type) -> Any:
    if name not in table:
        raise Unsound(f"has no {name}")
    if type(table[name]) is not kind:
        raise Unsound(f"has a {name} that is no {kind.__name__}")
    return table[name]


def _require_values(record: Record) -> None:
    """Raise `Unsound` where values are not those of a run, such as what is no number."""
    values, name = record.result.values, record.name
    history = _taken(values, "history", dict)
    if not all(isinstance(each, list) and _are_numbers(each) for each in history.values()):
        raise Unsound(f"has a history of {name} that is not made of lists of numbers")
    if "diverged_at" in values:
        _require_count(values, "diverged_at", name)
    else:
        _require_count(values, "steps", name)
        if not _are_numbers(list(_taken(values, "measures", dict).values())):
            raise Unsound(f"has measures of {name} that are no numbers")


def _require_provenance(record: Record) -> None:
    """Raise `Unsound` where provenance has other types than a run's, which reports show."""
    made, name = record.result.provenance, record.name
    packages = made.get("packages", {})
    known = ("machine", "commit", "python", "finished", "engine")
    texts = [made.get(each) or "" for each in known]
    if not isinstance(packages, dict) or not _are_texts([*texts, *packages.values()]):
        raise Unsound(f"has a provenance of {name} with something that is no text")
    if not _are_numbers([made.get("seconds")]) or (made.get("seconds") or 0.0) < 0:
        raise Unsound(f"has a provenance of {name} whose seconds are no time")


def _require_count(values: Mapping[str, Any], field: str, name: str) -> None:
    if type(values.get(field)) is not int or not 0 <= values[field] < LARGEST:
        raise Unsound(f"has no {field} of {name}")


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _are_numbers(values: list[Any]) -> bool:
    """Return whether these are numbers, None, or lists of such."""
    return all(
        each is None
        or (type(each) is int and abs(each) < LARGEST)  # to Python True is an int
        or isinstance(each, float)
        or (isinstance(each, list) and _are_numbers(each))
        for each in values
    )
