"""`prints("72.1 ± 0.3")`: printed numbers are read off recorded runs, without a test."""

import numpy as np
import pytest

from repro.judge import Design, Judge, Measured, Outcome
from repro.recorded import judge

RUNS = [72.0, 72.25, 72.5, 72.25]  # the mean is 72.25, the spreads .204 and .177


def judged(text, values=RUNS, **options):
    return judge({"plain": values}, lambda plain: plain.prints(text), **options)


@pytest.mark.parametrize("text", ["72.2", "72.3", "72.25", "72.250", "72", "7.2e1", " 72.3 ± 0.2 "])
@pytest.mark.parametrize("looks", [None, "any"])
def test_both_ways_to_round_a_half_are_right(text, looks):
    assert judged(text, looks=looks).outcome is Outcome.REPRODUCED


@pytest.mark.parametrize("text", ["72.1", "72.24", "72.4", "73", "-72.25", "72.25 ± 0.3"])
def test_another_number_and_a_truncated_digit_are_refuted(text):
    verdict = judged(text)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.is_exact
    assert judged("72.27", [72.27, 72.279]).outcome is Outcome.REPRODUCED
    assert judged("72.27", [72.27, 72.2801]).outcome is Outcome.REFUTED


def test_the_verdict_says_what_the_runs_give():
    assert repr(judged("72.1")) == "<refuted: mean of plain = 72.25, printed 72.1, 4 runs, exact>"
    found = str(judged("72.25 ± 0.3"))
    assert "contradicted: spread of plain (over n 0.177, of the mean 0.102) is 0.204" in found
    assert "exact: read off 4 runs" in found


@pytest.mark.parametrize(
    ("text", "said"),
    [("72.2 ± 0.20", "spread of plain is"), ("72.2+-0.18", "(over n) of plain is")],
)
def test_the_spread_may_be_over_n_or_one_less(text, said):
    verdict = judged(text)
    assert verdict.outcome is Outcome.REPRODUCED
    assert said.replace("(over n) of plain", "spread of plain (over n)") in str(verdict)


def test_per_cent_and_shares_are_one_number():
    assert judged("91.2 ± 0.1 %", [0.9110, 0.9120, 0.9130])
    assert not judged("91.1 %", [0.9110, 0.9120, 0.9130])


def test_runs_that_are_alike_print_their_value_and_copies_count_once():
    assert judged("100.0 ± 0.0", [100.0, 100.0, 100.0])
    copied = judged("0.35", [0.3123456789, 0.3123456789, 0.3876543211])
    assert copied.outcome is Outcome.REPRODUCED
    assert "1 of 3 runs of plain repeat another" in str(copied)


def test_it_is_joined_with_other_findings():
    verdict = judge({"plain": RUNS}, lambda plain: plain.prints("72.3") & (plain > 70))
    assert (verdict.outcome, verdict.is_exact) == (Outcome.REPRODUCED, False)
    both = {"a": RUNS, "b": [x + 1 for x in RUNS]}
    together = judge(both, lambda a, b: a.prints("72.3") & b.prints("73.9"), spread="same")
    assert together.outcome is Outcome.REFUTED


@pytest.mark.parametrize("text", ["about 72", "72.1 ± ", "72.1 0.3", "", 72.1, "nan"])
def test_what_is_no_print_is_refused(text):
    with pytest.raises(ValueError, match="is no printed number: give its text with all digits"):
        judged(text)


def test_runs_that_are_not_recorded_are_refused():
    plain = Measured(
        judge=Judge(Design(looks=(3, 5))), label="plain", metric="accuracy", values=np.ones
    )
    with pytest.raises(
        ValueError, match="which those of plain are not: claim accuracy with agrees"
    ):
        plain.prints("72.1")
