"""The gate: what a claim's test came to, held against the ledger; and sessions with `--gate`."""

import json
import shlex
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from repro.arm import Needs
from repro.ledger import Entry, Ledger
from repro.plugin.claim_verdict import NOTHING_JUDGED
from repro.plugin.completeness import SPARED
from repro.plugin.gate import Gate
from repro.plugin.levels import NAME as LEVELS
from repro.plugin.plugin import _judge
from repro.plugin.summary import _failures
from repro.plugin.trials import Trials
from repro.report.lines import PROPERTY, ClaimLine
from repro.runs.profiles import PROFILES, profile_named
from tests.plugin.lines import Line
from tests.plugin.sessions import Made

RISEN = [1.0, 1.1, 0.9, 1.05, 0.95] * 6
OPEN = [0.2, 1.9, 0.3, -0.2, 1.1, *[0.1, 1.4, -0.3] * 9]
GONE = list(np.random.default_rng(1).normal(0.0, 1.0, 30))
KNOWN = Entry("900/rises", "ci", "points", "reproduced", "It rises", "", "", past=[(0.6, 1.0, 20)])


def found(slopes):
    """The results of lines: on each seed the next one of these slopes."""

    def values(run):
        seeds = run.arm.seeds(30)
        if run.seed not in seeds:
            return None
        slope = slopes[seeds.index(run.seed)]
        return {"measures": {"slope": slope}, "history": {}, "steps": 10}

    return Made(values)


def rises(trials):
    assert trials(Line()).slope > 0


def asks_for_more(trials):
    raise Needs("needs a GPU")


def is_left_out(trials):
    trials(Line())
    raise Needs("skipped by --gate")


def judges_nothing(trials):
    pass


@dataclass(frozen=True, kw_only=True)
class Turned(Line):
    label = "line\u202e"


def turned(trials):
    assert trials(Turned()).slope > 0


def denies(trials):
    assert not (trials(Line()).slope > 0)


class Claimed:
    """A claim that a test makes, beside a ledger with these entries."""

    def __init__(self, item, entries, *, budget=None, **options):
        self.item = item
        if entries:
            Ledger(item.path.parent / "ledger" / "test_lines.toml", []).accept(entries)
        usual = {"report": "report", "profile": "ci"}
        given = {f"repro_{name}": value for name, value in (usual | options).items()}
        profile = profile_named("ci", budget=budget)
        self.gate = Gate(SimpleNamespace(getoption=given.get), profile)
        self.gate.reference = 20

    def __call__(self, test, slopes=RISEN):
        """Return the report of a test that found these slopes."""
        trials, raised = Trials(found(slopes), PROFILES["ci"], {}), None
        try:
            test(trials)
        except (AssertionError, Needs) as error:
            raised = error
        report = SimpleNamespace(outcome="failed" if raised else "passed", user_properties=[])
        report.longrepr = ""
        self.gate.judge(self.item, raised, report, trials)
        kept = dict(report.user_properties).get("repro.record")
        report.record = json.loads(kept)["record"] if kept else None
        report.is_expected = report.outcome == "skipped" and hasattr(report, "wasxfail")
        return report


@pytest.fixture
def beside(request, tmp_path):
    """Return the maker of a claim beside ledger entries."""

    def make(*entries, **options):
        item = pytest.Function.from_parent(request.node.parent, name="test_rises", callobj=rises)
        item.add_marker(pytest.mark.claim("It rises", source="900, Text", kind="control"))
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        item.path = folder / "test_lines.py"
        return Claimed(item, entries, **options)

    return make


def test_what_the_ledger_does_not_know_has_to_hold(beside):
    claim = beside()
    assert claim(rises).outcome == "passed"
    assert claim(rises).record["kind"] == "control"
    for slopes, verdict in ((OPEN, "inconclusive"), ([-x for x in RISEN], "refuted")):
        report = claim(rises, slopes)
        assert (report.outcome, report.record["verdict"]) == ("failed", verdict)
        assert "not in the ledger yet" in report.longrepr
        assert "accept this finding with: --update-ledger" in report.longrepr
        assert beside(update_ledger=True)(rises, slopes).is_expected
        packed = beside(evidence=["packed.gz"])(rises, slopes)
        assert "judged from packed.gz; to accept this finding, add" in packed.longrepr
        for other in ({"profile": "paper"}, {"data": "other points"}, {"claim": "900/falls"}):
            known = replace(KNOWN, verdict="refuted", past=[], **other)
            assert beside(known)(rises, slopes).outcome == "failed"


