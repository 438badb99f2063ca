"""The words of a claim, without a session: what they give, and what contradicts itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from repro.arm import Metric, Needs
from repro.judge import Ladder, Measured, Outcome
from repro.plugin.trials import Trials
from repro.runs.profiles import Profile
from repro.runs.results import RunsMissing
from tests.plugin.lines import RECIPE, SLOPES, TWO, Line, Reader, ended, stored
from tests.plugin.sessions import Made


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
    known = {seed: values(seed) for seed in range(1, 9)} if by_seed is None else by_seed
    return Trials(stored(known), Profile("ci", (8,)), {})(Reader())


@dataclass(frozen=True, kw_only=True)
class ToldTheTruth(Reader):
    def is_exact(self, metric, index=None):
        return super().is_exact(metric, index) or (metric == "alignment" and index == 1)


def test_a_claim_may_leave_the_first_seeds_to_whoever_chose_it():
    asked = {}
    trials = Trials(stored({}), Profile("ci", (3, 5)), asked, after=20)
    with pytest.raises(RunsMissing):
        bool(trials(Reader()).perplexity > 10.0)
    assert [run.seed for run in asked] == Reader.seeds(23)[20:]


@dataclass(frozen=True, kw_only=True)
class Slashed(Reader):
    metrics: ClassVar[dict[str, Metric]] = {"val/acc": Metric("identity")}
    target: float = 1.0


def test_a_metric_whose_name_is_no_attribute_is_asked_for_in_brackets():
    runs = {seed: {"measures": {"val/acc": 0.9}, "history": {"val/acc": [0.9]}} for seed in (1, 2)}
    low, high = Slashed(target=1.0), Slashed(target=2.0)
    trials = Trials(stored(runs), Profile("ci", (2,)), {})
    assert trials(low)["val/acc"].values(2).tolist() == [0.9, 0.9]
    assert trials(low).over_epochs["val/acc"].of.metric == "val/acc"
    assert isinstance(trials([low, high])["val/acc"], Ladder)


def test_one_value_of_a_list_can_be_exact_and_the_others_not():
    runs = {1: {"measures": {"alignment": [0.3, 1.0]}}}
    told = Trials(stored(runs), Profile("ci", (8,)), {})(ToldTheTruth())
    assert told.alignment[1].matches(1.0, tolerance=1e-4).outcome is Outcome.REPRODUCED
    with pytest.raises(RunsMissing):
        told.alignment[0].matches(0.3, tolerance=0.1)


def test_a_curve_has_the_scale_and_the_epochs_of_its_metric():
    over_epochs = trial().over_epochs
    assert over_epochs.perplexity.of.scale.name == "log"
    assert over_epochs.perplexity.epochs == [2, 4, 5]
    assert over_epochs.loss.epochs == [1, 2, 3, 4, 5]
    assert over_epochs.loss.of.metric == "training loss"
    assert list(over_epochs.alignment[1][4].values(2)) == [0.8, 0.8]
    with pytest.raises(ValueError, match="perplexity of Reader is not measured at epoch 1"):
        over_epochs.perplexity[1]
    with pytest.raises(AttributeError, match=r"no metric 'accuracy'.*'loss', 'perplexity'"):
        _ = over_epochs.accuracy
    with pytest.raises(AttributeError, match="no metric 'loss'"):
        _ = trial().loss


def test_a_run_that_diverged_leaves_its_curve_open_and_is_remarked():
    by_seed = {seed: values(seed) for seed in range(1, 9)}
    by_seed[3] = {"diverged_at": 7, "history": {"loss": [5.0]}}
    one = trial(by_seed)
    assert one.over_epochs.loss.falls().outcome is Outcome.INCONCLUSIVE
    assert (one.perplexity > 0.0).reason == "Reader has no finite value on 1 of 8 seeds"
    assert (one.over_epochs.loss[1] > 0.0).outcome is Outcome.INCONCLUSIVE
    assert one._trials.remarks == ["Reader diverged at step 7"]


def test_a_curve_asks_for_its_runs_like_any_measure():
    with pytest.raises(RunsMissing) as missing:
        trial({}).over_epochs.loss.falls()
    assert len(missing.value.runs) == 8


def test_a_claim_of_many_arms_looks_for_what_it_lacks_once_a_look():
    results = stored({seed: values(seed) for seed in range(1, 9)})
    trials = Trials(results, Profile("ci", (8,)), {})
    many = trials([Reader(recipe=RECIPE.but(lr=0.1 * rate)) for rate in range(1, 10)])
    many.perplexity.climbs()
    assert results.looked_up == 9 * 8
    later = trials(Reader())
    assert later.perplexity > 1.0
    assert results.looked_up == 9 * 8 + 8


EIGHT_SEEDS = Profile("ci", (5, 8))


def scored(baseline, shared, profile=EIGHT_SEEDS):
    """Trials of two arms, and their scores on eight seeds each."""
    trials = Trials(stored({}), profile, {})
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


def test_what_a_claim_requires_gets_all_looks_also_where_the_claim_gets_one():
    score = [0.56, 0.49, 0.57, 0.61, 0.53, 0.6, 0.57, 0.58]  # clear over eight, not over five
    trials, baseline, _ = scored(score, score, EIGHT_SEEDS.at_first_look)
    is_clear = baseline.exceeds(0.5, by_at_least=0.01)
    assert is_clear.outcome is Outcome.INCONCLUSIVE
    assert (baseline > 0.4).seeds == 5
    trials.require(is_clear, "a baseline clear of chance")
    finding, later = trials.findings  # in the order of the ledger
    assert (finding.outcome, finding.seeds) == (Outcome.REPRODUCED, 8)
    assert later.seeds == 5


@pytest.mark.thorough
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


def test_settings_that_python_calls_equal_are_different_arms():
    assert len({Line(target=target) for target in (1, True, 1.0, 0.0, -0.0)}) == 5


INSTEAD = [
    *(
        (f"assert {words}", "no other operators than `&`: claim each alternative by itself")
        for words in (
            "(hi > lo) | (lo > hi)",
            "(hi > lo) ^ (lo > hi)",
            "~(lo > hi)",
            "max(hi > lo, lo > hi)",
            "sum([hi > lo, lo > hi]) == 1",
        )
    ),
    ("assert a > b", "is an arm, and claims compare metrics: write a.slope > b.s"),
    ("assert a.slope > b", "a Trial, which is neither a number nor a metric: name"),
    ("assert a.slope >= b.slope", "claim a > b, or a.is_at_most(margin, below=b)"),
    ("assert a.slope > 1.01 * b.slope", "a.exceeds(b, by_ratio=1.01) for a factor"),
    ("assert a.slope > b.slope + 1", "a.exceeds(b, by_at_least=0.01) for an amount"),
    ("assert a.right > 50", "50 is none: write 0.5 for 50 %"),
    ("assert a.right.is_within(2, of=b.right)", "write 0.02 for 2 %"),
    ("assert a.right.exceeds(b.right, by_at_least=2)", "write 0.02 for 2 %"),
    ("assert a.right.matches(61.7, tolerance=0.01)", "write 0.617 for 61.7 %"),
    ("assert a.slope.matches(1.0)", "differs between seeds"),
    ("assert a.slop > 0", "Line has no metric 'slop'; it has"),
    ("assert a.slope > trials(Line(data='others')).slope", "each data set in a case of its own"),
    ("trials(Line(target=np.float32(2)))", "give its number with .item()"),
    ("trials(Line(target=Path('x')))", "is no plain data; give str(path)"),
    ("trials(Line(target=[1.0]))", "cannot be hashed: a list"),
    ("trials(Line(), Line())", "to compare line 1.0 with itself"),
    ("trials([Line(), Line(target=2.0), Line()])", "to compare line 1.0 with itself"),
    ("assert trials(Line()).slope > trials(Line()).slope", "with itself"),
    ("trials(Line(target=4.0), OfOtherSeeds())", "documented_seeds differ (Line none, OfOther"),
    ("Line().but(tarjet=2.0)", "Line has no setting 'tarjet'"),
]
"""What is easily written in a first hour, and what is said of it."""


def test_what_cannot_be_meant_says_what_to_write_instead():
    said = {line: str(ended(SLOPES, TWO, line)[0]) for line, _ in INSTEAD}
    assert {line: said[line] for line, sentence in INSTEAD if sentence not in said[line]} == {}


def test_one_run_tells_what_is_exact():
    raised, trials = ended("assert trials(Line()).weights.matches(25_450)")
    assert raised is None
    assert [arm.seeds for arm in trials.arms_used] == [[1]]


def test_a_claim_of_one_size_is_not_run_at_another():
    raised, _ = ended("trials(Line())", only_at="paper")
    assert isinstance(raised, Needs)
    assert "needs --profile paper" in str(raised)


def test_the_p_of_a_claim_is_that_of_all_its_findings():
    _, trials = ended(SLOPES, "assert hi > lo; assert hi > 0; hi > 3")
    assert trials.p == max(each.p for each in trials.findings) > trials.findings[0].p
    with pytest.raises(AttributeError, match="clear"):  # none is taken back
        trials.findings.clear()


def measured(arm, values):
    """The trials of an arm whose runs have these values."""
    return Trials(Made(lambda run: {"measures": values(run.seed)}), Profile("ci", (8,)), {})(arm)


@dataclass(frozen=True, kw_only=True)
class Fixed(Line):
    deterministic = True


@pytest.mark.parametrize(
    ("arm", "values", "said"),
    [
        (Line(), lambda seed: {"slope": 1 + seed / 7, "weights": 7}, ""),
        (Line(), lambda seed: {"slope": 2**0.5, "weights": 7}, "all 8 seeds of line 1.0 gave the"),
        (Line(), lambda seed: {"slope": 2**0.5, "weights": seed}, "all 8 seeds"),  # exact ones
        (Line(), lambda seed: {"slope": 2**0.5, "right": seed / 9}, "every seed gave 1.41421"),
        (Line(), lambda seed: {"slope": 1 + (seed % 6) / 7**0.5}, "(seed 7 is seed 1 again)"),
        (Fixed(), lambda seed: {"slope": 2**0.5}, ""),
    ],
)
def test_a_claim_is_asked_whether_its_runs_are_a_sample(arm, values, said):
    verdict = measured(arm, values).slope > 0.5
    assert said in verdict.measured
    assert bool(said) == bool(verdict.reason or verdict.repeats)


@dataclass(frozen=True, kw_only=True)
class Unlucky(Reader):
    names: ClassVar = ("diverged", "label", "arm", "trials", "runs", "over_epochs", "loss")
    metrics: ClassVar[dict[str, Metric]] = dict.fromkeys(names, Metric("log"))
    target: float = 1.0


def test_a_metric_may_be_called_like_anything():
    values = {name: 0.5 + place for place, name in enumerate(Unlucky.names)}
    run = {"measures": values, "history": {name: [x] for name, x in values.items()}}
    trials = Trials(stored({1: run, 2: run}), Profile("ci", (2,)), {})
    one, ladder = trials(Unlucky()), trials([Unlucky(target=2.0), Unlucky(target=3.0)])
    for name, value in values.items():
        assert one[name].values(2).tolist() == [value] * 2
        assert [rung.metric for rung in ladder[name]] == [name.replace("_", " ")] * 2
        curve = one.over_epochs[name]
        assert (curve.of.metric, curve.of.scale.name) == (name.replace("_", " "), "log")
    for name in set(Unlucky.names) - {"over_epochs"}:
        assert getattr(one, name).values(1) == values[name]
        assert getattr(one.over_epochs, name).of.metric == name
