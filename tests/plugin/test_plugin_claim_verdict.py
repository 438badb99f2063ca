"""The verdict of a claim: from how its test ended, what it found, and what the ledger has of it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from repro.arm import Needs, Untestable
from repro.judge import Beyond, Design, Excess, LedgerComparison, OneLook, Outcome, Standing
from repro.ledger import Change, Entry
from repro.plugin.claim_verdict import NOTHING_JUDGED, contradiction, verdict
from repro.report.records import Reason
from repro.runs.results import TrainingFailed
from tests.plugin.lines import SLOPES, ended

REPRODUCED, REFUTED, OPEN, NOT_RUN = map(
    Outcome, ("reproduced", "refuted", "inconclusive", "not run")
)
KNOWN = Entry("900/rises", "ci", "points", "reproduced", "It rises", "", "up = 1 [0, 2], 5 seeds")


class Found(SimpleNamespace):
    """A finding, without what was measured for it."""

    def __str__(self):
        return f"{self.outcome}: it rises"


def found(*outcomes, asserted=True, design=None, seeds=(5,)):
    """What a claim's test gathered: findings of these outcomes, of which it asked for the truth."""
    findings = [
        Found(outcome=each, seeds=seeds[-1], weakest=Found(counts=seeds)) for each in outcomes
    ]
    return SimpleNamespace(
        findings=findings, asserted=findings if asserted else [], design=design, profile_name="ci"
    )


def held(standing, outcome=OPEN, *, seeds=5, chance=0.5):
    """A finding that the ledger accepted, as it stands to that."""
    now = (Excess(1.0, 1.0, seeds),)
    finding = Found(outcome=outcome, seeds=5)
    holds = outcome is REPRODUCED
    return LedgerComparison(finding, standing, holds, chance, ("up",), now, now)


def test_a_verdict_is_that_of_the_finding_whose_assertion_failed():
    assert verdict(None, found(REPRODUCED), None).outcome is REPRODUCED
    for outcome in (REFUTED, OPEN):
        given = verdict(AssertionError(), found(REPRODUCED, outcome), None)
        assert (given.outcome, given.error) == (outcome, "")


def test_what_a_claim_needs_is_no_verdict_of_it():
    given = verdict(Needs("needs a GPU"), found(), KNOWN)
    assert (given.outcome, given.why, given.change) == (NOT_RUN, "needs a GPU", "")
    assert given.reason is Reason.HERE
    never = verdict(Untestable("no text is named"), found(), KNOWN)
    assert (never.why, never.reason) == ("cannot be tested: no text is named", Reason.UNTESTABLE)
    for beyond, reason in ((Beyond.RUNS, Reason.RUNS), (Beyond.NONE, Reason.NONE)):
        gathered = found(OPEN)
        gathered.findings[0].beyond = beyond
        assert verdict(AssertionError(), gathered, None).reason is reason


def test_a_test_that_ends_in_an_error_has_no_verdict():
    failed = TrainingFailed("line, seed 1, failed to train", details="Traceback …")
    given = verdict(failed, found(), KNOWN)
    assert given.outcome is None
    assert given.error == "line, seed 1, failed to train\nTraceback …"
    other = verdict(KeyError("slope"), found(REPRODUCED), KNOWN)
    assert (other.outcome, other.error) == (None, ""), "pytest shows it with its traceback"


def test_a_test_that_contradicts_its_findings_has_no_verdict_whatever_the_ledger_says():
    refuted = replace(KNOWN, verdict="refuted")
    said = {
        NOTHING_JUDGED: (None, found()),
        "passed although one of its findings is inc": (None, found(OPEN)),
        "passed although one of its findings is refuted": (None, found(REPRODUCED, REFUTED)),
        "was not asserted by itself": (None, found(REPRODUCED, asserted=False)),
        "is none of the claim's": (AssertionError(), found(REPRODUCED)),
        "More than one of its findings": (AssertionError(), found(OPEN, REFUTED)),
        "left out after it had judged": (pytest.skip.Exception("why"), found(REPRODUCED)),
    }
    for entry in (None, KNOWN, refuted):
        given = {words: verdict(*end, entry) for words, end in said.items()}
        assert [
            words
            for words, each in given.items()
            if each.outcome is not None or words not in each.error
        ] == []


def test_a_verdict_is_worse_only_where_it_was_reproduced():
    before = {"reproduced": "worse", "inconclusive": "other", None: "new", "refuted": ""}
    for was, how in before.items():
        entry = was and replace(KNOWN, verdict=was)
        given = verdict(AssertionError(), found(REFUTED), entry)
        assert given.change_kind == how
        assert given.change == (f"{how} (was {was})" if how in ("worse", "other") else how)
    better = verdict(None, found(REPRODUCED), replace(KNOWN, verdict="refuted"))
    assert (better.change_kind, better.change) == (Change.BETTER, "better (was refuted)")
    assert verdict(None, found(REPRODUCED), KNOWN).change_kind is Change.NONE


