"""Tests without a GPU of what the studies must do on one.

On a device that is not the CPU a training must do as on the CPU. A stacked step that is recorded
there once must, replayed, do as a step that is run anew, at any moment of its schedules.
"""

import pytest
import torch

from repro.arm import Run
from repro.core import program
from repro.core import train as driver
from repro.core.program import StackedProgram
from repro.core.replay import Replay
from repro.core.train import train
from repro.recipe import Moment
from repro.studies import study_of
from repro.studies.depth_ladder.arms import placed
from repro.studies.depth_ladder.study import STUDY as LADDER
from repro.studies.finetuning.arms import ROWS
from tests.core.tape import tape
from tests.own.modules import Small
from tests.own.modules import study as own_study
from tests.run_files import KeptFiles, train_until
from tests.studies import small

DEVICE = pytest.importorskip("tests.core.elsewhere", exc_type=ImportError).DEVICE
EPOCHS, PER_EPOCH, LEAVES = 4, 2, 5
STAGED = ((0, 0.05), (1, 0.1), (3, 1.0))


def in_few_steps(row):
    """A small arm of finetuning, with few steps: on this device each operation is slow."""
    arm = small.finetuning(row)
    return arm.but(recipe=arm.recipe.but(batch=64))


STACKS = {
    "ladder, bp": small.LADDER,
    "ladder, fa": small.LADDER.but(rule="fa", trained=1),
    "ladder, dfa": small.LADDER.but(rule="dfa", embedding="frozen"),
    "ladder, first block": placed(small.LADDER.but(rule="dfa", trained=1), "input"),
    "early exit": small.EXIT.but(alpha_path="linear"),
    "context": small.CONTEXT.but(dropout=0.1),
    "context, residual": small.CONTEXT.but(stack="residual"),
    "context, normalised": small.CONTEXT.but(stack="normalised"),
    "finetuning, last block": in_few_steps(ROWS[1]),
    "finetuning, last layer": in_few_steps(ROWS[3]),
    "finetuning, words": in_few_steps(ROWS[1]).but(attends_padding=False, token="mean"),
    "own module": Small(kind="attention without dropout"),
}
LOOPS = STACKS | {
    "finetuning, adapters": in_few_steps(ROWS[9]),
    "sharing": small.SHARING,
    "sharing, encoder": small.SHARING.but(kind="encoder"),
    "linear classifier": small.LINEAR,
    "own module, with buffers": Small(kind="batch norm"),
}


def each_group(table):
    """A case for each study, of which those that take long are thorough."""
    groups = {}
    for name in table:
        groups.setdefault(name.partition(",")[0], []).append(name)
    cases = [pytest.param(n, id=g, marks=pytest.mark.thorough) for g, n in groups.items()]
    return pytest.mark.parametrize("names", [pytest.param(["ladder, fa"], id="fa"), *cases])


def trained(runs, engine, device, study=None):
    study = study or study_of(runs[0].arm)
    return dict(train(study, runs, engine=engine, device=device, files=small.base()))


def same(there, expected):
    """Assert that runs went alike, but not to the bit: attention has other kernels there."""
    assert there.keys() == expected.keys()
    for run, values in expected.items():
        assert there[run]["history"]["loss"] == pytest.approx(values["history"]["loss"], rel=5e-3)
        assert there[run]["measures"].keys() == values["measures"].keys()


def assert_trains_there_as_here(names, engine, seeds):
    for arm in (LOOPS[name] for name in names):
        runs = [Run(arm.but(recipe=arm.recipe.but(epochs=1)), seed) for seed in seeds]
        same(trained(runs, engine, DEVICE), trained(runs, engine, small.CPU))


@each_group(STACKS)
def test_stacks_train_there_as_here(names):
    assert_trains_there_as_here(names, "stacked", (0, 1))


@each_group(LOOPS)
def test_single_runs_train_there_as_here(names):
    assert_trains_there_as_here(names, "loop", (3,))


def test_a_measure_that_stays_on_the_cpu_is_told_where_to_go():
    def stays(module, arm):
        return {"error": module(torch.ones(2, 6)).sum()}

    with pytest.raises(ValueError, match=r"tensors that are not on elsewhere:0, .*with x\.to\("):
        trained([Run(Small(), 1)], "loop", DEVICE, own_study(measure=stays))


def three_runs(arm):
    """Runs whose rates, warm-up and limits differ and change from step to step."""
    recipe = arm.recipe.but(epochs=EPOCHS, schedule="cosine")
    recipes = [recipe.but(clip=STAGED), recipe.but(warmup=5, lr=2e-3), recipe.but(clip=0.1)]
    return [Run(arm.but(recipe=recipe), seed) for seed, recipe in enumerate(recipes)]


@pytest.mark.parametrize("engine", [pytest.param("loop", marks=pytest.mark.thorough), "stacked"])
def test_a_training_is_resumed_there_to_the_bit(engine, monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 4)
    runs, kept = [Run(small.LADDER, seed) for seed in range(2)], KeptFiles()
    train_until(4, LADDER, runs, engine=engine, device=DEVICE, files=kept)
    resumed = dict(train(LADDER, runs, engine=engine, device=DEVICE, files=kept))
    assert resumed == trained(runs, engine, DEVICE)


def stepped(arm):
    """A program on the device after some steps, the last with a row less; and its losses."""
    data = small.loaded(arm, DEVICE)
    stack, losses = StackedProgram(study_of(arm), three_runs(arm), data, DEVICE), []
    total = EPOCHS * PER_EPOCH
    for step in range(total):
        if step == LEAVES:
            stack.keep([0, 2])
        lines = [data.epoch(run.seed, step // PER_EPOCH)[: arm.recipe.batch] for run in stack.runs]
        batch = data.batch(torch.stack(lines).to(DEVICE))
        losses.append(stack.advance(batch, Moment(step=step, per_epoch=PER_EPOCH, total=total)))
    return stack, losses


@each_group(STACKS)
def test_replayed_steps_are_the_steps(names, monkeypatch):
    for arm in (STACKS[name] for name in names):
        with monkeypatch.context() as patched:
            expected, losses = stepped(arm)
            patched.setattr(program, "replay_on", lambda _: Replay(tape))
            replayed, replayed_losses = stepped(arm)
        assert replayed.replay.replay is not None
        for one, other in zip(losses, replayed_losses, strict=True):
            assert torch.equal(one.cpu(), other.cpu())
        for one, other in zip(expected.states(), replayed.states(), strict=True):
            assert all(torch.equal(one[name].cpu(), other[name].cpu()) for name in one)
