"""`--gate`: claims that cannot fail are not trained, all others are judged as without it."""

import json

import pytest

from tests.plugin.sessions import counted, run

REFUTED = 'verdict = "refuted"'


@pytest.fixture
def accepted(outside_project):
    """A project whose ledger knows its two claims that hold, and the one that does not."""
    # expected to fail is the claim that is refuted; skipped, the one of the documented size only
    run(outside_project, "--update-ledger").assert_outcomes(passed=2, xfailed=1, skipped=1)
    return outside_project


def ledger(project):
    return project.path / "ledger" / "test_lines.toml"


def test_what_did_not_hold_is_not_trained(accepted):
    before = ledger(accepted).read_text()
    result = run(accepted, "--gate", "--update-ledger", "-k", "flatter", "--store", "empty")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            "NOT RUN      900/flatter",
            "*skipped by --gate: it is refuted in the ledger, so it cannot fail",
            "*the build. Run without --gate to judge it.",
        ]
    )
    result.stdout.no_fnmatch_line("*trained now*")
    assert ledger(accepted).read_text() == before


def test_what_holds_is_judged_as_ever(accepted):
    result = run(accepted, "--gate", "--store", "empty")
    result.assert_outcomes(passed=2, skipped=2)
    assert counted(result.stdout.str()) == ["2", "·", "·", "2"]


def test_what_does_not_hold_any_more_fails(accepted):
    ledger(accepted).write_text(
        ledger(accepted).read_text().replace(REFUTED, 'verdict = "reproduced"')
    )
    run(accepted, "--gate").assert_outcomes(passed=2, failed=1, skipped=1)


@pytest.mark.parametrize(
    ("known", "now"), [("900/flatter", "900/other"), ('"points"', '"other points"')]
)
def test_what_the_ledger_does_not_know_is_judged(accepted, known, now):
    ledger(accepted).write_text(ledger(accepted).read_text().replace(known, now))
    assert run(accepted, "--gate").parseoutcomes()["failed"] == 1


def test_a_verdict_on_every_claim_cannot_be_asked_for_too(accepted):
    result = run(accepted, "--gate", "--require-verdict")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*give one of them*"])


def test_a_sentence_that_no_file_can_hold_costs_its_own_claim(outside_project):
    claims = outside_project.path / "test_lines.py"
    claims.write_text(claims.read_text().replace("steeper targets", r"steeper \ud83d targets"))
    result = run(outside_project, "--update-ledger")
    result.assert_outcomes(errors=2, xfailed=1, skipped=1)
    result.stdout.fnmatch_lines(["*sentence is *which is no Unicode text*"])
    assert "900/flatter" in ledger(outside_project).read_text()


def test_a_verdict_is_shown_beside_the_opposite_one_at_another_size(accepted):
    entry = ledger(accepted).read_text().split("[[claim]]")[1]
    assert 'claim = "900/flatter"' in entry
    larger = entry.replace('profile = "ci"', 'profile = "paper"')
    with ledger(accepted).open("a") as file:
        file.write("[[claim]]" + larger.replace(REFUTED, 'verdict = "reproduced"'))
    result = run(accepted, "--report", "written")
    result.stdout.fnmatch_lines(
        ["REFUTED      900/flatter", "*another size the opposite: reproduced at paper (points)"]
    )
    claims = json.loads((accepted.path / "written" / "results.json").read_text())["claims"]
    said = {each["claim"]: each.get("opposed") for each in claims}
    assert said.pop("900/flatter") == "reproduced at paper (points)"
    assert set(said.values()) == {None}
