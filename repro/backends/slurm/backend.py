"""A Slurm cluster: batches are its jobs, and what comes of them lies in a folder that all share.

Where and when a job runs, and that it runs again when its node is lost or its time is up, is the
matter of Slurm and submitit. A session that ends may leave its jobs: the next one on the same store
finds them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from repro.backends.open_files import locks_allowed
from repro.backends.slurm.parts import Part, Waiting, named_runs, part_of
from repro.backends.slurm.queue import ENDED, SlurmQueue
from repro.backends.slurm.sender import Sender
from repro.backends.slurm.settings import SlurmSettings
from repro.backends.slurm.shared import Report, SharedFolder, root_for
from repro.core.speed import Speed, unknown_speed
from repro.own.arm import OutsideArm
from repro.runs.backend import SECONDS_UNTIL_SAID, TrainingStopped
from repro.runs.crashes import CAUSES, MOST
from repro.runs.events import Advanced, Ended, Event, Failed, Narrowed, Timed, Trained
from repro.runs.identity import name_of
from repro.runs.jobs import Job, Timing
from repro.store import Store

POLL_SECONDS = 0.5

LEAST_SECONDS, MOST_SECONDS = 2.0, 30.0
"""Between two looks at Slurm's queue: often after something has changed, then ever less."""

QUIET_SECONDS = 3.0
"""Without any news, after which everything is submitted that can be: plans are made each second."""

TIMING_SECONDS = 60.0
"""A session that leaves its jobs waits so long for programs to be timed: what follows needs it."""


