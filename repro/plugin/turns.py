"""Which claim is run at which place: tests have one order, and claims are ready in another.

pytest comes to the places of claims in the order in which it collected them. At each place the
session waits until some claim misses no run, and runs that one there. So verdicts come in the order
in which claims can be judged, as pytest's own reports.
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


class Turns:
    """The places of claims and figures, and what is run at them."""

    def __init__(
        self,
        session: pytest.Session,
        plan: Plan[pytest.Item],
        train: Callable[[bool], pytest.Item | None],
        *,
        places: Iterable[pytest.Item],
        first: Iterable[pytest.Item],
        last: Iterable[pytest.Item],
    ) -> None:
        self._config, self._plan, self._train = session.config, plan, train
        self._first, self._last = deque(first), deque(last)
        """The claims and figures outside of the plan, run before all training or after it."""
        self._places: set[pytest.Item | None] = set(places)
        self._next: pytest.Item | None = None
        self._running: pytest.Item | None = None
        self._ready: set[pytest.Item | None] = set()
        """The claims that could be judged before their place came, where order is kept."""
        # --stepwise leaves out, the next time, whatever was collected before the one that failed
        self._in_order = bool(self._config.getoption("stepwise", False))
        self._unknown = _Unknown.from_parent(session, name="the next claim")

    def wait(self, item: pytest.Item) -> None:
        """Wait until a claim can be judged, where a place of claims has come."""
        if self._running is None and item in self._places:
            self._next = item if item in self._ready else self.next_item()
            while self._in_order and self._next is not item:
                self._ready.add(self._next)
                self._next = self.next_item()

    def next_item(self) -> pytest.Item | None:
        """Return the claim to run next: one that misses no run. Trains until there is one.

        None where all have been run.
        """
        try:
            item = self._first.popleft() if self._first else self._plan.take_ready()
            item = self._train(item is None) or item or self._plan.take_ready()
        except StoreError as error:
            pytest.exit(str(error), pytest.ExitCode.INTERRUPTED)
        return item or (self._last.popleft() if self._last else None)

    def _peek(self) -> pytest.Item | None:
        """Return the claim that is run next, where that is known already."""
        if not self._first and (item := self._plan.take_ready()):
            self._first.append(item)
        known = self._first or (() if self._plan.missing else self._last)
        return known[0] if known else None

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Run a claim that can be judged in place of this one; None where it is no claim's turn.

        What tests of a module or a folder share is torn down where the next one is in another.
        """
        is_place = item in self._places
        if self._running is not None or not (is_place or nextitem in self._places):
            return None
        chosen = self._next if is_place else item
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
        """Note which claim is read or judged, for the case that it ends this worker of xdist."""
        notes = notes_of(self._config)
        if notes is not None:
            notes.set_current(item.nodeid)
        try:
            yield
        finally:
            if notes is not None:
                notes.set_current(self._running.nodeid if self._running else "")

    def _swap(self, item: pytest.Item, chosen: pytest.Item) -> None:
        """Let the tests change places: a worker of xdist reports by place what it has run."""
        items = item.session.items
        here, there = items.index(item), items.index(chosen)
        items[here], items[there] = chosen, item

    def _protocol(self, item: pytest.Item) -> Any:
        """Return the hook that runs a test; a claim stays in this process, which has the results.

        pytest-forked would run it in a copy of this process, and so of the lines to its trainers.
        """
        manager = self._config.pluginmanager
        forks = manager.getplugin("pytest_forked") if item in self._places else None
        return manager.subset_hook_caller("pytest_runtest_protocol", [forks] if forks else [])


class _Unknown(pytest.Item):
    """Stands for a test that is not known yet; it is never run.

    It lies directly below the session, and so leaves what the whole session shares.
    """

    def runtest(self) -> None:
        raise NotImplementedError("a test that is not known yet cannot be run")
