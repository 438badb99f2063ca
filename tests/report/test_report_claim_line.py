"""The lines that announce claims as they are settled."""

from repro.judge import Outcome
from repro.ledger import Change
from repro.report import lines
from repro.report.lines import ClaimLine, claim_line, verdict_line
from tests.report.records import record


def claim(name="004/climbs", verdict="reproduced", measured="0.02, 5 seeds", **more):
    return ClaimLine(name=name, verdict=verdict, measured=measured, **more)


def test_a_line_has_verdict_name_and_what_was_measured():
    assert verdict_line(claim(), width=99) == "reproduced    004/climbs  0.02, 5 seeds"
    changed = claim(verdict="refuted", change="worse (was reproduced)", fails=True)
    assert verdict_line(changed, width=99) == (
        "refuted       004/climbs (worse (was reproduced))  0.02, 5 seeds"
    )
    assert verdict_line(claim(measured=""), width=99) == "reproduced    004/climbs"
    short = verdict_line(claim(measured="a\nb" * 99), width=30)
    assert len(short) == 30
    assert "\n" not in short


def test_only_what_holds_in_a_document_as_before_is_merely_counted():
    def is_counted(fails=False, about_a_document=True, **more):
        judged = record(**{"change_kind": Change.NONE} | more)
        return claim_line(judged, fails=fails, about_a_document=about_a_document).is_only_counted

    assert is_counted()
    assert is_counted(change_kind=Change.NEW)
    for news in (
        {"change_kind": Change.BETTER}, {"fails": True}, {"verdict": Outcome.REFUTED},
        {"about_a_document": False},
    ):  # fmt: skip
        assert not is_counted(**news)


def test_it_is_made_of_a_record():
    judged = record(verdict=Outcome.REFUTED, measured="0.4 < 0.3", change="new")
    assert claim_line(judged, fails=True, about_a_document=False) == claim(
        verdict="refuted", measured="0.4 < 0.3", change="new", fails=True
    )
    absent = record(verdict=Outcome.NOT_RUN, text="needs --profile paper", change="")
    assert claim_line(absent, fails=False, about_a_document=False) == claim(
        verdict="not run", measured="needs --profile paper"
    )


def test_its_words_are_the_judge_s():
    words = {lines.REPRODUCED, lines.REFUTED, lines.INCONCLUSIVE, lines.NOT_RUN}
    assert words == set(Outcome)


def test_a_verdict_that_the_ledger_has_is_known_unless_it_fails():
    def is_known(kind, *, fails=False):
        judged = record(change_kind=kind)
        return claim_line(judged, fails=fails, about_a_document=False).is_known

    assert is_known(Change.NONE)
    assert not is_known(Change.NONE, fails=True)
    assert not any(map(is_known, (Change.NEW, Change.WORSE, Change.OTHER, Change.SMALLER)))
