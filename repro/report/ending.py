"""The end of a session as text: on a terminal, at 80 columns, and for a pull request.

It is short: failures, changes, a table of counts, and the reasons of claims that were not run. With
-v a table of all verdicts comes before.

The summary for a pull request is small enough for a CI step or a comment. Its lines are indented
code: GitHub makes no markup, mention or link of them, and no text can end such a block.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from repro.judge import Outcome
from repro.ledger import Change
from repro.report.lines import agreeing, cut
from repro.report.records import ClaimRecord
from repro.report.results_file import MANY, ONE, Failure, ResultsDocument, groups_of, verdicts_of
from repro.text import shown

MOST = 5
"""The most rows of a list; the whole table and the report have all."""

MOST_LINES = 24
"""The most lines here; with the lines that follow, at most 40 fit on a screen."""

LEAST_ROWS = 4
"""The least rows of the table of counts, however long the rest is."""

WIDTH, INDENT = 79, 13

LIMIT = 20_000
"""The most bytes: GitHub allows a mebibyte for a step, and 65,536 characters for a comment."""

ROWS = (40, 20, 10, 5, 2, 0)
"""The numbers of rows of a list to try, until the summary fits. The report has all rows."""

MOST_REMARKS, LONGEST, HEIGHT = 5, 200, 100
"""The most remarks, characters of a remark, and lines; the table of counts shrinks to fit."""

Line = tuple[str, str | None]
"""A line, and the verdict that sets its colour."""

_DOCUMENTS = {Outcome.REPRODUCED: "consistent", Outcome.REFUTED: "contradictory"}


def ending(results: ResultsDocument, *, most: int = MOST, height: int = MOST_LINES) -> list[Line]:
    """Return the lines of a session's end; each list has at most `most` rows."""
    before = [_failed(results.failures, most), _changed(results, most)]
    after = _not_run(results, most)
    room = height - sum(map(len, before)) - len(after)
    table = _counts(results.judged, most=max(LEAST_ROWS, room)) if results.judged else []
    lines: list[Line] = []
    for part in filter(None, [*before, table, after]):
        lines += [("", None), *part] if lines else part
    return lines


def _failed(failures: Sequence[Failure], most: int) -> list[Line]:
    """Return the failed claims, each with the command that judges it alone."""
    if not failures:
        return []
    lines: list[Line] = [(f"failed: {len(failures)}", None)]
    lines += [(f"  {each.verdict}: {shown(each.command)}", None) for each in failures[:most]]
    return lines + _and_more(len(failures), most)


def _changed(results: ResultsDocument, most: int) -> list[Line]:
    """Return other differences from the ledger, and the number of claims that are not in it."""
    failing = {each.command for each in results.failures}
    known, new = (
        [record for record in records if record.command not in failing]
        for records in (results.changed, results.new)
    )
    if not known and not new:
        return []
    parts = [f"{len(known)} changed"] * bool(known) + [f"{len(new)} not in it yet"] * bool(new)
    lines: list[Line] = [(f"against the ledger: {', '.join(parts)}", None)]
    for r in known[:most]:
        text = f"  {shown(r.claim)}: {r.verdict}, {shown(r.change)}: {shown(r.measured)}"
        lines.append((cut(text, WIDTH), r.verdict))
    return lines + _and_more(len(known), most)


def _not_run(results: ResultsDocument, most: int) -> list[Line]:
    """Return the reasons why claims were not run, or cannot be settled."""
    reasons = results.reasons
    lines: list[Line] = [(f"inconclusive: {n}, {reason}", None) for reason, n in results.beyond]
    lines += [(cut(f"not run: {n}, {shown(why)}", WIDTH), None) for why, n in reasons[:most]]
    return lines + _and_more(len(reasons), most)


def _counts(records: Sequence[ClaimRecord], *, most: int) -> list[Line]:
    """Return a table of the number of claims by verdict: a row for each source, and for ours.

    If there are too many sources, only the largest get a row. Claims on training and claims about
    documents have separate columns.
    """
    head = [*map(str, Outcome), *_DOCUMENTS.values()]
    groups = _largest(groups_of(records), most - 1)
    rows = [*((name, _row(group)) for name, group in groups), ("all", _row(records))]
    names = max(len("source"), *(len(name) for name, _ in rows))
    columns = [max(len(word), 4) for word in head]
    trained = sum(columns[: len(Outcome)]) + len(Outcome) - 1
    lines = [f"{'':{names}} {'trained and measured':<{trained}}  the document itself"]
    lines += [_columns(name, row, names, columns) for name, row in [("source", head), *rows]]
    return [(line.rstrip(), None) for line in lines]


