"""The driver: interruption, divergence and early stopping leave other runs as they would be."""

import dataclasses
import io
import json

import numpy as np
import pytest
import torch

from repro.arm import Run
from repro.core import train as driver
from repro.core.program import LoopProgram
from repro.core.streams import stream
from repro.core.train import train
from repro.recipe import Moment, Recipe
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.reference import ReferenceLadder
from repro.studies.depth_ladder.study import STUDY
from tests.run_files import KeptFiles, train_until

CPU = torch.device("cpu")
ARM = LadderArm(
    width=16, depth=2, rule="fa", trained=1, data="cifar10-twin", pixels=8, images=320, shift=1,
    weight_std=0.1, embedding_std=0.1,
    recipe=Recipe(epochs=3, batch=32, lr=1e-3, weight_decay=0.01, schedule="cosine"),
)  # fmt: skip
RUNS = [Run(ARM.but(trained=k), seed) for k in (2, 1, 0) for seed in (1, 2)]


def loss_by_hand(run):
    """The mean loss of the batches of one epoch: a plain loop, with AdamW written out."""
    recipe, data = run.arm.recipe, LadderData(run.arm, CPU)
    model = ReferenceLadder(run, data, CPU).module
    weights = [p for p in model.parameters() if p.requires_grad]
    means, squares = ([torch.zeros_like(p) for p in weights] for _ in range(2))
    lines, losses = data.epoch(run.seed, 0), []
    for first in range(0, len(lines) - recipe.batch + 1, recipe.batch):
        x, y = data.batch(lines[None, first : first + recipe.batch])
        chosen = model(x[0]).log_softmax(-1)[torch.arange(recipe.batch), y[0]]
        losses.append(-chosen.mean())
        count = len(losses)
        with torch.no_grad():
            for p, g, m, v in zip(
                weights, torch.autograd.grad(losses[-1], weights), means, squares, strict=True
            ):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p *= 1 - recipe.lr * recipe.weight_decay
                p -= recipe.lr * (m / (1 - 0.9**count)) / ((v / (1 - 0.999**count)).sqrt() + 1e-8)
    return sum(loss.item() for loss in losses) / len(losses)


@pytest.mark.parametrize("images", [320, 310])  # ten whole batches; nine, and a part left out
@pytest.mark.parametrize("engine", ["loop", "stacked"])
def test_the_training_loss_is_the_mean_over_the_batches_of_an_epoch(engine, images):
    recipe = ARM.recipe.but(epochs=1, schedule="constant")
    run = Run(ARM.but(rule="bp", trained=2, images=images, recipe=recipe), 3)
    ((_, values),) = train(STUDY, [run], engine=engine, device=CPU)
    assert values["history"]["loss"] == pytest.approx([loss_by_hand(run)], rel=1e-5)


@pytest.mark.parametrize("engine", ["loop", "stacked"])
def test_resumed_training_is_bit_for_bit_the_undisturbed_one(engine, monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 4)
    undisturbed = dict(train(STUDY, RUNS, engine=engine, device=CPU))
    kept = KeptFiles()
    for step in (8, 16, 24):
        train_until(step, STUDY, RUNS, engine=engine, device=CPU, files=kept)
    resumed = dict(train(STUDY, RUNS, engine=engine, device=CPU, files=kept))
    assert resumed == undisturbed


class Measuring:
    """A study with these measures in place of its own."""

    def __init__(self, **measures):
        self.measures = measures

    def __getattr__(self, name):
        return getattr(STUDY, name)

    def reference(self, run, data, device):
        model = STUDY.reference(run, data, device)
        model.measure = lambda: dict(self.measures)
        return model


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.5), np.float32(0.5), np.array(0.5), torch.tensor(0.5), np.int64(3), 2, True,
        np.array([0.5, 1.5]), torch.tensor([[1, 2], [3, 4]]), [np.float32(0.5)], (1.0, 2.0), None,
    ],
)  # fmt: skip
def test_training_goes_on_from_measures_of_whatever_library(value):
    study, run = Measuring(own=value), Run(ARM, 1)
    kept = KeptFiles()
    train_until(20, study, [run], engine="loop", device=CPU, files=kept)
    ((_, values),) = train(study, [run], engine="loop", device=CPU, files=kept)
    assert kept.dropped == {}
    (first, *rest) = values["history"]["own"]
    assert np.array_equal(first, value)
    assert rest == [first] * 2
    assert json.loads(json.dumps(values)) == values


@pytest.mark.parametrize("value", ["0.5", {"a": 1.0}, [0.5, "x"], 1j])
def test_a_measure_that_is_no_number_is_refused_in_one_sentence(value):
    with pytest.raises(TypeError, match=r"the measure 'own' is .*; give a number, or a list of"):
        list(train(Measuring(own=value), [Run(ARM, 1)], engine="loop", device=CPU))


