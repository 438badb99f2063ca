"""Optimisers and schedules beside the core's: torch's own numbers, stacked, alone, and resumed."""

import functools

import pytest
import torch
from torch.optim.lr_scheduler import OneCycleLR

from repro.arm import Run
from repro.core import train as driver
from repro.core.program import ENGINES
from repro.core.train import train
from repro.recipe import Moment, Recipe
from tests.own.modules import STUDY, Small, engine_and_why, study
from tests.run_files import KeptFiles, train_until

CPU = torch.device("cpu")
RECIPE = Recipe(epochs=3, batch=8, lr=0.05, optimiser="sgd", momentum=0.9, weight_decay=0.01)
ARM = Small(recipe=RECIPE)
STEPS = ARM.steps


def runs_of(recipe, seeds=(1, 2, 3), **changed):
    return [Run(Small(recipe=recipe, **changed), seed) for seed in seeds]


def by_hand(run, optimiser, schedule):
    """The parameters after the training of a run, as torch's documentation writes it."""
    data = STUDY.load(run.arm, CPU)
    model, recipe = STUDY.reference(run, data, CPU), run.arm.recipe
    parameters = list(model.module.parameters())
    optimiser = optimiser(parameters)
    schedule = schedule(optimiser)
    for number in range(recipe.epochs):
        lines = data.epoch(run.seed, number)
        for at in range(0, len(lines), recipe.batch):
            batch = (part[0] for part in data.batch(lines[None, at : at + recipe.batch]))
            objective, _ = model.loss(*batch)
            optimiser.zero_grad()
            objective.backward()
            optimiser.step()
            schedule.step()
    return model.module.state_dict()


