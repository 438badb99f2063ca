"""Ordinary modules: stacked and alone they agree, and those that do not stack are explained."""

import pytest
import torch

from repro.arm import Run
from repro.core import train as driver
from repro.core.timing import measure_speed
from repro.core.train import train
from tests.own.modules import KINDS, STUDY, Small, measure, study
from tests.run_files import KeptFiles, train_until

try:
    import tests.core.elsewhere as ELSEWHERE  # before autograd starts its threads, one a device
except ImportError:
    ELSEWHERE = None

CPU = torch.device("cpu")
STACKS = [
    "perceptron", "convolution", "attention", "tied", "half frozen", "dropout", "random features",
]  # fmt: skip
ALIKE = dict.fromkeys(STACKS, 1e-4) | {"attention": 5e-3}
"""The gradient of attention's key bias is rounding alone, which Adam scales to whole steps."""


def runs_of(kind, seeds=(1, 2, 3)):
    return [Run(Small(kind=kind), seed) for seed in seeds]


def trained(runs, engine="loop"):
    return dict(train(STUDY, runs, engine=engine, device=CPU))


@pytest.mark.parametrize("kind", STACKS)
def test_stacked_modules_train_as_each_would_alone(kind):
    together, alone = trained(runs_of(kind), "stacked"), trained(runs_of(kind))
    assert together.keys() == alone.keys()
    for run, values in alone.items():
        assert together[run]["history"] == {
            name: pytest.approx(curve, rel=ALIKE[kind]) for name, curve in values["history"].items()
        }
    losses = [values["history"]["loss"] for values in alone.values()]
    assert losses[0] != losses[1] != losses[2]
    assert all(loss[-1] < loss[0] for loss in losses)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_the_same_whatever_was_drawn_or_trained_before(kind):
    torch.manual_seed(1)
    first = trained(runs_of(kind))
    torch.manual_seed(2)
    torch.rand(3)
    before = torch.get_rng_state()
    assert trained(runs_of(kind)[1:])[runs_of(kind)[1]] == first[runs_of(kind)[1]]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", ["dropout", "batch norm"])
def test_what_a_module_draws_and_counts_survives_an_interruption(kind, monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 2)
    runs, kept = runs_of(kind)[:1], KeptFiles()
    undisturbed = trained(runs)
    for step in (4, 8, 12):
        train_until(step, STUDY, runs, engine="loop", device=CPU, files=kept)
    resumed = dict(train(STUDY, runs, engine="loop", device=CPU, files=kept))
    assert resumed == undisturbed


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


@pytest.mark.parametrize("kind", STACKS)
def test_what_can_be_stacked_is_not_refused(kind):
    pace = measure_speed(STUDY, [Small(kind=kind)], engine="auto", device=CPU)
    assert pace.not_stacked == ""


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"measure": lambda m, arm: {}}, r"also declares \['error'\]; return each"),
        ({"measure": lambda m, arm: 0.5}, "returned float; return numbers by name"),
        ({"measure": lambda m, arm: {"error": "low"}}, "error='low', which is no number"),
        ({"measure": lambda m, arm: {"error": torch.tensor(torch.inf)}}, "error=inf, which cannot"),
        ({"examples": lambda arm: [torch.zeros(3, 6)] * 2}, "says examples=40, but"),
    ],
)
def test_mistakes_are_explained(changed, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        list(train(study(**changed), runs_of("perceptron"), engine="loop", device=CPU))


def test_labels_say_what_is_not_usual():
    assert Small().label == "small"
    assert Small(kind="tied").label == "small kind tied"
    assert "lr 0.1" in Small(recipe=Small().recipe.but(lr=0.1)).label


def test_a_measure_that_stays_on_the_cpu_is_told_where_to_go():
    if ELSEWHERE is None:
        pytest.skip("this torch cannot have a device written in Python")

    def stays(module, arm):
        return {"error": module(torch.ones(2, 6)).sum()}

    message = r"tensors that are not on elsewhere:0, .*with x\.to\("
    with pytest.raises(ValueError, match=message):
        list(
            train(
                study(measure=stays), runs_of("perceptron"), engine="loop", device=ELSEWHERE.DEVICE
            )
        )


def by_rate(module, arm, x, y):
    """A loss that reads a number in which runs that are trained as one may differ."""
    return arm.recipe.lr * 100 * torch.nn.functional.mse_loss(module(x), y)


def test_the_loss_is_given_the_arm_of_its_run_also_in_company():
    usual = Small()
    arms = [usual, usual.but(recipe=usual.recipe.but(lr=3e-2))]
    runs = [Run(arm, seed) for seed in (1, 2) for arm in arms]
    own = study(loss=by_rate)
    alone = dict(train(own, runs[:1], engine="loop", device=CPU))[runs[0]]["history"]["loss"]
    plain = trained(runs[:1])[runs[0]]["history"]["loss"]
    assert alone[0] == pytest.approx(plain[0], rel=0.5)
    together = dict(train(own, runs, engine="stacked", device=CPU))
    for run in runs:
        (values,) = dict(train(own, [run], engine="loop", device=CPU)).values()
        assert together[run]["history"]["loss"] == pytest.approx(values["history"]["loss"], 1e-4)


def test_a_loss_that_takes_no_arm_is_explained():
    old = study(loss=lambda module, x, y: torch.nn.functional.mse_loss(module(x), y))
    with pytest.raises(TypeError, match=r"given the module, the arm and 2 tensors of a batch"):
        old.load(Small(), CPU)
