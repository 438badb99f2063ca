"""Runs that succeed or fail: exact tests of counts, against those of scipy."""

import pytest
from scipy import stats
from scipy.stats.contingency import odds_ratio

from repro.arm import Metric
from repro.judge import ScaleError
from repro.recorded import judge
from tests.judge.arms import not_refused

SHARE = Metric("share")


def outcomes(successes, runs):
    return [1.0] * successes + [0.0] * (runs - successes)


def test_two_samples_are_compared_by_fishers_exact_test():
    for first, other in (
        ((9, 10), (2, 10)),
        ((20, 20), (3, 12)),
        ((4, 8), (3, 9)),
        ((0, 5), (5, 5)),
    ):
        verdict = judge({"a": outcomes(*first), "b": outcomes(*other)}, on=SHARE)
        table = [[k, n - k] for k, n in (first, other)]
        effect = verdict.effects[0]
        for p, side in ((effect.p_for, "greater"), (effect.p_against, "less")):
            assert p == pytest.approx(stats.fisher_exact(table, alternative=side).pvalue)
        ends = odds_ratio(table).confidence_interval(0.99)
        assert (effect.low, effect.high) == pytest.approx(tuple(ends), rel=1e-4)
        settled = (effect.p_for <= 0.005, effect.p_against <= 0.005)
        assert verdict.outcome == {(1, 0): "reproduced", (0, 1): "refuted"}.get(
            settled, "inconclusive"
        )
    assert "odds of a / b" in str(verdict)


def test_a_share_is_compared_with_a_number_by_the_binomial_test():
    for count, runs, number in ((9, 10, 0.5), (12, 12, 0.5), (3, 20, 0.6)):
        for claim, side in (
            (lambda a, x=number: a > x, "greater"),
            (lambda a, x=number: a < x, "less"),
        ):
            effect = judge({"a": outcomes(count, runs)}, claim, on=SHARE).effects[0]
            theirs = stats.binomtest(count, runs, number, alternative=side)
            assert effect.p_for == pytest.approx(theirs.pvalue)
            ends = stats.binomtest(count, runs).proportion_ci(0.99)
            assert (effect.low, effect.high) == pytest.approx((ends.low, ends.high), abs=1e-6)
            assert effect.estimate == count / runs


def test_pairs_are_compared_by_the_exact_test_of_mcnemar():
    a = [1.0] * 12 + [0.0] * 3 + [1.0] * 5
    b = [0.0] * 12 + [1.0] * 1 + [0.0] * 2 + [1.0] * 5
    effect = judge({"a": a, "b": b}, on=SHARE, paired=True).effects[0]
    assert effect.p_for == pytest.approx(stats.binomtest(12, 13, alternative="greater").pvalue)


def test_what_is_no_outcome_and_no_claim_about_shares_is_refused():
    arms = {"a": outcomes(9, 10), "b": outcomes(2, 10)}
    assert not not_refused(
        [
            (lambda c=claim: judge(arms, c, on=SHARE), ValueError, "counts runs that succeed")
            for claim in (
                lambda a, b: a.is_within(0.1, of=b),
                lambda a, b: a.exceeds(b, by_at_least=0.1),
                lambda a, b: a.agrees_with(0.9, runs=1, within=0.1),
                lambda a, b: a > 1.5,
                lambda a, b: a.exceeds(b, in_at_least=0.5),
            )
        ]
    )
    with pytest.raises(ScaleError, match=r"a is 0\.5, and not 0 and 1"):
        judge({"a": [0.5, 1.0], "b": [0.0, 1.0]}, on=SHARE)
