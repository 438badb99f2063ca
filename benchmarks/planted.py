"""Faults of `faults.py`, hidden in histories of this project, and looked for by `bisect`.

The rule was written down before anything was run by it.

Which faults. In turn the first of each study of `CLAIMS`, then the second of each, and so on, in
the order of `faults.py`, until the time is over. Faults of code that every study trains with are
looked for in the ladder's claims. Left out are faults of `STREAMS`, which the innocent commits edit
too, and those of code that no claim of `CLAIMS` trains.

In which claim. A search for a fault that leaves its claim as it was says nothing about the search.
So each fault is screened first: `CLAIMS` has for each study a fixed list of claims, chosen by their
cost and because they share arms. They are measured with and without the fault, over seeds that the
search never uses (its own are the first `LOOKS[-1]`). A claim has moved by the largest change among
the means of its comparisons, in standard deviations that the comparison has over seeds without the
fault. The claim that has moved most is the one to search by. A fault by which no claim moves by
`PROMISED`, the size that is promised to be found, is listed with the size, and does not count.

How it is hidden. A history has 32 commits. One has the fault, three others change the random
streams and so all bits but no effect, and the rest change no run. The places are drawn. The first
history of each fault is one in git, and the command searches it. The further ones are searched by
what the command runs, `find_change`, on measurements of the same code: histories differ in where
the commits lie, but not in which code there can be. So the places of a fault share their runs. A
history without a guilty commit goes from one state of the random streams to another one.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from faults import CONTEXT, EARLY_EXIT, FINETUNING, LADDER, Fault
from teeth import copied, plant

from repro.bisect.errors import SearchError, Unmeasurable
from repro.bisect.search import LOOKS, Measurement, find_change
from repro.judge import Excess

COMMITS = 32
INNOCENT = 3
"""The commits of a history that change all random streams."""

PROMISED = 2.0
SCREENED_WITHOUT, SCREENED_WITH = 8, 5
"""The seeds of a screening, without the fault and with it."""

CLAIMS = {
    LADDER: (
        "claims/test_depth_ladder.py",
        "004/bp_climbs[d512]",
        "004/order_of_the_rules[d512-weights]",
        "004/fa_credit_is_better_aligned_than_dfa[d512-weights]",
        "004/frozen_is_far_above_chance[d512-bp]",
    ),
    EARLY_EXIT: (
        "claims/test_early_exit.py",
        "000/easy_tokens_leave_early[asymmetric 0.7-wikitext-2]",
        "000/early_exit_saves_computation[asymmetric 0.7-0.35-wikitext-2]",
        "000/weight_on_layer_1_makes_it_better[wikitext-2]",
    ),
    CONTEXT: (
        "claims/test_context_vector.py",
        "001/small_weights_hide_the_input",
        "001/one_layer",
        "001/depth_alone",
    ),
    FINETUNING: (
        "claims/test_finetuning.py",
        "003/last_token_beats_first",
        "003/last_block_beats_last_layer",
        "003/training_is_above_test[1]",
        "003/beats_first_token[1]",
    ),
}
"""For each study the file of its claims, and those in which its faults may be looked for."""

OF_ALL_STUDIES = ("repro/core/", "repro/recipe.py")
STREAMS = "repro/core/streams.py"
STREAM = re.compile(r'f"\{seed\}/\{name\}[^"]*"')


def study_of(fault: Fault) -> str:
    """Return the study in whose claims a fault is looked for; empty where there is none."""
    if fault.path == STREAMS:
        return ""
    of_all = LADDER if fault.path.startswith(OF_ALL_STUDIES) else ""
    return next((study for study in CLAIMS if fault.path.startswith(study)), of_all)


def in_turn(faults: Sequence[Fault]) -> list[Fault]:
    """Return the first fault of each study, then the second of each, and so on."""
    by_study = [[f for f in faults if study_of(f) == study] for study in CLAIMS]
    return [fault for turn in zip_longest(*by_study) for fault in turn if fault is not None]


@dataclass(frozen=True)
class Code:
    """One state of the project: which random streams it has, and which fault, if any."""

    streams: int = 0
    fault: Fault | None = None

    def write(self, project: Path) -> None:
        """Bring an untouched copy of the project into this state."""
        if self.streams:
            change_streams(project, self.streams)
        if self.fault:
            plant(self.fault, project)


def change_streams(project: Path, number: int) -> None:
    """Give the project the random streams of a number, in place of those that it has."""
    path = project / STREAMS
    text, count = STREAM.subn(f'f"{{seed}}/{{name}}/{number}"', path.read_text())
    assert count == 1, f"{STREAMS} has no {STREAM.pattern}"
    path.write_text(text)


@dataclass(frozen=True)
class Hidden:
    """A history in which one commit has a fault."""

    fault: Fault
    guilty: int
    innocent: Sequence[int]

    @classmethod
    def drawn(cls, fault: Fault, number: int) -> Hidden:
        """Draw the places of the guilty commit and of those that change the random streams."""
        draw = random.Random(f"{fault.name}/{number}")
        guilty = draw.randrange(1, COMMITS)
        others = draw.sample([place for place in range(1, COMMITS) if place != guilty], INNOCENT)
        return cls(fault, guilty, sorted(others))

    def code(self, place: int) -> Code:
        """Return the state of the project at a commit."""
        streams = sum(each <= place for each in self.innocent)
        return Code(streams, self.fault if place >= self.guilty else None)

    def write(self, folder: Path) -> None:
        """Write it as a history in git."""
        copied(folder)
        git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(folder))
        subprocess.run([*git, "init", "--quiet"], check=True)
        (folder / ".gitignore").write_text(".repro\n__pycache__\n")
        for place in range(COMMITS):
            if place == self.guilty:
                plant(self.fault, folder)
            elif place in self.innocent:
                change_streams(folder, self.code(place).streams)
            else:
                (folder / "notes.txt").write_text(f"note {place}\n")
            subprocess.run([*git, "add", "--all"], check=True)
            subprocess.run([*git, "commit", "--quiet", "-m", f"commit {place}"], check=True)

    def answer(self, named: Sequence[int]) -> str:
        """Say in a word what it means that these places were named."""
        if list(named) == [self.guilty]:
            return "right"
        if not named:
            return "none"
        return "among several" if self.guilty in named else "another"


@dataclass
class Workshop:
    """Copies of the project in its states, and what was measured in them."""

    place: Path
    store: Path
    known: dict[tuple[Code, str, int], Measurement | str] = field(default_factory=dict)

    def folder(self, code: Code) -> Path:
        """Return a copy of the project in a state."""
        name = f"{code.fault.name if code.fault else 'clean'} {code.streams}"
        folder = self.place / re.sub(r"\W+", "-", name)
        if not folder.exists():
            folder.mkdir()
            code.write(copied(folder))
        return folder

    def claims_at(self, code: Code, skipped: int, seeds: int, named: Sequence[str]) -> Any:
        """Measure claims of one file over seeds past so many, in a process there."""
        folder, into = self.folder(code), self.place / "measured.json"
        into.unlink(missing_ok=True)
        program = Path(__file__).with_name("measured_claims.py")
        command = [sys.executable, str(program), str(into), str(skipped), str(seeds), *named]
        done = run_in(folder, self.store, command)
        if not into.exists():
            why = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
            return {claim: {"failed": why} for claim in named[1:]}
        return json.loads(into.read_text(encoding="utf-8"))

    def measure(self, code: Code, claims: str, claim: str, seeds: int) -> Measurement:
        """Measure a claim in a state, as the search asks for it."""
        key = (code, claim, seeds)
        if key not in self.known:
            said = self.claims_at(code, 0, seeds, [claims, claim])[claim]
            self.known[key] = said["failed"] if "failed" in said else _measurement(said)
        known = self.known[key]
        if isinstance(known, str):
            raise Unmeasurable(known)
        return known


def run_in(folder: Path, store: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command with the code of a folder, on generated data."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "REPRO_STORE": str(store)}
    environment.pop("REPRO_DATA", None)
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _measurement(said: Any) -> Measurement:
    excesses = tuple(Excess(*each) for each in said["excesses"])
    texts = (tuple(said[name]) for name in ("claimed", "results", "told"))
    return Measurement(excesses, *texts, said["trained"])


@dataclass(frozen=True)
class Moved:
    """How far a claim moves by a fault."""

    claim: str
    by: float
    """In standard deviations without the fault; infinite where a value is lost."""
    spread: float = np.nan
    """The standard deviation with the fault over that without it, of the same comparison."""


def moved(claim: str, without: Any, planted: Any) -> Moved:
    """Compare a claim without a fault and with it; it has not moved where it has no spread."""
    if "failed" in planted or "failed" in without or not without["excesses"]:
        return Moved(claim, 0.0)
    if not planted["excesses"]:
        return Moved(claim, np.inf)
    sizes = [(0.0, np.nan)]
    for there, here in zip(without["excesses"], planted["excesses"], strict=False):
        if there[1]:
            sizes.append((abs(here[0] - there[0]) / there[1], here[1] / there[1]))
    return Moved(claim, *max(sizes, key=lambda each: each[0]))


@dataclass
class Searches:
    """Screens faults, and searches for them."""

    shop: Workshop
    _without: dict[str, Any] = field(default_factory=dict)

    def screened(self, fault: Fault) -> Moved:
        """Return the claim that a fault moves most."""
        claims = CLAIMS[study_of(fault)]
        skipped = LOOKS[-1]
        if claims[0] not in self._without:
            said = self.shop.claims_at(Code(), skipped, SCREENED_WITHOUT, claims)
            self._without[claims[0]] = said
        without = self._without[claims[0]]
        planted = self.shop.claims_at(Code(fault=fault), skipped, SCREENED_WITH, claims)
        found = [moved(claim, without[claim], planted[claim]) for claim in claims[1:]]
        return max(found, key=lambda each: each.by)

    def by_command(self, hidden: Hidden, claim: str, folder: Path) -> tuple[str, str]:
        """Let the command search a history in git; return the answer, and all that it said."""
        hidden.write(folder)
        command = [sys.executable, "-m", "repro", "bisect", claim, f"HEAD~{COMMITS - 1}..HEAD"]
        file = CLAIMS[study_of(hidden.fault)][0]
        done = run_in(folder, self.shop.store, [*command, "--claims", file])
        said = done.stdout.rpartition("\n\n")[2]
        named = [int(place) for place in re.findall(r": commit (\d+)$", said, re.MULTILINE)]
        is_answer = bool(named) or "cannot be told apart" in said
        return hidden.answer(named) if is_answer else "an error", done.stdout + done.stderr

    def by_measurements(self, hidden: Hidden, claim: str) -> str:
        """Search a history by what its states of the code were measured to be."""
        file = CLAIMS[study_of(hidden.fault)][0]

        def measure(place: int, seeds: int) -> Measurement:
            return self.shop.measure(hidden.code(place), file, claim, seeds)

        try:
            return hidden.answer(list(find_change(COMMITS, measure).suspects))
        except SearchError:
            return "an error"

    def names_one_of_innocent(self, claims: str, claim: str, ends: tuple[int, int]) -> bool:
        """Search a history that goes from one state of the random streams to another one."""

        def measure(place: int, seeds: int) -> Measurement:
            return self.shop.measure(Code(ends[place >= COMMITS // 2]), claims, claim, seeds)

        return bool(find_change(COMMITS, measure).suspects)

    @property
    def runs(self) -> int:
        """The number of runs in the store."""
        return len(list((self.shop.store / "runs").glob("*/*")))
