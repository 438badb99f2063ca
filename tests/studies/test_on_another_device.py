"""What a GPU asks of the studies, asked without one.

On a device that is not the CPU a training must do what it does on the CPU; and a stacked step that
is recorded there once must, replayed, do what it would do anew, whatever its schedules are at.
"""

import pytest
import torch

from repro.arm import Run
from repro.core import program
from repro.core import train as driver
from repro.core.program import StackedProgram
from repro.core.replay import ReplayedStep
from repro.core.train import train
from repro.core.weights import load_data, to_file
from repro.recipe import Moment
from repro.studies.context_vector.study import STUDY as CONTEXT
from repro.studies.depth_ladder.study import STUDY as LADDER
from repro.studies.early_exit.arms import STANDARD, ExitArm
from repro.studies.early_exit.study import STUDY as EXIT
from repro.studies.finetuning.arms import ROWS
from repro.studies.finetuning.gpt import Gpt
from repro.studies.finetuning.study import STUDY as FINETUNING
from repro.studies.parameter_sharing.study import STUDY as SHARING
from tests.core.tape import tape
from tests.core.test_core_program import ARM as LADDER_ARM
from tests.core.test_core_training import Interrupted, Kept, stop_at
from tests.own.modules import STUDY as MODULES
from tests.own.modules import Small
from tests.studies.test_context_vector import SMALL as CONTEXT_ARM
from tests.studies.test_finetuning import TINY, small
from tests.studies.test_sharing_study import SMALL as SHARING_ARM

DEVICE = pytest.importorskip("tests.core.elsewhere", exc_type=ImportError).DEVICE
CPU = torch.device("cpu")
EPOCHS, PER_EPOCH, LEAVES = 4, 2, 5
STAGED = ((0, 0.05), (1, 0.1), (3, 1.0))
EXIT_ARM = ExitArm(
    layer_weights=(0.5, 0.0, 0.5), width=16, heads=2, hidden=16, data="wikitext-2-twin",
    characters=2_000, alpha_path="linear", recipe=STANDARD.recipe.but(batch=2),
)  # fmt: skip


def in_few_steps(row):
    """A small arm of finetuning; here each operation costs far more than what it computes."""
    arm = small(row)
    return arm.but(recipe=arm.recipe.but(batch=64))


STACKS = {
    "ladder, bp": (LADDER, LADDER_ARM),
    "ladder, fa": (LADDER, LADDER_ARM.but(rule="fa", trained=1)),
    "ladder, dfa": (LADDER, LADDER_ARM.but(rule="dfa", embedding="frozen")),
    "early exit": (EXIT, EXIT_ARM),
    "context": (CONTEXT, CONTEXT_ARM.but(dropout=0.1)),
    "context, residual": (CONTEXT, CONTEXT_ARM.but(stack="residual")),
    "context, normalised": (CONTEXT, CONTEXT_ARM.but(stack="normalised")),
    "finetuning, last block": (FINETUNING, in_few_steps(ROWS[1])),
    "finetuning, last layer": (FINETUNING, in_few_steps(ROWS[3])),
    "finetuning, words": (
        FINETUNING,
        in_few_steps(ROWS[1]).but(attends_padding=False, token="mean"),
    ),
    "own module": (MODULES, Small(kind="attention")),
}
LOOPS = STACKS | {
    "finetuning, adapters": (FINETUNING, in_few_steps(ROWS[9])),
    "sharing": (SHARING, SHARING_ARM),
    "sharing, encoder": (SHARING, SHARING_ARM.but(kind="encoder")),
    "sharing, halting": (SHARING, SHARING_ARM.but(halting=True, sets=1)),
    "sharing, compressed": (SHARING, SHARING_ARM.but(kind="encoder", compressed=8)),
    "sharing, pruned": (SHARING, SHARING_ARM.but(pruned=0.5)),
    "own module, with buffers": (MODULES, Small(kind="batch norm")),
}


