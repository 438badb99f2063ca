"""How often `bisect` names the commit that changed an effect, and how often an innocent one.

    python benchmarks/guilty.py                     # simulated histories, some minutes
    python benchmarks/guilty.py --planted WORD …    # faults in copies of this project: it trains

A simulated history has 32 commits, each with other bits, so that each has to be told from both ends
by its seeds. The second table hides faults of `faults.py`, those whose names have one of the words,
each in a history of its own of this project: 32 commits, of which three change the random streams,
and so all bits but no effect, and the others no run.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from faults import FAULTS, Fault
from teeth import copied, plant

from repro.bisect.search import LOOKS, Measurement, find_change
from repro.judge import Excess

COMMITS = 32
HISTORIES = 5000
EFFECTS = [(1.5, 0.0), (2.0, 0.0), (2.0, 1.0), (3.0, 0.0), (0.0, 2.0)]
UNCHANGED = [(1.0, 1.0), (2.0, 2.0), (0.0, 0.0)]

CLAIM = "004/bp_climbs[d512]"
CLAIM_FILE = "claims/test_depth_ladder.py"
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


def print_planted(faults: list[Fault]) -> None:
    """Print for each fault which commit is named, and how many runs that took."""
    for fault in faults:
        with tempfile.TemporaryDirectory(prefix="repro-guilty-") as folder:
            guilty = history_with(fault, Path(folder))
            command = [sys.executable, "-m", "repro", "bisect", CLAIM, f"HEAD~{COMMITS - 1}..HEAD"]
            environment = {**os.environ, "PYTHONPATH": folder}
            environment.pop("REPRO_DATA", None)
            done = subprocess.run(
                [*command, "--claims", CLAIM_FILE],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        named = re.findall(r"commit (\d+)$", done.stdout, re.MULTILINE)
        print(f"{fault.name:54} guilty: {guilty}")
        print(done.stdout[-1500:] + done.stderr[-500:], named, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--planted", nargs="+", metavar="WORD", help="faults to hide")
    words = parser.parse_args().planted
    if words:
        print_planted([f for f in FAULTS if any(word in f.name for word in words)])
    else:
        print_simulated()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
