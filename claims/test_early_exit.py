"""Early exit, deep supervision, discriminative rates.  Source 000: a 3-layer character model.

The source says WikiText-2. Its numbers were made on two repeated sentences that its loader fell
back to (30 different characters, as its recorded 200,832 parameters prove). What it concludes is
judged on both texts. Its numbers are judged on the sentences, and on WikiText-2 at the documented
size.
"""

import pytest

from repro import claim
from repro.studies.early_exit.arms import PRESETS, SENTENCES, WIKITEXT, on

RANKING = [  # its Final Ranking, worst first: perplexity, and share of the computation
    ("standard", 34.86, 1.000),
    ("deep supervision", 30.54, 1.000),
    ("deep supervision, early exit", 28.13, 0.466),
    ("auxiliary loss", 23.98, 0.652),
    ("asymmetric 0.7", 22.95, 0.650),
    ("asymmetric 0.8", 22.40, 0.652),
    ("increasing rates", 21.14, 0.721),
    ("decreasing rates", 18.52, 0.652),
]
NAMES = [name for name, _, _ in RANKING]
ROUTED = [name for name, _, share in RANKING if share < 1]
A_RANK = 1.0  # perplexities of neighbouring rows lie 0.5 to 4.3 apart
A_POINT = 0.01  # shares of computation are told apart at this size: 65.0 % and 65.2 % are one

ranking = "000, Final Ranking"
on_both_texts = pytest.mark.parametrize("text", [SENTENCES, WIKITEXT])
each_row = pytest.mark.parametrize(("name", "perplexity", "share"), RANKING, ids=NAMES)
each_improvement = pytest.mark.parametrize(
    ("name", "improvement"),
    [
        ("decreasing rates", 0.469),
        ("increasing rates", 0.393),
        ("asymmetric 0.8", 0.357),
        ("asymmetric 0.7", 0.342),
        ("auxiliary loss", 0.312),
        ("deep supervision, early exit", 0.193),
        ("deep supervision", 0.124),
    ],
)


@claim("The ranking of the eight models", source=ranking, documented="34.86 down to 18.52")
@on_both_texts
def test_ranking(trials, text):
    assert trials(on(text, *NAMES)).perplexity.is_ordered()


@claim("The perplexity of each model", source=ranking, documented="see each; one seed")
@each_row
def test_perplexity(trials, name, perplexity, share):
    assert trials(PRESETS[name]).perplexity.matches(perplexity, tolerance=A_RANK)


@claim("The share of the computation of each model", source=ranking, documented="see each")
@each_row
def test_compute(trials, name, perplexity, share):
    assert trials(PRESETS[name]).compute.matches(share, tolerance=A_POINT)


@claim(
    "The perplexity of each model is one on WikiText-2",
    source=ranking,
    documented="see each; one seed",
    only_at="paper",
)
@each_row
def test_perplexity_on_wikitext(trials, name, perplexity, share):
    assert trials(*on(WIKITEXT, name)).perplexity.matches(perplexity, tolerance=A_RANK)


@claim("Each model improves on the standard one", source=ranking, documented="see each")
@on_both_texts
@each_improvement
def test_improves(trials, name, improvement, text):
    better, standard = trials(*on(text, name, "standard"))
    assert better.perplexity < standard.perplexity


@claim(
    "Each model improves on the standard one by the documented share",
    source=ranking,
    documented="see each; one seed",
)
@each_improvement
def test_improves_by_as_much(trials, name, improvement):
    better, standard = trials(*on(SENTENCES, name, "standard"))
    assert better.perplexity.falls_below(standard.perplexity, by_ratio=1 / (1 - improvement))


@claim("Decreasing rates are best of all", source=ranking, documented="18.52")
@on_both_texts
def test_decreasing_rates_are_best(trials, text):
    assert trials(on(text, *NAMES)).perplexity.bottoms_at(-1)


@claim(
    "Decreasing beats increasing beats uniform rates",
    source=ranking,
    documented="18.52, 21.14, 22.95",
)
@on_both_texts
def test_order_of_the_rates(trials, text):
    arms = on(text, "asymmetric 0.7", "increasing rates", "decreasing rates")
    assert trials(arms).perplexity.falls()


@claim("The more weight on layer 1 the better", source=ranking, documented="23.98, 22.95, 22.40")
@on_both_texts
def test_order_in_alpha(trials, text):
    arms = on(text, "auxiliary loss", "asymmetric 0.7", "asymmetric 0.8")
    assert trials(arms).perplexity.falls()


