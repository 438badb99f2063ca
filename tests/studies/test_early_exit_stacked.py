"""The stacked form of early exit agrees with the plain one, and no run depends on its company."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram, StackedProgram
from repro.recipe import Moment
from repro.studies.early_exit.arms import STANDARD, ExitArm
from repro.studies.early_exit.study import STUDY
from tests.studies.small import assert_same

CPU = torch.device("cpu")


@st.composite
def runs_of_one_program(draw):
    """Runs whose layers' weights and rates, learning rates and clips differ."""
    layers, heads = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 4]))
    numbers = st.sampled_from([0.0, 0.1, 0.5, 1.0])
    arm = ExitArm(
        layer_weights=(1.0,) * layers,
        width=16,
        heads=heads,
        hidden=draw(st.sampled_from([16, 32])),
        data="wikitext-2-twin",
        characters=2_000,
        recipe=STANDARD.recipe.but(batch=draw(st.integers(1, 2))),
    )
    runs = []
    for seed in range(draw(st.integers(2, 3))):
        recipe = arm.recipe.but(
            lr=draw(st.sampled_from([1e-3, 3e-3])), clip=draw(st.sampled_from([None, 0.1, 1.0]))
        )
        weights = draw(st.tuples(*[numbers] * layers).filter(sum))
        scales = draw(st.none() | st.tuples(*[numbers] * layers))
        path = draw(st.sampled_from(["fixed", "linear", "cosine"]))
        runs.append(
            Run(
                arm.but(
                    layer_weights=weights, layer_lr_scales=scales, alpha_path=path, recipe=recipe
                ),
                seed,
            )
        )
    return runs


def started(kind, runs):
    data = STUDY.load(runs[0].arm, CPU)
    return kind(STUDY, runs, data, CPU), data


def stepped(program, data, count):
    """The losses [steps, R] of some steps, each in an epoch of its own."""
    losses, size = [], program.runs[0].arm.recipe.batch
    for step in range(count):
        lines = torch.stack([data.epoch(run.seed, step) for run in program.runs])
        batch = data.batch(lines[:, step * size : (step + 1) * size])
        losses.append(program.advance(batch, Moment(step=step, per_epoch=1, total=count)))
    return torch.stack(losses)


@settings(max_examples=4)  # each trains a stack and all of its runs
@given(runs=runs_of_one_program())
def test_stacked_runs_are_what_they_are_alone_in_the_loop(runs):
    stack, data = started(StackedProgram, runs)
    losses = stepped(stack, data, 2)
    measured = stack.measure()
    for row, (run, state) in enumerate(zip(runs, stack.states(), strict=True)):
        alone, data = started(LoopProgram, [run])
        expected = stepped(alone, data, 2)[:, 0]
        torch.testing.assert_close(losses[:, row], expected, rtol=1e-4, atol=1e-5)
        (plain,), (expected,) = alone.states(), alone.measure()
        for name in ("perplexity", "compute"):
            assert measured[row][name] == pytest.approx(expected[name], rel=5e-3)
        for name, parameter in plain.items():
            if name.startswith("parameter/"):
                torch.testing.assert_close(state[name], parameter, rtol=2e-3, atol=2e-4)


@given(runs=runs_of_one_program(), order=st.randoms(use_true_random=False))
def test_the_bits_of_a_run_do_not_depend_on_its_company(runs, order):
    shuffled = list(runs)
    order.shuffle(shuffled)
    everyone, data = started(StackedProgram, runs)
    others, _ = started(StackedProgram, shuffled[: max(1, len(runs) - 1)])
    for program in (everyone, others):
        stepped(program, data, 2)
    first = dict(zip(everyone.runs, everyone.states(), strict=True))
    for run, state in zip(others.runs, others.states(), strict=True):
        assert_same(state, first[run])
