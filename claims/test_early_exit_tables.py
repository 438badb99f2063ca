"""The tables of source 000's repository: what layers and thresholds give, an epoch past the best.

docs/experiments at 09e958e tabulates the layers of deep supervision (02), the thresholds of models
with early exit (03), and those with a loss on layer 2 and without (04). It says that a higher
threshold is better with auxiliary loss; of the other models we ask what their rows show. All are of
models as their training left them: runs stop at the first epoch that is not better, so an epoch
past the best. Each number is one run, at one seed, on the repeated sentences: so their order is
judged, and not each number, since runs of other seeds differ by more than what tells the cells
apart. What layer 2 does is asked on WikiText-2, too.
"""

import pytest

from repro import claim
from repro.studies.early_exit.arms import SENTENCES, WIKITEXT, on

PAST_THE_BEST = -1

THRESHOLDS = [0.7, 0.8, 0.9, 0.95]
AUXILIARY, SUPERVISED = "auxiliary loss", "deep supervision, early exit"
WITHOUT, WITH_L2 = "asymmetric 0.7", "with L2 loss"
PERPLEXITY = {
    WITHOUT: [40.48, 40.57, 36.94, 31.46],
    WITH_L2: [50.24, 51.46, 53.10, 54.90],
    AUXILIARY: [39.41, 40.36, 36.98, 32.21],
    SUPERVISED: [44.44, 45.89, 47.38, 48.16],
}
COMPUTE = {WITHOUT: [0.414, 0.436, 0.511, 0.602], WITH_L2: [0.394, 0.417, 0.474, 0.540]}

tables = "000, tables of its repository"
analysis = "000, Threshold Analysis in its repository"
comparison = "000, Threshold Analysis Comparison in its repository"
on_both_texts = pytest.mark.parametrize("text", [SENTENCES, WIKITEXT])


def each_threshold(table):
    """Judge each threshold, with what is documented with a loss on layer 2 and without."""
    return pytest.mark.parametrize(
        ("threshold", "with_l2", "without"),
        list(zip(THRESHOLDS, table[WITH_L2], table[WITHOUT], strict=True)),
        ids=list(map(str, THRESHOLDS)),
    )


def at(threshold, text, *names):
    return [arm.but(routing_threshold=threshold) for arm in on(text, *names)]


def perplexities(trials, text, name):
    """The perplexity at each threshold, an epoch past the best."""
    arms = [arm for threshold in THRESHOLDS for arm in at(threshold, text, name)]
    measured = (trial.over_epochs.perplexity[PAST_THE_BEST] for trial in trials(*arms))
    return [x.documented_as(n) for x, n in zip(measured, PERPLEXITY[name], strict=True)]


@claim(
    "An epoch past the best, layer 1 of deep supervision is better than layer 2, and that than 3",
    source=tables,
    kind="repository",
    documented="42.86, 46.58, 52.11",
)
@on_both_texts
def test_shallow_layers_of_deep_supervision_are_better(trials, text):
    layers = trials(*on(text, "deep supervision")).over_epochs.layer_perplexity
    documented = enumerate((42.86, 46.58, 52.11))
    first, second, third = (layers[i][PAST_THE_BEST].documented_as(n) for i, n in documented)
    assert (first < second) & (second < third)


@claim(
    "With asymmetric loss a higher threshold is better, an epoch past the best",
    source=tables,
    kind="question",
    documented="40.48, 40.57, 36.94, 31.46 at 0.7, 0.8, 0.9, 0.95",
)
@on_both_texts
def test_higher_thresholds_are_better(trials, text):
    low, fair, high, usual = perplexities(trials, text, WITHOUT)
    assert (low > fair) & (fair > high) & (high > usual)


@claim(
    "With auxiliary loss a higher threshold is better, an epoch past the best",
    source=analysis,
    kind="repository",
    documented="39.41, 40.36, 36.98, 32.21 at 0.7, 0.8, 0.9, 0.95",
)
def test_higher_thresholds_are_better_for_auxiliary_loss(trials):
    low, fair, high, usual = perplexities(trials, SENTENCES, AUXILIARY)
    assert (low > fair) & (fair > high) & (high > usual)


@claim(
    "With deep supervision a higher threshold is worse, an epoch past the best",
    source=analysis,
    kind="question",
    documented="44.44, 45.89, 47.38, 48.16 at 0.7, 0.8, 0.9, 0.95",
)
def test_higher_thresholds_are_worse_for_deep_supervision(trials):
    low, fair, high, usual = perplexities(trials, SENTENCES, SUPERVISED)
    assert (low < fair) & (fair < high) & (high < usual)


@claim(
    "With a loss on layer 2 a higher threshold is worse, an epoch past the best",
    source=comparison,
    kind="question",
    documented="50.24, 51.46, 53.10, 54.90 at 0.7, 0.8, 0.9, 0.95",
)
@on_both_texts
def test_higher_thresholds_are_worse_with_l2(trials, text):
    low, fair, high, usual = perplexities(trials, text, WITH_L2)
    assert (low < fair) & (fair < high) & (high < usual)


@claim(
    "At each threshold a loss on layer 2 hurts, an epoch past the best",
    source=comparison,
    kind="repository",
    documented="{with_l2:.2f} against {without:.2f}",
)
@on_both_texts
@each_threshold(PERPLEXITY)
def test_a_loss_on_layer_2_hurts_at_each_threshold(trials, threshold, with_l2, without, text):
    both = trials(*at(threshold, text, WITH_L2, WITHOUT))
    with_it, without_it = (x.over_epochs.perplexity[PAST_THE_BEST] for x in both)
    assert with_it.documented_as(with_l2) > without_it.documented_as(without)


@claim(
    "At each threshold a loss on layer 2 lets more tokens leave, an epoch past the best",
    source=comparison,
    kind="repository",
    documented="{with_l2:.3f} of the computation against {without:.3f}",
)
@on_both_texts
@each_threshold(COMPUTE)
def test_a_loss_on_layer_2_lets_more_tokens_leave(trials, threshold, with_l2, without, text):
    both = trials(*at(threshold, text, WITH_L2, WITHOUT))
    with_it, without_it = (x.over_epochs.compute[PAST_THE_BEST] for x in both)
    assert with_it.documented_as(with_l2) < without_it.documented_as(without)
