"""A replayed step is the step: on a tape here, which stands in for CUDA's graphs."""

import gc
import weakref

import pytest
import torch

from repro.core.replay import Replay, replay_on
from tests.core.tape import tape


class Counter:
    """A step that adds its batch up; how often Python went through it is counted."""

    def __init__(self):
        self.total, self.times = torch.zeros(3), 0
        self.replay = Replay(tape)

    def step(self, x, y):
        self.times += 1
        self.total += x * y
        return self.total * 1.0


def test_a_step_is_replayed_on_what_each_batch_holds():
    counter = Counter()
    batches = [(torch.full((3,), float(i)), torch.arange(3.0)) for i in range(1, 6)]
    found = [counter.replay(counter.step, *batch) for batch in batches]
    assert counter.times == 2  # as it is, and to be recorded
    expected = [torch.arange(3.0) * sum(range(1, i + 1)) for i in range(1, 6)]
    assert torch.equal(torch.stack(found), torch.stack(expected))


def test_what_cannot_be_recorded_is_done_as_it_is():
    counter = Counter()

    def reads(x, y):
        assert float(x.sum()) > 0
        return counter.step(x, y)

    replay, ones = Replay(tape), torch.ones(3)
    found = [replay(reads, ones, ones) for _ in range(4)]
    assert counter.times == 4
    assert torch.stack(found).tolist() == [[float(i)] * 3 for i in range(1, 5)]


@pytest.mark.parametrize("error", [ValueError("no batch"), RuntimeError("CUDA out of memory")])
def test_other_errors_are_not_hidden(error):
    def breaks(x):
        if replay.inputs:
            raise error

    replay = Replay(tape)
    replay(breaks, torch.ones(3))
    with pytest.raises(type(error), match=str(error)):
        replay(breaks, torch.ones(3))


def test_what_owns_a_replay_is_freed_without_the_collector():
    counter, ones = Counter(), torch.ones(3)
    for _ in range(2):
        counter.replay(lambda x: x * 2, ones)
    alive = weakref.ref(counter)
    gc.disable()
    try:
        del counter
        assert alive() is None
    finally:
        gc.enable()


def test_only_cuda_replays():
    assert replay_on(torch.device("cpu")) is None
    assert isinstance(replay_on(torch.device("cuda")), Replay)
