"""The claims of one pytest process: planned together, trained together, judged one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Self, TypedDict

import pytest
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from repro.arm import Run
from repro.backends.choose import backend_named
from repro.document import Document
from repro.ledger import LedgerError
from repro.plugin.claims import BadClaim, mark_of, namesakes
from repro.plugin.gate import Gate
from repro.plugin.gathered import SAID_IN_FULL, Gathered
from repro.plugin.options import store_folder
from repro.plugin.plot import Plot
from repro.plugin.progress import watch_for
from repro.plugin.trials import Trials
from repro.runs.backend import TrainingStopped
from repro.runs.plan import Plan, RunsMissing
from repro.runs.profiles import profile_named
from repro.runs.work import Work
from repro.store import Store, StoreError
from repro.store.errors import warn


class Account(TypedDict):
    """The work of one process: distinct runs asked for, runs trained, and remarks about them."""

    asked: int
    trained: int
    reports: list[str]


class ClaimSession:
    """The work of one process on the selected claims."""

    @classmethod
    def of(cls, config: pytest.Config, items: Sequence[pytest.Item]) -> Self:
        """Make the session that the options ask for; a bad one ends pytest with a sentence."""
        try:
            return cls(config, items)
        except (ValueError, StoreError) as error:
            raise pytest.UsageError(str(error)) from error

    def __init__(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        option = config.getoption
        self.profile = profile_named(option("profile"), budget=option("seed_budget"))
        self.reports: list[str] = []
        store = open_store(config, report=self.reports.append)
        trains = not all(map(_is_about_a_document, items))
        self.backend = backend_named(
            option("executor") if trains else "local",
            store,
            device=option("device") if trains else "cpu",  # to look for a device imports torch
            processes=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
            project=_project(config),
            same_machine=option("same_machine"),
            session=os.environ.get("PYTEST_XDIST_TESTRUNUID"),
        )
        self.work = Work(
            store,
            self.backend,
            engine=option("engine"),
            project=_project(config),
            same_machine=option("same_machine"),
        )
        self.gate = Gate(
            accept=option("update_ledger"),
            insist=option("require_verdict"),
            sparing=option("gate"),
            seeds=self.profile.looks[-1],
        )
        self.items = [item for item in items if item.get_closest_marker("claim")]
        self.refused = self._refused()
        self.is_worker = hasattr(config, "workerinput")
        self.show = watch_for(config)
        self.asked: set[Run] = set()
        self.evidence: dict[pytest.Item, Gathered] = {}

    def _refused(self) -> dict[pytest.Item, str]:
        """Return the claims that cannot be judged at all, each with the reason."""
        refused: dict[pytest.Item, str] = {}
        for item in self.items:
            try:
                mark_of(item)
                self.gate.ledger_of(item)
            except (BadClaim, LedgerError) as error:
                refused[item] = str(error)
        return namesakes(item for item in self.items if item not in refused) | refused

    def trials_of(self, item: pytest.Item, *, explains: bool = True) -> Trials:
        """Make a fresh view of the results for one reading of a claim."""
        trials = Trials(
            self.work.results,
            self.profile,
            self.asked,
            only_at=mark_of(item).only_at,
            spared=partial(self.gate.spared, item),
            explains=explains,
        )
        self.evidence[item] = trials
        return trials

    def document_of(self, item: pytest.Item) -> Document:
        """Make the fixture of a claim about a document, which gathers what it says."""
        document = Document()
        self.evidence[item] = document
        return document

    def plot_of(self, item: pytest.Item) -> Plot:
        """Make an empty figure, to be filled with what is stored."""
        return Plot(item, self.work.results, self.profile)

    def plan(self) -> Plan:
        """Make the plan over the claims that can be judged and that no document alone decides."""
        return Plan(
            [
                self._reader(item)
                for item in self.items
                if not (item in self.refused or _is_about_a_document(item) or _is_skipped(item))
            ],
            is_settled=self.work.results.is_settled,
            asked=self.asked,
        )

    def _reader(self, item: pytest.Item) -> Callable[[], None]:
        assert isinstance(item, pytest.Function)
        callspec = getattr(item, "callspec", None)
        values = dict(callspec.params) if callspec else {}
        takes_trials = "trials" in item.fixturenames

        def read() -> None:
            # that more seeds are needed, or not, is all that a plan has to know
            trials = {"trials": self.trials_of(item, explains=False)} if takes_trials else {}
            given = {**values, **trials}
            try:
                item.obj(**given)
            except (RunsMissing, StoreError, KeyboardInterrupt):
                raise
            except BaseException:  # also sys.exit: whatever it is, the test will say it again
                return

        return read

    def train(self) -> None:
        """Train what is missing, beside the other processes, until every claim has its seeds."""
        plan = self.plan()
        try:
            if plan.missing():
                self.work.train(plan, self.show)
        except (TrainingStopped, StoreError) as stopped:
            if self.is_worker:  # whose exit would not say why: every claim that is open does
                self.work.give_up(str(stopped))
            else:
                pytest.exit(str(stopped), pytest.ExitCode.INTERRUPTED)

    def says_all_of(self, call: pytest.CallInfo[None]) -> bool:
        """Return whether a verdict or a sentence says all there is to say of a claim's end."""
        return call.excinfo is not None and isinstance(call.excinfo.value, SAID_IN_FULL)

    def judge(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        """Turn a claim's test report into its verdict, held against the ledger."""
        evidence = self.evidence.get(item) or self.trials_of(item)
        self.gate.judge(item, call, report, evidence)

    def account(self) -> Account:
        """Return what this process did."""
        remarks = [*self.reports, *self.backend.remarks, *self.work.remarks]
        return {"asked": len(self.asked), "trained": self.work.trained, "reports": remarks}

    def describe_plan(self) -> str:
        """Return what would be trained, for `--plan`."""
        from repro.report.plan_text import plan_text

        missing, forecast = self.plan().missing(), self.work.forecast
        return plan_text(len(self.items), len(self.asked), missing, forecast, self.profile)


def open_store(config: pytest.Config, *, report: Callable[[str], None] = warn) -> Store:
    """Open the store that the command line, the environment or the project names."""
    return Store(store_folder(config), report=report)


def _project(config: pytest.Config) -> Path:
    """Return the project's folder; `rootpath` may be one above, where a store lies elsewhere."""
    return config.inipath.parent if config.inipath else config.invocation_params.dir


def _is_skipped(item: pytest.Item) -> bool:
    """Return whether a mark says that pytest will not run a test."""
    try:  # pytest has no public way to ask before the test is run
        skipped, xfailed = evaluate_skip_marks(item), evaluate_xfail_marks(item)
    except BaseException:  # a condition that cannot be evaluated: pytest will say so
        return True
    return skipped is not None or (xfailed is not None and not xfailed.run)


def _is_about_a_document(item: pytest.Item) -> bool:
    return "document" in getattr(item, "fixturenames", ())
