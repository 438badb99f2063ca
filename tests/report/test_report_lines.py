"""The lines of a session: its plan, its progress, and the claims as they are settled."""

from repro.arm import Run
from repro.judge import Outcome
from repro.ledger import Change
from repro.report import lines
from repro.report.lines import ClaimLine, claim_line, progress_line, stopped_line, verdict_line
from repro.report.plan_text import MOST_ROWS, plan_line, plan_text
from repro.runs.profiles import PROFILES
from repro.runs.time_left import Status
from repro.studies.depth_ladder.arms import D256_L4
from tests.example_arms import Sort
from tests.report.records import record

CI = PROFILES["ci"]


def test_of_a_black_box_no_time_is_promised():
    lines = plan_text(1, 2, [Run(Sort(), 1), Run(Sort(), 2)], CI).splitlines()
    assert "2 runs whose time is known when some are trained" in lines
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


def progress(settled=(), width=200, **more):
    given = {"claims": 66, "open": 54, "requested": 255, "missing": 60, "seconds_left": 7200.0}
    status = Status(**given | more)
    assert Status.from_json(status.as_json()) == status  # as another process gets it
    return progress_line(status, dict(settled), width=width)


def test_the_progress_counts_claims_that_can_be_judged_and_names_what_trains():
    settled = {"reproduced": 10, "refuted": 2, "not run": 6, "error": 3}
    assert progress(settled) == (
        "[█████               ] 15/60 claims, about 2 h 0 min left:"
        " 10 reproduced, 2 refuted, 6 cannot run, 3 in error | 195/255 runs"
    )
    assert "] 0/66 claims | 195/255 runs" in progress(seconds_left=None)
    for settled in ({"reproduced": 60, "not run": 6}, {"refuted": 99}):  # full, and never fuller
        assert f"[{'█' * 20}]" in progress(settled)
    batches = "BP k=4 x8 50/320 | DFA k=1 x4 9/320"
    line = progress(under_way=batches, waits_for="a core")
    assert line.endswith(f"| 195/255 runs | {batches} | waits for a core")
    for width in (20, 60, 79):
        line = progress({"refuted": 3}, width, under_way="BP x8 1/2 | " * 9)
        assert (len(line), line[-1]) == (width, "…")


def test_the_plan_says_how_rough_its_guess_is():
    for seconds, said in (
        (None, "1 claim waits for 60 runs, whose time is known when some are trained"),
        (10.0, "1 claim waits for 60 runs: under a minute of training, at a guess"),
        (90.0, "1 claim waits for 60 runs: under a minute to 4 min of training, at a guess"),
        (7200.0, "1 claim waits for 60 runs: about 40 min to 6 h 0 min of training, at a guess"),
    ):
        status = Status(claims=9, open=1, requested=60, missing=60, seconds_left=seconds)
        assert plan_line(status) == said


def test_a_session_that_is_stopped_says_what_is_stored():
    stopped = stopped_line(Status(claims=66, open=54, requested=255, missing=60))
    assert stopped.startswith("stopped with at least 195 of 255 runs stored")


def claim(name="004/climbs", verdict="reproduced", measured="0.02, 5 seeds", **more):
    return ClaimLine(name=name, verdict=verdict, measured=measured, **more)


def test_a_line_has_verdict_name_and_what_was_measured():
    assert verdict_line(claim(measured=""), width=99) == "reproduced    004/climbs"
    changed = claim(verdict="refuted", change="worse (was reproduced)", fails=True)
    assert verdict_line(changed, width=99) == (
        "refuted       004/climbs (worse (was reproduced))  0.02, 5 seeds"
    )
    short = verdict_line(claim(measured="a\nb" * 99), width=30)
    assert len(short) == 30
    assert "\n" not in short


def test_a_line_is_made_of_a_record_in_the_judge_s_words():
    judged = record(verdict=Outcome.REFUTED, measured="0.4 < 0.3", change="new")
    assert claim_line(judged, fails=True) == claim(
        verdict="refuted", measured="0.4 < 0.3", change="new", fails=True
    )
    absent = record(verdict=Outcome.NOT_RUN, text="needs --profile paper", change="")
    assert claim_line(absent, fails=False) == claim(
        verdict="not run", measured="needs --profile paper"
    )
    words = {lines.REPRODUCED, lines.REFUTED, lines.INCONCLUSIVE, lines.NOT_RUN}
    assert words == set(Outcome)


def test_what_the_ledger_has_is_known_and_in_a_document_merely_counted_unless_it_fails():
    def line(change_kind=Change.NONE, *, fails=False, profile="any", **more):
        judged = record(change_kind=change_kind, profile=profile, **more)
        return claim_line(judged, fails=fails)

    assert line().is_known
    for kind in (Change.NEW, Change.WORSE, Change.OTHER, Change.SMALLER):
        assert not line(kind).is_known, kind
    assert not line(fails=True).is_known
    assert line().is_only_counted
    assert line(Change.NEW).is_only_counted
    for news in (
        {"change_kind": Change.BETTER}, {"fails": True}, {"verdict": Outcome.REFUTED},
        {"profile": "ci"},
    ):  # fmt: skip
        assert not line(**news).is_only_counted, news
