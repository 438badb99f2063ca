"""Mistakes in a claim end in a sentence, where a verdict would be one about nothing."""

from dataclasses import replace

import numpy as np
import pytest

from repro.judge import Judge, conjunction, either
from tests.judge.arms import EIGHT, arm, arms

NOISE = np.random.default_rng(2).normal(size=(2, 8))


def pair():
    return arms(2 + NOISE[0], NOISE[1])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), np.float64("nan")])
@pytest.mark.parametrize(
    "claim",
    [
        lambda a, number: a > number,
        lambda a, number: a.falls_below(number, by_at_least=0.1),
        lambda a, number: a.matches(number, tolerance=0.1),
        lambda a, number: a.agrees_with(number, runs=1, within=0.1),
    ],
)
def test_a_number_that_is_none_is_refused(claim, number):
    a, _ = pair()
    with pytest.raises(
        ValueError, match=r"accuracy of a is compared with .*, which is no finite number"
    ):
        claim(a, number)


def test_a_documented_ratio_that_is_no_number_is_refused():
    a, b = pair()
    with pytest.raises(ValueError, match="which is no finite number"):
        a.agrees_with(float("nan"), runs=1, within_ratio=1.1, times=b)


@pytest.mark.parametrize("truth", [True, False, np.True_])
def test_a_metric_is_not_compared_with_the_truth(truth):
    a, _ = pair()
    with pytest.raises(TypeError, match="compared with a bool"):
        a > truth  # noqa: B015


def one_arm(label="a"):
    found = arm(NOISE[0], judge=Judge(EIGHT), label=label)
    return replace(found, origin=(label, "accuracy"))


@pytest.mark.parametrize(
    "claim",
    [
        lambda a: a.is_times(1, a, within_ratio=1.1),
        lambda a: a.is_at_most_times(1.1, of=a),
        lambda a: a.is_within(0.1, of=a),
    ],
)
def test_an_arm_is_not_compared_with_itself(claim):
    with pytest.raises(ValueError, match="compares a with itself"):
        claim(one_arm())


def test_a_gain_is_not_compared_with_itself():
    a, b = one_arm(), one_arm("b")
    with pytest.raises(ValueError, match=r"compares the gain \(a - b\) with itself"):
        (a - b) > (a - b)  # noqa: B015
    with pytest.raises(ValueError, match=r"compares a with itself"):
        a - a


@pytest.mark.parametrize(
    "join",
    [
        lambda found: found & True,
        lambda found: True & found,
        lambda found: conjunction(found, True),
        lambda found: conjunction(True, found),
        lambda found: either(found, False),
        lambda found: either(False, found),
    ],
)
def test_a_finding_is_joined_with_findings_alone(join):
    a, b = pair()
    with pytest.raises(TypeError, match="a bool is no finding: join what a comparison gave"):
        join(a > b)


@pytest.mark.parametrize(
    "claim",
    [
        lambda a: a.is_within(1, of=3),
        lambda a: a.is_at_most(1, below=3),
        lambda a: a.is_times(2, 3, within_ratio=1.1),
        lambda a: a.is_at_most_times(1.1, of=3),
        lambda a: a.agrees_with(1.1, runs=1, within=1, plus=3),
        lambda a: a.agrees_with(1.1, runs=1, within_ratio=2, times=3),
    ],
)
def test_a_word_about_two_arms_takes_no_number(claim):
    a, _ = pair()
    with pytest.raises(TypeError, match=r"compares a with another arm.* a\.matches\(3, tolerance="):
        claim(a)


@pytest.mark.parametrize("runs", [1.5, float("nan"), 0, True, "1"])
def test_runs_of_a_source_are_counted(runs):
    a, _ = pair()
    with pytest.raises(ValueError, match="how many runs the source took the mean of"):
        a.agrees_with(1.0, runs=runs, within=1)
    if runs is not True:  # 1 is too few here
        with pytest.raises(ValueError, match="seeds have no spread: give at least 2"):
            a.spreads_at_most(1.0, over=runs)
