"""The order in which claims are run: as soon as their results are there.

pytest runs tests in the order in which it collected them. At each place of a claim, the session
waits until any claim has all its runs, and runs that claim there. So verdicts come in the order in
which claims can be judged, as pytest's own reports.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from repro.plugin.workers import notes_of
from repro.runs.plan import Plan
from repro.store import StoreError

SECONDS_OF_A_WAIT = 1.0
"""Seconds after which a wait for training looks again whether all is well."""


class Turns:
    """Chooses which claim or figure is run at each place of one."""

    def __init__(
        self,
        session: pytest.Session,
        plan: Plan[pytest.Item],
        train: Callable[[float], None],
        *,
        places: Iterable[pytest.Item],
        first: Iterable[pytest.Item],
        last: Iterable[pytest.Item],
    ) -> None:
        self._config, self._plan, self._train = session.config, plan, train
        self._first = deque(first)
        """The claims to run next: at first those that need no training, then what was peeked."""
        self._last = deque(last)
        """The claims that train in their own tests, and the figures: run when the plan is done."""
        self._places: set[pytest.Item | None] = set(places)
        self._chosen: pytest.Item | None = None
        self._running: pytest.Item | None = None
        self._passed_over: set[pytest.Item | None] = set()
        """The claims that could be judged before their turn; used where pytest's order is kept."""
        # --stepwise skips, the next time, all tests that were collected before the failed one
        self._in_order = bool(self._config.getoption("stepwise", False))
        self._unknown = _Unknown.from_parent(session, name="the next claim")

    def wait(self, item: pytest.Item) -> None:
        """If the test is a claim or a figure, wait until one can be run."""
        if self._running is None and item in self._places:
            self._chosen = item if item in self._passed_over else self.next_item()
            while self._in_order and self._chosen is not item:
                self._passed_over.add(self._chosen)
                self._chosen = self.next_item()

    def next_item(self) -> pytest.Item | None:
        """Train until a claim has all its runs, and return it; None where all have been run."""
        try:
            self._train(0.0)
            while (item := self._take_ready()) is None and self._plan.missing:
                self._train(SECONDS_OF_A_WAIT)
        except StoreError as error:
            pytest.exit(str(error), pytest.ExitCode.INTERRUPTED)
        return item or (self._last.popleft() if self._last else None)

    def _take_ready(self) -> pytest.Item | None:
        return self._first.popleft() if self._first else self._plan.take_ready()

    def _peek(self) -> pytest.Item | None:
        """Return the claim that is run next, if it is known already."""
        if not self._first and (item := self._plan.take_ready()):
            self._first.append(item)
        known = self._first or (() if self._plan.missing else self._last)
        return known[0] if known else None

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Run a claim that can be judged instead of this one; None if no claim is due.

        pytest gets the right next item, so that it tears down module and package fixtures in time.
        """
        is_place = item in self._places
        if self._running is not None or not (is_place or nextitem in self._places):
            return None
        chosen = self._chosen if is_place else item
        assert chosen is not None, "there are as many claims as places for them"
        self._swap(item, chosen)
        if nextitem in self._places and not self._in_order:
            nextitem = self._peek() or self._unknown
        self._running = chosen
        try:
            with self.noted(chosen):
                self._protocol(chosen)(item=chosen, nextitem=nextitem)
        finally:
            self._running = None
        return True

    @contextmanager
    def noted(self, item: pytest.Item) -> Iterator[None]:
        """Note which claim is read or judged, in case it crashes this worker of xdist."""
        notes = notes_of(self._config)
        if notes is not None:
            notes.set_current(item.nodeid)
        try:
            yield
        finally:
            if notes is not None:
                notes.set_current(self._running.nodeid if self._running else "")

    def _swap(self, item: pytest.Item, chosen: pytest.Item) -> None:
        """Swap two tests in the session: a worker of xdist reports tests by their index."""
        items = item.session.items
        here, there = items.index(item), items.index(chosen)
        items[here], items[there] = chosen, item

    def _protocol(self, item: pytest.Item) -> Any:
        """Return the hook that runs a test; for a claim, without pytest-forked.

        pytest-forked would copy this process, with its results and its pipes to the trainers.
        """
        manager = self._config.pluginmanager
        forks = manager.getplugin("pytest_forked") if item in self._places else None
        return manager.subset_hook_caller("pytest_runtest_protocol", [forks] if forks else [])


class _Unknown(pytest.Item):
    """Stands for a next test that is not known yet; it is never run.

    Its parent is the session, so pytest keeps session fixtures and tears down all others.
    """

    def runtest(self) -> None:
        raise NotImplementedError("a test that is not known yet cannot be run")
