"""The verdict of a claim, from the end of its test, its findings and its ledger entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest
from _pytest._code.code import Traceback

from repro.arm import Needs, Untestable
from repro.data.locate import DataError
from repro.document import Check, Document
from repro.judge import Design, LedgerComparison, Outcome, Standing
from repro.judge.smaller import FURTHER
from repro.ledger import Change, Entry
from repro.plugin.trials import Trials
from repro.recorded import RecordedError
from repro.report.records import Finding, Reason
from repro.runs.profiles import PROFILES
from repro.runs.results import TrainingFailed
from repro.text import said, shown

SAID_IN_FULL = (AssertionError, Needs, TrainingFailed, DataError, RecordedError)
"""Exceptions of a claim's test whose message replaces the traceback."""

_OURS = Path(__file__).parents[1]

LEFT_OUT = (pytest.skip.Exception, pytest.xfail.Exception)
"""Exceptions by which a test skips itself."""

Gathered: TypeAlias = Trials | Document
"""The fixture of a claim: it gathers the findings while the claim's test runs."""


NOTHING_JUDGED = (
    "This claim's test passed without judging anything: assert what trials(...) measured, or what "
    "document(...) says."
)


@dataclass(frozen=True)
class ClaimVerdict:
    """The outcome of a claim, and its difference from the ledger."""

    outcome: Outcome | None = None
    """None where the test ended in an error, without a verdict."""
    error: str = ""
    """The message of a claim without a verdict; if empty, pytest's own."""
    why: str = ""
    """The reason why the claim was not run."""
    reason: Reason = Reason.NONE
    """The kind of reason: why it was not run, or why no number of seeds would settle it."""
    change_kind: Change = Change.NONE
    """The difference from the ledger."""
    change: str = ""
    """The difference in words; empty without one."""
    one_look: Sequence[int] = ()
    """The seeds of each side, if the claim is open after one look at its whole level."""

    @property
    def agrees(self) -> bool:
        """True where the claim is open, reproduced in the ledger, and no smaller than there."""
        return self.change_kind in (Change.OPEN, Change.SHORT)


def verdict(
    raised: BaseException | None,
    gathered: Gathered,
    entry: Entry | None,
    with_ledger: Sequence[LedgerComparison] = (),
    *,
    looks: Sequence[int] = (),
) -> ClaimVerdict:
    """Return the verdict of a claim from the end of its test, its findings and the ledger's entry.

    `with_ledger` compares its findings with the accepted ones. `looks` are the claim's own looks,
    if it declares any.

    >>> verdict(None, trials, None).outcome
    <Outcome.REPRODUCED: 'reproduced'>
    """
    if raised is None and not gathered.findings:
        return ClaimVerdict(error=NOTHING_JUDGED)
    if slip := contradiction(raised, gathered):
        return ClaimVerdict(error=slip)
    if isinstance(raised, Needs):
        reason = Reason.UNTESTABLE if isinstance(raised, Untestable) else Reason.HERE
        return ClaimVerdict(Outcome.NOT_RUN, why=said(raised), reason=reason)
    if raised is not None and not isinstance(raised, AssertionError):
        details = raised.details if isinstance(raised, TrainingFailed) else ""
        is_said = isinstance(raised, SAID_IN_FULL)
        return ClaimVerdict(error=f"{said(raised)}\n{details}".rstrip() if is_said else "")
    outcome = Outcome.REPRODUCED if raised is None else _failing(gathered)[0].outcome
    if again := looked_again(entry, gathered):
        return ClaimVerdict(Outcome.NOT_RUN, why=again, reason=Reason.HERE)
    kind, change = _agreement(outcome, gathered, with_ledger, looks) or _change(entry, outcome)
    if any(each.holds and each.standing is Standing.SMALLER for each in with_ledger):
        if outcome is Outcome.REPRODUCED:
            kind, change = Change.SMALLER, "smaller than it was"
        elif kind in (Change.OPEN, Change.SHORT):
            change += ", but smaller in a comparison that holds"
    if outcome is not Outcome.INCONCLUSIVE:
        return ClaimVerdict(outcome, change_kind=kind, change=change)
    reason = Reason(getattr(_failing(gathered)[0], "beyond", ""))  # findings of documents have none
    design = gathered.design
    has_one_look = design is not None and not (design.declared or design.at_any_time)
    one_look = _seeds(gathered) if has_one_look else ()  # which has spent the whole level
    return ClaimVerdict(outcome, reason=reason, change_kind=kind, change=change, one_look=one_look)


