"""Early exit, deep supervision, discriminative rates.  Source 000: a 3-layer character model.

Its repository says WikiText-2. Its numbers were made on two repeated sentences that its loader fell
back to (30 different characters, as its recorded 200,832 parameters prove). What it concludes is
judged on both texts, but for what single layers learn: on the sentences' validation text an exit
that was never trained wins, so that is judged on WikiText-2. Its numbers are judged on the
sentences, and on WikiText-2 at the documented size. Each is one run, all at one seed that it set
anew before each model, and is judged as one: within the distance to the next row.
"""

import pytest

from repro import claim
from repro.marks import figure
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
ALL = [*NAMES, "one layer", "with L2 loss"]
"""The models that its text has a perplexity of."""

ONCE_MORE = {"only_at": "ci", "looks": (40, 80, 120), "after": 20}
"""For sentences that twenty seeds left open, and that at most 100 new ones would settle."""

ROUTED = [name for name, _, share in RANKING if share < 1]
PERPLEXITY = {name: perplexity for name, perplexity, _ in RANKING} | {
    "one layer": 35.29,  # Best Practices 2
    "with L2 loss": 32.07,  # Key Numbers
    "deep focus": 24.88,  # its repository: alpha of 0.3
}


def next_row(perplexity):
    """The ratio to the nearest other row: nearer than this, a number is that row's own."""
    others = [other for other in PERPLEXITY.values() if other != perplexity]
    return min(max(other, perplexity) / min(other, perplexity) for other in others)


def perplexities(trials, text, *names):
    """The perplexity of each model, with its one documented run, whatever text that was on."""
    models = zip(trials(*on(text, *names)), names, strict=True)
    return [model.perplexity.documented_as(PERPLEXITY[name]) for model, name in models]


def ladder(trials, text, *names):
    """The same in order, as of arms where one thing is varied."""
    documented = [PERPLEXITY[name] for name in names]
    return trials(on(text, *names)).perplexity.documented_as(documented)


NEXT_SHARE = 0.069
"""From 65.2 % to 72.1 %, the next one that is told apart; 65.0 % and 65.2 % are one."""

HALF_LEAVE = 1 - (1 / 2) * (2 / 3)
"""The share of the computation where half of the tokens do not see two of three layers."""

SMALLEST_IMPROVEMENT = 34.86 / 30.54
"""The smallest that it reports, 12.4 %: what is nearer to a model is nearly as good."""

ranking = "000, Final Ranking"
ours = "000, not in its text: asked of its numbers"
on_both_texts = pytest.mark.parametrize("text", [SENTENCES, WIKITEXT])
each_exit = pytest.mark.parametrize(
    ("name", "share"), [(name, share) for name, _, share in RANKING if share < 1], ids=ROUTED
)
each_perplexity = pytest.mark.parametrize(
    ("name", "perplexity"), PERPLEXITY.items(), ids=PERPLEXITY
)
IMPROVEMENTS = {  # each on the standard model
    "decreasing rates": 0.469,
    "increasing rates": 0.393,
    "asymmetric 0.8": 0.357,
    "asymmetric 0.7": 0.342,
    "auxiliary loss": 0.312,
    "deep supervision, early exit": 0.193,
    "deep supervision": 0.124,
}
each_improvement = pytest.mark.parametrize(
    ("name", "saved", "left"),
    [(name, share, 1 - share) for name, share in IMPROVEMENTS.items()],
    ids=[f"{name}-{share}" for name, share in IMPROVEMENTS.items()],
)
SAVED = {"deep supervision, early exit": 0.534, "auxiliary loss": 0.348, "asymmetric 0.7": 0.350}
each_saving = pytest.mark.parametrize(("name", "saved"), SAVED.items(), ids=SAVED)


@claim("The ranking of the eight models", source=ranking, documented="34.86 down to 18.52")
@on_both_texts
def test_ranking(trials, text):
    assert trials(on(text, *NAMES)).perplexity.is_ordered()


