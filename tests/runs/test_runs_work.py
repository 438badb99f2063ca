"""The loop that trains: what it cannot store or use is said, and what ends a process is noted."""

import errno
import io
import itertools
import math
import os
import re
import threading
from pathlib import Path

import pytest

from repro.arm import Run
from repro.core import train as driver
from repro.core.progress import Progress
from repro.core.speed import Speed
from repro.core.train import Finished
from repro.runs import work
from repro.runs.backend import TrainingStopped
from repro.runs.crashes import MOST, Crashes, exit_refused, program_name
from repro.runs.events import Advanced, Ended, Timed, Trained
from repro.runs.jobs import Timing
from repro.runs.plan import Plan, RunsMissing
from repro.runs.work import Work
from repro.store import Store, StoreError
from tests.local_work import LocalWork
from tests.runs.test_runs_plan import Any
from tests.studies.small import LADDER

ARM = LADDER.but(trained=1, images=64)
RUNS = [Run(ARM, seed) for seed in range(2)]
training = driver.training


def test_a_result_that_no_file_can_hold_fails_its_run_and_no_other(tmp_path, monkeypatch):
    runs = [Run(ARM, seed) for seed in range(4)]
    values = [math.nan, math.inf, object(), 0.0]

    def measuring(study, runs, **options):
        for event in training(study, runs, **options):
            if isinstance(event, Finished):
                event.values["measures"]["own"] = values[event.run.seed]
            yield event

    monkeypatch.setattr(driver, "training", measuring)
    here = LocalWork(tmp_path, engine="stacked")
    here.engines.settle(ARM, Speed("stacked", 4, 0.5))
    here.train(runs)
    for run in runs[:3]:
        assert "has no result to store: values['measures']['own']" in here.results.failed(run)
    assert here.values(runs[3]) is not None
    assert here.work.trained == 1


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_a_process_that_waits_for_a_neighbour_says_whom_it_waits_for(
    seconds, tmp_path, monkeypatch
):
    monkeypatch.setattr(work, "SECONDS_UNTIL_SAID", seconds)
    monkeypatch.setattr("repro.backends.local.POLL_SECONDS", 0.01)
    here = LocalWork(tmp_path, engine="loop")
    here.engines.settle(ARM, Speed("loop", 1, 0.5))
    neighbour = here.store.locks.lock(here.results.key(RUNS[0]))
    seen = []

    def show(status):
        seen.append(status.waits_for)
        if len(seen) == 6:
            neighbour.release()

    here.train(RUNS[:1], show)
    assert here.work.trained == 1
    said = [waits_for for waits_for in seen if waits_for]
    assert bool(said) is (seconds == 0)
    for each in said[:5]:
        assert "seed 0, held by process" in each
        assert f" {os.getpid()} on " in each
    assert seen[-1] == ""


SENTENCE = re.compile(r"The store \S+ (is full|cannot be used) \([^\n]*\); [^\n]*\.")
FOLDERS = ("runs", "engines", "locks", "tmp", "checkpoints", "damaged", "in-training")


@pytest.fixture
def _saving(monkeypatch):
    """Keeps a checkpoint wherever there may be one."""

    def training_that_saves(study, runs, **options):
        return training(study, runs, **options, save_seconds=-1.0)

    monkeypatch.setattr(driver, "training", training_that_saves)


def said_by_a_session(folder, show=lambda status: None):
    """What a session says that could not train everything; None where it could."""
    try:
        here = LocalWork(folder, engine="loop", report=lambda line: None)
        here.engines.settle(ARM, Speed("loop", 2, 0.5))
        here.train(RUNS, show)
    except (StoreError, TrainingStopped) as error:
        return str(error)
    assert [here.results.failed(run) for run in RUNS] == [None, None]
    return None


