"""A claim's test is called once where that is enough, and what it judged then is its verdict."""

import logging
import warnings

import pytest

from repro.plugin.call import listening
from tests.plugin.sessions import run, run_apart, trained

CLAIMS = """
import logging
import warnings
from pathlib import Path

import pytest
from repro import claim
from line import Line

def compare(trials, name):
    with Path(__file__).with_name("called").open("a") as file:
        file.write(name + " ")
    steep, flat = trials(Line(target=4.0), Line(target=1.0))
    return steep.slope, flat.slope

@claim("steeper targets give steeper lines", source="900, Text")
def test_holds(trials):
    steep, flat = compare(trials, "holds")
    assert steep > flat

@claim("flat targets give steeper lines", source="900, Text")
def test_fails(trials):
    steep, flat = compare(trials, "fails")
    assert flat > steep

@claim("a claim that prints", source="900, Text")
def test_prints(trials):
    steep, flat = compare(trials, "prints")
    print("the steep one is", steep.label)
    assert flat > steep

@claim("a claim that logs", source="900, Text")
def test_logs(trials):
    steep, flat = compare(trials, "logs")
    logging.getLogger("mine").warning("logged")
    assert steep > flat

@claim("a claim that warns", source="900, Text")
def test_warns(trials):
    steep, flat = compare(trials, "warns")
    warnings.warn("old", DeprecationWarning)
    assert steep > flat

@claim("a claim with a slip", source="900, Text")
def test_slips(trials):
    steep, flat = compare(trials, "slips")
    assert steep > flat
    assert 1 + 1 == 3

@claim("a claim without a statement", source="900, Text")
def test_says_nothing(trials):
    compare(trials, "nothing")
"""
EVERY = ("holds", "fails", "prints", "logs", "warns", "slips", "nothing")


@pytest.fixture
def called(project):
    """Tells how often the test of each claim was called since it was asked last."""
    project.makepyfile(test_lines=CLAIMS)
    file = project.path / "called"

    def told():
        calls = file.read_text().split()
        file.unlink()
        return {name: calls.count(name) for name in EVERY}

    return told


def test_a_stored_claim_is_called_once_unless_pytest_has_to_show_what_else_it_did(project, called):
    first = run(project)
    called()
    again = run(project)
    twice = dict.fromkeys(("prints", "logs", "warns", "nothing"), 2)
    assert called() == {"holds": 1, "fails": 1, "slips": 1} | twice
    for result in (first, again):
        result.assert_outcomes(passed=3, failed=4, warnings=1)
        shown = result.stdout.str()
        assert "the steep one is" in shown  # what pytest captures of a test that fails
        assert "The assertion that failed is none of the claim's findings" in shown
        assert "passed without judging anything" in shown
    assert first.parseoutcomes() == again.parseoutcomes()
    assert trained(again)[1] == 0


def test_a_warning_that_is_an_error_in_a_test_is_one_in_a_claim(project, called):
    run(project)
    result = run(project, "-W", "error::DeprecationWarning", "-k", "test_warns")
    result.assert_outcomes(failed=1, deselected=6)
    result.stdout.fnmatch_lines(["*DeprecationWarning: old*"])


def test_a_debugger_sees_the_call_of_the_test(project, called):
    run(project)
    called()
    run(project, "--pdb", "-k", "test_holds")
    assert called()["holds"] == 2


@pytest.mark.thorough
def test_workers_read_from_the_claim_that_they_judge_first(outside_project):
    claims = CLAIMS.split("@claim")[0] + (
        """
import os
import time

WORKER = os.environ.get("PYTEST_XDIST_WORKER")

@claim("steeper targets give steeper lines", source="900, Text")
@pytest.mark.parametrize("number", range(100))
def test_holds(trials, number):
    steep, flat = compare(trials, f"{number}:{WORKER}")
    give_up = time.monotonic() + 60
    while WORKER and number in (0, 50) and time.monotonic() < give_up:
        calls = Path(__file__).with_name("called").read_text()
        if {"0", "50"} <= {call.partition(":")[0] for call in calls.split()}:
            break  # neither worker reads ahead while the other one waits for its core
        time.sleep(0.01)
    assert steep > flat
"""
    )
    outside_project.makepyfile(test_lines=claims)
    run_apart(outside_project, "-k", "test_holds[0]")
    file = outside_project.path / "called"
    file.unlink()
    result = run_apart(outside_project, "-n", "2", "--update-ledger", "--reference-seeds", "0")
    result.assert_outcomes(passed=100)
    calls = [call.split(":") for call in file.read_text().split()]
    numbers, workers = zip(*calls, strict=True)
    assert set(numbers) == {str(number) for number in range(100)}
    begun = [numbers[workers.index(worker)] for worker in ("gw0", "gw1")]
    assert set(begun) == {"0", "50"}  # a block each, read from its beginning
    # A claim that is judged by another worker than the one that read it is called twice. Those that
    # an idle worker takes over may be; the first two of a worker cannot be taken.
    assert [numbers.count(number) for number in ("0", "1", "50", "51")] == [1, 1, 1, 1]


def test_whatever_is_printed_logged_or_warned_is_heard():
    with listening() as heard:
        pass
    assert not heard
    for sound in (
        lambda: print("x"),
        lambda: logging.getLogger("mine").error("x"),
        lambda: warnings.warn("x", DeprecationWarning, stacklevel=1),
    ):
        with listening() as heard:
            sound()
        assert heard
    with pytest.raises(ZeroDivisionError), listening():
        print(1 / 0)
    assert not [each for each in logging.getLogger().handlers if type(each).__name__ == "_Counting"]
