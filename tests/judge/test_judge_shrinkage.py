"""The test of shrunken effects: against SciPy's Welch test, and how often it is wrong."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from repro.judge import Design, Excess, Judge, has_shrunk
from repro.judge.shrinkage import LEVEL, chance_of_less
from tests.judge.arms import arm

excesses = st.builds(Excess, st.floats(-5, 5), st.floats(0.01, 5), st.integers(2, 30))


@given(accepted=excesses, measured=excesses)
def test_chance_of_less_is_welchs_test(accepted, measured):
    expected = scipy.stats.ttest_ind_from_stats(
        measured.mean, measured.spread, measured.seeds,
        accepted.mean, accepted.spread, accepted.seeds,
        equal_var=False, alternative="less",
    )  # fmt: skip
    chance = chance_of_less(accepted, measured)
    assert chance == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)


def test_every_comparison_can_shrink_and_they_share_the_level():
    strong, weak = Excess(3.0, 1.0, 12), Excess(0.0, 1.0, 12)
    assert has_shrunk([strong, strong], [strong, weak])
    just = Excess(3.0 - 1.45, 1.0, 12)  # at p = 0.00085
    assert LEVEL / 2 < chance_of_less(strong, just) < LEVEL
    assert has_shrunk([strong], [just])
    assert not has_shrunk([strong, strong], [strong, just])


def test_what_has_grown_agrees():
    assert not has_shrunk([Excess(1.0, 0.1, 12)], [Excess(9.0, 0.1, 12)])


def test_what_does_not_depend_on_the_seed_is_compared_as_it_is():
    assert has_shrunk([Excess(1.0, 0.0, 5)], [Excess(0.5, 0.0, 5)])
    assert not has_shrunk([Excess(1.0, 0.0, 5)], [Excess(1.0, 0.0, 5)])


@pytest.mark.parametrize("count", [0, 3])
def test_nothing_speaks_for_what_cannot_be_compared(count):
    assert has_shrunk([Excess(1.0, 1.0, 5)] * 2, [Excess(1.0, 1.0, 5)] * count)


def test_a_claim_that_ended_early_is_compared_as_far_as_it_came():
    first, second = Excess(3.0, 1.0, 12), Excess(9.0, 1.0, 12)
    assert not has_shrunk([first, second], [first])
    assert has_shrunk([first, second], [Excess(0.0, 1.0, 12)])


def claims(effect, generator, count=400):
    """Outcome and excesses of `count` claims whose effect is so many standard deviations."""
    judge = Judge(Design(looks=(5, 8, 12)))
    for _ in range(count):
        arm(generator.normal(effect, 1, 12), judge=judge).exceeds(0.0)
    return [(v.outcome, [effect.excess for effect in v.effects]) for v in judge.verdicts]


@pytest.mark.parametrize(("effect", "caught"), [(1.25, 0.1), (2.0, 0.3), (4.0, 0.8)])
def test_what_is_still_there_seldom_fails_and_what_has_vanished_does(effect, caught):
    generator = np.random.default_rng(7)
    there, here, gone = (claims(x, generator) for x in (effect, effect, 0.0))
    reproduced = [
        (i, excess) for i, (outcome, excess) in enumerate(there) if outcome == "reproduced"
    ]
    false, vanished = [], []
    for i, excess in reproduced:
        (outcome, excess_here), (outcome_gone, excess_gone) = here[i], gone[i]
        false.append(outcome == "inconclusive" and has_shrunk(excess, excess_here))
        vanished.append(outcome_gone == "refuted" or has_shrunk(excess, excess_gone))
    assert np.mean(false) < 0.01
    assert np.mean(vanished) > caught
