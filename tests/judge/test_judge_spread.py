"""Ratios of costs, and standard deviations over seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from repro.judge import Design, Outcome, Scale
from repro.judge.spread import median_spread
from repro.judge.statistic import LARGE_SPREAD, SMALL_SPREAD
from tests.judge.arms import arms

RNG = np.random.default_rng(29)
LOOKS = Design(looks=(5, 8, 12))


def seconds(ratio, *, seeds=8, noise=0.03):
    machine = 10 * np.exp(0.5 * RNG.standard_normal(seeds))  # both runs of a pair suffer from it
    return [r * machine * np.exp(noise * RNG.standard_normal(seeds)) for r in (ratio, 1.0)]


@pytest.mark.parametrize("ratio", [1.65, 1.75, 1.8, 1.9])
def test_times_is_tost_of_paired_log_ratios(ratio):
    x, y = seconds(ratio)
    a, b = arms(x, y, scale=Scale("log"), metric="seconds")
    verdict = a.is_times(1.65, b, within_ratio=1.1)
    width = np.log(1.1)
    p, _, _ = ttost_paired(np.log(x), np.log(y), np.log(1.65) - width, np.log(1.65) + width)
    assert max(effect.p_for for effect in verdict.effects) == pytest.approx(p)
    assert bool(verdict) == (p <= 0.005)
    for effect in verdict.effects:
        assert effect.estimate == pytest.approx(stats.gmean(x / y))
        assert effect.unit == "ratio"
    assert verdict.effects[0].correlation > 0.9


def test_times_is_the_same_turned_around():
    x, y = seconds(2.0)
    a, b = arms(x, y, scale=Scale("log"), metric="seconds")
    one, other = a.is_times(2.0, b, within_ratio=1.2), b.is_times(0.5, a, within_ratio=1.2)
    assert sorted(e.p_for for e in one.effects) == pytest.approx(
        sorted(e.p_for for e in other.effects)
    )
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
    exact = a.is_times(1.77, b, within_ratio=1.005)
    assert exact.outcome is Outcome.REPRODUCED
    assert "exact: declared not to depend on the seed" in str(exact)
    assert "intervals" not in str(exact)
    assert a.is_times(1.9, b, within_ratio=1.005).outcome is Outcome.REFUTED
    # A bound of exactly 1 is still a ratio.
    assert "ratio, claimed > 1;" in str(a.is_times(1.4, b, within_ratio=1.4))
    assert "a / b = 1.77 ratio, claimed > 1;" in str(a.exceeds(b, by_ratio=1.0))


@pytest.mark.parametrize("bound", [0.002, 0.01, 0.05])
def test_the_spread_is_judged_by_chi_square(bound):
    x = 0.6 + 0.01 * RNG.standard_normal(8)
    (a,) = arms(x)
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
    (effect,) = a.spreads_at_most(0.016, over=3).effects
    assert effect.bound == pytest.approx(0.016 / median_spread(3))
    assert "a spreads at most 0.016 over 3 seeds as often as not" in str(
        a.spreads_at_most(0.016, over=3)
    )


def test_a_spread_is_looked_at_again_and_again():
    x = RNG.standard_normal(12)
    x = (x - x.mean()) / x.std(ddof=1)
    for size, outcome in ((0.1, "reproduced"), (0.9, "inconclusive"), (5.0, "refuted")):
        (a,) = arms(size * x, design=LOOKS)
        assert a.spreads_at_most(1.0).outcome == outcome
        verdict = a.spreads_at_most(1.0)
        (effect,) = verdict.effects
        assert effect.boundary == LOOKS.boundary(verdict.seeds, statistic=SMALL_SPREAD)
        assert effect.boundary_against == LOOKS.boundary(verdict.seeds, statistic=LARGE_SPREAD)
    text = str(a.spreads_at_most(1.0))
    assert "chi-square takes the values for normal" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("size", "verdict"), [(0.6, "reproduce"), (1.5, "refute")])
def test_advice_for_a_spread_is_the_power_of_chi_square(size, verdict):
    x = RNG.standard_normal(12)
    sd = size
    (a,) = arms(sd * (x - x.mean()) / x.std(ddof=1), design=Design(looks=(12,)))
    judged = a.spreads_at_most(1.0)
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert f"would {verdict} it" in judged.advice
    needed = int(judged.advice.split()[0].removeprefix("~"))

    def power(n):
        if sd < 1:
            return stats.chi2.cdf(stats.chi2.ppf(0.005, n - 1) / sd**2, n - 1)
        return stats.chi2.sf(stats.chi2.isf(0.005, n - 1) / sd**2, n - 1)

    assert power(needed - 1) < 0.8 <= power(needed)


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
    (a,) = arms([0.3] * 8, exact=True)
    verdict = a.spreads_at_most(0.01)
    assert verdict.outcome is Outcome.REPRODUCED
    assert verdict.p == 0.0
    assert "sd of a = 0 accuracy, claimed < 0.01; the same on every seed" in str(verdict)


def test_misuse_teaches():
    a, b = arms([1.0] * 8, [2.0] * 8)
    cases = [
        (lambda: a.is_times(0, b, within_ratio=1.1), "give a positive number"),
        (lambda: a.is_times(2, b, within_ratio=1.0), "leaves nothing to show"),
        (lambda: a.spreads_at_most(0), "give a positive number"),
        (lambda: a.is_at_most_times(0, b), "give a positive number"),
        (lambda: a.spreads_at_most(0.1, over=1), "at least 2"),
    ]
    for misuse, match in cases:
        with pytest.raises(ValueError, match=match):
            misuse()
