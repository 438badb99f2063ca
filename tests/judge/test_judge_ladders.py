"""The shapes of arms in order and of one arm over its training, and how well arms rank."""

import numpy as np
import pytest
from scipy import stats

from repro.judge import Curve, Judge, Ladder, Measured, Outcome, Scale
from tests.judge.arms import EIGHT, arm, arms

RNG = np.random.default_rng(23)


def ladder(*means, spread=0.01, **settings):
    return Ladder(arms(*(mean + spread * RNG.standard_normal(8) for mean in means), **settings))


LADDERS = {
    "climbs by 0.5": ((1, 2, 3), lambda rungs: rungs.climbs(by_at_least=0.5)),
    "falls by 0.5": ((3, 2, 1), lambda rungs: rungs.falls(by_at_least=0.5)),
    "is ordered": ((3, 2, 1), lambda rungs: rungs.is_ordered()),
    "peaks in the middle": ((1, 3, 2), lambda rungs: rungs.peaks_at(1)),
    "peaks at the end": ((1, 2, 3), lambda rungs: rungs.peaks_at(-1)),
    "bottoms": ((2, 1, 3), lambda rungs: rungs.bottoms_at(1)),
}


def test_one_step_that_is_not_as_claimed_refutes_it():
    assert ladder(1, 2, 2.2).climbs(by_at_least=0.5).outcome is Outcome.REFUTED
    assert ladder(1, 2, 1.5, 3).climbs().outcome is Outcome.REFUTED


def test_every_pair_is_counted_as_listed_against_it_or_open():
    verdict = ladder(9, 7, 8, 3, 3).is_ordered()
    assert verdict.outcome is Outcome.REFUTED
    assert [e.label for e in verdict.effects if e.fails] == ["b - c"]
    assert [e.label for e in verdict.effects if not (e.holds or e.fails)] == ["d - e"]
    assert verdict.measured == "8 of 10 pairs as listed, 1 against, 8 seeds"
    assert max(map(len, str(verdict).splitlines())) <= 80


def test_a_distant_pair_can_refute_what_its_neighbours_leave_open():
    samples = np.array([[2.0] * 8, [2.5] * 8, [3.0] * 8]) + 0.3 * RNG.standard_normal((3, 8))
    samples[1] += np.array([2.0, -2.0] * 4)  # the one between is too noisy to tell
    ordered = Ladder(arms(*samples))
    design = ordered[0].judge.design
    verdict = ordered.is_ordered()
    assert verdict.outcome is Outcome.REFUTED
    assert [effect.fails for effect in verdict.effects] == [False, False, True]
    assert verdict.effects[2].boundary_against == design.boundary(8, share=1 / 3)
    assert verdict.p == pytest.approx(2 * 3 * verdict.effects[2].p_against)
    assert "also contradicted: a - c" in str(verdict)
    assert ordered.falls().outcome is Outcome.INCONCLUSIVE  # of the steps alone none is settled


NOISE = np.random.default_rng(17)


def curve(runs, *, epochs=None, scale="identity", judge=None, metric="loss"):
    return Curve(
        of=arm([], judge=judge or Judge(EIGHT), metric=metric, scale=Scale(scale)),
        epochs=epochs or range(1, 1 + max(map(len, runs))),
        values=lambda n: [np.asarray(run, dtype=float) for run in runs[:n]],
    )


def stopped_early(*means, seeds=8, least=2, spread=0.05):
    """Runs around these means, some of them cut after `least` epochs or more."""
    lengths = [least + seed % (len(means) - least + 1) for seed in range(seeds)]
    return [means[:length] + spread * NOISE.standard_normal(length) for length in lengths]


CURVES = {
    "bottoms at 1": ((1, 2, 3, 2), lambda a: a.bottoms_at(1)),
    "bottoms at 2": ((2, 1, 3, 3), lambda a: a.bottoms_at(2)),
    "bottoms at the end": ((4, 3, 2, 1), lambda a: a.bottoms_at(-1)),
    "peaks at 2": ((2, 3, 1, 1), lambda a: a.peaks_at(2)),
    "peaks at the end": ((1, 2, 3, 4), lambda a: a.peaks_at(-1)),
    "falls": ((4, 3, 2, 1), lambda a: a.falls()),
    "falls after 2": ((1, 3, 2, 1), lambda a: a.falls(after=2)),
    "climbs after 2": ((3, 1, 2, 4), lambda a: a.climbs(after=2)),
}


def test_a_shape_is_reproduced_where_it_is_and_refuted_on_its_reverse():
    bad = []
    for name, (means, word) in LADDERS.items():
        found = [word(ladder(*(sign * mean for mean in means))).outcome for sign in (1, -1)]
        if found != [Outcome.REPRODUCED, Outcome.REFUTED]:
            bad.append((name, found))
    for name, (means, word) in CURVES.items():
        runs = stopped_early(*means, least=3)
        found = [word(curve(each)).outcome for each in (runs, [-run for run in runs])]
        if found != [Outcome.REPRODUCED, Outcome.REFUTED]:
            bad.append((name, found))
    assert bad == []


def test_the_mean_curve_is_compared_at_every_other_epoch_and_ended_runs_keep_their_value():
    runs = stopped_early(1.0, 1.2, 1.1, 1.3)
    (effect,) = curve(runs, scale="log").bottoms_at(1).effects
    kept = np.log([[*run, *[run[-1]] * (4 - len(run))] for run in runs])
    others = stats.ttest_1samp(kept[:, 1:] - kept[:, :1], 0, alternative="greater")
    assert effect.p_for == pytest.approx(max(others.pvalue))
    assert effect.boundary_against == pytest.approx(effect.boundary / 3)


