"""Samples that grow: the tests of `anytime` against integrals, and what they allow."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid

from repro.judge import AnyTime, Judge, Measured, Outcome, require_level
from repro.judge.anytime import (
    _EFFECTS,
    _LIKELY,
    _PRIOR,
    _RATIOS,
    _WEIGHTS,
    further,
    log_e,
    log_e_apart,
    p_of,
)
from repro.judge.comparison import Group, weigh
from repro.recorded import judge
from tests.judge.arms import IDENTITY, arms, benchmark, exact, not_refused

EIGHT = AnyTime(looks=(8,))


def apart(first, second, design=EIGHT):
    both = Judge(design)
    return [
        Measured(
            judge=both, label=x, metric="m", values=lambda n, v=v: v[:n], scale=IDENTITY, pairing=x
        )
        for x, v in (("a", np.asarray(first)), ("b", np.asarray(second)))
    ]


def test_the_e_value_of_pairs_is_a_ratio_of_t_densities():
    effects = np.linspace(-12, 12, 2_401)
    for t, runs in ((2.0, 5), (6.0, 8), (-3.0, 20)):
        prior = stats.norm.pdf(effects, scale=_EFFECTS[0])
        density = stats.nct.pdf(t, runs - 1, effects * runs**0.5)
        first = trapezoid(density * prior, effects) / stats.t.pdf(t, runs - 1)
        shrunk = 1 + runs * _EFFECTS**2
        square = t**2 / (runs - 1)
        rest = ((1 + square) / (1 + square / shrunk)) ** (runs / 2) / shrunk**0.5
        expected = np.exp(_WEIGHTS) @ [first, *rest[1:]]
        assert np.exp(log_e(t, runs - 1, runs)) == pytest.approx(expected, rel=1e-4)


def test_the_e_value_of_two_spreads_is_a_ratio_of_marginal_densities():
    """Means, spread and effect are integrated on grids, for each ratio of the spreads."""
    first, second = exact(1.2, 1.0, 4), exact(0.0, 1.5, 5)
    sigma = np.exp(np.linspace(-2, 3, 61))
    middle = np.linspace(-15, 15, 301)[:, None]

    def marginal(ratio, effect_scale):
        """The density of the data without an effect, or with one of this scale."""
        total = 0.0
        of_first = stats.norm.logpdf(first[:, None, None], middle, sigma).sum(axis=0)
        if effect_scale is None:
            spread = sigma * ratio
            of_second = stats.norm.logpdf(second[:, None, None], middle, spread).sum(axis=0)
        else:  # the second mean is normal around the first one: one draw for all of its runs
            noise, shift = sigma * ratio, effect_scale * sigma * ratio**0.5
            mean, rest = second.mean(), ((second - second.mean()) ** 2).sum()
            n = len(second)
            of_second = (
                stats.norm.logpdf(mean, middle, (noise**2 / n + shift**2) ** 0.5)
                - (n - 1) * np.log(noise)
                - rest / 2 / noise**2
                - (n - 1) / 2 * np.log(2 * np.pi)
                - np.log(n) / 2
            )
        total = trapezoid(np.exp(of_first + of_second), middle[:, 0], axis=0)
        return trapezoid(total, np.log(sigma))

    nearly = np.arange(0, len(_RATIOS))[np.abs(_RATIOS) <= 2.5][::2]
    best = max(marginal(np.exp(_RATIOS[i]), None) for i in nearly)
    likely, prior = _RATIOS[_LIKELY], np.exp(_PRIOR)
    effect = sum(
        weight * marginal(np.exp(x), scale)
        for x, weight in list(zip(likely, prior * 2, strict=True))[::2]
        for scale in [_EFFECTS[0]]
    )
    ours = log_e_apart(1.2, [1.0, 2.25], [4, 5])
    others = np.exp(_WEIGHTS[1:]).sum()  # wider priors say less about so small an effect
    assert effect * np.exp(_WEIGHTS[0]) / best < np.exp(ours)
    assert np.exp(ours) < effect * (np.exp(_WEIGHTS[0]) + others) / best


def test_an_effect_of_any_size_is_found():
    sizes = np.array([3.0, 10.0, 100.0, 1e4, 1e6])
    for found in (log_e_apart(sizes, [1.0, 1.0], [6, 8]), log_e(sizes, 5, 6)):
        assert (np.diff(found) > 0).all()


def test_an_interval_touches_the_bound_where_p_touches_the_level():
    for first, second in ((exact(0.0, 1.0, 7), exact(0.0, 2.0, 8)), (exact(0.0, 1.0, 8), None)):
        for shift, outcome in ((0.999, "inconclusive"), (1.001, "reproduced")):
            a, b = apart(first, first * 0 if second is None else second)
            half = -(a > (0.0 if second is None else b)).effects[0].low
            a, b = apart(first + shift * half, first if second is None else second)
            assert (a > (0.0 if second is None else b)).outcome == outcome


def test_one_may_look_after_each_run():
    rng, wrong = np.random.default_rng(75), {"pairs": 0, "apart": 0}
    samples, other = 1_000, rng.standard_normal((6, 1_000))
    values = rng.standard_normal((60, samples))
    for name in wrong:
        found = np.zeros(samples, dtype=bool)
        for runs in (*range(3, 12), *range(12, 61, 8)):
            groups = [Group(values[:runs]), *([Group(-other)] if name == "apart" else [])]
            evidence = AnyTime(looks=(60,), level=0.1).read(weigh(groups))
            found |= evidence.p_for <= 0.05
        wrong[name] = found.mean()
    assert 0.005 < wrong["pairs"] <= 0.05
    assert wrong["apart"] <= 0.05


@pytest.mark.thorough
def test_at_any_time_the_level_holds_from_3_to_200_runs():
    rates = dict(benchmark("error_rates").any_time_rates(4_000, np.random.default_rng(76)))
    false = [rate for name, rate in rates.items() if "found" not in name]
    assert len(false) == 6
    assert max(false) <= 0.008
    assert rates["pairs, 1 sd found after 40 and before"] > 0.95


def test_both_sides_of_a_margin_have_half_of_the_level():
    near, other = exact(0.0, 0.01, 12), 2e-3 + exact(0.0, 0.01, 12)
    a, b = apart(near, other, AnyTime(looks=(12,)))
    assert a.is_within(0.1, of=b).outcome is Outcome.REPRODUCED
    a, b = apart(near + 1.0, other, AnyTime(looks=(12,)))
    assert a.is_within(0.1, of=b).outcome is Outcome.REFUTED


def test_further_runs_settle_it_and_one_less_does_not():
    counts = (4, 8)
    more = further(3.0, [1.0, 1.44], counts, level=0.001, most=20)

    def p(add):
        grown = [count + each for count, each in zip(counts, add, strict=True)]
        return p_of(log_e_apart(3.0, [1.0, 1.44], grown))

    assert p(more) <= 0.001
    for side in (0, 1):
        if more[side]:
            assert p([n - (side == i) for i, n in enumerate(more)]) > 0.001
    assert further(3.0, [1.0, 1.44], counts, level=0.001, most=5) == ()


def test_an_open_verdict_names_the_runs_that_would_just_settle_it():
    verdict = judge({"a": exact(1.0, 1.0, 6), "b": exact(0.0, 1.0, 6)}, looks="any")
    assert "more runs would just settle it" in verdict.advice
    assert "looks at any time" in str(verdict)
    alike = judge({"a": exact(0.001, 1.0, 6), "b": exact(0.0, 1.0, 6)}, looks="any")
    assert "more than 200 runs" in alike.advice


def test_claims_without_such_a_test_are_refused():
    a, b, c, d = arms(*[exact(i, 1.0) for i in range(4)], design=EIGHT)
    claims = (
        lambda: a.exceeds(b, in_at_least=0.5),
        lambda: a.agrees_with(0.1, runs=1, within=3.0),
    )
    assert not not_refused([(claim, ValueError, 'looks="any" compares') for claim in claims])
    assert ((d - b) > (c - b)).outcome  # gains of pairs are one sample


def test_a_level_lies_between_its_ends():
    assert require_level(0.05) == 0.05
    wrong = (0, 0.06, "1", True)
    cases = [(lambda x=x: require_level(x), ValueError, "one direction") for x in wrong]
    assert not not_refused(cases)
