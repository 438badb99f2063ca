"""A ledger that was written on another kind of machine, or with more seeds."""

import re

import pytest

from repro.ledger import Ledger
from tests.plugin.sessions import run

OPEN = """
from repro import claim
from line import Line

@claim("a flat line rises", source="900, Text")
def test_rises(trials):
    assert trials(Line()).slope > {bound}
"""
ELSEWHERE = "cpu of another kind, torch 1.0, loop"
ABOVE, AT, FAR_BELOW = 0.1, 0.38, 0.9  # slopes are 0.4 on average, with a spread of 0.3


@pytest.fixture
def claimed(outside_project):
    """A project with one claim, which was reproduced when its bound was a lower one."""

    def at(bound):
        outside_project.makepyfile(test_lines=OPEN.format(bound=bound))
        return outside_project

    run(at(ABOVE), "--update-ledger").assert_outcomes(passed=1)
    return at


def accepted_elsewhere(project, past, machine=ELSEWHERE):
    path = project.path / "ledger.toml"
    text = re.sub(r'machine = ".*"', f'machine = "{machine}"', path.read_text())
    path.write_text(re.sub(r"past = .*", f"past = {past}", text))


def test_the_ledger_says_where_and_by_how_much(claimed):
    [entry] = Ledger.read(claimed(ABOVE).path / "ledger.toml").entries.values()
    assert re.fullmatch(r"cpu .+, torch \d.+, loop", entry.machine)
    [(mean, spread, seeds)] = entry.past
    assert 0.1 < mean < 0.6
    assert 0.1 < spread < 0.6
    assert seeds in (5, 8, 12)


def test_what_stays_open_here_and_agrees_is_no_failure(claimed):
    accepted_elsewhere(claimed(AT), "[[0.3, 0.3, 12]]")
    result = run(claimed(AT))
    # not a pass: it is shown as the finding that it is, and only does not fail the build
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE 900/rises  (open here (reproduced on another*"])
    result.stdout.no_fnmatch_line("*--update-ledger*")


@pytest.mark.parametrize(
    ("bound", "past"),
    [(AT, "[[1.0, 0.2, 12]]"), (AT, "[]"), (FAR_BELOW, "[[0.01, 0.3, 12]]")],
    ids=["it has shrunk", "nobody knows by how much", "it is refuted"],
)
def test_anything_else_fails(claimed, bound, past):
    accepted_elsewhere(claimed(bound), past)
    result = run(claimed(bound))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*accepted in the ledger: reproduced on {ELSEWHERE}"])


def test_on_the_same_kind_of_machine_open_is_a_failure(claimed):
    project = claimed(AT)
    [entry] = Ledger.read(project.path / "ledger.toml").entries.values()
    accepted_elsewhere(project, "[[0.3, 0.3, 12]]", machine=entry.machine)
    run(project).assert_outcomes(failed=1)


@pytest.fixture
def of_more_seeds(claimed):
    """A project whose ledger needed the second look; this session has the first alone."""

    def at(past):
        project = claimed(AT)
        [entry] = Ledger.read(project.path / "ledger.toml").entries.values()
        accepted_elsewhere(project, past, machine=entry.machine)
        return run(project, "--seed-budget", "5")

    return at


def test_at_fewer_seeds_than_the_ledgers_it_must_agree(of_more_seeds):
    result = of_more_seeds("[[0.3, 0.3, 8]]")
    # no pass here either: it is shown as open, and only does not fail the build
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE 900/rises  (open at 5 seeds (reproduced at 8))"])


def test_fewer_seeds_do_not_overwrite_what_more_have_found(claimed, of_more_seeds):
    of_more_seeds("[[0.3, 0.3, 8]]")
    path = claimed(AT).path / "ledger.toml"
    before = path.read_text()
    result = run(claimed(AT), "--seed-budget", "5", "--update-ledger")
    result.stdout.fnmatch_lines(["the ledger was updated: 0 entries changed"])
    assert path.read_text() == before


@pytest.mark.parametrize("past", ["[[1.0, 0.2, 8]]", "[[0.3, 0.3, 5]]"], ids=["shrunk", "as many"])
def test_at_fewer_seeds_anything_else_fails(of_more_seeds, past):
    result = of_more_seeds(past)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["reproduce with: *::test_rises* --profile ci --seed-budget 5"])
