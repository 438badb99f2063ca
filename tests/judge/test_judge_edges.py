"""Error rates where values tie, collapse, or are joined: small versions of the benchmark's rows."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from arms import arms

from repro.judge import Design, Outcome, Scale, ScaleError, either
from tests.oracles import oracle

LOOKS = (5, 8, 12)
SHARE = Scale("log-odds", count=300)


def load_benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "edges.py"
    spec = importlib.util.spec_from_file_location("edges", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


edges = load_benchmark()
KNOWN_TO_ERR = {
    "a > b, a tenth collapses": "the mean of few seeds does not show what one in ten does",
    "... lognormal": "skewness breaks the t test",
}


@pytest.mark.parametrize("name", [name for name in edges.ROWS if name not in KNOWN_TO_ERR])
def test_false_verdicts_stay_within_the_level(name):
    row, samples = edges.ROWS[name], 500
    reproduced, refuted = edges.judged(row, LOOKS, samples)
    allowed = 0.005 + 3.5 * (0.005 / samples) ** 0.5
    if row.true is not True:
        assert reproduced <= allowed
    if row.true is not False:
        assert refuted <= allowed


def test_arms_that_tie_on_every_seed_are_a_question():
    a, b = arms([1.0] * 12, [1.0] * 12, design=Design(looks=LOOKS), scale=SHARE)
    for verdict in (a > b, a.is_within(0.02, of=b)):
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert "a and b are alike on every seed: does the setting" in verdict.reason


def test_a_value_that_no_seed_changes_is_a_question_unless_it_is_exact():
    (a,) = arms([3.3072] * 8)
    assert "every seed gave 3.3072 for a: does the training use its seed" in (a > 3.0).reason
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
    assert effect.spread == pytest.approx(0.5 / 300 / (0.9 * 0.1), rel=0.05)


def test_a_claim_about_runs_needs_the_seeds_of_its_binomial_test():
    few, enough = (
        arms(np.ones(n), np.zeros(n), design=Design(looks=(n,)), scale=SHARE) for n in (5, 8)
    )
    verdict = few[0].exceeds(few[1], in_at_least=0.5)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "so few runs cannot show this share even if all of them agree" in str(verdict)
    assert "~8 seeds would reproduce it" in verdict.advice
    assert enough[0].exceeds(enough[1], in_at_least=0.5)
    ten, zero = arms(np.ones(60), np.zeros(60), design=Design(looks=(60,)), scale=SHARE)
    assert ten.exceeds(zero, in_at_least=0.9).outcome is Outcome.REPRODUCED
    for share in (0.0, 1.1, -1):
        with pytest.raises(ValueError, match="no share of the runs"):
            ten.exceeds(zero, in_at_least=share or -0.1)


def test_the_interval_of_a_share_of_runs_is_that_of_clopper_and_pearson():
    statsmodels = oracle("statsmodels.stats.proportion")
    values = np.r_[np.ones(9), -np.ones(3)] * np.arange(1, 13)
    (a,) = arms(values, design=Design(looks=(12,)))
    (effect,) = a.exceeds(0.0, in_at_least=0.5).effects
    low, high = statsmodels.proportion_confint(9, 12, alpha=0.01, method="beta")
    assert (effect.low, effect.high) == pytest.approx((low, high), abs=0.03)
    assert effect.low <= low + 1e-9  # counts take few values, so the level is not used up


def test_findings_that_are_joined_share_one_level():
    values = np.random.default_rng(1).standard_normal((3, 8))
    a, b, c = arms(*(values + 3))
    joint = (a > 0) & (b > 0) & (c > 0)
    assert joint.outcome is Outcome.REPRODUCED
    assert a.judge.verdicts == [joint]
    assert joint.level == a.judge.design.level
    assert [e.boundary_against for e in joint.effects] == pytest.approx([0.005 / 3] * 3)


def test_one_of_several_findings_is_enough_and_all_must_fail():
    values = np.random.default_rng(1).standard_normal((3, 8)) * 0.1
    a, b, c = arms(values[0] + 1, values[1] - 1, values[2] - 1)
    one = either(a > 0, b > 0)
    assert one.outcome is Outcome.REPRODUCED
    assert "exceeds 0 in accuracy or b exceeds 0" in one.statement
    assert either(b > 0, c > 0).outcome is Outcome.REFUTED
    assert len(a.judge.verdicts) == 2
    assert one.p == pytest.approx(2 * (a > 0).p)
    with pytest.raises(ValueError, match="at least two findings"):
        either(a > 0)


def test_a_margin_beyond_all_shares_is_no_side_of_it():
    values = 0.99 + 0.002 * np.sin(np.arange(8))
    (a,) = arms(values, scale=Scale("log-odds"))
    verdict = a.matches(0.9962, tolerance=0.02)
    assert verdict.outcome is Outcome.REPRODUCED
    assert [effect.bound for effect in verdict.effects] == [-0.02]
    a, b = arms(values, values - 0.001 * np.cos(np.arange(8)), scale=SHARE)
    assert a.is_within(0.05, of=b)
    with pytest.raises(ScaleError, match="no measured value could fail this"):
        a.is_at_most(1.0, below=b)
    assert a.exceeds(b, by_at_least=0.5).outcome is Outcome.REFUTED
    (loss,) = arms(5 + values, scale=Scale("log"))
    assert loss.matches(6, tolerance=9)


def test_a_ratio_of_values_that_are_not_positive_is_refused():
    a, b = arms(np.linspace(1, 2, 8), np.linspace(-1, 1, 8))
    with pytest.raises(ScaleError, match="a ratio says nothing where values are not positive"):
        a.exceeds(b, by_ratio=2)


def test_what_seeds_show_beside_their_mean_is_remarked_on():
    two_groups = np.r_[np.full(6, 0.1), np.full(6, 0.9)] + 0.01 * np.sin(np.arange(12))
    lone = np.r_[0.1, np.full(11, 0.9)] + 0.01 * np.sin(np.arange(12))
    for values, words in ((two_groups, "two groups"), (lone, "one seed lies far from the others")):
        (a,) = arms(values, design=Design(looks=(12,)))
        assert words in str(a > 0.5).replace("\n    ", " ")


def test_a_verdict_is_compared_with_nothing_but_a_verdict():
    a, b = arms([1.0, 1.1] * 4, [0.0, 0.2] * 4)
    with pytest.raises(TypeError, match="assert the finding itself"):
        assert (a > b) != True  # noqa: E712
