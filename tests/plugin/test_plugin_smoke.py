"""The smoke test: some whole sessions in this process, one for each thing a user does first.

All other whole sessions are thorough. What one function decides is a test of that function.
"""

import json

import pytest

from tests.evidence.packs import evidence
from tests.plugin.sessions import change, run, run_apart, trained

WRONG = """
from repro import claim
from line import Line

@claim("fine", source="900")
def test_fine(trials):
    assert trials(Line()).slope > -9

@claim("no such metric", source="900")
def test_metric(trials):
    assert trials(Line()).slop > 0

@claim("says nothing", source="900")
def test_nothing(trials):
    trials(Line())

class Lost(Line):
    study = "nowhere"

@claim("no such study", source="900")
def test_study(trials):
    assert trials(Lost()).slope > 0
"""

DOCUMENTS = """
from repro import claim
from repro.document import percent_drop

@claim("46.9% better", source="900, Table", documented="46.9%")
def test_better(document):
    assert document("46.9%").agrees_with(percent_drop("34.86", "18.52"))

@claim("99.81% of 149", source="900, Table", documented="99.81%")
def test_share(document):
    assert document("99.81%").is_share_of(149)
"""


@pytest.fixture
def project(outside_project):
    """A claim that holds, one that does not, and one for another size; five runs settle each."""
    change(outside_project, "gauss(0.4, 0.3)", "gauss(0.4, 0.05)")
    claims = outside_project.path / "test_lines.py"
    claims.write_text(claims.read_text().replace("[1.0, 2.0]", "[1.0]"))
    (outside_project.path / "ledger").mkdir()  # one file for each file of claims
    return outside_project


def test_a_project_is_judged(project):
    first = run(project, "--report", "found", "--junitxml=out.xml")
    first.assert_outcomes(passed=1, failed=1, skipped=1)
    first.stdout.fnmatch_lines(
        [
            "claimed (900, Text): flat targets give steeper lines",
            "REFUTED: line exceeds line target 4.0 in slope",
            "*5 seeds (looks at 5, 8*",
            "reproduce with: pytest test_lines.py::test_flatter",
            "failed: 1",
            "2 verdicts on random quantities are settled: *",
        ]
    )
    records = json.loads((project.path / "found" / "results.json").read_text())["claims"]
    assert {each["claim"]: each["verdict"] for each in records} == {
        "900/flatter": "refuted",
        "900/large": "not run",
        "900/steeper[1.0]": "reproduced",
    }
    assert "flat targets give steeper" in (project.path / "found/index.html").read_text()
    assert 'name="repro.verdict" value="refuted"' in (project.path / "out.xml").read_text()
    needed, now = trained(first)
    assert needed == now > 0


def test_the_ledger_gates(project):
    ledger = project.path / "ledger" / "test_lines.toml"
    accept = ("--update-ledger", "--reference-seeds", "0")
    accepting = run(project, *accept)
    accepting.assert_outcomes(passed=1, xfailed=1, skipped=1)
    known = ledger.read_text()
    assert known.count("[[claim]]") == 2
    ledger.write_text(known.replace('"refuted"', '"reproduced"'))
    lost = run(project)
    lost.assert_outcomes(passed=1, failed=1, skipped=1)
    lost.stdout.fnmatch_lines(["*worse (was reproduced)*"])
    ledger.write_text(known)
    gated = run(project, "--gate", *accept, "--store", "empty")
    gated.assert_outcomes(passed=1, skipped=2)  # what it leaves out is not trained
    gated.stdout.fnmatch_lines(["10 distinct runs needed: 10 *"])
    gated.stdout.fnmatch_lines(
        ["*skipped by --gate: it is refuted in the ledger, so it cannot fail"]
    )
    assert ledger.read_text() == known


def test_what_errors_costs_its_claim_alone_and_fails_the_plan(project):
    project.makepyfile(test_lines=WRONG)
    plan = run(project, "--plan")
    assert plan.ret == pytest.ExitCode.TESTS_FAILED
    plan.stdout.fnmatch_lines(
        [
            "900/metric cannot be judged: AttributeError: Line has no metric 'slop'; *",
            "900/study cannot be judged: ModuleNotFoundError: *'nowhere'*",
        ]
    )
    assert not list(project.path.glob("store/runs/*/*"))
    result = run(project)
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        ["*test_lines.py:10: AttributeError", "*passed without judging anything: assert what*"]
    )
    assert "repro/plugin/trial" not in result.stdout.str()


FORGED = """
import pytest
from repro import claim
from line import Line

@claim("It rises\\nreproduced  900/it", source="900\\nreproduced", documented="9\\nreproduced")
def test_steep(trials):
    assert trials(Line()).slope > 9

@claim("It rises", source="900", kind="no such kind")
def test_refused(trials):
    pass

@pytest.fixture
def server():
    raise ConnectionError("no server")

@claim("It rises", source="900")
def test_with_a_fixture(trials, server):
    pass
"""


def test_all_claims_that_fail_are_counted_and_their_text_makes_no_line(project):
    project.makepyfile(test_lines=FORGED)
    shown = project.runpytest_inprocess("-n", "0").stdout.str()
    assert "\nreproduced" not in shown
    assert "\nfailed: 3\n" in shown
    assert "[100%]" in shown
    _, _, short = shown.partition("short test summary info")
    assert "\nFAILED test_lines.py::test_steep - " in short
    assert "\nERROR test_lines.py::test_refused - " in short
    assert "\nERROR test_lines.py::test_with_a_fixture - ConnectionError" in short


def test_a_document_is_held_against_itself(project):
    project.makepyfile(test_lines=DOCUMENTS)
    result = run(project, "--repro-profile", "paper")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "claimed (900, Table): 99.81% of 149",
            "99.81% of 149 printed; nearest are 148 / 149 = 99.329% and 149 / 149 =*: impossible",
            "data: the document; profile: any; not in the ledger yet",
        ]
    )


def test_evidence_is_judged_without_training(project):
    run(project)
    assert evidence("pack", "packed.gz", ".").ret == 0
    result = run(project, "--evidence", "packed.gz", "--store", "empty")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.no_fnmatch_line("*trained now*")
    assert not list(project.path.glob("empty/runs/*"))


@pytest.mark.thorough
def test_workers_judge_as_one_process_does(project):
    accept = ("--update-ledger", "--reference-seeds", "0", "--report", "found")
    ledger = project.path / "ledger" / "test_lines.toml"
    result = run_apart(project, "-n", "2", "--store", "of-two", *accept)
    result.assert_outcomes(passed=1, xfailed=1, skipped=1)
    by_two = ledger.read_bytes()
    ledger.unlink()
    run(project, *accept)
    assert ledger.read_bytes() == by_two
    profile = run_apart(project, "-n", "2", "--repro-profile", "ci", "--seed-budget", "4")
    profile.stdout.fnmatch_lines(["reproduced    900/steeper* 4 seeds"])
