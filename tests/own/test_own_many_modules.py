"""Modules with running statistics and draws, stacked: as torch's own loop, whatever the company."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from repro.arm import Run
from repro.core import train as driver
from repro.core.program import LoopProgram, StackedProgram
from repro.core.timing import measure_speed
from repro.core.train import train
from repro.own.recipe import OwnRecipe
from repro.recipe import Moment
from tests.own.modules import Small, study
from tests.run_files import KeptFiles, train_until

CPU = torch.device("cpu")
FEATURES = 6  # what the examples have

few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


class Noisy(nn.Module):
    """Draws in the ways that noise is added to what a layer gets."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 6)

    def forward(self, x):
        noise = torch.randn_like(x) + torch.rand(6) + torch.randn(x.shape) + torch.rand_like(x)
        return self.last(x + noise + torch.empty_like(x).normal_() * torch.empty_like(x).uniform_())


class Counting(nn.Module):
    """Keeps a mean in a buffer that it replaces, and a count in one that it changes."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 6)
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
            self.steps += 1
        return self.last(x - self.mean) + 0.01 * self.steps


class LateNoise(nn.Module):
    """Draws from its third step on."""

    def __init__(self):
        super().__init__()
        self.last, self.calls = nn.Linear(6, 6), 0

    def forward(self, x):
        self.calls += self.training
        return self.last(nn.functional.dropout(x, 0.3, self.training and self.calls > 2))


def attending():
    layer = nn.TransformerEncoderLayer(2, 1, 4, dropout=0.2, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (3, 2)), layer, nn.Flatten())


def network(*layers, rows=1):
    return nn.Sequential(nn.Unflatten(1, (rows, FEATURES // rows)), *layers)


MODULES = {
    "batch norm": lambda: nn.Sequential(
        nn.Linear(6, 7, bias=False), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 6)
    ),
    "without running statistics": lambda: nn.Sequential(
        nn.Linear(6, 7, bias=False), nn.BatchNorm1d(7, track_running_stats=False), nn.Linear(7, 6)
    ),
    "instance norm": lambda: network(
        nn.InstanceNorm1d(2, track_running_stats=True), nn.Flatten(), nn.Linear(6, 6), rows=2
    ),
    "convolution": lambda: network(
        nn.Conv1d(2, 4, 2, groups=2, bias=False),
        nn.BatchNorm1d(4),
        nn.ReLU(inplace=True),
        nn.ConvTranspose1d(4, 3, 2),
        nn.Dropout1d(0.3),
        nn.Flatten(),
        nn.Linear(9, 6),
        rows=2,
    ),
    "dropout": lambda: nn.Sequential(
        nn.Dropout(0.1), nn.Linear(6, 7), nn.Dropout(0.5), nn.AlphaDropout(0.1), nn.Linear(7, 6)
    ),
    "attention": attending,
    "noise": Noisy,
    "counting": Counting,
}
RECIPES = {
    "adamw": Small().recipe,
    "sgd": OwnRecipe(epochs=3, batch=8, lr=0.05, optimiser="sgd", momentum=0.9, clip=1.0),
}


def of(build):
    return study(module=lambda arm: build())


def runs_of(seeds=(1, 2, 3), **changed):
    return [Run(Small(**changed), seed) for seed in seeds]


@pytest.fixture
def in_doubles():
    """Compute with 64 bits: what AdamW makes of rounding cannot hide a difference, nor be one."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("in_doubles")
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("kind", MODULES)
def test_runs_train_together_as_each_would_alone(kind, recipe):
    own, runs = of(MODULES[kind]), runs_of(recipe=RECIPES[recipe])
    together = dict(train(own, runs, engine="stacked", device=CPU))
    for run in runs:
        alone = dict(train(own, [run], engine="loop", device=CPU))[run]["history"]
        assert together[run]["history"] == {
            name: pytest.approx(curve, rel=1e-9) for name, curve in alone.items()
        }


@pytest.mark.parametrize("kind", MODULES)
def test_a_run_is_the_same_bits_whatever_it_is_stacked_with(kind):
    own, runs = of(MODULES[kind]), runs_of(seeds=range(5))
    other = [Run(run.arm.but(recipe=run.arm.recipe.but(lr=0.03)), run.seed) for run in runs]
    whole = dict(train(own, runs, engine="stacked", device=CPU))
    for company in ([runs[2]], runs[1:3], [*runs[:4], *other[2:]]):
        assert dict(train(own, company, engine="stacked", device=CPU))[runs[2]] == whole[runs[2]]


