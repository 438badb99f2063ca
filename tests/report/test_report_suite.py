"""Which verdicts stand over a whole session."""

from repro.report.suite import adjust


def record(claim, verdict, p):
    return {"claim": claim, "verdict": verdict, "p": p}


def test_the_family_is_all_that_was_judged_and_only_settled_verdicts_can_stand():
    records = [
        record("strong", "reproduced", 0.001),
        record("weak", "refuted", 0.02),
        record("open", "inconclusive", 1.0),
        record("absent", "not run", None),
        record("printed", "refuted", None),
    ]
    assert adjust(records) == ("over the whole suite (Holm, 5%) 2 of 2 settled verdicts stand")
    assert records[0]["p_over_the_suite"] == 0.003
    assert records[1]["p_over_the_suite"] == 0.04
    assert not records[2]["stands"]
    assert "stands" not in records[3] | records[4]


def test_what_does_not_stand_is_marked():
    records = [record(f"weak {i}", "reproduced", 0.009) for i in range(10)]
    assert adjust(records) == (
        "over the whole suite (Holm, 5%) 0 of 10 settled verdicts stand; the others are marked *"
    )
    assert adjust([record("open", "inconclusive", 1.0)]) == ""
