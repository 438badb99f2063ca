"""Exact properties of ladders: credit rules, networks, images, local losses, other blocks."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram, StackedProgram, parameters_of
from repro.data.images import load_images
from repro.studies.depth_ladder.arms import (
    D256_L4,
    D512_L2,
    LinearArm,
    PlacedArm,
    StartArm,
    at_start,
    by_local_losses,
    placed,
    without_blocks,
)
from repro.studies.depth_ladder.model import feedback_matrices, initial_parameters, of_stream
from tests.studies.small import (
    LADDER,
    LINEAR,
    assert_same,
    copied,
    first_batch,
    ladders,
    loaded,
    model,
    started,
    stepped,
    trained,
)

BATCH = 16
engines = pytest.mark.parametrize("engine", [LoopProgram, StackedProgram])


def is_frozen(arm, name):
    """Whether an arm leaves a parameter of this name as it was."""
    if not name.startswith("blocks."):
        return name.startswith("embed.") and arm.embedding == "frozen"
    block = int(name.split(".")[1])
    if isinstance(arm, PlacedArm):
        return block not in arm.blocks
    return block < arm.depth - arm.trained


@given(arm=ladders(), place=st.sampled_from([None, "input", "middle"]))
@engines
def test_frozen_parameters_stay_bit_for_bit(engine, arm, place):
    if place:
        arm = placed(arm, place)
    program, data = started(engine, [Run(arm, 1)])
    before = copied(parameters_of(program.states()[0]))
    stepped(program, data)
    for name, after in parameters_of(program.states()[0]).items():
        assert torch.equal(before[name], after) == is_frozen(arm, name), name


def reference(arm, seed=3):
    """The plain model of a run, and its first batch."""
    one = model(arm, seed)
    return one, *first_batch(one.data, seed, BATCH)


def test_a_run_starts_at_the_documented_spreads():
    for arm in (D256_L4.at("ci"), D256_L4.at("paper")):
        for name, values in initial_parameters(arm, seed=1).items():
            expected = arm.embedding_std if name == "embed.weight" else arm.weight_std
            if name.endswith("bias"):
                assert not values.any()
            elif name == "norm.weight":
                assert (values == 1).all()
            else:
                assert float(values.std()) == pytest.approx(expected, rel=5 / values.numel() ** 0.5)


def test_the_measures_of_a_stream_are_ratios_to_what_goes_in_and_cosines():
    h = [torch.tensor([[3.0, 4.0]]), torch.tensor([[6.0, 8.0]]), torch.tensor([[6.0, 0.0]])]
    credits = [torch.tensor([[1.0, 0.0], [0.0, 2.0]])] * 3
    true = [torch.tensor([[2.0, 0.0], [3.0, 4.0]])] * 3
    measures = of_stream(h, credits, true)
    assert measures["block_ratio"] == pytest.approx([1.0, 0.8])
    assert measures["stack_ratio"] == pytest.approx(1.0)
    assert measures["stack_cosine"] == pytest.approx(0.6)
    assert measures["alignment"] == pytest.approx([0.9] * 3)


def test_what_a_run_draws_at_random_is_drawn_independently():
    """If FA's feedback matrices were equal to the weights, FA would be BP."""
    for rule, feedback in itertools.product(("fa", "dfa"), ("weights", "blocks")):
        arm = LADDER.but(width=32, depth=3, rule=rule, trained=3, feedback=feedback)
        drawn = [
            values.flatten()
            for seed in (1, 2)
            for values in [
                *initial_parameters(arm, seed).values(),
                *feedback_matrices(arm, seed).values(),
            ]
            if values.numel() >= 320 and values.std() > 0
        ]
        for a, b in itertools.combinations(drawn, 2):
            shared = min(len(a), len(b))
            similarity = F.cosine_similarity(a[:shared], b[:shared], dim=0)
            assert abs(float(similarity)) < 6 / shared**0.5


@given(arm=ladders(rule="fa"))
def test_the_last_block_of_fa_is_told_the_true_gradient(arm):
    model, x, y = reference(arm)
    told = model.credits(model._states(x), y)
    torch.testing.assert_close(told[-1], model._true_gradients(x, y)[-1], rtol=1e-5, atol=1e-7)


def test_only_what_the_last_block_of_fa_is_told_is_exact():
    fa = D256_L4.but(rule="fa")
    assert [index for index in range(fa.depth + 1) if fa.is_exact("alignment", index)] == [4]
    assert not fa.is_exact("accuracy")
    assert not fa.but(rule="dfa").is_exact("alignment", 4)


@given(arm=ladders(rule="fa", feedback="weights"))
def test_fa_with_the_forward_weights_is_backpropagation(arm):
    model, x, y = reference(arm)
    for name in model.feedback:
        model.feedback[name] = model.module.get_parameter(f"{name}.weight").detach()
    told = model.credits(model._states(x), y)
    for ours, true in zip(told, model._true_gradients(x, y), strict=True):
        torch.testing.assert_close(ours, true, rtol=1e-4, atol=1e-6)


