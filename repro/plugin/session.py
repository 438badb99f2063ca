"""The claims of one pytest process: planned together, trained together, judged one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self, TypedDict

import pytest
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from repro.arm import Run
from repro.backends.choose import backend_named
from repro.document import Document
from repro.evidence.errors import EvidenceError
from repro.evidence.results import EvidenceResults
from repro.evidence.use import Use, use_of
from repro.judge import SUITE_LEVEL, simulated
from repro.ledger import LedgerError, Ledgers
from repro.plugin import garbage
from repro.plugin.announce import announced, settled_of
from repro.plugin.call import call, is_called_alike, needed_of_pytest
from repro.plugin.claims import BadClaim, cases_alike, claim_id, mark_of, namesakes
from repro.plugin.command_line import option
from repro.plugin.evidence import evidence_of, evidence_option
from repro.plugin.first_reading import FirstReading, Reading
from repro.plugin.gate import Gate
from repro.plugin.gathered import SAID_IN_FULL, Gathered, named
from repro.plugin.later import LaterLooks
from repro.plugin.options import share_url, store_folder
from repro.plugin.plot import Plot
from repro.plugin.progress import shared_folder, watch_for
from repro.plugin.reader import End, Reader
from repro.plugin.slurm import slurm_settings
from repro.plugin.trials import Trials
from repro.plugin.watch import EnoughFailed
from repro.recorded.results import ToldRuns, WithRecorded, recorded_lines
from repro.report.progress import plan_line
from repro.report.record import ClaimRecord
from repro.report.settled import PROPERTY
from repro.runs.asked import Asked, Told
from repro.runs.backend import TrainingStopped
from repro.runs.plan import LaterOf, Plan, RunsMissing
from repro.runs.profiles import PROFILES, profile_named
from repro.runs.results import KnownResults
from repro.runs.work import Work
from repro.share import SharedStore, objects_at
from repro.store import Store, StoreError, keep_simulated, read_simulated
from repro.store.errors import warn
from repro.text import shown


class Account(TypedDict):
    """The work of one process: runs asked for, runs trained, and remarks about them."""

    asked: Told
    lacking: int
    trained: int
    reports: list[str]
    evidence: Use | None
    """The evidence files that were read, where the session judges from them."""
    recorded: dict[str, list[str]]
    """The keys of the recorded runs that were read, by their files."""
    recorded_runs: ToldRuns
    """These runs, where a report is written."""


class ClaimSession:
    """The work of one process on the selected claims."""

    @classmethod
    def of(
        cls,
        config: pytest.Config,
        items: Sequence[pytest.Item],
        *,
        also: Mapping[str, Sequence[Run]],
    ) -> Self:
        """Make the session that the options ask for; a bad one ends pytest with a sentence."""
        try:
            return cls(config, items, also)
        except (ValueError, StoreError, EvidenceError) as error:
            raise pytest.UsageError(str(error)) from error

    def __init__(
        self,
        config: pytest.Config,
        items: Sequence[pytest.Item],
        also: Mapping[str, Sequence[Run]],
    ) -> None:
        asked = partial(option, config)
        self.config = config
        self.also = also
        """The runs that are trained here for claims that are judged elsewhere, by claim."""
        self.profile = profile_named(asked("profile"), budget=asked("seed-budget"))
        self.reports: list[str] = []
        evidence = evidence_of(config)
        self.share: SharedStore | None = None
        self.work: Work | None = None
        """None where the session judges from evidence and trains nothing."""
        if evidence is None:
            self.work = self._work(config, items)
            self.results: KnownResults = self.work.results
            root, version = self.work.store.root, simulated.version()
            simulated.learn(read_simulated(root, version=version))
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
        self._reporting = bool(asked("report"))
        self._is_debugged = bool(config.getoption("usepdb") or config.getoption("trace"))
        self.asked = Asked()
        self.evidence: dict[pytest.Item, Gathered] = {}
        """The findings that a claim's test has gathered, until the claim is judged."""
        self.reading = FirstReading(
            shared_folder(config), [claim_id(item) for item in self._planned()]
        )

    def _work(self, config: pytest.Config, items: Sequence[pytest.Item]) -> Work:
        asked = partial(option, config)
        store = open_store(config, report=self.reports.append)
        if url := share_url(config):
            store = self.share = SharedStore(
                store.root, objects_at(url), report=self.reports.append
            )
        trains = bool(self.also) or not all(map(_is_about_a_document, items))
        backend = backend_named(
            asked("executor") if trains else "local",
            store,
            device=asked("device") if trains else "cpu",  # to look for a device imports torch
            processes=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
            project=_project(config),
            same_machine=asked("same-machine"),
            session=os.environ.get("PYTEST_XDIST_TESTRUNUID"),
            slurm=slurm_settings(config),
        )
        return Work(
            store,
            backend,
            engine=asked("engine"),
            project=_project(config),
            same_machine=asked("same-machine"),
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
        items = self._planned()
        return Plan(
            [
                *(partial(self._read, item) for item in items),
                *(partial(self._wait_for, runs) for runs in self.also.values()),
            ],
            is_settled=self.work.results.is_settled,
            asked=self.asked,
            settled=lambda place: self._settle(items[place]) if place < len(items) else None,
            later=[self._later_of(item) for item in items],
        )

    def _planned(self) -> list[pytest.Item]:
        """Return the claims that runs decide and that can be read ahead of their tests."""
        return [item for item in self.trained if item not in self.unplanned]

    @cached_property
    def trained(self) -> list[pytest.Item]:
        """The claims that can be judged and that no document alone decides."""
        return [item for item in self._judged() if not _is_about_a_document(item)]

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

    def _judged(self) -> list[pytest.Item]:
        """Return the claims that pytest will come to judge."""
        return [item for item in self.items if item not in self.refused and not _is_skipped(item)]

    def _later_of(self, item: pytest.Item) -> LaterOf:
        looks, name = self._later, claim_id(item)
        return lambda arms: looks.of(name, named(sorted({arm.data for arm in arms})))

    @cached_property
    def _later(self) -> LaterLooks:
        """The chances of further seeds, by all ledgers of the session."""
        return LaterLooks(self.gate.ledgers.entries(), self.profile.name, looks=self.profile.looks)

    def _read(self, item: pytest.Item) -> None:
        self.reader.read(item, self.gate)

    def _settle(self, item: pytest.Item) -> None:
        """Announce a claim that can be judged now, unless another process has or pytest has to."""
        self.settled.add(item)
        name = claim_id(item)
        if not is_called_alike(item) or not self.watch.is_first(name):
            return
        try:
            if item in self.reader.ends:
                end = self.reader.ends[item]
                settled = announced(item, self.gate, end.trials, end.again, end.compared)
            elif _is_about_a_document(item):
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

    def train(self, *, first: pytest.Item | None = None) -> None:
        """Train what is missing, beside the other processes, until every claim has its seeds.

        The claims are read from the `first` on, with which this process begins to judge.

        Where some are open, the others are announced as they are found: those about documents,
        then what is stored. Else nothing is, for the tests come at once.
        """
        for line in [*self.not_ahead(), *(self.share.troubles if self.share else ())]:
            if self.watch.is_first(line):
                self.watch.say(line)
        if self.work is not None:
            with self._training_may_stop():
                self._train_planned(self.work, first)
        self.watch.finish()

    def _train_planned(self, work: Work, first: pytest.Item | None) -> None:
        plan = self.plan()
        with garbage.seldom():
            self._read_first(plan, work, claim_id(first) if first in self.trained else None)
        missing = plan.missing()
        if missing:
            if self.watch.is_first("the plan"):
                self.watch.say(self._about_to_train(work, plan, missing))
            work.train(plan, self.watch.status)

    def _read_first(self, plan: Plan, work: Work, first: str | None) -> None:
        """Read each claim in one process of the session; announce what is decided if not all is."""
        garbage.keep(self.config)  # the tests that were collected stay until the session ends
        items = self._planned()
        ready: list[pytest.Item] = []
        is_any_open = False
        read = partial(self._read_chunk, plan, work)
        for reading in self.reading.readings(read, first=first):
            decided = [place for place in reading.places if place not in reading.open]
            self.settled.update(items[place] for place in decided)
            if reading.here:
                ready += [items[place] for place in decided]
            else:
                self.asked.tell(reading.asked)
                for place in decided:
                    plan.decide(place)
            if reading.open and not is_any_open:
                is_any_open = True
                ready = [*filter(_is_about_a_document, self._judged()), *ready]
            if is_any_open:
                for item in ready:
                    self._settle(item)
                ready.clear()

    def _read_chunk(self, plan: Plan, work: Work, places: range) -> Reading:
        is_open = frozenset(place for place in places if not plan.read(place))
        garbage.keep(self.config)  # and so do the results that were read
        work.store.note_verified()  # the others need not do it again
        return Reading(places, is_open, self.asked.news())

    def _train_now(self, runs: Sequence[Run]) -> None:
        """Train these runs while a claim waits for them in its test."""
        work = self.work
        if work is None or self.stopped:
            return

        with self._training_may_stop():
            wait = partial(self._wait_for, runs)
            plan = Plan([wait], is_settled=work.results.is_settled, asked=self.asked)
            work.train(plan, self.watch.status)

    def _wait_for(self, runs: Sequence[Run]) -> None:
        """Ask for runs, as a claim does that is read."""
        assert self.work is not None
        self.asked.update(runs)
        if missing := [run for run in runs if not self.work.results.is_settled(run)]:
            raise RunsMissing(missing)

    def failed_also(self) -> dict[str, str]:
        """Return why runs for claims that are judged elsewhere could not be trained, by claim."""
        return {
            claim: why
            for claim, runs in self.also.items()
            if (why := next(filter(None, map(self.results.failed, runs)), None))
        }

    def not_ahead(self) -> list[str]:
        """Say which claims cannot be read ahead of their tests, and why."""
        return [
            f"{claim_id(item)} takes {', '.join(needed)}, which there is only while its test runs:"
            " what it misses is trained then, and is in no plan"
            for item, needed in self.unplanned.items()
        ]

    @contextmanager
    def _training_may_stop(self) -> Iterator[None]:
        try:
            yield
        except EnoughFailed:
            self.stopped = "not judged: enough claims have failed (-x, --maxfail)"
        except (TrainingStopped, StoreError) as stopped:
            if self.is_worker and self.work:  # whose exit would not say why: each open claim does
                self.work.give_up(str(stopped))
            else:
                pytest.exit(str(stopped), pytest.ExitCode.INTERRUPTED)

    def _about_to_train(self, work: Work, plan: Plan, missing: Sequence[Run]) -> str:
        likely, forecast = plan.likely(), work.forecast
        seconds = forecast.of_all(missing) + forecast.of_likely(likely)
        return plan_line(
            open_claims=plan.claims - plan.decided,
            missing=len(missing),
            likely=sum(likely.values()),
            seconds=seconds / work.slots,
            is_guessed=not all(map(forecast.is_timed, missing)),
        )

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
        return not _is_about_a_document(item)

    def close(self) -> None:
        """Note what was verified and simulated; let other machines have what was trained here."""
        if self.work is not None:
            self.work.store.note_verified()
            root, version = self.work.store.root, simulated.version()
            keep_simulated(root, simulated.told(), version=version)
        if self.share is not None:
            self.share.close()

    def account(self) -> Account:
        """Return what this process did."""
        return {
            "asked": self.asked.told(),
            "lacking": self._lacking(),
            "trained": self.work.trained if self.work else 0,
            "reports": [*self.reports, *(self.work.remarks if self.work else ())],
            "evidence": use_of(self.results) if isinstance(self.results, EvidenceResults) else None,
            "recorded": self.known.files,
            "recorded_runs": self.known.told() if self._reporting else {},
        }

    def _lacking(self) -> int:
        """Return how many runs have no result, where training failed or was stopped."""
        if not self.stopped and not any(map(self.results.failed, self.asked)):
            return 0
        return sum(self.results.get(run) is None for run in self.asked)

    def describe_plan(self) -> str:
        """Return what would be trained, for `--plan`."""
        from repro.report.plan_text import plan_text

        assert self.work is not None, "--plan with --evidence is refused"
        missing, forecast = self.plan().missing(), self.work.forecast
        text = plan_text(len(self.items), len(self.asked), missing, forecast, self.profile)
        text = "\n".join([text, *self.work.plan_lines(missing)])
        cannot = [
            f"{claim_id(x)} cannot be judged: {why}" for x, why in self.reader.unreadable.items()
        ]
        cannot += [f"{item.nodeid} cannot be judged: {why}" for item, why in self.refused.items()]
        recorded = recorded_lines([self.known.files])
        text = "\n".join([text, *recorded, *self.not_ahead(), *map(shown, cannot)])
        if self.gate.reference > self.profile.looks[0]:
            text += f"\nwhat is reproduced takes {self.gate.reference} seeds, for the ledger"
        return text


def open_store(config: pytest.Config, *, report: Callable[[str], None] = warn) -> Store:
    """Open the store that the command line, the environment or the project names."""
    return Store(store_folder(config), report=report)


def reference_of(config: pytest.Config) -> int:
    """Return the seeds over which reproduced claims are measured for the ledger; 0 if none."""
    if not option(config, "update-ledger"):
        return 0
    asked: int | None = option(config, "reference-seeds")
    return PROFILES[option(config, "profile")].reference if asked is None else asked


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
