"""Measures claims of the project in the current folder, over seeds from a later one on.

    python benchmarks/measured_claims.py INTO SKIPPED SEEDS CLAIMS-FILE CLAIM …

Writes for each claim what `bisect` measures at a commit, or the reason why there is nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from repro.arm import Arm
from repro.bisect.at_commit import measure
from repro.plugin.reading import with_claims
from repro.plugin.session import ClaimSession


def skip_seeds(skipped: int) -> None:
    """Let the seeds of every arm begin past so many."""
    usual = Arm.seeds.__func__  # type: ignore[attr-defined]

    def later(cls: type[Arm], count: int) -> list[int]:
        return list(usual(cls, count + skipped)[skipped:])

    Arm.seeds = classmethod(later)  # type: ignore[assignment,method-assign]


def measured(session: ClaimSession, claims: list[str], seeds: int) -> dict[str, Any]:
    """What each claim is over so many seeds."""
    found: dict[str, Any] = {}
    for claim in claims:
        try:
            found[claim] = measure(session, claim, seeds, lambda status: None)
        except Exception as error:  # of a broken project: it is what is looked for
            found[claim] = {"failed": f"{type(error).__name__}: {error}"}
    return found


def main() -> None:
    into, skipped, seeds, file, *claims = sys.argv[1:]
    skip_seeds(int(skipped))
    found = with_claims([], [file], lambda session: measured(session, claims, int(seeds)))
    Path(into).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
