"""Sessions and their ledgers: one a file of claims, and entries without a claim."""

import pytest

from repro.ledger import Ledger
from tests.plugin.sessions import run, run_apart

pytestmark = pytest.mark.thorough

MORE = """
from repro import claim
from line import Line

@claim("lines rise", source="901, Text")
def test_rises(trials):
    assert trials(Line(target=5.0)).slope > 0

@claim("lines fall", source="901, Text")
def test_falls(trials):
    assert trials(Line(target=5.0)).slope < 0
"""


@pytest.fixture
def split(outside_project):
    """Two files of claims, and an empty folder for their ledgers."""
    outside_project.makepyfile(test_more=MORE)
    (outside_project.path / "ledger").mkdir()
    return outside_project


def ledger(project, name):
    return project.path / "ledger" / f"test_{name}.toml"


def claims_in(path):
    return sorted(entry.claim for entry in Ledger.read(path).entries.values())


def test_each_file_of_claims_gets_a_ledger_and_the_gate_holds_both(split):
    run(split, "--update-ledger").assert_outcomes(passed=3, xfailed=2, skipped=1)
    assert claims_in(ledger(split, "lines")) == [
        "900/flatter",
        "900/steeper[1.0]",
        "900/steeper[2.0]",
    ]
    assert claims_in(ledger(split, "more")) == ["901/falls", "901/rises"]
    assert not (split.path / "ledger.toml").exists()
    run(split).assert_outcomes(passed=3, xfailed=2, skipped=1)


LOOKS = MORE.replace('source="901, Text"', 'source="901, Text", looks={"ci": (3, 6)}', 1)


def test_a_claim_is_judged_at_the_looks_that_it_declares_and_the_ledger_has_them(outside_project):
    outside_project.makepyfile(test_lines=LOOKS)
    result = run(outside_project, "--update-ledger", "--reference-seeds", "0")
    result.stdout.fnmatch_lines(["*901/rises *, 6 seeds"])  # no look of its profile
    [path] = outside_project.path.rglob("ledger/*.toml")
    looks = {entry.claim: list(entry.looks) for entry in Ledger.read(path).entries.values()}
    assert looks == {"901/rises": [3, 6], "901/falls": []}
    short = run(outside_project, "--seed-budget", "4", "-k", "rises")
    short.stdout.fnmatch_lines(["*901/rises *, 4 seeds*"])


def test_a_claim_whose_entry_lies_in_the_ledger_of_another_file_fails_alone(split):
    run(split, "--update-ledger")
    (split.path / "test_more.py").rename(split.path / "test_most.py")
    before = ledger(split, "more").read_bytes()
    for options in ((), ("--update-ledger",)):
        result = run(split, *options)
        result.assert_outcomes(passed=2, xfailed=1, skipped=1, errors=2)
        assert result.ret == 1
        said = "*The ledger *test_more.toml has 901/rises, whose claim is in test_most.py: *"
        result.stdout.fnmatch_lines([said])
        assert "without a claim" not in result.stdout.str()
        assert ledger(split, "more").read_bytes() == before


def test_a_bad_ledger_stops_the_sessions_of_its_claims_and_of_no_others(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    sound = ledger(split, "lines").read_text()
    anew = ("--store", "empty")
    twice = sound + ledger(split, "more").read_text().partition("\n\n")[2]
    for content, said in (("<<<<<<< HEAD\n", "*cannot be read*"), (twice, "*both have 901/*")):
        ledger(split, "lines").write_text(content)
        for result in (run(split, *anew), run_apart(split, "-n", "2", *anew)):
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            result.stderr.fnmatch_lines([f"*test_lines.toml {said}"])
            assert len(result.outlines + result.errlines) < 12
            assert not list(split.path.glob("empty/runs/*"))
    ledger(split, "lines").write_text("<<<<<<< HEAD\n")
    run(split, "test_more.py").assert_outcomes(passed=1, xfailed=1)


def test_a_ledger_that_goes_bad_while_claims_train_costs_its_file_alone(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    (split.path / "conftest.py").write_text(
        "from pathlib import Path\n\ndef pytest_sessionstart(session):\n"
        "    Path(__file__).parent.joinpath('ledger', 'test_lines.toml').write_text('<<<<')\n"
    )
    result = run(split)
    result.assert_outcomes(passed=1, xfailed=1, errors=4)
    result.stdout.fnmatch_lines(["*test_lines.toml cannot be read*"])


def renamed(project):
    """Accept all verdicts, and rename a claim that was reproduced."""
    run(project, "--update-ledger", "--reference-seeds", "0")
    path = project.path / "test_lines.py"
    path.write_text(path.read_text().replace("test_steeper", "test_more_steep"))


def test_a_renamed_claim_fails_the_gate_and_goes_with_an_update(split):
    renamed(split)
    line = "*test_lines.toml has entries without a claim: 900/steeper[[]1.0], 900/steeper[[]2.0]. *"
    for result in (run(split), run_apart(split, "-n", "2")):
        assert result.ret == 1
        to = "*look renamed: 900/steeper[[]1.0] to 900/more_steep[[]1.0], *"
        result.stdout.fnmatch_lines([line, to])
    result = run(split, "--update-ledger", "--reference-seeds", "0")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*entries without a claim were removed: 900/steeper*"])
    assert claims_in(ledger(split, "lines"))[0] == "900/flatter"
    assert "900/steeper[1.0]" not in claims_in(ledger(split, "lines"))


def test_claims_that_are_not_selected_are_there(split):
    renamed(split)
    for selected in (["test_more.py"], ["test_more.py::test_falls"], ["--ignore", "test_lines.py"]):
        assert "without a claim" not in run(split, *selected).stdout.str(), selected
    for selected in (["test_lines.py"], ["test_lines.py::test_flatter"], ["-k", "flatter"]):
        shown = run(split, *selected).stdout.str()
        assert "without a claim: 900/steeper" in shown, selected
        assert "901/" not in shown.partition("without a claim")[2]  # not asked for, and there


def test_an_update_of_one_file_removes_the_ledger_of_a_deleted_file_and_of_no_renamed_one(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    update = ("test_lines.py", "--update-ledger", "--reference-seeds", "0")
    (split.path / "test_more.py").rename(split.path / "test_most.py")
    assert run(split, *update).ret == 0
    assert ledger(split, "more").exists()
    (split.path / "test_most.py").unlink()
    result = run(split, "test_lines.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_more.toml has entries without a claim: 901/falls, 901/*"])
    assert run(split, *update).ret == 0
    assert not ledger(split, "more").exists()


def test_a_claim_that_is_rewritten_or_moved_goes_on_with_an_update(split):
    run(split, "--update-ledger", "--reference-seeds", "0")
    path = split.path / "test_more.py"
    moved = MORE.replace("5.0", "5.0, data='others'").replace(" rise", " climb")
    path.write_text(moved)
    assert run(split).ret == pytest.ExitCode.TESTS_FAILED
    update = run(split, "--update-ledger", "--reference-seeds", "0")
    assert update.ret == 0
    update.stdout.fnmatch_lines(["the entry of 901/rises on points was removed: *"])
    entries = Ledger.read(ledger(split, "more")).of_claim("901/rises")
    assert [(entry.sentence, entry.data) for entry in entries] == [("lines climb", "others")]
    assert run(split).ret == 0
