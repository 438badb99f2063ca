"""The command `decide`: keep or discard an edit, or run it more often."""

from __future__ import annotations

import argparse
import json
from typing import Any

from repro.commands.answers import amounts
from repro.commands.table import ONLY, add_reading, read, require_same_ends
from repro.judge import require_level
from repro.recorded.deciding import LEVEL, MOST, Choice, Decision, decide
from repro.recorded.rows import RecordedError

CODES = {Choice.KEEP: 0, Choice.DISCARD: 1, Choice.RUN_MORE: 2}
"""The exit code of each choice."""


def add_to(commands: Any) -> None:
    """Add `decide` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("decide", help="keep or discard an edit, or run it more often")
    parser.add_argument("baseline", metavar="BASELINE", help="the runs without the edit")
    parser.add_argument("candidate", metavar="CANDIDATE", help="the runs with the edit")
    sides = parser.add_mutually_exclusive_group(required=True)
    sides.add_argument("--lower", metavar="COLUMN", help="the compared column; lower is better")
    sides.add_argument("--higher", metavar="COLUMN", help="the compared column; higher is better")
    parser.add_argument(
        "--margin", metavar="X", type=float, default=0.0, help="keep only what gains at least this"
    )
    parser.add_argument(
        "--max-runs", metavar="N", type=int, default=MOST, help=f"the most runs of a side ({MOST})"
    )
    parser.add_argument(
        "--confirm",
        metavar="N",
        type=int,
        default=0,
        help="test what was kept on fresh runs, without the first N of the candidate",
    )
    add_reading(parser)
    parser.set_defaults(run=decide_edit)


def decide_edit(chosen: argparse.Namespace) -> int:
    """Print keep, discard or the runs that are missing; return 0, 1 or 2."""
    level = LEVEL if chosen.level is None else require_level(chosen.level)
    lower, metric = chosen.lower is not None, chosen.lower or chosen.higher
    own = argparse.Namespace(**{**vars(chosen), "arm": []})
    tables = [read(path, own, arm=None) for path in (chosen.baseline, chosen.candidate)]
    baseline, candidate = (table.values(ONLY, metric) for table in tables)
    require_same_ends(((table, ONLY) for table in tables), metric)
    if not 0 <= chosen.confirm < len(candidate):
        raise RecordedError(
            f"--confirm {chosen.confirm} leaves no run of {chosen.candidate}, which has"
            f" {len(candidate)}: add fresh runs to it first."
        )
    fresh = dict(list(candidate.items())[chosen.confirm :])
    found = decide(
        baseline,
        fresh,
        lower=lower,
        margin=chosen.margin,
        level=level,
        most=chosen.max_runs,
        paired=chosen.paired,
        spread=chosen.spread,
    )
    counts = {chosen.candidate: len(fresh), chosen.baseline: len(baseline)}
    print(_line(found, counts, level, chosen))
    return CODES[found.choice]


def _line(found: Decision, counts: dict[str, int], level: float, chosen: argparse.Namespace) -> str:
    said = None if found.verdict is None else amounts(found.verdict, first="candidate")
    notes = [] if found.verdict is None else [*found.verdict.repeats, *found.verdict.states]
    more = {"candidate": found.candidate, "baseline": found.baseline}
    if chosen.json:
        data = {} if said is None else said.data
        return json.dumps(
            {"choice": found.choice.value, "why": found.why, "more": more, "level": level, **data}
            | {"runs": list(counts.values()), "notes": notes}
        )
    effect = "" if said is None or not said.text else f"{said.text.partition(' = ')[2]}, "
    runs = f"{' and '.join(map(str, counts.values()))} runs, level {100 * level:g} %"
    wanted = [f"{n} of {name}" for name, n in more.items() if n]
    why = f": {' and '.join(wanted)} would just have it kept" if wanted else f": {found.why}"
    if found.choice is Choice.KEEP:
        why = ""
    return "\n  ".join([f"{found.choice:<11} {effect}{runs}{why}", *notes])
