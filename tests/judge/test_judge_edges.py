"""Values that tie, collapse, never vary, or lie at the end of their scale."""

import numpy as np
import pytest

from repro.judge import Design, Judge, Outcome, Scale
from repro.judge.unusual import unusual
from tests.judge.arms import LOOKS, TWELVE, arm, arms, told
from tests.oracles import oracle

SHARE = Scale("log-odds", count=300)


def test_quantities_that_are_exact_are_read_off():
    a, b, same = arms([2.0] * 8, [1.0] * 8, [2.0] * 8, exact=True)
    assert (a > b).outcome is Outcome.REPRODUCED
    assert (b > a).outcome is Outcome.REFUTED
    assert (a > same).outcome is (a < same).outcome is Outcome.REFUTED
    assert a.is_within(0.1, of=same).outcome is Outcome.REPRODUCED
    assert "the same on every seed" in str(a > b)
    assert (a > b).p == (b > a).p == 0.0


def test_rounding_is_no_spread():
    last_bit = np.array([1, 2, 1, 2, 1, 2, 1, 1]) * 2.0**-53
    a, b = arms(np.full(8, 0.6), 0.6 + last_bit, exact=True)
    assert (a < b).outcome is (b < a).outcome is Outcome.REFUTED
    assert a.is_within(0.01, of=b)


def test_a_diverged_arm_gives_no_verdict_and_is_named():
    for bad in (np.nan, np.inf, -np.inf):
        looks: list[int] = []
        judge = Judge(LOOKS)
        a = arm(np.linspace(1, 2, 12), judge=judge, label="steady", looks=looks)
        b = arm([0.0, bad, *[0.0] * 10], judge=judge, label="wild")
        verdict = a > b
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert verdict.reason == "wild has no finite value on 1 of 5 seeds"
        assert looks == [5]
        assert verdict.reason in str(verdict)


def test_arms_that_tie_on_every_seed_are_a_question():
    a, b = arms([1.0] * 12, [1.0] * 12, design=LOOKS, scale=SHARE)
    for verdict in (a > b, a.is_within(0.02, of=b)):
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert "a and b are alike on every seed: does the setting" in verdict.reason


def test_a_value_that_no_seed_changes_is_a_question_unless_it_is_exact():
    (a,) = arms([3.3072] * 8)
    assert "every seed gave 3.3072 for a: does the training use its seed" in (a > 3.0).reason
    documented = a.agrees_with(3.3072, runs=1, within=0.1)
    assert documented.outcome is (a > 3.0).outcome is Outcome.INCONCLUSIVE
    (a,) = arms([25_450.0] * 8, exact=True)
    assert a.matches(25_450, tolerance=1).outcome is Outcome.REPRODUCED
    a, b = arms([3.0] * 8, [2.0] * 8)
    assert "every seed gave the same difference of a and b" in (a > b).reason
    a, b = arms([1.0] * 8, [0.0] * 8, scale=SHARE)  # 300 examples against none
    assert (a > b).outcome is Outcome.REPRODUCED


def test_shares_that_agree_may_differ_by_half_an_example():
    one_example = [(270 + 1) / 300] * 5
    a, b = arms(one_example, [270 / 300] * 5, design=Design(looks=(5,)), scale=SHARE)
    verdict = a > b
    assert verdict.outcome is Outcome.INCONCLUSIVE
    (effect,) = verdict.effects
    assert effect.spread == pytest.approx(0.5 / 300 / (0.9 * 0.1), rel=0.05)


def test_a_share_of_one_is_taken_half_an_example_inside():
    x, y = np.array([1.0] + [0.98] * 7), np.linspace(0.5, 0.6, 8)
    a, b = arms(x, y, scale=Scale("log-odds", count=100))
    assert a > b
    assert Scale("log-odds", count=100).of(x, "a")[0] == pytest.approx(np.log(0.995 / 0.005))


def test_a_margin_beyond_all_shares_is_no_side_of_it():
    values = 0.99 + 0.002 * np.sin(np.arange(8))
    (a,) = arms(values, scale=Scale("log-odds"))
    verdict = a.matches(0.9962, tolerance=0.02)
    assert verdict.outcome is Outcome.REPRODUCED
    assert [effect.bound for effect in verdict.effects] == [-0.02]
    a, b = arms(values, values - 0.001 * np.cos(np.arange(8)), scale=SHARE)
    assert a.is_within(0.05, of=b)
    assert a.exceeds(b, by_at_least=0.5).outcome is Outcome.REFUTED
    (loss,) = arms(5 + values, scale=Scale("log"))
    assert loss.matches(6, tolerance=9)


# --- shares of the runs -------------------------------------------------------------------------


def test_a_claim_about_runs_needs_the_seeds_of_its_binomial_test():
    few, enough = (
        arms(np.ones(n), np.zeros(n), design=Design(looks=(n,)), scale=SHARE) for n in (5, 8)
    )
    verdict = few[0].exceeds(few[1], in_at_least=0.5)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "so few runs cannot show this share even if all of them agree" in str(verdict)
    assert "~8 seeds would reproduce it" in verdict.advice
    assert enough[0].exceeds(enough[1], in_at_least=0.5)
    ten, zero = arms(np.ones(60), np.zeros(60), design=Design(looks=(60,)), scale=SHARE)
    assert ten.exceeds(zero, in_at_least=0.9).outcome is Outcome.REPRODUCED


def test_the_interval_of_a_share_of_runs_is_that_of_clopper_and_pearson():
    statsmodels = oracle("statsmodels.stats.proportion")
    values = np.r_[np.ones(9), -np.ones(3)] * np.arange(1, 13)
    (a,) = arms(values, design=TWELVE)
    (effect,) = a.exceeds(0.0, in_at_least=0.5).effects
    low, high = statsmodels.proportion_confint(9, 12, alpha=0.01, method="beta")
    assert (effect.low, effect.high) == pytest.approx((low, high), abs=0.03)
    assert effect.low <= low + 1e-9  # counts take few values, so the level is not used up


# --- what seeds show beside their mean ----------------------------------------------------------


def test_what_seeds_show_beside_their_mean_is_remarked_on():
    two_groups = np.r_[np.full(6, 0.1), np.full(6, 0.9)] + 0.01 * np.sin(np.arange(12))
    lone = np.r_[0.1, np.full(11, 0.9)] + 0.01 * np.sin(np.arange(12))
    for values, words in ((two_groups, "two groups"), (lone, "one seed lies far from the others")):
        (a,) = arms(values, design=TWELVE)
        assert words in told(a > 0.5)


def test_remarks_are_made_of_one_normal_sample_in_a_hundred_and_of_most_skewed_ones():
    rng = np.random.default_rng(3)
    normal = [seen for _ in range(2000) for seen in unusual(rng.standard_normal(8))]
    for each in set(normal):
        assert 0.004 < normal.count(each) / 2000 < 0.017
    lognormal = [unusual(rng.lognormal(sigma=1.5, size=20)) for _ in range(200)]
    assert np.mean([bool(seen) for seen in lognormal]) > 0.5
