"""The lines of a running session: one for each judged claim, and the progress of training.

It is imported before pytest's workers start, so it must not import slow modules.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, Self

from repro.ledger import Change
from repro.runs.time_left import Status
from repro.text import counted, shown

if TYPE_CHECKING:
    from repro.report.records import ClaimRecord

REPRODUCED, REFUTED, INCONCLUSIVE, NOT_RUN = "reproduced", "refuted", "inconclusive", "not run"
ERROR: Literal["error"] = "error"
"""Replaces the verdict of a claim that ended in an error."""

PROPERTY = "repro.line"
"""The property of a test's report with the line of its claim."""

BAR = 20
"""The width of the bar in characters."""

_SHORT = {NOT_RUN: "cannot run", ERROR: "in error"}


@dataclass(frozen=True, kw_only=True)
class ClaimLine:
    """The short form of a claim's verdict."""

    name: str
    verdict: str
    """The outcome, or `ERROR`."""
    measured: str
    """The deciding comparison with its seeds, the reason why it was not run, or the error."""
    change: str = ""
    """The difference from the ledger."""
    fails: bool = False
    """True where pytest counts it as a failure."""
    about_a_document: bool = False
    details: str = ""
    """The traceback and the output of an error in training."""
    sentence: str = ""
    source: str = ""
    """The source of a claim that ended in an error, and where in it."""
    is_only_counted: bool = False
    """True for an unchanged, consistent statement of a document; there are hundreds of them."""
    is_known: bool = False
    """True where the ledger has the same verdict."""

    def as_json(self) -> str:
        """Return the line as JSON for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of `as_json`; raises ValueError or TypeError for any other text."""
        return cls(**json.loads(text))


def claim_line(record: ClaimRecord, *, fails: bool) -> ClaimLine:
    """Return the line of a judged claim."""
    is_run, about_a_document = record.verdict != NOT_RUN, record.is_about_a_document
    is_no_news = record.change_kind in (Change.NONE, Change.NEW) and not fails
    return ClaimLine(
        name=record.claim,
        verdict=record.verdict,
        measured=record.measured if is_run else record.text,
        change=record.change,
        fails=fails,
        about_a_document=about_a_document,
        is_only_counted=about_a_document and is_no_news and record.verdict == REPRODUCED,
        is_known=record.change_kind is Change.NONE and not fails,
    )


def verdict_line(claim: ClaimLine, *, width: int) -> str:
    """Return one line of at most `width` characters: verdict, name, measurement.

    >>> verdict_line(ClaimLine(name="004/climbs", verdict="reproduced", measured="k=4 - k=3 = "
    ...                           "0.02 [0.01, 0.03], 5 seeds", change="new"), width=100)
    'reproduced    004/climbs (new)  k=4 - k=3 = 0.02 [0.01, 0.03], 5 seeds'
    """
    change = f" ({shown(claim.change)})" if claim.change else ""
    line = f"{claim.verdict:14}{shown(claim.name)}{change}  {shown(claim.measured)}".rstrip()
    return cut(line, width)


def cut(line: str, width: int) -> str:
    """Return a line of at most `width` characters, with dots for what is cut off."""
    return line if len(line) <= width else line[: width - 1] + "…"


def known_line(claims: int) -> str:
    """Return one line for further verdicts that equal the ledger's.

    >>> known_line(403)
    '403 further verdicts are the same as in the ledger; -v shows each'
    """
    if claims == 1:
        return "1 further verdict is the same as in the ledger; -v shows it"
    return f"{claims} further verdicts are the same as in the ledger; -v shows each"


def counted_line(claims: Iterable[ClaimLine]) -> str:
    """Return one line for consistent statements of documents, by source.

    >>> counted_line([ClaimLine(name="004/share", verdict="reproduced", measured="")] * 3)
    'reproduced    3 printed statements are consistent (004: 3)'
    """
    sources = Counter(claim.name.partition("/")[0] for claim in claims)
    listed = ", ".join(f"{shown(source)}: {n}" for source, n in sorted(sources.items()))
    return f"{REPRODUCED:14}{agreeing(sources.total())} ({listed})"


def agreeing(statements: int) -> str:
    """Return the number of consistent statements of documents in words.

    >>> agreeing(1)
    '1 printed statement is consistent'
    """
    are = "is" if statements == 1 else "are"
    return f"{counted(statements, 'printed statement')} {are} consistent"


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
    bar = f"[{'█' * full}{' ' * (BAR - full)}] {judged}/{claims} claims"
    if status.seconds_left is not None:
        bar = f"{bar}, {about(status.seconds_left)} left"
    by_verdict = [f"{n} {_SHORT.get(verdict, verdict)}" for verdict, n in counts.items() if n]
    parts = [
        f"{bar}: {', '.join(by_verdict)}" if by_verdict else bar,
        f"{status.stored}/{status.requested} runs",
        shown(status.under_way),
        f"waits for {status.waits_for}" if status.waits_for else "",
    ]
    line = " | ".join(filter(None, parts))
    return cut(line, width)


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