@pytest.mark.nightly
@claim(
    "The ranking of the eight models, on fresh seeds",
    source=ranking,
    documented="34.86 down to 18.52",
    **ONCE_MORE,
)
def test_ranking_on_fresh_seeds(trials):
    assert trials(on(SENTENCES, *NAMES)).perplexity.is_ordered()


@claim(
    "The perplexity of each model",
    source="000, Final Ranking, Best Practices 2 and Key Numbers",
    documented="{perplexity:.2f}, one run",
)
@each_perplexity
def test_perplexity(trials, name, perplexity):
    measured = trials(PRESETS[name]).perplexity
    assert measured.agrees_with(perplexity, runs=1, within_ratio=next_row(perplexity))


@claim(
    "The share of the computation of each model with early exit",
    source=ranking,
    documented="{share:.3f}, one run",
)
@each_exit
def test_compute(trials, name, share):
    assert trials(PRESETS[name]).compute.agrees_with(share, runs=1, within=NEXT_SHARE)


@claim(
    "The perplexities of the models are those on WikiText-2",
    source="000, Final Ranking; the text by its repository",
    documented="34.86 down to 18.52, one run of each",
    only_at="paper",
)
def test_perplexity_on_wikitext(trials):
    for name, perplexity in PERPLEXITY.items():
        measured = trials(*on(WIKITEXT, name)).perplexity
        assert measured.agrees_with(perplexity, runs=1, within_ratio=next_row(perplexity))


@claim(
    "The shares of the computation of the models are those on WikiText-2",
    source="000, Final Ranking; the text by its repository",
    documented="0.466 to 0.721, one run of each",
    only_at="paper",
)
def test_compute_on_wikitext(trials):
    for name, _, share in RANKING:
        if name in ROUTED:
            measured = trials(*on(WIKITEXT, name)).compute
            assert measured.agrees_with(share, runs=1, within=NEXT_SHARE)


@claim(
    "Each model improves on the standard one",
    source=ranking,
    documented="{left:.3f} of its perplexity ({saved:.1%} better)",
)
@on_both_texts
@each_improvement
def test_improves(trials, name, saved, left, text):
    better, standard = perplexities(trials, text, name, "standard")
    assert better < standard


@pytest.mark.nightly
@claim(
    "Deep supervision improves on the standard model, on fresh seeds",
    source=ranking,
    documented="0.876 of its perplexity (12.4% better)",
    only_at="ci",
    looks=(15, 30, 45),  # twenty seeds had left it open
    after=20,
)
def test_deep_supervision_improves_on_fresh_seeds(trials):
    better, standard = perplexities(trials, SENTENCES, "deep supervision", "standard")
    assert better < standard


@pytest.mark.nightly
@claim(
    "Decreasing rates improve on the standard model, on fresh seeds",
    source=ranking,
    documented="0.531 of its perplexity (46.9% better)",
    **ONCE_MORE,
)
def test_decreasing_rates_improve_on_fresh_seeds(trials):
    better, standard = perplexities(trials, WIKITEXT, "decreasing rates", "standard")
    assert better < standard


@claim(
    "Each model improves on the standard one by the documented share",
    source=ranking,
    documented="{left:.3f} of its perplexity ({saved:.1%} better), one run of each at one seed",
)
@each_improvement
def test_improves_by_as_much(trials, name, saved, left):
    better, standard = trials(*on(SENTENCES, name, "standard"))
    # Nearer than the documented improvement is to none.
    assert better.perplexity.agrees_with(
        left, times=standard.perplexity, runs=1, within_ratio=1 / left
    )


@claim("Decreasing rates are best of all", source=ranking, documented="18.52")
@on_both_texts
def test_decreasing_rates_are_best(trials, text):
    assert ladder(trials, text, *NAMES).bottoms_at(-1)


@claim(
    "Decreasing beats increasing beats uniform rates",
    source=ranking,
    documented="18.52, 21.14, 22.95",
)
@on_both_texts
def test_order_of_the_rates(trials, text):
    names = "asymmetric 0.7", "increasing rates", "decreasing rates"
    assert ladder(trials, text, *names).falls()


