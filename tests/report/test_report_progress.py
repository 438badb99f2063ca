"""The progress line: claims, the time that is left, and that it fits."""

from repro.report.progress import about, plan_line, progress_line, stopped_line
from repro.runs.progress import Status, Training, seconds_left


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
    for settled in ({"reproduced": 60, "not run": 6}, {"refuted": 99}):  # full, and never fuller
        assert f"[{'█' * 20}]" in progress_line([status()], settled, now=0, width=200)


def test_time_left_is_what_is_missing_at_the_pace_of_the_slots():
    assert seconds_left([status()] * 4, now=0) == 300
    assert seconds_left([status(slots=4)], now=0) == 150


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
