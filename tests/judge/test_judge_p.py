"""The p of a settled verdict."""

import numpy as np
import pytest
from scipy import stats

from repro.judge import Design, Ladder, Outcome, Verdict, all_of
from repro.judge.looks import level_of, threshold
from repro.judge.statistic import STUDENT, Spread
from tests.judge.arms import LOOKS, TWELVE, arms

CI = LOOKS.looks
STATISTICS = (STUDENT, Spread(large=False), Spread(large=True))


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


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
            verdict = first if word == "one" else all_of((first, b > 0, c > 0))
            wrong = Outcome.REFUTED if word == "any of three" else Outcome.REPRODUCED
            small += verdict.outcome is wrong and verdict.p <= 0.3
        assert small / samples <= 0.15 + 2.6 * (0.15 * 0.85 / samples) ** 0.5


def test_conjunctions_take_the_weakest_part_or_pay_for_the_choice():
    a, b = arms(normal(3, 12) + 4, normal(4, 12) + 2, design=TWELVE)
    strong, weak = a > 0, b > 0
    assert all_of((strong, weak)).p == (strong & weak).p == max(strong.p, weak.p)
    against = a < 0
    assert all_of((weak, against)).p == pytest.approx(2 * against.p)
    assert Verdict.not_run("x", reason="needs data").p == 1.0
