"""Mistakes in a claim end in a sentence, where a verdict would be one about nothing."""

from dataclasses import replace

import numpy as np

from repro.judge import (
    Curve,
    Design,
    Judge,
    Ladder,
    Measured,
    Scale,
    ScaleError,
    conjunction,
    either,
)
from tests.judge.arms import EIGHT, LOOKS, arm, arms, not_refused

NOISE = np.random.default_rng(2).normal(size=(2, 8))
SHARE = Scale("log-odds", count=300)


def pair(**settings):
    return arms(2 + NOISE[0], NOISE[1], **settings)


def test_a_number_that_is_none_is_refused():
    a, b = pair()
    words = "accuracy of a is compared with .*, which is no finite number"
    numbers = (float("nan"), float("inf"), -float("inf"), np.float64("nan"))
    cases = [
        case
        for x in numbers
        for case in (
            (lambda x=x: a > x, ValueError, words),
            (lambda x=x: a.falls_below(x, by_at_least=0.1), ValueError, words),
            (lambda x=x: a.matches(x, tolerance=0.1), ValueError, words),
            (lambda x=x: a.agrees_with(x, runs=1, within=0.1), ValueError, words),
            (lambda x=x: a.agrees_with(x, runs=1, within_ratio=2, times=b), ValueError, words),
        )
    ] + [(lambda x=x: a > x, TypeError, "compared with a bool") for x in (True, np.True_)]
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
    found, no_finding = a > b, "a bool is no finding: join what a comparison gave"
    another = r"compares a with another arm.* a\.matches\(3, tolerance="
    cases = [
        (lambda: found & True, TypeError, no_finding),
        (lambda: True & found, TypeError, no_finding),
        (lambda: conjunction(found, True), TypeError, no_finding),
        (lambda: conjunction(True, found), TypeError, no_finding),
        (lambda: either(found, False), TypeError, no_finding),
        (lambda: either(False, found), TypeError, no_finding),
        (lambda: found != True, TypeError, "assert the finding itself"),  # noqa: E712
        (lambda: either(found), ValueError, "at least two findings"),
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
        (lambda: a.spreads_at_most(0), ValueError, positive),
        (lambda: a.agrees_with(1, runs=1), ValueError, "say how near"),
        (lambda: a.agrees_with(1, runs=1, within=1, within_ratio=2), ValueError, "say how near"),
        (lambda: a.agrees_with(1, runs=1, within=0), ValueError, nothing),
        (lambda: a.agrees_with(1, runs=1, within_ratio=1), ValueError, nothing),
        (lambda: a.agrees_with(1, runs=1, within=1, times=b, plus=b), ValueError, "not both"),
        *((lambda n=n: a.agrees_with(1.0, runs=n, within=1), ValueError, took)
          for n in (1.5, float("nan"), 0, True, "1")),
        *((lambda n=n: a.spreads_at_most(1.0, over=n), ValueError, "give at least 2")
          for n in (1.5, float("nan"), 0, 1, "1")),
        *((lambda x=x: a.exceeds(b, in_at_least=x), ValueError, "no share of the runs")
          for x in (-0.1, 1.1, -1)),
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
            judge=Judge(EIGHT),
            label="a",
            metric="loss",
            epochs=epochs,
            values=lambda n: [np.array([3.0, 2.0, 1.0])] * n,
        )
        for epochs in ([2, 4, 6], range(1, 51))
    )
    cases = [
        (lambda: ladder.dips_at(0), ValueError, "no two neighbours"),
        (lambda: ladder.peaks_at(7), ValueError, "no rung 7"),
        (lambda: Ladder([ladder[0]]), ValueError, "at least two rungs"),
        (lambda: ladder.largest_step_is(2), ValueError, "step 2 is not one"),
        (lambda: Ladder([*ladder][:2]).diminishes(), ValueError, "at least three rungs"),
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