@claim(
    "The more weight on layer 1 the better",
    source=ranking,
    documented="23.98, 22.95, 22.40 at alpha = 0.5, 0.7, 0.8",
)
@on_both_texts
def test_order_in_alpha(trials, text):
    names = "auxiliary loss", "asymmetric 0.7", "asymmetric 0.8"
    assert ladder(trials, text, *names).falls()


@pytest.mark.nightly
@claim(
    "The more weight on layer 1 the better, on fresh seeds",
    source=ranking,
    documented="23.98, 22.95, 22.40 at alpha = 0.5, 0.7, 0.8",
    **ONCE_MORE,
)
def test_order_in_alpha_on_fresh_seeds(trials):
    names = "auxiliary loss", "asymmetric 0.7", "asymmetric 0.8"
    assert ladder(trials, WIKITEXT, *names).falls()


@claim(
    "With less weight on layer 1 than on layer 3 the model is worse still",
    source="000, its repository",
    kind="repository",
    documented="24.88 at alpha = 0.3, 23.98 at 0.5",
)
@on_both_texts
def test_less_shallow_weight_is_worse(trials, text):
    less, equal = perplexities(trials, text, "deep focus", "auxiliary loss")
    assert less > equal


@claim("A loss on layer 2 hurts", source="000, Key Numbers", documented="22.95 → 32.07")
@on_both_texts
def test_a_loss_on_layer_2_hurts(trials, text):
    with_l2, without = perplexities(trials, text, "with L2 loss", "asymmetric 0.7")
    assert with_l2 > without


@claim(
    "A loss on layer 2 hurts, on fresh seeds",
    source="000, Key Numbers",
    documented="22.95 → 32.07",
    only_at="ci",
    looks=(15, 30, 45),  # twenty seeds had left it open
    after=20,
)
def test_a_loss_on_layer_2_hurts_on_fresh_seeds(trials):
    with_l2, without = perplexities(trials, SENTENCES, "with L2 loss", "asymmetric 0.7")
    assert with_l2 > without


@claim(
    "Models that its numbers tell apart are alike within 3 % on WikiText-2, on fresh seeds",
    source=ours,
    documented="{documented}",
    kind="question",
    only_at="paper",
    looks=(5, 8, 12),  # written down after twelve seeds, which agreed to 1 %
    after=12,
)
@pytest.mark.parametrize(
    ("one", "other", "documented"),
    [
        ("decreasing rates", "standard", "18.52 against 34.86"),
        ("with L2 loss", "asymmetric 0.7", "32.07 against 22.95"),
    ],
    ids=["decreasing-and-standard", "with-and-without-L2"],
)
def test_alike_on_wikitext(trials, one, other, documented):
    first, second = trials(*on(WIKITEXT, one, other))
    assert first.perplexity.is_times(1.0, second.perplexity, within_ratio=1.03)


@claim(
    "A loss on layer 2 costs 39.8 %",
    source="000, Key Insights 5",
    documented="1.398 times (+39.8 %), one run of each at one seed",
)
def test_a_loss_on_layer_2_costs_as_much(trials):
    with_l2, without = trials(*on(SENTENCES, "with L2 loss", "asymmetric 0.7"))
    # Nearer than the documented cost is to none.
    assert with_l2.perplexity.agrees_with(
        1.398, times=without.perplexity, runs=1, within_ratio=1.398
    )


@claim(
    "With a loss layer 2 learns to make the final answer",
    source="000, Key Insights 5",
    documented="no number",
)
def test_a_loss_on_layer_2_makes_it_answer(trials):
    with_l2, without = trials(*on(WIKITEXT, "with L2 loss", "asymmetric 0.7"))
    assert with_l2.layer_perplexity[1] < without.layer_perplexity[1]


@claim(
    "Without its loss layer 2 serves the deep path: layer 3 answers better",
    source="000, Key Insights 5",
    documented="no number",
)
def test_without_its_loss_layer_2_serves_the_deep_path(trials):
    without, with_l2 = trials(*on(WIKITEXT, "asymmetric 0.7", "with L2 loss"))
    assert without.layer_perplexity[2] < with_l2.layer_perplexity[2]