def shorten(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Remove the frames of repro from the traceback of a claim's test, or the whole traceback."""
    if not item.config.getoption("fulltrace", False):
        usual = item._traceback_filter  # applied first: it expects the whole traceback

        def filtered(excinfo: pytest.ExceptionInfo[BaseException]) -> Traceback:
            whole = usual(excinfo)
            theirs = whole.filter(lambda entry: not Path(entry.path).is_relative_to(_OURS))
            return theirs if len(theirs) else whole

        item._traceback_filter = filtered  # type: ignore[method-assign]
    if call.excinfo is not None and isinstance(call.excinfo.value, SAID_IN_FULL):
        # a verdict replaces the traceback, which is slow to format
        item.repr_failure = lambda excinfo, style=None: ""  # type: ignore[method-assign]


def _change(entry: Entry | None, outcome: Outcome) -> tuple[Change, str]:
    """Return how a verdict differs from the ledger, as a `Change` and in words."""
    if entry is None:
        return Change.NEW, "new"
    if entry.verdict == outcome.value:
        return Change.NONE, ""
    if outcome is Outcome.REPRODUCED:
        kind = Change.BETTER
    else:
        kind = Change.WORSE if entry.verdict == Outcome.REPRODUCED.value else Change.OTHER
    return kind, f"{kind} (was {entry.verdict})"


def _agreement(
    outcome: Outcome,
    gathered: Gathered,
    with_ledger: Sequence[LedgerComparison],
    looks: Sequence[int],
) -> tuple[Change, str] | None:
    """Return how an open claim agrees with its reproduced entry in the ledger; None if it does not.

    It agrees if none of its comparisons that do not hold has become smaller.
    """
    still_open = [each for each in with_ledger if not each.holds]
    is_smaller = any(
        each.standing in (Standing.SMALLER, Standing.INCOMPARABLE) for each in still_open
    )
    if outcome is not Outcome.INCONCLUSIVE or is_smaller or not still_open:
        return None
    least = min(still_open, key=lambda each: each.chance)
    usual, design = PROFILES.get(gathered.profile_name), gathered.design
    seeds = design.looks[-1] if design else 0  # with a seed budget or --gate fewer than declared
    is_short = usual is not None and seeds < (looks or usual.looks)[-1]
    kind = Change.SHORT if is_short else Change.OPEN
    where = f"open at {seeds} seeds" if is_short else "open here"
    at = f"at {least.seeds} seeds " if least.seeds > least.verdict.seeds else ""
    is_short_of_seeds = least.standing is Standing.IN_DOUBT and least.seeds < FURTHER[-1]
    few = ": too few to tell" if is_short_of_seeds else ""
    return kind, f"{where}, {at}{least.standing.value}{few}"


def contradiction(raised: BaseException | None, gathered: Gathered) -> str:
    """Say how the end of a test contradicts its findings; empty where it does not.

    Python's logic does not fit findings: `assert not (a > b)` passes if `a > b` is open,
    `assert a > b or c > d` passes if one of them is refuted, `assert (a > b) != (c > d)` asserts
    neither. So a passing test must assert each finding, and each must be reproduced. A failing test
    must have exactly one finding that is not reproduced, and must have asserted it.
    """
    failing = _failing(gathered)
    if raised is None and failing:
        return (
            f"The test passed although one of its findings is {failing[0].outcome} "
            f"({_first_line(failing[0])}). {_HOW_TO_CLAIM}"
        )
    if raised is None:
        idle = [each for each in gathered.findings if not _is_asserted(each, gathered)]
        if not idle:
            return ""
        return (
            f"The test passed, and one of its findings was not asserted by itself "
            f"({_first_line(idle[0])}). {_HOW_TO_CLAIM}"
        )
    if isinstance(raised, LEFT_OUT) and gathered.findings:
        return (
            "The test was left out after it had judged something "
            f"({_first_line(gathered.findings[0])}). Skip it, or expect it to fail, before that."
        )
    if not isinstance(raised, AssertionError):
        return ""
    if not any(_is_asserted(failed, gathered) for failed in failing):
        return f"The assertion that failed is none of the claim's findings. {_HOW_TO_CLAIM}"
    if len(failing) > 1:
        return (
            f"More than one of its findings is not reproduced ({_first_line(failing[0])}; "
            f"{_first_line(failing[1])}). {_HOW_TO_CLAIM}"
        )
    return ""


def _is_asserted(finding: Finding, gathered: Gathered) -> bool:
    return any(finding is asked for asked in gathered.asserted)


def _failing(gathered: Gathered) -> list[Finding]:
    return [f for f in gathered.findings if f.outcome is not Outcome.REPRODUCED]


_HOW_TO_CLAIM = (
    "Assert each finding by itself; claim several at once with `&`, and the contrary of a > b with "
    "a < b or a.is_within(margin, of=b)."
)


def _first_line(finding: Finding) -> str:
    return shown(str(finding).partition("\n")[0])


def named(data: Sequence[str]) -> str:
    """Return the names of data sets as a ledger writes them."""
    return ", ".join(data) or "none"


def looked_again(entry: Entry | None, gathered: Gathered) -> str:
    """Return why an open claim on recorded runs is not judged again with more seeds.

    Empty where it may be. If one look has spent the whole level, a second look would exceed it.
    """
    design = gathered.design
    if design is None or design.declared:
        return ""
    if entry is None or entry.verdict != Outcome.INCONCLUSIVE.value or not gathered.findings:
        return ""
    then, now = entry.one_look, _seeds(gathered)
    if not then or (max(now) <= max(then) and min(now) <= min(then)):
        return ""
    first, second = max(then), max(max(now), max(then) + 1)
    later = Design(looks=(first, second), level=design.level).boundary(second)
    both = design.one_sided_level + later
    return (
        f"was open at {first} seeds, in one look that spent its whole level, and now has {second}."
        " A second look raises the chance of a false verdict on each side from"
        f" {design.one_sided_level:.2%} to {both:.2%} at most: say looks=({first}, {second}) in"
        " recorded(…), or claim it on runs that are all new"
    )


def _seeds(gathered: Gathered) -> tuple[int, ...]:
    """Return the seeds of each side of the last finding; none for a check of a document."""
    finding = gathered.findings[-1]
    if isinstance(finding, Check):
        return ()
    return (finding.weakest.counts if finding.weakest else ()) or (finding.seeds,)
