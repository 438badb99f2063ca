"""Which claim is run when pytest comes to a claim's place."""

from __future__ import annotations

from typing import Any

import pytest

from repro.plugin.session import ClaimSession


class Turns:
    """Runs a claim that can be judged whenever it is a claim's turn.

    pytest, and a worker of xdist, go through the tests in the order of their collection; which
    claim is run at a claim's place is decided here.
    """

    def __init__(self, claims: ClaimSession, session: pytest.Session) -> None:
        self._claims, self._session = claims, session
        self._places = {*claims.items, *claims.figures}
        self._unknown = _Unknown.from_parent(session, name="the next claim")
        self._is_running = False
        # it leaves out, the next time, whatever was collected before the one that failed
        self._in_order = bool(session.config.getoption("stepwise", False))
        self._came: set[pytest.Item | None] = set()
        self.next: pytest.Item | None = None

    def wait_for_one(self, item: pytest.Item) -> None:
        """Wait until a claim can be judged, where a claim is due."""
        if item in self._places and not self._is_running:
            self.next = item if item in self._came else self._claims.next_item()
            while self._in_order and self.next is not item:
                self._came.add(self.next)
                self.next = self._claims.next_item()

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Run a claim that can be judged in place of this one; None where it is no claim's turn."""
        if self._is_running:
            return None
        if item not in self._places:
            if nextitem not in self._places:
                return None
            chosen = item
        else:
            assert self.next is not None, "there are as many claims as places for them"
            chosen = self.next
            self._swap(item, chosen)
        # What tests of a module or a folder share is torn down where the next one is in another. An
        # item directly below the session leaves what the whole session shares.
        following = nextitem
        if nextitem in self._places and not self._in_order:
            following = self._claims.peek() or self._unknown
        self._claims.take_in_hand(chosen)
        self._is_running = True
        try:
            self._protocol(chosen)(item=chosen, nextitem=following)
        finally:
            self._is_running = False
        return True

    def _protocol(self, item: pytest.Item) -> Any:
        """Return the hook that runs a test; a claim stays in this process, which has the results.

        pytest-forked would run it in a copy of this process, and so of the lines to its trainers.
        """
        manager = item.config.pluginmanager
        forks = manager.getplugin("pytest_forked") if item in self._places else None
        return manager.subset_hook_caller("pytest_runtest_protocol", [forks] if forks else [])

    def _swap(self, item: pytest.Item, chosen: pytest.Item) -> None:
        """Let the tests change places: a worker of xdist reports by place what it has run."""
        items = self._session.items
        here, there = items.index(item), items.index(chosen)
        items[here], items[there] = chosen, item


class _Unknown(pytest.Item):
    """Stands for a test that is not known yet; it is never run."""

    def runtest(self) -> None:
        raise NotImplementedError
