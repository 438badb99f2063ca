"""Looks that end early: statements that are given up, and estimates corrected for stopping."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtr

from repro.judge import Design, Judge, Outcome, simulated
from repro.judge.boundary import threshold
from repro.judge.design import simulated_looks
from repro.judge.futility import predictive_power
from repro.judge.statistic import LARGE_SPREAD
from tests.judge.arms import LOOKS, arm, arms, told


def decided(values, **settings):
    return arm(values, judge=Judge(LOOKS, **settings)) > 0.0


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


def test_seeds_are_saved_where_there_is_nothing():
    rng = np.random.default_rng(8)
    seeds = [decided(rng.standard_normal(12), explains=False).seeds for _ in range(400)]
    assert np.mean(seeds) < 7.5


def test_giving_up_costs_next_to_no_power():
    means, spreads = simulated_looks(LOOKS.looks)
    for effect in (0.5, 1.0, 1.5):
        reproduced, refuted = np.zeros((2, len(means)), dtype=bool)
        for look, seeds in enumerate(LOOKS.looks):
            t = (means[:, look] + effect) / spreads[:, look] * seeds**0.5
            reproduced |= ~refuted & (stdtr(seeds - 1, -t) <= LOOKS.boundary(seeds))
            refuted |= ~reproduced & (stdtr(seeds - 1, t) <= LOOKS.boundary(seeds))
        assert 0 <= reproduced.mean() - LOOKS.power(effect) < 0.007


@pytest.mark.thorough
def test_the_correction_removes_most_of_the_error():
    """The estimates of true effects of some standard deviations, as printed and corrected."""
    for effect, printed, corrected in ((0.5, 0.97, 0.82), (1.0, 1.22, 1.06), (2.0, 2.04, 1.99)):
        rng, estimates = np.random.default_rng(17), []
        for _ in range(1500):
            verdict = decided(effect + rng.standard_normal(12))
            if verdict.outcome is Outcome.REPRODUCED:
                (judged,) = verdict.effects
                estimates.append((judged.estimate, judged.corrected))
        assert np.mean(estimates, axis=0) == pytest.approx((printed, corrected), abs=0.05)


def test_large_effects_and_open_statements_are_left_alone():
    values = np.array([0.1, 1.4, 1.2, 0.5, 1.0, 0.9, -0.2, 1.7, 0.4, 0.8, 1.1, 0.6])
    (up,), (down,) = (decided(values).effects, (arm(-values, judge=Judge(LOOKS)) < 0.0).effects)
    assert 0 < up.corrected < up.estimate
    assert "corrected for stopping" in told(decided(values))
    assert down.corrected == pytest.approx(up.corrected)  # of 0 - a
    (large,) = decided(9 + values).effects
    assert large.corrected == pytest.approx(large.estimate)
    (a,) = arms([1.0, -1.0] * 6, design=LOOKS)
    assert [effect.corrected for effect in (a > 0.1).effects] == [None]
    a, b = arms(np.arange(12.0), np.zeros(12), design=LOOKS)
    assert all(effect.corrected is None for effect in a.is_within(90, of=b).effects)


@pytest.fixture
def forget(monkeypatch):
    def forgetting():
        monkeypatch.setattr(simulated, "_found", {})
        threshold.cache_clear()

    forgetting()
    return forgetting


def numbers():
    design = Design(looks=(3, 5))
    (a,) = arms([0.0, 1.0, 0.1, 1.2, 0.4], design=design)
    return [
        design.boundary(3),
        design.boundary(5, share=0.5, statistic=LARGE_SPREAD),
        design.level_at(0.0012, 5),
        design.detectable(terms=2),
        Design(looks=(3, 5), level=0.05).detectable(),
        (a > 0).effects[0].detectable,
    ]


def test_what_another_process_found_is_what_this_one_would_find(forget, monkeypatch):
    there = numbers()
    told = json.loads(json.dumps(simulated.told()))
    forget()
    simulated.learn({n: tuple(x) if isinstance(x, list) else x for n, x in told.items()})

    def simulates(*arguments):
        raise AssertionError(f"simulated again: {arguments}")

    monkeypatch.setattr("repro.judge.boundary.chance_of_crossing", simulates)
    monkeypatch.setattr("repro.judge.design.simulated_looks", simulates)
    monkeypatch.setattr("repro.judge.unusual._MEASURES", {"an empty one": simulates})
    assert numbers() == there


def test_what_is_known_here_is_not_replaced(forget):
    known = Design(looks=(3, 5)).detectable()
    simulated.learn(dict.fromkeys(simulated.told(), 1000.0))
    assert Design(looks=(3, 5)).detectable() == known
    forget()
    assert Design(looks=(3, 5)).detectable() == known  # the draws are seeded


def test_another_version_of_the_judge_has_another_name(monkeypatch, tmp_path):
    monkeypatch.setattr(simulated, "__file__", str(tmp_path / "simulated.py"))
    versions = set()
    for text in ("DRAWS = 1", "DRAWS = 2"):
        (tmp_path / "boundary.py").write_text(text)
        simulated.version.cache_clear()
        versions.add(simulated.version())
    simulated.version.cache_clear()
    assert len(versions) == 2
