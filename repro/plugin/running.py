"""Runs claims in a process that has collected some: their order, and the wait for their runs."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from repro.imports import import_whole
from repro.plugin.workers import is_worker, keeps_order

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession

NAME = "repro-running"
"""The name of `Running` among pytest's plugins."""


def takes_results(item: pytest.Item) -> bool:
    """Tell whether a test is a claim or a figure."""
    return any(mark.name in ("claim", "figure") for mark in item.iter_markers())


class Running:
    """Runs claims and figures; a plugin of pytest."""

    def __init__(self, session: pytest.Session, marked: Sequence[pytest.Item]) -> None:
        self._session, self._marked = session, marked
        self._claims: ClaimSession | None = None

    @property
    def claims(self) -> ClaimSession:
        """The session of the claims, made when it is needed.

        So a worker of xdist that gets no claim makes none, and imports nothing for it.
        """
        if self._claims is None:
            os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported
            import_whole("repro.plugin.session")
            from repro.plugin.session import ClaimSession

            self._claims = ClaimSession.of(self._session, self._marked)
            gc.freeze()  # thousands of claims stay in memory, for the garbage collector to skip
        return self._claims

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Read all claims, and put them into their order; pytest runs them afterwards."""
        goes_on = session.config.option.continue_on_collection_errors
        is_stopped = session.testsfailed and not goes_on
        if is_stopped or self._shows_tests_alone or is_worker(session.config):
            return
        self.claims.make_plan(self.claims.items)
        if not keeps_order(session.config):
            session.items[:] = self.claims.in_order(session.items)

    @property
    def _shows_tests_alone(self) -> bool:
        asked = self._session.config.option
        return bool(asked.collectonly or asked.setupplan or asked.setuponly)

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of other plugins' time limits
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Wait until a claim has the runs that it is known to miss.

        A worker of xdist reads it now, and no other claim: one that ends its process would be
        mistaken for another.
        """
        if takes_results(item) and not self._shows_tests_alone:
            if is_worker(item.config):
                self.claims.make_plan([item])
            self.claims.wait_for(item)
        return (yield)

    @pytest.hookimpl(specname="pytest_runtest_protocol", tryfirst=True)
    def pytest_runtest_protocol_here(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> object:
        """Run a claim in this process, without pytest-forked: a fork would share the trainers."""
        plugins = item.config.pluginmanager
        forks = plugins.getplugin("pytest_forked") if takes_results(item) else None
        if forks is None:
            return None
        protocol = plugins.subset_hook_caller("pytest_runtest_protocol", [forks, self])
        return protocol(item=item, nextitem=nextitem)


def of(config: pytest.Config) -> Running | None:
    """Return the plugin of a process that has collected claims or figures."""
    found: Running | None = config.pluginmanager.getplugin(NAME)
    return found


def claims_of(config: pytest.Config) -> ClaimSession | None:
    """Return the session of the claims, if it was made."""
    runs = of(config)
    return runs._claims if runs is not None else None
