"""Verdicts over a whole session: which of them stand, and the line that counts them."""

from repro.judge import Outcome, false_shares
from repro.report.suite import adjusted, over_the_suite
from tests.report.records import record


def test_the_family_is_all_that_was_judged_and_only_settled_verdicts_can_stand():
    strong, weak, inconclusive, absent, printed = records = adjusted(
        [
            record("strong", Outcome.REPRODUCED, 0.001),
            record("weak", Outcome.REFUTED, 0.015),
            record("open", Outcome.INCONCLUSIVE, 1.0),
            record("absent", Outcome.NOT_RUN, None),
            record("printed", Outcome.REFUTED, None),
        ]
    )
    assert over_the_suite(records) == (
        "2 of 2 settled verdicts stand: of those, 5% are false at most, on average"
    )
    assert [strong.p_over_the_suite, weak.p_over_the_suite] == false_shares([0.001, 0.015, 1.0])[:2]
    assert (strong.stands, weak.stands, inconclusive.stands) == (True, True, False)
    assert absent.stands is absent.p_over_the_suite is None
    assert printed.stands is printed.p_over_the_suite is None


def test_what_does_not_stand_is_marked():
    weak = [record(f"weak {i}", Outcome.REPRODUCED, 0.009) for i in range(10)]
    assert all(each.stands for each in adjusted(weak))
    records = adjusted(weak, family_wise=True)
    assert over_the_suite(records, family_wise=True) == (
        "0 of 10 settled verdicts stand: the chance that any of those is false is 5% at most; "
        "the others are marked *"
    )
    assert over_the_suite(adjusted([record("open", Outcome.INCONCLUSIVE, 1.0)])) == ""
