"""With pytest-xdist: who has workers, and what they say; the lines of a session's display."""

import sys
from types import SimpleNamespace

import pytest

from repro.plugin.display import MOST_KNOWN, Display
from repro.plugin.workers import is_of_claims_alone, trainers_of, trains_here
from repro.report.lines import PROPERTY, ClaimLine
from repro.runs.time_left import Status
from repro.store.store import _NOTE as NOTE
from tests.plugin.sessions import run, run_apart

CLAIM = "@claim('x', source='9')\ndef test_it(trials): pass\n"
FIGURE = "@marks.figure('x', source='9', x='x', y='y')\ndef test_lines(plot): pass\n"
UNIT = "def test_unit(): pass\n"
IN_TEXT = f"CLAIM = {CLAIM!r}\ndef helper(): pass\n"
IN_CLASS = "class TestIt:\n    @repro.claim('x', source='9')\n    def test_it(self, trials): pass\n"


@pytest.mark.parametrize(
    ("options", "is_traced", "trainers", "here"),
    [
        ({}, True, None, False),
        ({"numprocesses": 0}, False, 1, False),
        ({"numprocesses": 0}, True, 1, True),
        ({"capture": "no"}, False, None, True),
        ({"usepdb": True}, False, None, True),
        ({"trace": True}, False, None, True),
    ],
)
def test_training_that_is_seen_or_traced_is_here_and_else_in_trainers(
    options, is_traced, trainers, here, monkeypatch
):
    monkeypatch.setattr(sys, "gettrace", lambda: is_traced or None)
    config = SimpleNamespace(getoption=lambda name, default=None: options.get(name), stash={})
    assert (trainers_of(config), trains_here(config)) == (trainers, here)


@pytest.mark.parametrize(
    ("files", "arguments", "are_alone"),
    [
        ({"test_a": CLAIM}, "", True),
        ({"test_a": CLAIM + FIGURE, "b/test_b": IN_CLASS, "b/line": UNIT}, "", True),
        ({"test_a": CLAIM, "b/test_b": UNIT}, "", False),
        ({"test_a": CLAIM, "b/test_b": UNIT}, "test_a.py", True),
        ({"test_a": CLAIM, "b/test_b": UNIT}, "test_a.py b", False),
        ({"test_a": CLAIM, "b/test_b": UNIT}, "--ignore b", True),
        ({"test_a": CLAIM, "b/test_b": UNIT}, "-m claim", True),
        ({"test_a": CLAIM, "b/test_b": UNIT}, "-m claim b", False),
        ({"test_a": CLAIM, "build/test_b": UNIT, ".c/test_c": UNIT}, "", True),
        ({"test_a": CLAIM, "store/runs/a/test_b": UNIT, "store/.gitignore": None}, "", True),
        ({"test_a": CLAIM + UNIT}, "", False),
        ({"test_a": CLAIM + UNIT}, "test_a.py::test_it[1-2]", True),
        ({"test_a": IN_CLASS + UNIT}, "test_a.py::TestIt::test_it", True),
        ({"test_a": CLAIM + UNIT}, "test_a.py::test_unit", False),
        ({"test_a": CLAIM + "from units import test_more\n"}, "", False),
        ({"test_a": CLAIM, "test_b": IN_TEXT}, "", True),
        ({"test_b": IN_TEXT}, "", False),
        ({"test_a": CLAIM, "test_b": "def test_b(:"}, "", False),
        ({"test_a": CLAIM}, "--doctest-modules", False),
        ({"test_a": CLAIM}, "test_a.py nowhere.py", False),
        ({}, "", False),
    ],
)
def test_whether_all_tests_are_claims_is_known_from_the_files_that_are_named(
    pytester, files, arguments, are_alone
):
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix("" if text is None else ".py").write_bytes((text or "").encode() or NOTE)
    config = pytester.parseconfig(*arguments.split())
    assert is_of_claims_alone(config) is are_alone


UNITS = """
import os
import pytest

@pytest.mark.parametrize("n", range(4 + {more}))
def test_unit(n): pass
"""


@pytest.mark.thorough
@pytest.mark.parametrize("beside", [False, True], ids=["without claims", "beside claims"])
def test_workers_of_other_tests_are_those_of_xdist(outside_project, beside):
    """Its limit of their number, its deals, and its check that they have collected the same."""
    beside or (outside_project.path / "test_lines.py").unlink()
    outside_project.makepyfile(test_units=UNITS.format(more=0))
    result = run_apart(outside_project, "-n", "3", "--maxprocesses", "2")
    result.stdout.fnmatch_lines(["2 workers *", "scheduling tests via LoadScheduling"])
    result.assert_outcomes(passed=6, failed=1, skipped=1) if beside else result.assert_outcomes(4)
    differ = "(os.environ.get('PYTEST_XDIST_WORKER') == 'gw1')"
    outside_project.makepyfile(test_units=UNITS.format(more=differ))
    result = run_apart(outside_project, "-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["Different tests were collected between gw? and gw?*"])


COUNTS = """
import sys
import pytest

def count(frame, event, arg):
    if event == "call" and "/repro/" in frame.f_code.co_filename:
        with open("called", "a") as file:
            print(frame.f_code.co_name, file=file)

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    sys.setprofile(count)
    yield
    sys.setprofile(None)
"""


def test_other_tests_are_run_without_a_step_of_ours_but_for_their_reports(outside_project):
    (outside_project.path / "test_lines.py").write_text("def test_unit(): pass")
    (outside_project.path / "conftest.py").write_text(COUNTS)
    run(outside_project).assert_outcomes(passed=1)
    called = (outside_project.path / "called").read_text().split()
    assert set(called) - {"<listcomp>"} == {"pytest_runtest_logreport"}


class Terminal(list):
    """A terminal of pytest, as a list of the lines that took each other's place on it."""

    isatty, verbosity, currentfspath = True, 0, None
    _tw = SimpleNamespace(width_of_current_line=0)

    def rewrite(self, line, erase=False):
        self.append(line)

    def write(self, line, **markup):
        pass

    write_line = rewrite

    def ensure_newline(self):
        pass

    flush = ensure_newline


def test_the_progress_is_taken_away_before_pytest_names_the_next_file():
    display = Display(terminal := Terminal())
    display.show(Status(claims=1, open=1, requested=5, missing=5))
    display.pytest_runtest_logstart()
    assert terminal[-1] == ""


@pytest.mark.parametrize(("verbosity", "lines"), [(0, MOST_KNOWN + 2), (1, MOST_KNOWN + 3)])
def test_of_many_verdicts_that_the_ledger_has_the_first_have_a_line(verbosity, lines):
    display = Display(terminal := Terminal())
    terminal.verbosity = verbosity
    known = [
        ClaimLine(name=f"9/{n}", verdict="reproduced", measured="", is_known=True)
        for n in range(MOST_KNOWN + 2)
    ]
    news = ClaimLine(name="9/news", verdict="refuted", measured="", change="worse")
    for claim in (*known, news):
        properties = [(PROPERTY, claim.as_json())]
        display.pytest_runtest_logreport(SimpleNamespace(nodeid="", user_properties=properties))
    display.pytest_sessionfinish()
    written = [line for line in terminal if line]
    assert len(written) == lines
    assert "9/news (worse)" in written[-1 if verbosity else -2]
    assert verbosity or written[-1].startswith("2 further verdicts are the same as in the ledger")
