"""How often `bisect` names the commit that changed an effect, and how often an innocent one.

    python benchmarks/guilty.py                      # simulated histories, some minutes
    python benchmarks/guilty.py --planted            # faults in copies of this project: it trains
    python benchmarks/guilty.py --planted WORD …     # only faults whose names have one of the words

A simulated history has 32 commits, each with other bits, so that each has to be told from both ends
by its seeds. The second table hides faults of `faults.py`, each in a history of its own of this
project: 32 commits, of which three change the random streams, and so all bits but no effect, and
the others no run.

Which faults are hidden is a rule: in turn the first of each study, then the second of each, and so
on, in the order of `faults.py`, until `--minutes` are over. Every fault of a study is looked for in
the one claim of that study in `CLAIMS`. These were chosen before anything was run: they are
reproduced on the generated data by two standard deviations or more, and cheap. A fault may leave
its claim as it was; then the ends do not differ, and `none` is the right answer. Left out are
faults of `STREAMS`, which the innocent commits edit too, and those of code that no claim trains.

`--store DIR` takes the results of the unchanged code from there, if it has them:

    python -m repro evidence add evidence/ci-generated.jsonl.gz --store DIR
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from faults import CONTEXT, EARLY_EXIT, FAULTS, FINETUNING, LADDER, Fault
from teeth import copied, plant

from repro.bisect.search import LOOKS, Measurement, find_change
from repro.judge import Excess

COMMITS = 32
HISTORIES = 5000
EFFECTS = [(1.5, 0.0), (2.0, 0.0), (2.0, 1.0), (3.0, 0.0), (0.0, 2.0)]
UNCHANGED = [(1.0, 1.0), (2.0, 2.0), (0.0, 0.0)]

CLAIMS = {
    LADDER: ("004/bp_climbs[d512]", "claims/test_depth_ladder.py"),
    EARLY_EXIT: (
        "000/perplexity_at_a_threshold[asymmetric 0.7-0.7]",
        "claims/test_early_exit_tables.py",
    ),
    CONTEXT: ("001/one_layer", "claims/test_context_vector.py"),
    FINETUNING: ("003/last_token_beats_first", "claims/test_finetuning.py"),
}
"""The claim of each study in which its faults are looked for, and its file."""

OF_ALL_STUDIES = ("repro/core/", "repro/recipe.py")
"""Code that every study trains with: its faults are looked for in the ladder's claim."""

STREAMS = "repro/core/streams.py"
STREAM = re.compile(r'f"\{seed\}/\{name\}[^"]*"')


def simulated(effect: float, changed: float, generator: np.random.Generator) -> str:
    """Return what the search finds in one history: right, another, several, or none."""
    guilty = int(generator.integers(1, COMMITS))
    effects = [effect] * guilty + [changed] * (COMMITS - guilty)
    values = [generator.normal(each, 1, LOOKS[-1]) for each in effects]

    def measure(place: int, seeds: int) -> Measurement:
        first = values[place][:seeds]
        excess = Excess(first.mean(), first.std(ddof=1), seeds)
        return Measurement((excess,), ("it rises",), tuple(map(str, first)))

    suspects = list(find_change(COMMITS, measure, lambda *told: None).suspects)
    if not suspects:
        return "none"
    if suspects == [guilty]:
        return "right"
    return "among several" if guilty in suspects else "another"


def print_simulated() -> None:
    """Print a row for each change, and for each history without one."""
    answers = ("right", "among several", "another", "none")
    print(f"{HISTORIES} histories of {COMMITS} commits a row; effects in deviations over seeds")
    print(f"{'effect':>8}{'then':>6}" + "".join(f"{each:>15}" for each in answers))
    for row, (effect, changed) in enumerate([*EFFECTS, *UNCHANGED]):
        generator = np.random.default_rng(row)
        found = [simulated(effect, changed, generator) for _ in range(HISTORIES)]
        shares = "".join(f"{found.count(each) / HISTORIES:15.1%}" for each in answers)
        print(f"{effect:8}{changed:6}{shares}", flush=True)


