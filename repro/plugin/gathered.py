"""The verdict that follows from what a claim's fixture gathered while its test ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from repro.arm import Needs
from repro.data.locate import DataError
from repro.judge import Excess, Outcome, Verdict
from repro.report.record import ArmData, Finding
from repro.runs.plan import TrainingFailed

SAID_IN_FULL = (AssertionError, Needs, TrainingFailed, DataError)
"""Exceptions of a claim's test whose message replaces the traceback."""


class Gathered(Protocol):
    """The interface of `trials` and `document`: everything gathered while a claim's test ran."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The statements that were judged."""

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
    """Return the outcome of a claim's test; None where it ended in an error and not a verdict."""
    judged = {finding.outcome for finding in gathered.findings}
    if raised is None:  # a passing test is no evidence by itself: `assert not (a > b)` passes too
        worst = [o for o in (Outcome.REFUTED, Outcome.INCONCLUSIVE) if o in judged]
        return worst[0] if worst else Outcome.REPRODUCED
    if isinstance(raised, Needs):
        return Outcome.NOT_RUN
    if not isinstance(raised, AssertionError):
        return None
    return Outcome.INCONCLUSIVE if judged and Outcome.REFUTED not in judged else Outcome.REFUTED


def past_of(gathered: Gathered) -> list[Excess]:
    """Return how far past its bound each needed comparison is; empty where one is unknown."""
    effects = [
        effect
        for finding in gathered.findings
        if isinstance(finding, Verdict)
        for effect in finding.effects
        if effect.needed
    ]
    past = [effect.excess for effect in effects if effect.excess is not None]
    return past if len(past) == len(effects) else []


def named(data: Sequence[str]) -> str:
    """Return the names of data sets as a ledger writes them."""
    return ", ".join(data) or "none"
