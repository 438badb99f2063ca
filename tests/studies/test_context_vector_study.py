"""Source 001: its model, data, dropout, stopping, measures, start and warm-up."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.train import RunLog
from repro.data.word_windows import PAD, UNKNOWN
from repro.studies.context_vector.arms import (
    ADVANCED,
    AS_RUN,
    AS_WRITTEN,
    BASELINE,
    UPDATES_AN_EPOCH,
    AtTheStart,
    WarmedUp,
)
from repro.studies.context_vector.model import (
    Answers,
    ContextLanguageModel,
    _mixed,
    dropout_factors,
    dropout_scale,
    mean_loss,
    measures_of,
    spread,
)
from tests.studies.small import CONTEXT, loaded, model, trained


def test_the_networks_have_the_recorded_numbers_of_parameters():
    for arm, count in ((BASELINE, 2_739_432), (ADVANCED, 4_840_936)):
        with torch.device("meta"):
            network = ContextLanguageModel(arm.but(vocabulary=1000))
        assert sum(p.numel() for p in network.parameters()) == count


def test_the_initialisation_is_the_one_that_was_asked_for():
    wide = CONTEXT.but(width=256)
    for arm, std in ((wide, 0.2), (wide.but(initialisation="he"), math.sqrt(2 / 256))):
        network = model(arm).module
        assert float(network.layers[1].weight.detach().std()) == pytest.approx(std, rel=0.02)
        assert float(network.head.weight.detach().std()) == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize("stack", ["plain", "residual", "normalised"])
def test_the_model_is_the_one_that_the_facts_describe(stack):
    one = model(CONTEXT.but(stack=stack))
    p = dict(one.module.named_parameters())
    p["norm.weight"].detach().fill_(8.0)  # so that a part of the context comes to its limit
    words = torch.randint(0, 64, (5, 6), generator=torch.Generator().manual_seed(1))

    def linear(name, x):
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    c = torch.zeros(5, 16)
    for t in range(6):
        h = torch.cat([p["embedding.weight"][words[:, t]], c], 1)
        for layer in range(3):
            u = linear(f"layers.{layer}", h)
            out = F.relu(F.layer_norm(u, u.shape[-1:]) if stack == "normalised" else u)
            h = h + out if stack == "residual" and layer else out
        torch.testing.assert_close(one.module(words)[0][:, t], linear("head", h))
        forget, admit = linear("forget", h).sigmoid(), linear("admit", h).sigmoid()
        c = forget * c + admit * linear("delta", h)
        c = F.layer_norm(c, (16,), p["norm.weight"], p["norm.bias"]).clamp(-10, 10)
    assert 0 < (c.abs() == 10).float().mean() < 1
    torch.testing.assert_close(one.module(words)[1], c)


def test_unknown_words_count_and_padding_does_not():
    y = torch.tensor([[UNKNOWN, 5, PAD], [UNKNOWN, UNKNOWN, UNKNOWN], [7, PAD, PAD]])
    logits = torch.zeros(3, 3, 64)
    logits[..., UNKNOWN] = 2.0  # always the unknown word, equally sure
    answers = Answers.of(logits, y)
    assert answers.words.tolist() == [2, 3, 1]
    assert answers.right.tolist() == answers.unknown.tolist() == [1, 3, 0]
    measures = measures_of(
        CONTEXT.but(recipe=CONTEXT.recipe.but(batch=2)), validation=answers, train=answers,
        logit_spread=0.0, gradient_norms=(1.0, 1.0), parameters=96, sequences=[1.0, 1.0],
    )  # fmt: skip
    right, other = math.log(math.e**2 + 63) - 2, math.log(math.e**2 + 63)
    loss = ((4 * right + other) / 5 + other) / 2  # the mean of batches of two and of one sequence
    assert measures["validation_loss"] == pytest.approx(loss)
    assert measures["perplexity"] == pytest.approx(math.exp(loss))
    assert measures["accuracy"] == pytest.approx((4 / 5 + 0) / 2)
    assert measures["lead_over_unknown"] == measures["generalisation_gap"] == 0
    assert measures["parameters_a_sequence"] == 2
    assert float(mean_loss(logits[None], y[None])) == pytest.approx((4 * right + 2 * other) / 6)
    assert spread(logits[None], y).tolist() == [0]


def test_the_last_batch_of_a_pass_is_filled_up():
    arm = CONTEXT.but(sequences=20, epochs_a_pass=2)
    data = loaded(arm)
    lines = data.epoch(1, 0)
    assert len(lines) == 2 * arm.recipe.batch
    x, y, _ = data.batch(lines[None, 8:])
    whole = data.train[lines[8:10, 0]]
    assert torch.equal(x[0, :2], whole[:, :-1])
    for part in (x[0, 2:], y[0, 2:]):
        assert (part == PAD).all()
    assert arm.steps == 4 * 2


def test_dropout_draws_what_splitmix64_draws():
    """The published sequence of the seed 1234567."""
    golden = 0x9E3779B97F4A7C15
    states = [(1234567 + i * golden) % 2**64 for i in (1, 2, 3)]
    signed = torch.tensor([s - 2**64 if s >= 2**63 else s for s in states])
    drawn = [x % 2**64 for x in _mixed(signed).tolist()]
    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_dropout_leaves_out_its_share_and_keeps_the_mean(share):
    keys = loaded(CONTEXT).epoch(1, 0)[:, 1]
    masks = dropout_factors(keys, share=share, steps=9, units=301)  # [9, 24, 301]
    assert masks.unique().tolist() == pytest.approx([0.0, dropout_scale(share)])
    for axis in ((1, 2), (0, 2)):
        out = (masks == 0).double().mean(axis)
        assert (out - share).abs().max() < 6 * (share / (masks.numel() / len(out))) ** 0.5
    flat = masks.transpose(0, 1).flatten(1) - masks.mean()
    likeness = torch.corrcoef(flat) - torch.eye(len(keys))
    assert likeness.abs().max() < 6 / flat.shape[1] ** 0.5


@settings(max_examples=60)  # ten hardly reach a patience of ten
@given(
    losses=st.lists(st.integers(0, 12).map(lambda n: 3 + n / 2500), min_size=1, max_size=60),
    patience=st.integers(1, 10),
)
def test_training_stops_where_the_rule_of_the_source_stops(losses, patience):
    recipe = AS_RUN.but(patience=patience - 1)
    log = RunLog(Run(BASELINE.but(recipe=recipe), 1))
    best, counter, stops = None, 0, []
    for loss in losses:  # the rule as its trainer states it
        if best is None or loss < best - 0.001:
            best, counter = loss, 0
        else:
            counter += 1
        stops.append(counter >= patience)
        assert log.add({"validation_loss": loss}, "validation_loss") == stops[-1]
        if stops[-1]:
            break
    assert log.best["validation_loss"] == min(losses[: len(stops)])


def test_the_two_recipes_are_those_of_the_code_and_of_the_text():
    for epoch, limit in ((0, 0.5), (9, 0.5), (10, 1.0), (29, 1.0), (30, 2.0), (149, 2.0)):
        assert AS_RUN.clip_at(epoch) == limit
        assert AS_WRITTEN.clip_at(epoch) == 1.0
    assert (AS_RUN.patience + 1, AS_WRITTEN.patience + 1) == (10, 15)
    assert BASELINE.steps == BASELINE.at("ci").steps == 50 * 25


def test_small_layers_start_as_the_documented_ones():
    for arm in (BASELINE, ADVANCED):
        small = arm.at("ci")
        assert small.layers == arm.layers
        assert small.weight_std**2 * small.width == pytest.approx(arm.weight_std**2 * arm.width)
        assert small.context / small.embedding == arm.context / arm.embedding
        assert small.recipe.lr * small.width == pytest.approx(arm.recipe.lr * arm.width)


def test_the_first_layer_is_measured_before_the_first_step():
    arm = AtTheStart(
        layers=3, context=16, width=32, embedding=16, vocabulary=64, length=7, sequences=48,
        validation_sequences=12, weight_std=0.2, data="wikitext-2-twin", looked_at=8,
    )  # fmt: skip
    plain = model(CONTEXT.but(epochs_a_pass=1), 3)
    x = plain.data.train[:8]
    logits, _ = plain.module(x[:, :-1])
    mean_loss(logits[None], x[None, :, 1:])[0].backward()
    norm = float(plain.module.layers[0].weight.grad.norm())
    measures = trained(arm, 3)["measures"]
    assert measures["first_layer_gradient_norm"] == pytest.approx(norm, rel=1e-5)
    assert measures["parameters"] == sum(p.numel() for p in plain.module.parameters())
    assert measures["parameters_a_sequence"] == measures["parameters"] / 48


def test_the_proposed_warm_up_rises_from_a_quarter_to_the_whole_rate_in_five_epochs():
    recipe, total = WarmedUp(layers=12, context=512).recipe, 50 * UPDATES_AN_EPOCH
    factors = [recipe.lr_factor(step, total) for step in range(total)]
    assert recipe.lr * factors[0] == pytest.approx(1e-4)
    assert factors[125:] == [1.0] * (total - 125)
    steps = [after - before for before, after in pairwise(factors[:126])]
    assert steps == pytest.approx([0.75 / 125] * 125)
