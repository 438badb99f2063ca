"""The chances of an audit's draws, held against scipy's distributions and against simulation."""

import math
import random

import pytest
from scipy import stats

from repro.evidence.sampling import Sampling

EVEN = Sampling([1 / 1159] * 1159)
EVEN_420 = Sampling([1 / 420] * 420)
COSTS = [1.0] * 300 + [10.0] * 100 + [120.0] * 20
TILTED = Sampling.within(COSTS, draws=29, seconds=60)


def test_even_chances_are_those_of_the_hypergeometric_distribution():
    for wrong in (0, 1, 12, 58, 116, 348, 1159):
        for draws in (1, 5, 29, 100):
            missed = stats.hypergeom(1159, wrong, draws).pmf(0)
            assert EVEN.finds(wrong, draws) == pytest.approx(1 - missed, abs=1e-9)


def test_29_clean_runs_say_that_less_than_a_tenth_is_wrong():
    """By 0.9 to the 29th, which is 0.047, however many runs there are."""
    for total in (200, 1159, 20_000):
        fewest = Sampling([1 / total] * total).fewest_found(29)
        assert fewest / total < 0.1
    assert fewest / total == pytest.approx(1 - 0.05 ** (1 / 29), abs=1e-3)
    below, at = EVEN.fewest_found(29) - 1, EVEN.fewest_found(29)
    assert EVEN.finds(below, 29) < 0.95 <= EVEN.finds(at, 29)


def test_all_runs_drawn_find_a_single_one_and_no_draws_find_nothing():
    assert EVEN.finds(1, 1159) == 1
    assert EVEN.fewest_found(1159) == 1
    assert EVEN.finds(1158, 0) == 0
    assert Sampling([0.5, 0.5]).fewest_found(0) is None


def test_chances_are_even_where_the_time_allows():
    assert Sampling.within(COSTS, draws=29, seconds=1e6).is_even
    assert Sampling.within([2.0, 2.0], draws=29, seconds=1).is_even


def test_costly_runs_have_less_chance_and_never_none():
    assert not TILTED.is_even
    assert math.fsum(TILTED.chances) == pytest.approx(1)
    cheap, middling, costly = TILTED.chances[0], TILTED.chances[300], TILTED.chances[-1]
    assert cheap > middling > costly > 0
    expected = 29 * math.fsum(c * p for c, p in zip(COSTS, TILTED.chances, strict=True))
    assert expected == pytest.approx(60, rel=0.05)


def test_draws_have_these_chances():
    first = [next(TILTED.order(seed)) for seed in range(1000)]
    for chosen in (range(300), range(300, 400), range(400, 420)):
        share = sum(place in chosen for place in first) / 1000
        chance = math.fsum(TILTED.chances[place] for place in chosen)
        assert abs(share - chance) < 4 * math.sqrt(chance / 1000)


def test_an_order_has_each_run_once_and_is_decided_by_the_seed():
    order = list(TILTED.order(7))
    assert sorted(order) == list(range(420))
    assert list(TILTED.order(7)) == order
    assert list(TILTED.order(8)) != order


def require_found(sampling, count, sessions, *, costly):
    """Hold how often 29 draws hit one of so many wrong runs against what is said of it."""
    draw = random.Random(0)
    found = 0
    for seed in range(sessions):
        wrong = set(range(420 - count, 420) if costly else draw.sample(range(420), count))
        order = sampling.order(seed)
        found += any(next(order) in wrong for _ in range(29))
    least = sampling.finds(count, 29)
    error = 4 * math.sqrt(least * (1 - least) / sessions) + 1e-3
    assert found / sessions > least - error
    if sampling.is_even:
        assert found / sessions < least + error


def test_wrong_runs_are_found_at_least_as_often_as_is_said():
    require_found(EVEN_420, 21, 150, costly=True)
    require_found(TILTED, 126, 150, costly=True)


@pytest.mark.thorough
@pytest.mark.parametrize("sampling", [EVEN_420, TILTED], ids=["even", "tilted"])
def test_wrong_runs_of_any_number_are_found_as_often(sampling):
    """Whether runs were forged at random, or by somebody who knows which are the costly ones."""
    for share in (0.05, 0.1, 0.3):
        for costly in (False, True):
            require_found(sampling, round(share * 420), 1500, costly=costly)
