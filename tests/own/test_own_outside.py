"""Black boxes: their seeds, folder, epochs and threads, what they return, and what they print."""

import os
import random
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from repro.arm import Metric, Run
from repro.backends.trainer import train_batch
from repro.own.arm import OutsideArm
from repro.own.outside import Diverged, OutsideStudy
from repro.own.training_run import Files
from repro.runs.identity import engine_of
from repro.runs.pool import Failed
from repro.studies import study_of
from tests.own.kept import Kept


@dataclass(frozen=True, kw_only=True)
class Fit(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_outside"
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds")}
    epochs: int = 4
    data: str = "none"


@dataclass(frozen=True, kw_only=True)
class Unepoched(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_outside"
    metrics: ClassVar[dict[str, Metric]] = {"gains": Metric("identity", listed=True)}
    data: str = "none"


@dataclass(frozen=True, kw_only=True)
class Dice(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_outside"
    metrics: ClassVar[dict[str, Metric]] = {"sum": Metric("log")}
    sides: int = 6
    data: str = "dice"


RUN = Run(Fit(), 1)


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path / "run")


def trained(train, kept, run=RUN):
    (done,) = OutsideStudy(train).training([run], kept)
    return done.values


def throw(arm, seed):
    drawn = random.random(), np.random.rand(), float(torch.rand(())), seed
    return {"sum": arm.sides * sum(drawn)}


def thrown(of=throw):
    runs = [Run(Dice(sides=sides), seed) for sides in (6, 20) for seed in (1, 2)]
    return {done.run: done.values for done in OutsideStudy(of).training(runs, Files())}


def test_the_global_generators_draw_from_the_runs_seed_and_are_left_as_they_were():
    first = thrown()
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    assert thrown() == first
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.get_rng_state().tolist() == states[2]
    sums = [values["measures"]["sum"] for values in first.values()]
    assert len(set(sums)) == 4
    assert sums[2] / sums[0] == pytest.approx(20 / 6)  # of one seed, so of the same draws


def test_nothing_is_known_but_what_it_measured():
    (values, *_) = thrown().values()
    assert values == {"measures": values["measures"], "history": {}, "steps": 0}
    assert engine_of(Dice()) == "loop"
    with pytest.raises(ValueError, match=r"train\(arm, seed\) returned \['total'\], but Dice"):
        thrown(lambda arm, seed: {"total": 1.0})


def test_its_settings_are_its_own():
    assert "recipe" not in Dice().settings()
    assert Dice(sides=20).label == "dice sides 20"
    assert Dice().program != Dice(sides=20).program
    with pytest.raises(TypeError, match=r"Dice has no setting 'recipe'; it has .*'sides'"):
        Dice().but(recipe=None)


def test_what_is_told_of_epochs_is_the_curve_and_the_progress(kept):
    def train(arm, seed, run):
        for number in range(arm.epochs):
            run.epoch(loss=1 / (number + 1), accuracy=torch.tensor(number / 8))
        return {"accuracy": 0.5}

    assert trained(train, kept) == {
        "measures": {"accuracy": 0.5},
        "history": {"loss": [1, 1 / 2, 1 / 3, 1 / 4], "accuracy": [0, 1 / 8, 2 / 8, 3 / 8]},
        "steps": 0,
    }
    assert kept.shown == [(1, 1, 4), (1, 2, 4), (1, 3, 4), (1, 4, 4)]
    assert Fit().epochs_of("accuracy") == [1, 2, 3, 4]


def interrupted_after(epoch):
    """A training that keeps its state after each epoch, and is interrupted before it tells."""

    def train(arm, seed, run):
        state = run.folder / "state"
        begun = int(state.read_text()) if state.exists() else 0
        for number in range(begun + 1, arm.epochs + 1):
            run.epoch(number, accuracy=number / 8)
            if number == epoch:
                raise KeyboardInterrupt
            state.write_text(str(number))
        return {"accuracy": 0.5}

    return train


def test_a_training_goes_on_from_its_folder_and_has_its_whole_curve(kept):
    for epoch in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            trained(interrupted_after(epoch), kept)
    assert trained(interrupted_after(None), kept)["history"] == {
        "accuracy": [1 / 8, 2 / 8, 3 / 8, 4 / 8]
    }


def test_one_that_starts_anew_forgets_what_it_had_told(kept):
    def train(arm, seed, run, *, ends=True):
        for _ in range(arm.epochs if ends else 2):
            run.epoch(accuracy=0.5)
        if not ends:
            raise KeyboardInterrupt
        return {"accuracy": 0.5}

    with pytest.raises(KeyboardInterrupt):
        trained(lambda arm, seed, run: train(arm, seed, run, ends=False), kept)
    assert trained(train, kept)["history"] == {"accuracy": [0.5] * 4}


def test_one_that_goes_on_has_to_say_at_which_epoch(kept):
    def train(arm, seed, run):
        state = run.folder / "state"
        goes_on = state.exists()
        state.touch()
        run.epoch(accuracy=0.5)
        if not goes_on:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(train, kept)
    with pytest.raises(ValueError, match=r"reported 1 epochs before .* run\.epoch\(number, acc"):
        trained(train, kept)


def test_told_epochs_that_cannot_be_read_count_as_none(kept):
    with pytest.raises(KeyboardInterrupt):
        trained(interrupted_after(2), kept)
    (kept.root / "epochs.json").write_text("[{")
    with pytest.raises(ValueError, match="got epoch 2 after epoch 0"):
        trained(interrupted_after(None), kept)


def test_mistakes_in_telling_are_explained(kept):
    for tell, sentence in (
        (lambda run: run.epoch(3, accuracy=0.5), "got epoch 3 after epoch 0"),
        (lambda run: run.epoch(0, accuracy=0.5), "got epoch 0 after epoch 0"),
        (lambda run: run.epoch(accuracy=float("nan")), "accuracy=nan, which cannot be compared"),
        (lambda run: run.epoch(accuracy="high"), "accuracy='high', which is no number"),
        (lambda run: [run.epoch(a=1), run.epoch(b=1)], r"got \['b'\] in epoch 2, and \['a'\]"),
        (lambda run: [run.epoch(a=1) for _ in range(5)], "epoch 5, and Fit has 4 by its"),
    ):
        for left in kept.root.glob("epochs.json"):
            left.unlink()
        with pytest.raises((TypeError, ValueError), match=sentence):
            trained(lambda arm, seed, run, tell=tell: tell(run), kept)


def test_an_arm_that_says_no_epochs_has_none_to_tell_of(kept):
    with pytest.raises(ValueError, match=r"Unepoched has no setting `epochs`; give Unepoched a"):
        trained(lambda arm, seed, run: run.epoch(gains=1), kept, Run(Unepoched(), 1))


def test_a_metric_may_be_a_list(kept):
    run = Run(Unepoched(), 1)
    values = trained(lambda arm, seed: {"gains": torch.arange(3), "right": (1, 0)}, kept, run)
    assert values["measures"] == {"gains": [0, 1, 2], "right": [1, 0]}
    with pytest.raises(TypeError, match=r"gains with listed=True; return a list of numbers"):
        trained(lambda arm, seed: {"gains": 3.0}, kept, run)
    with pytest.raises(TypeError, match=r"accuracy with listed=False; return one number"):
        trained(lambda arm, seed: {"accuracy": [0.5]}, kept)
    with pytest.raises(ValueError, match=r"gains\[1\]=inf, which cannot be compared"):
        trained(lambda arm, seed: {"gains": [1, float("inf")]}, kept, run)


def test_what_diverged_keeps_its_curve(kept):
    def train(arm, seed, run):
        run.epoch(accuracy=0.5)
        raise Diverged(step=70)

    assert trained(train, kept) == {"diverged_at": 70, "history": {"accuracy": [0.5]}}


def test_a_function_is_called_as_it_is_written(kept):
    def train(arm):
        return {}

    with pytest.raises(TypeError, match=r"as train\(arm, seed, run\), and 'train' takes neither"):
        OutsideStudy(train)
    values = trained(lambda arm, seed, epochs=2: {"accuracy": epochs / 4}, kept)
    assert values["measures"] == {"accuracy": 0.5}


def test_threads_are_as_the_arm_says_and_as_before_afterwards(kept, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    usual = torch.get_num_threads()
    seen = []

    def train(arm, seed, run):
        seen.append((run.threads, torch.get_num_threads(), os.environ["MKL_NUM_THREADS"]))
        return {"accuracy": 0.5}

    for threads in (1, 3):
        monkeypatch.setattr(Fit, "threads", threads)
        trained(train, kept)
    assert seen == [(1, 1, "1"), (3, 3, "3")]
    assert torch.get_num_threads() == usual
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


STUDY = OutsideStudy(lambda arm, seed, run: {})


def test_provenance_says_how_many_threads_it_had(kept, monkeypatch):
    monkeypatch.setattr(study_of(RUN.arm), "train", lambda arm, seed, run: {"accuracy": 0.5})
    monkeypatch.setattr(Fit, "threads", 2)
    (event,) = train_batch([RUN], engine="loop", device="cpu", files=kept)
    assert not isinstance(event, Failed), event.details
    assert event.provenance["threads"] == 2
