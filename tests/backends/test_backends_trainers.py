"""Trainers that are real processes: their bits, their ends, and how they stop."""

import os
import signal
import subprocess
import sys
import time

import pytest

from repro.backends import local
from repro.core.progress import Progress
from repro.runs.pool import Ended, Failed, Trained
from tests.backends.behaving import (
    LONG,
    SMALL,
    Behaving,
    batch,
    eventually,
    failed,
    first_step,
    heard,
    in_full,
    is_alive,
    result_of,
    trained,
)

pytestmark = pytest.mark.thorough


def test_trainers_reach_the_same_bits_as_this_process(pool, here):
    pool.submit(batch(SMALL, range(4), engine="stacked", number=1))
    pool.submit(batch(SMALL, range(4, 8), engine="stacked", number=2))
    events = heard(pool, count=2)
    alone = result_of(here, SMALL, range(8), engine="stacked", number=3)
    assert trained(events) == trained(alone)
    assert len({event.provenance["pid"] for event in events if isinstance(event, Trained)}) == 2


def test_a_run_whose_trainer_is_killed_is_trained_again(pool):
    pool.submit(batch(LONG, number=1))
    pool.submit(batch(SMALL, [5], number=2))
    events = heard(pool, until=Progress)
    os.kill(next(job for job in pool._jobs if job.batch.number == 1).trainer.pid, signal.SIGKILL)
    while sum(isinstance(event, Ended) for event in events) < 2:
        events += [in_full(pool, event) for event in pool.events(0.5)]
    assert failed(events) == {}
    assert trained(events).keys() == {0, 1, 5}


def test_a_run_that_crashes_twice_says_how_and_costs_nobody_else(pool):
    pool.submit(batch(Behaving(does="segfault", at=1), range(3), number=1))
    pool.submit(batch(Behaving(does="exit", at=1), range(3), number=2))
    events = heard(pool, count=2)
    why = [event for event in events if isinstance(event, Failed)]
    assert sum("seed 1, ended its process twice (SIGSEGV: a" in each.why for each in why) == 1
    assert sum("twice (exit status 3: os._exit?)" in each.why for each in why) == 1
    assert any("behaving.py" in each.details for each in why)  # by faulthandler
    assert sum(isinstance(event, Trained) for event in events) == 4


def test_what_trainers_print_and_ask_stays_with_their_runs(pool, capfd):
    for number, does in enumerate(("print", "break", "input")):
        failure = failed(result_of(pool, Behaving(does=does), number=number))[0]
        assert "to be kept" in failure.details or "use -s to train in pytest's own" in failure.why
    assert capfd.readouterr() == ("", "")


def test_stopped_training_goes_on_from_one_checkpoint_to_the_same_bits(pool, here):
    plain = trained(result_of(here, LONG, engine="stacked", number=1))
    pool.submit(batch(LONG, engine="stacked", number=2))
    heard(pool, until=Progress)
    began = time.monotonic()
    pool.stop()
    assert time.monotonic() - began < local.SECONDS_TO_STOP / 2
    saved = [pool._store.checkpoints.load(key) for key in batch(LONG).keys.values()]
    assert all(saved)
    events = result_of(pool, LONG, engine="stacked", number=2)
    assert first_step(events) > 2
    assert trained(events) == plain


def test_a_black_box_stops_at_its_next_epoch_and_its_commands_with_it(pool, tmp_path):
    pool.submit(batch(Behaving(epochs=40), [0], number=1))
    pool.submit(batch(Behaving(does="command", into=str(tmp_path)), [0], number=2))
    heard(pool, until=Progress)
    eventually(lambda: (tmp_path / "command").exists() and (tmp_path / "command").read_text())
    pool.stop()
    eventually(lambda: not is_alive(int((tmp_path / "command").read_text())))
    events = result_of(pool, Behaving(epochs=40), [0], number=1)
    assert first_step(events) > 1
    assert len(trained(events)[0]["history"]["seed"]) == 40


SCRIPT = """
import sys, time
from repro.backends.local import ProcessPool
from repro.store import Store
from tests.backends.behaving import *

@dataclass(frozen=True, kw_only=True)
class Mine(Behaving):
    pass

{guard}
    store, project = Store(sys.argv[1]), Path(__file__).parent
    pool = ProcessPool(store, device="cpu", trainers=2, project=project)
    pool.submit(batch(Mine(**{settings}), [0]))
    print([type(x).__name__ for x in heard(pool) if not hasattr(x, "why") or not print(x.why)])
    print("torch" in sys.modules)
    pool.stop()
"""


def script(folder, guard, **settings):
    path = folder / "script.py"
    path.write_text(SCRIPT.format(guard=guard, settings=settings))
    return [sys.executable, str(path), str(folder / "store")]


def test_a_script_s_own_arms_are_trained_if_it_has_a_guard(tmp_path):
    command = script(tmp_path, 'if __name__ == "__main__":')
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['Trained', 'Ended']", "False"]  # no torch in it
    done = subprocess.run(script(tmp_path, "if True:"), capture_output=True, text=True, check=True)
    assert 'put the training under `if __name__ == "__main__":`' in done.stdout


def test_trainers_and_their_commands_end_with_a_killed_session(tmp_path):
    command = script(tmp_path, 'if __name__ == "__main__":', does="command", into=str(tmp_path))
    session = subprocess.Popen(command, cwd=tmp_path)
    eventually(lambda: (tmp_path / "command").exists() and (tmp_path / "command").read_text())
    (trainer,) = [int(path.name[2:]) for path in tmp_path.glob("0-*")]
    pids = [trainer, int((tmp_path / "command").read_text())]
    assert all(map(is_alive, pids))
    session.kill()
    session.wait()
    eventually(lambda: not any(map(is_alive, pids)), seconds=5)
