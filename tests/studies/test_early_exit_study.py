"""Exact properties of early exit: the network, its forward passes, routing, rates and weights."""

import functools
import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call, vmap

from repro.arm import Run
from repro.core.models import stacked
from repro.core.program import LoopProgram
from repro.core.train import train
from repro.data.characters import load_characters
from repro.studies.early_exit.arms import (
    ASYMMETRIC,
    EQUAL,
    ONE_LAYER,
    PRESETS,
    STANDARD,
    WIKITEXT,
    ExitArm,
)
from repro.studies.early_exit.model import EarlyExitTransformer
from repro.studies.early_exit.study import STUDY, routed
from tests.studies.small import (
    CPU,
    assert_same,
    first_batch,
    loaded,
    model,
    trained,
)

SMALL = {"width": 16, "heads": 2, "hidden": 24}
TEXT = {"data": "wikitext-2-twin", "characters": 1_000}


def test_the_network_has_the_recorded_number_of_parameters():
    for arm, count in ((STANDARD, 200_832), (ONE_LAYER, 69_504)):
        assert sum(p.numel() for p in model(arm).module.parameters()) == count


def test_the_network_is_the_one_that_the_facts_describe():
    one = model(STANDARD.but(**SMALL))
    network, (x, _, _) = one.module, first_batch(one.data, size=32)
    p = dict(network.named_parameters())
    angles = torch.arange(64.0)[:, None] * 10_000.0 ** (-torch.arange(4) / 4)

    def linear(name, h):
        return F.linear(h, p[f"{name}.weight"])

    def norm(name, h):
        return F.rms_norm(h, (16,), p[f"{name}.weight"], eps=1e-6)

    def turned(z):  # the same rotation, with complex numbers
        pairs = torch.complex(z[..., :4], z[..., 4:]) * torch.polar(torch.ones(64, 4), angles)
        return torch.cat([pairs.real, pairs.imag], -1)

    h = p["embedding.weight"][x]
    for number, logits in enumerate(network.forward_all_layers(x)):
        at = f"blocks.{number}"
        q, k, v = (
            linear(f"{at}.attention.{part}", h).view(32, 64, 2, 8).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        mixed = mixed.transpose(1, 2).flatten(2)
        h = norm(f"{at}.norm_attention", h + linear(f"{at}.attention.out", mixed))
        fed = linear(f"{at}.down", F.silu(linear(f"{at}.gate", h)) * linear(f"{at}.up", h))
        h = norm(f"{at}.norm_feed_forward", h + fed)
        torch.testing.assert_close(logits, linear("head", h), rtol=1e-4, atol=1e-5)


@st.composite
def networks(draw):
    """A network of some shape, its arm, and a batch of windows with what follows them."""
    heads, layers = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    arm = STANDARD.but(
        layer_weights=(1.0,) * layers,
        width=heads * 2 * draw(st.integers(1, 4)),
        heads=heads,
        hidden=draw(st.integers(4, 24)),
    )
    one = model(arm, draw(st.integers(0, 99)))
    lines = torch.randint(0, 1000, (draw(st.integers(1, 4)),), generator=seeded(draw))
    windows = one.data.train[lines, : draw(st.integers(2, 16))]
    return one, windows[:, :-1], windows[:, 1:]


def seeded(draw):
    return torch.Generator().manual_seed(draw(st.integers(0, 99)))


def gradients(one, loss):
    one.module.zero_grad()
    loss.backward()
    return [None if p.grad is None else p.grad.clone() for p in one.module.parameters()]


def loss_of_two(shallow, deep, y, alpha):
    """The loss of an exit and of the last layer, weighted, from their logits."""
    shallow, deep = (F.cross_entropy(x.flatten(0, 1), y.flatten()) for x in (shallow, deep))
    return torch.stack([alpha * shallow, (1 - alpha) * deep]).sum()


def by_a_loop_over_blocks(network, x):
    """The logits after each layer, without the network's own passes."""
    states = [F.embedding(x, network.embedding.weight)]
    for block in network.blocks:
        states.append(block(states[-1]))
    return [F.linear(h, network.head.weight) for h in states[1:]]


def by_forward_all_layers(network, x, y, alpha, exit_layer):
    layers = network.forward_all_layers(x)
    return loss_of_two(layers[exit_layer - 1], layers[-1], y, alpha)


def by_forward_train(network, x, y, alpha, exit_layer):
    return loss_of_two(*network.forward_train(x, exit_layer=exit_layer), y, alpha)


@given(network=networks(), data=st.data())
def test_both_forward_passes_are_a_loop_over_blocks(network, data):
    (one, x, _), exit_layer = network, data.draw(st.integers(1, network[0].arm.layers))
    layers = by_a_loop_over_blocks(one.module, x)
    found = one.module.forward_all_layers(x)
    assert all(torch.equal(a, b) for a, b in zip(layers, found, strict=True))
    shallow, deep = one.module.forward_train(x, exit_layer=exit_layer)
    assert shallow.equal(layers[exit_layer - 1])
    assert deep.equal(layers[-1])


@given(network=networks(), alpha=st.floats(0.05, 0.95), data=st.data())
def test_without_a_loss_between_them_both_forward_passes_train_alike(network, alpha, data):
    one, x, y = network
    exit_layer = data.draw(st.integers(1, one.arm.layers - 1))
    weights = [0.0] * one.arm.layers
    weights[exit_layer - 1], weights[-1] = alpha, 1 - alpha
    models = [model(one.arm.but(layer_weights=tuple(weights))) for _ in range(4)]
    optimisers = [torch.optim.AdamW(m.module.parameters(), lr=0.01) for m in models]
    for _ in range(3):
        layers = by_a_loop_over_blocks(models[0].module, x)
        losses = [
            loss_of_two(layers[exit_layer - 1], layers[-1], y, alpha),
            by_forward_all_layers(models[1].module, x, y, alpha, exit_layer),
            by_forward_train(models[2].module, x, y, alpha, exit_layer),
            models[3].loss(x, y, torch.zeros(len(x)))[0],  # what is trained
        ]
        assert all(losses[0].equal(loss) for loss in losses)
        expected, *others = (gradients(m, loss) for m, loss in zip(models, losses, strict=True))
        for other in others:
            assert all(torch.equal(a, b) for a, b in zip(expected, other, strict=True))
        for optimiser in optimisers:
            optimiser.step()
    for other in models[1:]:
        assert_same(models[0].module.state_dict(), other.module.state_dict())


class TrainedBy(torch.nn.Module):
    """A loss of a network, as a function of its parameters."""

    def __init__(self, loss, network):
        super().__init__()
        self.loss, self.network = loss, network

    def forward(self, *given):
        return self.loss(self.network, *given)


@given(network=networks(), alpha=st.floats(0.05, 0.95), runs=st.integers(1, 3), data=st.data())
def test_both_forward_passes_train_a_stack_alike(network, alpha, runs, data):
    one, x, y = network
    exit_layer = data.draw(st.integers(1, one.arm.layers - 1))
    stack = stacked([dict(model(one.arm, seed).module.named_parameters()) for seed in range(runs)])
    found = []
    for loss in (by_forward_all_layers, by_forward_train):
        leaves = {f"network.{name}": p.clone().requires_grad_() for name, p in stack.items()}
        trained_by = TrainedBy(loss, one.module)
        given_too = (x, y, alpha, exit_layer)
        computed = functools.partial(functional_call, trained_by, args=given_too)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "There is a performance drop", UserWarning)
            losses = vmap(computed)(leaves)
            found.append([losses, *torch.autograd.grad(losses.sum(), list(leaves.values()))])
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*found, strict=True))