def test_what_did_not_hold_before_is_expected_to_fail(beside):
    for before in ("refuted", "inconclusive"):
        claim = beside(replace(KNOWN, verdict=before, past=[]))
        for slopes in (OPEN, [-x for x in RISEN]):
            assert claim(rises, slopes).is_expected
        report = claim(rises)
        assert report.outcome == "passed"
        assert report.record["change"] == f"better (was {before})"


def test_what_held_before_fails_where_it_is_refuted_or_has_become_smaller(beside):
    claim = beside(KNOWN)
    assert claim(rises).outcome == "passed"
    report = claim(rises, OPEN)
    assert report.is_expected
    assert report.record["change"].startswith("open here, no smaller than it was")
    refuted = claim(rises, [-x for x in RISEN])
    assert (refuted.outcome, refuted.record["change"]) == ("failed", "worse (was reproduced)")
    smaller = beside(replace(KNOWN, past=[(4.0, 1.0, 20)]))(rises, GONE)
    assert (smaller.outcome, smaller.record["verdict"]) == ("failed", "inconclusive")
    assert "smaller than it was" in smaller.record["text"]
    unknown = beside(replace(KNOWN, past=[]))(rises, OPEN)  # nobody knows by how much
    assert unknown.outcome == "failed"
    still = beside(replace(KNOWN, past=[(9.0, 1.0, 20)]))(rises)  # reproduced, and smaller
    assert (still.outcome, still.record["change"]) == ("passed", "smaller than it was")


def test_what_is_reproduced_is_measured_for_the_next_ledger(beside):
    [(mean, spread, seeds)] = beside()(rises).record["past"]
    assert seeds == 20
    assert mean == pytest.approx(np.mean(RISEN[:20]))
    assert spread == pytest.approx(np.std(RISEN[:20], ddof=1))
    assert beside()(rises, OPEN).record["past"] == []


def test_a_second_word_goes_with_the_verdict_and_fails_nothing(beside):
    def rises_as_documented(trials):
        assert trials(Line()).slope.documented_as(9.0) > 0

    claim = beside(KNOWN)
    report = claim(rises_as_documented)
    assert (report.outcome, report.record["effect_size"]) == ("passed", "smaller")
    assert report.record["measured"].endswith("5 seeds; smaller (documented: 9)")
    assert claim(rises).record["effect_size"] == ""


def test_an_estimate_after_stopping_stands_beside_that_of_all_stored_seeds(beside):
    slopes = [3.0, 3.1, 2.9, 3.05, 2.95, *[0.5, 0.6] * 12, 0.55]
    report = beside()(rises, slopes)
    assert report.record["measured"].startswith("line 1.0 - 0 = 3 [")
    assert report.record["over_stored"] == [pytest.approx(np.mean(slopes)), 30]
    [arm] = json.loads(dict(report.user_properties)["repro.record"])["arms"].values()
    assert len(arm["seeds"]) == 20  # they are used for nothing else
    assert beside(report=None)(rises, slopes).record["over_stored"] == []
    assert beside(report=None, update_ledger=True)(rises, slopes).record["over_stored"]


def test_levels_are_held_against_the_ledger_of_a_claim_that_is_open_too(beside):
    """Else a change that moves all arms and takes a part of the effect is said nowhere."""
    known = replace(KNOWN, levels=[("line 1.0", "slope", 2.0, 0.1, 20), ("gone", "slope", 1, 1, 5)])
    for slopes, outcome in ((RISEN, "reproduced"), (OPEN, "inconclusive")):
        report = beside(known)(rises, slopes)
        assert report.record["verdict"] == outcome
        [[data, before, now]] = json.loads(dict(report.user_properties)[LEVELS])
        assert (data, before) == ("points", ["line 1.0", "900 slope", 2.0, 0.1, 20])
        used = slopes[: now[4]]
        assert now[2:4] == pytest.approx([np.mean(used), np.std(used, ddof=1)])