class Pretrained:
    """The weights of a run: the smallest GPT's as they come, since nobody asks what it answers."""

    def load(self, run):
        torch.manual_seed(5)
        return to_file(dict(Gpt(TINY, vocabulary=1024).named_parameters()))


def trained(study, runs, engine, device):
    return dict(train(study, runs, engine=engine, device=device, weights=Pretrained()))


def same(there, expected):
    """Whether runs went alike; attention has other kernels on other devices, so not to the bit."""
    assert there.keys() == expected.keys()
    for run, values in expected.items():
        assert there[run]["history"]["loss"] == pytest.approx(values["history"]["loss"], rel=5e-3)
        assert there[run]["measures"].keys() == values["measures"].keys()


@pytest.mark.parametrize(("study", "arm"), STACKS.values(), ids=STACKS)
def test_stacks_train_there_as_here(study, arm):
    runs = [Run(arm.but(recipe=arm.recipe.but(epochs=1)), seed) for seed in range(2)]
    same(trained(study, runs, "stacked", DEVICE), trained(study, runs, "stacked", CPU))


@pytest.mark.parametrize(("study", "arm"), LOOPS.values(), ids=LOOPS)
def test_single_runs_train_there_as_here(study, arm):
    runs = [Run(arm.but(recipe=arm.recipe.but(epochs=1)), 3)]
    same(trained(study, runs, "loop", DEVICE), trained(study, runs, "loop", CPU))


def three_runs(arm):
    """Runs whose rates, warm-up and limits differ and change from step to step."""
    recipe = arm.recipe.but(epochs=EPOCHS, schedule="cosine")
    recipes = [recipe.but(clip=STAGED), recipe.but(warmup=5, lr=2e-3), recipe.but(clip=0.1)]
    return [Run(arm.but(recipe=recipe), seed) for seed, recipe in enumerate(recipes)]


@pytest.mark.parametrize("engine", ["loop", "stacked"])
def test_a_training_is_resumed_there_to_the_bit(engine, monkeypatch):
    monkeypatch.setattr(driver, "CHECK_STEPS", 4)
    runs, kept = [Run(LADDER_ARM, seed) for seed in range(2)], Kept()
    with pytest.raises(Interrupted):
        list(train(LADDER, runs, engine=engine, device=DEVICE, checkpoints=kept, save_seconds=-1,
                   beat=stop_at(4)))  # fmt: skip
    assert kept
    resumed = dict(train(LADDER, runs, engine=engine, device=DEVICE, checkpoints=kept))
    assert resumed == trained(LADDER, runs, engine, DEVICE)


def stepped(study, arm):
    """A program on the device after some steps, the last with a row less; and its losses."""
    data = load_data(study, arm, DEVICE, Pretrained())
    stack, losses = StackedProgram(study, three_runs(arm), data, DEVICE), []
    total = EPOCHS * PER_EPOCH
    for step in range(total):
        if step == LEAVES:
            stack.keep([0, 2])
        lines = [data.epoch(run.seed, step // PER_EPOCH)[: arm.recipe.batch] for run in stack.runs]
        batch = data.batch(torch.stack(lines).to(DEVICE))
        losses.append(stack.advance(batch, Moment(step=step, per_epoch=PER_EPOCH, total=total)))
    return stack, losses


@pytest.mark.parametrize(("study", "arm"), STACKS.values(), ids=STACKS)
def test_replayed_steps_are_the_steps(study, arm, monkeypatch):
    expected, losses = stepped(study, arm)
    monkeypatch.setattr(program, "replayed", lambda step, _: ReplayedStep(step, tape))
    replayed, replayed_losses = stepped(study, arm)
    assert replayed.step.replay is not None
    for one, other in zip(losses, replayed_losses, strict=True):
        assert torch.equal(one.cpu(), other.cpu())
    for one, other in zip(expected.states(), replayed.states(), strict=True):
        assert all(torch.equal(one[name].cpu(), other[name].cpu()) for name in one)
