"""The lines that announce claims as they are settled, while the others still train.

It is imported before pytest's workers start, so it imports nothing that takes long.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self

from repro.ledger import Change
from repro.text import counted, shown

if TYPE_CHECKING:
    from repro.report.record import ClaimRecord

REPRODUCED, REFUTED, INCONCLUSIVE, NOT_RUN = "reproduced", "refuted", "inconclusive", "not run"
ERROR = "error"
"""What stands in a verdict's place where a claim ended in none."""

PROPERTY = "repro.line"
"""The name under which a test's report carries its claim as it is announced."""


@dataclass(frozen=True, kw_only=True)
class ClaimLine:
    """The verdict of a claim in short."""

    name: str
    verdict: str
    """The outcome, or `ERROR`."""
    measured: str
    """The deciding comparison with its seeds, the reason why it was not run, or the error."""
    change: str = ""
    """The difference from the ledger."""
    fails: bool = False
    """True where pytest will count it as a failure."""
    about_a_document: bool = False
    details: str = ""
    """The traceback and the output of an error in training."""
    is_only_counted: bool = False
    """True for a statement of a document that holds as before, of which there are hundreds."""
    is_known: bool = False
    """True where the ledger has the same verdict."""

    def as_json(self) -> str:
        """Return it as one line of text, for another process to read."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `as_json` wrote; raises ValueError or TypeError where it is not that."""
        return cls(**json.loads(text))


def claim_line(record: ClaimRecord, *, fails: bool, about_a_document: bool) -> ClaimLine:
    """Return what is announced of a claim that was judged."""
    is_run = record.verdict != NOT_RUN
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
    """Return one line of at most `width` characters: verdict, name, what was measured.

    >>> verdict_line(ClaimLine(name="004/climbs", verdict="reproduced", measured="k=4 - k=3 = "
    ...                           "0.02 [0.01, 0.03], 5 seeds", change="new"), width=100)
    'reproduced    004/climbs (new)  k=4 - k=3 = 0.02 [0.01, 0.03], 5 seeds'
    """
    change = f" ({shown(claim.change)})" if claim.change else ""
    line = f"{claim.verdict:14}{shown(claim.name)}{change}  {shown(claim.measured)}".rstrip()
    return line if len(line) <= width else line[: width - 1] + "…"


def unable_line(reason: str, claims: int) -> str:
    """Return one line for claims that cannot be run, all for the same reason.

    >>> unable_line("is judged at one size only: needs --profile paper", 316)
    'not run       316 claims: is judged at one size only: needs --profile paper'
    """
    return f"{NOT_RUN:14}{counted(claims, 'claim')}: {shown(reason)}"


def known_line(claims: int) -> str:
    """Return one line for verdicts that the ledger has, where they are many.

    >>> known_line(403)
    '403 further verdicts are those of the ledger; -v shows each'
    """
    if claims == 1:
        return "1 further verdict is that of the ledger; -v shows it"
    return f"{claims} further verdicts are those of the ledger; -v shows each"


def counted_line(claims: Iterable[ClaimLine]) -> str:
    """Return one line for statements of documents that hold, by source.

    >>> counted_line([ClaimLine(name="004/share", verdict="reproduced", measured="")] * 3)
    'reproduced    3 printed statements are consistent (004: 3)'
    """
    sources = Counter(claim.name.partition("/")[0] for claim in claims)
    listed = ", ".join(f"{shown(source)}: {n}" for source, n in sorted(sources.items()))
    return f"{REPRODUCED:14}{agreeing(sources.total())} ({listed})"


def agreeing(statements: int) -> str:
    """Say how many statements of documents hold.

    >>> agreeing(1)
    '1 printed statement is consistent'
    """
    if statements == 1:
        return "1 printed statement is consistent"
    return f"{statements} printed statements are consistent"
