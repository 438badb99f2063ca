"""Examples that are loaded one by one: by the run's streams, whoever loads them, and resumed."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset

from repro.arm import Run
from repro.core import train as driver
from repro.core.train import train
from repro.own.brought import LoadedExamples
from tests.own.modules import Small, examples, study
from tests.run_files import KeptFiles, train_until

CPU = torch.device("cpu")
X, Y = examples(Small())


class Augmented(Dataset):
    """The examples of every other test, with noise of each kind of generator on them."""

    def __init__(self, noise=0.1):
        self.noise = noise

    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        drawn = random.random() + np.random.rand() + torch.rand(())
        return X[index] + self.noise * drawn, Y[index]


def trained(noise=0.1, *, engine="loop", seeds=(1,), arm=None, **options):
    own = study(examples=lambda arm: Augmented(noise))
    runs = [Run(arm or Small(), seed) for seed in seeds]
    return dict(train(own, runs, engine=engine, device=CPU, **options))


def test_without_transforms_they_train_as_tensors_do():
    tensors = dict(train(study(), [Run(Small(), 1)], engine="loop", device=CPU))
    assert trained(0.0) == tensors


with_and_without_workers = pytest.mark.parametrize(
    "workers", [0, pytest.param(2, marks=pytest.mark.thorough)]
)


@with_and_without_workers
def test_what_transforms_draw_comes_from_the_runs_seed(workers, monkeypatch):
    alone = trained()
    monkeypatch.setattr(Small, "workers", workers)
    torch.manual_seed(workers)
    random.seed(workers)
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    assert trained() == alone
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.random.get_state()[1].tolist() == states[2]
    assert trained(seeds=[2])[Run(Small(), 2)] != alone[Run(Small(), 1)]


@pytest.mark.thorough
def test_many_runs_load_theirs_as_each_would_alone():
    together = trained(engine="stacked", seeds=(1, 2))
    for run, values in together.items():
        (alone,) = trained(seeds=[run.seed]).values()
        assert values["history"]["loss"] == pytest.approx(alone["history"]["loss"], rel=1e-4)


@with_and_without_workers
def test_they_are_the_same_after_an_interruption(workers, monkeypatch):
    undisturbed = trained()
    monkeypatch.setattr(driver, "CHECK_STEPS", 2)
    monkeypatch.setattr(Small, "workers", workers)
    own, kept = study(examples=lambda arm: Augmented()), KeptFiles()
    for step in (4, 8):
        train_until(step, own, [Run(Small(), 1)], engine="loop", device=CPU, files=kept)
    assert trained(files=kept) == undisturbed


@pytest.mark.thorough
def test_an_epoch_is_loaded_once_from_where_it_is_asked_for():
    loaded = LoadedExamples(Augmented(), workers=1, device=CPU)
    lines = loaded.epoch(1, 0)
    direct = LoadedExamples(Augmented(), workers=0, device=CPU)
    started = []
    begin = loaded._begin_at
    loaded._begin_at = lambda wanted: started.append(wanted) or begin(wanted)
    for at in (8, 16, 24, 32):
        batch = lines[at : at + 8][None]
        for ahead, at_once in zip(loaded.batch(batch), direct.batch(batch), strict=True):
            assert torch.equal(ahead, at_once)
    assert len(started) == 1


def test_a_data_set_of_another_length_is_explained():
    own = study(examples=lambda arm: Augmented())
    with pytest.raises(ValueError, match=r"says examples=41, but .* gives \[40\] of them"):
        own.load(Small(examples=41), CPU)
    wrong = study(examples=lambda arm: Augmented(), loss=lambda module, arm, x: x)
    with pytest.raises(TypeError, match="the module, the arm and 2 tensors of a batch"):
        wrong.load(Small(), CPU)


@pytest.mark.thorough
def test_a_batch_that_no_epoch_has_is_loaded_all_the_same():
    loaded = LoadedExamples(Augmented(), workers=1, device=CPU)
    lines = torch.tensor([[[3, 5], [4, 6]]])
    _, x, y = loaded.batch(lines)
    assert x.shape == (1, 2, 6)
    assert torch.equal(y[0], Y[[3, 4]])