@given(network=networks(), layer=st.integers(1, 4), weight=st.sampled_from([0.0, 0.5]))
def test_learning_how_sure_to_be_changes_nothing_else(network, layer, weight):
    one, x, y = network
    exits = (min(layer, one.arm.layers),)
    other = model(one.arm.but(confidence="learned", exits=exits, routing_threshold=0.5))
    other.module.load_state_dict(one.module.state_dict(), strict=False)
    with torch.no_grad():  # it starts at 0, where it could pass nothing on
        other.module.confidence.weight.fill_(weight)
    loss, reported = other.loss(x, y, torch.zeros(len(x)))
    plain, _ = one.loss(x, y, torch.zeros(len(x)))
    assert torch.equal(reported, plain)
    expected = dict(zip(dict(one.module.named_parameters()), gradients(one, plain), strict=True))
    learned = dict(zip(dict(other.module.named_parameters()), gradients(other, loss), strict=True))
    assert all(torch.equal(learned[name], expected[name]) for name in expected)
    h = one.module.states(x)[exits[0] - 1]
    right = (one.module.head(h).argmax(-1) == y).flatten().float()
    sure = (weight * h.sum(-1) + other.module.confidence.bias).sigmoid().flatten()
    torch.testing.assert_close(
        learned["confidence.weight"],
        ((sure - right)[:, None] * h.flatten(0, 1)).mean(0, keepdim=True),
        rtol=1e-4, atol=1e-6,
    )  # fmt: skip