def test_a_claim_that_is_open_agrees_with_a_ledger_where_it_was_reproduced():
    as_it_was = held(Standing.AS_IT_WAS)
    doubtful = held(Standing.IN_DOUBT, seeds=30, chance=0.01)

    def given(*held_now, seeds=20, outcome=OPEN, looks=()):
        gathered = found(outcome, design=Design(looks=(seeds,)))
        return verdict(AssertionError(), gathered, KNOWN, held_now, looks=looks)

    assert given(as_it_was).agrees
    assert given(as_it_was).change_kind is Change.OPEN
    assert given(as_it_was, seeds=30, looks=(5, 12, 40)).change_kind is Change.SHORT
    assert given(as_it_was, seeds=40, looks=(5, 12, 40)).change_kind is Change.OPEN
    assert given(as_it_was, seeds=12, looks=(5, 12)).change_kind is Change.OPEN
    assert given(as_it_was, seeds=5).change_kind is Change.SHORT
    assert given(as_it_was).change == "open here, no smaller than it was"
    assert given(as_it_was, seeds=5).change == "open at 5 seeds, no smaller than it was"
    in_doubt = "open here, at {} seeds looks smaller than it was"
    assert given(as_it_was, doubtful).change == in_doubt.format(30)
    few = held(Standing.IN_DOUBT, seeds=12)
    assert given(few).change == f"{in_doubt.format(12)}: too few to tell"
    for standing in (Standing.SMALLER, Standing.INCOMPARABLE):
        smaller = given(as_it_was, held(standing))
        assert (smaller.agrees, smaller.change) == (False, "worse (was reproduced)")
        of_another = held(standing, REPRODUCED)
        assert given(as_it_was, of_another).agrees, "what is reproduced is not open"
    also = "open here, no smaller than it was, but smaller in a comparison that holds"
    assert given(as_it_was, held(Standing.SMALLER, REPRODUCED)).change == also
    assert not given(as_it_was, outcome=REFUTED).agrees
    assert not given().agrees


def test_a_claim_that_is_reproduced_by_a_smaller_effect_says_so():
    for standing, kind in ((Standing.IN_DOUBT, Change.NONE), (Standing.SMALLER, Change.SMALLER)):
        now = held(standing, REPRODUCED)
        assert verdict(None, found(REPRODUCED), KNOWN, [now]).change_kind is kind


def test_what_was_judged_at_its_whole_level_is_not_judged_again_at_more_seeds():
    """Recorded runs are all there: one look spends the level, and a second one would exceed it."""
    open_at_five = replace(KNOWN, verdict="inconclusive", one_look=[5])
    apart = replace(open_at_five, one_look=[5, 7])
    one_look = OneLook(looks=(8,))

    def given(seeds, entry, design=one_look):
        return verdict(None, found(REPRODUCED, design=design, seeds=seeds), entry)

    again = given([8], open_at_five)
    assert again.outcome is NOT_RUN
    assert "was open at 5 seeds" in again.why
    assert "looks=(5, 8)" in again.why
    for more in ([6, 7], [5, 8], [7, 7], [7]):  # on one side, where the other has as many as it had
        assert given(more, apart).outcome is NOT_RUN, more
    for seeds, entry in (([5], open_at_five), ([5, 5], open_at_five), ([5, 7], apart)):
        assert given(seeds, entry).outcome is REPRODUCED
    assert given([8], open_at_five, None).outcome is REPRODUCED  # its looks share the level
    assert given([8], KNOWN).outcome is REPRODUCED  # it was settled then


def test_an_open_claim_says_how_many_seeds_its_one_look_had():
    one_look = OneLook(looks=(8,))
    given = verdict(AssertionError(), found(OPEN, design=one_look, seeds=(5, 8)), None)
    assert given.one_look == (5, 8)
    assert verdict(AssertionError(), found(OPEN), None).one_look == ()
    assert verdict(AssertionError(), found(REFUTED, design=one_look), None).one_look == ()


CONTRADICTORY = [
    "assert lo > hi or hi > lo",
    "assert any([lo > hi, hi > lo])",
    "assert not (lo > hi)",
    "assert not (hi > lo)",
    "assert (0 if lo > hi else 1)",
    "found = lo > hi; assert hi > lo",
    "found = lo > hi; assert 1 + 1 == 3",
    "assert 1 + 1 == 3",
    "assert lo > hi or hi < lo",
    "assert (hi > lo) and 1 + 1 == 3",
    "assert all([lo > hi, hi < lo])",
    "assert (hi > lo) != (hi > 0)",
    "assert (hi > lo) is not None",
    "assert [hi > lo]",
    "hi > lo",
    "assert hi > lo; hi > 0",
]
"""Python's logic around findings: an error, and never a verdict."""

AGREEING = {
    "assert hi > lo": "reproduced",
    "assert hi > lo; assert lo > hi": "refuted",
    "assert hi > lo or lo > hi": "reproduced",
    "assert (hi > lo) & (hi > 0)": "reproduced",
    "assert (hi > lo) & (lo > hi)": "refuted",
    "trials.require(hi > lo, 'a rise'); assert hi > 0": "reproduced",
    "assert all(a > b for a, b in [(hi, lo), (lo, hi), (hi, lo)])": "refuted",
}
"""What agrees with its findings, and the verdict that it is."""


def test_what_contradicts_its_findings_is_an_error_with_a_sentence():
    said = {line: contradiction(*ended(SLOPES, line)) for line in CONTRADICTORY}
    assert [
        line for line in CONTRADICTORY if "Assert each finding by itself" not in said[line]
    ] == []


def test_what_agrees_with_its_findings_is_a_verdict():
    ends = {line: ended(SLOPES, line) for line in AGREEING}
    assert {line: contradiction(*end) for line, end in ends.items()} == dict.fromkeys(AGREEING, "")
    assert {line: verdict(*end, None).outcome.value for line, end in ends.items()} == AGREEING


def test_a_claim_that_has_judged_something_is_not_left_out():
    for leaves in ('pytest.skip("why")', 'pytest.xfail("why")'):
        for judged in ("found = hi > lo", "assert hi > lo"):
            said = contradiction(*ended(SLOPES, judged, leaves))
            assert "The test was left out after it had judged something" in said, (judged, leaves)
        assert contradiction(*ended(SLOPES, leaves)) == ""
