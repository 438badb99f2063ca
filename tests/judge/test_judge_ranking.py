"""The agreement of a measured order with a documented one, by pairs and as a correlation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from repro.judge import Design, Judge, Ladder, Outcome, Scale
from repro.judge.ranking import tau_b
from tests.judge.arms import arm, arms

RNG = np.random.default_rng(23)


def ladder(*means, seeds=8, spread=0.01, level=0.01, scale="identity"):
    judge = Judge(Design(looks=(seeds,), level=level))
    samples = [mean + spread * RNG.standard_normal(seeds) for mean in means]
    return samples, Ladder(
        [
            arm(sample, judge=judge, label=f"arm {i}", scale=Scale(scale))
            for i, sample in enumerate(samples, 1)
        ]
    )


@given(st.lists(st.integers(0, 6), min_size=2, max_size=8))
def test_tau_is_scipys(values):
    assume(len(set(values)) > 1)
    expected = stats.kendalltau(range(len(values), 0, -1), values).statistic
    assert tau_b(np.array(values, float)) == pytest.approx(expected)


def test_values_that_are_all_tied_have_no_order():
    assert tau_b(np.ones(4)) == 0.0


def test_the_interval_is_that_of_t_over_the_taus_of_the_seeds():
    samples, rungs = ladder(5, 4, 3, 2, spread=1.0)
    ranking = rungs.is_ordered().ranking
    taus = [stats.kendalltau([4, 3, 2, 1], seed).statistic for seed in np.transpose(samples)]
    interval = stats.ttest_1samp(taus, 0).confidence_interval(0.99)
    assert ranking.tau == pytest.approx(np.mean(taus))
    assert ranking.low == pytest.approx(max(interval.low, -1))
    assert ranking.high == pytest.approx(min(interval.high, 1))
    means = [sample.mean() for sample in samples]
    assert ranking.tau_of_means == pytest.approx(stats.kendalltau([4, 3, 2, 1], means).statistic)


def test_every_pair_is_said_to_stand_as_listed_against_or_open():
    _, rungs = ladder(9, 7, 8, 3, 3)
    verdict = rungs.is_ordered()
    ranking = verdict.ranking
    assert verdict.outcome is Outcome.REFUTED
    assert ranking.against == ((2, 3),)
    assert ranking.open == ((4, 5),)
    assert len(ranking.as_claimed) == 8
    assert verdict.measured.startswith("8 of 10 pairs as listed, 1 against, tau-b 0.")
    text = str(verdict)
    for line in (
        "places: 1 arm 1; 2 arm 2; 3 arm 3; 4 arm 4; 5 arm 5",
        "8 of 10 pairs as listed: 1-2 1-3 1-4 1-5 2-4 2-5 3-4 3-5",
        "1 of 10 pairs against it: 2-3",
        "1 of 10 pairs not settled: 4-5",
        "(Kendall's tau-b): 0.",
    ):
        assert line in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_distant_pair_can_refute_what_its_neighbours_leave_open():
    samples = np.array([[2.0] * 8, [2.5] * 8, [3.0] * 8]) + 0.3 * RNG.standard_normal((3, 8))
    samples[1] += np.array([2.0, -2.0] * 4)  # the one between is too noisy to tell
    ordered = Ladder(arms(*samples))
    design = ordered[0].judge.design
    verdict = ordered.is_ordered()
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.ranking.against == ((1, 3),)
    assert verdict.effects[2].boundary_against == design.boundary(8, share=1 / 3)
    assert verdict.p == pytest.approx(2 * 3 * verdict.effects[2].p_against)
    # Power is about the two steps that have to hold, the third follows from them.
    assert verdict.effects[0].detectable_in_sd == design.detectable(terms=2)
    assert "also contradicted: a - c" in str(verdict)
    assert ordered.falls().outcome is Outcome.INCONCLUSIVE  # of the steps alone none is settled


def test_all_pairs_as_listed_and_a_tau_without_width():
    _, rungs = ladder(5, 4, 3, scale="log")
    verdict = rungs.is_ordered()
    assert verdict.outcome is Outcome.REPRODUCED
    assert (verdict.ranking.tau, verdict.ranking.low, verdict.ranking.high) == (1, 1, 1)
    assert "tau-b): 1.00 on one seed, 1.00 of the means" in " ".join(str(verdict).split())
