"""The claims of one pytest process: planned together, trained together, judged one by one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Self

import pytest

from repro.arm import Run
from repro.document import Document
from repro.evidence.errors import EvidenceError
from repro.evidence.results import EvidenceResults
from repro.judge import SUITE_LEVEL
from repro.ledger import LedgerError, Ledgers
from repro.plugin.announce import announced, settled_of
from repro.plugin.call import call, is_called_alike, needed_of_pytest
from repro.plugin.claims import (
    BadClaim,
    cases_alike,
    claim_id,
    is_about_a_document,
    is_skipped,
    mark_of,
    namesakes,
)
from repro.plugin.command_line import option
from repro.plugin.evidence import evidence_of, evidence_option
from repro.plugin.first_reading import FirstReading
from repro.plugin.gate import Gate
from repro.plugin.gathered import SAID_IN_FULL, Gathered, named
from repro.plugin.later import LaterLooks
from repro.plugin.options import reference_of
from repro.plugin.plot import Plot
from repro.plugin.progress import shared_folder, watch_for
from repro.plugin.reader import End, Reader
from repro.plugin.training import Training
from repro.plugin.trials import Trials
from repro.plugin.work import learn_simulated, leave_simulated, open_work
from repro.recorded.results import WithRecorded
from repro.report.record import ClaimRecord
from repro.report.settled import PROPERTY
from repro.runs.asked import Asked
from repro.runs.plan import LaterOf, Plan, RunsMissing
from repro.runs.profiles import PROFILES, profile_named
from repro.runs.results import KnownResults
from repro.runs.work import Work
from repro.store import StoreError


class ClaimSession:
    """The work of one process on the selected claims."""

    @classmethod
    def of(cls, config: pytest.Config, items: Sequence[pytest.Item]) -> Self:
        """Make the session that the options ask for; a bad one ends pytest with a sentence."""
        try:
            return cls(config, items)
        except (ValueError, StoreError, EvidenceError) as error:
            raise pytest.UsageError(str(error)) from error

    def __init__(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        asked = partial(option, config)
        self.config = config
        self.profile = profile_named(asked("profile"), budget=asked("seed-budget"))
        self.reports: list[str] = []
        evidence = evidence_of(config)
        self.work: Work | None = None
        """None where the session judges from evidence and trains nothing."""
        if evidence is None:
            trains = not all(map(is_about_a_document, items))
            self.work = open_work(config, trains=trains, report=self.reports.append)
            self.results: KnownResults = self.work.results
            learn_simulated(self.work.store)
        else:
            self.results = EvidenceResults(evidence)
        self.known = WithRecorded(self.results)
        """The results of the session, and those that are recorded."""
        self.gate = Gate(
            accept=asked("update-ledger"),
            insist=asked("require-verdict"),
            sparing=asked("gate"),
            seeds=self.profile.looks[-1],
            reference=reference_of(config),
            from_evidence=evidence_option(config),
            ledgers=Ledgers(notes=shared_folder(config)),
            has_report=bool(asked("report")),
        )
        self.items = [item for item in items if item.get_closest_marker("claim")]
        self.figures = [item for item in items if item.get_closest_marker("figure")]
        self.refused = self._refused()
        self.until = SUITE_LEVEL / max(1, len(self.trained)) if asked("family-wise") else 1.0
        """The p at which a settled claim takes no more seeds."""
        self.is_worker = hasattr(config, "workerinput")
        self.watch = watch_for(config)
        self.settled: set[pytest.Item] = set()
        self.unplanned = {
            item: needed for item in self.trained if (needed := needed_of_pytest(item))
        }
        """The claims that cannot be read ahead of their test, and what they need of pytest."""
        self.reader = Reader(self.trials_of)
        self.stopped = ""
        """The reason why what is not settled is not judged any more; empty while it is."""
        self._is_debugged = bool(config.getoption("usepdb") or config.getoption("trace"))
        self.asked = Asked()
        self.evidence: dict[pytest.Item, Gathered] = {}
        """The findings that a claim's test has gathered, until the claim is judged."""
        self.reading = FirstReading(
            shared_folder(config), [claim_id(item) for item in self.planned()]
        )

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

    def trials_of(self, item: pytest.Item, *, trains: bool = False) -> Trials:
        """Make a fresh view of the results for one reading of a claim.

        It `trains` what it misses itself where reading it ahead of its test may miss something.
        """
        return Trials(
            self.known,
            self.profile,
            self.asked,
            only_at=mark_of(item).only_at,
            spared=partial(self.gate.spared, item),
            until=self.until,
            train=self._train_now if trains and self._may_miss_runs(item) else None,
        )

    def trials_for(self, item: pytest.Item) -> Trials:
        """Return the fixture of a claim, from which its test is judged."""
        end = self._end_of(item)
        trials = self.trials_of(item, trains=True) if end is None else end.trials
        self.evidence[item] = trials
        return trials

    def _may_miss_runs(self, item: pytest.Item) -> bool:
        is_elsewhere = self.reading.is_elsewhere(claim_id(item))  # what is stored may go meanwhile
        return is_elsewhere or item in self.unplanned or not is_called_alike(item)

    def ends_as_before(self, item: pytest.Item) -> bool:
        """Let a claim's test end as it did when it was read; False where it has to be called.

        Raises what the test raised.
        """
        end = self._end_of(item)
        if end is None:
            return False
        end.again()
        return True

    def _end_of(self, item: pytest.Item) -> End | None:
        return None if self._is_debugged else self.reader.ends.get(item)

    def document_of(self, item: pytest.Item) -> Document:
        """Make the fixture of a claim about a document, which gathers what it says."""
        document = Document()
        self.evidence[item] = document
        return document

    def plot_of(self, item: pytest.Item) -> Plot:
        """Make an empty figure, to be filled with what is stored."""
        return Plot(item, self.known, self.profile)

    def plan(self) -> Plan:
        """Make the plan over the claims that runs decide."""
        assert self.work is not None
        items = self.planned()
        return Plan(
            [partial(self._read, item) for item in items],
            is_settled=self.work.results.is_settled,
            asked=self.asked,
            settled=lambda place: self.announce_ahead(items[place]),
            later=[self._later_of(item) for item in items],
        )

    def planned(self) -> list[pytest.Item]:
        """Return the claims that runs decide and that can be read ahead of their tests."""
        return [item for item in self.trained if item not in self.unplanned]

    @cached_property
    def trained(self) -> list[pytest.Item]:
        """The claims that can be judged and that no document alone decides."""
        return [item for item in self.judged() if not is_about_a_document(item)]

    def stops_at(self, item: pytest.Item) -> tuple[Run, ...]:
        """Read a claim; return the runs that it stops at, none where it comes to its end."""
        try:
            self._read(item)
        except RunsMissing as stopped:
            return stopped.runs
        return ()

    def read_for_the_ledger(self) -> None:
        """Read the further seeds over which the ledger measures what is reproduced, if stored."""
        usual = self.gate
        self.gate = replace(usual, reference=PROFILES[self.profile.name].reference)
        for item in self.trained:
            self.stops_at(item)
        self.gate = usual

    def read_figures(self) -> None:
        """Read the results that the figures draw; what is wrong with a figure its test says."""
        for item in self.figures:
            with suppress(Exception):
                call(item, plot=self.plot_of(item))

    def judged(self) -> list[pytest.Item]:
        """Return the claims that pytest will come to judge."""
        return [item for item in self.items if item not in self.refused and not is_skipped(item)]

    def _later_of(self, item: pytest.Item) -> LaterOf:
        looks, name = self._later, claim_id(item)
        return lambda arms: looks.of(name, named(sorted({arm.data for arm in arms})))

    @cached_property
    def _later(self) -> LaterLooks:
        """The chances of further seeds, by all ledgers of the session."""
        return LaterLooks(self.gate.ledgers.entries(), self.profile.name, looks=self.profile.looks)

    def _read(self, item: pytest.Item) -> None:
        self.reader.read(item, self.gate)

    def wait_for(self, runs: Sequence[Run]) -> None:
        """Ask for runs, as a claim does that is read."""
        assert self.work is not None
        self.asked.update(runs)
        if missing := [run for run in runs if not self.work.results.is_settled(run)]:
            raise RunsMissing(missing)

    def train(self, *, first: pytest.Item) -> None:
        """Train what is missing, beside the other processes, until every claim has its seeds.

        The claims are read from the `first` on, with which this process begins to judge.
        """
        for line in self.not_ahead():
            if self.watch.is_first(line):
                self.watch.say(line)
        if self.work is not None:
            Training(self, self.work).train(first)
        self.watch.finish()

    def _train_now(self, runs: Sequence[Run]) -> None:
        """Train these runs while a claim waits for them in its test."""
        if self.work is not None and not self.stopped:
            Training(self, self.work).train_now(runs)

    def not_ahead(self) -> list[str]:
        """Say which claims cannot be read ahead of their tests, and why."""
        return [
            f"{claim_id(item)} takes {', '.join(needed)}, which there is only while its test runs:"
            " what it misses is trained then, and is in no plan"
            for item, needed in self.unplanned.items()
        ]

    def says_all_of(self, call: pytest.CallInfo[None]) -> bool:
        """Return whether a verdict or a sentence says all there is to say of a claim's end."""
        return call.excinfo is not None and isinstance(call.excinfo.value, SAID_IN_FULL)

    def judge(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> ClaimRecord | None:
        """Turn a claim's test report into its verdict, held against the ledger; return that."""
        evidence = self.evidence.pop(item, None) or self.trials_of(item)
        end = self.reader.ends.pop(item, None)
        known = end.compared if end and end.trials is evidence else None
        compared = self.gate.judge(item, call, report, evidence, known)
        self.reports += [
            f"{claim_id(item)} looked smaller than in the ledger at {held.verdict.seeds} seeds, so"
            f" it took {held.seeds} to tell"
            for held in compared.held
            if held.seeds > held.verdict.seeds
        ]
        return compared.record

    def announce_ahead(self, item: pytest.Item) -> None:
        """Announce a claim that can be judged now, unless another process has or pytest has to."""
        self.settled.add(item)
        if not is_called_alike(item) or not self.watch.is_first(claim_id(item)):
            return
        try:
            if item in self.reader.ends:
                end = self.reader.ends[item]
                settled = announced(item, self.gate, end.trials, end.again, end.compared)
            elif is_about_a_document(item):
                document = self.document_of(item)
                test = partial(call, item, document=document)
                settled = announced(item, self.gate, document, test)
            else:
                trials = self.trials_of(item)
                settled = announced(item, self.gate, trials, partial(call, item, trials=trials))
        except StoreError:
            raise
        except Exception:  # its test will come to the same, and be reported with it
            return
        if settled is not None:
            self.watch.settle(settled)

    def announce(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
        record: ClaimRecord | None,
    ) -> None:
        """Attach a claim's announcement to its report, where it is shown unless it was before."""
        settled = settled_of(item, call, report, record)
        if settled is not None:
            report.user_properties.append((PROPERTY, settled.as_json()))

    def is_left_out(self, item: pytest.Item) -> bool:
        """Return whether a claim is not judged since training was stopped before it was settled."""
        if not self.stopped or item in self.settled or item.get_closest_marker("claim") is None:
            return False
        return not is_about_a_document(item)

    def close(self) -> None:
        """Note what was simulated."""
        if self.work is not None:
            leave_simulated(self.work.store)
