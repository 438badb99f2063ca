"""The p of a settled verdict, and the corrections for many of them."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from repro.judge import (
    SUITE_LEVEL,
    Design,
    Judge,
    Ladder,
    Outcome,
    Verdict,
    conjunction,
    false_shares,
    holm,
)
from repro.judge.boundary import level_of, threshold
from repro.judge.statistic import LARGE_SPREAD, SMALL_SPREAD, STUDENT
from tests.judge.arms import EIGHT, LOOKS, TWELVE, arm, arms

CI, PAPER = LOOKS.looks, (3, 5, 8, 12, 20)
STATISTICS = (STUDENT, SMALL_SPREAD, LARGE_SPREAD)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_the_corrections_are_those_of_statsmodels():
    rng = np.random.default_rng(1)
    for p_values in (
        [0.03],
        list(rng.random(5) ** 4),
        [0.0, *np.round(rng.random(11) ** 3, 1), 1.0],
    ):
        for correct, method in ((holm, "holm"), (false_shares, "fdr_by")):
            expected = list(multipletests(p_values, method=method)[1])
            assert correct(p_values) == pytest.approx(expected)
    assert holm([]) == false_shares([]) == []
    assert holm([0.0, 0.0, 0.02, 0.03]) == pytest.approx([0, 0, 0.04, 0.04])


def test_the_level_of_a_p_inverts_the_threshold():
    for looks, statistic in (((8,), STUDENT), *((CI, each) for each in STATISTICS)):
        for level in (0.005, 1e-6):
            p = threshold(looks, level, statistic)
            assert level_of(looks, p, statistic) == pytest.approx(level, rel=1e-3)
    tiny = [level_of(CI, p) for p in (0.0, 1e-300, 1e-13, 1.1e-12)]
    assert tiny == sorted(tiny)
    assert tiny[0] == 0


def test_one_look_has_the_p_of_scipy_on_both_sides():
    x = normal(1, 8) + 3
    (a,) = arms(x)
    up, down = a > 0, a < 0
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_p_is_the_smallest_level_that_would_have_settled_it():
    for word in ("ranking", "spread"):
        verdict = judged(word, 1.7, 6, level=0.3)
        assert verdict.outcome is Outcome.REPRODUCED
        assert judged(word, 1.7, 6, level=verdict.p * 1.01).outcome is Outcome.REPRODUCED
        stricter = judged(word, 1.7, 6, level=verdict.p * 0.99)
        assert stricter.outcome is Outcome.INCONCLUSIVE or stricter.seeds > verdict.seeds


@pytest.mark.thorough
def test_a_true_null_has_a_small_p_no_more_often_than_that():
    design, samples = Design(looks=(3, 5), level=0.4), 200
    for word in ("one", "all of three", "any of three"):
        rng, small = np.random.default_rng(5), 0
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
    a, b = arms(normal(3, 12) + 4, normal(4, 12) + 2, design=TWELVE)
    strong, weak = a > 0, b > 0
    assert (strong & weak).p == max(strong.p, weak.p)
    against = a < 0
    assert (weak & against).p == pytest.approx(2 * against.p)
    assert Verdict.not_run("x", reason="needs data").p == 1.0


@pytest.mark.thorough
def test_few_of_those_that_stand_are_false_though_claims_share_an_arm():
    """Forty arms against one control, both ways: a quarter of them truly differs from it."""
    rng, shares = np.random.default_rng(21), []
    sign = np.resize([1, -1], 40)
    for _ in range(300):
        control = rng.standard_normal(8)
        true = np.where(np.arange(40) < 10, 2.5, 0.0)
        differences = true[:, None] + rng.standard_normal((40, 8)) - control
        p_for = stats.ttest_1samp(differences.T * sign, 0, alternative="greater").pvalue
        settled = np.where(p_for <= EIGHT.level / 2, p_for, 1.0)
        stands = np.array(false_shares(list(settled))) <= SUITE_LEVEL
        is_false = ~((true > 0) & (sign > 0))
        shares.append((stands & is_false).sum() / max(1, stands.sum()))
    assert np.mean(shares) < SUITE_LEVEL


def test_a_settled_verdict_goes_on_until_it_stands():
    values = 2.5 + np.random.default_rng(5).standard_normal(12)
    first, last = (
        arm(values, judge=Judge(LOOKS, until=until)) > 0 for until in (1.0, SUITE_LEVEL / 300)
    )
    assert first.outcome is last.outcome is Outcome.REPRODUCED
    assert first.seeds < last.seeds
    assert last.p < first.p
