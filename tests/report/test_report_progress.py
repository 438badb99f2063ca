"""The progress line: claims, the time that is left, and that it fits."""

from repro.report.lines import progress_line, stopped_line
from repro.runs.progress import Status

TWO_HOURS = {"seconds_left": 7200.0}


def status(**more):
    given = {"claims": 66, "open": 54, "requested": 255, "missing": 60}
    return Status(**given | TWO_HOURS | more)


def test_a_status_goes_to_another_process_as_text():
    there = status(under_way="BP x4 1/2")
    assert Status.from_json(there.as_json()) == there


def test_it_counts_claims_that_can_be_judged_by_verdict():
    settled = {"reproduced": 10, "refuted": 2, "not run": 6, "error": 3}
    assert progress_line(status(), settled, width=200) == (
        "[█████               ] 15/60 claims, about 2 h 0 min left:"
        " 10 reproduced, 2 refuted, 6 cannot run, 3 in error | 195/255 runs"
    )
    for settled in ({"reproduced": 60, "not run": 6}, {"refuted": 99}):  # full, and never fuller
        assert f"[{'█' * 20}]" in progress_line(status(), settled, width=200)


def test_everything_in_training_is_shown_and_what_is_waited_for():
    batches = "BP k=4 x8 50/320 | DFA k=1 x4 9/320"
    line = progress_line(status(under_way=batches, waits_for="a core"), {}, width=200)
    assert line.endswith(f"| 195/255 runs | {batches} | waits for a core")


def test_a_session_that_is_stopped_says_what_is_stored():
    assert stopped_line(status()).startswith("stopped with at least 195 of 255 runs stored")


def test_it_never_wraps():
    for width in (20, 60, 79):
        line = progress_line(status(under_way="BP x8 1/2 | " * 9), {"refuted": 3}, width=width)
        assert len(line) == width
        assert line.endswith("…")
