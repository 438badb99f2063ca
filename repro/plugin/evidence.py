"""What a claim's fixture gathered while its test ran, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from repro.arm import Needs
from repro.data.locate import DataError
from repro.judge import Excess, Outcome, Verdict
from repro.report.record import ArmData, Finding
from repro.runs.plan import TrainingFailed

SAID_IN_FULL = (AssertionError, Needs, TrainingFailed, DataError)
"""How a claim's test ends where a verdict or a sentence takes the place of the traceback."""


class Evidence(Protocol):
    """What the fixtures `trials` and `document` both say."""

    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def p(self) -> float | None:
        """Of the findings together; None where nothing in them is random."""

    @property
    def remarks(self) -> Sequence[str]:
        """What else a reader of the findings has to know."""

    @property
    def profile_name(self) -> str:
        """The profile that the ledger keeps the verdict under."""

    @property
    def data(self) -> Sequence[str]:
        """What the findings are about."""

    @property
    def arms_used(self) -> Sequence[ArmData]:
        """What was trained for them."""

    @property
    def machine(self) -> str:
        """The kind of machine, and whatever else rounds; empty where nothing was trained."""

    @property
    def metrics_used(self) -> Sequence[str]:
        """What they measure."""


def outcome_of(raised: BaseException | None, evidence: Evidence) -> Outcome | None:
    """What the end of a claim's test says; None where it is an error and no verdict."""
    judged = {finding.outcome for finding in evidence.findings}
    if raised is None:  # a passing test is no evidence by itself: `assert not (a > b)` passes too
        worst = [o for o in (Outcome.REFUTED, Outcome.INCONCLUSIVE) if o in judged]
        return worst[0] if worst else Outcome.REPRODUCED
    if isinstance(raised, Needs):
        return Outcome.NOT_RUN
    if not isinstance(raised, AssertionError):
        return None
    return Outcome.INCONCLUSIVE if judged and Outcome.REFUTED not in judged else Outcome.REFUTED


def past_of(evidence: Evidence) -> list[Excess]:
    """How far past its bound each needed comparison is; nothing where one cannot say."""
    effects = [
        effect
        for finding in evidence.findings
        if isinstance(finding, Verdict)
        for effect in finding.effects
        if effect.needed
    ]
    found = [effect.excess for effect in effects if effect.excess is not None]
    return found if len(found) == len(effects) else []


def named(data: Sequence[str]) -> str:
    """Data sets as a ledger names them."""
    return ", ".join(data) or "none"
