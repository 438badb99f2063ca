"""The p of a settled verdict, and Holm's correction for many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from repro.judge import (
    SUITE_LEVEL,
    Design,
    Judge,
    Ladder,
    Measured,
    Outcome,
    Verdict,
    boundary,
    conjunction,
    false_shares,
    holm,
    simulated,
)
from repro.judge.boundary import chance_of_crossing, level_of, threshold
from repro.judge.statistic import LARGE_SPREAD, SMALL_SPREAD, STUDENT
from tests.judge.arms import arms

CI = (5, 8, 12)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


@given(st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=8, deadline=None)
def test_holm_is_statsmodels(p_values):
    if p_values:
        expected = multipletests(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(list(expected))
    else:
        assert holm(p_values) == []


@pytest.mark.parametrize("statistic", [STUDENT, SMALL_SPREAD, LARGE_SPREAD])
@pytest.mark.parametrize("looks", [(8,), CI, (3, 5, 8, 12, 20)])
def test_the_level_of_a_p_inverts_the_threshold(looks, statistic):
    for level in (0.005, 1e-6):
        p = threshold(looks, level, statistic)
        assert level_of(looks, p, statistic) == pytest.approx(level, rel=1e-3)
    tiny = [level_of(looks, p, statistic) for p in (0.0, 1e-300, 1e-13, 1.1e-12)]
    assert tiny == sorted(tiny)
    assert tiny[0] == 0


@pytest.mark.parametrize("statistic", [STUDENT, SMALL_SPREAD, LARGE_SPREAD])
@pytest.mark.parametrize("looks", [CI, (3, 5, 8, 12, 20)])
def test_levels_between_those_that_are_simulated_are_read_off_closely(looks, statistic):
    for p in (0.03, 0.0021, 1.7e-5, 3.1e-9):
        crossing, error = chance_of_crossing(p, looks, statistic)
        assert level_of(looks, p, statistic) == pytest.approx(crossing + 3 * error, rel=1e-3)
    levels = [level_of(looks, 0.9**n, statistic) for n in range(0, 250, 5)]
    assert levels == sorted(levels, reverse=True)


def test_a_suite_of_any_size_costs_some_dozen_simulations(monkeypatch):
    made = []

    def counted(*arguments):
        made.append(arguments)
        return chance_of_crossing(*arguments)

    monkeypatch.setattr(boundary, "chance_of_crossing", counted)
    monkeypatch.setattr(simulated, "_found", {})
    for n in range(1, 1000):
        level_of(CI, n / 2000)
    assert len(made) < 30


def test_one_look_has_the_p_of_scipy_on_both_sides():
    x = normal(1, 8) + 3
    up, down = arms(x, design=Design(looks=(8,)))[0] > 0, arms(x, design=Design(looks=(8,)))[0] < 0
    assert up.outcome is Outcome.REPRODUCED
    assert down.outcome is Outcome.REFUTED
    assert up.p == pytest.approx(stats.ttest_1samp(x, 0).pvalue)
    assert down.p == pytest.approx(up.p)


WORDS = {
    "above": lambda a, b, c: a > b,
    "within": lambda a, b, c: a.is_within(0.5, of=b),
    "ranking": lambda a, b, c: Ladder([a, b, c]).is_ordered(),
    "ladder": lambda a, b, c: Ladder([c, b, a]).climbs(by_at_least=0.3),
    "spread": lambda a, b, c: a.spreads_at_most(2.0),
    "both": lambda a, b, c: (a > b) & (b > c),
}


def judged(word, effect, seed, *, level):
    """The verdict of a word about three arms that lie `effect` apart."""
    means = np.array([[2 * effect], [effect], [0]])
    return WORDS[word](*arms(*(normal(seed, 3, 20) + means), design=Design(looks=CI, level=level)))


def test_p_is_at_most_the_level_exactly_where_a_verdict_is_settled():
    outcomes = set()
    for seed in range(10):
        for word in WORDS:
            verdict = judged(word, seed % 5 - 2.0, seed, level=0.2)
            settled = verdict.outcome is not Outcome.INCONCLUSIVE
            assert (verdict.p <= verdict.level * (1 + 1e-9)) == settled
            assert settled or verdict.p == 1.0
            outcomes.add(verdict.outcome)
    assert len(outcomes) == 3


@pytest.mark.parametrize("word", ["ranking", "spread"])
def test_p_is_the_smallest_level_that_would_have_settled_it(word):
    verdict = judged(word, 1.7, 6, level=0.3)
    assert verdict.outcome is Outcome.REPRODUCED
    assert judged(word, 1.7, 6, level=verdict.p * 1.01).outcome is Outcome.REPRODUCED
    stricter = judged(word, 1.7, 6, level=verdict.p * 0.99)
    assert stricter.outcome is Outcome.INCONCLUSIVE or stricter.seeds > verdict.seeds


@pytest.mark.parametrize("word", ["one", "all of three", "any of three"])
def test_a_true_null_has_a_small_p_no_more_often_than_that(word):
    design, samples = Design(looks=(3, 5), level=0.4), 200
    rng = np.random.default_rng(5)
    small = 0
    for _ in range(samples):
        x = rng.standard_normal((3, 5))
        if word == "all of three":
            x[:2] += 5  # the third is at its bound
        a, b, c = arms(*x, design=design)
        first = a > 0
        verdict = first if word == "one" else conjunction(first, b > 0, c > 0)
        wrong = Outcome.REFUTED if word == "any of three" else Outcome.REPRODUCED
        small += verdict.outcome is wrong and verdict.p <= 0.3
    assert small / samples <= 0.15 + 2.6 * (0.15 * 0.85 / samples) ** 0.5


def test_conjunctions_take_the_weakest_part_or_pay_for_the_choice():
    a, b = arms(normal(3, 12) + 4, normal(4, 12) + 2, design=Design(looks=(12,)))
    strong, weak = a > 0, b > 0
    assert (strong & weak).p == max(strong.p, weak.p)
    against = a < 0
    assert (weak & against).p == pytest.approx(2 * against.p)
    assert Verdict.not_run("x", reason="needs data").p == 1.0


def test_exact_verdicts_have_p_0_and_cost_the_others_nothing():
    a, b = arms(np.ones(12), np.zeros(12), design=Design(looks=CI), exact=True)
    assert (a > b).p == (b > a).p == 0.0
    assert holm([0.0, 0.0, 0.02, 0.03]) == pytest.approx([0, 0, 0.04, 0.04])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_chance_that_anything_false_stands_is_bounded_by_bonferroni(seed):
    p_values = list(np.random.default_rng(seed).random(9) ** 4)
    adjusted = holm(p_values)
    assert all(one >= p for one, p in zip(adjusted, p_values, strict=True))
    assert min(adjusted) == pytest.approx(min(1.0, 9 * min(p_values)))


@given(st.lists(st.floats(0, 1), max_size=12))
def test_false_shares_are_those_of_benjamini_and_yekutieli(p_values):
    if not p_values:
        assert false_shares(p_values) == []
        return
    expected = multipletests(p_values, method="fdr_by")[1]
    assert false_shares(p_values) == pytest.approx(list(expected))


def test_few_of_those_that_stand_are_false_though_claims_share_an_arm():
    """Forty arms against one control, both ways: a quarter of them truly differs from it."""
    rng, shares, design = np.random.default_rng(21), [], Design(looks=(8,))
    for _ in range(300):
        control = rng.standard_normal(8)
        true = np.where(np.arange(40) < 10, 2.5, 0.0)
        differences = true[:, None] + rng.standard_normal((40, 8)) - control
        p_for = [
            stats.ttest_1samp(d * sign, 0, alternative="greater").pvalue
            for d, sign in zip(differences, np.resize([1, -1], 40), strict=True)
        ]
        settled = [p if p <= design.level / 2 else 1.0 for p in np.minimum(p_for, 1)]
        stands = np.array(false_shares(settled)) <= SUITE_LEVEL
        is_false = ~((true > 0) & (np.resize([1, -1], 40) > 0))
        shares.append((stands & is_false).sum() / max(1, stands.sum()))
    assert np.mean(shares) < SUITE_LEVEL


def test_a_settled_verdict_goes_on_until_it_stands():
    values = 2.5 + np.random.default_rng(5).standard_normal(12)
    found = {}
    for until in (1.0, 0.05 / 300):
        judge = Judge(Design(looks=CI), until=until)
        a = Measured(judge=judge, label="a", metric="m", values=lambda n: values[:n])
        found[until] = a > 0
    first, last = found.values()
    assert first.outcome is last.outcome is Outcome.REPRODUCED
    assert first.seeds < last.seeds
    assert last.p < first.p
