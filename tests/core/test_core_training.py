"""The driver: interruption, divergence and early stopping leave other runs as they would be."""

import io
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from repro.arm import Run
from repro.core import train as driver
from repro.core.program import LoopProgram, StackedProgram
from repro.core.train import train
from repro.studies.depth_ladder.study import STUDY
from tests.run_files import KeptFiles, train_until
from tests.studies.small import CPU, LADDER, changed, model, started, stepped

ARM = LADDER.but(
    rule="fa", trained=1, images=160,
    recipe=LADDER.recipe.but(epochs=3, weight_decay=0.01, schedule="cosine"),
)  # fmt: skip
AN_EPOCH = 5
RUNS = [Run(ARM.but(trained=k), seed) for k, seed in ((2, 1), (1, 2), (0, 1))]
each_engine = pytest.mark.parametrize("engine", ["loop", "stacked"])
thorough_alone = pytest.mark.parametrize(
    "engine", [pytest.param("loop", marks=pytest.mark.thorough), "stacked"]
)


def trained(runs, engine="loop", study=STUDY, **files):
    return dict(train(study, runs, engine=engine, device=CPU, **files))


def losses(arm, engine, seed=1):
    return trained([Run(arm, seed)], engine)[Run(arm, seed)]["history"]["loss"]


def loss_by_hand(run):
    """The mean loss of the batches of one epoch: a plain loop."""
    recipe, one = run.arm.recipe, model(run.arm, run.seed)
    trained = [p for p in one.module.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.lr, weight_decay=recipe.weight_decay)
    lines, losses = one.data.epoch(run.seed, 0), []
    for first in range(0, len(lines) - recipe.batch + 1, recipe.batch):
        x, y = one.data.batch(lines[None, first : first + recipe.batch])
        loss = F.cross_entropy(one.module(x[0]), y[0])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@each_engine
def test_the_training_loss_is_the_mean_over_the_batches_of_an_epoch(engine):
    recipe = ARM.recipe.but(epochs=1, schedule="constant")
    for images in (160, 150):  # five whole batches; four, and a part left out
        arm = ARM.but(rule="bp", trained=2, images=images, recipe=recipe)
        assert losses(arm, engine, 3) == pytest.approx([loss_by_hand(Run(arm, 3))], rel=1e-5)


@each_engine
def test_resumed_training_is_bit_for_bit_the_undisturbed_one(engine, monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 2)
    undisturbed, kept = trained(RUNS, engine), KeptFiles()
    for step in (4, 8, 12):
        train_until(step, STUDY, RUNS, engine=engine, device=CPU, files=kept)
    assert trained(RUNS, engine, files=kept) == undisturbed
    assert not kept.dropped


def measuring(**measures):
    """The study with these measures in place of its own."""

    def reference(*given):
        model = STUDY.reference(*given)
        model.measure = lambda: dict(measures)
        return model

    return changed(STUDY, reference=reference)


MEASURED = [
    np.float64(0.5), np.float32(0.5), np.array(0.5), torch.tensor(0.5), np.int64(3), 2, True,
    np.array([0.5, 1.5]), torch.tensor([[1, 2], [3, 4]]), [np.float32(0.5)], (1.0, 2.0), None,
]  # fmt: skip


def test_training_goes_on_from_measures_of_whatever_library():
    given = {f"of {type(value).__name__} {n}": value for n, value in enumerate(MEASURED)}
    study, run, kept = measuring(**given), Run(ARM, 1), KeptFiles()
    train_until(2 * AN_EPOCH, study, [run], engine="loop", device=CPU, files=kept)
    values = trained([run], study=study, files=kept)[run]
    assert kept.dropped == {}
    for name, value in given.items():
        first, *rest = values["history"][name]
        assert np.array_equal(first, value), name
        assert rest == [first] * 2, name
    assert json.loads(json.dumps(values)) == values


def test_a_measure_that_is_no_number_is_refused_in_one_sentence():
    for value in ("0.5", {"a": 1.0}, [0.5, "x"], 1j):
        with pytest.raises(TypeError, match=r"the measure 'own' is .*; give a number, or a list"):
            trained([Run(ARM, 1)], study=measuring(own=value))


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


@thorough_alone
def test_a_checkpoint_that_does_not_fit_is_dropped_and_its_run_starts_again(engine):
    small = ARM.but(images=64, recipe=ARM.recipe.but(epochs=2))
    runs, saved = [Run(small, 1), Run(small.but(trained=0), 2)], KeptFiles()
    undisturbed = trained(runs, engine)
    train_until(2, STUDY, runs, engine=engine, device=CPU, files=saved)
    broken, whole = next(iter(saved.items()))
    contents = {name: as_saved(whole, change) for name, change in CHANGES.items()}
    for name, content in {**contents, "no file of torch": b"no file of torch"}.items():
        kept = KeptFiles()
        kept.update(saved | {broken: content})
        assert trained(runs, engine, files=kept) == undisturbed, name
        assert list(kept.dropped) == [broken], name
        assert "\n" not in kept.dropped[broken]


