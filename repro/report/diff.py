"""The command `diff`: compares the verdicts of two reports, ledgers or evidence files."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from repro.evidence import EvidenceError
from repro.judge import Outcome
from repro.ledger import entries_at
from repro.text import counted, shown

RESULTS = "results.json"

Place: TypeAlias = tuple[str, str, str]
"""The name of a claim, its profile, and its data."""


@dataclass(frozen=True)
class Said:
    """The verdict of a claim on one side of a comparison."""

    verdict: str
    measured: str


def add_to(commands: Any) -> None:
    """Add `diff` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("diff", help="compare two reports, ledgers or files of evidence")
    for name, whose in (("old", "the older one"), ("new", "the newer one")):
        parser.add_argument(name, type=Path, metavar=name.upper(), help=whose)
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="claims to judge from evidence")
    parser.set_defaults(run=_run, goes_on="claims")


Verdicts: TypeAlias = dict[Place, Said]


def verdicts_at(path: Path, claims: list[str]) -> Verdicts:
    """Return the verdicts of a report, a ledger, a folder of ledgers, or an evidence file.

    The claims of an evidence file are judged first.

    >>> len(verdicts_at(Path("claims/ledger"), [])) > 100
    True
    """
    if (path / RESULTS).is_file():
        return _of_report(path / RESULTS)
    if path.is_dir() or path.suffix == ".toml":
        entries = entries_at(path)
        return {entry.place: Said(entry.verdict, entry.measured) for entry in entries}
    return _of_report(path) if path.suffix == ".json" else _of_evidence(path, claims)


def pairs(old: Verdicts, new: Verdicts) -> list[tuple[Place | None, Place | None]]:
    """Return pairs of places that are about the same claim; None where one side lacks it.

    If each side has a claim once, but at another profile or on other data, it is still a pair.

    >>> pairs({("004/climbs", "ci", "twin"): said}, {("004/climbs", "ci", "cifar10"): said})
    [(('004/climbs', 'ci', 'twin'), ('004/climbs', 'ci', 'cifar10'))]
    """
    alone: dict[str, tuple[list[Place], list[Place]]] = {}
    for side, one, other in ((0, old, new), (1, new, old)):
        for place in one.keys() - other.keys():
            alone.setdefault(place[0], ([], []))[side].append(place)
    found: list[tuple[Place | None, Place | None]]
    found = [(place, place) for place in old.keys() & new.keys()]
    for gone, come in alone.values():
        if len(gone) == len(come) == 1:
            found.append((gone[0], come[0]))
        else:
            found += [*((place, None) for place in gone), *((None, place) for place in come)]
    return sorted(found, key=lambda pair: pair[0] or pair[1] or ("", "", ""))


def lines_of(old: Verdicts, new: Verdicts) -> tuple[list[str], bool]:
    """Return the differences and counts as lines, and whether any verdict differs or is missing.

    >>> lines_of({}, {})[0]
    ['0 verdicts the same, 0 of them with other numbers; 0 other, 0 only old, 0 only new']
    """
    lines: list[str] = []
    counts = Counter[str]()
    for before, after in pairs(old, new):
        if before is None or after is None:
            place, side = (before, "old") if before else (after, "new")
            assert place is not None
            said = (old if before else new)[place]
            lines.append(f"only {side}: {said.verdict}  {_named(place)}  {shown(said.measured)}")
            counts[side] += 1
            continue
        one, other = old[before], new[after]
        counts["same" if one.verdict == other.verdict else "other"] += 1
        counts["moved"] += one.verdict == other.verdict and one.measured != other.measured
        if one.verdict != other.verdict:
            there = "" if before == after else f" → ({', '.join(map(shown, after[1:]))})"
            lines.append(f"{one.verdict} → {other.verdict}  {_named(before)}{there}")
            lines += [f"  {shown(each.measured) or '-'}" for each in (one, other)]
    lines.append(
        f"{counted(counts['same'], 'verdict')} the same, {counts['moved']} of them with other"
        f" numbers; {counts['other']} other, {counts['old']} only old, {counts['new']} only new"
    )
    return lines, len(lines) > 1


def _named(place: Place) -> str:
    claim, profile, data = map(shown, place)
    return f"{claim} ({profile}, {data})"


def _run(chosen: argparse.Namespace) -> int:
    """Print the differences; the exit code is 1 if there are any, as with `diff`."""
    lines, is_other = lines_of(
        *(verdicts_at(path, chosen.claims) for path in (chosen.old, chosen.new))
    )
    print("\n".join(lines))
    return 1 if is_other else 0


def _of_report(path: Path) -> Verdicts:
    try:
        claims = json.loads(path.read_text(encoding="utf-8"))["claims"]
        return {
            (each["claim"], each["profile"], each["data"]): Said(
                Outcome(each["verdict"]), each["measured"]
            )
            for each in claims
            if each["verdict"] != Outcome.NOT_RUN
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EvidenceError(
            f"{path} is no {RESULTS} of a report ({type(error).__name__}: {error}); name the folder"
            " of a report, a ledger or a file of evidence."
        ) from error


def _of_evidence(path: Path, claims: list[str]) -> Verdicts:
    """Judge claims from an evidence file, in a pytest session of their own."""
    selected = claims or (["claims"] if Path("claims").is_dir() else ["."])
    with tempfile.TemporaryDirectory(prefix="repro-diff-") as folder:
        options = [f"--repro-evidence={path}", f"--repro-report={folder}"]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        done = subprocess.run([*command, *selected], capture_output=True, text=True)
        if not (Path(folder) / RESULTS).is_file():
            said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["none was run"]
            raise EvidenceError(f"The claims cannot be judged from {path}: {said[-1]}")
        return _of_report(Path(folder) / RESULTS)
