"""The end of a session, short enough to be read: what changed, what failed, and a table of counts.

The report has the same parts in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from repro.document import ANY_PROFILE
from repro.judge import Outcome
from repro.ledger import KINDS
from repro.report.counts import MANY
from repro.report.record import ClaimRecord
from repro.report.settled import Change
from repro.text import shown

MOST = 5
"""Rows of a list that are shown; the rest is in the whole table and in the report."""

MOST_LINES = 24
"""Lines of an end with a table of many sources: with what follows it, 40 fit on a screen."""

LEAST_ROWS = 4
"""Rows of the table of counts that there is always room for."""

WIDTH = 79

CHANGES = (Change.WORSE, Change.OTHER, Change.BETTER, Change.NEW)
"""The changes against the ledger that are listed, what needs attention first."""

Line = tuple[str, Outcome | None]
"""A line, and the verdict whose colour it has."""

_TRAINED = tuple(Outcome)
_DOCUMENTS = {Outcome.REPRODUCED: "agrees", Outcome.REFUTED: "disagrees"}


@dataclass(frozen=True)
class Failure:
    """A claim that pytest counts as failed: its verdict, and the command that judges it alone."""

    verdict: str
    """The verdict, or error where it ended in none."""
    command: str
    said: str = ""
    """The traceback of an error, with what training had printed; empty for a verdict."""


def ending(records: Sequence[ClaimRecord], failures: Sequence[Failure]) -> list[Line]:
    """Return the lines of a session's end."""
    failing = {each.command for each in failures}
    others = [record for record in records if record.command not in failing]
    before, after = [failed(failures), changed(others)], not_run(records)
    room = MOST_LINES - sum(map(len, before)) - len(after)
    table = counts(records, most=max(LEAST_ROWS, room)) if records else []
    parts = [*before, table, after]
    lines: list[Line] = []
    for part in filter(None, parts):
        lines += [("", None), *part] if lines else part
    return lines


def changes_of(records: Sequence[ClaimRecord]) -> list[ClaimRecord]:
    """Return the claims whose verdict is another than in the ledger, what needs attention first."""
    changes = [record for record in records if record.change_kind in CHANGES]
    return sorted(changes, key=lambda record: CHANGES.index(record.change_kind))


def changed(records: Sequence[ClaimRecord]) -> list[Line]:
    """Return what differs from the ledger; of claims that are not in it only their number."""
    changes = changes_of(records)
    known = [record for record in changes if record.accepted is not None]
    if not changes:
        return []
    new = len(changes) - len(known)
    parts = [f"{len(known)} changed"] * bool(known) + [f"{new} not in it yet"] * bool(new)
    lines: list[Line] = [(f"against the ledger: {', '.join(parts)}", None)]
    for r in known[:MOST]:
        text = f"  {shown(r.claim)}: {r.verdict}, {shown(r.change)}: {shown(r.measured)}"
        lines.append((_cut(text), r.verdict))
    return lines + _and_more(len(known))


def failed(failures: Sequence[Failure]) -> list[Line]:
    """Return what failed, each with the command that judges it alone."""
    if not failures:
        return []
    lines: list[Line] = [(f"failed: {len(failures)}", None)]
    lines += [(f"  {each.verdict}: {shown(each.command)}", None) for each in failures[:MOST]]
    return lines + _and_more(len(failures))


def counts(records: Sequence[ClaimRecord], *, most: int) -> list[Line]:
    """Return how often each verdict was reached, by source, and of our own claims in all.

    Of many sources the largest have a row, so that there are at most so many rows.

    Claims that were trained stand apart from what documents say of themselves.
    """
    head = [*(str(verdict) for verdict in _TRAINED), *_DOCUMENTS.values()]
    groups = _largest(groups_of(records), most - 1)
    rows = [*((name, _row(group)) for name, group in groups), ("all", _row(records))]
    names = max(len("source"), *(len(name) for name, _ in rows))
    columns = [max(len(word), 4) for word in head]
    trained = sum(columns[: len(_TRAINED)]) + len(_TRAINED) - 1
    lines = [f"{'':{names}}  {'trained and measured':<{trained}}   the document itself"]
    lines += [_columns("source", head, names, columns)]
    lines += [_columns(name, row, names, columns) for name, row in rows]
    return [(line.rstrip(), None) for line in lines]


def groups_of(records: Sequence[ClaimRecord]) -> list[tuple[str, list[ClaimRecord]]]:
    """Return the claims of each source, and our own questions and controls, with their names."""
    groups: dict[str, list[ClaimRecord]] = {}
    for record in sorted(records, key=lambda r: (KINDS.index(r.kind), r.claim)):
        source = shown(record.claim.partition("/")[0], most=12)
        name = source if record.kind == "source" else MANY[record.kind]
        groups.setdefault(name, []).append(record)
    return list(groups.items())


def _largest(
    groups: list[tuple[str, list[ClaimRecord]]], most: int
) -> list[tuple[str, list[ClaimRecord]]]:
    """Return at most so many groups: of too many sources the small ones are one."""
    if len(groups) <= most:
        return groups
    sources = [group for group in groups if group[0] not in MANY.values()]
    ours = groups[len(sources) :]
    by_size = sorted(sources, key=lambda group: -len(group[1]))
    room = most - len(ours) - 1
    kept, others = by_size[:room], by_size[room:]
    together = [record for _, group in others for record in group]
    return [*sorted(kept), (f"{len(others)} {'other ' * bool(kept)}sources", together), *ours]


def not_run(records: Sequence[ClaimRecord]) -> list[Line]:
    """Return the reasons why claims were not run, each once."""
    reasons = reasons_of(records)
    lines: list[Line] = [
        (_cut(f"not run: {n}, {shown(why)}"), None) for why, n in reasons.most_common(MOST)
    ]
    return lines + _and_more(len(reasons))


def reasons_of(records: Sequence[ClaimRecord]) -> Counter[str]:
    """Return why claims were not run, with how many there are of each reason."""
    return Counter(r.text for r in records if r.verdict is Outcome.NOT_RUN)


def _row(records: Sequence[ClaimRecord]) -> list[str]:
    trained = Counter(r.verdict for r in records if r.profile != ANY_PROFILE)
    of_documents = Counter(r.verdict for r in records if r.profile == ANY_PROFILE)
    numbers = [trained[verdict] for verdict in _TRAINED]
    return [f"{n or '·'}" for n in [*numbers, *(of_documents[v] for v in _DOCUMENTS)]]


def _columns(name: str, cells: Sequence[str], names: int, widths: Sequence[int]) -> str:
    padded = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    split = len(_TRAINED)
    return f"{name:{names}}  {' '.join(padded[:split])}   {' '.join(padded[split:])}"


def _and_more(count: int) -> list[Line]:
    return [(f"  and {count - MOST} more, with -v or in the report", None)] * (count > MOST)


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
