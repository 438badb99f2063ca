"""Ratios of costs, and standard deviations over seeds."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from repro.judge import Outcome, Scale
from repro.judge.spread import median_spread
from repro.judge.statistic import LARGE_SPREAD, SMALL_SPREAD
from tests.judge.arms import EIGHT, LOOKS, TWELVE, arms, exact

RNG = np.random.default_rng(29)


def seconds(ratio, *, seeds=8, noise=0.03):
    machine = 10 * np.exp(0.5 * RNG.standard_normal(seeds))  # both runs of a pair suffer from it
    return [r * machine * np.exp(noise * RNG.standard_normal(seeds)) for r in (ratio, 1.0)]


def test_times_is_tost_of_paired_log_ratios():
    width = np.log(1.1)
    for ratio in (1.65, 1.75, 1.8, 1.9):
        x, y = seconds(ratio)
        a, b = arms(x, y, scale=Scale("log"), metric="seconds")
        verdict = a.is_times(1.65, b, within_ratio=1.1)
        p, _, _ = ttost_paired(np.log(x), np.log(y), np.log(1.65) - width, np.log(1.65) + width)
        assert max(effect.p_for for effect in verdict.effects) == pytest.approx(p)
        assert bool(verdict) == (p <= 0.005)
        for effect in verdict.effects:
            assert effect.estimate == pytest.approx(stats.gmean(x / y))
            assert effect.unit == "ratio"
        assert verdict.effects[0].correlation > 0.9
    assert a.is_times(3.0, b, within_ratio=1.2).outcome is Outcome.REFUTED


def test_at_most_times_is_a_one_sided_test_of_paired_log_ratios():
    x, y = seconds(1.02)
    a, b = arms(x, y, scale=Scale("log"), metric="seconds")
    verdict = a.is_at_most_times(1.1, b)
    p = stats.ttest_1samp(np.log(x / y), np.log(1.1), alternative="less").pvalue
    assert verdict.effects[0].p_for == pytest.approx(p)
    assert bool(verdict) == (p <= 0.005)
    assert "a is at most 1.1 times b in seconds" in str(verdict)
    assert a.is_at_most_times(0.5, b).outcome is Outcome.REFUTED


def test_a_ratio_of_counts_is_exact_and_says_so():
    a, b = arms([4_840_936] * 8, [2_739_432] * 8, metric="parameters", exact=True)
    ratio = a.is_times(1.77, b, within_ratio=1.005)
    assert ratio.outcome is Outcome.REPRODUCED
    assert "exact: declared not to depend on the seed" in str(ratio)
    assert "intervals" not in str(ratio)
    assert a.is_times(1.9, b, within_ratio=1.005).outcome is Outcome.REFUTED
    # A bound of exactly 1 is still a ratio.
    assert "ratio, claimed > 1;" in str(a.is_times(1.4, b, within_ratio=1.4))
    assert "a / b = 1.77 ratio, claimed > 1;" in str(a.exceeds(b, by_ratio=1.0))


def test_the_spread_is_judged_by_chi_square():
    x = 0.6 + 0.01 * RNG.standard_normal(8)
    (a,) = arms(x)
    for bound in (0.002, 0.01, 0.05):
        (effect,) = a.spreads_at_most(bound).effects
        q = 7 * x.var(ddof=1) / bound**2
        assert effect.p_for == pytest.approx(stats.chi2.cdf(q, 7))
        assert effect.p_against == pytest.approx(stats.chi2.sf(q, 7))
        assert effect.estimate == pytest.approx(x.std(ddof=1))
        ends = [(7 * x.var(ddof=1) / stats.chi2.ppf(p, 7)) ** 0.5 for p in (0.995, 0.005)]
        assert (effect.low, effect.high) == pytest.approx(ends)
        assert (effect.high < bound) == effect.holds
        assert (effect.low > bound) == effect.fails


def test_a_documented_spread_of_few_seeds_is_a_median():
    draws = np.random.default_rng(1).standard_normal((3, 200_000))
    assert np.median(draws.std(axis=0, ddof=1)) == pytest.approx(median_spread(3), abs=0.004)
    (a,) = arms(0.6 + 0.001 * RNG.standard_normal(8))
    verdict = a.spreads_at_most(0.016, over=3)
    assert verdict.effects[0].bound == pytest.approx(0.016 / median_spread(3))
    assert "a spreads at most 0.016 over 3 seeds as often as not" in str(verdict)


def test_a_spread_is_looked_at_again_and_again():
    for size, outcome in ((0.1, "reproduced"), (0.9, "inconclusive"), (5.0, "refuted")):
        (a,) = arms(exact(0.0, size, seeds=12), design=LOOKS)
        verdict = a.spreads_at_most(1.0)
        assert verdict.outcome == outcome
        (effect,) = verdict.effects
        assert effect.boundary == LOOKS.boundary(verdict.seeds, statistic=SMALL_SPREAD)
        assert effect.boundary_against == LOOKS.boundary(verdict.seeds, statistic=LARGE_SPREAD)


def test_advice_for_a_spread_is_the_power_of_chi_square():
    def power(sd, n):
        if sd < 1:
            return stats.chi2.cdf(stats.chi2.ppf(0.005, n - 1) / sd**2, n - 1)
        return stats.chi2.sf(stats.chi2.isf(0.005, n - 1) / sd**2, n - 1)

    for size, word in ((0.6, "reproduce"), (1.5, "refute")):
        (a,) = arms(exact(0.0, size, seeds=12), design=TWELVE)
        judged = a.spreads_at_most(1.0)
        assert judged.outcome is Outcome.INCONCLUSIVE
        assert f"would {word} it" in judged.advice
        needed = int(judged.advice.split()[0].removeprefix("~"))
        assert power(size, needed - 1) < 0.8 <= power(size, needed)


def test_the_power_printed_for_a_spread_is_what_simulation_finds():
    (a,) = arms(RNG.standard_normal(12), design=LOOKS)
    (effect,) = a.spreads_at_most(1.0).effects
    draws = effect.detectable * np.random.default_rng(8).standard_normal((12, 20_000))
    reproduced = np.zeros(20_000, bool)
    for n in LOOKS.looks:
        p = stats.chi2.cdf((n - 1) * draws[:n].var(axis=0, ddof=1), n - 1)
        reproduced |= p <= LOOKS.boundary(n, statistic=SMALL_SPREAD)
    assert reproduced.mean() == pytest.approx(0.8, abs=0.015)


def test_what_does_not_depend_on_the_seed_has_no_spread():
    (a,) = arms([0.3] * 8, exact=True, design=EIGHT)
    verdict = a.spreads_at_most(0.01)
    assert verdict.outcome is Outcome.REPRODUCED
    assert verdict.p == 0.0
    assert "sd of a = 0 accuracy, claimed < 0.01; the same on every seed" in str(verdict)
