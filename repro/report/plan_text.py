"""The text that `--plan` prints: the work that a session would do, before any of it is done."""

from __future__ import annotations

import os
from collections.abc import Sequence

from repro.arm import Run
from repro.judge import Design
from repro.runs.forecast import Forecast, by_program
from repro.runs.profiles import Profile
from repro.text import counted, shown


def plan_text(
    claims: int, asked: int, missing: Sequence[Run], forecast: Forecast, profile: Profile
) -> str:
    """Return the claims, distinct runs, programs, estimated time and power as text."""
    programs = by_program(missing)
    lines = [
        f"{counted(claims, 'claim')} at profile {profile.name},"
        f" {counted(asked, 'distinct run')} at the first look:"
        f" {asked - len(missing)} stored, {len(missing)} to train",
        str(Design(looks=profile.looks)),
        "",
        f"{'runs':>6}{'steps':>8}{'minutes':>11}  program",
    ]
    seconds = list(map(forecast.seconds, programs))
    for runs, of_these in zip(programs, seconds, strict=True):
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        guessed = " " if forecast.is_timed(runs[0]) else "?"
        minutes = f"{of_these / 60:.1f}{guessed}"
        label = shown(runs[0].arm.label)
        lines.append(f"{len(runs):>6}{runs[0].arm.steps:>8}{minutes:>11}  {label}{more}")
    total, cores = sum(seconds) / 60, os.cpu_count() or 1
    lines += ["", f"about {total:.1f} minutes of one core, {total / cores:.1f} on {cores} cores"]
    if any(runs[0].arm.stops_early for runs in programs):
        lines.append("runs that may stop early are counted to their last epoch")
    if not all(forecast.is_timed(runs[0]) for runs in programs):
        lines.append("?: never timed on this machine, so guessed from the program's size")
    return "\n".join(lines)
