"""Claims among pytest's other tests: selected by mark and name, shown by sentence, trained last."""

import inspect
import re

import pytest

from repro import claim
from repro.marks import figure
from tests.plugin.sessions import run, run_apart

UNITS = """

def test_a_unit():
    assert not list(Path("store").rglob("*.json")), "something was trained before"
"""

BESIDE = """
from repro.marks import figure

@claim("seven comes before eight", source="901, Table 2")
def test_steep_too(trials):
    '''What the author adds.'''
    steep, flat = trials(Line(target=8.0), Line(target=7.0))
    assert steep.slope > flat.slope

@figure("Slopes", source="900, Figure 1", x="target", y="slope")
def test_slopes(plot):
    plot.panel("all").line("line", [Line(target=1.0)], at=[1])
"""


@pytest.fixture
def mixed(project):
    """Claims of two sources, a figure, and below them a unit test."""
    claims = project.path / "test_lines.py"
    claims.write_text("from pathlib import Path\n" + claims.read_text() + BESIDE + UNITS)
    return project


def selected(project, *options):
    result = project.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider", *options)
    return re.findall(r"::test_(\S+)", result.stdout.str())


@pytest.mark.parametrize("function", [claim, figure])
def test_pytest_tells_of_every_word_of_a_marker(project, function):
    text = project.runpytest_inprocess("--markers").stdout.str()
    line = re.search(rf"@pytest\.mark\.{function.__name__}\((.*?)\): ", text)
    given = [part.split("=")[0] for part in line[1].replace(" ", "").split(",") if part != "*"]
    assert given == list(inspect.signature(function).parameters)


def test_marks_and_names_select_claims(mixed):
    everything = ["steeper[1.0]", "steeper[2.0]", "flatter", "large", "steep_too"]
    assert selected(mixed, "-m", "claim") == everything
    assert selected(mixed, "-m", "not claim") == ["a_unit"]
    assert selected(mixed, "-k", "900") == everything[:4]
    assert selected(mixed, "-k", "901") == ["steep_too"]
    assert selected(mixed, "-k", "steeper") == everything[:2]
    assert selected(mixed, "-k", "900/steeper[2.0]") == ["steeper[2.0]"]


def test_the_tree_of_tests_shows_what_claims_say(mixed):
    shown = mixed.runpytest_inprocess("--collect-only", "-v").stdout.str()
    assert shown.count("steeper targets give steeper lines (900, Text)\n") == 2
    lines = [line.strip() for line in shown.splitlines()]
    at = lines.index("seven comes before eight (901, Table 2)")
    assert lines[at + 1] == "What the author adds."
    assert "seven comes before" not in mixed.runpytest_inprocess("--collect-only").stdout.str()


def test_unit_tests_do_not_wait_for_training(mixed):
    result = run(mixed)
    result.assert_outcomes(passed=4, failed=1, skipped=1, deselected=1)
    result.stdout.fnmatch_lines(["*::test_a_unit PASSED*", "*claims wait for*", "reproduced *"])
    assert list((mixed.path / "store").rglob("*.json"))


def test_where_a_unit_test_ends_the_session_nothing_is_trained(mixed):
    claims = mixed.path / "test_lines.py"
    claims.write_text(claims.read_text().replace("assert not list", "assert list"))
    result = run(mixed, "-x")
    result.assert_outcomes(failed=1, deselected=1)
    assert "claims wait for" not in result.stdout.str()
    assert "stopping after 1 failures" in result.stdout.str()


def test_a_unit_test_that_fails_keeps_no_claim_from_training(mixed):
    claims = mixed.path / "test_lines.py"
    claims.write_text(claims.read_text().replace("assert not list", "assert list"))
    run(mixed).assert_outcomes(passed=3, failed=2, skipped=1, deselected=1)


@pytest.mark.thorough
def test_unit_tests_do_not_wait_where_workers_train(mixed):
    result = run_apart(mixed, "-n", "2")
    result.assert_outcomes(passed=4, failed=1, skipped=1)
    text = result.stdout.str()
    assert text.index("test_a_unit") < text.index("reproduced")


@pytest.mark.thorough
def test_letters_of_unit_tests_and_lines_of_claims_do_not_share_a_line(mixed):
    text = mixed.runpytest_subprocess("-n", "2").stdout.str()
    assert re.search(r"^\.$", text, re.MULTILINE)
    assert re.search(r"^reproduced  ", text, re.MULTILINE)


RENAMED = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.claim("Steeper", source="902, Figure 3"), append=False)
"""


def test_a_claim_goes_by_the_source_that_a_conftest_gives_it_later(project):
    project.makeconftest(RENAMED)
    shown = project.runpytest_inprocess("-k", "900/flatter").stdout.str()
    assert "902/flatter" in shown
    assert "900/flatter" not in shown