@st.composite
def shapes(draw):
    """A network of layers that keep statistics or draw, of any size, and how it is trained."""
    channels, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    kernel, share = draw(st.integers(1, 2)), draw(st.sampled_from([0.0, 0.2, 0.7]))
    momentum, affine = draw(st.sampled_from([0.1, 0.7])), draw(st.booleans())
    recipe = Small().recipe.but(
        epochs=2, batch=draw(st.integers(3, 20)), clip=None, lr=draw(st.sampled_from([1e-3, 1e-2]))
    )

    def build():
        length = FEATURES // channels - kernel + 1
        return network(
            nn.Conv1d(channels, outputs, kernel, bias=False),
            nn.BatchNorm1d(outputs, momentum=momentum, affine=affine),
            nn.Tanh(),
            nn.Dropout(share),
            nn.Flatten(),
            nn.Linear(outputs * length, 5, bias=False),
            nn.BatchNorm1d(5),
            nn.Linear(5, FEATURES),
            rows=channels,
        )

    return of(build), recipe


def stepped(program, data, steps):
    """The losses of some steps of a program."""
    size = program.runs[0].arm.recipe.batch
    lines = torch.stack([data.epoch(run.seed, 0) for run in program.runs])
    return torch.stack(
        [
            program.advance(
                data.batch(lines[:, step * size : (step + 1) * size]),
                Moment(step=step, per_epoch=steps, total=steps),
            )
            for step in range(steps)
        ]
    )


@pytest.mark.usefixtures("in_doubles")
@few
@given(shape=shapes(), seeds=st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True))
def test_losses_statistics_and_measures_are_those_of_the_loop(shape, seeds):
    own, recipe = shape
    runs = runs_of(seeds, recipe=recipe)
    data = own.load(runs[0].arm, CPU)
    stacked = StackedProgram(own, runs, data, CPU)
    losses = stepped(stacked, data, 2)
    states, measures = stacked.states(), stacked.measure()
    for row, run in enumerate(runs):
        loop = LoopProgram(own, [run], data, CPU)
        torch.testing.assert_close(losses[:, row], stepped(loop, data, 2)[:, 0], rtol=1e-8, atol=0)
        for name, buffer in loop.buffers.items():
            torch.testing.assert_close(
                states[row][f"parameter/{name}"], buffer, rtol=1e-8, atol=1e-8
            )
        assert measures[row] == pytest.approx(loop.measure()[0], rel=1e-8)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("kind", ["batch norm", "convolution", "dropout", "counting"])
def test_what_a_stack_draws_and_counts_survives_an_interruption(kind, recipe, monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 2)
    own, runs, kept = of(MODULES[kind]), runs_of(recipe=RECIPES[recipe]), KeptFiles()
    undisturbed = dict(train(own, runs, engine="stacked", device=CPU))
    for step in (4, 8, 12):
        train_until(step, own, runs, engine="stacked", device=CPU, files=kept)
    assert dict(train(own, runs, engine="stacked", device=CPU, files=kept)) == undisturbed
    assert not kept.dropped


def test_runs_that_leave_take_their_statistics_with_them():
    own, runs = of(MODULES["batch norm"]), runs_of(seeds=range(4))
    data = own.load(runs[0].arm, CPU)
    both = [StackedProgram(own, runs, data, CPU) for _ in range(2)]
    for program in both:
        stepped(program, data, 1)
    both[1].keep([3, 1])
    (_, kept), (_, again) = both[0].states()[::2], both[1].states()
    assert all(torch.equal(both[0].states()[1][name], again[name]) for name in again)
    assert not all(torch.equal(kept[name], again[name]) for name in again)


def test_a_module_that_begins_to_draw_is_drawn_for_by_its_own_seeds():
    own, runs, before = of(LateNoise), runs_of(), torch.get_rng_state()
    together = dict(train(own, runs, engine="stacked", device=CPU))
    again = dict(train(own, runs[1:], engine="stacked", device=CPU))
    assert again[runs[1]] == together[runs[1]]
    assert torch.equal(torch.get_rng_state(), before)


class Permuting(nn.Linear):
    def __init__(self):
        super().__init__(6, 6)

    def forward(self, x):
        return super().forward(x[:, torch.randperm(6)])


REFUSED = {
    "an average over all batches": (
        lambda: nn.Sequential(nn.Linear(6, 7), nn.BatchNorm1d(7, momentum=None), nn.Linear(7, 6)),
        "item",
    ),
    "a permutation": (Permuting, "draws by aten::randperm, which many runs cannot do as one"),
    "random slopes": (
        lambda: nn.Sequential(nn.Linear(6, 7), nn.RReLU(), nn.Linear(7, 6)),
        "rrelu",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_stacked_is_trained_alone_and_says_why(kind):
    build, why = REFUSED[kind]
    pace = measure_speed(of(build), [Small()], engine="auto", device=CPU)
    assert pace.engine == "loop"
    assert why in pace.not_stacked


@pytest.mark.parametrize("kind", MODULES)
def test_what_can_be_stacked_is_not_refused(kind):
    assert measure_speed(of(MODULES[kind]), [Small()], engine="auto", device=CPU).not_stacked == ""