def test_the_command_judges_the_claim_again_in_the_same_way(beside):
    assert beside()(rises).record["command"].endswith("::test_rises")
    limited = beside(gate=True, budget=12)(rises)
    assert limited.record["command"].endswith("::test_rises --gate --seed-budget 12")


def test_no_text_of_a_claim_steers_a_shell_or_a_reader_of_junit(beside):
    claim = beside()
    claim.item._nodeid = "test_lines.py::test_rises[$(id) `id` !1 '\"]"
    report = claim(turned)
    assert shlex.split(report.record["command"]) == ["pytest", claim.item.nodeid]
    assert "line\\u202e - 0 = 1" in dict(report.user_properties)["repro.measured"]
    assert claim.item.user_properties == report.user_properties[:2]


def test_a_claim_without_a_verdict_is_among_the_results(beside):
    report = beside()(judges_nothing)
    report.nodeid, report.location = "test_lines.py::test_rises", ("test_lines.py", 6, "test_rises")
    report.longreprtext = report.longrepr
    crashed = SimpleNamespace(nodeid="test_lines.py::test_exits", longreprtext="gone")
    crashed.location = (crashed.nodeid, None, crashed.nodeid)  # as xdist reports it
    line = ClaimLine(name=crashed.nodeid, verdict="error", measured="gone", fails=True)
    crashed.user_properties = [(PROPERTY, line.as_json())]
    terminal = SimpleNamespace(stats={"failed": [report], "error": [crashed]})
    failures, records = _failures(terminal, [], profile="ci")
    assert [each.verdict for each in (*failures, *records)] == ["error"] * 4
    named = [(each.claim, each.sentence, each.source, each.line) for each in records]
    assert named == [("900/rises", "It rises", "900, Text", 6), (crashed.nodeid, "", "", 0)]
    assert [each.text for each in records] == [NOTHING_JUDGED, "gone"]
    assert records[1].command == "pytest test_lines.py::test_exits"
    judged = [replace(records[0], verdict="refuted")]  # and then its fixture failed
    assert [each.claim for each in _failures(terminal, judged, profile="ci")[1]] == [crashed.nodeid]


def test_a_claim_that_cannot_be_judged_is_in_error(beside):
    claim, call = beside(), SimpleNamespace(when="call", excinfo=None)
    claims = SimpleNamespace(judge=lambda *_: 1 / 0, gate=claim.gate)
    report = SimpleNamespace(outcome="passed", user_properties=[], when="call")
    _judge(claims, claim.item, call, report)
    said = json.loads(dict(report.user_properties)[PROPERTY])
    assert (report.outcome, said["verdict"]) == ("failed", "error")
    assert said["measured"] == "ZeroDivisionError: division by zero"


def test_a_claim_that_cannot_be_run_is_skipped_unless_a_verdict_is_required(beside):
    open_ = replace(KNOWN, verdict="inconclusive", past=[])
    for entries, options in (((open_,), {}), ((), {}), ((KNOWN,), {"allow_not_run": True})):
        report = beside(*entries, **options)(asks_for_more)
        assert (report.outcome, report.is_expected) == ("skipped", False)
        assert "not run: needs a GPU" in report.longrepr[2]
    for options, why in (
        ({"require_verdict": True}, "--require-verdict asks for a verdict"),
        ({"require_verdict": True, "gate": True}, "--require-verdict asks for a verdict"),
        ({}, "so it has to be judged"),
    ):
        report = beside(KNOWN, **options)(asks_for_more)
        assert report.outcome == "failed"
        assert why in report.longrepr
    refuted = replace(KNOWN, verdict="refuted", past=[])
    for entry, code in ((refuted, "skipped"), (KNOWN, "failed")):
        report = beside(entry, require_verdict=True, gate=True)(is_left_out)
        assert report.outcome == code, "the gate leaves out what cannot fail"
        assert (SPARED in dict(report.user_properties)) == (entry is refuted)


