"""Wall times side by side: their order, what counts of them, and a machine that becomes busier."""

import gc
from dataclasses import dataclass
from typing import ClassVar

import pytest

from repro.arm import Metric, Run
from repro.own.arm import OutsideArm
from repro.own.command import TimingStudy
from repro.own.training_run import Files


@dataclass(frozen=True, kw_only=True)
class Work(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_timing"
    metrics: ClassVar[dict[str, Metric]] = {"seconds": Metric("log", listed=True)}
    data: str = "none"


def trained(study):
    """The seconds that a run measures."""
    (done,) = study.training([Run(Work(), 1)], Files())
    return done.values["measures"]["seconds"]


class Machine:
    """A machine whose clock the pieces of work advance, more and more slowly."""

    def __init__(self, *, slower=0.0):
        self.now, self.done, self.slower = 0.0, [], slower

    def piece(self, name, seconds):
        def work():
            self.now += seconds * (1 + self.slower * len(self.done))
            self.done.append(name)

        return work

    def seconds(self, *pieces, **options):
        of = [self.piece(name, seconds) for name, seconds in pieces]
        study = TimingStudy(lambda arm, seed: of, clock=lambda: self.now, **options)
        return trained(study)


def test_pieces_are_done_in_turn_and_back_again():
    machine = Machine()
    assert machine.seconds(("a", 1), ("b", 3), rounds=4, warmup=1) == [1, 3]
    assert "".join(machine.done) == "abbaabbaab"


def test_the_median_of_what_comes_after_the_warm_up_counts():
    machine, seconds = Machine(), iter([100.0, 1.0, 1.0, 2.0, 1000.0])

    def stalls():
        machine.now += next(seconds)

    study = TimingStudy(lambda arm, seed: [stalls], rounds=4, warmup=1, clock=lambda: machine.now)
    assert trained(study) == [1.5]


def test_a_machine_that_becomes_busier_does_so_for_all_pieces():
    for rounds in (2, 10):
        first, second = Machine(slower=0.05).seconds(("a", 1), ("b", 1), rounds=rounds)
        assert first == pytest.approx(second, rel=1e-9), rounds


def test_garbage_is_collected_again_afterwards():
    seen = []
    study = TimingStudy(lambda arm, seed: [lambda: seen.append(gc.isenabled())])
    trained(study)
    assert not any(seen)
    assert gc.isenabled()


def test_mistakes_are_explained():
    for wrong in ({"rounds": 3}, {"rounds": 0}, {"warmup": -1}):
        with pytest.raises(ValueError, match="give an even number of rounds"):
            TimingStudy(lambda arm, seed: [], **wrong)
    with pytest.raises(ValueError, match="piece 1 took no time that the clock can measure"):
        Machine().seconds(("a", 1), ("b", 0))
