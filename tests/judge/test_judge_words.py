"""The words about one or two arms: against public oracles, their properties, and their looks."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special, stats
from statsmodels.stats.weightstats import ttost_paired

from repro.judge import Beyond, Judge, Ladder, Measured, Outcome, Scale, p_of_all
from repro.judge.effect import digits
from tests.judge.arms import LOOKS, arm, arms, told

RNG = np.random.default_rng(7)


def around(*means, seeds=8, spread=0.01):
    return [mean + spread * RNG.standard_normal(seeds) for mean in means]


def test_greater_is_the_paired_t_test():
    for gap in (0.0, 0.005, 0.02):
        x, y = around(0.6 + gap, 0.6)
        a, b = arms(x, y)
        (effect,) = (a > b).effects
        test = stats.ttest_rel(x, y, alternative="greater")
        assert effect.p_for == pytest.approx(test.pvalue)
        assert effect.p_against == pytest.approx(1 - test.pvalue)
        interval = stats.ttest_rel(x, y).confidence_interval(0.99)
        assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
        assert effect.estimate == pytest.approx(np.mean(x - y))
        assert effect.correlation == pytest.approx(stats.pearsonr(x, y).statistic)


def logit(v):
    return np.log(v / (1 - v))


def test_the_words_are_one_sided_t_tests_on_the_scale_of_the_metric():
    x, y, z, w = around(0.7, 0.6, 0.64, 0.6)
    a, b, c, d = arms(x, y, z, w)
    p, q = arms(x, y, scale=Scale("log-odds"))
    r, s = arms(x, y, scale=Scale("log"))

    def greater(differences, bound=0.0):
        return stats.ttest_1samp(differences, bound, alternative="greater").pvalue

    for verdict, *expected in (
        (p.exceeds(q, by_at_least=0.05), greater(logit(x) - logit(y + 0.05))),
        (r.exceeds(s, by_ratio=1.1), greater(np.log(x / y), np.log(1.1))),
        (s.falls_below(r, by_ratio=1.1), greater(np.log(x / y), np.log(1.1))),
        (r.is_at_most_times(1.2, of=s), greater(np.log(y / x), -np.log(1.2))),
        (
            r.is_times(1.2, s, within_ratio=1.1),
            greater(np.log(x / y), np.log(1.2 / 1.1)),
            greater(np.log(y / x), -np.log(1.2 * 1.1)),
        ),
        (a.is_at_most(0.02, below=b), greater(x - y, -0.02)),
        (a.matches(0.695, tolerance=0.01), greater(x, 0.685), greater(-x, -0.705)),
        ((a - b) > (c - d), greater(x - y - z + w)),
        ((c - d) < (a - b), greater(x - y - z + w)),
    ):
        assert [effect.p_for for effect in verdict.effects] == pytest.approx(expected)
    (effect,) = r.exceeds(s, by_ratio=1.1).effects
    assert effect.estimate == pytest.approx(stats.gmean(x) / stats.gmean(y))
    assert effect.bound == 1.1
    assert a.matches(0.695, tolerance=0.01).effects[0].correlation is None


def test_within_is_tost():
    for gap in (0.0, 0.01, 0.03):
        x, y = around(0.6 + gap, 0.6)
        a, b = arms(x, y)
        verdict = a.is_within(0.02, of=b)
        p, _, _ = ttost_paired(x, y, -0.02, 0.02)
        assert max(effect.p_for for effect in verdict.effects) == pytest.approx(p)
        assert bool(verdict) == (p <= 0.005)
        interval = stats.ttest_rel(x, y).confidence_interval(0.99)
        for effect in verdict.effects:
            assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
            assert effect.estimate == pytest.approx(np.mean(x - y))


samples = arrays(float, 8, elements=st.floats(-1, 1).map(lambda x: round(x, 4)), unique=True)
shares = arrays(float, 8, elements=st.floats(0.05, 0.9), unique=True)


@given(samples, samples, st.permutations(range(8)), st.floats(-100, 100))
def test_verdicts_mirror_and_ignore_a_constant_and_the_order_of_seeds(x, y, order, constant):
    assume(np.ptp(x - y) > 1e-3)
    a, b = arms(x, y)
    mirrored = {Outcome.REPRODUCED: Outcome.REFUTED, Outcome.REFUTED: Outcome.REPRODUCED}
    one, other = a > b, b > a
    assert other.outcome is mirrored.get(one.outcome, one.outcome)
    c, d = arms(x[list(order)] + constant, y[list(order)] + constant)
    before, after = one.effects[0], (c > d).effects[0]
    assert after.p_for == pytest.approx(before.p_for, abs=1e-9)
    assert after.low == pytest.approx(before.low, abs=1e-9)


@settings(max_examples=40)  # in both directions, on each of the scales
@given(shares, shares, st.sampled_from(["identity", "log", "log-odds"]), st.floats(0, 0.05))
def test_the_interval_excludes_the_bound_exactly_when_the_comparison_counts(x, y, scale, amount):
    a, b = arms(x, y, scale=Scale(scale))
    for word in (a.exceeds, a.falls_below):
        (effect,) = word(b, by_at_least=amount).effects
        if abs(effect.p_for - effect.boundary) > 1e-6:
            beyond = effect.high < effect.bound if effect.below else effect.low > effect.bound
            assert beyond == effect.holds


def test_an_open_look_asks_for_more_and_lets_the_answer_through():
    class RunsMissing(Exception):
        pass

    looks: list[int] = []

    def values(seeds):
        looks.append(seeds)
        if seeds > 5:
            raise RunsMissing
        return np.array([1.0, 2.0, 1.0, -1.0, 0.5])

    judge = Judge(LOOKS)
    missing = Measured(judge=judge, label="a", metric="m", values=values)
    with pytest.raises(RunsMissing):
        _ = missing > 0.0
    assert looks == [5, 8]
    assert judge.verdicts == []
    looks.clear()
    clear = arm(np.linspace(1, 2, 12), judge=judge, looks=looks) > 0.0
    assert looks == [5]
    assert (clear.seeds, clear.looks) == (5, (5, 8, 12))


def test_an_open_budget_is_inconclusive_with_advice():
    d = np.array([1.0, -1.0] * 6) + 0.75
    verdict = arm(d, judge=Judge(LOOKS)) > 0.0
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert not verdict
    assert verdict.seeds == 12
    needed = int(verdict.advice.split()[0].removeprefix("~"))
    power = stats.nct.sf(
        stats.t.isf(LOOKS.boundary(12), needed - 1),
        needed - 1,
        d.mean() / d.std(ddof=1) * needed**0.5,
    )
    assert 0.8 <= power < 0.82
    # A conjunction waits for its slowest term, unless one can refute it sooner.
    base, quick, slow = np.zeros(12), np.array([1.0, -1.0] * 6) + 0.9, -d
    judged = Ladder(arms(base, base + d, base + quick, design=LOOKS)).bottoms_at(0)
    assert judged.advice == verdict.advice
    contrary = Ladder(arms(base, base + slow, base + quick, design=LOOKS)).bottoms_at(0)
    assert "would refute it" in contrary.advice
    flat = arm([1.0, -1.0] * 6, judge=Judge(LOOKS)) > 1e-3
    assert "more than 200 seeds" in flat.advice
    assert (judged.beyond, flat.beyond) == (Beyond.NONE, Beyond.SIZE)


def test_what_is_joined_is_one_finding_of_all_sides_whose_truth_is_asked():
    a, b, c = arms(*around(0.9, 0.5, 0.4))
    joined = (a > b) & (a > c)
    for effect in joined.effects:
        labels = [joined.samples[place].label for place in effect.sides]
        assert effect.label == " - ".join(labels)
    assert [e.boundary_against for e in joined.effects] == pytest.approx([0.005 / 2] * 2)
    assert joined.level == a.judge.design.level
    assert a.judge.findings.made == [joined]
    assert a.judge.findings.asserted == []
    assert joined
    assert a.judge.findings.asserted == [joined]


def test_findings_together_have_the_p_of_the_weakest_or_pay_for_the_choice():
    a, b = arms(*around(0.9, 0.5, spread=0.2))
    strong, weak, against = a > 0.4, a > b, a < 0.4
    assert p_of_all([strong, weak]) == max(strong.p, weak.p)
    assert p_of_all([weak, against]) == pytest.approx(2 * against.p)
    assert p_of_all([strong, a > float(a.values(8).mean())]) == 1.0


def test_a_line_has_the_number_that_its_interval_is_of():
    """A ratio on the log scale, and points of a share; the scale is named where it is seen."""
    x, y, z, w = around(0.95, 0.9, 0.8, 0.7, spread=0.003)
    lost = np.append(x[:7], 0.2)  # in the mean worse, on the scale better
    log = {"scale": Scale("log"), "metric": "perplexity"}
    a, b = arms(lost, y, scale=Scale("log-odds"))
    c, d = arms(x, y, scale=Scale("log-odds"))
    e, f, g, h = arms(lost, y, z, w, **log)
    (run,) = arms(lost, **log)
    quads = (e, f, g, h), arms(x, y, z, w), arms(lost, y, z, w, scale=Scale("log-odds"))
    by_logs, as_it_is, by_odds = ((p - q) > (r - s) for p, q, r, s in quads)
    ratio, step = lost / y, logit(lost) - logit(y) - logit(z) + logit(w)
    points = special.expit(logit(lost).mean()) - special.expit(logit(y).mean())
    for verdict, label, estimate, unit in (
        (a > b, "a - b", points, " on log-odds"),
        (c > d, "a - b", (x - y).mean(), ""),
        (e > f, "a / b", stats.gmean(ratio), " times on log"),
        (f.falls_below(e), "a / b", stats.gmean(ratio), " times on log"),
        (
            e.exceeds(f, by_ratio=1.01),
            "a / b",
            stats.gmean(ratio),
            " times on log, claimed > 1.01",
        ),
        (e > 0.7, "a - 0.7", stats.gmean(lost) - 0.7, " on log"),
        (by_logs, "(a / b) / (c / d)", stats.gmean(ratio / z * w), " times on log"),
        (as_it_is, "(a - b) - (c - d)", (x - y - z + w).mean(), ""),
        (by_odds, "(a - b) - (c - d)", step.mean(), " on log-odds"),
        (
            run.agrees_with(0.8, runs=1, within=0.5),
            "one run of a",
            stats.gmean(lost),
            ", documented 0.8",
        ),
    ):
        (effect,) = verdict.effects
        assert effect.estimate == pytest.approx(estimate, abs=1e-3)
        assert effect.low < effect.estimate < effect.high
        ends = [digits(each, effect.unit) for each in (effect.estimate, effect.low, effect.high)]
        said = "{} [{}, {}]".format(*ends)
        assert verdict.measured == f"{label} = {said}{unit}, 8 seeds"
        assert said in told(verdict)
    assert (a > b).effects[0].plain < 0 < (a > b).effects[0].estimate
    interval = stats.ttest_1samp(np.log(ratio), 0).confidence_interval(0.99)
    effect = (e > f).effects[0]
    assert (effect.low, effect.high) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))
    assert effect.bound == 1


def test_the_explanation_is_complete_and_narrow():
    values = around(0.6, 0.55, 0.5, 0.56, seeds=12)
    a, b, c, d = arms(*values, design=LOOKS, scale=Scale("log-odds"))
    verdicts = [
        a.exceeds(b, by_at_least=0.01),
        a.matches(0.617, tolerance=0.01),
        Ladder([d, c, b, a]).climbs(by_at_least=0.005),
        Ladder([a, b, c, d]).is_ordered(),
        (a > b) & (c > d),
        a.agrees_with(0.61, runs=1, within=0.01),
    ]
    wide = [line for verdict in verdicts for line in str(verdict).splitlines() if len(line) > 80]
    assert wide == []
    text = str(verdicts[0])
    assert text.startswith("REPRODUCED: a exceeds b by at least 0.01 in accuracy\n")
    for part in ("means: a 0.", "claimed > 0.01; p ", "boundary ", "99% intervals"):
        assert part in text
    assert "both to be normal" in told(verdicts[-1])
