"""Looks that end early: statements that are given up."""

import numpy as np
import pytest
from scipy import stats

from repro.judge import Judge, Outcome
from repro.judge.looks import predictive_power
from tests.judge.arms import LOOKS, arm, arms, told


def decided(values):
    return arm(values, judge=Judge(LOOKS)) > 0.0


def test_predictive_power_is_what_a_simulation_of_the_future_finds():
    boundary, draws, rng = 0.0019, 400_000, np.random.default_rng(6)
    for share in (5 / 12, 8 / 12):
        for p in (0.5, 0.1, 0.02):
            # The sum of unit normal differences, one unit of seeds in all; its slope is the effect.
            now = stats.norm.isf(p) * share**0.5
            slope = now / share + rng.standard_normal(draws) / share**0.5
            noise = rng.standard_normal(draws) * (1 - share) ** 0.5
            expected = (now + slope * (1 - share) + noise >= stats.norm.isf(boundary)).mean()
            assert predictive_power(p, boundary, share) == pytest.approx(expected, abs=0.003)
    assert predictive_power(0.0, boundary, 0.5) == 1.0
    assert predictive_power(1.0, boundary, 0.5) == 0.0


def test_an_even_statement_is_given_up_at_the_first_look():
    verdict = decided([1.0, -1.0, 0.5, -0.6, 0.2, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0])
    assert (verdict.outcome, verdict.seeds) == (Outcome.INCONCLUSIVE, 5)
    assert "given up after 5 of 12 seeds" in verdict.advice
    assert "a chance below 10%" in verdict.advice
    assert "given up" in told(verdict)


def test_an_open_statement_that_leans_one_way_gets_all_its_seeds():
    leaning = [1.6, -0.4, 1.8, 1.5, -0.5, 1.7, -0.3, 1.2, -0.6, -0.9, 0.1, -1.0]
    for values in (leaning, [-x for x in leaning]):  # one that may yet be refuted too
        verdict = decided(values)
        assert (verdict.outcome, verdict.seeds) == (Outcome.INCONCLUSIVE, 12)
        assert "given up" not in verdict.advice


def test_one_hopeless_term_is_enough_to_give_up_but_not_one_that_may_yet_fail():
    rng = np.random.default_rng(3)
    clear, even = 1 + 0.1 * rng.standard_normal(12), np.resize([1.0, -1.0, 0.1], 12)
    low = np.array([-1.0, 0.2, -0.8, -1.1, 0.3, -1.0, 0.1, -0.9, -1.2, 0.2, -0.7, -0.9])
    clear, even, low, none = arms(clear, even, low, 0 * low, design=LOOKS)
    assert even.is_within(0.3, of=none).seeds == 5
    assert clear.is_within(3.0, of=none).outcome is Outcome.REPRODUCED
    assert (low > none).seeds > 5
