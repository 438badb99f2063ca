"""Reads claims outside of a test session: pytest collects them, and a command uses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from repro.evidence import EvidenceError
from repro.plugin.claims import call, quiet
from repro.plugin.plugin import INSTEAD
from repro.plugin.session import ClaimSession
from repro.plugin.trials import Trials
from repro.runs.profiles import PROFILES
from repro.runs.results import RunsMissing

T = TypeVar("T")

QUIET = (
    *("-p", "no:terminal", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # the plugin is imported already
)


def with_claims(
    claims: Sequence[str], options: Sequence[str], use: Callable[[ClaimSession], T]
) -> T:
    """Collect claims and figures with pytest, call a function with them, and return its result.

    Raises `EvidenceError` where there are none, or where pytest cannot collect them.

    >>> with_claims(["claims"], ["--repro-profile", "ci"], lambda session: len(session.items))
    """
    reader = _Reader(use)
    code = pytest.main([*QUIET, *options, *claims], plugins=[reader])
    if reader.problems:
        raise EvidenceError(f"The claims cannot be collected: {' '.join(reader.problems)}")
    if reader.raised is not None:
        raise reader.raised
    if not reader.given:
        has_said = code == pytest.ExitCode.USAGE_ERROR
        why = "see above" if has_said else "the selection has none; name their folder or files"
        raise EvidenceError(f"No claims were read: {why}.")
    given: T = reader.given[0]
    return given


class _Reader:
    """A plugin of pytest that calls a function with the claims instead of running tests."""

    def __init__(self, use: Callable[[ClaimSession], Any]) -> None:
        self._use = use
        self.given: list[Any] = []
        self.problems: list[str] = []
        self.raised: Exception | None = None

    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        early_config.stash[INSTEAD] = self._use_now

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid}: {report.longreprtext}")

    def _use_now(self, session: ClaimSession) -> None:
        try:
            self.given.append(self._use(session))
        except Exception as error:  # pytest would print it as an internal error
            self.raised = error


def read(session: ClaimSession, item: pytest.Item) -> Trials:
    """Call the test of a claim, and return its `trials` with all arms that it asked for.

    >>> read(session, session.trained[0]).arms
    """
    trials = session.trials_of(item)
    with suppress(Exception, pytest.skip.Exception), quiet():  # pytest reports errors of the test
        call(item, trials=trials)
    return trials


def read_everything(session: ClaimSession) -> dict[pytest.Item, int]:
    """Read all results that claims, the ledger and figures use.

    Returns the number of missing runs for each claim that misses any.

    >>> with_claims(["claims"], [], read_everything)
    """
    missing = {item: _missing_runs(session, item) for item in session.trained}
    session.gate.reference = PROFILES[session.profile.name].reference
    for item in session.trained:
        _missing_runs(session, item)
    for item in session.figures:  # pytest reports errors of a figure
        with suppress(Exception), quiet():
            call(item, plot=session.plot_of(item))
    return {item: count for item, count in missing.items() if count}


def _missing_runs(session: ClaimSession, item: pytest.Item) -> int:
    """Read a claim; return the number of its missing runs."""
    try:
        session.read(item)
    except RunsMissing as stopped:
        return len(stopped.runs)
    return 0
