"""The verdicts that were last accepted: a text file beside the claims, under version control.

One entry a claim, profile and data set. A claim that was reproduced and is not any more fails; one
that was not is an expected failure, with the finding as its reason. What was reproduced says where,
and how far past their bounds its comparisons were: on another kind of machine runs are other runs.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "ledger.toml"

_HEAD = """\
# The verdicts that were last accepted, one entry a claim, profile and data set.
# Written by `pytest claims --update-ledger`; a change here is a change of what is known.
"""


class LedgerError(Exception):
    """A ledger that cannot be read; says where and what to do."""


@dataclass(frozen=True)
class Entry:
    """What was accepted of one claim."""

    claim: str
    profile: str
    data: str
    verdict: str
    sentence: str
    documented: str
    measured: str
    machine: str = ""
    """What trained the runs of what was reproduced: device, processor, torch, engine."""
    past: Sequence[tuple[float, float, int]] = ()
    """Mean, spread and seeds of each comparison of what was reproduced, past its bound."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.claim, self.profile, self.data


class Ledger:
    """The entries of one file.

    >>> Ledger.read(Path("claims/ledger.toml")).entry("004/bp_climbs[d256]", "ci", "cifar10")
    """

    def __init__(self, path: Path, entries: Iterable[Entry]) -> None:
        self.path = path
        self.entries = {entry.place: entry for entry in entries}

    @classmethod
    def read(cls, path: Path) -> Ledger:
        """The ledger at a path; an empty one where there is no file."""
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
            return cls(path, [Entry(**entry) for entry in found.get("claim", [])])
        except FileNotFoundError:
            return cls(path, [])
        except (tomllib.TOMLDecodeError, TypeError, UnicodeDecodeError) as error:
            raise LedgerError(
                f"The ledger {path} cannot be read ({error}); restore it from version control."
            ) from error

    def entry(self, claim: str, profile: str, data: str) -> Entry | None:
        """What was accepted of a claim; None where nothing was yet."""
        return self.entries.get((claim, profile, data))

    def accept(self, entries: Iterable[Entry]) -> None:
        """Take these verdicts over and write the file, sorted, so that its diff can be read."""
        self.entries |= {entry.place: entry for entry in entries}
        blocks = [_block(self.entries[place]) for place in sorted(self.entries)]
        beside = self.path.with_suffix(f".{os.getpid()}.new")
        beside.write_text(_HEAD + "".join(blocks), encoding="utf-8")
        beside.replace(self.path)


def _block(entry: Entry) -> str:
    optional = ("machine", "past")
    lines = [
        f"{name} = {_quoted(value)}"
        for name, value in vars(entry).items()
        if value or name not in optional
    ]
    return "\n[[claim]]\n" + "\n".join(lines) + "\n"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)  # a JSON string is a TOML string