@claim("A loss on layer 2 hurts", source="000, Key Numbers", documented="22.95 → 32.07")
@on_both_texts
def test_a_loss_on_layer_2_hurts(trials, text):
    with_l2, without = trials(*on(text, "with L2 loss", "asymmetric 0.7"))
    assert with_l2.perplexity > without.perplexity


@claim("A loss on layer 2 costs 39.8 %", source="000, Key Insights 5", documented="+39.8 %")
def test_a_loss_on_layer_2_costs_as_much(trials):
    with_l2, without = trials(*on(SENTENCES, "with L2 loss", "asymmetric 0.7"))
    assert with_l2.perplexity.exceeds(without.perplexity, by_ratio=1.398)


@claim(
    "Early exit saves computation",
    source="000, Key Numbers",
    documented="53.4 %, 34.8 %, 35.0 % saved",
)
@on_both_texts
@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("deep supervision, early exit", 0.534),
        ("auxiliary loss", 0.348),
        ("asymmetric 0.7", 0.350),
    ],
)
def test_early_exit_saves_computation(trials, name, saved, text):
    assert trials(*on(text, name)).compute.falls_below(1.0, by_at_least=saved - A_POINT)


@claim(
    "Deep supervision with early exit computes least of those that route",
    source="000, Best Practices 2",
    documented="46.6 % against at least 65.0 %",
)
@on_both_texts
def test_deep_supervision_with_early_exit_computes_least(trials, text):
    assert trials(on(text, *ROUTED)).compute.bottoms_at(0)


@claim("One layer is nearly as good as three", source="000, Best Practices 2", documented="35.29")
@on_both_texts
def test_one_layer_is_nearly_as_good(trials, text):
    one, three = trials(*on(text, "one layer", "standard"))
    assert one.perplexity.is_within(A_RANK, of=three.perplexity)


@claim("One layer costs a third", source="000, Best Practices 2", documented="33.3 %")
def test_one_layer_costs_a_third(trials):
    one = trials(PRESETS["one layer"])
    assert one.compute.matches(1 / 3, tolerance=0.0005)  # "33.3": to its last digit


@claim(
    "Easy tokens leave at layer 1: the full network, too, finds them easier",
    source="000, Key Insights 2",
    documented="no number",
)
@on_both_texts
@pytest.mark.parametrize("name", ROUTED)
def test_easy_tokens_leave_early(trials, name, text):
    loss = trials(*on(text, name)).loss_of_leaving_and_staying
    leaving, staying = loss[0], loss[1]
    assert leaving < staying


@claim(
    "Deep supervision leaves layer 1 better than layer 2, and layer 2 better than layer 3",
    source="000, tables of its repository",
    documented="42.86, 46.58, 52.11, an epoch past the best",
)
@on_both_texts
def test_shallow_layers_of_deep_supervision_are_better(trials, text):
    layers = trials(*on(text, "deep supervision")).layer_perplexity
    assert (layers[0] < layers[1]) & (layers[1] < layers[2])


@claim(
    "The higher the threshold, the better the perplexity",
    source="000, tables of its repository",
    documented="40.48, 40.57, 36.94, 31.46 at 0.7, 0.8, 0.9, 0.95, an epoch past the best",
)
@on_both_texts
def test_higher_thresholds_are_better(trials, text):
    (asymmetric,) = on(text, "asymmetric 0.7")
    arms = [asymmetric.but(routing_threshold=threshold) for threshold in (0.7, 0.8, 0.9, 0.95)]
    assert trials(arms).perplexity.falls()


@claim(
    "All models converge in one epoch",
    source="000, Experimental Notes",
    documented="the best epoch is the first",
)
@on_both_texts
@pytest.mark.parametrize("name", NAMES)
def test_converges_in_one_epoch(trials, name, text):
    assert trials(*on(text, name)).over_epochs.perplexity.bottoms_at(1)


@claim(
    "Train perplexity continues to decrease, validation perplexity increases after epoch 1",
    source="000, Experimental Notes",
    documented="no number",
)
@on_both_texts
@pytest.mark.parametrize("name", ["standard", "decreasing rates"])
def test_overfits_after_one_epoch(trials, name, text):
    (arm,) = on(text, name)
    curves = trials(arm.but(recipe=arm.recipe.but(epochs=4, patience=None))).over_epochs
    assert curves.loss.falls_while(curves.perplexity, after=1)
