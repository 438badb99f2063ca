"""Ledgers of many claims: the seconds of docs/scale.md, and the merges by git of docs/ci.md.

    python benchmarks/ledger.py            # 10,000 entries, 200 merges of each kind
    python benchmarks/ledger.py --quick    # 1,000 and 10

The entries are those of this project's ledgers, under further names. Two branches leave a ledger of
150 entries. Each changes, adds and removes entries at random, and the other one leaves them alone.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from repro.ledger import Entry, Ledger, entries_at, read_ledgers
from repro.ledger.entry import text_of

ROOT = Path(__file__).parents[1]
FILES = 20
"""The files of claims that the ledger is for."""

BASE = 150
KINDS = {
    "36 changes each": ("c" * 36, "c" * 36),
    "75 changes each": ("c" * 75, "c" * 75),
    "a new claim each": ("n", "n"),
    "a claim removed by each": ("r", "r"),
    "a new claim, 30 changes": ("n", "c" * 30),
    "a claim removed, 30 changes": ("r", "c" * 30),
    "10 changes, one new, one removed each": ("c" * 10 + "nr", "c" * 10 + "nr"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="1,000 entries, 10 merges")
    entries, pairs = (1_000, 10) if parser.parse_args().quick else (10_000, 200)
    known = entries_at(ROOT / "claims" / "ledger")
    with tempfile.TemporaryDirectory() as folder:
        times(Path(folder), known, entries)
    print("\n| two branches | conflicts | lines of the largest | other than one session's |")
    print("|---|--:|--:|--:|")
    for kind, changes in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            conflicts, differ = merges(Path(folder), known, changes, pairs)
        largest = max(conflicts, default=0)
        print(f"| {kind} | {len(conflicts)} of {pairs} | {largest} | {differ} |")


def times(folder: Path, known: list[Entry], count: int) -> None:
    """Print how long a ledger of so many entries takes, in as many files as there are."""
    copies = range(-(-count // len(known)))
    entries = [replace(x, claim=f"{x.claim}-{n}") for n in copies for x in known][:count]
    parts = folder / "ledger"
    parts.mkdir()
    of_claim = {name: n for n, name in enumerate(dict.fromkeys(x.claim for x in entries))}
    print(f"| {count:,} entries | seconds |\n|---|--:|")
    for n in range(FILES):
        own = [entry for entry in entries if of_claim[entry.claim] % FILES == n]
        Ledger(parts / f"test_{n}.toml", []).accept(own)
    say(f"read {FILES} files", lambda: read_ledgers(parts.parent))
    say("read one of them", lambda: Ledger.read(parts / "test_0.toml"))
    changed = replace(entries[0], measured="other")
    say(
        "change an entry in one of them",
        lambda: Ledger.read(parts / "test_0.toml").accept([changed]),
    )


def say(what: str, do: Callable[[], object]) -> None:
    began = time.process_time()
    do()
    print(f"| {what} | {time.process_time() - began:.2f} |")


def merges(
    folder: Path, known: list[Entry], changes: tuple[str, str], count: int
) -> tuple[list[int], int]:
    """Merge so many pairs of branches; return the lines of each conflict, and how many differ.

    All pairs are files of two branches of one repository, which git merges one by one.
    """
    cases = [case(random.Random(number), known, changes) for number in range(count)]
    git(folder, "init", "--quiet", "--initial-branch", "base")
    for branch in ("base", "ours", "theirs"):
        git(folder, "checkout", "--quiet", *(() if branch == "base" else ("-b", branch, "base")))
        for number, states in enumerate(cases):
            (folder / f"{number}.toml").write_bytes(text_of(states[branch].values()))
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", branch)
    git(folder, "merge", "--quiet", "--no-edit", "ours")
    conflicts, differ = [], 0
    for number, states in enumerate(cases):
        text = (folder / f"{number}.toml").read_bytes()
        if b"<<<<<<< " in text:
            inside = text[text.index(b"<<<<<<< ") : text.rindex(b">>>>>>> ")]
            conflicts.append(inside.count(b"\n") - 1)
        else:
            differ += text != text_of(states["merged"].values())
    return conflicts, differ


States = dict[str, dict[tuple[str, str, str], Entry]]
"""The entries of each branch, by their places."""


def case(draw: random.Random, known: list[Entry], changes: tuple[str, str]) -> States:
    """Return what two branches make of a ledger, and what one session would."""
    first = draw.randrange(len(known) - BASE - 40)
    near = known[first : first + BASE + 40]  # of few sources, as a file of claims has them
    draw.shuffle(near)
    old, new = near[:BASE], near[BASE:]
    base = {entry.place: entry for entry in old}
    states: States = {name: dict(base) for name in ("base", "ours", "theirs", "merged")}
    for branch, kinds in zip(("ours", "theirs"), changes, strict=True):
        for kind in kinds:
            entry = new.pop() if kind == "n" else old.pop()
            for name in (branch, "merged"):
                if kind == "r":
                    del states[name][entry.place]
                else:
                    found = entry if kind == "n" else judged_again(entry)
                    states[name][entry.place] = found
    return states


def judged_again(entry: Entry) -> Entry:
    """Return what another session may have found of a claim."""
    if entry.verdict == "reproduced":
        return replace(entry, verdict="inconclusive", measured="a - b = 0.1", machine="", past=())
    past = [(0.25, 0.5, 20)] * (1 + len(entry.claim) % 3)
    return replace(entry, verdict="reproduced", measured="a - b = 0.2", past=past)


def git(folder: Path, *arguments: str) -> None:
    """Run git; that a merge has conflicts is no error here."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True)


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("There is no git here: install it.")
    main()
