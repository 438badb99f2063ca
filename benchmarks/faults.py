"""Faults to plant in the code, each as one edit; `faults/` has a file of them for each part.

A fault that nothing notices means that a broken experiment, or a broken gate, could look whole.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("faults")


@dataclass(frozen=True)
class Fault:
    """An edit, and the tests that have to notice it."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    claims: tuple[str, ...]

    def planted(self, text: str) -> str:
        """The text of its file with the fault in it."""
        if text.count(self.old) != 1:
            raise SystemExit(
                f"{self.name}: {self.path} has {text.count(self.old)} places that read"
                f" {self.old!r}; mend the fault in benchmarks/faults."
            )
        return text.replace(self.old, self.new)


def faults_of(file: str) -> list[Fault]:
    """The faults of one file, such as `training`."""
    tables = tomllib.loads((FOLDER / f"{file}.toml").read_text())
    who = {kind: tuple(tables.pop(kind, ())) for kind in ("tests", "claims")}
    return [Fault(name=name, **edit, **who) for name, edit in tables.items()]


FAULTS = [fault for path in sorted(FOLDER.glob("*.toml")) for fault in faults_of(path.stem)]
