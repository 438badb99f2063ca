"""The progress line: claims, the time that is left, and that it fits."""

import pytest

from repro.report.progress import about, plan_line, progress_line, stopped_line
from repro.runs.progress import BELIEVED, Status, Training, seconds_left


def status(**more):
    training = more.pop("training", None)
    given = {
        "claims": 66, "decided": 12, "asked": 255, "missing": 60, "likely": 0.0, "looked_at": 0.0,
        "seconds_left": 600.0, "began": 0.0, "done": 0.0, "slots": 2,
    } | more  # fmt: skip
    batch = Training(**{"steps_per_second": 0.0, **training}) if training else None
    return Status(**given, training=batch)


def test_it_counts_claims_that_can_be_judged_by_verdict():
    settled = {"reproduced": 10, "refuted": 2, "not run": 6, "error": 3}
    line = progress_line([status()], settled, now=0, width=200)
    assert line == (
        "[█████               ] 15/60 claims, about 5 min left:"
        " 10 reproduced, 2 refuted, 6 cannot run, 3 in error | 195/255 runs"
    )
    assert "| 195/~270 runs" in progress_line([status(likely=15.4)], {}, now=0, width=200)


def test_the_bar_is_full_when_all_is_settled_and_never_fuller():
    for settled in ({"reproduced": 66}, {"reproduced": 60, "not run": 6}, {"refuted": 99}):
        assert f"[{'█' * 20}]" in progress_line([status()], settled, now=0, width=200)


def test_time_left_is_what_is_missing_at_the_pace_of_the_slots():
    assert seconds_left([status()] * 4, now=0) == 300
    assert seconds_left([status(slots=4)], now=0) == 150


def test_the_pace_is_believed_less_the_longer_it_is_measured():
    """After as long as the slots are believed, half of the pace is what was measured."""
    slow = status(done=0.5 * BELIEVED, seconds_left=1000.0)
    assert seconds_left([slow], now=BELIEVED) == pytest.approx(1000 / ((0.5 + 2) / 2))
    assert seconds_left([status(done=1e6)], now=1e3) == 300  # no faster than there are slots


def test_what_is_under_way_counts_as_done_and_the_longest_job_has_to_end():
    jobs = [status(under_way=100.0, longest=20.0), status(looked_at=1.0, under_way=50.0)]
    assert seconds_left(jobs, now=0) == (600 - 150) / 2
    jobs[0] = status(under_way=100.0, longest=300.0)
    assert seconds_left(jobs, now=0) == 300


def test_a_step_of_seconds_has_a_rate_as_well():
    for rate, shown in ((0.184, "0.18/s"), (7.0, "7/s"), (41.4, "41/s")):
        large = {"name": "GPT", "runs": 1, "step": 50, "total": 650, "steps_per_second": rate}
        line = progress_line([status(training=large)], {}, now=0, width=200)
        assert line.endswith(f"GPT x1 50/650 ({shown})")


def test_a_job_that_says_something_rarely_makes_the_time_left_no_longer():
    """One of an hour, seen after a minute: nine minutes later there are nine minutes less."""
    hour = {"slots": 1, "seconds_left": 3600.0}
    job = status(**hour, a_second=1.0, under_way=60.0, longest=3540.0, seen_at=60.0)
    assert seconds_left([job], now=60) == pytest.approx(3540)
    assert seconds_left([job], now=600) == pytest.approx(3000)
    late = status(**hour, under_way=300.0, seen_at=300.0)
    assert seconds_left([late], now=600) > seconds_left([late], now=300)  # longer than was expected


def test_a_job_that_is_slower_than_was_expected_makes_the_time_left_longer():
    """One of an hour at half of the pace: half of it is done after an hour, and an hour is left."""
    slow = {"slots": 1, "seconds_left": 3600.0, "a_second": 0.5}
    job = status(**slow, under_way=1800.0, longest=3600.0, seen_at=3600.0)
    assert seconds_left([job], now=3600) == pytest.approx(3600)
    assert seconds_left([job], now=5400) == pytest.approx(1800, rel=0.05)


def test_what_a_checkpoint_brought_is_done_but_says_nothing_of_the_pace():
    half = status(slots=1, seconds_left=3600.0, under_way=2400.0, before=1800.0, seen_at=1200.0)
    assert seconds_left([half], now=1200) == pytest.approx(1200 / (660 / 1260))


def test_the_newest_look_counts_and_everything_in_training_is_shown():
    older = status(
        training={"name": "BP k=4", "runs": 8, "step": 50, "total": 320, "steps_per_second": 12}
    )
    newer = status(
        looked_at=5.0, missing=40, training={"name": "DFA k=1", "runs": 4, "step": 9, "total": 320}
    )
    line = progress_line([older, newer], {}, now=5, width=200)
    assert line.endswith(
        "| 215/255 runs | BP k=4 x8 50/320 (12/s) | DFA k=1 x4 9/320"  # just begun: no speed yet
    )
    assert stopped_line([older, newer]).startswith("stopped with at least 215 of 255 runs stored")


def test_a_long_wait_is_shown_once_however_many_wait():
    waiting = [status(waits_for="a slot, held by process 7 on here")] * 3
    line = progress_line([status(), *waiting], {}, now=0, width=200)
    assert line.endswith("runs | waits for a slot, held by process 7 on here")


def test_it_never_wraps():
    batch = {"name": "BP k=4", "runs": 8, "step": 1, "total": 2}
    for width in (20, 60, 79):
        line = progress_line([status(training=batch)] * 4, {"refuted": 3}, now=0, width=width)
        assert len(line) == width
        assert line.endswith("…")


def test_a_time_is_said_as_exactly_as_it_is_known():
    times = {
        0: "under a minute",
        54: "under a minute",
        55: "about 1 min",
        754: "about 13 min",
        3570: "about 1 h 0 min",
        7000: "about 1 h 57 min",
        100_000: "about 27 h 47 min",
    }
    assert {seconds: about(seconds) for seconds in times} == times


def test_what_is_about_to_be_trained_is_said_in_a_line():
    assert plan_line(open_claims=9, missing=40, likely=0.2, seconds=600, is_guessed=True) == (
        "9 claims wait for 40 runs: about 10 min of training, a guess until some are timed"
    )
    assert plan_line(open_claims=9, missing=40, likely=12.4, seconds=90, is_guessed=False) == (
        "9 claims wait for 40 runs, and about 12 more in later looks: about 2 min of training"
    )


def test_statuses_travel_as_text():
    batch = {"name": "BP k=4", "runs": 8, "step": 1, "total": 2}
    for each in (status(), status(waits_for="a slot"), status(training=batch)):
        assert Status.from_json(each.as_json()) == each
    with pytest.raises((ValueError, TypeError, KeyError)):
        Status.from_json('{"claims": 1}')
