"""The progress line: the newest look at the plan counts, and it fits."""

import pytest

from repro.report.progress import progress_line, stopped_line
from repro.runs.progress import Status, Training


def status(*, looked_at=0.0, missing=60, seconds_left=90.0, slots=2, waits_for="", **training):
    return Status(
        claims=66, decided=12, asked=255, missing=missing, looked_at=looked_at,
        seconds_left=seconds_left, slots=slots, waits_for=waits_for,
        training=Training(**{"run_steps_per_second": 0.0, **training}) if training else None,
    )  # fmt: skip


def test_time_left_is_shared_by_what_trains_side_by_side_and_runs_down():
    line = progress_line([status()] * 4, now=10, width=200)
    assert line == "195/255 runs, 12/66 claims decided, about 0:35 left"
    assert "about 0:00 left" in progress_line([status()], now=500, width=200)
    assert "1:01:01 left" in progress_line([status(seconds_left=3661, slots=1)], now=0, width=200)


def test_the_newest_look_counts_and_everything_in_training_is_shown():
    older = status(name="BP k=4", runs=8, step=50, total=3200, run_steps_per_second=1234.5)
    newer = status(looked_at=5.0, missing=40, name="DFA k=1", runs=4, step=100, total=3200)
    assert progress_line([older, newer], now=5, width=200) == (
        "215/255 runs, 12/66 claims decided, about 0:45 left"
        " | BP k=4 x8 50/3200 (1234/s) | DFA k=1 x4 100/3200"  # it has just begun: no speed yet
    )
    assert stopped_line([older, newer]).startswith("stopped with at least 215 of 255 runs stored")


def test_a_long_wait_is_shown_once_however_many_wait():
    waiting = [status(waits_for="a slot, held by process 7 on here")] * 3
    line = progress_line([status(), *waiting], now=0, width=200)
    assert line.endswith("left | waits for a slot, held by process 7 on here")


@pytest.mark.parametrize("width", [20, 60, 79])
def test_it_never_wraps(width):
    line = progress_line([status(name="BP k=4", runs=8, step=1, total=2)] * 4, now=0, width=width)
    assert len(line) == width
    assert line.endswith("…")


def test_statuses_travel_as_text():
    for each in (
        status(),
        status(waits_for="a slot"),
        status(name="BP k=4", runs=8, step=1, total=2),
    ):
        assert Status.from_json(each.as_json()) == each
    with pytest.raises((ValueError, TypeError, KeyError)):
        Status.from_json('{"claims": 1}')
