"""The claims of one pytest process: planned together, trained together, judged one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self, TypedDict

import pytest

from repro.arm import Run
from repro.document import Document
from repro.executor.choose import executor_named
from repro.executor.protocol import TrainingStopped, Work
from repro.plan import PROFILES, Plan, Profile
from repro.plugin import store_folder
from repro.plugin.gate import Gate, require_distinct
from repro.plugin.gathered import SAID_IN_FULL, Gathered
from repro.plugin.plot import Plot
from repro.plugin.progress import watch_for
from repro.plugin.trials import Trials
from repro.report.progress import Status
from repro.store import Store, StoreError
from repro.store.errors import warn

_ENDS_OF_TESTS = (pytest.skip.Exception, pytest.fail.Exception, pytest.xfail.Exception)
"""No `Exception` in Python's sense: a claim that says so itself has no runs to plan."""


class Account(TypedDict):
    """What one process did: distinct runs asked for, runs trained, what there is to say of it."""

    asked: int
    trained: int
    reports: list[str]


class ClaimSession:
    """One process's share of the work on the selected claims."""

    @classmethod
    def of(cls, config: pytest.Config, items: Sequence[pytest.Item]) -> Self:
        """The session that the command line asks for; bad options end pytest in one sentence."""
        try:
            return cls(config, items)
        except (ValueError, StoreError) as error:
            raise pytest.UsageError(str(error)) from error

    def __init__(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        option = config.getoption
        self.profile = _profile(option("profile"), option("seed_budget"))
        self.reports: list[str] = []
        self.store = open_store(config, report=self.reports.append)
        trains = not all(map(_is_about_a_document, items))
        self.executor = executor_named(
            option("executor") if trains else "local",
            self.store,
            device=option("device") if trains else "cpu",  # to look for a device imports torch
            engine=option("engine"),
            processes=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
            root=_project(config),
            session=os.environ.get("PYTEST_XDIST_TESTRUNUID"),
        )
        self.gate = _gate(config, seeds=self.profile.looks[-1])
        self.items = [item for item in items if item.get_closest_marker("claim")]
        require_distinct(self.items)
        self.show = watch_for(config)
        self.asked: set[Run] = set()
        self.evidence: dict[pytest.Item, Gathered] = {}

    def trials_of(self, item: pytest.Item, *, explains: bool = True) -> Trials:
        """A fresh view of the results for one reading of a claim."""
        mark = item.get_closest_marker("claim")
        assert mark is not None
        trials = Trials(
            self.executor,
            self.profile,
            self.asked,
            only_at=mark.kwargs.get("only_at"),
            spared=partial(self.gate.spared, item),
            explains=explains,
        )
        self.evidence[item] = trials
        return trials

    def document_of(self, item: pytest.Item) -> Document:
        """A document claim's fixture, to which it says what it finds."""
        document = Document()
        self.evidence[item] = document
        return document

    def plot_of(self, item: pytest.Item) -> Plot:
        """An empty figure, to be filled with what is stored."""
        return Plot(item, self.executor, self.profile)

    def plan(self) -> Plan:
        """The plan over all selected claims, but for those that a document alone decides."""
        return Plan(
            [self._reader(item) for item in self.items if not _is_about_a_document(item)],
            is_stored=self._is_settled,
        )

    def _is_settled(self, run: Run) -> bool:
        return run in self.executor.failed or self.executor.result(run) is not None

    def _reader(self, item: pytest.Item) -> Callable[[], None]:
        assert isinstance(item, pytest.Function)
        callspec = getattr(item, "callspec", None)
        values = dict(callspec.params) if callspec else {}
        takes_trials = "trials" in item.fixturenames

        def read() -> None:
            # that more seeds are needed, or not, is all that a plan has to know
            trials = {"trials": self.trials_of(item, explains=False)} if takes_trials else {}
            given = {**values, **trials}
            with suppress(*_ENDS_OF_TESTS):
                item.obj(**given)

        return read

    def train(self) -> None:
        """Train what is missing, beside the other processes, until every claim has its seeds."""
        plan = self.plan()

        def watch(work: Work) -> None:
            decided = sum(reading.settled for reading in plan.readings)
            self.show(Status(len(plan.readings), decided, len(self.asked), work))

        if plan.wanted():
            try:
                self.executor.work(plan.wanted, watch)
            except TrainingStopped as stopped:
                pytest.exit(str(stopped), pytest.ExitCode.INTERRUPTED)

    def says_all_of(self, call: pytest.CallInfo[None]) -> bool:
        """Whether all there is to say of a claim's end is a verdict, or what it raised."""
        return call.excinfo is not None and isinstance(call.excinfo.value, SAID_IN_FULL)

    def judge(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        """Turn a claim's test report into its verdict, held against the ledger."""
        evidence = self.evidence.get(item) or self.trials_of(item)
        self.gate.judge(item, call, report, evidence)

    def account(self) -> Account:
        """What this process did."""
        return {
            "asked": len(self.asked),
            "trained": self.executor.trained,
            "reports": [*self.reports, *self.executor.remarks],
        }

    def describe_plan(self) -> str:
        """What would be trained, for `--plan`."""
        from repro.report.plan_text import plan_text

        missing = self.plan().wanted()
        return plan_text(self.items, self.asked, missing, self.executor, self.profile)


def open_store(config: pytest.Config, *, report: Callable[[str], None] = warn) -> Store:
    """The store that the command line, the environment or the project names."""
    return Store(store_folder(config), report=report)


def _gate(config: pytest.Config, *, seeds: int) -> Gate:
    insist, sparing = config.getoption("require_verdict"), config.getoption("gate")
    if insist and sparing:
        raise ValueError(
            "--require-verdict asks for a verdict on every claim and --gate leaves some out: "
            "give one of them."
        )
    accept = config.getoption("update_ledger")
    return Gate(accept=accept, insist=insist, sparing=sparing, seeds=seeds)


def _project(config: pytest.Config) -> Path:
    """The project's folder; `rootpath` may be one above, for the sake of a store elsewhere."""
    return config.inipath.parent if config.inipath else config.invocation_params.dir


def _is_about_a_document(item: pytest.Item) -> bool:
    return "document" in getattr(item, "fixturenames", ())


def _profile(name: str, budget: int | None) -> Profile:
    if name not in PROFILES:
        raise ValueError(f"There is no profile {name!r}; choose one of {', '.join(PROFILES)}.")
    if budget is not None and budget < 2:
        raise ValueError(f"--seed-budget {budget} is too few to compare anything; give at least 2.")
    return PROFILES[name].within(budget)
