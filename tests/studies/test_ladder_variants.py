"""Ladders with other blocks or local losses, their start, and linear classifiers of the images."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram, StackedProgram
from repro.core.train import train
from repro.studies.depth_ladder import linear, local_losses, placed, start
from repro.studies.depth_ladder.arms import D256_L4, D512_L2, without_blocks
from repro.studies.depth_ladder.study import STUDY as LADDER_STUDY
from repro.studies.depth_ladder.variants import (
    LinearArm,
    PlacedArm,
    StartArm,
    at_start,
    by_local_losses,
)
from repro.studies.depth_ladder.variants import placed as moved
from repro.studies.find import study_of
from tests.studies.small import LADDER, LINEAR, assert_same, copied
from tests.studies.small import stepped as take_steps

CPU = torch.device("cpu")
BATCH = 16

SMALL = LADDER.but(depth=3, trained=3, images=64, recipe=LADDER.recipe.but(batch=BATCH))


@st.composite
def arms(draw):
    arm = SMALL.but(
        rule=draw(st.sampled_from(["bp", "fa", "dfa"])),
        trained=draw(st.integers(0, 3)),
        feedback=draw(st.sampled_from(["weights", "blocks"])),
    )
    return moved(arm, draw(st.sampled_from(["input", "middle"])))


def stepped(engine, runs, study, count=3):
    """The states of runs after some steps."""
    data = study.load(runs[0].arm, CPU)
    program = engine(study, runs, data, CPU)
    take_steps(program, data, count)
    return [copied(state) for state in program.states()]


def assert_engines_agree(arm, seeds, study):
    """Assert that runs trained as one have the moments of the same runs trained alone."""
    runs = [Run(arm, seed) for seed in seeds]
    together = stepped(StackedProgram, runs, study)
    for run, ours in zip(runs, together, strict=True):
        [theirs] = stepped(LoopProgram, [run], study)
        for name in (n for n in theirs if n.startswith("exp_avg/")):
            torch.testing.assert_close(ours[name], theirs[name], rtol=1e-3, atol=1e-6)


def test_blocks_lie_where_their_place_says():
    assert moved(D256_L4.but(trained=1), "input").blocks == (0,)
    assert moved(D256_L4.but(trained=3), "input").blocks == (0, 1, 2)
    assert moved(D256_L4.but(trained=2), "middle").blocks == (1, 2)
    assert moved(D512_L2.but(trained=1), "input").at("ci").width == D512_L2.at("ci").width


@given(arm=arms())
@pytest.mark.parametrize("engine", [LoopProgram, StackedProgram])
def test_all_blocks_but_those_that_are_trained_stay_bit_for_bit(engine, arm):
    run = Run(arm, 1)
    data = placed.STUDY.load(arm, CPU)
    before = copied(engine(placed.STUDY, [run], data, CPU).states()[0])
    [after] = stepped(engine, [run], placed.STUDY)
    for name in (n for n in before if n.startswith("parameter/blocks.")):
        block = int(name.split(".")[1])
        assert torch.equal(before[name], after[name]) == (block not in arm.blocks), name


@given(arm=arms(), seeds=st.lists(st.integers(0, 99), min_size=2, max_size=2, unique=True))
def test_stacked_agrees_with_the_reference(arm, seeds):
    assert_engines_agree(arm, seeds, placed.STUDY)


@given(arm=arms(), data=st.data())
def test_a_run_does_not_depend_on_its_company(arm, data):
    company = [Run(arm.but(trained=data.draw(st.integers(0, 3))), seed) for seed in range(2)]
    together = stepped(StackedProgram, company, placed.STUDY)
    for run, ours in zip(company, together, strict=True):
        [alone] = stepped(StackedProgram, [run], placed.STUDY)
        assert_same(alone, ours)


def test_with_all_blocks_trained_the_place_is_none():
    for engine in (LoopProgram, StackedProgram):
        for rule in ("bp", "fa", "dfa"):
            arm = SMALL.but(rule=rule)
            [usual] = stepped(engine, [Run(arm, 5)], LADDER_STUDY)
            [there] = stepped(engine, [Run(moved(arm, "input"), 5)], placed.STUDY)
            assert_same(usual, there)


@st.composite
def local_arms(draw):
    return by_local_losses(
        SMALL.but(
            trained=draw(st.integers(0, 3)),
            credit=draw(st.sampled_from(["normalised", "raw"])),
            embedding=draw(st.sampled_from(["trained", "frozen"])),
        )
    )


@given(arm=local_arms(), seeds=st.lists(st.integers(0, 99), min_size=2, max_size=2, unique=True))
def test_stacked_local_losses_agree_with_the_reference(arm, seeds):
    assert_engines_agree(arm, seeds, local_losses.STUDY)


@given(trained=st.integers(0, 3), seed=st.integers(0, 99))
@pytest.mark.parametrize("engine", [LoopProgram, StackedProgram])
def test_local_losses_of_raw_credit_are_back_propagation(engine, trained, seed):
    """The gradients of the loss are those of all local losses: AdamW then takes the same steps."""
    arm = SMALL.but(trained=trained, credit="raw")
    [usual] = stepped(engine, [Run(arm, seed)], LADDER_STUDY, count=1)
    [local] = stepped(engine, [Run(by_local_losses(arm), seed)], local_losses.STUDY, count=1)
    assert usual.keys() == local.keys()
    for name in (n for n in usual if n.startswith("exp_avg/")):
        torch.testing.assert_close(local[name], usual[name], rtol=1e-4, atol=1e-7)


@given(seed=st.integers(0, 99), block=st.integers(0, 2))
def test_a_local_loss_weighs_each_example_by_the_inverse_of_its_credit(seed, block):
    """The oracle is autograd through the whole network, one example at a time."""
    run = Run(by_local_losses(SMALL), seed)
    data = local_losses.STUDY.load(run.arm, CPU)
    model = local_losses.STUDY.reference(run, data, CPU)
    x, y = (part[0] for part in data.batch(data.epoch(seed, 0)[None, :BATCH]))
    weight = model.module.blocks[block].down.weight
    expected = torch.zeros_like(weight)
    for one, label in zip(x, y, strict=True):
        h = model._states(one[None])
        loss = F.cross_entropy(model.module.readout(h[-1]), label[None])
        true, credit = torch.autograd.grad(loss, [weight, h[block + 1]])
        expected += true / credit.square().mean().sqrt() / BATCH
    objective, _ = model.loss(x, y)
    objective.backward()
    torch.testing.assert_close(weight.grad, expected, rtol=1e-3, atol=1e-5)


def test_what_local_losses_tell_a_layer_is_the_true_gradient():
    for engine in ("loop", "stacked"):
        run = Run(by_local_losses(SMALL), 3)
        [(_, values)] = train(local_losses.STUDY, [run], engine=engine, device=CPU)
        assert values["measures"]["alignment"] == pytest.approx([1.0] * 4, abs=1e-5)


def test_the_norm_at_the_start_goes_with_the_deviation_and_the_cosine():
    """By the law of cosines: |b-a|² = |a|² + |b|² - 2|a||b| cos."""
    arm = StartArm(width=16, depth=4, data="cifar10-twin", pixels=8, images=320).but(
        weight_std=0.1, embedding_std=0.1, recipe=SMALL.recipe.but(epochs=0)
    )
    [(_, values)] = train(start.STUDY, [Run(arm, 3)], engine="loop", device=CPU)
    measures = values["measures"]
    norm, cosine = measures["norm_ratio"], measures["stack_cosine"]
    assert measures["stack_ratio"] == pytest.approx(
        math.sqrt(1 + norm**2 - 2 * norm * cosine), rel=1e-4
    )
    assert abs(norm - 1) > 1e-4
    assert at_start(D512_L2).depth == 2


def test_without_blocks_there_is_an_embedding_and_a_readout():
    arm = without_blocks(SMALL)
    assert arm.label == "BP without blocks k=0"
    runs = [Run(arm, seed) for seed in (1, 2)]
    together = stepped(StackedProgram, runs, LADDER_STUDY)
    for run, ours in zip(runs, together, strict=True):
        [theirs] = stepped(LoopProgram, [run], LADDER_STUDY)
        torch.testing.assert_close(
            ours["exp_avg/embed.weight"], theirs["exp_avg/embed.weight"], rtol=1e-3, atol=1e-6
        )
    for engine in ("loop", "stacked"):
        [(_, values)] = train(LADDER_STUDY, runs[:1], engine=engine, device=CPU)
        assert values["measures"]["block_ratio"] == []
    model = LADDER_STUDY.reference(runs[0], LADDER_STUDY.load(arm, CPU), CPU)
    x = torch.randn(4, arm.inputs)
    torch.testing.assert_close(model.module(x), model.module.readout(model.module.embed(x)))


def test_a_linear_classifier_is_one():
    arm = LINEAR
    data = linear.STUDY.load(arm, CPU)
    model = linear.STUDY.reference(Run(arm, 3), data, CPU)
    x, y = (part[0] for part in data.batch(data.epoch(3, 0)[None, :BATCH]))
    weight, bias = model.module.weight, model.module.bias
    told, _ = model.loss(x, y)
    torch.testing.assert_close(told, F.cross_entropy(x @ weight.T + bias, y))
    [(_, values)] = train(linear.STUDY, [Run(arm, 3)], engine="loop", device=CPU)
    assert values["steps"] == 20
    assert values["measures"]["accuracy"] > 0.1


def test_a_linear_classifier_reads_what_the_ladder_reads():
    for profile in ("ci", "paper"):
        ladder, classifier = D256_L4.at(profile), LinearArm().at(profile)
        for name in ("data", "pixels", "images", "shift", "recipe"):
            assert getattr(classifier, name) == getattr(ladder, name), name
    assert LinearArm().at("ci").located().content() == D256_L4.at("ci").located().content()


def test_only_what_has_a_stacked_form_says_that_it_stacks():
    for arm in (moved(D256_L4, "input"), by_local_losses(D256_L4), at_start(D256_L4), LinearArm()):
        assert arm.at("ci").stacks == hasattr(study_of(arm), "stacked")
    assert PlacedArm.study != StartArm.study != D256_L4.study
    assert "place" not in D256_L4.settings()
