"""Training that ends its process: the run is named, and every other claim is judged."""

import pytest

from tests.plugin.sessions import change, run_apart

CLAIMS = """
from repro import claim
from line import Line

@claim("the first one ends its process", source="900, Text")
def test_ends(trials):
    steep, flat = trials(Line(target=13.0), Line(target=1.0))
    assert steep.slope > flat.slope

@claim("flat targets give flat lines", source="900, Text")
def test_goes_on(trials):
    steep, flat = trials(Line(target=4.0), Line(target=1.0))
    assert steep.slope > flat.slope
"""


@pytest.fixture
def ending(outside_project):
    """A project in which one run ends its process, by these words."""

    def by(words):
        outside_project.makepyfile(test_lines=CLAIMS)
        lines = f"import os, signal\n    if (arm.target, seed) == (13.0, 3):\n        {words}"
        change(outside_project, "time.sleep(0)", lines)
        return outside_project

    return by


@pytest.mark.thorough
@pytest.mark.parametrize("signal", ["SIGSEGV", "SIGKILL"])
def test_a_crash_names_its_run_and_the_other_claim_is_judged(ending, signal):
    result = run_apart(ending(f"os.kill(os.getpid(), signal.{signal})"), "-n", "2")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["reproduced*900/goes_on*"])
    result.stdout.fnmatch_lines(["*line*, seed 3, ended its process twice (a crash in native*"])
    assert "crashed while running" not in result.stdout.str()


@pytest.mark.parametrize("status", [0, 1])
def test_an_exit_of_its_own_is_no_exit_of_the_session(ending, status):
    result = ending(f"os._exit({status})").runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"*seed 3, failed to train: *it called os._exit({status}), which*"]
    )
    result.stdout.fnmatch_lines(["reproduced*900/goes_on*"])