@given(arm=ladders(rule="dfa"), data=st.data())
def test_dfa_credit_depends_on_other_blocks_only_through_the_output(arm, data):
    model, x, y = reference(arm)
    h = model._states(x)
    before = model.credits(h, y)
    block = data.draw(st.integers(0, arm.depth - 1))
    with torch.no_grad():
        for parameter in model.module.blocks[block].parameters():
            parameter.add_(0.1)
    for ours, changed in zip(before, model.credits(h, y), strict=True):
        assert torch.equal(ours, changed)


@given(arm=ladders())
def test_credit_never_leaks_between_blocks(arm):
    """A block's gradient is that of its own surrogate alone, not through another block."""
    if arm.rule == "bp" or arm.trained == 0:
        return
    model, x, y = reference(arm)
    objective, _ = model.loss(x, y)
    objective.backward()
    h, index = model._states(x), arm.depth - 1
    credit = model.credits(h, y)[index + 1].detach()
    if arm.credit == "normalised":
        credit = credit / (credit.square().mean(-1, keepdim=True).sqrt() + 1e-8)
    own = (model.module.blocks[index](h[index].detach()) * credit).sum(-1).mean()
    weight = model.module.blocks[index].up.weight
    (expected,) = torch.autograd.grad(own, weight)
    torch.testing.assert_close(weight.grad, expected, rtol=1e-4, atol=1e-7)


def test_the_reference_is_the_network_it_says():
    one, x, _ = reference(LADDER.but(width=32, images=64, shift=0))
    p = dict(one.module.named_parameters())
    h = F.linear(x, p["embed.weight"], p["embed.bias"])
    for block in range(2):
        u = F.linear(F.layer_norm(h, (32,)), p[f"blocks.{block}.up.weight"])
        h = h + F.linear(F.gelu(u), p[f"blocks.{block}.down.weight"])
    logits = F.linear(F.layer_norm(h, (32,)), p["head.weight"])
    torch.testing.assert_close(one.module(x), logits, rtol=1e-4, atol=1e-6)


ARM = LADDER.but(depth=1, trained=1, images=640)


@pytest.fixture(scope="module")
def images():
    return load_images("cifar10-twin", size=8)


def standardised(pixels, train):
    """Standardise by the statistics of the training images, channel by channel."""
    train = train.astype(np.float64)
    return ((pixels - train.mean((0, 1, 2))) / train.std((0, 1, 2))).reshape(len(pixels), -1)


def test_it_is_evaluated_on_the_test_images_standardised_as_the_training_images(images):
    data = loaded(ARM)
    expected = standardised(images.test_images, images.train_images[: ARM.images])
    np.testing.assert_allclose(data.test_inputs.numpy(), expected, atol=1e-5)
    np.testing.assert_array_equal(data.test_labels.numpy(), images.test_labels)


@pytest.mark.parametrize("shift", [1, 0])
def test_a_training_image_is_moved_and_mirrored_and_keeps_its_label(images, shift):
    data = loaded(ARM.but(shift=shift))
    lines = data.epoch(7, 3)
    x, y = data.batch(lines[None])
    original = images.train_images[: ARM.images]
    padded = np.pad(original, ((0, 0), (shift, shift), (shift, shift), (0, 0)))
    moved = original[lines[:, 0].numpy()]
    for row, (image, *moves) in enumerate(lines.tolist() if shift else ()):
        down, right, mirrored = moves
        cut = padded[image, down : down + 8, right : right + 8]
        moved[row] = cut[:, ::-1] if mirrored else cut
    assert y[0].tolist() == images.train_labels[lines[:, 0].numpy()].tolist()
    np.testing.assert_allclose(x[0].numpy(), standardised(moved, original), atol=1e-5)


def test_an_epoch_uses_every_shift_and_both_mirrorings():
    shifts = {}
    for seed in (1, 2):
        for number in (0, 1):
            _, down, right, mirrored = loaded(ARM).epoch(seed, number).unbind(1)
            assert set(down.tolist()) == set(right.tolist()) == {0, 1, 2}
            assert 0.4 < float(mirrored.float().mean()) < 0.6
            shifts[seed, number] = (*down.tolist(), *mirrored.tolist())
    assert len(set(shifts.values())) == 4


SMALL = LADDER.but(depth=3, trained=3, images=64, recipe=LADDER.recipe.but(batch=BATCH))


def states(engine, run, count=3):
    """The state of a run after some steps."""
    program, data = started(engine, [run])
    stepped(program, data, count)
    return program.states()[0]


def test_blocks_lie_where_their_place_says():
    assert placed(D256_L4.but(trained=1), "input").blocks == range(1)
    assert placed(D256_L4.but(trained=3), "input").blocks == range(3)
    assert placed(D256_L4.but(trained=2), "middle").blocks == range(1, 3)
    assert placed(D512_L2.but(trained=1), "input").at("ci").width == D512_L2.at("ci").width


@engines
@pytest.mark.parametrize("rule", ["bp", "fa", "dfa"])
def test_with_all_blocks_trained_the_place_is_none(rule, engine):
    arm = SMALL.but(rule=rule)
    assert_same(states(engine, Run(arm, 5)), states(engine, Run(placed(arm, "input"), 5)))


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