@st.composite
def outputs(draw, tokens=40):
    """Logits of some layers for some tokens, and how sure each of some exits is."""
    generator, layers = seeded(draw), draw(st.integers(1, 4))
    logits = list(torch.randn(layers, tokens, 5, generator=generator) * 3)
    exits = draw(st.sets(st.integers(1, layers), min_size=1))
    return logits, {depth: torch.rand(tokens, generator=generator) for depth in exits}


@given(answers=outputs(), threshold=st.floats(0, 1))
def test_each_token_takes_the_first_answer_that_is_sure_enough(answers, threshold):
    logits, sureness = answers
    taken = routed(logits, sureness, threshold=threshold)
    for i in range(40):
        depth = next(
            (d for d in sorted(sureness) if threshold > 0 and sureness[d][i] >= threshold),
            len(logits),
        )
        assert int(taken.depths[i]) == depth
        assert torch.equal(taken.logits[i], logits[depth - 1][i])


@given(answers=outputs())
def test_no_threshold_and_one_that_nobody_reaches_both_mean_full_depth(answers):
    logits, sureness = answers
    unreached = 0.5 + 0.5 * float(torch.stack(list(sureness.values())).max())
    for threshold in (0.0, unreached):
        assert torch.equal(routed(logits, sureness, threshold=threshold).logits, logits[-1])


