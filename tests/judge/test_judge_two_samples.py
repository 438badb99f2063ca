"""Arms whose runs are not paired: Welch's p as others compute it, at a level that is kept."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from repro.judge import Judge, Ladder, OneLook, Outcome, Scale
from repro.judge.two_samples import weigh_apart
from repro.judge.welch import Welch
from tests.judge.arms import arm

RNG = np.random.default_rng(7)


def apart(*samples, pairing=None, **more):
    """Arms called a, b and so on, each a sample by itself unless they share a `pairing`."""
    judge = Judge(OneLook(looks=(max(map(len, samples)),)))
    return [
        replace(arm(each, judge=judge, label=label, **more), pairing=pairing or label)
        for label, each in zip("abcd", samples, strict=False)
    ]


def test_p_and_interval_are_those_of_scipy_and_statsmodels():
    for counts in ((5, 12), (20, 12), (3, 3)):
        first, second = RNG.normal(0.5, 1.0, counts[0]), RNG.normal(0.0, 2.5, counts[1])
        a, b = apart(first, second)
        effect = (a > b).effects[0]
        theirs = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
        other = CompareMeans(DescrStatsW(first), DescrStatsW(second))
        assert effect.p_for == pytest.approx(theirs.pvalue, rel=1e-9)
        assert effect.p_for == pytest.approx(
            other.ttest_ind(alternative="larger", usevar="unequal")[1], rel=1e-9
        )
        low, high = other.tconfint_diff(alpha=2 * effect.boundary, usevar="unequal")
        assert (effect.low, effect.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.thorough
def test_no_ratio_of_spreads_breaks_the_level():
    samples = 100_000
    for counts, spreads in (
        ((3, 3), (1, 5)),
        ((3, 20), (1, 1)),
        ((5, 20), (2, 1)),
        ((5, 5), (5, 1)),
        ((20, 20), (1, 3)),
    ):
        first, second = (
            spread * RNG.standard_normal((count, samples))
            for count, spread in zip(counts, spreads, strict=True)
        )
        evidence = weigh_apart([first, -second], least_spreads=[0.0, 0.0])
        boundary = OneLook(looks=(max(counts),)).boundary(
            evidence.seeds, statistic=evidence.statistic_for
        )
        false = float((evidence.p_for <= boundary).mean())
        assert false <= 0.005 + 3 * (0.005 / samples) ** 0.5, counts


def test_what_counts_is_a_p_whose_chance_is_the_level():
    for counts in ((3, 3), (5, 12)):
        a, b = apart(RNG.normal(1, 1, counts[0]), RNG.normal(0, 1, counts[1]))
        (effect,) = (a > b).effects
        welch = Welch(*counts)
        for level in (0.005, 1e-5):
            assert welch.chance(welch.keeping(level)) == pytest.approx(level, rel=1e-6)
        assert effect.boundary == pytest.approx(welch.keeping(0.005))
    assert Welch(200, 300).keeping(0.005) == pytest.approx(0.005, rel=0.001)


def test_gains_of_four_samples_take_the_freedom_of_the_smallest():
    samples = [RNG.normal(mean, 1, 6) for mean in (9, 1, 1, 0)]
    a, b, c, d = apart(*samples)
    verdict = (a - b) > (c - d)
    gain = samples[0].mean() - samples[1].mean() - samples[2].mean() + samples[3].mean()
    error = sum(each.var(ddof=1) / 6 for each in samples) ** 0.5
    assert verdict.effects[0].p_for == pytest.approx(stats.t.sf(gain / error, 5))
    assert verdict.outcome is Outcome.REPRODUCED


def test_equal_values_everywhere_are_a_question_and_no_verdict():
    for value in (0.5, 0.6):
        a, b = apart([value] * 5, [0.5] * 7)
        assert (a > b).outcome is Outcome.INCONCLUSIVE
        assert "alike on every seed" in (a > b).reason or "every seed gave" in (a > b).reason


def test_shares_at_their_ceiling_spread_by_half_an_example():
    counted = Scale("log-odds", count=100)
    ceiling, below = apart([1.0] * 5, [0.9, 0.91, 0.92, 0.9, 0.9], scale=counted)
    assert (ceiling > below).effects[0].spread > 0
    both = apart([1.0] * 5, [1.0] * 5, scale=counted)
    assert (both[0] > both[1]).outcome is Outcome.INCONCLUSIVE


def test_a_fixed_number_is_compared_with_one_sample():
    few, many = apart(RNG.normal(1, 0.1, 5), RNG.normal(1, 0.1, 9))
    both = (few > 0.5) & (many > 0.5)
    assert both.outcome is Outcome.REPRODUCED
    assert [effect.seeds for effect in both.effects] == [5, 9]


def test_words_about_single_seeds_are_refused():
    a, b = apart(RNG.normal(1, 1, 9), RNG.normal(0, 1, 9))
    with pytest.raises(ValueError, match="seed by seed"):
        a.exceeds(b, in_at_least=0.5)
    with pytest.raises(ValueError, match="seed by seed"):
        a.agrees_with(1.0, runs=1, within=0.5, plus=b)
    assert a.exceeds(-5.0, in_at_least=0.5).outcome is Outcome.REPRODUCED


def test_a_ranking_of_samples_has_no_order_on_single_seeds():
    rungs = apart(*(RNG.normal(mean, 0.1, count) for mean, count in ((3, 5), (2, 8), (1, 6))))
    verdict = Ladder(rungs).is_ordered()
    assert verdict.outcome is Outcome.REPRODUCED
    assert "1.00 of the means" in str(verdict)


def test_samples_of_one_pairing_are_paired():
    base = RNG.normal(0, 5, 8)
    a, b = apart(base + RNG.normal(1, 0.1, 8), base, pairing="the same")
    effect = (a > b).effects[0]
    theirs = stats.ttest_rel(a.values(8), b.values(8), alternative="greater")
    assert effect.p_for == pytest.approx(theirs.pvalue)
    assert not effect.counts


def test_one_look_has_the_whole_level_and_tells_its_seeds():
    a, b = apart(RNG.normal(5, 1, 20), RNG.normal(0, 1, 12))
    assert (a > b).measured.endswith("20 and 12 seeds")
    assert "20 and 12 seeds (one look)" in str(a > b)
    effect = (a > 0.0).effects[0]
    assert effect.boundary == 0.005
    assert effect.corrected is None
