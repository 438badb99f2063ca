"""Arms whose runs are not paired, and comparisons that count the error of having these examples."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from repro.judge import Design, Judge, Measured, OneLook, Outcome, Scale
from repro.judge.comparison import Drawn, Group, SameSpread, weigh
from repro.judge.smaller import distances
from tests.judge.arms import LOOKS, arm, benchmark, exact, told


def measured(right, *, label="a", sampled=True, scale="identity", judge=None):
    """A share over examples; `right` is [seeds, examples]."""
    return Measured(
        judge=judge or Judge(LOOKS),
        label=label,
        metric="accuracy",
        values=lambda n: right[:n].mean(1),
        scale=Scale(scale),
        by_example=(lambda n: right[:n]) if sampled else None,
    )


def answers(rng, hard, skill, seeds=12):
    """Answers of runs of some skill to examples that are hard for all of them alike."""
    chance = 1 / (1 + np.exp(hard - skill))
    return (rng.random((seeds, len(hard))) < chance).astype(float)


def same_on_every_seed(rng, share=0.5, examples=300):
    return np.tile((rng.random(examples) < share).astype(float), (12, 1))


def t_of(verdict):
    (effect,) = verdict.effects
    return effect.distance * effect.seeds**0.5


def test_the_errors_over_seeds_and_over_examples_add_up():
    rng = np.random.default_rng(2)
    one, other = (answers(rng, rng.normal(size=300), skill) for skill in (0.0, 0.3))
    verdict = measured(one) > measured(other, label="b")
    assert "; the error of having 300 examples is counted" in told(verdict)
    plain = measured(one, sampled=False) > measured(other, sampled=False)
    assert "examples" not in str(plain)
    apart = measured(one).agrees_with(0.1, runs=1, within=0.05, plus=measured(other, label="b"))
    assert "examples is counted" not in told(apart)
    hard = rng.normal(size=200)
    a, b, c, d = (answers(rng, hard, skill) for skill in (0.9, 0.0, 0.2, 0.1))
    gain = (measured(a) - measured(b)) > (measured(c) - measured(d))
    for found, values in ((verdict, one - other), (gain, a - b - c + d)):
        difference = values[: found.seeds]
        error = np.hypot(stats.sem(difference.mean(1)), stats.sem(difference.mean(0)))
        assert t_of(found) == pytest.approx(difference.mean() / error)
    one, other = same_on_every_seed(rng), same_on_every_seed(rng)  # no spread over seeds
    expected = stats.ttest_rel(one[0], other[0]).statistic
    assert t_of(measured(one) > measured(other, label="b")) == pytest.approx(expected)


def test_the_examples_count_in_the_verdict_and_not_in_what_the_ledger_keeps():
    """They are the same ones in the ledger and here."""
    right = np.random.default_rng(1).integers(0, 2, (12, 300)).astype(float)
    verdict = measured(right) > 0.3
    values = right[: verdict.seeds].mean(axis=1)
    [excess] = distances(verdict, verdict.seeds)
    assert excess.spread == pytest.approx(values.std(ddof=1))
    assert verdict.effects[0].error > 1.1 * excess.spread / verdict.seeds**0.5


def test_a_documented_value_was_measured_on_the_same_examples():
    right = same_on_every_seed(np.random.default_rng(5), share=0.95)
    right[::2, 0] = 1 - right[::2, 0]  # one borderline example, so that seeds differ
    documented = float(right.mean())
    assert measured(right).matches(documented, tolerance=0.004).outcome is Outcome.REPRODUCED
    above_zero = measured(right).exceeds(documented - 0.01)
    assert above_zero.outcome is Outcome.INCONCLUSIVE  # of messages in general


def test_only_on_the_scale_that_means_are_taken_on():
    with pytest.raises(ValueError, match="compare it on the identity scale, not on log-odds"):
        measured(np.ones((12, 3)), scale="log-odds")


@pytest.mark.thorough
def test_the_level_holds_at_any_ratio_of_examples_to_seeds():
    """Differences of mean 0; `ratio` is the variance of their mean over examples to that of a seed.

    Welch's degrees of freedom, taken as they are, exceed the level up to three times here.
    """
    for looks in ((3,), (5,), LOOKS.looks, (3, 5, 8, 12)):
        for ratio in (0.003, 0.05, 0.4, 4.0):
            design, samples = Design(looks=looks), 200_000
            rng = np.random.default_rng(12)
            seeds = rng.standard_normal((looks[-1], samples))
            fixed = ratio**0.5 * rng.standard_normal(samples)
            crossed = np.zeros(samples, bool)
            for n in looks:
                weighed = weigh([Group(seeds[:n] + fixed)], drawn=Drawn(ratio, examples=300))
                crossed |= weighed.p_for <= design.boundary(n)
            allowed = 0.005 + 3.5 * (0.005 / samples) ** 0.5
            assert crossed.mean() <= allowed, (looks, ratio)


def test_where_examples_rule_more_of_them_are_advised():
    rng = np.random.default_rng(15)
    hard = rng.normal(size=60)
    one, other = (np.tile(answers(rng, hard, s, seeds=1), (12, 1)) for s in (0.9, 0.6))
    one[::2, 0] = 1 - one[::2, 0]
    verdict = measured(one) > measured(other, label="b")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "more examples would settle it, more seeds would not" in verdict.advice


@pytest.mark.thorough
def test_giving_up_knows_that_further_seeds_bring_degrees_of_freedom():
    """Few seeds leave few of them, however many examples; that is no sign that more are in vain."""
    rng, found = np.random.default_rng(16), {LOOKS.looks: 0, (3, *LOOKS.looks): 0}
    for _ in range(150):
        hard = rng.normal(size=300)
        own = 0.6 * rng.normal(size=(2, 300))
        drawn = [answers(rng, hard + o, s) for o, s in zip(own, (1.26, 0.9), strict=True)]
        for looks in found:
            judge = Judge(Design(looks=looks))
            a, b = (measured(each, judge=judge) for each in drawn)
            found[looks] += (a > b).outcome is Outcome.REPRODUCED
    assert min(found.values()) > 0.62 * 150  # without giving up, it is some 0.68


def test_where_further_seeds_tell_nothing_they_are_not_trained():
    rng = np.random.default_rng(17)
    right = np.tile(answers(rng, rng.normal(size=300), 0.9, seeds=1), (12, 1))
    other = right.copy()
    other[:, :9] = 1 - other[:, :9]  # as many gained as lost, nearly
    verdict = measured(right) > measured(other, label="b")
    assert verdict.seeds == LOOKS.looks[0]


RNG = np.random.default_rng(7)


def apart(*samples, pairing=None, **more):
    """Arms called a, b and so on, each a sample by itself unless they share a `pairing`."""
    judge = Judge(OneLook(looks=(max(map(len, samples)),)))
    return [
        replace(arm(each, judge=judge, label=label, **more), pairing=pairing or label)
        for label, each in zip("abcd", samples, strict=False)
    ]


def doubted(first, second, p):
    """Welch's degrees of freedom, where either variance may be as large as p does not rule out."""
    doubt, found = min(0.1, 20 * p), []
    for which in (0, 1):
        parts = [stats.sem(first) ** 2, stats.sem(second) ** 2]
        freedoms = [len(first) - 1, len(second) - 1]
        parts[which] *= freedoms[which] / stats.chi2.ppf(doubt, freedoms[which])
        found.append(sum(parts) ** 2 / sum(v**2 / n for v, n in zip(parts, freedoms, strict=True)))
    return min(found)