@given(shares=st.lists(st.booleans(), min_size=1, max_size=50))
def test_the_share_of_the_computation_follows_from_the_share_that_leaves(shares):
    sure = torch.tensor(shares).float()
    logits = list(torch.zeros(3, len(sure), 2))
    depth = routed(logits, {1: sure}, threshold=0.5).depths.double().mean()
    share = float(depth) / 3
    assert share == pytest.approx(1 - 2 / 3 * float(sure.mean()))
    assert 1 / 3 <= share <= 1


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.95])
def test_measures_are_what_they_are_called(threshold):
    arm = ASYMMETRIC.but(**SMALL, routing_threshold=threshold)
    one = model(arm)
    with torch.no_grad():
        measures = one.measure()
        windows = one.data.validation.flatten(0, 1)
        layers = one.module.forward_all_layers(windows[:, :-1])
    wanted = windows[:, 1:].flatten()
    shallow, _, deep = (logits.flatten(0, 1) for logits in layers)
    sures = shallow.softmax(-1).max(-1).values
    leaves = (sures >= threshold) & (threshold > 0)
    logits = torch.where(leaves[:, None], shallow, deep)
    losses, of_shallow, of_deep = (
        -x.log_softmax(-1).gather(1, wanted[:, None])[:, 0].double()
        for x in (logits, shallow, deep)
    )
    share = float(leaves.double().mean())
    assert measures["perplexity"] == pytest.approx(math.exp(losses.mean()), rel=1e-4)
    right = (logits.argmax(-1) == wanted).double().mean()
    assert measures["accuracy"] == pytest.approx(float(right), abs=1e-6)
    assert measures["compute"] == pytest.approx(1 - share * 2 / 3, abs=1e-6)
    surest = sures.argsort()[len(sures) // 2 :]
    halved = of_deep.index_copy(0, surest, of_shallow[surest])
    assert measures["perplexity_with_half_leaving"] == pytest.approx(
        math.exp(halved.mean()), rel=1e-3
    )
    if 0 < share < 1:
        expected = [float(of_deep[way].mean()) for way in (leaves, ~leaves)]
        assert measures["loss_of_leaving_and_staying"] == pytest.approx(expected, rel=1e-4)
    else:
        assert "loss_of_leaving_and_staying" not in measures


THIRDS = {"layer_weights": (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)}
SEVEN_TENTHS = {"layer_weights": (0.7, 0.0, 0.3), "routing_threshold": 0.95}
SPELLED_OUT = {
    "standard": {"layer_weights": (0.0, 0.0, 1.0)},
    "deep supervision": THIRDS,
    "deep supervision, early exit": {**THIRDS, "routing_threshold": 0.7},
    "auxiliary loss": {"layer_weights": (0.5, 0.0, 0.5), "routing_threshold": 0.95},
    "asymmetric 0.7": SEVEN_TENTHS,
    "asymmetric 0.8": {"layer_weights": (0.8, 0.0, 0.2), "routing_threshold": 0.95},
    "with L2 loss": {"layer_weights": (0.7, 1.0, 0.3), "routing_threshold": 0.95},
    "deep focus": {"layer_weights": (0.3, 0.0, 0.7), "routing_threshold": 0.95},
    "dynamic alpha": {**SEVEN_TENTHS, "alpha_path": "linear"},
    "decreasing rates": {**SEVEN_TENTHS, "layer_lr_scales": (1.0, 0.5, 0.1)},
    "increasing rates": {**SEVEN_TENTHS, "layer_lr_scales": (0.1, 0.5, 1.0)},
    "one layer": {"layer_weights": (1.0,)},
}


def test_the_names_of_the_source_are_these_settings():
    spelled_out = {name: ExitArm(**settings) for name, settings in SPELLED_OUT.items()}
    assert spelled_out == PRESETS
    for name, arm in PRESETS.items():
        assert arm.label == arm.but(data=WIKITEXT).at("ci").label == name


def test_the_rate_of_each_layer_is_scaled_and_no_other():
    one = model(STANDARD.but(**SMALL, layer_weights=EQUAL, layer_lr_scales=(1.0, 0.5, 0.0)))
    for name, _ in one.module.named_parameters():
        layer = int(name.split(".")[1]) if name.startswith("blocks.") else 0
        assert one.lr_scales().get(name, 1.0) == (1.0, 0.5, 0.0)[layer], name


def test_more_epochs_at_most_change_nothing_once_a_run_stopped():
    arm = STANDARD.but(**SMALL, **TEXT)
    recipe = arm.recipe.but(batch=4, lr=0.1, patience=0)
    shorter, longer = (trained(arm.but(recipe=recipe.but(epochs=n))) for n in (20, 30))
    assert len(shorter["history"]["loss"]) < 20
    assert shorter == longer


def test_what_differs_in_routing_alone_is_trained_once_and_ends_as_it_would_alone(monkeypatch):
    plain = STANDARD.but(**SMALL, **TEXT, layer_weights=EQUAL)
    plain = plain.but(recipe=plain.recipe.but(epochs=2, batch=8))
    arms = [plain.but(routing_threshold=t, exits=e) for t, e in ((0, (1,)), (0.2, (1, 2)))]
    runs = [Run(arm, 1) for arm in (*arms, plain.but(confidence="learned"))] + [Run(arms[1], 2)]
    alone = {run: trained(run.arm, run.seed) for run in runs}
    steps = []
    advance = LoopProgram.advance
    monkeypatch.setattr(LoopProgram, "advance", lambda *a: steps.append(1) or advance(*a))
    together = dict(train(STUDY, runs, engine="loop", device=CPU))
    assert together == alone
    longest = {run.training: 0 for run in runs}
    assert len(longest) == 3
    for run in runs:
        longest[run.training] = max(longest[run.training], alone[run]["steps"])
    assert len(steps) == sum(longest.values())


def test_dynamic_alpha_goes_from_nine_tenths_to_a_half():
    arm = PRESETS["dynamic alpha"]
    assert arm.weights_in(0) == pytest.approx((0.9, 0, 0.1))
    assert arm.weights_in(49) == pytest.approx((0.5, 0, 0.5))
    one = model(arm.but(**SMALL))
    x, y, epochs = first_batch(one.data, size=32)
    assert not torch.equal(one.loss(x, y, epochs)[0], one.loss(x, y, epochs + 49)[0])


def test_an_exit_that_does_not_exist_is_refused():
    network = EarlyExitTransformer(alphabet=5, width=8, heads=2, hidden=8, layers=2)
    with pytest.raises(ValueError, match="exit_layer=3 is not one of the 2 layers"):
        network.forward_train(torch.zeros(1, 4, dtype=torch.int64), exit_layer=3)


def test_each_window_is_followed_by_the_text_shifted_by_one_character():
    data, text = loaded(STANDARD), load_characters(STANDARD.data)
    x, y, epochs = data.batch(data.epoch(1, 5)[None])
    assert (epochs == 5).all()
    for row in (0, 1, 31, 32, 48 * 32 - 1):
        window = text.train[64 * row : 64 * row + 65].astype(int).tolist()
        assert x[0, row].tolist() == window[:-1]
        assert y[0, row].tolist() == window[1:]
    assert data.validation.shape == (4, 32, 65)
    assert data.validation[3, 31].tolist() == text.validation[127 * 64 : 127 * 64 + 65].tolist()


def test_what_a_network_that_no_token_leaves_computes_is_exact():
    assert STANDARD.is_exact("compute")
    assert not ASYMMETRIC.is_exact("compute")
    assert not STANDARD.is_exact("perplexity")
