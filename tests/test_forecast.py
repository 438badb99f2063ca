"""`benchmarks/forecast.py` reads from a session's own log what was said, and how far off it was."""

import subprocess
import sys
from pathlib import Path

import pytest

from repro.report.progress import progress_line
from repro.runs.progress import Status
from repro.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import forecast
from forecast import Said, said_in


def line(stored, seconds_left):
    """A line of progress as a session writes it; all of its jobs keep pace."""
    status = Status(
        claims=40,
        decided=4,
        asked=100,
        missing=100 - stored,
        likely=8.0,
        looked_at=0.0,
        seconds_left=seconds_left,
        began=0.0,
        done=0.0,
        slots=1,
    )
    return progress_line([status], {"reproduced": 3, "refuted": 1}, now=0.0, width=200)


def test_what_was_said_is_held_against_the_time_of_as_many_runs():
    log = "\n".join([line(0, 6000), "reproduced  004/climbs", line(10, 3600), line(50, 20)])
    ended = [60.0 * n for n in range(1, 101)]
    assert said_in(log, ended, 0.0) == [
        Said(0.0, 6000.0, 6000.0),
        Said(0.1, 3600.0, 5400.0),
        Said(0.5, 30.0, 3000.0),
    ]


def test_lines_that_are_none_of_progress_say_nothing():
    assert said_in("12/66 claims, about 3 min left, 5/~6 runs\n", [1.0], 0.0) == []


@pytest.mark.thorough
def test_the_errors_of_a_log_are_printed_by_quarter(tmp_path):
    store = Store(tmp_path / "store")
    for n in range(100):
        finished = f"2026-01-01T00:{n // 2:02}:{30 * (n % 2):02}+00:00"
        made = {"finished": finished, "seconds": 30.0, "trained_with": 0}
        store.put({"seed": n}, {"measures": {}}, made)
    log = tmp_path / "log"
    log.write_text("\n".join([line(10, 2700), line(40, 1200), line(80, 1200)]))
    command = [sys.executable, forecast.__file__, "--store", store.root, "--log", log]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "quarter 1: 0% off in the median, 0% at most, at 1 moments" in done.stdout
    assert "quarter 2: 33% off" in done.stdout
    assert "quarter 4: 100% off" in done.stdout
    assert "within 25% at 0 of 2 moments" in done.stdout
    log.write_text("nothing\n")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "has no lines of progress" in done.stderr
