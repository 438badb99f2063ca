"""Exact properties of the credit rules, and the agreement of the two forms of the model."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram, StackedProgram
from repro.data.images import load_images
from repro.recipe import Recipe
from repro.studies.depth_ladder import initial
from repro.studies.depth_ladder.arms import D256_L4
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.study import STUDY
from tests.studies.small import LADDER, assert_same, copied, stepped

CPU = torch.device("cpu")
BATCH = 16


@st.composite
def arms(draw, rule=None, feedback=None):
    depth = draw(st.integers(1, 3))
    return LADDER.but(
        width=draw(st.sampled_from([16, 32])),
        depth=depth,
        rule=rule or draw(st.sampled_from(["bp", "fa", "dfa"])),
        trained=draw(st.integers(0, depth)),
        expansion=draw(st.sampled_from([1, 2, 4])),
        feedback=feedback or draw(st.sampled_from(["weights", "blocks"])),
        credit=draw(st.sampled_from(["normalised", "raw"])),
        embedding=draw(st.sampled_from(["trained", "frozen"])),
        images=64,
        shift=draw(st.sampled_from([0, 1])),
        recipe=Recipe(epochs=1, batch=BATCH, lr=1e-3, weight_decay=0.01, schedule="cosine"),
    )


def started(program_type, runs):
    data = STUDY.load(runs[0].arm, CPU)
    return program_type(STUDY, runs, data, CPU), data


@given(arm=arms(), seeds=st.lists(st.integers(0, 99), min_size=2, max_size=2, unique=True))
def test_stacked_agrees_with_the_reference(arm, seeds):
    runs = [Run(arm, seed) for seed in seeds]
    stacked, data = started(StackedProgram, runs)
    losses = stepped(stacked, data)
    for row, run in enumerate(runs):
        loop, _ = started(LoopProgram, [run])
        torch.testing.assert_close(stepped(loop, data)[:, 0], losses[:, row], rtol=1e-4, atol=1e-5)
        ours, theirs = stacked.states()[row], loop.states()[0]
        for name in (n for n in theirs if n.startswith("exp_avg/")):
            torch.testing.assert_close(ours[name], theirs[name], rtol=1e-3, atol=1e-6)
        expected, measured = loop.measure()[0], stacked.measure()[row]
        assert measured["alignment"] == pytest.approx(expected["alignment"], abs=1e-3)
        assert measured["block_ratio"] == pytest.approx(expected["block_ratio"], rel=1e-3)
        assert measured["stack_cosine"] == pytest.approx(expected["stack_cosine"], abs=1e-4)


@given(arm=arms(), data=st.data())
def test_a_run_does_not_depend_on_its_company(arm, data):
    company = [
        Run(arm.but(trained=data.draw(st.integers(0, arm.depth))), seed) for seed in range(5)
    ]
    company.sort(key=lambda run: -run.arm.effort)
    together, images = started(StackedProgram, company)
    stepped(together, images)
    kept = data.draw(st.sets(st.integers(0, 4), min_size=1, max_size=4))
    apart, _ = started(StackedProgram, [company[row] for row in sorted(kept)])
    stepped(apart, images)
    for state, row in zip(apart.states(), sorted(kept), strict=True):
        assert_same(state, together.states()[row])


@given(arm=arms())
@pytest.mark.parametrize("engine", [LoopProgram, StackedProgram])
def test_frozen_parameters_stay_bit_for_bit(engine, arm):
    program, data = started(engine, [Run(arm, 1)])
    before = copied(program.states()[0])
    stepped(program, data)
    after = program.states()[0]
    for name in (n for n in before if n.startswith("parameter/")):
        block = name.split("/")[1]
        frozen = (
            int(block.split(".")[1]) < arm.depth - arm.trained
            if block.startswith("blocks.")
            else block.startswith("embed.") and arm.embedding == "frozen"
        )
        assert torch.equal(before[name], after[name]) == frozen, name


def reference(arm, seed=3):
    data = STUDY.load(arm, CPU)
    model = STUDY.reference(Run(arm, seed), data, CPU)
    x, y = data.batch(data.epoch(seed, 0)[None, :BATCH])
    return model, x[0], y[0]


def test_a_run_starts_at_the_documented_spreads():
    for arm in (D256_L4.at("ci"), D256_L4.at("paper")):
        for name, values in initial.parameters(arm, seed=1).items():
            expected = arm.embedding_std if name == "embed.weight" else arm.weight_std
            if name.endswith("bias"):
                assert not values.any()
            elif name == "norm.weight":
                assert (values == 1).all()
            else:
                assert float(values.std()) == pytest.approx(expected, rel=5 / values.numel() ** 0.5)


def test_what_a_run_draws_at_random_is_drawn_independently():
    """If FA's feedback matrices were equal to the weights, FA would be BP."""
    for rule, feedback in itertools.product(("fa", "dfa"), ("weights", "blocks")):
        arm = LADDER.but(width=32, depth=3, rule=rule, trained=3, feedback=feedback)
        drawn = [
            values.flatten()
            for seed in (1, 2)
            for values in [
                *initial.parameters(arm, seed).values(),
                *initial.feedback(arm, seed).values(),
            ]
            if values.numel() >= 320 and values.std() > 0
        ]
        for a, b in itertools.combinations(drawn, 2):
            shared = min(len(a), len(b))
            similarity = F.cosine_similarity(a[:shared], b[:shared], dim=0)
            assert abs(float(similarity)) < 6 / shared**0.5


