"""Ordinary modules, alone and stacked: as torch's own loop, with any other runs, and resumed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from repro.arm import Run
from repro.core import train as driver
from repro.core.program import LoopProgram, StackedProgram
from repro.core.train import train
from repro.recipe import Recipe
from tests.own.modules import FEATURES, KINDS, STUDY, Small, engine_and_why, measure, network, study
from tests.run_files import KeptFiles, train_until
from tests.studies.small import stepped

CPU = torch.device("cpu")
FEW = ("tied", "convolution")
"""The first shares weights, the second keeps statistics and draws."""
each_kind = pytest.mark.parametrize(
    "kind", [*FEW, *(pytest.param(k, marks=pytest.mark.thorough) for k in KINDS if k not in FEW)]
)
RECIPES = {
    "adamw": Small().recipe.but(epochs=2),
    "sgd": Recipe(epochs=2, batch=8, lr=0.05, optimiser="sgd", momentum=0.9, clip=1.0),
}


def runs_of(kind="perceptron", seeds=(1, 2, 3), **changed):
    arm = Small(**{"kind": kind, "recipe": RECIPES["adamw"], **changed})
    return [Run(arm, seed) for seed in seeds]


def trained(runs, engine="loop", own=STUDY, **files):
    return dict(train(own, runs, engine=engine, device=CPU, **files))


@pytest.fixture
def in_doubles():
    """Compute with 64 bits: what AdamW makes of rounding cannot hide a difference, nor be one."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("in_doubles")
@each_kind
def test_stacked_modules_train_as_each_would_alone(kind):
    for recipe in RECIPES.values():
        runs = runs_of(kind, recipe=recipe)
        together, alone = trained(runs, "stacked"), {}
        for run in runs:
            alone |= trained([run])
            assert together[run]["history"] == {
                name: pytest.approx(curve, rel=1e-9)
                for name, curve in alone[run]["history"].items()
            }
        losses = [values["history"]["loss"] for values in alone.values()]
        assert losses[0] != losses[1] != losses[2]


@each_kind
def test_a_run_is_the_same_bits_whatever_it_is_stacked_with(kind):
    runs = runs_of(kind, seeds=range(4))
    whole = trained(runs, "stacked")
    for some in ([runs[2]], runs[1:]):
        assert trained(some, "stacked")[runs[2]] == whole[runs[2]]


def test_a_run_is_the_same_whatever_was_drawn_or_trained_before():
    for kind in ("convolution", "random features", "noise"):
        torch.manual_seed(1)
        runs = runs_of(kind, seeds=(1, 2))
        first = trained(runs)
        torch.manual_seed(2)
        torch.rand(3)
        before = torch.get_rng_state()
        assert trained(runs[1:])[runs[1]] == first[runs[1]], kind
        assert torch.equal(torch.get_rng_state(), before), kind


@st.composite
def shapes(draw):
    """A network of layers that keep statistics or draw, of any size, and how it is trained."""
    channels, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    kernel, share = draw(st.integers(1, 2)), draw(st.sampled_from([0.0, 0.2, 0.7]))
    momentum, affine = draw(st.sampled_from([0.1, 0.7])), draw(st.booleans())
    recipe = Small().recipe.but(
        epochs=2, batch=draw(st.integers(3, 20)), clip=None, lr=draw(st.sampled_from([1e-3, 1e-2]))
    )

    def build(arm):
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

    return study(module=build), recipe


@pytest.mark.thorough
@pytest.mark.usefixtures("in_doubles")
@given(shape=shapes(), seeds=st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True))
def test_losses_statistics_and_measures_are_those_of_the_loop(shape, seeds):
    own, recipe = shape
    runs = runs_of(seeds=seeds, recipe=recipe)
    data = own.load(runs[0].arm, CPU)
    stacked = StackedProgram(own, runs, data, CPU)
    losses = stepped(stacked, data, 2)
    states, measures = stacked.states(), stacked.measure()
    for row, run in enumerate(runs):
        loop = LoopProgram(own, [run], data, CPU)
        torch.testing.assert_close(losses[:, row], stepped(loop, data, 2)[:, 0], rtol=1e-8, atol=0)
        for name, buffer in loop.model.module.named_buffers():
            torch.testing.assert_close(
                states[row][f"parameter/{name}"], buffer, rtol=1e-8, atol=1e-8
            )
        assert measures[row] == pytest.approx(loop.measure()[0], rel=1e-8)


