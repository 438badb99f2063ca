"""How often `bisect` names the commit that changed an effect, and how often an innocent one.

    python benchmarks/guilty.py                      # simulated histories, a minute
    python benchmarks/guilty.py --planted            # faults in copies of this project: it trains
    python benchmarks/guilty.py --planted WORD …     # only faults whose names have one of the words

A simulated history has 32 commits, each with other bits, so that each has to be told from both ends
by its seeds. `--planted` hides real faults in histories of this project; which ones, in which claim
each is looked for and where it is hidden is a rule, which `planted.py` has.

`--store DIR` takes the results of the unchanged code from there, if it has them:

    python -m repro evidence add evidence/ci-generated.jsonl.gz --store DIR
"""

from __future__ import annotations

import argparse
import os
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from faults import FAULTS, Fault
from planted import (
    CLAIMS,
    COMMITS,
    INNOCENT,
    PROMISED,
    Hidden,
    Moved,
    Searches,
    Workshop,
    in_turn,
    study_of,
)

from repro.bisect.search import LOOKS, Measurement, find_change
from repro.judge import Excess

HISTORIES = 5000
CHANGES = [
    *((1.5, 0.0, 1.0), (2.0, 0.0, 1.0), (2.0, 1.0, 1.0), (3.0, 0.0, 1.0), (0.0, 2.0, 1.0)),
    *((1.0, 1.0, 1.0), (2.0, 2.0, 1.0), (0.0, 0.0, 1.0)),
    *((2.0, 0.0, 3.6), (4.0, 0.0, 3.6), (8.0, 0.0, 3.6), (2.0, 2.0, 3.6)),
]
"""The effect before the guilty commit and after it, and the deviation over seeds after it."""

ANSWERS = ("right", "among several", "another", "none", "an error")


def simulated(effect: float, changed: float, spread: float, generator: np.random.Generator) -> str:
    """Return what the search finds in one history: right, another, several, or none."""
    guilty = int(generator.integers(1, COMMITS))
    commits = [(effect, 1.0)] * guilty + [(changed, spread)] * (COMMITS - guilty)
    values = [generator.normal(*commit, LOOKS[-1]) for commit in commits]

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
    answers = ANSWERS[:-1]
    print(f"{HISTORIES} histories of {COMMITS} commits a row; effects in deviations over seeds")
    print(f"{'effect':>8}{'then':>6}{'spread':>8}" + "".join(f"{each:>15}" for each in answers))
    for row, change in enumerate(CHANGES):
        generator = np.random.default_rng(row)
        found = [simulated(*change, generator) for _ in range(HISTORIES)]
        shares = "".join(f"{found.count(each) / HISTORIES:15.1%}" for each in answers)
        print("{:8}{:6}{:8}".format(*change) + shares, flush=True)


def print_searched(searches: Searches, fault: Fault, found: Moved, places: int) -> Counter[str]:
    """Search for a fault at several places, and print how the searches ended."""
    began, before = time.monotonic(), searches.runs
    first = Hidden.drawn(fault, 0)
    with tempfile.TemporaryDirectory(prefix="repro-guilty-") as folder:
        answer, said = searches.by_command(first, found.claim, Path(folder))
    further = [Hidden.drawn(fault, number) for number in range(1, places)]
    answers = [answer, *(searches.by_measurements(each, found.claim) for each in further)]
    count = Counter(answers)
    told = ", ".join(f"{count[each]} {each}" for each in ANSWERS if count[each])
    minutes = (time.monotonic() - began) / 60
    print(f"    the first: {answer}; of {places}: {told}; {searches.runs - before} runs trained,")
    print(f"    {minutes:.1f} minutes", flush=True)
    if answer != "right":
        print(textwrap.indent(said[-2500:].rstrip(), "        "), flush=True)
    return count


def print_planted(
    faults: Sequence[Fault], searches: Searches, minutes: float, places: int
) -> list[tuple[str, str]]:
    """Screen each fault and search for it, until the time is over; return the claims searched."""
    began, total, searched = time.monotonic(), Counter[str](), {}
    for fault in in_turn(faults):
        if time.monotonic() - began > 60 * minutes:
            break
        found = searches.screened(fault)
        print(f"{fault.name:58}{found.claim:56}{found.by:8.1f} sd, spread x {found.spread:.1f}")
        if found.by < PROMISED:
            print("    moves no claim", flush=True)
            continue
        total += print_searched(searches, fault, found, places)
        searched[CLAIMS[study_of(fault)][0], found.claim] = True
    told = ", ".join(f"{total[each]} {each}" for each in ANSWERS if total[each])
    print(f"of {total.total()} histories: {told}", flush=True)
    return list(searched)


def print_innocent(searches: Searches, claims: Sequence[tuple[str, str]], minutes: float) -> None:
    """Search histories without a guilty commit by each claim, until the time is over."""
    began, named = time.monotonic(), []
    for ends in combinations(range(INNOCENT + 1), 2):
        for file, claim in claims:
            if time.monotonic() - began > 60 * minutes:
                break
            named.append(searches.names_one_of_innocent(file, claim, ends))
            print(f"nobody guilty: {claim:56} random numbers {ends}: {named[-1]}", flush=True)
    print(f"a commit is named in {sum(named)} of {len(named)} histories without a guilty one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--planted", nargs="*", metavar="WORD", help="hide faults, and look")
    parser.add_argument("--minutes", type=float, default=30, help="begin no fault after (30)")
    parser.add_argument("--innocent", type=float, default=10, help="minutes for them (10)")
    parser.add_argument("--places", type=int, default=10, help="histories of each fault (10)")
    parser.add_argument("--store", type=Path, metavar="DIR", help="results that are known")
    options = parser.parse_args()
    if options.planted is None:
        print_simulated()
        return
    words = options.planted
    chosen = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="repro-guilty-shop-") as folder:
        store = (options.store or Path(folder) / "store").absolute()
        searches = Searches(Workshop(Path(folder), store))
        claims = print_planted(chosen, searches, options.minutes, options.places)
        print_innocent(searches, claims, options.innocent)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
