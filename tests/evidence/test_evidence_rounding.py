"""Differences between processors, in spreads between seeds, and what of them is rounding."""

import os

import pytest

from repro.arm import Run
from repro.evidence.again import OTHER_ROUNDING, Again, NotTrained, elsewhere
from repro.evidence.rounding import distances, numbers, spreads, worst
from repro.studies.finetuning.arms import FinetuneArm
from tests.evidence.arms import RUN
from tests.studies.small import LADDER, finetuning

INF = float("inf")
SLOPE, EARLY, LATE = (INF, "slope"), (1, "loss"), (3, "loss")


def values(slope, loss=(0.5, 0.25, 0.125)):
    return {"measures": {"slope": slope}, "history": {"loss": list(loss)}, "steps": 30}


def test_numbers_have_the_epochs_that_they_were_measured_at():
    measured = {"loss": [0.5, 0.4, 0.3], "slope": [[0.1, None], [0.2, 0.3]]}
    found = numbers(RUN.arm, {"measures": {"slope": 0.3}, "history": measured, "steps": 30})
    assert found[2, "slope"] == [0.1]
    assert found[3, "slope"] == [0.2, 0.3]
    assert found[SLOPE] == [0.3]
    assert [found[n, "loss"] for n in (1, 2, 3)] == [[0.5], [0.4], [0.3]]
    assert numbers(RUN.arm, {"diverged_at": 3, "history": {"loss": [0.5]}}) == {EARLY: [0.5]}


def test_lists_by_example_are_left_to_their_mean():
    shares = FinetuneArm.metrics["test_accuracy"].sampled
    measures = {"measures": {shares: [0.0, 1.0], "test_accuracy": 0.5}, "history": {}}
    arm = finetuning(FinetuneArm(recipe=FinetuneArm().recipe))
    assert numbers(arm, measures) == {(INF, "test_accuracy"): [0.5]}


def test_distances_are_counted_in_spreads_between_seeds():
    among = spreads([numbers(RUN.arm, values(x)) for x in (1.0, 2.0, 3.0)])
    assert among[SLOPE] == 1.0
    one, other = values(2.0), values(2.5, loss=(0.5,))
    assert distances(numbers(RUN.arm, one), numbers(RUN.arm, other), among) == {
        SLOPE: 0.5,
        EARLY: 0.0,
    }


def test_the_spread_of_no_difference_of_few_seeds_and_of_a_list():
    same = {SLOPE: 0.0}
    assert distances({SLOPE: [1.0]}, {SLOPE: [1.0]}, same) == {SLOPE: 0}
    assert distances({SLOPE: [1.0]}, {SLOPE: [1.0 + 1e-9]}, same) == {SLOPE: INF}
    few = spreads([{SLOPE: [2.0]}, {SLOPE: [3.0]}])  # a hundredth of the value counts as one
    assert distances({SLOPE: [2.0]}, {SLOPE: [1.98]}, few)[SLOPE] == pytest.approx(1)
    listed = spreads([{SLOPE: [x, 5.0]} for x in (1.0, 2.0, 3.0)])
    assert listed[SLOPE] == pytest.approx(0.5**0.5)


def test_rounding_by_an_epoch_allows_as_much_at_every_later_one():
    measured = {EARLY: 0.001, LATE: 0.2}
    assert worst({EARLY: 0.09, LATE: 1.9, SLOPE: 1.9}, measured).is_rounding
    found = worst({EARLY: 0.11, LATE: 0.0, SLOPE: 0.0}, measured)
    assert (found.place, found.measured, found.is_rounding) == (EARLY, 0.001, False)
    assert found.where == "loss after epoch 1"
    found = worst({EARLY: 0.0, SLOPE: 2.1}, measured)
    assert (found.where, found.measured, found.is_rounding) == ("slope", 0.2, False)
    assert worst({}, measured) is None


@pytest.mark.thorough
def test_a_run_is_trained_again_to_its_bits_and_elsewhere_to_others():
    run, next_seed = Run(LADDER, 3), Run(LADDER, 4)
    engines = {run: "loop", next_seed: "loop"}
    here = Again(engines, device="cpu").values(run)
    assert Again(engines, device="cpu").values(run) == here
    with elsewhere(engines, device="cpu") as other:
        there = other.values(run)
    assert not any(name in os.environ for name in OTHER_ROUNDING)
    assert there != here
    seeds = [here, Again(engines, device="cpu").values(next_seed)]
    among = spreads([numbers(LADDER, each) for each in seeds * 2])
    found = distances(numbers(LADDER, there), numbers(LADDER, here), among)
    assert 0 < max(found.values()) < 0.1


def test_a_run_that_fails_says_why():
    with pytest.raises(NotTrained, match="seed 1, failed to train"):
        Again({RUN: "loop"}, device="cpu").values(RUN)