class SlurmBackend:
    """A Slurm cluster, as one of a session's processes sees it."""

    def __init__(
        self,
        store: Store,
        settings: SlurmSettings,
        *,
        device: str,
        processes: int,
        project: Path,
    ) -> None:
        self.device = device_for(device, settings)
        self._settings = replace(settings, gpus=max(settings.gpus, int(self.device == "cuda")))
        self.machine = None  # each node has its own
        self.remarks: Sequence[str] = ()
        self._store = store
        self._most_jobs = -(-settings.max_jobs // processes)
        self._most_runs = locks_allowed()
        self._shared = SharedFolder(root_for(store, settings.folder), report=store.report)
        name = f"repro-{secrets.token_hex(4)}"
        self._queue = SlurmQueue(self._shared.logs, name, self._settings)
        self._sender = Sender(
            store,
            self._shared,
            self._queue,
            device=self.device,
            project=project,
            minutes=settings.minutes,
        )
        self._waiting: list[Waiting] = []
        self._parts: list[Part] = []
        self._refused: list[Event] = []
        self._numbers: set[int] = set()
        self._news = self._looked = time.monotonic()
        self._pause = LEAST_SECONDS
        self._answers = True

    @property
    def slots(self) -> int:
        return self._settings.max_jobs

    @property
    def waits_for(self) -> str:
        if not self._parts or time.monotonic() - self._news < SECONDS_UNTIL_SAID:
            return ""
        if not self._answers:
            return "Slurm, which does not answer"
        if all(part.state.name == "PENDING" for part in self._parts):
            return f"Slurm to start {_jobs_of(self._parts)}"
        return ""

    def plan_lines(self, *, timings: int, batches: int) -> Sequence[str]:
        lines = [f"{batches} batches would be submitted to Slurm, each job {self._settings.words}"]
        if timings:
            lines.append(f"{timings} programs would be timed first, in a job each")
        most = self._settings.max_jobs
        return [*lines, f"at most {most} jobs at a time; their folder: {self._shared.root}"]

    def room(self) -> int:
        runs = sum(len(part.left) for part in self._parts)
        if runs >= self._most_runs:
            return 0
        return self._most_jobs - len({part.slurm_id for part in self._parts})

    def start(self, job: Job, tell: Callable[[Advanced], None]) -> None:
        self._numbers.add(job.number)
        if isinstance(job, Timing) and isinstance(job.arm, OutsideArm):  # nobody can time it
            self._refused += [Timed(job.number, Speed("loop", 1, 0.0))]
            return
        self._shared.make()
        names = named_runs(job, self.device)
        by_batch: dict[str, list[str]] = {}
        for name in names:
            by_batch.setdefault(self._shared.batch_of(name) or "", []).append(name)
        for batch, theirs in by_batch.items():
            of = Waiting(part_of(job, theirs), tuple(theirs))
            note = self._shared.note(batch) if batch else None
            if note is None:
                self._waiting.append(of)
            else:
                of = replace(of, attempt=note.attempt)
                left = {name: names[name] for name in theirs}
                self._parts.append(Part(of, batch, note.slurm_id, False, left))

    def events(self) -> Iterator[Event]:
        if self._refused or self._waiting:
            self._hear_news()
        self._submit()
        refused, self._refused = self._refused, []
        yield from refused
        self._look()
        for part in list(self._parts):
            for event in self._collected(part):
                if not isinstance(event, Advanced):
                    self._hear_news()
                yield event
        under_way = {each.number for each in self._parts}
        under_way |= {each.job.number for each in self._waiting}
        for number in sorted(self._numbers - under_way):
            self._numbers.discard(number)
            yield Ended(number)
        if self._settings.detach:
            self._leave()
        if under_way:
            time.sleep(POLL_SECONDS)

    def stop(self) -> Sequence[Event]:
        events = [event for part in list(self._parts) for event in self._results(part)]
        if not self._settings.detach and self._sender.has_sent:
            self._queue.cancel()
            for part in self._parts:
                if part.is_ours:
                    self._take_checkpoints(part)
        self._sender.forget(but_submitted=self._settings.detach)
        self._parts.clear()
        self._waiting.clear()
        return events

    def _submit(self) -> None:
        """Submit what waits, and refuse what has nothing to start from."""
        waiting, self._waiting = self._waiting, []
        ready = []
        for each in waiting:
            if why := self._sender.lacking(each):
                runs = [run for run in named_runs(each.job, self.device).values() if run]
                self._refused += [Failed(run, f"{name_of(run)}, {why}") for run in runs]
            else:
                ready.append(each)
        if ready:
            self._parts += self._sender.submit(ready)
            self._pause = LEAST_SECONDS

    def _look(self) -> None:
        """Ask Slurm for the states of the jobs, now and then."""
        now = time.monotonic()
        if not self._parts or now - self._looked < self._pause:
            return
        self._looked = now
        states = self._queue.states({part.slurm_id for part in self._parts})
        self._answers = states is not None
        self._pause = min(1.5 * self._pause, MOST_SECONDS)
        if states is None:
            return
        for part in self._parts:
            state = states[part.slurm_id]
            if state.name != part.state.name:
                self._pause = LEAST_SECONDS
            part.state = state
            is_over = state.name in ENDED or not state.name
            part.looks_after_end = part.looks_after_end + 1 if is_over else 0

    def _collected(self, part: Part) -> Iterator[Event]:
        """Yield what has come of a part; at its end also what has not."""
        is_over = part.looks_after_end >= 2  # a job that is started again seems over for a moment
        report = self._shared.report(part.batch)
        if isinstance(part.of.job, Timing):
            speed = report.speed_told()
            if speed is None and (is_over or report.is_over):
                speed = unknown_speed(part.of.job.engine)  # training will tell why
            if speed is not None:
                yield Timed(part.number, speed)
                self._finish(part, list(part.left))
            return
        yield from self._results(part, report)
        for key, (why, details) in report.failed.items():
            run = part.left.get(key)
            if run is not None:
                yield Failed(run, why, details)
                self._finish(part, [key])
        progress = report.progress_told()
        if progress is not None and progress != part.progress and part.left:
            part.progress = progress
            yield Advanced(part.number, progress)
        if report.width is not None and report.width != part.width:
            part.width = report.width
            yield Narrowed(part.of.job.arm.program, report.width)
        if part.left and (is_over or report.is_over):
            yield from self._lost(part)

    def _results(self, part: Part, report: Report | None = None) -> Iterator[Event]:
        report = report or self._shared.report(part.batch)
        for key in report.trained:
            run = part.left.get(key)
            found = self._shared.results.at(key) if run is not None else None
            if run is not None and found is not None:
                yield Trained(run, found.values, found.provenance, found.weights)
                self._shared.results.remove(key)  # it is in the session's own store by now
                self._finish(part, [key])

    def _finish(self, part: Part, names: Sequence[str]) -> None:
        for name in names:
            del part.left[name]
            self._shared.recall(name)
        if not part.left:
            self._parts.remove(part)
            note = self._shared.note(part.batch)
            self._shared.forget(part.batch, note.names if note else part.of.names)
            self._sender.came_back(part.batch)

    def _lost(self, part: Part) -> Iterator[Event]:
        """Try the runs again that ended with their job, one by one; or give them up."""
        names = list(part.left)
        if part.of.attempt < MOST and part.state.name != "CANCELLED":
            self._waiting += part.of.one_by_one(names)
        else:
            state = part.state.name or "over"
            cause = "" if state == "CANCELLED" else f" ({CAUSES})"
            why = f"its job {part.slurm_id} of Slurm ended as {state}{cause}"
            details = self._queue.end_of_log(part.slurm_id)
            for run in part.left.values():
                if run is not None:
                    yield Failed(run, f"{name_of(run)}, failed on the cluster: {why}", details)
        self._finish(part, names)

    def _take_checkpoints(self, part: Part) -> None:
        """Keep in the store what unfinished runs have come to, for whoever trains them next."""
        for key in part.left:
            kept = self._shared.results.checkpoints.load(key)
            if kept is not None:
                self._store.checkpoints.save(key, kept)
                self._shared.results.checkpoints.drop(key)

    def _hear_news(self) -> None:
        self._news = time.monotonic()

    def _leave(self) -> None:
        """End the session where all that can be submitted is, and nothing more comes at once."""
        quiet = time.monotonic() - self._news
        times = any(isinstance(part.of.job, Timing) for part in self._parts)
        if not self._parts or quiet < (TIMING_SECONDS if times else QUIET_SECONDS):
            return
        raise TrainingStopped(
            f"Left with Slurm: {_jobs_of(self._parts)}; the same command collects what has come of"
            " them, submits what is missing, and judges"
        )


def device_for(name: str, settings: SlurmSettings) -> str:
    """Return the device of jobs; raises ValueError where Slurm has none of that kind.

    >>> device_for("auto", SlurmSettings(gpus=1))
    'cuda'
    """
    if name == "auto":
        return "cuda" if settings.gpus else "cpu"
    if name not in ("cpu", "cuda"):
        raise ValueError(f"A Slurm cluster trains on cpu or cuda, not on {name}.")
    return name


def _jobs_of(parts: Sequence[Part]) -> str:
    """Say how many jobs there are by their states, and why those wait that do."""
    states = {part.slurm_id: part.state for part in parts}
    counts: dict[str, int] = {}
    for state in states.values():
        waits = f" ({state.reason})" if state.name == "PENDING" and state.reason else ""
        words = f"{state.name.lower() or 'over'}{waits}"
        counts[words] = counts.get(words, 0) + 1
    listed = ", ".join(f"{count} {words}" for words, count in counts.items())
    return f"{len(states)} job{'s' if len(states) > 1 else ''}: {listed}"