@pytest.mark.usefixtures("_saving")
def test_a_file_in_place_of_a_folder_of_the_store_is_named_in_a_sentence(tmp_path):
    here = LocalWork(tmp_path / "any", engine="loop")
    here.engines.settle(ARM, Speed("loop", 2, 0.5))
    part = here.results.key(RUNS[0])[:2]
    silent = []
    for name in (*FOLDERS, f"runs/{part}", f"checkpoints/{part}"):
        place = tmp_path / name.replace("/", "-") / name
        place.parent.mkdir(parents=True)
        place.write_text("")
        said = said_by_a_session(tmp_path / name.replace("/", "-"))
        if not (said and SENTENCE.fullmatch(said) and str(place) in said):
            silent.append(name)
    assert silent == ["damaged"]  # there is no need of it


@pytest.mark.thorough
@pytest.mark.usefixtures("_saving")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_no_room_for_one_more_file_is_one_sentence_wherever_it_comes(code, tmp_path, monkeypatch):
    left = [0]

    def limited(make, is_new):
        def made(path, *more, **named):
            if str(path).startswith(str(tmp_path)) and is_new(*more, **named):
                left[0] -= 1
                if left[0] < 0:
                    raise OSError(code, os.strerror(code), str(path))
            return make(path, *more, **named)

        return made

    monkeypatch.setattr(os, "mkdir", limited(os.mkdir, lambda *more, **named: True))
    monkeypatch.setattr(
        os, "open", limited(os.open, lambda flags=0, *more, **named: flags & os.O_CREAT)
    )
    monkeypatch.setattr(
        io, "open", limited(io.open, lambda mode="r", *more, **named: mode[0] in "wx")
    )
    for room in itertools.count():
        left[0] = room
        said = said_by_a_session(tmp_path / f"store{room}")
        if said is None:
            break
        assert SENTENCE.fullmatch(said)
    assert room > 20


MADE_UP = [Run(Any(), seed) for seed in range(3)]


class ThirdBackend:
    """A third backend: it trains nothing, and returns the seed."""

    device, machine, slots, remarks, waits_for = "cpu", "none", 2, ("a remark",), ""

    def __init__(self):
        self.jobs, self.stopped = [], False

    def room(self):
        return 2 - len(self.jobs)

    def start(self, job, tell):
        self.jobs.append(job)

    def events(self):
        for job in self.jobs:
            if isinstance(job, Timing):
                yield Timed(job.number, Speed("loop", 1, 0.5))
            else:
                yield Advanced(job.number, Progress(len(job.runs), 5, 10))
        for job in self.jobs:
            for run in () if isinstance(job, Timing) else job.runs:
                yield self.end(run)
            yield Ended(job.number)
        self.jobs = []

    def end(self, run):
        return Trained(run, {"measures": {"seed": run.seed}}, {"seconds": 1.0})

    def stop(self):
        self.stopped = True
        return ()


def work_of(folder, backend, **options):
    project = Path(__file__).parent
    return Work(Store(folder), backend, engine="auto", project=project, **options)


def train(work, runs=MADE_UP):
    statuses = []

    def read():
        if missing := [run for run in runs if not work.results.is_settled(run)]:
            raise RunsMissing(missing)

    plan = Plan([read], is_settled=work.results.is_settled, asked=set(runs))
    work.train(plan, statuses.append)
    return statuses


def test_everything_that_is_missing_is_trained_once_and_stored(tmp_path):
    backend = ThirdBackend()
    work = work_of(tmp_path, backend)
    statuses = train(work)
    assert [work.results.get(run).values["measures"]["seed"] for run in MADE_UP] == [0, 1, 2]
    assert work.trained == 3
    assert backend.stopped
    assert (statuses[0].asked, statuses[0].missing, statuses[0].slots) == (3, 3, 2)
    assert max(s.training.runs for s in statuses if s.training) == 2  # side by side
    made = work.results.get(MADE_UP[0]).provenance
    assert {"seconds", "commit", "uncommitted_changes"} <= set(made)
    again = work_of(tmp_path, ThirdBackend())
    assert not train(again)
    assert again.trained == 0


