"""What `--plan` says of the time that training takes, before any of it is done."""

from repro.arm import Run
from repro.report.plan_text import MOST_ROWS, plan_text
from repro.runs.profiles import PROFILES
from repro.studies.depth_ladder.arms import D256_L4
from tests.example_arms import Sort

CI = PROFILES["ci"]


def test_of_a_black_box_no_time_is_promised():
    lines = plan_text(1, 2, [Run(Sort(), 1), Run(Sort(), 2)], CI).splitlines()
    assert "2 runs of black boxes, whose time is not known before one has run" in lines
    assert "not timed" in lines[-1]
    assert not any("about" in line for line in lines)


def test_the_sum_comes_first_and_the_longest_programs_have_a_row():
    arms = [D256_L4.but(width=32 * n).at("ci") for n in range(1, MOST_ROWS + 3)]
    runs = [Run(arm, 1) for arm in arms]
    lines = plan_text(1, len(runs), runs, CI).splitlines()
    assert lines[1].startswith("about ")
    assert lines[-1].strip() == "and 2 more, with -v"
    minutes = [float(line.split()[2]) for line in lines[-1 - MOST_ROWS : -1]]
    assert minutes == sorted(minutes, reverse=True)
    assert len(plan_text(1, 1, runs, CI, all_rows=True).splitlines()) == len(lines) + 1
