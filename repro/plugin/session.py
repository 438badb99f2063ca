"""The claims of a session: planned together, trained by one pool, judged one by one.

The session reads all claims (`make_plan`) and puts them into an order (`in_order`). Each waits for
its runs before its test (`wait_for`), and for further seeds while its test runs. Each test report
is turned into a verdict (`judge`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pytest

from repro.arm import Run
from repro.core.device import resolve_device
from repro.document import Document
from repro.evidence import EvidenceError
from repro.imports import import_whole
from repro.ledger import LedgerError
from repro.plugin.claim_verdict import LEFT_OUT, SAID_IN_FULL, Gathered
from repro.plugin.claims import (
    BadClaim,
    call,
    can_call_directly,
    cases_alike,
    claim_id,
    fixtures_of_pytest,
    is_about_a_document,
    is_skipped,
    mark_of,
    namesakes,
    quiet,
    with_other_fixtures,
)
from repro.plugin.command_line import option
from repro.plugin.gate import Gate
from repro.plugin.options import (
    evidence_of,
    project_folder,
    project_of,
    store_folder,
)
from repro.plugin.time_limits import TimeLimits
from repro.plugin.trials import Trials
from repro.plugin.workers import end_session, is_debugged, is_worker, trainers_of, trains_here
from repro.recorded.adapter import WithRecorded
from repro.runs.plan import Plan
from repro.runs.profiles import PROFILES, profile_named
from repro.runs.results import KnownResults, Results, RunsMissing
from repro.runs.time_left import work_of
from repro.store import Store, StoreError
from repro.text import said_in_full

if TYPE_CHECKING:
    from repro.plugin.plot import Plot
    from repro.runs.pool import Pool
    from repro.runs.training import Training


class Ended(NamedTuple):
    """The reading of a claim that came to the end of its test."""

    test: object
    trials: Trials
    raised: AssertionError | None


class ClaimSession:
    """The work of one pytest process on the selected claims."""

    @classmethod
    def of(cls, session: pytest.Session, marked: Sequence[pytest.Item]) -> Self:
        """Make the session from the options; a bad option ends pytest with a sentence."""
        try:
            return cls(session, marked)
        except (ValueError, StoreError, EvidenceError) as error:
            if is_worker(session.config):
                end_session(session.config, error)
            raise pytest.UsageError(str(error)) from error

    def __init__(self, session: pytest.Session, marked: Sequence[pytest.Item]) -> None:
        self.session, self.config = session, (config := session.config)
        self.project = project_folder(config)
        self.items = [item for item in marked if item.get_closest_marker("claim")]
        """The claims that were selected."""
        self.figures = [item for item in marked if item.get_closest_marker("figure")]
        """The figures that were selected."""
        profile = profile_named(option(config, "profile"), budget=option(config, "seed-budget"))
        first_look_only = option(config, "gate") and not option(config, "update-ledger")
        self.profile = profile.at_first_look if first_look_only else profile
        self.remarks: list[str] = []
        """Remarks for a reader of the verdicts."""
        self.requested: dict[Run, None] = {}
        """The distinct runs that claims have asked for."""
        self.gate = Gate(config, self.profile)
        self.unreadable: dict[pytest.Item, str] = {}
        """The claims whose tests raise an error of their own, and the error."""
        self.store: Store | None = None
        """The store of the results; None if the session judges from evidence."""
        self.pool: Pool[Any] | None = None
        """The pool that trains missing runs, once there are any, or once a cluster is joined."""
        self.results = self._results()
        self.known = WithRecorded(self.results)
        """The results of the session, with recorded results."""
        self.plan: Plan[pytest.Item] = Plan({}, is_done=self._is_done)
        """The claims that are read ahead of their tests."""
        self._compares = False
        """True where reading a claim includes the comparison with the ledger."""
        self._limits = TimeLimits(config)
        config.pluginmanager.register(self._limits)
        self._has_announced = False
        self._gathered: dict[pytest.Item, Gathered] = {}
        """The fixture of each claim whose test runs, until the claim is judged."""
        self._ended: dict[pytest.Item, Ended] = {}
        """The claims whose last reading came to the end of their test."""

    # The claims, and the results that they read

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
        needs = {item: fixtures_of_pytest(item) for item in self.trained}
        return {item: needed for item, needed in needs.items() if needed}

    def _results(self) -> KnownResults:
        """Return the results that claims read; raises ValueError where an option is bad."""
        config = self.config
        if (evidence := evidence_of(config)) is not None:
            return evidence
        self.store = Store(store_folder(config), report=self.remarks.append)
        device = "cpu"
        if self.trained and option(config, "executor") != "local":
            self.pool = self._pool(self.store)
            device = self.pool.device  # that of its nodes
        elif self.trained:
            device = resolve_device(option(config, "device"))
        return Results(self.store, device=device, project=self.project)

    def _pool(self, store: Store) -> Pool[Any]:
        """Return the pool that the options name; raises ValueError."""
        config, project = self.config, project_of(self.config)
        name, device = option(config, "executor"), option(config, "device")
        if name == "local":
            import_whole("repro.backends.local")
            from repro.backends import local

            options = {"device": device, "project": self.project}
            if trains_here(config):
                return local.InProcessPool(store, shows=is_debugged(config), **options)
            return local.ProcessPool(store, trainers=trainers_of(config), **options)
        from repro.backends.cluster import require_executor, slurm_parameters

        address = require_executor(name)
        if name == "slurm":
            from repro.backends.slurm import SlurmPool

            parameters = slurm_parameters(option(config, "slurm") or ())
            return SlurmPool(store, parameters, device=device, project=project)
        from repro.backends.ray import RayPool

        return RayPool(store, address=address, device=device, project=project)

    @cached_property
    def training(self) -> Training:
        """The training of missing runs, which begins when there are any."""
        from repro.runs.training import Training

        assert self.store is not None, "evidence is complete"
        assert isinstance(self.results, Results)
        self.pool = self.pool or self._pool(self.store)
        config, pool = self.config, self.pool
        engine, project = option(config, "engine"), project_of(config)
        return Training(self.store, pool, self.results, engine=engine, project=project)

    def _is_done(self, run: Run) -> bool:
        return isinstance(self.results, Results) and self.results.is_done(run)

    # Reading claims ahead of their tests

    def make_plan(self, items: Iterable[pytest.Item]) -> None:
        """Read claims for the first time, if anything can be trained: make a plan of them."""
        can_plan = set(self.trained) - self.unplanned.keys() if self.store is not None else set()
        self._compares = bool(option(self.config, "plan"))
        self.plan = Plan(
            {item: partial(self.read, item) for item in items if item in can_plan},
            is_done=self._is_done,
        )
        try:
            self.plan.read_all()
        except StoreError as error:
            end_session(self.config, error)
        self._compares = True

    def in_order(self, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """Return tests in the order in which they are run: the cheapest claims first.

        Before them come tests that are no claims. Claims that cannot be planned come last.
        """
        claims, figures = set(self.items), set(self.figures)

        def place(item: pytest.Item) -> tuple[int, float]:
            is_later = 3 * (item in figures) or 2 * (item in self.unplanned)
            return is_later or int(item in claims), sum(map(work_of, self.plan.missed_by(item)))

        return sorted(items, key=place)

    def read(self, item: pytest.Item) -> None:
        """Call the test of a claim; raises `RunsMissing` if it needs runs.

        The first reading leaves out what the comparison with the ledger needs: it is made when the
        claim's test has ended.
        """
        self._ended.pop(item, None)
        trials = self.new_trials(item)
        raised: BaseException | None = None
        with quiet() as said_anything:
            try:
                call(item, trials=trials)
            except (RunsMissing, StoreError, KeyboardInterrupt):
                raise
            except BaseException as error:  # also sys.exit: it comes again when the test is run
                raised = error
        if raised is None or isinstance(raised, AssertionError):
            if can_call_directly(item) and not (said_anything() or is_debugged(self.config)):
                self._ended[item] = Ended(_test_of(item), trials, raised)
            if self._compares:
                self.gate.compare(item, trials, holds=raised is None)
        elif not isinstance(raised, (*SAID_IN_FULL, *LEFT_OUT)) and can_call_directly(item):
            self.unreadable[item] = said_in_full(raised)

    def read_ahead(self, item: pytest.Item) -> Trials:
        """Call the test of a claim, and return its `trials` with all arms that it asked for."""
        trials = self.new_trials(item)
        with suppress(Exception, pytest.skip.Exception), quiet():  # for pytest to report
            call(item, trials=trials)
        return trials

    def read_everything(self) -> dict[str, int]:
        """Read all results that claims, the ledger and figures use.

        Returns the number of missing runs for each claim whose verdict misses any.
        """
        self._compares = True
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

    # Training

    def wait_for(self, item: pytest.Item) -> None:
        """Train until a claim has all runs that it is known to miss."""
        if missing := self.plan.take(item):
            self._train(missing)

    def _train_in_test(self, runs: Sequence[Run]) -> None:
        """Train runs while the test of a claim waits for them."""
        capture = self.config.pluginmanager.getplugin("capturemanager")
        shown = capture.global_and_fixture_disabled() if capture else nullcontext()
        with self._limits.suspended(), shown:
            self._train(runs)

    def _train(self, runs: Sequence[Run]) -> None:
        from repro.runs.pool import TrainingStopped

        try:
            self.plan.want(runs)
            self._announce()
            self.training.train(self.plan)
        except TrainingStopped as stopped:
            end_session(self.config, stopped)

    def _announce(self) -> None:
        """Say once what will be trained, and how long it will take."""
        if self._has_announced:
            return
        self._has_announced = True
        from repro.plugin.display import display_of
        from repro.report.plan_text import plan_line

        display, status = display_of(self.config), self.training.status(self.plan)
        again = self.results.why_again() if isinstance(self.results, Results) else []
        lines = [*self.unplanned_lines(), *again, plan_line(status)]
        if trains_here(self.config):
            lines.append(
                "runs are trained in this process, one after the other, and are judged and not"
                " stored: leave out -s, the debugger or coverage to store them"
            )
        for line in lines:
            display.say(line)
        self.training.show = lambda status: display.show(
            replace(status, requested=len(self.requested))
        )
        self.training.show(status)

    def unplanned_lines(self) -> list[str]:
        """Say which claims cannot be read ahead of their tests, and why."""
        return [
            f"{claim_id(item)} takes {', '.join(needed)}, which exists only while its test runs:"
            " its missing runs are trained then, and are in no plan"
            for item, needed in self.unplanned.items()
        ]

    # Running a claim's test: its fixtures, and its verdict

    def start_trials(self, item: pytest.Item) -> Trials:
        """Return the `trials` fixture of a claim whose test runs; it trains what it misses."""
        ended = self._ended.get(item)
        if ended is not None and ended.test is not _test_of(item):  # a plugin has put another there
            del self._ended[item]
            ended = None
        self._gathered[item] = trials = self.new_trials(item) if ended is None else ended.trials
        trials.train = self._train_in_test if self.store is not None else None
        return trials

    def new_trials(self, item: pytest.Item) -> Trials:
        """Make a `trials` fixture for one call of a claim's test."""
        mark = mark_of(item)
        profile = self.profile
        if not profile.first_look_only:
            profile = replace(profile, looks=mark.looks_at(profile)).within(profile.budget)
        return Trials(
            self.known,
            profile,
            self.requested,
            only_at=mark.only_at,
            after=mark.after,
            level=option(self.config, "level") if mark.level is None else mark.level,
            skip_reason=partial(self.gate.skip_reason, item),
        )

    def has_ended(self, item: pytest.Item) -> bool:
        """Return whether the last reading of a claim was its test; raises what its test raised.

        It had all results, so to call the test once more would say the same.
        """
        ended = self._ended.pop(item, None)
        if ended is not None and ended.raised is not None:
            raise ended.raised
        return ended is not None

    def document_of(self, item: pytest.Item) -> Document:
        """Return the `document` fixture of a claim whose test runs."""
        self._gathered[item] = document = Document()
        return document

    def plot_of(self, item: pytest.Item) -> Plot:
        """Return the `plot` fixture of a figure."""
        from repro.plugin.plot import Plot

        return Plot(item, self.known, self.profile)

    def judge(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        """Turn a claim's test report into its verdict, compared with the ledger."""
        gathered = self._gathered.pop(item, None) or self.new_trials(item)
        raised = call.excinfo.value if call.excinfo else None
        try:
            if isinstance(raised, StoreError):
                raise raised
            self.remarks += self.gate.judge(item, raised, report, gathered)
        except StoreError as error:
            end_session(self.config, error)

    def close(self) -> None:
        """End the training."""
        if self.pool is not None:
            self.training.stop()


def _test_of(item: pytest.Item) -> object:
    assert isinstance(item, pytest.Function)
    return item.obj
