"""Networks of source 001 before their first step, and the warm-up that it proposes."""

from itertools import pairwise

import pytest
import torch

from repro.arm import Needs, Run
from repro.code.modules import Modules
from repro.code.reached import reached
from repro.core.train import train
from repro.runs.identity import roots
from repro.studies.context_vector import start, study
from repro.studies.context_vector.arms import ADVANCED, BASELINE, UPDATES_AN_EPOCH
from repro.studies.context_vector.evaluation import mean_loss
from repro.studies.context_vector.variants import AtTheStart, WarmedUp
from tests.studies.small import CONTEXT as SMALL

CPU = torch.device("cpu")
TINY = AtTheStart(
    layers=3, context=16, width=32, embedding=16, vocabulary=64, length=7, sequences=48,
    validation_sequences=12, weight_std=0.2, data="wikitext-2-twin", looked_at=8,
)  # fmt: skip


def test_the_first_layer_is_measured_before_the_first_step():
    [(_, values)] = train(start.STUDY, [Run(TINY, 3)], engine="loop", device=CPU)
    arm = SMALL.but(epochs_a_pass=1)
    plain = study.STUDY.reference(Run(arm, 3), study.STUDY.load(arm, CPU), CPU)
    x = plain.data.train[:8]
    logits, _ = plain.module(x[:, :-1])
    mean_loss(logits[None], x[None, :, 1:])[0].backward()
    measures = values["measures"]
    norm = float(plain.module.layers[0].weight.grad.norm())
    assert measures["first_layer_gradient_norm"] == pytest.approx(norm, rel=1e-5)
    assert measures["parameters"] == sum(p.numel() for p in plain.module.parameters())
    assert measures["parameters_a_sequence"] == measures["parameters"] / 48
    assert set(measures) == set(AtTheStart.metrics)
    assert [name for name in measures if TINY.is_exact(name)] == [
        "parameters",
        "parameters_a_sequence",
        "sequences",
    ]


def test_an_untrained_network_has_the_documented_size_at_every_profile(monkeypatch, tmp_path):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    advanced = AtTheStart(layers=12, context=512)
    assert advanced.at("ci") == advanced
    assert (advanced.steps, advanced.stacks) == (0, False)
    assert advanced.label == "12 layers, context 512, untrained"
    with pytest.raises(Needs, match="needs WikiText-2 itself"):
        advanced.but(data="wikitext-2").located()


def test_the_proposed_warm_up_rises_from_a_quarter_to_the_whole_rate_in_five_epochs():
    arm = WarmedUp(layers=12, context=512)
    recipe, total = arm.recipe, 50 * UPDATES_AN_EPOCH
    factors = [recipe.lr_factor(step, total) for step in range(total)]
    assert recipe.lr * factors[0] == pytest.approx(1e-4)
    assert factors[125:] == [1.0] * (total - 125)
    steps = [after - before for before, after in pairwise(factors[:126])]
    assert steps == pytest.approx([0.75 / 125] * 125)
    assert (arm.at("ci").recipe.warmup, arm.at("ci").recipe.warmup_from) == (125, 0.25)
    assert "warm-up" in arm.label


def test_a_run_of_a_variant_covers_its_own_code_and_no_other_run_does():
    variant, plain = (
        set(reached(roots(frozenset({type(arm), type(arm.recipe)})), Modules()))
        for arm in (WarmedUp(layers=12, context=512), ADVANCED)
    )
    assert any(name.endswith("WarmUp.lr_factor") for name in variant)
    assert not any("variants" in name for name in plain)


def test_a_longer_run_at_a_constant_rate_is_the_shorter_one_continued():
    short = SMALL.but(recipe=SMALL.recipe.but(epochs=2, patience=None))
    long = SMALL.but(recipe=SMALL.recipe.but(epochs=4, patience=None))
    [(_, first)], [(_, both)] = (
        train(study.STUDY, [Run(arm, 1)], engine="loop", device=CPU) for arm in (short, long)
    )
    assert both["history"]["perplexity"][:2] == first["history"]["perplexity"]
    assert BASELINE.recipe.schedule == "constant"
