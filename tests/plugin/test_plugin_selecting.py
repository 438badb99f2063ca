"""Claims among pytest's other tests: selected by mark and name, shown by sentence, trained last."""

import re

import pytest

from tests.plugin.sessions import run

pytestmark = pytest.mark.thorough

UNITS = """

def test_a_unit():
    assert list(Path("store").rglob("*.json")), "nothing was trained before"
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
def mixed(outside_project):
    """Claims of two sources, a figure, and below them a unit test."""
    claims = outside_project.path / "test_lines.py"
    claims.write_text("from pathlib import Path\n" + claims.read_text() + BESIDE + UNITS)
    return outside_project


def selected(project, *options):
    result = project.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider", *options)
    return re.findall(r"::test_(\S+)", result.stdout.str())


def test_marks_and_names_select_claims(mixed):
    everything = ["steeper[1.0]", "steeper[2.0]", "flatter", "large", "steep_too"]
    assert selected(mixed, "-m", "claim") == everything
    assert selected(mixed, "-m", "not claim") == ["a_unit"]
    assert selected(mixed, "-k", "900") == everything[:4]
    assert selected(mixed, "-k", "901") == ["steep_too"]
    assert selected(mixed, "-k", "steeper") == everything[:2]
    assert selected(mixed, "-k", "900/steeper[2.0]") == ["steeper[2.0]"]


def test_a_file_that_is_named_may_skip_itself(mixed):
    mixed.makepyfile(test_later="import pytest\npytest.skip('later', allow_module_level=True)")
    assert selected(mixed, "test_later.py", "test_lines.py::test_large") == ["large"]


def test_the_tree_of_tests_shows_what_claims_say(mixed):
    shown = mixed.runpytest_inprocess("--collect-only", "-v").stdout.str()
    assert shown.count("steeper targets give steeper lines (900, Text)\n") == 2
    lines = [line.strip() for line in shown.splitlines()]
    at = lines.index("seven comes before eight (901, Table 2)")
    assert lines[at + 1] == "What the author adds."
    assert "seven comes before" not in mixed.runpytest_inprocess("--collect-only").stdout.str()


def test_where_a_unit_test_ends_the_session_nothing_is_trained(mixed):
    result = run(mixed, "-x")
    result.assert_outcomes(failed=1, deselected=1)
    assert "claims wait for" not in result.stdout.str()
    assert "stopping after 1 failures" in result.stdout.str()
