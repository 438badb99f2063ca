"""The line that shows the progress of training: judged claims, runs, and the time left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from repro.report.claim_line import ERROR, NOT_RUN
from repro.runs.progress import Status
from repro.text import counted, shown

BAR = 20
"""The width of the bar in characters."""

_SHORT = {NOT_RUN: "cannot run", ERROR: "in error"}


def progress_line(status: Status, settled: Mapping[str, int], *, width: int) -> str:
    """Return one line of at most `width` characters.

    `settled` counts the judged claims with training, by verdict. The bar leaves out claims that
    cannot run.

    >>> progress_line(status, {"reproduced": 12}, width=120)
    '[███                 ] 12/66 claims, about 10 min left: 12 reproduced | 195/290 runs'
    """
    counts = Counter(dict(settled))
    cannot = counts[NOT_RUN]
    judged, claims = counts.total() - cannot, max(1, status.claims - cannot)
    full = min(BAR, BAR * judged // claims)
    bar = f"[{'█' * full}{' ' * (BAR - full)}] {judged}/{claims} claims,"
    bar = f"{bar} {about(status.seconds_left)} left"
    by_verdict = [f"{n} {_SHORT.get(verdict, verdict)}" for verdict, n in counts.items() if n]
    parts = [
        f"{bar}: {', '.join(by_verdict)}" if by_verdict else bar,
        f"{status.stored}/{status.requested} runs",
        shown(status.under_way),
        f"waits for {status.waits_for}" if status.waits_for else "",
    ]
    line = " | ".join(filter(None, parts))
    return line if len(line) <= width else line[: width - 1] + "…"


def stopped_line(status: Status) -> str:
    """Return the progress of a stopped session, and how to go on."""
    return (
        f"stopped with at least {status.stored} of {status.requested} runs stored;"
        " the same command goes on from there, and from the checkpoints of those in training"
    )


def about(seconds: float) -> str:
    """Return a rough time in words.

    >>> about(38), about(83), about(754), about(7000)
    ('under a minute', 'about 1 min', 'about 13 min', 'about 1 h 57 min')
    """
    if seconds < 55:
        return "under a minute"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"about {hours} h {rest} min" if hours else f"about {minutes} min"


def plan_line(status: Status) -> str:
    """Return the line that says what will be trained, and for how long.

    >>> plan_line(status)
    '54 claims wait for 95 runs: about 10 min of training, by a guess from their size'
    """
    wait = f"{counted(status.open, 'claim')} {'waits' if status.open == 1 else 'wait'}"
    runs = f"{wait} for {counted(status.missing, 'run')}"
    return f"{runs}: {about(status.seconds_left)} of training, by a guess from their size"
