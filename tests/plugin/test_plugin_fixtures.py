"""Claims are tests: they take fixtures as others do, and their errors are reported as theirs."""

import pytest

from tests.plugin.sessions import run, run_apart, trained

HEAD = "import pytest\nfrom repro import claim\nfrom line import Line\n"

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

WRONG = """
@claim("fine", source="900")
def test_fine(trials):
    assert trials(Line()).slope > 0

@claim("no such metric", source="900")
def test_metric(trials):
    assert trials(Line()).slop > 0

@claim("no such setting", source="900")
def test_setting(trials):
    assert trials(Line().but(tarjet=2.0)).slope > 0

@claim("no margin", source="900")
def test_margin(trials):
    one, other = trials(Line(), Line(target=2.0))
    assert one.slope.is_within(0, of=other.slope)

class Lost(Line):
    study = "nowhere"

@claim("no such study", source="900")
def test_study(trials):
    assert trials(Lost()).slope > 0
"""


def with_claims(project, claims):
    (project.path / "test_lines.py").write_text(HEAD + claims)
    return project


def test_claims_take_fixtures_and_are_trained_when_their_test_runs(project):
    result = run(with_claims(project, FIXTURES))
    result.assert_outcomes(passed=3)
    assert trained(result) == (15, 15)
    result.stdout.fnmatch_lines(
        [
            "900/fixture takes target, tmp_path, which there is only while its test runs: *",
            "900/request takes request, which *",
            "900/method takes setup_method, which *",
        ]
    )
    assert trained(run(project)) == (15, 0)


def test_a_fixture_of_its_own_accord_may_change_what_is_asked(project):
    result = run(with_claims(project, AUTOUSE))
    result.assert_outcomes(passed=1)


@pytest.mark.thorough
def test_workers_train_what_fixtures_ask_for(outside_project):
    result = run_apart(with_claims(outside_project, FIXTURES), "-n", "2")
    result.assert_outcomes(passed=3)


def test_claims_that_cannot_be_read_are_in_the_plan_and_fail_it(project):
    result = run(with_claims(project, WRONG), "--plan")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "900/metric cannot be judged: AttributeError: Line has no metric 'slop'; *",
            "900/setting cannot be judged: TypeError: Line has no setting 'tarjet'; *",
            "900/margin cannot be judged: ValueError: a margin of 0 leaves nothing to show*",
            "900/study cannot be judged: ModuleNotFoundError: *'nowhere'*",
        ]
    )


def test_a_claim_that_cannot_be_read_costs_that_claim_alone(project):
    result = run(with_claims(project, WRONG))
    result.assert_outcomes(passed=1, failed=4)
    shown = result.stdout.str()
    assert shown.index("error         900/metric") < shown.index("1 claim waits for")
    assert "repro/plugin/trial" not in shown
    assert "test_lines.py:11: AttributeError" in shown
