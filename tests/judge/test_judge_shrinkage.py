"""The test of shrunken effects: against SciPy's t and F tests, and its rule as a whole."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from repro.judge import Excess, Standing, chance_of_less, chance_unchanged, standing
from repro.judge.shrinkage import DECISIVE, DOUBT, LEVEL, REPORTED, power_for_half

excesses = st.builds(Excess, st.floats(-5, 5), st.floats(0.01, 5), st.integers(2, 30))
STRONG, GONE = Excess(3.0, 1.0, 20), Excess(0.0, 1.0, 20)


@given(accepted=excesses, measured=excesses)
def test_chance_of_less_is_the_t_test_of_a_pooled_spread(accepted, measured):
    expected = scipy.stats.ttest_ind_from_stats(
        measured.mean, measured.spread, measured.seeds,
        accepted.mean, accepted.spread, accepted.seeds,
        equal_var=True, alternative="less",
    )  # fmt: skip
    chance = chance_of_less(accepted, measured)
    assert chance == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)


@given(there=st.floats(-2, 2), here=st.floats(-2, 2), n=st.integers(2, 30), m=st.integers(2, 30))
def test_that_of_a_standard_deviation_is_the_f_test(there, here, n, m):
    ratio = np.exp(-here) ** 2 / np.exp(-there) ** 2  # a smaller distance is a larger deviation
    expected = scipy.stats.f.sf(ratio, m - 1, n - 1)
    chance = chance_of_less(Excess(there, None, n), Excess(here, None, m))
    assert chance == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_comparisons_share_the_level():
    assert chance_unchanged([STRONG] * 3, [STRONG, GONE, STRONG]) == pytest.approx(
        3 * chance_of_less(STRONG, GONE)
    )
    assert chance_unchanged([STRONG], [GONE], among=5) == 5 * chance_of_less(STRONG, GONE)
    assert chance_unchanged([STRONG] * 2, [STRONG] * 2) == 1


def test_what_has_grown_is_no_smaller():
    assert chance_unchanged([Excess(1.0, 0.1, 12)], [Excess(9.0, 0.1, 12)]) == 1


def test_what_does_not_depend_on_the_seed_is_compared_as_it_is():
    exact = Excess(2101504.0, 0.0, 5)
    assert chance_of_less(exact, Excess(2101503.0, 0.0, 5)) == 0
    assert chance_of_less(exact, exact) == 1
    logs = Excess(np.log(1.77), 0.0, 20), Excess(np.nextafter(np.log(1.77), 0), 0.0, 5)
    assert chance_of_less(*logs) == 1, "the last bit of a logarithm is the machine's"


def test_a_tie_is_no_certainty_where_the_other_sample_has_spread():
    tied, one_lower = Excess(0.02, 0.0, 20), Excess(0.02 - 1 / 1500, 1 / 300 / 5**0.5, 5)
    assert 0.01 < chance_of_less(tied, one_lower) < 0.5


@pytest.mark.parametrize(
    ("chance", "seeds", "expected"),
    [
        (DOUBT, 5, Standing.AS_IT_WAS),
        (DOUBT / 2, 5, Standing.IN_DOUBT),
        (LEVEL / 2, DECISIVE - 1, Standing.IN_DOUBT),
        (LEVEL / 2, DECISIVE, Standing.SMALLER),
        (LEVEL, DECISIVE, Standing.IN_DOUBT),
    ],
)
def test_few_seeds_can_only_raise_a_doubt(chance, seeds, expected):
    assert standing(chance, seeds) is expected


def halves_found(there, seeds, draw):
    """The share of samples with half the distance that are reported as smaller."""
    found = [chance_of_less(there, draw(seeds)) < REPORTED for _ in range(2000)]
    return np.mean(found)


@pytest.mark.parametrize("seeds", [5, 12])
def test_the_power_for_half_is_what_a_simulation_finds(seeds):
    generator = np.random.default_rng(4)

    def half(n):  # the ledger's mean varies too: both differ from the true one
        values = generator.normal(2.0, 1, n) - generator.normal(0, 20**-0.5)
        return Excess(values.mean(), 1.0, n)

    there = Excess(4.0, 1.0, 20)
    expected = halves_found(there, seeds, half)
    assert power_for_half(there, seeds) == pytest.approx(expected, abs=0.06)


def test_the_power_for_half_of_a_standard_deviation_is_what_a_simulation_finds():
    generator = np.random.default_rng(4)

    def half(n):  # twice as wide, at half the logarithm of 4
        there = np.log(generator.normal(0, 1, 20).std(ddof=1))  # that the ledger's differs by
        return Excess(np.log(2) - np.log(generator.normal(0, 1, n).std(ddof=1)) + there, None, n)

    there = Excess(np.log(4), None, 20)
    assert power_for_half(there, 20) == pytest.approx(halves_found(there, 20, half), abs=0.06)
