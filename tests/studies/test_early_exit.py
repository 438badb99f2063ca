"""Exact properties of early exit: the network, its forward passes, routing, rates and weights."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram
from repro.core.train import train
from repro.data.characters import load_characters
from repro.recipe import Moment
from repro.studies.early_exit.arms import ASYMMETRIC, EQUAL, ONE_LAYER, PRESETS, STANDARD, ExitArm
from repro.studies.early_exit.model import EarlyExitTransformer, rotated
from repro.studies.early_exit.routing import routed
from repro.studies.early_exit.study import STUDY

CPU = torch.device("cpu")
SMALL = {"width": 16, "heads": 2, "hidden": 24}
few = settings(max_examples=15, deadline=None)


def model(arm, seed=1):
    return STUDY.reference(Run(arm, seed), STUDY.load(arm, CPU), CPU)


def first_batch(arm):
    data = STUDY.load(arm, CPU)
    x, y, epochs = data.batch(data.epoch(1, 0)[None, :32])
    return x[0], y[0], epochs[0]


@pytest.mark.parametrize(("arm", "count"), [(STANDARD, 200_832), (ONE_LAYER, 69_504)])
def test_the_network_has_the_recorded_number_of_parameters(arm, count):
    assert sum(p.numel() for p in model(arm).module.parameters()) == count


def test_the_network_is_the_one_that_the_facts_describe():
    arm = STANDARD.but(**SMALL)
    network, (x, _, _) = model(arm).module, first_batch(arm)
    p = dict(network.named_parameters())
    causal = torch.ones(64, 64).tril().bool()
    angles = torch.arange(64.0)[:, None] * 10_000.0 ** (-torch.arange(4) / 4)

    def norm(h, name):
        return h / (h.square().mean(-1, keepdim=True) + 1e-6).sqrt() * p[name]

    def turned(z):  # the same rotation, with complex numbers
        pairs = torch.complex(z[..., :4], z[..., 4:]) * torch.polar(torch.ones(64, 4), angles)
        return torch.cat([pairs.real, pairs.imag], -1)

    h = p["embedding.weight"][x]
    for number, logits in enumerate(network.forward_all_layers(x)):
        at = f"blocks.{number}."
        q, k, v = (
            (h @ p[f"{at}attention.{part}.weight"].T).view(32, 64, 2, 8).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        scores = (turned(q) @ turned(k).transpose(-1, -2)) / math.sqrt(8)
        mixed = scores.masked_fill(~causal, -math.inf).softmax(-1) @ v
        mixed = mixed.transpose(1, 2).reshape(32, 64, 16) @ p[f"{at}attention.out.weight"].T
        h = norm(h + mixed, f"{at}norm_attention.weight")
        gate, up = h @ p[f"{at}gate.weight"].T, h @ p[f"{at}up.weight"].T
        fed = (gate * gate.sigmoid() * up) @ p[f"{at}down.weight"].T
        h = norm(h + fed, f"{at}norm_feed_forward.weight")
        torch.testing.assert_close(logits, h @ p["head.weight"].T, rtol=1e-4, atol=1e-5)


def test_no_answer_depends_on_what_comes_after_it():
    arm = STANDARD.but(**SMALL)
    network, (x, _, _) = model(arm).module, first_batch(arm)
    changed = x.clone()
    changed[:, 40:] = (changed[:, 40:] + 1) % 30
    for before, after in zip(
        network.forward_all_layers(x), network.forward_all_layers(changed), strict=True
    ):
        assert torch.equal(before[:, :40], after[:, :40])
        assert not torch.equal(before[:, 40:], after[:, 40:])


def test_attention_depends_on_distances_alone():
    q, k = torch.randn(2, 1, 1, 1, 8)
    near, far = (
        rotated(F.pad(q.expand(1, 1, 1, 8), (0, 0, shift + 3, 0)))[0, 0, -1]
        @ rotated(F.pad(k.expand(1, 1, 1, 8), (0, 0, shift, 0)))[0, 0, -1]
        for shift in (0, 20)
    )
    torch.testing.assert_close(near, far, rtol=1e-4, atol=1e-4)


@few
@given(seed=st.integers(0, 99), alpha=st.floats(0.05, 0.95))
def test_without_a_loss_on_layer_2_both_forward_passes_train_alike(seed, alpha):
    arm = STANDARD.but(**SMALL, layer_weights=(alpha, 0.0, 1 - alpha))
    x, y, epochs = first_batch(arm)
    all_layers, two_exits = model(arm, seed), model(arm, seed)
    loss, _ = all_layers.loss(x, y, epochs)
    found = two_exits.module.forward_train(x)
    shallow, deep = (
        F.cross_entropy(logits.flatten(0, 1), y.flatten())
        for logits in (found.shallow_logits, found.deep_logits)
    )
    other = torch.stack([alpha * shallow, (1 - alpha) * deep]).sum()
    assert torch.equal(loss, other)
    loss.backward()
    other.backward()
    for ours, theirs in zip(
        all_layers.module.parameters(), two_exits.module.parameters(), strict=True
    ):
        assert torch.equal(ours.grad, theirs.grad)


@few
@given(weights=st.tuples(*[st.floats(0, 2)] * 3).filter(lambda w: sum(w) > 0))
def test_the_loss_is_the_weighted_sum_of_every_layers_loss(weights):
    arm = STANDARD.but(**SMALL, layer_weights=weights)
    x, y, epochs = first_batch(arm)
    one = model(arm)
    losses = [
        F.cross_entropy(z.flatten(0, 1), y.flatten()) for z in one.module.forward_all_layers(x)
    ]
    expected = sum(w * loss.item() for w, loss in zip(weights, losses, strict=True))
    assert one.loss(x, y, epochs)[0].item() == pytest.approx(expected, rel=1e-5)


@few
@given(data=st.data(), threshold=st.floats(0, 1), layer=st.integers(1, 3))
def test_each_token_takes_the_shallow_answer_exactly_where_it_is_sure_enough(
    data, threshold, layer
):
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    shallow, deep = torch.randn(2, 50, 5, generator=generator) * 3
    found = routed(shallow, deep, threshold=threshold)
    for i in range(50):
        leaves = threshold > 0 and float(shallow[i].softmax(-1).max()) >= threshold
        assert bool(found.exits[i]) == leaves
        assert torch.equal(found.logits[i], shallow[i] if leaves else deep[i])
    share = float(found.exits.float().mean())
    assert 1 / 3 <= (share * layer + (1 - share) * 3) / 3 <= 1


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.95])
def test_measures_are_what_they_are_called(threshold):
    arm = ASYMMETRIC.but(**SMALL, routing_threshold=threshold)
    one = model(arm)
    with torch.no_grad():
        measures = one.measure()
    losses, right, exits, deep = [], [], [], []
    for window in one.data.validation.flatten(0, 1):
        with torch.no_grad():
            layers = one.module.forward_all_layers(window[None, :-1])
        for t in range(64):
            sure = float(layers[0][0, t].softmax(-1).max())
            exits.append(0 < threshold <= sure)
            deep.append(F.cross_entropy(layers[2][0, t], window[t + 1]).item())
            logits = layers[0 if exits[-1] else 2][0, t]
            losses.append(float(F.cross_entropy(logits, window[t + 1])))
            right.append(int(logits.argmax()) == int(window[t + 1]))
    share = sum(exits) / len(exits)
    assert measures["perplexity"] == pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-4)
    assert measures["accuracy"] == pytest.approx(sum(right) / len(right), abs=1e-6)
    assert measures["compute"] == pytest.approx(1 - share * 2 / 3, abs=1e-6)
    groups = [
        [loss for loss, left in zip(deep, exits, strict=True) if left == way] for way in (1, 0)
    ]
    if all(groups):
        expected = [sum(group) / len(group) for group in groups]
        assert measures["loss_of_leaving_and_staying"] == pytest.approx(expected, rel=1e-4)
    else:
        assert "loss_of_leaving_and_staying" not in measures


def test_the_names_of_the_source_are_these_settings():
    assert PRESETS["auxiliary loss"] == ExitArm(layer_weights=(0.5, 0, 0.5), routing_threshold=0.95)
    assert PRESETS["deep supervision"] == ExitArm(layer_weights=EQUAL)
    assert PRESETS["deep supervision, early exit"] == ExitArm(
        layer_weights=EQUAL, routing_threshold=0.7
    )
    assert PRESETS["decreasing rates"] == ExitArm(
        layer_weights=(0.7, 0, 0.3), routing_threshold=0.95, layer_lr_scales=(1.0, 0.5, 0.1)
    )
    for name, preset in PRESETS.items():
        assert preset.label == name


def test_the_rate_of_each_layer_is_scaled_and_no_other():
    arm = STANDARD.but(**SMALL, layer_weights=EQUAL)
    moved = {}
    for scales in ((1.0, 1.0, 1.0), (1.0, 0.5, 0.0)):
        scaled = arm.but(layer_lr_scales=scales, recipe=arm.recipe.but(clip=None, weight_decay=0.0))
        data = STUDY.load(scaled, CPU)
        program = LoopProgram(STUDY, [Run(scaled, 1)], data, CPU)
        before = {name: p.detach().clone() for name, p in program.parameters.items()}
        program.advance(
            data.batch(data.epoch(1, 0)[None, :32]), Moment(step=0, per_epoch=1, total=1)
        )
        moved[scales] = {name: p.detach() - before[name] for name, p in program.parameters.items()}
    plain, scaled = moved.values()
    for name, step in plain.items():
        layer = int(name.split(".")[1]) if name.startswith("blocks.") else 0
        torch.testing.assert_close(
            scaled[name], step * (1.0, 0.5, 0.0)[layer], rtol=1e-3, atol=1e-6
        )


def test_more_epochs_at_most_change_nothing_once_a_run_stopped():
    arm = STANDARD.but(**SMALL)
    results = []
    for epochs in (20, 30):
        run = Run(arm.but(recipe=arm.recipe.but(epochs=epochs)), 1)
        ((_, values),) = train(STUDY, [run], engine="loop", device=CPU)
        assert values["steps"] < 20 * 48
        results.append(values)
    assert results[0]["measures"]["perplexity"] == results[1]["measures"]["perplexity"]
    assert results[0]["history"]["loss"] == results[1]["history"]["loss"]


def test_dynamic_alpha_goes_from_nine_tenths_to_a_half():
    arm = PRESETS["dynamic alpha"]
    assert arm.weights_in(0) == pytest.approx((0.9, 0, 0.1))
    assert arm.weights_in(49) == pytest.approx((0.5, 0, 0.5))
    cosine = arm.but(alpha_path="cosine")
    assert cosine.weights_in(10)[0] > arm.weights_in(10)[0]
    x, y, epochs = first_batch(arm.but(**SMALL))
    one = model(arm.but(**SMALL))
    assert not torch.equal(one.loss(x, y, epochs)[0], one.loss(x, y, epochs + 49)[0])


@pytest.mark.parametrize(
    ("settings_", "sentence"),
    [
        ({"layer_weights": ()}, "trains nothing"),
        ({"layer_weights": (0.0, 0.0)}, "trains nothing"),
        ({"layer_weights": (1.0, -0.1)}, "not negative"),
        ({"layer_lr_scales": (1.0, 0.5)}, "must be 3 numbers"),
        ({"layer_lr_scales": (1.0, 0.5, -1.0)}, "not negative"),
        ({"routing_threshold": 1.1}, "compared with a probability"),
        ({"routing_threshold": -0.1}, "compared with a probability"),
        ({"exit_layer": 4}, "not one of the 3 layers"),
    ],
)
def test_settings_that_cannot_mean_anything_are_refused(settings_, sentence):
    with pytest.raises(ValueError, match=sentence):
        STANDARD.but(**settings_)


def test_an_exit_that_does_not_exist_is_refused():
    network = EarlyExitTransformer(alphabet=5, width=8, heads=2, hidden=8, layers=2)
    with pytest.raises(ValueError, match="exit_layer=3 is not one of the 2 layers"):
        network.forward_train(torch.zeros(1, 4, dtype=torch.int64), exit_layer=3)


def test_each_window_is_followed_by_the_text_shifted_by_one_character():
    data, text = STUDY.load(STANDARD, CPU), load_characters(STANDARD.data)
    x, y, epochs = data.batch(data.epoch(1, 5)[None])
    assert (epochs == 5).all()
    for row in (0, 1, 31, 32, 48 * 32 - 1):
        window = text.train[64 * row : 64 * row + 65].astype(int).tolist()
        assert x[0, row].tolist() == window[:-1]
        assert y[0, row].tolist() == window[1:]
    assert data.validation.shape == (4, 32, 65)
    assert data.validation[3, 31].tolist() == text.validation[127 * 64 : 127 * 64 + 65].tolist()