def test_keeping_on_is_judged_by_the_weakest_step_that_all_runs_have():
    for word, way in (("climbs", "greater"), ("falls", "less")):
        runs = stopped_early(3.0, 1.0, 1.3, 1.2, 1.7, least=4, spread=0.2)
        (effect,) = getattr(curve(runs, scale="log"), word)(after=2).effects
        steps = stats.ttest_1samp(np.diff(np.log([run[1:4] for run in runs])), 0, alternative=way)
        assert effect.p_for == pytest.approx(max(steps.pvalue))


def test_the_last_epoch_is_that_of_each_run_and_is_compared_with_as_many_before():
    runs = [[5, 4.5, 2.2, 2], [5, 2.5, 2.1]] * 4
    noisy = [np.array(run) + 0.05 * NOISE.standard_normal(len(run)) for run in runs]
    (effect,) = curve(noisy).bottoms_at(-1).effects
    before = [run[-2] - run[-1] for run in noisy]
    assert effect.p_for == pytest.approx(stats.ttest_1samp(before, 0, alternative="greater").pvalue)


def test_an_epoch_of_a_curve_is_compared_like_any_measure():
    runs = stopped_early(3, 2, 1, 4, least=2)
    a = curve(runs)
    assert isinstance(a[1], Measured)
    assert (a[2] < a[1]) & (a[-1] < 9)
    # A run that stopped is at a later epoch what it ended as.
    assert list(a[3].values(8)) == [run[2] if len(run) > 2 else run[-1] for run in runs]
    sparse = curve(runs, epochs=[2, 4, 6, 8])
    assert list(sparse[4].values(8)) == [run[1] for run in runs]


def test_how_long_runs_went_is_compared_like_any_measure():
    sparse = curve([[3, 2, 1]] * 7 + [[3, 2]], epochs=[2, 4, 6])
    assert list(sparse.length.values(8)) == [6] * 7 + [4]
    whole = curve([[2, 1]] * 8, epochs=[25, 50]).length
    assert whole.agrees_with(50, runs=1, within=10)
    assert not whole.agrees_with(50, runs=1, within=1)
    early = [[1.0] * (30 + seed) for seed in range(8)]
    verdict = curve(early, epochs=range(1, 51)).length.agrees_with(50, runs=1, within=10)
    assert verdict.outcome is Outcome.REFUTED
    assert "in epochs" in verdict.statement
    assert np.isnan(curve([[1.0, 2.0]] * 7 + [[np.nan]]).length.values(8)[-1])


def test_a_run_has_converged_where_it_stays_near_its_end():
    runs = [[5, 1.2, 1.0, 1.1, 1.0], [4, 2.0, 1.5, 1.0, 1.0], *[[3, 1.0, 1.0, 1.0, 1.0]] * 6]
    assert list(curve(runs).largest_change(after=3).values(8)) == pytest.approx(
        [0.1, 0.5, *[0] * 6]
    )
    assert curve(runs).largest_change(after=1).values(8)[0] == 4
    assert np.isnan(curve([[1.0, 1.0], *runs[1:]]).largest_change(after=4).values(8)[0])


def test_the_largest_rise_is_that_of_each_run_wherever_it_comes():
    runs = [[3, 1, 4, 4.5], [3, 5, 4], [3, 2, 1.5], *[[2, 4, 1]] * 5]
    assert list(curve(runs).largest_rise.values(8)) == [3, 2, -0.5, *[2] * 5]
    assert curve([[3, 1, 4, 4.5]] * 8, scale="log").largest_rise.values(8)[0] == 3
    assert np.isnan(curve([[1.0]] * 7 + [[1.0, np.nan]]).largest_rise.values(8)).all()
    # A jump that comes at another epoch in every run is seen.
    smooth = [np.linspace(5, 1, 50) + 0.01 * NOISE.standard_normal(50) for _ in range(8)]
    jumping = [run + 0.5 * (np.arange(50) == 6 * seed + 3) for seed, run in enumerate(smooth)]
    assert (curve(jumping).largest_rise > 0.1).outcome is Outcome.REPRODUCED
    verdict = curve(smooth).largest_rise > 0.1
    assert verdict.outcome is Outcome.REFUTED
    assert "a at its largest rise" in verdict.statement


def test_a_run_without_a_value_leaves_the_statement_open():
    alone = curve([[1.0]] * 8)
    assert "no finite value on 8 of 8" in alone.bottoms_at(1).reason
    assert "no finite value on 8 of 8" in alone.falls().reason
    diverged = curve([[1.0, 2.0]] * 7 + [[np.nan]])
    assert "no finite value on 1 of 8" in diverged.bottoms_at(1).reason


def test_a_curve_has_its_highest_lowest_and_mean_values_and_its_last_ones():
    runs = [np.array([3.0, 1.0, 2.0, 2.5]) + seed / 100 for seed in range(8)]
    runs[3] = runs[3][:2]
    of_curve = curve(runs)
    for measured, read in (
        (of_curve.max(), np.max),
        (of_curve.min(), np.min),
        (of_curve.mean(), np.mean),
        (of_curve.last(2), lambda run: np.mean(run[-2:])),
        (of_curve.last(9), np.mean),
    ):
        assert measured.values(8) == pytest.approx([read(run) for run in runs])
    with pytest.raises(ValueError, match="give 1 or more"):
        of_curve.last(0)
    assert of_curve.max() > 2.9
