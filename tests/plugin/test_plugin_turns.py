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


SCOPES = r"""
import pytest

def log(words):
    with open("scopes", "a") as file:
        file.write(f"{words}\n")

def pytest_runtest_call(item):
    log(f"run {item.nodeid}")

@pytest.fixture(scope="session", autouse=True)
def of_session():
    log("up session")
    yield
    log("down session")

@pytest.fixture(scope="module", autouse=True)
def of_module(request):
    log(f"up {request.node.nodeid}")
    yield
    log(f"down {request.node.nodeid}")

@pytest.fixture(scope="class", autouse=True)
def of_class(request):
    if request.cls is not None:
        log(f"up {request.node.nodeid}")
    yield
    if request.cls is not None:
        log(f"down {request.node.nodeid}")
"""

IN_CLASSES = """
import pytest
from repro import claim
from line import Line

def test_before(): pass

class TestOne:
    @claim("x", source="{source}")
    @pytest.mark.parametrize("target", [{first}, {second}])
    def test_one(self, trials, target):
        assert trials(Line(target=target)).slope > 0

class TestOther:
    def test_between(self): pass

    @claim("x", source="{source}")
    @pytest.mark.parametrize("target", [{third}])
    def test_other(self, trials, target):
        assert trials(Line(target=target)).slope > 0

def test_after(): pass
"""


TRIALS = ["9.0", "2.0", "7.0", "4.0", "8.0", "3.0", "6.0", "1.0", "5.0"]
"""The targets of their claims, in the order of their collection."""


@pytest.fixture
def scoped(project):
    """Claims and other tests in modules and folders, to be run in turns; a record of all scopes."""
    names, trials = ("a/test_a", "a/test_b", "b/test_c"), iter(TRIALS)
    (project.path / "test_lines.py").unlink()
    for name in names:
        first, second, third = next(trials), next(trials), next(trials)
        text = IN_CLASSES.format(source=name, first=first, second=second, third=third)
        path = project.path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)
    (project.path / "conftest.py").write_text(SCOPES)
    return project


def order_in(project):
    """The tests in the order in which they were run, each with what is shared and no more."""
    shared, tests, wrong = [], [], []
    for line in (project.path / "scopes").read_text().splitlines():
        what, name = line.split(" ", 1)
        if what == "run":
            tests.append(name)
            module, *in_it = name.split("::")
            of_class = [f"{module}::{in_it[0]}"] if len(in_it) > 1 else []
            if shared != ["session", module, *of_class]:
                wrong.append((name, shared[:]))
        elif what == "up":
            shared.append(name)
        elif shared.pop() != name:
            wrong.append(line)
    assert wrong == []
    assert shared == [], "it was not torn down"
    return tests


@pytest.mark.thorough
def test_fixtures_of_every_scope_are_there_for_claims_in_any_order(scoped):
    """What a session shares is set up once, and a module's anew wherever the next one begins."""
    run(scoped).assert_outcomes(passed=18)
    tests = order_in(scoped)
    assert (scoped.path / "scopes").read_text().count("up session") == 1
    assert [trial for test in tests for trial in re.findall(r"\d\.0", test)] == sorted(TRIALS)
    assert not any("one" in test or "other" in test for test in tests[:9]), "units wait for nothing"
    assert len(set(tests)) == 18


def test_a_module_is_torn_down_where_the_first_claim_to_run_is_in_another(scoped):
    for name in ("a/test_b.py", "b/test_c.py"):
        text = (scoped.path / name).read_text()
        (scoped.path / name).write_text(re.sub(r"def test_(before|between|after)", "def no", text))
    run(scoped, "a/test_a.py", "b/test_c.py", "-k", "after or 9 or 1").assert_outcomes(passed=3)
    assert [name[2:8] for name in order_in(scoped)] == ["test_a", "test_c", "test_a"]


@pytest.mark.thorough
@pytest.mark.parametrize("how", [("--dist", "loadfile"), ()], ids=["by file", "as usual"])
def test_workers_run_claims_and_other_tests_of_all_folders(scoped, how):
    result = run_apart(scoped, "-n", "2", *how)
    result.assert_outcomes(passed=18)
    assert len(trainings(scoped)) == 45, "the workers have trained a run twice"
    assert trained(result) == (45, 45), "what workers share is counted once"
    claims = re.findall(r"\[(gw.)\] [ \[\]%0-9]+ PASSED \S+test_o(?:ne|ther)", result.stdout.str())
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
