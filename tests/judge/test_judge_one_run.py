"""Documented runs, alone, as ratios and as amounts above an arm."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from repro.judge import Beyond, Outcome, Scale
from tests.judge.arms import LOOKS, arms, exact, told

RNG = np.random.default_rng(28)
LOG = Scale("log")


def test_the_interval_is_the_prediction_of_statsmodels():
    x = np.exp(exact(3.55, 0.03))
    (a,) = arms(x, scale=LOG, metric="perplexity")
    predicted = sm.OLS(np.log(x), np.ones(8)).fit().get_prediction([[1.0]])
    for documented in (33.0, 36.0, 41.0):
        verdict = a.agrees_with(documented, runs=1, within_ratio=1.2)
        (effect,) = verdict.effects
        low, high = predicted.conf_int(obs=True, alpha=effect.boundary_against)[0]
        assert (effect.low, effect.high) == pytest.approx((np.exp(low), np.exp(high)))
        assert effect.estimate == pytest.approx(np.exp(np.log(x).mean()))
        t = (np.log(documented) - predicted.predicted_mean[0]) / predicted.se_obs[0]
        assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))
        outside = not effect.low <= documented <= effect.high
        assert (verdict.outcome is Outcome.REFUTED) == outside == effect.fails


def test_it_is_shown_by_two_tests_of_the_distance_from_the_width():
    (a,) = arms(exact(0.5, 0.01))
    for runs in (1, 3, 10):
        (effect,) = a.agrees_with(0.505, runs=runs, within=0.06).effects
        error = 0.01 * (1 / runs + 1 / 8) ** 0.5
        assert effect.p_for == pytest.approx(stats.t.sf((0.06 - 0.005) / error, 7))


def test_a_ratio_of_arms_is_one_draw_of_the_ratio():
    machine = np.exp(0.3 * RNG.standard_normal(8))
    x, y = 20 * machine * np.exp(exact(0, 0.02)), 10 * machine
    a, b = arms(x, y, scale=LOG)
    (effect,) = a.agrees_with(2.1, times=b, runs=1, within_ratio=1.3).effects
    logs = np.log(x / y)
    t = (np.log(2.1) - logs.mean()) / logs.std(ddof=1) / (1 + 1 / 8) ** 0.5
    assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))
    assert effect.estimate == pytest.approx(stats.gmean(x / y))
    assert effect.per_seed == pytest.approx(tuple(x / y))
    unpaired = a.agrees_with(2.1, times=b, runs=1, within_ratio=1.3, paired=False).effects[0]
    variance = np.log(x).var(ddof=1) + np.log(y).var(ddof=1) + logs.var(ddof=1) / 8
    t = (np.log(2.1) - logs.mean()) / variance**0.5
    assert unpaired.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))


def test_an_amount_above_an_arm_is_judged_on_the_scale():
    x, y = exact(0.31, 0.004), 0.344 + 0.002 * RNG.standard_normal(8)
    a, b = arms(x, y, scale=Scale("log-odds"))
    verdict = a.agrees_with(-0.031, plus=b, runs=1, within=0.05)
    (effect,) = verdict.effects
    logits = np.log(x / (1 - x)) - np.log((y - 0.031) / (1 - y + 0.031))
    t = logits.mean() / logits.std(ddof=1) / (1 + 1 / 8) ** 0.5
    assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))
    assert effect.estimate == pytest.approx((x - y).mean(), abs=2e-4)
    assert effect.low < -0.031 < effect.high
    assert "a agrees with -0.031 plus b, documented of one run" in verdict.statement


def test_what_lies_outside_is_refuted_however_wide_the_width():
    (a,) = arms(exact(0.5, 0.001))
    verdict = a.agrees_with(0.52, runs=1, within=0.2)
    assert verdict.effects[0].p_for <= verdict.effects[0].boundary
    assert verdict.outcome is Outcome.REFUTED
    assert not verdict.effects[0].holds
    assert verdict.p <= LOOKS.level
    assert verdict.documented == 0.52


def test_an_interval_that_says_nothing_reproduces_nothing():
    (a,) = arms(exact(0.5, 0.1))
    verdict = a.agrees_with(0.5, runs=1, within=0.1)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "200 seeds would not settle it" in verdict.advice
    assert verdict.beyond is Beyond.RUNS
    assert a.agrees_with(0.5, runs=1, within=0.6).outcome is Outcome.REPRODUCED


def test_seeds_that_agree_by_counting_do_not_show_it_exactly():
    (a,) = arms(np.full(8, 0.8), scale=Scale("log-odds", count=300))
    near, far = (a.agrees_with(x, runs=1, within=0.1) for x in (0.803, 0.9))
    assert near.effects[0].has_spread
    assert a.agrees_with(0.803, runs=10**9, within=0.1).effects[0].has_spread
    assert near.outcome is Outcome.REPRODUCED
    assert far.outcome is Outcome.REFUTED
    assert a.agrees_with(0.803, runs=1, within=0.005).outcome is Outcome.INCONCLUSIVE


def test_what_does_not_depend_on_the_seed_is_read_off():
    (a,) = arms([0.65] * 8, exact=True)
    near, far = (a.agrees_with(x, runs=1, within=0.001) for x in (0.6505, 0.652))
    assert (near.outcome, far.outcome) == (Outcome.REPRODUCED, Outcome.REFUTED)
    assert "same on every seed; documented is 0.6505, which lies within 0.001" in told(near)
    assert "which does not lie within 0.001" in told(far)


def test_a_width_that_reaches_past_all_shares_is_judged_at_its_other_end():
    shares = 1 - np.array([0, 1, 3, 2, 0, 1, 2, 1]) / 1000
    scale = Scale("log-odds", count=1000)
    (a,), (b,) = arms(shares, scale=scale), arms(1 - shares, scale=scale)
    (effect,) = a.agrees_with(0.9955, runs=1, within=0.02).effects
    x = np.log(np.clip(shares, 0.0005, 0.9995) / (1 - np.clip(shares, 0.0005, 0.9995)))
    documented, lowest = (np.log(p / (1 - p)) for p in (0.9955, 0.9755))
    error = x.std(ddof=1) * (1 + 1 / 8) ** 0.5
    assert effect.p_for == pytest.approx(stats.t.sf((x.mean() - lowest) / error, 7), rel=1e-6)
    t = (x.mean() - documented) / error
    assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7), rel=1e-6)
    mirrored = b.agrees_with(0.0045, runs=1, within=0.02).effects[0]
    assert mirrored.p_for == pytest.approx(effect.p_for)
    assert a.agrees_with(1.0, runs=1, within=0.02).outcome is Outcome.REPRODUCED