def test_the_step_a_loss_was_lost_at_is_recorded_and_the_others_go_on():
    broken = Run(ARM.but(recipe=ARM.recipe.but(lr=1e30)), 1)
    found = trained([RUNS[0], broken, RUNS[1]], "stacked")
    assert 1 <= found[broken]["diverged_at"] < 10
    assert found[RUNS[0]] == trained(RUNS[:2], "stacked")[RUNS[0]]


def test_a_run_that_stops_early_leaves_and_keeps_its_best():
    recipe = ARM.recipe.but(patience=0, epochs=6)
    runs = [Run(ARM.but(recipe=recipe.but(lr=lr)), 1) for lr in (1e-3, 0.5)]
    found = trained(runs, "stacked", changed(STUDY, monitor="stack_cosine"))
    for run in runs:
        history = found[run]["history"]["stack_cosine"]
        assert found[run]["measures"]["stack_cosine"] == min(history)
        assert found[run]["steps"] == AN_EPOCH * len(history)
        best = history.index(min(history))
        assert len(history) == min(best + 2, 6)  # one measurement without a better value is enough
    assert min(values["steps"] for values in found.values()) < 6 * AN_EPOCH


def test_a_batch_larger_than_the_data_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="smaller batch"):
        losses(ARM.but(recipe=ARM.recipe.but(batch=1000)), "loop")


@thorough_alone
def test_mixed_precision_is_near_float32_and_not_the_same(engine):
    for rule in ("bp", "fa", "dfa"):
        exact, mixed = (
            losses(ARM.but(rule=rule, recipe=ARM.recipe.but(precision=precision)), engine)
            for precision in ("float32", "bfloat16")
        )
        assert mixed != exact
        assert mixed == pytest.approx(exact, rel=2e-3), rule


FLOAT16 = ARM.but(rule="bp", recipe=ARM.recipe.but(precision="float16"))


def test_scaled_float16_is_near_float32_and_resumes_bit_for_bit(monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 4)
    run, kept = Run(FLOAT16, 1), KeptFiles()
    undisturbed = trained([run])
    expected = losses(ARM.but(rule="bp"), "loop")
    assert undisturbed[run]["history"]["loss"] == pytest.approx(expected, rel=5e-3)
    train_until(8, STUDY, [run], engine="loop", device=CPU, files=kept)
    assert trained([run], files=kept) == undisturbed


def test_a_step_that_overflows_float16_is_left_out_and_the_scale_is_halved():
    arm = FLOAT16.but(recipe=FLOAT16.recipe.but(clip=None))
    program, data = started(LoopProgram, [Run(arm, 1)])
    before = program.states()[0]
    scale, start = float(before["loss_scale"][0]), before["parameter/head.weight"].clone()
    program.scaler.load_state_dict(program.scaler.state_dict() | {"scale": 1e38})
    with torch.autocast("cpu", torch.float16):
        stepped(program, data, 1)
    after = program.states()[0]
    assert torch.equal(after["parameter/head.weight"], start)
    assert float(after["loss_scale"][0]) == pytest.approx(0.5e38)
    program.scaler.load_state_dict(program.scaler.state_dict() | {"scale": scale})
    stepped(program, data, 1)
    assert not torch.equal(program.states()[0]["parameter/head.weight"], start)


def test_float16_is_refused_where_the_loss_is_not_scaled():
    with pytest.raises(ValueError, match="scales its loss"):
        losses(FLOAT16, "stacked")


LIMITS = (1e-3, None, 0.05, 1000)


def norms_at_the_optimiser(program_type, runs):
    """The norm of each run's whole gradient, as its optimiser sees it."""
    program, data = started(program_type, runs)
    seen = {}

    def look(gradients=None, at=None):
        seen.update(gradients or {n: p.grad[None].clone() for n, p in program.trained.items()})

    program.optimiser.step = look
    stepped(program, data, 1)
    return sum(g.flatten(1).square().sum(1) for g in seen.values()).sqrt()


def test_each_run_is_clipped_by_its_own_norm_and_limit():
    runs = [
        Run(LADDER.but(recipe=LADDER.recipe.but(clip=limit)), seed)
        for seed, limit in enumerate(LIMITS)
    ]
    together = norms_at_the_optimiser(StackedProgram, runs)
    alone = torch.cat([norms_at_the_optimiser(LoopProgram, [run]) for run in runs])
    free = norms_at_the_optimiser(StackedProgram, [Run(LADDER, run.seed) for run in runs])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=0.0)
    for norm, limit, whole in zip(together.tolist(), LIMITS, free.tolist(), strict=True):
        assert norm == pytest.approx(min(whole, limit or whole), rel=1e-4)
    assert free.min() > 0.05
