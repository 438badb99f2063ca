"""This machine, beside any number of other processes that share the store."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from repro.arm import Run
from repro.backends.devices import Demand, accelerators
from repro.backends.files import StoreFiles
from repro.backends.slots import TrainingSlots, slots_on
from repro.core.device import machine, resolve_device, torch_version
from repro.core.progress import Progress
from repro.core.speed import Speed, unknown_speed
from repro.runs.backend import SECONDS_UNTIL_SAID
from repro.runs.batch import measure_program, train_batch
from repro.runs.crashes import CAUSES, MOST, Crashes, program_name
from repro.runs.events import Advanced, Ended, Event, Failed, Timed, Trained
from repro.runs.identity import name_of
from repro.runs.jobs import Batch, Job, Timing
from repro.store import Store

POLL_SECONDS = 0.1


class _Unheard(BaseException):
    """Carries what telling of progress raised past a user's function, which may catch errors."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


RETRY = "it is not tried again in this session; the same command tries it again"


class LocalBackend:
    """One of a session's processes: it carries out one job at a time, in its slots."""

    def __init__(
        self, store: Store, *, device: str, processes: int, session: str | None = None
    ) -> None:
        self.device = resolve_device(device)
        self.remarks: Sequence[str] = ()
        self.waits_for = ""
        self._store, self._processes = store, processes
        self._session = session or secrets.token_hex(8)
        self._crashes = Crashes(store, session=self._session)
        self._job: Job | None = None
        self._tell: Callable[[Advanced], None] | None = None

    @property
    def machine(self) -> str:
        return machine(self.device)

    @property
    def slots(self) -> int:
        return self._slots.count

    def plan_lines(self, *, timings: int, batches: int) -> Sequence[str]:
        return ()  # the plan has said it all

    def room(self) -> int:
        if self._job is not None:  # it waits for more slots
            return 0
        has_one = self._slots.take(SECONDS_UNTIL_SAID)
        self.waits_for = "" if has_one else f"a slot to train in, held by {self._slots.holders}"
        return int(has_one)

    def start(self, job: Job, tell: Callable[[Advanced], None]) -> None:
        self._job, self._tell = job, tell

    def events(self) -> Iterator[Event]:
        job = self._job
        if job is None:  # others train all that is missing
            self._slots.give_back()
            time.sleep(POLL_SECONDS)
            return
        if not self._has_slots_for(job):
            return
        self._job = None
        try:
            yield from self._carry_out(job)
        finally:
            self._tell = None
        yield Ended(job.number)
        self._slots.give_back()

    def stop(self) -> Sequence[Event]:
        self._crashes.end_all()
        self._slots.give_back()
        return ()

    def _has_slots_for(self, job: Job) -> bool:
        """Wait for the slots of a job, in place of the one that it was begun with.

        Runs that train on one accelerator train on the first, which is torch's own choice.
        """
        if self._lacking(job):
            return True
        demand, names = Demand.of(job.arm), self._slots.names
        count, of = demand.devices, names if demand.devices > 1 else names[:1]
        if self.device == "cpu":
            count, of = min(demand.cores("cpu"), len(names)), names
        has_all = self._slots.take_instead(count, of=of, seconds=SECONDS_UNTIL_SAID)
        what = f"{count} slots" if count > 1 else "a slot"
        self.waits_for = "" if has_all else f"{what} to train in, held by {self._slots.holders}"
        return has_all

    def _lacking(self, job: Job) -> str:
        """Return in words that a job asks for more devices than there are; nothing otherwise."""
        demand, most = Demand.of(job.arm), len(self._slots.names)
        return demand.lacking(most, where="this machine", device=self.device)

    def _devices(self) -> dict[str, str]:
        """Return the accelerators that this process holds: torch's names, and CUDA's for others."""
        if self.device == "cpu":
            return {}
        names = dict(zip(self._slots.names, accelerators(self.device), strict=True))
        numbers = {name: number for number, name in enumerate(self._slots.names)}
        return {f"{self.device}:{numbers[name]}": names[name] for name in self._slots.held}

    def _carry_out(self, job: Job) -> Iterator[Event]:
        if isinstance(job, Timing):
            yield Timed(job.number, self._speed(job))
        else:
            yield from self._train(job)

    def _speed(self, job: Timing) -> Speed:
        conditions = (job.engine, self.device, torch_version())  # what the timing's lock is by
        name = f"{program_name(job.arm.program)}.{'-'.join(conditions)}"
        if self._crashes.counts({name: f"a few steps of {job.arm.label}"})[name] >= MOST:
            return unknown_speed(job.engine)
        self._crashes.start([name])
        files = StoreFiles(self._store, job, show=lambda progress: None, devices={})
        speed = measure_program(job.arms, engine=job.engine, device=self.device, files=files)
        self._crashes.end([name])
        return speed

    def _train(self, job: Batch) -> Iterator[Event]:
        """Train a batch; one run at a time once training them together has ended a process."""
        if lacking := self._lacking(job):
            yield from (Failed(run, f"{name_of(run)}, {lacking}") for run in job.runs)
            return
        program = program_name(job.arm.program)
        names = {run: f"{program}.{key}" for run, key in zip(job.runs, job.keys, strict=True)}
        counts = self._crashes.counts({names[run]: name_of(run) for run in job.runs})
        for run, name in names.items():
            if counts[name] >= MOST:
                self._crashes.give_up(name)
                yield Failed(run, f"{name_of(run)}, ended its process twice ({CAUSES}); {RETRY}")
        left = [run for run, name in names.items() if counts[name] < MOST]
        given_up = self._crashes.given_up(program)
        if given_up >= MOST:
            why = f"{given_up} runs of its program ended their process twice ({CAUSES}); {RETRY}"
            yield from (Failed(run, f"{name_of(run)}, is not trained: {why}") for run in left)
            return
        is_suspect = any(counts[names[run]] for run in left)
        width = 1 if is_suspect else max(1, len(left))
        for first in range(0, len(left), width):
            yield from self._train_noted(job, left[first : first + width], names)

    def _train_noted(
        self, job: Batch, runs: Sequence[Run], names: Mapping[Run, str]
    ) -> Iterator[Event]:
        self._crashes.start(names[run] for run in runs)

        def show(progress: Progress) -> None:
            assert self._tell is not None
            try:
                self._tell(Advanced(job.number, progress))
            except Exception as error:
                raise _Unheard(error) from error

        files = StoreFiles(self._store, job, show=show, devices=self._devices())
        engine = job.speed.engine
        try:
            for event in train_batch(runs, engine=engine, device=self.device, files=files):
                yield Advanced(job.number, event) if isinstance(event, Progress) else event
                if isinstance(event, Trained | Failed):
                    self._crashes.end([names[event.run]])
        except _Unheard as unheard:
            raise unheard.error from None

    @cached_property
    def _slots(self) -> TrainingSlots:
        """The slots of this session; one that trains nothing needs none."""
        return slots_on(self.device, processes=self._processes, session=self._session)
