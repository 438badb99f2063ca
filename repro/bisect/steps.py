"""Measures commits in their worktrees: a process for each measurement, one store for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from repro.bisect.errors import Unmeasurable
from repro.bisect.history import Commit, Worktrees
from repro.bisect.search import Measurement, State
from repro.judge import Excess
from repro.text import shown


@dataclass
class Steps:
    """The steps of a search, which `find_change` takes."""

    claim: str
    options: Sequence[str]
    """Pytest's arguments: where the claim is, and how it is trained."""
    commits: Sequence[Commit]
    trees: Worktrees

    def measure(self, place: int, seeds: int) -> Measurement:
        """Measure the commit at a place; raises `Unmeasurable` where that cannot be."""
        commit = self.commits[place]
        folder = self.trees.at(commit)
        into = self.trees.place / f"{commit.short}-{seeds}.json"
        command = [sys.executable, "-m", "repro.bisect.at_commit"]
        done = subprocess.run(
            [*command, self.claim, str(seeds), str(into), *self.options],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": self.trees.search_path(commit)},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if not into.exists():
            last = done.stderr.strip().rpartition("\n")[2] or f"exit {done.returncode}"
            raise Unmeasurable(f"its code cannot be run: {last}")
        said = json.loads(into.read_text(encoding="utf-8"))
        if "failed" in said:
            raise Unmeasurable(said["failed"])
        return Measurement(
            excesses=tuple(Excess(*each) for each in said["excesses"]),
            claimed=tuple(said["claimed"]),
            results=tuple(said["results"]),
            told=tuple(said["told"]),
            trained=said["trained"],
        )

    def tell(self, place: int, state: State, why: str) -> None:
        """Print what a commit was found to be."""
        commit = self.commits[place]
        print(shown(f"{commit.short}  {state.value}: {why}  ({commit.subject})"), flush=True)
