"""What a trial gives of its runs: measures, and how they got there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from repro.arm import Arm, Metric, Needs, Run
from repro.judge import Measured, Outcome
from repro.plugin.trials import Trials
from repro.recipe import Recipe
from repro.runs.asked import Asked
from repro.runs.plan import RunsMissing
from repro.runs.profiles import Profile
from repro.store import Result

RECIPE = Recipe(epochs=5, batch=1, lr=1.0, measure_every=2)


@dataclass(frozen=True, kw_only=True)
class Reader(Arm):
    study: ClassVar[str] = "none"
    metrics: ClassVar[dict] = {
        "perplexity": Metric("log"),
        "alignment": Metric("identity", listed=True),
    }
    data: str = "none"
    recipe: Recipe = RECIPE

    def at(self, profile):
        return self


class Stored:
    """Results of everything it was given, and of nothing else."""

    def __init__(self, by_seed):
        self.by_seed = by_seed
        self.looked_up = 0

    def located(self, arm):
        return arm.located()

    def lacking(self, runs):
        return RunsMissing(runs)

    def remarks(self, runs):
        return []

    def require_sound(self, arm):
        pass

    def failed(self, run):
        return None

    def get(self, run):
        self.looked_up += 1
        known = self.by_seed.get(run.seed)
        return None if known is None else Result("", {}, known, {})

    def of(self, arm, seeds):
        return [self.get(Run(arm, seed)) for seed in seeds]


def values(seed):
    """Runs of odd seeds stop before their last measurement, at epoch 5."""
    measurements = 3 if seed % 2 else 2
    history = {
        "loss": [5.0, 4.0, 3.0, 2.0, 1.0][: 5 if seed % 2 else 4],
        "perplexity": [10.0, 11.0, 12.0][:measurements],
        "alignment": [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]][:measurements],
    }
    noise = 0.01 * np.random.default_rng(seed).standard_normal(5)
    history["loss"] = list(np.add(history["loss"], noise[: len(history["loss"])]))
    history["perplexity"] = list(np.add(history["perplexity"], noise[:measurements]))
    measures = {name: entries[0] for name, entries in history.items() if name != "loss"}
    return {"measures": measures, "history": history, "steps": 5}


def trial(by_seed=None):
    stored = {seed: values(seed) for seed in range(1, 9)} if by_seed is None else by_seed
    return Trials(Stored(stored), Profile("ci", (8,)), Asked())(Reader())


def test_curves_of_runs_that_stopped_at_different_epochs():
    over_epochs = trial().over_epochs
    assert over_epochs.perplexity.bottoms_at(2)
    assert over_epochs.perplexity.climbs(after=2)
    assert over_epochs.loss.falls()
    assert over_epochs.loss.bottoms_at(-1)
    assert over_epochs.loss.falls_while(over_epochs.perplexity, after=2)


@dataclass(frozen=True, kw_only=True)
class ToldTheTruth(Reader):
    def is_exact(self, metric, index=None):
        return super().is_exact(metric, index) or (metric == "alignment" and index == 1)


def test_one_value_of_a_list_can_be_exact_and_the_others_not():
    runs = {1: {"measures": {"alignment": [0.3, 1.0]}}}
    told = Trials(Stored(runs), Profile("ci", (8,)), Asked())(ToldTheTruth())
    assert told.alignment[1].matches(1.0, tolerance=1e-4).outcome is Outcome.REPRODUCED
    with pytest.raises(RunsMissing):
        told.alignment[0].matches(0.3, tolerance=0.1)


def test_a_curve_has_the_scale_and_the_epochs_of_its_metric():
    over_epochs = trial().over_epochs
    assert over_epochs.perplexity.scale.name == "log"
    assert over_epochs.perplexity.epochs == [2, 4, 5]
    assert over_epochs.loss.epochs == [1, 2, 3, 4, 5]
    assert over_epochs.loss.metric == "training loss"
    assert list(over_epochs.alignment[1][4].values(2)) == [0.8, 0.8]
    with pytest.raises(ValueError, match="perplexity of Reader is not measured at epoch 1"):
        over_epochs.perplexity[1]
    with pytest.raises(AttributeError, match=r"no metric 'accuracy'.*'loss', 'perplexity'"):
        _ = over_epochs.accuracy
    with pytest.raises(AttributeError, match="no metric 'loss'"):
        _ = trial().loss


def test_a_run_that_ended_before_an_epoch_keeps_its_value_there():
    curve = trial().over_epochs.perplexity
    assert [float(value) for value in curve[5].values(8)] == [
        float(run[min(4, len(run) - 1)]) for run in curve.values(8)
    ]
    assert (curve[5] > 1.0).outcome is Outcome.REPRODUCED


def test_a_run_that_diverged_leaves_its_curve_open_and_is_remarked():
    by_seed = {seed: values(seed) for seed in range(1, 9)}
    by_seed[3] = {"diverged_at": 7, "history": {"loss": [5.0]}}
    one = trial(by_seed)
    assert one.over_epochs.loss.falls().outcome is Outcome.INCONCLUSIVE
    assert (one.over_epochs.loss[1] > 0.0).outcome is Outcome.INCONCLUSIVE
    assert one.trials.remarks == ["Reader diverged at step 7"]


def test_a_curve_asks_for_its_runs_like_any_measure():
    with pytest.raises(RunsMissing) as missing:
        trial({}).over_epochs.loss.falls()
    assert len(missing.value.runs) == 8


def test_a_claim_of_many_arms_looks_for_what_it_lacks_once_a_look():
    stored = Stored({seed: values(seed) for seed in range(1, 9)})
    trials = Trials(stored, Profile("ci", (8,)), Asked())
    many = trials([Reader(recipe=RECIPE.but(lr=0.1 * rate)) for rate in range(1, 10)])
    many.perplexity.climbs()
    assert stored.looked_up == 9 * 8
    later = trials(Reader())
    assert later.perplexity > 1.0
    assert stored.looked_up == 9 * 8 + 8


def scored(baseline, shared):
    """Trials of two arms, and their scores on eight seeds each."""
    trials = Trials(Stored({}), Profile("ci", (5, 8)), Asked())
    arms = [
        Measured(judge=trials.judge, label=label, metric="score", values=lambda n, v=v: v[:n])
        for label, v in (("baseline", np.asarray(baseline)), ("shared", np.asarray(shared)))
    ]
    return trials, *arms


def test_what_a_claim_requires_leaves_it_unjudged_where_it_is_not_so():
    clear = [0.61, 0.62, 0.6, 0.61, 0.62, 0.6, 0.61, 0.62]
    trials, baseline, shared = scored(clear, clear[::-1])
    trials.require(baseline.exceeds(0.5, by_at_least=0.02), "a baseline clear of chance")
    assert shared.is_within(0.02, of=baseline)
    near = [0.51, 0.52, 0.49, 0.5, 0.51, 0.52, 0.49, 0.5]
    trials, baseline, _ = scored(near, near)
    with pytest.raises(Needs, match=r"needs a baseline clear of chance, .* here: baseline - 0.5 ="):
        trials.require(baseline.exceeds(0.5, by_at_least=0.02), "a baseline clear of chance")


def test_models_that_guess_are_called_alike_no_more_often_than_the_level():
    """They are always alike; at the edge of what is required, one in 200 is let through."""
    rng, judged, alike, samples = np.random.default_rng(5), 0, 0, 1500
    for _ in range(samples):
        trials, baseline, shared = scored(*rng.normal(0.52, 0.004, (2, 8)))
        alike += bool(shared.is_within(0.02, of=baseline))
        try:
            trials.require(baseline.exceeds(0.5, by_at_least=0.02), "a clear baseline")
        except Needs:
            continue
        judged += bool(shared.is_within(0.02, of=baseline))
    assert alike > 0.95 * samples
    assert judged <= 0.005 * samples + 3.5 * (0.005 * samples) ** 0.5
