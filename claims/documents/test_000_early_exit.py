"""Source 000 against itself: early exit, its ranking of eight models.

What the summary leaves out stands in other documents of the author's repository at 09e958e
(docs/experiments, experiments/experiment_results.json); each claim names its own.
"""

import pytest

from repro import claim
from repro.document import compute_share, exact, linear, percent_change, percent_drop, printed

RANKING = {  # Final Ranking, best first: perplexity, compute, improvement on Standard (3L)
    "decreasing-lr": ("18.52", "65.2%", "46.9%"),
    "increasing-lr": ("21.14", "72.1%", "39.3%"),
    "asymmetric-0.8": ("22.40", "65.2%", "35.7%"),
    "asymmetric-0.7": ("22.95", "65.0%", "34.2%"),
    "auxiliary": ("23.98", "65.2%", "31.2%"),
    "supervised-exit": ("28.13", "46.6%", "19.3%"),
    "supervised": ("30.54", "100%", "12.4%"),
    "standard": ("34.86", "100%", ""),
}
PERPLEXITY = {model: row[0] for model, row in RANKING.items()}
STANDARD = PERPLEXITY["standard"]
ONE_LAYER = "35.29"  # Best Practices, Architecture Choice

EXITS_BY_THRESHOLD = {  # Threshold Analysis: compute, tokens that exit
    "auxiliary-at-0.70": ("40.9%", "88.7%"),
    "auxiliary-at-0.80": ("44.2%", "83.7%"),
    "auxiliary-at-0.90": ("52.1%", "71.8%"),
    "auxiliary-at-0.95": ("61.9%", "57.1%"),
    "supervised-at-0.70": ("40.1%", "89.9%"),
    "supervised-at-0.80": ("43.2%", "85.2%"),
    "supervised-at-0.90": ("49.7%", "75.5%"),
    "supervised-at-0.95": ("56.9%", "64.6%"),
    "asymmetric-at-0.70": ("41.4%", "87.8%"),
    "asymmetric-at-0.80": ("43.6%", "84.5%"),
    "asymmetric-at-0.90": ("51.1%", "73.4%"),
    "asymmetric-at-0.95": ("60.2%", "59.7%"),
    "l2-at-0.70": ("39.4%", "91.0%"),
    "l2-at-0.80": ("41.7%", "87.5%"),
    "l2-at-0.90": ("47.4%", "79.0%"),
    "l2-at-0.95": ("54.0%", "68.9%"),
    "l2": ("42.5%", "86.3%"),
}

ATTENTION = 4 * linear(64, 64, bias=False)
GATED_FFN = 3 * linear(64, 256, bias=False)
TWO_NORMS = 2 * exact(64)
BLOCK = ATTENTION + GATED_FFN + TWO_NORMS

both_sizes = pytest.mark.parametrize(
    ("parameters", "layers"), [(200_832, 3), (69_504, 1)], ids=["3-layers", "1-layer"]
)


@claim(
    "Better by as much as the column says",
    source="000, Final Ranking",
    documented="{improvement} better at {perplexity}",
)
@pytest.mark.parametrize(
    ("perplexity", "improvement"),
    [(perplexity, improvement) for perplexity, _, improvement in RANKING.values() if improvement],
    ids=list(RANKING)[:-1],
)
def test_improvement(document, perplexity, improvement):
    assert document(improvement).agrees_with(percent_drop(STANDARD, perplexity))


@claim("The rows are ranked by perplexity", source="000, Final Ranking", documented="18.52 … 34.86")
def test_rows_are_ranked(document):
    assert document(list(PERPLEXITY.values())).climbs()


@claim(
    "Asymmetric auxiliary loss (α=0.7) is second best in quality",
    source="000, Architecture Choice",
    documented="22.95; its ranking has 21.14 second and 22.40 third",
)
def test_second_best(document):
    assert document(["18.52", "22.95", "21.14"]).climbs()


@claim(
    "Deep supervision with early exit costs least of the models that exit early",
    source="000, Architecture Choice",
    documented="46.6% against {other}",
)
@pytest.mark.parametrize(
    "other", [share for _, share, _ in list(RANKING.values())[:5]], ids=list(RANKING)[:5]
)
def test_cheapest(document, other):
    assert document("46.6%") < other


@claim("Compute saved", source="000, Key Numbers", documented="{saved}")
@pytest.mark.parametrize(
    ("saved", "model"),
    [("35.0%", "asymmetric-0.7"), ("34.8%", "auxiliary"), ("53.4%", "supervised-exit")],
)
def test_compute_saved(document, saved, model):
    assert document(saved).agrees_with(1 - printed(RANKING[model][1]))


