"""Runs that are no sample: repeated ones, in every door of the judge, and those of two states."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from repro.arm import Metric
from repro.judge import (
    Design,
    Judge,
    Ladder,
    Measured,
    Outcome,
    Runs,
    Scale,
    Standing,
    compare_with_ledger,
    reference,
)
from repro.judge.sample import BIMODAL, lower_state
from repro.recorded import judge
from tests.judge.arms import LOOKS, arms, told

RNG = np.random.default_rng(58)
SHARE = Scale("log-odds", count=300)
LONG = [0.6172344719, 0.6213448173, 0.6091273465, 0.6254817233, 0.6148273991]
SHORT = [0.617, 0.621, 0.609, 0.625, 0.614]
CURVES = [[round(at + i / 100, 2) for at in (0.41, 0.52, 0.6)] for i in range(5)]
OF_797 = [770, 753, 770, 774, 762, 766, 764, 771, 764, 764, 762, 773, 766, 770, 769, 767, 764]
DIGITS = [round(right / 797, 6) for right in OF_797]
QUESTION = "does the training use its seed?"


def runs_of(values, **said):
    return Runs(label="a", by_seed=dict(enumerate(values, 1)), **said)


@pytest.mark.parametrize(
    ("values", "left_out", "said"),
    [
        (LONG, (), ""),
        (LONG[:3] * 4, range(3, 12), "9 of 12 runs of a repeat another in every value and are le"),
        ([*LONG, LONG[2]], (5,), "(seed 6 is seed 3 again): were they copied, or is the seed not"),
        ([{"acc": x, "loss": y} for x, y in zip(SHORT[:1] * 5, LONG, strict=True)], (), ""),
        ([{"acc": x, "n": 7} for x in [*LONG, LONG[0]]], (5,), "1 of 6 runs"),
        ([{"history": {"acc": x}} for x in [*CURVES, CURVES[3]]], (5,), "seed 6 is seed 4"),
        ([[0.4, 0.5, 0.5], [0.4, 0.5, 0.5], [0.4, 0.6, 0.7]], (), ""),  # of two values
        ([[1 / 3, 2 / 3, 1.0]] * 2 + [[1 / 3, 2 / 3, 2 / 3]] * 8, (), ""),
        ([[0.4, 0.5, 0.7], [0.4, 0.6, 0.7], [0.4, 0.5, 0.7], [0.5, 0.6, 0.8]], (), ""),  # coarse
        (SHORT, (), ""),
        ([0.617, 0.617, 0.618, 0.616, 0.617], (), ""),  # next to each other, by chance
        ([0.6172, 0.6534, 0.5871] * 4, (), "by chance in 5e-13 of cases: were they copied"),
        (DIGITS, (), ""),  # shares of 797 examples with six digits: by chance
        ([round(100 * x, 2) for x in DIGITS], (), ""),
        ([DIGITS[0], DIGITS[1]] * 6, (), "10 of 12 runs of a repeat another"),
        ([185 / 300, 231 / 300] * 6, (), "by chance in 3e-16 of cases"),
        (np.float32([185 / 300, 250 / 300] * 6).tolist(), (), "10 of 12 runs"),
        ([{"x": x} for x in [0.6172, 0.6534] * 5 + [None] * 2], (), "8 of 12 runs of a repeat"),
        ([1.0] * 12, (), ""),  # ten runs of ten that solve a task are a sample
        ([0.0, 1.0] * 6, (), ""),
        ([[], []], (), ""),
        ([{"acc": None, "why": "diverged"}] * 3, (), ""),
    ],
)  # fmt: skip
def test_a_run_that_cannot_repeat_by_chance_is_left_out_and_others_are_named(
    values, left_out, said
):
    runs = runs_of(values)
    assert runs.left_out == set(left_out)
    assert said in runs.said()
    assert bool(said) == bool(runs.said())


def side(values, runs=None, *, seeds=range(1, 99), judged=None, label="a", fixed=False, **said):
    """An arm of these values; its runs are the same values, if nothing else is given."""
    runs = values if runs is None else runs

    def known(count):
        by_seed = dict(zip(seeds, list(runs)[:count], strict=False))
        return Runs(label=label, by_seed=by_seed, is_deterministic=fixed)

    values = np.array(values, dtype=float)
    first = partial(lambda count: values[:count])
    judged = judged or Judge(LOOKS)
    said = {"metric": "loss", "values": first, "runs": known} | said
    return Measured(judge=judged, label=label, **said)


def pair(one, other, **said):
    """Two arms under one judge; keywords are those of the second."""
    first = side(one)
    return first, side(other, label="b", judged=first.judge, **said)


VARIED = (0.6 + 0.01 * RNG.standard_normal(20)).tolist()
ONE = [0.5172344719] * 20


def test_an_arm_whose_runs_are_all_the_same_leaves_its_claims_open_with_a_question():
    a, b = pair(VARIED, ONE)
    for verdict in (a > b, a.is_within(0.5, of=b), a.agrees_with(0.1, runs=1, within=1, plus=b)):
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert verdict.seeds == 5  # more of them would say no more
        assert f"all 5 seeds of b gave the same run: {QUESTION}" in verdict.measured
        assert QUESTION in told(verdict)
        assert "[" not in told(verdict)
    a, b = pair(VARIED, ONE, fixed=True)  # as its class declares
    assert (a > b).outcome is Outcome.REPRODUCED
    assert a.exceeds(b, by_at_least=0.2).outcome is Outcome.REFUTED
    a, b = pair(VARIED, ONE, is_exact=True)
    assert (a > b).outcome is Outcome.REPRODUCED
    other = [{"loss": x, "accuracy": y} for x, y in zip(ONE, VARIED, strict=True)]
    a, b = pair(VARIED, ONE, runs=other)  # another metric varies
    assert (a > b).outcome is Outcome.REPRODUCED
    both = Ladder([*pair(ONE, [2 * x for x in VARIED])]).climbs()
    assert QUESTION in both.measured
    three = {"c": VARIED, "d": ONE, "e": [x + 1 for x in VARIED[::-1]]}
    c, d, e = (side(values, judged=a.judge, label=label) for label, values in three.items())
    assert ((c > d) & (c > e)).outcome is Outcome.REFUTED  # of arms that vary


def test_two_arms_that_no_seed_changes_are_read_off():
    a, b = side(ONE, fixed=True), side([0.6] * 20, label="b", fixed=True)
    b = replace(b, judge=a.judge)
    assert ((a > b).outcome, (b > a).outcome) == (Outcome.REFUTED, Outcome.REPRODUCED)
    assert (a > 0.5).p == 0
    varies = side(VARIED, fixed=True)  # in spite of what it declares
    assert (varies > 0.1).effects[0].has_spread
    assert (side([*VARIED[:2]] * 10, fixed=True) > 0.1).effects[0].seeds == 2


def test_runs_that_repeat_are_left_out_with_those_they_are_paired_with():
    x, y = VARIED[:12], (0.59 + 0.01 * RNG.standard_normal(12)).tolist()
    copied = [y[0], *y[1:6], y[0], y[2], *y[8:]]
    a, b = pair(x, copied)
    verdict = (b.judge.again(a > b, (12,))).effects[0]
    kept = [i for i in range(12) if i not in (6, 7)]
    expected = stats.ttest_rel(np.array(x)[kept], np.array(copied)[kept], alternative="greater")
    assert verdict.p_for == pytest.approx(expected.pvalue)
    assert verdict.counted == "10 seeds"
    a, b = (replace(each, pairing=each.label) for each in (a, b))
    apart = b.judge.again(a > b, (12,))
    assert apart.effects[0].counts == (12, 10)
    assert "2 of 12 runs of b repeat another" in apart.measured
    assert "(seed 7 is seed 1 again)" in told(apart)
    assert f"b {np.mean(np.array(copied)[kept]):.4g}" in told(apart)  # the mean counts each once
    a, b = pair(x, [x[0], x[1]] * 6)
    assert (a < b).effects[0].seeds == 2
    assert (a < b).outcome is Outcome.INCONCLUSIVE
    odd, even = pair(
        [VARIED[i // 2] for i in range(6)], [VARIED[-((i + 1) // 2)] for i in range(6)]
    )
    none = odd.judge.again(odd > even, (6,))
    assert none.outcome is Outcome.INCONCLUSIVE
    assert "3 of 6 runs of a repeat another" in none.measured


def test_examples_are_those_of_the_runs_that_are_left():
    right = RNG.random((12, 40)) < 0.7
    values = right.mean(axis=1)
    unique = values + 1e-10 * RNG.random(12)
    runs = [*unique[:11], unique[0]]
    a = side(values, runs.copy(), by_example=lambda n: right[:n])
    plain = side(values[:11], unique[:11], by_example=lambda n: right[:n])
    one, other = (x.judge.again(x > 0.5, (n,)).effects[0] for x, n in ((a, 12), (plain, 11)))
    assert (one.error, one.fixed_variance) == (other.error, other.fixed_variance)
    assert one.examples == 40


def test_a_claim_of_the_ledger_whose_runs_no_longer_vary_is_not_compared_and_fails():
    before = pair([x + 0.1 for x in VARIED], VARIED)
    accepted = reference([before[0] > before[1]], 20, has=bool)
    for one, other in ((VARIED, ONE), ([0.71] * 20, [0.6] * 20), (VARIED[:2] * 10, ONE)):
        a, b = pair(one, other)
        [compared] = compare_with_ledger(accepted, [a > b], has=bool)
        assert compared.standing is Standing.INCOMPARABLE
        assert not compared.holds
        assert QUESTION in compared.verdict.measured
        assert reference([a > b], 20, has=bool) == []


ODDS = Metric("log-odds", examples=300)
NOTEBOOK = [
    ({"a": [0.51] * 5, "b": [0.5] * 5}, ODDS, "inconclusive", QUESTION),
    ({"a": [0.51] * 5, "b": [0.49, 0.5, 0.47, 0.48, 0.5]}, ODDS, "inconclusive", ""),
    ({"a": LONG, "b": [0.5172344719] * 5}, Metric("identity"), "inconclusive", QUESTION),
    ({"a": LONG, "b": [x - 0.1 for x in LONG[:2]] * 6}, Metric("identity"), "incon", "10 of 12"),
    ({"a": [0.9312] * 12, "b": SHORT * 2}, ODDS, "reproduced", "runs of a repeat another in every"),
    ({"a": [1.0] * 10, "b": [0.0] * 10}, ODDS, "reproduced", ""),
    ({"a": [1.0] * 10, "b": [0.0, 0.1] * 5}, Metric("identity"), "reproduced", ""),
    ({"a": [72.3] * 3, "b": [72.2] * 8 + [72.1] * 2}, Metric("identity"), "inconclusive", ""),
]


@pytest.mark.parametrize(("arms", "on", "outcome", "said"), NOTEBOOK)
def test_numbers_at_hand_are_asked_the_same(arms, on, outcome, said):
    verdict = judge(arms, on=on)
    assert verdict.outcome.startswith(outcome)
    assert said in verdict.measured
    assert bool(said) == ("repeat another" in verdict.measured or QUESTION in verdict.measured)


def test_runs_of_two_states_are_said_to_be():
    states = [0.11, 0.93, 0.95, 0.10, 0.94, 0.92, 0.12, 0.93, 0.93, 0.9, 0.95, 0.92]
    usual = [x + 0.3 for x in VARIED]
    a, b = arms(states, usual, design=Design(looks=(12,)))
    text = "the runs of a look as if they end in one of two states, 3 near 0.11 and 9 near 0.93"
    assert text in told(a > b)
    assert "two states" not in (a > b).measured
    assert "two states" not in told(a.exceeds(b, in_at_least=0.5))  # a count of runs
    together, _ = arms([x + 0.1 for x in states], usual, design=Design(looks=(12,)))
    assert "two states" not in told(replace(together, judge=a.judge) > a)
    coarse = np.array([0.5, 0.5, 0.5, 1 / 3, 1 / 3, 0.25, 0.25, 0.25])
    assert lower_state(coarse, least=0.1) == 0
    assert lower_state(np.array([0.0] * 6 + [1.0] * 6)) == 0  # two values are counts
    assert lower_state(np.array([0.1, 0.12, 0.93, 0.94])) == 0  # of too few


@pytest.mark.thorough
def test_honest_runs_are_rarely_named_and_look_bimodal_as_rarely_as_is_said():
    rng, samples = np.random.default_rng(59), 2000
    draws = {
        "normal": rng.standard_normal,
        "long tails": partial(rng.standard_t, 3),
        "skewed": lambda n: rng.lognormal(size=n),
        "uniform": rng.random,
    }
    for n in (5, 12, 20, 75):
        for sd in (2, 5, 10, 30, 100):  # in steps of the last digit
            for kind, draw in draws.items():
                named = sum(
                    bool(
                        runs_of(
                            (np.round(sd * draw(n) + 9999 * rng.random()) / 1e4).tolist()
                        ).said()
                    )
                    for _ in range(samples // 10)
                )
                assert named <= 3, (kind, n, sd)
        found = sum(lower_state(rng.standard_normal(n)) > 0 for _ in range(samples))
        assert abs(found - BIMODAL * samples) < 4 * (BIMODAL * samples) ** 0.5


@pytest.mark.thorough
def test_a_level_is_kept_however_many_runs_were_copied():
    rng, false = np.random.default_rng(60), 0
    for _ in range(2000):
        x, y = rng.standard_normal((2, 20))
        distinct = rng.integers(2, 12)
        a, b = pair(x.tolist(), y[rng.integers(0, distinct, 20)].tolist())
        a, b = (replace(each, pairing=each.label) for each in (a, b))
        false += (a > b).outcome is not Outcome.INCONCLUSIVE
    assert false <= 0.01 * 2000 + 3 * (0.01 * 2000) ** 0.5
