"""The promises about error: brute-force simulation against the thresholds and every word."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from repro.judge import Design, Ladder
from repro.judge.boundary import chance_of_crossing, threshold
from repro.judge.student import seeds_needed

CI, PAPER = (5, 8, 12), (3, 5, 8, 12, 20)


def load_benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "calibration.py"
    spec = importlib.util.spec_from_file_location("judge_calibration", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


calibration = load_benchmark()


@pytest.mark.parametrize("looks", [CI, PAPER])
def test_threshold_is_exact_when_every_look_is_simulated(looks):
    level, rng = 0.02, np.random.default_rng(1)
    boundary = threshold(looks, level)
    crossed = 0
    samples, rounds = 100_000, 6
    for _ in range(rounds):
        draws = rng.standard_normal((looks[-1], samples))
        ever = np.zeros(samples, bool)
        for n in looks:
            t = draws[:n].mean(0) / draws[:n].std(0, ddof=1) * n**0.5
            ever |= t >= stats.t.isf(boundary, n - 1)
        crossed += ever.sum()
    share = crossed / (samples * rounds)
    error = (level / (samples * rounds)) ** 0.5
    assert abs(share - level) < 3.5 * error + 0.005 * level


def test_threshold_is_conservative_and_accurate():
    for looks in (CI, (5, 8, 12, 20), (3, 5, 8, 12), PAPER):
        for level in (0.005, 0.0005):
            crossing, error = chance_of_crossing(threshold(looks, level), looks)
            assert crossing + 2.9 * error <= level * 1.0001
            assert crossing > 0.98 * level


def test_one_look_costs_nothing():
    assert threshold((7,), 0.005) == 0.005


@pytest.mark.parametrize("word", calibration.WORDS)
def test_no_word_errs_more_than_its_level_at_its_null_boundary(word):
    means, claim = calibration.WORDS[word]
    samples = 40_000
    design = Design(looks=CI, level=0.05)
    arms = calibration.simulated_arms(
        means(0.0), kind="normal", correlation=0.5, seeds=CI[-1], samples=samples
    )
    reproduced, refuted = calibration.rates(arms, claim, design)
    error = (design.side / samples) ** 0.5
    assert reproduced <= design.side + 3.5 * error
    assert refuted <= design.side + 3.5 * error
    # One comparison is at risk and the others are clear: the level is used, not merely kept.
    assert reproduced >= 0.98 * design.side - 3.5 * error


def test_refuted_shares_its_level_among_all_ties():
    design, samples = Design(looks=CI, level=0.05), 40_000
    arms = list(np.random.default_rng(5).standard_normal((5, CI[-1], samples)))
    _, refuted = calibration.rates(arms, lambda a: Ladder(a).climbs(), design)
    assert refuted <= design.side + 3.5 * (design.side / samples) ** 0.5
    assert refuted > 0.6 * design.side


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_power_of_one_look_is_the_noncentral_t(seeds):
    design = Design(looks=(seeds,), level=0.05)
    for effect in (0.5, 1.5):
        expected = stats.nct.sf(stats.t.isf(0.025, seeds - 1), seeds - 1, effect * seeds**0.5)
        assert design.power(effect) == pytest.approx(expected, abs=0.012)


def test_power_grows_with_effect_and_looks_and_falls_with_terms():
    design = Design(looks=CI)
    curve = [design.power(effect) for effect in np.linspace(0, 3, 13)]
    assert curve == sorted(curve)
    assert curve[0] == pytest.approx(design.side, abs=0.003)
    assert design.power(1.2) < Design(looks=(*CI, 20)).power(1.2)
    assert design.power(1.2, terms=4) < design.power(1.2, terms=2) < design.power(1.2)


def test_detectable_inverts_power():
    design = Design(looks=CI)
    for terms in (1, 3):
        assert design.power(design.detectable(terms=terms), terms=terms) == pytest.approx(
            0.8, abs=0.01
        )


def test_seeds_needed_agrees_with_the_noncentral_t():
    needed = seeds_needed(0.7, boundary=0.005)

    def power(n):
        return stats.nct.sf(stats.t.isf(0.005, n - 1), n - 1, 0.7 * n**0.5)

    assert power(needed - 1) < 0.8 <= power(needed)
    assert seeds_needed(0.01, boundary=0.005) is None


@pytest.mark.parametrize("looks", [(), (1, 5), (5, 5), (8, 5)])
def test_a_design_refuses_looks_that_are_none(looks):
    with pytest.raises(ValueError, match="growing numbers of seeds"):
        Design(looks=looks)


def test_a_design_prints_its_plan():
    assert "looks at 5, 8, 12 seeds" in str(Design(looks=CI))
    assert "at most 0.5% each" in str(Design(looks=CI))
