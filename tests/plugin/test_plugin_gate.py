"""The gate: what a claim's test came to, held against the ledger; and sessions with `--gate`."""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from repro.arm import Metric, Needs
from repro.ledger import Entry, Ledger
from repro.own.arm import OutsideArm
from repro.plugin.gate import NOTHING_JUDGED, Gate
from repro.plugin.trials import Trials
from repro.runs.asked import Asked
from repro.runs.profiles import PROFILES
from tests.plugin.sessions import Made, counted, run

RISEN = [1.0, 1.1, 0.9, 1.05, 0.95] * 6
OPEN = [0.2, 1.9, 0.3, -0.2, 1.1, *[0.1, 1.4, -0.3] * 9]
GONE = list(np.random.default_rng(1).normal(0.0, 1.0, 30))
KNOWN = Entry("900/rises", "ci", "points", "reproduced", "It rises", "", "", past=[(0.6, 1.0, 20)])


@dataclass(frozen=True, kw_only=True)
class Line(OutsideArm):
    study: ClassVar[str] = "line"
    metrics: ClassVar[dict] = {"slope": Metric("identity")}
    data: str = "points"


def found(slopes):
    """The results of lines: on each seed the next one of these slopes."""

    def values(run):
        slope = slopes[run.arm.seeds(30).index(run.seed)]
        return {"measures": {"slope": slope}, "history": {}, "steps": 10}

    return Made(values)


def rises(trials):
    assert trials(Line()).slope > 0


def asks_for_more(trials):
    raise Needs("needs a GPU")


def judges_nothing(trials):
    pass


def denies(trials):
    assert not (trials(Line()).slope > 0)


class Held:
    """A claim that a test makes, beside a ledger with these entries."""

    def __init__(self, item, entries, **options):
        self.item = item
        if entries:
            Ledger(item.path.parent / "ledger" / "test_lines.toml", []).accept(entries)
        usual = {"accept": False, "insist": False, "sparing": False, "seeds": 12, "reference": 20}
        self.gate = Gate(**usual | options)

    def __call__(self, test, slopes=RISEN):
        """Return the report of a test that found these slopes."""
        trials, raised = Trials(found(slopes), PROFILES["ci"], Asked()), None
        try:
            test(trials)
        except (AssertionError, Needs) as error:
            raised = SimpleNamespace(value=error)
        report = SimpleNamespace(outcome="failed" if raised else "passed", user_properties=[])
        self.gate.judge(self.item, SimpleNamespace(excinfo=raised), report, trials)
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
        return Held(item, entries, **options)

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
        assert beside(accept=True)(rises, slopes).is_expected
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
    for unlike in ([], [(0.3, 20)]):  # nobody knows by how much, or it was a spread
        assert beside(replace(KNOWN, past=unlike))(rises, OPEN).outcome == "failed"
    still = beside(replace(KNOWN, past=[(9.0, 1.0, 20)]))(rises)  # reproduced, and smaller
    assert (still.outcome, still.record["change"]) == ("passed", "smaller than it was")


def test_what_is_reproduced_is_measured_for_the_next_ledger(beside):
    [(mean, spread, seeds)] = beside()(rises).record["past"]
    assert seeds == 20
    assert mean == pytest.approx(np.mean(RISEN[:20]))
    assert spread == pytest.approx(np.std(RISEN[:20], ddof=1))
    assert beside()(rises, OPEN).record["past"] == []


def test_a_claim_that_cannot_be_run_is_skipped_unless_a_verdict_is_required(beside):
    report = beside(KNOWN)(asks_for_more)
    assert (report.outcome, report.is_expected) == ("skipped", False)
    assert "not run: needs a GPU" in report.longrepr[2]
    report = beside(KNOWN, insist=True)(asks_for_more)
    assert report.outcome == "failed"
    assert "--require-verdict asks for a verdict" in report.longrepr


def test_a_test_that_contradicts_its_findings_fails(beside):
    for claim in (beside(), beside(replace(KNOWN, verdict="refuted", past=[]))):
        for test, slopes, words in (
            (judges_nothing, RISEN, NOTHING_JUDGED),
            (denies, OPEN, "The test passed although one of its findings is inconclusive"),
            (denies, [-x for x in RISEN], "The test passed although one of its findings is ref"),
            (denies, RISEN, "The assertion that failed is none of the claim's findings"),
        ):
            report = claim(test, slopes)
            assert report.outcome == "failed"
            assert words in report.longrepr
            assert report.record is None


def test_a_failure_is_none_that_was_expected(beside):
    """A mark of pytest's own expects it to fail, which is no entry of the ledger."""
    claim = beside()
    report = SimpleNamespace(outcome="skipped", wasxfail="for now", user_properties=[])
    trials = Trials(found(RISEN), PROFILES["ci"], Asked())
    claim.gate.judge(claim.item, SimpleNamespace(excinfo=None), report, trials)
    assert report.outcome == "failed"
    assert not hasattr(report, "wasxfail")


def test_the_opposite_verdict_at_another_size_stands_beside_it(beside):
    larger = replace(KNOWN, profile="paper", verdict="refuted", past=[])
    assert beside(larger)(rises).record["opposed"] == "refuted at paper (points)"
    assert beside(replace(larger, verdict="reproduced"))(rises).record.get("opposed") is None


def test_the_gate_leaves_out_what_cannot_fail_and_nothing_else(beside):
    refuted = replace(KNOWN, verdict="refuted", past=[])
    for entry, sparing, is_spared in (
        (refuted, True, True),
        (replace(refuted, verdict="inconclusive"), True, True),
        (refuted, False, False),
        (KNOWN, True, False),
        (replace(refuted, data="other points"), True, False),
        (replace(refuted, profile="paper"), True, False),
        (replace(refuted, claim="900/falls"), True, False),
    ):
        claim = beside(entry, sparing=sparing)
        why = claim.gate.spared(claim.item, "ci", ["points"])
        assert (why is not None) == is_spared, entry
        assert why is None or f"it is {entry.verdict} in the ledger" in why


# --- whole sessions -----------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_session_trains_what_can_fail_and_no_more(outside_project):
    # expected to fail is the claim that is refuted; skipped, the one of the documented size only
    run(outside_project, "--update-ledger").assert_outcomes(passed=2, xfailed=1, skipped=1)
    ledger = outside_project.path / "ledger" / "test_lines.toml"
    before = ledger.read_text()
    result = run(outside_project, "--gate", "--update-ledger", "--store", "empty")
    result.assert_outcomes(passed=2, skipped=2)
    assert counted(result.stdout.str()) == ["2", "·", "·", "2"]
    result.stdout.fnmatch_lines(
        [
            "NOT RUN      900/flatter",
            "*skipped by --gate: it is refuted in the ledger, so it cannot fail",
            "*the build. Run without --gate to judge it.",
        ]
    )
    assert ledger.read_text() == before