@given(arm=arms(rule="fa"))
def test_the_last_block_of_fa_is_told_the_true_gradient(arm):
    model, x, y = reference(arm)
    told = model.credits(model._states(x), y)
    torch.testing.assert_close(told[-1], model._true_gradients(x, y)[-1], rtol=1e-5, atol=1e-7)


def test_only_what_the_last_block_of_fa_is_told_is_exact():
    fa = D256_L4.but(rule="fa")
    assert [index for index in range(fa.depth + 1) if fa.is_exact("alignment", index)] == [4]
    assert not fa.is_exact("accuracy")
    assert not fa.but(rule="dfa").is_exact("alignment", 4)


@given(arm=arms(rule="fa", feedback="weights"))
def test_fa_with_the_forward_weights_is_backpropagation(arm):
    model, x, y = reference(arm)
    for name in model.feedback:
        model.feedback[name] = model.module.get_parameter(f"{name}.weight").detach()
    told = model.credits(model._states(x), y)
    for ours, true in zip(told, model._true_gradients(x, y), strict=True):
        torch.testing.assert_close(ours, true, rtol=1e-4, atol=1e-6)


@given(arm=arms(rule="dfa"), data=st.data())
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


@given(arm=arms())
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
    model, x, _ = reference(LADDER.but(width=32, images=64, shift=0))
    p = dict(model.module.named_parameters())
    h = F.linear(x, p["embed.weight"], p["embed.bias"])
    for block in range(2):
        z = (h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        u = z @ p[f"blocks.{block}.up.weight"].T
        g = 0.5 * u * (1 + torch.erf(u / 2**0.5))
        h = h + g @ p[f"blocks.{block}.down.weight"].T
    z = (h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(model.module(x), z @ p["head.weight"].T, rtol=1e-4, atol=1e-6)


ARM = LADDER.but(depth=1, trained=1, images=640)


@pytest.fixture(scope="module")
def images():
    return load_images("cifar10-twin", size=8)


def standardised(pixels, train):
    """Standardise by the statistics of the training images, channel by channel."""
    train = train.astype(np.float64)
    return ((pixels - train.mean((0, 1, 2))) / train.std((0, 1, 2))).reshape(len(pixels), -1)


def test_it_is_evaluated_on_the_test_images_standardised_as_the_training_images(images):
    data = LadderData(ARM, CPU)
    expected = standardised(images.test_images, images.train_images[: ARM.images])
    np.testing.assert_allclose(data.test_inputs.numpy(), expected, atol=1e-5)
    np.testing.assert_array_equal(data.test_labels.numpy(), images.test_labels)


def test_a_training_image_is_moved_and_mirrored_and_keeps_its_label(images):
    data = LadderData(ARM, CPU)
    lines = data.epoch(7, 3)
    x, y = data.batch(lines[None])
    original = images.train_images[: ARM.images]
    padded = np.pad(original, ((0, 0), (1, 1), (1, 1), (0, 0)))
    moved = []
    for image, down, right, mirrored in lines.tolist():
        cut = padded[image, down : down + 8, right : right + 8]
        moved.append(cut[:, ::-1] if mirrored else cut)
        assert int(y[0, len(moved) - 1]) == images.train_labels[image]
    np.testing.assert_allclose(x[0].numpy(), standardised(np.array(moved), original), atol=1e-5)


def test_an_epoch_shows_every_image_once_and_uses_every_shift_and_both_mirrorings():
    image, down, right, mirrored = LadderData(ARM, CPU).epoch(7, 3).unbind(1)
    assert sorted(image.tolist()) == list(range(ARM.images))
    assert set(down.tolist()) == set(right.tolist()) == {0, 1, 2}
    assert 0.4 < float(mirrored.float().mean()) < 0.6


def test_every_seed_and_every_epoch_has_its_own_order():
    data = LadderData(ARM, CPU)
    epochs = [data.epoch(seed, number) for seed in (1, 2) for number in (0, 1)]
    orders = {tuple(lines[:, 0].tolist()) for lines in epochs}
    shifts = {tuple(map(tuple, lines[:, 1:].tolist())) for lines in epochs}
    assert len(orders) == len(shifts) == 4
    assert torch.equal(data.epoch(1, 0), epochs[0])


def test_without_shift_an_image_is_shown_as_it_is(images):
    arm = ARM.but(shift=0)
    data = LadderData(arm, CPU)
    lines = data.epoch(7, 0)
    x, _ = data.batch(lines[None])
    original = images.train_images[: ARM.images]
    expected = standardised(original[lines[:, 0].numpy()], original)
    np.testing.assert_allclose(x[0].numpy(), expected, atol=1e-5)
