"""Ladders with other blocks or local losses, their start, and linear classifiers of the images."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram, StackedProgram
from repro.studies.depth_ladder.arms import D256_L4, D512_L2, without_blocks
from repro.studies.depth_ladder.variants import (
    LinearArm,
    StartArm,
    at_start,
    by_local_losses,
)
from repro.studies.depth_ladder.variants import placed as moved
from tests.studies.small import (
    LADDER,
    LINEAR,
    assert_same,
    first_batch,
    model,
    started,
    stepped,
    trained,
)

BATCH = 16
SMALL = LADDER.but(depth=3, trained=3, images=64, recipe=LADDER.recipe.but(batch=BATCH))
engines = pytest.mark.parametrize("engine", [LoopProgram, StackedProgram])


def states(engine, run, count=3):
    """The state of a run after some steps."""
    program, data = started(engine, [run])
    stepped(program, data, count)
    return program.states()[0]


def test_blocks_lie_where_their_place_says():
    assert moved(D256_L4.but(trained=1), "input").blocks == (0,)
    assert moved(D256_L4.but(trained=3), "input").blocks == (0, 1, 2)
    assert moved(D256_L4.but(trained=2), "middle").blocks == (1, 2)
    assert moved(D512_L2.but(trained=1), "input").at("ci").width == D512_L2.at("ci").width


@engines
@pytest.mark.parametrize("rule", ["bp", "fa", "dfa"])
def test_with_all_blocks_trained_the_place_is_none(rule, engine):
    arm = SMALL.but(rule=rule)
    assert_same(states(engine, Run(arm, 5)), states(engine, Run(moved(arm, "input"), 5)))


@given(trained=st.integers(0, 3), seed=st.integers(0, 99))
@engines
def test_local_losses_of_raw_credit_are_back_propagation(engine, trained, seed):
    """The gradients of the loss are those of all local losses: AdamW then takes the same steps."""
    arm = SMALL.but(trained=trained, credit="raw")
    usual, local = (states(engine, Run(x, seed), 1) for x in (arm, by_local_losses(arm)))
    assert usual.keys() == local.keys()
    for name in (n for n in usual if n.startswith("exp_avg/")):
        torch.testing.assert_close(local[name], usual[name], rtol=1e-4, atol=1e-7)


@given(seed=st.integers(0, 99), block=st.integers(0, 2))
def test_a_local_loss_weighs_each_example_by_the_inverse_of_its_credit(seed, block):
    """The oracle is autograd through the whole network, one example at a time."""
    one = model(by_local_losses(SMALL), seed)
    x, y = first_batch(one.data, seed, BATCH)
    weight = one.module.blocks[block].down.weight
    expected = torch.zeros_like(weight)
    for image, label in zip(x, y, strict=True):
        h = one._states(image[None])
        loss = F.cross_entropy(one.module.readout(h[-1]), label[None])
        true, credit = torch.autograd.grad(loss, [weight, h[block + 1]])
        expected += true / credit.square().mean().sqrt() / BATCH
    objective, _ = one.loss(x, y)
    objective.backward()
    torch.testing.assert_close(weight.grad, expected, rtol=1e-3, atol=1e-5)


def test_what_local_losses_tell_a_layer_is_the_true_gradient():
    measures = trained(by_local_losses(SMALL), 3)["measures"]
    assert measures["alignment"] == pytest.approx([1.0] * 4, abs=1e-5)


def test_the_norm_at_the_start_goes_with_the_deviation_and_the_cosine():
    """By the law of cosines: |b-a|² = |a|² + |b|² - 2|a||b| cos."""
    arm = StartArm(width=16, depth=4, data="cifar10-twin", pixels=8, images=320).but(
        weight_std=0.1, embedding_std=0.1, recipe=SMALL.recipe.but(epochs=0)
    )
    measures = trained(arm, 3)["measures"]
    norm, cosine = measures["norm_ratio"], measures["stack_cosine"]
    assert measures["stack_ratio"] == pytest.approx(
        math.sqrt(1 + norm**2 - 2 * norm * cosine), rel=1e-4
    )
    assert abs(norm - 1) > 1e-4
    assert at_start(D512_L2).depth == 2


def test_without_blocks_there_is_an_embedding_and_a_readout():
    arm = without_blocks(SMALL)
    assert trained(arm)["measures"]["block_ratio"] == []
    network = model(arm).module
    x = torch.randn(4, arm.inputs)
    torch.testing.assert_close(network(x), network.readout(network.embed(x)))


def test_a_linear_classifier_is_one():
    one = model(LINEAR, 3)
    x, y = first_batch(one.data, 3, BATCH)
    told, _ = one.loss(x, y)
    logits = F.linear(x, one.module.weight, one.module.bias)
    torch.testing.assert_close(told, F.cross_entropy(logits, y))
    assert trained(LINEAR, 3)["measures"]["accuracy"] > 0.1


def test_a_linear_classifier_reads_what_the_ladder_reads():
    for profile in ("ci", "paper"):
        ladder, classifier = D256_L4.at(profile), LinearArm().at(profile)
        for name in ("data", "pixels", "images", "shift", "recipe"):
            assert getattr(classifier, name) == getattr(ladder, name), name
    assert LinearArm().at("ci").located().content() == D256_L4.at("ci").located().content()
