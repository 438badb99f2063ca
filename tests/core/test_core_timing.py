"""Timing: the faster engine is taken, and what cannot be timed is left out."""

import math

import pytest
import torch

from repro.core import timing
from repro.core.timing import measure_speed
from repro.studies.depth_ladder.study import STUDY
from tests.studies.small import LADDER as ARM

CPU = torch.device("cpu")


@pytest.fixture
def made_up(monkeypatch):
    """Seconds by engine and width; others run out of memory."""

    def install(seconds):
        timed = []

        def of(study, runs, data, engine, device):
            timed.append((engine, len(runs)))
            if (engine, len(runs)) not in seconds:
                raise MemoryError("full")
            return seconds[engine, len(runs)]

        monkeypatch.setattr(timing, "_seconds", of)
        return timed

    return install


def speed(engine="auto", arm=ARM):
    return measure_speed(STUDY, [arm], engine=engine, device=CPU)


def test_stacking_has_to_earn_its_place(made_up):
    for seconds, engine, width in (
        ({("stacked", 4): 1.0, ("loop", 1): 2.0, ("stacked", 8): 0.5}, "stacked", 8),
        ({("stacked", 4): 1.0, ("loop", 1): 0.8, ("stacked", 8): 0.1}, "loop", 1),
        ({("stacked", 4): 1.0, ("loop", 1): 0.95, ("stacked", 8): 0.95}, "stacked", 4),
        ({("loop", 1): 2.0}, "loop", 1),
    ):
        made_up(seconds)
        assert (speed().engine, speed().width) == (engine, width), seconds


def test_wide_stacks_are_not_tried_where_a_narrow_one_has_lost(made_up):
    timed = made_up({("stacked", 4): 1.0, ("loop", 1): 0.5})
    speed()
    assert timed == [("stacked", 4), ("loop", 1)]


def test_an_engine_that_was_asked_for_is_the_one_that_is_timed(made_up):
    timed = made_up({("loop", 1): 1.0})
    assert speed("loop").engine == "loop"
    assert timed == [("loop", 1)]


def test_what_cannot_be_timed_has_no_seconds(made_up):
    made_up({})
    assert math.isinf(speed().seconds)


def test_a_reason_against_stacking_is_kept(monkeypatch):
    def refuse(study, runs, data, engine, device):
        if engine == "stacked":
            raise ValueError("its buffer is not the same at every seed")
        return 1.0

    monkeypatch.setattr(timing, "_seconds", refuse)
    assert speed().not_stacked == "ValueError: its buffer is not the same at every seed"


def test_a_step_takes_time():
    assert 0 < speed("loop").seconds < 10


def test_nothing_is_timed_where_there_is_no_step_and_no_choice(made_up):
    timed = made_up({("loop", 1): 1.0})
    # Its matrices do not fill whole cache lines, so it has no stacked form.
    untrained = ARM.but(width=12, recipe=ARM.recipe.but(epochs=0))
    assert not untrained.stacks
    assert (speed(arm=untrained).seconds, timed) == (0.0, [])
    speed(arm=untrained.but(recipe=ARM.recipe))
    assert timed == [("loop", 1)]
