"""The verdict that follows from what a claim's fixture gathered while its test ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pytest

from repro.arm import Needs
from repro.data.locate import DataError
from repro.judge import Outcome
from repro.recorded.errors import RecordedError
from repro.report.record import ArmData, Finding
from repro.runs.plan import TrainingFailed
from repro.text import shown

SAID_IN_FULL = (AssertionError, Needs, TrainingFailed, DataError, RecordedError)
"""Exceptions of a claim's test whose message replaces the traceback."""


LEFT_OUT = (pytest.skip.Exception, pytest.xfail.Exception)
"""Exceptions with which a test leaves itself out."""


class Gathered(Protocol):
    """The interface of `trials` and `document`: everything gathered while a claim's test ran."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The statements that were judged."""

    @property
    def asserted(self) -> Sequence[Finding]:
        """The findings whose truth was asked, by `assert` or anything else."""

    @property
    def p(self) -> float | None:
        """The p of the findings together; None where nothing in them is random."""

    @property
    def remarks(self) -> Sequence[str]:
        """Other things that a reader of the findings has to know."""

    @property
    def profile_name(self) -> str:
        """The profile that the ledger keeps the verdict under."""

    @property
    def data(self) -> Sequence[str]:
        """The data sets that the findings are about."""

    @property
    def arms_used(self) -> Sequence[ArmData]:
        """The arms that were trained for the findings."""

    @property
    def machine(self) -> str:
        """The kind of machine, and whatever else rounds; empty where nothing was trained."""

    @property
    def metrics_used(self) -> Sequence[str]:
        """The metrics that the findings are about."""


def outcome_of(raised: BaseException | None, gathered: Gathered) -> Outcome | None:
    """Return the outcome of a claim's test; None where it ended in an error and not a verdict.

    The end of the test and its findings do not contradict each other: see `contradiction`.
    """
    if raised is None:
        return Outcome.REPRODUCED
    if isinstance(raised, Needs):
        return Outcome.NOT_RUN
    if isinstance(raised, AssertionError):
        return _failing(gathered)[0].outcome
    return None


def contradiction(raised: BaseException | None, gathered: Gathered) -> str:
    """Say how the end of a test contradicts its findings; empty where it does not.

    Python's logic is not that of findings: `assert not (a > b)` passes where `a > b` is open, and
    `assert a > b or c > d` where one of two was refuted, and `assert (a > b) != (c > d)` asks for
    the truth of neither. So a test that passes asks for that of each finding, and each is
    reproduced; one that fails has exactly one that is not, which the failing assert asked for.
    """
    failing = _failing(gathered)
    if raised is None and failing:
        return (
            f"The test passed although one of its findings is {failing[0].outcome} "
            f"({_first_line(failing[0])}). {_HOW_TO_CLAIM}"
        )
    if raised is None:
        idle = [each for each in gathered.findings if not _is_asked(each, gathered)]
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
    if not any(_is_asked(failed, gathered) for failed in failing):
        return f"The assertion that failed is none of the claim's findings. {_HOW_TO_CLAIM}"
    if len(failing) > 1:
        return (
            f"More than one of its findings is not reproduced ({_first_line(failing[0])}; "
            f"{_first_line(failing[1])}). {_HOW_TO_CLAIM}"
        )
    return ""


def _is_asked(finding: Finding, gathered: Gathered) -> bool:
    return any(finding is asked for asked in gathered.asserted)


def _failing(gathered: Gathered) -> list[Finding]:
    return [f for f in gathered.findings if f.outcome is not Outcome.REPRODUCED]


_HOW_TO_CLAIM = (
    "Assert each finding by itself; claim several at once with `&`, an alternative with "
    "either(...), and the contrary of a > b with a < b or a.is_within(margin, of=b)."
)


def _first_line(finding: Finding) -> str:
    return shown(str(finding).partition("\n")[0])


def named(data: Sequence[str]) -> str:
    """Return the names of data sets as a ledger writes them."""
    return ", ".join(data) or "none"
