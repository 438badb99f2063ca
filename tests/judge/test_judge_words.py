"""The statements of the judge: against public oracles, their properties, and odd values."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

import repro.judge
from repro.judge import (
    Design,
    Judge,
    Ladder,
    Measured,
    Outcome,
    Scale,
    ScaleError,
    Verdict,
    conjunction,
    either,
)
from repro.judge.unusual import unusual
from tests.example_arms import scope
from tests.judge.arms import arm, arms

LOOKS = Design(looks=(5, 8, 12))
RNG = np.random.default_rng(7)


def around(*means, seeds=12, spread=0.01):
    return [mean + spread * RNG.standard_normal(seeds) for mean in means]


# --- agreement with scipy and statsmodels -------------------------------------------------------


@pytest.mark.parametrize("gap", [0.0, 0.005, 0.02])
def test_greater_is_the_paired_t_test(gap):
    x, y = around(0.6 + gap, 0.6, seeds=8)
    a, b = arms(x, y)
    (effect,) = (a > b).effects
    test = stats.ttest_rel(x, y, alternative="greater")
    assert effect.p_for == pytest.approx(test.pvalue)
    assert effect.p_against == pytest.approx(1 - test.pvalue)
    interval = stats.ttest_rel(x, y).confidence_interval(0.99)
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
    assert effect.estimate == pytest.approx(np.mean(x - y))
    assert effect.correlation == pytest.approx(stats.pearsonr(x, y).statistic)


def test_an_amount_shifts_the_other_arm_on_its_scale():
    x, y = around(0.7, 0.6, seeds=8)
    a, b = arms(x, y, scale=Scale("log-odds"))

    def logit(v):
        return np.log(v / (1 - v))

    (effect,) = a.exceeds(b, by_at_least=0.05).effects
    expected = stats.ttest_rel(logit(x), logit(y + 0.05), alternative="greater").pvalue
    assert effect.p_for == pytest.approx(expected)


def test_a_ratio_on_the_log_scale():
    x, y = around(1.5, 1.0, seeds=8)
    a, b = arms(x, y, scale=Scale("log"))
    (effect,) = a.exceeds(b, by_ratio=1.2).effects
    expected = stats.ttest_1samp(np.log(x / y), np.log(1.2), alternative="greater").pvalue
    assert effect.p_for == pytest.approx(expected)
    assert effect.estimate == pytest.approx(stats.gmean(x) / stats.gmean(y))
    assert effect.bound == 1.2


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.03])
def test_within_is_tost(gap):
    x, y = around(0.6 + gap, 0.6, seeds=8)
    a, b = arms(x, y)
    verdict = a.is_within(0.02, of=b)
    p, _, _ = ttost_paired(x, y, -0.02, 0.02)
    assert max(effect.p_for for effect in verdict.effects) == pytest.approx(p)
    assert bool(verdict) == (p <= 0.005)
    interval = stats.ttest_rel(x, y).confidence_interval(0.99)
    for effect in verdict.effects:
        assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
        assert effect.estimate == pytest.approx(np.mean(x - y))


def test_matches_is_tost_against_a_number():
    x = around(0.617, seeds=8, spread=0.004)[0]
    verdict = arms(x)[0].matches(0.615, tolerance=0.01)
    expected = [
        stats.ttest_1samp(x, 0.605, alternative="greater").pvalue,
        stats.ttest_1samp(x, 0.625, alternative="less").pvalue,
    ]
    assert [effect.p_for for effect in verdict.effects] == pytest.approx(expected)
    assert verdict.effects[0].correlation is None


def test_at_most_is_non_inferiority():
    x, y = around(0.6, 0.605, seeds=8)
    a, b = arms(x, y)
    expected = stats.ttest_1samp(x - y, -0.02, alternative="greater").pvalue
    assert a.is_at_most(0.02, below=b).effects[0].p_for == pytest.approx(expected)


def test_a_gain_is_a_difference_of_differences():
    x = around(0.6, 0.5, 0.55, 0.5, seeds=8)
    a, b, c, d = arms(*x)
    expected = stats.ttest_1samp(x[0] - x[1] - x[2] + x[3], 0, alternative="greater").pvalue
    assert ((a - b) > (c - d)).effects[0].p_for == pytest.approx(expected)
    assert ((c - d) < (a - b)).effects[0].p_for == pytest.approx(expected)


# --- ladders ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("means", "word"),
    [
        ((1, 2, 3), lambda ladder: ladder.climbs(by_at_least=0.5)),
        ((3, 2, 1), lambda ladder: ladder.falls(by_at_least=0.5)),
        ((3, 2, 1), lambda ladder: ladder.is_ordered()),
        ((1, 3, 2), lambda ladder: ladder.peaks_at(1)),
        ((1, 2, 3), lambda ladder: ladder.peaks_at(-1)),
        ((2, 1, 3), lambda ladder: ladder.bottoms_at(1)),
        ((4, 2, 3, 1), lambda ladder: ladder.dips_at(1)),
        ((1, 3, 4), lambda ladder: ladder.diminishes()),
        ((9, 4, 2), lambda ladder: ladder.diminishes(falling=True)),
        ((1, 2, 5, 6), lambda ladder: ladder.largest_step_is(1)),
        ((6, 5, 2, 1), lambda ladder: ladder.largest_step_is(1, falling=True)),
    ],
)
def test_a_shape_is_reproduced_where_it_is_and_refuted_on_its_reverse(means, word):
    shape = Ladder(arms(*around(*means)))
    mirrored = Ladder(arms(*around(*(-mean for mean in means))))
    assert word(shape).outcome is Outcome.REPRODUCED
    assert word(mirrored).outcome is Outcome.REFUTED


def test_a_step_smaller_than_claimed_refutes_the_climb():
    assert Ladder(arms(*around(1, 2, 2.2))).climbs(by_at_least=0.5).outcome is Outcome.REFUTED


def test_an_order_reports_the_pairs_that_follow_without_judging_them():
    verdict = Ladder(arms(*around(3, 2, 1))).is_ordered()
    assert [(e.label, e.needed) for e in verdict.effects] == [
        ("a - b", True),
        ("b - c", True),
        ("a - c", False),
    ]


def test_ladders_teach():
    ladder = Ladder(arms(*around(1, 2, 3)))
    with pytest.raises(ValueError, match="no two neighbours"):
        ladder.dips_at(0)
    with pytest.raises(ValueError, match="no rung 7"):
        ladder.peaks_at(7)
    with pytest.raises(ValueError, match="at least two rungs"):
        Ladder(arms(*around(1)))
    with pytest.raises(ValueError, match="step 2 is not one"):
        ladder.largest_step_is(2)
    with pytest.raises(ValueError, match="at least three rungs"):
        Ladder(arms(*around(1, 2))).diminishes()
    assert ladder[-1].label == "c"


# --- properties ---------------------------------------------------------------------------------

samples = arrays(float, 8, elements=st.floats(-1, 1).map(lambda x: round(x, 4)), unique=True)


@given(samples, samples, st.permutations(range(8)))
@settings(max_examples=60, deadline=None)
def test_verdicts_mirror_and_ignore_the_order_of_seeds(x, y, order):
    assume(np.ptp(x - y) > 1e-3)
    a, b = arms(x, y)
    mirrored = {Outcome.REPRODUCED: Outcome.REFUTED, Outcome.REFUTED: Outcome.REPRODUCED}
    one, other = a > b, b > a
    assert other.outcome is mirrored.get(one.outcome, one.outcome)
    assert (b < a).outcome is one.outcome
    c, d = arms(x[list(order)], y[list(order)])
    assert (c > d).effects[0].p_for == pytest.approx(one.effects[0].p_for, abs=1e-9)


@given(samples, samples, st.floats(-100, 100))
@settings(max_examples=60, deadline=None)
def test_a_constant_changes_nothing_on_the_identity_scale(x, y, constant):
    assume(np.ptp(x - y) > 1e-3)
    a, b = arms(x, y)
    c, d = arms(x + constant, y + constant)
    before, after = (a > b).effects[0], (c > d).effects[0]
    assert after.p_for == pytest.approx(before.p_for, abs=1e-9)
    assert after.low == pytest.approx(before.low, abs=1e-9)


@given(
    arrays(float, 8, elements=st.floats(0.05, 0.9), unique=True),
    arrays(float, 8, elements=st.floats(0.05, 0.9), unique=True),
    st.sampled_from(["identity", "log", "log-odds"]),
    st.floats(0, 0.05),
)
@settings(max_examples=80, deadline=None)
def test_the_interval_excludes_the_bound_exactly_when_the_comparison_counts(x, y, scale, amount):
    a, b = arms(x, y, scale=Scale(scale))
    (effect,) = a.exceeds(b, by_at_least=amount).effects
    assume(abs(effect.p_for - effect.boundary) > 1e-6)
    assert (effect.low > effect.bound) == effect.holds


# --- looks --------------------------------------------------------------------------------------


def test_a_decided_first_look_never_asks_for_the_second():
    looks: list[int] = []
    judge = Judge(LOOKS)
    clear, base = around(0.9, 0.5, seeds=5)
    verdict = arm(clear, judge=judge, looks=looks) > arm(base, judge=judge, label="b")
    assert verdict
    assert looks == [5]
    assert (verdict.seeds, verdict.looks) == (5, (5, 8, 12))


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


def test_the_judge_keeps_its_verdicts_in_order():
    a, b = arms(*around(0.9, 0.5))
    verdicts = [a > b, a < b, a.is_within(0.9, of=b)]
    assert a.judge.verdicts == verdicts
    assert [v.outcome for v in verdicts] == ["reproduced", "refuted", "reproduced"]


# --- odd values ---------------------------------------------------------------------------------


def test_quantities_without_spread_are_read_off():
    a, b, same = arms([2.0] * 8, [1.0] * 8, [2.0] * 8, exact=True)
    assert (a > b).outcome is Outcome.REPRODUCED
    assert (b > a).outcome is Outcome.REFUTED
    assert (a > same).outcome is Outcome.REFUTED
    assert a.is_within(0.1, of=same).outcome is Outcome.REPRODUCED
    assert "the same on every seed" in str(a > b)


def test_rounding_is_no_spread():
    last_bit = np.array([1, 2, 1, 2, 1, 2, 1, 1]) * 2.0**-53
    a, b = arms(np.full(8, 0.6), 0.6 + last_bit, exact=True)
    assert (a < b).outcome is (b < a).outcome is Outcome.REFUTED
    assert a.is_within(0.01, of=b)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_diverged_arm_gives_no_verdict_and_is_named(bad):
    looks: list[int] = []
    judge = Judge(LOOKS)
    a = arm(around(1.0)[0], judge=judge, label="steady", looks=looks)
    b = arm([0.0, bad, *[0.0] * 10], judge=judge, label="wild")
    verdict = a > b
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == "wild has no finite value on 1 of 5 seeds"
    assert looks == [5]
    assert verdict.reason in str(verdict)


def test_shares_of_one_need_the_number_of_examples():
    x, y = np.array([1.0] + [0.98] * 7), np.linspace(0.5, 0.6, 8)
    a, b = arms(x, y, scale=Scale("log-odds"))
    with pytest.raises(ScaleError, match=r"accuracy of a is 1, .*Scale\('log-odds', count=...\)"):
        _ = a > b
    a, b = arms(x, y, scale=Scale("log-odds", count=100))
    assert a > b
    assert Scale("log-odds", count=100).of(x, "a")[0] == pytest.approx(np.log(0.995 / 0.005))


def test_an_amount_that_leaves_the_domain_is_an_error():
    a, b = arms(*around(0.98, 0.97, spread=0.001), scale=Scale("log-odds"))
    with pytest.raises(ScaleError, match=r"accuracy of b \+ 0.05 is 1.0.*smaller amount"):
        a.exceeds(b, by_at_least=0.05)
    with pytest.raises(ScaleError, match=r"accuracy of a is -0\.9"):
        _ = arms([-0.9] * 8, scale=Scale("log"))[0] > 1.0


def test_values_must_be_one_per_seed():
    a, b = arms([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="one number for each of the first n seeds"):
        _ = a > b


def test_misuse_teaches():
    a, b = arms(*around(1, 2))
    other = Measured(judge=a.judge, label="p", metric="perplexity", values=lambda n: np.ones(n))
    cases = [
        (lambda: a == b, TypeError, "No number of seeds shows that"),
        (lambda: a != b, TypeError, "No number of seeds shows that"),
        (lambda: a > other, ValueError, "compare the same metric"),
        (lambda: a.is_within(0.1, of=other), ValueError, "compare the same metric"),
        (lambda: (a - b) > 0.1, TypeError, "by_at_least"),
        (lambda: a.is_within(0, of=b), ValueError, "leaves nothing to show"),
        (lambda: a.exceeds(b, by_at_least=-1), ValueError, "turn the claim around"),
        (lambda: a.exceeds(b, by_ratio=0.5), ValueError, "at least 1"),
        (lambda: a.exceeds(b, by_at_least=1, by_ratio=2), ValueError, "not with both"),
        (lambda: Scale("ln"), ValueError, "unknown scale"),
        (lambda: Scale("log", count=3), ValueError, "number of examples"),
    ]
    for misuse, error, match in cases:
        with pytest.raises(error, match=match):
            misuse()


def test_skewness_flags_what_normal_samples_show_once_in_a_hundred():
    rng = np.random.default_rng(3)
    normal = [seen for _ in range(4000) for seen in unusual(rng.standard_normal(8))]
    for each in set(normal):
        assert 0.004 < normal.count(each) / 4000 < 0.017
    lognormal = [unusual(rng.lognormal(sigma=1.5, size=20)) for _ in range(200)]
    assert np.mean([bool(seen) for seen in lognormal]) > 0.5


# --- conjunctions and the text ------------------------------------------------------------------


def test_conjunction_rules():
    a, b, c = arms(*around(0.9, 0.5), 0.5 + 0.2 * np.array([1, -1] * 6))
    yes, no, open_ = a > b, a < b, b > c
    waiting = Verdict.not_run("x exceeds y", reason="needs a GPU")
    assert open_.outcome is Outcome.INCONCLUSIVE
    assert (yes & yes).outcome is Outcome.REPRODUCED
    assert (yes & open_).outcome is Outcome.INCONCLUSIVE
    assert (open_ & no).outcome is Outcome.REFUTED
    assert (yes & waiting).outcome is Outcome.NOT_RUN
    assert (waiting & no).outcome is Outcome.REFUTED
    joint = conjunction(yes, open_, yes)
    assert joint.level == pytest.approx(0.03)
    assert len((joint & yes).parts) == 4
    with pytest.raises(ValueError, match="at least one"):
        conjunction()


@pytest.mark.parametrize("join", [conjunction, lambda *both: both[0] & both[1]])
def test_an_alternative_is_one_part_of_what_is_joined_with_it(join):
    a, b, c = arms(*around(0.9, 0.5, 0.4))
    yes = join(either(b > a, a > b), a > c)
    assert yes.outcome is Outcome.REPRODUCED
    assert yes.p == max(2 * (a > b).p, (a > c).p)
    assert len(yes.parts) == 2
    assert join(either(b > a, c > a), a > c).outcome is Outcome.REFUTED
    assert join(either(b > a, a > b), c > a).outcome is Outcome.REFUTED


def test_an_alternative_tells_the_part_that_decides_it():
    a, b, _ = arms(*around(0.9, 0.5, 0.4))
    one = either(b > a, a > b)
    assert "REPRODUCED: a exceeds b" in str(one)
    assert "REFUTED" not in str(one)
    assert one.measured.startswith("a - b = ")
    none = either(b > a, b > 0.6)
    assert str(none).count("REFUTED: ") == 3


def test_the_comparisons_of_joined_findings_name_their_own_sides():
    a, b, c = arms(*around(0.9, 0.5, 0.4))
    for joined in (conjunction(a > b, a > c), either(a > b, c > b), conjunction(a > b, b > a)):
        for effect in joined.effects:
            labels = [joined.samples[place].label for place in effect.sides]
            assert effect.label == " - ".join(labels)


def test_what_is_joined_by_conjunction_is_one_finding():
    a, b, c = arms(*around(0.9, 0.5, 0.4))
    joined = conjunction(a > b, a > c)
    assert a.judge.findings.made == [joined]
    assert a.judge.findings.asked == []
    assert joined
    assert str(joined)
    assert a.judge.findings.asked == [joined]


def test_the_explanation_is_complete_and_narrow():
    a, b, c, d = arms(*around(0.6, 0.55, 0.5, 0.56), design=LOOKS, scale=Scale("log-odds"))
    verdicts = [
        a.exceeds(b, by_at_least=0.01),
        a.is_within(0.01, of=b),
        a.matches(0.617, tolerance=0.01),
        Ladder([d, c, b, a]).climbs(by_at_least=0.005),
        Ladder([a, b, c, d]).is_ordered(),
        (a > b) & (c > d),
    ]
    for verdict in verdicts:
        assert max(map(len, str(verdict).splitlines())) <= 80, str(verdict)
    text = str(verdicts[0])
    assert text.startswith("REPRODUCED: a exceeds b by at least 0.01 in accuracy\n")
    for part in ("means: a 0.", "claimed > 0.01; p ", "boundary ", "99% intervals", "power: 80%"):
        assert part in text


def test_the_examples_in_the_documentation_run():
    names = scope()
    ran = 0
    for module in pkgutil.iter_modules(repro.judge.__path__, "repro.judge."):
        loaded = importlib.import_module(module.name)
        result = doctest.testmod(loaded, extraglobs=names)
        assert result.failed == 0, module.name
        ran += result.attempted
    assert ran > 10


def test_importing_the_judge_is_cheap():
    program = (
        "import sys, repro.judge; "
        "print([m for m in ('torch', 'pytest', 'scipy.stats') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_a_judge_that_need_not_explain_comes_to_the_same_outcomes():
    rng = np.random.default_rng(5)
    for gap in (0.0, 0.4, 1.0, 3.0, -3.0):
        sample = (gap + rng.standard_normal(12)).tolist()
        full, short = (
            arm(sample, judge=Judge(LOOKS, explains=explains)) > 0.0 for explains in (True, False)
        )
        assert (short.outcome, short.seeds) == (full.outcome, full.seeds)
        assert full.effects
        assert not short.effects