def trained(program, run):
    """The parameters after a program of one run has taken all its steps."""
    data = STUDY.load(run.arm, CPU)
    program = program(data)
    for step in range(STEPS):
        number, place = divmod(step, STEPS // 3)
        lines = data.epoch(run.seed, number)[place * 8 : place * 8 + 8][None]
        program.advance(data.batch(lines), Moment(step=step, per_epoch=STEPS // 3, total=STEPS))
    return {
        name.removeprefix("parameter/"): tensor
        for name, tensor in program.states()[0].items()
        if name.startswith("parameter/")
    }


@pytest.mark.parametrize("build", ENGINES.values(), ids=ENGINES)
def test_a_recipe_trains_as_torch_does(build):
    for changed in (
        {},
        {"momentum": 0.0},
        {"nesterov": True},
        {"nesterov": True, "schedule": "onecycle"},
        {"optimiser": "adamw", "momentum": 0.0, "schedule": "onecycle"},
    ):
        recipe = RECIPE.but(**changed)
        (run,) = runs_of(recipe, seeds=[1])
        settings = {"lr": recipe.lr, "weight_decay": recipe.weight_decay}
        kind = torch.optim.AdamW
        if recipe.optimiser == "sgd":
            kind = torch.optim.SGD
            settings |= {"momentum": recipe.momentum, "nesterov": recipe.nesterov}
        optimiser = functools.partial(kind, **settings)
        wanted = by_hand(run, optimiser, schedule_of(recipe))
        found = trained(lambda data, run=run: build(STUDY, [run], data, CPU), run)
        for name, tensor in wanted.items():
            torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=1e-6)


def schedule_of(recipe):
    if recipe.schedule == "onecycle":
        return lambda o: Cycle(OneCycleLR(o, recipe.lr, total_steps=STEPS, cycle_momentum=False))
    return lambda o: torch.optim.lr_scheduler.ConstantLR(o, 1.0)


class Cycle:
    """A schedule that is not stepped past its end."""

    def __init__(self, schedule):
        self.schedule, self.left = schedule, STEPS - 1

    def step(self):
        if self.left:
            self.left -= 1
            self.schedule.step()


def test_runs_that_differ_in_their_rates_train_by_sgd_together():
    recipes = [RECIPE, RECIPE.but(lr=0.01), RECIPE.but(weight_decay=0.0, clip=0.5)]
    runs = [run for recipe in recipes for run in runs_of(recipe, (1, 2), kind="tied")]
    together = dict(train(STUDY, runs, engine="stacked", device=CPU))
    for run in runs:
        alone = dict(train(STUDY, [run], engine="loop", device=CPU))[run]["history"]
        for name, curve in together[run]["history"].items():
            assert curve == pytest.approx(alone[name], rel=1e-4)
    fewer = dict(train(STUDY, runs[1:4], engine="stacked", device=CPU))
    assert fewer == {run: together[run] for run in runs[1:4]}


def lion(parameters, arm):
    return torch.optim.SGD(parameters, lr=arm.recipe.lr, momentum=0.9, nesterov=True)


def cycle(optimiser, arm, steps):
    return OneCycleLR(optimiser, max_lr=arm.recipe.lr, total_steps=steps)


BROUGHT = {"optimiser": lion, "schedule": cycle}
PLAIN = Small().recipe.but(lr=0.05, weight_decay=0.0, clip=None)


def test_what_a_study_brings_trains_as_torch_does():
    (run,) = runs_of(PLAIN, seeds=[1])
    wanted = by_hand(
        run,
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
        lambda o: Cycle(OneCycleLR(o, max_lr=0.05, total_steps=STEPS)),
    )
    found = trained(lambda data: ENGINES["loop"](study(**BROUGHT), [run], data, CPU), run)
    for name, tensor in wanted.items():
        torch.testing.assert_close(found[name], tensor)


def test_what_a_study_brings_survives_an_interruption(monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 2)
    (run,) = runs_of(PLAIN, [1], kind="batch norm")
    usual = dict(train(STUDY, [run], engine="loop", device=CPU))
    for names in (["optimiser"], ["schedule"], ["optimiser", "schedule"]):
        own, kept = study(**{name: BROUGHT[name] for name in names}), KeptFiles()
        undisturbed = dict(train(own, [run], engine="loop", device=CPU))
        assert undisturbed != usual
        for step in (4, 8, 12):
            train_until(step, own, [run], engine="loop", device=CPU, files=kept)
        assert dict(train(own, [run], engine="loop", device=CPU, files=kept)) == undisturbed, names
        assert not kept.dropped


def test_what_a_study_brings_is_trained_alone_and_says_why(monkeypatch):
    engine, why = engine_and_why(study(**BROUGHT), Small(recipe=PLAIN), monkeypatch)
    assert engine == "loop"
    assert "has an optimiser or a schedule of its own" in why
    assert engine_and_why(STUDY, ARM, monkeypatch) == ("stacked", "")


def test_a_recipe_that_nothing_would_hear_is_refused():
    for brought, changed, sentence in (
        ("optimiser", {"weight_decay": 0.1}, "weight_decay=0.1, which the study's own optimiser"),
        ("optimiser", {"optimiser": "adam"}, "optimiser='adam', which the study's own optimiser"),
        ("schedule", {"schedule": "cosine"}, "schedule='cosine', which the study's own schedule"),
        ("schedule", {"warmup": 5}, "warmup=5, which the study's own schedule does not use"),
        ("schedule", {"precision": "float16"}, "precision='float16', which scales the loss"),
    ):
        own, runs = study(**{brought: BROUGHT[brought]}), runs_of(PLAIN.but(**changed))
        with pytest.raises(ValueError, match=sentence):
            list(train(own, runs[:1], engine="loop", device=CPU))


def test_the_recipes_schedule_goes_with_an_optimiser_that_is_brought():
    own = study(optimiser=lion)
    curves = [
        dict(train(own, runs_of(recipe, [1]), engine="loop", device=CPU)).popitem()[1]["history"]
        for recipe in (PLAIN, PLAIN.but(schedule="cosine"), PLAIN.but(warmup=10))
    ]
    assert len({curve["loss"][-1] for curve in curves}) == 3