def test_what_was_under_way_when_it_stopped_is_free_for_others(tmp_path):
    class Interrupted(ThirdBackend):
        def events(self):
            if any(not isinstance(job, Timing) for job in self.jobs):
                raise KeyboardInterrupt
            yield from super().events()

        def stop(self):
            return [Trained(MADE_UP[0], {"measures": {"seed": 0}}, {})]  # at the last moment

    work = work_of(tmp_path, Interrupted())
    with pytest.raises(KeyboardInterrupt):
        train(work)
    assert work.results.get(MADE_UP[0]) is not None
    free = work.store.locks.try_lock(work.results.key(MADE_UP[1]))
    assert free is not None
    free.release()
    others = work_of(tmp_path, ThirdBackend())
    train(others)
    assert others.trained == 2


NAME, OTHER = f"{program_name('one')}.5e1f", f"{program_name('another')}.ab3d"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, report=pytest.fail)


def count(crashes, name=NAME):
    return crashes.counts({name: "d256, seed 1"})[name]


def crashed(store, session="one", name=NAME):
    """What a process leaves that ends in training."""
    crashes = Crashes(store, session=session)
    before = count(crashes, name)
    crashes.start([name])
    return before


def test_the_crashes_of_a_session_are_counted(store):
    assert [crashed(store) for _ in range(3)] == [0, 1, 2]
    assert [count(Crashes(store, session="one")) for _ in range(2)] == [3, 3]  # none was begun
    assert count(Crashes(store, session="one"), OTHER) == 0


def test_an_orderly_end_leaves_nothing(store):
    for end in (lambda crashes: crashes.end([NAME]), lambda crashes: crashes.end_all()):
        crashes = Crashes(store, session="one")
        count(crashes)
        crashes.start([NAME])
        assert [path.name for path in (store.root / "in-training").iterdir()] == [NAME]
        end(crashes)
        assert list((store.root / "in-training").iterdir()) == []


def test_another_session_says_so_once_and_starts_at_zero(tmp_path):
    reports = []
    store = Store(tmp_path, report=reports.append)
    both = {NAME: "d256, seed 1", OTHER: "d256, seed 2"}
    killed = Crashes(store, session="one")
    killed.counts(both)
    killed.start(both)
    assert Crashes(store, session="two").counts(both) == {NAME: 0, OTHER: 0}
    (line,) = reports
    assert f"session's process {os.getpid()} on " in line
    assert "ended while it trained d256, seed 1 and 1 more" in line
    assert Crashes(store, session="three").counts(both) == {NAME: 0, OTHER: 0}
    assert len(reports) == 1


def test_what_is_given_up_stays_so_in_the_session_and_counts_for_its_program(store):
    crashed(store)
    crashed(store)
    giving = Crashes(store, session="one")
    assert count(giving) == MOST
    assert giving.given_up(program_name("one")) == 0
    giving.give_up(NAME)
    giving.end_all()
    other = Crashes(store, session="one")
    assert count(other) >= MOST
    assert other.given_up(program_name("one")) == 1
    assert other.given_up(program_name("another")) == 0
    assert Crashes(store, session="two").given_up(program_name("one")) == 0


def test_a_torn_note_is_none(store):
    crashed(store)
    for content in (b"", b"[]", b"{}", b'{"session": "one"}', b"\xff", b"null"):
        (store.root / "in-training" / NAME).write_bytes(content)
        assert count(Crashes(store, session="one")) == 0, content


def test_exit_is_refused_in_training_and_nowhere_else():
    before = os._exit
    with pytest.raises(RuntimeError, match=r"called os\._exit\(0\), which would"), exit_refused():
        os._exit(0)
    assert os._exit is before


def code_of_a_child(act):
    """The code that a forked process exits with; 1 where it goes on after what it is to do."""
    really_exit = os._exit
    if (child := os.fork()) == 0:
        act()
        really_exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def exit_in_a_thread():
    with exit_refused():
        thread = threading.Thread(target=lambda: os._exit(9))
        thread.start()
        thread.join()


def test_a_forked_child_may_exit_and_so_may_another_thread():
    with exit_refused():
        assert code_of_a_child(lambda: os._exit(7)) == 7
    assert code_of_a_child(exit_in_a_thread) == 9
