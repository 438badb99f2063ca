"""Claims read outside of a test session: collected by pytest, and asked which runs they use."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

import pytest

from repro.evidence import EvidenceError
from repro.plugin.plugin import KEEPS_FIGURES, claim_session
from repro.plugin.session import ClaimSession

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
    code = pytest.main([*QUIET, *options, *claims], plugins=[_Registers(reader)])
    if reader.problems:
        raise EvidenceError(f"The claims cannot be collected: {' '.join(reader.problems)}")
    if reader.raised is not None:
        raise reader.raised
    if not reader.given:
        has_said = code == pytest.ExitCode.USAGE_ERROR
        why = "see above" if has_said else "the selection has none; name their folder or files"
        raise EvidenceError(f"No claims were read: {why}.")
    return reader.given[0]


class _Reader(Generic[T]):
    """A plugin that takes the place of the tests' run."""

    def __init__(self, use: Callable[[ClaimSession], T]) -> None:
        self._use = use
        self.given: list[T] = []
        self.problems: list[str] = []
        self.raised: Exception | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid}: {report.longreprtext}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not self.problems:
            try:
                claims = claim_session(session)
                if claims is not None:
                    self.given.append(self._use(claims))
            except Exception as error:  # pytest would print it as a fault of its own
                self.raised = error
        return True


class _Registers:
    """A plugin that registers another one late, so that its hooks come before the plugin's own."""

    def __init__(self, reader: _Reader[Any]) -> None:
        self._reader = reader

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, T, T]:
        config.option.numprocesses = 0  # also where the project asks for workers
        config.option.dist = "no"
        return (yield)

    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self._reader, KEEPS_FIGURES)
