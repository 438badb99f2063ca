"""The line that is shown while claims train: how far it is, what trains, how long it will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from repro.report.settled import ERROR, NOT_RUN
from repro.runs.progress import Status, newest_of, seconds_left
from repro.text import counted, shown

BAR = 20
"""Characters of the bar."""

_SHORT = {NOT_RUN: "cannot run", ERROR: "in error"}


def progress_line(
    statuses: Sequence[Status],
    settled: Mapping[str, int],
    *,
    now: float,
    width: int,
) -> str:
    """Return one line of at most `width` characters; the newest look at the plan counts.

    `settled` counts the claims on training that were announced, by verdict; `now` is the time by
    the clock of the statuses. Claims that cannot run are none that there is to wait for.

    >>> progress_line([status], {"reproduced": 12}, now=time.monotonic(), width=120)
    '[███                 ] 12/66 claims, about 1 min left: 12 reproduced | 195/~290 runs'
    """
    newest = newest_of(statuses)
    counts = Counter(dict(settled))
    cannot = counts[NOT_RUN]
    judged, claims = counts.total() - cannot, max(1, newest.claims - cannot)
    full = min(BAR, BAR * judged // claims)
    left = seconds_left(statuses, now=now)
    bar = f"[{'█' * full}{' ' * (BAR - full)}] {judged}/{claims} claims, {about(left)} left"
    by_verdict = [f"{n} {_SHORT.get(verdict, verdict)}" for verdict, n in counts.items() if n]
    expected = round(newest.asked + newest.likely)
    runs = f"{newest.stored}/{'~' if newest.likely else ''}{expected} runs"
    parts = [f"{bar}: {', '.join(by_verdict)}" if by_verdict else bar, runs]
    batches = [status.training for status in statuses if status.training is not None]
    for batch in sorted(batches, key=lambda batch: batch.name):
        part = f"{shown(batch.name)} x{batch.runs} {batch.step}/{batch.total}"
        if batch.steps_per_second:  # unknown when a batch has just begun
            rate = batch.steps_per_second
            part += f" ({rate:.0f}/s)" if rate >= 10 else f" ({rate:.2g}/s)"
        parts.append(part)
    waits = sorted({status.waits_for for status in statuses} - {""})
    line = " | ".join([*parts, *(f"waits for {what}" for what in waits)])
    return line if len(line) <= width else line[: width - 1] + "…"


def stopped_line(statuses: Sequence[Status]) -> str:
    """Return how far a session was when it was stopped, and how to go on."""
    newest = newest_of(statuses)
    return (
        f"stopped with at least {newest.stored} of {newest.asked} runs stored;"
        " the same command goes on from there, and from the checkpoints of those in training"
    )


def about(seconds: float) -> str:
    """Return a time as nobody could say it more exactly.

    >>> about(38), about(83), about(754), about(7000)
    ('under a minute', 'about 1 min', 'about 13 min', 'about 1 h 57 min')
    """
    if seconds < 55:
        return "under a minute"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"about {hours} h {rest} min" if hours else f"about {minutes} min"


def plan_line(
    *, open_claims: int, missing: int, likely: float, seconds: float, is_guessed: bool
) -> str:
    """Return the line that says what is about to be trained, and how long that will take.

    >>> plan_line(open_claims=368, missing=831, likely=95.2, seconds=1700, is_guessed=False)
    '368 claims wait for 831 runs, and about 95 more in later looks: about 28 min of training'
    """
    more = f", and about {likely:.0f} more in later looks" if likely >= 0.5 else ""
    guessed = ", a guess until some are timed" if is_guessed else ""
    wait = f"{counted(open_claims, 'claim')} {'waits' if open_claims == 1 else 'wait'}"
    runs = f"{wait} for {counted(missing, 'run')}{more}"
    return f"{runs}: {about(seconds)} of training{guessed}"
