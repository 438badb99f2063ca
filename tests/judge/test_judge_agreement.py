"""Whether an effect has shrunk: Welch's test against SciPy's, and how often it is wrong."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from repro.judge import Design, Judge, Measured, Past, has_shrunk
from repro.judge.agreement import LEVEL, chance_of_less

pasts = st.builds(Past, st.floats(-5, 5), st.floats(0.01, 5), st.integers(2, 30))


@given(accepted=pasts, found=pasts)
def test_it_is_welchs_test(accepted, found):
    expected = scipy.stats.ttest_ind_from_stats(
        found.mean, found.spread, found.seeds, accepted.mean, accepted.spread, accepted.seeds,
        equal_var=False, alternative="less",
    )  # fmt: skip
    assert chance_of_less(accepted, found) == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)


def test_every_comparison_can_shrink_and_they_share_the_level():
    strong, weak = Past(3.0, 1.0, 12), Past(0.0, 1.0, 12)
    assert has_shrunk([strong, strong], [strong, weak])
    just = Past(3.0 - 1.45, 1.0, 12)  # at p = 0.00085
    assert LEVEL / 2 < chance_of_less(strong, just) < LEVEL
    assert has_shrunk([strong], [just])
    assert not has_shrunk([strong, strong], [strong, just])


def test_what_has_grown_agrees():
    assert not has_shrunk([Past(1.0, 0.1, 12)], [Past(9.0, 0.1, 12)])


def test_what_does_not_depend_on_the_seed_is_compared_as_it_is():
    assert has_shrunk([Past(1.0, 0.0, 5)], [Past(0.5, 0.0, 5)])
    assert not has_shrunk([Past(1.0, 0.0, 5)], [Past(1.0, 0.0, 5)])


@pytest.mark.parametrize("count", [0, 3])
def test_nothing_speaks_for_what_cannot_be_compared(count):
    assert has_shrunk([Past(1.0, 1.0, 5)] * 2, [Past(1.0, 1.0, 5)] * count)


def test_a_claim_that_ended_early_is_compared_as_far_as_it_came():
    first, second = Past(3.0, 1.0, 12), Past(9.0, 1.0, 12)
    assert not has_shrunk([first, second], [first])
    assert has_shrunk([first, second], [Past(0.0, 1.0, 12)])


def claims(effect, generator, count=400):
    """The verdicts on so many claims with this effect, in standard deviations over seeds."""
    judge = Judge(Design(looks=(5, 8, 12)))
    for _ in range(count):
        draws = generator.normal(effect, 1, 12)
        Measured(judge=judge, label="a", metric="m", values=lambda n, x=draws: x[:n]).exceeds(0.0)
    return [(v.outcome, [effect.past for effect in v.effects]) for v in judge.verdicts]


@pytest.mark.parametrize(("effect", "caught"), [(1.25, 0.1), (2.0, 0.3), (4.0, 0.8)])
def test_what_is_still_there_seldom_fails_and_what_has_vanished_does(effect, caught):
    generator = np.random.default_rng(7)
    there, here, gone = (claims(x, generator) for x in (effect, effect, 0.0))
    accepted = [(past, i) for i, (outcome, past) in enumerate(there) if outcome == "reproduced"]
    false = [here[i][0] == "inconclusive" and has_shrunk(past, here[i][1]) for past, i in accepted]
    found = [gone[i][0] == "refuted" or has_shrunk(past, gone[i][1]) for past, i in accepted]
    assert np.mean(false) < 0.01
    assert np.mean(found) > caught