def test_means_of_samples_are_compared_by_welchs_test_with_doubted_variances():
    for counts in ((5, 12), (20, 12), (3, 3)):
        first, second = RNG.normal(2.5, 1.0, counts[0]), RNG.normal(0.0, 2.5, counts[1])
        a, b = apart(first, second)
        effect = (a > b).effects[0]
        error = np.hypot(stats.sem(first), stats.sem(second))
        difference, p = first.mean() - second.mean(), min(effect.p_for, effect.p_against)
        assert p == pytest.approx(
            stats.t.sf(abs(difference) / error, doubted(first, second, p)), rel=1e-6
        )
        freedom = doubted(first, second, effect.boundary)
        ends = stats.t.interval(1 - 2 * effect.boundary, freedom, difference, error)
        assert (effect.low, effect.high) == pytest.approx(ends)
        welch = stats.ttest_ind(first, second, equal_var=False)
        assert 2 * p >= welch.pvalue
        assert min(counts) - 1 <= effect.freedom <= welch.df


def test_one_spread_is_students_test_and_bartletts_test_doubts_it():
    first, second = RNG.normal(1.5, 1.0, 5), RNG.normal(0.0, 2.0, 12)
    same = SameSpread.of([first, second])
    weighed = weigh([Group(first), Group(-second)], same=same)
    student = stats.ttest_ind(first, second, alternative="greater")
    assert weighed.p_for == pytest.approx(student.pvalue)
    assert weighed.freedom == student.df
    assert same.p == pytest.approx(stats.bartlett(first, second).pvalue)


def test_an_interval_of_samples_touches_the_bound_where_p_touches_the_boundary():
    first, second = exact(0.0, 1.0, 5), exact(0.0, 3.0, 9)
    a, b = apart(first, second)
    half = -(a > b).effects[0].low
    for shift, outcome in ((0.999 * half, "inconclusive"), (1.001 * half, "reproduced")):
        a, b = apart(first + shift, second)
        assert (a > b).outcome == outcome


def test_the_rule_for_samples_keeps_its_level_at_any_ratio_of_the_spreads():
    errors = benchmark("error_rates").error_apart
    for level in (0.05, 0.005, 0.0001):
        counted = ((3, 3), (3, 20), (20, 3), (5, 10), (20, 20))
        for counts, ratio in product(counted, (1, 1.5, 3, 5)):
            error = errors(*counts, ratio=ratio, level=level)
            assert 0 < error < 1.01 * level, (counts, ratio, level)


def test_equal_values_everywhere_are_a_question_and_no_verdict():
    for value in (0.5, 0.6):
        a, b = apart([value] * 5, [0.5] * 7)
        assert (a > b).outcome is Outcome.INCONCLUSIVE
        assert "alike on every seed" in (a > b).reason or "every seed gave" in (a > b).reason


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


def test_one_look_has_the_whole_level_and_tells_its_seeds():
    a, b = apart(RNG.normal(5, 1, 20), RNG.normal(0, 1, 12))
    assert (a > b).measured.endswith("20 and 12 seeds")
    assert "20 and 12 seeds (one look)" in str(a > b)
    effect = (a > 0.0).effects[0]
    assert effect.boundary == 0.005