def as_saved(payload, change):
    saved = torch.load(io.BytesIO(payload), weights_only=True)
    change(saved)
    buffer = io.BytesIO()
    torch.save(saved, buffer)
    return buffer.getvalue()


def set_head(saved, tensor):
    saved["state"]["parameter/head.weight"] = tensor


CHANGES = {
    "no step": lambda saved: saved.pop("step"),
    "no state": lambda saved: saved["state"].clear(),
    "no tensor of a name": lambda saved: saved["state"].pop("parameter/head.weight"),
    "a tensor that would be spread": lambda saved: set_head(saved, torch.zeros(1)),
    "a tensor of another shape": lambda saved: set_head(saved, torch.zeros(3, 5)),
    "a record of another version": lambda saved: saved["record"].update(more=1),
    "no history": lambda saved: saved["record"].pop("history"),
    "a class": lambda saved: saved["record"].update(best=np.float64(0.5)),
}


@pytest.mark.parametrize("engine", ["loop", "stacked"])
@pytest.mark.parametrize("change", [*CHANGES, "no file of torch"])
def test_a_checkpoint_that_does_not_fit_is_dropped_and_its_run_starts_again(engine, change):
    undisturbed = dict(train(STUDY, RUNS, engine=engine, device=CPU))
    kept = KeptFiles()
    train_until(20, STUDY, RUNS, engine=engine, device=CPU, files=kept)
    broken = next(iter(kept))
    whole = kept[broken]
    kept[broken] = as_saved(whole, CHANGES[change]) if change in CHANGES else b"no file of torch"
    assert dict(train(STUDY, RUNS, engine=engine, device=CPU, files=kept)) == undisturbed
    assert list(kept.dropped) == [broken]
    assert "\n" not in kept.dropped[broken]


def test_the_step_a_loss_was_lost_at_is_recorded_and_the_others_go_on():
    broken = Run(ARM.but(recipe=ARM.recipe.but(lr=1e30)), 1)
    found = dict(train(STUDY, [RUNS[0], broken, RUNS[1]], engine="stacked", device=CPU))
    assert 1 <= found[broken]["diverged_at"] < 10
    alone = dict(train(STUDY, RUNS[:2], engine="stacked", device=CPU))
    assert found[RUNS[0]] == alone[RUNS[0]]


def test_a_run_that_stops_early_leaves_and_keeps_its_best():
    recipe = ARM.recipe.but(patience=0, epochs=6)
    runs = [Run(ARM.but(recipe=recipe.but(lr=lr)), 1) for lr in (1e-3, 0.5)]

    class Watched:
        monitor = "stack_cosine"

        def __getattr__(self, name):
            return getattr(STUDY, name)

    found = dict(train(Watched(), runs, engine="stacked", device=CPU))
    for run in runs:
        history = found[run]["history"]["stack_cosine"]
        assert found[run]["measures"]["stack_cosine"] == min(history)
        assert found[run]["steps"] == 10 * len(history)
        best = history.index(min(history))
        assert len(history) == min(best + 2, 6)  # one measurement without a better value is enough
    assert min(values["steps"] for values in found.values()) < 60


@pytest.mark.parametrize(("least_gain", "measured"), [(0.0, 5), (0.1, 5), (0.3, 2)])
def test_a_gain_smaller_than_the_least_does_not_keep_a_run_going(least_gain, measured):
    recipe = ARM.recipe.but(patience=0, epochs=9, least_gain=least_gain)
    log = driver.RunLog(Run(ARM.but(recipe=recipe), 1))
    values = [2.0, 1.8, 1.6, 1.4, 1.5, 1.2]
    stops = [log.add({"x": value}, "x") for value in values].index(True)
    assert stops + 1 == measured
    assert log.best["x"] == min(values)


@pytest.mark.parametrize("engine", ["loop", "stacked"])
def test_runs_warm_up_each_over_its_own_steps(engine):
    runs = [Run(ARM.but(recipe=ARM.recipe.but(warmup=warmup)), 1) for warmup in (0, 10, 30)]
    together = dict(train(STUDY, runs, engine=engine, device=CPU))
    losses = [together[run]["history"]["loss"] for run in runs]
    assert losses[0] != losses[1] != losses[2]
    for run, loss in zip(runs, losses, strict=True):
        (alone,) = dict(train(STUDY, [run], engine="loop", device=CPU)).values()
        assert loss == pytest.approx(alone["history"]["loss"], rel=1e-4)


def test_gradient_norms_are_clipped_run_by_run():
    recipes = [ARM.recipe.but(clip=clip) for clip in (1e-3, None, 10.0)]
    runs = [Run(ARM.but(trained=2, recipe=recipe), 5) for recipe in recipes]
    together = dict(train(STUDY, runs, engine="stacked", device=CPU))
    for run in runs:
        (values,) = dict(train(STUDY, [run], engine="loop", device=CPU)).values()
        assert together[run]["history"]["loss"] == pytest.approx(
            values["history"]["loss"], rel=1e-3
        )


