"""The text that `--plan` prints: the work that a session would do, before any of it is done."""

from __future__ import annotations

import os
from collections.abc import Sequence

from repro.arm import Run
from repro.judge import Design
from repro.runs.profiles import Profile
from repro.runs.progress import RATE
from repro.runs.queue import work_of
from repro.text import counted, shown


def plan_text(claims: int, asked: int, missing: Sequence[Run], profile: Profile) -> str:
    """Return the claims, distinct runs, programs, estimated time and power as text."""
    programs: dict[str, list[Run]] = {}
    for run in missing:
        programs.setdefault(run.arm.program, []).append(run)
    lines = [
        f"{counted(claims, 'claim')} at profile {profile.name},"
        f" {counted(asked, 'distinct run')} at the first look:"
        f" {asked - len(missing)} stored, {len(missing)} to train",
        str(Design(looks=profile.looks, futility=profile.futility)),
        "",
        f"{'runs':>6}{'steps':>8}{'minutes':>11}  program",
    ]
    for runs in programs.values():
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        label = shown(runs[0].arm.label)
        lines.append(f"{len(runs):>6}{runs[0].arm.steps:>8}{_minutes(runs):>11.1f}  {label}{more}")
    total, cores = _minutes(missing), os.cpu_count() or 1
    lines += ["", f"about {total:.1f} minutes of one core, {total / cores:.1f} on {cores} cores"]
    lines.append("guessed from the size of the arms; runs that may stop early count as whole")
    return "\n".join(lines)


def _minutes(runs: Sequence[Run]) -> float:
    """Return the minutes of one core that runs take, each training once."""
    return sum(map(work_of, dict.fromkeys(run.training for run in runs))) / RATE / 60
