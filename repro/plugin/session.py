"""The claims of a session: planned together, trained by one pool, judged one by one.

The session reads claims ahead of their tests (`read`), trains the missing runs (`train`), and turns
each test report into a verdict (`judge`). `Turns` says which claim is run when.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import pytest

from repro.arm import Run
from repro.backends.cluster import require_executor, slurm_parameters
from repro.backends.local import InProcessPool, ProcessPool
from repro.backends.places import cores
from repro.document import Document
from repro.evidence import EvidenceError
from repro.ledger import LedgerError
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
    with_other_fixtures,
)
from repro.plugin.display import Display, display_of
from repro.plugin.gate import Gate
from repro.plugin.options import (
    evidence_of,
    option,
    project_of,
    store_folder,
)
from repro.plugin.plot import Plot
from repro.plugin.trials import Trials
from repro.plugin.turns import SECONDS_OF_A_WAIT, Turns
from repro.plugin.verdict import LEFT_OUT, SAID_IN_FULL, Gathered
from repro.plugin.workers import (
    Notes,
    end_session,
    is_debugged,
    noted,
    notes_of,
    trainers_of,
)
from repro.recorded.results import WithRecorded
from repro.report.plan_text import plan_line
from repro.runs.plan import Plan
from repro.runs.pool import Pool, TrainingStopped
from repro.runs.profiles import PROFILES, profile_named
from repro.runs.results import KnownResults, Results, RunsMissing
from repro.runs.training import Training
from repro.store import Store, StoreError
from repro.text import said_in_full


class ClaimSession:
    """The work of one pytest process on the selected claims."""

    @classmethod
    def of(cls, session: pytest.Session, items: Sequence[pytest.Item]) -> Self:
        """Make the session from the options; a bad option ends pytest with a sentence."""
        try:
            return cls(session, items)
        except (ValueError, StoreError, EvidenceError) as error:
            if notes_of(session.config) is not None:
                end_session(session.config, error)
            raise pytest.UsageError(str(error)) from error

    def __init__(self, session: pytest.Session, items: Sequence[pytest.Item]) -> None:
        self.session = session
        config = session.config
        profile = profile_named(option(config, "profile"), budget=option(config, "seed-budget"))
        looks_once = option(config, "gate") and not option(config, "update-ledger")
        self.profile = profile.at_first_look if looks_once else profile
        self.reports: list[str] = []
        """Remarks for a reader of the verdicts."""
        self.requested: dict[Run, None] = {}
        """The distinct runs that claims have asked for."""
        self.gate = Gate(config, self.profile)
        self._marked = items
        self.unreadable: dict[pytest.Item, str] = {}
        """The claims whose tests raise an error of their own, and the error."""
        self.results, self.training = self._results()
        self.known = WithRecorded(self.results)
        """The results of the session, with recorded results."""
        self.plan = Plan(
            {item: partial(self.read, item) for item in self.trained if item not in self.unplanned},
            is_done=self._is_done,
            ready=[item for item in self.items if item not in self.trained],
            last=[*self.unplanned, *self.figures],
        )
        self.turns = Turns(config, items, self.plan, self.train)
        self._has_announced = False
        self._gathered: dict[pytest.Item, Gathered] = {}
        """The fixture of each claim whose test runs, until the claim is judged."""

    @property
    def config(self) -> pytest.Config:
        """The options of the session."""
        return self.session.config

    # The claims, and the results that they read

    @cached_property
    def items(self) -> list[pytest.Item]:
        """The claims that were selected."""
        return [item for item in self._marked if item.get_closest_marker("claim")]

    @cached_property
    def figures(self) -> list[pytest.Item]:
        """The figures that were selected."""
        return [item for item in self._marked if item.get_closest_marker("figure")]

    @cached_property
    def refused(self) -> dict[pytest.Item, str]:
        """The claims that cannot be judged at all, each with the reason."""
        refused: dict[pytest.Item, str] = {}
        for item in self.items:
            try:
                mark_of(item)
                self.gate.ledgers.require_in_place(claim_id(item), item.path)
            except (BadClaim, LedgerError) as error:
                refused[item] = str(error)
        named = [item for item in self.items if item not in refused]
        return cases_alike(named) | namesakes(named) | with_other_fixtures(named) | refused

    @cached_property
    def trained(self) -> list[pytest.Item]:
        """The claims that need results of runs, without refused and skipped ones."""
        judged = (x for x in self.items if x not in self.refused and not is_skipped(x))
        return [item for item in judged if not is_about_a_document(item)]

    @property
    def names(self) -> list[str]:
        """The names of the claims that need results of runs."""
        return list(map(claim_id, self.trained))

    @cached_property
    def unplanned(self) -> dict[pytest.Item, list[str]]:
        """The claims that cannot be read ahead of their test, and the fixtures that they need."""
        needs = {item: needed_of_pytest(item) for item in self.trained}
        return {item: needed for item, needed in needs.items() if needed}

    def _results(self) -> tuple[KnownResults, Training | None]:
        """Return the results that claims read, and the training of missing ones.

        The training is None if the session judges from evidence.
        """
        config = self.config
        evidence = evidence_of(config)
        if evidence is not None:
            return evidence, None
        store = Store(store_folder(config), report=self.reports.append)
        pool = self._pool(store)
        results = Results(store, device=pool.device)
        engine, project = option(config, "engine"), project_of(config)
        return results, Training(store, pool, results, engine=engine, project=project)

    def _pool(self, store: Store) -> Pool[Any]:
        """Return the pool that the options name; raises ValueError."""
        config, trainers = self.config, trainers_of(self.config)
        name = option(config, "executor") if self.trained else "local"
        device = option(config, "device") if self.trained else "cpu"  # a search imports torch
        if name == "local" and trainers == 0:
            return InProcessPool(store, device=device, shows=is_debugged(config))
        if name == "local":
            return ProcessPool(store, device=device, trainers=trainers or cores())
        address, project = require_executor(name), project_of(config)
        if name == "slurm":
            from repro.backends.slurm import SlurmPool

            parameters = slurm_parameters(option(config, "slurm") or ())
            return SlurmPool(store, parameters, device=device, project=project)
        from repro.backends.ray import RayPool

        return RayPool(store, address=address, device=device, project=project)

    def _is_done(self, run: Run) -> bool:
        return isinstance(self.results, Results) and self.results.is_done(run)

    # Reading claims, and training missing runs

    def read(self, item: pytest.Item) -> None:
        """Call the test of a claim; raises `RunsMissing` if the test, or the gate, needs runs."""
        trials = self.trials_of(item)
        raised: BaseException | None = None
        with noted(self.config, item), quiet():
            try:
                call(item, trials=trials)
            except (RunsMissing, StoreError, KeyboardInterrupt):
                raise
            except BaseException as error:  # also sys.exit: it comes again when the test is run
                raised = error
        if raised is None or isinstance(raised, AssertionError):
            self.gate.compare(item, trials, holds=raised is None)
        elif not isinstance(raised, (*SAID_IN_FULL, *LEFT_OUT)) and is_called_alike(item):
            self.unreadable[item] = said_in_full(raised)

    def read_ahead(self, item: pytest.Item) -> Trials:
        """Call the test of a claim, and return its `trials` with all arms that it asked for."""
        trials = self.trials_of(item)
        with suppress(Exception, pytest.skip.Exception), quiet():  # for pytest to report
            call(item, trials=trials)
        return trials

    def read_everything(self) -> dict[str, int]:
        """Read all results that claims, the ledger and figures use.

        Returns the number of missing runs for each claim whose verdict misses any.
        """
        missing = {claim_id(item): self._missing_runs(item) for item in self.trained}
        self.gate.reference = PROFILES[self.profile.name].reference
        for item in self.trained:
            self._missing_runs(item)
        for item in self.figures:
            with suppress(Exception), quiet():  # for pytest to report
                call(item, plot=self.plot_of(item))
        return {name: count for name, count in missing.items() if count}

    def _missing_runs(self, item: pytest.Item) -> int:
        try:
            self.read(item)
        except RunsMissing as stopped:
            return len(stopped.runs)
        return 0

    def train(self, seconds: float) -> None:
        """Keep the pool busy with what the plan misses; wait so long at most for a result."""
        if self.training is None or not self.plan.missing:
            return
        self.plan.read_all()
        self._announce_plan(self.training)
        try:
            self.training.advance(self.plan, seconds=seconds)
        except TrainingStopped as stopped:
            end_session(self.config, stopped)

    def _train_now(self, runs: Sequence[Run]) -> None:
        """Train these runs now, while the claim's test waits for them."""
        assert self.training is not None

        def wait() -> None:
            if missing := [run for run in runs if not self._is_done(run)]:
                raise RunsMissing(missing)

        plan = Plan({"now": wait}, is_done=self._is_done, urgent=True)
        capture = self.config.pluginmanager.getplugin("capturemanager")
        try:
            with capture.global_and_fixture_disabled() if capture else nullcontext():
                self._announce_plan(self.training)
                while plan.take_ready() is None:
                    self.training.advance(plan, seconds=SECONDS_OF_A_WAIT)
        except TrainingStopped as stopped:
            end_session(self.config, stopped)

    def _announce_plan(self, training: Training) -> None:
        """Say once what will be trained, and how long it will take."""
        if self._has_announced:
            return
        self._has_announced = True
        training.show = lambda status: self._display.show(
            replace(status, requested=len(self.requested))
        )
        lines = self.unplanned_lines()
        if self.plan.missing:
            lines.append(plan_line(training.status(self.plan)))
        if trainers_of(self.config) == 0:
            lines.append("training is serial: -n 0, -s or a debugger keeps it in this process")
        for line in lines:
            self._display.say(line)

    @property
    def _display(self) -> Notes | Display:
        """The display of this process; in a worker, the notes to the process with the display."""
        return notes_of(self.config) or display_of(self.config)

    def unplanned_lines(self) -> list[str]:
        """Say which claims cannot be read ahead of their tests, and why."""
        return [
            f"{claim_id(item)} takes {', '.join(needed)}, which exists only while its test runs:"
            " its missing runs are trained then, and are in no plan"
            for item, needed in self.unplanned.items()
        ]

    # Running a claim's test: its fixtures, and its verdict

    def trials_for(self, item: pytest.Item) -> Trials:
        """Return the `trials` fixture of a claim whose test runs."""
        trains = item in self.unplanned or not is_called_alike(item)
        self._gathered[item] = trials = self.trials_of(item, trains=trains)
        return trials

    def trials_of(self, item: pytest.Item, *, trains: bool = False) -> Trials:
        """Make a new `trials` fixture for one call of a claim's test.

        With `trains` the fixture itself trains missing runs.
        """
        mark = mark_of(item)
        profile = self.profile
        if not profile.looks_once:
            profile = replace(profile, looks=mark.looks_at(profile)).within(profile.budget)
        return Trials(
            self.known,
            profile,
            self.requested,
            only_at=mark.only_at,
            after=mark.after,
            skip_reason=partial(self.gate.skip_reason, item),
            train=self._train_now if trains and self.training is not None else None,
        )

    def document_of(self, item: pytest.Item) -> Document:
        """Return the `document` fixture of a claim whose test runs."""
        self._gathered[item] = document = Document()
        return document

    def plot_of(self, item: pytest.Item) -> Plot:
        """Return the `plot` fixture of a figure."""
        return Plot(item, self.known, self.profile)

    def judge(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        """Turn a claim's test report into its verdict, compared with the ledger."""
        gathered = self._gathered.pop(item, None) or self.trials_of(item)
        raised = call.excinfo.value if call.excinfo else None
        self.reports += self.gate.judge(item, raised, report, gathered)

    def close(self) -> None:
        """End the training."""
        if self.training is not None:
            self.training.stop()
