"""Audits: what is drawn, how a run that was trained again is compared, what a clean sample says."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from repro.arm import Metric, Run
from repro.evidence import audit as audit_module
from repro.evidence.audit import (
    GROWTH,
    Again,
    Checked,
    NotTrained,
    Repetition,
    audit,
    audit_lines,
    chance_to_find,
    compare,
    difference,
    fewest_found,
    frame_of,
)
from repro.evidence.reader import EvidenceResults
from repro.runs.provenance import provenance
from repro.studies.finetuning.arms import FinetuneArm
from tests.evidence.arms import (
    GONE,
    HOW,
    OLD,
    RUN,
    SEEDS,
    TODAY,
    Slope,
    again,
    file_of,
    line,
    values_of,
)
from tests.local_work import PROJECT
from tests.studies.small import finetuning

VALUES = values_of(RUN)


@pytest.fixture
def frame(tmp_path):
    """Returns the frame of an audit of some lines, all of whose runs were read."""

    def frame(*lines, runs=SEEDS, device="cpu", longest=300):
        results = EvidenceResults.read([file_of(tmp_path, TODAY, OLD, *lines)], project=PROJECT)
        for run in runs:
            results.get(run)
        return frame_of(results, device=device, longest=longest)

    return frame


def test_an_audit_draws_from_what_can_be_trained_here_and_says_what_it_leaves_out(frame):
    slow = line(SEEDS[0], provenance={**HOW, "seconds": 1e6})  # the study's others say less
    lines = [slow, *map(line, SEEDS[1:])]
    changed = Run(Slope(), 4)
    found = frame(*lines, line(changed, trace=GONE), runs=[*SEEDS, changed])
    assert found.drawable == SEEDS
    assert found.left_out == {"were packed before a change of no_such, which is not here,": 1}
    assert list(frame(*lines, device="cuda").left_out.values()) == [3]
    assert "take longer than" in next(iter(frame(*lines, longest=1).left_out))
    assert frame(*lines, runs=()).left_out == {"are of no claim that was read": 3}


def test_the_time_of_a_run_counts_the_run_that_it_starts_from(frame, monkeypatch):
    start, then = RUN, Run(Slope(width=16), 1)
    starts_from = property(lambda arm: start if arm == then.arm else None)
    monkeypatch.setattr(Slope, "starts_from", starts_from)
    lines = [line(run, provenance={**HOW, "seconds": 40.0}) for run in (start, then)]
    assert frame(*lines, runs=[start, then], longest=50).drawable == [start]


def test_each_run_has_the_same_chance_and_a_seed_draws_the_same_ones(frame, monkeypatch):
    monkeypatch.setattr(audit_module, "Again", again({}, []))
    found = frame(*map(line, SEEDS))

    def drawn(seed, draws):
        return [each.run for each in audit(found, draws=draws, seconds=60, seed=seed)]

    assert drawn(7, 2) == drawn(7, 3)[:2]
    assert set(drawn(7, 3)) == set(SEEDS)
    first = [drawn(seed, 1)[0].seed for seed in range(300)]
    assert stats.chisquare([first.count(seed) for seed in (1, 2, 3)]).pvalue > 1e-4


def test_an_audit_ends_with_the_run_in_which_its_time_is_over(frame, monkeypatch):
    monkeypatch.setattr(audit_module, "Again", again({}, []))
    monkeypatch.setattr(audit_module.time, "monotonic", iter(range(0, 1000, 10)).__next__)
    # a look at the clock takes ten seconds: at the beginning, and before and after each run
    assert len([*audit(frame(*map(line, SEEDS)), draws=3, seconds=35, seed=1)]) == 2


def moved(by):
    return VALUES | {"measures": {"slope": VALUES["measures"]["slope"] + by}}


def test_a_run_that_was_trained_again_is_held_against_what_was_packed(frame, monkeypatch):
    found = frame(*map(line, SEEDS))  # the spread between the seeds is 0.25
    here = provenance("cpu", 0.0, 1)
    own = frame(line(RUN, provenance={**HOW, **here}), *map(line, SEEDS[1:]))
    diverged = {"history": {"loss": [0.5]}, "diverged_at": 3}
    for frame_, values, finding in (
        (found, VALUES, Repetition.SAME),
        (found, moved(0.02), Repetition.ROUNDED),
        (found, moved(0.03), Repetition.WRONG),
        (found, diverged, Repetition.WRONG),
        (own, VALUES, Repetition.SAME),
        (own, moved(1e-9), Repetition.WRONG),
    ):
        assert compare(frame_, RUN, values)[0] is finding, values
    assert "its slope differs by 0.12 of the spread" in compare(found, RUN, moved(0.03))[1]
    assert "the same kind of machine and versions" in compare(own, RUN, moved(0.03))[1]
    untrained = dict.fromkeys(SEEDS, NotTrained("no seven"))
    monkeypatch.setattr(audit_module, "Again", again(untrained, []))
    unsaid = {name: made for name, made in HOW.items() if name != "engine"}
    found = frame(*(line(run, provenance=unsaid) for run in SEEDS))
    (untrained,) = audit(found, draws=1, seconds=60, seed=1)
    assert (untrained.finding, untrained.why) == (Repetition.NOT_TRAINED, "no seven")


def test_what_was_found_and_what_follows_is_said(frame):
    changed = Run(Slope(), 4)
    found = frame(*map(line, SEEDS), line(changed, trace=GONE), runs=[*SEEDS, changed])
    checked = [Checked(run, Repetition.SAME) for run in SEEDS]
    assert "so fewer than 1 of the 3 runs" in "\n".join(audit_lines(found, checked, seed=5))
    checked[0] = replace(checked[0], finding=Repetition.ROUNDED)
    checked[1] = replace(checked[1], finding=Repetition.WRONG, why="far off")
    lines = "\n".join(audit_lines(found, checked, seed=5))
    for part in (
        "3 of 3 runs were drawn by seed 5, each with the same chance",
        "1 the same bits, 1 the same but for rounding, 1 another result",
        "WRONG  Slope, seed 2: far off",
        "may differ by 0.1 of the spread",
        "finds wrong runs: 0% if 5% are, 0% if 10% are, 100% if 30% are",
        "the other runs: 1 were packed before a change of no_such, which is not here,",
    ):
        assert part in lines, part
    assert "so fewer" not in lines


def test_chances_are_those_of_the_hypergeometric_distribution():
    for wrong in (0, 1, 12, 116, 1159):
        for draws in (0, 1, 29, 100, 1159):
            expected = 1 - stats.hypergeom(1159, wrong, draws).pmf(0)
            found = chance_to_find(wrong, total=1159, draws=draws)
            assert found == pytest.approx(expected, abs=1e-9)
    fewest = fewest_found(total=1159, draws=29)
    below, at = (chance_to_find(n, total=1159, draws=29) for n in (fewest - 1, fewest))
    assert below < 0.95 <= at
    assert fewest_found(total=20_000, draws=29) / 20_000 == pytest.approx(0.098, abs=1e-3)
    assert fewest_found(total=2, draws=0) is None


def values(slope, loss=(0.5, 0.4, 0.3), way=()):
    """The values of a run in three epochs, of which the second and the third are measured."""
    history = {"loss": list(loss), "slope": list(way)}
    return {"measures": {"slope": slope}, "history": history, "steps": 30}


def differ(one, other, *seeds):
    return difference(RUN.arm, one, other, seeds=seeds)


SLOPES = [values(x) for x in (1.0, 2.0, 3.0)]


def test_differences_are_counted_in_spreads_between_seeds():
    assert differ(values(2.0), values(2.5), *SLOPES).found == 0.5
    same = [values(1.0)] * 3
    assert differ(values(1.0), values(1.0), *same).found == 0
    assert differ(values(1.0), values(1.0 + 1e-9), *same).is_rounding  # as of any float32
    assert not differ(values(1.0), values(1.0 + 1e-6), *same).is_rounding
    assert differ(values(1.0), values(None), *SLOPES).found == math.inf
    few = differ(values(2.0), values(1.98), *SLOPES[:2])  # a hundredth of the value is one then
    assert few.found == pytest.approx(1)
    listed = [values([x, 5.0]) for x in (1.0, 2.0, 3.0)]
    assert differ(listed[0], listed[1], *listed).found == pytest.approx(2**0.5)
    assert differ({"diverged_at": 3, "history": {}}, {"diverged_at": 3, "history": {}}) is None


def test_metrics_have_the_precision_of_single_numbers(monkeypatch):
    """Where seeds differ by less than that, so may two processors.

    Such is the loss of an untrained network, or the cosine of representations that are the same.
    """
    untrained = replace(RUN.arm, recipe=RUN.arm.recipe.but(epochs=0))
    seeds = [values(4.85 + x, (), [4.85 + x]) for x in (0.0, 1e-7, 2e-7)]
    number = Metric("identity")
    for by, metric, arm, is_rounding in (
        (4e-7, number, untrained, True),
        (7e-7, number, untrained, False),
        (7e-7, Metric("log"), untrained, True),  # as its logarithm, which is 1.58, times 4.85
        (1e-6, Metric("log"), untrained, False),
        (4e-7, Metric("identity", exact=True), untrained, False),
        (4e-7, number, RUN.arm, True),
        (7e-7, number, RUN.arm, False),
    ):
        monkeypatch.setattr(Slope, "metrics", {"slope": metric})
        here = values(4.85 + by, (), [4.85 + by])
        found = difference(arm, seeds[0], here, seeds=seeds)
        assert found.is_rounding is is_rounding, (by, metric)


def test_lists_by_example_are_left_to_their_mean():
    shares = FinetuneArm.metrics["test_accuracy"].sampled
    one, other = (
        {"measures": {shares: of_each, "test_accuracy": 0.5}, "history": {}}
        for of_each in ([0.0, 1.0], [1.0, 0.0])
    )
    arm = finetuning(FinetuneArm(recipe=FinetuneArm().recipe))
    assert difference(arm, one, other, seeds=[]).found == 0


def test_rounding_grows_from_epoch_to_epoch_and_does_not_jump():
    seeds = [values(x, (x, x, x), [x, x]) for x in (1.0, 2.0, 3.0)]
    tiny = 2.0 + 0.9 / GROWTH
    assert differ(seeds[1], values(4.0, (tiny, 2.5, 2.9), [2.7, 2.0]), *seeds).is_rounding
    found = differ(seeds[1], values(2.8, (2.0, 2.0, 2.8), [2.0, 2.0]), *seeds)
    assert (found.place, found.is_rounding) == ((3, "loss"), False)
    assert "loss after epoch 3" in str(found)
    found = differ(seeds[1], values(2.0, (2.0, 2.0, 2.0), [2.2, 2.0]), *seeds)
    assert (found.place, found.is_rounding) == ((2, "slope"), False)


APART = [
    ((2.0, 2.8, 2.5), True),
    ((2.0, 2.8, 2.0), False),  # alike again: one epoch was edited
    ((2.8, 2.8, 2.8), False),  # another run from the start
    ((2.0, 2.0, 2.8), False),  # nothing comes after it
]


@pytest.mark.parametrize(("losses", "lasts"), APART)
def test_results_that_part_and_stay_apart_are_neither_wrong_nor_checked(frame, losses, lasts):
    whole = {run: values(run.seed, (run.seed,) * 3, [run.seed] * 2) for run in SEEDS}
    found = frame(*(line(run, values=each) for run, each in whole.items()))
    here = {**whole[SEEDS[1]], "history": {**whole[SEEDS[1]]["history"], "loss": list(losses)}}
    finding = Repetition.PARTED if lasts else Repetition.WRONG
    assert compare(found, SEEDS[1], here)[0] is finding


def test_runs_that_have_parted_count_as_not_drawn(frame):
    found = frame(*map(line, SEEDS))
    checked = [Checked(run, Repetition.SAME) for run in SEEDS]
    checked[0] = replace(checked[0], finding=Repetition.PARTED)
    lines = "\n".join(audit_lines(found, checked, seed=5))
    assert "2 the same bits, 1 the same until training parted" in lines
    assert "1 of them differ from some epoch on" in lines
    assert "so fewer than 2 of the 3 runs (66.7%) are wrong" in lines


def test_a_run_that_fails_says_why():
    for engines in ({RUN: "loop"}, {RUN: None}, {}):  # a file may not say which one it was
        with pytest.raises(NotTrained, match="seed 1, failed to train"):
            Again(engines, device="cpu").values(RUN)
