"""The training of a session's claims: each is read, and trained for until it can be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

import pytest

from repro.arm import Run
from repro.plugin.claims import is_about_a_document, name_or_none
from repro.plugin.first_reading import FirstReading, Reading
from repro.plugin.watch import EnoughFailed, Watch
from repro.report.progress import plan_line
from repro.runs.asked import Asked
from repro.runs.backend import TrainingStopped
from repro.runs.plan import Plan
from repro.runs.work import Work
from repro.store import StoreError


class TrainedSession(Protocol):
    """The parts of a session that its training reads and changes."""

    asked: Asked
    reading: FirstReading
    watch: Watch
    settled: set[pytest.Item]
    stopped: str
    is_worker: bool

    def plan(self) -> Plan: ...
    def planned(self) -> list[pytest.Item]: ...
    def judged(self) -> list[pytest.Item]: ...
    def wait_for(self, runs: Sequence[Run]) -> None: ...
    def announce_ahead(self, item: pytest.Item) -> None: ...


class Training:
    """Trains what the claims of a session miss, and announces each claim that can be judged.

    >>> Training(session, work).train(first=None)
    """

    def __init__(self, session: TrainedSession, work: Work) -> None:
        self.session, self.work = session, work

    def train(self, first: pytest.Item) -> None:
        """Read the claims from the `first` on, and train until none misses anything.

        Where some are open, the others are announced as they are found: those about documents,
        then what is stored. Else nothing is, for the tests come at once.
        """
        with self._may_stop():
            plan = self.session.plan()
            self._read_first(plan, name_or_none(first))
            missing = plan.missing()
            if missing:
                if self.session.watch.is_first("the plan"):
                    self.session.watch.say(self._about_to_train(plan, missing))
                self._train(plan)

    def train_now(self, runs: Sequence[Run]) -> None:
        """Train these runs, which a claim waits for in its test."""
        with self._may_stop():
            wait = partial(self.session.wait_for, runs)
            is_settled = self.work.results.is_settled
            plan = Plan([wait], is_settled=is_settled, asked=self.session.asked)
            self._train(plan)

    def _train(self, plan: Plan) -> None:
        self.work.train(plan, self.session.watch.status)

    def _read_first(self, plan: Plan, first: str | None) -> None:
        """Read each claim in one process of the session; announce what is decided if not all is."""
        items = self.session.planned()
        ready: list[pytest.Item] = []
        is_any_open = False
        read = partial(self._read_chunk, plan)
        for reading in self.session.reading.readings(read, first=first):
            decided = [place for place in reading.places if place not in reading.open]
            self.session.settled.update(items[place] for place in decided)
            if reading.here:
                ready += [items[place] for place in decided]
            else:
                self.session.asked.tell(reading.asked)
                for place in decided:
                    plan.decide(place)
            if reading.open and not is_any_open:
                is_any_open = True
                ready = [*filter(is_about_a_document, self.session.judged()), *ready]
            if is_any_open:
                for item in ready:
                    self.session.announce_ahead(item)
                ready.clear()

    def _read_chunk(self, plan: Plan, places: range) -> Reading:
        is_open = frozenset(place for place in places if not plan.read(place))
        return Reading(places, is_open, self.session.asked.news())

    @contextmanager
    def _may_stop(self) -> Iterator[None]:
        try:
            yield
        except EnoughFailed:
            self.session.stopped = "not judged: enough claims have failed (-x, --maxfail)"
        except (TrainingStopped, StoreError) as stopped:
            if self.session.is_worker:  # whose exit would not say why: each open claim does
                self.work.give_up(str(stopped))
            else:
                pytest.exit(str(stopped), pytest.ExitCode.INTERRUPTED)

    def _about_to_train(self, plan: Plan, missing: Sequence[Run]) -> str:
        likely, forecast = plan.likely(), self.work.forecast
        seconds = forecast.of_all(missing) + forecast.of_likely(likely)
        return plan_line(
            open_claims=plan.claims - plan.decided,
            missing=len(missing),
            likely=sum(likely.values()),
            seconds=seconds / self.work.slots,
            is_guessed=not all(map(forecast.is_timed, missing)),
        )
