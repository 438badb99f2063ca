"""Mistakes in a claim end in a sentence; values that tie, collapse or never vary in a verdict."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from repro.judge import (
    Curve,
    Design,
    Judge,
    Ladder,
    Measured,
    Outcome,
    Scale,
    ScaleError,
)
from tests.judge.arms import EIGHT, LOOKS, TWELVE, arm, arms, not_refused

NOISE = np.random.default_rng(2).normal(size=(2, 8))
SHARE = Scale("log-odds", count=300)


def pair(**settings):
    return arms(2 + NOISE[0], NOISE[1], **settings)


def test_a_number_that_is_none_is_refused():
    a, b = pair()
    words = "accuracy of a is compared with .*, which is no finite number"
    bad, truth = float("nan"), "compared with a bool"
    cases = [
        *((lambda x=x: a > x, ValueError, words) for x in (bad, -float("inf"), np.float64("inf"))),
        (lambda: a.falls_below(bad, by_at_least=0.1), ValueError, words),
        (lambda: a.matches(bad, tolerance=0.1), ValueError, words),
        (lambda: a.agrees_with(bad, runs=1, within_ratio=2, times=b), ValueError, words),
        *((lambda x=x: a > x, TypeError, truth) for x in (True, np.True_)),
    ]
    assert not_refused(cases) == []


def test_nothing_is_compared_with_itself():
    a, b = (
        replace(arm(NOISE[0], judge=Judge(EIGHT), label=label), origin=(label, "accuracy"))
        for label in "ab"
    )
    words = "compares a with itself"
    cases = [
        (lambda: a.is_times(1, a, within_ratio=1.1), ValueError, words),
        (lambda: a.is_at_most_times(1.1, of=a), ValueError, words),
        (lambda: a.is_within(0.1, of=a), ValueError, words),
        (lambda: a - a, ValueError, words),
        (lambda: (a - b) > (a - b), ValueError, r"compares the gain \(a - b\) with itself"),
    ]
    assert not_refused(cases) == []


def test_a_finding_is_joined_with_findings_and_an_arm_compared_with_arms():
    a, b = pair()
    found, no_finding = a > b, "a bool is no finding: join only results of comparisons"
    another = r"compares a with another arm.* a\.matches\(3, tolerance="
    cases = [
        (lambda: found & True, TypeError, no_finding),
        (lambda: True & found, TypeError, no_finding),
        (lambda: found != True, TypeError, "a bool is no finding"),  # noqa: E712
        (lambda: found & (pair()[0] > 0), ValueError, "& joins findings of one claim"),
        (lambda: a.is_within(1, of=3), TypeError, another),
        (lambda: a.is_at_most(1, below=3), TypeError, another),
        (lambda: a.is_times(2, 3, within_ratio=1.1), TypeError, another),
        (lambda: a.is_at_most_times(1.1, of=3), TypeError, another),
        (lambda: a.agrees_with(1.1, runs=1, within=1, plus=3), TypeError, another),
        (lambda: a.agrees_with(1.1, runs=1, within_ratio=2, times=3), TypeError, another),
    ]
    assert not_refused(cases) == []


def test_words_that_say_nothing_are_refused():
    a, b = pair()
    other = Measured(judge=a.judge, label="p", metric="perplexity", values=np.ones)
    nothing, positive = "leaves nothing to show", "give a positive number"
    took = "how many runs the source took the mean of"
    cases = [
        (lambda: a == b, TypeError, "No number of seeds shows that"),
        (lambda: a != b, TypeError, "No number of seeds shows that"),
        (lambda: a > other, ValueError, "compare the same metric"),
        (lambda: a.is_within(0.1, of=other), ValueError, "compare the same metric"),
        (lambda: (a - b) > 0.1, TypeError, "by_at_least"),
        (lambda: a.is_within(0, of=b), ValueError, nothing),
        (lambda: a.exceeds(b, by_at_least=-1), ValueError, "turn the claim around"),
        (lambda: a.exceeds(b, by_ratio=0.5), ValueError, "at least 1"),
        (lambda: a.exceeds(b, by_at_least=1, by_ratio=2), ValueError, "not with both"),
        (lambda: a.is_times(0, b, within_ratio=1.1), ValueError, positive),
        (lambda: a.is_times(2, b, within_ratio=1.0), ValueError, nothing),
        (lambda: a.is_at_most_times(0, b), ValueError, positive),
        (lambda: a.agrees_with(1, runs=1), ValueError, "say how near"),
        (lambda: a.agrees_with(1, runs=1, within=1, within_ratio=2), ValueError, "say how near"),
        (lambda: a.agrees_with(1, runs=1, within=0), ValueError, nothing),
        (lambda: a.agrees_with(1, runs=1, within_ratio=1), ValueError, nothing),
        (lambda: a.agrees_with(1, runs=1, within=1, times=b, plus=b), ValueError, "not both"),
        *((lambda n=n: a.agrees_with(1.0, runs=n, within=1), ValueError, took)
          for n in (1.5, float("nan"), 0, True, "1")),
        *((lambda x=x: a.exceeds(b, in_at_least=x), ValueError, "no claim about the median")
          for x in (0, 0.9, 1)),
        (lambda: Scale("ln"), ValueError, "unknown scale"),
        (lambda: Scale("log", count=3), ValueError, "number of examples"),
        *((lambda x=x: Design(looks=x), ValueError, "growing numbers of seeds")
          for x in ((), (1, 5), (5, 5), (8, 5))),
    ]  # fmt: skip
    assert not_refused(cases) == []


def test_words_about_ladders_and_curves_that_say_nothing_are_refused():
    ladder = Ladder(arms(*np.ones((3, 8))))
    assert ladder[-1].label == "c"
    sparse, long = (
        Curve(
            of=arm([], judge=Judge(EIGHT)),
            epochs=epochs,
            values=lambda n: [np.array([3.0, 2.0, 1.0])] * n,
        )
        for epochs in ([2, 4, 6], range(1, 51))
    )
    cases = [
        (lambda: ladder.peaks_at(7), ValueError, "no rung 7"),
        (lambda: Ladder([ladder[0]]), ValueError, "at least two rungs"),
        *((lambda x=x: sparse[x], ValueError, f"not measured at epoch {x}.* at 2, 4, 6")
          for x in (0, 3, -2)),
        (lambda: long.bottoms_at(51), ValueError, "measured at 1, 2, 3, 4, …, 50"),
    ]  # fmt: skip
    assert not_refused(cases) == []


def test_values_that_have_no_place_on_their_scale_are_refused():
    x, y = np.array([1.0] + [0.98] * 7), np.linspace(0.5, 0.6, 8)
    one, half = arms(x, y, scale=Scale("log-odds"))
    high, low = arms(0.98 + NOISE[0] / 1000, 0.97 + NOISE[1] / 1000, scale=Scale("log-odds"))
    (negative,) = arms([-0.9] * 8, scale=Scale("log"))
    positive, mixed = arms(np.linspace(1, 2, 8), np.linspace(-1, 1, 8))
    counted, other = arms(y, y - 0.001 * np.cos(np.arange(8)), scale=SHARE)
    short = arms([1.0, 2.0], [1.0, 2.0], design=LOOKS)
    lambdas = [
        (lambda: one > half, "accuracy of a is 1, .*Scale\\('log-odds', count=...\\)"),
        (lambda: high.exceeds(low, by_at_least=0.05), "accuracy of b \\+ 0.05 is 1.0.*smaller"),
        (lambda: negative > 1.0, r"accuracy of a is -0\.9"),
        (lambda: positive.exceeds(mixed, by_ratio=2), "says nothing where values are not positive"),
        (lambda: counted.is_at_most(1.0, below=other), "no measured value could fail this"),
    ]
    cases = [(claim, ScaleError, words) for claim, words in lambdas]
    cases.append((lambda: short[0] > short[1], ValueError, "one number for each of the first n"))
    assert not_refused(cases) == []


def test_quantities_that_are_exact_are_read_off():
    a, b, same = arms([2.0] * 8, [1.0] * 8, [2.0] * 8, exact=True)
    assert (a > b).outcome is Outcome.REPRODUCED
    assert (b > a).outcome is Outcome.REFUTED
    assert (a > same).outcome is (a < same).outcome is Outcome.REFUTED
    assert a.is_within(0.1, of=same).outcome is Outcome.REPRODUCED
    assert "the same on every seed" in str(a > b)
    assert (a > b).p == (b > a).p == 0.0
    assert a.is_times(2, b, within_ratio=1.005).outcome is Outcome.REPRODUCED
    assert "a / b = 2 times, claimed > 1;" in str(a.exceeds(b, by_ratio=1.0))  # still a ratio
    last_bit = 0.6 + np.array([1, 2, 1, 2, 1, 2, 1, 1]) * 2.0**-53
    a, b = arms(np.full(8, 0.6), last_bit, exact=True)
    assert (a < b).outcome is (b < a).outcome is Outcome.REFUTED  # rounding is no difference


def test_a_diverged_arm_gives_no_verdict_and_is_named():
    for bad in (np.nan, np.inf, -np.inf):
        looks: list[int] = []
        judge = Judge(LOOKS)
        a = arm(np.linspace(1, 2, 12), judge=judge, label="steady", looks=looks)
        b = arm([0.0, bad, *[0.0] * 10], judge=judge, label="wild")
        verdict = a > b
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert verdict.reason == "wild has no finite value on 1 of 5 seeds"
        assert looks == [5]
        assert verdict.reason in str(verdict)


def test_a_value_that_no_seed_changes_is_a_question_unless_it_is_exact():
    (a,) = arms([3.3072] * 8)
    assert "every seed gave 3.3072 for a: does the training use its seed" in (a > 3.0).reason
    documented = a.agrees_with(3.3072, runs=1, within=0.1)
    assert documented.outcome is (a > 3.0).outcome is Outcome.INCONCLUSIVE
    (a,) = arms([25_450.0] * 8, exact=True)
    assert a.matches(25_450, tolerance=1).outcome is Outcome.REPRODUCED
    a, b = arms([3.0] * 8, [2.0] * 8)
    assert "every seed gave the same difference of a and b" in (a > b).reason
    a, b = arms([1.0] * 8, [0.0] * 8, scale=SHARE)  # 300 examples against none
    assert (a > b).outcome is Outcome.REPRODUCED


def test_shares_that_agree_may_differ_by_half_an_example():
    one_example = [(270 + 1) / 300] * 5
    a, b = arms(one_example, [270 / 300] * 5, design=Design(looks=(5,)), scale=SHARE)
    verdict = a > b
    assert verdict.outcome is Outcome.INCONCLUSIVE
    (effect,) = verdict.effects
    assert effect.error * 5**0.5 == pytest.approx(0.5 / 300 / (0.9 * 0.1), rel=0.05)


def test_a_margin_beyond_all_shares_is_no_side_of_it():
    values = 0.99 + 0.002 * np.sin(np.arange(8))
    (a,) = arms(values, scale=Scale("log-odds"))
    verdict = a.matches(0.9962, tolerance=0.02)
    assert verdict.outcome is Outcome.REPRODUCED
    assert [effect.bound for effect in verdict.effects] == [-0.02]
    a, b = arms(values, values - 0.001 * np.cos(np.arange(8)), scale=SHARE)
    assert a.is_within(0.05, of=b)
    assert a.exceeds(b, by_at_least=0.5).outcome is Outcome.REFUTED
    (loss,) = arms(5 + values, scale=Scale("log"))
    assert loss.matches(6, tolerance=9)


def test_a_claim_about_runs_needs_the_seeds_of_its_binomial_test():
    few, enough = (
        arms(np.ones(n), np.zeros(n), design=Design(looks=(n,)), scale=SHARE) for n in (5, 8)
    )
    verdict = few[0].exceeds(few[1], in_at_least=0.5)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "seeds would reproduce it" in verdict.advice
    assert enough[0].exceeds(enough[1], in_at_least=0.5)
    (a,) = arms(np.r_[np.ones(9), -np.ones(3)] * np.arange(1, 13), design=TWELVE)
    (effect,) = a.exceeds(0.0, in_at_least=0.5).effects
    test = stats.binomtest(9, 12, alternative="greater")
    assert effect.p_for == pytest.approx(test.pvalue)
    interval = test.proportion_ci(1 - effect.boundary, method="exact")
    assert effect.low == pytest.approx(interval.low)
