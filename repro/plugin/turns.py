"""The order in which claims are run: as soon as their results are there.

pytest runs tests in the order in which it collected them. At each place of a claim, the session
waits until any claim has all its runs, and runs that claim there. So verdicts come in the order in
which claims can be judged, as pytest's own reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from repro.plugin.workers import end_session, keeps_order, noted
from repro.runs.plan import Plan
from repro.store import StoreError

SECONDS_OF_A_WAIT = 1.0
"""Seconds after which a wait for training looks again whether all is well."""


class Turns:
    """Chooses which claim or figure is run at each place of one, and runs it."""

    def __init__(
        self,
        config: pytest.Config,
        places: Iterable[pytest.Item],
        plan: Plan[pytest.Item],
        train: Callable[[float], None],
    ) -> None:
        self._config, self._plan, self._train = config, plan, train
        self._places: set[pytest.Item | None] = set(places)
        self._in_order = keeps_order(config)
        self._passed_over: set[pytest.Item] = set()
        """The claims that could be judged before their turn; used where pytest's order is kept."""

    def are_due(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Tell whether `run` runs a test itself: a claim, a figure, or the test before one."""
        return not self._places.isdisjoint((item, nextitem))

    def run(self, item: pytest.Item, nextitem: pytest.Item | None, *, without: object) -> None:
        """Run a test, or at the place of a claim any claim that can be judged.

        The hooks of one plugin are left out. pytest gets the right next item, so that it tears down
        module and package fixtures in time. If the next one is not known yet, it gets the session,
        and keeps only session fixtures.
        """
        chosen = self._awaited(item) if item in self._places else item
        tests = item.session.items  # a worker of xdist reports tests by their index in it
        here, there = tests.index(item), tests.index(chosen)
        tests[here], tests[there] = chosen, item
        following: pytest.Item | pytest.Session | None = nextitem
        if nextitem in self._places and not self._in_order:
            following = self._plan.next_ready or item.session
        manager, others = self._config.pluginmanager, [without]
        if chosen in self._places and (forks := manager.getplugin("pytest_forked")):
            others.append(forks)  # it would copy this process, with its pipes to the trainers
        with noted(self._config, chosen):
            protocol = manager.subset_hook_caller("pytest_runtest_protocol", others)
            protocol(item=chosen, nextitem=following)

    def _awaited(self, item: pytest.Item) -> pytest.Item:
        """Train until a claim has all its runs, and return it; in pytest's order, this claim."""
        if not self._in_order:
            return self._next()
        while item not in self._passed_over:
            self._passed_over.add(self._next())
        return item

    def _next(self) -> pytest.Item:
        try:
            self._train(0.0)
            while (item := self._plan.take_ready()) is None:
                assert self._plan.missing, "there are as many claims as places for them"
                self._train(SECONDS_OF_A_WAIT)
        except StoreError as error:
            end_session(self._config, error)
        return item