def history_with(fault: Fault, folder: Path) -> int:
    """Make a history of the project in which one commit has the fault; return its place."""
    draw = random.Random(fault.name)
    guilty = draw.randrange(1, COMMITS)
    others = draw.sample([place for place in range(1, COMMITS) if place != guilty], 3)
    copied(folder)
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(folder))
    subprocess.run([*git, "init", "--quiet"], check=True)
    (folder / ".gitignore").write_text(".repro\n__pycache__\n")
    for place in range(COMMITS):
        if place == guilty:
            plant(fault, folder)
        elif place in others:
            streams = folder / STREAMS
            text, count = STREAM.subn(f'f"{{seed}}/{{name}}/{place}"', streams.read_text())
            assert count == 1, f"{STREAMS} has no {STREAM.pattern}"
            streams.write_text(text)
        else:
            (folder / "notes.txt").write_text(f"note {place}\n")
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", f"commit {place}"], check=True)
    return guilty


def study_of(fault: Fault) -> str:
    """Return the study in whose claim a fault is looked for; empty where there is none."""
    if fault.path == STREAMS:
        return ""
    of_all = LADDER if fault.path.startswith(OF_ALL_STUDIES) else ""
    return next((study for study in CLAIMS if fault.path.startswith(study)), of_all)


def in_turn(faults: Sequence[Fault]) -> list[Fault]:
    """Return the first fault of each study, then the second of each, and so on."""
    by_study = [[f for f in faults if study_of(f) == study] for study in CLAIMS]
    return [fault for turn in zip_longest(*by_study) for fault in turn if fault is not None]


@dataclass(frozen=True)
class Search:
    """The end of one search for a planted fault."""

    guilty: int
    named: Sequence[int]
    """The places of the commits that the answer names: one, several, or none."""
    said: str
    trained: int
    seconds: float

    @property
    def answer(self) -> str:
        """The answer in a word, as in the table of simulated histories."""
        if not self.named:
            return "none" if "no commit between changes" in self.said else "an error"
        if list(self.named) == [self.guilty]:
            return "right"
        return "among several" if self.guilty in self.named else "another"


def looked_for(fault: Fault, store: Path) -> Search:
    """Hide a fault in a history, and look for it."""
    claim, file = CLAIMS[study_of(fault)]
    before, began = _runs(store), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="repro-guilty-") as folder:
        guilty = history_with(fault, Path(folder))
        command = [sys.executable, "-m", "repro", "bisect", claim, f"HEAD~{COMMITS - 1}..HEAD"]
        environment = {**os.environ, "PYTHONPATH": folder, "REPRO_STORE": str(store)}
        environment.pop("REPRO_DATA", None)
        done = subprocess.run(
            [*command, "--claims", file],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    answer = done.stdout.rpartition("\n\n")[2]
    named = [int(place) for place in re.findall(r": commit (\d+)$", answer, re.MULTILINE)]
    trained, seconds = _runs(store) - before, time.monotonic() - began
    return Search(guilty, named, done.stdout + done.stderr, trained, seconds)


def _runs(store: Path) -> int:
    return len(list((store / "runs").glob("*/*")))


def print_planted(faults: Sequence[Fault], store: Path, minutes: float) -> None:
    """Print for each fault what the search named, and what that took, until the time is over."""
    began = time.monotonic()
    print(f"{'fault':58}{'claim':52}{'answer':>15}{'trained':>9}{'minutes':>9}")
    for fault in in_turn(faults):
        if time.monotonic() - began > 60 * minutes:
            break
        search = looked_for(fault, store)
        print(
            f"{fault.name:58}{CLAIMS[study_of(fault)][0]:52}{search.answer:>15}"
            f"{search.trained:9}{search.seconds / 60:9.1f}",
            flush=True,
        )
        if search.answer != "right":
            print(f"    guilty: commit {search.guilty}")
            print(textwrap.indent(search.said[-2500:].rstrip(), "    "), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--planted", nargs="*", metavar="WORD", help="hide faults, and look")
    parser.add_argument("--minutes", type=float, default=30, help="begin no fault after (30)")
    parser.add_argument("--store", type=Path, metavar="DIR", help="results that are known")
    options = parser.parse_args()
    if options.planted is None:
        print_simulated()
        return
    words = options.planted
    chosen = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="repro-guilty-store-") as folder:
        store = (options.store or Path(folder)).absolute()
        print_planted(chosen, store, options.minutes)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
