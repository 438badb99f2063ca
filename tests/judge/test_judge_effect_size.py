"""The second word of a verdict: the effect beside what the source prints of its arms."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from repro.judge import EffectSize, Ladder, Scale
from tests.judge.arms import EIGHT, arms, benchmark, exact, not_refused, told

LOG = Scale("log")


def word(differences, printed, *, runs=1, scale=LOG):
    """The second word for two arms whose logs differ so, beside a printed log ratio."""
    a, b = arms(np.exp(differences), np.ones(8), scale=scale, metric="perplexity")
    both = a.documented_as(np.exp(printed), runs=runs) > b.documented_as(1.0, runs=runs)
    return both.effect_size


def test_it_is_another_where_the_printed_run_lies_outside_the_prediction_of_statsmodels():
    x = exact(0.10, 0.02)
    predicted = sm.OLS(x, np.ones(8)).fit().get_prediction([[1.0]])
    low, high = predicted.conf_int(obs=True, alpha=EIGHT.level / 2)[0]
    assert word(x, high + 1e-6) is EffectSize.SMALLER
    assert word(x, low - 1e-6) is EffectSize.LARGER
    assert word(x, low + 1e-6) is word(x, high - 1e-6) is EffectSize.OPEN


def test_it_is_as_documented_where_two_tests_show_it_within_half_of_that():
    x = exact(0.10, 0.01)
    for runs in (1, 3):
        error = 0.01 * (1 / runs + 1 / 8) ** 0.5
        critical = stats.t.isf(EIGHT.level / 2, 7) * error
        nearest = (0.10 + critical) / 1.5  # where the farther edge, half above it, is just clear
        assert word(x, nearest * 1.001, runs=runs) is EffectSize.AS_DOCUMENTED
        assert word(x, nearest * 0.999, runs=runs) is not EffectSize.AS_DOCUMENTED


def test_the_opposite_of_a_documented_effect_is_smaller():
    assert word(exact(-0.1, 0.01), 0.2) is EffectSize.SMALLER
    assert word(exact(-0.3, 0.01), -0.2) is EffectSize.LARGER


def test_arms_that_the_source_trained_with_other_seeds_have_the_errors_of_both():
    shared = exact(0, 0.05)
    a, b = arms(0.6 + shared + exact(0, 0.001)[::-1], 0.5 + shared)
    for paired, found in ((True, EffectSize.SMALLER), (False, EffectSize.OPEN)):
        verdict = a.documented_as(0.7) > b.documented_as(0.5, paired=paired)
        assert verdict.effect_size is found


def test_a_bound_does_not_move_it_and_a_ratio_is_printed_as_one():
    a, b = arms(exact(0.60, 0.001), exact(0.40, 0.001)[::-1])
    a, b = a.documented_as(0.67), b.documented_as(0.41)
    for verdict in (a > b, a.exceeds(b, by_at_least=0.15), a.is_within(0.3, of=b)):
        assert verdict.measured.endswith("8 seeds; as documented (0.26)"), verdict.measured
    of_ratio = a.exceeds(b, by_ratio=1.2)
    assert of_ratio.measured.endswith("as documented (1.634)")
    assert "beside the source, whose error is counted: as documented (1.634)" in told(of_ratio)
    assert (a > 0.3).measured.endswith("as documented (0.37)")
    gain = (a - b) > (b - a)
    assert gain.effect_size is EffectSize.AS_DOCUMENTED


def test_there_is_none_without_a_number_for_each_arm_or_on_generated_data():
    a, b = arms(exact(0.60, 0.001), exact(0.40, 0.001)[::-1])
    twin = type(a)(**{**vars(a), "stands_in": True})
    for high, low in ((a.documented_as(0.6), b), (twin.documented_as(0.6), b.documented_as(0.4))):
        assert (high > low).effect_size is EffectSize.NONE
    ranked = Ladder([a, b]).documented_as([0.6, 0.4])
    assert ranked.is_ordered().effect_size is EffectSize.AS_DOCUMENTED  # one pair implies no other


def test_a_word_about_the_weakest_of_many_comparisons_is_rarer():
    two = arms(np.zeros(8), exact(0.05, 0.01))
    later = [np.roll(exact(0.05 + 0.5 * place, 0.01), place) for place in (1, 2, 3)]
    five = arms(np.zeros(8), exact(0.05, 0.01), *later)  # its first step is the weakest of four
    printed = 0.05 + 1.05 * stats.t.isf(0.005 / 2, 7) * 0.01 * (1 + 1 / 8) ** 0.5
    numbers = [0, printed, printed + 0.5, printed + 1, printed + 1.5]
    alone, among_four = (Ladder(x).documented_as(numbers[: len(x)]).climbs() for x in (two, five))
    assert alone.measured[:5] == among_four.measured[:5] == "b - a"
    assert (alone.effect_size, among_four.effect_size) == (EffectSize.SMALLER, EffectSize.OPEN)


def test_numbers_that_no_source_prints_are_refused():
    (a,) = arms(exact(0.6, 0.01))
    cases = [
        (lambda: a.documented_as(float("nan")), ValueError, "no finite number"),
        (lambda: a.documented_as(0.6, runs=0), ValueError, "how many runs"),
        (lambda: Ladder([a, a]).documented_as([0.6]), ValueError, "shorter"),
    ]
    assert not_refused(cases) == []


@pytest.mark.thorough
def test_its_error_rates_keep_the_level():
    rng, second_word = np.random.default_rng(4), benchmark("error_rates").second_word
    other = {EffectSize.SMALLER, EffectSize.LARGER}
    for true, words in (("same", other), ("edge", {EffectSize.AS_DOCUMENTED})):
        drawn = (
            second_word("normal", runs=3, effect=10.0, true=true, rungs=2, rng=rng)
            for _ in range(2_000)
        )
        assert sum(word in words for word in drawn) <= stats.binom.ppf(0.9999, 2_000, 0.005)
