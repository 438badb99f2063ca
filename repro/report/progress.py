"""The line that is shown while claims train: how far it is, what trains, how long it will take."""

from __future__ import annotations

from collections.abc import Sequence

from repro.runs.progress import Status
from repro.text import shown


def progress_line(statuses: Sequence[Status], *, now: float, width: int) -> str:
    """Return one line of at most `width` characters; the newest look at the plan counts.

    >>> status = Status(claims=66, decided=12, asked=255, missing=60, looked_at=0, seconds_left=90,
    ...                 slots=1)
    >>> progress_line([status], now=10, width=79)
    '195/255 runs, 12/66 claims decided, about 1:20 left'
    """
    newest = _newest(statuses)
    left = newest.seconds_left / newest.slots - (now - newest.looked_at)
    line = (
        f"{newest.stored}/{newest.asked} runs, {newest.decided}/{newest.claims} claims decided,"
        f" about {_clock(max(0.0, left))} left"
    )
    batches = [status.training for status in statuses if status.training is not None]
    for batch in sorted(batches, key=lambda batch: batch.name):
        line += f" | {shown(batch.name)} x{batch.runs} {batch.step}/{batch.total}"
        if batch.run_steps_per_second:  # unknown when a batch has just begun
            line += f" ({batch.run_steps_per_second:.0f}/s)"
    for what in sorted({status.waits_for for status in statuses} - {""}):
        line += f" | waits for {what}"
    return line if len(line) <= width else line[: width - 1] + "…"


def stopped_line(statuses: Sequence[Status]) -> str:
    """Return how far a session was when it was stopped, and how to go on."""
    newest = _newest(statuses)
    return (
        f"stopped with at least {newest.stored} of {newest.asked} runs stored;"
        " the same command goes on from there, and from the checkpoints of those in training"
    )


def _newest(statuses: Sequence[Status]) -> Status:
    return max(statuses, key=lambda status: status.looked_at)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
