"""The plan of a session: the runs that it would train, and their expected time."""

from __future__ import annotations

import os
from collections.abc import Sequence

from repro.arm import Run
from repro.judge import LEVEL, Design, detectable
from repro.report.lines import about
from repro.runs.profiles import Profile
from repro.runs.time_left import RATE, Status, is_timed, work_of_all
from repro.text import counted, shown

GUESS = 3
"""The factor by which the time of training differs from a guess, either way."""

MOST_ROWS = 10
"""The most rows of programs; further programs are counted."""


def plan_line(status: Status) -> str:
    """Return the line that says what will be trained, and for how long.

    >>> plan_line(status)
    '54 claims wait for 95 runs: about 3 min to 30 min of training, at a guess'
    """
    wait = f"{counted(status.open, 'claim')} {'waits' if status.open == 1 else 'wait'}"
    runs = f"{wait} for {counted(status.missing, 'run')}"
    if status.seconds_left is None:
        return f"{runs}, whose time is known when some are trained"
    least, most = (about(status.seconds_left * factor) for factor in (1 / GUESS, GUESS))
    between = least if least == most else f"{least} to {most.removeprefix('about ')}"
    return f"{runs}: {between} of training, at a guess"


def plan_text(
    claims: int,
    requested: int,
    missing: Sequence[Run],
    profile: Profile,
    *,
    level: float = LEVEL,
    all_rows: bool = False,
) -> str:
    """Return the claims, distinct runs, estimated time, power and programs as text."""
    programs: dict[str, list[Run]] = {}
    for run in missing:
        programs.setdefault(run.arm.program, []).append(run)
    design = Design(looks=profile.looks, level=2 * level, futility=profile.futility)
    lines = [
        f"{counted(claims, 'claim')} at profile {profile.name},"
        f" {counted(requested, 'distinct run')} up to the next look of each:"
        f" {requested - len(missing)} stored, {len(missing)} to train",
        *_sum(missing),
        f"{design};",
        f"80% power for an effect of {detectable(design):.2f} sd over seeds (one comparison)",
    ]
    longest = sorted(programs.values(), key=lambda runs: -_minutes(runs))
    rows = longest if all_rows else longest[:MOST_ROWS]
    if rows:
        lines += ["", f"{'runs':>6}{'steps':>8}{'minutes':>11}  program"]
    for runs in rows:
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        label, known = shown(runs[0].arm.label), is_timed(runs[0].arm)
        minutes = f"{_minutes(runs):.1f}" if known else "not timed"
        lines.append(f"{len(runs):>6}{runs[0].arm.steps:>8}{minutes:>11}  {label}{more}")
    if len(rows) < len(longest):
        lines.append(f"{'':25}  and {len(longest) - len(rows)} more, with -v")
    return "\n".join(lines)


def _sum(missing: Sequence[Run]) -> list[str]:
    """Return lines on the expected time of runs, guessed from the size of their arms."""
    known = [run for run in missing if is_timed(run.arm)]
    lines = []
    if known:
        total, cores = _minutes(known), os.cpu_count() or 1
        lines.append(
            f"about {total:.1f} minutes of one core, {total / cores:.1f} on {cores} cores: guessed"
            f" from the size of the arms, up to {GUESS} times more or less"
        )
    if len(known) < len(missing):
        others = counted(len(missing) - len(known), "run")
        lines.append(f"{others} whose time is known when some are trained")
    return lines


def _minutes(runs: Sequence[Run]) -> float:
    """Return the expected minutes of one core for runs; a shared training counts once."""
    return work_of_all(runs) / RATE / 60
