"""The order in which claims are run, and what pytest sets up and tears down around them."""

import re

import pytest

from tests.plugin.sessions import change, run, run_apart, trained, with_claims

LOGS = "with open('trained', 'a') as log: log.write(f'{arm.target} ')"

DEAR_FIRST = """
@claim("dear", source="900")
def test_dear(trials):
    assert trials(Line(target=9.0)).slope > 0

@claim("cheap", source="900")
def test_cheap(trials):
    assert trials(Line(target=2.0)).slope > {bound}
"""


@pytest.fixture
def project(outside_project):
    """The project; its study keeps a list of what it has trained."""
    change(outside_project, "time.sleep(0)", LOGS)
    change(outside_project, "gauss(0.4, 0.3)", "gauss(0.4, 0.05)")
    return outside_project


def ran(result):
    """The tests in the order in which they were run."""
    return re.findall(r"::test_(\w+) [A-Z]+", result.stdout.str())


def trainings(project):
    log = project.path / "trained"
    return log.read_text().split() if log.exists() else []


def test_claims_are_judged_as_their_runs_come_and_nothing_is_trained_twice(project):
    with_claims(project, DEAR_FIRST.format(bound=0))
    first = run(project)
    first.assert_outcomes(passed=2)
    assert ran(first) == ["cheap", "dear"]
    assert trainings(project) == ["2.0"] * 5 + ["9.0"] * 5
    assert trained(run(project)) == (10, 0)
    assert len(trainings(project)) == 10


def test_after_the_first_failure_nothing_more_is_trained(project):
    with_claims(project, DEAR_FIRST.format(bound=9))
    result = run(project, "-x")
    result.assert_outcomes(failed=1)
    assert trainings(project) == ["2.0"] * 5


@pytest.mark.thorough
def test_stepwise_leaves_no_claim_out_that_was_not_judged(project):
    with_claims(project, DEAR_FIRST.format(bound=9))
    first = project.runpytest_inprocess("-v", "-n", "0", "--sw")
    first.assert_outcomes(passed=1, failed=1)
    assert ran(first) == ["dear", "cheap"]
    for option in ("--sw", "--lf"):
        again = project.runpytest_inprocess("-v", "-n", "0", option)
        assert ran(again) == ["cheap"]


@pytest.mark.parametrize(
    "option", ["--collect-only", "--setup-plan", "--fixtures", "--help", "--version"]
)
def test_what_runs_no_tests_starts_nothing(project, option):
    result = run(project, option)
    assert result.ret == pytest.ExitCode.OK
    assert trainings(project) == []
    assert "claims wait for" not in result.stdout.str()


MIXED = """
def test_unit(): pass

@claim("x", source="{source}")
@pytest.mark.parametrize("target", [1.0, 2.0, 3.0])
def test_it(trials, target):
    assert trials(Line(target=target)).slope > 0
"""


@pytest.mark.thorough
@pytest.mark.parametrize("how", [("--dist", "loadfile"), ()], ids=["by file", "as usual"])
def test_workers_run_claims_and_other_tests_of_all_files(project, how):
    text = with_claims(project, MIXED.format(source="900")).path / "test_lines.py"
    for name in ("901", "902"):
        (project.path / f"test_{name}.py").write_text(text.read_text().replace("900", name))
    result = run_apart(project, "-n", "2", *how)
    result.assert_outcomes(passed=12)
    assert len(trainings(project)) == 15, "the workers have trained a run twice"
    assert trained(result) == (15, 15), "what workers share is counted once"
    claims = re.findall(r"\[(gw.)\] [ \[\]%0-9]+ PASSED \S+test_it", result.stdout.str())
    assert len(claims) == 9
    assert set(claims) == {"gw0", "gw1"}


@pytest.mark.thorough
def test_claims_alone_have_no_workers_and_are_trained_side_by_side(project):
    change(project, "import random", "import os, random")
    change(project, LOGS, f"{LOGS}; time.sleep(0.3); open(f'by_{{os.getpid()}}', 'w').close()")
    with_claims(project, DEAR_FIRST.format(bound=0))
    result = run_apart(project, "-n", "3")
    result.assert_outcomes(passed=2)
    assert ran(result) == ["cheap", "dear"]
    assert "created: " not in result.stdout.str(), "workers were started"
    assert len(list(project.path.glob("by_*"))) > 1, "one trainer has trained all"