def _largest(
    groups: list[tuple[str, list[ClaimRecord]]], most: int
) -> list[tuple[str, list[ClaimRecord]]]:
    """Return at most `most` groups; if there are more, small sources become one group."""
    if len(groups) <= most:
        return groups
    sources = [group for group in groups if group[0] not in MANY.values()]
    ours = groups[len(sources) :]
    by_size = sorted(sources, key=lambda group: -len(group[1]))
    room = max(0, most - len(ours) - 1)
    kept, others = by_size[:room], by_size[room:]
    together = [record for _, group in others for record in group]
    return [*sorted(kept), (f"{len(others)} {'other ' * bool(kept)}sources", together), *ours]


def _row(records: Sequence[ClaimRecord]) -> list[str]:
    trained = verdicts_of([r for r in records if not r.is_about_a_document])
    of_documents = verdicts_of([r for r in records if r.is_about_a_document])
    numbers = [*trained.values(), *(of_documents[verdict] for verdict in _DOCUMENTS)]
    return [f"{n or '·'}" for n in numbers]


def _columns(name: str, cells: Sequence[str], names: int, widths: Sequence[int]) -> str:
    padded = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    split = len(Outcome)
    return f"{name:{names}} {' '.join(padded[:split])}  {' '.join(padded[split:])}"


def _and_more(count: int, most: int) -> list[Line]:
    return [(f"  and {count - most} more, with -v or in the report", None)] * (count > most)


def verdict_table(records: Sequence[ClaimRecord]) -> list[Line]:
    """Return the lines of the table of claims; the first line of a claim has its verdict.

    Consistent statements of documents are only counted, since there are hundreds.
    """
    lines: list[Line] = []
    listed = [record for record in records if not _is_only_counted(record)]
    if len(listed) < len(records):
        agree = agreeing(len(records) - len(listed))
        lines.append((f"{'REPRODUCED':{INDENT}}{agree}", Outcome.REPRODUCED))
    for record in listed:
        change = f"  ({shown(record.change)})" if record.change else ""
        head = f"{record.verdict.upper():{INDENT}}{shown(record.claim)}{change}"
        lines.append((head, record.verdict))
        for detail in _details(record):
            wrapped = textwrap.wrap(detail, WIDTH - INDENT, subsequent_indent="  ")
            lines += [(" " * INDENT + line, None) for line in wrapped]
    return lines


def _details(record: ClaimRecord) -> list[str]:
    whose = f"{ONE[record.kind]}: " if record.kind != "source" else ""
    details = [f"{whose}“{shown(record.sentence)}”"]
    if record.documented:
        details.append(f"documented: {shown(record.documented)}")
    if record.measured:
        details.append(f"measured ({shown(record.data)}): {shown(record.measured)}")
    if record.opposed:
        details.append(f"but at another size the opposite: {shown(record.opposed)}")
    if record.verdict is Outcome.NOT_RUN:
        details.append(shown(record.text))
    return details


def _is_only_counted(record: ClaimRecord) -> bool:
    is_as_it_was = record.change_kind is Change.NONE
    return record.is_about_a_document and record.verdict is Outcome.REPRODUCED and is_as_it_was


def summary(results: ResultsDocument) -> str:
    """Return failures, changes and counts; new and refuted claims are folded.

    >>> summary(results).splitlines()[0]
    '## Claims'
    """
    texts = (_summary(results, most) for most in ROWS)
    return next(text for text in texts if len(text.encode()) <= LIMIT)


def _summary(results: ResultsDocument, most: int) -> str:
    said = filter(None, (results.false_verdicts, *results.evidence))
    remarks = [shown(line, most=LONGEST) for line in said]
    parts = ["## Claims"]
    if not results.judged:
        parts.append("No claim was judged.")
    elif not results.changed and not results.new:
        parts.append("Nothing changed against the ledger.")
    lines = [line for line, _ in ending(results, most=most, height=HEIGHT)]
    parts.append(_code([*lines, "", *remarks[:MOST_REMARKS]]))
    refuted = [record for record in results.claims if record.verdict is Outcome.REFUTED]
    parts.append(_folded("Not in the ledger yet", results.new, most))
    parts.append(_folded("Refuted", refuted, most))
    return "\n\n".join(filter(None, parts)) + "\n"


def _folded(title: str, records: Sequence[ClaimRecord], most: int) -> str:
    """Return claims with their sentences and measurements, folded below their number."""
    if not records:
        return ""
    lines = [line for line, _ in verdict_table(records[:most])]
    if len(records) > most:
        lines.append(f"and {len(records) - most} more, in the report")
    return f"<details><summary>{title}: {len(records)}</summary>\n\n{_code(lines)}\n\n</details>"


def _code(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}".rstrip() for line in lines).strip("\n")