def test_a_batch_larger_than_the_data_is_refused_in_one_sentence():
    arm = ARM.but(recipe=ARM.recipe.but(batch=1000))
    with pytest.raises(ValueError, match="smaller batch"):
        list(train(STUDY, [Run(arm, 1)], engine="loop", device=CPU))


def test_streams_differ_by_name_and_by_seed_and_repeat():
    def draw(seed, name):
        return torch.rand(8, generator=stream(seed, name)).tolist()

    assert draw(1, "order/0") == draw(1, "order/0")
    assert len({tuple(draw(s, n)) for s in (1, 2, 11) for n in ("order/0", "order/1", "x")}) == 9


@pytest.mark.parametrize(("step", "factor"), [(0, 0.25), (3, 1.0), (4, 1.0), (12, 0.5), (20, 0.0)])
def test_schedule_warms_up_and_then_follows_the_cosine(step, factor):
    recipe = Recipe(epochs=1, batch=1, lr=1.0, schedule="cosine", warmup=4)
    assert recipe.lr_factor(step, 20) == pytest.approx(factor)


def test_settings_that_cannot_mean_anything_are_refused():
    for change in (
        {"epochs": -1},
        {"lr": 0.0},
        {"clip": -1.0},
        {"batch": 0},
        {"clip": ()},
        {"clip": ((1, 0.5),)},
        {"clip": ((0, 0.5), (0, 1.0))},
        {"clip": ((0, 0.0),)},
        {"least_gain": -0.1},
    ):
        with pytest.raises(ValueError, match="Recipe: "):
            dataclasses.replace(ARM.recipe, **change)
    with pytest.raises(ValueError, match="cannot be"):
        ARM.but(trained=3)
    with pytest.raises(TypeError, match="has no setting 'widht'"):
        ARM.but(widht=3)


@pytest.mark.parametrize("rule", ["bp", "fa", "dfa"])
@pytest.mark.parametrize("engine", ["loop", "stacked"])
def test_mixed_precision_is_near_float32_and_not_the_same(engine, rule):
    exact, mixed = (
        losses(ARM.but(rule=rule, recipe=ARM.recipe.but(precision=precision)), engine)
        for precision in ("float32", "bfloat16")
    )
    assert mixed != exact
    assert mixed == pytest.approx(exact, rel=2e-3)


def losses(arm, engine):
    ((_, values),) = train(STUDY, [Run(arm, 1)], engine=engine, device=CPU)
    return values["history"]["loss"]


def test_scaled_float16_is_near_float32_and_resumes_bit_for_bit(monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 4)
    run = Run(ARM.but(rule="bp", recipe=ARM.recipe.but(precision="float16")), 1)
    undisturbed = dict(train(STUDY, [run], engine="loop", device=CPU))
    assert undisturbed[run]["history"]["loss"] == pytest.approx(
        losses(ARM.but(rule="bp"), "loop"), rel=5e-3
    )
    kept = KeptFiles()
    train_until(12, STUDY, [run], engine="loop", device=CPU, files=kept)
    assert dict(train(STUDY, [run], engine="loop", device=CPU, files=kept)) == undisturbed


def test_a_step_that_overflows_float16_is_left_out_and_the_scale_is_halved():
    arm = ARM.but(rule="bp", recipe=ARM.recipe.but(precision="float16", clip=None))
    program = LoopProgram(STUDY, [Run(arm, 1)], STUDY.load(arm, CPU), CPU)
    before = program.states()[0]
    scale, start = float(before["loss_scale"][0]), before["parameter/head.weight"].clone()
    program.scaler.load_state_dict(program.scaler.state_dict() | {"scale": 1e38})
    batch = program.model.data.batch(program.model.data.epoch(1, 0)[None, :32])
    at = Moment(step=0, per_epoch=10, total=30)
    with torch.autocast("cpu", torch.float16):
        program.advance(batch, at)
    after = program.states()[0]
    assert torch.equal(after["parameter/head.weight"], start)
    assert float(after["loss_scale"][0]) == pytest.approx(0.5e38)
    program.scaler.load_state_dict(program.scaler.state_dict() | {"scale": scale})
    program.advance(batch, at)
    assert not torch.equal(program.states()[0]["parameter/head.weight"], start)


def test_float16_is_refused_where_the_loss_is_not_scaled():
    arm = ARM.but(recipe=ARM.recipe.but(precision="float16"))
    with pytest.raises(ValueError, match="scales its loss"):
        list(train(STUDY, [Run(arm, 1)], engine="stacked", device=CPU))