@claim(
    "Where each layer answers, deep layers learn, too: layer 3 answers better than layer 1",
    source="000, Key Insights 1",
    documented="no number",
)
def test_deep_layers_learn_where_each_answers(trials):
    layers = trials(*on(WIKITEXT, "deep supervision")).layer_perplexity
    assert layers[2] < layers[0]


@claim(
    "Where each layer answers, three layers are better than one",
    source=ours,
    documented="30.54 against 35.29",
    kind="question",
)
@on_both_texts
def test_three_layers_that_answer_beat_one(trials, text):
    three, one = perplexities(trials, text, "deep supervision", "one layer")
    assert three < one


@claim(
    "More weight on layer 1 makes it answer better",
    source="000, Key Insights 3",
    documented="no number",
)
def test_weight_on_layer_1_makes_it_better(trials):
    more, equal = trials(*on(WIKITEXT, "asymmetric 0.7", "auxiliary loss"))
    assert more.layer_perplexity[0] < equal.layer_perplexity[0]


@claim(
    "Many tokens are easy: more than half leave at layer 1",
    source="000, Key Insights 3; the share in its repository",
    documented="0.650 of the computation (52.4 % leave)",
)
@on_both_texts
def test_many_tokens_are_easy(trials, text):
    assert trials(*on(text, "asymmetric 0.7")).compute < HALF_LEAVE


@claim(
    "Early exit saves computation: some tokens leave",
    source="000, Key Numbers",
    documented="{saved:.1%} saved; how much is judged by the shares",
)
@on_both_texts
@each_saving
def test_early_exit_saves_computation(trials, name, saved, text):
    assert trials(*on(text, name)).compute.documented_as(round(1 - saved, 3)) < 1.0


@claim(
    "Deep supervision with early exit computes least of those that route",
    source="000, Best Practices 2",
    documented="0.466 against at least 0.650",
)
@on_both_texts
def test_deep_supervision_with_early_exit_computes_least(trials, text):
    shares = [share for _, _, share in RANKING if share < 1]
    assert trials(on(text, *ROUTED)).compute.documented_as(shares).bottoms_at(0)


@claim(
    "One layer is nearly as good as three",
    source=ours,
    documented="35.29 against 34.86",
    kind="question",
)
@on_both_texts
def test_one_layer_is_nearly_as_good(trials, text):
    one, three = perplexities(trials, text, "one layer", "standard")
    assert one.is_at_most_times(SMALLEST_IMPROVEMENT, three)


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
    "All models converge in one epoch",
    source="000, Experimental Notes",
    documented="the best epoch is the first; validation perplexity increases after it",
)
@on_both_texts
def test_converges_in_one_epoch(trials, text):
    # That validation perplexity rises after it is the same: runs end at the first epoch not better.
    for model in trials(*on(text, *ALL)):
        assert model.over_epochs.perplexity.bottoms_at(1)


@claim(
    "Train loss continues to decrease, up to the epoch at which the run ends",
    source="000, Experimental Notes",
    documented="“Train PPL continues to decrease”",
)
@on_both_texts
def test_train_loss_continues_to_decrease(trials, text):
    for model in trials(*on(text, *ALL)):
        assert model.over_epochs.loss.falls()


@claim(
    "Early stopping preserves generalization: trained on to epoch 4, perplexity is worse",
    source="000, Experimental Notes",
    documented="no number",
)
@pytest.mark.parametrize("name", ["standard", "decreasing rates"])
def test_early_stopping_preserves_generalization(trials, name):
    stopped = PRESETS[name]  # on the sentences, where it stops before epoch 4
    trained_on = stopped.but(recipe=stopped.recipe.but(epochs=4, patience=None))
    later, stopped = trials(trained_on, stopped)
    assert later.over_epochs.perplexity[4] > stopped.perplexity


@figure(
    "The eight models in the order of the source, its worst first",
    source=ranking,
    x="place in the source's ranking",
    y="perplexity",
)
@on_both_texts
def test_ranking_figure(plot, text):
    documented = [perplexity for _, perplexity, _ in RANKING] if text == SENTENCES else []
    panel = plot.panel(text)
    panel.line("the eight models", on(text, *NAMES), at=range(1, 9), documented=documented)
