"""Claims read outside of a test session: collected by pytest, and asked which runs they use."""

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
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # this module has imported the plugin
)


def with_claims(
    claims: Sequence[str], options: Sequence[str], use: Callable[[ClaimSession], T]
) -> T:
    """Collect claims and figures as pytest does, and return what a function makes of them.

    Raises `EvidenceError` where there are none, or where they cannot be collected.

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
    """A plugin of pytest that has a function use the claims in place of the tests' run."""

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
        except Exception as error:  # pytest would print it as a fault of its own
            self.raised = error


def read(session: ClaimSession, item: pytest.Item) -> Trials:
    """Call the test of a claim, and return what it asked for, as far as it came.

    >>> read(session, session.trained[0]).arms
    """
    trials = session.trials_of(item)
    with suppress(Exception, pytest.skip.Exception), quiet():  # what is wrong with it its test says
        call(item, trials=trials)
    return trials


def read_everything(session: ClaimSession) -> dict[pytest.Item, int]:
    """Read all that claims, the ledger and figures want of the results.

    Return how many runs are missing to the claims that miss some.

    >>> with_claims(["claims"], [], read_everything)
    """
    missing = {item: _missing_runs(session, item) for item in session.trained}
    session.gate.reference = PROFILES[session.profile.name].reference
    for item in session.trained:
        _missing_runs(session, item)
    for item in session.figures:  # what is wrong with a figure its test says
        with suppress(Exception), quiet():
            call(item, plot=session.plot_of(item))
    return {item: count for item, count in missing.items() if count}


def _missing_runs(session: ClaimSession, item: pytest.Item) -> int:
    """Read a claim; return the number of runs that it stops at."""
    try:
        session.read(item)
    except RunsMissing as stopped:
        return len(stopped.runs)
    return 0
