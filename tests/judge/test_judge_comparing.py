"""Claims that are held against a ledger: the test of shrunken effects, and what it asks for."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from repro.judge import (
    Design,
    Excess,
    Judge,
    Ladder,
    Outcome,
    Scale,
    Standing,
    compare_with_ledger,
    reference,
)
from repro.judge.level_shift import Level, shifts
from repro.judge.smaller import (
    FURTHER,
    chance_of_less,
    distances,
)
from tests.judge.arms import LOOKS, arm, arms

FIVE = Design(looks=(5,))
OPEN = [0.2, -0.1, 0.3, -0.2, 0.1]
RISEN = np.array([1.0, 1.1, 0.9, 1.05, 0.95])


excesses = st.builds(Excess, st.floats(-5, 5), st.floats(0.01, 5), st.integers(2, 30))


@given(accepted=excesses, measured=excesses)
def test_chance_of_less_is_the_t_test_of_a_pooled_spread(accepted, measured):
    expected = scipy.stats.ttest_ind_from_stats(
        measured.mean, measured.spread, measured.seeds,
        accepted.mean, accepted.spread, accepted.seeds,
        equal_var=True, alternative="less",
    )  # fmt: skip
    chance = chance_of_less(accepted, measured)
    assert chance == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)


def test_what_does_not_depend_on_the_seed_is_compared_as_it_is():
    count = Excess(2101504.0, 0.0, 5)
    assert chance_of_less(count, Excess(2101404.0, 0.0, 5)) == 0
    assert chance_of_less(count, count) == 1
    in_ledger = Excess(0.00150113, 0.0, 20)
    assert chance_of_less(in_ledger, Excess(0.0015011261, 0.0, 5)) == 1, "a ledger has six digits"
    logs = Excess(np.log(1.77), 0.0, 20), Excess(np.nextafter(np.log(1.77), 0), 0.0, 5)
    assert chance_of_less(*logs) == 1, "the last bit of a logarithm is the machine's"
    # A tie is no certainty where the other sample has spread.
    tied, one_lower = Excess(0.02, 0.0, 20), Excess(0.02 - 1 / 1500, 1 / 300 / 5**0.5, 5)
    assert 0.01 < chance_of_less(tied, one_lower) < 0.5


def every(seeds):
    return True


def sample(mean, generator, seeds=30):
    return generator.normal(mean, 1, seeds)


def rises(values, *, above=0.0, design=FIVE, looks=None):
    """The finding that one arm lies above a bound."""
    return arm(values, judge=Judge(design), looks=looks).exceeds(above)


def held(accepted, values, *, looks=None, has=every):
    """Hold the finding that one arm lies above 0 against what was accepted."""
    [found] = compare_with_ledger(accepted, [rises(values, looks=looks)], has=has)
    return found


def test_what_is_in_doubt_takes_more_seeds_until_it_is_none():
    lasting = [-0.3, -0.4, 0.3, -0.2, 0.4, *[1.9, 2.1, 2.4] * 5]
    doubtful = [1.3, -0.7, 0.8, -1.2, 0.3] * 6
    vanished = sample(0.0, np.random.default_rng(1))
    for past, values, now, seeds in (
        (0.6, [0.2, 1.9, 0.3, -0.2, 1.1], Standing.AS_IT_WAS, 5),  # open, and not in doubt
        (1.4, lasting, Standing.AS_IT_WAS, 8),
        (4.0, vanished, Standing.SMALLER, 12),  # as soon as that can be said
        (1.2, doubtful, Standing.IN_DOUBT, FURTHER[-1]),
    ):
        looks = []
        found = held([Excess(past, 1.0, 20)], values, looks=looks)
        assert (found.standing, found.seeds, max(looks)) == (now, seeds, seeds)


def test_what_is_settled_is_compared_at_the_seeds_that_it_took():
    looks = []
    found = held([Excess(9.0, 1.0, 20)], RISEN, looks=looks)
    assert set(looks) == {5}
    assert (found.standing, found.holds) == (Standing.SMALLER, True)
    pooled = ((19 * 1.0**2 + 4 * RISEN.var(ddof=1)) / 23) ** 0.5  # of both: in one unit
    there, here = 9.0 / pooled, RISEN.mean() / pooled
    assert f"a - 0, {there:.2f} sd past the bound over 20 seeds there, {here:.2f} sd" in str(found)
    assert f"{found.chance:.2g}" in str(found)
    found = held([Excess(1.0, 1.0, 20)], -RISEN, looks=looks)
    assert found.verdict.outcome is Outcome.REFUTED
    assert found.chance == chance_of_less(*found.accepted, *found.measured) < 0.001
    assert str(found).startswith("smaller than it was")
    assert set(looks) == {5}


def test_what_holds_fails_no_claim_however_much_smaller_it_is():
    """A claim is open because of its small step, and its large step is smaller and holds."""
    accepted = [Excess(43.0, 1.0, 20), Excess(1.0, 1.0, 20)]
    judge, generator = Judge(FIVE), np.random.default_rng(7)
    places = {"low": 0.0, "mid": 30.0, "high": 30.4}
    low, mid, high = (
        arm(sample(at, generator), judge=judge, label=label) for label, at in places.items()
    )
    assert Ladder([low, mid, high]).climbs().outcome is Outcome.INCONCLUSIVE
    small, large = compare_with_ledger(accepted, judge.verdicts, has=every)
    assert (small.labels, small.holds, small.standing) == (
        ("high - mid",), False, Standing.AS_IT_WAS,
    )  # fmt: skip
    assert (large.labels, large.holds, large.standing) == (
        ("mid - low",), True, Standing.SMALLER,
    )  # fmt: skip
    assert large.chance == 2 * chance_of_less(*large.accepted, *large.measured)


def test_seeds_that_cannot_be_had_end_the_comparison():
    looks = []
    found = held([Excess(4.0, 1.0, 20)], OPEN * 6, looks=looks, has=lambda seeds: seeds < 8)
    assert found.standing is Standing.IN_DOUBT
    assert set(looks) == {5}
    # A further seed without a value does too.
    found = held([Excess(1.4, 1.0, 20)], [-0.3, -0.4, 0.3, -0.2, 0.4, 0.1, np.nan, *[0.0] * 23])
    assert (found.seeds, found.standing) == (5, Standing.IN_DOUBT)


def test_the_reference_is_measured_over_its_own_seeds_where_there_are_so_many():
    values = 1 + 0.1 * sample(0.0, np.random.default_rng(2))
    [past] = reference([rises(values, above=0.5, design=LOOKS)], 20, has=every)
    assert past.seeds == 20
    assert past.mean == pytest.approx(values[:20].mean() - 0.5)
    assert past.spread == pytest.approx(values[:20].std(ddof=1))
    looks = []
    finding = rises(RISEN, looks=looks)
    for seeds, has in ((0, every), (20, lambda seeds: seeds < 20)):
        assert [each.seeds for each in reference([finding], seeds, has=has)] == [5]
    assert set(looks) == {5}
    finding = rises([*RISEN, 1.0, np.nan, *[1.0] * 13])
    assert [each.seeds for each in reference([finding], 20, has=every)] == [5]


def test_what_cannot_be_compared_says_so():
    for accepted, values in (
        ([], OPEN),
        ([Excess(1.0, 1.0, 20)], [0.2, np.nan, 0.3, -0.2, 0.1]),
    ):
        found = held(accepted, values)
        assert found.standing is Standing.INCOMPARABLE
        assert "not to be compared" in str(found)
    findings = [rises(OPEN), rises(OPEN)]  # more than were accepted
    first, second = compare_with_ledger([Excess(0.1, 1.0, 20)], findings, has=every)
    assert first.standing is Standing.AS_IT_WAS
    assert second.standing is Standing.INCOMPARABLE


def test_findings_are_matched_in_order_and_share_the_level():
    accepted = [Excess(2.0, 1.0, 20), Excess(2.0, 1.0, 20), Excess(4.0, 1.0, 20)]
    judge, generator = Judge(FIVE), np.random.default_rng(3)
    low, mid, high = (arm(sample(at, generator), judge=judge) for at in (0.0, 9.0, 18.0))
    Ladder([low, mid, high]).climbs()
    arm(sample(0.0, generator), judge=judge).exceeds(0.0)
    ladder, last = compare_with_ledger(accepted, judge.verdicts, has=every)
    assert [len(each.accepted) for each in (ladder, last)] == [2, 1]
    assert last.standing is Standing.SMALLER
    assert last.chance == 3 * chance_of_less(*last.accepted, *last.measured)


def test_joined_findings_are_compared_by_all_their_parts():
    judge = Judge(FIVE)
    one, other = (arm(RISEN, judge=judge) for _ in "ab")
    assert one.exceeds(0.0) & other.exceeds(0.5)
    assert len(judge.verdicts) == 1
    [first, second] = reference(judge.verdicts, 0, has=every)
    assert first.mean == pytest.approx(1.0)
    assert second.mean == pytest.approx(0.5)


def of(word, *samples, **settings):
    """The distances of a word about arms of these values."""
    measured = arms(*samples, design=FIVE, **settings)
    word(*measured)
    [verdict] = measured[0].judge.verdicts
    return distances(verdict, 5)


def test_each_word_has_its_distance_on_the_scale_of_its_metric():
    logs = Scale("log")
    [excess] = of(lambda a, b: a.exceeds(b, by_ratio=2), 3 * RISEN, RISEN, scale=logs)
    assert excess == Excess(pytest.approx(np.log(1.5)), 0.0, 5)
    [excess] = of(lambda a, b: b.falls_below(a, by_at_least=0.5), 3 * RISEN, RISEN)
    assert excess.mean == pytest.approx(1.5)
    low, high = of(lambda a: a.matches(1.2, tolerance=0.5), RISEN)  # both sides of a margin
    assert (low.mean, high.mean) == pytest.approx((0.3, 0.7))
    [excess] = of(lambda a: a.exceeds(0.99, in_at_least=0.5), RISEN)
    assert excess.mean == pytest.approx(3 / 5 - 0.5)
    assert excess.spread == pytest.approx(np.std([1, 1, 0, 1, 0], ddof=1))
    [excess] = of(lambda a: a.agrees_with(1.02, runs=1, within=0.5), RISEN)
    assert excess.mean == pytest.approx(0.5 - 0.02)  # a documented run, inside its width
    assert excess.spread == pytest.approx(RISEN.std(ddof=1))


def test_a_bound_beyond_the_metric_has_no_distance_to_lose():
    shares = np.array([0.9962, 0.995, 0.997, 0.996, 0.994])
    low, high = of(lambda a: a.matches(0.996, tolerance=0.02), shares, scale=Scale("log-odds"))
    assert low.mean > 0
    assert high == Excess(0.0, 0.0, 5)


def test_less_noise_in_the_labels_is_seen_by_the_levels_of_five_seeds():
    """It lifts both arms, and shrinks an effect of 0.11 to 0.04, which stays in doubt."""
    rng = np.random.default_rng(36)

    def level(name, mean, seeds):
        values = rng.normal(mean, 0.02, seeds)
        return Level(name, "accuracy", values.mean(), values.std(ddof=1), seeds)

    def seen(lifted):
        means = {"shallow": 0.7, "deep": 0.81}
        pairs = [(level(x, m, 20), level(x, m + lifted[x], 5)) for x, m in means.items()]
        return bool(shifts(pairs))

    share = {name: np.mean([seen(x) for _ in range(200)]) for name, x in MOVED.items()}
    assert share["less noise"] > 0.8
    assert share["nothing"] < 0.03


MOVED = {
    "less noise": {"shallow": 0.12, "deep": 0.05},
    "nothing": {"shallow": 0.0, "deep": 0.0},
}


def test_a_level_that_moved_names_the_arms_that_did():
    def moved(*by):
        before = [Level(f"arm {place}", "loss", 3.0, 0.1, 20) for place in range(len(by))]
        pairs = [(x, x._replace(mean=x.mean + n, seeds=5)) for x, n in zip(before, by, strict=True)]
        return [str(each).partition(" (p")[0] for each in shifts(pairs)]

    assert moved(0.4, 0.4) == ["loss of all 2 arms: 3 → 3.4"]
    assert moved(0.8, 0.0) == ["loss of 1 of 2 arms (arm 0): 3 → 3.8"]
    assert moved(0.9, -0.2) == ["loss of 1 of 2 arms (arm 0): 3 → 3.9"]  # the other went back
    assert moved(1.0, 1.0, 1.0, 1.0, 0.0) == [
        "loss of 4 of 5 arms (arm 0, arm 1, arm 2 and 1 more): 3 → 4"
    ]
    assert moved(0.1, 0.0) == []
