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
from repro.core.weights import load_data, to_file
from repro.recipe import Moment
from repro.studies.context_vector.study import STUDY as CONTEXT
from repro.studies.depth_ladder.linear import STUDY as LINEAR
from repro.studies.depth_ladder.placed import STUDY as PLACED
from repro.studies.depth_ladder.study import STUDY as LADDER
from repro.studies.depth_ladder.variants import placed
from repro.studies.early_exit.arms import STANDARD, ExitArm
from repro.studies.early_exit.study import STUDY as EXIT
from repro.studies.finetuning.arms import ROWS
from repro.studies.finetuning.gpt import Gpt
from repro.studies.finetuning.study import STUDY as FINETUNING
from repro.studies.parameter_sharing.partial_study import STUDY as PARTIAL
from repro.studies.parameter_sharing.study import STUDY as SHARING
from tests.core.tape import tape
from tests.own.modules import STUDY as MODULES
from tests.own.modules import Small
from tests.own.modules import study as own_study
from tests.run_files import KeptFiles, train_until
from tests.studies import small

DEVICE = pytest.importorskip("tests.core.elsewhere", exc_type=ImportError).DEVICE
CPU = torch.device("cpu")
EPOCHS, PER_EPOCH, LEAVES = 4, 2, 5
STAGED = ((0, 0.05), (1, 0.1), (3, 1.0))
EXIT_ARM = ExitArm(
    layer_weights=(0.5, 0.0, 0.5), width=16, heads=2, hidden=16, data="wikitext-2-twin",
    characters=2_000, alpha_path="linear", recipe=STANDARD.recipe.but(batch=2),
)  # fmt: skip


def in_few_steps(row):
    """A small arm of finetuning, with few steps: on this device each operation is slow."""
    arm = small.finetuning(row)
    return arm.but(recipe=arm.recipe.but(batch=64))


STACKS = {
    "ladder, bp": (LADDER, small.LADDER),
    "ladder, fa": (LADDER, small.LADDER.but(rule="fa", trained=1)),
    "ladder, dfa": (LADDER, small.LADDER.but(rule="dfa", embedding="frozen")),
    "ladder, first block": (PLACED, placed(small.LADDER.but(rule="dfa", trained=1), "input")),
    "early exit": (EXIT, EXIT_ARM),
    "context": (CONTEXT, small.CONTEXT.but(dropout=0.1)),
    "context, residual": (CONTEXT, small.CONTEXT.but(stack="residual")),
    "context, normalised": (CONTEXT, small.CONTEXT.but(stack="normalised")),
    "finetuning, last block": (FINETUNING, in_few_steps(ROWS[1])),
    "finetuning, last layer": (FINETUNING, in_few_steps(ROWS[3])),
    "finetuning, words": (
        FINETUNING,
        in_few_steps(ROWS[1]).but(attends_padding=False, token="mean"),
    ),
    "own module": (MODULES, Small(kind="attention without dropout")),
}
LOOPS = STACKS | {
    "finetuning, adapters": (FINETUNING, in_few_steps(ROWS[9])),
    "sharing": (SHARING, small.SHARING),
    "sharing, encoder": (SHARING, small.SHARING.but(kind="encoder")),
    "sharing, halting": (SHARING, small.SHARING.but(halting=True, sets=1)),
    "sharing, compressed": (SHARING, small.SHARING.but(kind="encoder", compressed=8)),
    "sharing, pruned": (SHARING, small.SHARING.but(pruned=0.5)),
    "sharing, a part": (PARTIAL, small.PARTIAL),
    "linear classifier": (LINEAR, small.LINEAR),
    "own module, with buffers": (MODULES, Small(kind="batch norm")),
}


def each_group(table):
    """A case for each study, of which those that take long are thorough."""
    groups = {}
    for name in table:
        groups.setdefault(name.partition(",")[0], []).append(name)
    cases = [pytest.param(n, id=g, marks=pytest.mark.thorough) for g, n in groups.items()]
    return pytest.mark.parametrize("names", [pytest.param(["ladder, fa"], id="fa"), *cases])


def pretrained(run):
    """Return the weights of an untrained GPT: its answers do not matter here."""
    torch.manual_seed(5)
    return to_file(dict(Gpt(small.GPT, vocabulary=1024).named_parameters()))


def trained(study, runs, engine, device):
    return dict(train(study, runs, engine=engine, device=device, files=KeptFiles(pretrained)))


def same(there, expected):
    """Assert that runs went alike, but not to the bit: attention has other kernels there."""
    assert there.keys() == expected.keys()
    for run, values in expected.items():
        assert there[run]["history"]["loss"] == pytest.approx(values["history"]["loss"], rel=5e-3)
        assert there[run]["measures"].keys() == values["measures"].keys()


def assert_trains_there_as_here(names, engine, seeds):
    for study, arm in (LOOPS[name] for name in names):
        runs = [Run(arm.but(recipe=arm.recipe.but(epochs=1)), seed) for seed in seeds]
        same(trained(study, runs, engine, DEVICE), trained(study, runs, engine, CPU))


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
        trained(own_study(measure=stays), [Run(Small(), 1)], "loop", DEVICE)


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
    assert resumed == trained(LADDER, runs, engine, DEVICE)


def stepped(study, arm):
    """A program on the device after some steps, the last with a row less; and its losses."""
    data = load_data(study, arm, DEVICE, KeptFiles(pretrained))
    stack, losses = StackedProgram(study, three_runs(arm), data, DEVICE), []
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
    for study, arm in (STACKS[name] for name in names):
        with monkeypatch.context() as patched:
            expected, losses = stepped(study, arm)
            patched.setattr(program, "replay_on", lambda _: Replay(tape))
            replayed, replayed_losses = stepped(study, arm)
        assert replayed.replay.replay is not None
        for one, other in zip(losses, replayed_losses, strict=True):
            assert torch.equal(one.cpu(), other.cpu())
        for one, other in zip(expected.states(), replayed.states(), strict=True):
            assert all(torch.equal(one[name].cpu(), other[name].cpu()) for name in one)
