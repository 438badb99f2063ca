"""A replayed step is the step: on a tape here, which stands in for CUDA's graphs."""

import pytest
import torch

from repro.core.replay import ReplayedStep, replayed
from tests.core.tape import tape


class Counter:
    """A step that adds its batch up; how often Python went through it is counted."""

    def __init__(self):
        self.total, self.times = torch.zeros(3), 0

    def step(self, x, y):
        self.times += 1
        self.total += x * y
        return self.total * 1.0


def test_a_step_is_replayed_on_what_each_batch_holds():
    counter = Counter()
    step = ReplayedStep(counter.step, tape)
    batches = [(torch.full((3,), float(i)), torch.arange(3.0)) for i in range(1, 6)]
    found = [step(*batch) for batch in batches]
    assert counter.times == 2  # as it is, and to be recorded
    expected = [torch.arange(3.0) * sum(range(1, i + 1)) for i in range(1, 6)]
    assert torch.equal(torch.stack(found), torch.stack(expected))


def test_what_cannot_be_recorded_is_done_as_it_is():
    counter = Counter()

    def reads(x, y):
        assert float(x.sum()) > 0
        return counter.step(x, y)

    step, ones = ReplayedStep(reads, tape), torch.ones(3)
    found = [step(ones, ones) for _ in range(4)]
    assert counter.times == 4
    assert torch.stack(found).tolist() == [[float(i)] * 3 for i in range(1, 5)]


def test_other_errors_are_not_hidden():
    def breaks(x):
        raise ValueError("no batch")

    step = ReplayedStep(breaks, tape)
    for _ in range(2):
        with pytest.raises(ValueError, match="no batch"):
            step(torch.ones(3))


def test_only_cuda_replays():
    counter = Counter()
    assert replayed(counter.step, torch.device("cpu")) == counter.step
    assert isinstance(replayed(counter.step, torch.device("cuda")), ReplayedStep)
