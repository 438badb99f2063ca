"""The account that each process of a session gives of its work, for its end to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from repro.evidence.results import EvidenceResults
from repro.evidence.use import Use, use_of
from repro.plugin.command_line import option
from repro.recorded.results import ToldRuns
from repro.runs.asked import Told

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession


class Account(TypedDict):
    """The work of one process: runs asked for, runs trained, and remarks about them."""

    asked: Told
    lacking: int
    trained: int
    reports: list[str]
    evidence: Use | None
    """The evidence files that were read, where the session judges from them."""
    recorded: dict[str, list[str]]
    """The keys of the recorded runs that were read, by their files."""
    recorded_runs: ToldRuns
    """These runs, where a report is written."""


def account_of(session: ClaimSession) -> Account:
    """Return what a process did."""
    work, results = session.work, session.results
    return {
        "asked": session.asked.told(),
        "lacking": _lacking(session),
        "trained": work.trained if work else 0,
        "reports": [*session.reports, *(work.remarks if work else ())],
        "evidence": use_of(results) if isinstance(results, EvidenceResults) else None,
        "recorded": session.known.files,
        "recorded_runs": session.known.told() if option(session.config, "report") else {},
    }


def _lacking(session: ClaimSession) -> int:
    """Return how many runs have no result, where training failed or was stopped."""
    results = session.results
    if not session.stopped and not any(map(results.failed, session.asked)):
        return 0
    return sum(results.get(run) is None for run in session.asked)
