"""A ledger whose runs were other runs: of another machine, of more seeds, of other bits."""

import re

import pytest

from repro.ledger import Ledger
from tests.plugin.sessions import run, trained

pytestmark = pytest.mark.thorough

OPEN = """
from repro import claim
from line import Line

@claim("a flat line rises", source="900, Text")
def test_rises(trials):
    assert trials(Line()).slope > {bound}
"""
ELSEWHERE = "cpu of another kind, torch 1.0, loop"
CLEAR, ABOVE, AT = -1.0, 0.1, 0.38  # slopes are 0.4 on average, with a spread of 0.3
NO_DOUBT, VANISHED = "[[0.1, 0.3, 20]]", "[[3.0, 0.3, 20]]"


@pytest.fixture
def claimed(outside_project):
    """A project with one claim, which was reproduced when its bound was a lower one."""

    def at(bound):
        outside_project.makepyfile(test_lines=OPEN.format(bound=bound))
        return outside_project

    (outside_project.path / "ledger").mkdir()
    run(at(ABOVE), "--update-ledger", "--reference-seeds", "0").assert_outcomes(passed=1)
    return at


def ledger(project):
    return project.path / "ledger" / "test_lines.toml"


def accepted(project, past, machine=ELSEWHERE):
    text = re.sub(r'machine = ".*"', f'machine = "{machine}"', ledger(project).read_text())
    ledger(project).write_text(re.sub(r"past = .*", f"past = {past}", text))


def entry(project):
    [only] = Ledger.read(ledger(project)).entries.values()
    return only


def test_accepting_extends_the_runs_behind_what_is_reproduced(claimed):
    told = "what is reproduced takes 20 seeds, for the ledger"
    run(claimed(ABOVE), "--plan", "--update-ledger").stdout.fnmatch_lines([told])
    run(claimed(ABOVE), "--plan").stdout.no_fnmatch_line("*for the ledger")
    assert trained(run(claimed(ABOVE), "--update-ledger", "--reference-seeds", "14"))[0] == 14
    assert [seeds for *_, seeds in entry(claimed(ABOVE)).past] == [14]
    needed, now = trained(run(claimed(ABOVE), "--update-ledger"))
    assert needed == 20
    assert now > 0
    [(_, spread, seeds)] = entry(claimed(ABOVE)).past
    assert seeds == 20
    assert 0.2 < spread < 0.4
    assert entry(claimed(ABOVE)).measured.endswith(", 12 seeds"), "as the looks have it"
    again = run(claimed(ABOVE))
    assert trained(again)[1] == 0
    again.assert_outcomes(passed=1)


def test_the_gate_looks_once_and_gives_more_seeds_where_it_is_in_doubt(claimed):
    project = claimed(AT)
    accepted(project, NO_DOUBT)
    assert trained(run(project, "--gate"))[0] == 5
    accepted(project, "[[0.4, 0.3, 20]]")
    result = run(project, "--gate")
    result.assert_outcomes(xfailed=1)
    assert trained(result)[0] > 5
    line = "INCONCLUSIVE 900/rises  (open at 5 seeds, at 30 seeds looks smaller than it was)"
    result.stdout.fnmatch_lines([line])


def test_no_arm_gets_more_seeds_than_the_budget(claimed):
    accepted(claimed(AT), "[[0.4, 0.3, 20]]")
    for more in ([], ["--gate"]):
        result = run(claimed(AT), "--seed-budget", "8", *more)
        result.assert_outcomes(xfailed=1)
        assert trained(result)[0] == 8
        result.stdout.fnmatch_lines(["*looks smaller than it was: too few to tell)*"])
    run(claimed(CLEAR), "--seed-budget", "8", "--update-ledger").assert_outcomes(passed=1)
    assert [seeds for *_, seeds in entry(claimed(CLEAR)).past] == [8]
    accepted(claimed(AT), VANISHED)
    run(claimed(AT), "--seed-budget", "8").assert_outcomes(xfailed=1)  # 12 are needed to decide


def test_fewer_seeds_do_not_overwrite_what_more_have_found(claimed):
    accepted(claimed(AT), NO_DOUBT)
    before = ledger(claimed(AT)).read_text()
    result = run(claimed(AT), "--seed-budget", "5", "--update-ledger")
    result.stdout.fnmatch_lines(["the ledger was updated: 0 verdicts changed"])
    assert ledger(claimed(AT)).read_text() == before
