"""Lists the runs that would settle open claims, as a table for a cluster."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from repro.judge import Verdict
from repro.recorded.judging import further
from repro.recorded.source import RecordedArm
from repro.text import shown


@dataclass
class Wanted:
    """The wanted runs, each with the claims that want it, and a sentence for each claim."""

    runs: dict[tuple[RecordedArm, int], list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def add(self, claim: str, runs: Iterable[tuple[RecordedArm, Sequence[int]]], why: str) -> None:
        """Add the wanted runs of a claim."""
        self.said.append(f"{claim}: {why}")
        for arm, seeds in runs:
            for seed in seeds:
                self.runs.setdefault((arm, seed), []).append(claim)

    def add_open(
        self, claim: str, findings: Sequence[Verdict], arms: Sequence[RecordedArm]
    ) -> None:
        """Add the further seeds that would probably settle the open findings of a claim."""
        for finding in findings:
            why = finding.reason or finding.advice
            seeds = finding.wanted
            if why:
                self.add(claim, further(arms, seeds).items() if seeds else (), why)

    def table(self) -> str:
        """Return the runs as CSV: the source, the settings of the arm, the seed, the claims."""
        columns = list(dict.fromkeys(name for arm, _ in self.runs for name, _ in arm.chosen))
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["source", *columns, "seed", "claims"])
        for (arm, seed), claims in self.runs.items():
            chosen = dict(arm.chosen)
            cells = [arm.data, *(chosen.get(name, "") for name in columns), seed, "; ".join(claims)]
            rows.writerow([shown(str(cell)) for cell in cells])
        return text.getvalue()
