"""Statements about one arm over its training: curves of equal and of different lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from repro.judge import Curve, Design, Judge, Measured, Outcome, Scale

RNG = np.random.default_rng(17)


def curve(runs, *, epochs=None, scale="identity", judge=None, metric="loss"):
    return Curve(
        judge=judge or Judge(Design(looks=(8,))),
        label="a",
        metric=metric,
        epochs=epochs or range(1, 1 + max(map(len, runs))),
        values=lambda n: [np.asarray(run, dtype=float) for run in runs[:n]],
        scale=Scale(scale),
    )


def stopped_early(*means, seeds=8, least=2, spread=0.05):
    """Runs around these means, some of them cut after `least` epochs or more."""
    lengths = [least + seed % (len(means) - least + 1) for seed in range(seeds)]
    return [means[:length] + spread * RNG.standard_normal(length) for length in lengths]


@pytest.mark.parametrize(
    ("means", "word"),
    [
        ((1, 2, 3, 2), lambda a: a.bottoms_at(1)),
        ((2, 1, 3, 3), lambda a: a.bottoms_at(2)),
        ((4, 3, 2, 1), lambda a: a.bottoms_at(-1)),
        ((2, 3, 1, 1), lambda a: a.peaks_at(2)),
        ((1, 2, 3, 4), lambda a: a.peaks_at(-1)),
        ((4, 3, 2, 1), lambda a: a.falls()),
        ((1, 3, 2, 1), lambda a: a.falls(after=2)),
        ((3, 1, 2, 4), lambda a: a.climbs(after=2)),
    ],
)
def test_a_shape_is_reproduced_where_it_is_and_refuted_on_its_reverse(means, word):
    runs = stopped_early(*means, least=3)
    assert word(curve(runs)).outcome is Outcome.REPRODUCED
    assert word(curve([-run for run in runs])).outcome is Outcome.REFUTED


def test_each_run_is_read_over_its_own_epochs():
    runs = stopped_early(1.0, 1.2, 1.1, 1.3)
    (effect,) = curve(runs, scale="log").bottoms_at(1).effects
    gaps = [np.log(min(run[1:]) / run[0]) for run in runs]
    expected = stats.ttest_1samp(gaps, 0, alternative="greater")
    assert effect.p_for == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("word", "weakest"), [("climbs", min), ("falls", max)])
def test_keeping_on_is_judged_by_the_weakest_step_of_each_run(word, weakest):
    runs = stopped_early(3.0, 1.0, 1.3, 1.2, 1.7, least=4, spread=0.2)
    (effect,) = getattr(curve(runs, scale="log"), word)(after=2).effects
    steps = np.array([weakest(np.diff(np.log(run[1:]))) for run in runs])
    way = "greater" if word == "climbs" else "less"
    assert effect.p_for == pytest.approx(stats.ttest_1samp(steps, 0, alternative=way).pvalue)


@given(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=5), min_size=8, max_size=8))
@settings(max_examples=30, deadline=None)
def test_a_curve_of_noise_is_no_more_than_its_runs_say(runs):
    falls = [np.diff(run).max() < 0 for run in runs]
    verdict = curve(runs).falls()
    if verdict:
        assert any(falls)
    if verdict.outcome is Outcome.REFUTED:
        assert not all(falls)


def test_falling_while_another_rises_needs_both_and_is_refuted_by_either():
    judge = Judge(Design(looks=(8,)))
    training = curve(stopped_early(3, 2, 1, 0.5, least=3), judge=judge)
    validation = curve(stopped_early(5, 6, 7, 8), judge=judge, scale="log", metric="perplexity")
    assert training.falls_while(validation)
    assert training.falls_while(training).outcome is Outcome.REFUTED
    assert validation.falls_while(validation).outcome is Outcome.REFUTED
    verdict = training.falls_while(validation, after=1)
    assert "loss of a keeps falling while perplexity of a keeps climbing" in verdict.statement
    assert (verdict.scale, len(verdict.effects)) == ("identity, log", 2)
    # The second curve is measured at every other epoch only.
    sparse = curve(stopped_early(5, 6, 7, least=3), epochs=[2, 4, 6], judge=judge)
    assert training.falls_while(sparse, after=2)


def test_an_epoch_of_a_curve_is_compared_like_any_measure():
    runs = stopped_early(3, 2, 1, least=3)
    a = curve(runs)
    assert isinstance(a[1], Measured)
    assert (a[3] < a[1]) & (a[-1] < a[1])
    sparse = curve(runs, epochs=[2, 4, 6])
    assert list(sparse[4].values(8)) == [run[1] for run in runs]


def test_an_epoch_that_some_run_did_not_reach_leaves_the_statement_open():
    a = curve(stopped_early(3, 2, 1))
    for verdict in (a[3] < a[1], a.bottoms_at(3)):
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert "a at epoch 3 has no finite value on 4 of 8 seeds" in verdict.reason
    alone = curve([[1.0]] * 8)
    assert "no finite value on 8 of 8" in alone.bottoms_at(1).reason
    assert "no finite value on 8 of 8" in alone.falls().reason
    diverged = curve([[1.0, 2.0]] * 7 + [[np.nan]])
    assert "no finite value on 1 of 8" in diverged.bottoms_at(1).reason


def test_curves_teach():
    sparse = curve([[3, 2, 1]] * 8, epochs=[2, 4, 6])
    for epoch in (0, 3, -2):
        with pytest.raises(ValueError, match=f"not measured at epoch {epoch}.* at 2, 4, 6"):
            sparse[epoch]
    with pytest.raises(ValueError, match="measured at 1, 2, 3, 4, …, 50"):
        curve([[1, 2]], epochs=range(1, 51)).bottoms_at(51)