def test_a_claim_without_a_verdict_fails_though_it_is_expected_to(beside):
    for entries in ((), (replace(KNOWN, verdict="refuted", past=[]),)):
        for test, words in ((judges_nothing, NOTHING_JUDGED), (denies, "Assert each finding")):
            report = beside(*entries)(test)
            assert (report.outcome, report.record) == ("failed", None)
            assert words in report.longrepr
            assert json.loads(dict(report.user_properties)[PROPERTY])["verdict"] == "error"


def test_a_failure_is_none_that_was_expected(beside):
    """A mark of pytest's own expects it to fail, which is no entry of the ledger."""
    claim = beside()
    report = SimpleNamespace(outcome="skipped", wasxfail="for now", user_properties=[])
    claim.gate.judge(claim.item, None, report, Trials(found(RISEN), PROFILES["ci"], {}))
    assert report.outcome == "failed"
    assert not hasattr(report, "wasxfail")


def test_an_entry_of_another_sentence_or_of_other_data_is_none_of_the_claims(beside):
    """As where a second test of its name, further down in its file, has taken the claim's place."""
    other = replace(KNOWN, sentence="It falls")
    moved = replace(KNOWN, data="other points")
    for entry, words in ((other, "another sentence: It falls"), (moved, "on other points, and")):
        for slopes in (RISEN, OPEN):
            report = beside(entry)(rises, slopes)
            assert (report.outcome, report.record["change"]) == ("failed", "new")
            assert words in report.longrepr
            assert beside(entry, update_ledger=True)(rises, slopes).outcome != "failed"
    refuted = replace(other, verdict="refuted", past=[])
    assert beside(refuted)(rises).outcome == "failed"
    claim = beside(refuted, gate=True)
    assert claim.gate.skip_reason(claim.item, "ci", ["points"]) is None, "it is another claim"
    twin = replace(other, data="points-twin")
    for elsewhere in (twin, replace(other, profile="paper"), replace(moved, profile="paper")):
        assert beside(elsewhere)(rises).outcome == "passed"


def test_a_claim_that_compares_other_arms_than_its_entry_says_so_and_fails_the_gate(beside):
    """As where a case of it, or its assertion, was rewritten."""
    one, two, both = ["line 1.0"], ["line 2.0"], ["line 1.0", "line 2.0"]
    assert beside()(rises).record["labels"] == one
    said = "compares other arms than the ledger's: "
    for there, slopes, other in (
        (one, RISEN, ""),
        ([], RISEN, ""),  # a ledger of before
        (two, RISEN, "line 1.0 here, line 2.0 there"),
        (both, RISEN, "line 2.0 there"),
        (two, OPEN, "line 1.0 here, line 2.0 there"),
        (both, OPEN, ""),  # its test ended early, and may have compared the other one then
    ):
        known = replace(KNOWN, arms=there)
        report = beside(known)(rises, slopes)
        assert report.record["change"].partition(said)[2] == other
        assert report.outcome != "failed"
        gated = beside(known, gate=True)(rises, slopes)
        assert (gated.outcome == "failed") == bool(other)
        assert not other or f"{said}{other}. A claim with another" in gated.longrepr
        assert beside(known, gate=True, update_ledger=True)(rises, slopes).outcome != "failed"
    assert beside(replace(KNOWN, arms=two))(rises).record["change_kind"] == "unlike"


def test_the_opposite_verdict_at_another_size_stands_beside_it(beside):
    larger = replace(KNOWN, profile="paper", verdict="refuted", past=[])
    assert beside(larger)(rises).record["opposed"] == "refuted at paper (points)"
    assert beside(replace(larger, verdict="reproduced"))(rises).record.get("opposed") is None


def test_the_gate_leaves_out_what_cannot_fail_and_nothing_else(beside):
    refuted = replace(KNOWN, verdict="refuted", past=[])
    for entry, skips, is_spared in (
        (refuted, True, True),
        (replace(refuted, verdict="inconclusive"), True, True),
        (refuted, False, False),
        (KNOWN, True, False),
        (replace(refuted, data="other points"), True, False),
        (replace(refuted, profile="paper"), True, False),
        (replace(refuted, claim="900/falls"), True, False),
    ):
        claim = beside(entry, gate=skips)
        why = claim.gate.skip_reason(claim.item, "ci", ["points"])
        assert (why is not None) == is_spared, entry
        assert why is None or f"it is {entry.verdict} in the ledger" in why