@claim(
    "Compute follows from the share of tokens that exit after layer 1 of 3",
    source="000, docs/experiments",
    documented="{share} where {exited} exit",
    kind="repository",
)
@pytest.mark.parametrize(
    ("share", "exited"),
    [("65.2%", "52.3%"), ("65.0%", "52.4%"), ("46.6%", "80.0%"), *EXITS_BY_THRESHOLD.values()],
    ids=["auxiliary-52.3%", "asymmetric-0.7-52.4%", "supervised-exit-80.0%", *EXITS_BY_THRESHOLD],
)
def test_compute_of_exits(document, share, exited):
    assert document(share).agrees_with(compute_share(exited, after=1, of=3))


@claim(
    "Adding a loss on layer 2 makes it 39.8% worse", source="000, Key Numbers", documented="39.8%"
)
def test_l2_loss(document):
    assert document("39.8%").agrees_with(percent_change("22.95", "32.07"))


@claim(
    "The headline models are those of the threshold tables, at threshold 0.95",
    source="000, docs/experiments",
    documented="{headline} and {table}",
    kind="question",
)
@pytest.mark.parametrize(
    ("headline", "table"),
    [("22.95", "31.46"), ("52.4%", "59.7%"), ("32.07", "54.90"), ("86.3%", "68.9%")],
    ids=["asymmetric-perplexity", "asymmetric-exits", "l2-perplexity", "l2-exits"],
)
def test_headline_against_threshold_table(document, headline, table):
    assert document(headline).agrees_with(table)


@claim(
    "With asymmetric loss a higher threshold gives a better perplexity",
    source="000, docs/experiments",
    documented="40.48, 40.57, 36.94, 31.46 at 0.70, 0.80, 0.90, 0.95",
    kind="question",
)
def test_threshold_table_falls(document):
    assert document(["40.48", "40.57", "36.94", "31.46"]).falls()


@claim(
    "With a loss on layer 2 a higher threshold gives a worse perplexity",
    source="000, docs/experiments",
    documented="50.24, 51.46, 53.10, 54.90 at 0.70, 0.80, 0.90, 0.95",
    kind="question",
)
def test_threshold_table_climbs_with_l2(document):
    assert document(["50.24", "51.46", "53.10", "54.90"]).climbs()


@claim(
    "With auxiliary loss a higher threshold gives a better perplexity",
    source="000, docs/experiments",
    documented="39.41, 40.36, 36.98, 32.21 at 0.70, 0.80, 0.90, 0.95",
    kind="repository",
)
def test_threshold_table_falls_for_auxiliary_loss(document):
    assert document(["39.41", "40.36", "36.98", "32.21"]).falls()


@claim(
    "With deep supervision a higher threshold gives a worse perplexity",
    source="000, docs/experiments",
    documented="44.44, 45.89, 47.38, 48.16 at 0.70, 0.80, 0.90, 0.95",
    kind="question",
)
def test_threshold_table_climbs_for_deep_supervision(document):
    assert document(["44.44", "45.89", "47.38", "48.16"]).climbs()


@claim(
    "More weight on the shallow exit is better",
    source="000, docs/experiments",
    documented="α = 0.3, 0.5, 0.7, 0.8: 24.88, 23.98, 22.95, 22.40",
    kind="repository",
)
def test_more_shallow_weight_is_better(document):
    assert document(["24.88", "23.98", "22.95", "22.40"]).falls()


@claim(
    "The models have a vocabulary of 30 characters, those of the fallback sentences",
    source="000, experiment_results.json",
    documented="{parameters:,} parameters",
    kind="question",
)
@both_sizes
def test_vocabulary_of_the_fallback(document, parameters, layers):
    embedding_and_head = 2 * linear(64, 30, bias=False)
    assert document(parameters).agrees_with(layers * BLOCK + embedding_and_head)


@claim(
    "The models have the vocabulary of WikiText-2: 106 in its first 100,000 and 10,000 characters",
    source="000, docs/experiments/README.md",
    documented="{parameters:,} parameters",
    kind="repository",
)
@both_sizes
def test_vocabulary_of_wikitext(document, parameters, layers):
    embedding_and_head = 2 * linear(64, 106, bias=False)
    assert document(parameters).agrees_with(layers * BLOCK + embedding_and_head)


@claim(
    "What is ranked has learned something: it beats a uniform guess over the 30 characters",
    source="000, Final Ranking and Architecture Choice",
    documented="{perplexity}",
    kind="question",
)
@pytest.mark.parametrize(
    "perplexity", [*PERPLEXITY.values(), ONE_LAYER], ids=[*PERPLEXITY, "standard-one-layer"]
)
def test_better_than_a_uniform_guess(document, perplexity):
    assert document(perplexity) < 30
