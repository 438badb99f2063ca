"""The claims of a session: planned together, trained for by one pool, judged one by one.

pytest comes to the places of claims in the order in which it collected them. At each place the
session waits until a claim misses no run (`next_item`), runs that claim there (`run`), and makes
its verdict of the report (`judge`). So verdicts come in the order in which claims can be judged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import pytest

from repro.arm import Run
from repro.backends.choose import pool_named
from repro.document import Document
from repro.evidence import EvidenceError
from repro.ledger import LedgerError, Ledgers
from repro.plugin.claims import (
    BadClaim,
    call,
    cases_alike,
    claim_id,
    is_about_a_document,
    is_called_alike,
    is_skipped,
    mark_of,
    namesakes,
    needed_of_pytest,
    quiet,
)
from repro.plugin.display import Display, display_of
from repro.plugin.gate import Gate
from repro.plugin.options import (
    evidence_of,
    evidence_option,
    option,
    project_of,
    reference_of,
    slurm_settings,
    store_folder,
)
from repro.plugin.plot import Plot
from repro.plugin.trials import Trials
from repro.plugin.verdict import LEFT_OUT, SAID_IN_FULL, Gathered
from repro.plugin.workers import Notes, notes_of, trainers_of
from repro.recorded.results import WithRecorded
from repro.report.progress import plan_line
from repro.runs.plan import Plan
from repro.runs.pool import TrainingStopped
from repro.runs.profiles import PROFILES, profile_named
from repro.runs.results import KnownResults, Results, RunsMissing
from repro.runs.training import Training
from repro.store import Store, StoreError
from repro.text import said_in_full

SECONDS_OF_A_WAIT = 1.0
"""Seconds after which a session that waits for training looks again whether all is well."""


class ClaimSession:
    """The work of one pytest process on the selected claims."""

    @classmethod
    def of(cls, session: pytest.Session, items: Sequence[pytest.Item]) -> Self:
        """Make the session that the options ask for; a bad one ends pytest with a sentence."""
        try:
            return cls(session, items)
        except (ValueError, StoreError, EvidenceError) as error:
            raise pytest.UsageError(str(error)) from error

    def __init__(self, session: pytest.Session, items: Sequence[pytest.Item]) -> None:
        self.session = session
        self.config = config = session.config
        self.profile = profile_named(
            option(config, "profile"), budget=option(config, "seed-budget")
        )
        self.reports: list[str] = []
        """Sentences that a reader of the verdicts has to know."""
        self.asked: dict[Run, None] = {}
        """The distinct runs that claims have asked for."""
        self.gate = Gate(
            accept=option(config, "update-ledger"),
            insist=option(config, "require-verdict"),
            sparing=option(config, "gate"),
            allows_not_run=option(config, "allow-not-run"),
            profile=self.profile.name,
            seeds=self.profile.looks[-1],
            reference=reference_of(config),
            from_evidence=evidence_option(config),
            ledgers=Ledgers(),
            has_report=bool(option(config, "report")),
        )
        self.items = [item for item in items if item.get_closest_marker("claim")]
        self.figures = [item for item in items if item.get_closest_marker("figure")]
        self.refused = self._refused()
        self.unreadable: dict[pytest.Item, str] = {}
        """The claims whose tests end in an error of their own, and in which."""
        self.results, self.training = self._results()
        self.known = WithRecorded(self.results)
        """The results of the session, and those that are recorded."""
        self.not_ahead = {
            item: needed for item in self.trained if (needed := needed_of_pytest(item))
        }
        """The claims that cannot be read ahead of their test, and what they need of pytest."""
        ahead = [item for item in self.trained if item not in self.not_ahead]
        self.plan = Plan(
            {item: partial(self.read, item) for item in ahead}, is_settled=self._is_settled
        )
        others = [item for item in self.items if item not in self.trained]
        self._first, self._last = deque(others), deque([*self.not_ahead, *self.figures])
        self._places: set[pytest.Item | None] = {*self.items, *self.figures}
        self._next: pytest.Item | None = None
        self._running: pytest.Item | None = None
        self._came: set[pytest.Item | None] = set()
        """The claims that could be judged before their place came, where order is kept."""
        # --stepwise leaves out, the next time, whatever was collected before the one that failed
        self._in_order = bool(config.getoption("stepwise", False))
        self._unknown = _Unknown.from_parent(session, name="the next claim")
        self._has_announced = False
        self._gathered: dict[pytest.Item, Gathered] = {}
        """The findings that a claim's test has gathered, until the claim is judged."""

    # What there is to judge, and by which results

    def _refused(self) -> dict[pytest.Item, str]:
        """Return the claims that cannot be judged at all, each with the reason."""
        refused: dict[pytest.Item, str] = {}
        for item in self.items:
            try:
                mark_of(item)
                self.gate.ledgers.require_in_place(claim_id(item), item.path)
            except (BadClaim, LedgerError) as error:
                refused[item] = str(error)
        named = [item for item in self.items if item not in refused]
        return cases_alike(named) | namesakes(named) | refused

    @cached_property
    def trained(self) -> list[pytest.Item]:
        """The claims that can be judged and that no document alone decides."""
        judged = (x for x in self.items if x not in self.refused and not is_skipped(x))
        return [item for item in judged if not is_about_a_document(item)]

    def _results(self) -> tuple[KnownResults, Training | None]:
        """Return the results that claims read, and the training of those that are missing.

        There is none where the session judges from evidence.
        """
        config = self.config
        evidence = evidence_of(config)
        if evidence is not None:
            return evidence, None
        store = Store(store_folder(config), report=self.reports.append)
        if store.runs_of_former_keys:
            self.reports.append(
                f"{store.runs_of_former_keys} runs in {store.root} have keys of an earlier version;"
                " give them today's with: python -m repro rekey"
            )
        trains = bool(self.trained)
        pool = pool_named(
            option(config, "executor") if trains else "local",
            store,
            device=option(config, "device") if trains else "cpu",  # to look for one imports torch
            trainers=trainers_of(config),
            project=project_of(config),
            same_machine=option(config, "same-machine"),
            slurm=slurm_settings(config),
        )
        machine = pool.machine if option(config, "same-machine") else None
        results = Results(store, device=pool.device, machine=machine)
        engine, project = option(config, "engine"), project_of(config)
        return results, Training(store, pool, results, engine=engine, project=project)

    def _is_settled(self, run: Run) -> bool:
        return isinstance(self.results, Results) and self.results.is_settled(run)

    # A claim's place has come: which claim is run there

    def wait_for_one(self, item: pytest.Item) -> None:
        """Wait until a claim can be judged, where a place of claims has come."""
        if self._running is None and item in self._places:
            self._next = item if item in self._came else self.next_item()
            while self._in_order and self._next is not item:
                self._came.add(self._next)
                self._next = self.next_item()

    def next_item(self) -> pytest.Item | None:
        """Return the claim to run next: one that misses no run. Trains until there is one.

        None where all have been run.
        """
        try:
            item = self._first.popleft() if self._first else self.plan.take_ready()
            if self.plan.missing and self.training is not None:
                self.plan.read_all()
                item = self._trained_for(item, self.training)
        except StoreError as error:
            pytest.exit(str(error), pytest.ExitCode.INTERRUPTED)
        return item or (self._last.popleft() if self._last else None)

    def peek(self) -> pytest.Item | None:
        """Return the claim that is run next, where that is known already."""
        if not self._first and (item := self.plan.take_ready()):
            self._first.append(item)
        known = self._first or (() if self.plan.missing else self._last)
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
            nextitem = self.peek() or self._unknown
        self._running = chosen
        try:
            with self._in_hand(chosen):
                self._protocol(chosen)(item=chosen, nextitem=nextitem)
        finally:
            self._running = None
        return True

    def _swap(self, item: pytest.Item, chosen: pytest.Item) -> None:
        """Let the tests change places: a worker of xdist reports by place what it has run."""
        items = item.session.items
        here, there = items.index(item), items.index(chosen)
        items[here], items[there] = chosen, item

    def _protocol(self, item: pytest.Item) -> Any:
        """Return the hook that runs a test; a claim stays in this process, which has the results.

        pytest-forked would run it in a copy of this process, and so of the lines to its trainers.
        """
        manager = self.config.pluginmanager
        forks = manager.getplugin("pytest_forked") if item in self._places else None
        return manager.subset_hook_caller("pytest_runtest_protocol", [forks] if forks else [])

    # Reading claims, and training what they miss

    def read(self, item: pytest.Item) -> None:
        """Call the test of a claim; raises `RunsMissing` where it, or the gate, misses runs."""
        trials = self.trials_of(item)
        raised: BaseException | None = None
        with self._in_hand(item), quiet():
            try:
                call(item, trials=trials)
            except (RunsMissing, StoreError, KeyboardInterrupt):
                raise
            except BaseException as error:  # also sys.exit: the test will say it again
                raised = error
        if raised is None or isinstance(raised, AssertionError):
            self.gate.compare(item, trials, holds=raised is None)
        elif not isinstance(raised, (*SAID_IN_FULL, *LEFT_OUT)) and is_called_alike(item):
            self.unreadable[item] = said_in_full(raised)

    @contextmanager
    def _in_hand(self, item: pytest.Item) -> Iterator[None]:
        """Note which claim is read or judged, for the case that it ends this worker of xdist."""
        notes = notes_of(self.config)
        if notes is not None:
            notes.hold(item.nodeid)
        try:
            yield
        finally:
            if notes is not None:
                notes.hold(self._running.nodeid if self._running else "")

    def _trained_for(self, item: pytest.Item | None, training: Training) -> pytest.Item | None:
        """Keep the pool busy, and wait where no claim can be judged before."""
        self._announce_plan(training)
        try:
            training.advance(self.plan, seconds=0.0)
            while item is None and (item := self.plan.take_ready()) is None and self.plan.missing:
                training.advance(self.plan, seconds=SECONDS_OF_A_WAIT)
        except TrainingStopped as stopped:
            self._stop_because(stopped)
        return item or self.plan.take_ready()

    def _train_now(self, runs: Sequence[Run]) -> None:
        """Train these runs while a claim waits for them in its test."""
        assert self.training is not None

        def wait() -> None:
            if missing := [run for run in runs if not self._is_settled(run)]:
                raise RunsMissing(missing)

        plan = Plan({"now": wait}, is_settled=self._is_settled)
        capture = self.config.pluginmanager.getplugin("capturemanager")
        try:
            with capture.global_and_fixture_disabled() if capture else nullcontext():
                self._announce_plan(self.training)
                while plan.take_ready() is None:
                    self.training.advance(plan, seconds=SECONDS_OF_A_WAIT)
        except TrainingStopped as stopped:
            self._stop_because(stopped)

    def _stop_because(self, stopped: TrainingStopped) -> None:
        """End the session; in a worker of xdist, whose exit would not say why, each claim does."""
        if not hasattr(self.config, "workerinput"):
            pytest.exit(str(stopped), pytest.ExitCode.INTERRUPTED)
        assert isinstance(self.results, Results)
        self.results.stopped_because = str(stopped)
        self.plan.look(self.plan.missing)

    def _announce_plan(self, training: Training) -> None:
        """Say once what is about to be trained, and how long that will take."""
        if self._has_announced:
            return
        self._has_announced = True
        training.show = lambda status: self._display.show(replace(status, asked=len(self.asked)))
        lines = self.lines_not_ahead()
        if self.plan.missing:
            lines.append(plan_line(training.status(self.plan)))
        if trainers_of(self.config) == 0:
            lines.append("training is serial: -n 0, -s or a debugger keeps it in this process")
        for line in lines:
            self._display.say(line)

    @property
    def _display(self) -> Notes | Display:
        """The display of this process, or a worker's notes to the process that has it."""
        return notes_of(self.config) or display_of(self.config)

    def lines_not_ahead(self) -> list[str]:
        """Say which claims cannot be read ahead of their tests, and why."""
        return [
            f"{claim_id(item)} takes {', '.join(needed)}, which there is only while its test runs:"
            " what it misses is trained then, and is in no plan"
            for item, needed in self.not_ahead.items()
        ]

    # The claim's test is run: its fixtures, and its verdict

    def trials_for(self, item: pytest.Item) -> Trials:
        """Return the fixture of a claim, from which its test is judged."""
        trains = item in self.not_ahead or not is_called_alike(item)
        self._gathered[item] = trials = self.trials_of(item, trains=trains)
        return trials

    def trials_of(self, item: pytest.Item, *, trains: bool = False) -> Trials:
        """Make a fresh view of the results for one call of a claim's test.

        With `trains` it trains what it misses itself.
        """
        mark = mark_of(item)
        profile = replace(PROFILES[self.profile.name], looks=mark.looks_at(self.profile))
        return Trials(
            self.known,
            profile.within(option(self.config, "seed-budget")),
            self.asked,
            only_at=mark.only_at,
            after=mark.after,
            spared=partial(self.gate.spared, item),
            train=self._train_now if trains and self.training is not None else None,
        )

    def document_of(self, item: pytest.Item) -> Document:
        """Make the fixture of a claim about a document, which gathers what it says."""
        self._gathered[item] = document = Document()
        return document

    def plot_of(self, item: pytest.Item) -> Plot:
        """Make an empty figure, to be filled with what is stored."""
        return Plot(item, self.known, self.profile)

    def judge(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        """Turn a claim's test report into its verdict, held against the ledger."""
        gathered = self._gathered.pop(item, None) or self.trials_of(item)
        raised = call.excinfo.value if call.excinfo else None
        self.reports += self.gate.judge(item, raised, report, gathered)

    def close(self) -> None:
        """End the training."""
        if self.training is not None:
            self.training.stop()


class _Unknown(pytest.Item):
    """Stands for a test that is not known yet; it is never run.

    It lies directly below the session, and so leaves what the whole session shares.
    """

    def runtest(self) -> None:
        raise NotImplementedError("a test that is not known yet cannot be run")
