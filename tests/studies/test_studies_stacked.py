"""Runs that are trained as one are what each of them is alone, in every study that stacks."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram, StackedProgram, parameters_of
from repro.studies import study_of
from repro.studies.depth_ladder.arms import by_local_losses, placed, without_blocks
from repro.studies.finetuning.arms import FIRST_ROW
from tests.studies.small import (
    CONTEXT,
    EXIT,
    FROZEN,
    LADDER,
    any_frozen,
    assert_same,
    finetuning,
    ladders,
    started,
    stepped,
)

PLACES = st.sampled_from(["input", "middle"])


def each_its_own(arm, **settings):
    """Lists of runs of one program, with recipes and some settings of their own."""
    recipes = st.builds(
        arm.recipe.but,
        lr=st.sampled_from([1e-4, 1e-3]),
        clip=st.sampled_from([None, 0.1, ((0, 0.1), (1, 1.0))]),
        warmup=st.sampled_from([0, 3]),
    )
    arms = st.lists(st.builds(arm.but, recipe=recipes, **settings), min_size=2, max_size=4)
    return arms.map(lambda arms: [Run(arm, seed) for seed, arm in enumerate(arms)])


def of_some_blocks(arm):
    return each_its_own(arm, trained=st.integers(0, arm.depth))


def exits(layers):
    """Early exits of so many layers, each with weights, rates and an alpha of its own."""
    numbers = st.tuples(*[st.sampled_from([0.0, 0.1, 0.5, 1.0])] * layers)
    arms = st.builds(
        EXIT.but,
        layer_weights=st.just((1.0,) * layers),
        heads=st.sampled_from([1, 2, 4]),
        hidden=st.sampled_from([16, 32]),
        recipe=st.builds(EXIT.recipe.but, batch=st.integers(1, 2)),
    )
    return arms.flatmap(
        lambda arm: each_its_own(
            arm,
            layer_weights=numbers.filter(sum),
            layer_lr_scales=st.none() | numbers,
            alpha_path=st.sampled_from(["fixed", "linear", "cosine"]),
        )
    )


def finetuned(settings):
    return each_its_own(finetuning(FIRST_ROW, longest=20, **settings))


STACKS = {
    "ladder": ladders().flatmap(of_some_blocks),
    "ladder, other blocks": st.builds(placed, ladders(), PLACES).flatmap(of_some_blocks),
    "ladder, local losses": ladders(rule="bp").map(by_local_losses).flatmap(of_some_blocks),
    "ladder, no blocks": each_its_own(without_blocks(LADDER)),
    "early exit": st.integers(1, 3).flatmap(exits),
    "context": st.builds(
        CONTEXT.but,
        layers=st.integers(1, 4),
        context=st.sampled_from([16, 32]),
        stack=st.sampled_from(["plain", "residual", "normalised"]),
        dropout=st.sampled_from([0.0, 0.1, 0.5]),
    ).flatmap(lambda arm: each_its_own(arm, initialisation=st.sampled_from(["small", "he"]))),
    "finetuning": st.sampled_from(FROZEN).flatmap(finetuned),
    "finetuning, any": any_frozen.flatmap(finetuned),
}
each_study = pytest.mark.parametrize(
    "stacks",
    [
        pytest.param(runs, id=name, marks=pytest.mark.thorough if "any" in name else ())
        for name, runs in STACKS.items()
    ],
)
fewer = settings(max_examples=settings.default.max_examples // 2)


@each_study
@fewer
@given(data=st.data())
def test_stacked_runs_are_what_they_are_in_the_loop(stacks, data):
    """Moments are sums of gradients; a step of Adam would make much of their rounding."""
    runs = data.draw(stacks)
    stack, examples = started(StackedProgram, runs)
    losses = stepped(stack, examples)
    for row, (run, state) in enumerate(zip(runs, stack.states(), strict=True)):
        alone, _ = started(LoopProgram, [run])
        torch.testing.assert_close(
            losses[:, row], stepped(alone, examples)[:, 0], rtol=1e-3, atol=1e-4
        )
        expected = alone.states()[0]
        for name in (n for n in expected if n.startswith("exp_avg/")):
            torch.testing.assert_close(state[name], expected[name], rtol=1e-3, atol=1e-6)


@each_study
@fewer
@given(data=st.data())
def test_each_run_of_a_stack_is_measured_as_it_is_alone(stacks, data):
    runs = data.draw(stacks)
    stack, examples = started(StackedProgram, runs)
    stepped(stack, examples)
    for run, state, measures in zip(runs, stack.states(), stack.measure(), strict=True):
        alone = study_of(run.arm).reference(run, examples, torch.device("cpu"))
        alone.module.load_state_dict(parameters_of(state))
        with torch.no_grad():
            expected = alone.measure()
        assert measures.keys() == expected.keys()
        for name in expected:
            assert measures[name] == pytest.approx(expected[name], rel=1e-4, abs=1e-5), name


@each_study
@fewer
@given(data=st.data())
def test_the_bits_of_a_run_do_not_depend_on_its_company(stacks, data):
    """Neither on who is there at first, nor on who leaves."""
    runs = data.draw(stacks)
    some = sorted(data.draw(st.sets(st.sampled_from(range(len(runs))), min_size=1)))
    everyone, examples = started(StackedProgram, runs)
    few, _ = started(StackedProgram, [runs[row] for row in some])
    for program in (everyone, few):
        stepped(program, examples)
    everyone.keep(some)
    for program in (everyone, few):
        stepped(program, examples)
    for ours, theirs in zip(few.states(), everyone.states(), strict=True):
        assert_same(ours, theirs)
    assert few.measure() == everyone.measure()