@pytest.mark.parametrize(
    ("engine", "recipe"),
    [
        ("loop", "adamw"),
        ("stacked", "sgd"),
        pytest.param("loop", "sgd", marks=pytest.mark.thorough),
        pytest.param("stacked", "adamw", marks=pytest.mark.thorough),
    ],
)
def test_what_a_module_draws_and_counts_survives_an_interruption(engine, recipe, monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 2)
    for kind in ("convolution", "counting"):  # the first has running statistics and dropout
        runs = runs_of(kind, (1, 2) if engine == "stacked" else (1,), recipe=RECIPES[recipe])
        undisturbed, kept = trained(runs, engine), KeptFiles()
        for step in (2, 6, 8):
            train_until(step, STUDY, runs, engine=engine, device=CPU, files=kept)
        assert trained(runs, engine, files=kept) == undisturbed, kind
        assert not kept.dropped


def test_runs_that_leave_take_their_statistics_with_them():
    runs = runs_of("batch norm", seeds=range(4))
    data = STUDY.load(runs[0].arm, CPU)
    both = [StackedProgram(STUDY, runs, data, CPU) for _ in range(2)]
    for program in both:
        stepped(program, data, 1)
    both[1].keep([3, 1])
    (_, kept), (_, again) = both[0].states()[::2], both[1].states()
    assert all(torch.equal(both[0].states()[1][name], again[name]) for name in again)
    assert not all(torch.equal(kept[name], again[name]) for name in again)


def test_dropout_is_on_in_training_and_off_in_measuring():
    (run,) = runs_of("dropout", seeds=[1])
    data = STUDY.load(run.arm, CPU)
    model = STUDY.reference(run, data, CPU)
    _, *batch = (part[0] for part in data.batch(data.epoch(1, 0)[None, :8]))

    def loss(draws):
        return model.loss(torch.tensor(draws), *batch)[1].detach()

    assert loss(1) == loss(1) != loss(2)
    assert model.module.training
    measured = model.measure()
    assert model.module.training
    assert measured == {"error": float(measure(model.module.eval(), run.arm)["error"].detach())}


class LateNoise(nn.Linear):
    """Draws from its third step on."""

    def __init__(self):
        super().__init__(6, 6)
        self.calls = 0

    def forward(self, x):
        self.calls += self.training
        dropped = nn.functional.dropout(x, 0.3, self.training and self.calls > 2)
        return super().forward(dropped)


def test_a_module_that_begins_to_draw_is_drawn_for_by_its_own_seeds():
    own, runs, before = study(module=lambda arm: LateNoise()), runs_of(), torch.get_rng_state()
    together = trained(runs, "stacked", own)
    assert trained(runs[1:], "stacked", own)[runs[1]] == together[runs[1]]
    assert torch.equal(torch.get_rng_state(), before)


class Permuting(nn.Linear):
    def __init__(self):
        super().__init__(6, 6)

    def forward(self, x):
        return super().forward(x[:, torch.randperm(6)])


def between(layer):
    return nn.Sequential(nn.Linear(6, 7), layer, nn.Linear(7, 6))


REFUSED = [
    (lambda: between(nn.BatchNorm1d(7, momentum=None)), "item"),  # an average over all batches
    (Permuting, "draws by aten::randperm, which many runs cannot do as one"),
    (lambda: between(nn.RReLU()), "rrelu"),  # random slopes
]


def test_what_cannot_be_stacked_is_trained_alone_and_says_why(monkeypatch):
    arm = Small(examples=8, recipe=RECIPES["adamw"].but(epochs=1))
    for build, why in REFUSED:
        own = study(module=lambda arm, build=build: build())
        engine, said = engine_and_why(own, arm, monkeypatch)
        assert engine == "loop"
        assert why in said
    assert engine_and_why(STUDY, arm, monkeypatch) == ("stacked", "")


def test_mistakes_are_explained():
    for changed, sentence in (
        ({"measure": lambda m, arm: {}}, r"also declares \['error'\]; return each"),
        ({"measure": lambda m, arm: 0.5}, "returned float; return numbers by name"),
        ({"measure": lambda m, arm: {"error": "low"}}, "error='low', which is no number"),
        ({"measure": lambda m, arm: {"error": torch.tensor(torch.inf)}}, "error=inf, which cannot"),
        ({"examples": lambda arm: [torch.zeros(3, 6)] * 2}, "says examples=40, but"),
        ({"loss": lambda module, x, y: x}, "the module, the arm and 2 tensors of a batch"),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            trained(runs_of(), own=study(**changed))


def test_labels_say_what_is_not_usual():
    assert Small().label == "small"
    assert Small(kind="tied").label == "small kind tied"
    assert "lr 0.1" in Small(recipe=Small().recipe.but(lr=0.1)).label


def test_runs_are_stacked_with_those_of_their_own_arm():
    """The loss may read any setting of the arm, the rates too."""
    usual = Small()
    assert Small().program == usual.program
    for other in (Small(kind="tied"), usual.but(recipe=usual.recipe.but(lr=3e-2))):
        assert other.program != usual.program
