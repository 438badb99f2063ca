"""What explains early exit's numbers, and its future work.  Our questions to source 000.

The source compares whole configurations. Each control changes one thing of its best one, or asks
whether a finding survives where the source would look next. The sentences say what one would
expect who believes the source.
"""

import pytest

from repro import claim
from repro.studies.early_exit.arms import SENTENCES, WIKITEXT, on

SMALLEST_IMPROVEMENT = 34.86 / 30.54  # of those that the source reports, 12.4 %
on_both_texts = pytest.mark.parametrize("text", [SENTENCES, WIKITEXT])


@claim(
    "The best model is better with early exit than at full depth",
    source="000, control",
    kind="control",
)
@on_both_texts
def test_routing_helps(trials, text):
    (best,) = on(text, "decreasing rates")
    routed, full_depth = trials(best, best.but(routing_threshold=0.0))
    assert routed.perplexity < full_depth.perplexity


@claim(
    "Decreasing rates beat half the learning rate everywhere", source="000, control", kind="control"
)
@on_both_texts
def test_decreasing_rates_beat_half_the_rate(trials, text):
    best, plain = on(text, "decreasing rates", "asymmetric 0.7")
    decreasing, slower = trials(best, plain.but(recipe=plain.recipe.but(lr=5e-4)))
    assert decreasing.perplexity < slower.perplexity


@pytest.mark.nightly
@claim(
    "Half the learning rate everywhere is as good as decreasing rates, on fresh seeds",
    source="000, control",
    kind="control",
    only_at="ci",
    looks=(15, 30, 45),
    after=20,
)
def test_half_the_rate_is_as_good(trials):
    best, plain = on(SENTENCES, "decreasing rates", "asymmetric 0.7")
    decreasing, slower = trials(best, plain.but(recipe=plain.recipe.but(lr=5e-4)))
    # Nearer than that is as good.
    assert slower.perplexity.is_times(1.0, decreasing.perplexity, within_ratio=SMALLEST_IMPROVEMENT)


@claim("An exit that was never trained is worse than those that were", source="000", kind="control")
@on_both_texts
def test_an_untrained_exit_is_worse(trials, text):
    layers = trials(*on(text, "asymmetric 0.7")).layer_perplexity
    assert (layers[1] > layers[0]) & (layers[1] > layers[2])


@claim(
    "A weight on layer 1 that falls from 0.9, to reach 0.5 at epoch 50, beats a fixed one of 0.7",
    source="000, dynamic alpha in its repository",
    kind="question",
)
@on_both_texts
def test_dynamic_alpha(trials, text):
    dynamic, fixed = trials(*on(text, "dynamic alpha", "asymmetric 0.7"))
    assert dynamic.perplexity < fixed.perplexity


@claim(
    "Trained on, it goes on: train loss falls and validation perplexity rises up to epoch 4",
    source="000, Experimental Notes",
    kind="question",
)
@on_both_texts
@pytest.mark.parametrize("name", ["standard", "decreasing rates"])
def test_goes_on_overfitting(trials, name, text):
    (arm,) = on(text, name)
    curves = trials(arm.but(recipe=arm.recipe.but(epochs=4, patience=None))).over_epochs
    assert curves.loss.falls(after=1) & curves.perplexity.climbs(after=1)


def twice_as_wide(*arms):
    return [arm.but(width=2 * arm.width, hidden=2 * arm.hidden) for arm in arms]


@pytest.mark.nightly
@claim(
    "In a network of twice the width the best model still improves on the standard one",
    source="000, Future Work 1: larger models",
    kind="question",
    looks=(5, 8, 12),  # a run takes six minutes of a core
)
def test_scales_to_larger_models(trials):
    better, standard = trials(*twice_as_wide(*on(SENTENCES, "decreasing rates", "standard")))
    assert better.perplexity < standard.perplexity


@claim(
    "On WikiText-2, in a network of twice the width, the best model improves on the standard one",
    source="000, Future Work 1: larger models",
    kind="question",
    only_at="paper",
)
def test_scales_to_larger_models_on_wikitext(trials):
    better, standard = trials(*twice_as_wide(*on(WIKITEXT, "decreasing rates", "standard")))
    assert better.perplexity < standard.perplexity


@claim(
    "Four times the text gives a better perplexity",
    source="000, Future Work 2: more data",
    kind="question",
    only_at="paper",
)
@pytest.mark.parametrize("name", ["standard", "decreasing rates"])
def test_more_data_helps(trials, name):
    (arm,) = on(WIKITEXT, name)
    more, less = trials(arm.but(characters=4 * arm.characters), arm)
    assert more.perplexity < less.perplexity


@claim(
    "Between 0.5 and 0.8, too, the more weight on layer 1 the better",
    source="000, Future Work 4: finer alpha",
    kind="question",
)
def test_finer_alpha(trials):
    (asymmetric,) = on(WIKITEXT, "asymmetric 0.7")
    alphas = (0.5, 0.6, 0.7, 0.75, 0.8)
    arms = [asymmetric.but(layer_weights=(alpha, 0.0, round(1 - alpha, 2))) for alpha in alphas]
    assert trials(arms).perplexity.falls()


@claim(
    "A second exit saves further computation",
    source="000, Future Work 5: several exits",
    kind="question",
)
def test_a_second_exit_saves_computation(trials):
    (supervised,) = on(WIKITEXT, "deep supervision, early exit")
    two, one = trials(supervised.but(exits=(1, 2)), supervised)
    assert two.compute < one.compute


@claim(
    "A second exit leaves the perplexity where it was, to 1 %",
    source="000, Future Work 5: several exits",
    kind="question",
)
def test_a_second_exit_costs_nothing(trials):
    (supervised,) = on(WIKITEXT, "deep supervision, early exit")
    two, one = trials(supervised.but(exits=(1, 2)), supervised)
    assert two.perplexity.is_times(1.0, one.perplexity, within_ratio=1.01)


@claim(
    "With half of the tokens leaving, a learned confidence chooses them better than max-softmax",
    source="000, Future Work 6: a learned confidence head",
    kind="question",
)
@on_both_texts
def test_learned_confidence_chooses_better(trials, text):
    (asymmetric,) = on(text, "asymmetric 0.7")
    learned, softmax = trials(asymmetric.but(confidence="learned"), asymmetric)
    assert learned.perplexity_with_half_leaving < softmax.perplexity_with_half_leaving