FIXTURES = """
@pytest.fixture
def target(tmp_path):
    (tmp_path / "target").write_text("2.0")
    yield float((tmp_path / "target").read_text())

@claim("it takes a fixture", source="900")
def test_fixture(trials, target, tmp_path):
    assert (tmp_path / "target").exists()
    assert trials(Line(target=target)).slope > 0

@claim("it takes the request", source="900")
def test_request(trials, request):
    assert trials(Line(target=3.0)).slope > 0

class TestSetUp:
    def setup_method(self):
        self.arm = Line(target=4.0)

    @claim("it is set up", source="900")
    def test_method(self, trials):
        assert trials(self.arm).slope > 0
"""

AUTOUSE = """
STARTED = []

@pytest.fixture(autouse=True)
def started():
    STARTED.append(True)

@claim("something starts by itself", source="900")
def test_it(trials):
    assert trials(Line(target=2.0 if STARTED else 1.0)).slope > 0
"""


@pytest.mark.thorough
def test_claims_take_fixtures_and_are_trained_when_their_test_runs(project):
    result = run(with_claims(project, FIXTURES))
    result.assert_outcomes(passed=3)
    assert trained(result) == (15, 15)
    result.stdout.fnmatch_lines(
        [
            "900/fixture takes target, tmp_path, which exists only while its test runs: *",
            "900/request takes request, which *",
            "900/method takes setup_method, which *",
        ]
    )
    run(with_claims(project, AUTOUSE)).assert_outcomes(passed=1)  # it may change what is asked


LOUD = """
import warnings

@claim("it prints", source="900")
def test_prints(trials):
    print("a word of the claim")
    warnings.warn("a warning of the claim")
    assert trials(Line(target=2.0)).slope > 0

@claim("it holds", source="900")
def test_holds(trials):
    assert trials(Line(target=3.0)).slope > 0
"""


def test_a_claim_prints_and_warns_as_any_test_does(project):
    with_claims(project, LOUD)
    result = run(project, "-W", "always")
    result.assert_outcomes(passed=2, warnings=1)
    assert "a word of the claim" not in result.stdout.str()
    strict = run(project, "-W", "error")
    strict.assert_outcomes(passed=1, failed=1)
    assert trained(strict) == (10, 0)
    strict.stdout.fnmatch_lines(["*UserWarning: a warning of the claim", "a word of the claim"])


CALLED = """
import warnings

def note():
    with open("calls", "a") as calls:
        calls.write(".")

@claim("it notes its calls", source="900")
def test_it(trials):
    note()
    {also}
    assert trials(Line(target=2.0)).slope > {bound}
"""

IN_A_CLASS = """
def note():
    with open("calls", "a") as calls:
        calls.write(".")

class TestIt:
    @claim("it notes its calls", source="900")
    def test_it(self, trials):
        note()
        assert trials(Line(target=2.0)).slope > 0
"""

WRAPPED = """
def pytest_runtest_setup(item):
    test = item.obj
    item.obj = lambda **given: item.module.note() or test(**given)
"""


@pytest.mark.parametrize(
    ("claims", "options", "conftest", "calls"),
    [
        (CALLED.format(also="pass", bound=0), (), "", 1),
        (CALLED.format(also="pass", bound=9), (), "", 1),
        (CALLED.format(also="print('aloud')", bound=0), (), "", 2),
        (CALLED.format(also="warnings.warn('beware')", bound=0), (), "", 2),
        # only the test itself may say that a claim is left out
        (CALLED.format(also="pytest.skip('later')", bound=0), (), "", 2),
        (CALLED.format(also="pass", bound=0), ("-s",), "", 2),
        (CALLED.format(also="pass", bound=0), (), WRAPPED, 3),
        (IN_A_CLASS, (), "", 1),
    ],
    ids=["holds", "fails", "prints", "warns", "skips", "-s", "wrapped", "method"],
)
def test_the_test_of_a_stored_claim_is_called_once(project, claims, options, conftest, calls):
    """It is called to know what it misses, and again only if that was not its whole test."""
    with_claims(project, claims)
    run(project)
    (project.path / "conftest.py").write_text(conftest)
    (project.path / "calls").unlink()
    run(project, *options)
    assert len((project.path / "calls").read_text()) == calls
