"""The loop that trains: what it cannot store or use is said in one sentence."""

import errno
import io
import itertools
import math
import os
import re
import shutil

import pytest

from repro.arm import Run
from repro.core import train as driver
from repro.core.speed import Speed
from repro.core.train import Finished
from repro.recipe import Recipe
from repro.runs import work
from repro.runs.backend import TrainingStopped
from repro.store import StoreError
from repro.studies.depth_ladder.arms import LadderArm
from tests.local_work import LocalWork

ARM = LadderArm(
    width=16, depth=2, rule="bp", trained=1, data="cifar10-twin", pixels=8, images=64, shift=1,
    weight_std=0.1, embedding_std=0.1, recipe=Recipe(epochs=1, batch=32, lr=1e-3),
)  # fmt: skip
RUNS = [Run(ARM, seed) for seed in range(2)]
training = driver.training


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_a_result_that_no_file_can_hold_fails_its_run_and_no_other(value, tmp_path, monkeypatch):
    def measuring(study, runs, **options):
        for event in training(study, runs, **options):
            if isinstance(event, Finished) and event.run == RUNS[0]:
                event.values["measures"]["own"] = value
            yield event

    monkeypatch.setattr(driver, "training", measuring)
    done = LocalWork(tmp_path, engine="stacked").train(RUNS)
    why = done.results.failed(RUNS[0])
    assert "seed 0, has no result to store: values['measures']['own']" in why
    assert done.values(RUNS[1]) is not None
    assert done.work.trained == 1


@pytest.mark.parametrize(("seconds", "is_said"), [(0.0, True), (30.0, False)])
@pytest.mark.parametrize("settled", [True, False])
def test_a_process_that_waits_for_a_neighbour_says_whom_it_waits_for(
    seconds, is_said, settled, tmp_path, monkeypatch
):
    monkeypatch.setattr(work, "SECONDS_UNTIL_SAID", seconds)
    here = LocalWork(tmp_path)
    if settled:
        here.engines.settle(ARM, Speed("loop", 1, 0.5))
        what, name = "seed 0", here.results.key(RUNS[0])
    else:
        what, name = "the timing of", f"engine-{here.engines.name_of(ARM)}"
    neighbour = here.store.locks.lock(name)
    seen = []

    def show(status):
        seen.append(status.waits_for)
        if len(seen) == 6:
            neighbour.release()

    here.train(RUNS[:1], show)
    assert here.work.trained == 1
    said = [waits_for for waits_for in seen if waits_for]
    assert bool(said) is is_said
    for each in said[:5]:
        assert what in each
        assert f"held by process {os.getpid()} on " in each
    assert seen[-1] == ""


SENTENCE = re.compile(r"The store \S+ (is full|cannot be used) \([^\n]*\); [^\n]*\.")
FOLDERS = ("runs", "engines", "locks", "tmp", "checkpoints", "damaged", "in-training")


@pytest.fixture
def saving(monkeypatch):
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


@pytest.mark.usefixtures("saving")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_file_in_place_of_a_folder_of_the_store_is_named_in_a_sentence(name, tmp_path):
    (tmp_path / name).write_text("")
    said = said_by_a_session(tmp_path)
    if name != "damaged":  # there is no need of it
        assert SENTENCE.fullmatch(said)
        assert str(tmp_path / name) in said


@pytest.mark.usefixtures("saving")
@pytest.mark.parametrize("kind", ["runs", "checkpoints"])
def test_a_file_in_place_of_a_run_s_folder_or_of_those_that_begin_alike(kind, tmp_path):
    here = LocalWork(tmp_path, engine="loop")
    here.engines.settle(ARM, Speed("loop", 2, 0.5))
    key = here.results.key(RUNS[0])
    place = tmp_path / kind / key[:2]
    place.parent.mkdir(exist_ok=True)
    place.write_text("")
    said = said_by_a_session(tmp_path)
    assert SENTENCE.fullmatch(said)
    assert str(place) in said
    place.unlink()
    (place / key).mkdir(parents=True)
    said = said_by_a_session(tmp_path)
    assert said is None or SENTENCE.fullmatch(said)


@pytest.mark.usefixtures("saving")
@pytest.mark.parametrize("when", range(4))
def test_a_store_that_is_deleted_while_it_is_trained_for(when, tmp_path):
    seen = []

    def show(status):
        seen.append(status)
        if len(seen) == when + 1:
            shutil.rmtree(tmp_path / "store")

    said = said_by_a_session(tmp_path / "store", show)
    assert said is None or SENTENCE.fullmatch(said)


@pytest.mark.usefixtures("saving")
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
