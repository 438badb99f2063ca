"""Documented numbers that are themselves one run, or the mean of a few."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from repro.judge import Design, Judge, Outcome, Scale
from repro.judge.boundary import threshold
from repro.judge.one_run import telling_width
from repro.judge.statistic import Prediction
from tests.judge.arms import arm, arms
from tests.judge.test_judge_level import calibration

CI, PAPER = (5, 8, 12), (3, 5, 8, 12, 20)
LOOKS = Design(looks=CI)
RNG = np.random.default_rng(28)
LOG = Scale("log")


def exact(mean, sd, seeds=8):
    """Values with exactly this mean and standard deviation."""
    x = np.random.default_rng(3).standard_normal(seeds)
    return mean + sd * (x - x.mean()) / x.std(ddof=1)


@pytest.mark.parametrize("documented", [33.0, 36.0, 41.0])
def test_the_interval_is_the_prediction_of_statsmodels(documented):
    x = np.exp(exact(3.55, 0.03))
    (a,) = arms(x, scale=LOG, metric="perplexity")
    verdict = a.agrees_with(documented, runs=1, within_ratio=1.2)
    (effect,) = verdict.effects
    fit = sm.OLS(np.log(x), np.ones(8)).fit()
    predicted = fit.get_prediction([[1.0]])
    low, high = predicted.conf_int(obs=True, alpha=effect.boundary_against)[0]
    assert (effect.low, effect.high) == pytest.approx((np.exp(low), np.exp(high)))
    assert effect.estimate == pytest.approx(np.exp(np.log(x).mean()))
    t = (np.log(documented) - predicted.predicted_mean[0]) / predicted.se_obs[0]
    assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))
    outside = not effect.low <= documented <= effect.high
    assert (verdict.outcome is Outcome.REFUTED) == outside == effect.fails


@pytest.mark.parametrize("runs", [1, 3, 10])
def test_it_is_shown_by_two_tests_of_the_distance_from_the_width(runs):
    (a,) = arms(exact(0.5, 0.01))
    (effect,) = a.agrees_with(0.505, runs=runs, within=0.06).effects
    error = 0.01 * (1 / runs + 1 / 8) ** 0.5
    assert effect.p_for == pytest.approx(stats.t.sf((0.06 - 0.005) / error, 7))


def test_a_mean_of_many_runs_is_a_number_that_is_known():
    x = exact(0.5, 0.01)
    (a,) = arms(x)
    (sampled,) = a.agrees_with(0.505, runs=10**9, within=0.02).effects
    known = a.matches(0.505, tolerance=0.02)
    assert sampled.p_for == pytest.approx(max(effect.p_for for effect in known.effects))
    p = stats.ttest_1samp(x, 0.505).pvalue
    assert sampled.p_against == pytest.approx(p)


def test_a_ratio_of_arms_is_one_draw_of_the_ratio():
    machine = np.exp(0.3 * RNG.standard_normal(8))
    x, y = 20 * machine * np.exp(exact(0, 0.02)), 10 * machine
    a, b = arms(x, y, scale=LOG)
    (effect,) = a.agrees_with(2.1, times=b, runs=1, within_ratio=1.3).effects
    logs = np.log(x / y)
    t = (np.log(2.1) - logs.mean()) / logs.std(ddof=1) / (1 + 1 / 8) ** 0.5
    assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))
    assert effect.estimate == pytest.approx(stats.gmean(x / y))
    assert effect.per_seed == pytest.approx(tuple(x / y))
    apart = a.agrees_with(2.1, times=b, runs=1, within_ratio=1.3, paired=False).effects[0]
    variance = np.log(x).var(ddof=1) + np.log(y).var(ddof=1) + logs.var(ddof=1) / 8
    t = (np.log(2.1) - logs.mean()) / variance**0.5
    assert apart.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))


def test_an_amount_above_an_arm_is_judged_on_the_scale():
    x, y = exact(0.31, 0.004), 0.344 + 0.002 * RNG.standard_normal(8)
    a, b = arms(x, y, scale=Scale("log-odds"))
    verdict = a.agrees_with(-0.031, plus=b, runs=1, within=0.05)
    (effect,) = verdict.effects
    logits = np.log(x / (1 - x)) - np.log((y - 0.031) / (1 - y + 0.031))
    t = logits.mean() / logits.std(ddof=1) / (1 + 1 / 8) ** 0.5
    assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7))
    assert effect.estimate == pytest.approx((x - y).mean(), abs=2e-4)
    assert effect.low < -0.031 < effect.high
    assert "a agrees with -0.031 plus b, documented of one run" in verdict.statement


def test_what_lies_outside_is_refuted_however_wide_the_width():
    (a,) = arms(exact(0.5, 0.001))
    verdict = a.agrees_with(0.52, runs=1, within=0.2)
    assert verdict.effects[0].p_for <= verdict.effects[0].boundary
    assert verdict.outcome is Outcome.REFUTED
    assert not verdict.effects[0].holds
    assert verdict.p <= LOOKS.level


def test_an_interval_that_says_nothing_reproduces_nothing():
    (a,) = arms(exact(0.5, 0.1))
    verdict = a.agrees_with(0.5, runs=1, within=0.1)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "200 seeds would not settle it" in verdict.advice
    assert a.agrees_with(0.5, runs=1, within=0.6).outcome is Outcome.REPRODUCED


@pytest.mark.parametrize(
    ("documented", "within", "verdict"), [(0.53, 0.45, "reproduce"), (0.89, 0.3, "refute")]
)
def test_advice_is_the_seeds_at_which_it_would_be_settled(documented, within, verdict):
    (a,) = arms(exact(0.5, 0.1, seeds=5), design=Design(looks=(5,)))
    judged = a.agrees_with(documented, runs=1, within=within)
    assert judged.outcome is Outcome.INCONCLUSIVE
    assert f"would {verdict} it" in judged.advice
    needed = int(judged.advice.split()[0].removeprefix("~"))

    def chance(seeds):  # of normal values with this mean and spread, the documented number as it is
        draws = 0.5 + 0.1 * np.random.default_rng(9).standard_normal((seeds, 20_000))
        error = draws.std(axis=0, ddof=1) * (1 + 1 / seeds) ** 0.5
        apart = np.abs(draws.mean(axis=0) - documented)
        p = (
            stats.t.sf((within - apart) / error, seeds - 1)
            if verdict == "reproduce"
            else 2 * stats.t.sf(apart / error, seeds - 1)
        )
        return (p <= 0.005).mean()

    assert chance(needed - 1) < 0.8 < chance(needed) + 0.01


def test_seeds_that_agree_by_counting_do_not_show_it_exactly():
    shares = Scale("log-odds", count=300)
    (a,) = arms(np.full(8, 0.8), scale=shares)
    near, far = (a.agrees_with(x, runs=1, within=0.1) for x in (0.803, 0.9))
    assert near.effects[0].has_spread
    assert a.agrees_with(0.803, runs=10**9, within=0.1).effects[0].has_spread
    assert near.outcome is Outcome.REPRODUCED
    assert far.outcome is Outcome.REFUTED
    assert a.agrees_with(0.803, runs=1, within=0.005).outcome is Outcome.INCONCLUSIVE


def test_what_does_not_depend_on_the_seed_is_read_off():
    (a,) = arms([0.65] * 8, exact=True)
    near, far = (a.agrees_with(x, runs=1, within=0.001) for x in (0.6505, 0.652))
    assert (near.outcome, far.outcome) == (Outcome.REPRODUCED, Outcome.REFUTED)
    assert "the same on every seed; documented is 0.6505, which lies within 0.001" in " ".join(
        str(near).split()
    )
    assert "which does not lie within 0.001" in " ".join(str(far).split())


def test_a_verdict_says_plainly_what_one_run_gives():
    (a,) = arms(exact(34.0, 0.5), scale=LOG, metric="perplexity")
    text = " ".join(str(a.agrees_with(34.86, runs=1, within_ratio=1.2)).split())
    assert "a agrees with 34.86, documented of one run, within a ratio of 1.2" in text
    assert "holds: one run of a gives 34 [" in text
    assert "documented is 34.86, inside, and shown to lie within a ratio of 1.2 (p " in text
    assert "99.5% prediction intervals over all looks" in text
    assert "it takes the runs of the source to spread as much as these do" in text
    text = " ".join(str(a.agrees_with(40, runs=3, within_ratio=1.2)).split())
    assert "contradicted: the mean of 3 runs of a gives 34" in text
    assert "documented is 40, outside (p " in text
    for line in str(a.agrees_with(34.86, runs=1, within_ratio=1.01)).splitlines():
        assert len(line) <= 80


@pytest.mark.parametrize("looks", [CI, PAPER])
@pytest.mark.parametrize("statistic", [Prediction(1), Prediction(3), Prediction(1, two_sided=True)])
def test_the_threshold_is_exact_when_every_look_is_simulated(looks, statistic):
    level, samples = 0.02, 300_000
    boundary = threshold(looks, level, statistic)
    rng = np.random.default_rng(4)
    draws, documented = rng.standard_normal((looks[-1], samples)), rng.standard_normal(samples)
    crossed = np.zeros(samples, bool)
    for n in looks:
        error = draws[:n].std(axis=0, ddof=1) * (1 / statistic.runs + 1 / n) ** 0.5
        t = (documented / statistic.runs**0.5 - draws[:n].mean(axis=0)) / error
        p = 2 * stats.t.sf(np.abs(t), n - 1) if statistic.two_sided else stats.t.sf(t, n - 1)
        crossed |= p <= boundary * n / looks[-1]
    share = crossed.mean()
    assert abs(share - level) < 3.5 * (level / samples) ** 0.5 + 0.005 * level


def test_the_document_stays_the_same_while_seeds_are_added():
    # The looks depend on each other more than those of a t test, so each may be less strict.
    assert threshold(CI, 0.005, Prediction(1)) > threshold(CI, 0.005, Prediction(3))
    assert threshold(CI, 0.005, Prediction(3)) > threshold(CI, 0.005)
    assert threshold((7,), 0.005, Prediction(1)) == 0.005


@pytest.mark.parametrize("arms_compared", [1, 2])
def test_the_level_is_used_where_the_width_leaves_no_room_for_a_refutation(arms_compared):
    design, width = Design(looks=(12,), level=0.05), 3.0 * arms_compared**0.5
    word = calibration.Word(
        lambda e: [width - e, 0.0][:arms_compared],
        lambda a: a[0].agrees_with(0.0, runs=1, within=width, plus=a[1] if a[1:] else None),
        runs=1,
        same=width,
    )
    simulated = {"kind": "normal", "correlation": 0.0, "samples": 20_000}
    reproduced, refuted, _ = calibration.errors_and_power(word, design, **simulated)
    error = (design.one_sided_level / 20_000) ** 0.5
    assert reproduced == pytest.approx(design.one_sided_level, abs=3.5 * error)
    assert refuted <= design.one_sided_level + 3.5 * error


@pytest.mark.parametrize("runs", [1, 3])
def test_the_power_that_is_printed_is_what_simulation_finds(runs):
    width = telling_width(LOOKS, runs)
    same = calibration.Word(
        lambda e: [0.0], lambda a: a[0].agrees_with(0.0, runs=runs, within=width), runs=runs
    )
    statement = calibration.stated(same, 0.0, LOOKS, kind="normal", correlation=0.0, samples=40_000)
    power, _ = calibration.rates(statement, LOOKS)
    assert power == pytest.approx(0.8, abs=0.02)
    (a,) = arms(exact(0.5, 0.01, seeds=12), design=LOOKS)
    (effect,) = a.agrees_with(0.5, runs=runs, within=0.2).effects
    assert effect.detectable == pytest.approx(width * effect.excess.spread)


def test_it_is_looked_at_again_and_stays_within_its_budget():
    looks = []
    values = exact(0.5, 0.1, seeds=12)
    a = arm(values, judge=Judge(LOOKS), looks=looks)
    verdict = a.agrees_with(0.5, runs=1, within=0.2)
    assert looks[0] == 5
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.documented == 0.5


def test_misuse_teaches():
    a, b = arms([1.0, 2.0] * 4, [2.0] * 8)
    cases = [
        (lambda: a.agrees_with(1, runs=0, within=1), "took the mean of"),
        (lambda: a.agrees_with(1, runs=1), "say how near"),
        (lambda: a.agrees_with(1, runs=1, within=1, within_ratio=2), "say how near"),
        (lambda: a.agrees_with(1, runs=1, within=0), "leaves nothing to show"),
        (lambda: a.agrees_with(1, runs=1, within_ratio=1), "leaves nothing to show"),
        (lambda: a.agrees_with(1, runs=1, within=1, times=b, plus=b), "not both"),
    ]
    for misuse, match in cases:
        with pytest.raises(ValueError, match=match):
            misuse()


def test_a_width_that_reaches_past_all_shares_is_judged_at_its_other_end():
    shares = 1 - np.array([0, 1, 3, 2, 0, 1, 2, 1]) / 1000
    scale = Scale("log-odds", count=1000)
    (a,) = arms(shares, scale=scale)
    (effect,) = a.agrees_with(0.9955, runs=1, within=0.02).effects
    x = np.log(np.clip(shares, 0.0005, 0.9995) / (1 - np.clip(shares, 0.0005, 0.9995)))
    documented, lowest = (np.log(p / (1 - p)) for p in (0.9955, 0.9755))
    error = x.std(ddof=1) * (1 + 1 / 8) ** 0.5
    assert effect.p_for == pytest.approx(stats.t.sf((x.mean() - lowest) / error, 7), rel=1e-6)
    t = (x.mean() - documented) / error
    assert effect.p_against == pytest.approx(2 * stats.t.sf(abs(t), 7), rel=1e-6)
    (b,) = arms(1 - shares, scale=scale)
    assert b.agrees_with(0.0045, runs=1, within=0.02).effects[0].p_for == pytest.approx(
        effect.p_for
    )
    assert a.agrees_with(1.0, runs=1, within=0.02).outcome is Outcome.REPRODUCED
