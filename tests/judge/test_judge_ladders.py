"""Arms in order: the words about their shape, and how well they rank as a source lists them."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from repro.judge import Ladder, Outcome, Scale
from repro.judge.ranking import tau_b
from tests.judge.arms import arms, told

RNG = np.random.default_rng(23)


def ladder(*means, spread=0.01, **settings):
    return Ladder(arms(*(mean + spread * RNG.standard_normal(8) for mean in means), **settings))


SHAPES = {
    "climbs by 0.5": ((1, 2, 3), lambda rungs: rungs.climbs(by_at_least=0.5)),
    "falls by 0.5": ((3, 2, 1), lambda rungs: rungs.falls(by_at_least=0.5)),
    "is ordered": ((3, 2, 1), lambda rungs: rungs.is_ordered()),
    "peaks in the middle": ((1, 3, 2), lambda rungs: rungs.peaks_at(1)),
    "peaks at the end": ((1, 2, 3), lambda rungs: rungs.peaks_at(-1)),
    "bottoms": ((2, 1, 3), lambda rungs: rungs.bottoms_at(1)),
    "dips": ((4, 2, 3, 1), lambda rungs: rungs.dips_at(1)),
    "diminishes": ((1, 3, 4), lambda rungs: rungs.diminishes()),
    "diminishes falling": ((9, 4, 2), lambda rungs: rungs.diminishes(falling=True)),
    "largest step": ((1, 2, 5, 6), lambda rungs: rungs.largest_step_is(1)),
    "largest step falling": ((6, 5, 2, 1), lambda rungs: rungs.largest_step_is(1, falling=True)),
}


def test_a_shape_is_reproduced_where_it_is_and_refuted_on_its_reverse():
    bad = []
    for name, (means, word) in SHAPES.items():
        found = [word(ladder(*(sign * mean for mean in means))).outcome for sign in (1, -1)]
        if found != [Outcome.REPRODUCED, Outcome.REFUTED]:
            bad.append((name, found))
    assert bad == []


def test_one_step_that_is_not_as_claimed_refutes_it():
    assert ladder(1, 2, 2.2).climbs(by_at_least=0.5).outcome is Outcome.REFUTED
    assert ladder(1, 2, 1.5, 3).climbs().outcome is Outcome.REFUTED
    assert ladder(4, 2, 1, 2).diminishes().outcome is Outcome.REFUTED
    assert ladder(3, 2, 0).diminishes().outcome is Outcome.REFUTED  # ever smaller, and downwards
    assert ladder(3, 2, 0).largest_step_is(0).outcome is Outcome.REFUTED


def test_an_order_reports_the_pairs_that_follow_without_judging_them():
    verdict = ladder(3, 2, 1).is_ordered()
    assert [(e.label, e.needed) for e in verdict.effects] == [
        ("a - b", True),
        ("b - c", True),
        ("a - c", False),
    ]


@given(st.lists(st.integers(0, 6), min_size=2, max_size=8))
def test_tau_is_scipys(values):
    assume(len(set(values)) > 1)
    expected = stats.kendalltau(range(len(values), 0, -1), values).statistic
    assert tau_b(np.array(values, float)) == pytest.approx(expected)
    assert tau_b(np.ones(4)) == 0.0  # all tied: they have no order


def test_the_interval_is_that_of_t_over_the_taus_of_the_seeds():
    rungs = ladder(5, 4, 3, 2, spread=1.0)
    samples = [rung.values(8) for rung in rungs]
    ranking = rungs.is_ordered().ranking
    taus = [stats.kendalltau([4, 3, 2, 1], seed).statistic for seed in np.transpose(samples)]
    interval = stats.ttest_1samp(taus, 0).confidence_interval(0.99)
    assert ranking.tau == pytest.approx(np.mean(taus))
    assert ranking.low == pytest.approx(max(interval.low, -1))
    assert ranking.high == pytest.approx(min(interval.high, 1))
    means = [sample.mean() for sample in samples]
    assert ranking.tau_of_means == pytest.approx(stats.kendalltau([4, 3, 2, 1], means).statistic)


def test_every_pair_is_said_to_stand_as_listed_against_or_open():
    verdict = ladder(9, 7, 8, 3, 3).is_ordered()
    ranking = verdict.ranking
    assert verdict.outcome is Outcome.REFUTED
    assert ranking.against == ((2, 3),)
    assert ranking.open == ((4, 5),)
    assert len(ranking.as_claimed) == 8
    assert verdict.measured.startswith("8 of 10 pairs as listed, 1 against, tau-b 0.")
    for words in ("places: 1 a; 2 b; 3 c; 4 d; 5 e", "against it: 2-3", "not settled: 4-5"):
        assert words in str(verdict)
    assert max(map(len, str(verdict).splitlines())) <= 80


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
    verdict = ladder(5, 4, 3, scale=Scale("log")).is_ordered()
    assert verdict.outcome is Outcome.REPRODUCED
    assert (verdict.ranking.tau, verdict.ranking.low, verdict.ranking.high) == (1, 1, 1)
    assert "tau-b): 1.00 on one seed, 1.00 of the means" in told(verdict)
